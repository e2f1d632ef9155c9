#include "attachments.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "../mirror/frame_image.h"
#include "../mirror/texture_targets.h"
#include "depth_copy.h"
#include "gl_enums.h"

namespace dt::play {
namespace {

class Reader {
 public:
  Reader(GlContext* c, std::vector<std::string>& why) : c_(c), why_(why) {
    two_ = c->version >= 30;
    draw_ = has_framebuffers() ? static_cast<uint32_t>(gl::ask(c, GL_DRAW_FRAMEBUFFER_BINDING, 0)) : 0;
    read_ = two_ ? static_cast<uint32_t>(gl::ask(c, GL_READ_FRAMEBUFFER_BINDING, 0)) : draw_;
  }

  bool has_framebuffers() const { return c_->version >= (c_->api == 2 ? 20u : 30u); }
  uint32_t framebuffer() const { return draw_; }
  bool two() const { return two_; }

  // An attachment's kind and size; width 0: no query returns it.
  struct Info {
    int32_t type = 0, name = 0, width = 0, height = 0, format = 0, samples = 0, component = 0, level = 0, face = 0,
            layer = 0;
  };
  Info info(uint32_t point) {
    Info i;
    if (!driver::glGetFramebufferAttachmentParameteriv) return i;
    ask(point, GL_FRAMEBUFFER_ATTACHMENT_OBJECT_TYPE, i.type);
    if (!ok() || !i.type) return Info{};
    ask(point, GL_FRAMEBUFFER_ATTACHMENT_OBJECT_NAME, i.name);
    if (two_ && point != GL_DEPTH_STENCIL_ATTACHMENT) ask(point, GL_FRAMEBUFFER_ATTACHMENT_COMPONENT_TYPE, i.component);
    ok();
    if (i.type == static_cast<int32_t>(GL_RENDERBUFFER)) {
      auto was = static_cast<uint32_t>(gl::ask(c_, GL_RENDERBUFFER_BINDING, 0));
      driver::glBindRenderbuffer(GL_RENDERBUFFER, static_cast<uint32_t>(i.name));
      driver::glGetRenderbufferParameteriv(GL_RENDERBUFFER, GL_RENDERBUFFER_WIDTH, &i.width);
      driver::glGetRenderbufferParameteriv(GL_RENDERBUFFER, GL_RENDERBUFFER_HEIGHT, &i.height);
      driver::glGetRenderbufferParameteriv(GL_RENDERBUFFER, GL_RENDERBUFFER_INTERNAL_FORMAT, &i.format);
      if (two_) driver::glGetRenderbufferParameteriv(GL_RENDERBUFFER, GL_RENDERBUFFER_SAMPLES, &i.samples);
      driver::glBindRenderbuffer(GL_RENDERBUFFER, was);
      ok();
    } else if (i.type == static_cast<int32_t>(GL_TEXTURE)) {
      texture(i, point);
    }
    return i;
  }

  // OpenGL ES 2 and 3.0 do not tell a texture's size: the viewport's is taken. False: that is not known either.
  bool sized(Info& i, const std::string& called) {
    gl::FrameImage image{i.width, i.height, draw_};
    if (!i.width && !gl::frame_extent(c_, &image))
      return cannot("the driver does not tell how large " + called + " is"), false;
    i.width = image.width, i.height = image.height;
    return true;
  }

  bool ok() {
    bool fine = true;
    for (int i = 0; i < 16 && driver::glGetError(); ++i) fine = false;
    return fine;
  }

  // Pixels of one buffer of the framebuffer that is drawn to.
  bool pixels(uint32_t from, const Info& i, int width, int height, uint32_t format, uint32_t type, uint32_t bit,
              void* to) {
    uint32_t resolved = 0, storage = 0;
    if (draw_ && i.samples > 0 && !resolve(from, i, bit, resolved, storage)) return false;
    uint32_t target = two_ ? GL_READ_FRAMEBUFFER : GL_FRAMEBUFFER, wanted = resolved ? resolved : draw_;
    bool selects = driver::glReadBuffer && (c_->api == 1 || c_->version >= 30);
    if (driver::glBindFramebuffer && (two_ || wanted != draw_)) driver::glBindFramebuffer(target, wanted);
    uint32_t was = selects ? static_cast<uint32_t>(gl::ask(c_, GL_READ_BUFFER, 0)) : 0;
    if (selects && !resolved && from && was != from) driver::glReadBuffer(from);
    bool fine = false;
    {
      const gl::PlainPack plain(c_, 1);
      driver::glReadPixels(0, 0, width, height, format, type, to);
      fine = ok();
    }
    if (selects && !resolved && from && was != from) driver::glReadBuffer(was);
    if (driver::glBindFramebuffer && (two_ || wanted != draw_)) driver::glBindFramebuffer(target, two_ ? read_ : draw_);
    if (resolved) {
      driver::glDeleteFramebuffers(1, &resolved);
      driver::glDeleteRenderbuffers(1, &storage);
    }
    ok();
    return fine;
  }

