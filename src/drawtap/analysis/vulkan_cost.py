"""Estimated shader work of Vulkan's draws and dispatches: instructions of SPIR-V times runs.

A run of a shader asks for the instructions of its entry point and of the functions that this one calls. Both sides of a
branch count, and a loop counts once. Runs are those that `drawtap profile -m 'vk:pipeline/*' --per draw` measured.
Without a measurement a vertex shader runs for each vertex or index of each instance. A compute shader then runs for
each invocation of its workgroups. The runs of other stages are not known. The estimate orders draws; it is no time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any

from drawtap.analysis.spirv import entries, may_store
from drawtap.tables.recording import FunctionRow
from drawtap.trace import measured
from drawtap.trace.sql_text import quote_text

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

STAGES = ("vertex", "tess_control", "tess_evaluation", "geometry", "fragment", "compute")
_BITS = dict(zip(
    ("VERTEX", "TESSELLATION_CONTROL", "TESSELLATION_EVALUATION", "GEOMETRY", "FRAGMENT", "COMPUTE"), STAGES,
    strict=True,
))  # fmt: skip
_BETWEEN = STAGES[1:5]
_RUNS = (
    ("vertex", "vertex_shader_invocations"), ("tess_control", "tess_control_patches"),
    ("tess_evaluation", "tess_evaluation_invocations"), ("geometry", "geometry_shader_invocations"),
    ("fragment", "fragment_shader_invocations"), ("compute", "compute_shader_invocations"),
)  # fmt: skip
UNMEASURED = "a measurement of vk:pipeline/* has the runs of its stages"
NO_CODE = "the recording does not have the code of all its shaders"


@dataclass(frozen=True, slots=True)
class ExecutedCost:
    """Instructions of one executed draw or dispatch, by stage; None where `why` says why."""

    seq: int
    submit_seq: int
    frame: int
    function: str
    pipeline: int | None
    by_stage: Mapping[str, int | None]
    total: int | None
    share: float | None
    why: str


# Runs of a stage: measured, or known from the call.
_QUESTION = f"""
WITH made AS (
  SELECT unnest($pipelines::UBIGINT[]) AS pipeline, unnest($made::UBIGINT[]) AS made,
         unnest($whole::BOOLEAN[]) AS whole, unnest($invocations::UBIGINT[]) AS invocations,
         {", ".join(f"unnest(${stage}::UBIGINT[]) AS {stage}_each" for stage in STAGES)}
), runs AS (
  SELECT number, {", ".join(f"max(value) FILTER (metric = 'vk:pipeline/{name}') AS {stage}" for stage, name in _RUNS)}
  FROM (FROM executed_metrics WHERE per = 'draw' AND metric LIKE 'vk:pipeline/%'
        QUALIFY run = max(run) OVER (PARTITION BY number, metric))
  GROUP BY number
), work AS (
  SELECT e.*, coalesce(m.whole, false) AS whole, m.made,
         m.vertex_each * coalesce(r.vertex, e.vertices * coalesce(e.instances, 1)) AS vertex,
         {", ".join(f"m.{stage}_each * r.{stage} AS {stage}" for stage in _BETWEEN)},
         m.compute_each * coalesce(r.compute, e.groups * m.invocations) AS compute,
         {", ".join(f"m.{stage}_each" for stage in STAGES)}
  FROM executed e ASOF LEFT JOIN made m ON m.pipeline = e.pipeline AND m.made <= e.seq
  LEFT JOIN runs r ON r.number = e.number WHERE e.kind IN ('draw', 'dispatch')
), summed AS (
  SELECT *, {" AND ".join(f"({stage}_each IS NULL OR {stage} IS NOT NULL)" for stage in STAGES)} AS known,
         {" + ".join(f"coalesce({stage}, 0)" for stage in STAGES)} AS known_part FROM work
)
SELECT seq, submit_seq, frame, name, pipeline, {", ".join(f"round({stage})::BIGINT" for stage in STAGES)},
       CASE WHEN whole AND known THEN round(known_part)::BIGINT END AS total,
       100 * total / nullif(sum(total) OVER (), 0),
       CASE WHEN NOT whole THEN {quote_text(NO_CODE)} WHEN NOT known THEN {quote_text(UNMEASURED)} ELSE '' END
