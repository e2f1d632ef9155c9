"""Effects of OpenGL and OpenGL ES commands on state: one line a command where that is enough, else the name of a
function.

Those are hand-written, in the state machine (native/state/gl_*.cc).

Paths are those of `gl_tree`, where a segment may also be a reference that the state machine follows: `context.unit` is
the active texture unit, `context.bound_texture[target]` the texture bound there. Functions take such objects, too: one
function serves the command that is about a bound object, and the command that names the object.
"""

from __future__ import annotations

import fnmatch
from functools import cache
from typing import TYPE_CHECKING

from drawtap.spec.apis import vg_tree
from drawtap.spec.expr import expanded
from drawtap.spec.overlay import Overlay, run, set_

if TYPE_CHECKING:
    from drawtap.spec.model import Effect

PART = o = Overlay("gl", xml="gl.xml")

# Enum groups of variables that no parameter stands for as it is.
GROUPS: dict[tuple[str, str], str] = {
    ("context", "GL_BLEND_SRC_RGB"): "BlendingFactor",
    ("context", "GL_BLEND_DST_RGB"): "BlendingFactor",
    ("context", "GL_BLEND_SRC_ALPHA"): "BlendingFactor",
    ("context", "GL_BLEND_DST_ALPHA"): "BlendingFactor",
    ("context", "GL_STENCIL_FAIL"): "StencilOp",
    ("context", "GL_STENCIL_PASS_DEPTH_FAIL"): "StencilOp",
    ("context", "GL_STENCIL_PASS_DEPTH_PASS"): "StencilOp",
    ("context", "GL_STENCIL_BACK_FAIL"): "StencilOp",
    ("context", "GL_STENCIL_BACK_PASS_DEPTH_FAIL"): "StencilOp",
    ("context", "GL_STENCIL_BACK_PASS_DEPTH_PASS"): "StencilOp",
    ("framebuffer", "GL_DRAW_BUFFER0"): "DrawBufferMode",
    ("attachment", "GL_FRAMEBUFFER_ATTACHMENT_TEXTURE_CUBE_MAP_FACE"): "DrawBufferMode",
    ("context", "GL_FOG_MODE"): "FogMode",
    ("query", "target"): "QueryTarget",
    ("surface", "EGL_RENDER_BUFFER"): "EGLenum",
    ("surface", "EGL_GL_COLORSPACE"): "EGLenum",
    ("surface", "EGL_VG_COLORSPACE"): "EGLenum",
    ("surface", "EGL_VG_ALPHA_FORMAT"): "EGLenum",
    ("surface", "EGL_TEXTURE_FORMAT"): "EGLenum",
    ("surface", "EGL_TEXTURE_TARGET"): "EGLenum",
    ("surface", "EGL_SWAP_BEHAVIOR"): "EGLenum",
    ("surface", "EGL_MULTISAMPLE_RESOLVE"): "EGLenum",
    ("creation", "EGL_CONTEXT_OPENGL_RESET_NOTIFICATION_STRATEGY"): "EGLenum",
    ("creation", "EGL_CONTEXT_PRIORITY_LEVEL_IMG"): "EGLenum",
    **vg_tree.GROUPS,
    ("texture", "GL_TEXTURE_COMPARE_MODE"): "DrawBufferMode",
    ("sampler", "GL_TEXTURE_COMPARE_MODE"): "DrawBufferMode",
}

