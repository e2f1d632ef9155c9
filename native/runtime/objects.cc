// Walking the ELF objects of this process: see objects.h.
#include "objects.h"

#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>

namespace dt {

namespace {

constexpr unsigned MOST_STARTUP = 1024;
Elf g_startup_objects[MOST_STARTUP];
Startup g_startup;
uint32_t g_startup_ready;

// The loader relocates addresses in the dynamic section of most objects in place, but not in the vDSO.
template <class T> const T* address_in(uintptr_t base, ElfW(Addr) value) {
  return (const T*)(value < base ? base + value : value);
}

bool is_function(const Elf& elf, const ElfW(Sym) & symbol) {
  unsigned type = ELF64_ST_TYPE(symbol.st_info);
  (void)elf;
  return symbol.st_shndx != SHN_UNDEF && symbol.st_value &&
         (type == STT_FUNC || type == STT_NOTYPE || type == STT_GNU_IFUNC);
}

void* address_of(const Elf& elf, const ElfW(Sym) & symbol) {
  void* at = (void*)(elf.base + symbol.st_value);
  if (ELF64_ST_TYPE(symbol.st_info) != STT_GNU_IFUNC) return at;
#if defined(__x86_64__)
  return ((void* (*)())at)();
#else
  return nullptr;  // its resolver wants arguments that only the loader has
#endif
}

bool is_hidden_version(const Elf& elf, uint32_t index) { return elf.versions && (elf.versions[index] & 0x8000); }

void* scan_chain(const Elf& elf, const char* name, uint32_t hash) {
  const uint32_t* h = elf.gnu_hash;
  uint32_t bucket_count = h[0], first = h[1], bloom_words = h[2], shift = h[3];
  if (!bucket_count || !bloom_words) return nullptr;
  constexpr unsigned bits = sizeof(ElfW(Addr)) * 8;
  const ElfW(Addr)* bloom = (const ElfW(Addr)*)(h + 4);
  ElfW(Addr) word = bloom[hash / bits % bloom_words];
  ElfW(Addr) mask = (ElfW(Addr))1 << hash % bits | (ElfW(Addr))1 << (hash >> shift) % bits;
  if ((word & mask) != mask) return nullptr;
  const uint32_t* buckets = (const uint32_t*)(bloom + bloom_words);
  const uint32_t* chain = buckets + bucket_count;
  uint32_t index = buckets[hash % bucket_count];
  if (index < first) return nullptr;
  void* old_version = nullptr;
  for (;; index++) {
    uint32_t entry = chain[index - first];
    const ElfW(Sym) & symbol = elf.symbols[index];
    if ((entry | 1) == (hash | 1) && same(elf.strings + symbol.st_name, name) && is_function(elf, symbol)) {
      if (!is_hidden_version(elf, index)) return address_of(elf, symbol);
      if (!old_version) old_version = address_of(elf, symbol);
    }
    if (entry & 1) return old_version;
  }
}

void* scan_sysv(const Elf& elf, const char* name) {
  uint32_t hash = 0;
  for (const unsigned char* c = (const unsigned char*)name; *c; c++) {
    hash = (hash << 4) + *c;
    uint32_t high = hash & 0xf0000000u;
    hash = (hash ^ high >> 24) & ~high;
  }
  const uint32_t* h = elf.sysv_hash;
  if (!h[0]) return nullptr;
  void* old_version = nullptr;
  for (uint32_t index = h[2 + hash % h[0]]; index; index = h[2 + h[0] + index]) {
    const ElfW(Sym) & symbol = elf.symbols[index];
    if (!same(elf.strings + symbol.st_name, name) || !is_function(elf, symbol)) continue;
    if (!is_hidden_version(elf, index)) return address_of(elf, symbol);
    if (!old_version) old_version = address_of(elf, symbol);
  }
  return old_version;
}

bool covers(const dl_phdr_info* info, uintptr_t address) {
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) & p = info->dlpi_phdr[i];
    uintptr_t begin = info->dlpi_addr + p.p_vaddr;
    if (p.p_type == PT_LOAD && address >= begin && address < begin + p.p_memsz) return true;
  }
  return false;
}

