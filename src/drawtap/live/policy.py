"""Policies: from what programs show and what the machine says, who is held back, and why.

One file a policy in `policies/`: a frozen dataclass whose fields are its settings and whose `decide` is a pure
function. The memory of a policy goes out with each decision and comes in again as `memory`. So a simulation (`drawtap
policy`), a test and the manager call the same code and get the same answer.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import UnionType
from typing import Any, Protocol, get_args, get_origin, get_type_hints

from drawtap.errors import UsageError, did_you_mean
from drawtap.live.program import Limit, Program
from drawtap.live.signal import Signals
from drawtap.plugins import Registry

_GONE_NS = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The facts at `now_ns`: the programs with their frames of the last seconds, and signals."""

    now_ns: int
    programs: tuple[Program, ...]
    signals: Signals = field(default_factory=Signals)

    def drawing(self) -> tuple[Program, ...]:
        """Return the programs that showed a frame in the last two seconds."""
        return tuple(p for p in self.programs if (s := p.surface) and self.now_ns - s.last_ns < _GONE_NS)


@dataclass(frozen=True, slots=True)
class Decision:
    """Limits by `Program.id`, each with its reason; programs that are not in it are free.

    `memory` is handed to the same policy's next decision. `notes` say what could not be done, and why.
    """

    limits: Mapping[int, Limit] = field(default_factory=dict)
    memory: object = None
    notes: tuple[str, ...] = ()


class Policy(Protocol):
    """A policy with its settings."""

    def decide(self, seen: Snapshot, memory: object) -> Decision:
        """Say who is to be held back from now on. `memory` is None at first, then what the last decision gave out."""


POLICIES: Registry[type[Policy]] = Registry("policy", "drawtap.live.policies")
#: `@policy(NAME)` registers a class as a policy; its docstring is its documentation.
policy = POLICIES.register


def make_policy(name: str, settings: Mapping[str, object] | None = None) -> Policy:
    """Return the policy `name` with `settings`, as a configuration file or a command line has them.

    Raises UsageError for a policy or setting that does not exist, and for a value of the wrong kind.
    """
    made = POLICIES.get(name)
    return made(**checked_settings(made, f"the policy {name}", settings or {}))


def settings_of(made: type[Any]) -> list[tuple[str, str, object]]:
    """Return the settings of a policy, alarm or action: name, type as text, default (MISSING: it must be given)."""
    hints = get_type_hints(made)
    return [
        (f.name, _type_name(hints[f.name]), f.default_factory() if callable(f.default_factory) else f.default)
        for f in dataclasses.fields(made)
        if f.init
    ]


def about(made: type[Any]) -> str:
    """Return the documentation of a policy, alarm or action."""
    return inspect.cleandoc(made.__doc__ or "")


def decide(chosen: Policy, name: str, seen: Snapshot, memory: object) -> Decision:
    """Let `chosen` decide and bound what it says: never below a program's floor, never above its cap.

    Limits carry `name` as their origin.
    """
    decision = chosen.decide(seen, memory)
    bounded: dict[int, Limit] = {}
    for program in seen.programs:
        limit = decision.limits.get(program.id)
        if limit is not None:
            floor = max(program.floor_fps, 1.0)
            if limit.fps < floor:
                limit = replace(limit, fps=floor, reason=f"{limit.reason}; not below its floor of {floor:g}")
            limit = replace(limit, origin=name)
        if program.cap_fps is not None and (limit is None or limit.fps > program.cap_fps):
            limit = Limit(program.cap_fps, f"its cap is {program.cap_fps:g} FPS", name, chosen=True)
        if limit is not None:
            bounded[program.id] = limit
    return Decision(bounded, decision.memory, decision.notes)


def combined(decisions: Iterable[Decision]) -> dict[int, Limit]:
    """Return the lowest limit for each program that several policies gave."""
    lowest: dict[int, Limit] = {}
    for decision in decisions:
        for key, limit in decision.limits.items():
            if key not in lowest or limit.fps < lowest[key].fps:
                lowest[key] = limit
    return lowest


# ---- settings, as a configuration file has them ------------------------------------------------------------


def checked_settings(
    made: type[Any], what: str, given: Mapping[str, object], written: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return `given` as arguments of `made`. Raises UsageError that names `what` for what is wrong.

    `written` says which fields people write under other names: hints have those.
    """
    hints = get_type_hints(made)
    known = {f.name: f for f in dataclasses.fields(made) if f.init}
    values: dict[str, Any] = {}
    for key, value in given.items():
        name = key.replace("-", "_")
        if name not in known:
            names = [(written or {}).get(field, field) for field in known]
            hint = did_you_mean(name, names) or f"it has: {', '.join(names) or 'none'}"
            raise UsageError(f"{what} has no setting {key!r}", hint=hint)
        values[name] = _value(value, hints[name], f"{what}: {key}")
    lacking = [
        f.name
        for f in known.values()
        if f.name not in values and f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    ]
    if lacking:
        raise UsageError(f"{what} needs {', '.join(lacking)}")
    return values


def _value(value: object, kind: Any, what: str) -> object:
    origin = get_origin(kind)
    if origin is UnionType:
        kinds = [k for k in get_args(kind) if k is not type(None)]
        if value is None or value == "":
            return None
        return _value(value, kinds[0], what)
    if origin is tuple:
        if isinstance(value, str):
            value = [part.strip() for part in value.split(",") if part.strip()]
        if not isinstance(value, list | tuple):
            raise UsageError(f"{what} must be a list, not {value!r}")
        return tuple(_value(item, get_args(kind)[0], what) for item in value)
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise UsageError(f"{what} must be a table, not {value!r}")
        of = get_args(kind)[1]
        return {str(k): _value(v, of, f"{what}.{k}") for k, v in value.items()}
    if kind is bool and isinstance(value, str) and value.lower() in ("true", "false", "yes", "no", "1", "0"):
        return value.lower() in ("true", "yes", "1")
    if kind in (float, int) and not isinstance(value, bool) and isinstance(value, int | float | str):
        try:
            number = kind(value)
        except ValueError:
            raise UsageError(f"{what} must be a number, not {value!r}") from None
        if not math.isfinite(number) or number < 0:
            raise UsageError(f"{what} must be a number from 0 up, not {value!r}")
        return number
    if kind is str and isinstance(value, str):
        return value
    if kind is Any or (isinstance(kind, type) and isinstance(value, kind)):
        return value
    raise UsageError(f"{what} must be of type {_type_name(kind)}, not {value!r}")


def _type_name(kind: Any) -> str:
    names = {float: "number", int: "whole number", str: "text", bool: "true or false"}
    if kind in names:
        return names[kind]
    origin = get_origin(kind)
    if origin is tuple:
        return f"list of {_type_name(get_args(kind)[0])}"
    if origin is UnionType:
        return _type_name(next(k for k in get_args(kind) if k is not type(None)))
    if origin is not None and issubclass(origin, Mapping):
        return f"table of {_type_name(get_args(kind)[1])}"
    return str(getattr(kind, "__name__", kind))
