"""Render a checklist: text, JSON, SARIF 2.1.0, JUnit XML; the HTML form is in `output.report`."""

from __future__ import annotations

import json
import textwrap
import urllib.parse
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

import drawtap
from drawtap.analysis.checklist import Checklist, Evidence, Judgement
from drawtap.analysis.rule import CLASSES, HARDWARE, Rule
from drawtap.analysis.verdict import ClassEvidence, Verdict
from drawtap.output.ci import SCHEMA, plain, xml
from drawtap.output.text import counted, duration, number, size

_MARKS = {"error": "✗", "warning": "!", "note": "·"}
_LEVELS = {"error": "error", "warning": "warning", "note": "note"}


def headline(asked: Checklist) -> str:
    """Return one line: how many findings of each severity, what passed, what was not checked."""
    findings = asked.findings
    parts = [_count(sum(1 for j in findings if j.rule.severity == s), s) for s in ("error", "warning", "note")]
    text = ", ".join(p for p in parts if p) or "no findings"
    rest = [
        (_n(asked, "pass"), "passed"),
        (_n(asked, "suppressed"), "suppressed"),
        (_n(asked, "not looked"), "not checked"),
    ]
    counted = ", ".join(f"{n} {what}" for n, what in rest if n)
    return f"{text}; {counted}" if counted else text


def summary(judgement: Judgement) -> str:
    """Return a finding in a few words: how often, in how many frames, what it took."""
    counts = [counted(n, what) for n, what in ((judgement.calls, "call"), (judgement.frames, "frame")) if n]
    parts = [" in ".join(counts)] if judgement.frames != 1 or not judgement.calls else counts[:1]
    if judgement.ns:
        parts.append(duration(judgement.ns))
    if judgement.bytes:
        parts.append(size(judgement.bytes))
    return ", ".join(parts)


def place(row: Evidence) -> str:
    """Return where a row of evidence is: `call 120 (frame 3)`."""
    call = f"call {row.seq}" if row.seq is not None else ""
    if row.frame is None:
        return call
    return f"{call} (frame {row.frame})" if call else f"frame {row.frame}"


def cost(row: Evidence) -> str:
    """Return what a row of evidence stands for and takes."""
    parts = [f"{number(row.calls)} ×"] if row.calls > 1 else []
    if len(row.frames) > 1:
        parts = [*(f"{part} in" for part in parts), f"{number(len(row.frames))} frames"]
        parts = [" ".join(parts)]
    parts += [duration(row.ns)] if row.ns else []
    parts += [size(row.bytes)] if row.bytes else []
    return ", ".join(parts)


def hardware(rule: Rule) -> str:
    """Return what a rule is about, "" where that is everything."""
    return "" if "all" in rule.hardware else ", ".join(rule.hardware)


# ---- text -----------------------------------------------------------------------------------------------------------


def text(asked: Checklist, name: str, *, most: int, everything: bool) -> str:
    """Return the checklist, a paragraph a line: findings with evidence, then rules without an answer and why."""
    return "\n".join(_lines(asked, name, most, everything=everything)) + "\n"


def _lines(asked: Checklist, name: str, most: int, *, everything: bool) -> Iterator[str]:
    yield f"{name}: {headline(asked)}"
    for note in asked.notes:
        yield f"note: {note}"
    for judgement in asked.findings:
        yield ""
        yield from _finding(judgement, most)
    if everything:
        yield ""
        for judgement in asked.judgements:
            if judgement.verdict in ("pass", "suppressed"):
                yield f"✓ {judgement.rule.id}: {judgement.rule.title}, {judgement.verdict}"
    for reason, ids in _not_looked(asked):
        yield ""
        other = reason.startswith("the recording has no calls of")  # a page of names says no more than their number
        yield f"not checked: {counted(len(ids), 'rule') if other else ', '.join(ids)}"
        yield f"  because {reason}"
    for unused in asked.unused:
        yield ""
        yield f"suppression not used: {unused.line}"


