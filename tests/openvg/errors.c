// Every error that OpenVG 1.1 names, for every function of vg and vgu; prints what differs and returns how much did.
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <VG/openvg.h>
#include <VG/vgu.h>
#include <stdio.h>
#include <string.h>

static int failures, checks;
static void told(int line, const char* what, unsigned got, unsigned wanted) {
  checks++;
  if (got == wanted) return;
  printf("line %d: %s: 0x%x, not 0x%x\n", line, what, got, wanted);
  failures++;
}
#define ERROR(wanted, ...) (vgGetError(), (void)(__VA_ARGS__), told(__LINE__, #__VA_ARGS__, vgGetError(), wanted))
#define OK(...) ERROR(VG_NO_ERROR, __VA_ARGS__)
#define BAD(...) ERROR(VG_BAD_HANDLE_ERROR, __VA_ARGS__)
#define ILLEGAL(...) ERROR(VG_ILLEGAL_ARGUMENT_ERROR, __VA_ARGS__)
#define CAPABILITY(...) ERROR(VG_PATH_CAPABILITY_ERROR, __VA_ARGS__)
#define IN_USE(...) ERROR(VG_IMAGE_IN_USE_ERROR, __VA_ARGS__)
#define FORMAT(...) ERROR(VG_UNSUPPORTED_IMAGE_FORMAT_ERROR, __VA_ARGS__)
#define CHECK(condition) told(__LINE__, #condition, !(condition), 0)
#define RETURNS(wanted, call) told(__LINE__, #call, (unsigned)(call), wanted)

static float floats[32];
static VGint ints[32];
static VGubyte bytes[4096];
// A player cannot know that a pointer was not aligned: with an argument these calls are left out.
static int aligned_only;
#define MISALIGNED(...) (aligned_only ? (void)0 : ILLEGAL(__VA_ARGS__))
#define ODD(type, p) ((type*)((char*)(p) + 1))  // not aligned
enum { NONE = VG_INVALID_HANDLE, WRONG = 0x7ffffff };
static VGPath path_with(VGbitfield capabilities) {
  VGPath path = vgCreatePath(VG_PATH_FORMAT_STANDARD, VG_PATH_DATATYPE_F, 1, 0, 0, 0, VG_PATH_CAPABILITY_ALL);
  vguRect(path, 1, 1, 8, 8);
  vgRemovePathCapabilities(path, VG_PATH_CAPABILITY_ALL & ~capabilities);
  return path;
}

