"""Synthetic benchmarks: a program that draws, uploads and changes as much as a request says, and nothing else.

Kyostila's thesis (Graphics Quality Analysis Toolkit) leaves as future work to make benchmarks from measured content:
unlike a recording they can be given other parameters. A request is a value per frame for each of `FEATURES`; the
program is written as a recording of OpenGL ES 2 calls, which can be played, asked and exported as C.

Triangles lie in grids that cover rectangles of whole pixels, so that every pixel of a rectangle is drawn once, whatever
the number of triangles; rectangles are as large as the fragments ask for. All needs of draws are set up before the
first frame. So a frame has exactly the requested binds, uniforms and state changes, spread over its draws. Fractions
come out over the frames: 0.5 uploads a frame is one in every other.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from drawtap.errors import InputError, UsageError, did_you_mean, read_toml
from drawtap.formats.calls import CallWriter, Value

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

Points = npt.NDArray[np.float64]

#: The part of a request by which a measured value may be off.
TOLERANCE = 0.05


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature that a request may have. Values are means per frame; of `once` ones there is one value.

    `counts` are columns of the table `content` that make it up. Without them it is measured while the program is
    played.
    """

    name: str
    title: str
    unit: str = "count"
    counts: tuple[str, ...] = ()
    once: bool = False


FEATURES: Mapping[str, Feature] = {
    f.name: f
    for f in (
        Feature("draws", "render calls", counts=("draws",)),
        Feature("triangles", "triangles", counts=("triangles",)),
        Feature("vertices", "vertices", counts=("vertices",)),
        Feature("clears", "clears", counts=("clears",)),
        Feature("state_calls", "state calls (binds and uniforms among them)", counts=("state_calls",)),
        Feature("binds", "binds", counts=("binds",)),
        Feature("same_binds", "binds of what was bound", counts=("same_binds",)),
        Feature("uniforms", "uniform calls", counts=("uniforms",)),
        Feature("texture_uploads", "texture upload calls", counts=("texture_uploads",)),
        Feature("texels", "texel uploads", counts=("texels",)),
        Feature("texture_bytes", "texture data", "bytes", ("texture_bytes",)),
        Feature("buffer_uploads", "buffer upload calls", counts=("buffer_uploads",)),
        Feature("buffer_bytes", "buffer data", "bytes", ("buffer_bytes", "mapped_bytes")),
        Feature("texture_memory", "memory of textures", "bytes", once=True),
        Feature("fragments", "fragments"),
        Feature("texture_fetches", "texture fetches"),
        Feature("backface_culled", "triangles that face away"),
        Feature("frustum_culled", "triangles out of view"),
    )
}
#: Counts of a recording that a synthetic program does not repeat: who makes one of a recording is told.
NOT_REPEATED = (
    "client_bytes",
    "matrix_operations",
    "framebuffer_binds",
    "dispatches",
    "indirect_draws",
    "readbacks",
    "queries",
    "waits",
    "flushes",
    "compiles",
    "links",
    "created_objects",
    "deleted_objects",
    "list_calls",
    "path_segments",
)


@dataclass(frozen=True)
class Request:
    """The request for a synthetic program: `asked` by the names of FEATURES, on a surface of `width` x `height` pixels.

    It has a first frame, which loads, and `frames` more, for which the request holds. `textures`: how many share the
    memory; None: as fits. `title` says where the request comes from.
    """

    asked: Mapping[str, float]
    width: int = 640
    height: int = 480
    frames: int = 30
    textures: int | None = None
    title: str = ""

    def __post_init__(self) -> None:
        """Raise UsageError for what makes no sense."""
        for name, value in self.asked.items():
            if name not in FEATURES:
                hint = did_you_mean(name, FEATURES) or ", ".join(FEATURES)
                raise UsageError(f"there is no feature {name!r}", hint=hint)
            if not (isinstance(value, int | float) and 0 <= value < 1e12):
                raise UsageError(f"{name} = {value!r} makes no sense", hint="a number from 0 to 1e12")
        if not (1 <= self.width <= 8192 and 1 <= self.height <= 8192):
            raise UsageError(f"a surface of {self.width} x {self.height} pixels", hint="1 to 8192")
        if not 1 <= self.frames <= 100_000:
            raise UsageError(f"{self.frames} frames", hint="1 to 100000")
        if self.textures is not None and not 1 <= self.textures <= 4096:
            raise UsageError(f"{self.textures} textures", hint="1 to 4096")
        triangles = self.asked.get("triangles", 0)
        if triangles > 5_000_000:
            raise UsageError(f"{triangles:.0f} triangles a frame are too many", hint="0 to 5000000")
        for name, most in (("draws", 1e5), ("state_calls", 1e6), ("uniforms", 1e6), ("binds", 1e6), ("clears", 1e4)):
            if self.asked.get(name, 0) > most:
                raise UsageError(f"{self.asked[name]:.0f} {name} a frame are too many", hint=f"0 to {most:.0f}")
        if max(self.asked.get(n, 0) for n in ("texture_memory", "texture_bytes", "buffer_bytes")) > 1 << 30:
            raise UsageError(
                "more than 1 GiB of texture memory or of data a frame are too much",
                hint=f"{1 << 30} bytes at most, for each of texture_memory, texture_bytes and buffer_bytes",
            )
        if self.asked.get("backface_culled", 0) + self.asked.get("frustum_culled", 0) > triangles:
            raise UsageError(
                "more triangles are to be culled than there are",
                hint=f"backface_culled and frustum_culled together {triangles:.0f} at most",
            )


