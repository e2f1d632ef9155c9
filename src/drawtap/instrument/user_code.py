"""C++ around the hooks of a user's module: each set of hooks in a namespace of its own, each hook in a function.

The functions nest: the first set's code encloses the second's, and the innermost encloses the driver's function. So
before code runs from first to last and after code from last to first. A hook's own locals live from its before code to
its after code, and no hook can see another's names. They are all inlined.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from drawtap.errors import UsageError
from drawtap.instrument.hook import Function, Hook, Hooks
from drawtap.spec.model import Api

_FLAGS = (
    "frame_end", "draw", "dispatch", "clear", "upload", "readback", "sync", "finish", "flush", "make_current",
    "context", "map", "marker",
)  # fmt: skip
_DIRECTIVE = re.compile(r"^\s*#\s*(\w+)\s*(.*?)\s*$")
_CALL = re.compile(r"\b((?:gl|egl|glX|vg|vgu)[A-Z]\w*)\s*\(")
_ENUM = re.compile(r"\b((?:GL|EGL|GLX|VG|VGU)_[A-Z0-9]\w*)\b")


def namespace(hooks: Hooks) -> str:
    """Return the namespace that a set's header and hooks stand in."""
    return "module_" + re.sub(r"\W", "_", hooks.name)


def functions(function: Function, sets: Sequence[Hooks]) -> Iterator[str]:
    """Yield the C++ functions of all hooks of `sets` that want `function`."""
    for hooks in sets:
        for number, hook in enumerate(hooks.for_function(function)):
            yield _function(function, hooks, hook, number)


def enclosed(function: Function, sets: Sequence[Hooks]) -> str:
    """Return the body of a wrapper: the hooks around dt_core_NAME, which enters the driver."""
    command = function.command
    names = ", ".join(p.name for p in command.params)
    result = "_result = " if function.returns_value else ""
    body = f"dt::begin_call(_t, (void*)_real);\n{result}dt_core_{function.name}({names});"
    arguments = ", ".join(
        [*(p.name for p in command.params), *(["_result"] if function.returns_value else []), "_skip"]
    )
    for hooks in reversed(sets):
        for number, _ in reversed(list(enumerate(hooks.for_function(function)))):
            name = f"{namespace(hooks)}::hook_{number}_{function.name}"
            body = f"{name}({arguments}, [&]() __attribute__((always_inline)) {{\n{body}\n}});"
    declared = f"{command.returns.spelling} _result{{}};\n" if function.returns_value else ""
    return f"_t->special = dt::SPECIAL_USER;\n{declared}[[maybe_unused]] bool _skip = false;\n{body}"


def _function(function: Function, hooks: Hooks, hook: Hook, number: int) -> str:
    command = function.command
    parameters = [f"{p.type.spelling} & {p.name}" for p in command.params]
    if function.returns_value:
        parameters.append(f"{command.returns.spelling} & _result")
    parameters += ["bool & _skip", "_Next && _next"]
    code = f"{hook.before_run}\n{hook.after_run}"
    lines = [
        f"namespace {namespace(hooks)} {{",
        hook.outside,
        "template <class _Next>",
        f"[[gnu::always_inline]] static inline void hook_{number}_{function.name}({', '.join(parameters)}) {{",
        *(f"  {line}" for line in _mentioned(function, code)),
        hook.before_run,
        "  if (!_skip) _next();",
        hook.after_run,
        "}",
        "}",
    ]
    return "\n".join(line for line in lines if line.strip())


def _mentioned(function: Function, code: str) -> Iterator[str]:
    """Yield declarations of what `code` mentions, and of nothing else: it would cost."""

    def mentions(name: str) -> bool:
        return re.search(rf"\b{name}\b", code) is not None

    if mentions("_function"):
        flags = " | ".join(f"drawtap::{flag.upper()}" for flag in _FLAGS if function.has(flag)) or "0u"
        yield (
            f'static constexpr drawtap::Function _function{{"{function.name}", "{function.api.name}", '
            f"{function.id}u, {flags}}};"
        )
    if mentions("_frame"):
        yield "const uint64_t _frame = drawtap::frame();"
    if mentions("_call"):
        yield "const uint64_t _call = drawtap::detail::call();"
    if mentions("_thread"):
        yield "const int _thread = drawtap::detail::thread();"
    if mentions("_context"):
        yield "const void* const _context = drawtap::detail::context();"
    if mentions("_arguments"):
        yield f"const std::string _arguments = {_arguments(function)};"


def _arguments(function: Function) -> str:
    """Return an expression for the arguments as text: one call with a table, since most of a module may be such."""
    if not function.command.params:
        return "std::string()"
    rows, values = [], []
    for parameter in function.command.params:
        group = "nullptr"
        if parameter.type.indirection or parameter.type.scalar == "ptr":
            kind = "POINTER"
        elif parameter.type.scalar in ("f32", "f64"):
            kind = "FLOAT"
        elif parameter.group and parameter.group in function.api.groups and parameter.type.scalar in ("u32", "i32"):
            kind, group = "ENUMERANT", f"&{_group(function.api, parameter.group)}"
        else:
            kind = "SIGNED" if parameter.type.scalar.startswith("i") else "UNSIGNED"
        rows.append(f'{{"{parameter.name}", drawtap::detail::{kind}, {group}}}')
        values.append(f"drawtap::detail::bits({parameter.name})")
    count = len(rows)
    return (
        f"[&] {{ static constexpr drawtap::detail::Argument _table[] = {{{', '.join(rows)}}}; "
        f"const uint64_t _values[] = {{{', '.join(values)}}}; "
        f"return drawtap::detail::arguments(_table, _values, {count}); }}()"
    )


