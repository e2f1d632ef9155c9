"""Effects of commands on the objects of OpenGL and OpenGL ES, and of draws; `gl_effects` says how to read them."""

from __future__ import annotations

from drawtap.spec.overlay import Overlay, create, delete, run, set_

PART = o = Overlay("gl", xml="gl.xml")

# The objects that commands are about: what is bound, or what they name.
BUFFER = "context.bound_buffer[target]"
BUFFER_BY_NAME = "context.named_buffer[buffer]"
ARRAYS = "context.vao"
ARRAYS_BY_NAME = "context.vertex_arrays[vaobj]"
TEXTURE = "context.bound_texture[target]"
TEXTURE_BY_NAME = "share.textures[texture]"
SAMPLER = "share.samplers[sampler]"
TARGET = "context.bound_framebuffer[target]"
DRAWN = "context.draw_framebuffer"
TARGET_BY_NAME = "context.framebuffers[framebuffer]"
READ = "context.bound_framebuffer[GL_READ_FRAMEBUFFER]"
PROGRAM = "context.uniform_program"
PROGRAM_BY_NAME = "share.programs[program]"

# ---- buffers -----------------------------------------------------------------------------------------------

o.effects("glGenBuffers", create("share.buffers", "buffers"))
o.effects("glCreateBuffers", run("create_buffers", "buffers"))
o.effects("glDeleteBuffers", delete("share.buffers", "buffers"))
o.effects("glBindBuffer", run("bind_buffer", "target, buffer"))
o.effects("glBindBufferBase", run("bind_buffer_range", "target, index, buffer, 0, -1"))
o.effects("glBindBufferRange", run("bind_buffer_range", "target, index, buffer, offset, size"))
o.effects("glBindBuffersBase", run("bind_buffers_range", "target, first, count, buffers"))
o.effects("glBindBuffersRange", run("bind_buffers_ranges", "target, first, count, buffers, offsets, sizes"))
# Calls on the buffer of a binding point, and their twins on a buffer by name.
for named, buffer in (("", BUFFER), ("Named", BUFFER_BY_NAME)):
    o.effects(f"gl{named}BufferData", run("buffer_data", f"{buffer}, size, data, usage, 0, 0"))
    o.effects(f"gl{named}BufferStorage", run("buffer_data", f"{buffer}, size, data, 0, flags, 1"))
    o.effects(f"gl{named}BufferSubData", run("buffer_sub_data", f"{buffer}, offset, size, data"))
    o.effects(f"glClear{named}BufferData", run("fill_buffer", f"{buffer}, 0, -1"))
    o.effects(f"glClear{named}BufferSubData", run("fill_buffer", f"{buffer}, offset, size"))
    o.effects(f"glMap{named}Buffer", run("map_buffer", f"{buffer}, access, result"))
    o.effects(f"glMap{named}BufferRange", run("map_buffer_range", f"{buffer}, offset, length, access, result"))
    o.effects(f"glUnmap{named}Buffer", run("unmap_buffer", buffer))
    o.effects(f"glFlushMapped{named}BufferRange", run("flush_buffer", buffer))
o.effects("glNamedBufferDataEXT", run("buffer_data", "context.touched_buffer[buffer], size, data, usage, 0, 0"))
o.effects("glNamedBufferSubDataEXT", run("buffer_sub_data", f"{BUFFER_BY_NAME}, offset, size, data"))
o.effects(
    "glCopyBufferSubData",
    run("copy_buffer", "context.bound_buffer[readTarget], context.bound_buffer[writeTarget], writeOffset, size"),
)
o.effects(
    "glCopyNamedBufferSubData",
    run("copy_buffer", "context.named_buffer[readBuffer], context.named_buffer[writeBuffer], writeOffset, size"),
)
o.effects("glInvalidateBufferData", run("invalidate_buffer", BUFFER_BY_NAME))

# ---- vertex arrays -----------------------------------------------------------------------------------------

