// Draws, clears, copies and read-backs: what they read, and what of the framebuffer they write.
#include <algorithm>

#include "../common/pixel_size.h"
#include "../common/primitives.h"
#include "gl_objects.h"
#include "gl_enums.h"

namespace dt::state::run {
namespace {

struct Target {
  Node* node = nullptr;
  unsigned field = 0;
  bool whole = true;  // the attachment is all of that content
};

Target content_of(Machine& m, Node* a) {
  if (!a) return {};
  m.read_all(a);
  auto name = static_cast<uint64_t>(a->get(f_attachment::GL_FRAMEBUFFER_ATTACHMENT_OBJECT_NAME));
  switch (a->get(f_attachment::GL_FRAMEBUFFER_ATTACHMENT_OBJECT_TYPE)) {
    case GL_RENDERBUFFER: {
      Node* r = m.object(c_share::renderbuffers, name);
      if (r) m.log(r->base, f_renderbuffer::content, Touch::read);  // its size and format
      return {r, f_renderbuffer::content, true};
    }
    case GL_TEXTURE: {
      Node* t = m.object(c_share::textures, name);
      if (!t) return {};
      int64_t level = a->get(f_attachment::GL_FRAMEBUFFER_ATTACHMENT_TEXTURE_LEVEL),
              face = a->get(f_attachment::GL_FRAMEBUFFER_ATTACHMENT_TEXTURE_CUBE_MAP_FACE);
      Node* l = level_node(m, t, face, level, false);
      if (!l) return {};
      m.log(l->base, f_level::content, Touch::read);
      return {l, f_level::content, l->get(f_level::GL_TEXTURE_DEPTH) <= 1};
    }
    default: return {};
  }
}
// The attachment that a draw buffer or read buffer of a framebuffer stands for.
Target color_of(Machine& m, Node* f, int64_t buffer, bool reading = false) {
  if (!f || !buffer) return {};
  if (f->key)
    return buffer >= GL_COLOR_ATTACHMENT0 && buffer <= GL_COLOR_ATTACHMENT7
               ? content_of(m, m.find(f, c_framebuffer::attachments, static_cast<uint64_t>(buffer)))
               : Target{};
  Node* s = reading ? m.current()->read : m.current()->draw;
  if (!s) return {};
  bool front = buffer == GL_FRONT || buffer == GL_FRONT_LEFT || buffer == GL_FRONT_RIGHT;
  if (front && reading && m.front_is_told()) return {};
  return {s, static_cast<unsigned>(front ? f_surface::front : f_surface::color), true};
}
Target depth_of(Machine& m, Node* f, bool stencil, bool reading = false) {
  if (!f) return {};
  if (f->key)
    return content_of(m, m.find(f, c_framebuffer::attachments, stencil ? GL_STENCIL_ATTACHMENT : GL_DEPTH_ATTACHMENT));
  Node* s = reading ? m.current()->read : m.current()->draw;
  return {s, static_cast<unsigned>(stencil ? f_surface::stencil : f_surface::depth), true};
}
void read(Machine& m, const Target& t) { m.read(t.node, t.field); }
void write(Machine& m, const Target& t, bool whole) {
  if (!t.node) return;
  if (whole && t.whole)
    m.set_content(t.node, t.field, NONE, 0);
  else
    m.touch_content(t.node, t.field);
}
bool scissor_leaves(Machine& m, Node* f) {
  Node* c = m.context();
  m.read(c, f_context::enabled_GL_SCISSOR_TEST);
  if (!c->get(f_context::enabled_GL_SCISSOR_TEST)) return false;
  m.read(c, f_context::GL_SCISSOR_BOX);
  Node* s = m.current()->draw;
  if (!f || f->key || !s || !s->get(f_surface::width)) return true;
  auto* box = c->at(f_context::GL_SCISSOR_BOX);
  auto v = [&](int i) { return static_cast<int64_t>(box[i]); };
  return !(v(0) <= 0 && v(1) <= 0 && v(0) + v(2) >= s->get(f_surface::width) &&
           v(1) + v(3) >= s->get(f_surface::height));
}

}  // namespace

void read_current(Machine& m) {
  Node* c = m.context();
  m.read(c, f_context::group_current);
  m.read_children(c, c_context::attributes);
  m.read_children(c, c_context::texture_units);
}
void read_pixel_transfer(Machine& m) {
  // Only where something of it is not as it was at first does it matter which call set it.
  m.read(m.context(), f_context::group_pixel);
  read_imaging(m);
}

void read_vertex_arrays(Machine& m, bool indexed) {
  Node* v = vao(m);
  if (!v) return;
  auto buffer = [&](uint64_t name) {
    if (Node* b = m.object(c_share::buffers, name)) m.log(b->base, b->cls->locations, Touch::read);
  };
  for (Node* a : v->children[c_vertex_array::attributes].near) {
    if (!a) continue;
    if (!a->get(f_vertex_attribute::GL_VERTEX_ATTRIB_ARRAY_ENABLED)) {
      m.read(a, f_vertex_attribute::GL_VERTEX_ATTRIB_ARRAY_ENABLED);
      continue;
    }
    m.read_all(a);
    if (Node* b = m.find(v, c_vertex_array::bindings,
                         static_cast<uint64_t>(a->get(f_vertex_attribute::GL_VERTEX_ATTRIB_BINDING)))) {
      m.read_all(b);
      buffer(static_cast<uint64_t>(b->get(f_vertex_binding::GL_VERTEX_BINDING_BUFFER)));
    }
  }
  auto client = [&](Node* a) {
    if (!a->get(f_client_array::enabled)) return m.read(a, f_client_array::enabled);
    m.read_all(a);
    buffer(static_cast<uint64_t>(a->get(f_client_array::buffer)));
  };
  v->children[c_vertex_array::arrays].each(client);
  v->children[c_vertex_array::texture_coord_arrays].each(client);
  if (indexed) {
    m.read(v, f_vertex_array::GL_ELEMENT_ARRAY_BUFFER_BINDING);
    buffer(static_cast<uint64_t>(v->get(f_vertex_array::GL_ELEMENT_ARRAY_BUFFER_BINDING)));
  }
}
void read_vertex_arrays_if_drawn(Machine& m) {
  if (m.deeds() & DEED_DRAW) read_vertex_arrays(m, true);
}

namespace {

void read_texture(Machine& m, Node* t) {
  if (!t) return;
  m.read_all(t);
  m.read_children(t, c_texture::levels);
  if (t->get(f_texture::target) == GL_TEXTURE_BUFFER)
    if (Node* l = m.find(t, c_texture::levels, 0))
      if (Node* b =
              m.object(c_share::buffers, static_cast<uint64_t>(l->get(f_level::GL_TEXTURE_BUFFER_DATA_STORE_BINDING))))
        m.read_all(b);
}
void read_unit(Machine& m, uint64_t index) {
  Node* u = m.find(m.context(), c_context::texture_units, index);
  if (!u) return;
  m.read(u);
  m.read(u, f_texture_unit::group_bindings);
  for (unsigned f = f_texture_unit::GL_TEXTURE_BINDING_1D; f < f_texture_unit::GL_SAMPLER_BINDING; ++f)
    if (u->get(f)) read_texture(m, m.object(c_share::textures, static_cast<uint64_t>(u->get(f))));
  if (Node* s = m.object(c_share::samplers, static_cast<uint64_t>(u->get(f_texture_unit::GL_SAMPLER_BINDING))))
    m.read_all(s);
}
void read_all_units(Machine& m) {
  for (size_t i = 0; i < m.context()->children[c_context::texture_units].near.size(); ++i)
    if (m.context()->children[c_context::texture_units].near[i]) read_unit(m, i);
}
// Texture units of the samplers that the program declares; those that were never set read unit 0.
void read_program_textures(Machine& m, Node* p) {
  auto it = m.program_samplers.find(p);
  if (it == m.program_samplers.end()) return read_all_units(m);
  if (it->second.empty()) return;
  size_t seen = 0, stated = 0;
  uint64_t done = 0;
  for (auto& name : it->second) {  // a layout qualifier said where: ":3", or ":" for what could not be read
    if (name.empty() || isalnum(static_cast<unsigned char>(name[0])) || name[0] == '_') continue;
    ++stated;
    if (name[0] != ':') continue;
    if (name.size() == 1) return read_all_units(m);
    unsigned unit = static_cast<unsigned>(atoi(name.c_str() + 1));
    if (unit < 64) done |= 1ull << unit;
  }
  for (Node* u : p->children[c_program::uniforms].near) {
    if (!u) continue;
    const std::string* name = name_of(m, *u);
    if (!name) {  // a location nobody asked the name of: it may be a sampler
      if (u->get(f_uniform::components) == 1 && u->real(f_uniform::value) >= 0 && u->real(f_uniform::value) < 64)
        done |= 1ull << static_cast<unsigned>(u->real(f_uniform::value));
      continue;
    }
    std::string_view base = *name;
    if (size_t dot = base.rfind('.'); dot != base.npos) base.remove_prefix(dot + 1);
    if (size_t bracket = base.find('['); bracket != base.npos) base = base.substr(0, bracket);
    if (!it->second.count(std::string(base))) continue;
    ++seen;
    double unit = u->real(f_uniform::value);
    if (unit >= 0 && unit < 64) done |= 1ull << static_cast<unsigned>(unit);
  }
  if (seen + stated < it->second.size()) done |= 1;
  for (unsigned i = 0; i < 64; ++i)
    if (done >> i & 1) read_unit(m, i);
  // Images that shaders read and write.
  for (Node* u : m.context()->children[c_context::image_units].near)
    if (u && u->get(f_image_unit::GL_IMAGE_BINDING_NAME)) {
      m.read_all(u);
      Node* t = m.object(c_share::textures, static_cast<uint64_t>(u->get(f_image_unit::GL_IMAGE_BINDING_NAME)));
      read_texture(m, t);
      if (t && u->get(f_image_unit::GL_IMAGE_BINDING_ACCESS) != GL_READ_ONLY && it->second.count("!"))
        for (Node* l : t->children[c_texture::levels].near)
          if (l) m.touch_content(l, f_level::content);
    }
}
void read_program(Machine& m, Node* p) {
  if (!p) return;
  m.log(p->base, p->cls->locations, Touch::read);
  m.read_children(p, c_program::uniforms);
  m.read_children(p, c_program::uniform_blocks);
  m.read_children(p, c_program::storage_blocks);
  m.read_children(p, c_program::attributes);
  read_program_textures(m, p);
}
void read_fixed(Machine& m) {
  Node* c = m.context();
  m.read(c, f_context::group_fixed);
  m.read_children(c, c_context::clip_planes);
  if (c->get(f_context::enabled_GL_LIGHTING)) {
    m.read_children(c, c_context::lights);
    m.read_children(c, c_context::materials);
  }
  for (size_t i = 0; i < c->children[c_context::texture_units].near.size(); ++i) {
    Node* u = c->children[c_context::texture_units].near[i];
    if (!u) continue;
    m.read(u, f_texture_unit::group_fixed);
    m.read_children(u, c_texture_unit::gen);
    static const std::pair<unsigned, std::pair<unsigned, uint32_t>> kinds[] = {
        {f_texture_unit::enabled_GL_TEXTURE_1D, {f_texture_unit::GL_TEXTURE_BINDING_1D, GL_TEXTURE_1D}},
        {f_texture_unit::enabled_GL_TEXTURE_2D, {f_texture_unit::GL_TEXTURE_BINDING_2D, GL_TEXTURE_2D}},
        {f_texture_unit::enabled_GL_TEXTURE_3D, {f_texture_unit::GL_TEXTURE_BINDING_3D, GL_TEXTURE_3D}},
        {f_texture_unit::enabled_GL_TEXTURE_CUBE_MAP,
         {f_texture_unit::GL_TEXTURE_BINDING_CUBE_MAP, GL_TEXTURE_CUBE_MAP}},
        {f_texture_unit::enabled_GL_TEXTURE_RECTANGLE,
         {f_texture_unit::GL_TEXTURE_BINDING_RECTANGLE, GL_TEXTURE_RECTANGLE}},
        {f_texture_unit::enabled_GL_TEXTURE_EXTERNAL_OES,
         {f_texture_unit::GL_TEXTURE_BINDING_EXTERNAL_OES, GL_TEXTURE_EXTERNAL_OES}}};
    for (auto& [enabled, where] : kinds)
      if (u->get(enabled)) {
        m.read(u, f_texture_unit::GL_SAMPLER_BINDING);
        read_texture(m, texture_of_unit(m, u, where.first, where.second));
      }
  }
}
// Returns whether the sources of the program in use have a use that the mark stands for (sampler_names); yes where they
// are not known.
bool may(Machine& m, const char* mark) {
  Node* p =
      m.find(m.share(), c_share::programs, static_cast<uint64_t>(m.context()->get(f_context::GL_CURRENT_PROGRAM)));
  auto source = m.program_samplers.find(p);
  return source == m.program_samplers.end() || source->second.count(mark);
}
// Returns whether the program in use is known to read state of fixed function, by name or for want of a vertex shader.
bool names_fixed_state(Machine& m) {
  auto source = m.program_samplers.find(used_program(m));
  return source != m.program_samplers.end() && source->second.count("~");
}
void write_buffers(Machine& m) {
  Node* c = m.context();
  // A program whose source nowhere writes to a buffer only reads, and one that names none does not even that.
  if (!may(m, "@")) return;
  const bool writes = may(m, "!");
  // Buffers that shaders may write.
  for (unsigned field : {f_context::GL_SHADER_STORAGE_BUFFER_BINDING_i, f_context::GL_ATOMIC_COUNTER_BUFFER_BINDING_i})
    for (unsigned e = 0; e < c->cls->fields[field].elements; ++e)
      if (auto name = static_cast<uint64_t>(c->get(field, e))) {
        m.read(c, field, e);
        if (Node* b = m.object(c_share::buffers, name)) {
          m.read(b, f_buffer::content);
          if (writes) m.touch_content(b, f_buffer::content);
        }
      }
}
void read_uniform_buffers(Machine& m) {
  Node* c = m.context();
  if (!may(m, "{")) return;
  for (unsigned e = 0; e < c->cls->fields[f_context::GL_UNIFORM_BUFFER_BINDING_i].elements; ++e)
    if (auto name = static_cast<uint64_t>(c->get(f_context::GL_UNIFORM_BUFFER_BINDING_i, e))) {
      m.read(c, f_context::GL_UNIFORM_BUFFER_BINDING_i, e);
      m.read(c, f_context::GL_UNIFORM_BUFFER_START_i, e);
      m.read(c, f_context::GL_UNIFORM_BUFFER_SIZE_i, e);
      if (Node* b = m.object(c_share::buffers, name)) m.read_all(b);
    }
}
// Programs of all stages; false: the fixed function draws.
bool read_programs(Machine& m) {
  Node* c = m.context();
  if (Node* p = used_program(m)) {
    read_program(m, p);
    return true;
  }
  m.read(c, f_context::GL_PROGRAM_PIPELINE_BINDING);
  if (Node* n =
          m.own_object(c_context::pipelines, static_cast<uint64_t>(c->get(f_context::GL_PROGRAM_PIPELINE_BINDING)))) {
    m.read_all(n);
    for (unsigned f = f_pipeline::GL_VERTEX_SHADER; f <= f_pipeline::GL_COMPUTE_SHADER; ++f)
      if (n->get(f)) read_program(m, m.object(c_share::programs, static_cast<uint64_t>(n->get(f))));
    return true;
  }
  return false;
}
void write_framebuffer(Machine& m) {
  Node* c = m.context();
  Node* f = draw_framebuffer(m);
  if (!f) return;
  if (c->get(f_context::enabled_GL_RASTERIZER_DISCARD) || c->get(f_context::GL_RENDER_MODE) != GL_RENDER) {
    if (c->get(f_context::GL_RENDER_MODE) != GL_RENDER) m.touch_content(c, f_context::names);
    return;
  }
  m.read_all(f);
  bool depth = c->get(f_context::enabled_GL_DEPTH_TEST), stencil = c->get(f_context::enabled_GL_STENCIL_TEST);
  const Target d = depth ? depth_of(m, f, false) : Target{}, s = stencil ? depth_of(m, f, true) : Target{};
  read(m, d), read(m, s);
  for (unsigned i = 0; i < 8; ++i) {
    int64_t buffer = f->get(f_framebuffer::GL_DRAW_BUFFER0 + i);
    if (!buffer) continue;
    auto* mask = c->at(f_context::GL_COLOR_WRITEMASK, i);
    if (!mask[0] && !mask[1] && !mask[2] && !mask[3]) continue;
    write(m, color_of(m, f, buffer), false);
    if (!f->key && buffer == GL_FRONT_AND_BACK) write(m, color_of(m, f, GL_FRONT), false);
  }
  if (depth && c->get(f_context::GL_DEPTH_WRITEMASK)) write(m, d, false);
  if (stencil && (c->get(f_context::GL_STENCIL_WRITEMASK) || c->get(f_context::GL_STENCIL_BACK_WRITEMASK)))
    write(m, s, false);
}
// A draw may depend on a query.
void conditional(Machine& m) {
  Node* c = m.context();
  m.read(c, f_context::conditional_query);
  if (auto name = static_cast<uint64_t>(c->get(f_context::conditional_query)))
    if (Node* q = m.own_object(c_context::queries, name)) m.read_all(q);
}
void side_effects(Machine& m) {
  Node* c = m.context();
  // Queries that count what is drawn, and captured vertices.
  for (unsigned e = 0; e < c->cls->fields[f_context::GL_CURRENT_QUERY_i].elements; ++e)
    if (auto name = static_cast<uint64_t>(c->get(f_context::GL_CURRENT_QUERY_i, e)))
      if (Node* q = m.own_object(c_context::queries, name)) m.touch_content(q, f_query::result);
  m.read(c, f_context::GL_TRANSFORM_FEEDBACK_BINDING);
  conditional(m);
  Node* x = m.find(c, c_context::transform_feedbacks,
                   static_cast<uint64_t>(c->get(f_context::GL_TRANSFORM_FEEDBACK_BINDING)));
  if (x && x->get(f_transform_feedback::active) && !x->get(f_transform_feedback::paused)) {
    m.read_all(x);
    m.touch_content(x, f_transform_feedback::vertices);
    for (unsigned e = 0; e < 4; ++e)
      if (Node* b = m.object(c_share::buffers, static_cast<uint64_t>(x->get(
                                                   f_transform_feedback::GL_TRANSFORM_FEEDBACK_BUFFER_BINDING_i, e))))
        m.touch_content(b, f_buffer::content);
  }
}

}  // namespace

// Everything that decides pixels but the vertices themselves, and the framebuffer.
void read_raster(Machine& m, bool arrays) {
  Node* c = m.context();
  m.read(c, f_context::group_raster);
  if (!read_programs(m) || names_fixed_state(m)) read_fixed(m);
  if (c->get(f_context::enabled_GL_VERTEX_PROGRAM_ARB) || c->get(f_context::enabled_GL_FRAGMENT_PROGRAM_ARB)) {
    for (unsigned f : {f_context::GL_VERTEX_PROGRAM_BINDING_NV, f_context::GL_FRAGMENT_PROGRAM_BINDING_NV})
      if (Node* p = m.object(c_share::arb_programs, static_cast<uint64_t>(c->get(f)))) m.read_all(p);
    m.read(c, f_context::arb_environment);
    read_fixed(m);
    read_all_units(m);
  }
  if (arrays) read_current(m);
  read_uniform_buffers(m);
  side_effects(m);
  write_buffers(m);
  write_framebuffer(m);
}

namespace {
void count(Machine& m, int64_t mode, int64_t vertices, int64_t instances, bool indexed) {
  Draw& d = m.drawing();
  d.mode = static_cast<uint32_t>(mode);
  auto n = static_cast<uint64_t>(std::max<int64_t>(vertices, 0)),
       i = static_cast<uint64_t>(std::max<int64_t>(instances, 0));
  d.vertices += n;
  d.instances = std::max<uint64_t>(d.instances, i);
  d.primitives += primitives_of(d.mode, n).count * i;
  d.indexed = indexed;
}
void draw_arrays(Machine& m, bool indexed) {
  read_vertex_arrays(m, indexed);
  read_raster(m, true);
}
}  // namespace
void draw(Machine& m, int64_t mode, int64_t vertices, int64_t instances, int64_t indexed) {
  if (vertices < 0 || instances < 0 || mode < 0 || mode > 14) return m.refuse();
  if (vertices == 0 || instances == 0) return;
  count(m, mode, vertices, instances, indexed != 0);
  draw_arrays(m, indexed != 0);
}
void multi_draw(Machine& m, int64_t mode, Array counts, int64_t n, int64_t indexed) {
  uint64_t known = std::min<uint64_t>(counts.count(), static_cast<uint64_t>(std::max<int64_t>(n, 0)));
  for (uint64_t i = 0; i < known; ++i) count(m, mode, counts.integer(i), 1, indexed != 0);
  draw_arrays(m, indexed != 0);
}
void draw_indirect(Machine& m, int64_t mode, int64_t indexed, Array indirect, int64_t draws) {
  Draw& d = m.drawing();
  d.indirect = true;
  d.indexed = indexed != 0;
  d.mode = static_cast<uint32_t>(mode);
  if (Node* b = bound_buffer(m, GL_DRAW_INDIRECT_BUFFER))
    m.read_all(b);
  else if (indirect.load() && draws == 1 && indirect.bytes >= 8) {
    uint32_t v[2];
    memcpy(v, indirect.data, 8);
    d.indirect = false;
    count(m, mode, v[0], v[1], indexed != 0);
  }
  draw_arrays(m, indexed != 0);
}
void draw_feedback(Machine& m, int64_t mode, int64_t id) {
  m.drawing().mode = static_cast<uint32_t>(mode);
  m.drawing().indirect = true;
  if (Node* x = m.own_object(c_context::transform_feedbacks, static_cast<uint64_t>(id))) m.read_all(x);
  draw_arrays(m, false);
}
void draw_unknown(Machine& m) {
  read_vertex_arrays(m, true);
  read_raster(m, true);
}
namespace {
void pixels_drawn(Machine& m) {
  Node* c = m.context();
  m.read(c, f_context::group_raster_position);
  m.read(c, f_context::raster_position);
  m.drawing().primitives += 1;
  read_raster(m, false);
}
}  // namespace
void draw_pixels(Machine& m, int64_t, int64_t, int64_t, Array pixels) {
  read_unpack(m, pixels);
  read_pixel_transfer(m);
  m.read_children(m.context(), c_context::pixel_maps);
  pixels_drawn(m);
}
void draw_bitmap(Machine& m, int64_t w, int64_t h, Num xmove, Num ymove, Array bitmap) {
  // Most often a way to move the raster position.
  read_unpack(m, bitmap);
  if (w && h) pixels_drawn(m);
  Node* c = m.context();
  m.read(c, f_context::GL_CURRENT_RASTER_POSITION);
  if (c->get(f_context::GL_CURRENT_RASTER_POSITION_VALID))
    m.set(c, f_context::GL_CURRENT_RASTER_POSITION, 0,
          {c->real(f_context::GL_CURRENT_RASTER_POSITION, 0) + xmove.floating(),
           c->real(f_context::GL_CURRENT_RASTER_POSITION, 1) + ymove.floating(),
           c->real(f_context::GL_CURRENT_RASTER_POSITION, 2), c->real(f_context::GL_CURRENT_RASTER_POSITION, 3)});
}
void copy_pixels(Machine& m, int64_t, int64_t, int64_t type) {
  read_pixel_transfer(m);
  Node* f = bound_framebuffer(m, GL_READ_FRAMEBUFFER);
  read(m, type == GL_DEPTH     ? depth_of(m, f, false, true)
          : type == GL_STENCIL ? depth_of(m, f, true, true)
                               : color_of(m, f, f ? f->get(f_framebuffer::GL_READ_BUFFER) : 0, true));
  pixels_drawn(m);
}
void draw_tex(Machine& m) {
  m.drawing().primitives += 2;
  m.drawing().vertices += 4;
  read_raster(m, true);
}
void dispatch(Machine& m, int64_t indirect) {
  if (indirect)
    if (Node* b = bound_buffer(m, GL_DISPATCH_INDIRECT_BUFFER)) m.read_all(b);
  conditional(m);
  read_programs(m);
  read_uniform_buffers(m);
  write_buffers(m);
}

// ---- clears -------------------------------------------------------------------------------------

namespace {
// A draw buffer, as far as its mask lets it.
void clear_color(Machine& m, Node* f, unsigned index, int64_t buffer, bool partly) {
  auto* on = m.context()->at(f_context::GL_COLOR_WRITEMASK, index);
  if (!on[0] && !on[1] && !on[2] && !on[3]) return;
  const bool all = on[0] && on[1] && on[2] && on[3] && !partly;
  write(m, color_of(m, f, buffer), all);
  if (!f->key && buffer == GL_FRONT_AND_BACK) write(m, color_of(m, f, GL_FRONT), all);
}
void clear_others(Machine& m, Node* f, bool depth, bool stencil, bool partly) {
  Node* c = m.context();
  if (depth) {
    m.read(c, f_context::GL_DEPTH_WRITEMASK);
    if (c->get(f_context::GL_DEPTH_WRITEMASK)) write(m, depth_of(m, f, false), !partly);
  }
  if (stencil) {
    m.read(c, f_context::GL_STENCIL_WRITEMASK);
    int64_t on = c->get(f_context::GL_STENCIL_WRITEMASK);
    if (on & 0xff) write(m, depth_of(m, f, true), (on & 0xff) == 0xff && !partly);
  }
}
}  // namespace
void clear(Machine& m, int64_t mask) {
  Node* c = m.context();
  Node* f = draw_framebuffer(m);
  if (!f) return;
  m.read_all(f);
  conditional(m);
  m.read(c, f_context::group_clear);
  bool partly = scissor_leaves(m, f);
  if (mask & GL_COLOR_BUFFER_BIT) {
    m.log(c->location(f_context::GL_COLOR_WRITEMASK), 8, Touch::read);
    for (unsigned i = 0; i < 8; ++i)
      if (int64_t buffer = f->get(f_framebuffer::GL_DRAW_BUFFER0 + i)) clear_color(m, f, i, buffer, partly);
  }
  clear_others(m, f, mask & GL_DEPTH_BUFFER_BIT, mask & GL_STENCIL_BUFFER_BIT, partly);
  if (mask & GL_ACCUM_BUFFER_BIT && m.current()->draw) write(m, {m.current()->draw, f_surface::accum, true}, !partly);
}
void clear_buffer_v(Machine& m, Node* f, int64_t buffer, int64_t index) {
  if (!f) return m.refuse();
  Node* c = m.context();
  m.read_all(f);
  conditional(m);
  bool partly = scissor_leaves(m, f);
  if (buffer == GL_COLOR && index >= 0 && index < 8) {
    const auto at = static_cast<unsigned>(index);
    m.read(c, f_context::GL_COLOR_WRITEMASK, at);
    clear_color(m, f, at, f->get(f_framebuffer::GL_DRAW_BUFFER0 + at), partly);
  }
  clear_others(m, f, buffer == GL_DEPTH || buffer == GL_DEPTH_STENCIL,
               buffer == GL_STENCIL || buffer == GL_DEPTH_STENCIL, partly);
}
void accum(Machine& m, int64_t op) {
  Node* s = m.current()->draw;
  if (!s) return;
  m.read(m.context(), f_context::group_clear);
  if (op == GL_RETURN) {
    m.read(s, f_surface::accum);
    write_framebuffer(m);
  } else {
    if (op == GL_ACCUM || op == GL_LOAD) read(m, color_of(m, bound_framebuffer(m, GL_READ_FRAMEBUFFER), GL_BACK, true));
    if (op == GL_LOAD)
      m.set_content(s, f_surface::accum, NONE, 0);
    else
      m.touch_content(s, f_surface::accum);
  }
}

// ---- copies and read-backs ----------------------------------------------------------------------

namespace {
bool is_depth(int64_t format) {
  return format == GL_DEPTH_COMPONENT || format == GL_DEPTH_STENCIL || format == GL_DEPTH_COMPONENT16 ||
         format == GL_DEPTH_COMPONENT24 || format == GL_DEPTH_COMPONENT32 || format == GL_DEPTH24_STENCIL8 ||
         format == GL_DEPTH_COMPONENT32F || format == GL_DEPTH32F_STENCIL8;
}
bool is_stencil(int64_t format) {
  return format == GL_STENCIL_INDEX || format == GL_DEPTH_STENCIL || format == GL_DEPTH24_STENCIL8 ||
         format == GL_DEPTH32F_STENCIL8 || format == GL_STENCIL_INDEX8;
}
}  // namespace
void read_pixels_of(Machine& m, int64_t format) {
  Node* f = bound_framebuffer(m, GL_READ_FRAMEBUFFER);
  if (!f) return;
  m.read_all(f);
  read_pixel_transfer(m);
  if (is_depth(format)) read(m, depth_of(m, f, false, true));
  if (is_stencil(format)) read(m, depth_of(m, f, true, true));
  if (!is_depth(format) && !is_stencil(format)) read(m, color_of(m, f, f->get(f_framebuffer::GL_READ_BUFFER), true));
}
void read_pixels(Machine& m, int64_t w, int64_t h, int64_t format, int64_t type, Array pixels) {
  Node* c = m.context();
  m.read(c, f_context::group_pack);
  read_pixels_of(m, format);
  Node* b = bound_buffer(m, GL_PIXEL_PACK_BUFFER);
  if (!b) return;
  // Where rows follow each other without gaps, these bytes are all new.
  const int64_t row = w * pixels::pixel_size(format, type), length = c->get(f_context::GL_PACK_ROW_LENGTH),
                align = std::max<int64_t>(c->get(f_context::GL_PACK_ALIGNMENT), 1);
  const bool plain = !c->get(f_context::GL_PACK_SKIP_ROWS) && !c->get(f_context::GL_PACK_SKIP_PIXELS) &&
                     (!length || length == w) && row % align == 0;
  if (!plain || row <= 0 || h <= 0 || w > 1 << 20 || h > 1 << 20 || pixels.address > 1ull << 40)
    return m.touch_content(b, f_buffer::content);
  fill_buffer(m, b, static_cast<int64_t>(pixels.address), row * h);
}
void blit(Machine& m, Node* from, Node* to, int64_t mask) {
  if (!from || !to) return m.refuse();
  m.read_all(from);
  m.read_all(to);
  conditional(m);
  scissor_leaves(m, to);
  if (mask & GL_COLOR_BUFFER_BIT) {
    read(m, color_of(m, from, from->get(f_framebuffer::GL_READ_BUFFER), true));
    for (unsigned i = 0; i < 8; ++i)
      if (int64_t buffer = to->get(f_framebuffer::GL_DRAW_BUFFER0 + i)) write(m, color_of(m, to, buffer), false);
  }
  for (bool stencil : {false, true})
    if (mask & (stencil ? GL_STENCIL_BUFFER_BIT : GL_DEPTH_BUFFER_BIT)) {
      read(m, depth_of(m, from, stencil, true));
      write(m, depth_of(m, to, stencil), false);
    }
}
void invalidate_framebuffer(Machine& m, Node* f, int64_t n, Array attachments) {
  if (!f) return;
  uint64_t known = std::min<uint64_t>(attachments.count(), static_cast<uint64_t>(std::max<int64_t>(n, 0)));
  for (uint64_t i = 0; i < known; ++i) {
    int64_t a = attachments.integer(i);
    if (a == GL_COLOR) a = GL_BACK;
    Target t = a == GL_DEPTH || a == GL_DEPTH_ATTACHMENT || a == GL_DEPTH_STENCIL_ATTACHMENT ? depth_of(m, f, false)
               : a == GL_STENCIL || a == GL_STENCIL_ATTACHMENT                               ? depth_of(m, f, true)
                                                                                             : color_of(m, f, a);
    write(m, t, true);  // what stood there is nothing any more
  }
}

}  // namespace dt::state::run
