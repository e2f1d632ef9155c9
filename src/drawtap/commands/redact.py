"""`drawtap redact`: a recording without what tells who made it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from drawtap.commands import Opt, command
from drawtap.errors import UsageError, check_target
from drawtap.view.result import Verdict, Verdicts

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


@command(
    section="edit",
    examples=(
        "drawtap redact game.dtap -o shared.dtap",
        "drawtap redact game.dtap -o shared.dtap --on llvmpipe --json",
    ),
)
def redact(
    trace: Trace,
    *,
    output: Annotated[Path, Opt("Write it here.", "-o", "FILE")],
    level: Annotated[Literal["identity"], Opt("The level of redaction.")] = "identity",
    on: Annotated[str, Opt("Prove it on this engine.", metavar="ENGINE")] = "system",
    unproven: Annotated[bool, Opt("Do not play the two recordings.")] = False,
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
) -> Verdicts:
    """Write a recording without what tells who made it, where and when.

    Program, command line, folder, environment, host, processor, kernel, process ids, thread names, the uuid and the
    time of day go. Times begin near zero, and libraries outside of the system's folders lose their paths. An allow-list
    says which annotations stay. Calls, durations and contents stay: shaders, textures, labels and read-backs may say a
    lot. So cut first (drawtap extract). Both recordings are played, and every frame must be equal. The command lists
    the texts that are left beside calls.
    """
    from drawtap.corpus import redaction
    from drawtap.replay import engine

    if output.exists() and trace.path.exists() and output.samefile(trace.path):
        raise UsageError("the recording itself is not replaced", hint="-o names another file")
    check_target(output, force=force, replaced=True)
    made = redaction.redact(trace, output)
    frames, name = (None, "") if unproven else redaction.prove(trace.path, output, engine.environment_of(on))
    verdicts = [Verdict("ok", "written", f"{output}, level {level}")]
    if frames is None:
        verdicts.append(Verdict("note", "not proven", "nothing was played"))
    else:
        verdicts.append(Verdict("ok", "proven", f"{frames} frames are equal on {name}"))
    if made.dropped:
        verdicts.append(Verdict("ok", "left out", f"annotations {', '.join(made.dropped)}"))
    verdicts += [Verdict("note", "text is left", text[:200]) for text in made.left]
    data = {
        "path": str(output),
        "level": level,
        "frames": frames,
        "engine": name,
        "dropped": list(made.dropped),
        "left": list(made.left),
    }
    return Verdicts(verdicts, data=data)
