// A few frames that use all of OpenVG: what is recorded of it must draw the same pixels again. Prints a sum of each
// frame.
#include <EGL/egl.h>
#include <VG/openvg.h>
#include <VG/vgu.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 320, HEIGHT = 240, FRAMES = 5 };

static VGPath new_path(VGPathDatatype type, float scale) {
  return vgCreatePath(VG_PATH_FORMAT_STANDARD, type, scale, 0, 0, 0, VG_PATH_CAPABILITY_ALL);
}
static void paint(VGuint rgba, VGbitfield modes) {
  VGPaint made = vgCreatePaint();
  vgSetColor(made, rgba);
  vgSetPaint(made, modes);
  vgDestroyPaint(made);
}

static VGImage picture, blurred, tile;
static VGPath star, curve;
static VGFont font;
static VGPaint radial, linear, pattern;
static VGMaskLayer layer;

static void make(void) {
  VGubyte commands[6] = {VG_MOVE_TO_ABS, VG_LINE_TO_ABS, VG_LINE_TO_ABS, VG_LINE_TO_ABS, VG_LINE_TO_ABS, VG_CLOSE_PATH};
  VGshort points[10];
  for (int i = 0; i < 5; i++) {
    points[2 * i] = (VGshort)(800 * cos(M_PI / 2 + i * 4 * M_PI / 5));
    points[2 * i + 1] = (VGshort)(800 * sin(M_PI / 2 + i * 4 * M_PI / 5));
  }
  star = new_path(VG_PATH_DATATYPE_S_16, 0.05f);
  vgAppendPathData(star, 6, commands, points);
  curve = new_path(VG_PATH_DATATYPE_F, 1);
  VGubyte curves[] = {VG_MOVE_TO_ABS, VG_CUBIC_TO_ABS, VG_SCUBIC_TO_REL, VG_SQUAD_TO_REL, VG_LCWARC_TO_REL};
  VGfloat along[] = {10, 120, 60, 220, 90, 20, 140, 120, 60, 60, 50, 0, 40, -30, 25, 15, 30, 30, 20};
  vgAppendPathData(curve, 5, curves, along);

  static VGuint pixels[64 * 64];
  for (int y = 0; y < 64; y++)
    for (int x = 0; x < 64; x++)
      pixels[y * 64 + x] = (x / 8 + y / 8) & 1 ? 0x203040ff : (VGuint)(x * 4) << 24 | (VGuint)(y * 4) << 16 | 0x80ff;
  picture = vgCreateImage(VG_sRGBA_8888, 64, 64, VG_IMAGE_QUALITY_FASTER | VG_IMAGE_QUALITY_BETTER);
  vgImageSubData(picture, pixels + 63 * 64, -256, VG_sRGBA_8888, 0, 0, 64, 64);
  blurred = vgCreateImage(VG_lRGBA_8888_PRE, 64, 64, VG_IMAGE_QUALITY_FASTER);
  vgGaussianBlur(blurred, picture, 3, 1, VG_TILE_REFLECT);
  tile = vgChildImage(picture, 8, 8, 24, 24);

  radial = vgCreatePaint(), linear = vgCreatePaint(), pattern = vgCreatePaint();
  VGfloat stops[] = {0, 1, 0, 0, 1, 0.5f, 1, 1, 0, 1, 1, 0, 0, 1, 0.3f};
  VGfloat circle[] = {260, 60, 245, 70, 40}, line[] = {0, 0, 80, 40};
  vgSetParameterfv(radial, VG_PAINT_COLOR_RAMP_STOPS, 15, stops);
  vgSetParameterfv(linear, VG_PAINT_COLOR_RAMP_STOPS, 15, stops);
  vgSetParameteri(radial, VG_PAINT_TYPE, VG_PAINT_TYPE_RADIAL_GRADIENT);
  vgSetParameterfv(radial, VG_PAINT_RADIAL_GRADIENT, 5, circle);
  vgSetParameteri(linear, VG_PAINT_TYPE, VG_PAINT_TYPE_LINEAR_GRADIENT);
  vgSetParameterfv(linear, VG_PAINT_LINEAR_GRADIENT, 4, line);
  vgSetParameteri(linear, VG_PAINT_COLOR_RAMP_SPREAD_MODE, VG_COLOR_RAMP_SPREAD_REFLECT);
  vgSetParameteri(pattern, VG_PAINT_TYPE, VG_PAINT_TYPE_PATTERN);
  vgSetParameteri(pattern, VG_PAINT_PATTERN_TILING_MODE, VG_TILE_REPEAT);
  vgPaintPattern(pattern, tile);

  font = vgCreateFont(3);
  VGfloat origin[] = {0, 0}, escapement[] = {14, 0};
  for (VGuint glyph = 0; glyph < 3; glyph++) {
    VGPath outline = new_path(VG_PATH_DATATYPE_F, 1);
    if (glyph == 0) vguRoundRect(outline, 0, 0, 12, 18, 6, 6);
    if (glyph == 1) vguEllipse(outline, 6, 9, 12, 18);
    if (glyph == 2) vguArc(outline, 6, 9, 12, 18, 30, 280, VGU_ARC_PIE);
    vgSetGlyphToPath(font, glyph, outline, VG_FALSE, origin, escapement);
    vgDestroyPath(outline);
  }
  layer = vgCreateMaskLayer(100, 60);
  vgFillMaskLayer(layer, 10, 10, 50, 30, 0.25f);
}

