"""A small animation for `drawtap demo`: coloured tiles turn around each other, without a display and without a window.

`python -m drawtap.demo_program [FRAMES]` draws with OpenGL ES 2 into an off-screen surface. It imports nothing of
drawtap. Two mistakes give a recording something to find. Every frame loads the same texture again, and one frame in the
middle compiles a shader that could have been there from the start. Exit code 3: no driver here can draw it.
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
from collections.abc import Callable, Iterator

FRAMES, WIDTH, HEIGHT, TILES, TEXELS = 120, 320, 240, 24, 256

_SURFACELESS, _DEVICE = 0x31DD, 0x313F  # EGL_PLATFORM_SURFACELESS_MESA, EGL_PLATFORM_DEVICE_EXT
_EXTENSIONS, _SOFTWARE = 0x3055, b"EGL_MESA_device_software"
_STEERS = ("LIBGL_ALWAYS_SOFTWARE", "GALLIUM_DRIVER", "MESA_LOADER_DRIVER_OVERRIDE", "EGL_PLATFORM")
_CONFIG = (0x3033, 0x0001, 0x3040, 0x0004, 0x3024, 8, 0x3023, 8, 0x3022, 8, 0x3038)  # pbuffer, ES 2, RGB of 8 bits
_SURFACE = (0x3057, WIDTH, 0x3056, HEIGHT, 0x3038)  # EGL_WIDTH, EGL_HEIGHT
_CONTEXT = (0x3098, 2, 0x3038)  # EGL_CONTEXT_CLIENT_VERSION
_OPENGL_ES_API = 0x30A0
_ARRAY_BUFFER, _STATIC_DRAW, _FLOAT, _TRIANGLES = 0x8892, 0x88E4, 0x1406, 0x0004
_TEXTURE_2D, _LUMINANCE, _UNSIGNED_BYTE = 0x0DE1, 0x1909, 0x1401
_MIN_FILTER, _MAG_FILTER, _WRAP_S, _WRAP_T, _LINEAR, _REPEAT = 0x2801, 0x2800, 0x2802, 0x2803, 0x2601, 0x2901
_VERTEX_SHADER, _FRAGMENT_SHADER, _LINK_STATUS, _COLOR_BUFFER_BIT = 0x8B31, 0x8B30, 0x8B82, 0x4000

_VERTICES = b"""attribute vec2 corner; uniform vec4 place; varying vec2 at;
void main() {
  at = corner * 0.5 + 0.5;
  vec2 turned = vec2(corner.x * place.z - corner.y * place.w, corner.x * place.w + corner.y * place.z);
  gl_Position = vec4(turned * 0.16 + place.xy, 0.0, 1.0);
}"""
_TINTED = b"""precision mediump float; uniform sampler2D grain; uniform vec3 tint; varying vec2 at;
void main() { gl_FragColor = vec4(tint * (0.4 + 0.6 * texture2D(grain, at).r), 1.0); }"""
_GLOWING = b"""precision mediump float; uniform sampler2D grain; uniform vec3 tint; varying vec2 at;
void main() {
  float glow = 1.0 - 2.0 * distance(at, vec2(0.5));
  for (int i = 1; i < 3; i++) glow += 0.1 * sin(float(i) * 9.0 * texture2D(grain, at * float(i)).r);
  gl_FragColor = vec4(tint * glow, 1.0);
}"""


class NoDriverError(Exception):
    """Nothing here can draw the animation."""


def main() -> None:
    """Draw the frames. Exits with 3 where no driver can."""
    frames = int(sys.argv[1]) if len(sys.argv) > 1 else FRAMES
    try:
        gl, show = _start()
    except NoDriverError as error:
        print(f"drawtap demo: {error}", file=sys.stderr)
        sys.exit(3)
    buffer = ctypes.c_uint()
    gl.glGenBuffers(1, ctypes.byref(buffer))
    gl.glBindBuffer(_ARRAY_BUFFER, buffer)
    corners = (ctypes.c_float * 12)(-1, -1, 1, -1, 1, 1, -1, -1, 1, 1, -1, 1)
    gl.glBufferData(_ARRAY_BUFFER, ctypes.c_ssize_t(ctypes.sizeof(corners)), corners, _STATIC_DRAW)
    gl.glVertexAttribPointer(0, 2, _FLOAT, 0, 0, None)
    gl.glEnableVertexAttribArray(0)
    texture = ctypes.c_uint()
    gl.glGenTextures(1, ctypes.byref(texture))
    gl.glBindTexture(_TEXTURE_2D, texture)
    for name, value in ((_MIN_FILTER, _LINEAR), (_MAG_FILTER, _LINEAR), (_WRAP_S, _REPEAT), (_WRAP_T, _REPEAT)):
        gl.glTexParameteri(_TEXTURE_2D, name, value)
    grain = bytes((x * y ^ x + 3 * y) & 0xFF for y in range(TEXELS) for x in range(TEXELS))
    gl.glViewport(0, 0, WIDTH, HEIGHT)
    gl.glClearColor(_f(0.08), _f(0.09), _f(0.12), _f(1))
    place, tint = _program(gl, _TINTED)
    for frame in range(frames):
        if frame == frames // 2:
            place, tint = _program(gl, _GLOWING)
        gl.glTexImage2D(_TEXTURE_2D, 0, _LUMINANCE, TEXELS, TEXELS, 0, _LUMINANCE, _UNSIGNED_BYTE, grain)
        gl.glClear(_COLOR_BUFFER_BIT)
        for tile in range(TILES):
            _draw(gl, place, tint, tile / TILES, frame / 60)
        show()


def _draw(gl: ctypes.CDLL, place: int, tint: int, share: float, seconds: float) -> None:
    around, turn = 2 * math.pi * share + 0.7 * seconds, 2 * seconds + 9 * share
    radius = 0.55 + 0.25 * math.sin(3 * around + seconds)
    x, y = radius * math.cos(around), radius * math.sin(around)
    gl.glUniform4f(place, _f(x), _f(y), _f(math.cos(turn)), _f(math.sin(turn)))
    colour = (0.6 + 0.4 * math.cos(2 * math.pi * (share + third / 3)) for third in range(3))
    gl.glUniform3f(tint, *(_f(value) for value in colour))
    gl.glDrawArrays(_TRIANGLES, 0, 6)


def _f(value: float) -> ctypes.c_float:
    return ctypes.c_float(value)


def _start() -> tuple[ctypes.CDLL, Callable[[], object]]:
    """Make a context current; return the functions of OpenGL ES and the one that ends a frame."""
    try:
        egl, gl = ctypes.CDLL("libEGL.so.1"), ctypes.CDLL("libGLESv2.so.2")
    except OSError as error:
        raise NoDriverError(str(error)) from None
    pointer = ctypes.c_void_p
    for name in ("eglCreateContext", "eglCreatePbufferSurface"):
        getattr(egl, name).restype = pointer
    display = opened_display(egl)
    if display is None:
        raise NoDriverError("EGL finds no driver")
    config, count = pointer(), ctypes.c_int()
    egl.eglBindAPI(_OPENGL_ES_API)
    egl.eglChooseConfig(display, _ints(_CONFIG), ctypes.byref(config), 1, ctypes.byref(count))
    if not count.value:
        raise NoDriverError("the driver offers no off-screen surface for OpenGL ES 2")
    surface = pointer(egl.eglCreatePbufferSurface(display, config, _ints(_SURFACE)))
    context = pointer(egl.eglCreateContext(display, config, None, _ints(_CONTEXT)))
    if not egl.eglMakeCurrent(display, surface, surface, context):
        raise NoDriverError(f"eglMakeCurrent fails with 0x{egl.eglGetError() & 0xFFFF:x}")
    return gl, lambda: egl.eglSwapBuffers(display, surface)


def opened_display(egl: ctypes.CDLL, *, on_screen: bool = False) -> ctypes.c_void_p | None:
    """Return an initialised display of EGL: of a GPU where EGL lists one, as the player chooses it. None: no driver.

    `on_screen`: the display of windows instead.
    """
    for name in ("eglGetPlatformDisplay", "eglGetDisplay", "eglGetProcAddress"):
        getattr(egl, name).restype = ctypes.c_void_p
    egl.eglQueryString.restype = ctypes.c_char_p
    displays = [egl.eglGetDisplay(None)] if on_screen else _displays(egl)
    works = (
        display for display in map(ctypes.c_void_p, displays) if display and egl.eglInitialize(display, None, None)
    )
    return next(works, None)


def _displays(egl: ctypes.CDLL) -> Iterator[int | None]:
    asked = os.environ.get("EGL_PLATFORM") == "device"
    steered = any(map(os.environ.get, _STEERS)) and not asked
    if not steered and b"EGL_EXT_platform_device" in (egl.eglQueryString(None, _EXTENSIONS) or b""):
        yield from (egl.eglGetPlatformDisplay(_DEVICE, device, None) for device in _devices(egl, asked=asked))
    if not asked:
        yield egl.eglGetPlatformDisplay(_SURFACELESS, None, None)
    yield egl.eglGetDisplay(None)


def _devices(egl: ctypes.CDLL, *, asked: bool) -> Iterator[ctypes.c_void_p]:
    """Yield the devices of EGL that are no processor, or the one whose number DRAWTAP_EGL_DEVICE is.

    A processor counts where the user has `asked` for devices, behind all GPUs.
    """
    found = [egl.eglGetProcAddress(name) for name in (b"eglQueryDevicesEXT", b"eglQueryDeviceStringEXT")]
    if not all(found):
        return
    pointer, number = ctypes.c_void_p, ctypes.c_int
    query = ctypes.CFUNCTYPE(ctypes.c_uint, number, pointer, pointer)(found[0])
    text = ctypes.CFUNCTYPE(ctypes.c_char_p, pointer, number)(found[1])
    devices, count = (pointer * 64)(), number()
    chosen = os.environ.get("DRAWTAP_EGL_DEVICE")
    if query(len(devices), devices, ctypes.byref(count)):
        listed = [
            (_SOFTWARE in (text(device, _EXTENSIONS) or b""), place)
            for place, device in enumerate(devices[: count.value])
        ]
        for software, place in sorted(listed):
            if str(place) == chosen if chosen else asked or not software:
                yield pointer(devices[place])


def _ints(values: tuple[int, ...]) -> ctypes.Array[ctypes.c_int]:
    return (ctypes.c_int * len(values))(*values)


def _program(gl: ctypes.CDLL, fragments: bytes) -> tuple[int, int]:
    """Make a program of the vertex shader and `fragments` current; return the places of its uniforms."""
    program = gl.glCreateProgram()
    for kind, text in ((_VERTEX_SHADER, _VERTICES), (_FRAGMENT_SHADER, fragments)):
        shader, source = gl.glCreateShader(kind), ctypes.c_char_p(text)
        gl.glShaderSource(shader, 1, ctypes.byref(source), None)
        gl.glCompileShader(shader)
        gl.glAttachShader(program, shader)
    gl.glBindAttribLocation(program, 0, b"corner")
    gl.glLinkProgram(program)
    linked = ctypes.c_int()
    gl.glGetProgramiv(program, _LINK_STATUS, ctypes.byref(linked))
    if not linked.value:
        raise NoDriverError("the driver does not link a program of OpenGL ES 2")
    gl.glUseProgram(program)
    return gl.glGetUniformLocation(program, b"place"), gl.glGetUniformLocation(program, b"tint")


if __name__ == "__main__":
    main()
