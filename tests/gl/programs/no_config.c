/* A context of no configuration, current without a surface first, then with one of no alpha: as compositors do. What is
 * blended over the window shows whether it has alpha. no_config [FRAMES] */
#include <GLES2/gl2.h>
#include "egl_start.h"

int main(int argc, char** argv) {
  int frames = argc > 1 ? atoi(argv[1]) : 3;
  EGLDisplay display = start_display();
  const char* extensions = eglQueryString(display, EGL_EXTENSIONS);
  if (!strstr(extensions, "EGL_KHR_no_config_context") || !strstr(extensions, "EGL_KHR_surfaceless_context")) return 77;
  EGLContext context = start_es(display, EGL_NO_CONFIG_KHR, 2, 0, EGL_NO_CONTEXT);
  start_current(display, EGL_NO_SURFACE, context);
  const EGLint wanted[] = {EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE, EGL_OPENGL_ES2_BIT, EGL_NONE};
  EGLConfig all[256], config = NULL;
  EGLint count = 0;
  eglChooseConfig(display, wanted, all, 256, &count);
  for (int i = 0; i < count && !config; i++) {
    EGLint red, alpha, depth, samples;
    eglGetConfigAttrib(display, all[i], EGL_RED_SIZE, &red);
    eglGetConfigAttrib(display, all[i], EGL_ALPHA_SIZE, &alpha);
    eglGetConfigAttrib(display, all[i], EGL_DEPTH_SIZE, &depth);
    eglGetConfigAttrib(display, all[i], EGL_SAMPLES, &samples);
    if (red == 8 && !alpha && !depth && !samples) config = all[i];
  }
  if (!config) return 77;
  EGLSurface surface = start_pbuffer(display, config, 48, 32);
  start_current(display, surface, context);
  glViewport(0, 0, 48, 32);
  for (int i = 0; i < frames; i++) {
    glClearColor(0.1f * (float)i, 0.4f, 0.6f, 0.25f);
    glClear(GL_COLOR_BUFFER_BIT);
    glEnable(GL_SCISSOR_TEST);
    glScissor(8 + i, 8, 16, 16);
    glClearColor(1, 0, 0.1f * (float)i, 0.5f);
    glClear(GL_COLOR_BUFFER_BIT);
    glDisable(GL_SCISSOR_TEST);
    eglSwapBuffers(display, surface);
  }
  eglTerminate(display);
  return 0;
}
