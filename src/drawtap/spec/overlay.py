"""The overlay: what a registry does not say about its API, written as one Python module per API.

    o = OVERLAYS.register("gl")(Overlay("gl", xml="gl.xml", libraries=("libGL.so.1",), lookups=()))
    o.table("light_params", {"GL_POSITION": 4, "GL_SPOT_DIRECTION": 3}, default=1)
    o.data("glLightfv glLightiv", params=Array("light_params(pname)"))
    o.flags("draw gpu_reads", "glDraw* glMultiDraw*")
    o.effects("glBindBuffer", set_("context.buffer[target]", "buffer"))

Commands are named by blank-separated patterns: exact names, names with {a,b} alternatives (each must exist) and globs
with * or ? (at least one command must match; commands without the parameter are passed over). Where two statements
speak of the same parameter, the later one holds. An alias in the registry takes over the other command's rules,
parameter by parameter in order. Names that the registry does not have are errors.
"""

from __future__ import annotations

import fnmatch
import re
from bisect import bisect_left
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from drawtap.errors import did_you_mean
from drawtap.spec import expr
from drawtap.spec.checks import RULES, StructChecks, validate_data
from drawtap.spec.expr import SpecError
from drawtap.spec.model import (
    FLAGS,
    SHAPES,
    Api,
    Array,
    Command,
    Data,
    Effect,
    EnumGroup,
    Param,
    Registry,
    String,
    Strings,
    Tree,
)
from drawtap.spec.structs import Only, with_rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


T = TypeVar("T")

VERBS = ("set", "get", "copy", "create", "delete", "run")


def set_(path: str, value: str, when: str | None = None) -> Effect:
    """Store the value of an expression at a path."""
    return Effect("set", path, value, when)


def get(path: str, value: str | None = None, when: str | None = None) -> Effect:
    """Read a path, into the parameter `value` where one is named."""
    return Effect("get", path, value, when)


def copy(path: str, value: str, when: str | None = None) -> Effect:
    """Store at a path what stands at the path `value`."""
    return Effect("copy", path, value, when)


def create(path: str, value: str, when: str | None = None) -> Effect:
    """Make objects; `value` is the parameter with their names, or "result"."""
    return Effect("create", path, value, when)


def delete(path: str, value: str | None = None, when: str | None = None) -> Effect:
    """End objects; `value` is the parameter with their names."""
    return Effect("delete", path, value, when)


def run(name: str, arguments: str = "", when: str | None = None) -> Effect:
    """Hand the arguments to the state machine's hand-written function `name`.

    They are separated by commas: expressions, or paths of the objects that the command is about.
    """
    return Effect("run", f"context.{name}", arguments or None, when)