_ENABLE_BITS = """
enabled.GL_ALPHA_TEST enabled.GL_AUTO_NORMAL enabled.GL_BLEND enabled.GL_CLIP_DISTANCE{0,1,2,3,4,5,6,7}
enabled.GL_COLOR_LOGIC_OP enabled.GL_COLOR_MATERIAL enabled.GL_COLOR_SUM enabled.GL_CULL_FACE
enabled.GL_DEPTH_BOUNDS_TEST_EXT enabled.GL_DEPTH_CLAMP enabled.GL_DEPTH_TEST enabled.GL_DITHER enabled.GL_FOG
enabled.GL_FRAGMENT_PROGRAM_ARB enabled.GL_FRAMEBUFFER_SRGB enabled.GL_INDEX_LOGIC_OP enabled.GL_LIGHT{0,1,2,3,4,5,6,7}
enabled.GL_LIGHTING enabled.GL_LINE_SMOOTH enabled.GL_LINE_STIPPLE
enabled.GL_MAP1_{COLOR_4,INDEX,NORMAL} enabled.GL_MAP1_TEXTURE_COORD_{1,2,3,4} enabled.GL_MAP1_VERTEX_{3,4}
enabled.GL_MAP2_{COLOR_4,INDEX,NORMAL} enabled.GL_MAP2_TEXTURE_COORD_{1,2,3,4} enabled.GL_MAP2_VERTEX_{3,4}
enabled.GL_MULTISAMPLE enabled.GL_NORMALIZE enabled.GL_POINT_SMOOTH enabled.GL_POINT_SPRITE
enabled.GL_POLYGON_OFFSET_{FILL,LINE,POINT} enabled.GL_POLYGON_SMOOTH enabled.GL_POLYGON_STIPPLE
enabled.GL_PROGRAM_POINT_SIZE enabled.GL_RASTERIZER_DISCARD enabled.GL_RESCALE_NORMAL
enabled.GL_SAMPLE_ALPHA_TO_COVERAGE enabled.GL_SAMPLE_ALPHA_TO_ONE enabled.GL_SAMPLE_COVERAGE enabled.GL_SCISSOR_TEST
enabled.GL_STENCIL_TEST enabled.GL_STENCIL_TEST_TWO_SIDE_EXT enabled.GL_TEXTURE_CUBE_MAP_SEAMLESS
enabled.GL_VERTEX_PROGRAM_ARB enabled.GL_VERTEX_PROGRAM_TWO_SIDE
"""
_MAPS = " ".join(name for name in _ENABLE_BITS.split() if "GL_MAP" in name)
# The context's own variables that the bits of glPushAttrib save; lights, units and the like are hand-written.
ATTRIB_GROUPS: dict[str, str] = {
    "GL_ENABLE_BIT": _ENABLE_BITS,
    "GL_ACCUM_BUFFER_BIT": "GL_ACCUM_CLEAR_VALUE",
    "GL_COLOR_BUFFER_BIT": """
        enabled.GL_ALPHA_TEST GL_ALPHA_TEST_FUNC GL_ALPHA_TEST_REF enabled.GL_BLEND
        GL_BLEND_{SRC_RGB,DST_RGB,SRC_ALPHA,DST_ALPHA} GL_BLEND_COLOR GL_BLEND_EQUATION_{RGB,ALPHA}
        enabled.GL_DITHER enabled.GL_INDEX_LOGIC_OP enabled.GL_COLOR_LOGIC_OP GL_LOGIC_OP_MODE GL_COLOR_WRITEMASK
        GL_INDEX_WRITEMASK GL_COLOR_CLEAR_VALUE GL_INDEX_CLEAR_VALUE GL_CLAMP_READ_COLOR GL_CLAMP_FRAGMENT_COLOR
        enabled.GL_FRAMEBUFFER_SRGB""",
    "GL_CURRENT_BIT": """
        GL_CURRENT_COLOR GL_CURRENT_SECONDARY_COLOR GL_CURRENT_INDEX GL_CURRENT_NORMAL GL_CURRENT_FOG_COORD
        GL_EDGE_FLAG GL_CURRENT_RASTER_POSITION GL_CURRENT_RASTER_POSITION_VALID raster_position""",
    "GL_DEPTH_BUFFER_BIT": """
        enabled.GL_DEPTH_TEST GL_DEPTH_FUNC GL_DEPTH_CLEAR_VALUE GL_DEPTH_WRITEMASK enabled.GL_DEPTH_BOUNDS_TEST_EXT
        GL_DEPTH_BOUNDS_EXT""",
    "GL_EVAL_BIT": f"""
        enabled.GL_AUTO_NORMAL GL_MAP{{1,2}}_GRID_DOMAIN GL_MAP{{1,2}}_GRID_SEGMENTS {_MAPS}""",
    "GL_FOG_BIT": """
        GL_FOG_{COLOR,DENSITY,START,END,INDEX} enabled.GL_FOG GL_FOG_MODE GL_FOG_COORD_SRC GL_FOG_DISTANCE_MODE_NV
        enabled.GL_COLOR_SUM""",
    "GL_HINT_BIT": """
        GL_PERSPECTIVE_CORRECTION_HINT GL_POINT_SMOOTH_HINT GL_LINE_SMOOTH_HINT GL_POLYGON_SMOOTH_HINT GL_FOG_HINT
        GL_GENERATE_MIPMAP_HINT GL_TEXTURE_COMPRESSION_HINT GL_FRAGMENT_SHADER_DERIVATIVE_HINT""",
    "GL_LIGHTING_BIT": """
        enabled.GL_COLOR_MATERIAL GL_COLOR_MATERIAL_FACE GL_COLOR_MATERIAL_PARAMETER
        enabled.GL_LIGHT{0,1,2,3,4,5,6,7} enabled.GL_LIGHTING
        GL_LIGHT_MODEL_{AMBIENT,LOCAL_VIEWER,TWO_SIDE,COLOR_CONTROL} GL_SHADE_MODEL GL_CLAMP_VERTEX_COLOR
        GL_PROVOKING_VERTEX""",
    "GL_LINE_BIT": """
        GL_LINE_WIDTH GL_LINE_STIPPLE_PATTERN GL_LINE_STIPPLE_REPEAT enabled.GL_LINE_SMOOTH enabled.GL_LINE_STIPPLE""",
    "GL_LIST_BIT": "GL_LIST_BASE",
    "GL_PIXEL_MODE_BIT": """
        GL_{RED,GREEN,BLUE,ALPHA,DEPTH}_{BIAS,SCALE} GL_INDEX_OFFSET GL_INDEX_SHIFT GL_MAP_COLOR GL_MAP_STENCIL
        GL_ZOOM_X GL_ZOOM_Y enabled.GL_COLOR_TABLE enabled.GL_POST_CONVOLUTION_COLOR_TABLE
        enabled.GL_POST_COLOR_MATRIX_COLOR_TABLE enabled.GL_CONVOLUTION_{1D,2D} enabled.GL_SEPARABLE_2D
        enabled.GL_HISTOGRAM enabled.GL_MINMAX GL_POST_CONVOLUTION_{RED,GREEN,BLUE,ALPHA}_SCALE
        GL_POST_CONVOLUTION_{RED,GREEN,BLUE,ALPHA}_BIAS GL_POST_COLOR_MATRIX_{RED,GREEN,BLUE,ALPHA}_SCALE
        GL_POST_COLOR_MATRIX_{RED,GREEN,BLUE,ALPHA}_BIAS""",
    "GL_POINT_BIT": """
        enabled.GL_POINT_SMOOTH GL_POINT_SIZE{,_MIN,_MAX} GL_POINT_FADE_THRESHOLD_SIZE GL_POINT_DISTANCE_ATTENUATION
        enabled.GL_POINT_SPRITE GL_POINT_SPRITE_COORD_ORIGIN""",
    "GL_POLYGON_BIT": """
        enabled.GL_CULL_FACE GL_CULL_FACE_MODE GL_FRONT_FACE GL_POLYGON_MODE enabled.GL_POLYGON_SMOOTH
        enabled.GL_POLYGON_STIPPLE enabled.GL_POLYGON_OFFSET_{FILL,LINE,POINT}
        GL_POLYGON_OFFSET_{FACTOR,UNITS,CLAMP}""",
    "GL_POLYGON_STIPPLE_BIT": "polygon_stipple",
    "GL_SCISSOR_BIT": "enabled.GL_SCISSOR_TEST GL_SCISSOR_BOX",
    "GL_STENCIL_BUFFER_BIT": """
        enabled.GL_STENCIL_TEST GL_STENCIL_{FUNC,REF,VALUE_MASK,FAIL,PASS_DEPTH_FAIL,PASS_DEPTH_PASS}
        GL_STENCIL_BACK_{FUNC,REF,VALUE_MASK,FAIL,PASS_DEPTH_FAIL,PASS_DEPTH_PASS} GL_STENCIL_CLEAR_VALUE
        GL_STENCIL_WRITEMASK GL_STENCIL_BACK_WRITEMASK enabled.GL_STENCIL_TEST_TWO_SIDE_EXT
        GL_ACTIVE_STENCIL_FACE_EXT""",
    "GL_TRANSFORM_BIT": """
        enabled.GL_CLIP_DISTANCE{0,1,2,3,4,5,6,7} GL_MATRIX_MODE enabled.GL_NORMALIZE enabled.GL_RESCALE_NORMAL
        enabled.GL_DEPTH_CLAMP""",
    "GL_VIEWPORT_BIT": "GL_DEPTH_RANGE GL_VIEWPORT",
    "GL_TEXTURE_BIT": "GL_ACTIVE_TEXTURE",
    "GL_MULTISAMPLE_BIT": """
        enabled.GL_MULTISAMPLE enabled.GL_SAMPLE_ALPHA_TO_COVERAGE enabled.GL_SAMPLE_ALPHA_TO_ONE
        enabled.GL_SAMPLE_COVERAGE GL_SAMPLE_COVERAGE_VALUE GL_SAMPLE_COVERAGE_INVERT""",
}

