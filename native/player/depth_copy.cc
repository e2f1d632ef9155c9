#include "depth_copy.h"

#include <EGL/egl.h>

#include <string>

#include "../runtime/gl_state.h"

namespace dt::play {
namespace {

enum : uint32_t {
  READ_FRAMEBUFFER = 0x8CA8,
  DRAW_FRAMEBUFFER = 0x8CA9,
  RENDERBUFFER = 0x8D41,
  DEPTH_ATTACHMENT = 0x8D00,
  STENCIL_ATTACHMENT = 0x8D20,
  DEPTH_STENCIL_ATTACHMENT = 0x821A,
  COLOR_ATTACHMENT0 = 0x8CE0,
  COMPLETE = 0x8CD5,
  TEXTURE_2D = 0x0DE1,
  NEAREST = 0x2600,
  DEPTH_BIT = 0x100,
  STENCIL_BIT = 0x400,
  RGBA8 = 0x8058,
  RGBA = 0x1908,
  UNSIGNED_BYTE = 0x1401,
  TRIANGLES = 4,
  VERTEX_SHADER = 0x8B31,
  FRAGMENT_SHADER = 0x8B30,
  DEPTH24_STENCIL8 = 0x88F0,
  DEPTH32F_STENCIL8 = 0x8CAD,
  STENCIL_MODE = 0x90EA,
  STENCIL_INDEX = 0x1901
};

const char VERTEX[] =
    "#version 300 es\n"
    "void main() { gl_Position = vec4(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0, 0.0, 1.0); }\n";
const char DEPTH[] =
    "#version 300 es\n"
    "precision highp float; uniform highp sampler2D values; out vec4 color;\n"
    "void main() {\n"
    "  float v = floor(clamp(texelFetch(values, ivec2(gl_FragCoord.xy), 0).r, 0.0, 1.0) * 65535.0 + 0.5), high = floor(v / 256.0);\n"
    "  color = vec4(high / 255.0, (v - high * 256.0) / 255.0, 0.0, 1.0);\n"
    "}\n";
const char STENCIL[] =
    "#version 300 es\n"
    "precision highp float; uniform highp usampler2D values; out vec4 color;\n"
    "void main() { color = vec4(float(texelFetch(values, ivec2(gl_FragCoord.xy), 0).r) / 255.0, 0.0, 0.0, 1.0); }\n";

// A context that shares objects with the current one, current in its place while this lives.
class Beside {
 public:
  Beside() : display_(eglGetCurrentDisplay()), context_(eglGetCurrentContext()), api_(eglQueryAPI()) {
    draw_ = eglGetCurrentSurface(EGL_DRAW);
    read_ = eglGetCurrentSurface(EGL_READ);
    if (display_ == EGL_NO_DISPLAY || context_ == EGL_NO_CONTEXT || !eglBindAPI(EGL_OPENGL_ES_API)) return;
    EGLint id = 0, count = 0;
    EGLConfig config = nullptr;
    if (eglQueryContext(display_, context_, EGL_CONFIG_ID, &id) && id) {
      const EGLint wanted[] = {EGL_CONFIG_ID, id, EGL_NONE};
      if (!eglChooseConfig(display_, wanted, &config, 1, &count) || count < 1) return;
    }
    const EGLint version[] = {EGL_CONTEXT_CLIENT_VERSION, 3, EGL_NONE};
    own_ = eglCreateContext(display_, config, context_, version);
    if (own_ == EGL_NO_CONTEXT) {  // of configs that are not for ES 3
      const EGLint wanted[] = {EGL_RENDERABLE_TYPE, 0x40, EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_NONE};
      if (eglChooseConfig(display_, wanted, &config, 1, &count) && count > 0)
        own_ = eglCreateContext(display_, config, context_, version);
    }
    if (own_ == EGL_NO_CONTEXT) return;
    if (auto flush = DT_REAL(void, glFlush)) flush();
    there_ = eglMakeCurrent(display_, draw_, read_, own_);
    if (!there_) eglMakeCurrent(display_, draw_, read_, context_);
  }
  ~Beside() {
    if (there_) eglMakeCurrent(display_, draw_, read_, context_);
    if (own_ != EGL_NO_CONTEXT) eglDestroyContext(display_, own_);
    eglBindAPI(api_);
  }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;
  bool there() const { return there_; }

