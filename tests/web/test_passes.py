"""Revisions of objects and passes of frames on the page, and rows of small pictures."""

from __future__ import annotations

import json
from urllib.parse import quote

import numpy as np
import pytest

from drawtap import open as open_trace
from shared import BROWSER
from web.conftest import headed

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")

_FILM = "document.querySelector('#panel .film')"
_SCROLL = """film => {
  for (let screen = 1; screen <= 10; screen++) {
    film.scrollLeft = screen * film.clientWidth;
    film.dispatchEvent(new Event("scroll"));
  }
}"""


def _small(server, path: str):
    answer = server.ask(f"/api/0/small/{path}")
    assert answer.status == 200, answer.body
    head, data = headed(answer.body)
    return np.frombuffer(data, np.uint8).reshape(head["height"], head["width"], 4)


def _small_of(urls: list[str]) -> list[str]:
    return [url for url in urls if "/small/" in url]


def test_the_picture_of_a_revision_is_what_the_image_verb_saves(server, chain, drawtap, tmp_path):
    from drawtap.replay.compare import read_png

    with open_trace(chain) as trace:
        query = """SELECT r.name, r.share_group, r.path, r.last_seq FROM revisions r JOIN passes p USING (pass_number)
            WHERE r.kind = 'draw' AND r.class = 'texture' AND r.name <> 6 AND r.frame = 3"""
        found = trace.sql(query).fetchall()
    assert len(found) > 3
    for name, group, path, seq in found:
        file = tmp_path / f"{seq}.png"
        assert drawtap("image", chain, str(seq), "-o", file, "--force").code == 0
        expected = read_png(file)
        held = _small(server, f"{seq}/texture/{group}/{name}?path={quote(path)}")
        assert np.array_equal(held, expected), name
        assert np.array_equal(_small(server, str(seq)), expected), name


def test_a_pass_of_depth_alone_has_its_depth_as_picture(server, chain):
    with open_trace(chain) as trace:
        ((seq,),) = trace.sql("SELECT last_seq FROM passes WHERE framebuffer = 6 AND frame = 2").fetchall()
    image = _small(server, str(seq))
    assert image.shape[:2] == (64, 64)
    assert {int(image[..., :3].min()), int(image[..., :3].max())} == {0, 255}


def test_passes_are_a_graph_and_a_table_and_lead_to_their_calls(opened, chain):
    with open_trace(chain) as trace:
        passes = trace.sql("SELECT pass_number, last_seq FROM passes WHERE frame = 1 ORDER BY 1").fetchall()
        links = trace.sql(
            "SELECT DISTINCT from_pass, to_pass FROM pass_links JOIN passes ON pass_number = to_pass"
            " WHERE passes.frame = 1"
        ).fetchall()
        earlier = {one for one, _ in links} - {number for number, _ in passes}
    page = opened(f"call={passes[3][1]}")
    page.press("P")
    page.wait("place.tab === 'passes'")
    page.reads("Passes of frame 1")
    assert page.page.locator(".flow .pass").count() == len(passes) + len(earlier)
    assert page.page.locator(".flow .earlier").count() == len(earlier)
    assert page.page.locator(".flow .edge").count() == len(links)
    assert page.page.locator("#panel tbody tr").count() == len(passes)
    # Every label stands on a background of its own, which covers it.
    assert page.page.evaluate("""[...document.querySelectorAll(".flow .what")].every((text) => {
        const behind = text.previousElementSibling, a = text.getBBox(), b = behind.getBBox();
        return behind.matches(".behind") && b.x <= a.x + 1 && b.x + b.width >= a.x + a.width - 1;
    })""")
    # Every link goes down.
    assert page.page.evaluate("""[...document.querySelectorAll(".flow .edge")].every((edge) => {
        const all = edge.getAttribute("d").match(/-?[\\d.]+/g).map(Number);
        return all.at(-1) > all[1];
    })""")
    chosen = page.page.locator(".flow .chosen")
    assert chosen.get_attribute("aria-current") == "true"
    target = page.page.locator(".flow .pass:not(.earlier)").nth(5)
    words = target.get_attribute("aria-label")
    target.focus()
    page.press("Enter")
    page.wait(f"place.call !== {passes[3][1]}")
    assert page.place()["call"] in {last for _, last in passes}
    page.until(f"document.querySelector('.flow .chosen')?.getAttribute('aria-label') === {json.dumps(words)}")
    page.page.get_by_role("button", name="next frame").click()
    page.reads("Passes of frame 2")


