"""Extensions of OpenGL and OpenGL ES whose pointers the registry leaves open.

Commands that the registry calls aliases of core commands have the rules of those and are not named here.
"""

from drawtap.spec.expr import expanded
from drawtap.spec.model import (
    Array,
    BufferOffset,
    ClientArray,
    CompressedImage,
    Image,
    Opaque,
    String,
)
from drawtap.spec.overlay import Overlay

PART = o = Overlay("gl", xml="gl.xml")

one_in, one_out = Array("1"), Array("1", out=True)
pixels_1d = Image("format", "type", "width", dimensions=1)
pixels_2d = Image("format", "type", "width", "height")
pixels_3d = Image("format", "type", "width", "height", "depth", dimensions=3)

# ---- the same as core, without the registry saying so -----------------------------------------------------------

o.like("glConvolutionParameterxvOES", "glConvolutionParameterfv")
o.like("glGetConvolutionParameter{f,i}vEXT", "glGetConvolutionParameterfv")
o.like("glGetHistogramParameter{f,i}vEXT", "glGetHistogramParameterfv")
o.like("glGetMinmaxParameter{f,i}vEXT", "glGetMinmaxParameterfv")
o.like("glGetColorTableParameter{f,i}vSGI", "glGetColorTableParameterfv")
_NAMED_ALIKE = """
    glGetColorTableSGI glGetConvolutionFilterEXT glGetSeparableFilterEXT glGetHistogramEXT glGetMinmaxEXT
    glClearNamedBufferDataEXT glClearNamedBufferSubDataEXT glGetNamedBufferParameterivEXT
    glGetNamedFramebufferAttachmentParameterivEXT glGetNamedRenderbufferParameterivEXT glMapNamedBufferEXT
    glMapNamedBufferRangeEXT glUnmapNamedBufferEXT glFlushMappedNamedBufferRangeEXT glGetNamedBufferPointervEXT
"""
for name in _NAMED_ALIKE.split():
    o.like(name, name[:-3])
o.like("glGetNamedFramebufferParameterivEXT glGetFramebufferParameterivEXT", "glGetNamedFramebufferParameteriv")
o.like("glGetFramebufferParameterivMESA", "glGetFramebufferParameteriv")
o.like("glBitmapxOES", "glBitmap")
o.like("glDepthRangeArrayfv{NV,OES}", "glDepthRangeArrayv")

robust = "{TexImage,CompressedTexImage,ColorTable,ConvolutionFilter,Histogram,Minmax,SeparableFilter,PolygonStipple}"
for kind in (robust, "Map{d,f,i}v", "PixelMap{fv,uiv,usv}", "Uniform{d,f,i,ui}v"):
    for name in expanded(kind):
        o.like(f"glGetn{name}ARB", f"glGetn{name}")

# ---- where the registry is wrong --------------------------------------------------------------------------------

for components in (1, 2, 3, 4):
    o.data(f"glVertexAttribs{components}hvNV", v=Array(f"n * {components}"))
o.data("glGetProgramivNV", params=one_out)
o.data("glCullParameter{d,f}vEXT", params=Array("4"))  # read, although not const
o.data("glSelectPerfMonitorCountersAMD", counterList=Array("numCounters"))
o.data("glDeletePerfMonitorsAMD", monitors=Array("n"))
o.data("glProgramNamedParameter4{d,f,dv,fv}NV glGetProgramNamedParameter{d,f}vNV", name=Array("len"))
o.data(
    "glGetPathParameter{f,i}vNV",
    value=Array(
        "4 if pname == GL_PATH_OBJECT_BOUNDING_BOX_NV or pname == GL_PATH_FILL_BOUNDING_BOX_NV "
        "or pname == GL_PATH_STROKE_BOUNDING_BOX_NV else 1",
        out=True,
    ),
)
o.data("glInstrumentsBufferSGIX", buffer=Opaque("memory that later calls write"))
o.data("glPixelDataRangeNV glTextureRangeAPPLE", pointer=Opaque("memory that later calls read"))

# ---- direct state access ------------------------------------------------------------------------------------

