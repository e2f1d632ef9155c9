"""`drawtap policy`: the policies of the manager, and what they would do on simulated and recorded programs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.errors import UsageError, check_target, write_whole
from drawtap.output.result import Rows, Sheets

if TYPE_CHECKING:
    from drawtap.live.contention import Scenario
    from drawtap.live.scenario import Outcome

_USUAL = "none,static,adaptive"
_MARKS = "▁▂▃▄▅▆▇█"
_CELLS = 40


@command(
    section="live",
    examples=(
        "drawtap policy                            # policies, alarms and actions, with their settings",
        "drawtap policy adaptive",
        "drawtap policy adaptive,static,none --scenario slowing -o policies.html",
        "drawtap policy proportional --program name=a,cost=6,weight=3 --program name=b,trace=game.dtap",
        "drawtap policy adaptive --set probe_s=2 --set percentile=95 --json",
    ),
)
def policy(
    policies: Annotated[str | None, Opt("policies to try, with commas; none: no limits", metavar="POLICY,...")] = None,
    *,
    simulate: Annotated[bool, Opt("Try none,static,adaptive where no policy is named.")] = False,
    scenario: Annotated[
        str, Opt("figure11, slowing, hopeless, equals, or a TOML file with [[program]] tables.", "-s", "SCENARIO")
    ] = "figure11",
    program: Annotated[
        tuple[str, ...],
        Opt(
            "A program of your own instead of the scenario's: name=, and cost= (ms) or trace= (a recording); class=,  "
            "target=, weight=, start=, end= (s), cap=, floor=, own= (FPS that it keeps to), retrace= (Hz); repeat.",
            "-p",
            "KEY=VALUE,...",
        ),
    ] = (),
    set_: Annotated[
        tuple[str, ...], Opt("A setting of the policies (drawtap policy lists them); repeat.", None, "KEY=VALUE")
    ] = (),
    seconds: Annotated[float | None, Opt("Seconds to simulate.", None, "S")] = None,
    seed: Annotated[int | None, Opt("Other random frames.", None, "N")] = None,
    output: Annotated[Path | None, Opt("Write a page with frame rates over time.", "-o", "FILE.html")] = None,
    force: Annotated[bool, Opt("Replace the page if it exists.")] = False,
) -> Sheets | Rows:
    """List policies of the manager, or try them on simulated programs.

    A policy decides which running program is held back. Without arguments all policies, alarms and actions are listed,
    with their settings. One more is a file in drawtap/live/policies, or a module of another distribution that an entry
    point in the group drawtap.plugins names.

    With POLICY or an option, programs share a simulated GPU. Each program draws one frame after the other; what a frame
    takes of the GPU comes from the scenario or, frame by frame, from a recording. The figures are of the time in which
    all programs run, less its first two seconds. `swing` is by how much a program's limit went to and fro in it: going
    one way to where it stays is none. Where not even the program alone would reach its target, the result says so. Runs
    are exactly repeatable.
    """
    options = (policies, scenario, program, set_, seconds, seed, output)
    if not simulate and options == (None, "figure11", (), (), None, None, None):
        return _listed()
    from drawtap.live.scenario import checked, load_of, load_scenario, never_together, outcomes

    if output is not None:
        check_target(output, force=force)
    chosen = load_scenario(scenario)
    if program:
        chosen = replace(chosen, name="programs", loads=tuple(load_of(p) for p in program), about="")
    if seconds is not None:
        chosen = replace(chosen, seconds=seconds)
    if seed is not None:
        chosen = replace(chosen, seed=seed)
    checked(chosen)
    names = list(dict.fromkeys(filter(None, (name.strip() for name in (policies or _USUAL).split(",")))))
    if not names:
        raise UsageError("which policy?", hint="drawtap policy lists them")
    settings = _settings(set_, names)
    reached = [o for name in names for o in outcomes(chosen, name, settings.get(name, {}))]
    if output is not None:
        write_whole(output, _page(chosen, reached, names))
    notes = [f"page: {output}"] if output else []
    if never_together(chosen):
        notes.append("the programs never all run at the same time: the figures are of the whole scenario")
    return Sheets([_table(chosen, reached)], _data(chosen, reached), notes)


def _listed() -> Rows:
    from drawtap.live.alarm import ACTIONS, ALARMS
    from drawtap.live.policy import POLICIES, about, settings_of

    rows = []
    for kind, registry in (("policy", POLICIES), ("alarm", ALARMS), ("action", ACTIONS)):
        for name, made in registry.items():
            settings = ", ".join(
                text if default is dataclasses.MISSING else f"{text} = {_shown(default)}"
                for text, _, default in settings_of(made)
            )
            rows.append((kind, name, about(made).partition("\n\n")[0].replace("\n", " "), settings))
    note = "Without [[alarm]] in manager.toml all alarms are on, with the action log; alarm = [] switches them off."
    return Rows(("kind", "name", "what", "settings"), rows, note=note)


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k} {v:g}" for k, v in value.items()) + "}"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(str, value)) + "]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _settings(given: Sequence[str], names: Sequence[str]) -> Mapping[str, Mapping[str, object]]:
    from drawtap.live.policy import POLICIES, settings_of

    known = {n: {s for s, _, _ in settings_of(POLICIES.get(n))} for n in names if n != "none"}
    chosen: dict[str, dict[str, object]] = {n: {} for n in known}
    for text in given:
        key, equals, value = text.partition("=")
        key = key.replace("-", "_")
        if not equals:
            raise UsageError(f"--set {text}: this is no KEY=VALUE")
        takers = [n for n, has in known.items() if key in has]
        if not takers:
            every = sorted(set().union(*known.values()))
            raise UsageError(f"no policy here has a setting {key!r}", hint=f"there are: {', '.join(every)}")
        for name in takers:
            chosen[name][key] = value
    return chosen


def _table(scenario: Scenario, reached: Sequence[Outcome]) -> Rows:
    most = max((rate for o in reached for _, rate in o.rates), default=1.0) or 1.0
    rows = [
        (
            o.policy, o.program, o.importance, o.target_fps, round(o.fps, 1),
            o.result,
            o.p50_ns, o.p99_ns, 100 * o.swing, o.limit_changes, _spark(o, most, scenario.seconds), o.reason,
        )
        for o in reached
    ]  # fmt: skip
    begin, end = reached[0].window_s if reached else (0.0, 0.0)
    return Rows(
        ("policy", "program", "class", "target", "fps", "result", "p50", "p99", "swing", "limits", "over_time", "why"),
        rows,
        kinds={"p50": "ns", "p99": "ns", "swing": "percent"},
        title=f"{scenario.name}: {begin:g} to {end:g} s of {scenario.seconds:g} s",
    )


def _spark(outcome: Outcome, most: float, seconds: float) -> str:
    cells = min(_CELLS, len(outcome.rates))
    sums, counts = [0.0] * cells, [0] * cells
    for t, rate in outcome.rates:
        at = min(int(t / seconds * cells), cells - 1)
        sums[at] += rate
        counts[at] += 1
    means = [s / c if c else 0.0 for s, c in zip(sums, counts, strict=True)]
    return "".join(" " if m <= 0 else _MARKS[min(int(m / most * len(_MARKS)), len(_MARKS) - 1)] for m in means)


def _data(scenario: Scenario, reached: Sequence[Outcome]) -> dict[str, object]:
    return {
        "scenario": scenario.name,
        "seconds": scenario.seconds,
        "seed": scenario.seed,
        "outcomes": [asdict(o) for o in reached],
    }


def _page(scenario: Scenario, reached: Sequence[Outcome], names: Sequence[str]) -> str:
    from drawtap.live.policy import POLICIES, about
    from drawtap.output.rates import Curve, RatesPage, render
    from drawtap.output.text import duration

    charts = []
    for name in names:
        own = [o for o in reached if o.policy == name]
        said = "nobody is held back" if name == "none" else about(POLICIES.get(name)).partition("\n\n")[0]
        charts.append(
            (
                name,
                said.replace("\n", " ").replace("`", ""),
                [Curve(o.program, o.rates, o.target_fps, o.limits) for o in own],
            )
        )
    rows = [
        (
            o.policy, o.program, o.importance, f"{o.target_fps:g}" if o.target_fps else "–", f"{o.fps:.1f}",
            o.result,
            duration(o.p50_ns) if o.p50_ns == o.p50_ns else "–", duration(o.p99_ns) if o.p99_ns == o.p99_ns else "–",
            f"{100 * o.swing:.0f} %", o.reason,
        )
        for o in reached
    ]  # fmt: skip
    begin, end = reached[0].window_s
    columns = ("policy", "program", "class", "target", "FPS", "result", "p50", "p99", "swing of the limit", "why")
    text = f"{scenario.about} Simulated; the figures are of {begin:g} to {end:g} s, in which all programs run.".strip()
    return render(RatesPage(f"Policies: {scenario.name}", text, charts, scenario.seconds, columns, rows))
