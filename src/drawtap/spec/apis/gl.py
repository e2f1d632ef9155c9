"""OpenGL, OpenGL ES and OpenGL SC: one registry, one set of commands.

Here is what the versions of OpenGL need. `gles1` and `gles2` add what only OpenGL ES has, `gl_extensions` the
extensions, `gl_state` what kinds of commands there are, `gl_effects` and
`gl_object_effects` what they do to state.
"""

from dataclasses import replace

from drawtap.spec.apis import (
    gl_effects,
    gl_extensions,
    gl_groups,
    gl_object_effects,
    gl_shapes,
    gl_state,
    gles1,
    gles2,
)
from drawtap.spec.model import (
    Array,
    BufferOffset,
    ClientArray,
    CompressedImage,
    Image,
    Opaque,
    String,
    Strings,
)
from drawtap.spec.overlay import Overlay
from drawtap.spec.registry import OVERLAYS

o = OVERLAYS.register("gl")(
    Overlay(
        "gl",
        xml="gl.xml",
        libraries=("libGL.so.1", "libOpenGL.so.0", "libGLESv2.so.2", "libGLESv1_CM.so.1"),
    )
)

one_in, one_out = Array("1"), Array("1", out=True)


def packed(size: str) -> BufferOffset:
    """Return the rule for read-backs whose extent only the driver knows."""
    return BufferOffset("GL_PIXEL_PACK_BUFFER", Array(size, out=True))


# ---- how many values a parameter name stands for ------------------------------------------------------------

o.table("light_values", {"GL_AMBIENT GL_DIFFUSE GL_SPECULAR GL_POSITION": 4, "GL_SPOT_DIRECTION": 3}, default=1)
o.table(
    "material_values",
    {"GL_AMBIENT GL_DIFFUSE GL_SPECULAR GL_EMISSION GL_AMBIENT_AND_DIFFUSE": 4, "GL_COLOR_INDEXES": 3},
    default=1,
)
o.table("light_model_values", {"GL_LIGHT_MODEL_AMBIENT": 4}, default=1)
o.table("fog_values", {"GL_FOG_COLOR": 4}, default=1)
o.table("tex_env_values", {"GL_TEXTURE_ENV_COLOR": 4}, default=1)
o.table(
    "tex_gen_values",
    {
        "GL_OBJECT_PLANE GL_EYE_PLANE GL_OBJECT_POINT_SGIS GL_EYE_POINT_SGIS": 4,
        "GL_OBJECT_LINE_SGIS GL_EYE_LINE_SGIS": 7,
    },
    default=1,
)
o.table(
    "tex_parameter_values",
    {
        "GL_TEXTURE_BORDER_COLOR GL_TEXTURE_SWIZZLE_RGBA GL_TEXTURE_CROP_RECT_OES": 4,
        "GL_POST_TEXTURE_FILTER_BIAS_SGIX GL_POST_TEXTURE_FILTER_SCALE_SGIX": 4,
        "GL_TEXTURE_CLIPMAP_VIRTUAL_DEPTH_SGIX": 3,
        "GL_TEXTURE_CLIPMAP_CENTER_SGIX GL_TEXTURE_CLIPMAP_OFFSET_SGIX": 2,
    },
    default=1,
)
o.table("point_parameter_values", {"GL_POINT_DISTANCE_ATTENUATION": 3}, default=1)
o.table("patch_values", {"GL_PATCH_DEFAULT_OUTER_LEVEL": 4, "GL_PATCH_DEFAULT_INNER_LEVEL": 2}, default=1)
o.table("program_values", {"GL_COMPUTE_WORK_GROUP_SIZE": 3}, default=1)
o.table("vertex_attrib_values", {"GL_CURRENT_VERTEX_ATTRIB": 4}, default=1)
o.table("imaging_values", {
    "GL_COLOR_TABLE_SCALE GL_COLOR_TABLE_BIAS": 4,
    "GL_CONVOLUTION_BORDER_COLOR GL_CONVOLUTION_FILTER_SCALE GL_CONVOLUTION_FILTER_BIAS": 4,
}, default=1)  # fmt: skip
o.table(
    "internalformat_values",
    # as many sample counts or page sizes as a driver may list; the application's `count` bounds them
    {"GL_SAMPLES GL_VIRTUAL_PAGE_SIZE_X_ARB GL_VIRTUAL_PAGE_SIZE_Y_ARB GL_VIRTUAL_PAGE_SIZE_Z_ARB": 64,
     "GL_SURFACE_COMPRESSION_EXT": 64},
    default=1,
)  # fmt: skip

# ---- fixed function -----------------------------------------------------------------------------------------

