/* Textures of growing size are made, drawn to and shown, one after the other, in the first frame; each is drawn to once
 * only. fbo_sizes [FRAMES] */
#include <GLES2/gl2.h>
#include "egl_start.h"
#include "shader.h"

enum { SIDE = 64, TARGETS = 6 };

int main(int argc, char** argv) {
  int frames = argc > 1 ? atoi(argv[1]) : 2;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_ES2_BIT);
  EGLSurface surface = start_pbuffer(display, config, SIDE, SIDE);
  start_current(display, surface, start_es(display, config, 2, 0, EGL_NO_CONTEXT));
  const char* names[] = {"position"};
  const char* vertex =
      "attribute vec2 position; varying vec2 at; void main() { at = 0.5 * position + 0.5; gl_Position = vec4(position, 0.0, 1.0); }\n";
  GLuint fill = link_program(
      vertex,
      "precision mediump float; varying vec2 at; uniform float part; void main() { gl_FragColor = vec4(at, part, 1.0); }\n",
      names, 1);
  GLuint show = link_program(
      vertex,
      "precision mediump float; varying vec2 at; uniform sampler2D image; void main() { gl_FragColor = texture2D(image, at); }\n",
      names, 1);
  const GLfloat corners[] = {-1, -1, 1, -1, -1, 1, 1, 1};
  GLuint buffer, textures[TARGETS], framebuffers[TARGETS];
  glGenBuffers(1, &buffer);
  glBindBuffer(GL_ARRAY_BUFFER, buffer);
  glBufferData(GL_ARRAY_BUFFER, sizeof corners, corners, GL_STATIC_DRAW);
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, (void*)0);
  glEnableVertexAttribArray(0);
  for (int frame = 0; frame < frames; frame++) {
    for (int i = 0; i < TARGETS; i++) {
      if (!frame) {
        int size = 8 << (i / 2);
        glGenTextures(1, &textures[i]);
        glBindTexture(GL_TEXTURE_2D, textures[i]);
        glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
        glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
        glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, size + i, size, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
        glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
        glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
        glGenFramebuffers(1, &framebuffers[i]);
        glBindFramebuffer(GL_FRAMEBUFFER, framebuffers[i]);
        glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, textures[i], 0);
        glViewport(0, 0, size + i, size);
        glUseProgram(fill);
        glUniform1f(glGetUniformLocation(fill, "part"), (float)i / TARGETS);
        glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
      }
      glBindFramebuffer(GL_FRAMEBUFFER, 0);
      glViewport(i % 3 * 20, i / 3 * 20, 20, 20);
      glUseProgram(show);
      glBindTexture(GL_TEXTURE_2D, textures[i]);
      glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
    }
    eglSwapBuffers(display, surface);
  }
  printf("error 0x%x\n", glGetError());
  eglTerminate(display);
  return 0;
}
