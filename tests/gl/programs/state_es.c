/* Sets state of OpenGL ES at random, thousands of times: right values, values out of range, objects that are gone.
 * Nothing is drawn. state_es [CALLS] [SEED] [2]: version 3.2, or 2. */
#define GL_GLEXT_PROTOTYPES
#include <GLES3/gl32.h>
#include "chance.h"
#include "egl_start.h"

static int old;
static GLuint textures[6], buffers[6], framebuffers[3], renderbuffers[3], arrays[4], samplers[3], queries[3],
    feedbacks[2];
static GLuint program;

static GLenum factor(void) {
  return ONE_OF(GL_ZERO, GL_ONE, GL_SRC_COLOR, GL_ONE_MINUS_SRC_ALPHA, GL_DST_COLOR, GL_CONSTANT_ALPHA,
                GL_SRC_ALPHA_SATURATE);
}
static GLenum stencil_op(void) { return ONE_OF(GL_KEEP, GL_ZERO, GL_REPLACE, GL_INCR, GL_INVERT, GL_DECR_WRAP); }
static GLenum side(void) { return ONE_OF(GL_FRONT, GL_BACK, GL_FRONT_AND_BACK); }
static GLenum flat_target(void) {
  return old ? GL_TEXTURE_2D
             : ONE_OF(GL_TEXTURE_2D, GL_TEXTURE_2D, GL_TEXTURE_3D, GL_TEXTURE_2D_ARRAY, GL_TEXTURE_CUBE_MAP);
}
static GLuint texture(void) { return chance(5) ? textures[chance(6)] : 0; }
static GLuint buffer(void) { return chance(5) ? buffers[chance(6)] : 0; }
static GLenum capability(void) {
  GLenum both = ONE_OF(GL_BLEND, GL_DEPTH_TEST, GL_STENCIL_TEST, GL_SCISSOR_TEST, GL_CULL_FACE, GL_DITHER,
                       GL_POLYGON_OFFSET_FILL, GL_SAMPLE_ALPHA_TO_COVERAGE, GL_SAMPLE_COVERAGE);
  return old || chance(3) ? both
                          : ONE_OF(GL_RASTERIZER_DISCARD, GL_PRIMITIVE_RESTART_FIXED_INDEX, GL_SAMPLE_MASK,
                                   GL_SAMPLE_SHADING, GL_LINE_LOOP);
}
static GLenum buffer_target(void) {
  return old ? ONE_OF(GL_ARRAY_BUFFER, GL_ELEMENT_ARRAY_BUFFER)
             : ONE_OF(GL_ARRAY_BUFFER, GL_ELEMENT_ARRAY_BUFFER, GL_UNIFORM_BUFFER, GL_COPY_READ_BUFFER,
                      GL_PIXEL_UNPACK_BUFFER, GL_SHADER_STORAGE_BUFFER, GL_DRAW_INDIRECT_BUFFER);
}

