// The part of client vertex arrays that a draw reads.
//
// Called only while an enabled array of the default vertex array object lies in client memory. The range of vertices
// follows from the draw (first and count, or the least and greatest index); every array then gives one span of bytes,
// and spans that overlap, as interleaved arrays do, are recorded as one.
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "gl_state.h"
#include "losses.h"
#include "sizes.h"
#include "gl_enums.h"

namespace dt {
namespace gl {

namespace {

// Addresses below are no memory: an offset left behind by a deleted buffer, or no pointer at all.
constexpr uintptr_t LOWEST_ADDRESS = 65536;
constexpr uint64_t LARGEST_SPAN = 1ull << 32;

// The arrays that a linked program can read, by its active attributes. All bits where nobody knows them.
uint64_t active_arrays(GlContext* c, uint32_t program) {
  if (!driver::glGetProgramiv || !driver::glGetActiveAttrib || !driver::glGetAttribLocation || !driver::glIsProgram ||
      !can_ask(c) || !driver::glIsProgram(program))
    return ~0ull;
  int32_t linked = 0, count = 0;
  driver::glGetProgramiv(program, GL_LINK_STATUS, &linked);
  if (!linked) return ~0ull;
  driver::glGetProgramiv(program, GL_ACTIVE_ATTRIBUTES, &count);
  uint64_t arrays = 0;
  // A program of a fragment shader alone names no attributes: fixed function makes its vertices of all arrays.
  bool fixed = c->api == 1 && count <= 0;
  for (int32_t i = 0; i < count; i++) {
    char name[512];
    int32_t length = 0, elements = 0;
    uint32_t type = 0;
    driver::glGetActiveAttrib(program, (uint32_t)i, sizeof name, &length, &elements, &type, name);
    if (length <= 0) return ~0ull;
    if (strncmp(name, "gl_", 3) == 0) {
      fixed = true;
      continue;
    }
    int32_t at = driver::glGetAttribLocation(program, name);
    if (at < 0) return ~0ull;
    // A matrix takes a location a column, an array as many as it has elements; four columns at most, doubles two each.
    bool matrix = (type >= GL_FLOAT_MAT2 && type <= GL_FLOAT_MAT4) ||
                  (type >= GL_FLOAT_MAT2x3 && type <= GL_FLOAT_MAT4x3) ||
                  (type >= GL_DOUBLE_MAT2 && type <= GL_DOUBLE_MAT4x3);
    int32_t locations =
        (elements < 1 ? 1 : elements) * (matrix ? 4 : 1) * (type >= GL_DOUBLE_MAT2 && type <= GL_DOUBLE_VEC4 ? 2 : 1);
    for (int32_t k = at; k < at + locations && k < (int32_t)GENERIC; k++) arrays |= 1ull << k;
  }
  // gl_Vertex may also come through generic attribute 0.
  return fixed ? arrays | ~0ull << GENERIC | 1 : arrays;
}

uint64_t readable_arrays(GlContext* c) {
  uint32_t program = c->program;
  if (!program || c->version < 20) return ~0ull;
  ProgramArrays* p = &c->programs[program % PROGRAM_CACHE];
  if (p->program == program) return p->arrays;
  if (!can_ask(c)) return ~0ull;
  // A glUseProgram that was refused left another program in use.
  program = c->program = (uint32_t)ask(c, GL_CURRENT_PROGRAM, 0);
  if (!program) return ~0ull;
  p = &c->programs[program % PROGRAM_CACHE];
  if (p->program != program) *p = ProgramArrays{program, active_arrays(c, program)};
  return p->arrays;
}

// Returns whether memory can be read. An array that is enabled but that no shader uses may point to memory that was
// freed long ago: the driver does not look there, and neither may we. The kernel answers, so only where the used arrays
// are not known; an answer holds for some draws.
bool readable(GlContext* c, const Span& span) {
  constexpr uintptr_t PAGE = 4096;
  constexpr int POPULATE_READ = 22;  // MADV_POPULATE_READ, Linux 5.14
  for (const Span& known : c->probed)
    if (span.begin >= known.begin && span.end <= known.end) return true;
  int saved = errno;
  uintptr_t begin = span.begin & ~(PAGE - 1), end = (span.end + PAGE - 1) & ~(PAGE - 1);
  bool ok = madvise((void*)begin, end - begin, POPULATE_READ) == 0;
  // An older kernel, or a mapping of a device: at least it must be mapped.
  if (!ok && errno == EINVAL) ok = msync((void*)begin, end - begin, MS_ASYNC) == 0;
  errno = saved;
  if (ok) c->probed[c->probes++ % PROBED] = Span{begin, end};
  return ok;
}

bool asks_enabled(GlContext* c, uint32_t capability) {
  return driver::glIsEnabled && can_ask(c) && driver::glIsEnabled(capability);
}

// The index that restarts a primitive, -1: none. Asked only when `greatest` says that it may matter.
int64_t restart_index(GlContext* c, uint32_t type, uint64_t greatest) {
  uint64_t all_ones = type == GL_UNSIGNED_BYTE ? 0xff : type == GL_UNSIGNED_SHORT ? 0xffff : 0xffffffffull;
  if (greatest == all_ones && c->has_restart && asks_enabled(c, GL_PRIMITIVE_RESTART_FIXED_INDEX))
    return (int64_t)all_ones;
  if (!c->restart_index_set || c->api != 1) return -1;
  if (c->version >= 31 && asks_enabled(c, GL_PRIMITIVE_RESTART)) return (int64_t)c->restart_index;
  if (has_extension(c, "GL_NV_primitive_restart") && asks_enabled(c, GL_PRIMITIVE_RESTART_NV))
    return (int64_t)c->restart_index;
  return -1;
}

// Copies part of the bound element buffer; false where the driver has no way to read it.
bool read_elements(GlContext* c, uint64_t offset, uint64_t bytes, void* to) {
  if (!can_ask(c)) return false;
  if (c->api == 1) {
    if (!driver::glGetBufferSubData) return false;
    driver::glGetBufferSubData(GL_ELEMENT_ARRAY_BUFFER, (intptr_t)offset, (intptr_t)bytes, to);
    return true;
  }
  if (!c->can_map_range) return false;
  auto map = c->version >= 30 ? driver::glMapBufferRange : driver::glMapBufferRangeEXT;
  auto unmap = c->version >= 30 ? driver::glUnmapBuffer : driver::glUnmapBufferOES;
  const void* at = map && unmap ? map(GL_ELEMENT_ARRAY_BUFFER, (intptr_t)offset, (intptr_t)bytes, 1) : nullptr;
  if (!at) return false;
  memcpy(to, at, bytes);
  unmap(GL_ELEMENT_ARRAY_BUFFER);
  return true;
}

// Size of the bound element buffer and whether it may be read now: a mapped one may not.
int64_t element_bytes_readable(GlContext* c) {
  if (!driver::glGetBufferParameteriv || !can_ask(c)) return 0;
  int32_t size = 0, mapped = 0;
  driver::glGetBufferParameteriv(GL_ELEMENT_ARRAY_BUFFER, GL_BUFFER_SIZE, &size);
  bool has_mapped = c->api == 1 || c->version >= 30 || c->can_map_range;
  if (has_mapped) driver::glGetBufferParameteriv(GL_ELEMENT_ARRAY_BUFFER, GL_BUFFER_MAPPED, &mapped);
  return mapped ? 0 : size;
}

template <typename T> IndexRange range_of(const T* data, uint64_t count) {
  T low = (T) ~(T)0, high = 0;
  for (uint64_t i = 0; i < count; i++) {  // plain enough for the compiler to vectorise
    T v = data[i];
    low = v < low ? v : low;
    high = v > high ? v : high;
  }
  return IndexRange{low, high, count != 0};
}

template <typename T> IndexRange range_without(const T* data, uint64_t count, uint64_t restart) {
  IndexRange r{~0ull, 0, false};
  for (uint64_t i = 0; i < count; i++) {
    uint64_t v = data[i];
    if (v == restart) continue;
    r.low = v < r.low ? v : r.low;
    r.high = v > r.high ? v : r.high;
    r.any = true;
  }
  return r;
}

// The range of the indices of one draw; handles the element buffer and primitive restart.
IndexRange draw_indices(Thread* t, GlContext* c, uint64_t count, uint32_t type, const void* indices) {
  uint64_t size = (uint64_t)size::index_size(type);
  IndexRange none{0, 0, false};
  if (!size || !count) return none;
  void* copy = nullptr;
  const void* data = indices;
  if (element_buffer(c)) {
    uint64_t offset = (uint64_t)(uintptr_t)indices;
    int64_t held = element_bytes_readable(c);
    if (held <= 0 || offset >= (uint64_t)held) {
      if (held <= 0) emit_loss(t, "index-buffer-unread", "indices in a buffer object could not be read back");
      return none;
    }
    if (count > ((uint64_t)held - offset) / size) count = ((uint64_t)held - offset) / size;
    copy = malloc(count * size + 8);
    if (!copy || !count || !read_elements(c, offset, count * size, copy)) {
      emit_loss(t, "index-buffer-unread", "indices in a buffer object could not be read back");
      free(copy);
      return none;
    }
    data = copy;
  } else if ((uintptr_t)indices < LOWEST_ADDRESS) {
    return none;
  }
  IndexRange r = index_range(data, count, type, -1);
  int64_t restart = restart_index(c, type, r.high);
  if (restart >= 0 && (uint64_t)restart >= r.low && (uint64_t)restart <= r.high)
    r = index_range(data, count, type, restart);
  free(copy);
  return r;
}

struct Unified {
  int64_t low, high;
  bool any;
  void add(int64_t first, int64_t last) {
    low = !any || first < low ? first : low;
    high = !any || last > high ? last : high;
    any = true;
  }
};

}  // namespace

IndexRange index_range(const void* data, uint64_t count, uint32_t type, int64_t restart) {
  if (!count || !data) return IndexRange{0, 0, false};
  switch (type) {
    case GL_UNSIGNED_BYTE:
      return restart < 0 ? range_of((const uint8_t*)data, count)
                         : range_without((const uint8_t*)data, count, (uint64_t)restart);
    case GL_UNSIGNED_SHORT:
      return restart < 0 ? range_of((const uint16_t*)data, count)
                         : range_without((const uint16_t*)data, count, (uint64_t)restart);
    case GL_UNSIGNED_INT:
      return restart < 0 ? range_of((const uint32_t*)data, count)
                         : range_without((const uint32_t*)data, count, (uint64_t)restart);
    default: return IndexRange{0, 0, false};
  }
}

uint32_t merge_spans(Span* spans, uint32_t count) {
  for (uint32_t i = 1; i < count; i++) {  // few, and mostly in order already
    Span s = spans[i];
    uint32_t at = i;
    for (; at && spans[at - 1].begin > s.begin; at--) spans[at] = spans[at - 1];
    spans[at] = s;
  }
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (kept && spans[i].begin <= spans[kept - 1].end) {
      if (spans[i].end > spans[kept - 1].end) spans[kept - 1].end = spans[i].end;
    } else {
      spans[kept++] = spans[i];
    }
  }
  return kept;
}

void emit_client_arrays(Thread* t, const DrawRange& range) {
  GlContext* c = t->context;
  if (range.count <= 0 || !range.instances) return;
  uint64_t used = readable_arrays(c), arrays = c->client_arrays & used;
  bool certain = used != ~0ull && !(used >> GENERIC);
  if (!certain && ++c->draws_since_probe > 64) {
    c->draws_since_probe = 0;
    memset(c->probed, 0, sizeof c->probed);
  }
  Span spans[ARRAYS];
  uint32_t count = 0;
  for (; arrays; arrays &= arrays - 1) {
    const Array& a = c->vertex.arrays[__builtin_ctzll(arrays)];
    const Binding& b = c->vertex.bindings[a.binding];
    int64_t first = range.first, elements = range.count;
    if (b.divisor) {
      first = (int64_t)range.base_instance;
      elements = (int64_t)((range.instances + b.divisor - 1) / b.divisor);
    }
    __int128 begin = (__int128)b.pointer + a.relative + (__int128)first * b.stride;
    __int128 end = begin + (__int128)(elements - 1) * b.stride + a.bytes;
    array_is_read(b.pointer, begin, end);
    if (b.pointer + a.relative < LOWEST_ADDRESS) continue;
    // A range like that is an error of the program (an index gone wild); a driver that clamps it reads less.
    if (begin < (__int128)LOWEST_ADDRESS || end > (__int128)INTPTR_MAX || end - begin > (__int128)LARGEST_SPAN) {
      emit_loss(t, "client-array-wild", "a draw names vertices far outside of any memory; its arrays were left out");
      continue;
    }
    Span span{(uintptr_t)begin, (uintptr_t)end};
    if (certain || readable(c, span))
      spans[count++] = span;
    else
      emit_loss(t, "client-array-unreadable", "an enabled array points to memory that cannot be read: left out");
  }
  count = merge_spans(spans, count);
  for (uint32_t i = 0; i < count; i++) emit_memory(t, (const void*)spans[i].begin, spans[i].end - spans[i].begin);
}

}  // namespace gl

