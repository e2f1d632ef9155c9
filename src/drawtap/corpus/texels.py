"""Texels that nobody recognises: colours change places within 8 x 8 texels, alpha stays where it is.

So size, format, the mean colour of each 8 x 8 and what alpha lets through stay as they were, and a driver does the same
work. Block formats keep the kind of each block. A key that is thrown away says where a colour goes; equal contents get
equal ones. Values that are no colours (integers, depth, stencil, bitmaps) steer what is drawn: they stay.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]

SIDE = 8
_SUFFIX = re.compile(r"_(EXT|ANGLE|OES|ARB|WEBGL|NV|APPLE|KHR)$")
_CHANNELS = {
    "RGBA": "rgba", "BGRA": "bgra", "ABGR": "abgr", "RGB": "rgb", "BGR": "bgr", "RED": "r", "GREEN": "g", "BLUE": "b",
    "RG": "rg", "LUMINANCE": "l", "LUMINANCE_ALPHA": "la", "INTENSITY": "l", "ALPHA": "a", "SRGB": "rgb",
    "SRGB_ALPHA": "rgba",
}  # fmt: skip
_SIZES = {"BYTE": 1, "UNSIGNED_BYTE": 1, "SHORT": 2, "UNSIGNED_SHORT": 2, "HALF_FLOAT": 2, "INT": 4, "UNSIGNED_INT": 4,
          "FLOAT": 4, "FIXED": 4}  # fmt: skip
#: Packed types: bytes of a texel, and its bits of alpha, for formats with alpha.
_PACKED = {
    "UNSIGNED_BYTE_3_3_2": (1, 0), "UNSIGNED_BYTE_2_3_3_REV": (1, 0), "UNSIGNED_SHORT_5_6_5": (2, 0),
    "UNSIGNED_SHORT_5_6_5_REV": (2, 0), "UNSIGNED_SHORT_4_4_4_4": (2, 0xF), "UNSIGNED_SHORT_4_4_4_4_REV": (2, 0xF000),
    "UNSIGNED_SHORT_5_5_5_1": (2, 1), "UNSIGNED_SHORT_1_5_5_5_REV": (2, 0x8000),
    "UNSIGNED_INT_8_8_8_8": (4, 0xFF), "UNSIGNED_INT_8_8_8_8_REV": (4, 0xFF000000),
    "UNSIGNED_INT_10_10_10_2": (4, 3), "UNSIGNED_INT_2_10_10_10_REV": (4, 0xC0000000),
    "UNSIGNED_INT_10F_11F_11F_REV": (4, 0), "UNSIGNED_INT_5_9_9_9_REV": (4, 0),
}  # fmt: skip
_ETC = re.compile(r"GL_(ETC1_RGB8|COMPRESSED_(S?RGB8|RGBA8|SRGB8_ALPHA8)_ETC2(_EAC)?)")
_S3TC = re.compile(r"GL_COMPRESSED_S?(RGB|RGBA|RGB_ALPHA)_S3TC_DXT([135])")
_ASTC = re.compile(r"GL_COMPRESSED_(RGBA|SRGB8_ALPHA8)_ASTC_(\d+)x(\d+)")
_OTHER_BLOCKS = re.compile(
    r"GL_COMPRESSED_(?P<small>(SIGNED_)?(RED|LUMINANCE|R11)_?(RGTC1|LATC1|EAC)?|SIGNED_R11_EAC)"
    r"|GL_COMPRESSED_((SIGNED_)?(RG|LUMINANCE_ALPHA|RG11)_?(RGTC2|LATC2|EAC)|\w*BPTC\w*)"
)


class Mixer:
    """Mixes colours by a key. It returns None for contents that stay."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def mixed(self, content: bytes, size: tuple[int, int, int], format_: str, type_: str | None) -> bytes | None:
        """Return an image of width, height and depth with its colours mixed. `type_` is None for compressed formats.

        None: its format has no colours, is not known, or does not fit its content.
        """
        if min(size) < 1 or not content:
            return None
        plain = _SUFFIX.sub("", format_)
        digest = hashlib.blake2b(content, key=self._key, digest_size=16).digest()
        rng = np.random.Generator(np.random.Philox(int.from_bytes(digest, "little")))
        made = _blocks(content, size, plain, rng) if type_ is None else _pixels(content, size, plain, type_, rng)
        return None if made == content else made


