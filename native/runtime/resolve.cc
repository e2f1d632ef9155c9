// The ways by which the tap sees calls however the program finds them.
//
// A direct link is caught by interposition: the module exports every name and is preloaded. Look-ups are caught by
// standing in front of dlsym and its relatives (hooks.S). Bindings past a preloaded library (RTLD_DEEPBIND, two
// libraries with the same names in local scopes) are caught by setting the slots of each newly opened object.
//
// One rule decides everything here: first find out what the program would have got without the tap, then hand out
// an entry that calls exactly that. The exported one stands for g_real[id][0]; further real functions of the same name
// have entries of their own. GL libraries themselves always get the real functions: what they do is not the program's.
//
// Not seen: direct calls in a namespace of its own (dlmopen; noted in the trace), calls that the constructor of an
// RTLD_DEEPBIND library makes before its dlopen returns, and GL linked statically into the program. Children that are
// started without LD_PRELOAD (a cleaned environment, setuid) are not seen either.
//
// In one file: look-ups, opened objects and entries follow that one rule, and share what was found out by it.
#include "tap.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gl_state.h"
#include "moment.h"
#include "objects.h"

extern "C" {
__attribute__((visibility("hidden"))) void* dt_call_as(void* function, void* a, const void* b, const void* c,
                                                       const void* gadget);
__attribute__((visibility("hidden"))) uintptr_t dt_returns_are_checked();
}

