/* dlmopen into a namespace of its own: looked-up functions are seen; nothing crashes. */
#include "trap.h"
int main(void) {
  void* handle = dlmopen(LM_ID_NEWLM, "libGLESv2.so.2", RTLD_LAZY);
  CHECK(handle);
  clears((clear_function)dlsym(handle, "glClear"), 5);
  puts("calls glClear 5");
  return succeed();
}
