"""Buffers of a recording of Vulkan for the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drawtap.analysis.buffer_range import Touch
from drawtap.analysis.held import HeldBuffer
from drawtap.analysis.vulkan_held import held_buffer, place_of
from drawtap.analysis.vulkan_reads import MOST_DRAWS, reads
from drawtap.errors import UsageError
from drawtap.replay.place import Place
from drawtap.trace.vulkan_draw import DrawState, drawn_at
from drawtap.trace.vulkan_sets import UpTo
from drawtap.web.answer import Answer
from drawtap.web.buffers import MOST_TOUCHES, Buffers, listed

if TYPE_CHECKING:
    from drawtap.replay.warm import Warm
    from drawtap.trace.trace import Trace

_WRITES = 12  # around a call
# Commands that write to a buffer, and the parameter that names it.
_TRANSFERS = (
    ("vkCmdCopyBuffer", "dstBuffer"), ("vkCmdUpdateBuffer", "dstBuffer"), ("vkCmdFillBuffer", "dstBuffer"),
    ("vkCmdCopyImageToBuffer", "dstBuffer"), ("vkCmdCopyQueryPoolResults", "dstBuffer"),
)  # fmt: skip
# Commands whose parts of buffers are known: the parameter of the buffer written, and of the one read.
_RANGED = {
    "vkCmdCopyBuffer": ("dstBuffer", "srcBuffer"), "vkCmdUpdateBuffer": ("dstBuffer", ""),
    "vkCmdFillBuffer": ("dstBuffer", ""), "vkCmdCopyImageToBuffer": ("dstBuffer", ""),
    "vkCmdCopyQueryPoolResults": ("dstBuffer", ""), "vkCmdCopyBufferToImage": ("", "srcBuffer"),
}  # fmt: skip
_WHOLE_SIZE = (1 << 64) - 1
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
            "SELECT handle, name AS label, created_seq, destroyed_seq AS deleted_seq, memory, memory_offset, "
            "coalesce(TRY_CAST(info->>'size' AS BIGINT), bytes) AS bytes FROM objects "
            f"WHERE type = 'VkBuffer' AND handle = {name} AND created_seq <= {seq} "
            f"AND (destroyed_seq IS NULL OR destroyed_seq > {seq}) ORDER BY created_seq DESC LIMIT 1"
        )
        lives = list(rows.dicts())
        if not lives:
            raise UsageError(f"there is no buffer {name:#x} after call {seq}", hint="the table objects has all lives")
        return {**lives[0], "first_use_seq": None, "last_use_seq": None}

    def _read(self, folder: Path, player: Warm, key: tuple[int, int, int]) -> HeldBuffer:
        with self._lent() as trace:
            return held_buffer(trace, folder, player, at=key[0], name=key[2])

    def _writes(self, trace: Trace, life: Any, seq: int) -> tuple[list[int], int | None]:
        end = life["deleted_seq"] if life["deleted_seq"] is not None else len(trace.calls)
        tables, seqs = UpTo(trace, end), set[int]()
        if life["memory"] is not None:
            begin, size = life["memory_offset"] or 0, life["bytes"] or 0
            where = f'memory = {life["memory"]} AND "offset" < {begin + size} AND "offset" + data_bytes > {begin}'
            seqs |= {int(row[0]) for row in tables.rows("memory_writes", "seq", where)}
        for function, parameter in _TRANSFERS:
            ran = [int(row[0]) for row in tables.rows(function, "seq", f"{parameter} = {life['handle']}")]
            if ran:
                listed = ", ".join(map(str, ran))
                rows = trace.sql(f"SELECT DISTINCT submit_seq FROM executed WHERE seq IN ({listed})").fetchall()
                seqs |= {int(row[0]) for row in rows}
        writes = sorted(one for one in seqs if life["created_seq"] <= one < end)
        before = [one for one in writes if one <= seq]
        return before[-_WRITES - 1 :] + [one for one in writes if one > seq][:_WRITES], before[-1] if before else None

    def _touched(self, trace: Trace, life: Any, seq: int, first: int, end: int) -> Answer:
        place = drawn_at(trace, seq)
        at = seq if place is None or place[1] is None else place[1]  # a command runs when somebody submits it
        tables = UpTo(trace, at)
        touches = [*_stores(trace, tables, life, first, end)]
        read: list[Touch] = []
        for function, (parameter, source) in _RANGED.items():
            if parameter:
                touches += _transfers(tables, life, (function, parameter), range(first, end))
            if source:
                read += _transfers(tables, life, (function, source), range(first, end))
        drawn, use = reads(trace, int(life["handle"]), range(first, end), within=range(life["created_seq"], at + 1))
        read += drawn
        wrote = sorted((one for one in touches if one.seq > life["created_seq"]), key=lambda one: -one.seq)
        said = [
            "In Vulkan the page does not look for reads through addresses of buffers, for shaders that store in a",
            "range, or for copies of later versions, as vkCmdCopyBuffer2.",
        ]
        if use > MOST_DRAWS:
            said.append(
                f"{use:,} draws and dispatches use the buffer up to call {at:,}: the last {MOST_DRAWS} were looked at."
            )
        if len(wrote) > MOST_TOUCHES:
            said.append(f"{len(wrote):,} calls wrote here up to call {at:,}: the newest are listed.")
        reading = sorted((one for one in read if one.seq > life["created_seq"]), key=lambda one: one.seq)
        if len(reading) > MOST_TOUCHES:
            said.append(f"{len(reading):,} calls read here up to call {at:,}: the newest are listed.")
        return {
            "first": first, "end": end, "at": at, "since": life["created_seq"], "until": at + 1,
            "writers": listed(wrote[:MOST_TOUCHES]), "readers": listed(reading[-MOST_TOUCHES:]), "said": said,
        }  # fmt: skip

    def _index_type(self, seq: int) -> str | None:
        with self._lent() as trace:
            place = drawn_at(trace, seq)
            if place is None:
                return None
            kinds = [value for path, value, _ in DrawState(trace, *place).values() if path == "index_buffer.indexType"]
        return _TYPES.get(str(kinds[0]).removesuffix("_KHR").removesuffix("_EXT")) if kinds else None


def _stores(trace: Trace, tables: UpTo, life: Any, first: int, end: int) -> Iterator[Touch]:
    """Yield the stores of the program in mapped memory that reach bytes of a buffer."""
    if life["memory"] is None:
        return
    begin = life["memory_offset"] or 0
    where = f'memory = {life["memory"]} AND "offset" < {begin + end} AND "offset" + data_bytes > {begin + first}'
    for seq, offset, size in tables.rows("memory_writes", 'seq, "offset", data_bytes', where):
        low, high = max(int(offset) - begin, 0), int(offset) + int(size) - begin
        if life["bytes"] is not None:
            high = min(high, life["bytes"])  # stores are recorded by pages, which other objects share
        yield Touch(int(seq), trace.calls[seq].name, "stored through a mapping", low, high, sure=True)


def _transfers(tables: UpTo, life: Any, of: tuple[str, str], part: range) -> Iterator[Touch]:
    """Yield the submissions up to a call whose commands reach bytes: `of` is a function and the buffer's parameter."""
    function, parameter = of
    commands = [int(row[0]) for row in tables.rows(function, "seq", f"{parameter} = {life['handle']}")]
    if not commands:
        return
    listed_ = ", ".join(map(str, commands))
    rows = tables.rows("executed", "submit_seq, seq", f"seq IN ({listed_})", "submit_seq")
    for submit, command in rows:
        for low, high in _parts(tables.trace.calls[command].args, function, parameter):
            if low is None or (low < part.stop and (high is None or high > part.start)):
                yield Touch(int(submit), function, f"command of call {command}", low, high, sure=low is not None)


def _parts(args: Mapping[str, Any], function: str, parameter: str) -> Iterator[tuple[int | None, int | None]]:
    """Yield the parts of a buffer that a command writes or reads: from, and end (None: the buffer's); None: unknown."""
    if function == "vkCmdCopyBuffer":
        for region in args.get("pRegions") or []:
            start = int(region["srcOffset" if parameter == "srcBuffer" else "dstOffset"])
            yield start, start + int(region["size"])
    elif function in ("vkCmdUpdateBuffer", "vkCmdFillBuffer"):
        start, size = int(args["dstOffset"]), int(args["dataSize" if function == "vkCmdUpdateBuffer" else "size"])
        yield start, None if size == _WHOLE_SIZE else start + size
    else:
        yield None, None
