"""Pictures of frames, by playing the recording, and the few frames that stand for all.

Images are numpy arrays of uint8, height x width x 4 (RGBA), the top row first.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from drawtap.errors import DrawtapError
from drawtap.scratch import Scratch
from drawtap.tables.recording import FrameRow

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

Image = npt.NDArray[np.uint8]

_SAME_COLOURS = 0.04  # 1 - Bhattacharyya coefficient: the thesis' limit of 0.96
_SAME_DURATION = math.log(1.25)  # within a quarter
_BINS = 16


@dataclass(frozen=True)
class Pictures:
    """Small pictures of frames; `missing` says why some or all could not be had."""

    images: Mapping[int, Image]
    missing: str | None = None


@dataclass(frozen=True, slots=True)
class Chosen:
    """A frame that stands for others, and why it was taken; `stands_for` counts the frames nearest to it."""

    frame: int
    why: str
    stands_for: int


def sampled(durations: Sequence[int | None], most: int) -> list[int]:
    """Return indices of frames to look at: first, last, the longest ones, and evenly spread ones; at most `most`."""
    count = len(durations)
    if count <= most:
        return list(range(count))
    longest = sorted(range(count), key=lambda i: -(durations[i] or 0))[: most // 5]
    chosen = {0, count - 1, *longest}
    rest = [i for i in range(count) if i not in chosen]
    spread = most - len(chosen)
    chosen |= {rest[(2 * i + 1) * len(rest) // (2 * spread)] for i in range(spread)}
    return sorted(chosen)


def pictures(
    trace: Trace, frames: Sequence[int], *, width: int, engine: str = "system", seconds: float = 120
) -> Pictures:
    """Play the recording once and return what `frames` (rising numbers) show, `width` pixels wide at most.

    After `seconds` it stops with what it has. Where nothing can play it, there are none and a reason.
    """
    from drawtap.replay.engine import environment_of
    from drawtap.replay.warm import Warm

    images: dict[int, Image] = {}
    end = time.monotonic() + seconds
    why = None
    try:
        with (
            Scratch() as folder,
            Warm(trace.path, environment=environment_of(engine), frame_end=trace.frame_end) as player,
        ):
            file = Path(folder) / "frame.png"
            calls = ends_of(trace, frames)
            for frame in frames:
                if time.monotonic() > end:
                    why = f"playing was stopped after {seconds:g} s, before frame {frame}"
                    break
                why = player.image(calls[frame], file, width=width) or why
                if file.exists():
                    images[frame] = _read(file, width)
    except DrawtapError as error:
        why = error.message
    return Pictures(images, why)


def ends_of(trace: Trace, frames: Sequence[int]) -> dict[int, int]:
    """Return for each frame the last call before it is shown."""
    wanted = set(frames)
    ends = {}
    for row in trace.table(FrameRow):
        number = row["frame"]
        if number in wanted:
            last = row["end_seq"] - 1
            # The back buffer after a swap is not the picture that the swap showed (position.call_of has the same rule).
            ends[number] = max(0, last - 1) if "Swap" in (row["end_function"] or "") else last
    return ends


def _read(file: Path, width: int) -> Image:
    from drawtap.replay.compare import read_png

    image = read_png(file)
    file.unlink()
    return shrunk(image, width)


def shrunk(image: Image, width: int) -> Image:
    """Return the image at most `width` pixels wide (and four times as high), each pixel the mean of those it covers."""
    step = max(-(-image.shape[1] // width), -(-image.shape[0] // (4 * width)), 1)
    if step == 1:
        return image
    rows, columns = max(1, image.shape[0] // step), max(1, image.shape[1] // step)
    kept = image[: rows * step, : columns * step]
    if kept.shape[0] < step or kept.shape[1] < step:  # thinner than a step
        return np.ascontiguousarray(image[::step, ::step])
    # Whole rows first: they lie beside each other in memory.
    bands = kept.reshape(rows, step, -1).sum(axis=1, dtype=np.uint32)
    return np.asarray(bands.reshape(rows, columns, step, 4).sum(axis=2) // (step * step), np.uint8)


def colours(image: Image) -> npt.NDArray[np.float64]:
    """Return the histogram of red, green and blue, each normalised by itself: alpha says nothing about a picture."""
    bins = [np.bincount(image[..., c].ravel() // (256 // _BINS), minlength=_BINS) for c in range(3)]
    return np.asarray(np.concatenate(bins) / (3.0 * image.shape[0] * image.shape[1]), np.float64)


def colour_distance(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> float:
    """Return how far two histograms are apart: 1 minus their Bhattacharyya coefficient."""
    return float(max(0.0, 1.0 - np.sqrt(a * b).sum()))


def representatives(durations: Mapping[int, int | None], images: Mapping[int, Image], most: int) -> list[Chosen]:
    """Return at most `most` frames that stand for those in `durations`.

    First, last and longest are always among them. Two frames are alike only when both their colours (Bhattacharyya
    coefficient above 0.96) and their durations (within a quarter) are; the frame least like any that is chosen comes
    next, until all are like one of them.
    """
    frames = sorted(durations)
    if not frames:
        return []
    prints = {frame: colours(image) for frame, image in images.items()}
    reasons = {frames[0]: "first"}
    reasons.setdefault(frames[-1], "last")
    longest = max(frames, key=lambda f: durations[f] or 0)
    reasons[longest] = f"{reasons[longest]}, longest" if longest in reasons else "longest"

    def distance(a: int, b: int) -> float:
        apart = 0.0
        one, other = durations[a], durations[b]
        if one is not None and other is not None:
            # Frames of two threads may end before they began.
            apart = abs(math.log(max(one, 1) / max(other, 1))) / _SAME_DURATION
        if a in prints and b in prints:
            apart = max(apart, colour_distance(prints[a], prints[b]) / _SAME_COLOURS)
        return apart

    nearest = {f: min((distance(f, r), r) for r in reasons) for f in frames}
    while len(reasons) < most:
        frame = max(frames, key=lambda f: nearest[f][0])
        if nearest[frame][0] <= 1:
            break
        other = nearest[frame][1]
        looks = frame in prints and other in prints and colour_distance(prints[frame], prints[other]) > _SAME_COLOURS
        reasons[frame] = "looks different" if looks else "takes longer or shorter"
        for f in frames:
            nearest[f] = min(nearest[f], (distance(f, frame), frame))
    counts = dict.fromkeys(reasons, 0)
    for f in frames:
        counts[nearest[f][1]] += 1
    return [Chosen(f, reasons[f], counts[f]) for f in sorted(reasons)]
