/* A small EGL program's start: a display that needs no window system, a pbuffer, a context. */
#ifndef DRAWTAP_TEST_EGL_START_H
#define DRAWTAP_TEST_EGL_START_H
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "egl_device.h"

/* Of the platform that $EGL_PLATFORM names; without the variable Mesa's surfaceless one, or else the default. */
static EGLDisplay start_display(void) {
  const int chosen = getenv("EGL_PLATFORM") != NULL;
  setenv("EGL_PLATFORM", "surfaceless", 0);
  const int of_device = !strcmp(getenv("EGL_PLATFORM"), "device");
  EGLDisplay display = of_device ? device_display(eglGetProcAddress) : eglGetDisplay(EGL_DEFAULT_DISPLAY);
  if (display == EGL_NO_DISPLAY && !chosen) {
    unsetenv("EGL_PLATFORM");
    display = eglGetDisplay(EGL_DEFAULT_DISPLAY);
  }
  EGLint major, minor;
  if (display == EGL_NO_DISPLAY || !eglInitialize(display, &major, &minor)) {
    fprintf(stderr, "no EGL display: 0x%x\n", eglGetError());
    exit(77);
  }
  return display;
}

/* `renderable`: EGL_OPENGL_ES2_BIT and its kind; `depth` and `stencil`: at least so many bits. */
static EGLConfig start_deep_config(EGLDisplay display, EGLint renderable, EGLint depth, EGLint stencil) {
  /* clang-format off: a row is a name and its value */
  const EGLint wanted[] = {EGL_SURFACE_TYPE,
                           EGL_PBUFFER_BIT,
                           EGL_RENDERABLE_TYPE,
                           renderable,
                           EGL_RED_SIZE,
                           8,
                           EGL_GREEN_SIZE,
                           8,
                           EGL_BLUE_SIZE,
                           8,
                           EGL_ALPHA_SIZE,
                           8,
                           EGL_DEPTH_SIZE,
                           depth,
                           EGL_STENCIL_SIZE,
                           stencil,
                           EGL_NONE};
  /* clang-format on */
  EGLConfig config;
  EGLint count = 0;
  if (!eglChooseConfig(display, wanted, &config, 1, &count) || count < 1) {
    fprintf(stderr, "no EGL config for renderable type 0x%x\n", renderable);
    exit(77);
  }
  return config;
}

static EGLConfig start_config(EGLDisplay display, EGLint renderable) {
  return start_deep_config(display, renderable, 16, 0);
}

static EGLSurface start_pbuffer(EGLDisplay display, EGLConfig config, int width, int height) {
  const EGLint size[] = {EGL_WIDTH, width, EGL_HEIGHT, height, EGL_NONE};
  EGLSurface surface = eglCreatePbufferSurface(display, config, size);
  if (surface == EGL_NO_SURFACE) {
    fprintf(stderr, "no pbuffer: 0x%x\n", eglGetError());
    exit(77);
  }
  return surface;
}

/* ES of that major version (and minor, where the driver takes it). */
static EGLContext start_es(EGLDisplay display, EGLConfig config, int major, int minor, EGLContext share) {
  const EGLint full[] = {EGL_CONTEXT_MAJOR_VERSION, major, EGL_CONTEXT_MINOR_VERSION, minor, EGL_NONE};
  const EGLint plain[] = {EGL_CONTEXT_CLIENT_VERSION, major, EGL_NONE};
  eglBindAPI(EGL_OPENGL_ES_API);
  EGLContext context = eglCreateContext(display, config, share, minor ? full : plain);
  if (context == EGL_NO_CONTEXT) {
    fprintf(stderr, "no ES %d.%d context: 0x%x\n", major, minor, eglGetError());
    exit(77);
  }
  return context;
}

/* Desktop GL; `core` 0: the compatibility profile, or whatever a plain context is. */
static EGLContext start_gl(EGLDisplay display, EGLConfig config, int major, int minor, int core, EGLContext share) {
  const EGLint full[] = {EGL_CONTEXT_MAJOR_VERSION,
                         major,
                         EGL_CONTEXT_MINOR_VERSION,
                         minor,
                         EGL_CONTEXT_OPENGL_PROFILE_MASK,
                         core ? EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT : EGL_CONTEXT_OPENGL_COMPATIBILITY_PROFILE_BIT,
                         EGL_NONE};
  eglBindAPI(EGL_OPENGL_API);
  EGLContext context = eglCreateContext(display, config, share, major ? full : NULL);
  if (context == EGL_NO_CONTEXT) {
    fprintf(stderr, "no GL %d.%d context: 0x%x\n", major, minor, eglGetError());
    exit(77);
  }
  return context;
}

static void start_current(EGLDisplay display, EGLSurface surface, EGLContext context) {
  if (!eglMakeCurrent(display, surface, surface, context)) {
    fprintf(stderr, "eglMakeCurrent failed: 0x%x\n", eglGetError());
    exit(1);
  }
}

/* FNV-1a, 64 bits: what a run prints to be compared with another run. */
static uint64_t checksum(uint64_t sum, const void* data, size_t bytes) {
  const unsigned char* p = (const unsigned char*)data;
  if (!sum) sum = 0xcbf29ce484222325ull;
  for (size_t i = 0; i < bytes; i++) sum = (sum ^ p[i]) * 0x100000001b3ull;
  return sum;
}

static uint32_t next_random(uint32_t* state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}
#endif
