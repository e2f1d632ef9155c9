"""Contents of Vulkan's images and buffers, read back from a device that plays the recording."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from drawtap.analysis.held import HeldBuffer, HeldContent, Part
from drawtap.errors import UnavailableError, UsageError
from drawtap.replay.place import Place
from drawtap.trace.vulkan_draw import DrawState, drawn_at

if TYPE_CHECKING:
    from drawtap.replay.warm import Warm
    from drawtap.trace.trace import Trace

COLOR, DEPTH, STENCIL, PLANE = 1, 2, 4, 16  # bits of VkImageAspectFlagBits; planes 1 and 2 are 32 and 64

_PLAIN = re.compile(
    r"VK_FORMAT_((?:[RGBAEX]\d+)+)_(UNORM|SNORM|USCALED|SSCALED|UINT|SINT|UFLOAT|SFLOAT|SRGB)(_PACK\d+)?"
)
# Formats for video: planes of their own, texels in pairs, and words whose low bits are not used.
_PLANES = re.compile(r"VK_FORMAT_(\w+?)_([23])PLANE_(420|422|444)_UNORM(_\w+)?")
_PAIRS = re.compile(r"VK_FORMAT_((?:[GBR]\d+(?:X\d)?){4})_422_UNORM(_\w+)?")
_WIDE = re.compile(r"VK_FORMAT_((?:[RGBA]\d+X\d)+)_UNORM_\d?PACK16")
_CHANNEL = re.compile(r"([RGBA])(\d+)(?:X(\d))?")
_BLOCKS = re.compile(r"VK_FORMAT_(BC\d\w*|ETC2_\w+|EAC_\w+|ASTC_(\d+)x(\d+)_\w+)_BLOCK")
_SMALL = re.compile(r"BC1_|BC4_|ETC2_R8G8B8_|ETC2_R8G8B8A1_|EAC_R11_")  # blocks of 8 bytes
# Numbers that KTX files have for formats of blocks.
_INTERNAL = {
    "BC1_RGB_UNORM": 0x83F0, "BC1_RGB_SRGB": 0x8C4C, "BC1_RGBA_UNORM": 0x83F1, "BC1_RGBA_SRGB": 0x8C4D,
    "BC2_UNORM": 0x83F2, "BC2_SRGB": 0x8C4E, "BC3_UNORM": 0x83F3, "BC3_SRGB": 0x8C4F,
    "BC4_UNORM": 0x8DBB, "BC4_SNORM": 0x8DBC, "BC5_UNORM": 0x8DBD, "BC5_SNORM": 0x8DBE,
    "BC6H_UFLOAT": 0x8E8F, "BC6H_SFLOAT": 0x8E8E, "BC7_UNORM": 0x8E8C, "BC7_SRGB": 0x8E8D,
    "ETC2_R8G8B8_UNORM": 0x9274, "ETC2_R8G8B8_SRGB": 0x9275, "ETC2_R8G8B8A1_UNORM": 0x9276,
    "ETC2_R8G8B8A1_SRGB": 0x9277, "ETC2_R8G8B8A8_UNORM": 0x9278, "ETC2_R8G8B8A8_SRGB": 0x9279,
    "EAC_R11_UNORM": 0x9270, "EAC_R11_SNORM": 0x9271, "EAC_R11G11_UNORM": 0x9272, "EAC_R11G11_SNORM": 0x9273,
}  # fmt: skip
_ATTRIBUTE = re.compile(r"VK_FORMAT_((?:[RGBA]\d+)+)_(\w+)")
_TYPES = {  # OpenGL's numbers, by bits and kind
    ("8", "S"): 0x1400, ("8", "U"): 0x1401, ("16", "S"): 0x1402, ("16", "U"): 0x1403, ("32", "S"): 0x1404,
    ("32", "U"): 0x1405, ("32", "SFLOAT"): 0x1406, ("64", "SFLOAT"): 0x140A, ("16", "SFLOAT"): 0x140B,
}  # fmt: skip
_ASTC = ("4x4", "5x4", "5x5", "6x5", "6x6", "8x5", "8x6", "8x8", "10x5", "10x6", "10x8", "10x10", "12x10", "12x12")
_DEPTHS = {
    "VK_FORMAT_D16_UNORM": ("<u2", 2), "VK_FORMAT_X8_D24_UNORM_PACK32": ("<u4", 4), "VK_FORMAT_D32_SFLOAT": ("<f4", 4),
    "VK_FORMAT_D16_UNORM_S8_UINT": ("<u2", 2), "VK_FORMAT_D24_UNORM_S8_UINT": ("<u4", 4),
    "VK_FORMAT_D32_SFLOAT_S8_UINT": ("<f4", 4),
}  # fmt: skip

# Images that exist in a range of calls; images of a swapchain come with its create info.
_IMAGES = """
SELECT i.handle, i.name, i.created_seq, i.destroyed_seq, i.info, any_value(w.info) AS window FROM objects i
LEFT JOIN objects w ON w.type = 'VkSwapchainKHR' AND w.handle = i.parent AND w.created_seq <= i.created_seq
WHERE i.type = 'VkImage' AND i.created_seq <= {at} {more}
GROUP BY ALL ORDER BY i.created_seq, i.handle
"""


def place_of(trace: Trace, call: int) -> Place:
    """Return where contents are read: after a call, or behind a command where it first runs."""
    drawn = drawn_at(trace, call) if trace.calls[call].name.startswith("vkCmd") else None
    return Place(call) if drawn is None or drawn[1] is None else Place(drawn[1], call)


def held_images(
    trace: Trace, folder: Path, *, at: int | None = None, environment: Mapping[str, str]
) -> Iterator[HeldContent]:
    """Yield every image with its content: those that exist after call `at`, else all, just before their end.

    `folder` is used for files that are gone afterwards. Raises what `Warm` raises, but where nothing here can play
    the recording the images have no content, and say why.
    """
    from drawtap.replay.warm import Warm

    last = len(trace.calls) - 1
    place = Place(last) if at is None else place_of(trace, at)
    more = "" if at is None else f"AND (i.destroyed_seq IS NULL OR i.destroyed_seq > {place.call})"
    rows = list(trace.sql(_IMAGES.format(at=place.call, more=more)).dicts())
    ends = sorted({row["destroyed_seq"] - 1 for row in rows if at is None and row["destroyed_seq"] is not None})
    contents_by_row: dict[int, HeldContent] = {}
    folder.mkdir(exist_ok=True)
    with Warm(trace.path, environment=environment, frame_end=trace.frame_end) as player:
        for each in [*map(Place, ends), place]:
            chosen = [
                i
                for i, row in enumerate(rows)
                if i not in contents_by_row and (each is place or row["destroyed_seq"] == each.call + 1)
            ]
            try:
                contents = _contents([rows[i] for i in chosen], each, folder, player)
            except UnavailableError as error:
                contents = [_empty(rows[i], each, f"nothing here plays the recording: {error.message}") for i in chosen]
            contents_by_row |= zip(chosen, contents, strict=True)
    yield from (contents_by_row[i] for i in range(len(rows)))


def held_image(trace: Trace, folder: Path, player: Warm, *, at: int, name: int) -> HeldContent:
    """Return what an image holds after call `at`. Raises UsageError where there is no such image then."""
    place = place_of(trace, at)
    more = f"AND i.handle = {name} AND (i.destroyed_seq IS NULL OR i.destroyed_seq > {place.call})"
    rows = list(trace.sql(_IMAGES.format(at=place.call, more=more)).dicts())
    if not rows:
        raise UsageError(f"there is no image {name:#x} after call {at}", hint="the table objects has all lives")
    return _contents(rows[-1:], place, folder, player)[0]


def held_buffer(trace: Trace, folder: Path, player: Warm, *, at: int, name: int) -> HeldBuffer:
    """Return what a buffer holds after call `at`, and what the command there reads from it.

    Raises UsageError where there is no such buffer then, or where it cannot be read.
    """
    place = place_of(trace, at)
    [(file, answer)] = player.contents(place, [{"class": "buffer", "name": name}], folder)
    if answer["why"]:
        hint = (
            None if place.draw is None else f"call {place.call}, which submits the command, has it behind all commands"
        )
        raise UsageError(f"buffer {name:#x} cannot be read after call {at}: {answer['why']}", hint=hint)
    return HeldBuffer(at, file.read_bytes(), buffer_uses(trace, at, name))


def buffer_uses(trace: Trace, at: int, name: int) -> Sequence[Mapping[str, Any]]:
    """Return how the command of a call reads a buffer, as `native/player/buffers.h` has it; none for other calls.

    Only vertices and indices have a form; of blocks the recording names no members.
    """
    place = drawn_at(trace, at)
    if place is None:
        return ()
    state = {path: value for path, value, _ in DrawState(trace, *place).values()}
    uses: list[dict[str, Any]] = []
    if state.get("index_buffer.buffer") == f"{name:#x}":
        uses.append({"use": "index"})
    bindings: dict[object, dict[str, Any]] = {}
    for row in _rows(state, "pipeline.info.pVertexInputState.pVertexBindingDescriptions"):
        bindings[row["binding"]] = row
    for row in _rows(state, "pipeline.info.pVertexInputState.pVertexAttributeDescriptions"):
        binding = bindings.get(row["binding"], {})
        bound = f"vertex_buffers[{row['binding']}]"
        kind = _ATTRIBUTE.fullmatch(str(row["format"]))
        if state.get(f"{bound}.buffer") != f"{name:#x}" or kind is None:
            continue
        bits = re.findall(r"\d+", kind[1])
        type_ = _TYPES.get((bits[0], kind[2] if kind[2] == "SFLOAT" else kind[2][0]))
        if type_ is None or len({*bits}) > 1 or kind[1].startswith("B"):
            continue
        stride = state.get(f"{bound}.stride", binding.get("stride", 0))
        uses.append({
            "use": "vertex", "name": f"location{row['location']}", "size": len(bits), "type": type_, "stride": stride,
            "offset": state[f"{bound}.offset"] + row["offset"], "normalized": kind[2].endswith("NORM"),
            "divisor": int(binding.get("inputRate") == "VK_VERTEX_INPUT_RATE_INSTANCE"),
        })  # fmt: skip
    return uses


def _rows(state: Mapping[str, Any], path: str) -> list[dict[str, Any]]:
    """Return the structures of a list: their members by name."""
    rows: dict[int, dict[str, Any]] = {}
    for name, value in state.items():
        if match := re.fullmatch(re.escape(path) + r"\[(\d+)\]\.(\w+)", name):
            rows.setdefault(int(match[1]), {})[match[2]] = value
    return [rows[i] for i in sorted(rows)]


# ---- images ---------------------------------------------------------------------------------------------------------


def block_of(form: str, aspect: int) -> tuple[int, int, int] | None:
    """Return width, height and bytes of a format's block; of plain formats that is a texel. None: it is not read."""
    if aspect == STENCIL:
        return (1, 1, 1)
    if aspect == DEPTH:
        return (1, 1, _DEPTHS[form][1])
    if match := _PLANES.fullmatch(form):
        return (1, 1, _bytes(_plane(match, aspect)))
    if match := _PAIRS.fullmatch(form):
        return (2, 1, _bytes(match[1]))
    if match := _WIDE.fullmatch(form):
        return (1, 1, _bytes(match[1]))
    if match := _BLOCKS.fullmatch(form):
        size = (int(match[2]), int(match[3])) if match[2] else (4, 4)
        return (*size, 8 if _SMALL.match(match[1]) else 16)
    if match := _PLAIN.fullmatch(form):
        return (1, 1, sum(int(bits) for bits in re.findall(r"\d+", match[1])) // 8)
    return None


def _bytes(channels: str) -> int:
    """Return the bytes of channels like G8 or B10X6R10X6."""
    return sum(int(bits) + int(unused or 0) for _, bits, unused in _CHANNEL.findall(channels)) // 8


def _plane(match: re.Match[str], aspect: int) -> str:
    """Return the channels of a plane."""
    return match[1].split("_")[(aspect // PLANE).bit_length() - 1]


def _divided(form: str, aspect: int) -> tuple[int, int]:
    """Return what width and height of an image are divided by for a plane."""
    match = _PLANES.fullmatch(form)
    if match is None or aspect == PLANE:
        return (1, 1)
    return {"420": (2, 2), "422": (2, 1), "444": (1, 1)}[match[3]]


@dataclass(frozen=True)
class _Wish:
    # A level and an aspect of an image: the question to the player, or why there is none.
    suffix: str
    aspect: int
    asked: Mapping[str, object] | None
    why: str = ""


def _about(row: Mapping[str, Any]) -> tuple[str, str, tuple[int, int], int, int]:
    """Return format, type, size, number of levels and of samples."""
    info = json.loads(row["info"]) if row["info"] else {}
    window = json.loads(row["window"]) if row["window"] else {}
    extent = info.get("extent") or window.get("imageExtent") or {}
    form = str(info.get("format") or window.get("imageFormat") or "")
    kind = str(info.get("imageType") or "VK_IMAGE_TYPE_2D")
    samples = re.search(r"\d+", str(info.get("samples") or "1"))
    size = (extent.get("width", 0), extent.get("height", 0))
    return form, kind, size, int(info.get("mipLevels") or 1), int(samples[0]) if samples else 1


def _empty(row: Mapping[str, Any], place: Place, why: str, parts: tuple[Part, ...] = ()) -> HeldContent:
    form, kind, size, *_ = _about(row)
    return HeldContent(
        "image", row["handle"], 0, row["name"], row["created_seq"], row["destroyed_seq"], kind, form, *size,
        place.call if place.draw is None else place.draw, parts, why,
    )  # fmt: skip


def _wishes(row: Mapping[str, Any]) -> list[_Wish]:
    form, _, _, levels, _ = _about(row)
    aspects = [(COLOR, "")]
    if form in _DEPTHS:
        aspects = [(DEPTH, ""), (STENCIL, "-stencil")] if "S8" in form else [(DEPTH, "")]
    elif form == "VK_FORMAT_S8_UINT":
        aspects = [(STENCIL, "")]
    elif match := _PLANES.fullmatch(form):
        aspects = [(PLANE << i, f"-plane{i}") for i in range(int(match[2]))]
    wishes = []
    for level in range(levels):
        for aspect, suffix in aspects:
            named = f"{suffix}-level{level}" if level else suffix
            block = block_of(form, aspect)
            if block is None:
                wishes.append(_Wish(named, aspect, None, f"{form} is not read"))
                continue
            asked = {"class": "image", "name": row["handle"], "level": level, "aspect": aspect, "block": list(block)}
            asked["divide"] = list(_divided(form, aspect))
            wishes.append(_Wish(named, aspect, asked))
    return wishes


def _contents(rows: Sequence[Mapping[str, Any]], place: Place, folder: Path, player: Warm) -> list[HeldContent]:
    """Return what images hold at a place: the player goes there once."""
    wishes = [_wishes(row) for row in rows]
    asked = [wish.asked for each in wishes for wish in each if wish.asked is not None]
    answers = iter(player.contents(place, asked, folder) if asked else [])
    contents = []
    for row, each in zip(rows, wishes, strict=True):
        form, *_, samples = _about(row)
        parts = []
        for wish in each:
            if wish.asked is None:
                parts.append(Part(wish.suffix, 0, 0, 0, why=wish.why))
                continue
            file, answer = next(answers)
            parts.append(_part(wish, form, samples, answer, file))
        whys = {part.why for part in parts}
        why = whys.pop() if len(whys) == 1 else ""
        if not form:
            why = "the recording does not say how it was made"
        if why and place.draw is not None and any(word in why for word in ("interrupted", "preserve")):
            why += f"; --at {place.call} has it behind all commands"
        contents.append(_empty(row, place, why) if why else _empty(row, place, "", tuple(parts)))
    return contents


def _part(wish: _Wish, form: str, samples: int, answer: Mapping[str, object], file: Path) -> Part:
    width, height, depth = (int(str(answer[key])) for key in ("width", "height", "depth"))
    if answer["why"]:
        return Part(wish.suffix, width, height, depth, why=str(answer["why"]))
    raw = file.read_bytes()
    file.unlink()
    if match := _BLOCKS.fullmatch(form):
        return Part(wish.suffix, width, height, depth, blocks=raw, internal=_internal(match), source="read back")
    pixels, channels = values(raw, (depth, height, width), form, wish.aspect)
    lost = ""
    if samples > 1:
        one = wish.aspect in (DEPTH, STENCIL) or form.endswith(("INT", "INT_PACK32"))
        lost = f"of {samples} samples a pixel the {'first' if one else 'average'} alone"
    return Part(wish.suffix, width, height, depth, channels, pixels, source="read back", lost=lost)


def _internal(match: re.Match[str]) -> int:
    """Return the number of a format of blocks; 0 where KTX files have none."""
    if match[2]:
        size = f"{match[2]}x{match[3]}"
        return (0x93D0 if "SRGB" in match[1] else 0x93B0) + _ASTC.index(size) if size in _ASTC else 0
    return _INTERNAL.get(match[1], 0)


def values(raw: bytes, shape: tuple[int, int, int], form: str, aspect: int) -> tuple[npt.NDArray[Any], str]:
    """Return texels of a plain format as layers x height x width x channels, and the letters of the channels.

    Channels stand in the order red, green, blue, alpha. Packed ones become numbers of 16 bits as they are kept;
    E5B9G9R9 and B10G11R11 become floats. A plane of green alone is luminance. Formats with texels in pairs give both
    texels the blue and red of the pair.
    """
    if aspect == STENCIL:
        return np.frombuffer(raw, "u1").reshape(*shape, 1), "s"
    if aspect == DEPTH:
        depth = np.frombuffer(raw, _DEPTHS[form][0]).reshape(*shape, 1)
        return (depth & 0xFFFFFF if "D24" in form else depth), "d"
    if match := _PLANES.fullmatch(form):
        return _words(raw, shape, _plane(match, aspect))
    if match := _WIDE.fullmatch(form):
        return _words(raw, shape, match[1])
    if match := _PAIRS.fullmatch(form):
        layers, height, width = shape
        both, order_read = _words(raw, (layers, height, (width + 1) // 2), match[1], each=True)
        order = "gbgr" if form.startswith("VK_FORMAT_G") else "bgrg"
        assert order_read == order
        green = both[..., [i for i, letter in enumerate(order) if letter == "g"]].reshape(layers, height, -1)[
            ..., :width
        ]
        rest = {letter: both[..., order.index(letter)].repeat(2, axis=-1)[..., :width] for letter in "rb"}
        return np.stack([rest["r"], green, rest["b"]], axis=-1), "rgb"
    match = _PLAIN.fullmatch(form)
    assert match is not None
    parts = [(letter.lower(), int(bits)) for letter, bits in re.findall(r"([RGBAEX])(\d+)", match[1])]
    if match[3] and parts[0][1] != 8:
        planes = _packed(raw, shape, parts, match[2])
    else:
        code = {"SFLOAT": "f", "UFLOAT": "f", "SINT": "i", "SNORM": "i", "SSCALED": "i"}.get(match[2], "u")
        all_ = np.frombuffer(raw, f"<{code}{parts[0][1] // 8}").reshape(*shape, len(parts))
        # Packed ones name their highest byte first.
        letters = [letter for letter, _ in (reversed(parts) if match[3] else parts)]
        planes = {letter: all_[..., i] for i, letter in enumerate(letters)}
    channels = "".join(letter for letter in "rgba" if letter in planes)
    return np.stack([planes[letter] for letter in channels], axis=-1), channels


def _words(
    raw: bytes, shape: tuple[int, int, int], channels: str, *, each: bool = False
) -> tuple[npt.NDArray[Any], str]:
    """Return channels like G8 or B10X6R10X6, sorted (`each`: as they are), and their letters."""
    parts = [(letter.lower(), int(unused or 0)) for letter, _, unused in _CHANNEL.findall(channels)]
    words = np.frombuffer(raw, f"<u{_bytes(channels) // len(parts)}").reshape(*shape, len(parts))
    planes = [words[..., i] >> unused for i, (_, unused) in enumerate(parts)]
    order = range(len(parts)) if each else sorted(range(len(parts)), key=lambda i: "rgba".index(parts[i][0]))
    named = "".join(parts[i][0] for i in order)
    return np.stack([planes[i] for i in order], axis=-1), "l" if named == "g" else named


def _packed(
    raw: bytes, shape: tuple[int, int, int], parts: Sequence[tuple[str, int]], kind: str
) -> dict[str, npt.NDArray[Any]]:
    total = sum(bits for _, bits in parts)
    words = np.frombuffer(raw, f"<u{total // 8}").reshape(shape)
    planes: dict[str, npt.NDArray[Any]] = {}
    shift = total
    for letter, bits in parts:
        shift -= bits
        field = (words >> shift) & ((1 << bits) - 1)
        if kind == "UFLOAT" and bits in (10, 11):  # five bits of exponent, without a sign: the head of a half
            planes[letter] = (field << (15 - bits)).astype("<u2").view("<f2").astype("<f4")
        elif kind in ("SINT", "SNORM", "SSCALED"):
            planes[letter] = ((field.astype("<i4") ^ (1 << bits - 1)) - (1 << bits - 1)).astype("<i2")
        else:
            planes[letter] = field.astype("<u2")
    if (exponent := planes.pop("e", None)) is not None:
        scale = np.exp2(exponent.astype("<f4") - 15 - 9)
        planes = {letter: (field * scale).astype("<f4") for letter, field in planes.items()}
    planes.pop("x", None)
    return planes
