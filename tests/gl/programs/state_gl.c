/* Sets state of desktop OpenGL at random, thousands of times: right values, values out of range, objects that are gone.
 * Nothing is drawn. state_gl [CALLS] [SEED] [core] */
#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include "chance.h"
#include "egl_start.h"

static int core;
static GLuint textures[6], buffers[6], arrays[4], framebuffers[3], renderbuffers[3], samplers[3], queries[3];
static GLuint program;

static GLenum compare(void) { return GL_NEVER + chance(8); }
static GLenum factor(void) {
  return ONE_OF(GL_ZERO, GL_ONE, GL_SRC_COLOR, GL_ONE_MINUS_SRC_ALPHA, GL_DST_COLOR, GL_CONSTANT_ALPHA,
                GL_SRC_ALPHA_SATURATE);
}
static GLenum stencil_op(void) { return ONE_OF(GL_KEEP, GL_ZERO, GL_REPLACE, GL_INCR, GL_INVERT, GL_INCR_WRAP); }
static GLenum capability(void) {
  return ONE_OF(GL_BLEND, GL_DEPTH_TEST, GL_STENCIL_TEST, GL_SCISSOR_TEST, GL_CULL_FACE, GL_DITHER,
                GL_POLYGON_OFFSET_FILL, GL_POLYGON_OFFSET_LINE, GL_MULTISAMPLE, GL_SAMPLE_ALPHA_TO_COVERAGE,
                GL_COLOR_LOGIC_OP, GL_LINE_SMOOTH, GL_PROGRAM_POINT_SIZE, GL_DEPTH_CLAMP, GL_PRIMITIVE_RESTART,
                GL_FRAMEBUFFER_SRGB, GL_CLIP_DISTANCE2, GL_RASTERIZER_DISCARD, GL_SAMPLE_MASK,
                GL_TEXTURE_CUBE_MAP_SEAMLESS);
}
static GLenum old_capability(void) {
  return ONE_OF(GL_LIGHTING, GL_LIGHT0, GL_LIGHT3, GL_FOG, GL_ALPHA_TEST, GL_NORMALIZE, GL_RESCALE_NORMAL,
                GL_COLOR_MATERIAL, GL_TEXTURE_2D, GL_TEXTURE_3D, GL_TEXTURE_CUBE_MAP, GL_TEXTURE_GEN_S,
                GL_TEXTURE_GEN_R, GL_LINE_STIPPLE, GL_POLYGON_STIPPLE, GL_POINT_SPRITE, GL_COLOR_SUM, GL_AUTO_NORMAL,
                GL_MAP1_VERTEX_3, GL_MAP2_NORMAL, GL_POINT_SMOOTH, GL_CLIP_PLANE1);
}
static GLenum target(void) {
  return ONE_OF(GL_TEXTURE_2D, GL_TEXTURE_2D, GL_TEXTURE_3D, GL_TEXTURE_CUBE_MAP, GL_TEXTURE_2D_ARRAY, GL_TEXTURE_1D);
}
static GLuint texture(void) { return chance(5) ? textures[chance(6)] : 0; }
static GLuint buffer(void) { return chance(5) ? buffers[chance(6)] : 0; }

