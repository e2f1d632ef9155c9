"""Judge what engines draw: by what was approved, by another engine, and by what repeated runs show.

Labels of a frame, from bad to good:

- `rejected`: somebody rejected this image, for this family or another one;
- `differs`: other images are approved, or the engine to compare with draws another one;
- `flaky`: runs of one engine show several images that differ in few pixels, or somebody said that they may;
- `unknown`: nothing is approved;
- `same`: the engine to compare with draws the same image;
- `approved`.

A recording has the label of its worst frame, and `unknown` where it has no image.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import drawtap
from drawtap.corpus import gallery
from drawtap.corpus.approvals import Decision, families
from drawtap.errors import UsageError
from drawtap.replay import compare, engine

if TYPE_CHECKING:
    from drawtap.corpus.engines import Engine
    from drawtap.corpus.search import Corpus
    from drawtap.trace.trace import Trace

LABELS = ("rejected", "differs", "flaky", "unknown", "same", "approved")
BAD = ("rejected", "differs")
MOST_FLAKY = 0.005  # share of the pixels that may change from run to run: more is no jitter
_AT_ONCE = 1000  # recordings that are judged with one question: their frames are in memory
_LOOKED = 3  # flaky frames of a recording whose pixels are compared

_QUESTION = """
WITH last AS (SELECT trace, engine, max_by(task, started) AS task, max_by(outcome, started) AS outcome,
        max_by({'seq': last_seq, 'function': function, 'detail': detail}, started) AS ended FROM runs
        WHERE engine IN ($engine, $base) AND drawtap = $version AND list_contains($traces, trace) GROUP BY ALL),
    shown AS (SELECT l.engine, i.trace, i.frame, i.digest FROM last l JOIN images i USING (task)),
    seen AS (SELECT i.trace, i.frame, i.engine, count(DISTINCT i.digest) AS images
        FROM images i JOIN runs r USING (task)
        WHERE i.engine IN ($engine, $base) AND r.drawtap = $version AND list_contains($traces, i.trace)
        GROUP BY i.trace, i.frame, i.engine),
    wavers AS (SELECT DISTINCT trace, frame FROM seen WHERE images > 1),
    ranked AS (SELECT unnest($families) AS family, generate_subscripts($families, 1) AS rank),
    said AS (SELECT trace, frame, digest, family, max_by(label, decided) AS label FROM approvals GROUP BY ALL),
    own AS (SELECT trace, frame, digest, min_by(label, rank) AS label FROM said JOIN ranked USING (family)
        GROUP BY ALL),
    known AS (SELECT trace, frame, bool_or(label = 'approved') AS approved, bool_or(label = 'flaky') AS flaky FROM own
        GROUP BY ALL),
    bad AS (SELECT DISTINCT trace, frame, digest FROM said WHERE label = 'rejected'),
    judged AS (SELECT n.trace, n.frame, n.digest, b.digest AS base_digest, coalesce(k.approved, false) AS has_approved,
        CASE WHEN o.label = 'approved' THEN 'approved'
            WHEN o.label = 'rejected' OR x.digest IS NOT NULL THEN 'rejected'
            WHEN o.label = 'flaky' OR k.flaky THEN 'flaky'
            WHEN b.digest = n.digest THEN 'same'
            WHEN s.frame IS NOT NULL THEN 'wavers'
            WHEN k.approved OR b.digest IS NOT NULL THEN 'differs'
            ELSE 'unknown' END AS label
        FROM shown n LEFT JOIN shown b ON b.engine = $base AND b.trace = n.trace AND b.frame = n.frame
        LEFT JOIN own o ON (o.trace, o.frame, o.digest) = (n.trace, n.frame, n.digest)
        LEFT JOIN bad x ON (x.trace, x.frame, x.digest) = (n.trace, n.frame, n.digest)
        LEFT JOIN known k ON (k.trace, k.frame) = (n.trace, n.frame)
        LEFT JOIN wavers s ON (s.trace, s.frame) = (n.trace, n.frame)
        WHERE n.engine = $engine
        UNION ALL SELECT b.trace, b.frame, NULL, b.digest, false, 'differs' FROM shown b WHERE b.engine = $base
            AND NOT EXISTS (FROM shown n WHERE n.engine = $engine AND n.trace = b.trace AND n.frame = b.frame)),
    counted AS (SELECT trace, label, count(*) AS frames, count(*) FILTER (has_approved) AS approved,
        min(frame) AS frame, arg_min(digest, frame) AS digest, arg_min(base_digest, frame) AS base_digest,
        list(frame ORDER BY frame)[:8] AS first FROM judged GROUP BY ALL)
