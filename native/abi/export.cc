// The C ABI: traces for others. Nothing throws out of here.
#include "../export/export_c.h"
#include "../peers/export.h"
#include "border.h"

using namespace dt::abi;
using dt::need;

extern "C" {

int dt_export_c(dt_trace* trace, const dt_selection* selection, const char* folder, const dt_export_c_options* options,
                const char** json, uint64_t* length, void** owner) {
  return guarded([&] {
    need(trace && folder && json && length && owner, "folder");
    dt::c::Options wanted;
    if (selection) wanted.first_frame = selection->first_frame, wanted.end_frame = selection->end_frame;
    if (options && options->calls_per_file) wanted.calls_per_file = options->calls_per_file;
    if (options && options->calls_per_function) wanted.calls_per_function = options->calls_per_function;
    hand_out(dt::c::export_any(*trace->trace, folder, wanted), json, length, owner);
  });
}

int dt_export_apitrace(dt_trace* trace, const dt_export_range* ranges, uint32_t count, const char* path) {
  return guarded([&] {
    need(trace && path && (ranges || !count), "path");
    std::vector<dt::Selection> selections;
    for (uint32_t n = 0; n < count; n++) {
      dt_selection s{};
      if (ranges[n].frames)
        s.first_frame = ranges[n].first, s.end_frame = ranges[n].end;
      else
        s.first_seq = ranges[n].first, s.end_seq = ranges[n].end;
      selections.push_back(dt::resolve(*trace->trace, &s));
    }
    if (selections.empty()) selections.push_back(dt::resolve(*trace->trace, nullptr));
    dt::peers::export_apitrace(trace->trace, path, selections);
  });
}

}  // extern "C"
