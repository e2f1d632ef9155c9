// Buffers and vertex arrays.
#include <algorithm>
#include <cmath>

#include "gl_objects.h"
#include "egl_enums.h"
#include "gl_enums.h"

namespace dt::state::run {

// ---- buffers ------------------------------------------------------------------------------------

Node* touched_buffer(Machine& m, int64_t given) {
  if (!given) return nullptr;
  const auto name = static_cast<uint64_t>(given);
  Node* n = m.find(m.share(), c_share::buffers, name);
  if (!n) n = m.make(m.share(), c_share::buffers, name);
  n->cold = 1;  // it is an object from here on, not only a name
  m.read(n);
  return n;
}
void create_buffers(Machine& m, Array names) {
  for (uint64_t i = 0, n = names.count(); i < n; ++i)
    if (auto name = static_cast<uint64_t>(names.integer(i))) m.make(m.share(), c_share::buffers, name)->cold = 1;
}
void bind_buffer(Machine& m, int64_t target, int64_t buffer) {
  Node* c = m.context();
  if (target == GL_ELEMENT_ARRAY_BUFFER) {
    touched_buffer(m, buffer);
    return m.set(vao(m), f_vertex_array::GL_ELEMENT_ARRAY_BUFFER_BINDING, Num(buffer));
  }
  int field = buffer_binding(target);
  if (field < 0) return m.refuse();
  touched_buffer(m, buffer);
  m.set(c, static_cast<unsigned>(field), Num(buffer));
}
void bind_buffer_range(Machine& m, int64_t target, int64_t index, int64_t buffer, int64_t offset, int64_t size) {
  Indexed at{};
  if (!indexed_binding(m, target, at) || index < 0) return m.refuse();
  touched_buffer(m, buffer);
  if (int field = buffer_binding(target); field >= 0) m.set(m.context(), static_cast<unsigned>(field), Num(buffer));
  auto e = static_cast<unsigned>(std::min<int64_t>(index, UINT16_MAX));
  if (e >= at.node->cls->fields[at.binding].elements) return;
  m.set(at.node, at.binding, e, {Num(buffer)});
  m.set(at.node, at.start, e, {Num(buffer ? offset : 0)});
  m.set(at.node, at.size, e, {Num(buffer && size > 0 ? size : 0)});
}
void bind_buffers_range(Machine& m, int64_t target, int64_t first, int64_t count, Array buffers) {
  uint64_t known = buffers.count();
  for (int64_t i = 0; i < std::min<int64_t>(count, 256); ++i) {
    int64_t name = static_cast<uint64_t>(i) < known ? buffers.integer(static_cast<uint64_t>(i)) : 0;
    Indexed at{};
    if (!indexed_binding(m, target, at) || first < 0 || first + i >= at.node->cls->fields[at.binding].elements) return;
    auto e = static_cast<unsigned>(first + i);
    touched_buffer(m, name);
    m.set(at.node, at.binding, e, {Num(name)});
    m.set(at.node, at.start, e, {Num(0)});
    m.set(at.node, at.size, e, {Num(0)});
  }
}
void bind_buffers_ranges(Machine& m, int64_t target, int64_t first, int64_t count, Array buffers, Array offsets,
                         Array sizes) {
  bind_buffers_range(m, target, first, count, buffers);
  uint64_t n = std::min(
      {buffers.count(), offsets.count(), sizes.count(), static_cast<uint64_t>(std::clamp<int64_t>(count, 0, 256))});
  Indexed at{};
  if (!indexed_binding(m, target, at) || first < 0) return;
  for (uint64_t i = 0; i < n && static_cast<uint64_t>(first) + i < at.node->cls->fields[at.binding].elements; ++i) {
    auto e = static_cast<unsigned>(static_cast<uint64_t>(first) + i);
    m.set(at.node, at.start, e, {offsets.at(i)});
    m.set(at.node, at.size, e, {sizes.at(i)});
  }
}
namespace {
void unmapped(Machine& m, Node* b) {
  m.set(b, f_buffer::GL_BUFFER_MAPPED, Num(0));
  m.set(b, f_buffer::GL_BUFFER_ACCESS, Num(GL_READ_WRITE));
  m.set(b, f_buffer::GL_BUFFER_ACCESS_FLAGS, Num(0));
  m.set(b, f_buffer::GL_BUFFER_MAP_OFFSET, Num(0));
  m.set(b, f_buffer::GL_BUFFER_MAP_LENGTH, Num(0));
}
}  // namespace
void buffer_data(Machine& m, Node* b, int64_t size, Array data, int64_t usage, int64_t flags, int64_t storage) {
  if (!b || size < 0) return m.refuse();
  if (b->get(f_buffer::GL_BUFFER_IMMUTABLE_STORAGE)) return m.refuse();
  m.set(b, f_buffer::GL_BUFFER_SIZE, Num(size));
  m.set(b, f_buffer::GL_BUFFER_USAGE, Num(storage ? GL_DYNAMIC_DRAW : usage));
  m.set(b, f_buffer::GL_BUFFER_IMMUTABLE_STORAGE, Num(storage));
  m.set(b, f_buffer::GL_BUFFER_STORAGE_FLAGS, Num(storage ? flags : 0x103));  // what glBufferData's may be used for
  unmapped(m, b);
  m.set_content(b, f_buffer::content, data.content_hash(), data.content() ? static_cast<uint64_t>(size) : 0);
}
void buffer_sub_data(Machine& m, Node* b, int64_t offset, int64_t size, Array data) {
  if (!b || offset < 0 || size < 0) return m.refuse();
  if (size == 0) return;
  m.read(b, f_buffer::GL_BUFFER_SIZE);
  if (offset == 0 && size == b->get(f_buffer::GL_BUFFER_SIZE)) {
    return m.set_content(b, f_buffer::content, data.content_hash(), data.content() ? static_cast<uint64_t>(size) : 0);
  }
  m.touch_content(b, f_buffer::content, {{offset, 0, 0}, {offset + size, 1, 1}});
  m.uploaded(b, f_buffer::content, static_cast<uint64_t>(size), data.content_hash());
}
namespace {
void map(Machine& m, Node* b, int64_t offset, int64_t length, int64_t access, int64_t flags, int64_t pointer) {
  if (!b || !pointer) return m.refuse();
  m.set(b, f_buffer::GL_BUFFER_MAPPED, Num(1));
  m.set(b, f_buffer::GL_BUFFER_ACCESS, Num(access));
  m.set(b, f_buffer::GL_BUFFER_ACCESS_FLAGS, Num(flags));
  m.set(b, f_buffer::GL_BUFFER_MAP_OFFSET, Num(offset));
  m.set(b, f_buffer::GL_BUFFER_MAP_LENGTH, Num(length));
  if (flags & 1) m.read(b, f_buffer::content);  // GL_MAP_READ_BIT
  // GL_MAP_INVALIDATE_BUFFER_BIT
  if (flags & 8) m.set_content(b, f_buffer::content, NONE, 0);
}
int64_t access_of(int64_t flags) {
  return (flags & 3) == 1 ? GL_READ_ONLY : (flags & 3) == 2 ? GL_WRITE_ONLY : GL_READ_WRITE;
}
int64_t flags_of(int64_t access) { return access == GL_READ_ONLY ? 1 : access == GL_WRITE_ONLY ? 2 : 3; }
}  // namespace
void unmap_buffer(Machine& m, Node* b) {
  if (!b) return m.refuse();
  m.read(b, f_buffer::GL_BUFFER_MAPPED);
  unmapped(m, b);
}
Node* named_buffer(Machine& m, int64_t name) {
  Node* b = m.object(c_share::buffers, static_cast<uint64_t>(name));
  return b && b->cold ? b : nullptr;
}
void map_buffer(Machine& m, Node* b, int64_t access, int64_t pointer) {
  if (b) map(m, b, 0, b->get(f_buffer::GL_BUFFER_SIZE), access, flags_of(access), pointer);
}
void map_buffer_range(Machine& m, Node* b, int64_t offset, int64_t length, int64_t access, int64_t pointer) {
  map(m, b, offset, length, access_of(access), access, pointer);
}
void flush_buffer(Machine& m, Node* b) { m.read(b, f_buffer::GL_BUFFER_MAPPED); }
void get_buffer_data(Machine& m, Node* b) { m.read(b, f_buffer::content); }
void invalidate_buffer(Machine& m, Node* b) { m.set_content(b, f_buffer::content, NONE, 0); }
void fill_buffer(Machine& m, Node* b, int64_t offset, int64_t size) {
  if (!b) return;
  m.read(b, f_buffer::GL_BUFFER_SIZE);
  if (size < 0 || (offset == 0 && size == b->get(f_buffer::GL_BUFFER_SIZE)))
    m.set_content(b, f_buffer::content, NONE, 0);
  else
    m.touch_content(b, f_buffer::content, {{offset, 0, 0}, {offset + size, 1, 1}});
}
void copy_buffer(Machine& m, Node* from, Node* to, int64_t offset, int64_t size) {
  if (!from || !to) return m.refuse();
  m.read(from, f_buffer::content);
  m.read(to, f_buffer::GL_BUFFER_SIZE);
  if (offset == 0 && size == to->get(f_buffer::GL_BUFFER_SIZE) && from != to)
    m.set_content(to, f_buffer::content, NONE, 0);
  else
    m.touch_content(to, f_buffer::content, {{offset, 0, 0}, {offset + size, 1, 1}});
}

// ---- vertex arrays ------------------------------------------------------------------------------

void bind_vertex_array(Machine& m, int64_t array) {
  Node* c = m.context();
  auto name = static_cast<uint64_t>(array);
  if (!m.find(c, c_context::vertex_arrays, name)) init_vertex_array(m, m.make(c, c_context::vertex_arrays, name));
  m.own_object(c_context::vertex_arrays, name);
  m.set(c, f_context::GL_VERTEX_ARRAY_BINDING, Num(array));
}
namespace {
constexpr int64_t MOST_ATTRIBUTES = 64;
Node* attrib(Machine& m, Node* v, int64_t index) { return attrib_of(m, v, index); }
Node* binding(Machine& m, Node* v, int64_t index) {
  return v && index >= 0 && index < MOST_ATTRIBUTES ? m.child(v, c_vertex_array::bindings, static_cast<uint64_t>(index))
                                                    : nullptr;
}
// An attribute shows the buffer and the divisor of the binding that it reads from.
void follow_binding(Machine& m, Node* v, Node* a) {
  if (!a) return;
  Node* b = binding(m, v, a->get(f_vertex_attribute::GL_VERTEX_ATTRIB_BINDING));
  if (!b) return;
  m.set(a, f_vertex_attribute::GL_VERTEX_ATTRIB_ARRAY_BUFFER_BINDING,
        Num(b->get(f_vertex_binding::GL_VERTEX_BINDING_BUFFER)));
  m.set(a, f_vertex_attribute::GL_VERTEX_ATTRIB_ARRAY_DIVISOR,
        Num(b->get(f_vertex_binding::GL_VERTEX_BINDING_DIVISOR)));
}
void follow_all(Machine& m, Node* v, int64_t index) {
  if (!v) return;
  for (size_t i = 0; i < v->children[c_vertex_array::attributes].near.size(); ++i) {
    Node* a = v->children[c_vertex_array::attributes].near[i];
    if (a && a->get(f_vertex_attribute::GL_VERTEX_ATTRIB_BINDING) == index) follow_binding(m, v, a);
  }
}
}  // namespace
void follow_bindings(Machine& m, Node* v) {
  if (!v) return;
  for (size_t i = 0; i < v->children[c_vertex_array::attributes].near.size(); ++i)
    follow_binding(m, v, v->children[c_vertex_array::attributes].near[i]);
}
namespace {
int64_t type_bytes(int64_t type, int64_t size) {
  switch (type) {
    case GL_BYTE:
    case GL_UNSIGNED_BYTE: return size;
    case GL_SHORT:
    case GL_UNSIGNED_SHORT:
    case GL_HALF_FLOAT: return 2 * size;
    case GL_DOUBLE: return 8 * size;
    case GL_INT_2_10_10_10_REV:
    case GL_UNSIGNED_INT_2_10_10_10_REV:
    case GL_UNSIGNED_INT_10F_11F_11F_REV: return 4;
    default: return 4 * size;
  }
}
}  // namespace
void attrib_format(Machine& m, Node* v, int64_t index, int64_t size, int64_t type, int64_t normalized, int64_t integer,
                   int64_t offset) {
  Node* a = attrib(m, v, index);
  if (!a) return m.refuse();
  m.set(a, f_vertex_attribute::GL_VERTEX_ATTRIB_ARRAY_SIZE, Num(size));
  m.set(a, f_vertex_attribute::GL_VERTEX_ATTRIB_ARRAY_TYPE, Num(type));
  m.set(a, f_vertex_attribute::GL_VERTEX_ATTRIB_ARRAY_NORMALIZED, Num(normalized));
  m.set(a, f_vertex_attribute::GL_VERTEX_ATTRIB_ARRAY_INTEGER, Num(integer == 1));
  m.set(a, f_vertex_attribute::GL_VERTEX_ATTRIB_ARRAY_LONG, Num(integer == 2));
  m.set(a, f_vertex_attribute::GL_VERTEX_ATTRIB_RELATIVE_OFFSET, Num(offset));
}
void vertex_buffer(Machine& m, Node* v, int64_t index, int64_t buffer, int64_t offset, int64_t stride) {
  Node* b = binding(m, v, index);
  if (!b) return m.refuse();
  touched_buffer(m, buffer);
  m.set(b, f_vertex_binding::GL_VERTEX_BINDING_BUFFER, Num(buffer));
  m.set(b, f_vertex_binding::GL_VERTEX_BINDING_OFFSET, Num(offset));
  m.set(b, f_vertex_binding::GL_VERTEX_BINDING_STRIDE, Num(stride));
  follow_all(m, v, index);
}
void attrib_pointer(Machine& m, int64_t index, int64_t size, int64_t type, int64_t normalized, int64_t integer,
                    int64_t stride, Array pointer) {
  Node* v = vao(m);
  Node* a = attrib(m, v, index);
  if (!a || stride < 0 || !((size >= 1 && size <= 4) || size == GL_BGRA)) return m.refuse();
  Node* c = m.context();
  m.read(c, f_context::GL_ARRAY_BUFFER_BINDING);
  int64_t buffer = c->get(f_context::GL_ARRAY_BUFFER_BINDING);
  attrib_format(m, v, index, size, type, normalized, integer, 0);
  m.set(a, f_vertex_attribute::GL_VERTEX_ATTRIB_BINDING, Num(index));
  m.set(a, f_vertex_attribute::GL_VERTEX_ATTRIB_ARRAY_STRIDE, Num(stride));
  m.set(a, f_vertex_attribute::GL_VERTEX_ATTRIB_ARRAY_POINTER, Num(pointer.address));
  vertex_buffer(m, v, index, buffer, static_cast<int64_t>(pointer.address),
                stride ? stride : type_bytes(type, size == GL_BGRA ? 4 : size));
}
void attrib_divisor(Machine& m, int64_t index, int64_t divisor) {
  Node* v = vao(m);
  Node* a = attrib(m, v, index);
  if (!a) return m.refuse();
  m.set(a, f_vertex_attribute::GL_VERTEX_ATTRIB_BINDING, Num(index));
  if (Node* b = binding(m, v, index)) m.set(b, f_vertex_binding::GL_VERTEX_BINDING_DIVISOR, Num(divisor));
  follow_all(m, v, index);
}
void attrib_binding(Machine& m, Node* v, int64_t index, int64_t to) {
  Node* a = attrib(m, v, index);
  if (!a || to < 0 || to >= MOST_ATTRIBUTES) return m.refuse();
  m.set(a, f_vertex_attribute::GL_VERTEX_ATTRIB_BINDING, Num(to));
  follow_binding(m, v, a);
}
void binding_divisor(Machine& m, Node* v, int64_t index, int64_t divisor) {
  Node* b = binding(m, v, index);
  if (!b) return m.refuse();
  m.set(b, f_vertex_binding::GL_VERTEX_BINDING_DIVISOR, Num(divisor));
  follow_all(m, v, index);
}
void vertex_buffers(Machine& m, Node* v, int64_t first, int64_t count, Array buffers, Array offsets, Array strides) {
  uint64_t known = std::min({buffers.count(), offsets.count(), strides.count()});
  for (int64_t i = 0; i < std::min<int64_t>(count, MOST_ATTRIBUTES); ++i) {
    auto u = static_cast<uint64_t>(i);
    if (u < known)
      vertex_buffer(m, v, first + i, buffers.integer(u), offsets.integer(u), strides.integer(u));
    else
      vertex_buffer(m, v, first + i, 0, 0, 16);
  }
}

namespace {
Node* client_node(Machine& m, int64_t array) {
  if (array == GL_TEXTURE_COORD_ARRAY) return client_unit_array(m);
  return m.child(vao(m), c_vertex_array::arrays, static_cast<uint64_t>(array));
}
}  // namespace
void client_array(Machine& m, int64_t array, int64_t size, int64_t type, int64_t stride, Array pointer) {
  Node* n = client_node(m, array);
  if (!n || stride < 0) return m.refuse();
  Node* c = m.context();
  m.read(c, f_context::GL_ARRAY_BUFFER_BINDING);
  m.set(n, f_client_array::size, Num(size));
  m.set(n, f_client_array::type, Num(type));
  m.set(n, f_client_array::stride, Num(stride));
  m.set(n, f_client_array::pointer, Num(pointer.address));
  m.set(n, f_client_array::buffer, Num(c->get(f_context::GL_ARRAY_BUFFER_BINDING)));
}
void client_state(Machine& m, int64_t array, int64_t on) {
  if (array == GL_PRIMITIVE_RESTART_NV) return m.set(m.context(), f_context::enabled_GL_PRIMITIVE_RESTART, Num(on));
  Node* n = client_node(m, array);
  if (!n) return m.refuse();
  m.set(n, f_client_array::enabled, Num(on));
}
void interleaved_arrays(Machine& m, int64_t format, int64_t stride, Array pointer) {
  struct Layout {
    int64_t format, tex, color, color_type, normal, vertex, tex_at, color_at, normal_at, vertex_at, bytes;
  };
  static const Layout layouts[] = {{GL_V2F, 0, 0, 0, 0, 2, 0, 0, 0, 0, 8},
                                   {GL_V3F, 0, 0, 0, 0, 3, 0, 0, 0, 0, 12},
                                   {GL_C4UB_V2F, 0, 4, GL_UNSIGNED_BYTE, 0, 2, 0, 0, 0, 4, 12},
                                   {GL_C4UB_V3F, 0, 4, GL_UNSIGNED_BYTE, 0, 3, 0, 0, 0, 4, 16},
                                   {GL_C3F_V3F, 0, 3, GL_FLOAT, 0, 3, 0, 0, 0, 12, 24},
                                   {GL_N3F_V3F, 0, 0, 0, 1, 3, 0, 0, 0, 12, 24},
                                   {GL_C4F_N3F_V3F, 0, 4, GL_FLOAT, 1, 3, 0, 0, 16, 28, 40},
                                   {GL_T2F_V3F, 2, 0, 0, 0, 3, 0, 0, 0, 8, 20},
                                   {GL_T4F_V4F, 4, 0, 0, 0, 4, 0, 0, 0, 16, 32},
                                   {GL_T2F_C4UB_V3F, 2, 4, GL_UNSIGNED_BYTE, 0, 3, 0, 8, 0, 12, 24},
                                   {GL_T2F_C3F_V3F, 2, 3, GL_FLOAT, 0, 3, 0, 8, 0, 20, 32},
                                   {GL_T2F_N3F_V3F, 2, 0, 0, 1, 3, 0, 0, 8, 20, 32},
                                   {GL_T2F_C4F_N3F_V3F, 2, 4, GL_FLOAT, 1, 3, 0, 8, 24, 36, 48},
                                   {GL_T4F_C4F_N3F_V4F, 4, 4, GL_FLOAT, 1, 4, 0, 16, 32, 44, 60}};
  for (auto& l : layouts) {
    if (l.format != format) continue;
    int64_t step = stride ? stride : l.bytes;
    auto at = [&](int64_t offset) {
      Array p = pointer;
      p.address += static_cast<uint64_t>(offset);
      return p;
    };
    client_state(m, GL_EDGE_FLAG_ARRAY, 0);
    client_state(m, GL_INDEX_ARRAY, 0);
    client_state(m, GL_TEXTURE_COORD_ARRAY, l.tex != 0);
    if (l.tex) client_array(m, GL_TEXTURE_COORD_ARRAY, l.tex, GL_FLOAT, step, at(l.tex_at));
    client_state(m, GL_COLOR_ARRAY, l.color != 0);
    if (l.color) client_array(m, GL_COLOR_ARRAY, l.color, l.color_type, step, at(l.color_at));
    client_state(m, GL_NORMAL_ARRAY, l.normal != 0);
    if (l.normal) client_array(m, GL_NORMAL_ARRAY, 3, GL_FLOAT, step, at(l.normal_at));
    client_state(m, GL_VERTEX_ARRAY, 1);
    return client_array(m, GL_VERTEX_ARRAY, l.vertex, GL_FLOAT, step, at(l.vertex_at));
  }
  m.refuse();
}

}  // namespace dt::state::run