namespace dt {

void report_libraries(Thread* t);

namespace {

// ---- names --------------------------------------------------------------------------------------

constexpr unsigned HASH_BITS = 14;
constexpr unsigned HASH_SIZE = 1u << HASH_BITS;
uint16_t g_hash[HASH_SIZE];  // id + 1; built at the first look-up, in memory that costs nothing until then
uint32_t g_hash_ready;

uint32_t name_hash(const char* name) {
  uint32_t hash = 2166136261u;
  for (const unsigned char* c = (const unsigned char*)name; *c; c++) hash = (hash ^ *c) * 16777619u;
  return hash ^ hash >> 15;
}

void build_hash() {
  // Threads that race here put every id into the same place.
  unsigned n = g_function_count < HASH_SIZE - 1 ? g_function_count : HASH_SIZE - 1;
  for (unsigned id = 0; id < n; id++) {
    uint32_t at = name_hash(g_names[id]) & (HASH_SIZE - 1);
    while (g_hash[at] && g_hash[at] != id + 1) at = (at + 1) & (HASH_SIZE - 1);
    g_hash[at] = (uint16_t)(id + 1);
  }
  __atomic_store_n(&g_hash_ready, 1u, __ATOMIC_RELEASE);
}

// The loader's functions that have to stay ours when a program looks them up.
struct LoaderHook {
  const char* name;
  void* entry;
};
const LoaderHook loader_hooks[] = {
    {"dlsym", (void*)&dlsym}, {"dlvsym", (void*)&dlvsym}, {"dlopen", (void*)&dlopen}, {"dlmopen", (void*)&dlmopen}};

void* find_loader_hook(const char* name) {
  if (name[0] != 'd' || name[1] != 'l') return nullptr;
  for (const LoaderHook& hook : loader_hooks)
    if (same(hook.name, name)) return hook.entry;
  return nullptr;
}

// ---- the C library ------------------------------------------------------------------------------

using DlsymFunction = void* (*)(void*, const char*);
using DlvsymFunction = void* (*)(void*, const char*, const char*);
using DlopenFunction = void* (*)(const char*, int);
using DlmopenFunction = void* (*)(long, const char*, int);

struct Loader {
  DlsymFunction dlsym_;
  DlvsymFunction dlvsym_;
  DlopenFunction dlopen_;
  DlmopenFunction dlmopen_;
  char* (*dlerror_)();
};
Loader g_loader;
uint32_t g_loader_ready;

const Loader& loader() {
  if (__atomic_load_n(&g_loader_ready, __ATOMIC_ACQUIRE)) return g_loader;
  g_loader.dlsym_ = (DlsymFunction)c_library_function("dlsym");
  g_loader.dlvsym_ = (DlvsymFunction)c_library_function("dlvsym");
  g_loader.dlopen_ = (DlopenFunction)c_library_function("dlopen");
  g_loader.dlmopen_ = (DlmopenFunction)c_library_function("dlmopen");
  g_loader.dlerror_ = (char* (*)())c_library_function("dlerror");
  __atomic_store_n(&g_loader_ready, 1u, __ATOMIC_RELEASE);
  return g_loader;
}

void forget_loader_error() {
  if (loader().dlerror_) loader().dlerror_();
}

// ---- speaking for the caller --------------------------------------------------------------------

// Code in the object around `caller` that only returns. nullptr: none, or the processor would object.
const void* gadget_near(const void* caller, const Object& object) {
  if (!object.code_begin || dt_returns_are_checked()) return nullptr;
#if defined(__x86_64__)
  for (const unsigned char* at = (const unsigned char*)caller; (uintptr_t)at < object.code_end; at++)
    if (*at == 0xc3) return at;
  for (const unsigned char* at = (const unsigned char*)object.code_begin; at < caller; at++)
    if (*at == 0xc3) return at;
  return nullptr;
#elif defined(__aarch64__)
  (void)caller;
  for (const uint32_t* at = (const uint32_t*)object.code_begin; (uintptr_t)(at + 2) <= object.code_end; at++)
    if (at[0] == 0xa8c17bfdu && at[1] == 0xd65f03c0u) return at;  // ldp x29, x30, [sp], #16; ret
  return nullptr;
#else
  return nullptr;
#endif
}

// A look-up by the program: handle, name, and version or nullptr.
struct Query {
  void* handle;
  const char* name;
  const char* version;
};

void* ask_plainly(const Query& q) {
  return q.version ? loader().dlvsym_(q.handle, q.name, q.version) : loader().dlsym_(q.handle, q.name);
}

// The loader's answer to the program's own question. RTLD_DEFAULT searches the global scope first, where every one of
// our names is found: only RTLD_NEXT depends on who asks.
void* ask_for_caller(const Query& q, const void* caller, const Object& object) {
  if (q.handle != RTLD_NEXT) return ask_plainly(q);
  const void* gadget = gadget_near(caller, object);
  // Without that: behind the tap is where most callers end up anyway.
  if (!gadget) return ask_plainly(q);
  void* function = q.version ? (void*)loader().dlvsym_ : (void*)loader().dlsym_;
  return dt_call_as(function, q.handle, q.name, q.version, gadget);
}

// The symbol behind the tap in the global scope: the answer of a preloaded library's RTLD_NEXT.
void* next_after_tap(const char* name, const char* version) {
  void* at = ask_plainly(Query{RTLD_NEXT, name, version});
  return at && in_tap(at) ? nullptr : at;
}

void* startup_scope(const char* name) {
  const Startup& s = startup();
  uint32_t hash = gnu_hash(name);
  for (unsigned i = s.first_after_tap; i < s.count; i++) {
    void* at = find_symbol(s.objects[i], name, hash);
    if (at) return at;
  }
  return nullptr;
}

// ---- objects and what they depend on ------------------------------------------------------------

// One loaded object as a scan of new objects sees it. Taken under the loader's lock.
struct Loaded {
  const ElfW(Dyn) * dynamic;
  uintptr_t base;
  uint32_t soname, leaf;  // hashes, 0: none
  bool gl, tap, reached;
};

struct Snapshot {
  Loaded* at;
  size_t count, room;
  unsigned long long adds;
};

constexpr size_t SNAPSHOT_ROOM = 4096;

bool open_snapshot(Snapshot* s) {
  void* area =
      mmap(nullptr, SNAPSHOT_ROOM * sizeof(Loaded), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *s = Snapshot{area == MAP_FAILED ? nullptr : (Loaded*)area, 0, SNAPSHOT_ROOM, 0};
  return s->at;
}
void close_snapshot(Snapshot* s) {
  if (s->at) munmap(s->at, SNAPSHOT_ROOM * sizeof(Loaded));
}

bool add_loaded(Snapshot* s, const dl_phdr_info* info) {
  s->adds = info->dlpi_adds;
  if (s->count >= s->room) return true;
  const Elf elf = elf_of(info);
  if (!elf.dynamic) return false;
  Loaded& o = s->at[s->count];
  o = Loaded{};
  o.base = info->dlpi_addr;
  o.dynamic = elf.dynamic;
  const char* leaf = leaf_of(info->dlpi_name ? info->dlpi_name : "");
  if (*leaf) o.leaf = gnu_hash(leaf);
  if (elf.soname) o.soname = gnu_hash(elf.soname);
  o.gl = is_gl_library(leaf) || is_gl_library(elf.soname);
  o.tap = in_tap(o.dynamic);
  s->count++;
  return false;
}

unsigned long long loads_so_far() {
  unsigned long long adds = 0;
  each_object([&](const dl_phdr_info* info) {
    adds = info->dlpi_adds;
    return true;
  });
  return adds;
}

Loaded* by_dynamic(Snapshot& s, const ElfW(Dyn) * dynamic) {
  for (size_t i = 0; i < s.count; i++)
    if (s.at[i].dynamic == dynamic) return &s.at[i];
  return nullptr;
}

// Mark `from` and everything it depends on. The caller holds `from`, so none of it can go away.
void reach(Snapshot& s, Loaded* from) {
  from->reached = true;
  // A GL library's dependencies are the driver's.
  if (from->gl) return;
  Elf elf = read_elf(from->base, from->dynamic);
  for (const ElfW(Dyn)* d = from->dynamic; d->d_tag != DT_NULL; d++) {
    if (d->d_tag != DT_NEEDED) continue;
    const char* needed = elf.strings + d->d_un.d_val;
    uint32_t hash = gnu_hash(leaf_of(needed));
    for (size_t i = 0; i < s.count; i++)
      if ((s.at[i].soname == hash || s.at[i].leaf == hash) && !s.at[i].reached) reach(s, &s.at[i]);
  }
}

void* in_reached(Snapshot& s, const char* name) {
  uint32_t hash = gnu_hash(name);
  for (size_t i = 0; i < s.count; i++) {
    if (!s.at[i].reached || s.at[i].tap) continue;
    void* at = find_symbol(read_elf(s.at[i].base, s.at[i].dynamic), name, hash);
    if (at) return at;
  }
  return nullptr;
}

// The symbol in the local scope of the caller's library, where the global one has nothing.
void* local_scope(const Object& caller, const char* name) {
  Snapshot s;
  if (!caller.dynamic || !open_snapshot(&s)) return nullptr;
  each_object([&](const dl_phdr_info* info) { return add_loaded(&s, info); });
  void* at = nullptr;
  Loaded* self = by_dynamic(s, caller.dynamic);
  if (self) {
    reach(s, self);
    at = in_reached(s, name);
  }
  close_snapshot(&s);
  return at;
}

// ---- libraries in which functions were found ----------------------------------------------------

struct Library {
  uintptr_t base;        // 0: unloaded
  uintptr_t begin, end;  // of everything it maps
  uint64_t reported;     // generation + 1 of the session that knows it
  char path[472];
};
constexpr unsigned MOST_LIBRARIES = 64;
Library g_libraries[MOST_LIBRARIES];
uint32_t g_library_count;
uint32_t g_library_lock;
uint32_t g_own_namespace;     // 1: dlmopen made a namespace that the tap is not in
uint32_t g_variants_used_up;  // id + 1 of a function that more libraries have than there are variants

// Records can be added between the calls of a thread, not inside one: its record would be torn from it.
void report_if_between_calls() {
  if (tls.calls && !(tls.special & SPECIAL_BUSY)) report_libraries(&tls);
}

void note_library(const void* address) {
  Object object;
  if (!find_object(address, &object)) return;
  uint32_t n = __atomic_load_n(&g_library_count, __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; i < n; i++)
    if (g_libraries[i].base == object.base &&
        !strncmp(g_libraries[i].path, object.path, sizeof g_libraries[i].path - 1))
      return;
  // Held for a few stores; whoever finds it taken leaves the fact to the next look-up.
  if (__atomic_exchange_n(&g_library_lock, 1u, __ATOMIC_ACQUIRE)) return;
  n = g_library_count;
  uint32_t place = 0;
  while (place < n && g_libraries[place].base) place++;  // one that was unloaded makes room
  if (place < MOST_LIBRARIES) {
    Library& library = g_libraries[place];
    library.begin = object.begin;
    library.end = object.end;
    library.reported = 0;
    snprintf(library.path, sizeof library.path, "%.*s", (int)sizeof library.path - 1, object.path);
    if (object.is_program) {
      ssize_t length = readlink("/proc/self/exe", library.path, sizeof library.path - 1);
      library.path[length > 0 ? length : 0] = 0;
    }
    library.base = object.base;
    if (place == n) __atomic_store_n(&g_library_count, n + 1, __ATOMIC_RELEASE);
  }
  __atomic_store_n(&g_library_lock, 0u, __ATOMIC_RELEASE);
}

// ---- setting the slots of objects that were opened later ----------------------------------------

bool is_data_slot(unsigned type) { return type == DATA_SLOT || type == ABSOLUTE; }

// The slots of one new object.
struct Patcher : Opened {
  Elf elf;
  void* root;  // handle of the dlopen that brought it; nullptr: there from the start
  bool deep;   // RTLD_DEEPBIND: local scope before global

  bool own(const void* address) const {
    Object other;
    return find_object(address, &other) && other.dynamic == object.dynamic;
  }
  // The address that the loader gives this object for `name` in a process without the tap.
  void* bound_without_tap(const char* name) {
    void* global = startup_scope(name);
    if (!global) global = next_after_tap(name, nullptr);
    if (!deep && global) return global;
    void* local = loader().dlsym_(root, name);
    if (local && in_tap(local)) local = nullptr;
    return local ? local : global;
  }
  void* wanted(const char* name, void* now) {
    void* hook = find_loader_hook(name);
    if (hook) {
      Object target;
      bool unbound_or_real = own(now) || (find_object(now, &target) && target.is_libc);
      return unbound_or_real ? hook : nullptr;
    }
    int id = find_function(name);
    if (id < 0) return nullptr;
    void* real = bound_without_tap(name);
    if (!real) return nullptr;
    // Only what was bound to the tap, not yet bound, or bound to that very function: the program may have
    // stored something of its own since.
    if (!in_tap(now) && now != real && !own(now)) return nullptr;
    if (own(real)) return real;  // a library that calls itself
    return entry_for((unsigned)id, real);
  }
  // A weak reference to a function that no library has is null; with the tap's exports in scope it would not be.
  void drop_weak(const ElfW(Rela) * relocations, size_t count) {
    for (size_t i = 0; i < count; i++) {
      const ElfW(Rela) & r = relocations[i];
      unsigned index = (unsigned)ELF64_R_SYM(r.r_info);
      if (!index || !is_data_slot((unsigned)ELF64_R_TYPE(r.r_info))) continue;
      const ElfW(Sym) & symbol = elf.symbols[index];
      if (ELF64_ST_BIND(symbol.st_info) != STB_WEAK || symbol.st_shndx != SHN_UNDEF) continue;
      uintptr_t at = elf.base + r.r_offset;
      void* now = __atomic_load_n((void**)at, __ATOMIC_RELAXED);
      if (!now || !in_tap(now)) continue;
      const char* name = elf.strings + symbol.st_name;
      bool absent = root ? !bound_without_tap(name) : !startup_scope(name);
      if (absent && at % sizeof(void*) == 0 && writable(at))
        __atomic_store_n((void**)at, (void*)nullptr, __ATOMIC_RELEASE);
    }
  }
  void patch(const ElfW(Rela) * relocations, size_t count) {
    for (size_t i = 0; i < count; i++) {
      const ElfW(Rela) & r = relocations[i];
      unsigned index = (unsigned)ELF64_R_SYM(r.r_info);
      if (!index || (ELF64_R_TYPE(r.r_info) != JUMP_SLOT && !is_data_slot((unsigned)ELF64_R_TYPE(r.r_info)))) continue;
      const char* name = elf.strings + elf.symbols[index].st_name;
      if (find_function(name) < 0 && !find_loader_hook(name)) continue;
      uintptr_t at = elf.base + r.r_offset;
      void** slot = (void**)at;
      void* now = __atomic_load_n(slot, __ATOMIC_RELAXED);
      void* want = now ? wanted(name, now) : nullptr;
      if (!want || want == now || at % sizeof(void*) || !writable(at)) continue;
      __atomic_store_n(slot, want, __ATOMIC_RELEASE);
    }
  }
};

// Everything that this dlopen brought and the program did not have before: the loader appends new objects.
void patch_new_objects(void* handle, int flags, unsigned long long adds_before) {
  KeepErrno keep;
  if (loads_so_far() == adds_before) return;
  Snapshot now;
  if (!open_snapshot(&now)) return;
  each_object([&](const dl_phdr_info* info) { return add_loaded(&now, info); });
  const unsigned long long brought = now.adds - adds_before;
  for (size_t i = brought < now.count ? now.count - brought : 0; i < now.count; i++)
    if (!now.at[i].tap) bind_to_itself(read_elf(now.at[i].base, now.at[i].dynamic));
  Loaded* root = by_dynamic(now, ((link_map*)handle)->l_ld);
  if (root && !root->gl) {
    reach(now, root);
    unsigned long long fresh = now.adds - adds_before;
    for (size_t i = fresh < now.count ? now.count - fresh : 0; i < now.count; i++) {
      Loaded& o = now.at[i];
      if (!o.reached || o.gl || o.tap) continue;
      Patcher p = {};
      if (!find_object(o.dynamic, &p.object) || p.object.is_libc) continue;
      p.elf = read_elf(o.base, o.dynamic);
      p.root = handle;
      p.deep = flags & RTLD_DEEPBIND;
      if (!p.elf.symbols || !p.elf.strings) continue;
      p.patch(p.elf.jump_slots, p.elf.jump_slot_count);
      p.patch(p.elf.relocations, p.elf.relocation_count);
      p.drop_weak(p.elf.relocations, p.elf.relocation_count);
      p.close();
    }
    forget_loader_error();
  }
  close_snapshot(&now);
}

// Before the program runs: it must not find functions by weak references that it would not have without the tap.
void drop_weak_references() {
  const Startup& s = startup();
  for (unsigned i = 0; i < s.count; i++) {
    const Elf& elf = s.objects[i];
    if (!elf.symbols || !elf.relocation_count || in_tap(elf.dynamic) || is_c_library(elf.soname)) continue;
    Patcher p = {};
    p.elf = elf;
    if (i) bind_to_itself(elf);
    if (is_gl_library(elf.soname)) continue;
    if (!find_object(elf.dynamic, &p.object)) continue;
    p.drop_weak(elf.relocations, elf.relocation_count);
    p.close();
  }
}

// ---- what the program's look-ups get ------------------------------------------------------------

// A non-PIE program that takes a function's address stands in for it with an own jump: calling that is calling us.
bool is_stand_in(const char* name, void* at) {
  const Elf& program = startup().objects[0];
  if (!program.symbols) return false;
  unsigned n = symbol_count(program);
  for (unsigned i = 1; i < n; i++) {
    const ElfW(Sym) & symbol = program.symbols[i];
    if (symbol.st_shndx == SHN_UNDEF && symbol.st_value && (void*)(program.base + symbol.st_value) == at)
      return same(program.strings + symbol.st_name, name);
  }
  return false;
}

bool is_ours(const char* name) { return find_function(name) >= 0 || find_loader_hook(name); }

// The answer to a look-up of a name that is ours.
void* look_up(const Query& q, const void* caller) {
  Object from = {};
  bool known = find_object(caller, &from);
  void* at = ask_for_caller(q, caller, from);
  if (!at) return nullptr;
  void* hook = find_loader_hook(q.name);
  if (in_tap(at)) {
    if (hook && !from.is_gl) return at;
    void* real = next_after_tap(q.name, q.version);
    if (!real && !hook && known && !is_startup(from.dynamic)) {
      real = local_scope(from, q.name);
      if (real) forget_loader_error();
    }
    if (!real) return nullptr;
    at = real;
  }
  if (known && from.is_gl) return at;
  if (hook) {
    Object owner;
    return find_object(at, &owner) && owner.is_libc ? hook : at;
  }
  Object owner;
  if (find_object(at, &owner) && owner.is_program && is_stand_in(q.name, at)) return at;
  return entry_for((unsigned)find_function(q.name), at);
}

// ---- opening ------------------------------------------------------------------------------------

// The caller decides which directories are searched for this file.
bool depends_on_caller(const char* file, const Object& from) {
  if (strchr(file, '$')) return true;
  if (strchr(file, '/') || !from.dynamic) return false;
  return !is_startup(from.dynamic) || read_elf(from.base, from.dynamic).searches_own_path;
}

struct Opening {
  void* function;   // dlopen, or dlmopen with LM_ID_BASE
  void *a, *b, *c;  // its arguments
  const char* file;
  int flags;
};

// Open for the program, then set the slots of what is new. Returns the function to go on to where the call must be
// the program's own, else nullptr and the handle.
void* open_and_patch(const Opening& o, const void* caller, void** out) {
  Object from = {};
  find_object(caller, &from);
  if (!o.file || !*o.file || from.is_gl) return o.function;
  const void* gadget = nullptr;
  if (depends_on_caller(o.file, from)) {
    gadget = gadget_near(caller, from);
    if (!gadget) return o.function;
  }
  unsigned long long before = loads_so_far();
  *out = gadget ? dt_call_as(o.function, o.a, o.b, o.c, gadget)
                : ((void* (*)(void*, void*, void*))o.function)(o.a, o.b, o.c);
  if (*out) patch_new_objects(*out, o.flags, before);
  return nullptr;
}

}  // namespace

int find_function(const char* name) {
  if (!name || !*name) return -1;
  if (DT_UNLIKELY(!__atomic_load_n(&g_hash_ready, __ATOMIC_ACQUIRE))) build_hash();
  for (uint32_t at = name_hash(name) & (HASH_SIZE - 1); g_hash[at]; at = (at + 1) & (HASH_SIZE - 1)) {
    unsigned id = g_hash[at] - 1u;
    if (same(g_names[id], name)) return (int)id;
  }
  return -1;
}

void* real_dlsym(void* handle, const char* name) { return loader().dlsym_ ? loader().dlsym_(handle, name) : nullptr; }
void* real_dlopen(const char* file, int flags) { return loader().dlopen_ ? loader().dlopen_(file, flags) : nullptr; }

// Not before the program's first call: a process that only looks functions up leaves no trace.
void report_libraries(Thread* t) {
  if (!reserve(t, 16)) return;  // connects: from here on the thread's generation is the session's
  if (__atomic_exchange_n(&g_own_namespace, 0u, __ATOMIC_RELAXED))
    emit_note(t, "namespace", "dlmopen made a namespace of its own: direct calls in it are not recorded");
  if (uint32_t id = __atomic_exchange_n(&g_variants_used_up, 0u, __ATOMIC_RELAXED)) {
    char text[200];
    snprintf(text, sizeof text, "%s: more than %u libraries have it; calls into one of them are not recorded",
             g_names[id - 1], VARIANTS);
    emit_note(t, "variants", text);
  }
  uint32_t n = __atomic_load_n(&g_library_count, __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; i < n; i++) {
    Library& library = g_libraries[i];
    uint64_t mark = t->generation + 1;
    if (__atomic_load_n(&library.reported, __ATOMIC_RELAXED) == mark || !library.base) continue;
    if (__atomic_exchange_n(&library.reported, mark, __ATOMIC_RELAXED) == mark) continue;
    emit_library(t, library.path, library.base);
  }
}

namespace {

// Functions whose entry leads somewhere else than to the slow path: what has to be looked at when the mode changes.
uint64_t g_led[HASH_SIZE / 64];

// The real function behind the exported entry, decided at the first look-up or direct call. g_real[id][0] gets it at
// the first call only: that one leaves the fast path and comes to resolve(), where records of the tap's own may be
// added.
void* g_main[HASH_SIZE];

// The place of variant `k` where entries are decided.
void** place_of(unsigned id, unsigned k) { return k ? &g_real[id][k] : &g_main[id]; }

// The same, found for the tap's own questions to the driver: that decides nothing for the program, which may yet look
// the function up somewhere else.
void* g_internal[HASH_SIZE];

void* search(unsigned id) {
  const char* name = g_names[id];
  void* at = startup_scope(name);
  if (!at && loader().dlsym_) {
    at = next_after_tap(name, nullptr);  // opened later with RTLD_GLOBAL
    if (!at) forget_loader_error();
  }
  if (!at) {
    // Bound to us although nothing in scope has it: a library that is loaded all the same is what was meant.
    const uint32_t hash = gnu_hash(name);
    each_object([&](const dl_phdr_info* info) {
      const Elf elf = elf_of(info);
      if (elf.dynamic && !in_tap(elf.dynamic) && is_gl_library(elf.soname)) at = find_symbol(elf, name, hash);
      return at != nullptr;
    });
  }
  return at;
}

void* resolve_quietly(unsigned id) {
  void* at = __atomic_load_n(&g_main[id], __ATOMIC_ACQUIRE);
  if (at) return at;
  at = search(id);
  if (!at) return nullptr;
  void* none = nullptr;
  if (!__atomic_compare_exchange_n(&g_main[id], &none, at, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return none;
  note_library(at);
  return at;
}

// The program or a library it was linked to calls `id` directly: then the exported wrapper stands for what the
// global scope has, not for what is looked up first.
bool is_linked(unsigned id) {
  static uint8_t linked[HASH_SIZE / 8];
  static uint32_t ready;
  if (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) {
    const Startup& s = startup();
    for (unsigned i = 0; i < s.count; i++) {
      const Elf& elf = s.objects[i];
      if (!elf.symbols || !elf.strings || in_tap(elf.dynamic) || is_gl_library(elf.soname) || is_c_library(elf.soname))
        continue;
      unsigned n = symbol_count(elf);
      for (unsigned k = 1; k < n; k++) {
        if (elf.symbols[k].st_shndx != SHN_UNDEF) continue;
        int function = find_function(elf.strings + elf.symbols[k].st_name);
        if (function >= 0) __atomic_fetch_or(&linked[function / 8], (uint8_t)(1u << function % 8), __ATOMIC_RELAXED);
      }
    }
    __atomic_store_n(&ready, 1u, __ATOMIC_RELEASE);
  }
  return linked[id / 8] & (1u << id % 8);
}

// Functions of libraries that were unloaded: their places are free again.
void forget_unloaded() {
  static unsigned long long seen;
  unsigned long long unloads = 0;
  each_object([&](const dl_phdr_info* info) {
    unloads = info->dlpi_subs;
    return true;
  });
  if (__atomic_exchange_n(&seen, unloads, __ATOMIC_ACQ_REL) == unloads) return;
  uint32_t n = __atomic_load_n(&g_library_count, __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; i < n; i++) {
    Library& library = g_libraries[i];
    Object object;
    if (!library.base || (find_object((void*)library.begin, &object) && object.base == library.base)) continue;
    library.base = 0;
    for (unsigned id = 0; id < g_function_count; id++) {
      uintptr_t own = (uintptr_t)__atomic_load_n(&g_internal[id], __ATOMIC_RELAXED);
      if (own >= library.begin && own < library.end)
        __atomic_store_n(&g_internal[id], (void*)nullptr, __ATOMIC_RELAXED);
      for (unsigned k = 0; k < VARIANTS; k++) {
        void* real = __atomic_load_n(place_of(id, k), __ATOMIC_RELAXED);
        if ((uintptr_t)real < library.begin || (uintptr_t)real >= library.end) continue;
        void* published = real;
        __atomic_compare_exchange_n(&g_real[id][k], &published, (void*)nullptr, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED);
        __atomic_compare_exchange_n(place_of(id, k), &real, (void*)nullptr, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
        if (!k) lead(id);
      }
    }
  }
}

}  // namespace

// A change of the mode or of the real function sets the entry afterwards. Two changes at once may overtake each other:
// so each looks again whether its reasons still hold, and the last one to look leaves the entry right.
void lead(unsigned id) {
  const Paths& paths = g_paths[id];
  if (!paths.enter) return;
  for (;;) {
    const uint32_t mode = __atomic_load_n(&g_mode, __ATOMIC_SEQ_CST);
    void* const real = __atomic_load_n(&g_real[id][0], __ATOMIC_SEQ_CST);
    void* const to = !real ? follow(paths.slow) : mode == MODE_OFF ? real : follow(paths.enter);
    __atomic_store_n(&g_entries[id], to, __ATOMIC_SEQ_CST);
    const bool off = __atomic_load_n(&g_mode, __ATOMIC_SEQ_CST) == MODE_OFF;
    if (off == (mode == MODE_OFF) && __atomic_load_n(&g_real[id][0], __ATOMIC_SEQ_CST) == real) return;
  }
}

void lead_all() {
  for (unsigned word = 0; word <= (g_function_count - 1) / 64; word++)
    for (uint64_t left = __atomic_load_n(&g_led[word], __ATOMIC_SEQ_CST); left; left &= left - 1)
      lead(word * 64 + (unsigned)__builtin_ctzll(left));
}

void* resolve(unsigned id) {
  KeepErrno keep;
  if (tls.special & SPECIAL_BUSY) {
    void* known = __atomic_load_n(&g_main[id], __ATOMIC_ACQUIRE);
    if (!known) known = __atomic_load_n(&g_internal[id], __ATOMIC_ACQUIRE);
    if (!known) {
      known = search(id);
      __atomic_store_n(&g_internal[id], known, __ATOMIC_RELEASE);
      if (known) note_library(known);
    }
    return known;
  }
  void* at = resolve_quietly(id);
  if (!at) return nullptr;
  if (is_left_out(id)) {  // a call of it goes to the driver, and costs a jump
    if (g_paths[id].enter) __atomic_store_n(&g_entries[id], at, __ATOMIC_SEQ_CST);
    return at;
  }
  say_called();
  if (g_mode != MODE_OFF) {
    Inside inside(&tls);  // a signal handler may jump out of it: the recording shows that as for any call
    report_libraries(&tls);
  }
  __atomic_store_n(&g_real[id][0], at, __ATOMIC_SEQ_CST);
  __atomic_fetch_or(&g_led[id / 64], (uint64_t)1 << id % 64, __ATOMIC_SEQ_CST);
  lead(id);
  return at;
}

namespace driver {

void* find(unsigned id) {
  if (id == g_function_count) return nullptr;
  void* known = resolve(id);
  return known ? known : gl::ask_driver_for(g_names[id]);
}

void is_missing(unsigned id) {
  const char* name = id == g_function_count ? "a function of another API" : g_names[id];
  char text[128];
  snprintf(text, sizeof text, "the driver does not have %s, which the recorder needed", name);
  emit_note(&tls, "driver-lacks", text);
}

}  // namespace driver

// Several modules can be preloaded: each stands in front of those behind it, and what one finds for the program goes
// through the next. (Direct calls do so by themselves: the next module's wrapper is what the linker would have found.)
void* next_module_symbol(const char* name) {
  const uint32_t hash = gnu_hash(name);
  bool behind = false;
  void* at = nullptr;
  each_object([&](const dl_phdr_info* info) {
    const Elf elf = elf_of(info);
    if (!elf.dynamic) return false;
    if (in_tap(elf.dynamic))
      behind = true;
    else if (behind)
      at = find_symbol(elf, name, hash);
    return at != nullptr;
  });
  return at;
}

namespace {

using Entry = void* (*)(const char* name, void* real);

// Modules are preloaded, so what is behind this one is known from the start.
Entry next_module() {
  static void* next;
  static uint32_t looked;
  if (!__atomic_load_n(&looked, __ATOMIC_ACQUIRE)) {
    __atomic_store_n(&next, next_module_symbol("drawtap_entry"), __ATOMIC_RELAXED);
    __atomic_store_n(&looked, 1u, __ATOMIC_RELEASE);
  }
  return (Entry)__atomic_load_n(&next, __ATOMIC_RELAXED);
}

}  // namespace

void* entry_for(unsigned id, void* real) {
  KeepErrno keep;
  return !real || in_tap(real) ? real : entry_for_own(id, real);
}

void* entry_for_own(unsigned id, void* real) {
  KeepErrno keep;
  if (Entry next = next_module()) real = next(g_names[id], real);
  forget_unloaded();
  if (is_linked(id)) resolve_quietly(id);
  for (unsigned k = 0; k < VARIANTS; k++) {
    void** place = place_of(id, k);
    void* held = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (!held && __atomic_compare_exchange_n(place, &held, real, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      note_library(real);
      report_if_between_calls();
      held = real;
    }
    if (held == real) return entry_of(id, k);
  }
  __atomic_store_n(&g_variants_used_up, id + 1, __ATOMIC_RELAXED);
  report_if_between_calls();
  return real;
}

void* wrap_lookup(const char* name, void* real, const void* caller) {
  if (!real) return nullptr;
  int id = find_function(name);
  if (id < 0) return real;
  KeepErrno keep;
  Object from;
  if (caller && find_object(caller, &from) && from.is_gl && !from.is_module) return real;
  return entry_for((unsigned)id, real);
}

}  // namespace dt

// ---- what a module in front of this one asks ----------------------------------------------------

DT_EXPORT void* drawtap_entry(const char* name, void* real) {
  int id = dt::find_function(name);
  return id < 0 ? real : dt::entry_for((unsigned)id, real);
}

// ---- what hooks.S asks --------------------------------------------------------------------------

#define DT_HOOK extern "C" __attribute__((visibility("hidden"), used)) void*

namespace {

// Where a call goes on that is not for this module: to the same entry of a module behind it, or to the loader.
enum Entrance : unsigned { DLSYM, DLVSYM, DLOPEN, DLMOPEN, ENTRANCES };
void* onward(Entrance entrance) {
  static void* known[ENTRANCES];
  void* at = __atomic_load_n(&known[entrance], __ATOMIC_ACQUIRE);
  if (at) return at;
  const dt::Loader& own = dt::loader();
  void* const loaders[] = {(void*)own.dlsym_, (void*)own.dlvsym_, (void*)own.dlopen_, (void*)own.dlmopen_};
  at = dt::next_module() ? dt::next_module_symbol(dt::loader_hooks[entrance].name) : nullptr;
  if (!at) at = loaders[entrance];
  __atomic_store_n(&known[entrance], at, __ATOMIC_RELEASE);
  return at;
}

}  // namespace

// Programs that open a driver of Vulkan without the loader look up its functions by this name. The loader does, too.
static bool is_door_of_driver(void* handle, const char* name) {
  return name && handle != RTLD_NEXT && !strcmp(name, "vk_icdGetInstanceProcAddr");
}

DT_HOOK dt_hook_dlsym(void* handle, const char* name, const void*, const void* caller, void** out) {
  if (is_door_of_driver(handle, name)) {
    *out = dt::wrap_lookup("vkGetInstanceProcAddr", dt::real_dlsym(handle, name), caller);
    return nullptr;
  }
  if (!name || !dt::is_ours(name)) return onward(DLSYM);
  *out = dt::look_up(dt::Query{handle, name, nullptr}, caller);
  return nullptr;
}

DT_HOOK dt_hook_dlvsym(void* handle, const char* name, const char* version, const void* caller, void** out) {
  if (!name || !version || !dt::is_ours(name)) return onward(DLVSYM);
  *out = dt::look_up(dt::Query{handle, name, version}, caller);
  return nullptr;
}

DT_HOOK dt_hook_dlopen(const char* file, uintptr_t flags, const void*, const void* caller, void** out) {
  void* function = onward(DLOPEN);
  return dt::open_and_patch(dt::Opening{function, (void*)file, (void*)flags, nullptr, file, (int)flags}, caller, out);
}

DT_HOOK dt_hook_dlmopen(uintptr_t space, const char* file, uintptr_t flags, const void* caller, void** out) {
  void* function = onward(DLMOPEN);
  if ((long)space != LM_ID_BASE) {
    __atomic_store_n(&dt::g_own_namespace, 1u, __ATOMIC_RELAXED);
    dt::report_if_between_calls();
    return function;
  }
  return dt::open_and_patch(dt::Opening{function, (void*)space, (void*)file, (void*)flags, file, (int)flags}, caller,
                            out);
}

// The loader's list as it is at program start must be read before the program opens anything.
__attribute__((constructor)) static void read_startup() {
  dt::loader();
  dt::drop_weak_references();
}
