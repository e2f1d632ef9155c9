"""Textures as KTX files (version 1): all levels, faces and layers, with the values as they are kept."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from drawtap.errors import UsageError

if TYPE_CHECKING:
    from drawtap.analysis.held import HeldContent, Part

_HEAD = bytes((0xAB, 0x4B, 0x54, 0x58, 0x20, 0x31, 0x31, 0xBB, 0x0D, 0x0A, 0x1A, 0x0A))
_FACES = tuple(f"{sign}_{axis}" for axis in "xyz" for sign in ("positive", "negative"))
_SUFFIX = re.compile(r"(?:-(\w+?_[xyz]))?(?:-level(\d+))?")
_ARRAYS = ("GL_TEXTURE_1D_ARRAY", "GL_TEXTURE_2D_ARRAY", "GL_TEXTURE_CUBE_MAP_ARRAY")
# By the type of values: OpenGL's type, and the sized formats of one to four channels of plain and of whole numbers.
_TYPES: Mapping[str, tuple[int, tuple[int, ...], tuple[int, ...]]] = {
    "|u1": (0x1401, (0x8229, 0x822B, 0x8051, 0x8058), (0x8232, 0x8238, 0x8D7D, 0x8D7C)),
    "|i1": (0x1400, (0x8F94, 0x8F95, 0x8F96, 0x8F97), (0x8231, 0x8237, 0x8D8F, 0x8D8E)),
    "<u2": (0x1403, (0x822A, 0x822C, 0x8054, 0x805B), (0x8234, 0x823A, 0x8D77, 0x8D76)),
    "<i2": (0x1402, (0x8F98, 0x8F99, 0x8F9A, 0x8F9B), (0x8233, 0x8239, 0x8D89, 0x8D88)),
    "<u4": (0x1405, (), (0x8236, 0x823C, 0x8D71, 0x8D70)),
    "<i4": (0x1404, (), (0x8235, 0x823B, 0x8D83, 0x8D82)),
    "<f2": (0x140B, (0x822D, 0x822F, 0x881B, 0x881A), ()),
    "<f4": (0x1406, (0x822E, 0x8230, 0x8815, 0x8814), ()),
}
_PLAIN = {"r": 0x1903, "rg": 0x8227, "rgb": 0x1907, "rgba": 0x1908, "l": 0x1909, "la": 0x190A, "a": 0x1906, "d": 0x1902}
_WHOLE = {"r": 0x8D94, "rg": 0x8228, "rgb": 0x8D98, "rgba": 0x8D99}
_OLD = {"l": 0x8040, "la": 0x8045, "a": 0x803C}  # LUMINANCE8, LUMINANCE8_ALPHA8, ALPHA8
_DEPTHS = {"<u2": 0x81A5, "<u4": 0x81A7, "<f4": 0x8CAC}
_RGBA = 0x1908


def ktx(content: HeldContent) -> bytes:
    """Return what an object holds as a KTX file; its first row is that of t = 0.

    Raises UsageError where a level is missing, or the format has no place in such a file.
    """
    levels = _levels(content)
    first = levels[0][0]
    kind, of, internal, base, width = _form(first, content.format)
    faces, volume = len(levels[0]), content.target in ("GL_TEXTURE_3D", "VK_IMAGE_TYPE_3D")
    array = content.target in _ARRAYS or (content.target.startswith("VK_") and not volume and first.depth > 1)
    layers = first.depth
    if content.target == "GL_TEXTURE_CUBE_MAP_ARRAY":
        faces, layers = 6, layers // 6
    flat = content.target == "GL_TEXTURE_1D_ARRAY"  # its layers stand as rows
    size = first.width, 0 if flat or content.target == "GL_TEXTURE_1D" else first.height, first.depth if volume else 0
    elements = first.height if flat else layers if array else 0
    note = _note("KTXorientation", "S=r,T=u") + _note("drawtap.format", content.format)
    head = struct.pack(
        "<13I", 0x04030201, kind, width, of, internal, base, *size, elements, faces, len(levels), len(note)
    )
    out = [_HEAD, head, note]
    for parts in levels:
        images = [_bytes(part) for part in parts]
        whole = b"".join(images)
        # The size is that of one face where a cube is no array.
        out += [struct.pack("<I", len(images[0]) if faces == 6 and not array else len(whole))]
        out += [image + bytes(-len(image) % 4) for image in images]
    return b"".join(out)


def _levels(content: HeldContent) -> list[list[Part]]:
    by_level: dict[int, dict[str, Part]] = {}
    for part in content.parts:
        match = _SUFFIX.fullmatch(part.suffix)
        if part.why or match is None or (part.pixels is None and part.blocks is None):
            name = part.suffix.strip("-") or "level 0"
            raise UsageError(f"{name} of {content.kind} {content.name} is not there: {part.why or 'no content'}")
        by_level.setdefault(int(match[2] or 0), {})[match[1] or ""] = part
    if not by_level:
        raise UsageError(f"{content.kind} {content.name} has no content: {content.why}")
    levels = []
    for number in range(min(by_level), max(by_level) + 1):
        parts = by_level.get(number, {})
        names = ("",) if "" in parts else _FACES
        if missing := [name or "the level" for name in names if name not in parts]:
            raise UsageError(f"level {number} lacks {', '.join(missing)}", hint="a KTX file has all levels and faces")
        levels.append([parts[name] for name in names])
    return levels


def _form(part: Part, name: str) -> tuple[int, int, int, int, int]:
    """Return type, format, internal format, base format, and the bytes of a type, as a KTX file's head has them."""
    if part.blocks is not None:
        if not part.internal:
            raise UsageError(f"{name} has no place in a KTX file", hint="a PNG or the numbers may have it")
        return 0, 0, part.internal, _RGBA, 1
    assert part.pixels is not None
    channels, dtype = part.channels, part.pixels.dtype.str
    if ("10_A2" in name or "_PACK" in name) and dtype == "<u2":
        raise UsageError(f"{name} is kept in words of its own", hint="save the numbers instead")
    if dtype not in _TYPES or (channels not in _PLAIN and channels not in _WHOLE):
        raise UsageError(f"{name or 'this format'} has no place in a KTX file", hint="save the numbers instead")
    kind, plain, whole = _TYPES[dtype]
    width = part.pixels.dtype.itemsize
    if channels == "d" and dtype in _DEPTHS:
        return kind, _PLAIN["d"], _DEPTHS[dtype], _PLAIN["d"], width
    if channels in _OLD and dtype == "|u1":
        return kind, _PLAIN[channels], _OLD[channels], _PLAIN[channels], width
    is_whole = name.endswith(("I", "UINT", "SINT"))
    sized = whole if is_whole else plain
    if channels not in _WHOLE or not sized:
        raise UsageError(f"{name or 'this format'} has no place in a KTX file", hint="save the numbers instead")
    of = _WHOLE[channels] if is_whole else _PLAIN[channels]
    return kind, of, sized[len(channels) - 1], _PLAIN[channels], width


def _bytes(part: Part) -> bytes:
    if part.blocks is not None:
        return part.blocks
    assert part.pixels is not None
    pixels: npt.NDArray[Any] = np.ascontiguousarray(part.pixels)
    rows = pixels.view(np.uint8).reshape(-1, pixels.shape[-2] * pixels.shape[-1] * pixels.dtype.itemsize)
    padded = np.zeros((rows.shape[0], -(-rows.shape[1] // 4) * 4), np.uint8)
    padded[:, : rows.shape[1]] = rows
    return padded.tobytes()


def _note(key: str, value: str) -> bytes:
    text = key.encode() + b"\0" + value.encode() + b"\0"
    return struct.pack("<I", len(text)) + text + bytes(-len(text) % 4)
