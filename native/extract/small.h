// Small containers of facts about many calls.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace dt::extract {

// Nodes that were seen since the last `clear`, which takes no time.
class Seen {
 public:
  void clear() {
    count_ = 0;
    if (++stamp_) return;
    std::fill(slots_.begin(), slots_.end(), Slot{});
    stamp_ = 1;
  }
  // Returns whether it is new.
  bool add(uint32_t node) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    Slot& slot = place(node);
    if (slot.stamp == stamp_) return false;
    slot = {node, stamp_};
    ++count_;
    return true;
  }

 private:
  struct Slot {
    uint32_t node = 0, stamp = 0;
  };
  Slot& place(uint32_t node) {
    const size_t mask = slots_.size() - 1;
    size_t i = (node * 0x9E3779B1u) >> 7 & mask;
    while (slots_[i].stamp == stamp_ && slots_[i].node != node) i = (i + 1) & mask;
    return slots_[i];
  }
  void grow() {
    std::vector<Slot> before(std::max<size_t>(64, 2 * slots_.size()));
    before.swap(slots_);
    for (auto& slot : before)
      if (slot.stamp == stamp_) place(slot.node) = slot;
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
