"""The content of Vulkan's descriptor sets at a call: of writes, copies and templates."""

from __future__ import annotations

import json
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from drawtap.errors import QueryError
from drawtap.trace.sql_text import quote

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

Content: TypeAlias = dict[tuple[int, int], dict[str, Any]]  # by binding and element: type, seq, what is bound

_MADE, _WRITE, _COPY, _TEMPLATE = range(4)  # kinds of what changes a set, in the order within a call
_CONTENT = ("pImageInfo", "pBufferInfo", "pTexelBufferView")
_WRITTEN = ("dstBinding", "dstArrayElement", "descriptorType", *_CONTENT)
_INLINE = "VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK"
_BUFFERS = ("UNIFORM_BUFFER", "STORAGE_BUFFER", "UNIFORM_BUFFER_DYNAMIC", "STORAGE_BUFFER_DYNAMIC")
_VIEWS = ("UNIFORM_TEXEL_BUFFER", "STORAGE_TEXEL_BUFFER")
_PICTURES = ("SAMPLER", "COMBINED_IMAGE_SAMPLER", "SAMPLED_IMAGE", "STORAGE_IMAGE", "INPUT_ATTACHMENT")


class UpTo:
    """Tables of a recording up to a call."""

    def __init__(self, trace: Trace, call: int) -> None:
        self.trace, self._call = trace, call
        self._names = frozenset(trace.database.table_names())

    def named(self, beginning: str) -> list[str]:
        """Return the tables whose names begin so, in order."""
        return sorted(name for name in self._names if name.startswith(beginning))

    def rows(self, table: str, columns: str, where: str = "true", by: str = "seq") -> list[tuple[Any, ...]]:
        """Return columns of the rows that `where` takes, ordered by the call in column `by`.

        There is none where no call has the function or the structure.
        """
        if table not in self._names and not table.startswith("Vk"):
            return []
        query = f"SELECT {columns} FROM {quote(table)} WHERE {by} <= {self._call} AND {where} ORDER BY {by}"
        try:
            return self.trace.sql(query).fetchall()
        except QueryError:
            if table in self._names:
                raise
            return []  # a table of structures is there where one occurs


