"""`drawtap overhead`: what is compared with what, and what it says where a comparison means nothing."""

from __future__ import annotations

import json
import math
import sys
from collections import Counter

import pytest

from drawtap.capture.overhead import VARIANTS, Overhead, Sample, interval, order
from drawtap.commands.overhead import _notes

# Draws five frames, and prints a rate that the presence of the tap halves and a recorder halves again.
PROGRAM = """
import os, pathlib, sys
from drawtap import demo_program
tapped = "libdrawtap-" in os.environ.get("LD_PRELOAD", "")
recorded = tapped and pathlib.Path(os.environ["DRAWTAP_SOCKET"]).exists()
runs = pathlib.Path(sys.argv[1])
runs.write_text(runs.read_text() + ("r" if recorded else "o" if tapped else "w"))
sys.argv[1:] = ["5"]
demo_program.main()
print(f"FPS: {10 if recorded else 20 if tapped else 40}\\nFPS: {30 if recorded else 60 if tapped else 120}")
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    monkeypatch.setenv("LIBGL_ALWAYS_SOFTWARE", "1")
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "runs").write_text("")
    return [sys.executable, tmp_path / "program.py", tmp_path / "runs"]


@pytest.mark.gl
def test_rounds_compare_the_program_without_with_and_with_a_silent_tap(drawtap, program, tmp_path):
    rate = ("--figure", r"FPS: (\d+)", "--more-is-better")
    done = drawtap("overhead", "-n", "3", "--seconds", "0", *rate, "--json", "--", *program)
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert (tmp_path / "runs").read_text() == "w" + "wor" + "orw" + "rwo"
    assert found["rounds"] == 3
    assert found["same_work"]
    assert found["frames"] == 5
    assert found["slower"]["off"] == pytest.approx({"value": 2, "least": 2, "most": 2})
    assert found["slower"]["recorded"] == pytest.approx({"value": 4, "least": 4, "most": 4})
    assert all(run["seconds"] > 0 and run["cpu_seconds"] > 0 for runs in found["runs"].values() for run in runs)
    assert {run["calls"] for run in found["runs"]["without"]} == {0}
    assert found["added_seconds_a_call"]["value"] == pytest.approx(found["added_seconds"]["value"] / found["calls"])


def test_a_program_that_does_other_work_in_every_run_is_named():
    def said(*frames: int, figure: str | None = None) -> str:
        runs = {name: [Sample(1.0, 1.0, calls=100 * n, frames=n) for n in frames] for name in VARIANTS}
        return "\n".join(_notes(Overhead(runs), figure))

    assert "warning: the program draws from 5 to 9 frames a run" in said(5, 5, 9)
    assert "recording adds" not in said(5, 5, 9)
    assert "warning" not in said(5, 5, 9, figure="FPS")
    assert "warning" not in said(500, 501, 500)
    assert "recording adds 0 ns (0 to 0) to a run, 0 ns (0 to 0) a frame" in said(500, 501, 500)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ((), 2, "no program to measure"),
        (("-n", "2", "--", "true"), 2, "2 rounds are too few for an interval"),
        (("--more-is-better", "--", "true"), 2, "only with --figure"),
        (("--figure", "FPS", "--", "true"), 2, "has no group"),
        (("--figure", "(", "--", "true"), 2, "no regular expression"),
        (("--figure", r"(\d+)", "--", "true"), 2, "finds no number above 0 in what the program prints: nothing"),
        (("--", "false"), 5, "false ended with exit code 1"),
        (("--", "true"), 5, "true makes no graphics call"),
        (("--", "/nonexistent"), 127, "there is no program /nonexistent"),
    ],
)
def test_mistakes_are_named(drawtap, arguments, code, says):
    done = drawtap("overhead", *arguments)
    assert done.code == code, done.err
    assert says in done.err


def test_every_variant_comes_first_second_and_third_equally_often():
    orders = [order(n) for n in range(6)]
    assert all(sorted(one) == sorted(VARIANTS) for one in orders)
    assert len(set(orders)) == 6
    for place in range(3):
        assert Counter(one[place] for one in orders) == dict.fromkeys(VARIANTS, 2)


def test_intervals_are_those_of_student():
    found = interval([1.0, 2.0, 3.0, 4.0])
    assert found.value == 2.5
    assert found.most - found.value == pytest.approx(3.182 * math.sqrt(5 / 3) / 2)
    assert found.value - found.least == pytest.approx(found.most - found.value)


def test_figures_are_compared_within_rounds():
    # A machine that becomes ten times slower after the first round changes nothing.
    runs = {"without": [1.0, 10.0, 10.0], "off": [1.0, 10.0, 10.0], "recorded": [1.1, 11.0, 11.0]}
    found = Overhead({name: [Sample(s, s, calls=7, frames=1) for s in seconds] for name, seconds in runs.items()})
    ratio = found.ratio("recorded", lambda run: run.seconds)
    assert (ratio.least, ratio.value, ratio.most) == pytest.approx((1.1, 1.1, 1.1))
    assert found.added("off").value == 0
