// The changes that somebody made in the text of calls.
#pragma once
#include <string>
#include <string_view>

#include "../core/trace.h"

namespace dt::edit {

// JSON: see edit.h
std::string text_changes(const Trace& trace, uint64_t first_seq, uint64_t end_seq, std::string_view text);

}  // namespace dt::edit
