"""`drawtap corpus replay`: play recordings of a corpus on engines."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.commands.options import CORPUS, ENGINES_FILE, ID, TAGS
from drawtap.errors import UnavailableError, UsageError
from drawtap.output.result import Rows, Sheets
from drawtap.units import duration_ns, size_bytes

if TYPE_CHECKING:
    from drawtap.corpus.engines import Run
    from drawtap.corpus.pictures import Judged


@command(
    name="corpus replay",
    section="corpus",
    examples=(
        "drawtap corpus replay --tag app=navigation --on llvmpipe,softpipe --corpus recordings/",
        "drawtap corpus replay 3f2a91c04d77 --on mesa-26.1 --engines engines.toml --jobs 4",
        "drawtap corpus replay --tag smoke=yes --on mesa-26.1 --scheduler tcp://farm:8786",
        'drawtap corpus sql "SELECT name, outcome, count(*) FROM runs GROUP BY ALL"',
    ),
)
def corpus_replay(
    *ids: Annotated[str, ID],
    on: Annotated[
        str, Opt("Engines, separated by commas: of engines.toml or of drawtap.", metavar="ENGINE")
    ] = "system",
    corpus: Annotated[str | None, CORPUS] = None,
    tag: Annotated[tuple[str, ...], TAGS] = (),
    engines: Annotated[Path | None, ENGINES_FILE] = None,
    jobs: Annotated[int | None, Opt("Play so many at once.  [default: half of the processors]", "-j", "N")] = None,
    stall: Annotated[str, Opt("A driver hangs where no new call comes for so long.", metavar="TIME")] = "20s",
    limit: Annotated[str, Opt("End a player after this time.", metavar="TIME")] = "10min",
    memory: Annotated[str, Opt("End a player that takes more.", metavar="SIZE")] = "4G",
    again: Annotated[bool, Opt("Also what has a result.")] = False,
    scheduler: Annotated[
        str | None, Opt("Play on the workers of this scheduler of dask: tcp://HOST:8786.", metavar="ADDRESS")
    ] = None,
    workers: Annotated[int | None, Opt("Play on N workers of dask, on this machine.", metavar="N")] = None,
) -> Sheets:
    """Play recordings on engines, each in a process of its own, and write what happened into the corpus.

    Outcomes: ok; differs (other images or read-backs than in the recording), gl-error, skipped-calls; crash, hang, oom,
    device-lost, with the call; unsupported, victim (of another's reset, twice), timeout, infrastructure, machine-lost
    say nothing about the driver. A recording with a
    result on an engine is not played again, so the command may be ended and repeated. Results are the tables
    runs and images of `corpus sql`. The column images says what approvals make of the images (see corpus verdict):
    approved images may differ from the recording. The exit code is 1 where an engine failed, or its images are bad.

    --scheduler plays on other machines: their workers fetch recordings from the store, and need the same builds of the
    engines. Needs dask.distributed: pip install 'drawtap[farm]'.
    """
    from drawtap.corpus import engines as named
    from drawtap.corpus import farm
    from drawtap.corpus.playing import Limits, free, play_all, tasks_of
    from drawtap.corpus.search import Corpus, compact, selected
    from drawtap.corpus.store import chosen
    from drawtap.corpus.verdicts import judged

    limits = Limits(_seconds(stall), _seconds(limit), _bytes(memory))
    count = max(1, (os.cpu_count() or 2) // 2) if jobs is None else jobs
    if count < 1:
        raise UsageError(f"--jobs {count} makes no sense", hint="--jobs 1 plays one after the other")
    store = chosen(corpus)
    traces = selected(store, ids, tag)
    builds = named.named([word.strip() for word in on.split(",") if word.strip()], engines)
    chosen_ = traces if again else free(store, traces)
    if scheduler is None and workers is None:
        runs = list(play_all(store, traces, builds, limits, jobs=count, again=again))
    else:
        tasks = tasks_of(store, chosen_, builds, (str(time.time_ns()),) if again else ("",))
        with farm.connected(scheduler, workers) as client:
            runs = list(farm.play_on(client, store, tasks, limits))
    compact(store)
    if runs and all(run.outcome == "unsupported" for run in runs):
        raise UnavailableError(f"nothing could play: {runs[0].detail}", hint="drawtap replay --engines")
    with Corpus(store) as tables:
        played = {one.key: sorted({run.trace for run in runs if run.engine == one}) for one in builds}
        images = {
            (one.key, said.trace): said for one in builds for said in judged(tables, played[one.key], one) if runs
        }
    left = len(chosen_) * len(builds) - len(runs)
    notes = [f"{left} had a result already: --again plays them too"] if left else []
    shut = ", ".join(id_[:12] for id_ in traces if id_ not in set(chosen_))
    notes += [f"in quarantine, for they took workers with them: {shut}; --again plays them too"] if shut else []
    return _shown([(run, images[run.engine.key, run.trace]) for run in runs], notes)


def _shown(runs: Sequence[tuple[Run, Judged]], notes: Sequence[str]) -> Sheets:
    from drawtap.corpus.playing import FAILED
    from drawtap.corpus.verdicts import RED

    rows = [
        (
            run.trace[:12],
            run.engine.name,
            run.outcome,
            said.label if said.counts else None,
            run.frames,
            int(run.seconds * 1e9),
            run.last_seq,
            run.function,
            run.detail or said.detail,
        )
        for run, said in runs
    ]
    data = [
        {
            "task": run.task,
            "trace": run.trace,
            "engine": run.engine.name,
            "key": run.engine.key,
            "outcome": run.outcome,
            "frames": run.frames,
            "seconds": round(run.seconds, 6),
            "signal": run.signal,
            "call": run.last_seq,
            "function": run.function,
            "detail": run.detail,
            "images": said.label,
            "images_detail": said.detail,
        }
        for run, said in runs
    ]
    columns = ("id", "engine", "outcome", "images", "frames", "took", "call", "function", "detail")
    # Approvals decide where there are some; else the recording does.
    bad = any(said.label in RED or (run.outcome in FAILED and said.label != "approved") for run, said in runs)
    return Sheets([Rows(columns, rows, {"frames": "count", "took": "ns"}, findings=bad)], data, notes)


def _seconds(text: str) -> float:
    ns = duration_ns(text, "s")
    if not ns:
        raise UsageError(f"{text!r} is no time", hint="20s, 10min")
    return ns / 1e9


def _bytes(text: str) -> int:
    size = size_bytes(text)
    if not size:
        raise UsageError(f"{text!r} is no size", hint="512M, 4G")
    return int(size)
