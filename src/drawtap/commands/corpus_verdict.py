"""`drawtap corpus verdict`: what a build of a driver draws wrong, and whether it is slower."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.commands.options import CORPUS, ENGINES_FILE, ID, TAGS
from drawtap.errors import UsageError, check_target
from drawtap.output.result import Facts, Rows, Sheets
from drawtap.units import duration_ns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from drawtap.corpus.pictures import Judged
    from drawtap.corpus.speed import Speed
    from drawtap.corpus.store import Store
    from drawtap.corpus.verdicts import Plan

_MOST_LEFT = 20  # recordings that a note names
PAIRS = Opt("Pairs to measure of a recording; one that is suspect then gets as many again.", metavar="N")
METRIC = Opt("Measure this.  [default: instructions, else processor time, else wall time]", metavar="METRIC")


@command(
    name="corpus verdict",
    section="corpus",
    examples=(
        "drawtap corpus verdict --tag app=navigation --new mesa-26.1 --base mesa-26.0 --corpus recordings/",
        "drawtap corpus verdict --tag smoke=yes --new mesa-26.1 --base mesa-26.0 --speed",
        "drawtap corpus verdict --tag smoke=yes --new mesa-26.1 --base mesa-26.0 --speed --plan",
        "drawtap corpus verdict --new mesa-26.1 --base mesa-26.0 --tag nightly=yes --speed --budget 8h",
        "drawtap corpus verdict --tag smoke=yes --new mesa-26.1 --base mesa-26.0 --junit out.xml --sarif out.sarif",
    ),
)
def corpus_verdict(
    *ids: Annotated[str, ID],
    new: Annotated[str, Opt("The engine that is judged.", metavar="ENGINE")],
    base: Annotated[
        str | None, Opt("Compare with this engine: the build before, or another driver.", metavar="ENGINE")
    ] = None,
    corpus: Annotated[str | None, CORPUS] = None,
    tag: Annotated[tuple[str, ...], TAGS] = (),
    engines: Annotated[Path | None, ENGINES_FILE] = None,
    jobs: Annotated[int | None, Opt("Play so many at once.  [default: half of the processors]", "-j", "N")] = None,
    repeats: Annotated[int, Opt("Play a recording that differs so often in all.")] = 3,
    no_cut: Annotated[bool, Opt("Do not cut out the first frame that differs.")] = False,
    speed: Annotated[bool, Opt("Judge whether it is slower than --base, not what it draws.")] = False,
    pairs: Annotated[int, PAIRS] = 40,
    threshold: Annotated[
        float | None, Opt("A slowdown counts from so many percent on.  [default: 0.5 of instructions, else 1 or 2]")
    ] = None,
    metric: Annotated[str | None, METRIC] = None,
    plan: Annotated[bool, Opt("Only say how much there is to do, and what could be found.")] = False,
    budget: Annotated[
        str | None, Opt("Judge what fits into this time, typical recordings first: 30min, 8h.", metavar="TIME")
    ] = None,
    junit: Annotated[Path | None, Opt("Also write the verdict as JUnit's XML.", metavar="FILE")] = None,
    sarif: Annotated[Path | None, Opt("Also write the verdict as SARIF 2.1.0.", metavar="FILE")] = None,
    force: Annotated[bool, Opt("Replace these files if they exist.")] = False,
) -> Sheets | Facts:
    """Judge what an engine draws, by approved images and by another engine; or whether it is slower.

    Recordings without a result there are played first. A recording is approved, same (as the other engine draws it),
    flaky (images change from run to run, in few pixels), rejected or differs. Where nothing is approved and there is no
    other engine, it is unknown. Runs that failed have their outcome: crash, hang, oom, device-lost, gl-error,
    skipped-calls. With --base, the first draw whose result differs is named, and the frame is put into the corpus as a
    recording of its own.

    --speed plays pairs: both engines right after each other, in random order, the recordings taking turns. A recording
    is a regression (found, and confirmed by fresh pairs), faster, same (within the threshold), or unknown, with the
    slowdown that would have shown. Needs SciPy: pip install 'drawtap[fleet]'.

    --budget judges as many recordings as fit into a time, by the times of earlier runs: those that stand for many
    first (corpus select). The output names the others.

    --junit and --sarif are for continuous integration: a test case or a result for each recording, with the first draw
    as its location. Unknown recordings are skipped test cases.

    The exit code is 1 where something is rejected, differs or failed, or for a regression. Judgements are the table
    verdicts of `corpus sql`. `corpus approve` and `corpus reject` decide about images.
    """
    from drawtap.corpus import engines as named
    from drawtap.corpus import verdicts
    from drawtap.corpus.search import Corpus, selected
    from drawtap.corpus.speed import Rule
    from drawtap.corpus.store import chosen

    count = max(1, (os.cpu_count() or 2) // 2) if jobs is None else jobs
    if count < 1 or repeats < 1:
        raise UsageError("--jobs and --repeats are at least 1")
    _check(threshold, base, speed=speed)
    for file in (one for one in (junit, sarif) if one is not None and not plan):
        check_target(file, force=force)
    rule = Rule((threshold or 0) / 100, pairs)
    rule.looks()
    store = chosen(corpus)
    traces = selected(store, ids, tag)
    builds = {one.name: one for one in named.named([new, *([base] if base else [])], engines)}
    one, other = builds[new], builds[base] if base else None
    left: list[str] = []
    if budget is not None:
        traces, left = _fitting(store, traces, (budget, count), [e.key for e in builds.values()], pairs if speed else 0)
    if plan:
        with Corpus(store) as tables:
            made = verdicts.plan(tables, traces, one.key, other.key if other else None, pairs if speed else 0)
        return _plan(made, speed=speed, left=left)
    effort = verdicts.Effort(jobs=count, repeats=repeats, cuts=not no_cut)
    if speed and other is not None:
        measured, done = verdicts.of_speed(store, traces, one, other, rule=rule, effort=effort, metric=metric)
        _write(_Files(junit, sarif), store, "speed", (new, base), [(s.trace, s.label, s.detail, s) for s in done])
        return _with_left(_speeds(measured, done), left)
    found_ = verdicts.of_pictures(store, traces, one, other, effort)
    _write(_Files(junit, sarif), store, "images", (new, base), [(j.trace, j.label, j.detail, j) for j in found_])
    return _with_left(_pictures(found_, verdicts.RED), left)


def _check(threshold: float | None, base: str | None, *, speed: bool) -> None:
    if speed and base is None:
        raise UsageError("slower than what?", hint="--base ENGINE")
    if threshold is not None and threshold <= 0:
        raise UsageError(f"--threshold {threshold:g} makes no sense", hint="--threshold 1: one percent")


def _fitting(
    store: Store, traces: Sequence[str], budget: tuple[str, int], sides: Sequence[str], pairs: int
) -> tuple[list[str], list[str]]:
    """Return the recordings that fit into a time with that number of players at once, and the others."""
    from drawtap.corpus import verdicts
    from drawtap.corpus.search import Corpus

    ns = duration_ns(budget[0], "s")
    if not ns:
        raise UsageError(f"{budget[0]!r} is no time", hint="--budget 30min, --budget 8h")
    with Corpus(store) as tables:
        # Pairs are measured one after the other.
        taken = verdicts.within(tables, traces, sides, pairs, ns / 1e9 * (1 if pairs else budget[1]))
    if not taken:
        raise UsageError(f"no recording fits into {budget[0]}", hint="--plan says how long they take")
    return taken, [id_ for id_ in traces if id_ not in set(taken)]


def _with_left(sheets: Sheets, left: Sequence[str]) -> Sheets:
    """Name the recordings that the budget left out."""
    if not left:
        return sheets
    shown = ", ".join(id_[:12] for id_ in left[:_MOST_LEFT])
    more = f" and {len(left) - _MOST_LEFT} more" if len(left) > _MOST_LEFT else ""
    what = "1 recording does" if len(left) == 1 else f"{len(left)} recordings do"
    return replace(sheets, notes=[*sheets.notes, f"{what} not fit into the budget: {shown}{more}"])


@dataclass(frozen=True)
class _Files:
    junit: Path | None
    sarif: Path | None


def _write(
    files: _Files,
    store: Store,
    kind: str,
    builds: tuple[str, str | None],
    done: Sequence[tuple[str, str, str, Judged | Speed]],
) -> None:
    """Write the files for continuous integration."""
    if files.junit is None and files.sarif is None:
        return
    from drawtap.corpus.verdicts import RED
    from drawtap.output import ci

    states = dict.fromkeys((*RED, "regression"), "failed") | {"unknown": "open", "flaky": "warned"}
    new, base = builds
    repeat = f"--new {new}" + (f" --base {base}" if base else "") + (" --speed" if kind == "speed" else "")
    cases = [
        ci.Case(
            trace,
            store.manifest(trace).file,
            label,
            states.get(label, "passed"),
            detail,
            getattr(one, "frame", None),
            getattr(one, "first_seq", None),
            getattr(one, "function", None),
            f"drawtap corpus verdict {trace[:12]} {repeat} --corpus {store.where}",
        )
        for trace, label, detail, one in done
    ]
    for file, write in ((files.junit, ci.junit), (files.sarif, ci.sarif)):
        if file is not None:
            file.write_text(write(cases, kind, new), encoding="utf-8")


def _counted(labels: Sequence[str]) -> str:
    return ", ".join(f"{labels.count(label)} {label}" for label in dict.fromkeys(labels))


def _pictures(done: Sequence[Judged], red: Sequence[str]) -> Sheets:
    rows = [
        (j.trace[:12], j.label, j.frame, j.first_seq, j.function, j.cut[:12] if j.cut else None, j.detail) for j in done
    ]
    data = [
        {
            "trace": j.trace,
            "label": j.label,
            "outcome": j.outcome,
            "frames": dict(j.counts),
            "frame": j.frame,
            "digest": j.digest,
            "base_digest": j.base_digest,
            "call": j.first_seq,
            "function": j.function,
            "cut": j.cut,
            "detail": j.detail,
        }
        for j in done
    ]
    note = _counted([j.label for j in done])
    columns = ("id", "verdict", "frame", "call", "function", "cut", "detail")
    return Sheets([Rows(columns, rows, note=note, findings=any(j.label in red for j in done))], data)


def _speeds(metric: str, done: Sequence[Speed]) -> Sheets:
    rows = [
        (s.trace[:12], s.label, s.pairs, _percent(s.effect), _interval(s), _percent(s.detectable), s.detail)
        for s in done
    ]
    note = f"{_counted([s.label for s in done])}; measured: {metric or 'nothing'}"
    columns = ("id", "verdict", "pairs", "slower by", "interval", "would show", "detail")
    bad = any(s.label == "regression" for s in done)
    return Sheets(
        [Rows(columns, rows, note=note, findings=bad)], {"metric": metric, "recordings": [*map(asdict, done)]}
    )


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:+.2f} %"


def _interval(one: Speed) -> str | None:
    return None if one.low is None or one.high is None else f"{100 * one.low:+.2f} .. {100 * one.high:+.2f} %"


def _plan(made: Plan, *, speed: bool, left: Sequence[str]) -> Facts:
    data = asdict(made) | {"left_out": list(left)}
    shown: dict[str, object] = {
        "recordings": f"{made.recordings}, and {len(left)} do not fit" if left else made.recordings,
        "runs to do": f"{made.runs}, about {made.run_seconds / 60:.1f} minutes",
        "runs that failed": made.failed,
    }
    if speed:
        shown["pairs to measure"] = (
            f"up to {made.pairs}, about {made.pair_seconds / 60:.1f} minutes; of suspects twice as many"
        )
        shown["pairs needed"] = f"{made.needed} of a recording, to find a single slow one among all"
        shown["would show"] = (
            "not known: nothing was measured yet" if made.detectable is None else _percent(made.detectable)
        )
    return Facts(data, {"plan": shown})
