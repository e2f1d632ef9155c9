"""The state of Vulkan at a call: live objects, what they are bound to, descriptor sets, command buffers.

It comes from tables: `objects`, `submits`, those of functions and of structures.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from drawtap.errors import QueryError
from drawtap.trace.sql_text import quote

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

_CONTENT = ("pImageInfo", "pBufferInfo", "pTexelBufferView")
_BOUND = (
    ("vkBindBufferMemory", "buffer"),
    ("vkBindImageMemory", "image"),
    ("VkBindBufferMemoryInfo", "buffer"),
    ("VkBindImageMemoryInfo", "image"),
)


def vulkan_state(trace: Trace, call: int, path: str = "") -> list[tuple[str, object]]:
    """Return paths and values of the state after a call; `path`: those that begin with it.

    Objects have a path as `VkImage[0x55d0c8]`, with the call that made them where two share the handle. They have
    `created_seq`, `parent`, `name` (the last one that they get), `memory` and `memory_offset` in bytes where they are
    bound by then, and their create info. Descriptor sets have `content[BINDING][ELEMENT]`, or the last call that used
    a template. Command buffers have `state` (initial, recording, executable), what they hold, and the last submission.
    """
    return [(name, value) for name, value in _State(trace, call).paths() if name.startswith(path)]


class _State:
    def __init__(self, trace: Trace, call: int) -> None:
        self._trace, self._call = trace, call
        self._tables = frozenset(trace.database.table_names())

    def _rows(self, table: str, columns: str, order: str = "seq", where: str = "true") -> list[tuple[Any, ...]]:
        """Return rows of the calls up to the wanted one; none where no call has the function or structure."""
        if table not in self._tables and not table.startswith("Vk"):
            return []
        query = f"SELECT {columns} FROM {quote(table)} WHERE seq <= {self._call} AND {where} ORDER BY {order}"
        try:
            return self._trace.sql(query).fetchall()
        except QueryError:
            if table in self._tables:
                raise
            return []  # a table of structures is there where one occurs

    def paths(self) -> Iterator[tuple[str, object]]:
        bound = self._bound()
        live = self._trace.sql(
            f"SELECT type, handle, created_seq, parent, name, info FROM objects WHERE created_seq <= {self._call} "
            f"AND (destroyed_seq IS NULL OR destroyed_seq > {self._call}) ORDER BY type, created_seq, handle"
        ).fetchall()
        twice: dict[tuple[str, int], int] = defaultdict(int)
        for kind, handle, *_ in live:
            twice[kind, handle] += 1
        sets, buffers = self._sets(), self._command_buffers()
        for kind, handle, created, parent, name, info in live:
            root = f"{kind}[{handle:#x}" + (f"@{created}]" if twice[kind, handle] > 1 else "]")
            yield f"{root}.created_seq", created
            if parent:
                yield f"{root}.parent", f"{parent:#x}"
            if name:
                yield f"{root}.name", name
            if (at := bound.get((kind, handle))) is not None and at[0] >= created:
                yield f"{root}.memory", f"{at[1]:#x}"
                yield f"{root}.memory_offset", at[2]
            if info:
                yield from _flat(f"{root}.info", json.loads(info))
            if kind == "VkDescriptorSet":
                yield from ((f"{root}.{path}", value) for path, value in _content(sets[handle], created))
            if kind == "VkCommandBuffer":
                yield from ((f"{root}.{path}", value) for path, value in buffers(handle, parent, created))

    def _bound(self) -> dict[tuple[str, int], tuple[int, int, int]]:
        """Return the binding call, memory and offset of buffers and images, the last one of each handle."""
        found: dict[tuple[str, int], tuple[int, int, int]] = {}
        for table, column in _BOUND:
            kind = "VkBuffer" if column == "buffer" else "VkImage"
            for handle, *at in self._rows(table, f"{column}, seq, memory, memoryOffset"):
                if (kind, handle) not in found or found[kind, handle][0] <= at[0]:
                    found[kind, handle] = (at[0], at[1], at[2])
        return found

    def _sets(self) -> dict[int, list[tuple[int, dict[str, Any]]]]:
        """Return the updates of each descriptor set in order: the call, and what it gives."""
        found: dict[int, list[tuple[int, dict[str, Any]]]] = defaultdict(list)
        columns = "dstSet, seq, dstBinding, dstArrayElement, descriptorType, pImageInfo, pBufferInfo, pTexelBufferView"
        for handle, seq, binding, element, kind, *content in self._rows(
            "VkWriteDescriptorSet", columns, where="call = 'vkUpdateDescriptorSets'"
        ):
            values: list[object] = next((each for each in content if each), [])
            found[handle].append((seq, {"at": (binding, element), "type": kind, "values": values}))
        for handle, seq in self._rows("VkCopyDescriptorSet", "dstSet, seq"):
            found[handle].append((seq, {"why": "copied"}))
        for table in sorted(name for name in self._tables if name.startswith("vkUpdateDescriptorSetWithTemplate")):
            for handle, seq in self._rows(table, "descriptorSet, seq"):
                found[handle].append((seq, {"why": "template"}))
        for updates in found.values():
            updates.sort(key=lambda update: update[0])
        return found

    def _command_buffers(self) -> Any:
        """Return a function of a handle, its pool and its first call: paths and values."""
        begun = dict(self._rows("vkBeginCommandBuffer", "commandBuffer, seq"))
        ended = dict(self._rows("vkEndCommandBuffer", "commandBuffer, seq"))
        reset = dict(self._rows("vkResetCommandBuffer", "commandBuffer, seq"))
        pools = dict(self._rows("vkResetCommandPool", "commandPool, seq"))
        counts: dict[int, list[tuple[int, str]]] = defaultdict(list)
        for name in sorted(name for name in self._tables if name.startswith("vkCmd")):
            for handle, seq in self._rows(name, "commandBuffer, seq"):
                counts[handle].append((seq, name))
        submitted: dict[int, int] = {}
        for handles, seq in self._rows("submits", "command_buffers, seq"):
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


def _content(updates: list[tuple[int, dict[str, Any]]], created: int) -> Iterator[tuple[str, object]]:
    content: dict[tuple[int, int], dict[str, object]] = {}
    unknown: dict[str, int] = {}
    for seq, update in updates:
        if seq < created:
            continue  # of another set with this handle
        if "why" in update:
            unknown[update["why"]] = seq
            continue
        binding, element = update["at"]
        for i, value in enumerate(update["values"]):
            plain = value if isinstance(value, dict) else {"bufferView": value}
            content[binding, element + i] = {"type": update["type"], "seq": seq, **plain}
    for why, seq in sorted(unknown.items()):
        yield f"{why}_seq", seq
    for (binding, element), what in sorted(content.items()):
        yield from _flat(f"content[{binding}][{element}]", what)


def _flat(path: str, value: object) -> Iterator[tuple[str, object]]:
    """Yield the members of structures one by one."""
    if isinstance(value, dict) and value:
        for name, one in value.items():
            yield from _flat(f"{path}.{name}", one)
    elif isinstance(value, list) and value and any(isinstance(one, dict) for one in value):
        for i, one in enumerate(value):
            yield from _flat(f"{path}[{i}]", one)
    else:
        yield path, value
