/* Textures and renderbuffers of many formats with known texels. Desktop GL, compatibility profile. */
#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include "egl_start.h"

static const unsigned char g_bytes[4 * 2 * 4] = {1,  2,  3,  255, 5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                                                 17, 18, 19, 20,  21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};

static GLuint texture(GLenum target) {
  GLuint name;
  glGenTextures(1, &name);
  glBindTexture(target, name);
  return name;
}

static void image(GLint internal, GLenum format, GLenum type, const void* pixels) {
  texture(GL_TEXTURE_2D);
  glTexImage2D(GL_TEXTURE_2D, 0, internal, 4, 2, 0, format, type, pixels);
}

static void target(GLenum internal, int samples, int textured) {
  GLuint framebuffer, name;
  const int depth = internal == GL_DEPTH24_STENCIL8;
  glGenFramebuffers(1, &framebuffer);
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  if (textured) {
    name = texture(GL_TEXTURE_2D);
    glTexImage2D(GL_TEXTURE_2D, 0, (GLint)internal, 4, 2, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, name, 0);
  } else {
    glGenRenderbuffers(1, &name);
    glBindRenderbuffer(GL_RENDERBUFFER, name);
    glRenderbufferStorageMultisample(GL_RENDERBUFFER, samples, internal, 4, 2);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, depth ? GL_DEPTH_STENCIL_ATTACHMENT : GL_COLOR_ATTACHMENT0,
                              GL_RENDERBUFFER, name);
  }
  glClearColor(1, 0, 0.2f, 1);
  glClearDepth(1);
  glClearStencil(7);
  glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT | GL_STENCIL_BUFFER_BIT);
  glEnable(GL_SCISSOR_TEST); /* the row at the bottom */
  glScissor(0, 0, 4, 1);
  glClearColor(0, 1, 0, 1);
  glClearDepth(0);
  if (!samples) glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
  glDisable(GL_SCISSOR_TEST);
  glBindFramebuffer(GL_FRAMEBUFFER, 0);
}

int main(void) {
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_BIT);
  EGLContext context = start_gl(display, config, 0, 0, 0, EGL_NO_CONTEXT);
  start_current(display, start_pbuffer(display, config, 16, 16), context);
  float floats[4 * 2];
  unsigned words[4 * 2];
  for (int i = 0; i < 8; i++) floats[i] = (float)i * 1.5f - 3, words[i] = 4000000000u + (unsigned)i;

  image(GL_RGBA8, GL_RGBA, GL_UNSIGNED_BYTE, g_bytes); /* 1: then a part of it changes */
  glTexSubImage2D(GL_TEXTURE_2D, 0, 3, 1, 1, 1, GL_RGBA, GL_UNSIGNED_BYTE, "\xc8\xc9\xca\xcb");
  image(GL_LUMINANCE8, GL_LUMINANCE, GL_UNSIGNED_BYTE, g_bytes); /* 2 */
  image(GL_R32F, GL_RED, GL_FLOAT, floats);                      /* 3 */
  image(GL_R32UI, GL_RED_INTEGER, GL_UNSIGNED_INT, words);       /* 4 */
  GLuint cube = texture(GL_TEXTURE_CUBE_MAP);                    /* 5 */
  for (unsigned face = 0; face < 6; face++)
    glTexImage2D(GL_TEXTURE_CUBE_MAP_POSITIVE_X + face, 0, GL_RGBA8, 1, 1, 0, GL_RGBA, GL_UNSIGNED_BYTE,
                 g_bytes + 4 * face);
  texture(GL_TEXTURE_2D_ARRAY); /* 6: two layers, two levels */
  glTexImage3D(GL_TEXTURE_2D_ARRAY, 0, GL_RGBA8, 2, 2, 2, 0, GL_RGBA, GL_UNSIGNED_BYTE, g_bytes);
  glTexImage3D(GL_TEXTURE_2D_ARRAY, 1, GL_RGBA8, 1, 1, 2, 0, GL_RGBA, GL_UNSIGNED_BYTE, g_bytes);
  texture(GL_TEXTURE_2D); /* 7: nothing is ever stored in it */
  target(GL_RGBA8, 0, 1); /* 8: drawn to */
  target(GL_RGBA8, 0, 0); /* renderbuffers 1 to 3 */
  target(GL_DEPTH24_STENCIL8, 0, 0);
  target(GL_RGBA8, 4, 0);
  glDeleteTextures(1, &cube);
  glBindTexture(GL_TEXTURE_2D, cube); /* the same name, another life */
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, 4, 2, 0, GL_RGBA, GL_UNSIGNED_BYTE, g_bytes);
  glBindTexture(GL_TEXTURE_2D, 0);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, 4, 1, 0, GL_RGBA, GL_UNSIGNED_BYTE, g_bytes);
  /* Rows of 5 and of 15 bytes; reads by default put gaps behind them. */
  glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
  texture(GL_TEXTURE_2D); /* 9 */
  glTexImage2D(GL_TEXTURE_2D, 0, GL_ALPHA8, 5, 6, 0, GL_ALPHA, GL_UNSIGNED_BYTE, g_bytes);
  texture(GL_TEXTURE_2D); /* 10 */
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGB8, 5, 2, 0, GL_RGB, GL_UNSIGNED_BYTE, g_bytes);
  /* What changes pixels on their way is no part of textures. */
  glPixelTransferf(GL_RED_SCALE, 0);
  glPixelStorei(GL_PACK_ROW_LENGTH, 9);
  GLuint buffer;
  glGenBuffers(1, &buffer);
  glBindBuffer(GL_TEXTURE_BUFFER, buffer);
  glBufferData(GL_TEXTURE_BUFFER, 64, NULL, GL_STATIC_DRAW);
  texture(GL_TEXTURE_BUFFER);
  glTexBuffer(GL_TEXTURE_BUFFER, GL_RGBA8, buffer);
  printf("error 0x%x\n", glGetError());
  eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  eglDestroyContext(display, context);
  eglTerminate(display);
  return 0;
}