o.effects("glGenVertexArrays glCreateVertexArrays", create("context.vertex_arrays", "arrays"))
o.effects("glDeleteVertexArrays", delete("context.vertex_arrays", "arrays"))
o.effects("glBindVertexArray{,APPLE}", run("bind_vertex_array", "array"))
o.effects("glVertexArrayElementBuffer", set_("context.vertex_arrays[vaobj].GL_ELEMENT_ARRAY_BUFFER_BINDING", "buffer"))
o.effects("glVertexAttribPointer", run("attrib_pointer", "index, size, type, normalized, 0, stride, pointer"))
o.effects("glVertexAttribIPointer", run("attrib_pointer", "index, size, type, 0, 1, stride, pointer"))
o.effects("glVertexAttribLPointer", run("attrib_pointer", "index, size, type, 0, 2, stride, pointer"))
o.effects("glEnableVertexAttribArray", run("attrib_enabled", f"{ARRAYS}, index, 1"))
o.effects("glDisableVertexAttribArray", run("attrib_enabled", f"{ARRAYS}, index, 0"))
o.effects("glEnableVertexArrayAttrib", run("attrib_enabled", f"{ARRAYS_BY_NAME}, index, 1"))
o.effects("glDisableVertexArrayAttrib", run("attrib_enabled", f"{ARRAYS_BY_NAME}, index, 0"))
o.effects("glVertexAttribDivisor", run("attrib_divisor", "index, divisor"))
for named, bind, arrays in (("", "Bind", ARRAYS), ("Array", "VertexArray", ARRAYS_BY_NAME)):
    for letter, numbers in (("", "normalized, 0"), ("I", "0, 1"), ("L", "0, 2")):
        layout = run("attrib_format", f"{arrays}, attribindex, size, type, {numbers}, relativeoffset")
        o.effects(f"glVertex{named}Attrib{letter}Format", layout)
    o.effects(f"glVertex{named}AttribBinding", run("attrib_binding", f"{arrays}, attribindex, bindingindex"))
    o.effects(f"gl{bind}VertexBuffer", run("vertex_buffer", f"{arrays}, bindingindex, buffer, offset, stride"))
    o.effects(f"gl{bind}VertexBuffers", run("vertex_buffers", f"{arrays}, first, count, buffers, offsets, strides"))
    o.effects(f"glVertex{named}BindingDivisor", run("binding_divisor", f"{arrays}, bindingindex, divisor"))
for array, fields in (
    ("Vertex", "size, type, stride"),
    ("Normal", "3, type, stride"),
    ("Color", "size, type, stride"),
    ("SecondaryColor", "size, type, stride"),
    ("Index", "1, type, stride"),
    ("EdgeFlag", "1, GL_UNSIGNED_BYTE, stride"),
    ("FogCoord", "1, type, stride"),
):
    words = {"SecondaryColor": "SECONDARY_COLOR", "EdgeFlag": "EDGE_FLAG", "FogCoord": "FOG_COORD"}
    o.effects(
        f"gl{array}Pointer", run("client_array", f"GL_{words.get(array, array.upper())}_ARRAY, {fields}, pointer")
    )
o.effects("glTexCoordPointer", run("client_array", "GL_TEXTURE_COORD_ARRAY, size, type, stride, pointer"))
o.effects("glPointSizePointerOES", run("client_array", "GL_POINT_SIZE_ARRAY_OES, 1, type, stride, pointer"))
o.effects("glEnableClientState", run("client_state", "array, 1"))
o.effects("glDisableClientState", run("client_state", "array, 0"))
o.effects("glClientActiveTexture", set_("context.GL_CLIENT_ACTIVE_TEXTURE", "texture"))
o.effects("glInterleavedArrays", run("interleaved_arrays", "format, stride, pointer"))

# ---- textures, samplers ------------------------------------------------------------------------------------

