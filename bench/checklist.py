"""What the checklist costs on a long trace, and how long a browser takes to open a report of many frames."""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
from collections.abc import Iterator
from pathlib import Path

from bench.measure import BenchError, Drawtap, Run, run_process
from bench.row import Goal, Row
from bench.setup import Setup, drawtap

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# From the start of the navigation to the first frame with all plots, as the page itself measures it.
_WATCH = (
    "<script>addEventListener('load',()=>requestAnimationFrame(()=>requestAnimationFrame(()=>"
    "console.log('OPENED '+performance.now()))))</script></body>"
)


def rows(setup: Setup) -> Iterator[Row]:
    """Ask a long trace all rules beside a dump of it as text; make and open a report of 10 000 frames."""
    calls, runs = (125_000, 3) if setup.quick else (1_000_000, 5)
    trace = setup.scratch / "checklist.dtap"
    made = Drawtap().run([setup.program("many_calls"), "mix", str(calls), "1"], trace).calls
    group = f"checklist: {made / 1e6:.1f} M calls"
    seconds = [_asked(drawtap("checklist", str(trace), "--json")).wall_s for _ in range(runs)]
    yield Row(
        group, "all rules, from the shell", "s", statistics.median(seconds), goal=Goal(most=3, unit="s"),
        samples={"drawtap": seconds},
    )  # fmt: skip
    seconds = [_asked(drawtap("verdict", str(trace), "--json")).wall_s for _ in range(runs)]
    yield Row(group, "verdict, from the shell", "s", statistics.median(seconds), samples={"drawtap": seconds})
    trace.unlink()
    yield from _report(setup, 1_000 if setup.quick else 10_000, runs)


def _report(setup: Setup, frames: int, runs: int) -> Iterator[Row]:
    trace, page = setup.scratch / "frames.dtap", setup.scratch / "frames.html"
    Drawtap().run([setup.program("two_draws"), str(frames)], trace)
    made = [run_process(drawtap("report", str(trace), "-o", str(page), "--force")).wall_s for _ in range(2)]
    group = f"report: {frames} frames"
    yield Row(group, "make it, with pictures", "s", statistics.median(made), samples={"drawtap": made})
    yield Row(group, "size", "MB", page.stat().st_size / 1e6)
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        yield Row(group, "open it in a browser", "ms", note="chromium is not installed")
        return
    page.write_text(page.read_text(encoding="utf-8").replace("</body>", _WATCH), encoding="utf-8")
    opened = [_opened(browser, page) for _ in range(runs)]
    yield Row(
        group, "open it in a browser", "ms", statistics.median(opened), goal=Goal(most=1000, unit="ms"),
        note="to the first frame with all plots", samples={"drawtap": opened},
    )  # fmt: skip


def _asked(command: list[str]) -> Run:
    # Exit code 1: it has found something.
    return run_process(["sh", "-c", '"$@" > /dev/null; [ $? -le 1 ]', "sh", *command])


def _opened(browser: str, page: Path) -> float:
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1280,1600", "--enable-logging=stderr"]
    command = [browser, *options, f"--screenshot={page.with_suffix('.png')}", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    found = re.search(r"OPENED ([\d.]+)", done.stderr)
    if not found:
        raise BenchError(f"{browser} did not open the report: {done.stderr[-300:]}")
    return float(found[1])
