/* Textures that OpenGL ES does not hand back: luminance, with a part of it changed; and one that it does. */
#include <GLES2/gl2.h>
#include "egl_start.h"

int main(void) {
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_ES2_BIT);
  start_current(display, start_pbuffer(display, config, 16, 16), start_es(display, config, 2, 0, EGL_NO_CONTEXT));
  const unsigned char bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 255};
  GLuint names[3];
  glGenTextures(3, names);
  glBindTexture(GL_TEXTURE_2D, names[0]);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 2, 2, 0, GL_RGBA, GL_UNSIGNED_BYTE, bytes);
  glBindTexture(GL_TEXTURE_2D, names[1]);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_LUMINANCE, 4, 4, 0, GL_LUMINANCE, GL_UNSIGNED_BYTE, bytes);
  glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, 1, 1, GL_LUMINANCE, GL_UNSIGNED_BYTE, bytes);
  glBindTexture(GL_TEXTURE_2D, names[2]); /* never given content */
  glTexImage2D(GL_TEXTURE_2D, 0, GL_LUMINANCE, 4, 4, 0, GL_LUMINANCE, GL_UNSIGNED_BYTE, NULL);
  glFinish();
  return 0;
}
