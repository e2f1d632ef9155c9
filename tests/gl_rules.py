"""What each rule of the checklist finds in programs of OpenGL and OpenVG, and does not find in others like them."""

from __future__ import annotations

import struct
from collections.abc import Callable

from scene import Scene
from writer import Data

Body = Callable[[Scene, int], object]
Case = tuple[Callable[[], Scene], Callable[[], Scene]]
CASES: dict[str, Case] = {}
FRAMES = 12
ONE = struct.pack("<I", 1)
PIXELS = bytes(range(256)) * 4


def each(
    body: Body, *, start: Callable[[Scene], object] | None = None, count: int = FRAMES, ns: int = 16_000_000
) -> Scene:
    """A program that draws frames, after `start`."""
    scene = Scene().eglMakeCurrent(0x10, 0x20, 0x20, 0x30, result=1)
    if start:
        start(scene)
    return scene.frames(count, body, ns=ns)


def case(rule: str, bad: Callable[[], Scene], good: Callable[[], Scene]) -> None:
    CASES[rule] = (bad, good)


def draw(s: Scene, count: int = 3) -> Scene:
    return s.glDrawArrays("GL_TRIANGLES", 0, count)


def draw_only(s: Scene, i: int) -> Scene:
    return draw(s)


def image(s: Scene, content: bytes | None = PIXELS, side: int = 16, level: int = 0, **more: object) -> Scene:
    return s.glTexImage2D(
        "GL_TEXTURE_2D", level, "GL_RGBA", side, side, 0, "GL_RGBA", "GL_UNSIGNED_BYTE", content, **more
    )


def bind(s: Scene, texture: int = 1) -> Scene:
    return s.glBindTexture("GL_TEXTURE_2D", texture)


def fixed(s: Scene) -> Scene:
    """Draw without shaders, with texture 1."""
    s.api = 1
    return bind(s.glEnable("GL_TEXTURE_2D"))


def linear(s: Scene) -> Scene:
    return s.glTexParameteri("GL_TEXTURE_2D", "GL_TEXTURE_MIN_FILTER", 9729)


def shader(s: Scene, source: str, stage: str = "GL_FRAGMENT_SHADER") -> Scene:
    return s.glCreateShader(stage, result=7).glShaderSource(7, 1, [source], None)


def linked(s: Scene, program: int, *source: str, **places: int) -> Scene:
    """A program of one vertex shader, which reads `gl_Vertex` where no source is given. `places` are bound."""
    one = 100 + program
    source = source or ("void main() { gl_Position = gl_Vertex; }",)
    s.glCreateShader("GL_VERTEX_SHADER", result=one).glShaderSource(one, len(source), list(source), None)
    s.glCompileShader(one).glCreateProgram(result=program).glAttachShader(program, one)
    for name, place in places.items():
        s.glBindAttribLocation(program, place, name)
    return s.glLinkProgram(program)


def target(s: Scene, framebuffer: int) -> Scene:
    return s.glBindFramebuffer("GL_FRAMEBUFFER", framebuffer)


def buffer(s: Scene, content: bytes, function: str = "glBufferSubData") -> Scene:
    s.glBindBuffer("GL_ARRAY_BUFFER", 5)
    if function == "glBufferData":
        return s.glBufferData("GL_ARRAY_BUFFER", len(content), content, "GL_DYNAMIC_DRAW")
    return s.glBufferSubData("GL_ARRAY_BUFFER", 0, len(content), content)


def numbered(i: int) -> bytes:
    return struct.pack("<I", i) * 256


