"""What looking takes: from the command to the first rows, from a click to the picture, in a headless browser.

apitrace has no server: a picture of a draw is `apitrace dump-images`, which plays the trace from its first call.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.measure import Apitrace, Drawtap, run_process
from bench.row import Goal, Row
from bench.setup import Setup, drawtap
from bench.view_budgets import budgets
from bench.view_page import ViewedPage, browser, resident_mb, row, served

_CALLS = 20  # places that are looked at


def rows(setup: Setup) -> Iterator[Row]:
    """Open a long recording and go through it; then look at pictures of draws, beside apitrace."""
    with browser() as chromium:
        yield from budgets(setup, chromium)
        yield from _long(setup, chromium)
        yield from _pictures(setup, chromium)
        yield from _seen(setup, chromium)


def _long(setup: Setup, chromium: Any) -> Iterator[Row]:
    calls = 1_250_000 if setup.quick else 12_500_000
    trace = setup.scratch / "long.dtap"
    made = Drawtap().run([setup.program("many_calls"), "state", str(calls), "4"], trace).calls
    group = f"viewer: {made / 1e6:.0f} M calls"
    opened = []
    for _ in range(3):
        begun = time.monotonic()
        with served("view", str(trace)) as (address, _):
            ViewedPage(chromium, address)
            opened.append((time.monotonic() - begun) * 1e3)
    yield row(group, "from the command to the first rows", opened, Goal(most=1000, unit="ms"))
    with served("view", str(trace)) as (address, process):
        page = ViewedPage(chromium, f"{address}&list=flat")
        dice = random.Random(1)
        shown = "document.querySelector('.row.chosen .args')?.parentElement.parentElement.innerText.includes('{0}')"
        jumps, details = [], []
        for _ in range(_CALLS):
            seq = dice.randrange(made // 2, made)
            jumps.append(page.ms(f"drawtap.go({seq})", shown.format(seq)))
            page.page.wait_for_timeout(150)
        yield row(group, "to any call: its row is there", jumps, Goal(most=100, unit="ms"))
        for _ in range(_CALLS):
            seq = dice.randrange(made // 2, made)
            small = "document.querySelector('#panel h2 small')?.innerText.replaceAll('\\u202f','')"
            words = f"{small}.includes('call {seq},')"
            details.append(page.ms(f"drawtap.go({seq})", words))
        yield row(group, "to any call: its arguments are there", details, Goal(most=200, unit="ms"))
        for text, limit in (("name=glBindTexture", 4000), ("duration>1us", 4000), ("texture=GL_TEXTURE1", 8000)):
            found = page.ms(
                f"drawtap.store.set({{ filter: {text!r} }})", "drawtap.set && !drawtap.filter.asking.signal.aborted"
            )
            yield row(group, f"filter {text}: its exact count", [found], Goal(most=limit, unit="ms"))
            page.ms("drawtap.store.set({ filter: '' })", "!drawtap.set")
        yield Row(group, "memory of the server", "MB", resident_mb(process), goal=Goal(most=500, unit="MB"))
        yield Row(group, "memory of the page", "MB", page.heap_mb(), goal=Goal(most=300, unit="MB"))
    yield from _timeline(group, trace, chromium)
    trace.unlink()


def _timeline(group: str, trace: Path, chromium: Any) -> Iterator[Row]:
    """Open the timeline of a long recording, move inside what was fetched, and look nearer at other places."""
    graph = "drawtap.timeline.graph"
    there = (
        f"({graph}.rows?.length && {graph}.visible().every((p) => !p.row || {graph}.good({graph}.kept.get(p.row.id))))"
    )
    with served("view", str(trace)) as (address, _):
        page = ViewedPage(chromium, address)
        first = page.ms("drawtap.store.set({ time: 'open' })", there)
        yield row(group, "timeline: opened, all of the time", [first], Goal(most=8000, unit="ms"))
        moves = [page.ms(f"{graph}.pan(0.002); {graph}.drawNow()", "true") for _ in range(_CALLS)]
        yield row(group, "timeline: moved inside what is there", moves, Goal(most=16, unit="ms"))
        dice = random.Random(2)
        nearer = []
        for i in range(_CALLS):
            part = 4 ** (1 + i % 6)
            at = dice.random() * (1 - 1 / part)
            look = f"{graph}.look({graph}.length * {at}, {graph}.length * {at + 1 / part})"
            nearer.append(page.ms(look, there))
        yield row(group, "timeline: another time and step", nearer, Goal(most=60, unit="ms"))


def _pictures(setup: Setup, chromium: Any) -> Iterator[Row]:
    seconds = 2 if setup.quick else 8
    scenes = [word for name in ("terrain", "desktop", "ideas") for word in ("-b", f"{name}:duration={seconds}")]
    program = ["glmark2-es2", "-s", "640x480", *scenes]
    ours, theirs = setup.scratch / "seen.dtap", setup.scratch / "seen.trace"
    with setup.display() as display:
        Drawtap(tuple(display.items())).run(program, ours)
        their_first = None
        if setup.apitrace:
            Apitrace(tuple(display.items())).run(program, theirs)
            their_first = _dumped(theirs, setup.scratch, display)
    import drawtap as library

    with library.open(ours) as trace:
        frame = len(trace.frames) - 3
        draws = [s for (s,) in trace.sql(f"SELECT seq FROM draws WHERE frame = {frame} ORDER BY seq").fetchall()]
        frames = len(trace.frames)
    group = f"viewer: pictures, {frames} frames of glmark2-es2"
    there = "document.querySelector('#panel h2')?.firstChild.textContent.replaceAll('\\u202f','') === 'After call {0}'"
    with served("view", str(ours), environment={"EGL_PLATFORM": "surfaceless"}) as (address, _):
        page = ViewedPage(chromium, f"{address}&tab=picture&call={draws[0] - 20}")
        page.page.wait_for_timeout(3000)  # the graph is made while the first picture is looked at
        page.ms(f"drawtap.goFrame({frames // 3})", "!document.querySelector('[aria-busy]')")
        page.page.wait_for_timeout(1500)
        far = page.ms(f"drawtap.go({draws[-1]})", there.format(draws[-1]))
        page.page.wait_for_timeout(1500)
        back = [_step(page, seq, there) for seq in reversed(draws[-8:-1])]
        onward = [_step(page, seq, there) for seq in draws[-7:]]
        others = [_step(page, seq, there) for seq in draws[: len(draws) // 2 : max(len(draws) // 16, 1)]]
        written = page.ms(
            f"drawtap.store.set({{ call: {draws[-1]}, px: '320,240' }})", "document.querySelector('#history tbody tr')"
        )
        page.page.close()
    pictures, plain = _thumbnails(chromium, ours)  # no other server makes some meanwhile
    note = "apitrace: dump-images of this draw, which plays from the first call"
    yield row(group, "first picture of a far draw", [far], Goal(ratio=10), apitrace=their_first, note=note)
    yield row(group, "the draw before", back, Goal(ratio=50), apitrace=their_first, note=note)
    yield row(group, "the next draw", onward, Goal(ratio=50), apitrace=their_first, note=note)
    yield row(group, "the next draw, in ms", onward, Goal(most=60, unit="ms"))
    yield row(group, "another draw of the frame", others, Goal(most=250, unit="ms"))
    yield row(group, "history of a pixel, its writers", [written], Goal(most=500, unit="ms"))
    yield row(group, "small pictures of the whole run", [pictures], Goal(most=1.2 * plain, unit="s"),
              note=f"the whole run is played in {plain:.1f} s")  # fmt: skip


def _thumbnails(chromium: Any, trace: Path) -> tuple[float, float]:
    """Return how long small pictures of all frames take, made anew, and how long playing the run takes; in seconds."""
    with served("view", str(trace), environment={"EGL_PLATFORM": "surfaceless"}) as (address, _):
        other = ViewedPage(chromium, address)
        made = other.page.evaluate(
            """async () => {
              const { get } = await import("/app/net.js"), begun = performance.now();
              while ((await get("0/thumbnails")).more) await new Promise((done) => setTimeout(done, 20));
              return (performance.now() - begun) / 1e3;
            }"""
        )
        other.page.close()
    command = drawtap("replay", str(trace))
    return float(made), run_process(command, {"EGL_PLATFORM": "surfaceless"}).wall_s


def _seen(setup: Setup, chromium: Any) -> Iterator[Row]:
    """Step by keys between pictures of 1280 x 720 pixels that were looked at before."""
    trace = setup.scratch / "large.dtap"
    with setup.display() as display:
        Drawtap(tuple(display.items())).run(["glmark2-es2", "-s", "1280x720", "-b", "desktop:duration=2"], trace)
    import drawtap as library

    with library.open(trace) as opened:
        frame = len(opened.frames) - 3
        asked = f"SELECT seq FROM draws WHERE frame = {frame} AND kind = 'draw' ORDER BY seq"
        before, last = [seq for (seq,) in opened.sql(asked).fetchall()][-2:]
    shown = (
        "document.querySelector('#panel h2')?.firstChild.textContent.replaceAll('\\u202f','') === 'After call {0}'"
        " && document.querySelector('#panel .stack canvas').width === 1280"
    )
    with served("view", str(trace), environment={"EGL_PLATFORM": "surfaceless"}) as (address, _):
        page = ViewedPage(chromium, f"{address}&tab=picture&call={last}")
        for seq in (before, last):
            page.ms(f"drawtap.go({seq})", shown.format(seq))
            page.page.wait_for_timeout(2000)  # the player proves the picture meanwhile, and the film is fetched
        steps = [("D", shown.format(before)), ("d", shown.format(last))]
        page.painted_ms(steps)
        again = page.painted_ms(steps * (_CALLS // 2))
        page.page.close()
    group = "viewer: pictures of 1280 x 720"
    yield row(group, "a draw that was looked at before: painted", again, Goal(most=16, unit="ms"))


def _step(page: ViewedPage, seq: int, there: str) -> float:
    found = page.ms(f"drawtap.go({seq})", there.format(seq))
    page.page.wait_for_timeout(300)  # a person looks before the next step
    return found


def _dumped(trace: Path, folder: Path, display: Mapping[str, str]) -> float:
    last = f"apitrace dump --color=never {trace} | grep -E 'glDraw(Arrays|Elements)' | tail -1"
    listed = run_process(["bash", "-c", last])
    number = listed.output.split(maxsplit=1)[0]
    taken = []
    for _ in range(2):
        command = ["apitrace", "dump-images", f"--calls={number}", "-o", str(folder / "dumped"), str(trace)]
        taken.append(run_process(command, display).wall_s * 1e3)
    return statistics.median(taken)