# Executed at once even while a display list is made (OpenGL 4.6 compatibility profile, 21.4.1), or no part of one.
_NOT_LISTED = """
glAreTexturesResident* glBindAttribLocation* glBindBufferBase* glBindBufferRange* glBindBuffer{,ARB} glBindFramebuffer*
glBindRenderbuffer* glBindVertexArray* glBlit* glBufferData* glBufferSubData* glBufferStorage* glCheck*
glClientActiveTexture* glColorPointer* glCompileShader* glCopyBufferSubData* glCreate* glDelete* glDetachShader
glAttachShader glDisableClientState* glDisableVertexAttribArray* glEdgeFlagPointer* glEnableClientState*
glEnableVertexAttribArray* glFeedbackBuffer glFenceSync glFinish glFlush* glFogCoordPointer* glFramebuffer* glGen*
glGet* glIndexPointer* glInterleavedArrays glInvalidate* glIs* glLinkProgram glMap{,Named}Buffer* glNamedBuffer*
glNamedFramebuffer* glNamedRenderbuffer* glNewList glEndList glNormalPointer* glPixelStore* glPopClientAttrib
glPushClientAttrib* glReadPixels glReadnPixels glRenderbufferStorage* glRenderMode glSecondaryColorPointer*
glSelectBuffer glShaderSource* glTexBuffer* glTexCoordPointer* glTexStorage* glTextureStorage*
glTransformFeedbackVaryings*
glUnmap* glValidateProgram glVertexArray* glVertexAttrib*Pointer* glVertexAttrib*Format glVertexAttribBinding
glVertexAttribDivisor* glVertexBindingDivisor glBindVertexBuffer* glVertexPointer* glWaitSync glClientWaitSync
glDebugMessage* glObjectLabel glObjectPtrLabel glPushDebugGroup glPopDebugGroup glSampler* glBindSampler*
glTextureView glProgramParameteri* glProgramBinary glShaderBinary glGenerateMipmap glUniformBlockBinding
glShaderStorageBlockBinding glBindFragDataLocation*
"""
_IN_BEGIN = """
glVertex{2,3,4}{d,f,i,s}{,v} glColor{3,4}{b,d,f,i,s,ub,ui,us}{,v} glSecondaryColor3* glIndex{d,f,i,s,ub}{,v}
glNormal3{b,d,f,i,s}{,v} glTexCoord{1,2,3,4}{d,f,i,s}{,v} glMultiTexCoord* glFogCoord{d,f}{,v} glVertexAttrib[1234]*
glVertexAttribI[1234]* glVertexAttribL[1234]* glVertexAttribP* glVertexP* glColorP* glTexCoordP* glNormalP*
glEvalCoord* glEvalPoint* glArrayElement glMaterial* glCallList glCallLists glEdgeFlag{,v} glEnd glVertexAttrib4N*
"""

