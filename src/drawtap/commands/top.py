"""`drawtap top`: running programs, live."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from drawtap.commands import Opt, command
from drawtap.errors import UnavailableError, UsageError
from drawtap.view.result import ExitStatus, Rows

COLUMNS = ("pid", "program", "surface", "size", "class", "fps", "p50", "p99", "limit", "why", "alarms")
KINDS: Mapping[str, str] = {"p50": "ns", "p99": "ns"}
_RECORDED_FRAMES = 120


@command(
    section="live",
    examples=(
        "drawtap top",
        "drawtap top 'glmark*' --period 0.2",
        "drawtap top --once --json | jq '.[] | select(.fps < 30)'",
    ),
)
def top(
    program: Annotated[str, Opt("a process number, or a name with * and ?", metavar="PROGRAM")] = "*",
    *,
    once: Annotated[bool, Opt("Print the programs once, as a table.", "-1")] = False,
    period: Annotated[float, Opt("Seconds between changes of the screen.", "-d", "SECONDS")] = 0.5,
) -> ExitStatus | Rows:
    """Show the programs under the manager, live or once.

    One row a surface: rate, frame times, class, limit and the reason for it, alarms. Rates and percentiles are of the
    last second. A program without a surface has shown none for ten seconds, or never: one that computes, or draws for
    itself, has "no frames". A program that is "observed only" was not started under drawtap, and can be neither
    limited nor recorded.

     Keys: arrows choose a program; l asks you for a limit, + and - change it, n removes it. f frees the program from
    policies, c gives it the next class, r records its next 120 frames to a file here, q leaves. The line of blocks is
    the frame times of the last seconds, the newest at the right. Without a terminal: as --once.
    """
    if not 0.1 <= period <= 60:
        raise UsageError(f"--period {period:g}", hint="from 0.1 to 60")
    from drawtap.live.client import Client

    if once or not (sys.stdin.isatty() and sys.stdout.isatty()):
        with Client() as client:
            answer = client.ask("list")
        return Rows(COLUMNS, rows_of(answer["programs"], program), KINDS, note=_note(answer))
    from drawtap.live.program import Importance
    from drawtap.view.top import Top

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
