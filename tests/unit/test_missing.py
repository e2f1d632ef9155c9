"""What a cut lacks is found in few trials, and a search that ends early ends with calls that hold."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drawtap.analysis.missing import Group, Search
from drawtap.analysis.reduce import Budget

CALLS = 120


class Needs:
    """It holds where all of some calls are kept."""

    about = "needs"

    def __init__(self, needed: set[int]) -> None:
        self.needed = needed
        self.asked = 0

    def holds(self, keep):
        self.asked += 1
        return all(keep[i] for i in self.needed)


def _calls(*numbers: int) -> np.ndarray:
    chosen = np.zeros(CALLS, bool)
    chosen[list(numbers)] = True
    return chosen


def _search(oracle, trials, alike=lambda call: (), on_line=lambda text: None):
    groups = [
        Group(name, _calls(*range(i, CALLS, 4))) for i, name in enumerate(("state", "before", "contents", "draws"))
    ]
    return Search(oracle, groups, closed=lambda c: c, alike=alike, budget=Budget(600, trials), on_line=on_line)


@given(st.sets(st.integers(0, CALLS - 1), max_size=6), st.integers(0, 60))
def test_what_is_found_holds_whenever_the_search_ends(needed, trials):
    oracle = Needs(needed)
    found = _search(oracle, trials).from_(_calls())
    assert found.keep[list(needed)].all()
    assert oracle.asked <= trials
    if not found.whole:
        assert set(np.flatnonzero(found.keep)) == needed


def test_whole_groups_are_tried_first():
    said = []
    oracle = Needs({1, 5, 9})
    _search(oracle, 400, on_line=said.append).from_(_calls())
    assert said[0].endswith("not right with state")
    assert "right with before" in said[1]


def test_many_missing_calls_of_a_kind_take_few_trials():
    # Every call of the first group is needed: one by one they would take two hundred trials.
    needed = set(range(0, CALLS, 4))
    oracle = Needs(needed)
    alike = (_calls(*range(60, CALLS, 4)), _calls(*range(0, CALLS, 4)))
    found = _search(oracle, 400, alike=lambda call: alike).from_(_calls())
    assert set(np.flatnonzero(found.keep)) == needed
    assert oracle.asked < 20
