"""Prepare a kernel trace for drawing: sums per bucket of time for all of it, single spans where there is room for them.

A picture of a million requests needs two things. Zoomed out, how busy every track was: `busy` gives the exact time per
bucket, and a viewer adds neighbours for coarser levels, so no level loses a nanosecond. Zoomed in, the spans
themselves: `windows` chooses the times for which all spans fit into a bound, around the moments that somebody wants to
look at, and `spans` reads them. All of it is SQL and arrays; there is no Python object per span.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from drawtap.errors import UsageError
from drawtap.system import cpus, listing
from drawtap.system.metrics import GROUPS
from drawtap.system.model import KernelModel
from drawtap.trace.result import connect

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

# The parts that are drawn: a thread that waits for something is a gap.
DRAWN = "NOT (kind = 'blocked' AND track LIKE 'thread/%')"
# All parts that are drawn: work stands in the row of its thread and in the row of its CPU.
SHOWN = f"""
    SELECT id, track, kind, begin_ns, end_ns, request, vgpu, name FROM spans WHERE {DRAWN}
    UNION ALL {cpus.SPANS}
"""


@dataclass(frozen=True)
class Buckets:
    """A window of a trace, cut into buckets of the same length; the last one may reach over the end."""

    begin: int
    end: int
    width: int
    count: int

    @classmethod
    def of(cls, begin: int, end: int, most: int) -> Buckets:
        """Cut a window into at most `most` buckets."""
        width = max(1, -(-(end - begin) // most))
        return cls(begin, end, width, max(1, -(-(end - begin) // width)))


@dataclass(frozen=True)
class Level:
    """Busy time in each bucket, in ns: exact, and clipped to the window."""

    name: str
    kind: str
    busy: Ints


@dataclass(frozen=True)
class CounterLevel:
    """A counter in buckets: its mean over time and its maximum. NaN before its first value."""

    track: str
    unit: str
    mean: Floats
    top: Floats


def check_window(model: KernelModel, begin: int | None, end: int | None) -> tuple[int, int]:
    """Return a window of the trace; without bounds, all of it. Raises UsageError where it is empty."""
    first, last = model.window
    a, b = first if begin is None else max(begin, first), last if end is None else min(end, last)
    if b <= a and (begin is not None or end is not None):
        raise UsageError("the window is empty", hint=f"the trace goes from {first} to {last}")
    return a, max(b, a + 1)


def tracks(model: KernelModel, buckets: Buckets, *, threads: bool) -> list[Level]:
    """Return how much of each kind of span there was on each track: of threads, or of everything else.

    Spans that overlap are added up, so a queue of three is busy for three times the bucket. Times in which a thread
    waits for something (`blocked`) are left out, marks too.
    """
    where = "track LIKE 'thread/%' OR track LIKE 'vcpu/%' OR track LIKE 'guest/%/thread/%'"
    rest = f"({where}) AND {DRAWN}" if threads else f"NOT ({where})"
    return _levels(model, buckets, f"SELECT track, kind, begin_ns, end_ns FROM spans WHERE {rest}")


def on_cpus(model: KernelModel, buckets: Buckets, shown: Sequence[str], others: str) -> list[Level]:
    """Return how long each owner of `shown` was on each CPU, and all others together as `others`.

    `Level.kind` is the owner. Owners are virtual machines and processes; see `drawtap.system.cpus`.
    """
    levels = _levels(model, buckets, cpus.pieces(shown, others))
    return sorted(levels, key=lambda x: (int(x.name.split("/")[1]), [*shown, others].index(x.kind)))


def marks(model: KernelModel, buckets: Buckets) -> list[Level]:
    """Return how many marks (spans without length) each track has in each bucket: numbers in place of times."""
    a, b, w = buckets.begin, buckets.end, buckets.width
    cursor = model.connection.cursor()
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE level_marks AS
        SELECT track, least(begin_ns - {a}, {b - a} - 1) // {w} AS bucket, count(*) AS n FROM spans
        WHERE kind = 'mark' AND end_ns = begin_ns AND begin_ns BETWEEN {a} AND {b} GROUP BY ALL
        """
    )
    names = cursor.execute("SELECT DISTINCT track FROM level_marks ORDER BY track").fetchall()
    columns = cursor.execute(
        "SELECT dense_rank() OVER (ORDER BY track) - 1 AS series, bucket, n FROM level_marks"
    ).fetchnumpy()
    cursor.close()
    counts = np.zeros((len(names), buckets.count), dtype=np.int64)
    counts[_ints(columns["series"]), _ints(columns["bucket"])] = _ints(columns["n"])
    return [Level(str(track), "mark", counts[i]) for i, (track,) in enumerate(names)]


