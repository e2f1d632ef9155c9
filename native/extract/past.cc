// The C ABI. Nothing throws out of here. Cuts of Vulkan load it: others need none of it.
#include "past.h"

#include "../core/border.h"
#include "vulkan_past.h"
#include "vulkan_repeats.h"

struct dt_past {
  dt::extract::VulkanPast::Kept kept;
  std::string whole;
};

namespace {

using dt::need;

thread_local std::string g_why;

template <class F> int at_past(F&& body) { return dt::at_border(g_why, body); }

}  // namespace

extern "C" {

const char* dt_past_last_error(void) { return g_why.c_str(); }

int dt_past_make(const char* path, uint64_t cut, uint64_t end, dt_past** out) {
  return at_past([&] {
    need(path && out, "path");
    *out = nullptr;
    const dt::Trace trace(path);
    dt::extract::VulkanPast past(trace, end, cut);
    *out = new dt_past{past.from(cut), past.whole_because()};
  });
}

int dt_past_waste(const char* path, const uint64_t* ends, uint64_t count, uint8_t* kinds, dt_past** out) {
  return at_past([&] {
    need(path && kinds && out && (ends || !count), "path");
    *out = nullptr;
    const dt::Trace trace(path);
    dt::extract::VulkanRepeats repeats(kinds);
    dt::extract::VulkanPast past(trace, trace.calls, [&](auto& call) { repeats.take(call); });
    *out = new dt_past{past.shown(ends, count, kinds), past.whole_because()};
  });
}

int dt_past_bits(dt_past* past, uint32_t which, const uint8_t** bits, uint64_t* bytes) {
  return at_past([&] {
    need(past && bits && bytes && which < 3, "past");
    auto& set = which == 0 ? past->kept.calls : which == 1 ? past->kept.memory_writes : past->kept.device_writes;
    *bits = set.data();
    *bytes = set.size();
  });
}

const char* dt_past_whole(dt_past* past) { return past->whole.c_str(); }
void dt_past_close(dt_past* past) { delete past; }

}  // extern "C"
