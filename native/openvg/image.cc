// Images, sampling, and pixels that go between images, surfaces and memory (OpenVG 1.1, chapter 10).
#include <algorithm>
#include <cstring>

#include "raster.h"

namespace dt::vg {

std::shared_ptr<Image> make_image(VGImageFormat name, int width, int height) {
  auto image = std::make_shared<Image>();
  image->format = format(name);
  image->width = width;
  image->height = height;
  image->quality = QUALITIES;
  image->pixels = std::make_shared<Pixels>();
  image->pixels->stride = (image->format.row_bytes(width) + 3) & ~(size_t)3;
  image->pixels->bytes.resize(image->pixels->stride * (size_t)height);
  return image;
}

std::shared_ptr<Surface> make_surface(const std::shared_ptr<Image>& image) {
  auto surface = std::make_shared<Surface>();
  surface->color = image;
  surface->mask.assign((size_t)image->width * (size_t)image->height, 255);
  return surface;
}

std::shared_ptr<Surface> make_surface(int width, int height, bool linear, bool premultiplied) {
  VGImageFormat name = linear ? (premultiplied ? VG_lABGR_8888_PRE : VG_lABGR_8888)
                              : (premultiplied ? VG_sABGR_8888_PRE : VG_sABGR_8888);
  return make_surface(make_image(name, width, height));  // bytes R, G, B, A in memory, as GL uploads them
}

void Surface::resize(int width, int height) {
  color = make_image(color->format.name, width, height);
  mask.assign((size_t)width * (size_t)height, 255);
}

bool Image::overlaps(const Image& other) const {
  return pixels == other.pixels &&
         !intersection({left, bottom, width, height}, {other.left, other.bottom, other.width, other.height}).empty();
}

VGint used_quality(const Context& context, const Image& image) {
  for (VGbitfield quality : {(VGbitfield)VG_IMAGE_QUALITY_BETTER, (VGbitfield)VG_IMAGE_QUALITY_FASTER})
    if (quality <= (VGbitfield)context.image_quality && image.quality & quality) return (VGint)quality;
  return VG_IMAGE_QUALITY_NONANTIALIASED;
}

namespace {

// The place of a texel on one axis; -1: outside.
int tiled(int64_t at, int size, VGint tiling) {
  if (at >= 0 && at < size) return (int)at;
  switch (tiling) {
    case VG_TILE_PAD: return at < 0 ? 0 : size - 1;
    case VG_TILE_REPEAT: return (int)(((at % size) + size) % size);
    case VG_TILE_REFLECT: {
      int64_t period = 2 * (int64_t)size, place = ((at % period) + period) % period;
      return (int)(place < size ? place : period - 1 - place);
    }
    default: return -1;
  }
}

Color texel(const Image& image, int64_t x, int64_t y, VGint tiling, const Color& outside, Space space) {
  int column = tiled(x, image.width, tiling), row = tiled(y, image.height, tiling);
  if (column < 0 || row < 0) return outside;
  return convert(image.read(column, row), image.format.space, space);
}

int64_t cell(double at) { return std::isfinite(at) ? (int64_t)std::clamp(std::floor(at), -4e18, 4e18) : 0; }

}  // namespace

Color sample(const Image& image, double x, double y, VGint tiling, const Color& outside, Space space, VGint quality) {
  if (quality == VG_IMAGE_QUALITY_NONANTIALIASED) return texel(image, cell(x), cell(y), tiling, outside, space);
  x -= 0.5, y -= 0.5;
  int64_t left = cell(x), bottom = cell(y);
  auto u = (float)(x - std::floor(x)), v = (float)(y - std::floor(y));
  if (!(u >= 0 && u <= 1)) u = 0;
  if (!(v >= 0 && v <= 1)) v = 0;
  Color a = texel(image, left, bottom, tiling, outside, space);
  if (u == 0 && v == 0) return a;
  Color b = texel(image, left + 1, bottom, tiling, outside, space);
  Color c = texel(image, left, bottom + 1, tiling, outside, space);
  Color d = texel(image, left + 1, bottom + 1, tiling, outside, space);
  auto mix = [u, v](float p, float q, float r, float s) {
    float low = p + (q - p) * u, high = r + (s - r) * u;
    return low + (high - low) * v;
  };
  return {mix(a.r, b.r, c.r, d.r), mix(a.g, b.g, c.g, d.g), mix(a.b, b.b, c.b, d.b), mix(a.a, b.a, c.a, d.a)};
}

// ---- drawing

namespace {

class ImagePainter final : public Painter {
 public:
  ImagePainter(const Context& context, const Image& image, const Matrix& to_image, const PaintSource* paint,
               Space space)
      : context_(context), image_(image), to_image_(to_image), paint_(paint), space_(space),
        quality_(used_quality(context, image)) {}
  bool by_channel() const override { return paint_ && context_.image_mode == VG_DRAW_IMAGE_STENCIL; }
  Source at(int x, int y) const override {
    Point p = to_image_.apply({x + 0.5, y + 0.5});
    if (!by_channel()) {
      Color color = sample(image_, p.x, p.y, VG_TILE_PAD, {}, space_, quality_);
      if (paint_) color = product(color, paint_->at(x + 0.5, y + 0.5));
      return {transformed(context_, color), {}};
    }
    // A stencil: channels of the image are shares, whatever space they are in.
    Space as_is = image_.format.space;
    as_is.premultiplied = true;
    Color share = sample(image_, p.x, p.y, VG_TILE_PAD, {}, as_is, quality_);
    Color paint = transformed(context_, paint_->at(x + 0.5, y + 0.5));
    return {product(paint, share), {paint.a * share.r, paint.a * share.g, paint.a * share.b, paint.a * share.a}};
  }

