"""Say it: one file a verb.

A command is one annotated function. Parameters before `*` in its signature are arguments, those after it options. A
parameter annotated `Trace` is the recording that the command reads. The command line, the prompt and a script call that
same function; it returns data (`drawtap.output.result`), and only `drawtap.output` renders it.

A verb that also reads traces of the kernel has a second function for them (`kernel=`), whose first parameter is a
`KernelTrace`. Options of the same name become one option of the verb; the others are for one kind of file.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_args, get_origin, get_type_hints

from drawtap.errors import UsageError
from drawtap.plugins import Registry
from drawtap.trace.apis import WITHOUT_VULKAN, refuse

F = TypeVar("F", bound=Callable[..., object])

SECTIONS: Mapping[str, str] = {
    "record": "Get a recording",
    "ask": "Ask it",
    "replay": "Play it again",
    "edit": "Change it, hand it on",
    "corpus": "Keep many recordings",
    "live": "Manage running programs, put code into them",
    "system": "Traces of the kernel",
    "know": "The APIs, traces of the kernel, many recordings",
}

# The verbs that a newcomer needs, in the order of need: they stand before the sections in `drawtap --help`.
FIRST = ("record", "info", "report", "sql", "replay")

# Verbs of two words: `name="system record"` in commands/system_record.py is `drawtap system record`.
GROUPS: Mapping[str, str] = {
    "system": "Kernel: ask traces of the kernel about GPU work.",
    "corpus": "Store: keep many recordings by content, ask them all in SQL, play them.",
}


# Commands that make sense only where recordings stay open.
AT_THE_PROMPT = ("close", "profiling", "quit", "reload")


@dataclass(frozen=True, slots=True)
class Opt:
    """Describe one parameter to people: the text of its help, a short spelling ("-n"), the word for its value.

    `bare` is the value of an option that is given without one, `word` what an option is called where that is not the
    name of the parameter. `mixed`: of words without an end, options may stand among them; else the first word ends the
    options, since the rest is a program with its own. `choices` returns the
    words that the value may be, where these are not a Literal.
    """

    help: str
    short: str | None = None
    metavar: str | None = None
    bare: str | None = None
    word: str | None = None
    mixed: bool = False
    choices: Callable[[], Iterable[str]] | None = None


@dataclass(frozen=True)
class Options:
    """Options that belong together: the base of frozen dataclasses whose fields are annotated as parameters are.

    A command with a keyword parameter of such a class has the fields as options; callers name them one by one. Help
    shows them under `title`.
    """

    title: ClassVar[str] = "Options"


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter of a command: its type without None and Annotated, whether it may be left out, its heading."""

    name: str
    kind: str  # trace argument rest option
    type: Any
    opt: Opt
    default: object
    required: bool
    title: str = Options.title
    of: str = ""  # of a verb for two kinds of file: the kind that it is for

    @property
    def word(self) -> str:
        """Return what people write: `--limit` of an option, the word for its value of an argument."""
        if self.kind == "option":
            return "--" + (self.opt.word or self.name.strip("_").replace("_", "-"))
        return self.opt.metavar or self.name.upper()


@dataclass(frozen=True)
class Command:
    """A verb: the function, and what its help page shows beside the docstring. A group's verbs have two words."""

    name: str
    function: Callable[..., object]
    section: str
    examples: tuple[str, ...]
    json: bool
    params: tuple[Param, ...] = field(default=())
    kernel: bool = False  # it reads traces of the kernel too
    serves: bool = False  # it goes on until somebody stops it: there is no progress to show
    asks: bool = False  # it asks in SQL: DuckDB is loaded while the file is opened

    @property
    def summary(self) -> str:
        """Return the first line of the docstring, without its full stop."""
        return self.help.partition("\n")[0].rstrip(".")

    @property
    def help(self) -> str:
        """Return the user documentation: the whole docstring, and the graphics API that the verb does not do."""
        text, gap = inspect.getdoc(self.function) or "", WITHOUT_VULKAN.get(self.name)
        return text if gap is None else f"{text}\n\nThe verb refuses recordings of Vulkan: {gap.hint}."

    @property
    def reads_trace(self) -> bool:
        """Tell whether the command works on a recording."""
        return any(p.kind == "trace" for p in self.params)


COMMANDS: Registry[Command] = Registry("command", "drawtap.commands")


def command(
    *,
    section: str,
    examples: tuple[str, ...],
    name: str | None = None,
    json: bool = True,
    kernel: Callable[..., object] | None = None,
    serves: bool = False,
    asks: bool = False,
) -> Callable[[F], F]:
    """Register the decorated function as a verb; `json` says whether it takes `--json`.

    `kernel` is the function for traces of the kernel; with these the verb always takes `--json`. A verb that `serves`
    goes on until somebody stops it. For one that `asks` in SQL the command line loads DuckDB while it opens the file.
    """
    if section not in SECTIONS:
        raise ValueError(f"unknown section {section!r}")

    def add(function: F) -> F:
        verb = name or function.__name__.strip("_").replace("_", "-")
        asked = _refusing(function, verb) if verb in WITHOUT_VULKAN else function
        made_ = made(verb, asked, section, examples, json=json, kernel=kernel)
        COMMANDS.register(verb)(replace(made_, serves=serves, asks=asks))
        return function

    return add


