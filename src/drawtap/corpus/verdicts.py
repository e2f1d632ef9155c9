"""Play recordings on a build, judge what it draws, and say where it begins to differ.

A recording that differs is played again before the verdict: images that change from run to run are flaky. For the
others the first draw that differs is searched, and the frame is cut out as a recording of its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import drawtap
from drawtap import activity
from drawtap.corpus import canaries, gallery, pictures, rows, speed, subset, timing
from drawtap.corpus.adding import Adder
from drawtap.corpus.engines import machine
from drawtap.corpus.pictures import Judged
from drawtap.corpus.playing import FAILED, Files, Limits, machine_fault, play_all
from drawtap.corpus.search import Corpus, compact
from drawtap.corpus.speed import Speed
from drawtap.errors import DrawtapError
from drawtap.scratch import Scratch
from drawtap.tables.corpus import TABLES
from drawtap.trace.trace import open_trace

if TYPE_CHECKING:
    from drawtap.corpus.engines import Engine
    from drawtap.corpus.store import Store
    from drawtap.trace.trace import Trace

#: Failures that say more than the images of a run.
BROKEN = tuple(outcome for outcome in FAILED if outcome != "differs")
PLAYED = ("ok", "differs")
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
        judgements = judged(tables, traces, new, base)
    doubtful = [one.trace for one in judgements if one.label == "differs"]
    if doubtful and effort.repeats > 1:
        attempts = [f"repeat-{n}" for n in range(1, effort.repeats)]
        for _ in play_all(store, doubtful, engines, effort.limits, jobs=effort.jobs, attempts=attempts):
            pass
        with Corpus(store) as tables:
            judgements = judged(tables, traces, new, base)
    with Scratch() as name:
        files = Files(store, Path(name))
        with activity.step("looking at what differs"):
            done = [_looked_at(files, one, new, base, effort) for one in judgements]
    for one in done:
        _write(store, one, new, base)
    return done


def of_speed(
    store: Store,
    traces: Sequence[str],
    new: Engine,
    base: Engine,
    *,
    rule: speed.Rule,
    effort: Effort,
    metric: str | None = None,
) -> tuple[str, list[Speed]]:
    """Measure recordings in pairs and judge whether `new` is slower; return the metric, and answers in their order.

    Only recordings that both engines play are measured; the others are unknown. So are all on a machine whose canaries
    fail: then their checks alone are written down. A threshold of 0 in the rule means the metric's own.

    Raises what `timing.Timer.choose` raises.
    """
    for _ in play_all(store, traces, [new, base], effort.limits, jobs=effort.jobs):
        pass
    with Corpus(store) as tables:
        outcomes = [{one.trace: one.outcome for one in judged(tables, traces, each)} for each in (new, base)]
    plays = [id_ for id_ in traces if all(of[id_] in PLAYED for of in outcomes)]
    answers = {
        id_: Speed(
            id_, "unknown", 0, detail=f"not measured: {new.name} {outcomes[0][id_]}, {base.name} {outcomes[1][id_]}"
        )
        for id_ in traces
        if id_ not in plays
    }
    with Scratch() as name, activity.step("measuring pairs"):
        files = Files(store, Path(name))
        timer = timing.Timer(files, new, base, metric)
        if plays:
            chosen = timer.choose(plays[0])
            own = rule.threshold or timing.threshold_of(chosen)
            fault = _machine_fault(files, timer, (new, base), own, effort.limits)
            if fault is not None:
                return chosen, [answers.get(id_) or Speed(id_, "unknown", 0, detail=fault) for id_ in traces]
            judge = speed.Judge(timer.pair, replace(rule, threshold=own), partial(timer.pair, keep=True))
            for one in judge.run(plays):
                lost = f"; {timer.lost[one.trace]}" if one.label == "unknown" and one.trace in timer.lost else ""
                answers[one.trace] = replace(one, detail=f"{one.detail}{lost}")
                kept = timer.kept.pop(one.trace, [])  # frames stay of confirmed changes alone
                kept = kept if one.label == "regression" else []
                write_speed(store, answers[one.trace], chosen, new, base, readings=kept)
                activity.at(len(answers), len(traces))
    for id_ in traces:
        if id_ not in plays:
            write_speed(store, answers[id_], timer.metric, new, base)
    compact(store)
    return timer.metric, [answers[id_] for id_ in traces]


def _machine_fault(
    files: Files, timer: timing.Timer, sides: Sequence[Engine], threshold: float, limits: Limits
) -> str | None:
    """Return why no pair of this machine counts, by images and times of its canaries; None: nothing is known.

    The last one of `sides` is the base, whose times count.
    """
    for one in sides:
        fault = machine_fault(files, one, limits)
        if fault is not None:
            return fault
    for trace in canaries.tagged(files.store):
        ratios = [timer.again(trace) for _ in range(speed.CANARY_PAIRS)]
        kept = [ratio for ratio in ratios if ratio is not None]
        why = "its runs were lost" if len(kept) < len(ratios) else speed.unsteady(kept, threshold)
        canaries.write_check(files.store, trace, sides[-1], "speed", why, spread=speed.spread(kept))
        if why is not None:
            return f"machine {machine()} is not fit to measure: with its canary {trace[:12]}, {why}"
    return None


def judged(tables: Corpus, traces: Sequence[str], new: Engine, base: Engine | None = None) -> list[Judged]:
    """Return judgements of recordings by what the corpus knows, in their order; a failed run is a label too."""
    known = pictures.judge(tables, traces, new, base)
    return [_with_outcome(known.get(id_, Judged(id_, "", "unknown", detail="not played"))) for id_ in traces]


def _with_outcome(one: Judged) -> Judged:
    if one.outcome in BROKEN:
        seq, function, detail = one.ended
        one = replace(one, label=one.outcome, frame=None, digest=None, base_digest=None, wavering=())
        return replace(one, first_seq=seq, function=function, detail=detail)
    if one.outcome in ("unsupported", "timeout", "infrastructure"):
        return replace(one, label="unknown", wavering=(), detail=f"nothing is known: {one.outcome}")
    if one.outcome == "differs" and one.label == "unknown":
        return replace(one, detail=f"{one.detail}; other images or read-backs than in the recording")
    return one


def _looked_at(files: Files, one: Judged, new: Engine, base: Engine | None, effort: Effort) -> Judged:
    wavers = bool(one.wavering) and one.label not in RED
    if not effort.draws or not (wavers or one.label in pictures.BAD):
        return one
    if one.label == "differs" and base is not None and (known := _known(files.store, one, new, base)) is not None:
        return known
    path = files.get(one.trace)
    one, shots = pictures.settle(one, path, new, base, repeats=max(2, effort.repeats))
    if not shots and one.frame is not None:
        shots = [shot for each in (new, base) if each and (shot := gallery.shoot(path, each, one.frame))]
    gallery.keep(files.store, one.trace, shots)
    if base is None:
        return one
    if one.label == "differs":
        with open_trace(path) as trace:
            one = pictures.explain(one, trace, new, base)
            one = _cut(files, one, trace, new, base) if effort.cuts else one
    _write_diffs(files.store, one, shots, new, base)
    return one


def _cut(files: Files, one: Judged, trace: Trace, new: Engine, base: Engine) -> Judged:
    """Put the frame that differs into the corpus as a recording of its own."""
    cut = files.folder / f"{one.trace[:12]}-frame-{one.frame}.dtap"
    try:
        pictures.cut_out(one, trace, cut, base)
        tags = {"cut_of": one.trace[:12], "differs": f"{base.name} {new.name}", "frame": str(one.frame)}
        return replace(one, cut=Adder(files.store).add(cut, tags).id)
    except DrawtapError as error:
        return replace(one, detail=f"{one.detail}; it is not cut out: {error.message}")


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
    row = {"kind": "images", "engine": new.key, "name": new.name, "base": base.key if base else None}
    _write_row(store, {**row, **asdict(one)})


def _write_diffs(store: Store, one: Judged, shots: Sequence[gallery.Shot | None], new: Engine, base: Engine) -> None:
    """Write how far the pictures of two engines are apart; what is known of the same two stays."""
    if not shots:
        return
    with Corpus(store) as tables:
        known = {row[0] for row in tables.query("SELECT task FROM diffs WHERE trace = ?", (one.trace,)).fetchall()}
    for apart_ in gallery.apart(shots, base.key, new.key):
        named = f"diff {one.trace} {apart_.frame} {base.key} {new.key} {apart_.a} {apart_.b}"
        task = hashlib.sha256(named.encode()).hexdigest()
        if task in known:
            continue
        row: dict[str, object] = {"task": task, "trace": one.trace, "frame": apart_.frame, "base": base.key}
        row |= {"engine": new.key, "a": apart_.a, "b": apart_.b}
        row["first_draw"] = one.first_seq if apart_.frame == one.frame else None
        apart = apart_.difference
        numbers = (apart.max_difference, apart_.pixels, apart.rmse, apart.ssim, apart_.masked)
        names = ("max", "pixels", "rmse", "ssim", "mask")
        row |= dict.fromkeys(names) if apart.sizes else dict(zip(names, numbers, strict=True))
        rows.write_row(store, "diffs", row)


def write_speed(
    store: Store, one: Speed, metric: str, new: Engine, base: Engine, *, readings: Sequence[tuple[object, ...]] = ()
) -> None:
    """Write a judgement of speed into the corpus, with rows of `readings`: the frames that confirm it."""
    row: dict[str, object] = {"kind": "speed", "engine": new.key, "name": new.name, "base": base.key, "metric": metric}
    _write_row(store, {**row, **asdict(one)}, readings)


def _write_row(store: Store, said: Mapping[str, object], readings: Sequence[tuple[object, ...]] = ()) -> None:
    row = {c.name: said.get(c.name) for c in TABLES["verdicts"].columns}
    at = time.time_ns()
    task = hashlib.sha256(json.dumps([at, row]).encode()).hexdigest()
    row |= {"task": task, "judged": at}
    verdict: tuple[tuple[str, ...], list[tuple[object, ...]]] = (tuple(row), [tuple(row.values())])
    columns = tuple(c.name for c in TABLES["readings"].columns)
    rows.write_task(store, task, {**({"readings": (columns, readings)} if readings else {}), "verdicts": verdict})


# ---- budgets and plans -----------------------------------------------------------------------------------------------

_PLAN = """
WITH mine AS (SELECT trace, duration / 1e9 AS seconds FROM traces WHERE list_contains($traces, trace)),
    ran AS (SELECT trace, engine, max_by(outcome, started) AS outcome, median(seconds) AS seconds FROM runs
        WHERE engine IN ($new, $base) AND drawtap = $version GROUP BY ALL),
    took AS (SELECT trace, avg(seconds) AS seconds FROM ran GROUP BY trace),
    sides AS (SELECT unnest($sides) AS engine),
    known AS (SELECT median(detectable) AS detectable FROM verdicts WHERE kind = 'speed' AND pairs = $pairs
        AND list_contains($traces, trace))
