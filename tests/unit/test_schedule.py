"""The order of the tests: the longest files first, whole files to a worker, and a table that runs bring up to date."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import schedule

HERE = "tests/unit/test_schedule.py"
OTHER = "tests/unit/test_units.py"


def report(nodeid: str, worker: str, start: float, stop: float) -> pytest.TestReport:
    made = pytest.TestReport(
        nodeid, (HERE, 1, ""), {}, "passed", None, "call", duration=stop - start, start=start, stop=stop
    )
    made.worker_id = worker  # type: ignore[attr-defined]  # what the runner of several workers adds
    return made


def test_the_table_keeps_what_did_not_run_and_loses_what_is_no_more(tmp_path: Path) -> None:
    table = tmp_path / "seconds.txt"
    schedule.write_seconds(table, {HERE: 1.0, OTHER: 2.5, "tests/unit/test_gone.py": 9.0}, whole=False)
    assert table.read_text() == f"2.5 2.5 {OTHER}\n1.0 1.0 {HERE}\n"
    schedule.write_seconds(table, {OTHER: 60.0}, whole=True)
    schedule.write_seconds(table, {HERE: 4.0}, whole=False)
    assert schedule.known_seconds(table, whole=False) == {HERE: 4.0, OTHER: 2.5}
    assert schedule.known_seconds(table, whole=True) == {HERE: 1.0, OTHER: 60.0}


def test_seconds_and_idleness_of_workers() -> None:
    reports = [
        report(f"{HERE}::test_a", "gw0", 100.0, 101.0),
        report(f"{HERE}::test_b[x::y]", "gw0", 101.0, 103.5),
        report(f"{OTHER}::TestC::test_c", "gw1", 100.0, 100.25),
    ]
    assert schedule.measured_seconds(reports) == {HERE: 3.5, OTHER: 0.25}
    assert schedule.idle_seconds(reports) == 3.25
    assert schedule.idle_seconds([]) == 0


def test_every_worker_collects_the_same_order_the_longest_file_first() -> None:
    # What this process was started with must not reach the others: a worker's name, and what tests it is to run.
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-n", "0", "--collect-only", "-q", "tests/live", "tests/toy"]
    orders = []
    for worker in ("gw0", "gw2"):
        environment = plain | {"PYTEST_XDIST_WORKER": worker, "PYTEST_XDIST_WORKER_COUNT": "3"}
        done = subprocess.run(
            command, cwd=schedule.ROOT, env=environment, capture_output=True, text=True, timeout=300, check=True
        )
        orders.append([line for line in done.stdout.splitlines() if "::" in line])
    assert orders[0] == orders[1]
    known = schedule.known_seconds()
    found = [known.get(schedule.file_of(nodeid), schedule.NEW_FILE_S) for nodeid in orders[0]]
    assert found == sorted(found, reverse=True)
    assert len(set(found)) > 1
