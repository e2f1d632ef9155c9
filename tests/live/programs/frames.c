/* Shows frames of a few small surfaces until its standard input ends, and tells how many, ten times a second.
 *
 * frames SURFACES EVERY [fork]: all but the first surface are shown every EVERYth time only; with fork, in a child too.
 * Without surfaces it draws into a texture, waits for that, and never shows anything. */
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES2/gl2.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef TELL /* a file with tell(number), which is called after each frame of the first surface */
#include TELL
#else
static void tell(int number) { (void)number; }
#endif

static double now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

int main(int count, char** words) {
  const int surfaces = count > 1 ? atoi(words[1]) : 1, every = count > 2 ? atoi(words[2]) : 1;
  if (count > 3 && !strcmp(words[3], "fork") && fork() == 0) setenv("FRAMES_CHILD", "1", 1);
  EGLDisplay display = eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, 0, 0);
  EGLConfig config;
  EGLint found = 0;
  const EGLint wanted[] = {EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE, EGL_OPENGL_ES2_BIT, EGL_NONE};
  const EGLint version[] = {EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE};
  const EGLint size[] = {EGL_WIDTH, 64, EGL_HEIGHT, 48, EGL_NONE};
  if (!eglInitialize(display, 0, 0) || !eglBindAPI(EGL_OPENGL_ES_API) ||
      !eglChooseConfig(display, wanted, &config, 1, &found) || !found)
    return 77;
  EGLContext context = eglCreateContext(display, config, 0, version);
  EGLSurface shown[8] = {EGL_NO_SURFACE};
  for (int i = 0; i < surfaces; i++) shown[i] = eglCreatePbufferSurface(display, config, size);
  eglMakeCurrent(display, shown[0], shown[0], context);
  eglSwapInterval(display, 0);
  if (!surfaces) {
    GLuint texture, target;
    glGenTextures(1, &texture);
    glBindTexture(GL_TEXTURE_2D, texture);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 16, 16, 0, GL_RGBA, GL_UNSIGNED_BYTE, 0);
    glGenFramebuffers(1, &target);
    glBindFramebuffer(GL_FRAMEBUFFER, target);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
  }
  double said = now();
  for (long frame = 0;; frame++) {
    for (int i = 0; i < surfaces; i++) {
      if (i && frame % every) continue;
      if (surfaces > 1) eglMakeCurrent(display, shown[i], shown[i], context);
      glClearColor(0, (float)(frame % 2), 0, 1);
      glClear(GL_COLOR_BUFFER_BIT);
      if (!eglSwapBuffers(display, shown[i])) return 78;
      if (!i) tell((int)frame);
    }
    if (!surfaces) {
      glClearColor(0, (float)(frame % 2), 0, 1);
      glClear(GL_COLOR_BUFFER_BIT);
      glFinish();
    }
    const struct timespec nap = {0, 300000};
    nanosleep(&nap, 0);
    if (now() - said > 0.1) {
      said = now();
      if (printf("%ld\n", frame) < 0 || fflush(stdout)) return 0;
      struct pollfd input = {0, POLLIN, 0};
      if (poll(&input, 1, 0) > 0) return 0;
    }
  }
}
