"""A recording as a timeline for Perfetto: frames, calls of each thread, and what was measured as counters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from drawtap.errors import whole_file
from drawtap.system.native import Plan, write
from drawtap.tables.recording import ThreadRow
from drawtap.trace import measured

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

_FRAMES, _MEASURED = 0, 1  # numbers of the first tracks

_SPANS = """
SELECT * FROM (
  SELECT 0::BIGINT AS track, 0::BIGINT AS lane, t_start::BIGINT AS begin_ns, t_end::BIGINT AS end_ns,
         'frame ' || frame AS name, 'frame' AS kind, frame::BIGINT AS id, NULL::BIGINT AS request
  FROM frames WHERE t_start IS NOT NULL AND t_end IS NOT NULL
  UNION ALL
  SELECT {first} + thread::BIGINT, 0, t_start::BIGINT, (t_start + duration)::BIGINT, name, 'call', seq::BIGINT, NULL
  FROM calls WHERE duration IS NOT NULL AND t_start IS NOT NULL
) ORDER BY begin_ns, end_ns DESC
"""
# A value stands where its frame or draw began in the recording; behind the last frame everything is 0. Runs that were
# added measured other metrics: the last run that has a metric gives it, as in the report.
_COUNTERS = """
SELECT t.track::BIGINT AS track, c.t_start::BIGINT AS t_ns, m.value::DOUBLE AS value
FROM metrics m JOIN (SELECT unnest($names::VARCHAR[]) AS name, unnest($kinds::VARCHAR[]) AS per,
                            unnest($numbers::BIGINT[]) AS track) t ON t.name = m.name AND t.per = m.per
JOIN calls c ON c.seq = m.seq
WHERE m.value IS NOT NULL AND c.t_start IS NOT NULL
QUALIFY m.run = max(m.run) OVER (PARTITION BY m.name, m.per)
ORDER BY t_ns
"""
_NOTHING = "SELECT NULL::BIGINT AS track, NULL::BIGINT AS t_ns, NULL::DOUBLE AS value WHERE false"
_ARROWS = "SELECT NULL::BIGINT AS from_span, NULL::BIGINT AS to_span WHERE false"


def write_timeline(trace: Trace, path: Path) -> int:
    """Write a recording, with what was measured of it, as Perfetto's TrackEvent; return the bytes written.

    Times come from the recording. Calls need durations (`record --timing both`).
    """
    counters = _measured(trace)
    threads = trace.table(ThreadRow)
    tracks: list[tuple[str, int, str | None]] = [("frames", -1, None), ("measured", -1, None)]
    tracks += [(f"{name} per {per}", _MEASURED, unit) for name, per, unit in counters]
    first = len(tracks)
    tracks += [(f"thread {t['thread']} {t['name'] or ''}".strip(), -1, None) for t in threads]
    begin = int(trace.frames[0].t_start or 0) if len(trace.frames) else 0
    plan = Plan().number(len(tracks))
    for name, parent, unit in tracks:
        plan.text(name).number(parent, unit is not None).text(unit or "")
    plan.number(begin).text(f"CLOCK_MONOTONIC of {trace.path.name}")
    values = {
        "names": [name for name, _, _ in counters],
        "kinds": [per for _, per, _ in counters],
        "numbers": [_MEASURED + 1 + i for i in range(len(counters))],
    }
    measured_rows = trace.sql(_COUNTERS, values) if counters else trace.sql(_NOTHING)
    with whole_file(path) as part:
        return write("perfetto", plan, [trace.sql(_SPANS.format(first=first)), measured_rows, trace.sql(_ARROWS)], part)


def _measured(trace: Trace) -> list[tuple[str, str, str]]:
    if not measured.files(trace.path):
        return []
    rows = trace.sql(
        "SELECT name, per, any_value(unit) FROM metrics WHERE per IN ('frame', 'draw') AND name NOT LIKE '%/start' "
        "AND value IS NOT NULL GROUP BY name, per ORDER BY per DESC, name"
    )
    return [(str(name), str(per), str(unit)) for name, per, unit in rows]
