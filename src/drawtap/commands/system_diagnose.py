"""`drawtap system diagnose`: who keeps whom waiting."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import command
from drawtap.commands.options import FROM, GUEST, NO_CACHE, TO, TRACE
from drawtap.output.result import Verdict, Verdicts
from drawtap.units import moment

if TYPE_CHECKING:
    from drawtap.system.rule import Finding


@command(
    name="system diagnose",
    section="system",
    examples=(
        "drawtap system diagnose trace.dat",
        "drawtap system diagnose kernel-ctf --from 2s --to 4s --json",
        "drawtap system diagnose host-ctf --guest VM1=guest-ctf",
    ),
)
def system_diagnose(
    file: Annotated[Path, TRACE],
    *,
    from_: Annotated[str | None, FROM] = None,
    to: Annotated[str | None, TO] = None,
    guest: Annotated[tuple[str, ...], GUEST] = (),
    no_cache: Annotated[bool, NO_CACHE] = False,
) -> Verdicts:
    """Name who keeps whom waiting, with evidence: clients, virtual GPUs, virtual machines.

    It finds long requests without preemption, starving clients, exhausted or overrun time slices, CPU time stolen
    between machines, and idle engines with waiting work. With --guest it also finds threads of a guest whose requests
    reach the host late, or that hear late of their end. Costs below 2 % of the window are left out. The exit code is 1
    where there are findings.
    """
    from drawtap.system import reader
    from drawtap.system.drawn import opened
    from drawtap.system.rule import findings

    with reader.open(file) as trace, opened(trace, guests=guest, keep=not no_cache) as model:
        zero = model.window[0]
        contentions = findings(model, begin=moment(from_, zero), end=moment(to, zero))
        known = bool(model.drivers)
        judged = model.scalar("SELECT count(*) FROM executions") or model.scalar(
            "SELECT count(*) FROM threads WHERE is_vcpu"
        )
        damaged = [p for p in trace.problems if p.kind in ("lost", "discarded", "truncated", "corrupt")]
    if not known:
        none = Verdict("warning", "events", "no event of this trace is known to a driver", "drawtap info lists them")
        return Verdicts([none], data=[])
    lines = [_verdict(f, zero) for f in contentions]
    if not judged:
        lines.append(
            Verdict(
                "warning",
                "contention",
                "cannot be judged: no request has a time on an engine, and there are no virtual CPUs",
                "drawtap system metrics lists the missing figures with reasons",
            )
        )
    elif not lines:
        lines.append(Verdict("ok", "contention", "none that costs 2 % of the time"))
    if damaged:
        what = damaged[0].text if len(damaged) == 1 else f"{damaged[0].text}, and {len(damaged) - 1} more"
        lines.append(Verdict("warning", "trace", f"{what}: what looks like waiting may be a hole in the trace"))
    return Verdicts(lines, data=[asdict(f) for f in contentions])


def _verdict(finding: Finding, zero: int) -> Verdict:
    from drawtap.output.text import duration

    cost = f"{duration(finding.cost_ns)}, {100 * finding.share:.0f} % of the time, {finding.count} times"
    worst = ""
    if finding.worst_at_ns is not None and finding.worst_ns is not None:
        worst = f"; worst at {(finding.worst_at_ns - zero) / 1e9:.3f} s: {duration(finding.worst_ns)}"
    return Verdict(
        "error",
        finding.rule,
        f"{finding.culprit} costs {finding.victim} {cost}: {finding.what}{worst}",
        finding.fix,
    )
