// Draws a simple and a detailed path, each large and small.
#include "vg_start.h"
#include <VG/openvg.h>
#include <VG/vgu.h>
#include <math.h>
#include <stdio.h>

enum { POINTS = 12 };

int main(void) {
  EGLDisplay display = start_vg_display();
  EGLSurface surface = start_vg(display, start_vg_config(display), 64, 64);

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
