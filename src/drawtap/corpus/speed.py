"""Decide whether a build is slower, from pairs of runs that were measured right after each other.

Machines drift by more than builds differ, so a sample is a pair: log(new / base) of one recording, the two in random
order, the recordings taking turns. A recording is looked at after several numbers of pairs, and each look spends its
share of the error; the shares add up to one. A recording that is suspect when its pairs are spent gets as many again:
most of a corpus costs nothing more, and a single slow recording among hundreds is found. The Wilcoxon signed rank test
finds builds that are slower at all. Benjamini and Hochberg's procedure bounds the share of false findings in the
corpus. The estimate has to be above a threshold, and a finding counts when fresh pairs confirm it.

Answers: `regression`; `faster`; `same` (two one-sided tests: the difference is within the threshold either way); else
`unknown`, with the slowdown that the pairs would have shown.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from drawtap.errors import UnavailableError, UsageError

Numbers = npt.NDArray[np.float64]
#: Measures a pair of a recording, the base first or not: log(new / base), None where the pair was lost.
Measure = Callable[[str, bool], float | None]

_SHARES = {2: (0.3, 0.7), 3: (0.1, 0.3, 0.6), 4: (0.05, 0.15, 0.3, 0.5)}
_SUSPECT = 0.01  # a recording whose p is below this when its pairs are spent gets as many again
_LEAST = 8  # pairs: with less the test finds nothing in a corpus
_MOST_LOST = 5  # pairs of a recording
CANARY_PAIRS = 8  # runs of one build against itself, before pairs of two count
_ONE_WAY = 0.005  # all of these are on one side
_MOST_SPREAD = 0.2  # a slowdown that has to show on a machine
_POWER = 2.2  # a difference of that many half widths of the interval is found, and confirmed, nine times in ten


@dataclass(frozen=True)
class Rule:
    """The rule of a decision: `threshold` is a share of the time (0.01: 1 %), `pairs` are measured of a recording.

    A suspect gets twice as many. `error` is the share of false findings; `seed` chooses the orders.
    """

    threshold: float = 0.01
    pairs: int = 40
    error: float = 0.05
    seed: int | None = None

    def looks(self) -> list[tuple[int, float]]:
        """Return after how many pairs recordings are looked at, and the share of the error that each look spends.

        Raises UsageError for fewer pairs than say anything.
        """
        if self.pairs < _LEAST:
            raise UsageError(f"{self.pairs} pairs say nothing", hint=f"{_LEAST} at least")
        sizes = [n for n in (self.pairs // 4, self.pairs // 2, self.pairs, 2 * self.pairs) if n >= _LEAST]
        return list(zip(sizes, _SHARES[len(sizes)], strict=True))


@dataclass(frozen=True)
class Speed:
    """The answer about a recording.

    `effect` is the estimate of new / base - 1, `low` and `high` its interval of 95 %. `q` is the share of false
    findings to be counted with. `detectable` is the slowdown that these pairs show nine times in ten.
    """

    trace: str
    label: str
    pairs: int
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    q: float | None = None
    detectable: float | None = None
    detail: str = ""


@dataclass(frozen=True)
class Tested:
    """Tests of several recordings with the same number of pairs; numbers are in log units."""

    slower: Numbers
    faster: Numbers
    same: Numbers
    effect: Numbers
    low: Numbers
    high: Numbers


def tested(ratios: Numbers, threshold: float) -> Tested:
    """Test ratios (recordings x pairs, log(new / base)) against no difference, and against a threshold (a share)."""
    scipy = _stats()
    bound = float(np.log1p(threshold))

    def p(values: Numbers, alternative: str) -> Numbers:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(
                scipy.wilcoxon(values, axis=1, alternative=alternative, zero_method="zsplit").pvalue, np.float64
            )

    within = np.maximum(p(ratios - bound, "less"), p(ratios + bound, "greater"))
    first, second = np.triu_indices(ratios.shape[1])
    means = np.sort((ratios[:, first] + ratios[:, second]) / 2, axis=1)
    outside = _outside(ratios.shape[1])
    return Tested(
        p(ratios, "greater"),
        p(ratios, "less"),
        within,
        np.median(means, axis=1),
        means[:, outside],
        means[:, means.shape[1] - 1 - outside],
    )


def _outside(pairs: int) -> int:
    """Return the place of the interval's bounds (95 %) among the ordered means, from either end."""
    ways = np.ones(1)
    for rank in range(1, pairs + 1):
        ways = np.convolve(ways, [1, *[0] * (rank - 1), 1])
    return int(np.searchsorted(np.cumsum(ways) / ways.sum(), 0.025, side="right")) - 1


