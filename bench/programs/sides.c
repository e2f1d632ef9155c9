/* Lets the calls of a program that links to GL and EGL go through the tap or past it, within one process.
 *
 * Preloaded beside the tap, for a program that calls bench_side(1) and bench_side(0): the addresses that the linker put
 * into the program for GL's and EGL's functions are all set to the tap's, or all to the driver's. The program's own
 * code is the same on both sides.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "libc_dlsym.h"

enum { SLOTS = 512 };
static struct slot {
  void **at, *sides[2]; /* 0: the driver's, 1: the tap's */
} slots[SLOTS];
static unsigned count;

static int is_address(unsigned kind) {
#if defined(__x86_64__)
  return kind == R_X86_64_JUMP_SLOT || kind == R_X86_64_GLOB_DAT;
#else
  return kind == R_AARCH64_JUMP_SLOT || kind == R_AARCH64_GLOB_DAT;
#endif
}

static void take(struct link_map* program, const ElfW(Sym) * symbols, const char* strings, const ElfW(Rela) * first,
                 size_t bytes) {
  void* (*find)(void*, const char*) = libc_dlsym();
  const char* libraries[] = {"libGLESv2.so.2", "libEGL.so.1"};
  for (const ElfW(Rela)* r = first; (const char*)r < (const char*)first + bytes; r++) {
    const char* name = strings + symbols[ELF64_R_SYM(r->r_info)].st_name;
    const int egl = !strncmp(name, "egl", 3);
    if (!is_address(ELF64_R_TYPE(r->r_info)) || (!egl && strncmp(name, "gl", 2))) continue;
    void* library = dlopen(libraries[egl], RTLD_LAZY | RTLD_NOLOAD);
    struct slot slot = {(void**)(program->l_addr + r->r_offset),
                        {library ? find(library, name) : NULL, find(RTLD_DEFAULT, name)}};
    if (!slot.sides[0] || slot.sides[0] == slot.sides[1]) continue;
    if (count == SLOTS) _exit(125);
    const uintptr_t page = (uintptr_t)slot.at & ~(uintptr_t)(sysconf(_SC_PAGESIZE) - 1);
    if (mprotect((void*)page, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE)) _exit(125);
    slots[count++] = slot;
  }
}

static void find_slots(void) {
  const ElfW(Sym)* symbols = NULL;
  const char* strings = NULL;
  const ElfW(Rela)* plain = NULL, *lazy = NULL;
  size_t plain_bytes = 0, lazy_bytes = 0;
  struct link_map* program = _r_debug.r_map;
  for (const ElfW(Dyn)* d = program->l_ld; d->d_tag != DT_NULL; d++) {
    if (d->d_tag == DT_SYMTAB) symbols = (const void*)d->d_un.d_ptr;
    if (d->d_tag == DT_STRTAB) strings = (const void*)d->d_un.d_ptr;
    if (d->d_tag == DT_RELA) plain = (const void*)d->d_un.d_ptr;
    if (d->d_tag == DT_RELASZ) plain_bytes = d->d_un.d_val;
    if (d->d_tag == DT_JMPREL) lazy = (const void*)d->d_un.d_ptr;
    if (d->d_tag == DT_PLTRELSZ) lazy_bytes = d->d_un.d_val;
  }
  if (plain) take(program, symbols, strings, plain, plain_bytes);
  if (lazy) take(program, symbols, strings, lazy, lazy_bytes);
}

/* Ends the program where there are no two sides: a comparison of the driver with itself would be a figure, too. */
__attribute__((visibility("default"))) void bench_side(int through) {
  if (!count) find_slots();
  if (!count) {
    fprintf(stderr, "no function of the program leads to the tap\n");
    exit(125);
  }
  for (unsigned i = 0; i < count; i++) *slots[i].at = slots[i].sides[!!through];
}
