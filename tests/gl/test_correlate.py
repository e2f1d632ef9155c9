"""A recording of a program and of the scheduler at the same time, joined."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

KERNEL = [sys.executable, "-m", "drawtap", "system", "record", "--events", "sched"]


@pytest.fixture(scope="module")
def both(programs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("both")
    tried = subprocess.run(
        [*KERNEL, "-o", folder / "try.dat", "--", "true"], capture_output=True, text=True, timeout=300
    )
    if tried.returncode == 3:
        pytest.skip(f"the kernel may not be recorded here: {tried.stderr.strip()}")
    assert tried.returncode == 0, tried.stderr
    trace, kernel = folder / "api.dtap", folder / "kernel.dat"
    program = programs.arguments(["es2_triangle"])
    command = [*KERNEL, "-o", kernel, "--", sys.executable, "-m", "drawtap", "record", "-o", trace, "--", *program]
    environment = programs.environment() | {k: v for k, v in os.environ.items() if k == "PYTHONPATH"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return trace, kernel


@pytest.mark.gl
def test_where_the_time_of_calls_went(both):
    command = [sys.executable, "-m", "drawtap", "system", "correlate", *map(str, both), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["calls"] > 50
    assert data["covered"] == data["calls"]
    # Mesa's software renderer draws with threads of its own: the program wakes them.
    kinds = {(link["tier"], link["kind"]) for link in data["links"]}
    assert (2, "wakes") in kinds


@pytest.mark.gl
def test_the_parts_of_a_call_add_up(both):
    query = (
        "SELECT count(*) AS n, max(abs(t_end - t_start - running_ns - preempted_ns - blocked_ns - waking_ns)) "
        "AS apart, sum(running_ns)::BIGINT AS running FROM api_calls"
    )
    command = [sys.executable, "-m", "drawtap", "system", "correlate", *map(str, both), query, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)
    assert row["apart"] == 0
    assert row["running"] > 0
