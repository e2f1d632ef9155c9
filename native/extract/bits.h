// Sets as bits, the lowest of a byte first.
#pragma once
#include <bit>
#include <cstdint>
#include <vector>

namespace dt::extract {

inline bool get(const uint8_t* bits, uint64_t i) { return bits[i / 8] >> (i % 8) & 1; }
inline void put(uint8_t* bits, uint64_t i) { bits[i / 8] = static_cast<uint8_t>(bits[i / 8] | 1u << (i % 8)); }

// A set of numbers below a bound, which also finds its largest member below a number in a few steps, however far away.
class Marks {
 public:
  static constexpr uint64_t NONE = UINT64_MAX;
  explicit Marks(uint64_t bound) {
    do {
      bound = bound / 64 + 1;
      levels_.emplace_back(bound);
    } while (bound > 1);
  }
  bool has(uint64_t i) const { return levels_[0][i / 64] >> (i % 64) & 1; }
  // Returns whether it is new.
  bool add(uint64_t i) {
    if (has(i)) return false;
    for (auto& level : levels_) {
      uint64_t& word = level[i / 64];
      const bool first = !word;
      word |= 1ull << (i % 64);
      if (!first) break;  // the levels above know that there is something
      i /= 64;
    }
    return true;
  }
  // NONE: there is none.
  uint64_t largest_below(uint64_t end) const {
    for (size_t k = 0; k < levels_.size(); ++k, end /= 64) {
      const uint64_t below = levels_[k][end / 64] & ((1ull << (end % 64)) - 1);
      if (!below) continue;
      uint64_t at = end / 64 * 64 + last(below);
      while (k--) at = at * 64 + last(levels_[k][at]);
      return at;
    }
    return NONE;
  }

 private:
  static uint64_t last(uint64_t word) { return 63 - static_cast<uint64_t>(std::countl_zero(word)); }
  // Words of 64 numbers; in each further level a bit says whether a word of the one before has something.
  std::vector<std::vector<uint64_t>> levels_;
};

}  // namespace dt::extract
