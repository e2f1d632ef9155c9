"""Other names of verbs. They work on the command line, at the prompt and in Python; the list of verbs has none of them.

Some are the commands of Kyostila's Graphics Quality Analysis Toolkit (its Table 2). Others are names that drawtap's own
verbs had, or words for one option of a verb. Such a name is a present verb with some of its options set, or with
options that are arguments here. The functions at the end are commands of the prompt that also work on files, and names
whose arguments were others.
"""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from drawtap.commands import COMMANDS, RECORDING, Command, Opt, Param, made
from drawtap.errors import UsageError, check_target, no_file
from drawtap.output.result import Prompt, Rows, Text, Written

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class Alias:
    """A present verb: options that the old name implies, options that are arguments of it, arguments it lacks.

    `kernel`: it is for traces of the kernel alone. `shorts` are short spellings that its options had, `options` its
    options that are arguments of the verb. `needed` are options that it cannot do without, with their words here.
    """

    verb: str
    values: Mapping[str, object] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    kernel: bool = False
    shorts: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    needed: Mapping[str, str] = field(default_factory=dict)


_CHANGES = ("set_", "drop", "replace", "insert", "script", "config", "renumber", "check")
_KERNEL = ("event", "from_", "to")

ALIASES: Mapping[str, Alias] = {
    # Table 2 of the thesis.
    "calc-frame-stats": Alias("stats", {"per_frame": True}),
    "calc-stats": Alias("stats", {"per_frame": False}, without=("span",)),
    "call-histogram": Alias("histogram"),
    "extract-state": Alias("extract"),
    "load": Alias("shell"),
    "load-inst": Alias("sensors", without=("save",)),
    "merge": Alias("join", {"by_time": True}),
    "play": Alias("replay"),
    "renumber": Alias("edit", {"renumber": True}),
    "save-inst": Alias("sensors", arguments=("save",), without=("readings",)),
    "select": Alias("sql"),
    "set-egl-config": Alias("edit", arguments=("config",)),
    "show plugins": Alias("doctor", {"plugins": True}, without=("program", "clean", "yes")),
    "show state": Alias("state"),
    # Names that verbs of drawtap had.
    "apps": Alias("top", {"once": True}),
    "cut": Alias("edit", arguments=("keep",), without=_CHANGES),
    "engines": Alias("replay", {"engines": True}, without=("recording",)),
    "grep": Alias("list", arguments=("grep",), shorts={"calls": "-c"}, options=("calls",), without=_KERNEL),
    "metrics": Alias("profile", {"list": True}),
    "observe": Alias("top", {"observe": True}, without=("program", "once", "period")),
    "plugins": Alias("doctor", {"plugins": True}, without=("program", "clean", "yes")),
    "policy list": Alias("policy", without=("policies",)),
    "policy try": Alias("policy", {"simulate": True}),
    "redundancy": Alias("simplify", {"dry_run": True}, without=("output",)),
    "rules": Alias("checklist", {"list": True}, arguments=("explain",), without=("trace",)),
    "system export": Alias("export", kernel=True),
    "system info": Alias("info", kernel=True),
    "system list": Alias("list", kernel=True, shorts={"limit": "-n"}),
    "system report": Alias("report", kernel=True),
    "system sql": Alias("sql", kernel=True),
    "trace": Alias("record", arguments=("pid",), without=("program",)),
    "verify-state": Alias("verify", {"state": True}),
    # A word for what one option does.
    "sign": Alias("verify", without=("state", "every", "signers"), needed={"sign": "key"}),
}


def find(name: str) -> Command | None:
    """Return the verb called `name`, by its present or an old name; None where there is none."""
    if name in OLD_NAMES:
        return command_of(name)
    try:
        return COMMANDS.get(name)
    except UsageError:
        return None


@functools.cache
def command_of(name: str) -> Command:
    """Return the verb that the old name `name` means, one of OLD_NAMES."""
    if name in _FUNCTIONS:
        function, examples, json = _FUNCTIONS[name]
        return made(name, function, "know", examples, json=json)
    alias = ALIASES[name]
    verb = COMMANDS.get(alias.verb)
    gone = {*alias.values, *alias.without, *(p.name for p in verb.params if alias.kernel and p.of == RECORDING)}
    kept = [p for p in verb.params if p.name not in gone and p.name not in alias.arguments]
    kept = [replace(p, opt=replace(p.opt, short=alias.shorts.get(p.name, p.opt.short))) for p in kept]
    kept = [replace(p, kind="option") if p.name in alias.options else p for p in kept]
    kept = [
        replace(p, required=True, opt=replace(p.opt, word=alias.needed[p.name], metavar="KEY"))
        if p.name in alias.needed
        else p
        for p in kept
    ]
    kept.sort(key=lambda p: p.kind == "option")
    moved = [_as_argument(next(p for p in verb.params if p.name == n)) for n in alias.arguments]
    at = next((i for i, p in enumerate(kept) if p.kind == "option"), len(kept))
    params = (*kept[:at], *moved, *kept[at:])
    return replace(verb, name=name, function=_called(verb, alias, params), params=params)


