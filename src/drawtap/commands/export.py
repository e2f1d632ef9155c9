"""`drawtap export`: calls in other formats."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from drawtap.commands import Opt, command
from drawtap.errors import UsageError
from drawtap.formats import FORMATS, Selection, selection
from drawtap.view.result import Text, Written

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


@command(
    section="share",
    examples=(
        "drawtap export game.dtap -o calls.parquet",
        "drawtap export game.dtap -f csv '#100-200' > frames.csv",
        "drawtap export game.dtap -f text --name 'glUniform*' -o uniforms.txt",
        "drawtap export game.dtap -o game.trace         # for apitrace replay and qapitrace",
        "drawtap export game.dtap -f c --frames 100:101 -o bug/",
    ),
    json=False,
)
def export(
    trace: Trace,
    calls: Annotated[str | None, Opt("10-20,30,5- for calls, #3 or #2-4 for frames", metavar="RANGE")] = None,
    *,
    format: Annotated[  # noqa: A002 - the word of the command line
        Literal["text", "csv", "json", "parquet", "c"] | None,
        Opt("The format; c is a folder.  [default: by the name of the file, else text]", "-f"),
    ] = None,
    output: Annotated[Path | None, Opt("Where to.  [default: standard output]", "-o", "FILE")] = None,
    name: Annotated[str | None, Opt("Only functions that match (* stands for anything).", "-n", "PATTERN")] = None,
    frames: Annotated[str | None, Opt("Only the frames from A to before B.", metavar="A:B")] = None,
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
) -> Written | Text:
    """Write calls as text, csv, json or parquet, or frames as C source.

    C source (-f c) is a folder that compiles and draws what was recorded, with a C compiler, EGL and GL headers and
    nothing of drawtap.
    """
    chosen = FORMATS.get(format or _by_suffix(output))
    if calls is not None and frames is not None:
        raise UsageError("calls and frames are both named", hint="a range like '#3-5' names frames as well")
    wanted = selection(_frame_range(frames) if frames is not None else calls, name=name)
    if chosen.name == "c":
        return _to_folder(trace, wanted, output, force)
    if output is None:
        return _to_stdout(trace, chosen.name, wanted)
    if output.exists() and not force:
        raise UsageError(f"{output} exists", hint="--force replaces it")
    chosen.write(trace, wanted, output)
    return Written(str(output), output.stat().st_size, f"calls as {chosen.name}")


def _frame_range(frames: str) -> str:
    match = re.fullmatch(r"(\d*):(\d*)", frames)
    if match is None:
        raise UsageError(f"{frames!r} is no range of frames", hint="A:B, where B is the first one left out: 0:10, 5:")
    first, end = int(match[1] or 0), match[2]
    if end and int(end) <= first:
        raise UsageError(f"the frames {frames} end before they begin")
    return f"#{first}-{int(end) - 1}" if end else f"#{first}-"


def _to_folder(trace: Trace, wanted: Selection, output: Path | None, force: bool) -> Written:
    if output is None:
        raise UsageError("C source is a folder", hint="name it with -o")
    if output.exists() and not output.is_dir():
        raise UsageError(f"{output} is a file", hint="name another folder with -o")
    if output.is_dir() and any(output.iterdir()) and not force:
        raise UsageError(f"{output} is not empty", hint="--force replaces what is in the way")
    FORMATS.get("c").write(trace, wanted, output)
    written = sum(file.stat().st_size for file in output.iterdir() if file.is_file())
    return Written(str(output), written, "C source: cmake -S . -B build && cmake --build build")


def _by_suffix(output: Path | None) -> str:
    if output is None:
        return "text"
    if output.is_dir():
        return "c"
    for name, entry in FORMATS.items():
        if entry.suffix and output.suffix == entry.suffix:
            return name
    if output.suffix in {"", ".log"}:
        return "text"
    raise UsageError(
        f"no format has files that end in {output.suffix}", hint=f"name one with -f: {', '.join(FORMATS.names())}"
    )


def _to_stdout(trace: Trace, name: str, wanted: Selection) -> Text:
    if name == "parquet" and sys.stdout.isatty():
        raise UsageError("parquet is not for a terminal", hint="name a file with -o")
    sys.stdout.flush()
    # DuckDB writes to a path; /dev/stdout is this process's own standard output.
    target = Path(f"/proc/self/fd/{os.dup(sys.stdout.fileno())}") if name == "text" else Path("/dev/stdout")
    FORMATS.get(name).write(trace, wanted, target)
    return Text("")