@dataclass
class Overlay:
    """Collect statements about one API; `apply` makes the Api of them.

    `xml` is a file in `drawtap/spec/xml`, or a whole path. `recorded`: unless the user chooses other APIs.
    """

    name: str
    xml: str
    libraries: tuple[str, ...] = ()
    lookups: tuple[str, ...] = ()
    recorded: bool = True
    _data: list[tuple[str, Mapping[str, Data]]] = field(default_factory=list)
    _members: list[tuple[str, Mapping[str, Data | Only]]] = field(default_factory=list)
    _groups: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    _classes: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    _flags: list[tuple[str, str, str]] = field(default_factory=list)
    _shapes: list[tuple[str, str, str]] = field(default_factory=list)
    _effects: list[tuple[str, tuple[Effect, ...]]] = field(default_factory=list)
    _aliases: list[tuple[str, str]] = field(default_factory=list)
    _tables: dict[str, Mapping[str, int | str]] = field(default_factory=dict)
    _enum_groups: list[tuple[str, tuple[str, ...], bool]] = field(default_factory=list)

    def data(self, commands: str, /, **rules: Data) -> None:
        """Say what pointers point to, by parameter name; `returns` is the return value."""
        self._data.append((commands, rules))

    def member(self, structs: str, /, **rules: Data | Only) -> None:
        """Say what pointers in structures point to, by member name; `Only` says when they count.

        Rules may use the structure's members and, as `outer`, the structure or the command that leads here.
        """
        self._members.append((structs, rules))

    def groups(self, commands: str, /, **groups: str) -> None:
        """Give parameters (or `returns`) an enum group."""
        self._groups.append((commands, groups))

    def classes(self, commands: str, /, **classes: str) -> None:
        """Say which kind of object parameters (or `returns`) name."""
        self._classes.append((commands, classes))

    def flags(self, flags: str, commands: str, /) -> None:
        """Set flags (blank-separated, see model.FLAGS) on commands."""
        self._flags.append((flags, commands, ""))

    def shapes(self, shapes: str, commands: str, /, *, without: str = "") -> None:
        """Set shapes (blank-separated, see model.SHAPES) on commands, apart from those that match `without`."""
        self._shapes.append((shapes, commands, without))

    def effects(self, commands: str, /, *effects: Effect) -> None:
        """Say what commands do to state paths."""
        self._effects.append((commands, effects))

    def like(self, commands: str, target: str, /) -> None:
        """Let commands take over the rules of `target`, as aliases do; their parameters correspond by position."""
        self._aliases.append((commands, target))

    def table(self, name: str, rows: Mapping[str, int | str], *, default: int | str = 0) -> None:
        """Define a table for rules: a number or an expression for each enumerant (names may share a row by blanks)."""
        flat: dict[str, int | str] = {}
        for key, entry in rows.items():
            for enumerant in key.split():
                if enumerant in flat:
                    raise SpecError(f"table {name} of {self.name} has {enumerant} twice")
                flat[enumerant] = entry
        self._tables[name] = {**flat, "default": default}

    def group(self, name: str, members: str | Iterable[str], *, bitmask: bool = False) -> None:
        """Define or extend an enum group by names of enumerants, which may be globs."""
        names = members.split() if isinstance(members, str) else list(members)
        self._enum_groups.append((name, tuple(names), bitmask))

    def include(self, other: Overlay) -> None:
        """Take over everything that a part of this overlay, in a module of its own, says."""
        for item in fields(self):
            if isinstance(said := getattr(self, item.name), list):
                said += getattr(other, item.name)
        for name, rows in other._tables.items():
            if name in self._tables:
                raise SpecError(f"table {name} of {self.name} is defined twice")
            self._tables[name] = rows

    def apply(self, registry: Registry) -> Api:
        """Return the Api. Raises SpecError where a statement does not fit the registry."""
        return _Build(self, registry).api()


