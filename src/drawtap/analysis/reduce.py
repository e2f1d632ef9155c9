"""Make a set of calls smaller while something stays true: delta debugging (Zeller & Hildebrandt 2002) over calls.

A subset is never tried as it is. Calls that lose their object go too, and so do calls that nothing needs any more (see
`trace.graph.Graph.closure`). So every trial is a trace that makes sense.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from operator import and_
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from drawtap import activity
from drawtap.errors import ChildError, InputError, UnavailableError, UsageError
from drawtap.replay import compare, engine, player
from drawtap.scratch import Scratch
from drawtap.trace.apis import is_vulkan
from drawtap.trace.core import Part, Row, write
from drawtap.trace.graph import packed
from drawtap.trace.ranges import frame_ends
from drawtap.trace.vulkan_past import StoredRows

if TYPE_CHECKING:
    from drawtap.trace.graph import Calls
    from drawtap.trace.trace import Trace

_WRONG = frozenset({"gl-error", "vg-error", "skipped", "argument", "content", "map", "context", "memory", "damaged"})
_SAME_PIXELS = 0.9  # share of the pixels in which two engines differed that must still differ

Problem = tuple[str, str, str]


@dataclass(frozen=True)
class Outcome:
    """The outcome of playing some calls: the hashes of the images that matter, and the errors."""

    images: tuple[str, ...]
    problems: frozenset[Problem]


@dataclass(frozen=True, slots=True)
class ShownImages:
    """The images that matter: of all `frames`, or (None) the one after `call`.

    `submit`: the call that executes a draw of Vulkan. Such a draw has an image for each of its colours.
    """

    frames: range | None
    call: int
    submit: int | None = None

    def among(self, keep: Calls, ends: Sequence[int]) -> ShownImages:
        """Return these images of a file with the calls of `keep` alone, by its own numbers; `ends`: of all frames."""
        if self.frames is None:
            submit = None if self.submit is None else int(keep[: self.submit].sum())
            return ShownImages(None, int(keep[: self.call].sum()), submit)
        kept = [frame for frame, seq in enumerate(ends) if keep[seq]]
        numbers = [number for number, frame in enumerate(kept) if frame in self.frames]
        return ShownImages(range(numbers[0], numbers[-1] + 1) if numbers else range(0), 0)


class Stage:
    """Plays parts of one trace on one engine: of Vulkan as files of their own, which have these calls alone.

    `stored`: returns which rows of `map_writes` come with a set of calls (None: those right before them). `rows`: the
    rows of `memory_writes` and `device_writes` that may come with calls of Vulkan, one bit a row (None: any).
    """

    def __init__(
        self,
        trace: Trace,
        shown: ShownImages,
        engine_name: str,
        *,
        stored: Callable[[Calls], npt.NDArray[np.uint8]] | None = None,
        rows: tuple[bytes, bytes] | None = None,
    ) -> None:
        self.trace = trace
        self.stored = stored
        self.shown = shown
        self.engine = engine_name
        self.renderer = ""
        self.rounds = 0
        self._counting = threading.Lock()
        self._environment = engine.environment_of(engine_name)
        self._vulkan = is_vulkan(trace)
        self._asked = () if self._vulkan else ("--errors",)
        self._ends = frame_ends(trace) if self._vulkan else []
        self._rows: StoredRows | None = None
        self._among = rows

    def play(self, keep: Calls | None) -> Outcome | None:
        """Play the calls of `keep` (None: all). None where the player or its driver did not survive it."""
        with Scratch() as folder:
            image = Path(folder) / "image.png"
            shown = self.shown_in(keep)
            played = self._played(keep, Path(folder), [*self._asked, *self._wanted(image, shown)])
            if played is None:
                return None
            hashes = self._hashes(played, image, shown)
        problems = frozenset((f.what, f.function, f.text) for f in played.findings if f.what in _WRONG)
        return Outcome(hashes, problems)

    def reference(self) -> Outcome:
        """Play all calls. Raises UnavailableError where they cannot be played to the end, or show no image."""
        reference = self.play(None)
        if reference is None:
            raise UnavailableError(
                "the recording itself cannot be played to its end here", hint="drawtap replay says where; --no-verify"
            )
        if not reference.images:
            hint = "--no-verify writes the cut without comparing anything"
            if self._vulkan and self.shown.frames is not None:
                hint = "these frames present nothing: --calls or --draws compares the image after the last draw"
            raise UnavailableError("there is no image to compare", hint=hint)
        return reference

    def image(self, keep: Calls | None) -> compare.Image | None:
        """Return the last of the images that matter, as it is with the calls of `keep`."""
        with Scratch() as folder:
            at = Path(folder) / "image.png"
            shown = self.shown_in(keep)
            wanted = self._wanted(at, shown)
            if (frames := shown.frames) is not None:
                if not frames:
                    return None  # they are not among the calls of `keep`
                wanted = ["--frames", f"{frames.stop - 1}:{frames.stop}", "--snapshots", f"{folder}/f"]
            played = self._played(keep, Path(folder), wanted)
            files = [] if played is None else sorted(Path(folder).glob("*.png"))
            return compare.read_png(files[-1]) if files else None

    def errors(self, keep: Calls | None) -> frozenset[tuple[int, str, str]]:
        """Return the GL errors: call, function, which."""
        with Scratch() as folder:
            played = self._played(keep, Path(folder), ["--errors"])
        findings = played.findings if played is not None else ()
        return frozenset((f.call, f.function, f.text) for f in findings if f.what == "gl-error")

    def shown_in(self, keep: Calls | None) -> ShownImages:
        """Return which images of the calls of `keep` are those that matter, by the numbers of what is played."""
        return self.shown if keep is None or not self._vulkan else self.shown.among(keep, self._ends)

    def _wanted(self, image: Path, shown: ShownImages) -> list[str]:
        if shown.submit is not None:
            at = f"calls:{shown.call}@{shown.submit}"
            return ["--snapshots", f"{image.parent}/", "--snapshot-at", at]
        if shown.frames is None:
            return ["--image", str(shown.call), str(image)]
        return ["--frames", f"{shown.frames.start}:{shown.frames.stop}", "--hashes"] if shown.frames else []

    def _hashes(self, played: player.Replay, image: Path, shown: ShownImages) -> tuple[str, ...]:
        if shown.frames is not None:
            return tuple(played.hashes[frame] for frame in sorted(played.hashes) if frame in shown.frames)
        if shown.submit is not None:
            return tuple(image_hash(each) for each in sorted(image.parent.glob("*.png")))
        return (image_hash(image),) if image.exists() else ()

    def write(self, keep: Calls, path: Path, annotation: Row | None = None) -> Row:
        """Write these calls of a recording of Vulkan, with what was stored in memory that they make."""
        return write([self.part(keep)], path, annotation=annotation)

    def part(self, keep: Calls, images: Calls | None = None) -> Part:
        """Return these calls of a recording of Vulkan to be written. `images`: calls whose image is the program's."""
        with self._counting:
            self._rows = self._rows or StoredRows(self.trace)
        memory, device = self._rows.of(keep)
        if self._among is not None:
            memory, device = (bytes(map(and_, *both)) for both in zip((memory, device), self._among, strict=True))
        shown = None if images is None else packed(images).tobytes()
        return Part(self.trace.core, keep=packed(keep).tobytes(), keep_images=shown, stored=(memory, device))

    def _played(self, keep: Calls | None, folder: Path, arguments: Sequence[str]) -> player.Replay | None:
        """Play the calls of `keep`. None where that is no recording that plays: it was a trial."""
        with self._counting:
            self.rounds += 1
        rule = [] if self.trace.frame_end == "auto" else ["--frame-end", self.trace.frame_end]
        kept: list[str] = []
        path = self.trace.path
        if keep is not None and self._vulkan:
            path = folder / "trial.dtap"
            self.write(keep, path)
        elif keep is not None:
            bits = folder / "keep.bits"
            bits.write_bytes(packed(keep).tobytes() + (self.stored(keep).tobytes() if self.stored else b""))
            kept = ["--keep", str(bits)]
        try:
            played = player.play(path, [*arguments, *kept, *rule], environment=self._environment)
        except ChildError:
            return None
        except (InputError, UnavailableError):
            if keep is None or not self._vulkan:
                raise
            return None  # the player says by name what calls of Vulkan lack
        if keep is None:  # few calls may not even make a context
            self.renderer = played.engine
        return played


