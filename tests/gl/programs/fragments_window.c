/* Random triangles that cross each other, drawn to a window, whose fragments a colour adds up: each line is what a draw
 * let through. Their corners lie halfway between the 256 places a pixel has for drivers, and are rounded. The second
 * half of the draws is tested against depth. OpenGL ES 3. fragments_window DEPTH_BITS [compat]: with an OpenGL context
 * of the compatibility profile instead */
#include <GLES3/gl3.h>
#include <math.h>
#include "egl_start.h"
#include "shader.h"

enum { WIDTH = 320, HEIGHT = 240, DRAWS = 100, TRIANGLES = 3 };

static const char* const VERTEX = "#version 300 es\nin vec3 place;\nvoid main() { gl_Position = vec4(place, 1.0); }\n";
static const char* const ONE =
    "#version 300 es\nprecision highp float; out vec4 color;\nvoid main() { color = vec4(1.0 / 255.0); }\n";

/* Between 0 and 1. */
static double next(void) {
  static unsigned state = 1;
  state = state * 1664525u + 1013904223u;
  return (double)(state >> 8) / 16777216;
}
/* Halfway between two of the places that a target of so many pixels has. */
static float between(int pixels) { return (float)((floor(next() * pixels * 256) + 0.5) / (pixels * 128) - 1); }

int main(int argc, char** argv) {
  int bits = argc > 1 ? atoi(argv[1]) : 24;
  EGLDisplay display = start_display();
  int compat = argc > 2;
  const EGLint wanted[] = {EGL_SURFACE_TYPE,
                           EGL_PBUFFER_BIT,
                           EGL_RENDERABLE_TYPE,
                           compat ? EGL_OPENGL_BIT : EGL_OPENGL_ES3_BIT,
                           EGL_RED_SIZE,
                           8,
                           EGL_ALPHA_SIZE,
                           8,
                           EGL_DEPTH_SIZE,
                           bits,
                           EGL_SAMPLES,
                           0,
                           EGL_NONE};
  EGLConfig configs[256], config = NULL;
  EGLint found = 0, has = 0;
  if (!eglChooseConfig(display, wanted, configs, 256, &found)) return 77;
  for (EGLint i = 0; i < found && !config; i++)
    if (eglGetConfigAttrib(display, configs[i], EGL_DEPTH_SIZE, &has) && has == bits) config = configs[i];
  if (!config) return 77;
  EGLSurface window = start_pbuffer(display, config, WIDTH, HEIGHT);
  start_current(
      display, window,
      compat ? start_gl(display, config, 0, 0, 0, EGL_NO_CONTEXT) : start_es(display, config, 3, 0, EGL_NO_CONTEXT));
  const char* const names[] = {"place"};
  glUseProgram(link_program(VERTEX, ONE, names, 1));
  glEnableVertexAttribArray(0);
  glEnable(GL_BLEND);
  glBlendFunc(GL_ONE, GL_ONE);
  glClear(GL_DEPTH_BUFFER_BIT);
  static unsigned char pixels[WIDTH * HEIGHT * 4];
  for (int draw = 0; draw < DRAWS; draw++) {
    GLfloat places[TRIANGLES * 9];
    for (int i = 0; i < TRIANGLES * 9; i += 3) {
      places[i] = between(WIDTH);
      places[i + 1] = between(HEIGHT);
      places[i + 2] = (float)(next() * 2 - 1);
    }
    if (draw == DRAWS / 2) glEnable(GL_DEPTH_TEST);
    glClear(draw % 4 ? GL_COLOR_BUFFER_BIT : GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
    glVertexAttribPointer(0, 3, GL_FLOAT, GL_FALSE, 0, places);
    glDrawArrays(GL_TRIANGLES, 0, TRIANGLES * 3);
    glReadPixels(0, 0, WIDTH, HEIGHT, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
    unsigned long long sum = 0;
    for (int i = 0; i < WIDTH * HEIGHT; i++) sum += pixels[i * 4];
    printf("%llu\n", sum);
  }
  eglSwapBuffers(display, window);
  eglTerminate(display);
  return 0;
}
