"""The shaders of a program: sources, what they were compiled for, and how long that took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from drawtap.trace.snapshot import Snapshot
from drawtap.units import as_int

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

_STAGES = {
    35633: "vertex", 35632: "fragment", 36313: "geometry", 36488: "tessellation control",
    36487: "tessellation evaluation", 37305: "compute",
}  # fmt: skip
_MOST_CHARACTERS = 60_000


@dataclass(frozen=True)
class Shader:
    """One source that was given to a shader. `compile_ns` is None where it was not compiled, or not timed."""

    name: int
    seq: int
    stage: str
    source: str
    lines: int
    compile_ns: int | None
    programs: Sequence[int]


_SOURCES = """
SELECT s.seq, s.shader, c.type_value AS stage, k.seq AS compiled, k.duration AS ns
FROM "glShaderSource" s
ASOF LEFT JOIN (SELECT c.seq, c.result, c.type_value FROM "glCreateShader" c) c
  ON c.result = s.shader AND c.seq <= s.seq
ASOF LEFT JOIN (SELECT k.seq, k.shader, k.duration FROM "glCompileShader" k) k
  ON k.shader = s.shader AND k.seq >= s.seq
ORDER BY s.seq
"""
_ATTACHED = 'SELECT a.seq, a.shader, a.program FROM "glAttachShader" a ORDER BY a.seq'


def shaders(trace: Trace, *, most: int) -> list[Shader]:
    """Return at most `most` shader sources, in order."""
    with Snapshot(trace, [_SOURCES, _ATTACHED]) as snapshot:
        sources = snapshot.ask(_SOURCES)[1]
        attached = snapshot.ask(_ATTACHED)[1]
    ends: dict[object, int] = {}  # of a name, the call that gives it another source
    compiled = []
    for seq, shader, stage, _compiled, ns in reversed(sources[:most]):
        first, end = as_int(seq), ends.get(shader, 1 << 62)
        ends[shader] = first
        source = _source(trace, first)
        programs = [as_int(p) for at, s, p in attached if s == shader and first <= as_int(at) < end]
        compiled.append(
            Shader(
                as_int(shader),
                first,
                _STAGES.get(as_int(stage), ""),
                source,
                source.count("\n") + 1,
                None if ns is None else as_int(ns),
                list(dict.fromkeys(programs)),
            )
        )
    return compiled[::-1]


def _source(trace: Trace, seq: int) -> str:
    strings = trace.calls[seq].args.get("string")
    whole = "".join(str(s) for s in strings) if isinstance(strings, list) else str(strings or "")
    return whole.rstrip("\0") if len(whole) <= _MOST_CHARACTERS else whole[:_MOST_CHARACTERS] + "\n…"