o.data("gl{MultiTex,Texture}{Image,SubImage}1DEXT", pixels=pixels_1d)
o.data("gl{MultiTex,Texture}{Image,SubImage}2DEXT", pixels=pixels_2d)
o.data("gl{MultiTex,Texture}{Image,SubImage}3DEXT", pixels=pixels_3d)
o.data("glCompressed{MultiTex,Texture}{Image,SubImage}{1,2,3}DEXT", bits=CompressedImage("imageSize"))
o.data("gl{MultiTex,Texture}Parameter{f,i,Ii,Iui}vEXT", params=Array("tex_parameter_values(pname)"))
o.data("glGet{MultiTex,Texture}Parameter{f,i,Ii,Iui}vEXT", params=Array("tex_parameter_values(pname)", out=True))
o.data("glGet{MultiTex,Texture}LevelParameter{f,i}vEXT", params=one_out)
o.data("glMultiTexEnv{f,i}vEXT", params=Array("tex_env_values(pname)"))
o.data("glGetMultiTexEnv{f,i}vEXT", params=Array("tex_env_values(pname)", out=True))
o.data("glMultiTexGen{d,f,i}vEXT", params=Array("tex_gen_values(pname)"))
o.data("glGetMultiTexGen{d,f,i}vEXT", params=Array("tex_gen_values(pname)", out=True))
o.data(
    "glGetTextureImageEXT",
    pixels=BufferOffset("GL_PIXEL_PACK_BUFFER", Array("named_tex_image_size(texture, level, format, type)", out=True)),
)
o.data("glGetCompressedTextureImageEXT", img=CompressedImage("named_compressed_image_size(texture, lod)", out=True))
o.data("glNamedBufferDataEXT glNamedBufferSubDataEXT", data=Array("size"))
o.data("glGetNamedBufferSubDataEXT", data=Array("size", out=True))
o.data("glMultiTexCoordPointerEXT", pointer=ClientArray())
o.data("glGetVertexArray{Integerv,Integeri_v}EXT", param=one_out)

# ---- vertex arrays ------------------------------------------------------------------------------------------

o.data(
    "gl{Color,EdgeFlag,Index,Normal,TexCoord,Vertex}PointerEXT gl{Binormal,Tangent,VertexWeight}PointerEXT "
    "glMatrixIndexPointerARB glWeightPointerARB glVertexAttribPointerNV gl*PointerListIBM glReplacementCodePointerSUN "
    "glElementPointer{APPLE,ATI}",
    pointer=ClientArray(),
)
o.data("glVariantPointerEXT", addr=ClientArray())
o.data("gl*PointervINTEL", pointer=ClientArray())
o.data("glVertexArrayRangeNV glFlushVertexArrayRangeAPPLE glVertexArrayRangeAPPLE", pointer=Opaque("array memory"))
o.data("glReplacementCode{ub,ui,us}vSUN", code=one_in)
modes = Array("((primcount - 1) * modestride + 4) // 4 if primcount > 0 else 0")
o.data("glMultiModeDrawArraysIBM", mode=modes, first=Array("primcount"), count=Array("primcount"))
o.data(
    "glMultiModeDrawElementsIBM",
    mode=modes,
    count=Array("primcount"),
    indices=Array("primcount", element="ptr"),
)
o.data(
    "glMultiDraw{Arrays,Elements}IndirectBindless{,Count}NV",
    # Draw parameters and the addresses of the vertex buffers, packed one after the other where stride is 0.
    indirect=BufferOffset("GL_DRAW_INDIRECT_BUFFER"),
)
o.data("glDrawCommands{,States}{,Address}NV", indirects=Array("count"), sizes=Array("count"))
o.data("glDrawCommandsStates{,Address}NV", states=Array("count"), fbos=Array("count"))
o.data("glMapVertexAttrib1{d,f}APPLE", points=Array("(order - 1) * stride + size if order > 0 else 0"))
o.data(
    "glMapVertexAttrib2{d,f}APPLE",
    points=Array("(uorder - 1) * ustride + (vorder - 1) * vstride + size if uorder > 0 and vorder > 0 else 0"),
)

# ---- shaders, programs, uniforms ----------------------------------------------------------------------------

