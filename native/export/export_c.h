// A trace as C source.
#pragma once
#include <string>

#include "exporter.h"

namespace dt::c {

// Write the generated files into an existing folder: frames_*.c, frame_list.h, objects.{h,c}, functions.{h,c},
// sources.{h,c}, names.h, data.{h,bin}. Returns a JSON object that says what was written.
inline std::string export_source(const Trace& trace, const std::string& folder, const Options& options) {
  return Exporter(trace, folder, options).run();
}

}  // namespace dt::c
