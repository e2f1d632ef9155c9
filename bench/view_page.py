"""A server of `drawtap view`, a page in a headless browser, and how long it takes until something is there."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import statistics
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.measure import BenchError, program_environment
from bench.row import Goal, Row
from bench.setup import drawtap

_WAIT_S = 60
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@contextlib.contextmanager
def browser() -> Iterator[Any]:
    """Give a headless browser. Raises BenchError where there is none."""
    found = next((path for name in _BROWSERS if (path := shutil.which(name))), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise BenchError("playwright is not installed (pip install 'drawtap[dev]')") from None
    if found is None:
        raise BenchError("no Chromium is installed (Debian package chromium)")
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@contextlib.contextmanager
def served(*words: str, environment: Mapping[str, str] | None = None) -> Iterator[tuple[str, int]]:
    """Run a verb that serves a page; give the address of the page and the server's process."""
    command = drawtap(*words, "--no-browser")
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=program_environment(environment))
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip(), server.pid
    finally:
        server.send_signal(2)
        server.wait(timeout=_WAIT_S)


class ViewedPage:
    """A page, and how long it takes until an expression of JavaScript holds."""

    def __init__(self, chromium: Any, address: str) -> None:
        self.page = chromium.new_page(viewport={"width": 1300, "height": 850})
        self.page.goto(address)
        self.page.wait_for_selector("body[data-ready]")

    def ms(self, act: str, until: str) -> float:
        """Run `act` and return the milliseconds until `until` holds, as the page's own clock counts them."""
        found = self.page.evaluate(
            f"""(async () => {{
              const begun = performance.now();
              {act};
              while (!({until})) {{
                if (performance.now() - begun > 60000) return -1;
                await new Promise((done) => setTimeout(done, 0));
              }}
              return performance.now() - begun;
            }})()""",
        )
        if found < 0:
            raise BenchError(f"the page never came to {until}")
        return float(found)

    def painted_ms(self, steps: list[tuple[str, str]]) -> list[float]:
        """Press keys and return how many milliseconds each takes, from the press to the frame that shows what it does.

        A step is a key and an expression that holds once the page shows its result. The browser's own trace has the
        times: when its process got the press, and when the frame was handed to the screen. Raises BenchError where the
        first frame after a press does not show the result, or the browser does not tell its times.
        """
        browser = self.page.context.browser
        browser.start_tracing(page=self.page, categories=["input", "input.scrolling"])
        for key, until in steps:
            # Before the page's own: the page may only do what the next frame shows.
            self.page.evaluate(
                f"""() => addEventListener("keydown", () => requestAnimationFrame(() => {{
                  (globalThis.benchShown ??= []).push(Boolean({until}));
                }}), {{once: true, capture: true}})"""
            )
            self.page.keyboard.press(key)
            self.page.wait_for_timeout(300)  # a person looks before the next step
        found = key_latencies(json.loads(browser.stop_tracing())["traceEvents"])
        shown = self.page.evaluate("globalThis.benchShown.splice(0)")
        if len(found) != len(steps):
            raise BenchError(f"the browser tells the times of {len(found)} of {len(steps)} presses")
        if not all(shown):
            raise BenchError(f"{shown.count(False)} of {len(steps)} presses need more than one frame")
        return found

    def heap_mb(self) -> float:
        """Return how much memory the page's objects take, in MB, with the buffers that hold rows and pictures."""
        tools = self.page.context.new_cdp_session(self.page)
        tools.send("HeapProfiler.collectGarbage")
        found = tools.send("Runtime.getHeapUsage")
        return (
            sum(float(found.get(part, 0)) for part in ("usedSize", "embedderHeapUsedSize", "backingStorageSize")) / 1e6
        )


def key_latencies(events: list[dict[str, Any]]) -> list[float]:
    """Return the milliseconds from each press of a key to the frame after it, of a trace of Chromium."""
    begun: dict[tuple[int, str], tuple[float, str]] = {}
    found = []
    for event in sorted((one for one in events if one.get("name") == "EventLatency"), key=lambda one: one["ts"]):
        key = (event["pid"], json.dumps(event.get("id2") or event.get("id")))
        if event["ph"] == "b":
            begun[key] = (event["ts"], event.get("args", {}).get("event_latency", {}).get("event_type", ""))
        elif event["ph"] == "e" and key in begun:
            at, kind = begun.pop(key)
            if kind == "KEY_PRESSED":
                found.append((event["ts"] - at) / 1e3)
    return found


def resident_mb(process: int) -> float:
    """Return how much memory a process has, in MB."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024 / 1e6


def cpu_s(process: int) -> float:
    """Return how much processor time a process has taken, in seconds."""
    user, system = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def row(
    group: str, name: str, samples: list[float], goal: Goal, *, apitrace: float | None = None, note: str = ""
) -> Row:
    """Return a row with the median of some samples, in the goal's unit."""
    return Row(
        group, name, goal.unit or "ms", statistics.median(samples), apitrace, goal=goal, note=note,
        samples={"drawtap": samples},
    )  # fmt: skip
