/* Calls that are counted where a kill cannot reach: in a file's memory, after each call has returned.
 *
 * counted_calls COUNTER: calls glVertexAttrib4f until it is killed, with an upload now and then; COUNTER holds, as
 * a little-endian 64-bit number, how many of them were complete.
 */
#define _GNU_SOURCE
#include <GLES2/gl2.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "egl_start.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: counted_calls COUNTER\n");
    return 2;
  }
  int file = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || ftruncate(file, 4096)) return 1;
  volatile uint64_t* completed = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (completed == MAP_FAILED) return 1;
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_ES2_BIT);
  start_current(display, start_pbuffer(display, config, 16, 16), start_es(display, config, 2, 0, EGL_NO_CONTEXT));
  static unsigned char content[65536];
  GLuint buffer;
  glGenBuffers(1, &buffer);
  glBindBuffer(GL_ARRAY_BUFFER, buffer);
  glBufferData(GL_ARRAY_BUFFER, sizeof content, NULL, GL_DYNAMIC_DRAW);
  for (uint64_t i = 0;; i++) {
    if (i % 10000 == 9999) {
      memcpy(content + i % 60000, &i, sizeof i);
      glBufferSubData(GL_ARRAY_BUFFER, 0, sizeof content, content);
    }
    glVertexAttrib4f(1, (float)i, 1, 2, 3);
    *completed = i + 1;
  }
}
