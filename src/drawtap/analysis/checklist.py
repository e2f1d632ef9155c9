"""Ask a trace all rules at once: verdicts with evidence, what could not be looked at, and what was suppressed."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drawtap import activity
from drawtap.analysis.rule import APIS, HARDWARE, RULES, Rule
from drawtap.analysis.views import VIEWS
from drawtap.errors import DrawtapError, InputError, QueryError, UsageError, read_toml
from drawtap.tables.recording import FrameRow, HistogramRow, ProblemRow

if TYPE_CHECKING:
    from drawtap.trace.snapshot import Snapshot
    from drawtap.trace.trace import Trace

_COLUMNS = ("seq", "frame", "frames", "what", "n", "ns", "bytes")
_KEPT = 1000  # rows of evidence that are kept of a finding; all are counted


@dataclass(frozen=True, slots=True)
class Evidence:
    """One row of evidence: a call, or a frame, and its cost.

    `calls` is the number of calls that it stands for (0: it is about frames), `frames` the frames that these are in.
    """

    seq: int | None
    frame: int | None
    what: str | None
    calls: int
    ns: int | None
    bytes: int | None
    frames: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Judgement:
    """The judgement of a rule about a trace.

    `verdict`: `finding`, `pass`, or `not looked` with the reason in `reason`; `suppressed` by what the reason says.
    `evidence` has at most a thousand rows; `rows`, `calls`, `frames`, `ns`, `bytes` are of all of them.
    """

    rule: Rule
    verdict: str
    reason: str | None = None
    evidence: tuple[Evidence, ...] = ()
    rows: int = 0
    calls: int = 0
    frames: int = 0
    ns: int = 0
    bytes: int = 0

    @property
    def is_finding(self) -> bool:
        """True for a finding without suppression."""
        return self.verdict == "finding"


@dataclass(frozen=True)
class Suppression:
    """One entry of a suppression file. `rule` may have wildcards; None for `frames` and `seqs` means everywhere."""

    rule: str
    reason: str | None
    frames: range | None
    seqs: range | None
    what: str | None
    line: str

    def covers(self, rule: Rule, row: Evidence) -> bool:
        """Tell whether a row of evidence of a rule is meant."""
        return (
            fnmatch.fnmatchcase(rule.id, self.rule)
            and (self.frames is None or (row.frame is not None and row.frame in self.frames))
            and (self.seqs is None or (row.seq is not None and row.seq in self.seqs))
            and (self.what is None or fnmatch.fnmatchcase(row.what or "", self.what))
        )


@dataclass(frozen=True)
class Checklist:
    """The judgements of all chosen rules, and suppressions that no finding needed."""

    judgements: Sequence[Judgement]
    unused: Sequence[Suppression] = ()
    notes: Sequence[str] = field(default=())

    @property
    def findings(self) -> list[Judgement]:
        """Findings that nobody has suppressed: errors first, then by cost."""
        order = {"error": 0, "warning": 1, "note": 2}
        judged = [j for j in self.judgements if j.is_finding]
        return sorted(judged, key=lambda j: (order[j.rule.severity], -j.ns, -j.rows))


def chosen(names: Iterable[str], hardware: str | None) -> list[Rule]:
    """Return the rules of these ids (none: all) that matter on `hardware`. Raises UsageError for unknown ones."""
    if hardware is not None and hardware not in HARDWARE:
        raise UsageError(f"there is no hardware called {hardware!r}", hint=f"there are: {', '.join(HARDWARE)}")
    wanted = [RULES.get(name) for name in names] or [entry for _, entry in RULES.items()]
    return [entry for entry in wanted if entry.is_for(hardware)]


def checklist(
    trace: Trace,
    *,
    rules: Sequence[str] = (),
    hardware: str | None = None,
    suppressions: Sequence[Suppression] = (),
) -> Checklist:
    """Ask a trace `rules` (ids; none: all) that matter on `hardware` (None: any).

    A rule that fails is a rule without an answer, never a pass.
    """
    from drawtap.trace.snapshot import Snapshot

    asked = chosen(rules, hardware)
    able = Requirements(trace)
    questions = {rule.id: rule.question for rule in asked if able.missing(rule) is None}
    judgements = []
    with activity.step("checklist"), Snapshot(trace, questions.values(), VIEWS) as snapshot:
        for done, rule in enumerate(asked):
            activity.at(done, len(asked))
            question = questions.get(rule.id)
            judgements.append(
                Judgement(rule, "not looked", able.missing(rule))
                if question is None
                else _judged(rule, question, snapshot)
            )
    kept, unused = _suppressed(judgements, suppressions)
    return Checklist(kept, unused, _notes(trace))


def judge(trace: Trace, rule: str) -> Judgement:
    """Ask a trace one rule."""
    return checklist(trace, rules=[rule]).judgements[0]


def with_calls(trace: Trace, asked: Checklist, most: int) -> Checklist:
    """Add the text of the call to rows of evidence without a text: the first `most` rows of every finding."""
    return replace(asked, judgements=[_with_calls(trace, j, most) for j in asked.judgements])


def _with_calls(trace: Trace, judgement: Judgement, most: int) -> Judgement:
    rows = list(judgement.evidence)
    for i, row in enumerate(rows[:most]):
        if row.what is None and row.seq is not None and row.seq < len(trace.calls):
            rows[i] = replace(row, what=str(trace.calls[row.seq]))
    return replace(judgement, evidence=tuple(rows))


class Requirements:
    """The contents of a trace that rules may need."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.frames = sum(1 for row in trace.table(FrameRow) if row["end_function"])
        histogram = trace.table(HistogramRow)
        self._apis = {row["api"] for row in histogram}
        self._draws = any(row["category"] == "draw" for row in histogram)

    def missing(self, rule: Rule) -> str | None:
        """Return why a rule cannot look, None where it can."""
        if not self._has_api(rule.api):
            return f"the recording has no calls of {APIS[rule.api]}"
        for need in rule.needs:
            reason = self._missing(need)
            if reason:
                return reason
        return None

    def _has_api(self, api: str) -> bool:
        of = {"gl": {"gl", "gles1", "gles2"}, "vg": {"vg", "vgu"}, "egl": {"egl"}, "vk": {"vk"}}
        return api == "any" or bool(self._apis & of[api])

    def _missing(self, need: str) -> str | None:
        if need == "frames" and self.frames < 3:
            return f"it needs at least three frames, and there are {self.frames} (see --frame-end)"
        if need == "timing" and self._trace.info["timing"] != "both":
            return f"calls have no durations (recorded with --timing {self._trace.info['timing']})"
        if need == "draws" and not self._draws:
            return "the recording has no draw calls"
        if need not in ("frames", "timing", "draws") and not self._trace.database.is_small(need):
            return f"there is no table {need}"
        return None


