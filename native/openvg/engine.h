// An OpenVG 1.1 engine in software: what contexts, objects and surfaces are.
//
// Everything is computed in float, a pixel at a time, in the colour space of the surface; coverage comes from AGG's
// scanline rasterizer. It is meant to be right and to tell what it did (sensors), not to be the fastest.
#pragma once
#include <VG/openvg.h>
#include <VG/vgext.h>
#include <VG/vgu.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace dt::vg {

// ---- limits, as vgGet tells them
constexpr int MAX_SCISSOR_RECTS = 256;
constexpr int MAX_DASH_COUNT = 256;
constexpr int MAX_KERNEL = 64;
constexpr int MAX_SEPARABLE_KERNEL = 256;
constexpr int MAX_RAMP_STOPS = 256;
constexpr int MAX_IMAGE_SIDE = 8192;
constexpr int MAX_IMAGE_PIXELS = 1 << 26;
constexpr int MAX_IMAGE_BYTES = 1 << 28;
constexpr float MAX_DEVIATION = 128.0f;
constexpr float MAX_FLOAT = 1e10f;

// Returns whether an image or a mask layer may have this size.
constexpr bool image_size(int width, int height) {
  return width > 0 && height > 0 && width <= MAX_IMAGE_SIDE && height <= MAX_IMAGE_SIDE &&
         (int64_t)width * height <= MAX_IMAGE_PIXELS;
}

// ---- numbers
struct Point {
  double x = 0, y = 0;
};
inline Point operator+(Point a, Point b) { return {a.x + b.x, a.y + b.y}; }
inline Point operator-(Point a, Point b) { return {a.x - b.x, a.y - b.y}; }
inline Point operator*(Point a, double s) { return {a.x * s, a.y * s}; }
inline double length(Point a) { return std::hypot(a.x, a.y); }

