"""The page about what runs, with a real program under a real manager."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

import drawtap as package
from live.test_programs import Desktop, desktop, program  # noqa: F401 - fixtures
from shared import BROWSER
from web.conftest import Server

pytestmark = pytest.mark.gl
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")


@pytest.fixture
def live(desktop: Desktop, monkeypatch, tmp_path) -> Iterator[Server]:  # noqa: F811
    """Serve what runs, and record into a folder of the test's own."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", desktop.environment["XDG_RUNTIME_DIR"])
    monkeypatch.chdir(tmp_path)
    running = Server("--live")
    yield running
    assert running.close() == 0


@needs_browser
def test_a_program_is_watched_limited_and_recorded(opened, live, desktop, tmp_path):  # noqa: F811
    page = opened("", live)
    page.until("document.querySelector('.programs').innerText.includes('no manager runs')")
    assert "drawtap manager" in page.text(".programs")
    desktop.manager()
    desktop.run("1", "1")
    (program,) = desktop.found()  # noqa: F811
    page.wait(f"d.program?.pid === {program['pid']} && d.times.get(d.program.id + '/1')?.frames.length > 100")
    # The page has the frames that the manager counts, each once, and none of another time.
    assert page.page.evaluate(
        "(() => { const one = drawtap.times.get(drawtap.program.id + '/1'), ends = one.frames.map((f) => f.end);"
        " const { frames } = drawtap.program.surfaces[0];"
        " return one.count <= frames && ends.every((end, i) => !i || end > ends[i - 1]); })()"
    )
    page.press("l")
    page.page.keyboard.type("20")
    page.press("Enter")
    page.wait("d.program.limit?.fps === 20")
    assert desktop.programs()[0]["limit"]["origin"] == "user"
    page.reads("waits for its limit")
    page.press("Escape", "-")
    page.wait("d.program.limit?.fps === 15")
    page.press("n", "c")
    page.wait("!d.program.limit && d.program.class === 'background'")
    page.press("2")
    page.reads("Held for the sake of others")
    page.press("3")
    page.reads("limit everybody's programs")
    page.press("1", "r")
    page.wait("d.look.recordings[0]?.state === 'done'")
    (file,) = tmp_path.glob("*.dtap")
    with package.open(file) as trace:
        assert trace.info["frames"] >= 120
    page.page.get_by_role("button", name="look at it").click()
    page.until("document.body?.dataset.ready && globalThis.drawtap?.recording?.calls > 0")
    assert page.page.title() == f"{file.name} – drawtap"
    page.page.get_by_role("button", name="← running programs").click()
    page.until("document.body?.dataset.ready && globalThis.drawtap?.look?.programs.length === 1")


@needs_browser
@pytest.mark.parametrize(("width", "scheme"), [(1300, "light"), (900, "dark")])
def test_the_page_fits_and_goes_on_with_another_manager(opened, live, desktop, width, scheme):  # noqa: F811
    manager = desktop.manager()
    desktop.run("2", "2")
    desktop.found()
    page = opened("", live, viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.wait("d.program?.surfaces.length === 2")
    assert page.fits()
    page.tour(
        contention=("2", "No program has a goal"),
        manager=("3", "you may"),
        program=("1", "Limit and class"),
    )
    assert page.toured_all()
    # Surfaces stand apart from what is known of their process.
    assert page.page.evaluate(
        "(() => { const of = (one) => document.querySelector(`#panel .scroll ${one}`).getBoundingClientRect();"
        " return of('+ div > *').top - of('table').bottom > 10; })()"
    )
    manager.terminate()
    manager.wait()
    page.wait("d.look.error")
    page.reads("no manager answers")
    desktop.manager()
    page.wait("d.program?.surfaces.length === 2")


def test_wishes_that_make_no_sense_say_so(live, desktop):  # noqa: F811
    ask = lambda what, body: live.ask(f"/api/live/{what}", method="POST", body=body)  # noqa: E731
    assert ask("ask", '{"op": "limit", "program": 1, "fps": 30}').status == 501  # no manager
    desktop.manager()
    for what, body, words in (
        ("ask", '{"op": "trace", "program": 1}', "limits and classes"),
        ("ask", "[]", "a JSON object"),
        ("ask", '{"op": "limit", "program": 1, "fps": 0}', "fps"),
        ("ask", '{"op": "limit", "program": 1, "fps": 30}', "1"),
        ("record", '{"program": "x", "frames": 1}', "which program"),
        ("record", '{"program": 1}', "which program"),
        ("record", '{"program": 1, "frames": true}', "which program"),
        ("record", '{"program": 1, "seconds": 1e9}', "which program"),
    ):
        answer = ask(what, body)
        assert answer.status in (400, 501), (body, answer)
        assert words in json.loads(answer.body)["error"]
    assert live.ask("/api/live/ask", method="POST", body="{}", Authorization="Bearer wrong").status == 403


def test_live_is_about_no_file(drawtap):
    for words in (("game.dtap",), ("--at", "3"), ("--mcp",), ("--on", "llvmpipe")):
        assert drawtap("view", "--live", *words).code == 2