def _stats() -> Any:
    try:
        from scipy import stats
    except ImportError as error:
        raise UnavailableError("judging speed needs SciPy", hint="pip install 'drawtap[fleet]'") from error
    return stats


def corrected(p: Sequence[float]) -> Numbers:
    """Return which share of false findings each of several tests has to be counted with."""
    return np.asarray(_stats().false_discovery_control(np.minimum(1.0, p)), np.float64)


@dataclass
class _Case:
    """A recording while it is measured."""

    trace: str
    ratios: list[float] = field(default_factory=list)
    p: float = 1.0
    faster: float = 1.0
    lost: int = 0
    answer: Speed | None = None


class Judge:
    """Measures pairs of recordings until each has an answer or the pairs are spent.

    `confirm` measures the fresh pairs that confirm a finding; without it `measure` does.
    """

    def __init__(self, measure: Measure, rule: Rule, confirm: Measure | None = None) -> None:
        self._measure, self._rule, self._confirm = measure, rule, confirm or measure
        self._random = random.Random(rule.seed)

    def run(self, traces: Sequence[str]) -> Iterator[Speed]:
        """Yield the answer about each recording when there is one; what stays unknown comes last."""
        cases = [_Case(trace) for trace in traces]
        for pairs, share in self._rule.looks():
            waiting = [case for case in cases if case.answer is None]
            if pairs > self._rule.pairs:
                waiting = self._suspects(waiting)
            self._fill(waiting, pairs)
            for case in waiting:
                if len(case.ratios) < pairs:
                    case.answer = Speed(case.trace, "unknown", len(case.ratios), detail="its pairs were lost")
                    yield case.answer
            waiting = [case for case in waiting if case.answer is None]
            if waiting:
                yield from self._look(cases, waiting, share)
        open_ = [case for case in cases if case.answer is None]
        for size in sorted({len(case.ratios) for case in open_}):
            waiting = [case for case in open_ if len(case.ratios) == size]
            test = tested(np.array([case.ratios for case in waiting]), self._rule.threshold)
            for i, case in enumerate(waiting):
                case.answer = self._answer(case, "unknown", test, i)
                yield case.answer

    def _suspects(self, waiting: Sequence[_Case]) -> list[_Case]:
        """Return the cases that more pairs may decide. Others stay as they are, which can only lose findings."""
        if not waiting:
            return []
        test = tested(np.array([case.ratios for case in waiting]), self._rule.threshold)
        return [case for i, case in enumerate(waiting) if min(test.slower[i], test.faster[i]) <= _SUSPECT]

    def _fill(self, cases: Sequence[_Case], pairs: int, measure: Measure | None = None) -> None:
        """Measure until each case has `pairs` pairs; the cases take turns, in a new order each round."""
        measure = measure or self._measure
        orders = {}
        for case in cases:
            missing = pairs - len(case.ratios)
            orders[case.trace] = [turn % 2 == 0 for turn in range(missing)]
            self._random.shuffle(orders[case.trace])
        while True:
            waiting = [c for c in cases if len(c.ratios) < pairs and c.lost <= _MOST_LOST]
            if not waiting:
                return
            self._random.shuffle(waiting)
            for case in waiting:
                order = orders[case.trace].pop()
                ratio = measure(case.trace, order)
                if ratio is None:
                    case.lost += 1
                    orders[case.trace].insert(0, order)  # the orders stay balanced
                else:
                    case.ratios.append(ratio)

    def _look(self, cases: Sequence[_Case], waiting: Sequence[_Case], share: float) -> Iterator[Speed]:
        test = tested(np.array([case.ratios for case in waiting]), self._rule.threshold)
        for i, case in enumerate(waiting):
            case.p = min(case.p, float(test.slower[i]) / share)
            case.faster = min(case.faster, float(test.faster[i]) / share)
        bound = float(np.log1p(self._rule.threshold))
        slower = dict(zip((c.trace for c in cases), corrected([c.p for c in cases]), strict=True))
        faster = dict(zip((c.trace for c in cases), corrected([c.faster for c in cases]), strict=True))
        for i, case in enumerate(waiting):
            effect = float(test.effect[i])
            if slower[case.trace] <= self._rule.error and effect > bound:
                case.answer = self._confirmed(case, test, i, float(slower[case.trace]))
            elif faster[case.trace] <= self._rule.error and effect < -bound:
                case.answer = self._answer(case, "faster", test, i, q=float(faster[case.trace]))
            elif float(test.same[i]) / share <= self._rule.error:
                case.answer = self._answer(case, "same", test, i)
            if case.answer is not None:
                yield case.answer

    def _confirmed(self, case: _Case, test: Tested, i: int, q: float) -> Speed:
        """Measure as many fresh pairs: a regression is found twice."""
        fresh = _Case(case.trace)
        self._fill([fresh], len(case.ratios), self._confirm)
        if len(fresh.ratios) < len(case.ratios):
            return self._answer(case, "unknown", test, i, q=q, detail="the pairs that should confirm it were lost")
        again = tested(np.array([fresh.ratios]), self._rule.threshold)
        if float(again.slower[0]) > self._rule.error:
            return self._answer(case, "unknown", test, i, q=q, detail="found once, not confirmed by fresh pairs")
        # The pairs that found it are biased upwards: the confirming pairs say how much.
        return self._answer(fresh, "regression", again, 0, q=q)

    def _answer(
        self, case: _Case, label: str, test: Tested, i: int, *, q: float | None = None, detail: str = ""
    ) -> Speed:
        effect, low, high = (float(np.expm1(one[i])) for one in (test.effect, test.low, test.high))
        detectable = max(self._rule.threshold, _POWER * (high - low) / 2)
        return Speed(case.trace, label, len(case.ratios), effect, low, high, q, detectable, detail)