o.effects("glGenTextures{,EXT}", create("share.textures", "textures"))
o.effects("glCreateTextures", run("create_textures", "target, textures"))
o.effects("glDeleteTextures{,EXT}", delete("share.textures", "textures"))
o.effects("glActiveTexture", run("active_texture", "texture"))
o.effects("glBindTexture", run("bind_texture", "target, texture"))
o.effects("glBindTextureUnit", run("bind_texture_unit", "unit, texture"))
o.effects("glBindTextures", run("bind_textures", "first, count, textures"))
o.effects("glTexParameter{f,i,x,xOES}", run("texture_parameter", f"{TEXTURE}, pname, param"))
o.effects("glTexParameter{f,i,Ii,Iui,x}v glTexParameterxvOES", run("texture_parameter_v", f"{TEXTURE}, pname, params"))
o.effects("glTextureParameter{f,i}", run("texture_parameter", f"{TEXTURE_BY_NAME}, pname, param"))
o.effects("glTextureParameter{f,i}v", run("texture_parameter_v", f"{TEXTURE_BY_NAME}, pname, param"))
o.effects("glTextureParameterI{i,ui}v", run("texture_parameter_v", f"{TEXTURE_BY_NAME}, pname, params"))
# Images by dimensions: offset, extent, and the extent of a copy from a framebuffer, which is flat.
IMAGES = (
    (1, "xoffset, 0, 0", "width, 1, 1", "width, 1"),
    (2, "xoffset, yoffset, 0", "width, height, 1", "width, height"),
    (3, "xoffset, yoffset, zoffset", "width, height, depth", "width, height"),
)
# EXT_direct_state_access names a texture with its target, or a unit by its number. Images there are like images of the
# bound texture of the active unit.
NAMED = run("texture_named", "texture, target")
UNIT = run("unit_direct", "texunit")
for n, offset, extent, flat in IMAGES:
    image = f"target, level, internalformat, {extent}, border"
    o.effects(f"glTexImage{n}D", run("tex_image", f"{image}, 0, pixels"))
    o.effects(f"glCompressedTexImage{n}D", run("tex_image", f"{image}, imageSize, data"))
    for compressed, texels in (("", "pixels"), ("Compressed", "data")):
        part = f"level, {offset}, {extent}, {texels}"
        o.effects(f"gl{compressed}TexSubImage{n}D", run("tex_sub_image", f"target, {part}"))
        o.effects(f"gl{compressed}TextureSubImage{n}D", run("texture_sub_image", f"{TEXTURE_BY_NAME}, {part}"))
    copied = f"level, {offset}, {flat}"
    o.effects(f"glCopyTexSubImage{n}D", run("copy_tex_sub_image", f"target, {copied}"))
    o.effects(f"glCopyTextureSubImage{n}D", run("copy_texture_sub_image", f"{TEXTURE_BY_NAME}, {copied}"))
    storage = run("texture_storage", f"{TEXTURE_BY_NAME}, levels, internalformat, {extent}")
    o.effects(f"glTexStorage{n}D", run("tex_storage", f"target, levels, internalformat, {extent}"))
    o.effects(f"glTextureStorage{n}D", storage)
    o.effects(f"glTextureStorage{n}DEXT", NAMED, storage)
    part = f"level, {offset}, {extent}"
    o.effects(f"glTextureSubImage{n}DEXT", NAMED, run("texture_sub_image", f"{TEXTURE_BY_NAME}, {part}, pixels"))
    o.effects(f"glMultiTexSubImage{n}DEXT", UNIT, run("tex_sub_image", f"target, {part}, pixels"))
    for form, first in (("Texture", run("texture_direct", "texture, target")), ("MultiTex", UNIT)):
        o.effects(f"gl{form}Image{n}DEXT", first, run("tex_image", f"{image}, 0, pixels"))
        o.effects(f"glCompressed{form}Image{n}DEXT", first, run("tex_image", f"{image}, imageSize, bits"))
        o.effects(f"glCompressed{form}SubImage{n}DEXT", first, run("tex_sub_image", f"target, {part}, bits"))
        o.effects(f"glCopy{form}SubImage{n}DEXT", first, run("copy_tex_sub_image", f"target, {copied}"))
        if n < 3:
            copied_whole = run("copy_tex_image", f"target, level, internalformat, {flat}, border")
            o.effects(f"glCopy{form}Image{n}DEXT", first, copied_whole)
    if n < 3:
        o.effects(f"glCopyTexImage{n}D", run("copy_tex_image", f"target, level, internalformat, {flat}, border"))
    if n > 1:
        samples = f"samples, internalformat, {extent}, fixedsamplelocations"
        o.effects(f"glTexImage{n}DMultisample", run("tex_multisample", f"target, {samples}, 0"))
        o.effects(f"glTexStorage{n}DMultisample", run("tex_multisample", f"target, {samples}, 1"))
        o.effects(f"glTextureStorage{n}DMultisample", run("texture_multisample", f"{TEXTURE_BY_NAME}, {samples}, 1"))
