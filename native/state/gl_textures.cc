// Textures, their images, and samplers.
#include <algorithm>
#include <cmath>

#include "gl_objects.h"
#include "egl_enums.h"
#include "gl_enums.h"

namespace dt::state::run {

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
void texture_parameter(Machine& m, Node* t, int64_t pname, Num param) { parameter(m, t, pname, nullptr, param); }
void texture_parameter_v(Machine& m, Node* t, int64_t pname, Array params) { parameter(m, t, pname, &params, {}); }

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
}  // namespace
void generate_mipmap(Machine& m, Node* t) {
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
namespace {
void base_changed(Machine& m, Node* t, int64_t level) {
  if (t->get(f_texture::GL_GENERATE_MIPMAP) && level == t->get(f_texture::GL_TEXTURE_BASE_LEVEL)) {
    m.read(t, f_texture::GL_GENERATE_MIPMAP);
    generate_mipmap(m, t);
  }
}
bool is_proxy_texture(int64_t target) {
  return target == GL_PROXY_TEXTURE_1D || target == GL_PROXY_TEXTURE_2D || target == GL_PROXY_TEXTURE_3D ||
         target == GL_PROXY_TEXTURE_CUBE_MAP || target == GL_PROXY_TEXTURE_RECTANGLE ||
         target == GL_PROXY_TEXTURE_1D_ARRAY || target == GL_PROXY_TEXTURE_2D_ARRAY ||
         target == GL_PROXY_TEXTURE_CUBE_MAP_ARRAY || target == GL_PROXY_TEXTURE_2D_MULTISAMPLE ||
         target == GL_PROXY_TEXTURE_2D_MULTISAMPLE_ARRAY;
}
}  // namespace
void tex_image(Machine& m, int64_t target, int64_t level, int64_t format, int64_t w, int64_t h, int64_t d,
               int64_t border, int64_t size, Array pixels) {
  if (is_proxy_texture(target)) return;
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
}  // namespace
Node* named_texture(Machine& m, int64_t name) { return m.object(c_share::textures, static_cast<uint64_t>(name)); }
void tex_sub_image(Machine& m, int64_t target, int64_t level, int64_t x, int64_t y, int64_t z, int64_t w, int64_t h,
                   int64_t d, Array pixels) {
  sub_image(m, bound_texture(m, target), target, level, x, y, z, w, h, d, pixels);
}
void texture_sub_image(Machine& m, Node* t, int64_t level, int64_t x, int64_t y, int64_t z, int64_t w, int64_t h,
                       int64_t d, Array pixels) {
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
void copy_texture_sub_image(Machine& m, Node* t, int64_t level, int64_t x, int64_t y, int64_t z, int64_t w, int64_t h) {
  if (t) copy_sub(m, t, t->get(f_texture::target), level, x, y, z, w, h);
}
void texture_storage(Machine& m, Node* t, int64_t levels, int64_t format, int64_t w, int64_t h, int64_t d) {
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
void tex_storage(Machine& m, int64_t target, int64_t levels, int64_t format, int64_t w, int64_t h, int64_t d) {
  if (!is_proxy_texture(target)) texture_storage(m, bound_texture(m, target), levels, format, w, h, d);
}
// EXT_direct_state_access names a texture and its target: that is its first use, where it had none.
void texture_named(Machine& m, int64_t texture, int64_t target) {
  Node* t = named_texture(m, texture);
  if (!t && texture > 0) t = m.make(m.share(), c_share::textures, static_cast<uint64_t>(texture));
  if (t && !t->get(f_texture::target)) init_texture(m, t, static_cast<uint32_t>(base_target(target)));
}
// The call is about this texture, not the bound one.
void texture_direct(Machine& m, int64_t texture, int64_t target) {
  texture_named(m, texture, target);
  m.direct_texture = texture ? named_texture(m, texture)
                             : m.find(m.share(), c_share::default_textures, static_cast<uint64_t>(base_target(target)));
}
// The call is about this unit, not the active one.
void unit_direct(Machine& m, int64_t unit) {
  m.direct_unit = m.child(m.context(), c_context::texture_units, static_cast<uint64_t>(unit - GL_TEXTURE0));
}
void texture_multisample(Machine& m, Node* t, int64_t samples, int64_t format, int64_t w, int64_t h, int64_t d,
                         int64_t fixed, int64_t immutable) {
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
void tex_multisample(Machine& m, int64_t target, int64_t samples, int64_t format, int64_t w, int64_t h, int64_t d,
                     int64_t fixed, int64_t immutable) {
  if (!is_proxy_texture(target))
    texture_multisample(m, bound_texture(m, target), samples, format, w, h, d, fixed, immutable);
}
void tex_buffer(Machine& m, Node* t, int64_t format, int64_t buffer, int64_t offset, int64_t size) {
  Node* l = level_node(m, t, 0, 0, true);
  if (!l) return m.refuse();
  touched_buffer(m, buffer);
  m.set(l, f_level::GL_TEXTURE_INTERNAL_FORMAT, Num(format));
  m.set(l, f_level::GL_TEXTURE_BUFFER_DATA_STORE_BINDING, Num(buffer));
  m.set(l, f_level::GL_TEXTURE_BUFFER_OFFSET, Num(offset));
  m.set(l, f_level::GL_TEXTURE_BUFFER_SIZE, Num(size));
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
void clear_tex_image(Machine& m, Node* t, int64_t level, int64_t whole) {
  each_level(m, t, level, [&](Node* l) {
    if (whole)
      m.set_content(l, f_level::content, NONE, 0);
    else
      m.touch_content(l, f_level::content);
  });
}
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
  Node* r = bound_renderbuffer(m);
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
void get_texture_image(Machine& m, Node* t, int64_t level, Array) {
  each_level(m, t, level, [&](Node* l) { m.read_all(l); });
  if (Node* b = bound_buffer(m, GL_PIXEL_PACK_BUFFER)) m.touch_content(b, f_buffer::content);
}

}  // namespace dt::state::run
