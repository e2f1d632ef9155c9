// The same pictures on two engines: `scenes N FILE` draws scene N and writes its pixels, RGBA, bottom row first.
// Compiled with SHIVA it is drawn by ShivaVG, which has no EGL and draws with OpenGL; handles are pointers there. What
// ShivaVG gets wrong is left out: it fills by non-zero what no winding encloses, and reflects the wrong point in smooth
// curves.
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <VG/openvg.h>
#include <VG/vgu.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef SHIVA
#include <GL/gl.h>
VGboolean vgCreateContextSH(VGint width, VGint height);
void vgResizeSurfaceSH(VGint width, VGint height);
#endif

enum { WIDTH = 256, HEIGHT = 256 };

static VGPath new_path(void) {
  return vgCreatePath(VG_PATH_FORMAT_STANDARD, VG_PATH_DATATYPE_F, 1, 0, 0, 0, VG_PATH_CAPABILITY_ALL);
}
static void color(VGPaintMode mode, float r, float g, float b, float a) {
  VGPaint paint = vgCreatePaint();
  VGfloat rgba[] = {r, g, b, a};
  vgSetParameteri(paint, VG_PAINT_TYPE, VG_PAINT_TYPE_COLOR);
  vgSetParameterfv(paint, VG_PAINT_COLOR, 4, rgba);
  vgSetPaint(paint, mode);
}
static VGPath star(void) {
  VGPath path = new_path();
  VGubyte commands[] = {VG_MOVE_TO_ABS, VG_LINE_TO_ABS, VG_LINE_TO_ABS, VG_LINE_TO_ABS, VG_LINE_TO_ABS, VG_CLOSE_PATH};
  VGfloat points[10];
  for (int i = 0; i < 5; i++) {
    points[2 * i] = (VGfloat)(128 + 110 * cos(M_PI / 2 + i * 4 * M_PI / 5));
    points[2 * i + 1] = (VGfloat)(128 + 110 * sin(M_PI / 2 + i * 4 * M_PI / 5));
  }
  vgAppendPathData(path, 6, commands, points);
  return path;
}
static VGPath curves(void) {
  VGPath path = new_path();
  VGubyte commands[] = {VG_MOVE_TO_ABS, VG_CUBIC_TO_ABS, VG_CUBIC_TO_ABS,
                        VG_QUAD_TO_ABS, VG_LINE_TO_ABS,  VG_CLOSE_PATH};
  VGfloat points[] = {20, 60, 60, 240, 110, 10, 140, 120, 170, 230, 220, 240, 235, 140, 245, 40, 150, 30, 60, 20};
  vgAppendPathData(path, 6, commands, points);
  return path;
}
static VGPaint gradient(VGPaintType type, VGColorRampSpreadMode spread) {
  VGPaint paint = vgCreatePaint();
  VGfloat line[] = {60, 60, 170, 120}, circle[] = {128, 128, 128, 128, 70};
  VGfloat stops[] = {0, 1, 0, 0, 1, 0.5f, 1, 1, 0, 1, 1, 0, 0.2f, 1, 1};
  vgSetParameteri(paint, VG_PAINT_TYPE, (VGint)type);
  vgSetParameteri(paint, VG_PAINT_COLOR_RAMP_SPREAD_MODE, (VGint)spread);
  vgSetParameterfv(paint, VG_PAINT_LINEAR_GRADIENT, 4, line);
  vgSetParameterfv(paint, VG_PAINT_RADIAL_GRADIENT, 5, circle);
  vgSetParameterfv(paint, VG_PAINT_COLOR_RAMP_STOPS, 15, stops);
  return paint;
}
static VGImage picture(void) {
  static VGuint pixels[64 * 64];
  for (int y = 0; y < 64; y++)
    for (int x = 0; x < 64; x++)
      pixels[y * 64 + x] =
          (VGuint)(x * 4) << 24 | (VGuint)(y * 4) << 16 | ((x / 16 + y / 16) & 1 ? 0xff00u : 0u) | 0xffu;
  VGImage image = vgCreateImage(VG_sRGBA_8888, 64, 64, VG_IMAGE_QUALITY_NONANTIALIASED);
  vgImageSubData(image, pixels, 256, VG_sRGBA_8888, 0, 0, 64, 64);
  return image;
}
static void box(VGPaint paint) {
  VGPath path = new_path();
  vguRect(path, 10, 10, 236, 236);
  vgSetPaint(paint, VG_FILL_PATH);
  vgDrawPath(path, VG_FILL_PATH);
}