def test_a_film_asks_for_what_is_in_view_alone(opened, chain):
    page = opened()
    came: list[str] = []  # an answer that another picture is being made is none: the film asks again
    page.page.on("response", lambda answer: came.append(answer.url) if answer.status == 200 else None)
    page.page.evaluate("drawtap.store.set({tab: 'texture', call: 1000, object: 'texture/1/1'})")
    page.reads("Revisions")
    page.until(f"{_FILM}.querySelector('figcaption') !== null")
    page.until(f"{_FILM}.querySelectorAll('canvas').length >= {_FILM}.querySelectorAll('figure').length - 1")
    before = len(_small_of(came))
    page.page.locator("#panel .film").evaluate("film => { film.scrollLeft = 0; }")
    page.until(f"{_FILM}.querySelector('figcaption')?.innerText.startsWith('other')")
    page.until(f"{_FILM}.querySelectorAll('canvas').length === {_FILM}.querySelectorAll('figure').length - 1")
    at_first = len(_small_of(came))
    page.page.locator("#panel .film").evaluate(_SCROLL)
    page.until(f"{_FILM}.querySelectorAll('canvas').length === {_FILM}.querySelectorAll('figure').length")
    shown = page.page.evaluate(f"{_FILM}.querySelectorAll('figure').length")
    assert before <= at_first
    pictures = _small_of(came)
    assert pictures
    assert len(pictures) - at_first <= shown
    assert len(pictures) == len(set(pictures))  # each once


def test_a_film_says_why_there_is_no_picture(opened, chain):
    page = opened()
    lost = {"error": "the player ended", "hint": None}
    page.page.route("**/small/**", lambda route: route.fulfill(status=422, json=lost))
    page.page.evaluate("drawtap.store.set({tab: 'texture', call: 216, object: 'texture/1/1'})")
    page.reads("no picture: the player ended")
    page.page.locator("#panel .film").evaluate("film => { film.scrollLeft = 0; }")
    page.reads("nothing to show")  # in new storage
    assert page.fits()


def test_what_leaves_the_view_is_not_asked_any_more(opened, chain):
    page = opened()
    waiting, gone = [], []
    page.page.on("requestfailed", lambda request: gone.append(request.url))

    def hold(route):
        if waiting:
            route.continue_()
        else:
            waiting.append(route)

    page.page.route("**/small/**", hold)
    page.page.evaluate("drawtap.store.set({tab: 'texture', call: 216, object: 'texture/1/1'})")
    page.reads("Revisions")
    page.until("performance.getEntriesByType('resource').length > 0")
    while not waiting:
        page.page.wait_for_timeout(10)
    held = waiting[0].request.url
    page.page.locator("#panel .film").evaluate(_SCROLL)
    while held not in gone:
        page.page.wait_for_timeout(10)
    page.until(f"{_FILM}.querySelectorAll('canvas').length === {_FILM}.querySelectorAll('figure').length")


def test_a_film_is_walked_by_keys(opened, chain):
    with open_trace(chain) as trace:
        query = "SELECT seq FROM draws WHERE frame = 2 ORDER BY seq"
        draws = [seq for (seq,) in trace.sql(query).fetchall()]
    page = opened(f"tab=picture&call={draws[0]}")
    page.until(f"{_FILM} !== null && {_FILM}.querySelectorAll('figure').length > 2")
    assert page.page.evaluate(f"{_FILM}.querySelector('figure').getAttribute('aria-setsize')") == str(len(draws))
    page.page.locator("#panel .film").focus()
    page.press("End", "ArrowLeft", "Enter")
    page.wait(f"place.call === {draws[-2]}")
    page.until(f"{_FILM}.querySelector('[aria-selected=true] figcaption')?.innerText.endsWith('{draws[-2]}')")


def test_a_buffer_lists_its_revisions_with_size_and_hash(opened, chain):
    with open_trace(chain) as trace:
        query = "SELECT seq, content_hash FROM revisions WHERE class = 'buffer' AND name = 2 AND kind = 'upload'"
        found = trace.sql(query).fetchall()
    page = opened("tab=buffer&call=268&object=buffer/1/2")
    page.reads("Revisions")
    text = page.text("#panel")
    assert len(found) == 2
    for seq, content in found:
        assert content in text
        assert str(seq) in text
