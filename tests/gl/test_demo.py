"""`drawtap demo`: the first thing that a new user runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.gl


@pytest.fixture(autouse=True)
def _software(monkeypatch):
    monkeypatch.setenv("LIBGL_ALWAYS_SOFTWARE", "1")
    monkeypatch.delenv("DISPLAY", raising=False)


def test_the_demo_finds_the_mistakes_of_its_program(drawtap, tmp_path):
    done = drawtap("demo", "-o", tmp_path / "demo")
    assert done.code == 0, done.err
    assert "Textures uploaded again with the same pixels" in done.out
    assert "119 calls in 119 frames" in done.out
    assert "122 of 122 images and read-backs are equal" in done.out
    assert "9 050 calls, 120 frames" in done.err
    # The page of the slowest frames lists the longest intervals of the recording. Which frames these are, the machine's
    # load decides; that one late frame compiles a shader does not depend on it.
    trace = tmp_path / "demo/demo.dtap"
    slowest = [row.split()[0] for row in done.out.partition("first_seq")[2].splitlines()[1:6]]
    longest = "SELECT frame FROM frames ORDER BY coalesce(interval, duration) DESC LIMIT 5"
    compiling = "SELECT DISTINCT frame FROM calls WHERE name = 'glCompileShader' ORDER BY 1"
    asked = json.loads(drawtap("sql", trace, longest, "--json").out)
    assert sorted(slowest) == sorted(str(row["frame"]) for row in asked)
    assert [row["frame"] for row in json.loads(drawtap("sql", trace, compiling, "--json").out)] == [0, 60]
    assert (tmp_path / "demo/demo.html").resolve().as_uri() in done.out
    assert "<img" in (tmp_path / "demo/demo.html").read_text()
    assert drawtap("demo", "-o", __file__).code == 2


def test_without_a_driver_the_demo_says_so(drawtap, tmp_path, monkeypatch):
    monkeypatch.setenv("__EGL_VENDOR_LIBRARY_FILENAMES", "/nonexistent")
    done = drawtap("demo", "-o", tmp_path / "demo")
    assert done.code == 3
    assert "no graphics driver can draw the demo: EGL finds no driver" in done.err
    assert "libgl1-mesa-dri" in done.err
    assert not (tmp_path / "demo").exists()
    assert Path(tmp_path).is_dir()
