"""Contents of textures, renderbuffers, buffers and images of OpenVG, read back from a driver that plays the recording.

Where a driver does not hand an object's content over, uploads of it are decoded; each part says which of the two it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from drawtap.analysis.textures import decompressed, uploaded, vg_image
from drawtap.analysis.views import VIEWS
from drawtap.errors import DrawtapError, UnavailableError, UsageError
from drawtap.tables.recording import ContextRow
from drawtap.trace.snapshot import Snapshot

if TYPE_CHECKING:
    from drawtap.replay.warm import Warm
    from drawtap.trace.trace import Trace

Pixels = npt.NDArray[Any]

_CLASSES = {"texture": "texture", "renderbuffer": "renderbuffer", "vg_image": "image"}
_CUBE = "GL_TEXTURE_CUBE_MAP"
_TARGETS = {
    "GL_TEXTURE_1D": 0x0DE0, "GL_TEXTURE_2D": 0x0DE1, "GL_TEXTURE_3D": 0x806F, "GL_TEXTURE_RECTANGLE": 0x84F5,
    "GL_TEXTURE_CUBE_MAP": 0x8513, "GL_TEXTURE_1D_ARRAY": 0x8C18, "GL_TEXTURE_2D_ARRAY": 0x8C1A,
    "GL_TEXTURE_BUFFER": 0x8C2A, "GL_TEXTURE_CUBE_MAP_ARRAY": 0x9009, "GL_TEXTURE_2D_MULTISAMPLE": 0x9100,
    "GL_TEXTURE_2D_MULTISAMPLE_ARRAY": 0x9102, "GL_TEXTURE_EXTERNAL_OES": 0x8D65,
    "GL_TEXTURE_CUBE_MAP_POSITIVE_X": 0x8515, "GL_TEXTURE_CUBE_MAP_NEGATIVE_X": 0x8516,
    "GL_TEXTURE_CUBE_MAP_POSITIVE_Y": 0x8517, "GL_TEXTURE_CUBE_MAP_NEGATIVE_Y": 0x8518,
    "GL_TEXTURE_CUBE_MAP_POSITIVE_Z": 0x8519, "GL_TEXTURE_CUBE_MAP_NEGATIVE_Z": 0x851A,
}  # fmt: skip
_LAYERED = ("GL_TEXTURE_3D", "GL_TEXTURE_2D_ARRAY", "GL_TEXTURE_CUBE_MAP_ARRAY")
_COLOR, _DEPTH, _STENCIL = 1, 2, 4
_EACH_TEXEL = 16  # native/player/objects.h
_EIGHT_BITS = (
    "GL_UNSIGNED_BYTE", "GL_UNSIGNED_SHORT_5_6_5", "GL_UNSIGNED_SHORT_4_4_4_4", "GL_UNSIGNED_SHORT_5_5_5_1",
)  # fmt: skip

# The last call of a context that has the object, before the object is deleted: its content is read back after it.
_OBJECTS = """
WITH o AS (SELECT class, name, share_group, label, created_seq, deleted_seq, target, format, width, height, depth,
                  writes, coalesce(least(deleted_seq, {end}), {end}) AS until
           FROM resources WHERE class IN ('texture', 'renderbuffer', 'vg_image') AND created_seq < {end} {alive}),
     c AS (SELECT c.seq, g.share_group FROM calls c JOIN contexts g ON g.context = c.context
           WHERE c.api IN ('gl', 'vg'))
SELECT o.* EXCLUDE (until), c.seq AS call FROM o ASOF LEFT JOIN c
  ON c.share_group = o.share_group AND c.seq < o.until
ORDER BY o.class, o.share_group, o.name, o.created_seq, o.target
"""

_UPLOADS = """
SELECT g.share_group, coalesce(u.texture, 0) AS texture, u.seq, u.target, u.level, u.width, u.height,
       coalesce(u.depth, 1) AS depth, u.format, u.type, u.internalformat, u.bytes, u.part, u.compressed
