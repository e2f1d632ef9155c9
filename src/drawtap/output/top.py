"""Running programs on a terminal, live: `drawtap top`.

Shows what a source sends (objects as the manager's protocol has them) and hands keys on; it knows neither sockets nor
the manager.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Resize
from textual.message import Message
from textual.widgets import DataTable, Footer, Input, Static

from drawtap.live.protocol import limit_of

_LEVELS = "▁▂▃▄▅▆▇█"
_NAME, _SPARK = 13, 12  # the least; what the terminal has beyond 80 columns is theirs
_MOST_NAME, _MOST_SPARK = 32, 60
# With a blank on either side of each: 78 columns.
_COLUMNS = (("PID", 7), ("PROGRAM", _NAME), ("FPS", 5), ("P50", 5), ("P99", 5), ("FRAME TIMES", _SPARK), ("LIMIT", 5),
            ("CLASS", 10))  # fmt: skip
_STEP = 5.0


class Source(Protocol):
    """Where the programs come from, and where wishes go. Each may raise DrawtapError."""

    def looks(self) -> Iterator[Mapping[str, Any]]:
        """Yield what runs, again and again. Called in a thread of its own."""

    def limit(self, pid: int, surface: int | None, fps: float | None, *, free: bool = False) -> None:
        """Set or take back a limit."""

    def give_class(self, pid: int, importance: str) -> None:
        """Set the class of a program."""

    def record(self, pid: int) -> str:
        """Record some frames; returns where. Called in a thread of its own, may take long."""


@dataclass(frozen=True)
class _Row:
    program: Mapping[str, Any]
    surface: Mapping[str, Any] | None

    @property
    def key(self) -> str:
        return f"{self.program['id']}/{self.surface['number'] if self.surface else 0}"


class _Look(Message):
    def __init__(self, seen: Mapping[str, Any] | None, said: str = "") -> None:
        super().__init__()
        self.seen = seen
        self.said = said


def spark(times: Sequence[float], width: int = _SPARK) -> str:
    """Return the last frame times as a line of blocks, from the shortest to the longest among them.

    Frames that are shown together are the longest of them: a single long one must not get lost.
    """
    if not times:
        return ""
    most = width * max(1, len(times) // width)
    times = times[-most:]
    step = max(1, len(times) // width)
    groups = [max(times[i : i + step]) for i in range(0, len(times), step)]
    low, high = min(times), max(groups)
    # An even line where nothing scatters: noise must not look like mountains.
    span = max(high - low, 0.25 * high, 1e-9)
    return "".join(_LEVELS[min(7, int((value - low) / span * 7.99))] for value in groups)


def milliseconds(value: float | None) -> str:
    """Return a time for a narrow column."""
    if value is None or math.isnan(value):
        return "-"
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


@dataclass
class _Shown:
    seen: Mapping[str, Any] = field(default_factory=dict)
    rows: list[_Row] = field(default_factory=list)


class Top(App[None]):
    """The terminal view."""

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #head { height: 1; text-style: bold; }
    DataTable { height: 1fr; }
    #detail { height: 5; border-top: solid $secondary; padding: 0 1; }
    #ask { display: none; height: 3; }
    #ask.shown { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "Quit"),
        Binding("l", "ask_limit", "Limit"),
        Binding("plus,equals_sign", "more(1)", "+5", key_display="+"),
        Binding("minus", "more(-1)", "-5", key_display="-"),
        Binding("n", "let_go", "None"),
        Binding("f", "free", "Free"),
        Binding("c", "next_class", "Class"),
        Binding("r", "record", "Record"),
        Binding("escape", "no_ask", show=False),
    ]

    def __init__(self, source: Source, classes: Sequence[str]) -> None:
        super().__init__()
        self._source = source
        self._importances = list(classes)
        self._shown = _Shown()
        self._leaving = threading.Event()
        self._name_width, self._spark_width = _NAME, _SPARK

    def compose(self) -> ComposeResult:
        """Lay the screen out."""
        yield Static("drawtap top", id="head")
        table: DataTable[Text] = DataTable(cursor_type="row", zebra_stripes=False, cell_padding=1)
        with Vertical():
            yield table
        yield Static("", id="detail")
        yield Input(placeholder="frames a second, none, free", id="ask")
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        """Begin to look."""
        self._lay_columns()
        self.query_one(DataTable).focus()
        threading.Thread(target=self._look, daemon=True).start()

    def on_resize(self, event: Resize) -> None:
        """Give names and lines of frame times what room there is."""
        spare = max(0, event.size.width - 80)
        name = min(_MOST_NAME, _NAME + spare // 3)
        line = min(_MOST_SPARK, _SPARK + spare - (name - _NAME))
        if (name, line) != (self._name_width, self._spark_width):
            self._name_width, self._spark_width = name, line
            self._lay_columns()

    def _lay_columns(self) -> None:
        table = self.query_one(DataTable)
        chosen = self._chosen()
        table.clear(columns=True)
        own = {"PROGRAM": self._name_width, "FRAME TIMES": self._spark_width}
        for name, width in _COLUMNS:
            table.add_column(name, key=name, width=own.get(name, width))
        self._fill(chosen)

    def on_unmount(self) -> None:
        """Stop to look."""
        self._leaving.set()

    def _look(self) -> None:
        from drawtap.errors import DrawtapError

        while not self._leaving.is_set():
            try:
                for seen in self._source.looks():
                    if self._leaving.is_set():
                        return
                    self.post_message(_Look(seen))
            except DrawtapError as error:
                self.post_message(_Look(None, error.message))
            self._leaving.wait(1.0)

    # ---- showing ---------------------------------------------------------------------------------------------

    def on__look(self, message: _Look) -> None:
        """Show what came."""
        if message.seen is None:
            self._say_gone(message.said)
            return
        self._shown.seen = message.seen
        programs = sorted(message.seen["programs"], key=lambda p: (self._rank(p["class"]), p["id"]))
        self._shown.rows = [_Row(p, s) for p in programs for s in (p["surfaces"] or [None])]
        self._fill()
        self._say_head()
        self._say_detail()

    def _say_gone(self, said: str) -> None:
        # The last state is no longer true: the programs that the manager held run free.
        self._shown = _Shown()
        self._fill()
        what, _, more = said.partition(" (")
        self.query_one("#head", Static).update(Text(f"drawtap top   {what}; waiting for one", style="bold red"))
        hint = "Programs run free. drawtap manager & starts one."
        self.query_one("#detail", Static).update(Text(f"{more.removesuffix(')')}\n{hint}" if more else hint))

    def _rank(self, importance: str) -> int:
        return self._importances.index(importance) if importance in self._importances else len(self._importances)

    def _fill(self, chosen: _Row | None = None) -> None:
        table = self.query_one(DataTable)
        wanted = [row.key for row in self._shown.rows]
        if [str(key.value) for key in table.rows] != wanted:
            chosen = chosen or self._chosen()
            table.clear()
            for row in self._shown.rows:
                table.add_row(*self._cells(row), key=row.key)
            if chosen and chosen.key in wanted:
                table.move_cursor(row=wanted.index(chosen.key))
            return
        names = [name for name, _ in _COLUMNS]
        for row in self._shown.rows:
            for name, cell in zip(names, self._cells(row), strict=True):
                if table.get_cell(row.key, name) != cell:
                    table.update_cell(row.key, name, cell)

    def _cells(self, row: _Row) -> list[Text]:
        return _cells(row, self._name_width, self._spark_width)

    def _say_head(self) -> None:
        about = self._shown.seen["manager"]
        count = len(self._shown.seen["programs"])
        policies = ", ".join(about["policies"]) or "none"
        text = Text(f"drawtap top   {count} program{'' if count == 1 else 's'}   policies: {policies}")
        if about["config_error"]:
            text.append("   the configuration is refused", style="bold red")
        alarms = sum(len(p["alarms"]) for p in self._shown.seen["programs"])
        if alarms:
            text.append(f"   {alarms} alarm{'' if alarms == 1 else 's'}", style="bold red")
        self.query_one("#head", Static).update(text)

    def _say_detail(self) -> None:
        row = self._chosen()
        detail = self.query_one("#detail", Static)
        if row is None:
            detail.update("No program is managed; drawtap run -- PROGRAM starts one.")
            return
        detail.update(_about(row))

    def on_data_table_row_highlighted(self) -> None:
        """Tell more of the chosen program."""
        if self._shown.seen:
            self._say_detail()

    def _chosen(self) -> _Row | None:
        table = self.query_one(DataTable)
        if not table.row_count or table.cursor_row >= table.row_count:
            return None
        key = str(list(table.rows)[table.cursor_row].value)
        return next((row for row in self._shown.rows if row.key == key), None)

    # ---- wishes ----------------------------------------------------------------------------------------------

    def _do(self, wish: Callable[[_Row], str | None]) -> None:
        row = self._chosen()
        if row is None:
            return

        def work() -> None:
            from drawtap.errors import DrawtapError

            try:
                said = wish(row)
            except DrawtapError as error:
                self.call_from_thread(self.notify, str(error), severity="error")
                return
            if said:
                self.call_from_thread(self.notify, said)

        threading.Thread(target=work, daemon=True).start()

    def action_more(self, direction: int) -> None:
        """Raise or lower the limit of the chosen program."""

        def wish(row: _Row) -> None:
            limit = row.program["limit"]
            now = limit["fps"] if limit else row.program["fps"]
            wanted = math.floor(now / _STEP + 1e-6) * _STEP + direction * _STEP
            self._source.limit(row.program["pid"], None, max(1.0, wanted))

        self._do(wish)

    def action_let_go(self) -> None:
        """Take a limit back."""
        self._do(lambda row: self._source.limit(row.program["pid"], None, None))

    def action_free(self) -> None:
        """Keep policies away from a program."""
        self._do(lambda row: self._source.limit(row.program["pid"], None, None, free=True))

    def action_next_class(self) -> None:
        """Give the chosen program the next class."""

        def wish(row: _Row) -> None:
            place = (self._rank(row.program["class"]) + 1) % len(self._importances)
            self._source.give_class(row.program["pid"], self._importances[place])

        self._do(wish)

    def action_record(self) -> None:
        """Record some frames of the chosen program."""
        self._do(lambda row: f"recorded: {self._source.record(row.program['pid'])}")

    def action_ask_limit(self) -> None:
        """Ask for a limit."""
        ask = self.query_one("#ask", Input)
        ask.value = ""
        ask.add_class("shown")
        ask.focus()

    def action_no_ask(self) -> None:
        """Ask no more."""
        self.query_one("#ask", Input).remove_class("shown")
        self.query_one(DataTable).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the answer."""
        self.action_no_ask()
        word = event.value.strip()
        try:
            fps = None if word in ("", "none", "free") else float(word)
        except ValueError:
            self.notify(f"{word!r} is no number", severity="error")
            return
        if word:
            self._do(lambda row: self._source.limit(row.program["pid"], None, fps, free=word == "free"))


