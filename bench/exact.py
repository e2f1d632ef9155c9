"""Whether playing again is exact: frames that a program showed against the same frames played again, byte for byte.

`python -m bench exact` does it for the default benchmarks of glmark2, gears and our programs; `--apitrace` adds
both directions of the exchange with apitrace: its replay of our exports, and ours of its recordings.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import drawtap
from bench.measure import BenchError
from bench.setup import ROOT, Setup
from bench.survey import Survey
from drawtap.replay import player

SIZE = "320x240"
# What glmark2 runs when it is asked for nothing (its src/default-benchmarks.h; `ideas` takes its speed from the
# duration, which a fixed number of frames leaves as it is).
DEFAULT_BENCHMARKS = (
    "build:use-vbo=false",
    "build:use-vbo=true",
    "texture:texture-filter=nearest",
    "texture:texture-filter=linear",
    "texture:texture-filter=mipmap",
    "shading:shading=gouraud",
    "shading:shading=blinn-phong-inf",
    "shading:shading=phong",
    "shading:shading=cel",
    "bump:bump-render=high-poly",
    "bump:bump-render=normals",
    "bump:bump-render=height",
    "effect2d:kernel=0,1,0;1,-4,1;0,1,0;",
    "effect2d:kernel=1,1,1,1,1;1,1,1,1,1;1,1,1,1,1;",
    "pulsar:light=false:quads=5:texture=false",
    "desktop:blur-radius=5:effect=blur:passes=1:separable=true:windows=4",
    "desktop:effect=shadow:windows=4",
    "buffer:columns=200:interleave=false:update-dispersion=0.9:update-fraction=0.5:update-method=map",
    "buffer:columns=200:interleave=false:update-dispersion=0.9:update-fraction=0.5:update-method=subdata",
    "buffer:columns=200:interleave=true:update-dispersion=0.9:update-fraction=0.5:update-method=map",
    "ideas:speed=duration",
    "jellyfish",
    "terrain",
    "shadow",
    "refract",
    "conditionals:fragment-steps=0:vertex-steps=0",
    "conditionals:fragment-steps=5:vertex-steps=0",
    "conditionals:fragment-steps=0:vertex-steps=5",
    "function:fragment-complexity=low:fragment-steps=5",
    "function:fragment-complexity=medium:fragment-steps=5",
    "loop:fragment-loop=false:fragment-steps=5:vertex-steps=5",
    "loop:fragment-steps=5:fragment-uniform=false:vertex-steps=5",
    "loop:fragment-steps=5:fragment-uniform=true:vertex-steps=5",
)
OWN_PROGRAMS = (
    "es2_triangle",
    "es1_cube",
    "client_arrays_es2",
    "client_arrays_gl1",
    "maps",
    "pixels",
    "readback",
    "shared_contexts",
    "two_draws",
    "debug_markers",
    "ff_lit",
    "ff_lists",
    "ff_state",
    "fbo_chain",
    "transfers",
    "modern",
    "draw_over",
    "wasteful",
    "two_contexts",
)
_TIMEOUT_S = 300
_SOFTWARE = {"LIBGL_ALWAYS_SOFTWARE": "1", "MESA_SHADER_CACHE_DISABLE": "true", "vblank_mode": "0"}
_PLAYED = {**_SOFTWARE, "EGL_PLATFORM": "surfaceless"}


@dataclass(frozen=True)
class Program:
    """A program to record.

    `seconds`: it does not end by itself; `window`: it shows something in one. `exchanged`: apitrace is asked too; it
    does not survive some of our programs, and shows the first frame of gears, of its own recordings too, before it is
    drawn.
    """

    name: str
    command: tuple[str, ...]
    api: str = "egl"
    seconds: float = 0
    window: bool = True
    exchanged: bool = False


@dataclass(frozen=True)
class Exactness:
    """What came of a program. `frames`: how many images of frames were compared; the others count those unequal.

    `read_backs` are images that the program asked for itself. `skipped` calls could not be played; `errors` are GL
    errors that the original did not have. `exported` and `imported` count frames compared with those of apitrace,
    None where they were not.
    """

    program: str
    frames: int
    different: int
    read_backs: int = 0
    read_backs_different: int = 0
    skipped: int = 0
    errors: int = 0
    exported: int | None = None
    exported_different: int = 0
    imported: int | None = None
    imported_different: int = 0
    problem: str = ""

    @property
    def exact(self) -> bool:
        """Tell whether everything was played and was equal."""
        different = self.different + self.read_backs_different + self.exported_different + self.imported_different
        return not (different or self.skipped or self.errors or self.problem)


def glmark(program: str, benchmark: str, frames: int) -> Program:
    """Return glmark2 or glmark2-es2 with one benchmark and a fixed number of frames."""
    # Else a scene ends after ten seconds, and a busy machine draws fewer frames. `ideas` takes its speed from them.
    duration = "" if benchmark.startswith("ideas") else ":duration=1000"
    command = (program, "-s", SIZE, "-b", f"{benchmark}{duration}:nframes={frames}")
    return Program(f"{program} {benchmark}", command, "egl" if program.endswith("es2") else "gl", exchanged=True)


def all_programs(setup: Setup, frames: int) -> Iterator[Program]:
    """Yield everything that is installed here. Raises BenchError where a program of the project does not compile."""
    for program in ("glmark2-es2", "glmark2"):
        if shutil.which(program):
            yield from (glmark(program, benchmark, frames) for benchmark in DEFAULT_BENCHMARKS)
    if shutil.which("es2gears_x11"):
        yield Program("es2gears", ("es2gears_x11",), seconds=2)
    if shutil.which("glxgears"):
        yield Program("glxgears", ("glxgears",), "gl", seconds=2)
    folder = built(setup.scratch / "programs")
    for name in OWN_PROGRAMS:
        yield Program(name, (str(folder / name),), window=False)


def built(folder: Path) -> Path:
    for command in (
        ["cmake", "-G", "Ninja", "-S", str(ROOT / "tests/gl/programs"), "-B", str(folder)],
        ["ninja", "-C", str(folder)],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BenchError(f"the project's programs do not compile: {done.stdout[-800:]}")
    return folder


def check(program: Program, folder: Path, display: Mapping[str, str], *, apitrace: bool = False) -> Exactness:
    """Record a program with the hashes of its frames, play it, and compare; with apitrace also through its traces.

    Raises BenchError where something does not run.
    """
    trace = record(program, folder / "exact.dtap", display)
    played = player.play(trace, ["--verify"], environment=_PLAYED)
    frames = _hashed_frames(trace)
    different = sum(f.count for f in played.findings if f.what == "frame")
    result = Exactness(
        program.name,
        frames,
        different,
        played.compared - frames,
        played.different - different,
        played.skipped,
        sum(f.count for f in played.findings if f.what == "error"),
        problem="" if frames or played.compared else "nothing to compare",
    )
    if not (apitrace and program.exchanged):
        return result
    exported = through_export(program, trace, folder, display)
    imported = through_import(program, folder, display)
    return Exactness(**{
        **asdict(result),
        "exported": exported[0], "exported_different": exported[1],
        "imported": imported[0], "imported_different": imported[1],
    })  # fmt: skip


def record(program: Program, trace: Path, display: Mapping[str, str]) -> Path:
    """Record a program with `--hash-frames` and return the trace of the process that drew."""
    for old in trace.parent.glob(f"{trace.stem}*.dtap"):
        old.unlink()
    command = [sys.executable, "-m", "drawtap", "record", "-q", "--hash-frames", "-o", str(trace), "--"]
    run([*command, *limited(program)], program, display)
    made = sorted(trace.parent.glob(f"{trace.stem}*.dtap"), key=lambda path: path.stat().st_size)
    if not made:
        raise BenchError(f"{program.name} left no recording")
    return made[-1]


def through_export(program: Program, trace: Path, folder: Path, display: Mapping[str, str]) -> tuple[int, int]:
    """Export a recording for apitrace and let it take its images; return how many were compared and how many differ."""
    theirs = folder / "exported.trace"
    theirs.unlink(missing_ok=True)
    run([sys.executable, "-m", "drawtap", "export", str(trace), "-f", "apitrace", "-o", str(theirs)], program, display)
    return _compared(peer_images(program, theirs, display), own_images(trace, folder))


def through_import(program: Program, folder: Path, display: Mapping[str, str]) -> tuple[int, int]:
    """Let apitrace record the program, import that, and play it; return frames compared and different."""
    theirs, ours = folder / "recorded.trace", folder / "imported.dtap"
    for old in (theirs, ours):
        old.unlink(missing_ok=True)
    run(["apitrace", "trace", f"--api={program.api}", "-o", str(theirs), *limited(program)], program, display)
    run([sys.executable, "-m", "drawtap", "import", str(theirs), "-o", str(ours)], program, display)
    return _compared(peer_images(program, theirs, display), own_images(ours, folder))


def _compared(theirs: Sequence[str], ours: Sequence[str]) -> tuple[int, int]:
    # What follows the last swap is a frame to drawtap, and none to apitrace.
    if len(ours) - len(theirs) not in (0, 1) or not theirs:
        raise BenchError(f"apitrace shows {len(theirs)} frames, drawtap {len(ours)}")
    return len(theirs), sum(a != b for a, b in zip(theirs, ours, strict=False))


def peer_images(program: Program, trace: Path, display: Mapping[str, str]) -> list[str]:
    """Let apitrace's replay show every frame; return a hash of each one's pixels (RGB)."""
    tool = "eglretrace" if program.api == "egl" else "glretrace"
    done = run([tool, "--headless", "-s", "-", str(trace)], program, display, text=False)
    found, at, stream = [], 0, done.stdout
    while (start := stream.find(b"P6\n", at)) >= 0:
        # Comments begin with `#`; then width, height and the largest value.
        lines: list[bytes] = []
        at = start + 3
        while len(lines) < 2:
            end = stream.index(b"\n", at)
            if not stream[at:end].startswith(b"#"):
                lines.append(stream[at:end])
            at = end + 1
        width, height = map(int, lines[0].split())
        found.append(_digest(lines[0], stream[at : at + width * height * 3]))
        at += width * height * 3
    return found


def own_images(trace: Path, folder: Path) -> list[str]:
    """Play a trace; return a hash of each frame's pixels (RGB)."""
    with tempfile.TemporaryDirectory(dir=folder) as images:
        player.play(trace, ["--snapshots", f"{images}/", "--format", "ppm"], environment=_PLAYED)
        found = []
        for path in sorted(Path(images).glob("*.ppm")):
            _, size, _, pixels = path.read_bytes().split(b"\n", 3)
            found.append(_digest(size, pixels))
        return found


