/* Frames that are drawn over what earlier ones left: no clear but the first; every tenth frame paints everything anew.
 * draw_over [FRAMES] */
#include <GLES2/gl2.h>
#include "egl_start.h"
#include "shader.h"

enum { SIDE = 48 };

int main(int argc, char** argv) {
  int frames = argc > 1 ? atoi(argv[1]) : 36;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_ES2_BIT);
  EGLSurface surface = start_pbuffer(display, config, SIDE, SIDE);
  start_current(display, surface, start_es(display, config, 2, 0, EGL_NO_CONTEXT));
  const char* names[] = {"position"};
  GLuint program = link_program(
      "attribute vec2 position; uniform vec3 place; void main() { gl_Position = vec4(position * place.z + place.xy, 0.0, 1.0); }\n",
      "precision mediump float; uniform vec4 color; void main() { gl_FragColor = color; }\n", names, 1);
  const GLfloat corners[] = {-1, -1, 1, -1, -1, 1, 1, 1};
  GLint place = glGetUniformLocation(program, "place"), color = glGetUniformLocation(program, "color");
  glUseProgram(program);
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, corners);
  glEnableVertexAttribArray(0);
  glViewport(0, 0, SIDE, SIDE);
  glClearColor(0, 0.2f, 0, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  for (int frame = 0; frame < frames; frame++) {
    if (frame % 10 == 9) { /* everything, without a clear */
      glUniform3f(place, 0, 0, 1);
      glUniform4f(color, 0.3f, 0.02f * (float)frame, 0.3f, 1);
      glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
    }
    if (frame % 10 == 4) { /* a part of it, with a clear that is held back */
      glEnable(GL_SCISSOR_TEST);
      glScissor(frame % 16, 8, 20, 30);
      glClear(GL_COLOR_BUFFER_BIT);
      glDisable(GL_SCISSOR_TEST);
    }
    glUniform3f(place, (float)(frame * 7 % 20) / 10 - 1, (float)(frame * 3 % 20) / 10 - 1, 0.15f);
    glUniform4f(color, (float)(frame % 5) / 5, (float)(frame % 7) / 7, 0.8f, 1);
    glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
    eglSwapBuffers(display, surface);
  }
  printf("error 0x%x\n", glGetError());
  eglTerminate(display);
  return 0;
}
