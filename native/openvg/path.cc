// Paths: their data, what curves become, and the questions that a program can ask about them.
#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>

#include "engine.h"

namespace dt::vg {

int coordinates_of(uint8_t command) {
  static const int8_t counts[] = {0, 2, 2, 1, 1, 4, 6, 2, 4, 5, 5, 5, 5};
  unsigned segment = command >> 1;
  return segment < sizeof counts ? counts[segment] : -1;
}

size_t coordinates_before(const Path& path, size_t segment) {
  size_t total = 0;
  for (size_t i = 0; i < segment; i++) total += (size_t)coordinates_of(path.segments[i]);
  return total;
}

size_t Path::element_bytes() const {
  return datatype == VG_PATH_DATATYPE_S_8 ? 1 : datatype == VG_PATH_DATATYPE_S_16 ? 2 : 4;
}

float Path::quantised(double value) const {
  double stored = (value - bias) / scale;
  double limit = datatype == VG_PATH_DATATYPE_S_8    ? 127
                 : datatype == VG_PATH_DATATYPE_S_16 ? 32767
                 : datatype == VG_PATH_DATATYPE_S_32 ? 2147483647
                                                     : 0;
  if (limit > 0) stored = std::clamp(std::floor(stored + 0.5), -limit - 1, limit);
  return (float)stored;
}

void Path::append(uint8_t command, std::initializer_list<double> coordinates) {
  segments.push_back(command);
  for (double value : coordinates) raw.push_back(quantised(value));
}

namespace {

// A segment in absolute coordinates, with the short forms spelt out.
struct Element {
  int type;  // VG_MOVE_TO, VG_LINE_TO, VG_QUAD_TO, VG_CUBIC_TO, an arc, or VG_CLOSE_PATH
  Point from;
  Point control[2];
  double rh = 0, rv = 0, rotation = 0;
  Point to;
  uint32_t segment;
  bool opens = false;  // the first of a subpath that has no move of its own
};

bool is_arc(int type) { return type >= VG_SCCWARC_TO && type <= VG_LCWARC_TO; }

// Follows a path from its beginning: what a segment means depends on those before it.
class Walk {
 public:
  explicit Walk(const Path& path) : path_(path) {}
  bool next(Element& out);

 private:
  double take() { return input(path_.coordinate(coordinate_++)); }
  Point take_point(Point origin) {
    double x = take(), y = take();
    return {origin.x + x, origin.y + y};
  }

