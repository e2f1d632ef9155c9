"""Whether findings are true: all rules over programs of others, and what is said to be useless taken away.

`python -m bench findings` records glmark2's scenes, screen savers and demonstrations, asks all rules, and counts the
findings. Where a rule says that single calls are useless, the recording is played without them: a frame that looks
different then is a false finding.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import drawtap
from bench import exact
from bench.exact import Program
from bench.setup import Setup
from bench.survey import Survey
from drawtap.analysis.checklist import Evidence, Judgement, checklist
from drawtap.errors import ChildError
from drawtap.replay import player
from drawtap.trace.graph import packed
from drawtap.trace.trace import Trace

#: Rules whose every row of evidence is a call that the pictures do not need. What they call useless and what is needed
#: to leave it out: the call alone, or the row's `calls` from there on.
USELESS = (
    "replaced-textures", "same-texture-again", "same-buffer-again", "unused-programs", "unused-uniforms",
    "empty-draws", "same-context-again", "discarded-matrices", "missing-attributes", "redundant-calls",
    "unchanged-frames",
)  # fmt: skip
#: Screen savers of xscreensaver-gl that use textures, display lists, matrices, lights, fog, arrays and shaders.
_HACKS = (
    "atlantis", "blocktube", "boing", "bouncingcow", "cube21", "cubestorm", "discoball", "energystream", "engine",
    "flurry", "flyingtoasters", "gears", "geodesic", "glmatrix", "glplanet", "glschool", "gltext", "hypertorus",
    "jigglypuff", "lament", "lavalite", "lockward", "mirrorblob", "molecule", "moebius", "pinion", "pipes", "polyhedra",
    "pulsar", "sballs", "skyrocket", "spheremonics", "starwars", "stonerview", "surfaces", "tangram", "topblock",
    "unknownpleasures", "winduprobot",
)  # fmt: skip
_FOLDER = Path("/usr/libexec/xscreensaver")
_QT = Path("/usr/lib/x86_64-linux-gnu/qt5/examples/opengl")
_SCENES = (
    "build:use-vbo=false", "build:use-vbo=true", "texture:texture-filter=mipmap", "bump:bump-render=normals",
    "effect2d:kernel=0,1,0;1,-4,1;0,1,0;", "pulsar:light=false:quads=5:texture=false",
    "desktop:effect=blur:passes=1:windows=4", "buffer:columns=50:update-method=map",
    "buffer:columns=50:update-method=subdata", "ideas:speed=duration", "jellyfish", "terrain", "shadow", "refract",
)  # fmt: skip
_MOST_ROWS = 1000  # of a rule: more evidence is not kept
_PLAYED = {"LIBGL_ALWAYS_SOFTWARE": "1", "EGL_PLATFORM": "surfaceless"}


@dataclass(frozen=True)
class Result:
    """What came of a program. `findings`: rules that found something, `rows` their evidence; `proved` and `false` are
    findings that were played without the calls that they call useless. `wrong` names the false ones."""

    program: str
    frames: int = 0
    findings: int = 0
    rows: int = 0
    proved: int = 0
    false: int = 0
    wrong: str = ""
    found: str = ""
    problem: str = ""

    @property
    def good(self) -> bool:
        """Tell whether the program was recorded and no finding was false."""
        return not (self.false or self.problem)


def programs(setup: Setup, frames: int) -> Iterator[Program]:
    """Yield what is installed here of programs of others."""
    for program in ("glmark2-es2", "glmark2"):
        if shutil.which(program):
            yield from (exact.glmark(program, scene, frames) for scene in _SCENES)
    for name in _HACKS:
        if (_FOLDER / name).exists():
            yield Program(name, (str(_FOLDER / name),), "gl", seconds=4)
    for name, command in (
        ("es2gears", ("es2gears_x11",)), ("glxgears", ("glxgears",)), ("chromium-bsu", ("chromium-bsu", "-na")),
        ("gtk4 gears", ("gtk4-demo", "--run=gears")), ("gtk3 glarea", ("gtk3-demo", "--run=glarea")),
        ("qt5 cube", (str(_QT / "cube/cube"),)), ("qt5 hellogl2", (str(_QT / "hellogl2/hellogl2"),)),
        ("qt5 textures", (str(_QT / "textures/textures"),)),
        ("qt5 2dpainting", (str(_QT / "2dpainting/2dpainting"),)),
    ):  # fmt: skip
        if shutil.which(command[0]):
            yield Program(name, command, "gl", seconds=8)


def check(program: Program, folder: Path, display: Mapping[str, str]) -> Result:
    """Record a program, ask all rules, and prove those that say that calls are useless.

    Raises BenchError where it does not run.
    """
    path = exact.record(program, folder / "findings.dtap", display)
    with drawtap.open(path) as trace:
        asked = checklist(trace)
        found = asked.findings
        whole = _pictures(path, None)
        wrong, proved = [], 0
        for finding in found:
            if finding.rule.id in USELESS:
                proved += 1
                if differs := _without(path, trace, finding, whole):
                    wrong.append(f"{finding.rule.id} ({differs})")
        return Result(
            program.name,
            len(trace.frames),
            len(found),
            sum(f.rows for f in found),
            proved,
            len(wrong),
            "; ".join(wrong),
            " ".join(f"{f.rule.id}:{f.rows}" for f in found),
        )


def _pictures(path: Path, keep: Path | None) -> dict[int, str]:
    options = ["--hashes"] + ([] if keep is None else ["--keep", str(keep)])
    return dict(player.play(path, options, environment=_PLAYED).hashes)


def _without(path: Path, trace: Trace, finding: Judgement, whole: Mapping[int, str]) -> str:
    """Return what changes where the calls of a finding are left out, "" for nothing."""
    if finding.rule.id == "unchanged-frames":  # no call is useless: the picture is the same as before
        new = [row.frame for row in finding.evidence if row.frame and whole.get(row.frame) != whole.get(row.frame - 1)]
        return f"{len(new)} frames are not the same as the one before, as {new[0]}" if new else ""
    keep = np.ones(len(trace.calls), np.bool_)
    for row in finding.evidence[:_MOST_ROWS]:
        for seq in _calls_of(trace, finding.rule.id, row):
            keep[seq] = False
    with tempfile.TemporaryDirectory() as folder:
        bits = Path(folder) / "bits"
        [(stored,)] = trace.sql("SELECT count(*) FROM map_writes")  # no finding is about them: all stay
        bits.write_bytes(packed(keep).tobytes() + b"\xff" * -(-int(str(stored)) // 8))
        try:
            shown = _pictures(path, bits)
        except ChildError as error:
            return str(error)[:100]
    differ = sorted(frame for frame in whole.keys() | shown.keys() if whole.get(frame) != shown.get(frame))
    return f"{len(differ)} of {len(whole)} frames differ, from {differ[0]} on" if differ else ""


_MATRIX = "^gl(LoadIdentity|LoadMatrix|Translate|Rotate|Scale|MultMatrix|Frustum|Ortho)"
_ROWS = {
    "empty-draws": "SELECT seq FROM draws WHERE frame = $frame AND kind = 'draw' AND (vertices = 0 OR instances = 0)",
    "unused-uniforms": "SELECT seq FROM calls WHERE frame = $frame AND starts_with(name, 'glUniform') "
    "AND contains(params, 'location = -1,')",
    "discarded-matrices": "SELECT c.seq FROM calls c WHERE c.context = (SELECT d.context FROM calls d WHERE "
    f"d.seq = $seq) AND c.seq >= $seq AND regexp_matches(c.name, '{_MATRIX}') ORDER BY c.seq LIMIT $calls",
    # A texture that got other bytes in between needs them again, though a second texture would not.
    "same-texture-again": "SELECT seq FROM redundancy WHERE kind = 'repeated upload' AND seq = $seq",
    "redundant-calls": "SELECT r.seq FROM redundancy r JOIN calls c ON c.seq = r.seq WHERE r.kind = 'same value' "
    "AND c.name = $what AND c.frame >= 1",
}


def _calls_of(trace: Trace, rule: str, row: Evidence) -> Sequence[int]:
    """Return the calls that a row of evidence stands for; those of rows by frame are looked up."""
    if rule not in _ROWS:
        return [] if row.seq is None else [row.seq]
    told = {"seq": row.seq, "frame": row.frame, "calls": row.calls, "what": row.what}
    given = {name: value for name, value in told.items() if f"${name}" in _ROWS[rule]}
    return [int(str(found)) for (found,) in trace.sql(_ROWS[rule], given)]


def _cells(r: Result) -> list[str]:
    return [r.program, str(r.frames), str(r.findings), str(r.rows), str(r.proved), str(r.false), r.problem or r.wrong]


def summary(results: Sequence[Result]) -> str:
    """Say how many findings there are, and how many of those that can be proved are false."""
    ran = [r for r in results if not r.problem]
    findings, rows = sum(r.findings for r in ran), sum(r.rows for r in ran)
    proved, false = sum(r.proved for r in ran), sum(r.false for r in ran)
    text = f"{len(ran)} of {len(results)} programs: {findings} findings with {rows} rows; "
    return text + f"{proved} were played without the calls they name, {false} are false"


SURVEY = Survey(
    "findings",
    "Findings of all rules, and whether pictures stay without the calls that are called useless",
    (__doc__ or "").partition("\n")[0],
    20,
    programs,
    lambda program, folder, display, apitrace: check(program, folder, display),
    lambda name, problem: Result(name, problem=problem),
    lambda result: result.good,
    lambda result: result.problem or f"{result.found} | {result.proved} proved, {result.false} false {result.wrong}",
    ("frames", "findings", "rows", "proved", "false"),
    _cells,
    summary,
)
main = SURVEY.main
