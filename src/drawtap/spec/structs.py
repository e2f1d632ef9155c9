"""The statements of an overlay about pointers in structures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from drawtap.errors import did_you_mean
from drawtap.spec.expr import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from drawtap.spec.model import Data, Member, StructType


@dataclass(frozen=True, slots=True)
class Only:
    """When a pointer in a structure counts (None: nothing tells, probe) and, where need be, what it points to."""

    when: str | None
    data: Data | None = None


def with_rules(
    structs: Mapping[str, StructType], statements: Iterable[tuple[str, Mapping[str, Data | Only]]], where: str
) -> dict[str, StructType]:
    """Return the structures with an overlay's statements put in; aliases stay aliases. Raises SpecError."""
    rules: dict[str, dict[str, Data | Only]] = {}
    for names, statement in statements:
        for name in names.split():
            struct = structs.get(name)
            if struct is None:
                raise SpecError(f"{where} names the unknown structure {name}", hint=did_you_mean(name, structs))
            known = {m.name for m in struct.members}
            fitting = {member: rule for member, rule in statement.items() if member in known}
            rules.setdefault(struct.name, {}).update(fitting)
        for member in statement:
            if not any(member in rules.get(structs[name].name, {}) for name in names.split()):
                raise SpecError(f"{where}: none of {names} has a member {member}")
    made = {name: _changed(structs[name], rule) for name, rule in rules.items()}
    return {name: made.get(struct.name, struct) for name, struct in structs.items()}


def _changed(struct: StructType, rules: Mapping[str, Data | Only]) -> StructType:
    return replace(struct, members=tuple(_member(m, rules.get(m.name)) for m in struct.members))


def _member(member: Member, rule: Data | Only | None) -> Member:
    match rule:
        case None:
            return member
        case Only(when=when, data=data):
            return replace(member, data=data or member.data, when=when, unsure=member.unsure or when is None)
        case _:
            return replace(member, data=rule)
