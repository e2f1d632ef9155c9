"""Run a command."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass

from drawtap.live.alarm import Desk, Event, action


@action("run")
@dataclass(frozen=True)
class Run:
    """Run a command, without a shell and without waiting for it.

    It finds the alarm in its environment: DRAWTAP_ALARM (the rule), DRAWTAP_WHAT (on, off, happened), DRAWTAP_PID,
    DRAWTAP_PROGRAM, DRAWTAP_TEXT, and DRAWTAP_EVENT, everything as JSON. A program's name is data: nothing of it is put
    into the command. A command that fails is in the manager's log with its exit code; what it prints is not.
    """

    command: str

    def act(self, event: Event, desk: Desk) -> str | None:
        """Start it."""
        try:
            words = shlex.split(self.command)
        except ValueError as error:
            return f"{self.command!r}: {error}"
        if not words:
            return "there is no command"
        facts = {
            "DRAWTAP_ALARM": event.rule,
            "DRAWTAP_WHAT": event.kind,
            "DRAWTAP_PID": str(event.program.pid),
            "DRAWTAP_PROGRAM": event.program.name,
            "DRAWTAP_TEXT": event.text,
            "DRAWTAP_EVENT": json.dumps(event.record()),
        }
        return desk.run_command(words, facts, event)
