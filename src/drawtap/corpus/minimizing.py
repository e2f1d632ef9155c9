"""Make a recording that a build fails with as small as it can be, by what failed.

The newest verdict says what that is. Images that differ from another build's must still differ; a crash, a hang or a
lack of memory must still happen at the same function; a GL error must still be raised; a rejected image must still be
drawn. The minimal recording goes into the corpus.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drawtap.analysis.extract import Cut, Cutter, ExtractOptions, target
from drawtap.corpus import playing
from drawtap.corpus.adding import Adder, restore
from drawtap.corpus.playing import Limits
from drawtap.corpus.resets import turn
from drawtap.corpus.search import Corpus
from drawtap.errors import QueryError, UsageError
from drawtap.replay import engine
from drawtap.scratch import Scratch
from drawtap.trace.trace import open_trace

if TYPE_CHECKING:
    from drawtap.corpus.engines import Engine
    from drawtap.corpus.store import Store

_ENDED = ("crash", "hang", "oom", "device-lost")


@dataclass(frozen=True)
class Minimized:
    """A minimal recording: its id, its label, and how many of the calls it has.

    `minimal`: no call of it can go; False: the time was over. `start` is the recording that the search began with.
    """

    trace: str
    label: str
    oracle: str
    start: str
    id: str
    calls: int
    before: int
    minimal: bool
    trials: int


def minimize(
    store: Store,
    trace: str,
    new: Engine,
    base: Engine | None,
    *,
    seconds: float,
    limits: Limits,
    on_line: Callable[[str], None] = lambda _: None,
) -> Minimized:
    """Make a recording small that `new` fails with, and add it to the corpus with the tags minimal_of and fails.

    Raises UsageError where no verdict says that it fails, or its label is none that a search can keep.
    """
    with Corpus(store) as tables:
        verdict = _verdict(tables, trace, new)
    label = str(verdict["label"])
    starts = [*([str(verdict["cut"])] if verdict["cut"] in store.recordings() else []), trace]
    why: QueryError | UsageError | None = None
    with Scratch() as name:
        for start in starts:  # the frame alone may not fail: then the whole recording is tried
            path, out = Path(name) / f"{start[:12]}.dtap", Path(name) / f"{trace[:12]}-minimal.dtap"
            restore(store, start, path)
            wish = _wish(verdict, new, base, limits, Path(name), whole=start == trace)
            try:
                cut = _cut(path, wish, out, seconds, on_line)
            except (QueryError, UsageError) as error:
                why = error
                continue
            tags = {"minimal_of": trace[:12], "fails": new.name, "label": label}
            added = Adder(store).add(out, tags)
            reduction = cut.reduction
            assert reduction is not None
            return Minimized(
                trace, label, wish.oracle, start, added.id, int(cut.keep.sum()), cut.source_calls,
                reduction.minimal, reduction.trials,
            )  # fmt: skip
    raise UsageError(f"{trace[:12]} does not fail on {new.name} any more: {why.message if why else ''}",
                     hint=f"drawtap corpus verdict {trace[:12]} --new {new.name} judges it anew")  # fmt: skip


def _verdict(tables: Corpus, trace: str, new: Engine) -> Mapping[str, Any]:
    rows = tables.rows(
        "SELECT * FROM verdicts WHERE trace = ? AND engine = ? AND kind = 'images' ORDER BY judged DESC LIMIT 1",
        (trace, new.key),
    )
    if not rows:
        hint = f"drawtap corpus verdict {trace[:12]} --new {new.name}"
        raise UsageError(f"nothing was judged of {trace[:12]} on {new.name}", hint=hint)
    return rows[0]


@dataclass(frozen=True)
class _Wish:
    """Properties that have to stay: the name of the oracle, the engine, the frame or the calls that matter."""

    oracle: str
    on: str
    engines: Mapping[str, Mapping[str, str]]
    frame: int | None
    last: int | None = None
    ask: Callable[[Path], bool] | None = None


def _wish(
    verdict: Mapping[str, Any], new: Engine, base: Engine | None, limits: Limits, folder: Path, *, whole: bool
) -> _Wish:
    label, frame = str(verdict["label"]), verdict["frame"] if whole else 0
    lent = {one.name: one.environment for one in (new, base) if one is not None}
    if label == "differs":
        if base is None:
            raise UsageError("differs from what?", hint="--base ENGINE, as in the verdict")
        return _Wish(f"engines={base.name},{new.name}", base.name, lent, frame)
    if label == "rejected":
        return _Wish("pixels", new.name, lent, frame)
    if label == "gl-error":
        return _Wish("gl-error", new.name, lent, None, verdict["first_seq"])
    if label in _ENDED:
        function = verdict["function"]

        def still(path: Path) -> bool:
            alone = label == "device-lost"  # it would take others with it
            with tempfile.TemporaryDirectory(dir=folder) as home, turn(alone=alone):
                run = playing.play(path, new, limits, Path(home), alone=alone)
            return run.outcome == label and (
                run.last_seq is None or playing.function_of(path, run.last_seq) == function
            )

        about = f"{label} in {function}" if function else label
        return _Wish(about, new.name, lent, None, verdict["first_seq"], still)
    hint = "differs, rejected, gl-error, crash, hang, oom and device-lost can be kept"
    raise UsageError(f"there is no failure to keep: {verdict['name']} is {label}", hint=hint)


def _cut(path: Path, wish: _Wish, out: Path, seconds: float, on_line: Callable[[str], None]) -> Cut:
    with engine.lent(wish.engines), open_trace(path) as trace:
        if wish.frame is not None:
            wanted = target(trace, frames=str(wish.frame))
        else:
            end = trace.call_count if wish.last is None else min(int(wish.last) + 1, trace.call_count)
            wanted = target(trace, calls=f"0:{end}")
        pixels = wish.oracle == "pixels"
        options = ExtractOptions(wish.on, pixels, minimize=True, oracle=wish.oracle, seconds=seconds, ask=wish.ask)
        return Cutter(trace, on_line=on_line).cut(wanted, out, options)
