"""Two recordings on one alignment: the numbers of drawtap diff and drawtap compare, on the server and on the page."""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import drawtap as package
from drawtap.web.pair import Comparing
from shared import BROWSER
from web.conftest import WAIT_S, Server, headed

KINDS = {"-": 2, "+": 3, "~": 1}


@pytest.fixture(scope="module")
def pair(chain: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a recording, and one with a draw less, a value changed, a call more, and a frame less."""
    other = tmp_path_factory.mktemp("pair") / "other.dtap"
    with package.open(chain) as trace:
        frames = trace.frames
        draws = [s for (s,) in trace.sql("SELECT seq FROM draws WHERE kind = 'draw' AND frame = 3 ORDER BY seq")]
        uniforms = [s for (s,) in trace.sql("SELECT seq FROM glUniform4f WHERE seq > 0 ORDER BY seq")]
        value = next(s for s in uniforms if frames[5].first_seq <= s < frames[5].end_seq)
    with package.edit(chain) as trace:
        trace.drop(draws[1])
        trace.set(value, v0=0.125)
        trace.insert(value + 3, "glFinish")
        trace.drop(range(frames[9].first_seq, frames[9].end_seq))
        trace.save(other)
    return chain, other


@pytest.fixture(scope="module")
def both(pair: tuple[Path, Path]) -> Iterator[Server]:
    """Serve the two."""
    running = Server(*pair)
    assert "&with=1" in running.address
    yield running
    assert running.close() == 0


def _ask(server: Server, path: str):
    answer = server.ask(f"/api/pair/0/1/{path}")
    assert answer.status == 200, answer.body
    return answer


@pytest.mark.parametrize(
    ("script", "answer"),
    [
        ("echo 'frames: 3 of 40' >&2; echo '[{\"equal\": 40}]'; exit 1", {"state": "done", "found": [{"equal": 40}]}),
        ("echo half; echo 'frames: 3 of 40' >&2; echo 'no such engine' >&2; exit 3",
         {"state": "failed", "why": ["no such engine"]}),
        ("exit 9", {"state": "failed", "why": ["it was ended"]}),
    ],
)  # fmt: skip
def test_a_comparison_that_says_how_far_it_is_still_has_an_answer(tmp_path, monkeypatch, script, answer):
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr("drawtap.web.pair.sys.executable", str(program))
    side = SimpleNamespace(engine="system", path=tmp_path / "a.dtap")
    comparing = Comparing(side, side)
    comparing._child.wait()
    found = comparing.answer()
    comparing.close()
    assert {key: value for key, value in found.items() if key != "command"} == answer


def test_the_list_is_that_of_diff(pair, both, drawtap):
    said = json.loads(drawtap("diff", *pair, "--json").out)
    head, data = headed(_ask(both, "frames").body)
    columns = struct.unpack(f"<{7 * head['pairs']}i", data)
    frames = list(zip(*(columns[i * head["pairs"] : (i + 1) * head["pairs"]] for i in range(6)), strict=True))
    found = []
    for number, (frame_a, frame_b, *counts) in enumerate(frames):
        rows = both.ask(f"/api/pair/0/1/outline/{number}").json["rows"]
        for side in (2, 3):  # each call once, in order
            seqs = [row[side] + k for row in rows if row[side] >= 0 for k in range(row[4])]
            assert seqs == sorted(set(seqs))
        assert [sum(row[4] for row in rows if row[0] == kind) for kind in range(4)] == counts
        sides = tuple(None if frame < 0 else frame for frame in (frame_a, frame_b))
        found += [
            (kind, *sides, *(None if seq < 0 else seq for seq in (a, b)), text)
            for kind, _, a, b, _, text in rows if kind
        ]  # fmt: skip
    listed = [(KINDS[row[""]], *(row[c] for c in ("frame_a", "frame_b", "a", "b", "call"))) for row in said]
    assert found == listed
    assert {kind for kind, *_ in found} == {1, 2, 3}
    assert head["different_frames"] == 3


def _calls(rows):
    """Return each call of rows of an outline: kind, in A, in B (-1: none)."""
    return [
        (kind, *(seq + k if seq >= 0 else -1 for seq in (a, b)))
        for kind, _, a, b, calls, *_ in rows
        for k in range(calls)
    ]


def test_a_filter_keeps_what_either_side_keeps(pair, both):
    ids, kept = [], []
    for number, path in enumerate(pair):
        ids.append(both.ask(f"/api/{number}/filter", method="POST", body="is:draw OR name=glFinish").json["id"])
        with package.open(path) as trace:
            found = trace.sql("SELECT seq FROM calls WHERE name ILIKE 'glDraw%' OR name = 'glFinish'")
            kept.append({seq for (seq,) in found})
    query = f"seta={ids[0]}&setb={ids[1]}"
    head, data = headed(_ask(both, f"frames?{query}").body)
    counts = struct.unpack(f"<{7 * head['pairs']}i", data)[6 * head["pairs"] :]
    assert sum(counts) == len(kept[0]) + len(kept[1])
    seen = set()
    for number in range(head["pairs"]):
        whole = _calls(both.ask(f"/api/pair/0/1/outline/{number}").json["rows"])
        rows = both.ask(f"/api/pair/0/1/outline/{number}?{query}").json["rows"]
        expected = [call for call in whole if call[1] in kept[0] or call[2] in kept[1]]
        assert _calls(rows) == expected
        seen |= {kind for kind, *_ in expected}
        # Where a side has no call, the row knows its last one.
        for _, _, a, b, calls, _, last_a, last_b in rows:
            upto = whole[: next(i for i, c in enumerate(whole) if c[1:] == (a, b)) + calls]
            assert last_a == max((one for _, one, _ in upto), default=-1)
            assert last_b == max((other for _, _, other in upto), default=-1)
    assert {0, 2, 3} <= seen
    assert both.ask(f"/api/pair/0/1/frames?seta=nothing&setb={ids[1]}").status == 400


def test_states_and_objects_are_those_of_diff(pair, both, drawtap):
    a, b = 461, 480
    said = json.loads(drawtap("diff", *pair, "--state", f"{a}:{b}", "--json").out)
    rows = _ask(both, f"states?a={a}&b={b}").json["rows"]
    assert rows
    assert rows == [[row["path"], row["a"], row["b"]] for row in said]
    said = json.loads(drawtap("diff", *pair, "--resources", "--json").out)
    assert _ask(both, "resources").json["rows"] == [[row[c] for c in ("", "kind", "a", "b", "what")] for row in said]


def test_pictures_and_the_first_draw_are_those_of_compare(pair, both, drawtap):
    said = json.loads(drawtap("compare", *pair, "--frames", "3:4", "--json").out)
    draw = said["first_draw"]
    for seqs, numbers in ((("a", "b"), draw["after"]),):
        a, b = (draw[side]["call"] for side in seqs)
        head, data = headed(_ask(both, f"pictures?a={a}&b={b}").body)
        size = head["sides"][0]["width"] * head["sides"][0]["height"]
        one, other = data[: size * 4], data[size * 4 :]
        differing = sum(one[i : i + 4] != other[i : i + 4] for i in range(0, len(one), 4))
        assert head["pixels"] == differing == round(numbers["pixels"] * size) > 0
        shown = [head[name] for name in ("largest", "rmse", "ssim", "exact")]
        assert shown == [numbers[name] for name in ("max_difference", "rmse", "ssim", "exact")]
    assert _ask(both, "compared").json == {"state": "none"}
    found = _played(both)
    whole = json.loads(drawtap("compare", *pair, "--json").out)
    assert found == whole


def _played(server: Server) -> dict:
    answer = _ask(server, "compared?begin=1").json
    end = time.monotonic() + WAIT_S
    while answer["state"] == "running" and time.monotonic() < end:
        time.sleep(0.1)
        answer = _ask(server, "compared").json
    assert answer["state"] == "done", answer
    return answer["found"]


def test_one_recording_on_two_engines(chain, drawtap):
    running = Server(chain, "--on", "llvmpipe", "--on", "softpipe")
    try:
        session = running.ask("/api/session").json
        assert [one["engine"] for one in session["recordings"]] == ["llvmpipe", "softpipe"]
        head, _ = headed(_ask(running, "frames").body)
        assert (head["changed"], head["only_a"], head["only_b"]) == (0, 0, 0)
        said = json.loads(drawtap("compare", chain, "--on", "llvmpipe", "--on", "softpipe", "--json").out)
        found = _played(running)
        for answer in (found, said):
            del answer["first_draw"]["before"]  # a new target holds whatever its memory held
            del answer["first_draw"]["at_start"]
        assert found == said
        names = [engine["name"] for engine in running.ask("/api/engines").json if engine["works"]]
        assert {"llvmpipe", "softpipe"} <= set(names)
    finally:
        running.close()


def test_what_cannot_be_a_pair_says_so(both, drawtap, chain):
    for path, words in (("0/0/frames", b"none with itself"), ("0/7/frames", b"there is no recording 7")):
        answer = both.ask(f"/api/pair/{path}")
        assert (answer.status, words in answer.body) == (400, True)
    assert both.ask("/api/pair/0/1/outline/99999").status == 400
    assert both.ask("/api/pair/0/1/states?a=99999999&b=1").status == 400
    for words in (("--on", "nothing"), ("--on", "llvmpipe", "--on", "softpipe", "--on", "system")):
        done = drawtap("view", chain, "--no-browser", *words)
        assert (done.code, "Traceback" in done.err) == (2, False)


needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")


@needs_browser
@pytest.mark.parametrize("form", [(1300, "light"), (900, "dark")])
def test_a_tour_by_keys(opened, both, pair, drawtap, form):
    width, scheme = form
    rows = json.loads(drawtap("diff", *pair, "--json").out)
    page = opened("with=1", both, viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.wait(f"place.call === {rows[0]['a']}")
    heads = page.page.locator("#bar .heads .cell")
    assert heads.all_inner_texts() == ["call of A", "call of B"]
    for side in ("a", "b"):  # each above its column
        right = f"document.querySelector(`${{where}} .cell.{side}`)?.getBoundingClientRect().right"
        page.until(
            f"(([a, b]) => Math.abs(a - b) <= 2)(['#bar .heads', '#list .row:not([hidden])'].map((where) => {right}))"
        )
    assert f"− {sum(row[''] == '-' for row in rows)} only in A" in page.text("#counts").replace("\u202f", " ")
    first = next(row for row in rows if row[""] == "~")
    while page.place()["call"] != first["a"]:
        before = page.place()["call"]
        page.press("n")
        page.wait(f"place.call !== {before}")
    page.wait(f"place.callb === {first['b']} && d.list.model.at(d.list.focus).kind === 'changed'")
    page.tour(
        call=("1", "0.125"),
        state=("2", "1 variable differs"),
        picture=("3", "The pictures are equal"),
        objects=("4", "The objects of both are the same"),
        compared=("5", "What both draw"),
        time=("z", "The timeline is closed"),
    )
    assert page.toured_all()
    page.press("3", "v", "v")
    page.wait("place.tab === 'picture' && place.side === 'b'")
    # Cursor A stays, and B goes on alone.
    page.press("H")
    page.wait("place.hold === 'a'")
    page.press("ArrowDown", "ArrowDown")
    page.wait(f"place.call === {first['a']} && place.callb > {first['b']}")
    page.press("H", "H", "h")
    page.wait("place.hold === '' && place.mode === 'dim' && d.list.model.visible.length === d.pair.counts.pairs")
    page.press("N")
    page.wait("d.list.model.at(d.list.focus).sign > 0")
    page.press("u")
    assert page.fits()


@needs_browser
def test_pictures_beside_each_other_their_difference_and_flicker(opened, both, pair, drawtap):
    said = json.loads(drawtap("compare", *pair, "--frames", "3:4", "--json").out)["first_draw"]
    page = opened(f"with=1&call={said['a']['call']}&callb={said['b']['call']}&tab=picture", both)
    page.until("document.querySelectorAll('.beside canvas').length === 2")
    size = page.page.evaluate(
        "(() => { const c = document.querySelector('.beside canvas'); return c.width * c.height })()"
    )
    assert f"{round(said['after']['pixels'] * size)} pixels differ" in page.text(".apart").replace("\u202f", "")
    page.page.get_by_role("button", name="difference", exact=True).click()
    page.wait("place.side === 'difference'")
    page.until("document.querySelector('canvas[aria-label=\"difference of A and B\"]')")
    lit = page.page.evaluate(
        "(() => { const c = document.querySelector('#panel .picture canvas');"
        " const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; let n = 0;"
        " for (let i = 0; i < d.length; i += 4) if (d[i] || d[i + 1] || d[i + 2]) n++; return n; })()"
    )
    assert 0 < lit <= round(said["after"]["pixels"] * size)
    page.press("v")
    page.wait("place.side === 'flicker'")
    for side in "bab":
        page.until(f"document.querySelector('[data-flicker={side}]')")
        assert page.page.locator("[data-flicker] figure:visible").count() == 1
    page.press("v")
    page.wait("place.side === ''")
    # A frame that leaves the list while its rows are on their way is not unfolded in another's place.
    rows = """(async () => {
        const model = drawtap.pair;
        model.show(false);
        const last = model.visible.findLastIndex((pair) => !model.outlines.has(pair));
        const opening = model.openFrame(last);
        model.show(true);
        await opening;
        model.recount();
        const shown = Array.from({length: model.length}, (_, i) => model.at(i));
        return [last, model.visible.length, shown.filter((row) => row.type === "frame").map((row) => row.pair ?? null)];
    })()"""
    last, shown, pairs = page.page.evaluate(rows)
    assert last >= shown > 0
    assert pairs == page.page.evaluate("drawtap.pair.visible")


@needs_browser
def test_filter_and_timeline_are_of_both(opened, both, pair):
    page = opened("with=1", both, viewport={"width": 900, "height": 800}, color_scheme="dark")
    page.press("/")
    page.page.keyboard.type("name=glFinish OR name=glUniform4f")
    page.press("Enter")
    counts = []
    for path in pair:
        with package.open(path) as trace:
            found = trace.sql("SELECT count(*) FROM calls WHERE name IN ('glFinish', 'glUniform4f')")
            counts.append(found.fetchall()[0][0])
    page.until(f"document.getElementById('filter-answer').innerText === '{counts[0]} calls of A, {counts[1]} of B'")
    page.wait("d.pair.sets && d.list.model.length > 0")
    for kind in ("changed", "only_b"):
        page.press("n")
        page.wait(f"d.list.model.at(d.list.focus).kind === '{kind}'")
    names = page.page.evaluate("[...document.querySelectorAll('.row .what b')].map((e) => e.innerText)")
    assert {name for name in names if name.startswith("gl")} <= {"glFinish", "glUniform4f"}
    page.press("T")
    page.wait("d.timeline.graph.groups.length > 1 && d.timeline.graph.second !== null")
    groups = page.page.evaluate("drawtap.timeline.graph.groups.map((g) => g.name)")
    assert {"A: Recording", "B: Recording"} <= set(groups), groups
    there = "d.timeline.graph.rows.every((row) => d.timeline.graph.kept.has(row.id))"
    page.page.evaluate("drawtap.timeline.element.style.setProperty('--high', '400px')")
    page.wait(there)
    # A call of B's rows leads both cursors.
    page.page.evaluate(
        """(() => { const g = drawtap.timeline.graph, row = g.rows.find((r) => r.leads === 'frame' && r.id > 1000);
        drawtap.timeline.selected({ row, part: 0, id: 7, begin: 0, length: 1, name: '' }); })()"""
    )
    page.wait("place.callb === d.other.frames.end[7] - 1")
    page.press("z")
    page.reads("Sums of what is in view")
    page.reads("B ")


@needs_browser
def test_from_one_to_both_and_back(opened, both):
    page = opened("call=300", both)
    page.page.select_option("select[aria-label='compare with']", label="other.dtap")
    page.wait("place.with === 1 && place.callb !== null && place.call === 300")
    page.page.locator("#what .side button").nth(1).click()
    page.wait("place.with === null && place.rec === 1 && !d.pair")
    page.until("document.querySelector('#filter-text').offsetParent !== null")
    page.press("u")
    page.wait("place.with === 1 && d.pair && d.list.model === d.pair")
