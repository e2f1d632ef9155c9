"""The state tree of an API: classes of objects, the variables that each has, and what they hold at first.

    TREE = t = Tree()
    t.add("light", '''
    enabled b
    GL_AMBIENT c4 0 0 0 1
    ''')
    t.add("context", "GL_DEPTH_FUNC e GL_LESS", lights="light[8]", materials="material{GL_FRONT GL_BACK}")

A line is `NAME KIND[COMPONENTS] [INITIAL...]`. Kinds: b boolean, e enumerant, i integer, u bit mask, f float, d double,
s text, p address, n name of an object. c is a float of a colour (integers given for it are normalised); h is content (a
hash, or the last change). Names are spelled as in docs/state-paths.md. `NAME*8` is an array whose element 0 stands
without an index in its path, `NAME[]*8` one whose elements all have theirs. `NAME_{A,B}` are two variables that begin
alike. `@WORD` begins a group: variables that are read together (`@raster`), neighbours in a range. `@` alone ends it.

Children: `class[N]` are made with their parent where N is a number, `class[]` when they are first touched;
`class{WORDS}` has elements named by enumerants; `class()` holds objects by the names that the program gave.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from drawtap.spec.expr import SpecError, expanded

if TYPE_CHECKING:
    from collections.abc import Mapping

KINDS = "beiufcdnhsp"
_LINE = re.compile(r"([\w.]+)(?:(\[\])?\*(\d+))?\s+([" + KINDS + r"])(\d*)(?:\s+(.*))?")
_CHILD = re.compile(r"(\w+)(\[(\d*)\]|\{([\w ]+)\}|\(\))")


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable of a class; `initial` are words: numbers or enumerants."""

    name: str
    kind: str
    components: int = 1
    elements: int = 1
    always_indexed: bool = False
    initial: tuple[str, ...] = ()

    @property
    def identifier(self) -> str:
        """Name in C++."""
        name = self.name.replace(".", "_") + ("_i" if self.always_indexed else "")
        return f"{name}_" if name in ("double", "float", "int", "bool") else name


@dataclass(frozen=True, slots=True)
class Children:
    """A collection of nodes below a class: `style` is index, enum or name."""

    name: str
    of: str
    style: str
    made: int = 0
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StateClass:
    """A class of objects: its variables in order, its groups as (first, end) numbers of variables, its children."""

    name: str
    variables: tuple[Variable, ...]
    groups: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    children: tuple[Children, ...] = ()

    def variable(self, name: str) -> Variable:
        """Return a variable by its name or its identifier. Raises KeyError."""
        for v in self.variables:
            if name in (v.name, v.identifier):
                return v
        raise KeyError(f"class {self.name} has no variable {name}")

    def child(self, name: str) -> Children:
        """Return a collection. Raises KeyError."""
        for c in self.children:
            if c.name == name:
                return c
        raise KeyError(f"class {self.name} has no children {name}")


@dataclass
class Tree:
    """The classes of an API, by name."""

    classes: dict[str, StateClass] = field(default_factory=dict)

    def add(self, name: str, text: str, /, **children: str) -> None:
        """Add a class. Raises SpecError for a line that is no variable."""
        if name in self.classes:
            raise SpecError(f"state class {name} is defined twice")
        variables: list[Variable] = []
        groups: dict[str, tuple[int, int]] = {}
        current, start = "", 0
        for full in [*text.splitlines(), "@"]:
            line = full.partition("#")[0].strip()
            if line.startswith("@"):
                if current:
                    groups[current] = (start, len(variables))
                current, start = line[1:].strip(), len(variables)
            elif line:
                variable, _, rest = line.partition(" ")
                variables += [_variable(name, f"{one} {rest}") for one in expanded(variable)]
        names = [v.identifier for v in variables]
        twice = {n for n in names if names.count(n) > 1}
        if twice:
            raise SpecError(f"state class {name} has {', '.join(sorted(twice))} twice")
        self.classes[name] = StateClass(
            name,
            tuple(variables),
            groups,
            tuple(map(_children, *zip(*children.items(), strict=True))) if children else (),
        )


def _variable(where: str, line: str) -> Variable:
    match = _LINE.fullmatch(line)
    if match is None:
        raise SpecError(f"state class {where}: {line!r} is no variable")
    name, indexed, elements, kind, components, initial = match.groups()
    count = int(components or 1)
    words = tuple((initial or "").split())
    if words and len(words) not in (1, count):
        raise SpecError(f"state class {where}: {name} has {len(words)} initial values for {count} components")
    return Variable(name, kind, count, int(elements or 1), bool(indexed), words)


def _children(name: str, text: str) -> Children:
    match = _CHILD.fullmatch(text)
    if match is None:
        raise SpecError(f"children {name}: {text!r} is no collection")
    of, form, count, keys = match.groups()
    if keys is not None:
        return Children(name, of, "enum", keys=tuple(keys.split()))
    if form == "()":
        return Children(name, of, "name")
    return Children(name, of, "index", made=int(count or 0))


__all__ = ["KINDS", "Children", "StateClass", "Tree", "Variable"]