static void common(void) {
  static const GLubyte pixels[4 * 4 * 4 * 4];
  switch (chance(70)) {
    case 0:
    case 1:
    case 2: glEnable(capability()); break;
    case 3:
    case 4:
    case 5: glDisable(capability()); break;
    case 6: glDepthFunc(chance(9) ? compare() : GL_LINEAR); break;
    case 7: glBlendFunc(factor(), factor()); break;
    case 8: glBlendFuncSeparate(factor(), factor(), factor(), factor()); break;
    case 9: glBlendFunci(chance(8), factor(), factor()); break;
    case 10:
      glBlendEquationSeparate(ONE_OF(GL_FUNC_ADD, GL_MIN, GL_FUNC_SUBTRACT), ONE_OF(GL_MAX, GL_FUNC_REVERSE_SUBTRACT));
      break;
    case 11: glBlendEquationi(chance(8), ONE_OF(GL_FUNC_ADD, GL_MIN, GL_MAX)); break;
    case 12: glBlendColor(real(), real(), part(), part()); break;
    case 13: glColorMask((GLboolean)chance(2), (GLboolean)chance(2), 1, (GLboolean)chance(2)); break;
    case 14: glColorMaski(chance(8), (GLboolean)chance(2), 0, 1, (GLboolean)chance(2)); break;
    case 15: glDepthMask((GLboolean)chance(2)); break;
    case 16: glStencilMask(chance(256)); break;
    case 17: glStencilMaskSeparate(ONE_OF(GL_FRONT, GL_BACK, GL_FRONT_AND_BACK), chance(256)); break;
    case 18: glStencilFunc(compare(), (GLint)chance(200), chance(256)); break;
    case 19:
      glStencilFuncSeparate(ONE_OF(GL_FRONT, GL_BACK, GL_FRONT_AND_BACK), compare(), (GLint)chance(200), chance(256));
      break;
    case 20: glStencilOp(stencil_op(), stencil_op(), stencil_op()); break;
    case 21: glStencilOpSeparate(ONE_OF(GL_FRONT, GL_BACK), stencil_op(), stencil_op(), stencil_op()); break;
    case 22: glViewport((GLint)chance(50), (GLint)chance(50), (GLsizei)chance(300) - 9, (GLsizei)chance(300)); break;
    case 23: glScissor((GLint)chance(50), (GLint)chance(50), (GLsizei)chance(300) - 9, (GLsizei)chance(300)); break;
    case 24: glViewportIndexedf(chance(16), real(), real(), 10 + part(), 20); break;
    case 25: glScissorIndexed(chance(16), 1, 2, (GLsizei)chance(90), 3); break;
    case 26: glDepthRange(real(), real()); break;
    case 27: glDepthRangeIndexed(chance(16), part(), part()); break;
    case 28: glPolygonMode(GL_FRONT_AND_BACK, ONE_OF(GL_POINT, GL_LINE, GL_FILL)); break;
    case 29: glPolygonOffset(real(), real()); break;
    case 30: glLineWidth(1 + real() / 2); break;
    case 31: glPointSize(1 + part() * 4); break;
    case 32: glCullFace(ONE_OF(GL_FRONT, GL_BACK, GL_FRONT_AND_BACK)); break;
    case 33: glFrontFace(ONE_OF(GL_CW, GL_CCW)); break;
    case 34: glLogicOp(GL_CLEAR + chance(16)); break;
    case 35:
      glHint(ONE_OF(GL_LINE_SMOOTH_HINT, GL_POLYGON_SMOOTH_HINT, GL_TEXTURE_COMPRESSION_HINT),
             ONE_OF(GL_FASTEST, GL_NICEST, GL_DONT_CARE));
      break;
    case 36: glClearColor(real(), part(), part(), real()); break;
    case 37: glClearDepth(real()); break;
    case 38: glClearStencil((GLint)chance(256)); break;
    case 39: glPixelStorei(ONE_OF(GL_UNPACK_ALIGNMENT, GL_PACK_ALIGNMENT), (GLint)ONE_OF(1, 2, 3, 4, 8)); break;
    case 40:
      glPixelStorei(ONE_OF(GL_PACK_ROW_LENGTH, GL_UNPACK_SKIP_ROWS, GL_PACK_SKIP_IMAGES, GL_UNPACK_IMAGE_HEIGHT),
                    (GLint)chance(5) - 1);
      break;
    case 41: glSampleCoverage(real(), (GLboolean)chance(2)); break;
    case 42: glSampleMaski(0, chance(65536)); break;
    case 43: glPrimitiveRestartIndex(chance(1000)); break;
    case 44: glProvokingVertex(ONE_OF(GL_FIRST_VERTEX_CONVENTION, GL_LAST_VERTEX_CONVENTION)); break;
    case 45: glActiveTexture(GL_TEXTURE0 + chance(8)); break;
    case 46:
    case 47: glBindTexture(target(), texture()); break;
    case 48:
      glTexParameteri(target(), ONE_OF(GL_TEXTURE_WRAP_S, GL_TEXTURE_WRAP_T),
                      (GLint)ONE_OF(GL_REPEAT, GL_CLAMP_TO_EDGE, GL_MIRRORED_REPEAT));
      break;
    case 49:
      glTexParameteri(target(), ONE_OF(GL_TEXTURE_MIN_FILTER, GL_TEXTURE_MAG_FILTER),
                      (GLint)ONE_OF(GL_NEAREST, GL_LINEAR, GL_NEAREST_MIPMAP_LINEAR));
      break;
    case 50:
      glTexParameterf(target(), ONE_OF(GL_TEXTURE_MIN_LOD, GL_TEXTURE_MAX_LOD, GL_TEXTURE_LOD_BIAS), real());
      break;
    case 51: {
      GLint swizzle[4] = {GL_RED, GL_ZERO, (GLint)ONE_OF(GL_ONE, GL_BLUE), GL_GREEN};
      glTexParameteriv(target(), GL_TEXTURE_SWIZZLE_RGBA, swizzle);
      break;
    }
    case 52: {
      float border[4] = {part(), part(), part(), 1};
      glTexParameterfv(target(), GL_TEXTURE_BORDER_COLOR, border);
      break;
    }
    case 53:
      glTexImage2D(ONE_OF(GL_TEXTURE_2D, GL_TEXTURE_CUBE_MAP_NEGATIVE_X), (GLint)chance(3), GL_RGBA8, 4, (GLsizei)4, 0,
                   GL_RGBA, GL_UNSIGNED_BYTE, chance(2) ? NULL : NULL);
      break;
    case 54:
      glTexImage3D(ONE_OF(GL_TEXTURE_3D, GL_TEXTURE_2D_ARRAY), (GLint)chance(2), GL_R8, 4, 2, 3, 0, GL_RED,
                   GL_UNSIGNED_BYTE, NULL);
      break;
    case 55: glGenerateMipmap(GL_TEXTURE_2D); break;
    case 56: {
      unsigned i = chance(6);
      glDeleteTextures(1, &textures[i]);
      glGenTextures(1, &textures[i]);
      break;
    }
    case 57:
    case 58:
      glBindBuffer(ONE_OF(GL_ARRAY_BUFFER, GL_ELEMENT_ARRAY_BUFFER, GL_UNIFORM_BUFFER, GL_COPY_READ_BUFFER,
                          GL_COPY_WRITE_BUFFER),
                   buffer());
      break;
    case 59:
      glBindBufferRange(ONE_OF(GL_UNIFORM_BUFFER, GL_TRANSFORM_FEEDBACK_BUFFER), chance(4), buffers[chance(6)],
                        256 * chance(3), 64);
      break;
    case 60: glBindBufferBase(ONE_OF(GL_UNIFORM_BUFFER, GL_SHADER_STORAGE_BUFFER), chance(4), buffer()); break;
    case 61:
      glBufferData(ONE_OF(GL_ARRAY_BUFFER, GL_ELEMENT_ARRAY_BUFFER, GL_COPY_WRITE_BUFFER),
                   (GLsizeiptr)(64 * (1 + chance(30))), NULL, ONE_OF(GL_STATIC_DRAW, GL_STREAM_COPY, GL_DYNAMIC_READ));
      break;
    case 62: {
      unsigned i = chance(6);
      glDeleteBuffers(1, &buffers[i]);
      glGenBuffers(1, &buffers[i]);
      break;
    }
    case 63: glBindVertexArray(core || chance(3) ? arrays[chance(4)] : 0); break;
    case 64:
      if (core) glBindBuffer(GL_ARRAY_BUFFER, buffers[chance(6)]);
      glVertexAttribPointer(chance(8), (GLint)(1 + chance(4)), ONE_OF(GL_FLOAT, GL_BYTE, GL_UNSIGNED_SHORT),
                            (GLboolean)chance(2), (GLsizei)(4 * chance(8)),
                            (const void*)(uintptr_t)(core ? 4 * chance(9) : 0));
      break;
    case 65:
      if (chance(2))
        glEnableVertexAttribArray(chance(8));
      else
        glDisableVertexAttribArray(chance(8));
      break;
    case 66: glVertexAttribDivisor(chance(8), chance(3)); break;
    case 67: glVertexAttrib4f(1 + chance(7), real(), real(), real(), real()); break;
    case 68: glVertexAttrib4Nub(1 + chance(7), (GLubyte)chance(256), 3, 255, 0); break;
    default: glVertexAttrib4s(1 + chance(7), (GLshort)chance(99), -7, 0, 1); break;
  }
  (void)pixels;
}

