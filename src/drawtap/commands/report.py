"""`drawtap report`: one page about a recording."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.commands.frames import frame_time
from drawtap.commands.info import facts, groups, problems
from drawtap.commands.sql import rows
from drawtap.errors import UsageError
from drawtap.view.result import Written
from drawtap.view.text import duration, number, size

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace
    from drawtap.view.report import CallRow, FrameRow, FunctionRow, Report, SmallTable


@command(
    section="share",
    examples=("drawtap report game.dtap", "drawtap report game.dtap -o /tmp/game.html --slowest 50"),
)
def report(
    trace: Trace,
    *,
    output: Annotated[Path | None, Opt("Where to.  [default: FILE.html]", "-o", "FILE")] = None,
    slowest: Annotated[int, Opt("So many of the slowest calls.", metavar="N")] = 25,
    force: Annotated[bool, Opt("Replace the file if it exists.", "-f")] = False,
) -> Written:
    """Write an HTML report: one file, nothing is loaded from anywhere.

    Summary, frame times with percentiles and zoom, calls and uploads per frame, calls by function, slowest calls,
    threads, contexts, and what is missing in the recording.
    """
    from drawtap.view.report import render

    target = output or trace.path.with_suffix(".html")
    if target.exists() and not force:
        raise UsageError(f"{target} exists", hint="--force replaces it")
    target.write_text(render(_collected(trace, slowest)), encoding="utf-8")
    return Written(str(target), target.stat().st_size, "report")


def _collected(trace: Trace, slowest: int) -> Report:
    from drawtap.view.report import Report

    data = facts(trace)
    about = groups(trace, data)
    frames = _frames(trace)
    program = about.get("program", {})
    functions = _functions(trace)
    total = sum(f.count for f in functions)
    return Report(
        title=Path(str(program.get("file") or trace.path)).name,
        subtitle=" · ".join(str(v) for v in (program.get("command"), about["recording"].get("recorded")) if v),
        tiles=_tiles(data, frames),
        frames=frames,
        functions=functions,
        functions_note=f"{len(functions)} functions, {number(total)} calls; time inside is what the program waited",
        slowest=_slowest(trace, slowest) if data["timing"] == "both" else [],
        tables=[_threads(trace), _contexts(trace)],
        facts=[(title, [(k, str(v)) for k, v in group.items()]) for title, group in about.items()],
        notes=_notes(trace, data, frames),
    )


def _tiles(data: Mapping[str, object], frames: list[FrameRow]) -> list[tuple[str, str]]:
    times = [f.duration_ns for f in frames if f.duration_ns]
    tiles = [(number(_int(data["frames"])), "frames")]
    if len(times) > 1:
        tiles.append((f"{1e9 * len(times) / sum(times):.1f}", "frames a second"))
    tiles.append((number(_int(data["calls"])), "calls"))
    if len(frames) > 1:
        tiles.append((number(_int(data["calls"]) // len(frames)), "calls a frame"))
    tiles.append((duration(_int(data["duration"])), "duration"))
    tiles.append((size(_int(data["payload_bytes"])), "content in arrays"))
    tiles.append((size(_int(data["file_bytes"])), "recording"))
    return tiles


def _frames(trace: Trace) -> list[FrameRow]:
    from drawtap.view.report import FrameRow

    return [
        FrameRow(_int(row["frame"]), frame_time(row), _int(row["calls"]), _int(row["upload_bytes"]))
        for row in trace.table("frames")
        if row["end_function"]
    ]


def _functions(trace: Trace) -> list[FunctionRow]:
    from drawtap.view.report import FunctionRow

    found = trace.table("histogram")
    top = max((_int(row["calls"]) for row in found), default=1)
    return [
        FunctionRow(
            str(row["name"]),
            _int(row["calls"]),
            _int(row["calls"]) / top,
            _int(row["total_ns"]),
            float(str(row["mean_ns"] or 0)),
            _int(row["max_ns"]),
        )
        for row in found
    ]


def _slowest(trace: Trace, count: int) -> list[CallRow]:
    from drawtap.view.report import CallRow

    # Which calls first, their text then: text is made only for those.
    found = rows(
        trace, f"SELECT seq, frame, thread, duration FROM calls ORDER BY duration DESC NULLS LAST LIMIT {count}"
    )
    return [
        CallRow(_int(seq), _int(frame), _int(thread), str(trace.calls[_int(seq)]), _int(taken))
        for seq, frame, thread, taken in found.rows
        if taken is not None
    ]


def _threads(trace: Trace) -> SmallTable:
    from drawtap.view.report import SmallTable

    table = [
        (str(t["thread"]), str(t["name"]), str(t["pid"]), str(t["tid"]), number(_int(t["calls"])))
        for t in trace.table("threads")
    ]
    return SmallTable("Threads", ("thread", "name", "pid", "tid", "calls"), (True, False, True, True, True), table)


def _contexts(trace: Trace) -> SmallTable:
    from drawtap.view.report import SmallTable

    table = [
        (str(c["context"]), str(c["share_group"]), str(c["api"]), str(c["first_seq"]), number(_int(c["made_current"])))
        for c in trace.table("contexts")
    ]
    columns = ("context", "share group", "API", "first call", "times made current")
    return SmallTable("Contexts", columns, (True, True, False, True, True), table)


def _notes(trace: Trace, data: Mapping[str, object], frames: list[FrameRow]) -> list[tuple[str, str]]:
    found = [("warning", line) for line in problems(data)]
    found += [("note", str(row["text"])) for row in trace.table("notes") if row["code"] != "library"][:20]
    rule = data["frame_end"]
    if not frames and isinstance(rule, Mapping):
        found.append(("note", f"There are no frames: {rule['why']}."))
    if data["timing"] != "both":
        found.append(("note", f"Recorded with --timing {data['timing']}: calls have no durations."))
    return found


def _int(value: object) -> int:
    return int(value) if isinstance(value, int | float) else 0