for form, texture in (("Tex", TEXTURE), ("Texture", TEXTURE_BY_NAME)):
    o.effects(f"gl{form}Buffer", run("tex_buffer", f"{texture}, internalformat, buffer, 0, -1"))
    o.effects(f"gl{form}BufferRange", run("tex_buffer", f"{texture}, internalformat, buffer, offset, size"))
o.effects(
    "glTextureView",
    run("texture_view", "texture, target, origtexture, internalformat, minlevel, numlevels, minlayer, numlayers"),
)
o.effects("glGenerateMipmap", run("generate_mipmap", TEXTURE))
o.effects("glGenerateTextureMipmap", run("generate_mipmap", TEXTURE_BY_NAME))
o.effects("glGenerateTextureMipmapEXT", NAMED, run("generate_mipmap", TEXTURE_BY_NAME))
o.effects("glTextureParameter{f,i}EXT", NAMED, run("texture_parameter", f"{TEXTURE_BY_NAME}, pname, param"))
o.effects(
    "glTextureParameter{f,i}vEXT glTextureParameterI{i,ui}vEXT",
    NAMED,
    run("texture_parameter_v", f"{TEXTURE_BY_NAME}, pname, params"),
)
o.effects("glBindMultiTextureEXT", UNIT, run("bind_texture", "target, texture"))
o.effects("glMultiTexParameter{f,i}EXT", UNIT, run("texture_parameter", f"{TEXTURE}, pname, param"))
o.effects("glMultiTexParameter{f,i,Ii,Iui}vEXT", UNIT, run("texture_parameter_v", f"{TEXTURE}, pname, params"))
o.effects("glMultiTexEnv{f,i}EXT", UNIT, run("tex_env", "target, pname, param"))
o.effects("glMultiTexEnv{f,i}vEXT", UNIT, run("tex_env_v", "target, pname, params"))
o.effects("glMultiTexGen{d,f,i}EXT", UNIT, run("tex_gen", "coord, pname, param"))
o.effects("glMultiTexGen{d,f,i}vEXT", UNIT, run("tex_gen_v", "coord, pname, params"))
o.effects("glGenerateMultiTexMipmapEXT", UNIT, run("generate_mipmap", TEXTURE))
o.effects("glClearTexImage", run("clear_tex_image", f"{TEXTURE_BY_NAME}, level, 1"))
o.effects("glClearTexSubImage", run("clear_tex_image", f"{TEXTURE_BY_NAME}, level, 0"))
o.effects("glInvalidateTexImage", run("clear_tex_image", f"{TEXTURE_BY_NAME}, level, 1"))
o.effects(
    "glCopyImageSubData",
    run("copy_image", "srcName, srcTarget, srcLevel, dstName, dstTarget, dstLevel, srcWidth, srcHeight, srcDepth"),
)
o.effects("glPrioritizeTextures", run("prioritize_textures", "n, textures, priorities"))
o.effects("glEGLImageTargetTexture2DOES", run("image_texture", "target, image"))
o.effects("glEGLImageTargetRenderbufferStorageOES", run("image_renderbuffer", "target, image"))
o.effects("glBindImageTexture", run("bind_image_texture", "unit, texture, level, layered, layer, access, format"))
o.effects("glBindImageTextures", run("bind_image_textures", "first, count, textures"))
o.effects("glGenSamplers glCreateSamplers", create("share.samplers", "samplers"))
o.effects("glDeleteSamplers", run("delete_samplers", "count, samplers"))
o.effects("glBindSampler", run("bind_sampler", "unit, sampler"))
o.effects("glBindSamplers", run("bind_samplers", "first, count, samplers"))
o.effects("glSamplerParameter{f,i}", run("texture_parameter", f"{SAMPLER}, pname, param"))
o.effects("glSamplerParameter{f,i,Ii,Iui}v", run("texture_parameter_v", f"{SAMPLER}, pname, param"))

# ---- framebuffers ------------------------------------------------------------------------------------------