static void fill_even_odd(void) {
  color(VG_FILL_PATH, 0.1f, 0.3f, 0.8f, 1);
  vgSeti(VG_FILL_RULE, VG_EVEN_ODD);
  vgDrawPath(star(), VG_FILL_PATH);
}
static void fill_curves(void) {
  color(VG_FILL_PATH, 0, 0.5f, 0.2f, 1);
  vgDrawPath(curves(), VG_FILL_PATH);
}
static void stroke(VGCapStyle cap, VGJoinStyle join) {
  color(VG_STROKE_PATH, 0.2f, 0, 0.4f, 1);
  vgSetf(VG_STROKE_LINE_WIDTH, 14);
  vgSeti(VG_STROKE_CAP_STYLE, (VGint)cap);
  vgSeti(VG_STROKE_JOIN_STYLE, (VGint)join);
  VGPath path = new_path();
  VGubyte commands[] = {VG_MOVE_TO_ABS, VG_LINE_TO_ABS, VG_LINE_TO_ABS, VG_LINE_TO_ABS};
  VGfloat points[] = {30, 40, 200, 70, 90, 200, 220, 210};
  vgAppendPathData(path, 4, commands, points);
  vgDrawPath(path, VG_STROKE_PATH);
}
static void stroke_butt(void) { stroke(VG_CAP_BUTT, VG_JOIN_MITER); }
static void stroke_round(void) { stroke(VG_CAP_ROUND, VG_JOIN_ROUND); }
static void stroke_square(void) { stroke(VG_CAP_SQUARE, VG_JOIN_BEVEL); }
static void stroke_dashed(void) {
  VGfloat dashes[] = {30, 12};
  vgSetfv(VG_STROKE_DASH_PATTERN, 2, dashes);
  vgSetf(VG_STROKE_DASH_PHASE, 7);
  stroke(VG_CAP_BUTT, VG_JOIN_BEVEL);
}
static void linear_pad(void) { box(gradient(VG_PAINT_TYPE_LINEAR_GRADIENT, VG_COLOR_RAMP_SPREAD_PAD)); }
static void linear_repeat(void) { box(gradient(VG_PAINT_TYPE_LINEAR_GRADIENT, VG_COLOR_RAMP_SPREAD_REPEAT)); }
static void linear_reflect(void) { box(gradient(VG_PAINT_TYPE_LINEAR_GRADIENT, VG_COLOR_RAMP_SPREAD_REFLECT)); }
static void radial_pad(void) { box(gradient(VG_PAINT_TYPE_RADIAL_GRADIENT, VG_COLOR_RAMP_SPREAD_PAD)); }
static void radial_reflect(void) { box(gradient(VG_PAINT_TYPE_RADIAL_GRADIENT, VG_COLOR_RAMP_SPREAD_REFLECT)); }
static void image(void) {
  vgSeti(VG_MATRIX_MODE, VG_MATRIX_IMAGE_USER_TO_SURFACE);
  vgLoadIdentity();
  vgTranslate(40, 30);
  vgScale(3, 2);
  vgDrawImage(picture());
}
static void pattern(void) {
  VGPaint paint = vgCreatePaint();
  vgSetParameteri(paint, VG_PAINT_TYPE, VG_PAINT_TYPE_PATTERN);
  vgSetParameteri(paint, VG_PAINT_PATTERN_TILING_MODE, VG_TILE_REPEAT);
  vgPaintPattern(paint, picture());
  box(paint);
}
static void matrices(void) {
  color(VG_FILL_PATH, 0.9f, 0.6f, 0, 1);
  vgSeti(VG_MATRIX_MODE, VG_MATRIX_PATH_USER_TO_SURFACE);
  vgLoadIdentity();
  vgTranslate(130, 20), vgRotate(30), vgScale(0.6f, 0.8f), vgShear(0.2f, 0.1f);
  vgDrawPath(star(), VG_FILL_PATH);
}
static void shapes(void) {
  color(VG_FILL_PATH, 0.4f, 0.4f, 0.4f, 1);
  VGPath path = new_path();
  vguRoundRect(path, 20, 20, 100, 80, 30, 20);
  vguEllipse(path, 190, 70, 90, 60);
  vguArc(path, 80, 180, 120, 100, 20, 250, VGU_ARC_PIE);
  vguArc(path, 190, 180, 90, 90, 0, -200, VGU_ARC_CHORD);
  vgDrawPath(path, VG_FILL_PATH);
}
static void blended(void) {
  fill_even_odd();
  vgSeti(VG_BLEND_MODE, VG_BLEND_DST_OVER);
  color(VG_FILL_PATH, 1, 0, 0, 1);
  vgDrawPath(curves(), VG_FILL_PATH);
  vgSeti(VG_BLEND_MODE, VG_BLEND_SRC);
  color(VG_FILL_PATH, 0, 1, 0, 1);
  VGPath path = new_path();
  vguRect(path, 100, 100, 60, 40);
  vgDrawPath(path, VG_FILL_PATH);
}
static void interpolated(void) {
  VGPath a = new_path(), b = new_path(), path = new_path();
  vguRect(a, 20, 20, 100, 100);
  vguRect(b, 60, 120, 180, 60);
  vgInterpolatePath(path, a, b, 0.4f);
  color(VG_FILL_PATH, 0, 0, 1, 1);
  vgDrawPath(path, VG_FILL_PATH);
}

