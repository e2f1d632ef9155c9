/* runpath program|library: a bare name that only the caller's DT_RUNPATH leads to. */
#include "trap.h"
void* opener_open(const char* name);
int main(int argc, char** argv) {
  CHECK(argc == 3);
  void* plugin = !strcmp(argv[1], "library") ? opener_open(argv[2]) : dlopen(argv[2], RTLD_LAZY);
  if (!plugin) {
    printf("%s\n", dlerror());
    puts("calls glClear 0");
    return succeed();
  }
  ((void (*)(void))dlsym(plugin, "plugin_draw_plain"))();
  puts("calls glClear 2");
  return succeed();
}
