"""The use of the time of calls.

A driver may put drawing off. The call that waits then takes as long as all that was drawn before it. Such a call is
divided: what the same function takes where nothing was drawn before it is its own, the rest is drawing. Where the
recording has no such call, waits and flushes have no work of their own. A copy or a mipmap that follows draws mixes its
own work with theirs. Without another such call to compare with, its time has a part of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

#: Parts of the time of calls. Each call belongs to one, a call that waited for drawing to two.
DRAWS, VERTICES = "draws and clears", "vertices given one by one"
DRAWN, UNCLEAR = "waits for what was drawn", "mipmaps and copies that follow draws"
COPIES, UPLOADS, MAPS = "mipmaps and copies", "uploads", "maps of buffers"
BINDS, UNIFORMS, MATRICES, TARGETS = "binds", "uniforms", "matrix operations", "framebuffer binds"
STATE, COMPILES, WAITS, SHOW = "other state", "compiles and links", "waits and read-backs", "showing the frame"
ASKS, OBJECTS, CONTEXTS, OTHER = "questions", "made and deleted objects", "contexts", "other calls"
#: Beside the calls: the program itself.
OUTSIDE = "outside of the API"
PARTS = (
    DRAWS, VERTICES, DRAWN, UNCLEAR, COPIES, UPLOADS, MAPS, BINDS, UNIFORMS, MATRICES, TARGETS, STATE, COMPILES, WAITS,
    SHOW, ASKS, OBJECTS, CONTEXTS, OTHER, OUTSIDE,
)  # fmt: skip

_VERTEX = (
    "^gl(Begin|End|Vertex[234]|Color[34]|SecondaryColor3|Normal3|TexCoord[1-4]|MultiTexCoord[1-4]|FogCoord[dfh]|"
    "Index[dfisu]|EdgeFlag$|ArrayElement|EvalCoord|EvalPoint|VertexAttrib(I|L|P|s|Nub|Ns)?[1-4])"
)
_MATRIX = (
    "^(gl|vg)(LoadIdentity|LoadMatrix|MultMatrix|LoadTransposeMatrix|MultTransposeMatrix|Rotate|Scale[dfx]|Scale$|"
    "Translate|Shear|Frustum|Ortho|PushMatrix|PopMatrix|"
    "Matrix(Load|Mult|Rotate|Scale|Translate|Ortho|Frustum|Push|Pop))"
)

# The part of every function that was called. The longer conditions stand before those that they are part of.
_FUNCTIONS = f"""
SELECT f.id, f.name, CASE
    WHEN regexp_matches(f.name, '{_VERTEX}') AND EXISTS (SELECT 1 FROM functions b WHERE b.name = 'glBegin')
      THEN '{VERTICES}'
    WHEN regexp_matches(f.name, '^gl(Generate(Texture)?Mipmap|Copy|Blit)') THEN '{COPIES}'
    WHEN f.category IN ('draw', 'clear', 'dispatch') OR regexp_matches(f.flags, '(^|,)(draw|clear|dispatch)(,|$)')
      THEN '{DRAWS}'
    WHEN contains(f.flags, 'frame_end') THEN '{SHOW}'
    WHEN regexp_matches(f.name, '^gl(Compile|Link|ShaderSource|ShaderBinary|CreateProgram|CreateShader|ProgramBinary|'
                                'ProgramString|Specialize)') THEN '{COMPILES}'
    WHEN starts_with(f.name, 'glUniform') OR starts_with(f.name, 'glProgramUniform') THEN '{UNIFORMS}'
    WHEN f.category IN ('map', 'unmap') OR regexp_matches(f.flags, '(^|,)(map|unmap)(,|$)') THEN '{MAPS}'
    WHEN contains(f.flags, 'upload') THEN '{UPLOADS}'
    WHEN regexp_matches(f.name, '^gl(FenceSync|WaitSync|IsSync|DeleteSync)') THEN '{OTHER}'
    WHEN regexp_matches(f.flags, '(^|,)(finish|sync|readback|flush)(,|$)')
      OR regexp_matches(f.name, '^gl(ClientWaitSync|GetQueryObject|GetQueryBufferObject|GetTexImage)') THEN '{WAITS}'
    WHEN starts_with(f.name, 'glBindFramebuffer') THEN '{TARGETS}'
    WHEN regexp_matches(f.name, '^gl(Bind|UseProgram|ActiveTexture|ClientActiveTexture)') THEN '{BINDS}'
    WHEN regexp_matches(f.name, '{_MATRIX}') THEN '{MATRICES}'
    WHEN f.category IN ('make_current', 'context') THEN '{CONTEXTS}'
    WHEN f.category IN ('error_query', 'lookup') OR regexp_matches(f.name, '^(gl|egl|glX|vg)(Get|Is|Query)[A-Z]')
      THEN '{ASKS}'
    WHEN regexp_matches(f.name, '^(gl|vg)(Gen|Create|Delete|Destroy)[A-Z]') THEN '{OBJECTS}'
    WHEN f.category = 'state' THEN '{STATE}' ELSE '{OTHER}' END AS part