static void parameters(VGPath path, VGPaint paint) {
  OK(vgSetf(VG_STROKE_LINE_WIDTH, 2));
  ILLEGAL(vgSetf((VGParamType)0x999, 2));
  ILLEGAL(vgSetf(VG_CLEAR_COLOR, 2));
  ILLEGAL(vgSeti(VG_STROKE_DASH_PATTERN, 2));
  ILLEGAL(vgSeti(VG_BLEND_MODE, 0x1999));
  ILLEGAL(vgSeti(VG_FILL_RULE, VG_CAP_BUTT));
  ILLEGAL(vgSeti(VG_MATRIX_MODE, 0));
  ILLEGAL(vgSeti(VG_IMAGE_QUALITY, 7));
  ILLEGAL(vgSeti(VG_RENDERING_QUALITY, 0));
  ILLEGAL(vgSeti(VG_STROKE_CAP_STYLE, VG_JOIN_BEVEL));
  ILLEGAL(vgSeti(VG_STROKE_JOIN_STYLE, VG_CAP_BUTT));
  ILLEGAL(vgSeti(VG_IMAGE_MODE, 0));
  ILLEGAL(vgSeti(VG_PIXEL_LAYOUT, 0x2000));
  ILLEGAL(vgSetfv(VG_CLEAR_COLOR, 3, floats));
  ILLEGAL(vgSetfv(VG_CLEAR_COLOR, 5, floats));
  ILLEGAL(vgSetfv(VG_CLEAR_COLOR, 4, NULL));
  MISALIGNED(vgSetfv(VG_CLEAR_COLOR, 4, ODD(float, floats)));
  ILLEGAL(vgSetfv(VG_CLEAR_COLOR, -1, floats));
  ILLEGAL(vgSetfv(VG_STROKE_LINE_WIDTH, 2, floats));
  OK(vgSetfv(VG_STROKE_LINE_WIDTH, 1, floats));
  ILLEGAL(vgSetiv(VG_SCISSOR_RECTS, 5, ints));
  OK(vgSetiv(VG_SCISSOR_RECTS, 0, NULL));
  OK(vgSetfv(VG_STROKE_DASH_PATTERN, 0, NULL));
  OK(vgSetfv(VG_STROKE_DASH_PATTERN, 3, floats));
  CHECK(vgGetVectorSize(VG_STROKE_DASH_PATTERN) == 3);
  OK(vgSetfv(VG_STROKE_DASH_PATTERN, 0, NULL));
  ILLEGAL(vgSetfv(VG_TILE_FILL_COLOR, 3, floats));
  ILLEGAL(vgSetfv(VG_GLYPH_ORIGIN, 1, floats));
  ILLEGAL(vgSetfv(VG_COLOR_TRANSFORM_VALUES, 7, floats));
  ILLEGAL(vgGetf(VG_CLEAR_COLOR));
  ILLEGAL(vgGeti(VG_SCISSOR_RECTS));
  ILLEGAL(vgGeti((VGParamType)0));
  ILLEGAL(vgGetfv(VG_CLEAR_COLOR, 0, floats));
  ILLEGAL(vgGetfv(VG_CLEAR_COLOR, 5, floats));
  ILLEGAL(vgGetfv(VG_CLEAR_COLOR, -1, floats));
  ILLEGAL(vgGetfv(VG_CLEAR_COLOR, 4, NULL));
  MISALIGNED(vgGetfv(VG_CLEAR_COLOR, 4, ODD(float, floats)));
  OK(vgGetfv(VG_CLEAR_COLOR, 2, floats));
  OK(vgGetiv(VG_CLEAR_COLOR, 4, ints));
  ILLEGAL(vgGetVectorSize((VGParamType)0x999));
  BAD(vgSetParameterf(NONE, VG_PAINT_TYPE, 0));
  BAD(vgSetParameteri(WRONG, VG_PAINT_TYPE, 0));
  BAD(vgSetParameterfv(WRONG, VG_PAINT_COLOR, 4, floats));
  BAD(vgSetParameteriv(WRONG, VG_PAINT_COLOR, 4, ints));
  BAD(vgGetParameterf(WRONG, VG_PAINT_TYPE));
  BAD(vgGetParameteri(WRONG, VG_PAINT_TYPE));
  BAD(vgGetParameterfv(WRONG, VG_PAINT_COLOR, 4, floats));
  BAD(vgGetParameteriv(WRONG, VG_PAINT_COLOR, 4, ints));
  BAD(vgGetParameterVectorSize(WRONG, VG_PAINT_COLOR));
  ILLEGAL(vgSetParameterf(paint, VG_PAINT_COLOR, 1));
  ILLEGAL(vgSetParameteri(paint, VG_PATH_FORMAT, 1));
  ILLEGAL(vgSetParameteri(paint, VG_PAINT_TYPE, 9));
  ILLEGAL(vgSetParameteri(paint, VG_PAINT_COLOR_RAMP_SPREAD_MODE, 9));
  ILLEGAL(vgSetParameteri(paint, VG_PAINT_PATTERN_TILING_MODE, 9));
  ILLEGAL(vgSetParameterfv(paint, VG_PAINT_COLOR, 3, floats));
  ILLEGAL(vgSetParameterfv(paint, VG_PAINT_COLOR, 4, NULL));
  MISALIGNED(vgSetParameterfv(paint, VG_PAINT_COLOR, 4, ODD(float, floats)));
  ILLEGAL(vgSetParameterfv(paint, VG_PAINT_COLOR_RAMP_STOPS, 6, floats));
  ILLEGAL(vgSetParameterfv(paint, VG_PAINT_LINEAR_GRADIENT, 5, floats));
  ILLEGAL(vgSetParameterfv(paint, VG_PAINT_RADIAL_GRADIENT, 4, floats));
  ILLEGAL(vgSetParameterfv(paint, VG_PAINT_TYPE, 2, floats));
  ILLEGAL(vgGetParameterf(paint, VG_PAINT_COLOR));
  ILLEGAL(vgGetParameterfv(paint, VG_PAINT_COLOR, 5, floats));
  ILLEGAL(vgGetParameterfv(paint, VG_PAINT_COLOR, 4, NULL));
  ILLEGAL(vgGetParameterVectorSize(paint, VG_PATH_SCALE));
  ILLEGAL(vgGetParameteri(path, VG_IMAGE_WIDTH));
  OK(vgGetParameteri(path, VG_PATH_NUM_COORDS));
}

static void matrices(void) {
  ILLEGAL(vgLoadMatrix(NULL));
  MISALIGNED(vgLoadMatrix(ODD(float, floats)));
  ILLEGAL(vgMultMatrix(NULL));
  MISALIGNED(vgMultMatrix(ODD(float, floats)));
  ILLEGAL(vgGetMatrix(NULL));
  MISALIGNED(vgGetMatrix(ODD(float, floats)));
  OK(vgGetMatrix(floats));
}

