// The mirror's hooks of buffers, vertex arrays, pixel store and programs.
//
// Hooks run after the driver returned. A call that the driver refuses must change nothing here, so every hook makes the
// checks that the specification makes; where the driver may refuse a name (an object that was never generated), a query
// asks it once per name.
#include "arrays.h"

#include <stdlib.h>

#include "gl_enums.h"
#include "sizes.h"

namespace dt {
namespace gl {

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

// The mirror's context, where its default vertex array object is being changed.
static GlContext* default_arrays(Thread* t) {
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
static void binding_changed(GlContext* c, uint32_t binding) {
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

static void set_generic(Thread* t, uint32_t index, int32_t size, uint32_t type, int32_t stride, const void* pointer) {
  GlContext* c = default_arrays(t);
  if (c && index < c->max_attribs) set_array(c, index, element_bytes(size, type), stride, pointer);
}

static void set_fixed(Thread* t, uint32_t slot, int32_t size, uint32_t type, int32_t stride, const void* pointer) {
  GlContext* c = default_arrays(t);
  if (c && !c->in_begin) set_array(c, slot, element_bytes(size, type), stride, pointer);
}

void enable(GlContext* c, uint32_t slot, bool on) {
  uint64_t bit = 1ull << slot;
  c->vertex.enabled = on ? c->vertex.enabled | bit : c->vertex.enabled & ~bit;
  update_client(c);
}

static int client_slot(const GlContext* c, uint32_t array, uint32_t unit) {
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

static void enable_client(Thread* t, uint32_t array, int64_t unit, bool on) {
  GlContext* c = default_arrays(t);
  if (!c || c->in_begin) return;
  int slot = client_slot(c, array, unit < 0 ? c->vertex.client_texture : (uint32_t)unit);
  if (slot >= 0) enable(c, (uint32_t)slot, on);
}

static void keep_element(GlContext* c) {
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

static void bind_vao(Thread* t, uint32_t vao) {
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

int32_t* pixel_field(GlContext* c, uint32_t pname) {
  for (const PixelNames& names : PIXEL_NAMES)
    if (pname - names.first < names.count)
      return (int32_t*)(names.packs ? &c->pack : &c->unpack) + names.field + (pname - names.first);
  return nullptr;
}

// The version decides the parameters: the driver refuses one that does not exist, which changes nothing.
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

static void pixel_store(Thread* t, uint32_t pname, int32_t value) {
  GlContext* c = t->context;
  int32_t* const field = c ? pixel_field(c, pname) : nullptr;
  if (!field || c->in_begin || !has_pixel_parameter(c, pname)) return;
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

static void default_client(GlContext* c, uint32_t mask) {
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

static void push_client(GlContext* c, uint32_t mask) {
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

}  // namespace gl

namespace hook {
using namespace gl;

// ---- buffers ------------------------------------------------------------------------------------

void after_glBindBuffer(Thread* t, uint32_t target, uint32_t buffer) {
  GlContext* c = t->context;
  if (!c) return;
  Slot slot = slot_of(c, target);
  if (slot == NO_SLOT) return;
  if (c->buffers[slot] == buffer && (slot != ELEMENT || c->element_known)) return;
  if (DT_UNLIKELY(c->in_begin)) return;
  if (c->core && buffer) {
    // Core refuses names that were never generated; a query asks about each name once.
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
  // A query gets the former binding when it matters.
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
void after_glLinkProgram(Thread* t, uint32_t program) {
  program_is_new(t, program), forget_program(t->context, program);
}
void after_glProgramBinary(Thread* t, uint32_t program, uint32_t, const void*, int32_t) {
  program_is_new(t, program), forget_program(t->context, program);
}

}  // namespace hook
}  // namespace dt
