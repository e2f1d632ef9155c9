"""The prompt of `drawtap shell`: SQL and all verbs, with history and completion."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from drawtap.cli import click_command, from_click, show
from drawtap.commands import COMMANDS
from drawtap.commands.sql import rows
from drawtap.errors import DrawtapError, UsageError, did_you_mean
from drawtap.trace.core import TABLES
from drawtap.view.result import Rows

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

_SQL = re.compile(
    r"\s*(select|with|from|values|describe|show|summarize|explain|pivot|pragma|set|create|copy|\()", re.IGNORECASE
)
_WORDS = (
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP BY",
    "ORDER BY",
    "LIMIT",
    "JOIN",
    "USING",
    "count(*)",
    "sum(",
    "avg(",
    "max(",
)


def prompt(trace: Trace) -> None:
    """Read lines and answer them until the end of input or `exit`."""
    verbs = {name: entry for name, entry in COMMANDS.items() if entry.reads_trace and name != "shell"}
    session = _Session(trace, sorted(verbs))
    interactive = sys.stdin.isatty()
    if interactive:
        session.use_readline()
        print("SQL, or: " + " ".join(sorted(verbs)) + " tables help exit", file=sys.stderr)
    while True:
        try:
            line = _line(interactive=interactive)
        except EOFError:
            if interactive:
                print(file=sys.stderr)
            return
        except KeyboardInterrupt:
            print("^C", file=sys.stderr)
            continue
        if line.strip() in {"exit", "quit", r"\q", ".quit", ".exit"}:
            return
        session.answer(line)


def _line(*, interactive: bool) -> str:
    line = input("drawtap> " if interactive else "")
    while line.endswith("\\"):
        line = line[:-1] + "\n" + input("    ...> " if interactive else "")
    return line


class _Session:
    def __init__(self, trace: Trace, verbs: Sequence[str]) -> None:
        self._trace = trace
        self._verbs = verbs
        self._matches: list[str] = []
        self._words: list[str] | None = None

    def answer(self, line: str) -> None:
        """Run one line; what goes wrong is printed, never raised."""
        text = line.strip().rstrip(";").strip()
        if not text:
            return
        try:
            self._run(text)
        except DrawtapError as error:
            print(f"error: {error.message}", file=sys.stderr)
            if error.hint:
                print(f"hint: {error.hint}", file=sys.stderr)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
        except BrokenPipeError:
            raise
        except OSError as error:
            print(f"error: {error}", file=sys.stderr)
        sys.stdout.flush()

    def _run(self, text: str) -> None:
        word = text.split(None, 1)[0]
        if word in {"help", "?"}:
            self._help(text.split()[1:])
        elif word == "tables":
            show(_tables(self._trace), as_json=False)
        elif word in self._verbs:
            try:
                click_command(COMMANDS.get(word), trace=self._trace)(
                    args=shlex.split(text)[1:], prog_name=word, standalone_mode=False
                )
            except click.ClickException as error:
                raise from_click(error) from error
            except (click.exceptions.Exit, click.Abort):
                pass
            except ValueError as error:  # an open quotation mark
                raise UsageError(str(error)) from error
        elif _SQL.match(text):
            show(rows(self._trace, text), as_json=False)
        else:
            raise UsageError(
                f"{word!r} is neither SQL nor a verb", hint=did_you_mean(word, self._verbs) or "help lists the verbs"
            )

    def _help(self, words: Sequence[str]) -> None:
        if words and words[0] in self._verbs:
            self._run(f"{words[0]} --help")
            return
        for name in self._verbs:
            print(f"  {name:<10} {COMMANDS.get(name).summary}")
        print("  tables     List the tables and their columns\n  exit       Leave (as Ctrl-D)\nAnything else is SQL.")

    def use_readline(self) -> None:
        """Give the prompt line editing, completion and a history that lasts."""
        import atexit
        import readline

        history = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "drawtap" / "history"
        try:
            history.parent.mkdir(parents=True, exist_ok=True)
            if history.exists():
                readline.read_history_file(history)
        except OSError:
            pass
        readline.set_history_length(2000)
        atexit.register(_quietly, lambda: readline.write_history_file(history))
        readline.set_completer(self.complete)
        readline.set_completer_delims(" \t\n,()=<>;\"'")
        readline.parse_and_bind("tab: complete")

    def complete(self, text: str, state: int) -> str | None:
        """Return the `state`-th completion of `text`: readline's protocol."""
        if state == 0:
            if self._words is None:
                self._words = [
                    *self._verbs,
                    "tables",
                    "help",
                    "exit",
                    *_WORDS,
                    *_names(self._trace),
                    *_options(self._verbs),
                ]
            lower = text.lower()
            self._matches = [w for w in dict.fromkeys(self._words) if w.lower().startswith(lower)]
        return self._matches[state] if state < len(self._matches) else None


def _tables(trace: Trace) -> Rows:
    # Tables of single functions are too many to list with their columns.
    names = trace.database.table_names()
    small = [name for name in names if name in {"calls", *TABLES}]
    rest = len(names) - len(small) - 1
    return Rows(
        ("table", "columns"),
        [(name, ", ".join(c.name for c in trace.database.columns(name))) for name in small],
        note=f'and {rest} tables of functions: DESCRIBE "glDrawArrays" lists the columns of one',
    )


def _options(verbs: Sequence[str]) -> list[str]:
    params = (p for verb in verbs for p in COMMANDS.get(verb).params if p.kind == "option")
    return ["--json", *(f"--{p.name.strip('_').replace('_', '-')}" for p in params)]


def _names(trace: Trace) -> list[str]:
    names = trace.database.table_names()
    return [*names, *(c.name for name in ("calls", *TABLES) for c in trace.database.columns(name))]


def _quietly(action: Callable[[], None]) -> None:
    with contextlib.suppress(OSError):
        action()
