"""Per-program profiles: a rate for programs by name, wherever they run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from drawtap.live.policy import Decision, Snapshot, policy
from drawtap.live.program import Limit, Pacing, Program


@policy("profiles")
@dataclass(frozen=True)
class Profiles:
    """Hold programs to the rates that `fps` gives, a table by pattern: `{"glmark2*" = 60, "/opt/*/player" = 30}`.

    A pattern with a slash matches the whole path of the executable, `uid:1000` the user, `cgroup:GLOB` the cgroup.
    `profile:NAME` matches the configuration's profile, and any other pattern the program's name. The first that fits
    counts. Those in `late` wait after showing a frame and not before it.
    """

    fps: Mapping[str, float] = field(default_factory=dict)
    late: tuple[str, ...] = ()

    def decide(self, seen: Snapshot, memory: object) -> Decision:
        """Look every program up."""
        limits = {}
        for program in seen.programs:
            pattern = next((p for p in self.fps if fits(program, p)), None)
            if pattern is not None and self.fps[pattern] > 0:
                late = any(fits(program, p) for p in self.late)
                pacing = Pacing.LATE if late else Pacing.EARLY
                limits[program.id] = Limit(self.fps[pattern], f"the profile of {pattern}", pacing=pacing, chosen=True)
        return Decision(limits)


def fits(program: Program, pattern: str) -> bool:
    """Tell whether a pattern is about a program."""
    kind, colon, rest = pattern.partition(":")
    if colon and kind == "uid":
        return str(program.uid) == rest
    if colon and kind == "cgroup":
        return fnmatchcase(program.cgroup, rest)
    if colon and kind == "profile":
        return program.profile == rest
    return fnmatchcase(str(program.exe) if "/" in pattern else program.name, pattern)
