// Calls of OpenVG whose results are known; prints what differs and returns how much did.
#include <EGL/egl.h>
#include <VG/openvg.h>
#include <VG/vgu.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;
#define CHECK(condition)                                                                          \
  do {                                                                                            \
    if (!(condition)) {                                                                           \
      printf("line %d: %s (egl %x, vg %x)\n", __LINE__, #condition, eglGetError(), vgGetError()); \
      failures++;                                                                                 \
    }                                                                                             \
  } while (0)
#define NEAR(value, wanted) CHECK(fabs((double)(value) - (wanted)) < 1e-3)

enum { WIDTH = 200, HEIGHT = 100 };

static VGuint pixel(int x, int y) {
  VGuint value = 0;
  vgReadPixels(&value, 4, VG_sRGBA_8888, x, y, 1, 1);
  return value;
}
static VGPath new_path(void) {
  return vgCreatePath(VG_PATH_FORMAT_STANDARD, VG_PATH_DATATYPE_F, 1, 0, 0, 0, VG_PATH_CAPABILITY_ALL);
}
static void fill_color(VGuint rgba) {
  VGPaint paint = vgCreatePaint();
  vgSetColor(paint, rgba);
  vgSetPaint(paint, VG_FILL_PATH);
  vgDestroyPaint(paint);
}
static void clear(float r, float g, float b, float a) {
  float color[] = {r, g, b, a};
  vgSetfv(VG_CLEAR_COLOR, 4, color);
  vgClear(0, 0, WIDTH, HEIGHT);
}

static void shapes(void) {
  clear(1, 0, 0, 1);
  CHECK(pixel(5, 5) == 0xff0000ff);
  VGPath path = new_path();
  CHECK(vguRect(path, 10, 10, 50, 50) == VGU_NO_ERROR);
  fill_color(0x00ff00ff);
  vgDrawPath(path, VG_FILL_PATH);
  CHECK(pixel(10, 10) == 0x00ff00ff && pixel(59, 59) == 0x00ff00ff && pixel(60, 20) == 0xff0000ff);
  // Half a pixel is covered: the mean of both colours.
  vgClearPath(path, VG_PATH_CAPABILITY_ALL);
  vguRect(path, 100.5f, 10, 20, 20);
  fill_color(0x0000ffff);
  vgDrawPath(path, VG_FILL_PATH);
  VGuint half = pixel(100, 15);
  CHECK(abs((int)(half >> 24) - 128) <= 1 && abs((int)(half >> 8 & 255) - 128) <= 1 && (half & 255) == 255);
  float x, y, width, height;
  vgPathBounds(path, &x, &y, &width, &height);
  CHECK(x == 100.5f && y == 10 && width == 20 && height == 20);
  NEAR(vgPathLength(path, 0, vgGetParameteri(path, VG_PATH_NUM_SEGMENTS)), 80);
  vgClearPath(path, VG_PATH_CAPABILITY_ALL);
  vguEllipse(path, 100, 50, 60, 60);
  NEAR(vgPathLength(path, 0, 4), 2 * M_PI * 30);
  float tx, ty;
  vgPointAlongPath(path, 0, 4, (float)(M_PI * 15), &x, &y, &tx, &ty);
  CHECK(fabs(x - 100) < 1e-3 && fabs(y - 80) < 1e-3 && tx < -0.999f);
  vgSeti(VG_MATRIX_MODE, VG_MATRIX_PATH_USER_TO_SURFACE);
  vgTranslate(10, 0);
  vgRotate(90);
  vgPathTransformedBounds(path, &x, &y, &width, &height);
  CHECK(fabs(x - -70) < 0.01 && fabs(y - 70) < 0.01 && fabs(width - 60) < 0.01);
  VGPath turned = new_path();
  vgTransformPath(turned, path);
  vgLoadIdentity();
  vgPathBounds(turned, &x, &y, &width, &height);
  CHECK(fabs(x - -70) < 0.01 && fabs(y - 70) < 0.01 && fabs(width - 60) < 0.01);
  VGPath middle = new_path();
  CHECK(vgInterpolatePath(middle, path, turned, 0.5f) == VG_TRUE);
  CHECK(vgInterpolatePath(middle, path, middle, 0.5f) == VG_TRUE);
  vgRemovePathCapabilities(path, VG_PATH_CAPABILITY_APPEND_TO);
  CHECK(vguLine(path, 0, 0, 1, 1) == VGU_PATH_CAPABILITY_ERROR);
  vgDestroyPath(path), vgDestroyPath(turned), vgDestroyPath(middle);
  CHECK(vgGetError() == VG_NO_ERROR);
}

static void datatypes(void) {
  VGPath path = vgCreatePath(VG_PATH_FORMAT_STANDARD, VG_PATH_DATATYPE_S_8, 0.5f, 10, 0, 0, VG_PATH_CAPABILITY_ALL);
  VGubyte commands[] = {VG_MOVE_TO_ABS, VG_LINE_TO_REL, VG_VLINE_TO_ABS, VG_CLOSE_PATH};
  VGbyte coordinates[] = {-20, 20, 20, -20, 40};
  vgAppendPathData(path, 4, commands, coordinates);
  CHECK(vgGetParameteri(path, VG_PATH_NUM_COORDS) == 5 && vgGetParameteri(path, VG_PATH_NUM_SEGMENTS) == 4);
  float x, y, width, height;
  vgPathBounds(path, &x, &y, &width, &height);
  CHECK(x == 0 && y == 20 && width == 20 && height == 10);
  VGbyte end = 60;
  vgModifyPathCoords(path, 2, 1, &end);
  vgPathBounds(path, &x, &y, &width, &height);
  CHECK(height == 20);
  CHECK(vgGetParameterf(path, VG_PATH_SCALE) == 0.5f);
  vgModifyPathCoords(path, 3, 2, &end);
  CHECK(vgGetError() == VG_ILLEGAL_ARGUMENT_ERROR);
  vgDestroyPath(path);
}

static void strokes(void) {
  clear(1, 1, 1, 1);
  VGPaint paint = vgCreatePaint();
  vgSetPaint(paint, VG_STROKE_PATH);
  VGPath path = new_path();
  vguLine(path, 20, 50, 60, 50);
  vgSetf(VG_STROKE_LINE_WIDTH, 10);
  vgDrawPath(path, VG_STROKE_PATH);
  CHECK(pixel(20, 45) == 0xff && pixel(59, 54) == 0xff && pixel(40, 55) == 0xffffffff && pixel(19, 50) == 0xffffffff);
  vgSeti(VG_STROKE_CAP_STYLE, VG_CAP_SQUARE);
  vgDrawPath(path, VG_STROKE_PATH);
  CHECK(pixel(15, 45) == 0xff && pixel(64, 54) == 0xff && pixel(14, 50) == 0xffffffff);
  // A segment without length is a dot of its caps, a move alone is nothing.
  clear(1, 1, 1, 1);
  vgClearPath(path, VG_PATH_CAPABILITY_ALL);
  vguLine(path, 100, 50, 100, 50);
  VGubyte move = VG_MOVE_TO_ABS;
  float away[] = {150, 50};
  vgAppendPathData(path, 1, &move, away);
  vgDrawPath(path, VG_STROKE_PATH);
  CHECK(pixel(95, 45) == 0xff && pixel(104, 54) == 0xff && pixel(94, 50) == 0xffffffff && pixel(150, 50) == 0xffffffff);
  // Dashes: 10 on, 10 off, beginning 5 late.
  clear(1, 1, 1, 1);
  vgSeti(VG_STROKE_CAP_STYLE, VG_CAP_BUTT);
  float dashes[] = {10, 10};
  vgSetfv(VG_STROKE_DASH_PATTERN, 2, dashes);
  vgSetf(VG_STROKE_DASH_PHASE, 5);
  vgClearPath(path, VG_PATH_CAPABILITY_ALL);
  vguLine(path, 0, 50, 100, 50);
  vgDrawPath(path, VG_STROKE_PATH);
  for (int x = 0; x < 100; x++) CHECK(pixel(x, 50) == ((x + 5) / 10 % 2 ? 0xffffffffu : 0xffu));
  vgSetfv(VG_STROKE_DASH_PATTERN, 0, NULL);
  vgDestroyPath(path), vgDestroyPaint(paint);
  CHECK(vgGetError() == VG_NO_ERROR);
}

// What a sensor of the current context tells.
static int64_t sensor(const char* wanted) {
  EGLint (*sensors)(void) = (EGLint (*)(void))eglGetProcAddress("eglGetSensorCountDRAWTAP");
  const char* (*name)(EGLint) = (const char* (*)(EGLint))eglGetProcAddress("eglGetSensorNameDRAWTAP");
  EGLBoolean (*whole)(EGLint, int64_t*) =
      (EGLBoolean (*)(EGLint, int64_t*))eglGetProcAddress("eglGetSensorIntegerDRAWTAP");
  int64_t told = -1;
  for (EGLint i = 0; i < sensors(); i++)
    if (!strcmp(name(i), wanted)) CHECK(whole(i, &told));
  return told;
}

// Draw a dashed line from (x0, y0) to (x1, y1) on white; return how many edges it became.
static int64_t dashed_line(float on, float off, float x0, float y0, float x1, float y1) {
  float dashes[] = {on, off};
  VGPath path = new_path();
  clear(1, 1, 1, 1);
  vgSetfv(VG_STROKE_DASH_PATTERN, 2, dashes);
  vguLine(path, x0, y0, x1, y1);
  int64_t before = sensor("tessellated_edges");
  vgDrawPath(path, VG_STROKE_PATH);
  vgSetfv(VG_STROKE_DASH_PATTERN, 0, NULL);
  vgDestroyPath(path);
  return sensor("tessellated_edges") - before;
}

static void many_dashes(void) {
  VGPaint paint = vgCreatePaint();
  vgSetPaint(paint, VG_STROKE_PATH);
  vgSetf(VG_STROKE_LINE_WIDTH, 10);
  vgSetf(VG_STROKE_DASH_PHASE, 5);
  // Of a line that leads far beyond the surface, the dashes that can be seen are made, and are where they belong.
  CHECK(dashed_line(10, 10, -2000000, 50, 2000000, 50) < 4 * (WIDTH / 20 + 4));
  for (int x = 0; x < WIDTH; x++) CHECK(pixel(x, 50) == ((x + 5) / 10 % 2 ? 0xffffffffu : 0xffu));
  CHECK(dashed_line(10, 10, -2000000, 5000, 2000000, 5000) < 16);
  // Caps reach on to the surface from where the line is beside it: here that of the dash from -13 to -3.
  vgSeti(VG_STROKE_CAP_STYLE, VG_CAP_SQUARE);
  CHECK(dashed_line(10, 20, -1500008, 50, -1, 50) < 30);
  CHECK(pixel(0, 50) == 0xff && pixel(1, 50) == 0xff && pixel(2, 50) == 0xffffffffu);
  vgSeti(VG_STROKE_CAP_STYLE, VG_CAP_BUTT);
  // Dashes far below a pixel are a line that covers their share, whatever way it leads, where it is straight and not.
  for (int way = 0; way < 3; way++) {
    const float* line = (const float[3][4]){{-5, 50, 1e7f, 50}, {50, -5, 50, 1e7f}, {0, 0, 100, 100}}[way];
    CHECK(dashed_line(1e-5f, 3e-5f, line[0], line[1], line[2], line[3]) < 4 * 16 * (WIDTH + 10));
    for (int at = 10; at < 90; at++) {
      int got = (int)(pixel(way == 1 ? 50 : at, way == 0 ? 50 : at) >> 24);
      if (abs(got - 191) > 6) printf("%d %d: %d\n", way, at, got), failures++;
    }
  }
  // Where the drawing is squeezed, fewer units are a pixel.
  vgSeti(VG_MATRIX_MODE, VG_MATRIX_PATH_USER_TO_SURFACE);
  vgScale(1, 1e-6f);
  CHECK(dashed_line(1, 3, 50, 0, 50, 1e8f) < 4 * 16 * HEIGHT * 2);
  for (int y = 1; y < HEIGHT - 1; y++) CHECK(abs((int)(pixel(50, y) >> 24) - 191) <= 6);
  vgLoadIdentity();
  // With caps that fill the gaps, the line is whole, and has them at its ends.
  vgSeti(VG_STROKE_CAP_STYLE, VG_CAP_SQUARE);
  CHECK(dashed_line(1e-5f, 3e-5f, 20, 50, 60, 50) == 4);
  CHECK(pixel(15, 45) == 0xff && pixel(64, 54) == 0xff && pixel(14, 50) == 0xffffffffu);
  vgSeti(VG_STROKE_CAP_STYLE, VG_CAP_BUTT);
  vgSetf(VG_STROKE_DASH_PHASE, 0);
  vgDestroyPaint(paint);
  CHECK(vgGetError() == VG_NO_ERROR);
}

static void blending(void) {
  static const struct {
    VGint mode;
    VGuint wanted;
  } modes[] = {
      // 50 % of (0.2, 0.4, 1.0) on opaque (1.0, 0.6, 0.0), computed by hand from section 13.2
      {VG_BLEND_SRC, 0x3366ff80},      {VG_BLEND_SRC_OVER, 0x998080ff}, {VG_BLEND_DST_OVER, 0xff9900ff},
      {VG_BLEND_SRC_IN, 0x3366ff80},   {VG_BLEND_DST_IN, 0xff990080},   {VG_BLEND_MULTIPLY, 0x996b00ff},
      {VG_BLEND_SCREEN, 0xffad80ff},   {VG_BLEND_DARKEN, 0x998000ff},   {VG_BLEND_LIGHTEN, 0xff9980ff},
      {VG_BLEND_ADDITIVE, 0xffcc80ff},
  };
  VGPath path = new_path();
  vguRect(path, 0, 0, 20, 20);
  fill_color(0x3366ff80);
  for (unsigned i = 0; i < sizeof modes / sizeof *modes; i++) {
    clear(1, 0.6f, 0, 1);
    vgSeti(VG_BLEND_MODE, modes[i].mode);
    vgDrawPath(path, VG_FILL_PATH);
    VGuint got = pixel(5, 5);
    for (int shift = 0; shift < 32; shift += 8)
      if (abs((int)(got >> shift & 255) - (int)(modes[i].wanted >> shift & 255)) > 2) {
        printf("blend mode %x: %08x for %08x\n", modes[i].mode, got, modes[i].wanted);
        failures++;
        break;
      }
  }
  vgSeti(VG_BLEND_MODE, VG_BLEND_SRC_OVER);
  vgDestroyPath(path);
}

static void images(void) {
  static const VGImageFormat formats[] = {VG_sRGBX_8888,
                                          VG_sRGBA_8888,
                                          VG_sRGBA_8888_PRE,
                                          VG_sRGB_565,
                                          VG_sRGBA_5551,
                                          VG_sRGBA_4444,
                                          VG_sL_8,
                                          VG_lRGBX_8888,
                                          VG_lRGBA_8888,
                                          VG_lRGBA_8888_PRE,
                                          VG_lL_8,
                                          VG_A_8,
                                          VG_BW_1,
                                          VG_A_1,
                                          VG_A_4,
                                          VG_sXRGB_8888,
                                          VG_sARGB_8888,
                                          VG_sARGB_8888_PRE,
                                          VG_sARGB_1555,
                                          VG_sARGB_4444,
                                          VG_lXRGB_8888,
                                          VG_lARGB_8888,
                                          VG_lARGB_8888_PRE,
                                          VG_sBGRX_8888,
                                          VG_sBGRA_8888,
                                          VG_sBGRA_8888_PRE,
                                          VG_sBGR_565,
                                          VG_sBGRA_5551,
                                          VG_sBGRA_4444,
                                          VG_lBGRX_8888,
                                          VG_lBGRA_8888,
                                          VG_lBGRA_8888_PRE,
                                          VG_sXBGR_8888,
                                          VG_sABGR_8888,
                                          VG_sABGR_8888_PRE,
                                          VG_sABGR_1555,
                                          VG_sABGR_4444,
                                          VG_lXBGR_8888,
                                          VG_lABGR_8888,
                                          VG_lABGR_8888_PRE};
  VGuint white[16 * 16], back[16 * 16];
  memset(white, 0xff, sizeof white);
  for (unsigned i = 0; i < sizeof formats / sizeof *formats; i++) {
    VGImage image = vgCreateImage(formats[i], 16, 16, VG_IMAGE_QUALITY_FASTER);
    CHECK(image != VG_INVALID_HANDLE && vgGetParameteri(image, VG_IMAGE_FORMAT) == (VGint)formats[i]);
    vgImageSubData(image, white, 64, VG_sRGBA_8888, 0, 0, 16, 16);  // every format has white
    vgGetImageSubData(image, back, 64, VG_sRGBA_8888, 0, 0, 16, 16);
    CHECK(!memcmp(white, back, sizeof back));
    vgDestroyImage(image);
  }
  CHECK(vgCreateImage(VG_sRGB_565 | 0x40, 4, 4, VG_IMAGE_QUALITY_FASTER) == VG_INVALID_HANDLE);
  CHECK(vgGetError() == VG_UNSUPPORTED_IMAGE_FORMAT_ERROR);
  // sRGB 0.5 is 0.2140 in linear light, and back again.
  VGImage linear = vgCreateImage(VG_lRGBA_8888, 1, 1, VG_IMAGE_QUALITY_FASTER);
  VGuint grey = 0x808080ff, told;
  vgImageSubData(linear, &grey, 4, VG_sRGBA_8888, 0, 0, 1, 1);
  vgGetImageSubData(linear, &told, 4, VG_lRGBA_8888, 0, 0, 1, 1);
  CHECK(told == 0x373737ff);
  vgDestroyImage(linear);
  // Rows go up; a negative stride turns them round. Children share pixels, and outlive their parents.
  VGuint data[16];
  for (VGuint i = 0; i < 16; i++) data[i] = i << 24 | 0x2030ff;
  VGImage image = vgCreateImage(VG_sRGBA_8888, 4, 4, VG_IMAGE_QUALITY_NONANTIALIASED);
  vgImageSubData(image, data + 12, -16, VG_sRGBA_8888, 0, 0, 4, 4);
  vgGetImageSubData(image, back, 16, VG_sRGBA_8888, 0, 0, 4, 4);
  CHECK(back[0] == data[12] && back[15] == data[3]);
  VGImage child = vgChildImage(image, 1, 1, 2, 2);
  vgClearImage(child, 0, 0, 1, 1);
  vgGetImageSubData(image, back, 16, VG_sRGBA_8888, 0, 0, 4, 4);
  CHECK(back[5] != data[9] && back[6] == data[10]);
  CHECK(vgGetParent(child) == image);
  vgDestroyImage(image);
  CHECK(vgGetParent(child) == child);
  clear(0, 0, 0, 1);
  vgSeti(VG_MATRIX_MODE, VG_MATRIX_IMAGE_USER_TO_SURFACE);
  vgLoadIdentity();
  vgTranslate(50, 20);
  vgDrawImage(child);
  CHECK(pixel(51, 20) == data[10] && pixel(50, 19) == 0xff && pixel(52, 20) == 0xff);
  vgLoadIdentity();
  vgDestroyImage(child);
  CHECK(vgGetError() == VG_NO_ERROR);
}

static void filters(void) {
  VGImage from = vgCreateImage(VG_sRGBA_8888, 8, 8, VG_IMAGE_QUALITY_FASTER);
  VGImage to = vgCreateImage(VG_sRGBA_8888, 8, 8, VG_IMAGE_QUALITY_FASTER);
  VGuint data[64], back[64];
  for (VGuint i = 0; i < 64; i++) data[i] = (i * 4) << 24 | (255 - i) << 16 | (i & 7) << 13 | 0xff;
  vgImageSubData(from, data, 32, VG_sRGBA_8888, 0, 0, 8, 8);
  float swap[] = {0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0};  // red and green change places
  vgColorMatrix(to, from, swap);
  vgGetImageSubData(to, back, 32, VG_sRGBA_8888, 0, 0, 8, 8);
  for (int i = 0; i < 64; i++)
    CHECK(back[i] == ((data[i] & 0xff00ffffu & 0xffffu) | data[i] >> 24 << 16 | (data[i] >> 16 & 255) << 24));
  VGshort one[] = {0, 0, 0, 0, 1, 0, 0, 0, 0}, left[] = {1, 0};
  vgConvolve(to, from, 3, 3, 1, 1, one, 1, 0, VG_TILE_PAD);
  vgGetImageSubData(to, back, 32, VG_sRGBA_8888, 0, 0, 8, 8);
  CHECK(!memcmp(back, data, sizeof data));
  // The first weight belongs to the last pixel that the kernel covers: here, the one to the right.
  VGshort unit[] = {1};
  vgSeparableConvolve(to, from, 2, 1, 0, 0, left, unit, 1, 0, VG_TILE_REPEAT);
  vgGetImageSubData(to, back, 32, VG_sRGBA_8888, 0, 0, 8, 8);
  for (int i = 0; i < 64; i++) CHECK(back[i] == data[(i & ~7) | ((i + 1) & 7)]);
  VGubyte inverted[256], same[256];
  for (int i = 0; i < 256; i++) inverted[i] = (VGubyte)(255 - i), same[i] = (VGubyte)i;
  vgLookup(to, from, inverted, same, same, same, VG_FALSE, VG_FALSE);
  vgGetImageSubData(to, back, 32, VG_sRGBA_8888, 0, 0, 8, 8);
  for (int i = 0; i < 64; i++) CHECK(back[i] == (data[i] ^ 0xff000000u));
  vgSeti(VG_FILTER_CHANNEL_MASK, VG_GREEN);
  vgGaussianBlur(to, from, 1, 1, VG_TILE_PAD);
  vgGetImageSubData(to, back + 0, 32, VG_sRGBA_8888, 0, 0, 8, 8);
  CHECK((back[20] & 0xff00ffff) == ((data[20] ^ 0xff000000u) & 0xff00ffff));
  vgSeti(VG_FILTER_CHANNEL_MASK, VG_RED | VG_GREEN | VG_BLUE | VG_ALPHA);
  vgGaussianBlur(from, from, 1, 1, VG_TILE_PAD);
  CHECK(vgGetError() == VG_ILLEGAL_ARGUMENT_ERROR);
  vgDestroyImage(from), vgDestroyImage(to);
}

static void masks(void) {
  clear(1, 1, 1, 1);
  VGPath path = new_path();
  vguRect(path, 0, 0, WIDTH, HEIGHT);
  fill_color(0x000000ff);
  vgSeti(VG_MASKING, VG_TRUE);
  vgMask(VG_INVALID_HANDLE, VG_CLEAR_MASK, 0, 0, WIDTH, HEIGHT);
  vgMask(VG_INVALID_HANDLE, VG_FILL_MASK, 10, 10, 30, 30);
  VGMaskLayer layer = vgCreateMaskLayer(20, 20);
  vgMask(layer, VG_SUBTRACT_MASK, 20, 20, 20, 20);
  vgFillMaskLayer(layer, 0, 0, 20, 20, 0.5f);
  vgMask(layer, VG_SET_MASK, 100, 50, 20, 20);
  vgDrawPath(path, VG_FILL_PATH);
  CHECK(pixel(12, 12) == 0xff && pixel(25, 25) == 0xffffffff && pixel(9, 12) == 0xffffffff);
  CHECK(abs((int)(pixel(105, 55) >> 24) - 127) <= 1);
  // A path into the mask.
  clear(1, 1, 1, 1);
  VGPath hole = new_path();
  vguEllipse(hole, 100, 50, 40, 40);
  vgRenderToMask(hole, VG_FILL_PATH, VG_SET_MASK);
  vgDrawPath(path, VG_FILL_PATH);
  CHECK(pixel(100, 50) == 0xff && pixel(78, 50) == 0xffffffff && pixel(12, 12) == 0xffffffff);
  vgCopyMask(layer, 0, 0, 90, 40, 20, 20);
  vgMask(layer, VG_SET_MASK, 0, 0, 20, 20);
  vgDrawPath(path, VG_FILL_PATH);
  CHECK(pixel(5, 5) == 0xff);
  vgSeti(VG_MASKING, VG_FALSE);
  vgDestroyMaskLayer(layer), vgDestroyPath(path), vgDestroyPath(hole);
  // Scissors, two of which overlap.
  clear(1, 1, 1, 1);
  VGint rectangles[] = {0, 0, 10, 10, 5, 5, 10, 10};
  vgSetiv(VG_SCISSOR_RECTS, 8, rectangles);
  vgSeti(VG_SCISSORING, VG_TRUE);
  clear(0, 0, 0, 1);
  vgSeti(VG_SCISSORING, VG_FALSE);
  CHECK(pixel(9, 9) == 0xff && pixel(14, 14) == 0xff && pixel(2, 12) == 0xffffffff && pixel(15, 15) == 0xffffffff);
  CHECK(vgGetError() == VG_NO_ERROR);
}

static void text(void) {
  clear(1, 1, 1, 1);
  VGFont font = vgCreateFont(2);
  VGPath box = new_path();
  vguRect(box, 0, 0, 8, 8);
  VGfloat origin[] = {0, 0}, escapement[] = {10, 0};
  vgSetGlyphToPath(font, 7, box, VG_FALSE, origin, escapement);
  vgDestroyPath(box);  // the font keeps it
  VGfloat at[] = {20, 20};
  vgSetfv(VG_GLYPH_ORIGIN, 2, at);
  fill_color(0xff);
  VGuint indices[] = {7, 7, 7};
  VGfloat adjust[] = {0, 5, 0};
  vgDrawGlyphs(font, 3, indices, adjust, NULL, VG_FILL_PATH, VG_FALSE);
  CHECK(pixel(21, 21) == 0xff && pixel(31, 21) == 0xff && pixel(29, 21) == 0xffffffff && pixel(46, 21) == 0xff);
  vgGetfv(VG_GLYPH_ORIGIN, 2, at);
  CHECK(at[0] == 55 && at[1] == 20);
  vgDrawGlyph(font, 8, VG_FILL_PATH, VG_FALSE);
  CHECK(vgGetError() == VG_ILLEGAL_ARGUMENT_ERROR);
  CHECK(vgGetParameteri(font, VG_FONT_NUM_GLYPHS) == 1);
  vgDestroyFont(font);
  CHECK(vgGetError() == VG_NO_ERROR);
}

static void errors(void) {
  vgSetfv(VG_CLEAR_COLOR, -1, NULL);
  CHECK(vgGetError() == VG_ILLEGAL_ARGUMENT_ERROR);
  vgSetf(VG_CLEAR_COLOR, 1);
  CHECK(vgGetError() == VG_ILLEGAL_ARGUMENT_ERROR);
  vgSeti(VG_FILL_RULE, 12);
  CHECK(vgGetError() == VG_ILLEGAL_ARGUMENT_ERROR && vgGeti(VG_FILL_RULE) == VG_EVEN_ODD);
  vgDrawPath(0x7fffffff, VG_FILL_PATH);
  vgSeti(VG_FILL_RULE, 12);  // the oldest error stays
  CHECK(vgGetError() == VG_BAD_HANDLE_ERROR);
  CHECK(vgGetError() == VG_NO_ERROR);
  VGPath path = new_path();
  vgAppendPathData(path, 1, (const VGubyte[]){99}, (const float[]){0, 0});
  CHECK(vgGetError() == VG_ILLEGAL_ARGUMENT_ERROR);
  vgAppendPathData(path, -4, NULL, NULL);
  CHECK(vgGetError() == VG_ILLEGAL_ARGUMENT_ERROR);
  // Coordinates that nothing can hold do no harm.
  VGubyte wild[] = {VG_MOVE_TO_ABS, VG_CUBIC_TO_ABS, VG_LCWARC_TO_REL, VG_CLOSE_PATH};
  float far[] = {NAN, INFINITY, -INFINITY, 1e30f, 1e38f, -1e38f, 3, 3, 1e-30f, 1e30f, 7, 1e9f, -1e9f};
  vgAppendPathData(path, 4, wild, far);
  float dashes[] = {1e-20f, 1e-20f};
  vgSetfv(VG_STROKE_DASH_PATTERN, 2, dashes);
  vgDrawPath(path, VG_FILL_PATH | VG_STROKE_PATH);
  vgSetfv(VG_STROKE_DASH_PATTERN, 0, NULL);
  vgDestroyPath(path);
  CHECK(vgGetError() == VG_NO_ERROR);
  CHECK(vgGetVectorSize(VG_CLEAR_COLOR) == 4 && vgGetf(VG_STROKE_MITER_LIMIT) == 4);
  CHECK(vgHardwareQuery(VG_IMAGE_FORMAT_QUERY, VG_sRGBA_8888) == VG_HARDWARE_UNACCELERATED);
  VGfloat warp[9];
  CHECK(vguComputeWarpSquareToQuad(0, 0, 2, 0, 0, 3, 2, 3, warp) == VGU_NO_ERROR);
  CHECK(warp[0] == 2 && warp[4] == 3 && warp[8] == 1);
  CHECK(vguComputeWarpQuadToSquare(0, 0, 0, 0, 0, 0, 0, 0, warp) == VGU_BAD_WARP_ERROR);
}

int main(void) {
  EGLDisplay display = eglGetDisplay(EGL_DEFAULT_DISPLAY);
  CHECK(eglInitialize(display, NULL, NULL));
  CHECK(strstr(eglQueryString(display, EGL_CLIENT_APIS), "OpenVG"));
  CHECK(eglBindAPI(EGL_OPENVG_API) && eglQueryAPI() == EGL_OPENVG_API);
  EGLint wanted[] = {EGL_RENDERABLE_TYPE,
                     EGL_OPENVG_BIT,
                     EGL_SURFACE_TYPE,
                     EGL_PBUFFER_BIT,
                     EGL_RED_SIZE,
                     8,
                     EGL_ALPHA_SIZE,
                     8,
                     EGL_ALPHA_MASK_SIZE,
                     8,
                     EGL_NONE};
  EGLConfig config;
  EGLint count, value;
  CHECK(eglChooseConfig(display, wanted, &config, 1, &count) && count == 1);
  CHECK(eglGetConfigAttrib(display, config, EGL_RENDERABLE_TYPE, &value) && value & EGL_OPENVG_BIT);
  EGLint size[] = {EGL_WIDTH, WIDTH, EGL_HEIGHT, HEIGHT, EGL_NONE};
  EGLSurface surface = eglCreatePbufferSurface(display, config, size);
  CHECK(vgGetError() == VG_NO_CONTEXT_ERROR);
  EGLContext context = eglCreateContext(display, config, EGL_NO_CONTEXT, NULL);
  CHECK(context != EGL_NO_CONTEXT && eglMakeCurrent(display, surface, surface, context));
  CHECK(eglGetCurrentContext() == context && eglGetCurrentSurface(EGL_DRAW) == surface);
  CHECK(eglQueryContext(display, context, EGL_CONTEXT_CLIENT_TYPE, &value) && value == EGL_OPENVG_API);
  shapes(), datatypes(), strokes(), many_dashes(), blending(), images(), filters(), masks(), text(), errors();

  // Objects are shared by contexts that were made so; an image can be a surface.
  EGLContext other = eglCreateContext(display, config, context, NULL);
  VGImage image = vgCreateImage(VG_sRGBA_8888, 16, 16, VG_IMAGE_QUALITY_FASTER);
  EGLSurface onto =
      eglCreatePbufferFromClientBuffer(display, EGL_OPENVG_IMAGE, (EGLClientBuffer)(uintptr_t)image, config, NULL);
  CHECK(onto != EGL_NO_SURFACE);
  vgClearImage(image, 0, 0, 4, 4);
  CHECK(vgGetError() == VG_IMAGE_IN_USE_ERROR);
  CHECK(eglMakeCurrent(display, onto, onto, other));
  clear(0, 1, 0, 1);
  CHECK(eglMakeCurrent(display, surface, surface, context) && eglDestroySurface(display, onto));
  VGuint green = 0;
  vgGetImageSubData(image, &green, 4, VG_sRGBA_8888, 3, 3, 1, 1);
  CHECK(green == 0x00ff00ff);
  // Sensors: what was done is counted.
  EGLBoolean (*reset)(void) = (EGLBoolean (*)(void))eglGetProcAddress("eglResetSensorsDRAWTAP");
  CHECK(reset && reset());
  VGPath square = new_path();
  vguRect(square, 10, 10, 20, 20);
  vgDrawPath(square, VG_FILL_PATH);
  CHECK(sensor("rasterizer_pixels") == 400);
  CHECK(sensor("render_calls") == 1 && sensor("created_objects") == 1);
  CHECK(sensor("path_segments") == 5);
  CHECK(sensor("tessellated_edges") == 4 && sensor("accepted_edges") == 4);
  CHECK(eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT));
  CHECK(eglDestroyContext(display, context) && eglDestroyContext(display, other) &&
        eglDestroySurface(display, surface));
  CHECK(eglTerminate(display));
  printf("%d differ\n", failures);
  return failures != 0;
}