@dataclass(frozen=True)
class SyntheticTrace:
    """A synthetic program as a recording. `notes` say what of a request contradicts itself."""

    path: Path
    calls: int
    notes: tuple[str, ...] = ()


# ---- requests -------------------------------------------------------------------------------------------------------

_SETTINGS = ("width", "height", "frames", "textures")


def read(file: Path) -> Request:
    """Return the request that a TOML file holds: `width`, `height`, `frames`, `textures`, and a table `features`.

    `overdraw` among the features is fragments by the pixels of the surface. Raises InputError for another file.
    """
    data = read_toml(file)
    hint = "width = 640, height = 480, frames = 30, [features] draws = 100"
    features = data.pop("features", None)
    if not isinstance(features, Mapping) or not features:
        raise InputError(f"{file} has no features", hint=hint)
    unknown = [key for key in data if key not in (*_SETTINGS, "title")]
    if unknown:
        raise InputError(f"{file} has unknown words: {', '.join(unknown)}", hint=hint)
    for key, value in data.items():
        if key != "title" and (not isinstance(value, int) or isinstance(value, bool)):
            raise InputError(f"{file}: {key} = {value!r} is no whole number", hint=hint)
    for name, value in features.items():
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise InputError(f"{file}: {name} = {value!r} is no number", hint=hint)
    made = with_features(Request({}, title=str(data.pop("title", file.stem)), **data), features)
    if not made.asked:
        raise InputError(f"{file} has no features", hint=hint)
    return made


def with_features(base: Request, features: Mapping[str, float]) -> Request:
    """Return a request with other values; `overdraw` becomes fragments."""
    asked = {**base.asked, **features}
    if "overdraw" in asked:
        asked["fragments"] = asked.pop("overdraw") * base.width * base.height
    return replace(base, asked=asked)


def text(request: Request) -> str:
    """Return a request as the TOML that `read` reads."""
    lines = [f"title = {_quoted(request.title)}"] if request.title else []
    lines += [f"width = {request.width}", f"height = {request.height}", f"frames = {request.frames}"]
    lines += [f"textures = {request.textures}"] if request.textures else []
    lines += ["", "[features]  # means per frame; texture_memory in all"]
    for name, value in request.asked.items():
        shown = int(value) if float(value).is_integer() else round(value, 6)
        lines.append(f"{name} = {shown}")
    return "\n".join(lines) + "\n"


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'


# ---- geometry: how many triangles cover how many pixels -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Draw:
    mode: str
    first: int
    count: int
    fragments: int