// Rows of a 3x3 matrix for column vectors (x, y, 1).
struct Matrix {
  double m[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  static Matrix translation(double x, double y);
  Matrix operator*(const Matrix& other) const;
  double determinant() const;
  bool inverse(Matrix& out) const;  // false: singular
  Point apply(Point p) const;       // affine or projective, w divided out
  Point direction(Point p) const { return {m[0][0] * p.x + m[0][1] * p.y, m[1][0] * p.x + m[1][1] * p.y}; }
  double weight(Point p) const { return m[2][0] * p.x + m[2][1] * p.y + m[2][2]; }
  double scale() const;  // the largest factor by which a length grows
};

struct Rect {
  int x = 0, y = 0, width = 0, height = 0;
  bool empty() const { return width <= 0 || height <= 0; }
};
Rect intersection(const Rect& a, const Rect& b);

// The engine's value of a float that a program gives: not a number becomes 0, infinity the largest value.
inline float input(float value) {
  return std::isnan(value) ? 0.0f : std::fmin(std::fmax(value, -MAX_FLOAT), MAX_FLOAT);
}
int32_t whole(float value);  // floor, saturated

// ---- colours
struct Color {
  float r = 0, g = 0, b = 0, a = 0;
};
inline float clamp01(float value) { return value > 0 ? std::min(value, 1.0f) : 0.0f; }  // not a number: 0
inline Color clamped(const float* rgba) {
  return {clamp01(rgba[0]), clamp01(rgba[1]), clamp01(rgba[2]), clamp01(rgba[3])};
}

// The meaning of the channels of a colour.
struct Space {
  bool linear = false;
  bool premultiplied = false;
  bool luminance = false;  // r = g = b
  bool operator==(const Space&) const = default;
};
Color convert(Color color, Space from, Space to);

// A pixel format of vgCreateImage: how bits become channels.
struct Format {
  VGImageFormat name = 0;
  int bits = 32;  // a pixel
  Space space;
  struct Channel {
    uint8_t bits = 0, shift = 0;
  } r, g, b, a;  // luminance lies in r; width 0: the channel is not there
  bool valid = false;
  bool has_alpha() const { return a.bits > 0; }
  bool alpha_only() const { return a.bits > 0 && r.bits == 0; }
  Color unpack(uint32_t pixel) const;
  uint32_t pack(Color color) const;  // the colour in this format's space, clamped
  size_t row_bytes(int width) const { return ((size_t)width * (size_t)bits + 7) / 8; }
};
Format format(VGImageFormat name);
uint32_t load(const uint8_t* row, int x, int bits);
void store(uint8_t* row, int x, int bits, uint32_t value);

// ---- objects
enum class Kind : uint8_t { path, paint, image, font, mask_layer };

struct Object {
  explicit Object(Kind what) : kind(what) {}
  virtual ~Object() = default;
  const Kind kind;
  VGHandle handle = 0;
};

struct Path final : Object {
  Path() : Object(Kind::path) {}
  VGint path_format = VG_PATH_FORMAT_STANDARD;
  VGPathDatatype datatype = VG_PATH_DATATYPE_F;
  float scale = 1, bias = 0;
  VGbitfield capabilities = 0;
  std::vector<uint8_t> segments;
  std::vector<float> raw;  // as stored in the datatype, before scale and bias
  size_t element_bytes() const;
  float quantised(double value) const;  // a coordinate as this path's datatype can hold it
  float coordinate(size_t index) const { return raw[index] * scale + bias; }
  void append(uint8_t command, std::initializer_list<double> coordinates);
};

// Pixels that several images (parents and children) share.
struct Pixels {
  size_t stride = 0;
  std::vector<uint8_t> bytes;
  bool elsewhere = false;  // an EGLImage was made of them and not destroyed
};

struct Image final : Object {
  Image() : Object(Kind::image) {}
  Format format;
  int width = 0, height = 0;
  int left = 0, bottom = 0;  // where in the shared pixels
  VGbitfield quality = 0;
  std::shared_ptr<Pixels> pixels;
  std::shared_ptr<Image> parent;
  bool target = false;   // an EGL surface draws into it
  bool sibling = false;  // made of an EGLImage, or a child of such an image
  Color read(int x, int y) const { return format.unpack(load(row(y), left + x, format.bits)); }
  void write(int x, int y, Color color) { store(row(y), left + x, format.bits, format.pack(color)); }
  uint8_t* row(int y) const { return pixels->bytes.data() + (size_t)(bottom + y) * pixels->stride; }
  bool overlaps(const Image& other) const;
};
constexpr VGbitfield QUALITIES = VG_IMAGE_QUALITY_NONANTIALIASED | VG_IMAGE_QUALITY_FASTER | VG_IMAGE_QUALITY_BETTER;
std::shared_ptr<Image> make_image(VGImageFormat name, int width, int height);  // of all qualities

struct Paint final : Object {
  Paint() : Object(Kind::paint) {}
  VGint type = VG_PAINT_TYPE_COLOR;
  std::array<float, 4> color{0, 0, 0, 1};
  VGint spread = VG_COLOR_RAMP_SPREAD_PAD;
  bool ramp_premultiplied = true;
  std::vector<float> stops;
  std::array<float, 4> linear{0, 0, 1, 0};
  std::array<float, 5> radial{0, 0, 0, 0, 1};
  VGint tiling = VG_TILE_FILL;
  std::shared_ptr<Image> pattern;
};

struct MaskLayer final : Object {
  MaskLayer() : Object(Kind::mask_layer) {}
  int width = 0, height = 0;
  std::vector<uint8_t> values;
};

struct Glyph {
  std::shared_ptr<Path> path;
  std::shared_ptr<Image> image;
  Point origin, escapement;
};

struct Font final : Object {
  Font() : Object(Kind::font) {}
  std::map<VGuint, Glyph> glyphs;
};

// Where a context draws: pixels and the mask of one EGL surface.
struct Surface {
  std::shared_ptr<Image> color;
  std::vector<uint8_t> mask;  // coverage, a byte a pixel
  int width() const { return color->width; }
  int height() const { return color->height; }
  void resize(int width, int height);  // keeps nothing, like a resized window
};
std::shared_ptr<Surface> make_surface(int width, int height, bool linear, bool premultiplied);
std::shared_ptr<Surface> make_surface(const std::shared_ptr<Image>& image);

// The common part of the contexts of one share group.
struct Share {
  std::recursive_mutex lock;
  std::unordered_map<VGHandle, std::shared_ptr<Object>> objects;
};

// Counts of what was done; the content statistics of Table 9 in Kyostila's thesis.
struct Sensors {
  int64_t render_calls = 0, matrix_operations = 0, image_uploads = 0, pixel_uploads = 0;
  int64_t property_reads = 0, property_writes = 0;
  int64_t created_objects = 0, attribute_reads = 0, attribute_writes = 0;
  int64_t paths = 0, path_segments = 0, path_coordinates = 0;
  int64_t tessellated_edges = 0, accepted_edges = 0;
  int64_t rasterized_pixels = 0;
};

struct Context {
  std::shared_ptr<Share> share;
  std::shared_ptr<Surface> surface;
  VGErrorCode error = VG_NO_ERROR;
  Sensors sensors;

