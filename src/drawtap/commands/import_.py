"""`drawtap import`: recordings that other tools made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from drawtap.commands import Opt, command
from drawtap.errors import InputError, UsageError
from drawtap.view.result import Facts


@command(
    name="import",
    section="record",
    examples=(
        "drawtap import game.trace                      # writes game.dtap",
        "drawtap import game.trace -o first.dtap --json",
    ),
)
def import_(
    file: Annotated[Path, Opt("a trace of apitrace", metavar="FILE")],
    *,
    output: Annotated[Path | None, Opt("Where to.  [default: the same name with .dtap]", "-o", "FILE")] = None,
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
) -> Facts:
    """Turn a trace of apitrace into a recording of drawtap.

    Every version of its format and each of its compressions is read; what is whole of a damaged file is taken over.
    There are no times in such traces: calls stand in the order in which they began, and durations are unknown.
    """
    from drawtap.formats.apitrace import read_apitrace
    from drawtap.parts import PEERS, SIGNATURES, part

    if not file.exists():
        raise InputError(f"{file} does not exist")
    target = output or file.with_suffix(".dtap")
    if target.exists() and target.samefile(file):
        raise UsageError(f"{target} would replace what it is made from", hint="name another file with -o")
    if target.exists() and not force:
        raise UsageError(f"{target} exists", hint="--force replaces it")
    made = read_apitrace(file, target, library=part(PEERS), signatures=part(SIGNATURES))
    data = {
        "path": str(target),
        "bytes": target.stat().st_size,
        "calls": made.calls,
        "calls_in_flight": made.calls_in_flight,
        "tap_records": made.tap_records,
        "threads": made.threads,
        "fake": made.fake,
        "version": made.version,
        "container": made.container,
        "properties": dict(made.properties),
        "unknown_functions": made.unknown_functions,
        "notes": list(made.notes),
        "damage": made.damage,
    }
    facts = {
        "recording": str(target),
        "calls": made.calls,
        "threads": made.threads,
        "added by apitrace": made.fake,
        "program": made.properties.get("process.name"),
        "format": f"apitrace {made.version}, {made.container}",
    }
    return Facts(data, {"imported": {name: fact for name, fact in facts.items() if fact is not None}}, made.notes)
