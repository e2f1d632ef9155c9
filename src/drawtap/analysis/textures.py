"""The textures that a program uploaded, decoded to pixels.

Formats of bytes, packed shorts and words, floats, S3TC (BC1 to BC3), RGTC (BC4, BC5) and ETC1/ETC2 are decoded; of any
other the reason is given. Formats as in the OpenGL ES 3.2 and OpenGL 4.6 specifications and their extensions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from drawtap.analysis.pictures import Image, shrunk
from drawtap.analysis.views import VIEWS
from drawtap.errors import DrawtapError
from drawtap.trace.snapshot import Snapshot
from drawtap.units import as_int

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_MOST_BYTES = 64 << 20  # of content that is decoded for one report
_MOST_PIXELS = 4096 * 4096


@dataclass(frozen=True)
class Texture:
    """A texture as its uploads left it. `image` is None where `why` says what it could not be decoded from."""

    name: int
    seq: int
    function: str
    width: int
    height: int
    format: str
    levels: int
    uploads: int
    bytes: int
    image: Image | None
    why: str | None


_QUESTION = """
SELECT coalesce(u.texture, 0) AS texture, u.seq, u.function, u.target, u.level, u.width, u.height, u.format, u.type,
       u.internalformat, u.bytes, u.part, u.compressed, g.share_group