static void both(void) {
  static const GLubyte pixels[8 * 8 * 4];
  switch (chance(46)) {
    case 0:
    case 1: glEnable(capability()); break;
    case 2:
    case 3: glDisable(capability()); break;
    case 4: glDepthFunc(chance(9) ? GL_NEVER + chance(8) : GL_LINEAR); break;
    case 5: glBlendFunc(factor(), factor()); break;
    case 6: glBlendFuncSeparate(factor(), factor(), factor(), factor()); break;
    case 7: glBlendEquation(ONE_OF(GL_FUNC_ADD, GL_FUNC_SUBTRACT, GL_LINEAR)); break;
    case 8: glBlendEquationSeparate(GL_FUNC_ADD, ONE_OF(GL_FUNC_REVERSE_SUBTRACT, GL_FUNC_SUBTRACT)); break;
    case 9: glBlendColor(part(), real(), part(), part()); break;
    case 10: glColorMask((GLboolean)chance(2), (GLboolean)chance(2), 1, (GLboolean)chance(2)); break;
    case 11: glDepthMask((GLboolean)chance(2)); break;
    case 12: glStencilMaskSeparate(side(), chance(256)); break;
    case 13: glStencilFuncSeparate(side(), GL_NEVER + chance(8), (GLint)chance(200), chance(256)); break;
    case 14: glStencilOpSeparate(side(), stencil_op(), stencil_op(), stencil_op()); break;
    case 15: glViewport((GLint)chance(50), (GLint)chance(50), (GLsizei)chance(300) - 9, (GLsizei)chance(300)); break;
    case 16: glScissor((GLint)chance(50), (GLint)chance(50), (GLsizei)chance(300) - 9, (GLsizei)chance(300)); break;
    case 17: glDepthRangef(real(), real()); break;
    case 18: glPolygonOffset(real(), real()); break;
    case 19: glLineWidth(1 + real() / 2); break;
    case 20: glCullFace(side()); break;
    case 21: glFrontFace(ONE_OF(GL_CW, GL_CCW, GL_BACK)); break;
    case 22: glHint(GL_GENERATE_MIPMAP_HINT, ONE_OF(GL_FASTEST, GL_NICEST, GL_DONT_CARE)); break;
    case 23: glClearColor(real(), part(), part(), real()); break;
    case 24: glClearDepthf(real()); break;
    case 25: glClearStencil((GLint)chance(256)); break;
    case 26: glPixelStorei(ONE_OF(GL_UNPACK_ALIGNMENT, GL_PACK_ALIGNMENT), (GLint)ONE_OF(1, 2, 3, 4, 8)); break;
    case 27: glSampleCoverage(real(), (GLboolean)chance(2)); break;
    case 28: glActiveTexture(GL_TEXTURE0 + chance(8)); break;
    case 29:
    case 30: glBindTexture(chance(4) ? flat_target() : GL_TEXTURE_CUBE_MAP, texture()); break;
    case 31:
      glTexParameteri(flat_target(), ONE_OF(GL_TEXTURE_WRAP_S, GL_TEXTURE_WRAP_T),
                      (GLint)ONE_OF(GL_REPEAT, GL_CLAMP_TO_EDGE, GL_MIRRORED_REPEAT));
      break;
    case 32:
      glTexParameterf(flat_target(), GL_TEXTURE_MIN_FILTER,
                      (float)ONE_OF(GL_NEAREST, GL_LINEAR, GL_NEAREST_MIPMAP_LINEAR));
      break;
    case 33:
      glTexImage2D(ONE_OF(GL_TEXTURE_2D, GL_TEXTURE_CUBE_MAP_NEGATIVE_X), (GLint)chance(3), GL_RGBA, 4, 4, 0, GL_RGBA,
                   GL_UNSIGNED_BYTE, NULL);
      break;
    case 34: glTexImage2D(GL_TEXTURE_2D, 0, GL_RGB, 8, 8, 0, GL_RGB, GL_UNSIGNED_SHORT_5_6_5, NULL); break;
    case 35: glGenerateMipmap(GL_TEXTURE_2D); break;
    case 36: {
      unsigned i = chance(6);
      glDeleteTextures(1, &textures[i]);
      glGenTextures(1, &textures[i]);
      break;
    }
    case 37:
    case 38: glBindBuffer(buffer_target(), buffer()); break;
    case 39:
      glBufferData(ONE_OF(GL_ARRAY_BUFFER, GL_ELEMENT_ARRAY_BUFFER), (GLsizeiptr)(64 * (1 + chance(30))), NULL,
                   ONE_OF(GL_STATIC_DRAW, GL_STREAM_DRAW, GL_DYNAMIC_DRAW));
      break;
    case 40: {
      unsigned i = chance(6);
      glDeleteBuffers(1, &buffers[i]);
      glGenBuffers(1, &buffers[i]);
      break;
    }
    case 41:
      glBindBuffer(GL_ARRAY_BUFFER, buffers[chance(6)]);
      glVertexAttribPointer(chance(8), (GLint)(1 + chance(4)), ONE_OF(GL_FLOAT, GL_BYTE, GL_UNSIGNED_SHORT),
                            (GLboolean)chance(2), (GLsizei)(4 * chance(8)), (const void*)(uintptr_t)(4 * chance(9)));
      break;
    case 42:
      if (chance(2))
        glEnableVertexAttribArray(chance(8));
      else
        glDisableVertexAttribArray(chance(8));
      break;
    case 43: glVertexAttrib4f(1 + chance(7), real(), real(), real(), real()); break;
    case 44: glVertexAttrib2f(1 + chance(7), real(), real()); break;
    default: glUseProgram(chance(4) ? program : 0); break;
  }
  (void)pixels;
}

