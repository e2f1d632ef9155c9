"""Results of commands: values that a view can render as text or as JSON without knowing the command."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

Cell = object  # None, bool, int, float, str, bytes, dates, lists and mappings of these: what DuckDB gives


@dataclass(frozen=True)
class Rows:
    """A table. `rows` may be an iterator that is read once.

    `kinds` says how a column is shown in text, by name: `ns` (a duration), `bytes`, `count`, `percent`, `bar` (a number
    from 0 to 1), `time` (ns, shown since `time_zero`); `spark` (a list of numbers, drawn as one character each); `of
    COLUMN` (as that column says, row by row); `same` (text leaves the column out where all rows agree, and says so in
    the note); JSON has the plain values. `title` stands above the table, `note` below it; `plot` is a series to draw
    above it, in ns.
    """

    columns: tuple[str, ...]
    rows: Iterable[Sequence[Cell]]
    kinds: Mapping[str, str] = field(default_factory=dict)
    title: str | None = None
    note: str | None = None
    plot: Sequence[float] | None = None
    findings: bool = False
    time_zero: int = 0

    @property
    def shown(self) -> list[int]:
        """The places of the columns that hold something, and do not only draw it."""
        return [i for i, c in enumerate(self.columns) if self.kinds.get(c) != "bar"]

    def objects(self) -> Iterator[dict[str, Cell]]:
        """Yield one mapping a row, without the columns that only draw something."""
        keep = self.shown
        names = [self.columns[i] for i in keep]
        for row in self.rows:
            yield dict(zip(names, (row[i] for i in keep), strict=True))


@dataclass(frozen=True)
class Facts:
    """One object: named facts in groups for people, the whole mapping `data` as JSON."""

    data: Mapping[str, Cell]
    groups: Mapping[str, Mapping[str, Cell]]
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Sheets:
    """Several tables that are one answer; `data` is what `--json` prints. Tables without rows are left out of text."""

    tables: Sequence[Rows]
    data: Cell
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Tree:
    """Paths, segments separated by dots, with their values; drawn as a tree, as JSON a list of `path` and `value`."""

    values: Sequence[tuple[str, Cell]]
    title: str | None = None


@dataclass(frozen=True)
class Text:
    """Plain text; `data` is what `--json` prints; `findings`: the exit code is 1; `wrap`: its lines are paragraphs."""

    text: str
    data: Cell = None
    findings: bool = False
    wrap: bool = False


@dataclass(frozen=True)
class Lines:
    """Lines of text that a reader makes as fast as a pipe takes them; `rows` gives the same as a table, for JSON.

    `write` puts them to a file descriptor, `lines` yields them without line ends. `wrap`: a terminal gets them broken
    at its width.
    """

    write: Callable[[int], None]
    lines: Callable[[], Iterator[str]]
    rows: Callable[[], Rows]
    wrap: bool = False


@dataclass(frozen=True)
class Written:
    """A file was written."""

    path: str
    size_bytes: int
    what: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """One line of a check: severity `ok`, `note`, `warning` or `error`; what was found, and what to do."""

    severity: str
    subject: str
    finding: str
    advice: str | None = None


@dataclass(frozen=True)
class Verdicts:
    """The result of a check; `data` is what `--json` prints, where that is more than the verdicts."""

    verdicts: Sequence[Verdict]
    title: str | None = None
    data: Cell = None

    @property
    def worst(self) -> str:
        """Return the highest severity among the verdicts."""
        order = ("ok", "note", "warning", "error")
        return max((v.severity for v in self.verdicts), key=order.index, default="ok")


@dataclass(frozen=True)
class ExitStatus:
    """End the process with this status: the recorded program's."""

    code: int


@dataclass(frozen=True)
class Prompt:
    """Go on at a prompt with these recordings open (files), after these commands; `stay` False: only run them."""

    recordings: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    frame_end: str | None = None
    stay: bool = True
