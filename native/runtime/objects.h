// Walking the ELF objects of this process without the help of dlsym: the tap stands in front of dlsym.
//
// Objects that were there at program start can never be unloaded, so their tables are kept. All others are only
// looked at inside dl_iterate_phdr (the loader's lock) or while the caller is known to hold them.
#pragma once
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

namespace dt {

// Look-ups come as early as the set-up of a sanitizer that stands in front of strcmp: nothing on their way may call
// the C library.
inline bool same(const char* a, const char* b) {
  while (*a && *a == *b) a++, b++;
  return *a == *b;
}
inline bool has_prefix(const char* text, const char* prefix) {
  while (*prefix && *text == *prefix) text++, prefix++;
  return !*prefix;
}

// The dynamic section of one object, taken apart.
struct Elf {
  uintptr_t base;
  const ElfW(Dyn) * dynamic;
  const ElfW(Sym) * symbols;
  const char* strings;
  const uint32_t* gnu_hash;
  const uint32_t* sysv_hash;
  const ElfW(Half) * versions;
  const char* soname;  // nullptr: none
  const ElfW(Rela) * relocations;
  size_t relocation_count;
  const ElfW(Rela) * jump_slots;
  size_t jump_slot_count;
  bool searches_own_path;  // DT_RPATH or DT_RUNPATH: dlopen of a bare name depends on who calls
};
Elf read_elf(uintptr_t base, const ElfW(Dyn) * dynamic);

uint32_t gnu_hash(const char* name);
// Address of the function `name` (with its default version) that this object defines; nullptr: none.
void* find_symbol(const Elf& elf, const char* name, uint32_t hash);
unsigned symbol_count(const Elf& elf);

// The mapped object that an address lies in.
struct Object {
  uintptr_t base;
  uintptr_t begin, end;              // of everything mapped
  uintptr_t code_begin, code_end;    // the executable segment with the address, if it lies in one
  uintptr_t relro_begin, relro_end;  // whole pages that the loader made read-only after relocation
  const ElfW(Dyn) * dynamic;
  bool is_module;   // a tap: this one or another that is preloaded too
  bool is_program;  // the executable
  bool is_gl;       // a GL library or driver: gets the real functions, is never patched
  bool is_libc;     // the C library, libdl, libpthread or the loader
  char path[512];   // empty: the executable
};
bool find_object(const void* address, Object* out);
bool in_tap(const void* address);

// dl_iterate_phdr, the C library's own. `visit` takes the loader's word about an object, and returns whether it has
// seen enough.
int iterate_objects(int (*visit)(dl_phdr_info* info, size_t size, void* data), void* data);
template <class Visit> void each_object(Visit visit) {
  iterate_objects([](dl_phdr_info* info, size_t, void* data) { return (int)(*(Visit*)data)(info); }, &visit);
}
Elf elf_of(const dl_phdr_info* info);  // of an object without a dynamic section: empty

#if defined(__x86_64__)
constexpr unsigned JUMP_SLOT = R_X86_64_JUMP_SLOT, DATA_SLOT = R_X86_64_GLOB_DAT, ABSOLUTE = R_X86_64_64;
#elif defined(__aarch64__)
constexpr unsigned JUMP_SLOT = R_AARCH64_JUMP_SLOT, DATA_SLOT = R_AARCH64_GLOB_DAT, ABSOLUTE = R_AARCH64_ABS64;
#endif

// An object whose slots are set. Its read-only pages are opened at the first slot that lies there.
struct Opened {
  Object object;
  bool opened;
  bool writable(uintptr_t at);
  void close();
};

// called.cc: a call was made; whether calls of a function are not wanted in this recording, whatever its mode.
void say_called();
bool is_left_out(unsigned id);

// own_slots.cc: a library that has functions of Vulkan itself uses its own.
void bind_to_itself(const Elf& elf);

// Only Vulkan is recorded among all APIs ($DRAWTAP_API).
bool is_vulkan_alone();
// By the leaf of a path or by a soname.
bool is_gl_library(const char* leaf);
bool is_c_library(const char* leaf);
const char* leaf_of(const char* path);

// Where the executable, the libraries it was linked to and the preloaded ones are: the global scope at program start,
// in search order. `first_after_tap` is the index of the object that is searched after the tap.
struct Startup {
  const Elf* objects;
  unsigned count;
  unsigned first_after_tap;
};
const Startup& startup();
bool is_startup(const ElfW(Dyn) * dynamic);

// The C library's own function, never an interposer's. nullptr: it has none.
void* c_library_function(const char* name);

}  // namespace dt