case(
    "synchronous-functions",
    lambda: each(lambda s, i: draw(s).glReadPixels(0, 0, 1, 1, "GL_RGBA", "GL_UNSIGNED_BYTE", b"\0\0\0\0")),
    lambda: each(lambda s, i: draw(s).glReadPixels(0, 0, 1, 1, "GL_RGBA", "GL_UNSIGNED_BYTE", 64)),  # into a buffer
)
case(
    "state-queries",
    lambda: each(lambda s, i: draw(s).glGetIntegerv("GL_VIEWPORT", b"\0" * 16)),
    lambda: each(draw_only, start=lambda s: s.glGetIntegerv("GL_VIEWPORT", b"\0" * 16)),
)
case(
    "error-queries",
    lambda: each(lambda s, i: draw(s).glGetError().glGetError()),
    lambda: each(lambda s, i: draw(s).glGetError() if i % 3 == 0 else draw(s)),
)
case(
    "name-lookups",
    lambda: each(lambda s, i: draw(s.glGetUniformLocation(3, "mvp", result=2))),
    lambda: each(draw_only, start=lambda s: s.glGetUniformLocation(3, "mvp", result=2)),
)
case(
    "client-arrays",
    lambda: each(lambda s, i: draw(s.memory(b"x" * 36))),
    lambda: each(lambda s, i: s.glDrawElements("GL_TRIANGLES", 3, "GL_UNSIGNED_SHORT", 12)),
)
case(
    "immediate-mode",
    lambda: each(lambda s, i: s.glBegin("GL_QUADS").glEnd()),
    lambda: each(draw_only, start=lambda s: s.glNewList(1, "GL_COMPILE").glBegin("GL_QUADS").glEnd().glEndList()),
)
case(
    "renderer-strings",
    lambda: each(draw_only, start=lambda s: s.eglQueryString(0x10, "EGL_VENDOR", result="Mesa")),
    lambda: each(draw_only, start=lambda s: s.glGetString("GL_RENDERER", result="llvmpipe")),
)
case(
    "texture-loading",
    lambda: each(lambda s, i: draw(image(s, numbered(i)))),
    lambda: each(lambda s, i: draw(image(s, numbered(i)) if i < 2 else s)),
)
case(
    "texture-compression",
    lambda: each(draw_only, start=lambda s: image(bind(s), bytes(128 * 128 * 4), 128)),
    lambda: each(draw_only, start=lambda s: image(image(bind(s)), None, 256)),  # a small one, and a render target
)
case(
    "triangle-strips",
    lambda: each(lambda s, i: draw(s, 24)),
    lambda: each(lambda s, i: s.glDrawArrays("GL_TRIANGLE_STRIP", 0, 24)),
)


def surface(samples: int) -> Callable[[Scene], Scene]:
    return lambda s: s.native(0x77, "config", f"id=5;red=8;samples={samples}").eglCreateWindowSurface(
        0x10, 0x77, 1, None, result=0x20
    )


case("multisample", lambda: each(draw_only, start=surface(0)), lambda: each(draw_only, start=surface(4)))
case(
    "shader-compiles",
    lambda: each(lambda s, i: draw(s.glCompileShader(7) if i == 5 else s)),
    lambda: each(draw_only, start=lambda s: s.glCompileShader(7).glLinkProgram(3)),
)
case(
    "unused-programs",
    lambda: each(draw_only, start=lambda s: s.glLinkProgram(3).glLinkProgram(4).glUseProgram(4)),
    lambda: each(draw_only, start=lambda s: s.glLinkProgram(3).glUseProgram(3)),
)
case(
    "programs-used-once",
    lambda: each(lambda s, i: draw(linked(s, 20 + i).glUseProgram(20 + i))),
    lambda: each(lambda s, i: draw(s.glUseProgram(3)), start=lambda s: linked(s, 3)),
)


def alternating(s: Scene, order: list[int]) -> None:
    for program in order:
        draw(s.glUseProgram(program))


case(
    "state-thrash",
    lambda: each(lambda s, i: alternating(s, [1, 2] * 20)),
    lambda: each(lambda s, i: alternating(s, [1] * 20 + [2] * 20)),
)
case(
    "targets-not-cleared",
    lambda: each(lambda s, i: draw(target(draw(target(s, 9)), 0))),
    lambda: each(lambda s, i: draw(target(draw(target(s, 9).glClear("GL_COLOR_BUFFER_BIT")), 0))),
)


def with_depth(s: Scene) -> Scene:
    return target(s, 9).glFramebufferRenderbuffer("GL_FRAMEBUFFER", "GL_DEPTH_ATTACHMENT", "GL_RENDERBUFFER", 4)


case(
    "depth-not-discarded",
    lambda: each(lambda s, i: target(draw(target(s, 9).glClear("GL_DEPTH_BUFFER_BIT")), 0), start=with_depth),
    lambda: each(
        lambda s, i: target(
            draw(target(s, 9).glClear("GL_DEPTH_BUFFER_BIT")).glDiscardFramebufferEXT(
                "GL_FRAMEBUFFER", 1, struct.pack("<I", 0x8D00)
            ),
            0,
        ),
        start=with_depth,
    ),
)
case(
    "depth-clearing",
    lambda: each(lambda s, i: draw(s.glEnable("GL_DEPTH_TEST").glClear("GL_COLOR_BUFFER_BIT"))),
    lambda: each(lambda s, i: draw(s.glEnable("GL_DEPTH_TEST").glClear("GL_COLOR_BUFFER_BIT|GL_DEPTH_BUFFER_BIT"))),
)


