"""Render results as text for a terminal or a pipe: tables, bars, plots, verdicts.

Own code rather than a table library: a result of a million rows has to stream, and the first line has to be
there at once. Widths come from the first rows; the rest follows them.
"""

from __future__ import annotations

import json
import math
import os
import re
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import singledispatchmethod
from itertools import accumulate, chain, islice
from typing import TextIO

from drawtap.output.result import Cell, ExitStatus, Facts, Lines, Rows, Sheets, Text, Tree, Verdict, Verdicts, Written

_MEASURED_ROWS = 1000
_STYLES: Mapping[str, str] = {
    "head": "1",
    "dim": "2",
    "bar": "36",
    "ok": "32",
    "note": "36",
    "warning": "33",
    "error": "31;1",
    "key": "2",
}
WIDE = 100  # of paragraphs, where nothing says how wide
_HANG = 4
_TIME = re.compile(r"(?<=\d) (?=(?:[nuµm]?s|min|[KMG]iB|B|%)\b)")
_LEAST_BAR = 8
_LEAST, _LEAST_DISTINCT = 12, 36  # characters of a cell that is cut; of names that begin alike
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_LEVELS = "▁▂▃▄▅▆▇█"


# Characters that a terminal would act upon, or that cannot be printed. They are control characters except for the tab
# and the end of a line, marks that turn the direction of writing, and halves of characters.
_ACTED_ON = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def harmless(text: str) -> str:
    """Return `text` with everything written out that a terminal would act upon: recordings hold words of strangers."""
    return _ACTED_ON.sub(lambda match: _written_out(match[0]), text)


def _written_out(character: str) -> str:
    return f"\\x{ord(character):02x}" if ord(character) < 0x100 else f"\\u{ord(character):04x}"


def duration(ns: float) -> str:
    """Return `ns` nanoseconds with three digits and a unit: `417 ns`, `1.23 ms`, `2.5 min`."""
    size = abs(ns)
    for limit, scale, unit in ((1e3, 1, "ns"), (1e6, 1e3, "µs"), (1e9, 1e6, "ms"), (120e9, 1e9, "s")):
        if size < limit * 0.9995:
            return f"{_digits(ns / scale)} {unit}"
    return f"{_digits(ns / 60e9)} min"


def size(count: float) -> str:
    """Return a number of bytes with three digits and a binary unit: `812 B`, `4.13 MiB`."""
    if abs(count) < 1024:
        return f"{count:.0f} B"
    for unit in ("KiB", "MiB", "GiB"):
        count /= 1024
        if abs(count) < 999.5:
            return f"{_digits(count)} {unit}"
    return f"{_digits(count / 1024)} TiB"


def number(count: float) -> str:
    """Return a count with thin groups of three: `1 234 567`."""
    if isinstance(count, float) and not count.is_integer():
        # 3 in 2 590 frames are not none.
        return f"{count:,.2f}".replace(",", " ") if abs(count) >= 0.1 else f"{count:.2g}"
    return f"{int(count):,}".replace(",", " ")


def counted(count: float, thing: str, things: str | None = None) -> str:
    """Return `1 frame`, `2 000 frames`: `thing` names one, `things` several where an s does not make them."""
    return f"{number(count)} {thing if count == 1 else things or thing + 's'}"


def percentile(ordered: Sequence[float], share: float) -> float:
    """Return the value below which `share` (0 to 1) of the ordered values lie (nearest rank)."""
    return ordered[max(0, math.ceil(share * len(ordered) - 1e-9) - 1)]


def _digits(value: float) -> str:
    if value == 0:
        return "0"
    text = f"{value:.3g}"
    if "e" in text:
        return f"{value:.0f}"
    whole, _, part = text.lstrip("-").partition(".")
    places = max(0, 3 - len(whole)) if whole != "0" else len(part)
    return f"{float(text):.{places}f}"


