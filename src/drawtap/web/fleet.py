"""The page of a corpus: the matrix, its cells, pictures, decisions, and recordings that are opened from there."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from drawtap.corpus import approvals, gallery, matrix, pictures
from drawtap.corpus import engines as named
from drawtap.corpus.adding import restore
from drawtap.corpus.search import Corpus
from drawtap.corpus.store import Store
from drawtap.errors import DrawtapError, UnavailableError, UsageError
from drawtap.output.data import dumps
from drawtap.replay import engine
from drawtap.scratch import Scratch
from drawtap.trace.trace import open_trace
from drawtap.web.answer import Answer, Encoded, asked
from drawtap.web.fleet_data import cell_data, chosen, difference, machine_data, matrix_data

if TYPE_CHECKING:
    from drawtap.corpus.engines import Engine

#: Opens a recording on an engine and returns its number on the page.
Opener = Callable[[Path, str], int]


class Fleet:
    """Answers what the page asks about a corpus. Every method may be called from any thread. `close` it at the end.

    `file` names engines (None: the default file); `most` builds are shown; `decides`: the page may write decisions,
    which `key` signs where the corpus asks for that.
    """

    def __init__(
        self,
        store: Store,
        file: Path | None,
        *,
        most: int = matrix.BUILDS,
        decides: bool = True,
        key: Path | None = None,
    ) -> None:
        self._store, self._file, self._most, self._key = store, file, most, key
        self._decides = decides and (key is not None or not approvals.signed(store))
        self._lock = threading.RLock()
        self._ends = contextlib.ExitStack()
        self._folder = Path(self._ends.enter_context(Scratch()))
        self._tables: Corpus | None = None
        self._matrix: Encoded | None = None
        self._engines: dict[str, Engine] | None = None
        self._opened: dict[tuple[str, str], int] = {}

    def close(self) -> None:
        """Close the corpus, and remove recordings that were fetched."""
        with self._lock:
            if self._tables is not None:
                self._tables.close()
            self._ends.close()

    def _corpus(self) -> Corpus:
        if self._tables is None:
            self._tables = Corpus(self._store)
        return self._tables

    def matrix(self, *, fresh: bool = False) -> Encoded:
        """Return all recordings and builds as JSON; `fresh`: as the corpus is now."""
        with self._lock:
            if fresh and self._tables is not None:
                self._tables.close()
                self._tables = self._matrix = None
            if self._matrix is None:
                made = matrix.matrix(self._corpus(), self._most)
                self._matrix = Encoded(dumps(matrix_data(made, self._store.where, decide=self._decides, play=True)))
            return self._matrix

    def prepare(self) -> None:
        """Put the matrix together beside what else a server begins with; what fails here is the page's to hear."""

        def make() -> None:
            with contextlib.suppress(DrawtapError):
                self.matrix()

        threading.Thread(target=make, name="matrix", daemon=True).start()

    def machines(self) -> list[Answer]:
        """Return the machines that measured pairs."""
        with self._lock:
            return machine_data(self._corpus())

    def cell(self, trace: str, key: str) -> Answer:
        """Return what is known about a recording on a build, and which pictures of its frame are in the store."""
        with self._lock:
            data = cell_data(matrix.cell(self._corpus(), self._known(trace), key), self._store.where)
        shots = [one for one in gallery.kept(self._store, trace) if one.frame == data["frame"]]
        own = [data["got"]] if any(one.engine == key for one in shots) else []
        return data | {"kept": [*{one.digest for one in shots}, *own]}

    def _known(self, trace: str) -> str:
        with self._lock:
            known = self._corpus().scalar("SELECT count(*) FROM traces WHERE trace = ?", (trace,))
        if not known:
            raise UsageError(f"the corpus has no recording {trace[:12]}", hint="drawtap corpus ls lists them")
        return trace

    # ---- pictures ------------------------------------------------------------------------------------------------

    def picture(self, trace: str, key: str, frame: int, digest: str) -> bytes:
        """Return a picture of a frame as PNG: of the store, else drawn by an engine of this machine.

        `key` is the build that is meant, where only one is: it may draw other pixels in each run. Raises
        UnavailableError where nobody here draws it.
        """
        return self._shot(self._known(trace), key, frame, digest).png

    def difference(self, trace: str, key: str, frame: int, right: str, got: str) -> bytes:
        """Return where what is right and the picture of a build differ, as PNG."""
        known = self._known(trace)
        sides = self._shot(known, "", frame, right), self._shot(known, key, frame, got)
        return difference(*sides, self._kept(known, frame))[0]

    def _kept(self, trace: str, frame: int) -> list[gallery.Shot]:
        return [gallery.opened(self._store, one) for one in gallery.kept(self._store, trace) if one.frame == frame]

    def _shot(self, trace: str, key: str, frame: int, digest: str) -> gallery.Shot:
        known = chosen(self._kept(trace, frame), digest, key)
        if known is not None:
            return known
        with self._lock:
            rows = (
                self._corpus()
                .query(
                    "SELECT DISTINCT engine FROM images WHERE trace = ? AND frame = ? AND digest = ?",
                    (trace, frame, digest),
                )
                .fetchall()
            )
        for name in sorted((str(row[0]) for row in rows), key=lambda name: name != key):
            here = self._here(name)
            shot = None if here is None else gallery.shoot(self._file_of(trace), here, frame)
            if shot is not None and (shot.digest == digest or name == key):
                gallery.keep(self._store, trace, [shot])
                return shot
        raise UnavailableError("no picture was kept, and no engine here draws it", hint="--engines FILE names builds")

    def _here(self, key: str) -> Engine | None:
        """Return the engine of this machine that has this key, None where there is none."""
        with self._lock:
            if self._engines is None:
                self._engines = {}
                used = self._corpus().query("SELECT DISTINCT name FROM runs").fetchall()
                for (name,) in used:
                    with contextlib.suppress(UsageError, UnavailableError):  # it is a build of another machine
                        (engine,) = named.named([str(name)], self._file)
                        self._engines[engine.key] = engine
            return self._engines.get(key)

    def _file_of(self, trace: str) -> Path:
        with self._lock:
            path = self._folder / f"{trace[:12]}.dtap"
            if not path.exists():
                restore(self._store, trace, path)
            return path

    # ---- acts ----------------------------------------------------------------------------------------------------

    def decide(self, text: str) -> Answer:
        """Write a decision about the images of a run.

        `text` is JSON with trace, engine, label, why, frame (null: all), family (null: the build's).
        """
        if not self._decides:
            raise UsageError(
                "this page takes no decisions", hint="drawtap corpus serve without --read-only, with --sign KEY"
            )
        wish = asked(text)
        label, frame, family = wish.get("label"), wish.get("frame"), wish.get("family")
        if label not in approvals.LABELS or not (frame is None or (isinstance(frame, int) and frame >= 0)):
            raise UsageError("a decision has no such label", hint="approved, rejected, flaky")
        with self._lock:
            tables = self._corpus()
            build = matrix.build_of(tables, str(wish.get("engine")))
            if build is None:
                raise UsageError("the corpus knows no such build", hint="reload the page")
            (made,) = pictures.decisions_of(
                tables, [self._known(str(wish.get("trace")))], matrix.engine_of(build), str(label),
                str(wish.get("why") or ""), family=str(family) if family else None, frame=frame,
            )  # fmt: skip
            done = approvals.decide(self._store, made, self._key)
        return {"label": done.label, "family": done.family, "frames": len(done.images)}

    def open(self, text: str, opened: Opener) -> Answer:
        """Open a recording for the viewer, on a build and on the one it is compared with, as far as they play here.

        `text` is JSON with trace, engine and `of`: the recording whose cell leads there. Return the page's place.
        """
        wish = asked(text)
        with self._lock:
            trace, of = self._known(str(wish.get("trace"))), self._known(str(wish.get("of") or wish.get("trace")))
            said = matrix.cell(self._corpus(), of, str(wish.get("engine")))
            path = self._file_of(trace)
            sides = [self._here(one.key) for one in (said.base, said.build) if one is not None]
            names = []
            for side in sides:
                if side is not None and side.name not in names:
                    self._ends.enter_context(engine.lent({side.name: side.environment}))
                    names.append(side.name)
            numbers = [self._number(path, trace, name, opened) for name in names or ["system"]]
            call = _call(path, said) if trace == of else _last(path)
        both = len(numbers) == 2
        words = f"page=recording&rec={numbers[0]}" + (f"&with={numbers[1]}" if both else "")
        at = "" if call is None else f"&call={call}" + (f"&callb={call}" if both else "")
        return {"place": f"{words}{at}&tab={'call' if call is None or said.images is None else 'picture'}"}

    def _number(self, path: Path, trace: str, name: str, opened: Opener) -> int:
        if (trace, name) not in self._opened:
            self._opened[trace, name] = opened(path, name)
        return self._opened[trace, name]


def _call(path: Path, said: matrix.Cell) -> int | None:
    """Return the call that a cell is about: the draw that differs, where the run ended, or the end of its frame."""
    seq = said.images["first_seq"] if said.images else None
    if seq is None and said.run is not None:
        seq = said.run["last_seq"]
    frame = said.judged.frame if said.judged else None
    with open_trace(path) as trace:
        if seq is not None and int(seq) < trace.call_count:
            return int(seq)
        if frame is None:
            return None
        row = trace.sql("SELECT end_seq FROM frames WHERE frame = ?", (frame,)).fetchone()
        return int(row[0]) - 1 if row else None


def _last(path: Path) -> int | None:
    """Return the last draw of a recording."""
    with open_trace(path) as trace:
        row = trace.sql("SELECT max(seq) FROM draws WHERE kind = 'draw'").fetchone()
        return int(row[0]) if row and row[0] is not None else None