 private:
  static Color product(Color a, Color b) { return {a.r * b.r, a.g * b.g, a.b * b.b, a.a * b.a}; }

  const Context& context_;
  const Image& image_;
  const Matrix& to_image_;
  const PaintSource* paint_;
  Space space_;
  VGint quality_;
};

}  // namespace

void draw_image(Context& context, const std::shared_ptr<Image>& image, const Matrix& to_surface) {
  if (!context.surface) return;
  context.sensors.render_calls++;
  Matrix to_image;
  if (!to_surface.inverse(to_image)) return;
  double w = image->width, h = image->height;
  Point corners[] = {{0, 0}, {w, 0}, {w, h}, {0, h}};
  for (Point corner : corners)
    if (!(to_surface.weight(corner) > 0)) return;  // behind the eye: nothing is drawn
  Rasterizer rasterizer;
  prepare(context, rasterizer);
  rasterizer.filling_rule(agg::fill_non_zero);
  for (int i = 0; i < 4; i++) {
    Point p = to_surface.apply(corners[i]);
    i ? rasterizer.line_to_d(p.x, p.y) : rasterizer.move_to_d(p.x, p.y);
  }
  rasterizer.close_polygon();
  Space space = blend_space(*context.surface);
  // Only an affine image takes paint: a paint matrix has no sense under a perspective.
  bool painted = context.image_mode != VG_DRAW_IMAGE_NORMAL && affine(to_surface);
  PaintSource paint(context, context.paint(VG_FILL_PATH), to_surface * context.fill_matrix, space);
  if (painted && !paint.drawable()) return;
  compose(context, rasterizer, ImagePainter(context, *image, to_image, painted ? &paint : nullptr, space));
}

// ---- moving pixels

namespace {

// A block of pixels somewhere: an image, a surface, or the program's memory.
struct Block {
  Format format;
  const uint8_t* origin = nullptr;  // of row 0
  ptrdiff_t stride = 0;
  int left = 0, bottom = 0;  // of its area, in pixels of the memory
  int width = 0, height = 0;
  uint8_t* row(int y) const { return const_cast<uint8_t*>(origin) + (ptrdiff_t)(bottom + y) * stride; }
};

Block block(const Image& image) {
  return {
      image.format, image.pixels->bytes.data(), (ptrdiff_t)image.pixels->stride, image.left, image.bottom, image.width,
      image.height};
}

Block block(const Format& format, const void* data, VGint stride, VGint width, VGint height) {
  return {format, (const uint8_t*)data, stride, 0, 0, width, height};
}

bool fits(const Format& format, const void* data) {
  size_t alignment = format.bits == 32 ? 4 : format.bits == 16 ? 2 : 1;
  return data && (uintptr_t)data % alignment == 0;
}

// Cuts an axis of a copy to what lies in both; the places and sizes are a program's and may be anything.
bool cut_to_images(VGint& to, VGint& from, VGint& size, int to_size, int from_size) {
  int64_t t = to, f = from, s = size;
  int64_t skip = std::max<int64_t>({0, -t, -f});
  t += skip, f += skip, s -= skip;
  s = std::min({s, to_size - t, from_size - f});
  if (s <= 0) return false;
  to = (VGint)t, from = (VGint)f, size = (VGint)s;
  return true;
}

// Copies what lies in both blocks, converting; `clip`: only where these rectangles of the target are.
void copy(const Block& to, VGint dx, VGint dy, const Block& from, VGint sx, VGint sy, VGint width, VGint height,
          const std::vector<Rect>* clip = nullptr) {
  if (!cut_to_images(dx, sx, width, to.width, from.width) || !cut_to_images(dy, sy, height, to.height, from.height))
    return;
  bool same = to.format.name == from.format.name;
  // The rows of both are read before any is written: they may be the same memory.
  size_t row_bytes = from.format.row_bytes(width + 8);
  std::vector<uint8_t> rows(row_bytes * (size_t)height);
  bool bytes = from.format.bits >= 8;
  int pixel = from.format.bits / 8;
  for (VGint y = 0; y < height; y++) {
    uint8_t* row = rows.data() + (size_t)y * row_bytes;
    const uint8_t* source = from.row(sy + y);
    if (bytes) {
      memcpy(row, source + (size_t)(from.left + sx) * (size_t)pixel, (size_t)width * (size_t)pixel);
    } else {
      for (VGint x = 0; x < width; x++)
        store(row, x, from.format.bits, load(source, from.left + sx + x, from.format.bits));
    }
  }
  auto write = [&](VGint y, VGint begin, VGint end) {  // columns of the copy
    const uint8_t* row = rows.data() + (size_t)y * row_bytes;
    uint8_t* target = to.row(dy + y);
    if (same && bytes) {
      memcpy(target + (size_t)(to.left + dx + begin) * (size_t)pixel, row + (size_t)begin * (size_t)pixel,
             (size_t)(end - begin) * (size_t)pixel);
      return;
    }
    for (VGint x = begin; x < end; x++) {
      uint32_t value = load(row, x, from.format.bits);
      if (!same) value = to.format.pack(convert(from.format.unpack(value), from.format.space, to.format.space));
      store(target, to.left + dx + x, to.format.bits, value);
    }
  };
  if (!clip) {
    for (VGint y = 0; y < height; y++) write(y, 0, width);
    return;
  }
  for (const Rect& rect : *clip) {
    Rect part = intersection(rect, {dx, dy, width, height});
    for (int y = part.y; y < part.y + part.height; y++) write(y - dy, part.x - dx, part.x - dx + part.width);
  }
}

std::shared_ptr<Image> free_image(Context& context, VGImage handle) {
  auto image = context.need<Image>(handle);
  if (image->target) refuse(VG_IMAGE_IN_USE_ERROR);
  return image;
}

// Refuses a format or memory that cannot hold pixels.
void check_pixels(const Format& format, const void* data, VGint width, VGint height) {
  if (!format.valid) refuse(VG_UNSUPPORTED_IMAGE_FORMAT_ERROR);
  if (width <= 0 || height <= 0 || !fits(format, data)) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
}

// Pixels that a call puts on the surface: as far as the scissor lets them. Counts the call.
void put(Context& context, VGint dx, VGint dy, const Block& from, VGint sx, VGint sy, VGint width, VGint height) {
  context.sensors.render_calls++;
  if (!context.surface) return;
  auto clip = scissor(context);
  copy(block(*context.surface->color), dx, dy, from, sx, sy, width, height, &clip);
}

void fill_block(const Block& to, Rect area, const float* rgba) {
  area = intersection(area, {0, 0, to.width, to.height});
  uint32_t value = to.format.pack(convert(clamped(rgba), {}, to.format.space));
  for (int y = area.y; y < area.y + area.height; y++)
    for (int x = area.x; x < area.x + area.width; x++) store(to.row(y), to.left + x, to.format.bits, value);
}

}  // namespace
}  // namespace dt::vg