static void draw(int frame) {
  VGfloat white[] = {1, 1, 1, 1}, dashes[] = {12, 5, 2, 5}, at[] = {20, 20};
  vgSetfv(VG_CLEAR_COLOR, 4, white);
  vgClear(0, 0, WIDTH, HEIGHT);
  vgSeti(VG_MATRIX_MODE, VG_MATRIX_PATH_USER_TO_SURFACE);
  vgLoadIdentity();
  vgTranslate(60, 180);
  vgRotate(10.0f * (float)frame);
  vgSeti(VG_FILL_RULE, frame & 1 ? VG_NON_ZERO : VG_EVEN_ODD);
  paint(0x2060c0ff, VG_FILL_PATH), paint(0x000000ff, VG_STROKE_PATH);
  vgSetf(VG_STROKE_LINE_WIDTH, 2);
  vgDrawPath(star, VG_FILL_PATH | VG_STROKE_PATH);
  VGshort tip[] = {(VGshort)(900 * cos(M_PI / 2 + 4 * M_PI / 5) + 40 * frame), (VGshort)(100 * frame)};
  vgModifyPathCoords(star, 1, 1, tip);

  vgLoadIdentity();
  vgSetfv(VG_STROKE_DASH_PATTERN, 4, dashes);
  vgSetf(VG_STROKE_DASH_PHASE, (VGfloat)frame * 3);
  vgSeti(VG_STROKE_CAP_STYLE, VG_CAP_ROUND), vgSeti(VG_STROKE_JOIN_STYLE, VG_JOIN_ROUND);
  vgSetf(VG_STROKE_LINE_WIDTH, 5);
  vgSetPaint(linear, VG_STROKE_PATH);
  vgDrawPath(curve, VG_STROKE_PATH);
  vgSetfv(VG_STROKE_DASH_PATTERN, 0, NULL);

  VGPath disc = new_path(VG_PATH_DATATYPE_F, 1);
  vguEllipse(disc, 260, 60, 90, 90);
  vgSetPaint(radial, VG_FILL_PATH);
  vgDrawPath(disc, VG_FILL_PATH);
  vgClearPath(disc, VG_PATH_CAPABILITY_ALL);
  vguArc(disc, 160, 60, 90, 70, 20.0f * (float)frame, 250, VGU_ARC_PIE);
  vgSetPaint(pattern, VG_FILL_PATH);
  vgSeti(VG_MATRIX_MODE, VG_MATRIX_FILL_PAINT_TO_USER);
  vgLoadIdentity();
  vgRotate(20), vgScale(0.5f, 0.5f);
  vgDrawPath(disc, VG_FILL_PATH);

  vgSeti(VG_MATRIX_MODE, VG_MATRIX_IMAGE_USER_TO_SURFACE);
  VGfloat warp[9];
  vguComputeWarpQuadToQuad(200, 130, 290, 140, 210, 220, 270, 200.0f + (float)frame, 0, 0, 64, 0, 0, 64, 64, 64, warp);
  vgLoadMatrix(warp);
  vgDrawImage(picture);
  vgLoadIdentity();
  vgTranslate(10, 60), vgScale(0.8f, 0.8f);
  vgSeti(VG_IMAGE_MODE, frame % 3 == 0   ? VG_DRAW_IMAGE_NORMAL
                        : frame % 3 == 1 ? VG_DRAW_IMAGE_MULTIPLY
                                         : VG_DRAW_IMAGE_STENCIL);
  vgDrawImage(blurred);
  vgSeti(VG_IMAGE_MODE, VG_DRAW_IMAGE_NORMAL);

  vgMask(VG_INVALID_HANDLE, VG_FILL_MASK, 0, 0, WIDTH, HEIGHT);
  vgMask(layer, VG_SET_MASK, 10 * frame, 10, 100, 60);
  vgRenderToMask(disc, VG_FILL_PATH, VG_SUBTRACT_MASK);
  vgSeti(VG_MASKING, VG_TRUE);
  vgSeti(VG_BLEND_MODE, VG_BLEND_MULTIPLY);
  vgSetfv(VG_GLYPH_ORIGIN, 2, at);
  VGuint indices[] = {0, 1, 2, 1, 0};
  VGfloat adjust[] = {0, 2, 4, 2, 0};
  paint(0xc02040c0, VG_FILL_PATH);
  vgDrawGlyphs(font, 5, indices, adjust, frame & 1 ? adjust : NULL, VG_FILL_PATH, VG_FALSE);
  vgSeti(VG_BLEND_MODE, VG_BLEND_SRC_OVER);
  vgSeti(VG_MASKING, VG_FALSE);
  VGint scissor[] = {150, 100, 40, 30};
  vgSetiv(VG_SCISSOR_RECTS, 4, scissor);
  vgSeti(VG_SCISSORING, VG_TRUE);
  vgCopyPixels(150, 100, 10, 150, 60, 60);
  vgSetPixels(170, 110, tile, 0, 0, 24, 24);
  vgSeti(VG_SCISSORING, VG_FALSE);
  vgDestroyPath(disc);
  // What comes from the surface, or from a call that fails, changes nothing else.
  vgGetPixels(picture, frame, frame, 100, 100, 8, 8);
  vgSetfv(VG_CLEAR_COLOR, -1, NULL);
  vgDrawPath(VG_INVALID_HANDLE, VG_FILL_PATH);
}