def layers(s: Scene, order: str) -> None:
    s.glEnable("GL_DEPTH_TEST")
    for layer in order:
        (s.glEnable if layer == "b" else s.glDisable)("GL_BLEND")
        draw(s)


case("late-opaque-draws", lambda: each(lambda s, i: layers(s, "oboo")), lambda: each(lambda s, i: layers(s, "ooob")))
case(
    "fragment-discard",
    lambda: each(draw_only, start=lambda s: shader(s, "void main() { if (a < 0.5) discard; }")),
    lambda: each(draw_only, start=lambda s: shader(s, "void main() { /* discard */ } // discard\n")),
)
case(
    "fragment-highp",
    lambda: each(draw_only, start=lambda s: shader(s, "precision highp float;\nvoid main() {}")),
    lambda: each(draw_only, start=lambda s: shader(s, "precision mediump float;\nuniform highp float z;")),
)
case(
    "same-texture-again",
    lambda: each(lambda s, i: draw(image(s))),
    lambda: each(lambda s, i: draw(image(s, numbered(i)))),
)
case(
    "same-buffer-again",
    lambda: each(lambda s, i: draw(buffer(s, PIXELS))),
    lambda: each(lambda s, i: draw(buffer(s, numbered(i)))),
)
case(
    "recreated-objects",
    lambda: each(lambda s, i: draw(s.glGenBuffers(1, ONE)).glDeleteBuffers(1, ONE)),
    lambda: each(lambda s, i: draw(s.glGenBuffers(1, ONE)) if i == 3 else draw(s)),
)
case(
    "recreated-surfaces",
    lambda: each(
        lambda s, i: draw(s.eglDestroySurface(0x10, 0x20, result=1) and surface(4)(s) if i == 5 else s),
        start=surface(4),
    ),
    lambda: each(lambda s, i: draw(surface(4)(s) if i == 5 else s), start=surface(4)),
)
case(
    "pbuffer-frames",
    lambda: each(draw_only, start=lambda s: s.eglCreatePbufferSurface(0x10, 0x77, None, result=0x20)),
    lambda: each(draw_only, start=lambda s: s.eglCreatePbufferSurface(0x10, 0x77, None, result=0x99)),
)
case(
    "color-mask",
    lambda: each(lambda s, i: draw(s.glColorMask(1, 1, 0, 1))),
    lambda: each(lambda s, i: draw(s.glColorMask(0, 0, 0, 0)).glColorMask(1, 1, 1, 1)),
)


def read(s: Scene) -> Scene:
    return s.glReadPixels(0, 0, 16, 16, "GL_RGBA", "GL_UNSIGNED_BYTE", PIXELS)


case(
    "readback-upload", lambda: each(lambda s, i: image(read(s))), lambda: each(lambda s, i: image(read(s), numbered(i)))
)
case(
    "discarded-matrices",
    lambda: each(lambda s, i: draw(s.glLoadIdentity().glTranslatef(1.0, 2.0, 3.0).glLoadIdentity())),
    lambda: each(lambda s, i: draw(draw(s.glLoadIdentity().glTranslatef(1.0, 2.0, 3.0)).glLoadIdentity())),
)


def attach(s: Scene, texture: int) -> Scene:
    return target(s, 9).glFramebufferTexture2D("GL_FRAMEBUFFER", "GL_COLOR_ATTACHMENT0", "GL_TEXTURE_2D", texture, 0)


case(
    "attachments-change",
    lambda: each(lambda s, i: draw(attach(s, 1 + i % 2))),
    lambda: each(lambda s, i: draw(target(s, 9)), start=lambda s: attach(s, 1)),
)
case(
    "flush-in-frame",
    lambda: each(lambda s, i: draw(draw(s).glFlush())),
    lambda: each(lambda s, i: draw(draw(s)).glFlush()),
)


def query(s: Scene, *, ask_first: bool) -> None:
    draw(s.glBeginQuery("GL_SAMPLES_PASSED", 1)).glEndQuery("GL_SAMPLES_PASSED")
    if ask_first:
        s.glGetQueryObjectuiv(1, "GL_QUERY_RESULT_AVAILABLE", ONE)
    s.glGetQueryObjectuiv(1, "GL_QUERY_RESULT", ONE)


