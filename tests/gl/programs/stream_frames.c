/* Frames of twenty draws whose vertices, 1 KB of noise each, are in client memory.
 * stream_frames FRAMES [PAUSE_US]: says "drawn" when the last frame is shown; 0 frames: until it is killed. */
#include <GLES2/gl2.h>
#include <unistd.h>
#include "egl_start.h"
#include "shader.h"

int main(int argc, char** argv) {
  const long frames = argc > 1 ? atol(argv[1]) : 10;
  const long pause = argc > 2 ? atol(argv[2]) : 0;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_ES2_BIT);
  EGLSurface surface = start_pbuffer(display, config, 16, 16);
  EGLContext context = start_es(display, config, 2, 0, EGL_NO_CONTEXT);
  start_current(display, surface, context);
  const char* names[] = {"position"};
  const GLuint program =
      link_program("attribute vec4 position; uniform vec4 move; void main() { gl_Position = position + move; }\n",
                   "precision mediump float; void main() { gl_FragColor = vec4(1.0); }\n", names, 1);
  glUseProgram(program);
  const GLint move = glGetUniformLocation(program, "move");
  glEnableVertexAttribArray(0);
  static uint32_t noise[20][256];
  uint32_t state = 1;
  for (long i = 0; !frames || i < frames; i++) {
    glUniform4f(move, 0.001f * (float)(i % 1000), 0, 0, 0);
    glClear(GL_COLOR_BUFFER_BIT);
    for (int d = 0; d < 20; d++) {
      for (int k = 0; k < 256; k++) noise[d][k] = next_random(&state) * 2654435761u;
      glVertexAttribPointer(0, 4, GL_FLOAT, GL_FALSE, 16, noise[d]);
      glDrawArrays(GL_POINTS, 0, 64);
    }
    eglSwapBuffers(display, surface);
    if (pause) usleep((useconds_t)pause);
  }
  printf("drawn\n");
  return 0;
}
