"""Views that several rules ask: frames past the first, draws with the state that decides their cost, uploads, lives.

Each is plain SQL over the tables of a trace, computed once for all the rules that mention it (`trace.snapshot`).
In joins every column is named with its table: a function that was never called is a table without known columns.
"""

from __future__ import annotations

from collections.abc import Mapping

from drawtap.analysis import attributes
from drawtap.analysis.enumerants import numbered
from drawtap.analysis.indices import INDEX_ENDS
from drawtap.trace.snapshot import Computed

# Frames that are shown, without those up to the first that draws: that is where programs load what they need.
_STEADY = """
SELECT frame, first_seq, end_seq, calls, draws, upload_bytes, t_start, t_end, duration,
       coalesce("interval", duration) AS time
FROM frames WHERE end_function IS NOT NULL
  AND frame > coalesce((SELECT min(f.frame) FROM frames f WHERE f.draws > 0), 0)
"""

# Where display lists begin and end, and whether what stands between is only kept: GL_COMPILE draws nothing.
_LIST = """
SELECT n.seq, n.context, n.mode_value = GL_COMPILE AS keeps FROM "glNewList" n
UNION ALL SELECT e.seq, e.context, false FROM "glEndList" e
"""

_DRAW = """
SELECT d.* EXCLUDE (category) FROM (
    SELECT c.seq, c.frame, c.context, c.thread, f.name, c.duration, f.category
    FROM calls c JOIN functions f ON f.id = c.fn WHERE f.category = 'draw') d
ASOF LEFT JOIN lists l ON l.context = d.context AND l.seq <= d.seq WHERE NOT coalesce(l.keeps, false)
"""

_CLEAR = """
SELECT c.seq, c.frame, c.context, c.mask_value AS mask FROM "glClear" c
"""

# The capabilities that glEnable and glDisable switch, in order.
_TOGGLE = """
SELECT e.seq, e.context, e.cap_value AS cap, true AS is_on FROM "glEnable" e
UNION ALL SELECT d.seq, d.context, d.cap_value, false FROM "glDisable" d
"""

# The framebuffer that draws go to, from a call on.
_TARGET = """
SELECT b.seq, b.frame, b.context, b.framebuffer
FROM "glBindFramebuffer" b WHERE b.target_value IN (GL_FRAMEBUFFER, GL_DRAW_FRAMEBUFFER)
"""

_DRAWN = """
SELECT d.seq, d.frame::BIGINT AS frame, d.context, d.function AS name, d.framebuffer, d.program, d.depth_test,
       d.blend, d.depth_write, d.textures, d.width, d.height, d.vertices, d.instances, d.indexed,
       d.indirect, d.mode, d.client_bytes
FROM draws d WHERE d.kind = 'draw' AND d.function NOT LIKE 'vg%'
"""

# The texture that an upload, a parameter or a draw means: per context, unit and target, from a call on to another.
_UNIT = """
SELECT a.seq, a.context, a.texture_value - GL_TEXTURE0 AS unit FROM "glActiveTexture" a
"""

_BOUND_TEXTURE = """
SELECT b.seq, b.context, coalesce(u.unit, 0) AS unit, b.target_value AS target, b.texture,
       lead(b.seq) OVER (PARTITION BY b.context, coalesce(u.unit, 0), b.target_value ORDER BY b.seq) AS until
FROM "glBindTexture" b ASOF LEFT JOIN texture_units u ON u.context = b.context AND u.seq <= b.seq
"""

