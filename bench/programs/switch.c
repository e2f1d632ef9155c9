/* Stands in front of the tap and lets a program's GL and EGL calls go through it or past it, frame by frame.
 *
 * Preloaded before the tap. What the program looks up by dlsym or eglGetProcAddress and the tap answers with a wrapper
 * of its own becomes a jump through a slot; all slots hold the wrappers, or all hold the driver's functions. The file
 * that BENCH_SWITCH names has the wish (written from outside, taken at the end of a frame) and the time of every frame
 * with the side it was drawn on. So one process, with one layout of its memory, is compared with itself. What the jump
 * costs is on both sides.
 *
 * For programs of one thread that find everything by dlsym, as glmark2 does.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "libc_dlsym.h"

enum { SLOTS = 4096, FRAMES = 1 << 20, BYTES = 4096 + FRAMES * 24 };
struct page {
  uint32_t wish;   /* turn << 1 | 1: through the tap, 0: past it */
  uint32_t slots;  /* functions that can go both ways */
  uint64_t frames; /* ended so far; only the last FRAMES are kept */
};
static struct page* page;
/* Where a frame ends and the next begins. */
static struct end {
  uint64_t ns;   /* CLOCK_MONOTONIC */
  uint64_t cpu;  /* ns of the thread's processor time */
  uint64_t wish; /* that the frame which begins follows */
}* ends;

__attribute__((visibility("hidden"))) void* bench_slots[SLOTS];
extern char bench_jumps[];
static void* sides[2][SLOTS]; /* 0: the driver's, 1: the tap's */
static unsigned count;
static unsigned side = 1;

#if defined(__x86_64__)
#define JUMP_BYTES 8
__asm__(
    ".text\n.balign 16\n.hidden bench_jumps\n.globl bench_jumps\nbench_jumps:\n.set i, 0\n.rept 4096\n"
    ".balign 8\njmp *bench_slots+i(%rip)\n.set i, i+8\n.endr\n");
#elif defined(__aarch64__)
#define JUMP_BYTES 16
__asm__(
    ".text\n.balign 16\n.hidden bench_jumps\n.globl bench_jumps\nbench_jumps:\n.set i, 0\n.rept 4096\n"
    "adrp x16, bench_slots+i\nldr x16, [x16, :lo12:bench_slots+i]\nbr x16\nnop\n.set i, i+8\n.endr\n");
#endif

static void begin(void) {
  const char* path = getenv("BENCH_SWITCH");
  const int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  void* at = file < 0 ? MAP_FAILED : mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) _exit(125);
  page = at;
  ends = (struct end*)((char*)at + 4096);
}

static void* both_ways(void* driver, void* tap) {
  if (!driver || driver == tap) return tap;
  for (unsigned i = 0; i < count; i++)
    if (sides[0][i] == driver && sides[1][i] == tap) return bench_jumps + i * JUMP_BYTES;
  if (count == SLOTS) _exit(125);
  if (!page) begin();
  sides[0][count] = driver;
  sides[1][count] = tap;
  bench_slots[count] = sides[side][count];
  page->slots = count + 1;
  return bench_jumps + count++ * JUMP_BYTES;
}

static uint64_t ns_of(struct timespec t) { return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec; }

static unsigned (*swap)(void*, void*);
static unsigned swap_buffers(void* display, void* surface) {
  struct timespec now, cpu;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
  clock_gettime(CLOCK_MONOTONIC, &now);
  const uint32_t wish = __atomic_load_n(&page->wish, __ATOMIC_ACQUIRE);
  if ((wish & 1) != side) {
    side = wish & 1;
    memcpy(bench_slots, sides[side], count * sizeof *bench_slots);
  }
  ends[page->frames % FRAMES] = (struct end){ns_of(now), ns_of(cpu), wish};
  __atomic_store_n(&page->frames, page->frames + 1, __ATOMIC_RELEASE);
  return swap(display, surface);
}

static void* (*ask_driver)(const char*), *(*ask_tap)(const char*);
static void* special(const char* name, void* found);
static void* get_proc_address(const char* name) { return special(name, both_ways(ask_driver(name), ask_tap(name))); }
static void* special(const char* name, void* found) {
  if (found && !strcmp(name, "eglSwapBuffers")) {
    swap = found;
    return swap_buffers;
  }
  return found;
}

__attribute__((visibility("default"))) void* dlsym(void* handle, const char* name) {
  static void* (*driver)(void*, const char*), *(*tap)(void*, const char*);
  if (!driver) driver = libc_dlsym();
  if (!tap) tap = driver(RTLD_NEXT, "dlsym");
  if (!driver || !tap) _exit(125);
  void* behind = tap(handle, name);
  if (handle == RTLD_NEXT || handle == RTLD_DEFAULT || !behind) return behind;
  if (!strcmp(name, "eglGetProcAddress")) {
    ask_driver = driver(handle, name);
    ask_tap = behind;
    return get_proc_address;
  }
  return special(name, both_ways(driver(handle, name), behind));
}
