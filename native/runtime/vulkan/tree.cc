// Copies a structure with what its pointers lead to: one content, in which pointers are offsets.
//
// The program's data is not trusted where a check costs nothing or little. Chains and depths have a bound, and so have
// bytes. Memory is probed before it is read where no rule says that a pointer counts, and where it goes over the end of
// a page. The rest of a page that a valid pointer is in can be read.
#include "tree.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "losses.h"
#include "reach.h"

namespace dt {
void count_loss(const char* code);  // session.cc
dt_pool_header* session_pool();     // nullptr: none
}  // namespace dt
namespace dt::tree {

__thread Arena arena __attribute__((tls_model("initial-exec")));

namespace {

// Pages that nobody touched cost nothing.
constexpr size_t ROOM = 256u << 20, LITTLE = 16u << 20, PAGE = 4096;
constexpr unsigned MOST_NODES = 512, MOST_DEPTH = 32;
constexpr uint64_t NOT_CAPTURED = 1;

void stands_in_chain(int32_t stype) {
  char* const pool = (char*)session_pool();
  if (!pool) return;
  char* const seen = pool + DT_POOL_CHAINS_OFFSET + dt_chain_place(stype);
  if (!__atomic_load_n(seen, __ATOMIC_RELAXED)) __atomic_store_n(seen, 1, __ATOMIC_RELAXED);
}

DT_COLD bool make_arena() {
  const size_t sizes[] = {ROOM, LITTLE};
  for (size_t size : sizes) {
    void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) continue;
    arena.at = (char*)at;
    arena.size = size;
    return true;
  }
  return false;
}
inline bool has_arena() { return DT_LIKELY(arena.at != nullptr) || make_arena(); }

// The kernel reads a byte of each page for us, and says where it cannot.
DT_COLD bool can_read(const void* at, size_t bytes) {
  const int saved = errno;
  bool good = true;
  uintptr_t page = (uintptr_t)at & ~(PAGE - 1);
  const uintptr_t end = (uintptr_t)at + bytes;
  if (end < (uintptr_t)at) return false;
  while (good && page < end) {
    char first_bytes[16];
    iovec from[16];
    unsigned n = 0;
    for (; n < 16 && page < end; n++, page += PAGE) from[n] = {(void*)page, 1};
    const iovec to = {first_bytes, n};
    good = process_vm_readv(getpid(), &to, 1, from, n, 0) == (ssize_t)n;
    if (!good && (errno == EPERM || errno == ENOSYS)) {  // forbidden here: whether something is mapped there will do
      unsigned char held;
      good = true;
      for (unsigned i = 0; i < n; i++) good = good && !mincore(from[i].iov_base, 1, &held);
    }
  }
  errno = saved;
  return good;
}

// Pages that could be read a moment ago, and how often that is believed. A program hands the same structures over in
// each frame, and a few of them go over the end of a page.
constexpr unsigned SEEN = 64, BELIEVED = 255;
uint64_t seen[SEEN];  // page << 8 | how often
inline bool was_readable(uintptr_t page) {
  const uint64_t held = __atomic_load_n(&seen[page % SEEN], __ATOMIC_RELAXED);
  if (held >> 8 != page || !(held & BELIEVED)) return false;
  __atomic_store_n(&seen[page % SEEN], held - 1, __ATOMIC_RELAXED);
  return true;
}

inline bool may_point(uintptr_t at) { return at - PAGE < (1ull << 47) - PAGE; }

bool is_safe(const void* at, size_t bytes, bool probe) {
  const uintptr_t from = (uintptr_t)at;
  if (!may_point(from)) return false;
  const uintptr_t first = from / PAGE, last = (from + (bytes ? bytes - 1 : 0)) / PAGE;
  if (probe || last > first + 1) return can_read(at, bytes);
  if (first == last || was_readable(last)) return true;
  if (!can_read(at, bytes)) return false;
  __atomic_store_n(&seen[last % SEEN], last << 8 | BELIEVED, __ATOMIC_RELAXED);
  return true;
}

struct Walk {
  size_t begin;  // of this content in the arena
  bool out;      // after the call: what the driver filled in counts
  bool cut = false;
  unsigned nodes = 0, depth = 0;

