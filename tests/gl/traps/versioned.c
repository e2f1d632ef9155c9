/* dlvsym: for a GL function, and to get at dlsym itself. */
#include "trap.h"
typedef void* (*dlsym_function)(void*, const char*);
int main(void) {
  void* handle = open_or_die("libGL.so.1", RTLD_LAZY);
#if defined(__x86_64__)
  const char* oldest = "GLIBC_2.2.5";
#else
  const char* oldest = "GLIBC_2.17";
#endif
  dlsym_function by_version = (dlsym_function)dlvsym(RTLD_NEXT, "dlsym", oldest);
  dlsym_function by_next = (dlsym_function)dlsym(RTLD_NEXT, "dlsym");
  CHECK(by_version && by_next);
  clears((clear_function)by_version(handle, "glClear"), 2);
  clears((clear_function)by_next(handle, "glClear"), 3);
  void* libc = open_or_die("libc.so.6", RTLD_LAZY);
  dlsym_function from_libc = (dlsym_function)dlsym(libc, "dlsym");
  if (!from_libc) from_libc = (dlsym_function)dlsym(open_or_die("libdl.so.2", RTLD_LAZY), "dlsym");
  CHECK(from_libc);
  clears((clear_function)from_libc(handle, "glClear"), 4);
  /* An object without versions answers a look-up for any of them. */
  clear_function clear = (clear_function)dlvsym(handle, "glClear", oldest);
  if (clear) {
    clears(clear, 5);
    puts("calls glClear 14");
  } else {
    puts("calls glClear 9");
  }
  return succeed();
}
