"""`drawtap system simulate`: what would happen to virtual GPUs if."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, Options, command
from drawtap.errors import UsageError, check_target, did_you_mean, write_whole
from drawtap.output.result import Rows, Sheets

if TYPE_CHECKING:
    from drawtap.system.simulator import Scenario
    from drawtap.system.whatif import Outcome, Run

_MOST_SECONDS = 86_400
_MARKS = " ▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class Change(Options):
    """Settings that are other than the scenario says."""

    weights: Annotated[str | None, Opt("Weights of the virtual GPUs, 1 to 16: 8,4.", "-w", "W,W")] = None
    period: Annotated[float | None, Opt("Length of a period in ms.", None, "MS")] = None
    carry: Annotated[int | None, Opt("For how many periods debts are kept; 1: not at all.", None, "N")] = None
    work_conserving: Annotated[bool, Opt("Let a virtual GPU use time that nobody else wants.")] = False
    preemption: Annotated[bool, Opt("Take work off an engine when it is somebody else's turn.")] = False
    slowdown: Annotated[float | None, Opt("Factor on executions beside another virtual GPU.", None, "X")] = None
    seed: Annotated[int | None, Opt("Another run with the same rules.", None, "N")] = None

    def of(self, scenario: Scenario) -> Scenario:
        """Return the scenario with the change. Raises UsageError for weights that are none, or not one a GPU."""
        rules = scenario.scheduler
        rules = replace(
            rules,
            period_ns=rules.period_ns if self.period is None else round(self.period * 1e6),
            carry_periods=rules.carry_periods if self.carry is None else self.carry,
            work_conserving=rules.work_conserving or self.work_conserving,
            preemption=rules.preemption or self.preemption,
            slowdown=rules.slowdown if self.slowdown is None else self.slowdown,
        )
        vgpus = scenario.vgpus
        if self.weights is not None:
            try:
                numbers = [int(w) for w in self.weights.split(",")]
            except ValueError:
                raise UsageError(f"{self.weights!r} are no weights", hint="numbers from 1 to 16: 8,4") from None
            if len(numbers) != len(vgpus):
                raise UsageError(f"{len(numbers)} weights for {len(vgpus)} virtual GPUs")
            vgpus = tuple(replace(v, weight=w) for v, w in zip(vgpus, numbers, strict=True))
        seed = scenario.seed if self.seed is None else self.seed
        changed = replace(scenario, scheduler=rules, vgpus=vgpus, seed=seed)
        changed.check()
        return changed


@command(
    name="system simulate",
    section="system",
    examples=(
        "drawtap system simulate idle-neighbour",
        "drawtap system simulate hotspot --what-if all -o hotspot.html",
        "drawtap system simulate hotspot --weights 8,2 --period 50 --preemption --record hotspot-ctf",
        "drawtap system simulate my-machines.toml --what-if 'no carry' --json",
    ),
)
def system_simulate(
    scenario: Annotated[
        str, Opt("alone, idle-neighbour, slow-neighbour, hotspot, or a TOML file", metavar="SCENARIO")
    ] = "hotspot",
    *,
    change: Change,
    what_if: Annotated[
        tuple[str, ...],
        Opt(
            "Also run a variant: 'no carry', 'work conserving', preemption, both, 'short period', "
            "'heavier first', all.",
            None,
            "VARIANT",
        ),
    ] = (),
    until: Annotated[float, Opt("Stop after this simulated time, in seconds.", None, "S")] = 600.0,
    output: Annotated[Path | None, Opt("Write a page with plots and the table.", "-o", "FILE.html")] = None,
    record: Annotated[
        Path | None, Opt("Keep the recordings: a folder of CTF for each variant.", "-r", "FOLDER")
    ] = None,
    guests: Annotated[
        bool, Opt("With --record: also what each virtual machine saw, by a clock of its own: FOLDER/VARIANT-guestN.")
    ] = False,
    force: Annotated[bool, Opt("Replace the page if it exists.")] = False,
) -> Sheets:
    """Simulate the scheduler of Intel GVT-g: virtual GPUs that share one GPU.

    The simulation records what a kernel with probes would have recorded, as CTF that viewers of LTTng's traces open;
    the figures come from the analysis of that recording. `usage` draws the share of the GPU over time; `phases` are the
    shares between the ends of programs. It stops after --until: then the figures end there, and the recording says so
    (drawtap info).
    """
    from drawtap.system import whatif
    from drawtap.system.simulator import VARIANTS

    if output is not None:
        check_target(output, force=force, replaced=True)
    if record is not None and record.exists() and any(record.iterdir()):
        raise UsageError(f"{record} exists and is not empty", hint="name a folder that does not exist")
    if guests and record is None:
        raise UsageError("--guests records, and --record does not say where to", hint="--record FOLDER --guests")
    if not 0 < until <= _MOST_SECONDS:
        raise UsageError(f"--until {until:g}: more than 0 and at most {_MOST_SECONDS} s")
    chosen = change.of(whatif.load_scenario(scenario))
    names = _variants(what_if, list(VARIANTS))
    from drawtap.scratch import Scratch

    with Scratch() as scratch:
        runs = [_run(chosen, name, record or Path(scratch), until, guests=guests) for name in names]
    if output is not None:
        write_whole(output, _page(chosen, runs))
    notes = [f"{chosen.help}"]
    notes += [f"recorded: {r.folder} ({r.events} events)" for r in runs] if record else []
    notes += [f"page: {output}"] if output else []
    notes += [_stopped(r) for r in runs if r.stopped_s is not None]
    return Sheets([_table(chosen, runs)], _data(chosen, runs, keep=record is not None), notes)


def _stopped(run: Run) -> str:
    left = [o.name for o in run.outcomes if o.requests and o.ends_s is None]
    return f"{run.variant}: stopped after {run.stopped_s:g} s, when {', '.join(left)} had not done all requests"


def _variants(asked: Sequence[str], known: list[str]) -> list[str]:
    if "all" in asked:
        return known
    for name in asked:
        if name not in known:
            raise UsageError(
                f"there is no variant {name!r}", hint=did_you_mean(name, known) or f"there are: {', '.join(known)}"
            )
    return list(dict.fromkeys([known[0], *asked]))


def _run(scenario: Scenario, name: str, folder: Path, until: float, *, guests: bool) -> Run:
    from drawtap.system import whatif
    from drawtap.system.simulator import variant

    return whatif.run(variant(scenario, name), folder / name.replace(" ", "-"), name=name, until_s=until, guests=guests)


def _table(scenario: Scenario, runs: Sequence[Run]) -> Rows:
    longest = max((r.duration_s for r in runs), default=1.0)
    rows = [
        [o.variant, o.name, o.weight, o.ends_s, o.utilisation_percent, _phases(o), o.mean_wait_ns, o.p99_wait_ns,
         o.preemptions or None, _sparkline(o, longest)]
        for r in runs
        for o in r.outcomes
    ]  # fmt: skip
    return Rows(
        ("variant", "vgpu", "weight", "ends_s", "utilisation", "phases", "mean_wait", "p99_wait", "preempted", "usage"),
        rows,
        kinds={"utilisation": "percent", "mean_wait": "ns", "p99_wait": "ns", "preempted": "count"},
        title=f"{scenario.name}: {len(scenario.vgpus)} virtual GPU{'s' if len(scenario.vgpus) != 1 else ''}",
    )


def _phases(outcome: Outcome) -> str:
    return " → ".join(f"{p:.0f} %" for p in outcome.phases_percent)


def _sparkline(outcome: Outcome, longest: float, cells: int = 36) -> str:
    filled = [0.0] * cells
    counts = [0] * cells
    for t, share in outcome.usage:
        at = min(int(t / longest * cells), cells - 1)
        filled[at] += share
        counts[at] += 1
    means = [f / c if c else 0.0 for f, c in zip(filled, counts, strict=True)]
    return "".join(_MARKS[min(round(m * (len(_MARKS) - 1)), len(_MARKS) - 1)] for m in means).rstrip()


def _data(scenario: Scenario, runs: Sequence[Run], *, keep: bool) -> dict[str, object]:
    rules = scenario.scheduler
    return {
        "scenario": scenario.name,
        "scheduler": {
            name: getattr(rules, name)
            for name in ("period_ns", "tick_ns", "carry_periods", "work_conserving", "preemption", "charge", "slowdown")
        },
        "runs": [
            {
                "variant": r.variant,
                "recording": str(r.folder) if keep else None,
                "events": r.events,
                "duration_s": r.duration_s,
                "ends_s": list(r.ends_s),
                "stopped_s": r.stopped_s,
                "vgpus": [
                    {
                        **{name: value for name, value in asdict(o).items() if name != "variant"},
                        "usage": [{"t_s": t, "busy": share} for t, share in o.usage],
                    }
                    for o in r.outcomes
                ],
            }
            for r in runs
        ],
    }


def _page(scenario: Scenario, runs: Sequence[Run]) -> str:
    from drawtap.output.simulation import SimulationPage, render
    from drawtap.output.text import duration

    rows = [
        [
            o.variant,
            o.name,
            str(o.weight),
            f"{o.ends_s:.1f} s" if o.ends_s is not None else "–",
            f"{o.utilisation_percent:.1f} %",
            _phases(o),
            duration(o.mean_wait_ns) if o.mean_wait_ns is not None else "–",
            duration(o.p99_wait_ns) if o.p99_wait_ns is not None else "–",
            str(o.preemptions),
        ]
        for r in runs
        for o in r.outcomes
    ]
    columns = (
        "variant", "virtual GPU", "weight", "ends", "utilisation", "in phases", "mean wait", "p99 wait", "preempted"
    )  # fmt: skip
    return render(SimulationPage(f"Scenario {scenario.name}", scenario.help, runs, columns, rows))
