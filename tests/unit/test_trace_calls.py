"""A trace as calls, frames, tables and text, written by an independent writer."""

from __future__ import annotations

import itertools
import json
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import writer
from drawtap.errors import InputError, QueryError
from drawtap.trace.core import TABLES, Selection
from drawtap.trace.trace import Enum, Trace, open_trace
from drawtap.web.recording import Recording
from writer import NULL, PENDING, Data, Writer, blob, f32, i32, small_trace, text

GOLDEN = """\
0 @0 3 glEnable(cap = GL_DEPTH_TEST)  [50 ns]
1 @0 3 glUniform4fv(location = 2, count = 1, value = {1, 0.5, -3, 4})  [60 ns]
2 @1 7 glClear(mask = GL_DEPTH_BUFFER_BIT | GL_COLOR_BUFFER_BIT)  [10 ns]
3 @0 3 glUniform4fv(location = 3, count = 32, value = blob(512 bytes, HASH…))  [61 ns]
4 @1 7 glGetIntegerv(pname = GL_CULL_FACE, data = {42})  [12 ns]
5 @0 3 glShaderSource(shader = 5, count = 2, string = {"void main()\\n", "{}"}, length = NULL)  [70 ns]
6 @0 3 glPushDebugGroup(source = 1, id = 1, length = 5, message = "shadow")  [5 ns]
7 @0 3 glDrawElements(mode = GL_TRIANGLES, count = 36, type = GL_UNSIGNED_SHORT, indices = NULL)  [5.00 us]
8 @0 3 glPopDebugGroup()  [5 ns]
9 @0 3 eglSwapBuffers(dpy = 0x10, surface = 0x20) = EGL_TRUE  [900 ns]
10 @1 7 glBindTexture(target = GL_CULL_FACE, texture = 9)  [6.00 s]
11 @0 0 glClearDepth(depth = 0.25)  [20 ns]
12 @0 0 toySeq(seq = 1, Name = 2, flag = true)  [20 ns]
13 @0 0 glGetError() = GL_INVALID_ENUM  [7 ns]
14 @0 0 glFinish()  [in flight]
"""


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    return open_trace(small_trace().write(tmp_path / "small.dtap"))


@pytest.mark.parametrize("codec", [writer.STORE, writer.ZSTD])
@pytest.mark.parametrize("footer", [True, False])
def test_text(tmp_path: Path, codec: int, footer: bool) -> None:
    trace = open_trace(small_trace(codec=codec).write(tmp_path / "t.dtap", footer=footer))
    expected = GOLDEN.replace("HASH", writer.hash_text(bytes(range(256)) * 2)[:8])
    assert "".join(line + "\n" for line in trace.text(flags=2 | 4)) == expected
    assert trace.info["complete"] is footer


def test_text_of_a_range_and_of_a_function(trace: Trace) -> None:
    assert [line.split(" ")[0] for line in trace.text(seqs=range(3, 6))] == ["3", "4", "5"]
    assert [line.split("(")[0] for line in trace.text(frames=range(1, 2), flags=16)] == [
        "glBindTexture",
        "glClearDepth",
        "toySeq",
        "glGetError",
        "glFinish",
    ]
    assert len(list(trace.text(function="glUniform4fv"))) == 2
    assert list(trace.text(seqs=range(4, 4))) == []
    with pytest.raises(QueryError, match="no function glNothing"):
        list(trace.text(function="glNothing"))


def test_text_may_be_left_early(trace: Trace) -> None:
    assert next(iter(trace.text())).startswith("0 glEnable")