def _finding(judgement: Judgement, most: int) -> Iterator[str]:
    rule = judgement.rule
    about = f" [{hardware(rule)}]" if hardware(rule) else ""
    yield f"{_MARKS[rule.severity]} {rule.title}{about}  ({rule.severity}: {rule.id})"
    yield f"    {summary(judgement)}"
    for row in judgement.evidence[:most]:
        what = _short(row.what or "")
        extra = cost(row)
        yield f"      {place(row)}  {what}{f'  ({extra})' if extra else ''}"
    if judgement.rows > most:
        yield f"      and {number(judgement.rows - most)} more"
    yield f"    why  {' '.join(rule.why.split())}"
    yield f"    fix  {' '.join(rule.fix.split())}"


def _short(what: str) -> str:
    line = " ".join(what.split())
    return line if len(line) <= 110 else line[:109] + "…"


def _not_looked(asked: Checklist) -> list[tuple[str, list[str]]]:
    reasons: dict[str, list[str]] = {}
    for judgement in asked.judgements:
        if judgement.verdict == "not looked":
            reasons.setdefault(judgement.reason or "", []).append(judgement.rule.id)
    return list(reasons.items())


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}" if n else ""


def _n(asked: Checklist, verdict: str) -> int:
    return sum(1 for j in asked.judgements if j.verdict == verdict)


# ---- for programs ----------------------------------------------------------------------------------------------


def data(asked: Checklist, name: str) -> dict[str, object]:
    """Return the checklist as JSON has it."""
    return {
        "trace": name,
        "findings": len(asked.findings),
        "notes": list(asked.notes),
        "rules": [_judgement(j) for j in asked.judgements],
        "unused_suppressions": [s.line for s in asked.unused],
    }


def _judgement(judgement: Judgement) -> dict[str, object]:
    rule = judgement.rule
    return {
        "rule": rule.id,
        "title": rule.title,
        "verdict": judgement.verdict,
        "reason": judgement.reason,
        "severity": rule.severity,
        "concerns": rule.concerns,
        "hardware": list(rule.hardware),
        "why": " ".join(rule.why.split()),
        "fix": rule.fix,
        "rows": judgement.rows,
        "calls": judgement.calls,
        "frames": judgement.frames,
        "ns": judgement.ns,
        "bytes": judgement.bytes,
        "evidence": [
            {
                "seq": e.seq,
                "frame": e.frame,
                "what": e.what,
                "calls": e.calls,
                "frames": len(e.frames),
                "ns": e.ns,
                "bytes": e.bytes,
            }
            for e in judgement.evidence
        ],
    }


def sarif(asked: Checklist, name: str, *, most: int) -> str:
    """Return SARIF 2.1.0: a result a finding, its evidence as locations; suppressed ones are marked so."""
    uri = urllib.parse.quote(name)
    results = [_sarif_result(j, uri, most) for j in asked.judgements if j.verdict in ("finding", "suppressed")]
    missed = [
        {
            "level": "note",
            "message": {"text": f"{j.rule.id} was not checked: {j.reason}"},
            "associatedRule": {"id": j.rule.id},
        }
        for j in asked.judgements
        if j.verdict == "not looked"
    ]
    run = {
        "tool": {
            "driver": {
                "name": "drawtap",
                "version": drawtap.__version__,
                "rules": [_sarif_rule(j.rule) for j in asked.judgements],
            }
        },
        "invocations": [{"executionSuccessful": True, "toolConfigurationNotifications": missed}],
        "artifacts": [{"location": {"uri": uri}}],
        "results": results,
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _sarif_rule(rule: Rule) -> dict[str, object]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": " ".join(rule.why.split())},
        "help": {"text": rule.fix},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": [CLASSES[rule.concerns], *rule.hardware]},
    }


def _sarif_result(judgement: Judgement, uri: str, most: int) -> dict[str, object]:
    places = [_sarif_place(row, uri) for row in judgement.evidence[:most]]
    result: dict[str, object] = {
        "ruleId": judgement.rule.id,
        "level": _LEVELS[judgement.rule.severity],
        "message": {"text": f"{judgement.rule.title}: {summary(judgement)}"},
        "locations": places[:1] or [{"physicalLocation": {"artifactLocation": {"uri": uri}}}],
        "partialFingerprints": {"drawtapRule/v1": judgement.rule.id},
    }
    if places[1:]:
        result["relatedLocations"] = [{"id": i, **p} for i, p in enumerate(places[1:], 1)]
    if judgement.verdict == "suppressed":
        result["suppressions"] = [{"kind": "external", "justification": judgement.reason or ""}]
    return result


