// Structures with all that they point to, as one content (docs/format.md, "Trees").
#pragma once
#include "tap.h"
#include "trees.h"

namespace dt::tree {

// The contents of one call, of this thread.
struct Arena {
  char* at;
  size_t size, used;
};
extern __thread Arena arena __attribute__((tls_model("initial-exec"), visibility("hidden")));
DT_COLD void give_back();  // the memory that a large call used

constexpr size_t KEPT = 1u << 20;

// Begin the contents of a call: the last call's go away.
static inline void begin() {
  if (DT_UNLIKELY(arena.used > KEPT)) give_back();
  arena.used = 0;
}
// Copies few bytes, word by word. The program has just stored them in words. A wider read would wait until its stores
// have reached the cache.
static inline __attribute__((always_inline)) void copy_words(char* to, const char* from, size_t bytes) {
  constexpr size_t LITTLE_BYTES = 256;
  if (DT_UNLIKELY(bytes > LITTLE_BYTES)) {
    memcpy(to, from, bytes);
    return;
  }
  size_t i = 0;
  for (; i + 8 <= bytes; i += 8) {
    memcpy(to + i, from + i, 8);
    stay_in_order();  // the compiler would make the C library's copy of it
  }
  if (bytes & 4) memcpy(to + i, from + i, 4), i += 4;
  for (; DT_UNLIKELY(i < bytes); i++) {
    to[i] = from[i];
    stay_in_order();
  }
}
// `count` structures of a type, `stride` bytes apart, as a content to store. `outer`: see rule().
Data prepare_some(Thread* t, const void* at, int64_t count, uint16_t type, int64_t stride, const void* outer);
static inline __attribute__((always_inline)) Data prepare(Thread* t, const void* at, int64_t count, uint16_t type,
                                                          int64_t stride, const void* outer) {
  return at && count > 0 ? prepare_some(t, at, count, type, stride, outer)
                         : Data{DT_DATA(at ? DT_DATA_INLINE : DT_DATA_NONE, 0, 0), nullptr, {}};
}
// Copies the content into the record. Flat structures are still where the program has them.
char* copy_some(char* at, const Data& d);
static inline char* copy_data(char* at, const Data& d) { return d.room() ? copy_some(at, d) : at; }
// The same for what the driver fills in: sets room aside before the call, and fills it after it.
Data prepare_out(const void* at, int64_t count, uint16_t type);
void fill(Thread* t, uint64_t* descriptor, char* room, const void* at, int64_t count, uint16_t type, int64_t stride,
          const void* outer);

// Returns whether memory can be read. Asks the kernel only where it goes over the end of a page.
DT_COLD bool is_readable(const void* at, uint64_t bytes);

// The data that an update of descriptors with a template reads at `data`, one behind the other.
struct Gathered {
  uint64_t bytes;  // 0: the template is not known
  const void* pieces;
  void (*copy)(const void* pieces, const void* data, char* to);
};
DT_COLD Gathered gathered(uint64_t update);

}  // namespace dt::tree

namespace dt {
DT_COLD Data prepare_template(Thread* t, const void* data, int64_t update);
}  // namespace dt
