// The data behind pointers in structures of Vulkan, as tables: the tap copies by them, the player relocates.
#pragma once
#include <stdint.h>

#include "../common/chains.h"

namespace dt::tree {

// The target of a pointer. Members that are values, or addresses that are never looked behind, have no row.
enum Kind : uint8_t {
  CHAIN,     // a structure that says its own type, and what its chain has
  TREE,      // structures of a type
  ARRAY,     // elements of `element` bytes
  STRING,    // characters: a number of them, or up to the terminator
  STRINGS,   // addresses of terminated strings
  TREES,     // addresses of structures, one each
  ARRAYS,    // addresses of elements, one each
  TEMPLATE,  // what an update with a descriptor template reads; the rule of the count is the template
  EMBEDDED,  // no pointer: structures in place that have pointers
  HANDLE     // no pointer: handles of a type, in place. The player's tables alone have these
};
enum : uint8_t {
  PROBE = 1,    // nothing tells whether the pointer counts: the memory is probed
  OUT = 2,      // the driver fills in what is behind it
  HANDLES = 4,  // elements are handles of a type. The player's tables alone say so, and the next
  NEEDED = 8    // NULL stands for no elements alone
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

}  // namespace dt::tree