# Calls on several things: the things done before an error stay done.
MANY = (
    "glBindBuffersBase",
    "glBindBuffersRange",
    "glBindImageTextures",
    "glBindSamplers",
    "glBindTextures",
    "glBindVertexBuffers",
    "glCallList",
    "glCallLists",
    "glPopAttrib",
    "glPopClientAttrib",
)


@cache
def _matching(patterns: str) -> frozenset[str]:
    from drawtap.spec.registry import load_api  # which imports this module

    names = load_api("gl").commands
    return frozenset(name for text in patterns.split() for one in expanded(text) for name in fnmatch.filter(names, one))


def not_listed() -> frozenset[str]:
    """Return the commands that display lists do not keep."""
    return _matching(_NOT_LISTED)


def in_begin() -> frozenset[str]:
    """Return the commands that may stand between glBegin and glEnd."""
    return _matching(_IN_BEGIN)


# ---- what is on or off -------------------------------------------------------------------------------------

o.effects("glEnable", run("enable", "cap, 1"))
o.effects("glDisable", run("enable", "cap, 0"))
o.effects("glEnablei", run("enable_indexed", "target, index, 1"))
o.effects("glDisablei", run("enable_indexed", "target, index, 0"))

# ---- transformation, lighting and the rest of the fixed function -------------------------------------------

o.effects("glMatrixMode", set_("context.GL_MATRIX_MODE", "mode"))
# Commands on the stack of the matrix mode, and those of EXT_direct_state_access, which name a stack.
for matrix, direct, types, end, stack in (
    ("Matrix", "", "{f,d,x,xOES}", "", "context.current_stack"),
    ("", "Matrix", "{f,d}EXT", "EXT", "context.stack_of[mode]"),
):
    o.effects(f"gl{direct}LoadIdentity{end}", run("load_identity", stack))
    o.effects(f"gl{direct}Load{matrix}{types}", run("load_matrix", f"{stack}, m, 0"))
    o.effects(f"gl{direct}LoadTranspose{matrix}{{f,d}}{end}", run("load_matrix", f"{stack}, m, 1"))
    o.effects(f"gl{direct}Mult{matrix}{types}", run("mult_matrix", f"{stack}, m, 0"))
    o.effects(f"gl{direct}MultTranspose{matrix}{{f,d}}{end}", run("mult_matrix", f"{stack}, m, 1"))
    o.effects(f"gl{direct}Rotate{types}", run("rotate", f"{stack}, angle, x, y, z"))
    o.effects(f"gl{direct}Translate{types}", run("translate", f"{stack}, x, y, z"))
    o.effects(f"gl{direct}Scale{types}", run("scale", f"{stack}, x, y, z"))
    o.effects(f"gl{direct}Frustum{end}", run("frustum", f"{stack}, left, right, bottom, top, zNear, zFar"))
    o.effects(f"gl{direct}Ortho{end}", run("ortho", f"{stack}, left, right, bottom, top, zNear, zFar"))
    o.effects(f"gl{direct}Push{matrix}{end}", run("push_matrix", stack))
    o.effects(f"gl{direct}Pop{matrix}{end}", run("pop_matrix", stack))
o.effects("glFrustum{f,x,fOES,xOES}", run("frustum", "context.current_stack, l, r, b, t, n, f"))
o.effects("glOrtho{f,x,fOES,xOES}", run("ortho", "context.current_stack, l, r, b, t, n, f"))

o.effects("glLight{f,i,x,xOES}", run("light", "light, pname, param"))
o.effects("glLight{f,i,x}v glLightxvOES", run("light_v", "light, pname, params"))
o.effects("glLightModel{f,i,x,xOES} glLightModelx{v,vOES}", set_("context[pname]", "param"))
o.effects("glLightModel{f,i}v", set_("context[pname]", "params"))
o.effects("glMaterial{f,i,x,xOES}", run("material", "face, pname, param"))
o.effects("glMaterial{f,i}v", run("material_v", "face, pname, params"))
o.effects("glMaterialx{v,vOES}", run("material_v", "face, pname, param"))
o.effects("glColorMaterial", run("color_material", "face, mode"))
o.effects("glShadeModel", set_("context.GL_SHADE_MODEL", "mode"))
o.effects("glFog{f,i,x,xOES} glFogx{v,vOES}", set_("context[pname]", "param"))
o.effects("glFog{f,i}v", set_("context[pname]", "params"))
o.effects("glClipPlane{,x,fOES,xOES}", run("clip_plane", "plane, equation"))
o.effects("glClipPlanef", run("clip_plane", "p, eqn"))
o.effects("glAlphaFunc{,x,xOES}", set_("context.GL_ALPHA_TEST_FUNC", "func"), run("alpha_ref", "ref"))

