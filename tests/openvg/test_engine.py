"""The OpenVG engine: calls with known results, wild calls under the sanitizers, recording and pictures."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sanitized
from drawtap import open as open_trace
from drawtap import parts
from drawtap.spec.registry import load_api
from shared import once, write_headers

HERE = Path(__file__).parent
ENGINE = HERE.parents[1] / "native" / "openvg"


def test_every_command_is_exported() -> None:
    library = parts.part(parts.OPENVG)
    listed = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    names = {line.split()[-1] for line in listed.splitlines()}
    core = {
        name
        for name, command in load_api("vg").commands.items()
        if any(feature.startswith(("VG_VERSION", "VGU_VERSION")) for feature in command.provided_by)
    }
    assert len(core) == 96
    assert core <= names


def test_headers_compile_as_c_and_cpp(headers: Path) -> None:
    text = "#include <VG/vgu.h>\n#include <VG/vgext.h>\nVGPath f(void) { return vgCreatePaint() + VG_FILL_PATH; }\n"
    text += "VG_API_CALL VGint VG_API_ENTRY g(void) VG_API_EXIT;\n"  # as Khronos' headers let programs declare
    for language in ("c", "c++"):
        command = ["cc", "-x", language, "-Wall", "-Werror", f"-I{headers}", "-fsyntax-only", "-"]
        subprocess.run(command, input=text, text=True, check=True)


@pytest.mark.parametrize("name", ["calls", "errors", "shared"])
def test_calls_have_the_results_of_the_specification(
    program: Callable[[str], Path], environment: dict[str, str], name: str
) -> None:
    done = subprocess.run([program(name)], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_other_apis_go_through_the_front(environment: dict[str, str], tmp_path: Path) -> None:
    def calls(env: dict[str, str]) -> str:
        command = ["eglinfo"]
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=300).stdout

    plain, through = calls(dict(os.environ)), calls(environment)
    assert "EGL version string" in plain
    assert "OpenVG" in through
    # Every line of the system's EGL is there, but for what tells of OpenVG.
    told = set(through.splitlines())
    missing = [line for line in plain.splitlines() if line not in told and "EGL client APIs" not in line]
    assert all("EGL_" in line or line.strip().startswith("0x") for line in missing), missing


def test_programs_are_recorded_on_it(drawtap: Callable[..., object], recorded: Callable[..., Path]) -> None:
    answer = drawtap("sql", recorded("calls"), "SELECT DISTINCT name FROM calls WHERE name LIKE 'vg%'", "--json")
    assert answer.code == 0  # type: ignore[attr-defined]
    for name in ("vgAppendPathData", "vgDrawPath", "vgGaussianBlur", "vguEllipse", "vgDrawGlyphs"):
        assert f'"{name}"' in answer.out  # type: ignore[attr-defined]


def test_parts_of_paths_are_recorded_however_the_paths_came_about(
    program: Callable[[str], Path],
    environment: dict[str, str],
    recorded: Callable[..., Path],
    drawtap: Callable[..., object],
) -> None:
    said = subprocess.run([program("parts")], env=environment, capture_output=True, text=True, check=True).stdout
    file = recorded("parts", "--hash-frames")
    with open_trace(file) as trace:
        found = trace.sql('SELECT pathData_bytes FROM "vgModifyPathCoords" ORDER BY seq').fetchall()
        assert [n for (n,) in found] == [int(word) for word in said.split()]
        assert trace.sql("SELECT count(*) FROM notes").fetchall() == [(0,)]
    assert drawtap("replay", file, "--verify").code == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["calls", "frames", "shared", "shared frames", "shared targets"])
def test_recordings_play_exactly(drawtap: Callable[..., object], recorded: Callable[..., Path], name: str) -> None:
    name, *arguments = name.split()
    trace = recorded(name, "--hash-frames", arguments=tuple(arguments))
    answer = drawtap("replay", trace, "--verify", "--json")
    assert answer.code == 0, answer.out + answer.err  # type: ignore[attr-defined]
    found = json.loads(answer.out)  # type: ignore[attr-defined]
    assert [found[name] for name in ("skipped", "uncompared", "unseen", "findings")] == [0, 0, 0, []], found
    # The frames that were shown, and what the program read back.
    assert found["different"] == 0 and found["compared"] >= 10, found


def test_errors_are_played_and_failed_read_backs_not_compared(
    drawtap: Callable[..., object], recorded: Callable[..., Path]
) -> None:
    answer = drawtap("replay", recorded("errors", arguments=("aligned",)), "--verify", "--json")
    assert answer.code == 0, answer.out + answer.err  # type: ignore[attr-defined]
    found = json.loads(answer.out)  # type: ignore[attr-defined]
    assert [found[name] for name in ("skipped", "different", "unseen", "findings")] == [0, 0, 0, []], found
    assert found["compared"] > 0, found
    assert found["uncompared"] == 2, found  # of an unknown image, and of one that is drawn to


def test_images_of_any_call(drawtap: Callable[..., object], recorded: Callable[..., Path], tmp_path: Path) -> None:
    image = tmp_path / "frame.ppm"
    answer = drawtap("image", recorded("frames"), "#2", "-o", image)
    assert answer.code == 0, answer.err  # type: ignore[attr-defined]
    head, _, body = image.read_bytes().partition(b"255\n")
    assert head.split() == [b"P6", b"320", b"240"]
    pixels = np.frombuffer(body, np.uint8)
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 200  # gradients, and what is antialiased


@pytest.fixture(scope="session")
def fuzzer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return once(tmp_path_factory, "fuzz_openvg", _fuzzer)


def _fuzzer(folder: Path) -> Path:
    write_headers(folder / "include")
    agg = next(Path("/usr/include").glob("agg2"), Path("/usr/include"))
    sources = [*sorted(set(ENGINE.glob("*.cc")) - {ENGINE / "front.cc"}), HERE / "fuzz.cc"]
    own = ("-Wno-error", "-isystem", str(agg))
    rooms = [folder / "include", ENGINE]
    return sanitized.build(folder / "fuzz", sources, libraries=("agg_pic",), own=own, includes=rooms)


# 102 dashes lines that lead far away, 128 joins lines of enormous width.
@pytest.mark.parametrize("seed", [0, 1, 2, 102, 128])
def test_wild_calls_do_no_harm(fuzzer: Path, seed: int) -> None:
    done = subprocess.run([fuzzer, str(seed), "3000"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
