"""Frames that ask for the same have the same print, wherever chunks end and whatever the addresses are."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from drawtap.trace.trace import open_trace
from writer import Data, Writer, blob, f32


def prints(w: Writer, path: Path) -> list[int]:
    with open_trace(w.write(path)) as trace:
        return [int(str(row["print"])) for row in trace.table("frame_prints")]


def frames(calls, *, flush: int = 0) -> Writer:
    w = Writer()
    t = w.thread()
    made = 0
    for frame in calls:
        for name, values in [*frame, ("eglSwapBuffers", {"surface": 1})]:
            t.call(name, duration=5, **values)
            made += 1
            if flush and made % flush == 0:
                t.flush()
    return w


def draw(**changes: object):
    return ("glDrawElements", {"mode": 4, "count": 3, "type": 5123, "indices": Data(kind=3, pointer=0), **changes})


def uniform(content: Data):
    return ("glUniform4fv", {"location": 1, "count": 1, "value": content})


@pytest.mark.parametrize("flush", [0, 1, 2, 3, 5])
def test_equal_frames(flush, tmp_path):
    body = [uniform(f32(1, 2, 3, 4)), draw()]
    found = prints(frames([body, body, body], flush=flush), tmp_path / "a.dtap")
    assert found[0] == found[1] == found[2]
    assert found == prints(frames([body, body, body]), tmp_path / "b.dtap")


@pytest.mark.parametrize(
    "other",
    [
        [uniform(f32(1, 2, 3, 5)), draw()],
        [uniform(f32(1, 2, 3, 4)), draw(count=4)],
        [uniform(f32(1, 2, 3, 4)), draw(indices=Data(kind=3, pointer=6))],
        [draw(), uniform(f32(1, 2, 3, 4))],
        [uniform(f32(1, 2, 3, 4)), draw(), draw()],
        [uniform(blob(bytes(300))), draw()],
    ],
)
def test_different_frames(other, tmp_path):
    body = [uniform(f32(1, 2, 3, 4)), draw()]
    found = prints(frames([body, other, body], flush=2), tmp_path / "a.dtap")
    assert found[0] == found[2] != found[1]


def test_where_content_lies_does_not_matter_and_outputs_do_not_either(tmp_path):
    one = [uniform(Data(f32(1, 2, 3, 4).content, pointer=0x1000))]
    other = [uniform(Data(f32(1, 2, 3, 4).content, pointer=0x2000))]
    found = prints(frames([one, other]), tmp_path / "a.dtap")
    assert found[0] == found[1]
    asked = [[("glGetIntegerv", {"pname": 1, "data": Data(struct.pack("<i", i))})] for i in range(2)]
    found = prints(frames(asked), tmp_path / "b.dtap")
    assert found[0] == found[1]


def test_memory_that_could_not_be_read(tmp_path):
    w = frames([[uniform(f32(1, 2, 3, 4)), uniform(Data(kind=6))]])
    with open_trace(w.write(tmp_path / "a.dtap")) as trace:
        assert trace.table("unreadable") == [{"seq": 1, "function": "glUniform4fv", "param": "value"}]


def test_a_damaged_chunk_leaves_the_rest(tmp_path):
    w = frames([[draw()], [draw()], [draw()]], flush=2)
    content = bytearray(w.bytes())
    at = content.find(b"DTCK", 400)
    content[at + 200] ^= 0xFF
    path = tmp_path / "a.dtap"
    path.write_bytes(bytes(content))
    with open_trace(path) as trace:
        assert len(trace.table("frame_prints")) >= 1


def test_an_empty_chunk_is_no_damage(tmp_path):
    w = frames([[draw()], [draw()]])
    thread = w.threads[0].flush()
    w.chunks.append(w.chunks[-1])  # replaced by one without records
    meta = bytearray(w.chunks[-1][1][:144])
    struct.pack_into("<QQII", meta, 16, thread.serial, thread.calls, 0, 0)  # serial, first call, records, calls
    struct.pack_into("<II", meta, 104, 0, 0)  # functions, blocks
    w.chunks[-1] = (w.chunks[-1][0], bytes(meta), 144)
    with open_trace(w.write(tmp_path / "a.dtap")) as trace:
        assert len(trace.table("frame_prints")) == 2
        assert trace.table("frames")
        assert trace.table("content")
        assert trace.table("problems") == []
