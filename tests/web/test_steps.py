"""Steps through a recording: what the page paints and lays out for one, and how its address follows."""

from __future__ import annotations

from itertools import pairwise

import pytest

import drawtap
from shared import BROWSER

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")

_CANVAS = "document.querySelector('#panel .stack canvas')"
_PIXELS = f"""(() => {{ const c = {_CANVAS};
  return [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data].join(); }})()"""
# What is on its way, and small pictures that are still to come.
_REST = """(async () => {
  const film = () => [...document.querySelectorAll('.film span')].some((one) => one.textContent === '…');
  while (film()) await new Promise((done) => setTimeout(done, 20));
  for (let i = 0; i < 30; i++) await new Promise(requestAnimationFrame);
})()"""

# Whoever asks an element for its size or place lays the page out, and whoever fills a canvas copies all of it.
_COUNTED = """() => {
  globalThis.asked = [];
  for (const [of, names] of [
    [Element, ["clientWidth", "clientHeight", "scrollWidth", "scrollHeight", "scrollTop", "scrollLeft"]],
    [HTMLElement, ["offsetWidth", "offsetHeight", "offsetTop", "offsetLeft", "innerText"]]]) {
    for (const name of names) {
      const {get, ...rest} = Object.getOwnPropertyDescriptor(of.prototype, name);
      const counted = {...rest, get() { asked.push(`${name} of ${this.className}`); return get.call(this); }};
      Object.defineProperty(of.prototype, name, counted);
    }
  }
  for (const [of, name] of [[Element, "getBoundingClientRect"], [CanvasRenderingContext2D, "putImageData"]]) {
    const run = of.prototype[name];
    of.prototype[name] = function (...values) { asked.push(name); return run.apply(this, values); };
  }
}"""
# What of this a key leads to until the frame after it; what comes later nobody waits for.
_STEP = """async (key) => {
  asked.length = 0;
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return [...asked];
}"""


def _shown(page, seq: int) -> None:
    title = "document.querySelector('#panel h2')?.firstChild.textContent.replaceAll('\\u202f', '')"
    page.until(f"{title} === 'After call {seq}' && {_CANVAS} !== null")


def _two_draws(chain) -> tuple[int, int]:
    with drawtap.open(chain) as trace:
        asked = "SELECT seq, frame FROM draws WHERE kind = 'draw' ORDER BY seq"
        draws = trace.sql(asked).fetchall()
    return next((a[0], b[0]) for a, b in pairwise(draws) if a[1] == b[1])


def test_a_step_between_seen_pictures_fills_no_canvas_and_asks_for_no_layout(opened, chain):
    before, last = _two_draws(chain)
    page = opened(f"call={before}&tab=picture")
    _shown(page, before)
    first = page.page.evaluate(_PIXELS)
    page.press("d")
    _shown(page, last)
    second = page.page.evaluate(_PIXELS)
    assert first != second
    for key, seq in (("D", before), ("d", last)):  # now all of a step is there: both rows, and the film
        page.press(key)
        _shown(page, seq)
        page.page.evaluate(_REST)
    # The page lays itself out again when findings and small pictures of frames come. The last frame has no end.
    page.wait("!d.marks.canvas.hidden && d.strip.made.size >= d.recording.frameCount - 1")
    page.page.evaluate(_REST)
    page.page.evaluate(_COUNTED)
    for key, seq, pixels in (("D", before, first), ("d", last, second)):
        assert page.page.evaluate(_STEP, key) == [], key
        _shown(page, seq)
        assert page.page.evaluate(_PIXELS) == pixels, key
        page.page.evaluate(_REST)  # what follows a step in later frames is no part of the next one


def test_a_picture_that_comes_again_shows_all_channels_again(opened, chain):
    before, last = _two_draws(chain)
    page = opened(f"call={last}&tab=picture")
    _shown(page, last)
    whole = page.page.evaluate(_PIXELS)
    red = page.page.locator("#panel").get_by_role("button", name="R", exact=True)
    red.click()
    page.until(f"{_PIXELS} !== {_PIXELS.replace('data].join()', 'data].map(() => 0).join()')}")
    assert red.get_attribute("aria-pressed") == "true"
    assert page.page.evaluate(_PIXELS) != whole
    page.press("D")
    _shown(page, before)
    page.press("d")
    _shown(page, last)
    assert red.get_attribute("aria-pressed") == "false"
    assert page.page.evaluate(_PIXELS) == whole
    # The pointer tells of the view that is there, not of the one that had the canvas before.
    page.page.locator("#panel .stack canvas").hover(position={"x": 1, "y": 1})
    page.reads("x 1, y ")
    assert page.page.locator("#panel code", has_text="from below").count() == 1


