#include "attachments.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "../runtime/frame_image.h"
#include "depth_copy.h"

namespace dt::play {
namespace {

enum : uint32_t {
  FRAMEBUFFER = 0x8D40,
  READ_FRAMEBUFFER = 0x8CA8,
  DRAW_FRAMEBUFFER = 0x8CA9,
  RENDERBUFFER = 0x8D41,
  COLOR_ATTACHMENT0 = 0x8CE0,
  DEPTH_ATTACHMENT = 0x8D00,
  STENCIL_ATTACHMENT = 0x8D20,
  DEPTH_STENCIL_ATTACHMENT = 0x821A,
  COMPLETE = 0x8CD5,
  TEXTURE = 0x1702,
  COLOR_BIT = 0x4000,
  DEPTH_BIT = 0x100,
  STENCIL_BIT = 0x400,
  NEAREST = 0x2600,
  RGBA = 0x1908,
  RGBA8 = 0x8058,
  UNSIGNED_BYTE = 0x1401,
  FLOAT = 0x1406,
  DEPTH_COMPONENT = 0x1902,
  STENCIL_INDEX = 0x1901,
  DEPTH24_STENCIL8 = 0x88F0,
  SCISSOR_TEST = 0x0C11,
  PACK_BUFFER = 0x88EB,
  READ_BUFFER = 0x0C02,
  DRAW_BUFFER0 = 0x8825
};

class Reader {
 public:
  Reader(GlContext* c, std::vector<std::string>& why) : c_(c), why_(why) {
    two_ = c->version >= 30;
    draw_ = has_framebuffers() ? static_cast<uint32_t>(gl::ask(c, 0x8CA6, 0)) : 0;
    read_ = two_ ? static_cast<uint32_t>(gl::ask(c, 0x8CAA, 0)) : draw_;
  }

  bool has_framebuffers() const { return c_->version >= (c_->api == 2 ? 20u : 30u); }
  uint32_t framebuffer() const { return draw_; }
  bool two() const { return two_; }

  // An attachment's kind and size; width 0: it cannot be asked.
  struct Info {
    int32_t type = 0, name = 0, width = 0, height = 0, format = 0, samples = 0, component = 0, level = 0, face = 0,
            layer = 0;
  };
  Info info(uint32_t point) {
    Info i;
    auto get = DT_REAL(void, glGetFramebufferAttachmentParameteriv, uint32_t, uint32_t, uint32_t, int32_t*);
    uint32_t target = two_ ? static_cast<uint32_t>(DRAW_FRAMEBUFFER) : static_cast<uint32_t>(FRAMEBUFFER);
    if (!get) return i;
    get(target, point, 0x8CD0, &i.type);
    if (!ok() || !i.type) return Info{};
    get(target, point, 0x8CD1, &i.name);
    if (two_ && point != DEPTH_STENCIL_ATTACHMENT) get(target, point, 0x8211, &i.component);
    ok();
    if (i.type == static_cast<int32_t>(RENDERBUFFER)) {
      auto bind = DT_REAL(void, glBindRenderbuffer, uint32_t, uint32_t);
      auto ask = DT_REAL(void, glGetRenderbufferParameteriv, uint32_t, uint32_t, int32_t*);
      auto was = static_cast<uint32_t>(gl::ask(c_, 0x8CA7, 0));
      bind(RENDERBUFFER, static_cast<uint32_t>(i.name));
      ask(RENDERBUFFER, 0x8D42, &i.width);
      ask(RENDERBUFFER, 0x8D43, &i.height);
      ask(RENDERBUFFER, 0x8D44, &i.format);
      if (two_) ask(RENDERBUFFER, 0x8CAB, &i.samples);
      bind(RENDERBUFFER, was);
      ok();
    } else if (i.type == static_cast<int32_t>(TEXTURE)) {
      texture(i, target, point);
    }
    return i;
  }

  bool ok() {
    auto error = DT_REAL(uint32_t, glGetError);
    bool fine = true;
    for (int i = 0; i < 16 && error(); ++i) fine = false;
    return fine;
  }

