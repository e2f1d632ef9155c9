"""Render the report of a kernel trace: one HTML file that carries everything it needs.

The page draws from one compressed block (zlib, base64): four bytes with the length of a JSON header, the header, then
the columns it lists as (length, planes, kind). A column is its numbers in planes of bytes, the least significant first,
which compresses well: `i` whole numbers with the sign in the lowest bit, `d` the same as differences to the number
before, `f` doubles.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import markupsafe
import numpy as np
import numpy.typing as npt

import drawtap
from drawtap.output.document import asset, script
from drawtap.output.report import environment
from drawtap.output.result import Rows
from drawtap.output.text import duration, number, size


class Block:
    """The data of the page: columns of numbers, added one by one, and a header that names them by number."""

    def __init__(self) -> None:
        self._heads: list[tuple[int, int, str]] = []
        self._parts: list[bytes] = []

    def ints(self, values: npt.NDArray[np.int64], *, sorted_: bool = False) -> int:
        """Add whole numbers and return the number of the column; `sorted_` stores differences."""
        plain = np.asarray(values, dtype=np.int64)
        if sorted_:
            plain = np.diff(plain, prepend=np.int64(0))
        coded = np.where(plain < 0, -2 * plain - 1, 2 * plain).astype("<u8")
        most = int(coded.max()) if len(coded) else 0
        planes = max(1, -(-most.bit_length() // 8))
        whole = coded.view(np.uint8).reshape(-1, 8) if len(coded) else np.zeros((0, 8), np.uint8)
        return self._add(len(coded), planes, "d" if sorted_ else "i", whole[:, :planes])

    def floats(self, values: npt.NDArray[np.float64]) -> int:
        """Add doubles and return the number of the column."""
        plain = np.ascontiguousarray(values, dtype="<f8")
        whole = plain.view(np.uint8).reshape(-1, 8) if len(plain) else np.zeros((0, 8), np.uint8)
        return self._add(len(plain), 8, "f", whole)

    def _add(self, count: int, planes: int, kind: str, whole: npt.NDArray[np.uint8]) -> int:
        self._heads.append((count, planes, kind))
        self._parts.append(whole.T.tobytes())
        return len(self._heads) - 1

    def packed(self, header: Mapping[str, object]) -> str:
        """Return the block as text that may stand in a page."""
        head = json.dumps({**header, "columns": self._heads}, separators=(",", ":"), allow_nan=False).encode()
        raw = b"".join((struct.pack("<I", len(head)), head, *self._parts))
        return base64.b64encode(zlib.compress(raw, 6)).decode("ascii")


def unpacked(text: str) -> tuple[dict[str, Any], list[npt.NDArray[Any]]]:
    """Return the header and the columns of a block: what the page does when it opens."""
    raw = zlib.decompress(base64.b64decode(text))
    (length,) = struct.unpack_from("<I", raw)
    head = json.loads(raw[4 : 4 + length])
    at, columns = 4 + length, []
    for count, planes, kind in head["columns"]:
        part = np.frombuffer(raw, np.uint8, count * planes, at).reshape(planes, count)
        at += count * planes
        whole = np.zeros((count, 8), np.uint8)
        whole[:, :planes] = part.T
        if kind == "f":
            columns.append(whole.reshape(-1).view("<f8"))
            continue
        coded = whole.reshape(-1).view("<u8")
        plain = np.where(coded & 1, -((coded >> 1).astype(np.int64)) - 1, (coded >> 1).astype(np.int64))
        columns.append(np.cumsum(plain) if kind == "d" else plain)
    return head, columns


@dataclass(frozen=True, slots=True)
class FindingCard:
    """A finding about contention. `at`: ns since the begin of the window, None where nobody knows."""

    rule: str
    title: str
    culprit: str
    victim: str
    cost: str
    what: str
    why: str
    fix: str
    at: int | None
    span: int
    worst: str


@dataclass(frozen=True, slots=True)
class Figures:
    """A table of figures: per cell the value to sort by and the text; `meanings` of the columns, "" for none."""

    title: str
    columns: Sequence[str]
    right: Sequence[bool]
    meanings: Sequence[str]
    rows: Sequence[Sequence[tuple[object, str]]]


@dataclass(frozen=True, slots=True)
class Panel:
    """Curves over time, below the usage: an id of the page, a title, and how many more curves there would be."""

    id: str
    title: str
    hidden: int = 0


@dataclass(frozen=True)
class SystemReport:
    """The content of the page; `block` is what it draws from."""

    title: str
    subtitle: str
    tiles: Sequence[tuple[str, str]]
    notes: Sequence[tuple[str, str]]
    findings: Sequence[FindingCard]
    findings_note: str
    has_requests: bool
    has_cpus: bool
    panels: Sequence[Panel]
    histogram_step: str
    events_note: str
    figures_of: str
    tables: Sequence[Figures]
    definitions: Sequence[tuple[str, str]]
    shown: Sequence[str]
    block: str = field(repr=False)


def figures(table: Rows, meanings: Mapping[str, str]) -> Figures:
    """Return a result table as the page shows it."""
    rows = [list(row) for row in table.rows]
    right = [
        all(isinstance(row[i], (int, float, type(None))) and not isinstance(row[i], bool) for row in rows)
        for i in range(len(table.columns))
    ]
    kinds = [table.kinds.get(name, "") for name in table.columns]
    return Figures(
        table.title or "",
        [_heading(name) for name in table.columns],
        right,
        [meanings.get(name, "") for name in table.columns],
        [[(_sortable(v), cell(v, kind)) for v, kind in zip(row, kinds, strict=True)] for row in rows],
    )


def _heading(name: str) -> str:
    for end in ("_ns", "_percent", "_bytes"):
        name = name.removesuffix(end)
    return name.replace("_", " ")


def _sortable(value: object) -> object:
    return -1 if value is None else value


def cell(value: object, kind: str) -> str:
    """Return a value of a result table as text, by its kind (`Rows.kinds`)."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, (int, float)):
        return str(value)
    if kind == "ns":
        return duration(value)
    if kind == "bytes":
        return size(value)
    if kind == "percent":
        return f"{value:.1f} %"
    if isinstance(value, float):
        return f"{value:.3g}"
    return number(value) if kind == "count" else str(value)


def render(report: SystemReport) -> str:
    """Return the report as one HTML document that loads nothing from anywhere."""
    return (
        environment()
        .get_template("system_report.html")
        .render(
            report=report,
            version=drawtap.__version__,
            css=asset("report.css"),
            own_css=asset("system_report.css"),
            graph_css=asset("timegraph.css"),
            js=script("system_report.js"),
            uplot_css=asset("uplot.min.css"),
            uplot_js=asset("uplot.min.js"),
            data=markupsafe.Markup(report.block),
        )
    )