def images_in(path: Path, like: Trace, shown: ShownImages, on: str) -> tuple[str, ...]:
    """Return the hashes of images of a file whose frames end as those of `like`; none where it does not play."""
    from drawtap.trace.trace import open_trace

    if shown.frames is not None and not shown.frames:
        return ()
    with open_trace(path, frame_end=None if like.frame_end == "auto" else like.frame_end) as trace:
        outcome = Stage(trace, shown, on).play(None)
    return outcome.images if outcome is not None else ()


def image_hash(image: Path) -> str:
    """Return a hash of the pixels of one of the player's PNGs."""
    pixels = compare.read_png(image)
    head = f"{pixels.shape[1]}x{pixels.shape[0]}:".encode()
    return hashlib.sha256(head + pixels.tobytes()).hexdigest()[:32]


# ---- what has to stay true -------------------------------------------------------------------------------------------


class Oracle(Protocol):
    """Something that has to stay true of the calls that are kept. Asking it takes a replay, or longer."""

    @property
    def about(self) -> str:
        """Say what it is."""
        ...

    @property
    def together(self) -> bool:
        """Tell whether it answers several questions at once."""
        ...

    def holds(self, keep: Calls) -> bool:
        """Tell whether it is so with these calls alone."""
        ...


class SamePixels:
    """The images are the same, and (`clean`) nothing goes wrong that did not go wrong before."""

    def __init__(self, stage: Stage, reference: Outcome, *, clean: bool = True) -> None:
        self._stage = stage
        self._reference = reference
        self._clean = clean

    about = "same pixels"
    together = True

    def holds(self, keep: Calls) -> bool:
        """Play and compare."""
        now = self._stage.play(keep)
        if now is None or now.images != self._reference.images:
            return False
        return not self._clean or now.problems <= self._reference.problems


