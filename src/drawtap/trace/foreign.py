"""Name files that are no recordings: what they are by their first bytes, and what to do with them."""

from __future__ import annotations

import os
from pathlib import Path

from drawtap.errors import InputError

_OWN = b"DTAP\r\n"
_RECORD = "drawtap record -o FILE -- PROGRAM makes a recording"
_KERNEL = "drawtap info FILE reads it, and so do sql, list, report, export and drawtap system"
_IMPORT = "drawtap import FILE makes a recording of it"
_PICTURE = "name the recording that it was made from"

# The first bytes of a file, its format, and the advice.
_BEGINNINGS: tuple[tuple[bytes, str, str], ...] = (
    (b"\x7fELF", "a program or library (ELF)", "drawtap record -o FILE -- PROGRAM records a program"),
    (b"#!", "a script", "drawtap record -o FILE -- SCRIPT records what it starts"),
    (b"\x89PNG", "a picture (PNG)", _PICTURE),
    (b"\xff\xd8\xff", "a picture (JPEG)", _PICTURE),
    (b"P6\n", "a picture (PPM)", _PICTURE),
    (b"at", "a trace of apitrace", _IMPORT),
    (b"TCY2", "a trace of the toolkit (TCY2)", _IMPORT),
    (b"RDOC", "a capture of RenderDoc", _RECORD),
    (b"PERFILE2", "a trace of the kernel (perf)", _KERNEL),
    (b"\x17\x08Dtracing", "a trace of the kernel (trace-cmd)", _KERNEL),
    (b"\x1f\x8b", "packed with gzip", "gunzip unpacks it; drawtap import FILE, should it be a trace of apitrace"),
    (
        b"\x28\xb5\x2f\xfd",
        "packed with zstd",
        "unzstd unpacks it; drawtap import FILE, should it be a trace of apitrace",
    ),
    (b"PK\x03\x04", "a zip archive", "unzip unpacks it"),
    (b"PAR1", "a Parquet table", "drawtap sensors stores readings of such a table beside a recording"),
    (b"SQLite format 3", "a database of SQLite", _RECORD),
    (b"<!DOCTYPE html", "a page (HTML)", "a browser shows it; drawtap reads recordings"),
)


def explained(path: str | os.PathLike[str], error: InputError) -> InputError:
    """Return what to raise for a file that does not open: `error`, or one that names the kind of file that it is."""
    try:
        with Path(path).open("rb") as file:
            start = file.read(4096)
    except OSError:
        return error
    if not start:
        return InputError(f"{path} is empty, not a recording", hint=_RECORD)
    for beginning, what, hint in _BEGINNINGS:
        if start.startswith(beginning):
            return InputError(f"{path} is {what}, not a recording", hint=hint)
    if start.isascii() and b"\0" not in start and not start.startswith(_OWN):
        hint = "drawtap import FILE --base RECORDING reads edited calls"
        return InputError(f"{path} is text, not a recording", hint=hint)
    return error
