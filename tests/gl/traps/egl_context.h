/* A surfaceless EGL context, for traps that link libEGL anyway. */
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include "trap.h"

static EGLDisplay trap_display;

static void make_context(EGLenum api, EGLint renderable, EGLint version) {
  trap_display = eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL);
  CHECK(trap_display != EGL_NO_DISPLAY);
  CHECK(eglInitialize(trap_display, NULL, NULL));
  CHECK(eglBindAPI(api));
  EGLint wanted[] = {EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE, renderable, EGL_RED_SIZE, 8, EGL_NONE};
  EGLConfig config;
  EGLint count = 0;
  CHECK(eglChooseConfig(trap_display, wanted, &config, 1, &count) && count == 1);
  EGLint size[] = {EGL_WIDTH, 32, EGL_HEIGHT, 32, EGL_NONE};
  EGLSurface surface = eglCreatePbufferSurface(trap_display, config, size);
  CHECK(surface != EGL_NO_SURFACE);
  EGLint attributes[] = {EGL_CONTEXT_CLIENT_VERSION, version, EGL_NONE};
  EGLint none[] = {EGL_NONE};
  EGLContext context =
      eglCreateContext(trap_display, config, EGL_NO_CONTEXT, api == EGL_OPENGL_ES_API ? attributes : none);
  CHECK(context != EGL_NO_CONTEXT);
  CHECK(eglMakeCurrent(trap_display, surface, surface, context));
}
