/* A driver of ours in front of another one that goes wrong at the N-th draw (FAKE_AT=N, from 0), loaded with
 * LD_PRELOAD. FAKE_DOES=hang|crash|eat|wrong|exit|stop says how. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long g_draws;
typedef void (*Draw)(unsigned, int, int);
static Draw g_draw;
static void* (*g_get)(const char*);

static void goes_wrong(void) {
  const char* does = getenv("FAKE_DOES");
  if (!does) return;
  if (!strcmp(does, "hang"))
    for (;;) pause();
  if (!strcmp(does, "stop")) raise(SIGSTOP);
  if (!strcmp(does, "crash")) raise(SIGSEGV);
  if (!strcmp(does, "exit")) _exit(9);
  if (!strcmp(does, "eat"))
    for (;;) {
      char* more = malloc(16 << 20);
      if (more) memset(more, 1, 16 << 20);
    }
}

static void draw(unsigned mode, int first, int count) {
  const char* at = getenv("FAKE_AT");
  const char* does = getenv("FAKE_DOES");
  if (g_draws++ == (at ? atol(at) : 0)) {
    goes_wrong();
    if (does && !strcmp(does, "wrong")) return; /* nothing is drawn */
  }
  g_draw(mode, first, count);
}

void* eglGetProcAddress(const char* name) {
  if (!g_get) g_get = dlsym(RTLD_NEXT, "eglGetProcAddress");
  void* found = g_get(name);
  if (!strcmp(name, "glDrawArrays") && found) {
    g_draw = (Draw)found;
    return (void*)draw;
  }
  return found;
}
