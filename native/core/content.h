// What the calls of each frame draw, upload and change, counted from the calls alone.
#pragma once
#include <array>

#include "trace.h"

namespace dt {

enum class Count : uint8_t {
  calls,
  draws,
  indirect_draws,
  vertices,
  primitives,
  triangles,
  dispatches,
  clears,
  state,
  same_binds,
  binds,
  uniforms,
  matrix,
  texture_uploads,
  texels,
  texture_bytes,
  buffer_uploads,
  buffer_bytes,
  client_bytes,
  mapped_bytes,
  path_segments,
  readbacks,
  readback_bytes,
  queries,
  waits,
  flushes,
  compiles,
  links,
  created,
  deleted,
  lists,
  framebuffers,
  contexts,
  api_ns,
  count_
};
constexpr size_t COUNTS = static_cast<size_t>(Count::count_);
const char* count_name(size_t count);

struct FrameContent {
  std::array<uint64_t, COUNTS> counts{};
  uint64_t operator[](Count c) const { return counts[static_cast<size_t>(c)]; }
};

// One entry a frame (calls after the last frame end are one more, if there are any).
std::vector<FrameContent> frame_content(const Trace& trace);

}  // namespace dt
