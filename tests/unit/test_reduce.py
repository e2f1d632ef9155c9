"""Delta debugging over calls: what is left is minimal, whatever the oracle; and ranges say what they mean."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawtap.analysis import reduce as module
from drawtap.analysis.reduce import Budget, Reducer, Script, first_missed
from drawtap.errors import UsageError
from drawtap.trace.ranges import numbers_of


class Needs:
    """It holds where all of some calls are kept."""

    about = "needs"
    together = False

    def __init__(self, needed: set[int]) -> None:
        self.needed = needed
        self.asked = 0

    def holds(self, keep):
        self.asked += 1
        return all(keep[i] for i in self.needed)


def reduce(keep, units, without, oracle, **how):
    return Reducer(keep, without, oracle, **how).remove(units)


def _left(keep, removed):
    return keep & ~removed


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.integers(0, n - 1)))))
def test_what_is_left_is_what_is_needed(case):
    count, needed = case
    oracle = Needs(needed)
    found = reduce(np.ones(count, bool), [[i] for i in range(count)], _left, oracle, budget=Budget(60))
    assert found.minimal
    assert set(np.flatnonzero(found.keep)) == needed
    assert found.trials == oracle.asked


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.integers(0, n - 1)))))
def test_no_question_is_asked_twice(case):
    count, needed = case
    asked = []

    class Watching(Needs):
        def holds(self, keep):
            asked.append(keep.tobytes())
            return super().holds(keep)

    units = [[i] for i in range(count)]
    reducer = Reducer(np.ones(count, bool), _left, Watching(needed), budget=Budget(60))
    reducer.remove(units[::2], once=True)
    assert reducer.remove(units).minimal
    assert len(asked) == len(set(asked))


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.integers(0, n - 1)))))
def test_questions_asked_at_once_give_the_same(case):
    count, needed = case

    class Together(Needs):
        together = True

    oracle = Together(needed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_processors", lambda: 3)
        found = reduce(np.ones(count, bool), [[i] for i in range(count)], _left, oracle, budget=Budget(60))
    assert found.minimal
    assert set(np.flatnonzero(found.keep)) == needed


def test_as_many_questions_are_asked_at_once_as_there_are_processors():
    class Meeting(Needs):
        together = True
        barrier = threading.Barrier(3)

        def holds(self, keep):
            if len(keep) - keep.sum() == 1:  # of single units, three at a time meet
                self.barrier.wait(timeout=300)
            return super().holds(keep)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_processors", lambda: 3)
        found = reduce(np.ones(12, bool), [[i] for i in range(12)], _left, Meeting(set(range(12))), budget=Budget(600))
    assert found.minimal


def test_nearly_all_that_is_needed_takes_few_trials():
    oracle = Needs(set(range(100)))
    assert reduce(np.ones(100, bool), [[i] for i in range(100)], _left, oracle, budget=Budget(60)).minimal
    assert oracle.asked <= 140  # each alone, and a third of that in groups


def test_units_come_and_go_together():
    units = [[0], [1, 2, 3], [4], [5, 6]]
    found = reduce(np.ones(7, bool), units, _left, Needs({2}), budget=Budget(60))
    assert list(np.flatnonzero(found.keep)) == [1, 2, 3]


def test_few_trials_where_little_is_needed():
    oracle = Needs({777})
    found = reduce(np.ones(1000, bool), [[i] for i in range(1000)], _left, oracle, budget=Budget(60))
    assert found.keep.sum() == 1
    assert oracle.asked < 60


def test_what_depends_on_a_removed_call_goes_with_it():
    # 3 needs 1; the oracle wants 0 and 2 only.
    def without(keep, removed):
        left = keep & ~removed
        if not left[1]:
            left[3] = False
        return left

    seen = []

    class Watching(Needs):
        def holds(self, keep):
            seen.append(keep.copy())
            return super().holds(keep)

    found = reduce(np.ones(4, bool), [[0], [1], [2], [3]], without, Watching({0, 2}), budget=Budget(60))
    assert list(np.flatnonzero(found.keep)) == [0, 2]
    assert all(keep[1] or not keep[3] for keep in seen)


def test_a_spent_budget_is_said():
    found = reduce(np.ones(64, bool), [[i] for i in range(64)], _left, Needs({5}), budget=Budget(60, trials=2))
    assert not found.minimal
    assert found.trials == 2
    assert found.keep[5]
    # One of 64 is tried with chunks of 64 and 32 (32 of them gone by now), then 16, 8, 4, 2 and 1 at least.
    assert found.ahead >= 2 + 4 + 8 + 16 + 32


def test_how_it_stands_is_told():
    said = []
    oracle = Needs({5, 40})
    found = reduce(
        np.ones(64, bool), [[i] for i in range(64)], _left, oracle, budget=Budget(60), on_line=said.append, every_s=0
    )
    assert found.minimal
    assert len(said) == found.trials
    left = [int(line.split(" s ")[1].split()[0]) for line in said]
    ahead = [int(line.split("at least ")[1].split()[0]) for line in said]
    assert left[0] == 64
    assert left == sorted(left, reverse=True)
    assert ahead[-1] <= 2
    assert ahead[0] >= 64


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n - 1))))
def test_the_missed_call_is_found(case):
    count, needed = case
    oracle = Needs({needed})
    order = np.random.default_rng(count).permutation(count)
    assert first_missed(oracle, np.zeros(count, bool), order, budget=Budget(60)) == needed
    assert oracle.asked <= 10


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("7", range(7, 8)),
        ("2:5", range(2, 5)),
        ("2:+3", range(2, 5)),
        ("8:", range(8, 10)),
        (":3", range(3)),
        (":", range(10)),
        ("-3:", range(7, 10)),
        ("-1", range(9, 10)),
        ("2:-2", range(2, 8)),
        ("0:99", range(10)),
    ],
)
def test_ranges(text, meant):
    assert numbers_of(text, 10, "frame") == meant


@pytest.mark.parametrize("text", ["", "x", "5:2", "10", "3:3", "#2", "-11", "4:+-2"])
def test_ranges_that_are_none(text):
    with pytest.raises(UsageError):
        numbers_of(text, 10, "frame")


def test_a_script_is_an_oracle(tmp_path):
    kept = np.zeros(8, bool)

    def write(keep, path):
        path.write_bytes(np.packbits(keep, bitorder="little").tobytes())

    oracle = Script("""sh -c 'test "$(od -An -tu1 {} | tr -d " ")" = 4'""", write)
    assert not oracle.holds(kept)
    kept[2] = True
    assert oracle.holds(kept)
    with pytest.raises(UsageError, match="cannot be run"):
        Script("/nowhere/at/all {}", write).holds(kept)
