"""What tests of the viewer need: recordings of small programs, and a server in a process of its own."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from shared import new_page, once, run_drawtap

MOST_ROWS = 200
# The words whose contrast to what is behind them is below that of WCAG's level AA.
_LOW_CONTRAST = """() => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const e of document.querySelectorAll("b, i, em, span, button, th, td, h1, h2, a, code, pre, p, li, small")) {
    if (!e.offsetParent || !e.innerText?.trim() || e.children.length || e.disabled) continue;
    const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) found.push(`${e.className} ${e.innerText.slice(0, 30)}`);
  }
  return found;
}"""
# Small coloured boxes without words beside them.
_BARE_COLOURS = """() => [...document.querySelectorAll(".swatch, [style*=background]")].filter((e) => {
  const {width, height} = e.getBoundingClientRect();
  if (!width || width > 20 || height > 20 || e.innerText?.trim() || e.title || e.ariaLabel) return false;
  const beside = e.nextSibling ?? e.parentElement.nextSibling;
  return !beside?.textContent.trim();
}).map((e) => e.outerHTML.slice(0, 100))"""
WAIT_S = 300
PROGRAMS = Path(__file__).parents[1] / "gl" / "programs"
TIMEOUT_S = 300


@dataclass(frozen=True)
class Answer:
    """What the server answered."""

    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def json(self):
        return json.loads(self.body)


def headed(body: bytes) -> tuple[dict, bytes]:
    """Take an answer apart: a JSON head, then bare data."""
    (length,) = struct.unpack_from("<I", body)
    return json.loads(body[4 : 4 + length]), body[4 + length :]


class Server:
    """A running `drawtap view`, or another verb that serves the page.

    `first` is Python code that runs before it, `scratch` the folder of its temporary files.
    """

    def __init__(
        self, *arguments: str | Path, verb: tuple[str, ...] = ("view",), first: str = "", scratch: Path | None = None
    ) -> None:
        code = ["-c", f"{first}\nfrom drawtap.__main__ import main\nmain()"] if first else ["-m", "drawtap"]
        command = [sys.executable, *code, *verb, "--no-browser", *map(str, arguments)]
        self.scratch = scratch
        environment = {**os.environ, "TMPDIR": str(scratch)} if scratch else None
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        self.root, _, fragment = self.address.partition("#")
        self.token = fragment.removeprefix("token=").partition("&")[0]
        self.host = self.root.removeprefix("http://").rstrip("/")

    def ask(self, path: str, *, method: str = "GET", body: str | None = None, **headers: str) -> Answer:
        """Make a request with the token; `headers` with _ for - replace or add to what a browser sends."""
        connection = http.client.HTTPConnection(self.host, timeout=TIMEOUT_S)
        given = {"Authorization": f"Bearer {self.token}"} | {k.replace("_", "-"): v for k, v in headers.items()}
        connection.request(method, path, body=body, headers=given)
        answer = connection.getresponse()
        found = Answer(answer.status, answer.read(), {k.lower(): v for k, v in answer.getheaders()})
        connection.close()
        return found

    def get(self, path: str):
        """Return the JSON of a good answer."""
        answer = self.ask(f"/api/0/{path}")
        assert answer.status == 200, answer.body
        return answer.json

    def close(self) -> int:
        """End the server as Ctrl-C does; return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(2)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return self.process.wait(timeout=TIMEOUT_S)


@pytest.fixture(scope="session")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record programs with debug groups, several targets and every stage of the pipeline; return their folder."""
    if shutil.which("cc") is None or not Path("/usr/include/EGL/egl.h").exists():
        pytest.skip("a C compiler and the GL headers are needed")

    def fill(folder: Path) -> Path:
        environment = {**os.environ, "EGL_PLATFORM": "surfaceless", "LIBGL_ALWAYS_SOFTWARE": "1"}
        for name, libraries, *arguments in (
            ("debug_markers", "GLESv2"),
            ("fbo_chain", "GLESv2"),
            ("pipeline", "GL"),
            ("modern", "GL"),
            ("held", "GL"),
            ("transfers", "GL", "4"),
            ("formats", "GL"),
            ("formats_es", "GLESv2"),
            ("fragments_gl", "GL"),
            ("fragments_es1", "GLESv1_CM"),
            ("es1_cube", "GLESv1_CM"),
            ("ff_lists", "GL", "2"),
            ("client_arrays_es2", "GLESv2", "3"),
        ):
            binary = folder / name
            build = ["cc", "-o", str(binary), str(PROGRAMS / f"{name}.c"), "-lEGL", f"-l{libraries}", "-lm"]
            subprocess.run(build, check=True, capture_output=True, timeout=TIMEOUT_S)
            record = ("record", "-q", "-o", folder / f"{name}.dtap", "--", binary, *arguments)
            made = run_drawtap(*record, environment=environment)
            assert made.returncode == 0, made.stderr
        return folder

    return once(tmp_path_factory, "viewed", fill)


@pytest.fixture(scope="module")
def chain(recordings: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the recording of fbo_chain: what is noted while looking stands beside it."""
    return Path(shutil.copy(recordings / "fbo_chain.dtap", tmp_path_factory.mktemp("view") / "chain.dtap"))


