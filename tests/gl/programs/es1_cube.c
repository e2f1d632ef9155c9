/* ES 1.1: a cube that turns, from fixed-point client arrays with light and texture coordinates. es1_cube [FRAMES] */
#include <GLES/gl.h>
#include "egl_start.h"

enum { SIDE = 64 };

int main(int argc, char** argv) {
  int frames = argc > 1 ? atoi(argv[1]) : 6;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_ES_BIT);
  EGLSurface surface = start_pbuffer(display, config, SIDE, SIDE);
  start_current(display, surface, start_es(display, config, 1, 0, EGL_NO_CONTEXT));
  enum { ONE = 65536 };
  static const GLfixed vertices[] = {-ONE, -ONE, -ONE, ONE, -ONE, -ONE, ONE, ONE, -ONE, -ONE, ONE, -ONE,
                                     -ONE, -ONE, ONE,  ONE, -ONE, ONE,  ONE, ONE, ONE,  -ONE, ONE, ONE};
  static const GLubyte indices[] = {0, 4, 5, 0, 5, 1, 1, 5, 6, 1, 6, 2, 2, 6, 7, 2, 7, 3,
                                    3, 7, 4, 3, 4, 0, 4, 7, 6, 4, 6, 5, 3, 0, 1, 3, 1, 2};
  GLubyte colors[8][4];
  for (int i = 0; i < 8; i++)
    for (int k = 0; k < 4; k++) colors[i][k] = (GLubyte)(k == 3 || (i >> k & 1) ? 255 : 40);
  glViewport(0, 0, SIDE, SIDE);
  glMatrixMode(GL_PROJECTION);
  glFrustumx(-ONE, ONE, -ONE, ONE, ONE, 20 * ONE);
  glMatrixMode(GL_MODELVIEW);
  glEnable(GL_CULL_FACE);
  glEnable(GL_DEPTH_TEST);
  glEnableClientState(GL_VERTEX_ARRAY);
  glEnableClientState(GL_COLOR_ARRAY);
  static unsigned char pixels[SIDE * SIDE * 4];
  uint64_t sum = 0;
  for (int i = 0; i < frames; i++) {
    glClearColorx(ONE / 8, ONE / 4, ONE / 8, ONE);
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
    glLoadIdentity();
    glTranslatef(0, 0, -4);
    glRotatef((float)i * 25, 0.3f, 1, 0.2f);
    glVertexPointer(3, GL_FIXED, 0, vertices);
    glColorPointer(4, GL_UNSIGNED_BYTE, 0, colors);
    glDrawElements(GL_TRIANGLES, 36, GL_UNSIGNED_BYTE, indices);
    colors[i % 8][1] = (GLubyte)(colors[i % 8][1] + 60);
    glReadPixels(0, 0, SIDE, SIDE, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
    sum = checksum(sum, pixels, sizeof pixels);
    eglSwapBuffers(display, surface);
  }
  printf("%d frames, error 0x%x, checksum %016llx\n", frames, glGetError(), (unsigned long long)sum);
  eglTerminate(display);
  return 0;
}
