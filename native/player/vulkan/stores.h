// The places where a device may store: they show which changes of mapped memory are the program's.
//
// A recording has bytes that changed while submitted work may have run. The commands that were recorded say where the
// device could store at all: copies, fills, storage descriptors, images. All other bytes are the program's. The effects
// of the commands here do not matter: a player that left out draws would not pass their results off as the program's.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace dt::play::vk {

using Range = std::pair<uint64_t, uint64_t>;  // from, to

class Stores {
 public:
  static constexpr uint64_t REST = ~0ull;
  // A buffer has its place in memory; an image counts as stored to.
  void bind(uint64_t resource, uint64_t memory, uint64_t offset, uint64_t bytes, bool image);
  void forget(uint64_t resource);
  void forget_memory(uint64_t memory);
  void store(uint64_t buffer, uint64_t offset, uint64_t bytes);
  void view(uint64_t view, uint64_t buffer) { views_[view] = buffer; }
  void store_view(uint64_t view) {
    if (auto it = views_.find(view); it != views_.end()) store(it->second, 0, REST);
  }
  // Where a resource is bound: memory and offset; no memory: nowhere.
  std::pair<uint64_t, uint64_t> place(uint64_t resource) const {
    auto it = resources_.find(resource);
    return it == resources_.end() ? std::pair<uint64_t, uint64_t>() : std::pair(it->second.memory, it->second.offset);
  }
  // The parts of a range of memory that the device may have stored to, ascending.
  std::vector<Range> in(uint64_t memory, Range range) const;

 private:
  struct Resource {
    uint64_t memory = 0, offset = 0, bytes = 0;
    std::vector<Range> stored;  // in the resource, ascending and apart
  };
  std::unordered_map<uint64_t, Resource> resources_;
  std::unordered_map<uint64_t, std::vector<uint64_t>> in_memory_;
  std::unordered_map<uint64_t, uint64_t> views_;
};

}  // namespace dt::play::vk
