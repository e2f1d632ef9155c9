// A recording without what tells who made it, where and when: its calls, contents and durations stay.
#pragma once
#include <string>
#include <vector>

#include "../core/trace.h"

namespace dt::edit {

// The number to subtract from all times, and the processes in the order of their new numbers, from 1.
struct Origin {
  uint64_t ticks = 0, ns = 0;
  std::vector<uint32_t> pids;
};
Origin origin_of(const Trace& trace);

// Writes the trace under another uuid, with what `origin` says. Threads and processes get numbers, times begin near
// zero, and libraries outside of the system's folders lose their paths. Annotations are these alone (JSON objects),
// chunks of unknown types are left out.
void redact(const Trace& trace, const std::string& path, Origin origin, const std::vector<std::string>& before,
            const std::vector<std::string>& after);

}  // namespace dt::edit
