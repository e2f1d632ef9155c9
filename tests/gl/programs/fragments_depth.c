/* Draws whose fragments are known, and the many ways in which a depth buffer changes between them: cleared whole and in
 * part, drawn to under a stencil test, copied to, left from the frame before; draws of thousands of vertices with
 * layers that hide each other; shaders without a colour. OpenGL ES 3. fragments_depth [FRAMES] */
#include <GLES3/gl3.h>
#include "egl_start.h"
#include "shader.h"

enum { WIDTH = 64, HEIGHT = 48, LAYERS = 700 };

static const char* const VERTEX =
    "#version 300 es\nin vec3 place; out highp float depth;\n"
    "void main() { gl_Position = vec4(place, 1.0); depth = place.z; }\n";
static const char* const PLAIN =
    "#version 300 es\nprecision mediump float; in highp float depth; out vec4 color;\n"
    "void main() { color = vec4(depth * 0.1, 0.25, 0.5, 1.0); }\n";
static const char* const PATTERN =
    "#version 300 es\nprecision mediump float; out vec4 color;\n"
    "void main() { if (mod(floor(gl_FragCoord.x) + floor(gl_FragCoord.y), 2.0) < 0.5) discard; color = vec4(0.75); }\n";
static const char* const DEEP =
    "#version 300 es\nprecision highp float; in highp float depth; out vec4 color;\n"
    "void main() { gl_FragDepth = gl_FragCoord.x < 32.0 ? 0.125 : 0.875; color = vec4(depth); }\n";
static const char* const NOTHING = "#version 300 es\nvoid main() {}\n";

/* `layers` quads of the whole target in one draw, the first at `depth`, each `step` behind the one before; those after
 * the first `seen` lie behind everything. */
static void quads(int layers, int seen, float depth, float step) {
  static GLfloat data[LAYERS * 6 * 3];
  static const float corners[6][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, -1}, {1, 1}, {-1, 1}};
  for (int i = 0; i < layers * 6; i++) {
    data[i * 3] = corners[i % 6][0];
    data[i * 3 + 1] = corners[i % 6][1];
    data[i * 3 + 2] = i / 6 < seen ? depth + (float)(i / 6) * step : 2;
  }
  glVertexAttribPointer(0, 3, GL_FLOAT, GL_FALSE, 0, data);
  glDrawArrays(GL_TRIANGLES, 0, layers * 6);
}
static void quad(float depth) { quads(1, 1, depth, 0); }

static void clear_depth(float depth) {
  glClearDepthf(depth);
  glClear(GL_DEPTH_BUFFER_BIT);
}

