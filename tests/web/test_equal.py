"""The viewer equals the command line for every kind of program: pictures, state, the list of calls."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from bench import exact

from drawtap.web.recording import MOST_CALLS, Recording
from gl.conftest import Bench, display, programs  # noqa: F401 - fixtures
from openvg.conftest import environment, headers, program, recorded  # noqa: F401 - fixtures
from shared import run_drawtap

pytestmark = pytest.mark.gl

#: By kind of program: the program of tests/gl/programs, or the scene of glmark2.
_PROGRAMS = {
    "fixed function": ("ff_lit", "3"),
    "display lists": ("ff_lists", "3"),
    "OpenGL ES 1": ("es1_cube",),
    "several contexts": ("two_contexts", "4"),
    "several threads": ("shared_contexts",),
    "several samples": ("samples_es",),
}
_SCENES = {
    "glmark2 desktop": ("glmark2-es2", "desktop:effect=shadow:windows=4"),
    "glmark2 terrain": ("glmark2", "terrain"),
    "glmark2 refract": ("glmark2-es2", "refract"),
    "glmark2 without buffers": ("glmark2", "build:use-vbo=false"),
}
_EXHAUSTIVE = ("display lists", "several threads", *list(_SCENES)[1:])
_KINDS = [
    pytest.param(kind, marks=pytest.mark.exhaustive) if kind in _EXHAUSTIVE else kind
    for kind in (*_PROGRAMS, *_SCENES, "OpenVG")
]
_DRAWS = 12  # of a frame


@pytest.fixture
def made(request: pytest.FixtureRequest, programs: Bench, tmp_path: Path) -> Path:  # noqa: F811
    """Record a program of the kind that a test names."""
    kind = request.param
    if kind == "OpenVG":
        return request.getfixturevalue("recorded")("frames")
    if kind in _PROGRAMS:
        return programs.record(_PROGRAMS[kind], tmp_path / "of.dtap")
    name, scene = _SCENES[kind]
    if shutil.which(name) is None or programs.display is None:
        pytest.skip(f"{name} or Xvfb is not installed")
    return exact.record(exact.glmark(name, scene, 3), tmp_path / "of.dtap", {"DISPLAY": programs.display})


@pytest.mark.parametrize("made", _KINDS, indirect=True)
def test_what_the_page_shows_is_what_the_command_line_has(made, tmp_path):
    recording = Recording(made)
    try:
        _calls_are_those_of_sql(recording)
        draws = _pictures_are_those_of_replay(recording, tmp_path)
        for seq in (draws[0], draws[-1]):
            told = {path: json.loads(value) for path, value, *_ in recording.state(seq, True)["rows"]}
            said = json.loads(run_drawtap("state", made, str(seq), "--json").stdout)
            assert told == {row["path"]: row["value"] for row in said}
    finally:
        recording.close()


def _calls_are_those_of_sql(recording: Recording) -> None:
    calls = recording.trace.info["calls"]
    asked = 'SELECT seq, frame, thread, context, name, t_start, duration, "call" FROM calls ORDER BY seq'
    rows = recording.trace.sql(asked).fetchall()
    shown = [
        row
        for first in range(0, calls, MOST_CALLS)
        for row in recording.calls(range(first, min(first + MOST_CALLS, calls)))
    ]
    assert [tuple(row[:7]) for row in shown] == [row[:7] for row in rows]
    assert all(said[7].startswith(row[7].rstrip("…")) for row, said in zip(shown, rows, strict=True))


def _pictures_are_those_of_replay(recording: Recording, folder: Path) -> list[int]:
    """Compare attachments after draws of a frame in the middle; return these draws."""
    frame = recording.trace.sql("SELECT frame FROM draws ORDER BY seq").fetchall()
    frame = frame[len(frame) // 2][0]
    options = ("--snapshot-at", "draws", "--attachments", "color,depth,stencil", "--frames", f"{frame}:{frame + 1}")
    answer = run_drawtap("replay", recording.path, "--snapshots", f"{folder}/", *options)
    saved: dict[int, dict[str, bytes]] = {}
    for file in sorted(folder.glob("call*.png")):
        seq, _, of = file.stem.removeprefix("call").partition("-")
        saved.setdefault(int(seq), {})[of] = file.read_bytes()
    assert saved, answer.stdout + answer.stderr
    for seq in list(saved)[:: len(saved) // _DRAWS + 1]:
        assert recording.pictures.attachments(seq)[0] == saved[seq], seq
    return list(saved)
