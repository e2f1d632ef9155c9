/* Weak references: absent functions stay absent. */
#include "trap.h"
extern void glClear(unsigned) __attribute__((weak));
extern void* eglGetCurrentContext(void) __attribute__((weak));
static clear_function volatile in_data = glClear;
int main(void) {
  printf("glClear %s, eglGetCurrentContext %s, in data %s\n", glClear ? "there" : "absent",
         eglGetCurrentContext ? "there" : "absent", in_data ? "there" : "absent");
  if (glClear) glClear(0x4000);
  puts(glClear ? "calls glClear 1" : "calls glClear 0");
  return succeed();
}