 private:
  EGLDisplay display_;
  EGLContext context_, own_ = EGL_NO_CONTEXT;
  EGLSurface draw_ = EGL_NO_SURFACE, read_ = EGL_NO_SURFACE;
  EGLenum api_;
  bool there_ = false;
};

bool fine() {
  auto error = DT_REAL(uint32_t, glGetError);
  bool none = true;
  for (int i = 0; i < 16 && error(); ++i) none = false;
  return none;
}

bool attach(const DepthSource& from, uint32_t point) {
  if (!from.texture) {
    DT_REAL(void, glFramebufferRenderbuffer, uint32_t, uint32_t, uint32_t, uint32_t)(READ_FRAMEBUFFER, point,
                                                                                     RENDERBUFFER, from.name);
  } else {
    DT_REAL(void, glFramebufferTexture2D, uint32_t, uint32_t, uint32_t, uint32_t, int32_t)
    (READ_FRAMEBUFFER, point, from.face ? from.face : +TEXTURE_2D, from.name, from.level);
    if (!fine())
      DT_REAL(void, glFramebufferTextureLayer, uint32_t, uint32_t, uint32_t, int32_t, int32_t)(
          READ_FRAMEBUFFER, point, from.name, from.level, from.layer);
  }
  return fine() && DT_REAL(uint32_t, glCheckFramebufferStatus, uint32_t)(READ_FRAMEBUFFER) == COMPLETE;
}

// The values in a texture of ours that can be sampled; 0: there is no format in which they can be had.
uint32_t sampled(const DepthSource& from, bool depth) {
  auto bind = DT_REAL(void, glBindFramebuffer, uint32_t, uint32_t);
  auto gen_framebuffers = DT_REAL(void, glGenFramebuffers, int32_t, uint32_t*);
  auto blit = DT_REAL(void, glBlitFramebuffer, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t,
                      uint32_t, uint32_t);
  auto storage = DT_REAL(void, glTexStorage2D, uint32_t, int32_t, uint32_t, int32_t, int32_t);
  auto bind_texture = DT_REAL(void, glBindTexture, uint32_t, uint32_t);
  auto attach_texture = DT_REAL(void, glFramebufferTexture2D, uint32_t, uint32_t, uint32_t, uint32_t, int32_t);
  uint32_t framebuffers[2] = {};
  gen_framebuffers(2, framebuffers);
  bind(READ_FRAMEBUFFER, 0);
  if (from.name) {
    bind(READ_FRAMEBUFFER, framebuffers[0]);
    if (!attach(from, depth ? DEPTH_ATTACHMENT : STENCIL_ATTACHMENT) && !attach(from, DEPTH_STENCIL_ATTACHMENT))
      return 0;
  }
  bind(DRAW_FRAMEBUFFER, framebuffers[1]);
  // What is copied must have the format of what it is copied to, and not every driver tells which it is.
  for (uint32_t format : {from.format, +DEPTH24_STENCIL8, 0x81A6u, 0x81A5u, 0x8CACu, +DEPTH32F_STENCIL8}) {
    const bool both = format == DEPTH24_STENCIL8 || format == DEPTH32F_STENCIL8;
    if (!format || (!depth && !both)) continue;
    uint32_t texture = 0;
    DT_REAL(void, glGenTextures, int32_t, uint32_t*)(1, &texture);
    bind_texture(TEXTURE_2D, texture);
    storage(TEXTURE_2D, 1, format, from.width, from.height);
    attach_texture(DRAW_FRAMEBUFFER, DEPTH_STENCIL_ATTACHMENT, TEXTURE_2D, 0, 0);
    attach_texture(DRAW_FRAMEBUFFER, both ? DEPTH_STENCIL_ATTACHMENT : DEPTH_ATTACHMENT, TEXTURE_2D, texture, 0);
    if (fine() && DT_REAL(uint32_t, glCheckFramebufferStatus, uint32_t)(DRAW_FRAMEBUFFER) == COMPLETE) {
      blit(0, 0, from.width, from.height, 0, 0, from.width, from.height, depth ? DEPTH_BIT : STENCIL_BIT, NEAREST);
      if (fine()) return texture;
    }
    DT_REAL(void, glDeleteTextures, int32_t, const uint32_t*)(1, &texture);
  }
  return 0;
}

uint32_t program(const char* fragment) {
  auto create = DT_REAL(uint32_t, glCreateShader, uint32_t);
  auto source = DT_REAL(void, glShaderSource, uint32_t, int32_t, const char* const*, const int32_t*);
  auto compile = DT_REAL(void, glCompileShader, uint32_t);
  auto attach_shader = DT_REAL(void, glAttachShader, uint32_t, uint32_t);
  uint32_t made = DT_REAL(uint32_t, glCreateProgram)();
  for (auto [stage, text] : {std::pair{+VERTEX_SHADER, &VERTEX[0]}, std::pair{+FRAGMENT_SHADER, fragment}}) {
    uint32_t shader = create(stage);
    source(shader, 1, &text, nullptr);
    compile(shader);
    attach_shader(made, shader);
  }
  DT_REAL(void, glLinkProgram, uint32_t)(made);
  int32_t linked = 0;
  DT_REAL(void, glGetProgramiv, uint32_t, uint32_t, int32_t*)(made, 0x8B82, &linked);
  return fine() && linked ? made : 0;
}

}  // namespace

const char* copy_depth(const DepthSource& from, bool depth, std::vector<uint8_t>& values) {
  Beside beside;
  if (!beside.there()) return "the driver has no OpenGL ES 3 that shares objects with this context";
  auto blit = DT_REAL(void, glBlitFramebuffer, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t,
                      uint32_t, uint32_t);
  auto storage = DT_REAL(void, glTexStorage2D, uint32_t, int32_t, uint32_t, int32_t, int32_t);
  if (!blit || !storage) return "the driver has no OpenGL ES 3";
  uint32_t texture = sampled(from, depth);
  if (!texture) return "the driver does not copy it into a texture";
  uint32_t drawn = program(depth ? DEPTH : STENCIL);
  if (!drawn) return "the driver has no shader that reads it (stencil needs OpenGL ES 3.1)";
  auto parameter = DT_REAL(void, glTexParameteri, uint32_t, uint32_t, int32_t);
  parameter(TEXTURE_2D, 0x2801, NEAREST);
  parameter(TEXTURE_2D, 0x2800, NEAREST);
  if (!depth) parameter(TEXTURE_2D, STENCIL_MODE, STENCIL_INDEX);
  uint32_t framebuffer = 0, target = 0;
  DT_REAL(void, glGenFramebuffers, int32_t, uint32_t*)(1, &framebuffer);
  DT_REAL(void, glBindFramebuffer, uint32_t, uint32_t)(0x8D40, framebuffer);
  DT_REAL(void, glGenRenderbuffers, int32_t, uint32_t*)(1, &target);
  DT_REAL(void, glBindRenderbuffer, uint32_t, uint32_t)(RENDERBUFFER, target);
  DT_REAL(void, glRenderbufferStorage, uint32_t, uint32_t, int32_t, int32_t)(RENDERBUFFER, RGBA8, from.width,
                                                                             from.height);
  DT_REAL(void, glFramebufferRenderbuffer, uint32_t, uint32_t, uint32_t, uint32_t)(0x8D40, COLOR_ATTACHMENT0,
                                                                                   RENDERBUFFER, target);
  DT_REAL(void, glViewport, int32_t, int32_t, int32_t, int32_t)(0, 0, from.width, from.height);
  DT_REAL(void, glDisable, uint32_t)(0x0BD0);  // GL_DITHER
  DT_REAL(void, glUseProgram, uint32_t)(drawn);
  DT_REAL(void, glDrawArrays, uint32_t, int32_t, int32_t)(TRIANGLES, 0, 3);
  const size_t pixels = static_cast<size_t>(from.width) * static_cast<size_t>(from.height);
  std::vector<uint8_t> colors(pixels * 4);
  DT_REAL(void, glReadPixels, int32_t, int32_t, int32_t, int32_t, uint32_t, uint32_t, void*)(
      0, 0, from.width, from.height, RGBA, UNSIGNED_BYTE, colors.data());
  const bool read = fine();
  // Objects are shared: what is not deleted would stay.
  DT_REAL(void, glDeleteTextures, int32_t, const uint32_t*)(1, &texture);
  DT_REAL(void, glDeleteRenderbuffers, int32_t, const uint32_t*)(1, &target);
  DT_REAL(void, glUseProgram, uint32_t)(0);
  DT_REAL(void, glDeleteProgram, uint32_t)(drawn);
  fine();
  if (!read) return "the driver does not draw it";
  values.clear();
  for (size_t i = 0; i < pixels; ++i) {
    values.push_back(colors[i * 4]);
    if (depth) values.push_back(colors[i * 4 + 1]);
  }
  return nullptr;
}

}  // namespace dt::play
