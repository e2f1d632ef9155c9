// The player, played against hostile traces, with a driver that only touches memory (tests/fake_driver.py makes most of
// it).
//
// With libFuzzer: `PYTHONPATH=src:tests CXX=clang++-14 python tests/native/test_fuzz_player.py FOLDER`, then
//   FOLDER/fuzz_player -max_len=20000 -rss_limit_mb=4000 -timeout=30 -detect_leaks=0 CORPUS tests/data
// Without: `fuzz_player MODE FILE [STEP [SEED]]` does it in one process, deterministically: MODE is play (the file as
// it is, in several ways), or one of hostile.h.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "../../native/common/format.h"
#include "../../native/player/attachments.h"
#include "player_module.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "hostile.h"

enum : int {
  EGL_NONE = 0x3038,
  EGL_SURFACE_TYPE = 0x3033,
  EGL_RENDERABLE_TYPE = 0x3040,
  EGL_COLOR_BUFFER_TYPE = 0x303F,
  EGL_RGB_BUFFER = 0x308E,
  EGL_CONFIG_CAVEAT = 0x3027,
  EGL_EXTENSIONS = 0x3055,
  EGL_BAD_ALLOC = 0x3003,
  EGL_CONTEXT_MAJOR_VERSION = 0x3098,
  EGL_OPENGL_ES_API = 0x30A0,
  EGL_OPENGL_API = 0x30A2
};

