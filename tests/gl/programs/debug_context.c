/* A debug context, in which messages are on at first. debug_context attribute|flags: how it asks for the context. */
#include <GLES3/gl32.h>
#include "egl_start.h"

int main(int argc, char** argv) {
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_ES3_BIT);
  const int flags = argc > 1 && !strcmp(argv[1], "flags");
  const EGLint wanted[] = {EGL_CONTEXT_MAJOR_VERSION,
                           3,
                           EGL_CONTEXT_MINOR_VERSION,
                           2,
                           flags ? EGL_CONTEXT_FLAGS_KHR : EGL_CONTEXT_OPENGL_DEBUG,
                           flags ? EGL_CONTEXT_OPENGL_DEBUG_BIT_KHR : EGL_TRUE,
                           EGL_NONE};
  eglBindAPI(EGL_OPENGL_ES_API);
  EGLContext context = eglCreateContext(display, config, EGL_NO_CONTEXT, wanted);
  if (context == EGL_NO_CONTEXT) return 77;
  EGLSurface surface = start_pbuffer(display, config, 16, 16);
  start_current(display, surface, context);
  for (int i = 0; i < 2; i++) {
    glClear(GL_COLOR_BUFFER_BIT);
    eglSwapBuffers(display, surface);
    glDisable(GL_DEBUG_OUTPUT);
  }
  return 0;
}
