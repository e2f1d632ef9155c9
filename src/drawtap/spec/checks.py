"""Check rules: that the names in them exist, and that the paths lead through members that are there."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from drawtap.errors import did_you_mean
from drawtap.spec import expr
from drawtap.spec.expr import SpecError
from drawtap.spec.model import (
    Array,
    AttributeList,
    BufferOffset,
    Command,
    Data,
    Each,
    String,
    Strings,
    StructType,
    Tree,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# Attributes of rules that are expressions.
RULES = frozenset({"count", "actual", "length", "capacity", "format", "type", "width", "height", "depth", "limit",
                   "size", "before", "stride", "update"})  # fmt: skip


def validate_data(rule: Data, scope: expr.Scope, after: expr.Scope) -> None:
    """Check that the names in a rule exist. Raises SpecError."""
    for item in fields(rule):
        value = getattr(rule, item.name)
        if isinstance(value, str) and item.name in RULES:
            expr.validate(value, after if item.name == "actual" else scope)
        elif isinstance(value, Array | String | Tree):
            inner: frozenset[str] = frozenset({"index"}) if isinstance(rule, Each) else frozenset()
            within = replace(scope, params=scope.params | inner)
            validate_data(value, within, replace(after, params=after.params | inner))
    if isinstance(rule, BufferOffset):
        known_enum(rule.binding, scope)
    elif isinstance(rule, AttributeList):
        expr.validate(rule.terminator, scope)
        for name in (*rule.valueless, *(attribute for attribute, _ in rule.values)):
            known_enum(name, scope)
    elif isinstance(rule, Strings) and rule.lengths is not None and rule.lengths not in scope.params:
        raise SpecError(
            f"{scope.where}: the lengths of strings are no parameter: {rule.lengths}",
            hint=f"parameters: {', '.join(sorted(scope.params))}",
        )


def known_enum(name: str, scope: expr.Scope) -> None:
    """Check that an enumerant exists. Raises SpecError."""
    if name not in scope.enums:
        raise SpecError(f"{scope.where}: {name} is no enumerant", hint=did_you_mean(name, scope.enums))


# ---- structures -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StructChecks:
    """Checks the rules of structures, and the paths in rules that lead into structures."""

    known: Mapping[str, StructType]
    enums: Mapping[str, int]
    tables: frozenset[str]

    def command(self, command: Command) -> None:
        """Check the paths in a command's rules. Raises SpecError."""
        types = {p.name: p.type.base for p in command.params}
        for param in command.params:
            for text in expressions(param.data):
                self._paths(command.name, text, types, ())

    def structs(self) -> None:
        """Check every rule of every structure. Raises SpecError."""
        leading = self._leading()
        for name, struct in self.known.items():
            if name != struct.name:
                continue
            types = {m.name: m.type.base for m in struct.members}
            scope = expr.Scope(name, frozenset({*types, "outer"}), self.enums, self.tables, members=True)
            for member in struct.members:
                if member.data is not None:
                    validate_data(member.data, scope, replace(scope, result=True))
                if member.when is not None:
                    expr.validate(member.when, scope)
                for text in (*expressions(member.data), *([member.when] if member.when else ())):
                    self._paths(name, text, types, leading.get(name, ()))

    def _leading(self) -> dict[str, list[str]]:
        """Return by structure those that have a pointer to it."""
        structs: dict[str, list[str]] = {}
        for struct in self.known.values():
            for member in struct.members:
                if member.type.base in self.known:
                    structs.setdefault(member.type.base, []).append(struct.name)
        return structs

    def _paths(self, where: str, text: str, types: Mapping[str, str], outer: Iterable[str]) -> None:
        for root, *way in expr.paths(text):
            if root != "outer":
                self._way(where, text, types.get(root, ""), way)
                continue
            leading = [name for name in outer if any(m.name == way[0] for m in self.known[name].members)]
            for name in leading:
                self._way(where, text, name, way)
            if outer and not leading:
                raise SpecError(f"{where}: rule {text!r}: no structure that leads here has a member {way[0]}")

    def _way(self, where: str, text: str, base: str, way: Iterable[str]) -> None:
        for name in way:
            struct = self.known.get(base)
            member = next((m for m in struct.members if m.name == name), None) if struct else None
            if member is None:
                names = [m.name for m in struct.members] if struct else []
                raise SpecError(
                    f"{where}: rule {text!r}: {base or 'a name without members'} has no member {name}",
                    hint=did_you_mean(name, names),
                )
            base = member.type.base


def expressions(rule: Data | None) -> Iterator[str]:
    """Yield every expression of a rule."""
    for item in fields(rule) if rule is not None else ():
        value = getattr(rule, item.name)
        if isinstance(value, str) and item.name in RULES:
            yield value
        elif isinstance(value, Array | String | Tree):
            yield from expressions(value)