static void paths(VGPath path) {
  VGubyte wrong[] = {26, VG_MOVE_TO_ABS}, good[] = {VG_MOVE_TO_ABS};
  RETURNS(NONE, vgCreatePath(1, VG_PATH_DATATYPE_F, 1, 0, 0, 0, 0));
  told(__LINE__, "format", vgGetError(), VG_UNSUPPORTED_PATH_FORMAT_ERROR);
  ILLEGAL(vgCreatePath(VG_PATH_FORMAT_STANDARD, (VGPathDatatype)4, 1, 0, 0, 0, 0));
  ILLEGAL(vgCreatePath(VG_PATH_FORMAT_STANDARD, (VGPathDatatype)-1, 1, 0, 0, 0, 0));
  ILLEGAL(vgCreatePath(VG_PATH_FORMAT_STANDARD, VG_PATH_DATATYPE_F, 0, 0, 0, 0, 0));
  OK(vgDestroyPath(vgCreatePath(VG_PATH_FORMAT_STANDARD, VG_PATH_DATATYPE_F, 1, 0, -5, -5, 0xffffffff)));
  BAD(vgClearPath(WRONG, 0));
  BAD(vgDestroyPath(WRONG));
  BAD(vgDestroyPath(NONE));
  BAD(vgRemovePathCapabilities(WRONG, 0));
  BAD(vgGetPathCapabilities(WRONG));
  CHECK(vgGetPathCapabilities(WRONG) == 0);
  VGPath none = path_with(0);
  BAD(vgAppendPath(WRONG, path));
  BAD(vgAppendPath(path, WRONG));
  CAPABILITY(vgAppendPath(none, path));
  CAPABILITY(vgAppendPath(path, none));
  BAD(vgAppendPathData(WRONG, 1, good, floats));
  CAPABILITY(vgAppendPathData(none, 1, good, floats));
  ILLEGAL(vgAppendPathData(path, 0, good, floats));
  ILLEGAL(vgAppendPathData(path, -1, good, floats));
  ILLEGAL(vgAppendPathData(path, 1, NULL, floats));
  ILLEGAL(vgAppendPathData(path, 1, good, NULL));
  MISALIGNED(vgAppendPathData(path, 1, good, ODD(float, floats)));
  ILLEGAL(vgAppendPathData(path, 2, wrong, floats));
  BAD(vgModifyPathCoords(WRONG, 0, 1, floats));
  CAPABILITY(vgModifyPathCoords(none, 0, 1, floats));
  ILLEGAL(vgModifyPathCoords(path, 0, 1, NULL));
  MISALIGNED(vgModifyPathCoords(path, 0, 1, ODD(float, floats)));
  ILLEGAL(vgModifyPathCoords(path, -1, 1, floats));
  ILLEGAL(vgModifyPathCoords(path, 0, 0, floats));
  ILLEGAL(vgModifyPathCoords(path, 4, 2, floats));
  ILLEGAL(vgModifyPathCoords(path, 1, 0x7fffffff, floats));
  BAD(vgTransformPath(WRONG, path));
  BAD(vgTransformPath(path, WRONG));
  CAPABILITY(vgTransformPath(none, path));
  CAPABILITY(vgTransformPath(path, none));
  BAD(vgInterpolatePath(WRONG, path, path, 0));
  BAD(vgInterpolatePath(path, WRONG, path, 0));
  BAD(vgInterpolatePath(path, path, WRONG, 0));
  CAPABILITY(vgInterpolatePath(none, path, path, 0));
  CAPABILITY(vgInterpolatePath(path, none, path, 0));
  CAPABILITY(vgInterpolatePath(path, path, none, 0));
  BAD(vgPathLength(WRONG, 0, 1));
  CHECK(vgPathLength(WRONG, 0, 1) == -1.0f);
  CAPABILITY(vgPathLength(none, 0, 1));
  ILLEGAL(vgPathLength(path, -1, 1));
  ILLEGAL(vgPathLength(path, 0, 0));
  ILLEGAL(vgPathLength(path, 0, -1));
  ILLEGAL(vgPathLength(path, 5, 1));
  ILLEGAL(vgPathLength(path, 1, 0x7fffffff));
  float* f = floats;
  BAD(vgPointAlongPath(WRONG, 0, 1, 0, f, f, f, f));
  CAPABILITY(vgPointAlongPath(path_with(VG_PATH_CAPABILITY_TANGENT_ALONG_PATH), 0, 1, 0, f, f, f, f));
  CAPABILITY(vgPointAlongPath(path_with(VG_PATH_CAPABILITY_POINT_ALONG_PATH), 0, 1, 0, f, f, f, f));
  OK(vgPointAlongPath(path_with(VG_PATH_CAPABILITY_POINT_ALONG_PATH), 0, 1, 0, f, f, NULL, NULL));
  OK(vgPointAlongPath(path_with(VG_PATH_CAPABILITY_TANGENT_ALONG_PATH), 0, 1, 0, NULL, NULL, f, f));
  OK(vgPointAlongPath(path, 0, 1, 0, NULL, NULL, NULL, NULL));
  ILLEGAL(vgPointAlongPath(path, -1, 1, 0, f, f, f, f));
  ILLEGAL(vgPointAlongPath(path, 0, 0, 0, f, f, f, f));
  ILLEGAL(vgPointAlongPath(path, 0, 6, 0, f, f, f, f));
  MISALIGNED(vgPointAlongPath(path, 0, 1, 0, ODD(float, f), f, f, f));
  MISALIGNED(vgPointAlongPath(path, 0, 1, 0, f, f, f, ODD(float, f)));
  BAD(vgPathBounds(WRONG, f, f, f, f));
  CAPABILITY(vgPathBounds(none, f, f, f, f));
  ILLEGAL(vgPathBounds(path, NULL, f, f, f));
  MISALIGNED(vgPathBounds(path, f, f, f, ODD(float, f)));
  BAD(vgPathTransformedBounds(WRONG, f, f, f, f));
  CAPABILITY(vgPathTransformedBounds(none, f, f, f, f));
  ILLEGAL(vgPathTransformedBounds(path, f, f, NULL, f));
  BAD(vgDrawPath(WRONG, VG_FILL_PATH));
  ILLEGAL(vgDrawPath(path, 0));
  ILLEGAL(vgDrawPath(path, 4));
  ILLEGAL(vgDrawPath(path, VG_FILL_PATH | 8));
  VGPath empty = path_with(VG_PATH_CAPABILITY_ALL);
  vgClearPath(empty, VG_PATH_CAPABILITY_ALL);
  vgPathBounds(empty, f, f + 1, f + 2, f + 3);
  CHECK(f[2] == -1 && f[3] == -1);
  OK(vgDrawPath(empty, VG_FILL_PATH | VG_STROKE_PATH));
}

