"""Texture reads of each run of a fragment shader, by its text, if every run reads equally often."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drawtap.analysis import glsl
from drawtap.errors import DrawtapError

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


class NotTold(DrawtapError):
    """Say why a text does not tell it."""


def fetches(source: str) -> int:
    """Return how many texture reads each run of a shader does. Raises NotTold where runs may differ."""
    cost = glsl.cost(source)
    if cost.fetches and (cost.branches or cost.unbounded or cost.discards):
        raise NotTold("its shader branches, loops without plain bounds or discards: runs may read differently often")
    return cost.fetches


def of_programs(trace: Trace) -> dict[int, int | str]:
    """Return the reads of a run of each program's fragment shader by the program's name, or why they are not told."""
    from drawtap.analysis.shaders import shaders

    sources: dict[int, list[str]] = {}
    for shader in shaders(trace, most=1 << 20):
        if shader.stage == "fragment":
            for program in shader.programs:
                sources.setdefault(program, []).append(shader.source)
    reads: dict[int, int | str] = {}
    for program, texts in sources.items():
        try:
            counts = {fetches(text) for text in texts}
        except NotTold as error:
            reads[program] = str(error)
        else:
            reads[program] = counts.pop() if len(counts) == 1 else "it had several fragment shaders"
    return reads
