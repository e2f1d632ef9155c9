/* Calls without end, on one or more threads, and a count of those that returned that survives this program.
 *
 * kill_calls PROGRESS END THREADS [CALLS [FRAME]]: call i of a thread is glVertexAttrib4f(thread, i, i + 0.5, 0, 1)
 * with i modulo 2^22. After it returned, the thread's count in the file PROGRESS is i + 1. When the first thread has
 * made CALLS (default: never; 0: never) the program ends by END: return exit _exit quick_exit abort segv kill sleep.
 * After each FRAME calls a thread shows a frame; where END is slow, it rests then. Where END is halt, it stops after
 * half of CALLS, and returns at their end when somebody lets it go on.
 */
#define _GNU_SOURCE
#include <GLES2/gl2.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "programs/egl_start.h"

static volatile uint64_t* g_progress;
static const char* g_end;
static uint64_t g_calls, g_frame;
static EGLDisplay g_display;
static EGLConfig g_config;

static void end_here(void) {
  if (!strcmp(g_end, "exit")) exit(3);
  if (!strcmp(g_end, "_exit")) _exit(4);
  if (!strcmp(g_end, "quick_exit")) quick_exit(5);
  if (!strcmp(g_end, "abort")) abort();
  if (!strcmp(g_end, "segv")) *(volatile int*)8 = 1;
  if (!strcmp(g_end, "kill")) kill(getpid(), SIGKILL);
  if (!strcmp(g_end, "sleep"))
    for (;;) pause();
}

static void* draw(void* argument) {
  const GLuint thread = (GLuint)(uintptr_t)argument;
  EGLContext context = start_es(g_display, g_config, 2, 0, EGL_NO_CONTEXT);
  EGLSurface surface = start_pbuffer(g_display, g_config, 16, 16);
  if (!eglMakeCurrent(g_display, surface, surface, context)) exit(77);
  for (uint64_t i = 0;; i++) {
    const float x = (float)(i & 0x3fffff);
    glVertexAttrib4f(thread, x, x + 0.5f, 0, 1);
    g_progress[thread] = i + 1;
    if (i % 64 == 63) usleep(20); /* about a million calls a second: the traces stay small */
    if (g_frame && i % g_frame == g_frame - 1) {
      eglSwapBuffers(g_display, surface);
      if (!strcmp(g_end, "slow")) usleep(10000);
    }
    if (thread == 0 && i + 1 == g_calls / 2 && !strcmp(g_end, "halt")) raise(SIGSTOP);
    if (thread == 0 && i + 1 == g_calls) break;
  }
  end_here();
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  int file = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (file < 0 || ftruncate(file, 4096)) return 2;
  g_progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  g_end = argv[2];
  g_calls = argc > 4 ? strtoull(argv[4], NULL, 0) : 0;
  g_frame = argc > 5 ? strtoull(argv[5], NULL, 0) : 0;
  g_display = start_display();
  g_config = start_config(g_display, EGL_OPENGL_ES2_BIT);
  pthread_t other;
  for (long t = 1; t < atol(argv[3]); t++) pthread_create(&other, NULL, draw, (void*)t);
  draw(NULL);
  return 0;
}
