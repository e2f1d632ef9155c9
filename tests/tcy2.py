"""Write TCY2 files, as the Graphics Quality Analysis Toolkit did: events with named values, arrays as phrases."""

from __future__ import annotations

import struct
from dataclasses import dataclass

VOID, BYTE, SHORT, INTEGER, LONG, FLOAT, DOUBLE, OBJECT, PHRASE = 0, 1, 2, 3, 4, 5, 6, 7, 0x80
_CODES = {BYTE: "B", SHORT: "h", INTEGER: "i", LONG: "q", FLOAT: "f", DOUBLE: "d"}


@dataclass(frozen=True)
class Handle:
    """An object: its class, and its number there; 0 is none."""

    kind: str
    number: int


@dataclass(frozen=True)
class Array:
    """An array at a place in memory; without items it is only mentioned."""

    place: int
    kind: int
    items: tuple[object, ...] | None = None


class Tcy2:
    """A file under construction."""

    def __init__(self) -> None:
        self.data = b"TCY2"
        self._strings: dict[str, int] = {}
        self._seq = 0

    def token(self, kind: int, body: bytes) -> None:
        """Add a big token."""
        self.data += struct.pack("<BI", kind, len(body)) + body

    def string(self, text: str) -> int:
        """Return the phrase of a text, defined where it is new."""
        if not text:
            return 0
        if text not in self._strings:
            self._strings[text] = 0x70000000 + len(self._strings)
            raw = text.encode() + b"\0"
            self.token(1, struct.pack("<IIB", self._strings[text], len(raw), VOID) + raw)
        return self._strings[text]

    def define(self, array: Array) -> None:
        """Write what an array holds from here on; zeros at its end are left out."""
        assert array.items is not None
        if array.kind == OBJECT:
            handles = [h for h in array.items if isinstance(h, Handle)]
            body = struct.pack("<II", self.string(handles[0].kind), 0) + struct.pack(
                f"<{len(handles)}I", *(h.number for h in handles)
            )
            size = 4 * len(handles)
        else:
            raw = struct.pack(f"<{len(array.items)}{_CODES[array.kind]}", *array.items)
            size, body = len(raw), raw.rstrip(b"\0")
        self.token(1, struct.pack("<IIB", array.place, size, array.kind) + body)

    def call(
        self,
        name: str,
        *,
        returns: object = None,
        time: int = 0,
        duration: int = 0,
        define: tuple[Array, ...] = (),
        **values: object,
    ) -> None:
        """Add a call; `define`: arrays that are written before its values."""
        self.token(2, struct.pack("<III", self.string(name), self._seq, time))
        self._seq += 1
        for array in define:
            self.define(array)
        for key, value in values.items():
            self._value(key, value)
        if returns is not None:
            self._value("", returns)
        self.data += struct.pack("<BI", 0x81, duration)

    def _value(self, key: str, value: object) -> None:
        if isinstance(value, Array) and value.items is not None:
            self.define(value)
        if value is None or isinstance(value, Array | str):
            place = value.place if isinstance(value, Array) else self.string(value or "")
            kind, data = (value.kind if isinstance(value, Array) else VOID) | PHRASE, struct.pack("<I", place)
        elif isinstance(value, Handle):
            kind, data = OBJECT, struct.pack("<III", self.string(value.kind), 0, value.number)
        elif isinstance(value, float):
            kind, data = FLOAT, struct.pack("<f", value)
        else:
            kind, data = INTEGER, struct.pack("<i", int(str(value)))
        self.token(3, struct.pack("<IB", self.string(key), kind) + data)


def triangle() -> Tcy2:
    """One frame of OpenGL ES 1.1: a red triangle from client memory over the lower left half of 32 x 32 blue pixels."""
    t = Tcy2()
    display, surface, context = Handle("EGLDisplay", 1), Handle("EGLSurface", 7), Handle("EGLContext", 9)
    config = Handle("EGLConfig", 3)
    t.call("eglGetDisplay", display_id=0, returns=display, time=100)
    t.call("eglInitialize", dpy=display, major=None, minor=None, returns=1, time=200, duration=5)
    wanted = Array(0x1000, INTEGER, (0x3033, 1, 0x3040, 1, 0x3024, 8, 0x3023, 8, 0x3022, 8, 0x3038))
    t.call("eglChooseConfig", dpy=display, attrib_list=wanted, configs=Array(0x2000, OBJECT, (config,)), config_size=1,
           num_config=Array(0x3000, INTEGER, (1,)), returns=1, time=300)  # fmt: skip
    size = Array(0x1100, INTEGER, (0x3057, 32, 0x3056, 32, 0x3038))
    t.call("eglCreatePbufferSurface", dpy=display, config=config, attrib_list=size, returns=surface, time=400)
    t.call("eglCreateContext", dpy=display, config=config, share_context=Handle("EGLContext", 0), attrib_list=None,
           returns=context, time=500)  # fmt: skip
    t.call("eglMakeCurrent", dpy=display, draw=surface, read=surface, ctx=context, returns=1, time=600)
    t.call("glClearColor", red=0.0, green=0.0, blue=1.0, alpha=1.0, time=700)
    t.call("glClear", mask=0x4000, time=800)
    t.call("glColor4f", red=1.0, green=0.0, blue=0.0, alpha=1.0, time=900)
    t.call("glEnableClientState", array=0x8074, time=1000)
    t.call("glVertexPointer", size=2, type=0x1406, stride=0, pointer=Array(0x9000, FLOAT), time=1100)
    corners = Array(0x9000, FLOAT, (-1.0, -1.0, 1.0, -1.0, -1.0, 1.0, 0.0, 0.0))
    t.call("glDrawArrays", mode=4, first=0, count=3, define=(corners,), time=1200, duration=44)
    t.call("eglSwapBuffers", dpy=display, draw=surface, returns=1, time=1300)
    return t
