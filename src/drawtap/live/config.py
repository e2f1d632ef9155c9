"""The manager's configuration: a TOML file that is read again while it runs."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from drawtap.errors import InputError, UsageError, did_you_mean, read_toml
from drawtap.live.alarm import Watched, default_alarms, make_alarm
from drawtap.live.policy import Policy, checked_settings, make_policy
from drawtap.live.program import Importance, Pacing


@dataclass(frozen=True, slots=True)
class Profile:
    """The settings of the programs that it matches: `[[program]]` in the file, the first that matches wins.

    `name`, `exe`, `cgroup` are patterns as in a shell (`*`, `?`), `uid` a number; all that are given must match.
    `fps` limits the program whatever the policy says.
    """

    name: str = "*"
    exe: str = "*"
    cgroup: str = "*"
    uid: int | None = None
    importance: Importance | None = None
    weight: float | None = None
    target_fps: float | None = None
    floor_fps: float | None = None
    cap_fps: float | None = None
    fps: float | None = None
    pacing: Pacing | None = None
    title: str = ""

    def matches(self, name: str, exe: Path, cgroup: str, uid: int) -> bool:
        """Tell whether a program of that name, file, control group and user is meant."""
        return (
            fnmatch.fnmatchcase(name, self.name)
            and fnmatch.fnmatchcase(str(exe), self.exe)
            and fnmatch.fnmatchcase(cgroup, self.cgroup)
            and self.uid in (None, uid)
        )

    def given(self) -> Mapping[str, Any]:
        """Return what the profile sets, by the names of `Program`'s fields."""
        names = ("importance", "weight", "target_fps", "floor_fps", "cap_fps")
        values = {name: getattr(self, name) for name in names}
        return {**{k: v for k, v in values.items() if v is not None}, "profile": self.title}


@dataclass(frozen=True, slots=True)
class Settings:
    """The table `[manager]`.

    `policies` names those that decide together (the lowest limit wins); without any, only what people say holds.
    Programs are looked at every `period` seconds; their limits hold for `lease` seconds after that. Where
    looks would take more than `load` of a core (many programs, a slow machine) they come less often, but four times
    in a lease and every second. `pacing` and `spin_us` say how the limiter waits. Members of `admin_group` may see to
    the programs of all users. `max_programs` and `max_clients` bound what is accepted, half of it from one user.
    `without` names sources of signals that are not to be used. With `observe`, programs that were not started under
    drawtap are shown too, where rights allow (CAP_BPF, CAP_PERFMON). Recordings that alarms ask for go to `traces`,
    at most `max_traces` of them; the oldest makes room.
    """

    policies: tuple[str, ...] = ()
    period: float = 0.25
    lease: float = 2.0
    load: float = 0.015
    pacing: Pacing = Pacing.EARLY
    spin_us: int = 0
    admin_group: str = ""
    max_programs: int = 256
    max_clients: int = 64
    without: tuple[str, ...] = ()
    observe: bool = False
    traces: str = ""
    max_traces: int = 20


@dataclass(frozen=True, slots=True)
class Config:
    """A whole configuration: `policies` has the settings by policy. Without `[[alarm]]`, every alarm is logged."""

    settings: Settings = field(default_factory=Settings)
    profiles: tuple[Profile, ...] = ()
    policies: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    alarms: tuple[Watched, ...] = field(default_factory=default_alarms)
    path: Path | None = None

    def make_policies(self, names: Sequence[str] | None = None) -> dict[str, Policy]:
        """Return the policies `names` (None: those that are set) with their settings."""
        wanted = self.settings.policies if names is None else names
        return {name: make_policy(name, self.policies.get(name)) for name in wanted if name != "none"}

    def profile_for(self, name: str, exe: Path, cgroup: str, uid: int) -> Profile | None:
        """Return the first profile that matches."""
        return next((p for p in self.profiles if p.matches(name, exe, cgroup, uid)), None)


_TABLES = ("manager", "program", "policy", "alarm")
_BOUNDS = {"period": (0.05, 5.0), "lease": (0.5, 60.0), "load": (0.001, 1.0), "spin_us": (0, 2000),
           "max_programs": (1, 4096), "max_clients": (1, 1024), "max_traces": (1, 10000)}  # fmt: skip
_SHORT = {"class": "importance", "target": "target_fps", "floor": "floor_fps", "cap": "cap_fps",
          "policy": "policies"}  # fmt: skip
