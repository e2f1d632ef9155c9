"""`drawtap extract`: the little that some frames of a recording need."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.commands.drawn import nothing_drawn
from drawtap.errors import UsageError, check_target
from drawtap.output.result import Verdict, Verdicts
from drawtap.tables.recording import FrameRow
from drawtap.trace.apis import is_vulkan
from drawtap.trace.ranges import FRAMES_HELP, RANGE_HELP

if TYPE_CHECKING:
    from drawtap.analysis.extract import Cut
    from drawtap.trace.trace import Trace


@command(
    section="replay",
    examples=(
        "drawtap extract game.dtap --frames 120 -o frame.dtap",
        "drawtap extract game.dtap '#120:#125' -o frames.dtap",
        "drawtap extract game.dtap --draws 3000:3010 -o draws.dtap",
        "drawtap extract game.dtap --frames 120 --minimize -o small.dtap",
        "drawtap extract game.dtap --frames 120 --minimize --oracle engines=llvmpipe,softpipe -o bug.dtap",
        "drawtap extract game.dtap --calls 0:5000 --minimize --oracle './still-crashes {}' -o crash.dtap",
    ),
)
def extract(
    trace: Trace,
    part: Annotated[
        str | None, Opt(f"{RANGE_HELP}. The same as --frames where it has a #, else as --calls", metavar="RANGE")
    ] = None,
    *,
    output: Annotated[Path, Opt("Where to.", "-o", "FILE")],
    frames: Annotated[str | None, Opt(FRAMES_HELP, metavar="RANGE")] = None,
    calls: Annotated[
        str | None, Opt(f"{RANGE_HELP}. All of them, and the image after the last.", metavar="RANGE")
    ] = None,
    draws: Annotated[
        str | None, Opt("Draws, counted from 0, and the image after the last: as frames.", metavar="RANGE")
    ] = None,
    time: Annotated[
        str | None, Opt("The frames that end in a time, A:B in seconds since the first call.", metavar="RANGE")
    ] = None,
    on: Annotated[
        str, Opt("The engine to prove it on; drawtap replay --engines lists them.", metavar="ENGINE")
    ] = "system",
    no_verify: Annotated[bool, Opt("Do not play anything; the new file says so.")] = False,
    minimize: Annotated[bool, Opt("Go on leaving out calls while the oracle says yes.")] = False,
    oracle: Annotated[
        str, Opt("Keep this property: pixels, gl-error, engines=A,B, or a command that ends with 0.", metavar="WHAT")
    ] = "pixels",
    seconds: Annotated[float, Opt("Time limit for minimizing, in seconds.", metavar="S")] = 120.0,
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
) -> Verdicts:
    """Write a small recording that draws the same pixels, with proof.

    Kept are the calls that the wanted images need, through bindings, state, uploads, copies, render targets, lists,
    programs, queries and contexts. Then it plays the kept calls and compares the images with the whole recording's.
    While they differ, it adds calls, whole classes first. The new file carries a certificate (the annotation
    `certificate`): hash of the source, target, engine, image hashes. If the recording has hashes of
    the program's images (record --hash-frames), it compares the cut with them.

    In a recording of Vulkan, --draws counts the draws that run, and a cut ends with the call that submits the last of
    them. Where the images of a cut differ, all earlier calls stay.

    --minimize continues by delta debugging until no call can go, with its progress each minute. In an oracle's
    command {} stands for the file to try; the oracles other than pixels do not keep the image. A trial with Vulkan
    never has a call that lacks what a missing call made, began, bound or signalled. The exit code is 1 where the
    written file does not draw the same, or not what the program showed on the same engine.
    """
    from drawtap.analysis.extract import Cutter, ExtractOptions, target

    vulkan = is_vulkan(trace)
    if vulkan and oracle == "gl-error":
        raise UsageError("calls of Vulkan raise no GL errors", hint="--oracle pixels, engines=A,B or a command")
    check_target(output, force=force, replaced=True)
    if oracle != "pixels" and not minimize:
        raise UsageError("an oracle is for --minimize")
    if part is not None:
        if any((frames, calls, draws, time)):
            raise UsageError(f"{part} and an option both say which part is wanted", hint="one of them")
        frames, calls = (part, None) if "#" in part else (None, part)
    wanted = target(trace, frames=frames, calls=calls, draws=draws, time_range=time)
    wish = ExtractOptions(on, not no_verify, minimize, oracle, seconds)
    if vulkan:
        from drawtap.analysis.vulkan_extract import cut_vulkan

        cut = cut_vulkan(trace, wanted, output, wish, on_line=_tell)
    else:
        cut = Cutter(trace, on_line=_tell).cut(wanted, output, wish)
    return Verdicts(_lines(cut, output), data={**cut.certificate, "path": str(output), "seconds": cut.seconds})


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _lines(cut: Cut, output: Path) -> list[Verdict]:
    from drawtap.output.text import counted, number

    size = output.stat().st_size
    lines = [
        Verdict(
            "ok",
            "written",
            f"{output}: {number(cut.kept)} of {number(cut.before)} calls up to there ({100 * cut.share:.1f} %),"
            f" {number(size)} bytes",
        )
    ]
    if cut.added:
        lines.append(Verdict("note", "added", f"{number(len(cut.added))} calls that the images turned out to need"))
    lines += [Verdict("note", "search", line) for line in cut.search]
    if cut.reduction is not None:
        ahead, more = number(cut.reduction.ahead), cut.reduction.seconds_ahead
        how = "no call of them can go"
        if not cut.reduction.minimal:
            how = f"time was up: at least {ahead} more trials would settle it, about {more:.0f} s (--seconds)"
        lines.append(Verdict("ok", "minimized", f"after {counted(cut.reduction.trials, 'trial')}; {how}"))
    if cut.verified == "no":
        lines.append(Verdict("note", "not verified", "nothing was played; the certificate says so"))
    elif "file" not in cut.certificate:
        lines.append(Verdict("note", "verified", f"by the oracle alone: {cut.certificate.get('oracle')}"))
    elif cut.equal:
        images = cut.certificate.get("images")
        compared = number(len(images) if isinstance(images, list) else 0)
        lines.append(
            Verdict(
                "ok",
                "verified",
                f"{compared} of {compared} images are the same, pixel for pixel, on {cut.certificate.get('engine')}",
            )
        )
    else:
        lines.append(Verdict("error", "verified", "the written file does not draw the same images"))
    return [*lines, *_of_nothing(cut, output), *_as_shown(cut)]


# Calls besides draws that change pixels of a framebuffer.
_PAINTS = "'^gl(Clear$|Clear(Buffer|Named|Tex)|Blit|Copy|CallList|DrawPixels|Bitmap|Accum$|End$)|Image'"


def _of_nothing(cut: Cut, output: Path) -> Iterator[Verdict]:
    """Warn where equal images prove nothing, for no call of the cut draws into them."""
    from drawtap.trace.trace import open_trace

    if "file" not in cut.certificate:
        return
    with open_trace(output) as written:
        if is_vulkan(written) or any(row["draws"] for row in written.table(FrameRow)):
            return
        if written.sql(f"SELECT 1 FROM calls WHERE regexp_matches(name, {_PAINTS}) LIMIT 1").fetchall():
            return
    yield nothing_drawn("--calls N takes the one current after call N")


def _as_shown(cut: Cut) -> Iterator[Verdict]:
    from drawtap.output.text import number

    different, compared = cut.unlike_program
    if not compared:
        return
    if not different:
        yield Verdict("ok", "as shown", f"{number(compared)} of {number(compared)} images are what the program showed")
    elif cut.own_configuration:
        text = "images are not what the program showed: the recording asks for a configuration of its own"
        yield Verdict("note", "as shown", f"{number(different)} of {number(compared)} {text}")
    elif cut.other_engine:
        text = "images are not what the program showed: it drew on another engine"
        yield Verdict("note", "as shown", f"{number(different)} of {number(compared)} {text}")
    else:
        text = "images are not what the program showed, on the same engine: the whole recording plays so too"
        yield Verdict("error", "as shown", f"{number(different)} of {number(compared)} {text}; see replay --verify")