o.data("glGetUniform{i64,ui64}v{ARB,NV}", params=Array("uniform_size(program, location)", out=True))
o.data("glGetnUniform{i64,ui64}vARB", params=Array("min(bufSize // 8, uniform_size(program, location))", out=True))
o.data("glGetProgramStringARB", string=Array("program_string_size(target)", out=True))
o.data("glGetObjectParameter{f,i}vARB", params=one_out)
o.data("glGetNamedStringivARB", params=one_out)
o.data("glGetAttachedObjectsARB", obj=Array("maxCount", out=True, actual="deref(count) if count else maxCount"))
o.data(
    "glGetVertexAttrib{Li64v,Lui64v}NV glGetVertexAttribLui64vARB",
    params=Array("vertex_attrib_values(pname)", out=True),
)
o.data("glGetVertexAttribArrayObject{f,i}vATI", params=one_out)
o.data("glVertexAttribL1ui64vARB", v=one_in)
o.data("glGetProgramSubroutineParameteruivNV", param=one_out)
o.data("glGetProgramResourcefvNV", props=Array("propCount"),
       params=Array("count", out=True, actual="deref(length) if length else count"))  # fmt: skip

# ---- sample locations, viewports ----------------------------------------------------------------------------

o.data("gl{,Named}FramebufferSampleLocationsfv{ARB,NV}", v=Array("count * 2"))
o.data("glMulticastFramebufferSampleLocationsfvNV", v=Array("count * 2"))
o.data("gl{,Named}FramebufferSamplePositionsfvAMD", values=Array("numsamples * 2"))
o.data("glGet{,Named}FramebufferParameterfvAMD", values=Array("min(numsamples * 2, size)", out=True))
o.data("glDepthRangeArraydvNV", v=Array("count * 2"))
o.data("glScissorExclusiveArrayvNV glMulticast{Scissor,Viewport}ArrayvNVX", v=Array("count * 4"))
o.data("glWindowRectanglesEXT", box=Array("count * 4"))
o.data("glGetCoverageModulationTableNV", v=Array("bufSize", out=True))

# ---- memory and semaphores ----------------------------------------------------------------------------------

o.data("glCreateMemoryObjectsEXT", memoryObjects=Array("n", out=True))
o.data("glGetMemoryObjectParameterivEXT", params=one_out)
o.data("glMemoryObjectParameterivEXT", params=one_in)
o.table("unsigned_byte_values", {"GL_DEVICE_UUID_EXT GL_DRIVER_UUID_EXT": 16, "GL_DEVICE_LUID_EXT": 8}, default=1)
o.data("glGetUnsignedBytevEXT", data=Array("unsigned_byte_values(pname)", out=True))
o.data("glGetUnsignedBytei_vEXT", data=Array("unsigned_byte_values(target)", out=True))
o.data("glImport{Memory,Semaphore}Win32HandleEXT", handle=Opaque("handle of the system"))
o.data("glImport{Memory,Semaphore}Win32NameEXT", name=Opaque("name in a Windows encoding"))
o.data("glGetSemaphoreParameterui64vEXT glGetSemaphoreParameterivNV", params=one_out)
o.data("glSemaphoreParameterui64vEXT glSemaphoreParameterivNV", params=one_in)
for name, layouts in (("glSignalSemaphoreEXT", "dstLayouts"), ("glWaitSemaphoreEXT", "srcLayouts")):
    o.data(name, buffers=Array("numBufferBarriers"), textures=Array("numTextureBarriers"))
    o.data(name, **{layouts: Array("numTextureBarriers", group="TextureLayout")})
o.data("glGetMemoryObjectDetachedResourcesuivNV", params=Array("count", out=True))
o.data("glMulticastBufferSubDataNV glLGPUNamedBufferSubDataNVX", data=Array("size"))
o.data("glCreateSyncFromCLeventARB", context=Opaque("OpenCL context"), event=Opaque("OpenCL event"))
o.data("glMapObjectBufferATI glMapTexture2DINTEL", returns=Opaque("mapped memory"))

# ---- queries and monitors -----------------------------------------------------------------------------------

