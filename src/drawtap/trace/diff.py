"""Differences between the calls of two recordings: changed calls, and calls of only one of them.

Calls are aligned as a text comparison aligns lines, frame by frame, but by what they are: the function and what goes
into it. Objects are the same where aligned calls made them, whatever their numbers are; addresses of memory do not
count, the content of arrays does. The aligning is done by the reader core.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from drawtap.tables.recording import FrameRow
from drawtap.trace.core import Row
from drawtap.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class Difference:
    """A call that differs: `kind` is changed, only_a or only_b; `a` and `b` are numbers of calls, or None.

    `text` is the call; of a changed one its name, with what differs in `params`: name, value in a, value in b, as text.
    """

    kind: str
    frame_a: int | None
    frame_b: int | None
    a: int | None
    b: int | None
    text: str
    params: tuple[tuple[str, str, str], ...] = ()

    @property
    def line(self) -> str:
        """The call, of a changed one with what differs: `glClear(mask: A → B)`."""
        differing = ", ".join(f"{name}: {was} → {now}" for name, was, now in self.params)
        return f"{self.text}({differing})" if differing else self.text


@dataclass(frozen=True, slots=True)
class Frames:
    """Two frames that belong together and differ, and in how many calls; None: there is none on that side."""

    a: int | None
    b: int | None
    equal: int
    changed: int
    only_a: int
    only_b: int


@dataclass(frozen=True, slots=True)
class Differences:
    """The findings of a comparison of calls; the lists hold the first ones, the numbers count all.

    Calls after the last frame are no frame: `rest_differs` is about them.
    """

    equal: int
    changed: int
    only_a: int
    only_b: int
    different_frames: int
    frames_a: int
    frames_b: int
    frames: tuple[Frames, ...]
    calls: tuple[Difference, ...]
    rest_differs: bool = False

    @property
    def any(self) -> bool:
        """True if anything differs."""
        return bool(self.changed or self.only_a or self.only_b)


def diff(a: Trace, b: Trace, *, frames: range | None = None, limit: int = 1000, outputs: bool = False) -> Differences:
    """Compare the calls of two recordings.

    `frames` restricts both to these. At most `limit` differences are listed. With `outputs`, what calls returned and
    wrote counts, too: read-backs, queries, errors.
    """
    return _differences(a, b, a.core.diff(b.core, frames=frames, limit=limit, outputs=outputs), frames)


@dataclass(frozen=True)
class Alignment:
    """All calls of two recordings in one order, as runs of calls of one kind that follow each other on both sides.

    `runs` has a row for each run: kind, frame in A and in B, thread, first call in A and in B, number of calls.
    Kinds are 0 equal, 1 changed, 2 only in A, 3 only in B; -1 stands where a side has none. Runs of one pair of frames
    stand together, thread by thread.
    """

    differences: Differences
    runs: npt.NDArray[np.int64]


def aligned(a: Trace, b: Trace, *, limit: int) -> Alignment:
    """Compare the calls of two recordings as `diff` does, and return the whole alignment."""
    said = a.core.diff(b.core, frames=None, limit=limit, runs=True)
    runs = np.array(said["runs"], np.int64).reshape(-1, 7)
    return Alignment(_differences(a, b, said, None), runs)


def _differences(a: Trace, b: Trace, said: Row, frames: range | None) -> Differences:
    numbers = ("equal", "changed", "only_a", "only_b", "different_frames", "frames_a", "frames_b")
    counts = {name: said[name] for name in numbers}
    pairs = [Frames(f["frame_a"], f["frame_b"], *(f[n] for n in numbers[:4])) for f in said["frames"]]
    ended = [sum(1 for row in trace.table(FrameRow) if row["end_function"]) for trace in (a, b)]
    rest = any(n is not None and n >= end for pair in pairs for n, end in zip((pair.a, pair.b), ended, strict=True))
    counts["different_frames"] -= sum(
        all(n is None or n >= end for n, end in zip((pair.a, pair.b), ended, strict=True)) for pair in pairs
    )
    for name, end in zip(("frames_a", "frames_b"), ended, strict=True):
        within = end if frames is None else len(range(min(frames.start, end), min(frames.stop, end)))
        counts[name] = within
    return Differences(**counts, frames=tuple(pairs), calls=tuple(map(_call, said["differences"])), rest_differs=rest)


def _call(row: Row) -> Difference:
    params = tuple((p["name"], p["a"], p["b"]) for p in row.get("params", []))
    frame_a, frame_b, a, b = (row[name] for name in ("frame_a", "frame_b", "a", "b"))
    text = str(row.get("text") or row.get("function"))
    return Difference(row["kind"], frame_a, frame_b, a, b, text, params)


@dataclass(frozen=True, slots=True)
class ResourceDifference:
    """An object that only one recording has, or that has other contents or properties in the two.

    `a` and `b` are its names there, or None; `changes` are the property, its value in A and in B, as text.
    """

    kind: str
    a: int | None
    b: int | None
    changes: tuple[tuple[str, str, str], ...]

    @property
    def mark(self) -> str:
        """`-` where only A has it, `+` where only B has, `~` where it differs."""
        return "+" if self.a is None else "-" if self.b is None else "~"

    @property
    def line(self) -> str:
        """Its changes as text, `width: 4 → 8`; of an object that one recording has, its properties."""
        both = self.mark == "~"
        return ", ".join(
            f"{name}: {was or '-'} → {now or '-'}" if both else f"{name}: {was or now}"
            for name, was, now in self.changes
        )


_PROPERTIES = ("target", "label", "format", "width", "height", "depth", "levels", "bytes", "content_hash")


def resources(a: Trace, b: Trace) -> Iterator[ResourceDifference]:
    """Compare the objects of two recordings (the table `resources`), by kind, in the order in which they were made.

    Objects of equal properties belong together wherever their names differ; of those left, the next ones do.
    """
    query = f"SELECT class, name, {', '.join(_PROPERTIES)} FROM resources ORDER BY class, created_seq, name"
    sides = [list(trace.sql(query)) for trace in (a, b)]
    for kind in sorted({str(row[0]) for side in sides for row in side}):
        one, other = ([row[1:] for row in side if row[0] == kind] for side in sides)
        keys = [[row[1:] for row in side] for side in (one, other)]
        matcher = difflib.SequenceMatcher(a=keys[0], b=keys[1], autojunk=False)
        for _, first, end, first_b, end_b in (op for op in matcher.get_opcodes() if op[0] != "equal"):
            mine, theirs = one[first:end], other[first_b:end_b]
            for was, now in zip(mine, theirs, strict=False):
                yield ResourceDifference(kind, _name(was), _name(now), tuple(_changes(was, now)))
            for was in mine[len(theirs) :]:
                yield ResourceDifference(kind, _name(was), None, tuple(_changes(was, None)))
            for now in theirs[len(mine) :]:
                yield ResourceDifference(kind, None, _name(now), tuple(_changes(None, now)))


def _name(row: tuple[Any, ...]) -> int:
    return int(row[0])


def _changes(was: tuple[object, ...] | None, now: tuple[object, ...] | None) -> Iterator[tuple[str, str, str]]:
    for i, name in enumerate(_PROPERTIES, 1):
        before, after = ("" if row is None or row[i] in (None, 0, "") else str(row[i]) for row in (was, now))
        if before != after:
            yield name, before, after


# ---- states ----------------------------------------------------------------------------------------------------------

# Native handles are other numbers in every run: they count in the order in which they came.
_HANDLE = re.compile(r"^([^\[]*)\[(0x[0-9a-f]{5,})\]")
_BOUND_SURFACE = re.compile(r"threads\[\d+\]\.(draw|read)$")


def states(a: Trace, seq_a: int, b: Trace, seq_b: int) -> list[tuple[str, str | None, str | None]]:
    """Return the state variables that differ: path, value after call `seq_a` of A, after call `seq_b` of B."""
    x, y = _state_at(a, seq_a), _state_at(b, seq_b)
    return [(path, x.get(path), y.get(path)) for path in sorted({*x, *y}) if x.get(path) != y.get(path)]


def _state_at(trace: Trace, seq: int) -> dict[str, str]:
    query = f"SELECT path, value, begin_seq FROM state WHERE begin_seq <= {seq} AND end_seq > {seq}"
    values = {str(path): (str(value), int(since)) for path, value, since in trace.sql(query).fetchall()}
    begun: dict[tuple[str, str], int] = {}
    for path, (_, since) in values.items():
        if match := _HANDLE.match(path):
            key = (match[1], match[2])
            begun[key] = min(since, begun.get(key, since))
    names: dict[tuple[str, str], str] = {}
    counts: dict[str, int] = {}
    for collection, handle in sorted(begun, key=lambda key: (key[0], begun[key], int(key[1], 16))):
        counts[collection] = counts.get(collection, 0) + 1
        names[collection, handle] = f"{collection}[*{counts[collection]}]"
    meant = {f'"{handle}"': name for (_, handle), name in names.items()}
    state = {}
    for path, (value, _) in values.items():
        match = _HANDLE.match(path)
        name = names[match[1], match[2]] + path[match.end() :] if match else path
        if not _BOUND_SURFACE.match(name):
            state[name] = meant.get(value) or ("an address" if _is_address(name, value) else value)
    return state


def _is_address(name: str, value: str) -> bool:
    # Arrays in the program's memory; offsets in buffers are smaller.
    if name.endswith("GL_VERTEX_BINDING_OFFSET"):
        return value.isdigit() and int(value) >= 1 << 32
    return re.fullmatch(r'"0x[0-9a-f]{5,}"', value) is not None
