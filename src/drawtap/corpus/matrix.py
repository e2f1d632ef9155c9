"""Recordings and builds beside each other: what every build made of every recording, as far as the corpus knows.

A cell has a label of its images (those of `verdicts`, or `played` where nothing was judged) and one of its speed. A
decision that came after a verdict is taken into account: the images are judged anew, without playing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from drawtap.corpus import approvals, history, pictures, timing, verdicts
from drawtap.corpus.engines import Engine
from drawtap.errors import UnavailableError, UsageError

if TYPE_CHECKING:
    from drawtap.corpus.search import Corpus

#: Labels of a cell, from bad to good: the order in which recordings are listed.
WORST = (
    *verdicts.BROKEN, "rejected", "differs", "regression", "flaky", "unsupported", "timeout", "infrastructure",
    "machine-lost", "unknown", "played", "faster", "same", "approved",
)  # fmt: skip
BUILDS = 12  # columns, the newest, unless more are wanted
MOST_JUDGED_ANEW = 2000  # cells whose decisions are newer than their verdict

_BUILDS = """
WITH used AS (SELECT engine, name, started FROM runs UNION ALL SELECT engine, name, started FROM pairs
    UNION ALL SELECT engine, name, judged FROM verdicts),
    about AS (SELECT engine, max_by(family, started) AS family, max_by(renderer, started) AS renderer,
        max_by(version, started) AS version FROM runs GROUP BY engine)
SELECT u.engine, max_by(u.name, u.started), any_value(a.family), any_value(a.renderer), any_value(a.version),
    min(u.started) AS first FROM used u LEFT JOIN about a USING (engine) GROUP BY u.engine ORDER BY first DESC
"""
# Labels are places in $labels, -1 for none: a row of Python an answer would take longer than the question.
_CELLS = """
WITH ran AS (SELECT trace, engine, max_by(outcome, started) AS outcome FROM runs WHERE list_contains($keys, engine)
        GROUP BY ALL),
    seen AS (SELECT trace, engine, max_by({'label': label, 'base': base}, judged) AS said, max(judged) AS judged
        FROM verdicts WHERE kind = 'images' AND list_contains($keys, engine) GROUP BY ALL),
    timed AS (SELECT trace, engine, max_by({'label': label, 'effect': effect, 'detectable': detectable}, judged) AS said
        FROM verdicts WHERE kind = 'speed' AND list_contains($keys, engine) GROUP BY ALL),
    decided AS (SELECT trace, max(decided) AS decided FROM approvals GROUP BY trace),
    numbered AS (SELECT trace, row_number() OVER (ORDER BY added, trace) - 1 AS number FROM traces),
    cells AS (SELECT trace, engine, outcome, s.said AS images, judged, t.said FROM ran
        FULL JOIN seen s USING (trace, engine) FULL JOIN timed t USING (trace, engine))
SELECT number, list_position($keys, engine) - 1 AS place,
    coalesce(list_position($labels, CASE WHEN list_contains($broken, outcome) THEN outcome
        WHEN images.label IS NOT NULL OR outcome IS NULL THEN images.label
        WHEN list_contains($played, outcome) THEN 'played' ELSE outcome END), 0) - 1 AS images,
    coalesce(list_position($labels, said.label), 0) - 1 AS speed,
    coalesce(said.effect, 'nan'::DOUBLE) AS effect, coalesce(said.detectable, 'nan'::DOUBLE) AS detectable,
    coalesce(outcome IS NOT NULL AND decided > coalesce(judged, 0), false) AS stale,
    CASE WHEN stale THEN images.base END AS base
