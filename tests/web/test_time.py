"""The timeline: its rows against SQL, by keys alone, from an address, with few requests, and with rows of one's own."""

from __future__ import annotations

import itertools
import json
import struct
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest

import drawtap
from shared import BROWSER
from web.conftest import Server

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")


def read(body: bytes) -> tuple[dict, bytes]:
    """Return the head of an answer and its arrays."""
    (length,) = struct.unpack_from("<I", body)
    return json.loads(body[4 : 4 + length]), body[4 + length :]


def rows_of(server: Server, recording: int = 0) -> dict[str, dict]:
    """Return the rows of the timeline by label."""
    groups = server.ask(f"/api/{recording}/timeline").json["groups"]
    return {row["label"]: row for group in groups for row in group["tracks"]}


@pytest.mark.parametrize("part", [1, 3, 40, 700, 9000])
def test_calls_on_the_timeline_are_those_of_sql(server, chain, part):
    with drawtap.open(chain) as trace:
        calls = trace.sql("SELECT seq, t_start, duration FROM calls ORDER BY seq").fetchall()
        zero, length = trace.info["t_first"], trace.info["duration"]
    listed = server.ask("/api/0/timeline").json
    row = next(r for r in rows_of(server).values() if r["label"].startswith("calls of"))
    begin = length // 3 if part > 1 else 0
    end = begin + max(length // part, 2)
    answer = server.ask(f"/api/0/tracks?ids={row['id']}&t0={begin}&t1={end}&px=64")
    head, data = read(answer.body)
    assert listed["zero"] == zero
    assert len(data) <= 16 * head["steps"] <= 16 * 64
    (found,) = head["tracks"]
    a, b = head["begin"] + zero, head["begin"] + head["step"] * head["steps"] + zero
    inside = [(s, t, t + d) for s, t, d in calls if t < b and (t + d > a or t >= a)]
    if not inside:
        assert found["parts"] == []
    elif (shown := found["parts"][0])["as"] == "spans":
        assert np.frombuffer(data, "<u4", shown["n"], shown["id"]).tolist() == [s for s, _, _ in inside]
    else:
        busy = np.frombuffer(data, "<f8", head["steps"], shown["at"])
        edges = [a + i * head["step"] for i in range(head["steps"] + 1)]
        sums = [sum(max(min(e, hi) - max(t, lo), 0) for _, t, e in inside) for lo, hi in itertools.pairwise(edges)]
        assert busy.tolist() == sums
    area = server.ask(f"/api/0/area?ids={row['id']}&t0={begin}&t1={end}").json
    busy = sum(max(min(t + d, end + zero) - max(t, begin + zero), 0) for _, t, d in calls)
    if len(area["rows"]) < 12:  # else the names with the least time are left out
        assert sum(r[4] for r in area["rows"]) == busy


@pytest.mark.parametrize(("width", "scheme"), [(1300, "light"), (900, "dark")])
def test_the_timeline_by_keys(opened, width, scheme):
    page = opened("rec=1", viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.press("T")
    page.wait("d.timeline.graph.kept.size >= 3")
    assert page.page.evaluate("document.activeElement.getAttribute('aria-roledescription')") == "timeline"
    page.press("ArrowDown", "ArrowDown", ".")
    page.wait("d.timeline.graph.span?.name === 'frame'")
    page.wait("place.call === d.timeline.graph.span.id")
    page.wait("d.list.selected === place.call")
    begin = page.page.evaluate("drawtap.timeline.graph.span.begin")
    page.press(".")
    page.wait(f"d.timeline.graph.span.begin > {begin}")
    page.press(",")
    page.wait(f"d.timeline.graph.span.begin === {begin}")
    view = page.page.evaluate("drawtap.timeline.graph.view")
    length = view["b"] - view["a"]
    page.press("w")
    page.wait(f"d.timeline.graph.view.b - d.timeline.graph.view.a < {length}")
    near = page.page.evaluate("drawtap.timeline.graph.view")
    page.press("d")
    page.wait(f"d.timeline.graph.view.a > {near['a']}")
    page.press("a")
    page.wait(f"Math.abs(d.timeline.graph.view.a - {near['a']}) < 2")
    page.press("s")
    page.wait(f"d.timeline.graph.view.b - d.timeline.graph.view.a > {(near['b'] - near['a']) * 1.01}")
    page.press("0")
    page.wait("d.timeline.graph.view.b - d.timeline.graph.view.a >= d.timeline.graph.length")
    page.press("f")
    page.press("f")
    page.wait("d.timeline.graph.view.b - d.timeline.graph.view.a < d.timeline.graph.span.length * 2")
    page.press("m", "d", ".", "M")
    page.until("document.querySelector('#time .window').innerText.includes('A to B')")
    page.press("r", "z")
    page.reads("Sums of the area")
    page.wait("place.area !== '' && place.view !== ''")
    page.press("Escape")
    page.wait("place.area === ''")
    page.press("T")
    assert page.page.evaluate("drawtap.timeline.element.hidden") in (True, False)
    page.wait("d.timeline.element.hidden")
    assert page.fits()


def test_a_call_of_the_list_is_seen_on_the_timeline_and_the_address_leads_back(opened):
    page = opened("rec=1&time=open&call=18&view=99000000,99500000&ab=5,900&tab=time")
    page.wait("d.timeline.graph.call?.seq === 18 && d.timeline.graph.kept.size > 0")
    assert page.page.evaluate("Object.values(drawtap.timeline.graph.markers)") == [5, 900]
    page.reads("Sums of what is in view")
    page.page.evaluate("drawtap.go(3)")
    page.wait("d.timeline.graph.call?.seq === 3")
    graph = "d.timeline.graph"
    page.wait(f"{graph}.view.a <= {graph}.call.begin && {graph}.call.begin <= {graph}.view.b")


def test_what_is_near_is_not_asked_again(opened):
    page = opened("time=open")
    page.wait("d.timeline.graph.kept.size > 0 && !d.timeline.graph.asked")
    page.page.evaluate("(() => { const g = drawtap.timeline.graph; g.look(g.length * 0.4, g.length * 0.5); })()")
    graph = "d.timeline.graph"
    page.wait(f"!{graph}.asked && {graph}.visible().every((p) => !p.row || {graph}.good({graph}.kept.get(p.row.id)))")
    before = page.page.evaluate("drawtap.timeline.graph.requests")
    for _ in range(3):
        page.page.evaluate("drawtap.timeline.graph.pan(0.25)")
    page.page.evaluate("drawtap.timeline.graph.drawNow()")
    assert page.page.evaluate("drawtap.timeline.graph.requests") == before


def test_a_question_becomes_a_row(opened, server):
    sql = "SELECT t_start, duration, name, seq FROM calls WHERE name LIKE 'glDraw%'"
    page = opened(f"rec=1&tab=sql&sql={quote(sql)}")
    page.page.get_by_role("button", name="as a track").click()
    page.wait("place.time === 'open' && d.timeline.graph.groups.some((g) => g.name === 'Own')")
    page.until("location.hash.includes('own=')")
    link = page.page.evaluate("location.hash.slice(1)")
    again = opened(link)
    again.wait("d.timeline.graph.groups.some((g) => g.name === 'Own')")
    for broken, why in (("SELECT 1 AS a", "no time"), ("SELECT 'x' AS t", "Could not convert"), ("COPY x TO 'y'", "")):
        answer = server.ask("/api/1/track", method="POST", body=broken)
        assert answer.status == 400
        assert why in answer.json["error"]


def test_findings_stand_as_marks(opened, recordings: Path):
    running = Server(recordings / "fbo_chain.dtap")
    try:
        page = opened("time=open", running)
        page.wait("d.timeline.graph.groups.some((g) => g.name === 'Findings')")
        marks = running.ask("/api/0/marks").json["marks"]
        with drawtap.open(recordings / "fbo_chain.dtap") as trace:
            rows = trace.sql("SELECT DISTINCT seq, severity, rule FROM findings WHERE seq IS NOT NULL").fetchall()
        assert {tuple(mark) for mark in marks} == set(map(tuple, rows))
    finally:
        running.close()
