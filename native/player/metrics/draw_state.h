// GL state that counting changes for a while, and gives back as the program has it.
#pragma once
#include <EGL/egl.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "../../mirror/texture_targets.h"
#include "source.h"
#include "gl_enums.h"

namespace dt::play::metrics {

inline bool starts(const char* name, const char* with) { return !strncmp(name, with, strlen(with)); }
inline int integer(uint32_t name) {
  int values[16] = {};  // names of several values fill as many
  driver::glGetIntegerv(name, values);
  return values[0];
}
inline bool boolean(uint32_t name) {
  uint8_t v[16] = {};
  driver::glGetBooleanv(name, v);
  return v[0];
}
inline bool enabled(uint32_t cap) { return driver::glIsEnabled(cap); }

inline uint32_t version() { return tls.context ? tls.context->version : 0; }
inline bool fixed_function() { return tls.context && (tls.context->api == 1 ? !tls.context->core : version() < 20); }

// Capabilities that are off for a while.
class Off {
 public:
  Off() = default;
  Off(const Off&) = delete;
  Off& operator=(const Off&) = delete;
  ~Off() {
    for (uint32_t cap : back_) driver::glEnable(cap);
  }
  void operator()(uint32_t cap) {
    if (!enabled(cap)) return;
    driver::glDisable(cap);
    back_.push_back(cap);
  }

 private:
  std::vector<uint32_t> back_;
};

inline void tests_off(Off& off) {
  off(GL_DEPTH_TEST);
  off(GL_STENCIL_TEST);
  if (!is_es() && has_extension("GL_EXT_depth_bounds_test")) off(GL_DEPTH_BOUNDS_TEST_EXT);
}
// The settings that may leave out samples of a fragment that the rasteriser made, beside the shader.
inline void coverage_off(Off& off) {
  if (fixed_function()) off(GL_ALPHA_TEST);
  off(GL_SAMPLE_ALPHA_TO_COVERAGE);
  off(GL_SAMPLE_COVERAGE);
  if (version() >= (is_es() ? 31u : 32u)) off(GL_SAMPLE_MASK);
}

// Colours and depth are not written for a while.
class Masked {
 public:
  Masked() {
    depth_ = boolean(GL_DEPTH_WRITEMASK);
    if (depth_) driver::glDepthMask(0);
    buffers_ = driver::glGetBooleani_v && version() >= 30
                   ? static_cast<uint32_t>(std::clamp(integer(GL_MAX_DRAW_BUFFERS), 1, 16))
                   : 1;
    for (uint32_t i = 0; i < buffers_; ++i)
      buffers_ > 1 ? driver::glGetBooleani_v(GL_COLOR_WRITEMASK, i, colors_[i])
                   : driver::glGetBooleanv(GL_COLOR_WRITEMASK, colors_[i]);
    driver::glColorMask(0, 0, 0, 0);
  }
  Masked(const Masked&) = delete;
  Masked& operator=(const Masked&) = delete;
  ~Masked() {
    if (depth_) driver::glDepthMask(1);
    bool same = true;
    for (uint32_t i = 1; i < buffers_; ++i) same = same && !memcmp(colors_[i], colors_[0], 4);
    driver::glColorMask(colors_[0][0], colors_[0][1], colors_[0][2], colors_[0][3]);
    for (uint32_t i = 1; !same && i < buffers_; ++i)
      driver::glColorMaski(i, colors_[i][0], colors_[i][1], colors_[i][2], colors_[i][3]);
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
    for (int side = 0; side < 2; ++side) {
      const int* v = values_ + side * 7;
      uint32_t face = side ? GL_BACK : GL_FRONT;
      driver::glStencilFuncSeparate(face, static_cast<uint32_t>(v[0]), v[1], static_cast<uint32_t>(v[2]));
      driver::glStencilOpSeparate(face, static_cast<uint32_t>(v[3]), static_cast<uint32_t>(v[4]),
                                  static_cast<uint32_t>(v[5]));
      driver::glStencilMaskSeparate(face, static_cast<uint32_t>(v[6]));
    }
  }
  // `failed`: those that fail the depth test too.
  static void count(bool failed = false) {
    driver::glStencilFuncSeparate(GL_FRONT_AND_BACK, GL_ALWAYS, 0, 0xFF);
    driver::glStencilOpSeparate(GL_FRONT_AND_BACK, GL_KEEP, failed ? GL_INCR : GL_KEEP, GL_INCR);
    driver::glStencilMaskSeparate(GL_FRONT_AND_BACK, 0xFF);
  }