_IMAGE = """
SELECT a.seq, a.frame, a.context, a.duration, 'glTexImage2D' AS function, a.target_value AS target, a.level,
       a.width::BIGINT AS width, a.height::BIGINT AS height, 1 AS depth,
       a.internalformat::VARCHAR AS internalformat, a.format::VARCHAR AS format, a.type::VARCHAR AS type,
       a.pixels_bytes::BIGINT AS bytes, a.pixels_blob::VARCHAR AS blob, false AS compressed, false AS part
FROM "glTexImage2D" a
UNION ALL SELECT b.seq, b.frame, b.context, b.duration, 'glTexSubImage2D', b.target_value, b.level, b.width::BIGINT,
       b.height::BIGINT, 1, NULL, b.format, b.type, b.pixels_bytes, b.pixels_blob, false, true FROM "glTexSubImage2D" b
UNION ALL SELECT c.seq, c.frame, c.context, c.duration, 'glTexImage3D', c.target_value, c.level, c.width::BIGINT,
       c.height::BIGINT, c.depth::BIGINT, c.internalformat, c.format, c.type, c.pixels_bytes, c.pixels_blob, false,
       false FROM "glTexImage3D" c
UNION ALL SELECT d.seq, d.frame, d.context, d.duration, 'glTexSubImage3D', d.target_value, d.level, d.width::BIGINT,
       d.height::BIGINT, d.depth::BIGINT, NULL, d.format, d.type, d.pixels_bytes, d.pixels_blob, false, true
FROM "glTexSubImage3D" d
UNION ALL SELECT e.seq, e.frame, e.context, e.duration, 'glCompressedTexImage2D', e.target_value, e.level,
       e.width::BIGINT, e.height::BIGINT, 1, e.internalformat, NULL, NULL, e.data_bytes, e.data_blob, true, false
FROM "glCompressedTexImage2D" e
UNION ALL SELECT f.seq, f.frame, f.context, f.duration, 'glCompressedTexSubImage2D', f.target_value, f.level,
       f.width::BIGINT, f.height::BIGINT, 1, f.format, NULL, NULL, f.data_bytes, f.data_blob, true, true
FROM "glCompressedTexSubImage2D" f
UNION ALL SELECT g.seq, g.frame, g.context, g.duration, 'glTexImage1D', g.target_value, g.level, g.width::BIGINT, 1, 1,
       g.internalformat, g.format, g.type, g.pixels_bytes, g.pixels_blob, false, false FROM "glTexImage1D" g
UNION ALL SELECT v.seq, v.frame, v.context, v.duration, 'vgImageSubData', NULL, 0, v.width::BIGINT, v.height::BIGINT, 1,
       v.dataFormat, NULL, NULL, v.data_bytes, v.data_blob, false, true FROM "vgImageSubData" v
"""

# Uploads of pixels, with the texture they go to.
_TEXTURE_UPLOAD = """
SELECT i.*, b.texture
FROM (SELECT x.*, coalesce(u.unit, 0) AS unit,
             CASE WHEN x.target BETWEEN GL_TEXTURE_CUBE_MAP_POSITIVE_X AND GL_TEXTURE_CUBE_MAP_NEGATIVE_Z
                  THEN GL_TEXTURE_CUBE_MAP ELSE x.target END AS binding
      FROM images x ASOF LEFT JOIN texture_units u ON u.context = x.context AND u.seq <= x.seq) i
ASOF LEFT JOIN texture_bindings b
  ON b.context = i.context AND b.unit = i.unit AND b.target = i.binding AND b.seq <= i.seq
"""

# Values of glTexParameter, with the texture they go to.
_TEXTURE_PARAMETER = """
SELECT p.seq, p.context, p.pname, p.value, b.texture
FROM (SELECT x.*, coalesce(u.unit, 0) AS unit FROM (
        SELECT i.seq, i.context, i.target_value AS target, i.pname_value AS pname, i.param::BIGINT AS value
        FROM "glTexParameteri" i
        UNION ALL SELECT f.seq, f.context, f.target_value, f.pname_value, f.param::BIGINT FROM "glTexParameterf" f
        UNION ALL SELECT x.seq, x.context, x.target_value, x.pname_value, x.param::BIGINT FROM "glTexParameterx" x) x
      ASOF LEFT JOIN texture_units u ON u.context = x.context AND u.seq <= x.seq) p
ASOF LEFT JOIN texture_bindings b
  ON b.context = p.context AND b.unit = p.unit AND b.target = p.target AND b.seq <= p.seq
"""

