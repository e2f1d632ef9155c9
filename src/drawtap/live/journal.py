"""The manager's log: one JSON object a line, on standard error or in a file."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

_KEPT = 200


class Journal:
    """Write what happens. `recent` are the last entries, for those who ask the manager."""

    def __init__(self, path: Path | None = None) -> None:
        self._file: TextIO = sys.stderr if path is None else path.open("a", encoding="utf-8", buffering=1)
        self._own = path is not None
        self.recent: deque[Mapping[str, object]] = deque(maxlen=_KEPT)
        self._said: dict[tuple[str, object], float] = {}

    def say(self, event: str, level: str = "info", **details: object) -> None:
        """Add an entry."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        entry = {"time": now, "level": level, "event": event, **details}
        self.recent.append(entry)
        with contextlib.suppress(OSError):  # a full disk or a closed terminal must not end the manager
            print(json.dumps(entry, ensure_ascii=False, default=str), file=self._file, flush=True)

    def say_seldom(self, event: str, about: object, level: str = "info", **details: object) -> None:
        """Add an entry, unless the last second has one of the same event about the same thing."""
        now = time.monotonic()
        if now - self._said.get((event, about), -9.0) < 1.0:
            return
        if len(self._said) > 10 * _KEPT:
            self._said.clear()
        self._said[event, about] = now
        self.say(event, level, **details)

    def close(self) -> None:
        """Close the file."""
        if self._own:
            self._file.close()
