/* Two threads, three contexts: two share their objects, the third does not and uses the same names for others; in the
 * end a context moves from one thread to the other. Threads take turns, so that the result is always the same. */
#include <GLES3/gl3.h>
#include <pthread.h>
#include "egl_start.h"
#include "shader.h"

enum { SIDE = 32 };

static EGLDisplay g_display;
static EGLConfig g_config;
static EGLContext g_first, g_shared, g_alone;
static GLuint g_buffer, g_texture;
static pthread_barrier_t g_turn;
static GLsync g_ready;
static uint64_t g_sums[2];

static GLuint make_program(void) {
  const char* names[] = {"position"};
  return link_program(
      "attribute vec2 position; varying vec2 c; void main() { c = position; gl_Position = vec4(position, 0.0, 1.0); }\n",
      "precision mediump float; uniform sampler2D t; varying vec2 c; void main() { gl_FragColor = texture2D(t, c); }\n",
      names, 1);
}

static void draw(int slot) {
  static unsigned char pixels[2][SIDE * SIDE * 4];
  glViewport(0, 0, SIDE, SIDE);
  glClearColor(0.2f, 0, 0.4f, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  glBindBuffer(GL_ARRAY_BUFFER, g_buffer);
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, (void*)0);
  glEnableVertexAttribArray(0);
  glBindTexture(GL_TEXTURE_2D, g_texture);
  glDrawArrays(GL_TRIANGLES, 0, 3);
  glReadPixels(0, 0, SIDE, SIDE, GL_RGBA, GL_UNSIGNED_BYTE, pixels[slot]);
  g_sums[slot] = checksum(g_sums[slot], pixels[slot], sizeof pixels[slot]);
}

static void make_objects(int shift) {
  const GLfloat corners[] = {-0.9f, -0.9f, 0.9f, -0.8f, 0.1f * (float)shift, 0.9f};
  unsigned char texels[4 * 4 * 4];
  for (int i = 0; i < 64; i++) texels[i] = (unsigned char)(i * 4 + shift * 30);
  glBindBuffer(GL_ARRAY_BUFFER, g_buffer);
  glBufferData(GL_ARRAY_BUFFER, sizeof corners, corners, GL_STATIC_DRAW);
  glBindTexture(GL_TEXTURE_2D, g_texture);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 4, 4, 0, GL_RGBA, GL_UNSIGNED_BYTE, texels);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
}

static void wait_turn(void) { pthread_barrier_wait(&g_turn); }

static void* second_thread(void* unused) {
  (void)unused;
  EGLSurface surface = start_pbuffer(g_display, g_config, SIDE, SIDE);
  eglBindAPI(EGL_OPENGL_ES_API);
  /* The context that shares nothing: the same names, other content. */
  start_current(g_display, surface, g_alone);
  make_objects(5);
  glUseProgram(make_program());
  draw(1);
  wait_turn(); /* 1: the first thread has made its objects */
  start_current(g_display, surface, g_shared);
  glUseProgram(make_program());
  glWaitSync(g_ready, 0, GL_TIMEOUT_IGNORED);
  draw(1);
  wait_turn(); /* 2 */
  wait_turn(); /* 3: the first thread changed them */
  draw(1);
  eglMakeCurrent(g_display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  wait_turn(); /* 4: the first thread let go of its context */
  start_current(g_display, surface, g_first);
  draw(1);
  eglSwapBuffers(g_display, surface);
  eglMakeCurrent(g_display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  eglReleaseThread();
  return NULL;
}

int main(void) {
  g_display = start_display();
  g_config = start_config(g_display, EGL_OPENGL_ES3_BIT);
  EGLSurface surface = start_pbuffer(g_display, g_config, SIDE, SIDE);
  g_first = start_es(g_display, g_config, 3, 0, EGL_NO_CONTEXT);
  g_shared = start_es(g_display, g_config, 3, 0, g_first);
  g_alone = start_es(g_display, g_config, 3, 0, EGL_NO_CONTEXT);
  start_current(g_display, surface, g_first);
  glGenBuffers(1, &g_buffer);
  glGenTextures(1, &g_texture);
  pthread_barrier_init(&g_turn, NULL, 2);
  pthread_t thread;
  pthread_create(&thread, NULL, second_thread, NULL);
  make_objects(1);
  glUseProgram(make_program());
  draw(0);
  g_ready = glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
  glFlush();
  wait_turn(); /* 1 */
  wait_turn(); /* 2 */
  make_objects(3);
  draw(0);
  glFinish();
  eglSwapBuffers(g_display, surface);
  wait_turn(); /* 3 */
  eglMakeCurrent(g_display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  wait_turn(); /* 4 */
  pthread_join(thread, NULL);
  printf("checksums %016llx %016llx\n", (unsigned long long)g_sums[0], (unsigned long long)g_sums[1]);
  eglDestroyContext(g_display, g_shared);
  eglDestroyContext(g_display, g_alone);
  eglDestroyContext(g_display, g_first);
  eglTerminate(g_display);
  return 0;
}
