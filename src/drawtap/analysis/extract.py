"""Cut out of a recording what some of its frames, draws or calls need, and prove it.

The graph of which calls need which (`trace.graph`) says what to keep. Playing only these calls must give the images
that playing all of them gives; where it does not, calls are added, found by bisection, until it does. The comparison
goes into the new file as its certificate.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from drawtap.analysis import reduce
from drawtap.analysis.certificate import source_of
from drawtap.analysis.missing import Group, Search
from drawtap.errors import DrawtapError, QueryError, UnavailableError, UsageError
from drawtap.replay import engine, player
from drawtap.replay.place import Place, place_of
from drawtap.tables.recording import AnnotationRow, FrameRow, FunctionRow, NativeRow
from drawtap.trace import graph as graphs
from drawtap.trace.apis import is_vulkan
from drawtap.trace.core import Row, write
from drawtap.trace.graph import Graph
from drawtap.trace.ranges import calls_of, frame_ends, frames_of, numbers_of

if TYPE_CHECKING:
    from drawtap.trace.graph import Calls, Fresh
    from drawtap.trace.trace import Trace

_TIME = re.compile(r"([\d.]*)(?::(\+?)([\d.]*))?")
_ADDED_NAMED = 20  # calls that the certificate names among those that had to be added
_MOST_CONTENTS = 24
# The seconds that the search for missing calls, and for content that is painted over, may take. After it more is kept
# than is needed.
_MOST_SECONDS = 15.0
_MOST_TRIALS = 400

OnLine = Callable[[str], None]


# ---- what is wanted --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Target:
    """The images that a cut must still show: `shown`, and the calls in `roots` (empty: those that make the frames'
    images)."""

    text: str
    shown: reduce.ShownImages
    roots: tuple[int, ...] = ()


def target(
    trace: Trace,
    *,
    frames: str | None = None,
    calls: str | None = None,
    draws: str | None = None,
    time_range: str | None = None,
) -> Target:
    """Return what is meant by one of the ranges (of `trace.ranges`; times in seconds since the first call).

    Raises UsageError where it is not exactly one of them, or there is nothing in it.
    """
    given = [w for w in (frames, calls, draws, time_range) if w is not None]
    if len(given) != 1:
        raise UsageError("say which part is wanted", hint="one of --frames, --calls, --draws and --time")
    if frames is not None:
        return _frames(frames_of(trace, frames), f"frames {frames}")
    if calls is not None:
        chosen = calls_of(trace, calls)
        if is_vulkan(trace):
            return Target(f"calls {calls}", _executed_last(trace, chosen), tuple(chosen))
        return Target(f"calls {calls}", reduce.ShownImages(None, chosen.stop - 1), tuple(chosen))
    if draws is not None:
        return _draws(trace, draws)
    assert time_range is not None
    return _timed(trace, time_range)


def _frames(chosen: range, text: str) -> Target:
    return Target(text, reduce.ShownImages(chosen, 0))


def _draws(trace: Trace, text: str) -> Target:
    if is_vulkan(trace):
        ran = trace.sql("SELECT seq, submit_seq FROM executed WHERE kind = 'draw' ORDER BY number").fetchall()
        rows = [(int(seq), int(submit)) for seq, submit in ran]
        numbers = numbers_of(text, len(rows), "draw")
        return Target(f"draws {text}", reduce.ShownImages(None, *rows[numbers[-1]]), tuple(rows[i][1] for i in numbers))
    flagged = [f["name"] for f in trace.table(FunctionRow) if "draw" in f["flags"].split(",")]
    calls = trace.sql("SELECT seq FROM calls WHERE list_contains($names, name) ORDER BY seq", {"names": flagged})
    seqs = [int(seq) for (seq,) in calls]
    chosen = numbers_of(text, len(seqs), "draw")
    wanted = tuple(seqs[i] for i in chosen)
    return Target(f"draws {text}", reduce.ShownImages(None, wanted[-1]), wanted)


def _executed_last(trace: Trace, chosen: range) -> reduce.ShownImages:
    """Return the draw of Vulkan whose image is the one after these calls, which may record it alone."""
    at = place_of(trace, chosen[-1])
    if at.draw is None:
        within = f"submit_seq BETWEEN {chosen[0]} AND {chosen[-1]}"
        rows = trace.sql(
            f"SELECT submit_seq, seq FROM executed WHERE kind = 'draw' AND {within} ORDER BY number DESC LIMIT 1"
        ).fetchall()
        if not rows:
            raise UnavailableError(
                "these calls neither submit nor end with a draw: there is no image after them",
                hint="--draws counts the draws that run, --frames RANGE cuts out frames",
            )
        at = Place(int(rows[0][0]), int(rows[0][1]))
    assert at.draw is not None
    return reduce.ShownImages(None, at.draw, at.call)


def _timed(trace: Trace, text: str) -> Target:
    match = _TIME.fullmatch(text)
    if match is None or match[3] is None:
        raise UsageError(f"{text!r} is no range of times", hint="A:B or A:+N, in seconds since the first call: 1.5:2")
    start = float(match[1] or 0)
    end = float(match[3]) if match[3] else float("inf")
    end = start + end if match[2] else end
    rows = trace.table(FrameRow)
    zero = next((r["t_start"] for r in rows if r["t_start"] is not None), 0)
    ended = [
        r["frame"]
        for r in rows
        if r["t_end"] is not None and start <= (r["t_end"] - zero) / 1e9 < end and r["end_function"]
    ]
    if not ended:
        raise UsageError(f"no frame ends between {match[1] or 0} s and {match[3] or 'the end'}")
    return _frames(range(ended[0], ended[-1] + 1), f"time {text} (frames {ended[0]}:{ended[-1] + 1})")


# ---- cutting ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cut:
    """Calls that draw the target, and how that is known.

    `verified`: "replay" (the written file was played), or "no". `added`: calls that the graph had not found needed.
    `problems`: what the source itself does wrong when played.
    """

    keep: Calls
    source_calls: int
    before: int
    verified: str
    certificate: Row
    added: tuple[int, ...] = ()
    reduction: reduce.Reduction | None = None
    seconds: float = 0.0
    equal: bool = True
    written: Row = field(default_factory=dict)

    @property
    def search(self) -> Sequence[str]:
        """Return what the search for missing calls did, in words."""
        said = self.certificate.get("search")
        return [str(line) for line in said] if isinstance(said, list) else []

    @property
    def unlike_program(self) -> tuple[int, int]:
        """Return how many images of the cut are not what the program showed, and how many were compared with that."""
        proof = self.certificate.get("file")
        if not isinstance(proof, dict):
            return 0, 0
        return int(proof["recorded_images_different"]), int(proof["recorded_images_compared"])

    @property
    def other_engine(self) -> bool:
        """Tell whether it was played on another engine than the program drew on."""
        proof = self.certificate.get("file")
        recorded = proof["recorded_on"] if isinstance(proof, dict) else ""
        return bool(recorded) and not str(self.certificate.get("engine", "")).startswith(str(recorded))

    @property
    def own_configuration(self) -> bool:
        """Tell whether the recording asks for another framebuffer configuration than the program had."""
        proof = self.certificate.get("file")
        return isinstance(proof, dict) and bool(proof["own_configuration"])

    @property
    def kept(self) -> int:
        """Count the calls that are kept."""
        return int(self.keep.sum())

    @property
    def share(self) -> float:
        """Return the share of the calls from the start to the target's end that are kept."""
        return self.kept / self.before if self.before else 0.0


