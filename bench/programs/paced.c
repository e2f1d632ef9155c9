/* Frames of busy work on an EGL that draws nothing.
 *   paced frames SECONDS LEAST_US MOST_US   work between the two for each frame, until the time is over
 *   paced swaps COUNT ROUNDS                nothing but frames: CPU time of each, as many_calls prints it
 *   paced shared SECONDS COST_US            work counted in CPU time of the thread, for programs that share a core */
#define _GNU_SOURCE
#include <EGL/egl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t clock_ns(clockid_t which) {
  struct timespec now;
  clock_gettime(which, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
static int by_value(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  EGLDisplay display = eglGetDisplay(EGL_DEFAULT_DISPLAY);
  eglInitialize(display, NULL, NULL);
  EGLConfig config;
  EGLint found;
  eglChooseConfig(display, NULL, &config, 1, &found);
  EGLSurface surface = eglCreatePbufferSurface(display, config, NULL);
  eglMakeCurrent(display, surface, surface, eglCreateContext(display, config, EGL_NO_CONTEXT, NULL));
  if (!strcmp(argv[1], "swaps")) {
    long calls = atol(argv[2]);
    int rounds = atoi(argv[3]);
    double samples[64];
    for (int i = 0; i < 1000; i++) eglSwapBuffers(display, surface);
    for (int round = 0; round < rounds && round < 64; round++) {
      int64_t from = clock_ns(CLOCK_THREAD_CPUTIME_ID);
      for (long i = 0; i < calls; i++) eglSwapBuffers(display, surface);
      samples[round] = (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - from) / (double)calls;
    }
    qsort(samples, (size_t)rounds, sizeof *samples, by_value);
    printf("%.2f ns/call median, %.2f least, %ld calls\n", samples[rounds / 2], samples[0], calls * rounds);
    return 0;
  }
  clockid_t work = !strcmp(argv[1], "shared") ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  int64_t end = clock_ns(CLOCK_MONOTONIC) + (int64_t)(atof(argv[2]) * 1e9);
  int64_t least = atol(argv[3]) * 1000, most = argc > 4 ? atol(argv[4]) * 1000 : least;
  uint32_t random = 1;
  while (clock_ns(CLOCK_MONOTONIC) < end) {
    random = random * 1664525u + 1013904223u;
    int64_t until = clock_ns(work) + least + (most > least ? (int64_t)(random >> 8) % (most - least) : 0);
    while (clock_ns(work) < until) {}
    eglSwapBuffers(display, surface);
  }
  return 0;
}
