"""The prompt of `drawtap shell`: SQL, every verb, and the commands that make sense only where recordings stay open.

Built on cmd2: it has the line editing, the history, pipes and redirection, scripts (`run_script`, `@FILE`), aliases and
macros. No verb is implemented here: the prompt calls the same function as the command line, with the open recording of
the given name.
"""

from __future__ import annotations

import code
import contextlib
import cProfile
import importlib
import os
import pstats
import re
import runpy
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import cmd2
from cmd2 import Completions, Statement

import drawtap
from drawtap.command_line import HELP_WIDTH, PipeClosedError, click_command, from_click, kernel_trace, show
from drawtap.commands import COMMANDS, GROUPS, Command
from drawtap.commands.sql import rows
from drawtap.commands.toolkit import ALIASES, OLD_NAMES, find
from drawtap.errors import DrawtapError, UsageError, did_you_mean
from drawtap.output.progress import cancelled_by_ctrl_c
from drawtap.output.result import Prompt, Rows, Written
from drawtap.output.text import counted, wants_color
from drawtap.trace.core import TABLES
from drawtap.trace.workspace import Loaded, Workspace

_SQL = re.compile(
    r"\s*(\(|(select|with|from|values|describe|show(?!\s+(plugins|state)\b)|summarize"
    r"|explain|pivot|pragma|set|create|copy)"
    r"(?![\w-]))",  # show-state is a verb
    re.IGNORECASE,
)
_COMMENTS = re.compile(r"\A(\s*--[^\n]*(\n|\Z))+")
_KEYWORDS = (
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP BY",
    "ORDER BY",
    "LIMIT",
    "JOIN",
    "USING",
    "INTO",
    "count(*)",
    "sum(",
    "avg(",
)
_BEGINNINGS = ("SELECT", "FROM", "WITH", "DESCRIBE", "SUMMARIZE", "EXPLAIN", "CREATE", "COPY")
_OWN = {
    "load": "load FILE [as NAME]: open a recording",
    "use": "use NAME: make a recording the one that is meant where none is named",
    "traces": "traces: the recordings that are open",
    "new": "new [NAME]: make an empty recording",
    "save": "save [NAME] [FILE]: write a recording to a file; without FILE to its own",
    "close": "close [NAME]: close a recording",
    "tables": "tables: the tables that SQL knows, and their columns",
    "profiling": "profiling on|off: say after each command in which functions of drawtap its time went",
    "python": "python [FILE [WORD...]]: run a script, or read Python; trace is the current recording",
    "reload": "reload: read the verbs and plug-ins again from their files; recordings stay open",
    "help": "help [NAME]: the verbs, or one of them",
    "quit": "quit: leave (as exit and Ctrl-D)",
}
_NOT_HERE = frozenset({"shell", "completion", "new", "save", "python"})  # or more can be done here: _OWN
_UNWANTED = ("do_edit", "do_ipy", "do_py", "do_run_pyscript", "do_set", "do_shell", "do_shortcuts")
_NAME = re.compile(r"[A-Za-z_]\w*")
_PROFILED_FUNCTIONS = 20
_REGISTRIES = frozenset({"drawtap.analysis.rule"})  # what others have registered with must stay what it is


def prompt(wanted: Prompt) -> int:
    """Open the recordings, run the commands, then read lines until the end of input; return the exit code."""
    with Workspace(frame_end=wanted.frame_end) as workspace:
        for path in wanted.recordings:
            workspace.load(Path(path))
        interactive = wanted.stay and sys.stdin.isatty()
        analyzer = Analyzer(workspace, interactive=interactive)
        for line in wanted.commands:
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            if analyzer.onecmd_plus_hooks(line, add_to_history=False):
                return analyzer.worst
        if not wanted.stay:
            return analyzer.worst
        if interactive:
            opened = ", ".join(f"{one.name} = {one.trace.path.name}" for one in workspace)
            print(f"{opened or 'no recording is open: load FILE'}; SQL or verbs, help lists them", file=sys.stderr)
            analyzer.cmdloop()
        else:
            analyzer.read_all(sys.stdin)
        return 0


def _history_file() -> str:
    folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "drawtap"
    return str(folder / "history.dat")


