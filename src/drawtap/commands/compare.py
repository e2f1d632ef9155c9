"""`drawtap compare`: what two replays draw, held against each other."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.commands.drawn import draws_into_windows, nothing_drawn
from drawtap.commands.options import ENGINES_FILE
from drawtap.errors import UsageError, check_target, no_file, write_whole
from drawtap.output.result import Verdict, Verdicts
from drawtap.trace.ranges import FRAMES_HELP, frame_range

if TYPE_CHECKING:
    from drawtap.output.comparison import ComparisonPage
    from drawtap.replay.compare import Comparison, Difference, Draw, FrameResult
    from drawtap.trace.trace import Trace

_MOST_LINES = 10


@command(
    section="replay",
    examples=(
        "drawtap compare before.dtap after.dtap",
        "drawtap compare game.dtap --on llvmpipe --on softpipe -o engines.html",
        "drawtap compare cube.dtap --engines drivers.toml --on lavapipe --on swiftshader --ssim 0.99",
        "drawtap compare a.dtap b.dtap --frames 0:50 --max-difference 2 --ssim 0.99 --json",
    ),
)
def compare(
    a: Annotated[Path, Opt("a recording", metavar="A")],
    b: Annotated[Path | None, Opt("the other one; without it A is played on two engines", metavar="B")] = None,
    *,
    on: Annotated[
        tuple[str, ...], Opt("The engine; twice: of A and of B. drawtap replay --engines lists them.", metavar="ENGINE")
    ] = (),
    engines: Annotated[Path | None, ENGINES_FILE] = None,
    frames: Annotated[str | None, Opt(FRAMES_HELP, metavar="RANGE")] = None,
    max_difference: Annotated[
        int | None, Opt("Accept frames whose channels differ by at most N (0 to 255).", metavar="N")
    ] = None,
    rmse: Annotated[float | None, Opt("Accept a root mean square difference up to X (0 to 255).", metavar="X")] = None,
    ssim: Annotated[float | None, Opt("Accept a structural similarity from X on (1: equal).", metavar="X")] = None,
    output: Annotated[Path | None, Opt("Write a page with the images.", "-o", "FILE.html")] = None,
    no_bisect: Annotated[bool, Opt("Do not look for the first draw that differs.")] = False,
    force: Annotated[bool, Opt("Replace the page if it exists.")] = False,
) -> Verdicts:
    """Compare what two recordings draw, or one recording on two engines.

    Both are played. The table has each frame that differs, with its largest difference, RMSE and SSIM. In the first
    such frame, drawtap finds the first draw call with another result. A frame within all given tolerances counts as
    equal. The exit code is 1 if a frame differs. drawtap slower compares times, drawtap diff calls.

    A file of engines names other drivers, of Vulkan too, by their environments.
    """
    from drawtap.corpus.engines import environments
    from drawtap.replay import compare as comparing
    from drawtap.replay.engine import lent

    if len(on) > 2:
        raise UsageError("there are two sides to compare, and more than two engines")
    if b is None and len(set(on)) < 2:
        raise UsageError("one recording on one engine is not to be compared", hint="name two recordings, or --on twice")
    if output is not None:
        check_target(output, force=force)
    sides = (on[0], on[-1]) if on else ("system", "system")
    tolerance = comparing.Tolerance(max_difference, rmse, ssim)
    with lent(environments(on, engines)), opened(a) as one, opened(b or a) as other:
        comparison = comparing.compare(
            comparing.Played(one, sides[0]),
            comparing.Played(other, sides[1]),
            tolerance=tolerance,
            frames=frame_range(frames, one),
            bisect=not no_bisect,
        )
        drawn = not comparison.same or draws_into_windows(one) or draws_into_windows(other)
    if output is not None:
        from drawtap.output.comparison import render

        write_whole(output, render(_page(comparison)))
    warned = [] if drawn else [nothing_drawn("drawtap extract --calls N shows the one current after call N")]
    return Verdicts([*_verdicts(comparison, output), *warned], data={**_data(comparison), "nothing_drawn": not drawn})


def opened(path: Path) -> Trace:
    """Open a recording that may not be there."""
    from drawtap.trace.trace import open_trace

    if not path.exists():
        raise no_file(path)
    return open_trace(path)


_NOTES = ("call", "A", "B", "before")


def _verdicts(comparison: Comparison, output: Path | None) -> list[Verdict]:
    different = [f for f in comparison.frames if not f.same]
    exact = sum(f.difference.exact for f in comparison.frames)
    lines = [
        Verdict("ok", "a", comparison.a),
        Verdict("ok", "b", comparison.b),
        Verdict("ok", "frames", _counts(len(comparison.frames), exact, len(different))),
    ]
    lines += [Verdict("error", f"frame {f.frame}", _text(f)) for f in different[:_MOST_LINES]]
    if len(different) > _MOST_LINES:
        lines.append(Verdict("error", "frames", f"and {len(different) - _MOST_LINES} more differ"))
    # These rows say where and from what, they are no faults themselves.
    lines += [Verdict("note" if key in _NOTES else "error", key, text) for key, text in _draw(comparison)]
    if output is not None:
        lines.append(Verdict("ok", "page", str(output)))
    return lines


def _counts(frames: int, exact: int, different: int) -> str:
    accepted = frames - exact - different
    parts = [f"{frames} compared", f"{exact} equal"]
    parts += [f"{accepted} within the tolerances"] if accepted else []
    return ", ".join([*parts, f"{different} differ"])


def _text(frame: FrameResult) -> str:
    return f"only in {frame.only.upper()}" if frame.only else _apart(frame.difference)


def _apart(difference: Difference) -> str:
    if difference.sizes:
        return difference.sizes
    if difference.exact:
        return "equal"
    share = f"{100 * difference.pixels:.2f} %" if difference.pixels >= 5e-5 else "less than 0.01 %"
    measures = f"largest difference {difference.max_difference}, RMSE {difference.rmse:.3f}, SSIM {difference.ssim:.5f}"
    return f"{measures}, {share} of the pixels"


def _draw(comparison: Comparison) -> list[tuple[str, str]]:
    draw, first = comparison.draw, comparison.first
    if comparison.no_draw:
        return [("first draw", comparison.no_draw)]
    if draw is None or first is None:
        return []
    where = f"frame {first.frame}" + (", which differs already before its first draw" if draw.at_start else "")
    rows = [("first draw", where)]
    if draw.a == draw.b:
        rows.append(("call", _call(draw.a)))
    else:
        rows += [("A", _call(draw.a)), ("B", _call(draw.b))]
    before = "unknown: there is no picture before it" if draw.before is None else _apart(draw.before)
    return [*rows, ("before", before), ("after", _apart(draw.after))]


def _call(draw: Draw) -> str:
    return f"{draw.call} {draw.text}" + (f", submitted by call {draw.submit}" if draw.submit is not None else "")


def _data(comparison: Comparison) -> dict[str, object]:
    first = comparison.first
    return {
        "a": comparison.a,
        "b": comparison.b,
        "same": comparison.same,
        "tolerance": asdict(comparison.tolerance),
        "first_frame": first.frame if first else None,
        "first_draw": None
        if comparison.draw is None
        else {
            "a": {"call": comparison.draw.a.call, "text": comparison.draw.a.text, "submit": comparison.draw.a.submit},
            "b": {"call": comparison.draw.b.call, "text": comparison.draw.b.text, "submit": comparison.draw.b.submit},
            "before": None if comparison.draw.before is None else _numbers(comparison.draw.before),
            "after": _numbers(comparison.draw.after),
            "at_start": comparison.draw.at_start,
            "images": comparison.draw.images,
        },
        "no_draw": comparison.no_draw or None,
        "frames": [
            {"frame": f.frame, "same": f.same, "only": f.only, **_numbers(f.difference)} for f in comparison.frames
        ],
    }


def _numbers(difference: Difference) -> dict[str, object]:
    return {"exact": difference.exact, **asdict(difference)}


def _word(frame: FrameResult) -> str:
    if frame.difference.exact:
        return "equal"
    if frame.same:
        return "accepted"
    return f"only in {frame.only.upper()}" if frame.only else "differs"


def _page(comparison: Comparison) -> ComparisonPage:
    from drawtap.output.comparison import ComparedFrame, ComparisonPage, Pictures

    first = comparison.first
    exact = sum(f.difference.exact for f in comparison.frames)
    worst = max((f.difference.max_difference for f in comparison.frames), default=0)
    pictures = []
    if comparison.draw is not None and comparison.draw_pictures is not None:
        one, other = comparison.draw_pictures
        pictures.append(Pictures("After the first draw that differs", _apart(comparison.draw.after), one, other))
    by_number = {f.frame: f for f in comparison.frames}
    pictures += [
        Pictures(f"Frame {n}", _text(by_number[n]), one, other) for n, (one, other) in comparison.pictures.items()
    ]
    return ComparisonPage(
        comparison.a,
        comparison.b,
        "All frames are the same" if first is None else f"Frame {first.frame} is the first that differs",
        comparison.same,
        [
            (str(len(comparison.frames)), "frames"),
            (str(exact), "equal"),
            (str(sum(not f.same for f in comparison.frames)), "differ"),
            (str(worst), "largest difference"),
        ],
        _draw(comparison),
        pictures,
        [
            ComparedFrame(
                f.frame,
                f.same,
                _word(f),
                str(f.difference.max_difference),
                f"{f.difference.rmse:.3f}",
                f"{f.difference.ssim:.5f}",
                f"{100 * f.difference.pixels:.2f} %",
            )
            for f in comparison.frames
        ],
    )
