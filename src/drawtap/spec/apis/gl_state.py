"""Kinds of commands of OpenGL, and kinds of objects that the registry does not say. Their effects are in
`gl_effects`."""

from drawtap.spec.overlay import Overlay

PART = o = Overlay("gl", xml="gl.xml")

# ---- flags --------------------------------------------------------------------------------------------------

o.flags(
    "draw gpu_reads",
    "glDrawArrays* glDrawElements* glDrawRangeElement* glDrawElementArray* glMultiDraw* glMultiModeDraw* "
    "glDrawTransformFeedback* glDrawMeshTasks* glDrawMeshArraysSUN glDrawCommands* glDrawTex{s,i,x,f}OES "
    "glDrawTex{s,i,x,f}vOES glDrawTextureNV glDrawVkImageNV glDrawPixels glBitmap glBitmapxOES glCopyPixels "
    "glRect{d,f,i,s} glRect{d,f,i,s}v glRectx{,v}OES glEnd glEvalMesh{1,2} "
    "glStencil*Path*NV glCover*Path*NV glCallCommandListNV",
)
o.flags("dispatch gpu_reads", "glDispatchCompute*")
o.flags(
    "gpu_reads",
    # lists and single elements draw or prepare draws; copies and barriers let writes through mappings be seen
    "glCallList glCallLists glArrayElement* glCopyBufferSubData glCopyNamedBufferSubData glNamedCopyBufferSubDataEXT "
    "glMulticastCopyBufferSubDataNV glMemoryBarrier glMemoryBarrierEXT glGetBufferSubData glGetNamedBufferSubData* "
    "glPixelMap{fv,uiv,usv} glPolygonStipple glColorTable glColorSubTable glConvolutionFilter{1,2}D "
    "glSeparableFilter2D",
)
images = (
    "glTex{Image,SubImage}{1,2,3}D glTexSubImage4DSGIS glTexImage4DSGIS glTextureSubImage{1,2,3}D "
    "glCompressedTex{Image,SubImage}{1,2,3}D glCompressedTex{Image,SubImage}3DOES glCompressedTextureSubImage{1,2,3}D "
    "gl{Texture,MultiTex}{Image,SubImage}{1,2,3}DEXT glCompressed{Texture,MultiTex}{Image,SubImage}{1,2,3}DEXT"
)
o.flags("upload texture_upload gpu_reads", images)
o.flags(
    "upload buffer_upload",
    "glBufferData glBufferSubData glBufferStorage glNamedBuffer{Data,SubData,Storage} glNamedBuffer{Data,SubData}EXT "
    "glMulticastBufferSubDataNV glLGPUNamedBufferSubDataNVX glNewObjectBufferATI glUpdateObjectBufferATI",
)
o.flags(
    "readback",
    "glReadPixels glReadnPixels glGet{,n}TexImage glGetTexture{,Sub}Image glGet{,n}CompressedTexImage "
    "glGetn{,Compressed}TexImageARB "
    "glGetCompressedTexture{,Sub}Image glGet{,Compressed}{Texture,MultiTex}ImageEXT glExtGetTexSubImageQCOM",
)
o.flags("clear", "glClear glClear{Buffer,NamedFramebuffer}{fv,iv,uiv,fi}")
o.flags(
    "stateful_draw",
    "glEnd glBitmap glBitmapxOES glCallCommandListNV glDrawCommandsStatesNV glDrawCommandsStatesAddressNV",
)
o.flags("list_begin", "glNewList")
o.flags("list_end", "glEndList")
o.flags("list_call", "glCallList glCallLists")
o.flags("list_base", "glListBase")
o.flags("list_delete", "glDeleteLists")
o.flags("indirect", "glDraw*Indirect* glMultiDraw*Indirect*")
o.flags("rectangle", "glDrawTex{s,i,x,f}OES glDrawTex{s,i,x,f}vOES glDrawTextureNV glRect{d,f,i,s} glRect{d,f,i,s}v "
                     "glRectx{,v}OES")  # fmt: skip