class SameError:
    """A call still raises the GL error that it raised."""

    together = True

    def __init__(self, stage: Stage, error: tuple[int, str, str]) -> None:
        self._stage = stage
        self.error = error

    @property
    def about(self) -> str:
        """Name the error."""
        call, function, text = self.error
        return f"call {call} {function}: {text.partition(';')[0]}"

    def holds(self, keep: Calls) -> bool:
        """Play and look for it."""
        return bool(keep[self.error[0]]) and self.error in self._stage.errors(keep)


class SameDifference:
    """Two engines still differ where they differed."""

    together = True

    def __init__(self, one: Stage, other: Stage) -> None:
        self._stages = (one, other)
        self._mask = self._differing(None)
        self.about = f"{one.engine} and {other.engine} still differ"
        if self._mask is None or not self._mask.any():
            raise UsageError(f"{one.engine} and {other.engine} draw the same image: there is no difference to keep")

    def holds(self, keep: Calls) -> bool:
        """Play on both: most of the pixels that differed must still do."""
        now = self._differing(keep)
        assert self._mask is not None
        if now is None or now.shape != self._mask.shape:
            return False
        return float((now & self._mask).sum()) >= _SAME_PIXELS * float(self._mask.sum())

    def _differing(self, keep: Calls | None) -> Calls | None:
        one, other = (stage.image(keep) for stage in self._stages)
        if one is None or other is None or one.shape != other.shape:
            return None
        differing: Calls = (one != other).any(axis=2)
        return differing


class Asked:
    """A function says yes to a file with the calls that are kept. Several threads may call it."""

    together = True

    def __init__(self, about: str, ask: Callable[[Path], bool], write: Callable[[Calls, Path], object]) -> None:
        self.about, self._ask, self._write = about, ask, write

    def holds(self, keep: Calls) -> bool:
        """Write the trace and ask about it."""
        with Scratch() as folder:
            path = Path(folder) / "trial.dtap"
            self._write(keep, path)
            return self._ask(path)


