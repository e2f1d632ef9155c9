"""JSON of Chrome's about:tracing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from drawtap.system.exporter import Window, export, write_timeline

if TYPE_CHECKING:
    from drawtap.system.model import KernelModel
    from drawtap.system.reader import KernelTrace


@export("chrome", ".json")
def write_chrome(trace: KernelTrace, model: KernelModel, path: Path, window: Window | None) -> int:
    """JSON of Chrome's trace viewer (about:tracing), which Perfetto, Speedscope and others read too.

    Processes are the first words of tracks (gpu, vgpu, threads), threads the tracks; arrows are flow events.
    """
    return write_timeline("chrome", trace, model, path, window)
