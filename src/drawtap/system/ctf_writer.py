"""Write events as a trace in the Common Trace Format 1.8, as LTTng writes a kernel's.

Columns in, bytes out: each event's records are made with numpy at once, then put to their places in the order of time.
Only numbers; a record of an event has one size. Every event has the thread it came from (tid, pid, procname).
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

_TYPES: Mapping[str, tuple[str, int, bool]] = {
    "u8": ("<u1", 8, False),
    "u16": ("<u2", 16, False),
    "u32": ("<u4", 32, False),
    "u64": ("<u8", 64, False),
    "s32": ("<i4", 32, True),
    "s64": ("<i8", 64, True),
}
_PACKET_EVENTS = 50_000
_HEADER = struct.Struct("<I16sI")  # magic, uuid, stream
_CONTEXT = struct.Struct("<QQQQQI")  # begin, end, content bits, packet bits, events discarded, cpu
_EVENT = np.dtype([("id", "<u2"), ("t", "<u8"), ("tid", "<i4"), ("pid", "<i4"), ("procname", "S17")])


@dataclass(frozen=True)
class Columns:
    """All records of an event: fields as (name, type), type one of u8 u16 u32 u64 s32 s64; a column each."""

    name: str
    fields: tuple[tuple[str, str], ...]
    t: npt.NDArray[np.int64]
    tid: npt.NDArray[np.int32]
    values: tuple[npt.NDArray[np.generic], ...]

    @staticmethod
    def from_rows(name: str, fields: tuple[tuple[str, str], ...], rows: Sequence[tuple[int, ...]]) -> Columns:
        """Make columns of rows (t, tid, value of each field ...)."""
        columns = list(zip(*rows, strict=True))
        values = tuple(
            np.array(column, dtype=_TYPES[kind][0]) for column, (_, kind) in zip(columns[2:], fields, strict=True)
        )
        return Columns(name, fields, np.array(columns[0], np.int64), np.array(columns[1], np.int32), values)


def write_ctf(
    folder: Path,
    events: Sequence[Columns],
    *,
    threads: Mapping[int, str] | None = None,
    environment: Mapping[str, str] | None = None,
    epoch_offset_ns: int = 0,
) -> int:
    """Write a trace into `folder`, which is made, and return how many events it has.

    Times are ns of CLOCK_MONOTONIC. The trace says that it is a kernel's (`domain`), as viewers of LTTng's traces ask.
    """
    folder.mkdir(parents=True, exist_ok=True)
    number = uuid.uuid4()
    (folder / "metadata").write_text(_metadata(events, number, environment or {}, epoch_offset_ns), encoding="ascii")
    names = {tid: name.encode("ascii", "replace")[:16] for tid, name in (threads or {}).items()}
    records = [_records(i, event, names) for i, event in enumerate(events)]
    total = sum(len(r) for r in records)
    if not total:
        (folder / "channel0_0").write_bytes(b"")
        return 0
    times = np.concatenate([event.t for event in events])
    kinds = np.concatenate([np.full(len(event.t), i) for i, event in enumerate(events)])
    rows = np.concatenate([np.arange(len(event.t)) for event in events])
    order = np.argsort(times, kind="stable")
    with (folder / "channel0_0").open("wb") as file:
        for first in range(0, total, _PACKET_EVENTS):
            part = order[first : first + _PACKET_EVENTS]
            file.write(_packet(records, kinds[part], rows[part], times[part], number.bytes))
    return total


def _records(kind: int, event: Columns, names: Mapping[int, bytes]) -> npt.NDArray[np.uint8]:
    layout = [*_EVENT.descr, *((f"f{i}", _TYPES[k][0]) for i, (_, k) in enumerate(event.fields))]
    made = np.zeros(len(event.t), dtype=np.dtype(layout))
    made["id"] = kind
    made["t"] = event.t
    made["tid"] = event.tid
    made["pid"] = event.tid
    for tid in np.unique(event.tid):
        made["procname"][event.tid == tid] = names.get(int(tid), b"")
    for i, column in enumerate(event.values):
        made[f"f{i}"] = column
    return made.view(np.uint8).reshape(len(made), made.dtype.itemsize)


def _packet(
    records: Sequence[npt.NDArray[np.uint8]],
    kinds: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
    times: npt.NDArray[np.int64],
    number: bytes,
) -> bytes:
    sizes = np.array([r.shape[1] for r in records])[kinds]
    places = np.concatenate([[0], np.cumsum(sizes)])
    content = np.zeros(int(places[-1]), np.uint8)
    for kind, made in enumerate(records):
        at = np.flatnonzero(kinds == kind)
        if len(at):
            content[places[at][:, None] + np.arange(made.shape[1])] = made[rows[at]]
    bits = (_HEADER.size + _CONTEXT.size + len(content)) * 8
    head = _HEADER.pack(0xC1FC1FC1, number, 0)
    return head + _CONTEXT.pack(int(times[0]), int(times[-1]), bits, bits, 0, 0) + content.tobytes()


def _metadata(events: Sequence[Columns], number: uuid.UUID, environment: Mapping[str, str], offset: int) -> str:
    known = {
        "domain": "kernel",
        "sysname": "Linux",
        "tracer_name": "lttng-modules",
        "tracer_major": 2,
        "tracer_minor": 13,
    }
    env = "".join(f"\t{key} = {_value(value)};\n" for key, value in {**known, **environment}.items())
    seconds, rest = divmod(offset, 1_000_000_000)
    stamp = "integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; }"
    kinds = "".join(_event(i, event) for i, event in enumerate(events))
    return f"""/* CTF 1.8 */

