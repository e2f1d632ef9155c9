"""The door: turn the arguments of a process into one call of a command, its result into output, errors into exit codes.

Exit codes: 0 ok, 1 findings or differences, 2 usage, 3 not available here, 4 input broken, 5 child failed,
6 memory or a disk is full; `record` passes on the code of the program, 128 + n where signal n ended it. Data goes to
standard output, everything else to standard error. `DRAWTAP_DEBUG=1` shows the traceback of an error.
"""

from __future__ import annotations

import errno
import gc
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NoReturn

import click

import drawtap
from drawtap.command_line import HELP_WIDTH, PipeClosedError, click_command, from_click, say, show
from drawtap.commands import AT_THE_PROMPT, COMMANDS, FIRST, GROUPS, SECTIONS
from drawtap.commands.toolkit import OLD_NAMES, completion, find
from drawtap.errors import DrawtapError, InputError, UsageError, did_you_mean, original
from drawtap.plugins import PluginWarning
from drawtap.trace.engine import leave_at_exit, load_lazily

_OBJECTS = 100_000  # made before Python looks for circles
_PIPE_STATUS = 141  # what a shell shows for a program that SIGPIPE ended


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
        say("interrupted")
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
        return _fail(_exhausted(error) or _of_surroundings(error) or InputError(_os_message(error)))
    except Exception as error:
        if (ours := original(error) or _exhausted(error) or _of_bytes(arguments)) is not None:
            return _fail(ours)
        _trace_if_wanted()
        say(f"error: internal: {type(error).__name__}: {error}")
        say("this is a fault of drawtap; DRAWTAP_DEBUG=1 shows where it happened", mark="hint")
        return 70


_NAME = 10


class _Group(click.Group):
    # Verbs are imported when somebody uses them: `drawtap --help` and a single verb both start at once.
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
        return None if command is None else click_command(command, printer=_show)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        command = self.get_command(ctx, name)
        if command is None and not name.startswith("-"):
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
        import textwrap  # for help alone

        indent = max(_NAME, *(len(name) for name, _ in rows)) + 4
        formatter.write(f"{title}:\n")
        for name, text in rows:
            head = f"  {name}".ljust(indent)
            formatter.write(textwrap.fill(text, HELP_WIDTH, initial_indent=head, subsequent_indent=" " * indent) + "\n")


def _show(result: object, *, as_json: bool) -> int:
    from drawtap.output.result import Prompt

    if isinstance(result, Prompt):
        from drawtap.prompt import prompt

        return prompt(result)
    return show(result, as_json=as_json)


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
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": HELP_WIDTH},
    )


def _subgroup(name: str) -> click.Group:
    return _Group(
        name.rpartition(" ")[2],
        f"{name} ",
        help=GROUPS[name],
        epilog=f"drawtap {name} COMMAND --help explains a command, with examples.",
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": HELP_WIDTH},
    )


def _version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        click.echo(f"drawtap {drawtap.__version__}")
        ctx.exit()


def _completion(ctx: click.Context, param: click.Parameter, value: Literal["bash", "zsh", "fish"] | None) -> None:
    if value:
        click.echo(completion(value).text, nl=False)
        ctx.exit()


def _exhausted(error: Exception) -> DrawtapError | None:
    from drawtap.trace.memory import exhausted  # where something is wrong alone

    return exhausted(error)


def _of_bytes(arguments: Sequence[str]) -> DrawtapError | None:
    # JSON, DuckDB and pages take text alone. Most verbs take such names all the same.
    for word in arguments:
        try:
            word.encode()
        except UnicodeEncodeError:
            what = f"{word!r} has bytes that are no UTF-8, which this verb cannot take"
            return UsageError(what, hint="name it in UTF-8")
    return None


def _of_surroundings(error: OSError) -> DrawtapError | None:
    if error.errno == errno.ENOTCONN or (error.errno == errno.ENXIO and error.filename == "/dev/stdout"):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains at exit
        return UsageError("standard output is closed", hint="> FILE or > /dev/null takes what is printed")
    try:
        Path.cwd()
    except OSError:
        return UsageError("the folder in which drawtap runs was deleted", hint="cd to another one")
    return None


def _os_message(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"


def _fail(error: DrawtapError) -> int:
    _trace_if_wanted()
    say(f"error: {error.message}")
    if error.hint:
        say(error.hint, mark="hint")
    return error.exit_code


def _trace_if_wanted() -> None:
    if os.environ.get("DRAWTAP_DEBUG"):
        import traceback

        traceback.print_exc()


def _show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    if issubclass(category, PluginWarning) or os.environ.get("DRAWTAP_DEBUG"):
        say(str(message), mark="warning")
