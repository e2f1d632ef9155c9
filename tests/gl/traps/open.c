/* open NAME FLAG...: dlopen NAME with the flags, then dlsym. */
#include "trap.h"
int main(int argc, char** argv) {
  int flags = 0;
  for (int i = 2; i < argc; i++) {
    if (!strcmp(argv[i], "lazy")) flags |= RTLD_LAZY;
    if (!strcmp(argv[i], "now")) flags |= RTLD_NOW;
    if (!strcmp(argv[i], "global")) flags |= RTLD_GLOBAL;
    if (!strcmp(argv[i], "deepbind")) flags |= RTLD_DEEPBIND;
    if (!strcmp(argv[i], "noload")) flags |= RTLD_NOLOAD;
  }
  if (flags & RTLD_NOLOAD) {
    CHECK(!dlopen(argv[1], flags));
    open_or_die(argv[1], flags & ~RTLD_NOLOAD);
  }
  void* handle = open_or_die(argv[1], flags);
  clear_function first = (clear_function)dlsym(handle, "glClear");
  clear_function again = (clear_function)dlsym(handle, "glClear");
  CHECK(first == again);
  clears(first, 3);
  CHECK(!dlerror());
  puts("calls glClear 3");
  return succeed();
}
