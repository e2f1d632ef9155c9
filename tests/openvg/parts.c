// Parts of paths are changed that came about in every way there is. Prints how many bytes each change reads.
#include "vg_start.h"
#include <VG/openvg.h>
#include <VG/vgu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WIDTH = 200, HEIGHT = 200 };

static VGPath new_path(void) {
  return vgCreatePath(VG_PATH_FORMAT_STANDARD, VG_PATH_DATATYPE_F, 1, 0, 0, 0, VG_PATH_CAPABILITY_ALL);
}

/* The coordinates of a change end where readable memory ends: nothing behind them may be looked at. */
static float* at_the_end(int count) {
  static char* room;
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  if (!room) {
    room = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(room + page, page, PROT_NONE);
  }
  return (float*)(room + page) - count;
}

static void change(VGPath path, int first, int segments, int coordinates) {
  float* values = at_the_end(coordinates);
  for (int i = 0; i < coordinates; i++) values[i] = (float)(20 + 13 * i % 120);
  vgModifyPathCoords(path, first, segments, values);
  vgDrawPath(path, VG_STROKE_PATH);
  if (vgGetError() != VG_NO_ERROR) exit(3);
  printf("%d ", coordinates * 4);
}

int main(void) {
  EGLDisplay display = start_vg_display();
  EGLSurface surface = start_vg(display, start_vg_config(display), WIDTH, HEIGHT);
  vgClear(0, 0, WIDTH, HEIGHT);
  VGfloat points[] = {10, 10, 60, 20, 90, 90};

  VGPath line = new_path(), rectangle = new_path(), round = new_path(), ellipse = new_path(), polygon = new_path();
  vguLine(line, 10, 10, 100, 100);
  change(line, 1, 1, 2);
  vguRect(rectangle, 10, 20, 70, 80);
  change(rectangle, 1, 2, 2);
  change(rectangle, 0, 3, 4);
  vguRoundRect(round, 10, 20, 90, 80, 10, 10);
  change(round, 2, 3, 11);
  vguEllipse(ellipse, 100, 100, 80, 60);
  change(ellipse, 1, 1, 5);
  vguPolygon(polygon, points, 3, VG_TRUE);
  change(polygon, 2, 2, 2);
  VGUArcType types[] = {VGU_ARC_OPEN, VGU_ARC_CHORD, VGU_ARC_PIE};
  for (int i = 0; i < 3; i++) {
    VGPath arc = new_path();
    vguArc(arc, 100, 100, 90, 60, 10, 300, types[i]);
    change(arc, 1, 1, 5);
    if (i == 2) change(arc, vgGetParameteri(arc, VG_PATH_NUM_SEGMENTS) - 2, 2, 2);
  }
  /* Of other paths, and one after the other. */
  VGubyte commands[] = {VG_MOVE_TO_ABS, VG_HLINE_TO_ABS, VG_SQUAD_TO_ABS, VG_SCUBIC_TO_ABS, VG_VLINE_TO_REL};
  VGfloat along[] = {10, 10, 60, 90, 90, 30, 40, 120, 130, 9};
  VGPath data = new_path(), both = new_path(), turned = new_path(), mixed = new_path(), twice = new_path();
  vgAppendPathData(data, 5, commands, along);
  change(data, 1, 2, 3);
  vgAppendPath(both, data);
  vgAppendPath(both, rectangle);
  change(both, 3, 4, 8);
  vgRotate(30);
  vgTransformPath(turned, both);
  change(turned, 1, 2, 6);
  vgInterpolatePath(mixed, data, data, 0.5f);
  change(mixed, 2, 2, 10);
  vgAppendPath(twice, data);
  vgAppendPath(twice, twice);
  change(twice, 4, 3, 4);
  /* Emptied, filled in another way, and its name used again. */
  vgClearPath(rectangle, VG_PATH_CAPABILITY_ALL);
  vguEllipse(rectangle, 100, 100, 80, 60);
  change(rectangle, 2, 2, 5);
  vgDestroyPath(line);
  line = new_path();
  vguRect(line, 10, 20, 70, 80);
  change(line, 1, 1, 1);
  eglSwapBuffers(display, surface);
  vgFinish();
  printf("\n");
  return 0;
}
