// A context beside the program's: it shares objects with it, and leaves its state alone.
#pragma once
#include <EGL/egl.h>

#include <cstdint>

namespace dt::play {

// A context that shares objects with the current one, current in its place while this lives: OpenGL ES 3, or with
// EGL_OPENGL_API the core profile of OpenGL 3.3.
class Beside {
 public:
  explicit Beside(EGLenum api);
  ~Beside();
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

// Takes the errors of the context that is current; whether there was none.
bool no_errors();

// A program that runs a fragment shader for every pixel of the viewport: `version` is the first line of its shaders.
// 0: the driver does not compile it.
uint32_t copying_program(const char* version, const char* fragment);

}  // namespace dt::play
