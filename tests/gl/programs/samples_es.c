/* Draws whose fragments and samples are known, to a framebuffer with several samples a pixel, in OpenGL ES: one over
 * all, within a scissor box, one that discards the left half, and one behind a near one. samples_es SAMPLES [FRAMES] */
#include <GLES3/gl31.h>
#include "egl_start.h"
#include "shader.h"

enum { WIDTH = 64, HEIGHT = 48 };

/* A point for each pixel: no other has a part of it. */
static void all(float depth) {
  glVertexAttrib1f(1, depth);
  glDrawArrays(GL_POINTS, 0, WIDTH * HEIGHT);
}

int main(int argc, char** argv) {
  int samples = argc > 1 ? atoi(argv[1]) : 4, frames = argc > 2 ? atoi(argv[2]) : 4;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_ES2_BIT);
  start_current(display, start_pbuffer(display, config, WIDTH, HEIGHT),
                start_es(display, config, 3, 1, EGL_NO_CONTEXT));
  GLuint framebuffer, storages[2], buffer;
  glGenFramebuffers(1, &framebuffer);
  glGenRenderbuffers(2, storages);
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  for (int i = 0; i < 2; i++) {
    glBindRenderbuffer(GL_RENDERBUFFER, storages[i]);
    glRenderbufferStorageMultisample(GL_RENDERBUFFER, samples, i ? GL_DEPTH_COMPONENT24 : GL_RGBA8, WIDTH, HEIGHT);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, i ? GL_DEPTH_ATTACHMENT : GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER,
                              storages[i]);
  }
  GLint got = 0;
  glGetIntegerv(GL_SAMPLES, &got);
  if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE || got != samples) return 77;
  static const char* const vertex =
      "#version 300 es\nlayout(location = 0) in vec2 at; layout(location = 1) in float depth;\n"
      "void main() { gl_Position = vec4(at, depth, 1.0); gl_PointSize = 1.0; }\n";
  GLuint plain = link_program(
      vertex, "#version 300 es\nprecision mediump float; out vec4 color;\nvoid main() { color = vec4(0.5); }\n", NULL,
      0);
  GLuint half = link_program(vertex,
                             "#version 300 es\nprecision mediump float; out vec4 color;\n"
                             "void main() { if (gl_FragCoord.x < 32.0) discard; color = vec4(0.25); }\n",
                             NULL, 0);
  static GLfloat places[WIDTH * HEIGHT][2];
  for (int i = 0; i < WIDTH * HEIGHT; i++) {
    places[i][0] = ((float)(i % WIDTH) + 0.5f) * 2 / WIDTH - 1;
    places[i][1] = ((float)(i / WIDTH) + 0.5f) * 2 / HEIGHT - 1;
  }
  glGenBuffers(1, &buffer);
  glBindBuffer(GL_ARRAY_BUFFER, buffer);
  glBufferData(GL_ARRAY_BUFFER, sizeof places, places, GL_STATIC_DRAW);
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, NULL);
  glEnableVertexAttribArray(0);
  glViewport(0, 0, WIDTH, HEIGHT);
  for (int frame = 0; frame < frames; frame++) {
    glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
    glClearColor(0.2f * (float)frame, 0, 0, 1);
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
    glUseProgram(plain);
    all(0);                         /* 0 all */
    glDrawArrays(GL_POINTS, 5, 70); /* 1 70 */
    glUseProgram(half);
    all(0); /* 2 half are discarded */
    glUseProgram(plain);
    glEnable(GL_DEPTH_TEST);
    glDrawArrays(GL_POINTS, 0, WIDTH * HEIGHT / 2); /* 3 the lower half */
    all(0.5f);                                      /* 4 behind it: the upper half */
    glDisable(GL_DEPTH_TEST);
    glBindFramebuffer(GL_DRAW_FRAMEBUFFER, 0);
    glBlitFramebuffer(0, 0, WIDTH, HEIGHT, 0, 0, WIDTH, HEIGHT, GL_COLOR_BUFFER_BIT, GL_NEAREST);
    eglSwapBuffers(display, eglGetCurrentSurface(EGL_DRAW));
  }
  static unsigned char pixels[WIDTH * HEIGHT * 4];
  glBindFramebuffer(GL_FRAMEBUFFER, 0);
  glReadPixels(0, 0, WIDTH, HEIGHT, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
  printf("error 0x%x, %016llx\n", glGetError(), (unsigned long long)checksum(0, pixels, sizeof pixels));
  eglTerminate(display);
  return 0;
}
