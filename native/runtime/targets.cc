#include "targets.h"

#include <errno.h>
#include <stdlib.h>

#include "frame_image.h"
#include "sampled.h"
#include "told.h"
#include "gl_enums.h"

namespace dt {
namespace hook {

dt_pool_targets* g_targets;

namespace {

using namespace gl;

enum : uint32_t {
  // Names that no driver has given out by then.
  OUR_TEXTURE = 0xD7A90001,
  OUR_SOURCE = 0xD7A90002,
  OUR_DESTINATION = 0xD7A90003,
};
constexpr uint32_t MOST_SIDE = 1u << 16;

// `whole`: four components are uploaded, into a texture of our own; else as many as the texture has that they go to.
bool layout_of(const GlContext* c, const int32_t size[4], uint32_t kind, bool srgb, uint32_t internal, bool whole,
               Layout* l) {
  const bool es = c->api == 2;
  int32_t most = 0;
  for (int i = 0; i < 4; i++) most = size[i] > most ? size[i] : most;
  if (!size[0] || !most) return false;  // luminance, alpha: not through a framebuffer
  bool without_alpha = !size[3];
  l->read_components = 4;
  switch (internal) {
    case GL_RGB:
    case GL_RGB8:
    case GL_RGB565:
    case GL_SRGB:
    case GL_SRGB8:
    case GL_R3_G3_B2:
    case GL_RGB4:
    case GL_RGB5: without_alpha = true;
    default: break;
  }
  l->components = whole || !without_alpha ? 4 : size[2] ? 3 : size[1] ? 2 : 1;
  static const uint32_t formats[] = {GL_RED, GL_RG, GL_RGB, GL_RGBA},
                        integers[] = {GL_RED_INTEGER, GL_RG_INTEGER, GL_RGB_INTEGER, GL_RGBA_INTEGER};
  l->format = formats[l->components - 1];
  l->read_format = GL_RGBA;
  l->swapped = false;
  if (kind == GL_UNSIGNED_NORMALIZED) {
    if (most <= 8) {
      l->read_type = l->type = GL_UNSIGNED_BYTE;
      l->read_width = l->width = 1;
      l->own_format = srgb ? GL_SRGB8_ALPHA8 : GL_RGBA8;
      if (es && !whole && (internal == GL_BGRA || internal == GL_BGRA8_EXT))
        l->format = GL_BGRA, l->swapped = true, l->components = 4;
      return true;
    }
    if (es) {
      if (most != 10 || size[3] != 2) return false;
      l->read_type = l->type = GL_UNSIGNED_INT_2_10_10_10_REV;
      l->read_width = l->width = 0;
      l->components = 4;
      l->format = GL_RGBA;
      l->own_format = GL_RGB10_A2;
      return true;
    }
    if (most > 16) return false;
    l->read_type = l->type = GL_UNSIGNED_SHORT;
    l->read_width = l->width = 2;
    l->own_format = most == 10 && size[3] == 2 ? GL_RGB10_A2 : GL_RGBA16;
    return true;
  }
  if (kind == GL_FLOAT) {
    // Textures of ES 2 that were made of halves take nothing but halves.
    if (es && !whole && (internal == GL_RGBA || internal == GL_RGB)) return false;
    l->read_type = l->type = GL_FLOAT;
    l->read_width = l->width = 4;
    l->own_format = GL_RGBA32F;
    return true;
  }
  if (kind == GL_INT || kind == GL_UNSIGNED_INT) {
    if (most != 8 && most != 16 && most != 32) return false;
    const bool sign = kind == GL_INT;
    l->read_format = GL_RGBA_INTEGER;
    l->format = integers[l->components - 1];
    l->read_type = kind;
    l->read_width = 4;
    l->width = (uint32_t)most / 8;
    l->type = most == 8    ? (sign ? GL_BYTE : GL_UNSIGNED_BYTE)
              : most == 16 ? (sign ? GL_SHORT : GL_UNSIGNED_SHORT)
                           : kind;
    static const uint32_t own[2][3] = {{GL_RGBA8UI, GL_RGBA16UI, GL_RGBA32UI}, {GL_RGBA8I, GL_RGBA16I, GL_RGBA32I}};
    l->own_format = own[sign][most == 8 ? 0 : most == 16 ? 1 : 2];
    return true;
  }
  return false;
}

// From what the driver gives to what is uploaded, in place: never wider.
void pack(const Layout& l, uint8_t* pixels, size_t count) {
  const size_t from = pixel_bytes(l, true), to = pixel_bytes(l, false);
  if (l.swapped)
    for (size_t i = 0; i < count; i++) {
      const uint8_t first = pixels[4 * i];
      pixels[4 * i] = pixels[4 * i + 2];
      pixels[4 * i + 2] = first;
    }
  if (from == to) return;
  for (size_t i = 0; i < count; i++)
    // little endian
    for (uint32_t n = 0; n < l.components; n++)
      memmove(pixels + i * to + n * l.width, pixels + i * from + n * l.read_width, l.width);
}

uint32_t binding_of(uint32_t target) {
  switch (target) {
    case GL_TEXTURE_2D: return GL_TEXTURE_BINDING_2D;
    case GL_TEXTURE_3D: return GL_TEXTURE_BINDING_3D;
    case GL_TEXTURE_CUBE_MAP: return GL_TEXTURE_BINDING_CUBE_MAP;
    case GL_TEXTURE_2D_ARRAY: return GL_TEXTURE_BINDING_2D_ARRAY;
    case GL_TEXTURE_CUBE_MAP_ARRAY: return GL_TEXTURE_BINDING_CUBE_MAP_ARRAY;
    case GL_TEXTURE_RECTANGLE: return GL_TEXTURE_BINDING_RECTANGLE;
    default: return 0;
  }
}
// The way to hand over a level's content by glGetTexImage of desktop OpenGL, and to take it back the same way: more
// kinds than a framebuffer can read. `about` describes the level.
template <class About> bool layout_of_level(const GlContext* c, uint32_t internal, About about, Layout* l) {
  auto same = [&](uint32_t format, uint32_t components, uint32_t type, uint32_t width) {
    *l = Layout{format, type, components, format, type, components, width, width, false, 0};
    return true;
  };
  if (about(GL_TEXTURE_COMPRESSED)) return false;  // compressed
  const int32_t depth = about(GL_TEXTURE_DEPTH_SIZE), stencil = about(GL_TEXTURE_STENCIL_SIZE);
  if (depth)
    return layout_of_depth(depth, stencil, about(GL_TEXTURE_DEPTH_TYPE) == (int32_t)GL_FLOAT, l) &&
           l->own_format != GL_DEPTH_COMPONENT24;
  if (stencil) return false;
  int32_t sizes[4], kind = 0, most = 0;
  for (uint32_t i = 0; i < 4; i++) {
    sizes[i] = about(GL_TEXTURE_RED_SIZE + i);
    if (sizes[i] && !kind) kind = about(GL_TEXTURE_RED_TYPE + i);
    most = sizes[i] > most ? sizes[i] : most;
  }
  const int32_t luminance = c->core ? 0 : about(GL_TEXTURE_LUMINANCE_SIZE),
                intensity = c->core ? 0 : about(GL_TEXTURE_INTENSITY_SIZE);
  if (luminance) kind = about(GL_TEXTURE_LUMINANCE_TYPE);
  if (intensity) kind = about(GL_TEXTURE_INTENSITY_TYPE);
  most = luminance > most ? luminance : intensity > most ? intensity : most;
  const bool old = luminance || intensity || (!sizes[0] && sizes[3]);
  if (!old && kind != (int32_t)GL_SIGNED_NORMALIZED)
    return layout_of(c, sizes, (uint32_t)kind, false, internal, false, l);
  static const uint32_t formats[] = {GL_RED, GL_RG, GL_RGB, GL_RGBA};
  const uint32_t components = old ? (luminance && sizes[3] ? 2 : 1) : sizes[3] ? 4 : sizes[2] ? 3 : sizes[1] ? 2 : 1;
  const uint32_t format = !old        ? formats[components - 1]
                          : luminance ? (sizes[3] ? GL_LUMINANCE_ALPHA : GL_LUMINANCE)
                          : intensity ? GL_RED
                                      : GL_ALPHA;
  if (kind == (int32_t)GL_FLOAT) return same(format, components, GL_FLOAT, 4);
  const bool sign = kind == (int32_t)GL_SIGNED_NORMALIZED;
  if ((!sign && kind != (int32_t)GL_UNSIGNED_NORMALIZED) || most > 16) return false;
  return most <= 8 ? same(format, components, sign ? GL_BYTE : GL_UNSIGNED_BYTE, 1)
                   : same(format, components, sign ? GL_SHORT : GL_UNSIGNED_SHORT, 2);
}

bool is_enabled(uint32_t capability) { return driver::glIsEnabled && driver::glIsEnabled(capability); }

// The attachment point for a format of textures and renderbuffers.
uint32_t point_of(uint32_t internal) {
  switch (internal) {
    case GL_DEPTH_COMPONENT:
    case GL_DEPTH_COMPONENT16:
    case GL_DEPTH_COMPONENT24:
    case GL_DEPTH_COMPONENT32:
    case GL_DEPTH_COMPONENT32F: return GL_DEPTH_ATTACHMENT;
    case GL_DEPTH_STENCIL:
    case GL_DEPTH24_STENCIL8:
    case GL_DEPTH32F_STENCIL8: return GL_DEPTH_STENCIL_ATTACHMENT;
    case GL_STENCIL_INDEX:
    case GL_STENCIL_INDEX1:
    case GL_STENCIL_INDEX4:
    case GL_STENCIL_INDEX8:
    case GL_STENCIL_INDEX16: return GL_STENCIL_ATTACHMENT;
    default: return GL_COLOR_ATTACHMENT0;
  }
}

// Reads the framebuffer that is bound for reading: as often as there are layers, after `next` has made the next its
// image.
template <class Next>
uint32_t read_layers(GlContext* c, uint32_t target, uint32_t point, uint32_t internal, bool whole, Picture* image,
                     Next next) {
  if (!driver::glGetFramebufferAttachmentParameteriv || !driver::glCheckFramebufferStatus || !driver::glReadPixels)
    return DT_REFUSED_VERSION;
  PlainPack plain(c, 1);
  image->bits = GL_COLOR_BUFFER_BIT;
  for (uint32_t layer = 0; layer < image->depth; layer++) {
    next(layer);
    if (driver::glCheckFramebufferStatus(target) != GL_FRAMEBUFFER_COMPLETE) return DT_REFUSED_FORMAT;
    if (!layer) {
      int32_t sizes[4] = {}, kind = GL_UNSIGNED_NORMALIZED, encoding = 0;
      if (c->version >= 30) {
        for (uint32_t i = 0; i < 4; i++)
          driver::glGetFramebufferAttachmentParameteriv(target, point, GL_FRAMEBUFFER_ATTACHMENT_RED_SIZE + i,
                                                        &sizes[i]);
        driver::glGetFramebufferAttachmentParameteriv(target, point, GL_FRAMEBUFFER_ATTACHMENT_COMPONENT_TYPE, &kind);
        driver::glGetFramebufferAttachmentParameteriv(target, point, GL_FRAMEBUFFER_ATTACHMENT_COLOR_ENCODING,
                                                      &encoding);
      } else {
        // OpenGL ES 2 does not tell how many bits there are: eight are enough unless there may be floats.
        if (has_extension(c, "GL_OES_texture_half_float") || has_extension(c, "GL_OES_texture_float"))
          return DT_REFUSED_FORMAT;
        for (int32_t& size : sizes) size = 8;
      }
      if (!layout_of(c, sizes, (uint32_t)kind, encoding == (int32_t)GL_SRGB, internal, whole, &image->layout))
        return DT_REFUSED_FORMAT;
      if (!image->make_room()) return DT_REFUSED_SIZE;
    }
    const Layout& l = image->layout;
    driver::glReadPixels(0, 0, (int32_t)image->width, (int32_t)image->height, l.read_format, l.read_type,
                         image->pixels + (size_t)layer * image->width * image->height * pixel_bytes(l, true));
  }
  pack(image->layout, image->pixels, image->count());
  return 0;
}

// Depth and stencil of the framebuffer that is bound for reading, which desktop OpenGL hands over. `points`: of the
// two.
uint32_t read_depth(GlContext* c, const uint32_t (&points)[2], Picture* image) {
  if (!driver::glGetFramebufferAttachmentParameteriv || !driver::glCheckFramebufferStatus || !driver::glReadPixels ||
      driver::glCheckFramebufferStatus(GL_READ_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
    return DT_REFUSED_FORMAT;
  int32_t kinds[2] = {}, sizes[2] = {}, type = 0;
  for (uint32_t i = 0; i < 2; i++) {
    driver::glGetFramebufferAttachmentParameteriv(GL_READ_FRAMEBUFFER, points[i], GL_FRAMEBUFFER_ATTACHMENT_OBJECT_TYPE,
                                                  &kinds[i]);
    if (kinds[i])
      driver::glGetFramebufferAttachmentParameteriv(GL_READ_FRAMEBUFFER, points[i],
                                                    GL_FRAMEBUFFER_ATTACHMENT_DEPTH_SIZE + i, &sizes[i]);
  }
  if (sizes[0])
    driver::glGetFramebufferAttachmentParameteriv(GL_READ_FRAMEBUFFER, points[0],
                                                  GL_FRAMEBUFFER_ATTACHMENT_COMPONENT_TYPE, &type);
  Layout& l = image->layout;
  if (!layout_of_depth(sizes[0], sizes[1], type == (int32_t)GL_FLOAT, &l) || l.own_format == GL_DEPTH_COMPONENT24)
    return DT_REFUSED_FORMAT;
  if (!image->bits) image->bits = (sizes[0] ? GL_DEPTH_BUFFER_BIT : 0u) | (sizes[1] ? GL_STENCIL_BUFFER_BIT : 0u);
  if (!image->make_room()) return DT_REFUSED_SIZE;
  PlainPack plain(c, 1);
  driver::glReadPixels(0, 0, (int32_t)image->width, (int32_t)image->height, l.read_format, l.read_type, image->pixels);
  return 0;
}

using GetTexImage = void (*)(uint32_t, int32_t, uint32_t, uint32_t, void*);
GetTexImage tex_image_of(const GlContext* c) {
  if (auto get = driver::glGetTexImage) return get;
  // No library that the program has exports it.
  return (GetTexImage)driver_address(c, "glGetTexImage");
}

// A level of a texture, as desktop OpenGL hands it over.
uint32_t read_level(GlContext* c, GetTexImage get, const dt_target& w, Picture* image) {
  const uint32_t binding = is_face(w.target) ? GL_TEXTURE_CUBE_MAP : w.target;
  if (!driver::glBindTexture || !driver::glGetTexLevelParameteriv) return DT_REFUSED_VERSION;
  if (!binding_of(binding)) return DT_REFUSED_KIND;
  const uint32_t was = (uint32_t)ask(c, binding_of(binding), 0);
  if (was != (uint32_t)w.name) driver::glBindTexture(binding, (uint32_t)w.name);
  auto about = [&](uint32_t what) {
    int32_t value = 0;
    driver::glGetTexLevelParameteriv(w.target, (int32_t)w.level, what, &value);
    return value;
  };
  // All of the level comes, whatever it was thought to be.
  const bool there = about(GL_TEXTURE_WIDTH) == (int32_t)w.width && about(GL_TEXTURE_HEIGHT) == (int32_t)w.height &&
                     (!has_layers(w.target) || about(GL_TEXTURE_DEPTH) == (int32_t)w.depth);
  uint32_t why = there ? 0 : +DT_REFUSED_CHANGED;
  if (!why && !layout_of_level(c, w.format, about, &image->layout)) why = DT_REFUSED_FORMAT;
  if (!why && !image->make_room()) why = DT_REFUSED_SIZE;
  if (!why) {
    PlainPack plain(c, 1);
    get(w.target, (int32_t)w.level, image->layout.read_format, image->layout.read_type, image->pixels);
    pack(image->layout, image->pixels, image->count());
  }
  if (was != (uint32_t)w.name) driver::glBindTexture(binding, was);
  return why;
}

// Checks whether a texture or renderbuffer is as expected: 0, or DT_REFUSED_*.
uint32_t look_at_object(GlContext* c, const dt_target& w) {
  if (w.kind == DT_TARGET_TEXTURE) {
    if (!driver::glIsTexture || !driver::glIsTexture((uint32_t)w.name)) return DT_REFUSED_CHANGED;
    // Textures of one dimension, or with several samples a pixel, are not read.
    if (w.target == GL_TEXTURE_2D || w.target == GL_TEXTURE_RECTANGLE || is_face(w.target)) return 0;
    return !has_layers(w.target) ? +DT_REFUSED_KIND : c->version < 30 ? +DT_REFUSED_VERSION : 0;
  }
  if (!driver::glBindRenderbuffer || !driver::glGetRenderbufferParameteriv) return DT_REFUSED_VERSION;
  if (!driver::glIsRenderbuffer || !driver::glIsRenderbuffer((uint32_t)w.name)) return DT_REFUSED_CHANGED;
  const uint32_t was = (uint32_t)ask(c, GL_RENDERBUFFER_BINDING, 0);
  int32_t samples = 0, width = 0, height = 0;
  driver::glBindRenderbuffer(GL_RENDERBUFFER, (uint32_t)w.name);
  driver::glGetRenderbufferParameteriv(GL_RENDERBUFFER, GL_RENDERBUFFER_SAMPLES, &samples);
  driver::glGetRenderbufferParameteriv(GL_RENDERBUFFER, GL_RENDERBUFFER_WIDTH, &width);
  driver::glGetRenderbufferParameteriv(GL_RENDERBUFFER, GL_RENDERBUFFER_HEIGHT, &height);
  driver::glBindRenderbuffer(GL_RENDERBUFFER, was);
  return samples                                                    ? +DT_REFUSED_SAMPLES
         : width != (int32_t)w.width || height != (int32_t)w.height ? +DT_REFUSED_CHANGED
                                                                    : 0;
}

// An object's picture, through a framebuffer of our own.
uint32_t read_object(GlContext* c, const dt_target& w, bool in_egl, Picture* image) {
  if (c->version < 20 || (c->api == 1 && c->version < 30)) return DT_REFUSED_VERSION;
  if (const uint32_t why = look_at_object(c, w)) return why;
  image->width = w.width, image->height = w.height, image->depth = has_layers(w.target) ? w.depth : 1;
  const uint32_t point = point_of(w.format);
  if (c->api == 1 && w.kind == DT_TARGET_TEXTURE)
    if (const GetTexImage get = tex_image_of(c)) return read_level(c, get, w, image);
  const bool no_target = w.format == GL_LUMINANCE || w.format == GL_LUMINANCE_ALPHA || w.format == GL_ALPHA;
  if (c->api == 2 && no_target && w.kind == DT_TARGET_TEXTURE && w.target == GL_TEXTURE_2D && !w.level &&
      c->version >= 30)
    return c->system == 1 && in_egl ? read_bytes_by_shader(w, image) : +DT_REFUSED_CALL;
  if (c->api == 2 && point != GL_COLOR_ATTACHMENT0) {
    if (c->version < 30) return DT_REFUSED_VERSION;
    return c->system == 1 && in_egl ? read_depth_by_shader(w, point, image) : +DT_REFUSED_CALL;
  }
  if (!driver::glGenFramebuffers || !driver::glDeleteFramebuffers || !driver::glBindFramebuffer ||
      !driver::glFramebufferTexture2D || !driver::glFramebufferRenderbuffer ||
      (has_layers(w.target) && !driver::glFramebufferTextureLayer))
    return DT_REFUSED_VERSION;
  const bool two = c->version >= 30;
  const uint32_t target = two ? GL_READ_FRAMEBUFFER : GL_FRAMEBUFFER;
  const uint32_t was = (uint32_t)ask(c, two ? GL_READ_FRAMEBUFFER_BINDING : GL_DRAW_FRAMEBUFFER_BINDING, 0);
  uint32_t ours = 0, why = 0;
  driver::glGenFramebuffers(1, &ours);
  if (!ours) return DT_REFUSED_VERSION;
  driver::glBindFramebuffer(target, ours);
  if (point != GL_COLOR_ATTACHMENT0) {  // a renderbuffer's: textures were handed over above
    driver::glFramebufferRenderbuffer(target, point, GL_RENDERBUFFER, (uint32_t)w.name);
    why = read_depth(c, {GL_DEPTH_ATTACHMENT, GL_STENCIL_ATTACHMENT}, image);
  } else {
    why = read_layers(
        c, target, GL_COLOR_ATTACHMENT0, w.format, w.kind == DT_TARGET_RENDERBUFFER, image, [&](uint32_t layer) {
          if (w.kind == DT_TARGET_RENDERBUFFER)
            driver::glFramebufferRenderbuffer(target, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, (uint32_t)w.name);
          else if (has_layers(w.target))
            driver::glFramebufferTextureLayer(target, GL_COLOR_ATTACHMENT0, (uint32_t)w.name, (int32_t)w.level,
                                              (int32_t)layer);
          else
            driver::glFramebufferTexture2D(target, GL_COLOR_ATTACHMENT0, w.target, (uint32_t)w.name, (int32_t)w.level);
        });
  }
  driver::glBindFramebuffer(target, was);
  driver::glDeleteFramebuffers(1, &ours);
  return why;
}

// The content of the surface that is not shown yet, or its depth or stencil.
uint32_t read_surface(GlContext* c, const dt_target& w, bool in_egl, Picture* image) {
  if (c->version < 30 || !driver::glBindFramebuffer || !driver::glReadBuffer) return DT_REFUSED_VERSION;
  if (c->draw_width <= 0 || c->draw_height <= 0 || c->draw != c->read) return DT_REFUSED_CHANGED;
  image->width = (uint32_t)c->draw_width, image->height = (uint32_t)c->draw_height, image->depth = 1;
  const bool colors = w.target == GL_COLOR;
  const uint32_t draw = (uint32_t)ask(c, GL_DRAW_FRAMEBUFFER_BINDING, 0),
                 read = (uint32_t)ask(c, GL_READ_FRAMEBUFFER_BINDING, 0);
  if (draw) driver::glBindFramebuffer(GL_DRAW_FRAMEBUFFER, 0);
  if (read) driver::glBindFramebuffer(GL_READ_FRAMEBUFFER, 0);
  uint32_t why = ask(c, GL_SAMPLE_BUFFERS, 0) ? +DT_REFUSED_SAMPLES : 0;
  const uint32_t to = (uint32_t)ask(c, GL_DRAW_BUFFER0, 0), from = (uint32_t)ask(c, GL_READ_BUFFER, 0);
  if (!why && colors && to != GL_BACK && to != GL_BACK_LEFT) why = DT_REFUSED_KIND;
  if (!colors) image->bits = w.target == GL_DEPTH ? GL_DEPTH_BUFFER_BIT : GL_STENCIL_BUFFER_BIT;
  if (!why && colors) {
    if (from != GL_BACK) driver::glReadBuffer(GL_BACK);
    why = read_layers(c, GL_READ_FRAMEBUFFER, c->api == 2 ? GL_BACK : GL_BACK_LEFT, 0, true, image, [](uint32_t) {});
    if (from != GL_BACK) driver::glReadBuffer(from);
  } else if (!why && c->api == 1) {
    why = read_depth(c, {GL_DEPTH, GL_STENCIL}, image);
  }
  if (read) driver::glBindFramebuffer(GL_READ_FRAMEBUFFER, read);
  if (draw) driver::glBindFramebuffer(GL_DRAW_FRAMEBUFFER, draw);
  if (why || colors || c->api == 1) return why;
  return c->system == 1 && in_egl ? read_depth_by_shader(w, 0, image) : +DT_REFUSED_CALL;
}

// While it lives, the trace has uploads come from memory without gaps.
class PlainUnpack {
 public:
  PlainUnpack(Thread* t, GlContext* c) : t_(t), c_(c), buffer_(c->buffers[UNPACK]), store_(c->unpack) {
    if (buffer_) tell(t, driver::glBindBuffer, GL_PIXEL_UNPACK_BUFFER, 0);
    each(true);
  }
  ~PlainUnpack() {
    each(false);
    if (buffer_) tell(t_, driver::glBindBuffer, GL_PIXEL_UNPACK_BUFFER, buffer_);
    // The exact state that the hooks of these calls made.
    c_->unpack = store_;
    c_->buffers[UNPACK] = buffer_;
  }
  PlainUnpack(const PlainUnpack&) = delete;
  PlainUnpack& operator=(const PlainUnpack&) = delete;

 private:
  void each(bool plain) {
    const struct {
      uint32_t name;
      int32_t value, plain;
    } values[] = {{GL_UNPACK_ALIGNMENT, store_.alignment, 1},     {GL_UNPACK_ROW_LENGTH, store_.row_length, 0},
                  {GL_UNPACK_SKIP_ROWS, store_.skip_rows, 0},     {GL_UNPACK_SKIP_PIXELS, store_.skip_pixels, 0},
                  {GL_UNPACK_SWAP_BYTES, store_.swap_bytes, 0},   {GL_UNPACK_LSB_FIRST, store_.lsb_first, 0},
                  {GL_UNPACK_SKIP_IMAGES, store_.skip_images, 0}, {GL_UNPACK_IMAGE_HEIGHT, store_.image_height, 0}};
    for (auto& v : values)
      if (v.value != v.plain) tell(t_, driver::glPixelStorei, v.name, plain ? v.plain : v.value);
  }
  Thread* t_;
  GlContext* c_;
  const uint32_t buffer_;
  const PixelStore store_;
};

void tell_texture(Thread* t, GlContext* c, const dt_target& w, const Picture& image) {
  const uint32_t binding = is_face(w.target) ? GL_TEXTURE_CUBE_MAP : w.target, name = (uint32_t)w.name;
  const uint32_t was = (uint32_t)ask(c, binding_of(binding), 0);
  const Layout& l = image.layout;
  PlainUnpack plain(t, c);
  if (was != name) tell(t, driver::glBindTexture, binding, name);
  const int32_t level = (int32_t)w.level, width = (int32_t)image.width, height = (int32_t)image.height;
  if (w.target == GL_TEXTURE_3D || w.target == GL_TEXTURE_2D_ARRAY || w.target == GL_TEXTURE_CUBE_MAP_ARRAY)
    tell(t, driver::glTexSubImage3D, w.target, level, 0, 0, 0, width, height, image.depth, l.format, l.type,
         image.pixels);
  else
    tell(t, driver::glTexSubImage2D, w.target, level, 0, 0, width, height, l.format, l.type, image.pixels);
  if (was != name) tell(t, driver::glBindTexture, binding, was);
}

// `storage` 0: the surface.
void tell_framebuffer(Thread* t, GlContext* c, uint32_t storage, const Picture& image) {
  uint32_t texture = OUR_TEXTURE, source = OUR_SOURCE, destination = OUR_DESTINATION;
  const uint32_t was = (uint32_t)ask(c, binding_of(GL_TEXTURE_2D), 0),
                 draw = (uint32_t)ask(c, GL_DRAW_FRAMEBUFFER_BINDING, 0),
                 read = (uint32_t)ask(c, GL_READ_FRAMEBUFFER_BINDING, 0);
  const int32_t width = (int32_t)image.width, height = (int32_t)image.height;
  const Layout& l = image.layout;
  const uint32_t point = image.bits == GL_COLOR_BUFFER_BIT ? GL_COLOR_ATTACHMENT0
                         : l.format == GL_DEPTH_STENCIL    ? GL_DEPTH_STENCIL_ATTACHMENT
                         : l.format == GL_DEPTH_COMPONENT  ? GL_DEPTH_ATTACHMENT
                                                           : GL_STENCIL_ATTACHMENT;
  PlainUnpack plain(t, c);
  tell(t, driver::glGenTextures, 1, &texture);
  tell(t, driver::glBindTexture, GL_TEXTURE_2D, texture);
  tell(t, driver::glTexImage2D, GL_TEXTURE_2D, 0, l.own_format, width, height, 0, l.format, l.type, image.pixels);
  tell(t, driver::glGenFramebuffers, 1, &source);
  tell(t, driver::glBindFramebuffer, GL_READ_FRAMEBUFFER, source);
  tell(t, driver::glFramebufferTexture2D, GL_READ_FRAMEBUFFER, point, GL_TEXTURE_2D, texture, 0);
  if (storage) {
    tell(t, driver::glGenFramebuffers, 1, &destination);
    tell(t, driver::glBindFramebuffer, GL_DRAW_FRAMEBUFFER, destination);
    tell(t, driver::glFramebufferRenderbuffer, GL_DRAW_FRAMEBUFFER, point, GL_RENDERBUFFER, storage);
  } else if (draw) {
    tell(t, driver::glBindFramebuffer, GL_DRAW_FRAMEBUFFER, 0);
  }
  const bool scissor = is_enabled(GL_SCISSOR_TEST), encodes = c->api == 1 && is_enabled(GL_FRAMEBUFFER_SRGB);
  if (scissor) tell(t, driver::glDisable, GL_SCISSOR_TEST);
  if (encodes) tell(t, driver::glDisable, GL_FRAMEBUFFER_SRGB);
  // Says that nothing of before is needed, whatever the blit leaves out.
  const uint32_t wiped = storage                             ? point
                         : image.bits == GL_COLOR_BUFFER_BIT ? GL_COLOR
                         : image.bits == GL_DEPTH_BUFFER_BIT ? GL_DEPTH
                                                             : GL_STENCIL;
  tell(t, driver::glInvalidateFramebuffer, GL_DRAW_FRAMEBUFFER, 1, &wiped);
  tell(t, driver::glBlitFramebuffer, 0, 0, width, height, 0, 0, width, height, image.bits, GL_NEAREST);
  if (encodes) tell(t, driver::glEnable, GL_FRAMEBUFFER_SRGB);
  if (scissor) tell(t, driver::glEnable, GL_SCISSOR_TEST);
  tell(t, driver::glBindFramebuffer, GL_READ_FRAMEBUFFER, read);
  if (storage || draw) tell(t, driver::glBindFramebuffer, GL_DRAW_FRAMEBUFFER, draw);
  tell(t, driver::glDeleteFramebuffers, 1, &source);
  if (storage) tell(t, driver::glDeleteFramebuffers, 1, &destination);
  tell(t, driver::glBindTexture, GL_TEXTURE_2D, was);
  tell(t, driver::glDeleteTextures, 1, &texture);
}

bool can_tell_framebuffer(const GlContext* c) { return c->version >= (c->api == 2 ? 30u : 43u); }
// Textures of stencil alone, which a blit comes from, are younger than all else.
bool can_tell(const GlContext* c, const Picture& image) {
  return image.layout.format != GL_STENCIL_INDEX || c->version >= (c->api == 2 ? 32u : 44u);
}

}  // namespace

bool transfers_change(GlContext* c) {
  if (c->api != 1 || c->core) return false;
  if (!driver::glGetFloatv || ask(c, GL_MAP_COLOR, 0) || ask(c, GL_MAP_STENCIL, 0)) return true;
  static const uint32_t names[] = {GL_RED_SCALE,   GL_GREEN_SCALE, GL_BLUE_SCALE,  GL_ALPHA_SCALE,
                                   GL_DEPTH_SCALE, GL_RED_BIAS,    GL_GREEN_BIAS,  GL_BLUE_BIAS,
                                   GL_ALPHA_BIAS,  GL_DEPTH_BIAS,  GL_INDEX_SHIFT, GL_INDEX_OFFSET};
  for (uint32_t name : names) {
    float value = 0;
    driver::glGetFloatv(name, &value);
    const bool scale = name == GL_RED_SCALE || name == GL_GREEN_SCALE || name == GL_BLUE_SCALE ||
                       name == GL_ALPHA_SCALE || name == GL_DEPTH_SCALE;
    if (value != (scale ? 1.0f : 0.0f)) return true;
  }
  return false;
}

uint32_t take_picture(Thread* t, const dt_target& w, bool in_egl, uint64_t* bytes) {
  GlContext* c = t->context;
  if (transfers_change(c)) return DT_REFUSED_TRANSFER;
  if (w.width > MOST_SIDE || w.height > MOST_SIDE || w.depth > MOST_SIDE) return DT_REFUSED_SIZE;
  if (w.kind != DT_TARGET_TEXTURE && !can_tell_framebuffer(c)) return DT_REFUSED_VERSION;
  Picture image;
  const uint32_t why =
      w.kind == DT_TARGET_SURFACE ? read_surface(c, w, in_egl, &image) : read_object(c, w, in_egl, &image);
  if (why) return why;
  if (!can_tell(c, image)) return DT_REFUSED_VERSION;
  if (w.kind == DT_TARGET_TEXTURE)
    tell_texture(t, c, w, image);
  else
    tell_framebuffer(t, c, w.kind == DT_TARGET_RENDERBUFFER ? (uint32_t)w.name : 0, image);
  *bytes += image.bytes();
  return 0;
}

void take_targets(Thread* t, bool in_egl) {
  GlContext* c = t->context;
  if (!can_ask(c) || c->api > 2 || !c->api || !c->share_group || (g_mode & (MODE_DROPPING | MODE_OFF | MODE_LOST)))
    return;
  const int saved = errno;
  // A list that is being made would swallow the calls.
  const bool fixed = c->api == 1 && !c->core;
  const bool swallowed = fixed && (ask(c, GL_LIST_INDEX, 0) || ask(c, GL_RENDER_MODE, GL_RENDER) != GL_RENDER);
  const uint32_t count = swallowed ? 0 : g_targets->count < DT_MOST_TARGETS ? g_targets->count : DT_MOST_TARGETS;
  for (uint32_t i = 0; i < count; i++) {
    dt_target& w = g_targets->list[i];
    if (w.kind == DT_TARGET_SURFACE ? w.name != c->draw : w.share_group != c->share_group) continue;
    uint32_t asked = DT_TARGET_ASKED;
    if (!w.state.compare_exchange_strong(asked, DT_TARGET_BUSY, std::memory_order_acq_rel)) continue;
    uint64_t bytes = 0;
    w.why = take_picture(t, w, in_egl, &bytes);
    g_targets->bytes.fetch_add(bytes, std::memory_order_relaxed);
    if (!w.why)
      emit_note(
          t, "pictures-taken",
          "the flight recorder read pictures back; calls that write them were recorded that the program did not make");
    w.state.store(w.why ? DT_TARGET_REFUSED : DT_TARGET_TAKEN, std::memory_order_release);
    g_targets->open.fetch_sub(1, std::memory_order_release);
  }
  t->special = SPECIAL_BUSY;
  errno = saved;
}

}  // namespace hook
}  // namespace dt
