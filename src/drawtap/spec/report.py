"""Say how much of each graphics API is known: what `drawtap spec report` and `drawtap spec show` print.

A command is complete when a rule says for each of its pointers how much it points to. Incomplete commands are
wrapped, timed and counted all the same; only the content behind those pointers is missing from a trace.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass

from drawtap.errors import UsageError, did_you_mean
from drawtap.spec.model import (
    Api,
    Array,
    AttributeList,
    BufferOffset,
    Chain,
    ClientArray,
    Command,
    CompressedImage,
    CType,
    Data,
    Each,
    Effect,
    Feature,
    Image,
    Member,
    Opaque,
    Param,
    String,
    Strings,
    Struct,
    StructType,
    TemplateData,
    Tree,
)
from drawtap.spec.registry import load_api, recorded_apis
from drawtap.spec.signature import layout

APIS = (*recorded_apis(), "vk")

# The registries' names of versions, for people. The registry's ES 1.0 is what ES 1.1 has in common with it.
_LABELS: Mapping[str, str] = {
    "gl": "OpenGL", "gles1": "OpenGL ES", "gles2": "OpenGL ES", "glsc2": "OpenGL SC", "egl": "EGL", "glx": "GLX",
    "vg": "OpenVG", "vgu": "VGU", "vk": "Vulkan", "toy": "Toy",
}  # fmt: skip
_NUMBERS: Mapping[tuple[str, str], str] = {("gles1", "1.0"): "1.0-1.1"}


@dataclass(frozen=True, slots=True)
class Coverage:
    """The coverage of one version of an API, or of its extensions.

    `api` is the registry's word (gl gles1 gles2 glsc2 egl glx vg vgu vk), `version` a number, or "" for all
    extensions of the registry, one of them, or its structures. `wrapped` counts the commands that a tap can
    wrap, `pointers` the pointers among parameters and results (of a structure: among its members),
    `known_pointers` those with a rule. `incomplete` names what has a pointer that no rule covers.
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
    ("vk", "1.4", ""),
    ("vk", "", ""),
)


def coverage(apis: Iterable[str] = APIS) -> list[Coverage]:
    """Count every version of the APIs, oldest first, and then the extensions of each API as one row."""
    rows: list[Coverage] = []
    for name in apis:
        api = load_api(name)
        rows += _versions(api)
        if api.extensions:
            rows.append(_row(f"{_LABELS[name]} extensions", name, _extension_commands(api)))
        if api.structs:
            rows.append(_structures(api))
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


def _structures(api: Api) -> Coverage:
    """Count the structures as if each were a command: a layout makes it recordable, rules make it complete."""
    known = [struct for name, struct in api.structs.items() if name == struct.name]
    pointers = sum(member.is_pointer for struct in known for member in struct.members)
    return Coverage(
        label=f"{_LABELS[api.name]} structures",
        api=api.name,
        version="",
        profile="",
        commands=len(known),
        wrapped=len(known),
        pointers=pointers,
        known_pointers=pointers - sum(len(struct.uncovered) for struct in known),
        incomplete=tuple(sorted(struct.name for struct in known if struct.uncovered)),
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


def prototype(command: Command) -> str:
    """Return the C declaration."""
    params = ", ".join(_declared(p.type, p.name) for p in command.params)
    return f"{_declared(command.returns, command.name)}({params or 'void'})"


def describe(name: str) -> str:
    """Return all that is known of a command or a structure as text. Raises UsageError for an unknown name."""
    described, api = find(name)
    return _describe_struct(described, api) if isinstance(described, StructType) else _describe_command(described, api)


def _describe_command(command: Command, api: Api) -> str:
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


def find(name: str, apis: Iterable[str] = (*APIS, "toy")) -> tuple[Command | StructType, Api]:
    """Return a command or a structure, and its API. Raises UsageError where no API has it."""
    known: list[str] = []
    for each in apis:
        api = load_api(each)
        described = api.commands.get(name) or api.structs.get(name)
        if described is not None:
            return described, api
        known += [*api.commands, *api.structs]
    raise UsageError(f"no API has a command {name}", hint=did_you_mean(name, known))


def _describe_struct(struct: StructType, api: Api) -> str:
    kind = "union" if struct.union else "struct"
    lines = [f"{kind} {struct.name}: {struct.size} bytes, aligned to {struct.align}"]
    if struct.returned_only:
        lines.append("only the driver fills it in")
    if struct.extends:
        lines += _wrapped(f"extends {', '.join(struct.extends)}")
    extended = sorted({s.name for s in api.structs.values() if struct.name in s.extends})
    if extended:
        lines += _wrapped(f"extended by {', '.join(extended)}")
    used = sorted(c.name for c in api.commands.values() if any(p.type.base == struct.name for p in c.params))
    if used:
        lines += _wrapped(f"taken by {', '.join(used)}")
    rows = ((f"{m.offset:4}  {m.name}", _member_type(m), member_text(m, struct, api)) for m in struct.members)
    return "\n".join([*lines, "", "members, each after its offset in bytes", *_table(rows)]) + "\n"


def _member_type(member: Member) -> str:
    lengths = "".join(f"[{n}]" for n in member.lengths)
    return f"{member.type.spelling}{lengths}{f' : {member.bits[1]}' if member.bits else ''}"


def member_text(member: Member, struct: StructType, api: Api) -> str:
    """Return in words what is known of a member: enum group, object, what it points to and when that counts."""
    if not member.is_pointer:
        named = [f"names a {member.object_class}"] if member.object_class else []
        chosen = [f"chosen by {member.selector}"] if member.selector else []
        fitting = [f"for {', '.join(member.selections)}"] if member.selections else []
        group = [struct.stype] if member.name == "sType" and struct.stype else _group_text(member.group, api)
        return "; ".join([*group, *named, *chosen, *fitting])
    text = rule_text(member.data, member.type) if member.data is not None else "unknown"
    if member.when not in (None, "1"):
        text += f", where {member.when}"
    if member.name in struct.probed:
        text += ", where the memory can be read"
    return text


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
        case Tree():
            stride = f", one each {rule.stride} bytes" if rule.stride else ""
            one = rule.count == "1"
            amount = (
                "one structure with what it points to" if one else f"{rule.count} structures with what they point to"
            )
            return f"{amount}{stride}, {_direction(out=rule.out)}"
        case Chain():
            return f"chain of extending structures, {_direction(out=rule.out)}"
        case Each():
            return f"{rule.count} addresses, behind each: {rule_text(rule.of, ctype)}"
        case Struct():
            return f"one structure{f' of {rule.size} bytes' if rule.size else ''}, {_direction(out=rule.out)}"
        case TemplateData():
            return f"what the template {rule.update} says, read"
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


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 110, subsequent_indent="   ", break_long_words=False, break_on_hyphens=False)
