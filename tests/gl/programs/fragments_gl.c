/* Draws whose fragments are known, in OpenGL: alpha test and stipple of the fixed function, lists, glBegin, stencil,
 * several samples a pixel, coverage, a program that discards, transform feedback, a query of the program's own, a
 * shader that writes memory. fragments_gl [FRAMES] */
#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include "egl_start.h"
#include "shader.h"

enum { WIDTH = 64, HEIGHT = 48, SMALL = 16 };

static const char* const VERTEX =
    "#version 120\nuniform mat2 turn; varying vec2 at;\n"
    "void main() { gl_Position = vec4(turn * gl_Vertex.xy, gl_Vertex.z, 1.0); at = gl_Vertex.xy; }\n";
static const char* const DISCARDING =
    "#version 120\nvarying vec2 at; uniform float limit;\nvoid main() { if (at.x < limit) discard; gl_FragColor = vec4(0.5); }\n";
static const char* const PLAIN = "#version 120\nvoid main() { gl_FragColor = vec4(0.25, 0.5, 1.0, 1.0); }\n";
static const char* const COUNTING_VERTEX =
    "#version 430 compatibility\nvoid main() { gl_Position = vec4(gl_Vertex.xyz, 1.0); }\n";
static const char* const COUNTING =
    "#version 430 compatibility\nlayout(std430, binding = 0) buffer Sum { uint sum; };\nlayout(location = 0) out vec4 color;\n"
    "void main() { atomicAdd(sum, 1u); color = vec4(1.0); }\n";

/* Two triangles over the whole target, transparent at the left and opaque at the right. */
static void quad(float depth) {
  static GLfloat places[] = {-1, -1, 0, 1, -1, 0, -1, 1, 0, 1, 1, 0};
  static const GLfloat colors[] = {1, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 1};
  for (int i = 0; i < 4; i++) places[3 * i + 2] = depth;
  glVertexPointer(3, GL_FLOAT, 0, places);
  glColorPointer(4, GL_FLOAT, 0, colors);
  glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
}