void describe(const dl_phdr_info* info, uintptr_t address, Object* out) {
  const uintptr_t PAGE = getauxval(AT_PAGESZ);
  *out = Object{};
  out->base = info->dlpi_addr;
  out->begin = ~(uintptr_t)0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) & p = info->dlpi_phdr[i];
    uintptr_t begin = info->dlpi_addr + p.p_vaddr;
    if (p.p_type == PT_LOAD && begin < out->begin) out->begin = begin;
    if (p.p_type == PT_LOAD && begin + p.p_memsz > out->end) out->end = begin + p.p_memsz;
    if (p.p_type == PT_DYNAMIC) out->dynamic = (const ElfW(Dyn)*)begin;
    if (p.p_type == PT_GNU_RELRO) {
      out->relro_begin = begin & ~(PAGE - 1);
      out->relro_end = (begin + p.p_memsz) & ~(PAGE - 1);
    }
    if (p.p_type == PT_LOAD && (p.p_flags & PF_X) && address >= begin && address < begin + p.p_memsz) {
      out->code_begin = begin;
      out->code_end = begin + p.p_filesz;
    }
  }
  const char* path = info->dlpi_name ? info->dlpi_name : "";
  for (size_t i = 0; path[i] && i + 1 < sizeof out->path; i++) out->path[i] = path[i];
  out->is_program = !*path;
  const char* leaf = leaf_of(path);
  out->is_gl = is_gl_library(leaf);
  out->is_libc = is_c_library(leaf);
  if (out->dynamic && !out->is_program) {
    Elf elf = read_elf(out->base, out->dynamic);
    if (elf.soname) {
      out->is_gl |= is_gl_library(elf.soname);
      out->is_libc |= is_c_library(elf.soname);
    }
    static const uint32_t hash = gnu_hash("drawtap_entry");
    if (elf.symbols && find_symbol(elf, "drawtap_entry", hash)) out->is_module = out->is_gl = true;
  }
}

void* search_c_library(const char* leaf_prefix, const char* name, uint32_t hash) {
  const Startup& s = startup();
  for (unsigned i = 0; i < s.count; i++) {
    const Elf& elf = s.objects[i];
    if (!elf.soname || !has_prefix(elf.soname, leaf_prefix)) continue;
    void* at = find_symbol(elf, name, hash);
    if (at) return at;
  }
  return nullptr;
}

}  // namespace

Elf read_elf(uintptr_t base, const ElfW(Dyn) * dynamic) {
  Elf elf = {};
  elf.base = base;
  elf.dynamic = dynamic;
  size_t soname = 0, relocation_bytes = 0, jump_bytes = 0;
  bool rela = true;
  for (const ElfW(Dyn)* d = dynamic; d && d->d_tag != DT_NULL; d++) {
    switch (d->d_tag) {
      case DT_SYMTAB: elf.symbols = address_in<ElfW(Sym)>(base, d->d_un.d_ptr); break;
      case DT_STRTAB: elf.strings = address_in<char>(base, d->d_un.d_ptr); break;
      case DT_GNU_HASH: elf.gnu_hash = address_in<uint32_t>(base, d->d_un.d_ptr); break;
      case DT_HASH: elf.sysv_hash = address_in<uint32_t>(base, d->d_un.d_ptr); break;
      case DT_VERSYM: elf.versions = address_in<ElfW(Half)>(base, d->d_un.d_ptr); break;
      case DT_RELA: elf.relocations = address_in<ElfW(Rela)>(base, d->d_un.d_ptr); break;
      case DT_RELASZ: relocation_bytes = d->d_un.d_val; break;
      case DT_JMPREL: elf.jump_slots = address_in<ElfW(Rela)>(base, d->d_un.d_ptr); break;
      case DT_PLTRELSZ: jump_bytes = d->d_un.d_val; break;
      case DT_PLTREL: rela = d->d_un.d_val == DT_RELA; break;
      case DT_SONAME: soname = d->d_un.d_val; break;
      case DT_RPATH:
      case DT_RUNPATH: elf.searches_own_path = true; break;
      default: break;
    }
  }
  if (soname && elf.strings) elf.soname = elf.strings + soname;
  if (elf.relocations) elf.relocation_count = relocation_bytes / sizeof(ElfW(Rela));
  if (elf.jump_slots && rela) elf.jump_slot_count = jump_bytes / sizeof(ElfW(Rela));
  return elf;
}