FROM texture_uploads u JOIN contexts g ON g.context = u.context ORDER BY u.seq
"""


def textures(trace: Trace, *, most: int, width: int) -> tuple[list[Texture], int]:
    """Return at most `most` textures in order of their first upload, small, and how many there are in all."""
    with Snapshot(trace, [_QUESTION], VIEWS) as snapshot:
        columns, rows = snapshot.ask(_QUESTION)
    uploads: dict[tuple[object, object], list[dict[str, object]]] = {}
    for row in rows:
        named = dict(zip(columns, row, strict=True))
        if named["bytes"] or not named["part"]:
            uploads.setdefault((named["share_group"], named["texture"]), []).append(named)
    loaded = {key: loads for key, loads in uploads.items() if any(u["bytes"] for u in loads)}
    left = _MOST_BYTES
    out = []
    for (_, name), loads in list(loaded.items())[:most]:
        texture = _texture(trace, as_int(name), loads, width, left)
        left -= texture.bytes if texture.image is not None else 0
        out.append(texture)
    return out, len(loaded)


def _texture(trace: Trace, name: int, uploads: Sequence[dict[str, object]], width: int, left: int) -> Texture:
    whole = [u for u in uploads if not u["part"] and u["level"] == 0 and u["bytes"]]
    base = (whole or [u for u in uploads if u["bytes"]])[-1]
    total = sum(as_int(u["bytes"]) for u in uploads)
    words = [str(base[c]) for c in ("internalformat", "format", "type") if base[c] is not None]
    image, why = None, None
    if as_int(base["bytes"]) > left:
        why = "left out: too much content for one report"
    else:
        try:
            image = shrunk(_decoded(trace, base), width)
        except (DrawtapError, ValueError) as error:
            why = str(error)
    return Texture(
        name,
        as_int(base["seq"]),
        str(base["function"]),
        as_int(base["width"]),
        as_int(base["height"]),
        " ".join(dict.fromkeys(words)),
        len({u["level"] for u in uploads}),
        len(uploads),
        total,
        image,
        why,
    )


def _decoded(trace: Trace, upload: dict[str, object]) -> Image:
    content = _content(trace, upload)
    width, height = as_int(upload["width"]), as_int(upload["height"])
    if width * height > _MOST_PIXELS:
        raise ValueError("it is too large")
    if upload["compressed"]:
        return decompressed(content, width, height, str(upload["internalformat"] or upload["format"]))
    if upload["format"] is None:
        return vg_image(content, width, height, str(upload["internalformat"]))
    return pixels(content, width, height, str(upload["format"]), str(upload["type"]))


def uploaded(trace: Trace, upload: dict[str, object]) -> tuple[bytes, Image | None]:
    """Return the bytes of a row of `texture_uploads`, and what they show; None for compressed formats.

    Raises ValueError for formats and sizes that are not understood, and where the content is not in the recording.
    """
    return _content(trace, upload), None if upload["compressed"] else _decoded(trace, upload)


def _content(trace: Trace, upload: dict[str, object]) -> bytes:
    call = trace.calls[as_int(upload["seq"])]
    content = call.args.get("pixels", call.args.get("data"))
    if isinstance(content, np.ndarray):
        content = content.tobytes()
    if not isinstance(content, bytes):
        raise ValueError("its content came from a buffer object")
    return content


# ---- plain pixels ---------------------------------------------------------------------------------------------------

_CHANNELS = {
    "GL_RGBA": "rgba", "GL_BGRA": "bgra", "GL_RGB": "rgb", "GL_BGR": "bgr", "GL_RED": "r",
    "GL_RG": "rg", "GL_ALPHA": "a", "GL_LUMINANCE": "l", "GL_LUMINANCE_ALPHA": "la", "GL_DEPTH_COMPONENT": "l",
    "GL_RGBA_INTEGER": "rgba", "GL_RGB_INTEGER": "rgb", "GL_RED_INTEGER": "r", "GL_RG_INTEGER": "rg", "GL_GREEN": "g",
    "GL_BLUE": "b", "GL_INTENSITY": "l", "GL_STENCIL_INDEX": "l", "GL_SRGB": "rgb", "GL_SRGB_ALPHA": "rgba",
}  # fmt: skip
_TYPES = {
    "GL_UNSIGNED_BYTE": "u1", "GL_BYTE": "i1", "GL_UNSIGNED_SHORT": "<u2", "GL_SHORT": "<i2", "GL_UNSIGNED_INT": "<u4",
    "GL_INT": "<i4", "GL_FLOAT": "<f4", "GL_HALF_FLOAT": "<f2",
}  # fmt: skip
# Size of a pixel, and where each channel stands in it: (shift, bits), in the order of the format.
_PACKED = {
    "GL_UNSIGNED_SHORT_5_6_5": ("<u2", ((11, 5), (5, 6), (0, 5))),
    "GL_UNSIGNED_SHORT_5_6_5_REV": ("<u2", ((0, 5), (5, 6), (11, 5))),
    "GL_UNSIGNED_SHORT_4_4_4_4": ("<u2", ((12, 4), (8, 4), (4, 4), (0, 4))),
    "GL_UNSIGNED_SHORT_4_4_4_4_REV": ("<u2", ((0, 4), (4, 4), (8, 4), (12, 4))),
    "GL_UNSIGNED_SHORT_5_5_5_1": ("<u2", ((11, 5), (6, 5), (1, 5), (0, 1))),
    "GL_UNSIGNED_SHORT_1_5_5_5_REV": ("<u2", ((0, 5), (5, 5), (10, 5), (15, 1))),
    "GL_UNSIGNED_INT_8_8_8_8": ("<u4", ((24, 8), (16, 8), (8, 8), (0, 8))),
    "GL_UNSIGNED_INT_8_8_8_8_REV": ("<u4", ((0, 8), (8, 8), (16, 8), (24, 8))),
    "GL_UNSIGNED_INT_2_10_10_10_REV": ("<u4", ((0, 10), (10, 10), (20, 10), (30, 2))),
    "GL_UNSIGNED_INT_10_10_10_2": ("<u4", ((22, 10), (12, 10), (2, 10), (0, 2))),
    "GL_UNSIGNED_BYTE_3_3_2": ("u1", ((5, 3), (2, 3), (0, 2))),
    "GL_UNSIGNED_INT_24_8": ("<u4", ((8, 24),)),
}


def pixels(content: bytes, width: int, height: int, format_: str, type_: str) -> Image:
    """Return an uncompressed image as RGBA. Raises ValueError for formats and sizes that are not understood.

    Rows may be padded to 1, 2, 4 or 8 bytes: which, the length of the content says.
    """
    channels = "l" if format_ == "GL_DEPTH_STENCIL" else _CHANNELS.get(_plain(format_))
    if channels is None:
        raise ValueError(f"{format_} is not decoded")
    type_ = _plain(type_)
    if type_ in _PACKED:
        dtype, places = _PACKED[type_]
        words = _rows(content, width, height, dtype, 1)[..., 0]
        planes = [((words >> shift) & ((1 << bits) - 1)) * (255.0 / ((1 << bits) - 1)) for shift, bits in places]
        return ordered([plane.astype(np.uint8) for plane in planes], channels)
    if type_ not in _TYPES:
        raise ValueError(f"{type_} is not decoded")
    values = _rows(content, width, height, _TYPES[type_], len(channels))
    return ordered([_bytes(values[..., i]) for i in range(len(channels))], channels)


def _plain(name: str) -> str:
    # One value has several names: which of them a trace has depends on the extensions that brought it.
    return re.sub(r"_(EXT|ANGLE|OES|ARB|WEBGL|NV|APPLE)$", "", name)


def _rows(content: bytes, width: int, height: int, dtype: str, channels: int) -> npt.NDArray[Any]:
    item = np.dtype(dtype)
    tight = width * channels * item.itemsize
    for alignment in (1, 2, 4, 8):
        stride = -(-tight // alignment) * alignment
        if len(content) in (stride * height, stride * (height - 1) + tight):
            padded = content.ljust(stride * height, b"\0")
            raw = np.frombuffer(padded, np.uint8).reshape(height, stride)[:, :tight]
            return np.ascontiguousarray(raw).view(item).reshape(height, width, channels)
    raise ValueError(f"{len(content)} bytes are no {width} x {height} image of {tight} bytes a row")


def _bytes(values: npt.NDArray[Any]) -> Bytes:
    if values.dtype == np.uint8:
        return values.astype(np.uint8)
    if values.dtype.kind == "f":
        return np.asarray(np.nan_to_num(np.clip(values.astype(np.float64), 0, 1)) * 255, np.uint8)
    top = np.iinfo(values.dtype.name).max
    return np.asarray(np.clip(values.astype(np.float64), 0, top) * (255.0 / top), np.uint8)


def ordered(planes: Sequence[Bytes], channels: str) -> Image:
    """Return planes of bytes as RGBA: `channels` are their letters, of which l is red, green and blue."""
    out = np.zeros((*planes[0].shape, 4), np.uint8)
    out[..., 3] = 255
    for plane, channel in zip(planes, channels, strict=False):
        if channel == "l":
            out[..., :3] = plane[..., None]
        else:
            out[..., "rgba".index(channel)] = plane
    return out


def vg_image(content: bytes, width: int, height: int, format_: str) -> Image:
    """Return an OpenVG image as RGBA. The names of its formats give the channels from the highest bit on."""
    name = format_.removeprefix("VG_").lstrip("sl").removesuffix("_PRE")
    letters, _, sizes = name.partition("_")
    if letters in ("L", "A") and sizes == "8":
        grey = _rows(content, width, height, "u1", 1)[..., 0]
        return ordered([_bytes(grey)], letters.lower())
    bits = [int(d) for d in sizes] if sizes.isdecimal() else []
    if len(bits) != len(letters) or sum(bits) not in (16, 32):
        raise ValueError(f"{format_} is not decoded")
    words = _rows(content, width, height, "<u2" if sum(bits) == 16 else "<u4", 1)[..., 0]
    planes, shift = [], sum(bits)
    for size in bits:
        shift -= size
        planes.append(np.asarray(((words >> shift) & ((1 << size) - 1)) * (255.0 / ((1 << size) - 1)), np.uint8))
    shown = [(p, c) for p, c in zip(planes, letters.lower(), strict=True) if c != "x"]
    return ordered([p for p, _ in shown], "".join(c for _, c in shown))


# ---- compressed -----------------------------------------------------------------------------------------------------

_BC = {
    "GL_COMPRESSED_RGB_S3TC_DXT1": "bc1", "GL_COMPRESSED_RGBA_S3TC_DXT1": "bc1a",
    "GL_COMPRESSED_RGBA_S3TC_DXT3": "bc2", "GL_COMPRESSED_RGBA_S3TC_DXT5": "bc3",
    "GL_COMPRESSED_SRGB_S3TC_DXT1": "bc1", "GL_COMPRESSED_SRGB_ALPHA_S3TC_DXT1": "bc1a",
    "GL_COMPRESSED_SRGB_ALPHA_S3TC_DXT3": "bc2", "GL_COMPRESSED_SRGB_ALPHA_S3TC_DXT5": "bc3",
    "GL_COMPRESSED_RED_RGTC1": "bc4", "GL_COMPRESSED_RG_RGTC2": "bc5",
    "GL_ETC1_RGB8": "etc", "GL_COMPRESSED_RGB8_ETC2": "etc", "GL_COMPRESSED_SRGB8_ETC2": "etc",
    "GL_COMPRESSED_RGBA8_ETC2_EAC": "etca", "GL_COMPRESSED_SRGB8_ALPHA8_ETC2_EAC": "etca",
}  # fmt: skip
_BC |= {
    f"VK_FORMAT_{form}_{kind}_BLOCK": decoder
    for form, decoder in (
        ("BC1_RGB", "bc1"), ("BC1_RGBA", "bc1a"), ("BC2", "bc2"), ("BC3", "bc3"), ("ETC2_R8G8B8", "etc"),
        ("ETC2_R8G8B8A8", "etca"),
    )
    for kind in ("UNORM", "SRGB")
}  # fmt: skip
_BC |= {"VK_FORMAT_BC4_UNORM_BLOCK": "bc4", "VK_FORMAT_BC5_UNORM_BLOCK": "bc5"}
_BLOCK = {"bc1": 8, "bc1a": 8, "bc2": 16, "bc3": 16, "bc4": 8, "bc5": 16, "etc": 8, "etca": 16}


def decompressed(content: bytes, width: int, height: int, format_: str) -> Image:
    """Return a compressed image as RGBA. Raises ValueError for formats that are not decoded, and for short content."""
    kind = _BC.get(_plain(format_))
    if kind is None:
        raise ValueError(f"{format_} is not decoded")
    columns, rows = -(-width // 4), -(-height // 4)
    size = columns * rows * _BLOCK[kind]
    if len(content) < size:
        raise ValueError(f"{len(content)} bytes are too few for {width} x {height} of {format_}")
    blocks = np.frombuffer(content[:size], np.uint8).reshape(columns * rows, _BLOCK[kind])
    texels = _DECODERS[kind](blocks)  # blocks x 4 rows x 4 columns x RGBA
    image = texels.reshape(rows, columns, 4, 4, 4).transpose(0, 2, 1, 3, 4).reshape(rows * 4, columns * 4, 4)
    return np.ascontiguousarray(image[:height, :width])


def _bc_colours(blocks: Bytes, *, alpha: bool, four: bool) -> Bytes:
    ends = np.ascontiguousarray(blocks[:, :4]).view("<u2").astype(np.int32)
    bits = np.ascontiguousarray(blocks[:, 4:8]).view("<u4")[:, 0]
    rgb = np.stack([(ends >> 11) * 255 // 31, ((ends >> 5) & 63) * 255 // 63, (ends & 31) * 255 // 31], axis=-1)
    a, b = rgb[:, 0], rgb[:, 1]
    wide = np.ones(len(blocks), bool) if four else ends[:, 0] > ends[:, 1]
    palette = np.zeros((len(blocks), 4, 4), np.int32)
    palette[..., 3] = 255
    palette[:, 0, :3], palette[:, 1, :3] = a, b
    palette[:, 2, :3] = np.where(wide[:, None], (2 * a + b) // 3, (a + b) // 2)
    palette[:, 3, :3] = np.where(wide[:, None], (a + 2 * b) // 3, 0)
    if alpha:
        palette[~wide, 3, 3] = 0
    index = (bits[:, None] >> (2 * np.arange(16, dtype=np.uint32))) & 3
    texels = np.take_along_axis(palette, index[..., None].astype(np.int64), axis=1)
    return texels.astype(np.uint8).reshape(-1, 4, 4, 4)


def _bc_ramp(blocks: Bytes) -> Bytes:
    a, b = blocks[:, 0].astype(np.int32), blocks[:, 1].astype(np.int32)
    steps = np.arange(8)
    eight = np.stack([a, b, *[((7 - i) * a + i * b) // 7 for i in steps[1:7]]], axis=1)
    six = np.stack([a, b, *[((5 - i) * a + i * b) // 5 for i in steps[1:5]], a * 0, a * 0 + 255], axis=1)
    palette = np.where((a > b)[:, None], eight, six)
    word = np.zeros(len(blocks), np.uint64)
    for i in range(6):
        word |= blocks[:, 2 + i].astype(np.uint64) << np.uint64(8 * i)
    index = (word[:, None] >> (np.arange(16, dtype=np.uint64) * np.uint64(3))) & np.uint64(7)
    return np.take_along_axis(palette, index.astype(np.int64), axis=1).astype(np.uint8).reshape(-1, 4, 4)


def _bc2(blocks: Bytes) -> Bytes:
    texels = _bc_colours(blocks[:, 8:], alpha=False, four=True)
    low, high = blocks[:, :8] & 15, blocks[:, :8] >> 4
    texels[..., 3] = np.stack([low, high], axis=-1).reshape(-1, 4, 4) * 17
    return texels


def _bc3(blocks: Bytes) -> Bytes:
    texels = _bc_colours(blocks[:, 8:], alpha=False, four=True)
    texels[..., 3] = _bc_ramp(blocks[:, :8])
    return texels


def _bc4(blocks: Bytes) -> Bytes:
    out = np.zeros((len(blocks), 4, 4, 4), np.uint8)
    out[..., 3] = 255
    out[..., 0] = _bc_ramp(blocks)
    return out


def _bc5(blocks: Bytes) -> Bytes:
    out = _bc4(blocks[:, :8])
    out[..., 1] = _bc_ramp(blocks[:, 8:])
    return out


_ETC_MODIFIERS = np.array(
    [[2, 8, -2, -8], [5, 17, -5, -17], [9, 29, -9, -29], [13, 42, -13, -42], [18, 60, -18, -60], [24, 80, -24, -80],
     [33, 106, -33, -106], [47, 183, -47, -183]]
)  # fmt: skip
_ETC_DISTANCES = np.array([3, 6, 11, 16, 23, 32, 41, 64])
_EAC_MODIFIERS = np.array(
    [[-3, -6, -9, -15, 2, 5, 8, 14], [-3, -7, -10, -13, 2, 6, 9, 12], [-2, -5, -8, -13, 1, 4, 7, 12],
     [-2, -4, -6, -13, 1, 3, 5, 12], [-3, -6, -8, -12, 2, 5, 7, 11], [-3, -7, -9, -11, 2, 6, 8, 10],
     [-4, -7, -8, -11, 3, 6, 7, 10], [-3, -5, -8, -11, 2, 4, 7, 10], [-2, -6, -8, -10, 1, 5, 7, 9],
     [-2, -5, -8, -10, 1, 4, 7, 9], [-2, -4, -8, -10, 1, 3, 7, 9], [-2, -5, -7, -10, 1, 4, 6, 9],
     [-3, -4, -7, -10, 2, 3, 6, 9], [-1, -2, -3, -10, 0, 1, 2, 9], [-4, -6, -8, -9, 3, 5, 7, 8],
     [-3, -5, -7, -9, 2, 4, 6, 8]]
)  # fmt: skip


def _extended(values: Ints, bits: int) -> Ints:
    return (values << (8 - bits)) | (values >> (2 * bits - 8))


def _etc(blocks: Bytes) -> Bytes:
    """ETC1 and the modes that ETC2 adds where a differential colour leaves its range: T, H and planar."""
    b = blocks.astype(np.int64)
    high = (b[:, 0] << 24) | (b[:, 1] << 16) | (b[:, 2] << 8) | b[:, 3]
    low = (b[:, 4] << 24) | (b[:, 5] << 16) | (b[:, 6] << 8) | b[:, 7]
    number = np.arange(16)  # texels down the columns
    index = (((low[:, None] >> (number + 16)) & 1) << 1) | ((low[:, None] >> number) & 1)
    x, y = number // 4, number % 4
    differential, flip = (high >> 1) & 1 == 1, high & 1 == 1
    first5 = np.stack([(high >> s) & 31 for s in (27, 19, 11)], axis=1)
    delta = np.stack([(high >> s) & 7 for s in (24, 16, 8)], axis=1)
    second5 = first5 + np.where(delta > 3, delta - 8, delta)
    outside = (second5 < 0) | (second5 > 31)
    four = np.stack([(high >> s) & 15 for s in (28, 20, 12, 24, 16, 8)], axis=1) * 17
    one = np.where(differential[:, None], _extended(first5, 5), four[:, :3])
    two = np.where(differential[:, None], _extended(np.clip(second5, 0, 31), 5), four[:, 3:])
    in_second = np.where(flip[:, None], y[None, :] >= 2, x[None, :] >= 2)
    table = np.where(in_second, ((high >> 2) & 7)[:, None], ((high >> 5) & 7)[:, None])
    base = np.where(in_second[..., None], two[:, None, :], one[:, None, :])
    rgb = base + _ETC_MODIFIERS[table, index][..., None]
    for mode, chosen in _etc2_modes(differential, outside):
        if chosen.any():
            rgb[chosen] = mode(high[chosen], low[chosen], index[chosen], x, y)
    out = np.full((len(blocks), 4, 4, 4), 255, np.uint8)
    out[:, y, x, :3] = np.clip(rgb, 0, 255)
    return out


def _etc2_modes(differential: Bools, outside: Bools) -> Iterator[tuple[Callable[..., Ints], Bools]]:
    red, green, blue = outside[:, 0], outside[:, 1], outside[:, 2]
    yield _etc_t, differential & red
    yield _etc_h, differential & ~red & green
    yield _etc_planar, differential & ~red & ~green & blue


def _paint(palette: list[Ints], index: Ints) -> Ints:
    return np.take_along_axis(np.clip(np.stack(palette, axis=1), 0, 255), index[..., None], axis=1)


def _etc_t(high: Ints, low: Ints, index: Ints, x: Ints, y: Ints) -> Ints:
    one = np.stack([(((high >> 27) & 3) << 2) | ((high >> 24) & 3), (high >> 20) & 15, (high >> 16) & 15], axis=1) * 17
    two = np.stack([(high >> 12) & 15, (high >> 8) & 15, (high >> 4) & 15], axis=1) * 17
    distance = _ETC_DISTANCES[(((high >> 2) & 3) << 1) | (high & 1)][:, None]
    return _paint([one, two + distance, two, two - distance], index)


def _etc_h(high: Ints, low: Ints, index: Ints, x: Ints, y: Ints) -> Ints:
    one = np.stack(
        [
            (high >> 27) & 15,
            (((high >> 24) & 7) << 1) | ((high >> 20) & 1),
            (((high >> 19) & 1) << 3) | ((high >> 15) & 7),
        ],
        axis=1,
    )
    two = np.stack([(high >> 11) & 15, (high >> 7) & 15, (high >> 3) & 15], axis=1)
    order = (one[:, 0] << 8 | one[:, 1] << 4 | one[:, 2]) >= (two[:, 0] << 8 | two[:, 1] << 4 | two[:, 2])
    distance = _ETC_DISTANCES[(((high >> 2) & 1) << 2) | ((high & 1) << 1) | order][:, None]
    one, two = one * 17, two * 17
    return _paint([one + distance, one - distance, two + distance, two - distance], index)


def _etc_planar(high: Ints, low: Ints, index: Ints, x: Ints, y: Ints) -> Ints:
    def colour(red: Ints, green: Ints, blue: Ints) -> Ints:
        return np.stack([_extended(red, 6), _extended(green, 7), _extended(blue, 6)], axis=1)

    origin = colour(
        (high >> 25) & 63,
        (((high >> 24) & 1) << 6) | ((high >> 17) & 63),
        (((high >> 16) & 1) << 5) | (((high >> 11) & 3) << 3) | ((high >> 7) & 7),
    )
    across = colour(
        (((high >> 2) & 31) << 1) | (high & 1), (low >> 25) & 127, (((low >> 24) & 1) << 5) | ((low >> 19) & 31)
    )
    down = colour((((low >> 16) & 7) << 3) | ((low >> 13) & 7), (low >> 6) & 127, low & 63)
    o, h, v = origin[:, None, :], across[:, None, :], down[:, None, :]
    return np.asarray(
        np.clip((x[None, :, None] * (h - o) + y[None, :, None] * (v - o) + 4 * o + 2) >> 2, 0, 255), np.int64
    )


def _etca(blocks: Bytes) -> Bytes:
    texels = _etc(blocks[:, 8:])
    b = blocks[:, :8].astype(np.int64)
    word = np.zeros(len(blocks), np.int64)
    for i in range(2, 8):
        word = (word << 8) | b[:, i]
    number = np.arange(16)
    index = (word[:, None] >> (45 - 3 * number)) & 7
    alpha = b[:, 0][:, None] + _EAC_MODIFIERS[b[:, 1] & 15][np.arange(len(b))[:, None], index] * (b[:, 1] >> 4)[:, None]
    texels[:, number % 4, number // 4, 3] = np.clip(alpha, 0, 255)
    return texels


_DECODERS = {
    "bc1": lambda blocks: _bc_colours(blocks, alpha=False, four=False),
    "bc1a": lambda blocks: _bc_colours(blocks, alpha=True, four=False),
    "bc2": _bc2,
    "bc3": _bc3,
    "bc4": _bc4,
    "bc5": _bc5,
    "etc": _etc,
    "etca": _etca,
}
