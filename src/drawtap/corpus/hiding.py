"""Hide what pictures show: mix the colours of textures, and prove that the driver still does the same work.

Some textures steer: a look-up table, a height map, a mask. Mixed, they would change which fragments there are. So a
replay counts primitives and fragments of each frame, and a bisection finds textures that have to stay.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from drawtap.analysis.reduce import Budget, Script
from drawtap.corpus import engines, playing
from drawtap.corpus.texels import Mixer
from drawtap.corpus.vulkan_hiding import Texels
from drawtap.errors import ChildError, DrawtapError, UnavailableError, UsageError
from drawtap.metrics import listing, passes, profile
from drawtap.replay import player
from drawtap.scratch import Scratch
from drawtap.tables.recording import FrameRow
from drawtap.trace.apis import is_vulkan
from drawtap.trace.edit import edit
from drawtap.trace.trace import open_trace

if TYPE_CHECKING:
    from drawtap.trace.trace import Call, Trace

#: Tells whether a redacted recording may be handed on.
Holds = Callable[[Path], bool]
_COUNTED = ("geometry:primitives/*", "fragments:count/*")
_COUNTED_OF_VULKAN = ("vk:samples/samples_passed", "vk:pipeline/*")
_MOST_TRIALS = 200


@dataclass(frozen=True)
class Hidden:
    """The outcome: calls whose texels were mixed, and how many stay, by the reason."""

    mixed: int
    kept: Mapping[str, int]


def hide(named: Path, made: Path, key: bytes, holds: Holds | None, seconds: float) -> Hidden:
    """Write a recording with the colours of textures mixed and read-backs blanked, as many as `holds` allows.

    Raises DrawtapError where `holds` says no without any change of texels.
    """
    with open_trace(named) as trace:
        texels = Texels(trace) if is_vulkan(trace) else None
        mixed, kept = _mixed(trace, Mixer(key))
        blanked = _read_backs(trace)
    units = sorted(mixed) if texels is None else texels.units
    if texels is not None:
        kept += texels.kept

    def write(chosen: Sequence[int], path: Path) -> None:
        with edit(named) as editor:
            if texels is not None:
                texels.write(editor, chosen, key)
                editor.save(path, images=False)
                return
            for seq, parameter, content in blanked:
                editor.set(seq, **{parameter: content})
            for seq in chosen:
                parameter, content = mixed[seq]
                editor.set(seq, **{parameter: content})
            editor.save(path, images=False)

    if holds is None:
        write(units, made)
        return Hidden(len(units), dict(kept))
    good = _searched(units, holds, write, made, seconds)
    if len(good) < len(units):
        kept["steers what is drawn, or the time was over"] += len(units) - len(good)
    return Hidden(len(good), dict(kept))


def _searched(
    units: Sequence[int], holds: Holds, write: Callable[[Sequence[int], Path], None], made: Path, seconds: float
) -> set[int]:
    """Write the recording with the calls that can be mixed, found from coarse to fine, and return them."""
    good: set[int] = set()
    budget = Budget(seconds, _MOST_TRIALS)

    def tried(part: Sequence[int]) -> bool:
        write(sorted({*good, *part}), made)
        return holds(made)

    waiting = [list(units)] if units else []
    while waiting and budget.spend():
        part = waiting.pop()
        if tried(part):
            good.update(part)
        elif len(part) > 1:
            waiting += [part[len(part) // 2 :], part[: len(part) // 2]]
    if not tried(()):
        made.unlink(missing_ok=True)
        raise DrawtapError("the work of the driver is another, even with all texels as they were")
    return good


def _mixed(trace: Trace, mixer: Mixer) -> tuple[dict[int, tuple[str, bytes]], Counter[str]]:
    """Return new contents of uploads by call, with their parameter, and the number of those that stay, by reason."""
    mixed: dict[int, tuple[str, bytes]] = {}
    kept: Counter[str] = Counter()
    for function, parameter in _arrays(trace, inward=True):
        for (seq,) in trace.sql("SELECT seq FROM calls WHERE name = $name", {"name": function}).fetchall():
            call = trace.calls[int(seq)]
            content = _bytes(call, parameter)
            if content is None:
                if call.args.get(parameter):
                    kept["its texels stand in a buffer"] += 1
                continue
            size = (_number(call, "width"), _number(call, "height"), _number(call, "depth"))
            compressed = function.startswith("glCompressed")
            word = "format" if "format" in call.args else "dataFormat"
            word = "internalformat" if compressed and "internalformat" in call.args else word
            type_ = None if compressed else str(call.args.get("type", ""))
            new = mixer.mixed(content, size, str(call.args.get(word, "")), type_)
            if new is None:
                kept[f"{call.args.get(word) or function} has no colours, or a single one"] += 1
            else:
                mixed[int(seq)] = parameter, new
    return mixed, kept


def _arrays(trace: Trace, *, inward: bool) -> list[tuple[str, str]]:
    """Return functions that are called with images, and the parameter of each: uploads, or what read-backs filled."""
    rows = trace.sql(
        "SELECT DISTINCT p.function, p.name, p.direction FROM params p JOIN (SELECT DISTINCT name FROM calls) c"
        " ON c.name = p.function WHERE p.element IS NOT NULL AND (p.element = 'pixels'"
        " OR (p.function LIKE 'glCompressed%' AND p.name = 'data') OR (p.function LIKE 'vg%' AND p.name = 'data')"
        " OR (p.direction <> 'in' AND p.element = 'bytes')) ORDER BY ALL"
    ).fetchall()
    return [(str(f), str(name)) for f, name, direction in rows if (direction == "in") == inward]


def _read_backs(trace: Trace) -> list[tuple[int, str, bytes]]:
    read_backs = []
    for function, parameter in _arrays(trace, inward=False):
        for (seq,) in trace.sql("SELECT seq FROM calls WHERE name = $name", {"name": function}).fetchall():
            content = _bytes(trace.calls[int(seq)], parameter)
            if content:
                read_backs.append((int(seq), parameter, bytes(len(content))))
    return read_backs


def _bytes(call: Call, parameter: str) -> bytes | None:
    content = call.args.get(parameter)
    if isinstance(content, np.ndarray):
        content = content.tobytes()
    return bytes(content) if isinstance(content, bytes | bytearray | memoryview) else None


def _number(call: Call, name: str) -> int:
    value = call.args.get(name, 1)
    return value if isinstance(value, int) else 1


# ---- proofs ----------------------------------------------------------------------------------------------------------


class Work:
    """The work of a driver with a recording: primitives and fragments of each frame, calls, and errors."""

    def __init__(self, recording: Path, environment: Mapping[str, str]) -> None:
        """Play it. Raises UnavailableError where nothing can be counted here, and what `player.play` raises."""
        self._environment = environment
        with open_trace(recording) as trace:
            vulkan = is_vulkan(trace)
            self._frame_end = trace.frame_end
            draws = sum(row["draws"] or 0 for row in trace.table(FrameRow))
        known = [m for m in listing.chosen(listing.metrics(recording, environment=environment),
                                            _COUNTED_OF_VULKAN if vulkan else _COUNTED) if not m.missing]  # fmt: skip
        self._asked = [] if vulkan else ["--errors"]  # a call of Vulkan that fails ends the replay
        self._plan = passes.plan(recording, known, ["frame"], environment=environment, frame_end=self._frame_end)
        self.engine = ""
        self._counts, self._errors, self.frames = self._of(recording)
        if draws and not self._counts:
            raise UnavailableError("no primitive and no fragment was counted", hint="--on names another engine")

    def _of(self, path: Path) -> tuple[dict[tuple[int, str], object], object, int]:
        with open_trace(path, frame_end=self._frame_end) as trace:
            readings, self.engine = profile.readings(
                trace, self._plan, profile.ProfileOptions(images=False), environment=self._environment
            )
        played = player.play(path, self._asked, environment=self._environment)
        errors = sorted((f.call, f.function, f.text) for f in played.findings if f.what in ("gl-error", "vg-error"))
        counts = {(r.number, r.metric): (r.value, r.at_least, r.unknown_draws) for r in readings if r.per == "frame"}
        return (
            {at: value for at, value in counts.items() if any(value)},
            (played.calls, played.skipped, errors),
            (played.frames),
        )

    def same(self, path: Path) -> bool:
        """Tell whether another recording makes the same work."""
        try:
            return self._of(path) == (self._counts, self._errors, self.frames)
        except ChildError:
            return False


def oracle(text: str, file: Path | None) -> Holds:
    """Return what tells whether a recording has a property.

    `engines=A,B`: they draw a frame differently; `crash=A` (or another outcome): engine A ends so; else a command, `{}`
    in it the file, which exits with 0.
    """
    word, _, names = text.partition("=")
    if word == "engines" and names:
        wanted = [name.strip() for name in names.split(",")]
        if len(wanted) != 2:
            raise UsageError(f"{text!r} names no two engines", hint="engines=A,B")
        one, other = engines.named(wanted, file)

        def differ(path: Path) -> bool:
            played = [player.play(path, ["--hashes"], environment=e.environment).hashes for e in (one, other)]
            return played[0] != played[1]

        return differ
    if word in playing.FAILED and names:
        (bad,) = engines.named([names.strip()], file)

        def ends(path: Path) -> bool:
            with Scratch() as home:
                return playing.play(path, bad, playing.Limits(), Path(home)).outcome == word

        return ends

    def ran(path: Path) -> bool:
        def write(_: object, to: Path) -> None:
            shutil.copyfile(path, to)

        return Script(text, write).holds(np.zeros(0, np.bool_))

    return ran
