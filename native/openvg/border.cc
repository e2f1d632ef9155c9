#include "border.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>

#include "engine.h"

using namespace dt::vg;

namespace {

enum : int { EGL_BAD_ACCESS = 0x3002, EGL_BAD_ALLOC = 0x3003, EGL_BAD_MATCH = 0x3009, EGL_BAD_PARAMETER = 0x300C };

// Surfaces are shared: one that is destroyed while it is current lives on.
using Held = std::shared_ptr<Surface>;

// A count, or the mean of a count over another one.
struct Sensor {
  const char *name, *description;
  int64_t Sensors::*part, Sensors::*whole = nullptr;
  double value(const Sensors& s) const {
    if (!whole) return (double)(s.*part);
    return s.*whole ? (double)(s.*part) / (double)(s.*whole) : 0;
  }
};

constexpr Sensor SENSORS[] = {
    {"render_calls", "calls that draw: paths, images, glyphs, clears, pixels set, written or copied",
     &Sensors::render_calls},
    {"matrix_operations", "calls that set or change a matrix", &Sensors::matrix_operations},
    {"created_objects", "paths, paints, images, fonts and mask layers made", &Sensors::created_objects},
    {"attribute_reads", "parameters of objects asked for", &Sensors::attribute_reads},
    {"attribute_writes", "parameters of objects set", &Sensors::attribute_writes},
    {"image_uploads", "calls that bring pixels into an image", &Sensors::image_uploads},
    {"pixel_uploads", "pixels brought into images and surfaces", &Sensors::pixel_uploads},
    {"property_reads", "images read: by filters, copies and the program", &Sensors::property_reads},
    {"property_writes", "images written by filters, copies and clears", &Sensors::property_writes},
    {"paths", "paths drawn", &Sensors::paths},
    {"path_segments", "segments of the paths drawn", &Sensors::path_segments},
    {"path_coordinates", "coordinates of the paths drawn", &Sensors::path_coordinates},
    {"tessellated_edges", "lines that fills and strokes became", &Sensors::tessellated_edges},
    {"accepted_edges", "lines that touch the surface", &Sensors::accepted_edges},
    {"rasterizer_pixels", "pixels covered by paths and images, each time they are", &Sensors::rasterized_pixels},
    {"average_path_size", "covered pixels of a render call", &Sensors::rasterized_pixels, &Sensors::render_calls},
    {"edges_per_path", "lines of a path drawn", &Sensors::tessellated_edges, &Sensors::paths},
};
constexpr int COUNT = sizeof SENSORS / sizeof *SENSORS;

}  // namespace

#define DT_BORDER extern "C" __attribute__((visibility("default")))

DT_BORDER void* drawtap_vg_create_context(void* share) try {
  auto* context = new Context;
  context->share = share ? ((Context*)share)->share : std::make_shared<Share>();
  return context;
} catch (const std::bad_alloc&) {
  return nullptr;
}

DT_BORDER void drawtap_vg_destroy_context(void* context) { delete (Context*)context; }

DT_BORDER void drawtap_vg_make_current(void* handle, void* surface) {
  if (Context* old = current()) old->surface = nullptr;
  auto* context = (Context*)handle;
  current() = context;
  if (context) context->surface = surface ? *(Held*)surface : nullptr;
}

DT_BORDER void* drawtap_vg_create_surface(int width, int height, int linear, int premultiplied) try {
  if (width <= 0 || height <= 0 || (int64_t)width * height > MAX_IMAGE_PIXELS) return nullptr;
  return new Held(make_surface(width, height, linear != 0, premultiplied != 0));
} catch (const std::bad_alloc&) {
  return nullptr;
}