@dataclass(frozen=True)
class ExtractOptions:
    """Options of a cut: the engine, whether to prove it, and the effort to make it smaller.

    `oracle` is one of pixels, gl-error, engines=A,B, or a command. Where there is `ask`, that tells whether a file
    with the kept calls still has the property, and `oracle` only names it.
    """

    on: str = "system"
    verify: bool = True
    minimize: bool = False
    oracle: str = "pixels"
    seconds: float = 120.0
    ask: Callable[[Path], bool] | None = None


class Cutter:
    """Cuts one trace. Making the graph walks it once."""

    def __init__(self, trace: Trace, *, on_line: OnLine = lambda _: None) -> None:
        self.trace = trace
        self.graph = trace.graph
        self._on_line = on_line
        self._full: Graph | None = None
        self._said: list[str] = []  # what the search for a cut did, for its certificate
        self._budget = reduce.Budget(_MOST_SECONDS, _MOST_TRIALS)

    def roots(self, wanted: Target, graph: Graph | None = None) -> list[int]:
        """Return the calls that the target is made of, of frames those that `graph` (None: the usual one) says."""
        if wanted.shown.frames is not None:
            return (graph or self.graph).frame_roots(wanted.shown.frames)
        changes = graphs.CHANGES | graphs.DRAWS
        roots = [seq for seq in wanted.roots if self.graph.flags[seq] & changes]
        last = self.graph.last_draw(wanted.shown.call)
        return [*roots, last] if last is not None else roots

    def needed(self, wanted: Target, fresh: Sequence[Fresh] = ()) -> Calls:
        """Return what the graph says is needed for the target, by these guesses."""
        keep = self.graph.closure(self.roots(wanted), fresh=fresh)
        if wanted.shown.frames is None:
            keep[wanted.shown.call] = True  # the image is the one after it
        return keep

    def cut(self, wanted: Target, output: Path, wish: ExtractOptions) -> Cut:
        """Cut, prove and write. Raises UnavailableError where nothing here can play it and it was to be proved."""
        started = time.monotonic()
        self._said, self._budget = [], reduce.Budget(_MOST_SECONDS, _MOST_TRIALS)
        keep = self.needed(wanted)
        before = _end_of(self.trace, wanted)
        added: list[int] = []
        fresh: list[Fresh] = []
        reduction = None
        stage = reduce.Stage(self.trace, wanted.shown, wish.on, stored=self.graph.map_writes)
        reference = None
        if wish.verify or (wish.minimize and wish.oracle == "pixels"):
            reference = stage.reference()
            keep, fresh, added = self._proved(stage, reference, keep, wanted)
        if wish.minimize:
            keep, reduction = self._minimized(stage, reference, keep, wanted, wish, fresh=fresh)
        certificate = certificate_for(
            stage, wanted, wish, keep, before=before, reference=reference, added=added, said=self._said,
            reduction=reduction,
        )  # fmt: skip
        images = whole_images(self.trace, wanted.shown) if _shows_pixels(wish) else np.zeros_like(keep)
        part = self.graph.part(self.trace, keep, images=images)
        written = write([part], output, annotation=certificate)
        equal = True
        if wish.verify and reference is not None and _shows_pixels(wish):
            # The file itself: its frames are those whose ends were kept, counted anew.
            shown = wanted.shown.among(keep, frame_ends(self.trace))
            proof = proof_of(self.trace, output, shown, wish.on, reference)
            equal = proof["equal"] is True
            certificate = {**certificate, "file": proof}
            write([part], output, annotation=certificate)
        return Cut(
            keep,
            self.graph.calls,
            before,
            "replay" if wish.verify else "no",
            certificate,
            tuple(added),
            reduction,
            time.monotonic() - started,
            equal,
            written,
        )

    # ---- proving -----------------------------------------------------------------------------------------------------

    def _proved(
        self, stage: reduce.Stage, reference: reduce.Outcome, keep: Calls, wanted: Target
    ) -> tuple[Calls, list[Fresh], list[int]]:
        oracle = reduce.SamePixels(stage, reference)
        roots = self.roots(wanted)
        crossed = self.graph.crossed(roots)
        if crossed:  # most frames paint over all that was there: then what was there is not needed
            fresh: list[Fresh] = [(graphs.EVERYWHERE, graphs.ALWAYS)]
            painted = self.needed(wanted, fresh)
            if not np.array_equal(painted, keep) and oracle.holds(painted):
                return painted, fresh, []
        if oracle.holds(keep):
            if crossed:
                keep, fresh = self._painted_over(oracle, wanted, keep, crossed)
                return keep, fresh, []
            return keep, [], []
        keep, added = self._repaired(stage, oracle, reference, keep, wanted)
        return keep, [], added

    def _painted_over(
        self, oracle: reduce.Oracle, wanted: Target, keep: Calls, crossed: Sequence[int]
    ) -> tuple[Calls, list[Fresh]]:
        """Find which contents are painted over wholly, and from which frame on at the latest, one by one."""
        fresh: list[Fresh] = []
        for content in crossed[:_MOST_CONTENTS]:
            if not self._budget.spend():
                self._said.append(
                    f"the search for what is painted over ended after {self._budget.elapsed:.0f} s: more may go"
                )
                break
            guess = [*fresh, (content, graphs.ALWAYS)]
            trial = self.needed(wanted, guess)
            if np.array_equal(trial, keep):
                continue
            if oracle.holds(trial):
                keep, fresh = trial, guess
                continue
            keep, fresh = self._painted_from(oracle, wanted, keep, fresh, content)
        return keep, fresh

    def _painted_from(
        self, oracle: reduce.Oracle, wanted: Target, keep: Calls, fresh: list[Fresh], content: int
    ) -> tuple[Calls, list[Fresh]]:
        # The last frame at whose beginning nothing of the content is needed: it holds for the first of them.
        end = _end_of(self.trace, wanted)
        starts = [0, *(s for s in (row["first_seq"] for row in self.trace.table(FrameRow)) if 0 < s < end)]
        low, high = 0, len(starts)
        while high - low > 1 and self._budget.spend():
            middle = (low + high) // 2
            guess = [*fresh, (content, starts[middle])]
            trial = self.needed(wanted, guess)
            if np.array_equal(trial, keep) or oracle.holds(trial):
                low = middle
            else:
                high = middle
        if low == 0:
            return keep, fresh
        guess = [*fresh, (content, starts[low])]
        return self.needed(wanted, guess), guess

    def _repaired(
        self, stage: reduce.Stage, oracle: reduce.Oracle, reference: reduce.Outcome, keep: Calls, wanted: Target
    ) -> tuple[Calls, list[int]]:
        if stage.play(None) != reference:
            raise DrawtapError(
                "playing the recording twice gives two images: what it draws depends on more than its calls",
                hint="--no-verify writes the cut without comparing anything",
            )
        # A call that sets a value to what it was may matter after all: the next try keeps such calls.
        self._on_line("the calls that the graph found show another image: looking for what is missing")
        self._full = full = self._full or Graph(self.trace, lean=False)
        wider = full.closure(self.roots(wanted, full)) | keep
        if not np.array_equal(wider, keep) and oracle.holds(wider):
            self._said.append("values that were set again turned out to be needed")
        else:
            # On the way to the missing call others stand without what they need: only the images count there.
            for wished in (reduce.SamePixels(stage, reference, clean=False), oracle):
                if not wished.holds(wider):
                    wider = self._searched(wished, wider, wanted)
            if not oracle.holds(wider):
                wider[: _end_of(self.trace, wanted)] = True
                self._said.append("nothing less than all calls up to there shows the same")
        self._on_line(self._said[-1])
        return wider, [int(seq) for seq in np.flatnonzero(wider & ~keep)]

    def _searched(self, images: reduce.Oracle, keep: Calls, wanted: Target) -> Calls:
        full = self._full
        assert full is not None
        groups = self._groups(keep, wanted)
        near = self._since(wanted)

        def alike(call: int) -> Sequence[Calls]:
            same = np.zeros_like(keep)
            rows = self.trace.sql("SELECT seq FROM calls WHERE name = $name", {"name": self.trace.calls[call].name})
            same[[int(seq) for (seq,) in rows]] = True
            same[_end_of(self.trace, wanted) :] = False
            return (same & near, same) if near[call] else (same,)

        search = Search(
            images,
            groups,
            closed=lambda calls: full.closure(np.flatnonzero(calls).astype(np.uint64)),
            alike=alike,
            budget=self._budget,
            on_line=self._on_line,
        )
        needed = search.from_(keep)
        if needed.whole:
            whole, seconds = ", ".join(needed.whole), self._budget.elapsed
            self._said.append(f"the search for missing calls ended after {seconds:.0f} s: {whole} are kept")
        else:
            names = sorted({self.trace.calls[int(seq)].name for seq in np.flatnonzero(needed.keep & ~keep)[:1000]})
            more = f" and {len(names) - _ADDED_NAMED} other functions" if len(names) > _ADDED_NAMED else ""
            named = ", ".join(names[:_ADDED_NAMED])
            self._said.append(f"the images need calls that the graph had left out: {named}{more}")
        return needed.keep

    def _since(self, wanted: Target) -> Calls:
        """Return the calls of the wanted frames, or of the wanted call's frame up to it."""
        end = _end_of(self.trace, wanted)
        starts = [row["first_seq"] for row in self.trace.table(FrameRow)]
        if wanted.shown.frames is not None:
            start = starts[wanted.shown.frames.start]
        else:
            start = max((s for s in starts if s < end), default=0)
        chosen = np.zeros(self.graph.calls, np.bool_)
        chosen[start:end] = True
        return chosen

    def _groups(self, keep: Calls, wanted: Target) -> list[Group]:
        # State first, then contents, then what draws: most often it is the first, and it costs the least.
        flags = self.graph.flags
        left = ~keep
        left[_end_of(self.trace, wanted) :] = False
        heavy = left & ((flags & (graphs.UPLOADS | graphs.COPIES | graphs.MAKES | graphs.COMPILES)) != 0)
        draws = left & ((flags & (graphs.DRAWS | graphs.SHOWS)) != 0)
        state = left & ~heavy & ~draws
        since = self._since(wanted)
        # Drivers remember more than OpenGL has state: what a call once made of a matrix rounds otherwise for ever. Such
        # a memory begins with the first call of its kind, and these are few.
        firsts = np.zeros_like(left)
        firsts[[int(seq) for (seq,) in self.trace.sql("SELECT min(seq) FROM calls GROUP BY fn")]] = True
        return [
            Group("the first call of each function", left & firsts & ~draws),
            Group("all state that the wanted frames set", state & since),
            Group("all state that is set before them", state & ~since),
            Group("all objects and contents", heavy),
            Group("all draws", draws & ~heavy),
        ]

    # ---- smaller -----------------------------------------------------------------------------------------------------

    def _minimized(
        self,
        stage: reduce.Stage,
        reference: reduce.Outcome | None,
        keep: Calls,
        wanted: Target,
        wish: ExtractOptions,
        *,
        fresh: Sequence[Fresh],
    ) -> tuple[Calls, reduce.Reduction]:
        def written(calls: Calls, path: Path) -> None:
            write([self.graph.part(self.trace, calls, images=np.ones_like(calls))], path)

        oracle, free = oracle_of(stage, reference, wish, written)
        base = keep
        if free:
            base = np.zeros_like(keep)
            base[: _end_of(self.trace, wanted)] = True
        if not oracle.holds(base):
            raise QueryError(f"it does not hold for what there is to begin with: {oracle.about}")
        if free:  # what the pixels need is a good guess
            keep = keep if oracle.holds(keep) else base
        roots = self.roots(wanted)
        fixed = set[int]() if free else set(roots)

        def without(now: Calls, removed: Calls) -> Calls:
            if not free:
                needed = self.graph.closure([r for r in roots if not removed[r]], removed, fresh)
                return now & needed & ~removed
            everything = np.flatnonzero(now & ~removed)
            return now & self.graph.closure(everything.astype(np.uint64), removed) & ~removed

        budget = reduce.Budget(wish.seconds)
        reducer = reduce.Reducer(keep, without, oracle, budget=budget, on_line=self._on_line)
        units = [unit for unit in self._units(keep) if not fixed.intersection(unit)]
        flags = graphs.DRAWS | graphs.COPIES
        # Calls that only a draw needs go with the draw: without them first, the rest is less.
        reducer.remove([unit for unit in units if any(self.graph.flags[seq] & flags for seq in unit)], once=True)
        reduction = reducer.remove(units)
        return reduction.keep, reduction

    def _units(self, keep: Calls) -> list[list[int]]:
        """Return the kept calls as units: what stands between glBegin and glEnd comes and goes together."""
        seqs = np.flatnonzero(keep)
        if not len(seqs):
            return []
        rows = self.trace.sql(
            "SELECT seq, thread FROM calls WHERE name IN ('glBegin', 'glEnd') AND seq BETWEEN $first AND $last"
            " ORDER BY seq",
            {"first": int(seqs[0]), "last": int(seqs[-1])},
        )
        open_at: dict[int, int] = {}
        spans: list[tuple[int, int]] = []
        for seq, thread in ((int(a), int(b)) for a, b in rows):
            if thread in open_at:
                spans.append((open_at.pop(thread), seq))
            else:
                open_at[thread] = seq
        units: list[list[int]] = []
        end_of = dict(spans)
        until = -1
        for seq in (int(s) for s in seqs):
            if seq <= until:
                units[-1].append(seq)
            else:
                units.append([seq])
                until = end_of.get(seq, -1)
        return units


