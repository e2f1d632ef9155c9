/* Uploads whose contents differ in one byte, come again, or are noise; then it kills itself.
 *
 * Byte k of seed s is noise_byte(s, k), and the byte at PLACE of those in the list is what stands beside the seed.
 */
#include <GLES2/gl2.h>
#include <signal.h>
#include "egl_start.h"

enum { LONG = 1300000, PLACE = 70001, QUIET = 4, NOISY = 200000 };

static unsigned char noise_byte(uint32_t seed, uint32_t k) {
  if (seed == QUIET && k >= NOISY) return 0;
  uint32_t x = (k ^ seed << 24) * 0x9e3779b1u;
  x = (x ^ x >> 15) * 0x85ebca77u;
  return (unsigned char)(x ^ x >> 13);
}

int main(void) {
  EGLDisplay display = start_display();
  EGLConfig config = start_config(display, EGL_OPENGL_ES2_BIT);
  start_current(display, start_pbuffer(display, config, 16, 16), start_es(display, config, 2, 0, EGL_NO_CONTEXT));
  static unsigned char content[LONG];
  GLuint buffer;
  glGenBuffers(1, &buffer);
  glBindBuffer(GL_ARRAY_BUFFER, buffer);
  glBufferData(GL_ARRAY_BUFFER, LONG, NULL, GL_STREAM_DRAW);
  /* seed, byte: long enough in a row that the recorder takes what it sees for something that always changes */
  static const unsigned char list[][2] = {{1, 0}, {1, 1}, {1, 2}, {1, 3}, {1, 4},    {1, 5}, {1, 6},
                                          {1, 7}, {1, 8}, {1, 9}, {1, 9}, {1, 9},    {1, 3}, {2, 0},
                                          {2, 0}, {2, 0}, {3, 0}, {1, 0}, {QUIET, 0}};
  for (unsigned i = 0; i < sizeof list / sizeof *list; i++) {
    for (uint32_t k = 0; k < LONG; k++) content[k] = noise_byte(list[i][0], k);
    content[PLACE] = list[i][1];
    glBufferSubData(GL_ARRAY_BUFFER, 0, LONG, content);
  }
  raise(SIGKILL);
}
