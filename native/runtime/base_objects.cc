// Objects and what they hold: buffers, textures, renderbuffers, samplers, display lists; vertex arrays and
// framebuffers.
#include <stdlib.h>

#include "base_objects.h"
#include "fixed_arrays.h"
#include "sampled.h"
#include "targets.h"

namespace dt {
namespace hook {

using namespace gl;

// ---- names --------------------------------------------------------------------------------------

void Base::Names::add(uint32_t name) {
  if (count == room) {
    const uint32_t more = room ? room * 2 : 64;
    uint32_t* grown = (uint32_t*)realloc(list, more * sizeof *list);
    if (!grown) return;
    list = grown;
    room = more;
  }
  list[count++] = name;
}
Base::~Base() {
  for (Names& n : names_by_kind) free(n.list);
}

void Base::find(Kind kind, uint8_t (*is_one)(uint32_t)) {
  uint32_t end = LEAST_SEARCHED;
  for (uint32_t name = 1; is_one && name < end; name++) {
    if (!is_one(name)) continue;
    names_by_kind[kind].add(name);
    if (name + LEAST_SEARCHED > end) end = name + LEAST_SEARCHED;
  }
}

void Base::names(bool shared) {
  const bool framebuffers = has(30, 20), arrays = has(30, 30);
  if (shared) {
    if (has(11, 10)) find(TEXTURES, d.glIsTexture);
    if (has(15, 11)) find(BUFFERS, d.glIsBuffer);
    if (framebuffers) find(RENDERBUFFERS, d.glIsRenderbuffer);
    if (has(33, 30)) find(SAMPLERS, d.glIsSampler);
    if (has(20, 20)) find(PROGRAMS, d.glIsProgram), find(SHADERS, d.glIsShader);
    if (!es && old) find(LISTS, d.glIsList);
  }
  if (framebuffers) find(FRAMEBUFFERS, d.glIsFramebuffer);
  if (arrays) find(VERTEX_ARRAYS, d.glIsVertexArray);
  if (has(41, 31)) find(PIPELINES, d.glIsProgramPipeline);
  if (has(40, 30)) find(FEEDBACKS, d.glIsTransformFeedback);
  if (has(15, 30)) find(QUERIES, d.glIsQuery);
  static const struct {
    Kind kind;
    const driver::Function<void(int32_t, uint32_t*)>& maker;
  } makers[] = {{TEXTURES, driver::glGenTextures},
                {BUFFERS, driver::glGenBuffers},
                {RENDERBUFFERS, driver::glGenRenderbuffers},
                {SAMPLERS, driver::glGenSamplers},
                {FRAMEBUFFERS, driver::glGenFramebuffers},
                {VERTEX_ARRAYS, driver::glGenVertexArrays},
                {PIPELINES, driver::glGenProgramPipelines},
                {FEEDBACKS, driver::glGenTransformFeedbacks},
                {QUERIES, driver::glGenQueries}};
  for (auto& m : makers)
    if (names_by_kind[m.kind].count) tell(m.maker, names_by_kind[m.kind].count, names_by_kind[m.kind].list);
  fine();
}

void Base::shared_objects() {
  programs();
  take_lists();
  for (uint32_t i = 0; i < names_by_kind[BUFFERS].count; i++) take_buffer(names_by_kind[BUFFERS].list[i]);
  tell(driver::glPixelStorei, GL_UNPACK_ALIGNMENT, 1);
  for (uint32_t i = 0; i < names_by_kind[TEXTURES].count; i++) take_texture(names_by_kind[TEXTURES].list[i]);
  for (uint32_t i = 0; i < names_by_kind[RENDERBUFFERS].count; i++)
    take_renderbuffer(names_by_kind[RENDERBUFFERS].list[i]);
  for (uint32_t i = 0; i < names_by_kind[SAMPLERS].count; i++) take_sampler(names_by_kind[SAMPLERS].list[i]);
  take_syncs();
}

// A fence that is made here is done no later than one that was made before: what waits for it goes on.
void Base::take_syncs() {
  if (!has(32, 30) || !d.glIsSync) return;
  constexpr uint32_t MOST = 4096;
  void** const list = (void**)malloc(MOST * sizeof(void*));
  const uint32_t count = list ? keep_syncs(list, MOST) : 0;
  for (uint32_t i = 0; i < count; i++) {
    if (!d.glIsSync(list[i])) continue;  // of other contexts, or gone
    keep_forget_sync(list[i]);
    tell_result((uint64_t)(uintptr_t)list[i], driver::glFenceSync, GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
  }
  free(list);
}

void Base::own_objects() {
  for (uint32_t i = 0; i < names_by_kind[VERTEX_ARRAYS].count; i++)
    take_vertex_array(names_by_kind[VERTEX_ARRAYS].list[i]);
  if (has(15, 11) || !c->core) take_vertex_array(0);
  const uint32_t draw = (uint32_t)get(GL_DRAW_FRAMEBUFFER_BINDING),
                 read = has(30, 30) ? (uint32_t)get(GL_READ_FRAMEBUFFER_BINDING) : draw;
  for (uint32_t i = 0; i < names_by_kind[FRAMEBUFFERS].count; i++)
    take_framebuffer(names_by_kind[FRAMEBUFFERS].list[i]);
  if (names_by_kind[FRAMEBUFFERS].count) {
    if (has(30, 30))
      d.glBindFramebuffer(GL_DRAW_FRAMEBUFFER, draw), d.glBindFramebuffer(GL_READ_FRAMEBUFFER, read);
    else
      d.glBindFramebuffer(GL_FRAMEBUFFER, draw);
  }
  pipelines();
  for (uint32_t i = 0; i < names_by_kind[QUERIES].count; i++)
    lacks("query %u: what it counted until here", names_by_kind[QUERIES].list[i]);
}

// ---- display lists: no query returns them -------------------------------------------------------

void Base::take_lists() {
  const Names& lists = names_by_kind[LISTS];
  // Objects that were made while recording are in this recording, if the context is.
  auto is_there = [&](uint32_t name) {
    return c->in_recording && keep_state(KEEP_LIST, c->share_group, name) != Kept::WHOLE;
  };
  for (uint32_t i = 0; i < lists.count; i++)
    if (!is_there(lists.list[i])) tell_result(lists.list[i], driver::glGenLists, 1);
  for (uint32_t i = 0; i < lists.count; i++) {
    if (is_there(lists.list[i])) continue;
    // One of which nothing was kept was never made: glGenLists leaves empty ones.
    if (keep_tell(t, KEEP_LIST, c->share_group, lists.list[i]) == Kept::LOST)
      lacks("display list %u: its calls are in an earlier recording, or there was no room to keep them", lists.list[i]);
  }
}

// ---- buffers ------------------------------------------------------------------------------------

void Base::take_buffer(uint32_t name) {
  const uint32_t was = (uint32_t)get(GL_ARRAY_BUFFER_BINDING);
  d.glBindBuffer(GL_ARRAY_BUFFER, name);
  int64_t size = 0;
  int32_t usage = 0, immutable = 0, flags = 0, mapped = 0;
  if (has(32, 30)) {
    d.glGetBufferParameteri64v(GL_ARRAY_BUFFER, GL_BUFFER_SIZE, &size);
  } else {
    const int32_t small = asked(d.glGetBufferParameteriv, GL_ARRAY_BUFFER, GL_BUFFER_SIZE);
    size = small;
  }
  d.glGetBufferParameteriv(GL_ARRAY_BUFFER, GL_BUFFER_USAGE, &usage);
  if (has(15, 30)) d.glGetBufferParameteriv(GL_ARRAY_BUFFER, GL_BUFFER_MAPPED, &mapped);
  if (has(44, 0)) {
    d.glGetBufferParameteriv(GL_ARRAY_BUFFER, GL_BUFFER_IMMUTABLE_STORAGE, &immutable);
    d.glGetBufferParameteriv(GL_ARRAY_BUFFER, GL_BUFFER_STORAGE_FLAGS, &flags);
  }
  const bool known = fine() && size >= 0 && (uint64_t)size <= MOST_BUFFER;
  char* const content = known && size ? (char*)malloc((size_t)size) : nullptr;
  bool had = !size && known;
  if (content && mapped) {
    // While it is mapped nothing but the mapping can be looked at, unless it is a persistent one.
    int64_t offset = 0, length = 0;
    void* at = nullptr;
    if (has(32, 30))
      d.glGetBufferParameteri64v(GL_ARRAY_BUFFER, GL_BUFFER_MAP_OFFSET, &offset),
          d.glGetBufferParameteri64v(GL_ARRAY_BUFFER, GL_BUFFER_MAP_LENGTH, &length);
    else
      length = size;
    d.glGetBufferPointerv(GL_ARRAY_BUFFER, GL_BUFFER_MAP_POINTER, &at);
    if (!es) d.glGetBufferSubData(GL_ARRAY_BUFFER, 0, size, content);
    had = !es && fine();
    if (!had && at && offset >= 0 && offset + length <= size) {
      memset(content, 0, (size_t)size);
      memcpy(content + offset, at, (size_t)length);
      if (offset || length != size) lacks("buffer %u: what of it is not mapped, since it is mapped just now", name);
      had = true;
    }
  } else if (content && !es) {
    d.glGetBufferSubData(GL_ARRAY_BUFFER, 0, size, content);
    had = fine();
  } else if (content && has(0, 30)) {
    const void* at = d.glMapBufferRange(GL_ARRAY_BUFFER, 0, size, 1);
    if (at) memcpy(content, at, (size_t)size), d.glUnmapBuffer(GL_ARRAY_BUFFER);
    had = fine() && at;
  }
  if (!had) lacks("buffer %u of %lld bytes: its content; the driver does not hand it out", name, (long long)size);
  tell(driver::glBindBuffer, GL_ARRAY_BUFFER, name);
  const void* data = had && size ? content : nullptr;
  if (immutable)
    tell(driver::glBufferStorage, GL_ARRAY_BUFFER, size, data, flags);
  else if (size)
    tell(driver::glBufferData, GL_ARRAY_BUFFER, size, data, usage);
  if (had) bytes += (uint64_t)size;
  if (mapped) take_map(name, GL_ARRAY_BUFFER);
  free(content);
  tell(driver::glBindBuffer, GL_ARRAY_BUFFER, 0);
  d.glBindBuffer(GL_ARRAY_BUFFER, was);
}

void Base::take_map(uint32_t name, uint32_t target) {
  void* at = nullptr;
  d.glGetBufferPointerv(target, GL_BUFFER_MAP_POINTER, &at);
  if (!has(30, 30)) {
    const int32_t access = asked(d.glGetBufferParameteriv, target, GL_BUFFER_ACCESS);
    if (fine() && at) tell_result((uint64_t)(uintptr_t)at, driver::glMapBuffer, target, access);
    return;
  }
  int32_t access = 0, offset = 0, length = 0;
  d.glGetBufferParameteriv(target, GL_BUFFER_ACCESS_FLAGS, &access);
  d.glGetBufferParameteriv(target, GL_BUFFER_MAP_OFFSET, &offset);
  d.glGetBufferParameteriv(target, GL_BUFFER_MAP_LENGTH, &length);
  if (!fine() || !at) return lacks("buffer %u: that it is mapped", name);
  // The recording has its content: the mapping must not throw it away.
  const uint32_t kept = (uint32_t)access & ~0xCu;
  tell_result((uint64_t)(uintptr_t)at, driver::glMapBufferRange, target, offset, length, kept);
}

// ---- vertex arrays ------------------------------------------------------------------------------

void Base::take_vertex_array(uint32_t name) {
  const bool objects = has(30, 30);
  const uint32_t was = objects ? (uint32_t)get(GL_VERTEX_ARRAY_BINDING) : 0;
  if (objects) {
    d.glBindVertexArray(name);
    tell(driver::glBindVertexArray, name);
  }
  const bool attributes = has(20, 20);
  for (uint32_t i = 0; attributes && i < c->max_attribs; i++) take_attribute(i, name);
  if (old && !name) take_fixed_arrays();
  if (has(15, 11)) tell(driver::glBindBuffer, GL_ELEMENT_ARRAY_BUFFER, get(GL_ELEMENT_ARRAY_BUFFER_BINDING));
  if (objects) d.glBindVertexArray(was);
  fine();
}

void Base::take_attribute(uint32_t index, uint32_t vao) {
  auto about = [&](uint32_t what) { return asked(d.glGetVertexAttribiv, index, what); };
  const int32_t on = about(GL_VERTEX_ATTRIB_ARRAY_ENABLED), size = about(GL_VERTEX_ATTRIB_ARRAY_SIZE),
                stride = about(GL_VERTEX_ATTRIB_ARRAY_STRIDE), normalized = about(GL_VERTEX_ATTRIB_ARRAY_NORMALIZED);
  const uint32_t type = (uint32_t)about(GL_VERTEX_ATTRIB_ARRAY_TYPE),
                 buffer = (uint32_t)about(GL_VERTEX_ATTRIB_ARRAY_BUFFER_BINDING);
  const bool integer = has(30, 30) && about(GL_VERTEX_ATTRIB_ARRAY_INTEGER),
             wide = has(41, 0) && about(GL_VERTEX_ATTRIB_ARRAY_LONG);
  const int32_t divisor = has(33, 30) ? about(GL_VERTEX_ATTRIB_ARRAY_DIVISOR) : 0;
  void* pointer = nullptr;
  d.glGetVertexAttribPointerv(index, GL_VERTEX_ATTRIB_ARRAY_POINTER, &pointer);
  if (!fine()) return;
  uint32_t binding = index, relative = 0;
  int32_t effective = 0, offset = 0;
  if (has(43, 31)) {
    binding = (uint32_t)about(GL_VERTEX_ATTRIB_BINDING);
    relative = (uint32_t)about(GL_VERTEX_ATTRIB_RELATIVE_OFFSET);
    d.glGetIntegeri_v(GL_VERTEX_BINDING_OFFSET, index, &offset);
    d.glGetIntegeri_v(GL_VERTEX_BINDING_STRIDE, index, &effective);
    if (!fine()) return;
  }
  const bool plain = type == GL_FLOAT && size == 4 && !buffer && !pointer;
  const bool apart = has(43, 31) && (binding != index || relative || (buffer && (intptr_t)offset != (intptr_t)pointer));
  if (apart) {
    int32_t bound = asked(d.glGetIntegeri_v, GL_VERTEX_BINDING_BUFFER, index);
    if (!fine()) bound = (int32_t)buffer;
    if (integer)
      tell(driver::glVertexAttribIFormat, index, size, type, relative);
    else if (wide)
      tell(driver::glVertexAttribLFormat, index, size, type, relative);
    else
      tell(driver::glVertexAttribFormat, index, size, type, normalized, relative);
    tell(driver::glVertexAttribBinding, index, binding);
    tell(driver::glBindVertexBuffer, index, bound, offset, effective);
  } else if (!plain || (vao && buffer) || c->in_recording) {
    tell(driver::glBindBuffer, GL_ARRAY_BUFFER, buffer);
    if (integer)
      tell(driver::glVertexAttribIPointer, index, size, type, stride, pointer);
    else if (wide)
      tell(driver::glVertexAttribLPointer, index, size, type, stride, pointer);
    else
      tell(driver::glVertexAttribPointer, index, size, type, normalized, stride, pointer);
    tell(driver::glBindBuffer, GL_ARRAY_BUFFER, 0);
  }
  if (divisor) tell(apart ? driver::glVertexBindingDivisor : driver::glVertexAttribDivisor, index, divisor);
  tell(on ? driver::glEnableVertexAttribArray : driver::glDisableVertexAttribArray, index);
}

void Base::take_fixed_arrays() {
  const uint32_t unit = has(13, 10) ? (uint32_t)get(GL_CLIENT_ACTIVE_TEXTURE, GL_TEXTURE0) : GL_TEXTURE0;
  for (auto& q : FIXED_ARRAYS) {
    if (!has(q.gl, q.es)) continue;
    const bool texture = q.array == GL_TEXTURE_COORD_ARRAY;
    for (uint32_t i = 0; i < (texture ? c->max_tex_units : 1); i++) {
      if (texture && has(13, 10)) {
        d.glClientActiveTexture(GL_TEXTURE0 + i);
        tell(driver::glClientActiveTexture, GL_TEXTURE0 + i);
      }
      const int32_t size = q.size ? get(q.size) : 0, stride = get(q.stride);
      const uint32_t type = q.type ? (uint32_t)get(q.type) : 0, buffer = has(15, 11) ? (uint32_t)get(q.buffer) : 0;
      const bool on = is(q.array);
      void* pointer = nullptr;
      d.glGetPointerv(q.pointer, &pointer);
      if (!fine()) continue;
      if (pointer || buffer) {
        if (has(15, 11)) tell(driver::glBindBuffer, GL_ARRAY_BUFFER, buffer);
        if (q.size)
          tell_named<int32_t, uint32_t, int32_t, const void*>(t, q.function, size, type, stride, pointer);
        else if (q.type)
          tell_named<uint32_t, int32_t, const void*>(t, q.function, type, stride, pointer);
        else
          tell_named<int32_t, const void*>(t, q.function, stride, pointer);
      }
      tell(on ? driver::glEnableClientState : driver::glDisableClientState, q.array);
    }
  }
  if (has(15, 11)) tell(driver::glBindBuffer, GL_ARRAY_BUFFER, 0);
  if (!has(13, 10)) return;
  d.glClientActiveTexture(unit);
  tell(driver::glClientActiveTexture, unit);
}

// ---- framebuffers -------------------------------------------------------------------------------

void Base::take_framebuffer(uint32_t name) {
  const bool two = has(30, 30);
  const uint32_t target = two ? GL_DRAW_FRAMEBUFFER : GL_FRAMEBUFFER;
  d.glBindFramebuffer(target, name);
  if (two) d.glBindFramebuffer(GL_READ_FRAMEBUFFER, name);
  tell(driver::glBindFramebuffer, GL_FRAMEBUFFER, name);
  const int32_t colors = two ? get(GL_MAX_COLOR_ATTACHMENTS, 1) : 1;
  for (int32_t i = 0; i < colors; i++) take_attachment(target, GL_COLOR_ATTACHMENT0 + (uint32_t)i);
  take_attachment(target, GL_DEPTH_ATTACHMENT);
  take_attachment(target, GL_STENCIL_ATTACHMENT);
  if (has(43, 31))
    for (uint32_t what :
         Each<uint32_t>{GL_FRAMEBUFFER_DEFAULT_WIDTH, GL_FRAMEBUFFER_DEFAULT_HEIGHT, GL_FRAMEBUFFER_DEFAULT_LAYERS,
                        GL_FRAMEBUFFER_DEFAULT_SAMPLES, GL_FRAMEBUFFER_DEFAULT_FIXED_SAMPLE_LOCATIONS}) {
      const int32_t value = asked(d.glGetFramebufferParameteriv, target, what);
      if (fine() && value) tell(driver::glFramebufferParameteri, target, what, value);
    }
  if (!two) return;
  uint32_t buffers[32];
  int32_t count = get(GL_MAX_DRAW_BUFFERS, 1), used = 0;
  for (int32_t i = 0; i < count && i < 32; i++) {
    buffers[i] = (uint32_t)get(GL_DRAW_BUFFER0 + (uint32_t)i);
    if (buffers[i]) used = i + 1;
  }
  tell(driver::glDrawBuffers, used ? used : 1, buffers);
  tell(driver::glReadBuffer, get(GL_READ_BUFFER));
}

void Base::take_attachment(uint32_t target, uint32_t point) {
  auto about = [&](uint32_t what) { return asked(d.glGetFramebufferAttachmentParameteriv, target, point, what); };
  const uint32_t kind = (uint32_t)about(GL_FRAMEBUFFER_ATTACHMENT_OBJECT_TYPE);
  if (!fine() || !kind) return;
  const uint32_t name = (uint32_t)about(GL_FRAMEBUFFER_ATTACHMENT_OBJECT_NAME);
  if (!name) return;
  if (kind == GL_RENDERBUFFER)
    return tell(driver::glFramebufferRenderbuffer, GL_FRAMEBUFFER, point, GL_RENDERBUFFER, name);
  const int32_t level = about(GL_FRAMEBUFFER_ATTACHMENT_TEXTURE_LEVEL);
  const uint32_t face = (uint32_t)about(GL_FRAMEBUFFER_ATTACHMENT_TEXTURE_CUBE_MAP_FACE);
  const int32_t layer = has(30, 30) ? about(GL_FRAMEBUFFER_ATTACHMENT_TEXTURE_LAYER) : 0;
  const bool layered = has(32, 32) && about(GL_FRAMEBUFFER_ATTACHMENT_LAYERED);
  fine();
  if (layered) return tell(driver::glFramebufferTexture, GL_FRAMEBUFFER, point, name, level);
  if (face) return tell(driver::glFramebufferTexture2D, GL_FRAMEBUFFER, point, face, name, level);
  // The kind of the object decides which call attaches it.
  for (auto& candidate : gl::TEXTURE_TARGETS) {
    const int32_t was = get(candidate.binding, -1);
    if (was < 0) continue;
    d.glBindTexture(candidate.target, name);
    if (!fine()) continue;
    d.glBindTexture(candidate.target, (uint32_t)was);
    const uint32_t kind_of = candidate.target;
    if (has_layers(kind_of) || kind_of == GL_TEXTURE_1D_ARRAY || kind_of == GL_TEXTURE_2D_MULTISAMPLE_ARRAY)
      tell(driver::glFramebufferTextureLayer, GL_FRAMEBUFFER, point, name, level, layer);
    else if (kind_of == GL_TEXTURE_1D)
      tell(driver::glFramebufferTexture1D, GL_FRAMEBUFFER, point, kind_of, name, level);
    else
      tell(driver::glFramebufferTexture2D, GL_FRAMEBUFFER, point, kind_of, name, level);
    return;
  }
  lacks("a texture %u that a framebuffer draws to", name);
}

}  // namespace hook
}  // namespace dt
