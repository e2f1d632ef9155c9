"""How large traces are."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence

from bench.glmark import texture_scene
from bench.measure import Variant
from bench.row import Goal, Row
from bench.setup import Setup


def rows(setup: Setup) -> Iterator[Row]:
    """Measure file sizes of regular calls, irregular calls and glmark2's texture scene."""
    calls = 500_000 if setup.quick else 1_000_000
    rounds = 2 if setup.quick else 5
    variants = [variant for variant in setup.variants() if variant.name != "native"]
    for mode, name, ratio in (
        ("enable", "glEnable", 8.0), ("uniform", "glUniform4f", 8.0), ("mat4", "glUniformMatrix4fv", 8.0),
        ("state", "state calls", 8.0), ("rand", "irregular calls", 1.5),
    ):  # fmt: skip
        yield _row(variants, [setup.program("many_calls"), mode, str(calls), str(rounds)], name, ratio)
    if shutil.which("glmark2-es2"):
        frames = 20_000 if setup.quick else 60_000
        with setup.display() as environment:
            shown = [v for v in setup.variants(environment=environment) if v.name != "native"]
            sizes = {v.name: v.run(texture_scene(frames)).trace_bytes / 1e6 for v in shown}
        note = f"{frames:,} frames"
        yield Row("files", "glmark2-es2 texture", "MB", sizes["drawtap"], sizes.get("apitrace"), None, Goal(2), note)


def _row(variants: Sequence[Variant], program: Sequence[str], name: str, ratio: float) -> Row:
    runs = {variant.name: variant.run(program) for variant in variants}
    per_call = {name: run.trace_bytes / run.calls for name, run in runs.items()}
    note = f"{runs['drawtap'].calls:,} calls, whole file"
    return Row("files", name, "bytes/call", per_call["drawtap"], per_call.get("apitrace"), None, Goal(ratio), note)