  VGint matrix_mode = VG_MATRIX_PATH_USER_TO_SURFACE;
  VGint fill_rule = VG_EVEN_ODD;
  VGint image_quality = VG_IMAGE_QUALITY_FASTER;
  VGint rendering_quality = VG_RENDERING_QUALITY_BETTER;
  VGint blend_mode = VG_BLEND_SRC_OVER;
  VGint image_mode = VG_DRAW_IMAGE_NORMAL;
  std::vector<VGint> scissor_rects;
  bool color_transform = false;
  std::array<float, 8> color_transform_values{1, 1, 1, 1, 0, 0, 0, 0};
  float line_width = 1;
  VGint cap_style = VG_CAP_BUTT, join_style = VG_JOIN_MITER;
  float miter_limit = 4;
  std::vector<float> dash_pattern;
  float dash_phase = 0;
  bool dash_phase_reset = false;
  std::array<float, 4> tile_fill_color{0, 0, 0, 0}, clear_color{0, 0, 0, 0};
  std::array<float, 2> glyph_origin{0, 0};
  bool masking = false, scissoring = false;
  VGint pixel_layout = VG_PIXEL_LAYOUT_UNKNOWN;
  bool filter_linear = false, filter_premultiplied = false;
  VGbitfield filter_channels = VG_RED | VG_GREEN | VG_BLUE | VG_ALPHA;
  Matrix path_matrix, image_matrix, fill_matrix, stroke_matrix, glyph_matrix;
  std::shared_ptr<Paint> fill_paint, stroke_paint;
  std::shared_ptr<Paint> default_paint = std::make_shared<Paint>();