o.data("glGetFenceivNV glGetOcclusionQuery{i,ui}vNV glGetObjectParameterivAPPLE", params=one_out)
o.data("glMulticastGetQueryObject{i,ui,i64,ui64}vNV", params=one_out)
o.data("glGetVideo{i,ui,i64,ui64}vNV", params=one_out)
o.data("glGet{,Named}BufferParameterui64vNV", params=one_out)
o.data("glGetIntegerui64vNV", result=Array("get_count(value)", out=True))
o.data("glGetIntegerui64i_vNV", result=Array("get_indexed_count(value)", out=True))
o.table("perf_counter_info_bytes", {"GL_COUNTER_TYPE_AMD": 4, "GL_COUNTER_RANGE_AMD": 8}, default=4)
o.data("glGetPerfMonitorCounterInfoAMD", data=Array("perf_counter_info_bytes(pname)", out=True))
o.data(
    "glGetPerfMonitorCounterDataAMD",
    data=Array("dataSize // 4", out=True, actual="deref(bytesWritten) // 4 if bytesWritten else dataSize // 4"),
)
o.data("glCreatePerfQueryINTEL", queryHandle=one_out)
o.data("glGetFirstPerfQueryIdINTEL", queryId=one_out)
o.data("glGetNextPerfQueryIdINTEL", nextQueryId=one_out)
o.data("glGetPerfQueryIdByNameINTEL", queryName=String(), queryId=one_out)
o.data(
    "glGetPerfCounterInfoINTEL",
    counterOffset=one_out,
    counterDataSize=one_out,
    counterTypeEnum=one_out,
    counterDataTypeEnum=one_out,
    rawCounterMaxValue=one_out,
)
o.data("glGetPerfQueryInfoINTEL", dataSize=one_out, noCounters=one_out, noInstances=one_out, capsMask=one_out)
o.data(
    "glGetPerfQueryDataINTEL",
    data=Array("dataSize", out=True, actual="deref(bytesWritten) if bytesWritten else dataSize"),
    bytesWritten=one_out,
)

# ---- debug --------------------------------------------------------------------------------------------------

o.data("glDebugMessageCallbackAMD", userParam=Opaque("user data"))
written = Array("count", out=True, actual="result")
o.data(
    "glGetDebugMessageLogAMD",
    categories=written,
    severities=written,
    ids=written,
    lengths=written,
    message=Array("bufSize", out=True, actual="sum(lengths, result) if lengths else bufSize"),
)
# A length of zero stands for a terminated string here, other than in KHR_debug.
o.data("gl{InsertEvent,PushGroup}MarkerEXT", marker=String(length="length if length > 0 else -1"))
o.data("glLabelObjectEXT", label=String(length="length if length > 0 else -1"))
o.data("glStringMarkerGREMEDY", string=Array("len if len > 0 else strlen(string)"))

# ---- NV: evaluators, combiners, transform feedback, video, VDPAU -------------------------------------------------

o.table(
    "combiner_values",
    {"GL_CONSTANT_COLOR0_NV GL_CONSTANT_COLOR1_NV": 4},
    default=1,
)
o.data("glCombinerParameter{f,i}vNV glCombinerStageParameterfvNV", params=Array("combiner_values(pname)"))
o.data("glGetCombinerStageParameterfvNV", params=Array("combiner_values(pname)", out=True))
o.data("glGetCombiner{Input,Output}Parameter{f,i}vNV glGetFinalCombinerInputParameter{f,i}vNV", params=one_out)
o.data("glMapParameter{f,i}vNV", params=one_in)
o.data("glGetMapParameter{f,i}vNV glGetMapAttribParameter{f,i}vNV", params=one_out)
o.data("glTransformFeedbackAttribsNV", attribs=Array("count * 3"))
o.data("glTransformFeedbackStreamAttribsNV", attribs=Array("count * 3"), bufstreams=Array("nbuffers"))
o.data(
    "glGetVideoCaptureStream{d,f,i}vNV",
    params=Array("16 if pname == GL_VIDEO_COLOR_CONVERSION_MATRIX_NV else video_capture_values(pname)", out=True),
)
o.data(
    "glVideoCaptureStreamParameter{d,f,i}vNV",
    params=Array("16 if pname == GL_VIDEO_COLOR_CONVERSION_MATRIX_NV else video_capture_values(pname)"),
)
o.table(
    "video_capture_values",
    {
        "GL_VIDEO_COLOR_CONVERSION_MAX_NV GL_VIDEO_COLOR_CONVERSION_MIN_NV GL_VIDEO_COLOR_CONVERSION_OFFSET_NV": 4,
    },
    default=1,
)
o.data("glGetVideoCaptureivNV", params=one_out)
o.data("glVideoCaptureNV", sequence_num=one_out, capture_time=one_out)
o.data("glVDPAUInitNV", vdpDevice=Opaque("VDPAU device"), getProcAddress=Opaque("a function"))
o.data("glVDPAURegister{Output,Video}SurfaceNV", vdpSurface=Opaque("VDPAU surface"))
o.data("glVDPAURegisterVideoSurfaceWithPictureStructureNV", vdpSurface=Opaque("VDPAU surface"))
o.data("glVDPAUGetSurfaceivNV", length=one_out,
       values=Array("count", out=True, actual="deref(length) if length else count"))  # fmt: skip