Elf elf_of(const dl_phdr_info* info) {
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
      return read_elf(info->dlpi_addr, (const ElfW(Dyn)*)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr));
  return {};
}

uint32_t gnu_hash(const char* name) {
  uint32_t hash = 5381;
  for (const unsigned char* c = (const unsigned char*)name; *c; c++) hash = hash * 33 + *c;
  return hash;
}

void* find_symbol(const Elf& elf, const char* name, uint32_t hash) {
  if (!elf.symbols || !elf.strings) return nullptr;
  if (elf.gnu_hash) return scan_chain(elf, name, hash);
  return elf.sysv_hash ? scan_sysv(elf, name) : nullptr;
}

unsigned symbol_count(const Elf& elf) {
  if (elf.sysv_hash) return elf.sysv_hash[1];
  if (!elf.gnu_hash) return 0;
  // Undefined symbols stand before those that the table covers; the last defined one ends the longest chain.
  const uint32_t* h = elf.gnu_hash;
  const uint32_t* buckets = (const uint32_t*)((const ElfW(Addr)*)(h + 4) + h[2]);
  const uint32_t* chain = buckets + h[0];
  uint32_t last = 0;
  for (uint32_t i = 0; i < h[0]; i++)
    if (buckets[i] > last) last = buckets[i];
  if (last < h[1]) return h[1];
  while (!(chain[last - h[1]] & 1)) last++;
  return last + 1;
}

const char* leaf_of(const char* path) {
  const char* leaf = path;
  for (; *path; path++)
    if (*path == '/') leaf = path + 1;
  return leaf;
}

bool is_vulkan_alone() {
  static uint32_t known;  // 1: no, 2: yes
  uint32_t now = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (!now) {
    const char* api = getenv("DRAWTAP_API");
    now = api && same(api, "vk") ? 2 : 1;
    __atomic_store_n(&known, now, __ATOMIC_RELAXED);
  }
  return now == 2;
}

// Where Vulkan alone is recorded, a GL driver above it is a program like others.
static bool is_vulkan_library(const char* leaf) {
  static const char* const prefixes[] = {"libvulkan",     "libVk",     "libvk_",  "libGLX_nvidia",
                                         "libEGL_nvidia", "libnvidia", "libmali", "libdrawtap-"};
  for (const char* prefix : prefixes)
    if (has_prefix(leaf, prefix)) return true;
  return false;
}

bool is_gl_library(const char* leaf) {
  static const char* const prefixes[] = {
      "libGL.so",  "libGLX.so",    "libGLX_",       "libEGL.so",   "libEGL_",    "libGLESv1_CM", "libGLESv2",
      "libGLESv3", "libOpenGL.so", "libGLdispatch", "libglapi.so", "libgallium", "libvulkan",    "libVk",
      "libvk_",    "libnvidia-",   "libOpenVG",     "libmali",     "libMali",    "libVSC",       "libGAL.so",
      "libPVROCL", "libsrv_um",    "libIMGegl",     "libusc.so",   "libdrawtap-"};
  if (!leaf || !*leaf) return false;
  if (is_vulkan_alone()) return is_vulkan_library(leaf);
  for (const char* prefix : prefixes)
    if (has_prefix(leaf, prefix)) return true;
  for (; *leaf; leaf++)
    if (has_prefix(leaf, "_mesa.so") || same(leaf, "_dri.so")) return true;
  return false;
}

