"""Needs and places of virtual machines, from traces of hosts.

Hosts that pin their machines are several places: machines that never share a CPU cannot take it from each other. A
place (`Cell`) is a set of CPUs and the machines that run there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from drawtap.errors import InputError, UsageError, did_you_mean
from drawtap.system import metrics
from drawtap.system.model import KernelModel

CLASSES = {
    "cpu": "needs the CPU",
    "gpu": "needs the GPU",
    "mixed": "needs both at the same time",
    "alternating": "needs the CPU at some times, the GPU at others",
    "light": "needs neither much",
}
_USES_CPU_SHARE = 0.25  # of the windows in which a machine ran: what it used less often it is not at home on


@dataclass(frozen=True, slots=True)
class Thresholds:
    """When a window counts as needing the CPU or the GPU, as shares from 0 to 1.

    A machine that needed it in the window before still does above `*_leave` (hysteresis). `least`: the share of windows
    that make a class.
    """

    window_ms: float = 100.0
    cpu_enter: float = 0.6
    cpu_leave: float = 0.5
    gpu_enter: float = 0.3
    gpu_leave: float = 0.2
    least: float = 0.25


@dataclass(frozen=True, slots=True)
class Rules:
    """The limits of a plan.

    `overcommit`: most vCPUs a CPU; None: as many as the fullest place has now. `migration_cost_s`: what moving one
    machine costs, in seconds of stolen time over the length of the recording; `least_gain_s`: what a step has to save.
    `gpu_weight`: what a second of waiting for the GPU counts, in stolen seconds.
    """

    overcommit: float | None = None
    migration_cost_s: float = 0.02
    least_gain_s: float = 0.02
    gpu_weight: float = 1.0
    max_moves: int = 20
    together: tuple[frozenset[str], ...] = ()
    apart: tuple[frozenset[str], ...] = ()
    pinned: frozenset[str] = frozenset()
    vgpus: Mapping[str, int] = field(default_factory=dict)  # machine -> number of its virtual GPU
    memory_mb: Mapping[str, float] = field(default_factory=dict)  # of machines
    host_memory_mb: Mapping[str, float] = field(default_factory=dict)
    without_gpu: frozenset[str] = frozenset()  # hosts


@dataclass(frozen=True)
class Machine:
    """A virtual machine as it was recorded. Times in ns over `length_ns`; shares from 0 to 1 of one CPU or engine."""

    name: str
    cell: str
    vcpus: int
    length_ns: int
    run_ns: int
    stolen_ns: int
    waking_ns: int
    blocked_ns: int
    preemptions: int
    cpu_need: float  # of `vcpus` CPUs, alone
    gpu_need: float
    kind: str
    cpu_windows: tuple[float, ...]
    gpu_windows: tuple[float, ...]
    stolen_by: Mapping[str, tuple[int, int]]  # machine -> (ns, preemptions)


@dataclass(frozen=True)
class Cell:
    """A place: CPUs of a host that its machines share. `cpus` are their numbers."""

    name: str
    host: str
    cpus: tuple[int, ...]


@dataclass(frozen=True)
class Fleet:
    """All that was recorded: places, and machines by name."""

    cells: Mapping[str, Cell]
    machines: Mapping[str, Machine]

    @property
    def placement(self) -> dict[str, str]:
        """Where every machine is: name -> cell."""
        return {m.name: m.cell for m in self.machines.values()}


def survey(hosts: Mapping[str, KernelModel], *, thresholds: Thresholds, rules: Rules) -> Fleet:
    """Return the machines and places of hosts.

    Raises InputError where no trace has virtual machines, or one is on two hosts.
    """
    cells: dict[str, Cell] = {}
    machines: dict[str, Machine] = {}
    for host, model in hosts.items():
        cells_ = _cells(model, host, thresholds)
        cells |= {cell.name: cell for cell, _ in cells_}
        for cell, names in cells_:
            for machine in _machines(model, cell, names, thresholds, rules):
                if machine.name in machines:
                    raise InputError(
                        f"{machine.name} is on {machines[machine.name].cell} and on {cell.name}",
                        hint="machines are known by name: traces of the same time, one a host",
                    )
                machines[machine.name] = machine
    if not machines:
        raise InputError(
            "there are no virtual machines in these traces",
            hint="record sched_switch and kvm_entry (LTTng: kvm_x86_entry) on the hosts",
        )
    for named in (rules.pinned, *rules.together, *rules.apart, rules.vgpus, rules.memory_mb):
        for name in named:
            if name not in machines:
                raise UsageError(f"there is no machine {name!r}", hint=did_you_mean(name, machines) or _list(machines))
    return Fleet(cells, machines)


def _list(names: Iterable[str]) -> str:
    return f"there are: {', '.join(sorted(names))}"


def _cells(model: KernelModel, host: str, thresholds: Thresholds) -> list[tuple[Cell, list[str]]]:
    width = max(1, round(thresholds.window_ms * 1e6))
    rows = model.query(
        f"""
        WITH ran AS (
          SELECT t.vm, s.cpu, unnest(range(s.begin_ns // {width}, (s.end_ns - 1) // {width} + 1)) AS bin
          FROM spans s JOIN threads t USING (tid) WHERE t.is_vcpu AND s.kind = 'running' AND s.end_ns > s.begin_ns
        ), total AS (SELECT vm, count(DISTINCT bin) AS bins FROM ran GROUP BY vm)
        SELECT vm, cpu FROM ran JOIN total USING (vm) GROUP BY vm, cpu, bins
        HAVING count(DISTINCT bin) >= {_USES_CPU_SHARE} * bins ORDER BY vm, cpu
        """
    ).fetchall()
    groups: list[tuple[set[int], set[str]]] = []
    for vm, cpu in rows:
        joined = [g for g in groups if cpu in g[0] or vm in g[1]]
        rest = [g for g in groups if g not in joined]
        groups = [*rest, (set().union({cpu}, *(g[0] for g in joined)), set().union({vm}, *(g[1] for g in joined)))]
    groups.sort(key=lambda g: sorted(g[0]))
    if len(groups) == 1:
        return [(Cell(host, host, tuple(sorted(groups[0][0]))), sorted(groups[0][1]))]
    return [
        (Cell(f"{host}/cpu{'+'.join(map(str, sorted(cpus)))}", host, tuple(sorted(cpus))), sorted(vms))
        for cpus, vms in groups
    ]


def _machines(
    model: KernelModel, cell: Cell, names: Sequence[str], thresholds: Thresholds, rules: Rules
) -> Iterable[Machine]:
    by_name = {str(m["vm"]): m for m in metrics.machines(model, model.window)}
    for name in names:
        figures = by_name[name]
        run, stolen, waking, blocked = (int(figures[k]) for k in ("run_ns", "stolen_ns", "waking_ns", "blocked_ns"))
        begin, end = model.query(
            "SELECT min(s.begin_ns), max(s.end_ns) FROM spans s JOIN threads t USING (tid) "
            "WHERE t.vm = ? AND s.kind IN ('running', 'preempted', 'waking') AND NOT s.is_open",
            [name],
        ).fetchall()[0]
        if begin is None:
            begin, end = model.window
        vcpus = int(figures["vcpus"])
        cpu = _windows(model, _CPU_WINDOWS, name, (begin, end), thresholds, scale=vcpus)
        vgpu = rules.vgpus.get(name)
        gpu = _windows(model, _GPU_WINDOWS, name, (begin, end), thresholds, vgpu=-1 if vgpu is None else vgpu)
        # Blocked time after the last time on a CPU is not told from a machine that was shut down.
        blocked = min(blocked, max(0, (end - begin) * vcpus - run - stolen - waking))
        yield Machine(
            name=name,
            cell=cell.name,
            vcpus=vcpus,
            length_ns=end - begin,
            run_ns=run,
            stolen_ns=stolen,
            waking_ns=waking,
            blocked_ns=blocked,
            preemptions=int(figures["preemptions"]),
            cpu_need=run / (run + blocked) if run + blocked else 0.0,
            gpu_need=sum(gpu) / len(gpu) if gpu else 0.0,
            kind=classify(cpu, gpu, thresholds),
            cpu_windows=cpu,
            gpu_windows=gpu,
            stolen_by={
                str(t["by"]): (int(t["stolen_ns"]), int(t["preemptions"])) for t in figures["stolen_by"] if t["is_vm"]
            },
        )


# The CPU time that a machine wanted: it ran, or was ready to.
_CPU_WINDOWS = """
    SELECT s.begin_ns AS b, s.end_ns AS e FROM spans s JOIN threads t USING (tid)
    WHERE t.vm = $name AND s.kind IN ('running', 'preempted', 'waking') AND $vgpu = $vgpu
"""
_GPU_WINDOWS = """
    SELECT x.begin_ns AS b, x.end_ns AS e FROM executions x JOIN requests r ON r.id = x.request
    WHERE r.vm = $name OR r.vgpu = $vgpu
"""


def _windows(
    model: KernelModel,
    source: str,
    name: str,
    span: tuple[int, int],
    thresholds: Thresholds,
    *,
    scale: int = 1,
    vgpu: int = -1,
) -> tuple[float, ...]:
    begin, end = span
    width = max(1, round(thresholds.window_ms * 1e6))
    count = max(1, -(-(end - begin) // width))
    rows = (
        model.connection.cursor()
        .execute(
            f"""
            WITH clipped AS (
              SELECT greatest(b, {begin}) AS b, least(e, {end}) AS e FROM ({source}) WHERE e > {begin} AND b < {end}
            ), spread AS (
              SELECT *, unnest(range((b - {begin}) // {width}, (e - 1 - {begin}) // {width} + 1)) AS bin
              FROM clipped WHERE e > b
            )
            SELECT bin, sum(least(e, {begin} + (bin + 1) * {width}) - greatest(b, {begin} + bin * {width}))
            FROM spread GROUP BY bin
            """,
            {"name": name, "vgpu": vgpu},
        )
        .fetchall()
    )
    shares = [0.0] * count
    for bin_, ns in rows:
        shares[int(bin_)] = min(1.0, int(ns) / (min(width, end - begin - int(bin_) * width) * scale))
    return tuple(shares)


def classify(cpu: Sequence[float], gpu: Sequence[float], thresholds: Thresholds) -> str:
    """Return the class of a machine from what it needed in successive windows, a key of `CLASSES`."""
    needs_cpu = _needs(cpu, thresholds.cpu_enter, thresholds.cpu_leave)
    needs_gpu = _needs(gpu, thresholds.gpu_enter, thresholds.gpu_leave)
    count = max(len(needs_cpu), 1)
    both = sum(c and g for c, g in zip(needs_cpu, needs_gpu, strict=True)) / count
    only_cpu = sum(needs_cpu) / count - both
    only_gpu = sum(needs_gpu) / count - both
    if only_cpu >= thresholds.least and only_gpu >= thresholds.least:
        return "alternating"
    if both >= thresholds.least:
        return "mixed"
    if only_cpu + both >= thresholds.least:
        return "cpu"
    return "gpu" if only_gpu + both >= thresholds.least else "light"


def _needs(shares: Sequence[float], enter: float, leave: float) -> list[bool]:
    needs, on = [], False
    for share in shares:
        on = share >= (leave if on else enter)
        needs.append(on)
    return needs
