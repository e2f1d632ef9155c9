"""The series of builds that played a recording: where it changed, and which build is to blame."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from drawtap.corpus import pictures, rows, speed, timing, verdicts
from drawtap.corpus.playing import Files
from drawtap.errors import UsageError
from drawtap.scratch import Scratch

if TYPE_CHECKING:
    from drawtap.corpus.engines import Engine
    from drawtap.corpus.search import Corpus
    from drawtap.corpus.store import Store

_SERIES = """
WITH of AS (SELECT * FROM pairs WHERE trace = $trace AND metric = coalesce($metric, (
        SELECT mode(metric) FROM pairs WHERE trace = $trace))),
    best AS (SELECT base FROM of GROUP BY base ORDER BY count(DISTINCT engine) DESC, max(started) DESC LIMIT 1)
SELECT engine, any_value(metric), any_value(base_name), list(ratio ORDER BY started), any_value(base) FROM of
WHERE base = (SELECT base FROM best) GROUP BY engine
"""
_BUILDS = """
SELECT engine, max_by(name, started), min(started), max_by(outcome, started), (SELECT max_by(label, judged)
    FROM verdicts v WHERE v.trace = $trace AND v.engine = r.engine AND v.kind = 'images')
FROM runs r WHERE trace = $trace GROUP BY engine ORDER BY min(started)
"""


@dataclass(frozen=True)
class Build:
    """A build that played a recording: `effect` is how much slower than the base it is, `change` than the builds before
    where the series changes here (shares); `moved` has both parts."""

    name: str
    engine: str
    first: int
    outcome: str
    images: str | None
    pairs: int
    effect: float | None
    change: float | None
    moved: speed.Change | None = None


@dataclass(frozen=True)
class History:
    """Builds in the order in which they came; `base` is the build that times are compared with, `base_key` its key."""

    metric: str | None
    base: str | None
    builds: tuple[Build, ...]
    base_key: str | None = None


def history(tables: Corpus, trace: str, metric: str | None = None) -> History:
    """Return the builds that played a recording. Raises UsageError for a metric that was not measured."""
    series = {row[0]: row for row in tables.query(_SERIES, {"trace": trace, "metric": metric}).fetchall()}
    if metric is not None and not series:
        raise UsageError(f"no pairs of {metric} were measured", hint="drawtap corpus verdict --speed measures them")
    ran = tables.query(_BUILDS, {"trace": trace}).fetchall()
    ratios = [(row[0], series[row[0]][3]) for row in ran if row[0] in series]
    newest = next(iter(series.values()), None)
    threshold = timing.threshold_of(str(newest[1])) if newest else timing.THRESHOLD
    moved = {ratios[c.at][0]: c for c in speed.changes([r for _, r in ratios], threshold)} if ratios else {}
    builds = [
        Build(
            name,
            key,
            first,
            outcome,
            images,
            len(series[key][3]) if key in series else 0,
            float(np.expm1(np.median(series[key][3]))) if key in series else None,
            moved[key].share if key in moved else None,
            moved.get(key),
        )
        for key, name, first, outcome, images in ran
    ]
    if newest is None:
        return History(None, None, tuple(builds))
    return History(str(newest[1]), str(newest[2]), tuple(builds), str(newest[4]))


def keep(store: Store, tables: Corpus, trace: str, judged: History) -> None:
    """Write a series and its changes into the corpus; a series that is there already stays."""
    said = [
        (judged.metric, judged.base_key, at, b.engine, b.name, b.pairs, b.effect)
        + ((b.moved.before, b.moved.after, b.moved.p) if b.moved else (None, None, None))
        for at, b in enumerate(b for b in judged.builds if b.pairs)
    ]
    task = hashlib.sha256(json.dumps([trace, said]).encode()).hexdigest()
    if said and not tables.query("SELECT 1 FROM series WHERE task = ? LIMIT 1", (task,)).fetchall():
        names = ("task", "trace", "looked", "metric", "base", "number", "engine", "name", "pairs", "effect")
        looked = time.time_ns()
        lines = [(task, trace, looked, *one) for one in said]
        rows.write_task(store, task, {"series": ((*names, "before", "after", "p"), lines)})


# ---- which build -----------------------------------------------------------------------------------------------------

Named = Callable[[str], "Engine"]


def bisect_images(
    store: Store, trace: str, builds: Sequence[str], named: Named, effort: verdicts.Effort
) -> speed.Culprit:
    """Find the first build that draws something else than the first one. Raises UsageError where the last does not."""
    good = named(builds[0])

    def is_bad(build: str) -> bool | None:
        (one,) = verdicts.of_pictures(store, [trace], named(build), good, effort)
        known = one.label in verdicts.RED or one.label in pictures.LABELS
        return None if one.label == "unknown" or not known else one.label in verdicts.RED

    if is_bad(builds[-1]) is not True:
        raise UsageError(f"{builds[-1]} draws what {builds[0]} draws", hint="the last build has to be a bad one")
    return speed.bisect(builds, is_bad)


def bisect_speed(
    store: Store, trace: str, builds: Sequence[str], named: Named, rule: speed.Rule
) -> tuple[speed.Culprit, float]:
    """Find the first build that is slower than the first one; return it with the slowdown of the last one (a share).

    Builds are measured in pairs with the first one, and held against half of that slowdown. Raises UsageError where the
    last build is not slower.
    """
    good = named(builds[0])
    steps = max(1, (len(builds) - 1).bit_length())
    with Scratch() as name:
        files = Files(store, Path(name))
        timer = timing.Timer(files, named(builds[-1]), good)
        metric = timer.choose(trace)
        rule = speed.Rule(rule.threshold or timing.threshold_of(metric), rule.pairs, rule.error, rule.seed)
        (whole,) = speed.Judge(timer.pair, rule).run([trace])
        if whole.label != "regression" or whole.effect is None:
            raise UsageError(f"{builds[-1]} against {builds[0]}: {whole.label}", hint="the last build has to be slower")
        effect = whole.effect

        def is_bad(build: str) -> bool | None:
            mine = timing.Timer(files, named(build), good, metric)
            return speed.slower_than_half(lambda first: mine.pair(trace, first), effect, steps, rule)

        return speed.bisect(builds, is_bad), effect
