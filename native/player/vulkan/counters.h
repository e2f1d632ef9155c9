// The counts of Vulkan's devices: time stamps, pipeline statistics, samples, counters of VK_KHR_performance_query.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../metrics/measure.h"
#include "player.h"

namespace dt::play::vk {

enum QueryKind : uint8_t { TIME, STATISTICS, SAMPLES, COUNTERS, QUERY_KINDS };

// The abilities of a device here, and why it lacks the rest.
struct Abilities {
  std::string device;  // its name
  double period = 0;   // ns of a tick
  std::vector<VkQueueFamilyProperties> families;
  uint32_t family = 0;  // whose counters those are
  bool statistics = false, precise = false, calibrated = false;
  bool blends = false;  // numbers of 32 bits, which count fragments by pixel
  std::vector<VkPerformanceCounterKHR> counters;
  std::vector<VkPerformanceCounterDescriptionKHR> words;
  std::string no_counters;
  // The bits of a time stamp that count.
  uint64_t ticks(uint32_t of) const {
    const uint32_t bits = of < families.size() ? families[of].timestampValidBits : 0;
    return bits >= 64 ? ~0ull : (1ull << bits) - 1;
  }
  bool can(uint32_t of, VkQueueFlags what) const { return of < families.size() && families[of].queueFlags & what; }
};
// For a physical device, before a device is made of it.
Abilities abilities_of(Table& instance, VkPhysicalDevice physical, uint32_t family);
// Returns whether these counters fit into one pass of the device.
bool fits_one_pass(Table& instance, VkPhysicalDevice physical, uint32_t family, const std::vector<uint32_t>& counters,
                   std::string& why);

// The part of the results of queries that a metric takes.
struct QueryUse {
  enum What : uint8_t { ELAPSED, START, PASSED, ANY, STATISTIC, COUNTER } what = ELAPSED;
  QueryKind kind = TIME;
  uint32_t number = 0;  // of the statistic's bit or of the counter
};
// False: there is no such metric. `spec` comes from an offer.
bool find_query_use(const Abilities& here, const std::string& backend, const std::string& spec, QueryUse& wish);
// The back-ends `vk` and `vkperf` answer by these from now on; nullptr: no device was made.
void answer_by(const Abilities* here);

}  // namespace dt::play::vk
