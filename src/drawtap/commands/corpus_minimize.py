"""`drawtap corpus minimize`: the little that a build still fails with."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from drawtap.commands import Opt, command
from drawtap.commands.options import CORPUS, ENGINES_FILE, ID, TAGS
from drawtap.errors import UsageError, check_target
from drawtap.output.result import Rows, Sheets
from drawtap.units import duration_ns


@command(
    name="corpus minimize",
    section="corpus",
    examples=(
        "drawtap corpus minimize 3f2a91c04d77 --new mesa-26.1 --base mesa-26.0 -o bug.dtap --corpus recordings/",
        "drawtap corpus minimize --tag app=navigation --new mesa-26.1 --seconds 600 --scheduler tcp://farm:8786",
    ),
)
def corpus_minimize(
    *ids: Annotated[str, ID],
    new: Annotated[str, Opt("The engine that fails.", metavar="ENGINE")],
    base: Annotated[str | None, Opt("The engine that it differs from, as in the verdict.", metavar="ENGINE")] = None,
    output: Annotated[Path | None, Opt("Also write the minimal recording to a file.", "-o", "FILE")] = None,
    corpus: Annotated[str | None, CORPUS] = None,
    tag: Annotated[tuple[str, ...], TAGS] = (),
    engines: Annotated[Path | None, ENGINES_FILE] = None,
    seconds: Annotated[float, Opt("Time limit for a recording, in seconds.", metavar="S")] = 120.0,
    stall: Annotated[str, Opt("A driver hangs where no new call comes for so long.", metavar="TIME")] = "20s",
    scheduler: Annotated[
        str | None, Opt("Search on the workers of this scheduler of dask: tcp://HOST:8786.", metavar="ADDRESS")
    ] = None,
    workers: Annotated[int | None, Opt("Search on N workers of dask, on this machine.", metavar="N")] = None,
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
) -> Sheets:
    """Leave out calls of recordings while a build still fails with them, as the newest verdict says.

    Images that differ must still differ from the other engine's. A crash, a hang, a reset of the device or a lack of
    memory must still happen in the same function. A GL error must still be raised, a rejected image must still be
    drawn. The search begins with the frame that the verdict cut out, and with the whole recording where that frame
    alone does not fail.

    Minimal recordings go into the corpus, with the tags minimal_of, fails and label. The column minimal says whether no
    call can go any more. Slow recordings are not minimized.
    """
    from drawtap.corpus import engines as named
    from drawtap.corpus import farm
    from drawtap.corpus.adding import restore
    from drawtap.corpus.minimizing import minimize
    from drawtap.corpus.playing import Limits
    from drawtap.corpus.search import selected
    from drawtap.corpus.store import chosen

    stall_ns = duration_ns(stall, "s")
    if not stall_ns or seconds <= 0:
        raise UsageError("--stall and --seconds are times", hint="--stall 20s --seconds 600")
    if output is not None:
        check_target(output, force=force, replaced=True)
    store = chosen(corpus)
    traces = selected(store, ids, tag)
    if output is not None and len(traces) != 1:
        raise UsageError(f"-o is for one recording, and {len(traces)} are chosen")
    builds = {one.name: one for one in named.named([new, *([base] if base else [])], engines)}
    one, other, limits = builds[new], builds[base] if base else None, Limits(stall_s=stall_ns / 1e9)
    if scheduler is None and workers is None:
        done = [minimize(store, i, one, other, seconds=seconds, limits=limits, on_line=_tell) for i in traces]
    else:
        with farm.connected(scheduler, workers) as client:
            done = list(farm.minimize_on(client, store, traces, (one, other), seconds=seconds, limits=limits))
    if output is not None:
        output.unlink(missing_ok=True)
        restore(store, done[0].id, output)
    rows = [
        (m.trace[:12], m.label, m.oracle, m.id[:12], m.calls, m.before, "yes" if m.minimal else "no", m.trials)
        for m in done
    ]
    columns = ("id", "verdict", "kept", "minimal id", "calls", "of calls", "minimal", "trials")
    return Sheets(
        [Rows(columns, rows, {"calls": "count", "of calls": "count", "trials": "count"})], [*map(asdict, done)]
    )


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")