bool is_c_library(const char* leaf) {
  return leaf && (has_prefix(leaf, "libc.so") || has_prefix(leaf, "libdl.so") || has_prefix(leaf, "libpthread.so") ||
                  has_prefix(leaf, "ld-linux") || has_prefix(leaf, "ld.so") || has_prefix(leaf, "ld64.so"));
}

int iterate_objects(int (*visit)(dl_phdr_info*, size_t, void*), void* data) {
  using Iterate = int (*)(int (*)(dl_phdr_info*, size_t, void*), void*);
  static Iterate iterate;
  Iterate function = __atomic_load_n(&iterate, __ATOMIC_RELAXED);
  if (!function) {
    function = (Iterate)c_library_function("dl_iterate_phdr");
    __atomic_store_n(&iterate, function, __ATOMIC_RELAXED);
  }
  return function ? function(visit, data) : 0;
}

bool find_object(const void* address, Object* out) {
  bool found = false;
  each_object([&](const dl_phdr_info* info) {
    found = covers(info, (uintptr_t)address);
    if (found) describe(info, (uintptr_t)address, out);
    return found;
  });
  return found;
}

bool Opened::writable(uintptr_t at) {
  if (at < object.relro_begin || at >= object.relro_end) return true;
  if (!opened)
    opened = mprotect((void*)object.relro_begin, object.relro_end - object.relro_begin, PROT_READ | PROT_WRITE) == 0;
  return opened;
}

void Opened::close() {
  if (opened) mprotect((void*)object.relro_begin, object.relro_end - object.relro_begin, PROT_READ);
}

bool in_tap(const void* address) {
  // Own bounds do not change: asked of the loader once.
  static uintptr_t begin, end;
  if (!__atomic_load_n(&end, __ATOMIC_ACQUIRE)) {
    uintptr_t first = ~(uintptr_t)0, last = 0;
    each_object([&](const dl_phdr_info* info) {
      if (!covers(info, (uintptr_t)_DYNAMIC)) return false;
      for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) & p = info->dlpi_phdr[i];
        if (p.p_type != PT_LOAD) continue;
        uintptr_t from = info->dlpi_addr + p.p_vaddr;
        if (from < first) first = from;
        if (from + p.p_memsz > last) last = from + p.p_memsz;
      }
      return true;
    });
    begin = first;
    __atomic_store_n(&end, last, __ATOMIC_RELEASE);
  }
  return (uintptr_t)address >= begin && (uintptr_t)address < end;
}

const Startup& startup() {
  if (__atomic_load_n(&g_startup_ready, __ATOMIC_ACQUIRE)) return g_startup;
  // Read from the loader's own list, not through a function: nothing may be interposed this early.
  // Threads that race here write the same values.
  unsigned n = 0, after = 0;
  for (link_map* map = _r_debug.r_map; map && n < MOST_STARTUP; map = map->l_next) {
    g_startup_objects[n] = read_elf(map->l_addr, map->l_ld);
    n++;
    if (map->l_ld == _DYNAMIC) after = n;
  }
  g_startup.objects = g_startup_objects;
  g_startup.count = n;
  g_startup.first_after_tap = after;
  __atomic_store_n(&g_startup_ready, 1u, __ATOMIC_RELEASE);
  return g_startup;
}

bool is_startup(const ElfW(Dyn) * dynamic) {
  const Startup& s = startup();
  for (unsigned i = 0; i < s.count; i++)
    if (s.objects[i].dynamic == dynamic) return true;
  return false;
}

void* c_library_function(const char* name) {
  uint32_t hash = gnu_hash(name);
  void* at = search_c_library("libc.so", name, hash);
  return at ? at : search_c_library("libdl.so", name, hash);  // its home before glibc 2.34
}

}  // namespace dt