class Analyzer(cmd2.Cmd):
    """Reads a line and does what it says: SQL, a verb, or one of its own commands."""

    def __init__(self, workspace: Workspace, *, interactive: bool) -> None:
        super().__init__(
            allow_cli_args=False,
            include_ipy=False,
            include_py=False,
            persistent_history_file=_history_file() if interactive else "",
            persistent_history_length=2000,
            silence_startup_script=True,
        )
        self.workspace = workspace
        self.worst = 0
        self._query = ""
        self._profiling = False
        self._words: tuple[object, list[str]] | None = None
        self.self_in_py = False
        self.hidden_commands += ["sql_text", "shortcuts"]

    # ---- lines -------------------------------------------------------------------------------------------

    @property
    def prompt(self) -> str:
        """The text before the line: the current recording."""
        current = self.workspace.current
        text = f"{current.name}> " if current else "drawtap> "
        return f"\x1b[1m{text}\x1b[0m" if wants_color(sys.stdout) else text

    @prompt.setter
    def prompt(self, value: str) -> None:
        pass  # cmd2 sets one when it starts

    def read_all(self, lines: Iterable[str]) -> None:
        """Run lines that nobody types; one that ends in a backslash goes on in the next."""
        whole = ""
        for line in lines:
            whole += line.rstrip("\n")
            if whole.endswith("\\"):
                whole = whole[:-1] + "\n"
                continue
            if self.onecmd_plus_hooks(whole, add_to_history=False):
                return
            whole = ""
        if whole.strip():
            self.onecmd_plus_hooks(whole, add_to_history=False)

    def onecmd_plus_hooks(self, line: str, *, add_to_history: bool = True, **rest: Any) -> bool:
        """Run one line. SQL is kept away from cmd2's parser, for which > and | and ; mean other things."""
        text = str(line).strip()
        if text in {"exit", r"\q", ".quit", ".exit"}:
            text = "quit"
        while text.endswith("\\"):
            try:
                text = text[:-1] + "\n" + self.read_input("    ...> ")
            except EOFError:
                text = text[:-1]
        if not _COMMENTS.sub("", text):
            return False
        words = text.split(None, 2)
        if len(words) > 1 and f"{words[0]} {words[1]}" in self._two_words():
            text = f"{words[0]}-{text[len(words[0]) :].lstrip()}"
        elif _SQL.match(_COMMENTS.sub("", text)):
            self._query, tail = _query_and_tail(text)
            if add_to_history and self._query:
                self.history.append(Statement(text, raw=text, command=text))
            return super().onecmd_plus_hooks(f"sql_text {tail}".strip(), add_to_history=False, **rest)
        return super().onecmd_plus_hooks(text, add_to_history=add_to_history, **rest)

    def default(self, statement: Statement) -> bool | None:
        """Run a verb, or say that there is none of that name."""
        name = self._full_name(statement.command)
        if name is None:
            near = did_you_mean(statement.command, [*self._verbs(), *_OWN]) or "help lists the verbs"
            self._complain(UsageError(f"{statement.command!r} is neither SQL nor a verb", hint=near))
            return None
        self.history.append(statement)
        words = [_bare(word) for word in statement.arg_list]
        self._guarded(lambda: self._verb(_verb_of(name), words))
        return None

    def get_all_commands(self) -> list[str]:
        """Return the names that Tab completes at the start of a line."""
        own = [n for n in super().get_all_commands() if f"do_{n}" not in _UNWANTED and n not in {"sql_text"}]
        return sorted({*own, *(n.replace(" ", "-") for n in COMMANDS.names() if n not in _NOT_HERE), "exit"})

    def _verbs(self) -> list[str]:
        return [name for name in COMMANDS.names() if name not in _NOT_HERE and " " not in name]

    def _two_words(self) -> list[str]:
        return [name for name in (*COMMANDS.names(), *OLD_NAMES) if " " in name]

    def _full_name(self, word: str) -> str | None:
        two = word.replace("-", " ", 1)
        for name in (word, two):
            if name not in _NOT_HERE and (name in OLD_NAMES or name in COMMANDS.names()):
                return None if name in ALIASES and ALIASES[name].verb in _NOT_HERE else name
        return None

    # ---- verbs -------------------------------------------------------------------------------------------

    def _verb(self, verb: Command, words: list[str]) -> None:
        trace: Loaded | None = None
        of_kernel = self._of_kernel(verb, words)
        if verb.reads_trace and not set(words) & {"-h", "--help"} and not of_kernel:
            trace = self.workspace.get(words.pop(0) if words and words[0] in self.workspace else None)
        words = [self._path_of(word) for word in words]
        made = self._outputs(verb, words)
        before = trace.trace if trace else None
        try:
            given = before if before is not None else (object() if verb.reads_trace and not of_kernel else None)
            command = click_command(verb, trace=given)
            with cancelled_by_ctrl_c(before.cancel) if before is not None else contextlib.nullcontext():
                status = command(args=words, prog_name=verb.name, standalone_mode=False)
            self.worst = max(self.worst, status if isinstance(status, int) else 0)
        except click.ClickException as error:
            raise from_click(error) from error
        except (click.exceptions.Exit, click.Abort):
            return
        finally:
            for name, path in made:
                if path.exists():
                    loaded = self.workspace.load(path, name, saved=False)
                    self._say(f"{loaded.name}: {len(loaded.trace.calls)} calls, until save {loaded.name} FILE")

    def _of_kernel(self, verb: Command, words: list[str]) -> bool:
        """Tell whether a verb is to read a trace of the kernel: these are not opened here, but named by their file."""
        if not verb.kernel or not words or words[0] in self.workspace or not Path(words[0]).exists():
            return False
        opened = kernel_trace(Path(words[0]))
        if opened is None:
            return False
        opened.close()
        return True

    def _path_of(self, word: str) -> str:
        return str(self.workspace.get(word).trace.path) if word in self.workspace else word

    def _outputs(self, verb: Command, words: list[str]) -> list[tuple[str, Path]]:
        """Find names of recordings to be made (-o NAME) and put paths in their place; a missing -o gets a name."""
        option = next((p for p in verb.params if p.name == "output"), None)
        if option is None or verb.name in {"export", "record", "report"} or set(words) & {"-h", "--help"}:
            return []
        made = []
        for at, word in enumerate(words):
            before, _, after = word.partition("=")
            if at and words[at - 1] in {"-o", "--output"} and _NAME.fullmatch(word):
                made.append((word, self.workspace.new_path(word)))
                words[at] = str(made[-1][1])
            elif before == "--output" and _NAME.fullmatch(after):
                made.append((after, self.workspace.new_path(after)))
                words[at] = f"--output={made[-1][1]}"
        named = any(w == "-o" or w.startswith(("--output", "-o")) for w in words)
        makes = option.required or (verb.name == "simplify" and "--dry-run" not in words)
        if not named and makes:
            name = self.workspace.free_name()
            made.append((name, self.workspace.new_path(name)))
            words += ["--output", str(made[-1][1])]
        return made

    def do_sql_text(self, _: Statement) -> None:
        """Answer the query that the line was."""
        self._guarded(self._sql)

    def _sql(self) -> None:
        if not self._query:
            return
        current = self.workspace.get()
        database = current.trace.database
        with cancelled_by_ctrl_c(current.trace.cancel):
            answer = rows(current.trace, self._query)
            made = database.inserted
            show(answer, as_json=False)
        if made is not None and made.parent == self.workspace.folder:
            self.workspace.load(made, made.stem, saved=False)

    # ---- commands of its own -----------------------------------------------------------------------------

    def do_load(self, statement: Statement) -> None:
        """Open a recording: load FILE [as NAME]."""
        words = [_bare(w) for w in statement.arg_list]
        if len(words) == 3 and words[1].lower() == "as":
            del words[1]
        self._guarded(lambda: self._load(words))

    def _load(self, words: Sequence[str]) -> None:
        if not 1 <= len(words) <= 2:
            raise UsageError("which file?", hint=_OWN["load"])
        loaded = self.workspace.load(Path(words[0]).expanduser(), words[1] if len(words) > 1 else None)
        calls, frames = counted(len(loaded.trace.calls), "call"), counted(len(loaded.trace.frames), "frame")
        self._say(f"{loaded.name}: {calls}, {frames}")

    def do_use(self, statement: Statement) -> None:
        """Make a recording the current one: use NAME."""
        self._guarded(lambda: self._say(f"{self.workspace.use(_one(statement, 'use')).name} is the current one"))

    def do_traces(self, _: Statement) -> None:
        """List the recordings that are open."""
        self._guarded(lambda: show(self._traces(), as_json=False))

    def _traces(self) -> Rows:
        rows = [
            (
                "*" if one is self.workspace.current else "",
                one.name,
                len(one.trace.calls),
                len(one.trace.frames),
                str(one.trace.path) if one.saved else "not saved",
            )
            for one in self.workspace
        ]
        return Rows(("", "name", "calls", "frames", "file"), rows, {"calls": "count", "frames": "count"})

    def do_new(self, statement: Statement) -> None:
        """Make an empty recording: new [NAME]."""
        name = statement.arg_list[0] if statement.arg_list else None
        self._guarded(lambda: self._say(f"{self.workspace.new(name).name}: empty"))

    def do_save(self, statement: Statement) -> None:
        """Write a recording to a file: save [NAME] [FILE]."""
        words = [_bare(w) for w in statement.arg_list]
        self._guarded(lambda: self._save(words))

    def _save(self, words: list[str]) -> None:
        name = words.pop(0) if words and words[0] in self.workspace else None
        if len(words) > 1:
            raise UsageError(f"{words[0]!r} is no recording that is open", hint=_OWN["save"])
        path, count = self.workspace.save(name, Path(words[0]).expanduser() if words else None)
        show(Written(str(path), count, "a recording"), as_json=False)

    def do_close(self, statement: Statement) -> None:
        """Close a recording: close [NAME]."""
        name = statement.arg_list[0] if statement.arg_list else None
        self._guarded(lambda: self._say(f"{self.workspace.close(name).name} is closed"))

    def do_tables(self, _: Statement) -> None:
        """List the tables of the current recording and their columns."""
        self._guarded(lambda: show(_tables(self.workspace.get()), as_json=False))

    def do_profiling(self, statement: Statement) -> None:
        """Say after each command where its time went: profiling on|off."""

        def switch() -> None:
            word = statement.arg_list[0].lower() if statement.arg_list else ("off" if self._profiling else "on")
            if word not in {"on", "off"}:
                raise UsageError(f"{word!r} is neither on nor off", hint=_OWN["profiling"])
            self._profiling = word == "on"
            self._say(f"profiling is {word}")

        self._guarded(switch, profiled=False)

    def do_python(self, statement: Statement) -> None:
        """Run a script or read Python: python [FILE [WORD...]]."""
        words = [_bare(w) for w in statement.arg_list]
        self._guarded(lambda: self._python(words))

    def _python(self, words: Sequence[str]) -> None:
        current = self.workspace.current
        names: dict[str, object] = {
            "drawtap": drawtap,
            "trace": current.trace if current else None,
            "traces": {one.name: one.trace for one in self.workspace},
            "workspace": self.workspace,
            "args": list(words[1:]),
        }
        if words:
            script = Path(words[0]).expanduser()
            if not script.is_file():
                raise UsageError(f"there is no file {script}")
            try:
                runpy.run_path(str(script), init_globals=names, run_name="__main__")
            except DrawtapError:
                raise
            except Exception as error:
                raise UsageError(f"{script} failed: {type(error).__name__}: {error}") from error
            return
        known = ", ".join(names)
        code.interact(banner=f"Python; there are {known}. Ctrl-D goes back.", local=names, exitmsg="")

    def do_reload(self, _: Statement) -> None:
        """Read the verbs and plug-ins again."""
        self._guarded(self._reload)

    def _reload(self) -> None:
        added = {
            inner.__module__ for _, c in COMMANDS.items() if not (inner := c.function).__module__.startswith("drawtap.")
        }
        packages = ("drawtap.commands.", "drawtap.analysis.", "drawtap.formats.")
        wanted = [name for name in sys.modules if name.startswith(packages) and name not in _REGISTRIES]
        for name in [*wanted, *added]:
            if name in sys.modules:
                importlib.reload(sys.modules[name])
        self._say(f"{len(wanted) + len(added)} modules were read again")

    def do_quit(self, _: Statement | str) -> bool:
        """Leave."""
        return True

    def do_help(self, statement: Statement | str) -> None:
        """List the verbs, or explain one."""
        words = statement.arg_list if isinstance(statement, Statement) else statement.split()
        self._guarded(lambda: self._help(words))

    def _help(self, words: Sequence[str]) -> None:
        if words:
            name = self._full_name("-".join(words)) or self._full_name(words[0])
            if name is not None:
                self._verb(_verb_of(name), ["--help"])
            elif words[0] in _OWN:
                print(_OWN[words[0]])
            else:
                near = did_you_mean(words[0], [*COMMANDS.names(), *_OWN])
                raise UsageError(f"there is no verb called {words[0]!r}", hint=near)
            return
        verbs = [(n, COMMANDS.get(n).summary) for n in COMMANDS.names() if n not in _NOT_HERE]
        own = [(n, text.partition(": ")[2]) for n, text in _OWN.items()]
        wide = max(len(n) for n, _ in [*verbs, *own])
        for title, entries in (("Verbs", verbs), ("At this prompt", own)):
            print(f"{title}:")
            for name, text in entries:
                _folded(text, f"  {name:<{wide}}  ")
        _folded(", ".join(name for name in ALIASES if self._full_name(name)), "Old names: ", indent=2)
        _folded("! runs a command of the shell, @ a file of commands; | and > hand output on. Anything else is SQL.")

    # ---- what goes wrong ---------------------------------------------------------------------------------

    def _guarded(self, action: Callable[[], object], *, profiled: bool = True) -> None:
        """Do something; what goes wrong is printed, never raised."""
        profile = cProfile.Profile() if self._profiling and profiled else None
        try:
            # Where cmd2 redirects its own output, the output of the verbs goes too.
            with contextlib.redirect_stdout(self.stdout):
                if profile is None:
                    action()
                else:
                    profile.runcall(action)
                sys.stdout.flush()
        except DrawtapError as error:
            self._complain(error)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
        except (BrokenPipeError, PipeClosedError):
            pass  # the reader of a pipe has what it wanted
        except OSError as error:
            self._complain(DrawtapError(str(error)))
        if profile is not None:
            statistics = pstats.Stats(profile, stream=self.stdout)
            statistics.sort_stats("cumulative").print_stats(_PROFILED_FUNCTIONS)
            self.stdout.flush()  # before what a command of the shell writes next

    def _complain(self, error: DrawtapError) -> None:
        self.worst = max(self.worst, error.exit_code)
        color = wants_color(sys.stderr)
        print(f"{_painted('error:', '31', color)} {error.message}", file=sys.stderr)
        if error.hint:
            print(f"{_painted('hint:', '36', color)} {error.hint}", file=sys.stderr)

    def _say(self, text: str) -> None:
        print(text)

    # ---- completion --------------------------------------------------------------------------------------

    def complete(self, text: str, line: str, begidx: int, endidx: int, custom_settings: Any = None) -> Completions:
        """Complete a word: the first one of a line is a verb or begins SQL."""
        if custom_settings is not None or line[:begidx].strip() or text[:1] in set("!@"):
            return super().complete(text, line, begidx, endidx, custom_settings)
        words = [*self.get_visible_commands(), *self.aliases, *self.macros]
        words += [word.lower() for word in _BEGINNINGS] if text.islower() else _BEGINNINGS
        return self.basic_complete(text, line, begidx, endidx, words)

    def completedefault(self, *about: Any) -> Completions:
        """Complete options, recordings, files; in SQL tables, columns and functions."""
        text, line, begin, end = str(about[0]), str(about[1]), int(about[2]), int(about[3])
        verb = line.split(None, 1)[0] if line.split() else ""
        if verb in GROUPS:
            if not line[len(verb) : begin].strip():
                inner = [name.partition(" ")[2] for name in self._two_words() if name.startswith(f"{verb} ")]
                return self.basic_complete(text, line, begin, end, inner)
            verb = "-".join(line.split(None, 2)[:2])
        name = self._full_name(verb)
        if name is None or name == "sql":
            return self._complete_sql(text, line, begin, end)
        if text.startswith("-"):
            return self.basic_complete(text, line, begin, end, _options(_verb_of(name)))
        names = [one.name for one in self.workspace if one.name.startswith(text)]
        files = self.path_complete(text, line, begin, end)
        if not names:
            return files
        return self.basic_complete(text, line, begin, end, names)

    complete_load = cmd2.Cmd.path_complete
    complete_python = cmd2.Cmd.path_complete

    def complete_use(self, text: str, line: str, begin: int, end: int) -> Completions:
        """Complete names of recordings."""
        return self.basic_complete(text, line, begin, end, [one.name for one in self.workspace])

    complete_close = complete_use
    complete_save = complete_use

    def complete_help(self, text: str, line: str, begin: int, end: int) -> Completions:
        """Complete verbs."""
        return self.basic_complete(text, line, begin, end, [*self._verbs(), *_OWN])

    def _complete_sql(self, text: str, line: str, begin: int, end: int) -> Completions:
        last = re.split(r"[\s,()=<>;]", text)[-1]
        kept = text[: len(text) - len(last)]
        schema, dot, _ = last.partition(".")
        words: Iterable[str] = self._sql_words()
        if dot and schema in self.workspace:
            words = (f"{schema}.{name}" for name in self.workspace.get(schema).trace.database.table_names())
        lower = last.lower()
        return self.basic_complete(text, line, begin, end, [kept + w for w in words if w.lower().startswith(lower)])

    def _sql_words(self) -> list[str]:
        current = self.workspace.current
        if current is None:
            return list(_KEYWORDS)
        if self._words is None or self._words[0] is not current:
            database = current.trace.database
            columns = [c.name for name in ("calls", *TABLES) for c in database.columns(name)]
            names = [*_KEYWORDS, *database.table_names(), *columns, *(one.name + "." for one in self.workspace)]
            self._words = (current, list(dict.fromkeys(names)))
        return self._words[1]


