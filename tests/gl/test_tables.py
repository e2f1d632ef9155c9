"""The small tables say what our programs did: contexts, threads, client memory, stores through maps, markers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import drawtap
from drawtap.trace.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Bench

pytestmark = pytest.mark.gl


@pytest.fixture
def recorded(programs: Bench, tmp_path: Path) -> Callable[..., Trace]:
    """Return a function that records a program of ours and opens the trace."""

    def record(*argv: str) -> Trace:
        command = [str(programs.programs / argv[0]), *argv[1:]]
        return drawtap.open(programs.recorded_as(command, tmp_path, programs.environment()))

    return record


def test_client_arrays_are_as_many_bytes_as_the_draws_can_read(recorded: Callable[..., Trace]) -> None:
    trace = recorded("client_arrays_es2")
    rows = trace.sql(
        """SELECT c.name, sum(m.address_bytes) FROM memory m JOIN calls c USING (seq)
           GROUP BY c.seq, c.name ORDER BY c.seq"""
    ).fetchall()
    stride, color = 16, 12  # an interleaved vertex; its color ends after 12 bytes
    assert rows == [
        ("glDrawArrays", 8 * stride + color),
        ("glDrawArrays", 4 * stride + color),
        ("glDrawArrays", 8 * stride + color),
        ("glDrawArrays", 8 * stride + color),
        ("glDrawElements", (255 - 12) * stride + color),
        ("glDrawElements", (290 - 40) * stride + color),
        ("glDrawArrays", 6 * 4),  # the colors are in a buffer
        ("glDrawElements", 3 * 4),  # so are the indices: 50, 51, 52
        ("glDrawArrays", 10 * 4),
    ]


def test_the_same_client_array_is_stored_once(recorded: Callable[..., Trace]) -> None:
    trace = recorded("es1_cube", "6")
    assert trace.sql("SELECT count(*), sum(address_bytes) FROM memory").fetchall() == [(12, 6 * (8 * 3 * 4 + 8 * 4))]
    assert trace.sql("SELECT count(*) FROM frames WHERE end_function IS NOT NULL").fetchall() == [(6,)]


def test_tables_without_rows_have_their_columns(recorded: Callable[..., Trace]) -> None:
    trace = recorded("es2_triangle")
    assert trace.sql("SELECT sum(address_bytes), count(address_blob) FROM memory").fetchall() == [(None, 0)]
    query = 'SELECT sum(data_bytes), count(data_blob), count(target), max(buffer), max("offset") FROM map_writes'
    assert trace.sql(query).fetchall() == [(None, 0, 0, None, None)]
    assert trace.sql("SELECT code, text FROM notes").fetchall() == []


def test_columns_of_empty_tables_are_those_of_full_ones(recorded: Callable[..., Trace], tmp_path: Path) -> None:
    empty = recorded("es2_triangle")
    columns = {name: _columns(empty, name) for name in ("memory", "map_writes")}
    empty.close()
    assert columns["memory"] == _columns(recorded("es1_cube"), "memory")
    assert columns["map_writes"] == _columns(recorded("maps"), "map_writes")


def _columns(trace: Trace, table: str) -> list[tuple[object, ...]]:
    return [row[:2] for row in trace.sql(f"DESCRIBE {table}").fetchall()]


def test_stores_through_maps_lie_in_their_buffers(recorded: Callable[..., Trace]) -> None:
    trace = recorded("maps")
    query = """SELECT count(*), sum(CAST(w."offset" + w.data_bytes > 20000 AS INTEGER)), count(DISTINCT w.buffer)
               FROM map_writes w WHERE w.seq < (SELECT max(seq) FROM calls)"""
    ((count, _, buffers),) = trace.sql(query).fetchall()
    assert count > 10
    assert buffers > 1
    # What is stored reaches the GPU with a call of the program.
    assert trace.sql("SELECT count(*) FROM map_writes w ANTI JOIN calls c USING (seq)").fetchall() == [(0,)]


def test_threads_and_contexts(recorded: Callable[..., Trace]) -> None:
    trace = recorded("shared_contexts")
    contexts = trace.table("contexts")
    assert len(contexts) == 3
    groups = [row["share_group"] for row in contexts]
    assert len(set(groups)) == 2
    assert {row["api"] for row in contexts} == {"gles"}
    assert len({row["handle"] for row in contexts}) == 3
    threads = trace.table("threads")
    assert len(threads) == 2
    assert sum(int(str(row["calls"])) for row in threads) == trace.info["calls"]
    assert len({row["tid"] for row in threads}) == 2
    # One context was current on both threads, one after the other.
    query = "SELECT context FROM calls WHERE context > 0 GROUP BY context HAVING count(DISTINCT thread) = 2"
    assert len(trace.sql(query).fetchall()) == 1
    # Without a context nothing of GL was called.
    assert trace.sql("SELECT DISTINCT api FROM calls WHERE context = 0").fetchall() == [("egl",)]
    # Each makes current what its eglMakeCurrent says.
    query = """SELECT count(*) FROM "eglMakeCurrent" m JOIN calls c ON c.thread = m.thread AND c.seq > m.seq
               JOIN contexts x ON x.context = c.context
               WHERE m.ctx > 0 AND x.handle <> m.ctx AND c.api = 'gl' AND NOT EXISTS (
                 FROM "eglMakeCurrent" n WHERE n.thread = m.thread AND n.seq > m.seq AND n.seq < c.seq)"""
    assert trace.sql(query).fetchall() == [(0,)]


def test_markers(recorded: Callable[..., Trace]) -> None:
    trace = recorded("debug_markers")
    seq = dict(trace.sql("SELECT name, min(seq) FROM calls GROUP BY name").fetchall())
    rows = trace.sql("SELECT kind, text, depth, function, seq, end_seq FROM markers ORDER BY seq").fetchall()
    frame = seq["glPushDebugGroup"]
    last = int(str(trace.info["calls"]))
    assert [row[:4] for row in rows] == [
        ("label", "bricks", 0, "glObjectLabel"),
        ("label", "walls", 0, "glObjectLabel"),
        ("group", "frame", 0, "glPushDebugGroup"),
        ("group", "shadow", 1, "glPushDebugGroup"),
        ("insert", "begin " + "m" * 294, 2, "glDebugMessageInsert"),
        ("group", 'lighting "quoted"\n', 1, "glPushDebugGroup"),
        ("group", "never closed", 0, "glPushDebugGroup"),
    ]
    assert [row[4:] for row in rows if row[0] == "group"] == [
        (frame, frame + 9),
        (frame + 2, frame + 6),
        (frame + 6, frame + 8),
        (frame + 10, last),
    ]
    query = (
        "SELECT count(*) FROM calls c JOIN markers m ON c.seq BETWEEN m.seq AND m.end_seq - 1 WHERE m.text = 'shadow'"
    )
    assert trace.sql(query).fetchall() == [(4,)]


def test_text_is_shown_as_text_however_long(recorded: Callable[..., Trace]) -> None:
    trace = recorded("shared_contexts")
    lines = [line for line in trace.text(flags=17) if line.startswith("glShaderSource")]
    assert lines
    assert all('{"' in line for line in lines)
