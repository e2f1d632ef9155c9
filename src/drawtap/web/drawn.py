"""Draws of programs with display lists: the call of a list draws, not the calls that the list keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from drawtap.trace.trace import Trace


def has_lists(flags: Iterable[frozenset[str]]) -> bool:
    """Tell whether functions with these flags make lists of calls."""
    return any("list_begin" in of for of in flags)


def draws_between(trace: Trace, first: int, end: int, most: int) -> list[tuple[int, str]]:
    """Return the calls from `first` to before `end` that draw, at most `most`, each with the letter of its kind."""
    query = f"SELECT seq FROM draws WHERE kind = 'draw' AND seq >= {first} AND seq < {end} ORDER BY seq LIMIT {most}"
    return [(seq, "draw") for (seq,) in trace.sql(query).fetchall()]


def draws_of_frames(trace: Trace) -> list[list[int]]:
    """Return the frames that draw, each with how many of its calls do."""
    query = "SELECT frame, count(*) FROM draws WHERE kind = 'draw' GROUP BY frame ORDER BY frame"
    return [[frame, count] for frame, count in trace.sql(query).fetchall() if frame is not None]
