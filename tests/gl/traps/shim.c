/* A library between program and libGL: defines glClear itself and goes on by RTLD_NEXT. */
#include "trap.h"
int shim_calls;
void glClear(unsigned mask) {
  static clear_function next;
  if (!next) next = (clear_function)dlsym(RTLD_NEXT, "glClear");
  CHECK(next);
  shim_calls++;
  next(mask);
}
