/* Every kind of object of OpenGL ES 3, made before the first frame and never touched again; frames without end.
 *
 * midrun [lacking]: with the word also what no driver hands out: a renderbuffer of several samples, a query. */
#include <GLES3/gl3.h>
#include <unistd.h>
#include "egl_start.h"

enum { SIDE = 64, LAYERS = 3 };

static const char* const VERTEX =
    "#version 300 es\nlayout(location = 0) in vec2 at; in vec2 shift; out vec2 where; uniform Turn { mat4 turn; };\n"
    "void main() { where = at * 0.5 + 0.5; gl_Position = turn * vec4(at * 0.4 + shift, 0.1, 1.0); }\n";
static const char* const FRAGMENT =
    "#version 300 es\nprecision highp float; precision highp sampler3D; precision highp sampler2DArray;\n"
    "in vec2 where; out vec4 color; uniform sampler2D flat_one; uniform samplerCube cube; uniform sampler3D deep;\n"
    "uniform sampler2DArray layers; uniform sampler2D letters; uniform vec4 weights[4]; uniform ivec2 mode; uniform mat2 skew; uniform float time;\n"
    "void main() {\n"
    "  vec2 p = skew * where;\n"
    "  color = textureLod(flat_one, p, float(mode.x)) * weights[0] + texture(cube, vec3(p - 0.5, 0.6)) * weights[1] +\n"
    "          texture(deep, vec3(p, 0.4)) * weights[2] + texture(layers, vec3(p, float(mode.y))) * weights[3];\n"
    "  color.a = (0.6 + 0.3 * sin(time)) * texture(letters, p).a;\n}\n";

static GLubyte* noise(GLubyte* to, int bytes, unsigned seed) {
  for (int i = 0; i < bytes; i++) to[i] = (GLubyte)((seed = seed * 1664525u + 1013904223u) >> 24);
  return to;
}

static GLuint make_program(void) {
  const GLenum stages[] = {GL_VERTEX_SHADER, GL_FRAGMENT_SHADER};
  const char* const sources[] = {VERTEX, FRAGMENT};
  GLuint program = glCreateProgram();
  for (int i = 0; i < 2; i++) {
    GLuint shader = glCreateShader(stages[i]);
    glShaderSource(shader, 1, &sources[i], NULL);
    glCompileShader(shader);
    glAttachShader(program, shader);
    glDeleteShader(shader);
  }
  glBindAttribLocation(program, 5, "shift");
  glLinkProgram(program);
  GLuint shaders[2];
  GLsizei count = 0;
  glGetAttachedShaders(program, 2, &count, shaders);
  for (int i = 0; i < count; i++) glDetachShader(program, shaders[i]); /* the sources are gone now */
  return program;
}