o.effects("glTexEnv{f,i,x,xOES}", run("tex_env", "target, pname, param"))
o.effects("glTexEnv{f,i}v glTexEnvx{v,vOES}", run("tex_env_v", "target, pname, params"))
o.effects("glTexGen{d,f,i}", run("tex_gen", "coord, pname, param"))
o.effects("glTexGen{d,f,i}v", run("tex_gen_v", "coord, pname, params"))

# ---- current values ----------------------------------------------------------------------------------------

o.effects("glColor3{d,f}", run("color", "red, green, blue, 1"))
o.effects("glColor4{d,f,x,xOES}", run("color", "red, green, blue, alpha"))
for letters, scale in (("b", 127), ("s", 32767), ("i", 0x7FFFFFFF), ("ub", 255), ("us", 65535), ("ui", 0xFFFFFFFF)):
    o.effects(f"glColor3{letters}", run("color_n", f"red, green, blue, {scale}, {scale}"))
    o.effects(f"glColor4{letters}", run("color_n", f"red, green, blue, alpha, {scale}"))
    o.effects(f"glColor3{letters}v glColor4{letters}v", run("color_v", f"v, {scale}"))
    o.effects(f"glSecondaryColor3{letters}", run("secondary_color_n", f"red, green, blue, {scale}"))
    o.effects(f"glSecondaryColor3{letters}v", run("secondary_color_v", f"v, {scale}"))
o.effects("glColor{3,4}{d,f}v", run("color_v", "v, 1"))
o.effects("glSecondaryColor3{d,f}", set_("context.GL_CURRENT_SECONDARY_COLOR", "red, green, blue, 1"))
o.effects("glSecondaryColor3{d,f}v", run("secondary_color_v", "v, 1"))
o.effects("glNormal3{d,f,x,xOES}", set_("context.GL_CURRENT_NORMAL", "nx, ny, nz"))
o.effects("glNormal3{d,f}v", set_("context.GL_CURRENT_NORMAL", "v"))
for letters, scale in (("b", 127), ("s", 32767), ("i", 0x7FFFFFFF)):
    o.effects(f"glNormal3{letters}", run("normal_n", f"nx, ny, nz, {scale}"))
    o.effects(f"glNormal3{letters}v", run("normal_v", f"v, {scale}"))
o.effects("glFogCoord{d,f}{,v}", set_("context.GL_CURRENT_FOG_COORD", "coord"))
o.effects("glIndex{d,f,i,s,ub}{,v}", set_("context.GL_CURRENT_INDEX", "c"))
o.effects("glEdgeFlag{,v}", set_("context.GL_EDGE_FLAG", "flag"))
for n, names in ((1, "s, 0, 0, 1"), (2, "s, t, 0, 1"), (3, "s, t, r, 1"), (4, "s, t, r, q")):
    o.effects(f"glTexCoord{n}{{d,f,i,s}}", run("tex_coord", f"0x84C0, {names}"))
    o.effects(f"glMultiTexCoord{n}{{d,f,i,s}}", run("tex_coord", f"target, {names}"))
o.effects("glTexCoord{1,2,3,4}{d,f,i,s}v", run("tex_coord_v", "0x84C0, v"))
o.effects("glMultiTexCoord4x{,OES}", run("tex_coord", "texture, s, t, r, q"))
o.effects("glMultiTexCoord{1,2,3,4}{d,f,i,s}v", run("tex_coord_v", "target, v"))
COORDINATES = ((1, "x, 0, 0, 1"), (2, "x, y, 0, 1"), (3, "x, y, z, 1"), (4, "x, y, z, w"))
for n, names in COORDINATES:
    attributes = f"glVertexAttrib{n}{{d,f,s}} glVertexAttribI{n}{{i,ui}} glVertexAttribL{n}d"
    o.effects(attributes, run("attribute", f"index, {names}"))
o.effects("glVertexAttrib{1,2,3}{d,f,s}v glVertexAttrib4{b,d,f,i,s,ub,us,ui}v", run("attribute_v", "index, v, 0"))
o.effects("glVertexAttribI{1,2,3,4}{i,ui}v glVertexAttribI4{b,s,ub,us}v", run("attribute_v", "index, v, 0"))
o.effects("glVertexAttribL{1,2,3,4}dv", run("attribute_v", "index, v, 0"))
for letters, scale in (("b", 127), ("s", 32767), ("i", 0x7FFFFFFF), ("ub", 255), ("us", 65535), ("ui", 0xFFFFFFFF)):
    o.effects(f"glVertexAttrib4N{letters}v", run("attribute_v", f"index, v, {scale}"))
