// The effects of OpenVG commands on state, and their reads: the machine reports everything that drawing depends on
// (access.h).
//
// Names of OpenVG end before what they name: a paint that is set, an image of a glyph or a pattern, pixels that a child
// shares live on without one. Machine::vg_refers has what variables stand for, whatever their names mean by now.
#include "../common/json.h"
#include "vg_objects.h"
#include "gl_enums.h"
#include "vg_enums.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_set>

namespace dt::state::run {
namespace {

using VgMatrix = std::array<double, 9>;   // column by column, as OpenVG hands them over
enum : int64_t { STROKE = 1, FILL = 2 };  // VGPaintMode

// ---- numbers ------------------------------------------------------------------------------------

// Numbers of a list of any length, as its text has them.
void set_list(Machine& m, Node* n, unsigned field, Array values) {
  std::string text;
  uint64_t count = values.count();
  for (uint64_t i = 0; i < count && i < 4096; ++i) {
    if (i) text += ", ";
    Num v = values.at(i);
    text += v.real ? json_real(static_cast<float>(v.f)) : std::to_string(v.i);
  }
  m.set_text(n, field, text);
}
void set_vector(Machine& m, Node* n, int64_t type, int64_t count, Array values) {
  int field = n ? m.field_of(n, prefix_none, static_cast<uint32_t>(type)) : -1;
  if (field < 0 || count < 0) return m.refuse();
  if (n->cls->fields[field].kind == Kind::text)
    set_list(m, n, static_cast<unsigned>(field), values);
  else
    m.set(n, static_cast<unsigned>(field), 0, values);
}
Node* matrix_node(Machine& m) {
  m.read(m.vg_context(), f_vg_context::VG_MATRIX_MODE);
  return m.find(m.vg_context(), c_vg_context::matrices,
                static_cast<uint64_t>(m.vg_context()->get(f_vg_context::VG_MATRIX_MODE)));
}
void put(Machine& m, Node* n, VgMatrix v) {
  // Only that of images may be a perspective.
  if (n->key != VG_MATRIX_IMAGE_USER_TO_SURFACE) v[2] = v[5] = 0, v[8] = 1;
  Num numbers[9];
  for (size_t i = 0; i < 9; ++i) numbers[i] = Num(v[i]);
  m.set(n, f_vg_matrix::values, 0, numbers, 9);
}
VgMatrix value_of(const Node* n) {
  VgMatrix now;
  memcpy(now.data(), n->at(f_vg_matrix::values), sizeof now);
  return now;
}
void multiply_current(Machine& m, const VgMatrix& by) {
  Node* n = matrix_node(m);
  if (!n) return;
  VgMatrix now = value_of(n), out{};
  for (size_t c = 0; c < 3; ++c)
    for (size_t r = 0; r < 3; ++r)
      for (size_t k = 0; k < 3; ++k) out[c * 3 + r] += now[k * 3 + r] * by[c * 3 + k];
  m.part(n, f_vg_matrix::values);
  put(m, n, out);
}

// ---- contents -----------------------------------------------------------------------------------

struct Rect {
  int64_t x = 0, y = 0, width = 0, height = 0;
  bool empty() const { return width <= 0 || height <= 0; }
};
Rect common(const Rect& a, const Rect& b) {
  int64_t x = std::max(a.x, b.x), y = std::max(a.y, b.y);
  return {x, y, std::min(a.x + a.width, b.x + b.width) - x, std::min(a.y + a.height, b.y + b.height) - y};
}

// Something that has pixels (or coverage), and where in it a part of it lies.
struct Pixels {
  Node* node = nullptr;
  unsigned field = 0;
  Rect all;   // of the whole content; empty: how large it is is not known
  Rect part;  // the image, in its own coordinates of the whole
};

// A child has the pixels of its parent.
Pixels pixels_of(Machine& m, Node* image) {
  if (!image) return {};
  Pixels p{image,
           f_vg_image::content,
           {},
           {0, 0, image->get(f_vg_image::VG_IMAGE_WIDTH), image->get(f_vg_image::VG_IMAGE_HEIGHT)}};
  while (Node* parent = referred(m, p.node, f_vg_image::parent)) {
    p.part.x += p.node->get(f_vg_image::left);
    p.part.y += p.node->get(f_vg_image::bottom);
    p.node = parent;
  }
  p.all = {0, 0, p.node->get(f_vg_image::VG_IMAGE_WIDTH), p.node->get(f_vg_image::VG_IMAGE_HEIGHT)};
  return p;
}
// The surface that the current context draws to.
Pixels surface_pixels(Machine& m) {
  Node* s = m.vg_surface();
  if (!s) return {};
  m.read(s);
  if (Node* image = referred(m, s, f_surface::client_buffer)) {
    m.read(image);
    return pixels_of(m, image);
  }
  Rect all{0, 0, s->get(f_surface::width), s->get(f_surface::height)};
  return {s, f_surface::color, all, all};
}
Pixels mask_pixels(Machine& m) {
  Pixels p = surface_pixels(m);
  Node* s = m.vg_surface();
  if (!s) return {};
  return {s, f_surface::mask, {0, 0, p.part.width, p.part.height}, {0, 0, p.part.width, p.part.height}};
}
Pixels layer_pixels(Node* layer) {
  if (!layer) return {};
  Rect all{0, 0, layer->get(f_vg_mask_layer::width), layer->get(f_vg_mask_layer::height)};
  return {layer, f_vg_mask_layer::content, all, all};
}
void reads_pixels(Machine& m, const Pixels& p) { m.read(p.node, p.field); }
// All pixels of `rect` (in the coordinates of the part) are replaced; whether all at once, and by what.
void replaced(Machine& m, const Pixels& p, Rect rect, const Hash128& hash = NONE, uint64_t bytes = 0) {
  if (!p.node) return;
  if (p.all.empty()) return m.touch_content(p.node, p.field);
  rect = common({rect.x + p.part.x, rect.y + p.part.y, rect.width, rect.height}, p.part);
  if (rect.empty()) return;
  if (rect.width >= p.all.width && rect.height >= p.all.height) return m.set_content(p.node, p.field, hash, bytes);
  m.touch_content(p.node, p.field, {{rect.x, rect.y, 0}, {rect.x + rect.width, rect.y + rect.height, 1}});
}
void changed(Machine& m, const Pixels& p) {
  if (p.node) m.touch_content(p.node, p.field);
}
bool scissored(Machine& m) {
  Node* c = m.vg_context();
  m.read(c, f_vg_context::VG_SCISSORING);
  if (!c->get(f_vg_context::VG_SCISSORING)) return false;
  m.read(c, f_vg_context::VG_SCISSOR_RECTS);
  return true;
}
// The surface is drawn to in a rectangle, of which the scissor may leave out parts.
void draws_rect(Machine& m, const Pixels& to, Rect rect) {
  if (scissored(m))
    changed(m, to);
  else
    replaced(m, to, rect);
}
// The part of a copy that arrives: pixels outside of either end are left out.
Rect arriving(const Pixels& to, int64_t dx, int64_t dy, const Pixels& from, int64_t sx, int64_t sy, int64_t width,
              int64_t height) {
  Rect source = common({sx, sy, width, height}, {0, 0, from.part.width, from.part.height});
  return common({source.x - sx + dx, source.y - sy + dy, source.width, source.height},
                {0, 0, to.part.width, to.part.height});
}

// An image that a call takes pixels of, or changes; nullptr where it must not: an EGL surface draws to it.
Node* image_of(Machine& m, int64_t name) {
  Node* n = used(m, c_vg_share::images, name);
  if (!n) return nullptr;
  Node* root = pixels_of(m, n).node;
  m.read(root, f_vg_image::drawn_to);
  if (root->get(f_vg_image::drawn_to)) {
    m.refuse();  // VG_IMAGE_IN_USE_ERROR
    return nullptr;
  }
  return n;
}
void read_image(Machine& m, Node* image) {
  if (!image) return;
  m.read(image);
  reads_pixels(m, pixels_of(m, image));
}

// ---- what drawing depends on --------------------------------------------------------------------

void read_blending(Machine& m) {
  Node* c = m.vg_context();
  for (unsigned f : {f_vg_context::VG_BLEND_MODE, f_vg_context::VG_RENDERING_QUALITY, f_vg_context::VG_PIXEL_LAYOUT,
                     f_vg_context::VG_MASKING, f_vg_context::VG_COLOR_TRANSFORM})
    m.read(c, f);
  if (c->get(f_vg_context::VG_COLOR_TRANSFORM)) m.read(c, f_vg_context::VG_COLOR_TRANSFORM_VALUES);
  if (c->get(f_vg_context::VG_MASKING)) reads_pixels(m, mask_pixels(m));
  scissored(m);
}
void read_shape(Machine& m, int64_t modes) {
  Node* c = m.vg_context();
  if (modes & FILL) m.read(c, f_vg_context::VG_FILL_RULE);
  if (!(modes & STROKE)) return;
  for (unsigned f :
       {f_vg_context::VG_STROKE_LINE_WIDTH, f_vg_context::VG_STROKE_CAP_STYLE, f_vg_context::VG_STROKE_JOIN_STYLE,
        f_vg_context::VG_STROKE_MITER_LIMIT, f_vg_context::VG_STROKE_DASH_PATTERN, f_vg_context::VG_STROKE_DASH_PHASE,
        f_vg_context::VG_STROKE_DASH_PHASE_RESET})
    m.read(c, f);
}
void read_paint(Machine& m, unsigned field, uint64_t matrix) {
  Node* c = m.vg_context();
  m.read(c, field);
  Node* paint = referred(m, c, field);
  if (!paint) return;  // black
  m.read(paint);
  m.read(paint, f_vg_paint::VG_PAINT_TYPE);
  const int64_t type = paint->get(f_vg_paint::VG_PAINT_TYPE);
  if (type == VG_PAINT_TYPE_COLOR) return m.read(paint, f_vg_paint::VG_PAINT_COLOR);
  read_matrix(m, matrix);
  if (type != VG_PAINT_TYPE_PATTERN) {
    for (unsigned f : {f_vg_paint::VG_PAINT_COLOR_RAMP_SPREAD_MODE, f_vg_paint::VG_PAINT_COLOR_RAMP_PREMULTIPLIED,
                       f_vg_paint::VG_PAINT_COLOR_RAMP_STOPS})
      m.read(paint, f);
    return m.read(paint, type == VG_PAINT_TYPE_LINEAR_GRADIENT ? f_vg_paint::VG_PAINT_LINEAR_GRADIENT
                                                               : f_vg_paint::VG_PAINT_RADIAL_GRADIENT);
  }
  m.read(paint, f_vg_paint::pattern);
  m.read(paint, f_vg_paint::VG_PAINT_PATTERN_TILING_MODE);
  m.read(c, f_vg_context::VG_TILE_FILL_COLOR);
  m.read(c, f_vg_context::VG_IMAGE_QUALITY);
  if (Node* pattern = referred(m, paint, f_vg_paint::pattern))
    read_image(m, pattern);
  else
    m.read(paint, f_vg_paint::VG_PAINT_COLOR);
}
void read_paints(Machine& m, int64_t modes) {
  if (modes & FILL) read_paint(m, f_vg_context::fill_paint, VG_MATRIX_FILL_PAINT_TO_USER);
  if (modes & STROKE) read_paint(m, f_vg_context::stroke_paint, VG_MATRIX_STROKE_PAINT_TO_USER);
}
void read_image_drawing(Machine& m, Node* image) {
  Node* c = m.vg_context();
  m.read(c, f_vg_context::VG_IMAGE_MODE);
  m.read(c, f_vg_context::VG_IMAGE_QUALITY);
  if (c->get(f_vg_context::VG_IMAGE_MODE) != VG_DRAW_IMAGE_NORMAL)
    read_paint(m, f_vg_context::fill_paint, VG_MATRIX_FILL_PAINT_TO_USER);
  read_image(m, image);
}

// The size of a box of user space on the surface.
void extend(Machine& m, const double low[2], const double high[2], const Node* matrix) {
  Draw& d = m.drawing();
  if (!matrix) return;
  const VgMatrix v = value_of(matrix);
  double least[2], most[2];
  for (unsigned i = 0; i < 4; ++i) {
    double x = i & 1 ? high[0] : low[0], y = i & 2 ? high[1] : low[1], w = v[2] * x + v[5] * y + v[8];
    double at[2] = {(v[0] * x + v[3] * y + v[6]) / w, (v[1] * x + v[4] * y + v[7]) / w};
    for (unsigned k = 0; k < 2; ++k) {
      least[k] = i ? std::min(least[k], at[k]) : at[k];
      most[k] = i ? std::max(most[k], at[k]) : at[k];
    }
  }
  for (unsigned k = 0; k < 2; ++k)
    if (std::isfinite(most[k] - least[k])) d.extent[k] = std::max(d.extent[k], most[k] - least[k]);
}
void draws(Machine& m, int64_t modes) {
  m.drawing().vector = true;
  m.drawing().mode = static_cast<uint32_t>(modes);
}
void draws_path(Machine& m, Node* path, Node* matrix) {
  Draw& d = m.drawing();
  ++d.primitives;
  auto it = m.vg_outlines.find(path);
  if (it == m.vg_outlines.end()) return;
  d.vertices += static_cast<uint64_t>(it->second.segments);
  if (it->second.known && it->second.any) extend(m, it->second.low, it->second.high, matrix);
}
void draws_image(Machine& m, Node* image, Node* matrix) {
  ++m.drawing().primitives;
  double low[2] = {0, 0}, high[2] = {static_cast<double>(image->get(f_vg_image::VG_IMAGE_WIDTH)),
                                     static_cast<double>(image->get(f_vg_image::VG_IMAGE_HEIGHT))};
  extend(m, low, high, matrix);
}

}  // namespace

// ---- names --------------------------------------------------------------------------------------

void vg_create_names(Machine& m, Node* parent, unsigned collection, int64_t name) {
  if (name && parent)
    m.make(parent, collection, static_cast<uint64_t>(name));
  else
    m.refuse();
}
void vg_delete_names(Machine& m, Node* parent, unsigned collection, int64_t name) {
  Node* n = name ? m.find(parent, collection, static_cast<uint64_t>(name)) : nullptr;
  if (!n) return m.refuse();
  m.read(n);
  m.remove(n);
}

// ---- the context --------------------------------------------------------------------------------

void vg_set_vector(Machine& m, int64_t type, int64_t count, Array values) {
  set_vector(m, m.vg_context(), type, count, values);
}
void vg_parameter(Machine& m, int64_t name, int64_t type, Num value) {
  Node* n = any_object(m, name);
  if (!n || m.field_of(n, prefix_none, static_cast<uint32_t>(type)) < 0) return m.refuse();
  m.read(n);
  m.set_any(n, prefix_none, static_cast<uint32_t>(type), 0, {value});
}
void vg_parameters(Machine& m, int64_t name, int64_t type, int64_t count, Array values) {
  Node* n = any_object(m, name);
  if (!n) return m.refuse();
  m.read(n);
  set_vector(m, n, type, count, values);
}

void vg_matrix(Machine& m, Array values, int64_t load) {
  if (values.count() < 9) return m.refuse();
  VgMatrix v;
  for (size_t i = 0; i < 9; ++i) v[i] = values.at(i).floating();
  Node* n = matrix_node(m);
  if (!n) return;
  if (load) return put(m, n, v);
  if (n->key != VG_MATRIX_IMAGE_USER_TO_SURFACE) v[2] = v[5] = 0, v[8] = 1;
  multiply_current(m, v);
}
// `load`: it becomes that matrix.
void vg_scale_matrix(Machine& m, double x, double y, int64_t load) {
  VgMatrix v{x, 0, 0, 0, y, 0, 0, 0, 1};
  if (!load) return multiply_current(m, v);
  if (Node* n = matrix_node(m)) put(m, n, v);
}
void vg_translate(Machine& m, double x, double y) { multiply_current(m, {1, 0, 0, 0, 1, 0, x, y, 1}); }
void vg_shear(Machine& m, double x, double y) { multiply_current(m, {1, y, 0, x, 1, 0, 0, 0, 1}); }
void vg_rotate(Machine& m, double degrees) {
  double a = degrees * 3.14159265358979323846 / 180, s = std::sin(a), c = std::cos(a);
  multiply_current(m, {c, s, 0, -s, c, 0, 0, 0, 1});
}

void vg_set_paint(Machine& m, int64_t name, int64_t modes) {
  Node* paint = name ? used(m, c_vg_share::paints, name) : nullptr;
  if ((name && !paint) || !modes || modes & ~(STROKE | FILL)) return m.refuse();
  auto set = [&](unsigned field) {
    // Another paint of the same name is another paint: the same value is not the same again.
    if (referred(m, m.vg_context(), field) != paint)
      m.log(m.vg_context()->location(f_vg_context::paints), 1, Touch::write);
    m.set(m.vg_context(), field, Num(name));
    refer(m, m.vg_context(), field, paint);
  };
  if (modes & STROKE) set(f_vg_context::stroke_paint);
  if (modes & FILL) set(f_vg_context::fill_paint);
}
void vg_set_color(Machine& m, int64_t name, int64_t rgba) {
  Node* n = used(m, c_vg_share::paints, name);
  auto part = [&](unsigned shift) { return Num(static_cast<double>(rgba >> shift & 255) / 255.0); };
  if (n) m.set(n, f_vg_paint::VG_PAINT_COLOR, 0, {part(24), part(16), part(8), part(0)});
}
void vg_paint_pattern(Machine& m, int64_t name, int64_t image) {
  Node *paint = used(m, c_vg_share::paints, name), *pattern = image && paint ? image_of(m, image) : nullptr;
  if (!paint || (image && !pattern)) return;
  // not the same again, though its name may be
  if (referred(m, paint, f_vg_paint::pattern) != pattern) m.log(paint->base, 1, Touch::write);
  m.set(paint, f_vg_paint::pattern, Num(image));
  refer(m, paint, f_vg_paint::pattern, pattern);
}

// ---- surfaces -----------------------------------------------------------------------------------

void vg_surface_made(Machine& m, Node* surface, int64_t name) {
  Node* image = m.vg_context() ? object(m, c_vg_share::images, name) : nullptr;
  if (!surface || !image) return;
  m.read(m.vg_context());
  m.read(image);
  Node* root = pixels_of(m, image).node;
  m.read(root, f_vg_image::drawn_to);  // an image has one surface at a time
  m.set(root, f_vg_image::drawn_to, Num(1));
  m.note(surface, f_surface::client_buffer, Num(name));
  m.note(surface, f_surface::width, Num(image->get(f_vg_image::VG_IMAGE_WIDTH)));
  m.note(surface, f_surface::height, Num(image->get(f_vg_image::VG_IMAGE_HEIGHT)));
  refer(m, surface, f_surface::client_buffer, image);
}
void vg_surface_left(Machine& m, Node* surface) {
  Node* image = surface->get(f_surface::destroyed) && !m.vg_draws_to(surface)
                    ? referred(m, surface, f_surface::client_buffer)
                    : nullptr;
  if (!image) return;
  m.set(pixels_of(m, image).node, f_vg_image::drawn_to, Num(0));
  refer(m, surface, f_surface::client_buffer, nullptr);
}
// An EGLImage of an image: OpenGL sees what `shown` stands for.
void vg_image_shared(Machine& m, Node* handle, uint64_t context, uint64_t name) {
  auto it = m.vg_share_by_handle.find(context);
  Node* image = handle && it != m.vg_share_by_handle.end() ? m.find(it->second, c_vg_share::images, name) : nullptr;
  if (!image) return;
  m.read(image);
  m.read(image, f_vg_image::content);
  m.set_content(handle, f_handle::parameters, NONE, 0);
  refer(m, handle, f_handle::parameters, image);
  auto known = std::find_if(m.vg_shared.begin(), m.vg_shared.end(), [&](auto& s) { return s.image == image; });
  if (known == m.vg_shared.end()) {
    m.vg_shared.push_back({image});
    m.set_content(image, f_vg_image::shown, NONE, 0);
    m.vg_exchanged = true;
  } else {
    vg_exchange(m);
    m.read(image, f_vg_image::shown);
  }
  const int64_t width = image->get(f_vg_image::VG_IMAGE_WIDTH), height = image->get(f_vg_image::VG_IMAGE_HEIGHT);
  m.images[handle->key] = {width, height, 1, GL_RGBA};
  const auto extent = static_cast<uint64_t>(width * height);
  m.share_content(handle, f_handle::parameters, image, f_vg_image::shown, extent, extent);
}
namespace {
// The format that drawtap's engine takes for the content of a texture; packed pixels of an unsized format it alone
// knows.
int64_t format_for(int64_t internal) {
  switch (internal) {
    case GL_RGB565: return 3;   // VG_sRGB_565
    case GL_RGB5_A1: return 4;  // VG_sRGBA_5551
    case GL_RGBA4: return 5;    // VG_sRGBA_4444
    case GL_RGB:
    case GL_RGB8:
    case GL_SRGB8: return 0xC0;  // GL_RGB, GL_RGB8, GL_SRGB8: VG_sXBGR_8888
    default: return 0xC1;        // VG_sABGR_8888
  }
}
}  // namespace
// An image that is made of an EGLImage.
void vg_image_target(Machine& m, int64_t name, int64_t handle) {
  Node* from = m.find(m.root(), c_root::handles, static_cast<uint64_t>(handle));
  if (!name || !from) return m.refuse();
  vg_exchange(m);
  m.read_all(from);
  const auto it = m.images.find(from->key);
  const Machine::ImageSize size = it == m.images.end() ? Machine::ImageSize{} : it->second;  // EGL alone may know it
  Node* of = referred(m, from, f_handle::parameters);
  const bool joins = of && of->parent == m.vg_share() && !pixels_of(m, of).node->get(f_vg_image::drawn_to);
  const int64_t format = joins ? of->get(f_vg_image::VG_IMAGE_FORMAT) : format_for(size.format);
  vg_create_image(m, name, format, size.width, size.height, 7);
  Node* image = object(m, c_vg_share::images, name);
  if (!image) return;
  if (joins) {  // the same pixels as the image behind the EGLImage, or an earlier image made of it
    m.read(of);
    return refer(m, image, f_vg_image::parent, of);
  }
  m.set_content(image, f_vg_image::content, NONE, 0);
  m.set_content(image, f_vg_image::shown, NONE, 0);
  const auto extent = static_cast<uint64_t>(size.width * size.height);
  m.share_content(image, f_vg_image::shown, from, f_handle::parameters, extent, extent);
  if (!of) refer(m, from, f_handle::parameters, image);
  m.vg_shared.push_back({image});
}
// Writes of either side since then go to the other.
void vg_exchange(Machine& m) {
  std::unordered_set<const Node*> held;
  // Several images may be made of what OpenGL has once.
  for (auto& one : m.vg_shared)
    for (auto& other : m.vg_shared)
      if (&one != &other && one.ours && m.one_content(one.image, f_vg_image::shown, other.image, f_vg_image::shown))
        other.theirs = true;
  for (auto& [image, ours, theirs] : m.vg_shared) {
    if (!image->alive && held.empty()) held = m.vg_held();
    if (!ours && !theirs) continue;
    m.begin_section();
    if (ours) m.read(image, f_vg_image::content);
    if (theirs) m.read(image, f_vg_image::shown);
    if (ours && theirs)
      m.touch_content(image, f_vg_image::content), m.touch_content(image, f_vg_image::shown);
    else
      m.set_content(image, ours ? f_vg_image::shown : f_vg_image::content, NONE, 0);
    m.end_section();
    ours = theirs = false;
  }
  std::erase_if(m.vg_shared, [&](auto& s) { return !s.image->alive && !held.count(s.image); });
  m.vg_exchanged = true;
}
void vg_read_surface(Machine& m) { reads_pixels(m, surface_pixels(m)); }

// ---- drawing ------------------------------------------------------------------------------------

void vg_draw_unknown(Machine& m) {
  m.read_all(m.vg_context());
  draws(m, 0);
  changed(m, surface_pixels(m));
}
void vg_clear(Machine& m, int64_t x, int64_t y, int64_t width, int64_t height) {
  if (width <= 0 || height <= 0) return m.refuse();
  draws(m, 0);
  m.read(m.vg_context(), f_vg_context::VG_CLEAR_COLOR);
  draws_rect(m, surface_pixels(m), {x, y, width, height});
}
void vg_draw_path(Machine& m, int64_t name, int64_t modes) {
  Node* path = used(m, c_vg_share::paths, name);
  if (!path || !modes || modes & ~(STROKE | FILL)) return m.refuse();
  read_object(m, path);
  Node* matrix = read_matrix(m, VG_MATRIX_PATH_USER_TO_SURFACE);
  read_shape(m, modes);
  read_paints(m, modes);
  read_blending(m);
  draws(m, modes);
  draws_path(m, path, matrix);
  changed(m, surface_pixels(m));
}
void vg_draw_image(Machine& m, int64_t name) {
  Node* image = image_of(m, name);
  if (!image) return;
  Node* matrix = read_matrix(m, VG_MATRIX_IMAGE_USER_TO_SURFACE);
  read_image_drawing(m, image);
  read_blending(m);
  draws(m, 0);
  draws_image(m, image, matrix);
  changed(m, surface_pixels(m));
}

namespace {
void draw_glyphs(Machine& m, int64_t font_name, const std::vector<uint64_t>& indices, int64_t modes) {
  Node *font = used(m, c_vg_share::fonts, font_name), *c = m.vg_context();
  if (!font || modes & ~(STROKE | FILL)) return m.refuse();
  std::vector<Node*> glyphs, every;
  for (uint64_t index : indices) {
    Node* glyph = m.find(font, c_vg_font::glyphs, index);
    if (!glyph) return m.refuse();
    every.push_back(glyph);
    if (std::find(glyphs.begin(), glyphs.end(), glyph) == glyphs.end()) glyphs.push_back(glyph);
  }
  read_matrix(m, VG_MATRIX_GLYPH_USER_TO_SURFACE);
  draws(m, modes);
  bool outlines = false;
  for (Node* glyph : glyphs) {
    read_object(m, glyph);
    if (Node* path = referred(m, glyph, f_vg_glyph::path)) {
      outlines = true;
      read_object(m, path);
    }
    if (Node* image = referred(m, glyph, f_vg_glyph::image)) {
      Node* root = pixels_of(m, image).node;
      m.read(root, f_vg_image::drawn_to);
      if (root->get(f_vg_image::drawn_to)) return m.refuse();
      read_image_drawing(m, image);
    }
  }
  for (Node* glyph : every) {
    if (Node* path = referred(m, glyph, f_vg_glyph::path)) draws_path(m, path, nullptr);
    if (referred(m, glyph, f_vg_glyph::image)) ++m.drawing().primitives;
  }
  if (outlines) {
    read_shape(m, modes);
    read_paints(m, modes);
  }
  read_blending(m);
  if (modes) changed(m, surface_pixels(m));
  // The pen goes on: by what the glyphs say, from where it was.
  m.read(c, f_vg_context::VG_GLYPH_ORIGIN);
  m.part(c, f_vg_context::VG_GLYPH_ORIGIN);
}
}  // namespace

void vg_draw_glyph(Machine& m, int64_t font, int64_t index, int64_t modes) {
  draw_glyphs(m, font, {static_cast<uint64_t>(static_cast<uint32_t>(index))}, modes);
  vg_pen(m, font, {static_cast<uint64_t>(static_cast<uint32_t>(index))}, {}, {});
}
void vg_draw_glyphs(Machine& m, int64_t font, int64_t count, Array indices, Array x, Array y, int64_t modes) {
  std::vector<uint64_t> names;
  if (count <= 0 || indices.count() < static_cast<uint64_t>(count)) return m.refuse();
  for (uint64_t i = 0; i < static_cast<uint64_t>(count); ++i)
    names.push_back(static_cast<uint32_t>(indices.integer(i)));
  draw_glyphs(m, font, names, modes);
  std::vector<double> by_x, by_y;
  auto numbers = [&](Array a, std::vector<double>& to) {
    if (!a.address || a.count() < names.size()) return;
    for (uint64_t i = 0; i < names.size(); ++i) to.push_back(a.at(i).floating());
  };
  numbers(x, by_x);
  numbers(y, by_y);
  vg_pen(m, font, names, by_x, by_y);
}
void vg_pen(Machine& m, int64_t font_name, const std::vector<uint64_t>& indices, const std::vector<double>& x,
            const std::vector<double>& y) {
  Node *font = object(m, c_vg_share::fonts, font_name), *c = m.vg_context();
  if (!font || !m.applied()) return;
  double at[2] = {c->real(f_vg_context::VG_GLYPH_ORIGIN, 0), c->real(f_vg_context::VG_GLYPH_ORIGIN, 1)};
  for (size_t i = 0; i < indices.size(); ++i) {
    Node* glyph = m.find(font, c_vg_font::glyphs, indices[i]);
    if (!glyph) return;
    at[0] += glyph->real(f_vg_glyph::escapement, 0) + (i < x.size() ? x[i] : 0);
    at[1] += glyph->real(f_vg_glyph::escapement, 1) + (i < y.size() ? y[i] : 0);
  }
  m.set(c, f_vg_context::VG_GLYPH_ORIGIN, 0, {Num(at[0]), Num(at[1])});
}

void vg_set_pixels(Machine& m, int64_t dx, int64_t dy, int64_t name, int64_t sx, int64_t sy, int64_t width,
                   int64_t height) {
  Node* image = image_of(m, name);
  if (!image || width <= 0 || height <= 0) return m.refuse();
  read_image(m, image);
  draws(m, 0);
  Pixels to = surface_pixels(m);
  draws_rect(m, to, arriving(to, dx, dy, pixels_of(m, image), sx, sy, width, height));
}
void vg_write_pixels(Machine& m, int64_t dx, int64_t dy, int64_t width, int64_t height) {
  if (width <= 0 || height <= 0) return m.refuse();
  draws(m, 0);
  draws_rect(m, surface_pixels(m), {dx, dy, width, height});
}
void vg_copy_pixels(Machine& m, int64_t width, int64_t height) {
  if (width <= 0 || height <= 0) return m.refuse();
  draws(m, 0);
  scissored(m);
  Pixels surface = surface_pixels(m);
  reads_pixels(m, surface);
  changed(m, surface);
}
void vg_read_pixels(Machine& m) { reads_pixels(m, surface_pixels(m)); }

// ---- masks --------------------------------------------------------------------------------------

void vg_mask(Machine& m, int64_t name, int64_t operation, int64_t x, int64_t y, int64_t width, int64_t height) {
  const bool plain = operation == VG_CLEAR_MASK || operation == VG_FILL_MASK;
  if (width <= 0 || height <= 0 || operation < VG_CLEAR_MASK || operation > VG_SUBTRACT_MASK) return m.refuse();
  Pixels mask = mask_pixels(m);
  if (plain) return replaced(m, mask, {x, y, width, height});
  Pixels from;
  if (Node* layer = object(m, c_vg_share::mask_layers, name)) {
    m.read(layer);
    from = layer_pixels(layer);
  } else if (Node* image = image_of(m, name)) {
    from = pixels_of(m, image);
  } else {
    return;
  }
  reads_pixels(m, from);
  if (operation == VG_SET_MASK)
    replaced(m, mask, arriving(mask, x, y, from, 0, 0, width, height));  // VG_SET_MASK
  else
    changed(m, mask);
}
void vg_render_to_mask(Machine& m, int64_t name, int64_t modes, int64_t operation) {
  Node* path = used(m, c_vg_share::paths, name);
  if (!path || !modes || modes & ~(STROKE | FILL)) return m.refuse();
  Pixels mask = mask_pixels(m);
  read_object(m, path);
  read_matrix(m, VG_MATRIX_PATH_USER_TO_SURFACE);
  read_shape(m, modes);
  m.read(m.vg_context(), f_vg_context::VG_RENDERING_QUALITY);
  if (operation >= VG_CLEAR_MASK && operation <= VG_SET_MASK)
    replaced(m, mask, mask.part);
  else
    changed(m, mask);
}
void vg_create_mask_layer(Machine& m, int64_t name, int64_t width, int64_t height) {
  Node* n = make(m, c_vg_share::mask_layers, name);
  if (!n) return m.refuse();
  m.set(n, f_vg_mask_layer::width, Num(width));
  m.set(n, f_vg_mask_layer::height, Num(height));
}
void vg_fill_mask_layer(Machine& m, int64_t name, int64_t x, int64_t y, int64_t width, int64_t height) {
  if (Node* n = used(m, c_vg_share::mask_layers, name)) replaced(m, layer_pixels(n), {x, y, width, height});
}
void vg_copy_mask(Machine& m, int64_t name, int64_t dx, int64_t dy, int64_t sx, int64_t sy, int64_t width,
                  int64_t height) {
  Node* n = used(m, c_vg_share::mask_layers, name);
  if (!n) return;
  Pixels mask = mask_pixels(m);
  reads_pixels(m, mask);
  if (mask.all.empty())
    changed(m, layer_pixels(n));
  else
    replaced(m, layer_pixels(n), arriving(layer_pixels(n), dx, dy, mask, sx, sy, width, height));
}

// ---- images -------------------------------------------------------------------------------------

void vg_create_image(Machine& m, int64_t name, int64_t format, int64_t width, int64_t height, int64_t quality) {
  Node* n = make(m, c_vg_share::images, name);
  if (!n) return m.refuse();
  m.set(n, f_vg_image::VG_IMAGE_FORMAT, Num(format));
  m.set(n, f_vg_image::VG_IMAGE_WIDTH, Num(width));
  m.set(n, f_vg_image::VG_IMAGE_HEIGHT, Num(height));
  m.set(n, f_vg_image::allowed_quality, Num(quality));
}
void vg_child_image(Machine& m, int64_t name, int64_t parent, int64_t x, int64_t y, int64_t width, int64_t height) {
  Node* of = image_of(m, parent);
  if (!of || !name) return m.refuse();
  vg_create_image(m, name, of->get(f_vg_image::VG_IMAGE_FORMAT), width, height, of->get(f_vg_image::allowed_quality));
  Node* n = object(m, c_vg_share::images, name);
  m.set(n, f_vg_image::parent, Num(parent));
  m.set(n, f_vg_image::left, Num(x));
  m.set(n, f_vg_image::bottom, Num(y));
  refer(m, n, f_vg_image::parent, of);
}
void vg_upload(Machine& m, int64_t name, int64_t x, int64_t y, int64_t width, int64_t height, Array data) {
  Node* n = image_of(m, name);
  if (!n || width <= 0 || height <= 0) return m.refuse();
  Pixels to = pixels_of(m, n);
  const bool whole = to.node == n && x <= 0 && y <= 0 && x + width >= to.all.width && y + height >= to.all.height;
  if (whole && data.content()) return m.set_content(n, f_vg_image::content, data.content_hash(), data.bytes);
  replaced(m, to, {x, y, width, height});
  m.uploaded(to.node, f_vg_image::content, data.bytes, data.content_hash());
}
void vg_clear_image(Machine& m, int64_t name, int64_t x, int64_t y, int64_t width, int64_t height) {
  Node* n = image_of(m, name);
  if (!n || width <= 0 || height <= 0) return m.refuse();
  m.read(m.vg_context(), f_vg_context::VG_CLEAR_COLOR);
  replaced(m, pixels_of(m, n), {x, y, width, height});
}
void vg_copy_image(Machine& m, int64_t to_name, int64_t dx, int64_t dy, int64_t from_name, int64_t sx, int64_t sy,
                   int64_t width, int64_t height) {
  Node *to = image_of(m, to_name), *from = to ? image_of(m, from_name) : nullptr;
  if (!to || !from || width <= 0 || height <= 0) return m.refuse();
  read_image(m, from);
  replaced(m, pixels_of(m, to), arriving(pixels_of(m, to), dx, dy, pixels_of(m, from), sx, sy, width, height));
}
void vg_get_pixels(Machine& m, int64_t name, int64_t dx, int64_t dy, int64_t sx, int64_t sy, int64_t width,
                   int64_t height) {
  Node* n = image_of(m, name);
  if (!n || width <= 0 || height <= 0) return m.refuse();
  Pixels from = surface_pixels(m), to = pixels_of(m, n);
  reads_pixels(m, from);
  if (from.all.empty())
    changed(m, to);
  else
    replaced(m, to, arriving(to, dx, dy, from, sx, sy, width, height));
}
void vg_get_image(Machine& m, int64_t name) {
  if (Node* n = image_of(m, name)) read_image(m, n);
}
// `also`: another image that it needs, 0: none.
void vg_filter(Machine& m, int64_t to_name, int64_t from_name, int64_t also_name) {
  Node *to = image_of(m, to_name), *from = to ? image_of(m, from_name) : nullptr,
       *also = from && also_name ? image_of(m, also_name) : nullptr, *c = m.vg_context();
  if (!to || !from || (also_name && !also)) return m.refuse();
  for (unsigned f : {f_vg_context::VG_FILTER_FORMAT_LINEAR, f_vg_context::VG_FILTER_FORMAT_PREMULTIPLIED,
                     f_vg_context::VG_FILTER_CHANNEL_MASK, f_vg_context::VG_TILE_FILL_COLOR})
    m.read(c, f);
  read_image(m, from);
  if (also) read_image(m, also);
  Pixels target = pixels_of(m, to);
  // Channels that are masked out stay.
  if (c->get(f_vg_context::VG_FILTER_CHANNEL_MASK) == 15)
    replaced(m, target, arriving(target, 0, 0, pixels_of(m, from), 0, 0, INT32_MAX, INT32_MAX));
  else
    changed(m, target);
}
void vg_filter_paint(Machine& m, int64_t name) {
  if (!name) return;
  Node* n = used(m, c_vg_share::paints, name);
  if (!n) return;
  read_object(m, n);
  if (Node* pattern = referred(m, n, f_vg_paint::pattern)) read_image(m, pattern);
}

// ---- fonts --------------------------------------------------------------------------------------

void vg_glyph(Machine& m, int64_t font, int64_t index, int64_t path, int64_t image, int64_t hinted, Array origin,
              Array escapement) {
  Node *f = used(m, c_vg_share::fonts, font), *outline = nullptr, *picture = nullptr;
  if (!f || (path && !(outline = used(m, c_vg_share::paths, path))) || (image && !(picture = image_of(m, image))))
    return m.refuse();
  const auto key = static_cast<uint64_t>(static_cast<uint32_t>(index));
  Node* n = m.find(f, c_vg_font::glyphs, key);
  const bool had = n;
  if (had)
    m.log(n->base, n->cls->locations, Touch::write);  // what it was before does not matter
  else
    n = m.make(f, c_vg_font::glyphs, key);
  m.set(n, f_vg_glyph::path, Num(path));
  m.set(n, f_vg_glyph::image, Num(image));
  m.set(n, f_vg_glyph::hinted, Num(hinted));
  m.set(n, f_vg_glyph::origin, 0, origin);
  m.set(n, f_vg_glyph::escapement, 0, escapement);
  refer(m, n, f_vg_glyph::path, outline);
  refer(m, n, f_vg_glyph::image, picture);
  if (!had) m.note(f, f_vg_font::VG_FONT_NUM_GLYPHS, Num(f->get(f_vg_font::VG_FONT_NUM_GLYPHS) + 1));
}
void vg_clear_glyph(Machine& m, int64_t font, int64_t index) {
  Node* f = used(m, c_vg_share::fonts, font);
  Node* n = f ? m.find(f, c_vg_font::glyphs, static_cast<uint64_t>(static_cast<uint32_t>(index))) : nullptr;
  if (!n) return m.refuse();
  m.read(n);
  m.remove(n);
  m.note(f, f_vg_font::VG_FONT_NUM_GLYPHS, Num(f->get(f_vg_font::VG_FONT_NUM_GLYPHS) - 1));
}

}  // namespace dt::state::run
