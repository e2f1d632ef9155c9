"""`drawtap simplify`: the recording without what it did for nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from drawtap.commands import Opt, command
from drawtap.commands.drawn import draws_into_windows, nothing_drawn
from drawtap.errors import UsageError, check_target
from drawtap.output.result import Rows, Verdict, Verdicts
from drawtap.units import as_float

if TYPE_CHECKING:
    from drawtap.analysis.redundancy import Simplified
    from drawtap.trace.trace import Trace


@command(
    section="replay",
    examples=(
        "drawtap simplify game.dtap --dry-run      # what the program did for nothing",
        "drawtap simplify game.dtap --dry-run --by function --limit 10",
        "drawtap simplify game.dtap -o lean.dtap --on llvmpipe",
        "drawtap sql game.dtap \"SELECT * FROM redundancy JOIN calls USING (seq) WHERE kind = 'unused upload'\"",
    ),
)
def simplify(
    trace: Trace,
    *,
    output: Annotated[Path | None, Opt("Where to.", "-o", "FILE")] = None,
    dry_run: Annotated[bool, Opt("Write nothing: print what would be left out, and what it costs.")] = False,
    by: Annotated[Literal["kind", "function", "frame"], Opt("With --dry-run: what the rows are.")] = "kind",
    limit: Annotated[int, Opt("With --dry-run: the number of rows; 0 for all.", "-l", "N")] = 40,
    on: Annotated[
        str, Opt("The engine to prove it on; drawtap replay --engines lists them.", metavar="ENGINE")
    ] = "system",
    no_verify: Annotated[bool, Opt("Do not play anything; the new file says so.")] = False,
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
) -> Verdicts | Rows:
    """Write a recording without calls that did nothing, with proof.

    It leaves out calls that set a value again (`same value`), uploads of content that is there already (`repeated
    upload`), and uploads that nothing read (`unused upload`). It also leaves out draws, clears and copies that were
    overwritten before anything showed or read them (`unseen draw`), and state that was set anew before any call read it
    (`unread state`). --dry-run counts these calls, with their share, driver time and bytes; the table `redundancy` has
    each of them.

    A recording of Vulkan also loses objects that nothing shown needs (`unused object`). Its draws go with their whole
    submission. Barriers and other synchronization of kept work stay.

    Both recordings are played and every frame is compared; a call that turns out to matter is put back. The new file
    carries a certificate of what was compared (the annotation `certificate`). The exit code is 1 if the written file
    does not draw the same.
    """
    from drawtap.analysis import redundancy

    if dry_run:
        return _account(trace, by, limit)
    if output is None:
        raise UsageError("where to?", hint="-o FILE; --dry-run only prints what would be left out")
    check_target(output, force=force, replaced=True)
    done = redundancy.simplify(trace, output, on=on, verify=not no_verify)
    compared = done.verified != "no" and done.equal and done.shown == "frames"
    drawn = not compared or draws_into_windows(trace)
    warned = [] if drawn else [nothing_drawn("drawtap extract --calls N shows the one current after call N")]
    about = {"path": str(output), "seconds": done.seconds, "nothing_drawn": not drawn}
    return Verdicts([*_lines(done, output), *warned], data={**done.certificate, **about})


def _lines(done: Simplified, output: Path) -> list[Verdict]:
    from drawtap.output.text import counted, number

    gone = done.calls - done.kept
    share = f", {100 * gone / done.calls:.1f} % less" if done.calls else ""
    lines = [
        Verdict("ok", "written", f"{output}: {number(done.kept)} of {number(done.calls)} calls{share}"),
        *(Verdict("ok", "left out", f"{number(n)} x {kind}") for kind, n in done.removed.items() if n),
    ]
    if done.unread_stores:
        lines.append(
            Verdict("ok", "left out", f"{number(done.unread_stores)} x bytes in mapped memory that no work read")
        )
    if done.whole:
        lines.append(
            Verdict("note", "not followed", f"{done.whole}: only commands that repeat a state were looked for")
        )
    if done.put_back:
        lines.append(Verdict("note", "put back", f"{counted(done.put_back, 'call')} that turned out to matter"))
    if done.verified == "no":
        lines.append(Verdict("note", "not verified", "nothing was played"))
    elif done.equal and done.shown != "frames":
        lines.append(Verdict("ok", "verified", "no frame shows an image; the image after the last draw is the same"))
    elif done.equal:
        lines.append(Verdict("ok", "verified", f"all {number(done.frames)} frames are the same, pixel for pixel"))
    else:
        lines.append(Verdict("error", "verified", "the written file does not draw the same frames"))
    return lines


def _account(trace: Trace, by: Literal["kind", "function", "frame"], limit: int) -> Rows:
    from drawtap.analysis.redundancy import KINDS, account

    accounts = account(trace, by)
    shown = [{**row, "percent": 100 * as_float(row["share"])} for row in (accounts[:limit] if limit else accounts)]
    head = {"kind": "kind", "function": "name", "frame": "frame"}[by]
    columns = [head, "calls", "percent", "duration", "bytes"]
    if by == "kind":
        columns.append("they")
        shown = [{**row, "they": KINDS[str(row["kind"])]} for row in shown]
    else:
        columns.append("kind")
    left = len(accounts) - len(shown)
    return Rows(
        tuple(columns),
        [tuple(row[c] for c in columns) for row in shown],
        {"calls": "count", "percent": "percent", "duration": "ns", "bytes": "bytes"},
        note=f"and {left} more rows (--limit 0 shows all)" if left else _nothing(accounts),
    )


def _nothing(accounts: list[dict[str, object]]) -> str | None:
    return None if accounts else "every call did something that came out"