def _sarif_place(row: Evidence, uri: str) -> dict[str, object]:
    # A trace has no lines. Tools show the first line of a file whose place they do not understand.
    what = f"{place(row)} {row.what or ''}".strip()
    return {
        "physicalLocation": {"artifactLocation": {"uri": uri}},
        "logicalLocations": [{"fullyQualifiedName": place(row), "kind": "function"}],
        "message": {"text": what},
    }


def junit(asked: Checklist, name: str, *, most: int) -> str:
    """Return JUnit XML: a test case a rule; rules without an answer, and suppressed findings, are skipped."""
    skipped = _n(asked, "not looked") + _n(asked, "suppressed")
    suite = ElementTree.Element(
        "testsuite",
        name=f"drawtap checklist {name}",
        tests=str(len(asked.judgements)),
        failures=str(len(asked.findings)),
        errors="0",
        skipped=str(skipped),
    )
    for judgement in asked.judgements:
        case = ElementTree.SubElement(
            suite, "testcase", classname=f"checklist.{judgement.rule.concerns}", name=judgement.rule.id
        )
        if judgement.verdict == "finding":
            failure = ElementTree.SubElement(
                case,
                "failure",
                type=judgement.rule.severity,
                message=plain(f"{judgement.rule.title}: {summary(judgement)}"),
            )
            failure.text = plain("\n".join(_finding(judgement, most)))
        elif judgement.verdict != "pass":
            ElementTree.SubElement(case, "skipped", message=plain(judgement.reason or judgement.verdict))
    root = ElementTree.Element("testsuites")
    root.append(suite)
    return xml(root)


def rule_rows(rules: Sequence[Rule]) -> list[tuple[str, str, str, str, str]]:
    """Return rules as rows: id, severity, class, hardware, title."""
    return [(r.id, r.severity, CLASSES[r.concerns], ", ".join(r.hardware), r.title) for r in rules]


def rule_text(rule: Rule) -> str:
    """Return everything about a rule."""
    lines = [f"{rule.id}: {rule.title}", ""]
    for label, content in (("why", rule.why), ("fix", rule.fix)):
        lines += textwrap.wrap(
            " ".join(content.split()), 80, initial_indent=label.ljust(10), subsequent_indent=" " * 10
        )
    lines += [f"severity  {rule.severity}", f"class     {CLASSES[rule.concerns]}"]
    lines += [f"hardware  {'; '.join(HARDWARE[h] for h in rule.hardware)}"]
    if rule.needs:
        lines.append(f"needs     {', '.join(rule.needs)}")
    if rule.original:
        lines.append(f"original  {rule.original} (Kyostila's checklist)")
    return "\n".join([*lines, "", "question", textwrap.indent(rule.question.strip("\n"), "  ")]) + "\n"


def share(verdict: Verdict, entry: ClassEvidence) -> str:
    """Return the share of a class in a verdict; "?" where nobody looked."""
    unknown = verdict.dominant is None or (entry.name == "engine" and len(verdict.engines) < 2)
    return "?" if unknown else f"{100 * entry.share:.0f} %"


def verdict_text(verdict: Verdict, name: str) -> str:
    """Return a verdict for a terminal."""
    if verdict.dominant is None:
        head = f"{name}: {verdict.why}"
    else:
        head = f"{name}: {CLASSES[verdict.dominant]} dominates: {verdict.why}"
    lines = [head]
    if verdict.fluent:
        lines.append("Above 50 frames a second after frame 0: nothing to fix.")
    for entry in verdict.classes:
        bar = "█" * round(20 * entry.share)
        lines += ["", f"{entry.title[0].upper()}{entry.title[1:]:<20} {share(verdict, entry):>5}  {bar}".rstrip()]
        lines += [f"    {line}" for line in entry.evidence] or ["    nothing found"]
    return "\n".join(lines) + "\n"
