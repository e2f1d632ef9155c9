// GL state that counting changes for a while, and gives back as the program has it.
#pragma once
#include <EGL/egl.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "source.h"

namespace dt::play::metrics {

enum : uint32_t {
  OCCLUSION = 0x8914,
  QUERY_RESULT = 0x8866,
  QUERY_RESULT_AVAILABLE = 0x8867,
  DEPTH_TEST = 0x0B71,
  STENCIL_TEST = 0x0B90,
  ALPHA_TEST = 0x0BC0,
  DEPTH_BOUNDS = 0x8890,
  ALPHA_TO_COVERAGE = 0x809E,
  SAMPLE_COVERAGE = 0x80A0,
  SAMPLE_MASK = 0x8E51,
  TWO_SIDES = 0x8910,
  SCISSOR_TEST = 0x0C11,
  RASTERIZER_DISCARD = 0x8C89,
  FRAGMENT_PROGRAM = 0x8804,
  FRAGMENT_SHADER_ATI = 0x8920,
  DEPTH_WRITEMASK = 0x0B72,
  COLOR_WRITEMASK = 0x0C23,
  MAX_DRAW_BUFFERS = 0x8824,
  DRAW_BUFFER0 = 0x8825,
  STENCIL_FUNC = 0x0B92,
  SAMPLE_BUFFERS = 0x80A8,
  FEEDBACK_ACTIVE = 0x8E24,
  FEEDBACK_PAUSED = 0x8E23,
  CURRENT_PROGRAM = 0x8B8D,
  PIPELINE_BINDING = 0x825A,
  DRAW_FRAMEBUFFER = 0x8CA9,
  READ_FRAMEBUFFER = 0x8CA8,
  DRAW_BINDING = 0x8CA6,
  READ_BINDING = 0x8CAA,
  RENDERBUFFER = 0x8D41,
  RENDERBUFFER_BINDING = 0x8CA7,
  DEPTH_STENCIL_ATTACHMENT = 0x821A,
  DEPTH_ATTACHMENT = 0x8D00,
  STENCIL_ATTACHMENT = 0x8D20,
  COLOR_ATTACHMENT0 = 0x8CE0,
  FRAMEBUFFER_COMPLETE = 0x8CD5,
  DEPTH24_STENCIL8 = 0x88F0,
  DEPTH32F_STENCIL8 = 0x8CAD,
  DEPTH_BUFFER_BIT = 0x100,
  NEAREST = 0x2600,
  STENCIL = 0x1802,
  STENCIL_INDEX = 0x1901,
  UNSIGNED_BYTE = 0x1401,
  PACK_BUFFER = 0x88EB,
  FRONT = 0x0404,
  BACK = 0x0405,
  FRONT_AND_BACK = 0x0408,
  ALWAYS = 0x0207,
  KEEP = 0x1E00,
  INCREMENT = 0x1E02
};

inline int integer(uint32_t name) {
  static const auto get = DT_REAL(void, glGetIntegerv, uint32_t, int*);
  int v = 0;
  get(name, &v);
  return v;
}
inline bool boolean(uint32_t name) {
  static const auto get = DT_REAL(void, glGetBooleanv, uint32_t, uint8_t*);
  uint8_t v[16] = {};
  get(name, v);
  return v[0];
}
inline bool enabled(uint32_t cap) {
  static const auto is = DT_REAL(uint8_t, glIsEnabled, uint32_t);
  return is(cap);
}

inline uint32_t version() { return tls.context ? tls.context->version : 0; }
inline bool fixed_function() { return tls.context && (tls.context->api == 1 ? !tls.context->core : version() < 20); }

// Capabilities that are off for a while.
class Off {
 public:
  Off() = default;
  Off(const Off&) = delete;
  Off& operator=(const Off&) = delete;
  ~Off() {
    static const auto enable = DT_REAL(void, glEnable, uint32_t);
    for (uint32_t cap : back_) enable(cap);
  }
  void operator()(uint32_t cap) {
    static const auto disable = DT_REAL(void, glDisable, uint32_t);
    if (!enabled(cap)) return;
    disable(cap);
    back_.push_back(cap);
  }