SELECT l.trace, l.outcome, c.label, c.frames, c.approved, c.frame, c.digest, c.base_digest, c.first,
    l.ended.seq, l.ended.function, l.ended.detail
FROM last l LEFT JOIN counted c USING (trace) WHERE l.engine = $engine ORDER BY l.trace, c.frame
"""


@dataclass(frozen=True)
class Judged:
    """The label of what an engine draws of a recording; `outcome` of its last run, and the call at which that ended.

    `counts` has the frames of each label. `frame`, `digest` and `base_digest` are of the first frame with the label;
    `wavering` are frames whose images differ from run to run, and that nobody has looked at.
    """

    trace: str
    outcome: str
    label: str
    counts: Mapping[str, int] = field(default_factory=dict)
    frame: int | None = None
    digest: str | None = None
    base_digest: str | None = None
    wavering: tuple[int, ...] = ()
    first_seq: int | None = None
    function: str | None = None
    cut: str | None = None
    detail: str = ""
    ended: tuple[int | None, str | None, str] = (None, None, "")


def judge(tables: Corpus, traces: Sequence[str], new: Engine, base: Engine | None = None) -> dict[str, Judged]:
    """Return a judgement of each recording with a run on `new`, from its last run, by id."""
    parameters = {
        "engine": new.key,
        "base": base.key if base else None,
        "version": drawtap.__version__,
        "families": list(families(new.family)),
    }
    parts: dict[str, list[tuple[object, ...]]] = {}
    for at in range(0, len(traces), _AT_ONCE):
        some = {**parameters, "traces": list(traces[at : at + _AT_ONCE])}
        for row in tables.query(_QUESTION, some).fetchall():
            parts.setdefault(row[0], []).append(row)
    return {trace: replace(_judged(trace, rows), ended=_ended(rows[0])) for trace, rows in parts.items()}


def _ended(row: Sequence[object]) -> tuple[int | None, str | None, str]:
    seq, function, detail = row[9:12]
    return None if seq is None else _number(seq), _text(function), _text(detail) or ""


def _judged(trace: str, rows: Sequence[tuple[object, ...]]) -> Judged:
    outcome = str(rows[0][1])
    by_label = {str(row[2]): row for row in rows if row[2] is not None}
    if not by_label:
        return Judged(trace, outcome, "unknown", detail="no image was made: it has no frames, or did not play")
    wavering = by_label.get("wavers")
    counts = {label: _number(row[3]) for label, row in by_label.items()}
    label = next((name for name in LABELS if name in by_label), "flaky")
    if wavering and LABELS.index(label) > LABELS.index("flaky"):
        label = "flaky"
    row = by_label.get(label) or wavering
    assert row is not None
    approved = sum(_number(one[4]) for one in by_label.values())
    first = row[8] if wavering is None else wavering[8]
    made = Judged(
        trace, outcome, label, counts, _number(row[5]), _text(row[6]), _text(row[7]),
        tuple(map(_number, first)) if wavering and isinstance(first, list) else (),
    )  # fmt: skip
    return replace(made, detail=_said(made, approved))


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _number(value: object) -> int:
    assert isinstance(value, int)
    return value


def _said(one: Judged, approved: int) -> str:
    frames, n = sum(one.counts.values()), one.counts.get(one.label, 0)
    of = f"{n} of {frames} frames"
    if one.label == "unknown":
        return "nothing approved" if not approved else f"{of} have no approved image"
    if one.label == "same":
        return "equal to the other engine; nothing approved" if not approved else f"{of} equal to the other engine"
    if one.label == "flaky":
        return f"{n + one.counts.get('wavers', 0)} of {frames} frames differ from run to run"
    said = {"rejected": "show a rejected image", "differs": "show a new image", "approved": "are approved"}
    return f"{of} {said[one.label]}, first frame {one.frame}" if one.label in BAD else f"{of} {said[one.label]}"


def shown(tables: Corpus, traces: Sequence[str], one: Engine) -> dict[str, dict[int, str]]:
    """Return the images of the last run of each recording on an engine: digests by frame, by id."""
    digests: dict[str, dict[int, str]] = {}
    question = (
        "SELECT i.trace, i.frame, i.digest FROM images i JOIN (SELECT max_by(task, started) AS task FROM runs"
        " WHERE engine = $engine AND drawtap = $version AND list_contains($traces, trace) GROUP BY trace) USING (task)"
        " ORDER BY i.trace, i.frame"
    )
    parameters = {"engine": one.key, "version": drawtap.__version__, "traces": list(traces)}
    for trace, frame, digest in tables.query(question, parameters).fetchall():
        digests.setdefault(trace, {})[frame] = digest
    return digests


def decisions_of(
    tables: Corpus,
    traces: Sequence[str],
    one: Engine,
    label: str,
    why: str,
    *,
    family: str | None = None,
    frame: int | None = None,
) -> list[Decision]:
    """Return a decision about the images of the last run of each recording on an engine, or about one frame.

    `family` is the engine's own unless it is named. Raises UsageError where there is no image.
    """
    known, made = shown(tables, traces, one), []
    for id_ in traces:
        images = known.get(id_, {})
        if not images:
            hint = f"drawtap corpus replay {id_[:12]} --on {one.name}"
            raise UsageError(f"{one.name} has no image of {id_[:12]}", hint=hint)
        if frame is not None and frame not in images:
            raise UsageError(f"{one.name} has no image of frame {frame} of {id_[:12]}", hint="frames begin with 0")
        meant = images if frame is None else {frame: images[frame]}
        made.append(Decision(id_, family or one.family, label, meant, "", why))
    return made


# ---- pixels ----------------------------------------------------------------------------------------------------------


def settle(
    one: Judged, path: Path, new: Engine, base: Engine | None, *, repeats: int
) -> tuple[Judged, list[gallery.Shot]]:
    """Look at the pixels of wavering frames: more than jitter is `differs`. Return the pictures too.

    Pixels that change between runs of one engine are masked, with the pixels around. In all others both engines must
    agree.
    """
    if not one.wavering or one.label in BAD:
        return one, []
    if base is None:
        return replace(one, detail=f"{one.detail}; no other engine says whether the rest is right"), []
    looked: list[gallery.Shot] = []
    for frame in one.wavering[:_LOOKED]:
        sides = [[gallery.shoot(path, each, frame) for _ in range(repeats)] for each in (new, base)]
        looked += [shot for side in sides for shot in side if shot is not None]
        spread = outside(*([shot.image() if shot else None for shot in side] for side in sides))
        if spread:
            detail = f"frame {frame} is flaky, and {spread}"
            return replace(one, label="differs", frame=frame, detail=detail), looked
    return replace(one, detail=f"{one.detail}; equal to the other engine elsewhere"), looked


def outside(new: Sequence[compare.Image | None], base: Sequence[compare.Image | None]) -> str:
    """Return how images of two engines differ where neither changes from run to run, "" where they do not."""
    sides = {"new": [i for i in new if i is not None], "base": [i for i in base if i is not None]}
    if len(sides["new"]) < len(new) or len(sides["base"]) < len(base):
        return "an image is missing"
    mask = gallery.wavering(sides)
    if mask is None:
        return "its images have several sizes"
    share = float(mask.mean())
    if share > MOST_FLAKY:
        return f"{100 * share:.1f} % of its pixels change from run to run"
    apart = (sides["new"][0] != sides["base"][0]).any(axis=2) & ~gallery.grown(mask)
    return f"{int(apart.sum())} pixels differ elsewhere" if apart.any() else ""


def explain(one: Judged, trace: Trace, new: Engine, base: Engine) -> Judged:
    """Find the first draw whose result differs in the first frame that does."""
    if one.frame is None:
        return one
    with engine.lent({new.name: new.environment, base.name: base.environment}):
        sides = [compare.Played(trace, each.name) for each in (base, new)]
        draw = compare.first_draw(sides[0], sides[1], one.frame, compare.Tolerance())
    if isinstance(draw, str):
        return replace(one, detail=f"{one.detail}; first draw: {draw}")
    call = draw.b.call
    return replace(
        one,
        first_seq=call,
        function=trace.calls[call].name,
        detail=f"{one.detail}; first draw: call {call}" + (", or before the frame" if draw.at_start else ""),
    )


def cut_out(one: Judged, trace: Trace, path: Path, base: Engine) -> None:
    """Write the first frame that differs as a recording of its own, proven on the engine to compare with."""
    from drawtap.analysis.extract import Cutter, ExtractOptions, target

    with engine.lent({base.name: base.environment}):
        Cutter(trace).cut(target(trace, frames=str(one.frame)), path, ExtractOptions(base.name))
