"""`drawtap diff`: what differs between the calls of two recordings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.errors import UsageError, check_target, no_file, write_whole
from drawtap.output.result import Rows
from drawtap.trace.ranges import FRAMES_HELP, call_of, frame_range

if TYPE_CHECKING:
    from drawtap.output.comparison import Pictures
    from drawtap.output.difference import DifferentFrame
    from drawtap.trace.diff import Difference, Differences
    from drawtap.trace.trace import Trace

_MARKS = {"changed": "~", "only_a": "-", "only_b": "+"}
_COLUMNS = ("", "frame_a", "frame_b", "a", "b", "call")


@command(
    section="replay",
    examples=(
        "drawtap diff good.dtap bad.dtap",
        "drawtap diff good.dtap bad.dtap --frames 10:20 --limit 50 --json",
        "drawtap diff good.dtap bad.dtap --images            # and which frames look different",
        "drawtap diff good.dtap bad.dtap --state 1041:1043   # the state at call 1041 of one and 1043 of the other",
        "drawtap diff good.dtap bad.dtap --resources         # textures, buffers, programs, ...",
        "drawtap diff good.dtap bad.dtap -o what-differs.html",
    ),
)
def diff(
    a: Annotated[Path, Opt("a recording", metavar="A")],
    b: Annotated[Path, Opt("another", metavar="B")],
    *,
    frames: Annotated[str | None, Opt(FRAMES_HELP, metavar="RANGE")] = None,
    limit: Annotated[int, Opt("List N differences; all are counted.", "-l", "N")] = 200,
    outputs: Annotated[bool, Opt("Compare results and read-backs, too.")] = False,
    images: Annotated[bool, Opt("Play both and list the frames whose images differ.")] = False,
    state: Annotated[
        str | None, Opt("Compare the state at a call of A and one of B instead.", metavar="CALL:CALL")
    ] = None,
    resources: Annotated[bool, Opt("Compare textures, buffers, programs and other objects instead.")] = False,
    output: Annotated[
        Path | None, Opt("Write a page with calls, resources, state and images.", "-o", "FILE.html")
    ] = None,
    force: Annotated[bool, Opt("Replace the page if it exists.")] = False,
    frame_end: Annotated[
        str | None, Opt("Frames end with: auto, or function names separated by commas.", metavar="RULE")
    ] = None,
) -> Rows:
    """Print what differs between the calls of two recordings.

    Calls are aligned by what they are, frame by frame: - only A makes it, + only B does, ~ both do with other
    arguments. Two objects are the same where aligned calls made them, whatever their numbers; addresses do not count,
    content does. The page (-o) has it all: calls by frame, objects, the state at the end of the first frame that
    differs, and, where both can be played here, the images. The exit code is 1 where something differs.
    """
    from drawtap.trace.trace import open_trace

    if output is not None:
        check_target(output, force=force)
    for path in (a, b):
        if not path.is_file():
            raise no_file(path)
    with open_trace(a, frame_end=frame_end) as one, open_trace(b, frame_end=frame_end) as two:
        if output is not None:
            return _page(one, two, frame_range(frames, one), limit, outputs=outputs, state=state, output=output)
        if state is not None:
            return _states(one, two, state)
        if resources:
            return _resources(one, two)
        return _calls(one, two, frame_range(frames, one), limit, outputs=outputs, images=images)


def _calls(a: Trace, b: Trace, frames: range | None, limit: int, *, outputs: bool, images: bool) -> Rows:
    from drawtap.trace.diff import diff as differences

    compared = differences(a, b, frames=frames, limit=limit, outputs=outputs)
    rows = [(_MARKS[c.kind], c.frame_a, c.frame_b, c.a, c.b, c.line) for c in compared.calls]
    pictures = list(_images(a, b, frames)) if images else []
    rows += [("!", frame, frame, None, None, text) for frame, text in pictures]
    return Rows(
        _COLUMNS if rows else (),
        rows,
        note=_note(compared, len(compared.calls), images, len(pictures)),
        findings=compared.any or bool(pictures),
    )


def _of_frames(compared: Differences) -> str:
    from drawtap.output.text import number

    # A frame that only one recording has is one that differs: there may be more of these than either has frames.
    a, b = compared.frames_a, compared.frames_b
    if a == b >= compared.different_frames:
        return f"of {number(a)} frames differ"
    return f"frames differ (A has {number(a)}, B has {number(b)})"


def _note(compared: Differences, listed: int, images: bool, pictures: int) -> str:
    from drawtap.output.text import counted, number

    if not compared.any:
        text = f"{counted(compared.equal, 'call is', 'calls are')} equal"
    else:
        parts = (
            (compared.changed, "changed"),
            (compared.only_a, "only in A"),
            (compared.only_b, "only in B"),
            (compared.equal, "equal"),
        )
        text = ", ".join(f"{number(n)} {what}" for n, what in parts if n)
        text = f"{text}; {number(compared.different_frames)} {_of_frames(compared)}"
        text += ", and calls after the last frame" if compared.rest_differs else ""
    left = compared.changed + compared.only_a + compared.only_b - listed
    if left:
        text += f"; {counted(left, 'difference')} more (--limit)"
    return text + (f"; {pictures} images differ" if images else "")


def _images(a: Trace, b: Trace, frames: range | None) -> Iterator[tuple[int, str]]:
    from drawtap.replay import compare as comparing

    played = [comparing.Played(trace, "system") for trace in (a, b)]
    compared = comparing.compare(*played, tolerance=comparing.Tolerance(0, 0.0, 1.0), frames=frames, bisect=False)
    for frame in compared.frames:
        if not frame.difference.exact:
            yield frame.frame, f"the images differ: RMSE {frame.difference.rmse:.3f}"


def _resources(a: Trace, b: Trace) -> Rows:
    from drawtap.output.text import counted
    from drawtap.trace.diff import resources

    rows = [(resource.mark, resource.kind, resource.a, resource.b, resource.line) for resource in resources(a, b)]
    return Rows(
        ("", "kind", "a", "b", "what") if rows else (),
        rows,
        note=counted(len(rows), "object differs", "objects differ"),
        findings=bool(rows),
    )


_MOST_PICTURES = 4
_CALLS_A_FRAME = 200


def _page(
    a: Trace, b: Trace, frames: range | None, limit: int, *, outputs: bool, state: str | None, output: Path
) -> Rows:
    from drawtap.output.difference import DifferencePage, render
    from drawtap.output.text import counted, number
    from drawtap.trace.diff import diff as differences
    from drawtap.trace.diff import resources

    compared = differences(a, b, frames=frames, limit=limit, outputs=outputs)
    objects = [
        (r.kind, f"{'' if r.a is None else r.a} → {'' if r.b is None else r.b}: {name}", was, now)
        for r in resources(a, b) for name, was, now in r.changes
    ]  # fmt: skip
    first = next((f for f in compared.frames if f.a is not None and f.b is not None), None)
    at = state or (f"#{first.a}:#{first.b}" if first else None)
    variables = None if at is None else [tuple("" if v is None else str(v) for v in r) for r in _states(a, b, at).rows]
    pictures = _pictures(a, b, frames)
    count = compared.changed + compared.only_a + compared.only_b
    page = DifferencePage(
        a.path.name,
        b.path.name,
        "Their calls are the same" if not compared.any else counted(count, "call differs", "calls differ"),
        [
            (number(compared.equal), "calls are equal"),
            (number(compared.changed), "changed"),
            (number(compared.only_a), "only in A"),
            (number(compared.only_b), "only in B"),
            (number(compared.different_frames), _of_frames(compared)),
        ],
        _by_frame(compared),
        objects,
        variables,  # type: ignore[arg-type]
        f"State at {at}" if state else "State at the end of the first frame that differs",
        pictures,
    )
    write_whole(output, render(page))
    rows = [(what, text) for text, what in page.tiles]
    rows += [("objects differ", number(len({row[1].partition(":")[0] + row[0] for row in objects})))]
    return Rows(("what", "count"), rows, note=f"written to {output}", findings=compared.any)


def _by_frame(compared: Differences) -> list[DifferentFrame]:
    from drawtap.output.difference import DifferentCall, DifferentFrame
    from drawtap.output.text import counted

    groups: dict[tuple[int | None, int | None], list[Difference]] = {}
    for call in compared.calls:
        groups.setdefault((call.frame_a, call.frame_b), []).append(call)
    pages = []
    for (one, other), calls in groups.items():
        title = (
            f"Frame {one}"
            if one == other
            else f"Frame {'-' if one is None else one} and {'-' if other is None else other}"
        )
        shown = [
            DifferentCall(
                _MARKS[c.kind], "" if c.a is None else str(c.a), "" if c.b is None else str(c.b), c.text, c.params
            )
            for c in calls[:_CALLS_A_FRAME]
        ]
        pages.append(DifferentFrame(title, counted(len(calls), "call"), shown, len(calls) - len(shown)))
    return pages


def _pictures(a: Trace, b: Trace, frames: range | None) -> list[Pictures]:
    from drawtap.errors import DrawtapError
    from drawtap.output.comparison import Pictures
    from drawtap.replay import compare as comparing

    try:
        played = [comparing.Played(trace, "system") for trace in (a, b)]
        tolerance = comparing.Tolerance(0, 0.0, 1.0)
        compared = comparing.compare(*played, tolerance=tolerance, frames=frames, bisect=False, pictures=_MOST_PICTURES)
    except DrawtapError:
        return []  # nothing here plays them
    by_number = {f.frame: f for f in compared.frames}
    return [
        Pictures(f"Frame {n}", f"RMSE {by_number[n].difference.rmse:.3f}", one, other)
        for n, (one, other) in compared.pictures.items()
    ]


def _states(a: Trace, b: Trace, calls: str) -> Rows:
    from drawtap.output.text import counted
    from drawtap.trace.diff import states

    first, colon, second = calls.partition(":")
    if colon and not (first and second):
        raise UsageError(f"{calls!r} is no pair of calls", hint="1041:1043, #3:#4, or 1041 for both")
    at = (call_of(a, first), call_of(b, second or first))
    rows = states(a, at[0], b, at[1])
    return Rows(
        ("path", "a", "b") if rows else (),
        rows,
        note=counted(len(rows), "variable differs", "variables differ"),
        findings=bool(rows),
    )
