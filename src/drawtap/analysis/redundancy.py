"""The useless calls of a recording, and the recording without them.

A call is counted once, as the first of KINDS that it is. The graph of calls decides, seen from all outputs: shown
frames and content that was read back. Calls that no output needs are useless.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from drawtap.analysis.certificate import digest_of, source_of
from drawtap.analysis.missing import Group, Search
from drawtap.analysis.reduce import Budget, Outcome, SamePixels, ShownImages, Stage
from drawtap.errors import QueryError, UnavailableError
from drawtap.trace.core import Row, write
from drawtap.trace.graph import Graph
from drawtap.trace.ranges import frame_ends

if TYPE_CHECKING:
    import numpy.typing as npt

    from drawtap.trace.graph import Calls
    from drawtap.trace.trace import Trace

#: Kinds of calls that did nothing, by the name that tables have for them, and what they mean.
KINDS: Mapping[str, str] = {
    "same value": "set what was set already",
    "repeated upload": "brought content that was there already",
    "unused upload": "brought content that nothing read",
    "unseen draw": "drew what was overwritten, or never shown or read",
    "unread state": "set what no call read before it was set again",
}

_NUMBERS: Mapping[str, int] = {name: number + 1 for number, name in enumerate(KINDS)}  # as Graph.waste numbers them
_LIGHT_FIRST = ("same value", "unread state", "unseen draw", "repeated upload", "unused upload")
_SEARCH_S = 600.0  # what the search for calls that matter may take: after it, whole kinds are put back
_KEYS = {"kind": "kind", "function": "name", "frame": "frame"}


# ---- the account -----------------------------------------------------------------------------------------------------


def account(trace: Trace, by: str) -> list[dict[str, object]]:
    """Return rows of what was done for nothing, `by` "kind", "function" or "frame", the most calls first.

    `calls` did nothing, and `share` is their part of all calls (of that function, in that frame). `duration` is their
    time in the driver (ns), `bytes` their uploaded content. By function, `kind` is what most of them are.
    """
    key = _KEYS[by]
    whole = "(SELECT count(*) FROM calls)" if by == "kind" else "any_value(w.whole)"
    join = "" if by == "kind" else f"JOIN (SELECT {key}, count(*) AS whole FROM calls GROUP BY {key}) w USING ({key})"
    kind = ", mode(kind) AS kind" if by != "kind" else ""
    order = "frame" if by == "frame" else "calls DESC"
    query = f"""
        SELECT {key}, count(*) AS calls, count(*) / {whole} AS share, sum(duration)::BIGINT AS duration,
               sum(payload_bytes)::BIGINT AS bytes{kind}
        FROM (SELECT c.seq, c.name, c.frame, c.duration, c.payload_bytes, r.kind
              FROM redundancy r JOIN calls c ON c.seq = r.seq) {join}
        GROUP BY {key} ORDER BY {order}
    """
    return list(trace.sql(query).dicts())


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


def simplify(
    trace: Trace,
    output: Path,
    *,
    on: str = "system",
    verify: bool = True,
    on_line: Callable[[str], None] = lambda _: None,
) -> Simplified:
    """Write the recording without calls that did nothing, and prove by all its frames that they did nothing.

    Calls that only query, wait, show or read back stay, and so do calls outside of OpenGL.
    """
    started = time.monotonic()
    graph = Graph(trace, lean=True)
    kinds = graph.waste(answers=True)
    removed = kinds != 0
    frames = len(trace.frames)
    stage = Stage(trace, ShownImages(range(frames), 0), on, stored=graph.map_writes)
    reference = None
    if verify:
        reference = _reference(stage)
        removed = _proved(trace, stage, reference, kinds, on_line)
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
    part = graph.part(trace, keep, images=images)
    write([part], output, annotation=certificate)
    equal = True
    if reference is not None:
        equal = _file_images(output, trace, frames, on) == reference.images
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
    )


def _reference(stage: Stage) -> Outcome:
    reference = stage.play(None)
    if reference is None or not reference.images:
        raise UnavailableError(
            "the recording's frames cannot be played here", hint="--no-verify writes it without comparing anything"
        )
    return reference


def _proved(
    trace: Trace, stage: Stage, reference: Outcome, kinds: npt.NDArray[np.uint8], on_line: Callable[[str], None]
) -> Calls:
    """Return those calls of `kinds` without which every frame is the same: all of them, or what a search leaves."""
    oracle = SamePixels(stage, reference)
    removed: Calls = kinds != 0
    if oracle.holds(~removed):
        return removed
    if stage.play(None) != reference:
        raise QueryError("playing the recording twice gives two images: what it draws depends on more than its calls")

    def alike(call: int) -> Sequence[Calls]:
        row = trace.calls[call]
        same = np.zeros_like(removed)
        found = trace.sql("SELECT seq FROM calls WHERE name = $name", {"name": row.name})
        same[[int(seq) for (seq,) in found]] = True
        same &= removed
        return same & (kinds == kinds[call]), same

    # Content is heavy to play; a call that sets what is set already matters most easily, to a driver's habits.
    groups = [Group(f"all calls of the kind {name}", kinds == _NUMBERS[name]) for name in _LIGHT_FIRST]
    search = Search(oracle, groups, closed=lambda calls: calls, alike=alike, budget=Budget(_SEARCH_S), on_line=on_line)
    found = search.from_(~removed)
    if found.whole:
        on_line(f"the search ended after {_SEARCH_S:.0f} s: put back are {', '.join(found.whole)}")
    return ~found.keep


def _file_images(path: Path, like: Trace, frames: int, on: str) -> tuple[str, ...]:
    from drawtap.trace.trace import open_trace

    with open_trace(path, frame_end=None if like.frame_end == "auto" else like.frame_end) as trace:
        outcome = Stage(trace, ShownImages(range(frames), 0), on).play(None)
    return outcome.images if outcome is not None else ()