# Textures by share group and name, with what is known of them at the end.
_TEXTURE = """
SELECT g.share_group, u.texture, min(u.seq) AS seq, max(u.width) AS width, max(u.height) AS height,
       count(DISTINCT u.level) AS levels, max(coalesce(u.bytes, 0)) AS bytes, bool_or(u.compressed) AS compressed,
       bool_or(u.bytes IS NOT NULL) AS loaded, bool_or(u.binding = GL_TEXTURE_CUBE_MAP) AS cube
FROM texture_uploads u JOIN contexts g ON g.context = u.context
WHERE u.texture IS NOT NULL AND NOT u.part GROUP BY g.share_group, u.texture
"""

# Textures that draws read, draws of display lists too: the textures of the units that the program, or fixed functions,
# use.
_TEXTURE_READ = """
SELECT d.seq, d.frame, g.share_group, unnest(d.textures) AS texture
FROM draws d JOIN contexts g ON g.context = d.context WHERE d.kind = 'draw'
"""

_DRAWN_TEXTURE = """
SELECT DISTINCT r.share_group, r.texture FROM texture_reads r WHERE r.texture <> 0
"""

_BOUND_BUFFER = """
SELECT b.seq, b.context, b.target_value AS target, b.buffer,
       lead(b.seq) OVER (PARTITION BY b.context, b.target_value ORDER BY b.seq) AS until FROM "glBindBuffer" b
"""

# Writes into buffers, with the buffer they go to. `safe`: the driver need not wait for draws that read it.
_BUFFER_WRITE = """
SELECT w.*, b.buffer
FROM (SELECT s.seq, s.frame, s.context, s.duration, 'glBufferSubData' AS function, s.target_value AS target,
             s."offset"::BIGINT AS start, s.size::BIGINT AS bytes, s.data_blob::VARCHAR AS blob, false AS safe
      FROM "glBufferSubData" s
      UNION ALL SELECT d.seq, d.frame, d.context, d.duration, 'glBufferData', d.target_value, 0, d.size::BIGINT,
             d.data_blob, true FROM "glBufferData" d
      UNION ALL SELECT r.seq, r.frame, r.context, r.duration, 'glMapBufferRange', r.target_value, r."offset"::BIGINT,
             r.length::BIGINT, NULL, (r.access_value & 44) <> 0
             FROM "glMapBufferRange" r WHERE (r.access_value & 2) <> 0
      UNION ALL SELECT m.seq, m.frame, m.context, m.duration, 'glMapBuffer', m.target_value, 0, NULL, NULL, false
             FROM "glMapBuffer" m WHERE m.access_value <> GL_READ_ONLY) w
ASOF LEFT JOIN buffer_bindings b ON b.context = w.context AND b.target = w.target AND b.seq <= w.seq
"""

# The size of buffers, from a call on.
_BUFFER_SIZE = """
SELECT w.seq, g.share_group, w.buffer, w.bytes FROM (
    SELECT x.seq, x.context, x.bytes, b.buffer
    FROM (SELECT d.seq, d.context, d.target_value AS target, d.size::BIGINT AS bytes FROM "glBufferData" d
          UNION ALL SELECT s.seq, s.context, s.target_value, s.size::BIGINT FROM "glBufferStorage" s) x
    ASOF JOIN buffer_bindings b ON b.context = x.context AND b.target = x.target AND b.seq <= x.seq
    UNION ALL SELECT n.seq, n.context, n.size::BIGINT, n.buffer FROM "glNamedBufferData" n
    UNION ALL SELECT m.seq, m.context, m.size::BIGINT, m.buffer FROM "glNamedBufferStorage" m) w
JOIN contexts g ON g.context = w.context
"""

