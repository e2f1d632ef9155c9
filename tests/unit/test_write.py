"""New traces from old ones: what is kept is kept whole, in the same order, and nothing else is there."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

import writer
from drawtap.errors import InputError, QueryError
from drawtap.trace.core import Change, Part, write
from drawtap.trace.trace import Trace, open_trace
from vulkan_scene import DEVICE, VulkanScene
from writer import LONG, MANY, NONE, Data, Writer, blob, f32, small_trace

ALL = 2 | 4 | 8  # threads and contexts, durations, entry times


def _lines(trace: Trace, flags: int = ALL | 16) -> list[str]:
    return list(trace.text(flags=flags))


def _bits(calls: int, kept: Sequence[int]) -> bytearray:
    bits = bytearray((calls + 7) // 8)
    for seq in kept:
        bits[seq >> 3] |= 1 << (seq & 7)
    return bits


def test_a_copy_is_the_same(tmp_path: Path) -> None:
    old = open_trace(small_trace().write(tmp_path / "old.dtap"))
    said = write([Part(old.core)], tmp_path / "new.dtap", annotation={"kind": "remark", "text": "a copy"})
    new = open_trace(tmp_path / "new.dtap")
    assert said["calls"] == said["kept"] == 15
    assert said["lost"] == 0
    assert new.info["complete"] is True
    assert new.info["problems"] == []
    assert _lines(new) == _lines(old)
    for table in ("frames", "contexts", "notes", "markers"):
        assert new.table(table) == old.table(table), table
    blobs = [(b["hash"], b["bytes"]) for b in new.table("blobs")]
    assert blobs == [(b["hash"], b["bytes"]) for b in old.table("blobs")]
    assert [new.blob(str(h)) for h, _ in blobs] == [old.blob(str(h)) for h, _ in blobs]
    assert new.sql("SELECT origin FROM calls ORDER BY seq").fetchall() == [(i,) for i in range(15)]
    assert [a["kind"] for a in new.table("annotations")][-2:] == ["derived", "remark"]


def test_what_no_kept_call_refers_to_is_not_there(tmp_path: Path) -> None:
    old = open_trace(small_trace().write(tmp_path / "old.dtap"))
    kept = [0, 2, 9, 10, 14]
    write([Part(old.core, keep=_bits(15, kept))], tmp_path / "new.dtap")
    new = open_trace(tmp_path / "new.dtap")
    before = _lines(old)
    assert _lines(new) == [before[i] for i in kept]
    assert new.table("blobs") == []
    assert {str(f["name"]) for f in new.table("functions")} == {
        "glEnable", "glClear", "eglSwapBuffers", "glBindTexture", "glFinish",
    }  # fmt: skip
    assert [r[0] for r in new.sql("SELECT origin FROM calls ORDER BY seq").fetchall()] == kept
    write([Part(new.core, keep=_bits(5, [1, 4]))], tmp_path / "again.dtap")
    again = open_trace(tmp_path / "again.dtap")
    assert [r[0] for r in again.sql("SELECT origin FROM calls ORDER BY seq").fetchall()] == [2, 14]


@pytest.mark.parametrize("timing", ["times", "equal times", "none"])
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_threads_keep_their_order(tmp_path: Path, timing: str, share: float) -> None:
    chance = random.Random(7)
    w = Writer()
    threads = [w.thread(context=n) for n in range(3)]
    clock = 5000
    for i in range(3000):
        clock += {"times": chance.randrange(5), "equal times": chance.random() < 0.1, "none": 0}[timing]
        t = chance.choice(threads)
        if chance.random() < 0.05:
            t.clock = clock
            t.tap("dtapOrder", order=i + 1)
        t.call("toySeq", seq=i, Name=t.index, flag=1, start=0 if timing == "none" else clock, duration=1)
        if chance.random() < 0.01:
            t.flush()
    old = open_trace(w.write(tmp_path / "old.dtap"))
    calls = [i for i in range(3000) if chance.random() < share]
    write([Part(old.core, keep=_bits(3000, calls))], tmp_path / "new.dtap")
    new = open_trace(tmp_path / "new.dtap")
    before = _lines(old)
    assert _lines(new) == [before[i] for i in calls]
    assert [r[0] for r in new.sql("SELECT origin FROM calls ORDER BY seq").fetchall()] == calls


def test_records_of_the_tap_go_with_their_calls(tmp_path: Path) -> None:
    w = Writer(MANY)
    t = w.thread()
    long = 7_000_000_000
    t.tap("dtapContext", handle=7, draw=1, read=1, context=1, share_group=1, api=2)
    t.tap("dtapMemory", address=Data(b"a" * 2000, kind=2, pointer=0x100))
    t.call("glDrawElements", mode=4, count=3, type=5123, indices=Data(kind=3, pointer=0x100), start=1000, duration=1)
    t.tap("dtapContext", handle=8, draw=1, read=1, context=2, share_group=1, api=2)
    t.tap("dtapMapWrite", offset=3, data=Data(b"mapped"), target=1, buffer=5)
    t.tap("dtapMemory", address=Data(b"b" * 2000, kind=2, pointer=0x200))
    t.call("glDrawElements", mode=4, count=4, type=5123, indices=Data(kind=3, pointer=0x200), start=2000, duration=2)
    t.tap("dtapNative", handle=3, kind=writer.text("window"), text=writer.text("width=5"))
    t.tap("dtapNative", handle=3, kind=writer.text("frame"), text=writer.text("hash=1"))
    t.call("eglSwapBuffers", dpy=1, surface=2, result=1, start=3000, duration=LONG)
    t.tap("dtapLongDuration", ticks=long)
    t.tap("dtapMapWrite", offset=4, data=Data(b"x" * 3000, kind=2), target=1, buffer=5)
    t.call("glFinish", start=3000 + long, duration=NONE)
    t.tap("dtapNote", code=writer.text("end"), text=writer.text("that was all"))
    old = open_trace(w.write(tmp_path / "old.dtap"))
    said = write([Part(old.core)], tmp_path / "copy.dtap")
    copy = open_trace(tmp_path / "copy.dtap")
    assert said["blobs"] == 3
    assert _lines(copy) == _lines(old)
    assert copy.calls[2].duration == long
    for table in ("memory", "map_writes", "natives", "notes", "contexts"):
        a, b = copy.table(table), old.table(table)
        assert a == b, table

    # Without the second draw: its memory goes, the map write before it stays, the context of what follows too.
    write([Part(old.core, keep=_bits(4, [0, 3]))], tmp_path / "cut.dtap")
    cut = open_trace(tmp_path / "cut.dtap")
    assert [c.context for c in cut.calls] == [1, 2]
    assert [(m["seq"], m["address"]) for m in cut.table("memory")] == [(0, 0x100)]
    assert [(m["seq"], m["offset"]) for m in cut.table("map_writes")] == [(1, 3), (1, 4)]
    assert [(n["seq"], n["kind"]) for n in cut.table("natives")] == [(1, "window")]  # no image of a frame that is gone
    assert [n["code"] for n in cut.table("notes")] == ["end"]
    write([Part(old.core, keep=_bits(4, [0, 3]), keep_map_writes=_bits(2, [0]))], tmp_path / "less.dtap")
    less = open_trace(tmp_path / "less.dtap")
    assert [m["offset"] for m in less.table("map_writes")] == [3]
    assert len(less.table("blobs")) == 1


def test_changes(tmp_path: Path) -> None:
    old = open_trace(small_trace().write(tmp_path / "old.dtap"))
    big = bytes(range(256)) * 20
    changes = (
        Change("value", 0, "cap", 0x0B44),
        Change("content", 1, "value", data=f32(9, 8, 7, 6).content),
        Change("value", 3, "count", 80 * 4),
        Change("content", 3, "value", data=big),
        Change("function", 5, "glBindTexture"),
        Change("value", 5, "texture", 77),
        Change("insert", 9, "glFinish"),
        Change("insert", 9, "glUniform4fv"),
        Change("value", 9, "location", 12, inserted=2),
        Change("content", 9, "value", data=f32(1, 2, 3, 4).content, inserted=2),
        Change("insert", 15, "glFinish"),
        Change("null", 6, "message"),
        Change("value", 9, "result", 0),
    )
    keep = _bits(15, [n for n in range(15) if n != 7])
    said = write([Part(old.core, keep=keep, changes=changes)], tmp_path / "new.dtap")
    assert (said["kept"], said["changed"], said["inserted"]) == (14, 6, 3)
    new = open_trace(tmp_path / "new.dtap")
    lines = _lines(new, flags=1)
    digest = writer.hash_text(big)
    assert lines == [
        "0 glEnable(cap = GL_CULL_FACE)",
        "1 glUniform4fv(location = 2, count = 1, value = {9, 8, 7, 6})",
        "2 glClear(mask = GL_DEPTH_BUFFER_BIT | GL_COLOR_BUFFER_BIT)",
        f"3 glUniform4fv(location = 3, count = 320, value = blob(5120 bytes, {digest[:8]}…))",
        "4 glGetIntegerv(pname = GL_CULL_FACE, data = {42})",
        "5 glBindTexture(target = 0, texture = 77)",
        "6 glPushDebugGroup(source = 1, id = 1, length = 5, message = NULL)",
        "7 glPopDebugGroup()",
        "8 glFinish()",
        "9 glUniform4fv(location = 12, count = 0, value = {1, 2, 3, 4})",
        "10 eglSwapBuffers(dpy = 0x10, surface = 0x20) = EGL_FALSE",
        "11 glBindTexture(target = GL_CULL_FACE, texture = 9)",
        "12 glClearDepth(depth = 0.25)",
        "13 toySeq(seq = 1, Name = 2, flag = true)",
        "14 glGetError() = GL_INVALID_ENUM",
        "15 glFinish()  [in flight]",
        "16 glFinish()",
    ]
    assert new.blob(digest) == big
    origins = [r[0] for r in new.sql("SELECT origin FROM calls ORDER BY seq").fetchall()]
    assert origins == [0, 1, 2, 3, 4, 5, 6, 8, None, None, *range(9, 15), None]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (Change("value", 99, "cap", 1), "no call 99"),
        (Change("value", 0, "cup", 1), "glEnable has no parameter cup .it has cap."),
        (Change("content", 0, "cap", data=b"1"), "cap of glEnable is no array"),
        (Change("function", 0, "glNothing"), "no function glNothing is known"),
        (Change("blob", 3, "value", data=b"0" * 32), "no content with hash"),
        (Change("value", 0, "cap", 1, inserted=3), "an inserted call that is not there"),
    ],
)
def test_changes_that_cannot_be(tmp_path: Path, change: Change, what: str) -> None:
    old = open_trace(small_trace().write(tmp_path / "old.dtap"))
    with pytest.raises(QueryError, match=what):
        write([Part(old.core, changes=(change,))], tmp_path / "new.dtap")
    assert [p.name for p in tmp_path.iterdir()] == ["old.dtap"]


def test_too_few_bits_for_what_was_stored(tmp_path: Path) -> None:
    scene = VulkanScene().stored(7, 0, b"bytes").vkDeviceWaitIdle(DEVICE)
    old = open_trace(scene.write(tmp_path / "old.dtap"))
    with pytest.raises(QueryError, match="1 rows of memory_writes and only 0 bits"):
        write([Part(old.core, stored=(b"", b""))], tmp_path / "new.dtap")
    assert write([Part(old.core, stored=(b"\1", b""))], tmp_path / "new.dtap")["calls"] == 1


def test_functions_of_other_signatures(tmp_path: Path) -> None:
    old = open_trace(small_trace().write(tmp_path / "old.dtap"))
    text = b"F\t1\tgl\tglNew\t0\t1\t-\tGL_X\nP\tvalue\tGLint\ti32\t4:0\t-\t-\n"  # the number of glEnable
    changes = (Change("insert", 1, "glNew"), Change("value", 1, "value", -5 & 0xFFFFFFFF, inserted=1))
    write([Part(old.core, changes=changes)], tmp_path / "new.dtap", signatures=text)
    new = open_trace(tmp_path / "new.dtap")
    assert _lines(new, flags=1)[:2] == ["0 glEnable(cap = GL_DEPTH_TEST)", "1 glNew(value = -5)"]


def test_join_and_merge(tmp_path: Path) -> None:
    paths = []
    for name, first in (("a", 1000), ("b", 1050)):
        w = Writer(pid=ord(name))
        t = w.thread(context=1)
        for i in range(3):
            t.call("toySeq", seq=i, Name=ord(name), flag=1, start=first + 100 * i, duration=10)
        paths.append(w.write(tmp_path / f"{name}.dtap"))
    a, b = (open_trace(p) for p in paths)
    write([Part(a.core), Part(b.core)], tmp_path / "joined.dtap")
    write([Part(a.core), Part(b.core)], tmp_path / "merged.dtap", by_time=True)
    joined, merged = open_trace(tmp_path / "joined.dtap"), open_trace(tmp_path / "merged.dtap")
    query = 'SELECT chr("Name"), toySeq.seq, t_start, context, thread FROM toySeq ORDER BY toySeq.seq'
    assert [r[0] for r in joined.sql(query.replace("toySeq.seq", "seq")).fetchall()] == list("aaabbb")
    rows = merged.sql(query.replace("toySeq.seq", "seq")).fetchall()
    assert [(r[0], r[2], r[4]) for r in rows] == [
        ("a", 1000, 0), ("b", 1050, 1), ("a", 1100, 0), ("b", 1150, 1), ("a", 1200, 0), ("b", 1250, 1),
    ]  # fmt: skip
    times = [r[2] for r in joined.sql("SELECT seq, frame, t_start FROM calls ORDER BY seq").fetchall()]
    assert times == sorted(times)
    contexts = [r[0] for r in joined.sql("SELECT context FROM calls ORDER BY seq").fetchall()]
    assert contexts == [1, 1, 1, 2, 2, 2]


def test_a_trace_may_replace_itself(tmp_path: Path) -> None:
    path = small_trace().write(tmp_path / "t.dtap")
    with open_trace(path) as old:
        write([Part(old.core, keep=_bits(15, [0, 9]))], path)
    assert len(open_trace(path).calls) == 2


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    old = open_trace(small_trace().write(tmp_path / "old.dtap"))
    with pytest.raises(InputError, match="No such file"):
        write([Part(old.core)], tmp_path / "none" / "new.dtap")


def test_what_is_damaged_is_said(tmp_path: Path) -> None:
    w = Writer()
    t = w.thread()
    for i in range(4):
        t.call("glUniform4fv", location=i, count=1, value=blob(bytes([i]) * 2000), duration=1).flush()
    path = w.write(tmp_path / "old.dtap")
    content = bytearray(path.read_bytes())
    old = open_trace(path)
    chunk = [c for c in old.table("chunks") if c["type"] == "calls"][2]
    old.close()
    content[int(str(chunk["offset"])) + int(str(chunk["bytes"])) - 1] ^= 1
    path.write_bytes(content)
    old = open_trace(path)
    said = write([Part(old.core)], tmp_path / "new.dtap")
    assert said["lost"] == 1
    assert len(said["problems"]) == 1  # type: ignore[arg-type]
    new = open_trace(tmp_path / "new.dtap")
    assert [c.args["location"] for c in new.calls] == [0, 1, 3]
