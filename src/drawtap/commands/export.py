"""`drawtap export`: calls in other formats."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from drawtap.commands import Opt, command
from drawtap.errors import UsageError
from drawtap.formats import FORMATS, selection
from drawtap.view.result import Text, Written

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


@command(
    section="share",
    examples=(
        "drawtap export game.dtap -o calls.parquet",
        "drawtap export game.dtap -f csv '#100-200' > frames.csv",
        "drawtap export game.dtap -f text --name 'glUniform*' -o uniforms.txt",
    ),
    json=False,
)
def export(
    trace: Trace,
    calls: Annotated[str | None, Opt("10-20,30,5- for calls, #3 or #2-4 for frames", metavar="RANGE")] = None,
    *,
    format: Annotated[  # noqa: A002 - the word of the command line
        Literal["text", "csv", "json", "parquet"] | None,
        Opt("The format.  [default: by the name of the file, else text]", "-f"),
    ] = None,
    output: Annotated[Path | None, Opt("Where to.  [default: standard output]", "-o", "FILE")] = None,
    name: Annotated[str | None, Opt("Only functions that match (* stands for anything).", "-n", "PATTERN")] = None,
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
) -> Written | Text:
    """Write calls as text, csv, json or parquet."""
    chosen = FORMATS.get(format or _by_suffix(output))
    wanted = selection(calls, name=name)
    if output is None:
        return _to_stdout(trace, chosen.name, wanted)
    if output.exists() and not force:
        raise UsageError(f"{output} exists", hint="--force replaces it")
    chosen.write(trace, wanted, output)
    return Written(str(output), output.stat().st_size, f"calls as {chosen.name}")


def _by_suffix(output: Path | None) -> str:
    if output is None:
        return "text"
    for name, entry in FORMATS.items():
        if output.suffix == entry.suffix:
            return name
    if output.suffix in {"", ".log"}:
        return "text"
    raise UsageError(
        f"no format has files that end in {output.suffix}", hint=f"name one with -f: {', '.join(FORMATS.names())}"
    )


def _to_stdout(trace: Trace, name: str, wanted: object) -> Text:
    from drawtap.formats import Selection

    assert isinstance(wanted, Selection)
    if name == "parquet" and sys.stdout.isatty():
        raise UsageError("parquet is not for a terminal", hint="name a file with -o")
    sys.stdout.flush()
    # DuckDB writes to a path; /dev/stdout is this process's own standard output.
    target = Path(f"/proc/self/fd/{os.dup(sys.stdout.fileno())}") if name == "text" else Path("/dev/stdout")
    FORMATS.get(name).write(trace, wanted, target)
    return Text("")