class _Build:
    def __init__(self, overlay: Overlay, registry: Registry) -> None:
        self._overlay = overlay
        self._registry = registry
        self._names = _Names(registry.commands, f"overlay {overlay.name}")
        self._own: dict[str, dict[str, Data]] = {}
        self._own_groups: dict[str, dict[str, str]] = {}
        self._own_classes: dict[str, dict[str, str]] = {}
        self._own_flags: dict[str, set[str]] = {}
        self._own_shapes: dict[str, set[str]] = {}
        self._own_effects: dict[str, list[Effect]] = {}
        self._aliases = {name: c.alias for name, c in registry.commands.items() if c.alias}
        self._done: dict[str, Command] = {}
        self._inherited: dict[str, Mapping[str, Data]] = {}
        self._groups = self._all_groups()

    def api(self) -> Api:
        overlay, registry = self._overlay, self._registry
        self._check_tables()
        for commands, target in overlay._aliases:
            self._names.one(target)
            self._aliases.update(dict.fromkeys(self._names.match(commands), target))
        self._spread(overlay._data, self._own)
        self._spread(overlay._groups, self._own_groups)
        self._spread(overlay._classes, self._own_classes)
        self._spread_words("flag", FLAGS, overlay._flags, self._own_flags)
        self._spread_words("shape", SHAPES, overlay._shapes, self._own_shapes)
        for commands, effects in overlay._effects:
            for name in self._names.match(commands):
                self._own_effects.setdefault(name, []).extend(effects)
        commands_ = {name: self._command(name) for name in registry.commands}
        structs = with_rules(registry.structs, overlay._members, f"overlay {overlay.name}")
        checks = StructChecks(structs, registry.enums, frozenset(overlay._tables))
        for command in commands_.values():
            self._validate(command)
            checks.command(command)
        checks.structs()
        return Api(
            name=overlay.name,
            commands=commands_,
            groups=self._groups,
            enums=registry.enums,
            features=registry.features,
            extensions=registry.extensions,
            typedefs=registry.typedefs,
            tables=overlay._tables,
            libraries=overlay.libraries,
            lookups=overlay.lookups,
            origin=registry.origin,
            structs=structs,
            handles=registry.handles,
        )

    # -- statements to commands

    def _spread(self, statements: list[tuple[str, Mapping[str, T]]], into: dict[str, dict[str, T]]) -> None:
        for patterns, rules in statements:
            for pattern, names in self._names.each(patterns):
                used: set[str] = set()
                for name in names:
                    fitting = self._fitting(name, rules)
                    used.update(fitting)
                    into.setdefault(name, {}).update(fitting)
                for missing in rules.keys() - used:
                    self._no_parameter(pattern, names, missing)

    def _fitting(self, name: str, rules: Mapping[str, T]) -> dict[str, T]:
        own = {p.name for p in self._registry.commands[name].params}
        if self._registry.commands[name].returns.scalar != "void" or self._registry.commands[name].returns.indirection:
            own.add("returns")
        return {param: rule for param, rule in rules.items() if param in own}

    def _no_parameter(self, pattern: str, names: list[str], missing: str) -> None:
        known = dict.fromkeys(p.name for name in names for p in self._registry.commands[name].params)
        raise SpecError(
            f"overlay {self._overlay.name}: {pattern} has no parameter {missing}",
            hint=f"parameters: {', '.join(known) or 'none'}",
        )

    def _spread_words(
        self, kind: str, known: Iterable[str], statements: list[tuple[str, str, str]], into: dict[str, set[str]]
    ) -> None:
        for words, patterns, without in statements:
            for word in words.split():
                if word not in known:
                    raise SpecError(
                        f"overlay {self._overlay.name}: no {kind} is called {word}", hint=f"{kind}s: {', '.join(known)}"
                    )
            for name in self._names.match(patterns):
                if not any(fnmatch.fnmatchcase(name, pattern) for pattern in without.split()):
                    into.setdefault(name, set()).update(words.split())

    # -- enum groups

    def _all_groups(self) -> dict[str, EnumGroup]:
        groups = dict(self._registry.groups)
        enums = self._registry.enums
        for name, patterns, bitmask in self._overlay._enum_groups:
            values = dict(groups[name].values) if name in groups else {}
            for pattern in patterns:
                names = fnmatch.filter(enums, pattern) if _is_glob(pattern) else [pattern]
                for member in names:
                    if member not in enums:
                        raise SpecError(
                            f"overlay {self._overlay.name}: group {name} has the unknown enumerant {member}",
                            hint=did_you_mean(member, enums),
                        )
                    values[member] = enums[member]
                if not names:
                    raise SpecError(f"overlay {self._overlay.name}: group {name}: nothing matches {pattern}")
            groups[name] = EnumGroup(name, values, bitmask or (name in groups and groups[name].bitmask))
        rank = _ranks(self._registry)
        fallback = _fallback(self._registry)
        if not self._registry.structs:  # where every value has a type of its own, nothing needs it
            groups[fallback] = _everything(fallback, enums, rank)
        return {name: _preferred_first(group, rank) for name, group in groups.items()}

    # -- commands

    def _command(self, name: str) -> Command:
        if name not in self._done:
            self._done[name] = self._resolve(name)
        return self._done[name]

    def _explicit(self, name: str, seen: tuple[str, ...] = ()) -> Mapping[str, Data]:
        """Rules that the overlay gives a command or the one that it is an alias of."""
        if name in self._inherited:
            return self._inherited[name]
        rules: dict[str, Data] = {}
        target = self._target(name)
        if target is not None and target not in seen:
            pairs = self._pairs(name, target)
            back = dict(pairs)
            for param, rule in self._explicit(target, (*seen, name)).items():
                if param in back:
                    rules[back[param]] = _renamed(rule, tuple((o, n) for o, n in pairs if o != n))
        rules.update(self._own.get(name, {}))
        self._inherited[name] = rules
        return rules

    def _target(self, name: str) -> str | None:
        target = self._aliases.get(name)
        if target is None or target not in self._registry.commands:
            return None
        own, other = self._registry.commands[name], self._registry.commands[target]
        if len(own.params) != len(other.params):
            return None
        same = all(
            a.type.indirection == b.type.indirection or "ptr" in (a.type.scalar, b.type.scalar)
            for a, b in zip(own.params, other.params, strict=True)
        )
        return target if same else None

    def _pairs(self, name: str, target: str) -> list[tuple[str, str]]:
        own, other = self._registry.commands[name], self._registry.commands[target]
        return [
            *((b.name, a.name) for a, b in zip(own.params, other.params, strict=True)),
            ("returns", "returns"),
        ]

    def _resolve(self, name: str) -> Command:
        command = self._registry.commands[name]
        target_name = self._target(name)
        target = self._command(target_name) if target_name and target_name != name else None
        rules = self._explicit(name)
        groups = self._own_groups.get(name, {})
        classes = self._own_classes.get(name, {})
        params = []
        for index, param in enumerate(command.params):
            other = target.params[index] if target else None
            params.append(self._param(command, param, rules.get(param.name), other, groups=groups, classes=classes))
        returns_data = rules.get("returns") if command.returns.indirection else None
        flags = frozenset(self._own_flags.get(name, ())) | (target.flags if target else frozenset())
        return replace(
            command,
            params=tuple(params),
            returns_group=groups.get("returns") or self._group(command.returns_group, command.returns.base),
            returns_class=classes.get("returns") or command.returns_class or (target.returns_class if target else None),
            returns_data=returns_data,
            flags=flags,
            shapes=frozenset(self._own_shapes.get(name, ())),
            effects=self._effects(name, target),
        )

    def _param(
        self,
        command: Command,
        param: Param,
        rule: Data | None,
        other: Param | None,
        *,
        groups: Mapping[str, str],
        classes: Mapping[str, str],
    ) -> Param:
        group = groups.get(param.name) or param.group or (other.group if other else None)
        return Param(
            name=param.name,
            type=param.type,
            group=self._group(group, param.type.base),
            object_class=classes.get(param.name) or param.object_class or (other.object_class if other else None),
            kind=param.kind,
            registry_len=param.registry_len,
            data=rule or self._default(command, param, other),
            optional=param.optional,
        )

    def _default(self, command: Command, param: Param, other: Param | None) -> Data | None:
        """Return the meaning of `len` here, or at the command that this one is an alias of."""
        if not param.is_pointer:
            return None
        rule = param.data or default_rule(command, param)
        if rule is None and other is not None and other.data is not None:
            target = self._target(command.name)
            assert target is not None
            rule = _renamed(other.data, tuple((o, n) for o, n in self._pairs(command.name, target) if o != n))
        return rule

    def _group(self, group: str | None, base: str) -> str | None:
        if group is None and base == _fallback(self._registry):
            return base
        return group

    def _effects(self, name: str, target: Command | None) -> tuple[Effect, ...]:
        own = self._own_effects.get(name)
        if own is not None or target is None:
            return tuple(own or ())
        pairs = tuple((o, n) for o, n in self._pairs(name, target.name) if o != n)
        return tuple(_renamed_effect(e, pairs) for e in target.effects)

    # -- checks

    def _validate(self, command: Command) -> None:
        params = frozenset(p.name for p in command.params)
        members = bool(self._registry.structs)
        scope = expr.Scope(
            command.name, params, self._registry.enums, frozenset(self._overlay._tables), members=members
        )
        after = replace(scope, result=True)
        for param in command.params:
            if param.data is not None:
                validate_data(param.data, scope, after)
            if param.group is not None and param.group not in self._groups:
                raise SpecError(
                    f"{command.name}: no enum group is called {param.group}",
                    hint=did_you_mean(param.group, self._groups),
                )
        if command.returns_data is not None:
            validate_data(command.returns_data, after, after)
        for effect in command.effects:
            _validate_effect(effect, after)

    def _check_tables(self) -> None:
        enums = self._registry.enums
        for name, rows in self._overlay._tables.items():
            scope = expr.Scope(f"table {name}", frozenset(), enums, frozenset(self._overlay._tables))
            for key, entry in rows.items():
                if key != "default" and key not in enums:
                    raise SpecError(
                        f"table {name} of {self._overlay.name} has the unknown enumerant {key}",
                        hint=did_you_mean(key, enums),
                    )
                if isinstance(entry, str):
                    expr.validate(entry, scope)


