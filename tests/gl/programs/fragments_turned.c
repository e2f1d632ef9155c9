/* One program draws to a framebuffer, then to a window, which drivers hold upside down; both have an odd number of
 * rows. OpenGL ES 3. fragments_turned [FRAMES] */
#include <GLES3/gl3.h>
#include "egl_start.h"
#include "shader.h"
#include "texture_target.h"

enum { WIDTH = 47, HEIGHT = 37 };

static const char* const VERTEX =
    "#version 300 es\nin vec2 place;\nvoid main() { gl_Position = vec4(place, 0.0, 1.0); }\n";
static const char* const FRAGMENT =
    "#version 300 es\nprecision mediump float; out vec4 color;\nvoid main() { color = vec4(0.25); }\n";

int main(int argc, char** argv) {
  int frames = argc > 1 ? atoi(argv[1]) : 2;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_ES3_BIT);
  EGLSurface window = start_pbuffer(display, config, WIDTH, HEIGHT);
  start_current(display, window, start_es(display, config, 3, 0, EGL_NO_CONTEXT));
  const char* const names[] = {"place"};
  const GLuint framebuffer = texture_target(WIDTH, HEIGHT);
  static const GLfloat corner[3][2] = {{-1, -1}, {1, -1}, {-1, 1}};
  GLuint program = link_program(VERTEX, FRAGMENT, names, 1);
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, corner);
  for (int frame = 0; frame < frames; frame++) {
    for (int target = 0; target < 2; target++) {
      glBindFramebuffer(GL_FRAMEBUFFER, target ? 0 : framebuffer);
      if (!target) glClear(GL_COLOR_BUFFER_BIT);
      glUseProgram(program);
      glEnableVertexAttribArray(0);
      glDrawArrays(GL_TRIANGLES, 0, 3);
      glDisableVertexAttribArray(0);
      glUseProgram(0);
    }
    eglSwapBuffers(display, window);
  }
  return 0;
}
