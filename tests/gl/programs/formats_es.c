/* Textures that OpenGL ES hands over to shaders alone, with texels that the test knows. */
#include <GLES3/gl32.h>
#include <GLES2/gl2ext.h>
#include "egl_start.h"
#include "shader.h"

static void texture(GLenum target) {
  GLuint name;
  glGenTextures(1, &name);
  glBindTexture(target, name);
}

/* One block, as in formats.c. */
static void block(GLenum format, const char* bytes, int size) {
  texture(GL_TEXTURE_2D);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_SWIZZLE_R, GL_BLUE);
  glCompressedTexImage2D(GL_TEXTURE_2D, 0, format, 4, 4, 0, size, bytes);
}
#define BLOCK(format, bytes) block(format, bytes, sizeof bytes - 1)

int main(void) {
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_ES2_BIT);
  start_current(display, start_pbuffer(display, config, 16, 16), start_es(display, config, 3, 2, EGL_NO_CONTEXT));
  BLOCK(GL_COMPRESSED_RGBA_ASTC_4x4, "\xfc\xfd\xff\xff\xff\xff\xff\xff\xff\xff\x80\x80\x00\x00\x40\x40");
  BLOCK(GL_COMPRESSED_RGBA_BPTC_UNORM_EXT, "\xc0\x3f\x00\xf0\x07\x02\xfe\xff\x10\x32\x54\x76\x98\xba\xdc\xfe");
  BLOCK(GL_COMPRESSED_R11_EAC, "\x80\x10\x05\x39\x77\x05\x39\x77");
  texture(GL_TEXTURE_2D_MULTISAMPLE); /* 4: the samples of each pixel are red, green, blue and white */
  glTexStorage2DMultisample(GL_TEXTURE_2D_MULTISAMPLE, 4, GL_RGBA8, 4, 2, GL_TRUE);
  GLuint framebuffer;
  glGenFramebuffers(1, &framebuffer);
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D_MULTISAMPLE, 4, 0);
  GLuint program = link_program(
      "#version 300 es\nvoid main() { gl_Position = vec4(gl_VertexID == 1 ? 3 : -1, gl_VertexID == 2 ? 3 : -1, 0, 1); }",
      "#version 300 es\nprecision mediump float; uniform vec3 given; out vec4 color; void main() { color = vec4(given, 1.0); }",
      NULL, 0);
  glUseProgram(program);
  glViewport(0, 0, 4, 2);
  glEnable(GL_SAMPLE_MASK);
  for (unsigned i = 0; i < 4; i++) {
    glSampleMaski(0, 1u << i);
    glUniform3f(glGetUniformLocation(program, "given"), i % 3 == 0, i == 1 || i == 3, i > 1);
    glDrawArrays(GL_TRIANGLES, 0, 3);
  }
  printf("error 0x%x\n", glGetError());
  glFinish();
  return 0;
}
