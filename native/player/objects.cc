#include "objects.h"

#include <algorithm>
#include <cstring>

#include "../runtime/frame_image.h"
#include "attachments.h"
#include "depth_copy.h"
#include "play.h"

namespace dt::play {
namespace {

enum : uint32_t {
  FRAMEBUFFER_TARGET = 0x8D40,
  READ_TARGET = 0x8CA8,
  DRAW_TARGET = 0x8CA9,
  RENDERBUFFER_TARGET = 0x8D41,
  COLOR0 = 0x8CE0,
  DEPTH_POINT = 0x8D00,
  STENCIL_POINT = 0x8D20,
  BOTH_POINT = 0x821A,
  COMPLETE = 0x8CD5,
  SCISSOR_TEST = 0x0C11,
  NEAREST = 0x2600,
  RED = 0x1903,
  RG = 0x8227,
  RGB = 0x1907,
  RGBA = 0x1908,
  RGBA_INTEGER = 0x8D99,
  ALPHA = 0x1906,
  LUMINANCE = 0x1909,
  LUMINANCE_ALPHA = 0x190A,
  DEPTH_FORMAT = 0x1902,
  DEPTH_STENCIL = 0x84F9,
  STENCIL_FORMAT = 0x1901,
  BYTE = 0x1400,
  UNSIGNED_BYTE = 0x1401,
  SHORT = 0x1402,
  UNSIGNED_SHORT = 0x1403,
  INT = 0x1404,
  UNSIGNED_INT = 0x1405,
  FLOAT = 0x1406,
  NORMALIZED = 0x8C17,
  SIGNED_NORMALIZED = 0x8F9C,
  TEN_AND_TWO = 0x8368,
  WORD_24_8 = 0x84FA,
  FLOAT_AND_8 = 0x8DAD,
  CUBE = 0x8513,
  TEXTURE_BUFFER = 0x8C2A,
  MULTISAMPLE = 0x9100,
  MULTISAMPLE_ARRAY = 0x9102,
  EXTERNAL = 0x8D65
};
constexpr uint64_t MOST_BYTES = 2ull << 30;

bool has_layers(uint32_t target) { return target == 0x806F || target == 0x8C1A || target == 0x9009; }
uint32_t binding_of(uint32_t target) {
  static const uint32_t pairs[][2] = {{0x0DE1, 0x8069}, {CUBE, 0x8514},        {0x806F, 0x806A},
                                      {0x8C1A, 0x8C1D}, {0x0DE0, 0x8068},      {0x8C18, 0x8C1C},
                                      {0x84F5, 0x84F6}, {MULTISAMPLE, 0x9104}, {MULTISAMPLE_ARRAY, 0x9105},
                                      {0x9009, 0x900A}, {EXTERNAL, 0x8D67}};
  for (auto& pair : pairs)
    if (pair[0] == target) return pair[1];
  return 0;
}

// How pixels come: what they are asked for as, and what that is called.
struct Form {
  uint32_t format = 0, type = 0, bytes = 0;  // bytes of a pixel
  const char *channels = "", *name = "";
};

// Colours of so many bits a channel, of a kind (GL_FLOAT, GL_INT, ...).
Form form_of(const int32_t bits[4], uint32_t kind, bool four, bool es) {
  static const uint32_t formats[] = {RED, RG, RGB, RGBA}, integers[] = {0x8D94, 0x8228, 0x8D98, RGBA_INTEGER};
  static const char* const names[] = {"r", "rg", "rgb", "rgba"};
  int32_t most = *std::max_element(bits, bits + 4);
  uint32_t count = four || bits[3] > 0 ? 4 : bits[2] > 0 ? 3 : bits[1] > 0 ? 2 : 1;
  auto made = [&](const uint32_t* of, uint32_t type, uint32_t width, const char* name) {
    return Form{of[count - 1], type, width * count, names[count - 1], name};
  };
  switch (kind) {
    case NORMALIZED:
      if (most <= 8) return made(formats, UNSIGNED_BYTE, 1, "u1");
      if (es && most == 10) return {RGBA, TEN_AND_TWO, 4, "rgba", "2_10_10_10"};
      if (most <= 16) return made(formats, UNSIGNED_SHORT, 2, "<u2");
      return made(formats, UNSIGNED_INT, 4, "<u4");
    case SIGNED_NORMALIZED: return most <= 8 ? made(formats, BYTE, 1, "i1") : made(formats, SHORT, 2, "<i2");
    case FLOAT: return made(formats, FLOAT, 4, "<f4");
    case INT: return made(integers, INT, 4, "<i4");
    case UNSIGNED_INT: return made(integers, UNSIGNED_INT, 4, "<u4");
    default: return {};
  }
}

Form form_of_depth(int32_t depth, int32_t stencil, bool floats) {
  if (depth && stencil)
    return floats ? Form{DEPTH_STENCIL, FLOAT_AND_8, 8, "ds", "32f_8"}
                  : Form{DEPTH_STENCIL, WORD_24_8, 4, "ds", "24_8"};
  if (stencil) return {STENCIL_FORMAT, UNSIGNED_BYTE, 1, "s", "u1"};
  if (floats) return {DEPTH_FORMAT, FLOAT, 4, "d", "<f4"};
  return depth <= 16 ? Form{DEPTH_FORMAT, UNSIGNED_SHORT, 2, "d", "<u2"}
                     : Form{DEPTH_FORMAT, UNSIGNED_INT, 4, "d", "<u4"};
}

// While it lives, pixels are not changed on their way out of OpenGL 1, and come without gaps.
class Unchanged {
 public:
  explicit Unchanged(GlContext* c) : plain_(c), old_(c->api == 1 && !c->core) {
    if (!old_) return;
    DT_REAL(void, glPushAttrib, uint32_t)(0x20);  // GL_PIXEL_MODE_BIT
    auto set = DT_REAL(void, glPixelTransferf, uint32_t, float);
    for (uint32_t name : {0x0D14u, 0x0D18u, 0x0D1Au, 0x0D1Cu, 0x0D1Eu}) set(name, 1);
    for (uint32_t name : {0x0D10u, 0x0D11u, 0x0D12u, 0x0D13u, 0x0D15u, 0x0D19u, 0x0D1Bu, 0x0D1Du, 0x0D1Fu})
      set(name, 0);
  }
  ~Unchanged() {
    if (old_) DT_REAL(void, glPopAttrib)();
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
    auto error = DT_REAL(uint32_t, glGetError);
    bool fine = true;
    for (int i = 0; i < 16 && error(); ++i) fine = false;
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
    if (w_.target == TEXTURE_BUFFER) return fail("its content is that of a buffer");
    if (!binding) return fail("textures of its target are not read");
    auto is = DT_REAL(uint8_t, glIsTexture, uint32_t);
    if (w_.name && is && !is(name_)) return fail("the driver has no such texture there");
    bool sampled = w_.target == MULTISAMPLE || w_.target == MULTISAMPLE_ARRAY;
    if (c_->api != 1 || sampled) return through_framebuffer();
    auto bind = DT_REAL(void, glBindTexture, uint32_t, uint32_t);
    auto was = static_cast<uint32_t>(gl::ask(c_, binding, 0));
    bind(w_.target, name_);
    if (ok())
      level();
    else
      fail("the driver does not let it be bound");
    bind(w_.target, was);
  }

