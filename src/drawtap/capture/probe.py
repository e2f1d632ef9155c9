"""Ask a graphics driver what it is, in a process of its own: a broken driver may crash.

`python -m drawtap.capture.probe egl|x11` prints one JSON object: `driver`, `vendor`, `version`, or `error`.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys

from drawtap.demo_program import opened_display

_EGL_OPENGL_ES2_BIT, _EGL_RENDERABLE_TYPE, _EGL_NONE, _EGL_CONTEXT_CLIENT_VERSION = 4, 0x3040, 0x3038, 0x3098
_EGL_OPENGL_ES_API = 0x30A0
_GL_VENDOR, _GL_RENDERER, _GL_VERSION = 0x1F00, 0x1F01, 0x1F02


def main() -> None:
    """Print what the driver behind EGL says: without a display (`egl`), or on the X display (`x11`)."""
    os.environ.pop("LD_PRELOAD", None)
    try:
        answer = _ask(surfaceless=sys.argv[1:] != ["x11"])
    except (OSError, RuntimeError, AttributeError) as error:
        answer = {"error": str(error)}
    sys.stdout.write(json.dumps(answer) + "\n")


def _ask(*, surfaceless: bool) -> dict[str, str]:
    egl, gles = ctypes.CDLL("libEGL.so.1"), ctypes.CDLL("libGLESv2.so.2")
    pointer = ctypes.c_void_p
    egl.eglCreateContext.restype = pointer
    gles.glGetString.restype = ctypes.c_char_p
    display = opened_display(egl, on_screen=not surfaceless)
    if display is None:
        raise RuntimeError(f"eglInitialize fails with 0x{egl.eglGetError() & 0xFFFF:x}")
    config, count = pointer(), ctypes.c_int()
    wanted = (ctypes.c_int * 3)(_EGL_RENDERABLE_TYPE, _EGL_OPENGL_ES2_BIT, _EGL_NONE)
    if not egl.eglChooseConfig(display, wanted, ctypes.byref(config), 1, ctypes.byref(count)):
        raise RuntimeError("eglChooseConfig fails")
    egl.eglBindAPI(_EGL_OPENGL_ES_API)
    version = (ctypes.c_int * 3)(_EGL_CONTEXT_CLIENT_VERSION, 2, _EGL_NONE)
    context = pointer(egl.eglCreateContext(display, config if count.value else None, None, version))
    if not context or not egl.eglMakeCurrent(display, None, None, context):
        raise RuntimeError("no OpenGL ES 2 context without a surface")
    names = {"driver": _GL_RENDERER, "vendor": _GL_VENDOR, "version": _GL_VERSION}
    return {name: (gles.glGetString(value) or b"").decode(errors="replace") for name, value in names.items()}


if __name__ == "__main__":
    main()
