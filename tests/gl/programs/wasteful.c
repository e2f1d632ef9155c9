/* A program that does much for nothing: the same state again and again, the same image and the same buffer uploaded
 * every frame, uploads that no draw reads, draws that a clear wipes out, a pass into a target that nobody looks at.
 * wasteful [FRAMES] */
#include <GLES2/gl2.h>
#include "egl_start.h"
#include "shader.h"

enum { SIDE = 64, TEXELS = 32 };

int main(int argc, char** argv) {
  int frames = argc > 1 ? atoi(argv[1]) : 20;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_ES2_BIT);
  EGLSurface surface = start_pbuffer(display, config, SIDE, SIDE);
  start_current(display, surface, start_es(display, config, 2, 0, EGL_NO_CONTEXT));
  const char* names[] = {"position"};
  GLuint program = link_program(
      "attribute vec2 position; varying vec2 c; void main() { c = position; gl_Position = vec4(position, 0.0, 1.0); }\n",
      "precision mediump float; uniform sampler2D image; uniform float bright; varying vec2 c;\n"
      "void main() { gl_FragColor = texture2D(image, c) * bright; }\n",
      names, 1);
  GLint bright = glGetUniformLocation(program, "bright"), image = glGetUniformLocation(program, "image");
  static unsigned char texels[TEXELS * TEXELS * 4];
  for (size_t i = 0; i < sizeof texels; i++) texels[i] = (unsigned char)(i * 7);
  GLfloat corners[] = {-0.8f, -0.8f, 0.8f, -0.7f, 0, 0.9f};
  GLuint textures[3], buffer, framebuffer;
  glGenTextures(3, textures);
  for (int i = 0; i < 3; i++) {
    glBindTexture(GL_TEXTURE_2D, textures[i]);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, TEXELS, TEXELS, 0, GL_RGBA, GL_UNSIGNED_BYTE, texels);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  }
  glGenFramebuffers(1, &framebuffer);
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, textures[2], 0);
  glBindFramebuffer(GL_FRAMEBUFFER, 0);
  glGenBuffers(1, &buffer);
  glBindBuffer(GL_ARRAY_BUFFER, buffer);
  glViewport(0, 0, SIDE, SIDE);
  for (int frame = 0; frame < frames; frame++) {
    glUseProgram(program);
    glUniform1i(image, 0);
    glBindBuffer(GL_ARRAY_BUFFER, buffer);
    glBufferData(GL_ARRAY_BUFFER, sizeof corners, corners, GL_DYNAMIC_DRAW); /* always the same */
    glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, (void*)0);
    glEnableVertexAttribArray(0);
    glActiveTexture(GL_TEXTURE0);
    glBindTexture(GL_TEXTURE_2D, textures[1]);
    texels[frame] = (unsigned char)frame;
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, TEXELS, TEXELS, 0, GL_RGBA, GL_UNSIGNED_BYTE, texels); /* read by nothing */
    glBindTexture(GL_TEXTURE_2D, textures[0]);
    glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, 8, 8, GL_RGBA, GL_UNSIGNED_BYTE, texels + 2048); /* always the same */
    glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);                                          /* nobody looks at it */
    glClear(GL_COLOR_BUFFER_BIT);
    glDrawArrays(GL_TRIANGLES, 0, 3);
    glBindFramebuffer(GL_FRAMEBUFFER, 0);
    glUniform1f(bright, 0.3f);
    glDrawArrays(GL_TRIANGLES, 0, 3); /* wiped out */
    glClearColor(0.1f, 0.2f, 0.3f, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    glUniform1f(bright, 0.5f + 0.02f * (float)frame);
    glEnable(GL_BLEND);
    glBlendFunc(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA);
    glDisable(GL_BLEND);
    glEnable(GL_BLEND);
    glDrawArrays(GL_TRIANGLES, 0, 3);
    glDisable(GL_DEPTH_TEST);
    eglSwapBuffers(display, surface);
  }
  printf("error 0x%x\n", glGetError());
  eglTerminate(display);
  return 0;
}