def test_arguments(trace: Trace) -> None:
    enable, uniform, clear = trace.calls[0], trace.calls[1], trace.calls[2]
    assert enable.args == {"cap": "GL_DEPTH_TEST"}
    cap = enable.args["cap"]
    assert isinstance(cap, Enum) and cap.value == 2929
    value = uniform.args["value"]
    assert isinstance(value, np.ndarray) and value.dtype == np.float32
    assert value.tolist() == [1, 0.5, -3, 4] and not value.flags.writeable
    mask = clear.args["mask"]
    assert isinstance(mask, Enum) and mask.value == 256 | 16384
    assert trace.calls[5].args == {"shader": 5, "count": 2, "string": ["void main()\n", "{}"], "length": None}
    assert trace.calls[7].args["indices"] is None
    assert trace.calls[11].args == {"depth": 0.25}
    assert trace.calls[12].args == {"seq": 1, "Name": 2, "flag": True}


def test_arrays_in_blobs(trace: Trace) -> None:
    content = bytes(range(256)) * 2
    value = trace.calls[3].args["value"]
    assert isinstance(value, np.ndarray) and value.tobytes() == content
    digest = writer.hash_text(content)
    assert trace.blob(digest) == content
    assert trace.table("blobs") == [
        {"hash": digest, "bytes": 512, "stored_bytes": trace.table("blobs")[0]["stored_bytes"], "parts": 1}
    ]
    with pytest.raises(QueryError, match="no content with hash"):
        trace.blob("0" * 32)
    with pytest.raises(QueryError, match="not a content hash"):
        trace.blob("xyz")


def test_results(trace: Trace) -> None:
    assert trace.calls[9].result is True
    assert trace.calls[13].result == "GL_INVALID_ENUM"
    assert trace.calls[14].result is None
    assert trace.calls[14].duration is None


def test_rows(trace: Trace) -> None:
    call = trace.calls[10]
    assert (call.seq, call.name, call.frame, call.thread, call.context) == (10, "glBindTexture", 1, 1, 7)
    assert (call.t_start, call.duration) == (7000, 6_000_000_000)  # a long one: the tap said how long


def test_slices(trace: Trace) -> None:
    assert len(trace.calls) == 15
    assert [c.seq for c in trace.calls] == list(range(15))
    assert [c.seq for c in trace.calls[3:6]] == [3, 4, 5]
    assert [c.seq for c in trace.calls[10:2:-3]] == [10, 7, 4]
    assert [c.seq for c in trace.calls[5:][1:3]] == [6, 7]
    assert trace.calls[-1].name == "glFinish"
    with pytest.raises(IndexError, match="no call 15"):
        trace.calls[15]


def test_frames(trace: Trace) -> None:
    (first,) = trace.frames  # the calls after the last frame end belong to no frame that anyone saw
    assert (first.first_seq, first.end_seq, first.draws, first.upload_bytes) == (0, 10, 1, 16 + 512 + 22)
    assert (first.t_start, first.t_end, first.duration, first.end_function) == (1000, 7400, 6400, "eglSwapBuffers")
    assert [c.frame for c in trace.calls[first.end_seq :]] == [1] * 5
    assert trace.info["frames"] == 1
    assert trace.info["frame_end"] == {"rule": "frame_end", "why": "the program shows frames with eglSwapBuffers"}


@pytest.mark.parametrize(("rule", "frames"), [("glClear", 1), ("glClear,glFinish", 2), ("glUniform4fv", 2)])
def test_frame_ends_by_name(tmp_path: Path, rule: str, frames: int) -> None:
    trace = open_trace(small_trace().write(tmp_path / "t.dtap"), frame_end=rule)
    assert trace.info["frames"] == frames


def test_unknown_frame_end(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="no function glSwap"):
        open_trace(small_trace().write(tmp_path / "t.dtap"), frame_end="glSwap")


def test_a_program_that_never_swaps(tmp_path: Path) -> None:
    w = Writer()
    t = w.thread()
    for _ in range(3):
        t.call("glClear", mask=256, duration=5).call("glFinish", duration=5)
    trace = open_trace(w.write(tmp_path / "t.dtap"))
    assert trace.info["frames"] == 3
    assert "finish" in str(trace.info["frame_end"])
    assert [f.calls[0].name for f in trace.frames] == ["glClear"] * 3


