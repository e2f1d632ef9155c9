"""What OpenGL commands do: flags, kinds of objects, and effects on state as far as recording needs them.

State paths: `context.` is the current context, `share.` its share group. Names of objects are keys of their
collection; the collections of a context are vertex_arrays, framebuffers, pipelines, queries and transform_feedbacks,
those of a share group buffers, textures, samplers, renderbuffers, shaders, programs, syncs and lists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from drawtap.spec.overlay import Overlay, copy, create, delete, get, modify, set_

if TYPE_CHECKING:
    from drawtap.spec.model import Effect

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
o.flags("upload gpu_reads", images)
o.flags(
    "upload",
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
o.flags("callback", "glDebugMessageCallback glDebugMessageCallbackAMD")
o.flags(
    "draw_setup",
    "gl{Vertex,Normal,Color,Index,TexCoord,EdgeFlag,FogCoord,SecondaryColor}Pointer "
    "glVertexAttrib{,I,L}Pointer glInterleavedArrays gl*PointerEXT gl*PointerOES gl*PointerARB gl*PointerNV "
    "gl*PointerListIBM gl*PointervINTEL glVariantPointerEXT glElementPointer{APPLE,ATI}",
)

# ---- kinds of objects that the registry does not say --------------------------------------------------------------

o.classes("glBeginConditionalRender{,NV}", id="query")

# ---- buffer objects -------------------------------------------------------------------------------------------

VAO = "context.vertex_arrays[context.vertex_array]"
elements = "target == GL_ELEMENT_ARRAY_BUFFER"

o.effects("glGenBuffers glCreateBuffers", create("share.buffers", "buffers"))
o.effects(
    "glDeleteBuffers",
    delete("share.buffers", "buffers"),
    modify("context.buffer", "buffers"),  # bindings of a deleted buffer fall back to zero
    modify(VAO, "buffers"),
)
o.effects(
    "glBindBuffer",
    set_("context.buffer[target]", "buffer", when="target != GL_ELEMENT_ARRAY_BUFFER"),
    set_(f"{VAO}.element_buffer", "buffer", when=elements),
)
o.effects(
    "glBindBufferBase",
    set_("context.buffer[target]", "buffer"),
    set_("context.indexed_buffer[target][index].buffer", "buffer"),
    set_("context.indexed_buffer[target][index].offset", "0"),
    set_("context.indexed_buffer[target][index].size", "-1"),
)
o.effects(
    "glBindBufferRange",
    set_("context.buffer[target]", "buffer"),
    set_("context.indexed_buffer[target][index].buffer", "buffer"),
    set_("context.indexed_buffer[target][index].offset", "offset"),
    set_("context.indexed_buffer[target][index].size", "size"),
)
o.effects("glBindBuffersBase", set_("context.indexed_buffer[target][first]", "buffers"))
o.effects("glBindBuffersRange", set_("context.indexed_buffer[target][first]", "buffers"))


def defines(key: str, flags: str | None) -> tuple[Effect, ...]:
    """Return the effects of giving the buffer at `key` its size and content."""
    buffer = f"share.buffers[{key}]"
    storage = [set_(f"{buffer}.storage_flags", flags)] if flags else []
    return (set_(f"{buffer}.size", "size"), set_(f"{buffer}.data", "data"), *storage)


BOUND = "context.buffer[target]"
for command, key in (("glBufferData", BOUND), ("glNamedBufferData", "buffer"), ("glNamedBufferDataEXT", "buffer")):
    o.effects(command, *defines(key, None), set_(f"share.buffers[{key}].usage", "usage"))
o.effects("glBufferStorage", *defines(BOUND, "flags"))
o.effects("glNamedBufferStorage", *defines("buffer", "flags"))
o.effects("glBufferStorageExternalEXT", set_(f"share.buffers[{BOUND}].size", "size"))
for command, key in (
    ("glBufferSubData", BOUND),
    ("glNamedBufferSubData", "buffer"),
    ("glNamedBufferSubDataEXT", "buffer"),
):
    o.effects(command, modify(f"share.buffers[{key}].data[offset]", "data"))
for command, key in (
    ("glClearBufferData", BOUND),
    ("glClearBufferSubData", BOUND),
    ("glClearNamedBufferData", "buffer"),
    ("glClearNamedBufferSubData", "buffer"),
):
    o.effects(command, modify(f"share.buffers[{key}].data", "data"))
o.effects(
    "glCopyBufferSubData",
    copy(
        "share.buffers[context.buffer[writeTarget]].data[writeOffset]",
        "share.buffers[context.buffer[readTarget]].data[readOffset]",
    ),
)
o.effects(
    "glCopyNamedBufferSubData",
    copy("share.buffers[writeBuffer].data[writeOffset]", "share.buffers[readBuffer].data[readOffset]"),
)
o.effects("glInvalidateBufferData glInvalidateBufferSubData", delete("share.buffers[buffer].data"))
o.effects("glGetBufferSubData", get(f"share.buffers[{BOUND}].data[offset]", "data"))
o.effects("glGetNamedBufferSubData", get("share.buffers[buffer].data[offset]", "data"))


def maps(key: str, offset: str, length: str) -> tuple[Effect, ...]:
    """Return the effects of mapping the buffer at `key`; length -1 is all of it."""
    mapping = f"share.buffers[{key}].mapping"
    return (
        set_(f"{mapping}.pointer", "result"),
        set_(f"{mapping}.offset", offset),
        set_(f"{mapping}.length", length),
        set_(f"{mapping}.access", "access"),
    )


o.effects("glMapBuffer", *maps(BOUND, "0", "-1"))
o.effects("glMapNamedBuffer", *maps("buffer", "0", "-1"))
o.effects("glMapBufferRange", *maps(BOUND, "offset", "length"))
o.effects("glMapNamedBufferRange", *maps("buffer", "offset", "length"))
for command, key in (("glUnmapBuffer", BOUND), ("glUnmapNamedBuffer", "buffer")):
    o.effects(command, modify(f"share.buffers[{key}].data"), delete(f"share.buffers[{key}].mapping"))
for command, key in (("glFlushMappedBufferRange", BOUND), ("glFlushMappedNamedBufferRange", "buffer")):
    o.effects(command, modify(f"share.buffers[{key}].data[offset]", "length"))
o.effects("glBufferParameteriAPPLE", set_(f"share.buffers[{BOUND}].parameter[pname]", "param"))
o.effects("glFlushMappedBufferRangeAPPLE", modify(f"share.buffers[{BOUND}].data[offset]", "size"))

# ---- vertex array objects ---------------------------------------------------------------------------------------

o.effects("glGenVertexArrays glCreateVertexArrays", create("context.vertex_arrays", "arrays"))
o.effects("glDeleteVertexArrays", delete("context.vertex_arrays", "arrays"), modify("context.vertex_array", "arrays"))
o.effects("glBindVertexArray{,APPLE}", set_("context.vertex_array", "array"))
o.effects("glVertexArrayElementBuffer", set_("context.vertex_arrays[vaobj].element_buffer", "buffer"))


def attribute(vao: str, index: str, fields: str, buffer: str) -> tuple[Effect, ...]:
    """Return the effects of a pointer call: `fields` are parameters kept by their names."""
    path = f"{vao}.attrib[{index}]"
    kept = tuple(set_(f"{path}.{name}", name) for name in fields.split())
    source = copy(f"{path}.buffer", buffer) if buffer.startswith("context.") else set_(f"{path}.buffer", buffer)
    return (*kept, source)


ARRAY = "context.buffer[GL_ARRAY_BUFFER]"
for letter, kind in (("", "0"), ("I", "1"), ("L", "2")):
    fields = "size type normalized stride pointer" if not letter else "size type stride pointer"
    o.effects(
        f"glVertexAttrib{letter}Pointer",
        *attribute(VAO, "index", fields, ARRAY),
        set_(f"{VAO}.attrib[index].interpretation", kind),
    )
o.effects("glEnableVertexAttribArray", set_(f"{VAO}.attrib[index].enabled", "1"))
o.effects("glDisableVertexAttribArray", set_(f"{VAO}.attrib[index].enabled", "0"))
o.effects("glEnableVertexArrayAttrib", set_("context.vertex_arrays[vaobj].attrib[index].enabled", "1"))
o.effects("glDisableVertexArrayAttrib", set_("context.vertex_arrays[vaobj].attrib[index].enabled", "0"))
o.effects("glEnableVertexArrayAttribEXT", set_("context.vertex_arrays[vaobj].attrib[index].enabled", "1"))
o.effects("glDisableVertexArrayAttribEXT", set_("context.vertex_arrays[vaobj].attrib[index].enabled", "0"))
o.effects("glVertexAttribDivisor", set_(f"{VAO}.attrib[index].divisor", "divisor"))
o.effects("glVertexArrayVertexAttribDivisorEXT", set_("context.vertex_arrays[vaobj].attrib[index].divisor", "divisor"))

# The separate form: formats of attributes, and bindings that several of them may share.
for command, vao, attrib in (
    ("glVertexAttrib{,I,L}Format", VAO, "attribindex"),
    ("glVertexArrayAttrib{,I,L}Format", "context.vertex_arrays[vaobj]", "attribindex"),
    ("glVertexArrayVertexAttrib{,I,L}FormatEXT", "context.vertex_arrays[vaobj]", "attribindex"),
):
    o.effects(
        command,
        set_(f"{vao}.attrib[{attrib}].size", "size"),
        set_(f"{vao}.attrib[{attrib}].type", "type"),
        set_(f"{vao}.attrib[{attrib}].relative_offset", "relativeoffset"),
    )
for command, vao in (
    ("glVertexAttribBinding", VAO),
    ("glVertexArrayAttribBinding", "context.vertex_arrays[vaobj]"),
    ("glVertexArrayVertexAttribBindingEXT", "context.vertex_arrays[vaobj]"),
):
    o.effects(command, set_(f"{vao}.attrib[attribindex].binding", "bindingindex"))
for command, vao in (
    ("glBindVertexBuffer", VAO),
    ("glVertexArrayVertexBuffer", "context.vertex_arrays[vaobj]"),
    ("glVertexArrayBindVertexBufferEXT", "context.vertex_arrays[vaobj]"),
):
    o.effects(
        command,
        set_(f"{vao}.binding[bindingindex].buffer", "buffer"),
        set_(f"{vao}.binding[bindingindex].offset", "offset"),
        set_(f"{vao}.binding[bindingindex].stride", "stride"),
    )
for command, vao in (
    ("glBindVertexBuffers", VAO),
    ("glVertexArrayVertexBuffers", "context.vertex_arrays[vaobj]"),
):
    o.effects(
        command,
        set_(f"{vao}.binding[first].buffer", "buffers"),
        set_(f"{vao}.binding[first].offset", "offsets"),
        set_(f"{vao}.binding[first].stride", "strides"),
    )
for command, vao in (
    ("glVertexBindingDivisor", VAO),
    ("glVertexArrayBindingDivisor", "context.vertex_arrays[vaobj]"),
    ("glVertexArrayVertexBindingDivisorEXT", "context.vertex_arrays[vaobj]"),
):
    o.effects(command, set_(f"{vao}.binding[bindingindex].divisor", "divisor"))

# ---- arrays of the fixed function -------------------------------------------------------------------------------

for array, fields in (
    ("Vertex", "size type stride pointer"),
    ("Normal", "type stride pointer"),
    ("Color", "size type stride pointer"),
    ("SecondaryColor", "size type stride pointer"),
    ("Index", "type stride pointer"),
    ("EdgeFlag", "stride pointer"),
    ("FogCoord", "type stride pointer"),
):
    words = {"SecondaryColor": "SECONDARY_COLOR", "EdgeFlag": "EDGE_FLAG", "FogCoord": "FOG_COORD"}
    path = f"{VAO}.array[GL_{words.get(array, array.upper())}_ARRAY]"
    o.effects(
        f"gl{array}Pointer",
        *(set_(f"{path}.{name}", name) for name in fields.split()),
        copy(f"{path}.buffer", ARRAY),
    )
TEXTURE_ARRAY = f"{VAO}.array[GL_TEXTURE_COORD_ARRAY][context.client_active_texture]"
o.effects(
    "glTexCoordPointer",
    *(set_(f"{TEXTURE_ARRAY}.{name}", name) for name in ("size", "type", "stride", "pointer")),
    copy(f"{TEXTURE_ARRAY}.buffer", ARRAY),
)
for array in ("PointSize", "MatrixIndex", "Weight"):
    constant = {"PointSize": "GL_POINT_SIZE_ARRAY_OES", "MatrixIndex": "GL_MATRIX_INDEX_ARRAY_OES"}
    path = f"{VAO}.array[{constant.get(array, 'GL_WEIGHT_ARRAY_OES')}]"
    o.effects(f"gl{array}PointerOES", set_(f"{path}.pointer", "pointer"), copy(f"{path}.buffer", ARRAY))
o.effects(
    "glEnableClientState",
    set_(f"{VAO}.array[array].enabled", "1", when="array != GL_TEXTURE_COORD_ARRAY"),
    set_(f"{TEXTURE_ARRAY}.enabled", "1", when="array == GL_TEXTURE_COORD_ARRAY"),
)
o.effects(
    "glDisableClientState",
    set_(f"{VAO}.array[array].enabled", "0", when="array != GL_TEXTURE_COORD_ARRAY"),
    set_(f"{TEXTURE_ARRAY}.enabled", "0", when="array == GL_TEXTURE_COORD_ARRAY"),
)
o.effects("glEnableClientStateiEXT glEnableClientStateIndexedEXT", set_(f"{VAO}.array[array][index].enabled", "1"))
o.effects("glDisableClientStateiEXT glDisableClientStateIndexedEXT", set_(f"{VAO}.array[array][index].enabled", "0"))
o.effects("glClientActiveTexture", set_("context.client_active_texture", "texture"))
o.effects(
    "glInterleavedArrays",
    modify(f"{VAO}.array", "pointer"),
    set_(f"{VAO}.interleaved.format", "format"),
    set_(f"{VAO}.interleaved.stride", "stride"),
)
o.effects(
    "glPushClientAttrib",
    copy("context.client_attrib_stack.vertex_arrays", VAO, when="mask & GL_CLIENT_VERTEX_ARRAY_BIT"),
    copy("context.client_attrib_stack.pixel_store", "context.pixel_store", when="mask & GL_CLIENT_PIXEL_STORE_BIT"),
)
o.effects(
    "glPopClientAttrib",
    copy(VAO, "context.client_attrib_stack.vertex_arrays"),
    copy("context.pixel_store", "context.client_attrib_stack.pixel_store"),
)
o.effects("glClientAttribDefaultEXT", modify(VAO), modify("context.pixel_store"))
o.effects(
    "glPushClientAttribDefaultEXT",
    modify("context.client_attrib_stack"),
    modify(VAO),
    modify("context.pixel_store"),
)
o.effects("glPrimitiveRestartIndex{,NV}", set_("context.primitive_restart_index", "index"))
o.effects("glLockArraysEXT", set_("context.locked_arrays", "count"))
o.effects("glUnlockArraysEXT", set_("context.locked_arrays", "0"))

# ---- pixel store, draw parameters, lists ------------------------------------------------------------------------

o.effects("glPixelStore{f,i}", set_("context.pixel_store[pname]", "param"))
o.effects("glNewList", set_("context.list_index", "list"), set_("context.list_mode", "mode"))
o.effects("glEndList", set_("context.list_index", "0"))
o.effects("glGenLists", create("share.lists", "result"))
o.effects("glDeleteLists", delete("share.lists", "list"))
o.effects("glBegin", set_("context.begin", "mode"))
o.effects("glEnd", delete("context.begin"))

# ---- lifetimes of the other objects ------------------------------------------------------------------------------

for plural, where, parameter, others in (
    ("Textures", "share.textures", "textures", "EXT"),
    ("Samplers", "share.samplers", "samplers", ""),
    ("Renderbuffers", "share.renderbuffers", "renderbuffers", "OES"),
    ("Framebuffers", "context.framebuffers", "framebuffers", "OES"),
    ("ProgramPipelines", "context.pipelines", "pipelines", "EXT"),
    ("TransformFeedbacks", "context.transform_feedbacks", "ids", ""),
    ("Queries", "context.queries", "ids", "EXT"),
):
    names = f"{{,{others}}}" if others else ""
    o.effects(f"glGen{plural}{names}", create(where, parameter))
    o.effects(f"glCreate{plural}", create(where, parameter))
    o.effects(f"glDelete{plural}{names}", delete(where, parameter))
o.effects("glCreateShader", create("share.shaders", "result"), set_("share.shaders[result].type", "type"))
o.effects("glDeleteShader", delete("share.shaders", "shader"))
o.effects("glCreateProgram", create("share.programs", "result"))
o.effects("glCreateShaderProgramv{,EXT}", create("share.programs", "result"))
o.effects("glDeleteProgram", delete("share.programs", "program"))
o.effects("glFenceSync", create("share.syncs", "result"))
o.effects("glDeleteSync", delete("share.syncs", "sync"))

# ---- other bindings ---------------------------------------------------------------------------------------------

o.effects("glActiveTexture", set_("context.active_texture", "texture"))
o.effects("glBindTexture", set_("context.texture[context.active_texture][target]", "texture"))
o.effects("glBindSampler", set_("context.sampler[unit]", "sampler"))
o.effects("glBindRenderbuffer{,EXT,OES}", set_("context.renderbuffer[target]", "renderbuffer"))
o.effects("glBindTransformFeedback{,NV}", set_("context.transform_feedback[target]", "id"))
o.effects("glBindProgramPipeline{,EXT}", set_("context.pipeline", "pipeline"))
o.effects("glUseProgram", set_("context.program", "program"))
o.effects(
    "glBindFramebuffer{,EXT,OES}",
    set_("context.framebuffer[GL_DRAW_FRAMEBUFFER]", "framebuffer", when="target != GL_READ_FRAMEBUFFER"),
    set_("context.framebuffer[GL_READ_FRAMEBUFFER]", "framebuffer", when="target != GL_DRAW_FRAMEBUFFER"),
)
o.effects(
    "glShaderSource",
    set_("share.shaders[shader].source", "string"),
)