o.data("glLight{f,i}v", params=Array("light_values(pname)"))
o.data("glGetLight{f,i}v", params=Array("light_values(pname)", out=True))
o.data("glMaterial{f,i}v", params=Array("material_values(pname)"))
o.data("glGetMaterial{f,i}v", params=Array("material_values(pname)", out=True))
o.data("glLightModel{f,i}v", params=Array("light_model_values(pname)"))
o.data("glFog{f,i}v", params=Array("fog_values(pname)"))
o.data("glTexEnv{f,i}v", params=Array("tex_env_values(pname)"))
o.data("glGetTexEnv{f,i}v", params=Array("tex_env_values(pname)", out=True))
o.data("glTexGen{d,f,i}v", params=Array("tex_gen_values(pname)"))
o.data("glGetTexGen{d,f,i}v", params=Array("tex_gen_values(pname)", out=True))
o.data("glPointParameter{f,i}v", params=Array("point_parameter_values(pname)"))
o.data("glMap1{d,f}", points=Array("map1_size(target, stride, order)"))
o.data("glMap2{d,f}", points=Array("map2_size(target, ustride, uorder, vstride, vorder)"))
o.data("glGetMap{d,f,i}v", v=Array("map_get_count(target, query)", out=True))
o.data("glGetnMapdv", v=Array("min(bufSize // 8, map_get_count(target, query))", out=True))
o.data("glGetnMap{f,i}v", v=Array("min(bufSize // 4, map_get_count(target, query))", out=True))
o.data("glCallLists", lists=Array("n * call_lists_size(type)"))
o.data("glFeedbackBuffer glSelectBuffer", buffer=Opaque("memory that later draws write"))
o.data("glPixelMap{fv,uiv,usv}", values=BufferOffset("GL_PIXEL_UNPACK_BUFFER", Array("mapsize")))
o.data("glGetPixelMap{fv,uiv,usv}", values=packed("pixel_map_size(map)"))
o.data("glGetnPixelMap{fv,uiv}", values=packed("min(bufSize // 4, pixel_map_size(map))"))
o.data("glGetnPixelMapusv", values=packed("min(bufSize // 2, pixel_map_size(map))"))
o.data("glPolygonStipple", mask=Image("GL_COLOR_INDEX", "GL_BITMAP", "32", "32"))
o.data("glGetPolygonStipple", mask=Image("GL_COLOR_INDEX", "GL_BITMAP", "32", "32", out=True))
o.data("glGetnPolygonStipple", pattern=Image("GL_COLOR_INDEX", "GL_BITMAP", "32", "32", out=True, limit="bufSize"))
o.data("glBitmap", bitmap=Image("GL_COLOR_INDEX", "GL_BITMAP", "width", "height"))
o.data("glAreTexturesResident", residences=Array("n", out=True, actual="0 if result else n"))

# ---- vertex arrays and draws --------------------------------------------------------------------------------

o.data(
    "gl{Vertex,Normal,Color,Index,TexCoord,EdgeFlag,FogCoord,SecondaryColor}Pointer "
    "glVertexAttrib{,I,L}Pointer glInterleavedArrays",
    pointer=ClientArray(),
)
indices = BufferOffset("GL_ELEMENT_ARRAY_BUFFER", Array("count * index_size(type)"))
o.data(
    "glDrawElements{,BaseVertex,Instanced,InstancedBaseVertex,InstancedBaseInstance,InstancedBaseVertexBaseInstance}"
    " glDrawRangeElements{,BaseVertex}",
    indices=indices,
)
# Addresses or offsets; index memory of the application is recorded beside the call.
o.data("glMultiDrawElements{,BaseVertex}", indices=Array("drawcount", element="ptr"), count=Array("drawcount"))


def indirect(one: int, count: str = "") -> BufferOffset:
    """Return the rule for draw parameters of `one` draw in bytes: `count` of them, `stride` apart (0: packed)."""
    size = f"(({count} - 1) * (stride if stride else {one}) + {one}) if {count} > 0 else 0" if count else str(one)
    return BufferOffset("GL_DRAW_INDIRECT_BUFFER", Array(size))


o.data("glDrawArraysIndirect", indirect=indirect(16))
o.data("glDrawElementsIndirect", indirect=indirect(20))
for form, count in (("", "drawcount"), ("Count", "maxdrawcount")):
    o.data(f"glMultiDrawArraysIndirect{form}", indirect=indirect(16, count))
    o.data(f"glMultiDrawElementsIndirect{form}", indirect=indirect(20, count))

# ---- pixels -------------------------------------------------------------------------------------------------

