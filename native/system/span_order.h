// Spans of threads, of requests and all others, each in order of time, become one table in this order, numbered.
#pragma once
#include "arrow_in.h"

namespace dt::kernel {

// Texts of what comes as numbers: kinds of threads' spans and their names (the first one gets the number of the CPU),
// kinds of requests' spans, tracks of these.
struct SpanWords {
  std::vector<std::string> thread_kinds, thread_names, request_kinds, request_tracks;
};

// Threads: tid, cpu, begin_ns, end_ns, kind, is_open. Requests: track, begin_ns, end_ns, kind, request, lane, is_open.
// Others: track, begin_ns, end_ns, name, kind, request, tid, cpu, vgpu, lane, is_open. Owners: name, seqno, tid, vgpu
// of each request, in order of their numbers from 0 on. Result: the columns of the table `spans`. Threads come first
// where times are equal, then requests.
struct SpanTables {
  ArrowArrayStream *threads, *requests, *others, *owners;
};
void export_span_order(SpanWords words, const SpanTables& tables, ArrowArrayStream* out);

}  // namespace dt::kernel
