"""Buffers of one recording for the page: bytes and fields at a call, and what changed."""

from __future__ import annotations

import csv
import io
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from drawtap.analysis.held import HeldBuffer, buffer_life, held_buffer
from drawtap.analysis.layout import Field, Layout, declared, parse
from drawtap.errors import UsageError
from drawtap.replay.place import Place
from drawtap.scratch import Scratch
from drawtap.web.answer import Answer, headed

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from drawtap.analysis.buffer_range import Touch
    from drawtap.replay.pool import Pool
    from drawtap.replay.warm import Warm
    from drawtap.trace.trace import Trace

Truths: TypeAlias = npt.NDArray[np.bool_]

MOST_ROWS = 500  # of one answer
MOST_BYTES = 8192
_MOST_RANGES = 64
_MOST_ELEMENTS = 32  # of an array in one cell
_WRITES = 12  # around a call
_KEPT = 6
MOST_TOUCHES = 50  # writers of a range, and draws that may read it
_CHUNK = 16384  # rows of a file that are made together


class Buffers:
    """Questions about buffers. Raises what `held_buffer` and the pool raise, UsageError for a wrong format."""

    def __init__(self, trace: Trace, pool: Pool, lent: Callable[[], AbstractContextManager[Trace]]) -> None:
        self._trace, self._pool, self._lent = trace, pool, lent
        self._kept: OrderedDict[tuple[int, int, int], HeldBuffer] = OrderedDict()
        self._lock = threading.Lock()

    def content(self, seq: int, group: int, name: int) -> bytes:
        """Return what a buffer holds after a call."""
        return self._held(seq, group, name)[0].content

    def window(
        self, seq: int, group: int, name: int, *, form: str, against: int | None, first: int, count: int
    ) -> bytes:
        """Return a JSON head, then bytes from `first` on, then a byte 1 for each that differs from `against`.

        `form` is a text of `analysis.layout`: with one the head has `count` rows of fields from `first` on, and no
        bytes follow; "": bytes. `against` is a call, None the one before the last write.
        """
        with self._lent() as trace:
            life = self._life(trace, seq, group, name)
            writes, last = self._writes(trace, life, seq)
        # The content before the first write is nothing.
        before = against if against is not None else last - 1 if last is not None and last != writes[0] else None
        if before is not None and before < life["created_seq"]:
            raise UsageError(f"buffer {name} is not there yet after call {before}", hint="choose another pin")
        held, old = self._held(seq, group, name, before)
        content = np.frombuffer(held.content, np.uint8)
        differs = _differing(content, old)
        head: Answer = {
            "name": name, "label": life["label"], "bytes": len(content), "call": held.call,
            "uses": [list(use) for use in declared(held.uses, self._index_type(seq))],
            "life": {key: life[key] for key in ("created_seq", "first_use_seq", "last_use_seq", "deleted_seq")},
            "writes": writes, "against": before, "old_bytes": None if old is None else len(old),
            "differs": int(differs.sum()), "ranges": _ranges(differs),
        }  # fmt: skip
        if form:
            return headed(head | _rows(parse(form).cut(len(content)), content, differs, first, count), b"")
        end = min(first + min(count, MOST_BYTES), len(content))
        part = slice(min(first, end), end)
        return headed(head | {"first": part.start}, content[part].tobytes() + differs[part].astype(np.uint8).tobytes())

    def touched(self, seq: int, group: int, name: int, first: int, end: int) -> Answer:
        """Return who wrote bytes from `first` to before `end` up to a call, and who reads them while they stand.

        `writers` and `readers` are tables: call, function, way, first and last byte, whether that is certain. `said`
        has sentences about what is not in them. Raises UsageError for an empty range.
        """
        if end <= first:
            raise UsageError(f"bytes {first} to {end - 1} are no range", hint="the first byte comes before the last")
        with self._lent() as trace:
            return self._touched(trace, self._life(trace, seq, group, name), seq, first, end)

    def _touched(self, trace: Trace, life: Any, seq: int, first: int, end: int) -> Answer:
        from drawtap.analysis.buffer_range import readers, writers

        wrote = writers(trace, life, seq, range(first, end), MOST_TOUCHES)
        since = life["created_seq"] if wrote.since is None else wrote.since
        last = life["deleted_seq"] if wrote.until is None else wrote.until
        until = len(trace.calls) if last is None else int(last) + 1  # a copy reads before it writes
        meanwhile = range(since, until)
        read = readers(trace, life, seq, range(first, end), within=meanwhile, most=MOST_TOUCHES)
        said = []
        if wrote.count > len(wrote.touches):
            said.append(f"{wrote.count:,} calls wrote here up to call {seq:,}, or may have: the newest are listed.")
        if read.draws > read.looked:
            said.append(f"{read.draws:,} draws use the buffer meanwhile: the {read.looked} nearest were looked at.")
        said.append("Uploads of pixels out of the buffer and reads through a mapping are not among the readers.")
        return {
            "first": first, "end": end, "at": seq, "since": since, "until": until, "writers": listed(wrote.touches),
            "readers": listed(read.touches), "said": said,
        }  # fmt: skip

    @staticmethod
    def fields(content: bytes, form: str) -> Answer:
        """Return the first rows of any bytes as a text of `analysis.layout` tells, as `window` does."""
        octets = np.frombuffer(content, np.uint8)
        return _rows(parse(form).cut(len(octets)), octets, np.zeros(len(octets), bool), 0, MOST_ROWS)

    def csv(self, seq: int, group: int, name: int, form: str) -> bytes:
        """Return all rows of a format as CSV, a column a number."""
        content = np.frombuffer(self.content(seq, group, name), np.uint8)
        layout = parse(form).cut(len(content))
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        if not layout.every:
            writer.writerow(("field", "type", "offset", "value"))
            if layout.rows(len(content)):
                for field in layout.fields:
                    for offset, value in _elements(layout, content, field, 0, field.count):
                        shown = " ".join(map(str, value))
                        writer.writerow((_element(field, offset), field.type, _offset(layout, field, offset), shown))
            return out.getvalue().encode()
        writer.writerow(["row", *(name for field in layout.fields for name in _columns(field))])
        rows = layout.rows(len(content))
        for first in range(0, rows, _CHUNK):
            count = min(_CHUNK, rows - first)
            parts = [layout.values(content, field, first, count).reshape(count, -1) for field in layout.fields]
            lists = [part.tolist() for part in parts]
            for i in range(count):
                writer.writerow([first + i, *(value for part in lists for value in part[i])])
        return out.getvalue().encode()

    def _held(self, seq: int, group: int, name: int, before: int | None = None) -> tuple[HeldBuffer, bytes | None]:
        """Return what the buffer holds after a call, and what it held after another one: the earlier comes first."""
        keys = [(at, group, name) for at in sorted({seq, seq if before is None else before})]

        def question(player: Warm) -> None:
            with Scratch() as folder:
                for key in keys:
                    if key not in self._kept:
                        held = self._read(Path(folder), player, key)
                        with self._lock:
                            self._kept[key] = held

        with self._lock:
            known = {key: self._kept[key] for key in keys if key in self._kept}
        if len(known) < len(keys):
            place = self._place(keys[-1][0])
            self._pool.ask(place.call, question, whole=True, inside=place.draw is not None)
            with self._lock:
                known = {key: self._kept[key] for key in keys}
        with self._lock:
            for key in keys:
                self._kept.move_to_end(key)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return known[seq, group, name], None if before is None else known[before, group, name].content

    def _place(self, seq: int) -> Place:
        """Return the place that a player goes to for what is there after `seq`."""
        return Place(seq)

    def _life(self, trace: Trace, seq: int, group: int, name: int) -> Mapping[str, Any]:
        return buffer_life(trace, at=seq, share_group=group, name=name)

    def _read(self, folder: Path, player: Warm, key: tuple[int, int, int]) -> HeldBuffer:
        return held_buffer(self._trace, folder, player, at=key[0], share_group=key[1], name=key[2])

    def _writes(self, trace: Trace, life: Any, seq: int) -> tuple[list[int], int | None]:
        """Return the calls around a call that wrote to a buffer, and the last one up to it."""
        end = "" if life["deleted_seq"] is None else f"AND begin_seq < {life['deleted_seq']}"
        where = f"path = '{life['path']}.content' AND begin_seq > {life['created_seq']} {end}"
        asked = f"SELECT begin_seq FROM state WHERE {where} AND begin_seq"
        before = f"({asked} <= {seq} ORDER BY 1 DESC LIMIT {_WRITES + 1})"
        rows = trace.sql(f"{before} UNION ({asked} > {seq} ORDER BY 1 LIMIT {_WRITES})").fetchall()
        writes = sorted(row[0] for row in rows)
        return writes, max((write for write in writes if write <= seq), default=None)

    def _index_type(self, seq: int) -> str | None:
        kind = self._trace.calls[seq].args.get("type")
        return None if kind is None else str(kind)


