"""`drawtap redact`: a recording without what tells who made it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from drawtap.commands import Opt, command
from drawtap.commands.options import ENGINES_FILE
from drawtap.errors import DrawtapError, InputError, UsageError, check_target
from drawtap.output.result import Verdict, Verdicts

if TYPE_CHECKING:
    from drawtap.corpus.redaction import Proven, Redacted
    from drawtap.trace.trace import Trace


_SHOWN = 6  # texts of a parameter; --json has all


@command(
    section="edit",
    examples=(
        "drawtap redact game.dtap -o shared.dtap",
        "drawtap redact frame.dtap -o shared.dtap --level names --deny words.txt",
        "drawtap redact frame.dtap -o shared.dtap --level content --oracle engines=llvmpipe,softpipe",
        "drawtap redact game.dtap -o shared.dtap --on llvmpipe --json",
    ),
)
def redact(
    trace: Trace,
    *,
    output: Annotated[Path, Opt("Write it here.", "-o", "FILE")],
    level: Annotated[Literal["identity", "names", "content"], Opt("The level of redaction.")] = "identity",
    deny: Annotated[Path | None, Opt("Fail where one of these words is left, one a line.", metavar="FILE")] = None,
    on: Annotated[str, Opt("Prove it on this engine.", metavar="ENGINE")] = "system",
    unproven: Annotated[bool, Opt("Do not play the two recordings.")] = False,
    oracle: Annotated[
        str | None, Opt("It must still hold: engines=A,B, crash=A, or a command with {} for the file.")
    ] = None,
    engines: Annotated[Path | None, ENGINES_FILE] = None,
    seconds: Annotated[float, Opt("Look so long for textures that have to stay.")] = 120.0,
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
) -> Verdicts:
    """Write a recording without what tells who made it, where and when.

    Program, command line, folder, environment, host, processor, kernel, process ids, thread names, the uuid and the
    time of day go. Times begin near zero, and libraries outside of the system's folders lose their paths. An allow-list
    says which annotations stay. Calls, durations and contents stay: shaders, textures, labels and read-backs may say a
    lot. So cut first (drawtap extract).

    --level names also gives new names to identifiers of shaders, labels, markers and messages, drops comments, and
    replaces answers of the driver. Programs in binary form are refused. Both recordings are played, and every frame
    must be equal; where none is shown, everything that is read back.

    --level content also mixes the colours of textures within 8 x 8 texels, and blanks read-backs. There the counts of
    calls, errors, primitives and fragments must be equal in every frame; textures that would change them stay. Texels
    of Vulkan are those that submits copy from memory to images, and those of images that the program maps. At both
    levels nothing is written without the proof.

    --oracle names a property that the redacted recording must still have. Two engines draw a frame differently; an
    engine fails (crash, hang, oom, gl-error, skipped-calls, differs); or a command exits with 0. The output lists every
    text that is left.
    """
    from drawtap.corpus import redaction

    redaction.check_level(trace, level)  # before anything is played
    check_target(output, force=force, replaced=True)
    words = _words(deny) if deny is not None else []
    proof = None if unproven else _Proof(trace.path, level, on, oracle, engines)
    if proof is None and oracle is not None:
        raise UsageError("an oracle plays the recordings", hint="without --unproven")
    holds = proof.holds if proof is not None and level == "content" else None
    made = redaction.redact(trace, output, level=level, deny=words, holds=holds, seconds=seconds)
    try:
        proven = None if proof is None else proof.prove(output)
    except BaseException:
        if level != "identity":
            output.unlink(missing_ok=True)  # what draws something else helps nobody
        raise
    verdicts = [Verdict("ok", "written", f"{output}, level {level}")]
    if proven is None:
        verdicts.append(Verdict("note", "not proven", "nothing was played"))
    else:
        what = "make the same work" if level == "content" else "are equal"
        which = f"{proven.read_backs} read-backs" if proven.read_backs else f"{proven.frames} frames"
        verdicts.append(Verdict("ok", "proven", f"{which} {what} on {proven.engine}"))
    if oracle is not None:
        verdicts.append(Verdict("ok", "still holds", oracle))
    verdicts += _left(made)
    if words:
        verdicts.append(Verdict("ok", "denied words", f"none of {len(words)} is left"))
    data = {
        "path": str(output),
        "level": level,
        "frames": proven.frames if proven else None,
        "read_backs": proven.read_backs if proven else None,
        "engine": proven.engine if proven else "",
        "oracle": oracle,
        "mixed": made.hidden.mixed if made.hidden else None,
        "kept": dict(made.hidden.kept) if made.hidden else None,
        "dropped": list(made.dropped),
        "left": list(made.left),
        "texts": {place: list(texts) for place, texts in made.texts.items()},
    }
    return Verdicts(verdicts, data=data)


def _left(made: Redacted) -> list[Verdict]:
    """Say what was mixed and left out, and what is left."""
    verdicts = []
    if made.hidden is not None:
        verdicts.append(Verdict("ok", "mixed", f"the texels of {made.hidden.mixed} calls"))
        for why, count in sorted(made.hidden.kept.items()):
            verdicts.append(Verdict("note", "texels stay", f"of {count} calls: {why}"))
    if made.dropped:
        verdicts.append(Verdict("ok", "left out", f"annotations {', '.join(made.dropped)}"))
    verdicts += [Verdict("note", "text is left", text[:200]) for text in made.left]
    for place, texts in made.texts.items():
        shown = ", ".join(" ".join(text.split())[:60] for text in texts[:_SHOWN])
        more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
        verdicts.append(Verdict("note", "text is left", f"{place}: {shown}{more}"))
    return verdicts


class _Proof:
    """The proof of a level on an engine, and the oracle, which must hold of the recording to begin with."""

    def __init__(self, recording: Path, level: str, on: str, oracle: str | None, engines: Path | None) -> None:
        from drawtap.corpus import hiding
        from drawtap.replay import engine

        self._recording, self._environment = recording, engine.environment_of(on)
        self._oracle = hiding.oracle(oracle, engines) if oracle is not None else None
        if self._oracle is not None and not self._oracle(recording):
            raise UsageError(f"the oracle {oracle} does not hold of {recording}", hint="another --oracle")
        self._work = hiding.Work(recording, self._environment) if level == "content" else None

    def holds(self, path: Path) -> bool:
        return (self._work is None or self._work.same(path)) and (self._oracle is None or self._oracle(path))

    def prove(self, path: Path) -> Proven:
        """Return what is proven, and on what. Raises DrawtapError where something differs."""
        from drawtap.corpus import redaction

        if not self.holds(path):
            raise DrawtapError("the proof fails: the oracle or the counts of work say something else now")
        if self._work is not None:
            return redaction.Proven(self._work.frames, self._work.engine)
        return redaction.prove(self._recording, path, self._environment)


def _words(file: Path) -> list[str]:
    try:
        words = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}") from None
    kept = [word for word in words if word]
    if not kept:
        raise InputError(f"there is no word in {file}", hint="one a line")
    return kept
