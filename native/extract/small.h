// Small containers of facts about many calls.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace dt::extract {

// Numbers (nodes, accesses) that were seen since the last `clear`, which takes no time.
template <class T> class Seen {
 public:
  void clear() {
    count_ = 0;
    if (++stamp_) return;
    std::fill(slots_.begin(), slots_.end(), Slot{});
    stamp_ = 1;
  }
  // Returns whether it is new.
  bool add(T number) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    Slot& slot = place(number);
    if (slot.stamp == stamp_) return false;
    slot = {number, stamp_};
    ++count_;
    return true;
  }

 private:
  struct Slot {
    T number = 0;
    uint32_t stamp = 0;
  };
  Slot& place(T number) {
    const size_t mask = slots_.size() - 1;
    size_t i = (number * 0x9E3779B97F4A7C15u) >> 32 & mask;
    while (slots_[i].stamp == stamp_ && slots_[i].number != number) i = (i + 1) & mask;
    return slots_[i];
  }
  void grow() {
    std::vector<Slot> before(std::max<size_t>(64, 2 * slots_.size()));
    before.swap(slots_);
    for (auto& slot : before)
      if (slot.stamp == stamp_) place(slot.number) = slot;
  }
  std::vector<Slot> slots_;
  size_t count_ = 0;
  uint32_t stamp_ = 1;
};

// A number of each call, which many calls in a row have in common; told in the order of calls.
class Runs {
 public:
  void add(uint64_t seq, uint32_t value) {
    if (runs_.empty() || runs_.back().value != value) runs_.push_back({static_cast<uint32_t>(seq), value});
  }
  uint32_t operator[](uint64_t seq) const {  // 0 before the first known call
    auto after = std::upper_bound(runs_.begin(), runs_.end(), seq, [](uint64_t s, auto& run) { return s < run.first; });
    return after == runs_.begin() ? 0 : (after - 1)->value;
  }

 private:
  struct Run {
    uint32_t first, value;  // a graph has fewer calls than 32 bits count
  };
  std::vector<Run> runs_;
};

}  // namespace dt::extract
