"""`drawtap corpus verdict`: what a build of a driver draws wrong."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from drawtap.commands import Opt, command
from drawtap.commands.options import CORPUS, ENGINES_FILE, ID, TAGS
from drawtap.errors import UsageError
from drawtap.view.result import Rows, Sheets


@command(
    name="corpus verdict",
    section="corpus",
    examples=(
        "drawtap corpus verdict --tag app=navigation --new mesa-26.1 --base mesa-26.0 --corpus recordings/",
        "drawtap corpus verdict 3f2a91c04d77 --new llvmpipe --json",
    ),
)
def corpus_verdict(
    *ids: Annotated[str, ID],
    new: Annotated[str, Opt("The engine that is judged.", metavar="ENGINE")],
    base: Annotated[
        str | None, Opt("Compare with this engine: the build before, or another driver.", metavar="ENGINE")
    ] = None,
    corpus: Annotated[str | None, CORPUS] = None,
    tag: Annotated[tuple[str, ...], TAGS] = (),
    engines: Annotated[Path | None, ENGINES_FILE] = None,
    jobs: Annotated[int | None, Opt("Play so many at once.  [default: half of the processors]", "-j", "N")] = None,
    repeats: Annotated[int, Opt("Play a recording that differs so often in all.")] = 3,
    no_cut: Annotated[bool, Opt("Do not cut out the first frame that differs.")] = False,
) -> Sheets:
    """Judge what an engine draws: by approved images, and by another engine.

    Recordings without a result there are played first. A recording is approved, same (as the other engine draws it),
    flaky (images change from run to run, in few pixels), rejected or differs. Where nothing is approved and there is no
    other engine, it is unknown. Runs that failed have their outcome: crash, hang, oom, gl-error, skipped-calls. With
    --base, the first draw whose result differs is named, and the frame is put into the corpus as a recording of its
    own.

    The exit code is 1 where something is rejected, differs or failed. Judgements are the table verdicts of
    `corpus sql`. `corpus approve` and `corpus reject` decide about images.
    """
    from drawtap.corpus import engines as named
    from drawtap.corpus.search import selected
    from drawtap.corpus.store import chosen
    from drawtap.corpus.verdicts import RED, Effort, of_pictures

    count = max(1, (os.cpu_count() or 2) // 2) if jobs is None else jobs
    if count < 1 or repeats < 1:
        raise UsageError("--jobs and --repeats are at least 1")
    store = chosen(corpus)
    traces = selected(store, ids, tag)
    found = {one.name: one for one in named.named([new, *([base] if base else [])], engines)}
    done = of_pictures(
        store, traces, found[new], found[base] if base else None, Effort(jobs=count, repeats=repeats, cuts=not no_cut)
    )
    rows = [
        (j.trace[:12], j.label, j.frame, j.first_seq, j.function, j.cut[:12] if j.cut else None, j.detail) for j in done
    ]
    data = [
        {
            "trace": j.trace,
            "label": j.label,
            "outcome": j.outcome,
            "frames": dict(j.counts),
            "frame": j.frame,
            "digest": j.digest,
            "base_digest": j.base_digest,
            "call": j.first_seq,
            "function": j.function,
            "cut": j.cut,
            "detail": j.detail,
        }
        for j in done
    ]
    counts = {label: sum(j.label == label for j in done) for label in dict.fromkeys(j.label for j in done)}
    note = ", ".join(f"{n} {label}" for label, n in counts.items())
    columns = ("id", "verdict", "frame", "call", "function", "cut", "detail")
    return Sheets([Rows(columns, rows, note=note, findings=any(j.label in RED for j in done))], data)