using namespace dt::vg;

extern "C" {

VGImage vgCreateImage(VGImageFormat name, VGint width, VGint height, VGbitfield quality) {
  return enter<VGImage>(VG_INVALID_HANDLE, [&](Context& context) {
    Format f = format(name);
    if (!f.valid) refuse(VG_UNSUPPORTED_IMAGE_FORMAT_ERROR);
    if (!image_size(width, height) || !quality || quality & ~QUALITIES) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    auto image = make_image(name, width, height);
    image->quality = quality;
    return context.keep(image);
  });
}

VGImage vgCreateEGLImageTargetKHR(VGeglImageKHR egl_image) {
  if (!current()) return VG_INVALID_HANDLE;
  // The owner of EGLImages takes locks of his own before the engine's.
  int error = VG_ILLEGAL_ARGUMENT_ERROR;
  auto* function = egl_image ? at_image_target().load() : nullptr;
  VGImage made = function ? function(egl_image, &error) : VG_INVALID_HANDLE;
  Entry context;
  if (made == VG_INVALID_HANDLE) context->fail((VGErrorCode)error);
  return made;
}

void vgDestroyImage(VGImage handle) {
  enter([&](Context& context) { context.destroy<Image>(handle); });
}

void vgClearImage(VGImage handle, VGint x, VGint y, VGint width, VGint height) {
  enter([&](Context& context) {
    auto image = free_image(context, handle);
    if (width <= 0 || height <= 0) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    context.sensors.property_writes++;
    fill_block(block(*image), {x, y, width, height}, context.clear_color.data());
  });
}

void vgImageSubData(VGImage handle, const void* data, VGint stride, VGImageFormat name, VGint x, VGint y, VGint width,
                    VGint height) {
  enter([&](Context& context) {
    auto image = free_image(context, handle);
    Format f = format(name);
    check_pixels(f, data, width, height);
    context.sensors.image_uploads++;
    context.sensors.pixel_uploads += (int64_t)width * height;
    copy(block(*image), x, y, block(f, data, stride, width, height), 0, 0, width, height);
  });
}

void vgGetImageSubData(VGImage handle, void* data, VGint stride, VGImageFormat name, VGint x, VGint y, VGint width,
                       VGint height) {
  enter([&](Context& context) {
    auto image = free_image(context, handle);
    Format f = format(name);
    check_pixels(f, data, width, height);
    context.sensors.property_reads++;
    copy(block(f, data, stride, width, height), 0, 0, block(*image), x, y, width, height);
  });
}

VGImage vgChildImage(VGImage handle, VGint x, VGint y, VGint width, VGint height) {
  return enter<VGImage>(VG_INVALID_HANDLE, [&](Context& context) {
    auto parent = free_image(context, handle);
    if (x < 0 || y < 0 || width <= 0 || height <= 0 || (int64_t)x + width > parent->width ||
        (int64_t)y + height > parent->height)
      refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    auto child = std::make_shared<Image>();
    child->format = parent->format;
    child->width = width;
    child->height = height;
    child->left = parent->left + x;
    child->bottom = parent->bottom + y;
    child->quality = parent->quality;
    child->pixels = parent->pixels;
    child->parent = parent;
    child->sibling = parent->sibling;
    return context.keep(child);
  });
}

VGImage vgGetParent(VGImage handle) {
  return enter<VGImage>(VG_INVALID_HANDLE, [&](Context& context) {
    auto image = free_image(context, handle);
    // The nearest ancestor that has not been destroyed, else the image itself.
    for (auto ancestor = image->parent; ancestor; ancestor = ancestor->parent)
      if (context.find<Image>(ancestor->handle) == ancestor) return ancestor->handle;
    return handle;
  });
}

void vgCopyImage(VGImage to, VGint dx, VGint dy, VGImage from, VGint sx, VGint sy, VGint width, VGint height,
                 VGboolean dither) {
  (void)dither;
  enter([&](Context& context) {
    auto target = free_image(context, to), source = free_image(context, from);
    if (width <= 0 || height <= 0) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    context.sensors.property_reads++, context.sensors.property_writes++;
    copy(block(*target), dx, dy, block(*source), sx, sy, width, height);
  });
}

void vgDrawImage(VGImage handle) {
  enter([&](Context& context) { draw_image(context, free_image(context, handle), context.image_matrix); });
}

void vgSetPixels(VGint dx, VGint dy, VGImage handle, VGint sx, VGint sy, VGint width, VGint height) {
  enter([&](Context& context) {
    auto image = free_image(context, handle);
    if (width <= 0 || height <= 0) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    put(context, dx, dy, block(*image), sx, sy, width, height);
  });
}

void vgWritePixels(const void* data, VGint stride, VGImageFormat name, VGint dx, VGint dy, VGint width, VGint height) {
  enter([&](Context& context) {
    Format f = format(name);
    check_pixels(f, data, width, height);
    context.sensors.pixel_uploads += (int64_t)width * height;
    put(context, dx, dy, block(f, data, stride, width, height), 0, 0, width, height);
  });
}

void vgGetPixels(VGImage handle, VGint dx, VGint dy, VGint sx, VGint sy, VGint width, VGint height) {
  enter([&](Context& context) {
    auto image = free_image(context, handle);
    if (width <= 0 || height <= 0) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    if (context.surface) copy(block(*image), dx, dy, block(*context.surface->color), sx, sy, width, height);
  });
}

void vgReadPixels(void* data, VGint stride, VGImageFormat name, VGint sx, VGint sy, VGint width, VGint height) {
  enter([&](Context& context) {
    Format f = format(name);
    check_pixels(f, data, width, height);
    if (!context.surface) return;
    copy(block(f, data, stride, width, height), 0, 0, block(*context.surface->color), sx, sy, width, height);
  });
}

void vgCopyPixels(VGint dx, VGint dy, VGint sx, VGint sy, VGint width, VGint height) {
  enter([&](Context& context) {
    if (width <= 0 || height <= 0) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    put(context, dx, dy, context.surface ? block(*context.surface->color) : Block(), sx, sy, width, height);
  });
}

void vgClear(VGint x, VGint y, VGint width, VGint height) {
  enter([&](Context& context) {
    if (width <= 0 || height <= 0) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    context.sensors.render_calls++;
    if (!context.surface) return;
    for (const Rect& rect : scissor(context))
      fill_block(block(*context.surface->color), intersection(rect, {x, y, width, height}), context.clear_color.data());
  });
}

}  // extern "C"