def made(
    name: str,
    function: Callable[..., object],
    section: str,
    examples: tuple[str, ...],
    *,
    json: bool,
    kernel: Callable[..., object] | None = None,
) -> Command:
    """Return the verb that `function` is, without registering it."""
    spread, params = _parameters(function)
    if kernel is not None:
        spread, params = _of_both(spread, params, *_parameters(kernel))
    return Command(name, spread, section, examples, json, params, kernel is not None)


def _refusing(function: Callable[..., object], verb: str) -> Callable[..., object]:
    """Return `function`, which first refuses a recording of Vulkan."""

    @functools.wraps(function)
    def call(*arguments: Any, **values: object) -> object:
        if arguments and hasattr(arguments[0], "info"):
            refuse(arguments[0], verb)
        return function(*arguments, **values)

    return call


RECORDING, KERNEL_TRACE = "recording", "kernel trace"  # what `KIND` of an open file is


def _of_both(
    recording: Callable[..., object],
    own: tuple[Param, ...],
    kernel: Callable[..., object],
    others: tuple[Param, ...],
) -> tuple[Callable[..., object], tuple[Param, ...]]:
    """Return a function that takes either kind of file, and its parameters."""
    named = {p.name: p for p in others}
    params = [_shared(p, named[p.name]) if p.name in named else replace(p, of=RECORDING) for p in own]
    known = {p.name for p in own}
    title = "Options for traces of the kernel"
    params += [replace(p, of=KERNEL_TRACE, title=title) for p in others if p.name not in known]
    positional = {
        RECORDING: [p.name for p in own if p.kind == "argument"],
        KERNEL_TRACE: [p.name for p in others if p.kind == "argument"],
    }
    listed = [p.name for p in params if p.kind == "argument"]

    @functools.wraps(recording)
    def call(file: Any, *given: object, **options: object) -> object:
        kind = file.KIND
        values = {**dict(zip(listed, given, strict=False)), **options}
        for param in params:
            if param.of in ("", kind) or param.name not in values:
                continue
            if values.pop(param.name) != param.default:
                raise UsageError(f"{param.word} is for a {param.of}, and {file.path} is a {kind}")
        arguments = [values.pop(name) for name in positional[kind] if name in values]
        return (recording if kind == RECORDING else kernel)(file, *arguments, **values)

    call.__doc__ = f"{inspect.getdoc(recording)}\n\n{inspect.getdoc(kernel)}"
    return call, tuple(params)


def _shared(param: Param, other: Param) -> Param:
    kind = param.type
    if get_origin(kind) is Literal:
        kind = Literal[tuple(dict.fromkeys((*get_args(kind), *get_args(other.type))))]
    opt, own, others = param.opt, param.opt.choices, other.opt.choices
    if own and others:
        opt = replace(opt, choices=lambda: dict.fromkeys((*own(), *others())))
    return replace(param, type=kind, opt=opt, required=param.required and other.required)


def _parameters(function: Callable[..., object]) -> tuple[Callable[..., object], tuple[Param, ...]]:
    """Return what to call, with the fields of `Options` as parameters of its own, and the parameters it has."""
    # Command modules import Trace only for type checking: reading it would load DuckDB.
    hints = get_type_hints(function, localns={"Trace": _TraceMark, "KernelTrace": _TraceMark}, include_extras=True)
    titles: dict[str, str] = {}
    spread = _spread(function, hints, titles)
    return spread, tuple(
        replace(_param(p, hints[p.name]), title=titles.get(p.name, Options.title))
        for p in inspect.signature(spread).parameters.values()
    )


def _spread(function: Callable[..., object], hints: dict[str, Any], titles: dict[str, str]) -> Callable[..., object]:
    """Return `function` with the fields of `Options` as parameters of its own; `hints` and `titles` get theirs."""
    groups = {name: hint for name, hint in hints.items() if isinstance(hint, type) and issubclass(hint, Options)}
    if not groups:
        return function

    @functools.wraps(function)
    def spread(*arguments: object, **values: object) -> object:
        for name, group in groups.items():
            values[name] = group(**{f.name: values.pop(f.name) for f in fields(group) if f.name in values})
        return function(*arguments, **values)

    def parameters() -> Iterator[inspect.Parameter]:
        for parameter in inspect.signature(function).parameters.values():
            if parameter.name not in groups:
                yield parameter
                continue
            group = groups[parameter.name]
            hints.update(get_type_hints(group, include_extras=True))
            for f in fields(group):
                titles[f.name] = group.title
                default = parameter.empty if f.default is MISSING else f.default
                yield inspect.Parameter(f.name, parameter.KEYWORD_ONLY, default=default, annotation=f.type)

    spread.__signature__ = inspect.Signature([*parameters()])  # type: ignore[attr-defined]
    return spread


def _param(parameter: inspect.Parameter, hint: Any) -> Param:
    opt = Opt("")
    if get_origin(hint) is Annotated:
        hint, *marks = get_args(hint)
        opt = next((m for m in marks if isinstance(m, Opt)), opt)
    members = [a for a in get_args(hint) if a is not type(None)]
    if type(None) in get_args(hint) and len(members) == 1:
        hint = members[0]
    kind = "argument"
    if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
        kind = "option"
    elif parameter.kind is inspect.Parameter.VAR_POSITIONAL:
        kind = "rest"
    if hint is _TraceMark:
        kind = "trace"  # `Trace | None`: some of what the verb does takes no recording
    required = parameter.default is inspect.Parameter.empty and kind != "rest"
    default = None if parameter.default is inspect.Parameter.empty else parameter.default
    return Param(parameter.name, kind, hint, opt, default, required)


class _TraceMark:
    pass