_WRITTEN = {field: name for name, field in _SHORT.items() if name != "policy"}
_CHOICES: Mapping[str, type[Importance | Pacing]] = {"importance": Importance, "pacing": Pacing}


def default_path() -> Path:
    """Return where the configuration is looked for: drawtap/manager.toml below $XDG_CONFIG_HOME."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "drawtap" / "manager.toml"


def load_config(path: Path) -> Config:
    """Read a configuration. Raises InputError that says what is wrong in it."""
    text = read_toml(path)
    try:
        return parse(text, path)
    except UsageError as error:
        raise InputError(f"{path}: {error.message}", hint=error.hint) from None


def parse(text: Mapping[str, Any], path: Path | None = None) -> Config:
    """Return the configuration that tables say. Raises UsageError for what does not exist or makes no sense."""
    for name in text:
        if name not in _TABLES:
            raise UsageError(f"there is no table [{name}]", hint=did_you_mean(name, _TABLES) or f"tables: {_TABLES}")
    settings = Settings(**_checked(Settings, "[manager]", _table(text, "manager")))
    for name, (low, high) in _BOUNDS.items():
        if not low <= getattr(settings, name) <= high:
            raise UsageError(f"[manager]: {name} = {getattr(settings, name)}", hint=f"from {low} to {high}")
    if settings.lease < 2 * settings.period:
        raise UsageError("[manager]: the lease is shorter than two periods", hint="programs would be let go in between")
    rows = text.get("program", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UsageError("programs are written as [[program]]")
    profiles = tuple(_profile(row, i) for i, row in enumerate(rows))
    policies = _table(text, "policy")
    for name, given in policies.items():
        if not isinstance(given, dict):
            raise UsageError(f"[policy]: {name} is no table", hint="[policy.NAME] has the settings of a policy")
        make_policy(name, given)
    config = Config(settings, profiles, policies, _alarms(text.get("alarm")), path)
    config.make_policies()
    return config


def _alarms(rows: object) -> tuple[Watched, ...]:
    if rows is None:
        return default_alarms()
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UsageError("alarms are written as [[alarm]]; alarm = [] for none")
    return tuple(make_alarm(row) for row in rows)


def _table(text: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = text.get(name, {})
    if not isinstance(table, dict):
        raise UsageError(f"{name} is no table", hint=f"[{name}]")
    return table


def _checked(made: type[Any], what: str, given: Mapping[str, Any]) -> dict[str, Any]:
    named = {_SHORT.get(key, key): value for key, value in given.items()}
    chosen = {key: value for key, value in named.items() if key in _CHOICES}
    values = checked_settings(made, what, {key: value for key, value in named.items() if key not in chosen}, _WRITTEN)
    for key, value in chosen.items():
        if value not in list(_CHOICES[key]):
            raise UsageError(f"{what}: {_WRITTEN.get(key, key)} = {value!r}", hint=f"one of {', '.join(_CHOICES[key])}")
        values[key] = _CHOICES[key](value)
    return values


def _profile(row: Mapping[str, Any], index: int) -> Profile:
    given = dict(row)
    title = str(given.pop("title", "")) or str(given.get("name") or given.get("exe") or f"program {index + 1}")
    profile = Profile(**_checked(Profile, f"[[program]] {title}", given), title=title)
    for each in fields(Profile):
        value = getattr(profile, each.name)
        if each.name.endswith("fps") and value is not None and not 1 <= value <= 10000:
            name = _WRITTEN.get(each.name, each.name)
            raise UsageError(f"[[program]] {title}: {name} = {value}", hint="from 1 to 10000")
    matching = {"name", "exe", "cgroup", "uid"}
    if not matching & set(given):
        hint = 'name, exe, cgroup or uid; name = "*" where every program is meant'
        raise UsageError(f"[[program]] {title} does not say which program", hint=hint)
    if profile.floor_fps is not None and profile.cap_fps is not None and profile.floor_fps > profile.cap_fps:
        raise UsageError(
            f"[[program]] {title}: floor = {profile.floor_fps:g} is above cap = {profile.cap_fps:g}",
            hint="a program is never held below its floor, nor let go above its cap",
        )
    if profile.weight is not None and not 0 < profile.weight <= 1000:
        raise UsageError(f"[[program]] {title}: weight = {profile.weight}", hint="above 0, up to 1000")
    return profile
