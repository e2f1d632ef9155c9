"""Questions in SQL to a recorded kernel."""

import json
from pathlib import Path

from drawtap import verbs
from drawtap.system import reader

TRIANGLE = Path(__file__).parents[1] / "data" / "trace-v1-es2_triangle.dtap"


def test_a_question(drawtap, drm_sched_trace):
    query = "SELECT engine, count(*) AS n, max(wait_ns) AS wait_ns FROM requests GROUP BY engine ORDER BY n"
    result = drawtap("sql", drm_sched_trace, query, "--json")
    assert result.code == 0, result.err
    assert [(r["engine"], r["n"]) for r in json.loads(result.out)] == [("bcs0", 24), ("rcs0", 170)]
    assert "190 ms" in drawtap("sql", drm_sched_trace, query).out


def test_old_names_of_verbs(drawtap, drm_sched_trace, tmp_path):
    for verb, *options in (("info",), ("sql", "SELECT count(*) FROM spans"), ("list", "-e", "drm_run_job")):
        old, new = (drawtap(*words, drm_sched_trace, *options, "--json") for words in (("system", verb), (verb,)))
        assert old.code == 0, old.err
        assert old.out == new.out
    assert "the first 3" in drawtap("system", "list", drm_sched_trace, "-n", "3").out
    assert drawtap("system", "export", drm_sched_trace, "-o", tmp_path / "x.json", "--json").code == 0


def test_options_of_the_other_kind_of_file(drawtap, drm_sched_trace):
    for file, *options in (
        (drm_sched_trace, "--cache"),
        (drm_sched_trace, "--frame-end", "auto"),
        (TRIANGLE, "--guest", "x"),
        (TRIANGLE, "--no-cache"),
    ):
        answer = drawtap("sql", file, "SELECT 1", *options)
        assert answer.code == 2
        assert f"{options[0]} is for a" in answer.err
    assert "RANGE is for a recording" in drawtap("list", drm_sched_trace, "#3").err
    assert "--json is for" in drawtap("export", TRIANGLE, "--json").err


def test_verbs_of_both_kinds_in_python(drm_sched_trace):
    for verb, answer in ((verbs.sql, 194), (verbs.system_sql, 194)):
        with reader.open(drm_sched_trace) as trace:
            assert list(verb(trace, "SELECT count(*) FROM requests").rows) == [(answer,)]
    assert list(verbs.system_sql(drm_sched_trace, "SELECT count(*) FROM requests").rows) == [(194,)]


def test_near_misses(drawtap, drm_sched_trace):
    for query, hint in (
        ("SELECT * FROM request", "requests"),
        ("SELECT * FROM sched_swich", "sched_switch"),
        ("SELECT wait FROM requests", "wait_ns"),
        ("SELECT next_com FROM sched_switch", "next_comm"),
    ):
        assert hint in drawtap("sql", drm_sched_trace, query).err.partition("did you mean")[2]


def test_a_question_writes_tables_and_nothing_else(drawtap, drm_sched_trace, tmp_path):
    table = tmp_path / "requests.csv"
    query = f"COPY (SELECT id FROM requests ORDER BY id LIMIT 2) TO '{table}'"
    assert drawtap("sql", drm_sched_trace, query).code == 0
    assert table.read_text().split() == ["id", "0", "1"]
    for query in ("DROP TABLE requests", "DELETE FROM spans", "SELECT id INTO x FROM requests", "ATTACH 'x.db'"):
        answer = drawtap("sql", drm_sched_trace, query)
        assert answer.code == 2
        assert "kernel trace" in answer.err


def test_questions_of_strangers(drawtap, drm_sched_trace, tmp_path):
    assert drawtap("sql", drm_sched_trace, "SELECT count(*) FROM state", "--safe").code == 0
    for query in ("SET threads = 1", f"COPY (SELECT 1) TO '{tmp_path}/x'", "CREATE TEMP TABLE x AS SELECT 1"):
        assert drawtap("sql", drm_sched_trace, query, "--safe").code == 2
    assert not list(tmp_path.iterdir())


def test_a_question_that_makes_no_sense(drawtap, drm_sched_trace):
    result = drawtap("sql", drm_sched_trace, "SELECT nothing FROM requests")
    assert result.code == 2
    assert "nothing" in result.err
    assert "Traceback" not in result.err


def test_files_of_the_machine_are_not_read(drawtap, drm_sched_trace, tmp_path):
    (tmp_path / "secret.csv").write_text("a\n1\n")
    result = drawtap("sql", drm_sched_trace, f"SELECT * FROM '{tmp_path}/secret.csv'")
    assert result.code == 2
