"""What only OpenGL ES 2 and 3 and OpenGL SC 2 have."""

from __future__ import annotations

from drawtap.spec.overlay import Overlay

PART = o = Overlay("gl", xml="gl.xml")