for form, packed in (("ui", "packed"), ("uiv", "packed_v")):
    for n in (1, 2, 3, 4):
        o.effects(f"glVertexAttribP{n}{form}", run(packed, f"4, index, type, normalized, {n}, value"))
        o.effects(f"glTexCoordP{n}{form}", run(packed, f"5, 0x84C0, type, 0, {n}, coords"))
        o.effects(f"glMultiTexCoordP{n}{form}", run(packed, f"5, texture, type, 0, {n}, coords"))
    for n in (3, 4):
        o.effects(f"glColorP{n}{form}", run(packed, f"0, 0, type, 1, {n}, color"))
    o.effects(f"glNormalP3{form}", run(packed, "1, 0, type, 1, 3, coords"))
    o.effects(f"glSecondaryColorP3{form}", run(packed, "2, 0, type, 1, 3, color"))
    o.effects(f"glVertexP{{2,3,4}}{form}", run(packed, "3, 0, type, 0, 0, value"))
o.effects("glVertexAttrib4Nub", run("attribute_n", "index, x, y, z, w, 255"))
o.effects("glVertex{2,3,4}{d,f,i,s}{,v}", run("vertex"))
o.effects("glBegin", run("begin", "mode"))
o.effects("glEnd", run("end"))
o.effects("glRect{d,f,i,s}{,v}", run("rect"))
for n, names in COORDINATES[1:]:
    o.effects(f"glRasterPos{n}{{d,f,i,s}}", run("raster_position", names))
o.effects("glRasterPos{2,3,4}{d,f,i,s}v", run("raster_position_v", "v"))
o.effects("glWindowPos2{d,f,i,s}", run("window_position", "x, y, 0"))
o.effects("glWindowPos3{d,f,i,s}", run("window_position", "x, y, z"))
o.effects("glWindowPos{2,3}{d,f,i,s}v", run("window_position_v", "v"))
o.effects("glEvalCoord{1,2}{d,f}{,v} glEvalPoint{1,2}", run("eval_vertex"))
o.effects("glEvalMesh{1,2}", run("eval_mesh"))
o.effects("glMapGrid1{d,f}", set_("context.GL_MAP1_GRID_SEGMENTS", "un"), set_("context.GL_MAP1_GRID_DOMAIN", "u1, u2"))
o.effects(
    "glMapGrid2{d,f}",
    set_("context.GL_MAP2_GRID_SEGMENTS", "un, vn"),
    set_("context.GL_MAP2_GRID_DOMAIN", "u1, u2, v1, v2"),
)
o.effects("glMap1{d,f}", run("map1", "target, u1, u2, order, points"))
o.effects("glMap2{d,f}", run("map2", "target, u1, u2, uorder, v1, v2, vorder, points"))
o.effects("glPixelTransfer{f,i}", set_("context[pname]", "param"))
o.effects("glPixelMap{fv,uiv,usv}", run("pixel_map", "map, mapsize, values"))
o.effects("glPixelZoom", set_("context.GL_ZOOM_X", "xfactor"), set_("context.GL_ZOOM_Y", "yfactor"))
o.effects("glPolygonStipple", run("polygon_stipple", "mask"))

# ---- the imaging subset -------------------------------------------------------------------------------------

o.effects("glColorTable", run("color_table", "target, internalformat, width, table"))
o.effects("glColorSubTable", run("color_sub_table", "target, start, count, data"))
o.effects("glCopyColorTable", run("copy_color_table", "target, internalformat, width"))
o.effects("glCopyColorSubTable", run("copy_color_sub_table", "target"))
o.effects("glConvolutionFilter1D", run("convolution_filter", "target, internalformat, width, 1, image"))
o.effects("glConvolutionFilter2D", run("convolution_filter", "target, internalformat, width, height, image"))
o.effects("glSeparableFilter2D", run("separable_filter", "target, internalformat, width, height, row, column"))
o.effects("glCopyConvolutionFilter1D", run("copy_convolution_filter", "target, internalformat, width, 1"))
o.effects("glCopyConvolutionFilter2D", run("copy_convolution_filter", "target, internalformat, width, height"))
o.effects("glConvolutionParameter{f,i}", run("imaging_parameter", "target, pname, params"))
o.effects("glConvolutionParameterxOES", run("imaging_parameter", "target, pname, param"))
o.effects(
    "gl{ColorTable,Convolution}Parameter{f,i}v glConvolutionParameterxvOES",
    run("imaging_parameter_v", "target, pname, params"),
)
o.effects("glHistogram", run("histogram", "target, width, internalformat, sink"))
o.effects("glMinmax", run("minmax", "target, internalformat, sink"))
o.effects("glReset{Histogram,Minmax}", run("reset_counts", "target"))
o.effects("glGet{,n}{Histogram,Minmax} glGet{Histogram,Minmax}EXT", run("get_counts", "target, reset"))

# ---- attribute stacks, lists, selection --------------------------------------------------------------------

