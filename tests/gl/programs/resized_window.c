/* A window of X11 whose size changes between frames; what is drawn depends on the size.
 * resized_window [FRAMES]
 * resized_window FRAMES first: its size changes once, before anything is drawn to it.
 * resized_window SECONDS unnoticed: another one changes its size once, and for so long the program goes on as before.
 */
#include <GLES2/gl2.h>
#include <X11/Xlib.h>
#include <time.h>
#include "egl_start.h"

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char** argv) {
  int frames = argc > 1 ? atoi(argv[1]) : 6;
  Display* x = XOpenDisplay(NULL);
  if (!x) {
    fprintf(stderr, "no X11 display\n");
    return 77;
  }
  EGLDisplay display = eglGetDisplay((EGLNativeDisplayType)x);
  EGLint major, minor;
  if (!eglInitialize(display, &major, &minor)) return 77;
  const EGLint wanted[] = {EGL_SURFACE_TYPE, EGL_WINDOW_BIT, EGL_RENDERABLE_TYPE, EGL_OPENGL_ES2_BIT, EGL_RED_SIZE, 8,
                           EGL_NONE};
  EGLConfig config;
  EGLint count = 0, visual = 0;
  if (!eglChooseConfig(display, wanted, &config, 1, &count) || count < 1) return 77;
  eglGetConfigAttrib(display, config, EGL_NATIVE_VISUAL_ID, &visual);
  Window window = XCreateSimpleWindow(x, DefaultRootWindow(x), 0, 0, 60, 40, 0, 0, 0);
  XMapWindow(x, window);
  XSync(x, False);
  EGLSurface surface = eglCreateWindowSurface(display, config, (EGLNativeWindowType)window, NULL);
  if (surface == EGL_NO_SURFACE) return 77;
  start_current(display, surface, start_es(display, config, 2, 0, EGL_NO_CONTEXT));
  if (argc > 2 && !strcmp(argv[2], "first")) {
    XResizeWindow(x, window, 72, 88);
    XSync(x, False);
    for (int i = 0; i < frames; i++) {
      glViewport(0, 0, 72, 88);
      glClearColor(0.2f, 0.1f * (float)i, 0.3f, 1);
      glClear(GL_COLOR_BUFFER_BIT);
      glEnable(GL_SCISSOR_TEST);
      glScissor(40, 60, 32, 28); /* above what the window was at first */
      glClearColor(1, 0.1f * (float)i, 0, 1);
      glClear(GL_COLOR_BUFFER_BIT);
      glDisable(GL_SCISSOR_TEST);
      eglSwapBuffers(display, surface);
    }
    return 0;
  }
  if (argc > 2) {
    const struct timespec nap = {0, 2000000};
    glViewport(0, 0, 60, 40);
    glClear(GL_COLOR_BUFFER_BIT);
    eglSwapBuffers(display, surface);
    XResizeWindow(x, window, 96, 64);
    XSync(x, False);
    for (double end = seconds_now() + frames; seconds_now() < end; nanosleep(&nap, NULL)) {
      glClear(GL_COLOR_BUFFER_BIT);
      eglSwapBuffers(display, surface);
    }
    return 0;
  }
  for (int i = 0; i < frames; i++) {
    int third = i * 3 / frames,
        width = third == 0   ? 60
                : third == 1 ? 96
                             : 33,
        height = third == 0   ? 40
                 : third == 1 ? 64
                              : 50;
    glViewport(0, 0, width, height);
    glDisable(GL_SCISSOR_TEST);
    glClearColor(0.1f, 0.1f * (float)i, 0.3f, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    glEnable(GL_SCISSOR_TEST);
    glScissor(width - 20, height - 10, 20, 10);
    glClearColor(1, 0.1f * (float)i, 0, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    if (i + 1 == (frames + 2) / 3) XResizeWindow(x, window, 96, 64);
    if (i + 1 == (2 * frames + 2) / 3) XResizeWindow(x, window, 33, 50);
    XSync(x, False);
    eglSwapBuffers(display, surface);
  }
  eglTerminate(display);
  XCloseDisplay(x);
  return 0;
}
