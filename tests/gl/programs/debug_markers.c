/* Debug groups, labels and messages of KHR_debug: nested groups, texts with and without a length, texts longer than a
 * record holds, a group that is never closed. */
#include <GLES3/gl32.h>
#include "egl_start.h"

enum { SIDE = 16 };

int main(void) {
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_ES3_BIT);
  EGLSurface surface = start_pbuffer(display, config, SIDE, SIDE);
  start_current(display, surface, start_es(display, config, 3, 2, EGL_NO_CONTEXT));
  GLuint texture;
  char name[64] = "", long_text[600];
  GLsizei length = 0;

  glGenTextures(1, &texture);
  glBindTexture(GL_TEXTURE_2D, texture);
  glObjectLabel(GL_TEXTURE, texture, -1, "bricks");
  glObjectLabel(GL_TEXTURE, texture, 5, "wallsXXXX");
  glGetObjectLabel(GL_TEXTURE, texture, sizeof name, &length, name);
  memset(long_text, 'm', sizeof long_text);
  memcpy(long_text, "begin ", 6);

  glPushDebugGroup(GL_DEBUG_SOURCE_APPLICATION, 1, -1, "frame");
  glClear(GL_COLOR_BUFFER_BIT);
  glPushDebugGroup(GL_DEBUG_SOURCE_APPLICATION, 2, 6, "shadowXXXX");
  glFlush();
  glDebugMessageInsert(GL_DEBUG_SOURCE_APPLICATION, GL_DEBUG_TYPE_MARKER, 3, GL_DEBUG_SEVERITY_NOTIFICATION, 300,
                       long_text);
  glPopDebugGroup();
  glPushDebugGroup(GL_DEBUG_SOURCE_APPLICATION, 4, -1, "lighting \"quoted\"\n");
  glPopDebugGroup();
  glPopDebugGroup();
  eglSwapBuffers(display, surface);
  glPushDebugGroup(GL_DEBUG_SOURCE_APPLICATION, 5, -1, "never closed");
  glFinish();
  printf("label %s of %d, error 0x%x\n", name, (int)length, glGetError());
  return 0;
}
