// The mirror of what recording must know of a context: the registry of contexts and the hooks that keep the state.
//
// Hooks run after the driver returned. A call that the driver refuses must change nothing here, so every hook makes
// the checks that the specification makes; where a name may be refused (an object that was never generated), the
// driver is asked once per name.
#include "gl_state.h"

#include <sched.h>
#include <stdlib.h>

#include "egl_enums.h"
#include "gl_enums.h"
#include "sizes.h"
#ifndef DT_PLAYER
#include "base.h"
#endif

namespace dt {

// session.cc: how often recording began in the middle of the program, and the number of the recording.
uint32_t recording_epoch();
uint64_t session_number();

namespace gl {

namespace {

enum : uint32_t {
  SYSTEM_EGL = 1,
  SYSTEM_GLX = 2,
};

uint32_t g_lock;
GlContext* g_contexts;
uint32_t g_last_id, g_last_group;

void default_pixel_store(PixelStore* p) {
  memset(p, 0, sizeof *p);
  p->alignment = 4;
}

void default_vertex(VertexState* v) {
  memset(v, 0, sizeof *v);
  for (uint32_t i = 0; i < ARRAYS; i++) {
    v->arrays[i] = Array{16, 0, i};
    v->bindings[i] = Binding{NO_ADDRESS, 16, 0, 0};
  }
  v->client = ~0ull;
}

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

// How a context is made again: `config` nullptr where it is to be asked for, numbers up to and with `end`.
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
#ifndef DT_PLAYER
    // All of it is in the recording where one is under way.
    if (!is_off()) c->recorded_in = session_number(), c->told_epoch = c->base_epoch = recording_epoch();
#endif
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

// A context becomes current for the first time since recording began: what it has become comes into the recording.
void take_unseen(Thread* t) {
#ifndef DT_PLAYER
  if (DT_UNLIKELY(hook::g_began_late) && t->context && !is_off()) hook::take_base(t, hook::Moment::MADE_CURRENT);
#else
  (void)t;
#endif
}

uint32_t egl_api() {
  uint32_t api = driver::eglQueryAPI ? driver::eglQueryAPI() : EGL_OPENGL_ES_API;
  return api == EGL_OPENGL_API ? 1 : api == EGL_OPENVG_API ? 3 : 2;
}

// The mirror's context, where its default vertex array object is being changed.
GlContext* default_arrays(Thread* t) {
  GlContext* c = t->context;
  return c && !c->core && !c->vao ? c : nullptr;
}

void recompute_client(VertexState* v) {
  uint64_t client = 0;
  uint32_t shared = 0;
  for (uint32_t i = 0; i < ARRAYS; i++) {
    uint32_t b = v->arrays[i].binding;
    if (!v->bindings[b].buffer) client |= 1ull << i;
    if (b != i) shared = 1;
  }
  v->client = client;
  v->shared_bindings = shared;
}

// The buffer of one binding has changed.
void binding_changed(GlContext* c, uint32_t binding) {
  VertexState* v = &c->vertex;
  if (DT_UNLIKELY(v->shared_bindings)) {
    recompute_client(v);
  } else {
    uint64_t bit = 1ull << binding;
    v->client = v->bindings[binding].buffer ? v->client & ~bit : v->client | bit;
  }
  update_client(c);
}

int64_t element_bytes(int32_t size, uint32_t type) {
  int64_t packed = size::packed_size(type);
  if (packed) return packed;
  int64_t component = size::type_size(type);
  if (component <= 0) return 0;
  if ((uint32_t)size == GL_BGRA) return 4 * component;
  return size >= 1 && size <= 4 ? size * component : 0;
}

void set_array(GlContext* c, uint32_t slot, int64_t bytes, int32_t stride, const void* pointer) {
  if (stride < 0 || (uint32_t)stride > c->max_stride || bytes <= 0) return;
  VertexState* v = &c->vertex;
  bool moved = v->arrays[slot].binding != slot;
  v->arrays[slot] = Array{(uint32_t)bytes, 0, slot};
  Binding* b = &v->bindings[slot];
  b->pointer = (uintptr_t)pointer;
  b->stride = stride ? (uint32_t)stride : (uint32_t)bytes;
  b->buffer = c->buffers[ARRAY];
  if (moved) recompute_client(v);
  binding_changed(c, slot);
}

void set_generic(Thread* t, uint32_t index, int32_t size, uint32_t type, int32_t stride, const void* pointer) {
  GlContext* c = default_arrays(t);
  if (c && index < c->max_attribs) set_array(c, index, element_bytes(size, type), stride, pointer);
}

void set_fixed(Thread* t, uint32_t slot, int32_t size, uint32_t type, int32_t stride, const void* pointer) {
  GlContext* c = default_arrays(t);
  if (c && !c->in_begin) set_array(c, slot, element_bytes(size, type), stride, pointer);
}

void enable(GlContext* c, uint32_t slot, bool on) {
  uint64_t bit = 1ull << slot;
  c->vertex.enabled = on ? c->vertex.enabled | bit : c->vertex.enabled & ~bit;
  update_client(c);
}

int client_slot(const GlContext* c, uint32_t array, uint32_t unit) {
  switch (array) {
    case GL_VERTEX_ARRAY: return VERTEX;
    case GL_NORMAL_ARRAY: return NORMAL;
    case GL_COLOR_ARRAY: return COLOR;
    case GL_INDEX_ARRAY: return INDEX;
    case GL_TEXTURE_COORD_ARRAY: return unit < c->max_tex_units ? (int)(TEX_COORD + unit) : -1;
    case GL_EDGE_FLAG_ARRAY: return EDGE_FLAG;
    case GL_SECONDARY_COLOR_ARRAY: return SECONDARY_COLOR;
    case GL_FOG_COORD_ARRAY: return FOG_COORD;
    case GL_POINT_SIZE_ARRAY_OES: return POINT_SIZE;
    case GL_MATRIX_INDEX_ARRAY_ARB: return MATRIX_INDEX;
    case GL_WEIGHT_ARRAY_ARB: return WEIGHT;
    default: return -1;
  }
}

void enable_client(Thread* t, uint32_t array, int64_t unit, bool on) {
  GlContext* c = default_arrays(t);
  if (!c || c->in_begin) return;
  int slot = client_slot(c, array, unit < 0 ? c->vertex.client_texture : (uint32_t)unit);
  if (slot >= 0) enable(c, (uint32_t)slot, on);
}

void keep_element(GlContext* c) {
  if (!c->vao) {
    c->default_element = c->buffers[ELEMENT];
    c->default_element_known = c->element_known;
  } else {
    c->vaos[c->vao % VAO_CACHE] = VaoElement{c->vao, c->buffers[ELEMENT], c->element_known != 0};
  }
}

void use_vao(GlContext* c, uint32_t vao) {
  keep_element(c);
  c->vao = vao;
  if (!vao) {
    c->buffers[ELEMENT] = c->default_element;
    c->element_known = c->default_element_known;
  } else {
    const VaoElement& e = c->vaos[vao % VAO_CACHE];
    c->element_known = e.vao == vao && e.known;
    c->buffers[ELEMENT] = c->element_known ? e.buffer : 0;
  }
  update_client(c);
}

void bind_vao(Thread* t, uint32_t vao) {
  GlContext* c = t->context;
  if (!c || c->vao == vao || c->in_begin) return;
  if (vao && c->vaos[vao % VAO_CACHE].vao != vao) {
    // A name that was never generated is refused; the driver knows.
    auto is = driver::glIsVertexArray;
    if (!is) is = driver::glIsVertexArrayOES;
    if (!is) is = driver::glIsVertexArrayAPPLE;
    if (is && can_ask(c) && !is(vao)) return;
  }
  use_vao(c, vao);
}

PixelStore* pixel_field(GlContext* c, uint32_t pname, int32_t** field) {
  PixelStore* p = pname >= GL_UNPACK_SWAP_BYTES && pname <= GL_UNPACK_ALIGNMENT ? &c->unpack : &c->pack;
  switch (pname) {
    case GL_UNPACK_SWAP_BYTES:
    case GL_PACK_SWAP_BYTES: *field = &p->swap_bytes; return p;
    case GL_UNPACK_LSB_FIRST:
    case GL_PACK_LSB_FIRST: *field = &p->lsb_first; return p;
    case GL_UNPACK_ROW_LENGTH:
    case GL_PACK_ROW_LENGTH: *field = &p->row_length; return p;
    case GL_UNPACK_SKIP_ROWS:
    case GL_PACK_SKIP_ROWS: *field = &p->skip_rows; return p;
    case GL_UNPACK_SKIP_PIXELS:
    case GL_PACK_SKIP_PIXELS: *field = &p->skip_pixels; return p;
    case GL_UNPACK_ALIGNMENT:
    case GL_PACK_ALIGNMENT: *field = &p->alignment; return p;
    case GL_PACK_SKIP_IMAGES: *field = &c->pack.skip_images; return &c->pack;
    case GL_PACK_IMAGE_HEIGHT: *field = &c->pack.image_height; return &c->pack;
    case GL_UNPACK_SKIP_IMAGES: *field = &c->unpack.skip_images; return &c->unpack;
    case GL_UNPACK_IMAGE_HEIGHT: *field = &c->unpack.image_height; return &c->unpack;
    case GL_UNPACK_COMPRESSED_BLOCK_WIDTH: *field = &c->unpack.block_width; return &c->unpack;
    case GL_UNPACK_COMPRESSED_BLOCK_HEIGHT: *field = &c->unpack.block_height; return &c->unpack;
    case GL_UNPACK_COMPRESSED_BLOCK_DEPTH: *field = &c->unpack.block_depth; return &c->unpack;
    case GL_UNPACK_COMPRESSED_BLOCK_SIZE: *field = &c->unpack.block_size; return &c->unpack;
    case GL_PACK_COMPRESSED_BLOCK_WIDTH: *field = &c->pack.block_width; return &c->pack;
    case GL_PACK_COMPRESSED_BLOCK_HEIGHT: *field = &c->pack.block_height; return &c->pack;
    case GL_PACK_COMPRESSED_BLOCK_DEPTH: *field = &c->pack.block_depth; return &c->pack;
    case GL_PACK_COMPRESSED_BLOCK_SIZE: *field = &c->pack.block_size; return &c->pack;
    default: return nullptr;
  }
}

// Which parameters exist follows from the version: one that does not is refused and changes nothing.
bool has_pixel_parameter(const GlContext* c, uint32_t pname) {
  if (pname == GL_UNPACK_ALIGNMENT || pname == GL_PACK_ALIGNMENT) return true;
  bool es = c->api == 2;
  if (pname >= GL_UNPACK_COMPRESSED_BLOCK_WIDTH && pname <= GL_PACK_COMPRESSED_BLOCK_SIZE)
    return !es && c->version >= 42;
  if (!es) return pname < GL_PACK_SKIP_IMAGES || pname > GL_UNPACK_IMAGE_HEIGHT || c->version >= 12;
  if (c->version >= 30) {
    // ES 3 has row length and skips, unpacking also image height and skip images.
    return (pname >= GL_UNPACK_ROW_LENGTH && pname <= GL_UNPACK_SKIP_PIXELS) ||
           (pname >= GL_PACK_ROW_LENGTH && pname <= GL_PACK_SKIP_PIXELS) || pname == GL_UNPACK_SKIP_IMAGES ||
           pname == GL_UNPACK_IMAGE_HEIGHT;
  }
  if (c->version < 20) return false;
  if (pname >= GL_UNPACK_ROW_LENGTH && pname <= GL_UNPACK_SKIP_PIXELS)
    return has_extension(c, "GL_EXT_unpack_subimage");
  if (pname >= GL_PACK_ROW_LENGTH && pname <= GL_PACK_SKIP_PIXELS) return has_extension(c, "GL_NV_pack_subimage");
  return false;
}

void pixel_store(Thread* t, uint32_t pname, int32_t value) {
  GlContext* c = t->context;
  int32_t* field = nullptr;
  if (!c || c->in_begin || !pixel_field(c, pname, &field) || !has_pixel_parameter(c, pname)) return;
  bool flag = field == &c->pack.swap_bytes || field == &c->pack.lsb_first || field == &c->unpack.swap_bytes ||
              field == &c->unpack.lsb_first;
  bool alignment = field == &c->pack.alignment || field == &c->unpack.alignment;
  if (flag)
    value = value != 0;
  else if (value < 0)
    return;
  if (alignment && value != 1 && value != 2 && value != 4 && value != 8) return;
  *field = value;
}

void forget_program(Thread* t, uint32_t program) {
#ifndef DT_PLAYER
  if (!t->keep && t->context) keep_drop(KEEP_PROGRAM, t->context->share_group, program, 1);  // it was linked anew
#endif
  // Other contexts of the group may have it cached too.
  lock(&g_lock);
  uint32_t group = t->context ? t->context->share_group : 0;
  for (GlContext* c = g_contexts; c; c = c->next) {
    ProgramArrays* p = &c->programs[program % PROGRAM_CACHE];
    if (c->share_group == group && p->program == program) p->program = 0;
  }
  unlock(&g_lock);
}

void default_client(GlContext* c, uint32_t mask) {
  if (mask & 1) {
    default_pixel_store(&c->pack);
    default_pixel_store(&c->unpack);
    c->buffers[PACK] = c->buffers[UNPACK] = 0;
  }
  if (mask & 2) {
    use_vao(c, 0);
    default_vertex(&c->vertex);
    c->buffers[ARRAY] = 0;
    c->buffers[ELEMENT] = 0;
    c->element_known = 1;
  }
  update_client(c);
}

void push_client(GlContext* c, uint32_t mask) {
  if (c->client_depth >= CLIENT_STACK) return;
  SavedClient*& saved = c->saved[c->client_depth];
  if (!saved) saved = (SavedClient*)malloc(sizeof(SavedClient));
  if (!saved) return;
  saved->mask = mask;
  saved->vao = c->vao;
  saved->vertex = c->vertex;
  saved->pack = c->pack;
  saved->unpack = c->unpack;
  memcpy(saved->buffers, c->buffers, sizeof c->buffers);
  c->client_depth++;
}

}  // namespace

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

// The arrays of fixed-function vertices, as far as they can be asked for.
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
  static const uint32_t names[] = {GL_UNPACK_SWAP_BYTES,
                                   GL_UNPACK_LSB_FIRST,
                                   GL_UNPACK_ROW_LENGTH,
                                   GL_UNPACK_SKIP_ROWS,
                                   GL_UNPACK_SKIP_PIXELS,
                                   GL_UNPACK_ALIGNMENT,
                                   GL_PACK_SWAP_BYTES,
                                   GL_PACK_LSB_FIRST,
                                   GL_PACK_ROW_LENGTH,
                                   GL_PACK_SKIP_ROWS,
                                   GL_PACK_SKIP_PIXELS,
                                   GL_PACK_ALIGNMENT,
                                   GL_PACK_SKIP_IMAGES,
                                   GL_PACK_IMAGE_HEIGHT,
                                   GL_UNPACK_SKIP_IMAGES,
                                   GL_UNPACK_IMAGE_HEIGHT,
                                   GL_UNPACK_COMPRESSED_BLOCK_WIDTH,
                                   GL_UNPACK_COMPRESSED_BLOCK_HEIGHT,
                                   GL_UNPACK_COMPRESSED_BLOCK_DEPTH,
                                   GL_UNPACK_COMPRESSED_BLOCK_SIZE,
                                   GL_PACK_COMPRESSED_BLOCK_WIDTH,
                                   GL_PACK_COMPRESSED_BLOCK_HEIGHT,
                                   GL_PACK_COMPRESSED_BLOCK_DEPTH,
                                   GL_PACK_COMPRESSED_BLOCK_SIZE};
  for (uint32_t pname : names) {
    int32_t* field = nullptr;
    if (has_pixel_parameter(c, pname) && pixel_field(c, pname, &field)) *field = ask(c, pname, *field);
  }
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
  take_unseen(t);
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
  if (_result) make_current(t, SYSTEM_GLX, dpy, ctx, drawable, drawable), take_unseen(t);
}
void after_glXMakeContextCurrent(Thread* t, void* dpy, unsigned long draw, unsigned long read, void* ctx, int _result) {
  if (_result) make_current(t, SYSTEM_GLX, dpy, ctx, draw, read), take_unseen(t);
}
void after_glXMakeCurrentReadSGI(Thread* t, void* dpy, unsigned long draw, unsigned long read, void* ctx, int _result) {
  if (_result) make_current(t, SYSTEM_GLX, dpy, ctx, draw, read), take_unseen(t);
}
void after_glXDestroyContext(Thread*, void*, void* ctx) { destroyed(SYSTEM_GLX, ctx); }
void after_glXFreeContextEXT(Thread*, void*, void* context) { destroyed(SYSTEM_GLX, context); }

// ---- buffers ------------------------------------------------------------------------------------

void after_glBindBuffer(Thread* t, uint32_t target, uint32_t buffer) {
  GlContext* c = t->context;
  if (!c) return;
  Slot slot = slot_of(c, target);
  if (slot == NO_SLOT) return;
  if (c->buffers[slot] == buffer && (slot != ELEMENT || c->element_known)) return;
  if (DT_UNLIKELY(c->in_begin)) return;
  if (c->core && buffer) {
    // Core refuses names that were never generated; each name is asked about once.
    uint32_t& taken = c->buffer_names[buffer % NAME_CACHE];
    if (taken != buffer) {
      if (driver::glIsBuffer && !driver::glIsBuffer(buffer)) return;
      taken = buffer;
    }
  }
  c->buffers[slot] = buffer;
  if (slot == ELEMENT) c->element_known = 1;
}

void after_glDeleteBuffers(Thread* t, int32_t n, const uint32_t* buffers) {
  GlContext* c = t->context;
  if (!c || n <= 0 || !buffers || c->in_begin) return;
  for (int32_t i = 0; i < n; i++) {
    uint32_t name = buffers[i];
    if (!name) continue;
    if (c->buffer_names[name % NAME_CACHE] == name) c->buffer_names[name % NAME_CACHE] = 0;
    for (uint32_t& bound : c->buffers)
      if (bound == name) bound = 0;
    if (c->vao || c->core) continue;
    bool changed = false;
    for (Binding& b : c->vertex.bindings) {
      if (b.buffer != name) continue;
      b.buffer = 0;
      changed = true;
    }
    if (changed) recompute_client(&c->vertex);
  }
  update_client(c);
}

void after_glBindVertexArray(Thread* t, uint32_t array) { bind_vao(t, array); }
void after_glBindVertexArrayAPPLE(Thread* t, uint32_t array) { bind_vao(t, array); }
void after_glDeleteVertexArrays(Thread* t, int32_t n, const uint32_t* arrays) {
  GlContext* c = t->context;
  if (!c || n <= 0 || !arrays || c->in_begin) return;
  for (int32_t i = 0; i < n; i++) {
    if (!arrays[i]) continue;
    if (arrays[i] == c->vao) use_vao(c, 0);
    VaoElement* e = &c->vaos[arrays[i] % VAO_CACHE];
    if (e->vao == arrays[i]) *e = VaoElement{0, 0, false};
  }
}
void after_glVertexArrayElementBuffer(Thread* t, uint32_t vaobj, uint32_t) {
  GlContext* c = t->context;
  if (!c) return;
  // What was bound is asked for when it matters.
  if (vaobj == c->vao)
    c->element_known = 0;
  else if (c->vaos[vaobj % VAO_CACHE].vao == vaobj)
    c->vaos[vaobj % VAO_CACHE].known = false;
}

// ---- vertex arrays of the default object --------------------------------------------------------

void after_glVertexAttribPointer(Thread* t, uint32_t index, int32_t size, uint32_t type, uint8_t, int32_t stride,
                                 const void* pointer) {
  set_generic(t, index, size, type, stride, pointer);
}
void after_glVertexAttribIPointer(Thread* t, uint32_t index, int32_t size, uint32_t type, int32_t stride,
                                  const void* pointer) {
  set_generic(t, index, size, type, stride, pointer);
}
void after_glVertexAttribLPointer(Thread* t, uint32_t index, int32_t size, uint32_t type, int32_t stride,
                                  const void* pointer) {
  set_generic(t, index, size, type, stride, pointer);
}
void after_glEnableVertexAttribArray(Thread* t, uint32_t index) {
  GlContext* c = default_arrays(t);
  if (c && index < c->max_attribs) enable(c, index, true);
}
void after_glDisableVertexAttribArray(Thread* t, uint32_t index) {
  GlContext* c = default_arrays(t);
  if (c && index < c->max_attribs) enable(c, index, false);
}
void after_glVertexAttribDivisor(Thread* t, uint32_t index, uint32_t divisor) {
  GlContext* c = default_arrays(t);
  if (!c || index >= c->max_attribs) return;
  // As VertexAttribBinding(index, index) followed by VertexBindingDivisor(index, divisor).
  bool moved = c->vertex.arrays[index].binding != index;
  c->vertex.arrays[index].binding = index;
  c->vertex.bindings[index].divisor = divisor;
  if (moved) recompute_client(&c->vertex), update_client(c);
}
void after_glVertexBindingDivisor(Thread* t, uint32_t bindingindex, uint32_t divisor) {
  GlContext* c = default_arrays(t);
  if (c && bindingindex < c->max_attribs) c->vertex.bindings[bindingindex].divisor = divisor;
}
static void set_format(Thread* t, uint32_t index, int32_t size, uint32_t type, uint32_t relative) {
  GlContext* c = default_arrays(t);
  int64_t bytes = element_bytes(size, type);
  if (!c || index >= c->max_attribs || bytes <= 0 || relative > 2047) return;
  c->vertex.arrays[index].bytes = (uint32_t)bytes;
  c->vertex.arrays[index].relative = relative;
}
void after_glVertexAttribFormat(Thread* t, uint32_t attribindex, int32_t size, uint32_t type, uint8_t,
                                uint32_t relativeoffset) {
  set_format(t, attribindex, size, type, relativeoffset);
}
void after_glVertexAttribIFormat(Thread* t, uint32_t attribindex, int32_t size, uint32_t type,
                                 uint32_t relativeoffset) {
  set_format(t, attribindex, size, type, relativeoffset);
}
void after_glVertexAttribLFormat(Thread* t, uint32_t attribindex, int32_t size, uint32_t type,
                                 uint32_t relativeoffset) {
  set_format(t, attribindex, size, type, relativeoffset);
}
void after_glVertexAttribBinding(Thread* t, uint32_t attribindex, uint32_t bindingindex) {
  GlContext* c = default_arrays(t);
  if (!c || attribindex >= c->max_attribs || bindingindex >= c->max_attribs) return;
  c->vertex.arrays[attribindex].binding = bindingindex;
  recompute_client(&c->vertex);
  update_client(c);
}
static void bind_vertex_buffer(GlContext* c, uint32_t index, uint32_t buffer, intptr_t offset, int32_t stride) {
  if (index >= c->max_attribs || offset < 0 || stride < 0 || (uint32_t)stride > c->max_stride) return;
  Binding* b = &c->vertex.bindings[index];
  b->pointer = (uintptr_t)offset;
  b->stride = (uint32_t)stride;
  b->buffer = buffer;
  binding_changed(c, index);
}
void after_glBindVertexBuffer(Thread* t, uint32_t bindingindex, uint32_t buffer, intptr_t offset, int32_t stride) {
  GlContext* c = default_arrays(t);
  if (c) bind_vertex_buffer(c, bindingindex, buffer, offset, stride);
}
void after_glBindVertexBuffers(Thread* t, uint32_t first, int32_t count, const uint32_t* buffers,
                               const intptr_t* offsets, const int32_t* strides) {
  GlContext* c = default_arrays(t);
  if (!c || count < 0 || (uint64_t)first + (uint64_t)count > c->max_attribs) return;
  for (uint32_t i = 0; i < (uint32_t)count; i++) {
    if (buffers && offsets && strides)
      bind_vertex_buffer(c, first + i, buffers[i], offsets[i], strides[i]);
    else
      bind_vertex_buffer(c, first + i, 0, (intptr_t)NO_ADDRESS, 16);
  }
}

void after_glVertexPointer(Thread* t, int32_t size, uint32_t type, int32_t stride, const void* pointer) {
  set_fixed(t, VERTEX, size, type, stride, pointer);
}
void after_glVertexPointerEXT(Thread* t, int32_t size, uint32_t type, int32_t stride, int32_t, const void* pointer) {
  set_fixed(t, VERTEX, size, type, stride, pointer);
}
void after_glNormalPointer(Thread* t, uint32_t type, int32_t stride, const void* pointer) {
  set_fixed(t, NORMAL, 3, type, stride, pointer);
}
void after_glNormalPointerEXT(Thread* t, uint32_t type, int32_t stride, int32_t, const void* pointer) {
  set_fixed(t, NORMAL, 3, type, stride, pointer);
}
void after_glColorPointer(Thread* t, int32_t size, uint32_t type, int32_t stride, const void* pointer) {
  set_fixed(t, COLOR, size, type, stride, pointer);
}
void after_glColorPointerEXT(Thread* t, int32_t size, uint32_t type, int32_t stride, int32_t, const void* pointer) {
  set_fixed(t, COLOR, size, type, stride, pointer);
}
void after_glSecondaryColorPointer(Thread* t, int32_t size, uint32_t type, int32_t stride, const void* pointer) {
  set_fixed(t, SECONDARY_COLOR, size, type, stride, pointer);
}
void after_glFogCoordPointer(Thread* t, uint32_t type, int32_t stride, const void* pointer) {
  set_fixed(t, FOG_COORD, 1, type, stride, pointer);
}
void after_glIndexPointer(Thread* t, uint32_t type, int32_t stride, const void* pointer) {
  set_fixed(t, INDEX, 1, type, stride, pointer);
}
void after_glIndexPointerEXT(Thread* t, uint32_t type, int32_t stride, int32_t, const void* pointer) {
  set_fixed(t, INDEX, 1, type, stride, pointer);
}
void after_glEdgeFlagPointer(Thread* t, int32_t stride, const void* pointer) {
  set_fixed(t, EDGE_FLAG, 1, GL_UNSIGNED_BYTE, stride, pointer);
}
void after_glEdgeFlagPointerEXT(Thread* t, int32_t stride, int32_t, const uint8_t* pointer) {
  set_fixed(t, EDGE_FLAG, 1, GL_UNSIGNED_BYTE, stride, pointer);
}
void after_glTexCoordPointer(Thread* t, int32_t size, uint32_t type, int32_t stride, const void* pointer) {
  if (t->context) set_fixed(t, TEX_COORD + t->context->vertex.client_texture, size, type, stride, pointer);
}
void after_glTexCoordPointerEXT(Thread* t, int32_t size, uint32_t type, int32_t stride, int32_t, const void* pointer) {
  if (t->context) set_fixed(t, TEX_COORD + t->context->vertex.client_texture, size, type, stride, pointer);
}
void after_glMultiTexCoordPointerEXT(Thread* t, uint32_t texunit, int32_t size, uint32_t type, int32_t stride,
                                     const void* pointer) {
  uint32_t unit = texunit - GL_TEXTURE0;
  if (t->context && unit < t->context->max_tex_units) set_fixed(t, TEX_COORD + unit, size, type, stride, pointer);
}
void after_glPointSizePointerOES(Thread* t, uint32_t type, int32_t stride, const void* pointer) {
  set_fixed(t, POINT_SIZE, 1, type, stride, pointer);
}
// The sizes of these two go beyond four.
static void set_palette(Thread* t, uint32_t slot, int32_t size, uint32_t type, int32_t stride, const void* pointer) {
  GlContext* c = default_arrays(t);
  if (c && !c->in_begin && size > 0 && size <= 64) set_array(c, slot, size * size::type_size(type), stride, pointer);
}
void after_glMatrixIndexPointerARB(Thread* t, int32_t size, uint32_t type, int32_t stride, const void* pointer) {
  set_palette(t, MATRIX_INDEX, size, type, stride, pointer);
}
void after_glMatrixIndexPointerOES(Thread* t, int32_t size, uint32_t type, int32_t stride, const void* pointer) {
  set_palette(t, MATRIX_INDEX, size, type, stride, pointer);
}
void after_glWeightPointerARB(Thread* t, int32_t size, uint32_t type, int32_t stride, const void* pointer) {
  set_palette(t, WEIGHT, size, type, stride, pointer);
}
void after_glWeightPointerOES(Thread* t, int32_t size, uint32_t type, int32_t stride, const void* pointer) {
  set_palette(t, WEIGHT, size, type, stride, pointer);
}

void after_glInterleavedArrays(Thread* t, uint32_t format, int32_t stride, const void* pointer) {
  // Offsets in bytes; 4-byte floats, and a colour of 4 bytes (C4UB). Table 2.5 of the compatibility specification.
  struct Layout {
    uint8_t tex, color, color_bytes, normal, vertex;  // components; color_bytes: size of one
    uint8_t color_at, normal_at, vertex_at, stride;
  };
  static const Layout layouts[] = {
      {0, 0, 0, 0, 2, 0, 0, 0, 8},    {0, 0, 0, 0, 3, 0, 0, 0, 12},    {0, 4, 1, 0, 2, 0, 0, 4, 12},
      {0, 4, 1, 0, 3, 0, 0, 4, 16},   {0, 3, 4, 0, 3, 0, 0, 12, 24},   {0, 0, 0, 3, 3, 0, 0, 12, 24},
      {0, 4, 4, 3, 3, 0, 16, 28, 40}, {2, 0, 0, 0, 3, 0, 0, 8, 20},    {4, 0, 0, 0, 4, 0, 0, 16, 32},
      {2, 4, 1, 0, 3, 8, 0, 12, 24},  {2, 3, 4, 0, 3, 8, 0, 20, 32},   {2, 0, 0, 3, 3, 0, 8, 20, 32},
      {2, 4, 4, 3, 3, 8, 24, 36, 48}, {4, 4, 4, 3, 4, 16, 32, 44, 60},
  };
  GlContext* c = default_arrays(t);
  if (!c || c->in_begin || stride < 0 || format < GL_V2F || format > GL_T4F_C4F_N3F_V4F) return;
  const Layout& l = layouts[format - GL_V2F];
  const char* base = (const char*)pointer;
  int32_t step = stride ? stride : l.stride;
  uint32_t tex = TEX_COORD + c->vertex.client_texture;
  static const uint32_t LEFT_OUT[] = {EDGE_FLAG, INDEX, SECONDARY_COLOR, FOG_COORD};
  for (uint32_t slot : LEFT_OUT) enable(c, slot, false);
  enable(c, tex, l.tex != 0);
  if (l.tex) set_array(c, tex, l.tex * 4, step, base);
  enable(c, COLOR, l.color != 0);
  if (l.color) set_array(c, COLOR, l.color * l.color_bytes, step, base + l.color_at);
  enable(c, NORMAL, l.normal != 0);
  if (l.normal) set_array(c, NORMAL, 12, step, base + l.normal_at);
  enable(c, VERTEX, true);
  set_array(c, VERTEX, l.vertex * 4, step, base + l.vertex_at);
}

void after_glEnableClientState(Thread* t, uint32_t array) { enable_client(t, array, -1, true); }
void after_glDisableClientState(Thread* t, uint32_t array) { enable_client(t, array, -1, false); }
void after_glEnableClientStateIndexedEXT(Thread* t, uint32_t array, uint32_t index) {
  enable_client(t, array, index, true);
}
void after_glDisableClientStateIndexedEXT(Thread* t, uint32_t array, uint32_t index) {
  enable_client(t, array, index, false);
}
void after_glEnableClientStateiEXT(Thread* t, uint32_t array, uint32_t index) { enable_client(t, array, index, true); }
void after_glDisableClientStateiEXT(Thread* t, uint32_t array, uint32_t index) {
  enable_client(t, array, index, false);
}
void after_glClientActiveTexture(Thread* t, uint32_t texture) {
  GlContext* c = t->context;
  uint32_t unit = texture - GL_TEXTURE0;
  if (c && !c->in_begin && unit < c->max_tex_units) c->vertex.client_texture = unit;
}

void after_glPushClientAttrib(Thread* t, uint32_t mask) {
  if (t->context && !t->context->in_begin) push_client(t->context, mask);
}
void after_glPushClientAttribDefaultEXT(Thread* t, uint32_t mask) {
  GlContext* c = t->context;
  if (!c || c->in_begin || c->client_depth >= CLIENT_STACK) return;
  push_client(c, mask);
  default_client(c, mask);
}
void after_glClientAttribDefaultEXT(Thread* t, uint32_t mask) {
  if (t->context && !t->context->in_begin) default_client(t->context, mask);
}
void after_glPopClientAttrib(Thread* t) {
  GlContext* c = t->context;
  if (!c || c->in_begin || !c->client_depth) return;
  SavedClient* saved = c->saved[--c->client_depth];
  if (saved->mask & 1) {
    c->pack = saved->pack;
    c->unpack = saved->unpack;
    c->buffers[PACK] = saved->buffers[PACK];
    c->buffers[UNPACK] = saved->buffers[UNPACK];
  }
  if (saved->mask & 2) {
    use_vao(c, saved->vao);
    if (!saved->vao) c->vertex = saved->vertex;
    c->buffers[ARRAY] = saved->buffers[ARRAY];
    c->element_known = 0;
  }
  update_client(c);
}

void after_glPixelStorei(Thread* t, uint32_t pname, int32_t param) { pixel_store(t, pname, param); }
void after_glPixelStoref(Thread* t, uint32_t pname, float param) {
  bool flag = pname == GL_UNPACK_SWAP_BYTES || pname == GL_UNPACK_LSB_FIRST || pname == GL_PACK_SWAP_BYTES ||
              pname == GL_PACK_LSB_FIRST;
  pixel_store(t, pname, flag ? param != 0 : (int32_t)(param < 0 ? param - 0.5f : param + 0.5f));
}
void after_glPixelStorex(Thread* t, uint32_t pname, int32_t param) { pixel_store(t, pname, param); }

void after_glPrimitiveRestartIndex(Thread* t, uint32_t index) {
  if (t->context) t->context->restart_index = index, t->context->restart_index_set = 1;
}
void after_glPrimitiveRestartIndexNV(Thread* t, uint32_t index) {
  if (t->context) t->context->restart_index = index, t->context->restart_index_set = 1;
}
void after_glUseProgram(Thread* t, uint32_t program) {
  // A program that is refused leaves a name here that has no arrays of its own: then all are taken.
  if (t->context) t->context->program = program;
}
void after_glLinkProgram(Thread* t, uint32_t program) { forget_program(t, program); }
void after_glProgramBinary(Thread* t, uint32_t program, uint32_t, const void*, int32_t) { forget_program(t, program); }

}  // namespace hook
}  // namespace dt
