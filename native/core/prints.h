// The requests of every frame to the driver, as one number: frames with the same number make the same calls with the
// same arguments and content. And calls whose arguments the recorder could not read.
#pragma once
#include "trace.h"

namespace dt {

struct FramePrint {
  uint64_t print = 0, calls = 0;
};

struct Unreadable {
  uint64_t seq = 0;
  const Function* function = nullptr;
  const Field* param = nullptr;  // nullptr: an array that is not an argument (a client array)
};

struct Prints {
  std::vector<FramePrint> frames;  // one a frame, one more for calls after the last frame end
  std::vector<Unreadable> unreadable;
};

// One pass over all calls, in parallel.
Prints prints(const Trace& trace);

}  // namespace dt