static void objects(void) {
  switch (chance(14)) {
    case 0: glBindFramebuffer(GL_FRAMEBUFFER, chance(3) ? framebuffers[chance(3)] : 0); break;
    case 1: glBindRenderbuffer(GL_RENDERBUFFER, chance(4) ? renderbuffers[chance(3)] : 0); break;
    case 2:
      glRenderbufferStorage(GL_RENDERBUFFER, ONE_OF(GL_RGBA4, GL_DEPTH_COMPONENT16, GL_STENCIL_INDEX8), 8,
                            (GLsizei)(8 + chance(8)));
      break;
    case 3:
      glFramebufferRenderbuffer(GL_FRAMEBUFFER,
                                ONE_OF(GL_COLOR_ATTACHMENT0, GL_DEPTH_ATTACHMENT, GL_STENCIL_ATTACHMENT),
                                GL_RENDERBUFFER, chance(4) ? renderbuffers[chance(3)] : 0);
      break;
    case 4: glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture(), 0); break;
    case 5: {
      unsigned i = chance(3);
      glDeleteFramebuffers(1, &framebuffers[i]);
      glGenFramebuffers(1, &framebuffers[i]);
      break;
    }
    case 6: {
      unsigned i = chance(3);
      glDeleteRenderbuffers(1, &renderbuffers[i]);
      glGenRenderbuffers(1, &renderbuffers[i]);
      break;
    }
    case 7: glUniform4f(glGetUniformLocation(program, "color"), real(), real(), real(), part()); break;
    case 8: {
      GLfloat v[8];
      for (int i = 0; i < 8; i++) v[i] = real();
      glUniform4fv(glGetUniformLocation(program, chance(2) ? "list" : "list[1]"), (GLsizei)(1 + chance(2)), v);
      break;
    }
    case 9: glUniform1i(glGetUniformLocation(program, "picture"), (GLint)chance(8)); break;
    case 10: glUniform3f(glGetUniformLocation(program, "color"), 1, 2, 3); break;
    default: glPixelStorei(GL_PACK_ALIGNMENT, (GLint)ONE_OF(1, 4)); break;
  }
}