o.table(
    "shading_rate_pixels",
    {
        "GL_SHADING_RATE_1_INVOCATION_PER_PIXEL_NV": 1,
        "GL_SHADING_RATE_1_INVOCATION_PER_1X2_PIXELS_NV GL_SHADING_RATE_1_INVOCATION_PER_2X1_PIXELS_NV": 2,
        "GL_SHADING_RATE_1_INVOCATION_PER_2X2_PIXELS_NV": 4,
        "GL_SHADING_RATE_1_INVOCATION_PER_2X4_PIXELS_NV GL_SHADING_RATE_1_INVOCATION_PER_4X2_PIXELS_NV": 8,
        "GL_SHADING_RATE_1_INVOCATION_PER_4X4_PIXELS_NV": 16,
    },
)
o.data("glShadingRateSampleOrderCustomNV", locations=Array("shading_rate_pixels(rate) * samples * 3"))

# ---- NV_path_rendering --------------------------------------------------------------------------------------

# Names in UTF-8 may take more than a byte each; what is beyond ASCII is then cut short.
o.table(
    "path_name_bytes",
    {
        "GL_BYTE GL_UNSIGNED_BYTE GL_UTF8_NV": 1,
        "GL_SHORT GL_UNSIGNED_SHORT GL_2_BYTES GL_UTF16_NV": 2,
        "GL_3_BYTES": 3,
        "GL_INT GL_UNSIGNED_INT GL_FLOAT GL_4_BYTES": 4,
    },
)
o.table(
    "path_transform_values",
    {
        "GL_TRANSLATE_X_NV GL_TRANSLATE_Y_NV": 1,
        "GL_TRANSLATE_2D_NV": 2,
        "GL_TRANSLATE_3D_NV": 3,
        "GL_AFFINE_2D_NV GL_TRANSPOSE_AFFINE_2D_NV": 6,
        "GL_AFFINE_3D_NV GL_TRANSPOSE_AFFINE_3D_NV": 12,
    },
)
o.table(
    "path_gen_values",
    {
        "GL_CONSTANT": 1, "GL_OBJECT_LINEAR GL_PATH_OBJECT_BOUNDING_BOX_NV": 3, "GL_EYE_LINEAR": 4,
    },
)  # fmt: skip
o.table("path_color_components", {
    "GL_ALPHA GL_LUMINANCE GL_INTENSITY": 1, "GL_LUMINANCE_ALPHA": 2, "GL_RGB": 3, "GL_RGBA": 4,
})  # fmt: skip
instanced = "gl{Cover,Stencil}{Fill,Stroke}PathInstancedNV glStencilThenCover{Fill,Stroke}PathInstancedNV"
o.data(
    instanced,
    paths=Array("numPaths * path_name_bytes(pathNameType)"),
    transformValues=Array("numPaths * path_transform_values(transformType)"),
)
o.data("glTransformPathNV", transformValues=Array("path_transform_values(transformType)"))
o.data("glGetPathMetricsNV glGetPathSpacingNV", paths=Array("numPaths * path_name_bytes(pathNameType)"))
o.data(
    "glGetPathSpacingNV",
    returnedSpacing=Array("(numPaths - 1) * (2 if transformType == GL_TRANSLATE_2D_NV else 1)", out=True),
)
o.data("glPathCommandsNV glPathCoordsNV glPathSubCommandsNV glPathSubCoordsNV",
       coords=Array("numCoords * type_size(coordType)"))  # fmt: skip
