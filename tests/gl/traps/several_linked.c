/* Linked to libGL; a library of ours with the same names is looked up first, then used beside it. */
#include <GL/gl.h>
#include "trap.h"
int main(int argc, char** argv) {
  CHECK(argc == 2);
  void* fake = open_or_die(argv[1], RTLD_NOW);
  int (*fake_clears)(void) = (int (*)(void))dlsym(fake, "fake_clears");
  clears((clear_function)dlsym(fake, "glClear"), 4);
  CHECK(fake_clears() == 4);
  for (int i = 0; i < 3; i++) glClear(GL_COLOR_BUFFER_BIT);
  CHECK(fake_clears() == 4);
  puts("calls glClear 7");
  return succeed();
}
