// Objects that live on without their names, and much that no later frame needs: what is cut out of a recording of it
// must keep the one and leave the other. Prints a sum of each frame.
#include <EGL/egl.h>
#include <VG/openvg.h>
#include <VG/vgu.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 96, HEIGHT = 72, FRAMES = 12 };

static EGLDisplay display;
static EGLConfig config;
static EGLSurface surface;
static EGLContext context;
static VGPath moving;
static VGPaint pattern, plain;
static VGFont font;
static VGMaskLayer layer;
static VGImage sheet, part, canvas;
static VGuint pixels[32 * 32];

static VGPath new_path(void) {
  return vgCreatePath(VG_PATH_FORMAT_STANDARD, VG_PATH_DATATYPE_F, 1, 0, 0, 0, VG_PATH_CAPABILITY_ALL);
}
static const VGuint* checker(int seed) {
  for (int i = 0; i < 32 * 32; i++)
    pixels[i] = ((i / 4 + i / 128 + seed) & 1 ? 0x30c060ffu : 0x8000c0ffu) + (VGuint)(seed * 5 << 16);
  return pixels;
}
static void current(EGLSurface to) {
  if (!eglMakeCurrent(display, to, to, context)) exit(3);
}

static void make(void) {
  moving = new_path();
  VGubyte commands[] = {VG_MOVE_TO_ABS, VG_LINE_TO_ABS, VG_LINE_TO_ABS, VG_LINE_TO_ABS, VG_CLOSE_PATH};
  VGfloat points[] = {4, 4, 30, 6, 28, 30, 6, 26};
  vgAppendPathData(moving, 5, commands, points);

  // A pattern whose image is gone, a child whose parent is gone.
  sheet = vgCreateImage(VG_sRGBA_8888, 32, 32, VG_IMAGE_QUALITY_NONANTIALIASED);
  vgImageSubData(sheet, checker(0), 128, VG_sRGBA_8888, 0, 0, 32, 32);
  VGImage child = vgChildImage(sheet, 4, 4, 24, 24);
  part = vgChildImage(child, 2, 2, 16, 16);
  vgDestroyImage(child);
  VGImage tile = vgCreateImage(VG_sRGBA_8888, 32, 32, VG_IMAGE_QUALITY_NONANTIALIASED);
  vgImageSubData(tile, checker(1), 128, VG_sRGBA_8888, 0, 0, 32, 32);
  pattern = vgCreatePaint();
  vgSetParameteri(pattern, VG_PAINT_TYPE, VG_PAINT_TYPE_PATTERN);
  vgSetParameteri(pattern, VG_PAINT_PATTERN_TILING_MODE, VG_TILE_REPEAT);
  vgPaintPattern(pattern, tile);
  vgDestroyImage(tile);
  plain = vgCreatePaint();
  canvas = vgCreateImage(VG_sRGBA_8888, 20, 20, VG_IMAGE_QUALITY_NONANTIALIASED);

  // Glyphs whose outlines and images are gone.
  font = vgCreateFont(2);
  VGfloat origin[] = {0, 0}, escapement[] = {11, 1};
  VGPath outline = new_path();
  vguEllipse(outline, 5, 5, 9, 9);
  vgSetGlyphToPath(font, 0, outline, VG_FALSE, origin, escapement);
  vgDestroyPath(outline);
  VGImage bitmap = vgCreateImage(VG_A_8, 8, 8, VG_IMAGE_QUALITY_NONANTIALIASED);
  VGfloat half[] = {1, 1, 1, 0.5f};
  vgSetfv(VG_CLEAR_COLOR, 4, half);
  vgClearImage(bitmap, 0, 0, 8, 8);
  vgSetGlyphToImage(font, 1, bitmap, origin, escapement);
  vgDestroyImage(bitmap);
  layer = vgCreateMaskLayer(40, 40);
}

// What a frame has to itself: no later one needs it.
static void decoy(int frame) {
  VGPath path = new_path();
  vguRoundRect(path, 50, 40, 30, 20, 5, 5);
  VGImage image = vgCreateImage(VG_sRGBX_8888, 32, 32, VG_IMAGE_QUALITY_NONANTIALIASED),
          other = vgCreateImage(VG_sRGBX_8888, 32, 32, VG_IMAGE_QUALITY_NONANTIALIASED);
  vgImageSubData(image, checker(frame), 128, VG_sRGBX_8888, 0, 0, 32, 32);
  vgGaussianBlur(other, image, 1.5f, 1.5f, VG_TILE_PAD);
  VGPaint paint = vgCreatePaint();
  VGfloat line[] = {50, 40, 80, 60}, stops[] = {0, 1, 0, 0, 1, 1, 0, 0, 1, 1};
  vgSetParameteri(paint, VG_PAINT_TYPE, VG_PAINT_TYPE_LINEAR_GRADIENT);
  vgSetParameterfv(paint, VG_PAINT_LINEAR_GRADIENT, 4, line);
  vgSetParameterfv(paint, VG_PAINT_COLOR_RAMP_STOPS, 10, stops);
  vgSetPaint(paint, VG_FILL_PATH);
  vgDestroyPaint(paint);
  vgSeti(VG_MATRIX_MODE, VG_MATRIX_PATH_USER_TO_SURFACE);
  vgLoadIdentity();
  vgDrawPath(path, VG_FILL_PATH);
  vgSetPixels(60, 4, other, 0, 0, 32, 32);
  vgDestroyPath(path);
  vgDestroyImage(image);
  vgDestroyImage(other);
}