FROM texture_uploads u JOIN contexts g ON g.context = u.context ORDER BY u.seq
"""


@dataclass(frozen=True)
class Part:
    """One image of an object: a level (of a face) of a texture, a renderbuffer, an image of OpenVG.

    `pixels` is layers x height x width x channels with the values as they are kept, the first row that of t = 0; of
    renderbuffers and images of OpenVG it is the top one. `blocks` are the bytes of a compressed format, `internal` its
    number. `source` says where it is from ("read back", "upload") and who decoded blocks, `lost` what is not in it,
    `why` (with no content) why it could not be had. `depth_mode` is GL_DEPTH_TEXTURE_MODE of depth in compatibility
    profiles, else 0.
    """

    suffix: str
    width: int
    height: int
    depth: int
    channels: str = ""
    pixels: Pixels | None = None
    blocks: bytes | None = None
    internal: int = 0
    source: str = ""
    upload: int | None = None
    lost: str = ""
    why: str = ""
    depth_mode: int = 0


@dataclass(frozen=True)
class HeldContent:
    """A life of an object and what it held after call `call`. Name 0 is the texture that is there without one.

    `call` is None where no context that has the object called anything; `why` says why there are no parts.
    """

    kind: str
    name: int
    share_group: int
    label: str | None
    created_seq: int
    deleted_seq: int | None
    target: str
    format: str
    width: int
    height: int
    call: int | None
    parts: tuple[Part, ...] = ()
    why: str = ""


@dataclass(frozen=True)
class _PartRequest:
    # A part to ask the player for: how the player knows it, and where its bytes go.
    suffix: str
    face: str
    level: int
    size: tuple[int, int, int]
    format: str
    wanted: Mapping[str, object] = field(default_factory=dict)
    path: Path = field(default_factory=Path)


def held(trace: Trace, folder: Path, *, at: int | None = None, environment: Mapping[str, str]) -> Iterator[HeldContent]:
    """Yield every texture, renderbuffer and image of OpenVG with its content. With `at`, these are the objects that
    exist after that call, else all, just before their deletion or at the end.

    `folder` is used for files that are gone afterwards. Where nothing can play the recording, uploads are decoded, and
    each part says so. Raises what `player.play` raises otherwise.
    """
    end = len(trace.calls) if at is None else at + 1
    alive = "" if at is None else f"AND (deleted_seq IS NULL OR deleted_seq >= {end})"
    question = _OBJECTS.format(end=end, alive=alive)
    rows = trace.sql(question)
    objects: list[dict[str, Any]] = [dict(zip(rows.columns, row, strict=True)) for row in rows.fetchall()]
    wanted = {i: _wanted(trace, row, folder / f"{i}") for i, row in enumerate(objects)}
    answers, unplayed = _played(trace, objects, wanted, environment)
    uploads = _Uploads(trace)
    missing = {"why": unplayed or "the recording ended before"}
    for i, row in enumerate(objects):
        yield _content_of(row, wanted[i], lambda part: answers.get(str(part.path), missing), uploads)


def held_object(
    trace: Trace,
    folder: Path,
    player: Warm,
    *,
    at: int,
    kind: str,
    share_group: int,
    name: int,
    texels: bool = False,
    only: str | None = None,
) -> HeldContent:
    """Return what one object holds after call `at`, asked of a player that can go there.

    `kind` is texture, renderbuffer or vg_image, `only` the suffix of the one part that is wanted. With `texels` blocks
    are decoded, here or by the driver, and the samples of a pixel become parts of their own. Raises UsageError where
    there is no such object then.
    """
    alive = f"AND (deleted_seq IS NULL OR deleted_seq > {at}) AND name = {name} AND share_group = {share_group}"
    rows = [row for row in trace.sql(_OBJECTS.format(end=at + 1, alive=alive)).dicts() if row["class"] == kind]
    if not rows:
        raise UsageError(f"there is no {kind} {name} after call {at}", hint="the table resources has all lives")
    row = rows[-1]
    parts = [part for part in _wanted(trace, row, folder / "of") if only is None or part.suffix == only]
    uploads = _Uploads(trace)
    content = _content_of(row, parts, lambda part: player.content(row["call"], part.wanted, part.path), uploads)
    if not texels or kind != "texture":
        return content

    def each(part: _PartRequest) -> Part:
        wanted = {**part.wanted, "points": _EACH_TEXEL}
        made = _part(row, part, player.content(row["call"], wanted, part.path), None)
        part.path.unlink(missing_ok=True)
        return made

    shown = [_with_texels(part, asked, each) for part, asked in zip(content.parts, parts, strict=True)]
    return replace(content, parts=tuple(part for some in shown for part in some))


def _with_texels(part: Part, asked: _PartRequest, each: Callable[[_PartRequest], Part]) -> Iterator[Part]:
    """Yield a part with the pixels of its blocks, and the samples of its pixels."""
    if part.pixels is None and (part.blocks is not None or "COMPRESSED" in asked.format):
        pixels = picture(part, asked.format)
        if pixels is not None:
            yield replace(part, pixels=pixels[None], channels="rgba", source=f"{part.source}, decoded by drawtap")
            return
        made = each(asked)
        if made.pixels is None:
            yield replace(part, why=f"{asked.format} is not decoded by drawtap; by the driver: {made.why}")
            return
        lost = "; ".join(filter(None, (part.lost, made.lost)))
        by = "read back, decoded by the driver"
        yield replace(made, source=by, blocks=part.blocks, internal=part.internal, lost=lost)
        return
    yield part
    if "MULTISAMPLE" in asked.face:
        yield replace(each(asked), suffix=f"{part.suffix}-samples")


@dataclass(frozen=True)
class HeldBuffer:
    """The bytes of a buffer after call `call`, and what the context there reads from it (native/player/buffers.h)."""

    call: int
    content: bytes
    uses: Sequence[Mapping[str, Any]]


def buffer_life(trace: Trace, *, at: int, share_group: int, name: int) -> Mapping[str, Any]:
    """Return the row of `resources` of a buffer that is there after call `at`. Raises UsageError where none is."""
    where = f"class = 'buffer' AND name = {name} AND share_group = {share_group} AND created_seq <= {at}"
    query = f"SELECT * FROM resources WHERE {where} AND (deleted_seq IS NULL OR deleted_seq > {at})"
    rows = list(trace.sql(f"{query} ORDER BY created_seq DESC LIMIT 1").dicts())
    if not rows:
        raise UsageError(f"there is no buffer {name} after call {at}", hint="the table resources has all lives")
    return rows[0]


def held_buffer(trace: Trace, folder: Path, player: Warm, *, at: int, share_group: int, name: int) -> HeldBuffer:
    """Return what a buffer holds after call `at`, asked of a player that can go there.

    Where the context of that call has no such buffers, the last call before it whose context has counts. Raises
    UsageError where there is none, or where the driver does not hand the bytes over.
    """
    groups = {row["context"]: row["share_group"] for row in trace.core.table_rows(ContextRow)}
    call: int | None = at
    if groups.get(trace.calls[at].context) != share_group:
        contexts = ", ".join(str(context) for context, group in groups.items() if group == share_group)
        asked = f"SELECT max(seq) FROM calls WHERE seq <= {at} AND context IN ({contexts or -1})"
        call = trace.sql(asked).fetchall()[0][0]
    if call is None:
        raise UsageError(f"no context that has buffer {name} called anything before call {at}")
    file = folder / "buffer"
    wanted = {"class": "buffer", "name": name} | dict.fromkeys(("target", "face", "level", "width", "height"), 0)
    answer = player.content(call, {**wanted, "depth": 1, "points": 0}, file)
    if answer["why"]:
        raise UsageError(f"buffer {name} cannot be read after call {call}: {answer['why']}")
    uses = answer.get("uses", [])
    assert isinstance(uses, list)
    return HeldBuffer(call, file.read_bytes(), uses)


def _content_of(
    row: Mapping[str, Any],
    wanted: Sequence[_PartRequest],
    ask: Callable[[_PartRequest], Mapping[str, Any]],
    uploads: _Uploads,
) -> HeldContent:
    parts = []
    for part in wanted:
        parts.append(_part(row, part, ask(part), uploads))
        part.path.unlink(missing_ok=True)
    first = parts[0] if parts else Part("", 0, 0, 0)
    buffer = row["target"] == "GL_TEXTURE_BUFFER"
    why = "" if parts else "a buffer has its content" if buffer else "nothing was stored in it"
    return HeldContent(
        _CLASSES[row["class"]], row["name"], row["share_group"], row["label"], row["created_seq"],
        row["deleted_seq"], row["target"] or "", wanted[0].format if parts else "", first.width,
        first.height, row["call"], tuple(parts), why,
    )  # fmt: skip


_LEVEL = re.compile(r"(?:\.(GL_TEXTURE_CUBE_MAP_\w+))?\.levels\[(\d+)\]\.GL_TEXTURE_(\w+)$")


def _wanted(trace: Trace, row: Mapping[str, Any], stem: Path) -> list[_PartRequest]:
    size = (row["width"] or 0, row["height"] or 0, row["depth"] or 1)
    if row["call"] is None or not (row["width"] and row["height"]):
        return []
    if row["class"] != "texture":
        asked = _asked(row, (size[0], size[1], 1), row["format"])
        return [_PartRequest("", "", 0, size, row["format"] or "", asked, stem)]
    target = row["target"] or ""
    levels: dict[tuple[str, int], dict[str, Any]] = {}
    if row["name"]:
        for path, value in trace.state_index.at(row["call"], f"shares[{row['share_group']}].textures[{row['name']}].*"):
            if match := _LEVEL.search(path):
                levels.setdefault((match[1] or target, int(match[2])), {})[match[3]] = json.loads(value)
    else:
        known = {"WIDTH": size[0], "HEIGHT": size[1], "DEPTH": size[2], "INTERNAL_FORMAT": row["format"]}
        levels[(target, 0)] = known
    out = []
    for (face, level), known in sorted(levels.items()):
        width, height, depth = (int(known.get(n) or 0) for n in ("WIDTH", "HEIGHT", "DEPTH"))
        if not width or not height:
            continue
        form = str(known.get("INTERNAL_FORMAT") or row["format"])
        suffix = ("-" + face.removeprefix(_CUBE + "_").lower() if face != target else "") + (
            f"-level{level}" if level else ""
        )
        extent = (width, height, depth if target in _LAYERED else 1)
        named = {"target": _TARGETS.get(target, 0), "face": _TARGETS.get(face, 0), "level": level}
        asked = _asked(row, extent, form, **named)
        file = stem.with_name(f"{stem.name}{suffix}")
        out.append(_PartRequest(suffix, face, level, (width, height, max(depth, 1)), form, asked, file))
    return out


def _asked(row: Mapping[str, Any], size: tuple[int, int, int], form: str | None, **of: int) -> Mapping[str, object]:
    # The form that native/player/objects.h reads.
    return {
        "class": row["class"], "name": row["name"], "target": 0, "face": 0, "level": 0,
        "width": size[0], "height": size[1], "depth": size[2], "points": _points(form), **of,
    }  # fmt: skip


def _points(form: str | None) -> int:
    points = (_DEPTH if "DEPTH" in (form or "") else 0) | (_STENCIL if "STENCIL" in (form or "") else 0)
    return points or _COLOR


def _played(
    trace: Trace,
    objects: Sequence[Mapping[str, Any]],
    wanted: Mapping[int, Sequence[_PartRequest]],
    environment: Mapping[str, str],
) -> tuple[dict[str, Mapping[str, Any]], str]:
    from drawtap.replay import player

    asked = [
        {"call": objects[i]["call"], "what": part.wanted, "file": str(part.path)}
        for i, parts in wanted.items()
        for part in parts
    ]
    answers: dict[str, Mapping[str, Any]] = {}
    if not asked:
        return answers, ""
    folder = next(part.path.parent for parts in wanted.values() for part in parts)
    listed = folder / "wanted"
    listed.write_text(json.dumps({"objects": asked}), encoding="utf-8")
    stop = max(one["call"] for one in asked)
    rule = [] if trace.frame_end in (None, "auto") else ["--frame-end", str(trace.frame_end)]

    def on_line(line: Mapping[str, object]) -> None:
        if line["kind"] == "object":
            answers[str(line["path"])] = line

    try:
        arguments = ["--objects", str(listed), "--stop-at", str(stop), *rule]
        player.play(Path(trace.path), arguments, environment=environment, on_line=on_line)
    except UnavailableError as error:
        return answers, f"nothing here plays the recording: {error}"
    finally:
        listed.unlink(missing_ok=True)
    return answers, ""


def _part(row: Mapping[str, Any], part: _PartRequest, answer: Mapping[str, Any], uploads: _Uploads | None) -> Part:
    width, height, depth = part.size
    if answer["why"]:
        uploaded = uploads.part(row, part) if uploads and row["class"] == "texture" else None
        why = str(answer["why"])
        return uploaded or Part(part.suffix, width, height, depth, why=why)
    width, height, depth = (int(answer[n]) for n in ("width", "height", "depth"))
    raw = part.path.read_bytes()
    lost = str(answer["lost"])
    mode = int(answer["depth_mode"]) if "d" in str(answer["channels"]) else 0
    base = Part(part.suffix, width, height, depth, source="read back", lost=lost, depth_mode=mode)
    if answer["type"] == "compressed":
        return replace(base, blocks=raw, internal=int(answer["format"]))
    if answer["type"] == "vg":
        form = {"VG_BW_1": "VG_sL_8", "VG_A_1": "VG_A_8", "VG_A_4": "VG_A_8"}.get(part.format, part.format)
        try:
            image = vg_image(raw, width, height, form)
        except ValueError as error:
            return Part(part.suffix, width, height, 1, why=str(error))
        return replace(base, channels="rgba", pixels=image[None, ::-1])
    pixels, channels = _values(raw, (depth, height, width), str(answer["type"]), str(answer["channels"]))
    if pixels.dtype == np.dtype("<u2") and list(answer["bits"]) == [10, 10, 10, 2]:
        # Drivers spread such words over 16 bits; the steps are further apart than what rounding adds.
        most = np.array([1023, 1023, 1023, 3], "u4")[: pixels.shape[-1]]
        pixels = ((pixels * most + 32767) // 65535).astype("<u2") if answer["type"] == "<u2" else pixels
    if channels == "rgba" and "u1" not in str(answer["type"]):
        # Channels that the format has not are what drivers fill in.
        bits = [int(b) for b in answer["bits"]]
        kept = [i for i in range(4) if bits[i]] or list(range(4))
        pixels, channels = pixels[..., kept], "".join("rgba"[i] for i in kept)
    if answer["type"] == ">u2" and "16" not in part.format:
        lost = "; ".join(filter(None, (lost, "depth was read as 16 bits")))
    if row["class"] == "renderbuffer":
        pixels = pixels[:, ::-1]
    return replace(base, channels=channels, pixels=pixels, lost=lost)


def _values(raw: bytes, shape: tuple[int, int, int], kind: str, channels: str) -> tuple[Pixels, str]:
    if kind == "2_10_10_10":
        words = np.frombuffer(raw, "<u4").reshape(shape)
        planes = [(words >> shift) & ((1 << bits) - 1) for shift, bits in ((0, 10), (10, 10), (20, 10), (30, 2))]
        return np.stack(planes, axis=-1).astype("<u2"), channels
    if kind == "24_8":
        words = np.frombuffer(raw, "<u4").reshape(shape)
        return np.stack([words >> 8, words & 255], axis=-1), channels
    if kind == "32f_8":
        both = np.frombuffer(raw, np.dtype([("d", "<f4"), ("s", "<u4")])).reshape(shape)
        # Eight bits of stencil are whole numbers that a float has too.
        return np.stack([both["d"], (both["s"] & 255).astype("<f4")], axis=-1), channels
    values = np.frombuffer(raw, kind).reshape(*shape, len(channels))
    return values.astype(values.dtype.newbyteorder("<")), channels


class _Uploads:
    """The uploads of a recording by texture, looked up when one is first needed."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._found: dict[tuple[object, object], list[dict[str, Any]]] | None = None

    def part(self, row: Mapping[str, Any], part: _PartRequest) -> Part | None:
        """Return what the last upload of a whole level gave it; None where there is none, or it is not understood."""
        width, height, depth = part.size
        target = _TARGETS.get(part.face)
        mine = [
            u for u in self._of(row)
            if u["level"] == part.level and u["target"] == target and row["created_seq"] <= u["seq"] <= row["call"]
        ]  # fmt: skip
        whole = [u for u in mine if u["bytes"] and (u["width"], u["height"], u["depth"]) == part.size]
        if not whole:
            return None
        upload = whole[-1]
        later = sum(1 for u in mine if u["seq"] > upload["seq"])
        lost = [f"{later} later uploads of parts of it"] if later else []
        lost += ["what was drawn or copied into it"] if row["writes"] else []
        why = " and ".join(lost) + " may not be in it" if lost else ""
        if upload["type"] not in _EIGHT_BITS and not upload["compressed"]:
            why += ("; " if why else "") + f"{upload['type']} is shown as 8 bits a channel"
        base = Part(part.suffix, width, height, depth, source="upload", upload=upload["seq"], lost=why)
        try:
            content, image = uploaded(self._trace, upload)
        except (DrawtapError, ValueError):
            return None
        if image is None:
            call = self._trace.calls[upload["seq"]]
            return replace(base, blocks=content, internal=_number(call.args.get("internalformat")))
        return replace(base, channels="rgba", pixels=image[None])

    def _of(self, row: Mapping[str, Any]) -> list[dict[str, Any]]:
        if self._found is None:
            self._found = {}
            with Snapshot(self._trace, [_UPLOADS], VIEWS) as snapshot:
                columns, rows = snapshot.ask(_UPLOADS)
            for values in rows:
                upload = dict(zip(columns, values, strict=True))
                self._found.setdefault((upload["share_group"], upload["texture"]), []).append(upload)
        return self._found.get((row["share_group"], row["name"]), [])


