/* The start of a small program of OpenVG: a pbuffer and a context that is current. */
#pragma once
#include <EGL/egl.h>
#include <stdio.h>
#include <stdlib.h>

static EGLDisplay start_vg_display(void) {
  EGLDisplay display = eglGetDisplay(EGL_DEFAULT_DISPLAY);
  if (!eglInitialize(display, NULL, NULL) || !eglBindAPI(EGL_OPENVG_API)) exit(2);
  return display;
}

static EGLConfig start_vg_config(EGLDisplay display) {
  const EGLint wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENVG_BIT, EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_NONE};
  EGLConfig config;
  EGLint count = 0;
  if (!eglChooseConfig(display, wanted, &config, 1, &count) || !count) exit(2);
  return config;
}

/* Makes a context current with a pbuffer, which it returns. */
static EGLSurface start_vg(EGLDisplay display, EGLConfig config, int width, int height) {
  const EGLint size[] = {EGL_WIDTH, width, EGL_HEIGHT, height, EGL_NONE};
  EGLSurface surface = eglCreatePbufferSurface(display, config, size);
  EGLContext context = eglCreateContext(display, config, EGL_NO_CONTEXT, NULL);
  if (!eglMakeCurrent(display, surface, surface, context)) printf("no context: 0x%x\n", eglGetError()), exit(2);
  return surface;
}
