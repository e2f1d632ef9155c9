"""`drawtap shell`: SQL and all verbs at one prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drawtap.commands import command
from drawtap.view.result import Prompt

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


@command(section="ask", examples=("drawtap shell game.dtap", "drawtap sql game.dtap            # the same"), json=False)
def shell(trace: Trace) -> Prompt:
    """Open a prompt: SQL, and every verb without its FILE.

    Tab completes verbs, tables and columns; the history is kept. A line that ends in \\ goes on in the next one.
    """
    return Prompt(trace)