# ---- patterns ---------------------------------------------------------------------------------------------


class _Names:
    """Commands by pattern."""

    def __init__(self, commands: Iterable[str], where: str) -> None:
        self._set = frozenset(commands)
        self._sorted = sorted(self._set)
        self._where = where

    def one(self, name: str) -> None:
        if name not in self._set:
            raise SpecError(f"{self._where} names the unknown command {name}", hint=did_you_mean(name, self._sorted))

    def match(self, patterns: str) -> list[str]:
        return [name for _, names in self.each(patterns) for name in names]

    def each(self, patterns: str) -> Iterator[tuple[str, list[str]]]:
        for word in patterns.split():
            for pattern in expr.expanded(word):
                if _is_glob(pattern):
                    names = self._glob(pattern)
                    if not names:
                        raise SpecError(f"{self._where}: no command matches {pattern}")
                    yield pattern, names
                else:
                    self.one(pattern)
                    yield pattern, [pattern]

    def _glob(self, pattern: str) -> list[str]:
        prefix = re.split(r"[*?\[]", pattern, maxsplit=1)[0]
        match = re.compile(fnmatch.translate(pattern)).match
        names = []
        for index in range(bisect_left(self._sorted, prefix), len(self._sorted)):
            name = self._sorted[index]
            if not name.startswith(prefix):
                break
            if match(name):
                names.append(name)
        return names


