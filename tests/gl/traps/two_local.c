/* Two local libraries, linked to different GL libraries with the same names: each keeps its own. */
#include "trap.h"
int main(int argc, char** argv) {
  CHECK(argc == 4);
  int mode = !strcmp(argv[3], "lazy") ? RTLD_LAZY : RTLD_NOW;
  void* user = open_or_die(argv[1], mode | RTLD_LOCAL);
  void* plugin = open_or_die(argv[2], mode | RTLD_LOCAL);
  ((void (*)(void))dlsym(user, "user_draw"))();
  ((void (*)(void))dlsym(plugin, "plugin_draw_plain"))();
  CHECK(((int (*)(void))dlsym(user, "user_seen"))() == 3);
  puts("calls glClear 5");
  return succeed();
}
