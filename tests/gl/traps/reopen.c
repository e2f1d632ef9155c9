/* Open, use and close again and again; also a library of ours that really goes away. */
#include "trap.h"
#include <sys/mman.h>
int main(int argc, char** argv) {
  CHECK(argc == 2);
  for (int i = 0; i < 100; i++) {
    void* gl = open_or_die("libGL.so.1", RTLD_NOW);
    void* fake = open_or_die(argv[1], RTLD_NOW);
    clears((clear_function)dlsym(gl, "glClear"), 1);
    clears((clear_function)dlsym(fake, "glClear"), 2);
    CHECK(((int (*)(void))dlsym(fake, "fake_clears"))() == 2);
    CHECK(dlclose(i & 1 ? gl : fake) == 0);
    CHECK(dlclose(i & 1 ? fake : gl) == 0);
    /* So that the next mapping falls elsewhere. */
    CHECK(mmap(NULL, 4096 * (size_t)(1 + i % 37), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
  }
  puts("calls glClear 300");
  return succeed();
}