def _judged(rule: Rule, question: str, snapshot: Snapshot) -> Judgement:
    try:
        columns, rows = snapshot.ask(question, _KEPT + 1)
    except QueryError as error:
        return Judgement(rule, "not looked", f"its question failed: {error.message}")
    except DrawtapError as error:  # a table that takes a part of drawtap which is not here
        return Judgement(rule, "not looked", error.message)
    strange = [c for c in columns if c not in _COLUMNS]
    if strange or not ({"seq", "frame"} & set(columns)):
        what = f"columns {', '.join(strange)}" if strange else "neither seq nor frame"
        return Judgement(rule, "not looked", f"its question has {what}; see drawtap.analysis.rule")
    if not rows:
        return Judgement(rule, "pass")
    evidence = tuple(_evidence(dict(zip(columns, row, strict=True))) for row in rows[:_KEPT])
    if len(rows) > _KEPT:
        return _totalled(rule, evidence, columns, question, snapshot)
    return replace(Judgement(rule, "finding"), **_summed(evidence))


def _totalled(
    rule: Rule, evidence: tuple[Evidence, ...], columns: Sequence[str], question: str, snapshot: Snapshot
) -> Judgement:
    """Count what is more than anybody reads where it is, not row by row."""
    number = "coalesce(sum(e.n), 0)" if "n" in columns else "count(e.seq)" if "seq" in columns else "0"
    sums = [f"coalesce(sum(e.{name}), 0)" if name in columns else "0" for name in ("ns", "bytes")]
    frames = "count(DISTINCT e.frame)" if "frame" in columns else "0"
    if "frames" in columns:
        frames = "len(list_distinct(flatten(list(e.frames))))"
    _, [totals] = snapshot.ask(f"SELECT count(*), {number}, {frames}, {', '.join(sums)} FROM ({question}) e")
    rows, calls, in_frames, ns, size = (int(value) for value in totals)
    return Judgement(rule, "finding", evidence=evidence, rows=rows, calls=calls, frames=in_frames, ns=ns, bytes=size)


