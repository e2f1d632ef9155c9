"""Whether cut-out frames are exact, and how little they need: `python -m bench extract`.

A late frame is cut out of recordings of the default benchmarks of glmark2, gears, toolkits and the project's programs,
and its image compared with that of the whole recording; `--apitrace` does the same with `apitrace gltrim`.
"""

from __future__ import annotations

import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import drawtap
from bench import exact
from bench.exact import Program
from bench.measure import BenchError, Drawtap
from bench.row import Goal, Row
from bench.setup import Setup
from bench.survey import Survey
from drawtap.analysis.extract import Cutter, ExtractOptions, target
from drawtap.errors import ChildError
from drawtap.replay import player
from drawtap.trace.graph import packed

SIZE = "160x120"
OWN_FRAMES = {
    "ff_lit": 100,
    "ff_lists": 100,
    "ff_state": 100,
    "fbo_chain": 100,
    "transfers": 60,
    "modern": 100,
    "draw_over": 100,
    "wasteful": 24,
    "two_contexts": 60,
    "es2_triangle": 100,
    "two_draws": 100,
}
_SHARE = 0.9  # the frame that is cut out stands so far into the recording


@dataclass(frozen=True)
class Result:
    """What came of one program: the cut of `frame`, and gltrim's, where it was asked.

    `share`: calls kept of those from the start to the frame's end. `added`: calls that comparing showed to be missing.
    """

    program: str
    frame: int = 0
    calls: int = 0
    kept: int = 0
    exact: bool = False
    added: int = 0
    seconds: float = 0.0
    bytes: int = 0
    whole_bytes: int = 0
    gltrim_exact: bool | None = None
    gltrim_kept: int = 0
    gltrim_calls: int = 0
    problem: str = ""

    @property
    def share(self) -> float:
        """Return the share of calls that is kept."""
        return self.kept / self.calls if self.calls else 1.0


def programs(setup: Setup, frames: int) -> Iterator[Program]:
    """Yield what is installed here, with so many frames each."""
    for p in exact.all_programs(setup, frames):
        if p.name.startswith("glmark2"):
            words = [SIZE if word == exact.SIZE else word for word in p.command]
            yield replace(p, command=tuple(words))
        elif p.name in OWN_FRAMES:
            yield replace(p, command=(*p.command, str(OWN_FRAMES[p.name])))
        elif "gears" in p.name:
            yield p
    for name, command in (
        ("gtk4 gears", ("gtk4-demo", "--run=gears")),
        ("gtk3 glarea", ("gtk3-demo", "--run=glarea")),
        ("qt5 cube", ("/usr/lib/x86_64-linux-gnu/qt5/examples/opengl/cube/cube",)),
        ("qt5 hellogl2", ("/usr/lib/x86_64-linux-gnu/qt5/examples/opengl/hellogl2/hellogl2",)),
    ):
        if shutil.which(command[0]):
            yield Program(name, command, "gl", seconds=25)


def check(program: Program, folder: Path, display: Mapping[str, str], *, apitrace: bool) -> Result:
    """Record a program, cut a late frame out and compare. Raises BenchError where something does not run."""
    recording = exact.record(program, folder / "whole.dtap", display)
    out = folder / "cut.dtap"
    with drawtap.open(recording) as trace:
        ends = [int(str(row["end_seq"])) for row in trace.table("frames") if row["end_function"]]
        if not ends:
            raise BenchError(f"{program.name} showed {len(ends)} frames")
        frame = int(len(ends) * _SHARE)
        cut = Cutter(trace).cut(target(trace, frames=str(frame)), out, ExtractOptions("llvmpipe"))
    result = Result(
        program.name,
        frame,
        cut.before,
        cut.kept,
        cut.equal,
        len(cut.added),
        cut.seconds,
        out.stat().st_size,
        recording.stat().st_size,
    )
    if not (apitrace and (program.exchanged or not program.window)):
        return result
    same, kept, calls = _gltrim(program, frame, folder, display)
    return replace(result, gltrim_exact=same, gltrim_kept=kept, gltrim_calls=calls)


def _gltrim(program: Program, frame: int, folder: Path, display: Mapping[str, str]) -> tuple[bool, int, int]:
    # Its own recording, its own cut, its own replay: only what it does is judged.
    theirs, cut = folder / "whole.trace", folder / "cut.trace"
    for old in (theirs, cut):
        old.unlink(missing_ok=True)
    exact.run(
        ["apitrace", "trace", f"--api={program.api}", "-o", str(theirs), *exact.limited(program)], program, display
    )
    try:
        exact.run(["apitrace", "gltrim", f"--frames={frame}", "-o", str(cut), str(theirs)], program, display)
        shown = exact.peer_images(program, cut, display)
    except BenchError:
        return False, 0, 0
    whole = exact.peer_images(program, theirs, display)
    same = bool(shown) and len(whole) > frame and shown[-1] == whole[frame]
    kept = _calls(cut, program, display, None)
    return same, kept, _calls(theirs, program, display, frame)


