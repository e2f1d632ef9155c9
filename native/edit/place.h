// Where a member stands in a content that is a tree of structures.
#pragma once
#include <string>
#include <string_view>

#include "../core/trace.h"

namespace dt::edit {

// JSON: see edit.h for dt_place. Raises an Error with DT_E_ARGUMENT for a path that leads nowhere.
std::string member_place(const Trace& trace, std::string_view function, std::string_view parameter,
                         std::string_view content, std::string_view path);

}  // namespace dt::edit
