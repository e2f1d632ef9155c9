"""Bars, columns of the list, and marks: their numbers are those of SQL, and keys reach them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import duckdb
import numpy as np
import pytest

import drawtap
from shared import BROWSER
from web.conftest import Server
from web.test_time import read, rows_of

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")


@pytest.fixture(scope="module")
def measured(recordings: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a recording with a metric per draw, one per frame, and a sensor."""
    folder = tmp_path_factory.mktemp("measured")
    path = Path(shutil.copy(recordings / "fbo_chain.dtap", folder / "m.dtap"))
    with drawtap.open(path) as trace:
        draws = [seq for (seq,) in trace.sql("SELECT seq FROM draws WHERE kind = 'draw' ORDER BY seq").fetchall()]
    (folder / "m_metrics").mkdir()
    (folder / "m_inst").mkdir()
    rows = ", ".join(f"({seq}, {seq % 7}.5)" for seq in draws)
    duckdb.execute(
        f"""
        COPY (SELECT s::UBIGINT AS seq, 'fragments' AS name, v::DOUBLE AS value, 'draw' AS per, 'count' AS unit,
                     0 AS run, NULL::UBIGINT AS number FROM (VALUES {rows}) AS t(s, v)
              UNION ALL SELECT 0, '<b>gpu</b> time', 5.0, 'frame', 'ns', 0, 0)
        TO '{folder}/m_metrics/1.parquet' (FORMAT parquet)
        """
    )
    duckdb.execute(
        f"COPY (SELECT range AS frame, range * 2.0 AS watts FROM range(30)) TO '{folder}/m_inst/sensors.parquet'"
    )
    return path


@pytest.fixture(scope="module")
def bars(measured: Path) -> Iterator[Server]:
    """Serve it."""
    running = Server(measured)
    yield running
    assert running.close() == 0


def test_draws_of_a_program_have_their_cost(opened, bars, measured):
    with drawtap.open(measured) as trace:
        draws = trace.sql("SELECT seq, program FROM draws WHERE kind = 'draw' ORDER BY seq").fetchall()
    seq, program = draws[-1]
    mine = [one for one, of in draws if of == program]
    sums = [sum(one % 7 + 0.5 for one in some) for some in (mine, [one for one, _ in draws])]
    found = bars.get(f"program/{seq}/cost")
    assert (found["draws"], found["measured"]) == (len(mine), True)
    assert found["sums"][1] == ["fragments", "count", sums[0], pytest.approx(sums[0] / sums[1])]
    assert 0 < len(mine) < len(draws)
    page = opened(f"call={seq}&tab=shader", bars)
    page.page.get_by_role("button", name="its cost").click()
    page.reads(f"{100 * sums[0] / sums[1]:.1f} %")


def _values(server: Server, key: str) -> dict[int, float]:
    head, data = read(server.ask(f"/api/0/series?of={quote(key)}").body)
    keys = np.frombuffer(data, "<u4", head["n"])
    return dict(
        zip(keys.tolist(), np.frombuffer(data, "<f8", head["n"], -(-4 * head["n"] // 8) * 8).tolist(), strict=True)
    )


def test_series_are_those_of_sql(bars, measured):
    listed = {s["key"]: s for s in bars.get("series")}
    with drawtap.open(measured) as trace:
        for key, sql in (
            ("frame:duration", "SELECT frame, duration FROM frames"),
            ("draw:duration", "SELECT seq, duration FROM calls WHERE name LIKE 'glDraw%'"),
            ("metric:draw:fragments", "SELECT seq, value FROM metrics WHERE per = 'draw'"),
            ("sensor:sensors:watts", "SELECT frame, watts FROM sensors"),
        ):
            assert _values(bars, key) == {int(k): float(v) for k, v in trace.sql(sql).fetchall()}
            assert key in listed
    assert bars.ask("/api/0/series?of=nothing").status == 400
    labels = rows_of(bars)
    assert {"fragments per draw", "<b>gpu</b> time per frame", "sensors: watts"} <= labels.keys()
    area = bars.get(f"area?ids={labels['sensors: watts']['id']}&t0=0&t1={bars.get('timeline')['length']}")
    assert (area["rows"][0][7], area["rows"][0][9]) == (0.0, 58.0)


def test_a_range_of_bars_filters_the_list(opened, bars):
    page = opened("call=300", bars)
    page.wait("d.series.list.length === 8")
    page.press("j", "Shift+ArrowRight", "Shift+ArrowRight", "Enter")
    frame = page.page.evaluate("drawtap.recording.frameOf(300)")
    page.wait(f"place.filter === 'frame={frame}..{frame + 2}' && d.set")
    page.page.get_by_role("combobox", name="what the bars are").select_option("metric:draw:fragments")
    page.wait("place.bars === 'metric:draw:fragments' && d.strip.per === 'call'")
    box = page.page.locator("#strip canvas").first.bounding_box()
    page.page.mouse.move(box["x"] + 300, box["y"] + box["height"] - 20)
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + 500, box["y"] + box["height"] - 20, steps=3)
    page.page.mouse.up()
    page.wait("place.filter.startsWith('seq=') && !place.filter.includes('frame=')")


def test_columns_of_choice_are_kept(opened, bars):
    page = opened("call=300", bars)
    page.wait("d.series.list.length === 8")
    page.page.get_by_role("combobox", name="one column more").select_option("metric:draw:fragments")
    page.page.get_by_role("combobox", name="one column more").select_option("sensor:sensors:watts")
    page.wait("d.list.series.length === 2")
    page.press("l", "d")
    page.wait("d.list.model.at(d.list.focus).kind === 'draw'")
    seq = page.place()["call"]
    page.until(f"document.querySelector('.row.chosen .series')?.innerText === '{seq % 7}.5'")
    again = opened("call=300", bars)
    again.wait("d.list.series.length === 2")


def test_marks_lead_from_finding_to_finding(opened, bars):
    page = opened("", bars)
    page.wait("d.marks.seqs.length > 1")
    page.page.evaluate("drawtap.go(drawtap.marks.seqs[1] - 1)")
    page.press("E")
    page.wait("place.call === d.marks.seqs[0]")
    page.until("document.querySelector('.row.chosen .mark')?.innerText.length > 2")
    page.press("e")
    page.wait("place.call === d.marks.seqs[1]")
    page.press("E")
    page.wait("place.call === d.marks.seqs[0]")
    assert page.page.evaluate("drawtap.marks.places.length") > 0