o.flags("mesh", "glEvalMesh{1,2}")
o.flags("vertices_begin vertex_part", "glBegin")
o.flags("vertices_end vertex_part", "glEnd")
o.flags("vertex vertex_part", "glVertex[234]* glArrayElement* glEvalCoord* glEvalPoint*")
o.flags(
    "vertex_part",
    "glEdgeFlag glEdgeFlagv glColor[34]* glSecondaryColor3* glNormal3* glTexCoord[1234]* glMultiTexCoord[1234]* "
    "glFogCoord[df]* glVertexAttrib[1234]* glIndex[dfis]* glIndexub*",
)
o.flags("bind", "glBind* glUseProgram* glActiveTexture glClientActiveTexture")
o.flags("framebuffer_bind", "glBindFramebuffer*")
o.flags("uniform", "glUniform* glProgramUniform*")
o.flags(
    "matrix",
    "glLoadIdentity glLoadMatrix* glMultMatrix* gl{Load,Mult}TransposeMatrix* glRotate* glScale[dfx]* glTranslate* "
    "glFrustum* glOrtho* gl{Push,Pop}Matrix* glMatrix{Load,Mult,Rotate,Scale,Translate,Ortho,Frustum,Push,Pop}* "
    "glLoadPaletteFromModelViewMatrixOES",
)
o.flags("compile", "glCompileShader* glShaderBinary")
o.flags("link", "glLinkProgram* glProgramBinary* glCreateShaderProgram*")
o.flags("query", "glGet* glIs*")
o.flags("create", "glGen[!e]* glCreate*")
o.flags("delete", "glDelete*")
o.flags("leaves_nothing", "glGetString*")
o.flags(
    "keeps_depth",
    "glUniform* glUseProgram* glVertexAttrib* glEnable* glDisable* glBindBuffer* glBindVertexArray* glBindTexture* "
    "glBindSampler* glActiveTexture* glBufferData* glBufferSubData* glMapBuffer* glUnmapBuffer* glFlushMapped* "
    "glBlendColor* glBlendEquation* glBlendFunc* glDepth* glCull* glFrontFace* glViewport* glScissor* glColorMask* "
    "glClear glClearColor* glClearDepth* glClearStencil* glStencil* glGet* glIs* glTexParameter* glSamplerParameter* "
    "glPolygonOffset* glLineWidth* glSampleCoverage* glDrawArrays* glDrawElement* glDrawRange* glDrawBuffer "
    "glDrawTransformFeedback* glDrawMesh* glDrawCommands* glDrawVk* glMultiDraw* glPixelStore* glHint* "
    "glCheckFramebufferStatus* glCreateShader* glCreateProgram* glShaderSource* glCompileShader* glAttachShader* "
    "glDetachShader* glLinkProgram* glBindAttribLocation* glDeleteShader* glDeleteProgram* glDeleteBuffers* "
    "glGenBuffers* glGenTextures* glPushDebug* glPopDebug* glPushGroup* glPopGroup* glObjectLabel*",
)
o.flags("finish sync", "glFinish")
o.flags("flush sync", "glFlush")
o.flags(
    "sync",
    "glFenceSync glClientWaitSync glWaitSync glGetSynciv glDeleteSync glSetFence{NV,APPLE} glTestFence{NV,APPLE} "
    "glFinishFence{NV,APPLE} glSignalSemaphoreEXT glWaitSemaphoreEXT glImportSyncEXT glCreateSyncFromCLeventARB "
    "glFinishObjectAPPLE glTestObjectAPPLE glSyncTextureINTEL",
)
o.flags("error_query", "glGetError glGetGraphicsResetStatus{,ARB}")
o.flags("map", "glMapBuffer glMapBufferRange glMapNamedBuffer glMapNamedBufferRange glMapObjectBufferATI "
               "glMapTexture2DINTEL")  # fmt: skip
o.flags("unmap", "glUnmapBuffer glUnmapNamedBuffer glFlushMappedBufferRange glFlushMappedNamedBufferRange "
                 "glUnmapObjectBufferATI glUnmapTexture2DINTEL glFlushMappedBufferRangeAPPLE")  # fmt: skip
o.flags(
    "marker",
    "glPushDebugGroup glPopDebugGroup glDebugMessageInsert glObjectLabel glObjectPtrLabel glInsertEventMarkerEXT "
    "glPushGroupMarkerEXT glPopGroupMarkerEXT glLabelObjectEXT glStringMarkerGREMEDY glFrameTerminatorGREMEDY "
    "glDebugMessageInsertAMD",
)
o.flags("group_begin", "glPushDebugGroup glPushGroupMarkerEXT")
o.flags("group_end", "glPopDebugGroup glPopGroupMarkerEXT")
o.flags("label", "glObjectLabel glObjectPtrLabel glLabelObjectEXT")
o.flags("callback", "glDebugMessageCallback glDebugMessageCallbackAMD")
o.flags(
    "draw_setup",
    "gl{Vertex,Normal,Color,Index,TexCoord,EdgeFlag,FogCoord,SecondaryColor}Pointer "
    "glVertexAttrib{,I,L}Pointer glInterleavedArrays gl*PointerEXT gl*PointerOES gl*PointerARB gl*PointerNV "
    "gl*PointerListIBM gl*PointervINTEL glVariantPointerEXT glElementPointer{APPLE,ATI}",
)

# ---- kinds of objects that the registry does not say --------------------------------------------------------------

o.classes("glBeginConditionalRender{,NV}", id="query")
