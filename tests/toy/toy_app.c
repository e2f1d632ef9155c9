// A program with a known sequence of toy calls. Usage: toy_app [MODE] [N]
//
//   (none)      the sequence of tests/golden/toy_app.txt, once
//   calls       N frames (default 1000) of 8 calls and a swap each
//   threads     N frames on each of 4 threads, a context each
//   forever     frames until killed; prints "ready" after the first
//   crash       the sequence, then SIGSEGV inside the library
//   abort, exit, _exit, quick_exit, return   the sequence without closing, then ends that way (exit code 3)
//   fork        parent and child both make N frames (default 10); the child ends with _exit
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "toy.h"

static void on_frame(ToyHandle handle, ToyUint frame, void* user) {
  (void)handle;
  *(ToyUint*)user = frame;
}

// Every command at least once, with arguments whose values are easy to recognize.
static ToyHandle sequence(ToyUint* shown) {
  static const int16_t points[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  static const ToyFloat weights[] = {0.5f, 1.0f, 1.5f};
  static const char* const labels[] = {"red", "green", "bluebird"};
  static const ToyInt lengths[] = {-1, 5, 4};
  static const ToyRect rect = {1, 2, 30, 40, 0.5f};
  static const ToyInt attributes[] = {TOY_COLOR, 255, TOY_FILLED, TOY_LAYER, -2, TOY_NONE};

  ToyHandle handle = toyOpen("alpha", TOY_READ | TOY_FAST);
  double mixed = toyMix(-8, 65535, -100000, 4000000000u, -5000000000, 10000000000u, 0.5f, 0.25, 0);
  printf("toyMix %.2f\n", mixed);
  toyPoints(handle, 3, points, weights);
  toySet(handle, TOY_STRIDE, 3);
  toyPoints(handle, 3, points, NULL);
  for (int i = 1; i <= 3; ++i) toySet(handle, TOY_LEVEL, i * 10);
  ToyInt values[6] = {0};
  ToyInt count = toyGet(handle, TOY_HISTORY, 6, values);
  printf("toyGet %d: %d %d %d\n", count, values[0], values[1], values[2]);
  printf("toyLabels %d\n", toyLabels(handle, 3, labels, lengths, "a title, cut", 7));
  printf("toyLabels %d\n", toyLabels(handle, 0, NULL, NULL, "whole", -1));
  toyNotify(handle, on_frame, shown);
  printf("toyDraw %d\n", toyDraw(handle, TOY_SOLID, &rect, attributes));
  printf("toyDraw %d\n", toyDraw(handle, TOY_OUTLINE, NULL, NULL));
  toySwap(handle);
  printf("frame %u\n", *shown);
  toySet(handle, 0x999, 1);
  printf("toyGetError 0x%x\n", toyGetError());
  void (*swap)(ToyHandle) = (void (*)(ToyHandle))toyGetProcAddress("toySwap");
  swap(handle);
  printf("frame %u\n", *shown);
  printf("unknown %d\n", toyGetProcAddress("toyUnknown") == NULL);
  fflush(stdout);
  return handle;
}

// Eight calls, then the swap.
static void frame(ToyHandle handle, int number) {
  int16_t points[8];
  for (int i = 0; i < 8; ++i) points[i] = (int16_t)(number + i);
  ToyRect rect = {number, 0, 10, 10, 1.0f};
  ToyInt attributes[] = {TOY_COLOR, number & 255, TOY_NONE};
  ToyInt level;
  toySet(handle, TOY_STRIDE, 2);
  toySet(handle, TOY_LEVEL, number);
  toyPoints(handle, 4, points, NULL);
  toyMix(1, 2, number, 4, 5, 6, 7.0f, 8.0, 0);
  toyDraw(handle, TOY_SOLID, &rect, attributes);
  toyDraw(handle, TOY_OUTLINE, &rect, NULL);
  toyGet(handle, TOY_LEVEL, 1, &level);
  toyGetError();
  toySwap(handle);
}

static void frames(const char* name, int count) {
  ToyHandle handle = toyOpen(name, TOY_WRITE);
  for (int i = 0; i < count; ++i) frame(handle, i);
  toyClose(handle);
}

static int g_count;

static void* run_thread(void* name) {
  frames(name, g_count);
  return NULL;
}

static int run_threads(int count) {
  static char names[4][16] = {"thread 0", "thread 1", "thread 2", "thread 3"};
  pthread_t threads[4];
  g_count = count;
  for (int i = 0; i < 4; ++i)
    if (pthread_create(&threads[i], NULL, run_thread, names[i])) return 1;
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  printf("%d frames on each of 4 threads\n", count);
  return 0;
}

static int run_fork(int count) {
  frames("before", 1);
  fflush(stdout);
  pid_t child = fork();
  if (child < 0) return 1;
  if (!child) {
    frames("child", count);
    _exit(0);
  }
  frames("parent", count);
  int status = 1;
  waitpid(child, &status, 0);
  printf("parent and child: %d frames each, child ended with %d\n", count, status);
  return status != 0;
}

static void run_forever(void) {
  ToyHandle handle = toyOpen("forever", TOY_READ);
  for (int i = 0;; ++i) {
    frame(handle, i);
    if (i) continue;
    puts("ready");
    fflush(stdout);
  }
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  ToyUint shown = 0;
  int count = argc > 2 ? atoi(argv[2]) : strcmp(mode, "fork") ? 1000 : 10;
  if (!*mode) {
    toyClose(sequence(&shown));
    return 0;
  }
  if (!strcmp(mode, "calls")) {
    frames("calls", count);
    printf("%d frames, %d calls\n", count, count * 9 + 2);
    return 0;
  }
  if (!strcmp(mode, "threads")) return run_threads(count);
  if (!strcmp(mode, "fork")) return run_fork(count);
  if (!strcmp(mode, "forever")) run_forever();
  static const char* const ends[] = {"crash", "abort", "exit", "_exit", "quick_exit", "return"};
  unsigned end = 0;
  while (end < 6 && strcmp(mode, ends[end])) ++end;
  if (end == 6) {
    fprintf(stderr, "toy_app: no mode '%s': calls threads forever fork crash abort exit _exit quick_exit return\n",
            mode);
    return 2;
  }
  ToyHandle handle = sequence(&shown);
  switch (end) {
    case 0: toySet(handle, TOY_CRASH, 1); break;
    case 1: abort();
    case 2: exit(3);
    case 3: _exit(3);
    case 4: quick_exit(3);
    default: break;
  }
  return 3;
}