static void objects(void) {
  switch (chance(30)) {
    case 0:
    case 1:
      glBindFramebuffer(ONE_OF(GL_FRAMEBUFFER, GL_READ_FRAMEBUFFER, GL_DRAW_FRAMEBUFFER),
                        chance(3) ? framebuffers[chance(3)] : 0);
      break;
    case 2:
      glFramebufferTexture2D(GL_FRAMEBUFFER, ONE_OF(GL_COLOR_ATTACHMENT0, GL_COLOR_ATTACHMENT2, GL_DEPTH_ATTACHMENT),
                             GL_TEXTURE_2D, texture(), (GLint)chance(2));
      break;
    case 3:
      glFramebufferRenderbuffer(GL_FRAMEBUFFER,
                                ONE_OF(GL_COLOR_ATTACHMENT1, GL_DEPTH_STENCIL_ATTACHMENT, GL_STENCIL_ATTACHMENT),
                                GL_RENDERBUFFER, chance(4) ? renderbuffers[chance(3)] : 0);
      break;
    case 4:
      glFramebufferTextureLayer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT3, textures[chance(6)], 0, (GLint)chance(2));
      break;
    case 5: glBindRenderbuffer(GL_RENDERBUFFER, chance(4) ? renderbuffers[chance(3)] : 0); break;
    case 6:
      glRenderbufferStorage(GL_RENDERBUFFER, ONE_OF(GL_RGBA8, GL_DEPTH24_STENCIL8, GL_STENCIL_INDEX8),
                            (GLsizei)(1 + chance(40)), 17);
      break;
    case 7: {
      unsigned i = chance(3);
      glDeleteRenderbuffers(1, &renderbuffers[i]);
      glGenRenderbuffers(1, &renderbuffers[i]);
      break;
    }
    case 8: {
      unsigned i = chance(3);
      glDeleteFramebuffers(1, &framebuffers[i]);
      glGenFramebuffers(1, &framebuffers[i]);
      break;
    }
    case 9: {
      GLenum list[3] = {GL_COLOR_ATTACHMENT1, GL_NONE, GL_COLOR_ATTACHMENT0};
      glDrawBuffers((GLsizei)(1 + chance(3)), list);
      break;
    }
    case 10: glReadBuffer(ONE_OF(GL_COLOR_ATTACHMENT1, GL_NONE, GL_BACK)); break;
    case 11: glBindSampler(chance(6), chance(4) ? samplers[chance(3)] : 0); break;
    case 12:
      glSamplerParameteri(samplers[chance(3)], ONE_OF(GL_TEXTURE_WRAP_R, GL_TEXTURE_MIN_FILTER),
                          (GLint)ONE_OF(GL_REPEAT, GL_NEAREST, GL_LINEAR));
      break;
    case 13: glSamplerParameterf(samplers[chance(3)], GL_TEXTURE_MAX_LOD, real()); break;
    case 14: {
      unsigned i = chance(3);
      glDeleteSamplers(1, &samplers[i]);
      glGenSamplers(1, &samplers[i]);
      break;
    }
    case 15: {
      unsigned i = chance(4);
      glDeleteVertexArrays(1, &arrays[i]);
      glGenVertexArrays(1, &arrays[i]);
      if (core) glBindVertexArray(arrays[i]);
      break;
    }
    case 16: glVertexAttribFormat(chance(8), 2, GL_FLOAT, 0, 4 * chance(5)); break;
    case 17: glVertexAttribBinding(chance(8), chance(8)); break;
    case 18: glBindVertexBuffer(chance(8), buffer(), 16 * chance(4), (GLsizei)(4 * chance(5))); break;
    case 19: glVertexBindingDivisor(chance(8), chance(4)); break;
    case 20: glUseProgram(chance(3) ? program : 0); break;
    case 21: glProgramUniform4f(program, glGetUniformLocation(program, "color"), part(), part(), real(), 1); break;
    case 22: {
      float v[8] = {part(), 2, 3, 4, real(), 6, 7, 8};
      glProgramUniform4fv(program, glGetUniformLocation(program, "list"), (GLsizei)(1 + chance(2)), v);
      break;
    }
    case 23: glProgramUniform1i(program, glGetUniformLocation(program, "picture"), (GLint)chance(8)); break;
    case 24: {
      void* at;
      GLuint b = buffers[chance(6)];
      glNamedBufferData(b, 128, NULL, GL_STATIC_DRAW);
      at = glMapNamedBufferRange(b, 32, 64, GL_MAP_WRITE_BIT);
      if (at && chance(2)) glUnmapNamedBuffer(b);
      break;
    }
    case 25: glBindTextureUnit(chance(8), texture()); break;
    case 26: {
      GLuint list[3] = {textures[0], 0, textures[1]};
      glBindTextures(chance(5), 3, list);
      break;
    }
    case 27: glTexStorage2D(GL_TEXTURE_2D, (GLsizei)(1 + chance(3)), GL_RGBA8, 8, 8); break;
    case 28: glPatchParameteri(GL_PATCH_VERTICES, (GLint)(1 + chance(5))); break;
    default: glClipControl(ONE_OF(GL_LOWER_LEFT, GL_UPPER_LEFT), ONE_OF(GL_ZERO_TO_ONE, GL_NEGATIVE_ONE_TO_ONE)); break;
  }
}

