"""Run a program and take pictures of its window meanwhile, through the X server: `grab.py FOLDER X Y SIZE COMMAND...`.

Each picture that differs from those before it is a file: SIZE x SIZE pixels, 3 bytes each, the upper row first.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import numpy as np

ALL_PLANES, Z_PIXMAP = 0xFFFFFFFF, 2


class Image(ctypes.Structure):
    """The beginning of an XImage."""

    _fields_ = (
        ("width", ctypes.c_int),
        ("height", ctypes.c_int),
        ("xoffset", ctypes.c_int),
        ("format", ctypes.c_int),
        ("data", ctypes.c_void_p),
    )


def main(folder: Path, x: int, y: int, size: int, command: list[str]) -> int:
    library = ctypes.CDLL("libX11.so.6")
    library.XOpenDisplay.restype = ctypes.c_void_p
    library.XDefaultRootWindow.restype = ctypes.c_ulong
    library.XDefaultRootWindow.argtypes = [ctypes.c_void_p]
    library.XGetImage.restype = ctypes.POINTER(Image)
    library.XGetImage.argtypes = [ctypes.c_void_p, ctypes.c_ulong, *[ctypes.c_int] * 2, *[ctypes.c_uint] * 2,
                                  ctypes.c_ulong, ctypes.c_int]  # fmt: skip
    library.XDestroyImage.argtypes = [ctypes.POINTER(Image)]
    display = library.XOpenDisplay(None)
    root = library.XDefaultRootWindow(display)
    program = subprocess.Popen(command)
    seen: dict[bytes, None] = {}
    while program.poll() is None:
        image = library.XGetImage(display, root, x, y, size, size, ALL_PLANES, Z_PIXMAP)
        pixels = np.frombuffer(ctypes.string_at(image.contents.data, size * size * 4), np.uint8)
        seen[pixels.reshape(-1, 4)[:, 2::-1].tobytes()] = None
        library.XDestroyImage(image)
    for number, content in enumerate(seen):
        (folder / f"{number:06}.rgb").write_bytes(content)
    return program.returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *map(int, sys.argv[2:5]), sys.argv[5:]))
