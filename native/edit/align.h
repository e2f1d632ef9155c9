// Finds the elements of two sequences that belong together.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace dt::edit {

using Pairs = std::vector<std::pair<uint64_t, uint64_t>>;

// Adds pairs of indices of a longest common subsequence (Myers 1986) to `out`, offset by `a0`, `b0`. Where there are
// too many differences for that: of a long one, though not the longest.
void align(const uint64_t* a, size_t n, const uint64_t* b, size_t m, uint64_t a0, uint64_t b0, Pairs& out);

}  // namespace dt::edit
