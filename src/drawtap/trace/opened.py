"""An open recording, as tables and graphs see it; `trace.Trace` is one, and stands above them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from drawtap.trace.core import CoreTrace
    from drawtap.trace.state import StateIndex

LONG = 6_000_000  # calls; what is made of more of them must not take memory that others need


class OpenRecording(Protocol):
    """A recording that is open: `frame_end` is its rule for the ends of frames."""

    path: Path
    core: CoreTrace
    frame_end: str

    @property
    def call_count(self) -> int:
        """The number of calls."""

    @property
    def state_index(self) -> StateIndex:
        """The state of OpenGL at every call."""

    def waste_table(self) -> object:
        """Return the table `redundancy` as a capsule "arrow_array_stream"."""
