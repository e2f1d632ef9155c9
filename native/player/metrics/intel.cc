// GL_INTEL_performance_query: queries of the driver's making, each with counters at fixed places in its result.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

#include "driver_counters.h"
#include "gl_enums.h"

namespace dt::play::metrics {
namespace {

constexpr size_t MOST_HANDLES = 256;
constexpr uint32_t MOST_ANSWER = 1 << 20, MOST_KINDS = 4096, MOST_COUNTERS = 1 << 16;

bool has_queries() {
  return driver::glGetFirstPerfQueryIdINTEL && driver::glGetNextPerfQueryIdINTEL && driver::glGetPerfQueryInfoINTEL &&
         driver::glGetPerfCounterInfoINTEL && driver::glCreatePerfQueryINTEL && driver::glDeletePerfQueryINTEL &&
         driver::glBeginPerfQueryINTEL && driver::glEndPerfQueryINTEL && driver::glGetPerfQueryDataINTEL;
}

struct QueryCounter {
  std::string name, text;
  uint32_t offset = 0, bytes = 0, type = 0, data = 0;
  uint64_t most = 0;
};
struct Query {
  std::string name;
  uint32_t bytes = 0;
  std::map<uint32_t, QueryCounter> counters;
};

std::map<uint32_t, Query> query_catalogue() {
  std::map<uint32_t, Query> by_id;
  uint32_t id = 0;
  drain_errors();
  driver::glGetFirstPerfQueryIdINTEL(&id);
  while (id && by_id.size() < MOST_KINDS && !by_id.contains(id)) {
    char name[257] = {};
    uint32_t bytes = 0, counters = 0, instances = 0, caps = 0;
    driver::glGetPerfQueryInfoINTEL(id, 256, name, &bytes, &counters, &instances, &caps);
    if (take_error()) break;
    Query& q = by_id[id];
    q.name.assign(name, strnlen(name, 256));
    q.bytes = bytes;
    for (uint32_t c = 1; c <= counters && c <= MOST_COUNTERS; ++c) {
      char counter_name[257] = {}, text[1025] = {};
      QueryCounter counter;
      driver::glGetPerfCounterInfoINTEL(id, c, 256, counter_name, 1024, text, &counter.offset, &counter.bytes,
                                        &counter.type, &counter.data, &counter.most);
      if (take_error()) continue;
      counter.name.assign(counter_name, strnlen(counter_name, 256));
      counter.text.assign(text, strnlen(text, 1024));
      q.counters[c] = std::move(counter);
    }
    uint32_t next = 0;
    driver::glGetNextPerfQueryIdINTEL(id, &next);
    if (take_error()) break;
    id = next;
  }
  drain_errors();
  return by_id;
}

const std::map<uint32_t, Query>& known_queries() { return once_a_context<query_catalogue>(); }

struct IntelPending {
  uint64_t segment;
  std::vector<uint32_t> handles;
  bool ended;
};
struct IntelState {
  std::map<uint32_t, std::vector<uint32_t>> free;
  std::deque<IntelPending> pending;
  bool tried = false;
  std::string why;
  bool waits() const { return !pending.empty(); }
};

class IntelSource : public ContextSource<IntelState> {
  using State = IntelState;
  using Pending = IntelPending;

 public:
  IntelSource(const std::vector<int>& numbers, std::vector<ExtensionBackend::Place> places)
      : ContextSource(numbers), places_(std::move(places)) {
    for (auto& [query, counter] : places_)
      if (std::find(queries_.begin(), queries_.end(), query) == queries_.end()) queries_.push_back(query);
  }
  int order() const override { return 5; }

  bool begin(uint64_t segment, std::string& why) override {
    if (!has_extension("GL_INTEL_performance_query") || !has_queries())
      return why = "no GL_INTEL_performance_query in this context", false;
    State& s = state();
    if (!s.why.empty()) return why = s.why, false;
    for (uint32_t query : queries_)
      if (!known_queries().contains(query)) return why = "this context does not have the query", false;
    Pending p{segment, {}, false};
    if (!s.tried) drain_errors();
    for (uint32_t query : queries_) {
      uint32_t handle = 0;
      auto& free = s.free[query];
      if (!free.empty()) {
        handle = free.back();
        free.pop_back();
      } else {
        driver::glCreatePerfQueryINTEL(query, &handle);
        if (!handle) {
          give_up(s, p);
          drain_errors();
          return why = "the driver makes no query", false;
        }
      }
      driver::glBeginPerfQueryINTEL(handle);
      if (!s.tried && take_error()) {
        driver::glDeletePerfQueryINTEL(handle);
        give_up(s, p);
        drain_errors();
        return why = s.why = "the driver does not run these queries at once", false;
      }
      p.handles.push_back(handle);
    }
    s.tried = true;
    s.pending.push_back(std::move(p));
    return true;
  }

  void end() override {
    Pending& p = state().pending.back();
    for (uint32_t handle : p.handles) driver::glEndPerfQueryINTEL(handle);
    p.ended = true;
  }