 private:
  static constexpr uint32_t NAMES[14] = {GL_STENCIL_FUNC,
                                         GL_STENCIL_REF,
                                         GL_STENCIL_VALUE_MASK,
                                         GL_STENCIL_FAIL,
                                         GL_STENCIL_PASS_DEPTH_FAIL,
                                         GL_STENCIL_PASS_DEPTH_PASS,
                                         GL_STENCIL_WRITEMASK,
                                         GL_STENCIL_BACK_FUNC,
                                         GL_STENCIL_BACK_REF,
                                         GL_STENCIL_BACK_VALUE_MASK,
                                         GL_STENCIL_BACK_FAIL,
                                         GL_STENCIL_BACK_PASS_DEPTH_FAIL,
                                         GL_STENCIL_BACK_PASS_DEPTH_PASS,
                                         GL_STENCIL_BACK_WRITEMASK};
  int values_[14];
};

// The first colour buffer adds up the colours drawn to it for a while; or (`step`) loses a step with each fragment,
// whatever its colour. Its content times the constant 1 - step is rounded to one step less in the upper half of its
// range.
class Added {
 public:
  explicit Added(float step = 0) : steps_(step > 0) {
    if (steps_) {
      driver::glGetFloatv(GL_BLEND_COLOR, constant_);
      driver::glBlendColor(1 - step, 1 - step, 1 - step, 1 - step);
    }
    for (size_t i = 0; i < 6; ++i) values_[i] = static_cast<uint32_t>(integer(NAMES[i]));
    if (indexed_) {
      driver::glGetBooleani_v(GL_COLOR_WRITEMASK, 0, mask_);
      blends_ = driver::glIsEnabledi(GL_BLEND, 0);
    } else {
      driver::glGetBooleanv(GL_COLOR_WRITEMASK, mask_);
      blends_ = enabled(GL_BLEND);
    }
    static constexpr uint8_t all[4] = {1, 1, 1, 1};
    const uint32_t from = steps_ ? 0 : 1, to = steps_ ? GL_CONSTANT_COLOR : 1;
    set(from, from, to, to, GL_FUNC_ADD, GL_FUNC_ADD);
    masks(all);
    blends(true);
  }
  Added(const Added&) = delete;
  Added& operator=(const Added&) = delete;
  ~Added() {
    set(values_[0], values_[1], values_[2], values_[3], values_[4], values_[5]);
    masks(mask_);
    blends(blends_);
    if (steps_) driver::glBlendColor(constant_[0], constant_[1], constant_[2], constant_[3]);
  }

