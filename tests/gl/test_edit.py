"""Edited recordings draw what the edit says, pixel for pixel."""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import drawtap
import drawtap as package
from drawtap.replay import player
from shared import SOFTWARE

if TYPE_CHECKING:
    from conftest import Bench

pytestmark = pytest.mark.gl

EXAMPLES = Path(__file__).parents[2] / "examples"
SIDE = 64


def _record(bench: Bench, name: str, trace: Path) -> Path:
    return bench.record([name], trace)


@pytest.fixture(scope="module")
def textured(programs: Bench, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _record(programs, "textured", tmp_path_factory.mktemp("textured") / "textured.dtap")


def _frames(trace: Path, folder: Path) -> list[np.ndarray]:
    """The frames of a recording, bottom row first."""
    folder.mkdir()
    played = player.play(trace, ["--snapshots", f"{folder}/"], environment=SOFTWARE)
    assert played.findings == ()
    return [_png(path)[::-1, :, :3] for path in sorted(folder.glob("*.png"))]


def _png(path: Path) -> np.ndarray:
    data, at, packed = path.read_bytes(), 8, b""
    width = height = 0
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height = struct.unpack(">II", body[:8])
            assert body[8:10] in (b"\x08\x06", b"\x08\x02")
            channels = 4 if body[9] == 6 else 3
        elif kind == b"IDAT":
            packed += body
        at += length + 12
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * channels)
    assert not rows[:, 0].any(), "the player writes rows without a filter"
    return rows[:, 1:].reshape(height, width, channels)