static void draw(int frame) {
  VGfloat white[] = {1, 1, 1, 1}, red[] = {1, 0.2f, 0, 1};
  // Now and then an image is drawn to as a surface.
  if (frame % 4 == 1) {
    EGLSurface on =
        eglCreatePbufferFromClientBuffer(display, EGL_OPENVG_IMAGE, (EGLClientBuffer)(size_t)canvas, config, NULL);
    if (on == EGL_NO_SURFACE) exit(4);
    current(on);
    vgSetfv(VG_CLEAR_COLOR, 4, red);
    vgClear(0, 0, 20, 20);
    vgSetColor(plain, 0x0000ffffu);
    vgSetPaint(plain, VG_FILL_PATH);
    vgDrawPath(moving, VG_FILL_PATH);
    current(surface);
    eglDestroySurface(display, on);
  }
  vgSetfv(VG_CLEAR_COLOR, 4, white);
  vgClear(0, 0, WIDTH, HEIGHT);
  VGfloat point[] = {30.0f + (VGfloat)frame, 6};
  vgModifyPathCoords(moving, 1, 1, point);
  if (frame % 3 == 0) vgFillMaskLayer(layer, frame, frame, 20, 20, 0.25f);
  if (frame == 2) vgImageSubData(sheet, checker(7), 128, VG_sRGBA_8888, 6, 6, 10, 10);
  if (frame == 3) vgDestroyImage(sheet);
  decoy(frame);

  vgSetPaint(pattern, VG_FILL_PATH);
  vgSetColor(plain, 0x102030ffu + ((VGuint)frame << 20));
  vgSetPaint(plain, VG_STROKE_PATH);
  vgDrawPath(moving, VG_FILL_PATH | VG_STROKE_PATH);
  vgSeti(VG_MATRIX_MODE, VG_MATRIX_IMAGE_USER_TO_SURFACE);
  vgLoadIdentity();
  vgTranslate(4, 40);
  vgDrawImage(part);
  vgTranslate(24, 0);
  vgDrawImage(canvas);
  vgMask(VG_INVALID_HANDLE, VG_FILL_MASK, 0, 0, WIDTH, HEIGHT);
  vgMask(layer, VG_INTERSECT_MASK, 40, 4, 40, 40);
  vgSeti(VG_MASKING, VG_TRUE);
  VGfloat at[] = {40, 8};
  vgSetfv(VG_GLYPH_ORIGIN, 2, at);
  VGuint glyphs[] = {0, 1, 0, 0};
  vgDrawGlyphs(font, 4, glyphs, NULL, NULL, VG_FILL_PATH, VG_FALSE);
  vgDrawGlyph(font, 1, VG_FILL_PATH, VG_FALSE);
  vgSeti(VG_MASKING, VG_FALSE);
}

// Asks how long paths are, after each thing that makes them longer.
static void ask(VGPath path) {
  vgGetParameteri(path, VG_PATH_NUM_SEGMENTS);
  vgGetParameteri(path, VG_PATH_NUM_COORDS);
}
static void lengths(void) {
  VGPath path = new_path(), other = new_path();
  VGfloat points[] = {0, 0, 5, 0, 5, 5, 0, 7};
  VGubyte commands[] = {VG_MOVE_TO_ABS, VG_HLINE_TO_REL, VG_VLINE_TO_ABS, VG_QUAD_TO_REL, VG_SCCWARC_TO_REL};
  VGfloat along[] = {1, 1, 4, 3, 2, 2, 4, 4, 3, 2, 30, 6, 6};
  ask(path);
  vguLine(path, 0, 0, 3, 3), ask(path);
  vguPolygon(path, points, 4, VG_TRUE), ask(path);
  vguPolygon(path, points, 3, VG_FALSE), ask(path);
  vguRect(path, 1, 1, 5, 6), ask(path);
  vguRoundRect(path, 1, 1, 5, 6, 1, 2), ask(path);
  vguEllipse(path, 1, 1, 5, 6), ask(path);
  vguArc(path, 1, 1, 5, 6, 10, 90, VGU_ARC_OPEN), ask(path);
  vguArc(path, 1, 1, 5, 6, 10, -180, VGU_ARC_CHORD), ask(path);
  vguArc(path, 1, 1, 5, 6, 10, 700, VGU_ARC_PIE), ask(path);
  vgAppendPathData(other, 5, commands, along), ask(other);
  vgAppendPath(other, path), ask(other);
  vgTransformPath(other, path), ask(other);
  vgInterpolatePath(path, other, other, 0.5f), ask(path);
  vgClearPath(path, VG_PATH_CAPABILITY_ALL), ask(path);
  vguRect(path, 1, 1, 0, 6), ask(path);  // refused
}

int main(void) {
  display = eglGetDisplay(EGL_DEFAULT_DISPLAY);
  eglInitialize(display, NULL, NULL);
  eglBindAPI(EGL_OPENVG_API);
  EGLint wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENVG_BIT, EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_NONE}, count;
  if (!eglChooseConfig(display, wanted, &config, 1, &count) || count != 1) return 2;
  EGLint size[] = {EGL_WIDTH, WIDTH, EGL_HEIGHT, HEIGHT, EGL_NONE};
  surface = eglCreatePbufferSurface(display, config, size);
  context = eglCreateContext(display, config, EGL_NO_CONTEXT, NULL);
  current(surface);
  make();
  static unsigned char shown[WIDTH * HEIGHT * 4];
  for (int frame = 0; frame < FRAMES; frame++) {
    draw(frame);
    vgReadPixels(shown, WIDTH * 4, VG_sRGBA_8888, 0, 0, WIDTH, HEIGHT);
    unsigned sum = 0;
    for (unsigned i = 0; i < sizeof shown; i++) sum = sum * 31 + shown[i];
    printf("frame %d: %08x, error %x\n", frame, sum, vgGetError());
    if (!eglSwapBuffers(display, surface)) return 5;
  }
  lengths();
  return 0;
}
