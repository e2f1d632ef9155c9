"""Run the benchmarks: `python -m bench [--quick] [--only capture,files]`, or `python -m bench exact`,
`python -m bench extract`, `python -m bench findings`, `python -m bench foreign` and `python -m bench setup`."""

from __future__ import annotations

import argparse
import compileall
import functools
import json
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

from rich.console import Console

from bench import (
    capture,
    checklist,
    corpus,
    exact,
    extract,
    figure11,
    figure39,
    files,
    findings,
    foreign,
    glmark,
    instructions,
    kernel_cost,
    kernel_model,
    kernel_page,
    kernel_reading,
    kill,
    limiter,
    live,
    machine,
    manager,
    profile,
    reading,
    replay,
    ring,
    setting_up,
    slowdown,
    state,
    stream,
    table2,
    view,
    vulkan,
)
from bench.measure import BenchError
from bench.row import Row, print_table
from bench.setup import ROOT, Setup

GROUPS: dict[str, Callable[[Setup], Iterator[Row]]] = {
    "capture": capture.rows,
    "threads": capture.threads,
    "instructions": instructions.rows,
    "uploads": capture.uploads,
    "start": capture.start,
    "files": files.rows,
    "glmark2": glmark.rows,
    "kernel": kernel_model.rows,
    "page": kernel_page.rows,
    "systemcost": kernel_cost.rows,
    "system": kernel_reading.rows,
    "kill": kill.rows,
    "stream": stream.rows,
    "ring": ring.rows,
    "reading": reading.rows,
    "checklist": checklist.rows,
    "state": state.rows,
    "replay": replay.rows,
    "extract": extract.rows,
    "profile": profile.rows,
    "figure39": figure39.rows,
    "livecost": live.rows,
    "limiter": limiter.rows,
    "table2": table2.rows,
    "figure11": figure11.rows,
    "manager": manager.rows,
    "view": view.rows,
    "corpus": corpus.rows,
    "slowdown": slowdown.rows,
    "vulkan": vulkan.rows,
}

# Groups that run only where they are named: they compile everything anew.
ALONE: dict[str, Callable[[Setup], Iterator[Row]]] = {"setup": setting_up.rows}

# Names that stand for several groups.
TOGETHER = {"live": ("livecost", "limiter", "table2", "figure11", "manager")}
_WIDTH = 150


def main(arguments: list[str] | None = None) -> int:
    """Measure, print the table, store the figures. Returns 0 whatever they are; 1 where something did not run.

    The figures are stored after each group. A group that fails is named, and the next one follows.
    """
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] == ["exact"]:
        return exact.main(words[1:])
    if words[:1] == ["extract"]:
        return extract.main(words[1:])
    if words[:1] == ["foreign"]:
        return foreign.main(words[1:])
    if words[:1] == ["findings"]:
        return findings.main(words[1:])
    if words[:1] == ["setup"]:
        words = ["--only", "setup", *words[1:]]
    options = _parser().parse_args(words)
    chosen = _chosen(options.only)
    source = str(ROOT / "src")
    if source not in os.environ.get("PYTHONPATH", "").split(os.pathsep):
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    # As a package that is installed: no command compiles its modules anew where the environment forbids to keep them.
    compileall.compile_dir(Path(source) / "drawtap", quiet=1)
    progress = Console(stderr=True)
    # Into a file or a pipe: as wide as the table needs.
    console = Console() if sys.stdout.isatty() else Console(width=_WIDTH)
    rows: list[Row] = []
    failed: list[str] = []
    started = time.monotonic()
    about = machine.facts()
    target = options.output or ROOT / "bench" / "results" / f"{date.today().isoformat()}.json"
    store = functools.partial(_store, target, rows, about, failed, options.quick, started)
    with tempfile.TemporaryDirectory(prefix="drawtap-bench-") as folder:
        setup = Setup(Path(folder), options.quick)
        try:
            for name in chosen:
                with progress.status(name):
                    failed += _measure({**GROUPS, **ALONE}[name](setup), name, rows)
                store()
        except KeyboardInterrupt:
            failed.append("interrupted")
    print_table(rows, console)
    _explain(console, setup, about)
    for problem in failed:
        progress.print(f"not measured: {problem}", style="red", markup=False, highlight=False)
    seconds = store()
    console.print(f"{len(rows)} figures in {seconds:.0f} s, stored in {target}", highlight=False)
    return 1 if failed else 0


def _measure(group: Iterator[Row], name: str, rows: list[Row]) -> list[str]:
    # Row by row, so that what was measured stays when something breaks.
    try:
        for row in group:
            rows.append(row)
    except BenchError as error:
        return [f"{name}: {error}"]
    except Exception as error:  # of a fault in the group itself: the other groups have figures all the same
        traceback.print_exc()
        said = getattr(error, "stderr", None) or ""  # of a program that ended otherwise than it should
        last = (said if isinstance(said, str) else said.decode(errors="replace")).strip()[-500:]
        return [f"{name}: {type(error).__name__}: {error}{f': {last}' if last else ''}"]
    return []


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description="What drawtap costs, beside apitrace.")
    parser.add_argument("--quick", action="store_true", help="shorter runs: two minutes instead of fifteen")
    parser.add_argument("--only", metavar="GROUPS", help=f"some of: {','.join([*GROUPS, *ALONE])}")
    parser.add_argument("--output", type=Path, help="where the JSON goes (default: bench/results/DATE.json)")
    return parser


def _chosen(only: str | None) -> list[str]:
    names = [name.strip() for name in only.split(",")] if only else list(GROUPS)
    names = [part for name in names for part in TOGETHER.get(name, (name,))]
    unknown = [name for name in names if name not in {**GROUPS, **ALONE}]
    if unknown:
        sys.exit(f"no group {', '.join(unknown)}; there are: {', '.join([*GROUPS, *ALONE])}")
    return names


def _explain(console: Console, setup: Setup, about: dict[str, object]) -> None:
    if not setup.apitrace:
        console.print("apitrace is not installed: only drawtap's own figures (Debian package: apitrace)")
    console.print(
        "Where there is a native figure, drawtap's and apitrace's are what they add to it. Ratio: apitrace's figure by "
        f"drawtap's. {about['processor']}, {about['cores']} cores, load {about['load']:.1f} before.",
        highlight=False,
    )


def _store(
    path: Path, rows: list[Row], about: dict[str, object], failed: list[str], quick: bool, started: float
) -> float:
    """Write what is measured until now, in place of what was there, and return the seconds that it took."""
    seconds = time.monotonic() - started
    about = about | {"quick": quick, "seconds": round(seconds)}
    content = {"machine": about, "rows": [row.record() for row in rows], "not_measured": failed}
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_text(json.dumps(content, indent=1) + "\n")
    part.replace(path)
    return seconds


if __name__ == "__main__":
    sys.exit(main())