FROM summed ORDER BY total DESC NULLS LAST, known_part DESC, number LIMIT $most
"""


def executed_costs(trace: Trace, most: int) -> list[ExecutedCost]:
    """Return at most `most` executed draws and dispatches, those with the most work first."""
    given: dict[str, Any] = {"pipelines": [], "made": [], "whole": [], "invocations": []} | {one: [] for one in STAGES}
    codes = {(int(s), int(seq)): None if code is None else bytes(code) for s, seq, code in trace.sql(_CODES).fetchall()}
    sizes = {(int(s), int(seq)): prod(size) or None for s, seq, size in trace.sql(_SIZES).fetchall() if size}
    known = cache(lambda at: entries(codes[at] or b""))
    for pipeline, seq, stages, shaders, info in trace.sql(_PIPELINES).fetchall():
        each: dict[str, int | None] = {}
        invocations = None
        names = _names(info)
        for stage, shader in zip(stages, shaders, strict=False):
            at = max((key for key in codes if key[0] == int(shader) and key[1] < int(seq)), default=None)
            name = _BITS.get(stage.removeprefix("VK_SHADER_STAGE_").removesuffix("_BIT"), "")
            entry = None if at is None else known(at).get((name, names.get(stage, "main")))
            if entry is None:
                each = {}
                break
            each[name] = entry.instructions * (entry.output_vertices or 1)
            invocations = sizes.get(at) if at is not None else None
        given["pipelines"].append(int(pipeline))
        given["made"].append(int(seq))
        given["whole"].append(bool(each))
        given["invocations"].append(invocations)
        for one in STAGES:
            given[one].append(each.get(one))
    rows = trace.sql(_QUESTION, given | {"most": most}).fetchall()
    stages_of = (dict(zip(STAGES, row[5:11], strict=True)) for row in rows)
    return [
        ExecutedCost(row[0], row[1], row[2], row[3], row[4], by_stage, row[11], row[12], row[13])
        for row, by_stage in zip(rows, stages_of, strict=True)
    ]


# Draws of which no execution had a sample that passed; one execution without a count says nothing.
_HIDDEN = """
SELECT e.seq, list(DISTINCT e.pipeline) FROM executed e
LEFT JOIN (FROM executed_metrics WHERE per = 'draw' AND metric = 'vk:samples/samples_passed'
           QUALIFY run = max(run) OVER (PARTITION BY number)) m ON m.number = e.number
WHERE e.kind = 'draw' GROUP BY e.seq HAVING count(m.value) = count(*) AND max(m.value) = 0 ORDER BY e.seq
"""
_COUNTING = re.compile("vkCmdBegin(Query|TransformFeedback)")


def hidden_draws(trace: Trace) -> list[int]:
    """Return the calls of draws of which no sample passed, where `drawtap profile` counted them, and that only draw.

    Draws whose shaders may store are not among them. Where the program counts or captures, none is.
    """
    if not measured.files(trace.path) or any(
        _COUNTING.match(row["name"]) for row in trace.table(FunctionRow) if row["calls"]
    ):
        return []
    codes = {(int(s), int(seq)): None if code is None else bytes(code) for s, seq, code in trace.sql(_CODES).fetchall()}
    stores = cache(lambda at: may_store(codes[at] or b""))
    only_draw: dict[int, bool] = {}
    for pipeline, seq, _, shaders, _ in trace.sql(_PIPELINES).fetchall():
        lives = [max((key for key in codes if key[0] == int(s) and key[1] < int(seq)), default=None) for s in shaders]
        plain = bool(lives) and all(at is not None and not stores(at) for at in lives)
        only_draw[int(pipeline)] = plain and only_draw.get(int(pipeline), True)
    return [
        int(seq)
        for seq, pipelines in trace.sql(_HIDDEN).fetchall()
        if all(only_draw.get(pipeline, False) for pipeline in pipelines)
    ]


_CODES = "SELECT shader, seq, code FROM shaders"
_SIZES = "SELECT shader, seq, workgroup FROM shaders"
_PIPELINES = "SELECT pipeline, seq, stages, shaders, info FROM pipelines ORDER BY seq, pipeline"


def _names(info: str | None) -> dict[str, str]:
    """Return the names of a pipeline's entry points, by stage."""
    told = json.loads(info or "{}")
    listed = [*(told.get("pStages") or ()), told.get("stage")]
    return {one["stage"]: str(one["pName"]) for one in listed if isinstance(one, dict) and one.get("pName")}
