"""Buffers of a recording of Vulkan for the page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drawtap.analysis.held import HeldBuffer
from drawtap.analysis.vulkan_held import held_buffer, place_of
from drawtap.errors import UsageError
from drawtap.replay.place import Place
from drawtap.trace.vulkan_sets import UpTo
from drawtap.web.buffers import Buffers

if TYPE_CHECKING:
    from drawtap.replay.warm import Warm
    from drawtap.trace.trace import Trace

_WRITES = 12  # around a call
# Commands that write to a buffer, and the parameter that names it.
_TRANSFERS = (
    ("vkCmdCopyBuffer", "dstBuffer"), ("vkCmdUpdateBuffer", "dstBuffer"), ("vkCmdFillBuffer", "dstBuffer"),
    ("vkCmdCopyImageToBuffer", "dstBuffer"), ("vkCmdCopyQueryPoolResults", "dstBuffer"),
)  # fmt: skip
_TYPES = {
    "VK_INDEX_TYPE_UINT16": "GL_UNSIGNED_SHORT", "VK_INDEX_TYPE_UINT32": "GL_UNSIGNED_INT",
    "VK_INDEX_TYPE_UINT8": "GL_UNSIGNED_BYTE",
}  # fmt: skip


class VulkanBuffers(Buffers):
    """Questions about buffers of Vulkan. Raises what `held_buffer` and the pool raise, UsageError for a wrong format.

    Writes are stores of the program in mapped memory, and transfers where they were submitted. No row says
    when shaders stored something; the content has it.
    """

    def _place(self, seq: int) -> Place:
        with self._lent() as trace:
            return place_of(trace, seq)

    def _life(self, trace: Trace, seq: int, group: int, name: int) -> Mapping[str, Any]:
        del group
        rows = trace.sql(
            "SELECT handle, name AS label, created_seq, destroyed_seq AS deleted_seq, memory, memory_offset, bytes "
            f"FROM objects WHERE type = 'VkBuffer' AND handle = {name} AND created_seq <= {seq} "
            f"AND (destroyed_seq IS NULL OR destroyed_seq > {seq}) ORDER BY created_seq DESC LIMIT 1"
        )
        found = list(rows.dicts())
        if not found:
            raise UsageError(f"there is no buffer {name:#x} after call {seq}", hint="the table objects has all lives")
        return {**found[0], "first_use_seq": None, "last_use_seq": None}

    def _read(self, folder: Path, player: Warm, key: tuple[int, int, int]) -> HeldBuffer:
        with self._lent() as trace:
            return held_buffer(trace, folder, player, at=key[0], name=key[2])

    def _writes(self, trace: Trace, life: Any, seq: int) -> tuple[list[int], int | None]:
        end = life["deleted_seq"] if life["deleted_seq"] is not None else len(trace.calls)
        tables, found = UpTo(trace, end), set[int]()
        if life["memory"] is not None:
            begin, size = life["memory_offset"] or 0, life["bytes"] or 0
            where = f'memory = {life["memory"]} AND "offset" < {begin + size} AND "offset" + data_bytes > {begin}'
            found |= {int(row[0]) for row in tables.rows("memory_writes", "seq", where)}
        for function, parameter in _TRANSFERS:
            ran = [int(row[0]) for row in tables.rows(function, "seq", f"{parameter} = {life['handle']}")]
            if ran:
                listed = ", ".join(map(str, ran))
                rows = trace.sql(f"SELECT DISTINCT submit_seq FROM executed WHERE seq IN ({listed})").fetchall()
                found |= {int(row[0]) for row in rows}
        writes = sorted(one for one in found if life["created_seq"] <= one < end)
        before = [one for one in writes if one <= seq]
        return before[-_WRITES - 1 :] + [one for one in writes if one > seq][:_WRITES], before[-1] if before else None

    def _index_type(self, seq: int) -> str | None:
        from drawtap.trace.vulkan_draw import DrawState, drawn_at

        with self._lent() as trace:
            place = drawn_at(trace, seq)
            if place is None:
                return None
            kinds = [value for path, value, _ in DrawState(trace, *place).values() if path == "index_buffer.indexType"]
        return _TYPES.get(str(kinds[0]).removesuffix("_KHR").removesuffix("_EXT")) if kinds else None