 private:
  std::vector<uint32_t> back_;
};

inline void tests_off(Off& off) {
  off(DEPTH_TEST);
  off(STENCIL_TEST);
  if (!is_es() && has_extension("GL_EXT_depth_bounds_test")) off(DEPTH_BOUNDS);
}
// What may leave out samples of a fragment that the rasteriser made, beside the shader.
inline void coverage_off(Off& off) {
  if (fixed_function()) off(ALPHA_TEST);
  off(ALPHA_TO_COVERAGE);
  off(SAMPLE_COVERAGE);
  if (version() >= (is_es() ? 31u : 32u)) off(SAMPLE_MASK);
}

// Colours and depth are not written for a while.
class Masked {
 public:
  Masked() {
    static const auto get = DT_REAL(void, glGetBooleanv, uint32_t, uint8_t*);
    static const auto get_indexed = DT_REAL(void, glGetBooleani_v, uint32_t, uint32_t, uint8_t*);
    static const auto color = DT_REAL(void, glColorMask, uint8_t, uint8_t, uint8_t, uint8_t);
    static const auto depth = DT_REAL(void, glDepthMask, uint8_t);
    depth_ = boolean(DEPTH_WRITEMASK);
    if (depth_) depth(0);
    buffers_ = get_indexed && version() >= 30 ? static_cast<uint32_t>(std::clamp(integer(MAX_DRAW_BUFFERS), 1, 16)) : 1;
    for (uint32_t i = 0; i < buffers_; ++i)
      buffers_ > 1 ? get_indexed(COLOR_WRITEMASK, i, colors_[i]) : get(COLOR_WRITEMASK, colors_[i]);
    color(0, 0, 0, 0);
  }
  Masked(const Masked&) = delete;
  Masked& operator=(const Masked&) = delete;
  ~Masked() {
    static const auto color = DT_REAL(void, glColorMask, uint8_t, uint8_t, uint8_t, uint8_t);
    static const auto color_indexed = DT_REAL(void, glColorMaski, uint32_t, uint8_t, uint8_t, uint8_t, uint8_t);
    static const auto depth = DT_REAL(void, glDepthMask, uint8_t);
    if (depth_) depth(1);
    bool same = true;
    for (uint32_t i = 1; i < buffers_; ++i) same = same && !memcmp(colors_[i], colors_[0], 4);
    color(colors_[0][0], colors_[0][1], colors_[0][2], colors_[0][3]);
    for (uint32_t i = 1; !same && i < buffers_; ++i)
      color_indexed(i, colors_[i][0], colors_[i][1], colors_[i][2], colors_[i][3]);
  }

 private:
  uint8_t colors_[16][4] = {};
  uint32_t buffers_ = 1;
  bool depth_ = false;
};

// The stencil test as the program has it; taken and given back while a target with 8 bits is bound, since drivers clamp
// the reference to the target that is bound.
class StencilState {
 public:
  StencilState() {
    for (size_t i = 0; i < 14; ++i) values_[i] = integer(NAMES[i]);
  }
  StencilState(const StencilState&) = delete;
  StencilState& operator=(const StencilState&) = delete;
  ~StencilState() {
    static const auto func = DT_REAL(void, glStencilFuncSeparate, uint32_t, uint32_t, int, uint32_t);
    static const auto op = DT_REAL(void, glStencilOpSeparate, uint32_t, uint32_t, uint32_t, uint32_t);
    static const auto mask = DT_REAL(void, glStencilMaskSeparate, uint32_t, uint32_t);
    for (int side = 0; side < 2; ++side) {
      const int* v = values_ + side * 7;
      uint32_t face = side ? BACK : FRONT;
      func(face, static_cast<uint32_t>(v[0]), v[1], static_cast<uint32_t>(v[2]));
      op(face, static_cast<uint32_t>(v[3]), static_cast<uint32_t>(v[4]), static_cast<uint32_t>(v[5]));
      mask(face, static_cast<uint32_t>(v[6]));
    }
  }
  // `failed`: those that fail the depth test too.
  static void count(bool failed = false) {
    static const auto func = DT_REAL(void, glStencilFuncSeparate, uint32_t, uint32_t, int, uint32_t);
    static const auto op = DT_REAL(void, glStencilOpSeparate, uint32_t, uint32_t, uint32_t, uint32_t);
    static const auto mask = DT_REAL(void, glStencilMaskSeparate, uint32_t, uint32_t);
    func(FRONT_AND_BACK, ALWAYS, 0, 0xFF);
    op(FRONT_AND_BACK, KEEP, failed ? INCREMENT : KEEP, INCREMENT);
    mask(FRONT_AND_BACK, 0xFF);
  }

