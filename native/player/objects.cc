#include "objects.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "../common/json.h"
#include "../mirror/frame_image.h"
#include "../mirror/texture_targets.h"
#include "attachments.h"
#include "buffers.h"
#include "depth_copy.h"
#include "play.h"
#include "texel_copy.h"
#include "gl_enums.h"

namespace dt::play {
namespace {

constexpr uint64_t MOST_BYTES = 2ull << 30;

bool has_layers(uint32_t target) {
  return target == GL_TEXTURE_3D || target == GL_TEXTURE_2D_ARRAY || target == GL_TEXTURE_CUBE_MAP_ARRAY;
}
uint32_t binding_of(uint32_t target) {
  for (auto& kind : gl::TEXTURE_TARGETS)
    if (kind.target == target) return kind.binding;
  return 0;
}

// The form of pixels: the parameters of the read, and the name of the form.
struct Form {
  uint32_t format = 0, type = 0, bytes = 0;  // bytes of a pixel
  const char *channels = "", *name = "";
};

// Colours with these bits for each channel, of a kind (GL_FLOAT, GL_INT, ...).
Form form_of(const int32_t bits[4], uint32_t kind, bool four, bool es) {
  static const uint32_t formats[] = {GL_RED, GL_RG, GL_RGB, GL_RGBA},
                        integers[] = {GL_RED_INTEGER, GL_RG_INTEGER, GL_RGB_INTEGER, GL_RGBA_INTEGER};
  static const char* const names[] = {"r", "rg", "rgb", "rgba"};
  int32_t most = *std::max_element(bits, bits + 4);
  uint32_t count = four || bits[3] > 0 ? 4 : bits[2] > 0 ? 3 : bits[1] > 0 ? 2 : 1;
  auto made = [&](const uint32_t* of, uint32_t type, uint32_t width, const char* name) {
    return Form{of[count - 1], type, width * count, names[count - 1], name};
  };
  switch (kind) {
    case GL_UNSIGNED_NORMALIZED:
      if (most <= 8) return made(formats, GL_UNSIGNED_BYTE, 1, "u1");
      if (es && most == 10) return {GL_RGBA, GL_UNSIGNED_INT_2_10_10_10_REV, 4, "rgba", "2_10_10_10"};
      if (most <= 16) return made(formats, GL_UNSIGNED_SHORT, 2, "<u2");
      return made(formats, GL_UNSIGNED_INT, 4, "<u4");
    case GL_SIGNED_NORMALIZED: return most <= 8 ? made(formats, GL_BYTE, 1, "i1") : made(formats, GL_SHORT, 2, "<i2");
    case GL_FLOAT: return made(formats, GL_FLOAT, 4, "<f4");
    case GL_INT: return made(integers, GL_INT, 4, "<i4");
    case GL_UNSIGNED_INT: return made(integers, GL_UNSIGNED_INT, 4, "<u4");
    default: return {};
  }
}

Form form_of_depth(int32_t depth, int32_t stencil, bool floats) {
  if (depth && stencil)
    return floats ? Form{GL_DEPTH_STENCIL, GL_FLOAT_32_UNSIGNED_INT_24_8_REV, 8, "ds", "32f_8"}
                  : Form{GL_DEPTH_STENCIL, GL_UNSIGNED_INT_24_8, 4, "ds", "24_8"};
  if (stencil) return {GL_STENCIL_INDEX, GL_UNSIGNED_BYTE, 1, "s", "u1"};
  if (floats) return {GL_DEPTH_COMPONENT, GL_FLOAT, 4, "d", "<f4"};
  return depth <= 16 ? Form{GL_DEPTH_COMPONENT, GL_UNSIGNED_SHORT, 2, "d", "<u2"}
                     : Form{GL_DEPTH_COMPONENT, GL_UNSIGNED_INT, 4, "d", "<u4"};
}

bool is_srgb(uint32_t format) {
  static const uint32_t all[] = {GL_SRGB,
                                 GL_SRGB8,
                                 GL_SRGB_ALPHA,
                                 GL_SRGB8_ALPHA8,
                                 GL_COMPRESSED_SRGB,
                                 GL_COMPRESSED_SRGB_ALPHA,
                                 GL_COMPRESSED_SRGB_S3TC_DXT1_EXT,
                                 GL_COMPRESSED_SRGB_ALPHA_S3TC_DXT1_EXT,
                                 GL_COMPRESSED_SRGB_ALPHA_S3TC_DXT3_EXT,
                                 GL_COMPRESSED_SRGB_ALPHA_S3TC_DXT5_EXT,
                                 GL_COMPRESSED_SRGB8_ETC2,
                                 GL_COMPRESSED_SRGB8_PUNCHTHROUGH_ALPHA1_ETC2,
                                 GL_COMPRESSED_SRGB8_ALPHA8_ETC2_EAC,
                                 GL_COMPRESSED_SRGB_ALPHA_BPTC_UNORM};
  return std::find(std::begin(all), std::end(all), format) != std::end(all) ||
         (format >= GL_COMPRESSED_SRGB8_ALPHA8_ASTC_4x4 && format <= GL_COMPRESSED_SRGB8_ALPHA8_ASTC_12x12);
}

// Four values of 32 bits become the channels of a form; returns where the next ones go.
uint8_t* put_texels(const std::vector<uint8_t>& values, const Form& form, uint8_t* to) {
  const std::string type = form.name;
  const size_t count = std::strlen(form.channels), size = form.bytes / count;
  const double most = type == "u1" ? 255 : type == "i1" ? 127 : type == "<u2" ? 65535 : type == "<i2" ? 32767 : 0;
  for (size_t at = 0; at + 16 <= values.size(); at += 16)
    for (size_t c = 0; c < count; ++c, to += size) {
      if (!most) {  // as they are
        std::memcpy(to, &values[at + 4 * c], 4);
        continue;
      }
      float value = 0;
      std::memcpy(&value, &values[at + 4 * c], 4);
      const auto number = static_cast<int32_t>(std::lround(std::clamp<double>(value, -1, 1) * most));
      std::memcpy(to, &number, size);  // the least significant bytes
    }
  return to;
}

// While it lives, pixels are not changed on their way out of OpenGL 1, and come without gaps.
class Unchanged {
 public:
  explicit Unchanged(GlContext* c) : plain_(c, 1), old_(c->api == 1 && !c->core) {
    if (!old_) return;
    driver::glPushAttrib(GL_PIXEL_MODE_BIT);
    for (uint32_t name : {GL_RED_SCALE, GL_GREEN_SCALE, GL_BLUE_SCALE, GL_ALPHA_SCALE, GL_DEPTH_SCALE})
      driver::glPixelTransferf(name, 1);
    for (uint32_t name : {GL_MAP_COLOR, GL_MAP_STENCIL, GL_INDEX_SHIFT, GL_INDEX_OFFSET, GL_RED_BIAS, GL_GREEN_BIAS,
                          GL_BLUE_BIAS, GL_ALPHA_BIAS, GL_DEPTH_BIAS})
      driver::glPixelTransferf(name, 0);
  }
  ~Unchanged() {
    if (old_) driver::glPopAttrib();
  }
  Unchanged(const Unchanged&) = delete;
  Unchanged& operator=(const Unchanged&) = delete;