class Script(Asked):
    """A command of the user's ends with 0; `{}` in it stands for the file with the calls that are kept."""

    together = False  # the command may write files of its own

    def __init__(self, command: str, write: Callable[[Calls, Path], object]) -> None:
        super().__init__(command, self._run, write)
        self._words = shlex.split(command)
        if not self._words:
            raise UsageError("the oracle's command is empty")
        if not any("{}" in word for word in self._words):
            self._words.append("{}")

    def _run(self, path: Path) -> bool:
        words = [word.replace("{}", str(path)) for word in self._words]
        try:
            done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        except OSError as error:
            raise UsageError(f"{words[0]} cannot be run: {error.strerror}") from None
        return done.returncode == 0


# ---- the search ------------------------------------------------------------------------------------------------------


@dataclass
class Budget:
    """A budget: seconds, and trials."""

    seconds: float
    trials: int = 1_000_000
    _started: float = field(default_factory=time.monotonic)

    def spend(self) -> bool:
        """Take one trial from it; False: there is none left."""
        if self.spent:
            return False
        self.trials -= 1
        return True

    @property
    def spent(self) -> bool:
        """Tell whether nothing is left of it."""
        return self.trials <= 0 or self.elapsed >= self.seconds

    @property
    def elapsed(self) -> float:
        """Return the seconds since it was made."""
        return time.monotonic() - self._started


@dataclass(frozen=True)
class Reduction:
    """The outcome of a search: the calls that are left; `minimal`: no unit of them can go; `trials` made.

    `ahead`: how many trials are missing at least where the budget ended it, and `seconds_ahead` what they take.
    """

    keep: Calls
    minimal: bool
    trials: int
    ahead: int = 0
    seconds_ahead: float = 0.0


class _Spent(Exception):
    """The budget is spent."""