static void paints(VGPaint paint, VGImage image, VGImage target) {
  BAD(vgDestroyPaint(WRONG));
  BAD(vgSetPaint(WRONG, VG_FILL_PATH));
  BAD(vgSetPaint(image, VG_FILL_PATH));
  ILLEGAL(vgSetPaint(paint, 0));
  ILLEGAL(vgSetPaint(paint, 4));
  OK(vgSetPaint(NONE, VG_FILL_PATH | VG_STROKE_PATH));
  CHECK(vgGetPaint(VG_FILL_PATH) == NONE);
  ILLEGAL(vgGetPaint((VGPaintMode)3));
  ILLEGAL(vgGetPaint((VGPaintMode)0));
  BAD(vgSetColor(WRONG, 0));
  BAD(vgGetColor(WRONG));
  BAD(vgPaintPattern(WRONG, image));
  BAD(vgPaintPattern(paint, WRONG));
  BAD(vgPaintPattern(paint, paint));
  OK(vgPaintPattern(paint, NONE));
  IN_USE(vgPaintPattern(paint, target));
}

static void masks(VGImage image, VGImage target, VGPath path) {
  VGMaskLayer layer = vgCreateMaskLayer(16, 16);
  BAD(vgMask(WRONG, VG_SET_MASK, 0, 0, 4, 4));
  BAD(vgMask(NONE, VG_UNION_MASK, 0, 0, 4, 4));
  OK(vgMask(NONE, VG_FILL_MASK, 0, 0, 4, 4));
  OK(vgMask(WRONG, VG_CLEAR_MASK, 0, 0, 4, 4));
  IN_USE(vgMask(target, VG_SET_MASK, 0, 0, 4, 4));
  ILLEGAL(vgMask(image, (VGMaskOperation)0x14ff, 0, 0, 4, 4));
  ILLEGAL(vgMask(image, VG_SET_MASK, 0, 0, 0, 4));
  ILLEGAL(vgMask(layer, VG_SET_MASK, 0, 0, 4, -4));
  OK(vgMask(layer, VG_SET_MASK, -0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff));
  BAD(vgRenderToMask(WRONG, VG_FILL_PATH, VG_SET_MASK));
  ILLEGAL(vgRenderToMask(path, 0, VG_SET_MASK));
  ILLEGAL(vgRenderToMask(path, 7, VG_SET_MASK));
  ILLEGAL(vgRenderToMask(path, VG_FILL_PATH, (VGMaskOperation)0));
  ILLEGAL(vgCreateMaskLayer(0, 1));
  ILLEGAL(vgCreateMaskLayer(1, -1));
  ILLEGAL(vgCreateMaskLayer(vgGeti(VG_MAX_IMAGE_WIDTH) + 1, 1));
  ILLEGAL(vgCreateMaskLayer(1, vgGeti(VG_MAX_IMAGE_HEIGHT) + 1));
  BAD(vgDestroyMaskLayer(WRONG));
  BAD(vgDestroyMaskLayer(image));
  BAD(vgFillMaskLayer(WRONG, 0, 0, 1, 1, 1));
  ILLEGAL(vgFillMaskLayer(layer, 0, 0, 1, 1, 1.5f));
  ILLEGAL(vgFillMaskLayer(layer, 0, 0, 1, 1, -0.5f));
  ILLEGAL(vgFillMaskLayer(layer, -1, 0, 1, 1, 1));
  ILLEGAL(vgFillMaskLayer(layer, 0, 0, 0, 1, 1));
  ILLEGAL(vgFillMaskLayer(layer, 0, 0, 17, 1, 1));
  ILLEGAL(vgFillMaskLayer(layer, 1, 1, 1, 0x7fffffff, 1));
  BAD(vgCopyMask(WRONG, 0, 0, 0, 0, 1, 1));
  ILLEGAL(vgCopyMask(layer, 0, 0, 0, 0, 0, 1));
  OK(vgCopyMask(layer, -5, -5, 0, 0, 0x7fffffff, 0x7fffffff));
  OK(vgDestroyMaskLayer(layer));
}