def grid(x: int, y: int, width: int, height: int, triangles: int) -> Points:
    """Return the corners of `triangles` (2 at least) that cover a rectangle of whole pixels once: (3 n, 2), in pixels.

    Rows begin and end between pixels, so that what differs from row to row leaves no gap.
    """
    quads = triangles // 2
    rows = int(np.clip(round((quads * height / width) ** 0.5), 1, min(quads, height)))
    columns = np.full(rows, quads // rows) + (np.arange(rows) < quads % rows)
    row = np.repeat(np.arange(rows), columns)
    column = np.arange(quads) - np.repeat(np.cumsum(columns) - columns, columns)
    of = columns[row]
    edges = y + np.round(np.arange(rows + 1) * height / rows)
    x0, x1 = x + width * column / of, x + width * (column + 1) / of
    y0, y1 = edges[row], edges[row + 1]
    corners = np.stack([x0, y0, x1, y0, x1, y1, x0, y0, x1, y1, x0, y1], axis=1).reshape(-1, 2)
    if triangles % 2:
        a, c, d = corners[-6], corners[-4], corners[-1]
        middle = (c + d) / 2
        corners = np.concatenate([corners[:-3], [a, c, middle], [a, middle, d]])
    return corners


def strip(x: int, y: int, width: int, height: int, triangles: int) -> Points:
    """Return the corners of a strip of triangles that covers a rectangle once: (n + 2, 2), in pixels."""
    corners = triangles + 2
    upper, lower = -(-corners // 2), corners // 2
    found = np.zeros((corners, 2))
    found[0::2, 0] = x + width * np.arange(upper) / (upper - 1)
    found[1::2, 0] = x + width * np.arange(lower) / max(lower - 1, 1)
    found[0::2, 1], found[1::2, 1] = y + height, y
    return found


def rectangle(area: float, width: int, height: int) -> tuple[int, int]:
    """Return the sides of a rectangle of about `pixels` pixels (1 at least), shaped like the surface."""
    wanted = max(round(area), 1)
    usual = min(max(round((wanted * width / height) ** 0.5), 1), width)
    tried = [(w, min(max(round(wanted / w), 1), height)) for w in range(max(usual - 12, 1), min(usual + 12, width) + 1)]
    return min(tried, key=lambda sides: abs(sides[0] * sides[1] - wanted))


def _alone(area: float, width: int, height: int) -> tuple[Points, int]:
    """Return one triangle that covers about so many pixels, and how many it does."""
    if area > width * height / 2:
        w = min(max(round(area / height), 1), width)
        return np.array([[-2.0 * w, height / 2], [w, -height], [w, 2 * height]]), w * height
    # A corner; its sides end at quarters of a pixel, so that no centre of a pixel lies on the third one.
    w = min((2 * area * width / height) ** 0.5, width)
    h = min(2 * area / w, height)
    w, h = np.floor(w) + 0.375, np.floor(h) + 0.375
    rows = np.arange(int(h) + 1) + 0.5
    inside = np.clip(np.ceil(w * (1 - rows / h) - 0.5), 0, None)
    return np.array([[0.0, 0.0], [w, 0.0], [0.0, h]]), int(inside.sum())


_NOTHING = 0.25  # side of what covers no centre of a pixel


@dataclass
class _Geometry:
    """The corners of all draws, in the order in which they stand in the buffer."""

    width: int
    height: int
    corners: list[Points] = field(default_factory=list)
    count: int = 0
    turn: int = 0

    def add(self, mode: str, corners: Points, fragments: int) -> _Draw:
        draw = _Draw(mode, self.count, len(corners), fragments)
        self.corners.append(corners)
        self.count += len(corners)
        return draw

    def draw(self, visible: int, away: int, outside: int, area: float, *, as_strip: bool) -> _Draw:
        """Add a draw of so many triangles that covers about `area` pixels."""
        if as_strip and visible:
            corners, covered = self._strip(visible, area)
            return self.add("GL_TRIANGLE_STRIP", corners, covered)
        parts: list[Points] = []
        covered = 0
        for triangles, pixels in self._layers(visible, area):
            corners, covers = self._layer(triangles, pixels)
            parts.append(corners)
            covered += covers
        if away:
            parts.append(np.tile([[2.0, 2.0], [2.0, 10.0], [10.0, 2.0]], (away, 1)))
        if outside:
            beyond = 2.0 * self.width
            parts.append(np.tile([[beyond, 0.0], [beyond + 8, 0.0], [beyond, 8.0]], (outside, 1)))
        # A draw without a triangle is a draw: of one vertex.
        return self.add("GL_TRIANGLES", np.concatenate(parts) if parts else np.zeros((1, 2)), covered)

    def _layers(self, triangles: int, area: float) -> Iterable[tuple[int, float]]:
        whole = self.width * self.height
        layers = min(max(int(np.ceil(area / whole - 1e-9)), 1), triangles) if triangles else 0
        singles = max(2 * layers - triangles, 0)
        left, rest = triangles, area
        for number in range(layers):
            remaining = layers - number
            share = min(rest / remaining, whole)
            mine = 1 if number < singles else left // remaining
            yield mine, share
            left, rest = left - mine, rest - share

    def _place(self, width: int, height: int) -> tuple[int, int]:
        self.turn += 1
        free_x, free_y = self.width - width, self.height - height
        return self.turn * 97 % (free_x + 1), self.turn * 61 % (free_y + 1)

    def _layer(self, triangles: int, area: float) -> tuple[Points, int]:
        if area < 0.5:
            small = np.array([[0.0, 0.0], [_NOTHING, 0.0], [0.0, _NOTHING]])
            return np.tile(small, (triangles, 1)), 0
        if triangles == 1:
            return _alone(area, self.width, self.height)
        w, h = rectangle(area, self.width, self.height)
        x, y = self._place(w, h)
        return grid(x, y, w, h, triangles), w * h

    def _strip(self, triangles: int, area: float) -> tuple[Points, int]:
        if area < 0.5:
            return strip(0, 0, 1, 1, triangles) * _NOTHING, 0
        if triangles == 1:
            return _alone(area, self.width, self.height)
        w, h = rectangle(min(area, self.width * self.height), self.width, self.height)
        return strip(*self._place(w, h), w, h, triangles), w * h

    def bytes(self) -> bytes:
        """Return what the buffer holds: two floats a corner, from -1 to 1 over the surface."""
        if not self.corners:
            return b""
        scaled = np.concatenate(self.corners) * (2.0 / np.array([self.width, self.height])) - 1.0
        return scaled.astype("<f4").tobytes()


def _shares(total: int, parts: int) -> list[int]:
    return [total * (i + 1) // parts - total * i // parts for i in range(parts)] if parts else []


def _draws(geometry: _Geometry, counts: Mapping[str, int], area: float, vertices: float | None) -> list[_Draw]:
    """Return the draws of one frame."""
    number, triangles = counts["draws"], counts["triangles"]
    away, outside = counts["backface_culled"], counts["frustum_culled"]
    if not number:
        return []
    strips, in_strips = _strips(number, triangles - away - outside, triangles, vertices)
    lists = number - strips
    visible = triangles - away - outside - in_strips
    plan = [(n, 0, 0, True) for n in _shares(in_strips, strips)]
    split = zip(_shares(visible, lists), _shares(away, lists), _shares(outside, lists), strict=True)
    plan += [(n, a, o, False) for n, a, o in split]
    seen = sum(bool(n) for n, _, _, _ in plan)
    found, rest = [], area
    for n, a, o, as_strip in plan:
        share = rest / seen if n and seen else 0.0
        draw = geometry.draw(n, a, o, share, as_strip=as_strip)
        seen -= bool(n)
        rest = max(rest - draw.fragments, 0.0)
        found.append(draw)
    return found


def _strips(draws: int, visible: int, triangles: int, vertices: float | None) -> tuple[int, int]:
    # A strip of n triangles has n + 2 vertices instead of 3 n: so many triangles in so many strips save the rest.
    if vertices is None or not triangles:
        return 0, 0
    saved = 3 * triangles - vertices
    if saved <= 0.01 * vertices:
        return 0, 0
    number = min(max(round(draws * saved / (2 * triangles)), 1), draws)
    wanted = round(saved / 2) + number
    if number == draws or wanted >= visible:
        return (draws, visible) if visible == triangles else (max(draws - 1, 1), visible)
    return number, max(wanted, number)


# ---- frames ---------------------------------------------------------------------------------------------------------

_BYTES_A_TEXEL = {1: "GL_LUMINANCE", 2: "GL_LUMINANCE_ALPHA", 3: "GL_RGB", 4: "GL_RGBA"}


@dataclass(frozen=True, slots=True)
class _Textures:
    count: int = 0
    width: int = 0
    height: int = 0
    texel: int = 4
    upload: tuple[int, int] = (0, 0)
    mixed: float = 0.0  # bytes a texel of uploads that take turns between 4 and 2, as no format alone has so many

    @property
    def format(self) -> str:
        return _BYTES_A_TEXEL[self.texel]


def _textures(request: Request) -> _Textures:
    asked = request.asked
    uploads, texels, data = (asked.get(n, 0.0) for n in ("texture_uploads", "texels", "texture_bytes"))
    texels = texels or data / 4
    uploads = uploads or (1.0 if texels else 0.0)
    bytes_each = data / texels if texels and data else 4.0
    texel = min(max(round(bytes_each), 1), 4)
    mixed = bytes_each if 2 < bytes_each < 4 and abs(bytes_each / texel - 1) > 0.01 else 0.0
    texel = 4 if mixed else texel
    each = round(texels / uploads) if uploads else 0
    upload = (each, 1) if each <= 256 else rectangle(each, 8192, 8192)
    memory = asked.get("texture_memory", 0.0)
    if not (memory or uploads or asked.get("texture_fetches")):
        return _Textures()
    if not memory:
        count, side = request.textures or 1, 64
        return _Textures(count, max(side, upload[0]), max(side, upload[1]), texel, upload, mixed)
    least = max(upload[0], 1) * max(upload[1], 1) * texel
    count = request.textures or max(min(round(memory / (256 * 256 * texel)), 16), 1)
    count = max(min(count, int(memory // least)), 1)
    pixels = max(round(memory / (count * texel)), 1)
    width = min(max(round(pixels**0.5), upload[0], 1), 4096)
    return _Textures(count, width, max(round(pixels / width), upload[1], 1), texel, upload, mixed)


class _Frames:
    """What each frame has of each count: whole numbers whose mean is what is asked for."""

    def __init__(self, asked: Mapping[str, float]) -> None:
        self._asked = asked

    def at(self, frame: int) -> dict[str, int]:
        number = max(frame, 1)  # the first frame has what the second has, and loads besides
        found = {}
        for name in FEATURES:
            value = self._asked.get(name, 0.0)
            steps = value < 100  # more than that: half of one is less than half a percent
            found[name] = int(number * value + 0.5) - int((number - 1) * value + 0.5) if steps else round(value)
        found["triangles"] = max(found["triangles"], found["backface_culled"] + found["frustum_culled"])
        return found


def make(request: Request, path: Path) -> SyntheticTrace:
    """Write the recording `path` of a program that meets the request; what stands there is replaced.

    Raises UsageError where nothing is drawn or changed at all.
    """
    asked = dict(request.asked)
    if "texels" in asked or "texture_bytes" in asked:
        asked.setdefault("texture_uploads", 1.0 if asked.get("texels") or asked.get("texture_bytes") else 0.0)
    if asked.get("buffer_bytes"):
        asked.setdefault("buffer_uploads", 1.0)
        asked["buffer_uploads"] = asked["buffer_uploads"] or 1.0  # mapped memory has bytes and no uploads
    if asked.get("triangles") or asked.get("fragments"):
        asked.setdefault("draws", 1.0)
        asked.setdefault("triangles", 2 * asked["draws"])
    if not any(asked.values()):
        raise UsageError("no feature is requested", hint=f"some of {', '.join(FEATURES)}")
    return _Program(replace(request, asked=asked), path).write()


class _Program:
    """Writes the calls of a program."""

    def __init__(self, request: Request, path: Path) -> None:
        self.request, self.path = request, path
        self.asked = request.asked
        self.out = CallWriter()
        self.textures = _textures(request)
        self.geometry = _Geometry(request.width, request.height)
        self.area = float(self.asked.get("fragments", request.width * request.height))
        self.known: dict[tuple[int, ...], list[_Draw]] = {}
        self.notes: list[str] = []
        self.fetches = self._fetches()
        self.program, self.texture, self.turn, self.element = 0, 0, 0, 0
        self.owed = 0.0  # fetches that frames so far lack
        self.owed_bytes = 0.0  # of texels, that uploads so far lack
        self.over = dict.fromkeys(("binds", "state_calls"), 0)

    def write(self) -> SyntheticTrace:
        frames = _Frames(self.asked)
        plans = [frames.at(number) for number in range(self.request.frames + 1)]
        draws = [self._draws_of(plan) for plan in plans]
        self._load(plans)
        for plan, these in zip(plans, draws, strict=True):
            self._frame(plan, these)
        self.out.save(self.path)
        for name, count in self.over.items():
            if count and self.asked.get(name) is not None:
                self.notes.append(f"{count} {name.replace('_', ' ')} more than asked for are needed for the rest")
        return SyntheticTrace(self.path, self.out.calls, tuple(self.notes))

    def _fetches(self) -> tuple[int, float]:
        """Return how many fetches the shader of most fragments has, and the share of those that have one more."""
        if not self.textures.count:
            return 0, 0.0
        wanted = self.asked.get("texture_fetches")
        if wanted is None:
            return 1, 0.0
        mean = wanted / self.area if self.area else 0.0
        if mean > 64:
            self.notes.append(f"{mean:.0f} fetches a fragment were requested; shaders here have 64 at most")
        whole = min(int(mean + 1e-9), 64)
        rest = mean - whole
        return (whole + 1, 0.0) if rest > 0.995 else (whole, rest if rest > 0.005 and whole < 64 else 0.0)

    def _draws_of(self, plan: Mapping[str, int]) -> list[_Draw]:
        key = tuple(plan[n] for n in ("draws", "triangles", "backface_culled", "frustum_culled"))
        if key not in self.known:
            vertices = self.asked.get("vertices")
            if vertices is not None and self.asked.get("triangles"):
                vertices = vertices * plan["triangles"] / self.asked["triangles"]
            self.known[key] = _draws(self.geometry, plan, self.area, vertices)
        return self.known[key]

    # ---- set-up

    def _load(self, plans: Sequence[Mapping[str, int]]) -> None:
        call, request = self.out.call, self.request
        display, config, surface, context = 0x5000_0000_0010, 0x5000_0000_0020, 0x5000_0000_0030, 0x5000_0000_0040
        self.display, self.surface = display, surface
        call("eglGetDisplay", 0, result=display)
        call("eglInitialize", display, None, None, result=1)
        wanted: list[Value] = ["EGL_SURFACE_TYPE", "EGL_PBUFFER_BIT", "EGL_RENDERABLE_TYPE", "EGL_OPENGL_ES2_BIT"]
        wanted += ["EGL_RED_SIZE", 8, "EGL_GREEN_SIZE", 8, "EGL_BLUE_SIZE", 8, "EGL_ALPHA_SIZE", 8, "EGL_NONE"]
        self._choose(display, wanted, config)
        call("eglBindAPI", "EGL_OPENGL_ES_API", result=1)
        size: list[Value] = ["EGL_WIDTH", request.width, "EGL_HEIGHT", request.height, "EGL_NONE"]
        call("eglCreatePbufferSurface", display, config, size, result=surface)
        call("eglCreateContext", display, config, None, ["EGL_CONTEXT_CLIENT_VERSION", 2, "EGL_NONE"], result=context)
        call("eglMakeCurrent", display, surface, surface, context, result=1)
        call("glViewport", 0, 0, request.width, request.height)
        call("glPixelStorei", "GL_UNPACK_ALIGNMENT", 1)
        call("glClearColor", 0.05, 0.06, 0.08, 1.0)
        call("glClear", "GL_COLOR_BUFFER_BIT")
        if self.asked.get("backface_culled"):
            call("glEnable", "GL_CULL_FACE")
        self._load_programs()
        self._load_textures()
        self._load_buffers(plans)

    def _choose(self, display: int, wanted: Sequence[Value], config: int) -> None:
        # What was chosen is an array, and how many there are another: both come back.
        self.out.call("eglChooseConfig", display, wanted, [config], 1, [1], result=1)

    def _load_programs(self) -> None:
        call = self.out.call
        few, more = self.fetches
        self.programs = []
        for number, fetches in enumerate([few, few + 1] if more else [few]):
            program, shaders = 3 * number + 1, (3 * number + 2, 3 * number + 3)
            call("glCreateProgram", result=program)
            for shader, kind, source in (
                (shaders[0], "GL_VERTEX_SHADER", _VERTEX),
                (shaders[1], "GL_FRAGMENT_SHADER", _fragment(fetches)),
            ):
                call("glCreateShader", kind, result=shader)
                call("glShaderSource", shader, 1, [source], None)
                call("glCompileShader", shader)
                call("glAttachShader", program, shader)
            call("glBindAttribLocation", program, 0, "place")
            call("glLinkProgram", program)
            call("glUseProgram", program)
            call("glGetUniformLocation", program, "colour", result=0)
            call("glUniform4f", 0, 0.2, 0.4, 0.6, 1.0)
            if fetches:
                call("glGetUniformLocation", program, "image", result=1)
                call("glUniform1i", 1, 0)
            self.programs.append(program)
        self.program = self.programs[-1]

    def _load_textures(self) -> None:
        call, textures = self.out.call, self.textures
        if not textures.count:
            return
        names = list(range(1, textures.count + 1))
        call("glGenTextures", len(names), filled=names)
        content = _noise(textures.width * textures.height * textures.texel, 1)
        for name in names:
            call("glBindTexture", "GL_TEXTURE_2D", name)
            for key in ("GL_TEXTURE_MIN_FILTER", "GL_TEXTURE_MAG_FILTER"):
                call("glTexParameteri", "GL_TEXTURE_2D", key, "GL_LINEAR")
            for key in ("GL_TEXTURE_WRAP_S", "GL_TEXTURE_WRAP_T"):
                call("glTexParameteri", "GL_TEXTURE_2D", key, "GL_CLAMP_TO_EDGE")
            size = (textures.width, textures.height)
            form = (textures.format, "GL_UNSIGNED_BYTE")
            call("glTexImage2D", "GL_TEXTURE_2D", 0, textures.format, *size, 0, *form, content)
        self.texture = names[-1]

    def _load_buffers(self, plans: Sequence[Mapping[str, int]]) -> None:
        call = self.out.call
        self.sizes = [plan["buffer_bytes"] // plan["buffer_uploads"] if plan["buffer_uploads"] else 0 for plan in plans]
        # Uploads are given the frames that have one: a mean of bytes lies over all frames.
        total, uploads = self.asked.get("buffer_bytes", 0.0), self.asked.get("buffer_uploads", 0.0)
        self.upload_bytes = round(total / uploads) if uploads else 0
        self.content = self.geometry.bytes()
        self.content += bytes(max(self.upload_bytes - len(self.content), 0))
        call("glGenBuffers", 3, filled=[1, 2, 3])
        call("glBindBuffer", "GL_ARRAY_BUFFER", 1)
        call("glBufferData", "GL_ARRAY_BUFFER", len(self.content), self.content, "GL_STATIC_DRAW")
        call("glVertexAttribPointer", 0, 2, "GL_FLOAT", 0, 0, 0)
        call("glEnableVertexAttribArray", 0)

    # ---- frames

    def _frame(self, plan: Mapping[str, int], draws: Sequence[_Draw]) -> None:
        call = self.out.call
        for _ in range(plan["clears"]):
            call("glClear", "GL_COLOR_BUFFER_BIT")
        programs = self._programs_of(draws)
        switches = sum(a != b for a, b in zip([self.program, *programs], programs, strict=False))
        extra = self._extra(plan, switches)
        self._upload(plan)
        places = max(len(draws), 1)
        spread = {name: _shares(count, places) for name, count in extra.items()}
        for place in range(places):
            if place < len(programs) and programs[place] != self.program:
                self.program = programs[place]
                call("glUseProgram", self.program)
            for name, shares in spread.items():
                for _ in range(shares[place]):
                    getattr(self, f"_{name}")()
            if place < len(draws):
                draw = draws[place]
                call("glDrawArrays", draw.mode, draw.first, draw.count)
        call("eglSwapBuffers", self.display, self.surface, result=1)

    def _extra(self, plan: Mapping[str, int], switches: int) -> dict[str, int]:
        same = min(plan["same_binds"], plan["binds"]) if "binds" in self.asked else plan["same_binds"]
        binds = plan["binds"] - switches - same
        self.over["binds"] += max(-binds, 0) if "binds" in self.asked else 0
        binds = max(binds, 0)
        state = plan["state_calls"] - plan["uniforms"] - binds - same - switches
        self.over["state_calls"] += max(-state, 0)
        return {"bind": binds, "bind_again": same, "uniform": plan["uniforms"], "change": max(state, 0)}

    def _programs_of(self, draws: Sequence[_Draw]) -> list[int]:
        _, more = self.fetches
        if not more or not draws:
            return [self.programs[0]] * len(draws)
        total = sum(d.fragments for d in draws)
        self.owed += more * total
        # Those that come first are of the program that is current: one change a frame is enough.
        first_has_more = self.program == self.programs[1]
        target = self.owed if first_has_more else total - self.owed
        sums = np.concatenate([[0], np.cumsum([d.fragments for d in draws])])
        at = int(np.argmin(np.abs(sums - target)))
        with_more = int(sums[at]) if first_has_more else total - int(sums[at])
        self.owed -= with_more
        one, other = (self.programs[1], self.programs[0]) if first_has_more else (self.programs[0], self.programs[1])
        return [one] * at + [other] * (len(draws) - at)

    def _upload(self, plan: Mapping[str, int]) -> None:
        call, textures = self.out.call, self.textures
        width, height = textures.upload
        for _ in range(plan["texture_uploads"]):
            self.turn += 1
            texel, type_ = self._upload_type(width * height)
            content = _noise(width * height * texel, self.turn % 4)
            form = (textures.format, type_)
            call("glTexSubImage2D", "GL_TEXTURE_2D", 0, 0, 0, width, height, *form, content)
        for _ in range(plan["buffer_uploads"]):
            content = self.content[: self.upload_bytes]
            call("glBufferSubData", "GL_ARRAY_BUFFER", 0, len(content), content)

    def _upload_type(self, texels: int) -> tuple[int, str]:
        """Return how many bytes a texel of the next upload has, and their type."""
        if not self.textures.mixed:
            return self.textures.texel, "GL_UNSIGNED_BYTE"
        self.owed_bytes += self.textures.mixed * texels
        texel = 4 if self.owed_bytes >= 3 * texels else 2
        self.owed_bytes -= texel * texels
        return texel, "GL_UNSIGNED_BYTE" if texel == 4 else "GL_UNSIGNED_SHORT_4_4_4_4"

    def _bind(self) -> None:
        if self.textures.count > 1:
            self.texture = self.texture % self.textures.count + 1
            self.out.call("glBindTexture", "GL_TEXTURE_2D", self.texture)
        else:  # what no draw reads
            self.element = 5 - self.element if self.element else 2
            self.out.call("glBindBuffer", "GL_ELEMENT_ARRAY_BUFFER", self.element)

    def _bind_again(self) -> None:
        self.out.call("glUseProgram", self.program)

    def _uniform(self) -> None:
        self.turn += 1
        shade = self.turn % 256 / 256
        self.out.call("glUniform4f", 0, shade, 1 - shade, 0.5, 1.0)

    def _change(self) -> None:
        # Values that no draw here uses and that are never the ones before.
        self.turn += 1
        value = self.turn % 1024 / 1024
        if self.turn % 2:
            self.out.call("glBlendColor", value, value, value, 1.0)
        else:
            self.out.call("glPolygonOffset", value, 1.0)


@functools.lru_cache(8)
def _noise(count: int, seed: int) -> bytes:
    return np.random.default_rng(seed).integers(0, 256, count, dtype=np.uint8).tobytes()


_VERTEX = """attribute vec2 place;
varying vec2 at;
void main() {
  at = place * 0.5 + 0.5;
  gl_Position = vec4(place, 0.0, 1.0);
}
"""


def _fragment(fetches: int) -> str:
    lines = [
        f"  shade += {1 / fetches:.6f} * texture2D(image, at + vec2({0.013 * i:.3f}, {0.007 * i:.3f}));"
        for i in range(fetches)
    ]
    sampler = ["uniform sampler2D image;"] if fetches else []
    return "\n".join(
        [
            "precision mediump float;",
            "varying vec2 at;",
            "uniform vec4 colour;",
            *sampler,
            "void main() {",
            "  vec4 shade = 0.5 * colour + vec4(0.2 * at, 0.0, 0.0);",
            *lines,
            "  gl_FragColor = vec4(shade.rgb * 0.6, 1.0);",
            "}",
            "",
        ]
    )


# ---- measured by the calls alone ------------------------------------------------------------------------------------


def counted(trace: Trace, frames: range | None = None) -> dict[str, float]:
    """Return the features of a recording that its calls tell, as means over `frames` (None: all but those that load).

    Raises UsageError where there are no such frames.
    """
    from drawtap.analysis import content

    rows = content.frame_stats(trace)
    chosen = rows[content.loading(rows) :] if frames is None else rows[frames.start : frames.stop]
    if not chosen:
        raise UsageError(f"{trace.path.name} has no such frames", hint="drawtap frames lists them")
    found = {}
    for feature in FEATURES.values():
        if feature.counts:
            total = sum(_float(row.get(name)) for row in chosen for name in feature.counts)
            found[feature.name] = total / len(chosen)
    found["texture_memory"] = float(content.texture_memory(trace))
    return found


def not_repeated(trace: Trace, frames: range | None = None) -> dict[str, float]:
    """Return what the frames of a recording have beside the features, as means: titles with values."""
    from drawtap.analysis import content

    rows = content.frame_stats(trace)
    chosen = rows[content.loading(rows) :] if frames is None else rows[frames.start : frames.stop]
    found = {}
    if chosen and (points := _points_and_lines(trace, chosen)):
        found["draws of points and lines"] = points / len(chosen)
    for name in NOT_REPEATED:
        mean = sum(_float(row.get(name)) for row in chosen) / max(len(chosen), 1)
        if mean:
            found[content.SERIES[name][0]] = mean
    return found


def _points_and_lines(trace: Trace, chosen: Sequence[Mapping[str, object]]) -> int:
    """Return how many draws of some frames draw points or lines: a synthetic program draws triangles alone."""
    modes = "starts_with(mode, 'GL_POINT') OR starts_with(mode, 'GL_LINE')"
    numbers = f"frame BETWEEN {chosen[0]['frame']} AND {chosen[-1]['frame']}"
    question = f"SELECT count(*) FROM draws WHERE kind = 'draw' AND ({modes}) AND {numbers}"
    return int(trace.sql(question).fetchall()[0][0])


def _float(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