o.data("glPathParameter{f,i}vNV", value=one_in)
o.data("glMatrix{Load,Mult}3x2fNV", m=Array("6"))
o.data("glMatrix{Load,LoadTranspose,Mult,MultTranspose}3x3fNV", m=Array("9"))
o.data("glPathColorGenNV", coeffs=Array("path_gen_values(genMode) * path_color_components(colorFormat)"))
o.data("glPathTexGenNV glProgramPathFragmentInputGenNV", coeffs=Array("path_gen_values(genMode) * components"))
o.data("glGetPath{Color,Tex}Gen{f,i}vNV", value=Array("16 if pname == GL_PATH_GEN_COEFF_NV else 1", out=True))
# A font's file or family: a terminated name for the targets that exist.
o.data("glPathGlyph{Range,IndexArray,IndexRange}NV glPathGlyphsNV", fontName=Array("strlen(fontName) + 1"))
o.data("glPathGlyphsNV", charcodes=Array("numGlyphs * path_name_bytes(type)"))
o.data("glPathMemoryGlyphIndexArrayNV", fontData=Array("fontSize"))

# ---- older vendors ------------------------------------------------------------------------------------------

o.data("glTexBumpParameter{f,i}vATI", param=Array("4 if pname == GL_BUMP_ROT_MATRIX_ATI else 1"))
o.data(
    "glGetTexBumpParameter{f,i}vATI",
    param=Array(
        "4 if pname == GL_BUMP_ROT_MATRIX_ATI else get_int(GL_BUMP_NUM_TEX_UNITS_ATI) "
        "if pname == GL_BUMP_TEX_UNITS_ATI else 1",
        out=True,
    ),
)
o.data("glGetPixelTransformParameter{f,i}vEXT glGetImageTransformParameter{f,i}vHP", params=one_out)
o.data("glImageTransformParameter{f,i}vHP", params=one_in)
o.data("glPixelTexGenParameter{f,i}vSGIS glListParameter{f,i}vSGIX", params=one_in)
o.data("glGetPixelTexGenParameter{f,i}vSGIS glGetListParameter{f,i}vSGIX", params=one_out)
o.data("glFragmentLight{f,i}vSGIX", params=Array("light_values(pname)"))
o.data("glGetFragmentLight{f,i}vSGIX", params=Array("light_values(pname)", out=True))
o.data("glFragmentMaterial{f,i}vSGIX", params=Array("material_values(pname)"))
o.data("glGetFragmentMaterial{f,i}vSGIX", params=Array("material_values(pname)", out=True))
o.data("glFragmentLightModel{f,i}vSGIX",
       params=Array("4 if pname == GL_FRAGMENT_LIGHT_MODEL_AMBIENT_SGIX else 1"))  # fmt: skip
o.data("glGetFogFuncSGIS", points=Array("get_int(GL_FOG_FUNC_POINTS_SGIS) * 2", out=True))
o.data(
    "glTex{Image,SubImage}4DSGIS",
    # volumes follow one another as images do (without GL_UNPACK_SKIP_VOLUMES_SGIS)
    pixels=Image("format", "type", "width", "height", "depth * size4d", dimensions=3),
)
o.data(
    "glDeformationMap3{d,f}SGIX",
    points=Array(
        "(uorder - 1) * ustride + (vorder - 1) * vstride + (worder - 1) * wstride "
        "+ (3 if target == GL_GEOMETRY_DEFORMATION_SGIX else 4) if uorder > 0 and vorder > 0 and worder > 0 else 0"
    ),
)
o.data("glSpriteParameter{f,i}vSGIX", params=Array("3 if pname != GL_SPRITE_MODE_SGIX else 1"))
