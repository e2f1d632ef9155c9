// Calls that take a handle and one or two 32-bit numbers, return nothing, and have nothing else to record: most of the
// dynamic state of draws.
//
// Programs make dozens of different ones in a frame, each once. Code of their own for each would have to come from far
// caches every time. So one function records all of a kind, and a function's own code gives no more than its number.
#pragma once
#include <stdint.h>

#include "tap.h"

namespace dt::plain {

// While calls are recorded.
void enter(void* handle, uint32_t a, unsigned id);
void enter(void* handle, uint32_t a, uint32_t b, unsigned id);
// The rare ways.
DT_COLD void slow(void* handle, uint32_t a, unsigned id);
DT_COLD void slow(void* handle, uint32_t a, uint32_t b, unsigned id);

}  // namespace dt::plain
