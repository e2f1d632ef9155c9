#include "pixel_values.h"

#include <EGL/egl.h>

#include <algorithm>
#include <cstring>

#include "../../mirror/frame_image.h"
#include "draw_state.h"
#include "gl_enums.h"

namespace dt::play::metrics {
namespace {

bool has_framebuffers() { return version() >= (is_es() ? 20u : 30u); }
bool two_framebuffers() { return version() >= 30; }

// An attachment of the framebuffer that is drawn to, or a buffer of the window.
struct Attached {
  std::string image;
  int component = 0, bits = 0, samples = 0;
  uint32_t format = 0;  // of a renderbuffer
};

int attachment(uint32_t point, uint32_t name) {
  int v = 0;
  driver::glGetFramebufferAttachmentParameteriv(two_framebuffers() ? GL_DRAW_FRAMEBUFFER : GL_FRAMEBUFFER, point, name,
                                                &v);
  return take_error() ? 0 : v;
}

Attached attached(uint32_t framebuffer, uint32_t point, uint32_t size) {
  Attached a;
  const int type = attachment(point, GL_FRAMEBUFFER_ATTACHMENT_OBJECT_TYPE);
  if (!type) return a;
  const std::string name = std::to_string(attachment(point, GL_FRAMEBUFFER_ATTACHMENT_OBJECT_NAME)),
                    group = std::to_string(tls.context->share_group);
  if (!framebuffer) {
    a.image = "window " + std::to_string(reinterpret_cast<uintptr_t>(eglGetCurrentSurface(EGL_DRAW)));
  } else if (type == static_cast<int>(GL_RENDERBUFFER)) {
    a.image = "renderbuffer " + group + " " + name;
  } else {
    a.image = "texture " + group + " " + name;
    for (uint32_t part : {GL_FRAMEBUFFER_ATTACHMENT_TEXTURE_LEVEL, GL_FRAMEBUFFER_ATTACHMENT_TEXTURE_CUBE_MAP_FACE})
      a.image += " " + std::to_string(attachment(point, part));
    a.image +=
        " " + std::to_string(two_framebuffers() ? attachment(point, GL_FRAMEBUFFER_ATTACHMENT_TEXTURE_LAYER) : 0);
  }
  if (!two_framebuffers()) return a.bits = 8, a;
  a.component = attachment(point, GL_FRAMEBUFFER_ATTACHMENT_COMPONENT_TYPE);
  a.bits = attachment(point, size);
  return a;
}

// Reads one pixel of a framebuffer that is bound for reading.
class OnePixel {
 public:
  OnePixel(int x, int y) : x_(x), y_(y), plain_(tls.context) {}
  bool operator()(uint32_t format, uint32_t type, void* to) const {
    driver::glReadPixels(x_, y_, 1, 1, format, type, to);
    return !take_error();
  }

