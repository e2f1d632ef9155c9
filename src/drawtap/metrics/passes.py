"""Metrics by pass: as few passes as the driver allows.

The player packs and asks the driver, with the contexts of the recording current (native/player/metrics/plan.cc).
Metrics that cannot be added up over parts (the driver's percentages and means) get a pass of their own for each kind of
range; all else is measured for all of them at once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drawtap.errors import ChildError, UnavailableError
from drawtap.metrics.metric import Metric
from drawtap.replay import player
from drawtap.scratch import Scratch

_LETTERS = {"frame": "f", "draw": "d", "call": "c", "range": "r", "pass": "p"}
WORDS = {letter: word for word, letter in _LETTERS.items()}


@dataclass(frozen=True, slots=True)
class Pass:
    """Metrics that are measured together, and for what."""

    metrics: tuple[Metric, ...]
    per: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """The passes. `refused` are metrics that do not fit even alone, with reasons; The driver answered `questions`
    in `planned_ns`."""

    passes: tuple[Pass, ...]
    refused: tuple[tuple[Metric, str], ...] = ()
    questions: int = 0
    planned_ns: int = 0


@dataclass(frozen=True, slots=True)
class Range:
    """A range of calls, `end` not among them."""

    name: str
    begin: int
    end: int


def plan(
    trace: Path,
    metrics: Sequence[Metric],
    per: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    frame_end: str | None = None,
) -> Plan:
    """Return the passes in which the driver measures `metrics`. Raises UnavailableError where it measures none."""
    wanted = [metric for metric in metrics if not metric.missing]
    refused = [(metric, metric.missing) for metric in metrics if metric.missing]
    if wanted:
        with Scratch() as folder:
            request = Path(folder) / "request"
            request.write_text(request_text(wanted, per), encoding="utf-8")
            rule = [] if frame_end in (None, "auto") else ["--frame-end", str(frame_end)]
            heard: list[Mapping[str, Any]] = []
            player.play(trace, ["--plan", str(request), *rule], environment=environment, on_line=heard.append)
        said = next((line for line in heard if line["kind"] == "plan"), None)
        if said is None:
            raise ChildError("the player made no plan")
        made = _plan(said, wanted)
        refused += made.refused
        if made.passes:
            return Plan(made.passes, tuple(refused), made.questions, made.planned_ns)
    reasons = "; ".join(f"{metric.id}: {why}" for metric, why in refused[:3])
    raise UnavailableError(
        f"nothing of it can be measured here: {reasons}", hint="drawtap profile --list says what can"
    )


def request_text(
    metrics: Sequence[Metric],
    per: Sequence[str],
    *,
    passes: Sequence[Pass] = (),
    ranges: Sequence[Range] = (),
    isolate: bool = False,
    pictures: Path | None = None,
) -> str:
    """Return what the player is to measure, as native/player/metrics/measure.h describes it."""
    number = {metric.id: i for i, metric in enumerate(metrics)}

    def letters(words: Sequence[str]) -> str:
        return "".join(_LETTERS[word] for word in words)

    request: dict[str, object] = {
        "metrics": [
            {"id": m.id, "backend": m.backend, "spec": m.spec, "fold": m.fold, "at": letters(per)} for m in metrics
        ],
        "passes": [{"at": letters(one.per), "metrics": [number[m.id] for m in one.metrics]} for one in passes],
        "ranges": [{"begin": r.begin, "end": r.end} for r in ranges],
        "isolate": isolate,
    }
    if pictures is not None:
        request["pictures"] = str(pictures)
    return json.dumps(request)


def _plan(said: Mapping[str, Any], wanted: Sequence[Metric]) -> Plan:
    passes, refused = said["passes"], said["refused"]
    assert isinstance(passes, list)
    assert isinstance(refused, list)
    return Plan(
        tuple(
            Pass(tuple(wanted[i] for i in sorted(one["metrics"])), tuple(WORDS[letter] for letter in one["at"]))
            for one in passes
        ),
        tuple((wanted[i], str(why)) for i, why in refused),
        int(said["questions"]),
        int(said["ns"]),
    )
