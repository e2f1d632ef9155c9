"""`drawtap spec`: what is known of the graphics APIs."""

from __future__ import annotations

from dataclasses import asdict
from fnmatch import fnmatchcase
from typing import Annotated, Literal

from drawtap.commands import Opt, command
from drawtap.errors import UsageError, did_you_mean
from drawtap.output.result import Rows, Text


@command(
    section="know",
    examples=(
        "drawtap spec report",
        "drawtap spec report --all --json",
        "drawtap spec show glTexImage2D",
        "drawtap spec show VkImageCreateInfo",
        "drawtap spec list 'glDraw*'",
    ),
)
def spec(
    what: Annotated[Literal["report", "show", "list"], Opt("what to print", metavar="[report|show|list]")] = "report",
    name: Annotated[str | None, Opt("a command, or for list a pattern with *", metavar="NAME")] = None,
    *,
    all: Annotated[bool, Opt("report: every version and every extension.")] = False,  # noqa: A002
) -> Rows | Text:
    """Print what drawtap knows about the graphics APIs.

    \b
    report      per version: commands, and for how many every array size is known
    show NAME   one command: parameters, what its pointers point to, effects on the state;
                or one structure of Vulkan: members, offsets, what extends it
    list [PAT]  the commands whose names match a pattern
    """
    if what == "report":
        return _report(everything=all)
    if what == "show":
        if name is None:
            raise UsageError("which command?", hint="drawtap spec show glTexImage2D")
        return _show(name)
    return _list(name or "*")


def _report(*, everything: bool) -> Rows:
    from drawtap.spec import report

    bar = set(report.BAR)
    rows = report.coverage()
    if everything:
        rows += report.extensions()
    else:
        rows = [row for row in rows if (row.api, row.version, row.profile) in bar or not row.version]
    lines = [
        (r.label, r.commands, r.wrapped, r.complete, r.pointers, r.known_pointers, _shortened(r.incomplete))
        for r in rows
    ]
    below = report.below_bar()
    return Rows(
        ("api", "commands", "wrapped", "complete", "pointers", "known", "incomplete"),
        lines,
        note="complete: a rule says for every pointer how much it points to; other content is not recorded.",
        findings=bool(below),
    )


def _shortened(names: tuple[str, ...]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _show(name: str) -> Text:
    from drawtap.spec import report

    described, _ = report.find(name)
    return Text(report.describe(name), data=asdict(described), wrap=True)


def _list(pattern: str) -> Rows:
    from drawtap.spec.registry import load_api
    from drawtap.spec.report import APIS

    known = [c for api in APIS for c in sorted(load_api(api).commands.values(), key=lambda c: c.name)]
    rows = [
        (
            c.name,
            c.api,
            ", ".join(c.provided_by[:3]) + (" ..." if len(c.provided_by) > 3 else ""),
            ", ".join(sorted(c.flags)),
        )
        for c in known
        if fnmatchcase(c.name, pattern) or fnmatchcase(c.name, f"*{pattern}*")
    ]
    if not rows:
        hint = did_you_mean(pattern.strip("*"), (c.name for c in known))
        raise UsageError(f"no command matches {pattern!r}", hint=hint)
    return Rows(("name", "api", "provided_by", "flags"), rows)