def _digest(size: bytes, pixels: bytes) -> str:
    return hashlib.blake2b(b" ".join(size.split()) + pixels, digest_size=16).hexdigest()


def _hashed_frames(trace: Path) -> int:
    with drawtap.open(trace) as opened:
        return sum(row["kind"] == "frame" for row in opened.table("natives"))


def limited(program: Program) -> list[str]:
    stopped = ["timeout", "-k", "5", "-s", "INT", str(program.seconds)] if program.seconds else []
    return [*stopped, *program.command]


def run(
    command: Sequence[str], program: Program, display: Mapping[str, str], *, text: bool = True
) -> subprocess.CompletedProcess[bytes]:
    inherited = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "EGL_PLATFORM")}
    environment = {**inherited, **_SOFTWARE, **{k: v for k, v in display.items() if v}}
    if not program.window:
        environment["EGL_PLATFORM"] = "surfaceless"
    try:
        done = subprocess.run(command, capture_output=True, env=environment, timeout=_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise BenchError(f"{command[0]} did not end in {_TIMEOUT_S} s") from None
    # A program that does not end by itself was interrupted.
    if done.returncode and "timeout" not in command:
        said = (done.stderr if text else done.stderr[-2000:]).decode(errors="replace")
        raise BenchError(f"{' '.join(command)[:200]} ended with {done.returncode}: {said[-500:]}")
    return done


def _checked(program: Program, folder: Path, display: Mapping[str, str], apitrace: bool) -> Exactness:
    return check(program, folder, display, apitrace=apitrace)


def _cells(r: Exactness) -> list[str]:
    notes = [f"{r.skipped} calls left out"] * bool(r.skipped) + [f"{r.errors} GL errors"] * bool(r.errors)
    return [
        r.program,
        str(r.frames),
        str(r.frames - r.different),
        str(r.different),
        _of(r.read_backs, r.read_backs_different),
        _of(r.exported, r.exported_different),
        _of(r.imported, r.imported_different),
        "; ".join([*notes, r.problem]).strip("; "),
    ]


def _of(count: int | None, different: int) -> str:
    return "" if not count else f"{count - different} of {count}"


SURVEY = Survey(
    "exact",
    "Played again, compared with what was shown",
    (__doc__ or "").partition("\n")[0],
    20,
    all_programs,
    _checked,
    lambda name, problem: Exactness(name, 0, 0, problem=problem),
    lambda result: result.exact,
    lambda result: f"{result.frames} frames {result.problem}",
    ("frames", "equal", "different", "read-backs", "to apitrace", "from apitrace"),
    _cells,
    lambda results: f"{sum(r.exact for r in results)} of {len(results)} exact",
)
main = SURVEY.main
