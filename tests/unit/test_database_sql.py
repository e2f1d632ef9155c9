"""A trace in SQL."""

from __future__ import annotations

import csv
import itertools
import os
import pickle
import re
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pytest

from drawtap.errors import InputError, QueryError
from drawtap.trace import database, proof
from drawtap.trace.core import TABLES
from drawtap.trace.library import Cancelled
from drawtap.trace.trace import Trace, open_trace
from writer import Writer, blob, f32, small_trace


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    return open_trace(small_trace().write(tmp_path / "small.dtap"))


def many(tmp_path: Path, calls: int = 3000) -> Trace:
    """Two interleaved threads in many chunks; every tenth call ends a frame."""
    w = Writer()
    threads = [w.thread(), w.thread()]
    for i in range(calls):
        t = threads[i % 3 == 0]
        start = 1000 + i * 100
        if i % 10 == 9:
            t.call("eglSwapBuffers", dpy=1, surface=2, result=1, start=start, duration=50)
        elif i % 2:
            t.call("glBindTexture", target=2884, texture=i // 7, start=start, duration=i)
        else:
            t.call("glUniform4fv", location=i, count=1, value=f32(i, 0, 0, 0), start=start, duration=i)
        if i % 97 == 0:
            t.flush()
    return open_trace(w.write(tmp_path / "many.dtap"))


QUERIES: dict[str, list[tuple[object, ...]]] = {
    # verbatim from the documentation
    "SELECT seq, name, duration FROM calls WHERE duration > 4000": [
        (7, "glDrawElements", 5000),
        (10, "glBindTexture", 6_000_000_000),
    ],
    "SELECT event.seq, event.name, event.duration FROM trace WHERE event.duration > 4000": [
        (7, "glDrawElements", 5000),
        (10, "glBindTexture", 6_000_000_000),
    ],
    "SELECT sum(count) FROM \"glDrawElements\" WHERE mode = 'GL_TRIANGLES'": [(36,)],
    "SELECT sum(count) FROM glDrawElements WHERE mode = 4": [(36,)],
    # enumerants by number
    "SELECT seq FROM glEnable WHERE 2929 = cap": [(0,)],
    "SELECT seq FROM glEnable e WHERE e.cap IN (1, 2929)": [(0,)],
    "SELECT seq FROM glEnable WHERE cap NOT IN (2929)": [],
    "SELECT seq FROM glEnable WHERE cap BETWEEN 2900 AND 3000 AND cap <> 5": [(0,)],
    "SELECT seq FROM glClear WHERE mask = 16640": [(2,)],
    "SELECT seq FROM glClear WHERE mask = 'GL_DEPTH_BUFFER_BIT | GL_COLOR_BUFFER_BIT'": [(2,)],
    "SELECT count(*) FROM calls c JOIN glEnable e USING (seq) WHERE e.cap = 2929 AND c.name = 'glEnable'": [(1,)],
    "SELECT count(*) FILTER (WHERE cap = 2929), sum(CASE WHEN cap = 1 THEN 1 ELSE 0 END) FROM glEnable": [(1, 0)],
    "SELECT seq FROM glGetError WHERE result = 1280": [(13,)],
    "SELECT cap, cap_value FROM glEnable": [("GL_DEPTH_TEST", 2929)],
    # arrays, strings, content
    "SELECT value[2] FROM glUniform4fv WHERE location = 2": [(0.5,)],
    "SELECT location, len(value), value_bytes, octet_length(value_data) FROM glUniform4fv ORDER BY seq": [
        (2, 4, 16, 16),
        (3, 128, 512, 512),
    ],
    "SELECT string, length FROM glShaderSource": [(["void main()\n", "{}"], None)],
    "SELECT message FROM glPushDebugGroup": [("shadow",)],
    "SELECT data FROM glGetIntegerv": [([42],)],
    "SELECT indices, indices_bytes FROM glDrawElements": [(0, None)],
    "SELECT b.bytes FROM glUniform4fv u JOIN blobs b ON b.hash = u.value_blob": [(512,)],
    # names that collide
    'SELECT seq, seq_, "Name", flag FROM toySeq': [(12, 1, 2, True)],
    # conditions that narrow what is read must not change the answer
    "SELECT name FROM calls WHERE seq = 7": [("glDrawElements",)],
    "SELECT count(*) FROM calls WHERE seq > 3 AND 7 >= seq": [(4,)],
    "SELECT count(*) FROM calls WHERE seq > 3 OR seq = 0": [(12,)],
    "SELECT count(*) FROM calls WHERE seq BETWEEN 5 AND 4": [(0,)],
    "SELECT count(*) FROM calls WHERE NOT (seq = 3)": [(14,)],
    "SELECT count(*) FROM calls WHERE frame = 1": [(5,)],
    "SELECT count(*) FROM calls WHERE frame >= 1 AND seq < 12": [(2,)],
    "SELECT count(*) FROM calls WHERE seq < -1": [(0,)],
    "SELECT count(*) FROM calls WHERE seq >= 1000000": [(0,)],
    "SELECT a.seq, b.seq FROM calls a LEFT JOIN calls b ON b.seq = a.seq AND b.seq > 13 WHERE a.seq > 12 ORDER BY 1": [
        (13, None),
        (14, 14),
    ],
    "SELECT event.name FROM trace WHERE event.seq BETWEEN 7 AND 8": [("glDrawElements",), ("glPopDebugGroup",)],
    "SELECT t.event.name FROM trace t WHERE t.event.seq = 0": [("glEnable",)],
    "SELECT event.values->>'mode' FROM trace WHERE event.seq = 7": [("GL_TRIANGLES",)],
    "SELECT event.time - 1000 FROM trace LIMIT 1": [(0,)],
    # shapes of queries
    "FROM calls SELECT count(*)": [(15,)],
    "SELECT count(*) FROM (SELECT * FROM calls)": [(15,)],
    "WITH a AS (SELECT frame, count(*) AS n FROM calls GROUP BY ALL)"
    " SELECT x.n, y.n FROM a x JOIN a y USING (frame) ORDER BY 1": [
        (5, 5),
        (10, 10),
    ],
    "WITH calls AS (SELECT 1 AS x) SELECT * FROM calls": [(1,)],
    "WITH RECURSIVE r(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM r WHERE n < 2)"
    " SELECT n, name FROM r JOIN calls ON seq = n ORDER BY n": [
        (0, "glEnable"),
        (1, "glUniform4fv"),
        (2, "glClear"),
    ],
    "SELECT name FROM calls WHERE seq = 0 UNION ALL SELECT end_function FROM frames WHERE frame = 0": [
        ("glEnable",),
        ("eglSwapBuffers",),
    ],
    "SELECT seq FROM calls WHERE seq IN (SELECT seq FROM glClear)": [(2,)],
    "SELECT (SELECT count(*) FROM glUniform4fv u WHERE u.seq < c.seq)"
    " FROM calls c WHERE c.seq IN (1, 9) ORDER BY seq": [
        (0,),
        (2,),
    ],
    "SELECT seq, lag(name) OVER (ORDER BY seq) FROM calls QUALIFY seq = 1": [(1, "glEnable")],
    "SELECT c.seq FROM calls AS c(s, f) LIMIT 0": [],
    "SELECT c.name FROM calls c, LATERAL (SELECT c.seq + 1 AS next) WHERE next = 3": [("glClear",)],
    "SELECT COLUMNS('^t_') FROM calls WHERE seq = 0": [(1000, 1050)],
    "SELECT * EXCLUDE (params, result, category) FROM calls WHERE seq = 0": [(0, 0, 0, 3, "glEnable", 1000, 50)],
    "SELECT name FROM functions WHERE calls = 2": [("glUniform4fv",)],
    "SELECT call FROM calls WHERE seq = 8": [("glPopDebugGroup()",)],
    "SELECT params->>'$.value[1]' FROM calls WHERE seq = 1": [("0.5",)],
    "SELECT tid, api, fn, payload_bytes, t_end FROM calls WHERE seq = 1": [(4000, "gl", 3, 16, 1160)],
    "SELECT c.c.seq FROM (SELECT calls AS c FROM calls) c WHERE c.c.seq = 3": [(3,)],
    "PIVOT (SELECT frame, thread, seq FROM calls) ON thread USING count(*) GROUP BY frame ORDER BY frame": [
        (0, 8, 2),
        (1, 4, 1),
    ],
}


@pytest.mark.parametrize(
    ("windows", "where", "sorted_by_duckdb"),
    [
        ("lag(texture) OVER w, lead(target) OVER (ORDER BY b.seq ASC) FROM glBindTexture b", "texture > 3", False),
        ("lag(name) OVER w FROM (SELECT name, seq FROM calls)", "true", True),
        ("lag(frame) OVER w, sum(seq) OVER (PARTITION BY thread) FROM calls", "true", True),
        ("lag(frame) OVER (ORDER BY seq DESC) FROM calls", "true", True),
        ("lag(frame, 3) OVER w FROM calls", "true", True),
        ("lag(frame) OVER w FROM calls", "seq IN (SELECT seq FROM glBindTexture)", True),
        ("lag(a.frame) OVER (ORDER BY a.seq) FROM calls a JOIN calls b USING (seq)", "true", True),
    ],
)
def test_neighbours_of_calls_are_not_sorted_where_they_come_in_order(tmp_path, windows, where, sorted_by_duckdb):
    trace = many(tmp_path, 600)
    query = f"SELECT {windows} WHERE {where} WINDOW w AS (ORDER BY seq)"
    ready = trace.database._prepared(trace.database.connection.cursor(), query, ())
    unnamed = re.sub(r'AS "([^"]|"")*"', "", ready)  # headings are the names of what was asked
    assert ("ORDER BY" in unnamed) is sorted_by_duckdb
    asked = f"SELECT * FROM ({query}) ORDER BY ALL"
    found = trace.sql(asked).fetchall()
    trace.sql("SET default_null_order = 'nulls_last'")  # after a setting of the user's nothing is taken for granted
    assert "ORDER BY" in trace.database._prepared(trace.database.connection.cursor(), query, ())
    assert trace.sql(asked).fetchall() == found


@pytest.mark.parametrize(
    ("compared", "by_number"),
    [
        ("target = lag(target) OVER w", True),
        ("b.target <> lead(b.target) OVER (ORDER BY b.seq)", True),
        ("lag(TARGET) OVER w IS DISTINCT FROM target", True),
        ("target IS NOT DISTINCT FROM lag(target) OVER (PARTITION BY texture ORDER BY seq)", True),
        ("target < lag(target) OVER w", False),  # names have another order
        ("target = lag(target, 2) OVER w", False),
        ("target = lag(target, 1, 'GL_TEXTURE_2D') OVER w", False),
        ("target = lag(texture::VARCHAR) OVER w", False),
        ("target = first_value(target) OVER w", False),
    ],
)
def test_enumerants_and_their_neighbours_are_compared_by_their_numbers(tmp_path, compared, by_number):
    w = Writer()
    t = w.thread()
    for i, target in enumerate((3553, 3553, 34067, 99, 99, 98, 0, 3553, 34067, 34067)):  # 98 and 99 have no names
        t.call("glBindTexture", target=target, texture=i // 3, start=1000 + i * 100, duration=1)
    trace = open_trace(w.write(tmp_path / "binds.dtap"))
    query = f"SELECT seq, {compared} AS found FROM glBindTexture b WINDOW w AS (ORDER BY seq)"
    ready = trace.database._prepared(trace.database.connection.cursor(), query, ())
    assert ("target_value" in ready) is by_number
    names = "(SELECT seq, texture, target || '' AS target FROM glBindTexture)"  # words, whatever they stand for
    assert trace.sql(f"{query} ORDER BY seq").fetchall() == (
        trace.sql(f"{query.replace('glBindTexture', names)} ORDER BY seq").fetchall()
    )


@pytest.mark.parametrize(
    "query",
    [
        "SELECT target = 3553 FROM glBindTexture",
        "SELECT b.target IN (3553, 4), target, texture + 1, target = 3553 AS same FROM glBindTexture b",
        "SELECT target = lag(target) OVER w, lag(texture) OVER w FROM glBindTexture WINDOW w AS (ORDER BY seq)",
        "SELECT sum(1) FILTER (target = 3553), max(CASE WHEN target BETWEEN 1 AND 4 THEN 5 END) FROM glBindTexture",
        "SELECT * FROM (SELECT target = 3553, target = 3553, seq FROM glBindTexture)",
        "WITH a AS (SELECT seq, 3553 = target FROM glBindTexture) SELECT *, (SELECT max(seq) FROM a) FROM a",
        "SELECT target = 3553 FROM glBindTexture UNION ALL SELECT target = 4 FROM glBindTexture",
        "SELECT target = 3553, count(*) FROM glBindTexture GROUP BY target = 3553 ORDER BY target = 3553",
        "SELECT (SELECT max(target) FROM glBindTexture WHERE target = 3553), target <> 4 FROM glBindTexture",
        "SELECT texture = $1, target = 3553 AND texture = $1 FROM glBindTexture",
    ],
)
def test_columns_without_an_alias_have_the_names_that_duckdb_gives_them(trace: Trace, query: str) -> None:
    plain = duckdb.connect()
    plain.execute("CREATE TABLE glBindTexture (seq BIGINT, target INT, texture INT)")
    values = [4] if "$1" in query else []
    names = [column[0].replace("count_star()", "count(*)") for column in plain.execute(query, values).description]
    assert list(trace.sql(query, values).columns) == names


@pytest.mark.parametrize("query", QUERIES)
def test_query(trace: Trace, query: str) -> None:
    if "AS c(s, f)" in query:
        query = query.replace("c.seq", "c.s")
    assert trace.sql(query).fetchall() == QUERIES.get(query, [])


@pytest.mark.parametrize("name", TABLES)
def test_every_small_table(trace: Trace, name: str) -> None:
    rows = trace.sql(f"FROM {name}")
    assert list(rows.dicts()) == trace.table(name)


def test_every_column_of_every_function(trace: Trace) -> None:
    for row in trace.table("functions"):
        name = str(row["name"])
        columns = trace.schema(name)
        result = trace.sql("SELECT " + ", ".join(f'"{c.name}"' for c in columns) + f' FROM "{name}"')
        assert result.types == tuple(c.type for c in columns), name
        assert len(result.fetchall()) == row["calls"]


def test_results(trace: Trace) -> None:
    result = trace.sql("SELECT seq, name FROM calls ORDER BY seq")
    assert result.columns == ("seq", "name") and result.types == ("UBIGINT", "VARCHAR")
    assert result.fetchone() == (0, "glEnable")
    other = trace.sql("SELECT 1")  # an open result stays good
    assert next(iter(result)) == (1, "glUniform4fv")
    assert other.fetchall() == [(1,)]
    assert next(trace.sql("SELECT seq FROM calls").dicts()) == {"seq": 0}


def test_arrow(trace: Trace) -> None:
    nanoarrow = pytest.importorskip("nanoarrow", reason="the optional package nanoarrow reads Arrow streams here")
    stream = nanoarrow.ArrayStream(trace.sql("SELECT seq, value FROM glUniform4fv ORDER BY seq").arrow())
    rows = list(stream.read_all().iter_tuples())
    assert rows[0] == (1, [1, 0.5, -3, 4])


def test_rows_know_their_columns(trace: Trace) -> None:
    rows = trace.sql("SELECT seq, count(*) FROM calls GROUP BY seq ORDER BY seq LIMIT 2").fetchall()
    assert rows == [(0, 1), (1, 1)]
    assert rows[0]._fields == ("seq", "count(*)")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(trace.sql("SELECT seq, name FROM calls ORDER BY seq"))
    assert list(frame.columns) == ["seq", "name"]
    assert frame["name"][0] == trace.calls[0].name


def test_what_is_pickled_is_found_again_by_its_place(trace: Trace) -> None:
    calls = [trace.calls[0], trace.calls[3]]
    again = pickle.loads(pickle.dumps((calls, trace.frames[0], trace)))
    assert [str(c) for c in again[0]] == [str(c) for c in calls]
    assert again[0][0]._trace is again[0][1]._trace is again[1].trace is again[2]
    assert again[1].end_seq == trace.frames[0].end_seq
    assert again[2].sql("SELECT count(*) FROM calls").fetchall() == trace.sql("SELECT count(*) FROM calls").fetchall()
    again[2].close()
    with pytest.raises(TypeError, match="pickle its rows"):
        pickle.dumps(trace.sql("SELECT 1"))


def test_another_recording_at_the_place_is_refused(tmp_path: Path) -> None:
    with open_trace(small_trace().write(tmp_path / "t.dtap")) as trace:
        kept = pickle.dumps(trace)
    (tmp_path / "t.dtap").unlink()
    many(tmp_path).close()
    (tmp_path / "many.dtap").rename(tmp_path / "t.dtap")
    with pytest.raises(InputError, match="another recording"):
        pickle.loads(kept)


def test_nothing_answers_after_close(tmp_path: Path) -> None:
    trace = open_trace(small_trace().write(tmp_path / "t.dtap"))
    call, frame = trace.calls[0], trace.frames[0]
    answer = trace.sql("SELECT 1")
    assert trace.info["calls"]
    trace.close()
    trace.close()
    asked = (
        lambda: trace.info, lambda: trace.frames, lambda: trace.calls, lambda: trace.sql("SELECT 1"),
        lambda: trace.table("frames"), lambda: trace.state_index, lambda: trace.graph, lambda: list(trace.text()),
        lambda: call.args, lambda: frame.calls[0], lambda: pickle.dumps(trace), answer.__arrow_c_stream__,
        lambda: trace.schema(), lambda: trace.materialise(),
    )  # fmt: skip
    for ask in asked:
        with pytest.raises(InputError, match="closed"):
            ask()


def test_parameters(trace: Trace) -> None:
    assert trace.sql("SELECT name FROM calls WHERE seq = ?", [7]).fetchall() == [("glDrawElements",)]
    assert trace.sql("SELECT name FROM calls WHERE seq = $n", {"n": 7}).fetchall() == [("glDrawElements",)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM glTexSubImage3D",
        'SELECT seq FROM "glTexSubImage3D" WHERE target = 32879 AND target_value > 3 AND seq < 10',
        "WITH t AS (FROM gltexsubimage3d) SELECT level FROM t",
        "SELECT c.seq FROM calls c JOIN eglBindAPI b USING (seq)",
        "SELECT path FROM vgDrawPath",
    ],
)
def test_a_function_that_was_not_called_has_a_table_without_rows(trace: Trace, query: str) -> None:
    assert trace.sql(query).fetchall() == []
    assert trace.sql("SELECT count(*) FROM calls").fetchone() != (0,)


def test_a_function_that_was_not_called_is_described(trace: Trace) -> None:
    described = {row[0]: row[1] for row in trace.sql("DESCRIBE glTexSubImage3D")}
    assert described["target"] == "VARCHAR"
    assert described["target_value"] == "BIGINT"
    assert "glTexSubImage3D" not in {row[0] for row in trace.sql("SHOW TABLES")}


def test_several_statements_and_temporary_tables(trace: Trace) -> None:
    assert trace.sql(
        "CREATE TEMP TABLE mine AS SELECT * FROM calls WHERE thread = 1; SELECT count(*) FROM mine"
    ).fetchall() == [(3,)]
    rows = trace.sql("SELECT seq FROM calls ORDER BY seq")
    assert trace.sql("SELECT count(*) FROM mine JOIN calls USING (seq)").fetchall() == [(3,)]
    assert len(rows.fetchall()) == 15


def test_describe_show_summarize(trace: Trace) -> None:
    assert [r[0] for r in trace.sql("DESCRIBE glEnable")][:8] == [
        "seq",
        "frame",
        "thread",
        "context",
        "t_start",
        "duration",
        "cap",
        "cap_value",
    ]
    names = [r[0] for r in trace.sql("SHOW TABLES")]
    assert {"calls", "trace", "frames", "glEnable"} <= set(names)
    assert {r[0] for r in trace.sql("SUMMARIZE frames")} >= {"frame", "draws"}
    assert trace.sql("EXPLAIN SELECT * FROM calls").fetchall()


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT * FROM cals", "no table cals.*calls"),
        ("SELECT * FROM glEnabel", "no table glEnabel.*glEnable"),
        ("SELECT durration FROM calls", "no column durration.*duration"),
        ("SELECT c.nam FROM calls c", "no column nam.*name"),
        ("SELECT mode FROM glDrawElements WHERE cont = 3", "no column cont.*count"),
        ("SELECT conut(*) FROM calls", "no SQL function conut.*count"),
        ("SELECT FROM WHERE", "syntax error"),
        ("SELECT max(at) FROM (SELECT seq AS at FROM calls)", 'near "\\)".*write "at" with the double quotes'),
        ("", "empty"),
        ("DROP TABLE calls", "DROP is not possible"),
        ("INSERT INTO calls VALUES (1)", "INSERT is not possible"),
        ("CREATE TABLE x AS SELECT 1", "CREATE is not possible"),
        ("ATTACH 'x.db'", "ATTACH is not possible"),
        ("COPY calls FROM 'x.csv'", "COPY is not possible"),
        ("SELECT 1; DELETE FROM calls", "DELETE is not possible"),
        ("SELECT * FROM read_csv('/etc/passwd')", "disabled|only the recording"),
        ("SELECT * FROM '/etc/passwd'", "no table|disabled"),
        ("SET enable_external_access = true", "."),
        ("COPY (SELECT * FROM read_text('/etc/passwd')) TO 'stolen.csv'", "disabled|only the recording"),
    ],
)
def test_errors(trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(QueryError, match=f"(?s){message}"):
        trace.sql(query).fetchall()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["small.dtap"]
    assert trace.sql("SELECT 1").fetchall() == [(1,)]


def test_copy_to(trace: Trace, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    assert trace.sql(f"COPY (SELECT seq, name FROM calls WHERE seq < 2) TO '{target}' (HEADER)").fetchall() == [(2,)]
    assert list(csv.reader(target.open())) == [["seq", "name"], ["0", "glEnable"], ["1", "glUniform4fv"]]
    parquet = tmp_path / "out.parquet"
    trace.sql(f"COPY glUniform4fv TO '{parquet}' (FORMAT parquet)")
    with duckdb.connect() as connection:
        assert connection.execute(f"SELECT location FROM '{parquet}'").fetchall() == [(2,), (3,)]


def test_interleaved_threads(tmp_path: Path) -> None:
    trace = many(tmp_path)
    assert trace.sql("SELECT count(*), count(DISTINCT seq), max(seq) FROM calls").fetchall() == [(3000, 3000, 2999)]
    assert trace.sql("SELECT count(*) FROM calls WHERE t_start <> 1000 + seq * 100").fetchall() == [(0,)]
    assert trace.sql("SELECT count(*) FROM calls WHERE frame <> seq // 10").fetchall() == [(0,)]
    assert [r[0] for r in trace.sql("SELECT seq FROM calls")] == list(range(3000))  # in order, batch after batch
    assert trace.sql("SELECT count(*) FROM glUniform4fv WHERE location <> seq OR value[1] <> seq").fetchall() == [(0,)]
    assert trace.sql("SELECT count(*) FROM glUniform4fv WHERE seq BETWEEN 100 AND 200").fetchall() == [(51 - 0,)]
    assert trace.sql("SELECT count(*), min(calls), max(calls) FROM frames").fetchall() == [(300, 10, 10)]
    assert trace.sql("SELECT min(seq), max(seq) FROM glBindTexture WHERE frame = 7").fetchall() == [(71, 77)]
    redundant = (
        "SELECT count(*) FROM (SELECT texture, lag(texture) OVER (PARTITION BY target ORDER BY seq) AS before"
        " FROM glBindTexture) WHERE texture = before"
    )
    wanted = [i // 7 for i in range(3000) if i % 10 != 9 and i % 2]
    assert trace.sql(redundant).fetchall() == [(sum(a == b for a, b in itertools.pairwise(wanted)),)]


def test_side_database(tmp_path: Path) -> None:
    trace = many(tmp_path, 300)
    query = "SELECT count(*), sum(duration) FROM calls WHERE name = 'glBindTexture'"
    before = trace.sql(query).fetchall()
    enums = trace.sql("SELECT seq FROM glBindTexture WHERE target = 2884 AND seq < 9").fetchall()
    path = trace.materialise()
    assert path == tmp_path / "many.dtap.duckdb" and path.exists()
    for again in (trace, open_trace(trace.path)):
        assert again.sql(query).fetchall() == before
        assert again.sql("SELECT seq FROM glBindTexture WHERE target = 2884 AND seq < 9").fetchall() == enums
        assert "calls" in again.database.side.tables
        with pytest.raises(QueryError):
            again.sql("SELECT * FROM read_csv('/etc/passwd')").fetchall()
    # Another recording under the same name: the cache is not for it.
    w = Writer()
    w.thread().call("glClear", mask=1, duration=1)
    trace.close()
    other = open_trace(w.write(trace.path))
    assert other.sql("SELECT count(*) FROM calls").fetchall() == [(1,)]
    assert not other.database.side.tables
    path.write_bytes(b"no database")
    assert open_trace(trace.path).sql("SELECT count(*) FROM calls").fetchall() == [(1,)]


def test_only_a_side_database_of_ones_own_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    trace = many(tmp_path, 30)
    path = trace.materialise()
    assert path.stat().st_mode & 0o777 == 0o600
    query = "SELECT count(*) FROM calls WHERE name = 'glNothing'"

    def doubted() -> str:
        with open_trace(trace.path) as again:
            assert again.sql(query).fetchall() == [(0,)]
            assert ("calls" in again.database.side.tables) is not bool(again.database.side.doubted)
            return again.database.side.doubted

    assert doubted() == ""
    # Rows that somebody changed, with all that a recording is known by as it was; and as it was again, by its content.
    good, about = path.read_bytes(), path.stat()
    shutil.copy(path, tmp_path / "changed")
    with duckdb.connect(str(tmp_path / "changed")) as other:
        other.execute("UPDATE calls SET name = 'glNothing'")
    path.write_bytes((tmp_path / "changed").read_bytes())
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert doubted() == "it is not as it was written"
    path.write_bytes(good)
    assert doubted() == ""
    # Writable by others, or in a folder where they may write, or a log beside it that DuckDB would play.
    path.chmod(0o622)
    assert "others" in doubted()
    path.chmod(0o600)
    tmp_path.chmod(0o777)
    assert "others" in doubted()
    tmp_path.chmod(0o700)
    log = Path(f"{path}.wal")
    log.symlink_to("/nowhere")
    assert "others" in doubted()
    log.unlink()
    assert doubted() == ""
    path.rename(tmp_path / "moved")
    path.symlink_to(tmp_path / "moved")
    assert "cannot be opened" in doubted()
    path.unlink()
    (tmp_path / "moved").rename(path)
    assert doubted() == ""
    # One that came with the recording: nothing says that it was written here.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
    assert "did not write it" in doubted()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # The recording changed, its size and its time did not.
    data, about = bytearray(trace.path.read_bytes()), trace.path.stat()
    data[20] ^= 1  # of its name
    trace.path.write_bytes(data)
    os.utime(trace.path, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert "for this state of the recording" in doubted()


def test_a_side_database_reads_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    trace = many(tmp_path, 30)
    path = trace.materialise()
    (tmp_path / "secret.csv").write_text("name\n1\n")
    with duckdb.connect(str(path)) as other:  # even one of ones own: files are closed off before it is attached
        other.execute("DROP TABLE frames")
        other.execute(f"CREATE VIEW frames AS SELECT * FROM read_csv('{tmp_path}/secret.csv')")
    proof.note(path, trace.database.side.stamp())
    with open_trace(trace.path) as again:
        assert again.sql("SELECT count(*) FROM frames").fetchall() == [(3,)]  # of the recording
        assert "calls" in again.database.side.tables
        with pytest.raises(QueryError):
            again.sql("SELECT * FROM cache.frames").fetchall()


@pytest.mark.parametrize(
    "query",
    [
        "COPY (SELECT 1) TO '{0}/out.csv'",
        "COPY calls TO '{0}/out.parquet'",
        "COPY (SELECT seq FROM calls) TO '{0}/out.dtap'",
        "SELECT seq INTO out FROM trace",
        "ATTACH '{0}/out.duckdb' AS other",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET memory_limit = '100GB'",
        "PRAGMA memory_limit = '100GB'",
        "CREATE TEMP TABLE t AS SELECT 1",
        "CREATE MACRO f(x) AS x",
        "CALL pragma_version()",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{0}/out.csv'",
        "EXPORT DATABASE '{0}/out'",
        "SELECT 1; COPY (SELECT 1) TO '{0}/out.csv'",
        "PIVOT frames ON number USING count(*); COPY (SELECT 1) TO '{0}/out.csv'",
        "SELECT * FROM read_csv('{0}/secret.csv')",
        "SELECT * FROM '{0}/secret.csv'",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM read_blob('{0}/many.dtap')",
        "SELECT * FROM glob('/*')",
        "SELECT * FROM query('SELECT * FROM read_text(''/etc/passwd'')')",
        "SELECT getenv('HOME')",
        "WITH a AS (SELECT * FROM sniff_csv('{0}/secret.csv')) SELECT * FROM a",
        "SELECT * FROM parquet_metadata('{0}/x')",
    ],
)
def test_questions_of_strangers_only_read(tmp_path: Path, query: str) -> None:
    (tmp_path / "secret.csv").write_text("name\nsecret\n")
    trace = many(tmp_path, 30)
    trace.database.into = tmp_path
    trace.database.make_safe()
    before = sorted(tmp_path.iterdir())
    with pytest.raises(QueryError):
        trace.sql(query.format(tmp_path)).fetchall()
    assert sorted(tmp_path.iterdir()) == before
    wanted = "WITH n AS (SELECT name FROM calls) SELECT count(*) FROM n -- all of them"
    assert trace.sql(wanted).fetchall() == [(30,)]
    assert trace.sql("DESCRIBE frames").fetchall() and trace.sql("VALUES (1)").fetchall() == [(1,)]


def test_strangers_do_not_fill_the_memory(tmp_path: Path) -> None:
    trace = many(tmp_path, 30)
    trace.database.make_safe()
    with pytest.raises(QueryError, match=r"[Mm]emory"):
        trace.sql("SELECT list(repeat('x', 1000000)) FROM range(10000)").fetchall()
    assert not list(tmp_path.glob("*tmp*"))


def test_content_that_is_gone_is_null(tmp_path: Path) -> None:
    w = Writer()
    w.thread().call("glUniform4fv", location=1, count=1, value=blob(b"\0" * 16), duration=1).flush()
    w._blobs.clear()
    trace = open_trace(w.write(tmp_path / "t.dtap"))
    assert trace.sql("SELECT value, value_bytes FROM glUniform4fv").fetchall() == [(None, 16)]


def test_other_traces(tmp_path: Path) -> None:
    with (
        open_trace(small_trace().write(tmp_path / "a.dtap")) as a,
        open_trace(small_trace().write(tmp_path / "b.dtap")) as b,
    ):
        a.database.others = {"a": a.database, "b": b.database}
        assert a.sql("SELECT count(*) FROM b.calls").fetchall() == [(15,)]
        assert a.sql("SELECT sum(count) FROM b.glDrawElements WHERE mode = 4").fetchall() == [(36,)]
        both = "SELECT a.calls.seq, b.calls.name FROM a.calls JOIN b.calls ON a.calls.seq = b.calls.seq + 1 ORDER BY 1"
        assert a.sql(both).fetchone() == (1, "glEnable")
        assert a.sql("SELECT calls.seq FROM b.calls WHERE calls.seq = 3").fetchall() == [(3,)]
        assert a.sql("SELECT event.name FROM b WHERE event.seq = 2").fetchall() == [("glClear",)]
        assert a.sql("SELECT x.seq FROM b.calls AS x, calls WHERE x.seq = 5 AND calls.seq = x.seq").fetchall() == [(5,)]
        with pytest.raises(QueryError):
            a.sql("SELECT 1 FROM c.calls")
        with pytest.raises(QueryError, match="several traces do not become one"):
            a.sql("SELECT x.seq INTO n FROM a.calls AS x, b.calls AS y")


def test_a_recording_is_closed_while_another_thread_asks(trace: Trace) -> None:
    database = trace.database
    ended: list[BaseException] = []
    begun = threading.Event()

    def ask() -> None:
        begun.set()
        try:
            trace.sql("SELECT count(*) FROM range(100000000000) AS t(n) WHERE n % 7 = 3").fetchall()
        except Cancelled as error:
            ended.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    begun.wait()
    while not database._running:  # until DuckDB has the question
        assert asking.is_alive()
    trace.close()
    asking.join(60)
    assert not asking.is_alive() and len(ended) == 1


class _Refusing:
    """A connection that refuses to be closed so many times."""

    def __init__(self, errors: list[Exception]) -> None:
        self.errors = errors
        self.closed = 0

    def close(self) -> None:
        self.closed += 1
        if self.errors:
            raise self.errors.pop()


def test_a_connection_in_use_is_closed_later_whatever_duckdb_says(trace: Trace) -> None:
    refusing = _Refusing([duckdb.ResourceInUseException("no"), duckdb.ResourceInUseException("not yet")])
    trace.database._connection = refusing  # type: ignore[assignment]
    trace.close()
    assert refusing.closed == 3


def test_no_other_error_makes_the_closing_wait(trace: Trace) -> None:
    refusing = _Refusing([duckdb.IOException("the disk is busy")])
    trace.database._connection = refusing  # type: ignore[assignment]
    with pytest.raises(duckdb.IOException):
        trace.database.close()
    assert refusing.closed == 1


def test_files_are_written_with_one_engine(trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []
    connect = database.connect
    trace.sql("SELECT 1").fetchall()
    monkeypatch.setattr(database, "connect", lambda: opened.append(connect()) or opened[-1])
    for name, asked, expected in (
        ("a", "SELECT seq FROM calls ORDER BY seq LIMIT 2", ["seq", "0", "1"]),
        ("b", "SELECT count(*) AS n FROM glDrawElements", ["n", "1"]),
        ("c", "SELECT seq FROM calls ORDER BY seq LIMIT 1", ["seq", "0"]),
    ):
        trace.sql(f"COPY ({asked}) TO '{tmp_path / name}.csv' (HEADER)")
        assert (tmp_path / f"{name}.csv").read_text().split() == expected
    with pytest.raises(QueryError):
        trace.sql(f"COPY (SELECT nothing FROM calls) TO '{tmp_path / 'd'}.csv'")
    assert len(opened) == 1
    # Nothing of a COPY is there for the next one, and no question reaches its engine.
    assert opened[0].execute("SELECT count(*) FROM duckdb_views() WHERE NOT internal").fetchall() == [(0,)]
    assert opened[0].execute("SELECT count(*) FROM duckdb_tables()").fetchall() == [(0,)]
    trace.close()
    with pytest.raises(duckdb.ConnectionException):
        opened[0].execute("SELECT 1")


def test_threads_share_one_database(trace: Trace) -> None:
    together = threading.Barrier(8)

    def ask() -> tuple[int, int]:
        together.wait()
        return id(trace.database), id(trace.database.connection)

    with ThreadPoolExecutor(8) as threads:
        answers = [future.result() for future in [threads.submit(ask) for _ in range(8)]]
    assert len(set(answers)) == 1
