"""`drawtap redact`: a recording without what tells who made it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from drawtap.commands import Opt, command
from drawtap.errors import InputError, UsageError, check_target
from drawtap.view.result import Verdict, Verdicts

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


_SHOWN = 6  # texts of a parameter; --json has all


@command(
    section="edit",
    examples=(
        "drawtap redact game.dtap -o shared.dtap",
        "drawtap redact frame.dtap -o shared.dtap --level names --deny words.txt",
        "drawtap redact game.dtap -o shared.dtap --on llvmpipe --json",
    ),
)
def redact(
    trace: Trace,
    *,
    output: Annotated[Path, Opt("Write it here.", "-o", "FILE")],
    level: Annotated[Literal["identity", "names"], Opt("The level of redaction.")] = "identity",
    deny: Annotated[Path | None, Opt("Fail where one of these words is left, one a line.", metavar="FILE")] = None,
    on: Annotated[str, Opt("Prove it on this engine.", metavar="ENGINE")] = "system",
    unproven: Annotated[bool, Opt("Do not play the two recordings.")] = False,
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
) -> Verdicts:
    """Write a recording without what tells who made it, where and when.

    Program, command line, folder, environment, host, processor, kernel, process ids, thread names, the uuid and the
    time of day go. Times begin near zero, and libraries outside of the system's folders lose their paths. An allow-list
    says which annotations stay. Calls, durations and contents stay: shaders, textures, labels and read-backs may say a
    lot. So cut first (drawtap extract).

    --level names also gives new names to identifiers of shaders, labels, markers and messages, drops comments, and
    replaces answers of the driver. Programs in binary form are refused. Both recordings are played, and every frame
    must be equal; at the level names without that proof nothing is written. The command lists every text that is left.
    """
    from drawtap.corpus import redaction
    from drawtap.replay import engine

    if output.exists() and trace.path.exists() and output.samefile(trace.path):
        raise UsageError("the recording itself is not replaced", hint="-o names another file")
    check_target(output, force=force, replaced=True)
    words = _words(deny) if deny is not None else []
    made = redaction.redact(trace, output, level=level, deny=words)
    try:
        frames, name = (None, "") if unproven else redaction.prove(trace.path, output, engine.environment_of(on))
    except BaseException:
        if level != "identity":
            output.unlink(missing_ok=True)  # what draws something else helps nobody
        raise
    verdicts = [Verdict("ok", "written", f"{output}, level {level}")]
    if frames is None:
        verdicts.append(Verdict("note", "not proven", "nothing was played"))
    else:
        verdicts.append(Verdict("ok", "proven", f"{frames} frames are equal on {name}"))
    if made.dropped:
        verdicts.append(Verdict("ok", "left out", f"annotations {', '.join(made.dropped)}"))
    verdicts += [Verdict("note", "text is left", text[:200]) for text in made.left]
    for place, texts in made.texts.items():
        told = ", ".join(" ".join(text.split())[:60] for text in texts[:_SHOWN])
        more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
        verdicts.append(Verdict("note", "text is left", f"{place}: {told}{more}"))
    if words:
        verdicts.append(Verdict("ok", "denied words", f"none of {len(words)} is left"))
    data = {
        "path": str(output),
        "level": level,
        "frames": frames,
        "engine": name,
        "dropped": list(made.dropped),
        "left": list(made.left),
        "texts": {place: list(texts) for place, texts in made.texts.items()},
    }
    return Verdicts(verdicts, data=data)


def _words(file: Path) -> list[str]:
    try:
        words = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}") from None
    found = [word for word in words if word]
    if not found:
        raise InputError(f"there is no word in {file}", hint="one a line")
    return found