typealias integer {{ size = 8; align = 8; signed = false; }} := uint8_t;
typealias integer {{ size = 16; align = 8; signed = false; }} := uint16_t;
typealias integer {{ size = 32; align = 8; signed = false; }} := uint32_t;
typealias integer {{ size = 64; align = 8; signed = false; }} := uint64_t;
typealias integer {{ size = 32; align = 8; signed = true; }} := int32_t;
typealias integer {{ size = 64; align = 8; signed = true; }} := int64_t;

trace {{
	major = 1;
	minor = 8;
	uuid = "{number}";
	byte_order = le;
	packet.header := struct {{
		uint32_t magic;
		uint8_t uuid[16];
		uint32_t stream_id;
	}};
}};

env {{
{env}}};

clock {{
	name = "monotonic";
	description = "Monotonic Clock";
	freq = 1000000000;
	precision = 1;
	offset_s = {seconds};
	offset = {rest};
}};

stream {{
	id = 0;
	packet.context := struct {{
		{stamp} timestamp_begin;
		{stamp} timestamp_end;
		uint64_t content_size;
		uint64_t packet_size;
		uint64_t events_discarded;
		uint32_t cpu_id;
	}};
	event.header := struct {{
		uint16_t id;
		{stamp} timestamp;
	}};
	event.context := struct {{
		int32_t _tid;
		int32_t _pid;
		integer {{ size = 8; align = 8; signed = false; encoding = UTF8; base = 10; }} _procname[17];
	}};
}};
{kinds}"""


def _event(number: int, event: Columns) -> str:
    fields = "".join(
        f"\t\t{'int' if _TYPES[kind][2] else 'uint'}{_TYPES[kind][1]}_t _{name};\n" for name, kind in event.fields
    )
    return (
        f'\nevent {{\n\tname = "{event.name}";\n\tid = {number};\n\tstream_id = 0;\n'
        f"\tfields := struct {{\n{fields}\t}};\n}};\n"
    )


def _value(value: object) -> str:
    if isinstance(value, int):
        return str(value)
    text = str(value).encode("ascii", "replace").decode().replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{text}"'
