"""Two recordings on one alignment: the one of `drawtap diff`, with the numbers of `drawtap compare`."""

from __future__ import annotations

import functools
import json
import math
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from drawtap.errors import UsageError
from drawtap.trace import diff
from drawtap.web.answer import Answer, headed

if TYPE_CHECKING:
    from drawtap.web.callset import CallSet
    from drawtap.web.recording import Recording

MOST_LISTED = 20_000  # differences whose parameters are kept; all are counted
MOST_ROWS = 200_000  # of one pair of frames
_TEXT = 600  # characters of a call
_KINDS = {"changed": 1, "only_a": 2, "only_b": 3}
KIND, FRAME_A, FRAME_B, THREAD, A, B, CALLS = range(7)  # of a run


class Pair:
    """Recordings A and B held against each other. Every method may be called from any thread. `close` it at the end."""

    def __init__(self, a: Recording, b: Recording) -> None:
        self.a, self.b = a, b
        self._aligning = threading.Lock()
        self._alignment: diff.Alignment | None = None
        self._comparing: Comparing | None = None
        self._lock = threading.Lock()

    # ---- calls --------------------------------------------------------------------------------------------------

    def _aligned(self, query: str = "") -> diff.Alignment:
        with self._aligning:
            if self._alignment is None:
                with self.a.lent(query) as one, self.b.lent() as other:
                    self._alignment = diff.aligned(one, other, limit=MOST_LISTED)
            return self._alignment

    @functools.cached_property
    def _frames(self) -> npt.NDArray[np.int32]:
        """A row for each pair of frames: the frame in A and in B (-1: none), calls of each kind, the first run."""
        runs = self._aligned().runs
        pairs = runs[:, (FRAME_A, FRAME_B)]
        begins = np.ones(len(runs), bool)
        begins[1:] = (pairs[1:] != pairs[:-1]).any(axis=1)
        first = np.flatnonzero(begins)
        counts = [np.add.reduceat(np.where(runs[:, KIND] == kind, runs[:, CALLS], 0), first) for kind in range(4)]
        return np.column_stack((pairs[first], *counts, first)).astype(np.int32)

    @functools.cached_property
    def _lines(self) -> dict[tuple[int, int | None, int | None], str]:
        return {(_KINDS[d.kind], d.a, d.b): d.line for d in self._aligned().differences.calls}

    def _sets(self, keys: tuple[str, str]) -> tuple[CallSet, CallSet] | None:
        return (self.a.kept(keys[0]), self.b.kept(keys[1])) if all(keys) else None

    def listing(self, query: str, keys: tuple[str, str] = ("", "")) -> bytes:
        """Return the pairs of frames that belong together: a JSON head with all counts, then little-endian int32.

        Seven columns one after the other: frame in A, frame in B (-1: none), calls that are equal, changed, only in A,
        only in B; calls on either side that the filters `keys` keep, without filters 0. `query` is the name under which
        `Recording.stop` of A finds the comparison.
        """
        differences = self._aligned(query).differences
        counts = {
            name: getattr(differences, name) for name in ("equal", "changed", "only_a", "only_b", "different_frames")
        }
        kept = np.zeros(len(self._frames), np.int32)
        if sets := self._sets(keys):
            for k, (side, calls) in enumerate(zip((self.a, self.b), sets, strict=True)):
                kept += [0 if frame < 0 else len(calls.within(*side.range_of(frame))) for frame in self._frames[:, k]]
        frames = np.column_stack((self._frames[:, :6], kept))
        head = {**counts, "pairs": len(frames), "threads": len(np.unique(self._aligned().runs[:, THREAD]))}
        return headed(head, np.ascontiguousarray(frames.T).astype("<i4").tobytes())

    def outline(self, pair: int, keys: tuple[str, str] = ("", "")) -> Answer:
        """Return the calls of a pair of frames: rows of kind, thread, first call in A, in B, calls, text of one.

        With filters, only calls that either side's filter keeps; two columns more have the last call before the row's
        end on each side, -1 where the frame has none.

        Kinds are 0 equal (of several calls), 1 changed, 2 only in A, 3 only in B; -1 stands for no call. The first
        MOST_LISTED differences of the recordings have a text, later ones have none.
        """
        if not 0 <= pair < len(self._frames):
            raise UsageError(f"there is no pair of frames {pair}", hint=f"there are {len(self._frames)}")
        first = self._frames[pair, 6]
        end = self._frames[pair + 1, 6] if pair + 1 < len(self._frames) else None
        runs = self._aligned().runs[first:end]
        if sets := self._sets(keys):
            runs = _filtered(runs, sets)
        rows: list[list[object]] = []
        for kind, _, _, thread, a, b, calls, *before in runs.tolist():
            if kind == 0:
                rows.append([kind, thread, a, b, calls, None, *before])
                continue
            for k in range(min(calls, MOST_ROWS - len(rows))):
                one, other = (None if seq < 0 else seq + k for seq in (a, b))
                line = self._lines.get((kind, one, other))
                rows.append([kind, thread, -1 if one is None else one, -1 if other is None else other, 1,
                             line and line[:_TEXT], *before])  # fmt: skip
        return {"rows": rows[:MOST_ROWS], "cut": len(rows) >= MOST_ROWS}

    # ---- state, objects -----------------------------------------------------------------------------------------

    def states(self, a: int, b: int) -> Answer:
        """Return the variables that differ between the state after call `a` of A and after call `b` of B."""
        self.a.checked(a), self.b.checked(b)
        with self.a.lent() as one, self.b.lent() as other:
            return {"columns": ["path", "A", "B"], "rows": diff.states(one, a, other, b)}

    def resources(self) -> Answer:
        """Return the objects that differ: mark, class, name in A and in B, what."""
        with self.a.lent() as one, self.b.lent() as other:
            rows = [(row.mark, row.kind, row.a, row.b, row.line) for row in diff.resources(one, other)]
        return {"columns": ["", "kind", "A", "B", "what"], "rows": rows}

    # ---- pictures -----------------------------------------------------------------------------------------------

    def pictures(self, a: int, b: int, of: str) -> bytes:
        """Return an attachment after call `a` of A and after call `b` of B: a JSON head, then both, A first.

        The head has for each side size and bytes a pixel, or why it is missing, and how far both are apart: the numbers
        of `drawtap compare`. Raises what `Recording.attachments` raises.
        """
        from drawtap.replay.compare import decode_attachment, difference

        attached = [side.pictures.attachments(side.checked(seq)) for side, seq in ((self.a, a), (self.b, b))]
        names = [name for name in attached[0][0] if name in attached[1][0]]
        of = of if of in names else ""
        sides: list[Answer] = []
        images = []
        for pictures, why, served in attached:
            side: Answer = {"why": why, "cut": served.cut, "calls": served.calls, "proof": served.proof}
            if of in pictures:
                image = decode_attachment(pictures[of], "the picture")
                images.append(image)
                side |= {"width": image.shape[1], "height": image.shape[0]}
                side |= {"bytes": image.nbytes // (image.shape[0] * image.shape[1] or 1)}
            sides.append(side)
        head: Answer = {"names": names, "of": of, "sides": sides}
        if len(images) == 2:
            apart = difference(*images)
            head |= {
                "largest": apart.max_difference,
                "rmse": apart.rmse,
                "ssim": None if math.isnan(apart.ssim) else apart.ssim,
                "sizes": apart.sizes,
            }
            head |= {"exact": apart.exact, "pixels": round(apart.pixels * images[0].shape[0] * images[0].shape[1])}
        return headed(head, b"".join(image.tobytes() for image in images))

    def compared(self, *, begin: bool) -> Answer:
        """Return what `drawtap compare` finds: `state` none, running, done or failed, and then its JSON.

        `begin` starts it where it does not run yet.
        """
        with self._lock:
            if begin and (self._comparing is None or self._comparing.failed):
                self._comparing = Comparing(self.a, self.b)
            return {"state": "none"} if self._comparing is None else self._comparing.answer()

    def close(self) -> None:
        """End a comparison that runs."""
        with self._lock:
            if self._comparing is not None:
                self._comparing.close()


def _filtered(runs: npt.NDArray[np.int64], sets: tuple[CallSet, CallSet]) -> npt.NDArray[np.int64]:
    """Return the parts of runs that have a call in either set, with the last calls of both sides up to each part."""
    kept_runs: list[list[int]] = []
    last = [-1, -1]
    for run in runs.tolist():
        begins, calls = run[A : B + 1], run[CALLS]
        kept = np.zeros(calls, bool)
        for begin, chosen in zip(begins, sets, strict=True):
            if begin >= 0:
                kept[chosen.within(begin, begin + calls) - begin] = True
        edges = np.flatnonzero(np.diff(np.concatenate(([False], kept, [False])).astype(np.int8))).reshape(-1, 2)
        for low, high in edges.tolist():
            # Calls that differ stand one after the other.
            parts = [(k, k + 1) for k in range(low, high)] if run[KIND] else [(low, high)]
            for first, end in parts:
                here = [begin + first if begin >= 0 else -1 for begin in begins]
                before = [begin + end - 1 if begin >= 0 else at for begin, at in zip(begins, last, strict=True)]
                kept_runs.append([*run[:A], *here, end - first, *before])
        last = [begin + calls - 1 if begin >= 0 else at for begin, at in zip(begins, last, strict=True)]
    return np.array(kept_runs, np.int64).reshape(-1, CALLS + 3)


class Comparing:
    """`drawtap compare` in a process of its own: it plays both recordings from the beginning, and can be ended."""

    def __init__(self, a: Recording, b: Recording) -> None:
        same = a.engine == b.engine
        engines = [f"--on={side.engine}" for side in (a, b)[: 1 if same else 2]]
        files = [str(side.path) for side in (a, b)[: 2 if same or a.path != b.path else 1]]
        self.command = shlex.join(["drawtap", "compare", *files, *([] if engines == ["--on=system"] else engines)])
        words = [*engines, "--json", "--", *files]
        # Apart: on standard error stands how far a long comparison is. Both until `close`.
        self._output, self._said = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
        self._child = subprocess.Popen(
            [sys.executable, "-m", "drawtap", "compare", *words],
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._said,
            start_new_session=True,
        )

    @property
    def failed(self) -> bool:
        """Tell whether it ended without an answer."""
        return self._child.poll() not in (None, 0, 1)

    def answer(self) -> Answer:
        """Return the state, and what was found once it is done."""
        if self._child.poll() is None:
            return {"state": "running", "command": self.command}
        self._said.seek(0)
        said = self._said.read().decode(errors="replace").split("\n")
        if self.failed:
            why = [line for line in said if line.strip()][-1:]
            return {"state": "failed", "command": self.command, "why": why or ["it was ended"]}
        self._output.seek(0)
        return {"state": "done", "command": self.command, "found": cast("object", json.load(self._output))}

    def close(self) -> None:
        """End it with its players."""
        if self._child.poll() is None:
            os.killpg(self._child.pid, signal.SIGKILL)
            self._child.wait()
        self._output.close()
        self._said.close()
