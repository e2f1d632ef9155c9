/* Draws whose samples and primitives are known: quads of whole pixels in two contexts, with nested debug groups, a
 * query of the program's own, a framebuffer, a display list that is compiled and one that is compiled and executed.
 * measured [FRAMES] */
#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include "egl_start.h"

enum { SIDE = 64, SMALL = 16 };

/* The lower left part of the viewport, `width` x `height` of SIDE. */
static void quad(float width, float height) {
  float x = width * 2 - 1, y = height * 2 - 1;
  glBegin(GL_QUADS);
  glVertex2f(-1, -1);
  glVertex2f(x, -1);
  glVertex2f(x, y);
  glVertex2f(-1, y);
  glEnd();
}

int main(int argc, char** argv) {
  int frames = argc > 1 ? atoi(argv[1]) : 6;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_BIT);
  EGLSurface window = start_pbuffer(display, config, SIDE, SIDE), hidden = start_pbuffer(display, config, 32, 32);
  EGLContext first = start_gl(display, config, 0, 0, 0, EGL_NO_CONTEXT),
             second = start_gl(display, config, 0, 0, 0, EGL_NO_CONTEXT);
  start_current(display, window, first);
  GLuint texture, framebuffer, query, list = glGenLists(2);
  glGenQueries(1, &query);
  glGenTextures(1, &texture);
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, SMALL, SMALL, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
  glBindTexture(GL_TEXTURE_2D, 0);
  glGenFramebuffers(1, &framebuffer);
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
  glBindFramebuffer(GL_FRAMEBUFFER, 0);
  glNewList(list, GL_COMPILE);
  quad(1, 0.25f);
  glEndList();
  const GLfloat all[] = {-1, -1, 1, -1, -1, 1, 1, 1};
  GLuint counted = 0, sum = 0;
  for (int frame = 0; frame < frames; frame++) {
    glViewport(0, 0, SIDE, SIDE);
    glClear(GL_COLOR_BUFFER_BIT);
    glColor3f(1, (float)frame / 10, 0);
    glPushDebugGroup(GL_DEBUG_SOURCE_APPLICATION, 1, -1, "world");
    quad(1, 1); /* 4096 samples */
    glPushDebugGroup(GL_DEBUG_SOURCE_APPLICATION, 2, -1, "half");
    quad(0.5f, 1); /* 2048 */
    glPopDebugGroup();
    glPopDebugGroup();
    glBeginQuery(GL_SAMPLES_PASSED, query);
    quad(0.5f, 0.5f); /* 1024, and the program counts them itself */
    glEndQuery(GL_SAMPLES_PASSED);
    glGetQueryObjectuiv(query, GL_QUERY_RESULT, &counted);
    sum += counted;
    glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
    glViewport(0, 0, SMALL, SMALL);
    quad(1, 1); /* 256 */
    glBindFramebuffer(GL_FRAMEBUFFER, 0);
    glViewport(0, 0, SIDE, SIDE);
    glCallList(list); /* 1024 */
    start_current(display, hidden, second);
    glViewport(0, 0, 32, 32);
    glClear(GL_COLOR_BUFFER_BIT);
    quad(1, 1); /* 1024, in another context */
    start_current(display, window, first);
    glEnableClientState(GL_VERTEX_ARRAY);
    glVertexPointer(2, GL_FLOAT, 0, all);
    glDrawArrays(GL_TRIANGLE_STRIP, 0, 4); /* 4096 */
    if (frame == frames - 1) {
      glNewList(list + 1, GL_COMPILE_AND_EXECUTE);
      quad(1, 0.5f); /* 2048, while a list is made */
      glEndList();
    }
    eglSwapBuffers(display, window);
  }
  unsigned char pixel[4];
  glReadPixels(3, 3, 1, 1, GL_RGBA, GL_UNSIGNED_BYTE, pixel);
  printf("error 0x%x, counted %u, red %u\n", glGetError(), sum, pixel[0]);
  eglDestroyContext(display, second);
  eglTerminate(display);
  return 0;
}