def oracle_of(
    stage: reduce.Stage,
    reference: reduce.Outcome | None,
    wish: ExtractOptions,
    written: Callable[[Calls, Path], object],
) -> tuple[reduce.Oracle, bool]:
    """Return what must stay true, and whether that is something else than the pixels.

    `written` writes the trace with some of its calls. Raises QueryError or UsageError where there is no such property.
    """
    if wish.ask is not None:
        return reduce.Asked(wish.oracle, wish.ask, written), True
    if wish.oracle == "pixels":
        assert reference is not None
        return reduce.SamePixels(stage, reference), False
    if wish.oracle == "gl-error":
        errors = sorted(stage.errors(None))
        if not errors:
            raise QueryError("no call of the recording raises a GL error here", hint="--oracle pixels")
        return reduce.SameError(stage, errors[0]), True
    if wish.oracle.startswith("engines="):
        names = wish.oracle.removeprefix("engines=").split(",")
        if len(names) != 2:
            raise UsageError("two engines have to be named", hint="--oracle engines=llvmpipe,softpipe")
        one, other = (reduce.Stage(stage.trace, stage.shown, name.strip(), stored=stage.stored) for name in names)
        return reduce.SameDifference(one, other), True
    return reduce.Script(wish.oracle, written), True


# ---- the certificate -------------------------------------------------------------------------------------------------


