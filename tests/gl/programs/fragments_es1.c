/* Draws whose fragments are known, in OpenGL ES 1.1: layers, scissor, texture and fog, alpha and depth tests.
 * fragments_es1 [FRAMES] */
#include <GLES/gl.h>
#include "egl_start.h"

enum { WIDTH = 64, HEIGHT = 48 };

static void quads(int layers) {
  static const GLbyte corners[] = {-1, -1, 1, -1, 1, 1, -1, -1, 1, 1, -1, 1};
  static const GLubyte colors[] = {255, 0, 0, 0, 0, 255, 0, 255, 0, 255, 9,   255,
                                   255, 0, 0, 0, 0, 255, 0, 255, 0, 0,   255, 0};
  GLbyte places[2 * sizeof corners];
  GLubyte shades[2 * sizeof colors];
  for (int i = 0; i < 2; i++) {
    memcpy(places + i * sizeof corners, corners, sizeof corners);
    memcpy(shades + i * sizeof colors, colors, sizeof colors);
  }
  glVertexPointer(2, GL_BYTE, 0, places);
  glColorPointer(4, GL_UNSIGNED_BYTE, 0, shades);
  glTexCoordPointer(2, GL_BYTE, 0, places);
  glDrawArrays(GL_TRIANGLES, 0, layers * 6);
}

int main(int argc, char** argv) {
  int frames = argc > 1 ? atoi(argv[1]) : 2;
  EGLDisplay display = start_display();
  EGLConfig config = start_deep_config(display, EGL_OPENGL_ES_BIT, 24, 0);
  start_current(display, start_pbuffer(display, config, WIDTH, HEIGHT),
                start_es(display, config, 1, 0, EGL_NO_CONTEXT));
  GLuint texture;
  static const GLubyte texels[16] = {255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 255, 255, 255, 128};
  glGenTextures(1, &texture);
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 2, 2, 0, GL_RGBA, GL_UNSIGNED_BYTE, texels);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  glEnableClientState(GL_VERTEX_ARRAY);
  glEnableClientState(GL_COLOR_ARRAY);
  glEnableClientState(GL_TEXTURE_COORD_ARRAY);
  glBlendFunc(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA);
  glAlphaFunc(GL_GREATER, 0.75f);
  glClearColor(0.25f, 0.5f, 0.75f, 1);
  glViewport(0, 0, WIDTH, HEIGHT);
  for (int frame = 0; frame < frames; frame++) {
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
    quads(1); /* 0 all */
    glEnable(GL_BLEND);
    quads(2); /* 1 all, twice */
    glDisable(GL_BLEND);
    glEnable(GL_TEXTURE_2D);
    glEnable(GL_FOG);
    glEnable(GL_SCISSOR_TEST);
    glScissor(5, 6, 10, 7);
    quads(1); /* 2 70 */
    glDisable(GL_SCISSOR_TEST);
    glDisable(GL_FOG);
    glEnable(GL_ALPHA_TEST);
    glDisableClientState(GL_COLOR_ARRAY);
    glColor4f(1, 1, 1, 1);
    quads(1); /* 3 all; the alpha test leaves out a quarter, which is one of four texels */
    glEnable(GL_DEPTH_TEST);
    glEnable(GL_SCISSOR_TEST);
    glScissor(0, 0, WIDTH, HEIGHT / 2);
    quads(2); /* 4 twice half: a quarter of both is left out, of the rest the second one is no nearer */
    glDisable(GL_SCISSOR_TEST);
    glDisable(GL_ALPHA_TEST);
    glDisable(GL_TEXTURE_2D);
    glEnableClientState(GL_COLOR_ARRAY);
    quads(1); /* 5 all, but where the one before was seen */
    quads(2); /* 6 nothing is nearer */
    glScissor(0, 0, WIDTH / 2, HEIGHT);
    glEnable(GL_SCISSOR_TEST);
    glClear(GL_DEPTH_BUFFER_BIT);
    glDisable(GL_SCISSOR_TEST);
    glDepthMask(GL_FALSE);
    quads(2); /* 7 half of both: none hides the other */
    glDepthMask(GL_TRUE);
    quads(1); /* 8 half */
    glDisable(GL_DEPTH_TEST);
    glColorMask(GL_FALSE, GL_FALSE, GL_FALSE, GL_FALSE);
    quads(1); /* 9 all, none is written */
    glColorMask(GL_TRUE, GL_TRUE, GL_TRUE, GL_TRUE);
    eglSwapBuffers(display, eglGetCurrentSurface(EGL_DRAW));
  }
  static unsigned char pixels[WIDTH * HEIGHT * 4];
  glReadPixels(0, 0, WIDTH, HEIGHT, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
  printf("error 0x%x, %016llx\n", glGetError(), (unsigned long long)checksum(0, pixels, sizeof pixels));
  eglTerminate(display);
  return 0;
}
