/* A call-back for messages of the driver, with a message that the program itself inserts, and its end. */
#include <GLES3/gl32.h>
#include "egl_start.h"

static int heard;

static void GL_APIENTRY hear(GLenum source, GLenum type, GLuint id, GLenum severity, GLsizei length,
                             const GLchar* message, const void* user) {
  (void)type, (void)severity, (void)length, (void)message;
  if (source == GL_DEBUG_SOURCE_APPLICATION && id == 7 && user == &heard) heard++;
}

int main(void) {
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_ES3_BIT);
  EGLSurface surface = start_pbuffer(display, config, 16, 16);
  start_current(display, surface, start_es(display, config, 3, 2, EGL_NO_CONTEXT));
  glEnable(GL_DEBUG_OUTPUT);
  glEnable(GL_DEBUG_OUTPUT_SYNCHRONOUS);
  glDebugMessageCallback(hear, &heard);
  glDebugMessageInsert(GL_DEBUG_SOURCE_APPLICATION, GL_DEBUG_TYPE_MARKER, 7, GL_DEBUG_SEVERITY_HIGH, -1, "look here");
  glClear(GL_COLOR_BUFFER_BIT);
  eglSwapBuffers(display, surface);
  glDebugMessageCallback(NULL, NULL);
  glDebugMessageInsert(GL_DEBUG_SOURCE_APPLICATION, GL_DEBUG_TYPE_MARKER, 7, GL_DEBUG_SEVERITY_HIGH, -1,
                       "nobody hears");
  eglSwapBuffers(display, surface);
  printf("%d messages, error 0x%x\n", heard, glGetError());
  return 0;
}
