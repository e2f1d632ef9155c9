// Image filters (OpenVG 1.1, chapter 12).
#include <algorithm>

#include "engine.h"

namespace dt::vg {
namespace {

Color operator*(Color c, float s) { return {c.r * s, c.g * s, c.b * s, c.a * s}; }
Color operator+(Color a, Color b) { return {a.r + b.r, a.g + b.g, a.b + b.b, a.a + b.a}; }

// A filter's two images, checked; pixels come and go in the space that the context chose for filters.
class Filter {
 public:
  Filter(Context& context, VGImage to, VGImage from) : context_(context) {
    target_ = context.find<Image>(to);
    source_ = context.find<Image>(from);
    VGErrorCode error = !target_ || !source_                 ? VG_BAD_HANDLE_ERROR
                        : target_->target || source_->target ? VG_IMAGE_IN_USE_ERROR
                        : target_->overlaps(*source_)        ? VG_ILLEGAL_ARGUMENT_ERROR
                                                             : VG_NO_ERROR;
    if (error != VG_NO_ERROR) refuse(error);
    space_ = {context.filter_linear, context.filter_premultiplied, false};
    width_ = std::min(target_->width, source_->width);
    height_ = std::min(target_->height, source_->height);
    context.sensors.property_reads++, context.sensors.property_writes++;
  }
  int width() const { return width_; }
  int height() const { return height_; }
  const Image& source() const { return *source_; }
  Space space() const { return space_; }

  Color read(int x, int y) const { return convert(source_->read(x, y), source_->format.space, space_); }
  void write(int x, int y, Color color) const { write(x, y, color, space_); }
  void write(int x, int y, Color color, Space space) const {
    color = {clamp01(color.r), clamp01(color.g), clamp01(color.b), clamp01(color.a)};
    Space own = target_->format.space, plain = own;
    VGbitfield channels = context_.filter_channels;
    bool colored = target_->format.r.bits && !own.luminance;
    if (channels == (VG_RED | VG_GREEN | VG_BLUE | VG_ALPHA) || !colored)
      return target_->write(x, y, convert(color, space, own));
    // Channels that are not written stay as they are, before their alpha changes.
    plain.premultiplied = false;
    Color fresh = convert(color, space, plain), old = convert(target_->read(x, y), own, plain);
    if (channels & VG_RED) old.r = fresh.r;
    if (channels & VG_GREEN) old.g = fresh.g;
    if (channels & VG_BLUE) old.b = fresh.b;
    if (channels & VG_ALPHA) old.a = fresh.a;
    target_->write(x, y, convert(old, plain, own));
  }

  // All pixels of the source with a border of what the tiling mode says lies around it.
  std::vector<Color> bordered(int left, int bottom, int right, int top, VGTilingMode tiling) const {
    const Color outside = convert(clamped(context_.tile_fill_color.data()), {}, space_);
    std::vector<Color> result;
    result.reserve((size_t)(width_ + left + right) * (size_t)(height_ + bottom + top));
    for (int y = -bottom; y < height_ + top; y++)
      for (int x = -left; x < width_ + right; x++)
        result.push_back(
            sample(*source_, x + 0.5, y + 0.5, (VGint)tiling, outside, space_, VG_IMAGE_QUALITY_NONANTIALIASED));
    return result;
  }

