/* Uploads blocks of chance in compressed formats, and reads back what the driver makes of them. */
#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include "egl_start.h"

enum { SIDE = 32 };

int main(void) {
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_BIT);
  EGLSurface surface = start_pbuffer(display, config, 16, 16);
  start_current(display, surface, start_gl(display, config, 4, 3, 0, EGL_NO_CONTEXT));
  static const struct {
    GLenum format;
    int block;
  } kinds[] = {{GL_COMPRESSED_RGB_S3TC_DXT1_EXT, 8},   {GL_COMPRESSED_RGBA_S3TC_DXT1_EXT, 8},
               {GL_COMPRESSED_RGBA_S3TC_DXT3_EXT, 16}, {GL_COMPRESSED_RGBA_S3TC_DXT5_EXT, 16},
               {GL_COMPRESSED_RED_RGTC1, 8},           {GL_COMPRESSED_RG_RGTC2, 16},
               {GL_COMPRESSED_RGB8_ETC2, 8},           {GL_COMPRESSED_RGBA8_ETC2_EAC, 16}};
  static unsigned char blocks[SIDE * SIDE], texels[SIDE * SIDE * 4];
  uint32_t state = 12345;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    int bytes = SIDE / 4 * (SIDE / 4) * kinds[k].block;
    for (int i = 0; i < bytes; i++) blocks[i] = (unsigned char)next_random(&state);
    GLuint texture;
    glGenTextures(1, &texture);
    glBindTexture(GL_TEXTURE_2D, texture);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    glCompressedTexImage2D(GL_TEXTURE_2D, 0, kinds[k].format, SIDE, SIDE, 0, bytes, blocks);
    glGetTexImage(GL_TEXTURE_2D, 0, GL_RGBA, GL_UNSIGNED_BYTE, texels);
    printf("%x %d\n", kinds[k].format, glGetError());
  }
  eglTerminate(display);
  return 0;
}