def certificate_for(
    stage: reduce.Stage,
    wanted: Target,
    wish: ExtractOptions,
    keep: Calls,
    *,
    before: int,
    reference: reduce.Outcome | None,
    added: Sequence[int] = (),
    said: Sequence[str] = (),
    reduction: reduce.Reduction | None = None,
) -> Row:
    """Return the certificate of a cut: its target, the kept ones of `before` calls, and the proof.

    `added`: calls that the images turned out to need; `said`: what the search did, in words.
    """
    import drawtap

    trace = stage.trace
    certificate: Row = {
        "kind": "certificate",
        "what": "extract",
        "version": drawtap.__version__,
        "source": source_of(trace),
        "target": wanted.text,
        "frame_end": trace.frame_end,
        "shown": _named(wanted.shown),
        "calls_source": trace.core.count(),
        "calls_to_target": before,
        "calls_kept": int(keep.sum()),
        "verified": "replay" if wish.verify else "no",
    }
    if reference is not None:
        named = [str(trace.calls[seq]) for seq in added[:_ADDED_NAMED]]
        certificate |= {"engine": stage.renderer, "images": list(reference.images), "replays": stage.rounds}
        certificate |= {"added_calls": len(added), "added": named}
    if said:
        certificate["search"] = list(said)
    if reduction is not None:
        certificate |= {"oracle": wish.oracle, "minimal": reduction.minimal, "trials": reduction.trials}
        if not reduction.minimal:
            certificate["trials_ahead"] = reduction.ahead
    return certificate


