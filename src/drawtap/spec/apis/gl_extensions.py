from drawtap.spec.overlay import Overlay

PART = o = Overlay("gl", xml="gl.xml")