o.effects("glGenFramebuffers{,OES} glCreateFramebuffers", create("context.framebuffers", "framebuffers"))
o.effects("glDeleteFramebuffers{,OES}", delete("context.framebuffers", "framebuffers"))
o.effects("glBindFramebuffer{,EXT,OES}", run("bind_framebuffer", "target, framebuffer"))
o.effects(
    "glFramebufferTexture{1D,2D,2DOES,2DMultisampleEXT,2DMultisampleIMG}",
    run("attach_texture", f"{TARGET}, attachment, textarget, texture, level, 0, 0"),
)
o.effects(
    "glFramebufferTexture3D{,OES}",
    run("attach_texture", f"{TARGET}, attachment, textarget, texture, level, zoffset, 0"),
)
# Calls on a bound framebuffer, or on the renderbuffer, and their twins by name.
for named, target, renderbuffer in (
    ("", TARGET, "context.bound_renderbuffer"),
    ("Named", TARGET_BY_NAME, "share.renderbuffers[renderbuffer]"),
):
    texture = f"{target}, attachment, 0, texture, level"
    o.effects(f"gl{named}FramebufferTexture", run("attach_texture", f"{texture}, 0, 1"))
    o.effects(f"gl{named}FramebufferTextureLayer", run("attach_texture", f"{texture}, layer, 0"))
    attached = run("attach_renderbuffer", f"{target}, attachment, renderbuffer")
    o.effects(f"gl{named}FramebufferRenderbuffer", attached)
    o.effects(f"gl{named}FramebufferParameteri", set_(f"{target}[pname]", "param"))
    for form, count in (("", "0"), ("Multisample", "samples")):
        storage = run("renderbuffer_storage", f"{renderbuffer}, {count}, internalformat, width, height")
        o.effects(f"gl{named}RenderbufferStorage{form}", storage)
o.effects("glFramebufferRenderbufferOES", run("attach_renderbuffer", f"{TARGET}, attachment, renderbuffer"))
for named, drawn, read in (("", DRAWN, READ), ("NamedFramebuffer", TARGET_BY_NAME, TARGET_BY_NAME)):
    o.effects(f"gl{named}DrawBuffer", run("draw_buffer", f"{drawn}, buf"))
    o.effects(f"gl{named}DrawBuffers", run("draw_buffers", f"{drawn}, n, bufs"))
    o.effects(f"gl{named}ReadBuffer", run("read_buffer", f"{read}, src"))
o.effects("glGenRenderbuffers{,OES} glCreateRenderbuffers", create("share.renderbuffers", "renderbuffers"))
o.effects("glDeleteRenderbuffers{,OES}", delete("share.renderbuffers", "renderbuffers"))
o.effects("glBindRenderbuffer{,EXT,OES}", run("bind_renderbuffer", "renderbuffer"))
o.effects(
    "glRenderbufferStorageOES",
    run("renderbuffer_storage", "context.bound_renderbuffer, 0, internalformat, width, height"),
)
o.effects("glBlitFramebuffer", run("blit", f"{READ}, {DRAWN}, mask"))
o.effects(
    "glBlitNamedFramebuffer",
    run("blit", "context.framebuffers[readFramebuffer], context.framebuffers[drawFramebuffer], mask"),
)
o.effects(
    "glInvalidateFramebuffer glDiscardFramebufferEXT",
    run("invalidate_framebuffer", f"{TARGET}, numAttachments, attachments"),
)
o.effects(
    "glInvalidateNamedFramebufferData", run("invalidate_framebuffer", f"{TARGET_BY_NAME}, numAttachments, attachments")
)
o.effects("glClear", run("clear", "mask"))
o.effects("glClearBuffer{fv,iv,uiv,fi}", run("clear_buffer_v", f"{DRAWN}, buffer, drawbuffer"))
o.effects("glClearNamedFramebuffer{fv,iv,uiv,fi}", run("clear_buffer_v", f"{TARGET_BY_NAME}, buffer, drawbuffer"))
o.effects("glReadPixels", run("read_pixels", "width, height, format, type, pixels"))
o.effects("glReadnPixels", run("read_pixels", "width, height, format, type, data"))
o.effects("glAccum", run("accum", "op"))
o.effects("glGetTexImage", run("get_tex_image", "target, level, pixels"))
o.effects("glGetTextureImage", run("get_texture_image", f"{TEXTURE_BY_NAME}, level, pixels"))
o.effects("glGetCompressedTexImage", run("get_tex_image", "target, level, img"))
o.effects("glGetBufferSubData", run("get_buffer_data", BUFFER))
o.effects("glGetNamedBufferSubData", run("get_buffer_data", BUFFER_BY_NAME))

# ---- shaders and programs ----------------------------------------------------------------------------------

