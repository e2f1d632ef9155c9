// The player's facts about Vulkan's commands (tables are generated).
#pragma once
#include <cstdint>
#include <cstring>

#include "call_flags.h"
#include "trees.h"
#include "vulkan_types.h"

namespace dt::play::vk {

// The way to make an argument of the recorded value.
enum Way : uint8_t {
  NOTHING,        // NULL: an allocator of the program, a place for an answer that nobody needs
  VALUE,          // as it was
  HANDLE,         // the object here
  TREE,           // structures with all that they lead to
  ARRAY,          // elements of `element` bytes
  HANDLES,        // objects here
  WORDS,          // a terminated text
  TEMPLATE_DATA,  // what an update with a descriptor template reads; `count` is the template
  MADE,           // room for the handles of new objects
  ROOM            // room for an answer
};
struct Param {
  Way way;
  uint8_t width;      // of the value's field, 8 or 4, and its number among those
  int8_t slot, data;  // the number of its descriptor; -1: none
  int8_t payload;     // and of its content
  uint16_t type;      // of structures or handles
  uint16_t element;   // bytes; of TREE: 1 where rules of the structures read the command's parameters
  uint16_t count;     // a rule (count_of)
  bool late;          // the rule looks behind another pointer
  bool needed;        // NULL stands for no elements alone
  int8_t stride;      // the parameter that says how far structures are apart; -1: none does
};
struct Command {
  const char* name;
  uint64_t (*shape)(void* function, const uint64_t* arguments);
  uint16_t first, params;  // among PARAMS
  uint16_t number;         // of the command, whichever of its names a program calls it by
  uint16_t alias;          // the number of its other name; number::COMMANDS: it has none
  uint8_t result_width, result_slot;
  bool skipped;         // it leaves nothing behind that work on the device would notice
  bool judged;          // it returns a VkResult
  uint64_t flags;       // what the call is (call_flags.h)
  const char* refused;  // why it cannot be played; nullptr: it can
};
constexpr int MOST_PARAMS = 16;
extern const Param PARAMS[];
extern const Command COMMANDS[];
extern const char* const KIND_NAMES[];
int64_t count_of(uint16_t rule, const uint64_t* arguments);
size_t features_bytes(int32_t stype);  // of a structure that switches features on; 0: it is none

}  // namespace dt::play::vk
