// Structures with all that they point to, as one content (docs/format.md, "Trees").
#pragma once
#include "chains.h"
#include "tap.h"

namespace dt::tree {

// What a member points to. Members that are values, or addresses that are never looked behind, have no row.
enum Kind : uint8_t {
  CHAIN,     // a structure that says its own type, and what its chain has
  TREE,      // structures of a type
  ARRAY,     // elements of `element` bytes
  STRING,    // characters: so many, or up to the terminator
  STRINGS,   // addresses of terminated strings
  TREES,     // addresses of structures, one each
  ARRAYS,    // addresses of elements, one each
  TEMPLATE,  // what an update with a descriptor template reads; the rule of the count is the template
  EMBEDDED   // no pointer: structures in place that have pointers
};
enum : uint8_t {
  PROBE = 1,  // nothing tells whether the pointer counts: the memory is probed
  OUT = 2     // the driver fills in what is behind it
};
constexpr uint16_t ALWAYS = 0xffff;  // no rule: it counts, or there is one
struct Member {
  uint16_t offset, element, type, count, when;  // count and when: numbers of rules
  uint8_t kind, flags;
};
struct Type {
  uint16_t size, first, members;
};

// Generated.
extern const Member MEMBERS[] __attribute__((visibility("hidden")));
extern const Type TYPES[] __attribute__((visibility("hidden")));
extern const uint16_t BY_STYPE[] __attribute__((visibility("hidden")));  // open addressing: number of a type + 1
extern const int32_t STYPES[] __attribute__((visibility("hidden")));     // by number of a type
constexpr uint32_t STYPE_BITS = DT_CHAIN_BITS;
// A rule of a structure at `self` that the structure (or the parameters of the command) at `outer` leads to.
int64_t rule(uint16_t number, const void* self, const void* outer);

// Begin the contents of a call: those of the last one go away.
DT_COLD void begin();
// `count` structures of a type, `stride` bytes apart, as a content to store. `outer`: see rule().
DT_COLD Data prepare(Thread* t, const void* at, int64_t count, uint16_t type, int64_t stride, const void* outer);
// The same for what the driver fills in: sets room aside before the call, and fills it after it.
DT_COLD Data prepare_out(const void* at, int64_t count, uint16_t type);
DT_COLD void fill(Thread* t, uint64_t* descriptor, char* room, const void* at, int64_t count, uint16_t type,
                  int64_t stride, const void* outer);

// What an update of descriptors with a template reads at `data`, one behind the other.
struct Gathered {
  uint64_t bytes;  // 0: the template is not known
  void (*copy)(uint64_t update, const void* data, char* to);
};
DT_COLD Gathered gathered(uint64_t update);

}  // namespace dt::tree

namespace dt {
DT_COLD Data prepare_template(Thread* t, const void* data, int64_t update);
}  // namespace dt