 private:
  gl::PlainPack plain_;
  bool old_;
};

class ObjectReader {
 public:
  ObjectReader(Player& p, GlContext* c, const ObjectImage& w) : p_(p), c_(c), w_(w) {
    out_.width = w.width, out_.height = w.height, out_.depth = has_layers(w.target) ? std::max(w.depth, 1) : 1;
  }

  ObjectContent read() {
    name_ = w_.name ? p_.name(w_.what == ObjectImage::TEXTURE ? TEXTURE : RENDERBUFFER, w_.name) : 0;
    if (w_.what == ObjectImage::TEXTURE)
      texture();
    else
      through_framebuffer();
    if (!out_.why.empty()) out_.bytes.clear();
    ok();
    return std::move(out_);
  }

 private:
  bool ok() {
    bool fine = true;
    for (int i = 0; i < 16 && driver::glGetError(); ++i) fine = false;
    return fine;
  }
  void fail(std::string why) { out_.why = std::move(why); }
  bool room(uint64_t bytes) {
    uint64_t all = bytes * static_cast<uint64_t>(std::max(out_.width, 0)) *
                   static_cast<uint64_t>(std::max(out_.height, 0)) * static_cast<uint64_t>(out_.depth);
    if (all > MOST_BYTES)
      fail("it has more than 2 GiB");
    else if (!all)
      fail("the driver says that it has no size");
    else
      out_.bytes.assign(all, 0);
    return !out_.bytes.empty();
  }