 private:
  static constexpr uint32_t NAMES[14] = {STENCIL_FUNC, 0x0B97, 0x0B93, 0x0B94, 0x0B95, 0x0B96, 0x0B98,
                                         0x8800,       0x8CA3, 0x8CA4, 0x8801, 0x8802, 0x8803, 0x8CA5};
  int values_[14];
};

// The first colour buffer adds up what is drawn to it for a while; or (`step`) loses a step with each fragment,
// whatever its colour: what it held times the constant 1 - step, which rounds to one step less in the upper half of its
// range.
class Added {
 public:
  explicit Added(float step = 0) : steps_(step > 0) {
    if (steps_) {
      DT_REAL(void, glGetFloatv, uint32_t, float*)(0x8005, constant_);
      DT_REAL(void, glBlendColor, float, float, float, float)(1 - step, 1 - step, 1 - step, 1 - step);
    }
    for (size_t i = 0; i < 6; ++i) values_[i] = static_cast<uint32_t>(integer(NAMES[i]));
    if (indexed_) {
      DT_REAL(void, glGetBooleani_v, uint32_t, uint32_t, uint8_t*)(COLOR_WRITEMASK, 0, mask_);
      blends_ = DT_REAL(uint8_t, glIsEnabledi, uint32_t, uint32_t)(BLEND, 0);
    } else {
      DT_REAL(void, glGetBooleanv, uint32_t, uint8_t*)(COLOR_WRITEMASK, mask_);
      blends_ = enabled(BLEND);
    }
    static constexpr uint8_t all[4] = {1, 1, 1, 1};
    const uint32_t from = steps_ ? 0 : 1, to = steps_ ? 0x8001 : 1;  // GL_CONSTANT_COLOR
    set(from, from, to, to, 0x8006, 0x8006);
    masks(all);
    blends(true);
  }
  Added(const Added&) = delete;
  Added& operator=(const Added&) = delete;
  ~Added() {
    set(values_[0], values_[1], values_[2], values_[3], values_[4], values_[5]);
    masks(mask_);
    blends(blends_);
    if (steps_)
      DT_REAL(void, glBlendColor, float, float, float, float)(constant_[0], constant_[1], constant_[2], constant_[3]);
  }