o.effects("glCreateShader", run("create_shader", "type, result"))
o.effects("glDeleteShader", run("delete_shader", "shader"))
o.effects("glShaderSource", run("shader_source", "shader, string"))
o.effects("glCompileShader", run("compile_shader", "shader"))
o.effects("glShaderBinary", run("shader_binary", "count, shaders, binary"))
o.effects("glSpecializeShader", run("compile_shader", "shader"))
o.effects("glCreateProgram", run("create_program", "result"))
o.effects("glCreateShaderProgramv{,EXT}", run("create_shader_program", "type, strings, result"))
o.effects("glDeleteProgram", run("delete_program", "program"))
o.effects("glDeleteObjectARB", run("delete_object", "obj"))
o.effects("glAttachShader", run("attach_shader", "program, shader"))
o.effects("glDetachShader", run("detach_shader", "program, shader"))
o.effects("glBindAttribLocation", run("bind_attrib_location", "program"))
o.effects("glBindFragDataLocation{,Indexed}", run("bind_attrib_location", "program"))
o.effects("glTransformFeedbackVaryings", run("feedback_varyings", "program"))
o.effects("glProgramParameteri", run("program_parameter", "program, pname, value"))
o.effects("glLinkProgram", run("link_program", "program"))
o.effects("glProgramBinary", run("program_binary", "program, binary"))
o.effects("glUseProgram", run("use_program", "program"))
o.effects("glGetProgramiv", run("get_program", "program, pname, params"))
o.effects("glGetShaderiv", run("get_shader", "shader, pname, params"))
o.effects("glGetObjectParameterivARB", run("get_object", "obj, pname, params"))
o.effects("glGetUniformLocation", run("uniform_location", "program, name, result"))
o.effects("glGetAttribLocation", run("attrib_location", "program, name, result"))
o.effects("glGetActiveUniform", run("active_uniform", "program, size, type, name"))
o.effects("glGetUniformBlockIndex", run("uniform_block_index", "program, uniformBlockName, result"))
o.effects("glGetProgramResourceIndex", run("resource_index", "program, programInterface, name, result"))
o.effects("glGetProgramResourceLocation", run("resource_location", "program, programInterface, name, result"))
o.effects("glUniformBlockBinding", run("uniform_block_binding", "program, uniformBlockIndex, uniformBlockBinding"))
o.effects(
    "glShaderStorageBlockBinding", run("storage_block_binding", "program, storageBlockIndex, storageBlockBinding")
)
for named, program in (("", PROGRAM), ("Program", PROGRAM_BY_NAME)):
    for n, values in ((1, "v0, 0, 0, 0"), (2, "v0, v1, 0, 0"), (3, "v0, v1, v2, 0"), (4, "v0, v1, v2, v3")):
        o.effects(f"gl{named}Uniform{n}{{f,i,ui}}", run("uniform", f"{program}, location, {n}, {values}"))
        o.effects(f"gl{named}Uniform{n}{{f,i,ui,d}}v", run("uniform_v", f"{program}, location, {n}, count, value"))
    for columns, rows in ((c, r) for c in (2, 3, 4) for r in (2, 3, 4)):
        shape = str(columns) if columns == rows else f"{columns}x{rows}"
        matrix = run("uniform_matrix", f"{program}, location, {columns}, {rows}, count, transpose, value")
        o.effects(f"gl{named}UniformMatrix{shape}{{f,d}}v", matrix)
for n, values in ((1, "x, 0, 0, 0"), (2, "x, y, 0, 0"), (3, "x, y, z, 0"), (4, "x, y, z, w")):
    o.effects(f"glUniform{n}d", run("uniform", f"{PROGRAM}, location, {n}, {values}"))
o.effects("glGenProgramPipelines{,EXT} glCreateProgramPipelines", create("context.pipelines", "pipelines"))
o.effects("glDeleteProgramPipelines{,EXT}", delete("context.pipelines", "pipelines"))
o.effects("glBindProgramPipeline{,EXT}", run("bind_pipeline", "pipeline"))
o.effects("glUseProgramStages{,EXT}", run("use_program_stages", "pipeline, stages, program"))
o.effects("glActiveShaderProgram", set_("context.pipelines[pipeline].GL_ACTIVE_PROGRAM", "program"))
o.effects("glBindProgramARB", run("bind_arb_program", "target, program"))
o.effects("glGenProgramsARB", create("share.arb_programs", "programs"))
o.effects("glDeleteProgramsARB", delete("share.arb_programs", "programs"))
o.effects("glProgramStringARB", run("arb_program_string", "target, string"))
o.effects("glProgramLocalParameter4{d,f}{,v}ARB", run("arb_local", "target"))
o.effects("glProgramEnvParameter4{d,f}{,v}ARB", run("arb_environment", "target"))