  uint64_t offset(size_t place) const { return place - begin; }
  void put(size_t place, uint64_t value) const { memcpy(arena.at + place, &value, 8); }
  // Room for the number of elements and the elements; returns where these begin, 0: there is no room.
  size_t block(uint64_t count, uint64_t bytes) {
    const size_t whole = (bytes + 15) & ~7ull;
    if (bytes > arena.size || whole > arena.size - arena.used) {
      cut = true;
      return 0;
    }
    const size_t place = arena.used;
    arena.used += whole;
    put(place, count);
    if (bytes & 7) put(place + whole - 8, 0);  // equal structures are equal bytes
    return place + 8;
  }
  // A copy of `count` elements, 0: not to be had. Most are few bytes, within a page.
  inline __attribute__((always_inline)) size_t copy(const void* at, int64_t count, size_t width, size_t stride,
                                                    bool probe) {
    constexpr uint64_t FEW = 64;
    const uintptr_t from = (uintptr_t)at;
    const size_t bytes = (size_t)count * width, place = arena.used;
    if (DT_UNLIKELY((uint64_t)count > FEW || stride != width || probe || bytes > PAGE - from % PAGE ||
                    !may_point(from) || arena.size - place < PAGE + 16))
      return copy_any(at, count, width, stride, probe);
    const size_t whole = (bytes + 15) & ~7ull;
    arena.used = place + whole;
    put(place, (uint64_t)count);
    if (bytes & 7) put(place + whole - 8, 0);
    memcpy(arena.at + place + 8, at, bytes);
    return place + 8;
  }
  size_t copy_any(const void* at, int64_t count, size_t width, size_t stride, bool probe) {
    if (count < 0) count = 0;
    uint64_t bytes;
    if ((uint64_t)count > arena.size || __builtin_mul_overflow((uint64_t)count, width, &bytes)) return cut = true, 0;
    const size_t span = count ? (size_t)(count - 1) * stride + width : 0;
    if (span && !is_safe(at, span, probe)) return cut = true, 0;
    const size_t place = block((uint64_t)count, bytes);
    if (!place) return 0;
    if (stride == width)
      memcpy(arena.at + place, at, bytes);
    else
      for (int64_t i = 0; i < count; i++)
        memcpy(arena.at + place + (size_t)i * width, (const char*)at + (size_t)i * stride, width);
    return place;
  }
  size_t text(const char* at, int64_t length) {
    if (!is_safe(at, 1, false)) return cut = true, 0;
    if (length < 0) length = (int64_t)strnlen(at, KEPT);
    const size_t place = copy_text(at, (size_t)length);
    return place;
  }
  size_t copy_text(const char* at, size_t length) {
    if (!is_safe(at, length, false)) return cut = true, 0;
    const size_t place = block(length, length + 1);
    if (!place) return 0;
    memcpy(arena.at + place, at, length);
    arena.at[place + length] = 0;
    return place;
  }
  size_t from_template(const char* at, uint64_t update) {
    const Gathered of = gathered(update);
    const size_t place = of.bytes ? block(of.bytes, of.bytes) : 0;
    if (place) of.copy(of.pieces, at, arena.at + place);
    return place;
  }
  void link(size_t slot, size_t place) const { put(slot, place ? offset(place) : NOT_CAPTURED); }

