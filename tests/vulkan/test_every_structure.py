"""Every structure of the registry, filled by it, recorded through a loader that does nothing, and read back.

Filling, and laying out what a recording must have, are done here once more from the registry: the tap's tables are held
against that byte by byte.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path

import numpy as np
import pytest

import size_rules
from drawtap.spec import expr
from drawtap.spec.model import Api, Array, Chain, Each, Member, Opaque, String, Strings, StructType, Tree
from drawtap.spec.registry import load_api
from drawtap.trace.trace import Trace, open_trace
from drawtap.trace.vulkan_past import StoredRows
from shared import run_drawtap

BYTES = {"i8": 1, "u8": 1, "i16": 2, "u16": 2, "i32": 4, "u32": 4, "f32": 4, "i64": 8, "u64": 8, "f64": 8, "ptr": 8}
DEPTH = 3


class Unknown(Exception):
    """A rule asks for what only a device knows."""


@dataclass
class Filled:
    """Memory of a structure tree: blocks by address, and what stands where."""

    api: Api
    blocks: dict[int, ctypes.Array[ctypes.c_char]] = field(default_factory=dict)
    number: int = 0

    def block(self, content: bytes) -> int:
        made = ctypes.create_string_buffer(content + bytes(8), len(content) + 8)
        address = ctypes.addressof(made)
        self.blocks[address] = made
        return address

    def bytes_(self, n: int) -> bytes:
        self.number += 1
        return bytes((self.number * 37 + i * 11) % 251 + 1 for i in range(n))

    def counts(self, of: StructType) -> dict[str, int]:
        """The members that say how many: three of everything, and bytes for what counts in words."""
        found: dict[str, int] = {}
        for member in of.members:
            for item in ("count", "length"):
                text = getattr(member.data, item, None)
                if isinstance(text, str):
                    for name in expr.names(text)[0]:
                        found[name] = 12 if "//" in text else 3
        return found

    def structure(self, of: StructType, depth: int = 0) -> bytes:
        out = bytearray(of.size)
        counts = self.counts(of)
        for member in of.members:
            if of.union and member is not of.members[0]:
                break
            size, at = member.size, member.offset
            if member.name == "sType" and of.stype:
                value = struct.pack("<I", self.api.enums[of.stype])
            elif member.type.indirection:
                value = struct.pack("<Q", self.pointer(of, member, counts, depth))
            elif member.type.scalar == "struct":
                inner = self.api.structs[member.type.base]
                value = b"".join(self.structure(inner, depth) for _ in range(prod(member.lengths)))
            elif member.name in counts:
                value = counts[member.name].to_bytes(size, "little")
            elif any(m.selector == member.name for m in of.members):
                [union] = [m for m in of.members if m.selector == member.name]
                first = self.api.structs[union.type.base].members[0].selections[0]
                value = (self.api.enums[first] & (1 << 8 * size) - 1).to_bytes(size, "little")
            else:
                value = self.bytes_(size)
            out[at : at + size] = value
        return bytes(out)

    def pointer(self, of: StructType, member: Member, counts: dict[str, int], depth: int) -> int:
        match member.data:
            case Chain():
                return 0
            case Opaque():
                return 0x123456
            case _ if depth >= DEPTH:
                return 0
            case Tree():
                inner = self.api.structs[member.type.base]
                most = 7 if getattr(member.data, "count", "") == "7" else 3  # a codec's sub-layers
                return self.block(b"".join(self.structure(inner, depth + 1) for _ in range(most)))
            case String():
                return self.block(b"text %d" % self.number)
            case Strings():
                return self.block(struct.pack("<4Q", *(self.block(b"word %d" % i) for i in range(4))))
            case Each(of=Tree()):
                inner = self.api.structs[member.type.base]
                return self.block(struct.pack("<4Q", *(self.block(self.structure(inner, depth + 1)) for _ in range(4))))
            case Each():
                return self.block(struct.pack("<4Q", *(self.block(self.bytes_(8)) for _ in range(4))))
        return self.block(self.bytes_(4096))


@dataclass
class Expected:
    """What the content must be: the rules of docs/format.md."""

    api: Api
    out: bytearray = field(default_factory=bytearray)

    def read(self, address: int, n: int) -> bytes:
        return ctypes.string_at(address, n)

    def block(self, count: int, content: bytes) -> int:
        self.out += struct.pack("<Q", count) + content
        place = len(self.out) - len(content)
        self.out += bytes(-len(self.out) % 8)
        return place

    def put(self, at: int, value: int) -> None:
        self.out[at : at + 8] = struct.pack("<Q", value)

    def values(self, of: StructType, address: int) -> dict[str, int]:
        found = {}
        for m in of.members:
            raw = int.from_bytes(self.read(address + m.offset, m.size), "little", signed=m.type.scalar[0] == "i")
            found[m.name] = raw >> m.bits[0] & (1 << m.bits[1]) - 1 if m.bits else raw
        return found

    def rule(self, text: str, of: StructType, address: int) -> int:
        if expr.paths(text) or any(name not in ("min", "max") and name not in self.api.tables
                                   for name, _, _ in expr.names(text)[1]):  # fmt: skip
            raise Unknown(text)
        return size_rules.evaluate(text, self.values(of, address), self.api)

    def structures(self, of: StructType, address: int, count: int) -> int:
        place = self.block(count, self.read(address, of.size * count))
        for i in range(count):
            self.members(of, place + i * of.size, address + i * of.size)
        return place

    def rows(self, of: StructType) -> Iterator[tuple[Member, int, str | None]]:
        for m in of.members:
            inner = self.api.structs.get(m.type.base) if not m.type.indirection else None
            if inner is not None and inner.union and m.selector:
                for choice in inner.members:
                    yield choice, m.offset, " or ".join(f"{m.selector} == {name}" for name in choice.selections)
            else:
                yield m, 0, m.when

    def members(self, of: StructType, place: int, address: int) -> None:
        for m, base, when in [] if of.union else self.rows(of):
            at = base + m.offset
            if not m.type.indirection:
                inner = self.api.structs.get(m.type.base)
                if inner and not inner.union and (when is None or self.rule(when, of, address)):
                    for i in range(prod(m.lengths)):
                        self.members(inner, place + at + i * inner.size, address + at + i * inner.size)
                continue
            target = struct.unpack("<Q", self.read(address + at, 8))[0]
            if not target or isinstance(m.data, Chain | Opaque):
                continue
            self.put(place + at, self.pointed(m, when, of, address, target))

    def pointed(self, m: Member, when: str | None, of: StructType, address: int, target: int) -> int:
        if getattr(m.data, "out", False) or (when is not None and not self.rule(when, of, address)):
            return 1
        rule = getattr(m.data, "count", None) or getattr(m.data, "length", None)
        count = self.rule(rule, of, address) if rule else 1
        inner = self.api.structs.get(m.type.base)
        match m.data:
            case Tree():
                assert inner
                return self.structures(inner, target, count)
            case String():
                text = self.read(target, count) if rule else ctypes.string_at(target)
                return self.block(len(text), text + b"\0")
            case Array():
                width = 8 if m.type.indirection > 1 else BYTES.get(m.data.element or m.type.scalar, 1)
                return self.block(count, self.read(target, count * width))
            case Strings() | Each():
                place = self.block(count, self.read(target, count * 8))
                for i in range(count):
                    one = struct.unpack("<Q", self.read(target + 8 * i, 8))[0]
                    if isinstance(m.data, Strings):
                        text = ctypes.string_at(one)
                        made = self.block(len(text), text + b"\0")
                    elif isinstance(m.data.of, Tree):
                        assert inner
                        made = self.structures(inner, one, 1)
                    else:
                        width = BYTES[m.type.scalar]
                        made = self.block(1, self.read(one, width))
                    self.put(place + 8 * i, made)
                return place
        raise Unknown(str(m.data))


# What runs under the tap: every structure in the chain of another, which any chain may have as far as a recorder knows.
def child(loader: str, out: str) -> None:
    api = load_api("vk")
    library = ctypes.CDLL(loader)
    create = library.vkCreateFence
    create.argtypes = [ctypes.c_void_p] * 4
    root = api.structs["VkFenceCreateInfo"]
    expected: list[dict[str, object]] = []
    skipped: dict[str, str] = {}
    for name, of in api.structs.items():
        if name != of.name or not of.stype:
            continue
        filled = Filled(api)
        address = filled.block(filled.structure(of))
        head = bytearray(filled.structure(root))
        head[8:16] = struct.pack("<Q", address)
        want = Expected(api)
        want.block(1, bytes(head))
        try:
            place = want.block(1, want.read(address, of.size))
            want.put(8 + 8, place)
            want.members(of, place, address)
        except Unknown as error:
            skipped[name] = str(error)
            continue
        start = filled.block(bytes(head))
        create(None, start, None, filled.block(bytes(16)))
        expected.append({"name": name, "content": bytes(want.out).hex()})
    barriers = [barrier(library, api, *case) for case in BARRIERS]
    numbers(library)
    map_and_store(library, api)
    Path(out).write_text(json.dumps({"expected": expected, "skipped": skipped, "barriers": barriers}))


# How many structures, and how many bytes before the end of a page they begin; 0: they begin with a page.
BARRIERS = ((1, 0), (3, 0), (1, 8), (2, 100), (3, 168), (20, 0), (30, 900))
COMMANDS, MEMORY = 0x7F0000001230, 0x7F0000004560


def barrier(library: ctypes.CDLL, api: Api, count: int, before: int) -> str:
    """Call vkCmdPipelineBarrier with structures whose pointers are null; return what the recording must have."""
    of = api.structs["VkBufferMemoryBarrier"]
    filled = Filled(api)
    content = b"".join(filled.structure(of) for _ in range(count))
    pages = mmap.mmap(-1, 3 * mmap.PAGESIZE)
    at = (-before) % mmap.PAGESIZE
    pages[at : at + len(content)] = content
    address = ctypes.addressof(ctypes.c_char.from_buffer(pages)) + at
    word, pointer = ctypes.c_uint32, ctypes.c_void_p
    library.vkCmdPipelineBarrier(pointer(COMMANDS), *map(word, (1, 2, 0, 0)), pointer(0), word(count),
                                 pointer(address), word(0), pointer(0))  # fmt: skip
    return (struct.pack("<Q", count) + content + bytes(-len(content) % 8)).hex()


def numbers(library: ctypes.CDLL) -> None:
    """Make calls that have no more than a handle and numbers."""
    commands = ctypes.c_void_p(COMMANDS)
    library.vkCmdSetPatchControlPointsEXT(commands, ctypes.c_uint32(0xFFFFFFF0))
    for face, reference in ((1, 7), (3, 0xFFFFFFFF)):
        library.vkCmdSetStencilReference(commands, ctypes.c_uint32(face), ctypes.c_uint32(reference))


def map_and_store(library: ctypes.CDLL, api: Api) -> None:
    """Map memory with vkMapMemory2, store in it, and unmap it."""
    room = ctypes.create_string_buffer(64)
    to = ctypes.c_void_p(ctypes.addressof(room))
    head = [api.enums[api.structs[f"VkMemory{name}Info"].stype or ""] for name in ("Map", "Unmap")]
    info = struct.pack("<IxxxxQIxxxxQQQ", head[0], 0, 0, MEMORY, 0, 64)
    library.vkMapMemory2(ctypes.c_void_p(1), info, ctypes.byref(to))
    room[0:4] = b"data"
    library.vkUnmapMemory2(ctypes.c_void_p(1), struct.pack("<IxxxxQIxxxxQ", head[1], 0, 0, MEMORY))


@pytest.fixture(scope="module")
def loader(header: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A libvulkan.so.1 whose functions do nothing."""
    folder = tmp_path_factory.mktemp("loader")
    names = ["vkCreateFence", "vkCreateInstance", "vkGetInstanceProcAddr", "vkCmdPipelineBarrier", "vkMapMemory2"]
    names += ["vkCmdSetPatchControlPointsEXT", "vkCmdSetStencilReference", "vkUnmapMemory2"]
    (folder / "fake.c").write_text("\n".join(f"long {name}(void) {{ return 0; }}" for name in names))
    made = folder / "libvulkan.so.1"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", made, folder / "fake.c", "-Wl,-soname,libvulkan.so.1"], check=True)
    return made


