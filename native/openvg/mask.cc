// The mask of a surface and mask layers (OpenVG 1.1, chapter 7).
#include <algorithm>

#include "engine.h"

namespace dt::vg {

namespace {

constexpr bool known(VGMaskOperation operation) { return operation >= VG_CLEAR_MASK && operation <= VG_SUBTRACT_MASK; }

uint8_t combined(VGMaskOperation operation, uint8_t old, uint8_t value) {
  auto product = [](unsigned a, unsigned b) { return (uint8_t)((a * b + 127) / 255); };
  switch (operation) {
    case VG_CLEAR_MASK: return 0;
    case VG_FILL_MASK: return 255;
    case VG_SET_MASK: return value;
    case VG_UNION_MASK: return (uint8_t)(255 - product(255u - old, 255u - value));
    case VG_INTERSECT_MASK: return product(old, value);
    default: return product(old, 255u - value);
  }
}

// The coverage that a pixel of an image stands for: alpha where there is one, else the first channel.
uint8_t coverage(const Image& image, int x, int y) {
  Color color = image.read(x, y);
  float value = image.format.has_alpha() ? color.a : color.r;
  return (uint8_t)(std::clamp(value, 0.0f, 1.0f) * 255.0f + 0.5f);
}

}  // namespace

// `values`: what is combined into `area` of the mask; its (x, y) lies at `values_x`, `values_y` there.
void apply_mask(std::vector<uint8_t>& mask, int width, const Rect& area, VGMaskOperation operation,
                const std::vector<uint8_t>& values, int values_width, int values_x, int values_y) {
  for (int y = area.y; y < area.y + area.height; y++)
    for (int x = area.x; x < area.x + area.width; x++) {
      uint8_t& at = mask[(size_t)y * (size_t)width + (size_t)x];
      uint8_t value = 0;
      if (!values.empty())
        value = values[(size_t)(y - area.y + values_y) * (size_t)values_width + (size_t)(x - area.x + values_x)];
      at = combined(operation, at, value);
    }
}

}  // namespace dt::vg

using namespace dt::vg;

extern "C" {

void vgMask(VGHandle handle, VGMaskOperation operation, VGint x, VGint y, VGint width, VGint height) {
  enter([&](Context& context) {
    bool needs = operation != VG_CLEAR_MASK && operation != VG_FILL_MASK;
    std::shared_ptr<Image> image;
    std::shared_ptr<MaskLayer> layer;
    if (needs) {
      image = context.find<Image>(handle);
      layer = context.find<MaskLayer>(handle);
      if (!image && !layer) refuse(VG_BAD_HANDLE_ERROR);
      if (image && image->target) refuse(VG_IMAGE_IN_USE_ERROR);
    }
    if (!known(operation) || width <= 0 || height <= 0) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    if (!context.surface) return;
    int source_width = image ? image->width : layer ? layer->width : width;
    int source_height = image ? image->height : layer ? layer->height : height;
    Rect area =
        intersection({x, y, std::min(width, source_width), std::min(height, source_height)}, bounds(*context.surface));
    if (area.empty()) return;
    std::vector<uint8_t> values;
    if (image) {
      values.resize((size_t)image->width * (size_t)image->height);
      for (int row = 0; row < image->height; row++)
        for (int column = 0; column < image->width; column++)
          values[(size_t)row * (size_t)image->width + (size_t)column] = coverage(*image, column, row);
    }
    apply_mask(context.surface->mask, context.surface->width(), area, operation, layer ? layer->values : values,
               source_width, area.x - x, area.y - y);
  });
}

void vgRenderToMask(VGPath handle, VGbitfield modes, VGMaskOperation operation) {
  enter([&](Context& context) {
    auto path = context.need<Path>(handle);
    if (!modes || modes & ~(VGbitfield)(VG_FILL_PATH | VG_STROKE_PATH) || !known(operation))
      refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    if (!context.surface) return;
    Rect area = bounds(*context.surface);
    std::vector<uint8_t> values;
    // Fill and stroke together are one shape.
    for (VGbitfield mode : {(VGbitfield)VG_FILL_PATH, (VGbitfield)VG_STROKE_PATH}) {
      if (!(modes & mode)) continue;
      std::vector<uint8_t> covered((size_t)area.width * (size_t)area.height);
      draw_path(context, *path, context.path_matrix, mode, &covered);
      if (values.empty())
        values = std::move(covered);
      else
        apply_mask(values, area.width, area, VG_UNION_MASK, covered, area.width, 0, 0);
    }
    apply_mask(context.surface->mask, area.width, area, operation, values, area.width, 0, 0);
  });
}

VGMaskLayer vgCreateMaskLayer(VGint width, VGint height) {
  return enter<VGMaskLayer>(VG_INVALID_HANDLE, [&](Context& context) {
    if (!image_size(width, height)) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    auto layer = std::make_shared<MaskLayer>();
    layer->width = width;
    layer->height = height;
    layer->values.assign((size_t)width * (size_t)height, 255);
    return context.keep(layer);
  });
}

void vgDestroyMaskLayer(VGMaskLayer handle) {
  enter([&](Context& context) { context.destroy<MaskLayer>(handle); });
}

void vgFillMaskLayer(VGMaskLayer handle, VGint x, VGint y, VGint width, VGint height, VGfloat value) {
  enter([&](Context& context) {
    auto layer = context.need<MaskLayer>(handle);
    if (!(value >= 0 && value <= 1) || width <= 0 || height <= 0 || x < 0 || y < 0 ||
        (int64_t)x + width > layer->width || (int64_t)y + height > layer->height)
      refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    for (int row = y; row < y + height; row++)
      std::fill_n(layer->values.begin() + (ptrdiff_t)row * layer->width + x, width, (uint8_t)(value * 255.0f + 0.5f));
  });
}

void vgCopyMask(VGMaskLayer handle, VGint dx, VGint dy, VGint sx, VGint sy, VGint width, VGint height) {
  enter([&](Context& context) {
    auto layer = context.need<MaskLayer>(handle);
    if (width <= 0 || height <= 0) refuse(VG_ILLEGAL_ARGUMENT_ERROR);
    if (!context.surface) return;
    const Surface& surface = *context.surface;
    // The part that lies in both, in coordinates of the surface: places and sizes are a program's and may be anything.
    int64_t left = std::max<int64_t>({sx, (int64_t)sx - dx, 0}), bottom = std::max<int64_t>({sy, (int64_t)sy - dy, 0});
    int64_t right = std::min<int64_t>({(int64_t)sx + width, (int64_t)sx - dx + layer->width, surface.width()});
    int64_t top = std::min<int64_t>({(int64_t)sy + height, (int64_t)sy - dy + layer->height, surface.height()});
    if (left >= right) return;
    for (int64_t y = bottom; y < top; y++)
      std::copy_n(surface.mask.begin() + (ptrdiff_t)(y * surface.width() + left), right - left,
                  layer->values.begin() + (ptrdiff_t)((y - sy + dy) * layer->width + (left - sx + dx)));
  });
}

}  // extern "C"