  void members(const Type& type, size_t place, const char* self, const void* outer, bool in_chain);
  void member(const Member& m, size_t slot, const char* at, const char* self, const void* outer);
  void chain(size_t slot, const char* at, const void* outer);
  inline size_t structures(const char* at, int64_t count, uint16_t type, size_t stride, const void* outer, bool probe);
  void addresses(const Member& m, size_t slot, const char* at, int64_t count, const char* self);
};

const Type* type_of(int32_t stype) {
  for (uint32_t place = dt_chain_place(stype);; place = (place + 1) & ((1u << STYPE_BITS) - 1)) {
    const uint16_t number = BY_STYPE[place];
    if (!number) return nullptr;
    if (STYPES[number - 1] == stype) return &TYPES[number - 1];
  }
}

void Walk::chain(size_t slot, const char* at, const void* outer) {
  constexpr size_t HEAD = 16;                // sType, and the next address
  constexpr int32_t OF_LOADER[] = {47, 48};  // what the loader tells layers: not the program's
  for (;; nodes++) {
    if (!at) return put(slot, 0);
    if (nodes >= MOST_NODES || (uintptr_t)at % 8 || !is_safe(at, HEAD, false)) {
      cut = true;
      return put(slot, NOT_CAPTURED);
    }
    int32_t stype;
    memcpy(&stype, at, 4);
    if (stype == OF_LOADER[0] || stype == OF_LOADER[1]) {
      memcpy(&at, at + 8, 8);
      continue;
    }
    const Type* type = type_of(stype);
    if (!type && !out) reach::all_are_named();
    const size_t place = copy(at, 1, type ? type->size : HEAD, type ? type->size : HEAD, false);
    link(slot, place);
    if (!place) return;
    if (type) {
      stands_in_chain(stype);
      members(*type, place, at, outer, true);
    }
    slot = place + 8;
    memcpy(&at, arena.at + slot, 8);
  }
}

inline size_t Walk::structures(const char* at, int64_t count, uint16_t number, size_t stride, const void* outer,
                               bool probe) {
  const Type& type = TYPES[number];
  const size_t place = copy(at, count, type.size, stride, probe);
  if (place && type.members)
    for (int64_t i = 0; i < count; i++)
      members(type, place + (size_t)i * type.size, at + (size_t)i * stride, outer, false);
  return place;
}

// An array of addresses, with what each leads to.
void Walk::addresses(const Member& m, size_t slot, const char* at, int64_t count, const char* self) {
  const size_t place = copy(at, count, 8, 8, m.flags & PROBE);
  link(slot, place);
  for (int64_t i = 0; place && i < count; i++) {
    const size_t own = place + (size_t)i * 8;
    const char* to;
    memcpy(&to, arena.at + own, 8);
    if (!to) continue;
    if (m.kind == STRINGS)
      link(own, text(to, -1));
    else if (m.kind == TREES)
      link(own, structures(to, 1, m.type, TYPES[m.type].size, self, false));
    else
      link(own, copy(to, 1, m.element, m.element, false));
  }
}

void Walk::member(const Member& m, size_t slot, const char* at, const char* self, const void* outer) {
  if ((m.flags & OUT && !out) || (m.when != ALWAYS && !rule(m.when, self, outer))) return put(slot, NOT_CAPTURED);
  const int64_t count = m.count == ALWAYS ? (m.kind == STRING ? -1 : 1) : rule(m.count, self, outer);
  const bool probe = m.flags & PROBE;
  switch (m.kind) {
    case TREE: link(slot, structures(at, count, m.type, TYPES[m.type].size, self, probe)); break;
    case ARRAY: link(slot, copy(at, count, m.element, m.element, probe)); break;
    case TEMPLATE: link(slot, from_template(at, (uint64_t)count)); break;
    case STRING: link(slot, text(at, count)); break;
    default: addresses(m, slot, at, count, self); break;
  }
}

void Walk::members(const Type& type, size_t place, const char* self, const void* outer, bool in_chain) {
  if (++depth > MOST_DEPTH) {
    cut = true;
    depth--;
    for (uint16_t i = 0; i < type.members; i++)
      if (MEMBERS[type.first + i].kind != EMBEDDED) put(place + MEMBERS[type.first + i].offset, NOT_CAPTURED);
    return;
  }
  for (uint16_t i = 0; i < type.members; i++) {
    const Member& m = MEMBERS[type.first + i];
    const size_t slot = place + m.offset;
    if (m.kind == EMBEDDED) {
      if (m.when != ALWAYS && !rule(m.when, self, outer)) continue;
      for (uint16_t k = 0; k < m.count; k++) {
        const size_t further = (size_t)k * TYPES[m.type].size;
        members(TYPES[m.type], slot + further, self + m.offset + further, self, false);
      }
      continue;
    }
    if (m.kind == CHAIN && in_chain) continue;  // whoever follows the chain does it
    const char* at;
    memcpy(&at, arena.at + slot, 8);
    if (!at) continue;
    if (m.kind == CHAIN)
      chain(slot, at, self);
    else
      member(m, slot, at, self, outer);
  }
  depth--;
}

// The buffers that structures name, of which `words` are at `content`.
inline void tell_names(uint16_t type, const char* content, size_t words) {
  constexpr int32_t ALLOCATES = 5, BINDS = 1000157000, ASKS = 1000146000;  // whose buffers are not read because of them
  if (STYPES[type] != ALLOCATES && STYPES[type] != BINDS && STYPES[type] != ASKS) reach::are_named(content, words);
}

// A few structures within a page whose pointers lead nowhere. Nothing has to be put together: the record gets them from
// where the program has them. Structures with several pointers are hardly ever such.
inline bool is_flat(const Type& type, const char* at, int64_t count, int64_t stride) {
  constexpr uint16_t MOST_POINTERS = 2;
  const size_t bytes = (size_t)count * type.size;
  if (type.members > MOST_POINTERS || (uint64_t)count > 64 || (stride > 0 && stride != type.size) ||
      bytes + 16 > g_inline_limit || bytes > PAGE - (uintptr_t)at % PAGE || !may_point((uintptr_t)at))
    return false;
  for (int64_t i = 0; i < count; i++, at += type.size)
    for (uint16_t k = 0; k < type.members; k++) {
      const Member& m = MEMBERS[type.first + k];
      uint64_t value;
      memcpy(&value, at + m.offset, 8);
      if (m.kind == EMBEDDED || value) return false;
    }
  return true;
}

// Flat structures have their number and their bytes where other contents have a hash.
struct Flat {
  uint64_t count, bytes;
};

// Returns the content, nullptr: nothing of it could be had.
inline const char* content(Thread* t, const void* at, int64_t count, uint16_t type, int64_t stride, const void* outer,
                           bool out, size_t* bytes) {
  if (!has_arena()) {
    emit_loss(t, "tree-without-memory", "there was no memory to put the structures of a call together: not recorded");
    return nullptr;
  }
  Walk walk = {arena.used, out};
  const size_t begin = arena.used;
  const size_t width = TYPES[type].size;
  const size_t root = walk.structures((const char*)at, count, type, stride > 0 ? (size_t)stride : width, outer, false);
  if (walk.cut) {
    reach::all_are_named();
    count_loss("tree-cut");
    if (!out)
      emit_note(t, "tree-cut", "structures point to memory that cannot be read, or are too many: parts are left out");
  }
  *bytes = arena.used - begin;
  if (!out) tell_names(type, arena.at + begin, *bytes / 8);
  return root ? arena.at + begin : nullptr;
}

}  // namespace

