"""Pairs of runs say whether a build is slower: simulated machines drift, jitter and stumble."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from drawtap.corpus import speed
from drawtap.corpus.speed import Judge, Rule
from drawtap.errors import UsageError
from shared import steps

pytest.importorskip("scipy", reason="SciPy is an extra: pip install 'drawtap[fleet]'")

DRIFT, KEPT, JITTER = 0.03, 0.97, 0.01  # of the time; share of the drift that stays from run to run


class Machine:
    """A machine whose speed wanders, whose runs jitter, and of which one in twenty is disturbed."""

    def __init__(self, seed: int, slower: dict[str, float] | None = None) -> None:
        self.random, self.slower, self.at = random.Random(seed), slower or {}, 0.0

    def run(self) -> float:
        self.at = KEPT * self.at + DRIFT * math.sqrt(1 - KEPT**2) * self.random.gauss()
        stumble = self.random.expovariate(20) if self.random.random() < 0.05 else 0.0
        return self.at + JITTER * self.random.gauss() + stumble

    def pair(self, trace: str, base_first: bool) -> float:
        first, second = self.run(), self.run()
        base, new = (first, second) if base_first else (second, first)
        return new + math.log1p(self.slower.get(trace, 0.0)) - base


TRACES = [f"{n:03d}" for n in range(200)]


def test_equal_builds_raise_no_alarm() -> None:
    labels = [
        [one.label for one in Judge(Machine(seed).pair, Rule(seed=seed)).run(TRACES)] for seed in range(20)
    ]  # fmt: skip
    alarms = sum("regression" in of_run for of_run in labels)
    assert alarms <= 1, alarms  # 5 % of 20 runs of 200 recordings
    same = sum(of_run.count("same") for of_run in labels) / (20 * len(TRACES))
    assert same > 0.5


@pytest.mark.parametrize(("share", "runs"), [(1.0, 5), (0.02, 5), (0.005, steps(10, 200))])
def test_three_percent_are_found_with_twenty_pairs(share: float, runs: int) -> None:
    slow = TRACES[: int(len(TRACES) * share)]
    found = wrong = 0
    for seed in range(runs):
        answers = {
            a.trace: a
            for a in Judge(Machine(seed, dict.fromkeys(slow, 0.03)).pair, Rule(pairs=20, seed=seed)).run(TRACES)
        }
        found += sum(answers[t].label == "regression" for t in slow)
        wrong += sum(a.label == "regression" for t, a in answers.items() if t not in slow)
    assert found >= 0.9 * runs * len(slow), found / (runs * len(slow))
    assert wrong <= 1


def test_only_suspects_are_measured_on() -> None:
    count: dict[str, int] = dict.fromkeys(TRACES, 0)
    machine = Machine(7, {TRACES[3]: 0.03})

    def pair(trace: str, base_first: bool) -> float:
        count[trace] += 1
        return machine.pair(trace, base_first)

    answers = {one.trace: one for one in Judge(pair, Rule(pairs=20, seed=7)).run(TRACES)}
    assert answers[TRACES[3]].label == "regression"
    assert {n for trace, n in count.items() if answers[trace].label == "unknown"} >= {20, 40}
    assert sum(count.values()) / len(TRACES) < 21


def test_what_stays_unknown_says_what_would_show() -> None:
    noise = random.Random(1)
    trials = [next(iter(Judge(lambda *_: noise.gauss(0.0, 0.1), Rule(pairs=20)).run("a"))) for _ in range(20)]
    assert {one.label for one in trials} == {"unknown"}
    slow = math.log1p(sum(one.detectable or 0.0 for one in trials) / len(trials))
    assert 0.03 < slow < 0.15
    runs = [next(iter(Judge(lambda *_: noise.gauss(slow, 0.1), Rule(pairs=20)).run("a"))) for _ in range(40)]
    assert sum(run.label == "regression" for run in runs) >= 34


def test_a_machine_is_judged_before_its_pairs() -> None:
    noise = random.Random(3)
    steady = [noise.gauss(0.0, 0.01) for _ in range(speed.CANARY_PAIRS)]
    assert speed.unsteady(steady, 0.01) is None
    hot = speed.unsteady([abs(one) + 0.02 for one in steady], 0.01)
    assert hot is not None
    assert hot.startswith("a second run of the same build is slower by +2.")
    loud = speed.unsteady([20 * one for one in steady], 0.01)
    assert loud is not None
    assert "would not show" in loud
    alarms = sum(
        speed.unsteady([noise.gauss(0.0, 0.02) for _ in range(speed.CANARY_PAIRS)], 0.01) is not None
        for _ in range(400)
    )
    assert alarms <= 8  # 2 %: both sides of the test


def test_lost_pairs_keep_the_orders_balanced() -> None:
    orders: list[bool] = []
    lost = iter(range(3))

    def measure(_: str, base_first: bool) -> float | None:
        if not base_first and next(lost, None) is not None:
            return None
        orders.append(base_first)
        return 0.0 + 1e-6 * len(orders)

    (one,) = Judge(measure, Rule(pairs=16, seed=3)).run(["a"])
    assert one.label == "same"
    assert sum(orders) * 2 == len(orders)
    (one,) = Judge(lambda *_: None, Rule(pairs=16)).run(["a"])
    assert (one.label, one.detail) == ("unknown", "its pairs were lost")


def test_the_rule_against_scipy() -> None:
    ratios = np.random.default_rng(4).normal(0.02, 0.02, (3, 12))
    found = speed.tested(ratios, 0.01)
    from scipy.stats import wilcoxon

    for i, row in enumerate(ratios):
        # The bounds of the interval are where the two-sided test stops to refuse.
        for bound, out in ((found.low[i], -1e-9), (found.high[i], 1e-9)):
            assert wilcoxon(row - bound - out).pvalue <= 0.05 < wilcoxon(row - bound + out).pvalue
    with pytest.raises(UsageError, match="say nothing"):
        Rule(pairs=4).looks()
    assert [Rule(pairs=n).looks() for n in (8, 20, 40)] == [
        [(8, 0.3), (16, 0.7)], [(10, 0.1), (20, 0.3), (40, 0.6)], [(10, 0.05), (20, 0.15), (40, 0.3), (80, 0.5)],
    ]  # fmt: skip
    assert speed.needed(1000, 5) == 13 + 4  # the first look has a twentieth of the error


def test_bisection_finds_the_culprit_of_32_noisy_builds() -> None:
    builds = [f"build-{n}" for n in range(32)]
    right = wrong = 0
    for seed in range(20):
        culprit = 1 + seed * 7 % 31
        machine = Machine(seed)

        def is_bad(build: str, machine: Machine = machine, culprit: int = culprit) -> bool | None:
            machine.slower = {"": 0.03 if builds.index(build) >= culprit else 0.0}
            rule = Rule(pairs=160, seed=builds.index(build))
            return speed.slower_than_half(lambda order: machine.pair("", order), 0.03, 5, rule)

        end = speed.bisect(builds, is_bad)
        right += (end.bad, end.between) == (builds[culprit], ())
        wrong += not builds.index(end.good) < culprit <= builds.index(end.bad)
    assert wrong == 0
    assert right >= 19


def test_a_build_that_nobody_can_judge_is_gone_around() -> None:
    builds = list("abcdefgh")
    end = speed.bisect(builds, lambda build: None if build in "de" else build >= "d")
    assert (end.good, end.bad, end.between) == ("c", "f", ("d", "e"))


# Series of the tests of Apache Otava (tests/series_test.py): measured values, and the places where it finds a change.
OTAVA = (
    ([1.02, 0.95, 0.99, 1.00, 1.12, 0.90, 0.50, 0.51, 0.48, 0.48, 0.55], 6, -0.49),
    ([2.02, 2.03, 2.01, 2.04, 1.82, 1.85, 1.79, 1.81, 1.80, 1.76, 1.78], 4, -0.11),
)


@pytest.mark.parametrize(("values", "place", "effect"), OTAVA)
def test_changes_of_published_series(values: list[float], place: int, effect: float) -> None:
    single = [[float(np.log(value))] for value in values]
    # One value of each build is little: a rank test of 11 cannot be as sure as is wanted for many recordings.
    assert speed.changes(single, 0.01) == []
    (one,) = speed.changes(single, 0.01, error=0.1)
    assert (one.at, one.share) == (place, pytest.approx(effect, abs=0.01))
    # The same with ten pairs of each build.
    noise = np.random.default_rng(7)
    many = [list(one[0] + noise.normal(0, 0.02, 10)) for one in single]
    assert place in [one.at for one in speed.changes(many, 0.05)]


def test_changes_are_found_between_builds() -> None:
    noise = np.random.default_rng(5)
    flat = [list(noise.normal(0, 0.02, 10)) for _ in range(30)]
    assert speed.changes(flat, 0.01) == []
    steps = [[v + (0.05 if 10 <= i < 22 else 0.0) for v in group] for i, group in enumerate(flat)]
    found = speed.changes(steps, 0.01)
    assert [one.at for one in found] == [10, 22]
    assert [one.share for one in found] == pytest.approx([0.05, -0.05], abs=0.01)
    assert [(one.before, one.after) for one in found] == [pytest.approx(x, abs=0.01) for x in ((0, 0.05), (0.05, 0))]
