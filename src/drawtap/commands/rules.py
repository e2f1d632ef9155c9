"""`drawtap rules`: what the checklist looks for."""

from __future__ import annotations

from typing import Annotated

from drawtap.commands import Opt, command
from drawtap.view.result import Rows, Text


@command(section="know", examples=("drawtap rules", "drawtap rules shader-compiles"))
def rules(rule: Annotated[str | None, Opt("only this one, with all about it", metavar="RULE")] = None) -> Rows | Text:
    """Print the rules of the checklist, or everything about one of them.

    Severity says how sure it is that something is wrong; hardware, where it costs.
    """
    from drawtap.analysis.rule import RULES
    from drawtap.view.checklist import rule_rows, rule_text

    if rule is None:
        return Rows(
            ("rule", "severity", "class", "hardware", "title"), rule_rows([entry for _, entry in RULES.items()])
        )
    found = RULES.get(rule)
    return Text(
        rule_text(found),
        {"rule": found.id, "title": found.title, "why": found.why, "fix": found.fix, "question": found.question},
    )
