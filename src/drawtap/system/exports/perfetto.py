"""Perfetto's TrackEvent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from drawtap.system.exporter import Window, export, write_timeline

if TYPE_CHECKING:
    from drawtap.system.model import KernelModel
    from drawtap.system.reader import KernelTrace


@export("perfetto", ".pftrace")
def write_perfetto(trace: KernelTrace, model: KernelModel, path: Path, window: Window | None) -> int:
    """Perfetto (TrackEvent), for ui.perfetto.dev and its trace_processor.

    Tracks are nested: GPU, engine, queue; virtual GPUs; vCPUs; threads. Flows are the arrows along a request's way,
    counters what is counted. Times are CLOCK_MONOTONIC where the trace's are.
    """
    return write_timeline("perfetto", trace, model, path, window)
