#include "splice.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>
#include <tuple>

#include "../common/container.h"
#include "../common/json.h"

namespace dt::edit {
namespace {

const Annotation* annotation(const Trace& trace, std::string_view kind) {
  for (auto& a : trace.annotations)
    if (a.kind == kind) return &a;
  return nullptr;
}

bool is_whole(const Source& s) {
  return !s.keep && !s.first_seq && s.end_seq >= s.trace->calls && !s.keep_map_writes && !s.keep_memory_writes &&
         !s.keep_device_writes && !s.keep_images && s.changes.empty() && s.spans.empty();
}

std::span<const char> bytes_of(const Trace& trace, const ChunkInfo& chunk) {
  return {reinterpret_cast<const char*>(trace.at(chunk.offset)), sizeof(dt_chunk_header) + chunk.header.payload_bytes};
}

// The chunks of the parts after the first that say nothing new.
class Known {
 public:
  // Returns whether the chunk is the first of its kind: then it counts as known.
  bool add(const Trace& trace, const ChunkInfo& chunk) {
    if (chunk.header.type == DT_TYPE_CALLS) {
      dt_calls_meta meta;
      if (chunk.header.meta_bytes < sizeof meta) return false;
      memcpy(&meta, chunk.meta, sizeof meta);
      return calls_.emplace(meta.pid, meta.thread, meta.serial).second;
    }
    auto bytes = bytes_of(trace, chunk);
    return others_.emplace(bytes.data(), bytes.size()).second;
  }

 private:
  std::set<std::tuple<uint32_t, uint32_t, uint64_t>> calls_;
  std::set<std::string_view> others_;
};

}  // namespace

std::string run_of(const Trace& trace) {
  const Annotation* of = annotation(trace, "recording");
  const bool one = std::count_if(trace.annotations.begin(), trace.annotations.end(),
                                 [](auto& a) { return a.kind == "recording"; }) == 1;
  // A file of a flight recorder begins with a base of its own each time: it is no part of anything.
  if (!one || annotation(trace, "flight_recorder")) return {};
  constexpr std::array<std::string_view, 4> names = {"machine", "pid", "start_clock", "start_ns"};
  std::array<Json, 4> members;
  JsonReader::read_members(of->json, names, members);
  std::string run = JsonReader::member(members[0].raw(), "hostname").text();
  for (size_t i = 1; i < names.size(); ++i) {
    if (members[i].kind() != Json::NUMBER) return {};
    run.append(" ").append(members[i].raw());
  }
  return run;
}

Splices::Splices(const std::vector<Source>& sources, const std::string& path) {
  struct About {
    std::string run;
    bool is_rest = false, is_raw = false, taken = false;
  };
  std::vector<About> all;
  for (auto& s : sources)
    all.push_back({run_of(*s.trace), annotation(*s.trace, "continues") != nullptr,
                   is_whole(s) && !annotation(*s.trace, "derived")});
  for (size_t i = 0; i < sources.size(); ++i) {
    if (all[i].taken) continue;
    auto of_the_same = [&](size_t j, bool rest) {
      return all[j].is_raw && !all[j].taken && all[j].is_rest == rest && all[j].run == all[i].run;
    };
    std::vector<const Trace*> parts;
    if (all[i].is_raw && !all[i].run.empty())
      for (bool rest : {false, true})
        for (size_t j = i; j < sources.size(); ++j)
          if (of_the_same(j, rest) && (rest || parts.empty())) parts.push_back(sources[j].trace);
    const bool begins = !parts.empty() && !annotation(*parts[0], "continues");
    if (sources.size() > 1 && all[i].is_rest && !begins)
      problems_.push_back(sources[i].trace->path() +
                          " is the rest of a recording whose beginning is not here: what it made and set is missing");
    if (parts.size() < 2 || !begins) {
      sources_.push_back(sources[i]);
      continue;
    }
    for (size_t j = i; j < sources.size(); ++j)
      if (std::find(parts.begin(), parts.end(), sources[j].trace) != parts.end()) all[j].taken = true;
    splice(parts, path + ".spliced" + std::to_string(files_.size()));
  }
}

Splices::~Splices() {
  for (auto& file : files_) unlink(file.c_str());
}

void Splices::splice(const std::vector<const Trace*>& parts, const std::string& path) {
  ContainerWriter file;
  files_.push_back(path);
  std::string error = file.create(path);
  Known known;
  std::set<std::string> said;
  static const char* const OF_ONE_FILE[] = {"recording", "process", "continues"};
  for (const Trace* part : parts) {
    std::set<uint64_t> left_out;
    for (auto& a : part->annotations) {
      const bool again = part != parts[0] && std::any_of(std::begin(OF_ONE_FILE), std::end(OF_ONE_FILE),
                                                         [&](auto* kind) { return a.kind == kind; });
      if (again || !said.insert(a.json).second) left_out.insert(a.offset);
    }
    for (auto& chunk : part->chunks) {
      // A damaged footer may describe another chunk than the one at that place.
      if (memcmp(part->at(chunk.offset), &chunk.header, sizeof chunk.header) != 0) continue;
      if (chunk.header.type == DT_TYPE_FOOTER || left_out.count(chunk.offset) || !known.add(*part, chunk)) continue;
      if (error.empty()) error = file.append(bytes_of(*part, chunk));
    }
  }
  if (error.empty()) error = file.finish();
  if (!error.empty()) throw Error(DT_E_IO, error);
  made_.push_back(std::make_shared<Trace>(path));
  Source source;
  source.trace = made_.back().get();
  sources_.push_back(source);
  for (auto& p : source.trace->problems()) problems_.push_back(p.text);
}

}  // namespace dt::edit