  void texture() {
    uint32_t binding = binding_of(w_.target);
    if (w_.target == GL_TEXTURE_BUFFER) return fail("a buffer has its content");
    if (!binding) return fail("textures of its target are not read");
    if (w_.name && driver::glIsTexture && !driver::glIsTexture(name_))
      return fail("the driver has no such texture there");
    bool sampled = w_.target == GL_TEXTURE_2D_MULTISAMPLE || w_.target == GL_TEXTURE_2D_MULTISAMPLE_ARRAY;
    const bool each = w_.points & EACH_TEXEL;
    if ((c_->api != 1 || sampled) && !each) return through_framebuffer();
    auto was = static_cast<uint32_t>(gl::ask(c_, binding, 0));
    driver::glBindTexture(w_.target, name_);
    int32_t mode = 0;
    if (c_->api == 1 && !c_->core && driver::glGetTexParameteriv)
      driver::glGetTexParameteriv(w_.target, GL_DEPTH_TEXTURE_MODE, &mode);
    if (!ok())
      fail("the driver does not let it be bound");
    else if (c_->api != 1 || sampled)
      texels(sampled);
    else
      level();
    driver::glBindTexture(w_.target, was);
    out_.depth_mode = static_cast<uint32_t>(mode);
    ok();
  }

  // As desktop OpenGL hands it over.
  void level() {
    auto about = [&](uint32_t what) {
      int32_t value = 0;
      driver::glGetTexLevelParameteriv(w_.face, w_.level, what, &value);
      return ok() ? value : 0;
    };
    if (!about(GL_TEXTURE_WIDTH)) return fail("nothing is stored in it there");
    out_.width = about(GL_TEXTURE_WIDTH), out_.height = std::max(about(GL_TEXTURE_HEIGHT), 1),
    out_.depth = std::max(about(GL_TEXTURE_DEPTH), 1);
    out_.format = static_cast<uint32_t>(about(GL_TEXTURE_INTERNAL_FORMAT));
    if (about(GL_TEXTURE_COMPRESSED) && !(w_.points & EACH_TEXEL)) {
      out_.type = "compressed";
      if (!driver::glGetCompressedTexImage) return fail("the driver does not hand over compressed textures");
      out_.bytes.assign(static_cast<size_t>(std::max(about(GL_TEXTURE_COMPRESSED_IMAGE_SIZE), 0)), 0);
      gl::PlainPack plain(c_);
      driver::glGetCompressedTexImage(w_.face, w_.level, out_.bytes.data());
      if (!ok() || out_.bytes.empty()) fail("the driver does not hand it over");
      return;
    }
    Form form = form_of_level(about);
    if (!form.bytes || !driver::glGetTexImage) return fail("its format is not read");
    if (!room(form.bytes)) return;
    Unchanged unchanged(c_);
    driver::glGetTexImage(w_.face, w_.level, form.format, form.type, out_.bytes.data());
    if (!ok()) return fail("the driver does not hand it over");
    out_.type = form.name, out_.channels = form.channels;
  }
  // One by one, by a shader: each sample, or what ES does not hand over.
  void texels(bool sampled) {
    auto about = [&](uint32_t what) {
      int32_t value = 0;
      if (driver::glGetTexLevelParameteriv) driver::glGetTexLevelParameteriv(w_.face, w_.level, what, &value);
      return ok() ? value : 0;
    };
    out_.width = about(GL_TEXTURE_WIDTH), out_.height = about(GL_TEXTURE_HEIGHT);
    if (!out_.width || !out_.height) return fail("the driver does not say how large it is");
    out_.format = static_cast<uint32_t>(about(GL_TEXTURE_INTERNAL_FORMAT));
    const int32_t layers = std::max(about(GL_TEXTURE_DEPTH), 1);
    const int32_t samples = sampled ? std::max(about(GL_TEXTURE_SAMPLES), 1) : 1;
    if (!sampled && w_.target != GL_TEXTURE_2D && w_.target != GL_TEXTURE_2D_ARRAY)
      return fail("OpenGL ES hands no such texture over, and no shader here reads it");
    if (!w_.name) return fail("a texture without a name is no shader's of another context");
    out_.depth = layers * samples;
    const bool deep = about(GL_TEXTURE_DEPTH_SIZE);
    Form form = deep ? Form{GL_DEPTH_COMPONENT, GL_FLOAT, 4, "d", "<f4"} : form_of_level(about);
    if (!form.bytes) return fail("its format is not read");
    if (deep && about(GL_TEXTURE_STENCIL_SIZE)) out_.lost = "the stencil is not in it";
    if (!room(form.bytes)) return;
    TexelSource from{w_.name ? name_ : 0, w_.target, w_.level, 0, 0, out_.width, out_.height};
    from.srgb = is_srgb(out_.format);
    from.kind = form.name == std::string("<i4")            ? TexelSource::INTEGERS
                : form.name == std::string("<u4") && !deep ? TexelSource::NATURALS
                                                           : TexelSource::FLOATS;
    uint8_t* place = out_.bytes.data();
    std::vector<uint8_t> values;
    for (from.layer = 0; from.layer < layers; ++from.layer)
      for (from.sample = 0; from.sample < samples; ++from.sample) {
        if (const char* why = copy_texels(from, c_->api != 1, values)) return fail(why);
        place = put_texels(values, form, place);
      }
    out_.type = form.name, out_.channels = form.channels;
  }
  template <class About> Form form_of_level(About about) {
    int32_t depth = about(GL_TEXTURE_DEPTH_SIZE), stencil = about(GL_TEXTURE_STENCIL_SIZE);
    if (depth || stencil)
      return form_of_depth(depth, stencil, about(GL_TEXTURE_DEPTH_TYPE) == static_cast<int32_t>(GL_FLOAT));
    uint32_t kind = 0;
    for (uint32_t i = 0; i < 4; ++i) {
      out_.bits[i] = about(GL_TEXTURE_RED_SIZE + i);
      if (out_.bits[i] && !kind) kind = static_cast<uint32_t>(about(GL_TEXTURE_RED_TYPE + i));
    }
    int32_t luminance = c_->core ? 0 : about(GL_TEXTURE_LUMINANCE_SIZE),
            intensity = c_->core ? 0 : about(GL_TEXTURE_INTENSITY_SIZE);
    if (luminance) kind = static_cast<uint32_t>(about(GL_TEXTURE_LUMINANCE_TYPE));
    if (intensity) kind = static_cast<uint32_t>(about(GL_TEXTURE_INTENSITY_TYPE));
    bool old = luminance || intensity || (!out_.bits[0] && out_.bits[3]);
    if (!old) return form_of(out_.bits, kind, false, false);
    int32_t bits[4] = {std::max({luminance, intensity, out_.bits[3]}), 0, 0, 0};
    bool two = luminance && out_.bits[3];
    Form form = form_of(bits, kind, false, false);
    if (!form.bytes) return form;
    form.bytes *= two ? 2 : 1;
    form.format = two ? GL_LUMINANCE_ALPHA : luminance ? GL_LUMINANCE : intensity ? GL_RED : GL_ALPHA;
    form.channels = two ? "la" : luminance || intensity ? "l" : "a";
    return form;
  }

