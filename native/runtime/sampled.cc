#include "sampled.h"
#include "egl_enums.h"
#include "gl_enums.h"

#include <stdlib.h>

namespace dt {
namespace hook {

namespace {

constexpr uint64_t MOST_PIXEL_BYTES = 256ull << 20;
constexpr double MOST_OF_24_BITS = 16777215.0;
constexpr int MOST_TRIES = 4;  // to find the integer that a driver makes a float of

const char VERTEX[] =
    "#version 300 es\n"
    "void main() { gl_Position = vec4(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0, 0.0, 1.0); }\n";
const char FLOAT_BITS[] =
    "#version 300 es\n"
    "precision highp float; uniform highp sampler2D values; out highp uint word;\n"
    "void main() { word = floatBitsToUint(texelFetch(values, ivec2(gl_FragCoord.xy), 0).r); }\n";
const char INTEGERS[] =
    "#version 300 es\n"
    "precision highp float; uniform highp usampler2D values; out highp uint word;\n"
    "void main() { word = texelFetch(values, ivec2(gl_FragCoord.xy), 0).r; }\n";
// Formats that no framebuffer takes: what is white in a pixel, and how opaque it is, in eight bits each.
const char BYTES[] =
    "#version 300 es\n"
    "precision highp float; uniform highp sampler2D values; out highp uint word;\n"
    "void main() {\n"
    "  vec4 v = texelFetch(values, ivec2(gl_FragCoord.xy), 0) * 255.0, near = floor(v + 0.5), off = abs(v - near);\n"
    "  word = uint(near.r) | uint(near.a) << 8 | (max(off.r, off.a) > 0.01 ? 65536u : 0u);\n}\n";
const char FARTHEST[] =
    "#version 300 es\n"
    "precision highp float; out highp uint word;\n"
    "void main() { word = 1u; gl_FragDepth = 1.0; }\n";

// A context that shares objects with the current one, current in its place while this lives.
class Beside {
 public:
  Beside() {
    make_current_ = driver::eglMakeCurrent;
    destroy_ = driver::eglDestroyContext;
    if (!driver::eglGetCurrentDisplay || !driver::eglGetCurrentContext || !driver::eglGetCurrentSurface ||
        !driver::eglQueryAPI || !driver::eglBindAPI || !driver::eglCreateContext || !make_current_ || !destroy_ ||
        !driver::glFinish)
      return;
    display_ = driver::eglGetCurrentDisplay(), context_ = driver::eglGetCurrentContext(),
    draw_ = driver::eglGetCurrentSurface((int32_t)EGL_DRAW), read_ = driver::eglGetCurrentSurface((int32_t)EGL_READ);
    if (!display_ || !context_) return;
    const uint32_t was = driver::eglQueryAPI();
    if (was != EGL_OPENGL_ES_API) driver::eglBindAPI(EGL_OPENGL_ES_API);
    const int32_t version[] = {(int32_t)EGL_CONTEXT_MAJOR_VERSION, 3, (int32_t)EGL_NONE};
    if (void* config = config_of(true)) own_ = driver::eglCreateContext(display_, config, context_, version);
    if (!own_)  // of configs that are not for ES 3
      if (void* config = config_of(false)) own_ = driver::eglCreateContext(display_, config, context_, version);
    if (own_) {
      // The program's draws have to be there.
      driver::glFinish();
      there_ = make_current_(display_, draw_, draw_, own_);
      if (!there_) make_current_(display_, draw_, read_, context_);
    }
    if (was != EGL_OPENGL_ES_API) driver::eglBindAPI(was);
  }
  ~Beside() {
    if (there_) make_current_(display_, draw_, read_, context_);
    if (own_) destroy_(display_, own_);
    // An error that a failed try left behind; the surrounding call reports its own.
    if (driver::eglGetError) driver::eglGetError();
  }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;
  bool there() const { return there_; }