static void images(VGImage image, VGImage target) {
  VGint wide = vgGeti(VG_MAX_IMAGE_WIDTH), high = vgGeti(VG_MAX_IMAGE_HEIGHT);
  FORMAT(vgCreateImage((VGImageFormat)0x3f, 1, 1, VG_IMAGE_QUALITY_FASTER));
  FORMAT(vgCreateImage((VGImageFormat)-1, 1, 1, VG_IMAGE_QUALITY_FASTER));
  ILLEGAL(vgCreateImage(VG_sRGBA_8888, 0, 1, VG_IMAGE_QUALITY_FASTER));
  ILLEGAL(vgCreateImage(VG_sRGBA_8888, 1, -1, VG_IMAGE_QUALITY_FASTER));
  ILLEGAL(vgCreateImage(VG_sRGBA_8888, wide + 1, 1, VG_IMAGE_QUALITY_FASTER));
  ILLEGAL(vgCreateImage(VG_sRGBA_8888, 1, high + 1, VG_IMAGE_QUALITY_FASTER));
  ILLEGAL(vgCreateImage(VG_sRGBA_8888, 0x7fffffff, 0x7fffffff, VG_IMAGE_QUALITY_FASTER));
  if ((long long)wide * high > vgGeti(VG_MAX_IMAGE_PIXELS))
    ILLEGAL(vgCreateImage(VG_sRGBA_8888, wide, high, VG_IMAGE_QUALITY_FASTER));
  ILLEGAL(vgCreateImage(VG_sRGBA_8888, 1, 1, 0));
  ILLEGAL(vgCreateImage(VG_sRGBA_8888, 1, 1, 8));
  BAD(vgDestroyImage(WRONG));
  BAD(vgClearImage(WRONG, 0, 0, 1, 1));
  IN_USE(vgClearImage(target, 0, 0, 1, 1));
  ILLEGAL(vgClearImage(image, 0, 0, 0, 1));
  OK(vgClearImage(image, -0x7fffffff, 0x7fffffff, 0x7fffffff, 1));
  BAD(vgImageSubData(WRONG, bytes, 4, VG_sRGBA_8888, 0, 0, 1, 1));
  IN_USE(vgImageSubData(target, bytes, 4, VG_sRGBA_8888, 0, 0, 1, 1));
  FORMAT(vgImageSubData(image, bytes, 4, (VGImageFormat)0x3f, 0, 0, 1, 1));
  ILLEGAL(vgImageSubData(image, bytes, 4, VG_sRGBA_8888, 0, 0, 0, 1));
  ILLEGAL(vgImageSubData(image, NULL, 4, VG_sRGBA_8888, 0, 0, 1, 1));
  MISALIGNED(vgImageSubData(image, bytes + 1, 4, VG_sRGBA_8888, 0, 0, 1, 1));
  MISALIGNED(vgImageSubData(image, bytes + 1, 4, VG_sRGB_565, 0, 0, 1, 1));
  OK(vgImageSubData(image, bytes + 1, 4, VG_A_8, 0, 0, 1, 1));
  BAD(vgGetImageSubData(WRONG, bytes, 4, VG_sRGBA_8888, 0, 0, 1, 1));
  IN_USE(vgGetImageSubData(target, bytes, 4, VG_sRGBA_8888, 0, 0, 1, 1));
  FORMAT(vgGetImageSubData(image, bytes, 4, (VGImageFormat)0x3f, 0, 0, 1, 1));
  ILLEGAL(vgGetImageSubData(image, bytes, 4, VG_sRGBA_8888, 0, 0, 1, 0));
  ILLEGAL(vgGetImageSubData(image, NULL, 4, VG_sRGBA_8888, 0, 0, 1, 1));
  MISALIGNED(vgGetImageSubData(image, bytes + 2, 4, VG_sRGBA_8888, 0, 0, 1, 1));
  BAD(vgChildImage(WRONG, 0, 0, 1, 1));
  IN_USE(vgChildImage(target, 0, 0, 1, 1));
  ILLEGAL(vgChildImage(image, -1, 0, 1, 1));
  ILLEGAL(vgChildImage(image, 0, 0, 0, 1));
  ILLEGAL(vgChildImage(image, 0, 0, 17, 1));
  ILLEGAL(vgChildImage(image, 16, 0, 1, 1));
  ILLEGAL(vgChildImage(image, 1, 1, 0x7fffffff, 1));
  BAD(vgGetParent(WRONG));
  CHECK(vgGetParent(image) == image);
  BAD(vgCopyImage(WRONG, 0, 0, image, 0, 0, 1, 1, VG_FALSE));
  BAD(vgCopyImage(image, 0, 0, WRONG, 0, 0, 1, 1, VG_FALSE));
  IN_USE(vgCopyImage(target, 0, 0, image, 0, 0, 1, 1, VG_FALSE));
  IN_USE(vgCopyImage(image, 0, 0, target, 0, 0, 1, 1, VG_FALSE));
  ILLEGAL(vgCopyImage(image, 0, 0, image, 0, 0, -1, 1, VG_FALSE));
  BAD(vgDrawImage(WRONG));
  IN_USE(vgDrawImage(target));
  BAD(vgSetPixels(0, 0, WRONG, 0, 0, 1, 1));
  IN_USE(vgSetPixels(0, 0, target, 0, 0, 1, 1));
  ILLEGAL(vgSetPixels(0, 0, image, 0, 0, 1, 0));
  FORMAT(vgWritePixels(bytes, 4, (VGImageFormat)0x3f, 0, 0, 1, 1));
  ILLEGAL(vgWritePixels(NULL, 4, VG_sRGBA_8888, 0, 0, 1, 1));
  MISALIGNED(vgWritePixels(bytes + 1, 4, VG_sRGBA_8888, 0, 0, 1, 1));
  ILLEGAL(vgWritePixels(bytes, 4, VG_sRGBA_8888, 0, 0, 0, 1));
  BAD(vgGetPixels(WRONG, 0, 0, 0, 0, 1, 1));
  IN_USE(vgGetPixels(target, 0, 0, 0, 0, 1, 1));
  ILLEGAL(vgGetPixels(image, 0, 0, 0, 0, -1, 1));
  FORMAT(vgReadPixels(bytes, 4, (VGImageFormat)0x3f, 0, 0, 1, 1));
  ILLEGAL(vgReadPixels(NULL, 4, VG_sRGBA_8888, 0, 0, 1, 1));
  MISALIGNED(vgReadPixels(bytes + 3, 4, VG_sRGBA_8888, 0, 0, 1, 1));
  ILLEGAL(vgReadPixels(bytes, 4, VG_sRGBA_8888, 0, 0, 1, 0));
  ILLEGAL(vgCopyPixels(0, 0, 0, 0, 0, 1));
  OK(vgCopyPixels(-0x7fffffff, 0x7fffffff, -5, 5, 0x7fffffff, 0x7fffffff));
  ILLEGAL(vgClear(0, 0, 0, 1));
  ILLEGAL(vgClear(0, 0, 1, -1));
  OK(vgClear(-0x7fffffff, -0x7fffffff, 0x7fffffff, 0x7fffffff));
}

