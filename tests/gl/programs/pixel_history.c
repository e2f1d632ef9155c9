/* One pixel, and draws that write it or fail one test each. What becomes of it stands beside each draw; the tests hold
 * the player to that. pixel_history es3|es2 where it is built for OpenGL ES, core|compat else, es1 where for that. */
#if defined(ONE)
#include <GLES/gl.h>
#elif defined(DESKTOP)
#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#else
#include <GLES3/gl3.h>
#endif
#include "egl_start.h"

enum { SIDE = 32, X = 10, Y = 12 };
static const float RED[] = {1, 0, 0, 1}, GREEN[] = {0, 1, 0, 1}, BLUE[] = {0, 0, 1, 1}, HALF[] = {0, 1, 0, 0.5f};

#ifdef ONE
static void use(int discards) {
  discards ? glEnable(GL_ALPHA_TEST) : glDisable(GL_ALPHA_TEST);
  glAlphaFunc(GL_LESS, 0.25f);
}
static void color(const float* c) { glColor4f(c[0], c[1], c[2], c[3]); }
static void start(const char* profile) {
  (void)profile;
  glEnableClientState(GL_VERTEX_ARRAY);
}
static void points(const float* data) { glVertexPointer(3, GL_FLOAT, 0, data); }
#else
#include "shader.h"
static GLuint plain, pattern;
static GLint places[2];
static void start(const char* profile) {
  static const char* const names[] = {"place"};
  const int old = !strcmp(profile, "es2"), core = !strcmp(profile, "core") || !strcmp(profile, "compat");
  char vertex[300], texts[2][400];
  const char* version = old ? "" : core ? "#version 150\n" : "#version 300 es\n";
  snprintf(vertex, sizeof vertex, "%s%s vec3 place; void main() { gl_Position = vec4(place, 1.0); }\n", version,
           old ? "attribute" : "in");
  for (int i = 0; i < 2; i++)
    snprintf(texts[i], sizeof texts[i], "%s%suniform vec4 color; %s\nvoid main() { %s %s = color; }\n", version,
             core ? "" : "precision highp float;\n", old ? "" : "out vec4 result;",
             i ? "if (mod(floor(gl_FragCoord.x), 2.0) < 0.5) discard;" : "", old ? "gl_FragColor" : "result");
  plain = link_program(vertex, texts[0], names, 1), pattern = link_program(vertex, texts[1], names, 1);
  places[0] = glGetUniformLocation(plain, "color"), places[1] = glGetUniformLocation(pattern, "color");
  GLuint buffer;
  glGenBuffers(1, &buffer);
  glBindBuffer(GL_ARRAY_BUFFER, buffer);
#ifdef DESKTOP
  GLuint array;
  glGenVertexArrays(1, &array);
  glBindVertexArray(array);
#endif
  glEnableVertexAttribArray(0);
}
static int discarding;
static void use(int discards) { glUseProgram((discarding = discards) ? pattern : plain); }
static void color(const float* c) { glUniform4fv(places[discarding], 1, c); }
static void points(const float* data) {
  glBufferData(GL_ARRAY_BUFFER, 4 * 3 * sizeof *data, data, GL_STREAM_DRAW);
  glVertexAttribPointer(0, 3, GL_FLOAT, GL_FALSE, 0, NULL);
}
#endif

/* A rectangle from x = -1 to `right`, of the whole height, at a depth of -1 to 1; counter-clockwise, or not. */
static void quad(const float* c, float z, float right, int back) {
  const float corners[] = {-1, back ? 1.f : -1.f, z, right, back ? 1.f : -1.f, z,
                           -1, back ? -1.f : 1.f, z, right, back ? -1.f : 1.f, z};
  color(c);
  points(corners);
  glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
}