def test_tables(trace: Trace) -> None:
    assert {name: len(trace.table(name)) for name in TABLES} == {
        "functions": len(trace.table("functions")),
        "params": len(trace.table("params")),
        "enums": 9,
        "frames": 1,
        "threads": 2,
        "contexts": 2,
        "blobs": 1,
        "markers": 1,
        "memory": 0,
        "map_writes": 0,
        "memory_writes": 0,
        "device_writes": 0,
        "objects": 0,
        "structures": 0,
        "chains": 0,
        "submits": 0,
        "executed": 0,
        "allocations": 0,
        "barriers": 0,
        "pipelines": 0,
        "shaders": 0,
        "natives": 0,
        "notes": 1,
        "libraries": 0,
        "problems": 0,
        "annotations": 1,
        "chunks": 6,
        "histogram": 14,
        "content": 2,
        "frame_prints": 2,
        "metrics": 0,
        "marks": 0,
        "unreadable": 0,
    }
    assert trace.table("notes")[0] == {
        "seq": 2,
        "thread": 1,
        "t": 1000,
        "code": "nested",
        "text": "a call inside a call",
    }
    assert trace.table("contexts")[0]["api"] == "gles"
    [marker] = trace.table("markers")
    assert (marker["seq"], marker["end_seq"], marker["text"]) == (6, 9, "shadow")
    with pytest.raises(QueryError, match="frames"):
        trace.table("frame")


def test_histogram_needs_no_decoding(trace: Trace) -> None:
    rows = {r["name"]: r for r in trace.table("histogram")}
    assert rows["glUniform4fv"] == {
        "name": "glUniform4fv",
        "api": "gl",
        "category": "upload",
        "calls": 2,
        "share": pytest.approx(2 / 15),
        "total_ns": 121,
        "mean_ns": 60.5,
        "max_ns": 61,
        "payload_bytes": 16 + 512,
    }


# ---- order -------------------------------------------------------------------------------------------------


def test_marks_win_over_the_clock(tmp_path: Path) -> None:
    w = Writer()
    a, b = w.thread(), w.thread()
    a.call("glEnable", cap=1, start=100, duration=1)
    a.tap("dtapOrder", order=1).call("glEnable", cap=2, start=5000, duration=1)
    a.call("glEnable", cap=3, start=6000, duration=1)
    b.tap("dtapOrder", order=2).call("glEnable", cap=4, start=200, duration=1)  # its clock is behind
    b.call("glEnable", cap=5, start=300, duration=1)
    b.call("glEnable", cap=6, start=7000, duration=1)
    trace = open_trace(w.write(tmp_path / "t.dtap"))
    assert [c.args["cap"].value for c in trace.calls] == [1, 2, 4, 5, 3, 6]  # type: ignore[attr-defined]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_order_of_threads(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """By time where there are no marks; the thread's own order always; the numbers of marks always."""
    w = Writer(codec=writer.STORE)
    threads = [w.thread() for _ in range(data.draw(st.integers(1, 4)))]
    mark = 0
    expected: list[tuple[int, int]] = []  # time, number
    of_thread: dict[int, list[int]] = {t.index: [] for t in threads}
    marked: list[int] = []
    marks = data.draw(st.booleans())
    for number in range(data.draw(st.integers(0, 60))):
        thread = data.draw(st.sampled_from(threads))
        start = thread.clock + data.draw(st.integers(1, 500))
        if marks and data.draw(st.integers(0, 3)) == 0:
            mark += 1
            thread.tap("dtapOrder", order=mark)
            marked.append(number)
        thread.call("toySeq", seq=number, start=start, duration=1)
        of_thread[thread.index].append(number)
        expected.append((start, thread.index))
        if data.draw(st.integers(0, 9)) == 0:
            thread.flush()
    path = w.write(tmp_path_factory.mktemp("order") / "t.dtap", footer=data.draw(st.booleans()))
    with open_trace(path) as trace:
        got = [c.args["seq"] for c in trace.calls]
        assert sorted(got) == list(range(len(expected)))  # type: ignore[type-var]
        place = {number: i for i, number in enumerate(got)}
        for own in of_thread.values():
            assert all(place[a] < place[b] for a, b in itertools.pairwise(own))
        assert all(place[a] < place[b] for a, b in itertools.pairwise(marked))
        if not marks:
            assert [expected[n] for n in got] == sorted(expected)  # type: ignore[index]
        # The tables give the same order as walking does, however the rows are cut into batches.
        rows = trace.core.rows(Selection())
        assert [r["seq"] for r in rows] == list(range(len(expected)))
        assert [int(line.split("seq = ")[1].split(",")[0]) for line in trace.text()] == got
        for seq in range(0, len(got), 7):
            assert trace.calls[seq].args["seq"] == got[seq]
        texts = [f"toySeq(seq = {n}, Name = 0, flag = false)" for n in got]
        assert [{**row, "text": text} for row, text in zip(rows, texts, strict=True)] == trace.core.rows_with_text(
            0, len(got)
        )
        # Every call as a frame: each thread's frames lie between those of the others.
        trace.core.set_frame_end("toySeq")
        frames = trace.core.table_rows("frames") if got else []
        times = ("t_start", "duration")
        assert [[f["first_seq"], *map(f.get, times)] for f in frames] == [[r["seq"], *map(r.get, times)] for r in rows]