o.effects("glPushAttrib", run("push_attrib", "mask"))
o.effects("glPopAttrib", run("pop_attrib"))
o.effects("glPushClientAttrib", run("push_client_attrib", "mask"))
o.effects("glPopClientAttrib", run("pop_client_attrib"))
o.effects("glNewList", run("new_list", "list, mode"))
o.effects("glEndList", run("end_list"))
o.effects("glGenLists", run("gen_lists", "result, range"))
o.effects("glDeleteLists", run("delete_lists", "list, range"))
o.effects("glListBase", set_("context.GL_LIST_BASE", "base"))
o.effects("glCallList", run("call_list", "list"))
o.effects("glCallLists", run("call_lists", "n, type, lists"))
o.effects("glRenderMode", set_("context.GL_RENDER_MODE", "mode"), run("render_mode"))
o.effects(
    "glFeedbackBuffer", set_("context.GL_FEEDBACK_BUFFER_SIZE", "size"), set_("context.GL_FEEDBACK_BUFFER_TYPE", "type")
)
o.effects("glSelectBuffer", set_("context.GL_SELECTION_BUFFER_SIZE", "size"))
o.effects("glInitNames", run("names", "-1000000"))
o.effects("glPushName", run("names", "1"))
o.effects("glPopName", run("names", "-1"))
o.effects("glLoadName", run("names", "0"))
o.effects("glPassThrough", run("pass_through"))

# ---- rasterisation and fragments ---------------------------------------------------------------------------

o.effects("glViewport", run("viewport", "x, y, width, height"))
o.effects("glViewportIndexedf", set_("context.GL_VIEWPORT[index]", "x, y, w, h"))
o.effects("glViewportIndexedfv", set_("context.GL_VIEWPORT[index]", "v"))
o.effects("glViewportArrayv", run("viewport_array", "first, count, v"))
o.effects("glDepthRange{,f,x,xOES}", run("depth_range", "n, f"))
o.effects("glDepthRangeIndexed", set_("context.GL_DEPTH_RANGE[index]", "n, f"))
o.effects("glDepthRangeArrayv", run("depth_range_array", "first, count, v"))
o.effects(
    "glScissor",
    set_("context.GL_SCISSOR_BOX[*]", "x, y, width, height", when="(width >= 0) & (height >= 0)"),
)
o.effects("glScissorIndexed", set_("context.GL_SCISSOR_BOX[index]", "left, bottom, width, height"))
o.effects("glScissorIndexedv", set_("context.GL_SCISSOR_BOX[index]", "v"))
o.effects("glScissorArrayv", run("scissor_array", "first, count, v"))
o.effects("glClipControl", set_("context.GL_CLIP_ORIGIN", "origin"), set_("context.GL_CLIP_DEPTH_MODE", "depth"))
o.effects("glColorMask", set_("context.GL_COLOR_WRITEMASK[*]", "red, green, blue, alpha"))
o.effects("glColorMaski", set_("context.GL_COLOR_WRITEMASK[index]", "r, g, b, a"))
o.effects("glDepthMask", set_("context.GL_DEPTH_WRITEMASK", "flag"))
o.effects("glIndexMask", set_("context.GL_INDEX_WRITEMASK", "mask"))
o.effects(
    "glStencilMask", set_("context.GL_STENCIL_WRITEMASK", "mask"), set_("context.GL_STENCIL_BACK_WRITEMASK", "mask")
)
front, back = "face != GL_BACK", "face != GL_FRONT"
o.effects(
    "glStencilMaskSeparate",
    set_("context.GL_STENCIL_WRITEMASK", "mask", when=front),
    set_("context.GL_STENCIL_BACK_WRITEMASK", "mask", when=back),
)


def stencil(side: str, when: str | None = None) -> tuple[Effect, ...]:
    """Return the effects of a stencil function on one side ("" or "BACK_")."""
    return (
        set_(f"context.GL_STENCIL_{side}FUNC", "func", when=when),
        set_(f"context.GL_STENCIL_{side}REF", "ref", when=when),
        set_(f"context.GL_STENCIL_{side}VALUE_MASK", "mask", when=when),
    )


def stencil_op(side: str, names: str, when: str | None = None) -> tuple[Effect, ...]:
    """Return the effects of stencil operations on one side; `names` are the three parameters."""
    fields = ("FAIL", "PASS_DEPTH_FAIL", "PASS_DEPTH_PASS")
    return tuple(
        set_(f"context.GL_STENCIL_{side}{field}", name, when=when)
        for field, name in zip(fields, names.split(), strict=True)
    )


o.effects("glStencilFunc", *stencil(""), *stencil("BACK_"))
o.effects("glStencilFuncSeparate", *stencil("", front), *stencil("BACK_", back))
o.effects("glStencilOp", *stencil_op("", "fail zfail zpass"), *stencil_op("BACK_", "fail zfail zpass"))
o.effects(
    "glStencilOpSeparate",
    *stencil_op("", "sfail dpfail dppass", front),
    *stencil_op("BACK_", "sfail dpfail dppass", back),
)
o.effects("glDepthFunc", set_("context.GL_DEPTH_FUNC", "func", when="(func >= GL_NEVER) & (func <= GL_ALWAYS)"))
o.effects("glDepthBoundsEXT", set_("context.GL_DEPTH_BOUNDS_EXT", "zmin, zmax"))
o.effects("glBlendColor{,xOES}", set_("context.GL_BLEND_COLOR", "red, green, blue, alpha"))


