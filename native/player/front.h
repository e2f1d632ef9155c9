// The pixels that programs read from the front buffers of their windows, from the recording.
#pragma once
#include <cstdint>

namespace dt::play {

// The last part of a front buffer that was recorded: it is what the next call reads if the player's spans have it.
struct Front {
  uint64_t drawable = 0;
  int x = 0, y = 0, width = 0, height = 0;
};
void set_front(const Front& front);

}  // namespace dt::play
