/* Frames of one triangle that turns, from a vertex buffer; a checksum of every frame at the end.
 * es2_triangle [FRAMES] */
#include <GLES2/gl2.h>
#include "egl_start.h"
#include "shader.h"

enum { WIDTH = 64, HEIGHT = 48 };

int main(int argc, char** argv) {
  int frames = argc > 1 ? atoi(argv[1]) : 10;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_ES2_BIT);
  EGLSurface surface = start_pbuffer(display, config, WIDTH, HEIGHT);
  EGLContext context = start_es(display, config, 2, 0, EGL_NO_CONTEXT);
  start_current(display, surface, context);

  const char* names[] = {"position", "color"};
  GLuint program = link_program(
      "attribute vec2 position; attribute vec3 color; uniform vec2 turn; varying vec3 c;\n"
      "void main() { c = color; gl_Position = vec4(position.x * turn.x - position.y * turn.y,\n"
      "  position.x * turn.y + position.y * turn.x, 0.0, 1.0); }\n",
      "precision mediump float; varying vec3 c; void main() { gl_FragColor = vec4(c, 1.0); }\n", names, 2);
  static const GLfloat corners[] = {0, 0.9f, 1, 0, 0, -0.8f, -0.7f, 0, 1, 0, 0.8f, -0.7f, 0, 0, 1};
  GLuint buffer;
  glGenBuffers(1, &buffer);
  glBindBuffer(GL_ARRAY_BUFFER, buffer);
  glBufferData(GL_ARRAY_BUFFER, sizeof corners, corners, GL_STATIC_DRAW);
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 20, (void*)0);
  glVertexAttribPointer(1, 3, GL_FLOAT, GL_FALSE, 20, (void*)8);
  glEnableVertexAttribArray(0);
  glEnableVertexAttribArray(1);
  glUseProgram(program);
  GLint turn = glGetUniformLocation(program, "turn");
  glViewport(0, 0, WIDTH, HEIGHT);

  static unsigned char pixels[WIDTH * HEIGHT * 4];
  uint64_t sum = 0;
  float x = 1, y = 0;
  for (int i = 0; i < frames; i++) {
    glClearColor(0.1f, 0.2f, 0.3f, 1);
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
    glUniform2f(turn, x, y);
    glDrawArrays(GL_TRIANGLES, 0, 3);
    float nx = x * 0.96f - y * 0.28f;
    y = x * 0.28f + y * 0.96f;
    x = nx;
    if (i % 4 == 3) glFinish();
    glReadPixels(0, 0, WIDTH, HEIGHT, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
    sum = checksum(sum, pixels, sizeof pixels);
    eglSwapBuffers(display, surface);
  }
  printf("%d frames, error 0x%x, checksum %016llx\n", frames, glGetError(), (unsigned long long)sum);
  eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  eglDestroyContext(display, context);
  eglDestroySurface(display, surface);
  eglTerminate(display);
  return 0;
}