int main(int argc, char** argv) {
  int frames = argc > 1 ? atoi(argv[1]) : 2;
  EGLDisplay display = start_display();
  EGLConfig config = start_deep_config(display, EGL_OPENGL_BIT, 24, 8);
  EGLSurface window = start_pbuffer(display, config, WIDTH, HEIGHT);
  start_current(display, window, start_gl(display, config, 0, 0, 0, EGL_NO_CONTEXT));
  GLuint discarding = link_program(VERTEX, DISCARDING, NULL, 0), captured = link_program(VERTEX, PLAIN, NULL, 0);
  GLuint counting = link_program(COUNTING_VERTEX, COUNTING, NULL, 0);
  static const char* const varyings[] = {"gl_Position"};
  glTransformFeedbackVaryings(captured, 1, varyings, GL_INTERLEAVED_ATTRIBS);
  glLinkProgram(captured);
  GLuint buffers[2], framebuffer, storages[2], query, list = glGenLists(1), sum = 0;
  glGenBuffers(2, buffers);
  glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 0, buffers[0]);
  glBufferData(GL_SHADER_STORAGE_BUFFER, 4, &sum, GL_DYNAMIC_COPY);
  glBindBufferBase(GL_TRANSFORM_FEEDBACK_BUFFER, 0, buffers[1]);
  glBufferData(GL_TRANSFORM_FEEDBACK_BUFFER, 4 * 6 * 4 * 2, NULL, GL_DYNAMIC_COPY);
  glGenQueries(1, &query);
  glGenFramebuffers(1, &framebuffer);
  glGenRenderbuffers(2, storages);
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  glBindRenderbuffer(GL_RENDERBUFFER, storages[0]);
  glRenderbufferStorageMultisample(GL_RENDERBUFFER, 4, GL_RGBA8, SMALL, SMALL);
  glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, storages[0]);
  glBindRenderbuffer(GL_RENDERBUFFER, storages[1]);
  glRenderbufferStorageMultisample(GL_RENDERBUFFER, 4, GL_DEPTH_COMPONENT16, SMALL, SMALL);
  glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_RENDERBUFFER, storages[1]);
  glBindFramebuffer(GL_FRAMEBUFFER, 0);
  glEnableClientState(GL_VERTEX_ARRAY);
  glEnableClientState(GL_COLOR_ARRAY);
  glNewList(list, GL_COMPILE);
  glRectf(-1, -1, 0, 1);
  glEndList();
  static const GLfloat turn[] = {0, 1, -1, 0}, half[] = {0.5f, 0, 0, 0.5f};
  static GLubyte stipple[128];
  for (int i = 0; i < 128; i++) stipple[i] = i / 4 % 2 ? 0xFF : 0;
  glPolygonStipple(stipple);
  glAlphaFunc(GL_GREATER, 0.5f);
  glColorMaski(1, GL_TRUE, GL_FALSE, GL_TRUE, GL_FALSE);
  unsigned long long fed = 0;
  GLuint counted = 0;
  for (int frame = 0; frame < frames; frame++) {
    glViewport(0, 0, WIDTH, HEIGHT);
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT | GL_STENCIL_BUFFER_BIT);
    quad(0); /*  0 all */
    glEnable(GL_ALPHA_TEST);
    quad(0); /*  1 the right half passes */
    glEnable(GL_DEPTH_TEST);
    quad(-0.5f); /*  2 as much again, and depth is written there */
    glDisable(GL_ALPHA_TEST);
    quad(0.5f); /*  3 behind it: the left half */
    glDisable(GL_DEPTH_TEST);
    glEnable(GL_POLYGON_STIPPLE);
    quad(0); /*  4 every other row is never made */
    glDisable(GL_POLYGON_STIPPLE);
    glUseProgram(discarding);
    glUniformMatrix2fv(glGetUniformLocation(discarding, "turn"), 1, GL_FALSE, turn);
    glUniform1f(glGetUniformLocation(discarding, "limit"), 0.5f);
    quad(0); /*  5 three quarters are discarded */
    glUseProgram(0);
    glEnable(GL_STENCIL_TEST);
    glStencilFunc(GL_ALWAYS, 1, 0xFF);
    glStencilOp(GL_KEEP, GL_KEEP, GL_REPLACE);
    glEnable(GL_SCISSOR_TEST);
    glScissor(4, 4, 20, 10);
    quad(0); /*  6 200 */
    glDisable(GL_SCISSOR_TEST);
    glStencilFunc(GL_NOTEQUAL, 1, 0xFF);
    quad(0); /*  7 all but those */
    glDisable(GL_STENCIL_TEST);
    glBegin(GL_QUADS);
    glVertex2f(-1, -1);
    glVertex2f(0, -1);
    glVertex2f(0, 0);
    glVertex2f(-1, 0);
    glEnd();               /*  8 a quarter */
    glCallList(list);      /*  9 half, by a list */
    glRectf(-1, -1, 1, 0); /* 10 half */
    glBeginQuery(GL_SAMPLES_PASSED, query);
    quad(0); /* 11 the program counts itself */
    glEndQuery(GL_SAMPLES_PASSED);
    glGetQueryObjectuiv(query, GL_QUERY_RESULT, &counted);
    glUseProgram(counting);
    quad(0); /* 12 the shader counts itself */
    glUseProgram(captured);
    glUniformMatrix2fv(glGetUniformLocation(captured, "turn"), 1, GL_FALSE, turn);
    glBeginTransformFeedback(GL_TRIANGLES);
    quad(0); /* 13 positions are kept */
    quad(0); /* 14 and more behind them */
    glEndTransformFeedback();
    glUseProgram(0);
    glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
    glViewport(0, 0, SMALL, SMALL);
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
    quad(0); /* 15 four samples a pixel */
    glEnable(GL_SAMPLE_COVERAGE);
    glSampleCoverage(0.5f, GL_FALSE);
    quad(0); /* 16 half of them */
    glDisable(GL_SAMPLE_COVERAGE);
    glBindFramebuffer(GL_FRAMEBUFFER, 0);
    glUseProgram(counting);
    glEnable(GL_RASTERIZER_DISCARD);
    quad(0); /* 17 nothing, although the shader would count itself */
    glDisable(GL_RASTERIZER_DISCARD);
    glUseProgram(0);
    glViewport(0, 0, WIDTH, HEIGHT);
    glUseProgram(captured);
    glEnable(GL_DEPTH_TEST);
    glDepthMask(GL_FALSE);
    quad(0.25f); /* 18 behind what the right half has */
    glUniformMatrix2fv(glGetUniformLocation(captured, "turn"), 1, GL_FALSE, half);
    glDrawArrays(GL_TRIANGLE_STRIP, 0, 4); /* 19 the same of the middle quarter, for a uniform */
    glDrawArrays(GL_TRIANGLE_STRIP, 0, 4); /* 20 and again */
    glDepthMask(GL_TRUE);
    glDisable(GL_DEPTH_TEST);
    glUseProgram(0);
    GLfloat positions[24];
    glGetBufferSubData(GL_TRANSFORM_FEEDBACK_BUFFER, 0, sizeof positions, positions);
    fed = checksum(fed, positions, sizeof positions);
    eglSwapBuffers(display, window);
  }
  glGetBufferSubData(GL_SHADER_STORAGE_BUFFER, 0, 4, &sum);
  GLboolean masks[8];
  glGetBooleani_v(GL_COLOR_WRITEMASK, 0, masks);
  glGetBooleani_v(GL_COLOR_WRITEMASK, 1, masks + 4);
  unsigned char pixels[WIDTH * HEIGHT * 4];
  glReadPixels(0, 0, WIDTH, HEIGHT, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
  printf("error 0x%x, counted %u, by the shader %u, fed %llx, %llx\n", glGetError(), counted, sum, fed,
         (unsigned long long)checksum(checksum(0, masks, sizeof masks), pixels, sizeof pixels));
  eglTerminate(display);
  return 0;
}