  const Path& path_;
  size_t segment_ = 0, coordinate_ = 0;
  Point start_, pen_, tangent_;  // of the subpath; where we are; the last control point
};

bool Walk::next(Element& out) {
  if (segment_ >= path_.segments.size()) return false;
  uint8_t command = path_.segments[segment_];
  bool relative = command & 1;
  int type = command & ~1;
  Point origin = relative ? pen_ : Point();
  out = Element();
  out.segment = (uint32_t)segment_;
  out.from = pen_;
  out.type = type;
  switch (type) {
    case VG_CLOSE_PATH: out.to = tangent_ = pen_ = start_; break;
    case VG_MOVE_TO: out.to = start_ = pen_ = tangent_ = take_point(origin); break;
    case VG_LINE_TO: out.to = pen_ = tangent_ = take_point(origin); break;
    case VG_HLINE_TO:
      out.type = VG_LINE_TO;
      out.to = {origin.x + take(), pen_.y};
      pen_ = tangent_ = out.to;
      break;
    case VG_VLINE_TO:
      out.type = VG_LINE_TO;
      out.to = {pen_.x, origin.y + take()};
      pen_ = tangent_ = out.to;
      break;
    case VG_QUAD_TO:
    case VG_SQUAD_TO:
      out.type = VG_QUAD_TO;
      out.control[0] = type == VG_QUAD_TO ? take_point(origin) : pen_ * 2 - tangent_;
      tangent_ = out.control[0];
      out.to = pen_ = take_point(origin);
      break;
    case VG_CUBIC_TO:
    case VG_SCUBIC_TO:
      out.type = VG_CUBIC_TO;
      out.control[0] = type == VG_CUBIC_TO ? take_point(origin) : pen_ * 2 - tangent_;
      out.control[1] = tangent_ = take_point(origin);
      out.to = pen_ = take_point(origin);
      break;
    default:  // arcs
      out.rh = std::fabs(take());
      out.rv = std::fabs(take());
      out.rotation = take() * (M_PI / 180);
      out.to = pen_ = tangent_ = take_point(origin);
      break;
  }
  segment_++;
  return true;
}

// An elliptic arc as an angle interval on a unit circle.
struct Arc {
  Matrix from_unit;
  double begin = 0, sweep = 0;
  bool line = false;  // no such ellipse
  Point at(double t) const {
    double angle = begin + sweep * t;
    return from_unit.apply({std::cos(angle), std::sin(angle)});
  }
};

Arc arc_of(const Element& e) {
  Arc arc;
  if (e.rh == 0 || e.rv == 0) {
    arc.line = true;
    return arc;
  }
  double c = std::cos(e.rotation), s = std::sin(e.rotation);
  auto to_unit = [&](Point p) { return Point{(c * p.x + s * p.y) / e.rh, (-s * p.x + c * p.y) / e.rv}; };
  Point u0 = to_unit(e.from), u1 = to_unit(e.to);
  Point d = u0 - u1, middle = (u0 + u1) * 0.5;
  double squared = d.x * d.x + d.y * d.y;
  if (squared == 0 || !std::isfinite(squared)) {
    arc.line = true;
    return arc;
  }
  // Radii that cannot reach both points grow until they just do.
  double grown = std::max(1.0, std::sqrt(squared) / 2);
  double offset = std::sqrt(std::max(0.0, grown * grown / squared - 0.25));
  bool left = e.type == VG_SCCWARC_TO || e.type == VG_LCWARC_TO;
  Point center = left ? Point{middle.x + offset * d.y, middle.y - offset * d.x}
                      : Point{middle.x - offset * d.y, middle.y + offset * d.x};
  bool counter_clockwise = e.type == VG_SCCWARC_TO || e.type == VG_LCCWARC_TO;
  double a0 = std::atan2(u0.y - center.y, u0.x - center.x), a1 = std::atan2(u1.y - center.y, u1.x - center.x);
  if (counter_clockwise && a1 <= a0) a1 += 2 * M_PI;
  if (!counter_clockwise && a1 >= a0) a1 -= 2 * M_PI;
  arc.begin = a0;
  arc.sweep = a1 - a0;
  double rh = e.rh * grown, rv = e.rv * grown;
  Point at{c * center.x * e.rh - s * center.y * e.rv, s * center.x * e.rh + c * center.y * e.rv};
  arc.from_unit.m[0][0] = c * rh, arc.from_unit.m[0][1] = -s * rv, arc.from_unit.m[0][2] = at.x;
  arc.from_unit.m[1][0] = s * rh, arc.from_unit.m[1][1] = c * rv, arc.from_unit.m[1][2] = at.y;
  return arc;
}

constexpr int MAX_PIECES = 1000;

int pieces(double deviation, double tolerance) {
  double count = std::ceil(std::sqrt(deviation / tolerance));
  return std::isfinite(count) ? (int)std::clamp(count, 1.0, (double)MAX_PIECES) : MAX_PIECES;
}

// The points of a segment after its first one, by parameter.
template <class Add> void cut(const Element& e, double tolerance, Add add) {
  switch (e.type) {
    case VG_QUAD_TO: {
      Point a = e.from, b = e.control[0], c = e.to;
      int count = pieces(length(a - b * 2 + c) / 4, tolerance);
      for (int i = 1; i < count; i++) {
        double t = (double)i / count, u = 1 - t;
        add(a * (u * u) + b * (2 * u * t) + c * (t * t));
      }
      break;
    }
    case VG_CUBIC_TO: {
      Point a = e.from, b = e.control[0], c = e.control[1], d = e.to;
      int count = pieces(std::max(length(a - b * 2 + c), length(b - c * 2 + d)) * 0.75, tolerance);
      for (int i = 1; i < count; i++) {
        double t = (double)i / count, u = 1 - t;
        add(a * (u * u * u) + b * (3 * u * u * t) + c * (3 * u * t * t) + d * (t * t * t));
      }
      break;
    }
    default:
      if (is_arc(e.type)) {
        Arc arc = arc_of(e);
        if (!arc.line) {
          double radius = arc.from_unit.scale();
          double step = radius > tolerance ? 2 * std::acos(1 - tolerance / radius) : M_PI / 2;
          double wanted = std::ceil(std::fabs(arc.sweep) / std::max(step, 1e-6));
          int count = (int)std::clamp(wanted, 2.0, (double)MAX_PIECES * 4);
          for (int i = 1; i < count; i++) add(arc.at((double)i / count));
        }
      }
  }
  add(e.to);
}

Point direction(Point from, Point to, Point otherwise) {
  Point d = to - from;
  double size = length(d);
  return size > 0 && std::isfinite(size) ? d * (1 / size) : otherwise;
}

}  // namespace

std::vector<Vertex> flatten(const Path& path, double tolerance, size_t first, size_t count) {
  std::vector<Vertex> result;
  Walk walk(path);
  Element e;
  bool open = false;
  Point tangent{1, 0};
  while (walk.next(e)) {
    if (e.segment < first) continue;
    if (e.segment - first >= count) break;
    if (e.type == VG_MOVE_TO) {
      result.push_back({e.to, {1, 0}, Step::move});
      open = true;
      tangent = {1, 0};
      continue;
    }
    if (!open) {  // begins where the last subpath closed, or in the middle of one
      result.push_back({e.from, {1, 0}, Step::move});
      open = true;
      tangent = {1, 0};
    }
    if (e.type == VG_CLOSE_PATH) {
      result.push_back({e.to, direction(result.back().at, e.to, tangent), Step::close});
      open = false;
      continue;
    }
    cut(e, tolerance, [&](Point at) {
      tangent = direction(result.back().at, at, tangent);
      result.push_back({at, tangent, Step::line});
    });
  }
  return result;
}

namespace {

std::shared_ptr<Path> path_with(Context& context, VGPath handle, VGbitfield capabilities) {
  auto path = context.need<Path>(handle);
  if ((path->capabilities & capabilities) != capabilities) refuse(VG_PATH_CAPABILITY_ERROR);
  return path;
}

// One number of a path's datatype.
float stored(const Path& path, const void* data, size_t index) {
  switch (path.datatype) {
    case VG_PATH_DATATYPE_S_8: return (float)((const int8_t*)data)[index];
    case VG_PATH_DATATYPE_S_16: return (float)((const int16_t*)data)[index];
    case VG_PATH_DATATYPE_S_32: return (float)((const int32_t*)data)[index];
    default: return input(((const float*)data)[index]);
  }
}

bool readable(const Path& path, const void* data) { return data && (uintptr_t)data % path.element_bytes() == 0; }

bool segment_range(const Path& path, VGint first, VGint count) {
  return first >= 0 && count > 0 && (size_t)first < path.segments.size() &&
         (size_t)count <= path.segments.size() - (size_t)first;
}

// The exactness of the lengths, points and bounds of a path.
double fine(const Path& path) {
  double extent = 1e-3;
  for (size_t i = 0; i < path.raw.size(); i++) extent = std::max(extent, (double)std::fabs(path.coordinate(i)));
  return extent * 1e-7;
}

void bounds_of(const std::vector<Vertex>& vertices, const Matrix& matrix, VGfloat* min_x, VGfloat* min_y,
               VGfloat* width, VGfloat* height) {
  double left = std::numeric_limits<double>::max(), bottom = left, right = -left, top = -left;
  for (const Vertex& vertex : vertices) {
    Point p = matrix.apply(vertex.at);
    left = std::min(left, p.x), right = std::max(right, p.x);
    bottom = std::min(bottom, p.y), top = std::max(top, p.y);
  }
  bool none = vertices.empty();
  *min_x = none ? 0 : input((float)left);
  *min_y = none ? 0 : input((float)bottom);
  *width = none ? -1 : input((float)(right - left));
  *height = none ? -1 : input((float)(top - bottom));
}

void append_element(Path& path, const Element& e) {
  switch (e.type) {
    case VG_CLOSE_PATH: path.append(VG_CLOSE_PATH, {}); break;
    case VG_QUAD_TO: path.append(VG_QUAD_TO, {e.control[0].x, e.control[0].y, e.to.x, e.to.y}); break;
    case VG_CUBIC_TO:
      path.append(VG_CUBIC_TO, {e.control[0].x, e.control[0].y, e.control[1].x, e.control[1].y, e.to.x, e.to.y});
      break;
    case VG_MOVE_TO:
    case VG_LINE_TO: path.append((uint8_t)e.type, {e.to.x, e.to.y}); break;
    default: path.append((uint8_t)e.type, {e.rh, e.rv, e.rotation * (180 / M_PI), e.to.x, e.to.y}); break;
  }
}

// An arc under a linear map is an arc again: its axes are the singular vectors of map * rotation * radii.
void transform_arc(Element& e, const Matrix& matrix) {
  double c = std::cos(e.rotation), s = std::sin(e.rotation);
  Point u = matrix.direction({c * e.rh, s * e.rh}), v = matrix.direction({-s * e.rv, c * e.rv});
  // The half axes of { u cos t + v sin t }: the extremes of its length.
  double t = 0.5 * std::atan2(2 * (u.x * v.x + u.y * v.y), u.x * u.x + u.y * u.y - v.x * v.x - v.y * v.y);
  Point major = u * std::cos(t) + v * std::sin(t), minor = v * std::cos(t) - u * std::sin(t);
  e.rh = length(major);
  e.rv = length(minor);
  e.rotation = std::atan2(major.y, major.x);
  if (matrix.m[0][0] * matrix.m[1][1] - matrix.m[0][1] * matrix.m[1][0] < 0) {  // mirrored: the other way round
    static const int turned[] = {VG_SCWARC_TO, VG_SCCWARC_TO, VG_LCWARC_TO, VG_LCCWARC_TO};
    e.type = turned[(e.type - VG_SCCWARC_TO) / 2];
  }
}

void transform_element(Element& e, const Matrix& matrix) {
  if (is_arc(e.type)) transform_arc(e, matrix);
  for (Point& control : e.control) control = matrix.apply(control);
  e.to = matrix.apply(e.to);
}

std::vector<Element> elements(const Path& path) {
  std::vector<Element> result;
  Walk walk(path);
  for (Element e; walk.next(e);) result.push_back(e);
  return result;
}

}  // namespace
}  // namespace dt::vg

