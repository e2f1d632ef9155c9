"""Overdraw of each pixel of a frame, counted by the back-end `fragments`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from drawtap.errors import UnavailableError
from drawtap.metrics import listing
from drawtap.metrics.passes import Pass, request_text
from drawtap.replay import player
from drawtap.scratch import Scratch

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

_METRIC = "fragments:overdraw/mean"


@dataclass(frozen=True)
class Overdraw:
    """Fragments by pixel of one target in one frame: `counts` is height x width, uint32, the top row first. It is empty
    where no draw of the frame could be counted.

    `framebuffer` is the driver's name of the target, 0 the window; for Vulkan, the recorded image. `level` and `layer`
    are the image's parts that are drawn to, None for OpenGL. `why` says what is not in it, "" where all is: then
    `unknown` of the frame's `draws`, whatever they drew to, are missing or not whole.
    """

    frame: int
    framebuffer: int
    counts: npt.NDArray[np.uint32]
    why: str = ""
    draws: int = 0
    unknown: int = 0
    level: int | None = None
    layer: int | None = None

    @property
    def target(self) -> str:
        """Return the target as people call it."""
        if not self.framebuffer:
            return "window" if self.counts.size else "not known"
        if self.level is None:
            return f"framebuffer {self.framebuffer}"
        parts = [f"{name} {n}" for name, n in (("level", self.level), ("layer", self.layer)) if n]
        return ", ".join([f"image {self.framebuffer:#x}", *parts])

    @property
    def lacks(self) -> str:
        """Say that the counts are lower bounds and why, "" where they are whole."""
        if not self.why:
            return ""
        return f"lower bounds: fragments unknown for {self.unknown:,} of {self.draws:,} draws: {self.why}"

    @property
    def mean(self) -> float:
        """Return fragments a covered pixel, 0 where nothing was drawn."""
        covered = int(np.count_nonzero(self.counts))
        return float(self.counts.sum(dtype=np.uint64)) / covered if covered else 0.0


def overdraw(
    trace: Trace, frames: range | None = None, *, environment: Mapping[str, str] | None = None
) -> Iterator[Overdraw]:
    """Play a recording, then yield what was drawn to each target of each frame, by frame and in order of first use.

    Fragments are those that rasterisation made, before any test. Raises UnavailableError where no context of the
    recording can count them, and what `player.play` raises.
    """
    known = listing.chosen(listing.metrics(trace.path, environment=environment), [_METRIC])
    [metric] = known
    if metric.missing:
        raise UnavailableError(
            f"overdraw cannot be counted here: {metric.missing}", hint="drawtap profile --list says more"
        )
    with Scratch() as name:
        folder = Path(name)
        request = folder / "request"
        text = request_text(known, ["frame"], passes=[Pass((metric,), ("frame",))], pictures=folder)
        request.write_text(text, encoding="utf-8")
        arguments = ["--measure", str(request), "--measured", str(folder / "rows")]
        if frames is not None:
            arguments += ["--frames", f"{frames.start}:{frames.stop}"]
        if trace.frame_end != "auto":
            arguments += ["--frame-end", trace.frame_end]
        player.play(trace.path, arguments, environment=environment)
        for file in sorted(folder.glob("*.counts"), key=_place):
            yield _read(file)
            file.unlink()


def _place(file: Path) -> tuple[int, int]:
    frame, _, number = file.stem.partition("-")
    return int(frame), int(number)


def _read(file: Path) -> Overdraw:
    line, _, data = file.read_bytes().partition(b"\n")
    width, height, framebuffer, draws, unknown, why = line.decode().split(" ", 5)
    counts = np.frombuffer(data, np.uint32).reshape(int(height), int(width))
    pixels = np.ascontiguousarray(counts[::-1])
    name, level, layer = (int(part) if part else None for part in f"{framebuffer}..".split(".")[:3])
    assert name is not None
    return Overdraw(_place(file)[0], name, pixels, why, int(draws), int(unknown), level, layer)