DT_BORDER void* drawtap_vg_image_surface(void* handle, uint32_t name, int* width, int* height, int* error) try {
  auto* context = (Context*)handle;
  std::lock_guard guard(context->share->lock);
  auto image = context->find<Image>(name);
  if (!image) return *error = EGL_BAD_PARAMETER, nullptr;
  // Two surfaces of one image, or one of an image that is a parent or child, would write it from two sides.
  const Pixels& pixels = *image->pixels;
  if (image->target || image->pixels.use_count() > 1 || pixels.elsewhere) return *error = EGL_BAD_ACCESS, nullptr;
  auto* surface = new Held(make_surface(image));
  image->target = true;
  *width = image->width, *height = image->height;
  return surface;
} catch (const std::bad_alloc&) {
  return *error = EGL_BAD_ALLOC, nullptr;
}

// ---- pixels that another API sees, too

// An EGLImage has its pixels from the images' own channels: no colour is converted, as if the memory were one.
namespace {

struct Shared {
  std::weak_ptr<Share> share;  // gone with the last context, and the other objects with it
  std::shared_ptr<Image> image;
};

// The pixels, as long as nobody else may touch them.
class Pixelwise {
 public:
  explicit Pixelwise(void* handle) : image(*((Shared*)handle)->image), share_(((Shared*)handle)->share.lock()) {
    if (share_) share_->lock.lock();
  }
  ~Pixelwise() {
    if (share_) share_->lock.unlock();
  }
  Pixelwise(const Pixelwise&) = delete;
  Pixelwise& operator=(const Pixelwise&) = delete;
  Image& image;

 private:
  std::shared_ptr<Share> share_;
};

void bytes_of(const Format& format, uint32_t pixel, uint8_t* rgba) {
  Color color = format.unpack(pixel);
  if (format.alpha_only()) color.r = color.g = color.b = 0;
  const float channels[] = {color.r, color.g, color.b, format.has_alpha() ? color.a : 1.0f};
  for (int i = 0; i < 4; i++) rgba[i] = (uint8_t)std::lround(channels[i] * 255.0f);
}

}  // namespace

DT_BORDER void* drawtap_vg_share_image(void* handle, uint32_t name, int* width, int* height, int* error) try {
  auto* context = (Context*)handle;
  std::lock_guard guard(context->share->lock);
  auto image = context->find<Image>(name);
  if (!image) return *error = EGL_BAD_PARAMETER, nullptr;
  for (auto above = image->parent; above; above = above->parent)  // a child, as vgGetParent has it
    if (context->find<Image>(above->handle) == above) return *error = EGL_BAD_ACCESS, nullptr;
  if (image->target || image->sibling || image->pixels->elsewhere) return *error = EGL_BAD_ACCESS, nullptr;
  if (image->format.bits < 8) return *error = EGL_BAD_MATCH, nullptr;
  auto* shared = new Shared{context->share, image};
  image->pixels->elsewhere = true;
  *width = image->width, *height = image->height;
  return shared;
} catch (const std::bad_alloc&) {
  return *error = EGL_BAD_ALLOC, nullptr;
}
DT_BORDER void drawtap_vg_unshare_image(void* handle) { Pixelwise(handle).image.pixels->elsewhere = false; }
DT_BORDER void drawtap_vg_forget_image(void* handle) { delete (Shared*)handle; }
DT_BORDER int drawtap_vg_shared_alive(void* handle) {
  Pixelwise locked(handle);
  return ((Shared*)handle)->image.use_count() > 1 || locked.image.pixels.use_count() > 1;
}
DT_BORDER int drawtap_vg_same_image(void* one, void* other) { return ((Shared*)one)->image == ((Shared*)other)->image; }
DT_BORDER void drawtap_vg_shared_read(void* handle, uint8_t* rgba) {
  Pixelwise locked(handle);
  const Image& image = locked.image;
  for (int y = 0; y < image.height; y++)
    for (int x = 0; x < image.width; x++, rgba += 4)
      bytes_of(image.format, load(image.row(y), image.left + x, image.format.bits), rgba);
}
DT_BORDER void drawtap_vg_shared_write(void* handle, const uint8_t* rgba, const uint8_t* before) {
  Pixelwise locked(handle);
  Image& image = locked.image;
  const size_t step = before ? 4 : 0;
  for (int y = 0; y < image.height; y++)
    for (int x = 0; x < image.width; x++, rgba += 4, before += step) {
      if (before && !memcmp(rgba, before, 4)) continue;
      auto channel = [rgba](int i) { return (float)rgba[i] / 255.0f; };
      Color color{channel(0), channel(1), channel(2), channel(3)};
      store(image.row(y), image.left + x, image.format.bits, image.format.pack(color));
    }
}

