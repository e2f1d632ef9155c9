#include "beside.h"

#include <utility>

#include "../mirror/gl_state.h"
#include "gl_enums.h"

namespace dt::play {
namespace {

const char WHOLE_VIEWPORT[] =
    "void main() { gl_Position = vec4(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0, 0.0, 1.0); }\n";

}  // namespace

Beside::Beside(EGLenum api) : display_(eglGetCurrentDisplay()), context_(eglGetCurrentContext()), api_(eglQueryAPI()) {
  draw_ = eglGetCurrentSurface(EGL_DRAW);
  read_ = eglGetCurrentSurface(EGL_READ);
  if (display_ == EGL_NO_DISPLAY || context_ == EGL_NO_CONTEXT || !eglBindAPI(api)) return;
  EGLint id = 0, count = 0;
  EGLConfig config = nullptr;
  if (eglQueryContext(display_, context_, EGL_CONFIG_ID, &id) && id) {
    const EGLint wanted[] = {EGL_CONFIG_ID, id, EGL_NONE};
    if (!eglChooseConfig(display_, wanted, &config, 1, &count) || count < 1) return;
  }
  const EGLint es[] = {EGL_CONTEXT_CLIENT_VERSION, 3, EGL_NONE};
  const EGLint core[] = {
      EGL_CONTEXT_MAJOR_VERSION,           3,       EGL_CONTEXT_MINOR_VERSION, 3, EGL_CONTEXT_OPENGL_PROFILE_MASK,
      EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT, EGL_NONE};
  const EGLint* version = api == EGL_OPENGL_API ? core : es;
  own_ = eglCreateContext(display_, config, context_, version);
  if (own_ == EGL_NO_CONTEXT && api == EGL_OPENGL_ES_API) {  // of configs that are not for ES 3
    const EGLint wanted[] = {EGL_RENDERABLE_TYPE, 0x40, EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_NONE};
    if (eglChooseConfig(display_, wanted, &config, 1, &count) && count > 0)
      own_ = eglCreateContext(display_, config, context_, version);
  }
  if (own_ == EGL_NO_CONTEXT) return;
  if (driver::glFlush) driver::glFlush();
  there_ = eglMakeCurrent(display_, draw_, read_, own_);
  if (!there_) eglMakeCurrent(display_, draw_, read_, context_);
}

Beside::~Beside() {
  if (there_) eglMakeCurrent(display_, draw_, read_, context_);
  if (own_ != EGL_NO_CONTEXT) eglDestroyContext(display_, own_);
  eglBindAPI(api_);
}

bool no_errors() {
  bool none = true;
  for (int i = 0; i < 16 && driver::glGetError(); ++i) none = false;
  return none;
}

uint32_t copying_program(const char* version, const char* fragment) {
  uint32_t made = driver::glCreateProgram();
  for (auto [stage, text] :
       {std::pair{+GL_VERTEX_SHADER, &WHOLE_VIEWPORT[0]}, std::pair{+GL_FRAGMENT_SHADER, fragment}}) {
    uint32_t shader = driver::glCreateShader(stage);
    const char* texts[] = {version, text};
    driver::glShaderSource(shader, 2, texts, nullptr);
    driver::glCompileShader(shader);
    driver::glAttachShader(made, shader);
    driver::glDeleteShader(shader);
  }
  driver::glLinkProgram(made);
  int32_t linked = 0;
  driver::glGetProgramiv(made, GL_LINK_STATUS, &linked);
  return no_errors() && linked ? made : 0;
}

}  // namespace dt::play
