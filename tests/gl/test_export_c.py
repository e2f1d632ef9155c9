"""Recordings become C source that compiles with nothing of ours and draws the same pixels."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import drawtap
import writer
from drawtap.formats.c import export_c
from drawtap.replay import compare, player
from shared import run_drawtap, steps

if TYPE_CHECKING:
    from conftest import Bench

pytestmark = pytest.mark.gl

TIMEOUT_S = 300
# Our programs read back what they draw: how often, at least.
PROGRAMS = {
    "es2_triangle": 10,
    "client_arrays_es2": 1,
    "client_arrays_gl1": 1,
    "es1_cube": 6,
    "readback": 5,
    "maps": 30,
    "pixels": 100,
    "shared_contexts": 6,
    "egl_images": 6,
}
# Real programs have windows: what they show is compared with the player's images.
WINDOWS = {
    "glxgears": ["glxgears"],
    "es2gears": ["es2gears_x11"],
    "build": ["glmark2-es2", "-s", "64x64", "-b", "build:nframes=3"],
    "client arrays": ["glmark2-es2", "-s", "64x64", "-b", "build:use-vbo=false:nframes=3"],
    "texture": ["glmark2-es2", "-s", "64x64", "-b", "texture:nframes=3"],
    "shading": ["glmark2-es2", "-s", "64x64", "-b", "shading:nframes=3"],
    "bump": ["glmark2-es2", "-s", "64x64", "-b", "bump:nframes=3"],
    "mapped buffers": ["glmark2-es2", "-s", "64x64", "-b", "buffer:update-method=map:nframes=3"],
    "desktop GL": ["glmark2", "-s", "64x64", "-b", "shading:nframes=3"],
}


@dataclass(frozen=True)
class Built:
    """An export that was compiled."""

    folder: Path
    program: Path

    def run(self, bench: Bench, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Play it."""
        return subprocess.run(
            [self.program, *arguments],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            env={**bench.environment(), **environment},
        )


def _record(bench: Bench, argv: list[str], trace: Path, *, window: bool = False) -> Path:
    return bench.record(argv, trace, window=window)


