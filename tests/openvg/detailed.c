// Draws a simple and a detailed path, each large and small.
#include <EGL/egl.h>
#include <VG/openvg.h>
#include <VG/vgu.h>
#include <math.h>
#include <stdio.h>

enum { POINTS = 12 };

int main(void) {
  EGLDisplay display = eglGetDisplay(EGL_DEFAULT_DISPLAY);
  EGLConfig config;
  EGLint count = 0;
  const EGLint wanted[] = {
      EGL_RENDERABLE_TYPE, EGL_OPENVG_BIT, EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RED_SIZE, 8, EGL_NONE};
  const EGLint size[] = {EGL_WIDTH, 64, EGL_HEIGHT, 64, EGL_NONE};
  eglInitialize(display, NULL, NULL);
  eglBindAPI(EGL_OPENVG_API);
  if (!eglChooseConfig(display, wanted, &config, 1, &count) || !count) return 2;
  EGLSurface surface = eglCreatePbufferSurface(display, config, size);
  EGLContext context = eglCreateContext(display, config, EGL_NO_CONTEXT, NULL);
  if (!eglMakeCurrent(display, surface, surface, context)) return 3;

  VGPath square = vgCreatePath(VG_PATH_FORMAT_STANDARD, VG_PATH_DATATYPE_F, 1, 0, 0, 0, VG_PATH_CAPABILITY_ALL);
  VGPath star = vgCreatePath(VG_PATH_FORMAT_STANDARD, VG_PATH_DATATYPE_F, 1, 0, 0, 0, VG_PATH_CAPABILITY_ALL);
  vguRect(square, 0, 0, 40, 40);
  VGubyte segments[POINTS + 1];
  VGfloat points[2 * POINTS];
  for (int i = 0; i < POINTS; ++i) {
    const double turn = 6.283185307 * i / POINTS, far = i % 2 ? 10 : 20;
    segments[i] = i ? VG_LINE_TO_ABS : VG_MOVE_TO_ABS;
    points[2 * i] = (VGfloat)(20 + far * cos(turn));
    points[2 * i + 1] = (VGfloat)(20 + far * sin(turn));
  }
  segments[POINTS] = VG_CLOSE_PATH;
  vgAppendPathData(star, POINTS + 1, segments, points);

  for (int frame = 0; frame < 3; ++frame) {
    vgClear(0, 0, 64, 64);
    vgLoadIdentity();
    vgDrawPath(square, VG_FILL_PATH);
    vgDrawPath(star, VG_FILL_PATH);
    vgScale(0.05f, 0.05f);
    vgDrawPath(star, VG_FILL_PATH);
    vgDrawPath(square, VG_FILL_PATH);
    if (!eglSwapBuffers(display, surface)) return 5;
  }
  if (vgGetError() != VG_NO_ERROR) return 4;
  vgDestroyPath(square);
  vgDestroyPath(star);
  return 0;
}