def listed(touches: Iterable[Touch]) -> Answer:
    """Return calls that touch a range as a table for the page."""
    rows = [
        [one.seq, one.function, one.how, one.first, None if one.end is None else one.end - 1,
         "yes" if one.sure else "maybe"]
        for one in touches
    ]  # fmt: skip
    return {"columns": ["seq", "function", "way", "first_byte", "last_byte", "certain"], "rows": rows}


def _differing(content: npt.NDArray[np.uint8], old: bytes | None) -> Truths:
    if old is None:
        return np.zeros(len(content), bool)
    differs = np.ones(len(content), bool)
    both = min(len(old), len(content))
    differs[:both] = content[:both] != np.frombuffer(old, np.uint8)[:both]
    return differs


def _ranges(differs: Truths) -> list[list[int]]:
    """Return the first ranges of bytes that differ: where each begins, and its end."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], differs, [False])).astype(np.int8)))
    return [[int(begin), int(end)] for begin, end in edges.reshape(-1, 2)[:_MOST_RANGES]]


def _rows(layout: Layout, content: npt.NDArray[np.uint8], differs: Truths, first: int, count: int) -> Answer:
    rows = layout.rows(len(content))
    if not layout.every:
        return _single(layout, content, differs, first, count) if rows else _none(layout, len(content))
    count = max(min(count, MOST_ROWS, rows - first), 0)
    columns: list[list[object]] = []
    changed: list[list[int]] = []
    for i, field in enumerate(layout.fields):
        values = layout.values(content, field, first, count)[:, :_MOST_ELEMENTS]
        shown = [[_value(field, value) for value in row] for row in values.tolist()]
        if field.count > _MOST_ELEMENTS:
            shown = [[*row, f"… {field.count - _MOST_ELEMENTS:,} more"] for row in shown]
        columns.append([row[0] if field.count == 1 else row for row in shown])
        changed += [[int(row), i] for row in np.flatnonzero(layout.changed(differs, field, first, count))]
    made = [list(row) for row in zip(*columns, strict=True)]
    names = [field.name + (f"[{field.count}]" if field.count > 1 else "") for field in layout.fields]
    return {"fields": names, "types": [field.type for field in layout.fields], "rows": made, "changed": changed,
            "first": first, "all": rows, "at": layout.at, "every": layout.every,
            "places": [[field.offset, field.bytes] for field in layout.fields]}  # fmt: skip


def _none(layout: Layout, size: int) -> Answer:
    why = f"a row needs {layout.at + layout.bytes:,} bytes, the buffer has {size:,}"
    return {"fields": [], "types": [], "rows": [], "changed": [], "first": 0, "all": 0, "why": why}


def _single(layout: Layout, content: npt.NDArray[np.uint8], differs: Truths, first: int, count: int) -> Answer:
    """Return a layout of one row as a row for each element of its fields."""
    rows: list[list[object]] = []
    changed: list[list[int]] = []
    places: list[list[int]] = []
    begin = 0
    for field in layout.fields:
        low, high = max(first - begin, 0), min(first + min(count, MOST_ROWS) - begin, field.count)
        for i, value in _elements(layout, content, field, low, high) if low < high else ():
            offset = _offset(layout, field, i)
            if differs[offset : offset + field.one].any():
                changed.append([len(rows), 3])
            rows.append([_element(field, i), field.type, offset, _value(field, value)])
            places.append([offset, field.one])
        begin += field.count
    return {"fields": ["field", "type", "byte", "value"], "types": ["", "", "", ""], "rows": rows, "changed": changed,
            "first": first, "all": begin, "at": layout.at, "every": 0, "places": places}  # fmt: skip


def _elements(
    layout: Layout, content: npt.NDArray[np.uint8], field: Field, low: int, high: int
) -> Iterator[tuple[int, list[Any]]]:
    for begin in range(low, high, _CHUNK):
        part = replace(field, offset=field.offset + begin * field.stride, count=min(_CHUNK, high - begin))
        yield from enumerate(layout.values(content, part, 0, 1)[0].tolist(), begin)


def _element(field: Field, i: int) -> str:
    return field.name if field.count == 1 else f"{field.name}[{i}]"


def _offset(layout: Layout, field: Field, i: int) -> int:
    return layout.at + field.offset + i * field.stride


def _value(field: Field, value: list[Any]) -> object:
    """Return an element for JSON: a number, or a list; what is no finite number as text."""
    if field.scalar.startswith("hex"):
        return f"0x{value[0]:0{2 * field.dtype.itemsize}x}"
    values = [one if np.isfinite(one) else str(one) for one in value]
    return values[0] if len(values) == 1 else values


def _columns(field: Field) -> Iterator[str]:
    """Yield the names of a field's numbers: color.x, bones[3].12."""
    parts = 4 if field.packed and not field.scalar.endswith("f") else field.size * field.columns
    letters = "xyzw" if field.columns == 1 and parts <= 4 else None
    for i in range(field.count):
        for k in range(parts):
            yield _element(field, i) + (f".{letters[k] if letters else k}" if parts > 1 else "")