def test_every_structure_is_recorded_as_it_is(loader: Path, tmp_path: Path) -> None:
    trace, out = tmp_path / "all.dtap", tmp_path / "expected.json"
    here = f"import sys; sys.path[:0] = {sys.path!r}; from vulkan.test_every_structure import child; "
    program = [os.path.realpath("/proc/self/exe"), "-c", here + f"child({str(loader)!r}, {str(out)!r})"]
    done = run_drawtap("record", "-q", "-o", trace, "--", *program)
    assert done.returncode == 0, done.stderr
    told = json.loads(out.read_text())
    answer = run_drawtap(
        "sql", trace, 'SELECT hex(pCreateInfo_data) AS data FROM "vkCreateFence" ORDER BY seq', "--json"
    )
    rows = [row["data"].lower() for row in json.loads(answer.stdout)]
    different = [e["name"] for e, row in zip(told["expected"], rows, strict=True) if e["content"] != row]
    assert not different
    assert len(told["expected"]) > 1150
    assert len(told["skipped"]) < 12, told["skipped"]
    with open_trace(trace) as recorded:
        check_calls(recorded, told["barriers"])


def check_calls(trace: Trace, barriers: Sequence[str]) -> None:
    """Hold the calls of `barrier`, `numbers` and `map_and_store` against what they were given."""
    rows = trace.sql('SELECT hex(pBufferMemoryBarriers_data) FROM "vkCmdPipelineBarrier" ORDER BY seq').fetchall()
    assert [str(data).lower() for (data,) in rows] == barriers
    points = trace.sql('SELECT commandBuffer, patchControlPoints FROM "vkCmdSetPatchControlPointsEXT"').fetchall()
    assert points == [(COMMANDS, 0xFFFFFFF0)]
    references = 'SELECT commandBuffer, reference FROM "vkCmdSetStencilReference" ORDER BY seq'
    assert trace.sql(references).fetchall() == [(COMMANDS, 7), (COMMANDS, 0xFFFFFFFF)]
    # What was stored stays out of a part of the recording that does not map the memory.
    [(mapped,)] = trace.sql("SELECT seq FROM calls WHERE name = 'vkMapMemory2'").fetchall()
    keep = np.ones(trace.core.count(), np.bool_)
    with_it = StoredRows(trace).of(keep)
    keep[int(str(mapped))] = False
    assert (with_it, StoredRows(trace).of(keep)) == ((b"\1", b"\0"), (b"\0", b"\0"))
