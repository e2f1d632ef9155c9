"""A recording as one engine plays it: the times of its frames and calls, for analysis.slower."""

from __future__ import annotations

from collections.abc import Sequence

from drawtap.analysis.slower import Readings, Side, played
from drawtap.errors import UnavailableError, UsageError
from drawtap.metrics import listing, passes, profile
from drawtap.replay import engine
from drawtap.trace.trace import Trace

_CLOCK, _GPU = "cpu:time/wall", ("gl:time/elapsed", "vk:time/elapsed")
_MOST_CALLS = 200_000  # for which each call is measured; for more each draw


def side(
    trace: Trace,
    engine_name: str = "system",
    *,
    frames: range | None = None,
    metrics: Sequence[str] = (),
    repeat: int = 3,
) -> Side:
    """Play a recording on an engine and return its frames, with times of calls (draws alone where there are very many).

    The GPU's time is measured beside where it can be had. `metrics` are ids and patterns of more, for frames.
    Raises UsageError for a metric that is not known, UnavailableError where nothing can be measured.
    """
    environment = engine.environment_of(engine_name)
    known = listing.metrics(trace.path, environment=environment)
    chosen = [m for m in known if m.id in (_CLOCK, *_GPU) and not m.missing]
    if not any(m.id == _CLOCK for m in chosen):
        raise UnavailableError(f"{engine_name} has no clock", hint="drawtap profile --list says why")
    more = [m for m in listing.chosen(known, list(metrics)) if m not in chosen] if metrics else []
    per = "call" if len(trace.calls) <= _MOST_CALLS else "draw"
    wanted = profile.ProfileOptions(frames, repeat=repeat, images=False)
    plan = passes.plan(trace.path, chosen[:1], ["frame", per], environment=environment, frame_end=trace.frame_end)
    rows, on = profile.readings(trace, plan, wanted, environment=environment)
    others = chosen[1:] + more
    if others:
        # In replays of their own: what counting costs must not stand in the times.
        plan = passes.plan(trace.path, others, ["frame"], environment=environment, frame_end=trace.frame_end)
        counting = profile.ProfileOptions(frames, repeat=1, images=False)
        rows += profile.readings(trace, plan, counting, environment=environment)[0]
    times = {r.number: r.value for r in rows if r.per == "frame" and r.metric == _CLOCK and r.value is not None}
    calls = {r.seq: r.value for r in rows if r.per == per and r.metric == _CLOCK and r.value is not None}
    if not times:
        raise UsageError(f"{trace.path.name} has no frames to measure", hint="drawtap frames lists them")
    beside: dict[str, dict[int, float]] = {}
    work: dict[str, dict[int, float]] = {}
    units = {m.id: m.unit for m in others}
    for row in rows:
        if row.per == "frame" and row.metric in units and row.value is not None:
            table = beside if units[row.metric] == "ns" else work
            table.setdefault(row.metric, {})[row.number] = row.value
    name = f"{trace.path.name} on {engine_name} ({on.partition(',')[0].partition(' (')[0]})"
    return played(trace, name, Readings(times, calls, beside, work, units))