def unsteady(ratios: Sequence[float], threshold: float) -> str | None:
    """Return why pairs of a machine say nothing, None where they do.

    `ratios` are runs of one build against itself: log(second / first). A machine that gets hot, or whose clock follows
    something else, has second runs that are slower, or runs that differ too much.
    """
    test = tested(np.array([ratios]), threshold)
    effect, wide = float(np.expm1(test.effect[0])), _POWER * float(np.expm1(test.high[0] - test.low[0])) / 2
    if min(float(test.slower[0]), float(test.faster[0])) <= _ONE_WAY and abs(effect) > threshold:
        return f"a second run of the same build is slower by {100 * effect:+.1f} %"
    if wide > max(_MOST_SPREAD, 5 * threshold):
        return f"runs of the same build differ so much that {100 * wide:.0f} % would not show"
    return None


def spread(ratios: Sequence[float]) -> float | None:
    """Return the median distance of log ratios from their median, as a share; None: there are none."""
    if not ratios:
        return None
    return float(np.expm1(np.median(np.abs(np.asarray(ratios) - np.median(ratios)))))


def needed(recordings: int, slower: int = 1, error: float = 0.05) -> int:
    """Return the fewest pairs with which a test can find `slower` of these recordings."""
    pairs = _LEAST
    while 2.0**-pairs > error * _SHARES[4][0] * slower / max(1, recordings):
        pairs += 1
    return pairs