  // As desktop OpenGL hands it over.
  void level() {
    auto ask_level = DT_REAL(void, glGetTexLevelParameteriv, uint32_t, int32_t, uint32_t, int32_t*);
    auto about = [&](uint32_t what) {
      int32_t value = 0;
      ask_level(w_.face, w_.level, what, &value);
      return ok() ? value : 0;
    };
    if (!about(0x1000)) return fail("nothing is stored in it there");
    out_.width = about(0x1000), out_.height = std::max(about(0x1001), 1), out_.depth = std::max(about(0x8071), 1);
    out_.format = static_cast<uint32_t>(about(0x1003));
    if (about(0x86A1)) {
      auto get = p_.gl<void (*)(uint32_t, int32_t, void*)>("glGetCompressedTexImage");
      out_.type = "compressed";
      if (!get) return fail("the driver does not hand over compressed textures");
      out_.bytes.assign(static_cast<size_t>(std::max(about(0x86A0), 0)), 0);
      gl::PlainPack plain(c_);
      get(w_.face, w_.level, out_.bytes.data());
      if (!ok() || out_.bytes.empty()) fail("the driver does not hand it over");
      return;
    }
    Form form = form_of_level(about);
    auto get = p_.gl<void (*)(uint32_t, int32_t, uint32_t, uint32_t, void*)>("glGetTexImage");
    if (!form.bytes || !get) return fail("its format is not read");
    if (!room(form.bytes)) return;
    Unchanged unchanged(c_);
    get(w_.face, w_.level, form.format, form.type, out_.bytes.data());
    if (!ok()) return fail("the driver does not hand it over");
    out_.type = form.name, out_.channels = form.channels;
  }
  template <class About> Form form_of_level(About about) {
    int32_t depth = about(0x884A), stencil = about(0x88F1);
    if (depth || stencil) return form_of_depth(depth, stencil, about(0x8C16) == static_cast<int32_t>(FLOAT));
    uint32_t kind = 0;
    for (uint32_t i = 0; i < 4; ++i) {
      out_.bits[i] = about(0x805C + i);
      if (out_.bits[i] && !kind) kind = static_cast<uint32_t>(about(0x8C10 + i));
    }
    int32_t luminance = c_->core ? 0 : about(0x8060), intensity = c_->core ? 0 : about(0x8061);
    if (luminance) kind = static_cast<uint32_t>(about(0x8C14));
    if (intensity) kind = static_cast<uint32_t>(about(0x8C15));
    bool old = luminance || intensity || (!out_.bits[0] && out_.bits[3]);
    if (!old) return form_of(out_.bits, kind, false, false);
    int32_t bits[4] = {std::max({luminance, intensity, out_.bits[3]}), 0, 0, 0};
    bool two = luminance && out_.bits[3];
    Form form = form_of(bits, kind, false, false);
    if (!form.bytes) return form;
    form.bytes *= two ? 2 : 1;
    form.format = two ? LUMINANCE_ALPHA : luminance ? LUMINANCE : intensity ? RED : ALPHA;
    form.channels = two ? "la" : luminance || intensity ? "l" : "a";
    return form;
  }

