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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from drawtap.analysis.synthesis_geometry import Draw, Geometry, draws_of, rectangle, shares
from drawtap.analysis.synthesis_request import FEATURES, Request
from drawtap.errors import UsageError
from drawtap.formats.calls import CallWriter, Value


@dataclass(frozen=True)
class SyntheticTrace:
    """A synthetic program as a recording. `notes` say what of a request contradicts itself."""

    path: Path
    calls: int
    notes: tuple[str, ...] = ()


_BYTES_A_TEXEL = {1: "GL_LUMINANCE", 2: "GL_LUMINANCE_ALPHA", 3: "GL_RGB", 4: "GL_RGBA"}


@dataclass(frozen=True, slots=True)
class _Textures:
    count: int = 0
    width: int = 0
    height: int = 0
    texel: int = 4
    upload: tuple[int, int] = (0, 0)
    mixed: float = 0.0  # bytes a texel of uploads that take turns between 4 and 2, as no format alone has this number

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
    """The share of each frame in each count: whole numbers whose mean is the wanted one."""

    def __init__(self, asked: Mapping[str, float]) -> None:
        self._asked = asked

    def at(self, frame: int) -> dict[str, int]:
        number = max(frame, 1)  # the first frame has what the second has, and loads besides
        counts = {}
        for name in FEATURES:
            value = self._asked.get(name, 0.0)
            steps = value < 100  # more than that: half of one is less than half a percent
            counts[name] = int(number * value + 0.5) - int((number - 1) * value + 0.5) if steps else round(value)
        counts["triangles"] = max(counts["triangles"], counts["backface_culled"] + counts["frustum_culled"])
        return counts


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
        self.geometry = Geometry(request.width, request.height)
        self.area = float(self.asked.get("fragments", request.width * request.height))
        self.known: dict[tuple[int, ...], list[Draw]] = {}
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

    def _draws_of(self, plan: Mapping[str, int]) -> list[Draw]:
        key = tuple(plan[n] for n in ("draws", "triangles", "backface_culled", "frustum_culled"))
        if key not in self.known:
            vertices = self.asked.get("vertices")
            if vertices is not None and self.asked.get("triangles"):
                vertices = vertices * plan["triangles"] / self.asked["triangles"]
            self.known[key] = draws_of(self.geometry, plan, self.area, vertices)
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
        # The chosen configs are an array, and their number is another: both come back.
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

    def _frame(self, plan: Mapping[str, int], draws: Sequence[Draw]) -> None:
        call = self.out.call
        for _ in range(plan["clears"]):
            call("glClear", "GL_COLOR_BUFFER_BIT")
        programs = self._programs_of(draws)
        switches = sum(a != b for a, b in zip([self.program, *programs], programs, strict=False))
        extra = self._extra(plan, switches)
        self._upload(plan)
        places = max(len(draws), 1)
        spread = {name: shares(count, places) for name, count in extra.items()}
        for place in range(places):
            if place < len(programs) and programs[place] != self.program:
                self.program = programs[place]
                call("glUseProgram", self.program)
            for name, times in spread.items():
                for _ in range(times[place]):
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

    def _programs_of(self, draws: Sequence[Draw]) -> list[int]:
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
