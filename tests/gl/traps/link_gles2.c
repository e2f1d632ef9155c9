/* Linked to libEGL and libGLESv2, with a context. */
#include "egl_context.h"
#include <GLES2/gl2.h>
int main(void) {
  make_context(EGL_OPENGL_ES_API, EGL_OPENGL_ES2_BIT, 2);
  unsigned char pixel[4] = {0};
  for (int i = 0; i < 6; i++) {
    glClearColor(1, 0, 0, 1);
    glClear(GL_COLOR_BUFFER_BIT);
  }
  glReadPixels(0, 0, 1, 1, GL_RGBA, GL_UNSIGNED_BYTE, pixel);
  CHECK(pixel[0] == 255 && pixel[1] == 0 && glGetError() == GL_NO_ERROR);
  puts("calls glClear 6\ncalls glClearColor 6\ncalls glReadPixels 1\ncalls eglInitialize 1\ncalls eglMakeCurrent 1");
  return succeed();
}
