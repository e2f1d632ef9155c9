"""`drawtap.view`: Python drives the page in a real browser and hears where the person goes."""

from __future__ import annotations

import http.client
import http.server
import threading
from urllib.parse import urlsplit

import pytest

import drawtap as library
from drawtap.errors import DrawtapError, UsageError
from shared import BROWSER, new_page

needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")


@pytest.fixture
def viewer(chain):
    with library.open(chain) as trace, library.view(trace, call=5) as running:
        yield running


def opened(browser, address):
    page = new_page(browser)
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(address)
    page.wait_for_selector("body[data-ready]")
    return page, errors


@needs_browser
def test_python_sends_the_page_somewhere_and_hears_where_it_goes(browser, viewer):
    places, moved = [], threading.Condition()

    def note(place):
        with moved:
            places.append(place)
            moved.notify()

    viewer.on_move(note)
    page, errors = opened(browser, viewer.address)
    assert page.evaluate("drawtap.store.place.call") == 5
    viewer.select(40, tab="state")
    page.locator("#place", has_text="call 40").wait_for()
    assert page.evaluate("drawtap.store.place.tab") == "state"
    viewer.select(filter="is:draw")
    page.locator("#filter-answer", has_text="calls").wait_for()
    assert viewer.call == 40  # what is not named stays
    page.evaluate("drawtap.store.set({ call: 60 })")
    with moved:
        assert moved.wait_for(lambda: any(place.get("call") == "60" for place in places), timeout=300)
    assert viewer.call == 60
    assert viewer.place["tab"] == "state"
    assert not errors
    page.close()


class Notebook(http.server.BaseHTTPRequestHandler):
    """A page of another server on this machine that shows the viewer in a frame."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(self.server.shown.encode())

    def log_message(self, *_):
        pass


@needs_browser
def test_a_page_of_this_machine_may_frame_it_and_no_other(browser, viewer):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Notebook) as notebook:
        notebook.shown = viewer._repr_html_()
        threading.Thread(target=notebook.serve_forever, daemon=True).start()
        page = new_page(browser)
        page.goto(f"http://localhost:{notebook.server_port}/")
        frame = page.frame_locator("iframe")
        frame.locator("body[data-ready]").wait_for()
        assert "calls" in frame.locator("#what").inner_text()
        page.route("http://elsewhere.example/**", lambda r: r.fulfill(body=notebook.shown, content_type="text/html"))
        page.goto("http://elsewhere.example/")
        assert "data-ready" not in page.frames[1].content()
        page.close()
        notebook.shutdown()


def answer(viewer, path, method="GET", body=None, **headers):
    split = urlsplit(viewer.address)
    connection = http.client.HTTPConnection(split.netloc, timeout=300)
    token = split.fragment.partition("&")[0].removeprefix("token=")
    connection.request(method, path, body=body, headers={"Authorization": f"Bearer {token}"} | headers)
    found = connection.getresponse()
    return found.status, found.read()


def test_only_the_page_itself_answers_a_frame(viewer):
    cross = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "iframe"}
    assert answer(viewer, "/", **cross)[0] == 200
    assert answer(viewer, "/api/session", **cross)[0] == 403
    assert answer(viewer, "/api/place", method="PUT", body="call=3", Authorization="Bearer no")[0] == 403
    assert answer(viewer, "/api/place", method="PUT", body="x" * 100_000)[0] == 400
    assert viewer.call == 5


def test_a_page_without_a_program_has_no_such_place(server):
    assert server.ask("/api/place").status == 404
    assert server.ask("/", Sec_Fetch_Site="cross-site", Sec_Fetch_Dest="iframe").status == 403


def test_closing_ends_the_server(chain):
    viewer = library.view(chain)
    assert answer(viewer, "/api/session")[0] == 200
    viewer.close()
    viewer.close()
    assert not any(thread.name == "drawtap view" for thread in threading.enumerate())
    with pytest.raises(OSError, match="refused"):
        answer(viewer, "/api/session")
    with pytest.raises(UsageError):
        viewer.select(1)
    assert "closed" in repr(viewer) and "closed" in viewer._repr_html_()


def test_mistakes(tmp_path):
    with pytest.raises(UsageError):
        library.view()
    with pytest.raises(DrawtapError):
        library.view(tmp_path / "no.dtap")
