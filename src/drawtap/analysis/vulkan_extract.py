"""Cut frames, draws or calls out of a recording of Vulkan, and prove it.

`trace.vulkan_past` says which earlier calls they need. The player shows the written file and the whole recording. Where
images differ, the file gets all earlier calls.

To minimize it, `analysis.reduce` leaves out calls of the file, with the calls that then lack something
(`dt_check_all`).
"""

from __future__ import annotations

import shutil
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from drawtap.analysis.extract import (
    Cut,
    ExtractOptions,
    Target,
    certificate_for,
    oracle_of,
    proof_of,
    whole_images,
)
from drawtap.analysis.reduce import Budget, Outcome, Reducer, Reduction, ShownImages, Stage, images_in
from drawtap.errors import QueryError
from drawtap.scratch import Scratch
from drawtap.tables.recording import FrameRow, FunctionRow
from drawtap.trace.core import write
from drawtap.trace.graph import packed
from drawtap.trace.ranges import frame_ends
from drawtap.trace.trace import open_trace
from drawtap.trace.vulkan_past import Past, all_before, vulkan_past

if TYPE_CHECKING:
    from collections.abc import Callable

    from drawtap.trace.core import Row
    from drawtap.trace.graph import Calls
    from drawtap.trace.trace import Trace

_HEAVY = {"draw", "dispatch", "clear", "pass_begin", "submits", "commands_begin"}


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
        frames = wanted.shown.frames
        if frames is None:
            # Submissions run draws that were recorded before, or that the wanted calls record for later.
            self._first = min(wanted.roots)
            self._end = max(*wanted.roots, wanted.shown.submit or 0) + 1
        else:
            rows = {row["frame"]: row for row in trace.table(FrameRow)}
            self._first = int(rows[frames.start]["first_seq"])
            self._end = int(rows[frames.stop - 1]["end_seq"])
        self._said: list[str] = []
        self._open = ExitStack()
        self._least: tuple[Stage, Calls] | None = None

    def cut(self, output: Path) -> Cut:
        with self._open, Scratch() as folder:
            return self._cut(output, Path(folder))

    def _cut(self, output: Path, folder: Path) -> Cut:
        started = time.monotonic()
        past = vulkan_past(self._trace, self._first, self._end)
        if past.whole:
            self._tell(f"all calls up to there are kept: {past.whole}")
        stage = Stage(self._trace, self._wanted.shown, self._wish.on)
        pixels = self._wish.verify and not self._free
        reference = stage.reference() if pixels else None
        written = self._write(past, output, self._certificate(past, stage, reference))
        shown = stage.shown_in(past.keep)
        on = self._wish.on
        if reference is not None and not past.whole and images_in(output, self._trace, shown, on) != reference.images:
            self._tell("the calls that were found needed show other images: all calls up to there are kept")
            past = all_before(self._trace, self._end)
            shown = stage.shown_in(past.keep)
            written = self._write(past, output, self._certificate(past, stage, reference))
        reduction = None
        if self._wish.minimize:
            shutil.copyfile(output, folder / "cut.dtap")
            past, reduction = self._minimized(past, shown, folder / "cut.dtap")
        certificate = self._certificate(past, stage, reference, reduction)
        if reduction is not None:
            written = self._write(past, output, certificate)
        equal = True
        if reference is not None:
            shown = stage.shown_in(past.keep)
            certificate["file"] = proof = proof_of(self._trace, output, shown, on, reference)
            equal = proof["equal"] is True
            written = self._write(past, output, certificate)
        return Cut(
            past.keep,
            self._trace.core.count(),
            self._end,
            "replay" if self._wish.verify else "no",
            certificate,
            reduction=reduction,
            seconds=time.monotonic() - started,
            equal=equal,
            written=written,
        )

    @property
    def _free(self) -> bool:
        """Tell whether the oracle asks for something else than the pixels."""
        return self._wish.minimize and self._wish.oracle != "pixels"

    def _minimized(self, past: Past, shown: ShownImages, file: Path) -> tuple[Past, Reduction]:
        """Leave out calls of the file while the oracle says yes. From then on `_write` writes what the trials had."""
        rule = self._trace.frame_end
        cut = self._open.enter_context(open_trace(file, frame_end=None if rule == "auto" else rule))
        stage = Stage(cut, shown, self._wish.on)
        reduction = _reduced(stage, self._wish, self._on_line)
        self._least = stage, reduction.keep
        keep = np.zeros_like(past.keep)
        keep[np.flatnonzero(past.keep)[reduction.keep]] = True
        return Past(keep, past.stored, past.whole), reduction

    def _tell(self, text: str) -> None:
        self._said.append(text)
        self._on_line(text)

    def _write(self, past: Past, output: Path, certificate: Row) -> Row:
        if self._least is not None:
            stage, keep = self._least
            return stage.write(keep, output, certificate)
        images = whole_images(self._trace, self._wanted.shown)
        return write([past.part(self._trace, images=images)], output, annotation=certificate)

    def _certificate(self, past: Past, stage: Stage, reference: Outcome | None, made: Reduction | None = None) -> Row:
        return certificate_for(
            stage, self._wanted, self._wish, past.keep, before=self._end, reference=reference, said=self._said,
            reduction=made,
        )  # fmt: skip


def _reduced(stage: Stage, wish: ExtractOptions, on_line: Callable[[str], None]) -> Reduction:
    cut, shown = stage.trace, stage.shown
    everything = np.ones(cut.core.count(), np.bool_)
    fixed = np.zeros_like(everything)  # without them the images are no longer there
    pixels = wish.oracle == "pixels" and wish.ask is None
    reference = stage.play(everything) if pixels else None
    if pixels and (reference is None or not reference.images):
        raise QueryError("the cut shows no image", hint="drawtap replay plays it")

    oracle, free = oracle_of(stage, reference, wish, stage.write)
    if not free and shown.frames is not None:
        fixed[frame_ends(cut)[shown.frames.start : shown.frames.stop]] = True
    elif not free:
        fixed[[shown.call, shown.submit or shown.call]] = True
    if not oracle.holds(everything):
        raise QueryError(f"it does not hold for what there is to begin with: {oracle.about}")

    def without(now: Calls, removed: Calls) -> Calls:
        left = cut.core.close_over(packed(now & ~removed).tobytes())
        kept = np.unpackbits(np.frombuffer(left, np.uint8), bitorder="little")[: len(now)].astype(np.bool_)
        return now if (fixed & ~kept).any() else kept  # as it was: nothing to try

    reducer = Reducer(everything, without, oracle, budget=Budget(wish.seconds), on_line=on_line)
    flags = {row["name"]: set(row["flags"].split(",")) for row in cut.table(FunctionRow)}
    names = [str(name) for (name,) in cut.sql("SELECT name FROM calls ORDER BY seq").fetchall()]
    units = [[seq] for seq in range(len(names)) if not fixed[seq]]
    # A pass takes along all that it alone needs: the units that are left are fewer.
    reducer.remove([unit for unit in units if flags[names[unit[0]]] & _HEAVY], once=True)
    return reducer.remove(units)
