"""Generate the table of driver functions (native/mirror/driver.h): every command of the registries, typed.

The header is one for all. The table behind it gives each function its number in one module or in the player.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from drawtap.spec.model import Command, CType
from drawtap.spec.registry import load_api

APIS = ("gl", "egl", "glx", "vg", "toy")

_SCALARS = {"f32": "float", "f64": "double", "void": "void", "struct": "void", "ptr": "void*"}


def header() -> str:
    """Return the list of all functions: `DT_FUNCTION(name, type)` makes of them what it is defined as."""
    rows = [f"DT_FUNCTION({name}, {kind})" for name, kind in _functions().items()]
    return "\n".join(["// Generated: functions of drivers, in the plain types of their registries.", *rows]) + "\n"


def table(numbers: Mapping[str, int]) -> str:
    """Return the C++ that numbers the functions by name; those that `numbers` lacks get the count of the others."""
    rows = [
        f"const Function<{kind}> {name}{{{numbers.get(name, len(numbers))}}};" for name, kind in _functions().items()
    ]
    return "\n".join(["// Generated.", '#include "driver.h"', "namespace dt::driver {", *rows, "}"]) + "\n"


@cache
def _functions() -> dict[str, str]:
    return dict(_each())


def _each() -> Iterator[tuple[str, str]]:
    for api in APIS:
        for name, command in sorted(load_api(api).commands.items()):
            yield name, _type(command)


def _type(command: Command) -> str:
    return f"{_plain(command.returns)}({', '.join(_plain(p.type) for p in command.params)})"


def _plain(kind: CType) -> str:
    """Return a type without the registry's names: handles and structures of the APIs are void pointers."""
    if kind.base in ("GLchar", "GLcharARB", "char"):
        base = "char"
    elif kind.scalar in _SCALARS:
        base = _SCALARS[kind.scalar]
    else:
        base = f"{'u' if kind.scalar[0] == 'u' else ''}int{kind.scalar[1:]}_t"
    if not kind.indirection:
        return base
    pointers = kind.spelling.rsplit(kind.base, 1)[1].replace(" ", "")
    if kind.const:
        return f"{base} const{pointers}" if base.endswith("*") else f"const {base}{pointers}"
    return base + pointers
