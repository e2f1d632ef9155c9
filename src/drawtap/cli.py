"""The door: turn the arguments of a process into one call of a command, its result into output, errors into exit codes.

Exit codes: 0 ok, 1 findings or differences, 2 usage, 3 not available here, 4 input broken, 5 child failed;
`record` passes on the code of the program, 128 + n where signal n ended it. Data goes to standard output,
everything else to standard error. `DRAWTAP_DEBUG=1` shows the traceback of an error.
"""

from __future__ import annotations

import gc
import os
import re
import sys
import textwrap
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, get_args, get_origin

import click

import drawtap
from drawtap.commands import (
    AT_THE_PROMPT,
    COMMANDS,
    FIRST,
    GROUPS,
    KERNEL_TRACE,
    RECORDING,
    SECTIONS,
    Command,
    Opt,
    Options,
    Param,
    find,
)
from drawtap.commands.toolkit import OLD_NAMES, completion
from drawtap.errors import DrawtapError, InputError, UsageError, did_you_mean, no_file, original, recordings_in
from drawtap.plugins import PluginWarning
from drawtap.trace.engine import leave_at_exit, load_lazily, open_ahead

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

_OBJECTS = 100_000  # made before Python looks for circles
_PIPE_STATUS = 141  # what a shell shows for a program that SIGPIPE ended


class PipeClosedError(Exception):
    """Say that the reader of the output has closed its end."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run `drawtap ARGUMENTS` and exit."""
    # Most of what a short command makes are modules, which stay: looking for circles among them takes a tenth of it.
    gc.set_threshold(_OBJECTS)
    load_lazily()
    code = run(sys.argv[1:] if arguments is None else list(arguments))
    gc.freeze()
    if arguments is None:
        leave_at_exit(code)
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run `drawtap ARGUMENTS` and return its exit code. Never raises, except for KeyboardInterrupt's sake: 130."""
    warnings.showwarning = _show_warning
    words = [*arguments[1:], "--help"] if arguments[:1] == ["help"] else list(arguments)
    if " ".join(words[:2]) in OLD_NAMES:  # "show state": the old names may be of two words
        words = [" ".join(words[:2]), *words[2:]]
    if " ".join(words) in GROUPS:
        words.append("--help")
    try:
        code = _group()(args=words or ["--help"], prog_name="drawtap", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except (KeyboardInterrupt, click.Abort):
        _say("interrupted")
        return 130
    except (BrokenPipeError, PipeClosedError):
        # The reader has what it wanted. Python must not complain at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _PIPE_STATUS
    except click.ClickException as error:
        return _fail(from_click(error))
    except DrawtapError as error:
        return _fail(error)
    except OSError as error:
        return _fail(InputError(_os_message(error)))
    except Exception as error:
        if (ours := original(error)) is not None:
            return _fail(ours)
        _trace_if_wanted()
        _say(f"error: internal: {type(error).__name__}: {error}")
        _say("this is a fault of drawtap; DRAWTAP_DEBUG=1 shows where it happened", mark="hint")
        return 70


def click_command(command: Command, *, trace: object | None = None) -> click.Command:
    """Return the click command of a verb.

    With `trace` given, the verb works on that open recording and takes no FILE: the prompt's form.
    """
    params: list[click.Parameter] = []
    for param in command.params:
        if trace is not None and (param.kind == "trace" or param.of == KERNEL_TRACE):
            continue
        params.append(_click_parameter(param))
    if command.reads_trace and trace is None:
        params.append(click.Option(["--frame-end", "frame_end_"], metavar="RULE", help=_FRAME_END_HELP))
    if command.json or command.kernel:
        params.append(click.Option(["--json", "json_"], is_flag=True, help="Print JSON for programs."))
    # A rest of words is a program with options of its own; a rest of paths is only several files.
    rest = any(p.kind == "rest" and p.type is str and not p.opt.mixed for p in command.params)
    examples = "\n".join(map(_example, command.examples))
    return _Verb(
        command.name.rpartition(" ")[2],
        titles={p.name: p.title for p in command.params},
        params=params,
        callback=_callback(command, trace),
        help=_unwrapped(command.help),
        short_help=command.summary,
        epilog=f"\b\nExamples:\n{examples}" if examples else None,
        context_settings={
            "help_option_names": ["-h", "--help"],
            "max_content_width": _WIDTH,
            "allow_interspersed_args": not rest,
        },
    )


_WIDTH = 80  # of help, on terminals that are wider too
_NAME = 10
_FRAME_END_HELP = "Frames end with: auto, or function names separated by commas."


_NEGATIVE = re.compile(r"-\d+[:\d+#-]*")


def _as_typed(value: object) -> object:
    return value[1:] if isinstance(value, str) and value[:1] == " " and _is_value(value[1:]) else value


def _is_value(word: str) -> bool:
    """Tell whether a word that begins with - is a range that counts from the end, or SQL that begins with a comment."""
    return _NEGATIVE.fullmatch(word) is not None or re.match(r"--(\s|[^=\n]*\n)", word) is not None


class _Argument(click.Argument):
    """An argument with words about it, which click's own do not have."""

    def __init__(self, names: list[str], about: str, **rest: Any) -> None:
        super().__init__(names, **rest)
        about = about.strip()
        self.about = about and f"{about[0].upper()}{about[1:].rstrip('.')}."


class _Verb(click.Command):
    def __init__(self, name: str, *, titles: dict[str, str], **rest: Any) -> None:
        super().__init__(name, **rest)
        self._titles = titles  # under which heading a parameter stands

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # "-3:" is a range and "-- text" is SQL, no option. The verb gets it without the blank.
        if "--" not in args and not any(p.nargs == -1 for p in self.params):
            args = [f" {word}" if _is_value(word) else word for word in args]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(p.metavar or str(p.name), p.about) for p in self.params if isinstance(p, _Argument) and p.about]
        if rows:
            with formatter.section("Arguments"):
                formatter.write_dl(rows)
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            row = None if isinstance(param, click.Argument) else param.get_help_record(ctx)
            if row is not None:
                sections.setdefault(self._titles.get(param.name or "", Options.title), []).append(row)
        for title in sorted(sections, key=lambda title: title != Options.title):
            with formatter.section(title):
                formatter.write_dl(sections[title])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.epilog:
            formatter.write_paragraph()
            formatter.write(self.epilog.removeprefix("\b\n") + "\n")


