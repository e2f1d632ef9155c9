// What the calls of each frame draw, upload and change, counted from the calls alone.
#pragma once
#include <array>

#include "rows.h"
#include "trace.h"

namespace dt {

using Count = rows::Content::At;  // the columns of the table; the first one is the frame's number
constexpr size_t COUNTS = static_cast<size_t>(Count::count_);

struct FrameContent {
  std::array<uint64_t, COUNTS> counts{};
  uint64_t operator[](Count c) const { return counts[static_cast<size_t>(c)]; }
};

// One entry a frame (calls after the last frame end are one more, if there are any).
std::vector<FrameContent> frame_content(const Trace& trace);

}  // namespace dt
