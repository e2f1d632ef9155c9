/* Frames that upload four textures of 64 KB and a buffer of 16 KB, all noise, and draw one point with them, until
 * killed. The uploads of a frame replace those of the one before it. */
#include <GLES2/gl2.h>
#include <unistd.h>
#include "egl_start.h"
#include "shader.h"

int main(void) {
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_ES2_BIT);
  EGLSurface surface = start_pbuffer(display, config, 16, 16);
  EGLContext context = start_es(display, config, 2, 0, EGL_NO_CONTEXT);
  start_current(display, surface, context);
  const char* names[] = {"position"};
  const GLuint program = link_program(
      "attribute vec4 position; void main() { gl_Position = vec4(position.xy * 0.0, 0.0, 1.0); gl_PointSize = 16.0; }\n",
      "precision mediump float; uniform sampler2D image;\n"
      "void main() { gl_FragColor = texture2D(image, gl_PointCoord); }\n",
      names, 1);
  glUseProgram(program);
  GLuint textures[4], buffer;
  glGenTextures(4, textures);
  glGenBuffers(1, &buffer);
  glBindBuffer(GL_ARRAY_BUFFER, buffer);
  glEnableVertexAttribArray(0);
  static uint32_t noise[128 * 128];
  uint32_t state = 1;
  for (;;) {
    for (int t = 0; t < 4; t++) {
      for (int k = 0; k < 128 * 128; k++) noise[k] = next_random(&state) * 2654435761u;
      glBindTexture(GL_TEXTURE_2D, textures[t]);
      glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
      glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 128, 128, 0, GL_RGBA, GL_UNSIGNED_BYTE, noise);
    }
    glBufferData(GL_ARRAY_BUFFER, 16384, noise, GL_STREAM_DRAW);
    glVertexAttribPointer(0, 2, GL_UNSIGNED_BYTE, GL_TRUE, 16, 0);
    glClear(GL_COLOR_BUFFER_BIT);
    glDrawArrays(GL_POINTS, 0, 1);
    eglSwapBuffers(display, surface);
  }
}
