"""Sets of calls as bits, held against plain lists."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drawtap.web.callset import CallSet


@given(
    st.integers(1, 20_000).flatmap(
        lambda size: st.tuples(st.just(size), st.sets(st.integers(0, size - 1), max_size=60))
    )
)
def test_positions_neighbours_and_density_are_those_of_a_list(made):
    size, chosen = made
    calls, plain = CallSet(size, np.array(sorted(chosen), dtype=np.uint64)), sorted(chosen)
    assert len(calls) == len(plain)
    assert calls.select(0, len(plain) + 5) == plain
    for seq in {0, size - 1, size // 2, *plain}:
        before = [s for s in plain if s < seq]
        behind = [s for s in plain if s > seq]
        assert calls.rank(seq) == len(before)
        assert (seq in calls) == (seq in chosen)
        assert calls.beside(seq, 1) == (behind[0] if behind else None)
        assert calls.beside(seq, -1) == (before[-1] if before else None)
        assert calls.select(len(before), 2) == plain[len(before) : len(before) + 2]
    counts = calls.density(7)
    assert sum(counts) == len(plain)
    assert counts == [sum(size * i // 7 <= s < size * (i + 1) // 7 for s in plain) for i in range(7)]


def test_calls_beyond_the_recording_are_left_out_and_it_may_be_empty():
    assert len(CallSet(10, np.array([9, 10, 11]))) == 1
    assert CallSet(0, np.array([], dtype=np.uint64)).select(0, 5) == []
    assert 5 not in CallSet(3, np.array([0, 1, 2]))
