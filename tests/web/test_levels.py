"""Levels of detail equal sums over all rows, at every zoom."""

from __future__ import annotations

import numpy as np
import pytest

from drawtap.trace.result import connect
from drawtap.web.levels import CounterSource, SpanSource, Window

LENGTH = 50_000_000
ZOOMS = (1, 16, 300, 5_000, 40_000)


@pytest.fixture(scope="module")
def spans():
    """Return a connection with spans of two series: short ones, some over many steps, some without length."""
    connection = connect()
    connection.execute(
        f"""
        SELECT setseed(0.5);
        CREATE TABLE spans AS
        SELECT CASE WHEN range % 3 = 0 THEN 'long' ELSE 'short' END AS track, range AS id, b,
               b + CASE WHEN range % 3 = 0 THEN (random() * {LENGTH} / 40)::BIGINT
                        WHEN range % 7 = 0 THEN 0 ELSE (random() * 900)::BIGINT END AS e, 'n' || range % 5 AS name
        FROM (SELECT range, 1000 + range * 4000 + (random() * 500)::BIGINT AS b FROM range(12000))
        """
    )
    return connection


def _exact(connection, window: Window, series: str) -> tuple[list[int], list[int]]:
    a, w = window.begin + 1000, 1 << window.shift
    busy = connection.execute(
        f"""
        WITH steps AS (
          SELECT range AS i, {a} + range * {w} AS lo, {a} + (range + 1) * {w} AS hi FROM range({window.count})
        )
        SELECT i, coalesce(sum(greatest(least(e, hi) - greatest(b, lo), 0)) FILTER (id IS NOT NULL), 0),
               count(*) FILTER (b >= lo AND b < hi)
        FROM steps LEFT JOIN spans ON track = '{series}' AND e >= lo AND b < hi GROUP BY i ORDER BY i
        """
    ).fetchall()
    return [int(row[1]) for row in busy], [int(row[2]) for row in busy]


@pytest.mark.parametrize("zoom", ZOOMS)
def test_sums_are_exact_at_every_zoom(spans, zoom):
    def rows(first: int | None, end: int | None) -> str:
        return "SELECT * FROM spans" + ("" if first is None else f" WHERE id >= {first} AND id < {end}")

    source = SpanSource(lambda sql: spans.cursor().execute(sql).fetchnumpy(), rows, 1000, LENGTH)
    span = LENGTH // zoom
    window = Window.of(LENGTH // 3 if zoom > 1 else 0, (LENGTH // 3 if zoom > 1 else 0) + span, 300)
    assert 100 < window.count <= 300
    found = source.sums(window, ["long", "short"])
    for series in ("long", "short"):
        busy, count = _exact(spans, window, series)
        nothing = [0] * window.count
        assert (found[series].busy.tolist() if series in found else nothing) == busy
        assert (found[series].count.tolist() if series in found else nothing) == count
    totals = {row[0]: 0 for row in source.totals(window.begin, window.end, ["long", "short"], 100)}
    for series, _, _, ns, _, _ in source.totals(window.begin, window.end, ["long", "short"], 100):
        totals[series] += ns
    assert totals == {series: int(found[series].busy.sum()) if series in found else 0 for series in totals}


def test_extremes_hold_until_the_next_value():
    connection = connect()
    connection.execute(
        "CREATE TABLE c AS SELECT 'n' AS track, 1000 + range * 64 AS t, range % 5 AS value FROM range(100)"
    )
    source = CounterSource(lambda sql: connection.cursor().execute(sql).fetchnumpy(), "SELECT * FROM c", 1000)
    low, high = source.extremes(Window(5, 3, 20), ["n"])["n"]  # steps of 32: every other one has a value of its own
    values = [i % 5 for i in range(100)]
    for step in range(20):
        here = (step + 3) // 2
        held = [values[here], values[(step + 2) // 2]]
        assert (low[step], high[step]) == (min(held), max(held))
    assert np.isnan(source.extremes(Window(5, -9, 4), ["n"])["n"][0]).all()
    assert source.totals(0, 640, ["n"]) == [("n", 10, 0.0, 2.0, 4.0)]
