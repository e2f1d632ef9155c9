/* Frames of four triangles, one draw each; from one frame on the third triangle has another color.
 * two_draws FRAMES FROM */
#include <GLES2/gl2.h>
#include "egl_start.h"
#include "shader.h"

enum { SIDE = 48 };

int main(int argc, char** argv) {
  int frames = argc > 1 ? atoi(argv[1]) : 5, from = argc > 2 ? atoi(argv[2]) : frames;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_ES2_BIT);
  EGLSurface surface = start_pbuffer(display, config, SIDE, SIDE);
  start_current(display, surface, start_es(display, config, 2, 0, EGL_NO_CONTEXT));
  const char* names[] = {"position"};
  GLuint program =
      link_program("attribute vec2 position; void main() { gl_Position = vec4(position, 0.0, 1.0); }\n",
                   "precision mediump float; uniform vec4 color; void main() { gl_FragColor = color; }\n", names, 1);
  static GLfloat corners[4][3][2];
  for (int i = 0; i < 4; i++) {
    float x = i % 2 ? 0.1f : -0.9f, y = i / 2 ? 0.1f : -0.9f;
    const GLfloat one[3][2] = {{x, y}, {x + 0.8f, y}, {x, y + 0.8f}};
    memcpy(corners[i], one, sizeof one);
  }
  GLuint buffer;
  glGenBuffers(1, &buffer);
  glBindBuffer(GL_ARRAY_BUFFER, buffer);
  glBufferData(GL_ARRAY_BUFFER, sizeof corners, corners, GL_STATIC_DRAW);
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, (void*)0);
  glEnableVertexAttribArray(0);
  glUseProgram(program);
  GLint color = glGetUniformLocation(program, "color");
  glViewport(0, 0, SIDE, SIDE);
  for (int frame = 0; frame < frames; frame++) {
    glClearColor(0.2f, 0.2f, 0.2f, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    for (int i = 0; i < 4; i++) {
      float red = i == 2 && frame >= from ? 0.9f : 0.4f;
      glUniform4f(color, red, 0.1f * (float)frame, 0.2f * (float)i, 1);
      glDrawArrays(GL_TRIANGLES, i * 3, 3);
    }
    eglSwapBuffers(display, surface);
  }
  eglTerminate(display);
  return 0;
}