namespace fake {

// ---- touching memory ----------------------------------------------------------------------------

volatile uint8_t g_sink;
uint32_t g_names;
uint64_t g_touched;
// More than this is not walked through, only looked at in pages and at its end.
constexpr int64_t CLOSELY = 1 << 20;

[[noreturn]] void wrong(const char* what) {
  fprintf(stderr, "fake driver: %s\n", what);
  abort();
}

uint64_t new_name() { return ++g_names; }

void read_bytes(const void* at, int64_t bytes, int null_allowed) {
  if (bytes <= 0 || (!at && null_allowed)) return;
  if (!at) wrong("NULL where the driver reads");
  auto* p = static_cast<const volatile uint8_t*>(at);
  for (int64_t i = 0; i<bytes; i += bytes> CLOSELY ? 4096 : 1) g_sink = p[i];
  g_sink = p[bytes - 1];
  g_touched += static_cast<uint64_t>(bytes);
}
void fill_bytes(const void* at, int64_t bytes, int null_allowed) {
  if (bytes <= 0 || (!at && null_allowed)) return;
  if (!at) wrong("NULL where the driver writes");
  auto* p = static_cast<volatile uint8_t*>(const_cast<void*>(at));
  for (int64_t i = 0; i<bytes; i += bytes> CLOSELY ? 4096 : 1) p[i] = static_cast<uint8_t>(i % 4 ? 0 : 1);
  p[bytes - 1] = 0;
  g_touched += static_cast<uint64_t>(bytes);
}
void read_text(const char* at, int64_t bytes) {
  if (!at) return;
  if (bytes < 0) bytes = static_cast<int64_t>(strlen(at)) + 1;
  read_bytes(at, bytes, 1);
}
void read_texts(const char* const* at, int64_t count) {
  if (count > 0 && !at) wrong("NULL where the driver reads strings");
  for (int64_t i = 0; i < count; ++i) read_text(at[i], -1);
}

// ---- what a context holds, apart from the player's mirror ---------------------------------------

struct Buffer {
  std::vector<uint8_t> bytes;
  bool mapped = false;
};
struct Binding {
  uint32_t buffer = 0, divisor = 0;
  int64_t stride = 16;
  const uint8_t* at = nullptr;
};
struct VertexArray {
  bool enabled = false;
  uint32_t binding = 0;
  int64_t bytes = 16, relative = 0;
};
struct Store {
  int32_t alignment = 4, row_length = 0, image_height = 0, skip_rows = 0, skip_pixels = 0, skip_images = 0;
};
struct VertexArrays {
  VertexArrays() {
    for (uint32_t i = 0; i < 16; ++i) generic[i].binding = i;
  }
  VertexArray generic[16];
  Binding bindings[16];
  uint32_t elements = 0;
};
struct Context {
  bool es = false;
  uint32_t version = 46;
  std::map<uint32_t, uint32_t> bound;
  std::map<uint32_t, VertexArrays> arrays;
  uint32_t vao = 0;
  Store pack, unpack;
  struct Saved {
    uint32_t mask, vao;
    Store pack, unpack;
    VertexArrays arrays;
    std::map<uint32_t, uint32_t> bound;
  };
  std::vector<Saved> stack;
};
// Buffers are one set for all contexts: a fake has no share groups.
std::map<uint32_t, Buffer> g_buffers;
std::map<void*, Context> g_contexts;
thread_local Context* g_current;
thread_local uint32_t g_api = EGL_OPENGL_ES_API;
constexpr int64_t LARGEST_BUFFER = 8 << 20;

bool has_target(uint32_t target) {
  const Context& c = *g_current;
  switch (target) {
    case 0x8892:
    case 0x8893: return !c.es || c.version >= 11;
    case 0x88EB:
    case 0x88EC:
    case 0x8F36:
    case 0x8F37:
    case 0x8A11:
    case 0x8C8E: return c.version >= 30;
    case 0x8F3F:
    case 0x90D2:
    case 0x90EE:
    case 0x92C0:
    case 0x8C2A: return c.version >= 31;
    case 0x9192:
    case 0x80EE: return !c.es;
    default: return false;
  }
}
uint32_t buffer_of(uint32_t target) {
  if (!g_current) return 0;
  if (target == 0x8893) return g_current->arrays[g_current->vao].elements;
  auto it = g_current->bound.find(target);
  return it == g_current->bound.end() ? 0 : it->second;
}
Buffer* bound(uint32_t target) {
  auto it = g_buffers.find(buffer_of(target));
  return it == g_buffers.end() || !it->first ? nullptr : &it->second;
}

int64_t texel(int64_t format, int64_t type) { return dt::size::pixel_size(format, type); }
// What a driver reads or writes of an image: rows one after the other, as the specification's formula places them.
void image(bool out, const void* at, int64_t format, int64_t type, int64_t width, int64_t height, int64_t depth,
           int dimensions, int64_t limit) {
  if (buffer_of(out ? 0x88EB : 0x88EC) || !at || width <= 0 || height <= 0 || depth <= 0) return;
  if (width > 16384 || height > 16384 || depth > 16384) return;  // an error in every driver
  const Store& s = out ? g_current->pack : g_current->unpack;
  int64_t group = texel(format, type), length = s.row_length > 0 ? s.row_length : width,
          rows = dimensions == 3 && s.image_height > 0 ? s.image_height : height;
  bool bits = type == 0x1A00;
  if (!group && !bits) return;
  int64_t row = bits ? (length + 7) / 8 : length * group;
  row = (row + s.alignment - 1) / s.alignment * s.alignment;
  auto* base = static_cast<const uint8_t*>(at);
  for (int64_t z = 0; z < depth; ++z)
    for (int64_t y = 0; y < height; ++y) {
      if (height > 64 && y > 2 && y + 2 < height) continue;
      int64_t from = ((dimensions == 3 ? s.skip_images : 0) + z) * rows * row + (s.skip_rows + y) * row +
                     (bits ? s.skip_pixels / 8 : s.skip_pixels * group);
      int64_t bytes = bits ? (s.skip_pixels % 8 + width + 7) / 8 : width * group;
      if (from + bytes > limit) return;  // the robust ones stop here
      if (out)
        fill_bytes(base + from, bytes, 0);
      else
        read_bytes(base + from, bytes, 0);
    }
}

// ---- commands by hand ---------------------------------------------------------------------------

void fake_glBindBuffer(GLenum target, GLuint buffer) {
  if (!has_target(target)) return;
  if (buffer) g_buffers[buffer];
  if (target == 0x8893)
    g_current->arrays[g_current->vao].elements = buffer;
  else
    g_current->bound[target] = buffer;
}
void fake_glDeleteBuffers(GLsizei n, const GLuint* buffers) {
  read_bytes(buffers, n * 4ll, 0);
  for (GLsizei i = 0; i < n; ++i) {
    if (!buffers[i]) continue;
    for (auto& [target, name] : g_current->bound)
      if (name == buffers[i]) name = 0;
    auto& vao = g_current->arrays[g_current->vao];
    if (vao.elements == buffers[i]) vao.elements = 0;
    for (auto& a : vao.bindings)
      if (a.buffer == buffers[i]) a.buffer = 0;  // the pointer stays: now it is an address
    g_buffers.erase(buffers[i]);
  }
}
void fake_glBufferData(GLenum target, GLsizeiptr size, const void* data, GLenum) {
  Buffer* b = bound(target);
  if (!b || size < 0) return;
  read_bytes(data, size, 1);
  b->bytes.assign(static_cast<size_t>(std::min<int64_t>(size, LARGEST_BUFFER)), 0);
  b->bytes.shrink_to_fit();
  b->mapped = false;
  if (data && size && size <= LARGEST_BUFFER) memcpy(b->bytes.data(), data, static_cast<size_t>(size));
}
void fake_glBufferSubData(GLenum target, GLintptr offset, GLsizeiptr size, const void* data) {
  Buffer* b = bound(target);
  if (!b || offset < 0 || size < 0 || offset > static_cast<int64_t>(b->bytes.size()) ||
      size > static_cast<int64_t>(b->bytes.size()) - offset)
    return;
  read_bytes(data, size, 0);
  if (size) memcpy(b->bytes.data() + offset, data, static_cast<size_t>(size));
}
void fake_glGetBufferSubData(GLenum target, GLintptr offset, GLsizeiptr size, void* data) {
  Buffer* b = bound(target);
  if (!b || offset < 0 || size < 0 || offset > static_cast<int64_t>(b->bytes.size()) ||
      size > static_cast<int64_t>(b->bytes.size()) - offset)
    return;
  fill_bytes(data, size, 0);
  if (size) memcpy(data, b->bytes.data() + offset, static_cast<size_t>(size));
}
void* fake_glMapBufferRange(GLenum target, GLintptr offset, GLsizeiptr size, GLbitfield) {
  Buffer* b = bound(target);
  if (!b || b->mapped || offset < 0 || size <= 0 || offset > static_cast<int64_t>(b->bytes.size()) ||
      size > static_cast<int64_t>(b->bytes.size()) - offset)
    return nullptr;
  b->mapped = true;
  return b->bytes.data() + offset;
}
void* fake_glMapBuffer(GLenum target, GLenum) {
  Buffer* b = bound(target);
  if (!b || b->mapped || b->bytes.empty()) return nullptr;
  b->mapped = true;
  return b->bytes.data();
}
GLboolean fake_glUnmapBuffer(GLenum target) {
  Buffer* b = bound(target);
  return b && b->mapped ? (b->mapped = false, 1) : 0;
}
void fake_glGetBufferParameteriv(GLenum target, GLenum pname, GLint* params) {
  Buffer* b = bound(target);
  fill_bytes(params, 4, 0);
  if (b) *params = pname == 0x8764 ? static_cast<GLint>(b->bytes.size()) : pname == 0x88BC ? b->mapped : 0;
}

void fake_glBindVertexArray(GLuint array) { g_current->vao = array; }
void fake_glDeleteVertexArrays(GLsizei n, const GLuint* arrays) {
  read_bytes(arrays, n * 4ll, 0);
  for (GLsizei i = 0; i < n; ++i) {
    if (!arrays[i]) continue;
    if (g_current->vao == arrays[i]) g_current->vao = 0;
    g_current->arrays.erase(arrays[i]);
  }
}
constexpr int64_t LONGEST_STRIDE = 65536;  // only later versions look
uint32_t attributes() { return g_current->version >= 20 ? 16 : 0; }
void fake_glEnableVertexAttribArray(GLuint index) {
  if (index < attributes()) g_current->arrays[g_current->vao].generic[index].enabled = true;
}
void fake_glDisableVertexAttribArray(GLuint index) {
  if (index < attributes()) g_current->arrays[g_current->vao].generic[index].enabled = false;
}
void fake_glVertexAttribPointer(GLuint index, GLint size, GLenum type, GLboolean, GLsizei stride, const void* pointer) {
  int64_t bytes = size >= 1 && size <= 4 ? size * dt::size::type_size(type) : size == 0x80E1 ? 4 : 0;
  if (dt::size::packed_size(type)) bytes = 4;
  uint32_t buffer = buffer_of(0x8892);
  if (index >= attributes() || stride < 0 || (stride > LONGEST_STRIDE && g_current->version >= 31) || bytes <= 0 ||
      (!buffer && g_current->vao && pointer))
    return;
  VertexArrays& all = g_current->arrays[g_current->vao];
  all.generic[index] = {all.generic[index].enabled, index, bytes, 0};
  Binding& b = all.bindings[index];
  b.stride = stride ? stride : bytes;
  b.buffer = buffer;
  b.at = static_cast<const uint8_t*>(pointer);
}
void fake_glVertexAttribIPointer(GLuint index, GLint size, GLenum type, GLsizei stride, const void* pointer) {
  fake_glVertexAttribPointer(index, size, type, 0, stride, pointer);
}
void fake_glVertexAttribLPointer(GLuint index, GLint size, GLenum type, GLsizei stride, const void* pointer) {
  fake_glVertexAttribPointer(index, size, type, 0, stride, pointer);
}
void fake_glVertexAttribDivisor(GLuint index, GLuint divisor) {
  if (index >= attributes()) return;
  VertexArrays& all = g_current->arrays[g_current->vao];
  all.generic[index].binding = index;
  all.bindings[index].divisor = divisor;
}
void fake_glVertexBindingDivisor(GLuint index, GLuint divisor) {
  if (index < attributes()) g_current->arrays[g_current->vao].bindings[index].divisor = divisor;
}
void fake_glVertexAttribBinding(GLuint index, GLuint binding) {
  if (index < attributes() && binding < attributes())
    g_current->arrays[g_current->vao].generic[index].binding = binding;
}
void fake_glVertexAttribFormat(GLuint index, GLint size, GLenum type, GLboolean, GLuint relative) {
  int64_t bytes = size >= 1 && size <= 4 ? size * dt::size::type_size(type) : size == 0x80E1 ? 4 : 0;
  if (dt::size::packed_size(type)) bytes = 4;
  if (index >= attributes() || bytes <= 0 || relative > 2047) return;
  VertexArray& a = g_current->arrays[g_current->vao].generic[index];
  a.bytes = bytes;
  a.relative = relative;
}
void fake_glVertexAttribIFormat(GLuint index, GLint size, GLenum type, GLuint relative) {
  fake_glVertexAttribFormat(index, size, type, 0, relative);
}
void fake_glVertexAttribLFormat(GLuint index, GLint size, GLenum type, GLuint relative) {
  fake_glVertexAttribFormat(index, size, type, 0, relative);
}
void fake_glBindVertexBuffer(GLuint index, GLuint buffer, GLintptr offset, GLsizei stride) {
  if (index >= attributes() || offset < 0 || stride < 0 || (stride > LONGEST_STRIDE && g_current->version >= 31))
    return;
  Binding& b = g_current->arrays[g_current->vao].bindings[index];
  b = {buffer, b.divisor, stride, reinterpret_cast<const uint8_t*>(offset)};
}
void fake_glBindVertexBuffers(GLuint first, GLsizei count, const GLuint* buffers, const GLintptr* offsets,
                              const GLsizei* strides) {
  if (count < 0 || static_cast<uint64_t>(first) + static_cast<uint64_t>(count) > attributes()) return;
  for (GLsizei i = 0; i < count; ++i) {
    if (buffers && offsets && strides)
      fake_glBindVertexBuffer(first + static_cast<GLuint>(i), buffers[i], offsets[i], strides[i]);
    else
      fake_glBindVertexBuffer(first + static_cast<GLuint>(i), 0, 0, 16);
  }
}
void fake_glPushClientAttrib(GLbitfield mask) {
  Context& c = *g_current;
  if (!c.es && c.stack.size() < 16) c.stack.push_back({mask, c.vao, c.pack, c.unpack, c.arrays[c.vao], c.bound});
}
void fake_glPopClientAttrib() {
  Context& c = *g_current;
  if (c.es || c.stack.empty()) return;
  auto saved = c.stack.back();
  c.stack.pop_back();
  if (saved.mask & 1) {
    c.pack = saved.pack, c.unpack = saved.unpack;
    for (uint32_t target : {0x88EBu, 0x88ECu}) c.bound[target] = saved.bound[target];
  }
  if (saved.mask & 2) {
    c.vao = saved.vao;
    c.arrays[c.vao] = saved.arrays;
    c.bound[0x8892] = saved.bound[0x8892];
  }
}

// A draw reads the arrays that lie in client memory; those in buffers are the driver's own.
void draw(int64_t first, int64_t count, int64_t instances) {
  if (first < 0 || count <= 0 || instances <= 0) return;
  VertexArrays& all = g_current->arrays[g_current->vao];
  for (auto& a : all.generic) {
    Binding& b = all.bindings[a.binding];
    if (!a.enabled || b.buffer || g_current->vao) continue;
    int64_t from = b.divisor ? 0 : first, n = b.divisor ? (instances + b.divisor - 1) / b.divisor : count;
    if (!b.at) wrong("an array at no address");
    const uint8_t* at = b.at + a.relative;
    read_bytes(at + from * b.stride, a.bytes, 0);
    read_bytes(at + (from + n - 1) * b.stride, a.bytes, 0);
    if (n < 4096)
      for (int64_t i = 0; i < n; ++i) read_bytes(at + (from + i) * b.stride, a.bytes, 0);
  }
}
void draw_indexed(int64_t count, uint32_t type, const void* indices, int64_t base, int64_t instances) {
  int64_t size = type == 0x1401 ? 1 : type == 0x1403 ? 2 : type == 0x1405 ? 4 : 0;
  if (!size || count <= 0 || instances <= 0) return;
  const uint8_t* at = static_cast<const uint8_t*>(indices);
  if (Buffer* b = bound(0x8893)) {
    auto offset = static_cast<int64_t>(reinterpret_cast<uintptr_t>(indices));
    if (b->mapped || offset < 0 || offset > static_cast<int64_t>(b->bytes.size())) return;
    count = std::min(count, (static_cast<int64_t>(b->bytes.size()) - offset) / size);
    at = b->bytes.data() + offset;
  } else {
    read_bytes(at, count * size, 0);
  }
  int64_t low = INT64_MAX, high = -1;
  for (int64_t i = 0; i < count; ++i) {
    uint32_t v = 0;
    memcpy(&v, at + i * size, static_cast<size_t>(size));
    low = std::min<int64_t>(low, v), high = std::max<int64_t>(high, v);
  }
  if (high >= 0) draw(low + base, high - low + 1, instances);
}
void fake_glDrawArrays(GLenum, GLint first, GLsizei count) { draw(first, count, 1); }
void fake_glDrawArraysInstanced(GLenum, GLint first, GLsizei count, GLsizei instances) {
  draw(first, count, instances);
}
void fake_glDrawElements(GLenum, GLsizei count, GLenum type, const void* indices) {
  draw_indexed(count, type, indices, 0, 1);
}
void fake_glDrawElementsInstanced(GLenum, GLsizei count, GLenum type, const void* indices, GLsizei instances) {
  draw_indexed(count, type, indices, 0, instances);
}
void fake_glDrawElementsBaseVertex(GLenum, GLsizei count, GLenum type, const void* indices, GLint base) {
  draw_indexed(count, type, indices, base, 1);
}
void fake_glMultiDrawArrays(GLenum, const GLint* first, const GLsizei* count, GLsizei n) {
  read_bytes(first, n * 4ll, 0), read_bytes(count, n * 4ll, 0);
  for (GLsizei i = 0; i < n; ++i)
    if (count[i] < 0) return;
  for (GLsizei i = 0; i < n; ++i) draw(first[i], count[i], 1);
}
void fake_glMultiDrawElements(GLenum, const GLsizei* count, GLenum type, const void* const* indices, GLsizei n) {
  read_bytes(count, n * 4ll, 0), read_bytes(indices, n * 8ll, 0);
  for (GLsizei i = 0; i < n; ++i)
    if (count[i] < 0) return;
  for (GLsizei i = 0; i < n; ++i) draw_indexed(count[i], type, indices[i], 0, 1);
}

void store(GLenum pname, int32_t v) {
  Store& s = pname >= 0x0D00 && pname <= 0x0D05   ? g_current->pack
             : pname == 0x806B || pname == 0x806C ? g_current->pack
                                                  : g_current->unpack;
  bool es2 = g_current->es && g_current->version < 30;
  switch (pname) {
    case 0x0CF5:
    case 0x0D05:
      if (v == 1 || v == 2 || v == 4 || v == 8) s.alignment = v;
      return;
    default: break;
  }
  if (v < 0 || es2) return;
  switch (pname) {
    case 0x0CF2:
    case 0x0D02: s.row_length = v; return;
    case 0x0CF3:
    case 0x0D03: s.skip_rows = v; return;
    case 0x0CF4:
    case 0x0D04: s.skip_pixels = v; return;
    case 0x806E: s.image_height = v; return;
    case 0x806D: s.skip_images = v; return;
    case 0x806C:
      if (!g_current->es) s.image_height = v;
      return;
    case 0x806B:
      if (!g_current->es) s.skip_images = v;
      return;
    default: return;
  }
}
void fake_glPixelStorei(GLenum pname, GLint v) { store(pname, v); }
void fake_glPixelStoref(GLenum pname, GLfloat v) {
  store(pname, v > -2e9f && v < 2e9f ? static_cast<int32_t>(lroundf(v)) : v > 0 ? INT32_MAX : INT32_MIN);
}

const GLubyte* fake_glGetString(GLenum name) {
  const char* version = !g_current->es             ? "4.6 (Compatibility Profile) fake"
                        : g_current->version >= 30 ? "OpenGL ES 3.2 fake"
                        : g_current->version >= 20 ? "OpenGL ES 2.0 fake"
                                                   : "OpenGL ES-CM 1.1 fake";
  return reinterpret_cast<const GLubyte*>(name == 0x1F02   ? version
                                          : name == 0x1F03 ? "GL_OES_element_index_uint"
                                                           : "fake");
}
const GLubyte* fake_glGetStringi(GLenum, GLuint) {
  return reinterpret_cast<const GLubyte*>("GL_OES_element_index_uint");
}
GLenum fake_glGetError() { return 0; }
void fake_glGetIntegerv(GLenum pname, GLint* data) {
  static thread_local bool inside;
  int64_t n = inside ? 1 : 0;
  if (!inside) inside = true, n = dt::size::get_count(pname), inside = false;
  fill_bytes(data, n * 4, 0);
  if (n != 1) return;
  static const struct {
    uint32_t pname, target;
  } bindings[] = {{0x8894, 0x8892}, {0x8895, 0x8893}, {0x88ED, 0x88EB}, {0x88EF, 0x88EC}, {0x8F43, 0x8F3F},
                  {0x8A28, 0x8A11}, {0x8C2A, 0x8C2A}, {0x8C8F, 0x8C8E}, {0x8F36, 0x8F36}, {0x8F37, 0x8F37},
                  {0x90D3, 0x90D2}, {0x90EF, 0x90EE}, {0x92C1, 0x92C0}, {0x9193, 0x9192}, {0x80EF, 0x80EE}};
  *data = 0;
  for (auto& b : bindings)
    if (b.pname == pname) *data = static_cast<GLint>(buffer_of(b.target));
  switch (pname) {
    case 0x8869: *data = 16; break;
    case 0x82E5: *data = LONGEST_STRIDE; break;
    case 0x821D:
    case 0x86A2:
    case 0x87FE:
    case 0x8DF9: *data = 1; break;
    case 0x84E2:
    case 0x8871: *data = 8; break;
    case 0x85B5: *data = static_cast<GLint>(g_current->vao); break;
    default: break;
  }
}
void fake_glGetProgramiv(GLuint, GLenum pname, GLint* params) {
  fill_bytes(params, dt::bytes_of(dt::table::program_values(pname), 4), 0);
  if (params && pname == 0x8B82) *params = 1;
  if (params && (pname == 0x8B86 || pname == 0x8B89)) *params = 0;
}

struct Entry {
  const char* name;
  void* function;
};
#include "fake_driver.inc"

void* find(const char* name) {
  static const auto* all = [] {
    auto* made = new std::map<std::string, void*>;
    for (auto& e : g_entries) made->emplace(e.name, e.function);
    return made;
  }();
  auto it = all->find(name);
  return it == all->end() ? nullptr : it->second;
}

EGLContext new_context(const EGLint* attributes) {
  Context c;
  c.es = g_api != EGL_OPENGL_API;
  c.version = c.es ? 11 : 46;
  for (const EGLint* a = attributes; a && *a != EGL_NONE; a += 2)
    if (*a == EGL_CONTEXT_MAJOR_VERSION && c.es) c.version = a[1] >= 3 ? 32 : a[1] == 2 ? 20 : 11;
  void* handle = reinterpret_cast<void*>(static_cast<uintptr_t>(0x10000 + 16ull * new_name()));
  g_contexts[handle] = c;
  return handle;
}
void* new_handle() { return reinterpret_cast<void*>(static_cast<uintptr_t>(0x10000 + 16ull * new_name())); }
EGLImageKHR create_image(EGLDisplay, EGLContext, EGLenum, EGLClientBuffer, const EGLint* list) {
  for (; list && *list != EGL_NONE; list += 2) g_sink = static_cast<uint8_t>(list[1]);
  return new_handle();
}
EGLBoolean destroy_image(EGLDisplay, EGLImageKHR) { return 1; }
EGLSyncKHR create_sync(EGLDisplay, EGLenum, const EGLint*) { return new_handle(); }
EGLBoolean destroy_sync(EGLDisplay, EGLSyncKHR) { return 1; }
EGLint wait_sync(EGLDisplay, EGLSyncKHR, EGLint, EGLTimeKHR) { return 0x30F6; }

}  // namespace fake