@pytest.fixture(scope="module")
def server(chain: Path, recordings: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve fbo_chain as recording 0 and debug_markers as recording 1."""
    running = Server(chain, recordings / "debug_markers.dtap", scratch=tmp_path_factory.mktemp("scratch"))
    yield running
    assert running.close() == 0


class Page:
    """A page of the viewer that notes what it asked for and what went wrong."""

    def __init__(self, context, server: Server, place: str = "", *, viewport=None, color_scheme="light") -> None:
        self.page = new_page(context)
        if viewport:
            self.page.set_viewport_size(viewport)
        self.scheme = color_scheme
        self.page.emulate_media(color_scheme=color_scheme)
        self.toured: set[str] = set()
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(f"{error} {error.stack}"))
        self.page.on("console", lambda message: self._said(message))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(server.address.partition("&")[0] + (f"&{place}" if place else ""))
        self.page.wait_for_selector("body[data-ready]")

    def _said(self, message) -> None:
        # A refused request is an answer that the page shows; the browser writes a line about it on its own.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.errors.append(message.text)

    def press(self, *keys: str) -> None:
        """Press keys one after the other."""
        for key in keys:
            self.page.keyboard.press(key)

    def wait(self, expression: str) -> None:
        """Wait until an expression of JavaScript holds; `d` is the page's object, `place` where it is."""
        self.until(f"(() => {{ const d = drawtap, place = d.store.place; return {expression}; }})()")

    def until(self, expression: str) -> None:
        """Wait until an expression of JavaScript holds. The page's policy forbids Playwright's own way, an eval."""
        end = time.monotonic() + WAIT_S
        while not self.page.evaluate(expression):
            assert time.monotonic() < end, f"{expression} does not come true; the page says {self.text('#message')!r}"
            self.page.wait_for_timeout(50)  # each question wakes three processes

    def reads(self, words: str) -> None:
        """Wait until the panel has these words."""
        self.until(f"document.getElementById('panel').innerText.includes({json.dumps(words)})")

    def tour(self, **panels: tuple[str, str]) -> None:
        """Open panels by their keys: `state=("2", "GL_BLEND")`.

        Each is marked as chosen, has its words, fits the page, and its contrast is enough, be it light or dark.
        """
        for panel, (key, words) in panels.items():
            self.press(key)
            # The page marks the tab when it has drawn the panel: the panel before may have the same words.
            self.until(f"document.getElementById('tab-{panel}')?.ariaSelected === 'true'")
            self.wait(f"place.tab === '{panel}'")
            self.reads(words)
            assert self.fits(), panel
            assert self.bare_colours() == [], panel
            for scheme in ("light", "dark"):
                self.page.emulate_media(color_scheme=scheme)
                assert self.page.evaluate(_LOW_CONTRAST) == [], (panel, scheme)
            self.page.emulate_media(color_scheme=self.scheme)
            self.toured.add(panel)

    def toured_all(self) -> bool:
        """Tell whether tours opened every panel that the page has: a new one cannot be left out."""
        tabs = "[...document.querySelectorAll('#tabs [role=tab]')].map((tab) => tab.id.slice(4))"
        return self.toured == set(self.page.evaluate(tabs))

    def bare_colours(self) -> list[str]:
        """Return the legends' boxes whose colour has no words beside it."""
        return self.page.evaluate(_BARE_COLOURS)

    def fits(self) -> bool:
        """Tell whether nothing of the page stands beyond its width."""
        return self.page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    def text(self, selector: str) -> str:
        """Return the text of an element."""
        return self.page.inner_text(selector)

    def place(self) -> dict[str, object]:
        """Return where the page is."""
        return self.page.evaluate("drawtap.store.place")


@pytest.fixture(scope="module")
def context(browser):
    """Return what pages share: caches. What the viewer keeps, it keeps by tab, in addresses, or beside recordings."""
    return browser.new_context()


@pytest.fixture
def opened(context, server) -> Iterator:
    """Return what opens a page; none may have an error, ask another machine, or hold too many rows."""

    def opener(place: str = "", of: Server = server, **media) -> Page:
        opener.pages.append(Page(context, of, place, **media))
        return opener.pages[-1]

    opener.pages = []
    yield opener
    for page in opener.pages:
        assert page.errors == []
        asked = [url for url in page.requests if not url.startswith("blob:")]  # which the page itself made
        assert {urlsplit(url).hostname for url in asked} == {"127.0.0.1"}
        assert page.page.evaluate("document.querySelectorAll('.row').length") <= MOST_ROWS
    for page in opener.pages:
        page.page.close()