  Matrix& matrix();
  void fail(VGErrorCode code) {
    if (error == VG_NO_ERROR) error = code;
  }
  template <class T> std::shared_ptr<T> find(VGHandle handle) const;  // null: not the handle of such an object
  template <class T> std::shared_ptr<T> need(VGHandle handle) const;  // refuses what `find` does not find
  template <class T> void destroy(VGHandle handle);                   // who uses the object keeps it
  VGHandle keep(const std::shared_ptr<Object>& object);
  const Paint& paint(VGPaintMode mode) const;
};

// The current context of this thread; null where there is none.
Context*& current();
// The function that vgFlush and vgFinish have to call: it shows the pixels of images to another API.
std::atomic<void (*)()>& at_flush();
// The function that brings the pixels of an EGLImage: the name of an image of the current context, or 0 and an error.
std::atomic<uint32_t (*)(void*, int*)>& at_image_target();

// The begin of every entry point: the context, its group locked.
class Entry {
 public:
  Entry() : context_(current()) {
    if (context_) context_->share->lock.lock();
  }
  ~Entry() {
    if (context_) context_->share->lock.unlock();
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  explicit operator bool() const { return context_ != nullptr; }
  Context* operator->() const { return context_; }
  Context& operator*() const { return *context_; }

 private:
  Context* context_;
};

// Ends the body of an entry point with an error.
struct Refusal {
  VGErrorCode code;
};
[[noreturn]] inline void refuse(VGErrorCode code) { throw Refusal{code}; }

// An entry point with its context. Where there is none, no memory, or a refusal, the program gets `otherwise`.
template <class T, class Body> T enter(T otherwise, Body&& body) {
  Entry context;
  if (!context) return otherwise;
  try {
    return body(*context);
  } catch (const Refusal& refusal) {
    context->fail(refusal.code);
  } catch (const std::bad_alloc&) {
    context->fail(VG_OUT_OF_MEMORY_ERROR);
  } catch (const std::length_error&) {
    context->fail(VG_OUT_OF_MEMORY_ERROR);
  }
  return otherwise;
}
template <class Body> void enter(Body&& body) {
  enter<bool>(false, [&](Context& context) { return body(context), true; });
}

template <class T> constexpr Kind kind_of();
template <> constexpr Kind kind_of<Path>() { return Kind::path; }
template <> constexpr Kind kind_of<Paint>() { return Kind::paint; }
template <> constexpr Kind kind_of<Image>() { return Kind::image; }
template <> constexpr Kind kind_of<Font>() { return Kind::font; }
template <> constexpr Kind kind_of<MaskLayer>() { return Kind::mask_layer; }

template <class T> std::shared_ptr<T> Context::find(VGHandle handle) const {
  auto it = share->objects.find(handle);
  if (it == share->objects.end() || it->second->kind != kind_of<T>()) return nullptr;
  return std::static_pointer_cast<T>(it->second);
}
template <class T> std::shared_ptr<T> Context::need(VGHandle handle) const {
  auto found = find<T>(handle);
  if (!found) refuse(VG_BAD_HANDLE_ERROR);
  return found;
}
template <class T> void Context::destroy(VGHandle handle) {
  need<T>(handle);
  share->objects.erase(handle);
}

// `pointer` as an array of T: programs may give none, or one that is not aligned.
template <class T> bool usable(const T* pointer) { return pointer && (uintptr_t)pointer % alignof(T) == 0; }

// ---- geometry (path.cc)
enum class Step : uint8_t { move, line, close };

// A path with its curves cut into lines, in user space.
struct Vertex {
  Point at;
  Point tangent;  // towards this vertex, of length one; (1, 0) where there is none
  Step step = Step::line;
};
// `tolerance`: how far a line may be from its curve, in user space.
std::vector<Vertex> flatten(const Path& path, double tolerance, size_t first = 0, size_t count = (size_t)-1);
int coordinates_of(uint8_t command);  // -1: no such command
size_t coordinates_before(const Path& path, size_t segment);

// ---- drawing (raster.cc, image.cc, text.cc)
// Draw a path by a matrix with the paints of these modes; to the surface, or (if given) to a mask instead.
void draw_path(Context& context, const Path& path, const Matrix& to_surface, VGbitfield modes,
               std::vector<uint8_t>* mask = nullptr);
void draw_image(Context& context, const std::shared_ptr<Image>& image, const Matrix& to_surface);
bool affine(const Matrix& matrix);
void apply_mask(std::vector<uint8_t>& mask, int width, const Rect& area, VGMaskOperation operation,
                const std::vector<uint8_t>& values, int values_width, int values_x, int values_y);
std::vector<Rect> scissor(const Context& context);
Rect bounds(const Surface& surface);

// ---- sampling (image.cc)
Color sample(const Image& image, double x, double y, VGint tiling, const Color& outside, Space space, VGint quality);
VGint used_quality(const Context& context, const Image& image);

}  // namespace dt::vg