def test_a_call_whose_arrays_are_cut_off_does_not_hide_the_others(tmp_path: Path) -> None:
    class Short(Data):
        descriptor = 1 | 1 << 40

    w = Writer()
    w.thread().call("glEnable", cap=2929).call("glUniform4fv", value=Short(b""))
    path = w.write(tmp_path / "t.dtap")
    with open_trace(path) as trace:
        assert [row["text"] for row in trace.core.rows_with_text(0, 2)] == ["glEnable(cap = GL_DEPTH_TEST)", None]
    seen = Recording(path)
    assert [row[7] for row in seen.calls([0, 1])] == [
        "glEnable(cap = GL_DEPTH_TEST)", "cannot be read: a function's arrays are cut off",
    ]  # fmt: skip
    seen.close()


# ---- values ------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    locations=st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=20),
    data=st.data(),
)
def test_values_come_back(locations: list[int], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    floats = st.floats(width=32)
    w = Writer(codec=data.draw(st.sampled_from([writer.STORE, writer.ZSTD])))
    t = w.thread()
    wanted = []
    for location in locations:
        values = data.draw(st.lists(floats, max_size=9))
        array = f32(*values)
        if data.draw(st.booleans()) and values:
            array = blob(array.content)
        t.call(
            "glUniform4fv",
            location=location,
            count=len(values),
            value=array,
            duration=data.draw(st.integers(0, 2**32 - 4)),
        )
        t.call("glClearDepth", depth=data.draw(st.floats()), duration=3)
        wanted.append((location, struct.pack(f"<{len(values)}f", *values)))
    with open_trace(w.write(tmp_path_factory.mktemp("values") / "t.dtap")) as trace:
        got = [(c.args["location"], c.args["value"]) for c in trace.calls[::2]]
        assert [(a, b.tobytes()) for a, b in got] == wanted  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("array", "value", "shown"),
    [
        (NULL, None, "NULL"),
        (PENDING, None, "?"),
        (Data(kind=3, pointer=64), 64, "0x40"),
        (Data(kind=5, pointer=4096), 4096, "0x1000"),
        (Data(kind=6, pointer=16), 16, "0x10 /* unreadable */"),
    ],
)
def test_pointers_without_content(tmp_path: Path, array: Data, value: object, shown: str) -> None:
    w = Writer()
    w.thread().call("glGetIntegerv", pname=2929, data=array, duration=1)
    trace = open_trace(w.write(tmp_path / "t.dtap"))
    assert trace.calls[0].args["data"] == value
    assert str(trace.calls[0]) == f"glGetIntegerv(pname = GL_DEPTH_TEST, data = {shown})"


