"""`drawtap top`: running programs, live."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from drawtap.commands import Opt, command
from drawtap.errors import UnavailableError, UsageError
from drawtap.view.result import ExitStatus

_RECORDED_FRAMES = 120


@command(section="live", examples=("drawtap top", "drawtap top --period 0.2"), json=False)
def top(
    *, period: Annotated[float, Opt("How often the screen changes, in seconds.", "-d", "SECONDS")] = 0.5
) -> ExitStatus:
    """Show the programs under the manager, live: rates, frame times, classes, limits and why, alarms.

    One row a surface. Keys: arrows choose, l asks for a limit, + and - change it, n takes it back, f frees a program
    from policies, c gives it the next class, r records its next 120 frames to a file here, q leaves. The line of blocks
    is the frame times of the last seconds, the newest at the right. Without a terminal: drawtap apps.
    """
    if not 0.1 <= period <= 60:
        raise UsageError(f"--period {period:g}", hint="from 0.1 to 60")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UnavailableError("this is no terminal", hint="drawtap apps prints the same once")
    from drawtap.live.client import Client
    from drawtap.live.program import Importance
    from drawtap.view.top import Top

    Client().close()  # where nobody answers, say so before the screen changes
    Top(_Source(period), [i.value for i in Importance]).run()
    return ExitStatus(0)


class _Source:
    def __init__(self, period: float) -> None:
        self._period = period

    def looks(self) -> Iterator[Mapping[str, Any]]:
        from drawtap.live.client import Client

        with Client() as client:
            yield client.ask("list", recent=120)
            client.ask("watch", period=self._period, recent=120)
            for event in client.events(seconds=self._period + 10):
                if event["event"] == "programs":
                    yield event

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
