// Attribute stacks and display lists.
#include <algorithm>
#include <array>
#include <cmath>

#include "gl.h"
#include "gl_enums.h"

namespace dt::state::run {

// ---- attribute stacks ---------------------------------------------------------------------------

namespace {

class Keeper {
 public:
  Keeper(Machine& m, Saved& to) : m_(m), to_(to) {}
  void field(Node* n, unsigned field) {
    if (!n) return;
    const FieldInfo& f = n->cls->fields[field];
    for (unsigned e = 0; e < f.elements; ++e) {
      const Word* w = n->at(field, e);
      to_.items.push_back(
          {n, static_cast<uint16_t>(field), static_cast<uint16_t>(e), std::vector<Word>(w, w + f.components)});
    }
    m_.log(n->location(field), f.elements, Touch::read);
  }
  void all(Node* n) {
    if (n) some(n, 0, -1);
  }
  void children(Node* n, unsigned collection, int from = 0, int to = -1) {
    if (!n || !n->children) return;
    n->children[collection].each([&](Node* x) { some(x, from, to); });
  }
  void some(Node* n, int from, int to) {
    for (int i = from; i < (to < 0 ? n->cls->field_count : to); ++i) field(n, static_cast<unsigned>(i));
  }

 private:
  Machine& m_;
  Saved& to_;
};

constexpr size_t MOST_SAVED = 16;
void restore(Machine& m, const Saved& saved) {
  for (auto& item : saved.items)
    if (item.node->alive) m.set_words(item.node, item.field, item.element, item.words.data());
}
void saved_written(Machine& m, uint64_t depth, uint32_t mask) {
  Hash128 none;
  if (Node* n = m.child(m.context(), c_context::saved, depth)) {
    m.set(n, f_saved::mask, Num(mask));
    m.set_content(n, f_saved::values, none, 0);
  }
}
void saved_read(Machine& m, uint64_t depth) {
  if (Node* n = m.child(m.context(), c_context::saved, depth)) m.read_all(n);
}

}  // namespace

void push_attrib(Machine& m, int64_t mask_) {
  Context& c = *m.current();
  Node* n = c.node;
  if (c.attribs.size() >= MOST_SAVED) return m.refuse();
  auto mask = static_cast<uint32_t>(mask_);
  Saved& saved = c.attribs.emplace_back();
  saved.mask = mask;
  Keeper keep(m, saved);
  // GL_ACTIVE_TEXTURE comes back last, so that nothing else depends on it.
  for (unsigned i = 0; i < g_attrib_field_count; ++i)
    if (mask & g_attrib_fields[i].bit) keep.field(n, g_attrib_fields[i].field);
  if (mask & 0x40) {  // GL_LIGHTING_BIT
    keep.children(n, c_context::lights);
    keep.children(n, c_context::materials);
  }
  if (mask & GL_TRANSFORM_BIT) keep.children(n, c_context::clip_planes);
  if (mask & 0x1) {  // GL_CURRENT_BIT
    keep.children(n, c_context::texture_units, f_texture_unit::GL_CURRENT_TEXTURE_COORDS,
                  f_texture_unit::GL_CURRENT_TEXTURE_COORDS + 1);
    keep.children(n, c_context::attributes);
  }
  if (mask & GL_ENABLE_BIT)
    keep.children(n, c_context::texture_units, f_texture_unit::enabled_GL_TEXTURE_1D,
                  f_texture_unit::enabled_GL_TEXTURE_EXTERNAL_OES + 1);
  if (mask & 0x40000) {  // GL_TEXTURE_BIT
    // Samplers stay bound; they came after the stacks.
    keep.children(n, c_context::texture_units, 0, f_texture_unit::GL_SAMPLER_BINDING);
    keep.children(n, c_context::texture_units, f_texture_unit::enabled_GL_TEXTURE_1D,
                  f_texture_unit::GL_CURRENT_TEXTURE_COORDS);
    for (Node* u : n->children[c_context::texture_units].near)
      if (u) {
        keep.children(u, c_texture_unit::gen);
        for (unsigned f = f_texture_unit::GL_TEXTURE_BINDING_1D; f < f_texture_unit::GL_SAMPLER_BINDING; ++f)
          if (u->get(f))
            if (Node* t = m.find(m.share(), c_share::textures, static_cast<uint64_t>(u->get(f))))
              keep.some(t, f_texture::GL_TEXTURE_MIN_FILTER, f_texture::GL_TEXTURE_IMMUTABLE_FORMAT);
      }
  }
  if (mask & 0x20) {  // GL_PIXEL_MODE_BIT: of tables and filters what is no content
    keep.children(n, c_context::color_tables, f_color_table::GL_COLOR_TABLE_SCALE,
                  f_color_table::GL_COLOR_TABLE_FORMAT);
    keep.children(n, c_context::convolutions, f_convolution::GL_CONVOLUTION_BORDER_MODE,
                  f_convolution::GL_CONVOLUTION_FORMAT);
  }
  if (mask & GL_COLOR_BUFFER_BIT ||
      mask & 0x20) {  // GL_COLOR_BUFFER_BIT: draw buffers; GL_PIXEL_MODE_BIT: the read buffer
    Node* f = bound_framebuffer(m, GL_DRAW_FRAMEBUFFER);
    if (f && mask & GL_COLOR_BUFFER_BIT)
      keep.some(f, f_framebuffer::GL_DRAW_BUFFER0, f_framebuffer::GL_DRAW_BUFFER7 + 1);
    Node* r = bound_framebuffer(m, GL_READ_FRAMEBUFFER);
    if (r && mask & 0x20) keep.field(r, f_framebuffer::GL_READ_BUFFER);
  }
  saved_written(m, c.attribs.size(), mask);
  m.set(n, f_context::GL_ATTRIB_STACK_DEPTH, Num(c.attribs.size()));
}
void pop_attrib(Machine& m) {
  Context& c = *m.current();
  if (c.attribs.empty()) return m.refuse();
  saved_read(m, c.attribs.size());
  m.read(c.node, f_context::GL_ATTRIB_STACK_DEPTH);
  Saved saved = std::move(c.attribs.back());
  c.attribs.pop_back();
  restore(m, saved);
  m.set(c.node, f_context::GL_ATTRIB_STACK_DEPTH, Num(c.attribs.size()));
}
void push_client_attrib(Machine& m, int64_t mask_) {
  Context& c = *m.current();
  Node* n = c.node;
  if (c.clients.size() >= MOST_SAVED) return m.refuse();
  auto mask = static_cast<uint32_t>(mask_);
  Saved& saved = c.clients.emplace_back();
  saved.mask = mask;
  saved.seq = m.seq();
  Keeper keep(m, saved);
  if (mask & 1) {  // GL_CLIENT_PIXEL_STORE_BIT
    keep.some(n, f_context::GL_UNPACK_SWAP_BYTES, f_context::GL_PACK_INVERT_MESA + 1);
    keep.field(n, f_context::GL_PIXEL_PACK_BUFFER_BINDING);
    keep.field(n, f_context::GL_PIXEL_UNPACK_BUFFER_BINDING);
  }
  if (mask & 2) {  // GL_CLIENT_VERTEX_ARRAY_BIT
    Node* v = vao(m);
    saved.vao = v;
    saved.arrays_from = saved.items.size();
    keep.all(v);
    for (unsigned k : {c_vertex_array::attributes, c_vertex_array::bindings, c_vertex_array::arrays,
                       c_vertex_array::texture_coord_arrays})
      keep.children(v, k);
    keep.field(n, f_context::GL_ARRAY_BUFFER_BINDING);
    keep.field(n, f_context::GL_VERTEX_ARRAY_BINDING);
    keep.field(n, f_context::GL_CLIENT_ACTIVE_TEXTURE);
    keep.field(n, f_context::enabled_GL_PRIMITIVE_RESTART);
    keep.field(n, f_context::GL_PRIMITIVE_RESTART_INDEX);
  }
  saved_written(m, 100 + c.clients.size(), mask);
  m.set(n, f_context::GL_CLIENT_ATTRIB_STACK_DEPTH, Num(c.clients.size()));
}
void pop_client_attrib(Machine& m) {
  Context& c = *m.current();
  if (c.clients.empty()) return m.refuse();
  saved_read(m, 100 + c.clients.size());
  Saved saved = std::move(c.clients.back());
  c.clients.pop_back();
  Node* v = saved.vao;
  if (v && !v->alive)
    saved.items.resize(saved.arrays_from);  // they went with their object
  else if (v)                               // arrays that were nothing yet when the others were saved
    for (unsigned k : {c_vertex_array::attributes, c_vertex_array::bindings, c_vertex_array::texture_coord_arrays})
      for (Node* n : v->children[k].near)
        if (n && n->created > saved.seq)
          for (unsigned f = 0; f < n->cls->field_count; ++f) {
            Word own = n->key;
            bool binding = k == c_vertex_array::attributes && f == f_vertex_attribute::GL_VERTEX_ATTRIB_BINDING;
            m.set_words(n, f, 0, binding ? &own : n->cls->initial + n->cls->fields[f].word);
          }
  restore(m, saved);
  if (v && v->alive) follow_bindings(m, v);
  m.set(c.node, f_context::GL_CLIENT_ATTRIB_STACK_DEPTH, Num(c.clients.size()));
}

// ---- display lists ------------------------------------------------------------------------------

namespace {
constexpr int64_t MOST_LISTS = 1 << 20;
Node* list_node(Machine& m, uint64_t list, bool make) {
  Node* n = m.find(m.share(), c_share::lists, list);
  if (!n && make && list) n = m.make(m.share(), c_share::lists, list);
  m.read(n);
  return n;
}
}  // namespace
void gen_lists(Machine& m, int64_t first, int64_t range) {
  if (first <= 0 || range <= 0) return;
  for (int64_t i = 0; i < std::min(range, MOST_LISTS); ++i)
    m.make(m.share(), c_share::lists, static_cast<uint64_t>(first + i));
}
void delete_lists(Machine& m, int64_t first, int64_t range) {
  if (range < 0) return m.refuse();
  auto& lists = m.current()->share->lists;
  for (int64_t i = 0; i < std::min(range, MOST_LISTS); ++i) {
    auto name = static_cast<uint64_t>(first + i);
    if (Node* n = m.find(m.share(), c_share::lists, name)) m.remove(n);
    lists.erase(static_cast<uint32_t>(name));
  }
}
void new_list(Machine& m, int64_t list, int64_t mode) {
  Context& c = *m.current();
  if (list <= 0 || c.list || (mode != GL_COMPILE && mode != GL_COMPILE_AND_EXECUTE) || c.in_begin) return m.refuse();
  c.list = static_cast<uint32_t>(list);
  c.list_mode = static_cast<uint32_t>(mode);
  c.compiling = std::make_shared<DisplayList>();
  m.set(c.node, f_context::GL_LIST_INDEX, Num(list));
  m.set(c.node, f_context::GL_LIST_MODE, Num(mode));
  Hash128 none;
  if (Node* n = list_node(m, c.list, true)) m.set_content(n, f_list::content, none, 0);
}
void listed(Machine& m) {
  Context& c = *m.current();
  if (Node* n = list_node(m, c.list, true)) m.touch_content(n, f_list::content);
  m.read(c.node, f_context::GL_LIST_INDEX);
  // Arrays are read when the call is listed, not when the list is called.
  read_vertex_arrays_if_drawn(m);
}
void end_list(Machine& m) {
  Context& c = *m.current();
  if (!c.list) return m.refuse();
  if (Node* n = list_node(m, c.list, true)) {
    m.touch_content(n, f_list::content);
    m.set(n, f_list::calls, Num(c.compiling ? c.compiling->calls.size() : 0));
  }
  c.share->lists[c.list] = std::move(c.compiling);
  c.compiling.reset();
  c.list = c.list_mode = 0;
  m.set(c.node, f_context::GL_LIST_INDEX, Num(0));
  m.set(c.node, f_context::GL_LIST_MODE, Num(0));
}
void call_list(Machine& m, int64_t list) {
  Node* n = list_node(m, static_cast<uint64_t>(list), false);
  if (!n) return;
  m.read_all(n);
  Context& c = *m.current();
  auto it = c.share->lists.find(static_cast<uint32_t>(list));
  if (it == c.share->lists.end() || !it->second || m.list_depth >= 64 || m.list_calls > 1'000'000) return;
  auto kept = it->second;
  ++m.list_depth;
  for (auto& call : kept->calls) {
    // Lists that call lists are finite work, but a small file may ask for a very great deal of it.
    if (++m.list_calls > 1'000'000) break;
    m.run(call, m.list_depth);
    if (!m.current()) break;
  }
  --m.list_depth;
}
void call_lists(Machine& m, int64_t n, int64_t type, Array lists) {
  if (n < 0 || !lists.load()) return;
  int64_t base = m.context()->get(f_context::GL_LIST_BASE);
  m.read(m.context(), f_context::GL_LIST_BASE);
  // Names of several bytes are the most significant one first.
  const uint64_t bytes = type >= GL_2_BYTES && type <= GL_4_BYTES ? static_cast<uint64_t>(type - GL_2_BYTES) + 2 : 0;
  constexpr Scalar SCALARS[] = {Scalar::i8,  Scalar::u8,  Scalar::i16, Scalar::u16,
                                Scalar::i32, Scalar::u32, Scalar::f32};
  if (!bytes && (type < GL_BYTE || type > GL_FLOAT)) return m.refuse();
  lists.scalar = bytes ? Scalar::u8 : SCALARS[type - GL_BYTE];
  const uint64_t count = std::min(static_cast<uint64_t>(n), lists.count() / (bytes ? bytes : 1));
  for (uint64_t i = 0; i < count; ++i) {
    int64_t v = 0;
    for (uint64_t k = 0; k < bytes; ++k) v = v << 8 | lists.integer(i * bytes + k);
    if (!bytes) {
      const Num given = lists.at(i);
      v = !given.real ? given.i : given.f >= 0 && given.f < 4e9 ? static_cast<int64_t>(given.f) : 0;
    }
    call_list(m, static_cast<int64_t>(static_cast<uint32_t>(base + v)));
  }
}
void render_mode(Machine& m) {
  Node* c = m.context();
  const int64_t mode = c->get(f_context::GL_RENDER_MODE);
  // It is an error where there is no buffer for what comes.
  if (mode == GL_FEEDBACK) m.read(c, f_context::GL_FEEDBACK_BUFFER_SIZE), m.read(c, f_context::GL_FEEDBACK_BUFFER_TYPE);
  if (mode == GL_SELECT) m.read(c, f_context::GL_SELECTION_BUFFER_SIZE);
  m.set(c, f_context::GL_NAME_STACK_DEPTH, Num(0));  // the end of selection drops its names
  m.touch_content(c, f_context::names);
}
void names(Machine& m, int64_t change) {
  Node* c = m.context();
  int64_t depth = c->get(f_context::GL_NAME_STACK_DEPTH);
  if (c->get(f_context::GL_RENDER_MODE) != GL_SELECT) return;  // only while selecting
  m.set(c, f_context::GL_NAME_STACK_DEPTH, Num(std::clamp<int64_t>(change < -1 ? 0 : depth + change, 0, 64)));
  m.touch_content(c, f_context::names);
}
void pass_through(Machine&) {}

}  // namespace dt::state::run
