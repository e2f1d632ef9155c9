/* Look-ups that fail, fail as they do without the tap. */
#include "trap.h"
static void absent(void* handle, const char* name) {
  CHECK(!dlsym(handle, name));
  const char* said = dlerror();
  CHECK(said);
  const char* leaf = strrchr(said, '/');
  printf("%s: %s\n", name, leaf ? leaf : said);
  CHECK(!dlerror());
}
int main(void) {
  void* es = open_or_die("libGLESv2.so.2", RTLD_LAZY);
  absent(es, "glBegin");
  absent(es, "glXSwapBuffers");
  absent(es, "eglInitialize");
  absent(es, "glNoSuchFunction");
  CHECK(!dlopen("libNoSuchGL.so.1", RTLD_LAZY));
  printf("%s\n", dlerror());
  clears((clear_function)dlsym(es, "glClear"), 1);
  puts("calls glClear 1\ncalls glBegin 0");
  return succeed();
}