// ---- EGL ----------------------------------------------------------------------------------------

extern "C" {
const char* eglQueryString(EGLDisplay, EGLint name) { return name == EGL_EXTENSIONS ? "" : "1.5 fake"; }
EGLDisplay eglGetDisplay(EGLNativeDisplayType) { return fake::g_entries[0].function; }
EGLBoolean eglInitialize(EGLDisplay, EGLint*, EGLint*) { return 1; }
EGLBoolean eglTerminate(EGLDisplay) { return 1; }
EGLBoolean eglWaitClient() { return 1; }
EGLint eglGetError(void) { return EGL_BAD_ALLOC; }
EGLBoolean eglBindAPI(EGLenum api) { return fake::g_api = api, EGLBoolean{1}; }
EGLenum eglQueryAPI(void) { return fake::g_api; }
EGLBoolean eglGetConfigs(EGLDisplay, EGLConfig* configs, EGLint size, EGLint* count) {
  *count = 2;
  for (EGLint i = 0; configs && i < size && i < 2; ++i)
    configs[i] = reinterpret_cast<EGLConfig>(static_cast<uintptr_t>(0x1000 + i));
  return 1;
}
EGLBoolean eglChooseConfig(EGLDisplay d, const EGLint*, EGLConfig* configs, EGLint size, EGLint* count) {
  return eglGetConfigs(d, configs, size, count);
}
EGLBoolean eglGetConfigAttrib(EGLDisplay, EGLConfig, EGLint name, EGLint* value) {
  *value = name == EGL_SURFACE_TYPE || name == EGL_RENDERABLE_TYPE ? 0xFFFF
           : name == EGL_COLOR_BUFFER_TYPE                         ? EGL_RGB_BUFFER
           : name == EGL_CONFIG_CAVEAT                             ? EGL_NONE
                                                                   : 8;
  return 1;
}
EGLContext eglCreateContext(EGLDisplay, EGLConfig, EGLContext, const EGLint* attributes) {
  return fake::new_context(attributes);
}
EGLBoolean eglDestroyContext(EGLDisplay, EGLContext) { return 1; }
static EGLSurface surface(const EGLint* attributes) {
  for (; attributes && *attributes != EGL_NONE; attributes += 2) fake::g_sink = static_cast<uint8_t>(attributes[1]);
  return fake::new_handle();
}
EGLSurface eglCreatePbufferSurface(EGLDisplay, EGLConfig, const EGLint* attributes) { return surface(attributes); }
EGLSurface eglCreatePbufferFromClientBuffer(EGLDisplay, EGLenum, EGLClientBuffer, EGLConfig, const EGLint* attributes) {
  return surface(attributes);
}
EGLBoolean eglQuerySurface(EGLDisplay, EGLSurface, EGLint, EGLint* value) { return *value = 64, EGLBoolean{1}; }
EGLSurface eglCreateWindowSurface(EGLDisplay, EGLConfig, EGLNativeWindowType, const EGLint* attributes) {
  return surface(attributes);
}
EGLBoolean eglDestroySurface(EGLDisplay, EGLSurface) { return 1; }
EGLBoolean eglMakeCurrent(EGLDisplay, EGLSurface, EGLSurface, EGLContext context) {
  auto it = fake::g_contexts.find(context);
  fake::g_current = it == fake::g_contexts.end() ? nullptr : &it->second;
  return 1;
}
EGLDisplay eglGetCurrentDisplay(void) { return fake::g_current ? fake::g_entries[0].function : nullptr; }
EGLContext eglGetCurrentContext(void) {
  for (auto& [handle, context] : fake::g_contexts)
    if (&context == fake::g_current) return handle;
  return nullptr;
}
EGLSurface eglGetCurrentSurface(EGLint) { return nullptr; }
EGLBoolean eglQueryContext(EGLDisplay, EGLContext, EGLint, EGLint* value) { return *value = 1, EGLBoolean{1}; }
EGLBoolean eglReleaseThread(void) { return fake::g_current = nullptr, EGLBoolean{1}; }
EGLBoolean eglSwapBuffers(EGLDisplay, EGLSurface) { return 1; }
EGLBoolean eglSwapInterval(EGLDisplay, EGLint) { return 1; }
EGLBoolean eglBindTexImage(EGLDisplay, EGLSurface, EGLint) { return 1; }
EGLBoolean eglReleaseTexImage(EGLDisplay, EGLSurface, EGLint) { return 1; }
__eglMustCastToProperFunctionPointerType eglGetProcAddress(const char* name) {
  using F = __eglMustCastToProperFunctionPointerType;
  if (!strcmp(name, "eglCreateImageKHR")) return reinterpret_cast<F>(fake::create_image);
  if (!strcmp(name, "eglDestroyImageKHR")) return reinterpret_cast<F>(fake::destroy_image);
  if (!strcmp(name, "eglCreateSyncKHR")) return reinterpret_cast<F>(fake::create_sync);
  if (!strcmp(name, "eglDestroySyncKHR")) return reinterpret_cast<F>(fake::destroy_sync);
  if (!strcmp(name, "eglClientWaitSyncKHR")) return reinterpret_cast<F>(fake::wait_sync);
  return reinterpret_cast<F>(fake::find(name));
}
}

