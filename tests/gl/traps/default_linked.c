/* RTLD_DEFAULT and RTLD_NEXT from a program linked to libGL. */
#include <GL/gl.h>
#include "trap.h"
int main(void) {
  clear_function by_default = (clear_function)dlsym(RTLD_DEFAULT, "glClear");
  clear_function by_next = (clear_function)dlsym(RTLD_NEXT, "glClear");
  CHECK(by_default == by_next);
  clears(by_default, 4);
  clears(by_next, 5);
  glFlush();
  puts("calls glClear 9\ncalls glFlush 1");
  return succeed();
}
