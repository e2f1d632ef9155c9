"""The benchmarks themselves: figures are what they are said to be, and a broken run is not a figure."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


def _run(wall=1.0, cpu=0.5, recorder=0.25, output="state 12.50 ns/call median, 11.00 least, 1000 calls, 1 threads\n"):
    from bench.measure import Run

    return Run(wall, cpu, recorder, output)


class TestRow:
    def test_ratio_is_what_apitrace_takes_by_what_drawtap_takes(self):
        from bench.row import Goal, Row

        row = Row("g", "n", "ns", drawtap=10.0, apitrace=250.0, goal=Goal(20))
        assert row.ratio == 25
        assert row.met is True
        assert Row("g", "n", "ns", drawtap=10.0, apitrace=190.0, goal=Goal(20)).met is False

    @pytest.mark.parametrize(
        ("drawtap", "apitrace"), [(10.0, None), (None, 10.0), (0.0, 10.0), (-0.4, 10.0), (0.4, -1.0)]
    )
    def test_no_ratio_without_two_figures_above_the_noise(self, drawtap, apitrace):
        from bench.row import Goal, Row

        row = Row("g", "n", "ns", drawtap=drawtap, apitrace=apitrace, goal=Goal(20))
        assert row.ratio is None
        assert row.met is None

    def test_a_goal_can_be_a_value(self):
        from bench.row import Goal, Row

        goal = Goal(most=1.5, unit="ns")
        assert str(goal) == "<= 1.5 ns"
        assert Row("g", "n", "ns", drawtap=-0.2, goal=goal).met is True
        assert Row("g", "n", "ns", drawtap=1.6, goal=goal).met is False
        assert Row("g", "n", "ns", goal=goal).met is None

    def test_no_goal_is_not_missed(self):
        from bench.row import Row

        assert Row("g", "n", "ns", drawtap=1.0, apitrace=0.5).met is None

    @pytest.mark.parametrize(
        ("value", "text"),
        [(None, "–"), (0.0, "0"), (0.258, "0.26"), (12.34, "12.3"), (1234.5, "1,234"), (-0.4, "-0.40")],
    )
    def test_numbers_have_three_digits(self, value, text):
        from bench.row import number

        assert number(value) == text

    def test_table_shows_every_row_under_its_group(self):
        from bench.row import Goal, Row, print_table

        out = io.StringIO()
        rows = [Row("one", "first", "ns", 10.0, 250.0, 3.0, Goal(20)), Row("two", "second", "MB", 5.0, note="a remark")]
        print_table(rows, Console(file=out, width=150))
        lines = [[cell.strip() for cell in line.split("│")[1:-1]] for line in out.getvalue().splitlines()]
        assert ["first, ns", "3.00", "10.0", "250", "25.0x", ">= 20x", ""] in lines
        assert ["second, MB", "–", "5.00", "–", "–", "", "a remark"] in lines
        assert lines.index(["one"] + [""] * 6) < lines.index(["two"] + [""] * 6)


class TestMeasure:
    def test_printed_figures(self):
        run = _run()
        assert run.thread_ns == 12.5
        assert run.calls == 1000
        assert run.all_cpu_s == 0.75

    def test_a_program_that_prints_nothing_is_no_figure(self):
        from bench.measure import BenchError

        with pytest.raises(BenchError, match="did not print"):
            _ = _run(output="Segmentation fault").thread_ns

    def test_cpu_of_a_pipeline_counts_all_its_processes(self):
        from bench.measure import run_process

        burn = f"{sys.executable} -c 'import time; t = time.process_time() + 0.15\nwhile time.process_time() < t: pass'"
        run = run_process(["bash", "-c", f"{burn} | {burn}; echo done"])
        assert run.output == "done\n"
        assert run.cpu_s >= 0.3

    def test_a_failing_program_is_no_figure(self):
        from bench.measure import BenchError, run_process

        with pytest.raises(BenchError, match=r"ended with 3: .*so bad"):
            run_process(["bash", "-c", "echo so bad >&2; exit 3"])
        assert run_process(["bash", "-c", "echo x; exit 3"], check=False).output == "x\n"

    def test_programs_do_not_inherit_a_preloaded_library(self, monkeypatch):
        from bench.measure import run_process

        monkeypatch.setenv("LD_PRELOAD", "/nonexistent/tap.so")
        assert run_process(["bash", "-c", "echo ${LD_PRELOAD-none} $LP_NUM_THREADS"]).output == "none 0\n"

    def test_interleaved_runs_everything_as_often_and_keeps_rounds_together(self):
        from bench.measure import interleaved

        made = []

        class Fake:
            def __init__(self, name):
                self.name = name

            def run(self, program, trace=None):
                assert list(program) == ["program"]
                made.append(self.name)
                return _run(wall=len(made))

        results = interleaved([Fake("a"), Fake("b"), Fake("c")], 6, ["program"])
        assert {name: len(runs) for name, runs in results.items()} == {"a": 6, "b": 6, "c": 6}
        rounds = [made[i : i + 3] for i in range(0, 18, 3)]
        assert all(sorted(names) == ["a", "b", "c"] for names in rounds)
        assert len({tuple(names) for names in rounds}) > 1, "always in the same order"
        assert results["a"] == sorted(results["a"], key=lambda run: run.wall_s)

    def test_added_is_free_of_drift(self):
        from bench.measure import added

        # Everything gets slower from round to round; what is added does not.
        assert added([15.0, 25.0, 35.0], [10.0, 20.0, 30.0]) == 5.0


class TestAnswers:
    def _note(self, ours, theirs):
        from bench.reading import _agreement, _Question
        from bench.row import Goal

        question = _Question("q", lambda trace: [], lambda trace: "", Goal(25), json.loads, json.loads)
        return _agreement(question, _run(output=json.dumps(ours)), [_run(output=json.dumps(theirs))])

    def test_equal_answers(self):
        assert self._note([1, 2], [1, 2]) == "answers equal"

    @pytest.mark.parametrize(
        ("ours", "theirs", "difference"),
        [
            ({"glEnable": 3, "glFlush": 1}, {"glEnable": 4, "glFlush": 1}, "glEnable 3 / 4"),
            ({"glEnable": 3}, {}, "glEnable 3 / None"),
            ([1, 2, 3], [1, 5, 3], r"\[1\] 2 / 5"),
            ([1], [1, 2], r"\[1\] / \[1, 2\]"),
            (7, 8, "7 / 8"),
        ],
    )
    def test_different_answers_are_said(self, ours, theirs, difference):
        import re

        assert re.fullmatch(f"ANSWERS DIFFER: {difference}", self._note(ours, theirs))


class TestCommandLine:
    @pytest.fixture
    def bench(self, monkeypatch, tmp_path):
        from bench import __main__ as bench
        from bench.measure import BenchError
        from bench.row import Goal, Row

        def works(setup):
            yield Row("works", f"quick {setup.quick}", "ns", 1.0, 30.0, 0.5, Goal(25), samples={"drawtap": [1.0, 1.1]})

        def breaks(setup):
            yield Row("breaks", "before", "ns", 1.0)
            raise BenchError("the program did not start")

        monkeypatch.setattr(bench, "GROUPS", {"works": works, "breaks": breaks})
        return lambda *arguments: bench.main([*arguments, "--output", str(tmp_path / "out.json")])

    def test_figures_and_machine_are_stored(self, bench, tmp_path, capsys):
        assert bench("--quick", "--only", "works") == 0
        assert "quick True, ns" in capsys.readouterr().out
        stored = json.loads((tmp_path / "out.json").read_text())
        assert stored["rows"][0]["samples"] == {"drawtap": [1.0, 1.1]}
        assert (stored["rows"][0]["ratio"], stored["rows"][0]["met"], stored["rows"][0]["goal"]) == (30, True, ">= 25x")
        assert stored["machine"]["quick"] is True
        assert {"processor", "cores", "kernel", "apitrace", "load", "date"} <= stored["machine"].keys()

    def test_a_group_that_breaks_is_said_and_the_others_go_on(self, bench, tmp_path, capsys):
        assert bench("--only", "breaks,works") == 1
        printed = capsys.readouterr()
        assert "quick False" in printed.out
        assert "not measured: breaks: the program did not start" in printed.err
        assert json.loads((tmp_path / "out.json").read_text())["not_measured"] == ["breaks: the program did not start"]

    def test_without_apitrace_the_table_says_so(self, bench, monkeypatch, capsys):
        from bench import setup

        monkeypatch.setattr(setup, "apitrace_wrapper", lambda: None)
        assert bench("--only", "works") == 0
        assert "apitrace is not installed" in capsys.readouterr().out

    def test_unknown_groups(self, bench):
        with pytest.raises(SystemExit, match="no group wrks; there are: works, breaks"):
            bench("--only", "wrks")


def test_variants_leave_apitrace_out_where_it_is_missing(monkeypatch, tmp_path):
    from bench import setup

    monkeypatch.setattr(setup, "apitrace_wrapper", lambda: None)
    variants = setup.Setup(tmp_path, quick=True).variants(off=True)
    assert [variant.name for variant in variants] == ["native", "drawtap", "off"]


def test_programs_of_the_benchmarks_exist():
    from bench.setup import _PROGRAMS

    assert {name for name, source in _PROGRAMS.items() if not source.is_file()} == set()


class TestSetup:
    def test_a_wheel_of_other_sources_is_not_taken(self, tmp_path):
        from bench.setting_up import fresh_wheel

        assert fresh_wheel(tmp_path) is None
        (tmp_path / "dist").mkdir()
        (tmp_path / ".ci").mkdir()
        (tmp_path / "dist/drawtap-0-py3-none-manylinux_2_28_x86_64.whl").touch()
        (tmp_path / ".ci/sources").write_text("#!/bin/sh\necho of today\n")
        (tmp_path / ".ci/sources").chmod(0o755)
        assert fresh_wheel(tmp_path) is None
        (tmp_path / "dist/SOURCES").write_text("of yesterday\n")
        assert fresh_wheel(tmp_path) is None
        (tmp_path / "dist/SOURCES").write_text("of today\n")
        assert fresh_wheel(tmp_path) == tmp_path / "dist/drawtap-0-py3-none-manylinux_2_28_x86_64.whl"
        (tmp_path / "dist/drawtap-1-py3-none-manylinux_2_28_x86_64.whl").touch()
        assert fresh_wheel(tmp_path) is None

    def test_commands_are_timed_until_a_line_and_to_the_end(self, tmp_path):
        from bench.measure import BenchError
        from bench.setting_up import _timed

        seconds, first = _timed(["sh", "-c", "echo begun; echo reached; echo end"], tmp_path, "reached")
        assert 0 < first <= seconds
        with pytest.raises(BenchError, match="did not print 'other'"):
            _timed(["echo", "this"], tmp_path, "other")
        with pytest.raises(BenchError, match="ended with 3: said"):
            _timed(["sh", "-c", "echo said; exit 3"], tmp_path, "")


class TestViewedPage:
    @staticmethod
    def _event(phase, at, of, kind=""):
        args = {"event_latency": {"event_type": kind}} if kind else {}
        return {"name": "EventLatency", "ph": phase, "ts": at, "pid": 7, "id2": {"local": of}, "args": args}

    def test_a_press_lasts_until_the_frame_after_it(self):
        from bench.view_page import key_latencies

        events = [
            self._event("b", 1_000, "0x1", "KEY_PRESSED"),
            self._event("b", 1_500, "0x2", "KEY_RELEASED"),
            {"name": "Commit", "ph": "b", "ts": 2_000, "pid": 7, "id2": {"local": "0x1"}},
            {"name": "Commit", "ph": "e", "ts": 3_000, "pid": 7, "id2": {"local": "0x1"}},
            self._event("e", 13_500, "0x1"),
            self._event("e", 14_000, "0x2"),
            self._event("b", 20_000, "0x1", "KEY_PRESSED"),
            self._event("e", 36_000, "0x1"),
            self._event("b", 50_000, "0x3", "KEY_PRESSED"),  # no frame came of it
        ]
        assert key_latencies(events[::-1]) == [12.5, 16.0]


def test_a_group_that_fails_is_named_and_the_others_are_measured_and_stored(monkeypatch, tmp_path, capsys):
    from bench import __main__ as bench
    from bench.row import Row

    target, seen = tmp_path / "results" / "figures.json", []

    def begun(_):
        yield Row("begun", "first", "s", drawtap=1.0)
        subprocess.run([sys.executable, "-c", "import sys; sys.exit('no disk')"], check=True, capture_output=True)

    def whole(_):
        seen.append(json.loads(target.read_text()))  # what the group before has measured is stored
        yield Row("whole", "second", "s", drawtap=2.0)

    def stopped(_):
        yield Row("stopped", "third", "s", drawtap=3.0)
        raise KeyboardInterrupt

    monkeypatch.setattr(bench, "GROUPS", {"begun": begun, "whole": whole, "stopped": stopped, "never": whole})
    monkeypatch.setattr(bench.machine, "facts", lambda: {"processor": "p", "cores": 1, "load": 0.0})
    monkeypatch.setattr(bench.compileall, "compile_dir", lambda *_, **__: None)
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    assert bench.main(["--output", str(target)]) == 1
    stored = json.loads(target.read_text())
    assert [row["name"] for row in stored["rows"]] == ["first", "second", "third"]
    assert [row["name"] for row in seen[0]["rows"]] == ["first"]
    failed, interrupted = stored["not_measured"]
    assert failed.startswith("begun: CalledProcessError: ") and failed.endswith(": no disk")
    assert interrupted == "interrupted"
    said = capsys.readouterr()
    assert "not measured: begun: CalledProcessError" in said.err and "Traceback" in said.err
    assert "3 figures in" in said.out
    assert [*target.parent.iterdir()] == [target]
    monkeypatch.setattr(bench, "GROUPS", {"whole": whole})
    assert bench.main(["--output", str(target)]) == 0