def _summed(rows: Sequence[Evidence], beyond: int = 0) -> dict[str, Any]:
    """Return the fields of a judgement that has these rows, and `beyond` more that are not kept."""
    return {
        "evidence": tuple(rows),
        "rows": len(rows) + beyond,
        "calls": sum(row.calls for row in rows),
        "frames": len(frozenset().union(*(row.frames for row in rows))),
        "ns": sum(row.ns or 0 for row in rows),
        "bytes": sum(row.bytes or 0 for row in rows),
    }


def _evidence(row: Mapping[str, Any]) -> Evidence:
    what = row.get("what")
    seq, frame = _integer(row.get("seq")), _integer(row.get("frame"))
    frames = row.get("frames") or ([] if frame is None else [frame])
    return Evidence(
        seq=seq,
        frame=frame,
        frames=frozenset(frames),
        what=None if what is None else str(what),
        calls=_integer(row.get("n", int(seq is not None))) or 0,
        ns=_integer(row.get("ns")),
        bytes=_integer(row.get("bytes")),
    )


def _integer(value: Any) -> int | None:
    return None if value is None else int(value)


def _notes(trace: Trace) -> list[str]:
    problems = trace.table(ProblemRow)
    if not problems:
        return []
    return [f"the recording has {len(problems)} problems (drawtap info): what is missing in it cannot be found"]


# ---- suppressions ---------------------------------------------------------------------------------------------------


def read_suppressions(path: Path) -> list[Suppression]:
    """Read a suppression file: TOML, a list `suppress` of tables.

    A table has `rule` and, if wanted, `frames`, `seqs`, `what`, `reason`. `frames` and `seqs` are one number or
    "first:end" without the end; `rule` and `what` may have wildcards.
    Raises InputError with the place of what is wrong.
    """
    content = read_toml(path)
    strange = set(content) - {"suppress"}
    entries = content.get("suppress", [])
    if strange or not isinstance(entries, list):
        raise InputError(f"{path} has {', '.join(sorted(strange)) or 'no list suppress'}", hint=_FORM)
    return [_suppression(path, number, entry) for number, entry in enumerate(entries, 1)]


_FORM = '[[suppress]] / rule = "texture-compression" / what = "*64 × 64*" / reason = "icons"'


def _suppression(path: Path, number: int, entry: object) -> Suppression:
    where = f"entry {number} of {path}"
    if not isinstance(entry, dict) or not isinstance(entry.get("rule"), str):
        raise InputError(f"{where} names no rule", hint=_FORM)
    strange = set(entry) - {"rule", "frames", "seqs", "what", "reason"}
    if strange:
        raise InputError(f"{where} has {', '.join(sorted(strange))}", hint="rule, frames, seqs, what, reason")
    rule = entry["rule"]
    if not any(fnmatch.fnmatchcase(name, rule) for name in RULES.names()):
        raise InputError(f"{where}: there is no rule called {rule!r}", hint="drawtap checklist --list names them")
    return Suppression(
        rule,
        entry.get("reason"),
        _range(entry.get("frames"), where),
        _range(entry.get("seqs"), where),
        entry.get("what"),
        ", ".join(f"{key} = {value!r}" for key, value in entry.items() if key != "reason"),
    )


def _range(value: object, where: str) -> range | None:
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return range(value, value + 1)
    first, colon, end = str(value).partition(":")
    if colon and all(not part or part.isdecimal() for part in (first, end)):
        return range(int(first or 0), int(end) if end else 2**63)
    raise InputError(f"{where}: {value!r} is no range", hint='a number, or "first:end"')


def _suppressed(
    judgements: Sequence[Judgement], suppressions: Sequence[Suppression]
) -> tuple[list[Judgement], list[Suppression]]:
    used: set[int] = set()
    kept = []
    for judgement in judgements:
        if judgement.verdict != "finding" or not suppressions:
            kept.append(judgement)
            continue
        left = []
        reason = None
        for row in judgement.evidence:
            hit = next((i for i, s in enumerate(suppressions) if s.covers(judgement.rule, row)), None)
            if hit is None:
                left.append(row)
            else:
                used.add(hit)
                reason = suppressions[hit].reason or reason
        kept.append(_without(judgement, left, reason))
    return kept, [s for i, s in enumerate(suppressions) if i not in used]


def _without(judgement: Judgement, left: Sequence[Evidence], reason: str | None) -> Judgement:
    removed = len(judgement.evidence) - len(left)
    if not removed:
        return judgement
    beyond = judgement.rows - len(
        judgement.evidence
    )  # rows that were not kept: a whole-rule suppression means them too
    if not left and (not beyond or judgement.rows):
        return replace(judgement, verdict="suppressed", reason=reason)
    return replace(judgement, **_summed(left, beyond))
