// What somebody changed in the text of calls.
#pragma once
#include <string>
#include <string_view>

#include "../core/trace.h"

namespace dt::edit {

std::string text_changes(const Trace& trace, uint64_t first_seq, uint64_t end_seq, std::string_view text);  // JSON: see edit.h

}  // namespace dt::edit
