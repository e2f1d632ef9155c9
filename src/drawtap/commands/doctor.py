"""`drawtap doctor`: what works here, and with this program."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.view.result import Verdict, Verdicts

if TYPE_CHECKING:
    from drawtap.capture.doctor import Check


@command(section="record", examples=("drawtap doctor", "drawtap doctor glmark2-es2", "drawtap doctor ./game --json"))
def doctor(program: Annotated[str | None, Opt("the program to look at", metavar="PROGRAM")] = None) -> Verdicts:
    """Check this machine, or a program, for what recording needs.

    Without PROGRAM: the parts of drawtap, the C library, shared memory, the clock, the graphics drivers, the compiler.
    With PROGRAM: whether the tap can get into it, and which graphics libraries it uses. The program is not run.
    Exit code 1 where something keeps drawtap from recording.
    """
    from drawtap.capture import doctor as doctor_

    checks = doctor_.environment() if program is None else doctor_.program(program)
    return Verdicts(verdicts_of(checks))


def verdicts_of(checks: Iterable[Check]) -> list[Verdict]:
    """Return what the doctor found as lines to print."""
    return [Verdict(c.severity, c.subject, c.finding, c.advice) for c in checks]
