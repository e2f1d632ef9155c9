// The needs of a trace that is to lose some of its calls.
#pragma once
#include <string>

#include "../core/trace.h"

namespace dt::edit {

// Calls with a 1 in `keep` (by seq, lowest bit first) that need an object, a context, a mapping or a beginning that
// only a call without one made. Returns JSON: {"broken": [{"seq", "function", "cause", "cause_function", "text"}],
// "more": n}.
std::string check(const Trace& trace, const uint8_t* keep);

}  // namespace dt::edit
