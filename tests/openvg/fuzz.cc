#include "border.h"
#include <VG/openvg.h>
#include <VG/vgu.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>
static std::mt19937 rng;
static int R(int n) { return (int)(rng() % (unsigned)n); }
static float F() {
  switch (R(12)) {
    case 0: return NAN;
    case 1: return INFINITY;
    case 2: return -1e30f;
    case 3: return 1e9f;
    case 4: return 0;
    default: return (float)R(400) - 100 + R(100) / 100.f;
  }
}
static int I() {
  switch (R(10)) {
    case 0: return -1;
    case 1: return 0x7fffffff;
    case 2: return (int)0x80000000;
    case 3: return 0;
    default: return R(90) - 10;
  }
}
static VGHandle H() { return (VGHandle)R(60); }
static int E(int base, int n) { return R(8) ? base + R(n) : I(); }
int main(int c, char** v) {
  int seed = atoi(v[1]), n = atoi(v[2]);
  rng.seed(seed);
  void* ctx = drawtap_vg_create_context(nullptr);
  void* s = drawtap_vg_create_surface(64, 48, seed & 1, seed & 2);
  drawtap_vg_make_current(ctx, s);
  std::vector<float> fb(4096);
  std::vector<unsigned char> buf(1 << 20);
  for (int i = 0; i < n; i++) {
    for (auto& f : fb)
      if (!R(50)) f = F();
    switch (R(72)) {
      case 0: vgSetf((VGParamType)E(0x1100, 0x75), F()); break;
      case 1: vgSeti((VGParamType)E(0x1100, 0x75), E(0x1200, 0x300)); break;
      case 2: vgSetfv((VGParamType)E(0x1100, 0x75), R(40) - 1, fb.data()); break;
      case 3: {
        int iv[64];
        for (int& x : iv) x = I();
        vgSetiv((VGParamType)E(0x1100, 0x75), R(64) - 1, iv);
        break;
      }
      case 4: {
        float o[64];
        int t = E(0x1100, 0x75);
        int k = vgGetVectorSize((VGParamType)t);
        if (k < 64) vgGetfv((VGParamType)t, k, o);
        break;
      }
      case 5: vgSetParameterf(H(), E(0x1600, 0x200), F()); break;
      case 6: vgSetParameteri(H(), E(0x1600, 0x200), I()); break;
      case 7: vgSetParameterfv(H(), E(0x1A00, 8), R(60) - 1, fb.data()); break;
      case 8: vgLoadIdentity(); break;
      case 9: vgLoadMatrix(fb.data() + R(100)); break;
      case 10: vgMultMatrix(fb.data() + R(100)); break;
      case 11: vgTranslate(F(), F()); break;
      case 12: vgScale(F(), F()); break;
      case 13: vgRotate(F()); break;
      case 14: vgShear(F(), F()); break;
      case 15: vgMask(H(), (VGMaskOperation)E(0x1500, 6), I(), I(), I(), I()); break;
      case 16: vgRenderToMask(H(), R(4), (VGMaskOperation)E(0x1500, 6)); break;
      case 17: vgCreateMaskLayer(I(), I()); break;
      case 18: vgFillMaskLayer(H(), I(), I(), I(), I(), F()); break;
      case 19: vgCopyMask(H(), I(), I(), I(), I(), I(), I()); break;
      case 20: vgClear(I(), I(), I(), I()); break;
      case 21:
      case 22: vgCreatePath(0, (VGPathDatatype)R(5), R(3) ? 1 : F(), F(), 0, 0, R(5) ? 0xfff : R(4096)); break;
      case 23: vgClearPath(H(), 0xfff); break;
      case 24:
        if (!R(4)) vgDestroyPath(H());
        break;
      case 25: vgAppendPath(H(), H()); break;
      case 26:
      case 27:
      case 28: {
        unsigned char sg[20];
        int k = R(20);
        for (auto& x : sg) x = (unsigned char)(R(30) ? R(26) : R(256));
        vgAppendPathData(H(), k, sg, fb.data() + R(200));
        break;
      }
      case 29: vgModifyPathCoords(H(), I(), I(), fb.data()); break;
      case 30: vgTransformPath(H(), H()); break;
      case 31: vgInterpolatePath(H(), H(), H(), F()); break;
      case 32: vgPathLength(H(), I(), I()); break;
      case 33: {
        float a, b, c2, d;
        vgPointAlongPath(H(), R(4), R(6), F(), &a, &b, &c2, &d);
        break;
      }
      case 34: {
        float a, b, c2, d;
        vgPathBounds(H(), &a, &b, &c2, &d);
        vgPathTransformedBounds(H(), &a, &b, &c2, &d);
        break;
      }
      case 35:
      case 36:
      case 37: vgDrawPath(H(), R(4)); break;
      case 38: vgCreatePaint(); break;
      case 39: vgSetPaint(H(), R(4)); break;
      case 40: vgSetColor(H(), rng()); break;
      case 41: vgPaintPattern(H(), H()); break;
      case 42: vgSetParameteri(H(), VG_PAINT_TYPE, E(0x1B00, 4)); break;
      case 43: vgCreateImage((VGImageFormat)(R(5) ? R(256) & 0xcf : I()), R(80), R(80), R(8)); break;
      case 44:
        if (!R(4)) vgDestroyImage(H());
        break;
      case 45: vgClearImage(H(), I(), I(), I(), I()); break;
      case 46:
        vgImageSubData(H(), buf.data() + 4 * R(100), R(400), (VGImageFormat)(R(256) & 0xcf), I(), I(), R(90), R(90));
        break;
      case 47:
        vgGetImageSubData(H(), buf.data(), R(5) ? 400 : 800, (VGImageFormat)(R(256) & 0xcf), I(), I(), R(90), R(90));
        break;
      case 48: vgChildImage(H(), R(20), R(20), R(40), R(40)); break;
      case 49: vgGetParent(H()); break;
      case 50: vgCopyImage(H(), I(), I(), H(), I(), I(), I(), I(), R(2)); break;
      case 51: vgDrawImage(H()); break;
      case 52: vgSetPixels(I(), I(), H(), I(), I(), I(), I()); break;
      case 53: vgGetPixels(H(), I(), I(), I(), I(), I(), I()); break;
      case 54: vgCopyPixels(I(), I(), I(), I(), I(), I()); break;
      case 55: vgColorMatrix(H(), H(), fb.data()); break;
      case 56: {
        short k[64 * 64];
        for (int q = 0; q < 50; q++) k[R(4096)] = (short)R(9);
        vgConvolve(H(), H(), R(9), R(9), R(12) - 3, R(12) - 3, k, F(), F(), (VGTilingMode)E(0x1D00, 4));
        vgSeparableConvolve(H(), H(), R(9), R(9), R(12) - 3, R(12) - 3, k, k, F(), F(), (VGTilingMode)E(0x1D00, 4));
        break;
      }
      case 57: vgGaussianBlur(H(), H(), R(3) + .5f, R(3) + .5f, (VGTilingMode)E(0x1D00, 4)); break;
      case 58: vgCreateFont(I()); break;
      case 59:
        vgSetGlyphToPath(H(), R(4), H(), 0, fb.data(), fb.data() + 2);
        vgSetGlyphToImage(H(), R(4), H(), fb.data(), fb.data() + 2);
        break;
      case 60: {
        VGuint ix[3] = {(VGuint)R(4), (VGuint)R(4), (VGuint)R(4)};
        vgDrawGlyphs(H(), R(4), ix, R(2) ? fb.data() : nullptr, nullptr, R(4), 0);
        break;
      }
      case 61:
        switch (R(6)) {
          case 0: vguRoundRect(H(), F(), F(), F(), F(), F(), F()); break;
          case 1: vguEllipse(H(), F(), F(), F(), F()); break;
          case 2: vguArc(H(), F(), F(), F(), F(), F(), F(), (VGUArcType)E(0xF100, 3)); break;
          case 3: vguPolygon(H(), fb.data(), R(9), R(2)); break;
          case 4:
            vguComputeWarpQuadToQuad(F(), F(), F(), F(), F(), F(), F(), F(), F(), F(), F(), F(), F(), F(), F(), F(),
                                     fb.data());
            break;
          default: vguRect(H(), F(), F(), F(), F());
        }
        break;
      case 62:
        vgLookup(H(), H(), buf.data(), buf.data() + R(500), buf.data() + 256, buf.data() + 512, R(2), R(2));
        break;
      case 63:
        vgLookupSingle(H(), H(), (const VGuint*)buf.data() + R(100), (VGImageChannel)(R(8) ? 1 << R(4) : I()), R(2),
                       R(2));
        break;
      case 64:
        vgWritePixels(buf.data() + (1 << 19), 4 * R(200) - 400, (VGImageFormat)(R(256) & 0xcf), I(), I(), R(90), R(90));
        break;
      case 65:
        vgReadPixels(buf.data() + (1 << 19), 4 * R(200) - 400, (VGImageFormat)(R(256) & 0xcf), I(), I(), R(90), R(90));
        break;
      case 66: {
        float of[256];
        int oi[256], type = E(0x1A00, 8);
        VGHandle h = H();
        int k = vgGetParameterVectorSize(h, type);
        if (k <= 256)
          vgGetParameterfv(h, type, R(3) ? k : R(256), of), vgGetParameteriv(h, type, R(3) ? k : R(256), oi);
        vgGetParameterf(h, type);
        vgGetParameteri(h, E(0x1600, 0x200));
        vgSetParameteriv(h, type, R(4), (const VGint*)buf.data());
        break;
      }
      case 67:
        vgDrawGlyph(H(), R(4), R(5), R(2));
        if (!R(4)) vgClearGlyph(H(), R(4));
        break;
      case 68:
        if (!R(4)) switch (R(3)) {
            case 0: vgDestroyFont(H()); break;
            case 1: vgDestroyMaskLayer(H()); break;
            default: vgDestroyPaint(H());
          }
        break;
      case 69:
        vgRemovePathCapabilities(H(), R(6) ? 0 : R(4096));
        vgGetPathCapabilities(H());
        vguLine(H(), F(), F(), F(), F());
        break;
      case 70: {
        float m[9];
        int oi[64], type = E(0x1100, 0x75);
        vgGetMatrix(m);
        vgGetf((VGParamType)type);
        vgGeti((VGParamType)E(0x1100, 0x75));
        int k = vgGetVectorSize((VGParamType)type);
        if (k < 64) vgGetiv((VGParamType)type, k, oi);
        vgGetPaint((VGPaintMode)R(4));
        vgGetColor(H());
        vgGetString((VGStringID)E(0x2300, 6));
        vgFlush();
        vgFinish();
        vgHardwareQuery((VGHardwareQueryType)E(0x2100, 3), I());
        break;
      }
      case 71: {
        float m[9];
        vguComputeWarpQuadToSquare(F(), F(), F(), F(), F(), F(), F(), F(), m);
        vguComputeWarpSquareToQuad(F(), F(), F(), F(), F(), F(), F(), F(), m);
        vgCopyMask(vgCreateMaskLayer(R(80), R(80)), I(), I(), I(), I(), I(), I());
        break;
      }
    }
    if (!R(200)) drawtap_vg_resize_surface(s, R(90) + 1, R(90) + 1), drawtap_vg_make_current(ctx, s);
    if (!R(10)) vgGetError();
  }
  drawtap_vg_make_current(nullptr, nullptr);
  drawtap_vg_destroy_context(ctx);
  drawtap_vg_destroy_surface(s);
  return 0;
}
