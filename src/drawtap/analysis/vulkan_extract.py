"""Cut frames, draws or calls out of a recording of Vulkan, and prove it.

`trace.vulkan_past` says which earlier calls they need. The player shows the written file and the whole recording. Where
images differ, the file gets all earlier calls.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from drawtap.analysis.certificate import source_of
from drawtap.analysis.extract import Cut, ExtractOptions, Target, recorded_images, recorded_on
from drawtap.analysis.reduce import Outcome, ShownImages, Stage
from drawtap.tables.recording import FrameRow
from drawtap.trace.core import write
from drawtap.trace.ranges import frame_ends
from drawtap.trace.trace import open_trace
from drawtap.trace.vulkan_past import Past, all_before, vulkan_past

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from drawtap.trace.core import Row
    from drawtap.trace.trace import Trace


def cut_vulkan(
    trace: Trace, wanted: Target, output: Path, wish: ExtractOptions, *, on_line: Callable[[str], None]
) -> Cut:
    """Write the wanted part and what it needs; draws come with the calls that submit them.

    Raises UnavailableError where there is nothing to compare here.
    """
    return _Cutter(trace, wanted, wish, on_line).cut(output)


class _Cutter:
    def __init__(self, trace: Trace, wanted: Target, wish: ExtractOptions, on_line: Callable[[str], None]) -> None:
        self._trace, self._wanted, self._wish, self._on_line = trace, wanted, wish, on_line
        self._frames = wanted.shown.frames
        self._ends = frame_ends(trace)
        if self._frames is None:
            # Submissions run draws that were recorded before, or that the wanted calls record for later.
            self._first = min(wanted.roots)
            self._end = max(*wanted.roots, wanted.shown.submit or 0) + 1
        else:
            rows = {row["frame"]: row for row in trace.table(FrameRow)}
            self._first = int(rows[self._frames.start]["first_seq"])
            self._end = int(rows[self._frames.stop - 1]["end_seq"])
        self._said: list[str] = []

    def cut(self, output: Path) -> Cut:
        started = time.monotonic()
        past = vulkan_past(self._trace, self._first, self._end)
        if past.whole:
            self._tell(f"all calls up to there are kept: {past.whole}")
        stage = Stage(self._trace, self._wanted.shown, self._wish.on)
        reference = stage.reference() if self._wish.verify else None
        certificate = self._certificate(past, stage, reference)
        written = self._write(past, output, certificate)
        equal = True
        if reference is not None:
            images = self._images(past, output)
            if images != reference.images and not past.whole:
                self._tell("the calls that were found needed show other images: all calls up to there are kept")
                past = all_before(self._trace, self._end)
                certificate = self._certificate(past, stage, reference)
                self._write(past, output, certificate)
                images = self._images(past, output)
            equal = images == reference.images
            compared, different = recorded_images(output, self._wish.on)
            certificate["file"] = {
                "equal": equal,
                "shown": _named(self._shown(past)),
                "images": list(images),
                "recorded_images_compared": compared,
                "recorded_images_different": different,
                "recorded_on": recorded_on(self._trace),
                "own_configuration": "",
            }
            written = self._write(past, output, certificate)
        return Cut(
            past.keep,
            self._trace.core.count(),
            self._end,
            "replay" if self._wish.verify else "no",
            certificate,
            seconds=time.monotonic() - started,
            equal=equal,
            written=written,
        )

    def _tell(self, text: str) -> None:
        self._said.append(text)
        self._on_line(text)

    def _shown(self, past: Past) -> ShownImages:
        """Return which images of the file are the wanted ones: other frames may be there, which these need."""
        if self._frames is None:
            call, submit = self._wanted.shown.call, self._wanted.shown.submit
            return ShownImages(None, int(past.keep[:call].sum()), int(past.keep[:submit].sum()))
        kept = [frame for frame, seq in enumerate(self._ends) if past.keep[seq]]
        found = [number for number, frame in enumerate(kept) if frame in self._frames]
        return ShownImages(range(found[0], found[-1] + 1) if found else range(0), 0)

    def _images(self, past: Past, output: Path) -> tuple[str, ...]:
        shown = self._shown(past)
        if shown.frames is not None and not shown.frames:
            return ()
        rule = self._trace.frame_end
        with open_trace(output, frame_end=None if rule == "auto" else rule) as trace:
            played = Stage(trace, shown, self._wish.on).play(None)
        return played.images if played is not None else ()

    def _write(self, past: Past, output: Path, certificate: Row) -> Row:
        images = np.zeros(self._trace.core.count(), np.bool_)
        if self._frames is not None:
            images[self._ends[self._frames.start : self._frames.stop]] = True
        return write([past.part(self._trace, images=images)], output, annotation=certificate)

    def _certificate(self, past: Past, stage: Stage, reference: Outcome | None) -> Row:
        import drawtap

        found: Row = {
            "kind": "certificate",
            "what": "extract",
            "version": drawtap.__version__,
            "source": source_of(self._trace),
            "target": self._wanted.text,
            "frame_end": self._trace.frame_end,
            "shown": _named(self._wanted.shown),
            "calls_source": self._trace.core.count(),
            "calls_to_target": self._end,
            "calls_kept": int(past.keep.sum()),
            "verified": "replay" if self._wish.verify else "no",
        }
        if reference is not None:
            found |= {"engine": stage.renderer, "images": list(reference.images), "replays": stage.rounds}
            found |= {"added_calls": 0, "added": []}
        if self._said:
            found["search"] = list(self._said)
        return found


def _named(shown: ShownImages) -> Row:
    if shown.frames is not None:
        return {"frames": list(shown.frames)}
    return {"call": shown.call, "submit": shown.submit}
