/* Draws whose fragments are known, in OpenGL, for what is hard to count: draws under a condition.
 * fragments_more conditional [FRAMES] */
#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include "egl_start.h"
#include "shader.h"

enum { WIDTH = 64, HEIGHT = 48 };

static void box(float left, float bottom, float right, float top, float depth) {
  const GLfloat places[] = {left, bottom, depth, right, bottom, depth, left, top, depth, right, top, depth};
  glVertexPointer(3, GL_FLOAT, 0, places);
  glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
}

/* What is hidden behind the first draw leaves out what depends on it; so does, inverted, what is seen. */
static void conditional(GLuint hidden, GLuint seen) {
  glEnable(GL_DEPTH_TEST);
  box(-1, -1, 1, 1, 0);                 /* 0 all */
  glColorMask(GL_FALSE, GL_FALSE, GL_FALSE, GL_FALSE);
  glBeginQuery(GL_SAMPLES_PASSED, hidden);
  box(-1, -1, 0, 0, 0.5f);              /* 1 in the program's own query */
  glEndQuery(GL_SAMPLES_PASSED);
  glBeginQuery(GL_SAMPLES_PASSED, seen);
  box(-1, -1, 0, 0, -0.5f);             /* 2 too */
  glEndQuery(GL_SAMPLES_PASSED);
  glColorMask(GL_TRUE, GL_TRUE, GL_TRUE, GL_TRUE);
  glDisable(GL_DEPTH_TEST);
  for (int i = 0; i < 8; i++) box(-1, -1, 1, 0, 0); /* 3 to 10 half */
  glBeginConditionalRender(hidden, GL_QUERY_WAIT);
  box(-1, -1, 1, 1, 0);                 /* 11 nothing */
  glClearColor(0, 1, 0, 1);
  glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT); /* nothing */
  glBegin(GL_QUADS);
  glVertex2f(-1, -1), glVertex2f(1, -1), glVertex2f(1, 1), glVertex2f(-1, 1);
  glEnd();                              /* 12 nothing */
  glEndConditionalRender();
  glEnable(GL_DEPTH_TEST);
  glBeginConditionalRender(seen, GL_QUERY_NO_WAIT);
  box(-1, -1, 1, 1, -0.25f);            /* 13 all, behind a quarter */
  glEndConditionalRender();
  glDisable(GL_DEPTH_TEST);
  glBeginConditionalRender(seen, GL_QUERY_BY_REGION_WAIT_INVERTED);
  box(-1, -1, 1, 1, 0);                 /* 14 nothing */
  glEndConditionalRender();
  glBeginConditionalRender(hidden, GL_QUERY_WAIT_INVERTED);
  box(0, 0, 1, 1, 0);                   /* 15 a quarter */
  glEndConditionalRender();
  box(-1, -1, 0, 1, 0);                 /* 16 half */
}

int main(int argc, char **argv) {
  int frames = argc > 2 ? atoi(argv[2]) : 4;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_BIT);
  EGLSurface window = start_pbuffer(display, config, WIDTH, HEIGHT);
  start_current(display, window, start_gl(display, config, 0, 0, 0, EGL_NO_CONTEXT));
  GLuint queries[2];
  glGenQueries(2, queries);
  glEnableClientState(GL_VERTEX_ARRAY);
  for (int frame = 0; frame < frames; frame++) {
    glViewport(0, 0, WIDTH, HEIGHT);
    glClearColor(0.25f * (float)frame, 0, 0, 1);
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT | GL_STENCIL_BUFFER_BIT);
    glColor3f(0.1f * (float)frame, 0.5f, 1);
    conditional(queries[0], queries[1]);
    eglSwapBuffers(display, window);
  }
  static unsigned char pixels[WIDTH * HEIGHT * 4];
  glReadPixels(0, 0, WIDTH, HEIGHT, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
  printf("error 0x%x, %016llx\n", glGetError(), (unsigned long long)checksum(0, pixels, sizeof pixels));
  eglTerminate(display);
  return 0;
}
