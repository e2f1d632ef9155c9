"""Calls that wrote bytes of a buffer of OpenGL, and calls that read them, as far as arguments and state tell."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from drawtap.tables.recording import ContextRow, FunctionRow
from drawtap.trace.sql_text import quote, quote_text

if TYPE_CHECKING:
    from drawtap.trace.trace import Call, Trace

Span: TypeAlias = tuple[int, int | None]  # from, and the end; None: to the buffer's end, or not known

_STORAGE = ("0", "size", "new storage")
_UPLOAD = ('"offset"', "size", "upload")
_COPY = ('"writeOffset"', "size", "copy")
_CLEAR = ('"offset"', "size", "clear")
_ALL = "NULL"
# Functions that write to a buffer: where, how many bytes, and what that is.
_WRITERS = {
    **dict.fromkeys(("glBufferData", "glBufferDataARB", "glBufferStorage", "glBufferStorageEXT"), _STORAGE),
    **dict.fromkeys(("glNamedBufferData", "glNamedBufferDataEXT", "glNamedBufferStorage"), _STORAGE),
    **dict.fromkeys(("glBufferSubData", "glBufferSubDataARB"), _UPLOAD),
    **dict.fromkeys(("glNamedBufferSubData", "glNamedBufferSubDataEXT"), _UPLOAD),
    **dict.fromkeys(("glCopyBufferSubData", "glCopyNamedBufferSubData"), _COPY),
    **dict.fromkeys(("glClearBufferData", "glClearNamedBufferData"), ("0", _ALL, "clear")),
    **dict.fromkeys(("glClearBufferSubData", "glClearNamedBufferSubData"), _CLEAR),
    "glInvalidateBufferData": ("0", _ALL, "content given up"),
}
# Functions that read a buffer that is bound to a target: the target, where they begin, how many bytes.
_READERS = {
    "glCopyBufferSubData": ('"readTarget"', '"readOffset"', "size", "copy"),
    "glGetBufferSubData": ("target", '"offset"', "size", "read by the program"),
}
_NAMED_READERS = {
    "glCopyNamedBufferSubData": ('"readBuffer"', '"readOffset"', "size", "copy"),
    "glGetNamedBufferSubData": ("buffer", '"offset"', "size", "read by the program"),
}
_BOUND = {
    "GL_UNIFORM_BUFFER": "uniform block",
    "GL_SHADER_STORAGE_BUFFER": "storage block",
    "GL_ATOMIC_COUNTER_BUFFER": "atomic counters",
}
_STORES = ("GL_SHADER_STORAGE_BUFFER", "GL_ATOMIC_COUNTER_BUFFER")
_INDEXED = re.compile(r"(GL_\w+_BUFFER)_(BINDING|START|SIZE)\[(\d+)\]$")
_PART = re.compile(r"(attributes|bindings)\[(\d+)\]\.(\w+)$")
_ARRAY = re.compile(r"arrays\.(GL_\w+)\.(\w+)$")
_BYTES = {
    "GL_BYTE": 1, "GL_UNSIGNED_BYTE": 1, "GL_SHORT": 2, "GL_UNSIGNED_SHORT": 2, "GL_HALF_FLOAT": 2,
    "GL_HALF_FLOAT_OES": 2, "GL_DOUBLE": 8,
}  # fmt: skip
_PACKED = ("GL_INT_2_10_10_10_REV", "GL_UNSIGNED_INT_2_10_10_10_REV", "GL_UNSIGNED_INT_10F_11F_11F_REV")
_MOST_PARTS = 256  # of a call that draws several times


@dataclass(frozen=True)
class Touch:
    """A call that writes or reads bytes of a buffer: from `first` to before `end`, both None where that is not known.

    `end` alone is None where it is the buffer's end. `sure` is False where the call may also leave these bytes alone.
    """

    seq: int
    function: str
    how: str
    first: int | None
    end: int | None
    sure: bool


@dataclass(frozen=True)
class Writers:
    """The last writers of a range up to a call, the newest first, and how many there are.

    `since` is the newest of them that is sure (None: there is none), `until` the next one that is sure behind the call.
    """

    touches: tuple[Touch, ...]
    count: int
    since: int | None
    until: int | None


@dataclass(frozen=True)
class Readers:
    """Calls that read a range: of the `draws` with the buffer those `looked` at, which are nearest to the call."""

    touches: tuple[Touch, ...]
    draws: int
    looked: int


def writers(trace: Trace, life: Mapping[str, Any], at: int, part: range, most: int) -> Writers:
    """Return what wrote the bytes of `part` up to call `at`, at most `most`.

    `life` is a row of `resources`. Draws and dispatches may have written through blocks and captures that reach the
    bytes; other calls whose arguments do not tell the bytes may have written too.
    """
    hits = _hits(trace, life, part)
    query = (
        f"WITH {hits} (SELECT 0 AS part, seq, how, start, stop, sure FROM hits WHERE seq <= {at} ORDER BY seq DESC "
        f"LIMIT {most}) UNION ALL SELECT 1, count(*), NULL, max(seq) FILTER (sure), NULL, NULL FROM hits "
        f"WHERE seq <= {at} UNION ALL SELECT 2, min(seq), NULL, NULL, NULL, NULL FROM hits WHERE seq > {at} AND sure"
    )
    rows = trace.sql(query).fetchall()
    count, since = next((int(row[1]), row[3]) for row in rows if row[0] == 1)
    until = next(row[1] for row in rows if row[0] == 2)
    touches: list[Touch] = []
    for _, seq, how, start, stop, sure in sorted((r for r in rows if r[0] == 0), key=lambda row: -row[1]):
        call = trace.calls[seq]
        touch = Touch(int(seq), call.name, how or "other", start, stop, bool(sure))
        if how is None:
            spans = [*_stored(trace, call, life)]
            reached = [one for one in spans if _meet(one[1], part)]
            if spans and not reached:
                count -= 1
                continue
            if reached:
                (way, span), *_ = reached
                touch = Touch(int(seq), call.name, way, *span, sure=False)
        touches.append(touch)
    return Writers(tuple(touches), count, since, until)


def _hits(trace: Trace, life: Mapping[str, Any], part: range) -> str:
    """Return common table expressions that end in `hits`: writers of the range, and those that may be."""
    path, created = quote_text(str(life["path"])), life["created_seq"]
    lives = f"AND begin_seq < {life['deleted_seq']}" if life["deleted_seq"] is not None else ""
    called = {row["name"] for row in trace.core.table_rows(FunctionRow) if row["calls"]}
    parts = []
    for name, (start, size, how) in _WRITERS.items():
        if name not in called:
            continue
        stop = "NULL" if size == _ALL else f"({start} + {size})::BIGINT"
        # Stores through a mapping count to the call behind them, which may be about another buffer.
        sure = f"(NOT w.stored OR f.buffer = {life['name']})" if "Named" in name else "NOT w.stored"
        parts.append(
            f"SELECT w.seq, '{how}' AS how, ({start})::BIGINT AS start, {stop} AS stop, {sure} AS sure "
            f"FROM w JOIN {quote(name)} f ON f.seq = w.seq"
        )
    parts.append(
        'SELECT w.seq, \'stored through a mapping\', m."offset"::BIGINT, (m."offset" + m.data_bytes)::BIGINT, true '
        f"FROM w JOIN map_writes m ON m.seq = w.seq WHERE m.buffer = {life['name']}"
    )
    for name in ("glMapBufferRange", "glMapNamedBufferRange"):
        if name in called:
            parts.append(
                "SELECT w.seq, 'content given up', 0, NULL, true "
                f"FROM w JOIN {quote(name)} f ON f.seq = w.seq WHERE NOT w.stored AND (f.access_value & 8) <> 0"
            )
    return (
        "w AS MATERIALIZED (SELECT seq, bool_or(stored) AS stored FROM ("
        f"SELECT seq, kind = 'store' AS stored FROM revisions WHERE path = {path} AND created_seq = {created} "
        "AND kind NOT IN ('draw', 'dispatch') UNION ALL "
        f"SELECT begin_seq, false FROM state WHERE path = {quote_text(str(life['path']) + '.content')} "
        f"AND begin_seq > {created} {lives}) GROUP BY seq), "
        f"known AS MATERIALIZED ({' UNION ALL '.join(parts)}), "
        "hits AS MATERIALIZED ("
        "SELECT seq, how, start, stop, sure FROM known "
        f"WHERE start < {part.stop} AND coalesce(stop, {part.stop}) > {part.start} "
        "UNION ALL SELECT seq, NULL, NULL, NULL, false FROM w WHERE seq NOT IN (SELECT seq FROM known))"
    )


def _stored(trace: Trace, call: Call, life: Mapping[str, Any]) -> Iterator[tuple[str, Span]]:
    """Yield the parts of a buffer that shaders or captures of a draw may have written, each with the way."""
    values = _below(trace, call.seq, f"contexts[{call.context}].GL_*_BUFFER_*")
    for kind, index, span in _blocks(values, life["name"]):
        if kind in _STORES:
            yield f"stored by a shader, {_BOUND[kind]} {index}", span
    bound = json.loads(
        next(iter(_below(trace, call.seq, f"contexts[{call.context}].GL_TRANSFORM_FEEDBACK_BINDING").values()), "0")
    )
    values = _below(trace, call.seq, f"contexts[{call.context}].transform_feedbacks[{bound}].GL_*")
    for _, index, span in _blocks(values, life["name"]):
        yield f"transform feedback {index}", span


def readers(trace: Trace, life: Mapping[str, Any], at: int, part: range, *, within: range, most: int) -> Readers:
    """Return the calls of `within` that read the bytes of `part`; of draws the `most` nearest to `at`.

    Known are enabled vertex attributes, indices, blocks and atomic counters that are bound, copies, and what the
    program reads back. Draws that use the buffer otherwise may read any byte.
    """
    group, name = life["share_group"], life["name"]
    contexts = [row["context"] for row in trace.core.table_rows(ContextRow) if row["share_group"] == group]
    listed = ", ".join(map(str, contexts)) or "-1"
    uses = f"(list_contains(buffers, {name}) OR index_buffer = {name})"
    columns = "seq, context, vertex_array, index_buffer, instances"
    bounds = f"seq >= {within.start} AND seq < {within.stop}"
    query = (
        f"WITH d AS MATERIALIZED (SELECT {columns} FROM draws WHERE kind IN ('draw', 'dispatch') AND {bounds} "
        f"AND context IN ({listed}) AND {uses}) "
        f"(SELECT 0 AS part, * FROM d ORDER BY abs(seq::BIGINT - {at}), seq LIMIT {most}) "
        "UNION ALL SELECT 1, count(*), NULL, NULL, NULL, NULL FROM d"
    )
    rows = trace.sql(query).fetchall()
    touches = [touch for row in rows if row[0] == 0 for touch in _of_draw(trace, row[1:], name, part)]
    touches += _copies(trace, life, contexts, part, bounds)
    draws = next(int(row[1]) for row in rows if row[0] == 1)
    return Readers(tuple(sorted(touches, key=lambda touch: touch.seq)), draws, sum(row[0] == 0 for row in rows))


def _copies(trace: Trace, life: Mapping[str, Any], contexts: list[int], part: range, bounds: str) -> Iterator[Touch]:
    """Yield copies of the bytes, and what the program read of them."""
    name, listed = life["name"], ", ".join(map(str, contexts)) or "-1"
    called = {row["name"] for row in trace.core.table_rows(FunctionRow) if row["calls"]}
    for function, (buffer, start, size, how) in _NAMED_READERS.items():
        if function in called:
            where = f"{buffer} = {name} AND context IN ({listed}) AND {bounds}"
            yield from _asked(trace, f"FROM {quote(function)} WHERE {where}", (function, start, size, how), part)
    for function, (target, start, size, how) in _READERS.items():
        if function not in called:
            continue
        bound = (
            f"SELECT path, begin_seq, end_seq FROM state WHERE path LIKE 'contexts[%].GL\\_%\\_BUFFER\\_BINDING' "
            f"ESCAPE '\\' AND value = '{name}'"
        )
        source = (
            f"FROM {quote(function)} f JOIN ({bound}) s ON s.path = 'contexts[' || f.context || '].' || f.{target} || "
            f"'_BINDING' AND s.begin_seq <= f.seq AND s.end_seq > f.seq WHERE f.context IN ({listed}) "
            f"AND f.{bounds.replace(' seq', ' f.seq')}"
        )
        yield from _asked(trace, source, (function, f"f.{start}", f"f.{size}", how), part)


def _asked(trace: Trace, source: str, of: tuple[str, str, str, str], part: range) -> Iterator[Touch]:
    """Yield the rows of a function that read the bytes: `of` is its name, the columns of start and size, the way."""
    function, start, size, how = of
    seq = "f.seq" if start.startswith("f.") else "seq"
    where = f"{start} < {part.stop} AND {start} + {size} > {part.start}"
    for at, begin, count in trace.sql(f"SELECT {seq}, {start}, {size} {source} AND {where} ORDER BY 1").fetchall():
        yield Touch(int(at), function, how, int(begin), int(begin) + int(count), sure=True)


# ---- one draw --------------------------------------------------------------------------------------------------------


def _of_draw(trace: Trace, row: tuple[Any, ...], name: int, part: range) -> Iterator[Touch]:
    seq, context, vertex_array, index_buffer, instances = row
    call = trace.calls[seq]
    reads = [*_blocks_read(trace, call, name)]
    if call.name.startswith("glDispatch"):
        vertex_array = None
    if vertex_array is not None:
        values = _below(trace, seq, f"contexts[{context}].vertex_arrays[{vertex_array}]")
        reads += _attributes(values, call, name, instances, part)
        if index_buffer == name:
            reads += _indices(call)
    if not reads:
        yield Touch(int(seq), call.name, "otherwise", None, None, sure=False)
    for how, span, sure in reads:
        if span[0] is None or _meet((span[0], span[1]), part):
            yield Touch(int(seq), call.name, how, *span, sure=sure)


Read: TypeAlias = tuple[str, tuple[int | None, int | None], bool]


def _blocks_read(trace: Trace, call: Call, name: int) -> Iterator[Read]:
    values = _below(trace, call.seq, f"contexts[{call.context}].GL_*_BUFFER_*")
    for kind, index, span in _blocks(values, name):
        if kind in _BOUND:
            yield f"{_BOUND[kind]} {index}", span, False  # the program need not have such a block
    if "Indirect" in call.name:
        for path, value in values.items():
            if path.endswith("_INDIRECT_BUFFER_BINDING") and value == str(name):
                yield "counts of the draw", (_integer(call.args.get("indirect")) or 0, None), False


def _blocks(values: Mapping[str, str], name: int) -> Iterator[tuple[str, int, Span]]:
    """Yield the indexed bindings of a buffer: target, index, part of the buffer."""
    indexed: dict[tuple[str, int], dict[str, int]] = {}
    for path, value in values.items():
        if match := _INDEXED.search(path):
            indexed.setdefault((match[1], int(match[3])), {})[match[2]] = int(json.loads(value))
    for (kind, index), of in sorted(indexed.items()):
        if of.get("BINDING") == name:
            start, size = of.get("START", 0), of.get("SIZE", 0)
            yield kind, index, (start, start + size if size else None)


def _indices(call: Call) -> Iterator[Read]:
    args = call.args
    size = {"GL_UNSIGNED_BYTE": 1, "GL_UNSIGNED_SHORT": 2, "GL_UNSIGNED_INT": 4}.get(str(args.get("type")))
    count, start = _integer(args.get("count")), args.get("indices")
    if size is None or count is None or not (start is None or isinstance(start, int)) or "Multi" in call.name:
        yield "indices", (None, None), False
    else:
        yield "indices", (start or 0, (start or 0) + count * size), True


def _attributes(values: Mapping[str, str], call: Call, name: int, instances: int | None, part: range) -> Iterator[Read]:
    """Yield what the enabled arrays read of the bytes of `part`, each array once."""
    parts: dict[tuple[str, int], dict[str, Any]] = {}
    arrays: dict[str, dict[str, Any]] = {}
    for path, value in values.items():
        if match := _PART.search(path):
            parts.setdefault((match[1], int(match[2])), {})[match[3]] = json.loads(value)
        elif match := _ARRAY.search(path):
            arrays.setdefault(match[1], {})[match[2]] = json.loads(value)
    spans = _vertices(call)
    for (kind, number), of in sorted(parts.items()):
        if kind != "attributes" or not of.get("GL_VERTEX_ATTRIB_ARRAY_ENABLED"):
            continue
        binding = parts.get(("bindings", int(of.get("GL_VERTEX_ATTRIB_BINDING", number))), {})
        if int(binding.get("GL_VERTEX_BINDING_BUFFER", 0)) != name:
            continue
        size = _size(of.get("GL_VERTEX_ATTRIB_ARRAY_TYPE", "GL_FLOAT"), of.get("GL_VERTEX_ATTRIB_ARRAY_SIZE", 4))
        offset = int(binding.get("GL_VERTEX_BINDING_OFFSET", 0)) + int(of.get("GL_VERTEX_ATTRIB_RELATIVE_OFFSET", 0))
        stride, divisor = (int(binding.get(f"GL_VERTEX_BINDING_{key}", 0)) for key in ("STRIDE", "DIVISOR"))
        rows, what = (spans, "vertices") if not divisor else (_instances(call, instances, divisor), "instances")
        yield from strided(f"attribute {number}", what, rows, (offset, stride, size), part)
    for array, of in sorted(arrays.items()):
        if not of.get("enabled") or int(of.get("buffer", 0)) != name:
            continue
        size = _size(of.get("type", "GL_FLOAT"), of.get("size", 4))
        place = (_integer(of.get("pointer")) or 0, int(of.get("stride", 0)) or size, size)
        yield from strided(array, "vertices", spans, place, part)


def strided(array: str, what: str, rows: list[Span] | None, place: tuple[int, int, int], part: range) -> Iterator[Read]:
    """Yield what an array reads of the bytes: rows of `size` bytes at `offset`, `stride` apart. None: unknown rows."""
    offset, stride, size = place
    reached: list[tuple[int, int]] = []
    for low, stop in rows if rows is not None else [(0, None)]:
        if not stride:
            if offset < part.stop and offset + size > part.start and stop != low:
                reached.append((low, low))
            continue
        begin = max(low, -((offset + size - part.start - 1) // stride))
        last = (part.stop - 1 - offset) // stride
        last = last if stop is None else min(last, stop - 1)
        if begin <= last:
            reached.append((begin, last))
    if reached:
        begin, last = min(one[0] for one in reached), max(one[1] for one in reached)
        span = (offset + begin * stride, offset + last * stride + size)
        sure = rows is not None and len(rows) <= _MOST_PARTS and all(stop is not None for _, stop in rows)
        yield f"{array}, {what} {begin}" + (f" to {last}" if last > begin else ""), span, sure
    else:
        yield array, (part.stop, part.stop), True  # the array reads other bytes of the buffer


def _vertices(call: Call) -> list[Span] | None:
    """Return the ranges of vertices that a draw names; None where indices, or a buffer, choose them."""
    args = call.args
    first, count = args.get("first"), args.get("count")
    if call.name.startswith("glDrawArrays") and isinstance(first, int) and isinstance(count, int):
        return [(first, first + count)]
    if call.name.startswith("glMultiDrawArrays") and "Indirect" not in call.name:
        try:
            return [(int(a), int(a) + int(b)) for a, b in zip(first, count, strict=True)]  # type: ignore[call-overload]
        except (TypeError, ValueError):
            return None
    return None


def _instances(call: Call, instances: int | None, divisor: int) -> list[Span] | None:
    if instances is None or "Indirect" in call.name:
        return None
    base = _integer(call.args.get("baseinstance")) or 0
    return [(base, base + -(-max(int(instances), 1) // divisor))]


def _size(kind: object, components: object) -> int:
    number = 4 if components == "GL_BGRA" or int(str(components)) > 4 else int(str(components))
    return 4 if kind in _PACKED else _BYTES.get(str(kind), 4) * number


def _integer(value: object) -> int | None:
    return int(value) if isinstance(value, int) else None


def _meet(span: tuple[int, int | None], part: range) -> bool:
    return span[0] < part.stop and (span[1] is None or span[1] > part.start)


def _below(trace: Trace, seq: int, path: str) -> dict[str, str]:
    return dict(trace.state_index.at(seq, path))
