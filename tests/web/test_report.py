"""The report of a recording in a browser: its script runs to the end, and its map of draws answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared import BROWSER, new_page, run_drawtap

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")


def test_a_browser_draws_a_report_without_complaint(context, chain: Path, tmp_path: Path) -> None:
    done = run_drawtap("report", chain, "-o", tmp_path / "r.html", "--pictures", "0")
    assert done.returncode == 0, done.stderr
    page = new_page(context)
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(f"{error} {error.stack}"))
    page.goto(f"file://{tmp_path / 'r.html'}")
    page.wait_for_selector("#heat-scale .scale", timeout=30_000)  # from least to most
    page.locator("#heat-map").hover(position={"x": 3, "y": 3})
    assert page.locator("#heat-at").inner_text().startswith("frame 0, draw 0: gl")
    page.locator("#functions th").first.click()  # the last that the script sets up: tables are sorted
    assert complaints == []
    page.close()