// ---- running ------------------------------------------------------------------------------------

namespace {

uint64_t g_opened, g_calls, g_skipped;

void forget() {
  eglMakeCurrent(nullptr, nullptr, nullptr, nullptr);
  // The mirror's contexts go with the player's.
  for (auto& [handle, context] : fake::g_contexts) dt::hook::after_eglDestroyContext(&dt::tls, nullptr, handle, 1);
  dt::hook::after_eglMakeCurrent(&dt::tls, nullptr, nullptr, nullptr, nullptr, 1);
  fake::g_contexts.clear();
  fake::g_buffers.clear();
  fake::g_names = 0;
}

enum : unsigned { PLAIN, VERIFY, SHIFTED, THREADS, SNAPSHOTS, WAYS };

void play(const uint8_t* data, size_t size, unsigned way) {
  static int fd = memfd_create("trace", MFD_CLOEXEC);
  if (ftruncate(fd, 0) || ftruncate(fd, static_cast<off_t>(size)) ||
      pwrite(fd, data, size, 0) != static_cast<ssize_t>(size))
    abort();
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  dt::play::Options o;
  o.trace = path;
  o.status_path = "/dev/null";
  o.query_file = "/dev/null";
  o.single_thread = way != THREADS;
  o.verify = way == VERIFY;
  o.errors = way == SHIFTED;
  o.shift_names = way == SHIFTED;
  o.loops = way == SHIFTED ? 2 : 1;
  if (way == SNAPSHOTS) {
    o.snapshots = o.hashes = true;
    dt::play::Point point;
    point.seq = 3;
    o.points.push_back(point);
  }
  try {
    dt::Trace trace(path);
    trace.set_frame_end("auto");
    ++g_opened;
    dt::play::Player player(trace, o);
    player.run();
    g_calls += player.calls;
    g_skipped += player.skipped;
  } catch (const dt::Error& error) {
    if (!*error.what()) abort();  // every refusal says why
  }
  forget();
}

}  // namespace

#ifdef FUZZER
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<uint8_t> file(data, data + size);
  if (file.size() <= sizeof(dt_file_header)) return 0;
  memcpy(file.data(), DT_FILE_MAGIC, 8);
  unsigned way = file[31] % WAYS;
  file[31] = 0;
  hostile::reseal(file);
  play(file.data(), file.size(), way);
  return 0;
}
#else
int main(int argc, char** argv) {
  uint64_t runs = 0;
  auto run = [&](const hostile::File& bytes) {
    play(bytes.data(), bytes.size(), static_cast<unsigned>(runs % WAYS)), ++runs;
  };
  auto whole = [&](const hostile::File& file) {
    for (unsigned way = 0; way < WAYS; ++way) run(file);
  };
  const int code = hostile::files(argc, argv, "play", whole, run);
  if (code) return code;
  printf("runs %llu opened %llu calls %llu skipped %llu touched %llu\n", static_cast<unsigned long long>(runs),
         static_cast<unsigned long long>(g_opened), static_cast<unsigned long long>(g_calls),
         static_cast<unsigned long long>(g_skipped), static_cast<unsigned long long>(fake::g_touched));
  return 0;
}
#endif
