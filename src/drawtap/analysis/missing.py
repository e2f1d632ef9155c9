"""Find the calls that a set of calls lacks: played alone they do not show what all calls show.

Whole groups of calls are added first, from the likely and light ones to the heavy ones, so that after a few trials
something holds. Then bisection replaces each group by its necessary calls; with a call that
is needed come those like it. The current answer always holds: if the budget ends the search, it is the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from drawtap.analysis.reduce import Budget, first_missed

if TYPE_CHECKING:
    from drawtap.analysis.reduce import Oracle
    from drawtap.trace.graph import Calls


@dataclass(frozen=True)
class Group:
    """Calls that may be missing; `name` says what they are, as in "the search ended with NAME"."""

    name: str
    calls: Calls


@dataclass(frozen=True)
class SearchResult:
    """The calls of the current answer. `whole`: the groups that had to stay whole, since the budget ended the
    search."""

    keep: Calls
    whole: tuple[str, ...] = ()


class Search:
    """A search for the calls of `groups` that an oracle misses.

    `closed(calls)` returns calls with all that they need; `alike(call)` those like it, the near ones first, each set
    larger than the one before. The oracle holds with all groups: that is not asked.
    """

    def __init__(
        self,
        oracle: Oracle,
        groups: Sequence[Group],
        *,
        closed: Callable[[Calls], Calls],
        alike: Callable[[int], Sequence[Calls]],
        budget: Budget,
        on_line: Callable[[str], None],
    ) -> None:
        self._oracle = oracle
        self._groups = groups
        self._closed = closed
        self._alike = alike
        self._budget = budget
        self._on_line = on_line

    def from_(self, keep: Calls) -> SearchResult:
        """Return `keep` with what it lacks."""
        below = [keep]
        for group in self._groups:
            below.append(below[-1] | group.calls)
        level = self._first_level(below)
        whole: list[str] = []
        kept = keep
        for n in range(level, 0, -1):
            kept, all_found = self._narrowed(self._groups[n - 1], below[n - 1], kept)
            if not all_found:
                whole.append(self._groups[n - 1].name)
        return SearchResult(kept, tuple(whole))

    def _first_level(self, below: Sequence[Calls]) -> int:
        for level, group in enumerate(self._groups[:-1], 1):
            if np.array_equal(below[level], below[level - 1]):
                continue
            if not self._budget.spend():
                break
            if self._oracle.holds(below[level]):
                self._on_line(f"the images are right with {group.name}: which of them are needed?")
                return level
            self._on_line(f"the images are not right with {group.name}")
        return len(self._groups)

    def _narrowed(self, group: Group, below: Calls, kept: Calls) -> tuple[Calls, bool]:
        """Return `found` with those calls of the group without which `found` and what is `below` does not hold.

        It holds with the whole group. The second: whether the search came to its end.
        """
        asked: dict[int, int] = {}  # by the size of the smallest set of calls like the missing one: how many were added
        while True:
            now = kept | below
            order = np.flatnonzero(group.calls & ~now)
            if not len(order):
                return kept, True
            if not self._budget.spend():
                return kept | group.calls, False
            if self._oracle.holds(now):
                return kept, True
            missing = first_missed(self._oracle, now, order, budget=self._budget)
            if self._budget.spent:
                # Up to there everything was tried together.
                kept = kept.copy()
                kept[order[order <= missing]] = True
                return kept, False
            one = np.zeros_like(kept)
            one[missing] = True
            kept = kept | self._closed(one) | one
            self._on_line(f"call {missing} is needed")
            kept = self._with_alike(kept, below, missing, asked)

    def _with_alike(self, kept: Calls, below: Calls, missing: int, asked: dict[int, int]) -> Calls:
        # Calls that were overlooked were most often overlooked everywhere: so a search ends after a few rounds.
        if not self._budget.spend() or self._oracle.holds(kept | below):
            return kept
        sets = self._alike(missing)
        if not sets:
            return kept
        key = int(np.flatnonzero(sets[-1])[0])
        step = asked.get(key, 0)
        asked[key] = step + 1
        chosen = sets[min(step, len(sets) - 1)]
        self._on_line(f"... and perhaps the {int((chosen & ~kept).sum())} calls like it")
        return kept | self._closed(chosen) | chosen
