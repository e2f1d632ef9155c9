"""`make gpu`: what needs a real GPU, in one run of under eight minutes: no display, no network, no glmark2.

Records and replays programs of ours exactly, proves state and cuts, and measures capture, Table II and Figure 11 of
Tsuboi et al., timer queries, occlusion and whatever counters are there. The answers go to bench/results/gpu-NAME.json
and a page beside it. Exit code: 0 all is as it should be, 1 something is not, 3 there is no GPU here.

`--software` runs the same on a software renderer: that proves this program, and says nothing about a GPU.
"""

from __future__ import annotations

import argparse
import html
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from bench import capture, gpu_contention, machine, table2
from bench.measure import BenchError
from bench.row import Goal, Row, number
from bench.setup import ROOT, Setup, drawtap
from drawtap.errors import DrawtapError
from drawtap.replay import player

# How EGL finds the GPU without a display: Mesa's way, devices, the vendor's default.
_PLATFORMS = ("surfaceless", "device", "")
_SOFTWARE = re.compile(r"llvmpipe|softpipe|swrast|SwiftShader|lavapipe", re.IGNORECASE)
# Programs of tests/gl/programs that need no window, with arguments; their frames are the same in every run.
_PROVED = (
    ("es2_triangle", "10"), ("textured",), ("fbo_chain", "12"), ("modern", "12"), ("pipeline",), ("transfers", "12"),
    ("compressed",), ("ff_lit", "12"), ("ff_lists", "12"), ("es1_cube", "12"), ("two_contexts", "12"),
    ("draw_over", "12"),
)  # fmt: skip
_BUDGET_S = 8 * 60
_TIMEOUT_S = 120
_SIZE = "512x512"


@dataclass(frozen=True)
class Gpu:
    """What draws: the platform of EGL that leads to it, and what it calls itself."""

    platform: str
    renderer: str
    version: str


def find(*, software: bool = False) -> Gpu | None:
    """Return the first GPU that EGL has without a display; with `software` any renderer. None: there is none."""
    for platform in _PLATFORMS:
        answer = player.probe({"EGL_PLATFORM": platform})
        renderer = str(answer.get("renderer", ""))
        if renderer and (software or not _SOFTWARE.search(renderer)):
            return Gpu(platform, renderer, str(answer.get("gl") or answer.get("es", "")))
    return None


# ---- proofs --------------------------------------------------------------------------------------------------------


def _ask(*words: str) -> subprocess.CompletedProcess[str]:
    # Lines about the progress of long work would stand where the answer is looked for.
    quiet = {**os.environ, "DRAWTAP_PROGRESS": "off"}
    return subprocess.run(drawtap(*words), env=quiet, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)


def _last(done: subprocess.CompletedProcess[str]) -> str:
    said = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return said[-1] if said else f"exit code {done.returncode}"


def proofs(setup: Setup) -> Iterator[Row]:
    """Record each program with hashes, replay it, hold its state against the driver, cut a frame and verify the cut."""
    for name, *arguments in _PROVED:
        try:
            yield from _proof(setup, name, arguments)
        except (BenchError, subprocess.TimeoutExpired) as error:
            yield Row("proofs", name, "", goal=Goal(least=1), drawtap=0, note=str(error))


