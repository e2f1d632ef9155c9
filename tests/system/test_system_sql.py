"""Questions in SQL to a recorded kernel."""

import json


def test_a_question(drawtap, drm_sched_trace):
    query = "SELECT engine, count(*) AS n, max(wait_ns) AS wait_ns FROM requests GROUP BY engine ORDER BY n"
    result = drawtap("system", "sql", drm_sched_trace, query, "--json")
    assert result.code == 0, result.err
    assert [(r["engine"], r["n"]) for r in json.loads(result.out)] == [("bcs0", 24), ("rcs0", 170)]
    assert "190 ms" in drawtap("system", "sql", drm_sched_trace, query).out


def test_a_question_that_makes_no_sense(drawtap, drm_sched_trace):
    result = drawtap("system", "sql", drm_sched_trace, "SELECT nothing FROM requests")
    assert result.code == 2
    assert "nothing" in result.err
    assert "Traceback" not in result.err


def test_files_of_the_machine_are_not_read(drawtap, drm_sched_trace, tmp_path):
    (tmp_path / "secret.csv").write_text("a\n1\n")
    result = drawtap("system", "sql", drm_sched_trace, f"SELECT * FROM '{tmp_path}/secret.csv'")
    assert result.code == 2
