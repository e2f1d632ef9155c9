/* Vertices stored through one persistent mapping, four draws a frame, each right behind what was stored for it. A
 * frame's first three draws use the same bytes as the frames before, its last uses bytes that only frame 2 stores.
 * With `threads` one thread stores, each time before a call of its own, and another draws. mapped_frames [FRAMES]
 * [threads] */
#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include <pthread.h>
#include <string.h>
#include "egl_start.h"
#include "shader.h"

enum { DRAWS = 4, FLOATS = 8 };

static EGLDisplay display;
static EGLSurface surface, other_surface;
static EGLContext context, other_context;
static pthread_barrier_t turn;
static float* mapped;
static int frames, threads;

static void store(int frame, int draw) {
  if (draw == DRAWS - 1 && frame != 2) return;
  const float x = -0.9f + 0.1f * (float)(frame % 7) + 0.45f * (float)draw, y = 0.1f * (float)(frame % 5) - 0.6f;
  const float corners[FLOATS] = {x, y, x + 0.3f, y, x, y + 0.5f, x + 0.3f, y + 0.5f};
  memcpy(mapped + draw * FLOATS, corners, sizeof corners);
}

static void* stores(void* unused) {
  eglBindAPI(EGL_OPENGL_API);
  start_current(display, other_surface, other_context);
  for (int frame = 0; frame < frames; frame++) {
    pthread_barrier_wait(&turn);
    for (int draw = 0; draw < DRAWS; draw++) store(frame, draw);
    glFlush(); /* what was stored is seen here */
    pthread_barrier_wait(&turn);
  }
  eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  return unused;
}

int main(int argc, char** argv) {
  frames = argc > 1 ? atoi(argv[1]) : 10;
  threads = argc > 2 && !strcmp(argv[2], "threads");
  display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_BIT);
  surface = start_pbuffer(display, config, 64, 64), other_surface = start_pbuffer(display, config, 8, 8);
  context = start_gl(display, config, 4, 5, 1, EGL_NO_CONTEXT);
  other_context = start_gl(display, config, 4, 5, 1, context);
  start_current(display, surface, context);
  const char* names[] = {"at"};
  GLuint program = link_program("#version 330\nin vec2 at; void main() { gl_Position = vec4(at, 0, 1); }",
                                "#version 330\nuniform vec4 ink; out vec4 c; void main() { c = ink; }", names, 1);
  GLuint buffer, array;
  const GLbitfield how = GL_MAP_WRITE_BIT | GL_MAP_PERSISTENT_BIT | GL_MAP_COHERENT_BIT;
  const GLsizeiptr bytes = DRAWS * FLOATS * sizeof(float);
  glCreateBuffers(1, &buffer);
  glNamedBufferStorage(buffer, bytes, NULL, how);
  mapped = glMapNamedBufferRange(buffer, 0, bytes, how);
  memset(mapped, 0, (size_t)bytes);
  glGenVertexArrays(1, &array);
  glBindVertexArray(array);
  glBindBuffer(GL_ARRAY_BUFFER, buffer);
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, NULL);
  glEnableVertexAttribArray(0);
  glUseProgram(program);
  glClear(GL_COLOR_BUFFER_BIT); /* glFinish ends a frame, and a new pbuffer holds whatever its memory held */
  glFinish();
  const GLint ink = glGetUniformLocation(program, "ink");
  pthread_barrier_init(&turn, NULL, 2);
  pthread_t thread;
  if (threads) pthread_create(&thread, NULL, stores, NULL);
  for (int frame = 0; frame < frames; frame++) {
    if (threads) {
      pthread_barrier_wait(&turn);
      pthread_barrier_wait(&turn);
    }
    glClearColor(0, 0, 0.3f, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    for (int draw = 0; draw < DRAWS; draw++) {
      if (!threads) store(frame, draw);
      glUniform4f(ink, 1, 0.2f * (float)draw, 0.3f * (float)(frame % 3), 1);
      glDrawArrays(GL_TRIANGLE_STRIP, draw * 4, 4);
    }
    eglSwapBuffers(display, surface);
  }
  if (threads) pthread_join(thread, NULL);
  printf("error 0x%x\n", glGetError());
  eglTerminate(display);
  return 0;
}