static void frame(void) {
  glClearColor(0.2f, 0.4f, 0.6f, 1);
  glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT | GL_STENCIL_BUFFER_BIT); /* 0: the clear writes all */
  glEnable(GL_DEPTH_TEST);
  use(0);
  quad(RED, 0, 1, 0);      /* 1: writes colour and depth */
  quad(GREEN, 0.5f, 1, 0); /* 2: fails the depth test */
  glEnable(GL_CULL_FACE);
  quad(GREEN, -0.5f, 1, 1); /* 3: faces away */
  glDisable(GL_CULL_FACE);
  glEnable(GL_SCISSOR_TEST);
  glScissor(20, 20, 8, 8);
  quad(GREEN, -0.5f, 1, 0); /* 4: outside of the scissor box */
  glClearColor(1, 1, 1, 1);
  glClear(GL_COLOR_BUFFER_BIT); /* 5: so is this clear */
  glDisable(GL_SCISSOR_TEST);
  use(1);
  quad(GREEN, -0.5f, 1, 0); /* 6: the shader, or the alpha test, discards it */
  use(0);
  glEnable(GL_STENCIL_TEST);
  glStencilFunc(GL_EQUAL, 7, 0xFF);
  quad(GREEN, -0.5f, 1, 0); /* 7: fails the stencil test */
  glDisable(GL_STENCIL_TEST);
  quad(GREEN, -0.5f, -0.9f, 0); /* does not cover it */
  glColorMask(GL_FALSE, GL_FALSE, GL_FALSE, GL_FALSE);
  glDepthMask(GL_FALSE);
  quad(GREEN, -0.5f, 1, 0); /* 8: passes all tests, and is masked */
  glColorMask(GL_TRUE, GL_TRUE, GL_TRUE, GL_TRUE);
  glDepthFunc(GL_LEQUAL);
  quad(RED, 0, 1, 0); /* 9: writes what is there */
  glEnable(GL_BLEND);
  glBlendFunc(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA);
  quad(HALF, -0.25f, 1, 0); /* 10: blends half of green over red */
  glDisable(GL_BLEND);
  glColorMask(GL_FALSE, GL_FALSE, GL_FALSE, GL_FALSE);
  glEnable(GL_STENCIL_TEST);
  glStencilFunc(GL_ALWAYS, 0, 0xFF);
  glStencilOp(GL_KEEP, GL_KEEP, GL_INCR);
  quad(GREEN, -0.25f, 1, 0); /* 11: adds one to the stencil buffer */
  glStencilFunc(GL_EQUAL, 7, 0xFF);
  glStencilOp(GL_INCR, GL_KEEP, GL_KEEP);
  quad(GREEN, -0.25f, 1, 0); /* 12: fails the stencil test, and adds one all the same */
  glStencilOp(GL_KEEP, GL_KEEP, GL_KEEP);
  glDisable(GL_STENCIL_TEST);
  glColorMask(GL_TRUE, GL_TRUE, GL_TRUE, GL_TRUE);
  glDepthMask(GL_TRUE);
  glDepthFunc(GL_LESS);
  quad(BLUE, -0.75f, 1, 0); /* 13: writes colour and depth */
  glDisable(GL_DEPTH_TEST);
}

#ifndef ONE
/* Another target: a texture that an upload writes between two draws; and a copy from there to the window. */
static void texture(int copies) {
  GLuint name, framebuffer;
  static unsigned char pixels[SIDE * SIDE * 4];
  for (int i = 0; i < SIDE * SIDE; i++) pixels[4 * i + 1] = pixels[4 * i + 3] = 255;
  glGenTextures(1, &name);
  glBindTexture(GL_TEXTURE_2D, name);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, SIDE, SIDE, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
  glGenFramebuffers(1, &framebuffer);
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, name, 0);
  glClearColor(1, 0, 0, 1);
  glClear(GL_COLOR_BUFFER_BIT);                                                           /* t0: red */
  glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, SIDE, SIDE, GL_RGBA, GL_UNSIGNED_BYTE, pixels); /* t1: green */
  quad(BLUE, 0, 1, 0);                                                                    /* t2: blue */
#ifndef TWO
  if (copies) {
    glBindFramebuffer(GL_DRAW_FRAMEBUFFER, 0);
    glClearColor(0, 0, 0, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    glBlitFramebuffer(0, 0, SIDE, SIDE, 0, 0, SIDE, SIDE, GL_COLOR_BUFFER_BIT, GL_NEAREST); /* the copy */
    glBlitFramebuffer(0, 0, 4, 4, 0, 0, 4, 4, GL_COLOR_BUFFER_BIT, GL_NEAREST);             /* beside it */
  }
#endif
  glBindFramebuffer(GL_FRAMEBUFFER, 0);
}
#endif

int main(int argc, char** argv) {
  const char* profile = argc > 1 ? argv[1] : "es3";
  EGLDisplay display = start_display();
  const int desktop = !strcmp(profile, "core") || !strcmp(profile, "compat");
  const EGLint kind = desktop ? EGL_OPENGL_BIT : !strcmp(profile, "es1") ? EGL_OPENGL_ES_BIT : EGL_OPENGL_ES2_BIT;
  EGLConfig config = start_deep_config(display, kind, 24, 8);
  EGLSurface window = start_pbuffer(display, config, SIDE, SIDE);
  EGLContext context = desktop ? start_gl(display, config, 3, 3, !strcmp(profile, "core"), EGL_NO_CONTEXT)
                               : start_es(display, config, profile[2] - '0', 0, EGL_NO_CONTEXT);
  start_current(display, window, context);
  glViewport(0, 0, SIDE, SIDE);
  start(profile);
  for (int i = 0; i < 2; i++) {
    frame();
#ifndef ONE
    texture(strcmp(profile, "es2"));
#endif
    glFinish();
    eglSwapBuffers(display, window);
  }
  unsigned char pixel[4];
  glReadPixels(X, Y, 1, 1, GL_RGBA, GL_UNSIGNED_BYTE, pixel);
  return glGetError() ? 1 : 0;
}
