"""Which calls need which, where the program stores through mappings: bytes are needed by themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from drawtap.trace.graph import Graph, Stop
from drawtap.trace.library import Cancelled
from drawtap.trace.trace import Trace, open_trace
from scene import Scene

SIZE = 64
FRAMES = 5
PERSISTENT = "GL_MAP_WRITE_BIT|GL_MAP_PERSISTENT_BIT|GL_MAP_COHERENT_BIT"


def started() -> Scene:
    s = Scene(api=1).eglMakeCurrent(0x10, 0x20, 0x20, 0x30, result=1)
    s.glBindBuffer("GL_ARRAY_BUFFER", 3).glBufferStorage("GL_ARRAY_BUFFER", SIZE, None, PERSISTENT)
    s.glMapBufferRange("GL_ARRAY_BUFFER", 0, SIZE, PERSISTENT, result=0x5000)
    return s.glVertexAttribPointer(0, 2, "GL_FLOAT", 0, 0, 0).glEnableVertexAttribArray(0)


def drawn(s: Scene) -> Scene:
    return s.glDrawArrays("GL_TRIANGLES", 0, 3)


def names(trace: Trace, keep: np.ndarray) -> list[str]:
    return [trace.calls[int(seq)].name for seq in np.flatnonzero(keep)]


def last_draw(trace: Trace) -> int:
    return max(c.seq for c in trace.calls if c.name == "glDrawArrays")


def rows_of(graph: Graph, keep: np.ndarray) -> list[int]:
    bits = graph.map_writes(keep)
    return [int(i) for i in np.flatnonzero(np.unpackbits(bits, bitorder="little"))]


@pytest.mark.parametrize("lean", [True, False])
def test_bytes_stay_without_the_draws_that_they_were_stored_for(lean: bool, tmp_path: Path):
    s = started()
    for frame in range(FRAMES):
        drawn(s.glClear("GL_COLOR_BUFFER_BIT").mapped(3, 8 * frame, bytes([frame + 1]) * 8)).frame()
    with open_trace(s.write(tmp_path / "t.dtap")) as trace:
        graph = Graph(trace, lean=lean)
        keep = graph.closure([last_draw(trace)])
        kept = names(trace, keep)
        assert kept.count("glDrawArrays") == 1
        assert "glMapBufferRange" in kept
        assert rows_of(graph, keep) == list(range(FRAMES))  # no frame's bytes take the place of another's


def test_bytes_that_others_replace_are_not_kept(tmp_path: Path):
    s = started()
    for frame in range(FRAMES):
        drawn(s.glClear("GL_COLOR_BUFFER_BIT").mapped(3, 8, bytes([frame + 1]) * 8)).frame()
    with open_trace(s.write(tmp_path / "t.dtap")) as trace:
        graph = Graph(trace)
        keep = graph.closure([last_draw(trace)])
        assert rows_of(graph, keep) == [FRAMES - 1]
        everything = np.ones(graph.calls, np.bool_)
        assert rows_of(graph, everything) == list(range(FRAMES))
        # Without the mapping they could not be stored.
        unmapped = everything & ~np.array([c.name == "glMapBufferRange" for c in trace.calls])
        assert rows_of(graph, unmapped) == []


def test_a_call_that_failed_has_not_undone_what_was_stored_before_it(tmp_path: Path):
    s = started().mapped(3, 0, b"12345678").glEnable(0xFFFF).glGetError(result=0x500)
    drawn(s).frame()
    with open_trace(s.write(tmp_path / "t.dtap")) as trace:
        graph = Graph(trace)
        keep = graph.closure([last_draw(trace)])
        assert "glEnable" not in names(trace, keep)
        assert rows_of(graph, keep) == [0]


def test_bytes_right_behind_a_context_that_becomes_current_are_not_lost(tmp_path: Path):
    s = started()
    s.thread = 1
    s.context(0).eglMakeCurrent(0x10, 0x20, 0x20, 0x30, result=1).context(1).mapped(3, 0, b"12345678").glFlush()
    s.thread = 0
    drawn(s).frame()
    with open_trace(s.write(tmp_path / "t.dtap")) as trace:
        graph = Graph(trace)
        assert rows_of(graph, graph.closure([last_draw(trace)])) == [0]


def test_another_thread_sees_what_was_stored_when_the_storing_thread_calls(tmp_path: Path):
    s = started()
    s.thread = 1
    s.mapped(3, 0, b"12345678").glIsEnabled("GL_BLEND")
    s.thread = 0
    drawn(s).frame()
    with open_trace(s.write(tmp_path / "t.dtap")) as trace:
        graph = Graph(trace)
        keep = graph.closure([last_draw(trace)])
        assert "glIsEnabled" in names(trace, keep)  # it carries the bytes to before the draw
        assert rows_of(graph, keep) == [0]


def test_a_list_of_many_vertices_looks_at_the_variables_of_a_vertex_once(tmp_path: Path):
    # Of each vertex are read the current values: a thousand locations, which most vertices leave as they are.
    looks, calls = [], []
    for vertices in (40, 400):
        s = Scene(api=1).eglMakeCurrent(0x10, 0x20, 0x20, 0x30, result=1)
        s.glNewList(1, "GL_COMPILE").glBegin("GL_QUADS")
        for i in range(vertices):
            s.glNormal3f(0, 1, i).glVertex3f(i, 0, 0)
        s.glEnd().glEndList()
        for _ in range(20):
            s.glClear("GL_COLOR_BUFFER_BIT").glCallList(1).frame()
        with open_trace(s.write(tmp_path / f"{vertices}.dtap")) as trace:
            graph = Graph(trace)
            looks.append(graph.size()["looks"])
            calls.append(graph.calls)
            # What the last of the lists draws, and the list itself.
            last = max(c.seq for c in trace.calls if c.name == "glCallList")
            kept = names(trace, graph.closure([last]))
            assert (kept.count("glNewList"), kept.count("glVertex3f")) == (1, vertices)
    assert looks[1] - looks[0] <= 16 * (calls[1] - calls[0])  # those that the list keeps, as they go into it


def test_a_graph_that_nobody_wants_any_more_is_not_made(tmp_path: Path):
    stop = Stop()
    with open_trace(drawn(started()).frame().write(tmp_path / "t.dtap")) as trace:
        assert Graph(trace, stop=stop).calls == len(trace.calls)
        stop.set()
        with pytest.raises(Cancelled):
            Graph(trace, stop=stop)