  // Through a framebuffer of our own.
  void through_framebuffer() {
    if (!driver::glGenFramebuffers || !driver::glDeleteFramebuffers || !driver::glBindFramebuffer ||
        !driver::glCheckFramebufferStatus || c_->version < (c_->api == 2 ? 20u : 30u))
      return fail("this version of OpenGL has no framebuffer to read it through");
    if (w_.target == GL_TEXTURE_EXTERNAL_OES) return fail("it is an image of another API");
    int32_t samples = samples_of();
    if (c_->api == 2 && w_.points != WANT_COLOR) return by_shader(samples);
    two_ = c_->version >= 30;
    target_ = two_ ? GL_READ_FRAMEBUFFER : GL_FRAMEBUFFER;
    auto was = static_cast<uint32_t>(gl::ask(c_, two_ ? GL_READ_FRAMEBUFFER_BINDING : GL_DRAW_FRAMEBUFFER_BINDING, 0));
    uint32_t ours = 0;
    driver::glGenFramebuffers(1, &ours);
    driver::glBindFramebuffer(target_, ours);
    for (int32_t layer = 0; layer < out_.depth && out_.why.empty(); ++layer) {
      attach(layer);
      if (!ok() || driver::glCheckFramebufferStatus(target_) != GL_FRAMEBUFFER_COMPLETE)
        fail("the driver does not let textures of this format be read");
      else if (samples)
        resolved(samples, ours);
      else
        pixels(layer);
    }
    driver::glBindFramebuffer(target_, was);
    driver::glDeleteFramebuffers(1, &ours);
  }
  uint32_t point() const {
    return w_.points == WANT_COLOR     ? GL_COLOR_ATTACHMENT0
           : w_.points == WANT_DEPTH   ? GL_DEPTH_ATTACHMENT
           : w_.points == WANT_STENCIL ? GL_STENCIL_ATTACHMENT
                                       : GL_DEPTH_STENCIL_ATTACHMENT;
  }
  void attach(int32_t layer) {
    if (w_.what == ObjectImage::RENDERBUFFER)
      driver::glFramebufferRenderbuffer(target_, point(), GL_RENDERBUFFER, name_);
    else if (auto one = driver::glFramebufferTextureLayer; one && has_layers(w_.target))
      one(target_, point(), name_, w_.level, layer);
    else if (has_layers(w_.target))
      fail("this version of OpenGL does not let its layers be read");
    else
      driver::glFramebufferTexture2D(target_, point(), w_.face, name_, w_.level);
    if (two_ && driver::glReadBuffer) driver::glReadBuffer(w_.points == WANT_COLOR ? GL_COLOR_ATTACHMENT0 : 0u);
  }
  int32_t samples_of() {
    int32_t samples = 0;
    if (w_.what == ObjectImage::RENDERBUFFER) {
      auto was = static_cast<uint32_t>(gl::ask(c_, GL_RENDERBUFFER_BINDING, 0));
      int32_t format = 0;
      driver::glBindRenderbuffer(GL_RENDERBUFFER, name_);
      driver::glGetRenderbufferParameteriv(GL_RENDERBUFFER, GL_RENDERBUFFER_WIDTH, &out_.width);
      driver::glGetRenderbufferParameteriv(GL_RENDERBUFFER, GL_RENDERBUFFER_HEIGHT, &out_.height);
      driver::glGetRenderbufferParameteriv(GL_RENDERBUFFER, GL_RENDERBUFFER_INTERNAL_FORMAT, &format);
      if (c_->version >= 30) driver::glGetRenderbufferParameteriv(GL_RENDERBUFFER, GL_RENDERBUFFER_SAMPLES, &samples);
      driver::glBindRenderbuffer(GL_RENDERBUFFER, was);
      out_.format = static_cast<uint32_t>(format);
    } else if (w_.target == GL_TEXTURE_2D_MULTISAMPLE || w_.target == GL_TEXTURE_2D_MULTISAMPLE_ARRAY) {
      auto was = static_cast<uint32_t>(gl::ask(c_, binding_of(w_.target), 0));
      int32_t format = 0;
      driver::glBindTexture(w_.target, name_);
      driver::glGetTexLevelParameteriv(w_.target, 0, GL_TEXTURE_SAMPLES, &samples);
      driver::glGetTexLevelParameteriv(w_.target, 0, GL_TEXTURE_INTERNAL_FORMAT, &format);
      driver::glBindTexture(w_.target, was);
      samples = std::max(samples, 1);
      out_.format = static_cast<uint32_t>(format);
    }
    ok();
    return samples;
  }
  void pixels(int32_t layer) {
    if (!layer) form_ = form_of_framebuffer();
    if (!form_.bytes) return fail("its format is not read");
    if (!layer && !room(form_.bytes)) return;
    size_t one = static_cast<size_t>(out_.width) * static_cast<size_t>(out_.height) * form_.bytes;
    Unchanged unchanged(c_);
    driver::glReadPixels(0, 0, out_.width, out_.height, form_.format, form_.type,
                         out_.bytes.data() + one * static_cast<size_t>(layer));
    if (!ok()) return fail("the driver does not let it be read");
    out_.type = form_.name, out_.channels = form_.channels;
  }
  Form form_of_framebuffer() {
    if (!two_) {
      // OpenGL ES 2 does not say how many bits there are; what it reads exactly it does.
      auto type = static_cast<uint32_t>(gl::ask(c_, GL_IMPLEMENTATION_COLOR_READ_TYPE, 0));
      if (type == GL_FLOAT || type == GL_HALF_FLOAT_OES || type == GL_HALF_FLOAT)
        return {GL_RGBA, GL_FLOAT, 16, "rgba", "<f4"};
      return {GL_RGBA, GL_UNSIGNED_BYTE, 4, "rgba", "u1"};
    }
    auto about = [&](uint32_t at, uint32_t what) {
      int32_t value = 0;
      driver::glGetFramebufferAttachmentParameteriv(target_, at, what, &value);
      return ok() ? value : 0;
    };
    if (w_.points == WANT_COLOR) {
      for (uint32_t i = 0; i < 4; ++i)
        out_.bits[i] = about(GL_COLOR_ATTACHMENT0, GL_FRAMEBUFFER_ATTACHMENT_RED_SIZE + i);
      return form_of(out_.bits,
                     static_cast<uint32_t>(about(GL_COLOR_ATTACHMENT0, GL_FRAMEBUFFER_ATTACHMENT_COMPONENT_TYPE)), true,
                     c_->api == 2);
    }
    int32_t depth = w_.points & WANT_DEPTH ? about(GL_DEPTH_ATTACHMENT, GL_FRAMEBUFFER_ATTACHMENT_DEPTH_SIZE) : 0,
            stencil =
                w_.points & WANT_STENCIL ? about(GL_STENCIL_ATTACHMENT, GL_FRAMEBUFFER_ATTACHMENT_STENCIL_SIZE) : 0;
    return form_of_depth(depth, stencil,
                         depth && about(GL_DEPTH_ATTACHMENT, GL_FRAMEBUFFER_ATTACHMENT_COMPONENT_TYPE) ==
                                      static_cast<int32_t>(GL_FLOAT));
  }
  // Several samples a pixel become one.
  void resolved(int32_t samples, uint32_t from) {
    if (!two_ || !driver::glBlitFramebuffer || !out_.format || w_.target == GL_TEXTURE_2D_MULTISAMPLE_ARRAY)
      return fail("it has several samples a pixel, which are not read");
    auto bound = static_cast<uint32_t>(gl::ask(c_, GL_RENDERBUFFER_BINDING, 0)),
         draw = static_cast<uint32_t>(gl::ask(c_, GL_DRAW_FRAMEBUFFER_BINDING, 0));
    uint32_t storage = 0, framebuffer = 0;
    driver::glGenRenderbuffers(1, &storage);
    driver::glBindRenderbuffer(GL_RENDERBUFFER, storage);
    driver::glRenderbufferStorage(GL_RENDERBUFFER, out_.format, out_.width, out_.height);
    driver::glBindRenderbuffer(GL_RENDERBUFFER, bound);
    driver::glGenFramebuffers(1, &framebuffer);
    driver::glBindFramebuffer(GL_DRAW_FRAMEBUFFER, framebuffer);
    driver::glFramebufferRenderbuffer(GL_DRAW_FRAMEBUFFER, point(), GL_RENDERBUFFER, storage);
    uint8_t scissor = driver::glIsEnabled(GL_SCISSOR_TEST);
    if (scissor) driver::glDisable(GL_SCISSOR_TEST);
    uint32_t bits = w_.points == WANT_COLOR
                        ? GL_COLOR_BUFFER_BIT
                        : (w_.points & WANT_DEPTH ? 0x100u : 0u) | (w_.points & WANT_STENCIL ? 0x400u : 0u);
    driver::glBlitFramebuffer(0, 0, out_.width, out_.height, 0, 0, out_.width, out_.height, bits, GL_NEAREST);
    bool fine = ok();
    if (scissor) driver::glEnable(GL_SCISSOR_TEST);
    driver::glBindFramebuffer(GL_DRAW_FRAMEBUFFER, draw);
    driver::glBindFramebuffer(GL_READ_FRAMEBUFFER, framebuffer);
    if (driver::glReadBuffer) driver::glReadBuffer(w_.points == WANT_COLOR ? GL_COLOR_ATTACHMENT0 : 0u);
    fine ? pixels(0) : fail("it has several samples a pixel, which the driver does not make one");
    driver::glBindFramebuffer(GL_READ_FRAMEBUFFER, from);
    driver::glDeleteFramebuffers(1, &framebuffer);
    driver::glDeleteRenderbuffers(1, &storage);
    out_.lost = "the " + std::to_string(samples) + " samples of a pixel are one";
  }
  // Depth of OpenGL ES.
  void by_shader(int32_t samples) {
    if (samples || out_.depth > 1) return fail("OpenGL ES does not read depth of several samples or layers");
    bool depth = w_.points & WANT_DEPTH;
    DepthSource from{w_.what == ObjectImage::TEXTURE,
                     name_,
                     w_.target == GL_TEXTURE_CUBE_MAP ? w_.face : 0,
                     out_.format,
                     w_.level,
                     0,
                     out_.width,
                     out_.height};
    if (const char* why = copy_depth(from, depth, out_.bytes))
      return fail(std::string("OpenGL ES does not read depth and stencil back, and a shader cannot copy it: ") + why);
    out_.type = depth ? ">u2" : "u1";
    out_.channels = depth ? "d" : "s";
    if (depth && w_.points & WANT_STENCIL) out_.lost = "the stencil is not in it";
  }