def _segments(path: str) -> list[str]:
    """Split a state path at its dots, except for those in quoted keys."""
    return re.findall(r'(?:[^.\["]|\[(?:"(?:[^"\\]|\\.)*"|[^\]"]*)\])+', path)


def _columns() -> int:
    import shutil  # which loads four compressors, for terminals alone

    return shutil.get_terminal_size().columns


class TextView:
    """Write results to `stream`. Colour and width follow the stream and the environment."""

    def __init__(self, stream: TextIO | None = None, *, width: int | None = None, color: bool | None = None) -> None:
        self.stream = stream or sys.stdout
        self.terminal = self.stream.isatty()
        self.color = wants_color(self.stream) if color is None else color
        # A pipe gets whole cells; a terminal gets what fits.
        self.width = width or (_columns() if self.terminal else None)
        self._time_zero = 0
        self.unicode = (getattr(self.stream, "encoding", None) or "utf-8").lower().replace("-", "") == "utf8"

    @singledispatchmethod
    def show(self, result: object) -> None:
        """Write one result of a command. None writes nothing."""
        if result is not None:
            self._line(harmless(str(result)))

    @show.register
    def _(self, result: Text) -> None:
        if result.text:
            text = harmless(result.text)
            if result.wrap:
                text = filled(text, min(self.width or WIDE, WIDE))
            self.stream.write(text if text.endswith("\n") else text + "\n")

    @show.register
    def _(self, result: Tree) -> None:
        if result.title:
            self._line(harmless(result.title))
        above: list[str] = []
        for path, value in result.values:
            *parents, name = _segments(_one_line(path))
            common = next((i for i, (a, b) in enumerate(zip(above, parents, strict=False)) if a != b), None)
            common = min(len(above), len(parents)) if common is None else common
            for depth in range(common, len(parents)):
                self._line("  " * depth + parents[depth])
            above = parents
            shown = json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value
            self._line(f"{'  ' * len(parents)}{name} = {harmless(shown)}")

    @show.register
    def _(self, result: Lines) -> None:
        if result.wrap and self.width is not None:
            for line in result.lines():
                self._line(filled(line, self.width))
            return
        if self.stream is sys.__stdout__ and self.stream is not None:
            self.stream.flush()
            # The reader writes by itself: where nobody listens any more, end as every text tool does.
            before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            try:
                result.write(self.stream.fileno())
            finally:
                signal.signal(signal.SIGPIPE, before)
            return
        for line in result.lines():
            self._line(line)

    @show.register
    def _(self, result: Written) -> None:
        self._line(f"{result.path}: {result.what}, {size(result.size_bytes)}")

    @show.register
    def _(self, result: ExitStatus) -> None:
        pass

    @show.register
    def _(self, result: Facts) -> None:
        wide = max((len(key) for group in result.groups.values() for key in group), default=0)
        for title, group in result.groups.items():
            self._line(self.paint(title, "head"))
            for key, value in group.items():
                first, *more = self._broken(harmless(str(value)), wide + 4)
                self._line(f"  {self.paint(_one_line(key).ljust(wide), 'key')}  {first}")
                for line in more:
                    self._line(f"  {'':{wide}}  {line}")
        self._notes(result.notes)

    @show.register
    def _(self, result: Verdicts) -> None:
        if result.title:
            self._line(self.paint(harmless(result.title), "head"))
        wide = max((len(v.subject) for v in result.verdicts), default=0)
        for verdict in result.verdicts:
            self._verdict(verdict, wide)

    @show.register
    def _(self, result: Rows) -> None:
        if result.title:
            self._line(self.paint(harmless(result.title), "head"))
        if result.plot:
            self._plot(result.plot)
        self._time_zero = result.time_zero
        result = _without_same(result)
        rows = iter(result.rows)
        measured = list(islice(rows, _MEASURED_ROWS))
        kinds = [result.kinds.get(c, "") for c in result.columns]
        kinds = [f"@{result.columns.index(k[3:])}" if k.startswith("of ") else k for k in kinds]
        cells = [self._cells(row, kinds) for row in measured]
        right = [_is_right(kind, [row[i] for row in measured]) for i, kind in enumerate(kinds)]
        widths = self._widths(result.columns, kinds, cells)
        fit = self._fitting(widths)
        if fit < len(widths):  # those that fit have more room then
            widths = self._widths(result.columns[:fit], kinds[:fit], [row[:fit] for row in cells])
        if result.columns:
            heads = [_heading(c, k) for c, k in zip(result.columns, kinds, strict=True)]
            self._table_line(heads[:fit], widths, right, "head")
        for line in chain(cells, (self._cells(row, kinds) for row in rows)):
            self._table_line(line[:fit], widths, right, None, kinds)
        if not measured and result.columns:  # without columns the note says it all
            self._line(self.paint("(no rows)", "dim"))
        if beyond := result.columns[fit:]:
            text = f"too wide for this terminal, --json has them: {', '.join(map(_one_line, beyond))}"
            for part in self._broken(text, 0):
                self._line(self.paint(part, "dim"))
        if result.note:
            for part in self._broken(harmless(result.note), 0):
                self._line(self.paint(part, "dim"))

    @show.register
    def _(self, result: Sheets) -> None:
        shown = [(table, list(table.rows)) for table in result.tables]
        for i, (table, rows) in enumerate((t, r) for t, r in shown if r):
            if i:
                self._line("")
            self.show(replace(table, rows=rows))
        self._notes(result.notes)

    def paint(self, text: str, style: str | None) -> str:
        """Return `text` in a style of this view, or as it is where there is no colour."""
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self.color and style and text else text

    def bar(self, share: float, cells: int = 20) -> str:
        """Return a bar that fills `share` (0 to 1) of `cells` characters."""
        share = min(max(share, 0.0), 1.0)
        if not self.unicode:
            return ("#" * round(share * cells)).ljust(cells)
        eighths = round(share * cells * 8)
        if share > 0:
            eighths = max(eighths, 1)
        full, rest = divmod(eighths, 8)
        return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(cells)

    def _filled(self, character: str) -> float:
        """Return how much of its cell a character of a bar fills."""
        return 1.0 if character in "█#" else (_EIGHTHS.index(character) / 8 if character in _EIGHTHS else 0.0)

    def spark(self, values: Sequence[float]) -> str:
        """Return one character a value, as high as its share of the largest."""
        top = max(values, default=0) or 1
        levels = _LEVELS if self.unicode else "_.:-=+*#"
        return "".join(levels[min(7, math.ceil(v / top * 8) - 1)] if v > 0 else " " for v in values)

    def _line(self, text: str) -> None:
        self.stream.write(text + "\n")

    def _verdict(self, verdict: Verdict, wide: int) -> None:
        marks = {"ok": "✓", "note": "·", "warning": "!", "error": "✗"} if self.unicode else {"ok": "+", "error": "x"}
        mark = self.paint(marks.get(verdict.severity, "!"), verdict.severity)
        first, *more = self._broken(harmless(verdict.finding), wide + 4)
        self._line(f"{mark} {harmless(verdict.subject).ljust(wide)}  {first}")
        advice = self._broken(harmless(verdict.advice), wide + 4) if verdict.advice else []
        for line in (*more, *(self.paint(line, "dim") for line in advice)):
            self._line(f"  {'':{wide}}  {line}")

    def _notes(self, notes: Sequence[str]) -> None:
        for note in notes:
            for number_of, line in enumerate(self._broken(harmless(note), 6)):
                self._line(f"{self.paint('note:', 'note') if not number_of else '     '} {line}")

    def _broken(self, text: str, indent: int) -> list[str]:
        """Return the lines of a text that stands behind `indent` characters, on a terminal broken at its width."""
        lines = text.split("\n")
        if self.width is None:
            return lines
        return [part for line in lines for part in _wrapped(line, max(self.width - indent, 20)) or [""]]

    def _cells(self, row: Sequence[Cell], kinds: Sequence[str]) -> list[str]:
        return [
            self._cell(value, str(row[int(kind[1:])]) if kind.startswith("@") else kind)
            for value, kind in zip(row, kinds, strict=True)
        ]

    def _cell(self, value: Cell, kind: str) -> str:
        if value is None:
            return ""
        if isinstance(value, int | float) and not isinstance(value, bool):
            if kind in {"ns", "time"}:
                return self._plain(duration(value - self._time_zero if kind == "time" else value))
            if kind == "bytes":
                return size(value)
            if kind == "percent":
                return f"{value:.1f} %"
            if kind == "bar":
                return self.bar(value)
            if kind == "count":
                return number(value)
            return f"{value:.6g}" if isinstance(value, float) else str(value)
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, bytes | bytearray | memoryview):
            raw = bytes(value)
            return raw[:16].hex(" ") + (f" ... ({len(raw)} bytes)" if len(raw) > 16 else "")
        if kind == "spark" and isinstance(value, list | tuple):
            return self.spark([float(v) for v in value])
        if isinstance(value, list | dict):
            return _one_line(json.dumps(value, default=str, ensure_ascii=False))
        return _one_line(str(value))

    def _plain(self, text: str) -> str:
        return text if self.unicode else text.replace("µ", "u")

    def _widths(self, columns: Sequence[str], kinds: Sequence[str], cells: Sequence[Sequence[str]]) -> list[int]:
        widths = [
            max([len(_heading(column, kinds[i]))] + [len(row[i]) for row in cells]) for i, column in enumerate(columns)
        ]
        if self.width is None:
            return widths
        # Too wide for the terminal: take from bars first, then from the widest, down to something still readable.
        for i, kind in enumerate(kinds):
            if kind == "bar":
                beyond = sum(widths) + 2 * (len(widths) - 1) - self.width
                widths[i] = max(min(widths[i], _LEAST_BAR), widths[i] - max(beyond, 0))
        beyond = sum(widths) + 2 * (len(widths) - 1) - self.width
        least = [_distinct([row[i] for row in cells]) for i in range(len(columns))] if beyond > 0 else widths
        while beyond > 0 and (longer := [i for i, width in enumerate(widths) if width > least[i]]):
            widths[max(longer, key=lambda i: widths[i])] -= 1
            beyond -= 1
        return widths

    def _fitting(self, widths: Sequence[int]) -> int:
        """Return how many columns, at least one, a line of the terminal has room for."""
        ends = accumulate(width + 2 for width in widths)
        return max(sum(end - 2 <= (self.width or end) for end in ends), 1)

    def _table_line(
        self,
        cells: Sequence[str],
        widths: Sequence[int],
        right: Sequence[bool],
        style: str | None,
        kinds: Sequence[str] = (),
    ) -> None:
        out = []
        for i, cell in enumerate(cells):
            text = cell
            if kinds and kinds[i] == "bar" and len(cell) > widths[i]:
                text = self.bar(sum(map(self._filled, cell)) / len(cell), widths[i])
            if self.width is not None and len(text) > widths[i]:
                text = text[: widths[i] - 1] + ("…" if self.unicode else "~")
            last = i == len(cells) - 1
            text = text.rjust(widths[i]) if right[i] else (text if last else text.ljust(widths[i]))
            out.append(self.paint(text, style or ("bar" if kinds and kinds[i] == "bar" else None)))
        self._line("  ".join(out).rstrip())

    def _plot(self, values: Sequence[float]) -> None:
        # One character a bucket: its largest value decides, since a plot of means hides the hitch.
        wide = min(self.width or 100, 120) - 14
        if not self.unicode or wide < 10 or not values:
            return
        buckets = list(_buckets(values, min(wide, len(values))))
        # A few far above the others (the first frame loads everything) would press the rest flat: cut them off.
        above = max(1, len(values) // 100)
        top, usual = max(buckets) or 1.0, 1.3 * sorted(values)[max(len(values) - 1 - above, 0)]
        cut = 0 < 2.5 * usual < top
        top = usual if cut else top
        rows = 4
        for row in range(rows, 0, -1):
            label = duration(top) if row == rows else ("0" if row == 1 else "")
            line = "".join(
                "↑" if cut and value > top and row == rows else _column(value / top * rows, row) for value in buckets
            )
            self._line(f"{label:>9} ┤{self.paint(line, 'bar')}")


def _distinct(cells: Sequence[str]) -> int:
    """Return the least width of a column: cells that differ differ there too, as far as that is possible."""
    different = len({*cells})
    widths = range(_LEAST, _LEAST_DISTINCT)
    return next((wide for wide in widths if len({cell[: wide - 1] for cell in cells}) == different), _LEAST_DISTINCT)


def _without_same(result: Rows) -> Rows:
    """Return a table without its columns of kind `same` whose cells all agree, which the note then says."""
    names = [c for c in result.columns if result.kinds.get(c) == "same"]
    if not names or not isinstance(result.rows, Sequence):
        return result
    left, said = list(result.columns), [result.note] if result.note else []
    for name in names:
        at = result.columns.index(name)
        values = [row[at] for row in result.rows]
        distinct = {value for value in values if value is not None}
        if len(distinct) <= 1:
            left.remove(name)
            but = f", except for {counted(values.count(None), 'row')}" if None in values else ""
            said += [f"{name.replace('_', ' ')}: {value}{but}" for value in distinct]
    keep = [result.columns.index(name) for name in left]
    rows = [[row[i] for i in keep] for row in result.rows]
    return replace(result, columns=tuple(left), rows=rows, note="; ".join(said) or None)


def filled(text: str, width: int) -> str:
    """Return a text whose lines are broken at `width`; what goes on is indented, behind a label (`why  ...`) if any."""
    lines = []
    for line in text.split("\n"):
        label = re.match(r"\s*(?:\S+ {2,})?", line)
        indent = len(label[0]) if label and label[0].strip() else len(label[0] if label else "") + _HANG
        lines += _wrapped(line, width, indent) or [""]
    return "\n".join(lines)


def _wrapped(line: str, width: int, indent: int = 0) -> list[str]:
    if len(line) <= width:
        return [line]
    import textwrap  # for long lines alone

    lead = line[: len(line) - len(line.lstrip())]
    kept = _TIME.sub("\u00a0", line.strip())  # a number stays with its unit
    parts = textwrap.wrap(kept, width, initial_indent=lead, subsequent_indent=" " * min(indent, width // 2),
                          break_long_words=False, break_on_hyphens=False)  # fmt: skip
    return [part.replace("\u00a0", " ") for part in parts] or [line]


def _column(level: float, row: int) -> str:
    part = level - (row - 1)
    if part <= 0:
        return " " if row > 1 else _LEVELS[0]
    return _LEVELS[min(7, max(0, math.ceil(part * 8) - 1))]


def _buckets(values: Sequence[float], count: int) -> Iterator[float]:
    for i in range(count):
        begin, end = i * len(values) // count, (i + 1) * len(values) // count
        yield max(values[begin : max(end, begin + 1)])


def _heading(column: str, kind: str) -> str:
    return "" if kind == "bar" else column


def _is_right(kind: str, values: Iterable[Cell]) -> bool:
    if kind == "bar":
        return False
    present = [v for v in values if v is not None]
    return bool(present) and all(isinstance(v, int | float) and not isinstance(v, bool) for v in present)


def _one_line(text: str) -> str:
    if text.isprintable():
        return text
    return harmless(text).replace("\n", "\\n").replace("\t", "\\t")


def wants_color(stream: TextIO) -> bool:
    """Tell whether to colour `stream`: NO_COLOR and TERM=dumb say no, FORCE_COLOR says yes, else a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return os.environ.get("TERM") != "dumb" and stream.isatty()
