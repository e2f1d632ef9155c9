// Writes timelines: spans, counters and arrows on tracks, as Perfetto or Chrome trace; events as CTF.
#pragma once
#include "arrow_in.h"

namespace dt::kernel {

// The plan: tracks: count; each name, index of its parent (-1: none), whether it is a counter, its unit. begin of the
// trace (ns), description. Spans: columns track, lane, begin_ns, end_ns, name, kind, id, request in order of begin_ns.
// Counters: track, t_ns, value in order of t_ns. Arrows: from_span, to_span.
struct Timeline {
  struct Track {
    std::string name;
    int parent;
    bool counter;
    std::string unit;
  };
  std::vector<Track> tracks;
  int64_t begin = 0;
  std::string description;
};
Timeline read_timeline(Plan& plan);
uint64_t write_perfetto(const Timeline& timeline, TableReader& spans, TableReader& counters, TableReader& arrows,
                        const std::string& path);
uint64_t write_chrome(const Timeline& timeline, TableReader& spans, TableReader& counters, TableReader& arrows,
                      const std::string& path);

// The plan: folder, prefix of the files' names, number of the event, number of the stream class. Then header bytes in
// front of the fields, and whether the context tid, procname is there. Columns: t, cpu, tid, comm, then the fields.
uint64_t write_ctf(Plan& plan, TableReader& events);

}  // namespace dt::kernel
