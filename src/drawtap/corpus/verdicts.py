"""Play recordings on a build, judge what it draws, and say where it begins to differ.

A recording that differs is played again before the verdict: images that change from run to run are flaky. For the
others the first draw that differs is searched, and the frame is cut out as a recording of its own.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from drawtap import activity
from drawtap.corpus import pictures, rows
from drawtap.corpus.adding import Adder
from drawtap.corpus.pictures import Judged
from drawtap.corpus.playing import FAILED, Files, Limits, play_all
from drawtap.corpus.search import Corpus, compact
from drawtap.errors import DrawtapError
from drawtap.trace.trace import open_trace

if TYPE_CHECKING:
    from drawtap.corpus.engines import Engine
    from drawtap.corpus.store import Store

#: Failures that say more than the images of a run.
BROKEN = tuple(outcome for outcome in FAILED if outcome != "differs")
RED = (*BROKEN, *pictures.BAD)


@dataclass(frozen=True)
class Effort:
    """The effort of a judgement: players at a time and their limits, runs of a recording that differs, whether the
    first draw is searched and the frame cut out."""

    limits: Limits = field(default_factory=Limits)
    jobs: int = 1
    repeats: int = 3
    draws: bool = True
    cuts: bool = True


def of_pictures(store: Store, traces: Sequence[str], new: Engine, base: Engine | None, effort: Effort) -> list[Judged]:
    """Play recordings on `new` (and on `base`) where that was not done yet, and judge what they show.

    Judgements go into the corpus too.
    """
    engines = [new] if base is None else [new, base]
    for _ in play_all(store, traces, engines, effort.limits, jobs=effort.jobs):
        pass
    compact(store)
    with Corpus(store) as tables:
        found = judged(tables, traces, new, base)
    doubtful = [one.trace for one in found if one.label == "differs"]
    if doubtful and effort.repeats > 1:
        attempts = [f"repeat-{n}" for n in range(1, effort.repeats)]
        for _ in play_all(store, doubtful, engines, effort.limits, jobs=effort.jobs, attempts=attempts):
            pass
        with Corpus(store) as tables:
            found = judged(tables, traces, new, base)
    with tempfile.TemporaryDirectory(prefix="drawtap-verdict-") as name:
        files = Files(store, Path(name))
        with activity.step("looking at what differs"):
            done = [_looked_at(files, one, new, base, effort) for one in found]
    for one in done:
        _write(store, one, new, base)
    return done


def judged(tables: Corpus, traces: Sequence[str], new: Engine, base: Engine | None = None) -> list[Judged]:
    """Return judgements of recordings by what the corpus knows, in their order; a failed run is a label too."""
    known = pictures.judge(tables, traces, new, base)
    return [_with_outcome(known.get(id_, Judged(id_, "", "unknown", detail="not played"))) for id_ in traces]


def _with_outcome(one: Judged) -> Judged:
    if one.outcome in BROKEN:
        return replace(one, label=one.outcome, frame=None, digest=None, base_digest=None, wavering=(), detail="")
    if one.outcome in ("unsupported", "timeout", "infrastructure"):
        return replace(one, label="unknown", wavering=(), detail=f"nothing is known: {one.outcome}")
    if one.outcome == "differs" and one.label == "unknown":
        return replace(one, detail=f"{one.detail}; other images or read-backs than in the recording")
    return one


def _looked_at(files: Files, one: Judged, new: Engine, base: Engine | None, effort: Effort) -> Judged:
    wavers = bool(one.wavering) and one.label not in RED
    if not wavers and (one.label != "differs" or base is None or not effort.draws):
        return one
    if not wavers and base is not None and (known := _known(files.store, one, new, base)) is not None:
        return known
    path = files.get(one.trace)
    with open_trace(path) as trace:
        one = pictures.settle(one, trace, new, base, repeats=max(2, effort.repeats))
        if one.label != "differs" or base is None or not effort.draws:
            return one
        one = pictures.explain(one, trace, new, base)
        if not effort.cuts:
            return one
        cut = files.folder / f"{one.trace[:12]}-frame-{one.frame}.dtap"
        try:
            pictures.cut_out(one, trace, cut, base)
            tags = {"cut_of": one.trace[:12], "differs": f"{base.name} {new.name}", "frame": str(one.frame)}
            one = replace(one, cut=Adder(files.store).add(cut, tags).id)
        except DrawtapError as error:
            one = replace(one, detail=f"{one.detail}; it is not cut out: {error.message}")
    return one


def _known(store: Store, one: Judged, new: Engine, base: Engine) -> Judged | None:
    """Return what an earlier verdict found out about the same images."""
    with Corpus(store) as tables:
        row = tables.query(
            "SELECT first_seq, function, cut, detail FROM verdicts WHERE trace = ? AND engine = ? AND base = ? AND"
            " frame = ? AND digest = ? AND base_digest = ? AND first_seq IS NOT NULL ORDER BY judged DESC LIMIT 1",
            (one.trace, new.key, base.key, one.frame, one.digest, one.base_digest),
        ).fetchone()
    if row is None:
        return None
    return replace(one, first_seq=int(row[0]), function=row[1], cut=row[2], detail=str(row[3]))


def _write(store: Store, one: Judged, new: Engine, base: Engine | None) -> None:
    row = {
        "trace": one.trace,
        "engine": new.key,
        "name": new.name,
        "base": base.key if base else None,
        "label": one.label,
        "frame": one.frame,
        "digest": one.digest,
        "base_digest": one.base_digest,
        "first_seq": one.first_seq,
        "function": one.function,
        "cut": one.cut,
        "detail": one.detail,
    }
    at = time.time_ns()
    task = hashlib.sha256(json.dumps([at, row]).encode()).hexdigest()
    row = {"task": task, "judged": at, **row}
    rows.write_task(store, task, {"verdicts": (tuple(row), [tuple(row.values())])})