using namespace dt::vg;

extern "C" {

VGPath vgCreatePath(VGint path_format, VGPathDatatype datatype, VGfloat scale, VGfloat bias, VGint segment_hint,
                    VGint coordinate_hint, VGbitfield capabilities) {
  (void)segment_hint, (void)coordinate_hint;
  return enter<VGPath>(VG_INVALID_HANDLE, [&](Context& context) {
    if (path_format != VG_PATH_FORMAT_STANDARD) refuse(VG_UNSUPPORTED_PATH_FORMAT_ERROR);
    if (datatype > VG_PATH_DATATYPE_F || input(scale) == 0) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    auto path = std::make_shared<Path>();
    path->datatype = datatype;
    path->scale = input(scale);
    path->bias = input(bias);
    path->capabilities = capabilities & VG_PATH_CAPABILITY_ALL;
    return context.keep(path);
  });
}

void vgClearPath(VGPath handle, VGbitfield capabilities) {
  enter([&](Context& context) {
    auto path = context.need<Path>(handle);
    path->segments.clear();
    path->raw.clear();
    path->capabilities = capabilities & VG_PATH_CAPABILITY_ALL;
  });
}

void vgDestroyPath(VGPath handle) {
  enter([&](Context& context) { context.destroy<Path>(handle); });
}

void vgRemovePathCapabilities(VGPath handle, VGbitfield capabilities) {
  enter(
      [&](Context& context) { context.need<Path>(handle)->capabilities &= ~(capabilities & VG_PATH_CAPABILITY_ALL); });
}

VGbitfield vgGetPathCapabilities(VGPath handle) {
  return enter<VGbitfield>(0, [&](Context& context) { return context.need<Path>(handle)->capabilities; });
}

void vgAppendPath(VGPath target, VGPath source) {
  enter([&](Context& context) {
    auto from = context.need<Path>(source), to = context.need<Path>(target);
    if (!(from->capabilities & VG_PATH_CAPABILITY_APPEND_FROM) || !(to->capabilities & VG_PATH_CAPABILITY_APPEND_TO))
      refuse(VG_PATH_CAPABILITY_ERROR);
    // A path may be appended to itself: only what it held before.
    size_t segments = from->segments.size(), count = from->raw.size();
    to->segments.reserve(to->segments.size() + segments);
    to->raw.reserve(to->raw.size() + count);
    for (size_t i = 0; i < segments; i++) to->segments.push_back(from->segments[i]);
    for (size_t i = 0; i < count; i++) to->raw.push_back(to->quantised(from->coordinate(i)));
  });
}

void vgAppendPathData(VGPath handle, VGint count, const VGubyte* commands, const void* data) {
  enter([&](Context& context) {
    auto path = path_with(context, handle, VG_PATH_CAPABILITY_APPEND_TO);
    if (!commands || count <= 0 || !readable(*path, data)) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    size_t numbers = 0;
    for (VGint i = 0; i < count; i++) {
      int taken = coordinates_of(commands[i]);
      if (taken < 0) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
      numbers += (size_t)taken;
    }
    path->raw.reserve(path->raw.size() + numbers);
    path->segments.insert(path->segments.end(), commands, commands + count);
    for (size_t i = 0; i < numbers; i++) path->raw.push_back(stored(*path, data, i));
  });
}

void vgModifyPathCoords(VGPath handle, VGint first, VGint count, const void* data) {
  enter([&](Context& context) {
    auto path = path_with(context, handle, VG_PATH_CAPABILITY_MODIFY);
    if (!readable(*path, data) || !segment_range(*path, first, count)) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    size_t begin = coordinates_before(*path, (size_t)first);
    size_t end = coordinates_before(*path, (size_t)first + (size_t)count);
    for (size_t i = begin; i < end; i++) path->raw[i] = stored(*path, data, i - begin);
  });
}

void vgTransformPath(VGPath target, VGPath source) {
  enter([&](Context& context) {
    auto to = context.need<Path>(target), from = context.need<Path>(source);
    if (!(from->capabilities & VG_PATH_CAPABILITY_TRANSFORM_FROM) ||
        !(to->capabilities & VG_PATH_CAPABILITY_TRANSFORM_TO))
      refuse(VG_PATH_CAPABILITY_ERROR);
    for (Element& e : elements(*from)) {
      transform_element(e, context.path_matrix);
      append_element(*to, e);
    }
  });
}

VGboolean vgInterpolatePath(VGPath target, VGPath begin, VGPath end, VGfloat amount) {
  return enter<VGboolean>(VG_FALSE, [&](Context& context) {
    auto to = context.need<Path>(target), a = context.need<Path>(begin), b = context.need<Path>(end);
    if (!(to->capabilities & VG_PATH_CAPABILITY_INTERPOLATE_TO) ||
        !(a->capabilities & b->capabilities & VG_PATH_CAPABILITY_INTERPOLATE_FROM))
      refuse(VG_PATH_CAPABILITY_ERROR);
    auto first = elements(*a), second = elements(*b);
    if (first.size() != second.size()) return VG_FALSE;
    for (size_t i = 0; i < first.size(); i++)
      if (first[i].type != second[i].type && !(is_arc(first[i].type) && is_arc(second[i].type))) return VG_FALSE;
    double t = input(amount);
    auto mix = [t](double x, double y) { return x * (1 - t) + y * t; };
    for (size_t i = 0; i < first.size(); i++) {
      Element e = t < 0.5 ? first[i] : second[i];
      for (int k = 0; k < 2; k++)
        e.control[k] = {mix(first[i].control[k].x, second[i].control[k].x),
                        mix(first[i].control[k].y, second[i].control[k].y)};
      e.to = {mix(first[i].to.x, second[i].to.x), mix(first[i].to.y, second[i].to.y)};
      e.rh = mix(first[i].rh, second[i].rh);
      e.rv = mix(first[i].rv, second[i].rv);
      e.rotation = mix(first[i].rotation, second[i].rotation);
      append_element(*to, e);
    }
    return VG_TRUE;
  });
}

VGfloat vgPathLength(VGPath handle, VGint first, VGint count) {
  return enter<VGfloat>(-1, [&](Context& context) {
    auto path = path_with(context, handle, VG_PATH_CAPABILITY_PATH_LENGTH);
    if (!segment_range(*path, first, count)) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    double total = 0;
    Point last;
    for (const Vertex& vertex : flatten(*path, fine(*path), (size_t)first, (size_t)count)) {
      if (vertex.step != Step::move) total += length(vertex.at - last);
      last = vertex.at;
    }
    return input((float)total);
  });
}

void vgPointAlongPath(VGPath handle, VGint first, VGint count, VGfloat distance, VGfloat* x, VGfloat* y,
                      VGfloat* tangent_x, VGfloat* tangent_y) {
  enter([&](Context& context) {
    auto path = context.need<Path>(handle);
    for (VGfloat* out : {x, y, tangent_x, tangent_y})
      if ((uintptr_t)out % alignof(VGfloat)) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    bool point = x && y, tangent = tangent_x && tangent_y;
    if ((point && !(path->capabilities & VG_PATH_CAPABILITY_POINT_ALONG_PATH)) ||
        (tangent && !(path->capabilities & VG_PATH_CAPABILITY_TANGENT_ALONG_PATH)))
      refuse(VG_PATH_CAPABILITY_ERROR);
    if (!segment_range(*path, first, count)) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    Point at, along{1, 0}, last;
    double left = std::max(0.0f, input(distance));
    bool began = false;
    for (const Vertex& vertex : flatten(*path, fine(*path), (size_t)first, (size_t)count)) {
      if (vertex.step == Step::move) {
        if (!began) at = vertex.at;
      } else {
        double size = length(vertex.at - last);
        along = vertex.tangent;
        if (size > 0 && left <= size) {
          at = last + (vertex.at - last) * (left / size);
          break;
        }
        left -= size;
        at = vertex.at;
      }
      began = true;
      last = vertex.at;
    }
    if (point) *x = input((float)at.x), *y = input((float)at.y);
    if (tangent) *tangent_x = (float)along.x, *tangent_y = (float)along.y;
  });
}

static void path_bounds(VGPath handle, bool transformed, VGfloat* x, VGfloat* y, VGfloat* width, VGfloat* height) {
  enter([&](Context& context) {
    VGbitfield needed = transformed ? VG_PATH_CAPABILITY_PATH_TRANSFORMED_BOUNDS : VG_PATH_CAPABILITY_PATH_BOUNDS;
    auto path = path_with(context, handle, needed);
    for (VGfloat* out : {x, y, width, height})
      if (!usable(out)) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    bounds_of(flatten(*path, fine(*path)), transformed ? context.path_matrix : Matrix(), x, y, width, height);
  });
}

void vgPathBounds(VGPath path, VGfloat* x, VGfloat* y, VGfloat* width, VGfloat* height) {
  path_bounds(path, false, x, y, width, height);
}

void vgPathTransformedBounds(VGPath path, VGfloat* x, VGfloat* y, VGfloat* width, VGfloat* height) {
  path_bounds(path, true, x, y, width, height);
}

void vgDrawPath(VGPath handle, VGbitfield modes) {
  enter([&](Context& context) {
    auto path = context.need<Path>(handle);
    if (!modes || modes & ~(VGbitfield)(VG_FILL_PATH | VG_STROKE_PATH)) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    draw_path(context, *path, context.path_matrix, modes);
  });
}

}  // extern "C"
