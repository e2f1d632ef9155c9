"""The warning that equal images prove nothing, for recordings without a draw into a window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drawtap.output.result import Verdict

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

_INTO_WINDOWS = "framebuffer = 0 OR len(list_filter(targets, lambda path: starts_with(path, 'surfaces['))) > 0"


def draws_into_windows(trace: Trace) -> bool:
    """Tell whether a call of a recording draws, clears or copies into a window's framebuffer; Vulkan: always."""
    from drawtap.trace.apis import is_vulkan

    return is_vulkan(trace) or bool(trace.sql(f"SELECT 1 FROM passes WHERE {_INTO_WINDOWS} LIMIT 1").fetchall())


def nothing_drawn(advice: str) -> Verdict:
    """Return a warning that images are equal because they show nothing; `advice` is a way to see more."""
    return Verdict("warning", "drawn", f"nothing: no call draws into the framebuffer that is shown; {advice}")
