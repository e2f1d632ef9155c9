"""Mix the texels of a recording of Vulkan in the memory that the program stored them in, and blank read-backs.

A copy in a command buffer tells which bytes of a buffer are texels, and of which format. The table of stored bytes
tells who stored each of them before the submit that ran the copy. Images that the program maps have texels of their
own. Bytes that are mixed already stay as they are, so that a second copy of the same texels finds them mixed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from drawtap.analysis.vulkan_held import block_of
from drawtap.corpus.texels import Mixer, kept, moved, tiles_of
from drawtap.trace.sql_text import quote

if TYPE_CHECKING:
    from drawtap.trace.edit import Editor
    from drawtap.trace.trace import Trace

Numbers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

_COLOR = "VK_IMAGE_ASPECT_COLOR_BIT"
_PLAIN = re.compile(r"VK_FORMAT_((?:[RGBAEX]\d+)+)_(UNORM|SNORM|SFLOAT|UFLOAT|SRGB)(_PACK\d+)?")
_COPIES = {
    "vkCmdCopyBufferToImage": "srcBuffer, dstImage, pRegions",
    **{
        f"vkCmdCopyBufferToImage2{suffix}": (
            "pCopyBufferToImageInfo.srcBuffer, pCopyBufferToImageInfo.dstImage, pCopyBufferToImageInfo.pRegions"
        )
        for suffix in ("", "KHR")
    },
}
_BLOCKS = {"BC1": "DXT1", "BC2": "DXT3", "BC3": "DXT5"}
# Uses of buffers and images: the device stores to them, or reads them.
_STORED_TO = re.compile(r"_(TRANSFER_DST|STORAGE|STORAGE_TEXEL_BUFFER|STORAGE_BUFFER|TRANSFORM_FEEDBACK_\w+)_BIT")
_STORED_TO_IMAGE = re.compile(r"_(TRANSFER_DST|STORAGE|COLOR_ATTACHMENT)_BIT")
_READ = re.compile(
    r"_(TRANSFER_SRC|SAMPLED|INPUT_ATTACHMENT|UNIFORM\w*|INDEX_BUFFER|VERTEX_BUFFER|INDIRECT_BUFFER)_BIT"
)
NO_COLOURS = "{} has no colours, or a single one"
FILLED = "its texels stand in a buffer that the device filled"


@dataclass(frozen=True)
class Area:
    """Texels in memory when a call reads them. `unit` is the call that says so; `end_seq` is behind the reader."""

    unit: int
    end_seq: int
    memory: int
    base: int
    row_pitch: int
    image_pitch: int
    size: tuple[int, int, int]  # texels, or blocks
    block: int  # bytes
    form: str
    texels: tuple[int, int, int]
    first_seq: int = 0  # rows before this call are of another memory


@dataclass(frozen=True)
class _Row:
    table: str
    number: int
    seq: int
    memory: int
    offset: int
    content: bytes

    @property
    def end(self) -> int:
        return self.offset + len(self.content)


class Texels:
    """The stored bytes of a recording, and the areas of them that are texels."""

    def __init__(self, trace: Trace) -> None:
        self.kept: Counter[str] = Counter()
        self._rows = list(_rows(trace))
        self._by_memory: dict[int, list[int]] = {}
        for i, row in enumerate(self._rows):
            self._by_memory.setdefault(row.memory, []).append(i)
        self._objects = _Objects(trace)
        self._areas = sorted([*self._copied(trace), *self._mapped(trace)], key=lambda area: area.end_seq)
        self._blanked = dict(self._read_backs())
        self.units = self._found()

    def write(self, editor: Editor, chosen: Collection[int], key: bytes) -> None:
        """Mix the texels of the chosen units in an editor, and blank read-backs."""
        changed = self._changed(chosen, Mixer(key), key)
        for i, blank in self._blanked.items():
            mixed = changed.setdefault(i, np.frombuffer(self._rows[i].content, np.uint8).copy())
            mixed[blank] = 0
        for i, content in changed.items():
            row = self._rows[i]
            if content.tobytes() != row.content:
                editor.store(row.table, row.number, content.tobytes())

    def _found(self) -> list[int]:
        """Return the units whose texels the recording has; the others are counted with what keeps them."""
        found = set()
        for area in self._areas:
            places = _places(area)
            holders, _ = self._holders(area, places)
            if (holders >= 0).any():
                found.add(area.unit)
        for unit in {area.unit for area in self._areas} - found:
            self.kept[FILLED] += unit >= 0
        return sorted(found)

    # ---- areas -------------------------------------------------------------------------------------------------------

    def _copied(self, trace: Trace) -> Iterator[Area]:
        runs: dict[int, list[int]] = {}
        for seq, submit in trace.sql(
            "SELECT seq, submit_seq FROM executed WHERE name LIKE 'vkCmdCopyBufferToImage%' ORDER BY submit_seq"
        ).fetchall():
            runs.setdefault(int(seq), []).append(int(submit))
        for function, columns in _COPIES.items():
            if function not in self._objects.functions:
                continue
            rows = trace.sql(f"SELECT seq, {columns} FROM {quote(function)} ORDER BY seq").fetchall()
            for seq, buffer, image, regions in rows:
                for region in regions or ():
                    yield from self._of_region(int(seq), runs.get(int(seq), ()), buffer, image, region)

    def _of_region(
        self, seq: int, runs: Collection[int], buffer: int, image: int, region: Mapping[str, Any]
    ) -> Iterator[Area]:
        source, target = self._objects.at("VkBuffer", buffer, seq), self._objects.at("VkImage", image, seq)
        if source is None or target is None or source["memory"] is None:
            self.kept["their buffer or image is not known"] += 1
            return
        form = str(_info(target).get("format"))
        if region["imageSubresource"]["aspectMask"] != _COLOR or not _has_colours(form):
            self.kept[NO_COLOURS.format(form)] += 1
            return
        block = block_of(form, 1)
        assert block is not None  # all that have colours have one
        across, down, bytes_ = block
        extent = region["imageExtent"]
        layers = int(region["imageSubresource"]["layerCount"])
        width, height = int(extent["width"]), int(extent["height"])
        size = (-(-width // across), -(-height // down), int(extent["depth"]) * min(layers, 1 << 16))
        row = -(-int(region["bufferRowLength"] or width) // across) * bytes_
        image_pitch = -(-int(region["bufferImageHeight"] or height) // down) * row
        memory = self._objects.at("VkDeviceMemory", source["memory"], seq)
        for submit in runs:
            yield Area(
                seq, submit + 1, int(source["memory"]), int(source["memory_offset"] or 0) + int(region["bufferOffset"]),
                row, image_pitch, size, bytes_, form, (width, height, size[2]),
                int(memory["created_seq"]) if memory else 0,
            )  # fmt: skip

    def _mapped(self, trace: Trace) -> Iterator[Area]:
        """Yield the images that the program maps, once behind each row that was stored in one."""
        pitches: dict[int, tuple[int, int, int]] = {}
        if "vkGetImageSubresourceLayout" in self._objects.functions:
            layouts = trace.sql("SELECT image, pSubresource, pLayout FROM vkGetImageSubresourceLayout").fetchall()
            for image, part, layout in layouts:
                if part and layout and not part["mipLevel"] and not part["arrayLayer"]:
                    pitches[int(image)] = (int(layout["offset"]), int(layout["rowPitch"]), int(layout["depthPitch"]))
        for image in self._objects.of("VkImage"):
            info = _info(image)
            if image["memory"] is None or info.get("tiling") != "VK_IMAGE_TILING_LINEAR":
                continue
            form, extent = str(info.get("format")), info.get("extent") or {}
            block = block_of(form, 1) if _has_colours(form) else None
            base, end = int(image["memory_offset"] or 0), image["destroyed_seq"]
            rows = [
                row
                for i in self._by_memory.get(int(image["memory"]), ())
                if (row := self._rows[i]).seq >= image["created_seq"] and (end is None or row.seq <= end)
                and row.offset < base + int(image["bytes"] or 0) and row.end > base
            ]  # fmt: skip
            if not rows:
                continue
            if block is None:
                self.kept[NO_COLOURS.format(form)] += 1
                continue
            width, height, depth = (int(extent[name]) for name in ("width", "height", "depth"))
            size = (-(-width // block[0]), -(-height // block[1]), depth)
            first, row_pitch, deep = pitches.get(int(image["handle"]), (0, size[0] * block[2], 0))
            for row in rows:
                yield Area(
                    int(image["created_seq"]), row.seq + 1, int(image["memory"]), base + first, row_pitch,
                    deep or row_pitch * size[1], size, block[2], form, (width, height, depth),
                    int(image["created_seq"]),
                )  # fmt: skip

    def _read_backs(self) -> Iterator[tuple[int, npt.NDArray[np.bool_]]]:
        """Yield rows with what the device may have stored and nothing reads again, and which of their bytes that is."""
        targets: dict[int, list[tuple[int, int, int, int]]] = {}
        for kind, stored in (("VkBuffer", _STORED_TO), ("VkImage", _STORED_TO_IMAGE)):
            for each in self._objects.of(kind):
                usage = str(_info(each).get("usage"))
                if each["memory"] is None or not stored.search(usage) or _READ.search(usage):
                    continue
                base, life = int(each["memory_offset"] or 0), each["destroyed_seq"]
                bytes_ = int(each["bytes"] or _info(each).get("size") or 0)
                targets.setdefault(int(each["memory"]), []).append(
                    (base, base + bytes_, int(each["created_seq"]), 1 << 62 if life is None else int(life))
                )
        for i, row in enumerate(self._rows):
            if row.table != "device_writes":
                continue
            of = np.zeros(len(row.content), np.bool_)
            for begin, end, first, last in targets.get(row.memory, ()):
                if first <= row.seq <= last + 1:
                    of[max(begin - row.offset, 0) : max(end - row.offset, 0)] = True
            if of.any():
                yield i, of

    # ---- mixing ------------------------------------------------------------------------------------------------------

    def _holders(self, area: Area, places: Numbers) -> tuple[Numbers, Numbers]:
        """Return the row that each byte of an area is in when the area is read (-1: none), and its place there."""
        first, last = int(places.min()), int(places.max()) + 1
        holders = np.full(last - first, -1, np.int64)
        for i in self._by_memory.get(area.memory, ()):
            row = self._rows[i]
            if area.first_seq <= row.seq < area.end_seq and row.offset < last and row.end > first:
                holders[max(row.offset - first, 0) : row.end - first] = i
        found = holders[places - first]
        starts = np.array([row.offset for row in self._rows], np.int64)
        return found, places - starts[found]

    def _changed(self, chosen: Collection[int], mixer: Mixer, key: bytes) -> dict[int, Bytes]:
        contents: dict[int, Bytes] = {}
        fresh: dict[int, npt.NDArray[np.bool_]] = {}
        chosen = frozenset(chosen)
        for area in self._areas:
            if area.unit not in chosen:
                continue
            places = _places(area)
            holders, inside = self._holders(area, places)
            own = np.unique(holders[holders >= 0])
            texels, are_fresh = np.zeros(places.shape, np.uint8), np.zeros(places.shape, np.bool_)
            for i in own:
                content = contents.setdefault(int(i), np.frombuffer(self._rows[i].content, np.uint8).copy())
                state = fresh.setdefault(int(i), np.ones(len(content), np.bool_))
                here = holders == i
                texels[here], are_fresh[here] = content[inside[here]], state[inside[here]]
            if not are_fresh.any():
                continue
            made = _mixed(area, texels, are_fresh, mixer, key)
            for i in own:
                here = (holders == i) & are_fresh
                contents[int(i)][inside[here]] = made[here]
                fresh[int(i)][inside[here]] = False
        return contents


def _places(area: Area) -> Numbers:
    """Return where in memory the bytes of an area lie: texels x bytes."""
    width, height, depth = area.size
    z, y, x = np.ogrid[:depth, :height, :width]
    texels = area.base + z * area.image_pitch + y * area.row_pitch + x * area.block
    return np.asarray(texels.reshape(-1, 1) + np.arange(area.block), np.int64)


def _mixed(area: Area, texels: Bytes, fresh: npt.NDArray[np.bool_], mixer: Mixer, key: bytes) -> Bytes:
    name = _blocks_of(area.form)
    if name is not None:
        made = mixer.mixed(texels.tobytes(), area.texels, name, None)
        return texels if made is None else np.frombuffer(made, np.uint8).reshape(texels.shape)
    width, height, depth = area.size
    tiles = tiles_of(width, height * depth, height)
    whole, partly = fresh.all(axis=1), fresh.any(axis=1) & ~fresh.all(axis=1)
    digest = hashlib.blake2b(texels.tobytes(), key=key, digest_size=16).digest()
    rng = np.random.Generator(np.random.Philox(int.from_bytes(digest, "little")))
    alone = tiles.max() + 1 + np.arange(len(tiles))
    made_of = kept(texels, moved(np.where(whole, tiles, alone), rng), alpha_of(area.form, area.block))
    if partly.any():
        # Some of their bytes are mixed already: the others get the mean of what is around.
        sums = np.zeros((int(tiles.max()) + 1, area.block))
        np.add.at(sums, tiles, texels)
        mean = (sums / np.bincount(tiles)[:, None]).astype(np.uint8)
        alpha = alpha_of(area.form, area.block)
        made_of[partly] = (mean[tiles[partly]] & ~alpha) | (texels[partly] & alpha)
    return made_of


# ---- formats ---------------------------------------------------------------------------------------------------------


def _has_colours(form: str) -> bool:
    match = _PLAIN.fullmatch(form)
    return _blocks_of(form) is not None or (match is not None and any(c in match[1] for c in "RGB"))


def _blocks_of(form: str) -> str | None:
    """Return the name that OpenGL has for a format of blocks; None for other formats."""
    name = form.removeprefix("VK_FORMAT_")
    if not name.endswith("_BLOCK"):
        return None
    if name[:3] in _BLOCKS:
        alpha = "RGB" if name.startswith("BC1_RGB_") else "RGBA"
        return f"GL_COMPRESSED_{alpha}_S3TC_{_BLOCKS[name[:3]]}_EXT"
    if match := re.fullmatch(r"ASTC_(\d+x\d+)_(UNORM|SRGB|SFLOAT)_BLOCK", name):
        return f"GL_COMPRESSED_RGBA_ASTC_{match[1]}_KHR"
    plain = {
        "BC4": "GL_COMPRESSED_RED_RGTC1", "BC5": "GL_COMPRESSED_RG_RGTC2", "BC6": "GL_COMPRESSED_RGB_BPTC_FLOAT",
        "BC7": "GL_COMPRESSED_RGBA_BPTC_UNORM", "ETC2_R8G8B8_": "GL_COMPRESSED_RGB8_ETC2",
        "ETC2_R8G8B8A8_": "GL_COMPRESSED_RGBA8_ETC2_EAC",
        "EAC_R11_": "GL_COMPRESSED_R11_EAC", "EAC_R11G11_": "GL_COMPRESSED_RG11_EAC",
    }  # fmt: skip
    return next((gl for begin, gl in plain.items() if name.startswith(begin)), None)


def alpha_of(form: str, block: int) -> Bytes:
    """Return the bits of a texel that are alpha."""
    match = _PLAIN.fullmatch(form)
    assert match is not None
    channels = [(letter, int(bits)) for letter, bits in re.findall(r"([RGBAEX])(\d+)", match[1])]
    bits, shift = 0, 0
    # A packed format names its highest bits first, another one its first byte.
    for letter, wide in reversed(channels) if match[3] else channels:
        bits |= ((1 << wide) - 1) << shift if letter == "A" else 0
        shift += wide
    return np.frombuffer(bits.to_bytes(block, "little"), np.uint8)


# ---- tables ----------------------------------------------------------------------------------------------------------


def _rows(trace: Trace) -> Iterator[_Row]:
    found = []
    for table in ("memory_writes", "device_writes"):
        rows = trace.sql(f'SELECT seq, memory, "offset", data_data, data_blob FROM {table}').fetchall()
        for number, (seq, memory, offset, data, blob) in enumerate(rows):
            content = trace.core.blob(str(blob)) if data is None and blob else data
            if content:
                found.append(_Row(table, number, int(seq), int(memory), int(offset), bytes(content)))
    return iter(sorted(found, key=lambda row: row.seq))


def _info(row: Mapping[str, Any]) -> Mapping[str, Any]:
    read = json.loads(row["info"]) if row["info"] else {}
    return read if isinstance(read, dict) else {}


class _Objects:
    """The lives of objects by kind and handle."""

    def __init__(self, trace: Trace) -> None:
        self.functions = {str(name) for (name,) in trace.sql("SELECT DISTINCT name FROM calls").fetchall()}
        self._rows: dict[str, list[Mapping[str, Any]]] = {}
        kinds = "('VkBuffer', 'VkImage', 'VkDeviceMemory')"
        for row in trace.sql(f"SELECT * FROM objects WHERE type IN {kinds} ORDER BY created_seq").dicts():
            self._rows.setdefault(str(row["type"]), []).append(row)

    def of(self, kind: str) -> list[Mapping[str, Any]]:
        return self._rows.get(kind, [])

    def at(self, kind: str, handle: int, seq: int) -> Mapping[str, Any] | None:
        """Return the object of a handle at a call; the last one that was made before."""
        return next(
            (row for row in reversed(self.of(kind)) if row["handle"] == handle and row["created_seq"] < seq), None
        )
