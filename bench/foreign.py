"""Whether fixed-function programs of others play again and cut exactly: `python -m bench foreign`.

What is installed of xscreensaver-gl, xscreensaver-gl-extra, rss-glx and mesa-utils and calls fixed function is recorded
for some seconds with the hashes of its frames, played again with `--verify`, and a late frame is cut out. The witness
is the program's own frame: what the cut shows is held against the hash that the recorder took of it.
"""

from __future__ import annotations

import os
import shutil
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import drawtap
from bench import exact
from bench.exact import Program
from bench.measure import BenchError
from bench.setup import Setup
from bench.survey import Survey
from drawtap.analysis.extract import Cutter, ExtractOptions, target
from drawtap.replay import player

FOLDERS = ("/usr/libexec/xscreensaver", "/usr/lib/xscreensaver")
TOOLS = ("glxgears", "glxheads", "glxdemo")
_SECONDS = 3
_MORE_SECONDS = (12, 40)  # where it was too busy a machine for so many frames
_LEAST_FRAMES = 5
_SIZE = "240x180"
_SHARE = 0.8  # the frame that is cut out stands so far into the recording
_MOST_CUT_S = 30.0
_FIXED = (b"glBegin", b"glMatrixMode", b"glVertexPointer")
_PLAYED = {"LIBGL_ALWAYS_SOFTWARE": "1", "MESA_SHADER_CACHE_DISABLE": "true", "EGL_PLATFORM": "surfaceless"}
# Wants a picture of the screen, programs of others, or the network before it draws.
_NEEDS_MORE = {"mapscroller.pl", "glslideshow", "xscreensaver-gl-visual"}


@dataclass(frozen=True)
class Result:
    """What came of a program.

    `frames` were compared with what the program showed, `different` were not equal; `cut_equal`: the cut frame is the
    program's; `added`: calls that only comparing showed to be needed.
    """

    program: str
    frames: int = 0
    different: int = 0
    skipped: int = 0
    frame: int = 0
    calls: int = 0
    kept: int = 0
    added: int = 0
    cut_equal: bool = False
    seconds: float = 0.0
    problem: str = ""

    @property
    def good(self) -> bool:
        """Tell whether everything is equal, and the cut was made in time."""
        played = self.frames and not (self.different or self.skipped or self.problem)
        return bool(played and self.cut_equal and self.seconds < _MOST_CUT_S)


def programs(setup: Setup, frames: int) -> Iterator[Program]:
    """Yield what is installed here of the collections and calls fixed function."""
    for folder in FOLDERS:
        for path in sorted(Path(folder).glob("*")):
            if path.name in _NEEDS_MORE or not os.access(path, os.X_OK) or not _is_fixed(path):
                continue
            yield Program(path.name, (str(path), *_options(path)), "gl", seconds=_SECONDS)
    for name in TOOLS:
        if shutil.which(name):
            yield Program(name, (name,), "gl", seconds=_SECONDS)


def _options(path: Path) -> tuple[str, ...]:
    """Return what a program has to be told: the size of its window, as X's toolkit takes it, or how to live here."""
    content = path.read_bytes()
    if b"XtAppInitialize" in content:
        return ("-geometry", _SIZE)
    # Those of rss-glx end with an X error where they ask Xvfb for a swap interval.
    return ("--vsync", "0") if b"vsync" in content else ()


def _is_fixed(path: Path) -> bool:
    content = path.read_bytes() if path.is_file() else b""
    return content.startswith(b"\x7fELF") and any(word in content for word in _FIXED)


def check(program: Program, folder: Path, display: Mapping[str, str]) -> Result:
    """Record a program, play it, cut a frame out. Raises BenchError where something does not run."""
    recording, out = _recorded(program, folder, display), folder / "cut.dtap"
    played = player.play(recording, ["--verify"], environment=_PLAYED)
    with drawtap.open(recording) as trace:
        shown = sum(row["kind"] == "frame" for row in trace.table("natives"))
        ends = [row for row in trace.table("frames") if row["end_function"]]
        if not ends or not shown:
            raise BenchError("it showed no frame")
        frame = int(len(ends) * _SHARE)
        cut = Cutter(trace).cut(target(trace, frames=str(frame)), out, ExtractOptions("system"))
    proof = cut.certificate["file"]
    assert isinstance(proof, dict)
    return Result(
        program.name,
        shown,
        sum(f.count for f in played.findings if f.what == "frame"),
        played.skipped,
        frame,
        cut.before,
        cut.kept,
        len(cut.added),
        cut.equal and proof["recorded_images_compared"] > 0 and not proof["recorded_images_different"],
        cut.seconds,
    )


def _recorded(program: Program, folder: Path, display: Mapping[str, str]) -> Path:
    """Record a program; on a machine with much else to do it gets more time to come to its first frames."""
    for seconds in (program.seconds, *_MORE_SECONDS):
        recording = exact.record(replace(program, seconds=seconds), folder / "whole.dtap", display)
        with drawtap.open(recording) as trace:
            if sum(bool(row["end_function"]) for row in trace.table("frames")) >= _LEAST_FRAMES:
                break
    return recording


def _checked(program: Program, folder: Path, display: Mapping[str, str], apitrace: bool) -> Result:
    return check(program, folder, display)


def _cells(r: Result) -> list[str]:
    notes = [f"{r.skipped} calls left out"] * bool(r.skipped) + [r.problem] * bool(r.problem)
    notes += [f"cut took {r.seconds:.0f} s"] * (r.seconds >= _MOST_CUT_S)
    share = f"{100 * r.kept / r.calls:.1f} %" if r.calls else ""
    cut = ("equal" if r.cut_equal else "DIFFERS") if r.calls else ""
    shown = [str(r.frames), str(r.frames - r.different), str(r.frame), str(r.calls), str(r.kept), share, str(r.added)]
    return [r.program, *shown, cut, f"{r.seconds:.1f}", "; ".join(notes)]


def summary(results: Sequence[Result]) -> str:
    """Say how many are equal, and what the cuts took."""
    ran = [r for r in results if r.frames]
    if not ran:
        return "no program ran"
    lines = f"{sum(not r.different for r in ran)} of {len(ran)} programs play again equal"
    lines += f" ({sum(r.frames for r in ran)} frames, {sum(r.different for r in ran)} different);"
    lines += f" {sum(r.cut_equal for r in ran)} cuts equal the program's own frame,"
    seconds = [r.seconds for r in ran]
    lines += f" in {statistics.median(seconds):.1f} s ({max(seconds):.1f} s at most);"
    lines += f" {sum(r.added == 0 for r in ran)} without adding calls;"
    shares = statistics.median(r.kept / r.calls for r in ran if r.calls)
    return f"{lines} median share {100 * shares:.1f} %; {len(results) - len(ran)} did not run"


SURVEY = Survey(
    "foreign",
    "Fixed-function programs of others, played again and cut",
    (__doc__ or "").partition("\n")[0],
    0,
    programs,
    _checked,
    lambda name, problem: Result(name, problem=problem),
    lambda result: result.good,
    lambda r: (
        f"{r.different} of {r.frames} differ; cut {r.kept} of {r.calls}, {r.added} added, {r.seconds:.1f} s {r.problem}"
    ),
    ("frames", "equal", "frame", "calls", "kept", "share", "added", "cut", "s"),
    _cells,
    summary,
)
main = SURVEY.main
