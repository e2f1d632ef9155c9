/* What the trap programs share.
 *
 * Each finds GL functions in one particular way, calls them a known number of times and says so: lines
 * "calls NAME COUNT" are what a trace must contain. The last line is EXIT-SUCCESS.
 * Most need no context: without a current one, libglvnd sends a call to a function that does nothing.
 */
#ifndef TRAP_H
#define TRAP_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*clear_function)(unsigned);
typedef void (*flush_function)(void);

#define CHECK(condition)                                            \
  do {                                                              \
    if (!(condition)) {                                             \
      printf("FAILED %s:%d: %s\n", __FILE__, __LINE__, #condition); \
      fflush(stdout);                                               \
      _Exit(1);                                                     \
    }                                                               \
  } while (0)

static inline void* open_or_die(const char* name, int flags) {
  void* handle = dlopen(name, flags);
  if (!handle) {
    printf("FAILED dlopen(%s): %s\n", name, dlerror());
    fflush(stdout);
    _Exit(1);
  }
  return handle;
}

static inline void clears(clear_function clear, int count) {
  CHECK(clear);
  for (int i = 0; i < count; i++) clear(0x4000);
}

static inline int succeed(void) {
  puts("EXIT-SUCCESS");
  return 0;
}
#endif
