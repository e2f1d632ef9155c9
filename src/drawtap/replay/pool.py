"""Players that stand where somebody looks: any picture of a long recording within the time that its frame takes.

A frame needs few of the calls before it. The graph says which; a player that makes only these stands at the frame soon,
however far it is. A second one is parked at the frame's first call, so that a step back costs no more than the frame.
A third one, which plays every call, serves until the graph is there, and wherever a cut does not draw the same.
"""

from __future__ import annotations

import bisect
import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from drawtap.errors import ChildError, DrawtapError
from drawtap.replay.warm import Warm
from drawtap.scratch import Scratch
from drawtap.trace import apis
from drawtap.trace.library import Cancelled
from drawtap.trace.opened import LONG

if TYPE_CHECKING:
    from drawtap.replay.look import Ask
    from drawtap.trace.graph import Graph
    from drawtap.trace.trace import Trace

T = TypeVar("T")
POLITE = 15  # niceness of players that nobody waits for


class SupersededError(DrawtapError):
    """Say that a newer request took the place of this one."""

    def __init__(self, message: str, *, hint: str = "ask again, if the answer is still wanted") -> None:
        super().__init__(message, hint=hint)


@dataclass
class Served:
    """The player that answered: it plays every call, or a cut of `calls` calls.

    `proof` says whether the cut draws what the whole recording draws: "unknown" yet, "equal", "differs".
    """

    cut: bool
    calls: int
    proof: str = "unknown"


class _FrameCut:
    """The players of one frame, and whether they may be believed."""

    def __init__(self, frame: range, keep: bytes, calls: int, start: Callable[[bytes, int], Warm]) -> None:
        self.keep = keep
        self.frame = frame
        self.served = Served(True, calls)
        self._keep, self._start = keep, start
        self._cursor = start(keep, 0)
        self._parked: Warm | None = None
        self._parking: threading.Thread | None = None
        self._behind: Warm | None = None
        self._lock = threading.Lock()

    def player(self, seq: int) -> Warm:
        """Return a player that stands before or at a call of the frame."""
        if self._cursor.position > seq:
            self._cursor.close()
            self._cursor = self._taken()
        return self._cursor

    def _taken(self) -> Warm:
        """Return the parked player, or a new one where none is parked yet."""
        with self._lock:
            parked, self._parked = self._parked, None
            if parked is not None:
                self._parking = None
        return parked or self._start(self._keep, 0)

    @contextlib.contextmanager
    def behind(self) -> Iterator[Warm]:
        """Yield a player of its own for calls that somebody may want next; another one is parked afterwards."""
        self._behind = player = self._taken()
        try:
            yield player
        finally:
            player.close()
            self._behind = None
            self.park()

    def park(self) -> None:
        """Let another player go to the frame's first call, while nobody waits."""
        if self._parking is None:
            self._parking = threading.Thread(target=self._park, daemon=True)
            self._parking.start()

    def _park(self) -> None:
        parked = self._start(self._keep, 0)
        with contextlib.suppress(DrawtapError):  # the cursor says what is wrong
            parked.go_to(max(self.frame.start - 1, 0))
            with self._lock:
                self._parked = parked

    def close(self) -> None:
        """End the players."""
        self._cursor.close()
        behind = self._behind
        if behind is not None:
            behind.close()
        if self._parking is not None:
            self._parking.join()
        if self._parked is not None:
            self._parked.close()


class _Waiting:
    """A player of every call that waits where a frame begins, for whoever goes back inside of the frame."""

    def __init__(self, start: Callable[[bytes | None, int], Warm]) -> None:
        self._start = start
        self._player: Warm | None = None
        self._going: Warm | None = None
        self._thread: threading.Thread | None = None
        self._closed = False
        self._lock = threading.Lock()

    def taken(self, before: int) -> Warm | None:
        """Return the player if it stands at or before a call; the caller has it from now on."""
        with self._lock:
            if self._player is None or self._player.position > before:
                return None
            player, self._player = self._player, None
            return player

    def park(self, call: int) -> None:
        """Let a player go to a call while nobody waits; one that stands there already stays."""
        with self._lock:
            player = self._player
            busy = self._thread is not None and self._thread.is_alive()
            if self._closed or busy or (player is not None and player.position == call):
                return
            self._player, self._going = None, player or self._start(None, 0)
            self._thread = threading.Thread(target=self._park, args=(self._going, call), daemon=True)
            self._thread.start()

    def _park(self, player: Warm, call: int) -> None:
        with contextlib.suppress(DrawtapError, OSError, ValueError):  # whoever asks next hears it; or it was ended
            player.go_to(call)
            with self._lock:
                self._going = None
                if not self._closed:
                    self._player = player
                    return
        player.close()

    def close(self) -> None:
        """End the player."""
        with self._lock:
            self._closed = True
            going, player = self._going, self._player
        for one in (going, player):
            if one is not None:
                one.close()
        if self._thread is not None:
            self._thread.join()