def test_a_step_leaves_the_tools_where_they_are_and_they_are_of_the_new_picture(opened, chain):
    before, last = _two_draws(chain)
    page = opened(f"call={before}&tab=picture")
    _shown(page, before)
    for key, seq in (("d", last), ("D", before)):
        page.press(key)
        _shown(page, seq)
        page.page.evaluate(_REST)
    page.page.locator("#panel .stack canvas").hover(position={"x": 3, "y": 2})
    words = page.page.locator("#panel code", has_text="from below")
    told = words.inner_text()
    place, _, first = told.partition(" from below: ")
    x, y = (int(word.split()[1]) for word in place.split(", "))
    of_pixel = f"""(() => {{ const c = {_CANVAS};
      return [...c.getContext('2d').getImageData({x}, c.height - 1 - {y}, 1, 1).data].slice(0, 3).join(' '); }})()"""
    assert first.rpartition(" ")[0] == page.page.evaluate(of_pixel)
    page.page.evaluate("""() => { globalThis.tools = [...document.querySelectorAll('#panel .tools')].at(-1); }""")
    page.press("d")
    _shown(page, last)
    assert page.page.evaluate("tools.isConnected")
    again, _, second = words.inner_text().partition(" from below: ")
    assert (again, second.rpartition(" ")[0]) == (place, page.page.evaluate(of_pixel))
    with page.page.expect_download() as download:
        page.page.locator("#panel").get_by_role("button", name="save", exact=True).click()
    assert download.value.suggested_filename == f"call-{last}.png"


def test_the_address_follows_steps_without_a_change_for_each(opened):
    page = opened("call=0")
    page.page.evaluate(
        """() => { globalThis.written = [];
          for (const name of ["pushState", "replaceState"]) {
            const write = history[name];
            history[name] = function (...of) { written.push(of[2]); return write.apply(this, of); };
          } }"""
    )
    page.page.evaluate("() => { for (let seq = 1; seq < 100; seq++) drawtap.go(seq); }")
    page.until("location.hash.includes('call=99')")
    assert page.page.evaluate("written.length") == 1
    # Who undoes or copies at once has the place that the page shows.
    page.page.evaluate("() => { drawtap.store.set({ tab: 'notes' }); drawtap.store.back(); }")
    page.wait("place.tab === 'call' && place.call === 99")
    page.page.evaluate(
        """() => { drawtap.go(7); drawtap.keys.commands.find((one) => one.name.startsWith("copy a link")).run(); }"""
    )
    assert "call=7" in page.page.evaluate("location.hash")
    # The browser's own way back wins over what the address has not said yet.
    page.page.evaluate("() => { drawtap.go(8); history.back(); }")
    page.wait("place.call !== 8")
    place = page.place()["call"]
    page.page.wait_for_timeout(400)
    assert page.place()["call"] == place
    assert page.page.evaluate("location.hash").split("call=")[1].split("&")[0] == str(place)


def test_a_small_picture_of_the_film_is_the_preview_of_its_call(opened, chain):
    first, last = _two_draws(chain)
    with drawtap.open(chain) as trace:
        asked = f"SELECT frame FROM draws WHERE seq = {first}"
        frame = trace.sql(asked).fetchall()[0][0]
        far = trace.sql(f"SELECT max(seq) FROM draws WHERE kind = 'draw' AND frame > {frame}").fetchall()[0][0]
    page = opened(f"call={last}&tab=picture")
    _shown(page, last)
    page.until(f"document.querySelector('[id^=\"film-{first}-\"] canvas') !== null")
    pixels = "[...c.getContext('2d').getImageData(0, 0, c.width, c.height).data].join()"
    of_film = page.page.evaluate(f"((c) => {pixels})(document.querySelector('[id^=\"film-{first}-\"] canvas'))")
    page.page.evaluate(f"drawtap.go({far})")
    _shown(page, far)
    page.page.evaluate(
        """() => {
          const fetched = fetch;
          globalThis.held = [];
          globalThis.fetch = async (url, options) => {
            if (url.includes("/picture/")) await new Promise((done) => held.push(done));
            return fetched(url, options);
          };
        }"""
    )
    page.page.evaluate(f"drawtap.go({first})")
    small = "document.querySelector('#panel .preview canvas')"
    page.until(f"{small}?.getAttribute('aria-label') === 'preview of frame {frame}: this call, small'")
    assert page.page.evaluate(f"((c) => {pixels})({small})") == of_film
    assert sum(url.endswith(f"/small/{first}") for url in page.requests) == 1  # the film's own question
    page.page.evaluate("held.pop()()")
    _shown(page, first)
    assert page.page.evaluate(f"{small} === null")