class DescriptorSets:
    """The contents of descriptor sets up to a call."""

    def __init__(self, trace: Trace, tables: UpTo) -> None:
        self._trace, rows = trace, tables.rows
        self._updates: dict[int, list[tuple[int, int, Any]]] = defaultdict(list)  # by set: call, kind, what it gives
        self._templates: dict[tuple[int, int], list[dict[str, Any]]] = {}
        self._layouts: dict[int, str] | None = None
        self._made: dict[int, list[tuple[int, str]]] = defaultdict(list)
        for handle, seq, kind, info in rows(
            "objects",
            "handle, created_seq, type, info",
            "type IN ('VkDescriptorUpdateTemplate', 'VkDescriptorSet')",
            "created_seq",
        ):
            if kind == "VkDescriptorSet":
                self._updates[handle].append((seq, _MADE, None))
            else:
                self._made[handle].append((seq, info))
        columns = "dstSet, seq, dstBinding, dstArrayElement, descriptorType, pImageInfo, pBufferInfo, pTexelBufferView"
        for to, seq, *write in rows("VkWriteDescriptorSet", columns, "call = 'vkUpdateDescriptorSets'"):
            self._updates[to].append((seq, _WRITE, dict(zip(_WRITTEN, write, strict=True))))
        columns = "dstSet, seq, srcSet, srcBinding, srcArrayElement, dstBinding, dstArrayElement, descriptorCount"
        for to, seq, *copy in rows("VkCopyDescriptorSet", columns):
            self._updates[to].append((seq, _COPY, copy))
        for name in ("vkUpdateDescriptorSetWithTemplate", "vkUpdateDescriptorSetWithTemplateKHR"):
            for to, seq, template in rows(name, "descriptorSet, seq, descriptorUpdateTemplate"):
                self._updates[to].append((seq, _TEMPLATE, template))

    def content(self, handle: int, until: int | None = None) -> Content:
        """Return what a set holds after call `until`; None: after the last one."""
        related, todo = {handle}, [handle]
        while todo:
            sources = {what[0] for _, kind, what in self._updates[todo.pop()] if kind == _COPY}
            todo += sources - related
            related |= sources
        held: dict[int, Content] = {to: {} for to in related}
        steps = [(seq, kind, to, what) for to in related for seq, kind, what in self._updates[to]]
        for seq, kind, to, what in sorted(steps, key=lambda step: step[:2]):
            if until is not None and seq > until:
                break
            if kind == _MADE:
                held[to] = {}  # a set before had this handle
            elif kind == _WRITE:
                held[to] |= written(what, seq)
            elif kind == _COPY:
                source, from_binding, from_element, binding, element, count = what
                for i in range(min(count, len(held[source]))):
                    if (one := held[source].get((from_binding, from_element + i))) is not None:
                        held[to][binding, element + i] = {**one, "seq": seq, "copied_from": source}
            else:
                held[to] |= self.templated(self._trace.calls[seq].args.get("pData"), what, seq)
        return held[handle]

    def templated(self, data: object, template: int, seq: int) -> Content:
        """Return what a call gives that uses a template: `data` is what it handed over."""
        content: Content = {}
        if not isinstance(data, bytes):
            return content
        at = 0  # the parts that the update reads stand one behind the other
        for entry in self._entries(template, seq):
            binding, element, kind = entry["dstBinding"], entry["dstArrayElement"], str(entry["descriptorType"])
            count = entry["descriptorCount"]
            if kind == _INLINE:
                content[binding, element] = {"type": kind, "seq": seq, "bytes": count}
                at += count
                continue
            for i in range(count):
                one, bytes_ = self._decoded(kind, data, at)
                content[binding, element + i] = {"type": kind, "seq": seq, **one}
                at += bytes_
        return content

    def _entries(self, template: int, seq: int) -> list[dict[str, Any]]:
        made = max((each for each in self._made[template] if each[0] <= seq), default=None)
        if made is None or not made[1]:
            return []
        key = (template, made[0])
        if key not in self._templates:
            self._templates[key] = [e for e in json.loads(made[1]).get("pDescriptorUpdateEntries") or [] if e]
        return self._templates[key]

    def _decoded(self, kind: str, data: bytes, at: int) -> tuple[dict[str, object], int]:
        """Return a descriptor, empty where the data ends before, and its bytes."""
        name = kind.removeprefix("VK_DESCRIPTOR_TYPE_")
        form = "<QQi4x" if name in _PICTURES else "<QQQ" if name in _BUFFERS else "<Q"
        size = struct.calcsize(form)
        if at + size > len(data):
            return {}, size
        values = struct.unpack_from(form, data, at)
        if name in _PICTURES:
            return {"sampler": values[0], "imageView": values[1], "imageLayout": self._layout(values[2])}, size
        names = (
            ("buffer", "offset", "range") if name in _BUFFERS else ("bufferView" if name in _VIEWS else "structure",)
        )
        return dict(zip(names, values, strict=True)), size

    def _layout(self, value: int) -> object:
        if self._layouts is None:
            query = "SELECT value, min(name) FROM enums WHERE name LIKE 'VK_IMAGE_LAYOUT_%' GROUP BY value"
            self._layouts = dict(self._trace.sql(query).fetchall())
        return self._layouts.get(value, value)


def written(write: Mapping[str, Any], seq: int) -> Content:
    """Return what a VkWriteDescriptorSet gives, of its members by name."""
    values: Iterable[Any] = next((each for name in _CONTENT if (each := write.get(name))), [])
    content: Content = {}
    for i, value in enumerate(values):
        plain = value if isinstance(value, dict) else {"bufferView": value}
        content[write["dstBinding"], write["dstArrayElement"] + i] = {
            "type": write["descriptorType"],
            "seq": seq,
            **plain,
        }
    return content


def shown(content: Content) -> Iterator[tuple[str, object, int]]:
    """Yield path, value and call of what a set holds, by binding and element."""
    for (binding, element), what in sorted(content.items()):
        for path, value in flat(f"content[{binding}][{element}]", what):
            yield path, value, what["seq"]


def flat(path: str, value: object) -> Iterator[tuple[str, object]]:
    """Yield the members of structures one by one."""
    if isinstance(value, dict) and value:
        for name, one in value.items():
            yield from flat(f"{path}.{name}", one)
    elif isinstance(value, list) and value and any(isinstance(one, dict) for one in value):
        for i, one in enumerate(value):
            yield from flat(f"{path}[{i}]", one)
    else:
        yield path, value
