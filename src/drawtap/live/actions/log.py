"""Write the alarm to the manager's log."""

from __future__ import annotations

from dataclasses import dataclass

from drawtap.live.alarm import Desk, Event, action


@action("log")
@dataclass(frozen=True)
class Log:
    """Write a line to the manager's log."""

    def act(self, event: Event, desk: Desk) -> str | None:
        """Write it."""
        desk.log(event.record())
        return None
