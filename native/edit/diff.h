// The differences between the calls of two traces.
#pragma once
#include <string>

#include "../core/trace.h"

namespace dt::edit {

struct DiffOptions {
  uint64_t limit = 1000;  // of differences that are listed; all are counted
  bool outputs = false;   // what calls returned and wrote counts, too
  bool runs = false;      // the whole alignment is listed, too
  uint64_t first_frame = 0, end_frame = UINT64_MAX;
};

// Calls are aligned: frames that are the same first, then the calls of each pair of frames. Objects are the same where
// aligned calls made them, whatever their numbers; addresses of memory do not count, their content does. Returns JSON:
// see edit.h.
std::string diff(const Trace& a, const Trace& b, const DiffOptions& options);

}  // namespace dt::edit
