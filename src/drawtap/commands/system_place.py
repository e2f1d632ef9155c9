"""`drawtap system place`: where virtual machines should run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Literal

from drawtap.commands import Opt, command
from drawtap.commands.options import NO_CACHE
from drawtap.errors import UsageError
from drawtap.output.result import Rows, Sheets, Text

if TYPE_CHECKING:
    from drawtap.system.placement import Fleet, Rules, Thresholds
    from drawtap.system.planning import Plan

_TARGETS = ("text", "nova", "libvirt", "kubernetes")


@command(
    name="system place",
    section="system",
    examples=(
        "drawtap system place host1=ctf-host1 host2=ctf-host2 --rules placement.toml",
        "drawtap system place before-ctf --after after-ctf",
        "drawtap system place host1=ctf-host1 host2=ctf-host2 --as nova > moves.sh",
    ),
)
def system_place(
    *traces: Annotated[Path, Opt("a kernel trace of each host, recorded at the same time", metavar="[HOST=]TRACE")],
    rules: Annotated[Path | None, Opt("Thresholds and constraints, a TOML file.", "-c", "FILE")] = None,
    after: Annotated[
        tuple[str, ...], Opt("A trace from after machines were moved: hold it against the plan.", "-a", "[HOST=]TRACE")
    ] = (),
    solver: Annotated[Literal["search", "ortools"], Opt("ortools: CP-SAT, where OR-tools is installed.")] = "search",
    as_: Annotated[
        Literal["text", "nova", "libvirt", "kubernetes"], Opt("Print the moves for a cloud's tools.")
    ] = "text",
    no_cache: Annotated[bool, NO_CACHE] = False,
) -> Sheets | Text:
    """Say which virtual machines should move where, and what stolen time that is expected to save.

    Machines are classified by what they need over time (cpu, gpu, mixed, alternating, light). Machines that their hosts
    pin to different CPUs are different places. Moves are ranked by what they save; a swap is one step. Stolen time, not
    the number of preemptions, is what counts: many short wake-ups cost less than a few long slices.

    The rules file has tables thresholds, placement (overcommit, migration_cost_s, least_gain_s, gpu_weight, max_moves),
    together, apart (with vms), vms.NAME (pinned, vgpu, memory_mb), hosts.NAME (memory_mb, gpu).
    """
    from drawtap.system.placement_rules import load_rules
    from drawtap.system.planning import plan

    if not traces:
        raise UsageError("traces of which hosts?", hint="drawtap system place host1=TRACE host2=TRACE")
    thresholds, chosen = load_rules(rules)
    fleet = _fleet([str(t) for t in traces], thresholds, chosen, keep=not no_cache)
    placement = plan(fleet, chosen, solver=solver)
    if as_ != "text":
        return Text(render(as_, fleet, placement), data=_data(fleet, placement))
    later = _fleet(after, thresholds, chosen, keep=not no_cache) if after else None
    tables = [_machines(fleet), _pairs(fleet), _moves(placement)]
    notes = _notes(placement)
    data = _data(fleet, placement)
    if later is not None:
        tables.append(_comparison(fleet, placement, later))
        made = _partners(later.placement)
        same = made == _partners(placement.placement)
        data["after"] = _after(fleet, placement, later)
        data["recommended_was_made"] = same
        notes.append(
            "the placement afterwards is the recommended one"
            if same
            else "the placement afterwards is not the recommended one: " + _grouping(later)
        )
    return Sheets(tables, data, notes)


def _fleet(traces: Sequence[str], thresholds: Thresholds, rules: Rules, *, keep: bool) -> Fleet:
    from drawtap.system import reader
    from drawtap.system.kept import model_of
    from drawtap.system.placement import survey

    with ExitStack() as stack:
        models = {}
        for text in traces:
            name, _, path = text.rpartition("=")
            host = name or Path(path).name
            if host in models:
                raise UsageError(f"two traces of the host {host}", hint="give them names: HOST=TRACE")
            models[host] = stack.enter_context(model_of(stack.enter_context(reader.open(path)), keep=keep))
        return survey(models, thresholds=thresholds, rules=rules)


def _partners(placement: Mapping[str, str]) -> set[frozenset[str]]:
    """Return who is beside whom, whatever the places are called."""
    groups: dict[str, set[str]] = {}
    for name, cell in placement.items():
        groups.setdefault(cell, set()).add(name)
    return {frozenset(names) for names in groups.values()}


def _grouping(fleet: Fleet) -> str:
    return "; ".join(sorted(" with ".join(sorted(names)) for names in _partners(fleet.placement)))


def _machines(fleet: Fleet) -> Rows:
    rows = [
        (m.name, m.cell, m.kind, 100 * m.cpu_need, 100 * m.gpu_need, m.run_ns, m.stolen_ns, m.preemptions)
        for m in sorted(fleet.machines.values(), key=lambda m: (m.cell, m.name))
    ]
    return Rows(
        ("vm", "place", "class", "cpu_need", "gpu_need", "run", "stolen", "preemptions"),
        rows,
        kinds={"cpu_need": "percent", "gpu_need": "percent", "run": "ns", "stolen": "ns", "preemptions": "count"},
        title="Machines",
    )


def _pairs(fleet: Fleet) -> Rows:
    rows = [
        (m.name, by, ns, count)
        for m in fleet.machines.values()
        for by, (ns, count) in m.stolen_by.items()
        if ns >= 1_000_000
    ]
    rows.sort(key=lambda r: -int(r[2]))
    return Rows(
        ("vm", "by", "stolen", "preemptions"),
        rows[:20],
        kinds={"stolen": "ns", "preemptions": "count"},
        title="Stolen CPU time, and the thief",
    )


def _moves(plan: Plan) -> Rows:
    rows = [(m.step, m.vm, m.source, m.target, m.saved_s * 1e9, m.risk, m.reason) for m in plan.moves]
    return Rows(
        ("step", "vm", "from", "to", "saves", "risk", "reason"), rows, kinds={"saves": "ns"}, title="Recommended moves"
    )


def _comparison(fleet: Fleet, plan: Plan, later: Fleet) -> Rows:
    rows = []
    for name, m in sorted(fleet.machines.items()):
        then = later.machines.get(name)
        expected = plan.expected_stolen_s[name]
        rows.append(
            (
                name,
                m.run_ns,
                then.run_ns if then else None,
                m.stolen_ns,
                expected[1] * 1e9,
                then.stolen_ns if then else None,
                m.preemptions,
                then.preemptions if then else None,
            )
        )
    columns = ("vm", "run", "run_after", "stolen", "expected", "stolen_after", "preemptions", "preemptions_after")
    kinds = {**dict.fromkeys(columns[1:6], "ns"), **dict.fromkeys(columns[6:], "count")}
    return Rows(columns, rows, kinds=kinds, title="Before and after")


def _notes(plan: Plan) -> list[str]:
    if not plan.moves:
        return ["no move is expected to save enough"]
    now, then = (sum(side) for side in zip(*plan.expected_stolen_s.values(), strict=True))
    notes = [
        f"expected stolen time: {now:.2f} s now, {then:.2f} s after these moves "
        f"(at most {plan.overcommit:g} vCPUs a CPU)"
    ]
    waits, later = plan.before_s - now, plan.after_s - then
    if max(waits, later) >= 0.005:
        notes.append(f"expected wait for the GPU, weighted: {waits:.2f} s now, {later:.2f} s after these moves")
    return notes


def _data(fleet: Fleet, plan: Plan) -> dict[str, object]:
    return {
        "machines": [
            {
                **{k: v for k, v in asdict(m).items() if k not in ("cpu_windows", "gpu_windows", "stolen_by", "kind")},
                "class": m.kind,
                "stolen_by": [
                    {"vm": n, "stolen_ns": ns, "preemptions": count} for n, (ns, count) in m.stolen_by.items()
                ],
                "cpu_windows": list(m.cpu_windows),
                "gpu_windows": list(m.gpu_windows),
            }
            for m in fleet.machines.values()
        ],
        "places": [asdict(c) for c in fleet.cells.values()],
        "moves": [asdict(m) for m in plan.moves],
        "expected": {
            # The cost of the plan: stolen time, and the weighted wait for the GPU.
            "before_s": plan.before_s,
            "after_s": plan.after_s,
            "stolen_s": {n: {"before": a, "after": b} for n, (a, b) in plan.expected_stolen_s.items()},
        },
        "overcommit": plan.overcommit,
        "solver": plan.solver,
    }


def _after(fleet: Fleet, plan: Plan, later: Fleet) -> list[dict[str, object]]:
    return [
        {
            "vm": name,
            "place": {"before": m.cell, "recommended": plan.placement[name], "after": then.cell},
            "run_s": {"before": m.run_ns / 1e9, "after": then.run_ns / 1e9},
            "stolen_s": {
                "before": m.stolen_ns / 1e9,
                "expected": plan.expected_stolen_s[name][1],
                "after": then.stolen_ns / 1e9,
            },
            "preemptions": {"before": m.preemptions, "after": then.preemptions},
        }
        for name, m in sorted(fleet.machines.items())
        if (then := later.machines.get(name)) is not None
    ]


# ---- for the tools of clouds ---------------------------------------------------------------------------------------


def render(target: str, fleet: Fleet, plan: Plan) -> str:
    """Return the moves as commands or manifests; places on the same host become CPU pins."""
    if target not in _TARGETS:
        raise UsageError(f"there is no target {target!r}", hint=", ".join(_TARGETS))
    lines = {"nova": _nova, "libvirt": _libvirt, "kubernetes": _kubernetes}[target](fleet, plan)
    return "\n".join(lines) + "\n"


def _nova(fleet: Fleet, plan: Plan) -> list[str]:
    lines = ["#!/bin/sh", "# Classes, for filters of the scheduler and for people", "set -e"]
    for m in sorted(fleet.machines.values(), key=lambda m: m.name):
        lines.append(f"openstack server set --property drawtap:class={m.kind} {quote(m.name)}")
    for move in plan.moves:
        source, target = fleet.cells[move.source], fleet.cells[move.target]
        lines.append(f"# step {move.step}: {move.reason}; the step saves {move.saved_s:.2f} s")
        if source.host == target.host:
            lines.append(
                f"# {move.vm} stays on {source.host}: nova does not choose CPUs; pin it to "
                f"{','.join(map(str, target.cpus))} there"
            )
            continue
        lines.append(f"openstack server migrate --live-migration --host {quote(target.host)} --wait {quote(move.vm)}")
    return lines


def _libvirt(fleet: Fleet, plan: Plan) -> list[str]:
    lines = ["#!/bin/sh", "set -e"]
    for m in sorted(fleet.machines.values(), key=lambda m: m.name):
        lines.append(
            f"virsh metadata {quote(m.name)} --uri https://drawtap.dev/placement --key drawtap "
            f"--set '<class>{m.kind}</class>' --config --live"
        )
    for move in plan.moves:
        source, target = fleet.cells[move.source], fleet.cells[move.target]
        lines.append(f"# step {move.step}: {move.reason}; the step saves {move.saved_s:.2f} s")
        if source.host != target.host:
            lines.append(f"virsh migrate --live --persistent {quote(move.vm)} qemu+ssh://{target.host}/system")
        if source.host == target.host or target.name != target.host:
            pins = ",".join(map(str, target.cpus))
            at = f"-c qemu+ssh://{target.host}/system " if source.host != target.host else ""
            for vcpu in range(fleet.machines[move.vm].vcpus):
                lines.append(f"virsh {at}vcpupin {quote(move.vm)} {vcpu} {pins} --live --config")
    return lines


def _kubernetes(fleet: Fleet, plan: Plan) -> list[str]:
    lines = ["# kubectl apply each; labels are those of drawtap's classes"]
    for move in plan.moves:
        target = fleet.cells[move.target]
        machine = fleet.machines[move.vm]
        lines += [
            "---",
            f"# step {move.step}: {move.reason}; the step saves {move.saved_s:.2f} s",
            "apiVersion: kubevirt.io/v1",
            "kind: VirtualMachine",
            "metadata:",
            f"  name: {_dns_name(move.vm)}",
            "spec:",
            "  template:",
            "    metadata:",
            "      labels:",
            f"        drawtap.dev/class: {machine.kind}",
            "    spec:",
            "      nodeSelector:",
            f"        kubernetes.io/hostname: {_dns_name(target.host)}",
        ]
        if machine.kind == "cpu":
            lines += [
                "      affinity:",
                "        podAntiAffinity:",
                "          preferredDuringSchedulingIgnoredDuringExecution:",
                "            - weight: 100",
                "              podAffinityTerm:",
                "                labelSelector:",
                "                  matchLabels:",
                "                    drawtap.dev/class: cpu",
                "                topologyKey: kubernetes.io/hostname",
            ]
    return lines


def _dns_name(text: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in text.lower()).strip("-") or "vm"