def _group(api: Api, name: str) -> str:
    return f"drawtap_group_{api.name}_{re.sub(r'[^A-Za-z0-9]', '_', name)}"


# ---- what a module's header needs for it ------------------------------------------------------------------


def header(sets: Sequence[Hooks], apis: Mapping[str, Api], groups_of: Iterable[Function], sources: str) -> str:
    """Return declarations for the hooks of `sets`: what they mention of the APIs, and their own headers.

    `groups_of` are the functions whose `_arguments` are wanted; `sources` is the text of the project's C++ files.
    Raises UsageError where two sets define one macro differently.
    """
    text = "\n".join([sources, *(hooks.header for hooks in sets)])
    parts = [
        '#include "user/user.h"',
        "#include <string>",
        *_prototypes(apis, text),
        *_enumerants(apis, text),
        *_groups(groups_of),
    ]
    macros: dict[str, tuple[str, str]] = {}
    for hooks in sets:
        outside, inside = _split(hooks.header)
        for name, value in _macros(inside):
            taken = macros.setdefault(name, (value, hooks.name))
            if taken[0] != value:
                raise UsageError(
                    f"the headers of {taken[1]} and {hooks.name} both define the macro {name}",
                    hint="rename one: macros know no namespaces",
                )
        parts += [*outside, f"namespace {namespace(hooks)} {{", *inside, "}"]
    return "\n".join(parts)


def mentioned_commands(apis: Mapping[str, Api], text: str) -> set[str]:
    """Return the names of the commands that C++ `text` calls."""
    called = set(_CALL.findall(text))
    return {name for name in called if any(name in api.commands for api in apis.values())}


def _prototypes(apis: Mapping[str, Api], text: str) -> Iterator[str]:
    yield 'extern "C" {'
    for name in sorted(mentioned_commands(apis, text)):
        command = next(api.commands[name] for api in apis.values() if name in api.commands)
        yield f"{command.returns.spelling} {name}({command.parameters});"
    yield "}"


def _enumerants(apis: Mapping[str, Api], text: str) -> Iterator[str]:
    for name in sorted(set(_ENUM.findall(text))):
        for api in apis.values():
            if name in api.enums:
                value = api.enums[name]
                yield f"#ifndef {name}\n#define {name} {hex(value) if value >= 0 else value}\n#endif"
                break


def _groups(functions_: Iterable[Function]) -> Iterator[str]:
    wanted = {
        (f.api.name, p.group): f.api
        for f in functions_
        for p in f.command.params
        if p.group and p.group in f.api.groups
    }
    for (_, name), api in sorted(wanted.items()):
        group = api.groups[name]
        values: dict[int, str] = {}
        for spelling, value in group.values.items():
            values.setdefault(value & 0xFFFFFFFF, spelling)
        rows = ", ".join(f'{{{value}u, "{spelling}"}}' for value, spelling in sorted(values.items()))
        own = _group(api, name)
        yield (
            f"static constexpr drawtap::detail::Enumerant {own}_values[] = {{{rows or '{0u, nullptr}'}}};\n"
            f"static constexpr drawtap::detail::Group {own}{{{own}_values, {len(values)}u, "
            f"{'true' if group.bitmask else 'false'}}};"
        )


def _split(text: str) -> tuple[list[str], list[str]]:
    """Separate what must stand outside of a namespace (inclusions, with the conditions around them) from the rest.

    Both keep the numbers of their lines: an empty line stays where a line was taken out, and that line gets its number.
    """
    outside: list[str] = []
    inside: list[str] = []
    block: list[str] = []
    depth = number = start = 0
    file = ""

    def take_out(lines: list[str], first: int) -> None:
        outside.extend([f"#line {first} {file}", *lines] if file else lines)
        inside.extend([""] * len(lines))

    for line in text.splitlines():
        directive = _DIRECTIVE.match(line)
        word = directive[1] if directive else ""
        if directive and word == "line":
            digits, _, named = directive[2].partition(" ")
            number, file = int(digits), "" if named == '"@"' else named
            (block if depth else inside).append(line)
            if not depth and not file:
                outside.append(line)
            continue
        if word in ("if", "ifdef", "ifndef"):
            start = start if depth else number
            depth += 1
        if depth:
            block.append(line)
            if word == "endif":
                depth -= 1
                if not depth:
                    if any((m := _DIRECTIVE.match(item)) and m[1] == "include" for item in block):
                        take_out(block, start)
                    else:
                        inside.extend(block)
                    block = []
        elif word in ("include", "pragma"):
            take_out([line], number)
        else:
            inside.append(line)
        number += 1
    return outside, inside + block


def _macros(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        directive = _DIRECTIVE.match(line)
        if directive and directive[1] == "define":
            name, _, value = directive[2].partition(" ")
            yield name.partition("(")[0], value.strip()