def _calls(trace: Path, program: Program, display: Mapping[str, str], frame: int | None) -> int:
    """Return how many calls there are up to the end of a frame (None: in all)."""
    dumped = exact.run(["apitrace", "dump", "--color=never", str(trace)], program, display, text=False).stdout
    count = frames = 0
    for line in dumped.split(b"\n"):
        word = line.partition(b" ")
        if word[0].isdigit():
            count += 1
            if frame is not None and word[2].startswith((b"eglSwapBuffers", b"glXSwapBuffers")):
                frames += 1
                if frames > frame:
                    break
    return count


def summary(results: Sequence[Result]) -> str:
    """Say how many are exact, and how little they need."""
    exact_ones = [r for r in results if r.exact]
    if not exact_ones:
        return "nothing is exact"
    shares = statistics.median(r.share for r in exact_ones)
    lines = f"{len(exact_ones)} of {len(results)} exact, median share of calls {100 * shares:.1f} %,"
    lines += f" {sum(not r.added for r in exact_ones)} without adding calls"
    theirs = [r for r in results if r.gltrim_exact is not None]
    if theirs:
        good = [r for r in theirs if r.gltrim_exact and r.gltrim_calls]
        lines += f"; gltrim: {len(good)} of {len(theirs)} exact"
        if good:
            lines += f", median share {100 * statistics.median(r.gltrim_kept / r.gltrim_calls for r in good):.1f} %"
    return lines


def _checked(program: Program, folder: Path, display: Mapping[str, str], apitrace: bool) -> Result:
    return check(program, folder, display, apitrace=apitrace)


def _cells(r: Result) -> list[str]:
    share = f"{100 * r.share:.1f} %" if r.calls else ""
    theirs = "" if r.gltrim_exact is None else "exact" if r.gltrim_exact else "differs"
    if r.gltrim_calls and r.gltrim_exact is not None:
        theirs += f" {100 * r.gltrim_kept / r.gltrim_calls:.1f} %"
    note = r.problem or ("" if r.exact else "DIFFERS")
    return [r.program, str(r.frame), str(r.calls), str(r.kept), share, str(r.added), f"{r.seconds:.1f}", theirs, note]


SURVEY = Survey(
    "extract",
    "A frame cut out, compared with the whole recording's",
    (__doc__ or "").partition("\n")[0],
    200,
    programs,
    _checked,
    lambda name, problem: Result(name, problem=problem),
    lambda result: result.exact,
    lambda result: f"{result.kept} of {result.calls} {result.problem}",
    ("frame", "calls", "kept", "share", "added", "s", "gltrim"),
    _cells,
    summary,
)
main = SURVEY.main


# ---- the group of `python -m bench --only extract` -------------------------------------------------------------------


def rows(setup: Setup) -> Iterator[Row]:
    """Cut a large recording, small ones of every kind down to what nothing can be taken from, and all programs."""
    yield from _large(setup)
    yield from _minimal(setup)
    chosen = [p for p in programs(setup, 20 if setup.quick else 100) if not setup.quick or "glmark2 " not in p.name]
    results = SURVEY.ask(setup, chosen, say=lambda text: print(text, file=sys.stderr))
    for title in ("glmark2-es2", "glmark2", "gears and toolkits", "our programs"):
        if group := [r for r in results if _group_of(r.program) == title]:
            yield from _shares(title, group)
    yield from _shares("all", results)


def _group_of(name: str) -> str:
    if name.startswith("glmark2"):
        return name.partition(" ")[0]
    return "our programs" if name in exact.OWN_PROGRAMS else "gears and toolkits"


def _shares(title: str, results: Sequence[Result]) -> Iterator[Row]:
    wrong = [r.program for r in results if not r.exact]
    good = [r for r in results if r.exact]
    note = f"of {len(results)}" + (f"; {', '.join(wrong)}" if wrong else "")
    yield Row("extract", f"{title}: not exact", "programs", len(wrong), goal=Goal(most=0), note=note)
    if good:
        share = 100 * statistics.median(r.share for r in good)
        yield Row("extract", f"{title}: median share of calls", "%", share, goal=Goal(most=10, unit="%"))
        yield Row("extract", f"{title}: calls that comparing added", "", sum(r.added for r in good), goal=Goal(most=0))


