#include "stores.h"

#include <algorithm>

namespace dt::play::vk {
namespace {

constexpr size_t MOST_RANGES = 64;

// Ranges that touch become one.
void join(std::vector<Range>& ranges) {
  std::sort(ranges.begin(), ranges.end());
  size_t n = 0;
  for (const Range& each : ranges)
    if (n && each.first <= ranges[n - 1].second)
      ranges[n - 1].second = std::max(ranges[n - 1].second, each.second);
    else
      ranges[n++] = each;
  ranges.resize(n);
}

}  // namespace

void Stores::bind(uint64_t resource, uint64_t memory, uint64_t offset, uint64_t bytes, bool image) {
  Resource& r = resources_[resource];
  r.memory = memory, r.offset = offset, r.bytes = bytes;
  if (image) r.stored = {{0, bytes}};
  in_memory_[memory].push_back(resource);
}

void Stores::forget(uint64_t resource) {
  auto it = resources_.find(resource);
  if (it == resources_.end()) return;
  std::erase(in_memory_[it->second.memory], resource);
  resources_.erase(it);
}

void Stores::forget_memory(uint64_t memory) { in_memory_.erase(memory); }

void Stores::store(uint64_t buffer, uint64_t offset, uint64_t bytes) {
  Resource& r = resources_[buffer];  // it may be bound later
  const uint64_t to = bytes > REST - offset ? REST : offset + bytes;
  for (const Range& each : r.stored)
    if (each.first <= offset && to <= each.second) return;
  r.stored.emplace_back(offset, to);
  join(r.stored);
  if (r.stored.size() > MOST_RANGES) r.stored = {{r.stored.front().first, r.stored.back().second}};
}

std::vector<Range> Stores::in(uint64_t memory, Range range) const {
  std::vector<Range> ranges;
  auto it = in_memory_.find(memory);
  if (it == in_memory_.end()) return ranges;
  for (uint64_t resource : it->second) {
    const Resource& r = resources_.at(resource);
    for (const Range& each : r.stored) {
      const uint64_t from = std::max(range.first, r.offset + std::min(each.first, r.bytes));
      const uint64_t to = std::min(range.second, r.offset + std::min(each.second, r.bytes));
      if (from < to) ranges.emplace_back(from, to);
    }
  }
  join(ranges);
  return ranges;
}

}  // namespace dt::play::vk