def _as_argument(param: Param) -> Param:
    # "explain" and "keep" may be left out as options may; what the verb cannot do without has no default.
    needed = param.name not in {"explain", "keep"}
    return replace(param, kind="argument", required=needed, opt=replace(param.opt, short=None))


def _called(verb: Command, alias: Alias, params: tuple[Param, ...]) -> Callable[..., object]:
    """Return a function that is called as `params` say and calls the verb as its own say."""
    names = [p.name for p in params if p.kind in ("trace", "argument")]

    @functools.wraps(verb.function)
    def call(*given: object, **options: object) -> object:
        values = {**alias.values, **options, **dict(zip(names, given, strict=False))}
        rest = given[len(names) :]
        positional = [values.pop(p.name, p.default) for p in verb.params if p.kind in ("trace", "argument")]
        if alias.kernel and isinstance(positional[0], Path):  # as these were called in Python
            from drawtap.system import reader

            with reader.open(positional[0]) as opened:
                return verb.function(opened, *positional[1:], *rest, **values)
        return verb.function(*positional, *rest, **values)

    del call.__dict__["__wrapped__"]  # its signature is another
    return call


def new(
    file: Annotated[Path, Opt("where to")],
    *,
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
) -> Written:
    """Write a recording without calls.

    Others are joined to it. At the prompt new NAME makes one that has no file until save NAME FILE.
    """
    from drawtap.trace.edit import empty

    check_target(file, force=force, replaced=True)
    empty(file)
    return Written(str(file), file.stat().st_size, "a recording")


def save(
    trace: Trace,
    file: Annotated[Path, Opt("where to")],
    *,
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
) -> Written:
    """Write a recording to another file, as it is.

    At the prompt save [NAME] [FILE] gives a recording that was made there a file; other formats are those of export.
    """
    from drawtap.trace.workspace import copied

    check_target(file, force=force, replaced=True)
    return Written(str(file), copied(trace.path, file), "a recording")


def python(
    recording: Annotated[Path, Opt("a recording", metavar="FILE")],
    *script: Annotated[str, Opt("a script and its words; without one Python is read", metavar="[SCRIPT] [WORD]")],
) -> Prompt:
    """Run a script of your own on a recording, or read Python.

    The script finds the recording as trace, its words as args, and drawtap itself; the same as python SCRIPT at the
    prompt of drawtap shell. A script that fails gives exit code 2.
    """
    if not recording.is_file():
        raise no_file(recording)
    return Prompt((str(recording),), (shlex.join(["python", *script]),), stay=False)


def focus(
    program: Annotated[
        str | None, Opt("a process number, or a name with * and ?; none; unknown", metavar="PROGRAM")
    ] = None,
    *,
    follow: Annotated[bool, Opt("Ask the X server of $DISPLAY again and again, until Ctrl-C.")] = False,
    every: Annotated[float, Opt("Seconds between looks at the focus.", None, "S")] = 0.25,
) -> Rows:
    """Tell the manager which program has the focus: drawtap limit --focus."""
    from drawtap.commands.limit import limit

    if follow == (program is not None):
        raise UsageError(
            "which program has the focus?" if program is None else "--follow finds the program by itself",
            hint="drawtap limit --focus PROGRAM, or drawtap limit --focus follow",
        )
    return limit(focus="follow" if follow else program, every=every)


def completion(shell: Annotated[Literal["bash", "zsh", "fish"], Opt("which shell", metavar="bash|zsh|fish")]) -> Text:
    """Print the completion script for a shell: drawtap --completion SHELL.

    It completes commands, options, choices and file names.
    """
    import click
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None  # click knows these three
    return Text(kind(click.Command("drawtap"), {}, "drawtap", "_DRAWTAP_COMPLETE").source())


_FUNCTIONS: Mapping[str, tuple[Callable[..., object], tuple[str, ...], bool]] = {
    "new": (new, ("drawtap new empty.dtap",), True),
    "save": (save, ("drawtap save game.dtap kept.dtap",), True),
    "completion": (completion, ('eval "$(drawtap completion bash)"',), False),
    "focus": (focus, ("drawtap focus glmark2", "drawtap focus --follow &"), True),
    "python": (python, ("drawtap python game.dtap count.py 10", "drawtap python game.dtap"), False),
}
OLD_NAMES = frozenset({*ALIASES, *_FUNCTIONS})
