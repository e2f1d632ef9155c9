"""The viewer's budgets, one row each: milliseconds and bytes of what somebody who looks waits for."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.measure import BenchError, Drawtap
from bench.row import Goal, Row
from bench.setup import Setup
from bench.view_page import ViewedPage, row, served

_TIMES = 20  # that an act is repeated
_PAGE = 128  # rows of the list that are asked for at once
_FRAMES = 120

# What has travelled to the page until its first rows, in bytes of bodies; and when they were there.
_LOADED = """(() => {
  const rows = performance.getEntriesByName("rows")[0].startTime;
  const before = performance.getEntriesByType("resource").filter((one) => one.startTime < rows);
  const bytes = before.reduce((sum, one) => sum + one.encodedBodySize, 0);
  return [performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? null, rows, bytes];
})()"""
# How long an address takes to answer, and how many bytes that is.
_FETCHED = """async ([path]) => {
  const { getBytes } = await import("/app/net.js");
  const begun = performance.now(), answer = await getBytes(path);
  return [performance.now() - begun, answer.byteLength];
}"""
# Intervals between pictures while the timeline moves, in ms, and the bytes of the largest answer about its levels.
_MOVED = """async (frames) => {
  const graph = drawtap.timeline.graph, between = [];
  performance.clearResourceTimings();
  performance.setResourceTimingBufferSize(1000);
  graph.look(graph.length * 0.2, graph.length * 0.3);
  let last = await new Promise(requestAnimationFrame);
  for (let i = 0; i < frames; i++) {
    graph.pan(i % 40 < 20 ? 0.02 : -0.02);
    const now = await new Promise(requestAnimationFrame);
    between.push(now - last);
    last = now;
  }
  const asked = () => performance.getEntriesByType("resource").filter((one) => one.name.includes("/tracks?"));
  for (const begun = performance.now(); !asked().length && performance.now() - begun < 5000;)
    await new Promise((done) => setTimeout(done, 50));  // the page asks where a movement ends
  const levels = asked();
  return [between, levels.length ? Math.max(...levels.map((one) => one.decodedBodySize)) : null];
}"""


def budgets(setup: Setup, chromium: Any) -> Iterator[Row]:
    """Go through a recording of 5 million calls (1 million where it has to be quick)."""
    trace = setup.scratch / "budget.dtap"
    calls = 250_000 if setup.quick else 1_250_000
    made = Drawtap().run([setup.program("many_calls"), "state", str(calls), "4"], trace).calls
    group = f"viewer: budgets, {made / 1e6:.0f} M calls"
    yield from _begin(group, trace, chromium)
    with served("view", str(trace)) as (address, _):
        page = ViewedPage(chromium, address)
        yield from _answers(group, page, made)
        page.page.evaluate("drawtap.store.set({ list: 'flat' })")
        dice = random.Random(3)
        most = 0
        for _ in range(_TIMES):
            page.page.evaluate(f"drawtap.go({dice.randrange(made)})")
            page.page.wait_for_timeout(50)
            most = max(most, page.page.evaluate("document.querySelectorAll('.row').length"))
        yield Row(group, "rows of the list in the document", "rows", most, goal=Goal(most=200, unit="rows"))
        yield from _typed(group, page)
        yield from _moved(group, page)
    trace.unlink()


def _begin(group: str, trace: Path, chromium: Any) -> Iterator[Row]:
    printed, paints, rows, sizes = [], [], [], []
    for _ in range(3):
        begun = time.monotonic()
        with served("view", str(trace)) as (address, _):
            printed.append((time.monotonic() - begun) * 1e3)
            page = ViewedPage(chromium, address)
            paint, first, size = page.page.evaluate(_LOADED)
            paints += [] if paint is None else [paint]
            rows.append(first)
            sizes.append(size / 1e3)
            page.page.close()
    yield row(group, "from the command to its address", printed, Goal(most=300, unit="ms"))
    if paints:
        yield row(group, "from the address to the first paint", paints, Goal(most=200, unit="ms"))
    yield row(group, "from the address to the first rows", rows, Goal(most=350, unit="ms"))
    yield row(group, "bytes that travel until the first rows", sizes, Goal(most=310, unit="kB"))


def _answers(group: str, page: ViewedPage, calls: int) -> Iterator[Row]:
    dice = random.Random(4)
    begun = time.monotonic()
    page.page.evaluate(_FETCHED, [f"0/state/{calls // 2}"])
    yield Row(group, "state: the index, made once", "s", time.monotonic() - begun)
    for name, path, ms, size in (
        ("a page of rows", "0/calls?seqs={a}-{end}", 10, 40),
        ("details of a call", "0/call/{a}", 20, 5),
        ("state at a call", "0/state/{a}", 30, 30),
        ("difference of two states", "0/difference?a={a}&b={b}", 60, 10),
    ):
        taken, sizes = [], []
        for _ in range(_TIMES):
            a, b = (dice.randrange(calls // 10, calls - _PAGE) for _ in range(2))
            found = page.page.evaluate(_FETCHED, [path.format(a=a, b=b, end=a + _PAGE - 1)])
            taken.append(found[0])
            sizes.append(found[1] / 1e3)
        yield row(group, f"answer: {name}", taken, Goal(most=ms, unit="ms"))
        yield row(group, f"bytes: {name}", sizes, Goal(most=size, unit="kB"))


def _typed(group: str, page: ViewedPage) -> Iterator[Row]:
    shown = "drawtap.set && drawtap.list.model.length === drawtap.set.count && document.querySelector('.row')"
    first, counted = [], []
    for word in ("name=glBindTexture", "duration>1us", "texture=GL_TEXTURE1"):
        act = f"drawtap.store.set({{ filter: {word!r} }})"
        counted.append(page.ms(act, "drawtap.set && !drawtap.filter.asking.signal.aborted"))
        page.ms("drawtap.store.set({ filter: '' })", "!drawtap.set")
        first.append(page.ms(act, shown))
        page.ms("drawtap.store.set({ filter: '' })", "!drawtap.set")
    yield row(group, "filter: its exact count", counted, Goal(most=400, unit="ms"))
    yield row(group, "filter: its first page, asked again", first, Goal(most=150, unit="ms"))


def _moved(group: str, page: ViewedPage) -> Iterator[Row]:
    graph = "drawtap.timeline.graph"
    page.ms("drawtap.store.set({ time: 'open' })", f"{graph}.rows?.length && {graph}.kept.size")
    page.page.wait_for_timeout(500)
    between, largest = page.page.evaluate(_MOVED, _FRAMES)
    yield row(group, "timeline: between two pictures while it moves", between, Goal(most=17, unit="ms"))
    if largest is None:
        raise BenchError("the timeline asked for no levels")
    yield Row(group, "bytes: levels of the timeline", "kB", largest / 1e3, goal=Goal(most=400, unit="kB"))
