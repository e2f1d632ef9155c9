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

/* One block, whose texels are in the test: each byte is written from the text of the format's specification. */
static void block(GLenum format, const char* bytes, int size) {
  texture(GL_TEXTURE_2D);
  glCompressedTexImage2D(GL_TEXTURE_2D, 0, format, 4, 4, 0, size, bytes);
}
#define BLOCK(format, bytes) block(format, bytes, sizeof bytes - 1)

/* 11 to 22 */
static void blocks(void) {
  BLOCK(GL_COMPRESSED_RGBA_S3TC_DXT1_EXT, "\x00\xf8\x1f\x00\xe4\xe4\xe4\xe4");
  BLOCK(GL_COMPRESSED_RGBA_S3TC_DXT1_EXT, "\x1f\x00\x00\xf8\xe4\xe4\xe4\xe4");
  BLOCK(GL_COMPRESSED_RGBA_S3TC_DXT3_EXT,
        "\x50\xfa\x50\xfa\x50\xfa\x50\xfa"
        "\x00\xf8\x1f\x00\xe4\xe4\xe4\xe4");
  BLOCK(GL_COMPRESSED_RGBA_S3TC_DXT5_EXT,
        "\xff\x00\x88\xc6\xfa\x88\xc6\xfa"
        "\x00\xf8\x1f\x00\xe4\xe4\xe4\xe4");
  BLOCK(GL_COMPRESSED_RG_RGTC2,
        "\xff\x00\x88\xc6\xfa\x88\xc6\xfa"
        "\x00\xff\x88\xc6\xfa\x88\xc6\xfa");
  BLOCK(GL_COMPRESSED_RGB8_ETC2, "\xf0\x0f\x84\x1c\x00\x00\x01\x01");
  BLOCK(GL_COMPRESSED_RGBA8_ETC2_EAC,
        "\x80\x10\x05\x39\x77\x05\x39\x77"
        "\xf0\x0f\x84\x1c\x00\x00\x01\x01");
  BLOCK(GL_COMPRESSED_RGB8_PUNCHTHROUGH_ALPHA1_ETC2, "\x80\x40\xf8\x24\x00\x01\x00\x02");
  BLOCK(GL_COMPRESSED_R11_EAC, "\x80\x10\x05\x39\x77\x05\x39\x77");
  BLOCK(GL_COMPRESSED_RGBA_BPTC_UNORM, "\xc0\x3f\x00\xf0\x07\x02\xfe\xff\x10\x32\x54\x76\x98\xba\xdc\xfe");
  BLOCK(GL_COMPRESSED_RGB_BPTC_UNSIGNED_FLOAT, "\x03\x00\x00\xff\xff\x1f\x40\x00\x10\x32\x54\x76\x98\xba\xdc\xfe");
  BLOCK(GL_COMPRESSED_RGBA_ASTC_4x4_KHR,
        "\xfc\xfd\xff\xff\xff\xff\xff\xff\xff\xff\x80\x80\x00\x00\x40\x40"); /* one colour */
}

/* 23: the samples of each pixel are red, green, blue and white. 24 to 26: faces of cubes; depth and stencil; depth that
 * shaders get as alpha. */
static void others(const unsigned char* bytes) {
  GLuint framebuffer;
  texture(GL_TEXTURE_2D_MULTISAMPLE);
  glTexImage2DMultisample(GL_TEXTURE_2D_MULTISAMPLE, 4, GL_RGBA8, 4, 2, GL_TRUE);
  glGenFramebuffers(1, &framebuffer);
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D_MULTISAMPLE, 23, 0);
  glEnable(GL_SAMPLE_MASK);
  for (unsigned i = 0; i < 4; i++) {
    glSampleMaski(0, 1u << i);
    glColor3f(i % 3 == 0, i == 1 || i == 3, i > 1);
    glRectf(-1, -1, 1, 1);
  }
  glDisable(GL_SAMPLE_MASK);
  glBindFramebuffer(GL_FRAMEBUFFER, 0);
  texture(GL_TEXTURE_CUBE_MAP_ARRAY);
  glTexImage3D(GL_TEXTURE_CUBE_MAP_ARRAY, 0, GL_RGBA8, 2, 2, 12, 0, GL_RGBA, GL_UNSIGNED_BYTE, bytes);
  unsigned words[8];
  for (unsigned i = 0; i < 8; i++) words[i] = (i * 0x10203u) << 8 | 7 * i;
  image(GL_DEPTH24_STENCIL8, GL_DEPTH_STENCIL, GL_UNSIGNED_INT_24_8, words);
  float depths[8];
  for (int i = 0; i < 8; i++) depths[i] = i / 8.0f;
  image(GL_DEPTH_COMPONENT32F, GL_DEPTH_COMPONENT, GL_FLOAT, depths);
  glTexParameteri(GL_TEXTURE_2D, GL_DEPTH_TEXTURE_MODE, GL_ALPHA);
}

int main(void) {
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_BIT);
  EGLContext context = start_gl(display, config, 0, 0, 0, EGL_NO_CONTEXT);
  start_current(display, start_pbuffer(display, config, 16, 16), context);
  unsigned char bytes[192];
  unsigned short halves[32];
  unsigned words[8];
  float depths[8];
  for (int i = 0; i < 192; i++) bytes[i] = (unsigned char)(i * 3);
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
  blocks();
  others(bytes);
  glClear(GL_COLOR_BUFFER_BIT);
  printf("error 0x%x\n", glGetError());
  eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  eglDestroyContext(display, context);
  eglTerminate(display);
  return 0;
}