 private:
  int x_, y_;
  gl::PlainPack plain_;
};

void read_color(const OnePixel& read, const Attached& a, PixelValue& to) {
  union {
    uint8_t bytes[16];
    float reals[4];
    int32_t whole[4];
    uint32_t counts[4];
  } raw = {};
  auto take = [&](const char* kind, auto& numbers) {
    to.kind = kind;
    to.count = 4;
    for (size_t i = 0; i < 4; ++i) to.numbers[i] = static_cast<double>(numbers[i]);
  };
  if (a.component == GL_INT) {
    if (read(GL_RGBA_INTEGER, GL_INT, &raw)) return take("int", raw.whole);
  } else if (a.component == GL_UNSIGNED_INT) {
    if (read(GL_RGBA_INTEGER, GL_UNSIGNED_INT, &raw)) return take("uint", raw.counts);
  } else {
    const bool wide = a.bits > 8 || a.component == GL_FLOAT || a.component == GL_SIGNED_NORMALIZED;
    if (wide && read(GL_RGBA, GL_FLOAT, &raw)) return take("float", raw.reals);
    if (read(GL_RGBA, GL_UNSIGNED_BYTE, &raw)) return take("unorm8", raw.bytes);
  }
  to.why = "the driver does not let this colour buffer be read";
}

void read_depth(const OnePixel& read, const Attached& a, PixelValue& to) {
  float real = 0;
  uint32_t whole = 0;
  to.kind = "depth";
  // The version and the buffer's format decide the type that a driver takes.
  if (a.component == GL_FLOAT && read(GL_DEPTH_COMPONENT, GL_FLOAT, &real))
    to.count = 1, to.numbers[0] = static_cast<double>(real);
  else if (read(GL_DEPTH_COMPONENT, GL_UNSIGNED_INT, &whole))
    to.count = 1, to.numbers[0] = whole / 4294967295.0;
  else if (read(GL_DEPTH_COMPONENT, GL_FLOAT, &real))
    to.count = 1, to.numbers[0] = static_cast<double>(real);
  else if (read(GL_DEPTH_STENCIL, GL_UNSIGNED_INT_24_8, &whole))
    to.count = 1, to.numbers[0] = (whole >> 8) / 16777215.0;
  else
    to.why = "the driver does not let the depth be read";
}

void read_stencil(const OnePixel& read, PixelValue& to) {
  uint8_t value = 0;
  to.kind = "stencil";
  if (read(GL_STENCIL_INDEX, GL_UNSIGNED_BYTE, &value))
    to.count = 1, to.numbers[0] = value;
  else
    to.why = "the driver does not let the stencil be read";
}

// OpenGL ES reads depth and stencil only where the driver has an extension for it.
bool reads(const char* extension) {
  return !is_es() || has_extension(extension) || has_extension("GL_NV_read_depth_stencil");
}

void read_window(const OnePixel& read, PixelValues& values) {
  const std::string name = "window " + std::to_string(reinterpret_cast<uintptr_t>(eglGetCurrentSurface(EGL_DRAW)));
  auto bits = [](uint32_t old, uint32_t point, uint32_t size) {
    return tls.context->core ? attachment(point, size) : integer(old);
  };
  Attached a;
  a.bits = bits(GL_RED_BITS, GL_BACK_LEFT, GL_FRAMEBUFFER_ATTACHMENT_RED_SIZE);
  PixelValue color;
  color.image = name;
  read_color(read, a, color);
  values.colors.push_back(color);
  if (bits(GL_DEPTH_BITS, GL_DEPTH, GL_FRAMEBUFFER_ATTACHMENT_DEPTH_SIZE) && reads("GL_NV_read_depth"))
    values.depth.image = name, read_depth(read, a, values.depth);
  if (bits(GL_STENCIL_BITS, GL_STENCIL, GL_FRAMEBUFFER_ATTACHMENT_STENCIL_SIZE) && reads("GL_NV_read_stencil"))
    values.stencil.image = name, read_stencil(read, values.stencil);
  drain_errors();
}

// A framebuffer of one sample a pixel takes the place of what has several, for `read`.
void read_object(int x, int y, uint32_t framebuffer, PixelValues& values) {
  const bool two = two_framebuffers();
  const uint32_t was = two ? static_cast<uint32_t>(integer(GL_READ_FRAMEBUFFER_BINDING)) : framebuffer;
  if (two && was != framebuffer) driver::glBindFramebuffer(GL_READ_FRAMEBUFFER, framebuffer);
  const char* several = two && integer(GL_SAMPLE_BUFFERS) > 0 ? "it has several samples a pixel" : nullptr;
  const uint32_t buffer = two ? static_cast<uint32_t>(integer(GL_READ_BUFFER)) : 0;
  const OnePixel read(x, y);
  for (uint32_t i = 0, n = two ? static_cast<uint32_t>(std::clamp(integer(GL_MAX_DRAW_BUFFERS), 1, 16)) : 1; i < n;
       ++i) {
    const uint32_t point = two ? static_cast<uint32_t>(integer(GL_DRAW_BUFFER0 + i)) : GL_COLOR_ATTACHMENT0;
    PixelValue color;
    if (point) {
      const Attached a = attached(framebuffer, point, GL_FRAMEBUFFER_ATTACHMENT_RED_SIZE);
      color.image = a.image;
      color.why = several;
      if (two && !several && !a.image.empty()) driver::glReadBuffer(point);
      if (!several && !a.image.empty()) read_color(read, a, color);
    }
    values.colors.push_back(color);
  }
  while (!values.colors.empty() && values.colors.back().image.empty()) values.colors.pop_back();
  if (two && buffer) driver::glReadBuffer(buffer);
  Attached a = attached(framebuffer, GL_DEPTH_ATTACHMENT, GL_FRAMEBUFFER_ATTACHMENT_DEPTH_SIZE);
  values.depth.image = a.image, values.depth.why = several;
  if (!a.image.empty() && !several && reads("GL_NV_read_depth")) read_depth(read, a, values.depth);
  a = attached(framebuffer, GL_STENCIL_ATTACHMENT, GL_FRAMEBUFFER_ATTACHMENT_STENCIL_SIZE);
  values.stencil.image = a.image, values.stencil.why = several;
  if (!a.image.empty() && !several && reads("GL_NV_read_stencil")) read_stencil(read, values.stencil);
  if (two && was != framebuffer) driver::glBindFramebuffer(GL_READ_FRAMEBUFFER, was);
  drain_errors();
}

}  // namespace

PixelValues read_pixel(int x, int y) {
  PixelValues values;
  if (!tls.context || !version()) return values;
  drain_errors();
  const uint32_t framebuffer = has_framebuffers() ? static_cast<uint32_t>(integer(GL_DRAW_FRAMEBUFFER_BINDING)) : 0;
  if (framebuffer && driver::glCheckFramebufferStatus(two_framebuffers() ? GL_DRAW_FRAMEBUFFER : GL_FRAMEBUFFER) !=
                         GL_FRAMEBUFFER_COMPLETE)
    return values;
  if (framebuffer) {
    read_object(x, y, framebuffer, values);
  } else if (two_framebuffers() && integer(GL_READ_FRAMEBUFFER_BINDING)) {
    const auto was = static_cast<uint32_t>(integer(GL_READ_FRAMEBUFFER_BINDING));
    driver::glBindFramebuffer(GL_READ_FRAMEBUFFER, 0);
    read_window(OnePixel(x, y), values);
    driver::glBindFramebuffer(GL_READ_FRAMEBUFFER, was);
  } else {
    read_window(OnePixel(x, y), values);
  }
  return values;
}

}  // namespace dt::play::metrics
