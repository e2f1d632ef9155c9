// Paths of OpenVG: what commands append to them, and the outline that is followed of each.
#include "vg_objects.h"
#include "gl_enums.h"
#include "vg_enums.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_set>

namespace dt::state::run {

namespace {

// The number of coordinates of a segment: VG_CLOSE_PATH, MOVE, LINE, HLINE, VLINE, QUAD, CUBIC, SQUAD, SCUBIC, four
// arcs.
constexpr int COORDINATES[13] = {0, 2, 2, 1, 1, 4, 6, 2, 4, 5, 5, 5, 5};

void reaches(VgOutline& o, double x, double y, double by_x = 0, double by_y = 0) {
  const double low[2] = {x - by_x, y - by_y}, high[2] = {x + by_x, y + by_y};
  for (unsigned i = 0; i < 2; ++i) {
    o.low[i] = o.any ? std::min(o.low[i], low[i]) : low[i];
    o.high[i] = o.any ? std::max(o.high[i], high[i]) : high[i];
  }
  o.any = true;
}
void follow(VgOutline& o, uint8_t command, const double* v) {
  const unsigned kind = command >> 1 & 15;
  const bool relative = command & 1;
  const double base[2] = {relative ? o.at[0] : 0, relative ? o.at[1] : 0};
  ++o.segments;
  o.coordinates += COORDINATES[kind];
  o.short_ += kind == 3 || kind == 4 ? 1 : kind == 7 || kind == 8 ? 2 : 0;
  switch (kind) {
    case 0: o.at[0] = o.start[0], o.at[1] = o.start[1]; return;
    case 3: o.at[0] = base[0] + v[0]; break;
    case 4: o.at[1] = base[1] + v[0]; break;
    case 9:
    case 10:
    case 11:
    case 12: {
      const double radius = std::max(std::abs(v[0]), std::abs(v[1]));
      // The whole of an arc lies within its diameter of either end.
      reaches(o, o.at[0], o.at[1]);
      o.at[0] = base[0] + v[3], o.at[1] = base[1] + v[4];
      reaches(o, o.at[0], o.at[1], 2 * radius, 2 * radius);
      return;
    }
    default:
      for (int i = 0; i + 1 < COORDINATES[kind] - 2; i += 2) reaches(o, base[0] + v[i], base[1] + v[i + 1]);
      o.at[0] = base[0] + v[COORDINATES[kind] - 2], o.at[1] = base[1] + v[COORDINATES[kind] - 1];
  }
  if (kind == 1) o.start[0] = o.at[0], o.start[1] = o.at[1];
  reaches(o, o.at[0], o.at[1]);
}
void tell_outline(Machine& m, Node* path) {
  const VgOutline& o = m.vg_outlines[path];
  m.note(path, f_vg_path::VG_PATH_NUM_SEGMENTS, Num(o.segments));
  m.note(path, f_vg_path::VG_PATH_NUM_COORDS, Num(o.coordinates));
}
void follow_data(Machine& m, Node* path, Array segments, Array data, int64_t count) {
  VgOutline& o = m.vg_outlines[path];
  const uint8_t* commands = segments.load();
  const uint64_t given =
      commands ? std::min<uint64_t>(segments.count(), static_cast<uint64_t>(std::max<int64_t>(count, 0))) : 0;
  const int64_t type = path->get(f_vg_path::VG_PATH_DATATYPE);
  const double scale = path->real(f_vg_path::VG_PATH_SCALE), bias = path->real(f_vg_path::VG_PATH_BIAS);
  constexpr Scalar SCALARS[] = {Scalar::i8, Scalar::i16, Scalar::i32, Scalar::f32};  // by VGPathDatatype
  data.scalar = SCALARS[std::clamp<int64_t>(type, 0, 3)];
  const uint64_t known = data.count();
  uint64_t at = 0;
  for (uint64_t i = 0; i < given; ++i) {
    const unsigned kind = commands[i] >> 1 & 15;
    if (kind > 12) break;
    double v[6] = {};
    for (int k = 0; k < COORDINATES[kind]; ++k, ++at) {
      if (at < known)
        v[k] = data.at(at).floating() * scale + bias;
      else
        o.known = false;
    }
    follow(o, commands[i], v);
  }
  tell_outline(m, path);
}
void follow_shape(Machine& m, Node* path, int64_t segments, int64_t coordinates, int64_t straight, double x0, double y0,
                  double x1, double y1) {
  VgOutline& o = m.vg_outlines[path];
  o.segments += segments;
  o.coordinates += coordinates;
  o.short_ += straight;
  reaches(o, x0, y0);
  reaches(o, x1, y1);
  tell_outline(m, path);
}
void appended(Machine& m, Node* path) { m.touch_content(path, f_vg_path::content); }

}  // namespace

void vg_create_path(Machine& m, int64_t name, int64_t format, int64_t datatype, double scale, double bias,
                    int64_t capabilities) {
  Node* n = make(m, c_vg_share::paths, name);
  if (!n) return m.refuse();
  m.set(n, f_vg_path::VG_PATH_FORMAT, Num(format));
  m.set(n, f_vg_path::VG_PATH_DATATYPE, Num(datatype));
  m.set(n, f_vg_path::VG_PATH_SCALE, Num(scale));
  m.set(n, f_vg_path::VG_PATH_BIAS, Num(bias));
  m.set(n, f_vg_path::capabilities, Num(capabilities & 0xfff));
}
void vg_clear_path(Machine& m, int64_t name, int64_t capabilities) {
  Node* n = used(m, c_vg_share::paths, name);
  if (!n) return;
  m.vg_outlines[n] = {};
  tell_outline(m, n);
  m.set_content(n, f_vg_path::content, NONE, 0);
  m.set(n, f_vg_path::capabilities, Num(capabilities & 0xfff));
}
void vg_remove_capabilities(Machine& m, int64_t path, int64_t capabilities) {
  Node* n = used(m, c_vg_share::paths, path);
  if (!n) return;
  m.part(n, f_vg_path::capabilities);
  m.set(n, f_vg_path::capabilities, Num(n->get(f_vg_path::capabilities) & ~capabilities));
}
void vg_append_data(Machine& m, int64_t name, int64_t count, Array segments, Array data) {
  Node* n = used(m, c_vg_share::paths, name);
  if (!n) return;
  m.read(n, f_vg_path::capabilities);
  follow_data(m, n, segments, data, count);
  appended(m, n);
  // The same data once more is not the same again: no hash, so that nobody takes it for a repetition.
  m.uploaded(n, f_vg_path::content, segments.bytes + data.bytes, NONE);
}
void vg_modify_path(Machine& m, int64_t name, Array data) {
  Node* n = used(m, c_vg_share::paths, name);
  if (!n) return;
  m.read(n, f_vg_path::capabilities);
  m.vg_outlines[n].known = false;
  appended(m, n);
  m.uploaded(n, f_vg_path::content, data.bytes, data.content_hash());
}
// `second`: 0, none.
void vg_append_paths(Machine& m, int64_t name, int64_t first, int64_t second, int64_t transforms) {
  Node *n = used(m, c_vg_share::paths, name), *a = n ? used(m, c_vg_share::paths, first) : nullptr;
  Node* b = a && second ? used(m, c_vg_share::paths, second) : nullptr;
  if (!n || !a || (second && !b)) return;
  m.read(n, f_vg_path::capabilities);
  read_object(m, a);
  if (b) read_object(m, b);
  if (transforms) read_matrix(m, VG_MATRIX_PATH_USER_TO_SURFACE);
  const VgOutline from = m.vg_outlines[a];
  VgOutline& o = m.vg_outlines[n];
  o.segments += from.segments;
  o.coordinates += from.coordinates;
  (transforms || b ? o.coordinates : o.short_) += from.short_;
  o.known = false;
  if (!transforms && !second && from.known && from.any && n != a) {
    const bool known = m.vg_outlines[n].known || o.segments == from.segments;
    reaches(o, from.low[0], from.low[1]);
    reaches(o, from.high[0], from.high[1]);
    o.known = known;
    o.at[0] = from.at[0], o.at[1] = from.at[1], o.start[0] = from.start[0], o.start[1] = from.start[1];
  }
  tell_outline(m, n);
  appended(m, n);
}
// A shape with a fixed number of segments and coordinates, and horizontal and vertical lines, within a box.
void vg_append_shape(Machine& m, int64_t name, int64_t segments, int64_t coordinates, int64_t straight, double x,
                     double y, double width, double height) {
  Node* n = used(m, c_vg_share::paths, name);
  if (!n) return;
  m.read(n, f_vg_path::capabilities);
  follow_shape(m, n, segments, coordinates, straight, x, y, x + width, y + height);
  appended(m, n);
}
void vg_append_line(Machine& m, int64_t name, double x0, double y0, double x1, double y1) {
  vg_append_shape(m, name, 2, 4, 0, x0, y0, x1 - x0, y1 - y0);
}
void vg_append_ellipse(Machine& m, int64_t path, double x, double y, double width, double height) {
  vg_append_shape(m, path, 4, 12, 0, x - width / 2, y - height / 2, width, height);
}
void vg_append_arc(Machine& m, int64_t name, double x, double y, double width, double height, double extent,
                   int64_t type) {
  Node* n = used(m, c_vg_share::paths, name);
  if (!n) return;
  m.read(n, f_vg_path::capabilities);
  // Pieces below half an ellipse.
  const double sweep = std::min(std::abs(extent), 360.0 * 512);
  auto pieces = std::max<int64_t>(1, static_cast<int64_t>(std::ceil(sweep / 180)));
  if (sweep / static_cast<double>(pieces) >= 180) ++pieces;
  const bool pie = type == VGU_ARC_PIE, open = type == VGU_ARC_OPEN;
  follow_shape(m, n, 1 + pieces + pie + !open, 2 + 5 * pieces + 2 * pie, 0, x - width / 2, y - height / 2,
               x + width / 2, y + height / 2);
  appended(m, n);
}
void vg_append_polygon(Machine& m, int64_t name, Array points, int64_t count, int64_t closed) {
  Node* n = used(m, c_vg_share::paths, name);
  if (!n || count <= 0) return m.refuse();
  m.read(n, f_vg_path::capabilities);
  VgOutline& o = m.vg_outlines[n];
  o.segments += count + (closed ? 1 : 0);
  o.coordinates += 2 * count;
  for (uint64_t i = 0; i + 1 < points.count(); i += 2) reaches(o, points.at(i).floating(), points.at(i + 1).floating());
  tell_outline(m, n);
  appended(m, n);
}

}  // namespace dt::state::run
