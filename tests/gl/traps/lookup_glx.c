/* glXGetProcAddress and its ARB form, looked up and linked. */
#include <GL/glx.h>
#include "trap.h"
int main(void) {
  /* libglvnd hands out something for every name. */
  printf("nonsense %s\n", glXGetProcAddress((const GLubyte*)"nonsense") ? "found" : "not found");
  clears((clear_function)glXGetProcAddress((const GLubyte*)"glClear"), 2);
  clears((clear_function)glXGetProcAddressARB((const GLubyte*)"glClear"), 3);
  typedef void* (*lookup)(const char*);
  void* handle = open_or_die("libGLX.so.0", RTLD_LAZY);
  lookup by_name = (lookup)dlsym(handle, "glXGetProcAddressARB");
  CHECK(by_name);
  clears((clear_function)by_name("glClear"), 4);
  lookup by_lookup = (lookup)glXGetProcAddress((const GLubyte*)"glXGetProcAddress");
  CHECK(by_lookup);
  clears((clear_function)by_lookup("glClear"), 5);
  ((flush_function)by_lookup("glFlush"))();
  puts("calls glClear 14\ncalls glFlush 1");
  return succeed();
}