case(
    "query-stalls",
    lambda: each(lambda s, i: query(s, ask_first=False)),
    lambda: each(lambda s, i: query(s, ask_first=True)),
)


def fence(s: Scene, wait_for: int, i: int) -> None:
    draw(s).glFenceSync("GL_SYNC_GPU_COMMANDS_COMPLETE", 0, result=0x100 + i)
    if i > 2:
        s.glClientWaitSync(wait_for, 0, 1_000_000, result=0x911A)


case(
    "fence-stalls",
    lambda: each(lambda s, i: fence(s, 0x100 + i, i)),
    lambda: each(lambda s, i: fence(s, 0x100 + i - 2, i)),
)
case(
    "buffer-stalls",
    lambda: each(lambda s, i: draw(buffer(draw(buffer(s, numbered(i))), numbered(-i % 99)))),
    lambda: each(lambda s, i: draw(buffer(draw(buffer(s, numbered(i))), numbered(-i % 99), "glBufferData"))),
)
case(
    "same-context-again",
    lambda: each(lambda s, i: draw(s.eglMakeCurrent(0x10, 0x20, 0x20, 0x30, result=1))),
    lambda: each(lambda s, i: draw(s.eglMakeCurrent(0x10, 0x20, 0x20, 0x30 + i % 2, result=1))),
)


def two_contexts(s: Scene, i: int) -> None:
    draw(s.eglMakeCurrent(0x10, 0x20, 0x20, 0x31, result=1))
    draw(s.eglMakeCurrent(0x10, 0x20, 0x20, 0x30, result=1))


case(
    "context-switches", lambda: each(two_contexts), lambda: each(lambda s, i: two_contexts(s, i) if i == 1 else draw(s))
)


def many(s: Scene, *, apart: bool, count: int = 60) -> None:
    for i in range(count):
        if apart:
            bind(s, i % 7)
        s.glDrawElements("GL_TRIANGLES", 6, "GL_UNSIGNED_SHORT", 12)


case("small-draws", lambda: each(lambda s, i: many(s, apart=False)), lambda: each(lambda s, i: many(s, apart=True)))
case(
    "gl-errors",
    lambda: each(lambda s, i: draw(s).glGetError(result=0x500)),
    lambda: each(lambda s, i: draw(s).glGetError()),
)
case(
    "failed-compiles",
    lambda: each(draw_only, start=lambda s: s.glGetShaderiv(7, "GL_COMPILE_STATUS", struct.pack("<i", 0))),
    lambda: each(
        draw_only,
        start=lambda s: s.glGetShaderiv(7, "GL_COMPILE_STATUS", ONE).glGetShaderiv(7, "GL_INFO_LOG_LENGTH", bytes(4)),
    ),
)
case(
    "swap-without-draw",
    lambda: each(lambda s, i: draw(s) if i % 2 else s),
    lambda: each(lambda s, i: s.glClear("GL_COLOR_BUFFER_BIT")),
)
case(
    "mipmaps-generated",
    lambda: each(lambda s, i: draw(s.glGenerateMipmap("GL_TEXTURE_2D"))),
    lambda: each(draw_only, start=lambda s: s.glGenerateMipmap("GL_TEXTURE_2D")),
)


def uniforms(s: Scene, count: int) -> Scene:
    for i in range(count):
        s.glUniform4f(i, 1.0, 2.0, 3.0, 4.0)
    return draw(s)


case("uniform-churn", lambda: each(lambda s, i: uniforms(s, 120)), lambda: each(lambda s, i: uniforms(s, 20)))
case(
    "unused-uniforms",
    lambda: each(lambda s, i: draw(s.glUniform1f(-1, 1.0))),
    lambda: each(lambda s, i: draw(s.glUniform1f(0, 1.0))),
)


def declared(s: Scene, text: str) -> Scene:
    s.glCreateShader("GL_VERTEX_SHADER", result=7)
    s.glShaderSource(7, 1, [text], None)
    return s.glAttachShader(3, 7).glGetAttribLocation(3, "normal", result=-1)


