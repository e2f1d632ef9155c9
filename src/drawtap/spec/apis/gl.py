"""OpenGL, OpenGL ES and OpenGL SC: one registry, one set of commands."""

from __future__ import annotations

from drawtap.spec.overlay import Overlay

OVERLAY = o = Overlay("gl", xml="gl.xml", libraries=("libGL.so.1", "libOpenGL.so.0", "libGLESv2.so.2", "libGLESv1_CM.so.1"))
