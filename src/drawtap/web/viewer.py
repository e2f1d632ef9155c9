"""`drawtap.view`: the viewer beside a Python program or in a notebook, driven by it and telling it where it goes."""

from __future__ import annotations

import html
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from drawtap.errors import UsageError
from drawtap.web.serve import Serving
from drawtap.web.steering import Place, Steering

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

_HEIGHT = 720  # pixels of the frame in a notebook
_START_S = 30
_END_S = 10


class Viewer:
    """A page on recordings, served until `close` or the end of the program.

    In a notebook the value of a cell is the page itself, in a frame. `select` drives the page, `call` and `place` say
    where it is, `on_move` is called with the place after each step of the person who looks.
    """

    def __init__(self, *files: Path, port: int = 0, call: int | None = None) -> None:
        place: Place = {} if call is None else {"call": str(call)}
        self._steering = Steering(place)
        self._serving = Serving(files, host="127.0.0.1", port=port, steering=self._steering)
        self._closed = False
        self._thread = threading.Thread(target=self._serving.run, name="drawtap view", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """The address of the page, with the token that lets its holder ask."""
        words = "".join(f"&{key}={value}" for key, value in self._steering.place.items())
        return self._serving.address + words

    @property
    def place(self) -> Place:
        """The place of the page, as its address has it: {"call": "1234", "tab": "state", "filter": "glDraw*"}."""
        return self._steering.place

    @property
    def call(self) -> int | None:
        """The selected call; None where none is."""
        text = self._steering.place.get("call", "")
        return int(text) if text.isdigit() else None

    def select(self, call: int | None = None, **place: object) -> None:
        """Send the page to a call, or to any place: `select(1234, tab="state")`, `select(filter="is:draw")`."""
        if self._closed:
            raise UsageError("this viewer is closed", hint="drawtap.view opens another")
        changes = {key: str(value) for key, value in place.items()}
        self._steering.send(changes if call is None else {**changes, "call": str(call)})

    def on_move(self, tell: Callable[[Place], None] | None) -> None:
        """Have `tell` called with the place whenever the page moves; it runs in a thread of the server."""
        self._steering.on_move = tell

    def open(self) -> None:
        """Open the page in the browser of this desktop."""
        webbrowser.open(self.address)

    def close(self) -> None:
        """End the server, its players, and close the files; a page that is still open says so."""
        if not self._closed:
            self._closed = True
            self._serving.stop()
            self._thread.join(_END_S)

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Viewer {'closed' if self._closed else self.address}>"

    def _repr_html_(self) -> str:
        if self._closed:
            return "<p>This viewer is closed.</p>"
        source = html.escape(self.address, quote=True)
        return f'<iframe src="{source}" width="100%" height="{_HEIGHT}" title="drawtap view"></iframe>'


def view(*recordings: Trace | Path | str, port: int = 0, call: int | None = None, browser: bool = False) -> Viewer:
    """Serve recordings to a page beside this program; return the running `Viewer`.

    `recordings` are open traces or paths, `call` is shown first; `browser` opens the page on this desktop. Raises what
    opening a recording raises, and UnavailableError where the extra `web` is not installed.
    """
    if not recordings:
        raise UsageError("name a recording", hint='drawtap.view("game.dtap")')
    viewer = Viewer(*map(_path, recordings), port=port, call=call)
    if browser:
        viewer.open()
    return viewer


def _path(recording: Trace | Path | str) -> Path:
    return Path(recording) if isinstance(recording, str | Path) else recording.path