# Everything that gives buffers content: `whole` with a new size, `part`, `mapped` (seen before the call), `copied` from
# `source`; `other`: what is not known.
_BUFFER_CHANGE = """
WITH bound AS (
    SELECT x.*, b.buffer
    FROM (SELECT s.seq, s.context, s.target_value AS target, 'part' AS kind, s."offset"::BIGINT AS start,
                 s.size::BIGINT AS bytes FROM "glBufferSubData" s
          UNION ALL SELECT c.seq, c.context, c.target_value, 'other', 0, 0 FROM "glClearBufferData" c
          UNION ALL SELECT d.seq, d.context, d.target_value, 'other', 0, 0 FROM "glClearBufferSubData" d) x
    ASOF JOIN buffer_bindings b ON b.context = x.context AND b.target = x.target AND b.seq <= x.seq
), copied AS (
    SELECT c.seq, c.context, c."readOffset"::BIGINT AS source_start, c."writeOffset"::BIGINT AS start,
           c.size::BIGINT AS bytes, r.buffer AS source, w.buffer
    FROM "glCopyBufferSubData" c
    ASOF JOIN buffer_bindings r ON r.context = c.context AND r.target = c."readTarget_value" AND r.seq <= c.seq
    ASOF JOIN buffer_bindings w ON w.context = c.context AND w.target = c."writeTarget_value" AND w.seq <= c.seq
    UNION ALL SELECT n.seq, n.context, n."readOffset"::BIGINT, n."writeOffset"::BIGINT, n.size::BIGINT, n."readBuffer",
           n."writeBuffer" FROM "glCopyNamedBufferSubData" n
)
SELECT z.seq, z.share_group, z.buffer, 'whole' AS kind, 0 AS start, z.bytes, NULL::BIGINT AS source,
       NULL::BIGINT AS source_start, NULL::VARCHAR AS blob, NULL::BLOB AS data FROM buffer_sizes z
UNION ALL SELECT b.seq, g.share_group, b.buffer, b.kind, b.start, b.bytes, NULL, NULL, NULL, NULL
FROM bound b JOIN contexts g ON g.context = b.context
UNION ALL SELECT n.seq, g.share_group, n.buffer, 'part', n."offset"::BIGINT, n.size::BIGINT, NULL, NULL, NULL, NULL
FROM "glNamedBufferSubData" n JOIN contexts g ON g.context = n.context
UNION ALL SELECT c.seq, g.share_group, c.buffer, 'copied', c.start, c.bytes, c.source, c.source_start, NULL, NULL
FROM copied c JOIN contexts g ON g.context = c.context
UNION ALL SELECT m.seq, g.share_group, m.buffer, 'mapped', m."offset"::BIGINT, m.data_bytes::BIGINT, NULL, NULL,
       m.data_blob, m.data_data
FROM map_writes m JOIN calls k ON k.seq = m.seq JOIN contexts g ON g.context = k.context
"""

# Draws with indices; `base` is added to each.
_INDEX_DRAW = """
SELECT a.seq, a.frame, a.context, a.type_value AS type, a.count::BIGINT AS count, a.indices::BIGINT AS start, 0 AS base
FROM "glDrawElements" a
UNION ALL SELECT b.seq, b.frame, b.context, b.type_value, b.count::BIGINT, b.indices::BIGINT, 0
FROM "glDrawRangeElements" b
UNION ALL SELECT c.seq, c.frame, c.context, c.type_value, c.count::BIGINT, c.indices::BIGINT, 0
FROM "glDrawElementsInstanced" c
UNION ALL SELECT d.seq, d.frame, d.context, d.type_value, d.count::BIGINT, d.indices::BIGINT, d.basevertex::BIGINT
FROM "glDrawElementsBaseVertex" d
UNION ALL SELECT e.seq, e.frame, e.context, e.type_value, e.count::BIGINT, e.indices::BIGINT, e.basevertex::BIGINT
FROM "glDrawElementsInstancedBaseVertex" e
"""

# The vertex array object that is bound, from a call on.
_VERTEX_ARRAY = """
SELECT v.seq, v.context, v."array" AS vertex_array FROM "glBindVertexArray" v
"""