# ---- series of builds ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a series: the place of the first group after it, and the p of that.

    `before` and `after` are medians of the two parts that it divides: value / value on the base - 1.
    """

    at: int
    before: float
    after: float
    p: float

    @property
    def share(self) -> float:
        """The slowdown of the part after it, against the one before (a share)."""
        return (1 + self.after) / (1 + self.before) - 1


def changes(groups: Sequence[Sequence[float]], threshold: float, error: float = 0.01) -> list[Change]:
    """Return where a series changes.

    Groups are log ratios of builds to the same base, in order. The split that explains most is a change where a rank
    test finds it significant among all splits, and it is larger than `threshold`; both parts are looked at again.
    """
    splits: list[tuple[int, float]] = []
    _split(groups, (0, len(groups)), (threshold, error), splits)
    splits.sort()
    bounds = [0, *(at for at, _ in splits), len(groups)]
    middles = [
        float(np.median(np.concatenate([np.asarray(g, np.float64) for g in groups[a:b]])))
        for a, b in pairwise(bounds)
        if b > a
    ]
    return [
        Change(at, float(np.expm1(middles[i])), float(np.expm1(middles[i + 1])), p) for i, (at, p) in enumerate(splits)
    ]


def _split(
    groups: Sequence[Sequence[float]],
    part: tuple[int, int],
    limits: tuple[float, float],
    splits: list[tuple[int, float]],
) -> None:
    low, high = part
    if high - low < 2:
        return
    # Place: the split that explains most. A rank test would rather have two halves. Existence: the rank test.
    middles = np.array([float(np.median(np.asarray(g, np.float64))) for g in groups[low:high]])
    weights = np.array([len(g) for g in groups[low:high]], np.float64)
    first, sums = np.cumsum(weights)[:-1], np.cumsum(weights * middles)[:-1]
    second, rest = weights.sum() - first, (weights * middles).sum() - sums
    at = low + 1 + int(np.argmax(first * second * (sums / first - rest / second) ** 2))
    before, after = (
        np.concatenate([np.asarray(g, np.float64) for g in side]) for side in (groups[low:at], groups[at:high])
    )
    p = float(_stats().mannwhitneyu(before, after).pvalue) * (high - low - 1)
    if p > limits[1]:
        return
    effect = float(np.expm1(np.median(after) - np.median(before)))
    if abs(effect) > limits[0]:
        splits.append((at, p))
    _split(groups, (low, at), limits, splits)
    _split(groups, (at, high), limits, splits)


@dataclass(frozen=True)
class Culprit:
    """The end of a bisection: the last good and the first bad build; others between them could not be judged."""

    good: str
    bad: str
    between: tuple[str, ...]
    asked: tuple[tuple[str, bool | None], ...]


def bisect(builds: Sequence[str], is_bad: Callable[[str], bool | None]) -> Culprit:
    """Find the first bad build between the first one, which is good, and the last one, which is bad.

    `is_bad` gives None for a build that cannot be judged; then its neighbours are.
    """
    low, high = 0, len(builds) - 1
    asked: dict[int, bool | None] = {}
    while True:
        open_ = [i for i in range(low + 1, high) if i not in asked]
        if not open_:
            break
        middle = min(open_, key=lambda i: (abs(2 * i - low - high), i))
        asked[middle] = is_bad(builds[middle])
        if asked[middle] is True:
            high = middle
        elif asked[middle] is False:
            low = middle
    answers = tuple((builds[i], said) for i, said in asked.items())
    return Culprit(builds[low], builds[high], tuple(builds[low + 1 : high]), answers)


def slower_than_half(ratio: Callable[[bool], float | None], effect: float, steps: int, rule: Rule) -> bool | None:
    """Tell whether a build is on the slow side of a slowdown `effect` (a share): True, False, None where it stays open.

    `ratio` measures a pair (the base first or not). Looks share the error of one of `steps` steps.
    """
    half = float(np.log1p(effect)) / 2
    judge = Judge(lambda _, order: ratio(order), rule)
    case = _Case("")
    for pairs, share in rule.looks():
        judge._fill([case], pairs)
        if len(case.ratios) < pairs:
            return None
        test = tested(np.array([case.ratios]) - half, rule.threshold)
        limit = rule.error * share / (2 * max(1, steps))
        if float(test.slower[0]) <= limit:
            return True
        if float(test.faster[0]) <= limit:
            return False
    return None
