"""Where the picture of a call is taken: at the call itself, or where a command of Vulkan runs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from drawtap.errors import UsageError
from drawtap.trace import apis
from drawtap.trace.ranges import call_of

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class Place:
    """A picture is taken after `call`; of Vulkan it shows what `draw` leaves, which this call submits.

    Without `draw` it shows the framebuffer that is drawn to; of Vulkan, what was shown last.
    """

    call: int
    draw: int | None = None


def place(trace: Trace, text: str) -> Place:
    """Return the place that `text` names: what `call_of` takes, of Vulkan also `A@S` for A as call S submits it.

    Raises UsageError for other text, and where S does not submit A.
    """
    match = re.fullmatch(r"(\d+)@(\d+)", text)
    if match is None:
        return place_of(trace, call_of(trace, text))
    for number in match.groups():
        call_of(trace, number)
    draw, submit = int(match[1]), int(match[2])
    if not apis.is_vulkan(trace):
        raise UsageError(f"{text!r} is for Vulkan", hint=f"calls of this recording draw when they are made: {draw}")
    if not _drawn(trace, f"seq = {draw} AND submit_seq = {submit}"):
        hint = "drawtap sql FILE \"SELECT seq, submit_seq FROM executed WHERE kind = 'draw'\" lists the draws"
        raise UsageError(f"call {submit} does not submit draw {draw}", hint=hint)
    return Place(submit, draw)


def named(call: int | str) -> str:
    """Return what a sentence calls the place that `place` takes: "frame 3" for "#3", else "call 3"."""
    text = str(call)
    return f"frame {text[1:]}" if text.startswith("#") else f"call {text}"


def place_of(trace: Trace, call: int) -> Place:
    """Return the place of a call's picture.

    A command of Vulkan that runs has the picture of the last draw up to it, where it runs first. So has a call that
    submits, of all that it submits.
    """
    if not apis.is_vulkan(trace):
        return Place(call)
    ran = trace.sql(f"SELECT min(number), min_by(submit_seq, number) FROM executed WHERE seq = {call}").fetchall()[0]
    within = f"number <= {ran[0]} AND submit_seq = {ran[1]}" if ran[0] is not None else f"submit_seq = {call}"
    drawn = _drawn(trace, within)
    return Place(*drawn) if drawn else Place(call)


def _drawn(trace: Trace, where: str) -> tuple[int, int] | None:
    """Return submission and number of the last draw there."""
    rows = trace.sql(
        f"SELECT submit_seq, seq FROM executed WHERE {where} AND (kind = 'draw' OR name = 'vkCmdClearAttachments')"
        " ORDER BY number DESC LIMIT 1"
    ).fetchall()
    return (int(rows[0][0]), int(rows[0][1])) if rows else None