  // Through a framebuffer of our own.
  void through_framebuffer() {
    auto gen = DT_REAL(void, glGenFramebuffers, int32_t, uint32_t*);
    auto drop = DT_REAL(void, glDeleteFramebuffers, int32_t, const uint32_t*);
    auto bind = DT_REAL(void, glBindFramebuffer, uint32_t, uint32_t);
    auto status = DT_REAL(uint32_t, glCheckFramebufferStatus, uint32_t);
    if (!gen || !drop || !bind || !status || c_->version < (c_->api == 2 ? 20u : 30u))
      return fail("this version of OpenGL has no framebuffer to read it through");
    if (w_.target == EXTERNAL) return fail("it is an image of another API");
    int32_t samples = samples_of();
    if (c_->api == 2 && w_.points != WANT_COLOR) return by_shader(samples);
    two_ = c_->version >= 30;
    target_ = two_ ? READ_TARGET : FRAMEBUFFER_TARGET;
    auto was = static_cast<uint32_t>(gl::ask(c_, two_ ? 0x8CAA : 0x8CA6, 0));
    uint32_t ours = 0;
    gen(1, &ours);
    bind(target_, ours);
    for (int32_t layer = 0; layer < out_.depth && out_.why.empty(); ++layer) {
      attach(layer);
      if (!ok() || status(target_) != COMPLETE)
        fail("the driver does not let textures of this format be read");
      else if (samples)
        resolved(samples, ours);
      else
        pixels(layer);
    }
    bind(target_, was);
    drop(1, &ours);
  }
  uint32_t point() const {
    return w_.points == WANT_COLOR     ? COLOR0
           : w_.points == WANT_DEPTH   ? DEPTH_POINT
           : w_.points == WANT_STENCIL ? STENCIL_POINT
                                       : BOTH_POINT;
  }
  void attach(int32_t layer) {
    if (w_.what == ObjectImage::RENDERBUFFER)
      DT_REAL(void, glFramebufferRenderbuffer, uint32_t, uint32_t, uint32_t, uint32_t)(target_, point(),
                                                                                       RENDERBUFFER_TARGET, name_);
    else if (auto one = DT_REAL(void, glFramebufferTextureLayer, uint32_t, uint32_t, uint32_t, int32_t, int32_t);
             one && has_layers(w_.target))
      one(target_, point(), name_, w_.level, layer);
    else if (has_layers(w_.target))
      fail("this version of OpenGL does not let its layers be read");
    else
      DT_REAL(void, glFramebufferTexture2D, uint32_t, uint32_t, uint32_t, uint32_t, int32_t)(target_, point(), w_.face,
                                                                                             name_, w_.level);
    auto read_buffer = DT_REAL(void, glReadBuffer, uint32_t);
    if (two_ && read_buffer) read_buffer(w_.points == WANT_COLOR ? +COLOR0 : 0u);
  }
  int32_t samples_of() {
    int32_t samples = 0;
    if (w_.what == ObjectImage::RENDERBUFFER) {
      auto bind = DT_REAL(void, glBindRenderbuffer, uint32_t, uint32_t);
      auto about = DT_REAL(void, glGetRenderbufferParameteriv, uint32_t, uint32_t, int32_t*);
      auto was = static_cast<uint32_t>(gl::ask(c_, 0x8CA7, 0));
      int32_t format = 0;
      bind(RENDERBUFFER_TARGET, name_);
      about(RENDERBUFFER_TARGET, 0x8D42, &out_.width);
      about(RENDERBUFFER_TARGET, 0x8D43, &out_.height);
      about(RENDERBUFFER_TARGET, 0x8D44, &format);
      if (c_->version >= 30) about(RENDERBUFFER_TARGET, 0x8CAB, &samples);
      bind(RENDERBUFFER_TARGET, was);
      out_.format = static_cast<uint32_t>(format);
    } else if (w_.target == MULTISAMPLE || w_.target == MULTISAMPLE_ARRAY) {
      auto bind = DT_REAL(void, glBindTexture, uint32_t, uint32_t);
      auto about = DT_REAL(void, glGetTexLevelParameteriv, uint32_t, int32_t, uint32_t, int32_t*);
      auto was = static_cast<uint32_t>(gl::ask(c_, binding_of(w_.target), 0));
      int32_t format = 0;
      bind(w_.target, name_);
      about(w_.target, 0, 0x9106, &samples);
      about(w_.target, 0, 0x1003, &format);
      bind(w_.target, was);
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
    auto get = DT_REAL(void, glReadPixels, int32_t, int32_t, int32_t, int32_t, uint32_t, uint32_t, void*);
    Unchanged unchanged(c_);
    get(0, 0, out_.width, out_.height, form_.format, form_.type, out_.bytes.data() + one * static_cast<size_t>(layer));
    if (!ok()) return fail("the driver does not let it be read");
    out_.type = form_.name, out_.channels = form_.channels;
  }
  Form form_of_framebuffer() {
    auto get = DT_REAL(void, glGetFramebufferAttachmentParameteriv, uint32_t, uint32_t, uint32_t, int32_t*);
    if (!two_) {
      // OpenGL ES 2 does not say how many bits there are; what it reads exactly it does.
      auto type = static_cast<uint32_t>(gl::ask(c_, 0x8B9A, 0));
      if (type == FLOAT || type == 0x8D61 || type == 0x140B) return {RGBA, FLOAT, 16, "rgba", "<f4"};
      return {RGBA, UNSIGNED_BYTE, 4, "rgba", "u1"};
    }
    auto about = [&](uint32_t at, uint32_t what) {
      int32_t value = 0;
      get(target_, at, what, &value);
      return ok() ? value : 0;
    };
    if (w_.points == WANT_COLOR) {
      for (uint32_t i = 0; i < 4; ++i) out_.bits[i] = about(COLOR0, 0x8212 + i);
      return form_of(out_.bits, static_cast<uint32_t>(about(COLOR0, 0x8211)), true, c_->api == 2);
    }
    int32_t depth = w_.points & WANT_DEPTH ? about(DEPTH_POINT, 0x8216) : 0,
            stencil = w_.points & WANT_STENCIL ? about(STENCIL_POINT, 0x8217) : 0;
    return form_of_depth(depth, stencil, depth && about(DEPTH_POINT, 0x8211) == static_cast<int32_t>(FLOAT));
  }
  // Several samples a pixel become one.
  void resolved(int32_t samples, uint32_t from) {
    auto blit = DT_REAL(void, glBlitFramebuffer, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t,
                        uint32_t, uint32_t);
    if (!two_ || !blit || !out_.format || w_.target == MULTISAMPLE_ARRAY)
      return fail("it has several samples a pixel, which are not read");
    auto bind = DT_REAL(void, glBindFramebuffer, uint32_t, uint32_t);
    auto bind_storage = DT_REAL(void, glBindRenderbuffer, uint32_t, uint32_t);
    auto bound = static_cast<uint32_t>(gl::ask(c_, 0x8CA7, 0)), draw = static_cast<uint32_t>(gl::ask(c_, 0x8CA6, 0));
    uint32_t storage = 0, framebuffer = 0;
    DT_REAL(void, glGenRenderbuffers, int32_t, uint32_t*)(1, &storage);
    bind_storage(RENDERBUFFER_TARGET, storage);
    DT_REAL(void, glRenderbufferStorage, uint32_t, uint32_t, int32_t, int32_t)(RENDERBUFFER_TARGET, out_.format,
                                                                               out_.width, out_.height);
    bind_storage(RENDERBUFFER_TARGET, bound);
    DT_REAL(void, glGenFramebuffers, int32_t, uint32_t*)(1, &framebuffer);
    bind(DRAW_TARGET, framebuffer);
    DT_REAL(void, glFramebufferRenderbuffer, uint32_t, uint32_t, uint32_t, uint32_t)(DRAW_TARGET, point(),
                                                                                     RENDERBUFFER_TARGET, storage);
    uint8_t scissor = DT_REAL(uint8_t, glIsEnabled, uint32_t)(SCISSOR_TEST);
    if (scissor) DT_REAL(void, glDisable, uint32_t)(SCISSOR_TEST);
    uint32_t bits = w_.points == WANT_COLOR
                        ? 0x4000u
                        : (w_.points & WANT_DEPTH ? 0x100u : 0u) | (w_.points & WANT_STENCIL ? 0x400u : 0u);
    blit(0, 0, out_.width, out_.height, 0, 0, out_.width, out_.height, bits, NEAREST);
    bool fine = ok();
    if (scissor) DT_REAL(void, glEnable, uint32_t)(SCISSOR_TEST);
    bind(DRAW_TARGET, draw);
    bind(READ_TARGET, framebuffer);
    if (auto read_buffer = DT_REAL(void, glReadBuffer, uint32_t)) read_buffer(w_.points == WANT_COLOR ? +COLOR0 : 0u);
    fine ? pixels(0) : fail("it has several samples a pixel, which the driver does not make one");
    bind(READ_TARGET, from);
    DT_REAL(void, glDeleteFramebuffers, int32_t, const uint32_t*)(1, &framebuffer);
    DT_REAL(void, glDeleteRenderbuffers, int32_t, const uint32_t*)(1, &storage);
    out_.lost = "the " + std::to_string(samples) + " samples of a pixel are one";
  }
  // Depth of OpenGL ES.
  void by_shader(int32_t samples) {
    if (samples || out_.depth > 1) return fail("OpenGL ES does not read depth of several samples or layers");
    bool depth = w_.points & WANT_DEPTH;
    DepthSource from{w_.what == ObjectImage::TEXTURE,
                     name_,
                     w_.target == CUBE ? w_.face : 0,
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
  auto ask = p.gl<int32_t (*)(uint32_t, int32_t)>("vgGetParameteri");
  auto get =
      p.gl<void (*)(uint32_t, void*, int32_t, uint32_t, int32_t, int32_t, int32_t, int32_t)>("vgGetImageSubData");
  auto error = p.gl<uint32_t (*)()>("vgGetError");
  if (!p.vg_objects() || !ask || !get || !error) return fail("no context of OpenVG is current there");
  uint32_t image = p.vg(w.name);
  error();
  auto format = static_cast<uint32_t>(ask(image, 0x1E00));
  out.width = ask(image, 0x1E01), out.height = ask(image, 0x1E02);
  if (error() || out.width < 1 || out.height < 1) return fail("the engine has no such image there");
  static const uint8_t widths[] = {4, 4, 4, 2, 2, 2, 1, 4, 4, 4, 1, 1, 0, 0, 0};
  uint32_t kind = format & 0x3F;
  // Pixels of less than a byte come as bytes.
  uint32_t as = kind == 12 ? 6 : kind == 13 || kind == 14 ? 11 : format;
  if (kind >= sizeof widths) return fail("its format is not read");
  int32_t row = out.width * widths[as & 0x3F];
  out.format = format;
  out.bytes.assign(static_cast<size_t>(row) * static_cast<size_t>(out.height), 0);
  get(image, out.bytes.data(), row, as, 0, 0, out.width, out.height);
  if (error()) return fail("the engine does not hand it over: it is drawn to there");
  out.type = "vg";
  return out;
}

}  // namespace

bool parse_object(const std::string& text, ObjectImage& w) {
  char what[16] = {};
  if (sscanf(text.c_str(), "%15s %u %u %u %d %d %d %d %u", what, &w.name, &w.target, &w.face, &w.level, &w.width,
             &w.height, &w.depth, &w.points) != 9)
    return false;
  std::string_view kind = what;
  w.what = kind == "texture"        ? ObjectImage::TEXTURE
           : kind == "renderbuffer" ? ObjectImage::RENDERBUFFER
                                    : ObjectImage::VG_IMAGE;
  return kind == "texture" || kind == "renderbuffer" || kind == "vg_image";
}

ObjectContent read_object(Player& player, const ObjectImage& wanted) {
  if (wanted.what == ObjectImage::VG_IMAGE) return read_vg(player, wanted);
  GlContext* c = tls.context;
  ObjectContent none;
  if (!c || !player.context || !gl::can_ask(c))
    none.why = c && c->in_begin ? "the call stands between glBegin and glEnd" : "no context is current there";
  else if (c->api == 1 && !c->core && gl::ask(c, 0x0B33, 0))
    none.why = "a display list is made there";
  if (!none.why.empty()) return none;
  return ObjectReader(player, c, wanted).read();
}

}  // namespace dt::play