def _built(folder: Path, *options: str, warnings: str = "-Wall -Wextra -Werror") -> Built:
    for tool in ("cmake", "cc"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    where = folder / "build"
    configure = ["cmake", "-S", str(folder), "-B", str(where), f"-DCMAKE_C_FLAGS={warnings}", *options]
    for command in (configure, ["cmake", "--build", str(where), "-j2"]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return Built(folder, where / "play")


def _exported(trace: Path, folder: Path, *options: str) -> None:
    done = run_drawtap("export", trace, "-f", "c", "-o", folder, *options)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def triangle(programs: Bench, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _record(programs, ["es2_triangle", "10"], tmp_path_factory.mktemp("triangle") / "t.dtap")


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_read_back_is_what_the_program_got(name: str, programs: Bench, tmp_path: Path) -> None:
    trace = _record(programs, [name], tmp_path / "t.dtap")
    _exported(trace, tmp_path / "c")
    played = _built(tmp_path / "c", "-DPLAY_CHECK=ON").run(programs)
    found = re.search(r"(\d+) frames, (\d+) GL errors, (\d+) read-backs, (\d+) differ", played.stdout)
    assert found, played.stdout + played.stderr
    assert int(found[2]) == int(found[4]) == 0, played.stderr
    assert int(found[3]) >= PROGRAMS[name]
    assert played.returncode == 0


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", WINDOWS)
def test_frames_are_those_of_the_player(name: str, programs: Bench, tmp_path: Path) -> None:
    argv = WINDOWS[name]
    if shutil.which(argv[0]) is None:
        pytest.skip(f"{argv[0]} is not installed")
    if programs.display is None:
        pytest.skip("Xvfb is not installed")
    endless = "gears" in argv[0]
    wanted = steps(5, 30) if endless else 3
    if endless:
        trace = _shown(programs, argv, tmp_path, wanted)
    else:
        trace = _record(programs, argv, tmp_path / "t.dtap", window=True)
    _exported(trace, tmp_path / "c", "--frames", f"0:{wanted}")
    snapshots = tmp_path / "snapshots"
    snapshots.mkdir()
    options = ("-DPLAY_CHECK=ON", "-DPLAY_SNAPSHOT=ON")
    played = _built(tmp_path / "c", *options).run(programs, PLAY_SNAPSHOTS=str(snapshots))
    assert played.returncode == 0, played.stderr
    assert "0 GL errors" in played.stdout
    images = tmp_path / "images"
    images.mkdir()
    arguments = ["--frames", f"0:{wanted}", "--snapshots", f"{images}/", "--format", "rgba"]
    player.play(trace, arguments, environment={"EGL_PLATFORM": "surfaceless", "LIBGL_ALWAYS_SOFTWARE": "1"})
    numbers = [int(path.stem) for path in sorted(images.glob("*.rgba"))]
    assert numbers == list(range(wanted))
    for n in numbers:
        shown = (snapshots / f"frame_{n}.rgba").read_bytes()
        assert len(set(shown)) > 2 or n == 0  # something was drawn
        assert shown == (images / f"{n:06d}.rgba").read_bytes(), f"frame {n} differs"


def test_windows_change_their_size(programs: Bench, tmp_path: Path) -> None:
    if programs.display is None:
        pytest.skip("Xvfb is not installed")
    argv = programs.arguments(["resized_window", "120"])
    trace = _record(programs, argv, tmp_path / "t.dtap", window=True)
    _exported(trace, tmp_path / "c")
    snapshots = tmp_path / "snapshots"
    snapshots.mkdir()
    played = _built(tmp_path / "c", "-DPLAY_CHECK=ON", "-DPLAY_SNAPSHOT=ON").run(
        programs, PLAY_SNAPSHOTS=str(snapshots)
    )
    assert "120 frames, 0 GL errors" in played.stdout, played.stderr
    # The tap asks for the size now and then only, so the first frames of a new size still have the old one.
    sizes = [(snapshots / f"frame_{n}.rgba").stat().st_size for n in (0, 79, 119)]
    assert sizes == [60 * 40 * 4, 96 * 64 * 4, 33 * 50 * 4]
    last = (snapshots / "frame_119.rgba").read_bytes()
    assert last[-4:-1] == bytes([255, 255, 0])  # the corner that depends on the size


def _shown(programs: Bench, argv: Sequence[str], folder: Path, frames: int) -> Path:
    """Record a program that ends never for so long that it shows so many frames."""
    for seconds in ("1", "10", "60"):  # a loaded machine draws few frames in a second
        trace = folder / f"t{seconds}.dtap"
        programs.record(["timeout", seconds, *argv], trace, window=True, late=True)
        traces = sorted(folder.glob(f"t{seconds}*.dtap"), key=lambda path: path.stat().st_size)
        if not traces:
            continue
        with drawtap.open(traces[-1]) as opened:
            if len(list(opened.table("frames"))) > frames:
                return traces[-1]
    raise AssertionError(f"{argv} shows fewer than {frames} frames in a minute")


def test_the_source_is_readable(triangle: Path, tmp_path: Path) -> None:
    _exported(triangle, tmp_path / "c")
    frames = (tmp_path / "c" / "frames_000.c").read_text()
    for line in (
        "void frame_3(void) {",
        "  glClear(GL_DEPTH_BUFFER_BIT | GL_COLOR_BUFFER_BIT);",
        "  glGenBuffers(1, &buffer_1);",
        '  loc_program_1_turn = glGetUniformLocation(program_1, "turn");',
        "  glUniform2f(loc_program_1_turn, 0.96f, 0.28f);",
        "  glVertexAttribPointer(1, 3, GL_FLOAT, GL_FALSE, 20, (const void *)8);",
        "  eglSwapBuffers(display, surface_1);",
    ):
        assert line in frames, line
    assert not re.search(r"\b0x8[0-9A-Fa-f]{3}\b", frames)  # constants have names
    readme = (tmp_path / "c" / "README.md").read_text()
    assert readme.startswith("# es2_triangle, recorded in t.dtap") and "es2_triangle 10 |" in readme
    sources = (tmp_path / "c" / "sources.c").read_text()
    assert '  "void main() { c = color; gl_Position = vec4(position.x * turn.x - position.y * turn.y,\\n"' in sources
    text = "".join(
        path.read_text() for path in (tmp_path / "c").iterdir() if path.suffix in {".c", ".h", ".md", ".txt"}
    )
    assert "drawtap" not in text.replace("drawtap-", "")  # it stands alone


@pytest.mark.parametrize("tool", ["make", "mapped data", "c99", "clang", "c++ linkage"])
def test_other_ways_to_build(tool: str, triangle: Path, programs: Bench, tmp_path: Path) -> None:
    folder = tmp_path / "c"
    _exported(triangle, folder)
    if tool == "make":
        done = subprocess.run(
            ["make", "-j2", "CFLAGS=-O1 -Wall -Wextra -Werror -DPLAY_CHECK"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            env={k: v for k, v in os.environ.items() if not k.startswith("MAKE")},
        )
        assert done.returncode == 0, done.stderr
        built = Built(folder, folder / "play")
    elif tool == "mapped data":
        built = _built(folder, "-DPLAY_DATA_FILE=ON", "-DPLAY_CHECK=ON")
    elif tool == "c99":
        strict = "-Wall -Wextra -Werror -pedantic -Wno-overlength-strings"
        built = _built(folder, "-DPLAY_CHECK=ON", "-DCMAKE_C_EXTENSIONS=OFF", warnings=strict)
    elif tool == "clang":
        compiler = next((name for name in ("clang", "clang-14") if shutil.which(name)), None)
        if compiler is None:
            pytest.skip("clang is not installed")
        built = _built(folder, "-DPLAY_CHECK=ON", f"-DCMAKE_C_COMPILER={compiler}")
    else:
        # What a host of another language needs: the interface alone.
        user = folder / "user.cc"
        user.write_text('extern "C" {\n#include "play.h"\n}\nint main() { return play_frame_count() < 0; }\n')
        done = subprocess.run(
            ["c++", "-fsyntax-only", "-Wall", "-Werror", str(user)], capture_output=True, text=True, timeout=TIMEOUT_S
        )
        assert done.returncode == 0, done.stderr
        return
    played = built.run(programs)
    assert "10 frames, 0 GL errors, 10 read-backs, 0 differ" in played.stdout, played.stderr


def test_some_frames_with_what_came_before_as_set_up(triangle: Path, programs: Bench, tmp_path: Path) -> None:
    _exported(triangle, tmp_path / "c", "--frames", "4:6")
    frames = (tmp_path / "c" / "frames_000.c").read_text()
    assert "void frame_4(void)" in frames and "void setup_3(void)" in frames
    assert "frame_6" not in frames
    snapshots = tmp_path / "snapshots"
    snapshots.mkdir()
    built = _built(tmp_path / "c", "-DPLAY_CHECK=ON", "-DPLAY_SNAPSHOT=ON")
    played = built.run(programs, PLAY_SNAPSHOTS=str(snapshots))
    assert "2 frames, 0 GL errors, 6 read-backs, 0 differ" in played.stdout, played.stderr
    assert sorted(path.name for path in snapshots.glob("*.rgba")) == ["frame_4.rgba", "frame_5.rgba"]


def test_frames_play_again_and_again(triangle: Path, programs: Bench, tmp_path: Path) -> None:
    _exported(triangle, tmp_path / "c")
    built = _built(tmp_path / "c", "-DPLAY_CHECK=ON")
    played = built.run(programs, "--loop", "3", "--frames-per-second")
    # Ten frames, the first one once, and nine of them three times.
    assert "28 read-backs, 0 differ" in played.stdout, played.stdout
    assert "27 frames in " in played.stdout
    assert "10 read-backs, 0 differ" in built.run(programs, "--loop", "1").stdout
    assert built.run(programs, "--loop", "0").returncode == 2


def test_frames_leave_the_memory_of_the_driver_alone(programs: Bench, tmp_path: Path) -> None:
    # llvmpipe takes a megabyte for each draw of this scene: a hundred pages that the kernel would have to fill again.
    scene = ["glmark2-es2", "--off-screen", "--frame-end", "finish", "-s", "64x64", "-b", "build:nframes=30"]
    trace = _record(programs, scene, tmp_path / "t.dtap", window=True)
    _exported(trace, tmp_path / "c")
    built = _built(tmp_path / "c")
    once, often = (_page_faults(programs, built.program, "--loop", str(loops)) for loops in (1, 5))
    assert (often - once) / (4 * 29) < 20, (once, often)


def _page_faults(bench: Bench, program: Path, *arguments: str) -> int:
    environment = {**bench.environment(), "LP_NUM_THREADS": "0"}
    process = os.posix_spawn(str(program), [str(program), *arguments], environment)
    _, status, usage = os.wait4(process, 0)
    assert status == 0
    return usage.ru_minflt


def test_a_difference_is_told(triangle: Path, programs: Bench, tmp_path: Path) -> None:
    _exported(triangle, tmp_path / "c")
    frames = tmp_path / "c" / "frames_000.c"
    frames.write_text(
        frames.read_text().replace("glUniform2f(loc_program_1_turn, 0.96f", "glUniform2f(loc_program_1_turn, 0.5f")
    )
    played = _built(tmp_path / "c", "-DPLAY_CHECK=ON").run(programs)
    assert played.returncode == 1
    assert "frame 1: read-back 2 (12288 bytes) differs from the recording" in played.stderr


def test_long_frames_are_cut_to_what_compilers_like(programs: Bench, tmp_path: Path) -> None:
    trace = _record(programs, ["many_calls", "rand", "3000", "2"], tmp_path / "t.dtap")
    with drawtap.open(trace) as opened:
        made = export_c(opened, tmp_path / "c", calls_per_file=900, calls_per_function=100)
    assert len(made.files) >= 6
    for name in made.files:
        text = (tmp_path / "c" / name).read_text()
        assert all(body.count("\n  gl") <= 100 for body in text.split("\n}\n"))
        assert text.count("\n  gl") <= 1000
    played = _built(tmp_path / "c", "-DPLAY_CHECK=ON").run(programs)
    assert played.returncode == 0, played.stderr


def test_equal_frames_have_one_function(programs: Bench, tmp_path: Path) -> None:
    trace = _record(programs, ["es2_triangle", "3"], tmp_path / "t.dtap")
    with drawtap.open(trace) as opened:
        made = export_c(opened, tmp_path / "c")
    assert (made.frames, made.repeated) == (3, 0)
    trace = _record(programs, ["es1_cube"], tmp_path / "u.dtap")
    with drawtap.open(trace) as opened:
        export_c(opened, tmp_path / "d")
    listed = (tmp_path / "d" / "frame_list.h").read_text()
    assert listed.count("void frame_") <= 6


def test_names_in_a_recording_are_not_code(programs: Bench, triangle: Path, tmp_path: Path) -> None:
    """A recording explains itself; what it says must not end up as a call of something else."""
    signatures = writer.SIGNATURES.replace("\tglEnable\t", '\tglEnable(0);system("id")\t').replace(
        "GL_BLEND", "0);abort("
    )
    w = writer.Writer(signatures)
    w.thread().call('glEnable(0);system("id")', cap=3042, duration=1).call("eglSwapBuffers", dpy=1, surface=2, result=1)
    with drawtap.open(w.write(tmp_path / "t.dtap")) as opened:
        export_c(opened, tmp_path / "c")
    text = "".join(path.read_text() for path in (tmp_path / "c").glob("*.[ch]"))
    assert "system(" not in text and "abort(" not in text


def test_an_export_on_another_engine_still_draws(triangle: Path, programs: Bench, tmp_path: Path) -> None:
    _exported(triangle, tmp_path / "c")
    snapshots = tmp_path / "snapshots"
    snapshots.mkdir()
    built = _built(tmp_path / "c", "-DPLAY_SNAPSHOT=ON")
    played = built.run(programs, GALLIUM_DRIVER="softpipe", PLAY_SNAPSHOTS=str(snapshots))
    assert played.returncode == 0, played.stderr
    with drawtap.open(triangle) as opened:
        source = compare.Played(opened, "softpipe")
        for n, image in source.images(0, 10):
            assert image[::-1].tobytes() == (snapshots / f"frame_{n}.rgba").read_bytes()


def test_late_frames_of_a_scene_find_their_textures_and_framebuffers(programs: Bench, tmp_path: Path) -> None:
    if shutil.which("glmark2-es2") is None or programs.display is None:
        pytest.skip("glmark2-es2 and Xvfb are needed")
    argv = ["glmark2-es2", "-s", "64x64", "-b", "desktop:effect=blur:windows=2:nframes=5"]
    trace = _record(programs, argv, tmp_path / "t.dtap", window=True)
    _exported(trace, tmp_path / "c", "--frames", "3:5")
    text = (tmp_path / "c" / "frames_000.c").read_text()
    assert "void frame_3(void)" in text and "void setup_2(void)" in text and "void frame_5(void)" not in text
    assert "glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);" in text
    snapshots, images = tmp_path / "snapshots", tmp_path / "images"
    snapshots.mkdir()
    images.mkdir()
    options = ("-DPLAY_CHECK=ON", "-DPLAY_SNAPSHOT=ON")
    played = _built(tmp_path / "c", *options).run(programs, PLAY_SNAPSHOTS=str(snapshots))
    assert "2 frames, 0 GL errors" in played.stdout, played.stderr
    arguments = ["--frames", "3:5", "--snapshots", f"{images}/", "--format", "rgba"]
    player.play(trace, arguments, environment={"EGL_PLATFORM": "surfaceless", "LIBGL_ALWAYS_SOFTWARE": "1"})
    for n in (3, 4):
        shown = (snapshots / f"frame_{n}.rgba").read_bytes()
        assert len(set(shown)) > 2
        assert shown == (images / f"{n:06d}.rgba").read_bytes(), f"frame {n} differs"


def test_call_backs_for_messages_print_them(programs: Bench, tmp_path: Path) -> None:
    trace = _record(programs, ["debug_callback"], tmp_path / "t.dtap")
    _exported(trace, tmp_path / "c")
    text = (tmp_path / "c" / "frames_000.c").read_text()
    assert "  glDebugMessageCallback(play_debug_message, NULL);\n" in text
    assert "  glDebugMessageCallback(NULL, NULL);\n" in text
    played = _built(tmp_path / "c").run(programs)
    assert played.returncode == 0, played.stderr
    assert "frame 0: message 0x7 of source 0x824a" in played.stderr and "look here" in played.stderr
    assert "nobody hears" not in played.stderr
