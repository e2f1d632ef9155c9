"""Vulkan programs while they run: seen, held back, recorded from the middle, kept by a flight recorder."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from drawtap.live.folder import Folder
from drawtap.trace.trace import open_trace
from live.test_programs import Desktop
from pretended import PATIENCE_S, wait_for
from shared import run_drawtap, x_server
from vulkan.conftest import SIZE, Cube, environment
from vulkan.test_extract import hashes

CUBE = ("--suppress_popups", "--c")


@pytest.fixture(scope="module")
def display() -> Iterator[dict[str, str]]:
    """The environment of vkcube, in a display of its own."""
    if shutil.which("vkcube") is None:
        pytest.skip("vkcube is not installed (Debian: vulkan-tools)")
    with x_server("-screen", "0", "640x480x24") as name:
        if name is None:
            pytest.skip("Xvfb is not installed")
        yield {**environment(), "DISPLAY": name}


@pytest.fixture
def desktop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Desktop]:
    monkeypatch.delenv("DRAWTAP_MANAGER", raising=False)
    with tempfile.TemporaryDirectory(prefix="dt-", dir="/tmp", ignore_cleanup_errors=True) as runtime:
        made = Desktop(Folder(Path(runtime) / "drawtap"), Path("vkcube"))
        yield made
        for process in made.processes:
            process.kill()
        for process in made.processes:
            process.communicate(timeout=PATIENCE_S)


def test_a_program_under_the_manager_is_seen_held_and_recorded(
    desktop: Desktop, display: dict[str, str], tmp_path: Path
) -> None:
    desktop.manager()
    desktop._start([sys.executable, "-m", "drawtap", "run", "--", "vkcube", *CUBE, "1000000"], display)
    pid = desktop.found()[0]["pid"]
    try:
        assert desktop.drawtap("limit", str(pid), "20").returncode == 0
        wait_for(lambda: 0 < desktop.programs()[0]["surfaces"][0]["fps"] < 22, "the limit")
        file = tmp_path / "some.dtap"
        said = desktop.drawtap("record", "--pid", str(pid), "--frames", "3", "-o", str(file))
    finally:
        os.kill(pid, signal.SIGKILL)  # it outlives `drawtap run`
    assert said.returncode == 0, said.stderr
    with open_trace(file) as trace:
        assert (trace.info["frames"], list(trace.info["apis"])) == (3, ["vk"])
        [(text,)] = trace.sql("SELECT text FROM notes WHERE code = 'began-late'").fetchall()
        assert "objects of Vulkan are missing" in str(text)


_RULES = """[manager]
period = 0.05
{policy}
[[program]]
name = "vkcube"
class = "background"
target = 9999
[[alarm]]
rule = "target-missed"
seconds = 0.1
actions = ["mark"]
"""
_POLICY = 'policies = ["background"]\n[policy.background]\nclass_fps = 20'


def test_alarms_and_policies_hold_for_vulkan(desktop: Desktop, display: dict[str, str], tmp_path: Path) -> None:
    """The alarm about its target leaves a mark in the recording; then a policy holds its class."""
    config = desktop.folder.path.parent / "manager.toml"
    config.write_text(_RULES.format(policy=""))
    desktop.manager("--config", str(config))
    file = tmp_path / "marked.dtap"
    words = ("record", "-o", str(file), "--", "vkcube", *CUBE, "1000000")
    recorder = desktop._start([sys.executable, "-m", "drawtap", *words], display)
    pid = desktop.found()[0]["pid"]
    try:
        wait_for(lambda: bool(desktop.programs()[0]["alarms"]), "the alarm")
        seen = desktop.programs()[0]["surfaces"][0]["frames"]
        wait_for(lambda: desktop.programs()[0]["surfaces"][0]["frames"] > seen + 2, "a frame that takes the letter")
        config.write_text(_RULES.format(policy=_POLICY))
        wait_for(lambda: 0 < desktop.programs()[0]["surfaces"][0]["fps"] < 22, "the policy")
    finally:
        os.kill(pid, signal.SIGKILL)
    recorder.wait(PATIENCE_S)
    with open_trace(file) as trace:
        marks = trace.sql("SELECT text FROM marks").fetchall()
    assert marks
    assert all("target-missed" in str(text) for (text,) in marks)


def test_a_flight_recorder_saves_frames_that_play(cube: Cube, display: dict[str, str], tmp_path: Path) -> None:
    """Each frame that is saved shows what the same frame of a whole recording shows."""
    words = ("record", "--ring", "100ms", "--trigger", "exit", "-o", tmp_path / "r.dtap", "--")
    line = ("vkcube", "--suppress_popups", "--c", "60", "--width", str(SIZE), "--height", str(SIZE))
    done = run_drawtap(*words, *line, environment=display)
    assert done.returncode == 0, done.stderr
    [saved] = tmp_path.iterdir()
    with open_trace(saved) as trace:
        notes = [json.loads(str(note)) for note in trace.info["annotations"]]
    note = next(note for note in notes if note["kind"] == "flight_recorder")
    first, frames = note["first_frame"], note["frames"]
    assert first + frames == 60
    assert note["kept"] <= note["earlier"]
    assert hashes(saved)[-frames:] == hashes(cube.trace)[first:]
