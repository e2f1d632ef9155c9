"""The page in a browser: by keys alone, wide and narrow, light and dark, with hostile names and broken recordings."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import drawtap
from drawtap.web.answer import headed as packed
from shared import BROWSER, new_page, run_drawtap, steps
from state_traces import Recording
from web.conftest import Server, headed
from writer import NULL

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")


# The other tests look at a wide and light page.
_REST = [(1300, "light"), (1300, "dark"), (900, "light")]
_FORMS = [(900, "dark"), *(pytest.param(*form, marks=pytest.mark.exhaustive) for form in _REST)]


@pytest.mark.parametrize(("width", "scheme"), _FORMS)
def test_every_panel_is_reached_by_keys(opened, chain, width, scheme):
    page = opened(viewport={"width": width, "height": 800}, color_scheme=scheme)
    with drawtap.open(chain) as trace:
        draw = trace.sql("SELECT min(seq) FROM draws WHERE kind = 'draw'").fetchall()[0][0]
    page.press("d")
    page.wait(f"place.call === {draw}")
    page.tour(
        call=("1", "Arguments"),
        state=("2", "GL_CURRENT_PROGRAM"),
        picture=("3", "8 bits a channel"),
        shader=("4", "Uniforms"),
        objects=("5", "Objects of the run"),
        texture=("6", "Choose a texture"),
        passes=("P", "Passes of frame"),
        findings=("7", "Findings of the checklist"),
        sql=("8", "DuckDB's dialect"),
        notes=("9", "Bookmarks"),
        mesh=("m", "rasterised"),
        buffer=("B", "Choose a buffer"),
        whatif=("x", "as it was"),
        time=("z", "The timeline is closed"),
    )
    assert page.toured_all()
    page.press("u")
    page.wait("place.tab === 'whatif'")
    page.press("?")
    assert "next draw" in page.text("dialog")
    page.press("Escape", "Control+k")
    page.page.keyboard.type("panel: st")
    page.press("Enter")
    page.wait("place.tab === 'state'")
    # What parts list and panel is moved by keys, to the side or down.
    size = f"document.getElementById('left').getBoundingClientRect().{'height' if width <= 1000 else 'width'}"
    before = page.page.evaluate(size)
    page.page.locator("#split").focus()
    page.press("ArrowDown" if width <= 1000 else "ArrowRight")
    page.until(f"{size} > {before} + 5")
    assert page.fits()


def test_the_list_is_a_treegrid_that_unfolds_by_keys(opened, chain):
    page = opened()
    page.press("Home", "ArrowRight")
    page.wait("d.list.model.at(0).open === true")
    # Rows are drawn with the next picture of the screen.
    first = "document.querySelector('[role=treegrid] [role=row]:not([hidden])')"
    page.until(f"{first}.ariaLevel === '1' && {first}.ariaExpanded === 'true'")
    grid = page.page.locator("[role=treegrid]")
    page.until(f"{first}.id === document.querySelector('[role=treegrid]').getAttribute('aria-activedescendant')")
    assert grid.get_attribute("aria-rowcount") == str(page.page.evaluate("drawtap.list.model.length"))
    page.press("ArrowRight", "ArrowRight")
    page.until(
        "['1', '2', '3'].every((n) => document.querySelector(`[role=treegrid] [aria-level='${n}']:not([hidden])`))"
    )
    page.press("ArrowLeft", "ArrowLeft", "ArrowLeft")
    page.wait("d.list.focus === 0")
    page.press("End")
    page.wait("d.list.focus === d.list.model.length - 1 && Math.abs(d.list.top - d.list.last) < 1")


def test_unfolded_frames_show_every_call_once_and_in_order(opened, recordings):
    for number, name in ((0, "fbo_chain"), (1, "debug_markers")):
        page = opened(f"rec={number}")
        seqs = page.page.evaluate(
            """async () => {
              const tree = drawtap.tree, found = [];
              for (let i = 0; i < tree.length; i++) {
                await tree.toggle(i, true);
                const row = tree.at(i);
                if (row.type !== "frame" && row.type !== "run") found.push(row.seq);
              }
              return found;
            }"""
        )
        with drawtap.open(recordings / f"{name}.dtap") as trace:
            assert sorted(seqs) == list(range(len(trace.calls)))
        calls_below_draws_aside = [s for s, after in itertools.pairwise(seqs) if after == s + 1]
        assert len(calls_below_draws_aside) > len(seqs) / 2


def test_the_wheel_moves_by_exact_rows_in_a_list_that_no_browser_could_scroll(opened):
    page = opened("list=flat")
    # 50 million rows: the model alone decides how many there are.
    page.page.evaluate("Object.assign(drawtap.list.model, { length: 50_000_000 }); drawtap.list.resized()")
    page.page.hover(".scroller")
    before = page.page.evaluate("(drawtap.list.move(25_000_000), drawtap.list.top)")
    page.page.mouse.wheel(0, 22 * 3)
    page.wait(f"Math.abs(d.list.top - {before} - 3) < 0.01")
    page.page.evaluate("drawtap.list.scroller.scrollTop = 1e9")
    page.wait("d.list.top > 49_999_000")
    assert page.page.evaluate("drawtap.list.spacer.offsetHeight") <= 16_000_000


def test_a_filter_hides_dims_and_is_walked_through(opened, chain):
    page = opened()
    page.press("/")
    page.page.keyboard.type("is:draw")
    page.press("Enter")
    with drawtap.open(chain) as trace:
        draws = [seq for (seq,) in trace.sql("SELECT seq FROM draws WHERE kind = 'draw' ORDER BY seq").fetchall()]
    page.until(f"document.getElementById('filter-answer').innerText === '{len(draws)} calls'")
    page.wait(f"d.list.model.length === {len(draws)}")
    page.press("Home")
    page.wait(f"place.call === {draws[0]}")
    page.press("n", "h")
    page.wait(f"place.call === {draws[1]} && place.mode === 'dim'")
    page.wait("d.list.model === d.tree")
    page.page.wait_for_selector(".row.dim")
    page.press("a", "N")
    page.wait(f"place.call === {draws[0]} && d.list.model.length === d.recording.calls")
    page.page.wait_for_selector("#density:visible")
    page.press("/", "Escape")
    page.wait("place.filter === '' && !d.set")
    page.page.fill("#filter-text", "widht=3")
    page.press("Enter")
    page.page.wait_for_selector("#filter-answer.bad")
    assert "widht" in page.text("#filter-answer")
    assert "width" in page.text("#message")


@pytest.fixture(scope="module")
def incomplete(tmp_path_factory) -> Iterator[Server]:
    """Serve calls whose last one draws with a texture of one level, whose filter wants all; another one is bound."""
    calls = Recording()
    picture = {"target": "GL_TEXTURE_2D", "level": 0, "width": 4, "height": 4, "border": 0}
    for name in (2, 1):
        calls.gl("glActiveTexture", texture=0x84C0 + name - 1)
        calls.gl("glBindTexture", target="GL_TEXTURE_2D", texture=name)
        form = {"internalformat": "GL_RGBA", "format": "GL_RGBA", "type": "GL_UNSIGNED_BYTE", "pixels": NULL}
        calls.gl("glTexImage2D", **picture, **form)
    calls.gl("glEnable", cap="GL_TEXTURE_2D")
    calls.gl("glDrawArrays", mode="GL_TRIANGLES", first=0, count=3)
    running = Server(calls.write(tmp_path_factory.mktemp("incomplete") / "t.dtap"))
    yield running
    assert running.close() == 0


def test_incomplete_textures_stand_with_their_reason(opened, incomplete):
    draw = 8
    rows = incomplete.get(f"state/{draw}")["incomplete"]
    reason = "its GL_TEXTURE_MIN_FILTER is GL_NEAREST_MIPMAP_LINEAR, but level 1 has no image"
    assert [(row[1], row[3], row[4], row[6]) for row in rows] == [(0, 1, reason, True), (1, 2, reason, False)]
    assert incomplete.get(f"state/{draw - 1}")["incomplete"][0][6] is None  # no draw
    page = opened(f"tab=state&call={draw}", of=incomplete)
    page.reads("Incomplete textures")
    assert "read by this draw): its GL_TEXTURE_MIN_FILTER" in page.text("#panel")
    page.page.get_by_role("region", name="incomplete textures").get_by_role("link").first.click()
    page.wait("place.tab === 'texture' && place.object === 'texture/1/1'")


def test_a_filter_says_what_it_has_found_so_far(opened):
    page = opened("mode=dim&list=flat&call=5")
    held = []
    page.page.route("**/api/0/filter?*", lambda route: held.append(route))
    so_far = {"count": 1234, "until": 30, "of": 40, "density": [3, 0, *[1] * 1022]}
    page.page.route("**/api/0/filter/*", lambda route: route.fulfill(json=so_far))
    page.page.evaluate("(drawtap.store.set({ filter: 'texture' }), 0)")
    page.until("document.getElementById('filter-answer').innerText.includes('so far')")
    assert page.text("#filter-answer") == "1\u202f234 so far, in 75 % of the calls …"
    page.page.wait_for_selector("#density:visible")
    page.wait("d.strip.density[0] === 3 && !d.set")
    held[0].continue_()
    page.wait("d.set && d.strip.density[0] !== 3")
    page.wait("document.getElementById('filter-answer').innerText === `${d.set.count} calls`")


def test_what_comes_while_a_filter_looks_stays(opened):
    page = opened("call=5")
    page.page.evaluate("(drawtap.store.set({ filter: 'texture', mode: 'dim' }), drawtap.store.set({ time: 'open' }))")
    page.wait("d.set && d.timeline.graph.kept.size > 0")
    page.page.evaluate("(drawtap.store.set({ filter: '' }), drawtap.store.set({ call: 40 }))")
    page.wait("!d.set && d.list.model.at(d.list.focus).seq === 40")
    assert page.page.is_visible("#time")


def test_steps_to_what_is_found_ask_once_each(opened, chain):
    with drawtap.open(chain) as trace:
        found = list(range(5, trace.info["calls"], trace.info["calls"] // 10))[:10]
    page = opened(f"filter={quote('sql: seq IN (' + ', '.join(map(str, found)) + ')')}&mode=dim&list=flat&call=0")
    page.wait("d.set?.count === 10")
    page.wait("!document.querySelector('#panel [aria-busy]')")
    del page.requests[:]
    for seq in found:
        page.press("n")
        page.wait(f"place.call === {seq}")
    asked = [urlsplit(url).path for url in page.requests]
    assert not [path for path in asked if path.endswith(("/filter", "/sql"))]
    assert len([path for path in asked if "/set/" in path]) <= len(found)


_PLACES: dict[str, st.SearchStrategy[object]] = (
    {
        key: st.one_of(st.none(), st.integers(0, 10**15 - 1))
        for key in ("call", "pin", "with", "callb", "prog", "edit", "instance")
    }
    | {key: st.integers(0, 10**15 - 1) for key in ("rec", "from")}
    | {key: st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
       for key in ("filter", "tab", "stage", "sql", "of", "px", "over", "mesh", "what", "object", "layer", "fields",
                   "bars", "time", "view", "area", "ab", "own", "range")}
    | {"mode": st.sampled_from(["hide", "dim"]), "list": st.sampled_from(["tree", "flat"]),
       "hold": st.sampled_from(["", "a", "b"]), "sampled": st.sampled_from(["", "yes"]),
       "side": st.sampled_from(["", "a", "b", "difference", "flicker"]),
       "page": st.sampled_from(["", "recording"])}
)  # fmt: skip


def test_every_place_comes_back_from_its_address(opened):
    page = opened()
    assert set(page.place()) == set(_PLACES)

    @settings(max_examples=steps(4, 50))
    @given(st.lists(st.fixed_dictionaries(_PLACES), min_size=20, max_size=20))
    def both_ways(places) -> None:
        came_back = page.page.evaluate(
            "async (places) => { const { format, parse } = await import('/app/store.js');"
            " return places.map((one) => parse(new URL('#' + format(one), location.href).hash.slice(1))); }",
            places,
        )
        assert came_back == places

    both_ways()


def test_an_address_leads_to_its_place_and_holds_no_token(opened, server):
    page = opened("call=200&tab=state&pin=150&list=flat&filter=is:draw&mode=dim")
    assert server.token not in page.page.url
    place = page.place()
    assert place == page.place() | {"call": 200, "tab": "state", "pin": 150, "list": "flat", "filter": "is:draw"}
    page.reads("Changed against call 150")
    page.page.get_by_role("toolbar", name="stages of the pipeline").get_by_text("Rasteriser").click()
    page.wait("place.stage === 'raster'")
    place["stage"] = "raster"
    state = server.get("state/200?all")
    differing = {row[0] for row in server.get("difference?a=150&b=200")["rows"]}
    known = [row[0] for row in state["rows"] if row[3] == "raster"
             and (row[4] or row[0] in state["always"] or row[0] in differing)]  # fmt: skip
    leaves = "[...document.querySelectorAll('#panel .tree .leaf span[title]')].map((leaf) => leaf.title).sort().join()"
    page.until(f"{leaves} === {json.dumps(','.join(sorted(known)))}")
    assert known
    page.until("location.hash.includes('stage=raster')")
    again = opened(urlsplit(page.page.url).fragment)
    assert again.place() == place
    strange = opened("call=99x&list=upside&nothing=1&tab=nowhere&__proto__=1")
    assert strange.place()["call"] is not None
    assert strange.place()["list"] == "tree"


def test_a_page_without_the_token_says_what_to_do(context, server):
    page = new_page(context)
    page.goto(server.root)
    page.wait_for_selector(".stop")
    assert "drawtap view" in page.inner_text("body")
    page.close()


def test_bookmarks_and_questions_stay(opened, chain):
    page = opened("call=120")
    page.press("b")
    page.until("document.getElementById('message').innerText.includes('chain.dtap.notes.json')")
    page.press("8")
    page.page.fill("textarea", "SELECT 6 * 7 AS answer")
    page.page.get_by_text("keep", exact=True).click()
    page.page.press("textarea", "Control+Enter")
    page.reads("42")
    again = opened("tab=notes")
    assert "120" in again.text("#panel")
    assert "SELECT 6 * 7" in again.text("#panel")
    chain.with_name("chain.dtap.notes.json").unlink()


def test_a_picture_is_the_pixels_of_the_image_verb(opened, chain, drawtap, tmp_path):
    from drawtap import open as open_trace

    with open_trace(chain) as trace:
        seq = trace.sql("SELECT max(seq) FROM draws WHERE kind = 'draw'").fetchall()[0][0]
    raw = tmp_path / "picture.rgba"
    assert drawtap("image", chain, str(seq), "-o", raw).code == 0
    page = opened(f"call={seq}&tab=picture")
    page.page.wait_for_selector(".picture canvas")
    shown = page.page.evaluate(
        "(() => { const c = document.querySelector('.picture canvas');"
        " return [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data]; })()"
    )
    # The page shows colours without alpha.
    side = page.page.evaluate("document.querySelector('.picture canvas').width")
    bottom_first = raw.read_bytes()
    rows = [bottom_first[at : at + side * 4] for at in range(0, len(bottom_first), side * 4)]
    expected = list(b"".join(reversed(rows)))
    assert [v for i, v in enumerate(shown) if i % 4 != 3] == [v for i, v in enumerate(expected) if i % 4 != 3]
    page.page.hover(".picture canvas", position={"x": 3, "y": 5})
    side = page.page.evaluate("document.querySelector('.picture canvas').width")
    assert f": {' '.join(str(v) for v in expected[(5 * side + 3) * 4 : (5 * side + 3) * 4 + 4])}" in page.text(
        "#panel p code"
    )


@pytest.mark.exhaustive
def test_a_page_that_has_a_picture_asks_for_the_rows_that_differ(opened, recordings):
    running = Server(recordings / "es1_cube.dtap")
    shown = (
        "(() => { const c = document.querySelector('.picture canvas'), g = c.getContext('2d');"
        " return [...g.getImageData(0, 0, c.width, c.height).data].filter((v, i) => i % 4 != 3); })()"
    )
    try:
        with drawtap.open(recordings / "es1_cube.dtap") as trace:
            draws = [
                seq for (seq,) in trace.sql("SELECT seq FROM draws WHERE kind = 'draw' ORDER BY seq LIMIT 4").fetchall()
            ]
        whole = {seq: headed(running.ask(f"/api/0/picture/{seq}").body) for seq in draws}
        colours = {seq: [v for i, v in enumerate(pixels) if i % 4 != 3] for seq, (_, pixels) in whole.items()}
        page = opened(f"call={draws[0]}&tab=picture", running)

        def shows(seq: int) -> None:
            page.page.evaluate(f"drawtap.go({seq})")
            page.until(f"document.querySelector('#panel h2')?.firstChild.textContent === 'After call {seq}'")
            assert page.page.evaluate(shown) == colours[seq]

        def by_cut(route) -> None:
            url = urlsplit(route.request.url)
            head, rows = headed(running.ask(f"{url.path}?{url.query}").body)
            route.fulfill(body=packed(head | {"cut": True, "calls": 7, "proof": "unknown"}, rows))

        page.page.route("**/picture/*", by_cut)
        shows(draws[2])
        shows(draws[1])
        asked = [urlsplit(url) for url in page.requests if "/picture/" in url]
        answers = [headed(running.ask(f"{url.path}?{url.query}").body)[0] for url in asked]
        height, numbers = whole[draws[0]][0]["height"], [whole[seq][0]["number"] for seq in draws]
        assert [one["number"] for one in answers] == [numbers[i] for i in (0, 2, 1)]
        rows = [one["rows"] for one in answers]
        assert rows[0] == height and 0 < rows[1] < height and 0 < rows[2] < height
        # What was seen is there without an answer. Nobody knew whether its cut draws the same: the page asks later.
        held: list = []
        page.page.route("**/picture/*", lambda route: held.append(route))
        shows(draws[2])
        while not held:
            page.page.wait_for_timeout(10)
        head, pixels = whole[draws[3]]  # as if the cut drew something else
        held[0].fulfill(body=packed(head | {"cut": True, "calls": 7, "proof": "equal"}, pixels))
        page.reads("which draw the same as all")
        assert page.page.evaluate(shown) == colours[draws[3]] != colours[draws[2]]
        page.page.unroute("**/picture/*")
        # An older question that reaches the server late overtakes this one: the page asks again.
        late = {"status": 409, "json": {"error": "a newer question was asked", "hint": None}}
        page.page.route("**/picture/*", lambda route: route.fulfill(**late), times=1)
        shows(draws[3])
        head, changed = headed(running.ask(f"/api/0/picture/{draws[0]}?on=9999").body)
        assert (head["rows"], changed) == (height, whole[draws[0]][1])
        assert running.ask(f"/api/0/picture/{draws[0]}?on=x").status == 400
    finally:
        assert running.close() == 0


def test_a_click_on_a_pixel_shows_who_wrote_it(opened, chain, drawtap):
    from drawtap import open as open_trace

    with open_trace(chain) as trace:
        seq = trace.sql("SELECT max(seq) FROM draws WHERE kind = 'draw'").fetchall()[0][0]
    page = opened(f"call={seq}&tab=picture")
    canvas = page.page.locator(".picture canvas").first
    canvas.click(position={"x": 3, "y": 5})
    height = page.page.evaluate("document.querySelector('.picture canvas').height")
    page.wait(f"place.px === '3,{height - 6}'")
    page.until("document.querySelectorAll('#history tbody tr').length > 0")
    said = json.loads(drawtap("image", chain, str(seq), "--pixel", f"3,{height - 6}", "--json").out)
    assert page.page.locator("#history tbody tr").count() == len(said["events"])
    calls = page.page.locator("#history td:first-child a").all_inner_texts()
    assert [int(text.replace("\u202f", "")) for text in calls] == [event["call"] for event in said["events"]]
    canvas.focus()
    page.press("ArrowRight", "Enter")
    page.wait(f"place.px === '4,{height - 6}'")
    page.until("document.querySelectorAll('#history tbody tr').length > 0")
    page.page.locator("#history td:first-child a").first.click()
    page.wait(f"place.call === {said['events'][0]['call']}")
    page.page.get_by_label("close the history").click()
    page.until("!document.getElementById('history')")


def test_overlays_stack_and_say_their_sums(opened, chain, drawtap, tmp_path):
    import numpy as np

    from drawtap import open as open_trace

    with open_trace(chain) as trace:
        seq = trace.sql("SELECT max(seq) FROM draws WHERE kind = 'draw'").fetchall()[0][0]
    page = opened(f"call={seq}&tab=picture")
    for name in ("highlight", "depth fail", "wireframe", "overdraw"):
        page.page.get_by_role("button", name=name, exact=True).click()
        page.page.wait_for_selector(".legend[data-ready=yes]")
    page.wait("place.over === 'drawn,depth,wire,overdraw'")
    # A button of a picture that is behind the place takes nothing back.
    button = "[...document.querySelectorAll('#panel button')].find((b) => b.textContent === 'overdraw')"
    page.page.evaluate(f"() => {{ drawtap.store.set({{over: 'drawn,depth'}}); {button}.click(); }}")
    page.wait("place.over === 'drawn,depth,overdraw'")
    page.page.evaluate("() => drawtap.store.set({over: 'drawn,depth,wire,overdraw'})")
    page.until("document.querySelectorAll('.stack canvas').length === 5")
    page.page.wait_for_selector(".legend[data-ready=yes]")
    for name, words in (("drawn", "highlight: {} fragments pass"), ("overdraw", "overdraw: {} fragments of")):
        target = tmp_path / f"{name}.npy"
        assert drawtap("image", chain, str(seq), "--overlay", name, "-o", target).code == 0
        counts = np.load(target)
        assert words.format(int(counts.sum())) in page.text(".legend").replace("\u202f", "")
    assert page.page.locator(".legend [style*=background]").count() > 3
    assert page.bare_colours() == []
    # The page paints what the numbers say.
    painted = page.page.evaluate(
        "(() => { const c = document.querySelectorAll('.stack canvas')[1];"
        " return [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data].filter((v, i) => i % 4 === 3 && v)"
        ".length; })()"
    )
    assert painted == int((counts > 0).sum())


def test_vertices_lead_to_pixels_and_back(opened, chain):
    page = opened("tab=mesh", viewport={"width": 900, "height": 800}, color_scheme="dark")
    page.press("d")
    page.reads("rasterised")
    page.page.get_by_role("button", name="in: as the program gave them").click()
    page.wait("place.mesh === 'in'")
    page.reads("place")
    page.page.get_by_role("button", name="out: behind the last stage").click()
    page.wait("place.mesh === ''")
    page.until("[...document.querySelectorAll('th')].some((th) => th.innerText === 'pixel')")
    page.page.locator("canvas.space").focus()
    before = page.page.evaluate("document.querySelector('canvas.space').toDataURL()")
    page.press("ArrowRight", "ArrowDown", "+")
    assert page.page.evaluate("document.querySelector('canvas.space').toDataURL()") != before
    page.page.evaluate("drawtap.store.set({ px: '3,3' })")
    page.reads("cover pixel 3, 3")
    page.page.get_by_role("link", name="picture", exact=True).click()
    page.wait("place.tab === 'picture' && place.px === '3,3'")


def test_what_if_shows_both_pictures(opened, chain):
    with drawtap.open(chain) as trace:
        seq = trace.sql("SELECT max(seq) FROM draws WHERE kind = 'draw'").fetchall()[0][0]
    page = opened(f"call={seq}&tab=whatif")
    page.page.get_by_role("button", name="without this call").click()
    page.wait(f"place.what === 'drop {seq}'")
    page.until("document.querySelectorAll('.beside canvas').length === 2")
    page.reads("pixels differ")
    # Both pictures are whole: nothing of them has to be scrolled to.
    assert page.page.evaluate("(({scrollHeight: a, clientHeight: b}) => a <= b)(document.querySelector('.beside'))")
    page.page.get_by_role("button", name="times of both").click()
    page.until("/[2-7] rounds/.test(document.getElementById('times').innerText)")
    assert "a software renderer, whose drawing is in it" in page.text("#times")
    cells = page.page.locator("#times tbody td").all_inner_texts()
    assert len(cells) == 6
    assert all(any(c.isdigit() for c in cell) for cell in cells)
    page.page.fill("#panel textarea", "fly 3")
    page.press("Control+Enter")
    page.reads("is no change")
    page.page.get_by_role("button", name="as it was").click()
    page.wait("place.what === ''")
    page.page.get_by_role("button", name="one pixel of this draw").click()
    page.wait(f"place.what === 'pixel {seq}'")
    page.reads("pixels differ")


def test_a_shader_is_edited_beside_its_old_picture(opened, chain):
    with drawtap.open(chain) as trace:
        seq = trace.sql("SELECT max(seq) FROM draws WHERE kind = 'draw'").fetchall()[0][0]
    page = opened(f"call={seq}&tab=shader", viewport={"width": 900, "height": 800}, color_scheme="dark")
    page.reads("Uniforms")
    page.page.get_by_role("button", name="its cost").click()
    page.reads("drawtap profile chain.dtap --per draw -m cpu:time/process --isolate")
    with page.page.expect_download() as saved:
        page.page.get_by_role("button", name="save", exact=True).last.click()
    assert "gl_FragColor" in Path(saved.value.path()).read_text()
    page.page.get_by_role("button", name="edit", exact=True).last.click()
    page.wait("place.tab === 'whatif' && place.edit !== null")
    source = page.page.get_by_label("source of the shader")
    source.wait_for()
    assert "gl_FragColor" in source.input_value()
    source.fill("precision mediump float; void main() { gl_FragColor = vec4(0, 0, 1, 1); }")
    page.press("Control+Enter")
    page.reads("is linked")
    page.reads("pixels differ")
    page.page.get_by_label("source of the shader").fill("void main() { gl_FragColor = nothing; }")
    page.press("Control+Enter")
    page.until("/✕ shader|nothing/.test(document.querySelector('#panel .bad')?.innerText ?? '')")
    page.page.get_by_role("button", name="source as it was").click()
    page.wait("place.what === ''")


def test_pictures_of_frames_stand_above_the_bars_and_lead_to_them(opened, chain):
    page = opened("call=100")
    page.until("document.querySelectorAll('.thumbs canvas').length > 3")
    page.wait("d.strip.made.size >= d.strip.thumbs.children.length")
    asked = [url for url in page.requests if "/thumbnail/" in url]
    assert len(asked) == len(set(asked)) <= 40  # each once, however long the run is
    page.page.locator(".thumbs canvas").nth(2).click()
    frame = int(page.page.locator(".thumbs canvas").nth(2).get_attribute("title").removeprefix("frame "))
    with drawtap.open(chain) as trace:
        page.wait(f"place.call === {trace.frames[frame].end_seq - 1}")
        draws = f"SELECT seq FROM draws WHERE kind = 'draw' AND frame = {frame} ORDER BY seq"
        draw = trace.sql(draws).fetchall()[0][0]
        far = trace.frames[frame + 2].end_seq - 1
    # While the exact picture is played, the panel shows the frame's small one, without any question more.
    page.page.evaluate(
        """() => {
          const fetched = fetch;
          globalThis.held = [];
          globalThis.fetch = async (url, options) => {
            if (url.includes("/picture/"))
              await new Promise((done, stop) => {
                held.push(done);
                options.signal.addEventListener("abort", () => stop(options.signal.reason));
              });
            return fetched(url, options);
          };
        }"""
    )
    page.press("3")
    small = "document.querySelector('#panel .preview canvas')"
    pixels = "[...c.getContext('2d').getImageData(0, 0, c.width, c.height).data].join()"
    page.until(f"{small} !== null")
    page.reads("preview: the whole frame, small")
    of_strip = f"drawtap.strip.made.get({frame})"
    assert page.page.evaluate(f"((c) => {pixels})({small}) === ((c) => {pixels})({of_strip})")
    assert page.page.locator("#panel :is(button, input, .picture)").count() == 0  # nothing to save or to inspect
    asked = [url for url in page.requests if "/thumbnail/" in url]
    assert len(asked) == len(set(asked))
    assert not any("/small/" in url for url in page.requests)
    page.page.evaluate("held.pop()()")
    exact = "document.querySelector('#panel .stack canvas') !== null"
    page.until(f"{exact} && {small} === null && document.getElementById('message').innerText === ''")
    # The exact picture of a neighbour stays until the next one comes; that of another frame does not.
    page.page.evaluate(f"drawtap.go({draw})")
    page.until("document.getElementById('message').innerText.includes('playing up to the call')")
    assert page.page.evaluate(f"{exact} && {small} === null")
    page.wait(f"d.strip.made.has({frame + 2})")
    page.page.evaluate(f"drawtap.go({far})")
    page.until(f"{small}?.getAttribute('aria-label') === 'preview of frame {frame + 2}: the whole frame, small'")
    page.page.evaluate("held.pop()()")
    page.until(f"{exact} && {small} === null")
    page.press("i")
    page.until("document.querySelector('.thumbs').hidden")


def test_keys_can_be_changed_and_stay_beside_the_recording(opened, recordings, tmp_path):
    path = Path(shutil.copy(recordings / "fbo_chain.dtap", tmp_path / "keys.dtap"))
    server = Server(path)
    change = "change the key of next draw"
    try:
        page = opened("call=0", server)
        page.press("?")
        page.page.get_by_label(change).focus()
        page.press("Enter", "f")
        page.until("document.querySelector('dialog').innerText.includes('f is the key of “next frame”')")
        page.press("Tab")
        page.until("document.querySelector('dialog').innerText.includes('Tab moves about the page')")
        page.press("q")
        page.until("[...document.querySelectorAll('dialog li')].some((li) => /next draw\\s*q/.test(li.innerText))")
        page.until(f"document.activeElement.getAttribute('aria-label') === '{change}'")
        assert json.loads(path.with_name("keys.dtap.notes.json").read_text())["keys"] == {"next draw": "q"}
        page = opened("call=0", server)  # another page knows the key
        page.press("d")  # is free now
        assert page.place()["call"] == 0
        page.press("q")
        page.wait("place.call > 0")
        page.press("?")
        page.page.get_by_label(change).focus()
        page.press("Enter", "Backspace")
        page.until("[...document.querySelectorAll('dialog li')].some((li) => /next draw\\s*d/.test(li.innerText))")
        assert json.loads(path.with_name("keys.dtap.notes.json").read_text())["keys"] == {}
        page.page.evaluate("void Promise.reject(new DOMException('nobody needs it', 'AbortError'))")
        page.page.evaluate("void Promise.reject(new Error('nobody caught it'))")
        page.until("document.getElementById('message').innerText === 'nobody caught it'")
        assert ["nobody caught it" in error for error in page.errors] == [True]
        page.errors.clear()
    finally:
        assert server.close() == 0


def test_a_player_that_dies_is_started_again(opened, server, chain):
    with drawtap.open(chain) as trace:
        first, last = (trace.sql(f"SELECT {f}(seq) FROM draws").fetchall()[0][0] for f in ("min", "max"))
    page = opened(f"call={last}&tab=picture")
    page.page.wait_for_selector(".picture canvas")
    players = ["pgrep", "-P", str(server.process.pid), "-f", "drawtap-play"]
    killed = 0
    while not killed:
        for pid in subprocess.run(players, capture_output=True, text=True).stdout.split():
            with contextlib.suppress(ProcessLookupError):  # one that ended just now
                os.kill(int(pid), signal.SIGKILL)
                killed += 1
    page.page.evaluate(f"drawtap.go({first})")
    page.reads(f"After call {first}")


def test_names_from_strangers_are_text_everywhere(opened, recordings, tmp_path):
    hostile = "<img src=x onerror=\"document.title='owned'\"></script><script>document.title='owned'</script><b>"
    shown = hostile[:8]
    evil = tmp_path / "<b>evil.dtap"
    program = Path(shutil.copy(recordings / "fbo_chain", tmp_path / "<b>thread"))  # which names its thread too
    surfaceless = {**os.environ, "EGL_PLATFORM": "surfaceless", "LIBGL_ALWAYS_SOFTWARE": "1"}
    made = run_drawtap("record", "-q", "-o", tmp_path / "base.dtap", "--", program, environment=surfaceless)
    assert made.returncode == 0, made.stderr
    with drawtap.edit(tmp_path / "base.dtap") as trace:
        for event in trace.find("name = 'glShaderSource'"):
            event.values["string"] = [f"// {hostile}\u202e\n" + "".join(event.values["string"])]
            event.values["length"] = None
        draw = next(trace.find("name = 'glDrawArrays'")).seq
        for name in ("glObjectLabel", "glPushDebugGroup"):
            words = {"identifier": "GL_TEXTURE", "name": 1, "label": hostile} if name == "glObjectLabel" else {
                "source": "GL_DEBUG_SOURCE_APPLICATION", "id": 1, "message": hostile}  # fmt: skip
            trace.insert(draw, name, **words, length=-1)
        trace.save(evil)
    notes = {"bookmarks": [{"seq": 3, "text": hostile}], "filters": [hostile], "queries": [f"SELECT '{shown}' AS a"]}
    (tmp_path / "<b>evil.dtap.notes.json").write_text(json.dumps({"version": 1, **notes}))
    with drawtap.open(evil) as trace:
        draw, label, group = (
            trace.sql(f"SELECT max(seq) FROM calls WHERE name = '{name}'").fetchone()[0]
            for name in ("glDrawArrays", "glObjectLabel", "glPushDebugGroup")
        )
    running = Server(evil)
    try:
        page = opened(f"call={draw}&time=open&object=texture/1/1&px=3,5&over=drawn&what=drop {draw - 1}", running)
        row = "drawtap.timeline.graph?.rows?.find((row) => row.label.includes('<b>thread'))"
        page.until(f"Boolean({row})")
        page.page.evaluate(f"drawtap.timeline.graph.focus = {row}.id")
        page.page.evaluate("drawtap.timeline.graph.step(0)")
        assert "<b>thread" in page.page.evaluate("drawtap.timeline.graph.said.innerText")
        tabs = page.page.evaluate("drawtap.panels.map((one) => one.id)")
        for tab in tabs:
            page.page.evaluate(f"drawtap.store.set({{ tab: '{tab}' }})")
            page.until(f"document.getElementById('tab-{tab}').ariaSelected === 'true'")
            page.until("document.querySelector('#panel > *') && !document.querySelector('#panel[aria-busy]')")
            if tab in ("shader", "objects", "texture", "notes"):
                page.reads(shown)
            assert _strange(page) == 0, tab
        for call, tab in ((label, "call"), (group, "call"), (group, "state")):
            page.page.evaluate(f"drawtap.store.set({{ call: {call}, tab: '{tab}' }})")
            page.reads(shown if tab == "call" else "State after call")
            assert _strange(page) == 0, call
        page.until(f"[...document.querySelectorAll('.row')].some((row) => row.innerText.includes({json.dumps(shown)}))")
        page.page.evaluate("drawtap.store.set({ tab: 'time' })")
        page.page.evaluate("drawtap.timeline.graph.beside(1)")
        page.reads("<b>thread")
        assert _strange(page) == 0
        page.page.evaluate(f"drawtap.store.set({{ filter: {hostile!r}, sql: {hostile!r}, tab: 'sql' }})")
        page.page.wait_for_selector("#panel .bad")
        page.press("?")
        page.page.wait_for_selector("dialog[open]")
        assert _strange(page) == 0
        assert page.page.title() == "<b>evil.dtap – drawtap"
    finally:
        running.close()


def _strange(page) -> int:
    """Count elements that nothing of the page makes, but hostile names would."""
    return page.page.evaluate("document.querySelectorAll('img, b b, script:not([src])').length")


def test_a_recording_that_is_cut_off_says_so_on_the_page(opened, chain, tmp_path):
    cut, whole = tmp_path / "cut.dtap", tmp_path / "whole.dtap"
    assert run_drawtap("join", chain, chain, "-o", whole).returncode == 0
    with drawtap.open(whole) as trace:
        (last,) = [c for c in trace.core.table_rows("chunks") if c["type"] == "calls" and c["first_call"]]
    cut.write_bytes(whole.read_bytes()[: last["offset"] + 4000])
    running = Server(cut)
    try:
        page = opened(of=running)
        assert re.search(r"\d problems?", page.text("#what"))
        page.page.click("#what .bad")
        page.reads("offset")
        with drawtap.open(cut) as trace:
            calls = trace.info["calls"]
        page.wait(f"d.recording.calls === {calls}")
        # The problem is a mark in the list, on the strip beside the scroll bar, and on the timeline.
        page.wait("[...d.marks.of.values()].flat().some(([severity]) => severity === 'problem')")
        page.press("T")
        page.wait("d.timeline.graph.rows?.some((row) => row.label === '✖ problems')")
        page.page.evaluate("drawtap.go([...drawtap.marks.of].find(([, all]) => all[0][0] === 'problem')[0])")
        page.until("document.querySelector('.row.chosen .mark')?.innerText.includes('✖')")
        # The calls before it are shown as ever.
        page.press("D", "3")
        page.until("document.querySelector('#panel .stack canvas')")
        assert page.place()["call"] < calls
    finally:
        running.close()


def test_two_pages_at_once_have_their_own_places(opened, server, chain):
    with drawtap.open(chain) as trace:
        draws = [
            seq for (seq,) in trace.sql("SELECT seq FROM draws WHERE kind = 'draw' AND frame IN (2, 9)").fetchall()
        ]
    first, second = opened(f"call={min(draws)}&tab=state"), opened(f"call={max(draws)}&tab=call")
    first.reads(f"State after call {min(draws)}")
    second.reads(f"call {max(draws):,}".replace(",", "\u202f"))
    first.press("3")
    second.press("3")
    for page, seq in ((first, min(draws)), (second, max(draws))):
        page.until("document.querySelector('#panel .stack canvas')")
        assert page.place()["call"] == seq
        _, data = headed(server.ask(f"/api/0/picture/{seq}").body)
        shown = page.page.evaluate(
            "(() => { const c = document.querySelector('#panel .stack canvas');"
            " return [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data]; })()"
        )
        assert [v for i, v in enumerate(shown) if i % 4 < 3] == [v for i, v in enumerate(data) if i % 4 < 3]


def test_the_page_and_its_first_rows_take_few_requests_and_bytes(opened):
    page = opened()
    before = "((t) => performance.getEntriesByType('resource').filter((e) => e.startTime < t).map((e) => e.name))"
    urls = page.page.evaluate(f"{before}(performance.getEntriesByName('rows')[0].startTime)")
    asked = [url for url in urls if "/api/" in url]
    # One question for all that the list needs; another for the panel, which may be later than the rows.
    assert urlsplit(asked[0]).path == "/api/start" and len(asked) <= 2, asked
    assert not any("/thumbnail" in url for url in asked)  # nothing is played before the first rows
    sizes = page.page.evaluate(
        "(t) => performance.getEntriesByType('resource').filter((e) => e.startTime < t && e.name.includes('/app/'))"
        ".map((e) => [e.name, e.encodedBodySize, e.decodedBodySize])",
        page.page.evaluate("performance.getEntriesByName('rows')[0].startTime"),
    )
    assert sum(packed for _, packed, _ in sizes) <= 120_000, sizes
    folder = Path(drawtap.__file__).parent
    files = {path.name: path.stat().st_size for path in folder.glob("*/assets/*")}  # those of reports too
    assert len(sizes) > 10
    assert [whole for *_, whole in sizes] == [files[url.rpartition("/")[2]] for url, *_ in sizes]
