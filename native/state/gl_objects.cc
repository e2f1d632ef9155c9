// Contexts, names of objects and where they are bound, what is on and off. The kinds of objects have files of their
// own.
#include <algorithm>
#include <cmath>

#include "../mirror/texture_targets.h"
#include "gl_objects.h"
#include "egl_enums.h"
#include "gl_enums.h"
#include "glx_enums.h"

namespace dt::state::run {
// Arrays whose size is given by what they are.
void init_vertex_array(Machine& m, Node* v) {
  for (auto [array, size] : {std::pair{GL_NORMAL_ARRAY, 3},
                             {GL_SECONDARY_COLOR_ARRAY, 3},
                             {GL_INDEX_ARRAY, 1},
                             {GL_EDGE_FLAG_ARRAY, 1},
                             {GL_FOG_COORD_ARRAY, 1},
                             {GL_POINT_SIZE_ARRAY_OES, 1}})
    if (Node* a = m.find(v, c_vertex_array::arrays, array)) m.set(a, f_client_array::size, Num(size));
}

// ---- contexts -----------------------------------------------------------------------------------

static bool is_debug_context(const Node* creation) {
  if (!creation) return false;
  const auto flags =
      creation->get(f_creation::EGL_CONTEXT_FLAGS_KHR) | creation->get(f_creation::GLX_CONTEXT_FLAGS_ARB);
  return creation->get(f_creation::EGL_CONTEXT_OPENGL_DEBUG) || flags & GLX_CONTEXT_DEBUG_BIT_ARB;
}

void context_made(Machine& m, Context& c, const Node* creation) {
  Node* v = m.make(c.node, c_context::vertex_arrays, 0);
  Node* f = m.make(c.node, c_context::framebuffers, 0);
  m.make(c.node, c_context::transform_feedbacks, 0);
  c.vao = v;
  init_vertex_array(m, v);
  // The default framebuffer draws to the back, where there is one.
  m.set(f, f_framebuffer::GL_DRAW_BUFFER0, Num(GL_BACK));
  m.set(f, f_framebuffer::GL_READ_BUFFER, Num(GL_BACK));
  if (is_debug_context(creation)) m.set(c.node, f_context::enabled_GL_DEBUG_OUTPUT, Num(1));
  if (c.api == 2) {
    m.set(c.node, f_context::enabled_GL_PROGRAM_POINT_SIZE, Num(0));
    m.set(c.node, f_context::enabled_GL_FRAMEBUFFER_SRGB, Num(1));
  }
  if (Node* u = m.child(c.node, c_context::lights, 0)) {  // the first light shines
    m.set(u, f_light::GL_DIFFUSE, 0, {Num(1.0), Num(1.0), Num(1.0), Num(1.0)});
    m.set(u, f_light::GL_SPECULAR, 0, {Num(1.0), Num(1.0), Num(1.0), Num(1.0)});
  }
  for (uint32_t coord : {GL_S, GL_T})
    for (Node* u : c.node->children[c_context::texture_units].near)
      if (Node* g = m.find(u, c_texture_unit::gen, coord)) {
        Num s(coord == GL_S ? 1 : 0), t(coord == GL_T ? 1 : 0);
        m.set(g, f_gen::GL_OBJECT_PLANE, 0, {s, t, Num(0), Num(0)});
        m.set(g, f_gen::GL_EYE_PLANE, 0, {s, t, Num(0), Num(0)});
      }
  const ChildInfo& textures = g_classes[class_share].children[c_share::default_textures];
  for (uint32_t target : std::span(textures.keys, textures.key_count))
    if (Node* t = m.find(c.share->node, c_share::default_textures, target); t && t->get(f_texture::target) == 0)
      init_texture(m, t, target);
}
void context_current(Machine& m, Context& c) {
  if (c.started || !c.draw) return;
  // The first surface that it draws to gives viewport and scissor their size.
  int64_t w = c.draw->get(f_surface::width), h = c.draw->get(f_surface::height);
  if (!w || !h) return;
  c.started = true;
  m.read(c.draw, f_surface::width);
  m.read(c.draw, f_surface::height);
  m.set_all(c.node, f_context::GL_VIEWPORT, {Num(0), Num(0), Num(w), Num(h)});
  m.set_all(c.node, f_context::GL_SCISSOR_BOX, {Num(0), Num(0), Num(w), Num(h)});
}

Node* attrib_of(Machine& m, Node* v, int64_t index) {
  if (!v || index < 0 || index >= 64) return nullptr;
  bool made = !m.find(v, c_vertex_array::attributes, static_cast<uint64_t>(index));
  Node* a = m.child(v, c_vertex_array::attributes, static_cast<uint64_t>(index));
  // It reads from the binding of its own number until told otherwise.
  if (a && made) {
    m.set(a, f_vertex_attribute::GL_VERTEX_ATTRIB_BINDING, Num(index));
    if (Node* b = m.find(v, c_vertex_array::bindings, static_cast<uint64_t>(index))) {
      m.set(a, f_vertex_attribute::GL_VERTEX_ATTRIB_ARRAY_BUFFER_BINDING,
            Num(b->get(f_vertex_binding::GL_VERTEX_BINDING_BUFFER)));
      m.set(a, f_vertex_attribute::GL_VERTEX_ATTRIB_ARRAY_DIVISOR,
            Num(b->get(f_vertex_binding::GL_VERTEX_BINDING_DIVISOR)));
    }
  }
  return a;
}

// ---- references ---------------------------------------------------------------------------------

Node* unit(Machine& m) {
  if (m.direct_unit) return m.direct_unit;
  Node* c = m.context();
  m.read(c, f_context::GL_ACTIVE_TEXTURE);
  return m.child(c, c_context::texture_units,
                 static_cast<uint64_t>(c->get(f_context::GL_ACTIVE_TEXTURE) - GL_TEXTURE0));
}
Node* vao(Machine& m) {
  Node* c = m.context();
  m.read(c, f_context::GL_VERTEX_ARRAY_BINDING);
  Node* v = m.find(c, c_context::vertex_arrays, static_cast<uint64_t>(c->get(f_context::GL_VERTEX_ARRAY_BINDING)));
  m.read(v);
  return v;
}
Node* bound_framebuffer(Machine& m, int64_t target) {
  Node* c = m.context();
  unsigned field =
      target == GL_READ_FRAMEBUFFER ? f_context::GL_READ_FRAMEBUFFER_BINDING : f_context::GL_DRAW_FRAMEBUFFER_BINDING;
  m.read(c, field);
  Node* f = m.find(c, c_context::framebuffers, static_cast<uint64_t>(c->get(field)));
  m.read(f);
  return f;
}
Node* draw_framebuffer(Machine& m) { return bound_framebuffer(m, GL_DRAW_FRAMEBUFFER); }
Node* used_program(Machine& m) {
  Node* c = m.context();
  m.read(c, f_context::GL_CURRENT_PROGRAM);
  return m.object(c_share::programs, static_cast<uint64_t>(c->get(f_context::GL_CURRENT_PROGRAM)));
}

int buffer_binding(int64_t target) {
  switch (target) {
    case GL_ARRAY_BUFFER: return f_context::GL_ARRAY_BUFFER_BINDING;
    case GL_COPY_READ_BUFFER: return f_context::GL_COPY_READ_BUFFER_BINDING;
    case GL_COPY_WRITE_BUFFER: return f_context::GL_COPY_WRITE_BUFFER_BINDING;
    case GL_PIXEL_PACK_BUFFER: return f_context::GL_PIXEL_PACK_BUFFER_BINDING;
    case GL_PIXEL_UNPACK_BUFFER: return f_context::GL_PIXEL_UNPACK_BUFFER_BINDING;
    case GL_TRANSFORM_FEEDBACK_BUFFER: return f_context::GL_TRANSFORM_FEEDBACK_BUFFER_BINDING;
    case GL_UNIFORM_BUFFER: return f_context::GL_UNIFORM_BUFFER_BINDING;
    case GL_TEXTURE_BUFFER: return f_context::GL_TEXTURE_BUFFER_BINDING;
    case GL_DRAW_INDIRECT_BUFFER: return f_context::GL_DRAW_INDIRECT_BUFFER_BINDING;
    case GL_DISPATCH_INDIRECT_BUFFER: return f_context::GL_DISPATCH_INDIRECT_BUFFER_BINDING;
    case GL_ATOMIC_COUNTER_BUFFER: return f_context::GL_ATOMIC_COUNTER_BUFFER_BINDING;
    case GL_SHADER_STORAGE_BUFFER: return f_context::GL_SHADER_STORAGE_BUFFER_BINDING;
    case GL_QUERY_BUFFER: return f_context::GL_QUERY_BUFFER_BINDING;
    case GL_PARAMETER_BUFFER: return f_context::GL_PARAMETER_BUFFER_BINDING_ARB;
    default: return -1;
  }
}
bool indexed_binding(Machine& m, int64_t target, Indexed& at) {
  Node* c = m.context();
  switch (target) {
    case GL_UNIFORM_BUFFER:
      at = {c, f_context::GL_UNIFORM_BUFFER_BINDING_i, f_context::GL_UNIFORM_BUFFER_START_i,
            f_context::GL_UNIFORM_BUFFER_SIZE_i};
      return true;
    case GL_SHADER_STORAGE_BUFFER:
      at = {c, f_context::GL_SHADER_STORAGE_BUFFER_BINDING_i, f_context::GL_SHADER_STORAGE_BUFFER_START_i,
            f_context::GL_SHADER_STORAGE_BUFFER_SIZE_i};
      return true;
    case GL_ATOMIC_COUNTER_BUFFER:
      at = {c, f_context::GL_ATOMIC_COUNTER_BUFFER_BINDING_i, f_context::GL_ATOMIC_COUNTER_BUFFER_START_i,
            f_context::GL_ATOMIC_COUNTER_BUFFER_SIZE_i};
      return true;
    case GL_TRANSFORM_FEEDBACK_BUFFER: {
      m.read(c, f_context::GL_TRANSFORM_FEEDBACK_BINDING);
      Node* f = m.own_object(c_context::transform_feedbacks,
                             static_cast<uint64_t>(c->get(f_context::GL_TRANSFORM_FEEDBACK_BINDING)));
      at = {f, f_transform_feedback::GL_TRANSFORM_FEEDBACK_BUFFER_BINDING_i,
            f_transform_feedback::GL_TRANSFORM_FEEDBACK_BUFFER_START_i,
            f_transform_feedback::GL_TRANSFORM_FEEDBACK_BUFFER_SIZE_i};
      return f != nullptr;
    }
    default: return false;
  }
}
int64_t base_target(int64_t target) {
  return target >= GL_TEXTURE_CUBE_MAP_POSITIVE_X && target <= GL_TEXTURE_CUBE_MAP_NEGATIVE_Z ? GL_TEXTURE_CUBE_MAP
                                                                                              : target;
}
int texture_binding(int64_t target) {
  for (auto& one : gl::TEXTURE_TARGETS)
    if (one.target == base_target(target))
      return Machine::field_of(g_classes[class_texture_unit], prefix_none, one.binding);
  return -1;
}
static uint64_t level_key(int64_t target, int64_t level) {
  if (level < 0 || level > 31) return UINT64_MAX;
  uint64_t face = target >= GL_TEXTURE_CUBE_MAP_POSITIVE_X && target <= GL_TEXTURE_CUBE_MAP_NEGATIVE_Z
                      ? static_cast<uint64_t>(target - GL_TEXTURE_BINDING_CUBE_MAP)
                      : 0;
  return face * 64 + static_cast<uint64_t>(level);
}
Node* level_node(Machine& m, Node* texture, int64_t target, int64_t level, bool make) {
  uint64_t key = level_key(target, level);
  return texture && key != UINT64_MAX ? m.child(texture, c_texture::levels, key, make) : nullptr;
}

Node* texture_of_unit(Machine& m, Node* unit, unsigned field, uint32_t target) {
  if (!unit) return nullptr;
  m.read(unit, field);
  auto name = static_cast<uint64_t>(unit->get(field));
  if (name) return m.object(c_share::textures, name);
  Node* t = m.find(m.share(), c_share::default_textures, target);
  m.read(t);
  return t;
}
Node* bound_texture(Machine& m, int64_t target) {
  if (m.direct_texture) return m.direct_texture;
  int field = texture_binding(target);
  return field < 0
             ? nullptr
             : texture_of_unit(m, unit(m), static_cast<unsigned>(field), static_cast<uint32_t>(base_target(target)));
}
Node* bound_buffer(Machine& m, int64_t target) {
  Node* c = m.context();
  uint64_t name = 0;
  if (target == GL_ELEMENT_ARRAY_BUFFER) {
    Node* v = vao(m);
    if (!v) return nullptr;
    m.read(v, f_vertex_array::GL_ELEMENT_ARRAY_BUFFER_BINDING);
    name = static_cast<uint64_t>(v->get(f_vertex_array::GL_ELEMENT_ARRAY_BUFFER_BINDING));
  } else {
    int field = buffer_binding(target);
    if (field < 0) return nullptr;
    m.read(c, static_cast<unsigned>(field));
    name = static_cast<uint64_t>(c->get(static_cast<unsigned>(field)));
  }
  return m.object(c_share::buffers, name);
}
Node* bound_renderbuffer(Machine& m) {
  m.read(m.context(), f_context::GL_RENDERBUFFER_BINDING);
  return m.object(c_share::renderbuffers, static_cast<uint64_t>(m.context()->get(f_context::GL_RENDERBUFFER_BINDING)));
}
Node* client_unit_array(Machine& m) {
  Node* c = m.context();
  m.read(c, f_context::GL_CLIENT_ACTIVE_TEXTURE);
  return m.child(vao(m), c_vertex_array::texture_coord_arrays,
                 static_cast<uint64_t>(c->get(f_context::GL_CLIENT_ACTIVE_TEXTURE) - GL_TEXTURE0));
}

// ---- names --------------------------------------------------------------------------------------

void init_renderbuffer(Machine& m, Node* n) {
  // GL_RGBA4 in OpenGL ES
  if (m.current() && m.current()->api == 2) m.set(n, f_renderbuffer::GL_RENDERBUFFER_INTERNAL_FORMAT, Num(GL_RGBA4));
}
void create_names(Machine& m, Node* parent, unsigned collection, Array names) {
  uint64_t n = names.count();
  for (uint64_t i = 0; i < n; ++i)
    if (auto name = static_cast<uint64_t>(names.integer(i))) {
      Node* n = m.make(parent, collection, name);
      if (n->cls == &g_classes[class_vertex_array]) init_vertex_array(m, n);
      if (n->cls == &g_classes[class_renderbuffer]) init_renderbuffer(m, n);
    }
}
void create_textures(Machine& m, int64_t target, Array names) {
  uint64_t n = names.count();
  for (uint64_t i = 0; i < n; ++i)
    if (auto name = static_cast<uint64_t>(names.integer(i)))
      init_texture(m, m.make(m.share(), c_share::textures, name), static_cast<uint32_t>(target));
}

namespace {

void unbind(Machine& m, Node* n, unsigned field, uint64_t name, unsigned element = 0) {
  if (static_cast<uint64_t>(n->get(field, element)) == name) m.set(n, field, element, {Num(0)});
}
void detach(Machine& m, Node* framebuffer, uint64_t name, int64_t type) {
  if (!framebuffer || !framebuffer->key) return;
  for (auto& [key, a] : framebuffer->children[c_framebuffer::attachments].far) (void)key, (void)a;
  auto clear = [&](Node* a) {
    int64_t is = a->get(f_attachment::GL_FRAMEBUFFER_ATTACHMENT_OBJECT_TYPE);
    if (is == type && static_cast<uint64_t>(a->get(f_attachment::GL_FRAMEBUFFER_ATTACHMENT_OBJECT_NAME)) == name) {
      m.set(a, f_attachment::GL_FRAMEBUFFER_ATTACHMENT_OBJECT_TYPE, Num(0));
      m.set(a, f_attachment::GL_FRAMEBUFFER_ATTACHMENT_OBJECT_NAME, Num(0));
    }
  };
  for (Node* a : framebuffer->children[c_framebuffer::attachments].near)
    if (a) clear(a);
  for (auto& [key, a] : framebuffer->children[c_framebuffer::attachments].far) clear(a);
}
void deleted_buffer(Machine& m, uint64_t name) {
  Node* c = m.context();
  for (unsigned f = f_context::GL_ARRAY_BUFFER_BINDING; f <= f_context::GL_PARAMETER_BUFFER_BINDING_ARB; ++f)
    unbind(m, c, f, name);
  for (int64_t target :
       {GL_UNIFORM_BUFFER, GL_SHADER_STORAGE_BUFFER, GL_ATOMIC_COUNTER_BUFFER, GL_TRANSFORM_FEEDBACK_BUFFER}) {
    Indexed at{};
    if (!indexed_binding(m, target, at)) continue;
    for (unsigned e = 0; e < at.node->cls->fields[at.binding].elements; ++e)
      if (static_cast<uint64_t>(at.node->get(at.binding, e)) == name) {
        m.set(at.node, at.binding, e, {Num(0)});
        m.set(at.node, at.start, e, {Num(0)});
        m.set(at.node, at.size, e, {Num(0)});
        // As glBindBufferBase with 0 does, which is bound without an index too.
        if (int field = buffer_binding(target); field >= 0) m.set(c, static_cast<unsigned>(field), Num(0));
      }
  }
  Node* v = vao(m);
  if (!v) return;
  unbind(m, v, f_vertex_array::GL_ELEMENT_ARRAY_BUFFER_BINDING, name);
  auto unbind_all = [&](unsigned collection, unsigned field) {
    v->children[collection].each([&](Node* n) { unbind(m, n, field, name); });
  };
  unbind_all(c_vertex_array::attributes, f_vertex_attribute::GL_VERTEX_ATTRIB_ARRAY_BUFFER_BINDING);
  unbind_all(c_vertex_array::bindings, f_vertex_binding::GL_VERTEX_BINDING_BUFFER);
  unbind_all(c_vertex_array::arrays, f_client_array::buffer);
  unbind_all(c_vertex_array::texture_coord_arrays, f_client_array::buffer);
}
void deleted_texture(Machine& m, uint64_t name) {
  Node* c = m.context();
  for (Node* u : c->children[c_context::texture_units].near)
    if (u)
      for (unsigned f = f_texture_unit::GL_TEXTURE_BINDING_1D; f < f_texture_unit::GL_SAMPLER_BINDING; ++f)
        unbind(m, u, f, name);
  for (Node* u : c->children[c_context::image_units].near)
    if (u && static_cast<uint64_t>(u->get(f_image_unit::GL_IMAGE_BINDING_NAME)) == name)
      m.set_words(u, f_image_unit::GL_IMAGE_BINDING_NAME, 0, u->cls->initial);
  detach(m, bound_framebuffer(m, GL_DRAW_FRAMEBUFFER), name, GL_TEXTURE);
  detach(m, bound_framebuffer(m, GL_READ_FRAMEBUFFER), name, GL_TEXTURE);
}

}  // namespace

void delete_names(Machine& m, Node* parent, unsigned collection, Array names) {
  uint64_t n = names.count();
  Node* c = m.context();
  bool shared = parent == m.share();
  for (uint64_t i = 0; i < n; ++i) {
    auto name = static_cast<uint64_t>(names.integer(i));
    Node* node = name ? m.find(parent, collection, name) : nullptr;
    if (!node) continue;
    if (shared) {
      if (collection == c_share::buffers) deleted_buffer(m, name);
      if (collection == c_share::textures) deleted_texture(m, name);
      if (collection == c_share::renderbuffers) {
        unbind(m, c, f_context::GL_RENDERBUFFER_BINDING, name);
        detach(m, bound_framebuffer(m, GL_DRAW_FRAMEBUFFER), name, GL_RENDERBUFFER);
        detach(m, bound_framebuffer(m, GL_READ_FRAMEBUFFER), name, GL_RENDERBUFFER);
      }
    } else {
      if (collection == c_context::vertex_arrays) {
        unbind(m, c, f_context::GL_VERTEX_ARRAY_BINDING, name);
        m.current()->vao = nullptr;
      }
      if (collection == c_context::framebuffers) {
        unbind(m, c, f_context::GL_DRAW_FRAMEBUFFER_BINDING, name);
        unbind(m, c, f_context::GL_READ_FRAMEBUFFER_BINDING, name);
      }
      if (collection == c_context::pipelines) unbind(m, c, f_context::GL_PROGRAM_PIPELINE_BINDING, name);
      if (collection == c_context::transform_feedbacks) unbind(m, c, f_context::GL_TRANSFORM_FEEDBACK_BINDING, name);
      if (collection == c_context::queries)
        for (unsigned e = 0; e < c->cls->fields[f_context::GL_CURRENT_QUERY_i].elements; ++e)
          unbind(m, c, f_context::GL_CURRENT_QUERY_i, name, e);
    }
    m.remove(node);
  }
}
void delete_samplers(Machine& m, int64_t, Array names) {
  for (uint64_t i = 0, n = names.count(); i < n; ++i) {
    auto name = static_cast<uint64_t>(names.integer(i));
    for (Node* u : m.context()->children[c_context::texture_units].near)
      if (u && name) unbind(m, u, f_texture_unit::GL_SAMPLER_BINDING, name);
  }
  delete_names(m, m.share(), c_share::samplers, names);
}
void object_label(Machine& m, int64_t identifier, int64_t name_, int64_t length, Array label) {
  auto name = static_cast<uint64_t>(name_);
  std::string text = label.text();
  if (length >= 0 && static_cast<uint64_t>(length) < text.size()) text.resize(static_cast<size_t>(length));
  auto shared = [&](unsigned collection, unsigned field) { m.set_text(m.object(collection, name), field, text); };
  switch (identifier) {
    case GL_BUFFER: return shared(c_share::buffers, f_buffer::label);
    case GL_SHADER: return shared(c_share::shaders, f_shader::label);
    case GL_PROGRAM: return shared(c_share::programs, f_program::label);
    case GL_PROGRAM_PIPELINE: return m.set_text(m.own_object(c_context::pipelines, name), f_pipeline::label, text);
    case GL_SAMPLER: return shared(c_share::samplers, f_sampler::label);
    case GL_TEXTURE: return shared(c_share::textures, f_texture::label);
    case GL_RENDERBUFFER: return shared(c_share::renderbuffers, f_renderbuffer::label);
    case GL_FRAMEBUFFER: return m.set_text(m.own_object(c_context::framebuffers, name), f_framebuffer::label, text);
    default: return;
  }
}
void debug_group(Machine& m, int64_t change) {
  int64_t depth = m.context()->get(f_context::GL_DEBUG_GROUP_STACK_DEPTH) + change;
  if (depth < 1 || depth > 64) return m.refuse();
  m.set(m.context(), f_context::GL_DEBUG_GROUP_STACK_DEPTH, Num(depth));
}

void attrib_enabled(Machine& m, Node* v, int64_t index, int64_t on) {
  if (Node* a = attrib_of(m, v, index))
    m.set(a, f_vertex_attribute::GL_VERTEX_ATTRIB_ARRAY_ENABLED, Num(on));
  else
    m.refuse();
}

// ---- on and off, simple context state -----------------------------------------------------------

void enable(Machine& m, int64_t cap_, int64_t on) {
  auto cap = static_cast<uint32_t>(cap_);
  Node* c = m.context();
  if (cap == GL_TEXTURE_GEN_STR_OES) {
    for (int64_t gen : {GL_TEXTURE_GEN_S, GL_TEXTURE_GEN_T, GL_TEXTURE_GEN_R}) enable(m, gen, on);
    return;
  }
  if (cap == GL_VERTEX_ARRAY || cap == GL_NORMAL_ARRAY || cap == GL_COLOR_ARRAY ||
      cap == GL_TEXTURE_COORD_ARRAY) {  // arrays, as EXT_vertex_array has it
    return client_state(m, cap, on);
  }
  if (int of_unit = Machine::field_of(g_classes[class_texture_unit], prefix_enabled, cap); of_unit >= 0)
    return m.set(unit(m), static_cast<unsigned>(of_unit), Num(on));
  int field = m.field_of(c, prefix_enabled, cap);
  if (field < 0) return;
  m.set_all(c, static_cast<unsigned>(field), {Num(on)});
  if (field == f_context::enabled_GL_COLOR_MATERIAL && on) color_changed(m);
}
void enable_indexed(Machine& m, int64_t cap, int64_t index, int64_t on) {
  Node* c = m.context();
  int field = m.field_of(c, prefix_enabled, static_cast<uint32_t>(cap));
  if (field >= 0 && index >= 0 && index < c->cls->fields[field].elements)
    m.set(c, static_cast<unsigned>(field), static_cast<unsigned>(index), {Num(on)});
}
void viewport(Machine& m, int64_t x, int64_t y, int64_t w, int64_t h) {
  if (w < 0 || h < 0) return m.refuse();
  // Larger ones are cut to what the driver can do, which is at least this everywhere.
  m.set_all(m.context(), f_context::GL_VIEWPORT, {x, y, std::min<int64_t>(w, 16384), std::min<int64_t>(h, 16384)});
}
namespace {
void each_indexed(Machine& m, unsigned field, int64_t first, int64_t count, Array v, unsigned n) {
  if (first < 0 || count < 0) return m.refuse();
  for (int64_t i = 0; i < std::min<int64_t>(count, 64); ++i)
    m.set(m.context(), field, static_cast<unsigned>(first + i), v, static_cast<uint64_t>(i) * n);
}
}  // namespace
void viewport_array(Machine& m, int64_t first, int64_t count, Array v) {
  each_indexed(m, f_context::GL_VIEWPORT, first, count, v, 4);
}
void scissor_array(Machine& m, int64_t first, int64_t count, Array v) {
  each_indexed(m, f_context::GL_SCISSOR_BOX, first, count, v, 4);
}
void depth_range_array(Machine& m, int64_t first, int64_t count, Array v) {
  each_indexed(m, f_context::GL_DEPTH_RANGE, first, count, v, 2);
}
void depth_range(Machine& m, Num n, Num f) {
  m.set_all(m.context(), f_context::GL_DEPTH_RANGE, {unit_range(n), unit_range(f)});
}
void clear_depth(Machine& m, Num d) { m.set(m.context(), f_context::GL_DEPTH_CLEAR_VALUE, unit_range(d)); }
void min_sample_shading(Machine& m, Num v) {
  m.set(m.context(), f_context::GL_MIN_SAMPLE_SHADING_VALUE, unit_range(v));
}
void sample_coverage(Machine& m, Num v) { m.set(m.context(), f_context::GL_SAMPLE_COVERAGE_VALUE, unit_range(v)); }
void line_width(Machine& m, Num w) {
  if (!(w.floating() > 0)) return m.refuse();
  m.set(m.context(), f_context::GL_LINE_WIDTH, w);
}
void point_size(Machine& m, Num s) {
  if (!(s.floating() > 0)) return m.refuse();
  m.set(m.context(), f_context::GL_POINT_SIZE, s);
}
void polygon_mode(Machine& m, int64_t face, int64_t mode) {
  Node* c = m.context();
  Num f(c->at(f_context::GL_POLYGON_MODE)[0]), b(c->at(f_context::GL_POLYGON_MODE)[1]);
  if (face != GL_BACK) f = Num(mode);
  if (face != GL_FRONT) b = Num(mode);
  m.set(c, f_context::GL_POLYGON_MODE, 0, {f, b});
}
void clamp_color(Machine& m, int64_t target, int64_t clamp) {
  unsigned field = target == GL_CLAMP_VERTEX_COLOR     ? f_context::GL_CLAMP_VERTEX_COLOR
                   : target == GL_CLAMP_FRAGMENT_COLOR ? f_context::GL_CLAMP_FRAGMENT_COLOR
                                                       : f_context::GL_CLAMP_READ_COLOR;
  m.set(m.context(), field, Num(clamp));
}
void pixel_store(Machine& m, int64_t pname, Num param) {
  int64_t v = param.integer();
  if (v < 0 || ((pname == GL_UNPACK_ALIGNMENT || pname == GL_PACK_ALIGNMENT) && v != 1 && v != 2 && v != 4 && v != 8))
    return m.refuse();
  m.set_any(m.context(), prefix_none, static_cast<uint32_t>(pname), 0, {param});
}
void active_texture(Machine& m, int64_t texture) {
  if (texture < GL_TEXTURE0 || texture >= GL_TEXTURE0 + MOST_UNITS) return m.refuse();
  m.set(m.context(), f_context::GL_ACTIVE_TEXTURE, Num(texture));
  // The active unit's matrix is the texture matrix: nothing to change, it is looked up by unit.
}

}  // namespace dt::state::run
