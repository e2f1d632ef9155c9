#include "vg.h"

#include <array>
#include <cmath>

namespace dt::state::run {
namespace {

using Matrix = std::array<double, 9>;  // column by column, as OpenVG hands them over

Node* object(Machine& m, unsigned collection, int64_t name) { return name ? m.find(m.vg_share(), collection, static_cast<uint64_t>(name)) : nullptr; }
Node* any_object(Machine& m, int64_t name) {
  for (unsigned collection : {c_vg_share::paints, c_vg_share::images, c_vg_share::paths, c_vg_share::fonts, c_vg_share::mask_layers})
    if (Node* n = object(m, collection, name)) return n;
  return nullptr;
}
Node* make(Machine& m, unsigned collection, int64_t name) { return name ? m.make(m.vg_share(), collection, static_cast<uint64_t>(name)) : nullptr; }

// Numbers of a list of any length, as its text has them.
void set_list(Machine& m, Node* n, unsigned field, Array values) {
  std::string text;
  uint64_t count = values.count();
  for (uint64_t i = 0; i < count && i < 4096; ++i) {
    if (i) text += ", ";
    Num v = values.at(i);
    text += v.real ? json_number(v.f, true) : std::to_string(v.i);
  }
  m.set_text(n, field, text);
}
void set_vector(Machine& m, Node* n, int64_t type, Array values) {
  int field = n ? m.field_of(n, prefix_none, static_cast<uint32_t>(type)) : -1;
  if (field < 0) return;
  if (n->cls->fields[field].kind == Kind::text) set_list(m, n, static_cast<unsigned>(field), values);
  else m.set(n, static_cast<unsigned>(field), 0, values);
}
Node* matrix_node(Machine& m) { return m.find(m.vg_context(), c_vg_context::matrices, static_cast<uint64_t>(m.vg_context()->get(f_vg_context::VG_MATRIX_MODE))); }
void put(Machine& m, Matrix v) {
  Node* n = matrix_node(m);
  if (!n) return;
  // Only that of images may be a perspective.
  if (n->key != 0x1401) v[2] = v[5] = 0, v[8] = 1;
  Num numbers[9];
  for (size_t i = 0; i < 9; ++i) numbers[i] = Num(v[i]);
  m.set(n, f_vg_matrix::values, 0, numbers, 9);
}
void multiply(Machine& m, const Matrix& by) {
  Node* n = matrix_node(m);
  if (!n) return;
  Matrix now, out{};
  memcpy(now.data(), n->at(f_vg_matrix::values), sizeof now);
  for (size_t c = 0; c < 3; ++c)
    for (size_t r = 0; r < 3; ++r)
      for (size_t k = 0; k < 3; ++k) out[c * 3 + r] += now[k * 3 + r] * by[c * 3 + k];
  put(m, out);
}
void touch(Machine& m, Node* n, unsigned field) {
  if (n) m.touch_content(n, field);
}

}  // namespace

void vg_create_names(Machine& m, Node* parent, unsigned collection, int64_t name) {
  if (name && parent) m.make(parent, collection, static_cast<uint64_t>(name));
}
void vg_delete_names(Machine& m, Node* parent, unsigned collection, int64_t name) {
  if (Node* n = m.find(parent, collection, static_cast<uint64_t>(name)); n && name) m.remove(n);
}
void vg_set_vector(Machine& m, int64_t type, Array values) { set_vector(m, m.vg_context(), type, values); }
void vg_parameter(Machine& m, int64_t object, int64_t type, Num value) {
  if (Node* n = any_object(m, object)) m.set_any(n, prefix_none, static_cast<uint32_t>(type), 0, {value});
}
void vg_parameters(Machine& m, int64_t object, int64_t type, Array values) { set_vector(m, any_object(m, object), type, values); }

void vg_matrix(Machine& m, Array values, int64_t load) {
  if (values.count() < 9) return;
  Matrix v;
  for (size_t i = 0; i < 9; ++i) v[i] = values.at(i).floating();
  if (load) return put(m, v);
  if (Node* n = matrix_node(m); n && n->key != 0x1401) v[2] = v[5] = 0, v[8] = 1;
  multiply(m, v);
}
void vg_scale_matrix(Machine& m, double x, double y, int64_t load) {
  Matrix v{x, 0, 0, 0, y, 0, 0, 0, 1};
  load ? put(m, v) : multiply(m, v);
}
void vg_translate(Machine& m, double x, double y) { multiply(m, {1, 0, 0, 0, 1, 0, x, y, 1}); }
void vg_shear(Machine& m, double x, double y) { multiply(m, {1, y, 0, x, 1, 0, 0, 0, 1}); }
void vg_rotate(Machine& m, double degrees) {
  double a = degrees * 3.14159265358979323846 / 180, s = std::sin(a), c = std::cos(a);
  multiply(m, {c, s, 0, -s, c, 0, 0, 0, 1});
}

void vg_set_paint(Machine& m, int64_t paint, int64_t modes) {
  if (paint && !object(m, c_vg_share::paints, paint)) return;  // VG_BAD_HANDLE_ERROR
  if (modes & 1) m.set(m.vg_context(), f_vg_context::stroke_paint, Num(paint));
  if (modes & 2) m.set(m.vg_context(), f_vg_context::fill_paint, Num(paint));
}
void vg_set_color(Machine& m, int64_t paint, int64_t rgba) {
  Node* n = object(m, c_vg_share::paints, paint);
  auto part = [&](unsigned shift) { return Num(static_cast<double>(rgba >> shift & 255) / 255.0); };
  if (n) m.set(n, f_vg_paint::VG_PAINT_COLOR, 0, {part(24), part(16), part(8), part(0)});
}
void vg_mask_changed(Machine& m) { touch(m, m.vg_context(), f_vg_context::mask); }

void vg_create_path(Machine& m, int64_t name, int64_t format, int64_t datatype, double scale, double bias, int64_t capabilities) {
  Node* n = make(m, c_vg_share::paths, name);
  if (!n) return;
  m.set(n, f_vg_path::VG_PATH_FORMAT, Num(format));
  m.set(n, f_vg_path::VG_PATH_DATATYPE, Num(datatype));
  m.set(n, f_vg_path::VG_PATH_SCALE, Num(scale));
  m.set(n, f_vg_path::VG_PATH_BIAS, Num(bias));
  m.set(n, f_vg_path::capabilities, Num(capabilities & 0xfff));
}
void vg_path_changed(Machine& m, int64_t path) { touch(m, object(m, c_vg_share::paths, path), f_vg_path::content); }
void vg_remove_capabilities(Machine& m, int64_t path, int64_t capabilities) {
  if (Node* n = object(m, c_vg_share::paths, path)) m.set(n, f_vg_path::capabilities, Num(n->get(f_vg_path::capabilities) & ~capabilities));
}

void vg_create_image(Machine& m, int64_t name, int64_t format, int64_t width, int64_t height, int64_t quality) {
  Node* n = make(m, c_vg_share::images, name);
  if (!n) return;
  m.set(n, f_vg_image::VG_IMAGE_FORMAT, Num(format));
  m.set(n, f_vg_image::VG_IMAGE_WIDTH, Num(width));
  m.set(n, f_vg_image::VG_IMAGE_HEIGHT, Num(height));
  m.set(n, f_vg_image::allowed_quality, Num(quality));
}
void vg_child_image(Machine& m, int64_t name, int64_t parent, int64_t width, int64_t height) {
  Node* of = object(m, c_vg_share::images, parent);
  vg_create_image(m, name, of ? of->get(f_vg_image::VG_IMAGE_FORMAT) : 0, width, height, of ? of->get(f_vg_image::allowed_quality) : 0);
  if (Node* n = object(m, c_vg_share::images, name)) m.set(n, f_vg_image::parent, Num(parent));
}
void vg_upload(Machine& m, int64_t image, int64_t x, int64_t y, int64_t width, int64_t height, Array data) {
  Node* n = object(m, c_vg_share::images, image);
  if (!n) return;
  bool whole = x <= 0 && y <= 0 && x + width >= n->get(f_vg_image::VG_IMAGE_WIDTH) && y + height >= n->get(f_vg_image::VG_IMAGE_HEIGHT);
  if (whole && data.content()) return m.set_content(n, f_vg_image::content, data.content_hash(), data.bytes);
  m.touch_content(n, f_vg_image::content);
  m.uploaded(n, f_vg_image::content, data.bytes, data.content_hash());
}
void vg_image_changed(Machine& m, int64_t image) { touch(m, object(m, c_vg_share::images, image), f_vg_image::content); }

void vg_glyph(Machine& m, int64_t font, int64_t index, int64_t path, int64_t image, int64_t hinted, Array origin, Array escapement) {
  Node* f = object(m, c_vg_share::fonts, font);
  if (!f) return;
  bool had = m.find(f, c_vg_font::glyphs, static_cast<uint64_t>(index));
  Node* n = m.make(f, c_vg_font::glyphs, static_cast<uint64_t>(index));
  m.set(n, f_vg_glyph::path, Num(path));
  m.set(n, f_vg_glyph::image, Num(image));
  m.set(n, f_vg_glyph::hinted, Num(hinted));
  m.set(n, f_vg_glyph::origin, 0, origin);
  m.set(n, f_vg_glyph::escapement, 0, escapement);
  if (!had) m.set(f, f_vg_font::VG_FONT_NUM_GLYPHS, Num(f->get(f_vg_font::VG_FONT_NUM_GLYPHS) + 1));
}
void vg_clear_glyph(Machine& m, int64_t font, int64_t index) {
  Node* f = object(m, c_vg_share::fonts, font);
  Node* n = m.find(f, c_vg_font::glyphs, static_cast<uint64_t>(index));
  if (!n) return;
  m.remove(n);
  m.set(f, f_vg_font::VG_FONT_NUM_GLYPHS, Num(f->get(f_vg_font::VG_FONT_NUM_GLYPHS) - 1));
}
void vg_create_mask_layer(Machine& m, int64_t name, int64_t width, int64_t height) {
  Node* n = make(m, c_vg_share::mask_layers, name);
  if (!n) return;
  m.set(n, f_vg_mask_layer::width, Num(width));
  m.set(n, f_vg_mask_layer::height, Num(height));
}
void vg_mask_layer_changed(Machine& m, int64_t layer) { touch(m, object(m, c_vg_share::mask_layers, layer), f_vg_mask_layer::content); }

}  // namespace dt::state::run
