/* Linked to libGL. */
#include <GL/gl.h>
#include "trap.h"
#ifdef OWN_OPTIONS
const char* __asan_default_options(void);
const char* __asan_default_options(void) { return OWN_OPTIONS; }
#endif
int main(void) {
  clears((clear_function)glClear, 3);
  glClear(GL_COLOR_BUFFER_BIT);
  glFlush();
  puts("calls glClear 4\ncalls glFlush 1");
  return succeed();
}
