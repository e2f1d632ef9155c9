"""`drawtap simplify`: the recording without what it did for nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.errors import check_target
from drawtap.view.result import Verdict, Verdicts

if TYPE_CHECKING:
    from drawtap.analysis.redundancy import Simplified
    from drawtap.trace.trace import Trace


@command(
    section="replay",
    examples=("drawtap simplify game.dtap -o lean.dtap", "drawtap simplify game.dtap -o lean.dtap --on llvmpipe"),
)
def simplify(
    trace: Trace,
    *,
    output: Annotated[Path, Opt("Where to.", "-o", "FILE")],
    on: Annotated[str, Opt("The engine to prove it on; drawtap engines lists them.", metavar="ENGINE")] = "system",
    no_verify: Annotated[bool, Opt("Do not play anything; the new file says so.")] = False,
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
) -> Verdicts:
    """Write a recording without the calls that did nothing, and prove that they did nothing.

    What is left out is what `drawtap redundancy` counts. Both recordings are played and every frame is compared; a
    call that turns out to matter is put back. The new file carries a certificate of what was compared (the annotation
    `certificate`). The exit code is 1 where the written file does not draw the same after all.
    """
    from drawtap.analysis import redundancy

    check_target(output, force=force, replaced=True)
    done = redundancy.simplify(trace, output, on=on, verify=not no_verify)
    return Verdicts(_lines(done, output), data={**done.certificate, "path": str(output), "seconds": done.seconds})


def _lines(done: Simplified, output: Path) -> list[Verdict]:
    from drawtap.view.text import number

    gone = done.calls - done.kept
    share = f", {100 * gone / done.calls:.1f} % less" if done.calls else ""
    found = [
        Verdict("ok", "written", f"{output}: {number(done.kept)} of {number(done.calls)} calls{share}"),
        *(Verdict("ok", "left out", f"{number(n)} x {kind}") for kind, n in done.removed.items() if n),
    ]
    if done.put_back:
        found.append(Verdict("note", "put back", f"{number(done.put_back)} calls that turned out to matter"))
    if done.verified == "no":
        found.append(Verdict("note", "not verified", "nothing was played"))
    elif done.equal:
        found.append(Verdict("ok", "verified", f"all {number(done.frames)} frames are the same, pixel for pixel"))
    else:
        found.append(Verdict("error", "verified", "the written file does not draw the same frames"))
    return found
