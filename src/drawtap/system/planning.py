"""Helpful moves of virtual machines: greedy steps, then local search, under constraints."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drawtap.errors import UnavailableError, UsageError
from drawtap.system.placement import Fleet, Rules
from drawtap.system.sharing import Expectation, by_cell


@dataclass(frozen=True)
class Move:
    """One machine to another place. Moves of a `step` belong together (a swap); `saved_s` counts the whole step."""

    step: int
    vm: str
    source: str
    target: str
    saved_s: float
    risk: str
    reason: str


@dataclass(frozen=True)
class Plan:
    """Ranked moves, and what is expected of them: stolen seconds (CPU and weighted GPU) before and after."""

    moves: tuple[Move, ...]
    placement: Mapping[str, str]
    before_s: float
    after_s: float
    expected_stolen_s: Mapping[str, tuple[float, float]]  # machine -> CPU, before and after
    overcommit: float
    solver: str


def plan(fleet: Fleet, rules: Rules, *, solver: str = "search", seed: int = 1) -> Plan:
    """Return the moves that are expected to save most.

    `search`: the best single move or swap again and again, then from disturbed placements; `ortools`: CP-SAT proposes a
    placement (needs the package `ortools`), and the search goes on from there. Raises UsageError for constraints that
    contradict each other, UnavailableError where the solver is missing.
    """
    limit = rules.overcommit if rules.overcommit is not None else _fullest(fleet)
    allowed = _Allowed(fleet, rules, limit)
    expect = Expectation(fleet, rules)
    start = fleet.placement
    best = _descend(start, start, fleet, expect, allowed)
    generator = random.Random(seed)
    for _ in range(8):
        best = min(
            best,
            _descend(_disturbed(best, fleet, allowed, generator), start, fleet, expect, allowed),
            key=lambda p: _value(p, start, expect),
        )
    if solver == "ortools":
        proposed = _with_ortools(fleet, rules, expect, limit)
        if allowed.moves(start, proposed) and allowed.whole(proposed):
            best = min(best, _descend(proposed, start, fleet, expect, allowed), key=lambda p: _value(p, start, expect))
    elif solver != "search":
        raise UsageError(f"there is no solver {solver!r}", hint="search, ortools")
    moves = _steps(start, best, fleet, expect, allowed)
    end = dict(start)
    for move in moves:
        end[move.vm] = move.target
    before, after = expect.stolen(start), expect.stolen(end)
    return Plan(
        tuple(moves),
        end,
        expect.cost(start),
        expect.cost(end),
        {name: (before[name], after[name]) for name in sorted(fleet.machines)},
        limit,
        solver,
    )


def _fullest(fleet: Fleet) -> float:
    placed = by_cell(fleet, fleet.placement)
    return max(
        sum(fleet.machines[n].vcpus for n in names) / len(fleet.cells[cell].cpus)
        for cell, names in placed.items()
        if names
    )


class _Allowed:
    """The constraints of a plan."""

    def __init__(self, fleet: Fleet, rules: Rules, limit: float) -> None:
        self.fleet = fleet
        self.rules = rules
        self.limit = limit
        broken = next((a & b for a in rules.together for b in rules.apart if len(a & b) > 1), None)
        if broken:
            raise UsageError(f"{', '.join(sorted(broken))} are to be together and apart")

    def whole(self, placement: Mapping[str, str]) -> bool:
        """Tell whether a placement keeps every constraint on places."""
        return all(self._fits(cell, names) for cell, names in by_cell(self.fleet, placement).items()) and all(
            len({self.fleet.cells[placement[n]].host for n in group}) == 1 for group in self.rules.together
        )

    def worse(self, before: Mapping[str, str], after: Mapping[str, str]) -> bool:
        """Tell whether a change breaks what was kept before; what is broken from the start may stay."""
        if self.whole(after):
            return False
        return self._broken(after) > self._broken(before) or not self._subset(after, before)

    def _broken(self, placement: Mapping[str, str]) -> int:
        cells = by_cell(self.fleet, placement)
        return sum(not self._fits(cell, names) for cell, names in cells.items()) + sum(
            len({self.fleet.cells[placement[n]].host for n in group}) != 1 for group in self.rules.together
        )

    def _subset(self, after: Mapping[str, str], before: Mapping[str, str]) -> bool:
        then, now = by_cell(self.fleet, before), by_cell(self.fleet, after)
        return all(self._fits(cell, now[cell]) or not self._fits(cell, then[cell]) for cell in now)

    def _fits(self, cell: str, names: frozenset[str]) -> bool:
        place = self.fleet.cells[cell]
        if sum(self.fleet.machines[n].vcpus for n in names) > self.limit * len(place.cpus) + 1e-9:
            return False
        if any(len(group & names) > 1 for group in self.rules.apart):
            return False
        if place.host in self.rules.without_gpu and any(self.fleet.machines[n].gpu_need > 0 for n in names):
            return False
        memory = self.rules.host_memory_mb.get(place.host)
        return memory is None or sum(self.rules.memory_mb.get(n, 0.0) for n in names) <= memory

    def moves(self, before: Mapping[str, str], after: Mapping[str, str]) -> bool:
        """Tell whether these machines, and this number of them, may be moved."""
        moved = {n for n in before if before[n] != after[n]}
        return not moved & self.rules.pinned and len(moved) <= self.rules.max_moves


def _value(placement: Mapping[str, str], start: Mapping[str, str], expect: Expectation) -> float:
    moved = [n for n in start if placement[n] != start[n]]
    # Two plans may mirror each other: the better one moves the machines that lose most.
    lost = sum(expect.fleet.machines[n].stolen_ns for n in moved) / 1e9
    return expect.cost(placement) + len(moved) * expect.rules.migration_cost_s - 1e-6 * lost


def _descend(
    placement: Mapping[str, str], start: Mapping[str, str], fleet: Fleet, expect: Expectation, allowed: _Allowed
) -> dict[str, str]:
    here = dict(placement)
    value = _value(here, start, expect)
    while True:
        best, best_value = None, value - 1e-9
        for candidate in _neighbours(here, fleet):
            if not allowed.moves(start, candidate) or allowed.worse(here, candidate):
                continue
            candidate_value = _value(candidate, start, expect)
            if candidate_value < best_value:
                best, best_value = candidate, candidate_value
        if best is None:
            return here
        here, value = best, best_value


def _neighbours(placement: Mapping[str, str], fleet: Fleet) -> Iterable[dict[str, str]]:
    names = sorted(placement)
    for name in names:
        for cell in sorted(fleet.cells):
            if cell != placement[name]:
                yield {**placement, name: cell}
    for i, one in enumerate(names):
        for other in names[i + 1 :]:
            if placement[one] != placement[other]:
                yield {**placement, one: placement[other], other: placement[one]}


def _disturbed(
    placement: Mapping[str, str], fleet: Fleet, allowed: _Allowed, generator: random.Random
) -> dict[str, str]:
    here = dict(placement)
    names, cells = sorted(placement), sorted(fleet.cells)
    for _ in range(max(2, len(names) // 6)):
        one, other = generator.choice(names), generator.choice(names)
        candidate = (
            {**here, one: here[other], other: here[one]}
            if generator.random() < 0.5
            else {**here, one: generator.choice(cells)}
        )
        if allowed.moves(fleet.placement, candidate) and not allowed.worse(here, candidate):
            here = candidate
    return here


def _steps(
    start: Mapping[str, str], end: Mapping[str, str], fleet: Fleet, expect: Expectation, allowed: _Allowed
) -> list[Move]:
    """Order the moves so that each step saves the most that is left, and breaks no constraint on the way.

    A step is one machine, or two that change places, or all that is left where only that keeps the constraints. A
    step that does not save enough is left out.
    """
    here = dict(start)
    open_ = sorted(n for n in start if start[n] != end[n])
    moves: list[Move] = []
    while open_:
        groups: list[tuple[str, ...]] = [(n,) for n in open_]
        groups += [
            (a, b) for i, a in enumerate(open_) for b in open_[i + 1 :] if end[a] == here[b] and end[b] == here[a]
        ]
        groups = [g for g in groups if not allowed.worse(here, {**here, **{n: end[n] for n in g}})] or [tuple(open_)]
        cost = expect.cost(here)
        gains = {g: cost - expect.cost({**here, **{n: end[n] for n in g}}) for g in groups}
        group = max(groups, key=lambda g: (gains[g] / len(g), g))
        if gains[group] < 0 and len(group) < len(open_):
            group = tuple(open_)  # only together they save something
            gains[group] = cost - expect.cost({**here, **{n: end[n] for n in group}})
        if gains[group] < expect.rules.least_gain_s:
            break
        step = moves[-1].step + 1 if moves else 1
        moves += [_move(name, here, end, fleet, step=step, gain=gains[group], group=group) for name in group]
        here |= {n: end[n] for n in group}
        open_ = [n for n in open_ if n not in group]
    return moves


def _move(
    name: str,
    here: Mapping[str, str],
    end: Mapping[str, str],
    fleet: Fleet,
    *,
    step: int,
    gain: float,
    group: Sequence[str],
) -> Move:
    machine = fleet.machines[name]
    thief = max(machine.stolen_by.items(), key=lambda item: item[1][0], default=None)
    there = sorted(n for n, cell in end.items() if cell == end[name] and n != name)
    reason = f"{machine.kind}-bound" if machine.kind in ("cpu", "gpu") else machine.kind
    if thief is not None and thief[1][0] > 0:
        reason += f", lost {thief[1][0] / 1e9:.2f} s to {thief[0]}"
    if there:
        reason += f"; beside {', '.join(f'{n} ({fleet.machines[n].kind})' for n in there)}"
    others = [n for n in group if n != name]
    if others:
        reason += f"; with {', '.join(others)}"
    risk = "high" if machine.kind == "alternating" else "medium" if machine.length_ns < 10e9 or gain < 0.2 else "low"
    return Move(step, name, here[name], end[name], gain, risk, reason)


def _with_ortools(fleet: Fleet, rules: Rules, expect: Expectation, limit: float) -> dict[str, str]:
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        raise UnavailableError(
            "OR-tools is not installed", hint="pip install 'drawtap[placement]', or --solver search"
        ) from None
    names, cells = sorted(fleet.machines), sorted(fleet.cells)
    problem: Any = cp_model.CpModel()
    put = {(n, c): problem.new_bool_var(f"{n} on {c}") for n in names for c in cells}
    start = fleet.placement
    for n in names:
        problem.add_exactly_one(put[n, c] for c in cells)
        if n in rules.pinned:
            problem.add(put[n, start[n]] == 1)
    for c in cells:
        most = int(limit * len(fleet.cells[c].cpus) + 1e-9)
        problem.add(sum(fleet.machines[n].vcpus * put[n, c] for n in names) <= most)
        for group in rules.apart:
            problem.add(sum(put[n, c] for n in group) <= 1)
    # The times that two machines would take from each other, as if they were alone there; the search corrects it
    # afterwards.
    terms = []
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            price = round(1000 * expect.cell(cells[0], frozenset({a, b}))[1])
            if price:
                for c in cells:
                    same = problem.new_bool_var("")
                    problem.add(same >= put[a, c] + put[b, c] - 1)
                    terms.append(price * same)
    moves = sum(1 - put[n, start[n]] for n in names)
    problem.minimize(sum(terms) + round(1000 * rules.migration_cost_s) * moves)
    for n in names:
        problem.add_hint(put[n, start[n]], 1)
    solver: Any = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = 10
    solver.parameters.num_workers = 2
    if solver.solve(problem) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        raise UsageError("no placement keeps all constraints")
    return {n: next(c for c in cells if solver.value(put[n, c])) for n in names}
