"""The clock of a guest from matched pairs: against clocks of which offset, drift and delays are known."""

import random

import numpy as np
import pytest

from drawtap.errors import InputError
from drawtap.system.clocks import Pairs, fit

GUEST_ZERO, HOST_ZERO = 7_000_000_000, 1_700_000_000_000_000_000


def made(seed, drift, count=400, *, length=20_000_000_000, delay=80_000, sides="gh"):
    """Pairs of a clock: host time = HOST_ZERO + (guest time - GUEST_ZERO) * (1 + drift)."""
    generator = random.Random(seed)
    rows = {"g": [], "h": []}
    for number in range(count):
        t = GUEST_ZERO + number * length // count + generator.randrange(1000)
        for side, sign in (("g", 1), ("h", -1)):
            late = 500 + round(generator.expovariate(1 / delay))
            rows[side].append((t, HOST_ZERO + round((t - GUEST_ZERO) * (1 + drift)) + sign * late))
    return [pairs(rows[side]) if side in sides else pairs([]) for side in "gh"]


def pairs(rows):
    columns = np.array(rows, dtype=np.int64).reshape(-1, 2)
    return Pairs(columns[:, 0].copy(), columns[:, 1].copy())


def true_time(t, drift):
    return HOST_ZERO + round((t - GUEST_ZERO) * (1 + drift))


@pytest.mark.parametrize("drift", [0.0, 37e-6, -120e-6])
@pytest.mark.parametrize("seed", range(4))
def test_both_directions_bound_the_error(seed, drift):
    window = (GUEST_ZERO - 10**9, GUEST_ZERO + 21 * 10**9)
    found = fit(*made(seed, drift), window)
    assert found.error_ns is not None
    assert found.error_ns < 20_000  # delays are 80 us in the mean, a few are short
    assert found.contradiction_ns == 0
    assert found.drift == pytest.approx(drift, abs=2e-6)
    for t in range(*window, 10**9):
        assert abs(found.host_time(t) - true_time(t, drift)) <= found.error_ns


def test_few_pairs_have_a_wider_bound():
    window = (GUEST_ZERO, GUEST_ZERO + 20 * 10**9)
    many, few = (fit(*made(1, 20e-6, count), window) for count in (2000, 8))
    assert few.error_ns > 3 * many.error_ns
    for found in (many, few):
        assert abs(found.host_time(window[1]) - true_time(window[1], 20e-6)) <= found.error_ns


@pytest.mark.parametrize("side", "gh")
def test_one_direction_has_no_bound(side):
    found = fit(*made(3, 50e-6, sides=side), (GUEST_ZERO, GUEST_ZERO + 20 * 10**9))
    assert found.error_ns is None
    assert found.drift == pytest.approx(50e-6, abs=2e-6)
    # The shortest delays are 500 ns: that far a line without the other side goes wrong, and little further.
    middle = GUEST_ZERO + 10**10
    assert abs(found.host_time(middle) - true_time(middle, 50e-6)) < 5_000


def test_a_clock_that_is_steered():
    guest_first, host_first = made(5, 0.0, delay=2_000)
    late = (GUEST_ZERO + 10**10, 30_000)  # 30 us forward in the middle
    hosts = [p.host + np.where(p.guest > late[0], late[1], 0) for p in (guest_first, host_first)]
    found = fit(Pairs(guest_first.guest, hosts[0]), Pairs(host_first.guest, hosts[1]), (GUEST_ZERO, GUEST_ZERO + 1))
    assert 0 < found.contradiction_ns < 30_000
    assert found.error_ns >= found.contradiction_ns


def test_traces_of_other_machines_are_refused():
    generator = random.Random(8)
    times = sorted(generator.sample(range(10**10), 100))
    others = sorted(generator.sample(range(10**10), 100))
    with pytest.raises(InputError, match="contradict each other by"):
        fit(pairs([*zip(times, others, strict=True)]), pairs([*zip(times, others, strict=True)]), (0, 10**10))
    with pytest.raises(InputError, match="1 matching pairs"):
        fit(pairs([(1, 2)]), pairs([]), (0, 1))


def test_sql_is_the_same():
    import duckdb

    found = fit(*made(2, 91e-6), (GUEST_ZERO, GUEST_ZERO + 1))
    for t in (GUEST_ZERO, GUEST_ZERO + 123_456_789, GUEST_ZERO + 19 * 10**9):
        assert duckdb.sql(f"SELECT {found.sql('t')} FROM (SELECT {t}::BIGINT AS t)").fetchall() == [
            (found.host_time(t),)
        ]