  // Pixels of one buffer of the framebuffer that is drawn to.
  bool pixels(uint32_t from, const Info& i, int width, int height, uint32_t format, uint32_t type, uint32_t bit,
              void* to) {
    uint32_t resolved = 0, storage = 0;
    if (draw_ && i.samples > 0 && !resolve(from, i, bit, resolved, storage)) return false;
    auto bind = DT_REAL(void, glBindFramebuffer, uint32_t, uint32_t);
    auto bind_buffer = DT_REAL(void, glBindBuffer, uint32_t, uint32_t);
    auto store = DT_REAL(void, glPixelStorei, uint32_t, int32_t);
    auto read_buffer = DT_REAL(void, glReadBuffer, uint32_t);
    auto read = DT_REAL(void, glReadPixels, int32_t, int32_t, int32_t, int32_t, uint32_t, uint32_t, void*);
    uint32_t target = two_ ? static_cast<uint32_t>(READ_FRAMEBUFFER) : static_cast<uint32_t>(FRAMEBUFFER),
             wanted = resolved ? resolved : draw_;
    bool selects = read_buffer && (c_->api == 1 || c_->version >= 30);
    if (bind && (two_ || wanted != draw_)) bind(target, wanted);
    uint32_t was = selects ? static_cast<uint32_t>(gl::ask(c_, READ_BUFFER, 0)) : 0;
    if (selects && !resolved && from && was != from) read_buffer(from);
    uint32_t pack = c_->buffers[gl::PACK];
    if (pack && bind_buffer) bind_buffer(PACK_BUFFER, 0);
    const gl::PixelStore& p = c_->pack;
    const struct {
      uint32_t name;
      int32_t value, plain;
    } values[] = {{0x0D05, p.alignment, 1},   {0x0D02, p.row_length, 0}, {0x0D03, p.skip_rows, 0},
                  {0x0D04, p.skip_pixels, 0}, {0x0D00, p.swap_bytes, 0}, {0x0D01, p.lsb_first, 0}};
    for (auto& v : values)
      if (v.value != v.plain) store(v.name, v.plain);
    read(0, 0, width, height, format, type, to);
    bool fine = ok();
    for (auto& v : values)
      if (v.value != v.plain) store(v.name, v.value);
    if (pack && bind_buffer) bind_buffer(PACK_BUFFER, pack);
    if (selects && !resolved && from && was != from) read_buffer(was);
    if (bind && (two_ || wanted != draw_)) bind(target, two_ ? read_ : draw_);
    if (resolved) {
      DT_REAL(void, glDeleteFramebuffers, int32_t, const uint32_t*)(1, &resolved);
      DT_REAL(void, glDeleteRenderbuffers, int32_t, const uint32_t*)(1, &storage);
    }
    ok();
    return fine;
  }

  void cannot(const std::string& what) { why_.push_back(what); }

 private:
  void texture(Info& i, uint32_t framebuffer_target, uint32_t point) {
    auto get = DT_REAL(void, glGetFramebufferAttachmentParameteriv, uint32_t, uint32_t, uint32_t, int32_t*);
    auto level_of = DT_REAL(void, glGetTexLevelParameteriv, uint32_t, int32_t, uint32_t, int32_t*);
    auto bind = DT_REAL(void, glBindTexture, uint32_t, uint32_t);
    int32_t level = 0, face = 0;
    get(framebuffer_target, point, 0x8CD2, &level);
    get(framebuffer_target, point, 0x8CD3, &face);
    if (two_) get(framebuffer_target, point, 0x8CD4, &i.layer);
    i.level = level;
    i.face = face;
    ok();
    if (!level_of || !(c_->api == 1 || c_->version >= 31)) return;
    static const struct {
      uint32_t target, binding;
    } kinds[] = {{0x0DE1, 0x8069}, {0x8513, 0x8514}, {0x8C1A, 0x8C1D}, {0x806F, 0x806A},
                 {0x9100, 0x9104}, {0x84F5, 0x84F6}, {0x9102, 0x9105}};
    for (auto& k : kinds) {
      auto was = static_cast<uint32_t>(gl::ask(c_, k.binding, 0));
      if (!ok()) continue;
      bind(k.target, static_cast<uint32_t>(i.name));
      if (!ok()) continue;
      uint32_t at = k.target == 0x8513 ? static_cast<uint32_t>(face ? face : 0x8515) : k.target;
      level_of(at, level, 0x1000, &i.width);
      level_of(at, level, 0x1001, &i.height);
      level_of(at, level, 0x1003, &i.format);
      if (k.target == 0x9100 || k.target == 0x9102) level_of(at, level, 0x9106, &i.samples);
      bind(k.target, was);
      ok();
      return;
    }
  }

