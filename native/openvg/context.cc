// Contexts, their parameters, matrices and strings; parameters of objects.
#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

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

// ---- parameters of the context

namespace {

// The number of times that a vector parameter may repeat its unit; 0: it is a scalar.
struct ParameterShape {
  bool known = false;
  bool vector = false;
  int unit = 1, least = 1, most = 1;  // numbers
};

bool among(VGint value, std::initializer_list<VGint> allowed) {
  return std::find(allowed.begin(), allowed.end(), value) != allowed.end();
}

// A parameter that holds one of a few values.
struct Choice {
  VGint type;
  VGint Context::* held;
  std::initializer_list<VGint> allowed;
};

const Choice* choice(VGint type) {
  static constexpr Choice choices[] = {
      {VG_MATRIX_MODE,
       &Context::matrix_mode,
       {VG_MATRIX_PATH_USER_TO_SURFACE, VG_MATRIX_IMAGE_USER_TO_SURFACE, VG_MATRIX_FILL_PAINT_TO_USER,
        VG_MATRIX_STROKE_PAINT_TO_USER, VG_MATRIX_GLYPH_USER_TO_SURFACE}},
      {VG_FILL_RULE, &Context::fill_rule, {VG_EVEN_ODD, VG_NON_ZERO}},
      {VG_IMAGE_QUALITY,
       &Context::image_quality,
       {VG_IMAGE_QUALITY_NONANTIALIASED, VG_IMAGE_QUALITY_FASTER, VG_IMAGE_QUALITY_BETTER}},
      {VG_RENDERING_QUALITY,
       &Context::rendering_quality,
       {VG_RENDERING_QUALITY_NONANTIALIASED, VG_RENDERING_QUALITY_FASTER, VG_RENDERING_QUALITY_BETTER}},
      {VG_BLEND_MODE,
       &Context::blend_mode,
       {VG_BLEND_SRC, VG_BLEND_SRC_OVER, VG_BLEND_DST_OVER, VG_BLEND_SRC_IN, VG_BLEND_DST_IN, VG_BLEND_MULTIPLY,
        VG_BLEND_SCREEN, VG_BLEND_DARKEN, VG_BLEND_LIGHTEN, VG_BLEND_ADDITIVE}},
      {VG_IMAGE_MODE, &Context::image_mode, {VG_DRAW_IMAGE_NORMAL, VG_DRAW_IMAGE_MULTIPLY, VG_DRAW_IMAGE_STENCIL}},
      {VG_STROKE_CAP_STYLE, &Context::cap_style, {VG_CAP_BUTT, VG_CAP_ROUND, VG_CAP_SQUARE}},
      {VG_STROKE_JOIN_STYLE, &Context::join_style, {VG_JOIN_MITER, VG_JOIN_ROUND, VG_JOIN_BEVEL}},
      {VG_PIXEL_LAYOUT,
       &Context::pixel_layout,
       {VG_PIXEL_LAYOUT_UNKNOWN, VG_PIXEL_LAYOUT_RGB_VERTICAL, VG_PIXEL_LAYOUT_BGR_VERTICAL,
        VG_PIXEL_LAYOUT_RGB_HORIZONTAL, VG_PIXEL_LAYOUT_BGR_HORIZONTAL}}};
  for (const Choice& one : choices)
    if (one.type == type) return &one;
  return nullptr;
}

bool Context::* boolean(VGint type) {
  switch (type) {
    case VG_COLOR_TRANSFORM: return &Context::color_transform;
    case VG_STROKE_DASH_PHASE_RESET: return &Context::dash_phase_reset;
    case VG_MASKING: return &Context::masking;
    case VG_SCISSORING: return &Context::scissoring;
    case VG_FILTER_FORMAT_LINEAR: return &Context::filter_linear;
    case VG_FILTER_FORMAT_PREMULTIPLIED: return &Context::filter_premultiplied;
    default: return nullptr;
  }
}

float Context::* real(VGint type) {
  switch (type) {
    case VG_STROKE_LINE_WIDTH: return &Context::line_width;
    case VG_STROKE_MITER_LIMIT: return &Context::miter_limit;
    case VG_STROKE_DASH_PHASE: return &Context::dash_phase;
    default: return nullptr;
  }
}

// A vector whose size does not change.
std::span<float> fixed_vector(Context& context, VGint type) {
  switch (type) {
    case VG_TILE_FILL_COLOR: return context.tile_fill_color;
    case VG_CLEAR_COLOR: return context.clear_color;
    case VG_GLYPH_ORIGIN: return context.glyph_origin;
    case VG_COLOR_TRANSFORM_VALUES: return context.color_transform_values;
    default: return {};
  }
}

bool read_only(VGint type) {
  return (type >= VG_MAX_SCISSOR_RECTS && type <= VG_MAX_GAUSSIAN_STD_DEVIATION) || type == VG_SCREEN_LAYOUT;
}

ParameterShape shape(VGint type) {
  if (boolean(type) || real(type) || choice(type) || read_only(type) || type == VG_FILTER_CHANNEL_MASK)
    return {true, false, 1, 1, 1};
  switch (type) {
    case VG_SCISSOR_RECTS: return {true, true, 4, 0, MAX_SCISSOR_RECTS * 4};
    case VG_STROKE_DASH_PATTERN: return {true, true, 1, 0, MAX_DASH_COUNT};
    case VG_TILE_FILL_COLOR:
    case VG_CLEAR_COLOR: return {true, true, 4, 4, 4};
    case VG_GLYPH_ORIGIN: return {true, true, 2, 2, 2};
    case VG_COLOR_TRANSFORM_VALUES: return {true, true, 8, 8, 8};
    default: return {};
  }
}

// One number, given as a float or as an integer (which a float cannot always hold).
struct Number {
  float real;
  VGint integer;
};

bool set_scalar(Context& context, VGint type, Number value) {
  if (read_only(type)) return true;  // legal, and without effect
  if (auto flag = boolean(type)) {
    if (value.integer != VG_FALSE && value.integer != VG_TRUE) return false;
    context.*flag = value.integer != VG_FALSE;
    return true;
  }
  if (auto target = real(type)) {
    context.*target = value.real;
    return true;
  }
  if (type == VG_FILTER_CHANNEL_MASK) {
    context.filter_channels = (VGbitfield)value.integer & (VG_RED | VG_GREEN | VG_BLUE | VG_ALPHA);
    return true;
  }
  const Choice* of = choice(type);
  if (!of || !among(value.integer, of->allowed)) return false;
  context.*of->held = value.integer;
  return true;
}

void set_vector(Context& context, VGint type, const std::vector<Number>& values) {
  std::span<float> fixed = fixed_vector(context, type);
  for (size_t i = 0; i < fixed.size(); i++) fixed[i] = values[i].real;
  switch (type) {
    case VG_SCISSOR_RECTS:
      context.scissor_rects.clear();
      for (const Number& value : values) context.scissor_rects.push_back(value.integer);
      break;
    case VG_STROKE_DASH_PATTERN:
      context.dash_pattern.clear();
      for (const Number& value : values) context.dash_pattern.push_back(value.real);
      break;
    default: break;
  }
}

std::vector<Number> reals(std::span<const float> values) {
  std::vector<Number> result;
  for (float value : values) result.push_back({value, whole(value)});
  return result;
}

std::vector<Number> current_values(Context& context, VGint type) {
  auto one = [](VGint value) { return std::vector<Number>{{(float)value, value}}; };
  if (auto flag = boolean(type)) return one(context.*flag);
  if (auto value = real(type)) return reals({&(context.*value), 1});
  if (const Choice* of = choice(type)) return one(context.*of->held);
  switch (type) {
    case VG_SCREEN_LAYOUT: return one(VG_PIXEL_LAYOUT_UNKNOWN);
    case VG_FILTER_CHANNEL_MASK: return one((VGint)context.filter_channels);
    case VG_MAX_SCISSOR_RECTS: return one(MAX_SCISSOR_RECTS);
    case VG_MAX_DASH_COUNT: return one(MAX_DASH_COUNT);
    case VG_MAX_KERNEL_SIZE: return one(MAX_KERNEL);
    case VG_MAX_SEPARABLE_KERNEL_SIZE: return one(MAX_SEPARABLE_KERNEL);
    case VG_MAX_COLOR_RAMP_STOPS: return one(MAX_RAMP_STOPS);
    case VG_MAX_IMAGE_WIDTH:
    case VG_MAX_IMAGE_HEIGHT: return one(MAX_IMAGE_SIDE);
    case VG_MAX_IMAGE_PIXELS: return one(MAX_IMAGE_PIXELS);
    case VG_MAX_IMAGE_BYTES: return one(MAX_IMAGE_BYTES);
    case VG_MAX_FLOAT: return {{MAX_FLOAT, whole(MAX_FLOAT)}};
    case VG_MAX_GAUSSIAN_STD_DEVIATION: return {{MAX_DEVIATION, whole(MAX_DEVIATION)}};
    case VG_SCISSOR_RECTS: {
      std::vector<Number> result;
      for (VGint value : context.scissor_rects) result.push_back({(float)value, value});
      return result;
    }
    case VG_STROKE_DASH_PATTERN: return reals(context.dash_pattern);
    default: return reals(fixed_vector(context, type));
  }
}

// ---- parameters of objects

ParameterShape object_shape(const Object& object, VGint type) {
  switch (object.kind) {
    case Kind::path: return {type >= VG_PATH_FORMAT && type <= VG_PATH_NUM_COORDS, false, 1, 1, 1};
    case Kind::image: return {type >= VG_IMAGE_FORMAT && type <= VG_IMAGE_HEIGHT, false, 1, 1, 1};
    case Kind::font: return {type == VG_FONT_NUM_GLYPHS, false, 1, 1, 1};
    case Kind::mask_layer: return {};
    case Kind::paint: break;
  }
  switch (type) {
    case VG_PAINT_TYPE:
    case VG_PAINT_COLOR_RAMP_SPREAD_MODE:
    case VG_PAINT_COLOR_RAMP_PREMULTIPLIED:
    case VG_PAINT_PATTERN_TILING_MODE: return {true, false, 1, 1, 1};
    case VG_PAINT_COLOR:
    case VG_PAINT_LINEAR_GRADIENT: return {true, true, 4, 4, 4};
    case VG_PAINT_RADIAL_GRADIENT: return {true, true, 5, 5, 5};
    case VG_PAINT_COLOR_RAMP_STOPS: return {true, true, 5, 0, MAX_RAMP_STOPS * 5};
    default: return {};
  }
}

bool set_object(Object& object, VGint type, const std::vector<Number>& values) {
  if (object.kind != Kind::paint) return true;  // what the others tell is read-only
  auto& paint = static_cast<Paint&>(object);
  auto choose = [&values](auto& target, std::initializer_list<VGint> allowed) {
    if (!among(values[0].integer, allowed)) return false;
    target = (std::remove_reference_t<decltype(target)>)values[0].integer;
    return true;
  };
  auto fill = [&values](auto& target) {
    for (size_t i = 0; i < target.size(); i++) target[i] = values[i].real;
    return true;
  };
  switch (type) {
    case VG_PAINT_TYPE:
      return choose(paint.type, {VG_PAINT_TYPE_COLOR, VG_PAINT_TYPE_LINEAR_GRADIENT, VG_PAINT_TYPE_RADIAL_GRADIENT,
                                 VG_PAINT_TYPE_PATTERN});
    case VG_PAINT_COLOR_RAMP_SPREAD_MODE:
      return choose(paint.spread,
                    {VG_COLOR_RAMP_SPREAD_PAD, VG_COLOR_RAMP_SPREAD_REPEAT, VG_COLOR_RAMP_SPREAD_REFLECT});
    case VG_PAINT_PATTERN_TILING_MODE:
      return choose(paint.tiling, {VG_TILE_FILL, VG_TILE_PAD, VG_TILE_REPEAT, VG_TILE_REFLECT});
    case VG_PAINT_COLOR_RAMP_PREMULTIPLIED: return choose(paint.ramp_premultiplied, {VG_FALSE, VG_TRUE});
    case VG_PAINT_COLOR: return fill(paint.color);
    case VG_PAINT_LINEAR_GRADIENT: return fill(paint.linear);
    case VG_PAINT_RADIAL_GRADIENT: return fill(paint.radial);
    case VG_PAINT_COLOR_RAMP_STOPS:
      paint.stops.clear();
      for (const Number& value : values) paint.stops.push_back(value.real);
      return true;
    default: return false;
  }
}

std::vector<Number> object_values(const Object& object, VGint type) {
  auto one = [](int64_t value) {
    auto integer = (VGint)std::min<int64_t>(value, std::numeric_limits<VGint>::max());
    return std::vector<Number>{{(float)value, integer}};
  };
  switch (object.kind) {
    case Kind::path: {
      const auto& path = static_cast<const Path&>(object);
      switch (type) {
        case VG_PATH_FORMAT: return one(path.path_format);
        case VG_PATH_DATATYPE: return one(path.datatype);
        case VG_PATH_SCALE: return {{path.scale, whole(path.scale)}};
        case VG_PATH_BIAS: return {{path.bias, whole(path.bias)}};
        case VG_PATH_NUM_SEGMENTS: return one((int64_t)path.segments.size());
        default: return one((int64_t)path.raw.size());
      }
    }
    case Kind::image: {
      const auto& image = static_cast<const Image&>(object);
      return one(type == VG_IMAGE_FORMAT  ? (VGint)image.format.name
                 : type == VG_IMAGE_WIDTH ? image.width
                                          : image.height);
    }
    case Kind::font: return one((int64_t)static_cast<const Font&>(object).glyphs.size());
    case Kind::mask_layer: return {};
    case Kind::paint: break;
  }
  const auto& paint = static_cast<const Paint&>(object);
  switch (type) {
    case VG_PAINT_TYPE: return one(paint.type);
    case VG_PAINT_COLOR_RAMP_SPREAD_MODE: return one(paint.spread);
    case VG_PAINT_PATTERN_TILING_MODE: return one(paint.tiling);
    case VG_PAINT_COLOR_RAMP_PREMULTIPLIED: return one(paint.ramp_premultiplied);
    case VG_PAINT_COLOR: return reals(paint.color);
    case VG_PAINT_LINEAR_GRADIENT: return reals(paint.linear);
    case VG_PAINT_RADIAL_GRADIENT: return reals(paint.radial);
    default: return reals(paint.stops);
  }
}

bool count_fits(const ParameterShape& shape, VGint count) {
  return shape.known && count >= shape.least && count <= shape.most && count % shape.unit == 0;
}

Number number(VGfloat value) {
  float clean = input(value);
  return {clean, whole(clean)};
}
Number number(VGint value) { return {(float)value, value}; }

template <class T> bool numbers(VGint count, const T* values, std::vector<Number>& out) {
  if (count < 0 || (count > 0 && !usable(values))) return false;
  out.reserve((size_t)count);
  for (VGint i = 0; i < count; i++) out.push_back(number(values[i]));
  return true;
}

template <class T> void set(VGint type, T value) {
  enter([&](Context& context) {
    ParameterShape what = shape(type);
    if (!what.known || what.vector || !set_scalar(context, type, number(value))) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
  });
}

template <class T> void set(VGint type, VGint count, const T* values) {
  enter([&](Context& context) {
    ParameterShape what = shape(type);
    std::vector<Number> given;
    if (!count_fits(what, count) || !numbers(count, values, given)) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    if (what.vector) return set_vector(context, type, given);
    if (!set_scalar(context, type, given[0])) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
  });
}

template <class T> T as(const Number& number) {
  if constexpr (std::is_same_v<T, VGfloat>)
    return number.real;
  else
    return number.integer;
}

template <class T> T get(VGint type) {
  return enter<T>(0, [&](Context& context) {
    ParameterShape what = shape(type);
    if (what.known && !what.vector) return as<T>(current_values(context, type)[0]);
    refuse(VG_ILLEGAL_ARGUMENT_ERROR);
  });
}

template <class T> void hand_out(const std::vector<Number>& held, VGint count, T* values) {
  if (count <= 0 || (size_t)count > held.size() || !usable(values)) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
  for (VGint i = 0; i < count; i++) values[i] = as<T>(held[(size_t)i]);
}

template <class T> void get(VGint type, VGint count, T* values) {
  enter([&](Context& context) {
    if (!shape(type).known) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    hand_out(current_values(context, type), count, values);
  });
}

std::shared_ptr<Object> any(Context& context, VGHandle handle) {
  auto it = context.share->objects.find(handle);
  if (it != context.share->objects.end()) return it->second;
  refuse(VG_BAD_HANDLE_ERROR);
}

template <class T> void set_parameter(VGHandle handle, VGint type, VGint count, const T* values, bool scalar) {
  enter([&](Context& context) {
    auto object = any(context, handle);
    ParameterShape what = object_shape(*object, type);
    std::vector<Number> given;
    if ((scalar && what.vector) || !count_fits(what, count) || !numbers(count, values, given))
      refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    context.sensors.attribute_writes++;
    if (!set_object(*object, type, given)) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
  });
}

template <class T> T get_parameter(VGHandle handle, VGint type) {
  return enter<T>(0, [&](Context& context) {
    auto object = any(context, handle);
    ParameterShape what = object_shape(*object, type);
    if (!what.known || what.vector) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    context.sensors.attribute_reads++;
    return as<T>(object_values(*object, type)[0]);
  });
}

template <class T> void get_parameter(VGHandle handle, VGint type, VGint count, T* values) {
  enter([&](Context& context) {
    auto object = any(context, handle);
    if (!object_shape(*object, type).known) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    context.sensors.attribute_reads++;
    hand_out(object_values(*object, type), count, values);
  });
}

void change_matrix(const Matrix& factor) {
  enter([&](Context& context) {
    context.sensors.matrix_operations++;
    Matrix& matrix = context.matrix();
    matrix = matrix * factor;
  });
}

// Nine floats, column by column.
Matrix given(const VGfloat* m, bool projective) {
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

void vgSetf(VGParamType type, VGfloat value) { set((VGint)type, value); }
void vgSeti(VGParamType type, VGint value) { set((VGint)type, value); }
void vgSetfv(VGParamType type, VGint count, const VGfloat* values) { set((VGint)type, count, values); }
void vgSetiv(VGParamType type, VGint count, const VGint* values) { set((VGint)type, count, values); }
VGfloat vgGetf(VGParamType type) { return get<VGfloat>((VGint)type); }
VGint vgGeti(VGParamType type) { return get<VGint>((VGint)type); }
void vgGetfv(VGParamType type, VGint count, VGfloat* values) { get((VGint)type, count, values); }
void vgGetiv(VGParamType type, VGint count, VGint* values) { get((VGint)type, count, values); }

VGint vgGetVectorSize(VGParamType type) {
  return enter<VGint>(0, [&](Context& context) {
    if (shape((VGint)type).known) return (VGint)current_values(context, (VGint)type).size();
    refuse(VG_ILLEGAL_ARGUMENT_ERROR);
  });
}

void vgSetParameterf(VGHandle object, VGint type, VGfloat value) { set_parameter(object, type, 1, &value, true); }
void vgSetParameteri(VGHandle object, VGint type, VGint value) { set_parameter(object, type, 1, &value, true); }
void vgSetParameterfv(VGHandle object, VGint type, VGint count, const VGfloat* values) {
  set_parameter(object, type, count, values, false);
}
void vgSetParameteriv(VGHandle object, VGint type, VGint count, const VGint* values) {
  set_parameter(object, type, count, values, false);
}
VGfloat vgGetParameterf(VGHandle object, VGint type) { return get_parameter<VGfloat>(object, type); }
VGint vgGetParameteri(VGHandle object, VGint type) { return get_parameter<VGint>(object, type); }
void vgGetParameterfv(VGHandle object, VGint type, VGint count, VGfloat* values) {
  get_parameter(object, type, count, values);
}
void vgGetParameteriv(VGHandle object, VGint type, VGint count, VGint* values) {
  get_parameter(object, type, count, values);
}

VGint vgGetParameterVectorSize(VGHandle handle, VGint type) {
  return enter<VGint>(0, [&](Context& context) {
    auto object = any(context, handle);
    if (object_shape(*object, type).known) return (VGint)object_values(*object, type).size();
    refuse(VG_ILLEGAL_ARGUMENT_ERROR);
  });
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
    context.matrix() = given(m, context.matrix_mode == VG_MATRIX_IMAGE_USER_TO_SURFACE);
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
    change_matrix(given(m, context.matrix_mode == VG_MATRIX_IMAGE_USER_TO_SURFACE));
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
