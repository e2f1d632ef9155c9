"""Traces of Kyostila's Graphics Quality Analysis Toolkit (files that begin with TCY2): read them into ours."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from drawtap.formats import peers

_MAGIC = b"TCY2"


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import. `damage`: why the file ended early, None where it did not."""

    calls: int
    tap_records: int
    unknown_functions: int
    notes: tuple[str, ...]
    damage: str | None


def is_tcy2(path: Path) -> bool:
    """Tell by its first bytes whether a file is such a trace."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def read_tcy2(source: Path, target: Path, *, library: Path, signatures: Path, level: int = 1) -> Imported:
    """Write the trace `source` as the recording `target`; a file that stands there is replaced.

    `library` is the file `libdrawtap-peers.so`, `signatures` the file `tap.sig`. Times are of the original clock (us
    since the trace's start). The whole part of a damaged file is taken over. Raises InputError where it is no such
    trace.
    """
    imported = peers.read("tcy2", source, target, library=library, signatures=signatures, level=level)
    return Imported(notes=tuple(imported.pop("notes")), **imported)