class Reducer:
    """Removes units (calls that come and go together) from `keep` as long as the oracle lets go.

    `without(keep, removed)` returns what is left of `keep` without these calls. `on_line` gets a line about the
    progress, every few seconds. Trials with a known outcome are not repeated. If the oracle allows it, all processors
    run trials at once: most trials fail, so trials ahead are seldom wasted.
    """

    def __init__(
        self,
        keep: Calls,
        without: Callable[[Calls, Calls], Calls],
        oracle: Oracle,
        *,
        budget: Budget,
        on_line: Callable[[str], None] = lambda _: None,
        every_s: float = 60.0,
    ) -> None:
        self.keep = keep
        self.trials = 0
        self._without = without
        self._oracle = oracle
        self._budget = budget
        self._on_line = on_line
        self._every_s = every_s
        self._removed = np.zeros_like(keep)
        self._refused: set[bytes] = set()  # hashes of sets of calls for which the oracle does not hold
        self._began = budget.elapsed
        self._due = self._began + every_s
        self._at_once = _processors() if oracle.together else 1

    def remove(self, units: Sequence[Sequence[int]], *, once: bool = False) -> Reduction:
        """Remove what can go: large groups first, then single units, until none can (`once`: each is tried once)."""
        left = self._standing(units)
        size = max(len(left), 1)
        try:
            with activity.step("minimizing"), ThreadPoolExecutor(self._at_once) as pool:
                while size > 1:
                    left = self._round(pool, left, size)
                    size = max(min(size, len(left)) // _FINER, 1)
                left = self._round(pool, left, 1)
                while left and not once and not self._settled(pool, left):
                    left = self._standing(left)
        except _Spent as spent:
            ahead = int(spent.args[0])
            return Reduction(self.keep, False, self.trials, ahead, ahead * self._pace())
        return Reduction(self.keep, True, self.trials)

    def _standing(self, units: Sequence[Sequence[int]]) -> list[Sequence[int]]:
        return [unit for unit in units if self.keep[list(unit)].any()]

    def _round(self, pool: Executor, left: Sequence[Sequence[int]], size: int) -> list[Sequence[int]]:
        """Try to leave out each group of `size` units, and return the units that still stand."""
        groups = list(_chunks(left, size))
        at = 0
        while at < len(groups):
            at = self._step(pool, groups, at, _trials_ahead(len(left), size, at))
        return self._standing(left)

    def _settled(self, pool: Executor, left: Sequence[Sequence[int]]) -> bool:
        """Go round the units until one can go (False), or none of them can (True). No known answer is tried."""
        units = list(_chunks(left, 1))
        at, before = 0, int(self.keep.sum())
        while at < len(units):
            at = self._step(pool, units, at, len(units) - at)
        return int(self.keep.sum()) == before

    def _step(self, pool: Executor, groups: Sequence[Sequence[Sequence[int]]], at: int, ahead: int) -> int:
        """Try the groups from `at` on, some at once, and return where to go on."""
        tried: list[tuple[int, Calls, Calls]] = []
        while at < len(groups) and len(tried) < self._at_once:
            chosen, now = self._less(groups[at])
            if not np.array_equal(now, self.keep) and _key(now) not in self._refused:
                tried.append((at, chosen, now))
            at += 1
        if not tried:
            return at
        self._pay(len(tried), ahead)
        # All are waited for: what is refused with more calls is known, and a later group is tried again without them.
        answers = list(pool.map(self._oracle.holds, [now for _, _, now in tried]))
        self._refused.update(_key(now) for (_, _, now), held in zip(tried, answers, strict=True) if not held)
        for (number, chosen, now), held in zip(tried, answers, strict=True):
            if held:
                self.keep, self._removed = now, chosen
                return number + 1
        return at

    def _less(self, units: Sequence[Sequence[int]]) -> tuple[Calls, Calls]:
        chosen = self._removed.copy()
        for unit in units:
            chosen[list(unit)] = True
        return chosen, self._without(self.keep, chosen)

    def _pay(self, trials: int, ahead: int) -> None:
        if self._budget.elapsed >= self._due:
            self._due = self._budget.elapsed + self._every_s
            so_far = f"after {self._budget.elapsed:.0f} s {int(self.keep.sum())} calls are left"
            self._on_line(f"{so_far}; at least {ahead} more trials, about {ahead * self._pace():.0f} s")
        for _ in range(trials):
            if not self._budget.spend():
                raise _Spent(ahead)
        self.trials += trials

    def _pace(self) -> float:
        return (self._budget.elapsed - self._began) / max(self.trials, 1)


_FINER = 4  # groups of a round are this many times smaller than groups of the round before


def _processors() -> int:
    return max(1, min(len(os.sched_getaffinity(0)), 8))


def _key(calls: Calls) -> bytes:
    return hashlib.blake2b(packed(calls).tobytes(), digest_size=16).digest()


def _trials_ahead(units: int, size: int, done: int) -> int:
    """Return how many trials are left where no more units can go: in this round, and in those of smaller groups."""
    ahead = -(-units // size) - done
    while size > 1:
        size = max(min(size, units) // _FINER, 1)
        ahead += -(-units // size)
    return ahead


def _chunks(units: Sequence[Sequence[int]], size: int) -> Iterator[Sequence[Sequence[int]]]:
    # From the end: what comes late is needed by less.
    for end in range(len(units), 0, -size):
        yield units[max(end - size, 0) : end]


def first_missed(oracle: Oracle, keep: Calls, order: npt.NDArray[np.intp], *, budget: Budget) -> int:
    """Return the call of `order` with which the oracle first holds, calls being added to `keep` in that order.

    It holds with all of them and not without any. Found by bisection; with the budget spent, some call that does.
    """
    low, high = 0, len(order)
    while high - low > 1 and budget.spend():
        middle = (low + high) // 2
        trial = keep.copy()
        trial[order[:middle]] = True
        if oracle.holds(trial):
            high = middle
        else:
            low = middle
    return int(order[high - 1])