def _blocks(image: np.ndarray, factor: int = 8) -> np.ndarray:
    small = image.reshape(SIDE // factor, factor, SIDE // factor, factor, 3).astype(float).mean((1, 3)).round()
    return small.astype(np.uint8).repeat(factor, 0).repeat(factor, 1)


def test_the_textures_of_the_example_shrink(drawtap: Callable[..., object], textured: Path, tmp_path: Path) -> None:
    small = tmp_path / "small.dtap"
    answer = drawtap("edit", textured, "-o", small, "--script", EXAMPLES / "shrink_textures.py", "--check")
    assert answer.code == 0, answer.err  # type: ignore[attr-defined]
    before, after = _frames(textured, tmp_path / "before"), _frames(small, tmp_path / "after")
    assert len(before) == len(after) == 2
    assert not np.array_equal(before[0], before[1])
    for big, shrunk in zip(before, after, strict=True):
        np.testing.assert_array_equal(shrunk, _blocks(big))


def test_a_dropped_call(textured: Path, tmp_path: Path) -> None:
    before = _frames(textured, tmp_path / "before")
    with drawtap.edit(textured) as trace:
        [event] = trace.find("name = 'glTexSubImage2D'")
        event.drop()
        assert trace.save(tmp_path / "less.dtap").broken == ()
    after = _frames(tmp_path / "less.dtap", tmp_path / "after")
    np.testing.assert_array_equal(after[0], before[0])
    np.testing.assert_array_equal(after[1], before[0])


def test_inserted_and_replaced_calls(textured: Path, tmp_path: Path) -> None:
    before = _frames(textured, tmp_path / "before")
    with drawtap.edit(textured) as trace:
        draws = list(trace.find("name = 'glDrawArrays'"))
        draws[1].insert_before("glEnable", cap="GL_SCISSOR_TEST")
        draws[1].insert_before("glScissor", x=0, y=0, width=16, height=SIDE)
        draws[0].replace("glClear", mask="GL_COLOR_BUFFER_BIT")
        trace.insert(draws[0].seq, "glClearColor", red=1, green=0.5, blue=0, alpha=1)
        saved = trace.save(tmp_path / "new.dtap")
    assert (saved.changed, saved.inserted) == (1, 3)
    first, second = _frames(tmp_path / "new.dtap", tmp_path / "after")
    assert {tuple(p) for row in first for p in row} in ({(255, 128, 0)}, {(255, 127, 0)})
    np.testing.assert_array_equal(second[:, :16], before[1][:, :16])
    np.testing.assert_array_equal(second[:, 16:], first[:, 16:])


def test_text_that_was_edited(drawtap: Callable[..., object], textured: Path, tmp_path: Path) -> None:
    text, raw = tmp_path / "calls.txt", tmp_path / "red.raw"
    assert drawtap("export", textured, "--editable", "-o", text).code == 0  # type: ignore[attr-defined]
    raw.write_bytes(bytes((255, 0, 0)) * (SIDE // 2) ** 2)
    lines = text.read_text().splitlines()
    [at] = [i for i, line in enumerate(lines) if " glTexSubImage2D(" in line]
    head, _, _ = lines[at].partition("pixels = ")
    lines[at] = head + 'pixels = file("red.raw"))'
    text.write_text("\n".join(lines))
    answer = drawtap("import", text, "--base", textured, "-o", tmp_path / "new.dtap")
    assert answer.code == 0, answer.err  # type: ignore[attr-defined]
    before = _frames(textured, tmp_path / "before")
    after = _frames(tmp_path / "new.dtap", tmp_path / "after")
    np.testing.assert_array_equal(after[0], before[0])
    expected = before[1].copy()
    expected[: SIDE // 2, SIDE // 2 :] = (255, 0, 0)
    np.testing.assert_array_equal(after[1], expected)


def test_what_no_longer_has_what_it_needs(textured: Path, tmp_path: Path) -> None:
    with drawtap.edit(textured) as trace:
        for event in trace.find("name IN ('glGenTextures', 'glCreateProgram')"):
            event.drop()
        saved = trace.save(tmp_path / "broken.dtap")
    said = {(b.function, b.cause_function) for b in saved.broken}
    assert said == {("glAttachShader", "glCreateProgram"), ("glBindTexture", "glGenTextures")}


def test_joined_and_merged_recordings_play(programs: Bench, textured: Path, tmp_path: Path) -> None:
    from drawtap.trace import edit

    other = _record(programs, "es2_triangle", tmp_path / "triangle.dtap")
    edit.join([textured, other], tmp_path / "joined.dtap")
    edit.merge([other, textured], tmp_path / "merged.dtap")
    ours, theirs = _frames(textured, tmp_path / "ours"), _frames(other, tmp_path / "theirs")
    for name in ("joined", "merged"):
        frames = _frames(tmp_path / f"{name}.dtap", tmp_path / name)
        assert len(frames) == len(ours) + len(theirs)
        for shown, recorded in zip(frames, ours + theirs, strict=True):
            np.testing.assert_array_equal(shown, recorded)


@pytest.mark.parametrize("name", ["two_contexts", "client_arrays_es2", "resized_window"])
def test_programs_that_call_everything_alike_play_as_one(programs: Bench, tmp_path: Path, name: str) -> None:
    # The same calls at the same times with the same handles, threads and addresses, but of another process.
    if name == "resized_window" and programs.display is None:
        pytest.skip("Xvfb is not installed")
    from drawtap.trace import edit
    from drawtap.trace.core import Part, write

    trace, twin = tmp_path / "t.dtap", tmp_path / "twin.dtap"
    programs.record(programs.arguments([name]), trace, "--hash-frames", window=name == "resized_window")
    with drawtap.open(trace) as old:
        write([Part(old.core)], twin, annotation={"kind": "recording", "pid": 1})
    alone = player.play(trace, ["--verify"], environment=SOFTWARE)
    assert alone.compared
    assert (alone.different, alone.findings) == (0, ())
    for combine in (edit.merge, edit.join):
        saved = combine([trace, twin], tmp_path / "both.dtap")
        assert saved.renamed >= 3
        with drawtap.open(tmp_path / "both.dtap") as both, drawtap.open(trace) as one:
            assert len(both.table("contexts")) == 2 * len(one.table("contexts"))
            assert len({row["handle"] for row in both.table("contexts")}) == len(both.table("contexts"))
            assert len(both.table("threads")) == 2 * len(one.table("threads"))
        played = player.play(tmp_path / "both.dtap", ["--verify"], environment=SOFTWARE)
        assert (played.calls, played.compared) == (2 * alone.calls, 2 * alone.compared)
        assert (played.different, played.findings) == (0, ())


def test_two_runs_make_the_same_calls(programs: Bench, textured: Path, tmp_path: Path) -> None:
    from drawtap.trace.diff import diff

    for name in ("textured", "shared_contexts", "client_arrays_gl1"):
        runs = [_record(programs, name, tmp_path / f"{name}{n}.dtap") for n in range(2)]
        with drawtap.open(runs[0]) as one, drawtap.open(runs[1]) as two:
            found = diff(one, two)
            assert [c for c in found.calls if not c.text.startswith("eglQuery")] == [], name


def test_an_edit_is_what_differs(textured: Path, tmp_path: Path) -> None:
    from drawtap.trace.diff import diff

    with drawtap.edit(textured) as trace:
        for event in trace.find("name IN ('glTexSubImage2D', 'glViewport')"):
            event.drop()
        trace.insert(0, "eglGetError")
        trace.save(tmp_path / "edited.dtap")
    with drawtap.open(textured) as one, drawtap.open(tmp_path / "edited.dtap") as two:
        found = diff(one, two)
    assert [(c.kind, c.text.split("(")[0]) for c in found.calls] == [
        ("only_b", "eglGetError"), ("only_a", "glViewport"), ("only_a", "glTexSubImage2D"),
    ]  # fmt: skip


def test_a_trace_of_the_toolkit_of_old_plays(drawtap: Callable[..., object], tmp_path: Path) -> None:
    from tcy2 import triangle

    (tmp_path / "old.bin").write_bytes(triangle().data)
    assert drawtap("import", tmp_path / "old.bin", "-o", tmp_path / "new.dtap").code == 0  # type: ignore[attr-defined]
    [frame] = _frames(tmp_path / "new.dtap", tmp_path / "frames")
    assert frame.shape == (32, 32, 3)
    assert tuple(frame[1, 1]) == (255, 0, 0)
    assert tuple(frame[30, 30]) == (0, 0, 255)
    assert 400 < (frame[:, :, 0] == 255).sum() < 600


def test_states_that_differ(drawtap: Callable[..., object], textured: Path) -> None:
    with package.open(textured) as trace:
        [(seq,)] = trace.sql("SELECT seq FROM glPixelStorei").fetchall()
    answer = drawtap("diff", textured, textured, "--state", f"{seq - 1}:{seq}")
    assert answer.code == 1, answer.err  # type: ignore[attr-defined]
    assert "unpack_alignment" in answer.out.lower()  # type: ignore[attr-defined]
    assert drawtap("diff", textured, textured, "--state", f"{seq}").code == 0  # type: ignore[attr-defined]
    assert drawtap("diff", textured, textured, "--state", "9999").code == 2  # type: ignore[attr-defined]


def test_objects_and_images_that_differ(drawtap: Callable[..., object], textured: Path, tmp_path: Path) -> None:
    edited, page = tmp_path / "edited.dtap", tmp_path / "page.html"
    with package.edit(textured) as trace:
        for event in trace.find("name = 'glTexImage2D'"):
            event.values["pixels"] = bytes(len(event.values["pixels"]))
        trace.drop([e.seq for e in trace.find("name = 'glTexSubImage2D'")])
        trace.save(edited)
    answer = drawtap("diff", textured, edited, "--resources", "--json")
    assert answer.code == 1, answer.err  # type: ignore[attr-defined]
    [row] = json.loads(answer.out)  # type: ignore[attr-defined]
    assert (row["kind"], row["a"], row["b"]) == ("texture", 1, 1)
    assert row["what"].startswith("content_hash: ")
    answer = drawtap("diff", textured, edited, "-o", page)
    assert answer.code == 1, answer.err  # type: ignore[attr-defined]
    text = page.read_text(encoding="utf-8")
    assert text.count("data:image/png;base64,") == 6  # two frames, of A, of B, and where they differ
    for part in ("1 changed", "glTexSubImage2D", "content_hash", "State at the end of the first frame that differs"):
        assert part in " ".join(re.sub(r"<[^>]*>", " ", text).split()), part
    assert "://" not in text
    assert drawtap("diff", textured, edited, "-o", page).code == 2  # type: ignore[attr-defined]