# Where an attribute's vertices lie, from a call on: buffer, first byte, bytes from one to the next, bytes of each.
_ATTRIBUTE_POINTER = """
SELECT p.seq, p.context, p.index, coalesce(v.vertex_array, 0) AS vertex_array, coalesce(b.buffer, 0) AS buffer, p.start,
       p.bytes, CASE WHEN p.stride = 0 THEN p.bytes ELSE p.stride END AS stride
FROM (SELECT a.seq, a.context, a.index, a.pointer::BIGINT AS start, a.stride::BIGINT AS stride,
             GL_ARRAY_BUFFER AS target,
             CASE WHEN a.type_value IN (GL_INT_2_10_10_10_REV, GL_UNSIGNED_INT_2_10_10_10_REV) THEN 4
                  ELSE CASE WHEN a.size > 4 THEN 4 ELSE a.size END::BIGINT
                       * CASE WHEN a.type_value IN (GL_BYTE, GL_UNSIGNED_BYTE) THEN 1
                              WHEN a.type_value IN (GL_SHORT, GL_UNSIGNED_SHORT, GL_HALF_FLOAT) THEN 2
                              WHEN a.type_value = GL_DOUBLE THEN 8 ELSE 4 END END AS bytes
      FROM "glVertexAttribPointer" a) p
ASOF LEFT JOIN buffer_bindings b ON b.context = p.context AND b.target = p.target AND b.seq <= p.seq
ASOF LEFT JOIN vertex_array_bindings v ON v.context = p.context AND v.seq <= p.seq
"""

_ATTRIBUTE_TOGGLE = """
SELECT t.seq, t.context, t.index, t.is_on, coalesce(v.vertex_array, 0) AS vertex_array
FROM (SELECT e.seq, e.context, e.index, true AS is_on FROM "glEnableVertexAttribArray" e
      UNION ALL SELECT d.seq, d.context, d.index, false FROM "glDisableVertexAttribArray" d) t
ASOF LEFT JOIN vertex_array_bindings v ON v.context = t.context AND v.seq <= t.seq
"""

# The number of instances that share a value of an attribute, from a call on; 0: each vertex has its own.
# glVertexAttribPointer ties an attribute to the binding of its number.
_ATTRIBUTE_DIVISOR = """
SELECT d.seq, d.context, d.index, d.divisor::BIGINT AS divisor, coalesce(v.vertex_array, 0) AS vertex_array
FROM (SELECT a.seq, a.context, a.index, a.divisor FROM "glVertexAttribDivisor" a
      UNION ALL SELECT b.seq, b.context, b.index, b.divisor FROM "glVertexAttribDivisorARB" b
      UNION ALL SELECT c.seq, c.context, c.index, c.divisor FROM "glVertexAttribDivisorANGLE" c
      UNION ALL SELECT e.seq, e.context, e.index, e.divisor FROM "glVertexAttribDivisorEXT" e
      UNION ALL SELECT n.seq, n.context, n.index, n.divisor FROM "glVertexAttribDivisorNV" n
      UNION ALL SELECT i.seq, i.context, i.bindingindex, i.divisor FROM "glVertexBindingDivisor" i) d
ASOF LEFT JOIN vertex_array_bindings v ON v.context = d.context AND v.seq <= d.seq
UNION ALL SELECT o.seq, o.context, o.bindingindex, o.divisor::BIGINT, o.vaobj FROM "glVertexArrayBindingDivisor" o
"""

# The context that threads make current, with its surfaces; calls that failed change nothing.
_MADE_CURRENT = """
SELECT e.seq, e.frame, e.thread, e.duration, e.ctx AS made, e.draw AS surface, e.read AS read_surface
FROM "eglMakeCurrent" e WHERE e.result IS DISTINCT FROM 0
UNION ALL SELECT g.seq, g.frame, g.thread, g.duration, g.ctx, g.drawable, g.drawable
FROM "glXMakeCurrent" g WHERE g.result IS DISTINCT FROM 0
UNION ALL SELECT x.seq, x.frame, x.thread, x.duration, x.ctx, x.draw, x.read
FROM "glXMakeContextCurrent" x WHERE x.result IS DISTINCT FROM 0
UNION ALL SELECT r.seq, r.frame, r.thread, r.duration, r.ctx, r.draw, r.read
FROM "glXMakeCurrentRead" r WHERE r.result IS DISTINCT FROM 0
"""

# Calls that make or remove objects, by the kind of object.
_LIFE = """
SELECT c.seq, c.frame, c.context, f.name, regexp_matches(f.name, '^(gl|egl|glX|vg)(Gen|Create)') AS made,
       regexp_extract(f.name, '^(gl|egl|glX|vg)(Gen|Create|Delete|Destroy)([A-Z][A-Za-z0-9]*?)s?(ARB|EXT|OES|KHR|NV)?$',
         3) AS kind
FROM calls c JOIN functions f ON f.id = c.fn
WHERE regexp_matches(f.name, '^(gl|egl|glX|vg)(Gen|Create|Delete|Destroy)[A-Z]')
"""

