"""Record real programs: they behave as without the tap, and everything that they called can be read."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

import drawtap
from drawtap.trace.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Bench

pytestmark = pytest.mark.gl

TIMEOUT_S = 300
LIBRARIES = Path("/usr/lib") / f"{os.uname().machine}-linux-gnu"
SCENES_OFF_SCREEN = ("build", "texture", "shading", "bump", "effect2d", "ideas", "refract", "shadow")
SCENES_ON_SCREEN = (
    *("build:use-vbo=false", "texture", "shading", "bump:bump-render=normals", "desktop:windows=2", "jellyfish"),
    *("buffer:update-method=map:columns=20", "buffer:update-method=subdata:columns=20:interleave=true"),
    *("buffer:update-method=map:interleave=true:columns=20", "terrain", "pulsar"),
)
FRAMES = 2  # that each scene draws


@dataclass(frozen=True)
class Program:
    """A program to record: where it is, what it must have drawn with, and what of its output may differ.

    `seconds`: it would run for ever and gets SIGTERM after so long. `frames`: at least so many.
    """

    name: str
    argv: tuple[str, ...]
    package: str
    frames: int = 0
    seconds: float = 0
    exact_frames: bool = False
    display: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)


def _glmark(program: str, scenes: Sequence[str], *options: str) -> tuple[str, ...]:
    benchmarks = [word for scene in scenes for word in ("-b", f"{scene}:duration=1000:nframes={FRAMES}")]
    return (program, "--size", "64x64", *options, *benchmarks)


def _qt(example: str) -> tuple[str, ...]:
    return (str(LIBRARIES / "qt5/examples/opengl" / example / example),)


_XCB = {"QT_QPA_PLATFORM": "xcb"}

PROGRAMS = (
    Program("glmark2-es2", _glmark("glmark2-es2", SCENES_ON_SCREEN), "glmark2-es2-x11", FRAMES * len(SCENES_ON_SCREEN)),
    Program(
        "glmark2-es2-off-screen",
        _glmark("glmark2-es2", SCENES_OFF_SCREEN, "--off-screen"),
        "glmark2-es2-x11",
        FRAMES * len(SCENES_OFF_SCREEN),
    ),
    Program("glmark2", _glmark("glmark2", SCENES_ON_SCREEN), "glmark2-x11", FRAMES * len(SCENES_ON_SCREEN)),
    Program(
        "glmark2-off-screen",
        _glmark("glmark2", SCENES_OFF_SCREEN, "--off-screen"),
        "glmark2-x11",
        FRAMES * len(SCENES_OFF_SCREEN),
    ),
    Program("es2gears", ("es2gears_x11",), "mesa-utils-extra", frames=10, seconds=2),
    Program("glxgears", ("glxgears",), "mesa-utils", frames=10, seconds=2),
    Program("glxinfo", ("glxinfo",), "mesa-utils"),
    Program("es2_info", ("es2_info",), "mesa-utils-extra"),
    Program("eglinfo", ("eglinfo",), "mesa-utils-extra"),
    Program("qt-cube", _qt("cube"), "qtbase5-examples", frames=1, seconds=3, environment=_XCB),
    Program("qt-hellogl2", _qt("hellogl2"), "qtbase5-examples", frames=1, seconds=3, environment=_XCB),
    Program(
        *("qt-threadedqopenglwidget", _qt("threadedqopenglwidget"), "qtbase5-examples"),
        frames=2,
        seconds=3,
        environment=_XCB,
    ),
    Program("gtk3-glarea", ("gtk3-demo", "--run=glarea"), "gtk-3-examples", frames=1, seconds=4),
    Program("gtk4-glarea", ("gtk4-demo", "--run=glarea"), "gtk-4-examples", frames=1, seconds=4),
    Program("chromium-bsu", ("/usr/games/chromium-bsu", "-na", "-w"), "chromium-bsu", frames=2, seconds=5),
)


@dataclass(frozen=True)
class Ran:
    """How a run ended: exit code and what the program wrote."""

    code: int
    out: str
    err: str


def _run(command: Sequence[str], seconds: float, environment: Mapping[str, str]) -> Ran:
    # A process group of its own: the recorder passes signals on, but a program that is stuck must not stay behind.
    process = subprocess.Popen(
        command,
        *(-1, None, subprocess.DEVNULL, subprocess.PIPE, subprocess.PIPE),
        text=True,
        env=dict(environment),
        start_new_session=True,
    )
    try:
        if seconds:
            time.sleep(seconds)
            process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=TIMEOUT_S)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return Ran(process.returncode, out, err)


def _environment(program: Program, display: str | None, home: Path) -> dict[str, str]:
    inherited = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("DRAWTAP_")}
    kept = {k: v for k, v in os.environ.items() if k.startswith("DRAWTAP_NATIVE")}
    made = {"LIBGL_ALWAYS_SOFTWARE": "1", "HOME": str(home), "XDG_RUNTIME_DIR": str(home), "NO_AT_BRIDGE": "1"}
    shown = {"DISPLAY": display} if display else {}
    return {**inherited, **kept, **made, **shown, **program.environment}


def _found(program: Program, display: str | None) -> None:
    if shutil.which(program.argv[0]) is None:
        pytest.skip(f"{program.package} is not installed")
    if display is None:
        pytest.skip("Xvfb is not installed")


def _recorded(program: Program, environment: Mapping[str, str], folder: Path) -> tuple[Ran, list[Path]]:
    trace = folder / "program.dtap"
    command = [sys.executable, "-m", "drawtap", "record", "-o", str(trace), "--", *program.argv]
    ran = _run(command, program.seconds and program.seconds + 1, environment)
    return ran, sorted(folder.glob("program*.dtap"))


# Numbers that no two runs have in common: times and rates, addresses, free memory, process numbers.
_VARIES = re.compile(r"\d+\.\d+|0x[0-9a-f]{5,}|FPS: \d+|Score: \d+|\d+ frames in.*|.*memory: \d+ MB|\b\d+ MB\b|:\d+\)")


def _stable(output: str) -> list[str]:
    return [re.sub(r"\s+", " ", _VARIES.sub("#", line)) for line in output.splitlines()]


# Gears draw as fast as they can for as long as they run; other tests record them.
@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "program",
    [pytest.param(one, id=one.name, marks=[pytest.mark.exhaustive] * ("gears" in one.name)) for one in PROGRAMS],
)
def test_a_program_is_recorded_and_does_not_notice(program: Program, display: str | None, tmp_path: Path) -> None:
    _found(program, display)
    environment = _environment(program, display, tmp_path)
    plain = _run(program.argv, program.seconds, environment)
    ran, traces = _recorded(program, environment, tmp_path)
    # The recorder reports a signal as shells do.
    assert ran.code == (128 - plain.code if plain.code < 0 else plain.code), ran.err
    if not program.seconds:
        assert _stable(ran.out) == _stable(plain.out)
    assert traces, ran.err
    frames = 0
    for path in traces:
        with drawtap.open(path) as trace:
            frames += _check_trace(trace)
    assert frames >= program.frames


def _check_trace(trace: Trace) -> int:
    """Check that a trace is whole and wholly readable, and return how many frames it has."""
    assert trace.table("problems") == []
    assert [row for row in trace.table("notes") if row["code"] not in ("variants",)] == []
    assert cast(int, trace.info["calls"]) > 0
    assert _losses(trace) == {}
    lines = sum(1 for _ in trace.text(flags=1))
    assert lines == trace.info["calls"]
    assert list(_unread(trace)) == []
    assert list(_unnamed(trace)) == []
    return cast(int, trace.info["frames"])


def _losses(trace: Trace) -> dict[str, object]:
    ends = [json.loads(str(row["json"])) for row in trace.table("annotations") if row["kind"] == "end"]
    counts = ("calls_dropped", "calls_lost", "chunks_lost", "invalid_records", "blobs_lost")
    return {key: end[key] for end in ends for key in counts if end.get(key)}


def _called(trace: Trace) -> list[str]:
    return [str(row["name"]) for row in trace.table("histogram")]


def _unread(trace: Trace) -> Iterator[str]:
    """Yield arguments that should have content in the trace and have none."""
    called = set(_called(trace))
    without_rule = {str(row["name"]) for row in trace.table("functions") if "no_rule" in str(row["flags"])}
    for row in trace.table("params"):
        function, name = str(row["function"]), str(row["name"])
        if function not in called - without_rule or row["element"] is None:
            continue
        columns = {column.name for column in trace.schema(function)}
        pointer = f"{name}_pointer" if f"{name}_pointer" in columns else name
        if f"{name}_bytes" not in columns or pointer not in columns:
            continue
        query = f'SELECT count(*) FROM "{function}" WHERE "{pointer}" > 1048576 AND "{name}_bytes" IS NULL'
        count = trace.sql(query + " AND duration IS NOT NULL").fetchall()[0][0]
        if count:
            yield f"{function}.{name}: {count}"


# Numbers beside enumerants: X's Success, which GLX returns; GL 1.0's number of components for a format; no object.
_NUMBERS = {("result", "0"), *(("internalformat", str(n)) for n in range(1, 5))}


def _unnamed(trace: Trace) -> Iterator[str]:
    """Yield enumerants that are shown as numbers."""
    called = set(_called(trace))
    for row in trace.table("params"):
        function, name = str(row["function"]), str(row["name"])
        if function not in called or row["kind"] != "enum":
            continue
        # A lower-case letter or a digit first: no name.
        query = f"""SELECT DISTINCT "{name}" FROM "{function}" WHERE NOT regexp_matches("{name}", '^[A-Z]')"""
        for (value,) in trace.sql(query).fetchall():
            if (name, value) not in _NUMBERS:
                yield f"{function}.{name} = {value}"


OURS = (
    *("es2_triangle", "es1_cube", "readback", "maps", "pixels", "shared_contexts", "debug_markers"),
    *("client_arrays_es2", "client_arrays_gl1"),
)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", OURS)
def test_programs_of_ours_draw_the_same_images(name: str, programs: Bench, tmp_path: Path) -> None:
    # They print a checksum of what they read back.
    plain = programs.plain([name])
    assert plain.returncode == 0, plain.stdout + plain.stderr
    seen = programs.recorded([name], tmp_path)
    assert (seen.result.returncode, seen.result.stdout) == (0, plain.stdout)
    with drawtap.open(seen.traces[0]) as trace:
        _check_trace(trace)


def test_glmark2_finds_its_images_right(display: str | None, tmp_path: Path) -> None:
    # --validate compares pixels of each scene with what its authors expect there.
    scenes = ("build", "texture", "bump", "shading", "effect2d", "function", "conditionals", "loop")
    benchmarks = [word for scene in scenes for word in ("-b", scene)]
    program = Program("validate", ("glmark2-es2", "--validate", *benchmarks), "glmark2-es2-x11")
    _found(program, display)
    environment = _environment(program, display, tmp_path)
    plain = _run(program.argv, 0, environment)
    ran, _ = _recorded(program, environment, tmp_path)
    verdicts = [line for line in ran.out.splitlines() if "Validation" in line]
    assert len(verdicts) >= len(scenes)
    assert verdicts == [line for line in plain.out.splitlines() if "Validation" in line]
    assert any("Success" in line for line in verdicts)
    assert not any("Failure" in line for line in verdicts)


@pytest.mark.parametrize("timing", ["both", "entry", "none"])
def test_arguments_reach_driver_and_recording_where_a_call_takes_a_new_chunk(
    programs: Bench, tmp_path: Path, timing: str
) -> None:
    rounds = 60_000  # their calls fill dozens of chunks, and other calls are the first in each
    trace = tmp_path / "passed.dtap"
    program = [str(programs.programs / "passed"), str(rounds)]
    line = [sys.executable, "-m", "drawtap", "record", "-o", str(trace), "--timing", timing, "--", *program]
    done = subprocess.run(line, capture_output=True, text=True, timeout=TIMEOUT_S, env=programs.environment())
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 differing" in done.stdout.splitlines()
    expected = """CASE name
        WHEN 'glVertexAttrib4f' THEN [(params->>'x')::DOUBLE = i, (params->>'w')::DOUBLE = i + 0.75]
        WHEN 'glScissor' THEN [(params->>'x')::INT = i, (params->>'height')::INT = i + 3]
        ELSE [(params->>'size')::INT = 1 + i % 4, (params->>'stride')::INT = i % 1024,
              (params->>'pointer')::BIGINT = i]
        END"""
    rows = drawtap.open(trace).sql(
        f"""SELECT name, count(*), count(*) FILTER (WHERE NOT list_contains({expected}, false)),
                   count(*) FILTER (WHERE duration IS NOT NULL)
            FROM (SELECT *, row_number() OVER (PARTITION BY name ORDER BY seq) - 1 AS i FROM calls
                  WHERE name IN ('glVertexAttrib4f', 'glScissor', 'glVertexAttribPointer'))
            GROUP BY name ORDER BY name"""
    )
    timed = rounds if timing == "both" else 0
    assert rows.fetchall() == [
        (name, rounds, rounds, timed) for name in ("glScissor", "glVertexAttrib4f", "glVertexAttribPointer")
    ]
