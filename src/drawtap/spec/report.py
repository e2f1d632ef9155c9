"""Say how much of each graphics API is known: what `drawtap spec report` and `drawtap spec show` print.

A command is complete when a rule says for each of its pointers how much it points to. Incomplete commands are
wrapped, timed and counted all the same; only the content behind those pointers is missing from a trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass

from drawtap.errors import UsageError, did_you_mean
from drawtap.spec.model import (
    Api,
    Array,
    AttributeList,
    BufferOffset,
    ClientArray,
    Command,
    CompressedImage,
    CType,
    Data,
    Effect,
    Feature,
    Image,
    Opaque,
    Param,
    String,
    Strings,
    Struct,
)
from drawtap.spec.registry import load_api
from drawtap.spec.signature import layout

APIS = ("gl", "egl", "glx", "vg")

# What the registries call versions, for people. The registry's ES 1.0 is what ES 1.1 has in common with it.
_LABELS: Mapping[str, str] = {
    "gl": "OpenGL", "gles1": "OpenGL ES", "gles2": "OpenGL ES", "glsc2": "OpenGL SC", "egl": "EGL", "glx": "GLX",
    "vg": "OpenVG", "vgu": "VGU", "toy": "Toy",
}  # fmt: skip
_NUMBERS: Mapping[tuple[str, str], str] = {("gles1", "1.0"): "1.0-1.1"}


@dataclass(frozen=True, slots=True)
class Coverage:
    """The coverage of one version of an API, or of its extensions.

    `api` is the registry's word (gl gles1 gles2 glsc2 egl glx vg vgu), `version` a number, or "" for all
    extensions of the registry or one of them. `wrapped` counts the commands that a tap can wrap, `pointers`
    the pointers among parameters and results, `known_pointers` those with a rule. `incomplete` names the
    commands with a pointer that no rule covers.
    """

    label: str
    api: str
    version: str
    profile: str
    commands: int
    wrapped: int
    pointers: int
    known_pointers: int
    incomplete: tuple[str, ...]

    @property
    def complete(self) -> int:
        """Commands of which every pointer is known."""
        return self.commands - len(self.incomplete)


# Versions of which every command must be complete: registry word, version, profile.
BAR: tuple[tuple[str, str, str], ...] = (
    ("gl", "4.6", "core"),
    ("gl", "4.6", "compatibility"),
    ("gles1", "1.0", ""),
    ("gles2", "3.2", ""),
    ("glsc2", "2.0", ""),
    ("egl", "1.5", ""),
    ("glx", "1.4", ""),
    ("vg", "1.1", ""),
    ("vgu", "1.1", ""),
)


def coverage(apis: Iterable[str] = APIS) -> list[Coverage]:
    """Count every version of the APIs, oldest first, and then the extensions of each API as one row."""
    rows: list[Coverage] = []
    for name in apis:
        api = load_api(name)
        rows += _versions(api)
        if api.extensions:
            rows.append(_row(f"{_LABELS[name]} extensions", name, _extension_commands(api)))
    return rows


def extensions(apis: Iterable[str] = APIS) -> list[Coverage]:
    """Count every extension that brings commands."""
    rows: list[Coverage] = []
    for name in apis:
        api = load_api(name)
        for feature in api.extensions:
            commands = {c: api.commands[c] for c in _commands_of(feature)}
            if commands:
                rows.append(_row(feature.name, name, commands))
    return rows


def below_bar() -> list[Coverage]:
    """Return the versions of BAR that have an incomplete command; empty when the bar is reached."""
    bar = set(BAR)
    return [row for row in coverage() if (row.api, row.version, row.profile) in bar and row.incomplete]


def as_json(rows: Iterable[Coverage]) -> list[dict[str, object]]:
    """Return the rows as plain lists and dictionaries."""
    return [{**asdict(row), "complete": row.complete, "incomplete": list(row.incomplete)} for row in rows]


def _versions(api: Api) -> Iterator[Coverage]:
    for feature in api.features:
        label = f"{_LABELS[feature.api]} {_NUMBERS.get((feature.api, feature.number), feature.number)}"
        for profile in _profiles(api, feature):
            commands = api.command_set(feature.api, feature.number, profile)
            yield _row(f"{label} {profile}".rstrip(), feature.api, commands, feature.number, profile)


def _profiles(api: Api, feature: Feature) -> tuple[str, ...]:
    """A version has profiles from the first one on that removes commands from one of them."""
    number = _number(feature.number)
    split = any(
        f.api == feature.api and _number(f.number) <= number and any(key for key in f.removed_commands)
        for f in api.features
    )
    return ("core", "compatibility") if split else ("",)


def _number(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def _commands_of(feature: Feature) -> list[str]:
    return list(dict.fromkeys(name for names in feature.commands.values() for name in names))


def _extension_commands(api: Api) -> dict[str, Command]:
    names = dict.fromkeys(name for feature in api.extensions for name in _commands_of(feature))
    return {name: api.commands[name] for name in names}


def _row(label: str, api: str, commands: Mapping[str, Command], version: str = "", profile: str = "") -> Coverage:
    pointers = sum(_pointers(c) for c in commands.values())
    missing = sum(len(c.uncovered) for c in commands.values())
    return Coverage(
        label=label,
        api=api,
        version=version,
        profile=profile,
        commands=len(commands),
        wrapped=sum(_can_be_wrapped(c) for c in commands.values()),
        pointers=pointers,
        known_pointers=pointers - missing,
        incomplete=tuple(sorted(c.name for c in commands.values() if c.uncovered)),
    )


def _pointers(command: Command) -> int:
    return sum(p.is_pointer for p in command.params) + (command.returns.indirection > 0)


def _can_be_wrapped(command: Command) -> bool:
    try:
        layout(command)
    except ValueError:
        return False
    return True


# ---- one command ------------------------------------------------------------------------------------------


def find_command(name: str, apis: Iterable[str] = (*APIS, "toy")) -> tuple[Command, Api]:
    """Return a command and its API. Raises UsageError where no API has it."""
    known: list[str] = []
    for each in apis:
        api = load_api(each)
        if name in api.commands:
            return api.commands[name], api
        known += api.commands
    raise UsageError(f"no API has a command {name}", hint=did_you_mean(name, known))


def prototype(command: Command) -> str:
    """Return the C declaration."""
    params = ", ".join(_declared(p.type, p.name) for p in command.params)
    return f"{_declared(command.returns, command.name)}({params or 'void'})"


def describe(name: str) -> str:
    """Return all that is known of a command as text. Raises UsageError for an unknown name."""
    command, api = find_command(name)
    lines = [f"{prototype(command)};", ""]
    lines += _wrapped(f"in {', '.join(command.provided_by)}" if command.provided_by else "in no version or extension")
    if command.alias:
        lines.append(f"same as {command.alias}")
    same = sorted(c.name for c in api.commands.values() if c.alias == command.name)
    if same:
        lines.append(f"also called {', '.join(same)}")
    if command.flags:
        lines.append(f"flags: {', '.join(sorted(command.flags))}")
    if command.params:
        lines += ["", "parameters", *_table((p.name, p.type.spelling, parameter_text(p, api)) for p in command.params)]
    result = _result_text(command, api)
    if result:
        lines += ["", f"returns {command.returns.spelling}: {result}"]
    if command.effects:
        lines += ["", "effects", *(f"  {effect_text(effect)}" for effect in command.effects)]
    for missing in command.uncovered:
        lines += ["", f"no rule says what {missing} points to: its content is not recorded"]
    return "\n".join(lines) + "\n"


def parameter_text(param: Param, api: Api) -> str:
    """Return in words what is known of a parameter: its enum group, the object it names, what it points to."""
    if param.data is not None and param.is_pointer:
        return rule_text(param.data, param.type)
    if param.is_pointer:
        return "unknown"
    named = [f"names a {param.object_class}"] if param.object_class else []
    return "; ".join([*_group_text(param.group, api), *named])


def rule_text(rule: Data, ctype: CType) -> str:
    """Return a rule in words. `ctype` is the type of the pointer."""
    match rule:
        case Array():
            unit = "byte" if ctype.base == "void" and ctype.indirection == 1 and not rule.element else "value"
            amount = f"one {unit}" if rule.count == "1" else f"{rule.count} {unit}s"
            written = f" (after the call: {rule.actual})" if rule.actual else ""
            return f"{amount}, {_direction(out=rule.out)}{written}{_of(rule.group)}"
        case String():
            return _string_text(rule)
        case Strings():
            ends = f"lengths in {rule.lengths}" if rule.lengths else "each up to its terminator"
            return f"{rule.count} strings, {ends}, read"
        case Image():
            extent = " x ".join((rule.width, rule.height, rule.depth)[: rule.dimensions])
            stored = "PACK" if rule.out else "UNPACK"
            pixels = f"{extent} pixels of {rule.format}, {rule.type}"
            return f"image of {pixels}, {stored} parameters, {_direction(out=rule.out)}"
        case CompressedImage():
            return f"compressed image of {rule.size} bytes, {_direction(out=rule.out)}"
        case BufferOffset():
            other = rule_text(rule.otherwise, ctype) if rule.otherwise else "an address that is not looked behind"
            return f"offset while {rule.binding} is bound, else {other}"
        case ClientArray():
            return "vertex array or offset, read by later draws"
        case AttributeList():
            alone = f", {' '.join(rule.valueless)} without value" if rule.valueless else ""
            return f"pairs of name and value up to {rule.terminator}{alone}, read{_of(rule.group)}"
        case Struct():
            return f"one structure{f' of {rule.size} bytes' if rule.size else ''}, {_direction(out=rule.out)}"
        case Opaque():
            return f"address: {rule.why}"


def effect_text(effect: Effect) -> str:
    """Return an effect in one line."""
    value = f" = {effect.value}" if effect.value else ""
    when = f" when {effect.when}" if effect.when else ""
    return f"{effect.verb} {effect.path}{value}{when}"


def _string_text(rule: String) -> str:
    if rule.out:
        return f"at most {rule.capacity} characters, written" if rule.capacity else "characters, written"
    length = f" of {rule.length} characters (negative: up to the terminator)" if rule.length else ""
    return f"string{length}, read"


def _direction(*, out: bool) -> str:
    return "written" if out else "read"


def _of(group: str | None) -> str:
    return f", each of {group}" if group else ""


def _group_text(group: str | None, api: Api) -> list[str]:
    if group is None:
        return []
    known = api.groups[group]
    names = list(known.values)
    shown = ", ".join(names[:3]) + (f" ... {len(names)} names" if len(names) > 3 else "")
    return [f"{'bits of' if known.bitmask else 'one of'} {group} ({shown})"]


def _result_text(command: Command, api: Api) -> str:
    if command.returns_data is not None:
        return rule_text(command.returns_data, command.returns)
    named = [f"a {command.returns_class}"] if command.returns_class else []
    return "; ".join([*_group_text(command.returns_group, api), *named])


def _declared(ctype: CType, name: str) -> str:
    return f"{ctype.spelling}{name}" if ctype.spelling.endswith("*") else f"{ctype.spelling} {name}"


def _table(rows: Iterable[tuple[str, str, str]]) -> list[str]:
    listed = list(rows)
    first, second = (max(len(row[i]) for row in listed) for i in (0, 1))
    return [f"  {name:{first}}  {kind:{second}}  {text}".rstrip() for name, kind, text in listed]


def _wrapped(text: str, width: int = 110) -> list[str]:
    lines, current = [], ""
    for word in text.split():
        if current and len(current) + 1 + len(word) > width:
            lines.append(current)
            current = "   " + word
        else:
            current = f"{current} {word}" if current else word
    return [*lines, current]
