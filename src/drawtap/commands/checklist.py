"""`drawtap checklist`: what could be better in a recording."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from drawtap.commands import Opt, command
from drawtap.errors import UsageError, check_target, write_whole
from drawtap.output.result import Rows, Text

if TYPE_CHECKING:
    from drawtap.analysis.checklist import Checklist
    from drawtap.trace.trace import Trace


@command(
    section="ask",
    examples=(
        "drawtap checklist game.dtap",
        "drawtap checklist game.dtap --hardware tiled --evidence 10",
        "drawtap checklist game.dtap --rule shader-compiles --rule gl-errors",
        "drawtap checklist --list",
        "drawtap checklist --explain shader-compiles",
        "drawtap checklist game.dtap --format sarif --suppress known.toml -o game.sarif",
    ),
)
def checklist(
    trace: Trace | None = None,
    *,
    rule: Annotated[tuple[str, ...], Opt("Only this rule; may be given again. --list lists them.", "-r", "ID")] = (),
    list: Annotated[bool, Opt("List the rules.")] = False,  # noqa: A002 - the word of the command line
    explain: Annotated[str | None, Opt("Print all about this rule.", metavar="ID")] = None,
    hardware: Annotated[
        Literal["tiled", "desktop", "software"] | None, Opt("Leave out what costs nothing on such a GPU.")
    ] = None,
    suppress: Annotated[Path | None, Opt("Leave out the findings that this file names.", metavar="FILE")] = None,
    fail_on: Annotated[
        Literal["note", "warning", "error"], Opt("The exit code is 1 for findings of this severity and above.")
    ] = "note",
    format: Annotated[  # noqa: A002 - the word of the command line
        Literal["text", "html", "json", "sarif", "junit"], Opt("Form of the output.")
    ] = "text",
    output: Annotated[Path | None, Opt("Write it to a file.", "-o", "FILE")] = None,
    evidence: Annotated[int, Opt("Rows of evidence of a finding.", "-n", "N")] = 3,
    everything: Annotated[bool, Opt("Name the rules that passed, too.", "-a")] = False,
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
) -> Text | Rows:
    """Check a recording against rules: slow, wasted, wrong, undefined.

    Every finding has evidence (calls, frames, their costs), says why it matters, how to mend it and on which hardware.
    A rule that cannot be checked says why; it never counts as passed. The exit code is 1 where there are findings.

    A suppression file is TOML: a list [[suppress]] of tables with rule (may have wildcards), and optionally what,
    frames, seqs ("first:end") and reason. Suppressions that suppress nothing are named.
    """
    from drawtap.analysis import checklist as checking

    if explain is not None:
        return _explained(explain)
    if list:
        return _rules()
    if trace is None:
        raise UsageError("which recording?", hint="drawtap checklist FILE; --list lists the rules")
    if evidence < 0:
        raise UsageError("--evidence is a number of rows, from 0 on")
    if output is not None:
        check_target(output, force=force)
    suppressions = checking.read_suppressions(suppress) if suppress else []
    asked = checking.checklist(trace, rules=rule, hardware=hardware, suppressions=suppressions)
    most = evidence if format == "text" else max(evidence, 20)
    asked = checking.with_calls(trace, asked, most)
    levels = ("note", "warning", "error")
    failed = any(levels.index(j.rule.severity) >= levels.index(fail_on) for j in asked.findings)
    name = trace.path.name
    content = _content(asked, name, format, most, everything=everything)
    from drawtap.output.checklist import data, headline
    from drawtap.output.text import WIDE, filled

    if output is not None:
        write_whole(output, filled(content, WIDE) if format == "text" else content)
        content = f"{output}: {headline(asked)}\n"
    return Text(content, data(asked, name), failed, wrap=format == "text")


def _rules() -> Rows:
    from drawtap.analysis.rule import RULES
    from drawtap.output.checklist import rule_rows

    return Rows(("rule", "severity", "class", "hardware", "title"), rule_rows([entry for _, entry in RULES.items()]))


def _explained(name: str) -> Text:
    from drawtap.analysis.rule import RULES
    from drawtap.output.checklist import rule_text

    rule = RULES.get(name)
    return Text(
        rule_text(rule),
        {"rule": rule.id, "title": rule.title, "why": rule.why, "fix": rule.fix, "question": rule.question},
    )


def _content(asked: Checklist, name: str, kind: str, most: int, *, everything: bool) -> str:
    from drawtap.output import checklist as view

    if kind == "html":
        from drawtap.output.report import render_checklist

        return render_checklist(asked, name, most=most)
    if kind == "sarif":
        return view.sarif(asked, name, most=most)
    if kind == "junit":
        return view.junit(asked, name, most=most)
    if kind == "json":
        from drawtap.output.data import dumps

        return f"{dumps(view.data(asked, name))}\n"
    return view.text(asked, name, most=most, everything=everything)
