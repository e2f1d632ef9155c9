"""Scenarios of virtual GPUs, simulated, recorded as CTF, read back and analysed.

The figures come from the analysis of the recording, not from the simulator: what holds for a simulated trace holds for
a real one with the same probes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from drawtap.errors import InputError, UsageError, did_you_mean, read_toml
from drawtap.system import metrics, reader
from drawtap.system.ctf_writer import write_ctf
from drawtap.system.model import build
from drawtap.system.simulator import (
    MS,
    SCENARIOS,
    SECOND,
    US,
    Client,
    Scenario,
    Scheduler,
    Simulation,
    Vgpu,
    guest_clock,
    simulate,
    thread_names,
)

UNTIL_S = 600.0


@dataclass(frozen=True)
class Outcome:
    """The outcome of one virtual GPU under one variant of a scenario.

    `phases_percent`: utilisation between the ends of clients, the first from the begin on. `usage`: (time in s,
    share from 0 to 1) over the run. `ends_s` is None for one that is idle or was not done.
    """

    variant: str
    vgpu: int
    name: str
    weight: int
    ends_s: float | None
    utilisation_percent: float
    phases_percent: tuple[float, ...]
    mean_wait_ns: float | None
    p99_wait_ns: int | None
    requests: int
    preemptions: int
    usage: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Run:
    """One variant, recorded: where the trace is, how many events it has, how it went.

    `stopped_s`: when it was stopped, None where all clients were done.
    """

    variant: str
    folder: Path
    events: int
    duration_s: float
    ends_s: tuple[float, ...]
    stopped_s: float | None
    outcomes: tuple[Outcome, ...]


def run(
    scenario: Scenario,
    folder: Path,
    *,
    name: str = "as it is",
    bins: int = 240,
    until_s: float = UNTIL_S,
    guests: bool = False,
) -> Run:
    """Simulate a scenario, record it into `folder` as CTF, read that back and analyse it.

    `guests`: also record what each virtual machine saw, by a clock of its own, into `folder`-guest1 and so on. Where
    not all clients are done at `until_s` it is stopped, and the environment of the recording says so.
    """
    done = simulate(scenario, until_ns=round(until_s * SECOND))
    environment = {"hostname": "simulation", "trace_name": f"drawtap simulation: {scenario.name}, {name}"}
    if done.stopped:
        environment["stopped"] = f"after {until_s:g} s, before all programs were done"
    count = write_ctf(folder, done.events.columns(), threads=thread_names(scenario), environment=environment)
    if guests:
        _record_guests(scenario, folder, done)
    ends = tuple(sorted(done.finished_ns.values()))
    with reader.open(folder) as trace, build(trace) as model:
        begin, end = model.window
        whole = _by_vgpu(metrics.groups(model, "vgpus", (begin, end)))
        edges = [begin, *ends, end] if done.stopped else [begin, *ends]
        phases = [_by_vgpu(metrics.groups(model, "vgpus", (a, b))) for a, b in pairwise(edges) if b > a]
        usage: dict[int, list[tuple[float, float]]] = {}
        for row in metrics.series(model, "vgpus", bins=bins):
            point = (float(row["t_ns"]) / SECOND, float(row["busy"]))
            usage.setdefault(int(row["vgpu"]), []).append(point)
        outcomes = []
        for v, vgpu in enumerate(scenario.vgpus, 1):
            figures = whole.get(v, {})
            own = [t for (number, _), t in done.finished_ns.items() if number == v]
            finished = max(own) if own and len(own) == len(vgpu.clients) else None
            busy = model.scalar(
                "SELECT sum(least(e.end_ns, ?) - e.begin_ns) FROM executions e JOIN requests r ON r.id = e.request "
                "WHERE r.vgpu = ? AND e.begin_ns < ?",
                [finished or end, v, finished or end],
            )
            waits = figures.get("percentiles", {})
            mean = figures.get("mean_wait_ns")
            outcomes.append(
                Outcome(
                    name,
                    v,
                    vgpu.name,
                    vgpu.weight,
                    finished / SECOND if finished is not None else None,
                    100 * float(busy or 0) / max((finished or end) - begin, 1),
                    tuple(_percent(p.get(v, {})) for p in phases),
                    float(mean) if mean is not None else None,
                    waits.get("wait_ns", {}).get("p99"),
                    int(figures.get("jobs", 0)),
                    int(figures.get("preemptions") or 0),
                    tuple(usage.get(v, ())),
                )
            )
    stopped = until_s if done.stopped else None
    return Run(name, folder, count, (end - begin) / SECOND, tuple(e / SECOND for e in ends), stopped, tuple(outcomes))


def _record_guests(scenario: Scenario, folder: Path, done: Simulation) -> None:
    for v, vgpu in enumerate(scenario.vgpus, 1):
        if vgpu.clients:
            clock = guest_clock(scenario, v)
            write_ctf(
                folder.with_name(f"{folder.name}-guest{v}"),
                done.events.guest_columns(v, clock),
                threads={300 + c: client.name for c, client in enumerate(vgpu.clients)},
                environment={"hostname": vgpu.name, "clock_zero_ns": str(clock.zero_ns), "drift": repr(clock.drift)},
            )


def _by_vgpu(records: list[metrics.Record]) -> dict[int, metrics.Record]:
    return {int(r["vgpu"]): r for r in records}


def _percent(record: metrics.Record) -> float:
    value = record.get("utilisation_percent")
    return float(value) if value is not None else 0.0


def load_scenario(name: str) -> Scenario:
    """Return a scenario of `SCENARIOS` by its name, or one from a TOML file.

    The file has a table `scheduler` and an array `vgpu` of tables with an array `client`; times are in milliseconds:

        [scheduler]
        period_ms = 100
        [[vgpu]]
        name = "VM1"
        weight = 8
        [[vgpu.client]]
        execution_ms = 1.5
        gap_ms = 0.2
        count = 14400

    A client with `recorded` asks at the times of that trace's requests; the path is as seen from the file.
    """
    if name in SCENARIOS:
        return SCENARIOS[name]
    path = Path(name)
    if not path.is_file():
        hint = did_you_mean(name, SCENARIOS) or f"there are: {', '.join(SCENARIOS)}; or a TOML file"
        raise UsageError(f"there is no scenario called {name!r}", hint=hint)
    content = read_toml(path)
    vgpus = tuple(_vgpu(path, entry, i) for i, entry in enumerate(_tables(path, content, "vgpu"), 1))
    scheduler = Scheduler(**_values(path, content.get("scheduler", {}), Scheduler))
    rest = {k: v for k, v in content.items() if k not in ("vgpu", "scheduler")}
    seed = rest.pop("seed", 1)
    if rest or not isinstance(seed, int):
        raise InputError(f"{path}: {', '.join(rest) or 'seed'} means nothing", hint="there are: scheduler, vgpu, seed")
    scenario = Scenario(path.stem, str(path), vgpus, scheduler, seed)
    scenario.check()
    return scenario


def _tables(path: Path, content: Mapping[str, object], key: str) -> list[Mapping[str, object]]:
    entries = content.get(key, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InputError(f"{path}: {key} is no array of tables", hint=f"[[{key}]]")
    return entries


def _vgpu(path: Path, entry: Mapping[str, object], number: int) -> Vgpu:
    plain = {k: v for k, v in entry.items() if k != "client"}
    clients = tuple(_client(path, c) for c in _tables(path, entry, "client"))
    return replace(Vgpu(f"VM{number}", clients=clients), **_values(path, plain, Vgpu))


def _client(path: Path, entry: Mapping[str, object]) -> Client:
    plain = dict(entry)
    source, engine = plain.pop("recorded", None), plain.pop("recorded_engine", None)
    if source is None and engine is None:
        return Client(**_values(path, plain, Client))
    if not isinstance(source, str) or not isinstance(engine, str | None):
        raise InputError(f"{path}: recorded names a trace, recorded_engine one of its engines")
    times = recorded_arrivals(path.parent / source, engine)
    values = _values(path, {"gap_ms": 0, "count": len(times), "arrivals": "recorded", **plain}, Client)
    count = min(values["count"], len(times))
    return Client(**{**values, "count": count, "times_ns": times[: max(count, 0)]})


def recorded_arrivals(path: Path, engine: str | None = None) -> tuple[int, ...]:
    """Return the times of a trace's requests, in ns after the first; of one engine where it is named.

    Where that was not recorded, it is when they were handed over, or began. Raises InputError where there are none.
    """
    with reader.open(path) as trace, build(trace) as model:
        rows = model.query(
            "SELECT coalesce(created_ns, queued_ns, submitted_ns, begin_ns) AS t FROM requests "
            "WHERE t IS NOT NULL AND (engine = ? OR ? IS NULL) ORDER BY t",
            [engine, engine],
        ).fetchall()
        if not rows:
            known = model.query("SELECT DISTINCT engine FROM requests WHERE engine IS NOT NULL ORDER BY 1").fetchall()
            names = ", ".join(str(name) for (name,) in known)
            raise InputError(
                f"{path}: no request" + (f" on {engine}" if engine else ""),
                hint=f"there are: {names}" if names else "drawtap info lists the events",
            )
    return tuple(int(t) - int(rows[0][0]) for (t,) in rows)


_UNITS = {"_ms": MS, "_us": US, "_s": SECOND}


def _values(path: Path, entry: object, kind: type[Client | Vgpu | Scheduler]) -> dict[str, Any]:
    """Return fields of a dataclass from a table; `period_ms` and `period_us` set `period_ns`."""
    if not isinstance(entry, dict):
        raise InputError(f"{path}: {kind.__name__.lower()} is no table")
    types = {f.name: str(f.type) for f in fields(kind) if f.name not in ("clients", "times_ns")}
    values_: dict[str, Any] = {}
    for key, value in entry.items():
        name, scale = key, 1
        for suffix, unit in _UNITS.items():
            if key.endswith(suffix) and key.removesuffix(suffix) + "_ns" in types:
                name, scale = key.removesuffix(suffix) + "_ns", unit
        if name not in types:
            raise InputError(
                f"{path}: {key} means nothing", hint=did_you_mean(key, types) or f"there are: {', '.join(types)}"
            )
        values_[name] = _value(path, key, value, types[name], scale)
    missing = [f.name for f in fields(kind) if f.name in ("execution_ns", "gap_ns", "count") and f.name not in values_]
    if missing and kind is Client:
        raise InputError(f"{path}: a client without {', '.join(missing)}")
    return values_


def _value(path: Path, key: str, value: object, kind: str, scale: int) -> object:
    good = {"int": (int, float), "float": (int, float), "bool": (bool,), "str": (str,)}[kind]
    if not isinstance(value, good) or (isinstance(value, bool) and kind != "bool"):
        raise InputError(f"{path}: {key} is no {kind}")
    if isinstance(value, int | float) and kind == "int":
        return round(value * scale)
    return value
