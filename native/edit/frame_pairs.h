// Finds the frames of two recordings that belong together.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "align.h"

namespace dt::edit {

constexpr uint64_t NONE = UINT64_MAX;

// The calls of a side's frames: frame f has those from first[f] to first[f + 1], by number of the call.
struct Frames {
  const uint64_t* first;
  size_t count;
  const std::vector<uint64_t>& name;  // per call: hash of its function
  const std::vector<uint64_t>& full;  // per call: hash of all that counts
  std::vector<uint64_t> hashes;       // per frame: hash of its calls
};

// Each frame of `a` with one of `b`, in order of both; NONE stands for no frame.
Pairs paired_frames(const Frames& a, const Frames& b);

}  // namespace dt::edit