static int depth_of_attributes, depth_of_client, in_list;
static void fixed(void) {
  float v[16];
  for (int i = 0; i < 16; i++) v[i] = real();
  switch (chance(72)) {
    case 0:
    case 1: glEnable(old_capability()); break;
    case 2:
    case 3: glDisable(old_capability()); break;
    case 4:
    case 5: glMatrixMode(ONE_OF(GL_MODELVIEW, GL_MODELVIEW, GL_PROJECTION, GL_TEXTURE)); break;
    case 6: glLoadIdentity(); break;
    case 7: glLoadMatrixf(v); break;
    case 8:
      glLoadIdentity();
      glMultMatrixf(v);
      break;
    case 9: glRotatef(real() * 90, real(), real(), 1); break;
    case 10: glTranslatef(real(), real(), real()); break;
    case 11:
      glLoadIdentity();
      glScalef(real(), 1, 2);
      break;
    case 12:
      glLoadIdentity();
      glFrustum(-1, 1, -1, 1 + part(), 1, 10);
      break;
    case 13:
      glLoadIdentity();
      glOrtho(-1, 2 + part(), -1, 1, real(), 10);
      break;
    case 14:
    case 15: glPushMatrix(); break;
    case 16:
    case 17: glPopMatrix(); break;
    case 18: glLoadTransposeMatrixf(v); break;
    case 19: glLightfv(GL_LIGHT0 + chance(8), ONE_OF(GL_AMBIENT, GL_DIFFUSE, GL_SPECULAR), v); break;
    case 20: glLightfv(GL_LIGHT0 + chance(8), ONE_OF(GL_POSITION, GL_SPOT_DIRECTION), v); break;
    case 21:
      glLightf(GL_LIGHT0 + chance(8), ONE_OF(GL_SPOT_CUTOFF, GL_SPOT_EXPONENT, GL_LINEAR_ATTENUATION),
               (float)chance(200) - 9);
      break;
    case 22: glLightModelfv(GL_LIGHT_MODEL_AMBIENT, v); break;
    case 23: glLightModeli(ONE_OF(GL_LIGHT_MODEL_TWO_SIDE, GL_LIGHT_MODEL_LOCAL_VIEWER), (GLint)chance(2)); break;
    case 24:
      glMaterialfv(ONE_OF(GL_FRONT, GL_BACK, GL_FRONT_AND_BACK),
                   ONE_OF(GL_AMBIENT, GL_DIFFUSE, GL_AMBIENT_AND_DIFFUSE, GL_EMISSION), v);
      break;
    case 25: glMaterialf(ONE_OF(GL_FRONT, GL_FRONT_AND_BACK), GL_SHININESS, (float)chance(160) - 9); break;
    case 26:
      glColorMaterial(ONE_OF(GL_FRONT, GL_BACK, GL_FRONT_AND_BACK),
                      ONE_OF(GL_AMBIENT, GL_DIFFUSE, GL_AMBIENT_AND_DIFFUSE));
      break;
    case 27: glColor4f(part(), part(), part(), part()); break;
    case 28: glColor3ub((GLubyte)chance(256), (GLubyte)chance(256), 0); break;
    case 29: glColor4s((GLshort)chance(32767), 1, 2, 32767); break;
    case 30: glSecondaryColor3f(part(), part(), real()); break;
    case 31: glNormal3f(real(), real(), real()); break;
    case 32: glNormal3b((GLbyte)chance(127), 1, -128); break;
    case 33: glTexCoord2f(real(), real()); break;
    case 34: glMultiTexCoord3f(GL_TEXTURE0 + chance(8), real(), real(), real()); break;
    case 35: glFogCoordf(real()); break;
    case 36: glEdgeFlag((GLboolean)chance(2)); break;
    case 37: glFogi(GL_FOG_MODE, (GLint)ONE_OF(GL_LINEAR, GL_EXP, GL_EXP2)); break;
    case 38: glFogf(ONE_OF(GL_FOG_START, GL_FOG_END), real()); break;
    case 39: glFogfv(GL_FOG_COLOR, v); break;
    case 40: {
      GLdouble plane[4] = {v[0], v[1], v[2], v[3]};
      glMatrixMode(GL_MODELVIEW);
      glLoadIdentity();
      glTranslatef(v[5], v[6], 1);
      glClipPlane(GL_CLIP_PLANE0 + chance(6), plane);
      break;
    }
    case 41: glAlphaFunc(compare(), real()); break;
    case 42: glShadeModel(ONE_OF(GL_FLAT, GL_SMOOTH)); break;
    case 43:
      glTexEnvi(GL_TEXTURE_ENV, GL_TEXTURE_ENV_MODE, (GLint)ONE_OF(GL_MODULATE, GL_REPLACE, GL_DECAL, GL_COMBINE));
      break;
    case 44:
      glTexEnvi(GL_TEXTURE_ENV, ONE_OF(GL_COMBINE_RGB, GL_COMBINE_ALPHA),
                (GLint)ONE_OF(GL_ADD, GL_REPLACE, GL_INTERPOLATE));
      break;
    case 45:
      glTexEnvi(GL_TEXTURE_ENV, ONE_OF(GL_SRC0_RGB, GL_SRC2_ALPHA),
                (GLint)ONE_OF(GL_TEXTURE, GL_CONSTANT, GL_PREVIOUS));
      break;
    case 46: glTexEnvfv(GL_TEXTURE_ENV, GL_TEXTURE_ENV_COLOR, v); break;
    case 47: glTexEnvf(GL_TEXTURE_ENV, ONE_OF(GL_RGB_SCALE, GL_ALPHA_SCALE), (float)(1 << chance(3))); break;
    case 48: glTexEnvf(GL_TEXTURE_FILTER_CONTROL, GL_TEXTURE_LOD_BIAS, real()); break;
    case 49: glTexEnvi(GL_POINT_SPRITE, GL_COORD_REPLACE, (GLint)chance(2)); break;
    case 50:
      glTexGeni(ONE_OF(GL_S, GL_T, GL_R), GL_TEXTURE_GEN_MODE, (GLint)ONE_OF(GL_OBJECT_LINEAR, GL_EYE_LINEAR));
      break;
    case 51: glTexGenfv(ONE_OF(GL_S, GL_Q), GL_OBJECT_PLANE, v); break;
    case 52:
      glMatrixMode(GL_MODELVIEW);
      glLoadIdentity();
      glRotatef(v[3] * 50, 1, 0, 0);
      glTexGenfv(ONE_OF(GL_T, GL_R), GL_EYE_PLANE, v);
      break;
    case 53: glLineStipple((GLint)(1 + chance(9)), (GLushort)chance(65536)); break;
    case 54: glPixelTransferf(ONE_OF(GL_RED_SCALE, GL_ALPHA_BIAS, GL_DEPTH_SCALE), real()); break;
    case 55: glPixelTransferi(ONE_OF(GL_INDEX_SHIFT, GL_MAP_COLOR), (GLint)chance(2)); break;
    case 56: glPixelMapfv(ONE_OF(GL_PIXEL_MAP_R_TO_R, GL_PIXEL_MAP_A_TO_A), (GLsizei)(1 << chance(4)), v); break;
    case 57: glPixelZoom(real(), real()); break;
    case 58: glMapGrid1f((GLint)(1 + chance(9)), v[0], v[0] + 1); break;
    case 59: glMapGrid2f((GLint)(1 + chance(9)), 0, 1, (GLint)(1 + chance(9)), 2, 3); break;
    /* One deep: of what is set between two of different masks drivers have been seen to forget a part. */
    case 60:
      if (depth_of_attributes < 1 && !in_list) {
        glPushAttrib(chance(3) ? 1u << chance(20) : chance(2) ? GL_ALL_ATTRIB_BITS : chance(0xfffff));
        depth_of_attributes++;
      }
      break;
    case 61:
      if (!in_list) {
        glPopAttrib();
        if (depth_of_attributes) depth_of_attributes--;
      }
      break;
    case 62:
      if (depth_of_client < 20) {
        glPushClientAttrib(chance(4));
        depth_of_client++;
      }
      break;
    case 63:
      glPopClientAttrib();
      if (depth_of_client) depth_of_client--;
      break;
    case 64: glClientActiveTexture(GL_TEXTURE0 + chance(8)); break;
    case 65:
      if (chance(2))
        glEnableClientState(ONE_OF(GL_VERTEX_ARRAY, GL_COLOR_ARRAY, GL_TEXTURE_COORD_ARRAY, GL_FOG_COORD_ARRAY));
      else
        glDisableClientState(ONE_OF(GL_VERTEX_ARRAY, GL_TEXTURE_COORD_ARRAY));
      break;
    case 66:
      glBindVertexArray(0);
      glTexCoordPointer((GLint)(1 + chance(4)), GL_FLOAT, (GLsizei)(4 * chance(5)), NULL);
      break;
    case 67:
      glBindVertexArray(0);
      glColorPointer(4, GL_UNSIGNED_BYTE, (GLsizei)(4 * chance(5)), NULL);
      break;
    case 68:
      if (!in_list) {
        glNewList(1 + chance(3), ONE_OF(GL_COMPILE, GL_COMPILE_AND_EXECUTE));
        in_list = 1 + (int)chance(12);
      }
      break;
    case 69:
      if (!in_list) glCallList(1 + chance(4));
      break;
    case 70: glListBase(chance(100)); break;
    default: glPointParameterf(ONE_OF(GL_POINT_SIZE_MIN, GL_POINT_FADE_THRESHOLD_SIZE), part()); break;
  }
  if (in_list && --in_list == 0) glEndList();
}

