"""Common Trace Format 1.8, as a kernel trace of LTTng."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from drawtap.system.exporter import Window, export
from drawtap.system.native import Plan, write

if TYPE_CHECKING:
    from drawtap.system.model import KernelModel
    from drawtap.system.reader import KernelTrace

# Names that LTTng, and with it Trace Compass, gives to events and fields of the kernel.
_EVENTS = {"kvm_entry": "kvm_x86_entry", "kvm_exit": "kvm_x86_exit"}
_FIELDS: Mapping[str, Mapping[str, str]] = {
    "sched_switch": {"prev_pid": "prev_tid", "next_pid": "next_tid"},
    "sched_waking": {"pid": "tid"},
    "sched_wakeup": {"pid": "tid"},
    "sched_wakeup_new": {"pid": "tid"},
    "sched_process_fork": {
        "parent_pid": "parent_tid",
        "child_pid": "child_tid",
        "comm": "parent_comm",
        "pid": "parent_tid",
    },
    "sched_process_exit": {"pid": "tid"},
    "sched_process_free": {"pid": "tid"},
    "sched_process_exec": {"pid": "tid"},
    "sched_migrate_task": {"pid": "tid"},
}
_INTEGERS = {
    "BOOLEAN": (8, False),
    "TINYINT": (8, True),
    "UTINYINT": (8, False),
    "SMALLINT": (16, True),
    "USMALLINT": (16, False),
    "INTEGER": (32, True),
    "UINTEGER": (32, False),
    "BIGINT": (64, True),
    "UBIGINT": (64, False),
}
_BASE = ("t", "cpu", "tid", "comm")
_SPANS = """
SELECT t, cpu, tid, comm, id, name, track, kind, request, duration FROM (
  SELECT begin_ns AS t, coalesce(s.cpu, 0)::INTEGER AS cpu, coalesce(s.tid, -1)::INTEGER AS tid, th.comm, s.id,
         s.name, s.track, s.kind, coalesce(s.request, -1) AS request, s.end_ns - s.begin_ns AS duration
  FROM {spans} s LEFT JOIN threads th ON th.tid = s.tid
) ORDER BY t
"""
_COUNTERS = """
SELECT t_ns AS t, 0::INTEGER AS cpu, (-1)::INTEGER AS tid, NULL::VARCHAR AS comm, track, value, unit
FROM ({counters}) ORDER BY t
"""


@export("ctf", "")
def write_ctf(trace: KernelTrace, model: KernelModel, path: Path, window: Window | None) -> int:
    """CTF 1.8: a folder that babeltrace2 and Trace Compass read as a kernel trace of LTTng (`domain` is kernel).

    Every event of the trace with all its fields, named as LTTng names them, whatever format it came from; and the
    model's own: `drawtap_span` (at its begin, with `duration`) and `drawtap_counter`. Values that are unknown become 0,
    -1 or empty text, for CTF has no other word for them.
    """
    path.mkdir(parents=True, exist_ok=True)
    if (path / "metadata").is_file():  # every file beside it would be a stream of the new trace
        for old in path.iterdir():
            if old.is_file():
                old.unlink()
    begin, end = (window.begin, window.end) if window else (None, None)
    described = []
    written = 0
    used: set[str] = set()
    for number, name in enumerate(trace.event_names()):
        columns, fields = _columns(trace, name)
        events = trace.events(name, fields, begin=begin, end=end)
        written += _write(path, _file(name, used), number, events)
        described.append(_event(_EVENTS.get(name, name), number, columns))
    spans = f"(SELECT * FROM spans WHERE {window.touches()})" if window else "spans"
    counters = window.counters() if window else "SELECT * FROM counters"
    own = (("drawtap_span", _SPANS.format(spans=spans)), ("drawtap_counter", _COUNTERS.format(counters=counters)))
    for name, sql in own:
        relation = model.connection.cursor().sql(sql)
        columns = [(c, str(t)) for c, t in zip(relation.columns, relation.types, strict=True) if c not in _BASE]
        number = len(described)
        written += _write(path, _file(name, used), number, relation)
        described.append(_event(name, number, columns))
    lost = sum(p.count for p in trace.problems if p.kind == "lost")
    head = "\n".join(_head(trace, lost))
    metadata = path / "metadata"
    metadata.write_text(head + "\n" + "\n".join(described))
    return written + metadata.stat().st_size


def _columns(trace: KernelTrace, name: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the fields to write (name, DuckDB type), and what to ask the reader for."""
    columns: list[tuple[str, str]] = []
    asked = [*_BASE[1:]]
    own = {field.name for field in trace.fields(name)}
    # Where an event has LTTng's names already, the others mean something else.
    renamed = {old: new for old, new in _FIELDS.get(name, {}).items() if new not in own}
    for field in trace.fields(name):
        shown = re.sub(r"\W", "_", renamed.get(field.name, field.name)) or "field"
        while any(shown == column for column, _ in columns):
            shown += "_"
        columns.append((shown, field.type))
        asked.append(f"f_{len(asked)}=event.{field.name}")
    return columns, asked