def _large(setup: Setup) -> Iterator[Row]:
    """A frame out of a million calls, without and with both replays; the median of five."""
    recording = setup.scratch / "large.dtap"
    rounds = "100000" if setup.quick else "1000000"
    Drawtap().run([setup.program("many_calls"), "mix", rounds, "1"], recording)
    for title, verify in (("without comparing", False), ("compared", True)):
        seconds = []
        for _ in range(3 if setup.quick else 5):
            with drawtap.open(recording) as trace:
                calls = len(trace.calls)
                ends = [row for row in trace.table("frames") if row["end_function"]]
                wanted = target(trace, frames=str(len(ends) - 4))
                begun = time.monotonic()
                cut = Cutter(trace).cut(wanted, setup.scratch / "out.dtap", ExtractOptions("llvmpipe", verify=verify))
                seconds.append(time.monotonic() - begun)
        name = f"{calls / 1e6:.1f} M calls, {title}"
        goal = Goal(most=5, unit="s")
        yield Row(
            "extract", name, "s", statistics.median(seconds), goal=goal, note=f"{cut.kept} kept",
            samples={"drawtap": seconds},
        )  # fmt: skip


# Small recordings of every kind of dependency: the program, its arguments, the frame.
SMALL = (
    ("textures", ("textured",), 0),
    ("fixed function", ("ff_lit", "4"), 2),
    ("display lists", ("ff_lists", "4"), 2),
    ("client arrays", ("client_arrays_gl1",), 0),
    ("targets in a chain", ("fbo_chain", "3"), 1),
    ("transfers through buffers, mipmaps, copies", ("transfers", "3"), 1),
    ("mapped memory", ("maps",), 0),
    ("transform feedback, compute, conditional queries", ("modern", "3"), 2),
    ("shared contexts", ("shared_contexts",), 1),
    ("several contexts in turn", ("two_contexts", "4"), 2),
    ("uploads again and unused", ("wasteful", "4"), 2),
)


def _minimal(setup: Setup) -> Iterator[Row]:
    folder = exact.built(setup.scratch / "programs")
    for title, (name, *words), frame in SMALL[:3] if setup.quick else SMALL:
        program = Program(name, (str(folder / name), *words), window=False)
        recording, out = setup.scratch / "small.dtap", setup.scratch / "small-cut.dtap"
        with setup.display() as display:
            exact.record(program, recording, display)
        with drawtap.open(recording) as trace:
            wanted = target(trace, frames=str(frame))
            plain = Cutter(trace).cut(wanted, out, ExtractOptions("llvmpipe"))
            brought, left = spare(out)
            least = Cutter(trace).cut(wanted, out, ExtractOptions("llvmpipe", minimize=True, seconds=240))
        brought_least, left_least = spare(out)
        assert least.reduction is not None
        note = (
            f"{plain.kept} calls, {len(left)} of {len(brought)} contents without a pixel; minimized {least.kept} calls"
        )
        if not least.reduction.minimal:
            note += ", time was up"
        note += "".join(f"; {text[:60]}" for text in left_least)
        yield Row(
            "extract", f"{title}: contents to spare of {len(brought_least)}", "", len(left_least), goal=Goal(most=0),
            note=note,
        )  # fmt: skip


_NAMES = re.compile(r"^glGen|^glCreate|^glBindAttribLocation|^glObjectLabel")  # what they bring is no content


def spare(cut: Path) -> tuple[list[str], list[str]]:
    """Take every call that brings an array, an image or a source away from a cut, one at a time.

    Returns all of them, and those without which the last image is the same and nothing goes wrong.
    """
    environment = {"LIBGL_ALWAYS_SOFTWARE": "1", "EGL_PLATFORM": "surfaceless"}
    with drawtap.open(cut) as trace, tempfile.TemporaryDirectory() as folder:
        calls = len(trace.calls)
        [(rows,)] = trace.sql("SELECT count(*) FROM map_writes")
        stored = b"\xff" * -(-int(str(rows)) // 8)  # all bytes stored through mappings stay
        query = "SELECT seq, name, payload_bytes FROM calls WHERE payload_bytes > 0 ORDER BY seq"
        brought = [
            int(str(seq))
            for seq, name, count in trace.sql(query)
            if str(name).startswith("gl") and int(str(count)) >= 8 and not _NAMES.search(str(name))
        ]
        bits = Path(folder) / "bits"

        def played(without: int | None) -> tuple[str | None, bool]:
            keep = np.ones(calls, np.bool_)
            if without is not None:
                keep[without] = False
            bits.write_bytes(packed(keep).tobytes() + stored)
            try:
                done = player.play(cut, ["--hashes", "--errors", "--keep", str(bits)], environment=environment)
            except ChildError:
                return None, True
            broke = any(f.what in ("gl-error", "skipped", "argument", "map") for f in done.findings)
            return done.hashes.get(max(done.hashes, default=0)), broke

        image, _ = played(None)
        left = [seq for seq in brought if played(seq) == (image, False)]
        return [str(trace.calls[seq]) for seq in brought], [str(trace.calls[seq]) for seq in left]