 private:
  Context& context_;
  std::shared_ptr<Image> target_, source_;
  Space space_;
  int width_ = 0, height_ = 0;
};

bool tiling_mode(VGTilingMode mode) { return mode >= VG_TILE_FILL && mode <= VG_TILE_REFLECT; }

// Weights of the pixels from `first` on, relative to the one that is computed.
struct Kernel {
  std::vector<float> weights;
  int first;
};

// Two passes of one dimension; the result of the first one is not clamped.
void convolve_separately(const Filter& filter, const Kernel& across, const Kernel& up, float scale, float bias,
                         VGTilingMode tiling) {
  auto reach = [](const Kernel& kernel) {
    int last = kernel.first + (int)kernel.weights.size() - 1;
    return std::pair{std::max(0, -kernel.first), std::max(0, last)};
  };
  auto [left, right] = reach(across);
  auto [bottom, top] = reach(up);
  std::vector<Color> pixels = filter.bordered(left, bottom, right, top, tiling);
  int width = filter.width(), height = filter.height(), wide = width + left + right, high = height + bottom + top;
  std::vector<Color> rows((size_t)width * (size_t)high);
  for (int y = 0; y < high; y++)
    for (int x = 0; x < width; x++) {
      Color sum;
      const Color* from = pixels.data() + (size_t)y * (size_t)wide + (size_t)(x + left + across.first);
      for (size_t i = 0; i < across.weights.size(); i++) sum = sum + from[i] * across.weights[i];
      rows[(size_t)y * (size_t)width + (size_t)x] = sum;
    }
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      Color sum;
      for (size_t j = 0; j < up.weights.size(); j++)
        sum = sum + rows[(size_t)(y + bottom + up.first + (int)j) * (size_t)width + (size_t)x] * up.weights[j];
      filter.write(x, y, sum * scale + Color{bias, bias, bias, bias});
    }
}

Kernel gaussian(float deviation) {
  int reach = std::max(1, (int)std::ceil(deviation * 4));
  Kernel kernel{{}, -reach};
  double sum = 0;
  for (int i = -reach; i <= reach; i++) sum += std::exp(-0.5 * i * i / ((double)deviation * deviation));
  for (int i = -reach; i <= reach; i++)
    kernel.weights.push_back((float)(std::exp(-0.5 * i * i / ((double)deviation * deviation)) / sum));
  return kernel;
}

// Kernels are given mirrored: the last weight belongs to the first pixel.
Kernel mirrored(const VGshort* values, VGint count, VGint shift) {
  Kernel kernel{{}, -shift};
  for (VGint i = 0; i < count; i++) kernel.weights.push_back(values[count - 1 - i]);
  return kernel;
}

// Shifts move where the kernel looks; so far that it only sees what lies around the image they could ask for any
// amount of memory, and no program needs that.
bool shift_fits(VGint shift) { return shift > -MAX_IMAGE_SIDE && shift < MAX_IMAGE_SIDE; }

uint8_t byte(float value) { return (uint8_t)(clamp01(value) * 255.0f + 0.5f); }

}  // namespace
}  // namespace dt::vg

using namespace dt::vg;

