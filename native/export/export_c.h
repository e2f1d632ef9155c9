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

// The same of a recording of Vulkan (vulkan.cc): frames_*.c, frame_list.h, objects.{h,c}, functions.{h,c},
// data.{h,bin}. Throws before it writes anything where there are calls that the C program cannot make.
std::string export_vulkan(const Trace& trace, const std::string& folder, const Options& options);

// True where Vulkan alone draws: the program may have looked what OpenGL is there.
inline bool draws_with_vulkan(const Trace& trace) {
  constexpr uint64_t DRAWS =
      FLAG_DRAW | FLAG_STATEFUL_DRAW | FLAG_DISPATCH | FLAG_CLEAR | FLAG_FRAME_END | FLAG_READBACK;
  bool vulkan = false;
  for (auto& f : trace.signatures.functions) {
    if (f.id >= DT_FN_FIRST_TAP || !trace.calls_of(f.id)) continue;
    vulkan = vulkan || f.api == "vk";
    if (f.api != "vk" && f.flags & DRAWS) return false;
  }
  return vulkan;
}

inline std::string export_any(const Trace& trace, const std::string& folder, const Options& options) {
  return draws_with_vulkan(trace) ? export_vulkan(trace, folder, options) : export_source(trace, folder, options);
}

}  // namespace dt::c
