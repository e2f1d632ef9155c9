// Spans of threads and all others, each in order of time, become one table in this order, numbered.
#pragma once
#include "arrow_in.h"

namespace dt::kernel {

// `names`: each kind of threads' spans, then what its spans are called; the first one's name gets the number of the
// CPU. Threads: tid, cpu, begin_ns, end_ns, kind, is_open. Others: track, begin_ns, end_ns, name, kind, request, tid,
// cpu, vgpu, lane, is_open. Result: the columns of the table `spans`. Where both have a time, threads come first.
void export_span_order(std::vector<std::string> names, ArrowArrayStream* threads, ArrowArrayStream* others,
                       ArrowArrayStream* out);

}  // namespace dt::kernel