extern "C" {

void vgColorMatrix(VGImage to, VGImage from, const VGfloat* m) {
  enter([&](Context& context) {
    Filter filter(context, to, from);
    if (!usable(m)) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    auto row = [m](Color c, int i) {
      return input(m[i]) * c.r + input(m[4 + i]) * c.g + input(m[8 + i]) * c.b + input(m[12 + i]) * c.a +
             input(m[16 + i]);
    };
    for (int y = 0; y < filter.height(); y++)
      for (int x = 0; x < filter.width(); x++) {
        Color c = filter.read(x, y);
        filter.write(x, y, {row(c, 0), row(c, 1), row(c, 2), row(c, 3)});
      }
  });
}

void vgConvolve(VGImage to, VGImage from, VGint width, VGint height, VGint shift_x, VGint shift_y,
                const VGshort* kernel, VGfloat scale, VGfloat bias, VGTilingMode tiling) {
  enter([&](Context& context) {
    Filter filter(context, to, from);
    if (width <= 0 || height <= 0 || width > MAX_KERNEL || height > MAX_KERNEL || !usable(kernel) ||
        !tiling_mode(tiling) || !shift_fits(shift_x) || !shift_fits(shift_y))
      refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    int left = std::max(0, shift_x), right = std::max(0, width - 1 - shift_x);
    int bottom = std::max(0, shift_y), top = std::max(0, height - 1 - shift_y);
    std::vector<Color> pixels = filter.bordered(left, bottom, right, top, tiling);
    size_t wide = (size_t)(filter.width() + left + right);
    float factor = input(scale), offset = input(bias);
    for (int y = 0; y < filter.height(); y++)
      for (int x = 0; x < filter.width(); x++) {
        Color sum;
        for (int i = 0; i < width; i++)
          for (int j = 0; j < height; j++) {
            float weight = kernel[(width - 1 - i) * height + (height - 1 - j)];
            sum = sum + pixels[(size_t)(y + j - shift_y + bottom) * wide + (size_t)(x + i - shift_x + left)] * weight;
          }
        filter.write(x, y, sum * factor + Color{offset, offset, offset, offset});
      }
  });
}

void vgSeparableConvolve(VGImage to, VGImage from, VGint width, VGint height, VGint shift_x, VGint shift_y,
                         const VGshort* kernel_x, const VGshort* kernel_y, VGfloat scale, VGfloat bias,
                         VGTilingMode tiling) {
  enter([&](Context& context) {
    Filter filter(context, to, from);
    if (width <= 0 || height <= 0 || width > MAX_SEPARABLE_KERNEL || height > MAX_SEPARABLE_KERNEL ||
        !usable(kernel_x) || !usable(kernel_y) || !tiling_mode(tiling) || !shift_fits(shift_x) || !shift_fits(shift_y))
      refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    convolve_separately(filter, mirrored(kernel_x, width, shift_x), mirrored(kernel_y, height, shift_y), input(scale),
                        input(bias), tiling);
  });
}

void vgGaussianBlur(VGImage to, VGImage from, VGfloat deviation_x, VGfloat deviation_y, VGTilingMode tiling) {
  enter([&](Context& context) {
    Filter filter(context, to, from);
    if (!(deviation_x > 0 && deviation_x <= MAX_DEVIATION && deviation_y > 0 && deviation_y <= MAX_DEVIATION) ||
        !tiling_mode(tiling))
      refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    convolve_separately(filter, gaussian(deviation_x), gaussian(deviation_y), 1, 0, tiling);
  });
}

void vgLookup(VGImage to, VGImage from, const VGubyte* red, const VGubyte* green, const VGubyte* blue,
              const VGubyte* alpha, VGboolean linear, VGboolean premultiplied) {
  enter([&](Context& context) {
    Filter filter(context, to, from);
    if (!red || !green || !blue || !alpha) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    Space result{linear != VG_FALSE, premultiplied != VG_FALSE, false};
    for (int y = 0; y < filter.height(); y++)
      for (int x = 0; x < filter.width(); x++) {
        Color c = filter.read(x, y);
        filter.write(x, y,
                     {(float)red[byte(c.r)] / 255.0f, (float)green[byte(c.g)] / 255.0f, (float)blue[byte(c.b)] / 255.0f,
                      (float)alpha[byte(c.a)] / 255.0f},
                     result);
      }
  });
}

void vgLookupSingle(VGImage to, VGImage from, const VGuint* table, VGImageChannel channel, VGboolean linear,
                    VGboolean premultiplied) {
  enter([&](Context& context) {
    Filter filter(context, to, from);
    const Format& format = filter.source().format;
    // A format with one channel has no other to choose.
    if (format.alpha_only())
      channel = VG_ALPHA;
    else if (format.space.luminance)
      channel = VG_RED;
    if (!usable(table) || (channel != VG_RED && channel != VG_GREEN && channel != VG_BLUE && channel != VG_ALPHA))
      refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    Space result{linear != VG_FALSE, premultiplied != VG_FALSE, false};
    for (int y = 0; y < filter.height(); y++)
      for (int x = 0; x < filter.width(); x++) {
        Color c = filter.read(x, y);
        VGuint rgba = table[byte(channel == VG_RED ? c.r : channel == VG_GREEN ? c.g : channel == VG_BLUE ? c.b : c.a)];
        auto part = [rgba](int shift) { return (float)(rgba >> shift & 0xff) / 255.0f; };
        filter.write(x, y, {part(24), part(16), part(8), part(0)}, result);
      }
  });
}

}  // extern "C"