static void fonts(VGPath path, VGImage image, VGImage target) {
  VGuint first[] = {1, 2}, missing[] = {1, 77};
  float* f = floats;
  ILLEGAL(vgCreateFont(-1));
  VGFont font = vgCreateFont(0);
  BAD(vgDestroyFont(WRONG));
  BAD(vgSetGlyphToPath(WRONG, 1, path, VG_FALSE, f, f));
  BAD(vgSetGlyphToPath(font, 1, WRONG, VG_FALSE, f, f));
  ILLEGAL(vgSetGlyphToPath(font, 1, path, VG_FALSE, NULL, f));
  MISALIGNED(vgSetGlyphToPath(font, 1, path, VG_FALSE, f, ODD(float, f)));
  OK(vgSetGlyphToPath(font, 1, path, VG_FALSE, f, f));
  OK(vgSetGlyphToPath(font, 2, NONE, VG_FALSE, f, f));
  BAD(vgSetGlyphToImage(WRONG, 1, image, f, f));
  BAD(vgSetGlyphToImage(font, 1, WRONG, f, f));
  IN_USE(vgSetGlyphToImage(font, 1, target, f, f));
  ILLEGAL(vgSetGlyphToImage(font, 1, image, f, NULL));
  OK(vgSetGlyphToImage(font, 3, NONE, f, f));
  CHECK(vgGetParameteri(font, VG_FONT_NUM_GLYPHS) == 3);
  BAD(vgClearGlyph(WRONG, 1));
  ILLEGAL(vgClearGlyph(font, 77));
  BAD(vgDrawGlyph(WRONG, 1, VG_FILL_PATH, VG_FALSE));
  ILLEGAL(vgDrawGlyph(font, 77, VG_FILL_PATH, VG_FALSE));
  ILLEGAL(vgDrawGlyph(font, 1, 8, VG_FALSE));
  OK(vgDrawGlyph(font, 1, 0, VG_FALSE));
  BAD(vgDrawGlyphs(WRONG, 2, first, f, f, VG_FILL_PATH, VG_FALSE));
  ILLEGAL(vgDrawGlyphs(font, 0, first, f, f, VG_FILL_PATH, VG_FALSE));
  ILLEGAL(vgDrawGlyphs(font, -1, first, f, f, VG_FILL_PATH, VG_FALSE));
  ILLEGAL(vgDrawGlyphs(font, 2, NULL, f, f, VG_FILL_PATH, VG_FALSE));
  MISALIGNED(vgDrawGlyphs(font, 2, ODD(VGuint, first), f, f, VG_FILL_PATH, VG_FALSE));
  MISALIGNED(vgDrawGlyphs(font, 2, first, ODD(float, f), f, VG_FILL_PATH, VG_FALSE));
  ILLEGAL(vgDrawGlyphs(font, 2, missing, f, f, VG_FILL_PATH, VG_FALSE));
  ILLEGAL(vgDrawGlyphs(font, 2, first, f, f, 4, VG_FALSE));
  OK(vgDrawGlyphs(font, 2, first, NULL, NULL, VG_FILL_PATH | VG_STROKE_PATH, VG_TRUE));
  OK(vgDestroyFont(font));
}

