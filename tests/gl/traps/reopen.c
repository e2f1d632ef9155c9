/* Open, use and close again and again; also a library of ours that really goes away. */
#include "trap.h"
int main(int argc, char** argv) {
  CHECK(argc == 2);
  for (int i = 0; i < 12; i++) {
    void* gl = open_or_die("libGL.so.1", RTLD_NOW);
    void* fake = open_or_die(argv[1], RTLD_NOW);
    clears((clear_function)dlsym(gl, "glClear"), 1);
    clears((clear_function)dlsym(fake, "glClear"), 2);
    CHECK(((int (*)(void))dlsym(fake, "fake_clears"))() == 2);
    CHECK(dlclose(i & 1 ? gl : fake) == 0);
    CHECK(dlclose(i & 1 ? fake : gl) == 0);
    void* filler = malloc(100000 * (size_t)(i + 1)); /* so that the next mapping falls elsewhere */
    CHECK(filler);
  }
  puts("calls glClear 36");
  return succeed();
}
