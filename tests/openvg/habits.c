// What checklists look for in programs of OpenVG: `habits HABIT bad|good`, ten frames of it.
#include "vg_start.h"
#include <VG/openvg.h>
#include <stdio.h>
#include <string.h>

enum { SIDE = 64, FRAMES = 10, SEGMENTS = 16 };

static VGuint g_pixels[16 * 16];
static VGPath g_path;
static VGImage g_image;

static VGPath zigzag(float side) {
  VGubyte commands[SEGMENTS];
  VGfloat points[2 * SEGMENTS];
  for (int i = 0; i < SEGMENTS; i++) {
    commands[i] = i ? VG_LINE_TO_ABS : VG_MOVE_TO_ABS;
    points[2 * i] = side * (float)i / (SEGMENTS - 1);
    points[2 * i + 1] = side * (float)(i % 2);
  }
  VGPath path = vgCreatePath(VG_PATH_FORMAT_STANDARD, VG_PATH_DATATYPE_F, 1, 0, 0, 0, VG_PATH_CAPABILITY_ALL);
  vgAppendPathData(path, SEGMENTS, commands, points);
  return path;
}

static VGImage picture(int seed) {
  for (int i = 0; i < 16 * 16; i++) g_pixels[i] = (VGuint)(i * 7919 + seed * 104729) << 8 | 0xff;
  VGImage image = vgCreateImage(VG_sRGBA_8888, 16, 16, VG_IMAGE_QUALITY_FASTER);
  vgImageSubData(image, g_pixels, 64, VG_sRGBA_8888, 0, 0, 16, 16);
  return image;
}

static void path_churn(int bad, int frame) {
  VGPath path = zigzag(bad ? 40 : 40.0f + (float)frame);
  vgDrawPath(path, VG_STROKE_PATH);
  vgDestroyPath(path);
}
static void image_churn(int bad, int frame) {
  VGImage image = picture(bad ? 0 : frame);
  vgDrawImage(image);
  vgDestroyImage(image);
}
static void rebuilt(int bad, int frame) {
  VGPath path = zigzag(30.0f + (float)frame);
  VGImage image = bad ? picture(frame) : g_image;
  vgDrawPath(path, VG_STROKE_PATH);
  vgDrawImage(image);
  vgDestroyPath(path);
  if (bad) vgDestroyImage(image);
}
static void tiny(int bad, int frame) {
  vgLoadIdentity();
  vgTranslate((float)frame, 0);
  if (bad) vgScale(0.05f, 0.05f);
  vgDrawPath(g_path, VG_FILL_PATH);
}
static void redundant(int bad, int frame) {
  vgSetf(VG_STROKE_LINE_WIDTH, bad ? 3 : 1.0f + (float)(frame % 2));
  vgDrawPath(g_path, VG_STROKE_PATH);
}

static const struct {
  const char* name;
  void (*draw)(int bad, int frame);
} g_habits[] = {{"vector-path-churn", path_churn},
                {"vector-image-churn", image_churn},
                {"vector-scene-rebuilt", rebuilt},
                {"tiny-detailed-paths", tiny},
                {"redundant-calls", redundant}};

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  EGLDisplay display = start_vg_display();
  EGLSurface surface = start_vg(display, start_vg_config(display), SIDE, SIDE);
  g_path = zigzag(40);
  g_image = picture(1000);
  for (size_t i = 0; i < sizeof g_habits / sizeof *g_habits; i++)
    if (!strcmp(argv[1], g_habits[i].name)) {
      for (int frame = 0; frame < FRAMES; frame++) {
        vgClear(0, 0, SIDE, SIDE);
        g_habits[i].draw(!strcmp(argv[2], "bad"), frame);
        eglSwapBuffers(display, surface);
      }
      return 0;
    }
  return 2;
}
