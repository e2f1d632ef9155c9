/* Textures that only display lists draw, and that are uploaded again for each frame. The first upload of a frame is
 * replaced before anything is drawn with it; all others are seen. */
#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include "egl_start.h"

enum { SIDE = 32, TEXELS = 16 };

static void upload(int shade) {
  static unsigned char texels[TEXELS * TEXELS * 4];
  for (size_t i = 0; i < sizeof texels; i++) texels[i] = (unsigned char)(shade * 37 + i);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, TEXELS, TEXELS, 0, GL_RGBA, GL_UNSIGNED_BYTE, texels);
}

static void quad(float left) {
  glBegin(GL_QUADS);
  for (int i = 0; i < 4; i++) {
    float x = i == 1 || i == 2, y = i > 1;
    glTexCoord2f(x, y);
    glVertex2f(left + x, y);
  }
  glEnd();
}

int main(int argc, char** argv) {
  int frames = argc > 1 ? atoi(argv[1]) : 4;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_BIT);
  EGLSurface surface = start_pbuffer(display, config, SIDE, SIDE);
  start_current(display, surface, start_gl(display, config, 0, 0, 0, EGL_NO_CONTEXT));
  GLuint textures[2];
  glGenTextures(2, textures);
  for (int i = 0; i < 2; i++) {
    glBindTexture(GL_TEXTURE_2D, textures[i]);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    upload(i);
  }
  GLuint lists = glGenLists(2);
  glNewList(lists, GL_COMPILE); /* binds its texture itself */
  glBindTexture(GL_TEXTURE_2D, textures[1]);
  quad(-1);
  glEndList();
  glNewList(lists + 1, GL_COMPILE); /* draws with what is bound */
  quad(0);
  glEndList();
  glViewport(0, 0, SIDE, SIDE);
  glEnable(GL_TEXTURE_2D);
  for (int frame = 0; frame < frames; frame++) {
    glClear(GL_COLOR_BUFFER_BIT);
    glBindTexture(GL_TEXTURE_2D, textures[0]);
    upload(100 + frame); /* for nothing */
    upload(10 + frame);
    glCallList(lists + 1);
    glCallList(lists);
    upload(20 + frame); /* of the texture that the list bound: seen in the next frame */
    eglSwapBuffers(display, surface);
  }
  printf("error 0x%x\n", glGetError());
  eglTerminate(display);
  return 0;
}
