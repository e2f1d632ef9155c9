#include "depth_copy.h"

#include <EGL/egl.h>

#include <string>

#include "../runtime/gl_state.h"
#include "gl_enums.h"

namespace dt::play {
namespace {

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
    DT_REAL(void, glFramebufferRenderbuffer, uint32_t, uint32_t, uint32_t, uint32_t)(GL_READ_FRAMEBUFFER, point,
                                                                                     GL_RENDERBUFFER, from.name);
  } else {
    DT_REAL(void, glFramebufferTexture2D, uint32_t, uint32_t, uint32_t, uint32_t, int32_t)
    (GL_READ_FRAMEBUFFER, point, from.face ? from.face : GL_TEXTURE_2D, from.name, from.level);
    if (!fine())
      DT_REAL(void, glFramebufferTextureLayer, uint32_t, uint32_t, uint32_t, int32_t, int32_t)(
          GL_READ_FRAMEBUFFER, point, from.name, from.level, from.layer);
  }
  return fine() &&
         DT_REAL(uint32_t, glCheckFramebufferStatus, uint32_t)(GL_READ_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE;
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
  bind(GL_READ_FRAMEBUFFER, 0);
  if (from.name) {
    bind(GL_READ_FRAMEBUFFER, framebuffers[0]);
    if (!attach(from, depth ? GL_DEPTH_ATTACHMENT : GL_STENCIL_ATTACHMENT) &&
        !attach(from, GL_DEPTH_STENCIL_ATTACHMENT))
      return 0;
  }
  bind(GL_DRAW_FRAMEBUFFER, framebuffers[1]);
  // What is copied must have the format of what it is copied to, and not every driver tells which it is.
  for (uint32_t format : {from.format, GL_DEPTH24_STENCIL8, GL_DEPTH_COMPONENT24, GL_DEPTH_COMPONENT16,
                          GL_DEPTH_COMPONENT32F, GL_DEPTH32F_STENCIL8}) {
    const bool both = format == GL_DEPTH24_STENCIL8 || format == GL_DEPTH32F_STENCIL8;
    if (!format || (!depth && !both)) continue;
    uint32_t texture = 0;
    DT_REAL(void, glGenTextures, int32_t, uint32_t*)(1, &texture);
    bind_texture(GL_TEXTURE_2D, texture);
    storage(GL_TEXTURE_2D, 1, format, from.width, from.height);
    attach_texture(GL_DRAW_FRAMEBUFFER, GL_DEPTH_STENCIL_ATTACHMENT, GL_TEXTURE_2D, 0, 0);
    attach_texture(GL_DRAW_FRAMEBUFFER, both ? GL_DEPTH_STENCIL_ATTACHMENT : GL_DEPTH_ATTACHMENT, GL_TEXTURE_2D,
                   texture, 0);
    if (fine() &&
        DT_REAL(uint32_t, glCheckFramebufferStatus, uint32_t)(GL_DRAW_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE) {
      blit(0, 0, from.width, from.height, 0, 0, from.width, from.height,
           depth ? GL_DEPTH_BUFFER_BIT : GL_STENCIL_BUFFER_BIT, GL_NEAREST);
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
  for (auto [stage, text] : {std::pair{+GL_VERTEX_SHADER, &VERTEX[0]}, std::pair{+GL_FRAGMENT_SHADER, fragment}}) {
    uint32_t shader = create(stage);
    source(shader, 1, &text, nullptr);
    compile(shader);
    attach_shader(made, shader);
  }
  DT_REAL(void, glLinkProgram, uint32_t)(made);
  int32_t linked = 0;
  DT_REAL(void, glGetProgramiv, uint32_t, uint32_t, int32_t*)(made, GL_LINK_STATUS, &linked);
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
  parameter(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  parameter(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  if (!depth) parameter(GL_TEXTURE_2D, GL_DEPTH_STENCIL_TEXTURE_MODE, GL_STENCIL_INDEX);
  uint32_t framebuffer = 0, target = 0;
  DT_REAL(void, glGenFramebuffers, int32_t, uint32_t*)(1, &framebuffer);
  DT_REAL(void, glBindFramebuffer, uint32_t, uint32_t)(GL_FRAMEBUFFER, framebuffer);
  DT_REAL(void, glGenRenderbuffers, int32_t, uint32_t*)(1, &target);
  DT_REAL(void, glBindRenderbuffer, uint32_t, uint32_t)(GL_RENDERBUFFER, target);
  DT_REAL(void, glRenderbufferStorage, uint32_t, uint32_t, int32_t, int32_t)(GL_RENDERBUFFER, GL_RGBA8, from.width,
                                                                             from.height);
  DT_REAL(void, glFramebufferRenderbuffer, uint32_t, uint32_t, uint32_t, uint32_t)(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0,
                                                                                   GL_RENDERBUFFER, target);
  DT_REAL(void, glViewport, int32_t, int32_t, int32_t, int32_t)(0, 0, from.width, from.height);
  DT_REAL(void, glDisable, uint32_t)(GL_DITHER);
  DT_REAL(void, glUseProgram, uint32_t)(drawn);
  DT_REAL(void, glDrawArrays, uint32_t, int32_t, int32_t)(GL_TRIANGLES, 0, 3);
  const size_t pixels = static_cast<size_t>(from.width) * static_cast<size_t>(from.height);
  std::vector<uint8_t> colors(pixels * 4);
  DT_REAL(void, glReadPixels, int32_t, int32_t, int32_t, int32_t, uint32_t, uint32_t, void*)(
      0, 0, from.width, from.height, GL_RGBA, GL_UNSIGNED_BYTE, colors.data());
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
