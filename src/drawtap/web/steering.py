"""The place of a page that a program drives: the page says where it goes, the program sends it somewhere."""

from __future__ import annotations

import threading
from collections.abc import Callable
from urllib.parse import parse_qsl, urlencode

import anyio

from drawtap.errors import UsageError

_WAIT_S = 20  # of a request for the next place; the page asks again
_TICK_S = 0.05
_MOST = 64 * 1024

Place = dict[str, str]


class Steering:
    """One place that both sides know. Every method may be called from any thread."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._number = 0  # of changes
        self._by = "program"
        self._lock = threading.Lock()
        self._ended = False
        self.on_move: Callable[[Place], None] | None = None

    @property
    def place(self) -> Place:
        """The words of the page's address: {"call": "1234", "tab": "state"}."""
        with self._lock:
            return dict(self._place)

    def send(self, changes: Place) -> None:
        """Send the page to a place; what `changes` does not name stays."""
        with self._lock:
            self._place = {**self._place, **changes}
            self._number += 1
            self._by = "program"

    def moved(self, text: str) -> dict[str, object]:
        """Note where the page went, from the words of its address."""
        if len(text) > _MOST:
            raise UsageError("a place is not that long", hint=f"at most {_MOST >> 10} KiB")
        place = dict(parse_qsl(text, keep_blank_values=True))
        with self._lock:
            self._place = place
            self._number += 1
            self._by = "page"
            tell = self.on_move
        if tell is not None:
            tell(dict(place))
        return {"number": self._number}

    def end(self) -> None:
        """Let nobody wait for another place."""
        self._ended = True

    async def after(self, number: int) -> dict[str, object]:
        """Return the place once it has changed since that number, or after a while without a change."""
        with anyio.move_on_after(_WAIT_S):
            while self._number <= number and not self._ended:
                await anyio.sleep(_TICK_S)
        with self._lock:
            return {"number": self._number, "place": urlencode(self._place), "by": self._by}
