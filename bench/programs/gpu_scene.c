/* A scene whose frames the GPU pays for, on a pbuffer: for machines without a display.
 *
 * gpu_scene SCENE SIZE WORK SECONDS|xFRAMES [TIMES]
 *   SCENE   fill (one draw, WORK rounds of arithmetic a pixel), calls (WORK small draws), frames (a clear and a draw)
 *   SIZE    WIDTHxHEIGHT of the pbuffer
 *   TIMES   a file that gets the end of each frame while the program runs: CLOCK_MONOTONIC in ns, 8 bytes each
 *
 * At most two frames are under way: a pbuffer's eglSwapBuffers waits for nothing, a fence does. The program finds every
 * function by dlsym. It prints what glmark2 prints of a scene: "FPS: N FrameTime: N ms". Exit code 77: no such context.
 */
#define _GNU_SOURCE
#include <EGL/egl.h>
#include <GLES3/gl3.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "egl_device.h"

enum { UNDER_WAY = 2, NOT_HERE = 77, NO_FRAME = 1 };

static void* g_library;
/* The function of that name in the library that was opened last. */
static void* found(const char* name) {
  void* function = dlsym(g_library, name);
  if (!function) {
    fprintf(stderr, "there is no %s\n", name);
    exit(NOT_HERE);
  }
  return function;
}
#define FIND(name) __typeof__(&name) name##_ = (__typeof__(&name))found(#name)

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static const char* const g_vertex =
    "#version 300 es\nuniform vec2 place; in vec2 at; out vec2 where;\n"
    "void main() { where = at; gl_Position = vec4(at * place.y + place.x, 0.0, 1.0); }";
static const char* const g_fragment =
    "#version 300 es\nprecision highp float; uniform int rounds; uniform float moment; in vec2 where; out vec4 colour;\n"
    "void main() {\n"
    "  vec2 z = where; float sum = 0.0;\n"
    "  for (int i = 0; i < rounds; i++) {\n"
    "    z = fract(vec2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + 0.5 * where + moment); sum += z.x;\n"
    "  }\n"
    "  colour = vec4(fract(sum), z, 1.0);\n"
    "}";