class _Group(click.Group):
    # Verbs are imported when they are asked for: `drawtap --help` and a single verb both start at once.
    def __init__(self, name: str, prefix: str = "", **rest: Any) -> None:
        super().__init__(name, **rest)
        self._prefix = prefix

    def list_commands(self, ctx: click.Context) -> list[str]:
        names = [name.removeprefix(self._prefix) for name in COMMANDS.names() if name.startswith(self._prefix)]
        return sorted({name.partition(" ")[0] for name in names})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = self._prefix + cmd_name
        if name in GROUPS:
            return _subgroup(name)
        if " " in cmd_name and name not in OLD_NAMES:
            return None
        command = find(name)
        return None if command is None else click_command(command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        found = self.get_command(ctx, name)
        if found is None and not name.startswith("-"):
            before = f"drawtap {self._prefix}".rstrip()
            if not self._prefix and name in AT_THE_PROMPT:
                hint = f"{name} is a command of the prompt: drawtap shell FILE"
            elif Path(name).is_file():
                hint = f"a file comes after a command: {before} info {name}"
            else:
                hint = did_you_mean(name, self.list_commands(ctx)) or f"{before} --help lists the commands"
            raise UsageError(f"there is no command called {self._prefix + name!r}", hint=hint)
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self._prefix:
            formatter.write_paragraph()
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # As close as can be, so that all verbs fit two screens of 80 columns.
        commands = [c for name, c in COMMANDS.items() if name.startswith(self._prefix)]
        rows = {c.name: (c.name.removeprefix(self._prefix), c.summary) for c in commands}
        shown = [] if self._prefix else [name for name in FIRST if name in rows]
        if shown:
            self._write(formatter, "Begin with", [rows.pop(name) for name in shown])
        for section, title in SECTIONS.items():
            own = [c.name for c in commands if c.section == section and c.name in rows]
            single = [rows[name] for name in own if self._prefix or " " not in name]
            if section == "know" and not self._prefix:
                single += [(f"{group} ...", _of_group(group, about)) for group, about in GROUPS.items()]
            if single:
                self._write(formatter, title, single)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write(f"{self.epilog}\n")

    @staticmethod
    def _write(formatter: click.HelpFormatter, title: str, rows: list[tuple[str, str]]) -> None:
        indent = max(_NAME, *(len(name) for name, _ in rows)) + 4
        formatter.write(f"{title}:\n")
        for name, text in rows:
            head = f"  {name}".ljust(indent)
            formatter.write(textwrap.fill(text, _WIDTH, initial_indent=head, subsequent_indent=" " * indent) + "\n")


def _example(line: str) -> str:
    """Return an example with what it says at its end, or above it where that would not fit."""
    command, mark, why = line.partition("  # ")
    if not mark or len(line) + 2 <= _WIDTH:
        return f"  {line}"
    return f"  # {why}\n  {command.rstrip()}"


def _of_group(group: str, about: str) -> str:
    words = [name.removeprefix(f"{group} ") for name in COMMANDS.names() if name.startswith(f"{group} ")]
    return f"{about.partition(':')[0]}: {', '.join(words)}"


def _group() -> click.Group:
    return _Group(
        "drawtap",
        epilog="drawtap COMMAND --help explains a command; also --version, --completion SHELL.",
        params=[
            click.Option(
                ["--version"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_version,
                help="Print the version.",
            ),
            click.Option(
                ["--completion"],
                type=click.Choice(["bash", "zsh", "fish"]),
                is_eager=True,
                expose_value=False,
                callback=_completion,
                help="Print the completion script for a shell.",
            ),
        ],
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": _WIDTH},
    )


def _subgroup(name: str) -> click.Group:
    return _Group(
        name.rpartition(" ")[2],
        f"{name} ",
        help=GROUPS[name],
        epilog=f"drawtap {name} COMMAND --help explains a command, with examples.",
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": _WIDTH},
    )


def _version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        click.echo(f"drawtap {drawtap.__version__}")
        ctx.exit()


def _completion(ctx: click.Context, param: click.Parameter, value: Literal["bash", "zsh", "fish"] | None) -> None:
    if value:
        click.echo(completion(value).text, nl=False)
        ctx.exit()


def _click_parameter(param: Param) -> click.Parameter:
    if param.kind == "trace":
        shown = "FILE" if param.required else "[FILE]"
        return click.Argument([param.name], metavar=shown, required=param.required, type=click.Path())
    kind = _click_type(param.type, param.opt)
    metavar = param.opt.metavar or param.name.upper()
    if param.kind == "rest":
        path = click.Path(path_type=Path) if param.type is Path else click.Path()
        return _Argument([param.name], param.opt.help, nargs=-1, type=path, metavar=f"{metavar}...")
    if param.kind == "argument":
        shown = metavar if param.required or metavar.startswith("[") else f"[{metavar}]"
        # A default of None would be a value to click: what is required would not be asked for.
        default: dict[str, Any] = {} if param.required else {"default": param.default}
        about = param.opt.help
        return _Argument([param.name], about, required=param.required, type=kind, metavar=shown, **default)
    names = [param.name, param.word]
    if param.opt.short:
        names.insert(1, param.opt.short)
    if param.type is bool:
        return click.Option(names, is_flag=True, default=bool(param.default), help=param.opt.help)
    choice = isinstance(kind, click.Choice)
    without_value: dict[str, Any] = {}
    if param.opt.bare is not None:
        without_value = {"is_flag": False, "flag_value": param.opt.bare}
    if not param.required:
        without_value["default"] = param.default
    return click.Option(
        names,
        type=kind,
        multiple=get_origin(param.type) is tuple,
        required=param.required,
        metavar=None if choice else metavar,
        help=param.opt.help,
        show_default=param.default not in (None, "", ()),
        **without_value,
    )


def _click_type(kind: Any, opt: Opt) -> Any:
    if opt.choices is not None:
        return click.Choice([*opt.choices()])
    if get_origin(kind) is Literal:
        return click.Choice([str(a) for a in get_args(kind)])
    return {int: click.INT, float: click.FLOAT}.get(kind, str) if kind is not Path else click.Path(path_type=Path)


_WORK = frozenset({"ask", "replay", "edit"})  # sections whose verbs may take long, and talk to nobody meanwhile


def _callback(command: Command, trace: object | None) -> Callable[..., int]:
    from drawtap.view.progress import Progress

    def call(**values: Any) -> int:
        as_json = values.pop("json_", False)
        frame_end = values.pop("frame_end_", None)
        positional: list[object] = []
        values = {name: _as_typed(value) for name, value in values.items()}
        opened = None
        try:
            for param in command.params:
                if param.kind == "trace":
                    path = values.pop(param.name) if trace is None else None
                    if path is not None and command.asks and Path(path).exists():
                        open_ahead()
                    opened = _open(path, frame_end, kernel=command.kernel) if path is not None else None
                    positional.append(opened if trace is None else trace)
                elif param.kind == "argument":
                    positional.append(values.pop(param.name))
                elif param.kind == "rest":
                    positional.extend(values.pop(param.name))
            if as_json and not command.json and opened is not None and opened.KIND == RECORDING:
                raise UsageError(f"{command.name} --json is for traces of the kernel, and this is a recording")
            if opened is None:
                if trace is not None or command.serves or command.section not in _WORK:
                    return show(command.function(*positional, **values), as_json=as_json)
                with Progress() as progress:
                    result = command.function(*positional, **values)
                    progress.stop()
                return show(result, as_json=as_json)
            return _show_with_progress(opened, lambda: command.function(*positional, **values), as_json=as_json)
        except BrokenPipeError as error:
            raise PipeClosedError from error  # click would turn it into exit code 1
        finally:
            if opened is not None:
                opened.close()

    return call


def _show_with_progress(trace: Any, answer: Callable[[], object], *, as_json: bool) -> int:
    from drawtap.view.progress import Progress, cancelled_by_ctrl_c
    from drawtap.view.result import Rows

    with cancelled_by_ctrl_c(trace.cancel), Progress(trace.progress) as progress:
        result = answer()
        if isinstance(result, Rows) and not isinstance(result.rows, Sequence):
            return show(replace(result, rows=progress.until_first(result.rows)), as_json=as_json)
        progress.stop()
        return show(result, as_json=as_json)


def show(result: object, *, as_json: bool) -> int:
    """Print what a command returned and return the exit code that goes with it."""
    from drawtap.view.result import ExitStatus, Prompt, Rows, Sheets, Text, Verdicts

    if isinstance(result, Prompt):
        from drawtap.prompt import prompt

        return prompt(result)
    if as_json:
        from drawtap.view.data import write_json

        write_json(result, sys.stdout)
    else:
        from drawtap.view.text import TextView

        TextView().show(result)
    if isinstance(result, ExitStatus):
        return result.code
    tables = result.tables if isinstance(result, Sheets) else [result]
    found = any(isinstance(table, Rows | Text) and table.findings for table in tables)
    if found or (isinstance(result, Verdicts) and result.worst == "error"):
        return 1
    return 0


def _open(path: str, frame_end: str | None, *, kernel: bool) -> Any:
    file = Path(path)
    if not file.exists():
        raise no_file(path)
    trace = kernel_trace(file) if kernel else None
    if trace is not None:
        if frame_end is not None:
            trace.close()
            raise UsageError(f"--frame-end is for a recording, and {path} is a {trace.KIND}")
        return trace
    if file.is_dir():
        what = "neither a recording nor a trace of the kernel" if kernel else "not a recording"
        raise InputError(f"{path} is a folder, {what}", hint=recordings_in(file))
    try:
        return _with_frames(drawtap.open(path, frame_end=frame_end), frame_end)
    except InputError as error:
        if not kernel or error.hint:
            raise
        raise InputError(f"{error.message}, and no trace of the kernel of a known kind", hint=_kinds()) from None


def _with_frames(trace: Trace, frame_end: str | None) -> Trace:
    if frame_end is not None and trace.info["frame_end"]["why"].startswith("asked for, but never called"):
        _say(f"{trace.path} never calls {frame_end}: all of it is one frame", mark="warning")
    return trace


def _kinds() -> str:
    from drawtap.system.reader import READERS

    return f"traces of the kernel: {', '.join(READERS.names())}; CTF is a folder with a file metadata"


def kernel_trace(path: Path) -> Any:
    """Open a trace of the kernel; None where a file is a recording, or of no kind that is known."""
    from drawtap.trace.core import is_recording

    if is_recording(path):
        return None
    from drawtap.system import reader

    entry = reader.recognised(path)
    return None if entry is None else entry.open(path)


def from_click(error: click.ClickException) -> DrawtapError:
    """Return the error of ours that says what click found wrong with the arguments."""
    message = error.format_message().rstrip(".")
    message = message[:1].lower() + message[1:]
    hint = None
    near = _near_options(error) if isinstance(error, click.NoSuchOption) else []
    if isinstance(error, click.NoSuchOption):
        message = f"no such option: {error.option_name}"
    if near:
        hint = f"did you mean {' or '.join(near)}?"
    elif isinstance(error, click.UsageError) and error.ctx is not None:
        hint = error.ctx.get_usage().replace("Usage: ", "usage: ", 1) + f"; {error.ctx.command_path} --help says more"
    return UsageError(message, hint=hint)


def _near_options(error: click.NoSuchOption) -> list[str]:
    """Return the options that look like one that does not exist, without regard to their dashes."""
    import difflib

    params = error.ctx.command.get_params(error.ctx) if error.ctx is not None else []
    known = {name.lstrip("-"): name for param in params for name in param.opts if name.startswith("--")}
    return [known[word] for word in difflib.get_close_matches(error.option_name.lstrip("-"), known)]


def _os_message(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"


def _fail(error: DrawtapError) -> int:
    _trace_if_wanted()
    _say(f"error: {error.message}")
    if error.hint:
        _say(error.hint, mark="hint")
    return error.exit_code


def _trace_if_wanted() -> None:
    if os.environ.get("DRAWTAP_DEBUG"):
        import traceback

        traceback.print_exc()


def _say(text: str, mark: str = "drawtap") -> None:
    from drawtap.view.text import harmless, wants_color

    label = f"{mark}:"
    if wants_color(sys.stderr):
        label = f"\x1b[{'36' if mark == 'hint' else '1'}m{label}\x1b[0m"
    print(f"{label} {harmless(text)}", file=sys.stderr)


def _show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    if issubclass(category, PluginWarning) or os.environ.get("DRAWTAP_DEBUG"):
        _say(str(message), mark="warning")


def _unwrapped(text: str) -> str:
    # click fills paragraphs by itself; blocks that are indented (lists, tables) are kept as they stand.
    blocks = text.split("\n\n")
    return "\n\n".join(f"\b\n{block}" if "\n  " in f"\n{block}" else block for block in blocks)