pixels_1d = Image("format", "type", "width", dimensions=1)
pixels_2d = Image("format", "type", "width", "height")
pixels_3d = Image("format", "type", "width", "height", "depth", dimensions=3)
o.data("glTex{Image,SubImage}1D glTextureSubImage1D", pixels=pixels_1d)
o.data("glTex{Image,SubImage}2D glTextureSubImage2D glDrawPixels", pixels=pixels_2d)
o.data("glTex{Image,SubImage}3D glTextureSubImage3D", pixels=pixels_3d)
o.data("glCompressedTex{Image,SubImage}{1,2,3}D glCompressedTextureSubImage{1,2,3}D", data=CompressedImage("imageSize"))
o.data("glReadPixels", pixels=Image("format", "type", "width", "height", out=True))
o.data("glReadnPixels", data=Image("format", "type", "width", "height", out=True, limit="bufSize"))


o.data("glGetTexImage", pixels=packed("tex_image_size(target, level, format, type)"))
o.data("glGetnTexImage", pixels=packed("min(bufSize, tex_image_size(target, level, format, type))"))
o.data("glGetTextureImage", pixels=packed("min(bufSize, named_tex_image_size(texture, level, format, type))"))
o.data(
    "glGetTextureSubImage",
    pixels=Image("format", "type", "width", "height", "depth", dimensions=3, out=True, limit="bufSize"),
)
o.data("glGetCompressedTexImage", img=CompressedImage("compressed_image_size(target, level)", out=True))
o.data("glGetnCompressedTexImage", pixels=CompressedImage("min(bufSize, compressed_image_size(target, lod))", out=True))
o.data(
    "glGetCompressedTexture{Image,SubImage}",
    pixels=CompressedImage("min(bufSize, named_compressed_image_size(texture, level))", out=True),
)
o.data("glClearTex{Image,SubImage}", data=Array("pixel_size(format, type)"))

# ---- the imaging subset -------------------------------------------------------------------------------------

o.data("glColorTable", table=pixels_1d)
o.data("glColorSubTable", data=Image("format", "type", "count", dimensions=1))
o.data("glConvolutionFilter1D", image=pixels_1d)
o.data("glConvolutionFilter2D", image=pixels_2d)
o.data("glSeparableFilter2D", row=pixels_1d, column=Image("format", "type", "height", dimensions=1))
line_out = Image("format", "type", "imaging_width(target)", dimensions=1, out=True)
filter_2d = Image("format", "type", "imaging_width(target)", "max(imaging_height(target), 1)", out=True)
for robust in (False, True):
    name, limit = ("glGetn", "bufSize") if robust else ("glGet", None)
    o.data(f"{name}ColorTable", table=replace(line_out, limit=limit))
    o.data(f"{name}ConvolutionFilter", image=replace(filter_2d, limit=limit))
    o.data(f"{name}Histogram", values=replace(line_out, limit=limit))
    o.data(f"{name}Minmax", values=replace(line_out, width="2", limit=limit))
    o.data(
        f"{name}SeparableFilter",
        row=replace(line_out, limit="rowBufSize" if robust else None),
        column=replace(line_out, width="imaging_height(target)", limit="columnBufSize" if robust else None),
        span=Opaque("unused"),
    )
o.data("glColorTableParameter{f,i}v glConvolutionParameter{f,i}v", params=Array("imaging_values(pname)"))
o.data("glGet{ColorTable,Convolution,Histogram,Minmax}Parameter{f,i}v", params=Array("imaging_values(pname)", out=True))

# ---- textures, samplers, renderbuffers, framebuffers --------------------------------------------------------

o.data("glTexParameter{f,i,Ii,Iui}v glTextureParameter{Ii,Iui}v", params=Array("tex_parameter_values(pname)"))
o.data("glTextureParameter{f,i}v glSamplerParameter{f,i,Ii,Iui}v", param=Array("tex_parameter_values(pname)"))
o.data(
    "glGetTexParameter{f,i,Ii,Iui}v glGetTextureParameter{f,i,Ii,Iui}v glGetSamplerParameter{f,i,Ii,Iui}v",
    params=Array("tex_parameter_values(pname)", out=True),
)
o.data("glGetTexLevelParameter{f,i}v glGetTextureLevelParameter{f,i}v", params=one_out)
o.data("glGetMultisamplefv", val=Array("2", out=True))
o.data("glGet{,Named}RenderbufferParameteriv glGet{,Named}FramebufferAttachmentParameteriv", params=one_out)
o.data("glGetFramebufferParameteriv", params=one_out)
o.data("glGetNamedFramebufferParameteriv", param=one_out)
o.data(
    "glGetInternalformat{i,i64}v", params=Array("count", out=True, actual="min(count, internalformat_values(pname))")
)
clear_value = Array("clear_components(buffer)")
o.data("glClearBuffer{f,i,ui}v glClearNamedFramebuffer{f,i,ui}v", value=clear_value)

