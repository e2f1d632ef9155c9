"""Figure 11 of Tsuboi et al. (GLACI): a program of class high comes beside one of low class, on one core.

`python -m bench --only figure11` measures (ten runs of each policy in under six minutes) and stores what it saw;
`python -m bench.figure11` makes the picture of docs/benchmarks.md from that and prints the lines of its table.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.managed import alone, favoured, last_core, manager, tap
from bench.measure import BenchError
from bench.row import Goal, Row
from bench.setup import ROOT, Setup
from drawtap.errors import UnavailableError
from drawtap.live.observer import Observer
from drawtap.output.rates import Curve, RatesPage, render

GROUP = "Figure 11"
TARGET = 60.0
# With software rendering the paper's scenes show a frame a second (terrain) and fourteen (refract): these take their
# places, a heavy one and a light one. The high program begins and ends as in the paper.
_SCENES = {"highone": "jellyfish", "lowone": "shading:shading=phong"}
# What each shows alone on the core, by the size of its window, so that every machine is asked the same question. The
# kernel gives the low program the larger part of the core, as a GPU does that draws what came first: the high one gets
# a quarter of it, far too little for the target, while the whole core is thrice what that takes. So neither a machine
# that becomes faster after the sizes were found, nor one that halves its pace for a while, decides the outcome.
_ALONE_FPS = {"highone": 180.0, "lowone": 420.0}
_NICE = {"highone": 5, "lowone": 0}
_PROBED = ((160, 120), (480, 360))
_LEAST_PIXELS = 80 * 60
_BEGIN_S, _END_S, _SECONDS = 3.0, 11.0, 12.5
_SETTLED_S = 2.0  # of the contended part, in which a policy may find its limits
PROGRAMS = f"""
[[program]]
name = "highone"
class = "high"
target = {TARGET:g}
[[program]]
name = "lowone"
class = "background"
"""
_POLICIES = ("none", "static", "adaptive")
_STORE = ROOT / "bench" / "results" / "figure11.json"
_PICTURE = ROOT / "docs" / "images" / "figure11.png"
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True)
class Run:
    """One run: times of frames since its start in s, and sizes of windows, by program."""

    policy: str
    frames: Mapping[str, np.ndarray]
    sizes: Mapping[str, str]

    def fps(self, program: str, begin: float, end: float) -> float:
        """Return frames a second between two times."""
        first, last = np.searchsorted(self.frames[program], (begin, end))
        return float(last - first) / (end - begin)

    @property
    def contended(self) -> tuple[float, float]:
        """Return the time in which both showed frames, less its first seconds and last half second."""
        high = self.frames["highone"]
        return float(high[0]) + _SETTLED_S, float(high[-1]) - 0.5


def rows(setup: Setup) -> Iterator[Row]:
    """Run both programs under each policy, in turn, and count the runs in which the high one reached its target."""
    if not shutil.which("glmark2-es2"):
        yield Row(GROUP, "not measured", "", note="glmark2-es2 is not installed")
        return
    rounds = 3 if setup.quick else 10
    found: dict[str, list[Run]] = {name: [] for name in _POLICIES}
    with setup.display() as display, favoured():
        sizes = {name: _fitting_size(setup, name, display) for name in _SCENES}
        for number in range(rounds):
            for name in _POLICIES:
                if name != "none" or number < 3:  # what is without a policy is known soon
                    found[name].append(_run(setup, name, sizes, display))
    _STORE.parent.mkdir(exist_ok=True)
    _STORE.write_text(
        json.dumps(
            [
                {"policy": r.policy, "sizes": dict(r.sizes), **{k: v.tolist() for k, v in r.frames.items()}}
                for runs in found.values()
                for r in runs
            ]
        )
    )
    _STORE.with_suffix(".html").write_text(page(found))
    for name in _POLICIES:
        high = [r.fps("highone", *r.contended) for r in found[name]]
        low = [r.fps("lowone", *r.contended) for r in found[name]]
        missed = [number for number, fps in enumerate(high) if not is_reached(fps)]
        goal = Goal(least=rounds, unit="") if name != "none" else Goal()
        note = (
            f"high {statistics.median(high):.1f} FPS ({min(high):.1f} to {max(high):.1f}), "
            f"low {statistics.median(low):.1f} ({min(low):.1f} to {max(low):.1f})"
        )
        if missed and name != "none":
            note += f"; missed in run {', '.join(f'{n + 1} ({high[n]:.1f})' for n in missed)}"
        samples = {"high": high, "low": low}
        title = f"{name}: high one at {TARGET:g} FPS"
        reached = float(len(high) - len(missed))
        yield Row(GROUP, title, f"of {len(high)} runs", reached, goal=goal, note=note, samples=samples)


def is_reached(fps: float) -> bool:
    """Tell whether the high program shows its target, but for the rounding of a window."""
    return fps >= 0.98 * TARGET


def page(found: Mapping[str, Sequence[Run]]) -> str:
    """Return a page with the frame rates of the first run under each policy, and the figures of all runs.

    Runs in which a policy missed the target follow, so that they can be looked at.
    """
    names = {"highone": "class high, target 60", "lowone": "class background"}
    shown = [(policy, runs[0]) for policy, runs in found.items()]
    for policy, runs in found.items():
        rates = [run.fps("highone", *run.contended) for run in runs]
        missed = [n for n, fps in enumerate(rates) if n and policy != "none" and not is_reached(fps)]
        shown += [(f"{policy}, run {n + 1}: {rates[n]:.1f} FPS", runs[n]) for n in missed]
    charts = [(name, "", [_curve(run, key, label) for key, label in names.items()]) for name, run in shown]
    table = []
    for policy, runs in found.items():
        for key, label in names.items():
            rates = [r.fps(key, *r.contended) for r in runs]
            reached = f"{sum(map(is_reached, rates))} of {len(rates)}" if key == "highone" else ""
            table.append(
                (policy, label, f"{statistics.median(rates):.1f}", f"{min(rates):.1f}", f"{max(rates):.1f}", reached)
            )
    which = "the first run of each" + (", and those that missed" if len(shown) > len(found) else "")
    high, low = (f"{_SCENES[name]} ({shown[0][1].sizes[name]})" for name in ("highone", "lowone"))
    text = f"{high} beside {low} of glmark2-es2, software rendering on one core; {which}"
    columns = ("policy", "program", "FPS, median", "least", "most", "runs at the target")
    return render(RatesPage("Figure 11, again", text, charts, _SECONDS, columns, table))


def _curve(run: Run, program: str, label: str) -> Curve:
    edges = np.arange(0, _SECONDS + 0.25, 0.5)
    counts = np.histogram(run.frames[program], edges)[0]
    points = [(float(t), float(c) / 0.5) for t, c in zip(edges[:-1], counts, strict=True)]
    return Curve(label, points, TARGET if program == "highone" else None)


class _Stage:
    """Programs on one core whose frames are counted from outside."""

    def __init__(self, setup: Setup, environment: Mapping[str, str]) -> None:
        self.start = time.monotonic()
        self._setup = setup
        self._environment = {k: v for k, v in {**os.environ, **environment, "LP_NUM_THREADS": "0"}.items() if v}
        self._names: dict[int, str] = {}
        self._running: list[subprocess.Popen[bytes]] = []
        self._kept: dict[str, list[np.ndarray]] = {}
        try:
            self._observer = Observer()
        except UnavailableError as error:
            raise BenchError(f"frames are counted from outside, and that cannot be done here: {error}") from None

    def __enter__(self) -> _Stage:
        return self

    def __exit__(self, *_: object) -> None:
        for child in self._running:
            child.kill()
            child.wait()
        self._observer.close()

    def launch(self, name: str, size: str) -> subprocess.Popen[bytes]:
        """Start a program, with a window of `size`."""
        command = [str(_copy(self._setup, name)), "--size", size, "-b", f"{_SCENES[name]}:duration=60"]
        null = subprocess.DEVNULL
        child = subprocess.Popen(command, env=self._environment, preexec_fn=_placed(name), stdout=null, stderr=null)  # noqa: PLW1509
        self._names[child.pid] = name
        self._running.append(child)
        return child

    def wait(self) -> float:
        """Let a little time pass and take what frames ended; return the seconds since the start."""
        time.sleep(0.05)
        for pid, times in self._observer.take().items():
            if pid in self._names:
                self._kept.setdefault(self._names[pid], []).append(times / 1e9)
        return time.monotonic() - self.start

    def frames(self) -> dict[str, np.ndarray]:
        """Return when frames ended, in s since the start, by program."""
        frames = {
            name: np.concatenate(self._kept.get(name) or [np.empty(0)]) - self.start for name in self._names.values()
        }
        if any(len(times) < 30 for times in frames.values()):
            raise BenchError(f"a program showed no frames: { {n: len(t) for n, t in frames.items()} }")
        return frames


def _fitting_size(setup: Setup, name: str, display: Mapping[str, str]) -> str:
    """Return the size of window at which a program alone shows `_ALONE_FPS`.

    A frame costs so much, and so much a pixel: two sizes are measured.
    """
    costs = []
    for width, height in _PROBED:
        with _Stage(setup, {**display, **dict(alone()), "LD_PRELOAD": tap()}) as stage:
            stage.launch(name, f"{width}x{height}")
            while stage.wait() < 3.0:
                pass
            times = stage.frames()[name]
        costs.append(float(np.median(np.diff(times[times > times[0] + 0.5]))))
    (small, large), pixels = costs, [width * height for width, height in _PROBED]
    per_pixel = (large - small) / (pixels[1] - pixels[0])
    wanted = pixels[0] + (1 / _ALONE_FPS[name] - small) / per_pixel if per_pixel > 0 else 0
    # A background program that is slower is one nevertheless; the other could not reach its target.
    if wanted < _LEAST_PIXELS and name == "highone":
        raise BenchError(f"{_SCENES[name]} shows {1 / small:.0f} FPS at {_PROBED[0][0]}x{_PROBED[0][1]}: too slow here")
    width = round((max(wanted, _LEAST_PIXELS) * 4 / 3) ** 0.5)
    return f"{width}x{round(width * 3 / 4)}"


def _run(setup: Setup, policy: str, sizes: Mapping[str, str], display: Mapping[str, str]) -> Run:
    options = () if policy == "none" else ("--policy", policy)
    with (
        manager(setup.scratch / "figure11", PROGRAMS, *options) as managed,
        _Stage(setup, {**display, **managed, "LD_PRELOAD": tap()}) as stage,
    ):
        stage.launch("lowone", sizes["lowone"])
        high: subprocess.Popen[bytes] | None = None
        while (now := stage.wait()) < _SECONDS:
            if high is None and now >= _BEGIN_S:
                high = stage.launch("highone", sizes["highone"])
            elif high is not None and now >= _END_S and high.poll() is None:
                high.kill()
                high.wait()
        return Run(policy, stage.frames(), sizes)


def _copy(setup: Setup, name: str) -> Path:
    # A file of its own: programs are told apart by the file that runs.
    path = setup.scratch / name
    if not path.exists():
        shutil.copy(shutil.which("glmark2-es2") or "", path)
    return path


def _placed(name: str) -> Callable[[], None]:
    core = last_core()

    def place() -> None:
        os.sched_setaffinity(0, {core})
        os.nice(_NICE[name])

    return place


def _stored() -> dict[str, list[Run]]:
    found: dict[str, list[Run]] = {}
    for entry in json.loads(_STORE.read_text()):
        frames = {name: np.asarray(entry[name]) for name in ("highone", "lowone")}
        found.setdefault(entry["policy"], []).append(Run(entry["policy"], frames, entry["sizes"]))
    return found


def main() -> int:
    """Make the picture of the documentation from what was measured last, and print the lines of its table."""
    if not _STORE.exists():
        print("nothing was measured yet: python -m bench --only figure11", file=sys.stderr)
        return 1
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        print("the picture needs chromium", file=sys.stderr)
        return 1
    found = _stored()
    with tempfile.TemporaryDirectory(prefix="drawtap-bench-") as folder:
        source = Path(folder) / "figure11.html"
        text = page(found)
        source.write_text(text)
        height = 920 + 235 * ((text.count("<svg") + 1) // 2 - 2)  # two charts stand beside each other
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size=1240,{height}"]
        command = [browser, *options, f"--screenshot={_PICTURE}", source.as_uri()]
        subprocess.run(command, capture_output=True, timeout=120, check=True)
    for policy, runs in found.items():
        cells = [policy]
        for program in ("highone", "lowone"):
            rates = [r.fps(program, *r.contended) for r in runs]
            cells.append(f"{statistics.median(rates):.1f} ({min(rates):.1f} to {max(rates):.1f})")
        reached = sum(is_reached(r.fps("highone", *r.contended)) for r in runs)
        print("| " + " | ".join([*cells, f"{reached} of {len(runs)}"]) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