static GLuint shader(GLenum type, const char* source) {
  GLuint name = glCreateShader(type);
  glShaderSource(name, 1, &source, NULL);
  glCompileShader(name);
  return name;
}

int main(int argc, char** argv) {
  int calls = argc > 1 ? atoi(argv[1]) : 2500;
  state_of_chance = argc > 2 ? (uint32_t)atoi(argv[2]) : 7;
  core = argc > 3;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_BIT);
  EGLSurface surface = start_pbuffer(display, config, 64, 48);
  start_current(display, surface, start_gl(display, config, 4, 5, core, EGL_NO_CONTEXT));
  glGenTextures(6, textures);
  glGenBuffers(6, buffers);
  glGenVertexArrays(4, arrays);
  glGenFramebuffers(3, framebuffers);
  glGenRenderbuffers(3, renderbuffers);
  glGenSamplers(3, samplers);
  glGenQueries(3, queries);
  program = glCreateProgram();
  glAttachShader(program, shader(GL_VERTEX_SHADER, "#version 330\nin vec4 at; void main() { gl_Position = at; }"));
  glAttachShader(
      program,
      shader(GL_FRAGMENT_SHADER,
             "#version 330\nuniform vec4 color; uniform vec4 list[3]; uniform sampler2D picture;"
             "out vec4 pixel; void main() { pixel = color + list[1] + list[0] + texture(picture, color.xy); }"));
  glLinkProgram(program);
  for (int i = 0; i < 6; i++) {
    glBindBuffer(GL_ARRAY_BUFFER, buffers[i]);
    glBufferData(GL_ARRAY_BUFFER, 2048, NULL, GL_STATIC_DRAW);
  }
  int swaps = 0;
  for (int i = 0; i < calls; i++) {
    if (in_list || (!core && chance(2)))
      fixed();
    else if (chance(4))
      common();
    else
      objects();
    /* What was wrong is learned of at once. */
    if (!in_list) (void)glGetError();
    if (i % 250 == 249 && !in_list) eglSwapBuffers(display, surface), swaps++;
  }
  while (in_list) fixed();
  printf("%d swaps\n", swaps);
  return 0;
}
