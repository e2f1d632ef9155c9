// Writing other tools' traces: part of the reader core.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "../core/calls.h"

namespace dt::peers {

// Write the calls as a trace of apitrace. Throws Error.
void export_apitrace(std::shared_ptr<const Trace> trace, const std::string& output, std::vector<Selection> selections);

}  // namespace dt::peers
