// State of the fixed functions that the program had before recording began.
#include <stdlib.h>

#include "base.h"

namespace dt {
namespace hook {

using namespace gl;

// A query returns the top of a stack; the entries below come by popping, and are put back.
void Base::take_matrices() {
  const uint32_t mode = (uint32_t)get(GL_MATRIX_MODE, GL_MODELVIEW);
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
    tell(driver::glMatrixMode, which);
    for (int32_t i = 0; i < depth; i++) {
      if (i) tell(driver::glPushMatrix);
      tell(driver::glLoadMatrixf, matrices[i]);
    }
  };
  stack(GL_MODELVIEW, GL_MODELVIEW_STACK_DEPTH, GL_MODELVIEW_MATRIX);
  stack(GL_PROJECTION, GL_PROJECTION_STACK_DEPTH, GL_PROJECTION_MATRIX);
  each_unit(c->max_tex_units, true, [&](uint32_t) { stack(GL_TEXTURE, GL_TEXTURE_STACK_DEPTH, GL_TEXTURE_MATRIX); });
  d.glMatrixMode(mode);
  tell(driver::glMatrixMode, mode);
  fine();
}

void Base::take_lights() {
  // The modelview matrix, which is a unit matrix here, turns the positions of a light and a plane.
  for (uint32_t n = 0; n < 8; n++) {
    static const uint32_t vectors[] = {GL_AMBIENT, GL_DIFFUSE, GL_SPECULAR, GL_POSITION, GL_SPOT_DIRECTION},
                          numbers[] = {GL_SPOT_EXPONENT, GL_SPOT_CUTOFF, GL_CONSTANT_ATTENUATION, GL_LINEAR_ATTENUATION,
                                       GL_QUADRATIC_ATTENUATION};
    for (uint32_t name : vectors) {
      float v[4] = {};
      d.glGetLightfv(GL_LIGHT0 + n, name, v);
      if (fine()) tell(driver::glLightfv, GL_LIGHT0 + n, name, v);
    }
    for (uint32_t name : numbers) {
      float v = 0;
      d.glGetLightfv(GL_LIGHT0 + n, name, &v);
      if (fine()) tell(driver::glLightf, GL_LIGHT0 + n, name, v);
    }
  }
  float v[4] = {};
  d.glGetFloatv(GL_LIGHT_MODEL_AMBIENT, v);
  tell(driver::glLightModelfv, GL_LIGHT_MODEL_AMBIENT, v);
  tell(driver::glLightModelf, GL_LIGHT_MODEL_TWO_SIDE, get(GL_LIGHT_MODEL_TWO_SIDE));
  if (!es) tell(driver::glLightModelf, GL_LIGHT_MODEL_LOCAL_VIEWER, get(GL_LIGHT_MODEL_LOCAL_VIEWER));
  if (has(12, 0))
    tell(driver::glLightModeli, GL_LIGHT_MODEL_COLOR_CONTROL, get(GL_LIGHT_MODEL_COLOR_CONTROL, GL_SINGLE_COLOR));
  // Materials follow the colour where that is switched on, so it must not be yet.
  tell(driver::glDisable, GL_COLOR_MATERIAL);
  if (!es)
    tell(driver::glColorMaterial, get(GL_COLOR_MATERIAL_FACE, GL_FRONT_AND_BACK),
         get(GL_COLOR_MATERIAL_PARAMETER, GL_AMBIENT_AND_DIFFUSE));
  for (uint32_t face : Each<uint32_t>{+GL_FRONT, GL_BACK}) {
    for (uint32_t name : Each<uint32_t>{GL_AMBIENT, GL_DIFFUSE, GL_SPECULAR, GL_EMISSION}) {
      d.glGetMaterialfv(face, name, v);
      if (fine() && (!es || face == GL_FRONT)) tell(driver::glMaterialfv, es ? GL_FRONT_AND_BACK : face, name, v);
    }
    d.glGetMaterialfv(face, GL_SHININESS, v);
    if (fine() && (!es || face == GL_FRONT))
      tell(driver::glMaterialf, es ? GL_FRONT_AND_BACK : face, GL_SHININESS, v[0]);
  }
  const int32_t planes = get(GL_MAX_CLIP_DISTANCES, 6);
  for (int32_t n = 0; n < planes && n < 8; n++) {
    const uint32_t plane = GL_CLIP_DISTANCE0 + (uint32_t)n;
    if (es) {
      float equation[4] = {};
      d.glGetClipPlanef(plane, equation);
      if (fine()) tell(driver::glClipPlanef, plane, equation);
    } else {
      double equation[4] = {};
      d.glGetClipPlane(plane, equation);
      if (fine()) tell(driver::glClipPlane, plane, equation);
    }
  }
}

void Base::take_texture_environment() {
  each_unit(c->max_tex_units, true, [&](uint32_t) {
    for (uint32_t target :
         Each<uint32_t>{GL_TEXTURE_1D, GL_TEXTURE_2D, GL_TEXTURE_3D, GL_TEXTURE_CUBE_MAP, GL_TEXTURE_RECTANGLE}) {
      if ((es && target != GL_TEXTURE_2D) || (target == GL_TEXTURE_3D && !has(12, 0)) ||
          (target == GL_TEXTURE_CUBE_MAP && !has(13, 0)) || (target == GL_TEXTURE_RECTANGLE && !has(31, 0)))
        continue;
      take_switch(target);
    }
    int32_t i[4] = {};
    float f[4] = {};
    static const uint32_t words[] = {GL_TEXTURE_ENV_MODE, GL_COMBINE_RGB,    GL_COMBINE_ALPHA, GL_SRC0_RGB,
                                     GL_SRC1_RGB,         GL_SRC2_RGB,       GL_SRC0_ALPHA,    GL_SRC1_ALPHA,
                                     GL_SRC2_ALPHA,       GL_OPERAND0_RGB,   GL_OPERAND1_RGB,  GL_OPERAND2_RGB,
                                     GL_OPERAND0_ALPHA,   GL_OPERAND1_ALPHA, GL_OPERAND2_ALPHA};
    for (uint32_t name : words) {
      if (name != GL_TEXTURE_ENV_MODE && !has(13, 11)) continue;
      d.glGetTexEnviv(GL_TEXTURE_ENV, name, i);
      if (fine()) tell(driver::glTexEnvi, GL_TEXTURE_ENV, name, i[0]);
    }
    d.glGetTexEnvfv(GL_TEXTURE_ENV, GL_TEXTURE_ENV_COLOR, f);
    tell(driver::glTexEnvfv, GL_TEXTURE_ENV, GL_TEXTURE_ENV_COLOR, f);
    for (uint32_t name : Each<uint32_t>{GL_RGB_SCALE, GL_ALPHA_SCALE}) {
      if (!has(13, 11)) continue;
      d.glGetTexEnvfv(GL_TEXTURE_ENV, name, f);
      if (fine()) tell(driver::glTexEnvf, GL_TEXTURE_ENV, name, f[0]);
    }
    if (has(14, 0)) {
      d.glGetTexEnvfv(GL_TEXTURE_FILTER_CONTROL, GL_TEXTURE_LOD_BIAS, f);
      if (fine()) tell(driver::glTexEnvf, GL_TEXTURE_FILTER_CONTROL, GL_TEXTURE_LOD_BIAS, f[0]);
    }
    if (has(20, 0)) {
      d.glGetTexEnviv(GL_POINT_SPRITE, GL_COORD_REPLACE, i);
      if (fine()) tell(driver::glTexEnvi, GL_POINT_SPRITE, GL_COORD_REPLACE, i[0]);
    }
    for (uint32_t coordinate = GL_S; !es && coordinate <= GL_Q; coordinate++) {
      d.glGetTexGeniv(coordinate, GL_TEXTURE_GEN_MODE, i);
      if (fine()) tell(driver::glTexGeni, coordinate, GL_TEXTURE_GEN_MODE, i[0]);
      for (uint32_t plane : Each<uint32_t>{GL_OBJECT_PLANE, GL_EYE_PLANE}) {
        d.glGetTexGenfv(coordinate, plane, f);
        if (fine()) tell(driver::glTexGenfv, coordinate, plane, f);
      }
      const uint32_t generates = GL_TEXTURE_GEN_S + coordinate - GL_S;
      take_switch(generates);
    }
  });
}

// Colour, normal, coordinates: after the materials, that may follow the colour.
void Base::take_current() {
  float v[4] = {};
  take(driver::glColor4f, GL_CURRENT_COLOR);
  take(driver::glNormal3f, GL_CURRENT_NORMAL);
  each_unit(c->max_tex_units, false, [&](uint32_t u) {
    d.glGetFloatv(GL_CURRENT_TEXTURE_COORDS, v);
    if (!fine()) return;
    if (has(13, 10))
      tell(driver::glMultiTexCoord4f, GL_TEXTURE0 + u, v[0], v[1], v[2], v[3]);
    else
      tell(driver::glTexCoord4f, v[0], v[1], v[2], v[3]);
  });
  if (has(14, 0)) {
    take(driver::glSecondaryColor3f, GL_CURRENT_SECONDARY_COLOR);
    take(driver::glFogCoordf, GL_CURRENT_FOG_COORD);
  }
  if (!es) {
    tell(driver::glEdgeFlag, get(GL_EDGE_FLAG, 1));
    take(driver::glIndexf, GL_CURRENT_INDEX);
  }
  fine();
}

void Base::take_old_rest() {
  float v[4] = {};
  tell(driver::glAlphaFunc, get(GL_ALPHA_TEST_FUNC, GL_ALWAYS), number(GL_ALPHA_TEST_REF));
  tell(driver::glShadeModel, get(GL_SHADE_MODEL, GL_SMOOTH));
  tell(driver::glFogf, GL_FOG_MODE, get(GL_FOG_MODE, GL_EXP));
  for (uint32_t name : Each<uint32_t>{GL_FOG_DENSITY, GL_FOG_START, GL_FOG_END})
    tell(driver::glFogf, name, number(name));
  d.glGetFloatv(GL_FOG_COLOR, v);
  tell(driver::glFogfv, GL_FOG_COLOR, v);
  for (uint32_t name : Each<uint32_t>{GL_PERSPECTIVE_CORRECTION_HINT, GL_POINT_SMOOTH_HINT, GL_FOG_HINT})
    tell(driver::glHint, name, get(name, GL_DONT_CARE));
  if (has(14, 11)) {
    for (uint32_t name : Each<uint32_t>{GL_POINT_SIZE_MIN, GL_POINT_SIZE_MAX}) {
      d.glGetFloatv(name, v);
      if (fine()) tell(driver::glPointParameterf, name, v[0]);
    }
    d.glGetFloatv(GL_POINT_DISTANCE_ATTENUATION, v);
    if (fine()) tell(driver::glPointParameterfv, GL_POINT_DISTANCE_ATTENUATION, v);
  }
  if (es) return;
  if (has(14, 0)) tell(driver::glFogi, GL_FOG_COORD_SRC, get(GL_FOG_COORD_SRC, GL_FRAGMENT_DEPTH));
  tell(driver::glLineStipple, get(GL_LINE_STIPPLE_REPEAT, 1), get(GL_LINE_STIPPLE_PATTERN, 0xFFFF));
  uint8_t stipple[128] = {};
  d.glGetPolygonStipple(stipple);
  if (fine()) {
    bool plain = true;
    for (uint8_t byte : stipple) plain = plain && byte == 0xFF;
    if (!plain) tell(driver::glPolygonStipple, stipple);
  }
  tell(driver::glListBase, get(GL_LIST_BASE));
  take(driver::glClearAccum, GL_ACCUM_CLEAR_VALUE);
  static const uint32_t transfers[] = {GL_MAP_COLOR,   GL_MAP_STENCIL, GL_INDEX_SHIFT, GL_INDEX_OFFSET, GL_RED_SCALE,
                                       GL_RED_BIAS,    GL_GREEN_SCALE, GL_GREEN_BIAS,  GL_BLUE_SCALE,   GL_BLUE_BIAS,
                                       GL_ALPHA_SCALE, GL_ALPHA_BIAS,  GL_DEPTH_SCALE, GL_DEPTH_BIAS};
  for (uint32_t name : transfers) {
    d.glGetFloatv(name, v);
    const bool scale = name == GL_RED_SCALE || name == GL_GREEN_SCALE || name == GL_BLUE_SCALE ||
                       name == GL_ALPHA_SCALE || name == GL_DEPTH_SCALE;
    if (fine() && v[0] != (scale ? 1.0f : 0.0f)) tell(driver::glPixelTransferf, name, v[0]);
  }
  tell(driver::glPixelZoom, number(GL_ZOOM_X), number(GL_ZOOM_Y));
  if (has(14, 0)) {
    uint8_t valid = 1;
    d.glGetFloatv(GL_CURRENT_RASTER_POSITION, v);
    d.glGetBooleanv(GL_CURRENT_RASTER_POSITION_VALID, &valid);
    if (fine() && valid) tell(driver::glWindowPos3f, v[0], v[1], v[2]);
  }
  for (uint32_t map = GL_PIXEL_MAP_I_TO_I; map <= GL_PIXEL_MAP_A_TO_A; map++)
    if (get(map + 0x40, 1) > 1) lacks("pixel map 0x%X: its table was not asked for", map);
  if (get(GL_ATTRIB_STACK_DEPTH) > 0) lacks("%d levels of glPushAttrib: what they hold", get(GL_ATTRIB_STACK_DEPTH));
  if (get(GL_CLIENT_ATTRIB_STACK_DEPTH) > 0)
    lacks("%d levels of glPushClientAttrib: what they hold", get(GL_CLIENT_ATTRIB_STACK_DEPTH));
  for (uint32_t name : Each<uint32_t>{GL_VERTEX_PROGRAM_ARB, GL_FRAGMENT_PROGRAM_ARB})
    if (has_extension(c, name == GL_VERTEX_PROGRAM_ARB ? "GL_ARB_vertex_program" : "GL_ARB_fragment_program") &&
        is(name))
      lacks("the %s program in assembly language that is used", name == GL_VERTEX_PROGRAM_ARB ? "vertex" : "fragment");
  fine();
}

void Base::take_evaluators() {
  for (uint32_t two = 0; two < 2; two++)
    for (uint32_t n = 0; n < 9; n++) {
      static const int32_t components[] = {4, 1, 3, 1, 2, 3, 4, 3, 4};
      const uint32_t map = (two ? GL_MAP2_COLOR_4 : GL_MAP1_COLOR_4) + n;
      int32_t order[2] = {1, 1};
      float domain[4] = {0, 1, 0, 1};
      d.glGetMapiv(map, GL_ORDER, order);
      d.glGetMapfv(map, GL_DOMAIN, domain);
      if (!fine() || order[0] < 1 || order[0] > 64 || order[1] < 1 || order[1] > 64 ||
          (order[0] == 1 && (!two || order[1] == 1)))
        continue;
      const int32_t points = order[0] * (two ? order[1] : 1);
      float* const values = (float*)malloc((size_t)points * (size_t)components[n] * sizeof(float));
      if (!values) continue;
      d.glGetMapfv(map, GL_COEFF, values);
      if (fine()) {
        if (two)
          tell(driver::glMap2f, map, domain[0], domain[1], components[n] * order[1], order[0], domain[2], domain[3],
               components[n], order[1], values);
        else
          tell(driver::glMap1f, map, domain[0], domain[1], components[n], order[0], values);
      }
      free(values);
    }
  float v[4] = {};
  d.glGetFloatv(GL_MAP1_GRID_DOMAIN, v);
  tell(driver::glMapGrid1f, get(GL_MAP1_GRID_SEGMENTS, 1), v[0], v[1]);
  int32_t segments[2] = {1, 1};
  d.glGetFloatv(GL_MAP2_GRID_DOMAIN, v);
  d.glGetIntegerv(GL_MAP2_GRID_SEGMENTS, segments);
  tell(driver::glMapGrid2f, segments[0], v[0], v[1], segments[1], v[2], v[3]);
  fine();
}

void Base::fixed_state() {
  if (c->in_recording) {
    // The former matrix turns the next ones.
    tell(driver::glMatrixMode, GL_MODELVIEW);
    tell(driver::glLoadIdentity);
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