int main(int argc, char** argv) {
  int frames = argc > 1 ? atoi(argv[1]) : 2;
  EGLDisplay display = start_display();
  EGLConfig config = start_deep_config(display, EGL_OPENGL_ES3_BIT, 24, 8);
  EGLSurface window = start_pbuffer(display, config, WIDTH, HEIGHT);
  start_current(display, window, start_es(display, config, 3, 0, EGL_NO_CONTEXT));
  const char* const names[] = {"place"};
  GLuint plain = link_program(VERTEX, PLAIN, names, 1), pattern = link_program(VERTEX, PATTERN, names, 1);
  GLuint deep = link_program(VERTEX, DEEP, names, 1), nothing = link_program(VERTEX, NOTHING, names, 1);
  GLuint storage[2], framebuffer;
  glGenRenderbuffers(2, storage);
  glGenFramebuffers(1, &framebuffer);
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  glBindRenderbuffer(GL_RENDERBUFFER, storage[0]);
  glRenderbufferStorage(GL_RENDERBUFFER, GL_RGBA8, WIDTH, HEIGHT);
  glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, storage[0]);
  glBindRenderbuffer(GL_RENDERBUFFER, storage[1]);
  glRenderbufferStorage(GL_RENDERBUFFER, GL_DEPTH24_STENCIL8, WIDTH, HEIGHT);
  glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_DEPTH_STENCIL_ATTACHMENT, GL_RENDERBUFFER, storage[1]);
  glBindFramebuffer(GL_FRAMEBUFFER, 0);
  glEnableVertexAttribArray(0);
  glUseProgram(plain);
  glEnable(GL_DEPTH_TEST);
  glBlendColor(0.1f, 0.2f, 0.3f, 0.4f);
  glClear(GL_COLOR_BUFFER_BIT | GL_STENCIL_BUFFER_BIT);
  clear_depth(0.5f);
  for (int frame = 0; frame < frames; frame++) {
    quad(0.25f); /*  0 behind what the frame before left: none passes */
    clear_depth(0.5f);
    quad(0.5f); /*  1 behind: none */
    glEnable(GL_SCISSOR_TEST);
    glScissor(0, 0, WIDTH / 2, HEIGHT);
    quad(-0.5f); /*  2 the left half */
    glDisable(GL_SCISSOR_TEST);
    quad(-0.25f); /*  3 the right half passes */
    glEnable(GL_SCISSOR_TEST);
    glScissor(WIDTH / 2, 0, WIDTH / 2, HEIGHT);
    clear_depth(0.5f);
    glDisable(GL_SCISSOR_TEST);
    quad(-0.125f); /*  4 where it was cleared */
    glEnable(GL_STENCIL_TEST);
    quad(-0.75f); /*  5 under a stencil test that lets it through */
    glDisable(GL_STENCIL_TEST);
    quad(-0.625f); /*  6 none */
    glDepthMask(GL_FALSE);
    glClear(GL_DEPTH_BUFFER_BIT); /* which does nothing */
    quad(-0.625f);                /*  7 none */
    glDepthMask(GL_TRUE);
    clear_depth(1);
    glDepthFunc(GL_ALWAYS);
    quad(0.75f); /*  8 all */
    glDepthFunc(GL_GREATER);
    quad(0.5f); /*  9 none */
    glDepthFunc(GL_LESS);
    glUseProgram(deep);
    quad(0.9f); /* 10 the left half lies in front: its shader says so */
    glUseProgram(plain);
    quad(-0.5f); /* 11 the right half */
    glUseProgram(nothing);
    quad(-0.625f); /* 12 the right half, without a colour */
    glUseProgram(plain);
    quad(-0.6f); /* 13 none */
    glEnable(GL_SCISSOR_TEST);
    glScissor(5, 6, 10, 7);
    clear_depth(1);
    quads(200, 200, -0.5f, 0.001f); /* 14 the first of 200 layers hides the rest */
    clear_depth(1);
    quads(200, 200, 0.5f, -0.001f); /* 15 each in front of the one before: all pass */
    clear_depth(1);
    quads(LAYERS, 100, -0.5f, 0.001f); /* 16 thousands of vertices, 100 layers, the first hides the rest */
    clear_depth(1);
    quads(LAYERS, 100, 0.5f, -0.001f); /* 17 all pass */
    clear_depth(1);
    quads(LAYERS, LAYERS, 0.5f, -0.001f); /* 18 more on a pixel than a stencil buffer counts */
    glUseProgram(pattern);
    clear_depth(1);
    quads(LAYERS, 100, -0.5f, 0.001f); /* 19 half discarded, the first layer of the rest passes */
    glUseProgram(plain);
    quad(0); /* 20 passes where it was discarded */
    glDisable(GL_SCISSOR_TEST);
    glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
    clear_depth(0.25f);
    quad(-0.25f); /* 21 none: this is another depth buffer */
    glBindFramebuffer(GL_FRAMEBUFFER, 0);
    glClear(GL_COLOR_BUFFER_BIT);
    clear_depth(0.75f);
    quad(0.25f); /* 22 all */
    glBindFramebuffer(GL_READ_FRAMEBUFFER, 0);
    glBindFramebuffer(GL_DRAW_FRAMEBUFFER, framebuffer);
    glBlitFramebuffer(0, 0, WIDTH, HEIGHT, 0, 0, WIDTH, HEIGHT, GL_DEPTH_BUFFER_BIT, GL_NEAREST);
    quad(0); /* 23 all: the depth was copied */
    glBindFramebuffer(GL_FRAMEBUFFER, 0);
    static const GLfloat near = 0.125f;
    glClearBufferfv(GL_DEPTH, 0, &near);
    quad(-0.5f); /* 24 none */
    eglSwapBuffers(display, window);
  }
  GLfloat constant[4];
  GLint values[4];
  glGetFloatv(GL_BLEND_COLOR, constant);
  glGetIntegerv(GL_BLEND_DST_RGB, &values[0]);
  glGetIntegerv(GL_STENCIL_PASS_DEPTH_FAIL, &values[1]);
  glGetIntegerv(GL_RENDERBUFFER_BINDING, &values[2]);
  glGetIntegerv(GL_READ_FRAMEBUFFER_BINDING, &values[3]);
  unsigned char pixels[WIDTH * HEIGHT * 4];
  glReadPixels(0, 0, WIDTH, HEIGHT, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
  unsigned long long sum = checksum(checksum(0, values, sizeof values), constant, sizeof constant);
  printf("error 0x%x, %llx\n", glGetError(), (unsigned long long)checksum(sum, pixels, sizeof pixels));
  eglTerminate(display);
  return 0;
}