static void make_textures(void) {
  static GLubyte bytes[SIDE * SIDE * 4 * LAYERS];
  GLuint names[5];
  glGenTextures(5, names);
  glActiveTexture(GL_TEXTURE4);
  glBindTexture(GL_TEXTURE_2D, names[4]);
  glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_ALPHA, 17, 9, 0, GL_ALPHA, GL_UNSIGNED_BYTE, noise(bytes, 17 * 9, 40));
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glActiveTexture(GL_TEXTURE0);
  glBindTexture(GL_TEXTURE_2D, names[0]);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGB, 16, 16, 0, GL_RGB, GL_UNSIGNED_BYTE, noise(bytes, 16 * 16 * 3, 1));
  glGenerateMipmap(GL_TEXTURE_2D);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_MIRRORED_REPEAT);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_SWIZZLE_R, GL_BLUE);
  glActiveTexture(GL_TEXTURE3);
  glBindTexture(GL_TEXTURE_CUBE_MAP, names[1]);
  glTexStorage2D(GL_TEXTURE_CUBE_MAP, 2, GL_RGBA8, 8, 8);
  for (unsigned face = 0; face < 6; face++)
    glTexSubImage2D(GL_TEXTURE_CUBE_MAP_POSITIVE_X + face, 0, 0, 0, 8, 8, GL_RGBA, GL_UNSIGNED_BYTE,
                    noise(bytes, 256, 7 + face));
  glTexParameteri(GL_TEXTURE_CUBE_MAP, GL_TEXTURE_MAX_LEVEL, 0);
  glTexParameteri(GL_TEXTURE_CUBE_MAP, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
  glActiveTexture(GL_TEXTURE1);
  glBindTexture(GL_TEXTURE_3D, names[2]);
  glTexImage3D(GL_TEXTURE_3D, 0, GL_RGBA8, 8, 8, 4, 0, GL_RGBA, GL_UNSIGNED_BYTE, noise(bytes, 8 * 8 * 4 * 4, 20));
  glTexParameteri(GL_TEXTURE_3D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glActiveTexture(GL_TEXTURE2);
  glBindTexture(GL_TEXTURE_2D_ARRAY, names[3]);
  glTexStorage3D(GL_TEXTURE_2D_ARRAY, 1, GL_RGB10_A2, 16, 16, LAYERS);
  glTexSubImage3D(GL_TEXTURE_2D_ARRAY, 0, 0, 0, 0, 16, 16, LAYERS, GL_RGBA, GL_UNSIGNED_INT_2_10_10_10_REV,
                  noise(bytes, 16 * 16 * 4 * LAYERS, 30));
  glTexParameteri(GL_TEXTURE_2D_ARRAY, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  GLuint sampler;
  glGenSamplers(1, &sampler);
  glSamplerParameteri(sampler, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glSamplerParameteri(sampler, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
  glBindSampler(1, sampler);
}

int main(int argc, char** argv) {
  const int lacking = argc > 1 && !strcmp(argv[1], "lacking");
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_ES3_BIT);
  EGLSurface surface = start_pbuffer(display, config, SIDE, SIDE);
  start_current(display, surface, start_es(display, config, 3, 0, EGL_NO_CONTEXT));
  GLuint program = make_program(), arrays, buffers[4], target, drawn, depth;
  make_textures();
  glUseProgram(program);
  static const float weights[16] = {0.5f, 0.4f, 0.3f, 1, 0.3f, 0.2f, 0.5f, 0, 0.4f, 0.1f, 0.2f, 0, 0.2f, 0.6f, 0.3f, 0};
  static const float skew[4] = {0.9f, 0.2f, -0.1f, 1.1f},
                     turn[16] = {0.8f, 0.3f, 0, 0, -0.3f, 0.8f, 0, 0, 0, 0, 1, 0, 0.1f, 0, 0, 1};
  glUniform4fv(glGetUniformLocation(program, "weights"), 4, weights);
  glUniform2i(glGetUniformLocation(program, "mode"), 1, 2);
  glUniformMatrix2fv(glGetUniformLocation(program, "skew"), 1, GL_FALSE, skew);
  glUniform1i(glGetUniformLocation(program, "cube"), 3);
  glUniform1i(glGetUniformLocation(program, "deep"), 1);
  glUniform1i(glGetUniformLocation(program, "layers"), 2);
  glUniform1i(glGetUniformLocation(program, "letters"), 4);
  const GLint time = glGetUniformLocation(program, "time");
  glUniformBlockBinding(program, glGetUniformBlockIndex(program, "Turn"), 2);
  glGenBuffers(4, buffers);
  glBindBuffer(GL_UNIFORM_BUFFER, buffers[0]);
  glBufferData(GL_UNIFORM_BUFFER, sizeof turn + 256, NULL, GL_STATIC_DRAW);
  glBufferSubData(GL_UNIFORM_BUFFER, 256, sizeof turn, turn);
  glBindBufferRange(GL_UNIFORM_BUFFER, 2, buffers[0], 256, sizeof turn);
  static const float corners[] = {-1, -1, 1, -1, 1, 1, -1, 1}, shifts[] = {-0.4f, -0.3f, 0.4f, 0.3f, 0.1f, -0.5f};
  static const GLushort indices[] = {0, 1, 2, 0, 2, 3};
  glGenVertexArrays(1, &arrays);
  glBindVertexArray(arrays);
  glBindBuffer(GL_ARRAY_BUFFER, buffers[1]);
  glBufferData(GL_ARRAY_BUFFER, sizeof corners, corners, GL_STATIC_DRAW);
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, NULL);
  glEnableVertexAttribArray(0);
  glBindBuffer(GL_ARRAY_BUFFER, buffers[2]);
  glBufferData(GL_ARRAY_BUFFER, sizeof shifts, shifts, GL_STATIC_DRAW);
  glVertexAttribPointer(5, 2, GL_FLOAT, GL_FALSE, 8, NULL);
  glVertexAttribDivisor(5, 1);
  glEnableVertexAttribArray(5);
  glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, buffers[3]);
  glBufferData(GL_ELEMENT_ARRAY_BUFFER, sizeof indices, indices, GL_STATIC_DRAW);
  glGenFramebuffers(1, &target);
  glGenRenderbuffers(1, &depth);
  glGenTextures(1, &drawn);
  glActiveTexture(GL_TEXTURE5);
  glBindTexture(GL_TEXTURE_2D, drawn);
  glTexStorage2D(GL_TEXTURE_2D, 1, GL_RGBA8, SIDE, SIDE);
  glBindRenderbuffer(GL_RENDERBUFFER, depth);
  glRenderbufferStorage(GL_RENDERBUFFER, GL_DEPTH_COMPONENT16, SIDE, SIDE);
  glBindFramebuffer(GL_FRAMEBUFFER, target);
  glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, drawn, 0);
  glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_RENDERBUFFER, depth);
  glClearColor(0.3f, 0.1f, 0.2f, 1);
  glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT); /* once: what is drawn stays from frame to frame */
  if (lacking) {
    GLuint samples, query;
    glGenRenderbuffers(1, &samples);
    glBindRenderbuffer(GL_RENDERBUFFER, samples);
    glRenderbufferStorageMultisample(GL_RENDERBUFFER, 4, GL_RGBA8, SIDE, SIDE);
    glGenQueries(1, &query);
    glBeginQuery(GL_ANY_SAMPLES_PASSED, query);
    glEndQuery(GL_ANY_SAMPLES_PASSED);
  }
  glEnable(GL_BLEND);
  glBlendFuncSeparate(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA, GL_ONE, GL_ZERO);
  glEnable(GL_SCISSOR_TEST);
  glScissor(3, 5, SIDE - 9, SIDE - 7);
  glViewport(0, 0, SIDE, SIDE);
  for (int frame = 0;; frame++) {
    glBindFramebuffer(GL_FRAMEBUFFER, target);
    glUniform1f(time, (float)(frame % 100) * 0.1f);
    glDrawElementsInstanced(GL_TRIANGLES, 6, GL_UNSIGNED_SHORT, NULL, 3);
    glBindFramebuffer(GL_DRAW_FRAMEBUFFER, 0);
    glDisable(GL_SCISSOR_TEST);
    glClear(GL_COLOR_BUFFER_BIT);
    glBlitFramebuffer(0, 0, SIDE, SIDE, 0, 0, SIDE, SIDE, GL_COLOR_BUFFER_BIT, GL_NEAREST);
    glEnable(GL_SCISSOR_TEST);
    eglSwapBuffers(display, surface);
    if (getppid() == 1) return 0;
  }
}