def blend(element: str, names: str) -> tuple[Effect, ...]:
    """Return the effects of blend factors: `names` are the four parameters."""
    fields = ("SRC_RGB", "DST_RGB", "SRC_ALPHA", "DST_ALPHA")
    return tuple(
        set_(f"context.GL_BLEND_{field}[{element}]", name) for field, name in zip(fields, names.split(), strict=True)
    )


def equation(element: str, rgb: str, alpha: str) -> tuple[Effect, ...]:
    """Return the effects of blend equations."""
    return (
        set_(f"context.GL_BLEND_EQUATION_RGB[{element}]", rgb),
        set_(f"context.GL_BLEND_EQUATION_ALPHA[{element}]", alpha),
    )


o.effects("glBlendFunc", *blend("*", "sfactor dfactor sfactor dfactor"))
o.effects("glBlendFuncSeparate", *blend("*", "sfactorRGB dfactorRGB sfactorAlpha dfactorAlpha"))
o.effects("glBlendFunci", *blend("buf", "src dst src dst"))
o.effects("glBlendFuncSeparatei", *blend("buf", "srcRGB dstRGB srcAlpha dstAlpha"))
o.effects("glBlendEquation", *equation("*", "mode", "mode"))
o.effects("glBlendEquationSeparate", *equation("*", "modeRGB", "modeAlpha"))
o.effects("glBlendEquationi", *equation("buf", "mode", "mode"))
o.effects("glBlendEquationSeparatei", *equation("buf", "modeRGB", "modeAlpha"))
o.effects("glLogicOp", set_("context.GL_LOGIC_OP_MODE", "opcode"))
o.effects("glCullFace", set_("context.GL_CULL_FACE_MODE", "mode"))
o.effects("glFrontFace", set_("context.GL_FRONT_FACE", "mode"))
o.effects("glPolygonMode", run("polygon_mode", "face, mode"))
o.effects(
    "glPolygonOffset{,x,xOES}",
    set_("context.GL_POLYGON_OFFSET_FACTOR", "factor"),
    set_("context.GL_POLYGON_OFFSET_UNITS", "units"),
)
o.effects(
    "glPolygonOffsetClamp",
    set_("context.GL_POLYGON_OFFSET_FACTOR", "factor"),
    set_("context.GL_POLYGON_OFFSET_UNITS", "units"),
    set_("context.GL_POLYGON_OFFSET_CLAMP", "clamp"),
)
o.effects("glLineWidth{,x,xOES}", run("line_width", "width"))
o.effects(
    "glLineStipple",
    set_("context.GL_LINE_STIPPLE_REPEAT", "factor"),
    set_("context.GL_LINE_STIPPLE_PATTERN", "pattern"),
)
o.effects("glPointSize{,x,xOES}", run("point_size", "size"))
o.effects("glPointParameter{f,i,x,xOES}", set_("context[pname]", "param"))
o.effects("glPointParameter{f,i}v glPointParameterx{v,vOES}", set_("context[pname]", "params"))
o.effects(
    "glSampleCoverage{,x,xOES}",
    run("sample_coverage", "value"),
    set_("context.GL_SAMPLE_COVERAGE_INVERT", "invert"),
)
o.effects("glSampleMaski", set_("context.GL_SAMPLE_MASK_VALUE[maskNumber]", "mask"))
o.effects("glMinSampleShading", run("min_sample_shading", "value"))
o.effects("glProvokingVertex", set_("context.GL_PROVOKING_VERTEX", "mode"))
o.effects("glPatchParameteri", set_("context.GL_PATCH_VERTICES", "value"))
o.effects("glPatchParameterfv", set_("context[pname]", "values"))
o.effects("glPrimitiveRestartIndex", set_("context.GL_PRIMITIVE_RESTART_INDEX", "index"))
o.effects(
    "glPrimitiveBoundingBox",
    set_("context.GL_PRIMITIVE_BOUNDING_BOX", "minX, minY, minZ, minW, maxX, maxY, maxZ, maxW"),
)
o.effects("glClampColor", run("clamp_color", "target, clamp"))
o.effects("glHint", set_("context[target]", "mode"))
o.effects("glClearColor{,x,xOES,IiEXT,IuiEXT}", set_("context.GL_COLOR_CLEAR_VALUE", "red, green, blue, alpha"))
o.effects("glClearDepth{,x,xOES}", run("clear_depth", "depth"))
o.effects("glClearDepthf", run("clear_depth", "d"))
o.effects("glClearStencil", set_("context.GL_STENCIL_CLEAR_VALUE", "s"))
o.effects("glClearIndex", set_("context.GL_INDEX_CLEAR_VALUE", "c"))
o.effects("glClearAccum", set_("context.GL_ACCUM_CLEAR_VALUE", "red, green, blue, alpha"))
o.effects("glPixelStore{f,i}", run("pixel_store", "pname, param"))