 private:
  void masks(const uint8_t* m) const {
    if (indexed_)
      driver::glColorMaski(0, m[0], m[1], m[2], m[3]);
    else
      driver::glColorMask(m[0], m[1], m[2], m[3]);
  }
  void blends(bool on) const {
    if (indexed_)
      (on ? driver::glEnablei : driver::glDisablei)(GL_BLEND, 0);
    else
      (on ? driver::glEnable : driver::glDisable)(GL_BLEND);
  }
  void set(uint32_t from, uint32_t from_alpha, uint32_t to, uint32_t to_alpha, uint32_t equation,
           uint32_t equation_alpha) const {
    if (!indexed_) {
      driver::glBlendFuncSeparate(from, to, from_alpha, to_alpha);
      if (equation == equation_alpha)
        driver::glBlendEquation(equation);
      else
        driver::glBlendEquationSeparate(equation, equation_alpha);
      return;
    }
    driver::glBlendFuncSeparatei(0, from, to, from_alpha, to_alpha);
    equation == equation_alpha ? driver::glBlendEquationi(0, equation)
                               : driver::glBlendEquationSeparatei(0, equation, equation_alpha);
  }
  static constexpr uint32_t NAMES[6] = {GL_BLEND_SRC_RGB,   GL_BLEND_SRC_ALPHA,    GL_BLEND_DST_RGB,
                                        GL_BLEND_DST_ALPHA, GL_BLEND_EQUATION_RGB, GL_BLEND_EQUATION_ALPHA};
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
  bool any = false;
  for (uint32_t point : {GL_COLOR_ATTACHMENT0 + 0u, GL_COLOR_ATTACHMENT0 + 1u, GL_COLOR_ATTACHMENT0 + 2u,
                         GL_COLOR_ATTACHMENT0 + 3u, GL_DEPTH_ATTACHMENT, GL_STENCIL_ATTACHMENT}) {
    auto ask = [point](uint32_t what) {
      int answer = 0;
      driver::glGetFramebufferAttachmentParameteriv(GL_DRAW_FRAMEBUFFER, point, what, &answer);
      return answer;
    };
    Extent one;
    const int type = ask(GL_FRAMEBUFFER_ATTACHMENT_OBJECT_TYPE);
    if (take_error() || !type) continue;
    const auto name = static_cast<uint32_t>(ask(GL_FRAMEBUFFER_ATTACHMENT_OBJECT_NAME));
    const bool layered = version() >= 32 && ask(GL_FRAMEBUFFER_ATTACHMENT_LAYERED);
    if (layered) return why = "the target has layers", false;
    if (type == static_cast<int>(GL_RENDERBUFFER)) {
      int was = integer(GL_RENDERBUFFER_BINDING);
      driver::glBindRenderbuffer(GL_RENDERBUFFER, name);
      driver::glGetRenderbufferParameteriv(GL_RENDERBUFFER, GL_RENDERBUFFER_WIDTH, &one.width);
      driver::glGetRenderbufferParameteriv(GL_RENDERBUFFER, GL_RENDERBUFFER_HEIGHT, &one.height);
      driver::glBindRenderbuffer(GL_RENDERBUFFER, static_cast<uint32_t>(was));
    } else {
      if (!driver::glGetTexLevelParameteriv || version() < (is_es() ? 31u : 11u))
        return why = "the size of the target cannot be read", false;
      const int level = ask(GL_FRAMEBUFFER_ATTACHMENT_TEXTURE_LEVEL),
                face = ask(GL_FRAMEBUFFER_ATTACHMENT_TEXTURE_CUBE_MAP_FACE);
      drain_errors();
      for (auto& kind : gl::TEXTURE_TARGETS) {
        const int was = integer(kind.binding);
        if (take_error()) continue;
        driver::glBindTexture(kind.target, name);
        if (take_error()) continue;
        const uint32_t image = kind.target != GL_TEXTURE_CUBE_MAP ? kind.target
                               : face                             ? static_cast<uint32_t>(face)
                                                                  : GL_TEXTURE_CUBE_MAP_POSITIVE_X;
        driver::glGetTexLevelParameteriv(image, level, GL_TEXTURE_WIDTH, &one.width);
        driver::glGetTexLevelParameteriv(image, level, GL_TEXTURE_HEIGHT, &one.height);
        driver::glBindTexture(kind.target, static_cast<uint32_t>(was));
        break;
      }
    }
    if (one.width <= 0 || one.height <= 0) return why = "the size of the target cannot be read", false;
    size = any ? Extent{std::min(size.width, one.width), std::min(size.height, one.height)} : one;
    any = true;
  }
  if (!any) why = "the framebuffer has nothing attached";
  return any;
}

}  // namespace dt::play::metrics
