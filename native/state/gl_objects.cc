// Objects and their bindings: buffers, vertex arrays, textures, samplers, framebuffers, queries, synchronisation.
#include <algorithm>
#include <cmath>

#include "gl.h"
#include "egl_enums.h"
#include "gl_enums.h"

namespace dt::state::run {
namespace {

constexpr Hash128 NONE{};
constexpr int64_t MOST_UNITS = 256;

}  // namespace

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

void context_made(Machine& m, Context& c) {
  Node* v = m.make(c.node, c_context::vertex_arrays, 0);
  Node* f = m.make(c.node, c_context::framebuffers, 0);
  m.make(c.node, c_context::transform_feedbacks, 0);
  c.vao = v;
  init_vertex_array(m, v);
  // The default framebuffer draws to the back, where there is one.
  m.set(f, f_framebuffer::GL_DRAW_BUFFER0, Num(GL_BACK));
  m.set(f, f_framebuffer::GL_READ_BUFFER, Num(GL_BACK));
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
  for (auto& type : {GL_TEXTURE_2D, GL_TEXTURE_RECTANGLE, GL_TEXTURE_EXTERNAL_OES})
    if (Node* t = m.find(c.share->node, c_share::default_textures, type))
      if (t->get(f_texture::target) == 0) init_texture(m, t, type);
  static const uint32_t targets[] = {GL_TEXTURE_1D,
                                     GL_TEXTURE_2D,
                                     GL_TEXTURE_3D,
                                     GL_TEXTURE_CUBE_MAP,
                                     GL_TEXTURE_1D_ARRAY,
                                     GL_TEXTURE_2D_ARRAY,
                                     GL_TEXTURE_CUBE_MAP_ARRAY,
                                     GL_TEXTURE_RECTANGLE,
                                     GL_TEXTURE_BUFFER,
                                     GL_TEXTURE_2D_MULTISAMPLE,
                                     GL_TEXTURE_2D_MULTISAMPLE_ARRAY,
                                     GL_TEXTURE_EXTERNAL_OES};
  for (uint32_t target : targets)
    if (Node* t = m.find(c.share->node, c_share::default_textures, target))
      if (t->get(f_texture::target) == 0) init_texture(m, t, target);
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

namespace {

// Where a buffer target's binding stands; -1: no target.
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
struct Indexed {
  Node* node;
  unsigned binding, start, size;
};
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
int texture_binding(int64_t target) {
  switch (target) {
    case GL_TEXTURE_1D: return f_texture_unit::GL_TEXTURE_BINDING_1D;
    case GL_TEXTURE_2D: return f_texture_unit::GL_TEXTURE_BINDING_2D;
    case GL_TEXTURE_3D: return f_texture_unit::GL_TEXTURE_BINDING_3D;
    case GL_TEXTURE_CUBE_MAP:
    case GL_TEXTURE_CUBE_MAP_POSITIVE_X:
    case GL_TEXTURE_CUBE_MAP_NEGATIVE_X:
    case GL_TEXTURE_CUBE_MAP_POSITIVE_Y:
    case GL_TEXTURE_CUBE_MAP_NEGATIVE_Y:
    case GL_TEXTURE_CUBE_MAP_POSITIVE_Z:
    case GL_TEXTURE_CUBE_MAP_NEGATIVE_Z: return f_texture_unit::GL_TEXTURE_BINDING_CUBE_MAP;
    case GL_TEXTURE_1D_ARRAY: return f_texture_unit::GL_TEXTURE_BINDING_1D_ARRAY;
    case GL_TEXTURE_2D_ARRAY: return f_texture_unit::GL_TEXTURE_BINDING_2D_ARRAY;
    case GL_TEXTURE_CUBE_MAP_ARRAY: return f_texture_unit::GL_TEXTURE_BINDING_CUBE_MAP_ARRAY;
    case GL_TEXTURE_RECTANGLE: return f_texture_unit::GL_TEXTURE_BINDING_RECTANGLE;
    case GL_TEXTURE_BUFFER: return f_texture_unit::GL_TEXTURE_BINDING_BUFFER;
    case GL_TEXTURE_2D_MULTISAMPLE: return f_texture_unit::GL_TEXTURE_BINDING_2D_MULTISAMPLE;
    case GL_TEXTURE_2D_MULTISAMPLE_ARRAY: return f_texture_unit::GL_TEXTURE_BINDING_2D_MULTISAMPLE_ARRAY;
    case GL_TEXTURE_EXTERNAL_OES: return f_texture_unit::GL_TEXTURE_BINDING_EXTERNAL_OES;
    default: return -1;
  }
}
int64_t base_target(int64_t target) {
  return target >= GL_TEXTURE_CUBE_MAP_POSITIVE_X && target <= GL_TEXTURE_CUBE_MAP_NEGATIVE_Z ? GL_TEXTURE_CUBE_MAP
                                                                                              : target;
}
uint64_t level_key(int64_t target, int64_t level) {
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

}  // namespace

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
Node* client_unit_array(Machine& m) {
  Node* c = m.context();
  m.read(c, f_context::GL_CLIENT_ACTIVE_TEXTURE);
  return m.child(vao(m), c_vertex_array::texture_coord_arrays,
                 static_cast<uint64_t>(c->get(f_context::GL_CLIENT_ACTIVE_TEXTURE) - GL_TEXTURE0));
}

// ---- names --------------------------------------------------------------------------------------

namespace {
void init_renderbuffer(Machine& m, Node* n) {
  // GL_RGBA4 in OpenGL ES
  if (m.current() && m.current()->api == 2) m.set(n, f_renderbuffer::GL_RENDERBUFFER_INTERNAL_FORMAT, Num(GL_RGBA4));
}
}  // namespace
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
  for (Node* a : v->children[c_vertex_array::attributes].near)
    if (a) unbind(m, a, f_vertex_attribute::GL_VERTEX_ATTRIB_ARRAY_BUFFER_BINDING, name);
  for (Node* b : v->children[c_vertex_array::bindings].near)
    if (b) unbind(m, b, f_vertex_binding::GL_VERTEX_BINDING_BUFFER, name);
  for (auto& [key, a] : v->children[c_vertex_array::arrays].far) unbind(m, a, f_client_array::buffer, name);
  for (Node* a : v->children[c_vertex_array::arrays].near)
    if (a) unbind(m, a, f_client_array::buffer, name);
  for (Node* a : v->children[c_vertex_array::texture_coord_arrays].near)
    if (a) unbind(m, a, f_client_array::buffer, name);
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

void attrib_enabled(Machine& m, int64_t index, int64_t on) {
  if (Node* a = attrib_of(m, vao(m), index))
    m.set(a, f_vertex_attribute::GL_VERTEX_ATTRIB_ARRAY_ENABLED, Num(on));
  else
    m.refuse();
}
void named_attrib_enabled(Machine& m, int64_t array, int64_t index, int64_t on) {
  if (Node* a = attrib_of(m, m.own_object(c_context::vertex_arrays, static_cast<uint64_t>(array)), index))
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
  const ClassInfo& units = g_classes[class_texture_unit];
  for (unsigned f = f_texture_unit::enabled_GL_TEXTURE_1D; f <= f_texture_unit::enabled_GL_TEXTURE_EXTERNAL_OES; ++f) {
    for (unsigned i = 0; i < units.by_enum_count; ++i)
      if (units.by_enum[i].field == f && static_cast<uint32_t>(units.by_enum[i].key) == cap) {
        if (Node* u = unit(m)) m.set(u, f, Num(on));
        return;
      }
  }
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
void viewport(Machine& m, Num x, Num y, Num w, Num h) {
  if (w.integer() < 0 || h.integer() < 0) return m.refuse();
  // Larger ones are cut to what the driver can do, which is at least this everywhere.
  m.set_all(m.context(), f_context::GL_VIEWPORT,
            {x, y, Num(std::min<int64_t>(w.integer(), 16384)), Num(std::min<int64_t>(h.integer(), 16384))});
}
namespace {
void each_indexed(Machine& m, unsigned field, int64_t first, int64_t count, Array v, unsigned n) {
  if (first < 0 || count < 0) return m.refuse();
  for (int64_t i = 0; i < std::min<int64_t>(count, 64); ++i)
    m.set(m.context(), field, static_cast<unsigned>(first + i), v, static_cast<uint64_t>(i) * n);
}
Num unit_range(Num v) { return Num(std::clamp(v.floating(), 0.0, 1.0)); }
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
  // The texture matrix is that of the active unit: nothing to change, it is looked up by unit.
}

// ---- buffers ------------------------------------------------------------------------------------

namespace {
Node* touched_buffer(Machine& m, uint64_t name) {
  if (!name) return nullptr;
  Node* n = m.find(m.share(), c_share::buffers, name);
  if (!n) n = m.make(m.share(), c_share::buffers, name);
  n->cold = 1;  // it is an object from here on, not only a name
  m.read(n);
  return n;
}
}  // namespace
void create_buffers(Machine& m, Array names) {
  for (uint64_t i = 0, n = names.count(); i < n; ++i)
    if (auto name = static_cast<uint64_t>(names.integer(i))) m.make(m.share(), c_share::buffers, name)->cold = 1;
}
void bind_buffer(Machine& m, int64_t target, int64_t buffer) {
  Node* c = m.context();
  if (target == GL_ELEMENT_ARRAY_BUFFER) {
    touched_buffer(m, static_cast<uint64_t>(buffer));
    return m.set(vao(m), f_vertex_array::GL_ELEMENT_ARRAY_BUFFER_BINDING, Num(buffer));
  }
  int field = buffer_binding(target);
  if (field < 0) return m.refuse();
  touched_buffer(m, static_cast<uint64_t>(buffer));
  m.set(c, static_cast<unsigned>(field), Num(buffer));
}
void bind_buffer_range(Machine& m, int64_t target, int64_t index, int64_t buffer, int64_t offset, int64_t size) {
  Indexed at{};
  if (!indexed_binding(m, target, at) || index < 0) return m.refuse();
  touched_buffer(m, static_cast<uint64_t>(buffer));
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
    touched_buffer(m, static_cast<uint64_t>(name));
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
void define(Machine& m, Node* b, int64_t size, Array data, int64_t usage, int64_t flags, bool storage) {
  if (!b || size < 0) return m.refuse();
  if (b->get(f_buffer::GL_BUFFER_IMMUTABLE_STORAGE)) return m.refuse();
  m.set(b, f_buffer::GL_BUFFER_SIZE, Num(size));
  m.set(b, f_buffer::GL_BUFFER_USAGE, Num(storage ? GL_DYNAMIC_DRAW : usage));
  m.set(b, f_buffer::GL_BUFFER_IMMUTABLE_STORAGE, Num(storage));
  m.set(b, f_buffer::GL_BUFFER_STORAGE_FLAGS, Num(storage ? flags : 0x103));  // what glBufferData's may be used for
  unmapped(m, b);
  m.set_content(b, f_buffer::content, data.content_hash(), data.content() ? static_cast<uint64_t>(size) : 0);
}
void sub(Machine& m, Node* b, int64_t offset, int64_t size, Array data) {
  if (!b || offset < 0 || size < 0) return m.refuse();
  if (size == 0) return;
  m.read(b, f_buffer::GL_BUFFER_SIZE);
  if (offset == 0 && size == b->get(f_buffer::GL_BUFFER_SIZE)) {
    return m.set_content(b, f_buffer::content, data.content_hash(), data.content() ? static_cast<uint64_t>(size) : 0);
  }
  m.touch_content(b, f_buffer::content, {{offset, 0, 0}, {offset + size, 1, 1}});
  m.uploaded(b, f_buffer::content, static_cast<uint64_t>(size), data.content_hash());
}
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
void unmap(Machine& m, Node* b) {
  if (!b) return m.refuse();
  m.read(b, f_buffer::GL_BUFFER_MAPPED);
  unmapped(m, b);
}
Node* named_buffer(Machine& m, int64_t name) {
  Node* b = m.object(c_share::buffers, static_cast<uint64_t>(name));
  return b && b->cold ? b : nullptr;
}
}  // namespace
void fill_buffer(Machine& m, Node* b, int64_t offset, int64_t size) {
  if (!b) return;
  m.read(b, f_buffer::GL_BUFFER_SIZE);
  if (size < 0 || (offset == 0 && size == b->get(f_buffer::GL_BUFFER_SIZE)))
    m.set_content(b, f_buffer::content, NONE, 0);
  else
    m.touch_content(b, f_buffer::content, {{offset, 0, 0}, {offset + size, 1, 1}});
}
void buffer_data(Machine& m, int64_t target, int64_t size, Array data, int64_t usage) {
  define(m, bound_buffer(m, target), size, data, usage, 0, false);
}
void named_buffer_data(Machine& m, int64_t buffer, int64_t size, Array data, int64_t usage) {
  define(m, named_buffer(m, buffer), size, data, usage, 0, false);
}
void named_buffer_data_ext(Machine& m, int64_t buffer, int64_t size, Array data, int64_t usage) {
  define(m, touched_buffer(m, static_cast<uint64_t>(buffer)), size, data, usage, 0, false);
}
void buffer_storage(Machine& m, int64_t target, int64_t size, Array data, int64_t flags) {
  define(m, bound_buffer(m, target), size, data, 0, flags, true);
}
void named_buffer_storage(Machine& m, int64_t buffer, int64_t size, Array data, int64_t flags) {
  define(m, named_buffer(m, buffer), size, data, 0, flags, true);
}
void buffer_sub_data(Machine& m, int64_t target, int64_t offset, int64_t size, Array data) {
  sub(m, bound_buffer(m, target), offset, size, data);
}
void named_buffer_sub_data(Machine& m, int64_t buffer, int64_t offset, int64_t size, Array data) {
  sub(m, named_buffer(m, buffer), offset, size, data);
}
void clear_buffer(Machine& m, int64_t target, int64_t offset, int64_t size) {
  fill_buffer(m, bound_buffer(m, target), offset, size);
}
void clear_named_buffer(Machine& m, int64_t buffer, int64_t offset, int64_t size) {
  fill_buffer(m, named_buffer(m, buffer), offset, size);
}
namespace {
void copy(Machine& m, Node* from, Node* to, int64_t, int64_t offset, int64_t size) {
  if (!from || !to) return m.refuse();
  m.read(from, f_buffer::content);
  m.read(to, f_buffer::GL_BUFFER_SIZE);
  if (offset == 0 && size == to->get(f_buffer::GL_BUFFER_SIZE) && from != to)
    m.set_content(to, f_buffer::content, NONE, 0);
  else
    m.touch_content(to, f_buffer::content, {{offset, 0, 0}, {offset + size, 1, 1}});
}
}  // namespace
void copy_buffer(Machine& m, int64_t read, int64_t write, int64_t from, int64_t to, int64_t size) {
  copy(m, bound_buffer(m, read), bound_buffer(m, write), from, to, size);
}
void copy_named_buffer(Machine& m, int64_t read, int64_t write, int64_t from, int64_t to, int64_t size) {
  copy(m, named_buffer(m, read), named_buffer(m, write), from, to, size);
}
void invalidate_buffer(Machine& m, int64_t buffer) {
  m.set_content(named_buffer(m, buffer), f_buffer::content, NONE, 0);
}
void map_buffer(Machine& m, int64_t target, int64_t access, int64_t pointer) {
  Node* b = bound_buffer(m, target);
  if (b) map(m, b, 0, b->get(f_buffer::GL_BUFFER_SIZE), access, flags_of(access), pointer);
}
void map_named_buffer(Machine& m, int64_t buffer, int64_t access, int64_t pointer) {
  Node* b = named_buffer(m, buffer);
  if (b) map(m, b, 0, b->get(f_buffer::GL_BUFFER_SIZE), access, flags_of(access), pointer);
}
void map_buffer_range(Machine& m, int64_t target, int64_t offset, int64_t length, int64_t access, int64_t pointer) {
  map(m, bound_buffer(m, target), offset, length, access_of(access), access, pointer);
}
void map_named_buffer_range(Machine& m, int64_t buffer, int64_t offset, int64_t length, int64_t access,
                            int64_t pointer) {
  map(m, named_buffer(m, buffer), offset, length, access_of(access), access, pointer);
}
void unmap_buffer(Machine& m, int64_t target) { unmap(m, bound_buffer(m, target)); }
void unmap_named_buffer(Machine& m, int64_t buffer) { unmap(m, named_buffer(m, buffer)); }
void flush_buffer(Machine& m, int64_t target) { m.read(bound_buffer(m, target), f_buffer::GL_BUFFER_MAPPED); }
void flush_named_buffer(Machine& m, int64_t buffer) { m.read(named_buffer(m, buffer), f_buffer::GL_BUFFER_MAPPED); }
void get_buffer_data(Machine& m, int64_t target) { m.read(bound_buffer(m, target), f_buffer::content); }
void get_named_buffer_data(Machine& m, int64_t buffer) { m.read(named_buffer(m, buffer), f_buffer::content); }

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
void format(Machine& m, Node* v, int64_t index, int64_t size, int64_t type, int64_t normalized, int64_t integer,
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
void set_binding(Machine& m, Node* v, int64_t index, int64_t buffer, int64_t offset, int64_t stride) {
  Node* b = binding(m, v, index);
  if (!b) return m.refuse();
  touched_buffer(m, static_cast<uint64_t>(buffer));
  m.set(b, f_vertex_binding::GL_VERTEX_BINDING_BUFFER, Num(buffer));
  m.set(b, f_vertex_binding::GL_VERTEX_BINDING_OFFSET, Num(offset));
  m.set(b, f_vertex_binding::GL_VERTEX_BINDING_STRIDE, Num(stride));
  follow_all(m, v, index);
}
Node* named_vao(Machine& m, int64_t name) {
  return m.own_object(c_context::vertex_arrays, static_cast<uint64_t>(name));
}
}  // namespace
void attrib_pointer(Machine& m, int64_t index, int64_t size, int64_t type, int64_t normalized, int64_t integer,
                    int64_t stride, Array pointer) {
  Node* v = vao(m);
  Node* a = attrib(m, v, index);
  if (!a || stride < 0 || !((size >= 1 && size <= 4) || size == GL_BGRA)) return m.refuse();
  Node* c = m.context();
  m.read(c, f_context::GL_ARRAY_BUFFER_BINDING);
  int64_t buffer = c->get(f_context::GL_ARRAY_BUFFER_BINDING);
  format(m, v, index, size, type, normalized, integer, 0);
  m.set(a, f_vertex_attribute::GL_VERTEX_ATTRIB_BINDING, Num(index));
  m.set(a, f_vertex_attribute::GL_VERTEX_ATTRIB_ARRAY_STRIDE, Num(stride));
  m.set(a, f_vertex_attribute::GL_VERTEX_ATTRIB_ARRAY_POINTER, Num(pointer.address));
  set_binding(m, v, index, buffer, static_cast<int64_t>(pointer.address),
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
void attrib_format(Machine& m, int64_t index, int64_t size, int64_t type, int64_t normalized, int64_t integer,
                   int64_t offset) {
  Node* v = vao(m);
  format(m, v, index, size, type, normalized, integer, offset);
}
void named_attrib_format(Machine& m, int64_t array, int64_t index, int64_t size, int64_t type, int64_t normalized,
                         int64_t integer, int64_t offset) {
  Node* v = named_vao(m, array);
  format(m, v, index, size, type, normalized, integer, offset);
}
namespace {
void bind_attrib(Machine& m, Node* v, int64_t index, int64_t to) {
  Node* a = attrib(m, v, index);
  if (!a || to < 0 || to >= MOST_ATTRIBUTES) return m.refuse();
  m.set(a, f_vertex_attribute::GL_VERTEX_ATTRIB_BINDING, Num(to));
  follow_binding(m, v, a);
}
void divisor_of(Machine& m, Node* v, int64_t index, int64_t divisor) {
  Node* b = binding(m, v, index);
  if (!b) return m.refuse();
  m.set(b, f_vertex_binding::GL_VERTEX_BINDING_DIVISOR, Num(divisor));
  follow_all(m, v, index);
}
void many_bindings(Machine& m, Node* v, int64_t first, int64_t count, Array buffers, Array offsets, Array strides) {
  uint64_t known = std::min({buffers.count(), offsets.count(), strides.count()});
  for (int64_t i = 0; i < std::min<int64_t>(count, MOST_ATTRIBUTES); ++i) {
    auto u = static_cast<uint64_t>(i);
    if (u < known)
      set_binding(m, v, first + i, buffers.integer(u), offsets.integer(u), strides.integer(u));
    else
      set_binding(m, v, first + i, 0, 0, 16);
  }
}
}  // namespace
void attrib_binding(Machine& m, int64_t index, int64_t to) { bind_attrib(m, vao(m), index, to); }
void named_attrib_binding(Machine& m, int64_t array, int64_t index, int64_t to) {
  bind_attrib(m, named_vao(m, array), index, to);
}
void vertex_buffer(Machine& m, int64_t index, int64_t buffer, int64_t offset, int64_t stride) {
  set_binding(m, vao(m), index, buffer, offset, stride);
}
void named_vertex_buffer(Machine& m, int64_t array, int64_t index, int64_t buffer, int64_t offset, int64_t stride) {
  set_binding(m, named_vao(m, array), index, buffer, offset, stride);
}
void vertex_buffers(Machine& m, int64_t first, int64_t count, Array buffers, Array offsets, Array strides) {
  many_bindings(m, vao(m), first, count, buffers, offsets, strides);
}
void named_vertex_buffers(Machine& m, int64_t array, int64_t first, int64_t count, Array buffers, Array offsets,
                          Array strides) {
  many_bindings(m, named_vao(m, array), first, count, buffers, offsets, strides);
}
void binding_divisor(Machine& m, int64_t index, int64_t divisor) { divisor_of(m, vao(m), index, divisor); }
void named_binding_divisor(Machine& m, int64_t array, int64_t index, int64_t divisor) {
  divisor_of(m, named_vao(m, array), index, divisor);
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

// ---- textures -----------------------------------------------------------------------------------

void init_texture(Machine& m, Node* t, uint32_t target) {
  if (!t) return;
  m.set(t, f_texture::target, Num(target));
  if (target == GL_TEXTURE_RECTANGLE ||
      target == GL_TEXTURE_EXTERNAL_OES) {  // rectangle, external: no mipmaps, no repeat
    m.set(t, f_texture::GL_TEXTURE_MIN_FILTER, Num(GL_LINEAR));
    for (unsigned f : {f_texture::GL_TEXTURE_WRAP_S, f_texture::GL_TEXTURE_WRAP_T, f_texture::GL_TEXTURE_WRAP_R})
      m.set(t, f, Num(GL_CLAMP_TO_EDGE));
  }
}
void bind_texture(Machine& m, int64_t target, int64_t texture) {
  int field = texture_binding(target);
  if (field < 0 || target != base_target(target)) return m.refuse();
  Node* u = unit(m);
  if (texture) {
    Node* t = m.find(m.share(), c_share::textures, static_cast<uint64_t>(texture));
    if (!t) t = m.make(m.share(), c_share::textures, static_cast<uint64_t>(texture));
    m.read(t);
    if (!t->get(f_texture::target))
      init_texture(m, t, static_cast<uint32_t>(target));
    else if (t->get(f_texture::target) != target)
      return m.refuse();
  }
  m.set(u, static_cast<unsigned>(field), Num(texture));
}
void bind_texture_unit(Machine& m, int64_t index, int64_t texture) {
  if (index < 0 || index >= MOST_UNITS) return m.refuse();
  Node* u = m.child(m.context(), c_context::texture_units, static_cast<uint64_t>(index));
  if (!u) return;
  if (!texture) {
    for (unsigned f = f_texture_unit::GL_TEXTURE_BINDING_1D; f < f_texture_unit::GL_SAMPLER_BINDING; ++f)
      m.set(u, f, Num(0));
    return;
  }
  Node* t = m.object(c_share::textures, static_cast<uint64_t>(texture));
  int field = t ? texture_binding(t->get(f_texture::target)) : -1;
  if (field < 0) return m.refuse();
  m.set(u, static_cast<unsigned>(field), Num(texture));
}
void bind_textures(Machine& m, int64_t first, int64_t count, Array textures) {
  uint64_t known = textures.count();
  for (int64_t i = 0; i < std::min(count, MOST_UNITS); ++i) {
    int64_t name = static_cast<uint64_t>(i) < known ? textures.integer(static_cast<uint64_t>(i)) : 0;
    Node* t = name ? m.find(m.share(), c_share::textures, static_cast<uint64_t>(name)) : nullptr;
    // the others are bound
    if (first + i < 0 || first + i >= MOST_UNITS || (name && (!t || !t->get(f_texture::target)))) continue;
    bind_texture_unit(m, first + i, name);
  }
}
namespace {
void parameter(Machine& m, Node* t, int64_t pname, Array* v, Num single) {
  if (!t) return m.refuse();
  auto give = [&](unsigned field) {
    if (v)
      m.set(t, field, 0, *v);
    else
      m.set(t, field, single);
  };
  if (pname == GL_TEXTURE_SWIZZLE_RGBA) {
    if (!v || v->count() < 4) return;
    for (unsigned i = 0; i < 4; ++i) m.set(t, f_texture::GL_TEXTURE_SWIZZLE_R + i, v->at(i));
    return;
  }
  Num value = v ? (v->count() ? v->at(0) : Num(0)) : single;
  bool rectangle = t->cls == &g_classes[class_texture] && t->get(f_texture::target) == GL_TEXTURE_RECTANGLE;
  if (rectangle && pname == GL_TEXTURE_MIN_FILTER && value.integer() != GL_NEAREST && value.integer() != GL_LINEAR)
    return m.refuse();
  if (pname == GL_TEXTURE_MAG_FILTER && value.integer() != GL_NEAREST && value.integer() != GL_LINEAR)
    return m.refuse();
  if (pname == GL_TEXTURE_MIN_FILTER && value.integer() != GL_NEAREST && value.integer() != GL_LINEAR &&
      (value.integer() < GL_NEAREST_MIPMAP_NEAREST || value.integer() > GL_LINEAR_MIPMAP_LINEAR))
    return m.refuse();
  int field = m.field_of(t, prefix_none, static_cast<uint32_t>(pname));
  if (field >= 0) give(static_cast<unsigned>(field));
}
}  // namespace
void tex_parameter(Machine& m, int64_t target, int64_t pname, Num param) {
  parameter(m, bound_texture(m, target), pname, nullptr, param);
}
void tex_parameter_v(Machine& m, int64_t target, int64_t pname, Array params) {
  parameter(m, bound_texture(m, target), pname, &params, {});
}
void texture_parameter(Machine& m, int64_t texture, int64_t pname, Num param) {
  parameter(m, m.object(c_share::textures, static_cast<uint64_t>(texture)), pname, nullptr, param);
}
void texture_parameter_v(Machine& m, int64_t texture, int64_t pname, Array params) {
  parameter(m, m.object(c_share::textures, static_cast<uint64_t>(texture)), pname, &params, {});
}
void sampler_parameter(Machine& m, int64_t sampler, int64_t pname, Num param) {
  parameter(m, m.object(c_share::samplers, static_cast<uint64_t>(sampler)), pname, nullptr, param);
}
void sampler_parameter_v(Machine& m, int64_t sampler, int64_t pname, Array params) {
  parameter(m, m.object(c_share::samplers, static_cast<uint64_t>(sampler)), pname, &params, {});
}

void read_unpack(Machine& m, const Array& pixels) {
  m.read(m.context(), f_context::group_unpack);
  m.read(m.context(), f_context::GL_PIXEL_UNPACK_BUFFER_BINDING);
  if (pixels.kind == DT_DATA_OFFSET || m.context()->get(f_context::GL_PIXEL_UNPACK_BUFFER_BINDING))
    if (Node* b = bound_buffer(m, GL_PIXEL_UNPACK_BUFFER)) m.read(b, f_buffer::content);
}
namespace {
Node* define_level(Machine& m, Node* t, int64_t target, int64_t level, int64_t format, int64_t w, int64_t h, int64_t d,
                   int64_t border) {
  Node* l = level_node(m, t, target, level, true);
  if (!l) return nullptr;
  m.set(l, f_level::GL_TEXTURE_WIDTH, Num(w));
  m.set(l, f_level::GL_TEXTURE_HEIGHT, Num(h));
  m.set(l, f_level::GL_TEXTURE_DEPTH, Num(d));
  m.set(l, f_level::GL_TEXTURE_INTERNAL_FORMAT, Num(format));
  m.set(l, f_level::GL_TEXTURE_BORDER, Num(border));
  return l;
}
bool is_array(int64_t target) { return target == GL_TEXTURE_2D_ARRAY || target == GL_TEXTURE_CUBE_MAP_ARRAY; }
int64_t smaller(int64_t size, int64_t by) { return by > 62 ? 1 : std::max<int64_t>(size >> by, 1); }
// Levels above the base of every face, as glGenerateMipmap makes them.
void mipmaps(Machine& m, Node* t) {
  if (!t) return m.refuse();
  int64_t base = std::clamp<int64_t>(t->get(f_texture::GL_TEXTURE_BASE_LEVEL), 0, 31),
          top = t->get(f_texture::GL_TEXTURE_MAX_LEVEL), target = t->get(f_texture::target);
  if (t->get(f_texture::GL_TEXTURE_IMMUTABLE_FORMAT))
    top = std::min(top, t->get(f_texture::GL_TEXTURE_IMMUTABLE_LEVELS) - 1);
  m.read(t, f_texture::GL_TEXTURE_BASE_LEVEL);
  m.read(t, f_texture::GL_TEXTURE_MAX_LEVEL);
  bool cube = target == GL_TEXTURE_CUBE_MAP;
  for (int64_t face = 0; face < (cube ? 6 : 1); ++face) {
    int64_t at = cube ? GL_TEXTURE_CUBE_MAP_POSITIVE_X + face : target;
    Node* l = level_node(m, t, at, base, false);
    if (!l) continue;
    m.read_all(l);
    int64_t w = l->get(f_level::GL_TEXTURE_WIDTH), h = l->get(f_level::GL_TEXTURE_HEIGHT),
            d = l->get(f_level::GL_TEXTURE_DEPTH);
    bool layers = is_array(target), rows = target == GL_TEXTURE_1D_ARRAY;
    int64_t most = std::max({w, rows ? 1 : h, layers ? 1 : d});
    for (int64_t n = 1; base + n <= std::min<int64_t>(top, 31) && (most >> n) > 0; ++n)
      if (Node* x = define_level(m, t, at, base + n, l->get(f_level::GL_TEXTURE_INTERNAL_FORMAT), smaller(w, n),
                                 rows ? h : smaller(h, n), layers ? d : smaller(d, n), 0))
        m.set_content(x, f_level::content, NONE, 0);
  }
}
void base_changed(Machine& m, Node* t, int64_t level) {
  if (t->get(f_texture::GL_GENERATE_MIPMAP) && level == t->get(f_texture::GL_TEXTURE_BASE_LEVEL)) {
    m.read(t, f_texture::GL_GENERATE_MIPMAP);
    mipmaps(m, t);
  }
}
bool is_proxy(int64_t target) {
  return target == GL_PROXY_TEXTURE_1D || target == GL_PROXY_TEXTURE_2D || target == GL_PROXY_TEXTURE_3D ||
         target == GL_PROXY_TEXTURE_CUBE_MAP || target == GL_PROXY_TEXTURE_RECTANGLE ||
         target == GL_PROXY_TEXTURE_1D_ARRAY || target == GL_PROXY_TEXTURE_2D_ARRAY ||
         target == GL_PROXY_TEXTURE_CUBE_MAP_ARRAY || target == GL_PROXY_TEXTURE_2D_MULTISAMPLE ||
         target == GL_PROXY_TEXTURE_2D_MULTISAMPLE_ARRAY;
}
}  // namespace
void tex_image(Machine& m, int64_t target, int64_t level, int64_t format, int64_t w, int64_t h, int64_t d,
               int64_t border, int64_t size, Array pixels) {
  if (is_proxy(target)) return;
  Node* t = bound_texture(m, target);
  if (!t || w < 0 || h < 0 || d < 0 || t->get(f_texture::GL_TEXTURE_IMMUTABLE_FORMAT)) return m.refuse();
  Node* l = define_level(m, t, target, level, format, w, h, d, border);
  if (!l) return m.refuse();
  m.own_content(l, f_level::content);
  m.set(l, f_level::GL_TEXTURE_COMPRESSED_IMAGE_SIZE, Num(size));
  read_unpack(m, pixels);
  read_pixel_transfer(m);
  m.set_content(l, f_level::content, pixels.content_hash(), pixels.content() ? pixels.bytes : 0);
  base_changed(m, t, level);
}
namespace {
void sub_image(Machine& m, Node* t, int64_t target, int64_t level, int64_t x, int64_t y, int64_t z, int64_t w,
               int64_t h, int64_t d, Array pixels) {
  Node* l = level_node(m, t, target, level, false);
  if (!l) return m.refuse();
  read_unpack(m, pixels);
  read_pixel_transfer(m);
  bool all = x == 0 && y == 0 && z == 0 && w == l->get(f_level::GL_TEXTURE_WIDTH) &&
             h == l->get(f_level::GL_TEXTURE_HEIGHT) && d == l->get(f_level::GL_TEXTURE_DEPTH);
  m.log(l->base, f_level::content, Touch::read);  // its size and format
  if (all)
    m.set_content(l, f_level::content, pixels.content_hash(), pixels.content() ? pixels.bytes : 0);
  else {
    m.touch_content(l, f_level::content, {{x, y, z}, {x + w, y + h, z + d}});
    m.uploaded(l, f_level::content, pixels.content() ? pixels.bytes : 0, pixels.content_hash());
  }
  base_changed(m, t, level);
}
Node* named_texture(Machine& m, int64_t name) { return m.object(c_share::textures, static_cast<uint64_t>(name)); }
}  // namespace
void tex_sub_image(Machine& m, int64_t target, int64_t level, int64_t x, int64_t y, int64_t z, int64_t w, int64_t h,
                   int64_t d, Array pixels) {
  sub_image(m, bound_texture(m, target), target, level, x, y, z, w, h, d, pixels);
}
void texture_sub_image(Machine& m, int64_t texture, int64_t level, int64_t x, int64_t y, int64_t z, int64_t w,
                       int64_t h, int64_t d, Array pixels) {
  Node* t = named_texture(m, texture);
  if (!t) return m.refuse();
  int64_t target = t->get(f_texture::target);
  if (target == GL_TEXTURE_CUBE_MAP) {  // layers are faces
    for (int64_t f = std::max<int64_t>(z, 0); f < std::min<int64_t>(z + d, 6); ++f)
      sub_image(m, t, GL_TEXTURE_CUBE_MAP_POSITIVE_X + f, level, x, y, 0, w, h, 1, pixels);
    return;
  }
  sub_image(m, t, target, level, x, y, z, w, h, d, pixels);
}
void copy_tex_image(Machine& m, int64_t target, int64_t level, int64_t format, int64_t w, int64_t h, int64_t border) {
  Node* t = bound_texture(m, target);
  if (!t || t->get(f_texture::GL_TEXTURE_IMMUTABLE_FORMAT)) return m.refuse();
  read_pixels_of(m, format);
  if (Node* l = define_level(m, t, target, level, format, w, h, 1, border)) {
    m.own_content(l, f_level::content);
    m.set_content(l, f_level::content, NONE, 0);
  }
  base_changed(m, t, level);
}
namespace {
void copy_sub(Machine& m, Node* t, int64_t target, int64_t level, int64_t x, int64_t y, int64_t z, int64_t w,
              int64_t h) {
  Node* l = level_node(m, t, target, level, false);
  if (!l) return m.refuse();
  read_pixels_of(m, l->get(f_level::GL_TEXTURE_INTERNAL_FORMAT));
  bool all = !x && !y && !z && w == l->get(f_level::GL_TEXTURE_WIDTH) && h == l->get(f_level::GL_TEXTURE_HEIGHT) &&
             l->get(f_level::GL_TEXTURE_DEPTH) == 1;
  m.log(l->base, f_level::content, Touch::read);
  if (all)
    m.set_content(l, f_level::content, NONE, 0);
  else
    m.touch_content(l, f_level::content, {{x, y, z}, {x + w, y + h, z + 1}});
  base_changed(m, t, level);
}
}  // namespace
void copy_tex_sub_image(Machine& m, int64_t target, int64_t level, int64_t x, int64_t y, int64_t z, int64_t w,
                        int64_t h) {
  copy_sub(m, bound_texture(m, target), target, level, x, y, z, w, h);
}
void copy_texture_sub_image(Machine& m, int64_t texture, int64_t level, int64_t x, int64_t y, int64_t z, int64_t w,
                            int64_t h) {
  if (Node* t = named_texture(m, texture)) copy_sub(m, t, t->get(f_texture::target), level, x, y, z, w, h);
}
namespace {
void storage(Machine& m, Node* t, int64_t levels, int64_t format, int64_t w, int64_t h, int64_t d) {
  if (!t || levels < 1 || levels > 32 || t->get(f_texture::GL_TEXTURE_IMMUTABLE_FORMAT)) return m.refuse();
  int64_t target = t->get(f_texture::target);
  bool cube = target == GL_TEXTURE_CUBE_MAP;
  for (int64_t n = 0; n < levels; ++n)
    for (int64_t face = 0; face < (cube ? 6 : 1); ++face)
      if (Node* l =
              define_level(m, t, cube ? GL_TEXTURE_CUBE_MAP_POSITIVE_X + face : target, n, format, smaller(w, n),
                           target == GL_TEXTURE_1D_ARRAY ? h : smaller(h, n), is_array(target) ? d : smaller(d, n), 0))
        m.set_content(l, f_level::content, NONE, 0);
  m.set(t, f_texture::GL_TEXTURE_IMMUTABLE_FORMAT, Num(1));
  m.set(t, f_texture::GL_TEXTURE_IMMUTABLE_LEVELS, Num(levels));
  m.set(t, f_texture::GL_TEXTURE_VIEW_NUM_LEVELS, Num(levels));
  m.set(t, f_texture::GL_TEXTURE_VIEW_NUM_LAYERS,
        Num(cube                            ? 6
            : is_array(target)              ? d
            : target == GL_TEXTURE_1D_ARRAY ? h
                                            : 1));
}
}  // namespace
void tex_storage(Machine& m, int64_t target, int64_t levels, int64_t format, int64_t w, int64_t h, int64_t d) {
  if (!is_proxy(target)) storage(m, bound_texture(m, target), levels, format, w, h, d);
}
// EXT_direct_state_access names a texture and its target: that is its first use, where it had none.
void texture_named(Machine& m, int64_t texture, int64_t target) {
  Node* t = named_texture(m, texture);
  if (!t && texture > 0) t = m.make(m.share(), c_share::textures, static_cast<uint64_t>(texture));
  if (t && !t->get(f_texture::target)) init_texture(m, t, static_cast<uint32_t>(base_target(target)));
}
void texture_direct(Machine& m, int64_t texture, int64_t target) {
  texture_named(m, texture, target);
  m.direct_texture = texture ? named_texture(m, texture)
                             : m.find(m.share(), c_share::default_textures, static_cast<uint64_t>(base_target(target)));
}
void unit_direct(Machine& m, int64_t unit) {
  m.direct_unit = m.child(m.context(), c_context::texture_units, static_cast<uint64_t>(unit - GL_TEXTURE0));
}
void texture_storage(Machine& m, int64_t texture, int64_t levels, int64_t format, int64_t w, int64_t h, int64_t d) {
  storage(m, named_texture(m, texture), levels, format, w, h, d);
}
namespace {
void multisample(Machine& m, Node* t, int64_t samples, int64_t format, int64_t w, int64_t h, int64_t d, int64_t fixed,
                 bool immutable) {
  if (!t) return m.refuse();
  Node* l = define_level(m, t, t->get(f_texture::target), 0, format, w, h, d, 0);
  if (!l) return;
  m.set(l, f_level::GL_TEXTURE_SAMPLES, Num(samples));
  m.set(l, f_level::GL_TEXTURE_FIXED_SAMPLE_LOCATIONS, Num(fixed));
  m.set_content(l, f_level::content, NONE, 0);
  if (immutable) {
    m.set(t, f_texture::GL_TEXTURE_IMMUTABLE_FORMAT, Num(1));
    m.set(t, f_texture::GL_TEXTURE_IMMUTABLE_LEVELS, Num(1));
  }
}
}  // namespace
void tex_multisample(Machine& m, int64_t target, int64_t samples, int64_t format, int64_t w, int64_t h, int64_t d,
                     int64_t fixed, int64_t immutable) {
  if (!is_proxy(target)) multisample(m, bound_texture(m, target), samples, format, w, h, d, fixed, immutable);
}
void texture_multisample(Machine& m, int64_t texture, int64_t samples, int64_t format, int64_t w, int64_t h, int64_t d,
                         int64_t fixed) {
  multisample(m, named_texture(m, texture), samples, format, w, h, d, fixed, true);
}
namespace {
void of_buffer(Machine& m, Node* t, int64_t format, int64_t buffer, int64_t offset, int64_t size) {
  Node* l = level_node(m, t, 0, 0, true);
  if (!l) return m.refuse();
  touched_buffer(m, static_cast<uint64_t>(buffer));
  m.set(l, f_level::GL_TEXTURE_INTERNAL_FORMAT, Num(format));
  m.set(l, f_level::GL_TEXTURE_BUFFER_DATA_STORE_BINDING, Num(buffer));
  m.set(l, f_level::GL_TEXTURE_BUFFER_OFFSET, Num(offset));
  m.set(l, f_level::GL_TEXTURE_BUFFER_SIZE, Num(size));
}
}  // namespace
void tex_buffer(Machine& m, int64_t target, int64_t format, int64_t buffer, int64_t offset, int64_t size) {
  of_buffer(m, bound_texture(m, target), format, buffer, offset, size);
}
void texture_buffer(Machine& m, int64_t texture, int64_t format, int64_t buffer, int64_t offset, int64_t size) {
  of_buffer(m, named_texture(m, texture), format, buffer, offset, size);
}
void texture_view(Machine& m, int64_t texture, int64_t target, int64_t original, int64_t format, int64_t minlevel,
                  int64_t levels, int64_t minlayer, int64_t layers) {
  Node *t = named_texture(m, texture), *o = named_texture(m, original);
  if (!t || !o) return m.refuse();
  init_texture(m, t, static_cast<uint32_t>(target));
  bool cube = target == GL_TEXTURE_CUBE_MAP, from_cube = o->get(f_texture::target) == GL_TEXTURE_CUBE_MAP;
  int64_t made = 0;
  for (int64_t n = 0; n < std::min<int64_t>(levels, 32); ++n)
    for (int64_t face = 0; face < (cube ? 6 : 1); ++face) {
      Node* from = level_node(m, o,
                              from_cube ? GL_TEXTURE_CUBE_MAP_POSITIVE_X + std::min<int64_t>(minlayer + face, 5)
                                        : o->get(f_texture::target),
                              minlevel + n, false);
      if (!from) continue;
      made = std::max(made, n + 1);
      m.read_all(from);
      int64_t w = from->get(f_level::GL_TEXTURE_WIDTH), h = from->get(f_level::GL_TEXTURE_HEIGHT),
              d = from->get(f_level::GL_TEXTURE_DEPTH);
      int64_t seen = is_array(target) ? layers : target == GL_TEXTURE_3D ? d : 1;
      Node* l = define_level(m, t, cube ? GL_TEXTURE_CUBE_MAP_POSITIVE_X + face : target, n, format, w, h, seen, 0);
      if (!l) continue;
      m.set_content(l, f_level::content, NONE, 0);
      m.share_content(l, f_level::content, from, f_level::content, static_cast<uint64_t>(w * h * seen),
                      static_cast<uint64_t>(w * h * d));
    }
  m.set(t, f_texture::GL_TEXTURE_IMMUTABLE_FORMAT, Num(1));
  m.set(t, f_texture::GL_TEXTURE_IMMUTABLE_LEVELS, Num(o->get(f_texture::GL_TEXTURE_IMMUTABLE_LEVELS)));
  m.set(t, f_texture::GL_TEXTURE_VIEW_MIN_LEVEL, Num(minlevel));
  m.set(t, f_texture::GL_TEXTURE_VIEW_NUM_LEVELS, Num(made));
  m.set(t, f_texture::GL_TEXTURE_VIEW_MIN_LAYER, Num(minlayer));
  m.set(t, f_texture::GL_TEXTURE_VIEW_NUM_LAYERS, Num(layers));
}
void generate_mipmap(Machine& m, int64_t target) { mipmaps(m, bound_texture(m, target)); }
void generate_texture_mipmap(Machine& m, int64_t texture) { mipmaps(m, named_texture(m, texture)); }
namespace {
template <class Do> void each_level(Machine& m, Node* t, int64_t level, Do act) {
  if (!t) return;
  bool cube = t->get(f_texture::target) == GL_TEXTURE_CUBE_MAP;
  for (int64_t face = 0; face < (cube ? 6 : 1); ++face)
    if (Node* l =
            level_node(m, t, cube ? GL_TEXTURE_CUBE_MAP_POSITIVE_X + face : t->get(f_texture::target), level, false))
      act(l);
}
}  // namespace
void clear_tex_image(Machine& m, int64_t texture, int64_t level, int64_t whole) {
  each_level(m, named_texture(m, texture), level, [&](Node* l) {
    if (whole)
      m.set_content(l, f_level::content, NONE, 0);
    else
      m.touch_content(l, f_level::content);
  });
}
void invalidate_tex_image(Machine& m, int64_t texture, int64_t level) { clear_tex_image(m, texture, level, 1); }
void copy_image(Machine& m, int64_t from, int64_t from_target, int64_t from_level, int64_t to, int64_t to_target,
                int64_t to_level, int64_t w, int64_t h, int64_t) {
  auto content = [&](int64_t name, int64_t target, int64_t level, unsigned& field) -> Node* {
    if (target == GL_RENDERBUFFER) {
      field = f_renderbuffer::content;
      return m.object(c_share::renderbuffers, static_cast<uint64_t>(name));
    }
    field = f_level::content;
    Node* t = named_texture(m, name);
    return t ? level_node(m, t, target == GL_TEXTURE_CUBE_MAP ? GL_TEXTURE_CUBE_MAP_POSITIVE_X : target, level, false)
             : nullptr;
  };
  unsigned ff = 0, tf = 0;
  Node *a = content(from, from_target, from_level, ff), *b = content(to, to_target, to_level, tf);
  (void)w, (void)h;
  if (a) m.read(a, ff);
  if (from_target == GL_TEXTURE_CUBE_MAP)
    each_level(m, named_texture(m, from), from_level, [&](Node* l) { m.read(l, f_level::content); });
  if (b) m.touch_content(b, tf);
  if (to_target == GL_TEXTURE_CUBE_MAP)
    each_level(m, named_texture(m, to), to_level, [&](Node* l) { m.touch_content(l, f_level::content); });
}
void prioritize_textures(Machine& m, int64_t n, Array textures, Array priorities) {
  uint64_t count = std::min({textures.count(), priorities.count(), static_cast<uint64_t>(std::max<int64_t>(n, 0))});
  for (uint64_t i = 0; i < count; ++i)
    if (Node* t = named_texture(m, textures.integer(i)))
      m.set(t, f_texture::GL_TEXTURE_PRIORITY, unit_range(priorities.at(i)));
}
namespace {
void read_handle(Machine& m, uint64_t handle) {
  if (Node* n = m.find(m.root(), c_root::handles, handle)) m.read_all(n);
}
}  // namespace
void image_texture(Machine& m, int64_t target, int64_t image) {
  Node* t = bound_texture(m, target);
  Node* l = level_node(m, t, target, 0, true);
  if (!l) return;
  const auto handle = static_cast<uint64_t>(image);
  read_handle(m, handle);
  m.own_content(l, f_level::content);
  m.set_content(l, f_level::content, NONE, 0);
  auto it = m.images.find(handle);
  if (it == m.images.end()) return;  // of something whose size EGL alone knows
  const auto& [w, h, d, format] = it->second;
  define_level(m, t, target, 0, format, w, h, 1, 0);
  base_changed(m, t, 0);
  const auto extent = static_cast<uint64_t>(w * h);
  m.share_content(l, f_level::content, m.find(m.root(), c_root::handles, handle), f_handle::parameters, extent, extent);
}
void image_renderbuffer(Machine& m, int64_t, int64_t image) {
  m.read(m.context(), f_context::GL_RENDERBUFFER_BINDING);
  Node* r =
      m.object(c_share::renderbuffers, static_cast<uint64_t>(m.context()->get(f_context::GL_RENDERBUFFER_BINDING)));
  if (!r) return;
  const auto handle = static_cast<uint64_t>(image);
  read_handle(m, handle);
  m.own_content(r, f_renderbuffer::content);
  m.set_content(r, f_renderbuffer::content, NONE, 0);
  auto it = m.images.find(handle);
  if (it == m.images.end()) return;
  const auto& [w, h, d, format] = it->second;
  m.set(r, f_renderbuffer::GL_RENDERBUFFER_WIDTH, Num(w));
  m.set(r, f_renderbuffer::GL_RENDERBUFFER_HEIGHT, Num(h));
  m.set(r, f_renderbuffer::GL_RENDERBUFFER_INTERNAL_FORMAT, Num(format));
  m.set(r, f_renderbuffer::GL_RENDERBUFFER_SAMPLES, Num(0));
  const auto extent = static_cast<uint64_t>(w * h);
  m.share_content(r, f_renderbuffer::content, m.find(m.root(), c_root::handles, handle), f_handle::parameters, extent,
                  extent);
}
void image_made(Machine& m, Node* image, uint64_t context, uint32_t target, uint64_t of, int64_t level) {
  auto it = m.context_by_handle.find(context);
  if (!image || it == m.context_by_handle.end()) return;
  Node* share = it->second->share->node;
  const bool texture = target >= EGL_GL_TEXTURE_2D && target <= EGL_GL_TEXTURE_CUBE_MAP_NEGATIVE_Z;
  Node* from = texture || target == EGL_GL_RENDERBUFFER
                   ? m.find(share, texture ? c_share::textures : c_share::renderbuffers, of)
                   : nullptr;
  if (!from) return;
  m.read(from);
  m.set_content(image, f_handle::parameters, NONE, 0);
  unsigned field = f_renderbuffer::content;
  if (texture) {
    m.read(from, f_texture::target);
    from = level_node(m, from,
                      target == EGL_GL_TEXTURE_2D ? GL_TEXTURE_2D
                      : target == EGL_GL_TEXTURE_3D
                          ? GL_TEXTURE_3D
                          : GL_TEXTURE_CUBE_MAP_POSITIVE_X + (target - EGL_GL_TEXTURE_CUBE_MAP_POSITIVE_X),
                      level, false);
    if (!from) return;
    field = f_level::content;
  }
  m.read_all(from);
  Machine::ImageSize& size = m.images[image->key];
  if (texture)
    size = {from->get(f_level::GL_TEXTURE_WIDTH), from->get(f_level::GL_TEXTURE_HEIGHT),
            from->get(f_level::GL_TEXTURE_DEPTH), from->get(f_level::GL_TEXTURE_INTERNAL_FORMAT)};
  else
    size = {from->get(f_renderbuffer::GL_RENDERBUFFER_WIDTH), from->get(f_renderbuffer::GL_RENDERBUFFER_HEIGHT), 1,
            from->get(f_renderbuffer::GL_RENDERBUFFER_INTERNAL_FORMAT)};
  const auto extent = static_cast<uint64_t>(size.width * size.height);
  m.share_content(image, f_handle::parameters, from, field, extent, extent * static_cast<uint64_t>(size.depth));
}
void bind_image_texture(Machine& m, int64_t index, int64_t texture, int64_t level, int64_t layered, int64_t layer,
                        int64_t access, int64_t format) {
  if (index < 0 || index >= MOST_UNITS) return m.refuse();
  Node* u = m.child(m.context(), c_context::image_units, static_cast<uint64_t>(index));
  if (!u) return;
  m.set(u, f_image_unit::GL_IMAGE_BINDING_NAME, Num(texture));
  m.set(u, f_image_unit::GL_IMAGE_BINDING_LEVEL, Num(level));
  m.set(u, f_image_unit::GL_IMAGE_BINDING_LAYERED, Num(layered));
  m.set(u, f_image_unit::GL_IMAGE_BINDING_LAYER, Num(layer));
  m.set(u, f_image_unit::GL_IMAGE_BINDING_ACCESS, Num(access));
  m.set(u, f_image_unit::GL_IMAGE_BINDING_FORMAT, Num(format));
}
void bind_image_textures(Machine& m, int64_t first, int64_t count, Array textures) {
  uint64_t known = textures.count();
  for (int64_t i = 0; i < std::min(count, MOST_UNITS); ++i) {
    int64_t name = static_cast<uint64_t>(i) < known ? textures.integer(static_cast<uint64_t>(i)) : 0;
    Node* t = named_texture(m, name);
    Node* l = t ? level_node(m, t, t->get(f_texture::target), 0, false) : nullptr;
    bind_image_texture(m, first + i, name, 0, name != 0, 0, name ? GL_READ_WRITE : GL_READ_ONLY,
                       l ? l->get(f_level::GL_TEXTURE_INTERNAL_FORMAT) : GL_R8);
  }
}
void bind_sampler(Machine& m, int64_t index, int64_t sampler) {
  if (index < 0 || index >= MOST_UNITS) return m.refuse();
  if (sampler && !m.object(c_share::samplers, static_cast<uint64_t>(sampler))) return m.refuse();
  if (Node* u = m.child(m.context(), c_context::texture_units, static_cast<uint64_t>(index)))
    m.set(u, f_texture_unit::GL_SAMPLER_BINDING, Num(sampler));
}
void bind_samplers(Machine& m, int64_t first, int64_t count, Array samplers) {
  uint64_t known = samplers.count();
  for (int64_t i = 0; i < std::min(count, MOST_UNITS); ++i) {
    int64_t name = static_cast<uint64_t>(i) < known ? samplers.integer(static_cast<uint64_t>(i)) : 0;
    if (first + i >= 0 && first + i < MOST_UNITS &&
        (!name || m.find(m.share(), c_share::samplers, static_cast<uint64_t>(name))))
      bind_sampler(m, first + i, name);
  }
}
void get_tex_image(Machine& m, int64_t target, int64_t level, Array) {
  Node* l = level_node(m, bound_texture(m, target), target, level, false);
  if (l) m.read_all(l);
  if (Node* b = bound_buffer(m, GL_PIXEL_PACK_BUFFER)) m.touch_content(b, f_buffer::content);
}
void get_texture_image(Machine& m, int64_t texture, int64_t level, Array) {
  each_level(m, named_texture(m, texture), level, [&](Node* l) { m.read_all(l); });
  if (Node* b = bound_buffer(m, GL_PIXEL_PACK_BUFFER)) m.touch_content(b, f_buffer::content);
}

// ---- framebuffers -------------------------------------------------------------------------------

void bind_framebuffer(Machine& m, int64_t target, int64_t name) {
  Node* c = m.context();
  auto key = static_cast<uint64_t>(name);
  if (key && !m.find(c, c_context::framebuffers, key)) m.make(c, c_context::framebuffers, key);
  m.own_object(c_context::framebuffers, key);
  if (target != GL_READ_FRAMEBUFFER) m.set(c, f_context::GL_DRAW_FRAMEBUFFER_BINDING, Num(name));
  if (target != GL_DRAW_FRAMEBUFFER) m.set(c, f_context::GL_READ_FRAMEBUFFER_BINDING, Num(name));
}
namespace {
template <class Do> void each_attachment(Machine& m, Node* f, int64_t attachment, Do act) {
  if (!f || !f->key) return m.refuse();
  int64_t points[2] = {attachment, 0};
  if (attachment == GL_DEPTH_STENCIL_ATTACHMENT) points[0] = GL_DEPTH_ATTACHMENT, points[1] = GL_STENCIL_ATTACHMENT;
  for (int64_t point : points)
    if (point)
      if (Node* a = m.child(f, c_framebuffer::attachments, static_cast<uint64_t>(point))) act(a);
}
void attach(Machine& m, Node* a, int64_t type, int64_t name, int64_t level, int64_t face, int64_t layer,
            int64_t layered) {
  m.set(a, f_attachment::GL_FRAMEBUFFER_ATTACHMENT_OBJECT_TYPE, Num(name ? type : 0));
  m.set(a, f_attachment::GL_FRAMEBUFFER_ATTACHMENT_OBJECT_NAME, Num(name));
  m.set(a, f_attachment::GL_FRAMEBUFFER_ATTACHMENT_TEXTURE_LEVEL, Num(name ? level : 0));
  m.set(a, f_attachment::GL_FRAMEBUFFER_ATTACHMENT_TEXTURE_CUBE_MAP_FACE, Num(name ? face : 0));
  m.set(a, f_attachment::GL_FRAMEBUFFER_ATTACHMENT_TEXTURE_LAYER, Num(name ? layer : 0));
  m.set(a, f_attachment::GL_FRAMEBUFFER_ATTACHMENT_LAYERED, Num(name ? layered : 0));
}
void attach_to(Machine& m, Node* f, int64_t attachment, int64_t textarget, int64_t texture, int64_t level,
               int64_t layer, int64_t layered) {
  Node* t = named_texture(m, texture);
  if (texture && !t) return m.refuse();
  if (t && textarget && !t->get(f_texture::target)) init_texture(m, t, static_cast<uint32_t>(base_target(textarget)));
  int64_t target = t ? t->get(f_texture::target) : 0;
  int64_t face =
      textarget >= GL_TEXTURE_CUBE_MAP_POSITIVE_X && textarget <= GL_TEXTURE_CUBE_MAP_NEGATIVE_Z ? textarget : 0;
  if (target == GL_TEXTURE_CUBE_MAP && !face && !layered)
    face = GL_TEXTURE_CUBE_MAP_POSITIVE_X + std::clamp<int64_t>(layer, 0, 5), layer = 0;
  bool can_layer = target == GL_TEXTURE_CUBE_MAP || target == GL_TEXTURE_3D || target == GL_TEXTURE_1D_ARRAY ||
                   target == GL_TEXTURE_2D_ARRAY || target == GL_TEXTURE_CUBE_MAP_ARRAY ||
                   target == GL_TEXTURE_2D_MULTISAMPLE_ARRAY;
  each_attachment(m, f, attachment,
                  [&](Node* a) { attach(m, a, GL_TEXTURE, texture, level, face, layer, layered && can_layer); });
}
}  // namespace
void attach_texture(Machine& m, int64_t target, int64_t attachment, int64_t textarget, int64_t texture, int64_t level,
                    int64_t layer, int64_t layered) {
  attach_to(m, bound_framebuffer(m, target), attachment, textarget, texture, level, layer, layered);
}
void named_attach_texture(Machine& m, int64_t framebuffer, int64_t attachment, int64_t texture, int64_t level,
                          int64_t layer, int64_t layered) {
  attach_to(m, m.own_object(c_context::framebuffers, static_cast<uint64_t>(framebuffer)), attachment, 0, texture, level,
            layer, layered);
}
void attach_renderbuffer(Machine& m, int64_t target, int64_t attachment, int64_t name) {
  if (name && !m.object(c_share::renderbuffers, static_cast<uint64_t>(name))) return m.refuse();
  each_attachment(m, bound_framebuffer(m, target), attachment,
                  [&](Node* a) { attach(m, a, GL_RENDERBUFFER, name, 0, 0, 0, 0); });
}
void named_attach_renderbuffer(Machine& m, int64_t framebuffer, int64_t attachment, int64_t name) {
  if (name && !m.object(c_share::renderbuffers, static_cast<uint64_t>(name))) return m.refuse();
  each_attachment(m, m.own_object(c_context::framebuffers, static_cast<uint64_t>(framebuffer)), attachment,
                  [&](Node* a) { attach(m, a, GL_RENDERBUFFER, name, 0, 0, 0, 0); });
}
namespace {
void buffers_of(Machine& m, Node* f, int64_t n, Array bufs) {
  uint64_t known = bufs.count();
  if (!f) return;
  for (unsigned i = 0; i < 8; ++i)
    m.set(f, f_framebuffer::GL_DRAW_BUFFER0 + i,
          Num(i < static_cast<uint64_t>(std::max<int64_t>(n, 0)) && i < known ? bufs.integer(i) : 0));
}
void one_buffer(Machine& m, Node* f, int64_t buf) {
  if (!f) return;
  for (unsigned i = 0; i < 8; ++i) m.set(f, f_framebuffer::GL_DRAW_BUFFER0 + i, Num(i ? 0 : buf));
}
}  // namespace
void draw_buffer(Machine& m, int64_t buf) { one_buffer(m, draw_framebuffer(m), buf); }
void draw_buffers(Machine& m, int64_t n, Array bufs) { buffers_of(m, draw_framebuffer(m), n, bufs); }
void read_buffer(Machine& m, int64_t src) {
  m.set(bound_framebuffer(m, GL_READ_FRAMEBUFFER), f_framebuffer::GL_READ_BUFFER, Num(src));
}
void named_draw_buffer(Machine& m, int64_t f, int64_t buf) {
  one_buffer(m, m.own_object(c_context::framebuffers, static_cast<uint64_t>(f)), buf);
}
void named_draw_buffers(Machine& m, int64_t f, int64_t n, Array bufs) {
  buffers_of(m, m.own_object(c_context::framebuffers, static_cast<uint64_t>(f)), n, bufs);
}
void named_read_buffer(Machine& m, int64_t f, int64_t src) {
  m.set(m.own_object(c_context::framebuffers, static_cast<uint64_t>(f)), f_framebuffer::GL_READ_BUFFER, Num(src));
}
void bind_renderbuffer(Machine& m, int64_t name) {
  if (name && !m.find(m.share(), c_share::renderbuffers, static_cast<uint64_t>(name)))
    init_renderbuffer(m, m.make(m.share(), c_share::renderbuffers, static_cast<uint64_t>(name)));
  m.object(c_share::renderbuffers, static_cast<uint64_t>(name));
  m.set(m.context(), f_context::GL_RENDERBUFFER_BINDING, Num(name));
}
namespace {
void renderbuffer_of(Machine& m, Node* r, int64_t samples, int64_t format, int64_t w, int64_t h) {
  if (!r || w < 0 || h < 0) return m.refuse();
  m.set(r, f_renderbuffer::GL_RENDERBUFFER_WIDTH, Num(w));
  m.set(r, f_renderbuffer::GL_RENDERBUFFER_HEIGHT, Num(h));
  m.set(r, f_renderbuffer::GL_RENDERBUFFER_INTERNAL_FORMAT, Num(format));
  m.set(r, f_renderbuffer::GL_RENDERBUFFER_SAMPLES, Num(samples));
  m.own_content(r, f_renderbuffer::content);
  m.set_content(r, f_renderbuffer::content, NONE, 0);
}
}  // namespace
void renderbuffer_storage(Machine& m, int64_t samples, int64_t format, int64_t w, int64_t h) {
  m.read(m.context(), f_context::GL_RENDERBUFFER_BINDING);
  renderbuffer_of(
      m, m.object(c_share::renderbuffers, static_cast<uint64_t>(m.context()->get(f_context::GL_RENDERBUFFER_BINDING))),
      samples, format, w, h);
}
void named_renderbuffer_storage(Machine& m, int64_t name, int64_t samples, int64_t format, int64_t w, int64_t h) {
  renderbuffer_of(m, m.object(c_share::renderbuffers, static_cast<uint64_t>(name)), samples, format, w, h);
}

// ---- queries, transform feedback, synchronisation -----------------------------------------------

namespace {
int query_slot(int64_t target) {
  switch (target) {
    case GL_SAMPLES_PASSED: return 0;
    case GL_ANY_SAMPLES_PASSED: return 1;
    case GL_ANY_SAMPLES_PASSED_CONSERVATIVE: return 2;
    case GL_PRIMITIVES_GENERATED: return 3;
    case GL_TRANSFORM_FEEDBACK_PRIMITIVES_WRITTEN: return 4;
    case GL_TIME_ELAPSED: return 5;
    default: return 6;
  }
}
}  // namespace
void begin_query(Machine& m, int64_t target, int64_t index, int64_t id) {
  Node* c = m.context();
  if (!id || index < 0) return m.refuse();
  auto name = static_cast<uint64_t>(id);
  Node* q = m.find(c, c_context::queries, name);
  if (!q) q = m.make(c, c_context::queries, name);
  m.read(q);
  m.set(q, f_query::target, Num(target));
  m.set(q, f_query::active, Num(1));
  m.set_content(q, f_query::result, NONE, 0);
  m.set(c, f_context::GL_CURRENT_QUERY_i, static_cast<unsigned>(query_slot(target)), {Num(id)});
}
void end_query(Machine& m, int64_t target, int64_t) {
  Node* c = m.context();
  auto slot = static_cast<unsigned>(query_slot(target));
  Node* q = m.own_object(c_context::queries, static_cast<uint64_t>(c->get(f_context::GL_CURRENT_QUERY_i, slot)));
  m.read(c, f_context::GL_CURRENT_QUERY_i, slot);
  if (!q) return m.refuse();
  m.set(q, f_query::active, Num(0));
  m.touch_content(q, f_query::result);
  m.set(c, f_context::GL_CURRENT_QUERY_i, slot, {Num(0)});
}
void query_counter(Machine& m, int64_t id, int64_t target) {
  Node* q = m.own_object(c_context::queries, static_cast<uint64_t>(id));
  if (!q) return m.refuse();
  m.set(q, f_query::target, Num(target));
  m.set_content(q, f_query::result, NONE, 0);
}
void get_query(Machine& m, int64_t id) {
  if (Node* q = m.own_object(c_context::queries, static_cast<uint64_t>(id))) m.read_all(q);
  if (Node* b = bound_buffer(m, GL_QUERY_BUFFER)) m.touch_content(b, f_buffer::content);
}
void begin_conditional(Machine& m, int64_t id, int64_t mode) {
  m.set(m.context(), f_context::conditional_query, Num(id));
  m.set(m.context(), f_context::conditional_mode, Num(mode));
}
void end_conditional(Machine& m) { m.set(m.context(), f_context::conditional_query, Num(0)); }
namespace {
Node* feedback_object(Machine& m) {
  m.read(m.context(), f_context::GL_TRANSFORM_FEEDBACK_BINDING);
  return m.own_object(c_context::transform_feedbacks,
                      static_cast<uint64_t>(m.context()->get(f_context::GL_TRANSFORM_FEEDBACK_BINDING)));
}
}  // namespace
void bind_feedback(Machine& m, int64_t id) {
  auto name = static_cast<uint64_t>(id);
  if (!m.find(m.context(), c_context::transform_feedbacks, name))
    m.make(m.context(), c_context::transform_feedbacks, name);
  m.own_object(c_context::transform_feedbacks, name);
  m.set(m.context(), f_context::GL_TRANSFORM_FEEDBACK_BINDING, Num(id));
}
void feedback(Machine& m, int64_t on, int64_t, int64_t mode) {
  Node* f = feedback_object(m);
  if (!f) return;
  m.set(f, f_transform_feedback::active, Num(on));
  m.set(f, f_transform_feedback::paused, Num(0));
  if (on) {
    m.set(f, f_transform_feedback::mode, Num(mode));
    m.set_content(f, f_transform_feedback::vertices, NONE, 0);
  }
}
void feedback_pause(Machine& m, int64_t on) { m.set(feedback_object(m), f_transform_feedback::paused, Num(on)); }
void fence(Machine& m, int64_t sync) {
  if (sync) m.make(m.share(), c_share::syncs, static_cast<uint64_t>(sync));
}
void delete_sync(Machine& m, int64_t sync) {
  if (Node* n = m.find(m.share(), c_share::syncs, static_cast<uint64_t>(sync))) m.remove(n);
}
void wait_sync(Machine& m, int64_t sync) {
  if (Node* n = m.find(m.share(), c_share::syncs, static_cast<uint64_t>(sync))) m.read_all(n);
}

}  // namespace dt::state::run
