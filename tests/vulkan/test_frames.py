"""Frames of programs that never present."""

from __future__ import annotations

from pathlib import Path

import pytest

from drawtap.trace.trace import open_trace
from shared import once, run_drawtap
from vulkan.conftest import HERE, build, environment


@pytest.fixture(scope="module")
def program(header: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    environment()
    source = HERE / "frames.c"
    return once(tmp_path_factory, "vulkan-frames", lambda f: build(header, source, f / "frames", "-l:libvulkan.so.1"))


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("boundary", ("boundary", 3, "vkQueueSubmit")),
        ("label", ("label", 3, "vkQueueEndDebugUtilsLabelEXT")),
        ("wait", ("finish", 3, "vkWaitForFences")),
        ("none", ("none", 0, None)),
    ],
)
def test_what_ends_a_frame(mode: str, expected: tuple[str, int, str | None], program: Path, tmp_path: Path) -> None:
    rule, frames, by = expected
    done = run_drawtap("record", "-q", "-o", tmp_path / "f.dtap", "--", program, mode, environment=environment())
    assert done.returncode == 0, done.stderr
    with open_trace(tmp_path / "f.dtap") as trace:
        assert (trace.info["frame_end"]["rule"], trace.info["frames"]) == (rule, frames)
        rows = trace.sql("SELECT end_function FROM frames").fetchall()
        assert rows == [(by,)] * max(frames, 1)
        groups = trace.sql("SELECT kind, text FROM markers").fetchall()
        assert groups == ([("group", "Frame")] * 3 if mode == "label" else [])
