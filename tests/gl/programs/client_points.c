/* Points from an array in client memory that holds another one for each draw; after each a question that changes
 * nothing. Every point has a pixel of its own, so that each draw is seen. Argument: points. */
#include <GLES/gl.h>
#include "egl_start.h"

enum { SIDE = 256 };

int main(int argc, char** argv) {
  int points = argc > 1 ? atoi(argv[1]) : 1000;
  if (points > SIDE * SIDE) points = SIDE * SIDE;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_ES_BIT);
  EGLSurface surface = start_pbuffer(display, config, SIDE, SIDE);
  start_current(display, surface, start_es(display, config, 1, 0, EGL_NO_CONTEXT));
  static GLfloat point[2];
  glViewport(0, 0, SIDE, SIDE);
  glClear(GL_COLOR_BUFFER_BIT);
  glVertexPointer(2, GL_FLOAT, 0, point);
  glEnableClientState(GL_VERTEX_ARRAY);
  GLenum errors = 0;
  for (int i = 0; i < points; i++) {
    point[0] = ((float)(i % SIDE) + 0.5f) / (SIDE / 2) - 1;
    point[1] = ((float)(i / SIDE) + 0.5f) / (SIDE / 2) - 1;
    glDrawArrays(GL_POINTS, 0, 1);
    errors |= glGetError();
  }
  eglSwapBuffers(display, surface);
  printf("error 0x%x\n", errors);
  eglTerminate(display);
  return 0;
}
