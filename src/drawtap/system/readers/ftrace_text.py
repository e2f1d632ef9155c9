"""Text of ftrace: the file `trace` of tracefs, what `trace-cmd report` prints, systrace and atrace."""

import re
from pathlib import Path

from drawtap.system.native import NativeTrace, Plan
from drawtap.system.reader import Clock, KernelTrace, reader

_LINE = re.compile(rb"^ *\S.*-\d+ +(\([ \d-]+\) +)?\[\d+\] .*\d+(\.\d+)?: +[\w.-]+:", re.MULTILINE)


def _is_text(path: Path, head: bytes) -> bool:
    if not head or b"\0" in head:
        return False
    if head[:200].lstrip().lower().startswith((b"<!doctype html", b"<html")):
        return b'class="trace-data"' in path.read_bytes()  # behind the viewer that such pages carry
    return b"# tracer:" in head or _LINE.search(head) is not None


@reader("ftrace-text", _is_text)
def open_text(path: Path) -> KernelTrace:
    """Text of ftrace: tracefs' file `trace`, `trace-cmd report`, systrace and atrace (also inside their HTML).

    Names and types of fields come from the lines, because there is no description. The kernel prints these names; they
    may differ from the names of the event's fields. Times have the digits that were printed.
    """
    clock = Clock("unknown", monotonic=False, note="the text does not say which clock it was: mono is CLOCK_MONOTONIC")
    return KernelTrace(path, "ftrace-text", NativeTrace("lines", Plan().number(0).text(bytes(path))), clock=clock)
