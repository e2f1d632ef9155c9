// What is set in a context: capabilities, rasterisation, bindings, and the state of fixed functions.
#include <stdlib.h>

#include "base.h"
#include "told.h"

namespace dt {
namespace hook {

using namespace gl;

namespace {

enum : uint32_t {
  TEXTURE0 = 0x84C0,
  MODELVIEW = 0x1700,
  PROJECTION = 0x1701,
  TEXTURE = 0x1702,
  FRONT = 0x0404,
  BACK = 0x0405,
  FRONT_AND_BACK = 0x0408
};

// A switch, and the versions that have it; `old`: only with fixed functions. 0: never.
struct Switch {
  uint32_t name, gl, es;
  bool old;
};
const Switch SWITCHES[] = {{0x0BE2, 10, 10, false},
                           {0x0B44, 10, 10, false},
                           {0x0B71, 10, 10, false},
                           {0x0BD0, 10, 10, false},
                           {0x0C11, 10, 10, false},
                           {0x0B90, 10, 10, false},
                           {0x8037, 11, 10, false},
                           {0x2A01, 11, 0, false},
                           {0x2A02, 11, 0, false},
                           {0x809E, 13, 10, false},
                           {0x80A0, 13, 10, false},
                           {0x809D, 13, 0, false},
                           {0x809F, 13, 0, false},
                           {0x0BF2, 11, 0, false},
                           {0x0B20, 10, 0, false},
                           {0x0B41, 10, 0, false},
                           {0x8642, 20, 0, false},
                           {0x8DB9, 30, 0, false},
                           {0x8C89, 30, 30, false},
                           {0x864F, 32, 0, false},
                           {0x884F, 32, 0, false},
                           {0x8F9D, 31, 0, false},
                           {0x8D69, 43, 30, false},
                           {0x8E51, 32, 31, false},
                           {0x8C36, 40, 32, false},
                           {0x3000, 11, 0, false},
                           {0x3001, 11, 0, false},
                           {0x3002, 11, 0, false},
                           {0x3003, 11, 0, false},
                           {0x3004, 11, 0, false},
                           {0x3005, 11, 0, false},
                           // With fixed functions; where OpenGL ES has them, that is version 1.
                           {0x0BC0, 10, 10, true},
                           {0x0D80, 10, 0, true},
                           {0x0B57, 10, 10, true},
                           {0x8458, 14, 0, true},
                           {0x0B60, 10, 10, true},
                           {0x0BF1, 10, 0, true},
                           {0x4000, 10, 10, true},
                           {0x4001, 10, 10, true},
                           {0x4002, 10, 10, true},
                           {0x4003, 10, 10, true},
                           {0x4004, 10, 10, true},
                           {0x4005, 10, 10, true},
                           {0x4006, 10, 10, true},
                           {0x4007, 10, 10, true},
                           {0x0B50, 10, 10, true},
                           {0x0B24, 10, 0, true},
                           {0x0BA1, 10, 10, true},
                           {0x0B10, 10, 10, true},
                           {0x0B42, 10, 0, true},
                           {0x803A, 12, 10, true},
                           {0x8861, 20, 0, true},
                           {0x8643, 20, 0, true},
                           {0x0D90, 10, 0, true},
                           {0x0D91, 10, 0, true},
                           {0x0D92, 10, 0, true},
                           {0x0D93, 10, 0, true},
                           {0x0D94, 10, 0, true},
                           {0x0D95, 10, 0, true},
                           {0x0D96, 10, 0, true},
                           {0x0D97, 10, 0, true},
                           {0x0D98, 10, 0, true},
                           {0x0DB0, 10, 0, true},
                           {0x0DB1, 10, 0, true},
                           {0x0DB2, 10, 0, true},
                           {0x0DB3, 10, 0, true},
                           {0x0DB4, 10, 0, true},
                           {0x0DB5, 10, 0, true},
                           {0x0DB6, 10, 0, true},
                           {0x0DB7, 10, 0, true},
                           {0x0DB8, 10, 0, true}};

}  // namespace

// ---- rasterisation ------------------------------------------------------------------------------

void Base::take_capabilities() {
  for (auto& s : SWITCHES) {
    if (!has(s.gl, s.es) || (s.old && !old)) continue;
    const bool on = d.glIsEnabled(s.name);
    if (fine()) tell<uint32_t>(t, on ? "glEnable" : "glDisable", s.name);
  }
}

void Base::take_raster() {
  float f[16] = {};
  int32_t i[16] = {};
  uint8_t b[16] = {};
  d.glGetIntegerv(0x0BA2, i);
  tell<int32_t, int32_t, int32_t, int32_t>(t, "glViewport", i[0], i[1], i[2], i[3]);
  d.glGetIntegerv(0x0C10, i);
  tell<int32_t, int32_t, int32_t, int32_t>(t, "glScissor", i[0], i[1], i[2], i[3]);
  if (es) {
    d.glGetFloatv(0x0B70, f);
    tell<float, float>(t, "glDepthRangef", f[0], f[1]);
    d.glGetFloatv(0x0B73, f);
    tell<float>(t, "glClearDepthf", f[0]);
  } else {
    double range[2] = {}, depth = 1;
    d.glGetDoublev(0x0B70, range);
    tell<double, double>(t, "glDepthRange", range[0], range[1]);
    d.glGetDoublev(0x0B73, &depth);
    tell<double>(t, "glClearDepth", depth);
  }
  d.glGetFloatv(0x0C22, f);
  tell<float, float, float, float>(t, "glClearColor", f[0], f[1], f[2], f[3]);
  tell<int32_t>(t, "glClearStencil", get(0x0B91));
  tell<uint32_t>(t, "glDepthFunc", (uint32_t)get(0x0B74));
  d.glGetBooleanv(0x0B72, b);
  tell<uint8_t>(t, "glDepthMask", b[0]);
  d.glGetBooleanv(0x0C23, b);
  tell<uint8_t, uint8_t, uint8_t, uint8_t>(t, "glColorMask", b[0], b[1], b[2], b[3]);
  tell<uint32_t>(t, "glCullFace", (uint32_t)get(0x0B45));
  tell<uint32_t>(t, "glFrontFace", (uint32_t)get(0x0B46));
  d.glGetFloatv(0x0B21, f);
  tell<float>(t, "glLineWidth", f[0]);
  d.glGetFloatv(0x8038, f), d.glGetFloatv(0x2A00, f + 1);
  if (has(11, 10)) tell<float, float>(t, "glPolygonOffset", f[0], f[1]);
  fine();
  if (has(13, 10)) {
    d.glGetFloatv(0x80AA, f);
    d.glGetBooleanv(0x80AB, b);
    tell<float, uint8_t>(t, "glSampleCoverage", f[0], b[0]);
  }
  if (!es || c->version < 20) {
    d.glGetFloatv(0x0B11, f);
    tell<float>(t, "glPointSize", f[0]);
  }
  if (!es) {
    d.glGetIntegerv(0x0B40, i);
    if (!c->core && i[1])
      tell<uint32_t, uint32_t>(t, "glPolygonMode", FRONT, (uint32_t)i[0]),
          tell<uint32_t, uint32_t>(t, "glPolygonMode", BACK, (uint32_t)i[1]);
    else
      tell<uint32_t, uint32_t>(t, "glPolygonMode", FRONT_AND_BACK, (uint32_t)i[0]);
  }
  if (!es || c->version < 20) tell<uint32_t>(t, "glLogicOp", (uint32_t)get(0x0BF0));
  // Stencil: both faces where they are apart.
  if (has(20, 20)) {
    tell<uint32_t, uint32_t, int32_t, uint32_t>(t, "glStencilFuncSeparate", FRONT, (uint32_t)get(0x0B92), get(0x0B97),
                                                (uint32_t)get(0x0B93, -1));
    tell<uint32_t, uint32_t, int32_t, uint32_t>(t, "glStencilFuncSeparate", BACK, (uint32_t)get(0x8800), get(0x8CA3),
                                                (uint32_t)get(0x8CA4, -1));
    tell<uint32_t, uint32_t, uint32_t, uint32_t>(t, "glStencilOpSeparate", FRONT, (uint32_t)get(0x0B94),
                                                 (uint32_t)get(0x0B95), (uint32_t)get(0x0B96));
    tell<uint32_t, uint32_t, uint32_t, uint32_t>(t, "glStencilOpSeparate", BACK, (uint32_t)get(0x8801),
                                                 (uint32_t)get(0x8802), (uint32_t)get(0x8803));
    tell<uint32_t, uint32_t>(t, "glStencilMaskSeparate", FRONT, (uint32_t)get(0x0B98, -1));
    tell<uint32_t, uint32_t>(t, "glStencilMaskSeparate", BACK, (uint32_t)get(0x8CA5, -1));
  } else {
    tell<uint32_t, int32_t, uint32_t>(t, "glStencilFunc", (uint32_t)get(0x0B92), get(0x0B97),
                                      (uint32_t)get(0x0B93, -1));
    tell<uint32_t, uint32_t, uint32_t>(t, "glStencilOp", (uint32_t)get(0x0B94), (uint32_t)get(0x0B95),
                                       (uint32_t)get(0x0B96));
    tell<uint32_t>(t, "glStencilMask", (uint32_t)get(0x0B98, -1));
  }
  static const uint32_t hints[][3] = {{0x0C52, 10, 0}, {0x0C53, 10, 0}, {0x84EF, 13, 0}, {0x8B8B, 20, 30}};
  for (auto& h : hints)
    if (has(h[1], h[2])) tell<uint32_t, uint32_t>(t, "glHint", h[0], (uint32_t)get(h[0], 0x1100));
  if ((!c->core && has(14, 0)) || (es && c->version < 30))
    tell<uint32_t, uint32_t>(t, "glHint", 0x8192, (uint32_t)get(0x8192, 0x1100));
  if (has(14, 0)) {
    d.glGetFloatv(0x8128, f);
    tell<uint32_t, float>(t, "glPointParameterf", 0x8128, f[0]);
  }
  if (has(20, 0)) tell<uint32_t, int32_t>(t, "glPointParameteri", 0x8CA0, get(0x8CA0, 0x8CA2));
  if (has(31, 0)) tell<uint32_t>(t, "glPrimitiveRestartIndex", (uint32_t)get(0x8F9E));
  if (has(32, 0)) tell<uint32_t>(t, "glProvokingVertex", (uint32_t)get(0x8E4F, 0x8E4E));
  if (has(32, 31)) {
    d.glGetIntegeri_v(0x8E52, 0, i);
    if (fine()) tell<uint32_t, uint32_t>(t, "glSampleMaski", 0, (uint32_t)i[0]);
  }
  if (has(40, 32)) {
    tell<uint32_t, int32_t>(t, "glPatchParameteri", 0x8E72, get(0x8E72, 3));
    d.glGetFloatv(0x8C37, f);
    if (fine()) tell<float>(t, "glMinSampleShading", f[0]);
  }
  if (has(40, 0)) {
    d.glGetFloatv(0x8E74, f), d.glGetFloatv(0x8E73, f + 4);
    if (fine())
      tell<uint32_t, const float*>(t, "glPatchParameterfv", 0x8E74, f),
          tell<uint32_t, const float*>(t, "glPatchParameterfv", 0x8E73, f + 4);
  }
  if (has(45, 0))
    tell<uint32_t, uint32_t>(t, "glClipControl", (uint32_t)get(0x935C, 0x8CA1), (uint32_t)get(0x935D, 0x935E));
  fine();
  if (!has(41, 0)) return;
  // The other viewports, where they differ from the first.
  float first[4] = {}, other[4] = {};
  d.glGetFloati_v(0x0BA2, 0, first);
  const int32_t viewports = get(0x825B, 1);
  for (int32_t n = 1; n < viewports && n < 16; n++) {
    d.glGetFloati_v(0x0BA2, (uint32_t)n, other);
    if (memcmp(first, other, sizeof first))
      tell<uint32_t, float, float, float, float>(t, "glViewportIndexedf", (uint32_t)n, other[0], other[1], other[2],
                                                 other[3]);
    int32_t box[4] = {}, all[4] = {};
    d.glGetIntegeri_v(0x0C10, 0, all), d.glGetIntegeri_v(0x0C10, (uint32_t)n, box);
    if (memcmp(box, all, sizeof box))
      tell<uint32_t, int32_t, int32_t, int32_t, int32_t>(t, "glScissorIndexed", (uint32_t)n, box[0], box[1], box[2],
                                                         box[3]);
  }
  fine();
}

void Base::take_blending() {
  float color[4] = {};
  if (has(14, 20)) {
    d.glGetFloatv(0x8005, color);
    tell<float, float, float, float>(t, "glBlendColor", color[0], color[1], color[2], color[3]);
  }
  struct {
    uint32_t factors[4], equations[2];
  } all{};
  if (has(14, 20)) {
    static const uint32_t names[] = {0x80C9, 0x80C8, 0x80CB, 0x80CA};
    for (int n = 0; n < 4; n++) all.factors[n] = (uint32_t)get(names[n]);
    tell<uint32_t, uint32_t, uint32_t, uint32_t>(t, "glBlendFuncSeparate", all.factors[0], all.factors[1],
                                                 all.factors[2], all.factors[3]);
  } else {
    tell<uint32_t, uint32_t>(t, "glBlendFunc", (uint32_t)get(0x0BE1), (uint32_t)get(0x0BE0));
  }
  if (has(20, 20)) {
    all.equations[0] = (uint32_t)get(0x8009), all.equations[1] = (uint32_t)get(0x883D);
    tell<uint32_t, uint32_t>(t, "glBlendEquationSeparate", all.equations[0], all.equations[1]);
  } else if (has(14, 0)) {
    tell<uint32_t>(t, "glBlendEquation", (uint32_t)get(0x8009, 0x8006));
  }
  if (!has(30, 32)) return;
  const int32_t buffers = get(0x8824, 1);
  const bool blends = d.glIsEnabledi(0x0BE2, 0);
  uint8_t mask[4] = {};
  d.glGetBooleani_v(0x0C23, 0, mask);
  for (int32_t n = 1; n < buffers && n < 16; n++) {
    const auto at = (uint32_t)n;
    const bool on = d.glIsEnabledi(0x0BE2, at);
    if (on != blends) tell<uint32_t, uint32_t>(t, on ? "glEnablei" : "glDisablei", 0x0BE2, at);
    uint8_t other[4] = {};
    d.glGetBooleani_v(0x0C23, at, other);
    if (memcmp(mask, other, 4))
      tell<uint32_t, uint8_t, uint8_t, uint8_t, uint8_t>(t, "glColorMaski", at, other[0], other[1], other[2], other[3]);
    if (!has(40, 32)) continue;
    int32_t v[6] = {};
    static const uint32_t names[] = {0x80C9, 0x80C8, 0x80CB, 0x80CA, 0x8009, 0x883D};
    for (int k = 0; k < 6; k++) d.glGetIntegeri_v(names[k], at, &v[k]);
    if (!fine()) continue;
    if (memcmp(v, all.factors, sizeof all.factors))
      tell<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>(t, "glBlendFuncSeparatei", at, (uint32_t)v[0],
                                                             (uint32_t)v[1], (uint32_t)v[2], (uint32_t)v[3]);
    if (memcmp(v + 4, all.equations, sizeof all.equations))
      tell<uint32_t, uint32_t, uint32_t>(t, "glBlendEquationSeparatei", at, (uint32_t)v[4], (uint32_t)v[5]);
  }
  fine();
}

// ---- bindings -----------------------------------------------------------------------------------

void Base::take_units() {
  struct Point {
    uint32_t target, binding, gl, es;
  };
  static const Point points[] = {{0x0DE1, 0x8069, 11, 10}, {0x8513, 0x8514, 13, 20}, {0x806F, 0x806A, 12, 30},
                                 {0x8C1A, 0x8C1D, 30, 30}, {0x0DE0, 0x8068, 11, 0},  {0x8C18, 0x8C1C, 30, 0},
                                 {0x84F5, 0x84F6, 31, 0},  {0x8C2A, 0x8C2C, 31, 32}, {0x9009, 0x900A, 40, 32},
                                 {0x9100, 0x9104, 32, 31}, {0x9102, 0x9105, 32, 32}};
  const bool many = has(13, 10);
  const uint32_t active = many ? (uint32_t)get(0x84E0, TEXTURE0) : +TEXTURE0;
  int32_t units = has(20, 20) ? get(0x8B4D, 8) : many ? get(0x84E2, 1) : 1;
  if (units < 1) units = 1;
  for (int32_t u = 0; u < units; u++) {
    bool there = false;  // the unit is chosen in the recording where something is bound to it
    auto choose = [&] {
      if (!there && many) tell<uint32_t>(t, "glActiveTexture", TEXTURE0 + (uint32_t)u);
      there = true;
    };
    if (many) d.glActiveTexture(TEXTURE0 + (uint32_t)u);
    for (auto& p : points) {
      if (!has(p.gl, p.es)) continue;
      const int32_t name = get(p.binding);
      if (!name && !c->in_recording) continue;
      choose();
      tell<uint32_t, uint32_t>(t, "glBindTexture", p.target, (uint32_t)name);
    }
    if (has(33, 30))
      if (const int32_t sampler = get(0x8919); sampler || c->in_recording)
        tell<uint32_t, uint32_t>(t, "glBindSampler", (uint32_t)u, (uint32_t)sampler);
  }
  if (many) {
    d.glActiveTexture(active);
    tell<uint32_t>(t, "glActiveTexture", active);
  }
  if (!has(42, 31)) return;
  const int32_t images = get(0x8F38);
  for (int32_t u = 0; u < images; u++) {
    int32_t v[6] = {};
    static const uint32_t names[] = {0x8F3A, 0x8F3B, 0x8F3C, 0x8F3D, 0x8F3E, 0x906E};
    for (int k = 0; k < 6; k++) d.glGetIntegeri_v(names[k], (uint32_t)u, &v[k]);
    if (fine() && v[0])
      tell<uint32_t, uint32_t, int32_t, uint8_t, int32_t, uint32_t, uint32_t>(t, "glBindImageTexture", (uint32_t)u,
                                                                              (uint32_t)v[0], v[1], (uint8_t)v[2], v[3],
                                                                              (uint32_t)v[4], (uint32_t)v[5]);
  }
}

void Base::take_indexed_buffers() {
  struct Group {
    uint32_t target, binding, start, size, most, gl, es;
  };
  static const Group groups[] = {{0x8A11, 0x8A28, 0x8A29, 0x8A2A, 0x8A2F, 31, 30},
                                 {0x90D2, 0x90D3, 0x90D4, 0x90D5, 0x90DD, 43, 31},
                                 {0x92C0, 0x92C1, 0x92C2, 0x92C3, 0x92DC, 42, 31}};
  auto bind = [&](const Group& g, int32_t n) {
    int32_t name = 0;
    int64_t start = 0, size = 0;
    d.glGetIntegeri_v(g.binding, (uint32_t)n, &name);
    d.glGetInteger64i_v(g.start, (uint32_t)n, &start);
    d.glGetInteger64i_v(g.size, (uint32_t)n, &size);
    if (!fine() || (!name && !c->in_recording)) return;
    if (size)
      tell<uint32_t, uint32_t, uint32_t, intptr_t, intptr_t>(t, "glBindBufferRange", g.target, (uint32_t)n,
                                                             (uint32_t)name, start, size);
    else
      tell<uint32_t, uint32_t, uint32_t>(t, "glBindBufferBase", g.target, (uint32_t)n, (uint32_t)name);
  };
  for (auto& g : groups) {
    if (!has(g.gl, g.es)) continue;
    const int32_t most = get(g.most);
    for (int32_t n = 0; n < most && n < 256; n++) bind(g, n);
  }
  if (!has(30, 30)) return;
  // Transform feedback: an object of its own has its buffers with it.
  static const Group feedback = {0x8C8E, 0x8C8F, 0x8C84, 0x8C85, 0x8C8B, 30, 30};
  const uint32_t current = has(40, 30) ? (uint32_t)get(0x8E25) : 0;
  if (get(0x8E24)) lacks("transform feedback is under way");
  auto bind_all = [&] {
    const int32_t most = get(0x8C8B, 4);
    for (int32_t n = 0; n < most && n < 16; n++) bind(feedback, n);
  };
  for (uint32_t i = 0; i < found[FEEDBACKS].count && !get(0x8E24); i++) {
    d.glBindTransformFeedback(0x8E22, found[FEEDBACKS].list[i]);
    tell<uint32_t, uint32_t>(t, "glBindTransformFeedback", 0x8E22, found[FEEDBACKS].list[i]);
    bind_all();
  }
  if (found[FEEDBACKS].count && !get(0x8E24)) {
    d.glBindTransformFeedback(0x8E22, current);
    tell<uint32_t, uint32_t>(t, "glBindTransformFeedback", 0x8E22, current);
  }
  if (!current) bind_all();
}

void Base::take_bindings() {
  take_units();
  take_indexed_buffers();
  struct Point {
    uint32_t target, binding, gl, es;
  };
  static const Point points[] = {{0x8892, 0x8894, 15, 11}, {0x88EB, 0x88ED, 21, 30}, {0x88EC, 0x88EF, 21, 30},
                                 {0x8A11, 0x8A28, 31, 30}, {0x8F36, 0x8F36, 31, 30}, {0x8F37, 0x8F37, 31, 30},
                                 {0x8C2A, 0x8C2A, 31, 32}, {0x8F3F, 0x8F43, 40, 31}, {0x90EE, 0x90EF, 43, 31},
                                 {0x90D2, 0x90D3, 43, 31}, {0x92C0, 0x92C1, 42, 31}, {0x9192, 0x9193, 44, 0},
                                 {0x80EE, 0x80EF, 46, 0}};
  for (auto& p : points) {
    if (!has(p.gl, p.es)) continue;
    // Pixel buffers were unbound for the time of asking.
    const int32_t name = p.target == 0x88EB ? (int32_t)pack_buffer : get(p.binding);
    if (name || c->in_recording) tell<uint32_t, uint32_t>(t, "glBindBuffer", p.target, (uint32_t)name);
  }
  if (has(30, 30)) tell<uint32_t>(t, "glBindVertexArray", (uint32_t)get(0x85B5));
  if (has(30, 20)) tell<uint32_t, uint32_t>(t, "glBindRenderbuffer", 0x8D41, (uint32_t)get(0x8CA7));
  if (has(30, 30)) {
    // The surface's own buffers, which framebuffers that are bound hide.
    const uint32_t draw = (uint32_t)get(0x8CA6), read = (uint32_t)get(0x8CAA);
    tell<uint32_t, uint32_t>(t, "glBindFramebuffer", 0x8D40, 0);
    if (draw) d.glBindFramebuffer(0x8CA9, 0);
    if (read) d.glBindFramebuffer(0x8CA8, 0);
    const uint32_t to = (uint32_t)get(0x8825), from = (uint32_t)get(0x0C02);
    if (!es && to) tell<uint32_t>(t, "glDrawBuffer", to);
    if (es && !to) tell<int32_t, const uint32_t*>(t, "glDrawBuffers", 1, &to);
    if (from) tell<uint32_t>(t, "glReadBuffer", from);
    if (draw) d.glBindFramebuffer(0x8CA9, draw);
    if (read) d.glBindFramebuffer(0x8CA8, read);
    tell<uint32_t, uint32_t>(t, "glBindFramebuffer", 0x8CA9, draw);
    tell<uint32_t, uint32_t>(t, "glBindFramebuffer", 0x8CA8, read);
  } else if (es && c->version >= 20) {
    tell<uint32_t, uint32_t>(t, "glBindFramebuffer", 0x8D40, (uint32_t)get(0x8CA6));
  } else if (!es) {
    tell<uint32_t>(t, "glDrawBuffer", (uint32_t)get(0x0C01));
    tell<uint32_t>(t, "glReadBuffer", (uint32_t)get(0x0C02));
  }
  if (has(41, 31)) tell<uint32_t>(t, "glBindProgramPipeline", (uint32_t)get(0x825A));
  if (has(20, 20)) {
    const uint32_t program = (uint32_t)get(0x8B8D);
    int32_t gone = 0;
    tell<uint32_t>(t, "glUseProgram", program);
    if (program) d.glGetProgramiv(program, 0x8B80, &gone);
    if (gone) tell<uint32_t>(t, "glDeleteProgram", program);  // it lives until it is not used any more
  }
  fine();
}

void Base::take_pixel_store() {
  const struct {
    uint32_t name;
    int32_t value, first;
  } values[] = {{0x0CF5, unpack.alignment, 4},   {0x0CF2, unpack.row_length, 0},   {0x0CF3, unpack.skip_rows, 0},
                {0x0CF4, unpack.skip_pixels, 0}, {0x0CF0, unpack.swap_bytes, 0},   {0x0CF1, unpack.lsb_first, 0},
                {0x806D, unpack.skip_images, 0}, {0x806E, unpack.image_height, 0}, {0x0D05, pack.alignment, 4},
                {0x0D02, pack.row_length, 0},    {0x0D03, pack.skip_rows, 0},      {0x0D04, pack.skip_pixels, 0},
                {0x0D00, pack.swap_bytes, 0},    {0x0D01, pack.lsb_first, 0},      {0x806B, pack.skip_images, 0},
                {0x806C, pack.image_height, 0},  {0x9127, unpack.block_width, 0},  {0x9128, unpack.block_height, 0},
                {0x9129, unpack.block_depth, 0}, {0x912A, unpack.block_size, 0},   {0x912B, pack.block_width, 0},
                {0x912C, pack.block_height, 0},  {0x912D, pack.block_depth, 0},    {0x912E, pack.block_size, 0}};
  for (auto& v : values)
    if (v.value != v.first || v.name == 0x0CF5 || c->in_recording)
      if (v.name == 0x0CF5 || v.name == 0x0D05 || v.value != v.first)
        tell<uint32_t, int32_t>(t, "glPixelStorei", v.name, v.value);
}

void Base::state() {
  if (old) fixed_state();
  take_capabilities();
  take_raster();
  take_blending();
  if (has(20, 20))
    for (uint32_t i = old && !es ? 1 : 0; i < c->max_attribs; i++) {
      float v[4] = {0, 0, 0, 1};
      d.glGetVertexAttribfv(i, 0x8626, v);
      static const float first[4] = {0, 0, 0, 1};
      if (fine() && (memcmp(v, first, sizeof v) || c->in_recording))
        tell<uint32_t, const float*>(t, "glVertexAttrib4fv", i, v);
    }
  if (has(43, 32) && debug_output) tell<uint32_t>(t, "glEnable", 0x92E0);
  take_bindings();
  take_pixel_store();
}

// ---- fixed functions ----------------------------------------------------------------------------

namespace {
// A matrix of floats is told as it is.
void tell_matrix(Thread* t, const float* m) { tell<const float*>(t, "glLoadMatrixf", m); }
}  // namespace

// The top of a stack can be asked for; what is below comes by taking it off, and is put back.
void Base::take_matrices() {
  const uint32_t mode = (uint32_t)get(0x0BA0, MODELVIEW);
  auto stack = [&](uint32_t which, uint32_t depth_name, uint32_t matrix_name) {
    constexpr int32_t MOST = 64;
    static float matrices[MOST][16];
    int32_t depth = get(depth_name, 1);
    if (depth > MOST) depth = MOST;
    d.glMatrixMode(which);
    for (int32_t i = depth - 1; i >= 0; i--) {
      d.glGetFloatv(matrix_name, matrices[i]);
      if (i) d.glPopMatrix();
    }
    for (int32_t i = 1; i < depth; i++) d.glPushMatrix(), d.glLoadMatrixf(matrices[i]);
    tell<uint32_t>(t, "glMatrixMode", which);
    for (int32_t i = 0; i < depth; i++) {
      if (i) tell(t, "glPushMatrix");
      tell_matrix(t, matrices[i]);
    }
  };
  stack(MODELVIEW, 0x0BA3, 0x0BA6);
  stack(PROJECTION, 0x0BA4, 0x0BA7);
  const bool many = has(13, 10);
  const uint32_t active = many ? (uint32_t)get(0x84E0, TEXTURE0) : +TEXTURE0;
  for (uint32_t u = 0; u < c->max_tex_units; u++) {
    if (many) d.glActiveTexture(TEXTURE0 + u), tell<uint32_t>(t, "glActiveTexture", TEXTURE0 + u);
    stack(TEXTURE, 0x0BA5, 0x0BA8);
  }
  if (many) d.glActiveTexture(active), tell<uint32_t>(t, "glActiveTexture", active);
  d.glMatrixMode(mode);
  tell<uint32_t>(t, "glMatrixMode", mode);
  fine();
}

void Base::take_lights() {
  // What a light and a plane are given is turned by the modelview matrix, which is a unit matrix here.
  for (uint32_t n = 0; n < 8; n++) {
    static const uint32_t vectors[] = {0x1200, 0x1201, 0x1202, 0x1203, 0x1204},
                          numbers[] = {0x1205, 0x1206, 0x1207, 0x1208, 0x1209};
    for (uint32_t name : vectors) {
      float v[4] = {};
      d.glGetLightfv(0x4000 + n, name, v);
      if (fine()) tell<uint32_t, uint32_t, const float*>(t, "glLightfv", 0x4000 + n, name, v);
    }
    for (uint32_t name : numbers) {
      float v = 0;
      d.glGetLightfv(0x4000 + n, name, &v);
      if (fine()) tell<uint32_t, uint32_t, float>(t, "glLightf", 0x4000 + n, name, v);
    }
  }
  float v[4] = {};
  d.glGetFloatv(0x0B53, v);
  tell<uint32_t, const float*>(t, "glLightModelfv", 0x0B53, v);
  v[0] = (float)get(0x0B52);
  tell<uint32_t, float>(t, "glLightModelf", 0x0B52, v[0]);
  if (!es) tell<uint32_t, float>(t, "glLightModelf", 0x0B51, (float)get(0x0B51));
  if (has(12, 0)) tell<uint32_t, int32_t>(t, "glLightModeli", 0x81F8, get(0x81F8, 0x81F9));
  // Materials follow the colour where that is switched on, so it must not be yet.
  tell<uint32_t>(t, "glDisable", 0x0B57);
  if (!es)
    tell<uint32_t, uint32_t>(t, "glColorMaterial", (uint32_t)get(0x0B55, FRONT_AND_BACK),
                             (uint32_t)get(0x0B56, 0x1602));
  for (uint32_t face : Each<uint32_t>{+FRONT, +BACK}) {
    for (uint32_t name : Each<uint32_t>{0x1200u, 0x1201u, 0x1202u, 0x1600u}) {
      d.glGetMaterialfv(face, name, v);
      if (fine() && (!es || face == FRONT))
        tell<uint32_t, uint32_t, const float*>(t, "glMaterialfv", es ? +FRONT_AND_BACK : face, name, v);
    }
    d.glGetMaterialfv(face, 0x1601, v);
    if (fine() && (!es || face == FRONT))
      tell<uint32_t, uint32_t, float>(t, "glMaterialf", es ? +FRONT_AND_BACK : face, 0x1601, v[0]);
  }
  const int32_t planes = get(0x0D32, 6);
  for (int32_t n = 0; n < planes && n < 8; n++) {
    const uint32_t plane = 0x3000 + (uint32_t)n;
    if (es) {
      float equation[4] = {};
      d.glGetClipPlanef(plane, equation);
      if (fine()) tell<uint32_t, const float*>(t, "glClipPlanef", plane, equation);
    } else {
      double equation[4] = {};
      d.glGetClipPlane(plane, equation);
      if (fine()) tell<uint32_t, const double*>(t, "glClipPlane", plane, equation);
    }
  }
}

void Base::take_texture_environment() {
  const bool many = has(13, 10);
  const uint32_t active = many ? (uint32_t)get(0x84E0, TEXTURE0) : +TEXTURE0;
  for (uint32_t u = 0; u < c->max_tex_units; u++) {
    if (many) d.glActiveTexture(TEXTURE0 + u), tell<uint32_t>(t, "glActiveTexture", TEXTURE0 + u);
    for (uint32_t target : Each<uint32_t>{0x0DE0u, 0x0DE1u, 0x806Fu, 0x8513u, 0x84F5u}) {
      if ((es && target != 0x0DE1) || (target == 0x806F && !has(12, 0)) || (target == 0x8513 && !has(13, 0)) ||
          (target == 0x84F5 && !has(31, 0)))
        continue;
      const bool on = d.glIsEnabled(target);
      if (fine()) tell<uint32_t>(t, on ? "glEnable" : "glDisable", target);
    }
    int32_t i[4] = {};
    float f[4] = {};
    static const uint32_t words[] = {0x2200, 0x8571, 0x8572, 0x8580, 0x8581, 0x8582, 0x8588, 0x8589,
                                     0x858A, 0x8590, 0x8591, 0x8592, 0x8598, 0x8599, 0x859A};
    for (uint32_t name : words) {
      if (name != 0x2200 && !has(13, 11)) continue;
      d.glGetTexEnviv(0x2300, name, i);
      if (fine()) tell<uint32_t, uint32_t, int32_t>(t, "glTexEnvi", 0x2300, name, i[0]);
    }
    d.glGetTexEnvfv(0x2300, 0x2201, f);
    tell<uint32_t, uint32_t, const float*>(t, "glTexEnvfv", 0x2300, 0x2201, f);
    for (uint32_t name : Each<uint32_t>{0x8573u, 0x0D1Cu}) {
      if (!has(13, 11)) continue;
      d.glGetTexEnvfv(0x2300, name, f);
      if (fine()) tell<uint32_t, uint32_t, float>(t, "glTexEnvf", 0x2300, name, f[0]);
    }
    if (has(14, 0)) {
      d.glGetTexEnvfv(0x8500, 0x8501, f);
      if (fine()) tell<uint32_t, uint32_t, float>(t, "glTexEnvf", 0x8500, 0x8501, f[0]);
    }
    if (has(20, 0)) {
      d.glGetTexEnviv(0x8861, 0x8862, i);
      if (fine()) tell<uint32_t, uint32_t, int32_t>(t, "glTexEnvi", 0x8861, 0x8862, i[0]);
    }
    for (uint32_t coordinate = 0x2000; !es && coordinate < 0x2004; coordinate++) {
      d.glGetTexGeniv(coordinate, 0x2500, i);
      if (fine()) tell<uint32_t, uint32_t, int32_t>(t, "glTexGeni", coordinate, 0x2500, i[0]);
      for (uint32_t plane : Each<uint32_t>{0x2501u, 0x2502u}) {
        d.glGetTexGenfv(coordinate, plane, f);
        if (fine()) tell<uint32_t, uint32_t, const float*>(t, "glTexGenfv", coordinate, plane, f);
      }
      const uint32_t generates = 0x0C60 + coordinate - 0x2000;
      const bool on = d.glIsEnabled(generates);
      if (fine()) tell<uint32_t>(t, on ? "glEnable" : "glDisable", generates);
    }
  }
  if (many) d.glActiveTexture(active), tell<uint32_t>(t, "glActiveTexture", active);
}

// Colour, normal, coordinates: after the materials, that may follow the colour.
void Base::take_current() {
  float v[4] = {};
  d.glGetFloatv(0x0B00, v);
  tell<float, float, float, float>(t, "glColor4f", v[0], v[1], v[2], v[3]);
  d.glGetFloatv(0x0B02, v);
  tell<float, float, float>(t, "glNormal3f", v[0], v[1], v[2]);
  const bool many = has(13, 10);
  const uint32_t active = many ? (uint32_t)get(0x84E0, TEXTURE0) : +TEXTURE0;
  for (uint32_t u = 0; u < c->max_tex_units; u++) {
    if (many) d.glActiveTexture(TEXTURE0 + u);
    d.glGetFloatv(0x0B03, v);
    if (!fine()) continue;
    if (many)
      tell<uint32_t, float, float, float, float>(t, "glMultiTexCoord4f", TEXTURE0 + u, v[0], v[1], v[2], v[3]);
    else
      tell<float, float, float, float>(t, "glTexCoord4f", v[0], v[1], v[2], v[3]);
  }
  if (many) d.glActiveTexture(active);
  if (has(14, 0)) {
    d.glGetFloatv(0x8459, v);
    tell<float, float, float>(t, "glSecondaryColor3f", v[0], v[1], v[2]);
    d.glGetFloatv(0x8453, v);
    tell<float>(t, "glFogCoordf", v[0]);
  }
  if (!es) {
    tell<uint8_t>(t, "glEdgeFlag", (uint8_t)get(0x0B43, 1));
    d.glGetFloatv(0x0B01, v);
    tell<float>(t, "glIndexf", v[0]);
  }
  fine();
}

void Base::take_old_rest() {
  float v[4] = {};
  d.glGetFloatv(0x0BC2, v);
  tell<uint32_t, float>(t, "glAlphaFunc", (uint32_t)get(0x0BC1, 0x0207), v[0]);
  tell<uint32_t>(t, "glShadeModel", (uint32_t)get(0x0B54, 0x1D01));
  tell<uint32_t, float>(t, "glFogf", 0x0B65, (float)get(0x0B65, 0x0800));
  for (uint32_t name : Each<uint32_t>{0x0B62u, 0x0B63u, 0x0B64u}) {
    d.glGetFloatv(name, v);
    tell<uint32_t, float>(t, "glFogf", name, v[0]);
  }
  d.glGetFloatv(0x0B66, v);
  tell<uint32_t, const float*>(t, "glFogfv", 0x0B66, v);
  for (uint32_t name : Each<uint32_t>{0x0C50u, 0x0C51u, 0x0C54u})
    tell<uint32_t, uint32_t>(t, "glHint", name, (uint32_t)get(name, 0x1100));
  if (has(14, 11)) {
    for (uint32_t name : Each<uint32_t>{0x8126u, 0x8127u}) {
      d.glGetFloatv(name, v);
      if (fine()) tell<uint32_t, float>(t, "glPointParameterf", name, v[0]);
    }
    d.glGetFloatv(0x8129, v);
    if (fine()) tell<uint32_t, const float*>(t, "glPointParameterfv", 0x8129, v);
  }
  if (es) return;
  if (has(14, 0)) tell<uint32_t, int32_t>(t, "glFogi", 0x8450, get(0x8450, 0x8452));
  tell<int32_t, uint16_t>(t, "glLineStipple", get(0x0B26, 1), (uint16_t)get(0x0B25, 0xFFFF));
  uint8_t stipple[128] = {};
  d.glGetPolygonStipple(stipple);
  if (fine()) {
    bool plain = true;
    for (uint8_t byte : stipple) plain = plain && byte == 0xFF;
    if (!plain) tell<const uint8_t*>(t, "glPolygonStipple", stipple);
  }
  tell<uint32_t>(t, "glListBase", (uint32_t)get(0x0B32));
  d.glGetFloatv(0x0B80, v);
  tell<float, float, float, float>(t, "glClearAccum", v[0], v[1], v[2], v[3]);
  static const uint32_t transfers[] = {0x0D10, 0x0D11, 0x0D12, 0x0D13, 0x0D14, 0x0D15, 0x0D18,
                                       0x0D19, 0x0D1A, 0x0D1B, 0x0D1C, 0x0D1D, 0x0D1E, 0x0D1F};
  for (uint32_t name : transfers) {
    d.glGetFloatv(name, v);
    const bool scale = name == 0x0D14 || name == 0x0D18 || name == 0x0D1A || name == 0x0D1C || name == 0x0D1E;
    if (fine() && v[0] != (scale ? 1.0f : 0.0f)) tell<uint32_t, float>(t, "glPixelTransferf", name, v[0]);
  }
  d.glGetFloatv(0x0D16, v), d.glGetFloatv(0x0D17, v + 1);
  tell<float, float>(t, "glPixelZoom", v[0], v[1]);
  if (has(14, 0)) {
    uint8_t valid = 1;
    d.glGetFloatv(0x0B07, v);
    d.glGetBooleanv(0x0B08, &valid);
    if (fine() && valid) tell<float, float, float>(t, "glWindowPos3f", v[0], v[1], v[2]);
  }
  for (uint32_t map = 0x0C70; map <= 0x0C79; map++)
    if (get(map + 0x40, 1) > 1) lacks("pixel map 0x%X: its table was not asked for", map);
  if (get(0x0BB0) > 0) lacks("%d levels of glPushAttrib: what they hold", get(0x0BB0));
  if (get(0x0BB1) > 0) lacks("%d levels of glPushClientAttrib: what they hold", get(0x0BB1));
  for (uint32_t name : Each<uint32_t>{0x8620u, 0x8804u})
    if (has_extension(c, name == 0x8620 ? "GL_ARB_vertex_program" : "GL_ARB_fragment_program") && is(name))
      lacks("the %s program in assembly language that is used", name == 0x8620 ? "vertex" : "fragment");
  fine();
}

void Base::take_evaluators() {
  for (uint32_t two = 0; two < 2; two++)
    for (uint32_t n = 0; n < 9; n++) {
      static const int32_t components[] = {4, 1, 3, 1, 2, 3, 4, 3, 4};
      const uint32_t map = (two ? 0x0DB0 : 0x0D90) + n;
      int32_t order[2] = {1, 1};
      float domain[4] = {0, 1, 0, 1};
      d.glGetMapiv(map, 0x0A01, order);
      d.glGetMapfv(map, 0x0A02, domain);
      if (!fine() || order[0] < 1 || order[0] > 64 || order[1] < 1 || order[1] > 64 ||
          (order[0] == 1 && (!two || order[1] == 1)))
        continue;
      const int32_t points = order[0] * (two ? order[1] : 1);
      float* const values = (float*)malloc((size_t)points * (size_t)components[n] * sizeof(float));
      if (!values) continue;
      d.glGetMapfv(map, 0x0A00, values);
      if (fine()) {
        if (two)
          tell<uint32_t, float, float, int32_t, int32_t, float, float, int32_t, int32_t, const float*>(
              t, "glMap2f", map, domain[0], domain[1], components[n] * order[1], order[0], domain[2], domain[3],
              components[n], order[1], values);
        else
          tell<uint32_t, float, float, int32_t, int32_t, const float*>(t, "glMap1f", map, domain[0], domain[1],
                                                                       components[n], order[0], values);
      }
      free(values);
    }
  float v[4] = {};
  d.glGetFloatv(0x0DD0, v);
  tell<int32_t, float, float>(t, "glMapGrid1f", get(0x0DD1, 1), v[0], v[1]);
  int32_t segments[2] = {1, 1};
  d.glGetFloatv(0x0DD2, v);
  d.glGetIntegerv(0x0DD3, segments);
  tell<int32_t, float, float, int32_t, float, float>(t, "glMapGrid2f", segments[0], v[0], v[1], segments[1], v[2],
                                                     v[3]);
  fine();
}

void Base::fixed_state() {
  if (c->in_recording) {
    // What comes next is turned by the matrix of before.
    tell<uint32_t>(t, "glMatrixMode", MODELVIEW);
    tell(t, "glLoadIdentity");
  }
  take_lights();
  take_texture_environment();
  take_old_rest();
  if (!es) take_evaluators();
  take_current();
  take_matrices();
}

}  // namespace hook
}  // namespace dt