def _is_glob(pattern: str) -> bool:
    return any(c in pattern for c in "*?[")


# ---- default rules from `len` -----------------------------------------------------------------------------

_CHARACTERS = frozenset({"GLchar", "GLcharARB", "char"})


def default_rule(command: Command, param: Param) -> Data | None:
    """Return what the registry's `len` says about a pointer, None where it leaves that open."""
    count = _count(command, param)
    characters = param.type.base in _CHARACTERS
    if characters and param.type.indirection == 2 and param.type.const and count:
        return Strings(count, _lengths(command))
    if characters and param.type.indirection == 1:
        if param.type.const:
            return String(length=count)
        return String(out=True, capacity=count) if count else None
    if count is None:
        return None
    return Array(count, out=not param.type.const)


def _count(command: Command, param: Param) -> str | None:
    text = param.registry_len
    if not text or "COMPSIZE" in text:
        return None
    text = _whole_division(text)
    pointers = {p.name for p in command.params if p.is_pointer}
    known = {p.name for p in command.params}
    plain, calls = expr.names(text)
    if calls or not plain <= known or param.name in plain:
        return None
    if text in pointers:
        return f"deref({text})"
    return None if plain & pointers else text


@cache
def _whole_division(text: str) -> str:
    return re.sub(r"\s*/\s*", " // ", text)


def _lengths(command: Command) -> str | None:
    for param in command.params:
        if param.name in ("length", "lengths") and param.is_pointer and param.type.const:
            return param.name
    return None


# ---- names inside rules -----------------------------------------------------------------------------------


def _renamed(rule: Data, pairs: tuple[tuple[str, str], ...]) -> Data:
    if not pairs:
        return rule
    changes: dict[str, object] = {}
    for item in fields(rule):
        value = getattr(rule, item.name)
        if isinstance(value, str) and item.name in RULES:
            changes[item.name] = expr.renamed(value, pairs)
        elif isinstance(rule, Strings) and item.name == "lengths" and value is not None:
            changes[item.name] = dict(pairs).get(value, value)
        elif isinstance(value, Array | String | Tree):
            changes[item.name] = _renamed(value, pairs)
    return replace(rule, **changes)  # type: ignore[arg-type]


