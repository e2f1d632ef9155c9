/* A texture of each kind of format, with texels that the test knows. Desktop GL, compatibility profile. */
#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include "egl_start.h"

static void texture(GLenum target) {
  GLuint name;
  glGenTextures(1, &name);
  glBindTexture(target, name);
}

static void image(GLint internal, GLenum format, GLenum type, const void* pixels) {
  texture(GL_TEXTURE_2D);
  glTexImage2D(GL_TEXTURE_2D, 0, internal, 4, 2, 0, format, type, pixels);
}

int main(void) {
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_BIT);
  EGLContext context = start_gl(display, config, 0, 0, 0, EGL_NO_CONTEXT);
  start_current(display, start_pbuffer(display, config, 16, 16), context);
  unsigned char bytes[80];
  unsigned short halves[32];
  unsigned words[8];
  float depths[8];
  for (int i = 0; i < 80; i++) bytes[i] = (unsigned char)(i * 3);
  for (int i = 0; i < 32; i++) halves[i] = (unsigned short)(0x3800 + 16 * i);
  for (unsigned i = 0; i < 8; i++) words[i] = i << 30 | (1000 + i) << 20 | (500 + i) << 10 | i, depths[i] = i / 8.0f;

  image(GL_RGBA8, GL_RGBA, GL_UNSIGNED_BYTE, bytes); /* 1: sampled with red and blue exchanged, opaque */
  const GLint swizzle[] = {GL_BLUE, GL_GREEN, GL_RED, GL_ONE};
  glTexParameteriv(GL_TEXTURE_2D, GL_TEXTURE_SWIZZLE_RGBA, swizzle);
  texture(GL_TEXTURE_3D); /* 2 */
  glTexImage3D(GL_TEXTURE_3D, 0, GL_RGBA8, 2, 2, 5, 0, GL_RGBA, GL_UNSIGNED_BYTE, bytes);
  image(GL_RGBA16F, GL_RGBA, GL_HALF_FLOAT, halves);                  /* 3 */
  image(GL_RG8I, GL_RG_INTEGER, GL_BYTE, bytes);                      /* 4 */
  image(GL_R16UI, GL_RED_INTEGER, GL_UNSIGNED_SHORT, halves);         /* 5 */
  image(GL_RGB10_A2, GL_RGBA, GL_UNSIGNED_INT_2_10_10_10_REV, words); /* 6 */
  image(GL_DEPTH_COMPONENT32F, GL_DEPTH_COMPONENT, GL_FLOAT, depths); /* 7 */
  texture(GL_TEXTURE_2D);                                             /* 8: a block whose texels are 0 to 7 */
  glCompressedTexImage2D(GL_TEXTURE_2D, 0, GL_COMPRESSED_RED_RGTC1, 4, 4, 0, 8, "\xff\x00\x88\xc6\xfa\x88\xc6\xfa");
  texture(GL_TEXTURE_2D_ARRAY); /* 9 */
  glTexImage3D(GL_TEXTURE_2D_ARRAY, 0, GL_RGBA8, 2, 2, 5, 0, GL_RGBA, GL_UNSIGNED_BYTE, bytes);
  texture(GL_TEXTURE_2D_MULTISAMPLE); /* 10 */
  glTexImage2DMultisample(GL_TEXTURE_2D_MULTISAMPLE, 4, GL_RGBA8, 4, 2, GL_TRUE);
  GLuint framebuffer;
  glGenFramebuffers(1, &framebuffer);
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D_MULTISAMPLE, 10, 0);
  glClearColor(1, 0, 0.2f, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  printf("error 0x%x\n", glGetError());
  eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  eglDestroyContext(display, context);
  eglTerminate(display);
  return 0;
}
