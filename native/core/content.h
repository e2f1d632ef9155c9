// The number of draws, uploads and changes in the calls of each frame, from the calls alone.
#pragma once
#include <array>

#include "chunk.h"
#include "rows.h"

namespace dt {

using Count = rows::Content::At;  // the columns of the table; the first one is the frame's number
constexpr size_t COUNTS = static_cast<size_t>(Count::count_);

struct FrameContent {
  std::array<uint64_t, COUNTS> counts{};
  uint64_t operator[](Count c) const { return counts[static_cast<size_t>(c)]; }
};

// One entry a frame (calls after the last frame end are one more, if there are any).
std::vector<FrameContent> frame_content(const Trace& trace);

// The bytes that call `i` passed in arrays, as far as they are recorded.
inline uint64_t content_bytes(const FunctionColumns& columns, uint32_t i) {
  uint64_t bytes = 0;
  for (int slot : columns.function->descriptors) {
    const uint64_t d = columns.w8[static_cast<size_t>(slot)][i];
    if (DT_DATA_KIND(d) == DT_DATA_INLINE || DT_DATA_KIND(d) == DT_DATA_BLOB) bytes += DT_DATA_LENGTH(d);
  }
  return bytes;
}

}  // namespace dt
