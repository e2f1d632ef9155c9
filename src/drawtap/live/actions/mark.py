"""Put a marker where recordings find it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from drawtap.live.alarm import Desk, Event, action


@action("mark")
@dataclass(frozen=True)
class Mark:
    """Write a marker: into the program's recording where it is recorded, and into the kernel's trace where that is
    allowed.

    `kernel` is the file that kernel recorders take remarks from.
    """

    kernel: str = "/sys/kernel/tracing/trace_marker"

    def act(self, event: Event, desk: Desk) -> str | None:
        """Write to both; it failed only where neither takes it."""
        text = f"drawtap: {event.rule} {event.kind}: {event.program.name}: {event.text}"
        lacks = desk.mark(event.program, text)
        try:
            # Opened without O_CREAT: a path that is no tracing file makes no file.
            handle = os.open(Path(self.kernel), os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            return f"{lacks}; {self.kernel}: {error.strerror}" if lacks else None
        try:
            os.write(handle, text[:1000].encode())
        finally:
            os.close(handle)
        return None