  Player& p_;
  GlContext* c_;
  const ObjectImage& w_;
  ObjectContent out_;
  Form form_;
  uint32_t name_ = 0, target_ = 0;
  bool two_ = false;
};

ObjectContent read_vg(Player& p, const ObjectImage& w) {
  ObjectContent out;
  auto fail = [&](const char* why) {
    out.why = why;
    out.bytes.clear();
    return std::move(out);
  };
  auto get = driver::vgGetImageSubData;
  if (!p.vg_objects() || !driver::vgGetParameteri || !get || !driver::vgGetError)
    return fail("no context of OpenVG is current there");
  uint32_t image = p.vg(w.name);
  driver::vgGetError();
  auto format = static_cast<uint32_t>(driver::vgGetParameteri(image, GL_KEEP));
  out.width = driver::vgGetParameteri(image, GL_REPLACE), out.height = driver::vgGetParameteri(image, GL_INCR);
  if (driver::vgGetError() || out.width < 1 || out.height < 1) return fail("the engine has no such image there");
  static const uint8_t widths[] = {4, 4, 4, 2, 2, 2, 1, 4, 4, 4, 1, 1, 0, 0, 0};
  uint32_t kind = format & 0x3F;
  // Pixels of less than a byte come as bytes.
  uint32_t as = kind == 12 ? 6 : kind == 13 || kind == 14 ? 11 : format;
  if (kind >= sizeof widths) return fail("its format is not read");
  int32_t row = out.width * widths[as & 0x3F];
  out.format = format;
  out.bytes.assign(static_cast<size_t>(row) * static_cast<size_t>(out.height), 0);
  get(image, out.bytes.data(), row, as, 0, 0, out.width, out.height);
  if (driver::vgGetError()) return fail("the engine does not hand it over: it is drawn to there");
  out.type = "vg";
  return out;
}

// The message of the compiler or the linker, and whether it went well.
ObjectContent read_log(uint32_t name, bool shader) {
  ObjectContent out;
  auto is = shader ? driver::glIsShader : driver::glIsProgram;
  auto about = shader ? driver::glGetShaderiv : driver::glGetProgramiv;
  auto log = shader ? driver::glGetShaderInfoLog : driver::glGetProgramInfoLog;
  if (!is || !about || !log || !is(name)) {
    out.why = "the driver has no such object there";
    return out;
  }
  int32_t good = 0, length = 0, written = 0;
  about(name, shader ? GL_COMPILE_STATUS : GL_LINK_STATUS, &good);
  about(name, GL_INFO_LOG_LENGTH, &length);
  out.bytes.resize(static_cast<size_t>(std::clamp(length, 0, 1 << 20)));
  if (length > 0)
    log(name, static_cast<int32_t>(out.bytes.size()), &written, reinterpret_cast<char*>(out.bytes.data()));
  out.bytes.resize(static_cast<size_t>(std::clamp(written, 0, length)));
  out.type = "log", out.format = good ? 1 : 0;
  return out;
}

}  // namespace

bool parse_object(const std::string& text, ObjectImage& w) {
  Json json;
  if (!JsonReader::read_object(text, json).empty()) return false;
  const std::string kind = json["class"].text();
  w.what = kind == "texture"        ? ObjectImage::TEXTURE
           : kind == "renderbuffer" ? ObjectImage::RENDERBUFFER
           : kind == "buffer"       ? ObjectImage::BUFFER
           : kind == "shader"       ? ObjectImage::SHADER
           : kind == "program"      ? ObjectImage::PROGRAM
                                    : ObjectImage::VG_IMAGE;
  auto all = [&](auto&... fields) {
    size_t i = 0;
    static const char* const names[] = {"name", "target", "face", "level", "width", "height", "depth", "points"};
    return (json[names[i++]].read(fields) && ...);
  };
  return all(w.name, w.target, w.face, w.level, w.width, w.height, w.depth, w.points) &&
         (w.what != ObjectImage::VG_IMAGE || kind == "vg_image");
}

ObjectContent read_object(Player& player, const ObjectImage& wanted) {
  if (wanted.what == ObjectImage::VG_IMAGE) return read_vg(player, wanted);
  GlContext* c = tls.context;
  ObjectContent none;
  if (!c || !player.context || !gl::can_ask(c))
    none.why = c && c->in_begin ? "the call stands between glBegin and glEnd" : "no context is current there";
  else if (c->api == 1 && !c->core && gl::ask(c, GL_LIST_INDEX, 0))
    none.why = "a display list is made there";
  if (!none.why.empty()) return none;
  if (wanted.what == ObjectImage::SHADER || wanted.what == ObjectImage::PROGRAM)
    return read_log(player.name(dt::play::PROGRAM, wanted.name), wanted.what == ObjectImage::SHADER);
  if (wanted.what == ObjectImage::BUFFER) {
    const uint32_t name = player.name(BUFFER, wanted.name);
    none.type = "u1";
    none.why = read_buffer(c, name, none.bytes);
    none.uses = buffer_uses(c, name);
    return none;
  }
  return ObjectReader(player, c, wanted).read();
}

}  // namespace dt::play
