"""Recordings that begin while a program runs: they play, and show what the program showed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import drawtap
from streams import wait_for

FRAMES = 4
FOREVER = "100000000"
PROGRAMS = {
    "textures that are drawn into": ("fbo_chain", FOREVER),
    "display lists": ("ff_lists", FOREVER),
    "lights and matrices": ("ff_lit", FOREVER),
    "two contexts": ("two_contexts", FOREVER),
    "vertex arrays, buffers of uniforms": ("modern", FOREVER),
    "OpenGL ES 1": ("es1_cube", FOREVER),
    "every kind of object": ("midrun",),
    "a buffer mapped for good, fences": ("midrun_maps",),
    "GLX pbuffers": ("midrun_pbuffer",),
}


class Paused:
    """A program that `drawtap record --paused` has started, and that runs until it is killed."""

    def __init__(self, bench, line, folder: Path) -> None:
        self.trace = folder / "part.dtap"
        runtime = folder / "runtime"
        runtime.mkdir(mode=0o700)
        self.environment = bench.environment() | {"XDG_RUNTIME_DIR": str(runtime)}
        command = [sys.executable, "-m", "drawtap", "record", "--paused", "--hash-frames", "-o", str(self.trace), "--"]
        self.recorder = subprocess.Popen(
            [*command, *bench.arguments(line)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
        )
        wait_for(lambda: self.trigger() or self.recorder.poll() is not None)
        if self.recorder.poll() == 77:
            pytest.skip("the driver has no such context")
        self.pid = int(str(self.trigger()[0]["pid"]))

    def trigger(self, *action: str) -> list[dict[str, object]]:
        """Ask the recorder for something, or what it has."""
        command = [sys.executable, "-m", "drawtap", "trigger", *action, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, env=self.environment, check=False)
        found = json.loads(done.stdout or "[]")
        assert isinstance(found, list)
        return found

    def record(self, frames: int, total: int) -> None:
        """Record so many frames from the next one on, which makes `total` in all."""
        # Nothing but the end of the recorder makes an empty answer a final one: a busy machine answers late.
        assert self.trigger(str(self.pid), "frames", str(frames))
        wait_for(lambda: self._is("frames", total))
        wait_for(lambda: self._is("state", "paused"))

    def _is(self, key: str, value: object) -> bool:
        return self._ended() or any(one[key] == value for one in self.trigger())

    def _ended(self) -> bool:
        return self.recorder.poll() is not None

    def end(self) -> Path:
        """Kill the program, and return the recording."""
        os.kill(self.pid, signal.SIGKILL)
        _, said = self.recorder.communicate(timeout=300)
        assert self.trace.exists(), said
        return self.trace


def _verified(bench, trace: Path) -> tuple[int, int, str]:
    command = [sys.executable, "-m", "drawtap", "replay", str(trace), "--verify"]
    done = subprocess.run(command, capture_output=True, text=True, env=bench.environment(), check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    compared = re.findall(r"(\d+) of (\d+) images", done.stdout)
    assert compared, done.stdout
    return int(compared[0][0]), int(compared[0][1]), done.stdout


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_begins_in_the_middle_shows_what_the_program_showed(name, programs, tmp_path):
    program = Paused(programs, PROGRAMS[name], tmp_path)
    program.record(FRAMES, FRAMES)
    trace = program.end()
    equal, compared, said = _verified(programs, trace)
    assert equal == compared >= FRAMES, said
    with drawtap.open(trace) as opened:
        notes = [(str(code), str(text)) for code, text in opened.sql("SELECT code, text FROM notes").fetchall()]
    codes = [code for code, _ in notes]
    assert "began-late" in codes
    assert codes.count("base-begins") == codes.count("base-ends") >= 1
    lacking = [text for code, text in notes if code == "not-taken"]
    assert all("query" in text for text in lacking), lacking
    if name == "a buffer mapped for good, fences":
        with drawtap.open(trace) as opened:
            fences = opened.sql('SELECT count(*) FROM "glFenceSync"').fetchall()
        assert fences == [(2,)]  # the third was deleted


def test_recording_begins_more_than_once_in_a_file(programs, tmp_path):
    program = Paused(programs, PROGRAMS["display lists"], tmp_path)
    program.record(2, 2)
    program.record(3, 5)
    equal, compared, said = _verified(programs, program.end())
    assert equal == compared == 5, said


def test_what_could_not_be_had_is_said(programs, tmp_path):
    program = Paused(programs, ("midrun", "lacking"), tmp_path)
    program.record(2, 2)
    trace = program.end()
    with drawtap.open(trace) as opened:
        lacking = [str(row[0]) for row in opened.sql("SELECT text FROM notes WHERE code = 'not-taken'").fetchall()]
    assert any("several samples a pixel" in text for text in lacking), lacking
    assert any("its sources are gone" in text or "query" in text for text in lacking), lacking
    command = [sys.executable, "-m", "drawtap", "info", str(trace)]
    told = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    assert "several samples a pixel" in told, told
    _, _, said = _verified(programs, trace)
    assert "not in the recording" in said, said
