/* The program's calls go through a library of its own that looks the real function up by RTLD_NEXT. */
#include <GL/gl.h>
#include "trap.h"
extern int shim_calls;
int main(void) {
  for (int i = 0; i < 8; i++) glClear(GL_COLOR_BUFFER_BIT);
  CHECK(shim_calls == 8);
  glFlush();
  puts("calls glClear 8\ncalls glFlush 1");
  return succeed();
}
