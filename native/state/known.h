// The functions that the player was generated for.
#pragma once
#include <cstdint>

namespace dt::play {

class Player;
struct Row;

enum : uint32_t { KNOWN_FRAME_END = 1, KNOWN_DRAW = 2, KNOWN_VG = 4 };
struct Known {
  const char* name;
  void (*play)(Player&, const Row&);  // nullptr: hand-written (windows.cc)
  // fields of its record: names of parameters; "=" the result; "#" an array's descriptor
  const char *w8, *w4;
  uint32_t flags;
};
extern const Known g_known[];
extern const unsigned g_known_count;

}  // namespace dt::play