def _number(value: object) -> int:
    return int(getattr(value, "value", 0))


_CHANNELS = {"GL_RED": "r", "GL_GREEN": "g", "GL_BLUE": "b", "GL_ALPHA": "a"}
_CONSTANTS = {"GL_ZERO": "0", "GL_ONE": "1", "0x0000": "0", "0x0001": "1"}  # their numbers have many names


#: The depth that a shader gets by GL_DEPTH_TEXTURE_MODE (GL_LUMINANCE, GL_INTENSITY, GL_ALPHA); else it is red.
_DEPTH_MODES = {0x1909: "ddd1", 0x8049: "dddd", 0x1906: "000d"}


def swizzle(trace: Trace, content: HeldContent) -> str:
    """Return what shaders get as red, green, blue and alpha of a texture: letters of channels, 0, 1."""
    if content.kind != "texture" or not content.name or content.call is None:
        return "rgba"
    path = f"shares[{content.share_group}].textures[{content.name}].*"
    variables = {of.rpartition(".")[2]: json.loads(value) for of, value in trace.state_index.at(content.call, path)}
    known = _CHANNELS | _CONSTANTS
    chosen = [known.get(str(variables.get(f"GL_TEXTURE_SWIZZLE_{letter.upper()}")), letter) for letter in "rgba"]
    held = next((part for part in content.parts if part.pixels is not None), None)
    if (
        held is not None
        and "s" in held.channels
        and variables.get("GL_DEPTH_STENCIL_TEXTURE_MODE") == "GL_STENCIL_INDEX"
    ):
        given = "s001"
    elif held is not None and "d" in held.channels:
        given = _DEPTH_MODES.get(held.depth_mode, "d001")
    else:
        given = "rgba"
    return "".join(given["rgba".index(one)] if one in "rgba" else one for one in chosen)


def picture(part: Part, form: str) -> npt.NDArray[np.uint8] | None:
    """Return the compressed blocks of a part as RGBA, one layer; None where they are not decoded here."""
    if part.blocks is None or part.depth > 1:
        return None
    try:
        return decompressed(part.blocks, part.width, part.height, form)
    except ValueError:
        return None