static void filters(VGImage image, VGImage other, VGImage target) {
  VGshort kernel[64] = {1};
  VGuint table[256] = {0};
  VGImage part = vgChildImage(image, 0, 0, 8, 8), beside = vgChildImage(image, 8, 8, 8, 8);
  VGint largest = vgGeti(VG_MAX_KERNEL_SIZE), separable = vgGeti(VG_MAX_SEPARABLE_KERNEL_SIZE);
  BAD(vgColorMatrix(WRONG, image, floats));
  BAD(vgColorMatrix(other, WRONG, floats));
  IN_USE(vgColorMatrix(target, image, floats));
  IN_USE(vgColorMatrix(other, target, floats));
  ILLEGAL(vgColorMatrix(image, image, floats));
  ILLEGAL(vgColorMatrix(part, image, floats));
  OK(vgColorMatrix(part, beside, floats));
  ILLEGAL(vgColorMatrix(other, image, NULL));
  MISALIGNED(vgColorMatrix(other, image, ODD(float, floats)));
  BAD(vgConvolve(WRONG, image, 1, 1, 0, 0, kernel, 1, 0, VG_TILE_PAD));
  IN_USE(vgConvolve(other, target, 1, 1, 0, 0, kernel, 1, 0, VG_TILE_PAD));
  ILLEGAL(vgConvolve(image, part, 1, 1, 0, 0, kernel, 1, 0, VG_TILE_PAD));
  ILLEGAL(vgConvolve(other, image, 0, 1, 0, 0, kernel, 1, 0, VG_TILE_PAD));
  ILLEGAL(vgConvolve(other, image, 1, -1, 0, 0, kernel, 1, 0, VG_TILE_PAD));
  ILLEGAL(vgConvolve(other, image, largest + 1, 1, 0, 0, kernel, 1, 0, VG_TILE_PAD));
  ILLEGAL(vgConvolve(other, image, 1, largest + 1, 0, 0, kernel, 1, 0, VG_TILE_PAD));
  ILLEGAL(vgConvolve(other, image, 1, 1, 0, 0, NULL, 1, 0, VG_TILE_PAD));
  MISALIGNED(vgConvolve(other, image, 1, 1, 0, 0, ODD(VGshort, kernel), 1, 0, VG_TILE_PAD));
  ILLEGAL(vgConvolve(other, image, 1, 1, 0, 0, kernel, 1, 0, (VGTilingMode)0));
  OK(vgConvolve(other, image, 1, 1, -20, 20, kernel, 1, 0, VG_TILE_REFLECT));
  BAD(vgSeparableConvolve(other, WRONG, 1, 1, 0, 0, kernel, kernel, 1, 0, VG_TILE_PAD));
  IN_USE(vgSeparableConvolve(target, image, 1, 1, 0, 0, kernel, kernel, 1, 0, VG_TILE_PAD));
  ILLEGAL(vgSeparableConvolve(image, image, 1, 1, 0, 0, kernel, kernel, 1, 0, VG_TILE_PAD));
  ILLEGAL(vgSeparableConvolve(other, image, separable + 1, 1, 0, 0, kernel, kernel, 1, 0, VG_TILE_PAD));
  ILLEGAL(vgSeparableConvolve(other, image, 1, 0, 0, 0, kernel, kernel, 1, 0, VG_TILE_PAD));
  ILLEGAL(vgSeparableConvolve(other, image, 1, 1, 0, 0, NULL, kernel, 1, 0, VG_TILE_PAD));
  MISALIGNED(vgSeparableConvolve(other, image, 1, 1, 0, 0, kernel, ODD(VGshort, kernel), 1, 0, VG_TILE_PAD));
  ILLEGAL(vgSeparableConvolve(other, image, 1, 1, 0, 0, kernel, kernel, 1, 0, (VGTilingMode)0x1f));
  BAD(vgGaussianBlur(WRONG, image, 1, 1, VG_TILE_PAD));
  IN_USE(vgGaussianBlur(other, target, 1, 1, VG_TILE_PAD));
  ILLEGAL(vgGaussianBlur(image, part, 1, 1, VG_TILE_PAD));
  ILLEGAL(vgGaussianBlur(other, image, 0, 1, VG_TILE_PAD));
  ILLEGAL(vgGaussianBlur(other, image, 1, -1, VG_TILE_PAD));
  ILLEGAL(vgGaussianBlur(other, image, vgGetf(VG_MAX_GAUSSIAN_STD_DEVIATION) + 1, 1, VG_TILE_PAD));
  ILLEGAL(vgGaussianBlur(other, image, 1, 1, (VGTilingMode)0));
  BAD(vgLookup(other, WRONG, bytes, bytes, bytes, bytes, VG_TRUE, VG_FALSE));
  IN_USE(vgLookup(target, image, bytes, bytes, bytes, bytes, VG_TRUE, VG_FALSE));
  ILLEGAL(vgLookup(image, image, bytes, bytes, bytes, bytes, VG_TRUE, VG_FALSE));
  ILLEGAL(vgLookup(other, image, bytes, bytes, NULL, bytes, VG_TRUE, VG_FALSE));
  BAD(vgLookupSingle(WRONG, image, table, VG_RED, VG_TRUE, VG_FALSE));
  IN_USE(vgLookupSingle(other, target, table, VG_RED, VG_TRUE, VG_FALSE));
  ILLEGAL(vgLookupSingle(part, image, table, VG_RED, VG_TRUE, VG_FALSE));
  ILLEGAL(vgLookupSingle(other, image, NULL, VG_RED, VG_TRUE, VG_FALSE));
  MISALIGNED(vgLookupSingle(other, image, ODD(VGuint, table), VG_RED, VG_TRUE, VG_FALSE));
  ILLEGAL(vgLookupSingle(other, image, table, (VGImageChannel)0, VG_TRUE, VG_FALSE));
  ILLEGAL(vgLookupSingle(other, image, table, (VGImageChannel)3, VG_TRUE, VG_FALSE));
  VGImage grey = vgCreateImage(VG_sL_8, 8, 8, VG_IMAGE_QUALITY_FASTER);
  OK(vgLookupSingle(other, grey, table, (VGImageChannel)0, VG_TRUE, VG_FALSE));  // one channel: ignored
}

