"""Arguments of verbs as click reads them, results as they are printed: what the door and the prompt share."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args, get_origin

import click

import drawtap
from drawtap.commands import KERNEL_TRACE, RECORDING, Command, Opt, Options, Param
from drawtap.errors import DrawtapError, InputError, UsageError, check_not_read, no_file, recordings_in
from drawtap.trace.engine import open_ahead

if TYPE_CHECKING:
    from drawtap.output.result import Prompt
    from drawtap.trace.trace import Trace


class PipeClosedError(Exception):
    """Say that the reader of the output has closed its end."""


class Printer(Protocol):
    """Prints the result of a command, and returns the exit code that goes with it."""

    def __call__(self, result: object, *, as_json: bool) -> int:
        """Print the result, as JSON for programs if they want it."""


def click_command(command: Command, *, trace: object | None = None, printer: Printer | None = None) -> click.Command:
    """Return the click command of a verb, which prints by `show` unless there is another printer.

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
        callback=_callback(command, trace, printer or show),
        help=_unwrapped(command.help),
        short_help=command.summary,
        epilog=f"\b\nExamples:\n{examples}" if examples else None,
        context_settings={
            "help_option_names": ["-h", "--help"],
            "max_content_width": HELP_WIDTH,
            "allow_interspersed_args": not rest,
        },
    )


HELP_WIDTH = 80  # of help, on terminals that are wider too


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


def _example(line: str) -> str:
    """Return an example with what it says at its end, or above it where that would not fit."""
    command, mark, why = line.partition("  # ")
    if not mark or len(line) + 2 <= HELP_WIDTH:
        return f"  {line}"
    return f"  # {why}\n  {command.rstrip()}"


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
        # A default of None would be a value to click, and click would not ask for a required parameter.
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


def _callback(command: Command, trace: object | None, printer: Printer) -> Callable[..., int]:
    from drawtap.output.progress import Progress

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
            read = [*([Path(opened.path)] if opened is not None else []), *positional]
            if isinstance(output := values.get("output"), Path):
                check_not_read(output, [*read, values.get("base")])  # with --force too
            warns = not (command.name == "info" or command.serves)  # these say so in their own words
            if warns:
                _say_unfinished(read)
            if as_json and not command.json and opened is not None and opened.KIND == RECORDING:
                raise UsageError(f"{command.name} --json is for traces of the kernel, and this is a recording")
            if opened is None:
                if trace is not None or command.serves or command.section not in _WORK:
                    code = printer(command.function(*positional, **values), as_json=as_json)
                else:
                    with Progress() as progress:
                        result = command.function(*positional, **values)
                        progress.stop()
                    code = printer(result, as_json=as_json)
                if warns:
                    _say_damaged(None, read)
                return code
            result = _show_with_progress(opened, lambda: command.function(*positional, **values), as_json=as_json)
            code = result if isinstance(result, int) else printer(result, as_json=as_json)
            if warns:
                _say_damaged(opened, read)
            return code
        except BrokenPipeError as error:
            raise PipeClosedError from error  # click would turn it into exit code 1
        finally:
            if opened is not None:
                opened.close()

    return call


def _say_unfinished(files: Sequence[object]) -> None:
    """Say which recordings have no end: an answer about what is left looks like one about the whole run."""
    from drawtap.trace.core import is_finished, is_recording

    for file in dict.fromkeys(files):
        if not isinstance(file, Path) or not file.is_file():
            continue
        with contextlib.suppress(OSError):
            if is_recording(file) and not is_finished(file):
                text = f"{file} has no end: it was cut off, or is still written; drawtap info {file} says what is there"
                say(text, mark="warning")


def _say_damaged(trace: Any, files: Sequence[object]) -> None:
    """Say what of recordings could not be read for the answer; what the answer did not need is not looked at.

    `trace` is still open, if not None; the verb has opened and closed `files`.
    """
    from drawtap.trace.core import damaged

    met = {file: damaged.pop(os.fspath(file), []) for file in files if isinstance(file, Path)}
    if trace is not None and trace.KIND == RECORDING and trace.core.is_open:
        met[Path(trace.path)] = trace.core.damage()
    for path, damage in met.items():
        if damage:
            more = f", and {len(damage) - 1} more" if len(damage) > 1 else ""
            text = f"{path} is damaged: {damage[0]}{more}; this answer is about what is left"
            say(f"{text}; drawtap info {path} says what is there", mark="warning")


def _show_with_progress(trace: Any, answer: Callable[[], object], *, as_json: bool) -> int | Prompt:
    """Show the answer and return the exit code; return a prompt, which has a Ctrl-C of its own."""
    from drawtap.output.progress import Progress, cancelled_by_ctrl_c
    from drawtap.output.result import Prompt, Rows

    with cancelled_by_ctrl_c(trace.cancel), Progress(trace.progress) as progress:
        result = answer()
        if isinstance(result, Rows) and not isinstance(result.rows, Sequence):
            return show(replace(result, rows=progress.until_first(result.rows)), as_json=as_json)
        progress.stop()
        return result if isinstance(result, Prompt) else show(result, as_json=as_json)


def show(result: object, *, as_json: bool) -> int:
    """Print what a command returned and return the exit code that goes with it."""
    from drawtap.output.result import ExitStatus, Rows, Sheets, Text, Verdicts

    if as_json:
        from drawtap.output.data import write_json

        write_json(result, sys.stdout)
    else:
        from drawtap.output.text import TextView

        TextView().show(result)
    if isinstance(result, ExitStatus):
        return result.code
    tables = result.tables if isinstance(result, Sheets) else [result]
    findings = any(isinstance(table, Rows | Text) and table.findings for table in tables)
    if findings or (isinstance(result, Verdicts) and result.worst == "error"):
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
        say(f"{trace.path} never calls {frame_end}: all of it is one frame", mark="warning")
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


def say(text: str, mark: str = "drawtap") -> None:
    """Print a line for people to standard error, with what kind of line it is before it."""
    from drawtap.output.text import harmless, wants_color

    label = f"{mark}:"
    if wants_color(sys.stderr):
        label = f"\x1b[{'36' if mark == 'hint' else '1'}m{label}\x1b[0m"
    print(f"{label} {harmless(text)}", file=sys.stderr)


def _unwrapped(text: str) -> str:
    # click fills paragraphs by itself; blocks that are indented (lists, tables) are kept as they stand.
    blocks = text.split("\n\n")
    return "\n\n".join(f"\b\n{block}" if "\n  " in f"\n{block}" else block for block in blocks)
