"""The player's findings about pixels and vertices of a frame, with the names of the recording."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from drawtap.errors import UnavailableError, UsageError

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

Found = dict[str, object]
Ask = Callable[[int, int, str], Found]  # first call, last call, words: what Warm.look answers
TESTS = {
    "covers": "no primitive covers it",
    "culling": "face culling",
    "scissor": "scissor test",
    "discard": "the fragment shader discards",
    "coverage": "alpha test or sample coverage",
    "stencil": "stencil test",
    "depth": "depth test",
}
#: What became of the pixel in a call, and how a person says it.
OUTCOMES = {
    "wrote": "wrote",
    "failed": "failed",
    "masked": "passed, but masked",
    "same": "wrote the same values",
    "unknown": "tests not known",
}
_TEXT = 300


def pixel_history(trace: Trace, call: int, x: int, y: int, ask: Ask, *, buffer: int = 0) -> Found:
    """Return what wrote a pixel of the image that is drawn to after a call, from the beginning of its frame on.

    `x` and `y` count pixels from the lower left corner, `buffer` the colours that are drawn to. The answer has the
    `format`, the values `now` and the `events`. An event has its call, name, text, kind, outcome (OUTCOMES) and the
    first failed test (TESTS). It also has the values before and after, and how many fragments each prefix of the tests
    lets through. Calls that write, and calls that cover the pixel without writing, are events. Raises UsageError where
    there is no such pixel, and what `ask` does.
    """
    first = frame_begin(trace, call)
    found = ask(first, call, f"history {x} {y} {buffer}")
    if found["why"]:
        raise UnavailableError(f"no history of pixel {x},{y} at call {call}: {found['why']}")
    now = cast(dict[str, object], found["now"])
    if now["color"] is None and now["depth"] is None:
        raise UsageError(f"there is no pixel {x},{y} at call {call}", hint="choose a draw, or the end of a frame")
    events = cast(list[Found], found["events"])
    for event in events:
        seq = cast(int, event["call"])
        event["name"] = trace.calls[seq].name
        text = cast(str, trace.core.call(seq)[0]["text"])
        event["text"] = text[:_TEXT] + ("…" if len(text) > _TEXT else "")
        event["outcome"] = _outcome(event)
        event["reason"] = _reason(event)
    return {"call": call, "first": first, **found}


def forget_unplayed(found: Found) -> None:
    """Take values out of a history that the player of a cut does not know: what a clear replaces and nothing reads."""
    known: set[str] = set()
    for event in cast(list[Found], found["events"]):
        before = cast(dict[str, object], event["before"])
        if event["kind"] == "clear":
            for part in before.keys() - known:
                before[part] = None
        known |= before.keys() if event["kind"] == "draw" else set(cast(list[str], event["changed"]))


def frame_begin(trace: Trace, call: int) -> int:
    """Return the first call of the frame that a call belongs to."""
    import bisect

    frames = trace.frames
    number = bisect.bisect_right(frames, call, key=lambda frame: frame.end_seq)
    if number < len(frames):
        return frames[number].first_seq
    return frames[-1].end_seq if len(frames) else 0  # behind the last frame


def _outcome(event: Found) -> str:
    if event["changed"]:
        return "wrote"
    if event["failed"]:
        return "failed"
    if event["unknown"]:
        return "unknown"
    return "masked" if event["masked"] else "same"


def _reason(event: Found) -> str:
    changed = " and ".join(cast(list[str], event["changed"]))
    failed = TESTS[cast(str, event["failed"])] if event["failed"] else ""
    if event["kind"] == "between":
        return f"{changed} changed between calls {event['call']} and {event['until']}"
    if changed:
        return f"wrote {changed}" + (f" although it fails: {failed}" if failed else "")
    if failed:
        return failed
    return str(event["unknown"] or event["masked"] or "the values were there already")