def _cells(row: _Row, name_width: int, spark_width: int) -> list[Text]:
    program, surface = row.program, row.surface
    many = len(program["surfaces"]) > 1  # a number behind the name must not be cut off
    which = f" #{surface['number']}" if surface and many else ""
    room = name_width - len(which) - (2 if program["recording"] else 0)
    name = (program["name"] if len(program["name"]) <= room else program["name"][: room - 1] + "…") + which
    times = (surface or {}).get("frame_ms") or {}
    fps = surface["fps"] if surface else None
    target = program["goal_fps"]
    alarmed = bool(program["alarms"]) or (target is not None and fps is not None and fps < 0.95 * target)
    limit = limit_of(program, surface)
    line = spark((surface or {}).get("recent_ms") or [], spark_width)
    return [
        Text(str(program["pid"]), justify="right"),
        Text(("● " if program["recording"] else "") + name, style="red" if program["recording"] else ""),
        Text(
            "-" if fps is None else f"{fps:.1f}" if fps < 999.95 else f"{fps:.0f}",
            justify="right",
            style="bold red" if alarmed else "bold",
        ),
        Text(milliseconds(times.get("p50")), justify="right"),
        Text(milliseconds(times.get("p99")), justify="right"),
        Text(line, style="cyan") if surface else Text("no frames", style="dim"),
        Text(f"{limit['fps']:g}" if limit else "-", justify="right", style="yellow" if limit else "dim"),
        Text(program["class"]),
    ]


