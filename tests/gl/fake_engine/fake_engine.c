/* A driver of ours in front of another one that goes wrong at the N-th draw (FAKE_AT=N, from 0), loaded with
 * LD_PRELOAD. FAKE_DOES says how: hang|crash|eat|exit|stop|kill|error (a GL error), or in the picture: wrong (nothing
 * is drawn); from there on tires (each run is slower than the one before, FAKE_FILE counts them), blend, mask (no
 * blue), jitter (a pixel somewhere has any colour), slow (each draw takes longer). wait: at that draw, until the file
 * FAKE_FILE is there; meanwhile FAKE_FILE-PID is, and FAKE_NODE is open. lost: the same, and then the context is lost,
 * by the fault of FAKE_FAULT (guilty, innocent; nobody says). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static long g_draws;
typedef void (*Draw)(unsigned, int, int);
static Draw g_draw;
static void* (*g_get)(const char*);

static void (*g_enable)(unsigned), (*g_disable)(unsigned), (*g_blend)(unsigned, unsigned), (*g_clear)(unsigned);
static void (*g_mask)(unsigned char, unsigned char, unsigned char, unsigned char);
static void (*g_scissor)(int, int, int, int), (*g_color)(float, float, float, float);

static int g_lost;
static unsigned (*g_error)(void), (*g_status)(void);

static void waits(void) {
  char name[4096];
  snprintf(name, sizeof name, "%s-%d", getenv("FAKE_FILE"), (int)getpid());
  if (getenv("FAKE_NODE") && open(getenv("FAKE_NODE"), O_RDONLY) < 0) abort();
  close(open(name, O_CREAT | O_WRONLY, 0600));
  while (access(getenv("FAKE_FILE"), F_OK)) usleep(10000);
}

static unsigned error(void) { return g_lost ? 0x0507 : g_error(); }

static unsigned status(void) {
  const char* fault = getenv("FAKE_FAULT");
  if (!g_lost) return g_status ? g_status() : 0;
  return !fault ? 0 : !strcmp(fault, "guilty") ? 0x8253 : 0x8254;
}

static void goes_wrong(void) {
  const char* does = getenv("FAKE_DOES");
  if (!does) return;
  if (!strcmp(does, "hang"))
    for (;;) pause();
  if (!strcmp(does, "wait") || !strcmp(does, "lost")) waits();
  g_lost = !strcmp(does, "lost");
  if (!strcmp(does, "stop")) raise(SIGSTOP);
  if (!strcmp(does, "kill")) kill(getppid(), SIGKILL); /* who plays it is lost with it */
  if (!strcmp(does, "crash")) raise(SIGSEGV);
  if (!strcmp(does, "exit")) _exit(9);
  if (!strcmp(does, "error")) g_enable(0xFFFF);
  if (!strcmp(does, "eat"))
    for (;;) {
      char* more = malloc(16 << 20);
      if (more) memset(more, 1, 16 << 20);
    }
}

/* Draws what is wrong in the picture; 0: the draw is still to be made. */
static int draws_wrong(const char* does, unsigned mode, int first, int count) {
  if (!strcmp(does, "blend")) {
    g_enable(0x0BE2);
    g_blend(1, 1);
    g_draw(mode, first, count);
    g_disable(0x0BE2);
    return 1;
  }
  if (!strcmp(does, "mask")) {
    g_mask(1, 1, 0, 1);
    g_draw(mode, first, count);
    g_mask(1, 1, 1, 1);
    return 1;
  }
  if (!strcmp(does, "tires")) { /* each run is slower than the one before */
    static long turns;
    if (!turns) {
      FILE* file = fopen(getenv("FAKE_FILE"), "a");
      if (!file || fputc('.', file) < 0) abort();
      turns = 300000;
      for (long runs = ftell(file); runs > 0; runs--) turns += turns / 3;
      fclose(file);
    }
    for (volatile long i = 0; i < turns; i++) {}
    return 0;
  }
  if (!strcmp(does, "slow")) {
    for (volatile long i = 0; i < 3000000; i++) {}
    return 0;
  }
  if (!strcmp(does, "jitter")) {
    unsigned char any[5];
    if (getrandom(any, sizeof any, 0) != sizeof any) abort();
    g_draw(mode, first, count);
    g_enable(0x0C11);
    g_scissor(any[0] % 16, any[1] % 16, 1, 1);
    g_color(any[2] / 255.f, any[3] / 255.f, any[4] / 255.f, 1);
    g_clear(0x4000);
    g_disable(0x0C11);
    return 1;
  }
  return 0;
}

static void draw(unsigned mode, int first, int count) {
  const char* at = getenv("FAKE_AT");
  const char* does = getenv("FAKE_DOES");
  long number = g_draws++, wrong = at ? atol(at) : 0;
  if (number == wrong) goes_wrong();
  if (does && !strcmp(does, "spoiled") && !access(getenv("FAKE_FILE"), F_OK)) return;
  if (does && number == wrong && !strcmp(does, "wrong")) return; /* nothing is drawn */
  if (does && number >= wrong && draws_wrong(does, mode, first, count)) return;
  g_draw(mode, first, count);
}

void* eglGetProcAddress(const char* name) {
  if (!g_get) g_get = dlsym(RTLD_NEXT, "eglGetProcAddress");
  void* found = g_get(name);
  if (!strcmp(name, "glDrawArrays") && found) {
    g_draw = (Draw)found;
    *(void**)&g_enable = g_get("glEnable");
    *(void**)&g_disable = g_get("glDisable");
    *(void**)&g_blend = g_get("glBlendFunc");
    *(void**)&g_clear = g_get("glClear");
    *(void**)&g_mask = g_get("glColorMask");
    *(void**)&g_scissor = g_get("glScissor");
    *(void**)&g_color = g_get("glClearColor");
    return (void*)draw;
  }
  if (!strcmp(name, "glGetError") && found) {
    *(void**)&g_error = found;
    return (void*)error;
  }
  if (!strcmp(name, "glGetGraphicsResetStatus")) {
    *(void**)&g_status = found;
    return (void*)status;
  }
  return found;
}
