#pragma once
#include "arrow_in.h"

namespace dt::kernel {

// Intervals in order of track, then of begin.
void assign_lanes(const int64_t* track, const int64_t* begin, const int64_t* end, uint64_t count, int32_t* lane);
// The same for a table with the columns track, request, b, e. Result: track, request, lane.
void export_lanes(ArrowArrayStream* intervals, ArrowArrayStream* out);

}  // namespace dt::kernel
