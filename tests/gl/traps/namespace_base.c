/* dlmopen into the base namespace: as dlopen. */
#include "trap.h"
int main(void) {
  void* handle = dlmopen(LM_ID_BASE, "libGL.so.1", RTLD_LAZY);
  CHECK(handle);
  clears((clear_function)dlsym(handle, "glClear"), 5);
  puts("calls glClear 5");
  return succeed();
}
