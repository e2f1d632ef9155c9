"""Questions that do not fit into the memory that they may have at first, and machines that have no more."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from drawtap.errors import ExhaustedError, InputError
from drawtap.trace import memory, result
from drawtap.trace.database import MEMORY_BYTES
from drawtap.trace.memory import bounded, exhausted, limit_of

# A list stays in memory while it is made: one of 200,000 numbers of 8 bytes does not fit into 3 MB with what makes it.
_ROWS = "SELECT i, hash(i)::VARCHAR AS text FROM range(200000) r(i)"
_LARGE = "SELECT list(i) AS numbers FROM range(200000) r(i)"
_NUMBERS = list(range(200_000))
_SMALL = 3_000_000


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 1})


def test_the_question_of_these_tests_does_not_fit(connection):
    connection.execute(f"SET memory_limit = '{_SMALL} bytes'")
    with pytest.raises(duckdb.OutOfMemoryException):
        connection.execute(_LARGE).fetchall()


@pytest.mark.parametrize("how", ["fetchall", "fetchone", "fetchmany", "fetchnumpy", "table"])
def test_a_question_that_does_not_fit_gets_more_memory(connection, how):
    asked = bounded(connection, _SMALL).cursor()
    before = limit_of(connection)
    assert before == pytest.approx(_SMALL, rel=0.05)
    if how == "table":
        asked.execute(f"CREATE TABLE made AS {_LARGE}")
        found = asked.execute("SELECT numbers FROM made").fetchall()
    else:
        found = getattr(asked.execute(_LARGE), how)()
    numbers = found["numbers"][0] if how == "fetchnumpy" else found[0] if how == "fetchone" else found[0][0]
    assert list(numbers) == _NUMBERS
    assert before < limit_of(connection) < 64 * _SMALL


def test_all_connections_of_a_database_share_what_one_of_them_got(connection):
    asked = bounded(connection, _SMALL)
    asked.cursor().execute(_LARGE).fetchall()
    limit = limit_of(connection)
    asked.cursor().execute(_LARGE).fetchall()
    assert limit_of(connection) == limit


def test_where_duckdb_has_all_it_allows_itself_the_error_says_so(connection, monkeypatch):
    monkeypatch.setattr(memory, "limit_of", lambda _: 2.0 * _SMALL)
    asked = bounded(connection, _SMALL)
    with pytest.raises(ExhaustedError, match=r"more memory than there is, DuckDB had 5\.7 MiB") as failed:
        asked.execute(_LARGE).fetchall()
    assert failed.value.exit_code == 6
    assert failed.value.hint
    assert asked.execute("SELECT 1").fetchall() == [(1,)]  # the connection goes on


def test_rows_that_were_given_out_are_not_given_out_again(connection, monkeypatch):
    asked = bounded(connection, _SMALL).execute(_ROWS)
    assert len(asked.fetchmany(10)) == 10

    class Full:
        def fetchall(self):
            raise duckdb.OutOfMemoryException("Out of Memory Error: x")

    monkeypatch.setattr(asked, "_connection", Full())
    with pytest.raises(ExhaustedError):
        asked.fetchall()


def test_a_limit_that_is_locked_stays(connection):
    asked = bounded(connection, _SMALL)
    connection.execute("SET lock_configuration = true")
    with pytest.raises(ExhaustedError):
        asked.execute(_LARGE).fetchall()


def test_no_other_error_is_taken_for_a_locked_limit(connection, monkeypatch):
    asked = bounded(connection, _SMALL)

    def stop(*_):
        raise KeyError("a mistake of ours")

    monkeypatch.setattr(memory, "_set", stop)
    with pytest.raises(KeyError):
        asked.execute(_LARGE).fetchall()


def test_other_errors_stay_what_they_are(connection):
    asked = bounded(connection, _SMALL)
    with pytest.raises(duckdb.CatalogException):
        asked.execute("SELECT * FROM nothing")
    with pytest.raises(duckdb.ConversionException):
        asked.execute("SELECT ('a' || i)::INTEGER FROM range(3) r(i)").fetchall()


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (OSError(28, "No space left on device", "/x/y"), "/x/y: No space left on device"),
        (OSError(122, "Disk quota exceeded"), "Disk quota exceeded"),
        (OSError(27, "File too large", "/x"), "/x: File too large"),
        (OSError(24, "Too many open files"), "Too many open files"),
        (InputError("x.part: File too large"), "could not be written: File too large"),
        (duckdb.IOException('IO Error: Could not write file "/x": No space left on device'), "No space left"),
        (duckdb.OutOfMemoryException("Out of Memory Error: set by the 'max_temp_directory_size' setting"), "folder"),
        (duckdb.IOException('IO Error: Failed to create directory "/x/spill": Permission denied'), "/x/spill"),
        (MemoryError(), "more memory than there is"),
        (OSError(2, "No such file or directory", "/x"), None),
        (duckdb.IOException("IO Error: no such file"), None),
        (ValueError("memory"), None),
    ],
)
def test_which_errors_say_that_memory_or_a_disk_is_full(error, says):
    found = exhausted(error)
    assert (found is None) == (says is None)
    if found is not None:
        assert says in found.message and found.hint


def test_a_database_in_memory_spills_into_the_folder_for_temporary_files(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "t"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t").mkdir()
    connection = result.connect()
    connection.execute("SET threads = 1")
    connection.execute("SET memory_limit = '5000000 bytes'")
    connection.execute("CREATE TABLE t AS SELECT hash(i) AS a, hash(i + 1) AS b FROM range(1000000) r(i)")
    assert [p.name for p in tmp_path.iterdir()] == ["t"]
    (folder,) = (tmp_path / "t").iterdir()
    assert folder.name.startswith("drawtap-scratch-")
    assert len(list(folder.iterdir())) == 1
    connection.close()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("own", [1e9, 1e12])
def test_strangers_get_no_more_than_two_gigabytes_and_never_more_than_duckdb(own):
    connection = duckdb.connect(config={"memory_limit": f"{int(own)} bytes"})
    assert memory.bound(connection, MEMORY_BYTES) == pytest.approx(min(own, 2e9), rel=0.01)
    assert limit_of(connection) == pytest.approx(min(own, 2e9), rel=0.05)  # DuckDB says 1.8 GiB


def test_a_folder_for_temporary_files_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none" / "there"))
    connection = bounded(result.connect(), _SMALL)
    monkeypatch.setattr(connection._limit, "most", 0)
    with pytest.raises(duckdb.IOException) as failed:
        connection.execute(f"CREATE TABLE t AS {_ROWS} ORDER BY text")
    said = exhausted(failed.value)
    assert said is not None and str(Path(tmp_path / "none")) in said.message and "TMPDIR" in str(said.hint)
