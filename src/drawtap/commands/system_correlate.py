"""`drawtap system correlate`: API calls and what the kernel saw, joined."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.errors import UsageError, no_file
from drawtap.output.result import Rows, Sheets

if TYPE_CHECKING:
    from drawtap.system.correlate import Correlation
    from drawtap.system.model import KernelModel

_WORST = 10
_TIMES = ("t_start", "t_end", "from_ns", "to_ns", "begin_ns", "end_ns")


@command(
    name="system correlate",
    section="system",
    examples=(
        "drawtap system correlate game.dtap kernel.dat",
        "drawtap system correlate game.dtap kernel.dat 'SELECT name, sum(blocked_ns) AS blocked_ns FROM api_calls "
        "GROUP BY name ORDER BY 2 DESC LIMIT 5'",
        "drawtap system correlate game.dtap kernel.dat --keep both.duckdb",
    ),
)
def system_correlate(
    recording: Annotated[Path, Opt("a recording of API calls", metavar="FILE")],
    kernel: Annotated[Path, Opt("a kernel trace of the same time", metavar="TRACE")],
    query: Annotated[str | None, Opt("what to ask of both", metavar="[QUERY]")] = None,
    *,
    keep: Annotated[Path | None, Opt("Write all tables to a DuckDB database.", "-k", "FILE")] = None,
) -> Sheets | Rows:
    """Join API calls and frames with what the kernel saw of the same time: requests, threads, wake-ups.

    Every call gets its time on a CPU, preempted, blocked and waiting for a CPU. Links lead from calls to requests and
    threads, each with a confidence. Tier 1 is a fence of the kernel, 2 the same thread inside the call, 3 a helper
    thread that the call woke. drawtap report --calls draws both on one page.

    Beside the tables of `drawtap sql` a QUERY has three more. api_calls: seq, frame, tid, name, t_start, t_end,
    running_ns, preempted_ns, blocked_ns, waking_ns. api_frames: frame, draws, the same times, requests,
    longest_wait_ns. links: from_kind, from_id, to_kind, to_id, kind, tier, confidence.
    """
    from drawtap.system import reader
    from drawtap.system.correlate import correlate
    from drawtap.system.model import build
    from drawtap.trace.trace import open_trace

    if not recording.exists():
        raise no_file(recording)
    if keep is not None and keep.exists():
        raise UsageError(f"{keep} exists", hint="name another file, or delete it")
    with open_trace(recording) as api, reader.open(kernel) as trace, build(trace, database=keep) as model:
        links = correlate(api, model)
        if query is not None:
            answer = model.query(query)
            kinds = {c: "ns" for c in answer.columns if c.endswith("_ns") and c not in _TIMES}
            return Rows(answer.columns, answer.fetchall(), kinds=kinds)
        if keep is not None:
            model.query("SELECT path FROM state LIMIT 0")  # made when first asked: it is to be in the file
        return _summary(model, links, keep)


def _summary(model: KernelModel, correlation: Correlation, keep: Path | None) -> Sheets:
    frames = model.rows(
        "SELECT frame, t_end - t_start AS length_ns, running_ns, preempted_ns, blocked_ns, waking_ns, draws, requests, "
        "longest_wait_ns FROM api_frames WHERE running_ns IS NOT NULL "
        f"ORDER BY coalesce(longest_wait_ns, 0) + preempted_ns + blocked_ns + waking_ns DESC, frame LIMIT {_WORST}"
    )
    calls = model.rows(
        "SELECT name, count(*) AS calls, sum(t_end - t_start)::BIGINT AS length_ns, "
        "sum(running_ns)::BIGINT AS running_ns, "
        "sum(preempted_ns)::BIGINT AS preempted_ns, sum(blocked_ns)::BIGINT AS blocked_ns, "
        "sum(waking_ns)::BIGINT AS waking_ns FROM api_calls WHERE running_ns IS NOT NULL GROUP BY name "
        f"ORDER BY sum(t_end - t_start - running_ns) DESC, name LIMIT {_WORST}"
    )
    links = [{"tier": tier, "kind": kind, "links": n} for (tier, kind), n in correlation.links.items()]
    data = {
        "begin_ns": correlation.begin_ns,
        "end_ns": correlation.end_ns,
        "calls": correlation.calls,
        "covered": correlation.covered,
        "links": links,
        "frames": frames,
        "functions": calls,
        "notes": list(correlation.notes),
    }
    notes = [
        f"{correlation.covered} of {correlation.calls} calls lie in what the kernel trace covers",
        *correlation.notes,
    ]
    notes += [f"all tables: {keep}"] if keep else []
    return Sheets(
        [
            _table("Links", links),
            _table("Frames that lost most time", frames),
            _table("Functions that were off the CPU longest", calls),
        ],
        data,
        notes,
    )


def _table(title: str, records: list[dict[str, object]]) -> Rows:
    columns = tuple(records[0]) if records else ()
    used = tuple(c for c in columns if any(r[c] is not None for r in records))
    kinds = dict.fromkeys(("calls", "links", "draws", "requests"), "count")
    kinds |= {c: "ns" for c in used if c.endswith("_ns")}
    return Rows(used, [[r[c] for c in used] for r in records], kinds=kinds, title=title)