case(
    "missing-attributes",
    lambda: each(draw_only, start=lambda s: declared(s, "attribute vec3 place, normal; void main() {}")),
    # A toolkit asks for uniforms by the same function: the name is no attribute.
    lambda: each(
        draw_only,
        start=lambda s: declared(s, "// in vec3 normal;\nin vec3 place;\nuniform vec3 normal; void main() {}"),
    ),
)


def shown(side: int) -> Callable[[Scene], Scene]:
    return lambda s: image(bind(s).glViewport(0, 0, 50, 50), bytes(side * side * 4), side)


case("oversized-textures", lambda: each(draw_only, start=shown(128)), lambda: each(draw_only, start=shown(64)))
case(
    "mipmap-usage",
    lambda: each(draw_only, start=lambda s: linear(image(fixed(s), bytes(65536), 128))),
    lambda: each(draw_only, start=lambda s: linear(image(fixed(s)))),
)
case(
    "incomplete-textures",
    lambda: each(draw_only, start=lambda s: image(fixed(s))),
    lambda: each(draw_only, start=lambda s: image(fixed(s)).glGenerateMipmap("GL_TEXTURE_2D")),
)


def change(s: Scene, i: int) -> Scene:
    return s.glTexSubImage2D("GL_TEXTURE_2D", 0, 0, 0, 16, 16, "GL_RGBA", "GL_UNSIGNED_BYTE", numbered(i))


case(
    "texture-modified",
    lambda: each(lambda s, i: change(draw(fixed(s)), i)),
    lambda: each(lambda s, i: draw(change(fixed(s), i))),
)
case(
    "replaced-textures",
    lambda: each(draw_only, start=lambda s: image(image(fixed(s)), numbered(1))),
    lambda: each(draw_only, start=lambda s: image(draw(image(fixed(s))), numbered(1))),
)
case(
    "api-time",
    lambda: each(lambda s, i: draw(s).wait(50_000_000)),
    lambda: each(draw_only, ns=50_000_000),
)
case(
    "frame-spikes",
    lambda: each(lambda s, i: draw(s).wait(100_000_000 if i == 7 else 0)),
    lambda: each(lambda s, i: draw(s).wait(20_000_000 if i == 7 else 0)),
)
case("unlimited-frames", lambda: each(draw_only, ns=1_000_000), lambda: each(draw_only))


def moving(s: Scene, i: int, threads: int) -> None:
    s.thread = i % threads
    draw(s.eglMakeCurrent(0x10, 0x20, 0x20, 0x30, result=1))


case("context-migrates", lambda: each(lambda s, i: moving(s, i, 2)), lambda: each(lambda s, i: moving(s, i, 1)))
case(
    "draws-without-program",
    lambda: each(draw_only, start=lambda s: shader(s, "void main() {}")),
    lambda: each(draw_only, start=lambda s: linked(shader(s, "void main() {}"), 3).glUseProgram(3)),
)
case("empty-draws", lambda: each(lambda s, i: draw(s, 0)), lambda: each(draw_only))
case(
    "partial-clears",
    lambda: each(lambda s, i: draw(s.glEnable("GL_SCISSOR_TEST").glClear("GL_COLOR_BUFFER_BIT"))),
    lambda: each(
        lambda s, i: draw(s.glDisable("GL_SCISSOR_TEST").glClear("GL_COLOR_BUFFER_BIT")).glEnable("GL_SCISSOR_TEST")
    ),
)
case(
    "split-clears",
    lambda: each(lambda s, i: draw(s.glClear("GL_COLOR_BUFFER_BIT").glClear("GL_DEPTH_BUFFER_BIT"))),
    lambda: each(lambda s, i: draw(draw(s.glClear("GL_COLOR_BUFFER_BIT")).glClear("GL_DEPTH_BUFFER_BIT"))),
)
case(
    "lists-compiled",
    lambda: each(lambda s, i: draw(s.glNewList(1, "GL_COMPILE").glEndList())),
    lambda: each(draw_only, start=lambda s: s.glNewList(1, "GL_COMPILE").glEndList()),
)


case("unchanged-frames", lambda: each(draw_only), lambda: each(lambda s, i: draw(s.glUniform1f(0, float(i)))))


def fault(s: Scene) -> Scene:
    return s.glUniform4fv(0, 1, Data(kind=6))


case(
    "unreadable-memory",
    lambda: each(draw_only, start=fault),
    lambda: each(draw_only, start=lambda s: s.glUniform4fv(0, 1, bytes(16))),
)