static void newer(void) {
  switch (chance(34)) {
    case 0: glBindVertexArray(chance(3) ? arrays[chance(4)] : 0); break;
    case 1: {
      unsigned i = chance(4);
      glDeleteVertexArrays(1, &arrays[i]);
      glGenVertexArrays(1, &arrays[i]);
      break;
    }
    case 2: glBindSampler(chance(6), chance(3) ? samplers[chance(3)] : 0); break;
    case 3:
      glSamplerParameteri(samplers[chance(3)], ONE_OF(GL_TEXTURE_MIN_FILTER, GL_TEXTURE_WRAP_R),
                          (GLint)ONE_OF(GL_LINEAR, GL_CLAMP_TO_EDGE));
      break;
    case 4: glSamplerParameterf(samplers[chance(3)], ONE_OF(GL_TEXTURE_MIN_LOD, GL_TEXTURE_MAX_LOD), real()); break;
    case 5: {
      unsigned i = chance(3);
      glDeleteSamplers(1, &samplers[i]);
      glGenSamplers(1, &samplers[i]);
      break;
    }
    case 6:
      glBindBufferRange(ONE_OF(GL_UNIFORM_BUFFER, GL_TRANSFORM_FEEDBACK_BUFFER), chance(4), buffers[chance(6)],
                        (GLintptr)(256 * chance(3)), 64);
      break;
    case 7:
      glBindBufferBase(ONE_OF(GL_UNIFORM_BUFFER, GL_SHADER_STORAGE_BUFFER, GL_ATOMIC_COUNTER_BUFFER), chance(4),
                       buffer());
      break;
    case 8: glVertexAttribDivisor(chance(8), chance(3)); break;
    case 9:
      glBindBuffer(GL_ARRAY_BUFFER, buffers[chance(6)]);
      glVertexAttribIPointer(chance(8), 2, ONE_OF(GL_INT, GL_UNSIGNED_BYTE), 0, (const void*)8);
      break;
    case 10: glVertexAttribFormat(chance(8), 3, GL_FLOAT, 0, 4 * chance(4)); break;
    case 11: glVertexAttribBinding(chance(8), chance(8)); break;
    case 12:
      glBindVertexBuffer(chance(8), buffers[chance(6)], (GLintptr)(4 * chance(8)), (GLsizei)(4 * chance(6)));
      break;
    case 13: glVertexBindingDivisor(chance(8), chance(4)); break;
    case 14: glTexStorage2D(ONE_OF(GL_TEXTURE_2D, GL_TEXTURE_CUBE_MAP), 2, GL_RGBA8, 8, 8); break;
    case 15:
      glTexImage3D(ONE_OF(GL_TEXTURE_3D, GL_TEXTURE_2D_ARRAY), (GLint)chance(2), GL_R8, 4, 2, 3, 0, GL_RED,
                   GL_UNSIGNED_BYTE, NULL);
      break;
    case 16:
      glTexParameteri(flat_target(), ONE_OF(GL_TEXTURE_SWIZZLE_R, GL_TEXTURE_SWIZZLE_A),
                      (GLint)ONE_OF(GL_ZERO, GL_BLUE));
      break;
    case 17:
      glTexParameteri(flat_target(), ONE_OF(GL_TEXTURE_BASE_LEVEL, GL_TEXTURE_MAX_LEVEL), (GLint)chance(5) - 1);
      break;
    case 18:
      glTexParameteri(flat_target(), GL_TEXTURE_COMPARE_MODE, (GLint)ONE_OF(GL_NONE, GL_COMPARE_REF_TO_TEXTURE));
      break;
    case 19: {
      GLfloat border[4] = {part(), part(), part(), 1};
      glTexParameterfv(flat_target(), GL_TEXTURE_BORDER_COLOR, border);
      break;
    }
    case 20: glEnablei(GL_BLEND, chance(4)); break;
    case 21: glDisablei(GL_BLEND, chance(4)); break;
    case 22: glBlendFuncSeparatei(chance(4), factor(), factor(), factor(), factor()); break;
    case 23: glBlendEquationi(chance(4), ONE_OF(GL_FUNC_ADD, GL_MIN, GL_MAX)); break;
    case 24: glColorMaski(chance(4), (GLboolean)chance(2), 0, 1, (GLboolean)chance(2)); break;
    case 25: glSampleMaski(0, chance(65536)); break;
    case 26: glMinSampleShading(real()); break;
    case 27: glPatchParameteri(GL_PATCH_VERTICES, (GLint)chance(40)); break;
    case 28: glBindTransformFeedback(GL_TRANSFORM_FEEDBACK, chance(3) ? feedbacks[chance(2)] : 0); break;
    case 29:
      glPixelStorei(ONE_OF(GL_UNPACK_ROW_LENGTH, GL_UNPACK_SKIP_ROWS, GL_PACK_SKIP_PIXELS, GL_UNPACK_IMAGE_HEIGHT),
                    (GLint)chance(5) - 1);
      break;
    case 30: glVertexAttribI4i(1 + chance(7), (GLint)chance(99), -7, 3, 1); break;
    case 31:
      glBindImageTexture(chance(4), textures[chance(6)], 0, (GLboolean)chance(2), 0,
                         ONE_OF(GL_READ_ONLY, GL_WRITE_ONLY), ONE_OF(GL_RGBA8, GL_R32F));
      break;
    case 32: {
      GLenum buffers_drawn[1] = {ONE_OF(GL_NONE, GL_COLOR_ATTACHMENT0, GL_BACK)};
      glDrawBuffers(1, buffers_drawn);
      break;
    }
    default: glProgramUniform4f(program, glGetUniformLocation(program, "color"), real(), 1, 2, part()); break;
  }
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
  old = argc > 3;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, old ? EGL_OPENGL_ES2_BIT : EGL_OPENGL_ES3_BIT);
  EGLSurface surface = start_pbuffer(display, config, 64, 48);
  start_current(
      display, surface,
      old ? start_es(display, config, 2, 0, EGL_NO_CONTEXT) : start_es(display, config, 3, 2, EGL_NO_CONTEXT));
  glGenTextures(6, textures);
  glGenBuffers(6, buffers);
  glGenFramebuffers(3, framebuffers);
  glGenRenderbuffers(3, renderbuffers);
  if (!old)
    glGenVertexArrays(4, arrays), glGenSamplers(3, samplers), glGenQueries(3, queries),
        glGenTransformFeedbacks(2, feedbacks);
  program = glCreateProgram();
  glAttachShader(program, shader(GL_VERTEX_SHADER, "attribute vec4 at; void main() { gl_Position = at; }"));
  glAttachShader(program,
                 shader(GL_FRAGMENT_SHADER,
                        "precision mediump float; uniform vec4 color; uniform vec4 list[3]; uniform sampler2D picture;"
                        "void main() { gl_FragColor = color + list[1] + list[0] + texture2D(picture, color.xy); }"));
  glLinkProgram(program);
  for (int i = 0; i < 6; i++) {
    glBindBuffer(GL_ARRAY_BUFFER, buffers[i]);
    glBufferData(GL_ARRAY_BUFFER, 2048, NULL, GL_STATIC_DRAW);
  }
  int swaps = 0;
  for (int i = 0; i < calls; i++) {
    if (!old && chance(2))
      newer();
    else if (chance(4))
      both();
    else
      objects();
    (void)glGetError(); /* What was wrong is learned of at once. */
    if (i % 250 == 249) eglSwapBuffers(display, surface), swaps++;
  }
  printf("%d swaps\n", swaps);
  return 0;
}