# ---- queries, transform feedback, synchronisation, conditions ----------------------------------------------

o.effects("glGenQueries{,EXT} glCreateQueries", create("context.queries", "ids"))
o.effects("glDeleteQueries{,EXT}", delete("context.queries", "ids"))
o.effects("glBeginQuery", run("begin_query", "target, 0, id"))
o.effects("glBeginQueryIndexed", run("begin_query", "target, index, id"))
o.effects("glEndQuery", run("end_query", "target, 0"))
o.effects("glEndQueryIndexed", run("end_query", "target, index"))
o.effects("glQueryCounter", run("query_counter", "id, target"))
o.effects("glGetQueryObject{i,ui,i64,ui64}v", run("get_query", "id"))
o.effects("glBeginConditionalRender{,NV}", run("begin_conditional", "id, mode"))
o.effects("glEndConditionalRender{,NV}", run("end_conditional"))
o.effects("glGenTransformFeedbacks glCreateTransformFeedbacks", create("context.transform_feedbacks", "ids"))
o.effects("glDeleteTransformFeedbacks", delete("context.transform_feedbacks", "ids"))
o.effects("glBindTransformFeedback", run("bind_feedback", "id"))
o.effects("glBeginTransformFeedback", run("feedback", "1, 0, primitiveMode"))
o.effects("glEndTransformFeedback", run("feedback", "0, 0, 0"))
o.effects("glPauseTransformFeedback", run("feedback_pause", "1"))
o.effects("glResumeTransformFeedback", run("feedback_pause", "0"))
o.effects("glFenceSync", run("fence", "result"))
o.effects("glDeleteSync", run("delete_sync", "sync"))
o.effects("glClientWaitSync", run("wait_sync", "sync"))
o.effects("glWaitSync", run("wait_sync", "sync"))
o.effects("glObjectLabel", run("object_label", "identifier, name, length, label"))
o.effects("glPushDebugGroup", run("debug_group", "1"))
o.effects("glPopDebugGroup", run("debug_group", "-1"))

# ---- draws -------------------------------------------------------------------------------------------------

o.effects("glDrawArrays", run("draw", "mode, count, 1, 0"))
o.effects("glDrawArraysInstanced{,BaseInstance}", run("draw", "mode, count, instancecount, 0"))
o.effects("glDrawElements{,BaseVertex} glDrawRangeElements{,BaseVertex}", run("draw", "mode, count, 1, 1"))
o.effects(
    "glDrawElementsInstanced{,BaseVertex,BaseInstance,BaseVertexBaseInstance}",
    run("draw", "mode, count, instancecount, 1"),
)
o.effects("glMultiDrawArrays", run("multi_draw", "mode, count, drawcount, 0"))
o.effects("glMultiDrawElements{,BaseVertex}", run("multi_draw", "mode, count, drawcount, 1"))
o.effects("glDrawArraysIndirect", run("draw_indirect", "mode, 0, indirect, 1"))
o.effects("glDrawElementsIndirect", run("draw_indirect", "mode, 1, indirect, 1"))
o.effects("glMultiDrawArraysIndirect", run("draw_indirect", "mode, 0, indirect, drawcount"))
o.effects("glMultiDrawElementsIndirect", run("draw_indirect", "mode, 1, indirect, drawcount"))
o.effects("glDrawTransformFeedback{,Stream}{,Instanced}", run("draw_feedback", "mode, id"))
o.effects("glArrayElement", run("array_element"))
o.effects("glDrawPixels", run("draw_pixels", "width, height, format, pixels"))
o.effects("glBitmap", run("draw_bitmap", "width, height, xmove, ymove, bitmap"))
o.effects("glCopyPixels", run("copy_pixels", "width, height, type"))
o.effects("glDrawTex{s,i,f,x}{,v}OES", run("draw_tex"))
o.effects("glDispatchCompute", run("dispatch", "0"))
o.effects("glDispatchComputeIndirect", run("dispatch", "1"))
