// The registry of contexts, the hooks that keep it, and the queries by which a driver describes a context.
//
// Hooks run after the driver returned. A call that the driver refuses must change nothing here, so every hook makes the
// checks that the specification makes; where the driver may refuse a name (an object that was never generated), a query
// asks it once per name.
#include "arrays.h"

#include <sched.h>
#include <stdlib.h>

#include "egl_enums.h"
#include "gl_enums.h"

namespace dt {

namespace gl {

namespace {

enum : uint32_t {
  SYSTEM_EGL = 1,
  SYSTEM_GLX = 2,
};

uint32_t g_lock;
GlContext* g_contexts;
uint32_t g_last_id, g_last_group;

GlContext* find(uint32_t system, void* handle) {
  for (GlContext* c = g_contexts; c; c = c->next)
    if (c->handle == handle && c->system == system && !c->destroyed) return c;
  return nullptr;
}

// With the lock held.
GlContext* add(uint32_t system, void* display, void* handle, GlContext* share, uint32_t api) {
  GlContext* c = (GlContext*)calloc(1, sizeof *c);
  if (!c) return nullptr;
  c->id = ++g_last_id;
  c->share_group = share ? share->share_group : ++g_last_group;
  c->api = api;
  c->handle = handle;
  c->display = display;
  c->system = system;
  c->element_known = c->default_element_known = 1;
  default_pixel_store(&c->pack);
  default_pixel_store(&c->unpack);
  default_vertex(&c->vertex);
  c->next = g_contexts;
  g_contexts = c;
  return c;
}

// With the lock held: forget a context that is destroyed and current nowhere.
void drop(GlContext* c) {
  for (GlContext** at = &g_contexts; *at; at = &(*at)->next) {
    if (*at != c) continue;
    *at = c->next;
    for (SavedClient* saved : c->saved) free(saved);
    free(c);
    return;
  }
}

// The way to make a context again: `config` nullptr where a query has to get it, numbers up to and with `end`.
struct Making {
  void* config;
  const int32_t* attributes;
  int32_t end;
  const void* visual;
};

void created(Thread* t, uint32_t system, void* display, void* handle, void* share, uint32_t api, Making making) {
  if (!handle || t->telling) return;
  lock(&g_lock);
  // The same handle again: the one before is gone, though its end was not seen.
  GlContext* old = find(system, handle);
  if (old) {
    old->destroyed = 1;
    if (!old->thread) drop(old);
  }
  if (GlContext* c = add(system, display, handle, share ? find(system, share) : nullptr, api)) {
    c->config = making.config;
    c->has_visual = making.visual != nullptr;
    if (making.visual) memcpy(c->visual, making.visual, sizeof c->visual);
    uint32_t n = 0;
    while (making.attributes && making.attributes[n] != making.end && n + 2 < MOST_ATTRIBUTES) n += 2;
    if (n) memcpy(c->attributes, making.attributes, n * sizeof(int32_t));
    c->attributes[n] = making.end;
    c->attribute_count = n;
    context_is_made(c);
  }
  unlock(&g_lock);
}

void destroyed(uint32_t system, void* handle) {
  lock(&g_lock);
  GlContext* c = handle ? find(system, handle) : nullptr;
  if (c) {
    c->destroyed = 1;
    if (!c->thread) drop(c);
  }
  unlock(&g_lock);
}

uint32_t parse_version(const char* s) {
  while (*s && (*s < '0' || *s > '9')) s++;
  uint32_t major = 0, minor = 0;
  for (; *s >= '0' && *s <= '9'; s++) major = major * 10 + (uint32_t)(*s - '0');
  if (*s == '.') minor = (uint32_t)(s[1] >= '0' && s[1] <= '9' ? s[1] - '0' : 0);
  return major * 10 + minor;
}

// First time current: what this context is.
void learn(GlContext* c) {
  const char* version = driver::glGetString ? (const char*)driver::glGetString(GL_VERSION) : nullptr;
  if (!version) return;
  c->api = strncmp(version, "OpenGL ES", 9) == 0 ? 2 : 1;
  c->version = parse_version(version);
  bool es = c->api == 2;
  uint32_t v = c->version;
  if (!es && v >= 32) c->core = (ask(c, GL_CONTEXT_PROFILE_MASK, 0) & 1) != 0;
  if (!es && v >= 30 && (ask(c, GL_CONTEXT_FLAGS, 0) & 1)) c->core = 1;
  if (!es && v == 31 && !has_extension(c, "GL_ARB_compatibility")) c->core = 1;
  c->has_pixel_buffers =
      es ? v >= 30 || has_extension(c, "GL_NV_pixel_buffer_object")
         : v >= 21 || has_extension(c, "GL_ARB_pixel_buffer_object") || has_extension(c, "GL_EXT_pixel_buffer_object");
  c->has_indirect = es ? v >= 31 : v >= 40 || has_extension(c, "GL_ARB_draw_indirect");
  c->has_query_buffers = !es && (v >= 44 || has_extension(c, "GL_ARB_query_buffer_object") ||
                                 has_extension(c, "GL_AMD_query_buffer_object"));
  c->has_parameter_buffers = !es && (v >= 46 || has_extension(c, "GL_ARB_indirect_parameters"));
  c->has_restart = es ? v >= 30 : v >= 43 || has_extension(c, "GL_ARB_ES3_compatibility");
  c->can_map_range = es && (v >= 30 || has_extension(c, "GL_EXT_map_buffer_range"));
  bool attribs =
      es ? v >= 20 : v >= 20 || has_extension(c, "GL_ARB_vertex_program") || has_extension(c, "GL_ARB_vertex_shader");
  c->max_attribs = attribs ? (uint32_t)ask(c, GL_MAX_VERTEX_ATTRIBS, 16) : 0;
  if (c->max_attribs > GENERIC) c->max_attribs = GENERIC;
  bool checks_stride = es ? v >= 31 : v >= 44;
  int32_t stride = checks_stride ? ask(c, GL_MAX_VERTEX_ATTRIB_STRIDE, 0) : 0;
  c->max_stride = stride > 0 ? (uint32_t)stride : 0x7fffffff;
  int32_t units = 1;
  if (es && v < 20) units = ask(c, GL_MAX_TEXTURE_UNITS, 1);
  if (!es && !c->core && v >= 13) units = ask(c, v >= 20 ? GL_MAX_TEXTURE_COORDS : GL_MAX_TEXTURE_UNITS, 1);
  c->max_tex_units = units < 1 ? 1 : (uint32_t)units > TEX_UNITS ? TEX_UNITS : (uint32_t)units;
  update_client(c);
}

// Its past was not seen: everything is what a new context has until the driver says otherwise.
void forget_state(GlContext* c) {
  GlContext was = *c;
  for (SavedClient* saved : c->saved) free(saved);
  memset((void*)c, 0, sizeof *c);
  c->id = was.id, c->share_group = was.share_group, c->api = was.api;
  c->next = was.next, c->handle = was.handle, c->display = was.display, c->system = was.system;
  c->thread = was.thread, c->last_thread = was.last_thread;
  c->config = was.config, c->attribute_count = was.attribute_count;
  memcpy(c->attributes, was.attributes, sizeof c->attributes);
  memcpy(c->visual, was.visual, sizeof c->visual);
  c->has_visual = was.has_visual;
  c->recorded_in = was.recorded_in, c->told_epoch = was.told_epoch, c->base_epoch = was.base_epoch,
  c->in_recording = was.in_recording;
  c->element_known = c->default_element_known = 1;
  default_pixel_store(&c->pack);
  default_pixel_store(&c->unpack);
  default_vertex(&c->vertex);
}

void make_current(Thread* t, uint32_t system, void* display, void* handle, uint64_t draw, uint64_t read,
                  bool again = false) {
  GlContext* old = t->context;
  GlContext* c = nullptr;
  bool exact = false, unseen = again;
  lock(&g_lock);
  if (handle) {
    c = find(system, handle);
    if (!c) {
      c = add(system, display, handle, nullptr, 0);
      unseen = true;
    }
  }
  if (old && old != c) {
    old->thread = 0;
    if (old->destroyed) drop(old);
  }
  if (c) {
    uint32_t me = t->index + 1;
    exact = c->last_thread && c->last_thread != me;
    c->thread = c->last_thread = me;
    for (GlContext* other = g_contexts; other; other = other->next)
      if (other->share_group == c->share_group && other->thread && other->thread != me) exact = true;
  }
  unlock(&g_lock);
  t->context = c;
  if (c && again) forget_state(c);
  if (exact) want_exact_order();
  if (!c) {
    if (old) emit_context(t, 0, 0, 0, 0, 0, 0);
    return;
  }
  bool first = !c->version;
  if (first) learn(c);
  if (first && unseen) read_state(c);
  if (c == old && c->draw == draw && c->read == read && !first) return;
  bool other_draw = c->draw != draw;
  c->draw = draw;
  c->read = read;
  emit_context(t, c->id, c->share_group, c->api, (uint64_t)(uintptr_t)handle, draw, read);
  if (first) describe_driver(t, c);
  if (draw && (first || other_draw)) {
    c->draw_width = c->draw_height = -1;
    if (system == SYSTEM_EGL)
      describe_surface(t, display, (void*)(uintptr_t)draw, "surface");
    else
      describe_drawable(t, display, (unsigned long)draw);
  }
}

uint32_t egl_api() {
  uint32_t api = driver::eglQueryAPI ? driver::eglQueryAPI() : EGL_OPENGL_ES_API;
  return api == EGL_OPENGL_API ? 1 : api == EGL_OPENVG_API ? 3 : 2;
}

}  // namespace

void forget_program(const GlContext* of, uint32_t program) {
  // Other contexts of the group may have it cached too.
  lock(&g_lock);
  uint32_t group = of ? of->share_group : 0;
  for (GlContext* c = g_contexts; c; c = c->next) {
    ProgramArrays* p = &c->programs[program % PROGRAM_CACHE];
    if (c->share_group == group && p->program == program) p->program = 0;
  }
  unlock(&g_lock);
}

void* driver_address(const GlContext* c, const char* name) {
  if (c->system == SYSTEM_EGL) return driver::eglGetProcAddress ? driver::eglGetProcAddress(name) : nullptr;
  auto& address = driver::glXGetProcAddressARB ? driver::glXGetProcAddressARB : driver::glXGetProcAddress;
  return address ? address((const uint8_t*)name) : nullptr;
}

void* ask_driver_for(const char* name) {
  static const char* const everywhere[] = {"glGetString",
                                           "glGetStringi",
                                           "glGetIntegerv",
                                           "glGetBooleanv",
                                           "glIsEnabled",
                                           "glReadPixels",
                                           "glReadBuffer",
                                           "glPixelStorei",
                                           "glBindBuffer",
                                           "glBindFramebuffer",
                                           "glCheckFramebufferStatus",
                                           "glGetFramebufferAttachmentParameteriv",
                                           "glGetVertexAttribiv",
                                           "glGetVertexAttribPointerv",
                                           "glGetBufferParameteriv"};
  const GlContext* c = tls.context;
  if (!c) return nullptr;
  for (const char* known : everywhere)
    if (strcmp(known, name) == 0) return driver_address(c, name);
  return nullptr;
}

void lock(uint32_t* word) {
  // Bounded: after a fork the thread that held it may not exist any more.
  for (uint32_t tries = 0; __atomic_exchange_n(word, 1u, __ATOMIC_ACQUIRE); tries++) {
    if (tries > 10'000'000u) return;
    sched_yield();
  }
}
void unlock(uint32_t* word) { __atomic_store_n(word, 0u, __ATOMIC_RELEASE); }

int32_t ask(GlContext* c, uint32_t pname, int32_t otherwise) {
  if (!can_ask(c)) return otherwise;
  if (!driver::glGetIntegerv) return otherwise;
  int32_t values[16] = {otherwise};  // room, should a driver return more than one
  driver::glGetIntegerv(pname, values);
  return values[0];
}

bool has_extension(const GlContext* c, const char* name) {
  size_t length = strlen(name);
  if (c->version >= 30) {
    if (driver::glGetStringi) {
      int32_t count = ask(const_cast<GlContext*>(c), GL_NUM_EXTENSIONS, 0);
      for (int32_t i = 0; i < count; i++) {
        const char* s = (const char*)driver::glGetStringi(GL_EXTENSIONS, (uint32_t)i);
        if (s && strcmp(s, name) == 0) return true;
      }
      return false;
    }
  }
  if (!driver::glGetString || c->in_begin) return false;
  const char* all = (const char*)driver::glGetString(GL_EXTENSIONS);
  while (all && *all) {
    const char* end = strchrnul(all, ' ');
    if ((size_t)(end - all) == length && memcmp(all, name, length) == 0) return true;
    all = *end ? end + 1 : end;
  }
  return false;
}

Slot slot_of(const GlContext* c, uint32_t target) {
  switch (target) {
    case GL_ARRAY_BUFFER: return ARRAY;
    case GL_ELEMENT_ARRAY_BUFFER: return ELEMENT;
    case GL_PIXEL_PACK_BUFFER: return c->has_pixel_buffers ? PACK : NO_SLOT;
    case GL_PIXEL_UNPACK_BUFFER: return c->has_pixel_buffers ? UNPACK : NO_SLOT;
    case GL_DRAW_INDIRECT_BUFFER: return c->has_indirect ? INDIRECT : NO_SLOT;
    case GL_QUERY_BUFFER: return c->has_query_buffers ? QUERY : NO_SLOT;
    case GL_PARAMETER_BUFFER: return c->has_parameter_buffers ? PARAMETER : NO_SLOT;
    default: return NO_SLOT;
  }
}

uint32_t element_buffer(GlContext* c) {
  if (DT_UNLIKELY(!c->element_known)) {
    if (!can_ask(c)) return 0;
    c->buffers[ELEMENT] = (uint32_t)ask(c, GL_ELEMENT_ARRAY_BUFFER_BINDING, 0);
    c->element_known = 1;
  }
  return c->buffers[ELEMENT];
}

uint32_t bound_buffer(GlContext* c, uint32_t target) {
  Slot slot = slot_of(c, target);
  if (slot == ELEMENT) return element_buffer(c);
  if (slot != NO_SLOT) return c->buffers[slot];
  switch (target) {
    case GL_UNIFORM_BUFFER: return (uint32_t)ask(c, GL_UNIFORM_BUFFER_BINDING, 0);  // uniform
    case GL_TEXTURE_BUFFER: return (uint32_t)ask(c, GL_TEXTURE_BUFFER_BINDING, 0);  // texture
    case GL_TRANSFORM_FEEDBACK_BUFFER:
      return (uint32_t)ask(c, GL_TRANSFORM_FEEDBACK_BUFFER_BINDING, 0);                           // transform feedback
    case GL_COPY_READ_BUFFER: return (uint32_t)ask(c, GL_COPY_READ_BUFFER_BINDING, 0);            // copy read
    case GL_COPY_WRITE_BUFFER: return (uint32_t)ask(c, GL_COPY_WRITE_BUFFER_BINDING, 0);          // copy write
    case GL_SHADER_STORAGE_BUFFER: return (uint32_t)ask(c, GL_SHADER_STORAGE_BUFFER_BINDING, 0);  // shader storage
    case GL_DISPATCH_INDIRECT_BUFFER:
      return (uint32_t)ask(c, GL_DISPATCH_INDIRECT_BUFFER_BINDING, 0);                            // dispatch indirect
    case GL_ATOMIC_COUNTER_BUFFER: return (uint32_t)ask(c, GL_ATOMIC_COUNTER_BUFFER_BINDING, 0);  // atomic counter
    default: return 0;
  }
}

namespace {

// The arrays of fixed-function vertices, as far as queries return them.
void read_fixed_arrays(GlContext* c, bool buffers) {
  struct Question {
    uint32_t slot, array, size, type, stride, pointer, buffer;
  };
  static const Question questions[] = {
      {VERTEX, GL_VERTEX_ARRAY, GL_VERTEX_ARRAY_SIZE, GL_VERTEX_ARRAY_TYPE, GL_VERTEX_ARRAY_STRIDE,
       GL_VERTEX_ARRAY_POINTER, GL_VERTEX_ARRAY_BUFFER_BINDING},
      {NORMAL, GL_NORMAL_ARRAY, 0, GL_NORMAL_ARRAY_TYPE, GL_NORMAL_ARRAY_STRIDE, GL_NORMAL_ARRAY_POINTER,
       GL_NORMAL_ARRAY_BUFFER_BINDING},
      {COLOR, GL_COLOR_ARRAY, GL_COLOR_ARRAY_SIZE, GL_COLOR_ARRAY_TYPE, GL_COLOR_ARRAY_STRIDE, GL_COLOR_ARRAY_POINTER,
       GL_COLOR_ARRAY_BUFFER_BINDING},
      {TEX_COORD, GL_TEXTURE_COORD_ARRAY, GL_TEXTURE_COORD_ARRAY_SIZE, GL_TEXTURE_COORD_ARRAY_TYPE,
       GL_TEXTURE_COORD_ARRAY_STRIDE, GL_TEXTURE_COORD_ARRAY_POINTER, GL_TEXTURE_COORD_ARRAY_BUFFER_BINDING},
  };
  if (!driver::glGetPointerv || !driver::glIsEnabled) return;
  const uint32_t unit = driver::glClientActiveTexture && c->max_tex_units > 1
                            ? (uint32_t)ask(c, GL_CLIENT_ACTIVE_TEXTURE, GL_TEXTURE0) - GL_TEXTURE0
                            : 0;
  const uint32_t array_buffer = c->buffers[ARRAY];
  for (const Question& q : questions) {
    const uint32_t units = q.slot == TEX_COORD ? c->max_tex_units : 1;
    for (uint32_t i = 0; i < units; i++) {
      if (q.slot == TEX_COORD && units > 1) {
        if (!driver::glClientActiveTexture) break;
        driver::glClientActiveTexture(GL_TEXTURE0 + i);
      }
      const int32_t size = q.size ? ask(c, q.size, 4) : 3;
      const uint32_t type = (uint32_t)ask(c, q.type, GL_FLOAT);
      const int32_t stride = ask(c, q.stride, 0);
      c->buffers[ARRAY] = buffers ? (uint32_t)ask(c, q.buffer, 0) : 0;
      void* at = nullptr;
      driver::glGetPointerv(q.pointer, &at);
      set_array(c, q.slot + i, element_bytes(size, type), stride, at);
      enable(c, q.slot + i, driver::glIsEnabled(q.array));
    }
  }
  c->buffers[ARRAY] = array_buffer;
  if (driver::glClientActiveTexture && c->max_tex_units > 1) driver::glClientActiveTexture(GL_TEXTURE0 + unit);
  if (unit < c->max_tex_units) c->vertex.client_texture = unit;
}

}  // namespace

void read_state(GlContext* c) {
  if (!can_ask(c)) return;
  bool es = c->api == 2;
  bool buffers = es ? c->version >= 11 : c->version >= 15;
  if (buffers) c->buffers[ARRAY] = (uint32_t)ask(c, GL_ARRAY_BUFFER_BINDING, 0);
  if (c->has_pixel_buffers) {
    c->buffers[PACK] = (uint32_t)ask(c, GL_PIXEL_PACK_BUFFER_BINDING, 0);
    c->buffers[UNPACK] = (uint32_t)ask(c, GL_PIXEL_UNPACK_BUFFER_BINDING, 0);
  }
  if (c->has_indirect) c->buffers[INDIRECT] = (uint32_t)ask(c, GL_DRAW_INDIRECT_BUFFER_BINDING, 0);
  if (c->has_query_buffers) c->buffers[QUERY] = (uint32_t)ask(c, GL_QUERY_BUFFER_BINDING, 0);
  if (c->has_parameter_buffers) c->buffers[PARAMETER] = (uint32_t)ask(c, GL_PARAMETER_BUFFER_BINDING, 0);
  if (c->version >= 30) c->vao = (uint32_t)ask(c, GL_VERTEX_ARRAY_BINDING, 0);
  if (c->version >= 20) c->program = (uint32_t)ask(c, GL_CURRENT_PROGRAM, 0);
  if (!es && c->version >= 31)
    c->restart_index = (uint32_t)ask(c, GL_PRIMITIVE_RESTART_INDEX, 0), c->restart_index_set = 1;
  c->element_known = !buffers;
  c->default_element_known = !buffers;
  for (const PixelNames& names : PIXEL_NAMES)
    for (uint32_t pname = names.first; pname < names.first + names.count; pname++)
      if (has_pixel_parameter(c, pname)) *pixel_field(c, pname) = ask(c, pname, *pixel_field(c, pname));
  if (!c->core && !c->vao && c->max_attribs && driver::glGetVertexAttribiv && driver::glGetVertexAttribPointerv) {
    for (uint32_t i = 0; i < c->max_attribs; i++) {
      int32_t on = 0, size = 4, type = GL_FLOAT, stride = 0, buffer = 0;
      void* at = nullptr;
      driver::glGetVertexAttribiv(i, GL_VERTEX_ATTRIB_ARRAY_ENABLED, &on);
      driver::glGetVertexAttribiv(i, GL_VERTEX_ATTRIB_ARRAY_SIZE, &size);
      driver::glGetVertexAttribiv(i, GL_VERTEX_ATTRIB_ARRAY_STRIDE, &stride);
      driver::glGetVertexAttribiv(i, GL_VERTEX_ATTRIB_ARRAY_TYPE, &type);
      if (buffers) driver::glGetVertexAttribiv(i, GL_VERTEX_ATTRIB_ARRAY_BUFFER_BINDING, &buffer);
      driver::glGetVertexAttribPointerv(i, GL_VERTEX_ATTRIB_ARRAY_POINTER, &at);
      uint32_t array_buffer = c->buffers[ARRAY];
      c->buffers[ARRAY] = (uint32_t)buffer;
      set_array(c, i, element_bytes(size, (uint32_t)type), stride, at);
      c->buffers[ARRAY] = array_buffer;
      enable(c, i, on != 0);
    }
  }
  if (!c->core && !c->vao && (!es || c->version < 20)) read_fixed_arrays(c, buffers);
  update_client(c);
}

void reread_context(Thread* t) {
  if (void* handle = driver::eglGetCurrentContext ? driver::eglGetCurrentContext() : nullptr) {
    const uint64_t draw =
                       driver::eglGetCurrentSurface ? (uint64_t)(uintptr_t)driver::eglGetCurrentSurface(EGL_DRAW) : 0,
                   read =
                       driver::eglGetCurrentSurface ? (uint64_t)(uintptr_t)driver::eglGetCurrentSurface(EGL_READ) : 0;
    // OpenVG has a current context of its own, of which no state is kept here.
    if (egl_api() != 3)
      return make_current(t, SYSTEM_EGL, driver::eglGetCurrentDisplay ? driver::eglGetCurrentDisplay() : nullptr,
                          handle, draw, read, true);
    return;
  }
  if (void* handle = driver::glXGetCurrentContext ? driver::glXGetCurrentContext() : nullptr) {
    const uint64_t draw = driver::glXGetCurrentDrawable ? driver::glXGetCurrentDrawable() : 0;
    return make_current(t, SYSTEM_GLX, driver::glXGetCurrentDisplay ? driver::glXGetCurrentDisplay() : nullptr, handle,
                        draw, driver::glXGetCurrentReadDrawable ? driver::glXGetCurrentReadDrawable() : draw, true);
  }
  if (t->context) make_current(t, t->context->system, nullptr, nullptr, 0, 0);
}

void refresh_context(Thread* t) {
  GlContext* c = t->context;
  if (c && c->version && !c->destroyed) {
    if ((c->system == SYSTEM_EGL ? driver::eglGetCurrentContext && driver::eglGetCurrentContext() == c->handle
                                 : driver::glXGetCurrentContext && driver::glXGetCurrentContext() == c->handle))
      return read_state(c);
  }
  reread_context(t);
}

void as_new(GlContext* c) {
  default_pixel_store(&c->pack);
  default_pixel_store(&c->unpack);
  default_vertex(&c->vertex);
  memset(c->buffers, 0, sizeof c->buffers);
  memset(c->vaos, 0, sizeof c->vaos);
  c->vao = c->default_element = c->program = 0;
  c->element_known = c->default_element_known = 1;
  update_client(c);
}

GlContext* context_of(uint32_t system, void* handle) {
  lock(&g_lock);
  GlContext* c = find(system, handle);
  unlock(&g_lock);
  return c;
}

void* recorded_peer(const GlContext* c, uint64_t session) {
  void* handle = nullptr;
  lock(&g_lock);
  for (const GlContext* peer = g_contexts; peer && !handle; peer = peer->next)
    if (peer != c && peer->share_group == c->share_group && peer->system == c->system && !peer->destroyed &&
        peer->recorded_in == session)
      handle = peer->handle;
  unlock(&g_lock);
  return handle;
}

bool group_is_taken(const GlContext* c, uint32_t epoch) {
  bool taken = false;
  lock(&g_lock);
  for (const GlContext* peer = g_contexts; peer; peer = peer->next)
    if (peer != c && peer->share_group == c->share_group && peer->base_epoch == epoch) taken = true;
  unlock(&g_lock);
  return taken;
}

}  // namespace gl

namespace hook {
using namespace gl;

// ---- contexts -----------------------------------------------------------------------------------

void before_eglCreateContext(Thread* t, void* dpy, void* config, void*, const int32_t*) {
  describe_egl_config(t, dpy, config);
}
uint32_t g_began_late;

void after_eglCreateContext(Thread* t, void* dpy, void* config, void* share_context, const int32_t* attrib_list,
                            void* _result) {
  created(t, SYSTEM_EGL, dpy, _result, share_context, egl_api(), {config, attrib_list, EGL_NONE, nullptr});
}
void after_eglMakeCurrent(Thread* t, void* dpy, void* draw, void* read, void* ctx, uint32_t _result) {
  if (!_result) return;
  // OpenVG has a current context of its own; the one of GL stays.
  lock(&g_lock);
  GlContext* c = ctx ? find(SYSTEM_EGL, ctx) : nullptr;
  bool vector = ctx ? c && c->api == 3 : false;
  uint32_t id = c ? c->id : 0, group = c ? c->share_group : 0;
  unlock(&g_lock);
  if (!ctx) vector = egl_api() == 3;
  if (vector) {
    emit_context(t, id, group, 3, (uint64_t)(uintptr_t)ctx, (uint64_t)(uintptr_t)draw, (uint64_t)(uintptr_t)read);
    if (draw) describe_surface(t, dpy, draw, "surface");
    return;
  }
  make_current(t, SYSTEM_EGL, dpy, ctx, (uint64_t)(uintptr_t)draw, (uint64_t)(uintptr_t)read);
  context_is_current(t);
}
void after_eglDestroyContext(Thread*, void*, void* ctx, uint32_t _result) {
  if (_result) destroyed(SYSTEM_EGL, ctx);
}
void after_eglReleaseThread(Thread* t, uint32_t _result) {
  if (_result && t->context && t->context->system == SYSTEM_EGL) make_current(t, SYSTEM_EGL, nullptr, nullptr, 0, 0);
}
void after_eglTerminate(Thread*, void* dpy, uint32_t _result) {
  if (!_result) return;
  lock(&g_lock);
  for (GlContext *c = g_contexts, *next; c; c = next) {
    next = c->next;
    if (c->system != SYSTEM_EGL || c->display != dpy || c->destroyed) continue;
    c->destroyed = 1;
    if (!c->thread) drop(c);
  }
  unlock(&g_lock);
}

void after_glXCreateContext(Thread* t, void* dpy, void* vis, void* shareList, int, void* _result) {
  created(t, SYSTEM_GLX, dpy, _result, shareList, 1, {nullptr, nullptr, 0, vis});
}
void after_glXCreateNewContext(Thread* t, void* dpy, void* config, int, void* share_list, int, void* _result) {
  created(t, SYSTEM_GLX, dpy, _result, share_list, 1, {config, nullptr, 0, nullptr});
}
void after_glXCreateContextAttribsARB(Thread* t, void* dpy, void* config, void* share_context, int,
                                      const int* attrib_list, void* _result) {
  created(t, SYSTEM_GLX, dpy, _result, share_context, 1, {config, attrib_list, 0, nullptr});
}
void after_glXCreateContextWithConfigSGIX(Thread* t, void* dpy, void* config, int, void* share_list, int,
                                          void* _result) {
  created(t, SYSTEM_GLX, dpy, _result, share_list, 1, {config, nullptr, 0, nullptr});
}
void after_glXImportContextEXT(Thread* t, void* dpy, unsigned long, void* _result) {
  created(t, SYSTEM_GLX, dpy, _result, nullptr, 1, {});
}
void after_glXMakeCurrent(Thread* t, void* dpy, unsigned long drawable, void* ctx, int _result) {
  if (_result) make_current(t, SYSTEM_GLX, dpy, ctx, drawable, drawable), context_is_current(t);
}
void after_glXMakeContextCurrent(Thread* t, void* dpy, unsigned long draw, unsigned long read, void* ctx, int _result) {
  if (_result) make_current(t, SYSTEM_GLX, dpy, ctx, draw, read), context_is_current(t);
}
void after_glXMakeCurrentReadSGI(Thread* t, void* dpy, unsigned long draw, unsigned long read, void* ctx, int _result) {
  if (_result) make_current(t, SYSTEM_GLX, dpy, ctx, draw, read), context_is_current(t);
}
void after_glXDestroyContext(Thread*, void*, void* ctx) { destroyed(SYSTEM_GLX, ctx); }
void after_glXFreeContextEXT(Thread*, void*, void* context) { destroyed(SYSTEM_GLX, context); }

}  // namespace hook
}  // namespace dt
