"""The useless calls of a recording, and the recording without them.

A call is counted once, as the first of KINDS that it is. The graph of calls decides, seen from all outputs: shown
frames and content that was read back. Calls that no output needs are useless. For Vulkan, `trace.vulkan_waste`
decides by command buffers, submissions and objects.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from drawtap.analysis.certificate import digest_of, source_of
from drawtap.analysis.missing import Group, Search
from drawtap.analysis.reduce import Budget, Outcome, SamePixels, ShownImages, Stage, images_in
from drawtap.errors import QueryError, UnavailableError
from drawtap.tables.recording import FrameRow, MemoryWriteRow
from drawtap.trace.apis import is_vulkan
from drawtap.trace.core import Row, Selection, write
from drawtap.trace.graph import packed
from drawtap.trace.ranges import frame_ends
from drawtap.trace.result import Stream, connect, named_rows
from drawtap.trace.vulkan_waste import vulkan_waste

if TYPE_CHECKING:
    import duckdb
    import numpy.typing as npt

    from drawtap.trace.core import Part
    from drawtap.trace.graph import Calls
    from drawtap.trace.trace import Trace

#: Kinds of calls that did nothing, by the name that tables have for them, and what they mean.
KINDS: Mapping[str, str] = {
    "same value": "set what was set already",
    "repeated upload": "brought content that was there already",
    "unused upload": "brought content that nothing read",
    "unseen draw": "drew what was overwritten, or never shown or read",
    "unread state": "set what no call read before it was set again",
    "unused object": "made, bound or ended an object that nothing shown needs",
}

_NUMBERS: Mapping[str, int] = {name: number + 1 for number, name in enumerate(KINDS)}  # as Graph.waste numbers them
_LIGHT_FIRST = ("same value", "unread state", "unused object", "unseen draw", "repeated upload", "unused upload")
_SEARCH_S = 600.0  # what the search for calls that matter may take: after it, whole kinds are put back
_AT_ONCE = 500_000  # calls
_KEYS = {"kind": "kind", "function": "name", "frame": "frame"}


# ---- the account -----------------------------------------------------------------------------------------------------


def account(trace: Trace, by: str) -> list[dict[str, object]]:
    """Return rows of what was done for nothing, `by` "kind", "function" or "frame", the most calls first.

    `calls` did nothing, and `share` is their part of all calls (of that function, in that frame). `duration` is their
    time in the driver (ns), `bytes` their uploaded content. By function, `kind` is what most of them are.
    """
    key = _KEYS[by]
    with connect() as connection:
        connection.execute(
            f"CREATE TABLE parts (key {'UINTEGER' if by == 'frame' else 'VARCHAR'}, kind VARCHAR, calls BIGINT, "
            "duration HUGEINT, bytes HUGEINT)"
        )
        kinds = with_hidden_draws(trace, trace.waste)
        for first in range(0, trace.call_count, _AT_ONCE):
            _add_part(connection, trace, "" if by == "kind" else key, kinds[first : first + _AT_ONCE], first)
        most = "" if by == "kind" else ", arg_max(kind, calls) AS kind"
        rows = connection.execute(
            "WITH wasted AS (SELECT key, kind, sum(calls)::BIGINT AS calls, sum(duration) AS duration, "
            "sum(bytes) AS bytes FROM parts WHERE kind IS NOT NULL GROUP BY ALL), "
            "every AS (SELECT key, sum(calls) AS every FROM parts GROUP BY key) "
            f"SELECT {'kind' if by == 'kind' else f'key AS {key}'}, sum(calls)::BIGINT AS calls, "
            "sum(calls) / any_value(every) AS share, sum(duration)::BIGINT AS duration, sum(bytes)::BIGINT AS bytes"
            f"{most} FROM wasted JOIN every USING (key) GROUP BY {'kind' if by == 'kind' else 'key'} "
            f"ORDER BY {'key' if by == 'frame' else 'calls DESC'}"
        )
        return named_rows(rows)


def _add_part(
    connection: duckdb.DuckDBPyConnection, trace: Trace, key: str, numbers: npt.NDArray[np.uint8], first: int
) -> None:
    """Add up `_AT_ONCE` calls from `first` on: all calls of a long recording at once would not fit into memory."""
    columns = tuple(filter(None, ("seq", key, "duration", "payload_bytes")))
    calls = Selection(columns=columns, first_seq=first, end_seq=first + len(numbers))
    wasted = np.flatnonzero(numbers)
    connection.register("calls", Stream(lambda: trace.core.calls(calls)))
    connection.register("waste", {"seq": first + wasted, "number": numbers[wasted]})
    names = " ".join(f"WHEN {number} THEN '{name}'" for name, number in _NUMBERS.items())
    connection.execute(
        f"INSERT INTO parts SELECT {f'c.{key}' if key else repr('')}, CASE w.number {names} END, count(*), "
        "sum(c.duration), sum(c.payload_bytes) FROM calls c LEFT JOIN waste w ON w.seq = c.seq GROUP BY ALL"
    )


# ---- the recording without it ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Simplified:
    """A recording without its redundant calls: `removed` by kind, `put_back`: calls that turned out to matter."""

    calls: int
    kept: int
    removed: Mapping[str, int]
    put_back: int
    verified: str
    equal: bool
    frames: int
    seconds: float
    certificate: Row = field(default_factory=dict)
    unread_stores: int = 0
    whole: str = ""
    shown: str = "frames"


@dataclass(frozen=True)
class _Useless:
    # The useless calls of a recording; `part` makes a set of calls ready to be written, `closed` adds what calls need
    # (OpenGL) or takes away those that lack something (Vulkan).
    kinds: npt.NDArray[np.uint8]
    stage: Stage
    part: Callable[[Calls, Calls], Part]
    closed: Callable[[Calls], Calls]
    unread_stores: int = 0
    whole: str = ""


def _useless(trace: Trace, on: str) -> _Useless:
    shown = ShownImages(range(len(trace.frames)), 0)
    if not is_vulkan(trace):
        graph = trace.graph
        stage = Stage(trace, shown, on, stored=graph.map_writes)
        kinds = graph.waste(answers=True)
        part = partial(graph.part, trace)
        return _Useless(kinds, stage, lambda keep, images: part(keep, images=images), lambda calls: calls)
    waste = vulkan_waste(trace)
    kinds = with_hidden_draws(trace, waste.kinds)
    stage = Stage(trace, shown, on, rows=waste.stored)

    def closed(keep: Calls) -> Calls:
        left = trace.core.close_over(packed(keep).tobytes())
        return np.unpackbits(np.frombuffer(left, np.uint8), bitorder="little")[: len(keep)].astype(np.bool_)

    rows = len(trace.table(MemoryWriteRow))
    needed = np.unpackbits(np.frombuffer(waste.stored[0], np.uint8), bitorder="little")[:rows]
    unread = rows - int(needed.sum())
    return _Useless(kinds, stage, stage.part, closed, unread, waste.whole)


def with_hidden_draws(trace: Trace, kinds: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return the kinds of a recording's calls with draws of Vulkan of which no sample passed.

    They are known where `drawtap profile -m vk:samples/samples_passed --per draw` counted samples, and frames show it.
    """
    from drawtap.analysis.vulkan_cost import hidden_draws

    shows = any("Present" in (row["end_function"] or "") for row in trace.table(FrameRow))
    hidden = hidden_draws(trace) if shows and is_vulkan(trace) else []
    if not hidden:
        return kinds
    known = kinds.copy()
    known[[seq for seq in hidden if not kinds[seq]]] = _NUMBERS["unseen draw"]
    return known