  // A framebuffer of one sample a pixel with what `from` holds.
  bool resolve(uint32_t from, const Info& i, uint32_t bit, uint32_t& framebuffer, uint32_t& storage) {
    auto bind = DT_REAL(void, glBindFramebuffer, uint32_t, uint32_t);
    auto blit = DT_REAL(void, glBlitFramebuffer, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t,
                        uint32_t, uint32_t);
    auto gen = DT_REAL(void, glGenFramebuffers, int32_t, uint32_t*);
    auto gen_storage = DT_REAL(void, glGenRenderbuffers, int32_t, uint32_t*);
    auto bind_storage = DT_REAL(void, glBindRenderbuffer, uint32_t, uint32_t);
    auto allocate = DT_REAL(void, glRenderbufferStorage, uint32_t, uint32_t, int32_t, int32_t);
    auto attach = DT_REAL(void, glFramebufferRenderbuffer, uint32_t, uint32_t, uint32_t, uint32_t);
    auto status = DT_REAL(uint32_t, glCheckFramebufferStatus, uint32_t);
    auto read_buffer = DT_REAL(void, glReadBuffer, uint32_t);
    auto is = DT_REAL(uint8_t, glIsEnabled, uint32_t);
    auto enable = DT_REAL(void, glEnable, uint32_t);
    auto disable = DT_REAL(void, glDisable, uint32_t);
    if (!two_ || !blit || !i.width) return false;
    auto bound = static_cast<uint32_t>(gl::ask(c_, 0x8CA7, 0));
    gen(1, &framebuffer);
    gen_storage(1, &storage);
    bind_storage(RENDERBUFFER, storage);
    allocate(RENDERBUFFER, static_cast<uint32_t>(i.format), i.width, i.height);
    bind_storage(RENDERBUFFER, bound);
    bind(READ_FRAMEBUFFER, draw_);
    uint32_t was = static_cast<uint32_t>(gl::ask(c_, READ_BUFFER, 0));
    if (bit == COLOR_BIT) read_buffer(from);
    bind(DRAW_FRAMEBUFFER, framebuffer);
    bool both = i.format == static_cast<int32_t>(DEPTH24_STENCIL8) || i.format == 0x8CAD;
    attach(DRAW_FRAMEBUFFER,
           bit == COLOR_BIT   ? COLOR_ATTACHMENT0
           : both             ? DEPTH_STENCIL_ATTACHMENT
           : bit == DEPTH_BIT ? DEPTH_ATTACHMENT
                              : STENCIL_ATTACHMENT,
           RENDERBUFFER, storage);
    uint8_t scissor = is(SCISSOR_TEST);
    if (scissor) disable(SCISSOR_TEST);
    bool whole = status(DRAW_FRAMEBUFFER) == COMPLETE;
    if (whole) blit(0, 0, i.width, i.height, 0, 0, i.width, i.height, bit, NEAREST);
    bool fine = ok() && whole;
    if (scissor) enable(SCISSOR_TEST);
    if (bit == COLOR_BIT) {
      bind(READ_FRAMEBUFFER, draw_);
      read_buffer(was);
    }
    bind(DRAW_FRAMEBUFFER, draw_);
    bind(READ_FRAMEBUFFER, read_);
    ok();
    if (!fine) {
      DT_REAL(void, glDeleteFramebuffers, int32_t, const uint32_t*)(1, &framebuffer);
      DT_REAL(void, glDeleteRenderbuffers, int32_t, const uint32_t*)(1, &storage);
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

void colors(Reader& r, GlContext* c, int width, int height, std::vector<AttachmentImage>& found) {
  uint32_t framebuffer = r.framebuffer();
  if (!framebuffer) {
    gl::FrameImage image{width, height, 0};
    if (!gl::frame_extent(c, &image)) return r.cannot("there is no image to read back here");
    AttachmentImage out{"", image.width, image.height, 4, std::vector<uint8_t>(area(image.width, image.height) * 4)};
    gl::read_frame(c, image, out.pixels.data());
    found.push_back(std::move(out));
    return;
  }
  bool several = r.two() || c->api == 1;
  uint32_t first =
      several ? static_cast<uint32_t>(gl::ask(c, DRAW_BUFFER0, 0)) : static_cast<uint32_t>(COLOR_ATTACHMENT0);
  int32_t most = several ? std::clamp(gl::ask(c, 0x8CDF, 1), 1, 32) : 1;
  bool any = false;
  for (int32_t n = 0; n < most; ++n) {
    uint32_t point = COLOR_ATTACHMENT0 + static_cast<uint32_t>(n);
    auto i = r.info(point);
    if (!i.type) continue;
    any = true;
    std::string name = point == first ? "" : "color" + std::to_string(n),
                called = "colour attachment " + std::to_string(n);
    if (i.component == 0x1404 || i.component == 0x1405) {
      r.cannot(called + " holds integers, which are no picture");
      continue;
    }
    if (!i.width) {  // OpenGL ES 2 and 3.0 do not tell a texture's size: the viewport's is taken
      gl::FrameImage image{0, 0, framebuffer};
      if (!gl::frame_extent(c, &image)) {
        r.cannot("the driver does not tell how large " + called + " is");
        continue;
      }
      i.width = image.width;
      i.height = image.height;
    }
    AttachmentImage out{name, i.width, i.height, 4, std::vector<uint8_t>(area(i.width, i.height) * 4)};
    if (r.pixels(several ? point : 0, i, i.width, i.height, RGBA, UNSIGNED_BYTE, COLOR_BIT, out.pixels.data()))
      found.push_back(std::move(out));
    else
      r.cannot("the driver does not let " + called + (i.samples ? ", which has several samples a pixel," : "") +
               " be read");
  }
  if (!any) r.cannot("the framebuffer has no colour attachment");
}

void depth_or_stencil(Reader& r, GlContext* c, bool depth, int width, int height, std::vector<AttachmentImage>& found) {
  const char* name = depth ? "depth" : "stencil";
  Reader::Info i;
  if (r.framebuffer()) {
    i = r.info(depth ? DEPTH_ATTACHMENT : STENCIL_ATTACHMENT);
    if (!i.type) return r.cannot(std::string("the framebuffer has no ") + name + " attachment");
    if (!i.width) {
      gl::FrameImage image{0, 0, r.framebuffer()};
      if (!gl::frame_extent(c, &image))
        return r.cannot(std::string("the driver does not tell how large the ") + name + " attachment is");
      i.width = image.width;
      i.height = image.height;
    }
    width = i.width;
    height = i.height;
  } else if (c->api == 1 ? !c->core && !gl::ask(c, depth ? 0x0D56 : 0x0D57, 1)
                         : !gl::ask(c, depth ? 0x0D56 : 0x0D57, 1)) {
    return r.cannot(std::string("the window has no ") + name + " buffer");
  }
  if (width < 1 || height < 1) return r.cannot("there is no image to read back here");
  AttachmentImage out{name, width, height, depth ? 2 : 1, {}};
  const char* extension = depth ? "GL_NV_read_depth" : "GL_NV_read_stencil";
  if (!readable(c, extension)) {
    DepthSource from{i.type == static_cast<int32_t>(TEXTURE),
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
    // Which type a driver takes depends on the version and on the buffer's format.
    static const struct {
      uint32_t format, type;
    } tries[] = {{DEPTH_COMPONENT, FLOAT}, {DEPTH_COMPONENT, 0x1405}, {DEPTH_COMPONENT, 0x1403}, {0x84F9, 0x84FA}};
    std::vector<uint32_t> raw(area(width, height));
    uint32_t type = 0;
    for (auto& t : tries)
      if (!type && r.pixels(0, i, width, height, t.format, t.type, DEPTH_BIT, raw.data())) type = t.type;
    if (!type) return r.cannot("the driver does not let the depth be read");
    out.pixels.reserve(raw.size() * 2);
    for (size_t at = 0; at < raw.size(); ++at) {
      uint16_t n = 0;
      if (type == FLOAT) {
        float v;
        memcpy(&v, &raw[at], 4);
        n = static_cast<uint16_t>(std::lround(std::clamp(v, 0.0f, 1.0f) * 65535.0f));
      } else if (type == 0x1403) {
        memcpy(&n, reinterpret_cast<const uint8_t*>(raw.data()) + at * 2, 2);
      } else {
        n = static_cast<uint16_t>(
            std::lround((type == 0x1405 ? raw[at] / 4294967295.0 : (raw[at] >> 8) / 16777215.0) * 65535.0));
      }
      out.pixels.push_back(static_cast<uint8_t>(n >> 8));
      out.pixels.push_back(static_cast<uint8_t>(n));
    }
  } else {
    out.pixels.resize(area(width, height));
    if (!r.pixels(0, i, width, height, STENCIL_INDEX, UNSIGNED_BYTE, STENCIL_BIT, out.pixels.data()))
      return r.cannot("the driver does not let the stencil be read");
  }
  found.push_back(std::move(out));
}

}  // namespace

std::vector<AttachmentImage> read_attachments(GlContext* c, unsigned wanted, int window_width, int window_height,
                                              std::vector<std::string>& why) {
  std::vector<AttachmentImage> found;
  if (!gl::can_ask(c) || c->api > 2 || !c->api) {
    why.emplace_back("there is no context that could be asked");
    return found;
  }
  Reader r(c, why);
  if (r.framebuffer()) {
    auto status = DT_REAL(uint32_t, glCheckFramebufferStatus, uint32_t);
    uint32_t target = r.two() ? static_cast<uint32_t>(DRAW_FRAMEBUFFER) : static_cast<uint32_t>(FRAMEBUFFER);
    if (status(target) != COMPLETE) {
      why.emplace_back("the framebuffer is not complete");
      return found;
    }
  }
  if (wanted & WANT_COLOR) colors(r, c, window_width, window_height, found);
  if (wanted & WANT_DEPTH) depth_or_stencil(r, c, true, window_width, window_height, found);
  if (wanted & WANT_STENCIL) depth_or_stencil(r, c, false, window_width, window_height, found);
  return found;
}

}  // namespace dt::play