# ---- buffers ------------------------------------------------------------------------------------------------

o.data("glClear{,Named}Buffer{Data,SubData}", data=Array("pixel_size(format, type)"))
o.data("glGet{,Named}BufferParameter{i,i64}v", params=one_out)
o.data("glMap{,Named}Buffer{,Range}", returns=Opaque("mapped memory"))

# ---- queries, transform feedback, vertex array objects ------------------------------------------------------

o.data("glGetQueryiv glGetQueryIndexediv", params=one_out)
# With a query buffer bound the driver writes there, and the pointer is an offset.
o.data("glGetQueryObject{i,ui,i64,ui64}v", params=BufferOffset("GL_QUERY_BUFFER", Array("1", out=True)))
o.data("glGetTransformFeedback{i_,i64_,i}v", param=one_out)
o.data("glGetVertexArray{i,Indexedi,Indexed64i}v", param=one_out)
o.data("glGetVertexAttrib{d,f,i,Ii,Iui,Ld}v", params=Array("vertex_attrib_values(pname)", out=True))

# ---- shaders and programs -----------------------------------------------------------------------------------

o.data("glGetProgramiv", params=Array("program_values(pname)", out=True))
o.data("glGet{Shader,ProgramPipeline,ProgramInterface}iv", params=one_out)
o.data(
    "glGetActiveUniformBlockiv",
    params=Array(
        "uniform_block_uniforms(program, uniformBlockIndex) if pname == GL_UNIFORM_BLOCK_ACTIVE_UNIFORM_INDICES else 1",
        out=True,
    ),
)
o.data(
    "glGetActiveAtomicCounterBufferiv",
    params=Array(
        "atomic_counters(program, bufferIndex) "
        "if pname == GL_ATOMIC_COUNTER_BUFFER_ACTIVE_ATOMIC_COUNTER_INDICES else 1",
        out=True,
    ),
)
o.data(
    "glGetActiveSubroutineUniformiv",
    values=Array(
        "compatible_subroutines(program, shadertype, index) if pname == GL_COMPATIBLE_SUBROUTINES else 1", out=True
    ),
)
o.data("glGetActiveUniformsiv", params=Array("uniformCount", out=True))
o.data("glGetUniformIndices", uniformNames=Strings("uniformCount"), uniformIndices=Array("uniformCount", out=True))
o.data("glGetUniform{d,f,i,ui}v", params=Array("uniform_size(program, location)", out=True))
o.data("glGetnUniform{f,i,ui}v", params=Array("min(bufSize // 4, uniform_size(program, location))", out=True))
o.data("glGetnUniformdv", params=Array("min(bufSize // 8, uniform_size(program, location))", out=True))
o.data("glGetAttachedShaders", shaders=Array("maxCount", out=True, actual="deref(count) if count else maxCount"))
o.data("glGetProgramBinary", binary=Array("bufSize", out=True, actual="deref(length) if length else bufSize"))
o.data("glGetProgramResourceiv", params=Array("count", out=True, actual="deref(length) if length else count"))
o.data("glPatchParameterfv", values=Array("patch_values(pname)"))

# ---- gets ---------------------------------------------------------------------------------------------------

o.data("glGet{Boolean,Double,Float,Integer,Integer64}v", data=Array("get_count(pname)", out=True))
o.data("glGet{Boolean,Double,Float,Integer,Integer64}i_v", data=Array("get_indexed_count(target)", out=True))
o.data("glGetString glGetStringi", returns=String())
o.data("glGetSynciv", values=Array("count", out=True, actual="deref(length) if length else count"))
o.data("glViewportArrayv glScissorArrayv", v=Array("count * 4"))
o.data("glDepthRangeArrayv", v=Array("count * 2"))

# ---- debug --------------------------------------------------------------------------------------------------

o.data("glDebugMessageCallback", userParam=Opaque("user data"))
o.data("glDebugMessageInsert", buf=String(length="length"))
o.data("glPushDebugGroup", message=String(length="length"))
o.data("glObjectLabel glObjectPtrLabel", label=String(length="length"))
o.data("glObjectPtrLabel glGetObjectPtrLabel", ptr=Opaque("sync object"))
written = Array("count", out=True, actual="result")
o.data(
    "glGetDebugMessageLog",
    sources=written,
    types=written,
    ids=written,
    severities=written,
    lengths=written,
    messageLog=Array("bufSize", out=True, actual="sum(lengths, result) if lengths else bufSize"),
)

for part in (gles1, gles2, gl_extensions, gl_groups, gl_state, gl_shapes, gl_effects, gl_object_effects):
    o.include(part.PART)
