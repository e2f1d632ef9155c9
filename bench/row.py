"""One line of the benchmark table, how it is judged against its goal, and how the table is printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Goal:
    """What a figure should reach: a ratio to apitrace of `ratio`, or a value of at most `most` or at least `least`."""

    ratio: float | None = None
    most: float | None = None
    unit: str = ""
    least: float | None = None

    def __str__(self) -> str:
        if self.ratio is not None:
            return f">= {self.ratio:g}x"
        if self.least is not None:
            return f">= {self.least:g} {self.unit}".strip()
        return f"<= {self.most:g} {self.unit}".strip() if self.most is not None else ""

    def met(self, figure: float | None, ratio: float | None) -> bool | None:
        """Return whether the goal is reached; None where there is none or nothing to compare with."""
        if self.ratio is not None:
            return None if ratio is None else ratio >= self.ratio
        if self.least is not None:
            return None if figure is None else figure >= self.least
        return None if self.most is None or figure is None else figure <= self.most


@dataclass(frozen=True)
class Row:
    """A measured figure.

    `native`, `drawtap` and `apitrace` are in `unit`; where `native` is given, the other two are what they add to it.
    `samples` are the single runs behind the medians.
    """

    group: str
    name: str
    unit: str
    drawtap: float | None = None
    apitrace: float | None = None
    native: float | None = None
    goal: Goal = Goal()
    note: str = ""
    samples: Mapping[str, Sequence[float]] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """How many times more apitrace takes, None where one of the two was not measured or is lost in the noise."""
        if self.drawtap is None or self.apitrace is None or min(self.drawtap, self.apitrace) <= 0:
            return None
        return self.apitrace / self.drawtap

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None: nothing to compare."""
        return self.goal.met(self.drawtap, self.ratio)

    def record(self) -> dict[str, object]:
        """Return what is stored as JSON."""
        return {
            "group": self.group, "name": self.name, "unit": self.unit, "native": self.native, "drawtap": self.drawtap,
            "apitrace": self.apitrace, "ratio": self.ratio, "goal": str(self.goal), "met": self.met, "note": self.note,
            "samples": {name: list(values) for name, values in self.samples.items()},
        }  # fmt: skip


def number(value: float | None) -> str:
    """Return a figure with three significant digits, thousands apart."""
    if value is None:
        return "–"
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


def print_table(rows: Sequence[Row], console: Console) -> None:
    """Print the rows by group. Goals are something to read, not a verdict: nothing here fails."""
    table = Table(title="drawtap beside apitrace", title_justify="left", show_lines=False)
    table.add_column("")
    for heading in ("native", "drawtap", "apitrace", "ratio", "goal"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("note", overflow="fold")
    group = None
    for row in rows:
        if row.group != group:
            table.add_section()
            table.add_row(f"[bold]{row.group}")
            group = row.group
        colour = {True: "green", False: "yellow", None: ""}[row.met]
        figure = number(row.ratio) + "x" if row.ratio is not None else "–"
        if row.goal.ratio is None:
            drawtap, ratio = _coloured(number(row.drawtap), colour), figure
        else:
            drawtap, ratio = number(row.drawtap), _coloured(figure, colour)
        cells = (number(row.native), drawtap, number(row.apitrace), ratio, str(row.goal), row.note)
        table.add_row(f"{row.name}, {row.unit}" if row.unit else row.name, *cells)
    console.print(table)


def _coloured(text: str, colour: str) -> str:
    return f"[{colour}]{text}[/]" if colour else text