def vertices(s: Scene, *arrays: int) -> Scene:
    """36 bytes of vertices in a buffer, as attributes of 12 bytes each."""
    s.glBindBuffer("GL_ARRAY_BUFFER", 5).glBufferData("GL_ARRAY_BUFFER", 36, bytes(36), "GL_STATIC_DRAW")
    for index in arrays:
        s.glVertexAttribPointer(index, 3, "GL_FLOAT", 0, 0, None).glEnableVertexAttribArray(index)
    return s


case(
    "vertices-past-end",
    lambda: each(lambda s, i: draw(s, 4), start=lambda s: vertices(s, 0)),
    lambda: each(lambda s, i: draw(s, 3), start=lambda s: vertices(s, 0)),
)


def counted(s: Scene, attributes: int) -> Scene:
    return linked(s, 3).glGetProgramiv(3, "GL_ACTIVE_ATTRIBUTES", struct.pack("<i", attributes)).glUseProgram(3)


case(
    "unused-arrays",
    lambda: each(draw_only, start=lambda s: vertices(counted(s, 1), 0, 1)),
    lambda: each(draw_only, start=lambda s: vertices(counted(s, 2), 0, 1)),
)


# What is redundant has tests of its own; here it is only whether the rule counts it.
case(
    "redundant-calls",
    lambda: each(lambda s, i: draw(s.glDepthFunc("GL_LESS").glDepthFunc("GL_LESS"))),
    lambda: each(lambda s, i: draw(s.glDepthFunc(("GL_LESS", "GL_GREATER")[i % 2]))),
)


def vector(body: Body, start: Callable[[Scene], object] | None = None) -> Scene:
    """A program of OpenVG that draws frames, after `start`."""
    scene = Scene(api=3)
    if start:
        start(scene)
    return scene.frames(FRAMES, body)


def path(s: Scene, name: int, side: float = 50, segments: int = 4) -> Scene:
    """Make a path: a zigzag of so many lines."""
    commands = bytes([2] + [4] * (segments - 1))
    points = [c for i in range(segments) for c in (side * i / (segments - 1), side * (i % 2))]
    s.vgCreatePath(0, "VG_PATH_DATATYPE_F", 1.0, 0.0, 0, 0, 0xFFF, result=name)
    return s.vgAppendPathData(name, segments, commands, struct.pack(f"<{len(points)}f", *points))


def picture(s: Scene, name: int, content: bytes) -> Scene:
    s.vgCreateImage("VG_sRGBA_8888", 16, 16, 1, result=name)
    return s.vgImageSubData(name, content, 64, "VG_sRGBA_8888", 0, 0, 16, 16)


def other_pixels(i: int) -> bytes:
    return bytes([i]) * 1024


case(
    "vector-path-churn",
    lambda: vector(lambda s, i: path(s, 5).vgDrawPath(5, 2).vgDestroyPath(5)),
    lambda: vector(lambda s, i: path(s, 5, side=50 + i).vgDrawPath(5, 2).vgDestroyPath(5)),
)
case(
    "vector-image-churn",
    lambda: vector(lambda s, i: picture(s, 7, PIXELS).vgDrawImage(7).vgDestroyImage(7)),
    # The same image, filled again: that is what another rule is for.
    lambda: vector(
        lambda s, i: s.vgImageSubData(7, PIXELS, 64, "VG_sRGBA_8888", 0, 0, 16, 16).vgDrawImage(7),
        lambda s: picture(s, 7, other_pixels(1)),
    ),
)
case(
    "vector-scene-rebuilt",
    lambda: vector(
        lambda s, i: (
            path(s, 5, side=9 + i).vgDrawPath(5, 2),
            picture(s, 7, other_pixels(i)).vgDrawImage(7),
            s.vgDestroyPath(5).vgDestroyImage(7),
        )
    ),
    lambda: vector(
        lambda s, i: path(s, 5, side=9 + i).vgDrawPath(5, 2).vgDrawImage(7).vgDestroyPath(5),
        lambda s: picture(s, 7, PIXELS),
    ),
)
case(
    "tiny-detailed-paths",
    lambda: vector(lambda s, i: s.vgDrawPath(5, 2), lambda s: path(s, 5, side=3, segments=12)),
    lambda: vector(
        lambda s, i: s.vgLoadIdentity().vgScale(20.0, 20.0).vgDrawPath(5, 2),
        lambda s: path(s, 5, side=3, segments=12),
    ),
)
