// The differences that a replay finds, and its exit code.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../core/trace.h"
#include "line.h"

namespace dt::play {

struct Finding {
  std::string kind, function, text;
  uint64_t call = 0, count = 1;
};

class Findings {
 public:
  // Returns the finding; equal ones are one.
  Finding* add(std::string kind, uint64_t call, std::string function, std::string text) {
    auto key = std::make_tuple(kind, function, text);
    auto it = findings_.find(key);
    if (it != findings_.end()) {
      ++it->second.count;
      return &it->second;
    }
    if (findings_.size() >= MOST) {
      if (findings_.size() > MOST) return nullptr;
      kind = "more";
      text = "there are more than these";
      function.clear();
      key = std::make_tuple(kind, function, text);
    }
    Finding& made = findings_[key];
    made = Finding{std::move(kind), std::move(function), std::move(text), call, 1};
    return &made;
  }
  // Adds the losses of the recording; without a footer, all of its calls are there.
  void add_losses(const Trace& trace) {
    for (auto& problem : trace.problems())
      if (problem.kind != "no_footer") add("damaged", 0, "", problem.text);
  }
  const std::map<std::tuple<std::string, std::string, std::string>, Finding>& all() const { return findings_; }
  // In the order of calls.
  void write(FILE* to) const {
    std::vector<const Finding*> list;
    for (auto& [key, finding] : findings_) list.push_back(&finding);
    std::sort(list.begin(), list.end(), [](auto* a, auto* b) { return a->call < b->call; });
    for (auto* f : list) {
      JsonObject line;
      line.put("kind", "finding").put("what", f->kind).put("call", f->call).put("function", f->function);
      put_line(to, line.put("text", f->text).put("count", f->count));
    }
  }

 private:
  static constexpr size_t MOST = 500;
  std::map<std::tuple<std::string, std::string, std::string>, Finding> findings_;
};

// Counts of a replay, and its times in seconds; `measured_from` is 0 where all of it is measured.
struct Outcome {
  uint64_t calls = 0, frames = 0, measured_calls = 0, compared = 0, different = 0, skipped = 0, uncompared = 0;
  uint64_t unseen = 0, loops = 1;
  double started = 0, measured_from = 0, ended = 0;
  const std::vector<double>& frame_times;
  std::string engine;
  std::string reset = {};  // the driver's word about a context that was lost: guilty, innocent, unknown
};

inline void put_outcome(FILE* to, const Outcome& o) {
  std::vector<int64_t> times;
  double last = o.measured_from;
  for (double t : o.frame_times) times.push_back(std::llround((t - last) * 1e9)), last = t;
  const double begun = o.measured_from ? o.measured_from : o.started;
  JsonObject line;
  line.put("kind", "result").put("calls", o.calls).put("frames", o.frames).put("seconds", o.ended - o.started);
  line.put("measured_seconds", o.ended - begun).put("measured_calls", o.measured_calls);
  line.put("compared", o.compared).put("different", o.different).put("skipped", o.skipped);
  line.put("uncompared", o.uncompared).put("unseen", o.unseen).put("loops", o.loops).put("engine", o.engine);
  if (!o.reset.empty()) line.put("reset", o.reset);
  put_line(to, line.values("frame_times_ns", times));
  fflush(to);
}

}  // namespace dt::play
