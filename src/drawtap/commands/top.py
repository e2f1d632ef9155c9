"""`drawtap top`: running programs, live."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from drawtap.commands import Opt, Options, command
from drawtap.errors import UnavailableError, UsageError
from drawtap.output.result import Cell, ExitStatus, Lines, Rows

if TYPE_CHECKING:
    from drawtap.live.observer import Observer

COLUMNS = ("pid", "program", "surface", "size", "class", "fps", "p50", "p99", "limit", "why", "alarms")
KINDS: Mapping[str, str] = {"p50": "ns", "p99": "ns"}
_RECORDED_FRAMES = 120
_OBSERVED = ("pid", "program", "surface", "api", "frames", "fps", "p50", "p99", "worst", "recent")
_OBSERVED_KINDS = {"p50": "ns", "p99": "ns", "worst": "ns", "recent": "spark"}


@dataclass(frozen=True)
class Observed(Options):
    """Options of programs that were not started by drawtap."""

    title: ClassVar[str] = "Programs that drawtap did not start"
    observe: Annotated[bool, Opt("Show the frame rates of all programs, by probes in the kernel.")] = False
    seconds: Annotated[float, Opt("Seconds to look.", "-s", "S")] = 2.0
    follow: Annotated[bool, Opt("Print as it goes, a line of JSON for each surface every interval.")] = False
    interval: Annotated[float, Opt("Seconds between two prints.", "-i", "S")] = 1.0


@command(
    section="live",
    examples=(
        "drawtap top",
        "drawtap top 'glmark*' --period 0.2",
        "drawtap top --once --json | jq '.[] | select(.fps < 30)'",
        "drawtap top --observe                              # without a manager",
        "drawtap top --observe --seconds 10 --json",
        "drawtap top --observe --follow --seconds 60        # a line for each surface, every second",
    ),
)
def top(
    program: Annotated[str, Opt("a process number, or a name with * and ?", metavar="PROGRAM")] = "*",
    *,
    once: Annotated[bool, Opt("Print the programs once, as a table.", "-1")] = False,
    period: Annotated[float, Opt("Seconds between changes of the screen.", "-d", "SECONDS")] = 0.5,
    observed: Observed = Observed(),
) -> ExitStatus | Rows | Lines:
    """Show the programs under the manager, live or once.

    One row a surface: rate, frame times, class, limit and the reason for it, alarms. Rates and percentiles are of the
    last second. A program without a surface has shown none for ten seconds, or never: one that computes, or draws for
    itself, has "no frames". A program that is "observed only" was not started under drawtap, and can be neither
    limited nor recorded.

     Keys: arrows choose a program; l asks you for a limit, + and - change it, n removes it. f frees the program from
    policies, c gives it the next class, r records its next 120 frames to a file here, q leaves. The line of blocks is
    the frame times of the last seconds, the newest at the right. Without a terminal: as --once.

    With --observe, probes on eglSwapBuffers, glXSwapBuffers and vkQueuePresentKHR count the frames of every process
    that uses the system's libraries, in containers too. The probes change no program and write nothing into one. They
    need root, or CAP_BPF and CAP_PERFMON, and Linux 6.6. No manager is needed.
    """
    if observed.observe:
        return _observe(observed, program)
    if observed != Observed():
        raise UsageError("--seconds, --follow and --interval are of --observe", hint="drawtap top --observe")
    if not 0.1 <= period <= 60:
        raise UsageError(f"--period {period:g}", hint="from 0.1 to 60")
    from drawtap.live.client import Client

    if once or not (sys.stdin.isatty() and sys.stdout.isatty()):
        with Client() as client:
            answer = client.ask("list")
        return Rows(COLUMNS, rows_of(answer["programs"], program), KINDS, note=_note(answer))
    from drawtap.live.program import Importance
    from drawtap.output.top import Top

    Client().close()  # where nobody answers, say so before the screen changes
    Top(_Source(period, program), [i.value for i in Importance]).run()
    return ExitStatus(0)


def rows_of(programs: list[dict[str, Any]], which: str) -> list[tuple[object, ...]]:
    """Return the rows of those programs that `which` means."""
    return [row for p in programs if _is_meant(p, which) for row in _rows(p)]


def _is_meant(program: Mapping[str, Any], which: str) -> bool:
    from fnmatch import fnmatchcase

    return str(program["pid"]) == which or fnmatchcase(program["name"], which)


def _rows(program: dict[str, Any]) -> Iterator[tuple[object, ...]]:
    alarms = ", ".join(a["rule"] for a in program["alarms"]) or None
    head = (program["pid"], program["name"])
    for surface in program["surfaces"]:
        times = surface["frame_ms"] or {}
        size = f"{surface['width']}x{surface['height']}" if surface["width"] else None
        ns = [round(times[q] * 1e6) if q in times else None for q in ("p50", "p99")]
        yield (
            *head,
            surface["number"],
            size,
            program["class"],
            round(surface["fps"], 1),
            *ns,
            *_held(program, surface),
            alarms,
        )
    if not program["surfaces"]:
        yield (*head, None, None, program["class"], 0.0, None, None, *_held(program, None), alarms)


def _held(program: dict[str, Any], surface: dict[str, Any] | None) -> tuple[float | None, str | None]:
    """Return the limit of a program or surface, and why it has it."""
    from drawtap.live.protocol import limit_of

    limit = limit_of(program, surface)
    return (limit["fps"], f"{limit['origin']}: {limit['reason']}") if limit else (None, _why(program))


def _why(program: dict[str, Any]) -> str | None:
    if program.get("free"):
        return f"user: free, {program['free']}"
    if program.get("observed"):
        return "observed only"
    if not program["surfaces"]:
        return "no frames for 10 s" if program.get("frames") else "no frames"
    return None


def _note(answer: Mapping[str, Any]) -> str:
    about = answer["manager"]
    policies = ", ".join(about["policies"]) or "none"
    wrong = f"; the configuration is refused: {about['config_error']}" if about["config_error"] else ""
    return f"manager {about['pid']}, policies: {policies}{wrong}"


class _Source:
    def __init__(self, period: float, which: str) -> None:
        self._period = period
        self._which = which

    def looks(self) -> Iterator[Mapping[str, Any]]:
        from drawtap.live.client import Client

        with Client() as client:
            yield self._chosen(client.ask("list", recent=120))
            client.ask("watch", period=self._period, recent=120)
            for event in client.events(seconds=self._period + 10):
                if event["event"] == "programs":
                    yield self._chosen(event)

    def _chosen(self, seen: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**seen, "programs": [p for p in seen["programs"] if _is_meant(p, self._which)]}

    def limit(self, pid: int, surface: int | None, fps: float | None, *, free: bool = False) -> None:
        self._ask("limit", program=pid, fps=fps, **({"free": True} if free else {}))

    def give_class(self, pid: int, importance: str) -> None:
        self._ask("class", program=pid, **{"class": importance})

    def record(self, pid: int) -> str:
        from drawtap.live.attach import AttachOptions, record_running
        from drawtap.live.client import Client

        output = Path(f"{pid}-{time.strftime('%H%M%S')}.dtap")
        with Client(seconds=60) as client:
            wanted = AttachOptions(_RECORDED_FRAMES, 30.0, why="drawtap top")
            done = record_running(client, str(pid), output, wanted, force=False, begun=lambda name: None)
        if not done.files:
            raise UnavailableError("nothing was recorded")
        return ", ".join(str(f) for f in done.files)

    def _ask(self, op: str, **fields: object) -> None:
        from drawtap.live.client import Client

        with Client() as client:
            client.ask(op, **fields)


def _observe(wanted: Observed, which: str) -> Rows | Lines:
    from drawtap.live.observer import Observer

    seconds, interval = wanted.seconds, wanted.interval
    if not 0.05 <= interval <= 3600 or not 0.05 <= seconds <= 1e6:
        raise UsageError("from 0.05 s up, please", hint="--seconds 2 --interval 1")
    if wanted.follow:
        observer = Observer()
        return Lines(
            lambda fd: _write_observed(observer, which, fd, seconds, interval),
            lambda: _observed_lines(observer, which, seconds, interval),
            lambda: Rows(("line",), ((line,) for line in _observed_lines(observer, which, seconds, interval))),
        )
    observer = Observer()
    try:
        for _ in _ticks(observer, seconds, seconds):
            pass
        now = time.monotonic_ns()
        rows = list(_observed_rows(observer, which, now, round(seconds * 1e9)))
    finally:
        observer.close()
    note = None if rows else "no program showed a frame through these libraries"
    return Rows(
        _OBSERVED, rows, kinds=_OBSERVED_KINDS, title=f"{seconds:g} s, {len(observer.libraries)} libraries", note=note
    )


def _ticks(observer: Observer, seconds: float, interval: float) -> Iterator[int]:
    """Let time pass, taking events as they come; yield at every interval."""
    end = time.monotonic() + seconds
    due = time.monotonic() + interval
    searched = time.monotonic()
    while (now := time.monotonic()) < end:
        observer.poll(max(0.0, min(due - now, end - now, 0.2)))
        # Events come in bunches: waking for each of them would cost more than they tell.
        time.sleep(max(0.0, min(0.02, end - time.monotonic())))
        if time.monotonic() - searched > 2:
            observer.look_for_libraries()
            searched = time.monotonic()
        if time.monotonic() >= due:
            observer.poll()
            yield time.monotonic_ns()
            due += interval
    observer.poll()


def _observed_rows(observer: Observer, which: str, now: int, window: int) -> Iterator[tuple[Cell, ...]]:
    for program in observer.programs(now):
        if not _is_meant({"pid": program.pid, "name": program.name}, which):
            continue
        for surface in program.surfaces:
            recent = surface.since(now - window)
            times = recent.frame_ns
            if not len(times):
                continue
            p50, p99, worst = recent.percentiles(50, 99, 100)
            fps = round(surface.fps(now, window), 2)
            spark = [float(t) / 1e6 for t in times[-30:]]
            yield (program.pid, program.name, hex(surface.handle), surface.kind, surface.frames, fps, round(p50),
                   round(p99), round(worst), spark)  # fmt: skip


def _observed_lines(observer: Observer, which: str, seconds: float, interval: float) -> Iterator[str]:
    try:
        for now in _ticks(observer, seconds, interval):
            for row in _observed_rows(observer, which, now, round(interval * 1e9)):
                values = dict(zip(_OBSERVED[:-1], row[:-1], strict=True))
                yield json.dumps({"t": now, **values})
    finally:
        observer.close()


def _write_observed(observer: Observer, which: str, fd: int, seconds: float, interval: float) -> None:
    for line in _observed_lines(observer, which, seconds, interval):
        os.write(fd, line.encode() + b"\n")
