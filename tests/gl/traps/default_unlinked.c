/* No GL library in scope: NULL; one in the global scope: found; and what it says when it fails. */
#include "trap.h"
int main(void) {
  CHECK(!dlsym(RTLD_DEFAULT, "glClear"));
  CHECK(dlerror());
  CHECK(!dlsym(RTLD_NEXT, "glClear"));
  CHECK(!dlsym(dlopen(NULL, RTLD_LAZY), "eglInitialize"));
  CHECK(!dlsym(dlopen(NULL, RTLD_LAZY), "glXSwapBuffers"));
  void* local = open_or_die("libGLESv2.so.2", RTLD_NOW | RTLD_LOCAL);
  CHECK(!dlsym(RTLD_DEFAULT, "glClear"));
  CHECK(dlsym(local, "glClear"));
  open_or_die("libGL.so.1", RTLD_NOW | RTLD_GLOBAL);
  clears((clear_function)dlsym(RTLD_DEFAULT, "glClear"), 6);
  puts("calls glClear 6");
  return succeed();
}
