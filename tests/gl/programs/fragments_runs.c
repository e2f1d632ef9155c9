/* Draws between which only uniforms and arrays change, behind a depth test and with a shader that discards, in a window
 * of an odd number of rows. OpenGL ES 3. fragments_runs [FRAMES] */
#include <GLES3/gl3.h>
#include "egl_start.h"
#include "shader.h"

enum { WIDTH = 76, HEIGHT = 61 };

static const char* const VERTEX =
    "#version 300 es\nin vec2 corner; in vec2 moved; uniform vec4 box; uniform float depth;\n"
    "void main() { vec2 at = mix(box.xy, box.zw, corner) + moved; gl_Position = vec4(at / vec2(76.0, 61.0) * 2.0 - 1.0, depth, 1.0); }\n";
static const char* const PLAIN =
    "#version 300 es\nprecision mediump float; uniform vec4 tint; out vec4 color;\nvoid main() { color = tint; }\n";
static const char* const PATTERN =
    "#version 300 es\nprecision mediump float; out vec4 color;\n"
    "void main() { if (mod(floor(gl_FragCoord.x) + floor(gl_FragCoord.y), 2.0) < 0.5) discard; color = vec4(0.75); }\n";

static void box(GLuint program, float left, float bottom, float right, float top, float depth) {
  glUniform4f(glGetUniformLocation(program, "box"), left, bottom, right, top);
  glUniform1f(glGetUniformLocation(program, "depth"), depth);
}
static void quad(void) { glDrawArrays(GL_TRIANGLES, 0, 6); }

int main(int argc, char** argv) {
  int frames = argc > 1 ? atoi(argv[1]) : 2;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_ES3_BIT);
  EGLSurface window = start_pbuffer(display, config, WIDTH, HEIGHT);
  start_current(display, window, start_es(display, config, 3, 0, EGL_NO_CONTEXT));
  const char* const names[] = {"corner", "moved"};
  static const GLfloat corners[][2] = {{0, 0},
                                       {1, 0},
                                       {1, 1},
                                       {0, 0},
                                       {1, 1},
                                       {0, 1},
                                       /* a triangle: */ {0, 0},
                                       {1, 0},
                                       {0, 1},
                                       /* nothing moves: */ {0, 0},
                                       {0, 0},
                                       {0, 0},
                                       {0, 0},
                                       {0, 0},
                                       {0, 0}};
  GLuint buffer, plain = link_program(VERTEX, PLAIN, names, 2), pattern = link_program(VERTEX, PATTERN, names, 2);
  glGenBuffers(1, &buffer);
  glBindBuffer(GL_ARRAY_BUFFER, buffer);
  glBufferData(GL_ARRAY_BUFFER, sizeof corners, corners, GL_STATIC_DRAW);
  glVertexAttribPointer(1, 2, GL_FLOAT, GL_FALSE, 0, (void*)(9 * 8));
  glEnableVertexAttribArray(0);
  glVertexAttrib2f(1, 4, 4);
  for (int frame = 0; frame < frames; frame++) {
    glEnable(GL_DEPTH_TEST);
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
    glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, (void*)0);
    glEnableVertexAttribArray(1);
    glUseProgram(plain);
    glUniform4f(glGetUniformLocation(plain, "tint"), 0.25f, 0.5f, 0.75f, 1);
    box(plain, 0, 0, WIDTH, HEIGHT, 0.5f);
    quad(); /*  0 all */
    box(plain, 8, 8, 24, 24, 0.25f);
    quad(); /*  1 in front */
    quad(); /*  2 as far: none */
    box(plain, 8, 8, 24, 24, 0.125f);
    quad(); /*  3 in front */
    box(plain, 0, 0, WIDTH, HEIGHT, 0.0625f);
    glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, (void*)(6 * 8));
    glDrawArrays(GL_TRIANGLES, 0, 3); /*  4 a triangle */
    glDrawArrays(GL_TRIANGLES, 0, 3); /*  5 as far: none */
    glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, (void*)0);
    box(plain, 10, 10, 20, 20, 0.03125f);
    glDisableVertexAttribArray(1);
    quad(); /*  6 moved */
    glEnableVertexAttribArray(1);
    quad(); /*  7 behind a part of that */
    glUniform4f(glGetUniformLocation(plain, "tint"), 1, 0.5f, 0.25f, 1);
    box(plain, 0, 0, WIDTH, HEIGHT, 0);
    quad(); /*  8 all */
    glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, (void*)(6 * 8));
    glDrawArrays(GL_TRIANGLES, 0, 3); /*  9 a triangle, as far: none */
    glDisable(GL_DEPTH_TEST);
    glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, (void*)0);
    glUseProgram(pattern);
    box(pattern, 0, 0, 20, 20, 0);
    quad(); /* 10 half of them */
    box(pattern, 3, 3, 10, 10, 0);
    quad(); /* 11 about half */
    quad(); /* 12 the same */
    box(pattern, 0, 0, WIDTH, HEIGHT, 0);
    quad(); /* 13 half of all */
    eglSwapBuffers(display, window);
  }
  return 0;
}
