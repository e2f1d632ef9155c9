// The tables about Vulkan: objects, memory, what was submitted and what ran.
#pragma once
#include "tables.h"
#include "vulkan.h"

namespace dt::vulkan {

constexpr size_t INFO_ELEMENTS = 256;  // of an array in a cell of JSON

Table objects_table(const Trace& trace);
Table submits_table(const Trace& trace);
Table executed_table(const Trace& trace);
Table allocations_table(const Trace& trace);
Table barriers_table(const Trace& trace);
Table pipelines_table(const Trace& trace);
Table shaders_table(const Trace& trace);
Table structures_table(const Trace& trace);
Table chains_table(const Trace& trace);
// Structures of one type with their members, of the calls [first, end); throws where the trace does not explain it.
void structure_stream(std::shared_ptr<const Trace> trace, const std::string& name, uint64_t first, uint64_t end,
                      ArrowArrayStream* out);
// Texts, bytes and code in the trees of calls, a list of JSON: [seq, function, parameter, [[STRUCTURE.MEMBER, place in
// the content, bytes, is it text?], ...]].
std::string plain_members(const Trace& trace);
// Draws as they ran, by the frame that submitted them; `ends`: the calls that end frames.
std::map<size_t, uint64_t> draws_by_frame(const Trace& trace, const std::vector<uint64_t>& ends);

}  // namespace dt::vulkan
