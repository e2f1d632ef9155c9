"""`drawtap slower`: why frames take longer in one of two recordings, or on one of two engines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from drawtap.commands import Opt, command
from drawtap.commands.compare import opened
from drawtap.errors import UsageError, check_target, write_whole
from drawtap.output.result import Sheets
from drawtap.trace.ranges import FRAMES_HELP, frame_range


@command(
    section="replay",
    examples=(
        "drawtap slower before.dtap after.dtap -o slower.html",
        "drawtap slower game.dtap --on llvmpipe --on zink --metrics 'fragments:count/*'",
        "drawtap slower game.dtap --runs 1,2                      # two runs of drawtap profile",
    ),
)
def slower(
    a: Annotated[Path, Opt("a recording", metavar="A")],
    b: Annotated[Path | None, Opt("the other one; without it A is compared with itself", metavar="B")] = None,
    *,
    on: Annotated[
        tuple[str, ...],
        Opt("Play on this engine; twice: of A and of B. drawtap replay --engines lists them.", metavar="ENGINE"),
    ] = (),
    frames: Annotated[str | None, Opt(FRAMES_HELP, metavar="RANGE")] = None,
    threshold: Annotated[float, Opt("Frames of B are slower from this much on, in percent.", metavar="P")] = 10,
    metrics: Annotated[
        tuple[str, ...], Opt("Play both and measure these too; drawtap profile --list.", "-m", "IDS")
    ] = (),
    runs: Annotated[
        str | None, Opt("Two runs of drawtap profile, of A and of B (or both of A).", metavar="N,N")
    ] = None,
    output: Annotated[Path | None, Opt("Write a page with charts.", "-o", "FILE.html")] = None,
    force: Annotated[bool, Opt("Replace the page if it exists.")] = False,
) -> Sheets:
    """Say what makes frames slower in the second of two recordings.

    Compared are recorded times, times of replays (--on, --metrics), or times of two runs of drawtap profile (--runs).
    For the frames that are slower on B, the answer shows where the time went, and ranks what grew (draws, triangles,
    fragments, uploads, state changes, redundant calls ...) by its share of the difference. The rest is reported as not
    explained. The exit code is 1 where frames are slower.
    """
    from drawtap.analysis import slower as explaining

    if output is not None:
        check_target(output, force=force)
    if not 0 <= threshold <= 10_000:
        raise UsageError(
            f"--threshold {threshold} makes no sense", hint="0 to 10000 percent; --threshold 10: a tenth longer"
        )
    if len(on) > 2:
        raise UsageError("there are two sides to compare, and more than two engines")
    if runs is not None and (on or metrics):
        raise UsageError("--runs are measured already", hint="without --on and --metrics")
    if b is None and runs is None and len(set(on)) < 2:
        raise UsageError(
            "one recording on one engine is not to be compared", hint="name two recordings, --on twice, or --runs 1,2"
        )
    with opened(a) as one, opened(b or a) as other:
        within = frame_range(frames, one)
        if runs is not None:
            numbers = _runs(runs)
            sides = explaining.profiled(one, numbers[0]), explaining.profiled(other, numbers[1])
        elif on or metrics:
            from drawtap.metrics.replayed import side

            engines = (on[0], on[-1]) if on else ("system", "system")
            words = [word.strip() for text in metrics for word in text.split(",") if word.strip()]
            first, second = ((t, e) for t, e in zip((one, other), engines, strict=True))
            sides = side(*first, frames=within, metrics=words), side(*second, frames=within, metrics=words)
        else:
            sides = explaining.recorded(one), explaining.recorded(other)
        explained = explaining.explain(*sides, threshold=threshold / 100, frames=within)
    if output is not None:
        from drawtap.output.slower import render

        write_whole(output, render(explained))
    from drawtap.output.slower import sheets

    return sheets(explained, output)


def _runs(text: str) -> tuple[int, int]:
    words = text.split(",")
    if len(words) != 2 or not all(word.strip().isdigit() for word in words):
        raise UsageError(f"--runs {text} names no two runs", hint="--runs 1,2; drawtap profile --add keeps runs")
    return int(words[0]), int(words[1])
