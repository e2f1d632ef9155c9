/* threads PLUGIN FAKE: threads open, look up, draw and close at the same time. */
#include <pthread.h>
#include "trap.h"
enum { THREADS = 4, ROUNDS = 60 };
static char** names;
static void* work(void* unused) {
  (void)unused;
  for (int i = 0; i < ROUNDS; i++) {
    void* plugin = open_or_die(names[1], i & 1 ? RTLD_NOW : RTLD_LAZY);
    void* fake = open_or_die(names[2], RTLD_NOW);
    void* es = open_or_die("libGLESv2.so.2", RTLD_LAZY);
    ((void (*)(void))dlsym(plugin, "plugin_draw_plain"))();
    clears((clear_function)dlsym(fake, "glClear"), 1);
    clears((clear_function)dlsym(es, "glClear"), 1);
    CHECK(!dlsym(es, "glBegin"));
    CHECK(dlclose(es) == 0 && dlclose(fake) == 0 && dlclose(plugin) == 0);
  }
  return NULL;
}
int main(int argc, char** argv) {
  CHECK(argc == 3);
  names = argv;
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) CHECK(!pthread_create(&threads[i], NULL, work, NULL));
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  printf("calls glClear %d\n", THREADS * ROUNDS * 4);
  return succeed();
}
