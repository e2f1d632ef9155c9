"""Ranges of calls and frames, as people write them: `N`, `A:B`, `A:+N`, `#F`, `#F:#G`, numbers below zero from the end.

The only place that reads them; every verb has its ranges from here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from drawtap.errors import UsageError
from drawtap.trace.sql_text import quote_text

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

ENDLESS = 2**63 - 1
RANGE_HELP = "calls: 30, 10:20 (without 20), 10:+5, -10: from the end, 10-20 (with 20); frames: #3, #2:#5, #2:+#3"
FRAMES_HELP = "frames: 3, 2:5 (without 5), 2:+3, -3: from the end, 2-4 (with 4)"
CALL_HELP = "a call, -1 the last one, #3 or #-1 the end of a frame; of a range its last call"


@dataclass(frozen=True, slots=True)
class Span:
    """Calls `first` to `last` (None: to the end), both included; of frames where `frames` is set."""

    first: int
    last: int | None
    frames: bool = False

    def where(self) -> str:
        """Return the SQL condition on the calls table."""
        column = "frame" if self.frames else "seq"
        if self.last is None:
            return f"{column} >= {self.first}"
        return f"{column} BETWEEN {self.first} AND {self.last}"

    def numbers(self) -> range:
        """Return the numbers; a span without an end goes to the largest number there can be."""
        return range(self.first, ENDLESS if self.last is None else self.last + 1)

    def at_most(self, count: int) -> Span:
        """Return the first `count` of them."""
        last = self.first + count - 1
        return Span(self.first, last if self.last is None else min(last, self.last), self.frames)


@dataclass(frozen=True, slots=True)
class Selection:
    """A selection of calls: spans (none: all), and a function or a pattern of function names with `*`."""

    spans: tuple[Span, ...] = ()
    name: str | None = None

    def where(self) -> str:
        """Return the SQL condition on the calls table; `true` where nothing is restricted."""
        parts = []
        if self.spans:
            parts.append("(" + " OR ".join(span.where() for span in self.spans) + ")")
        if self.name is not None:
            parts.append(f"name GLOB {quote_text(self.name)}")
        return " AND ".join(parts) or "true"


_NUMBER = r"(#?)(-?\d+)"
_ONE = re.compile(_NUMBER)
_DASH = re.compile(r"(#?)(\d+)-(\d*)")  # both ends in it: 10-20, #2-4, 5-
_COLON = re.compile(rf"(?:{_NUMBER})?:(?:(\+?)(#?)(\+?)(-?\d+))?")  # the second end is the first left out


def selection(text: str | None, *, name: str | None = None, of: Trace | None = None, frames: bool = False) -> Selection:
    """Return the selection that `text` names; None or "" for all. Items are separated by commas:

    `N` one call, `A-B` calls A to B, `A-` to the end; `A:B` calls A to before B (either may be left out), `A:+N` the N
    calls from A on. `#` before a number means frames: `#F`, `#F-G`, `#F:#G`, `#F:+#N`; with `frames` every number does.
    A number below zero counts from the end, which takes the recording `of`. Raises UsageError for other text.
    Raises UsageError for a range that ends before it begins, or begins behind the last call or frame of `of`.
    """
    items = [item.strip() for item in (text or "").split(",") if item.strip()]
    counts = _Counts(of) if of is not None else None
    spans = tuple(_span(item, text, of, frames, counts) for item in items)
    if counts is not None:
        for span in spans:
            _within(span.numbers(), counts[span.frames], "frame" if span.frames else "call")
    return Selection(spans, name)


def frame_range(text: str | None, of: Trace | None = None) -> range | None:
    """Return the one range of frames that `text` names (numbers are frames, with and without `#`); None for all.

    Without an end it goes to ENDLESS. Raises UsageError as `selection` does, and for more than one range.
    """
    if text is None:
        return None
    spans = selection(text, of=of, frames=True).spans
    if len(spans) != 1:
        raise UsageError(f"{text!r} is not one range of frames", hint=FRAMES_HELP)
    return spans[0].numbers()


def frames_of(trace: Trace, text: str) -> range:
    """Return the frames that `text` names, as far as there are any. Raises UsageError as `frame_range` does."""
    numbers = frame_range(text, trace)
    assert numbers is not None
    return range(numbers.start, min(numbers.stop, len(trace.frames)))


def calls_of(trace: Trace, text: str) -> range:
    """Return the calls of the one range that `text` names, of frames or calls. Raises UsageError for none."""
    spans = selection(text, of=trace).spans
    if len(spans) != 1:
        raise UsageError(f"{text!r} is not one range of calls", hint=RANGE_HELP)
    numbers = spans[0].numbers()
    if not spans[0].frames:
        return range(numbers.start, min(numbers.stop, len(trace.calls)))
    last = min(numbers.stop, len(trace.frames)) - 1
    return range(trace.frames[numbers.start].first_seq, trace.frames[last].end_seq)


def numbers_of(text: str, count: int, what: str) -> range:
    """Return the numbers of the one range `text` among `count` things called `what`. Raises UsageError."""
    item = text.strip()
    if "#" in item or "," in item:
        raise UsageError(f"{text!r} is no range of {what}s", hint=FRAMES_HELP.partition(": ")[2])
    return _within(_span(item, text, None, False, {False: count}).numbers(), count, what)


def call_of(trace: Trace, text: str) -> int:
    """Return the number of a call: the one that `text` names, of a range the last one.

    For frames, it is the last call before the last frame is shown. Raises UsageError for anything else, and where the
    recording has no such call or frame.
    """
    calls = calls_of(trace, text)
    if "#" in text:
        for frame in reversed(trace.frames):
            if frame.end_seq == calls.stop:
                # The back buffer after a swap is not the picture that the swap showed.
                return calls.stop - 2 if "Swap" in str(frame.end_function) else calls.stop - 1
    return calls.stop - 1


def frame_ends(trace: Trace) -> list[int]:
    """Return the calls (seq) that end frames, in order; what comes after the last of them ends none."""
    from drawtap.tables.recording import FrameRow  # with the recording, not with every verb's help

    return [row["end_seq"] - 1 for row in trace.table(FrameRow) if row["end_function"]]


def _within(wanted: range, count: int, what: str) -> range:
    if wanted.start >= count:
        some = f"there are {count:,}: 0 to {count - 1}" if count else f"there are no {what}s"
        raise UsageError(f"there is no {what} {wanted.start}", hint=some)
    return range(wanted.start, min(wanted.stop, count))


class _Counts(dict[bool, int]):
    """The numbers of calls (False) and frames (True), looked up when somebody counts from the end."""

    def __init__(self, trace: Trace) -> None:
        super().__init__()
        self._trace = trace

    def __missing__(self, frames: bool) -> int:
        self[frames] = len(self._trace.frames) if frames else len(self._trace.calls)
        return self[frames]


def _span(item: str, whole: str | None, trace: Trace | None, frames: bool, counts: Mapping[bool, int] | None) -> Span:
    if match := _ONE.fullmatch(item):
        framed = frames or match[1] == "#"
        number = _counted(int(match[2]), framed, item, counts)
        return Span(number, number, framed)
    if match := _DASH.fullmatch(item):
        framed = frames or match[1] == "#"
        return _checked(Span(int(match[2]), int(match[3]) if match[3] else None, framed), item)
    match = _COLON.fullmatch(item)
    if match is None or (match[3] and match[5]):
        hint = FRAMES_HELP if frames else RANGE_HELP
        raise UsageError(f"{whole!r} is no range of {'frames' if frames else 'calls'}", hint=hint)
    mark, first, plus, end_mark, plus_too, end = match.groups()
    framed = frames or "#" in (mark, end_mark)
    if not frames and first is not None and end is not None and (mark == "#") != (end_mark == "#"):
        return _mixed(item, match, trace, counts)
    begin = _counted(int(first), framed, item, counts) if first is not None else 0
    if end is None:
        return Span(begin, None, framed)
    if plus or plus_too:
        return _checked(Span(begin, begin + int(end) - 1, framed), item)
    return _checked(Span(begin, _counted(int(end), framed, item, counts) - 1, framed), item)


def _mixed(item: str, match: re.Match[str], trace: Trace | None, counts: Mapping[bool, int] | None) -> Span:
    # One end is a frame and the other a call: both become calls. `#3:+10` is the first ten calls of frame 3.
    if trace is None:
        raise UsageError(f"{item!r} mixes frames and calls", hint="#2:#5 names frames, 10:20 names calls")
    mark, first, plus, end_mark, plus_too, end = match.groups()
    begin = _counted(int(first), mark == "#", item, counts)
    begin = _first_call(begin, trace) if mark == "#" else begin
    if plus or plus_too:
        if end_mark == "#":
            raise UsageError(f"{item!r} counts frames from a call", hint="#2:+#3 counts them from a frame")
        return _checked(Span(begin, begin + int(end) - 1), item)
    stop = _counted(int(end), end_mark == "#", item, counts)
    return _checked(Span(begin, (_first_call(stop, trace) if end_mark == "#" else stop) - 1), item)


def _first_call(frame: int, trace: Trace) -> int:
    frames = trace.frames
    if frame >= len(frames):
        return len(trace.calls)
    return frames[frame].first_seq


def _counted(number: int, frames: bool, item: str, counts: Mapping[bool, int] | None) -> int:
    if number >= 0:
        return number
    if counts is None:
        raise UsageError(f"{item!r} counts from the end, which is not known here")
    count = counts[frames]
    if count + number < 0:
        raise UsageError(f"{item!r} begins before the first of {count} {'frames' if frames else 'calls'}")
    return count + number


def _checked(span: Span, item: str) -> Span:
    if span.last is not None and span.last < span.first:
        raise UsageError(f"the range {item} ends before it begins")
    return span