SELECT count(*) FILTER (r.task_done IS NULL), sum(coalesce(t.seconds, m.seconds, 0)) FILTER (r.task_done IS NULL),
    sum(coalesce(t.seconds, m.seconds, 0)) FILTER (r.task_done IS NULL OR r.task_done IN ('ok', 'differs')),
    count(*) FILTER (r.task_done NOT IN ('ok', 'differs')), (SELECT detectable FROM known)
FROM mine m CROSS JOIN sides s LEFT JOIN took t USING (trace)
LEFT JOIN (SELECT trace, engine, outcome AS task_done FROM ran) r ON r.trace = m.trace AND r.engine = s.engine
"""


_COST = """
WITH ran AS (SELECT trace, engine, median(seconds) AS seconds FROM runs
        WHERE list_contains($sides, engine) AND drawtap = $version GROUP BY ALL),
    took AS (SELECT trace, avg(seconds) AS seconds, count(*) AS done FROM ran GROUP BY trace)
SELECT m.trace, coalesce(t.seconds, m.duration / 1e9, 0) AS seconds, len($sides) - coalesce(t.done, 0) AS runs
FROM traces m LEFT JOIN took t USING (trace) WHERE list_contains($traces, m.trace)
"""


def within(tables: Corpus, traces: Sequence[str], sides: Sequence[str], pairs: int, seconds: float) -> list[str]:
    """Return the recordings that a verdict can judge in a time, typical ones of the corpus first, then short ones.

    `sides` are keys of the engines, `pairs` is 0 for images. Times come from earlier runs, else from the length of a
    recording; a run that was made already takes no time.
    """
    parameters = {"traces": list(traces), "sides": list(sides), "version": drawtap.__version__}
    cost = {
        str(trace): float(one) * (int(runs) + pairs * len(sides))
        for trace, one, runs in tables.query(_COST, parameters).fetchall()
    }
    typical: frozenset[str] = frozenset()
    if sum(cost.values()) > seconds:
        with contextlib.suppress(DrawtapError):  # none fits, or nothing groups them: short ones first
            typical = frozenset(one.id for one in subset.select(tables, seconds * 1e9).chosen)
    left, taken = seconds, []
    for id_ in sorted(cost, key=lambda id_: (id_ not in typical, cost[id_], id_)):
        if cost[id_] <= left:
            left -= cost[id_]
            taken.append(id_)
    return [id_ for id_ in traces if id_ in set(taken)]


@dataclass(frozen=True)
class Plan:
    """The work of a verdict: runs of recordings that were not played, pairs to measure, seconds on one processor.

    Seconds come from earlier runs, else from the length of the recordings. `failed` are runs that did not play.
    `needed` pairs find one slower recording among all. `detectable` is the slowdown that these pairs showed before.
    """

    recordings: int
    runs: int
    run_seconds: float
    pairs: int
    pair_seconds: float
    failed: int
    needed: int
    detectable: float | None


def plan(tables: Corpus, traces: Sequence[str], new: str, base: str | None, pairs: int) -> Plan:
    """Return the work of a verdict about recordings; `new` and `base` are keys, `pairs` is 0 for images."""
    sides = [new] if base is None else [new, base]
    parameters = {"traces": list(traces), "new": new, "base": base, "sides": sides, "pairs": pairs}
    row = tables.query(_PLAN, {**parameters, "version": drawtap.__version__}).fetchone()
    assert row is not None
    runs, run_seconds, once, failed, detectable = row
    return Plan(
        len(traces),
        int(runs),
        float(run_seconds or 0),
        pairs * len(traces),
        pairs * float(once or 0) if pairs else 0.0,
        int(failed),
        speed.needed(len(traces)),
        None if detectable is None else float(detectable),
    )
