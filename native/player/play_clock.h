// The player's clock.
#pragma once
#include <chrono>

namespace dt::play {

inline double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace dt::play