def _file(name: str, used: set[str]) -> str:
    stem = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    while stem in used or stem == "metadata":
        stem += "_"
    used.add(stem)
    return stem


def _write(folder: Path, stem: str, number: int, events: object) -> int:
    return write("ctf", Plan().text(bytes(folder / stem)).number(number, 0), [events], folder)


def _head(trace: KernelTrace, lost: int) -> Iterator[str]:
    clock, environment = trace.clock, trace.environment
    own = str(uuid.uuid4())
    yield "/* CTF 1.8 */"
    for size in (8, 32, 64):
        yield f"typealias integer {{ size = {size}; align = 8; signed = false; }} := uint{size}_t;"
    yield f'trace {{ major = 1; minor = 8; uuid = "{own}"; byte_order = le;'
    yield "  packet.header := struct { uint32_t magic; uint32_t stream_id; };"
    yield "};"
    yield "env {"
    known = {
        "hostname": "unknown",
        "sysname": "Linux",
        "kernel_release": "unknown",
        "kernel_version": "unknown",
        **environment,
    }
    known |= {"domain": "kernel", "tracer_name": "lttng-modules", "tracer_major": "2", "tracer_minor": "13"}
    known |= {
        "tracer_patchlevel": "0",
        "exported_by": "drawtap",
        "exported_from": trace.format,
        "events_lost": str(lost),
    }
    for name, value in known.items():
        number = name in ("tracer_major", "tracer_minor", "tracer_patchlevel", "events_lost")
        word = re.sub(r"\W", "_", name)
        yield f"  {word} = {value if number else _quoted(value)};"
    yield "};"
    name = "monotonic" if clock.monotonic else re.sub(r"\W", "_", clock.name) or "clock"
    description = "Monotonic Clock" if clock.monotonic else clock.note or clock.name
    yield f"clock {{ name = {_quoted(name)}; description = {_quoted(description)}; freq = 1000000000;"
    yield f"  offset = {clock.epoch_offset_ns or 0};"
    yield "};"
    yield f"typealias integer {{ size = 64; align = 8; signed = false; map = clock.{name}.value; }} := time_t;"
    yield "stream { id = 0;"
    yield "  packet.context := struct { time_t timestamp_begin; time_t timestamp_end; uint64_t content_size;"
    yield "    uint64_t packet_size; uint64_t packet_seq_num; uint64_t events_discarded; uint32_t cpu_id; };"
    yield "  event.header := struct { uint32_t id; time_t timestamp; };"
    yield f"  event.context := struct {{ {_integer(32, signed=True)} _tid; {_CHARS} _procname[16]; }};"
    yield "};"


_CHARS = "integer { size = 8; align = 8; signed = true; encoding = UTF8; }"


def _event(name: str, number: int, columns: Sequence[tuple[str, str]]) -> str:
    fields = "".join(f"    {line}\n" for column, kind in columns for line in _field(column, kind))
    return (
        f"event {{ name = {_quoted(name)}; id = {number}; stream_id = 0;\n  fields := struct {{\n{fields}  }};\n}};\n"
    )


def _field(name: str, kind: str) -> Iterator[str]:
    if kind in _INTEGERS:
        size, signed = _INTEGERS[kind]
        yield f"{_integer(size, signed=signed)} _{name};"
    elif kind in ("FLOAT", "DOUBLE"):
        yield f"floating_point {{ exp_dig = 11; mant_dig = 53; align = 8; }} _{name};"
    elif kind.endswith("[]") or kind == "BLOB":
        size, signed = _INTEGERS.get(kind.removesuffix("[]"), (8, False))
        yield f"uint32_t __{name}_length;"
        yield f"{_integer(size, signed=signed)} _{name}[ __{name}_length ];"
    else:
        yield f"string _{name};"


def _integer(size: int, *, signed: bool) -> str:
    return f"integer {{ size = {size}; align = 8; signed = {str(signed).lower()}; encoding = none; base = 10; }}"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'