static const struct {
  const char* name;
  void (*draw)(void);
} g_scenes[] = {{"even-odd", fill_even_odd},
                {"curves", fill_curves},
                {"butt", stroke_butt},
                {"round", stroke_round},
                {"square", stroke_square},
                {"dashes", stroke_dashed},
                {"linear", linear_pad},
                {"linear-repeat", linear_repeat},
                {"linear-reflect", linear_reflect},
                {"radial", radial_pad},
                {"radial-reflect", radial_reflect},
                {"image", image},
                {"pattern", pattern},
                {"matrices", matrices},
                {"shapes", shapes},
                {"blend", blended},
                {"interpolated", interpolated}};

static unsigned char g_pixels[WIDTH * HEIGHT * 4];

int main(int argc, char** argv) {
  const int count = sizeof g_scenes / sizeof *g_scenes;
  if (argc < 2) {  // which there are
    for (int i = 0; i < count; i++) puts(g_scenes[i].name);
    return 0;
  }
  EGLDisplay display = eglGetDisplay(EGL_DEFAULT_DISPLAY);
  eglInitialize(display, NULL, NULL);
#ifdef SHIVA
  const EGLint wanted[] = {EGL_RENDERABLE_TYPE,
                           EGL_OPENGL_BIT,
                           EGL_SURFACE_TYPE,
                           EGL_PBUFFER_BIT,
                           EGL_RED_SIZE,
                           8,
                           EGL_GREEN_SIZE,
                           8,
                           EGL_BLUE_SIZE,
                           8,
                           EGL_ALPHA_SIZE,
                           8,
                           EGL_STENCIL_SIZE,
                           8,
                           EGL_NONE};
  eglBindAPI(EGL_OPENGL_API);
#else
  const EGLint wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENVG_BIT, EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_NONE};
  eglBindAPI(EGL_OPENVG_API);
#endif
  const EGLint size[] = {EGL_WIDTH, WIDTH, EGL_HEIGHT, HEIGHT, EGL_NONE};
  EGLConfig config;
  EGLint found;
  if (!eglChooseConfig(display, wanted, &config, 1, &found) || found < 1) return 2;
  EGLSurface surface = eglCreatePbufferSurface(display, config, size);
  if (!eglMakeCurrent(display, surface, surface, eglCreateContext(display, config, EGL_NO_CONTEXT, NULL))) return 2;
#ifdef SHIVA
  if (!vgCreateContextSH(WIDTH, HEIGHT)) return 2;
  vgResizeSurfaceSH(WIDTH, HEIGHT);
  glViewport(0, 0, WIDTH, HEIGHT);
  glMatrixMode(GL_PROJECTION);
  glLoadIdentity();
  glOrtho(0, WIDTH, 0, HEIGHT, -1, 1);
  glMatrixMode(GL_MODELVIEW);
  glLoadIdentity();
#endif
  for (int i = 0; i < count; i++) {
    if (strcmp(argv[1], g_scenes[i].name)) continue;
    VGfloat white[] = {1, 1, 1, 1};
    vgSetfv(VG_CLEAR_COLOR, 4, white);
    vgClear(0, 0, WIDTH, HEIGHT);
    vgSeti(VG_RENDERING_QUALITY, VG_RENDERING_QUALITY_NONANTIALIASED);
    vgSeti(VG_IMAGE_QUALITY, VG_IMAGE_QUALITY_NONANTIALIASED);
    g_scenes[i].draw();
    vgFinish();
#ifdef SHIVA
    glReadPixels(0, 0, WIDTH, HEIGHT, GL_RGBA, GL_UNSIGNED_BYTE, g_pixels);
#else
    vgReadPixels(g_pixels, WIDTH * 4, VG_sABGR_8888, 0, 0, WIDTH, HEIGHT);
    eglSwapBuffers(display, surface);
#endif
    if (argc > 2) {
      FILE* file = fopen(argv[2], "wb");
      if (!file || fwrite(g_pixels, 1, sizeof g_pixels, file) != sizeof g_pixels) return 3;
      fclose(file);
    }
    return 0;
  }
  return 2;
}
