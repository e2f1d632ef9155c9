"""Write small traces of Vulkan calls by calling them, structures as dictionaries.

`VulkanScene().vkQueueSubmit(QUEUE, pSubmits=[{"pCommandBuffers": [CB]}], fence=0)`: counts of what is given are filled
in, `sType` too. Chains are lists of `(type, members)`. Structures are laid out as docs/format.md says, by the registry.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import prod
from pathlib import Path

from drawtap.spec.model import Api, Array, Command, Data, Member, StructType, Tree
from drawtap.spec.registry import load_api
from drawtap.spec.signature import is_captured, signature_text
from writer import NULL, Writer, text
from writer import Data as Content

CODES = {"i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "f32": "f", "i64": "q", "u64": "Q"}
CODES |= {"f64": "d", "ptr": "Q"}
DEVICE, QUEUE, POOL, CB, SECONDARY = 0x100, 0x200, 0x300, 0x400, 0x500
_INLINE = 256


@cache
def vulkan() -> Api:
    return load_api("vk")


def number(value: object) -> int | float:
    """A number, or names of enumerants with | between."""
    if isinstance(value, str):
        total = 0
        for word in value.split("|"):
            total |= vulkan().enums[word.strip()]
        return total
    assert isinstance(value, int | float)
    return value


def _counted(data: Data | None) -> str | None:
    count = getattr(data, "count", None)
    return count if isinstance(count, str) and count.isidentifier() else None


def _length(value: object) -> int:
    return len(value) if isinstance(value, Sequence) else 1


class _Layout:
    """A content under construction."""

    def __init__(self) -> None:
        self.out = bytearray()

    def block(self, count: int, content: bytes) -> int:
        self.out += struct.pack("<Q", count) + content
        place = len(self.out) - len(content)
        self.out += bytes(-len(self.out) % 8)
        return place

    def structures(self, of: StructType, values: Sequence[Mapping[str, object]]) -> int:
        place = self.block(len(values), bytes(of.size * len(values)))
        for i, one in enumerate(values):
            self.members(of, one, place + i * of.size)
        return place

    def put(self, at: int, content: bytes) -> None:
        self.out[at : at + len(content)] = content

    def members(self, of: StructType, values: Mapping[str, object], at: int) -> None:
        given = dict(values)
        if of.stype:
            given.setdefault("sType", vulkan().enums[of.stype])
        for m in of.members:
            count = _counted(m.data) if m.name in given else None
            if count is not None and any(other.name == count for other in of.members):
                given.setdefault(count, _length(given[m.name]))
        for name, value in given.items():
            self.member(of.member(name), value, at + of.member(name).offset)

    def member(self, m: Member, value: object, at: int) -> None:
        inner = vulkan().structs.get(m.type.base)
        if m.type.indirection:
            self.put(at, struct.pack("<Q", self.pointed(m, inner, value)))
        elif inner is not None:
            each = value if isinstance(value, list) else [value]
            for i, one in enumerate(each):
                self.members(inner, one, at + i * inner.size)
        elif m.bits:
            size, old = m.size, int.from_bytes(self.out[at : at + m.size], "little")
            self.put(at, (old | int(number(value)) << m.bits[0]).to_bytes(size, "little"))
        else:
            values = value if isinstance(value, list) else [value]
            assert len(values) <= prod(m.lengths)
            code = CODES[m.type.scalar]
            mask = {"i": 0, "q": 0, "f": 0, "d": 0}.get(code, (1 << 8 * struct.calcsize(code)) - 1)
            for i, one in enumerate(values):
                plain = number(one)
                packed = struct.pack(f"<{code}", int(plain) & mask if mask else plain)
                self.put(at + i * len(packed), packed)

    def pointed(self, m: Member, inner: StructType | None, value: object) -> int:
        if value is None:
            return 0
        if m.name == "pNext":
            assert isinstance(value, list)
            return self.chain(value)
        if isinstance(value, bytes):
            width = struct.calcsize(CODES.get(m.type.scalar, "B"))
            return self.block(len(value) // width, value)
        if isinstance(value, str):
            return self.block(len(value.encode()), value.encode() + b"\0")
        if inner is not None:
            return self.structures(inner, value if isinstance(value, list) else [value])  # type: ignore[list-item]
        assert isinstance(value, list)
        if value and isinstance(value[0], str) and m.type.indirection > 1:
            place = self.block(len(value), bytes(8 * len(value)))
            for i, one in enumerate(value):
                self.put(place + 8 * i, struct.pack("<Q", self.block(len(one), one.encode() + b"\0")))
            return place
        code = CODES[m.type.scalar]
        return self.block(len(value), b"".join(struct.pack(f"<{code}", number(one)) for one in value))

    def chain(self, nodes: Sequence[tuple[str, Mapping[str, object]]]) -> int:
        first = slot = 0
        for name, values in nodes:
            of = vulkan().structs[name]
            place = self.structures(of, [values])
            if slot:
                self.put(slot, struct.pack("<Q", place))
            first, slot = first or place, place + of.member("pNext").offset
        return first


def tree(name: str, values: Mapping[str, object] | Sequence[Mapping[str, object]]) -> bytes:
    """The content of a parameter that leads to structures of this type."""
    layout = _Layout()
    layout.structures(vulkan().structs[name], values if isinstance(values, list) else [values])  # type: ignore[list-item]
    return bytes(layout.out)


@dataclass
class _Step:
    name: str
    values: dict[str, object]
    start: int
    duration: int
    thread: int


@dataclass
class VulkanScene:
    """A program's calls. Each takes a microsecond, where nothing else is said."""

    clock: int = 1_000_000
    thread: int = 0
    steps: list[_Step] = field(default_factory=list)

    def __getattr__(self, name: str) -> Callable[..., VulkanScene]:
        if not name.startswith("vk"):
            raise AttributeError(name)

        def call(*positional: object, result: object = 0, duration: int = 1000, **named: object) -> VulkanScene:
            command = vulkan().commands[name]
            given = dict(zip((p.name for p in command.params), positional, strict=False)) | named
            for p in command.params:
                count = _counted(p.data) if p.name in given else None
                if count is not None and any(other.name == count for other in command.params):
                    given.setdefault(count, _length(given[p.name]))
            values = {p.name: _argument(command, p.name, given.get(p.name, 0)) for p in command.params}
            assert set(given) <= set(values), set(given) - set(values)
            if command.returns.base != "void":
                values["result"] = int(number(result))
            self.steps.append(_Step(name, values, self.clock, duration, self.thread))
            self.clock += duration
            return self

        return call

    def stored(self, memory: int, offset: int, content: bytes) -> VulkanScene:
        """Say that the program stored this in mapped memory before the next call."""
        data = Content(content, kind=1 if len(content) <= _INLINE else 2)
        values: dict[str, object] = {"memory": memory, "offset": offset, "data": data}
        self.steps.append(_Step("dtapMemoryWrite", values, self.clock, 0, self.thread))
        return self

    def wait(self, ns: int) -> VulkanScene:
        """Let time pass outside the API."""
        self.clock += ns
        return self

    def present(self, **more: object) -> VulkanScene:
        """End a frame."""
        return self.vkQueuePresentKHR(QUEUE, {"pSwapchains": [0x900], "pImageIndices": [0]}, **more)

    def recorded(self, body: Callable[[VulkanScene], object], buffer: int = CB, **begin: object) -> VulkanScene:
        """Record a command buffer."""
        self.vkBeginCommandBuffer(buffer, begin)
        body(self)
        return self.vkEndCommandBuffer(buffer)

    def submit(self, *buffers: int, **more: object) -> VulkanScene:
        """Submit command buffers."""
        return self.vkQueueSubmit(QUEUE, pSubmits=[{"pCommandBuffers": list(buffers or (CB,))}], **more)

    def frames(self, count: int, body: Callable[[VulkanScene, int], object], *, ns: int = 16_000_000) -> VulkanScene:
        """Frames that take `ns` each: `body(scene, number)`, then a present that takes the rest of the time."""
        for i in range(count):
            start = self.clock
            body(self, i)
            self.present(duration=max(1000, ns - (self.clock - start)))
        return self

    def write(self, path: Path) -> Path:
        """Write the trace."""
        names = [n for n in dict.fromkeys(s.name for s in self.steps) if n.startswith("vk")]
        w = Writer(_signatures(tuple(names)))
        w.uuid = hashlib.md5(repr(self.steps).encode()).digest()
        threads = {}
        for step in self.steps:
            if step.thread not in threads:
                threads[step.thread] = w.thread()
            if step.name.startswith("vk"):
                threads[step.thread].call(step.name, start=step.start, duration=step.duration, **step.values)
            else:
                threads[step.thread].tap(step.name, **step.values)
        return w.write(path)


