"""A model of machines that share CPUs and a GPU, and of their losses to each other: it compares placements.

A machine alone would want the CPU for a share of time `u` (run / (run + blocked), so stolen time does not count as less
need). In a cell with C CPUs it gets min(1, C / k) of one while k want it at once; whoever gets less wants longer.
  Stolen
time is what is wanted and not got. The same holds for the engines of a GPU, with C = 1. Formulas:
docs/reference/placement.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drawtap.system.placement import Fleet, Rules

_ROUNDS = 20


def shared(needs: Sequence[float], capacity: float) -> list[float]:
    """Return what each of several users of a resource wants and does not get, as a share of time.

    `needs`: the share of time for which each would use one unit if it were alone; `capacity`: units. While k want it at
    once, each gets min(1, capacity / k). A machine that gets less wants longer: a fixed point.
    """
    wants = list(needs)
    got = [1.0] * len(needs)
    for _ in range(_ROUNDS):
        got = [_share(wants[:i] + wants[i + 1 :], capacity) for i in range(len(wants))]
        # Work r takes r / got; the time between, 1 - r, stays: the share of time in which it wants.
        wants = [(r / g) / (r / g + (1 - r)) if r < 1 else 1.0 for r, g in zip(needs, got, strict=True)]
    return [w * (1 - g) for w, g in zip(wants, got, strict=True)]


def _share(others: Sequence[float], capacity: float) -> float:
    # The number of others that want it at once: the distribution of a sum of independent yes and no.
    chances = [1.0]
    for p in others:
        chances = [
            (chances[k] * (1 - p) if k < len(chances) else 0.0) + (chances[k - 1] * p if k else 0.0)
            for k in range(len(chances) + 1)
        ]
    return sum(chance * min(1.0, capacity / (k + 1)) for k, chance in enumerate(chances))


class Expectation:
    """Expected costs of placements of a fleet; places are remembered."""

    def __init__(self, fleet: Fleet, rules: Rules) -> None:
        self.fleet = fleet
        self.rules = rules
        self.seconds = max(m.length_ns for m in fleet.machines.values()) / 1e9
        self._known: dict[tuple[int, frozenset[str]], tuple[dict[str, float], float]] = {}

    def cell(self, cell: str, names: frozenset[str]) -> tuple[dict[str, float], float]:
        """Return stolen CPU seconds by machine, and the cost of the place in all: with the wait for the GPU."""
        cpus = len(self.fleet.cells[cell].cpus)
        key = (cpus, names)
        if key not in self._known:
            order = sorted(names)
            threads = [(n, self.fleet.machines[n].cpu_need) for n in order for _ in range(self.fleet.machines[n].vcpus)]
            lost = shared([need for _, need in threads], cpus)
            stolen = dict.fromkeys(order, 0.0)
            for (name, _), share in zip(threads, lost, strict=True):
                stolen[name] += share * self.seconds
            waits = shared([self.fleet.machines[n].gpu_need for n in order], 1.0)
            cost = sum(stolen.values()) + self.rules.gpu_weight * sum(waits) * self.seconds
            self._known[key] = (stolen, cost)
        return self._known[key]

    def stolen(self, placement: Mapping[str, str]) -> dict[str, float]:
        """Return the stolen CPU seconds of every machine."""
        stolen_ns: dict[str, float] = {}
        for cell, names in by_cell(self.fleet, placement).items():
            stolen_ns |= self.cell(cell, names)[0]
        return stolen_ns

    def cost(self, placement: Mapping[str, str]) -> float:
        """Return the cost of a placement, in stolen seconds, without that of moving."""
        return sum(self.cell(cell, names)[1] for cell, names in by_cell(self.fleet, placement).items() if names)


def by_cell(fleet: Fleet, placement: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """Return the machines of every place; empty places too."""
    names_of: dict[str, set[str]] = {cell: set() for cell in fleet.cells}
    for name, cell in placement.items():
        names_of[cell].add(name)
    return {cell: frozenset(names) for cell, names in names_of.items()}
