"""The page of a corpus: recordings beside builds, pictures, decisions, and what opens from there; also as one file."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.simulated import is_red, simulated

from drawtap.corpus import rows
from drawtap.corpus.adding import Adder
from drawtap.corpus.checking import check
from drawtap.corpus.search import Corpus
from drawtap.corpus.store import Store, create
from drawtap.corpus.sweeping import sweep
from gl.conftest import display, programs  # noqa: F401 - fixtures
from gl.test_corpus_replay import AT, draw, fakes, triangle  # noqa: F401 - fixtures
from shared import BROWSER, new_page, run_drawtap, steps
from web.conftest import MOST_ROWS, Server

needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
SERVE = ("corpus", "serve")
MANY = steps(2_000, 10_000)


@pytest.fixture(scope="module")
def judged(triangle: Path, fakes: Path, tmp_path_factory: pytest.TempPathFactory) -> Store:  # noqa: F811
    """Return a corpus whose recording one build draws wrong, one with jitter, and one crashes with."""
    store = create(str(tmp_path_factory.mktemp("fleet") / "store"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(rows.QUESTIONS, "findings", "SELECT NULL AS rule, NULL severity, 0 n, 0 first_seq WHERE false")
        Adder(store).add(triangle, {"app": "triangle"})
    for name in ("mask", "jitter", "crash"):
        words = ("--new", f"{name}-1.0", "--base", "sound", "--tag", "app=triangle", "--repeats", 2)
        answer = run_drawtap("corpus", "verdict", "--corpus", store.where, "--engines", fakes, *words)
        assert answer.returncode in (0, 1), answer.stderr
    return store


@pytest.fixture(scope="module")
def fleet(judged: Store, fakes: Path) -> Iterator[Server]:  # noqa: F811
    running = Server("--corpus", judged.where, "--engines", fakes, verb=SERVE)
    yield running
    assert running.close() == 0


def _builds(server: Server) -> dict[str, str]:
    data = server.ask("/api/fleet?fresh").json
    return {build["name"]: build["key"] for build in data["builds"]}


def _label(server: Server, trace: str, build: str) -> str | None:
    data = server.ask("/api/fleet?fresh").json
    row = next(i for i, one in enumerate(data["rows"]) if one[0] == trace)
    column = next(i for i, one in enumerate(data["builds"]) if one["name"] == build)
    place = data["columns"][column]["images"][row]
    return data["labels"][place] if place >= 0 else None


def _trace(store: Store, file: str = "triangle.dtap") -> str:
    return next(id_ for id_ in store.recordings() if store.manifest(id_).file == file)


@pytest.mark.gl
def test_cells_say_what_the_corpus_knows(judged, fleet, triangle):  # noqa: F811
    trace, builds = _trace(judged), _builds(fleet)
    assert {name: _label(fleet, trace, name) for name in builds} == {
        "sound": "played", "mask-1.0": "differs", "jitter-1.0": "flaky", "crash-1.0": "crash",
    }  # fmt: skip
    cell = fleet.ask(f"/api/fleet/cell/{trace}/{builds['mask-1.0']}").json
    assert (cell["frame"], cell["call"], cell["draw"], cell["function"]) == (
        AT,
        draw(triangle, AT),
        True,
        "glDrawArrays",
    )
    assert {cell["right"], cell["got"]} <= set(cell["kept"])
    assert [line.split()[2] for line in cell["commands"]] == ["get", "verdict"]
    crash = fleet.ask(f"/api/fleet/cell/{trace}/{builds['crash-1.0']}").json
    assert (crash["outcome"], crash["call"], crash["draw"]) == ("crash", draw(triangle, AT), False)
    with Corpus(judged) as tables:
        ended = tables.query("SELECT first_seq, function, detail FROM verdicts WHERE label = 'crash'").fetchall()
    assert ended == [(draw(triangle, AT), "glDrawArrays", "SIGSEGV")]
    # What a build with jitter drew in its run nobody draws again: another picture of that build stands for it.
    jitter = fleet.ask(f"/api/fleet/cell/{trace}/{builds['jitter-1.0']}").json
    assert jitter["got"] in jitter["kept"]
    path = f"{trace}/{builds['jitter-1.0']}/{AT}"
    assert fleet.ask(f"/api/fleet/picture/{path}/{jitter['got']}").body.startswith(b"\x89PNG")
    # Frame 0 was kept by no verdict: an engine of this machine draws it.
    first = next(d for f, d in _shown(judged, builds["sound"]) if f == 0)
    assert fleet.ask(f"/api/fleet/picture/{trace}/-/0/{first}").body.startswith(b"\x89PNG")
    answers = [
        fleet.ask(f"/api/fleet/{p}").status for p in ("cell/0/1", f"cell/{trace}/1", f"picture/{trace}/-/0/{'0' * 32}")
    ]
    assert answers == [400, 400, 501]


@pytest.mark.gl
def test_kept_pictures_are_checked_and_go_with_their_recording(judged, tmp_path):
    store = Store(str(shutil.copytree(judged.where, tmp_path / "store")))
    assert check(store).faults == ()
    picture = next(iter(store.objects.listed("pictures/"))).name
    file = tmp_path / "store" / picture
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    assert [(fault.name, fault.what) for fault in check(store).faults] == [(picture, "damaged")]
    for id_ in store.recordings():
        store.remove(id_)
    sweep(store, 0)
    assert not list(store.objects.listed("pictures/"))


def _shown(store: Store, key: str) -> list[tuple[int, str]]:
    with Corpus(store) as tables:
        return tables.query("SELECT frame, digest FROM images WHERE engine = ? ORDER BY frame", (key,)).fetchall()


@pytest.mark.gl
def test_nobody_without_the_token_decides_and_a_page_may_be_for_reading(judged, fleet, fakes):  # noqa: F811
    asked = json.dumps({"trace": _trace(judged), "engine": _builds(fleet)["mask-1.0"], "label": "approved", "why": "x"})
    assert fleet.ask("/api/fleet/decide", method="POST", body=asked, Authorization="Bearer no").status == 403
    for wrong in ("{}", "[]", "{", asked.replace("approved", "good"), asked.replace('"x"', '""')):
        assert fleet.ask("/api/fleet/decide", method="POST", body=wrong).status == 400
    reader = Server("--corpus", judged.where, "--read-only", verb=SERVE)
    answer = reader.ask("/api/fleet/decide", method="POST", body=asked)
    assert (answer.status, "takes no decisions" in answer.json["error"]) == (400, True)
    assert reader.close() == 0
    assert not list(judged.objects.listed("approvals/"))


@needs_browser
@pytest.mark.gl
@pytest.mark.parametrize(("width", "scheme"), [(1300, "light"), (900, "dark")])
def test_a_red_cell_is_looked_at_by_keys(opened, fleet, judged, width, scheme):
    page = opened("", fleet, viewport={"width": width, "height": 900}, color_scheme=scheme)
    builds = _builds(fleet)
    page.press("Home", "n")
    page.until("drawtap.place.build !== ''")
    if page.page.evaluate("drawtap.place.build") != builds["mask-1.0"]:
        page.press("n")
    page.reads("first draw that differs")
    page.until("document.querySelectorAll('.three figure[data-ready=yes]').length === 3")
    assert page.page.evaluate("[...document.querySelectorAll('.three img')].every((i) => i.naturalWidth > 20)")
    # A head stands above the cells of its build.
    assert page.page.evaluate(
        "(() => { const left = (one) => Math.round(one.getBoundingClientRect().left);"
        " return [...document.querySelectorAll('.grid.head .build')].every((head, i) =>"
        " left(head) === left(document.querySelector('.rows .row').querySelectorAll('.cell')[i])); })()"
    )
    page.reads("Repeat it here")
    page.press("2")
    page.reads("No machine has measured pairs yet")
    page.press("1", "?")
    assert "next red cell" in page.text("dialog")
    page.press("Escape", "/")
    page.page.keyboard.type("nothing-has-this-name")
    page.until("document.querySelectorAll('.rows .row').length === 0")
    # The verdict cut frames out, and no build has played the cuts: the list has them where they are asked for.
    assert "1 recording · " in page.text("#what")
    page.page.fill("[aria-label='find recordings']", "")
    page.until("document.querySelectorAll('.rows .row').length === 1")
    page.page.fill("[aria-label='find recordings']", "cut_of")
    page.until("document.querySelectorAll('.rows .row').length > 0 && !drawtap.view.some((r) => !drawtap.isBareCut(r))")
    assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@needs_browser
@pytest.mark.gl
def test_images_are_approved_there_and_the_recording_opens_at_the_draw(opened, fleet, judged, triangle):  # noqa: F811
    trace, builds = _trace(judged), _builds(fleet)
    place = f"trace={trace}&build={builds['mask-1.0']}"
    page = opened(place, fleet, viewport={"width": 1300, "height": 900})
    page.reads("first draw that differs")
    page.press("v")
    page.page.wait_for_selector("#tab-picture[aria-selected=true]")
    page.page.wait_for_selector("body[data-ready]")
    seq = draw(triangle, AT)
    page.wait(f"place.call === {seq} && place.callb === {seq}")
    assert "on sound" in page.text("#what")
    assert "on mask-1.0" in page.text("#what")
    page.page.click("text=← corpus")
    page.page.wait_for_selector(".fleet .grid.row")
    page.page.goto(f"{fleet.address}&{place}")
    page.page.reload()
    page.reads("first draw that differs")
    page.press("a")
    page.page.click("#decide >> text=approve")
    page.until("document.getElementById('message').innerText.includes('needs a reason')")
    page.page.keyboard.type("looked at")
    page.page.select_option("#decide select[aria-label='which frames']", "all")
    page.page.click("#decide >> text=approve")
    page.until("document.getElementById('panel').innerText.includes('10 of 10 frames are approved')")
    assert _label(fleet, trace, "mask-1.0") == "approved"
    answer = run_drawtap(
        "corpus", "sql", "SELECT DISTINCT label, family, why FROM approvals", "--json", "--corpus", judged.where
    )
    assert json.loads(answer.stdout) == [{"label": "approved", "family": "fake", "why": "looked at"}]


@needs_browser
@pytest.mark.gl
def test_one_file_shows_the_same_without_a_server(browser, judged, fleet, tmp_path):
    file = tmp_path / "page.html"
    assert run_drawtap("corpus", "serve", "--corpus", judged.where, "-o", file).returncode == 0
    assert run_drawtap("corpus", "serve", "--corpus", judged.where, "-o", file).returncode == 2
    page = new_page(browser)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri() + f"#trace={_trace(judged)}&build={_builds(fleet)['jitter-1.0']}")
    page.wait_for_selector("body[data-ready]")
    page.wait_for_selector(".three figure:nth-of-type(3)[data-ready=yes]")
    assert "flaky" in page.inner_text("#panel")
    assert page.locator("#decide").count() == 0
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert errors == []
    page.close()


@needs_browser
def test_a_corpus_without_recordings_says_what_comes_next(opened, tmp_path):
    server = Server("--corpus", create(str(tmp_path / "store")).where, verb=SERVE)
    page = opened("", server)
    page.reads("drawtap corpus add")
    assert "0 recordings · 0 builds" in page.text("#what")
    box = page.page.get_by_role("searchbox", name="find recordings")
    assert box.evaluate("(e) => e.scrollWidth <= e.clientWidth")
    assert server.close() == 0


@needs_browser
def test_many_recordings_are_a_page(opened, tmp_path):
    store = simulated(tmp_path / "many", MANY)
    server = Server("--corpus", store.where, verb=SERVE)
    page = opened("", server)
    assert page.page.evaluate("document.querySelectorAll('.row').length") <= MOST_ROWS
    page.press("End")
    page.until(f"drawtap.place.trace && drawtap.view.length === {MANY} && document.querySelector('.row.chosen')")
    page.press("n")
    page.reads("Speed")
    page.until("document.querySelectorAll('.plot .dot').length === 20")
    page.press("h")
    page.until(f"drawtap.view.length === {sum(map(is_red, range(MANY)))}")
    # What stands side by side has one height: red counts of builds with and without speed, and missing pictures.
    page.page.evaluate("drawtap.go({label: 'differs'})")
    page.press("Home", "n")
    page.reads("no picture was kept")
    many = "new Set([...document.querySelectorAll(all)].map((one) => one.getBoundingClientRect()[side])).size"
    for all_, side in ((".head .build > b + span", "top"), (".three .lacks", "height"), (".three figcaption", "top")):
        assert page.page.evaluate(f"((all, side) => {many})('{all_}', '{side}')") == 1, all_
    # An answer that comes late is not shown in another panel, and a failure is said.
    page.page.evaluate("void (drawtap.source.machines = () => new Promise((done) => (drawtap.late = () => done([]))))")
    page.press("1", "2", "1")
    page.reads("Repeat it here")
    page.page.evaluate("drawtap.late()")
    page.page.wait_for_timeout(100)
    assert "Repeat it here" in page.text("#panel")
    page.page.evaluate("void (drawtap.source.machines = () => Promise.reject(new Error('the server is gone')))")
    page.press("2")
    page.reads("the server is gone")
    used = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{server.process.pid}/status").read_text())
    assert used is not None
    assert int(used[1]) < 1 << 20  # 1 GiB
    assert server.close() == 0