def _pixels(
    content: bytes, size: tuple[int, int, int], format_: str, type_: str, rng: np.random.Generator
) -> bytes | None:
    form = _texel(format_, type_)
    if form is None:
        return None
    bytes_, alpha = form
    width, lines = size[0], size[1] * size[2]
    tight, out = width * bytes_, bytearray(content)
    for alignment in (1, 2, 4, 8):
        stride = -(-tight // alignment) * alignment
        if len(content) in (stride * lines, stride * (lines - 1) + tight):
            padded = np.frombuffer(content.ljust(stride * lines, b"\0"), np.uint8).reshape(lines, stride).copy()
            texels = padded[:, :tight].reshape(-1, bytes_)
            padded[:, :tight] = kept(texels, moved(tiles_of(width, lines, size[1]), rng), alpha).reshape(lines, tight)
            return padded.tobytes()[: len(content)]
    # Rows of a larger image: which of its bytes are texels is not said here. All that the driver may read is mixed.
    count = len(content) // bytes_
    if not count:
        return None
    texels = np.frombuffer(content, np.uint8, count * bytes_).reshape(count, bytes_)
    tiles = np.arange(count) // (SIDE * SIDE)
    out[: count * bytes_] = kept(texels, moved(tiles, rng), alpha).tobytes()
    return bytes(out)


def _texel(format_: str, type_: str) -> tuple[int, Bytes] | None:
    """Return the bytes of a texel, and which of their bits are alpha."""
    channels = _CHANNELS.get(format_.removeprefix("GL_"))
    type_ = _SUFFIX.sub("", type_).removeprefix("GL_")
    if format_.startswith("VG_"):
        return _vg_texel(format_)
    if channels is None or channels == "a":
        return None
    if type_ in _PACKED:
        bytes_, bits = _PACKED[type_]
        kept = bits if "a" in channels else 0
        return bytes_, np.frombuffer(kept.to_bytes(bytes_, "little"), np.uint8)
    wide = _SIZES.get(type_)
    if wide is None:
        return None
    return wide * len(channels), np.repeat(np.array([255 * (c == "a") for c in channels], np.uint8), wide)


def _vg_texel(format_: str) -> tuple[int, Bytes] | None:
    letters, _, sizes = format_.removeprefix("VG_").lstrip("sl").removesuffix("_PRE").partition("_")
    if letters == "L" and sizes == "8":
        return 1, np.zeros(1, np.uint8)
    bits = [int(d) for d in sizes] if sizes.isdecimal() else []
    if len(bits) != len(letters) or sum(bits) not in (16, 32):
        return None
    kept, shift = 0, sum(bits)
    for letter, wide in zip(letters, bits, strict=True):
        shift -= wide
        kept |= ((1 << wide) - 1) << shift if letter == "A" else 0
    return sum(bits) // 8, np.frombuffer(kept.to_bytes(sum(bits) // 8, "little"), np.uint8)


def tiles_of(width: int, lines: int, height: int, side: int = SIDE) -> Places:
    """Return the number of the tile of each texel; tiles do not reach into the next image of a deep one."""
    y, x = np.divmod(np.arange(width * lines), width)
    z, y = np.divmod(y, height)
    across, down = -(-width // side), -(-height // side)
    return np.asarray((z * down + y // side) * across + x // side, np.int64)


def moved(tiles: Places, rng: np.random.Generator) -> Places:
    """Return where the colour of each place comes from: another place of its tile."""
    here = np.argsort(tiles, kind="stable")
    there = np.lexsort((rng.random(len(tiles)), tiles))
    source = np.empty(len(tiles), np.int64)
    source[here] = there
    return source


def kept(texels: Bytes, source: Places, alpha: Bytes) -> Bytes:
    return np.asarray((texels[source] & ~alpha) | (texels & alpha), np.uint8)


# ---- blocks ----------------------------------------------------------------------------------------------------------


def _blocks(content: bytes, size: tuple[int, int, int], format_: str, rng: np.random.Generator) -> bytes | None:
    """Blocks change places within 2 x 2; where indices of texels are known, these change places in their block."""
    astc, s3tc, etc = _ASTC.fullmatch(format_), _S3TC.fullmatch(format_), _ETC.fullmatch(format_)
    other = _OTHER_BLOCKS.fullmatch(format_)
    if not (astc or s3tc or etc or other):
        return None
    side = (int(astc[2]), int(astc[3])) if astc else (4, 4)
    halves = (s3tc and s3tc[2] != "1") or (etc and "EAC" in format_)  # alpha comes first, and stays
    bytes_ = 16 if astc or halves or (other and not other["small"]) else 8
    across, down = -(-size[0] // side[0]), -(-size[1] // side[1])
    count = across * down * size[2]
    if len(content) != count * bytes_:
        return None
    whole = np.frombuffer(content, np.uint8).reshape(count, bytes_).copy()
    part = whole[:, 8:] if halves else whole
    tiles = tiles_of(across, down * size[2], down, 2)
    holes = np.zeros(count, np.bool_)
    if s3tc and not halves:  # blocks with holes stay where they are, and so do the holes
        ends = part[:, :4].copy().view("<u2")
        holes = ends[:, 0] <= ends[:, 1]
        tiles = np.where(holes, tiles.max() + 1 + np.arange(count), tiles)
    part[:] = part[moved(tiles, rng)]
    if s3tc:
        part[:, 4:] = _indices(part[:, 4:], holes, rng)
    elif etc:
        _etc_indices(part, rng)
    return whole.tobytes()


def _orders(values: npt.NDArray[Any], stay: npt.NDArray[np.bool_], rng: np.random.Generator) -> npt.NDArray[Any]:
    """Return 16 values of each block in another order; those that stay keep their places."""
    random = rng.random(values.shape)
    here = np.argsort(stay + np.arange(16) / 16, axis=1)
    there = np.argsort(2.0 * stay + np.where(stay, np.arange(16) / 16, random), axis=1)
    out = np.empty_like(values)
    np.put_along_axis(out, here, np.take_along_axis(values, there, 1), 1)
    return out


def _indices(words: Bytes, holes: npt.NDArray[np.bool_], rng: np.random.Generator) -> Bytes:
    word = np.ascontiguousarray(words).view("<u4")
    index = word >> (2 * np.arange(16, dtype=np.uint32)) & 3
    mixed = _orders(index, (index == 3) & holes[:, None], rng)
    packed = (mixed.astype(np.uint64) << (2 * np.arange(16, dtype=np.uint64))).sum(axis=1).astype("<u4")
    return np.asarray(packed.view(np.uint8).reshape(-1, 4), np.uint8)


def _etc_indices(part: Bytes, rng: np.random.Generator) -> None:
    """Mix the indices of blocks, but of planar ones, which have none."""
    planar = (part[:, 3] & 2 > 0) & _outside(part[:, 2])
    planar &= ~_outside(part[:, 0]) & ~_outside(part[:, 1])
    planes = np.unpackbits(np.ascontiguousarray(part[:, 4:]), axis=1).reshape(-1, 2, 16)
    index = planes[:, 0] * 2 + planes[:, 1]
    mixed = _orders(index, np.broadcast_to(planar[:, None], index.shape), rng)
    part[:, 4:] = np.packbits(np.stack([mixed >> 1, mixed & 1], axis=1).reshape(-1, 32), axis=1)


def _outside(colour: Bytes) -> npt.NDArray[np.bool_]:
    """Tell where a base of five bits and its signed difference of three leave the range."""
    step = (colour & 7).astype(np.int64)
    total = (colour >> 3).astype(np.int64) + np.where(step > 3, step - 8, step)
    return np.asarray((total < 0) | (total > 31), np.bool_)