def busy(model: KernelModel, group: str, buckets: Buckets) -> list[Level]:
    """Return how long each engine, client, virtual GPU or guest had work on an engine: `group` is a key of `GROUPS`.

    A union: what overlaps counts once, as in the utilisation of `drawtap system metrics`. Names are the columns of the
    group, with tabs between them.
    """
    columns, condition = GROUPS[group]
    key = " || chr(9) || ".join(f"q.{c}::VARCHAR" for c in columns)
    a, b = buckets.begin, buckets.end
    return _levels(
        model,
        buckets,
        f"""
        WITH clipped AS (
          SELECT {key} AS track, greatest(s.begin_ns, {a}) AS b, least(s.end_ns, {b}) AS e
          FROM executions s JOIN requests q ON q.id = s.request
          WHERE {condition} AND s.end_ns > {a} AND s.begin_ns < {b}
        ), swept AS (
          SELECT *, max(e) OVER (PARTITION BY track ORDER BY b, e
                                 ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS seen FROM clipped
        )
        SELECT track, 'execution' AS kind, greatest(b, coalesce(seen, b)) AS begin_ns, e AS end_ns
        FROM swept WHERE e > coalesce(seen, b)
        """,
    )


def _levels(model: KernelModel, buckets: Buckets, pieces: str) -> list[Level]:
    # A span adds one to the height of its track from its begin on, and takes it away at its end. Inside a bucket that
    # is the rest of the bucket, in all later ones the whole width: no span is looked at once per bucket it covers.
    a, b, w = buckets.begin, buckets.end, buckets.width
    cursor = model.connection.cursor()
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE level_edges AS
        WITH clipped AS (
          SELECT track, kind, greatest(begin_ns, {a}) - {a} AS b, least(end_ns, {b}) - {a} AS e FROM ({pieces})
          WHERE end_ns > {a} AND begin_ns < {b} AND end_ns > begin_ns
        ), edges AS (
          SELECT track, kind, b AS t, 1 AS d FROM clipped UNION ALL SELECT track, kind, e, -1 FROM clipped
        )
        SELECT track, kind, t // {w} AS bucket, sum(d)::BIGINT AS height,
               sum(d * ((t // {w} + 1) * {w} - t))::BIGINT AS part
        FROM edges GROUP BY ALL
        """
    )
    names = cursor.execute("SELECT DISTINCT track, kind FROM level_edges ORDER BY track, kind").fetchall()
    columns = cursor.execute(
        """
        SELECT dense_rank() OVER (ORDER BY track, kind) - 1 AS series, bucket, height, part FROM level_edges
        """
    ).fetchnumpy()
    cursor.execute("DROP TABLE level_edges")
    cursor.close()
    series, at = _ints(columns["series"]), _ints(columns["bucket"])
    # One column more: what ends with the window ends where it would begin.
    parts = np.zeros((len(names), buckets.count + 1), dtype=np.int64)
    heights = np.zeros_like(parts)
    parts[series, at] = _ints(columns["part"])
    heights[series, at] = _ints(columns["height"])
    before = np.cumsum(heights, axis=1)[:, :-1]
    sums = parts[:, :-1].copy()
    sums[:, 1:] += buckets.width * before[:, :-1]
    return [Level(str(track), str(kind), sums[i]) for i, (track, kind) in enumerate(names)]


def counters(model: KernelModel, buckets: Buckets, source: str = "counters") -> list[CounterLevel]:
    """Return every counter in buckets. `source`: a table, or SQL in brackets, with the columns of `counters`."""
    a, b = buckets.begin, buckets.end
    cursor = model.connection.cursor()
    names = cursor.execute(f"SELECT track, any_value(unit) FROM {source} GROUP BY track ORDER BY track").fetchall()
    levels = []
    for track, unit in names:
        rows = cursor.execute(
            f"""
            WITH held AS (
              SELECT greatest(t_ns, {a}) - {a} AS b, value,
                     least(coalesce(lead(t_ns) OVER (ORDER BY t_ns), {b}), {b}) - {a} AS e
              FROM {source} WHERE track = ?
            )
            SELECT b, e, value FROM held WHERE e > b ORDER BY b
            """,
            [track],
        ).fetchnumpy()
        levels.append(CounterLevel(str(track), str(unit), *_held(rows, buckets, nobody=unit == "count")))
    cursor.close()
    return levels


def memory(machines: bool, basis: str) -> str:
    """Return GPU memory as a source of counters: a track for each process or virtual machine and GPU, tab between."""
    name, condition = ("vm", "client IS NULL") if machines else ("client", "client IS NOT NULL")
    return (
        f"(SELECT {name} || chr(9) || device AS track, t_ns, bytes::DOUBLE AS value, 'bytes' AS unit FROM memory_use "
        f"WHERE {condition} AND basis = '{basis}')"
    )


def _held(rows: Mapping[str, Any], buckets: Buckets, *, nobody: bool) -> tuple[Floats, Floats]:
    # `nobody`: before its first value the counter is nought, not unknown: nobody waits yet.
    width = buckets.width
    mean = np.full(buckets.count, np.nan)
    top = np.full(buckets.count, np.nan)
    begins, ends, values = _ints(rows["b"]), _ints(rows["e"]), np.asarray(rows["value"], dtype=np.float64)
    if nobody and len(begins) and begins[0] > 0:
        begins, ends, values = np.insert(begins, 0, 0), np.insert(ends, 0, begins[0]), np.insert(values, 0, 0.0)
    if not len(begins):
        return mean, top
    # The integral up to each step, looked up at the edges of buckets.
    edges = np.minimum(np.arange(buckets.count + 1, dtype=np.int64) * width, buckets.end - buckets.begin)
    area = np.concatenate(([0.0], np.cumsum(values * (ends - begins))))
    at = np.clip(np.searchsorted(begins, edges, side="right") - 1, 0, len(begins) - 1)
    inside = np.clip(edges - begins[at], 0, ends[at] - begins[at])
    total = area[at] + values[at] * inside
    known = edges[1:] > begins[0]
    spanned = np.maximum(edges[1:] - np.maximum(edges[:-1], begins[0]), 1)
    mean[known] = ((total[1:] - total[:-1]) / spanned)[known]
    # A bucket's maximum: over the values that begin in it, and the value at its begin.
    top[known] = values[at[:-1]][known]
    np.fmax.at(top, np.minimum(begins // width, buckets.count - 1), values)
    return mean, top


def windows(model: KernelModel, buckets: Buckets, moments: Sequence[int], bound: int) -> list[tuple[int, int]]:
    """Choose the times in which all spans together are at most `bound`: all of the window, or around the moments.

    Grows from every moment to both sides, bucket by bucket, in turn; without moments, from the begin of the window.
    """
    a, b, w = buckets.begin, buckets.end, buckets.width
    cursor = model.connection.cursor()
    columns = cursor.execute(
        f"""
        SELECT greatest(begin_ns - {a}, 0) // {w} AS first, least(greatest(end_ns - 1, begin_ns) - {a},
                 {b - a} - 1) // {w} AS last, count(*) AS n
        FROM ({SHOWN}) WHERE end_ns >= {a} AND begin_ns < {b}
        GROUP BY ALL
        """
    ).fetchnumpy()
    cursor.close()
    first, last, n = _ints(columns["first"]), _ints(columns["last"]), _ints(columns["n"])
    if int(n.sum()) <= bound:
        return [(a, b)]
    # A span costs in the first chosen bucket that it touches: counting it in each of them is a bound from above.
    change = np.zeros(buckets.count + 1, dtype=np.int64)
    np.add.at(change, first, n)
    np.add.at(change, last + 1, -n)
    cost = np.cumsum(change)[:-1]
    chosen = _grown(cost, sorted({min(max((m - a) // w, 0), buckets.count - 1) for m in moments}) or [0], bound)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], chosen.astype(np.int8), [0]))))
    return [(a + int(lo) * w, min(b, a + int(hi) * w)) for lo, hi in zip(edges[::2], edges[1::2], strict=True)]


def _grown(cost: Ints, seeds: Sequence[int], bound: int) -> npt.NDArray[np.bool_]:
    chosen = np.zeros(len(cost), dtype=bool)
    sides = [[seed, seed] for seed in seeds]  # the next bucket to the left and to the right of each
    left = bound
    while sides:
        for side in list(sides):
            grew = False
            for which, step in ((0, -1), (1, 1)):
                while 0 <= side[which] < len(cost) and chosen[side[which]]:
                    side[which] += step
                at = side[which]
                if 0 <= at < len(cost) and cost[at] <= left:
                    chosen[at] = True
                    left -= int(cost[at])
                    grew = True
            if not grew:
                sides.remove(side)
    return chosen


def spans(model: KernelModel, chosen: Sequence[tuple[int, int]], begin: int, kept: Sequence[str]) -> dict[str, Any]:
    """Return all spans of the tracks `kept` that touch the chosen times, by track and begin, as columns.

    `track` is the number in `kept`; `name` a number in `names` of the result, `number` what follows the name (-1:
    nothing); `request` and `vgpu` -1 for none. Times are since `begin`.
    """
    cursor = model.connection.cursor()
    cursor.execute("CREATE OR REPLACE TEMP TABLE kept_tracks AS SELECT unnest(?) AS track", [list(kept)])
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE chosen_spans AS
        SELECT s.id, s.track, s.kind, s.begin_ns - {begin} AS b, s.end_ns - s.begin_ns AS length, s.request, s.vgpu,
               regexp_extract(s.name, '^(.*?)(0|[1-9][0-9]{{0,14}})?$', 1) AS base,
               coalesce(try_cast(regexp_extract(s.name, '^(.*?)(0|[1-9][0-9]{{0,14}})?$', 2) AS BIGINT), -1) AS number
        FROM ({SHOWN}) s JOIN kept_tracks USING (track)
        WHERE {" OR ".join(f"(s.end_ns >= {a} AND s.begin_ns < {b})" for a, b in chosen) or "false"}
        """
    )
    result: dict[str, Any] = {}
    for column in ("kind", "base"):
        rows = cursor.execute(f"SELECT DISTINCT {column} FROM chosen_spans ORDER BY 1").fetchall()
        result[f"{column}s"] = [str(r[0]) for r in rows]
    cursor.execute("CREATE OR REPLACE TEMP TABLE kinds AS SELECT unnest(?) AS kind, unnest(range(?)) AS n",
                   [result["kinds"], len(result["kinds"])])  # fmt: skip
    cursor.execute("CREATE OR REPLACE TEMP TABLE bases AS SELECT unnest(?) AS base, unnest(range(?)) AS n",
                   [result["bases"], len(result["bases"])])  # fmt: skip
    cursor.execute("CREATE OR REPLACE TEMP TABLE numbered AS SELECT unnest(?) AS track, unnest(range(?)) AS n",
                   [list(kept), len(kept)])  # fmt: skip
    columns = cursor.execute(
        """
        SELECT t.n AS track, k.n AS kind, n.n AS base, s.number, s.b AS "begin", s.length,
               coalesce(s.request, -1) AS request, coalesce(s.vgpu, -1) AS vgpu
        FROM chosen_spans s JOIN numbered t USING (track) JOIN kinds k USING (kind) JOIN bases n USING (base)
        ORDER BY t.n, s.b, s.length
        """
    ).fetchnumpy()
    cursor.close()
    return result | {"columns": {name: _ints(values) for name, values in columns.items()}}


def arrows(
    model: KernelModel, chosen: Sequence[tuple[int, int]], begin: int, kept: Sequence[str], most: int
) -> dict[str, Ints]:
    """Return links between tracks that are not the way of one request, as columns; at most `most` of each kind.

    `kind`: 0 a thread or an API call asks for a request, 1 a thread waited for a request, 2 a thread wakes a thread.
    `request` -1 for none.
    """
    inside = " OR ".join(f"(to_ns >= {a} AND from_ns < {b})" for a, b in chosen) or "false"
    cursor = model.connection.cursor()
    cursor.execute("CREATE OR REPLACE TEMP TABLE numbered AS SELECT unnest(?) AS track, unnest(range(?)) AS n",
                   [list(kept), len(kept)])  # fmt: skip
    columns = cursor.execute(
        f"""
        WITH firsts AS (
          SELECT request, arg_min(track, begin_ns) AS track, min(begin_ns) AS begin_ns,
                 arg_max(track, end_ns) AS last_track FROM spans
          WHERE request IS NOT NULL AND track NOT LIKE 'guest/%' GROUP BY request
        ), every AS (
          SELECT 0 AS kind, 'thread/' || r.tid AS from_track, f.begin_ns AS from_ns, f.track AS to_track,
                 f.begin_ns AS to_ns, r.id AS request
          FROM requests r JOIN firsts f ON f.request = r.id WHERE r.tid IS NOT NULL
            AND r.id NOT IN (SELECT host_request FROM guest_requests WHERE host_request IS NOT NULL)
          UNION ALL
          SELECT 0, 'guest/' || g.guest || '/thread/' || g.tid, s.begin_ns, s.track, s.begin_ns, s.request
          FROM guest_requests g JOIN spans s ON s.request = g.host_request AND s.kind = 'guest queue'
          UNION ALL
          SELECT 0, s.track, l.from_ns, f.track, f.begin_ns, f.request
          FROM links l JOIN spans s ON s.id = l.from_id JOIN spans e ON e.id = l.to_id
          JOIN firsts f ON f.request = e.request
          WHERE l.kind = 'submits' AND l.from_kind = 'span' AND l.to_kind = 'span'
          UNION ALL
          SELECT 1, f.last_track, l.from_ns, s.track, l.to_ns, l.from_id
          FROM links l JOIN firsts f ON f.request = l.from_id JOIN spans s ON s.id = l.to_id
          WHERE l.kind = 'waits for' AND l.from_kind = 'request' AND l.to_kind = 'span'
          UNION ALL
          SELECT 2, 'thread/' || from_id, from_ns, 'thread/' || to_id, to_ns, -1 FROM links
          WHERE kind = 'wakes' AND from_kind = 'thread' AND to_kind = 'thread'
        )
        SELECT kind, f.n AS "from", from_ns - {begin} AS from_ns, t.n AS "to", to_ns - {begin} AS to_ns, request
        FROM every JOIN numbered f ON f.track = from_track JOIN numbered t ON t.track = to_track
        WHERE {inside} QUALIFY row_number() OVER (PARTITION BY kind ORDER BY from_ns) <= {most}
        ORDER BY kind, from_ns
        """
    ).fetchnumpy()
    cursor.close()
    return {name: _ints(values) for name, values in columns.items()}


def points(
    model: KernelModel,
    chosen: Sequence[tuple[int, int]],
    begin: int,
    track: str,
    *,
    most: int,
    source: str = "counters",
) -> tuple[Ints, Floats] | None:
    """Return the steps of a counter in the chosen times, with the last before each; None where they are too many."""
    cursor = model.connection.cursor()
    inside = " OR ".join(f"(coalesce(next_ns, {b}) >= {a} AND t_ns < {b})" for a, b in chosen) or "false"
    columns = cursor.execute(
        f"""
        SELECT t_ns - {begin} AS t, value FROM (
          SELECT t_ns, value, lead(t_ns) OVER (ORDER BY t_ns) AS next_ns FROM {source} WHERE track = ?
        ) WHERE {inside} ORDER BY t_ns LIMIT {most + 1}
        """,
        [track],
    ).fetchnumpy()
    cursor.close()
    if len(columns["t"]) > most:
        return None
    return _ints(columns["t"]), np.asarray(columns["value"], dtype=np.float64)


def histograms(model: KernelModel, buckets: Buckets) -> list[tuple[str, str, str, Ints, Ints, Ints]]:
    """Return how many requests took how long: (measure, engine, client, bucket of time, step, count).

    A request counts where its wait, execution or latency ended. Step s holds lengths from 2^(s/4) ns on; step 0 has
    lengths of 0 too.
    """
    a, b, w = buckets.begin, buckets.end, buckets.width
    union = " UNION ALL ".join(
        f"SELECT '{measure}' AS measure, device, engine, client, {measure}_ns AS ns, {at} AS t FROM requests"
        for measure, at in (("wait", "begin_ns"), ("execution", "end_ns"), ("latency", "coalesce(end_ns, done_ns)"))
    )
    cursor = model.connection.cursor()
    rows = cursor.execute(
        f"""
        SELECT measure, coalesce(device || '/' || engine, '') AS engine, coalesce(client, '') AS client,
               list(bucket ORDER BY bucket, step), list(step ORDER BY bucket, step), list(n ORDER BY bucket, step)
        FROM (
          SELECT measure, device, engine, client, least(t - {a}, {b - a} - 1) // {w} AS bucket,
                 CASE WHEN ns < 1 THEN 0 ELSE floor(4 * log2(ns))::INTEGER END AS step, count(*) AS n
          FROM ({union}) WHERE ns IS NOT NULL AND t BETWEEN {a} AND {b} GROUP BY ALL
        ) GROUP BY measure, device, engine, client ORDER BY ALL
        """
    ).fetchall()
    cursor.close()
    return [(str(m), str(e), str(c), _ints(bucket), _ints(step), _ints(count)) for m, e, c, bucket, step, count in rows]


def events(
    model: KernelModel, chosen: Sequence[tuple[int, int]], begin: int, moments: Sequence[int], most: int
) -> tuple[dict[str, list[Any]], bool]:
    """Return events of the trace as columns (t, event, cpu, tid, comm, text), and whether these are all.

    Where there are more than `most`, those from the chosen times, from each moment on in turn.
    """
    with connect() as cursor:
        whole = _events(model, cursor, chosen[0] if len(chosen) == 1 else model.window, most + 1) if most else None
        if whole is not None and len(whole["t"]) <= most and len(chosen) == 1:
            return _since(whole, begin), True
        share = max(1, most // max(len(chosen), 1)) if most else 0
        out: dict[str, list[Any]] = {name: [] for name in ("t", "event", "cpu", "tid", "comm", "text")}
        for a, b in chosen if most else ():
            inside = sorted(m for m in moments if a <= m < b)
            part = _events(model, cursor, (inside[0] if inside else a, b), share)
            for name, values in part.items():
                out[name] += values
        return _since(out, begin), False


def _since(columns: dict[str, list[Any]], begin: int) -> dict[str, list[Any]]:
    return columns | {"t": [t - begin for t in columns["t"]]}


def _events(
    model: KernelModel, cursor: duckdb.DuckDBPyConnection, window: tuple[int, int], most: int
) -> dict[str, list[Any]]:
    rows = listing.rows(model.source, cursor, begin=window[0], end=window[1] + 1, most=most)
    return {name: [row[i] for row in rows] for i, name in enumerate(listing.COLUMNS)}


def _ints(values: Any) -> Ints:
    return np.ascontiguousarray(np.ma.filled(values, -1), dtype=np.int64)