 private:
  static constexpr uint32_t BLEND = 0x0BE2;
  void masks(const uint8_t* m) const {
    if (indexed_)
      DT_REAL(void, glColorMaski, uint32_t, uint8_t, uint8_t, uint8_t, uint8_t)(0, m[0], m[1], m[2], m[3]);
    else
      DT_REAL(void, glColorMask, uint8_t, uint8_t, uint8_t, uint8_t)(m[0], m[1], m[2], m[3]);
  }
  void blends(bool on) const {
    if (indexed_)
      gl::real<void (*)(uint32_t, uint32_t)>(on ? "glEnablei" : "glDisablei")(BLEND, 0);
    else
      gl::real<void (*)(uint32_t)>(on ? "glEnable" : "glDisable")(BLEND);
  }
  void set(uint32_t from, uint32_t from_alpha, uint32_t to, uint32_t to_alpha, uint32_t equation,
           uint32_t equation_alpha) const {
    if (!indexed_) {
      DT_REAL(void, glBlendFuncSeparate, uint32_t, uint32_t, uint32_t, uint32_t)(from, to, from_alpha, to_alpha);
      if (equation == equation_alpha)
        DT_REAL(void, glBlendEquation, uint32_t)(equation);
      else
        DT_REAL(void, glBlendEquationSeparate, uint32_t, uint32_t)(equation, equation_alpha);
      return;
    }
    static const auto factors = DT_REAL(void, glBlendFuncSeparatei, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t);
    static const auto both = DT_REAL(void, glBlendEquationi, uint32_t, uint32_t);
    static const auto each = DT_REAL(void, glBlendEquationSeparatei, uint32_t, uint32_t, uint32_t);
    factors(0, from, to, from_alpha, to_alpha);
    equation == equation_alpha ? both(0, equation) : each(0, equation, equation_alpha);
  }
  static constexpr uint32_t NAMES[6] = {0x80C9, 0x80CB, 0x80C8, 0x80CA, 0x8009, 0x883D};
  // Before OpenGL ES 3.2 all colour buffers have one state.
  const bool indexed_ = version() >= 32, steps_;
  float constant_[4] = {};
  uint32_t values_[6];
  uint8_t mask_[4] = {};
  bool blends_ = false;
};

struct Extent {
  int width = 0, height = 0;
};

// The size of the target that is drawn to; `why` it is not known.
inline bool target_size(uint32_t framebuffer, Extent& size, const char*& why) {
  if (!framebuffer) {
    EGLint w = 0, h = 0;
    EGLDisplay display = eglGetCurrentDisplay();
    EGLSurface surface = eglGetCurrentSurface(EGL_DRAW);
    if (surface == EGL_NO_SURFACE || !eglQuerySurface(display, surface, EGL_WIDTH, &w) ||
        !eglQuerySurface(display, surface, EGL_HEIGHT, &h))
      return why = "the size of the window is not known", false;
    size = {w, h};
    return true;
  }
  static const auto get = DT_REAL(void, glGetFramebufferAttachmentParameteriv, uint32_t, uint32_t, uint32_t, int*);
  static const auto bind_storage = DT_REAL(void, glBindRenderbuffer, uint32_t, uint32_t);
  static const auto storage = DT_REAL(void, glGetRenderbufferParameteriv, uint32_t, uint32_t, int*);
  static const auto bind = DT_REAL(void, glBindTexture, uint32_t, uint32_t);
  static const auto level_of = DT_REAL(void, glGetTexLevelParameteriv, uint32_t, int, uint32_t, int*);
  bool any = false;
  for (uint32_t point : {COLOR_ATTACHMENT0 + 0u, COLOR_ATTACHMENT0 + 1u, COLOR_ATTACHMENT0 + 2u, COLOR_ATTACHMENT0 + 3u,
                         static_cast<uint32_t>(DEPTH_ATTACHMENT), static_cast<uint32_t>(STENCIL_ATTACHMENT)}) {
    int type = 0, name = 0, layered = 0;
    Extent one;
    get(DRAW_FRAMEBUFFER, point, 0x8CD0, &type);
    if (take_error() || !type) continue;
    get(DRAW_FRAMEBUFFER, point, 0x8CD1, &name);
    if (version() >= 32) get(DRAW_FRAMEBUFFER, point, 0x8DA7, &layered);
    if (layered) return why = "the target has layers", false;
    if (type == static_cast<int>(RENDERBUFFER)) {
      int was = integer(RENDERBUFFER_BINDING);
      bind_storage(RENDERBUFFER, static_cast<uint32_t>(name));
      storage(RENDERBUFFER, 0x8D42, &one.width);
      storage(RENDERBUFFER, 0x8D43, &one.height);
      bind_storage(RENDERBUFFER, static_cast<uint32_t>(was));
    } else {
      if (!level_of || version() < (is_es() ? 31u : 11u)) return why = "the size of the target cannot be asked", false;
      int level = 0, face = 0;
      get(DRAW_FRAMEBUFFER, point, 0x8CD2, &level);
      get(DRAW_FRAMEBUFFER, point, 0x8CD3, &face);
      static const struct {
        uint32_t target, binding;
      } kinds[] = {{0x0DE1, 0x8069}, {0x8513, 0x8514}, {0x8C1A, 0x8C1D},
                   {0x806F, 0x806A}, {0x84F5, 0x84F6}, {0x9100, 0x9104}};
      drain_errors();
      for (auto& k : kinds) {
        int was = integer(k.binding);
        if (take_error()) continue;
        bind(k.target, static_cast<uint32_t>(name));
        if (take_error()) continue;
        level_of(k.target == 0x8513 ? static_cast<uint32_t>(face ? face : 0x8515) : k.target, level, 0x1000,
                 &one.width);
        level_of(k.target == 0x8513 ? static_cast<uint32_t>(face ? face : 0x8515) : k.target, level, 0x1001,
                 &one.height);
        bind(k.target, static_cast<uint32_t>(was));
        break;
      }
    }
    if (one.width <= 0 || one.height <= 0) return why = "the size of the target cannot be asked", false;
    size = any ? Extent{std::min(size.width, one.width), std::min(size.height, one.height)} : one;
    any = true;
  }
  if (!any) why = "the framebuffer has nothing attached";
  return any;
}

}  // namespace dt::play::metrics
