/* A framebuffer of one texture, both bound. The header of OpenGL ES 3 comes first. */
#ifndef DRAWTAP_TEST_TEXTURE_TARGET_H
#define DRAWTAP_TEST_TEXTURE_TARGET_H
static GLuint texture_target(GLsizei width, GLsizei height) {
  GLuint texture, framebuffer;
  glGenTextures(1, &texture);
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexStorage2D(GL_TEXTURE_2D, 1, GL_RGBA8, width, height);
  glGenFramebuffers(1, &framebuffer);
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
  return framebuffer;
}
#endif