for _name in _UNWANTED:
    if hasattr(Analyzer, _name) and _name != "do_shell":
        setattr(Analyzer, _name, None)


def _folded(text: str, head: str = "", *, indent: int | None = None) -> None:
    behind = " " * (len(head) if indent is None else indent)
    print(textwrap.fill(text, HELP_WIDTH, initial_indent=head, subsequent_indent=behind, break_on_hyphens=False))


def _verb_of(name: str) -> Command:
    verb = find(name)
    if verb is None:
        raise UsageError(f"there is no verb called {name!r}", hint=did_you_mean(name, COMMANDS.names()))
    return verb


def _bare(word: str) -> str:
    return word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "'\"" else word


def _painted(text: str, style: str, color: bool) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if color else text


def _one(statement: Statement, command: str) -> str:
    if len(statement.arg_list) != 1:
        raise UsageError("which one?", hint=_OWN[command])
    return str(statement.arg_list[0])


def _query_and_tail(text: str) -> tuple[str, str]:
    """Split at the last `;` outside of text, where a pipe or a file comes after it."""
    quote = ""
    at = len(text)
    for i, c in enumerate(text):
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c == ";" and re.match(r"\s*(\||>|$)", text[i + 1 :]):
            at = i
            break
    return text[:at].strip(), text[at + 1 :].strip()


def _options(verb: Command) -> Iterator[str]:
    for param in verb.params:
        if param.kind == "option":
            yield f"--{param.name.strip('_').replace('_', '-')}"
    if verb.json:
        yield "--json"
    yield "--help"


def _tables(loaded: Loaded) -> Rows:
    # Tables of single functions are too many to list with their columns.
    database = loaded.trace.database
    names = database.table_names()
    small = [name for name in names if name == "calls" or database.is_small(name)]
    rest = len(names) - len(small) - 1
    return Rows(
        ("table", "columns"),
        [(name, ", ".join(c.name for c in database.columns(name))) for name in small],
        note=f'and {rest} tables of functions: DESCRIBE "glDrawArrays" lists the columns of one',
    )