  void cannot(const std::string& what) { why_.push_back(what); }

 private:
  void ask(uint32_t point, uint32_t what, int32_t& answer) {
    driver::glGetFramebufferAttachmentParameteriv(two_ ? GL_DRAW_FRAMEBUFFER : GL_FRAMEBUFFER, point, what, &answer);
  }
  void texture(Info& i, uint32_t point) {
    ask(point, GL_FRAMEBUFFER_ATTACHMENT_TEXTURE_LEVEL, i.level);
    ask(point, GL_FRAMEBUFFER_ATTACHMENT_TEXTURE_CUBE_MAP_FACE, i.face);
    if (two_) ask(point, GL_FRAMEBUFFER_ATTACHMENT_TEXTURE_LAYER, i.layer);
    ok();
    if (!driver::glGetTexLevelParameteriv || !(c_->api == 1 || c_->version >= 31)) return;
    for (auto& k : gl::TEXTURE_TARGETS) {
      auto was = static_cast<uint32_t>(gl::ask(c_, k.binding, 0));
      if (!ok()) continue;
      driver::glBindTexture(k.target, static_cast<uint32_t>(i.name));
      if (!ok()) continue;
      uint32_t at = k.target == GL_TEXTURE_CUBE_MAP
                        ? static_cast<uint32_t>(i.face ? i.face : GL_TEXTURE_CUBE_MAP_POSITIVE_X)
                        : k.target;
      driver::glGetTexLevelParameteriv(at, i.level, GL_TEXTURE_WIDTH, &i.width);
      driver::glGetTexLevelParameteriv(at, i.level, GL_TEXTURE_HEIGHT, &i.height);
      driver::glGetTexLevelParameteriv(at, i.level, GL_TEXTURE_INTERNAL_FORMAT, &i.format);
      if (k.target == GL_TEXTURE_2D_MULTISAMPLE || k.target == GL_TEXTURE_2D_MULTISAMPLE_ARRAY)
        driver::glGetTexLevelParameteriv(at, i.level, GL_TEXTURE_SAMPLES, &i.samples);
      driver::glBindTexture(k.target, was);
      ok();
      return;
    }
  }