static void shapes(VGPath path) {
  VGPath none = path_with(0);
  float points[] = {0, 0, 1, 0, 1, 1}, m[9];
  RETURNS(VGU_BAD_HANDLE_ERROR, vguLine(WRONG, 0, 0, 1, 1));
  RETURNS(VGU_PATH_CAPABILITY_ERROR, vguLine(none, 0, 0, 1, 1));
  RETURNS(VGU_BAD_HANDLE_ERROR, vguPolygon(WRONG, points, 3, VG_TRUE));
  RETURNS(VGU_PATH_CAPABILITY_ERROR, vguPolygon(none, points, 3, VG_TRUE));
  RETURNS(VGU_ILLEGAL_ARGUMENT_ERROR, vguPolygon(path, points, 0, VG_TRUE));
  RETURNS(VGU_ILLEGAL_ARGUMENT_ERROR, vguPolygon(path, NULL, 3, VG_TRUE));
  RETURNS(VGU_ILLEGAL_ARGUMENT_ERROR, vguPolygon(path, ODD(float, points), 2, VG_TRUE));
  RETURNS(VGU_BAD_HANDLE_ERROR, vguRect(WRONG, 0, 0, 1, 1));
  RETURNS(VGU_ILLEGAL_ARGUMENT_ERROR, vguRect(path, 0, 0, 0, 1));
  RETURNS(VGU_ILLEGAL_ARGUMENT_ERROR, vguRect(path, 0, 0, 1, -1));
  RETURNS(VGU_PATH_CAPABILITY_ERROR, vguRoundRect(none, 0, 0, 1, 1, 1, 1));
  RETURNS(VGU_ILLEGAL_ARGUMENT_ERROR, vguRoundRect(path, 0, 0, -1, 1, 1, 1));
  RETURNS(VGU_NO_ERROR, vguRoundRect(path, 0, 0, 1, 1, -1, 99));
  RETURNS(VGU_BAD_HANDLE_ERROR, vguEllipse(WRONG, 0, 0, 1, 1));
  RETURNS(VGU_ILLEGAL_ARGUMENT_ERROR, vguEllipse(path, 0, 0, 1, 0));
  RETURNS(VGU_PATH_CAPABILITY_ERROR, vguArc(none, 0, 0, 1, 1, 0, 90, VGU_ARC_OPEN));
  RETURNS(VGU_ILLEGAL_ARGUMENT_ERROR, vguArc(path, 0, 0, 0, 1, 0, 90, VGU_ARC_OPEN));
  RETURNS(VGU_ILLEGAL_ARGUMENT_ERROR, vguArc(path, 0, 0, 1, 1, 0, 90, (VGUArcType)0));
  RETURNS(VGU_ILLEGAL_ARGUMENT_ERROR, vguComputeWarpQuadToSquare(0, 0, 1, 0, 0, 1, 1, 1, NULL));
  RETURNS(VGU_ILLEGAL_ARGUMENT_ERROR, vguComputeWarpSquareToQuad(0, 0, 1, 0, 0, 1, 1, 1, ODD(float, m)));
  RETURNS(VGU_BAD_WARP_ERROR, vguComputeWarpQuadToSquare(0, 0, 0, 0, 0, 0, 0, 0, m));
  RETURNS(VGU_BAD_WARP_ERROR, vguComputeWarpSquareToQuad(0, 0, 0, 0, 0, 0, 0, 0, m));
  RETURNS(VGU_BAD_WARP_ERROR, vguComputeWarpQuadToQuad(0, 0, 1, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, m));
  RETURNS(VGU_ILLEGAL_ARGUMENT_ERROR, vguComputeWarpQuadToQuad(0, 0, 1, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0, 1, 1, 1, NULL));
  told(__LINE__, "vgu leaves no error behind", vgGetError(), VG_NO_ERROR);
}

int main(int argc, char** argv) {
  (void)argv;
  aligned_only = argc > 1;
  RETURNS(VG_NO_CONTEXT_ERROR, vgGetError());
  EGLDisplay display = eglGetDisplay(EGL_DEFAULT_DISPLAY);
  eglInitialize(display, NULL, NULL);
  eglBindAPI(EGL_OPENVG_API);
  EGLConfig config;
  EGLint count = 0, wanted[] = {EGL_RENDERABLE_TYPE,
                                EGL_OPENVG_BIT,
                                EGL_SURFACE_TYPE,
                                EGL_PBUFFER_BIT,
                                EGL_RED_SIZE,
                                8,
                                EGL_ALPHA_SIZE,
                                8,
                                EGL_NONE};
  eglChooseConfig(display, wanted, &config, 1, &count);
  EGLint size[] = {EGL_WIDTH, 64, EGL_HEIGHT, 48, EGL_NONE};
  EGLSurface surface = eglCreatePbufferSurface(display, config, size);
  EGLContext context = eglCreateContext(display, config, EGL_NO_CONTEXT, NULL);
  if (!eglMakeCurrent(display, surface, surface, context)) return printf("no context: 0x%x\n", eglGetError()), 99;
  VGPath path = path_with(VG_PATH_CAPABILITY_ALL);
  VGPaint paint = vgCreatePaint();
  VGImage image = vgCreateImage(VG_sRGBA_8888, 16, 16, VG_IMAGE_QUALITY_FASTER);
  VGImage other = vgCreateImage(VG_sRGBA_8888, 16, 16, VG_IMAGE_QUALITY_FASTER);
  VGImage target = vgCreateImage(VG_sRGBA_8888, 16, 16, VG_IMAGE_QUALITY_FASTER);
  EGLClientBuffer buffer = (EGLClientBuffer)(unsigned long)target;
  EGLSurface onto = eglCreatePbufferFromClientBuffer(display, EGL_OPENVG_IMAGE, buffer, config, NULL);
  CHECK(onto != EGL_NO_SURFACE);
  parameters(path, paint);
  matrices();
  paths(path_with(VG_PATH_CAPABILITY_ALL));
  paints(paint, image, target);
  masks(image, target, path);
  images(image, target);
  fonts(path, image, target);
  filters(image, other, target);
  shapes(path);
  ILLEGAL(vgHardwareQuery((VGHardwareQueryType)0, VG_sRGBA_8888));
  ILLEGAL(vgHardwareQuery(VG_IMAGE_FORMAT_QUERY, 0x3f));
  ILLEGAL(vgHardwareQuery(VG_PATH_DATATYPE_QUERY, 9));
  CHECK(vgGetString((VGStringID)0) == NULL);
  // The oldest of several is kept, and told once.
  vgGetError();
  vgDrawPath(WRONG, VG_FILL_PATH), vgDrawPath(path, 0);
  RETURNS(VG_BAD_HANDLE_ERROR, vgGetError());
  RETURNS(VG_NO_ERROR, vgGetError());
  printf("%d checks, %d differ\n", checks, failures);
  return failures > 99 ? 99 : failures;
}