def proof_of(trace: Trace, output: Path, shown: reduce.ShownImages, on: str, reference: reduce.Outcome) -> Row:
    """Return what a file with a cut shows, held against the images of the whole recording and of the program."""
    images = reduce.images_in(output, trace, shown, on)
    compared, different = _recorded_images(output, on)
    return {
        "equal": images == reference.images,
        "shown": _named(shown),
        "images": list(images),
        "recorded_images_compared": compared,
        "recorded_images_different": different,
        "recorded_on": _recorded_on(trace),
        "own_configuration": "" if is_vulkan(trace) else _own_configuration(trace),
    }


def _named(shown: reduce.ShownImages) -> Row:
    if shown.frames is not None:
        return {"frames": list(shown.frames)}
    return {"call": shown.call} | ({} if shown.submit is None else {"submit": shown.submit})


def whole_images(trace: Trace, shown: reduce.ShownImages) -> Calls:
    """Return the calls whose image is the program's: other frames, and what waits in between, lack draws."""
    images = np.zeros(trace.core.count(), np.bool_)
    if shown.frames is not None:
        images[frame_ends(trace)[shown.frames.start : shown.frames.stop]] = True
    return images


def _shows_pixels(wish: ExtractOptions) -> bool:
    return not (wish.minimize and wish.oracle != "pixels")


def _end_of(trace: Trace, wanted: Target) -> int:
    """Return the number of calls from the start to the end of the target."""
    if wanted.shown.frames is None:
        return wanted.shown.call + 1
    last = wanted.shown.frames.stop - 1
    row = next(r for r in trace.table(FrameRow) if r["frame"] == last)
    return row["end_seq"]


def _recorded_on(trace: Trace) -> str:
    """Return what the program drew on, as the driver called itself."""
    for row in trace.table(NativeRow):
        if row["kind"] == "driver":
            about = dict(word.partition("=")[::2] for word in str(row["text"]).split(";"))
            return about.get("renderer", "")
    return ""


def _own_configuration(trace: Trace) -> str:
    """Return the framebuffer configuration that the recording asks for in place of the program's; "": none."""
    notes = [json.loads(row["json"]) for row in trace.table(AnnotationRow) if row["kind"] == "player"]
    return str(notes[-1].get("config", "")) if notes else ""


def _recorded_images(path: Path, on: str) -> tuple[int, int]:
    """Return how many images were compared with what the program itself had shown, and how many differ."""
    try:
        played = player.play(path, ["--verify"], environment=engine.environment_of(on))
    except DrawtapError:
        return (0, 0)
    return (played.compared, played.different)