class Pool:
    """Answers questions about what is drawn at calls of one recording; the newest question is served.

    Raises SupersededError for a question that a newer one overtook, and what Warm raises. `close` it at the end.
    """

    def __init__(self, trace: Trace, *, environment: Mapping[str, str] | None = None) -> None:
        self._trace = trace
        self._environment = environment
        self._busy = threading.Lock()
        self._newest = 0
        self._served = 0  # the question that is answered
        self._plain = self._start(None, 0)
        # Those that watch draws are others: watching has its price.
        self._plain_looking = self._start(None, 0, looks=True)
        self._cut_looking: _FrameCut | None = None
        # The graph knows no calls of Vulkan: steps back inside of a frame begin where the frame begins.
        self._waiting = _Waiting(self._start) if apis.is_vulkan(trace) else None
        self._running: tuple[Warm, int] | None = None
        self._cut: _FrameCut | None = None
        self._graph: Graph | None = None
        self._making: threading.Thread | None = None
        self._closed = False

    def look(
        self, first: int, last: int, request: Mapping[str, object]
    ) -> tuple[tuple[dict[str, object], bytes], Served]:
        """Return what Warm.look finds about calls of one frame, and which player found it."""
        return self.ask(last, lambda player: player.look(first, last, request), looks_from=first)

    def look_on(self, first: int, last: int, question: Callable[[Ask], T]) -> tuple[T, Served]:
        """Return what `question` finds with looks at several rising calls of one frame, and which player found it.

        A newer question ends it before its next look.
        """

        def ask(player: Warm, ticket: int) -> T:
            def once(since: int, call: int, request: Mapping[str, object]) -> tuple[dict[str, object], bytes]:
                if ticket != self._newest:
                    raise SupersededError("a newer question came")
                return player.look(since, call, request)

            return question(once)

        return self.ask(last, lambda player: ask(player, self._served), looks_from=first)

    def prepare(self, seq: int, question: Callable[[Warm], T]) -> tuple[T, Served] | None:
        """Return what `question` gets from a player of its own, beside whoever asks: call `seq` may be wanted next.

        None where another frame is looked at by now, or no cut may be believed.
        """
        cut = self._cut
        if cut is None or self._closed or seq not in cut.frame or cut.served.proof == "differs":
            return None
        with (
            contextlib.suppress(DrawtapError, OSError, ValueError),
            cut.behind() as player,
        ):  # it may be ended meanwhile
            return question(player), cut.served
        return None

    def calls_for(self, seq: int) -> bytes | None:
        """Return the calls that the looked-at frame of call `seq` needs, as `Warm` has them; None without a cut."""
        cut = self._cut
        return cut.keep if cut is not None and seq in cut.frame and cut.served.proof != "differs" else None

    def ask(
        self,
        seq: int,
        question: Callable[[Warm], T],
        *,
        whole: bool = False,
        looks_from: int | None = None,
        inside: bool = False,
    ) -> tuple[T, Served]:
        """Return what `question` gets from a player that can go to call `seq`, and which player that was.

        `whole` asks one that plays every call: the content of objects that the frame does not need. `looks_from` asks
        one that has not played this call yet, and that may look. `inside` asks one that has not played `seq` yet: the
        answer stands behind a command that this call submits.
        """
        self._newest = ticket = self._newest + 1
        running = self._running
        if running is not None and running[0] is self._plain and running[1] > seq:
            running[0].close()  # it is on its way beyond what is wanted now
        with self._busy:
            if ticket != self._newest or self._closed:
                raise SupersededError("a newer question came")
            self._served = ticket
            cut = None if whole else self._cut_of(seq)
            if looks_from is not None:
                cut = self._looking(cut)
            plain = self._plain if looks_from is None else self._plain_looking
            before = seq if looks_from is None else looks_from - 1
            if plain is self._plain and self._waiting is not None:
                plain = self._gone_back(before - inside)
            player, served = (plain, Served(False, 0)) if cut is None else (cut.player(before), cut.served)
            self._running = player, seq
            try:
                answer = question(player)
            except ChildError:
                if ticket != self._newest:
                    raise SupersededError("a newer question came") from None
                raise
            finally:
                self._running = None
            if cut is not None:
                cut.park()
            elif player is self._plain and self._waiting is not None:
                self._waiting.park(max(self._frame_of(seq).start - 1, 0))
            return answer, served

    def _gone_back(self, before: int) -> Warm:
        """Return the player of every call; the one that waits takes its place where it went beyond `before`."""
        assert self._waiting is not None
        if self._plain.position > before and (waiting := self._waiting.taken(before)) is not None:
            self._plain.close()
            self._plain = waiting
        return self._plain

    def _frame_of(self, seq: int) -> range:
        """Return the calls of a call's frame; those behind the last frame are one too."""
        rows = self._trace.frames
        number = bisect.bisect_right(rows, seq, key=lambda frame: frame.end_seq)
        if number < len(rows):
            return range(rows[number].first_seq, rows[number].end_seq)
        return range(rows[-1].end_seq if rows else 0, len(self._trace.calls))

    def _cut_of(self, seq: int) -> _FrameCut | None:
        if self._cut is not None and seq in self._cut.frame:
            return None if self._cut.served.proof == "differs" else self._cut
        if self._graph is None:
            self._begin_graph()
            return None
        rows = self._trace.frames
        number = bisect.bisect_right(rows, seq, key=lambda frame: frame.end_seq)
        if number == len(rows):
            return None  # behind the last frame
        import numpy as np

        # Every call of the frame is wanted, so that each picture inside of it is right.
        keep = self._graph.closure(np.arange(rows[number].first_seq, rows[number].end_seq, dtype=np.uint64))
        if self._cut is not None:
            self._cut.close()
        calls = int(keep.sum())
        bits = np.packbits(keep, bitorder="little").tobytes()
        self._cut = _FrameCut(range(rows[number].first_seq, rows[number].end_seq), bits, calls, self._start)
        if "Swap" in str(rows[number].end_function):
            threading.Thread(target=self._prove, args=(self._cut, bits), daemon=True).start()
        return self._cut

    def _looking(self, cut: _FrameCut | None) -> _FrameCut | None:
        """Return players of the same cut that may look."""
        old = self._cut_looking
        if old is not None and (cut is None or old.frame != cut.frame):
            old.close()
            self._cut_looking = old = None
        if cut is not None and old is None:
            calls = cut.served.calls
            self._cut_looking = _FrameCut(cut.frame, cut.keep, calls, lambda k, n: self._start(k, n, looks=True))
            self._cut_looking.served = cut.served
        return self._cut_looking

    def _begin_graph(self) -> None:
        # The graph knows no calls of Vulkan: a player of all calls answers.
        if self._making is None and len(self._trace.calls) <= LONG and not apis.is_vulkan(self._trace):
            self._making = threading.Thread(target=self._make_graph, daemon=True)
            self._making.start()

    def _make_graph(self) -> None:
        with contextlib.suppress(DrawtapError, Cancelled):  # without it every call is played
            self._graph = self._trace.graph

    def _prove(self, cut: _FrameCut, bits: bytes) -> None:
        """Hold what the cut draws against what the whole recording draws, as the frame is shown."""
        pictures = []
        last = max(cut.frame.stop - 2, cut.frame.start)
        with Scratch() as folder, contextlib.suppress(DrawtapError):
            for i, keep in enumerate((bits, None)):
                file = Path(folder) / f"{i}.rgba"
                with self._start(keep, POLITE) as player:
                    player.image(last, file)
                if self._cut is not cut or self._closed:
                    return
                pictures.append(file.read_bytes() if file.exists() else b"")
        if len(pictures) == 2:
            cut.served.proof = "equal" if pictures[0] == pictures[1] else "differs"

    def _start(self, keep: bytes | None, nice: int, *, looks: bool = False) -> Warm:
        return Warm(
            self._trace.path,
            environment=self._environment,
            frame_end=self._trace.frame_end,
            keep=keep,
            nice=nice,
            looks=looks,
        )

    def close(self) -> None:
        """End all players, also a busy one."""
        self._closed = True
        self._newest += 1
        running = self._running
        if running is not None:
            running[0].close()
        with self._busy:
            self._plain.close()
            self._plain_looking.close()
            if self._waiting is not None:
                self._waiting.close()
            for cut in (self._cut, self._cut_looking):
                if cut is not None:
                    cut.close()
        while self._making is not None and self._making.is_alive():
            self._trace.cancel()  # lost where the graph has not begun yet, or another thread's has just ended: again
            self._making.join(0.02)
