/* Three libraries with the same names in one process: each pointer leads to its own library. */
#include "trap.h"
int main(int argc, char** argv) {
  CHECK(argc == 2);
  void* fake = open_or_die(argv[1], RTLD_NOW);
  void* gl = open_or_die("libGL.so.1", RTLD_NOW);
  void* es = open_or_die("libGLESv2.so.2", RTLD_NOW);
  clear_function by_fake = (clear_function)dlsym(fake, "glClear");
  clear_function by_gl = (clear_function)dlsym(gl, "glClear");
  clear_function by_es = (clear_function)dlsym(es, "glClear");
  CHECK(by_fake != by_gl && by_gl != by_es && by_fake != by_es);
  clears(by_gl, 3);
  clears(by_fake, 4);
  clears(by_es, 5);
  clears(by_fake, 6);
  int (*fake_clears)(void) = (int (*)(void))dlsym(fake, "fake_clears");
  int (*fake_flushes)(void) = (int (*)(void))dlsym(fake, "fake_flushes");
  CHECK(fake_clears() == 10 && fake_flushes() == 0);
  ((flush_function)dlsym(fake, "glFlush"))();
  ((flush_function)dlsym(gl, "glFlush"))();
  CHECK(fake_flushes() == 1);
  /* What a library calls inside itself is its own business. */
  ((flush_function)dlsym(fake, "glFinish"))();
  CHECK(fake_clears() == 11 && fake_flushes() == 2);
  puts("calls glClear 18\ncalls glFlush 2\ncalls glFinish 1");
  return succeed();
}