 private:
  // The program's own config; or any that will do.
  void* config_of(bool own) const {
    int32_t id = 0, count = 0;
    if (!driver::eglQueryContext || !driver::eglChooseConfig ||
        (own && (!driver::eglQueryContext(display_, context_, (int32_t)EGL_CONFIG_ID, &id) || !id)))
      return nullptr;
    const int32_t same[] = {(int32_t)EGL_CONFIG_ID, id, (int32_t)EGL_NONE};
    const int32_t any[] = {(int32_t)EGL_RENDERABLE_TYPE, 0x40, (int32_t)EGL_SURFACE_TYPE, 1, (int32_t)EGL_NONE};
    void* config = nullptr;
    return driver::eglChooseConfig(display_, own ? same : any, &config, 1, &count) && count > 0 ? config : nullptr;
  }
  uint32_t (*make_current_)(void*, void*, void*, void*) = nullptr;
  uint32_t (*destroy_)(void*, void*) = nullptr;
  void *display_ = nullptr, *context_ = nullptr, *draw_ = nullptr, *read_ = nullptr, *own_ = nullptr;
  bool there_ = false;
};

// The work in a context of our own. It is made with a Beside that is there.
class Copier {
 public:
  Copier(uint32_t width, uint32_t height) : width_((int32_t)width), height_((int32_t)height) {
    bind_ = driver::glBindFramebuffer;
    bind_texture_ = driver::glBindTexture;
    upload_ = driver::glTexSubImage2D;
    if (!driver::glGenFramebuffers || !driver::glRenderbufferStorage || !driver::glFramebufferRenderbuffer ||
        !driver::glViewport || !bind_ || !bind_texture_ || !upload_)
      return;
    // Textures of whoever it is are sampled as they are, whatever they say of themselves.
    driver::glGenSamplers(1, &sampler_);
    driver::glSamplerParameteri(sampler_, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    driver::glSamplerParameteri(sampler_, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    driver::glBindSampler(0, sampler_);
    driver::glGenFramebuffers(3, framebuffers_);
    driver::glGenRenderbuffers(1, &words_);
    driver::glBindRenderbuffer(GL_RENDERBUFFER, words_);
    driver::glRenderbufferStorage(GL_RENDERBUFFER, GL_R32UI, width_, height_);
    bind_(GL_DRAW_FRAMEBUFFER, framebuffers_[0]);
    driver::glFramebufferRenderbuffer(GL_DRAW_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, words_);
    driver::glViewport(0, 0, width_, height_);
    driver::glDisable(GL_DITHER);  // dithering
    driver::glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
    good_ = driver::glCheckFramebufferStatus(GL_DRAW_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE && fine();
  }
  ~Copier() {
    // Objects are shared: what is not deleted would stay.
    if (!bind_) return;
    for (uint32_t program : programs_)
      if (program) driver::glDeleteProgram(program);
    driver::glUseProgram(0);
    driver::glDeleteTextures(2, textures_);
    driver::glDeleteRenderbuffers(1, &words_);
    driver::glDeleteFramebuffers(3, framebuffers_);
    driver::glDeleteSamplers(1, &sampler_);
    free(read_);
  }
  Copier(const Copier&) = delete;
  Copier& operator=(const Copier&) = delete;
  bool good() const { return good_; }

  static bool fine() {
    bool none = true;
    for (int i = 0; i < 16 && driver::glGetError(); i++) none = false;
    return none;
  }

  enum Shader { AS_FLOATS, AS_INTEGERS, IF_FARTHEST, AS_BYTES };
  // The shader's result for the texture's first level, a word a pixel, and its place until the next time; nullptr: it
  // cannot.
  const uint32_t* words(Shader shader, uint32_t texture) {
    static const char* const texts[] = {FLOAT_BITS, INTEGERS, FARTHEST, BYTES};
    if (!programs_[shader]) programs_[shader] = program(texts[shader]);
    const size_t count = (size_t)width_ * (size_t)height_;
    if (!programs_[shader] || (!read_ && !(read_ = (uint32_t*)calloc(count, 16)))) return nullptr;
    bind_texture_(GL_TEXTURE_2D, texture);
    bind_(GL_DRAW_FRAMEBUFFER, framebuffers_[0]);
    bind_(GL_READ_FRAMEBUFFER, framebuffers_[0]);
    driver::glUseProgram(programs_[shader]);
    driver::glDrawArrays(4, 0, 3);
    driver::glReadPixels(0, 0, width_, height_, GL_RGBA_INTEGER, GL_UNSIGNED_INT, read_);
    for (size_t i = 0; i < count; i++) read_[i] = read_[4 * i];
    return fine() ? read_ : nullptr;
  }
  // A texture of our own, of that format.
  uint32_t texture(unsigned which, uint32_t format) {
    if (!textures_[which]) {
      driver::glGenTextures(1, &textures_[which]);
      bind_texture_(GL_TEXTURE_2D, textures_[which]);
      driver::glTexStorage2D(GL_TEXTURE_2D, 1, format, width_, height_);
    }
    return fine() ? textures_[which] : 0;
  }
  // A texture of our own that is made of bytes in an old format.
  uint32_t old_texture(const Layout& l, const void* pixels) {
    if (!driver::glTexImage2D) return 0;
    driver::glGenTextures(1, &textures_[0]);
    bind_texture_(GL_TEXTURE_2D, textures_[0]);
    driver::glTexImage2D(GL_TEXTURE_2D, 0, (int32_t)l.format, width_, height_, 0, l.format, l.type, pixels);
    return fine() ? textures_[0] : 0;
  }
  // Makes the wanted picture the framebuffer that is read.
  bool attach(const dt_target& w, uint32_t point, uint32_t layer) {
    bind_(GL_READ_FRAMEBUFFER, w.kind == DT_TARGET_SURFACE ? 0 : framebuffers_[1]);
    if (w.kind == DT_TARGET_RENDERBUFFER) {
      driver::glFramebufferRenderbuffer(GL_READ_FRAMEBUFFER, point, GL_RENDERBUFFER, (uint32_t)w.name);
    } else if (w.kind == DT_TARGET_TEXTURE && has_layers(w.target)) {
      driver::glFramebufferTextureLayer(GL_READ_FRAMEBUFFER, point, (uint32_t)w.name, (int32_t)w.level, (int32_t)layer);
    } else if (w.kind == DT_TARGET_TEXTURE) {
      driver::glFramebufferTexture2D(GL_READ_FRAMEBUFFER, point, w.target, (uint32_t)w.name, (int32_t)w.level);
    }
    return fine() && driver::glCheckFramebufferStatus(GL_READ_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE;
  }
  // The number of bits of depth and stencil. False: it has neither.
  bool ask(const dt_target& w, int32_t* depth, int32_t* stencil, bool* floats) {
    const uint32_t points[2] = {w.kind == DT_TARGET_SURFACE ? GL_DEPTH : GL_DEPTH_ATTACHMENT,
                                w.kind == DT_TARGET_SURFACE ? GL_STENCIL : GL_STENCIL_ATTACHMENT};
    int32_t kinds[2] = {}, type = 0;
    for (unsigned i = 0; i < 2; i++)
      driver::glGetFramebufferAttachmentParameteriv(GL_READ_FRAMEBUFFER, points[i],
                                                    GL_FRAMEBUFFER_ATTACHMENT_OBJECT_TYPE, &kinds[i]);
    *depth = *stencil = 0;
    if (kinds[0])
      driver::glGetFramebufferAttachmentParameteriv(GL_READ_FRAMEBUFFER, points[0],
                                                    GL_FRAMEBUFFER_ATTACHMENT_DEPTH_SIZE, depth),
          driver::glGetFramebufferAttachmentParameteriv(GL_READ_FRAMEBUFFER, points[0],
                                                        GL_FRAMEBUFFER_ATTACHMENT_COMPONENT_TYPE, &type);
    if (kinds[1])
      driver::glGetFramebufferAttachmentParameteriv(GL_READ_FRAMEBUFFER, points[1],
                                                    GL_FRAMEBUFFER_ATTACHMENT_STENCIL_SIZE, stencil);
    *floats = type == (int32_t)GL_FLOAT;
    return fine() && (*depth || *stencil);
  }
  // Copies the framebuffer that is read into a texture of our own.
  uint32_t copy(const Layout& l, uint32_t bits) {
    const uint32_t made = texture(0, l.own_format);
    if (!made || !driver::glFramebufferTexture2D || !driver::glBlitFramebuffer) return 0;
    bind_(GL_DRAW_FRAMEBUFFER, framebuffers_[2]);
    driver::glFramebufferTexture2D(GL_DRAW_FRAMEBUFFER,
                                   l.format == GL_DEPTH_STENCIL     ? GL_DEPTH_STENCIL_ATTACHMENT
                                   : l.format == GL_DEPTH_COMPONENT ? GL_DEPTH_ATTACHMENT
                                                                    : GL_STENCIL_ATTACHMENT,
                                   GL_TEXTURE_2D, made, 0);
    driver::glBlitFramebuffer(0, 0, width_, height_, 0, 0, width_, height_, bits, GL_NEAREST);
    return fine() ? made : 0;
  }
  // 1 for pixels of a texture of depth that hold the largest value there is, 0 for all others. 1.0 is nothing but that
  // one.
  const uint32_t* farthest(const Layout& l, uint32_t texture) {
    if (!driver::glFramebufferTexture2D || !driver::glClearBufferuiv || !driver::glEnable || !driver::glDisable)
      return nullptr;
    const uint32_t point = l.format == GL_DEPTH_STENCIL ? GL_DEPTH_STENCIL_ATTACHMENT : GL_DEPTH_ATTACHMENT,
                   none[4] = {};
    bind_(GL_DRAW_FRAMEBUFFER, framebuffers_[0]);
    driver::glFramebufferTexture2D(GL_DRAW_FRAMEBUFFER, point, GL_TEXTURE_2D, texture, 0);
    driver::glClearBufferuiv(GL_COLOR, 0, none);
    driver::glEnable(GL_DEPTH_TEST);
    driver::glDepthFunc(GL_EQUAL);  // equal
    driver::glDepthMask(0);
    const uint32_t* passed = words(IF_FARTHEST, 0);
    driver::glDisable(GL_DEPTH_TEST);
    driver::glDepthMask(1);
    bind_(GL_DRAW_FRAMEBUFFER, framebuffers_[0]);
    driver::glFramebufferTexture2D(GL_DRAW_FRAMEBUFFER, point, GL_TEXTURE_2D, 0, 0);
    return fine() ? passed : nullptr;
  }
  const uint32_t* stencils(uint32_t texture) {
    bind_texture_(GL_TEXTURE_2D, texture);
    driver::glTexParameteri(GL_TEXTURE_2D, GL_DEPTH_STENCIL_TEXTURE_MODE, GL_STENCIL_INDEX);
    const uint32_t* read = fine() ? words(AS_INTEGERS, texture) : nullptr;
    bind_texture_(GL_TEXTURE_2D, texture);
    driver::glTexParameteri(GL_TEXTURE_2D, GL_DEPTH_STENCIL_TEXTURE_MODE, GL_DEPTH_COMPONENT);
    fine();
    return read;
  }
  // The words that a texture gives back after an upload of `values`.
  const uint32_t* back(const Layout& l, const uint32_t* values) {
    const uint32_t made = texture(1, l.own_format);
    bind_texture_(GL_TEXTURE_2D, made);
    upload_(GL_TEXTURE_2D, 0, 0, 0, width_, height_, l.format, l.type, values);
    return fine() ? words(AS_FLOATS, made) : nullptr;
  }
  // Returns whether the driver takes the call that would write the picture again: one that writes nothing.
  bool takes(const dt_target& w, const Layout& l) {
    bind_texture_(w.target, (uint32_t)w.name);
    upload_(w.target, (int32_t)w.level, 0, 0, 0, 0, l.format, l.type, nullptr);
    return fine();
  }

 private:
  static uint32_t program(const char* fragment) {
    const uint32_t made = driver::glCreateProgram();
    const uint32_t stages[] = {GL_VERTEX_SHADER, GL_FRAGMENT_SHADER};
    for (uint32_t stage : stages) {
      const char* const text = stage == GL_VERTEX_SHADER ? VERTEX : fragment;
      const uint32_t shader = driver::glCreateShader(stage);
      driver::glShaderSource(shader, 1, &text, nullptr);
      driver::glCompileShader(shader);
      driver::glAttachShader(made, shader);
      driver::glDeleteShader(shader);
    }
    driver::glLinkProgram(made);
    int32_t linked = 0;
    driver::glGetProgramiv(made, GL_LINK_STATUS, &linked);
    if (fine() && linked) return made;
    driver::glDeleteProgram(made);
    return 0;
  }

  const int32_t width_, height_;
  bool good_ = false;
  uint32_t sampler_ = 0, words_ = 0, framebuffers_[3] = {}, textures_[2] = {}, programs_[4] = {};
  uint32_t* read_ = nullptr;
  void (*bind_)(uint32_t, uint32_t) = nullptr;
  void (*bind_texture_)(uint32_t, uint32_t) = nullptr;
  void (*upload_)(uint32_t, int32_t, int32_t, int32_t, int32_t, int32_t, uint32_t, uint32_t, const void*) = nullptr;
};

float as_float(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

// As they are uploaded: before a stencil of 0, or as the first of 32 bits. The others are to be a fraction, `low` 0;
// there are drivers that reckon with floats and cut off, and so come to the next smaller integer.
constexpr uint32_t CUT_OFF = 0xC0;
uint32_t word_of_24_bits(const Layout& l, uint32_t low, uint32_t value) {
  return value << 8 | (l.format == GL_DEPTH_STENCIL ? 0 : low ? low : value >> 16);
}

// The integers of 24 bits in a texture of depth, which a shader gets as floats. The driver's rounding is its affair, so
// that a guess is compared with the float that the driver makes of it; and two integers with the same float look alike,
// but for the largest.
bool read_24_bits(Copier& copier, const Layout& l, uint32_t texture, uint32_t low, uint32_t* values, size_t count) {
  constexpr uint32_t most = 0xFFFFFF;
  auto word = [&](uint32_t v) { return word_of_24_bits(l, low, v); };
  uint32_t* const wanted = (uint32_t*)malloc(count * 12);
  if (!wanted) return false;
  uint32_t *const words = wanted + count, *const farthest = wanted + 2 * count;
  const uint32_t* read = copier.farthest(l, texture);
  if (read) memcpy(farthest, read, count * 4), read = copier.words(Copier::AS_FLOATS, texture);
  if (read) memcpy(wanted, read, count * 4);
  // A value that the test of depth excludes is excluded for any guess.
  auto bounded = [&](size_t i, uint32_t v) { return farthest[i] ? most : v < most ? v : most - 1; };
  for (size_t i = 0; read && i < count; i++) {
    const double f = as_float(wanted[i]);
    values[i] = bounded(i, f > 0 ? f < 1 ? (uint32_t)(f * MOST_OF_24_BITS + 0.5) : most : 0);
  }
  bool good = false;
  for (int step = 0; read && step < MOST_TRIES && !good; step++) {
    for (size_t i = 0; i < count; i++) words[i] = word(values[i]);
    if (!(read = copier.back(l, words))) break;
    good = true;
    for (size_t i = 0; i < count; i++)
      if (read[i] != wanted[i]) {
        good = false;
        values[i] = bounded(i, as_float(read[i]) < as_float(wanted[i]) ? values[i] + 1 : values[i] ? values[i] - 1 : 0);
      }
  }
  const int sides[] = {-1, 1};
  for (int side : sides) {
    if (!good) break;
    auto beside = [&](size_t i) {
      return (side < 0 ? !values[i] : values[i] == most) ? values[i] : values[i] + (uint32_t)side;
    };
    for (size_t i = 0; i < count; i++) words[i] = word(beside(i));
    read = copier.back(l, words);
    good = read != nullptr;
    for (size_t i = 0; good && i < count; i++)
      good = beside(i) == values[i] || read[i] != wanted[i] || values[i] == most || beside(i) == most;
  }
  free(wanted);
  return good;
}

// One layer, which is the framebuffer that is read: into `to` as it is uploaded.
uint32_t copy_depth(Copier& copier, const Layout& l, uint32_t bits, uint8_t* to, size_t count) {
  const uint32_t copied = copier.copy(l, bits);
  if (!copied) return DT_REFUSED_FORMAT;
  uint32_t* const values = (uint32_t*)calloc(count, 4);
  if (!values) return DT_REFUSED_SIZE;
  uint32_t why = 0, low = 0;
  if (bits & GL_DEPTH_BUFFER_BIT) {
    const bool bits_24 = l.own_format == GL_DEPTH24_STENCIL8 || l.own_format == GL_DEPTH_COMPONENT24;
    const uint32_t* floats = bits_24 ? nullptr : copier.words(Copier::AS_FLOATS, copied);
    if (bits_24 && !read_24_bits(copier, l, copied, 0, values, count)) {
      low = CUT_OFF;
      if (l.format == GL_DEPTH_STENCIL || !read_24_bits(copier, l, copied, low, values, count)) why = DT_REFUSED_FORMAT;
    }
    if (!bits_24 && !floats)
      why = DT_REFUSED_SHADER;
    else if (l.own_format == GL_DEPTH_COMPONENT16)
      for (size_t i = 0; i < count; i++) values[i] = (uint32_t)((double)as_float(floats[i]) * 65535.0 + 0.5);
    else if (!bits_24)
      memcpy(values, floats, count * 4);
  }
  const uint32_t* stencils = !why && bits & GL_STENCIL_BUFFER_BIT ? copier.stencils(copied) : nullptr;
  if (!why && bits & GL_STENCIL_BUFFER_BIT && !stencils) why = DT_REFUSED_SHADER;
  for (size_t i = 0; !why && i < count; i++) {
    const uint32_t value = values[i], stencil = stencils ? stencils[i] & 255 : 0;
    uint32_t words[2] = {value, stencil};
    if (l.type == GL_UNSIGNED_INT_24_8)
      words[0] = value << 8 | stencil;
    else if (l.own_format == GL_DEPTH_COMPONENT24)
      words[0] = word_of_24_bits(l, low, value);
    else if (l.format == GL_STENCIL_INDEX)
      words[0] = stencil;
    memcpy(to + i * pixel_bytes(l, false), words, pixel_bytes(l, false));  // little endian
  }
  free(values);
  return why;
}

}  // namespace

Picture::~Picture() { free(pixels); }
bool Picture::make_room() {
  const uint64_t room = (uint64_t)count() * pixel_bytes(layout, true);
  // what the driver leaves out is not the program's memory
  return room && room <= MOST_PIXEL_BYTES && (pixels = (uint8_t*)calloc(1, room));
}

bool layout_of_depth(int32_t depth, int32_t stencil, bool floats, Layout* l) {
  auto same = [&](uint32_t format, uint32_t components, uint32_t type, uint32_t width, uint32_t own_format) {
    *l = Layout{format, type, components, format, type, components, width, width, false, own_format};
    return true;
  };
  if (depth && stencil) {
    if (stencil != 8) return false;
    return floats ? same(GL_DEPTH_STENCIL, 2, GL_FLOAT_32_UNSIGNED_INT_24_8_REV, 4, GL_DEPTH32F_STENCIL8)
                  : depth <= 24 && same(GL_DEPTH_STENCIL, 1, GL_UNSIGNED_INT_24_8, 0, GL_DEPTH24_STENCIL8);
  }
  if (stencil) return stencil == 8 && same(GL_STENCIL_INDEX, 1, GL_UNSIGNED_BYTE, 1, GL_STENCIL_INDEX8);
  if (!depth || depth > 32) return false;
  if (floats) return same(GL_DEPTH_COMPONENT, 1, GL_FLOAT, 4, GL_DEPTH_COMPONENT32F);
  return depth <= 16 ? same(GL_DEPTH_COMPONENT, 1, GL_UNSIGNED_SHORT, 2, GL_DEPTH_COMPONENT16)
                     : same(GL_DEPTH_COMPONENT, 1, GL_UNSIGNED_INT, 4,
                            depth <= 24 ? GL_DEPTH_COMPONENT24 : GL_DEPTH_COMPONENT32);
}

uint32_t read_depth_by_shader(const dt_target& w, uint32_t point, Picture* picture) {
  if ((uint64_t)picture->width * picture->height * 16 > MOST_PIXEL_BYTES) return DT_REFUSED_SIZE;
  Beside beside;
  if (!beside.there()) return DT_REFUSED_SHADER;
  Copier copier(picture->width, picture->height);
  if (!copier.good()) return DT_REFUSED_SHADER;
  const size_t count = (size_t)picture->width * picture->height;
  for (uint32_t layer = 0; layer < picture->depth; layer++) {
    if (!copier.attach(w, point, layer)) return DT_REFUSED_FORMAT;
    if (!layer) {
      int32_t depth = 0, stencil = 0;
      bool floats = false;
      if (!copier.ask(w, &depth, &stencil, &floats) || !layout_of_depth(depth, stencil, floats, &picture->layout))
        return DT_REFUSED_FORMAT;
      if (picture->layout.own_format == GL_DEPTH_COMPONENT32) return DT_REFUSED_FORMAT;  // a float has fewer bits
      // A blit may as well read from where there is a stencil, too: that is uploaded without any arithmetic.
      if (picture->layout.own_format == GL_DEPTH_COMPONENT24 && w.kind != DT_TARGET_TEXTURE)
        layout_of_depth(24, 8, false, &picture->layout);
      if (!picture->bits) picture->bits = (depth ? GL_DEPTH_BUFFER_BIT : 0u) | (stencil ? GL_STENCIL_BUFFER_BIT : 0u);
      if (!picture->make_room()) return DT_REFUSED_SIZE;
    }
    const uint32_t why = copy_depth(copier, picture->layout, picture->bits,
                                    picture->pixels + layer * count * pixel_bytes(picture->layout, false), count);
    if (why) return why;
  }
  return w.kind != DT_TARGET_TEXTURE || has_layers(w.target) || is_face(w.target) || copier.takes(w, picture->layout)
             ? 0
             : +DT_REFUSED_FORMAT;
}

uint32_t read_bytes_by_shader(const dt_target& w, Picture* picture) {
  if ((uint64_t)picture->width * picture->height * 16 > MOST_PIXEL_BYTES) return DT_REFUSED_SIZE;
  Beside beside;
  if (!beside.there()) return DT_REFUSED_SHADER;
  Copier copier(picture->width, picture->height);
  if (!copier.good()) return DT_REFUSED_SHADER;
  const uint32_t components = w.format == GL_LUMINANCE_ALPHA ? 2 : 1;
  Layout& l = picture->layout;
  l = Layout{w.format, GL_UNSIGNED_BYTE, components, w.format, GL_UNSIGNED_BYTE, components, 1, 1, false, 0};
  if (!picture->make_room()) return DT_REFUSED_SIZE;
  const size_t count = (size_t)picture->width * picture->height;
  uint32_t* const wanted = (uint32_t*)malloc(count * 4);
  const uint32_t* read = wanted ? copier.words(Copier::AS_BYTES, (uint32_t)w.name) : nullptr;
  if (read) memcpy(wanted, read, count * 4);
  bool eight_bits = true;
  for (size_t i = 0; read && i < count; i++) {
    eight_bits = eight_bits && !(wanted[i] >> 16);
    if (w.format != GL_ALPHA) picture->pixels[i * components] = (uint8_t)wanted[i];
    if (w.format != GL_LUMINANCE) picture->pixels[i * components + components - 1] = (uint8_t)(wanted[i] >> 8);
  }
  const uint32_t again = read && eight_bits ? copier.old_texture(l, picture->pixels) : 0;
  read = again ? copier.words(Copier::AS_BYTES, again) : nullptr;
  const bool same = read && !memcmp(read, wanted, count * 4);
  free(wanted);
  return same ? 0 : +DT_REFUSED_FORMAT;
}

}  // namespace hook
}  // namespace dt