def simplify(
    trace: Trace,
    output: Path,
    *,
    on: str = "system",
    verify: bool = True,
    on_line: Callable[[str], None] = lambda _: None,
) -> Simplified:
    """Write the recording without calls that did nothing, and prove by all its frames that they did nothing.

    Calls that only query, wait, show or read back stay, and so do calls outside of OpenGL and Vulkan.
    """
    started = time.monotonic()
    useless = _useless(trace, on)
    kinds, stage = useless.kinds, useless.stage
    removed = kinds != 0
    frames = len(trace.frames)
    reference = None
    if verify:
        reference = _reference(trace, stage)
        removed = _proved(trace, useless, reference, on_line)
    put_back = int((kinds != 0).sum() - removed.sum())
    keep = ~removed
    by_kind = {name: int((removed & (kinds == number)).sum()) for name, number in _NUMBERS.items()}
    certificate: Row = {
        "kind": "certificate",
        "what": "simplify",
        "source": source_of(trace),
        "frame_end": trace.frame_end,
        "calls_source": len(keep),
        "calls_kept": int(keep.sum()),
        "removed": dict(by_kind),
        "put_back": put_back,
        "verified": "replay" if verify else "no",
    }
    if reference is not None:
        certificate |= {
            "engine": stage.renderer,
            "frames": len(reference.images),
            "images_digest": digest_of(reference.images),
            "replays": stage.rounds,
        }
    images = np.zeros_like(keep)  # of frames; what waits in between may have seen draws that no frame shows
    images[frame_ends(trace)] = True
    part = useless.part(keep, images)
    write([part], output, annotation=certificate)
    equal = True
    if reference is not None:
        shown = stage.shown_in(keep)
        if shown.frames is None:
            certificate["shown"] = {"call": stage.shown.call, "submit": stage.shown.submit}
            certificate["file"] = {"shown": {"call": shown.call, "submit": shown.submit}}
        else:
            shown = ShownImages(range(frames), 0)
        equal = images_in(output, trace, shown, on) == reference.images
        certificate["file_equal"] = equal
        write([part], output, annotation=certificate)
    return Simplified(
        len(keep),
        int(keep.sum()),
        by_kind,
        put_back,
        "replay" if verify else "no",
        equal,
        frames,
        time.monotonic() - started,
        certificate,
        useless.unread_stores,
        useless.whole,
        "frames" if stage.shown.frames is not None else "last draw",
    )


