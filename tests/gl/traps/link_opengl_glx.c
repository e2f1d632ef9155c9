/* Linked to libOpenGL and libGLX, the two halves of libGL. */
#include <GL/glx.h>
#include "trap.h"
int main(void) {
  for (int i = 0; i < 5; i++) glClear(GL_COLOR_BUFFER_BIT);
  CHECK(glXGetCurrentContext() == NULL);
  CHECK(glXGetCurrentDrawable() == 0);
  puts("calls glClear 5\ncalls glXGetCurrentContext 1\ncalls glXGetCurrentDrawable 1");
  return succeed();
}
