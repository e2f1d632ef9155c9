"""`drawtap import`: recordings that other tools made."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from drawtap.commands import Opt, command
from drawtap.errors import InputError, UsageError, check_target
from drawtap.output.result import Facts, Verdicts


@command(
    name="import",
    section="record",
    examples=(
        "drawtap import game.trace                      # writes game.dtap",
        "drawtap import game.trace -o first.dtap --json",
        "drawtap import frame.txt --base game.dtap -o changed.dtap",
    ),
)
def import_(
    file: Annotated[Path, Opt("a trace of apitrace, a TCY2 trace, or text to be read back", metavar="FILE")],
    *,
    base: Annotated[Path | None, Opt("The recording that an edited text was made from.", "-b", "TRACE")] = None,
    output: Annotated[Path | None, Opt("Where to.  [default: the same name with .dtap]", "-o", "FILE")] = None,
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
) -> Facts | Verdicts:
    """Turn a trace of apitrace, or edited text, into a recording.

    Every version of its format and each of its compressions is read; what is whole of a damaged file is taken over.
    There are no times in such traces: calls stand in the order in which they began, and durations are unknown.

    Traces of Kyostila's Graphics Quality Analysis Toolkit (files that begin with TCY2) are read as well.

    Text of drawtap export --editable becomes its recording (--base) with your changes: new values, removed lines, and
    lines without a number, which are new calls. Plain text, csv, json and parquet are for people and other tools: they
    shorten arrays, and nothing reads them back.
    """
    from drawtap.formats import apitrace, editable, peers, tcy2
    from drawtap.output.progress import Progress, cancelled_by_ctrl_c
    from drawtap.parts import PEERS, SIGNATURES, part

    if not file.is_file():
        raise InputError(f"{file} does not exist")
    if editable.is_editable(file):
        return _text(file, base, output, force)
    if said := _written_for_others(file):
        raise InputError(f"{file} cannot be read back: {said}", hint=_READ_BACK)
    target = output or file.with_suffix(".dtap")
    if target.exists() and target.samefile(file):
        raise UsageError(f"{target} would replace what it is made from", hint="name another file with -o")
    check_target(target, force=force, replaced=True)
    library, signatures = part(PEERS), part(SIGNATURES)
    if tcy2.is_tcy2(file):
        return _tcy2(file, target, library, signatures)
    with cancelled_by_ctrl_c(lambda: peers.cancel(library)), Progress(lambda: peers.progress(library)):
        made = apitrace.read_apitrace(file, target, library=library, signatures=signatures)
    data = {"path": str(target), "bytes": target.stat().st_size, **asdict(made)}
    facts = {
        "recording": str(target),
        "calls": made.calls,
        "threads": made.threads,
        "added by apitrace": made.fake,
        "program": made.properties.get("process.name"),
        "format": f"apitrace {made.version}, {made.container}",
    }
    return Facts(data, {"imported": {name: fact for name, fact in facts.items() if fact is not None}}, made.notes)


_READ_BACK = "drawtap export --editable writes text that import reads (with --base), -f apitrace a whole recording"
_CALL = re.compile(rb"\d+ (gl|egl|glX|vg|vgu)[A-Z]\w*\(")


def _written_for_others(file: Path) -> str:
    """Return what drawtap export wrote for people and other tools and why that cannot be read back, "" for others."""
    with file.open("rb") as opened:
        start = opened.read(4096)
    if _CALL.match(start):
        return "it is text for people, in which long arrays are shortened"
    if start.startswith(b"PAR1"):
        return "a table of Parquet has no content of arrays"
    if start.startswith((b"seq,", b'"seq",', b'[{"seq"', b'{"seq"', b'[\n{"seq"', b'[\n\t{"seq"')):
        return "a table has no content of arrays"
    return ""


def _tcy2(file: Path, target: Path, library: Path, signatures: Path) -> Facts:
    from drawtap.formats.tcy2 import read_tcy2

    made = read_tcy2(file, target, library=library, signatures=signatures)
    data = {"path": str(target), "bytes": target.stat().st_size, **asdict(made)}
    notes = [*made.notes, *([f"the file is damaged: {made.damage}"] if made.damage else [])]
    return Facts(data, {"imported": {"recording": str(target), "calls": made.calls, "format": "TCY2"}}, notes)


def _text(file: Path, base: Path | None, output: Path | None, force: bool) -> Verdicts:
    from drawtap.commands.edit import verdicts
    from drawtap.formats.editable import read_editable
    from drawtap.trace.trace import open_trace

    if base is None:
        raise UsageError(f"{file} holds changes to a recording", hint="name the recording with --base")
    if not base.is_file():
        raise InputError(f"{base} does not exist")
    target = output or file.with_suffix(".dtap")
    if target.exists() and base.samefile(target):
        raise UsageError(f"{target} would replace what it is made from", hint="name another file with -o")
    check_target(target, force=force, replaced=True)
    with open_trace(base) as trace:
        return verdicts(read_editable(file, trace, target))