def _about(row: _Row) -> Text:
    program, surface = row.program, row.surface
    limit = limit_of(program, surface)
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append(" ".join(program["command"]) or program["exe"], style="bold")
    if limit:
        text.append(f"\nlimited to {limit['fps']:g} FPS by {limit['origin']}: {limit['reason']}", style="yellow")
    elif program.get("observed"):
        text.append("\nobserved only: not started under drawtap, it cannot be limited or recorded", style="dim")
    else:
        text.append(f"\nnot limited: {program['free']}" if program.get("free") else "\nnot limited", style="dim")
    facts = [f"target {program['target_fps']:g}" if program["target_fps"] else "no target"]
    if program["profile"]:
        facts.append(f"profile {program['profile']}")
    if not surface:
        facts.append("no frames for 10 s" if program.get("frames") else "it has shown no frame")
    else:
        times = surface["frame_ms"] or {}
        if surface["width"]:
            facts.append(f"{surface['width']}x{surface['height']}")
        facts.append(f"p95 {milliseconds(times.get('p95'))} ms, max {milliseconds(times.get('max'))} ms")
        facts.append(f"{surface['waited']:.0%} waited")
    text.append("\n" + ", ".join(facts))
    for alarm in program["alarms"][:2]:
        text.append(f"\n{alarm['rule']} for {alarm['since_s']:.0f} s: {alarm['text']}", style="bold red")
    return text
