/* Linked to libEGL and libGLESv1_CM, with a context. */
#include "egl_context.h"
#include <GLES/gl.h>
int main(void) {
  make_context(EGL_OPENGL_ES_API, EGL_OPENGL_ES_BIT, 1);
  glMatrixMode(GL_PROJECTION);
  for (int i = 0; i < 7; i++) glLoadIdentity();
  glClear(GL_COLOR_BUFFER_BIT);
  CHECK(glGetError() == GL_NO_ERROR);
  puts("calls glLoadIdentity 7\ncalls glMatrixMode 1\ncalls glClear 1\ncalls eglCreateContext 1");
  return succeed();
}