static void start(int width, int height) {
  g_library = dlopen("libEGL.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (!g_library) fprintf(stderr, "%s\n", dlerror()), exit(NOT_HERE);
  FIND(eglGetDisplay);
  FIND(eglGetProcAddress);
  FIND(eglInitialize);
  FIND(eglBindAPI);
  FIND(eglChooseConfig);
  FIND(eglCreateContext);
  FIND(eglCreatePbufferSurface);
  FIND(eglMakeCurrent);
  const EGLint wanted[] = {EGL_SURFACE_TYPE,
                           EGL_PBUFFER_BIT,
                           EGL_RENDERABLE_TYPE,
                           EGL_OPENGL_ES3_BIT,
                           EGL_RED_SIZE,
                           8,
                           EGL_GREEN_SIZE,
                           8,
                           EGL_BLUE_SIZE,
                           8,
                           EGL_NONE};
  const EGLint version[] = {EGL_CONTEXT_CLIENT_VERSION, 3, EGL_NONE};
  const EGLint size[] = {EGL_WIDTH, width, EGL_HEIGHT, height, EGL_NONE};
  const char* platform = getenv("EGL_PLATFORM");
  const int of_device = platform && !strcmp(platform, "device");
  EGLDisplay display = of_device ? device_display(eglGetProcAddress_) : eglGetDisplay_(EGL_DEFAULT_DISPLAY);
  EGLConfig config;
  EGLint count = 0;
  if (!eglInitialize_(display, NULL, NULL) || !eglBindAPI_(EGL_OPENGL_ES_API) ||
      !eglChooseConfig_(display, wanted, &config, 1, &count) || !count) {
    fprintf(stderr, "no EGL display, or no configuration for OpenGL ES 3 with a pbuffer\n");
    exit(NOT_HERE);
  }
  EGLSurface surface = eglCreatePbufferSurface_(display, config, size);
  if (!eglMakeCurrent_(display, surface, surface, eglCreateContext_(display, config, EGL_NO_CONTEXT, version))) {
    fprintf(stderr, "no context of OpenGL ES 3\n");
    exit(NOT_HERE);
  }
}

static GLuint built(void) {
  FIND(glCreateProgram);
  FIND(glCreateShader);
  FIND(glShaderSource);
  FIND(glCompileShader);
  FIND(glAttachShader);
  FIND(glBindAttribLocation);
  FIND(glLinkProgram);
  FIND(glGetProgramiv);
  FIND(glUseProgram);
  const GLuint program = glCreateProgram_();
  for (int i = 0; i < 2; i++) {
    const GLuint shader = glCreateShader_(i ? GL_FRAGMENT_SHADER : GL_VERTEX_SHADER);
    glShaderSource_(shader, 1, i ? &g_fragment : &g_vertex, NULL);
    glCompileShader_(shader);
    glAttachShader_(program, shader);
  }
  glBindAttribLocation_(program, 0, "at");
  glLinkProgram_(program);
  GLint linked = 0;
  glGetProgramiv_(program, GL_LINK_STATUS, &linked);
  if (!linked) fprintf(stderr, "the program does not link\n"), exit(NO_FRAME);
  glUseProgram_(program);
  return program;
}

int main(int argc, char** argv) {
  int width = 0, height = 0;
  if (argc < 5 || sscanf(argv[2], "%dx%d", &width, &height) != 2) return 2;
  const char* scene = argv[1];
  const int fills = !strcmp(scene, "fill"), calls = !strcmp(scene, "calls"), work = atoi(argv[3]);
  const long most = argv[4][0] == 'x' ? atol(argv[4] + 1) : 0;
  const int64_t lasts_ns = most ? 0 : (int64_t)(atof(argv[4]) * 1e9);
  const int times = argc > 5 ? open(argv[5], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600) : -1;

  start(width, height);
  FIND(eglGetCurrentDisplay);
  FIND(eglGetCurrentSurface);
  FIND(eglSwapBuffers);
  EGLDisplay display = eglGetCurrentDisplay_();
  EGLSurface surface = eglGetCurrentSurface_(EGL_DRAW);
  g_library = dlopen("libGLESv2.so.2", RTLD_NOW | RTLD_GLOBAL);
  if (!g_library) return fprintf(stderr, "%s\n", dlerror()), NOT_HERE;
  const GLuint program = built();
  FIND(glGetUniformLocation);
  FIND(glUniform1i);
  FIND(glUniform1f);
  FIND(glUniform2f);
  FIND(glEnableVertexAttribArray);
  FIND(glVertexAttribPointer);
  FIND(glGenBuffers);
  FIND(glBindBuffer);
  FIND(glBufferData);
  FIND(glClear);
  FIND(glDrawArrays);
  FIND(glFenceSync);
  FIND(glClientWaitSync);
  FIND(glDeleteSync);
  FIND(glGetError);
  static const float triangle[] = {-1, -1, 3, -1, -1, 3}; /* covers the whole target */
  GLuint buffer;
  glGenBuffers_(1, &buffer);
  glBindBuffer_(GL_ARRAY_BUFFER, buffer);
  glBufferData_(GL_ARRAY_BUFFER, sizeof triangle, triangle, GL_STATIC_DRAW);
  glEnableVertexAttribArray_(0);
  glVertexAttribPointer_(0, 2, GL_FLOAT, GL_FALSE, 0, NULL);
  const GLint place = glGetUniformLocation_(program, "place"), moment = glGetUniformLocation_(program, "moment");
  glUniform1i_(glGetUniformLocation_(program, "rounds"), fills ? work : 1);
  glUniform2f_(place, 0, 1);

  GLsync under_way[UNDER_WAY] = {0};
  const int64_t begin = now_ns();
  int64_t end = begin;
  long frames = 0;
  while (most ? frames < most : end - begin < lasts_ns) {
    GLsync* oldest = &under_way[frames % UNDER_WAY];
    if (*oldest) {
      if (glClientWaitSync_(*oldest, GL_SYNC_FLUSH_COMMANDS_BIT, 10000000000u) == GL_TIMEOUT_EXPIRED) return NO_FRAME;
      glDeleteSync_(*oldest);
    }
    glClear_(GL_COLOR_BUFFER_BIT);
    glUniform1f_(moment, (float)(frames % 1000) * 0.001f);
    for (int i = 0; i < (calls ? work : 1); i++) {
      if (calls) glUniform2f_(place, (float)(i % 100) * 0.01f, 0.01f);
      glDrawArrays_(GL_TRIANGLES, 0, 3);
    }
    *oldest = glFenceSync_(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
    if (!eglSwapBuffers_(display, surface)) return NO_FRAME;
    end = now_ns();
    if (times >= 0 && write(times, &end, sizeof end) != sizeof end) return NO_FRAME;
    frames++;
  }
  if (glGetError_() || !frames) return NO_FRAME;
  printf("FPS: %.0f FrameTime: %.4f ms\n", (double)frames * 1e9 / (double)(end - begin),
         (double)(end - begin) * 1e-6 / (double)frames);
  return 0;
}
