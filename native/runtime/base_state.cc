// The settings of a context: capabilities, rasterisation, bindings, and the state of fixed functions.
#include <stdlib.h>

#include "../mirror/texture_targets.h"
#include "base.h"

namespace dt {
namespace hook {

using namespace gl;

namespace {

// Switches whose names follow each other, and the versions that have them; `old`: only with fixed functions. 0: never.
struct Switch {
  uint32_t name, gl, es;
  bool old;
  uint32_t count = 1;
};
const Switch SWITCHES[] = {{GL_BLEND, 10, 10, false},
                           {GL_CULL_FACE, 10, 10, false},
                           {GL_DEPTH_TEST, 10, 10, false},
                           {GL_DITHER, 10, 10, false},
                           {GL_SCISSOR_TEST, 10, 10, false},
                           {GL_STENCIL_TEST, 10, 10, false},
                           {GL_POLYGON_OFFSET_FILL, 11, 10, false},
                           {GL_POLYGON_OFFSET_POINT, 11, 0, false},
                           {GL_POLYGON_OFFSET_LINE, 11, 0, false},
                           {GL_SAMPLE_ALPHA_TO_COVERAGE, 13, 10, false},
                           {GL_SAMPLE_COVERAGE, 13, 10, false},
                           {GL_MULTISAMPLE, 13, 0, false},
                           {GL_SAMPLE_ALPHA_TO_ONE, 13, 0, false},
                           {GL_COLOR_LOGIC_OP, 11, 0, false},
                           {GL_LINE_SMOOTH, 10, 0, false},
                           {GL_POLYGON_SMOOTH, 10, 0, false},
                           {GL_PROGRAM_POINT_SIZE, 20, 0, false},
                           {GL_FRAMEBUFFER_SRGB, 30, 0, false},
                           {GL_RASTERIZER_DISCARD, 30, 30, false},
                           {GL_DEPTH_CLAMP, 32, 0, false},
                           {GL_TEXTURE_CUBE_MAP_SEAMLESS, 32, 0, false},
                           {GL_PRIMITIVE_RESTART, 31, 0, false},
                           {GL_PRIMITIVE_RESTART_FIXED_INDEX, 43, 30, false},
                           {GL_SAMPLE_MASK, 32, 31, false},
                           {GL_SAMPLE_SHADING, 40, 32, false},
                           {GL_CLIP_DISTANCE0, 11, 0, false, 6},
                           // With fixed functions; where OpenGL ES has them, that is version 1.
                           {GL_ALPHA_TEST, 10, 10, true},
                           {GL_AUTO_NORMAL, 10, 0, true},
                           {GL_COLOR_MATERIAL, 10, 10, true},
                           {GL_COLOR_SUM, 14, 0, true},
                           {GL_FOG, 10, 10, true},
                           {GL_INDEX_LOGIC_OP, 10, 0, true},
                           {GL_LIGHT0, 10, 10, true, 8},
                           {GL_LIGHTING, 10, 10, true},
                           {GL_LINE_STIPPLE, 10, 0, true},
                           {GL_NORMALIZE, 10, 10, true},
                           {GL_POINT_SMOOTH, 10, 10, true},
                           {GL_POLYGON_STIPPLE, 10, 0, true},
                           {GL_RESCALE_NORMAL, 12, 10, true},
                           {GL_POINT_SPRITE, 20, 0, true},
                           {GL_VERTEX_PROGRAM_TWO_SIDE, 20, 0, true},
                           {GL_MAP1_COLOR_4, 10, 0, true, 9},
                           {GL_MAP2_COLOR_4, 10, 0, true, 9}};

}  // namespace

// ---- rasterisation ------------------------------------------------------------------------------

void Base::take_switch(uint32_t capability) {
  const bool on = d.glIsEnabled(capability);
  if (fine()) tell(on ? driver::glEnable : driver::glDisable, capability);
}

void Base::take_capabilities() {
  for (auto& s : SWITCHES) {
    if (!has(s.gl, s.es) || (s.old && !old)) continue;
    for (uint32_t name = s.name; name < s.name + s.count; name++) take_switch(name);
  }
}

void Base::take_raster() {
  int32_t i[16] = {};
  uint8_t b[16] = {};
  take(driver::glViewport, GL_VIEWPORT);
  take(driver::glScissor, GL_SCISSOR_BOX);
  if (es) {
    take(driver::glDepthRangef, GL_DEPTH_RANGE);
    take(driver::glClearDepthf, GL_DEPTH_CLEAR_VALUE);
  } else {
    take(driver::glDepthRange, GL_DEPTH_RANGE);
    take(driver::glClearDepth, GL_DEPTH_CLEAR_VALUE);
  }
  take(driver::glClearColor, GL_COLOR_CLEAR_VALUE);
  tell(driver::glClearStencil, get(GL_STENCIL_CLEAR_VALUE));
  tell(driver::glDepthFunc, get(GL_DEPTH_FUNC));
  take(driver::glDepthMask, GL_DEPTH_WRITEMASK);
  take(driver::glColorMask, GL_COLOR_WRITEMASK);
  tell(driver::glCullFace, get(GL_CULL_FACE_MODE));
  tell(driver::glFrontFace, get(GL_FRONT_FACE));
  take(driver::glLineWidth, GL_LINE_WIDTH);
  if (has(11, 10)) tell(driver::glPolygonOffset, number(GL_POLYGON_OFFSET_FACTOR), number(GL_POLYGON_OFFSET_UNITS));
  fine();
  if (has(13, 10)) {
    d.glGetBooleanv(GL_SAMPLE_COVERAGE_INVERT, b);
    tell(driver::glSampleCoverage, number(GL_SAMPLE_COVERAGE_VALUE), b[0]);
  }
  if (!es || c->version < 20) {
    take(driver::glPointSize, GL_POINT_SIZE);
  }
  if (!es) {
    d.glGetIntegerv(GL_POLYGON_MODE, i);
    if (!c->core && i[1])
      tell(driver::glPolygonMode, GL_FRONT, i[0]), tell(driver::glPolygonMode, GL_BACK, i[1]);
    else
      tell(driver::glPolygonMode, GL_FRONT_AND_BACK, i[0]);
  }
  if (!es || c->version < 20) tell(driver::glLogicOp, get(GL_LOGIC_OP_MODE));
  take_stencil();
  take_hints();
  take_primitives();
  fine();
  take_viewports();
}

// Both faces where they are apart.
void Base::take_stencil() {
  if (has(20, 20)) {
    tell(driver::glStencilFuncSeparate, GL_FRONT, get(GL_STENCIL_FUNC), get(GL_STENCIL_REF),
         get(GL_STENCIL_VALUE_MASK, -1));
    tell(driver::glStencilFuncSeparate, GL_BACK, get(GL_STENCIL_BACK_FUNC), get(GL_STENCIL_BACK_REF),
         get(GL_STENCIL_BACK_VALUE_MASK, -1));
    tell(driver::glStencilOpSeparate, GL_FRONT, get(GL_STENCIL_FAIL), get(GL_STENCIL_PASS_DEPTH_FAIL),
         get(GL_STENCIL_PASS_DEPTH_PASS));
    tell(driver::glStencilOpSeparate, GL_BACK, get(GL_STENCIL_BACK_FAIL), get(GL_STENCIL_BACK_PASS_DEPTH_FAIL),
         get(GL_STENCIL_BACK_PASS_DEPTH_PASS));
    tell(driver::glStencilMaskSeparate, GL_FRONT, get(GL_STENCIL_WRITEMASK, -1));
    tell(driver::glStencilMaskSeparate, GL_BACK, get(GL_STENCIL_BACK_WRITEMASK, -1));
  } else {
    tell(driver::glStencilFunc, get(GL_STENCIL_FUNC), get(GL_STENCIL_REF), get(GL_STENCIL_VALUE_MASK, -1));
    tell(driver::glStencilOp, get(GL_STENCIL_FAIL), get(GL_STENCIL_PASS_DEPTH_FAIL), get(GL_STENCIL_PASS_DEPTH_PASS));
    tell(driver::glStencilMask, get(GL_STENCIL_WRITEMASK, -1));
  }
}

void Base::take_hints() {
  static const uint32_t hints[][3] = {{GL_LINE_SMOOTH_HINT, 10, 0},
                                      {GL_POLYGON_SMOOTH_HINT, 10, 0},
                                      {GL_TEXTURE_COMPRESSION_HINT, 13, 0},
                                      {GL_FRAGMENT_SHADER_DERIVATIVE_HINT, 20, 30}};
  for (auto& h : hints)
    if (has(h[1], h[2])) tell(driver::glHint, h[0], get(h[0], GL_DONT_CARE));
  if ((!c->core && has(14, 0)) || (es && c->version < 30))
    tell(driver::glHint, GL_GENERATE_MIPMAP_HINT, get(GL_GENERATE_MIPMAP_HINT, GL_DONT_CARE));
  if (has(14, 0)) {
    tell(driver::glPointParameterf, GL_POINT_FADE_THRESHOLD_SIZE, number(GL_POINT_FADE_THRESHOLD_SIZE));
  }
  if (has(20, 0))
    tell(driver::glPointParameteri, GL_POINT_SPRITE_COORD_ORIGIN, get(GL_POINT_SPRITE_COORD_ORIGIN, GL_UPPER_LEFT));
}

void Base::take_primitives() {
  float f[16] = {};
  int32_t i[1] = {};
  if (has(31, 0)) tell(driver::glPrimitiveRestartIndex, get(GL_PRIMITIVE_RESTART_INDEX));
  if (has(32, 0)) tell(driver::glProvokingVertex, get(GL_PROVOKING_VERTEX, GL_LAST_VERTEX_CONVENTION));
  if (has(32, 31)) {
    d.glGetIntegeri_v(GL_SAMPLE_MASK_VALUE, 0, i);
    if (fine()) tell(driver::glSampleMaski, 0, i[0]);
  }
  if (has(40, 32)) {
    tell(driver::glPatchParameteri, GL_PATCH_VERTICES, get(GL_PATCH_VERTICES, 3));
    d.glGetFloatv(GL_MIN_SAMPLE_SHADING_VALUE, f);
    if (fine()) tell(driver::glMinSampleShading, f[0]);
  }
  if (has(40, 0)) {
    d.glGetFloatv(GL_PATCH_DEFAULT_OUTER_LEVEL, f), d.glGetFloatv(GL_PATCH_DEFAULT_INNER_LEVEL, f + 4);
    if (fine())
      tell(driver::glPatchParameterfv, GL_PATCH_DEFAULT_OUTER_LEVEL, f),
          tell(driver::glPatchParameterfv, GL_PATCH_DEFAULT_INNER_LEVEL, f + 4);
  }
  if (has(45, 0))
    tell(driver::glClipControl, get(GL_CLIP_ORIGIN, GL_LOWER_LEFT), get(GL_CLIP_DEPTH_MODE, GL_NEGATIVE_ONE_TO_ONE));
}

// The other viewports, where they differ from the first.
void Base::take_viewports() {
  if (!has(41, 0)) return;
  float first[4] = {}, other[4] = {};
  d.glGetFloati_v(GL_VIEWPORT, 0, first);
  const int32_t viewports = get(GL_MAX_VIEWPORTS, 1);
  for (int32_t n = 1; n < viewports && n < 16; n++) {
    d.glGetFloati_v(GL_VIEWPORT, (uint32_t)n, other);
    if (memcmp(first, other, sizeof first)) tell(driver::glViewportIndexedf, n, other[0], other[1], other[2], other[3]);
    int32_t box[4] = {}, all[4] = {};
    d.glGetIntegeri_v(GL_SCISSOR_BOX, 0, all), d.glGetIntegeri_v(GL_SCISSOR_BOX, (uint32_t)n, box);
    if (memcmp(box, all, sizeof box)) tell(driver::glScissorIndexed, n, box[0], box[1], box[2], box[3]);
  }
  fine();
}

void Base::take_blending() {
  if (has(14, 20)) {
    take(driver::glBlendColor, GL_BLEND_COLOR);
  }
  struct {
    uint32_t factors[4], equations[2];
  } all{};
  if (has(14, 20)) {
    static const uint32_t names[] = {GL_BLEND_SRC_RGB, GL_BLEND_DST_RGB, GL_BLEND_SRC_ALPHA, GL_BLEND_DST_ALPHA};
    for (int n = 0; n < 4; n++) all.factors[n] = (uint32_t)get(names[n]);
    tell(driver::glBlendFuncSeparate, all.factors[0], all.factors[1], all.factors[2], all.factors[3]);
  } else {
    tell(driver::glBlendFunc, get(GL_BLEND_SRC), get(GL_BLEND_DST));
  }
  if (has(20, 20)) {
    all.equations[0] = (uint32_t)get(GL_BLEND_EQUATION_RGB), all.equations[1] = (uint32_t)get(GL_BLEND_EQUATION_ALPHA);
    tell(driver::glBlendEquationSeparate, all.equations[0], all.equations[1]);
  } else if (has(14, 0)) {
    tell(driver::glBlendEquation, get(GL_BLEND_EQUATION_RGB, GL_FUNC_ADD));
  }
  if (!has(30, 32)) return;
  const int32_t buffers = get(GL_MAX_DRAW_BUFFERS, 1);
  const bool blends = d.glIsEnabledi(GL_BLEND, 0);
  uint8_t mask[4] = {};
  d.glGetBooleani_v(GL_COLOR_WRITEMASK, 0, mask);
  for (int32_t n = 1; n < buffers && n < 16; n++) {
    const auto at = (uint32_t)n;
    const bool on = d.glIsEnabledi(GL_BLEND, at);
    if (on != blends) tell(on ? driver::glEnablei : driver::glDisablei, GL_BLEND, at);
    uint8_t other[4] = {};
    d.glGetBooleani_v(GL_COLOR_WRITEMASK, at, other);
    if (memcmp(mask, other, 4)) tell(driver::glColorMaski, at, other[0], other[1], other[2], other[3]);
    if (!has(40, 32)) continue;
    int32_t v[6] = {};
    static const uint32_t names[] = {GL_BLEND_SRC_RGB,   GL_BLEND_DST_RGB,      GL_BLEND_SRC_ALPHA,
                                     GL_BLEND_DST_ALPHA, GL_BLEND_EQUATION_RGB, GL_BLEND_EQUATION_ALPHA};
    for (int k = 0; k < 6; k++) d.glGetIntegeri_v(names[k], at, &v[k]);
    if (!fine()) continue;
    if (memcmp(v, all.factors, sizeof all.factors)) tell(driver::glBlendFuncSeparatei, at, v[0], v[1], v[2], v[3]);
    if (memcmp(v + 4, all.equations, sizeof all.equations)) tell(driver::glBlendEquationSeparatei, at, v[4], v[5]);
  }
  fine();
}

// ---- bindings -----------------------------------------------------------------------------------

void Base::take_units() {
  const bool many = has(13, 10);
  const uint32_t active = many ? (uint32_t)get(GL_ACTIVE_TEXTURE, GL_TEXTURE0) : GL_TEXTURE0;
  int32_t units = has(20, 20) ? get(GL_MAX_COMBINED_TEXTURE_IMAGE_UNITS, 8) : many ? get(GL_MAX_TEXTURE_UNITS, 1) : 1;
  if (units < 1) units = 1;
  for (int32_t u = 0; u < units; u++) {
    bool there = false;  // the unit is chosen in the recording where something is bound to it
    auto choose = [&] {
      if (!there && many) tell(driver::glActiveTexture, GL_TEXTURE0 + (uint32_t)u);
      there = true;
    };
    if (many) d.glActiveTexture(GL_TEXTURE0 + (uint32_t)u);
    for (auto& p : TEXTURE_TARGETS) {
      if (!has(p.gl, p.es)) continue;
      const int32_t name = get(p.binding);
      if (!name && !c->in_recording) continue;
      choose();
      tell(driver::glBindTexture, p.target, name);
    }
    if (has(33, 30))
      if (const int32_t sampler = get(GL_SAMPLER_BINDING); sampler || c->in_recording)
        tell(driver::glBindSampler, u, sampler);
  }
  if (many) {
    d.glActiveTexture(active);
    tell(driver::glActiveTexture, active);
  }
  if (!has(42, 31)) return;
  const int32_t images = get(GL_MAX_IMAGE_UNITS);
  for (int32_t u = 0; u < images; u++) {
    int32_t v[6] = {};
    static const uint32_t names[] = {GL_IMAGE_BINDING_NAME,  GL_IMAGE_BINDING_LEVEL,  GL_IMAGE_BINDING_LAYERED,
                                     GL_IMAGE_BINDING_LAYER, GL_IMAGE_BINDING_ACCESS, GL_IMAGE_BINDING_FORMAT};
    for (int k = 0; k < 6; k++) d.glGetIntegeri_v(names[k], (uint32_t)u, &v[k]);
    if (fine() && v[0]) tell(driver::glBindImageTexture, u, v[0], v[1], v[2], v[3], v[4], v[5]);
  }
}

void Base::take_indexed_buffers() {
  struct Group {
    uint32_t target, binding, start, size, most, gl, es;
  };
  static const Group groups[] = {
      {GL_UNIFORM_BUFFER, GL_UNIFORM_BUFFER_BINDING, GL_UNIFORM_BUFFER_START, GL_UNIFORM_BUFFER_SIZE,
       GL_MAX_UNIFORM_BUFFER_BINDINGS, 31, 30},
      {GL_SHADER_STORAGE_BUFFER, GL_SHADER_STORAGE_BUFFER_BINDING, GL_SHADER_STORAGE_BUFFER_START,
       GL_SHADER_STORAGE_BUFFER_SIZE, GL_MAX_SHADER_STORAGE_BUFFER_BINDINGS, 43, 31},
      {GL_ATOMIC_COUNTER_BUFFER, GL_ATOMIC_COUNTER_BUFFER_BINDING, GL_ATOMIC_COUNTER_BUFFER_START,
       GL_ATOMIC_COUNTER_BUFFER_SIZE, GL_MAX_ATOMIC_COUNTER_BUFFER_BINDINGS, 42, 31}};
  auto bind = [&](const Group& g, int32_t n) {
    int32_t name = 0;
    int64_t start = 0, size = 0;
    d.glGetIntegeri_v(g.binding, (uint32_t)n, &name);
    d.glGetInteger64i_v(g.start, (uint32_t)n, &start);
    d.glGetInteger64i_v(g.size, (uint32_t)n, &size);
    if (!fine() || (!name && !c->in_recording)) return;
    if (size)
      tell(driver::glBindBufferRange, g.target, n, name, start, size);
    else
      tell(driver::glBindBufferBase, g.target, n, name);
  };
  for (auto& g : groups) {
    if (!has(g.gl, g.es)) continue;
    const int32_t most = get(g.most);
    for (int32_t n = 0; n < most && n < 256; n++) bind(g, n);
  }
  if (!has(30, 30)) return;
  // Transform feedback: an object of its own has its buffers with it.
  static const Group feedback = {GL_TRANSFORM_FEEDBACK_BUFFER,
                                 GL_TRANSFORM_FEEDBACK_BUFFER_BINDING,
                                 GL_TRANSFORM_FEEDBACK_BUFFER_START,
                                 GL_TRANSFORM_FEEDBACK_BUFFER_SIZE,
                                 GL_MAX_TRANSFORM_FEEDBACK_SEPARATE_ATTRIBS,
                                 30,
                                 30};
  const uint32_t current = has(40, 30) ? (uint32_t)get(GL_TRANSFORM_FEEDBACK_BINDING) : 0;
  if (get(GL_TRANSFORM_FEEDBACK_ACTIVE)) lacks("transform feedback is under way");
  auto bind_all = [&] {
    const int32_t most = get(GL_MAX_TRANSFORM_FEEDBACK_SEPARATE_ATTRIBS, 4);
    for (int32_t n = 0; n < most && n < 16; n++) bind(feedback, n);
  };
  for (uint32_t i = 0; i < names_by_kind[FEEDBACKS].count && !get(GL_TRANSFORM_FEEDBACK_ACTIVE); i++) {
    d.glBindTransformFeedback(GL_TRANSFORM_FEEDBACK, names_by_kind[FEEDBACKS].list[i]);
    tell(driver::glBindTransformFeedback, GL_TRANSFORM_FEEDBACK, names_by_kind[FEEDBACKS].list[i]);
    bind_all();
  }
  if (names_by_kind[FEEDBACKS].count && !get(GL_TRANSFORM_FEEDBACK_ACTIVE)) {
    d.glBindTransformFeedback(GL_TRANSFORM_FEEDBACK, current);
    tell(driver::glBindTransformFeedback, GL_TRANSFORM_FEEDBACK, current);
  }
  if (!current) bind_all();
}

void Base::take_bindings() {
  take_units();
  take_indexed_buffers();
  struct Point {
    uint32_t target, binding, gl, es;
  };
  static const Point points[] = {{GL_ARRAY_BUFFER, GL_ARRAY_BUFFER_BINDING, 15, 11},
                                 {GL_PIXEL_PACK_BUFFER, GL_PIXEL_PACK_BUFFER_BINDING, 21, 30},
                                 {GL_PIXEL_UNPACK_BUFFER, GL_PIXEL_UNPACK_BUFFER_BINDING, 21, 30},
                                 {GL_UNIFORM_BUFFER, GL_UNIFORM_BUFFER_BINDING, 31, 30},
                                 {GL_COPY_READ_BUFFER, GL_COPY_READ_BUFFER, 31, 30},
                                 {GL_COPY_WRITE_BUFFER, GL_COPY_WRITE_BUFFER, 31, 30},
                                 {GL_TEXTURE_BUFFER, GL_TEXTURE_BUFFER, 31, 32},
                                 {GL_DRAW_INDIRECT_BUFFER, GL_DRAW_INDIRECT_BUFFER_BINDING, 40, 31},
                                 {GL_DISPATCH_INDIRECT_BUFFER, GL_DISPATCH_INDIRECT_BUFFER_BINDING, 43, 31},
                                 {GL_SHADER_STORAGE_BUFFER, GL_SHADER_STORAGE_BUFFER_BINDING, 43, 31},
                                 {GL_ATOMIC_COUNTER_BUFFER, GL_ATOMIC_COUNTER_BUFFER_BINDING, 42, 31},
                                 {GL_QUERY_BUFFER, GL_QUERY_BUFFER_BINDING, 44, 0},
                                 {GL_PARAMETER_BUFFER, GL_PARAMETER_BUFFER_BINDING, 46, 0}};
  for (auto& p : points) {
    if (!has(p.gl, p.es)) continue;
    // Pixel buffers were unbound for the time of asking.
    const int32_t name = p.target == GL_PIXEL_PACK_BUFFER ? (int32_t)pack_buffer : get(p.binding);
    if (name || c->in_recording) tell(driver::glBindBuffer, p.target, name);
  }
  if (has(30, 30)) tell(driver::glBindVertexArray, get(GL_VERTEX_ARRAY_BINDING));
  if (has(30, 20)) tell(driver::glBindRenderbuffer, GL_RENDERBUFFER, get(GL_RENDERBUFFER_BINDING));
  if (has(30, 30)) {
    // The surface's own buffers, which framebuffers that are bound hide.
    const uint32_t draw = (uint32_t)get(GL_DRAW_FRAMEBUFFER_BINDING), read = (uint32_t)get(GL_READ_FRAMEBUFFER_BINDING);
    tell(driver::glBindFramebuffer, GL_FRAMEBUFFER, 0);
    if (draw) d.glBindFramebuffer(GL_DRAW_FRAMEBUFFER, 0);
    if (read) d.glBindFramebuffer(GL_READ_FRAMEBUFFER, 0);
    const uint32_t to = (uint32_t)get(GL_DRAW_BUFFER0), from = (uint32_t)get(GL_READ_BUFFER);
    if (!es && to) tell(driver::glDrawBuffer, to);
    if (es && !to) tell(driver::glDrawBuffers, 1, &to);
    if (from) tell(driver::glReadBuffer, from);
    if (draw) d.glBindFramebuffer(GL_DRAW_FRAMEBUFFER, draw);
    if (read) d.glBindFramebuffer(GL_READ_FRAMEBUFFER, read);
    tell(driver::glBindFramebuffer, GL_DRAW_FRAMEBUFFER, draw);
    tell(driver::glBindFramebuffer, GL_READ_FRAMEBUFFER, read);
  } else if (es && c->version >= 20) {
    tell(driver::glBindFramebuffer, GL_FRAMEBUFFER, get(GL_DRAW_FRAMEBUFFER_BINDING));
  } else if (!es) {
    tell(driver::glDrawBuffer, get(GL_DRAW_BUFFER));
    tell(driver::glReadBuffer, get(GL_READ_BUFFER));
  }
  if (has(41, 31)) tell(driver::glBindProgramPipeline, get(GL_PROGRAM_PIPELINE_BINDING));
  if (has(20, 20)) {
    const uint32_t program = (uint32_t)get(GL_CURRENT_PROGRAM);
    int32_t gone = 0;
    tell(driver::glUseProgram, program);
    if (program) d.glGetProgramiv(program, GL_DELETE_STATUS, &gone);
    if (gone) tell(driver::glDeleteProgram, program);  // it lives until it is not used any more
  }
  fine();
}

void Base::take_pixel_store() {
  const struct {
    uint32_t name;
    int32_t value, first;
  } values[] = {{GL_UNPACK_ALIGNMENT, unpack.alignment, 4},
                {GL_UNPACK_ROW_LENGTH, unpack.row_length, 0},
                {GL_UNPACK_SKIP_ROWS, unpack.skip_rows, 0},
                {GL_UNPACK_SKIP_PIXELS, unpack.skip_pixels, 0},
                {GL_UNPACK_SWAP_BYTES, unpack.swap_bytes, 0},
                {GL_UNPACK_LSB_FIRST, unpack.lsb_first, 0},
                {GL_UNPACK_SKIP_IMAGES, unpack.skip_images, 0},
                {GL_UNPACK_IMAGE_HEIGHT, unpack.image_height, 0},
                {GL_PACK_ALIGNMENT, pack.alignment, 4},
                {GL_PACK_ROW_LENGTH, pack.row_length, 0},
                {GL_PACK_SKIP_ROWS, pack.skip_rows, 0},
                {GL_PACK_SKIP_PIXELS, pack.skip_pixels, 0},
                {GL_PACK_SWAP_BYTES, pack.swap_bytes, 0},
                {GL_PACK_LSB_FIRST, pack.lsb_first, 0},
                {GL_PACK_SKIP_IMAGES, pack.skip_images, 0},
                {GL_PACK_IMAGE_HEIGHT, pack.image_height, 0},
                {GL_UNPACK_COMPRESSED_BLOCK_WIDTH, unpack.block_width, 0},
                {GL_UNPACK_COMPRESSED_BLOCK_HEIGHT, unpack.block_height, 0},
                {GL_UNPACK_COMPRESSED_BLOCK_DEPTH, unpack.block_depth, 0},
                {GL_UNPACK_COMPRESSED_BLOCK_SIZE, unpack.block_size, 0},
                {GL_PACK_COMPRESSED_BLOCK_WIDTH, pack.block_width, 0},
                {GL_PACK_COMPRESSED_BLOCK_HEIGHT, pack.block_height, 0},
                {GL_PACK_COMPRESSED_BLOCK_DEPTH, pack.block_depth, 0},
                {GL_PACK_COMPRESSED_BLOCK_SIZE, pack.block_size, 0}};
  for (auto& v : values)
    if (v.value != v.first || v.name == GL_UNPACK_ALIGNMENT || c->in_recording)
      if (v.name == GL_UNPACK_ALIGNMENT || v.name == GL_PACK_ALIGNMENT || v.value != v.first)
        tell(driver::glPixelStorei, v.name, v.value);
}

void Base::state() {
  if (old) fixed_state();
  take_capabilities();
  take_raster();
  take_blending();
  if (has(20, 20))
    for (uint32_t i = old && !es ? 1 : 0; i < c->max_attribs; i++) {
      float v[4] = {0, 0, 0, 1};
      d.glGetVertexAttribfv(i, GL_CURRENT_VERTEX_ATTRIB, v);
      static const float first[4] = {0, 0, 0, 1};
      if (fine() && (memcmp(v, first, sizeof v) || c->in_recording)) tell(driver::glVertexAttrib4fv, i, v);
    }
  int32_t flags = 0;
  if (has(43, 32)) d.glGetIntegerv(GL_CONTEXT_FLAGS, &flags);
  if (has(43, 32) && debug_output)
    tell(driver::glEnable, GL_DEBUG_OUTPUT);
  else if (flags & GL_CONTEXT_FLAG_DEBUG_BIT)  // there it is on at first
    tell(driver::glDisable, GL_DEBUG_OUTPUT);
  take_bindings();
  take_pixel_store();
}

}  // namespace hook
}  // namespace dt
