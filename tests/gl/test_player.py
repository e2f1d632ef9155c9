"""What the player can beside playing: windows, attachments at any call, configurations, the driver's messages."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import drawtap
from drawtap.commands.replay import _summary
from drawtap.errors import UnavailableError
from drawtap.replay import player
from shared import SOFTWARE, run_drawtap

if TYPE_CHECKING:
    from conftest import Bench

pytestmark = pytest.mark.gl

TIMEOUT_S = 300


@pytest.fixture(scope="module", autouse=True)
def _player() -> None:
    player.program()


def _record(bench: Bench, argv: list[str], trace: Path, *, window: bool = False) -> Path:
    program = argv if Path(argv[0]).is_absolute() else bench.arguments(argv)
    return bench.record(program, trace, "--hash-frames", window=window)


def _play(trace: Path, *arguments: str, **environment: str) -> player.Replay:
    return player.play(trace, arguments, environment={**SOFTWARE, **environment})


def _drawtap(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "DISPLAY")}
    return run_drawtap(*arguments, environment={**kept, **SOFTWARE, **environment})


# ---- attachments -----------------------------------------------------------------------------------------------------


def _values(path: Path) -> tuple[int, int, dict[str, int]]:
    """Return the size of a PNG, and how often each value of a pixel (in hexadecimal) stands in it."""
    data, at, stored, head = path.read_bytes(), 8, b"", (0, 0, 0, 0)
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        if kind == b"IHDR":
            head = struct.unpack(">IIBB", data[at + 8 : at + 18])
        elif kind == b"IDAT":
            stored += data[at + 8 : at + 8 + length]
        at += 12 + length
    width, height, depth, colors = head
    size = {(8, 6): 4, (16, 0): 2, (8, 0): 1}[depth, colors]
    raw, found = zlib.decompress(stored), dict[str, int]()
    for y in range(height):
        for x in range(width):
            start = y * (width * size + 1) + 1 + x * size
            value = raw[start : start + size].hex()
            found[value] = found.get(value, 0) + 1
    return width, height, found


# Without these OpenGL ES does not read depth and stencil back: a shader copies them.
UNREADABLE = {"MESA_EXTENSION_OVERRIDE": "-GL_NV_read_depth -GL_NV_read_stencil -GL_NV_read_depth_stencil"}


@pytest.mark.parametrize("samples", [False, True])
@pytest.mark.parametrize("environment", [{}, UNREADABLE], ids=["read", "copied"])
def test_every_attachment_of_a_framebuffer(
    samples: bool, environment: dict[str, str], programs: Bench, tmp_path: Path
) -> None:
    trace = _record(programs, ["attachments", *(["samples"] if samples else [])], tmp_path / "t.dtap")
    query = "SELECT min(seq) AS n FROM calls WHERE name = 'glGetQueryObjectuiv'"
    done = _drawtap("sql", str(trace), query, "--json")
    assert done.returncode == 0, done.stderr
    call = str(json.loads(done.stdout)[0]["n"])
    folder = tmp_path / "images"
    wanted = ["--snapshot-at", f"calls:{call}", "--attachments", "color,depth,stencil"]
    done = _drawtap("replay", str(trace), "--snapshots", str(folder), *wanted, **environment)
    assert done.returncode == 0, done.stderr
    base = f"call{int(call):09}"
    assert _values(folder / f"{base}.png") == (20, 10, {"ff0000ff": 200})
    assert _values(folder / f"{base}-color1.png") == (20, 10, {"00ff00ff": 200})
    assert _values(folder / f"{base}-depth.png") == (20, 10, {"4000": 150, "bfff": 50})
    assert _values(folder / f"{base}-stencil.png") == (20, 10, {"07": 150, "09": 50})


def test_snapshots_of_draws_and_calls(programs: Bench, tmp_path: Path) -> None:
    trace = _record(programs, ["client_arrays_gl1"], tmp_path / "t.dtap")
    draws = _play(trace, "--snapshots", f"{tmp_path}/d", "--snapshot-at", "draws", "--attachments", "color,depth")
    color = [path for path in draws.images if "-depth" not in path.name]
    assert len(color) > 5
    assert len(draws.images) == 2 * len(color)
    third = _play(trace, "--snapshots", f"{tmp_path}/e", "--snapshot-at", "draws:3")
    assert [p.name[1:] for p in third.images] == [p.name[1:] for p in color[::3]]
    assert third.images[1].read_bytes() == color[3].read_bytes()
    every = _play(trace, "--snapshots", f"{tmp_path}/c", "--snapshot-at", "every:10")
    assert 3 <= len(every.images) <= 7
    # Looking does not change what is seen.
    plain, looked = (
        _play(trace, "--verify"),
        _play(trace, "--verify", "--snapshots", f"{tmp_path}/v", "--snapshot-at", "draws",
              "--attachments", "color,depth,stencil"),
    )  # fmt: skip
    assert plain.different == looked.different == 0
    assert plain.compared == looked.compared > 0


def test_buffers_hold_what_the_program_gave_them(programs: Bench, tmp_path: Path) -> None:
    trace = _record(programs, ["cutting", "core", "1"], tmp_path / "t.dtap")
    played = _play(trace, "--snapshots", f"{tmp_path}/b", "--snapshot-at", "draws:3", "--attachments", "color,buffers")
    buffers = [path for path in played.images if path.suffix == ".bin"]
    assert len(buffers) == len(played.images) / 2 >= 2
    assert all(path.name.endswith("-vertex-buffer1.bin") for path in buffers)
    places = [v for i in range(8) for v in (-1 + i / 4, -0.5, -0.75 + i / 4, -0.5, -1 + i / 4, 0.5)]
    assert {path.read_bytes() for path in buffers} == {struct.pack("<48f", *places)}


@pytest.mark.parametrize(("name", "draws_from_buffers"), [("maps", False), ("client_arrays_es2", True)])
def test_looking_at_buffers_changes_nothing(
    programs: Bench, tmp_path: Path, name: str, draws_from_buffers: bool
) -> None:
    trace = _record(programs, [name], tmp_path / "t.dtap")
    plain = _play(trace, "--verify")
    looked = _play(
        trace, "--verify", "--snapshots", f"{tmp_path}/c", "--snapshot-at", "every", "--attachments", "buffers"
    )
    assert (looked.different, looked.compared) == (plain.different, plain.compared)
    assert plain.different == 0
    assert draws_from_buffers == bool(looked.images)


def test_what_cannot_be_read_is_said(programs: Bench, tmp_path: Path) -> None:
    trace = _record(programs, ["es1_cube"], tmp_path / "t.dtap")
    played = _play(trace, "--snapshots", f"{tmp_path}/s", "--attachments", "color,stencil", "--frames", "0:1")
    assert len(played.images) == 1
    assert any("has no stencil buffer" in f.text for f in played.findings if f.what == "image")


def test_looking_at_depth_that_a_shader_copies_changes_nothing(programs: Bench, tmp_path: Path) -> None:
    # Nothing of OpenGL ES 1 reads the depth of a window.
    trace = _record(programs, ["es1_cube"], tmp_path / "t.dtap")
    plain = _play(trace, "--verify")
    looked = _play(trace, "--verify", "--snapshots", f"{tmp_path}/s", "--snapshot-at", "draws",
                   "--attachments", "depth")  # fmt: skip
    assert looked.different == plain.different == 0
    assert looked.compared == plain.compared > 0
    assert looked.images
    assert any(len(_values(path)[2]) > 10 for path in looked.images)  # a cube is nearer here than there


# ---- queries and messages --------------------------------------------------------------------------------------------


def test_answers_are_compared(programs: Bench, tmp_path: Path) -> None:
    trace = _record(programs, ["attachments"], tmp_path / "t.dtap")
    played = _play(trace, "--verify")
    # A frame's hash, the query's result, the framebuffer's name and the scissor box; the largest size is the driver's.
    assert (played.compared, played.different, played.uncompared) == (4, 0, 1)
    renamed = _play(trace, "--verify", "--shift-names")
    assert (renamed.compared, renamed.different) == (4, 0)


def test_messages_of_the_driver_have_their_call(programs: Bench, tmp_path: Path) -> None:
    right = _record(programs, ["attachments"], tmp_path / "right.dtap")
    assert not [f for f in _play(right, "--debug").findings if f.what in ("debug", "gl-error")]
    wrong = _record(programs, ["attachments", "wrong"], tmp_path / "wrong.dtap")
    (said,) = [f for f in _play(wrong, "--debug").findings if f.what == "debug"]
    assert said.function == "glEnable"
    assert said.text.startswith("error, high: GL_INVALID_ENUM")
    (error,) = [f for f in _play(wrong, "--verify").findings if f.what == "gl-error"]
    assert error.call == said.call


def test_a_check_that_had_nothing_to_compare_says_so() -> None:
    played = player.Replay(5, 1, 0.1, 0.1, 5, compared=0, different=0, skipped=0, engine="any")
    said = [v for v in _summary(played, verify=True) if v.subject == "compared"]
    assert [v.severity for v in said] == ["error"] and "nothing" in said[0].finding
    assert not [v for v in _summary(played, verify=False) if v.subject == "compared"]


def test_an_answer_that_never_came_is_not_compared(programs: Bench, tmp_path: Path) -> None:
    # The driver refused the question in the recording, too, and the program did not notice: nothing differs.
    trace = _record(programs, ["attachments", "unanswered"], tmp_path / "t.dtap")
    played = _play(trace, "--verify")
    assert played.different == 0
    assert [f.function for f in played.findings if f.what == "gl-error"] == ["glGetBooleanv"]


# ---- configurations --------------------------------------------------------------------------------------------------


def test_a_forced_configuration(programs: Bench, tmp_path: Path) -> None:
    trace = _record(programs, ["es2_triangle", "3"], tmp_path / "t.dtap")
    four = _play(trace, "--config", "samples=4", "--query-state", "30", "--query-file", str(tmp_path / "q"))
    assert '"limits.GL_SAMPLES", "4"' in (tmp_path / "q").read_text()
    assert any("forced" in f.text for f in four.findings)
    relaxed = _play(trace, "--config", "red=8,samples=64")
    assert any("samples 4 for 64" in f.text for f in relaxed.findings if f.what == "config")
    with pytest.raises(UnavailableError, match="no configuration"):
        _play(trace, "--config", "id=987654")
    assert _drawtap("replay", str(trace), "--config", "purple=8").returncode == 2
    assert _drawtap("replay", str(trace), "--config", "id=987654").returncode == 3


# ---- windows ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "program",
    [
        pytest.param("glxgears", marks=pytest.mark.exhaustive),  # it draws as many frames as it can for two seconds
        pytest.param("es2gears_x11", marks=pytest.mark.exhaustive),
        "resized_window",
        "es2_triangle",
    ],
)
def test_windows_are_shown(program: str, programs: Bench, tmp_path: Path) -> None:
    if programs.display is None:
        pytest.skip("Xvfb is not installed")
    argv = [program, "60"]
    if "gears" in program:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
        argv = [str(shutil.which("timeout")), "2", program]
    trace = _record(programs, argv, tmp_path / "t.dtap", window=program != "es2_triangle")
    played = _play(trace, "--verify", "--x11", DISPLAY=programs.display)
    assert played.frames > 1
    assert played.compared >= played.frames - 1
    assert played.different == 0


def test_a_size_that_the_program_does_not_notice_is_recorded(programs: Bench, tmp_path: Path) -> None:
    if programs.display is None:
        pytest.skip("Xvfb is not installed")
    # It is asked four times a second at least.
    trace = _record(programs, ["resized_window", "1", "unnoticed"], tmp_path / "t.dtap", window=True)
    done = _drawtap(
        "sql", str(trace), "SELECT text FROM natives WHERE kind IN ('window', 'surface') ORDER BY seq", "--json"
    )
    sizes = [row["text"].split(";")[:2] for row in json.loads(done.stdout)]
    assert sizes[0] == ["width=60", "height=40"]
    assert sizes[-1] == ["width=96", "height=64"]


def test_a_window_that_gets_another_size_in_its_first_frame(programs: Bench, tmp_path: Path) -> None:
    if programs.display is None:
        pytest.skip("Xvfb is not installed")
    trace = _record(programs, ["resized_window", "3", "first"], tmp_path / "t.dtap", window=True)
    with drawtap.open(trace) as opened:
        sizes = [str(row["text"]).split(";")[:2] for row in opened.table("natives") if row["kind"] == "surface"]
    assert sizes == [["width=60", "height=40"], ["width=72", "height=88"]]
    played = _play(trace, "--verify")
    assert (played.compared, played.different) == (3, 0), played.findings


def test_a_context_of_no_configuration_draws_to_what_the_surface_has(programs: Bench, tmp_path: Path) -> None:
    # Blending over a window without alpha shows whether it got one.
    trace = _record(programs, ["no_config", "3"], tmp_path / "t.dtap")
    played = _play(trace, "--verify")
    assert played.compared == 3
    assert played.different == 0, played.findings
    assert not played.findings


def test_closing_the_window_ends_it(programs: Bench, tmp_path: Path) -> None:
    if programs.display is None:
        pytest.skip("Xvfb is not installed")
    trace = _record(programs, ["resized_window", "400"], tmp_path / "t.dtap", window=True)
    command = [str(player.program()), "--x11", "--loop", "200", str(trace)]
    environment = {**os.environ, **SOFTWARE, "DISPLAY": programs.display}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as playing:
        seen = subprocess.run(
            programs.arguments(["close_window"]), env=environment, capture_output=True, text=True, timeout=TIMEOUT_S
        )
        said, _ = playing.communicate(timeout=TIMEOUT_S)
    assert seen.returncode == 0, seen.stderr
    size, colors = seen.stdout.split()
    assert size in ("60x40", "96x64", "33x50")
    assert int(colors) >= 2
    assert "the window was closed" in said
    assert playing.returncode == 0


def test_no_display_is_said(programs: Bench, tmp_path: Path) -> None:
    trace = _record(programs, ["es2_triangle", "3"], tmp_path / "t.dtap")
    done = _drawtap("replay", str(trace), "--window")
    assert done.returncode == 3
    assert "DISPLAY" in done.stderr
    done = _drawtap("replay", str(trace), "--window", DISPLAY=":4711")
    assert done.returncode == 3
    assert ":4711" in done.stderr


def test_pixmaps_that_become_textures_are_played(programs: Bench, tmp_path: Path) -> None:
    if programs.display is None:
        pytest.skip("Xvfb is not installed")
    alone = subprocess.run(
        programs.arguments(["pixmap_texture"]),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        env=programs.environment(),
    )
    if alone.returncode == 77:
        pytest.skip("this X server makes no textures of pixmaps")
    assert alone.stdout == "error 0x0, row length 99\n"
    trace = _record(programs, ["pixmap_texture"], tmp_path / "t.dtap", window=True)
    done = _drawtap("sql", str(trace), "SELECT * FROM natives WHERE kind = 'pixmap'", "--json")
    assert done.stdout.count("hash_low") == 4
    played = _play(trace, "--verify")
    assert not [f for f in played.findings if f.what == "texture"]
    assert played.compared >= 3
    assert (played.different, played.skipped) == (0, 0)


def test_vertices_of_a_program_without_a_vertex_shader_are_recorded(programs: Bench, tmp_path: Path) -> None:
    trace = _record(programs, ["fragment_only", "3"], tmp_path / "t.dtap")
    with drawtap.open(trace) as opened:
        [(held,)] = opened.sql("SELECT sum(address_bytes) FROM memory").fetchall()
    assert held >= 3 * (24 + 12)  # corners and colours of each draw
    played = _play(trace, "--verify")
    assert played.compared >= 3
    assert (played.different, played.skipped) == (0, 0), played.findings
    cut = _drawtap("extract", str(trace), "--frames", "2", "-o", str(tmp_path / "cut.dtap"))
    assert cut.returncode == 0, cut.stdout + cut.stderr
    assert _play(tmp_path / "cut.dtap", "--verify").different == 0


def test_what_was_read_from_a_front_buffer_is_played(programs: Bench, tmp_path: Path) -> None:
    if programs.display is None:
        pytest.skip("Xvfb is not installed")
    trace = _record(programs, ["front_buffer"], tmp_path / "t.dtap", window=True)
    frames = 8
    with drawtap.open(trace) as opened:
        [(fronts,)] = opened.sql("SELECT count(*) FROM natives WHERE kind = 'front'").fetchall()
        assert fronts == 5 * frames  # every way to read colors, and no depth
        assert str(opened.table("annotations")).count("front-buffer") == 0
    played = _play(trace, "--verify")
    assert played.compared >= 2 * frames
    assert (played.different, played.skipped) == (0, 0), played.findings
    # A frame needs no other: what it read is recorded with it.
    cut = _drawtap("extract", str(trace), "--frames", "6", "-o", str(tmp_path / "cut.dtap"), "--json")
    assert cut.returncode == 0, cut.stdout + cut.stderr
    with drawtap.open(tmp_path / "cut.dtap") as opened:
        [(swaps, copies)] = opened.sql(
            "SELECT count(*) FILTER (name = 'glXSwapBuffers'), count(*) FILTER (name = 'glCopyPixels') FROM calls"
        ).fetchall()
    assert swaps == 1
    assert copies <= 2
    assert _play(tmp_path / "cut.dtap", "--verify").different == 0


def test_a_choice_of_calls_says_which_stores_stay(programs: Bench, tmp_path: Path) -> None:
    trace, bits = _record(programs, ["mapped_frames", "4"], tmp_path / "t.dtap"), tmp_path / "bits"
    with drawtap.open(trace) as opened:
        [(calls, stores)] = opened.sql("SELECT (SELECT count(*) FROM calls), count(*) FROM map_writes").fetchall()
    assert stores
    bits.write_bytes(b"\xff" * -(-calls // 8))
    with pytest.raises(UnavailableError, match=f"{stores} stores through mappings"):
        _play(trace, "--keep", str(bits))
    bits.write_bytes(b"\xff" * (-(-calls // 8) + -(-stores // 8)))
    played = _play(trace, "--keep", str(bits), "--verify")
    assert (played.different, played.skipped) == (0, 0)


def test_a_recording_that_asks_for_a_configuration_of_its_own(programs: Bench, tmp_path: Path) -> None:
    trace, own, again = (tmp_path / name for name in ("t.dtap", "own.dtap", "again.dtap"))
    _record(programs, ["es2_triangle", "3"], trace)
    assert _drawtap("edit", str(trace), "--config", "samples=4", "-o", str(own)).returncode == 0
    assert _drawtap("edit", str(own), "--config", "recorded", "-o", str(again)).returncode == 0
    assert "forced" in _drawtap("replay", str(own)).stdout
    assert "forced" not in _drawtap("replay", str(again)).stdout
    # The player itself reads it: whatever plays the recording goes by it.
    samples = [json.loads(_drawtap("state", str(t), "#1", "limits.GL_SAMPLES", "--json").stdout) for t in (trace, own)]
    assert [rows[0]["value"] for rows in samples] == [0, 4]
    smooth = _drawtap("compare", str(trace), str(own), "--frames", "1", "--no-bisect")
    assert smooth.returncode == 1, smooth.stderr
    assert "1 compared, 0 equal, 1 differ" in smooth.stdout
    pictures = [tmp_path / f"{t.stem}.rgba" for t in (trace, own)]
    for t, picture in zip((trace, own), pictures, strict=True):
        assert _drawtap("image", str(t), "#1", "-o", str(picture)).returncode == 0
    assert pictures[0].read_bytes() != pictures[1].read_bytes()
    cut = _drawtap("extract", str(own), "--frames", "1", "-o", str(tmp_path / "cut.dtap"))
    assert cut.returncode == 0, cut.stdout
    assert "forced" in _drawtap("replay", str(tmp_path / "cut.dtap")).stdout
    assert _drawtap("edit", str(trace), "--config", "purple=8", "-o", str(tmp_path / "no.dtap")).returncode == 2
