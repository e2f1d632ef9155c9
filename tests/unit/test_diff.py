"""Calls of two recordings held against each other."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

import drawtap as package
import state_traces
from drawtap.trace.diff import Difference, Differences, diff
from drawtap.trace.trace import open_trace
from shared import run_drawtap
from writer import SIGNATURES, Data, Writer, f32, small_trace


def _compare(a: Path, b: Path, **options: object) -> Differences:
    with open_trace(a) as one, open_trace(b) as two:
        return diff(one, two, **options)  # type: ignore[arg-type]


def test_the_same(tmp_path: Path) -> None:
    a, b = (small_trace().write(tmp_path / name) for name in ("a.dtap", "b.dtap"))
    found = _compare(a, b, outputs=True)
    assert (found.equal, found.any, found.frames, found.calls) == (15, False, (), ())


@pytest.mark.parametrize(
    ("options", "said"),
    [((), "15 calls are equal"), (("--resources",), "0 objects differ"), (("--state", "9"), "0 variables differ")],
)
def test_nothing_that_differs_is_one_line(options: tuple[str, ...], said: str, tmp_path: Path) -> None:
    a, b = (small_trace().write(tmp_path / name) for name in ("a.dtap", "b.dtap"))
    done = run_drawtap("diff", a, b, *options)
    assert (done.returncode, done.stdout) == (0, f"{said}\n")


def test_every_kind_of_change(tmp_path: Path) -> None:
    a = small_trace().write(tmp_path / "a.dtap")
    with package.edit(a) as trace:
        trace.set(1, value=[1, 0.5, -3, 5])
        trace.set(2, mask="GL_COLOR_BUFFER_BIT")
        trace.drop(3)
        trace.insert(6, "glFinish")
        trace.replace(8, "glFinish")
        trace.set(9, result=0)
        trace.set(4, data=[43])
        trace.save(tmp_path / "b.dtap")
    found = _compare(a, tmp_path / "b.dtap")
    # Thread after thread: they run as they like.
    assert [(d.kind, d.a, d.b) for d in found.calls] == [
        ("changed", 1, 1), ("only_a", 3, None), ("only_b", None, 5), ("only_a", 8, None), ("only_b", None, 8),
        ("changed", 2, 2),
    ]  # fmt: skip
    assert found.calls[0].params == (("value", "{1, 0.5, -3, 4}", "{1, 0.5, -3, 5}"),)
    assert found.calls[-1] == Difference(
        "changed", 0, 0, 2, 2, "glClear",
        (("mask", "GL_DEPTH_BUFFER_BIT | GL_COLOR_BUFFER_BIT", "GL_COLOR_BUFFER_BIT"),),
    )  # fmt: skip
    assert found.calls[2].text == "glFinish()"
    assert (found.equal, found.changed, found.only_a, found.only_b) == (11, 2, 2, 2)
    assert [(f.a, f.b, f.changed) for f in found.frames] == [(0, 0, 2)]
    outputs = _compare(a, tmp_path / "b.dtap", outputs=True)
    assert {(d.text, d.params) for d in outputs.calls} >= {
        ("eglSwapBuffers", (("result", "EGL_TRUE", "EGL_FALSE"),)),
        ("glGetIntegerv", (("data", "{42}", "{43}"),)),
    }
    listed = _compare(a, tmp_path / "b.dtap", limit=2)
    assert (len(listed.calls), listed.changed, listed.only_b) == (2, 2, 2)


def _memory(path: Path, content: bytes, *, apart: bool, between: bool = False) -> Path:
    """A draw that reads the program's memory, which may stand in the chunk before the draw's."""
    w = Writer(SIGNATURES + "F\t16372\tdrawtap\tdtapMemory\t2\t0\ttap\t-\n"
               "P\taddress\tconst void *\tptr\t8:0\t-\t-\nD\t8:1\tbytes\tin\t-\n")  # fmt: skip
    t = w.thread()
    t.call("glEnable", cap=2929, duration=1).tap("dtapMemory", address=Data(content))
    if between:
        t.call("glFinish", duration=1)
    if apart:
        t.flush()
    t.call("glDrawElements", mode=4, count=3, type=5123, indices=Data(kind=3, pointer=0), duration=1)
    return w.write(path)


@pytest.mark.parametrize("apart", [False, True])
def test_memory_counts_wherever_it_was_stored(tmp_path: Path, apart: bool) -> None:
    a = _memory(tmp_path / "a.dtap", b"123456", apart=apart)
    found = _compare(a, _memory(tmp_path / "b.dtap", b"123457", apart=True))
    assert [(d.kind, d.text, [name for name, _, _ in d.params]) for d in found.calls] == [
        ("changed", "glDrawElements", ["memory"])
    ]
    assert not _compare(a, _memory(tmp_path / "same.dtap", b"123456", apart=True)).any
    # The draw does not read what the call before it did.
    there = _memory(tmp_path / "there.dtap", b"123456", apart=True, between=True)
    found = _compare(there, _memory(tmp_path / "other.dtap", b"123457", apart=True, between=True))
    assert [d.text for d in found.calls] == ["glFinish"]


def _binds(path: Path, names: list[int]) -> Path:
    w = Writer()
    t = w.thread()
    for name in names:
        t.call("glBindTexture", target=2884, texture=name, duration=1)
    return w.write(path)


@pytest.mark.parametrize(
    ("a", "b", "changed"),
    [
        ([5, 6, 5, 0], [9, 4, 9, 0], 0),  # other names for the same objects
        ([5, 6, 5], [9, 4, 4], 1),
        ([5, 6], [9, 9], 1),
        ([5, 0], [9, 9], 1),
    ],
)
def test_objects_are_told_by_what_made_them(tmp_path: Path, a: list[int], b: list[int], changed: int) -> None:
    found = _compare(_binds(tmp_path / "a.dtap", a), _binds(tmp_path / "b.dtap", b))
    assert (found.changed, found.only_a, found.only_b) == (changed, 0, 0)


def _frames(path: Path, frames: list[list[int]]) -> Path:
    w = Writer()
    t = w.thread()
    for values in frames:
        for value in values:
            t.call("glUniform4fv", location=value, count=1, value=f32(value, 0, 0, 0), duration=1)
        t.call("eglSwapBuffers", dpy=0x7F0000001000, surface=2, result=1, duration=1)
    return w.write(path)


def test_frames_are_aligned(tmp_path: Path) -> None:
    frames = [[n, n + 1, n + 2] for n in range(0, 60, 3)]
    a = _frames(tmp_path / "a.dtap", frames)
    more = [*frames[:5], [1000, 1001], *frames[5:12], *frames[14:]]
    more[10] = [more[10][0], 77, more[10][2]]
    found = _compare(a, _frames(tmp_path / "b.dtap", more))
    pairs = {(f.a, f.b): (f.changed, f.only_a, f.only_b) for f in found.frames}
    assert pairs == {(None, 5): (0, 0, 3), (9, 10): (1, 0, 0), (12, None): (0, 4, 0), (13, None): (0, 4, 0)}
    assert found.different_frames == 4


def _animated(path: Path, frames: list[list[int]], *, colour: int) -> Path:
    """Frames of the same functions: what they set tells them apart, and `colour` makes most calls of a run differ."""
    w = Writer()
    t = w.thread()
    for times in frames:
        for time in times:
            t.call("glUniform4fv", location=0, count=1, value=f32(time, 0, 0, 0), duration=1)
            for place in range(1, 9):
                t.call("glUniform4fv", location=place, count=1, value=f32(colour, time, 0, 0), duration=1)
        t.call("eglSwapBuffers", dpy=0x7F0000001000, surface=2, result=1, duration=1)
    return w.write(path)


@pytest.mark.parametrize(
    ("times", "colour", "pairs"),
    [
        # Frames are missing at the start and in the middle; one call of nine tells which.
        ([[n] for n in (*range(3, 15), *range(18, 40))], 2, [*[(n, n - 3) for n in range(3, 15)],
                                                             *[(n, n - 6) for n in range(18, 40)]]),
        # Every third frame has lost its end: two frames stand in one, which ends as the second of them does.
        ([[n, n + 1] if n % 3 == 0 else [n] for n in range(39) if n % 3 != 1], 2,
         [(n, i) for i, n in enumerate(n for n in range(39) if n % 3)]),
        # Not one call is equal: how many calls of a function a frame has is all there is.
        ([[n + 0.5, n + 1.5] if n == 20 else [n + 0.5] for n in range(39) if n != 21], 2,
         [*[(n, n) for n in range(20)], *[(n, n - 1) for n in range(21, 39)]]),
    ],
)  # fmt: skip
def test_frames_of_which_nearly_all_calls_differ(tmp_path: Path, times, colour: int, pairs) -> None:
    last = max(int(t) for frame in times for t in frame) + 1
    a = _animated(tmp_path / "a.dtap", [[n] for n in range(last)], colour=1)
    b = _animated(tmp_path / "b.dtap", times, colour=colour)
    for one, other, turned in ((a, b, False), (b, a, True)):
        found = _compare(one, other)
        both = [(f.b, f.a) if turned else (f.a, f.b) for f in found.frames]
        assert [pair for pair in both if None not in pair] == pairs
        assert len(both) == len({*both}) == last + len(times) - len(pairs)


def test_against_another_alignment(tmp_path: Path) -> None:
    # As many calls stay as in the longest common subsequence that dynamic programming finds.
    chance = random.Random(3)
    for _ in range(20):
        a = [chance.randrange(4) for _ in range(chance.randrange(40))]
        b = [chance.randrange(4) for _ in range(chance.randrange(40))]
        row = [0] * (len(b) + 1)
        for x in a:
            before = row[:]
            for j, y in enumerate(b):
                row[j + 1] = before[j] + 1 if x == y else max(row[j], before[j + 1])
        found = _compare(_frames(tmp_path / "a.dtap", [a]), _frames(tmp_path / "b.dtap", [b]))
        assert found.equal - 1 == row[-1], (a, b)
        assert found.equal + found.changed + found.only_a == len(a) + 1
        assert found.equal + found.changed + found.only_b == len(b) + 1


def test_very_different_frames(tmp_path: Path) -> None:
    chance = random.Random(5)
    a = [chance.randrange(10**6) for _ in range(6000)]
    b = [chance.randrange(10**6) for _ in range(6000)]
    b[3000:3050] = a[3010:3060]
    found = _compare(_frames(tmp_path / "a.dtap", [a]), _frames(tmp_path / "b.dtap", [b]), limit=10)
    assert found.equal + found.changed + found.only_a == 6001
    assert found.equal >= 50
    assert len(found.calls) == 10


def test_the_command(drawtap: Callable[..., object], tmp_path: Path) -> None:
    a = _frames(tmp_path / "a.dtap", [[1, 2], [3]])
    b = _frames(tmp_path / "b.dtap", [[1, 2], [4]])
    same = drawtap("diff", a, a)
    assert (same.code, same.out.splitlines()[-1]) == (0, "5 calls are equal")  # type: ignore[attr-defined]
    answer = drawtap("diff", a, b)
    assert answer.code == 1  # type: ignore[attr-defined]
    out = answer.out  # type: ignore[attr-defined]
    assert "~        1        1  3  3  glUniform4fv(location: 3 → 4, value: {3, 0, 0, 0} → {4, 0, 0, 0})" in out
    assert "1 changed, 4 equal; 1 of 2 frames differ" in out
    rows = json.loads(drawtap("diff", a, b, "--json").out)  # type: ignore[attr-defined]
    assert [(row["a"], row["b"]) for row in rows] == [(3, 3)]
    assert drawtap("diff", a, b, "--frames", "0:1").code == 0  # type: ignore[attr-defined]
    assert drawtap("diff", a, b, "--frames", "x").code == 2  # type: ignore[attr-defined]
    assert drawtap("diff", a, tmp_path / "none").code == 4  # type: ignore[attr-defined]


def test_handles_and_addresses_are_no_state(
    drawtap: Callable[..., object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def recorded(name: str, surfaces: tuple[int, int], array: int, depth: str) -> Path:
        monkeypatch.setattr(state_traces, "SURFACE", surfaces[0])
        recording = state_traces.Recording()
        monkeypatch.setattr(state_traces, "SURFACE", surfaces[1])
        recording.current(1, 1)
        size = Data(b"width=64;height=32")
        recording.thread.tap("dtapNative", handle=surfaces[1], kind=Data(b"surface"), text=size)
        recording.gl("glVertexPointer", size=3, type="GL_FLOAT", stride=0, pointer=array)
        recording.gl("glDepthFunc", func=depth)
        return recording.write(tmp_path / name)

    a = recorded("a.dtap", (0x55500010, 0x55500020), 0x7FFF12345670, "GL_LESS")
    b = recorded("b.dtap", (0x77700090, 0x77700030), 0x7FFE00000010, "GL_LESS")
    c = recorded("c.dtap", (0x77700090, 0x77700030), 0x7FFE00000010, "GL_EQUAL")
    assert drawtap("diff", a, b, "--state", "-1").code == 0  # type: ignore[attr-defined]
    rows = json.loads(drawtap("diff", a, c, "--state", "-1", "--json").out)  # type: ignore[attr-defined]
    assert rows == [{"path": "contexts[1].GL_DEPTH_FUNC", "a": '"GL_LESS"', "b": '"GL_EQUAL"'}]


def test_frames_that_only_one_side_has_are_more_than_either_has(tmp_path: Path, drawtap: Callable[..., object]) -> None:
    shared = list(range(40))
    a = _frames(tmp_path / "a.dtap", [[51], [52], shared])
    b = _frames(tmp_path / "b.dtap", [shared, [61], [62]])
    one = _frames(tmp_path / "one.dtap", [shared])
    page = tmp_path / "page.html"
    assert "4 frames differ (A has 3, B has 3)" in drawtap("diff", a, b).out  # type: ignore[attr-defined]
    assert "2 frames differ (A has 3, B has 1)" in drawtap("diff", a, one).out  # type: ignore[attr-defined]
    assert drawtap("diff", a, b, "-o", page).code == 1  # type: ignore[attr-defined]
    assert "frames differ (A has 3, B has 3)" in page.read_text()


def test_calls_after_the_last_frame_are_no_frame(tmp_path: Path, drawtap) -> None:
    def made(name: str, last: int) -> Path:
        w = Writer()
        t = w.thread()
        for _ in range(3):
            t.call("eglSwapBuffers", dpy=0x7F0000001000, surface=2, result=1, duration=1)
        t.call("glUniform4fv", location=last, count=1, value=f32(1, 0, 0, 0), duration=1)
        return w.write(tmp_path / name)

    a, b = made("a.dtap", 1), made("b.dtap", 2)
    found = _compare(a, b)
    assert (found.different_frames, found.frames_a, found.frames_b, found.rest_differs) == (0, 3, 3, True)
    assert "0 of 3 frames differ, and calls after the last frame" in drawtap("diff", a, b).out
    assert not _compare(a, a).rest_differs


def test_the_whole_alignment_has_each_call_once(tmp_path: Path) -> None:
    from drawtap.trace.diff import aligned

    a = small_trace().write(tmp_path / "a.dtap")
    with package.edit(a) as trace:
        trace.set(2, mask="GL_COLOR_BUFFER_BIT")
        trace.drop(3)
        trace.insert(6, "glFinish")
        trace.save(tmp_path / "b.dtap")
    with open_trace(a) as one, open_trace(tmp_path / "b.dtap") as other:
        found = aligned(one, other, limit=100)
        calls = [len(trace.calls) for trace in (one, other)]
        assert found.differences == diff(one, other)
    kinds = ["equal", "changed", "only_a", "only_b"]
    for side in (0, 1):
        seqs = [first + k for *_, first, n in found.runs[:, [0, 4 + side, 6]].tolist() if first >= 0 for k in range(n)]
        assert sorted(seqs) == list(range(calls[side]))
    rows = [(kinds[k], *(None if s < 0 else s for s in (a, b))) for k, *_, a, b, _ in found.runs.tolist() if k]
    assert rows == [(d.kind, d.a, d.b) for d in found.differences.calls]
    for number, kind in enumerate(kinds):
        assert found.runs[found.runs[:, 0] == number, 6].sum() == getattr(found.differences, kind)
