/* use_plugin FILE FLAG...: a library that is linked to libGL is opened after start. */
#include "trap.h"
int main(int argc, char** argv) {
  int flags = RTLD_LOCAL;
  for (int i = 2; i < argc; i++) {
    if (!strcmp(argv[i], "lazy")) flags |= RTLD_LAZY;
    if (!strcmp(argv[i], "now")) flags |= RTLD_NOW;
    if (!strcmp(argv[i], "global")) flags |= RTLD_GLOBAL;
    if (!strcmp(argv[i], "deepbind")) flags |= RTLD_DEEPBIND;
  }
  void* plugin = open_or_die(argv[1], flags);
  CHECK(!dlerror());
  void (*draw)(void) = (void (*)(void))dlsym(plugin, "plugin_draw");
  void (*finish)(void) = (void (*)(void))dlsym(plugin, "plugin_finish");
  CHECK(draw && finish);
  draw();
  finish();
  puts("calls glClear 4\ncalls glFlush 2\ncalls glFinish 1");
  return succeed();
}