DT_BORDER void drawtap_vg_at_flush(void (*function)(void)) { at_flush().store(function); }

DT_BORDER void drawtap_vg_at_image_target(uint32_t (*function)(void*, int*)) { at_image_target().store(function); }

DT_BORDER uint32_t drawtap_vg_target_image(void* handle, int name, int width, int height, const uint8_t* rgba,
                                           void** shared) try {
  auto* context = (Context*)handle;
  if (!image_size(width, height) || !format((VGImageFormat)name).valid) return VG_INVALID_HANDLE;
  auto image = make_image((VGImageFormat)name, width, height);
  image->sibling = true;
  auto made = std::make_unique<Shared>(Shared{context->share, image});
  drawtap_vg_shared_write(made.get(), rgba, nullptr);
  std::lock_guard guard(context->share->lock);
  const VGImage kept = context->keep(image);
  *shared = made.release();
  return kept;
} catch (const std::bad_alloc&) {
  return VG_INVALID_HANDLE;
}
DT_BORDER uint32_t drawtap_vg_join_image(void* handle, void* shared) try {
  auto* context = (Context*)handle;
  auto& of = *(Shared*)shared;
  if (of.share.lock() != context->share) return VG_INVALID_HANDLE;  // nobody's lock would be both groups'
  std::lock_guard guard(context->share->lock);
  if (of.image->target) return VG_INVALID_HANDLE;
  auto image = std::make_shared<Image>(*of.image);
  image->quality = QUALITIES;
  image->parent = nullptr;
  image->sibling = true;
  return context->keep(image);
} catch (const std::bad_alloc&) {
  return VG_INVALID_HANDLE;
}

DT_BORDER void drawtap_vg_destroy_surface(void* surface) {
  auto* held = (Held*)surface;
  if (!held) return;
  (*held)->color->target = false;
  delete held;
}

DT_BORDER int drawtap_vg_resize_surface(void* surface, int width, int height) try {
  auto& held = *(Held*)surface;
  if (width <= 0 || height <= 0 || (int64_t)width * height > MAX_IMAGE_PIXELS) return 0;
  if (held->width() != width || held->height() != height) held->resize(width, height);
  return 1;
} catch (const std::bad_alloc&) {
  return 0;
}

DT_BORDER void* drawtap_vg_surface_bytes(void* surface, int what, int* width, int* height, int* stride) {
  auto& held = *(Held*)surface;
  *width = held->width(), *height = held->height();
  *stride = what ? held->width() : (int)held->color->pixels->stride;
  return what ? held->mask.data() : held->color->row(0);
}

DT_BORDER int drawtap_vg_sensor_count(void) { return COUNT; }
DT_BORDER const char* drawtap_vg_sensor_name(int index) {
  return index >= 0 && index < COUNT ? SENSORS[index].name : nullptr;
}
DT_BORDER const char* drawtap_vg_sensor_description(int index) {
  return index >= 0 && index < COUNT ? SENSORS[index].description : nullptr;
}
DT_BORDER int drawtap_vg_sensor_is_mean(int index) { return index >= 0 && index < COUNT && SENSORS[index].whole; }
DT_BORDER double drawtap_vg_sensor_value(void* context, int index) {
  return context && index >= 0 && index < COUNT ? SENSORS[index].value(((Context*)context)->sensors) : 0;
}
DT_BORDER void drawtap_vg_reset_sensors(void* context) {
  if (context) ((Context*)context)->sensors = Sensors();
}