  // A framebuffer of one sample a pixel with what `from` holds.
  bool resolve(uint32_t from, const Info& i, uint32_t bit, uint32_t& framebuffer, uint32_t& storage) {
    if (!two_ || !driver::glBlitFramebuffer || !i.width) return false;
    auto bound = static_cast<uint32_t>(gl::ask(c_, GL_RENDERBUFFER_BINDING, 0));
    driver::glGenFramebuffers(1, &framebuffer);
    driver::glGenRenderbuffers(1, &storage);
    driver::glBindRenderbuffer(GL_RENDERBUFFER, storage);
    driver::glRenderbufferStorage(GL_RENDERBUFFER, static_cast<uint32_t>(i.format), i.width, i.height);
    driver::glBindRenderbuffer(GL_RENDERBUFFER, bound);
    driver::glBindFramebuffer(GL_READ_FRAMEBUFFER, draw_);
    uint32_t was = static_cast<uint32_t>(gl::ask(c_, GL_READ_BUFFER, 0));
    if (bit == GL_COLOR_BUFFER_BIT) driver::glReadBuffer(from);
    driver::glBindFramebuffer(GL_DRAW_FRAMEBUFFER, framebuffer);
    bool both = i.format == static_cast<int32_t>(GL_DEPTH24_STENCIL8) || i.format == GL_DEPTH32F_STENCIL8;
    driver::glFramebufferRenderbuffer(GL_DRAW_FRAMEBUFFER,
                                      bit == GL_COLOR_BUFFER_BIT   ? GL_COLOR_ATTACHMENT0
                                      : both                       ? GL_DEPTH_STENCIL_ATTACHMENT
                                      : bit == GL_DEPTH_BUFFER_BIT ? GL_DEPTH_ATTACHMENT
                                                                   : GL_STENCIL_ATTACHMENT,
                                      GL_RENDERBUFFER, storage);
    uint8_t scissor = driver::glIsEnabled(GL_SCISSOR_TEST);
    if (scissor) driver::glDisable(GL_SCISSOR_TEST);
    bool whole = driver::glCheckFramebufferStatus(GL_DRAW_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE;
    if (whole) driver::glBlitFramebuffer(0, 0, i.width, i.height, 0, 0, i.width, i.height, bit, GL_NEAREST);
    bool fine = ok() && whole;
    if (scissor) driver::glEnable(GL_SCISSOR_TEST);
    if (bit == GL_COLOR_BUFFER_BIT) {
      driver::glBindFramebuffer(GL_READ_FRAMEBUFFER, draw_);
      driver::glReadBuffer(was);
    }
    driver::glBindFramebuffer(GL_DRAW_FRAMEBUFFER, draw_);
    driver::glBindFramebuffer(GL_READ_FRAMEBUFFER, read_);
    ok();
    if (!fine) {
      driver::glDeleteFramebuffers(1, &framebuffer);
      driver::glDeleteRenderbuffers(1, &storage);
      framebuffer = storage = 0;
    }
    return fine;
  }

  GlContext* c_;
  std::vector<std::string>& why_;
  uint32_t draw_ = 0, read_ = 0;
  bool two_ = false;
};

bool readable(const GlContext* c, const char* extension) {
  return c->api == 1 || gl::has_extension(c, extension) || gl::has_extension(c, "GL_NV_read_depth_stencil");
}

size_t area(int width, int height) { return static_cast<size_t>(width) * static_cast<size_t>(height); }

void colors(Reader& r, GlContext* c, bool one, int width, int height, std::vector<AttachmentImage>& images) {
  uint32_t framebuffer = r.framebuffer();
  if (!framebuffer) {
    gl::FrameImage image{width, height, 0};
    if (!gl::frame_extent(c, &image)) return r.cannot("there is no image to read back here");
    AttachmentImage out{"", image.width, image.height, 4, std::vector<uint8_t>(area(image.width, image.height) * 4)};
    gl::read_frame(c, image, out.pixels.data());
    images.push_back(std::move(out));
    return;
  }
  bool several = r.two() || c->api == 1;
  uint32_t first = several ? static_cast<uint32_t>(gl::ask(c, GL_DRAW_BUFFER0, 0)) : GL_COLOR_ATTACHMENT0;
  int32_t most = several ? std::clamp(gl::ask(c, GL_MAX_COLOR_ATTACHMENTS, 1), 1, 32) : 1;
  bool any = false;
  for (int32_t n = 0; n < most && (!one || images.empty()); ++n) {
    uint32_t point = GL_COLOR_ATTACHMENT0 + static_cast<uint32_t>(n);
    auto i = r.info(point);
    if (!i.type) continue;
    any = true;
    std::string name = point == first ? "" : "color" + std::to_string(n),
                called = "colour attachment " + std::to_string(n);
    if (i.component == GL_INT || i.component == GL_UNSIGNED_INT) {
      r.cannot(called + " holds integers, which are no picture");
      continue;
    }
    if (!r.sized(i, called)) continue;
    AttachmentImage out{name, i.width, i.height, 4, std::vector<uint8_t>(area(i.width, i.height) * 4)};
    if (r.pixels(several ? point : 0, i, i.width, i.height, GL_RGBA, GL_UNSIGNED_BYTE, GL_COLOR_BUFFER_BIT,
                 out.pixels.data()))
      images.push_back(std::move(out));
    else
      r.cannot("the driver does not let " + called + (i.samples ? ", which has several samples a pixel," : "") +
               " be read");
  }
  if (!any) r.cannot("the framebuffer has no colour attachment");
}

void depth_or_stencil(Reader& r, GlContext* c, bool depth, int width, int height,
                      std::vector<AttachmentImage>& images) {
  const char* name = depth ? "depth" : "stencil";
  Reader::Info i;
  if (r.framebuffer()) {
    i = r.info(depth ? GL_DEPTH_ATTACHMENT : GL_STENCIL_ATTACHMENT);
    if (!i.type) return r.cannot(std::string("the framebuffer has no ") + name + " attachment");
    if (!r.sized(i, std::string("the ") + name + " attachment")) return;
    width = i.width;
    height = i.height;
  } else if (c->api == 1 ? !c->core && !gl::ask(c, depth ? GL_DEPTH_BITS : GL_STENCIL_BITS, 1)
                         : !gl::ask(c, depth ? GL_DEPTH_BITS : GL_STENCIL_BITS, 1)) {
    return r.cannot(std::string("the window has no ") + name + " buffer");
  }
  if (width < 1 || height < 1) return r.cannot("there is no image to read back here");
  AttachmentImage out{name, width, height, depth ? 2 : 1, {}};
  const char* extension = depth ? "GL_NV_read_depth" : "GL_NV_read_stencil";
  if (!readable(c, extension)) {
    DepthSource from{i.type == static_cast<int32_t>(GL_TEXTURE),
                     static_cast<uint32_t>(i.name),
                     static_cast<uint32_t>(i.face),
                     static_cast<uint32_t>(i.format),
                     i.level,
                     i.layer,
                     width,
                     height};
    if (const char* problem = copy_depth(from, depth, out.pixels))
      return r.cannot(std::string("OpenGL ES does not read ") + name + " back, the driver has no " + extension +
                      ", and a shader cannot copy it: " + problem);
  } else if (depth) {
    // The version and the buffer's format decide the type that a driver takes.
    static const struct {
      uint32_t format, type;
    } tries[] = {{GL_DEPTH_COMPONENT, GL_FLOAT},
                 {GL_DEPTH_COMPONENT, GL_UNSIGNED_INT},
                 {GL_DEPTH_COMPONENT, GL_UNSIGNED_SHORT},
                 {GL_DEPTH_STENCIL, GL_UNSIGNED_INT_24_8}};
    std::vector<uint32_t> raw(area(width, height));
    uint32_t type = 0;
    for (auto& t : tries)
      if (!type && r.pixels(0, i, width, height, t.format, t.type, GL_DEPTH_BUFFER_BIT, raw.data())) type = t.type;
    if (!type) return r.cannot("the driver does not let the depth be read");
    out.pixels.reserve(raw.size() * 2);
    for (size_t at = 0; at < raw.size(); ++at) {
      uint16_t n = 0;
      if (type == GL_FLOAT) {
        float v;
        memcpy(&v, &raw[at], 4);
        n = static_cast<uint16_t>(std::lround(std::clamp(v, 0.0f, 1.0f) * 65535.0f));
      } else if (type == GL_UNSIGNED_SHORT) {
        memcpy(&n, reinterpret_cast<const uint8_t*>(raw.data()) + at * 2, 2);
      } else {
        n = static_cast<uint16_t>(
            std::lround((type == GL_UNSIGNED_INT ? raw[at] / 4294967295.0 : (raw[at] >> 8) / 16777215.0) * 65535.0));
      }
      out.pixels.push_back(static_cast<uint8_t>(n >> 8));
      out.pixels.push_back(static_cast<uint8_t>(n));
    }
  } else {
    out.pixels.resize(area(width, height));
    if (!r.pixels(0, i, width, height, GL_STENCIL_INDEX, GL_UNSIGNED_BYTE, GL_STENCIL_BUFFER_BIT, out.pixels.data()))
      return r.cannot("the driver does not let the stencil be read");
  }
  images.push_back(std::move(out));
}

}  // namespace

std::vector<AttachmentImage> read_attachments(GlContext* c, unsigned wanted, int window_width, int window_height,
                                              std::vector<std::string>& why) {
  std::vector<AttachmentImage> images;
  if (!gl::can_ask(c) || c->api > 2 || !c->api) {
    why.emplace_back("there is no context to read from");
    return images;
  }
  Reader r(c, why);
  if (r.framebuffer()) {
    uint32_t target = r.two() ? GL_DRAW_FRAMEBUFFER : GL_FRAMEBUFFER;
    if (driver::glCheckFramebufferStatus(target) != GL_FRAMEBUFFER_COMPLETE) {
      why.emplace_back("the framebuffer is not complete");
      return images;
    }
  }
  const bool one = wanted & WANT_FIRST;
  auto more = [&](unsigned what) { return wanted & what && (!one || images.empty()); };
  if (more(WANT_COLOR)) colors(r, c, one, window_width, window_height, images);
  if (more(WANT_DEPTH)) depth_or_stencil(r, c, true, window_width, window_height, images);
  if (more(WANT_STENCIL)) depth_or_stencil(r, c, false, window_width, window_height, images);
  return images;
}

}  // namespace dt::play