_KEY_WORD = re.compile(r"(?<![.\w])[A-Za-z_]\w*(?![\w.(])")


def _renamed_effect(effect: Effect, pairs: tuple[tuple[str, str], ...]) -> Effect:
    if not pairs:
        return effect
    mapping = dict(pairs)

    def in_path(path: str) -> str:
        head, bracket, rest = path.partition("[")
        return head + bracket + _KEY_WORD.sub(lambda m: mapping.get(m[0], m[0]), rest) if bracket else path

    value = effect.value
    if value is not None:
        value = ", ".join(in_path(v) if is_path(v) else expr.renamed(v, pairs) for v in effect_values(value))
    when = None if effect.when is None else expr.renamed(effect.when, pairs)
    return Effect(effect.verb, in_path(effect.path), value, when)


def effect_values(text: str) -> list[str]:
    """Return the expressions of an effect's value, which commas outside of brackets separate."""
    values, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c == "," and not depth:
            values.append(text[start:i].strip())
            start = i + 1
    return [*values, text[start:].strip()]


def is_path(text: str) -> bool:
    """Return whether an effect's value is a state path, no expression."""
    return text.startswith(("context.", "share.", "display.", "context[", "share["))


def _validate_effect(effect: Effect, scope: expr.Scope) -> None:
    if effect.verb not in VERBS:
        raise SpecError(f"{scope.where}: no effect is called {effect.verb}", hint=f"effects: {', '.join(VERBS)}")
    _validate_path(effect.path, scope)
    if effect.when is not None:
        expr.validate(effect.when, scope)
    if effect.value is None:
        return
    for value in effect_values(effect.value):
        if is_path(value):
            _validate_path(value, scope)
        else:
            expr.validate(value, scope)


def _validate_path(path: str, scope: expr.Scope) -> None:
    if not is_path(path) or path.count("[") != path.count("]"):
        raise SpecError(
            f"{scope.where}: {path!r} is no state path",
            hint='paths begin with "context.", "share." or "display." and have keys in brackets',
        )
    for word in _KEY_WORD.findall(path.partition("[")[2]):
        if word not in scope.params and word not in scope.enums and word != "result":
            raise SpecError(
                f"{scope.where}: the path {path!r} names {word}, which is no parameter",
                hint=f"parameters: {', '.join(sorted(scope.params))}",
            )


# ---- which name a value is shown by -----------------------------------------------------------------------

_SUFFIXES = ("_KHR", "_ARB", "_EXT", "_OES")


def _ranks(registry: Registry) -> dict[str, int]:
    """Rank enumerant names: those of versions first, then KHR, ARB, EXT, OES, then the vendors'."""
    core = {name for f in registry.features for names in f.enums.values() for name in names}
    ranks: dict[str, int] = {}
    for name in registry.enums:
        rank = 0 if name in core else 6
        for index, suffix in enumerate(_SUFFIXES):
            if name.endswith(suffix):
                rank = index + 1 + (0 if rank == 0 else 6)
        ranks[name] = rank
    return ranks


def _preferred_first(group: EnumGroup, rank: Mapping[str, int]) -> EnumGroup:
    names = sorted(group.values, key=lambda name: rank.get(name, 99))
    return EnumGroup(group.name, {name: group.values[name] for name in names}, group.bitmask)


def _fallback(registry: Registry) -> str:
    return f"{registry.name.upper()}enum"


def _everything(name: str, enums: Mapping[str, int], rank: Mapping[str, int]) -> EnumGroup:
    """Every enumerant that cannot be mistaken for a small number, one name a value."""
    by_value: dict[int, str] = {}
    for enumerant in sorted(enums, key=lambda n: rank[n]):
        if enums[enumerant] >= 0x0100 and "_BIT" not in enumerant and "_MASK" not in enumerant:
            by_value.setdefault(enums[enumerant], enumerant)
    return EnumGroup(name, {by_value[value]: value for value in sorted(by_value)})
