/* A thread draws into a texture that another thread shows. Nothing flushes but that the first lets go of its context:
 * each frame it takes it, draws, and releases it. The context that shows was made ready by a third thread, which has
 * let go of it. Arguments: frames; alone: nobody draws into the texture, so that there is one context, which two
 * threads have in turn. */
#include <GLES2/gl2.h>
#include <pthread.h>
#include "egl_start.h"
#include "shader.h"

enum { SIDE = 32 };

static EGLDisplay display;
static EGLSurface surface, thread_surface;
static EGLContext context, thread_context;
static GLuint texture;
static int frames, alone;
static pthread_barrier_t turn;

static void* draw(void* unused) {
  GLuint framebuffer = 0;
  for (int frame = 0; frame < frames; frame++) {
    pthread_barrier_wait(&turn);
    eglBindAPI(EGL_OPENGL_ES_API);
    start_current(display, thread_surface, thread_context);
    if (!framebuffer) {
      glGenFramebuffers(1, &framebuffer);
      glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
      glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
      glEnable(GL_SCISSOR_TEST);
    }
    glScissor(0, 0, SIDE, SIDE);
    glClearColor((float)(frame % 5) / 4, 0.5f, 0, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    glScissor(frame % 16, 4, 9, 9);
    glClearColor(0, 0, (float)(frame % 3) / 2, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    pthread_barrier_wait(&turn);
  }
  return unused;
}

static void* show(void* unused) {
  eglBindAPI(EGL_OPENGL_ES_API);
  start_current(display, surface, context);
  for (int frame = 0; frame < frames; frame++) {
    if (!alone) {
      pthread_barrier_wait(&turn);
      pthread_barrier_wait(&turn);
    }
    glBindTexture(GL_TEXTURE_2D, texture); /* from here on what the other context drew is seen */
    glClearColor(0, 0, (float)(frame % 7) / 6, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
    eglSwapBuffers(display, surface);
  }
  printf("error 0x%x\n", glGetError());
  eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  return unused;
}

int main(int argc, char** argv) {
  frames = argc > 1 ? atoi(argv[1]) : 10;
  alone = argc > 2 && !strcmp(argv[2], "alone");
  display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_ES2_BIT);
  surface = start_pbuffer(display, config, SIDE, SIDE);
  thread_surface = start_pbuffer(display, config, 1, 1);
  context = start_es(display, config, 2, 0, EGL_NO_CONTEXT);
  thread_context = start_es(display, config, 2, 0, context);
  start_current(display, surface, context);
  glGenTextures(1, &texture);
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, SIDE, SIDE, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
  const char* names[] = {"place"};
  GLuint program = link_program(
      "attribute vec2 place; varying vec2 where;\n"
      "void main() { where = place * 0.5 + 0.5; gl_Position = vec4(place * 0.9, 0.0, 1.0); }\n",
      "precision mediump float; varying vec2 where; uniform sampler2D image;\n"
      "void main() { gl_FragColor = texture2D(image, where); }\n",
      names, 1);
  glUseProgram(program);
  const GLfloat square[] = {-1, -1, 1, -1, -1, 1, 1, 1};
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, square);
  glEnableVertexAttribArray(0);
  eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  pthread_t threads[2];
  pthread_barrier_init(&turn, NULL, 2);
  if (pthread_create(&threads[0], NULL, show, NULL) || (!alone && pthread_create(&threads[1], NULL, draw, NULL)))
    return 1;
  for (int i = 0; i < 2 - alone; i++) pthread_join(threads[i], NULL);
  eglTerminate(display);
  return 0;
}