_LAST_DRAW = "SELECT seq, submit_seq FROM executed WHERE kind = 'draw' ORDER BY number DESC LIMIT 1"


def _reference(trace: Trace, stage: Stage) -> Outcome:
    reference = stage.play(None)
    if reference is not None and not reference.images and is_vulkan(trace):
        for call, submit in trace.sql(_LAST_DRAW).fetchall():  # a program without a window
            stage.shown = ShownImages(None, int(call), int(submit))
            reference = stage.play(None)
    if reference is None or not reference.images:
        what = "cannot be played here" if reference is None else "show no image that could be compared"
        raise UnavailableError(
            f"the recording's frames {what}", hint="--no-verify writes it without comparing anything"
        )
    return reference


def _proved(trace: Trace, useless: _Useless, reference: Outcome, on_line: Callable[[str], None]) -> Calls:
    """Return those useless calls without which every frame is the same: all of them, or what a search leaves."""
    kinds, stage = useless.kinds, useless.stage
    oracle = _Closed(SamePixels(stage, reference), useless.closed)
    removed: Calls = kinds != 0
    if oracle.holds(~removed):
        return removed
    if stage.play(None) != reference:
        raise QueryError("playing the recording twice gives two images: what it draws depends on more than its calls")

    def alike(call: int) -> Sequence[Calls]:
        row = trace.calls[call]
        same = np.zeros_like(removed)
        rows = trace.sql("SELECT seq FROM calls WHERE name = $name", {"name": row.name})
        same[[int(seq) for (seq,) in rows]] = True
        same &= removed
        return same & (kinds == kinds[call]), same

    # Content is heavy to play; a call that sets what is set already matters most easily, to a driver's habits.
    groups = [Group(f"all calls of the kind {name}", kinds == _NUMBERS[name]) for name in _LIGHT_FIRST]
    search = Search(oracle, groups, closed=lambda calls: calls, alike=alike, budget=Budget(_SEARCH_S), on_line=on_line)
    needed = search.from_(~removed)
    if needed.whole:
        on_line(f"the search ended after {_SEARCH_S:.0f} s: put back are {', '.join(needed.whole)}")
    return ~useless.closed(needed.keep)


class _Closed:
    """An oracle whose calls first lose those that lack something."""

    together = True

    def __init__(self, oracle: SamePixels, closed: Callable[[Calls], Calls]) -> None:
        self.about, self._oracle, self._closed = oracle.about, oracle, closed

    def holds(self, keep: Calls) -> bool:
        return self._oracle.holds(self._closed(keep))
