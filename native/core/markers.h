// Debug groups and labels: what a program says to people about its calls.
#pragma once
#include "trace.h"

namespace dt {

struct Marker {
  enum class Kind : uint8_t { group, label, insert };
  uint64_t seq = 0, end = 0;  // of a group: behind the call that ends it
  Kind kind = Kind::insert;
  std::string text;
  uint32_t depth = 0, thread = 0;  // open groups around it, in its thread
  uint64_t handle = 0;             // Vulkan: the queue or command buffer that it is about
  const Function* function = nullptr;
  bool ended = true;  // false: a group that the program left open
};

// All of them, in order.
std::vector<Marker> markers(const Trace& trace);

}  // namespace dt