namespace hook {
using namespace gl;

void client_draw_arrays(Thread* t, int64_t first, int64_t count, uint64_t base_instance, uint64_t instances) {
  if (first < 0 || count <= 0) return;
  emit_client_arrays(t, DrawRange{first, count, base_instance, instances});
}

void client_draw_elements(Thread* t, int64_t count, uint32_t type, const void* indices, int64_t base_vertex,
                          uint64_t base_instance, uint64_t instances) {
  if (count <= 0 || !instances) return;
  IndexRange r = draw_indices(t, t->context, (uint64_t)count, type, indices);
  if (!r.any) return;
  emit_client_arrays(t,
                     DrawRange{(int64_t)r.low + base_vertex, (int64_t)(r.high - r.low) + 1, base_instance, instances});
}

static void multi_arrays(Thread* t, const int32_t* first, const int32_t* count, int32_t drawcount) {
  if (drawcount <= 0 || !first || !count || !client_draw(t)) return;
  // Ranges that lie close together are recorded as one, far ones each for itself.
  Unified all{0, 0, false};
  int64_t sum = 0;
  for (int32_t i = 0; i < drawcount; i++) {
    if (first[i] < 0 || count[i] < 0) return;
    if (!count[i]) continue;
    all.add(first[i], (int64_t)first[i] + count[i] - 1);
    sum += count[i];
  }
  if (!all.any) return;
  if (all.high - all.low < sum) {
    emit_client_arrays(t, DrawRange{all.low, all.high - all.low + 1, 0, 1});
    return;
  }
  for (int32_t i = 0; i < drawcount; i++) client_draw_arrays(t, first[i], count[i], 0, 1);
}

static void multi_elements(Thread* t, const int32_t* count, uint32_t type, const void* const* indices,
                           int32_t drawcount, const int32_t* basevertex) {
  GlContext* c = t->context;
  uint64_t size = (uint64_t)size::index_size(type);
  if (!c || drawcount <= 0 || !count || !indices || !size) return;
  if (!element_buffer(c)) {
    for (int32_t i = 0; i < drawcount; i++) {
      if (count[i] < 0) return;
      if (!count[i]) continue;
      if ((uintptr_t)indices[i] >= LOWEST_ADDRESS)
        emit_memory(t, indices[i], (uint64_t)count[i] * size);
      else
        memory_is_missing();
    }
    if (!memory_is_there()) return;
  }
  if (!client_draw(t)) return;
  for (int32_t i = 0; i < drawcount; i++)
    client_draw_elements(t, count[i], type, indices[i], basevertex ? basevertex[i] : 0, 0, 1);
}

void before_glMultiDrawArrays(Thread* t, uint32_t, const int32_t* first, const int32_t* count, int32_t drawcount) {
  multi_arrays(t, first, count, drawcount);
}
void before_glMultiDrawElements(Thread* t, uint32_t, const int32_t* count, uint32_t type, const void* const* indices,
                                int32_t drawcount) {
  multi_elements(t, count, type, indices, drawcount, nullptr);
}
void before_glMultiDrawElementsBaseVertex(Thread* t, uint32_t, const int32_t* count, uint32_t type,
                                          const void* const* indices, int32_t drawcount, const int32_t* basevertex) {
  multi_elements(t, count, type, indices, drawcount, basevertex);
}
void before_glMultiModeDrawArraysIBM(Thread* t, const uint32_t*, const int32_t* first, const int32_t* count,
                                     int32_t primcount, int32_t) {
  multi_arrays(t, first, count, primcount);
}
void before_glMultiModeDrawElementsIBM(Thread* t, const uint32_t*, const int32_t* count, uint32_t type,
                                       const void* const* indices, int32_t primcount, int32_t) {
  multi_elements(t, count, type, indices, primcount, nullptr);
}

// Indirect draws: commands in client memory are recorded whatever the arrays; their vertices only from there, since
// commands that the GPU wrote are not known here.
static void indirect(Thread* t, const void* commands, int32_t drawcount, int32_t stride, bool elements, uint32_t type) {
  GlContext* c = t->context;
  if (!c || drawcount <= 0 || stride < 0 || c->core) return;
  if (c->buffers[INDIRECT]) {
    if (client_draw(t))
      emit_loss(t, "indirect-client-arrays", "an indirect draw from a buffer reads client arrays: not recorded");
    return;
  }
  if (c->api != 1) return;
  if ((uintptr_t)commands < LOWEST_ADDRESS) return memory_is_missing();
  uint32_t words = elements ? 5 : 4;
  uint64_t step = stride ? (uint64_t)stride : words * 4;
  emit_memory(t, commands, (uint64_t)(drawcount - 1) * step + words * 4);
  if (!client_draw(t) || !memory_is_there()) return;
  for (int32_t i = 0; i < drawcount; i++) {
    uint32_t v[5] = {};
    memcpy(v, (const char*)commands + (uint64_t)i * step, words * 4);
    if (!elements) {
      client_draw_arrays(t, v[2], v[0], v[3], v[1]);
    } else if (element_buffer(c)) {
      uintptr_t offset = (uintptr_t)v[2] * (uintptr_t)size::index_size(type);
      client_draw_elements(t, v[0], type, (const void*)offset, (int32_t)v[3], v[4], v[1]);
    }
  }
}
void before_glDrawArraysIndirect(Thread* t, uint32_t, const void* commands) { indirect(t, commands, 1, 0, false, 0); }
void before_glDrawElementsIndirect(Thread* t, uint32_t, uint32_t type, const void* commands) {
  indirect(t, commands, 1, 0, true, type);
}
void before_glMultiDrawArraysIndirect(Thread* t, uint32_t, const void* commands, int32_t drawcount, int32_t stride) {
  indirect(t, commands, drawcount, stride, false, 0);
}
void before_glMultiDrawElementsIndirect(Thread* t, uint32_t, uint32_t type, const void* commands, int32_t drawcount,
                                        int32_t stride) {
  indirect(t, commands, drawcount, stride, true, type);
}

}  // namespace hook
}  // namespace dt