 private:
  void take_results(State& s, Sink& to, bool wait) override {
    while (!s.pending.empty() && s.pending.front().ended) {
      Pending& p = s.pending.front();
      bool insist = wait || s.pending.size() >= MOST_HANDLES;
      std::vector<std::vector<uint8_t>> data(queries_.size());
      std::vector<const char*> why(queries_.size());
      for (size_t i = 0; i < queries_.size(); ++i) {
        const Query& q = known_queries().at(queries_[i]);
        uint32_t written = 0;
        if (!q.bytes || q.bytes > MOST_ANSWER) {
          why[i] = "the driver's result makes no sense";
          continue;
        }
        data[i].resize(q.bytes);
        driver::glGetPerfQueryDataINTEL(p.handles[i], insist ? GL_PERFQUERY_WAIT_INTEL : GL_PERFQUERY_DONOT_FLUSH_INTEL,
                                        static_cast<int>(q.bytes), data[i].data(), &written);
        if (!written && !insist) return;
        if (!written) why[i] = "the driver has no result";
        if (written > q.bytes) written = q.bytes;
        data[i].resize(written);
      }
      for (size_t m = 0; m < places_.size(); ++m) {
        auto i = static_cast<size_t>(std::find(queries_.begin(), queries_.end(), places_[m].first) - queries_.begin());
        if (why[i])
          to.lost(p.segment, metrics[m], why[i]);
        else
          value(to, p.segment, metrics[m], known_queries().at(places_[m].first).counters.at(places_[m].second),
                data[i]);
      }
      for (size_t i = 0; i < queries_.size(); ++i) s.free[queries_[i]].push_back(p.handles[i]);
      s.pending.pop_front();
    }
  }
  void release(State& s) override {
    if (!has_queries()) return;
    for (auto& p : s.pending)
      for (uint32_t handle : p.handles) driver::glDeletePerfQueryINTEL(handle);
    for (auto& [query, handles] : s.free)
      for (uint32_t handle : handles) driver::glDeletePerfQueryINTEL(handle);
  }
  static void give_up(State&, const Pending& p) {
    for (uint32_t handle : p.handles) {
      driver::glEndPerfQueryINTEL(handle);
      driver::glDeletePerfQueryINTEL(handle);
    }
  }
  static void value(Sink& to, uint64_t segment, int metric, const QueryCounter& c, const std::vector<uint8_t>& data) {
    size_t bytes =
        c.data == GL_PERFQUERY_COUNTER_DATA_UINT64_INTEL || c.data == GL_PERFQUERY_COUNTER_DATA_DOUBLE_INTEL ? 8 : 4;
    if (c.offset > data.size() || data.size() - c.offset < bytes)
      return to.lost(segment, metric, "the driver's result is too short for the counter");
    const uint8_t* at = &data[c.offset];
    const double v = c.data == GL_PERFQUERY_COUNTER_DATA_UINT64_INTEL   ? number_at<uint64_t>(at)
                     : c.data == GL_PERFQUERY_COUNTER_DATA_DOUBLE_INTEL ? number_at<double>(at)
                     : c.data == GL_PERFQUERY_COUNTER_DATA_FLOAT_INTEL  ? number_at<float>(at)
                                                                        : number_at<uint32_t>(at);
    if (c.most &&
        (c.type == GL_PERFQUERY_COUNTER_RAW_INTEL || c.type == GL_PERFQUERY_COUNTER_EVENT_INTEL ||
         c.type == GL_PERFQUERY_COUNTER_DURATION_RAW_INTEL) &&
        v >= static_cast<double>(c.most))
      return to.lost(segment, metric, "overflow");
    to.value(segment, metric, v);
  }

  std::vector<ExtensionBackend::Place> places_;
  std::vector<uint32_t> queries_;
};

class Intel : public ExtensionBackend {
 public:
  Intel()
      : ExtensionBackend("intel", "GL_INTEL_performance_query",
                         "queries (rights may be missing: dev.i915.perf_stream_paranoid)") {}
  std::vector<Offer> offers() override {
    std::vector<Offer> out;
    for (auto& [query, q] : known_queries())
      for (auto& [counter, c] : q.counters) {
        const char* type =
            c.type == GL_PERFQUERY_COUNTER_DURATION_NORM_INTEL || c.type == GL_PERFQUERY_COUNTER_THROUGHPUT_INTEL
                ? "mean"
            : c.type == GL_PERFQUERY_COUNTER_TIMESTAMP_INTEL    ? "timestamp"
            : c.type == GL_PERFQUERY_COUNTER_DURATION_RAW_INTEL ? "duration"
                                                                : "counter";
        out.push_back({spec_of(query, counter), q.name, c.name, type, "", c.text, static_cast<double>(c.most)});
      }
    return out;
  }

 protected:
  bool whole() override { return has_queries(); }
  bool offers_any() override { return !known_queries().empty(); }
  std::unique_ptr<Source> counting(const std::vector<int>& numbers,
                                   std::vector<ExtensionBackend::Place> places) override {
    return std::make_unique<IntelSource>(numbers, std::move(places));
  }
} g_intel;

}  // namespace
}  // namespace dt::play::metrics
