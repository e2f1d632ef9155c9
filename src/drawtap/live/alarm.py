"""Alarms: rules over live figures, and what is done when one goes off.

One file a rule in `alarms/`, one file an action in `actions/`: frozen dataclasses whose fields are their settings. A
rule is a pure function of one program and of what it remembered of it; `Watch` asks all of them and tells what changed.

    [[alarm]]
    rule = "target-missed"
    seconds = 2
    programs = "terrain*"
    actions = [{ do = "trace", frames = 120 }, { do = "run", command = "notify-send slow" }]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Protocol

from drawtap.errors import DrawtapError, UsageError, did_you_mean
from drawtap.live.policy import Snapshot, checked_settings
from drawtap.live.program import Alarm, Program
from drawtap.plugins import Registry


@dataclass(frozen=True, slots=True)
class Look:
    """The judgement of a rule about one program: whether the alarm is on, its finding, and its memory.

    `happened` are things of a moment (a hitch), each a text: they go off and are not on.
    """

    on: bool = False
    text: str = ""
    memory: object = None
    happened: tuple[str, ...] = ()


class Rule(Protocol):
    """A rule with its settings."""

    def look(self, program: Program, now_ns: int, memory: object) -> Look:
        """Look at a program. `memory` is None at first, then what the last look at it gave out."""


@dataclass(frozen=True, slots=True)
class Event:
    """An alarm that went `on`, `off`, or that `happened` at a moment, as actions and logs get it.

    `number` is its place among the alarms of the configuration: a rule may stand there more than once.
    """

    kind: str
    rule: str
    program: Program
    time_ns: int
    text: str
    since_ns: int = 0
    number: int | None = None

    def record(self) -> dict[str, object]:
        """Return it as a line of a log has it."""
        p = self.program
        return {
            "t": self.time_ns, "alarm": self.rule, "what": self.kind, "pid": p.pid, "program": p.name,
            "text": self.text, "fps": round(p.fps(self.time_ns), 2), "target_fps": p.target_fps,
            "seconds": round((self.time_ns - self.since_ns) / 1e9, 3) if self.kind == "off" else None,
        }  # fmt: skip


class Desk(Protocol):
    """The manager's services for actions. Each returns None, or why it cannot be done."""

    def trace(self, program: Program, frames: int, reason: str) -> str | None:
        """Record the program's next frames."""

    def mark(self, program: Program, text: str) -> str | None:
        """Put a remark into the recording of the program, where there is one."""

    def run_command(self, command: Sequence[str], settings: Mapping[str, str], event: Event) -> str | None:
        """Start a command for an event, with `settings` in its environment, and tell the log should it fail."""

    def log(self, record: Mapping[str, object]) -> None:
        """Write a line to the manager's log."""


class Action(Protocol):
    """Something to do when an alarm goes off."""

    def act(self, event: Event, desk: Desk) -> str | None:
        """Do it, without waiting for anything. Return None, or why it could not be done."""


ALARMS: Registry[type[Rule]] = Registry("alarm", "drawtap.live.alarms")
ACTIONS: Registry[type[Action]] = Registry("action", "drawtap.live.actions")
#: `@alarm(NAME)` registers a class as a rule, `@action(NAME)` as an action; docstrings are their documentation.
alarm, action = ALARMS.register, ACTIONS.register


@dataclass(frozen=True)
class Watched:
    """A rule with the programs that it is for, and what is done when it goes off.

    Actions are done when the alarm goes on or happens (also when it goes off, with `also_off`), for one program at most
    every `least_s` seconds.
    """

    name: str
    rule: Rule
    actions: tuple[tuple[str, Action], ...] = ()
    programs: str = "*"
    least_s: float = 10.0
    also_off: bool = False

    def is_for(self, program: Program) -> bool:
        """Tell whether its program is one of those that are meant."""
        return self.programs == "*" or fnmatchcase(program.name, self.programs)


def make_alarm(table: Mapping[str, object]) -> Watched:
    """Return the alarm that a table of the configuration describes.

    `rule` names it, `actions` are names or tables with `do` (without any the alarm goes to the log); `programs` (a
    pattern of names), `least_s` and `also_off` as in `Watched`; the rest are settings of the rule. Raises UsageError.
    """
    given = dict(table)
    name = given.pop("rule", None)
    if not isinstance(name, str):
        raise UsageError("an alarm needs a rule", hint=f"rule = one of {', '.join(ALARMS.names())}")
    actions = given.pop("actions", ["log"])
    if isinstance(actions, str | Mapping):
        actions = [actions]
    if not isinstance(actions, Sequence):
        raise UsageError(f"the alarm {name}: actions must be a list, not {actions!r}")
    own: dict[str, object] = {key: given.pop(key) for key in ("programs", "least_s", "also_off") if key in given}
    about = checked_settings(_About, f"the alarm {name}", own)
    made = ALARMS.get(name)
    rule: Rule = made(**checked_settings(made, f"the alarm {name}", given))
    return Watched(name, rule, tuple(_action(item, name) for item in actions), **about)