@cache
def _signatures(names: tuple[str, ...]) -> str:
    commands = [vulkan().commands[name] for name in names]
    kept = replace(vulkan(), structs=_reached(commands))
    return signature_text(commands, (kept,), {name: i + 1 for i, name in enumerate(names)})


def _reached(commands: Iterable[Command]) -> dict[str, StructType]:
    """The structures that commands lead to, and those of their chains: the others would make every trace large."""
    structs = vulkan().structs
    pending = [p.type.base for c in commands for p in c.params]
    found: dict[str, StructType] = {}
    while pending:
        of = structs.get(pending.pop())
        if of is None or of.name in found:
            continue
        found[of.name] = of
        pending += [m.type.base for m in of.members]
        pending += [name for name, other in structs.items() if name == other.name and of.name in other.extends]
    return {name: of for name, of in structs.items() if of.name in found}


def _argument(command: Command, name: str, value: object) -> object:
    param = command.param(name)
    if not is_captured(param.type, param.data):
        return 0 if value is None else number(value)
    if value is None or value == 0:
        return NULL
    if isinstance(value, Content):
        return value
    if isinstance(value, str) and param.type.base == "char":
        return text(value)
    if isinstance(param.data, Tree):
        content = tree(param.type.base, value)  # type: ignore[arg-type]
    elif isinstance(value, bytes):
        content = value
    else:
        assert isinstance(param.data, Array), (command.name, name, param.data)
        code = CODES[param.data.element or param.type.scalar if param.type.indirection < 2 else "ptr"]
        each = value if isinstance(value, list) else [value]
        content = b"".join(struct.pack(f"<{code}", number(one)) for one in each)
    return Content(content, kind=1 if len(content) <= _INLINE else 2)
