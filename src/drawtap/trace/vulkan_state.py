"""The state of Vulkan at a call: live objects, what they are bound to, descriptor sets, command buffers.

It comes from tables: `objects`, `submits`, those of functions and of structures.
"""

from __future__ import annotations

import functools
import json
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from drawtap.trace.sql_text import quote_text
from drawtap.trace.vulkan_sets import DescriptorSets, UpTo, flat, shown

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

_BOUND = (
    ("vkBindBufferMemory", "buffer"),
    ("vkBindImageMemory", "image"),
    ("VkBindBufferMemoryInfo", "buffer"),
    ("VkBindImageMemoryInfo", "image"),
)


def vulkan_state(trace: Trace, call: int, path: str = "", *, own: bool = False) -> list[tuple[str, object]]:
    """Return paths and values of the state after a call; `path`: those that begin with it.

    Objects have a path as `VkImage[0x55d0c8]`, with the call that made them where two share the handle. They have
    `created_seq`, `parent`, `name` (the last one that they get), `memory` and `memory_offset` in bytes where they are
    bound by then, and their create info. Descriptor sets have `content[BINDING][ELEMENT]`. Command buffers have `state`
    (initial, recording, executable), what they hold, and the last submission. `own`: of objects that the call made, and
    of the command buffer that it is about; that takes far less time.
    """
    kind, bracket, _ = path.partition("[")
    where = f"type = {quote_text(kind)}" if bracket else "true"
    buffer = None
    if own:
        buffer = int(str(trace.calls[call].args.get("commandBuffer", 0)))
        where += f" AND (created_seq = {call} OR (type = 'VkCommandBuffer' AND handle = {buffer}))"
    return [(name, value) for name, value in _State(trace, call, where, buffer).paths() if name.startswith(path)]


class _State:
    """Objects that `where` takes; `buffer`: the one command buffer that is among them."""

    def __init__(self, trace: Trace, call: int, where: str, buffer: int | None) -> None:
        self._trace, self._call, self._where, self._buffer = trace, call, where, buffer
        self._tables = UpTo(trace, call)

    def paths(self) -> Iterator[tuple[str, object]]:
        live = self._trace.sql(
            f"SELECT type, handle, created_seq, parent, name, info FROM objects WHERE created_seq <= {self._call} "
            f"AND (destroyed_seq IS NULL OR destroyed_seq > {self._call}) AND {self._where} "
            "ORDER BY type, created_seq, handle"
        ).fetchall()
        twice: dict[tuple[str, int], int] = defaultdict(int)
        for kind, handle, *_ in live:
            twice[kind, handle] += 1
        for kind, handle, created, parent, name, info in live:
            root = f"{kind}[{handle:#x}" + (f"@{created}]" if twice[kind, handle] > 1 else "]")
            yield f"{root}.created_seq", created
            if parent:
                yield f"{root}.parent", f"{parent:#x}"
            if name:
                yield f"{root}.name", name
            at = self._bound.get((kind, handle)) if kind in ("VkBuffer", "VkImage") else None
            if at is not None and at[0] >= created:
                yield f"{root}.memory", f"{at[1]:#x}"
                yield f"{root}.memory_offset", at[2]
            if info:
                yield from flat(f"{root}.info", json.loads(info))
            if kind == "VkDescriptorSet":
                yield from ((f"{root}.{path}", value) for path, value, _ in shown(self._sets.content(handle)))
            if kind == "VkCommandBuffer":
                yield from ((f"{root}.{path}", value) for path, value in self._buffers(handle, parent, created))

    @functools.cached_property
    def _sets(self) -> DescriptorSets:
        return DescriptorSets(self._trace, self._tables)

    @functools.cached_property
    def _bound(self) -> dict[tuple[str, int], tuple[int, int, int]]:
        """Return the binding call, memory and offset of buffers and images, the last one of each handle."""
        latest: dict[tuple[str, int], tuple[int, int, int]] = {}
        for table, column in _BOUND:
            kind = "VkBuffer" if column == "buffer" else "VkImage"
            for handle, *at in self._tables.rows(table, f"{column}, seq, memory, memoryOffset"):
                if (kind, handle) not in latest or latest[kind, handle][0] <= at[0]:
                    latest[kind, handle] = (at[0], at[1], at[2])
        return latest

    @functools.cached_property
    def _buffers(self) -> Any:
        """A function of a handle, its pool and its first call: paths and values."""
        one = "true" if self._buffer is None else f"commandBuffer = {self._buffer}"
        begun = dict(self._tables.rows("vkBeginCommandBuffer", "commandBuffer, seq", one))
        ended = dict(self._tables.rows("vkEndCommandBuffer", "commandBuffer, seq", one))
        reset = dict(self._tables.rows("vkResetCommandBuffer", "commandBuffer, seq"))
        pools = dict(self._tables.rows("vkResetCommandPool", "commandPool, seq"))
        counts: dict[int, list[tuple[int, str]]] = defaultdict(list)
        for name in self._tables.named("vkCmd"):
            for handle, seq in self._tables.rows(name, "commandBuffer, seq", one):
                counts[handle].append((seq, name))
        submitted: dict[int, int] = {}
        for handles, seq in self._tables.rows("submits", "command_buffers, seq"):
            submitted |= dict.fromkeys(handles, seq)

        def paths(handle: int, pool: int, created: int) -> Iterator[tuple[str, object]]:
            begin = begun.get(handle, -1)
            if begin < max(created, reset.get(handle, -1), pools.get(pool, -1)):
                yield "state", "initial"
                return
            yield "state", "executable" if ended.get(handle, -1) > begin else "recording"
            yield "begin_seq", begin
            held = [name for seq, name in counts[handle] if seq > begin]
            yield "commands", len(held)
            for name in sorted(set(held)):
                yield f"holds.{name}", held.count(name)
            if submitted.get(handle, -1) > begin:
                yield "submitted_seq", submitted[handle]

        return paths
