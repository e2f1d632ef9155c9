/* Uploads of 1 MB: new content each time, or the same content again and again.
 *
 * uploads buffer|texture new|same N ROUNDS: prints the line that many_calls prints.
 */
#define _GNU_SOURCE
#include <GLES2/gl2.h>
#include <time.h>
#include "egl_start.h"

enum { MEGABYTE = 1 << 20, SIDE = 512 };

static double thread_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  if (argc < 5) {
    fprintf(stderr, "usage: uploads buffer|texture new|same N ROUNDS\n");
    return 2;
  }
  int texture = !strcmp(argv[1], "texture"), fresh = !strcmp(argv[2], "new");
  long count = atol(argv[3]);
  int rounds = atoi(argv[4]);
  if (count < 1 || rounds < 1) return 2;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_ES2_BIT);
  start_current(display, start_pbuffer(display, config, 16, 16), start_es(display, config, 2, 0, EGL_NO_CONTEXT));
  uint32_t random = 12345;
  unsigned char* content = malloc(MEGABYTE);
  for (int i = 0; i < MEGABYTE; i++) content[i] = (unsigned char)(i & 32 ? next_random(&random) : (uint32_t)i >> 10);
  GLuint name;
  if (texture) {
    glGenTextures(1, &name);
    glBindTexture(GL_TEXTURE_2D, name);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, SIDE, SIDE, 0, GL_RGBA, GL_UNSIGNED_BYTE, content);
  } else {
    glGenBuffers(1, &name);
    glBindBuffer(GL_ARRAY_BUFFER, name);
    glBufferData(GL_ARRAY_BUFFER, MEGABYTE, content, GL_DYNAMIC_DRAW);
  }
  double* ns = calloc((size_t)rounds, sizeof(double));
  long done = 0;
  for (int round = 0; round < rounds; round++) {
    double before = thread_ns();
    for (long i = 0; i < count; i++, done++) {
      if (fresh) memcpy(content + 64 * (done % 1000), &done, sizeof done);
      if (texture)
        glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, SIDE, SIDE, GL_RGBA, GL_UNSIGNED_BYTE, content);
      else
        glBufferSubData(GL_ARRAY_BUFFER, 0, MEGABYTE, content);
    }
    ns[round] = (thread_ns() - before) / (double)count;
  }
  if (glGetError()) fprintf(stderr, "GL error in the loop\n");
  qsort(ns, (size_t)rounds, sizeof(double), by_value);
  printf("%s %s %.2f ns/call median, %.2f least, %ld calls, 1 threads\n", argv[1], argv[2], ns[rounds / 2], ns[0],
         done);
  eglTerminate(display);
  return 0;
}