FROM functions f WHERE f.calls > 0
"""

# For calls that may have to wait: whether anything was drawn since a call of their kind last waited. A wait ends all
# that was drawn before it, a copy what its own texture needs: for a copy any call that may have waited counts.
_QUESTION = f"""
WITH parts AS ({_FUNCTIONS}),
steps AS (
    SELECT c.seq, c.thread, p.name, p.part, p.part IN ('{DRAWS}', '{COPIES}') OR p.name = 'glEnd' AS draws,
           p.part IN ('{WAITS}', '{COPIES}', '{TARGETS}') AS may_wait
    FROM calls c JOIN parts p ON p.id = c.fn WHERE p.part IN ('{DRAWS}', '{COPIES}', '{WAITS}', '{TARGETS}')
       OR p.name = 'glEnd'
), counted AS (
    SELECT s.*, count(*) FILTER (s.draws) OVER w - s.draws::INT AS drawn
    FROM steps s WINDOW w AS (PARTITION BY s.thread ORDER BY s.seq ROWS UNBOUNDED PRECEDING)
), waiting AS (
    SELECT w.seq, w.name, w.part, w.drawn > coalesce(CASE WHEN w.part = '{WAITS}'
        THEN max(w.drawn) FILTER (w.part = '{WAITS}') OVER before ELSE max(w.drawn + w.draws::INT) OVER before END, 0)
        AS follows
    FROM counted w WHERE w.may_wait
    WINDOW before AS (PARTITION BY w.thread ORDER BY w.seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), timed AS ({{timed}}),
own AS (
    SELECT w.name, CASE WHEN w.part = '{COPIES}' THEN median(t.ns) FILTER (NOT w.follows)
        ELSE coalesce(median(t.ns) FILTER (NOT w.follows), 0) END AS ns
    FROM waiting w JOIN timed t ON t.seq = w.seq GROUP BY w.name, w.part
), told AS (
    SELECT t.seq, t.frame, p.name, t.ns, p.part, coalesce(w.follows, false) AS follows, o.ns AS own
    FROM timed t JOIN calls c ON c.seq = t.seq JOIN parts p ON p.id = c.fn
    LEFT JOIN waiting w ON w.seq = t.seq LEFT JOIN own o ON o.name = w.name
), divided AS (
    SELECT d.seq, d.frame, d.name, CASE WHEN d.follows AND d.own IS NULL THEN '{UNCLEAR}' ELSE d.part END AS part,
           CASE WHEN d.follows THEN least(d.ns, coalesce(d.own, d.ns)) ELSE d.ns END AS ns FROM told d
    UNION ALL SELECT e.seq, e.frame, e.name, '{DRAWN}', e.ns - e.own FROM told e WHERE e.follows AND e.ns > e.own
)
"""

# Calls that follow each other at once show what the recorder takes between two; more, where it begins a new chunk.
_RECORDED = """
WITH gaps AS (
    SELECT c.frame, c.thread, c.t_start, c.t_start - lag(c.t_end) OVER (PARTITION BY c.thread ORDER BY c.seq) AS ns
    FROM calls c WHERE c.frame IS NOT NULL
), borders AS (
    SELECT g.frame, g.ns, median(g.ns) OVER () AS usual, count(*) OVER () AS borders
    FROM gaps g JOIN chunks k ON k.thread = g.thread AND k.t_first = g.t_start WHERE k.type = 'calls' AND g.ns > 0
), least_gap AS (SELECT least(coalesce(quantile_cont(g.ns, 0.1), 0), {most}) AS ns FROM gaps g WHERE g.ns >= 0)
SELECT frame, sum(ns)::DOUBLE FROM (
    SELECT g.frame, least(greatest(g.ns, 0), l.ns) AS ns FROM gaps g, least_gap l WHERE g.ns IS NOT NULL {main}
    UNION ALL SELECT b.frame, least(b.ns, 2 * b.usual) FROM borders b WHERE b.borders >= 8
) GROUP BY frame
"""


_SHORT = """
SELECT count(*), median(g.duration), median(g.gap), count(DISTINCT g.frame) FROM (
    SELECT c.frame, c.duration, c.t_start - lag(c.t_end) OVER (PARTITION BY c.thread ORDER BY c.seq) AS gap
    FROM calls c WHERE c.duration IS NOT NULL AND c.frame IS NOT NULL {main}
) g WHERE g.gap >= 0
"""
_MANY_CALLS = 1000  # in a frame, as a mean


_MOST_GAP_NS = 100  # the recorder takes less between two calls: a longer gap is the program's

Times = Mapping[int, Mapping[str, float]]


@dataclass(frozen=True)
class Spent:
    """Nanoseconds by frame and part; `redundant`: those of redundant calls; `functions`: by part and name."""

    frames: Times
    redundant: Times
    functions: Mapping[str, Mapping[str, float]]


def spent(trace: Trace, thread: int | None = None) -> Spent:
    """Return what the calls of a recording took when it was made, those of one thread, or of all."""
    main = "" if thread is None else f"AND k.thread = {int(thread)}"
    timed = (
        "SELECT k.seq, k.frame, k.duration::DOUBLE AS ns FROM calls k "
        f"WHERE k.duration IS NOT NULL AND k.frame IS NOT NULL {main}"
    )
    return _asked(trace, timed, {})


def spent_of(trace: Trace, calls: Mapping[int, float]) -> Spent:
    """Return what calls took of which the times were measured elsewhere: ns by seq."""
    if not calls:
        return Spent({}, {}, {})
    timed = (
        "SELECT m.seq, k.frame, m.ns FROM (SELECT unnest($seqs::UBIGINT[]) AS seq, unnest($ns::DOUBLE[]) AS ns) m "
        "JOIN calls k ON k.seq = m.seq WHERE k.frame IS NOT NULL"
    )
    return _asked(trace, timed, {"seqs": list(calls), "ns": list(calls.values())})


def recording(trace: Trace, thread: int | None = None) -> dict[int, float]:
    """Return what the recorder took between the calls of each frame, in ns: an estimate, rather too low."""
    main = "" if thread is None else f"AND g.thread = {int(thread)}"
    question = _RECORDED.format(main=main, most=_MOST_GAP_NS)
    return {int(frame): float(ns) for frame, ns in trace.sql(question)}


def short_calls(trace: Trace, thread: int | None = None) -> str:
    """Say that time outside of the API may be time of calls, "" where calls are long, or few.

    A thread that loses the processor loses it as likely between two calls as in one where calls take no longer than
    what lies between them.
    """
    main = "" if thread is None else f"AND c.thread = {int(thread)}"
    [(calls, took, gap, frames)] = trace.sql(_SHORT.format(main=main)).fetchall()
    if not calls or int(calls) < _MANY_CALLS * int(frames) or float(took) > 2 * float(gap):
        return ""
    return (
        "calls are as short as the time between them. If the program loses the processor between two calls, this time "
        "counts as outside of the API: the recording cannot tell it from the program's own work"
    )


def main_thread(trace: Trace) -> int | None:
    """Return the thread that shows the most frames, None where none does."""
    rows = trace.sql(
        "SELECT c.thread FROM calls c JOIN functions f ON f.id = c.fn WHERE contains(f.flags, 'frame_end') "
        "GROUP BY c.thread ORDER BY count(*) DESC LIMIT 1"
    ).fetchall()
    return int(rows[0][0]) if rows else None


def _asked(trace: Trace, timed: str, given: dict[str, object]) -> Spent:
    from drawtap.errors import DrawtapError

    frames: dict[int, dict[str, float]] = {}
    redundant: dict[int, dict[str, float]] = {}
    functions: dict[str, dict[str, float]] = {}
    question = _QUESTION.format(timed=timed)
    for frame, part, name, ns in trace.sql(question + _SUMS, given):
        table = frames.setdefault(int(frame), {})
        table[str(part)] = table.get(str(part), 0.0) + float(ns)
        names = functions.setdefault(str(part), {})
        names[str(name)] = names.get(str(name), 0.0) + float(ns)
    try:
        for frame, part, ns in trace.sql(question + _REDUNDANT, given):
            redundant.setdefault(int(frame), {})[str(part)] = float(ns)
    except DrawtapError:  # the graph of calls is not always to be had: then none is known to be redundant
        redundant = {}
    return Spent(frames, redundant, functions)


_SUMS = "SELECT frame, part, name, sum(ns)::DOUBLE FROM divided GROUP BY ALL"
_REDUNDANT = "SELECT frame, part, sum(ns)::DOUBLE FROM divided JOIN redundancy r USING (seq) GROUP BY ALL"
