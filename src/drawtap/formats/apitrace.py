"""Traces of apitrace: read them into ours, and write ours as theirs.

Both directions are native: `libdrawtap-peers.so` reads (`native/peers/peers.h`), the reader core writes. Both can be
cancelled and say how far they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from drawtap.errors import UsageError
from drawtap.formats import export_format, peers
from drawtap.trace import apis
from drawtap.trace.library import Cancelled
from drawtap.trace.ranges import Selection

if TYPE_CHECKING:
    from collections.abc import Mapping

    from drawtap.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import: counts, the file's own facts, and its losses.

    `fake`: calls that apitrace itself added to the application's. `damage`: why the file ended early, None where it
    did not.
    """

    calls: int
    calls_in_flight: int
    tap_records: int
    threads: int
    fake: int
    version: int
    container: str
    properties: Mapping[str, str]
    unknown_functions: int
    notes: tuple[str, ...]
    damage: str | None


def read_apitrace(source: Path, target: Path, *, library: Path, signatures: Path, level: int = 1) -> Imported:
    """Write the trace `source` of apitrace as the recording `target`; a file that stands there is replaced.

    `library` is the file `libdrawtap-peers.so`, `signatures` the file `tap.sig`. The whole part of a damaged file is
    taken over, and `damage` describes the rest. Raises InputError where it is no trace of apitrace.
    """
    imported = peers.read("apitrace", source, target, library=library, signatures=signatures, level=level)
    kept = {name: imported[name] for name in Imported.__slots__ if name != "notes"}
    return Imported(notes=tuple(imported["notes"]), **kept)


@export_format("apitrace", ".trace")
def write_apitrace(trace: Trace, selection: Selection, path: Path) -> None:
    """A trace of apitrace (its format 6), for apitrace dump, apitrace replay and qapitrace."""
    if selection.name is not None:
        raise UsageError("apitrace's traces have no use for some functions alone", hint="leave --name out")
    apis.refuse(trace, "export: apitrace")
    if path.exists() and not path.is_file():
        raise UsageError("a trace of apitrace goes to a file", hint="name one with -o")
    try:
        trace.core.export_apitrace([(span.numbers(), span.frames) for span in selection.spans], path)
    except Cancelled:
        path.unlink(missing_ok=True)  # half of it would look whole
        raise