@dataclass(frozen=True)
class _About:
    # The fields of Watched that a configuration gives as they are.
    programs: str = "*"
    least_s: float = 10.0
    also_off: bool = False


def _action(item: object, rule: str) -> tuple[str, Action]:
    given = {"do": item} if isinstance(item, str) else dict(item) if isinstance(item, Mapping) else {}
    name = given.pop("do", None)
    if not isinstance(name, str):
        known = did_you_mean(str(item), ACTIONS.names()) or f"do = one of {', '.join(ACTIONS.names())}"
        raise UsageError(f"the alarm {rule}: an action needs a name, not {item!r}", hint=known)
    made = ACTIONS.get(name)
    return name, made(**checked_settings(made, f"the action {name} of {rule}", given))


def default_alarms() -> tuple[Watched, ...]:
    """Return every rule with its own settings, and the log as its action."""
    return tuple(make_alarm({"rule": name, "actions": ["log"]}) for name in ALARMS.names())


@dataclass
class _Kept:
    memory: object = None
    since_ns: int = 0
    text: str = ""
    on: bool = False
    acted_ns: int = -(1 << 62)


@dataclass
class Watch:
    """All alarms over all programs: what is on, and what changed since the last look."""

    alarms: Sequence[Watched]
    _kept: dict[tuple[int, int], _Kept] = field(default_factory=dict)

    def look(self, seen: Snapshot) -> list[Event]:
        """Ask every rule about every program that it is for. Programs that are gone are forgotten."""
        events: list[Event] = []
        present = {p.id for p in seen.programs}
        for key in [k for k in self._kept if k[0] not in present]:
            del self._kept[key]
        for program in seen.programs:
            for number, watched in enumerate(self.alarms):
                if watched.is_for(program):
                    kept = self._kept.get((program.id, number)) or self._kept.setdefault((program.id, number), _Kept())
                    events += [replace(e, number=number) for e in _ask(watched, program, seen.now_ns, kept)]
        return events

    def on(self, program: Program | int) -> tuple[Alarm, ...]:
        """Return the alarms of a program that are on."""
        wanted = program if isinstance(program, int) else program.id
        kept = [(watched, self._kept.get((wanted, number))) for number, watched in enumerate(self.alarms)]
        return tuple(Alarm(watched.name, k.since_ns, k.text) for watched, k in kept if k is not None and k.on)

    def act(self, events: Iterable[Event], desk: Desk) -> list[str]:
        """Do what the alarms ask for. Returns what could not be done, one line each."""
        failed: list[str] = []
        for event in events:
            for number, watched in enumerate(self.alarms):
                if watched.name != event.rule or not watched.is_for(event.program):
                    continue
                if event.number not in (None, number):
                    continue
                kept = self._kept.get((event.program.id, number), _Kept())
                if event.kind == "off" and not watched.also_off:
                    continue
                if event.kind != "off" and event.time_ns - kept.acted_ns < watched.least_s * 1e9:
                    continue
                kept.acted_ns = event.time_ns
                failed += _done(watched, event, desk)
        return failed


def _ask(watched: Watched, program: Program, now: int, kept: _Kept) -> list[Event]:
    look = watched.rule.look(program, now, kept.memory)
    kept.memory = look.memory
    events = [Event("happened", watched.name, program, now, text, now) for text in look.happened]
    if look.on and not kept.on:
        kept.since_ns = now
        events.append(Event("on", watched.name, program, now, look.text, now))
    elif kept.on and not look.on:
        events.append(Event("off", watched.name, program, now, look.text or kept.text, kept.since_ns))
    kept.on, kept.text = look.on, look.text or kept.text
    return events


def _done(watched: Watched, event: Event, desk: Desk) -> list[str]:
    failed = []
    for name, todo in watched.actions:
        try:
            reason = todo.act(event, desk)
        except (DrawtapError, OSError) as error:
            reason = str(error)
        if reason:
            failed.append(f"{watched.name} of {event.program.name}: {name}: {reason}")
    return failed