def _proof(setup: Setup, name: str, arguments: Sequence[str]) -> Iterator[Row]:
    trace, cut = setup.scratch / f"{name}.dtap", setup.scratch / f"{name}-cut.dtap"
    done = _ask("record", "-q", "--force", "--hash-frames", "-o", str(trace), "--", setup.program(name), *arguments)
    if done.returncode == 77:
        yield Row("proofs", name, "", note=f"not here: {_last(done)}")
        return
    if done.returncode or not trace.exists():
        raise BenchError(f"record: {_last(done)}")
    played = player.play(trace, ["--verify"])
    wrong = [f"{f.what} at call {f.call} ({f.function}): {f.text}" for f in played.findings if f.what != "config"]
    note = f"{played.calls:,} calls, {played.compared} images compared, {played.different} differ"
    exact = played.compared > 0 and not played.different and not wrong
    yield Row(
        "proofs", f"{name}: replay", "equal", float(exact), goal=Goal(least=1), note="; ".join([note, *wrong[:3]])
    )
    done = _ask("verify", str(trace), "--state")
    yield _passed(f"{name}: state", done)
    done = _ask("extract", str(trace), "--frames", str(max(0, played.frames // 2)), "--force", "-o", str(cut))
    yield _passed(f"{name}: cut of a frame", done if done.returncode else _ask("verify", str(cut)))


def _passed(name: str, done: subprocess.CompletedProcess[str]) -> Row:
    return Row("proofs", name, "equal", float(done.returncode == 0), goal=Goal(least=1), note=_last(done))


# ---- measuring -----------------------------------------------------------------------------------------------------


def costs(setup: Setup) -> Iterator[Row]:
    """Measure what recording takes from the program's thread, and what a tap that is off takes."""
    yield from capture.rows(setup)


def ways(setup: Setup) -> Iterator[Row]:
    """Measure Table II on a scene that the GPU is busy with, one of many calls, and one of many frames."""
    scene = setup.program("gpu_scene")
    seconds = 2.0 if setup.quick else 4.5
    for name, words in (
        ("GPU busy", ("fill", _SIZE, "2000")),
        ("many calls", ("calls", "200x200", "1500")),
        ("many frames", ("frames", "200x200", "1")),
    ):
        try:
            yield from table2.alternated(setup, table2.Scene(name, (scene, *words, "600"), 0.1), {}, seconds=seconds)
        except BenchError as error:
            yield Row(table2.GROUP, name, "", note=f"not measured: {error}")


_OF_THE_GPU = frozenset({"gl", "fragments", "amd", "intel", "nvperf", "nvml", "drm"})
# One triangle covers the target of 256 x 128 pixels in every draw of `gpu_scene fill`.
_TRUTH = {
    "gl:samples/any_samples": 1,
    "gl:samples/samples_passed": 256 * 128,
    "gl:primitives/primitives_generated": 1,
    "fragments:count/generated": 256 * 128,
    "fragments:count/written": 256 * 128,
}


def counters(setup: Setup) -> Iterator[Row]:
    """Ask what can be measured here and measure it, for draws of OpenGL ES (whose truth is known) and of OpenGL."""
    for api, program in (
        ("OpenGL ES", [setup.program("gpu_scene"), "fill", "256x128", "64", "x10"]),
        ("OpenGL", [setup.program("measured")]),
    ):
        trace = setup.scratch / "counted.dtap"
        done = _ask("record", "-q", "--force", "--hash-frames", "-o", str(trace), "--", *program)
        if done.returncode or not trace.exists():
            yield Row("counters", api, "", note=f"not here: {_last(done)}")
            continue
        truth = _TRUTH if api == "OpenGL ES" else {}
        listed = json.loads(_ask("profile", str(trace), "--list", "--json").stdout or "[]")
        for back_end in sorted({str(one["metric"]).split(":")[0] for one in listed}):
            own = [one for one in listed if str(one["metric"]).split(":")[0] == back_end]
            here = [one for one in own if one["here"] == "yes"]
            reasons = sorted({str(one["why not"]) for one in own if one["why not"]})
            note = f"of {len(own)}" + (f"; otherwise: {', '.join(reasons[:3])}" if reasons else "")
            yield Row("counters", f"{api}: {back_end}", "available", float(len(here)), note=note)
            if here and back_end in _OF_THE_GPU:
                yield from _measured(trace, api, back_end, truth)


def _measured(trace: Path, api: str, back_end: str, truth: Mapping[str, int]) -> Iterator[Row]:
    done = _ask("profile", str(trace), "--metrics", f"{back_end}:*", "--per", "draw", "--json")
    if done.returncode not in (0, 1):
        yield Row("counters", f"{api}: {back_end}", "failed", 0.0, goal=Goal(least=1), note=_last(done))
        return
    query = "SELECT name, count(*) AS draws, count(value) AS known, median(value) AS value, any_value(note) AS note"
    drawn = "seq IN (SELECT draws.seq FROM draws WHERE draws.kind = 'draw')"
    of = f"FROM metrics WHERE per = 'draw' AND {drawn} GROUP BY name ORDER BY name"
    answer = _ask("sql", str(trace), f"{query} {of}", "--json")
    for row in json.loads(answer.stdout):
        name, value = str(row["name"]), row["value"]
        note = f"known for {row['known']} of {row['draws']} draws" + (f"; {row['note']}" if row["note"] else "")
        yield Row("counters", f"{api}: {name}", "median", None if value is None else float(value), note=note)
        if name in truth and value is not None:
            equal = float(value) == truth[name]
            yield Row("proofs", name, "equal", float(equal), goal=Goal(least=1), note=f"{value:g}, truth {truth[name]}")


_PARTS: tuple[tuple[str, Callable[[Setup], Iterator[Row]]], ...] = (
    ("proofs", proofs),
    ("counters", counters),
    ("Table II", ways),
    ("Figure 11", gpu_contention.rows),
    ("capture", costs),
)


def build_programs(setup: Setup) -> None:
    """Compile everything that a run starts into the scratch folder: machines with a GPU may have no compiler."""
    for name in (*(words[0] for words in _PROVED), "gpu_scene", "measured", "many_calls"):
        setup.program(name)
    setup.library("switch")


def run(setup: Setup, console: Console) -> list[Row]:
    """Run every part; one that fails, or that no time is left for, is a row that says so."""
    rows: list[Row] = []
    begun = time.monotonic()
    for name, part in _PARTS:
        if time.monotonic() - begun > _BUDGET_S:
            rows.append(Row(name, "not run", "", note=f"the {_BUDGET_S // 60} minutes are over"))
            continue
        console.print(f"[dim]{name} ...[/]")
        try:
            for row in part(setup):
                rows.append(row)
        except (BenchError, DrawtapError, subprocess.SubprocessError, OSError, ValueError) as error:
            rows.append(Row(name, "failed", "", drawtap=0, goal=Goal(least=1), note=f"{type(error).__name__}: {error}"))
    rows.append(Row("this run", "time", "s", time.monotonic() - begun, goal=Goal(most=_BUDGET_S, unit="s")))
    return rows


# ---- what comes of it ----------------------------------------------------------------------------------------------

_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>
body{{font:15px/1.45 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1c1e21}}
table{{border-collapse:collapse;width:100%}}td,th{{padding:.3rem .6rem;border-bottom:1px solid #ddd;text-align:left;
vertical-align:top}}td.n,td.n+td+td{{white-space:nowrap}}td.n{{text-align:right;font-variant-numeric:tabular-nums}}
.good{{color:#17692e}}.bad{{color:#a8201a;font-weight:600}}h2{{margin-top:2rem}}</style>
<h1>{title}</h1><p>{facts}</p>{tables}</html>"""


def page(title: str, facts: str, rows: Sequence[Row]) -> str:
    """Return the rows as a page of HTML, a table for each group."""
    tables = []
    for group in dict.fromkeys(row.group for row in rows):
        lines = [
            "<tr><td>{}</td><td class=n>{}</td><td>{}</td><td class={}>{}</td><td>{}</td></tr>".format(
                html.escape(row.name),
                "" if row.drawtap is None else f"{row.drawtap:,.4g}",
                html.escape(row.unit),
                {True: "good", False: "bad", None: "none"}[row.met],
                html.escape(str(row.goal)),
                html.escape(row.note),
            )
            for row in rows
            if row.group == group
        ]
        head = "<tr><th></th><th>drawtap</th><th></th><th>goal</th><th>note</th></tr>"
        tables.append(f"<h2>{html.escape(group)}</h2><table>{head}{''.join(lines)}</table>")
    return _PAGE.format(title=html.escape(title), facts=html.escape(facts), tables="".join(tables))


def main(arguments: Sequence[str] | None = None) -> int:
    """Find the GPU, run the parts, print and store what came of it."""
    parser = argparse.ArgumentParser(prog="make gpu", description=(__doc__ or "").split("\n\n", 1)[0])
    parser.add_argument(
        "--software", action="store_true", help="also on a software renderer: proves this program alone"
    )
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--output", type=Path, default=ROOT / "bench" / "results", help="the folder of the results")
    options = parser.parse_args(arguments)
    gpu = find(software=options.software)
    if gpu is None:
        print("there is no GPU here that EGL reaches without a display", file=sys.stderr)
        print("hint: --software runs the same on a software renderer, to try this program", file=sys.stderr)
        return 3
    os.environ["EGL_PLATFORM"] = os.environ["BENCH_EGL_PLATFORM"] = gpu.platform
    console = Console()
    console.print(f"{gpu.renderer}, {gpu.version}, EGL platform {gpu.platform or 'default'!r}")
    with tempfile.TemporaryDirectory(prefix="drawtap-gpu-") as scratch:
        rows = run(Setup(Path(scratch), quick=options.quick), console)
    _print(rows, console)
    facts = {**machine.facts(), "gpu": gpu.renderer, "driver": gpu.version, "platform": gpu.platform}
    stem = "gpu-" + (re.sub(r"[^a-z0-9]+", "-", gpu.renderer.lower()).strip("-")[:60] or "unknown")
    options.output.mkdir(parents=True, exist_ok=True)
    stored = options.output / f"{stem}.json"
    stored.write_text(json.dumps({"machine": facts, "rows": [row.record() for row in rows]}, indent=1))
    stored.with_suffix(".html").write_text(page(f"drawtap on {gpu.renderer}", _facts(facts), rows))
    console.print(f"{stored}, and the page {stored.with_suffix('.html').name}")
    return 1 if any(map(_is_wrong, rows)) else 0


def _facts(facts: Mapping[str, object]) -> str:
    """Return the facts about a machine as a sentence for its page."""
    memory, load = facts["memory_bytes"], facts["load"]
    assert isinstance(memory, int)
    told = {**facts, "memory_bytes": None, "memory": f"{memory / (1 << 30):.1f} GiB", "load": f"{load:.1f}"}
    return ", ".join(f"{key} {value}" for key, value in told.items() if value)


def _print(rows: Sequence[Row], console: Console) -> None:
    # A line each: at 80 columns a table would have no room for what the notes say.
    for group in dict.fromkeys(row.group for row in rows):
        console.print(f"\n[bold]{group}[/]")
        for row in (row for row in rows if row.group == group):
            mark = {True: "[green]✓[/]", False: "[red]✗[/]", None: "·"}[row.met]
            figure = "" if row.unit == "equal" or row.drawtap is None else f" {number(row.drawtap)} {row.unit}"
            goal = "" if row.unit == "equal" or not str(row.goal) else f" ({row.goal})"
            note = f"  [dim]{escape(row.note)}[/]" if row.note else ""
            console.print(f"{mark} {escape(row.name)}{figure}{goal}{note}", highlight=False, soft_wrap=True)


def _is_wrong(row: Row) -> bool:
    # What is measured against a goal is something to read; what is proved, or failed, is a verdict.
    return row.met is False and (row.unit == "equal" or "failed" in (row.name, row.unit) or row.group == "proofs")


if __name__ == "__main__":
    sys.exit(main())