bool is_readable(const void* at, uint64_t bytes) { return is_safe(at, bytes, false); }

void give_back() {
  const int saved = errno;
  madvise(arena.at, arena.used, MADV_DONTNEED);
  errno = saved;
}

Data prepare_some(Thread* t, const void* at, int64_t count, uint16_t type, int64_t stride, const void* outer) {
  const Type& of = TYPES[type];
  if (is_flat(of, (const char*)at, count, stride)) {
    const Flat flat = {(uint64_t)count, (uint64_t)count * of.size};
    const uint64_t whole = (flat.bytes + 15) & ~7ull;
    tell_names(type, (const char*)at, flat.bytes / 8);
    Data d = {DT_DATA(DT_DATA_INLINE, whole / 8, whole), at, {}};
    static_assert(sizeof flat == sizeof d.hash);
    memcpy(d.hash, &flat, sizeof flat);
    return d;
  }
  size_t bytes = 0;
  const char* made = content(t, at, count, type, stride, outer, false, &bytes);
  if (!made) return Data{DT_DATA(DT_DATA_FAULT, 0, 0), nullptr, {}};
  return dt::prepare(t, made, (int64_t)bytes);
}

char* copy_some(char* at, const Data& d) {
  char* const end = at + d.room();
  if (DT_DATA_KIND(d.descriptor) == DT_DATA_BLOB) {
    memcpy(at, d.hash, 16);
  } else if (d.content) {
    Flat flat;
    memcpy(&flat, d.hash, sizeof flat);
    if (flat.count) {
      put8(at, flat.count);
      put8(end - 8, (uint64_t)0);  // equal structures are equal bytes
      copy_words(at + 8, (const char*)d.content, flat.bytes);
    } else {
      memcpy(at, d.content, DT_DATA_LENGTH(d.descriptor));
    }
  }
  return end;
}

Data prepare_out(const void* at, int64_t count, uint16_t number) {
  const Type& type = TYPES[number];
  if (!at || count <= 0 || type.members) return !at || count <= 0 ? dt::prepare_out(at, 0) : returned_data();
  return dt::prepare_out(at, 8 + (count > 1 << 20 ? 1 << 20 : count) * type.size);
}

void fill(Thread* t, uint64_t* descriptor, char* room, const void* at, int64_t count, uint16_t type, int64_t stride,
          const void* outer) {
  if (DT_DATA_KIND(*descriptor) != DT_DATA_PENDING) return;
  size_t bytes = 0;
  const char* made = count > 0 ? content(t, at, count, type, stride, outer, true, &bytes) : nullptr;
  if (made)
    fill_out(t, descriptor, room, made, (int64_t)bytes);
  else
    *descriptor = DT_DATA(count > 0 ? DT_DATA_FAULT : DT_DATA_INLINE, DT_DATA_CAPACITY(*descriptor), 0);
}

}  // namespace dt::tree

dt::Data dt::prepare_template(Thread* t, const void* data, int64_t update) {
  if (!data) return prepare(t, nullptr, 0);
  const tree::Gathered of = tree::gathered((uint64_t)update);
  if (!of.bytes) return unknown_data(data);
  if (!tree::has_arena() || of.bytes > tree::arena.size - tree::arena.used)
    return Data{DT_DATA(DT_DATA_FAULT, 0, 0), nullptr, {}};
  char* const to = tree::arena.at + tree::arena.used;
  tree::arena.used += (of.bytes + 7) & ~7ull;
  of.copy(of.pieces, data, to);
  return prepare(t, to, (int64_t)of.bytes);
}
