"""Record the program's next frames."""

from __future__ import annotations

from dataclasses import dataclass

from drawtap.live.alarm import Desk, Event, action


@action("trace")
@dataclass(frozen=True)
class Trace:
    """Record the next `frames` frames of the program that the alarm is about."""

    frames: int = 300

    def act(self, event: Event, desk: Desk) -> str | None:
        """Ask the manager for a recording, unless one is running."""
        if event.program.recording:
            return None
        return desk.trace(event.program, self.frames, f"{event.rule}: {event.text}")
