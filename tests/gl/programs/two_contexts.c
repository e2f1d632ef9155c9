/* Two contexts that share objects and take turns on one thread, a third that shares nothing, and two surfaces: one
 * context loads images and renders into a texture that the other shows. With `waits` it waits for the GPU with
 * something on that texture that it wipes out again. two_contexts [FRAMES [waits]] */
#include <GLES3/gl3.h>
#include "egl_start.h"
#include "shader.h"

enum { SIDE = 48 };

static GLuint make_program(void) {
  const char* names[] = {"position"};
  return link_program(
      "attribute vec2 position; varying vec2 c; void main() { c = position * 0.5 + 0.5; gl_Position = vec4(position, 0.0, 1.0); }\n",
      "precision mediump float; uniform sampler2D image; uniform float bright; varying vec2 c;\n"
      "void main() { gl_FragColor = texture2D(image, c) * bright + 0.1; }\n",
      names, 1);
}

static void quad(const GLfloat* corners) {
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, corners);
  glEnableVertexAttribArray(0);
  glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
}

int main(int argc, char** argv) {
  int frames = argc > 1 ? atoi(argv[1]) : 20;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_ES3_BIT);
  EGLSurface window = start_pbuffer(display, config, SIDE, SIDE), hidden = start_pbuffer(display, config, 16, 16);
  EGLContext shows = start_es(display, config, 3, 0, EGL_NO_CONTEXT), loads = start_es(display, config, 3, 0, shows);
  EGLContext alone = start_es(display, config, 3, 0, EGL_NO_CONTEXT);
  const GLfloat all[] = {-1, -1, 1, -1, -1, 1, 1, 1}, part[] = {-0.8f, -0.5f, 0.9f, -0.9f, -0.7f, 0.8f, 0.6f, 0.7f};
  static unsigned char texels[16 * 16 * 4];

  start_current(display, hidden, alone); /* the same names as in the others */
  GLuint other;
  glGenTextures(1, &other);
  glBindTexture(GL_TEXTURE_2D, other);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 16, 16, 0, GL_RGBA, GL_UNSIGNED_BYTE, texels);
  GLuint other_program = make_program();

  start_current(display, window, shows);
  GLuint program = make_program();
  GLint bright = glGetUniformLocation(program, "bright");
  GLuint images[2], framebuffer;
  glGenTextures(2, images);
  for (int i = 0; i < 2; i++) {
    glBindTexture(GL_TEXTURE_2D, images[i]);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 16, 16, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  }
  glUseProgram(program);
  glUniform1f(bright, 0.9f);
  start_current(display, hidden, loads);
  glGenFramebuffers(1, &framebuffer);
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, images[1], 0);
  glUseProgram(program);

  for (int frame = 0; frame < frames; frame++) {
    start_current(display, hidden, loads);
    for (size_t i = 0; i < sizeof texels; i++) texels[i] = (unsigned char)(i * (size_t)(frame + 3));
    glBindTexture(GL_TEXTURE_2D, images[0]);
    glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, 16, 16, GL_RGBA, GL_UNSIGNED_BYTE, texels);
    glViewport(0, 0, 16, 16);
    if (argc > 2) {
      glClearColor((float)frame / 20, 1, 1, 1);
      glClear(GL_COLOR_BUFFER_BIT);
      glFinish();
    }
    glClearColor(0, (float)frame / 20, 0, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    quad(part);
    GLsync done = glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
    glFlush();
    if (frame % 5 == 0) {
      start_current(display, hidden, alone);
      glUseProgram(other_program);
      glClear(GL_COLOR_BUFFER_BIT);
      quad(part);
      eglSwapBuffers(display, hidden);
    }
    start_current(display, window, shows);
    glWaitSync(done, 0, GL_TIMEOUT_IGNORED);
    glDeleteSync(done);
    glViewport(0, 0, SIDE, SIDE);
    glClearColor(0, 0, 0.5f, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    glBindTexture(GL_TEXTURE_2D, images[1]);
    quad(all);
    glBindTexture(GL_TEXTURE_2D, images[0]);
    quad(part);
    eglSwapBuffers(display, window);
  }
  printf("error 0x%x\n", glGetError());
  eglTerminate(display);
  return 0;
}
