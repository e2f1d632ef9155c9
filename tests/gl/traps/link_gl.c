/* Linked to libGL. */
#include <GL/gl.h>
#include "trap.h"
int main(void) {
  clears((clear_function)glClear, 3);
  glClear(GL_COLOR_BUFFER_BIT);
  glFlush();
  puts("calls glClear 4\ncalls glFlush 1");
  return succeed();
}
