"""Draws and dispatches of Vulkan that read bytes of a buffer: by what is bound, and by the numbers of the draws."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from drawtap.analysis.buffer_range import Touch, strided
from drawtap.errors import QueryError
from drawtap.trace.sql_text import quote
from drawtap.trace.vulkan_draw import Bound, DrawState
from drawtap.trace.vulkan_sets import DescriptorSets

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

#: The most draws that are looked at.
MOST_DRAWS = 16
Read: TypeAlias = tuple[str, tuple[int | None, int | None], bool]  # how, bytes, whether that is certain

_WHOLE = (1 << 64) - 1
_VERTEX = ("vkCmdBindVertexBuffers", "vkCmdBindVertexBuffers2", "vkCmdBindVertexBuffers2EXT")
_INDEX = ("vkCmdBindIndexBuffer", "vkCmdBindIndexBuffer2", "vkCmdBindIndexBuffer2KHR")
_INDEX_BYTES = {"UINT8": 1, "UINT16": 2, "UINT32": 4}
# Bytes of the numbers of a draw in a buffer.
_NUMBERS = {"vkCmdDrawIndirect": 16, "vkCmdDrawIndexedIndirect": 20, "vkCmdDispatchIndirect": 12}
_GIVES = re.compile("vkCmd(Bind(Pipeline|Vertex|Index|DescriptorSets)|PushDescriptorSet|SetVertexInput)")
_COMPONENT = re.compile(r"[RGBAXEDS](\d+)")
_PACKED = re.compile(r"_PACK(\d+)$")
_TEMPLATES = ("vkCmdPushDescriptorSetWithTemplate", "vkCmdPushDescriptorSetWithTemplateKHR")
_UPDATES = ("vkUpdateDescriptorSetWithTemplate", "vkUpdateDescriptorSetWithTemplateKHR")


def reads(trace: Trace, buffer: int, part: range, *, within: range) -> tuple[list[Touch], int]:
    """Return the draws and dispatches that read bytes of a buffer, and how many use the buffer.

    `within` are the calls that submit them. At most MOST_DRAWS are looked at, the last ones; a touch is about the call
    that submits. Shaders need not read all that is bound: such a touch is not certain. Reads through an address of the
    buffer are not known.
    """
    rows = _using(trace, buffer, within)
    touches: list[Touch] = []
    for seq, submit in rows[:MOST_DRAWS]:
        for how, span, sure in _of_draw(DrawState(trace, seq, submit), buffer, part):
            if span[0] is None or (span[0] < part.stop and (span[1] is None or span[1] > part.start)):
                touches.append(Touch(submit, trace.calls[seq].name, f"{how}, call {seq}", *span, sure=sure))
    return touches, len(rows)


# ---- which draws use it --------------------------------------------------------------------------------------------


def _using(trace: Trace, buffer: int, within: range) -> list[tuple[int, int]]:
    """Return the draws and dispatches that are given the buffer, each with the call that submits it; the last first."""
    names = frozenset(trace.database.table_names())
    sets = ", ".join(map(str, _sets(trace, buffer, names)))
    needle = f"'%{buffer.to_bytes(8, 'little').hex().upper()}%'"
    gives = [(name, f"list_contains(pBuffers, {buffer})") for name in _VERTEX]
    gives += [(name, f"buffer = {buffer}") for name in _INDEX]
    gives += [(name, f"pData_data IS NULL OR hex(pData_data) LIKE {needle}") for name in _TEMPLATES]
    if sets:
        gives.append(("vkCmdBindDescriptorSets", f"list_has_any(pDescriptorSets, [{sets}]::UBIGINT[])"))
    parts = [f"SELECT commandBuffer AS cb, seq FROM {quote(n)} WHERE {w}" for n, w in gives if n in names]
    pushed = [n for n in ("vkCmdPushDescriptorSet", "vkCmdPushDescriptorSetKHR") if n in names]
    written = f"SELECT seq FROM VkWriteDescriptorSet WHERE {_writes(trace, buffer)}"
    parts += [f"SELECT commandBuffer, seq FROM {quote(n)} WHERE seq IN ({written})" for n in pushed]
    from_buffer = [
        f"SELECT seq FROM {quote(n)} WHERE buffer = {buffer}" for n in names if "Indirect" in n and n in _NUMBERS
    ]
    direct = " OR e.seq IN (" + " UNION ALL ".join(from_buffer) + ")" if from_buffer else ""
    parts = parts or ["SELECT 0::UBIGINT AS cb, 0::UBIGINT AS seq WHERE false"]
    query = (
        f"WITH r AS ({' UNION ALL '.join(parts)}), e AS (SELECT e.*, b.seq AS begun FROM executed e ASOF JOIN "
        '"vkBeginCommandBuffer" b ON b.commandBuffer = e.command_buffer AND b.seq <= e.seq '
        f"WHERE e.kind IN ('draw', 'dispatch') AND e.submit_seq BETWEEN {within.start} AND {within.stop - 1}) "
        "SELECT seq, submit_seq FROM e WHERE EXISTS (SELECT 1 FROM r WHERE r.cb = e.command_buffer "
        f"AND r.seq BETWEEN e.begun AND e.seq){direct} ORDER BY number DESC"
    )
    return [(int(seq), int(submit)) for seq, submit in trace.sql(query).fetchall()]


def _writes(trace: Trace, buffer: int) -> str:
    """Return the condition of writes of descriptors that name the buffer, or a view of it."""
    views = trace.sql(
        f"SELECT handle FROM objects WHERE type = 'VkBufferView' AND json_extract_string(info, '$.buffer') = '{buffer}'"
    ).fetchall()
    texels = "".join(f" OR list_contains(pTexelBufferView, {int(view)})" for (view,) in views)
    return f"list_contains(list_transform(pBufferInfo, lambda x: x.buffer), {buffer}){texels}"


def _sets(trace: Trace, buffer: int, names: frozenset[str]) -> set[int]:
    """Return the descriptor sets that hold the buffer at any time."""
    sets: set[int] = set()

    def add(query: str) -> bool:
        before = len(sets)
        try:
            sets.update(int(handle) for (handle,) in trace.sql(query).fetchall())
        except QueryError:
            return False  # a table of structures is there where one occurs
        return len(sets) > before

    add(f"SELECT DISTINCT dstSet FROM VkWriteDescriptorSet WHERE {_writes(trace, buffer)}")
    needle = f"'%{buffer.to_bytes(8, 'little').hex().upper()}%'"
    for name in _UPDATES:
        if name in names:
            where = f"pData_data IS NULL OR hex(pData_data) LIKE {needle}"
            add(f"SELECT DISTINCT descriptorSet FROM {quote(name)} WHERE {where}")
    while sets and add(
        f"SELECT DISTINCT dstSet FROM VkCopyDescriptorSet WHERE srcSet IN ({', '.join(map(str, sets))})"
    ):
        pass
    return sets


# ---- one draw ------------------------------------------------------------------------------------------------------


def _of_draw(state: DrawState, buffer: int, part: range) -> Iterator[Read]:
    call = state.trace.calls[state.command]
    bound = Bound()
    for seq, name in state.given(_GIVES):
        bound.take(seq, name, state.trace.calls[seq].args, state.point)
    yield from _indirect(call.name, call.args, buffer)
    if state.point.endswith("GRAPHICS"):
        indexed = "Indexed" in call.name
        if indexed and bound.index_buffer is not None and bound.index_buffer[0].get("buffer") == buffer:
            yield from _indices(call.name, call.args, bound.index_buffer[0])
        yield from _attributes(state, bound, buffer, part)
    yield from _descriptors(state, bound, buffer)


def _indirect(name: str, args: Mapping[str, Any], buffer: int) -> Iterator[Read]:
    """Yield the numbers of a draw or dispatch that stand in the buffer."""
    size = _NUMBERS.get(name)
    if args.get("buffer") == buffer:
        start, count = int(args.get("offset", 0)), args.get("drawCount", 1)
        if size is None:
            yield "numbers of the draw", (start, None), False
        elif count:
            yield "numbers of the draw", (start, start + (int(count) - 1) * int(args.get("stride", 0)) + size), True
    if args.get("countBuffer") == buffer:
        start = int(args.get("countBufferOffset", 0))
        yield "number of draws", (start, start + 4), True


def _indices(name: str, args: Mapping[str, Any], what: Mapping[str, Any]) -> Iterator[Read]:
    width = _INDEX_BYTES.get(str(what.get("indexType")).removeprefix("VK_INDEX_TYPE_").partition("_")[0])
    start = int(what.get("offset", 0))
    spans = _spans(name, args, ("firstIndex", "indexCount"), "pIndexInfo")
    if width is None or spans is None:
        yield "indices", (start, None), False
        return
    for first, stop in spans:
        yield f"indices {first} to {stop - 1}", (start + first * width, start + stop * width), True


def _spans(name: str, args: Mapping[str, Any], keys: tuple[str, str], many: str) -> list[tuple[int, int]] | None:
    """Return the ranges that a draw names by first and count; None where a buffer has them."""
    if "Indirect" in name:
        return None
    infos = args.get(many) if many in args else [args]
    found = []
    for one in infos or []:
        first, count = (one or {}).get(keys[0]), (one or {}).get(keys[1])
        if not isinstance(first, int) or not isinstance(count, int):
            return None
        if count:
            found.append((first, first + count))
    return found


def _attributes(state: DrawState, bound: Bound, buffer: int, part: range) -> Iterator[Read]:
    """Yield what the attributes of vertices read of the bytes of `part`."""
    call = state.trace.calls[state.command]
    info = None if bound.pipeline is None else state.made("VkPipeline", bound.pipeline[0])
    given: Any = (info.info.get("pVertexInputState") if info is not None else None) or {}
    dynamic: Any = bound.dynamic.get("VertexInput", ({}, 0))[0]
    given = given if given.get("pVertexAttributeDescriptions") else dynamic or {}
    bindings = {one["binding"]: one for one in given.get("pVertexBindingDescriptions") or [] if one}
    vertices = (
        None if "Indexed" in call.name else _spans(call.name, call.args, ("firstVertex", "vertexCount"), "pVertexInfo")
    )
    for one in given.get("pVertexAttributeDescriptions") or []:
        of, binding = bound.vertex_buffers.get(one["binding"]), bindings.get(one["binding"], {})
        if of is None or of[0].get("buffer") != buffer:
            continue
        what: Any = of[0]
        stride = int(what.get("stride") or binding.get("stride", 0))
        place = (int(what.get("offset", 0)) + int(one.get("offset", 0)), stride, _bytes_of(str(one.get("format"))))
        rows: list[tuple[int, int | None]] | None = None
        kind = "vertices"
        if str(binding.get("inputRate", "")).endswith("INSTANCE"):
            kind, divisor = "instances", int(binding.get("divisor", 1))
            first, count = call.args.get("firstInstance"), call.args.get("instanceCount")
            if isinstance(first, int) and isinstance(count, int):
                rows = [(first, first + (-(-count // divisor) if divisor else min(count, 1)))]
        elif vertices is not None:
            rows = [*vertices]
        for how, span, sure in strided(f"attribute {one['location']}", kind, rows, place, part):
            if span[0] is None or span[0] < part.stop:
                yield how, span, sure


def _bytes_of(form: str) -> int:
    """Return the bytes of an element of a format, by its name."""
    if packed := _PACKED.search(form):
        return int(packed[1]) // 8
    return sum(map(int, _COMPONENT.findall(form.removeprefix("VK_FORMAT_").partition("_")[0]))) // 8 or 4


def _descriptors(state: DrawState, bound: Bound, buffer: int) -> Iterator[Read]:
    sets = DescriptorSets(state.trace, state.tables)
    for number in sorted({*bound.sets, *bound.pushed}):
        offsets: list[int] = []
        if number in bound.sets:
            handle, offsets, _ = bound.sets[number]
            content = sets.content(handle, state.submit)
        else:
            content = {}
            for seq, data, template in bound.pushed[number]:
                content |= sets.templated(data, template, seq) if template else data
        dynamic = [key for key, what in sorted(content.items()) if str(what["type"]).endswith("_DYNAMIC")]
        for (binding, element), what in sorted(content.items()):
            kind = str(what["type"]).removeprefix("VK_DESCRIPTOR_TYPE_").lower().replace("_", " ")
            of = what
            if what.get("bufferView") and (view := state.made("VkBufferView", what["bufferView"])) is not None:
                of = {**view.info, "type": what["type"]}
            if of.get("buffer") != buffer:
                continue
            start, size = int(of.get("offset", 0)), int(of.get("range", _WHOLE))
            sure_of_place = True
            if (binding, element) in dynamic:
                place = dynamic.index((binding, element))
                sure_of_place = place < len(offsets)
                start += offsets[place] if sure_of_place else 0
            end = None if size == _WHOLE or not sure_of_place else start + size
            yield f"{kind}, set {number}, binding {binding}" + (f"[{element}]" if element else ""), (start, end), False
