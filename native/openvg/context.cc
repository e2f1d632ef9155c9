// Contexts, their parameters, matrices and strings; parameters of objects.
#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "engine.h"

namespace dt::vg {

Context*& current() {
  static thread_local Context* context;
  return context;
}
std::atomic<void (*)()>& at_flush() {
  static std::atomic<void (*)()> function{nullptr};
  return function;
}

std::atomic<uint32_t (*)(void*, int*)>& at_image_target() {
  static std::atomic<uint32_t (*)(void*, int*)> function{nullptr};
  return function;
}

int32_t whole(float value) {
  double floored = std::floor((double)value);
  if (std::isnan(floored)) return 0;
  return (int32_t)std::clamp(floored, (double)std::numeric_limits<int32_t>::min(),
                             (double)std::numeric_limits<int32_t>::max());
}

// ---- matrices

Matrix Matrix::translation(double x, double y) {
  Matrix result;
  result.m[0][2] = x;
  result.m[1][2] = y;
  return result;
}

Matrix Matrix::operator*(const Matrix& other) const {
  Matrix result;
  for (int row = 0; row < 3; row++)
    for (int column = 0; column < 3; column++) {
      double sum = 0;
      for (int k = 0; k < 3; k++) sum += m[row][k] * other.m[k][column];
      result.m[row][column] = sum;
    }
  return result;
}

double Matrix::determinant() const {
  return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
         m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

bool Matrix::inverse(Matrix& out) const {
  double det = determinant();
  if (det == 0 || !std::isfinite(det) || !std::isfinite(1 / det)) return false;
  for (int row = 0; row < 3; row++)
    for (int column = 0; column < 3; column++) {
      int r1 = (column + 1) % 3, r2 = (column + 2) % 3, c1 = (row + 1) % 3, c2 = (row + 2) % 3;
      out.m[row][column] = (m[r1][c1] * m[r2][c2] - m[r1][c2] * m[r2][c1]) / det;
    }
  return true;
}

Point Matrix::apply(Point p) const {
  double x = m[0][0] * p.x + m[0][1] * p.y + m[0][2], y = m[1][0] * p.x + m[1][1] * p.y + m[1][2];
  double w = weight(p);
  return w == 1 ? Point{x, y} : Point{x / w, y / w};
}

double Matrix::scale() const {
  // The larger singular value of the linear part.
  double a = m[0][0], b = m[0][1], c = m[1][0], d = m[1][1];
  double sum = (a * a + b * b + c * c + d * d) / 2, product = a * d - b * c;
  return std::sqrt(sum + std::sqrt(std::max(0.0, sum * sum - product * product)));
}

bool affine(const Matrix& matrix) { return matrix.m[2][0] == 0 && matrix.m[2][1] == 0 && matrix.m[2][2] == 1; }

Rect intersection(const Rect& a, const Rect& b) {
  // 64 bits: rectangles come from programs.
  int64_t left = std::max<int64_t>(a.x, b.x), bottom = std::max<int64_t>(a.y, b.y);
  int64_t right = std::min((int64_t)a.x + a.width, (int64_t)b.x + b.width);
  int64_t top = std::min((int64_t)a.y + a.height, (int64_t)b.y + b.height);
  if (a.empty() || b.empty() || right <= left || top <= bottom) return {};
  return {(int)left, (int)bottom, (int)(right - left), (int)(top - bottom)};
}

Matrix& Context::matrix() {
  switch (matrix_mode) {
    case VG_MATRIX_IMAGE_USER_TO_SURFACE: return image_matrix;
    case VG_MATRIX_FILL_PAINT_TO_USER: return fill_matrix;
    case VG_MATRIX_STROKE_PAINT_TO_USER: return stroke_matrix;
    case VG_MATRIX_GLYPH_USER_TO_SURFACE: return glyph_matrix;
    default: return path_matrix;
  }
}

const Paint& Context::paint(VGPaintMode mode) const {
  const auto& paint = mode == VG_FILL_PATH ? fill_paint : stroke_paint;
  return paint ? *paint : *default_paint;
}

VGHandle Context::keep(const std::shared_ptr<Object>& object) {
  // Handles of all groups differ: one of another group is bad, never somebody else's object.
  static std::mutex lock;
  static VGHandle next = 1;
  std::lock_guard guard(lock);
  object->handle = next++;
  share->objects[object->handle] = object;
  sensors.created_objects++;
  return object->handle;
}

// ---- parameters of contexts and objects

namespace {

// One number, given as a float or as an integer (which a float cannot always hold).
struct Number {
  float real;
  VGint integer;
};
Number number(VGint value) { return {(float)value, value}; }
Number number(VGfloat value) { return {value, whole(value)}; }
Number count(size_t value) { return {(float)value, (VGint)std::min<size_t>(value, std::numeric_limits<VGint>::max())}; }
Number given(VGint value) { return number(value); }
Number given(VGfloat value) { return number(input(value)); }

// A parameter: where it is held, and what it may become.
struct Parameter {
  // None: there is no such parameter. A number alone is legal to set, and that has no effect.
  std::variant<std::monostate, Number, bool*, VGint*, VGbitfield*, float*, std::span<float>, std::vector<float>*,
               std::vector<VGint>*>
      held;
  std::span<const VGint> allowed = {};
  VGint unit = 1, most = 1;  // numbers in a vector whose size changes

  bool is_known() const { return held.index() > 0; }
  bool is_vector() const { return held.index() > 5; }
  bool fits(VGint numbers) const {
    if (auto* fixed = std::get_if<std::span<float>>(&held)) return numbers == (VGint)fixed->size();
    return is_known() && numbers >= (is_vector() ? 0 : 1) && numbers <= most && numbers % unit == 0;
  }
};

template <VGint... values> std::span<const VGint> among() {
  static constexpr VGint all[] = {values...};
  return all;
}

Parameter parameter(Context& c, VGint type) {
  switch (type) {
    case VG_MATRIX_MODE:
      return {&c.matrix_mode,
              among<VG_MATRIX_PATH_USER_TO_SURFACE, VG_MATRIX_IMAGE_USER_TO_SURFACE, VG_MATRIX_FILL_PAINT_TO_USER,
                    VG_MATRIX_STROKE_PAINT_TO_USER, VG_MATRIX_GLYPH_USER_TO_SURFACE>()};
    case VG_FILL_RULE: return {&c.fill_rule, among<VG_EVEN_ODD, VG_NON_ZERO>()};
    case VG_IMAGE_QUALITY:
      return {&c.image_quality,
              among<VG_IMAGE_QUALITY_NONANTIALIASED, VG_IMAGE_QUALITY_FASTER, VG_IMAGE_QUALITY_BETTER>()};
    case VG_RENDERING_QUALITY:
      return {&c.rendering_quality,
              among<VG_RENDERING_QUALITY_NONANTIALIASED, VG_RENDERING_QUALITY_FASTER, VG_RENDERING_QUALITY_BETTER>()};
    case VG_BLEND_MODE:
      return {&c.blend_mode,
              among<VG_BLEND_SRC, VG_BLEND_SRC_OVER, VG_BLEND_DST_OVER, VG_BLEND_SRC_IN, VG_BLEND_DST_IN,
                    VG_BLEND_MULTIPLY, VG_BLEND_SCREEN, VG_BLEND_DARKEN, VG_BLEND_LIGHTEN, VG_BLEND_ADDITIVE>()};
    case VG_IMAGE_MODE:
      return {&c.image_mode, among<VG_DRAW_IMAGE_NORMAL, VG_DRAW_IMAGE_MULTIPLY, VG_DRAW_IMAGE_STENCIL>()};
    case VG_STROKE_CAP_STYLE: return {&c.cap_style, among<VG_CAP_BUTT, VG_CAP_ROUND, VG_CAP_SQUARE>()};
    case VG_STROKE_JOIN_STYLE: return {&c.join_style, among<VG_JOIN_MITER, VG_JOIN_ROUND, VG_JOIN_BEVEL>()};
    case VG_PIXEL_LAYOUT:
      return {&c.pixel_layout,
              among<VG_PIXEL_LAYOUT_UNKNOWN, VG_PIXEL_LAYOUT_RGB_VERTICAL, VG_PIXEL_LAYOUT_BGR_VERTICAL,
                    VG_PIXEL_LAYOUT_RGB_HORIZONTAL, VG_PIXEL_LAYOUT_BGR_HORIZONTAL>()};
    case VG_COLOR_TRANSFORM: return {&c.color_transform};
    case VG_STROKE_DASH_PHASE_RESET: return {&c.dash_phase_reset};
    case VG_MASKING: return {&c.masking};
    case VG_SCISSORING: return {&c.scissoring};
    case VG_FILTER_FORMAT_LINEAR: return {&c.filter_linear};
    case VG_FILTER_FORMAT_PREMULTIPLIED: return {&c.filter_premultiplied};
    case VG_FILTER_CHANNEL_MASK: return {&c.filter_channels};
    case VG_STROKE_LINE_WIDTH: return {&c.line_width};
    case VG_STROKE_MITER_LIMIT: return {&c.miter_limit};
    case VG_STROKE_DASH_PHASE: return {&c.dash_phase};
    case VG_TILE_FILL_COLOR: return {std::span(c.tile_fill_color)};
    case VG_CLEAR_COLOR: return {std::span(c.clear_color)};
    case VG_GLYPH_ORIGIN: return {std::span(c.glyph_origin)};
    case VG_COLOR_TRANSFORM_VALUES: return {std::span(c.color_transform_values)};
    case VG_SCISSOR_RECTS: return {&c.scissor_rects, {}, 4, MAX_SCISSOR_RECTS * 4};
    case VG_STROKE_DASH_PATTERN: return {&c.dash_pattern, {}, 1, MAX_DASH_COUNT};
    case VG_SCREEN_LAYOUT: return {number(VG_PIXEL_LAYOUT_UNKNOWN)};
    case VG_MAX_SCISSOR_RECTS: return {number(MAX_SCISSOR_RECTS)};
    case VG_MAX_DASH_COUNT: return {number(MAX_DASH_COUNT)};
    case VG_MAX_KERNEL_SIZE: return {number(MAX_KERNEL)};
    case VG_MAX_SEPARABLE_KERNEL_SIZE: return {number(MAX_SEPARABLE_KERNEL)};
    case VG_MAX_COLOR_RAMP_STOPS: return {number(MAX_RAMP_STOPS)};
    case VG_MAX_IMAGE_WIDTH:
    case VG_MAX_IMAGE_HEIGHT: return {number(MAX_IMAGE_SIDE)};
    case VG_MAX_IMAGE_PIXELS: return {number(MAX_IMAGE_PIXELS)};
    case VG_MAX_IMAGE_BYTES: return {number(MAX_IMAGE_BYTES)};
    case VG_MAX_FLOAT: return {number(MAX_FLOAT)};
    case VG_MAX_GAUSSIAN_STD_DEVIATION: return {number(MAX_DEVIATION)};
    default: return {};
  }
}

Parameter parameter(Path& path, VGint type) {
  switch (type) {
    case VG_PATH_FORMAT: return {number(path.path_format)};
    case VG_PATH_DATATYPE: return {number((VGint)path.datatype)};
    case VG_PATH_SCALE: return {number(path.scale)};
    case VG_PATH_BIAS: return {number(path.bias)};
    case VG_PATH_NUM_SEGMENTS: return {count(path.segments.size())};
    case VG_PATH_NUM_COORDS: return {count(path.raw.size())};
    default: return {};
  }
}

Parameter parameter(Paint& paint, VGint type) {
  switch (type) {
    case VG_PAINT_TYPE:
      return {&paint.type, among<VG_PAINT_TYPE_COLOR, VG_PAINT_TYPE_LINEAR_GRADIENT, VG_PAINT_TYPE_RADIAL_GRADIENT,
                                 VG_PAINT_TYPE_PATTERN>()};
    case VG_PAINT_COLOR_RAMP_SPREAD_MODE:
      return {&paint.spread,
              among<VG_COLOR_RAMP_SPREAD_PAD, VG_COLOR_RAMP_SPREAD_REPEAT, VG_COLOR_RAMP_SPREAD_REFLECT>()};
    case VG_PAINT_PATTERN_TILING_MODE:
      return {&paint.tiling, among<VG_TILE_FILL, VG_TILE_PAD, VG_TILE_REPEAT, VG_TILE_REFLECT>()};
    case VG_PAINT_COLOR_RAMP_PREMULTIPLIED: return {&paint.ramp_premultiplied};
    case VG_PAINT_COLOR: return {std::span(paint.color)};
    case VG_PAINT_LINEAR_GRADIENT: return {std::span(paint.linear)};
    case VG_PAINT_RADIAL_GRADIENT: return {std::span(paint.radial)};
    case VG_PAINT_COLOR_RAMP_STOPS: return {&paint.stops, {}, 5, MAX_RAMP_STOPS * 5};
    default: return {};
  }
}

Parameter parameter(Object& object, VGint type) {
  switch (object.kind) {
    case Kind::path: return parameter(static_cast<Path&>(object), type);
    case Kind::paint: return parameter(static_cast<Paint&>(object), type);
    case Kind::image: {
      const auto& image = static_cast<const Image&>(object);
      if (type == VG_IMAGE_FORMAT) return {number((VGint)image.format.name)};
      if (type == VG_IMAGE_WIDTH) return {number(image.width)};
      if (type == VG_IMAGE_HEIGHT) return {number(image.height)};
      return {};
    }
    case Kind::font:
      if (type == VG_FONT_NUM_GLYPHS) return {count(static_cast<const Font&>(object).glyphs.size())};
      return {};
    case Kind::mask_layer: break;
  }
  return {};
}

// Puts values that fit where the parameter is held. False: one of them may not stand there.
struct Store {
  const Parameter& to;
  const std::vector<Number>& values;

  bool run() const { return std::visit(*this, to.held); }
  bool operator()(std::monostate) const { return false; }
  bool operator()(Number) const { return true; }
  bool operator()(bool* held) const {
    if (values[0].integer != VG_FALSE && values[0].integer != VG_TRUE) return false;
    *held = values[0].integer != VG_FALSE;
    return true;
  }
  bool operator()(VGint* held) const {
    const VGint value = values[0].integer;
    if (std::ranges::find(to.allowed, value) == to.allowed.end()) return false;
    *held = value;
    return true;
  }
  bool operator()(VGbitfield* held) const {
    *held = (VGbitfield)values[0].integer & (VG_RED | VG_GREEN | VG_BLUE | VG_ALPHA);
    return true;
  }
  bool operator()(float* held) const { return (*this)(std::span(held, 1)); }
  bool operator()(std::span<float> held) const {
    for (size_t i = 0; i < held.size(); i++) held[i] = values[i].real;
    return true;
  }
  bool operator()(std::vector<float>* held) const {
    held->resize(values.size());
    return (*this)(std::span(*held));
  }
  bool operator()(std::vector<VGint>* held) const {
    held->clear();
    for (const Number& value : values) held->push_back(value.integer);
    return true;
  }
};

struct Values {
  template <class All> static std::vector<Number> of_all(const All& values) {
    std::vector<Number> result;
    for (auto value : values) result.push_back(number(value));
    return result;
  }
  std::vector<Number> operator()(std::monostate) const { return {}; }
  std::vector<Number> operator()(Number held) const { return {held}; }
  std::vector<Number> operator()(float* held) const { return {number(*held)}; }
  std::vector<Number> operator()(auto* held) const { return {number((VGint)*held)}; }
  std::vector<Number> operator()(std::span<float> held) const { return of_all(held); }
  std::vector<Number> operator()(std::vector<float>* held) const { return of_all(*held); }
  std::vector<Number> operator()(std::vector<VGint>* held) const { return of_all(*held); }
};
std::vector<Number> values_of(const Parameter& what) { return std::visit(Values{}, what.held); }

// The numbers that a program gives for a parameter; `scalar`: by a function for one number.
template <class T> std::vector<Number> numbers(const Parameter& what, bool scalar, VGint count, const T* values) {
  if ((scalar && what.is_vector()) || !what.fits(count) || (count > 0 && !usable(values)))
    refuse(VG_ILLEGAL_ARGUMENT_ERROR);
  std::vector<Number> result;
  result.reserve((size_t)count);
  for (VGint i = 0; i < count; i++) result.push_back(given(values[i]));
  return result;
}

template <class T> void hand_out(const Parameter& what, bool scalar, VGint count, T* values) {
  const auto held = values_of(what);
  if (!what.is_known() || (scalar && what.is_vector()) || count <= 0 || (size_t)count > held.size() || !usable(values))
    refuse(VG_ILLEGAL_ARGUMENT_ERROR);
  for (VGint i = 0; i < count; i++)
    if constexpr (std::is_same_v<T, VGfloat>)
      values[i] = held[(size_t)i].real;
    else
      values[i] = held[(size_t)i].integer;
}

template <class T> void set(VGint type, bool scalar, VGint count, const T* values) {
  enter([&](Context& context) {
    const Parameter what = parameter(context, type);
    if (!Store{what, numbers(what, scalar, count, values)}.run()) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
  });
}

template <class T> void get(VGint type, bool scalar, VGint count, T* values) {
  enter([&](Context& context) { hand_out(parameter(context, type), scalar, count, values); });
}
template <class T> T get(VGint type) {
  T value = 0;
  get(type, true, 1, &value);
  return value;
}

std::shared_ptr<Object> any(Context& context, VGHandle handle) {
  auto it = context.share->objects.find(handle);
  if (it != context.share->objects.end()) return it->second;
  refuse(VG_BAD_HANDLE_ERROR);
}

template <class T> void set_parameter(VGHandle handle, VGint type, bool scalar, VGint count, const T* values) {
  enter([&](Context& context) {
    const auto object = any(context, handle);
    const Parameter what = parameter(*object, type);
    const auto given = numbers(what, scalar, count, values);
    context.sensors.attribute_writes++;
    if (!Store{what, given}.run()) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
  });
}

template <class T> void get_parameter(VGHandle handle, VGint type, bool scalar, VGint count, T* values) {
  enter([&](Context& context) {
    const auto object = any(context, handle);
    const Parameter what = parameter(*object, type);
    if (what.is_known() && !(scalar && what.is_vector())) context.sensors.attribute_reads++;
    hand_out(what, scalar, count, values);
  });
}
template <class T> T get_parameter(VGHandle handle, VGint type) {
  T value = 0;
  get_parameter(handle, type, true, 1, &value);
  return value;
}

// The number of values of a parameter.
VGint size_of(const Parameter& what) {
  if (!what.is_known()) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
  return (VGint)values_of(what).size();
}

void change_matrix(const Matrix& factor) {
  enter([&](Context& context) {
    context.sensors.matrix_operations++;
    Matrix& matrix = context.matrix();
    matrix = matrix * factor;
  });
}

// Nine floats, column by column.
Matrix matrix_of(const VGfloat* m, bool projective) {
  Matrix result;
  for (int column = 0; column < 3; column++)
    for (int row = 0; row < 3; row++) result.m[row][column] = input(m[column * 3 + row]);
  if (!projective) result.m[2][0] = result.m[2][1] = 0, result.m[2][2] = 1;
  return result;
}

}  // namespace
}  // namespace dt::vg

using namespace dt::vg;

extern "C" {

VGErrorCode vgGetError(void) {
  return enter<VGErrorCode>(VG_NO_CONTEXT_ERROR,
                            [&](Context& context) { return std::exchange(context.error, (VGErrorCode)VG_NO_ERROR); });
}

// Every call is complete when it returns.
// Everything is drawn at once; what is left to do is to let others see it.
void vgFlush(void) {
  if (auto* function = current() ? at_flush().load() : nullptr) function();
}
void vgFinish(void) { vgFlush(); }

void vgSetf(VGParamType type, VGfloat value) { set((VGint)type, true, 1, &value); }
void vgSeti(VGParamType type, VGint value) { set((VGint)type, true, 1, &value); }
void vgSetfv(VGParamType type, VGint count, const VGfloat* values) { set((VGint)type, false, count, values); }
void vgSetiv(VGParamType type, VGint count, const VGint* values) { set((VGint)type, false, count, values); }
VGfloat vgGetf(VGParamType type) { return get<VGfloat>((VGint)type); }
VGint vgGeti(VGParamType type) { return get<VGint>((VGint)type); }
void vgGetfv(VGParamType type, VGint count, VGfloat* values) { get((VGint)type, false, count, values); }
void vgGetiv(VGParamType type, VGint count, VGint* values) { get((VGint)type, false, count, values); }

VGint vgGetVectorSize(VGParamType type) {
  return enter<VGint>(0, [&](Context& context) { return size_of(parameter(context, (VGint)type)); });
}

void vgSetParameterf(VGHandle object, VGint type, VGfloat value) { set_parameter(object, type, true, 1, &value); }
void vgSetParameteri(VGHandle object, VGint type, VGint value) { set_parameter(object, type, true, 1, &value); }
void vgSetParameterfv(VGHandle object, VGint type, VGint count, const VGfloat* values) {
  set_parameter(object, type, false, count, values);
}
void vgSetParameteriv(VGHandle object, VGint type, VGint count, const VGint* values) {
  set_parameter(object, type, false, count, values);
}
VGfloat vgGetParameterf(VGHandle object, VGint type) { return get_parameter<VGfloat>(object, type); }
VGint vgGetParameteri(VGHandle object, VGint type) { return get_parameter<VGint>(object, type); }
void vgGetParameterfv(VGHandle object, VGint type, VGint count, VGfloat* values) {
  get_parameter(object, type, false, count, values);
}
void vgGetParameteriv(VGHandle object, VGint type, VGint count, VGint* values) {
  get_parameter(object, type, false, count, values);
}

VGint vgGetParameterVectorSize(VGHandle handle, VGint type) {
  return enter<VGint>(0, [&](Context& context) { return size_of(parameter(*any(context, handle), type)); });
}

void vgLoadIdentity(void) {
  enter([&](Context& context) {
    context.sensors.matrix_operations++;
    context.matrix() = Matrix();
  });
}

void vgLoadMatrix(const VGfloat* m) {
  enter([&](Context& context) {
    if (!usable(m)) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    context.sensors.matrix_operations++;
    context.matrix() = matrix_of(m, context.matrix_mode == VG_MATRIX_IMAGE_USER_TO_SURFACE);
  });
}

void vgGetMatrix(VGfloat* m) {
  enter([&](Context& context) {
    if (!usable(m)) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    for (int column = 0; column < 3; column++)
      for (int row = 0; row < 3; row++) m[column * 3 + row] = (VGfloat)context.matrix().m[row][column];
  });
}

void vgMultMatrix(const VGfloat* m) {
  enter([&](Context& context) {
    if (!usable(m)) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    change_matrix(matrix_of(m, context.matrix_mode == VG_MATRIX_IMAGE_USER_TO_SURFACE));
  });
}

void vgTranslate(VGfloat x, VGfloat y) { change_matrix(Matrix::translation(input(x), input(y))); }

void vgScale(VGfloat x, VGfloat y) {
  Matrix factor;
  factor.m[0][0] = input(x);
  factor.m[1][1] = input(y);
  change_matrix(factor);
}

void vgShear(VGfloat x, VGfloat y) {
  Matrix factor;
  factor.m[0][1] = input(x);
  factor.m[1][0] = input(y);
  change_matrix(factor);
}

void vgRotate(VGfloat angle) {
  double radians = input(angle) * (M_PI / 180), c = std::cos(radians), s = std::sin(radians);
  Matrix factor;
  factor.m[0][0] = c, factor.m[0][1] = -s;
  factor.m[1][0] = s, factor.m[1][1] = c;
  change_matrix(factor);
}

const VGubyte* vgGetString(VGStringID name) {
  return enter<const VGubyte*>(nullptr, [&](Context&) {
    const char* text = nullptr;
    switch (name) {
      case VG_VENDOR: text = "drawtap"; break;
      case VG_RENDERER: text = "drawtap OpenVG (software, AGG coverage)"; break;
      case VG_VERSION: text = "1.1"; break;
      case VG_EXTENSIONS: text = at_image_target().load() ? "VG_KHR_EGL_image" : ""; break;
      default: break;
    }
    return (const VGubyte*)text;
  });
}

VGHardwareQueryResult vgHardwareQuery(VGHardwareQueryType key, VGint setting) {
  return enter<VGHardwareQueryResult>(VG_HARDWARE_UNACCELERATED, [&](Context&) {
    bool known = key == VG_IMAGE_FORMAT_QUERY    ? format((VGImageFormat)setting).valid
                 : key == VG_PATH_DATATYPE_QUERY ? setting >= VG_PATH_DATATYPE_S_8 && setting <= VG_PATH_DATATYPE_F
                                                 : false;
    if (!known) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    return VG_HARDWARE_UNACCELERATED;
  });
}

// ---- paints

VGPaint vgCreatePaint(void) {
  return enter<VGPaint>(VG_INVALID_HANDLE, [&](Context& context) { return context.keep(std::make_shared<Paint>()); });
}

void vgDestroyPaint(VGPaint handle) {
  enter([&](Context& context) { context.destroy<Paint>(handle); });
}

void vgSetPaint(VGPaint handle, VGbitfield modes) {
  enter([&](Context& context) {
    auto paint = context.find<Paint>(handle);
    if (handle != VG_INVALID_HANDLE && !paint) refuse(VG_BAD_HANDLE_ERROR);
    if (!modes || modes & ~(VGbitfield)(VG_FILL_PATH | VG_STROKE_PATH)) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    if (modes & VG_FILL_PATH) context.fill_paint = paint;
    if (modes & VG_STROKE_PATH) context.stroke_paint = paint;
  });
}

VGPaint vgGetPaint(VGPaintMode mode) {
  return enter<VGPaint>(VG_INVALID_HANDLE, [&](Context& context) {
    if (mode != VG_FILL_PATH && mode != VG_STROKE_PATH) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    const auto& paint = mode == VG_FILL_PATH ? context.fill_paint : context.stroke_paint;
    // A paint that was destroyed while it is set has no handle any more.
    return paint && context.find<Paint>(paint->handle) == paint ? paint->handle : VG_INVALID_HANDLE;
  });
}

void vgSetColor(VGPaint handle, VGuint rgba) {
  enter([&](Context& context) {
    auto paint = context.need<Paint>(handle);
    for (int i = 0; i < 4; i++) paint->color[(size_t)i] = (float)((rgba >> (24 - 8 * i)) & 0xff) / 255.0f;
  });
}

VGuint vgGetColor(VGPaint handle) {
  return enter<VGuint>(0, [&](Context& context) {
    auto paint = context.need<Paint>(handle);
    VGuint result = 0;
    for (float value : paint->color) result = result << 8 | (VGuint)std::lround(std::clamp(value, 0.0f, 1.0f) * 255.0f);
    return result;
  });
}

void vgPaintPattern(VGPaint handle, VGImage image) {
  enter([&](Context& context) {
    auto paint = context.find<Paint>(handle);
    auto pattern = context.find<Image>(image);
    if (!paint || (image != VG_INVALID_HANDLE && !pattern)) refuse(VG_BAD_HANDLE_ERROR);
    if (pattern && pattern->target) refuse(VG_IMAGE_IN_USE_ERROR);
    paint->pattern = pattern;
  });
}

}  // extern "C"