_UNIFORM = """
SELECT c.seq, c.frame, c.context, f.name, c.duration FROM calls c JOIN functions f ON f.id = c.fn
WHERE regexp_matches(f.name, '^gl(Program)?Uniform(Matrix)?[1-4]')
"""

# Shader sources, with the kind of shader.
_SOURCE = r"""
SELECT s.seq, s.frame, s.context, s.shader,
       regexp_replace(s.string_data::VARCHAR, '\\x(00|09|0A|0D)', chr(10), 'g') AS source, c.type_value AS stage
FROM "glShaderSource" s
ASOF LEFT JOIN (SELECT k.seq, k.result, k.type_value FROM "glCreateShader" k) c
  ON c.result = s.shader AND c.seq <= s.seq
"""

# Images of Vulkan that the program made, with what decides their cost.
_VK_IMAGE = """
SELECT o.created_seq AS seq, o.frame, o.handle, o.bytes, o.info->>'$.usage' AS usage, o.info->>'$.tiling' AS tiling,
       o.info->>'$.samples' AS samples, o.info->>'$.sharingMode' AS sharing, o.info->>'$.flags' AS flags,
       o.info->>'$.pNext' AS chain,
       printf('image 0x%x of ', o.handle) || (o.info->>'$.extent.width') || ' x '
           || (o.info->>'$.extent.height') AS what
FROM objects o WHERE o.type = 'VkImage' AND o.info IS NOT NULL
"""

# Attachments of render passes.
_VK_ATTACHMENT = """
SELECT r.seq, r.frame, r.render_pass, r.number - 1 AS number, r.one->>'$.loadOp' AS load, r.one->>'$.storeOp' AS store,
       r.one->>'$.initialLayout' AS before, r.one->>'$.finalLayout' AS behind, r.one->>'$.format' AS format
FROM (SELECT o.created_seq AS seq, o.frame, o.handle AS render_pass,
             unnest(json_extract(o.info, '$.pAttachments[*]')) AS one,
             generate_subscripts(json_extract(o.info, '$.pAttachments[*]'), 1) AS number
      FROM objects o WHERE o.type = 'VkRenderPass' AND o.info IS NOT NULL) r
"""

_BY_NAME: Mapping[str, str | Computed] = {
    "steady_frames": _STEADY,
    "lists": _LIST,
    "draw_calls": _DRAW,
    "clears": _CLEAR,
    "toggles": _TOGGLE,
    "targets": _TARGET,
    "drawn": _DRAWN,
    "texture_units": _UNIT,
    "texture_bindings": _BOUND_TEXTURE,
    "images": _IMAGE,
    "texture_uploads": _TEXTURE_UPLOAD,
    "texture_parameters": _TEXTURE_PARAMETER,
    "textures": _TEXTURE,
    "texture_reads": _TEXTURE_READ,
    "drawn_textures": _DRAWN_TEXTURE,
    "buffer_bindings": _BOUND_BUFFER,
    "buffer_writes": _BUFFER_WRITE,
    "buffer_sizes": _BUFFER_SIZE,
    "buffer_changes": _BUFFER_CHANGE,
    "index_draws": _INDEX_DRAW,
    "index_ends": INDEX_ENDS,
    "vertex_array_bindings": _VERTEX_ARRAY,
    "attribute_pointers": _ATTRIBUTE_POINTER,
    "attribute_toggles": _ATTRIBUTE_TOGGLE,
    "attribute_divisors": _ATTRIBUTE_DIVISOR,
    **attributes.VIEWS,
    "made_current": _MADE_CURRENT,
    "lives": _LIFE,
    "uniforms": _UNIFORM,
    "sources": _SOURCE,
    "vk_images": _VK_IMAGE,
    "vk_attachments": _VK_ATTACHMENT,
}

VIEWS: Mapping[str, str | Computed] = {
    name: numbered(view) if isinstance(view, str) else view for name, view in _BY_NAME.items()
}