FROM cells JOIN numbered USING (trace) LEFT JOIN decided USING (trace)
"""


@dataclass(frozen=True, slots=True)
class Build:
    """A column: an engine by its key, as it was called, and when it was first used (ns since 1970)."""

    key: str
    name: str
    family: str
    renderer: str
    version: str
    first: int


@dataclass(frozen=True, slots=True)
class Recorded:
    """A row: a recording with its tags."""

    trace: str
    file: str
    frames: int
    tags: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Column:
    """The labels of a build for each recording, in the order of the rows.

    `images` and `speed` are places in WORST, -1 where nothing is known. `effect` is new / base - 1, `detectable` the
    slowdown that would have shown; both are NaN where nothing was measured.
    """

    images: npt.NDArray[np.int64]
    speed: npt.NDArray[np.int64]
    effect: npt.NDArray[np.float64]
    detectable: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Matrix:
    """Recordings x builds. `older` builds are left out; `stale` cells have decisions that their label leaves out."""

    rows: Sequence[Recorded]
    builds: Sequence[Build]
    columns: Sequence[Column]
    older: int = 0
    stale: int = 0


def matrix(tables: Corpus, most: int = BUILDS) -> Matrix:
    """Return all recordings with the newest builds, the oldest of these first."""
    every = tables.query(_BUILDS).fetchall()
    builds = [_build(r) for r in reversed(every[:most])]
    rows = [
        Recorded(str(t), str(f), int(n or 0), dict(tags or {}))
        for t, f, n, tags in tables.query(
            "SELECT trace, file, frames, tags FROM traces ORDER BY added, trace"
        ).fetchall()
    ]
    said = {"keys": [b.key for b in builds], "labels": WORST, "broken": verdicts.BROKEN, "played": verdicts.PLAYED}
    cells: dict[str, Any] = tables.query(_CELLS, {name: list(words) for name, words in said.items()}).numpy()
    columns = [_column(cells, place, len(rows)) for place in range(len(builds))]
    old = np.flatnonzero(cells["stale"])
    bases = np.ma.getmaskarray(cells["base"])
    stale = [
        (int(cells["number"][i]), int(cells["place"][i]), None if bases[i] else str(cells["base"][i])) for i in old
    ]
    _judge_anew(tables, stale[:MOST_JUDGED_ANEW], builds, columns, rows)
    return Matrix(rows, builds, columns, len(every) - len(builds), max(0, len(stale) - MOST_JUDGED_ANEW))


def _column(cells: Mapping[str, Any], place: int, count: int) -> Column:
    mine = cells["place"] == place
    at = cells["number"][mine]

    def of(name: str, nothing: float) -> Any:
        whole = np.full(count, nothing)
        whole[at] = cells[name][mine]
        return whole

    return Column(of("images", -1), of("speed", -1), of("effect", np.nan), of("detectable", np.nan))


def _judge_anew(
    tables: Corpus,
    stale: Sequence[tuple[int, int, str | None]],
    builds: Sequence[Build],
    columns: Sequence[Column],
    rows: Sequence[Recorded],
) -> None:
    groups: dict[tuple[int, str | None], dict[str, int]] = {}
    for number, column, base in stale:
        groups.setdefault((column, base), {})[rows[number].trace] = number
    for (column, base), of in groups.items():
        for one in verdicts.judged(tables, list(of), engine_of(builds[column]), _only_key(base)):
            if one.detail != "not played":  # by this version: the verdict is all there is
                columns[column].images[of[one.trace]] = WORST.index(one.label) if one.label in WORST else -1


def engine_of(build: Build) -> Engine:
    """Return a build as an engine that cannot be played on: judgements need no more."""
    return Engine(build.name, build.family, {}, build.key, build.renderer, build.version, "", "")


def _only_key(key: str | None) -> Engine | None:
    return None if key is None else Engine(key[:8], "", {}, key, "", "", "", "")


# ---- a cell ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """All that is known about a recording on a build.

    `images` and `speed` are rows of `verdicts`, the newest, or None; `judged` is what decisions make of the images now.
    `approved` has the approved digests of the frame, `shown_by` the names of engines that draw the same picture.
    `pairs` are (ratio, base first, machine), of the metric and base of the verdict; `machines` have (pairs, spread).
    """

    trace: str
    build: Build
    run: Mapping[str, Any] | None
    images: Mapping[str, Any] | None
    judged: pictures.Judged | None
    approved: Sequence[str]
    shown_by: Sequence[str]
    decisions: Sequence[Mapping[str, Any]]
    speed: Mapping[str, Any] | None
    pairs: Sequence[tuple[float, bool, str]]
    threshold: float | None
    machines: Mapping[str, tuple[int, float]]
    base: Build | None
    history: history.History | None


def _build(row: Sequence[Any]) -> Build:
    key, name, family, renderer, version, first = row
    return Build(str(key), str(name or ""), str(family or ""), str(renderer or ""), str(version or ""), int(first or 0))


def build_of(tables: Corpus, key: str) -> Build | None:
    """Return a build by its key, None where the corpus does not know it."""
    rows = [r for r in tables.query(_BUILDS).fetchall() if r[0] == key]
    return _build(rows[0]) if rows else None


def cell(tables: Corpus, trace: str, key: str) -> Cell:
    """Return what is known about a recording on a build. Raises UsageError for a build that nobody used."""
    build = build_of(tables, key)
    if build is None:
        raise UsageError(f"the corpus knows no build {key[:12]}")
    of = {"trace": trace, "engine": key}
    run = _row(tables, "SELECT * EXCLUDE log FROM runs WHERE trace = $trace AND engine = $engine ORDER BY started", of)
    said = {
        kind: _row(
            tables,
            f"SELECT * FROM verdicts WHERE trace = $trace AND engine = $engine AND kind = '{kind}' ORDER BY judged",
            of,
        )
        for kind in ("images", "speed")
    }
    images, speed = said["images"], said["speed"]
    base_key = next((s["base"] for s in (images, speed) if s and s["base"]), None)
    base = build_of(tables, base_key) if base_key else None
    judged = verdicts.judged(tables, [trace], engine_of(build), _only_key(base_key))[0] if run else None
    judged = None if judged is None or judged.detail == "not played" else judged
    frame = judged.frame if judged else images["frame"] if images else None
    digest = judged.digest if judged else images["digest"] if images else None
    families = list(approvals.families(build.family))
    decisions = [
        dict(zip(("label", "family", "who", "why", "decided", "frames"), row, strict=True))
        for row in tables.query(
            "SELECT label, family, who, why, decided, count(*) FROM approvals WHERE trace = ? GROUP BY ALL"
            " ORDER BY decided DESC LIMIT 20",
            (trace,),
        ).fetchall()
    ]
    approved = tables.query(
        "SELECT digest FROM (SELECT digest, max_by(label, decided) AS label, max(decided) AS decided FROM approvals"
        " WHERE trace = ? AND frame = ? AND list_contains(?, family) GROUP BY digest) WHERE label = 'approved'"
        " ORDER BY decided DESC LIMIT 4",
        (trace, frame, families),
    ).fetchall()
    others = tables.query(
        "SELECT DISTINCT r.name FROM images i JOIN runs r USING (task) WHERE i.trace = ? AND i.frame = ? AND"
        " i.digest = ? AND r.engine <> ? ORDER BY r.name LIMIT 20",
        (trace, frame, digest, key),
    ).fetchall()
    pairs = _pairs(tables, trace, key, speed)
    return Cell(
        trace, build, run, images, judged, [a[0] for a in approved], [o[0] for o in others], decisions, speed, pairs,
        timing.threshold_of(str(speed["metric"])) if speed else None, _machines(pairs), base, _history(tables, trace),
    )  # fmt: skip


def _row(tables: Corpus, question: str, parameters: Mapping[str, object]) -> Mapping[str, Any] | None:
    return next(iter(tables.rows(f"{question} DESC LIMIT 1", dict(parameters))), None)


def _pairs(tables: Corpus, trace: str, key: str, speed: Mapping[str, Any] | None) -> list[tuple[float, bool, str]]:
    if speed is None:
        return []
    pairs = tables.query(
        "SELECT ratio, base_first, machine FROM pairs WHERE trace = ? AND engine = ? AND base = ? AND metric = ?"
        " ORDER BY started DESC LIMIT 400",
        (trace, key, speed["base"], speed["metric"]),
    ).fetchall()
    return [(float(r), bool(f), str(m or "")) for r, f, m in reversed(pairs)]


def _machines(pairs: Sequence[tuple[float, bool, str]]) -> dict[str, tuple[int, float]]:
    """Return how many pairs each machine measured, and the median distance of a pair from their median."""
    by: dict[str, list[float]] = {}
    for ratio, _, machine in pairs:
        by.setdefault(machine, []).append(ratio)
    return {name: (len(of), float(np.median(np.abs(np.subtract(of, np.median(of)))))) for name, of in by.items()}


def _history(tables: Corpus, trace: str) -> history.History | None:
    try:
        return history.history(tables, trace)
    except UnavailableError:  # without SciPy there are no change points
        return None


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine that measured pairs: how many, and when the last one (ns since 1970).

    `spread` is the median distance of a pair from the median of its recording and engines, as a share.
    """

    name: str
    pairs: int
    spread: float
    last: int


def machines(tables: Corpus) -> list[Machine]:
    """Return the machines that measured, the busiest first."""
    rows = tables.query("SELECT machine, pairs, spread, last FROM machines WHERE pairs > 0").fetchall()
    return [Machine(str(m or ""), int(n), float(s or 0), int(at or 0)) for m, n, s, at in rows]