int main(void) {
  EGLDisplay display = eglGetDisplay(EGL_DEFAULT_DISPLAY);
  eglInitialize(display, NULL, NULL);
  eglBindAPI(EGL_OPENVG_API);
  EGLint wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENVG_BIT, EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_NONE};
  EGLConfig config;
  EGLint count;
  if (!eglChooseConfig(display, wanted, &config, 1, &count) || count != 1) return 2;
  EGLint size[] = {EGL_WIDTH, WIDTH, EGL_HEIGHT, HEIGHT, EGL_VG_ALPHA_FORMAT, EGL_VG_ALPHA_FORMAT_PRE, EGL_NONE};
  EGLSurface surface = eglCreatePbufferSurface(display, config, size);
  EGLContext context = eglCreateContext(display, config, EGL_NO_CONTEXT, NULL);
  if (!eglMakeCurrent(display, surface, surface, context)) return 2;
  make();
  static unsigned char pixels[WIDTH * HEIGHT * 4];
  for (int frame = 0; frame < FRAMES; frame++) {
    draw(frame);
    vgReadPixels(pixels + (HEIGHT - 1) * WIDTH * 4, -WIDTH * 4, VG_sRGBA_8888, 0, 0, WIDTH, HEIGHT);
    unsigned sum = 0;
    for (unsigned i = 0; i < sizeof pixels; i++) sum = sum * 31 + pixels[i];
    printf("frame %d: %08x, error %x\n", frame, sum, vgGetError());
    if (!eglSwapBuffers(display, surface)) return 5;
  }
  return 0;
}
