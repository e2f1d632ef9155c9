"""The state that a driver tells: right values at the right calls, without disturbing the replay; the warm player."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from drawtap.errors import InputError
from drawtap.replay import player, state, warm
from shared import SOFTWARE, run_drawtap

if TYPE_CHECKING:
    from conftest import Bench

pytestmark = pytest.mark.gl

TIMEOUT_S = 300


@pytest.fixture(scope="module", autouse=True)
def _player() -> None:
    player.program()


@pytest.fixture(scope="module")
def recordings(programs: Bench, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("state")
    found = {}
    for name in ("es2_triangle", "es1_cube", "client_arrays_gl1", "shared_contexts", "pixels", "maps"):
        found[name] = programs.record([name], folder / f"{name}.dtap", "--hash-frames")
    return found


def _sql(trace: Path, query: str) -> list[dict[str, object]]:
    done = run_drawtap("sql", trace, query, "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert isinstance(rows, list)
    return rows


def _states(trace: Path, calls: list[int], tmp_path: Path, **more: str) -> dict[int, dict[str, object]]:
    output = tmp_path / "state.txt"
    state.query(trace, calls, output, environment=SOFTWARE, **more)
    found: dict[int, dict[str, object]] = defaultdict(dict)
    for line in output.read_text().splitlines():
        seq, path, value = json.loads(line)
        found[seq][path] = json.loads(value)
    return found


@pytest.mark.parametrize("name", ["es2_triangle", "es1_cube", "client_arrays_gl1", "shared_contexts", "pixels", "maps"])
def test_asking_leaves_no_trace(name: str, recordings: dict[str, Path], tmp_path: Path) -> None:
    calls = ",".join(str(n) for n in range(0, 2000, 3))
    arguments = ["--verify", "--query-state", calls, "--query-file", str(tmp_path / "q")]
    played = player.play(recordings[name], arguments, environment=SOFTWARE)
    assert played.compared > 0
    assert (played.different, played.skipped) == (0, 0)
    assert {f.what for f in played.findings} <= {"config", "state"}
    lines = (tmp_path / "q").read_text().splitlines()
    assert len(lines) > 500
    for line in lines:
        seq, path, value = json.loads(line)
        assert path.startswith(("context", "share.", "limits.", "driver."))
        assert seq % 3 == 0
        json.loads(value)


def test_setters_are_seen_by_getters(recordings: dict[str, Path], tmp_path: Path) -> None:
    trace = recordings["es2_triangle"]
    rows = _sql(trace, "SELECT seq FROM calls WHERE name = 'glClearColor' ORDER BY seq")
    calls = [int(str(row["seq"])) for row in rows]
    at = _states(trace, [calls[0] - 1, calls[0], calls[-1]], tmp_path)
    assert at[calls[0] - 1]["context.GL_COLOR_CLEAR_VALUE"] == [0, 0, 0, 0]
    assert at[calls[0]]["context.GL_COLOR_CLEAR_VALUE"] != [0, 0, 0, 0]
    last = at[calls[-1]]
    assert last["context.GL_DEPTH_FUNC"] == "GL_LESS"
    assert last["context.enabled.GL_BLEND"] is False
    assert last["context.GL_VIEWPORT"] == [0, 0, 64, 48]
    program = last["context.GL_CURRENT_PROGRAM"]
    assert last[f"share.programs[{program}].GL_LINK_STATUS"] is True
    assert last["context.vertex_arrays[0].attributes[0].GL_VERTEX_ATTRIB_ARRAY_TYPE"] == "GL_FLOAT"
    assert isinstance(last["limits.GL_MAX_TEXTURE_SIZE"], int)


def test_objects_have_the_recorded_names(recordings: dict[str, Path], tmp_path: Path) -> None:
    trace = recordings["shared_contexts"]
    end = int(str(_sql(trace, "SELECT max(seq) AS n FROM calls WHERE name = 'glReadPixels'")[0]["n"]))
    plain = _states(trace, [end], tmp_path)[end]
    output = tmp_path / "shifted"
    arguments = ["--query-state", str(end), "--query-file", str(output), "--shift-names"]
    player.play(trace, arguments, environment=SOFTWARE)
    shifted = {}
    for line in output.read_text().splitlines():
        _, path, value = json.loads(line)
        shifted[path] = json.loads(value)
    assert any(path.startswith("share.textures[") for path in plain)
    # The player's own objects come along where names were taken away; the recorded ones are all the same.
    assert {path: value for path, value in shifted.items() if path in plain} == plain


def test_warm_player_goes_on_and_back(recordings: dict[str, Path], tmp_path: Path) -> None:
    trace = recordings["pixels"]
    with warm.Warm(trace, environment=SOFTWARE) as asked:
        images = []
        for call in (300, 1000, 1000, 2000):
            assert asked.image(call, tmp_path / "a.png") is None
            images.append((tmp_path / "a.png").read_bytes())
            assert dict(asked.state(call, "context.GL_VIEWPORT"))
        assert asked.starts == 1
        assert images[1] == images[2]
        assert asked.image(300, tmp_path / "a.png") is None
        assert asked.starts == 2
        assert (tmp_path / "a.png").read_bytes() == images[0]
    cold = player.play(trace, ["--image", "1000", str(tmp_path / "cold.png")], environment=SOFTWARE)
    assert cold.images
    assert (tmp_path / "cold.png").read_bytes() == images[1]


def test_warm_player_says_what_is_wrong(tmp_path: Path) -> None:
    broken = tmp_path / "broken.dtap"
    broken.write_bytes(b"no trace at all")
    with warm.Warm(broken, environment=SOFTWARE) as asked, pytest.raises(InputError):
        asked.state(1)


def test_command(recordings: dict[str, Path]) -> None:
    trace = str(recordings["es2_triangle"])
    command = [sys.executable, "-m", "drawtap", "state", trace]

    def run(*more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*command, *more], capture_output=True, text=True, timeout=TIMEOUT_S)

    done = run("#3", "context.GL_VIEWPORT", "--from-driver", "--on", "llvmpipe", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0] == {"path": "context.GL_VIEWPORT", "value": [0, 0, 64, 48]}
    done = run("50", "--from-driver", "--on", "llvmpipe")
    assert "GL_DEPTH_FUNC = " in done.stdout
    assert "limits." not in done.stdout
    for wrong in (["99999999"], ["x"], ["#77"], ["50", "context.GL_NONSENSE"]):
        done = run(*wrong, "--on", "llvmpipe", "--from-driver")
        assert done.returncode == 2, (wrong, done.stdout, done.stderr)
        assert "hint:" in done.stderr