def test_long_arrays_and_strings_are_cut_in_text_only(tmp_path: Path) -> None:
    w = Writer()
    w.thread().call("glGetIntegerv", pname=1, data=i32(*range(40)), duration=1).call(
        "glPushDebugGroup", source=1, id=1, length=-1, message=text("ä" * 5 + "x" * 300 + '"\x01'), duration=1
    )
    trace = open_trace(w.write(tmp_path / "t.dtap"))
    assert str(trace.calls[0]).endswith("13, 14, 15, …})")
    assert len(trace.calls[0].args["data"]) == 40  # type: ignore[arg-type]
    assert trace.calls[1].args["message"] == "ä" * 5 + "x" * 300 + '"\x01'
    assert str(trace.calls[1]).endswith('x…")')


def test_unknown_enumerants_are_numbers(tmp_path: Path) -> None:
    w = Writer()
    w.thread().call("glEnable", cap=0xBEEF, duration=1).call("glEnable", cap=7, duration=1).call(
        "glClear", mask=256 | 2, duration=1
    )
    trace = open_trace(w.write(tmp_path / "t.dtap"))
    assert [str(c) for c in trace.calls] == [
        "glEnable(cap = 0xBEEF)",
        "glEnable(cap = 7)",
        "glClear(mask = GL_DEPTH_BUFFER_BIT | 0x2)",
    ]


CHOICE = writer.table("""\
G  Config  enum
E  EGL_NONE  12344
E  EGL_SURFACE_TYPE  12339
E  EGL_CONFIG_CAVEAT  12327
E  EGL_DEPTH_SIZE  12325
G  Surface  bitmask
E  EGL_PBUFFER_BIT  1
E  EGL_WINDOW_BIT  4
E  EGL_DONT_CARE  -1
G  Caveat  enum
E  EGL_NONE  12344
E  EGL_SLOW_CONFIG  12368
F  40  egl  eglChoose  2  0  -  -
P  list  const EGLint *  ptr  8:0  -  -
""")
NAMED = CHOICE + writer.table("D  8:1  attribs32  in  Config  -  12339=Surface,12327=Caveat,x=Surface,12325=Nobody\n")
NUMBERS = CHOICE + writer.table("D  8:1  attribs32  in  Config\n")


@pytest.mark.parametrize(
    ("signatures", "values", "shown", "data"),
    [
        (NAMED, (12339, 5, 12325, 24), "EGL_SURFACE_TYPE = EGL_PBUFFER_BIT | EGL_WINDOW_BIT, EGL_DEPTH_SIZE = 24",
         ["EGL_SURFACE_TYPE", "EGL_PBUFFER_BIT | EGL_WINDOW_BIT", "EGL_DEPTH_SIZE", 24, "EGL_NONE"]),
        (NAMED, (12339, -1, 12327, 12368), "EGL_SURFACE_TYPE = EGL_DONT_CARE, EGL_CONFIG_CAVEAT = EGL_SLOW_CONFIG",
         ["EGL_SURFACE_TYPE", "EGL_DONT_CARE", "EGL_CONFIG_CAVEAT", "EGL_SLOW_CONFIG", "EGL_NONE"]),
        (NAMED, (12327, 12339, 1, 2), "EGL_CONFIG_CAVEAT = 12339, 1 = 2",
         ["EGL_CONFIG_CAVEAT", 12339, 1, 2, "EGL_NONE"]),
        (NUMBERS, (12339, 5), "EGL_SURFACE_TYPE = 5", ["EGL_SURFACE_TYPE", 5, "EGL_NONE"]),
    ],
)  # fmt: skip
def test_values_of_attributes_are_named_where_the_trace_says_how(
    tmp_path: Path, signatures: str, values: tuple[int, ...], shown: str, data: list[object]
) -> None:
    w = Writer(signatures)
    w.thread().call("eglChoose", list=i32(*values, 12344), duration=1)
    trace = open_trace(w.write(tmp_path / "t.dtap"))
    assert str(trace.calls[0]) == f"eglChoose(list = {{{shown}}})"
    ((params,),) = trace.sql('SELECT params FROM "eglChoose"')
    assert json.loads(str(params))["list"] == data
    assert list(trace.calls[0].args["list"]) == [*values, 12344]  # type: ignore[call-overload]


