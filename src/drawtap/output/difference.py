"""Render what differs between two recordings: one HTML file that loads nothing from anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from drawtap.output.comparison import Pictures, picture_rows
from drawtap.output.document import document


@dataclass(frozen=True, slots=True)
class DifferentCall:
    """A call that differs; `mark` is ~, - or +; of a changed one `changes` are name, value in A, value in B."""

    mark: str
    a: str
    b: str
    text: str
    changes: Sequence[tuple[str, str, str]] = ()


@dataclass(frozen=True)
class DifferentFrame:
    """Two frames that belong together, and the calls in which they differ; `left_out` are not listed."""

    title: str
    counts: str
    calls: Sequence[DifferentCall]
    left_out: int = 0


@dataclass(frozen=True)
class DifferencePage:
    """The content of a page about two recordings. `resources` and `state` are rows of text; None: not looked at."""

    a: str
    b: str
    verdict: str
    tiles: Sequence[tuple[str, str]]
    frames: Sequence[DifferentFrame]
    resources: Sequence[tuple[str, str, str, str]] | None
    state: Sequence[tuple[str, str, str]] | None
    state_title: str
    pictures: Sequence[Pictures]


def render(page: DifferencePage) -> str:
    """Return the page as one HTML document."""
    return document(
        "difference.html",
        page=page,
        pictures=picture_rows(page.pictures),
    )
