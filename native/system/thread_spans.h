// Spans of threads, made of switches and wakes in one pass in order of time.
#pragma once
#include "arrow_in.h"

namespace dt::kernel {

// Results of a pass beside its spans; complete when its stream has ended.
class ThreadFacts {
 public:
  struct Name {
    int32_t tid = 0, pid = 0;
    bool has_pid = false, has_comm = false;
    std::string comm;
    int64_t t = 0;
  };
  uint64_t switches = 0, lost = 0, edges = 0;
  bool in_order = true, is_whole = false;         // the pass has ended
  std::vector<std::pair<int64_t, int64_t>> late;  // CPUs that begin late, by how much
  std::vector<Name> contexts, named;              // of who ran at an event; of who an event names

  std::string json() const;
};

// Begin and end of the trace, whether it is whole, and how many spans may wait until the first of them has an end.
struct ThreadsPlan {
  int64_t begin = 0, end = 0;
  bool whole = true;
  size_t most_waiting = 0;
};

// Switches: t, cpu, tid, pid, comm, prev_tid, next_tid, prev_state, prev_comm, next_comm. Wakes, if any: t, wakee, tid.
// Both are in order of time; else the stream fails, and `in_order` says so. Result: tid, cpu, begin_ns, end_ns, kind,
// is_open, waker, sorted. Rows that are `sorted` come first, in order of begin, then of end.
void export_thread_spans(const ThreadsPlan& plan, ArrowArrayStream* switches, ArrowArrayStream* wakes,
                         std::shared_ptr<ThreadFacts> facts, ArrowArrayStream* out);

}  // namespace dt::kernel
