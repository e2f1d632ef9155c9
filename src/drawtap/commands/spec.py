"""`drawtap spec`: what is known of the graphics APIs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Literal

from drawtap.commands import Opt, command
from drawtap.errors import UsageError, did_you_mean
from drawtap.view.result import Facts, Rows

if TYPE_CHECKING:
    from drawtap.spec.model import Api, Command, Data, Param

# What the tap must know completely: (API, registry word, version, profile, name for people).
_VERSIONS = (
    ("gl", "gl", "4.6", "compatibility", "OpenGL 4.6 compatibility"),
    ("gl", "gl", "4.6", "core", "OpenGL 4.6 core"),
    ("gl", "gles1", "1.0", "", "OpenGL ES 1.1"),
    ("gl", "gles2", "3.2", "", "OpenGL ES 3.2"),
    ("egl", "egl", "1.5", "", "EGL 1.5"),
    ("glx", "glx", "1.4", "", "GLX 1.4"),
    ("vg", "vg", "1.1", "", "OpenVG 1.1"),
)
_APIS = ("gl", "egl", "glx", "vg")


@command(
    section="know",
    examples=(
        "drawtap spec report",
        "drawtap spec show glTexImage2D",
        "drawtap spec list 'glDraw*'",
        "drawtap spec report --json",
    ),
)
def spec(
    what: Annotated[Literal["report", "show", "list"], Opt("what to print", metavar="[report|show|list]")] = "report",
    name: Annotated[str | None, Opt("a command, or a pattern with * for list", metavar="NAME")] = None,
) -> Rows | Facts:
    """Print what drawtap knows about the graphics APIs.

    \b
    report      per API and version: commands, and for how many every array size is known
    show NAME   one command: parameters, what its pointers point to, effects on the state
    list [PAT]  the commands whose names match a pattern
    """
    if what == "report":
        return _report()
    if what == "show":
        if name is None:
            raise UsageError("which command?", hint="drawtap spec show glTexImage2D")
        return _show(name)
    return _list(name or "*")


def _report() -> Rows:
    rows = []
    for api_name, word, version, profile, label in _VERSIONS:
        commands = _api(api_name).command_set(word, version, profile).values()
        rows.append(_coverage(label, commands))
    for api_name in _APIS:
        rows.append(_coverage(f"{api_name}: everything, with extensions", _api(api_name).commands.values()))
    return Rows(
        ("api", "commands", "wrapped", "complete", "percent", "incomplete"),
        rows,
        {"percent": "percent"},
        note="complete: for every pointer a rule says how much it points to; of the others it is not recorded",
    )


def _coverage(label: str, commands: Iterable[Command]) -> tuple[object, ...]:
    known = list(commands)
    incomplete = sorted(c.name for c in known if c.uncovered)
    share = 100 * (len(known) - len(incomplete)) / len(known) if known else 100.0
    text = ", ".join(incomplete[:4]) + (f" and {len(incomplete) - 4} more" if len(incomplete) > 4 else "")
    return label, len(known), len(known), len(known) - len(incomplete), share, text


def _show(name: str) -> Facts:
    for api_name in _APIS:
        found = _api(api_name).commands.get(name)
        if found is not None:
            return _command_facts(found)
    known = (n for api_name in _APIS for n in _api(api_name).commands)
    raise UsageError(f"no API has a command {name}", hint=did_you_mean(name, known))


def _command_facts(known: Command) -> Facts:
    params = ", ".join(f"{p.type.spelling} {p.name}" for p in known.params)
    about = {
        "name": known.name,
        "api": known.api,
        "declaration": f"{known.returns.spelling} {known.name}({params})",
        "provided_by": list(known.provided_by),
        "alias": known.alias,
        "flags": sorted(known.flags),
        "parameters": {p.name: _param_text(p) for p in known.params},
        "returns": _data_text(known.returns_data) or known.returns_group or known.returns.spelling,
        "effects": [
            f"{e.verb} {e.path}" + (f" = {e.value}" if e.value else "") + (f" when {e.when}" if e.when else "")
            for e in known.effects
        ],
        "incomplete": list(known.uncovered),
    }
    groups: dict[str, dict[str, object]] = {
        known.name: {
            "declaration": about["declaration"],
            "provided by": ", ".join(known.provided_by) or "-",
            "flags": ", ".join(sorted(known.flags)) or "-",
        }
    }
    if known.alias:
        groups[known.name]["same as"] = known.alias
    if known.params:
        groups["parameters"] = {p.name: _param_text(p) for p in known.params}
    if known.effects:
        groups["effects"] = {str(i + 1): text for i, text in enumerate(_texts(about["effects"]))}
    notes = [f"no rule says what {n} points to" for n in known.uncovered]
    return Facts(about, groups, notes)


def _texts(value: object) -> list[str]:
    return [str(v) for v in value] if isinstance(value, list) else []


def _param_text(param: Param) -> str:
    parts = [param.type.spelling]
    if param.group:
        parts.append(f"one of {param.group}")
    if param.object_class:
        parts.append(f"names a {param.object_class}")
    text = _data_text(param.data)
    if text:
        parts.append(text)
    return "; ".join(parts)


def _data_text(data: Data | None) -> str:
    if data is None:
        return ""
    values = ((f.name, getattr(data, f.name)) for f in fields(data))
    told = ", ".join(f"{k}={v}" for k, v in values if v not in (None, False, ()))
    return f"{type(data).__name__}({told})"


def _list(pattern: str) -> Rows:
    from fnmatch import fnmatchcase

    rows = [
        (
            c.name,
            c.api,
            ", ".join(c.provided_by[:3]) + (" ..." if len(c.provided_by) > 3 else ""),
            ", ".join(sorted(c.flags)),
        )
        for c in _commands()
        if fnmatchcase(c.name, pattern) or fnmatchcase(c.name, f"*{pattern}*")
    ]
    if not rows:
        raise UsageError(
            f"no command matches {pattern!r}", hint=did_you_mean(pattern.strip("*"), (c.name for c in _commands()))
        )
    return Rows(("name", "api", "provided_by", "flags"), rows)


def _commands() -> Iterator[Command]:
    for api_name in _APIS:
        yield from sorted(_api(api_name).commands.values(), key=lambda c: c.name)


def _api(name: str) -> Api:
    from drawtap.spec.registry import load_api

    return load_api(name)
