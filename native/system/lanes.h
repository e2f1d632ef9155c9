#pragma once
#include <cstdint>

namespace dt::kernel {

// Intervals in order of track, then of begin.
void assign_lanes(const int64_t* track, const int64_t* begin, const int64_t* end, uint64_t count, int32_t* lane);

}  // namespace dt::kernel