# ---- time --------------------------------------------------------------------------------------------------


def test_ticks_become_ns(tmp_path: Path) -> None:
    """Calibration pairs of 4 ticks a ns; with one of them far off."""
    w = Writer(clock=0)
    t = w.thread()
    for i in range(20):
        t.call("glEnable", cap=i, start=4_000_000_000 + i * 200_000_000, duration=4000).flush()
    raw = bytearray(w.bytes(footer=False))
    # The writer stores the ticks as ns too: put true pairs in.
    at, number = 32, 0
    while at < len(raw):
        _, kind, _, size, _, meta = struct.unpack_from("<IHHQQI", raw, at)
        if kind == writer.CALLS:
            ticks = struct.unpack_from("<Q", raw, at + 32 + 72)[0]
            struct.pack_into(
                "<QQ", raw, at + 32 + 80, ticks // 4 + (5_000_000 if number == 9 else 0), 100_000 if number == 9 else 40
            )
            payload = bytes(raw[at + 32 : at + 32 + size])
            raw[at : at + 32] = writer.chunk_header(kind, payload, meta)
            number += 1
        at += 32 + size
    path = tmp_path / "t.dtap"
    path.write_bytes(raw)
    trace = open_trace(path)
    assert [c.t_start for c in trace.calls] == [1_000_000_000 + i * 50_000_000 for i in range(20)]
    assert {c.duration for c in trace.calls} == {1000}


def test_without_times(tmp_path: Path) -> None:
    w = Writer(timing=2)
    t = w.thread()
    for i in range(5):
        t.call("glEnable", cap=i, start=0, duration=writer.NONE)
    trace = open_trace(w.write(tmp_path / "t.dtap"))
    assert [(c.t_start, c.duration) for c in trace.calls] == [(None, None)] * 5
    assert trace.frames[0].duration is None
    assert trace.table("histogram")[0]["total_ns"] is None


# ---- files that are not whole ------------------------------------------------------------------------------


def test_refused_files(tmp_path: Path) -> None:
    cases = {
        "missing": (None, "No such file"),
        "empty": (b"", "is empty, not a recording"),
        "text": (b"hello, this is certainly no trace at all", "is text, not a recording"),
        "noise": (b"\xfe\0 nothing that anybody knows, as far as it goes", "not a drawtap trace"),
        "newer": (small_trace().bytes(version=2), "version 2 .* up to version 1"),
    }
    for name, (content, message) in cases.items():
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(InputError, match=message):
            open_trace(path)
    with pytest.raises(InputError, match="is a directory"):
        open_trace(tmp_path)


def test_a_torn_tail_is_dropped_and_said(tmp_path: Path) -> None:
    w = Writer()
    t = w.thread()
    for i in range(4):
        t.call("glEnable", cap=i, duration=1).flush()
    content = w.bytes(footer=False)
    path = tmp_path / "t.dtap"
    path.write_bytes(content[:-3])
    trace = open_trace(path)
    assert [c.args["cap"].value for c in trace.calls] == [0, 1, 2]  # type: ignore[attr-defined]
    assert [p["kind"] for p in trace.table("problems")] == ["torn"]


