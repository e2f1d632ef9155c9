// The tables about Vulkan: objects, memory, what was submitted and what ran.
#pragma once
#include "tables.h"
#include "vulkan.h"

namespace dt::vulkan {

Table objects_table(const Trace& trace);
Table submits_table(const Trace& trace);
Table executed_table(const Trace& trace);
Table allocations_table(const Trace& trace);
Table barriers_table(const Trace& trace);
Table pipelines_table(const Trace& trace);
Table shaders_table(const Trace& trace);
// Draws as they ran, by the frame that submitted them; `ends`: the calls that end frames.
std::map<size_t, uint64_t> draws_by_frame(const Trace& trace, const std::vector<uint64_t>& ends);

}  // namespace dt::vulkan
