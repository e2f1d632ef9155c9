"""Views of the attributes that programs of OpenGL read, where a recording tells all of their places.

A program has two ways to tell them: questions behind its link, or declarations and glBindAttribLocation before it.
"""

from __future__ import annotations

# The program asked for all names, types and places behind its one link. Matrices take the places behind theirs, too.
_ASKED = """
SELECT n.program, n.name, l.location, n.size * CASE
    WHEN n.type IN (GL_FLOAT_MAT2, GL_FLOAT_MAT2x3, GL_FLOAT_MAT2x4) THEN 2
    WHEN n.type IN (GL_FLOAT_MAT3, GL_FLOAT_MAT3x2, GL_FLOAT_MAT3x4) THEN 3
    WHEN n.type IN (GL_FLOAT_MAT4, GL_FLOAT_MAT4x2, GL_FLOAT_MAT4x3) THEN 4 ELSE 1 END AS taken
FROM (SELECT DISTINCT a.program, a.name, regexp_extract(a.type::VARCHAR, '[0-9]+')::BIGINT AS type,
          regexp_extract(a.size::VARCHAR, '[0-9]+')::BIGINT AS size
      FROM "glGetActiveAttrib" a WHERE a.type IS NOT NULL AND a.size IS NOT NULL) n
JOIN (SELECT DISTINCT o.program, o.name, o.result AS location FROM "glGetAttribLocation" o WHERE o.result >= 0) l
  ON l.program = n.program AND l.name = n.name
JOIN linked_once once ON once.program = n.program
"""

_ACTIVE = """
SELECT g.program, max_by(('0x' || substr(hex(g.params_data), 1, 2))::INTEGER, g.seq) AS active
FROM "glGetProgramiv" g WHERE g.pname_value = GL_ACTIVE_ATTRIBUTES AND g.params_data IS NOT NULL GROUP BY g.program
"""

# The sources of the program's vertex shaders declare them, each with a layout or with glBindAttribLocation. A macro
# that declares attributes, or one that the specification aliases with a place (gl_Vertex), leaves the places open.
_DECLARED = r"""
WITH attached AS (
    SELECT DISTINCT l.program, l.seq AS link, a.shader
    FROM linked_once l JOIN "glAttachShader" a ON a.program = l.program AND a.seq < l.seq
), known AS (
    SELECT a.program, a.link, s.shader, s.stage, regexp_replace(regexp_replace(s.source,
        '(?s:/\*.*?\*/)|//[^\n]*', ' ', 'g'), '#\s*define\s+(attribute\s+in|in\s+attribute)\b', ' ', 'g') AS source
    FROM attached a ASOF LEFT JOIN sources s ON s.shader = a.shader AND s.seq <= a.link
), whole AS (
    SELECT k.program FROM known k GROUP BY k.program
    HAVING bool_and(k.source IS NOT NULL AND k.stage IS NOT NULL) AND bool_or(k.stage = GL_VERTEX_SHADER)
       AND NOT bool_or(k.stage = GL_VERTEX_SHADER AND regexp_matches(k.source,
           '#\s*define\b[^\n]*\b(in|attribute)\b|\bgl_(Vertex|Normal|Color|SecondaryColor|MultiTexCoord|FogCoord)'))
), declared AS (
    SELECT k.program, k.link, unnest(regexp_extract_all(k.source,
        '(?:layout\s*\([^)]*\)\s*)?\b(?:in|attribute)\s[^;(){}]*;')) AS words
    FROM known k JOIN whole w ON w.program = k.program WHERE k.stage = GL_VERTEX_SHADER
), named AS (
    SELECT d.program, d.link, d.words, regexp_extract(d.words,
        '\b(?:in|attribute)\s+(?:\w+p\s+)?(?:float|u?int|[iu]?vec[234]|mat[234])\s+(\w+)\s*;$', 1) AS name
    FROM declared d
), bound AS (
    SELECT n.program, n.name, max_by(b.index, b.seq) AS location
    FROM named n JOIN "glBindAttribLocation" b ON b.program = n.program AND b.name = n.name AND b.seq < n.link
    GROUP BY ALL
)
SELECT w.program, n.name,
       coalesce(TRY_CAST(regexp_extract(n.words, 'location\s*=\s*(\d+)', 1) AS BIGINT), b.location) AS location,
       coalesce(TRY_CAST(regexp_extract(n.words, '\bmat([234])', 1) AS BIGINT), 1) AS taken
FROM whole w LEFT JOIN named n ON n.program = w.program
LEFT JOIN bound b ON b.program = n.program AND b.name = n.name
"""

# A place that a program reads, once for each; NULL where it reads none.
_PLACE = """
WITH asked AS (
    SELECT c.program FROM active_attributes c
    JOIN (SELECT n.program, count(*) AS named FROM asked_attributes n GROUP BY n.program) n ON n.program = c.program
    WHERE n.named = c.active
), declared AS (
    SELECT d.program FROM declared_attributes d WHERE NOT EXISTS (FROM asked a WHERE a.program = d.program)
    GROUP BY d.program HAVING bool_and(d.name IS NULL OR (d.name <> '' AND d.location IS NOT NULL))
)
SELECT a.program, n.location, n.taken FROM asked a JOIN asked_attributes n ON n.program = a.program
UNION ALL
SELECT d.program, n.location, n.taken FROM declared d JOIN declared_attributes n ON n.program = d.program
"""

_LINKED = """
SELECT k.program, min(k.seq) AS seq FROM "glLinkProgram" k GROUP BY k.program HAVING count(*) = 1
"""

VIEWS = {
    "linked_once": _LINKED,
    "asked_attributes": _ASKED,
    "active_attributes": _ACTIVE,
    "declared_attributes": _DECLARED,
    "attribute_places": _PLACE,
}