def test_a_damaged_chunk_is_skipped_and_said(tmp_path: Path) -> None:
    for footer, calls in ((False, [0, 2, 3]), (True, [0, 2, 3])):
        w = Writer(codec=writer.STORE)
        t = w.thread()
        for i in range(4):
            t.call("glEnable", cap=0x7A7A7A + i, duration=1).flush()
        content = bytearray(w.bytes(footer=footer))
        at = content.index(struct.pack("<I", 0x7A7A7A + 1))
        content[at] ^= 0xFF
        path = tmp_path / f"t{footer}.dtap"
        path.write_bytes(content)
        trace = open_trace(path)
        assert [c.args["cap"].value - 0x7A7A7A for c in trace.calls] == calls  # type: ignore[attr-defined]
        assert {str(p["kind"]) for p in trace.table("problems")} & {"checksum", "damaged"}


def test_rows_of_a_table_are_made_once_they_are_read(tmp_path: Path) -> None:
    w = Writer(codec=writer.STORE)
    w.thread().call("glEnable", cap=0x7A7A7A, duration=1)
    content = bytearray(w.bytes())
    content[content.index(struct.pack("<I", 0x7A7A7A))] ^= 0xFF
    path = tmp_path / "t.dtap"
    path.write_bytes(content)
    with open_trace(path) as trace:
        assert trace.call_count == 1
        trace.core.table("frames")  # for its columns alone
        assert trace.core.table_rows("met_problems") == []
        assert trace.sql("SELECT frame FROM frames").fetchall() == [(0,)]
        assert [p["kind"] for p in trace.core.table_rows("met_problems")] == ["damaged"]


def test_whoever_asks_for_problems_learns_of_all(tmp_path: Path) -> None:
    """Chunks of calls and of contents, though nothing else read them."""
    w = Writer(codec=writer.STORE)
    w.thread().call("glEnable", cap=0x7A7A7A, duration=1)
    w.add_blobs([b"content" * 99])
    content = bytearray(w.bytes())
    for word in (struct.pack("<I", 0x7A7A7A), b"contentcontent"):
        content[content.index(word)] ^= 0xFF
    path = tmp_path / "t.dtap"
    path.write_bytes(content)
    with open_trace(path) as trace:
        texts = [text for [text] in trace.sql("SELECT text FROM problems WHERE kind = 'damaged'").fetchall()]
    assert len(texts) == 2 and "a calls chunk" in texts[0] and "a chunk of contents" in texts[1]


def test_lost_chunks_are_said(tmp_path: Path) -> None:
    w = Writer()
    t = w.thread()
    for i in range(3):
        t.call("glEnable", cap=i, duration=1).flush()
    del w.chunks[2]
    trace = open_trace(w.write(tmp_path / "t.dtap"))
    [problem] = trace.table("problems")
    assert problem["kind"] == "lost" and "1 chunks with 1 calls" in str(problem["text"])


def test_unknown_chunks_are_skipped(tmp_path: Path) -> None:
    w = small_trace()
    w.chunks.insert(2, (999, b"from the future", 0))
    trace = open_trace(w.write(tmp_path / "t.dtap"))
    assert trace.info["calls"] == 15 and trace.table("problems") == []


def test_blobs_in_parts(tmp_path: Path) -> None:
    content = bytes(range(256)) * 40
    w = Writer()
    w.thread().call("glGetIntegerv", pname=1, data=i32(1), duration=1)
    w.add_blobs([content], part=1000)
    w.add_blobs([b""])
    trace = open_trace(w.write(tmp_path / "t.dtap"))
    assert trace.blob(writer.hash_text(content)) == content
    assert trace.blob(writer.hash_text(b"")) == b""


def test_a_closed_trace_says_so(trace: Trace) -> None:
    with trace:
        pass
    with pytest.raises(InputError, match="closed"):
        trace.calls[0]


def test_nothing_heavy_is_imported(tmp_path: Path) -> None:
    import subprocess
    import sys

    path = small_trace().write(tmp_path / "t.dtap")
    code = (
        "import sys; from drawtap.trace.trace import open_trace;"
        f"open_trace({str(path)!r}).table('histogram');"
        "assert not {'duckdb', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
