// Queries that every driver may have: time stamps, elapsed time, samples, primitives, stages of the pipeline.
#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

#include "driver_counters.h"
#include "table_backend.h"
#include "gl_enums.h"

namespace dt::play::metrics {
namespace {

constexpr size_t MOST_MADE = 4096;  // a context has at a time

struct QueryTarget {
  const char *spec, *group;
  uint32_t target;  // GL_TIME_ELAPSED: its time; GL_TIMESTAMP: its beginning
  const char *type = "sum", *unit = "count";
};
const QueryTarget QUERIES[] = {
    {"elapsed", "time", GL_TIME_ELAPSED, "sum", "ns"},
    {"start", "time", GL_TIMESTAMP, "first", "ns"},
    {"samples_passed", "samples", GL_SAMPLES_PASSED},
    {"any_samples", "samples", GL_ANY_SAMPLES_PASSED},
    {"primitives_generated", "primitives", GL_PRIMITIVES_GENERATED},
    {"feedback_written", "primitives", GL_TRANSFORM_FEEDBACK_PRIMITIVES_WRITTEN},
    {"vertices_submitted", "pipeline", GL_VERTICES_SUBMITTED},
    {"primitives_submitted", "pipeline", GL_PRIMITIVES_SUBMITTED},
    {"vertex_shader_invocations", "pipeline", GL_VERTEX_SHADER_INVOCATIONS},
    {"tess_control_patches", "pipeline", GL_TESS_CONTROL_SHADER_PATCHES},
    {"tess_evaluation_invocations", "pipeline", GL_TESS_EVALUATION_SHADER_INVOCATIONS},
    {"geometry_shader_invocations", "pipeline", GL_GEOMETRY_SHADER_INVOCATIONS},
    {"geometry_shader_primitives", "pipeline", GL_GEOMETRY_SHADER_PRIMITIVES_EMITTED},
    {"fragment_shader_invocations", "pipeline", GL_FRAGMENT_SHADER_INVOCATIONS},
    {"compute_shader_invocations", "pipeline", GL_COMPUTE_SHADER_INVOCATIONS},
    {"clipping_input_primitives", "pipeline", GL_CLIPPING_INPUT_PRIMITIVES},
    {"clipping_output_primitives", "pipeline", GL_CLIPPING_OUTPUT_PRIMITIVES},
};

// The functions of queries as the current context has them.
struct Functions {
  decltype(driver::glGenQueries) make;
  decltype(driver::glDeleteQueries) remove;
  decltype(driver::glBeginQuery) begin;
  decltype(driver::glEndQuery) end;
  decltype(driver::glQueryCounter) stamp;
  decltype(driver::glGetQueryiv) get_query;
  decltype(driver::glGetQueryObjectuiv) get32;
  decltype(driver::glGetQueryObjectui64v) get64;
};
template <class F> const F& either(const F& first, const F& otherwise) { return first ? first : otherwise; }

const Functions& functions() {
  using namespace driver;
  // OpenGL ES has these by extensions first; drivers take both spellings where both exist.
  static const Functions es{either(glGenQueriesEXT, glGenQueries),
                            either(glDeleteQueriesEXT, glDeleteQueries),
                            either(glBeginQueryEXT, glBeginQuery),
                            either(glEndQueryEXT, glEndQuery),
                            glQueryCounterEXT,
                            either(glGetQueryivEXT, glGetQueryiv),
                            either(glGetQueryObjectuivEXT, glGetQueryObjectuiv),
                            either(glGetQueryObjectui64vEXT, glGetQueryObjectui64v)};
  static const Functions desktop{
      glGenQueries,   glDeleteQueries, glBeginQuery,        glEndQuery,
      glQueryCounter, glGetQueryiv,    glGetQueryObjectuiv, either(glGetQueryObjectui64v, glGetQueryObjectui64vEXT)};
  return is_es() ? es : desktop;
}

bool has(const char* extension) { return has_extension(extension); }

int bits(uint32_t target) {
  const Functions& f = functions();
  int n = 0;
  drain_errors();
  if (f.get_query) f.get_query(target, GL_QUERY_COUNTER_BITS, &n);
  if (take_error()) n = 0;
  return n;
}

// Why the current context has no query of that target.
std::string no_query(uint32_t target) {
  const GlContext* c = tls.context;
  if (!c || !c->version) return "there is no context";
  bool es = c->api == 2;
  uint32_t v = c->version;
  bool timer = target == GL_TIMESTAMP || target == GL_TIME_ELAPSED;
  if (timer) {
    if (es && !has("GL_EXT_disjoint_timer_query")) return "no GL_EXT_disjoint_timer_query";
    if (!es && v < 33 && !has("GL_ARB_timer_query") && !(target == GL_TIME_ELAPSED && has("GL_EXT_timer_query")))
      return "no GL_ARB_timer_query";
    return bits(target) > 0 ? "" : "the driver's timer queries have 0 bits";
  }
  if (target == GL_SAMPLES_PASSED) {
    if (es) return "OpenGL ES tells only whether samples passed";
    if (v < 15) return "OpenGL 1.5 has it";
  } else if (target == GL_ANY_SAMPLES_PASSED) {
    if (es ? v < 30 && !has("GL_EXT_occlusion_query_boolean") : v < 33 && !has("GL_ARB_occlusion_query2"))
      return "no occlusion query of that kind";
  } else if (target == GL_PRIMITIVES_GENERATED) {
    if (es ? v < 32 && !has("GL_EXT_geometry_shader") && !has("GL_OES_geometry_shader") &&
                 !has("GL_EXT_tessellation_shader")
           : v < 30 && !has("GL_EXT_transform_feedback"))
      return es ? "OpenGL ES 3.2 or GL_EXT_geometry_shader has it" : "OpenGL 3.0 has it";
  } else if (target == GL_TRANSFORM_FEEDBACK_PRIMITIVES_WRITTEN) {
    if (v < 30 && (es || !has("GL_EXT_transform_feedback"))) return "no transform feedback";
  } else {
    if (es) return "OpenGL ES has no pipeline statistics";
    if (v < 46 && !has("GL_ARB_pipeline_statistics_query")) return "no GL_ARB_pipeline_statistics_query";
    // Drivers need not count every stage.
    if (bits(target) <= 0) return "the driver does not count it";
  }
  return "";
}

// Names of query objects of one context. A name stays with the target that it was first begun for: drivers insist on
// it.
class Names {
 public:
  uint32_t take(uint32_t target) {
    auto& free = free_[target];
    if (free.empty()) {
      uint32_t fresh[32] = {};
      functions().make(32, fresh);
      for (uint32_t name : fresh)
        if (name) free.push_back(name), ++made_;
    }
    if (free.empty()) return 0;
    uint32_t name = free.back();
    free.pop_back();
    return name;
  }
  void give(uint32_t target, uint32_t name) {
    if (name) free_[target].push_back(name);
  }
  bool full() const { return made_ >= MOST_MADE; }
  void remove() {
    for (auto& [target, names] : free_)
      if (!names.empty()) functions().remove(static_cast<int>(names.size()), names.data());
  }

 private:
  std::map<uint32_t, std::vector<uint32_t>> free_;
  size_t made_ = 0;
};

// A result, once the driver has it.
bool result(uint32_t name, bool wait, uint64_t& value) {
  const ResultsHere here;
  const Functions& f = functions();
  uint32_t there = 0;
  if (!wait) {
    f.get32(name, GL_QUERY_RESULT_AVAILABLE, &there);
    if (!there) return false;
  }
  if (f.get64) {
    f.get64(name, GL_QUERY_RESULT, &value);
  } else {
    uint32_t v = 0;
    f.get32(name, GL_QUERY_RESULT, &v);
    value = v;
  }
  return true;
}

struct GlPending {
  struct Count {
    uint32_t name;
    const char* lost;
  };
  uint64_t segment = 0;
  uint32_t t0 = 0, t1 = 0;
  const char* no_time = nullptr;
  std::vector<Count> counts;
  bool ended = false, disjoint = false;
  uint64_t v0 = 0, v1 = 0;
  std::vector<uint64_t> values;
};
struct GlState {
  bool asked = false, stamps = false, has_disjoint = false;
  int mask = 64;
  std::string why_no_time;
  std::vector<std::string> why_no_target;
  std::vector<uint32_t> blocked;
  Names names;
  std::deque<GlPending> pending;
  bool waits() const { return !pending.empty(); }
};

class GlSource : public ContextSource<GlState> {
  using State = GlState;
  using Pending = GlPending;

 public:
  GlSource(const std::vector<int>& numbers, const std::vector<const QueryTarget*>& queries) : ContextSource(numbers) {
    for (size_t i = 0; i < numbers.size(); ++i) {
      const Entry e{numbers[i], queries[i]->target};
      bool time = e.target == GL_TIME_ELAPSED || e.target == GL_TIMESTAMP;
      (time ? times_ : counts_).push_back(e);
      if (!time && std::find(targets_.begin(), targets_.end(), e.target) == targets_.end())
        targets_.push_back(e.target);
      starts_ |= e.target == GL_TIMESTAMP;
    }
  }
  int order() const override { return 3; }

  bool begin(uint64_t segment, std::string& why) override {
    State& s = state();
    if (!s.asked) {
      s.asked = true;
      if (!times_.empty()) {
        s.stamps = no_query(GL_TIMESTAMP).empty();
        s.why_no_time = s.stamps ? "" : starts_ ? no_query(GL_TIMESTAMP) : no_query(GL_TIME_ELAPSED);
        s.mask = s.stamps ? bits(GL_TIMESTAMP) : bits(GL_TIME_ELAPSED);
      }
      for (uint32_t target : targets_) s.why_no_target.push_back(no_query(target));
      s.has_disjoint = is_es() && has("GL_EXT_disjoint_timer_query");
      if (s.has_disjoint) {
        int past = 0;
        driver::glGetIntegerv(GL_GPU_DISJOINT_EXT, &past);  // what was before is nothing of ours
      }
    }
    if (!functions().make || !functions().begin) return why = "the driver has no queries", false;
    if (segment == TRIAL) {
      if (!s.why_no_time.empty()) return why = s.why_no_time, false;
      for (auto& no : s.why_no_target)
        if (!no.empty()) return why = no, false;
    }
    Pending p;
    p.segment = segment;
    for (size_t i = 0; i < targets_.size(); ++i) {
      uint32_t name = 0;
      const char* lost = nullptr;
      if (!s.why_no_target[i].empty())
        lost = lasting(s.why_no_target[i]);
      else if (is_blocked(targets_[i]))
        lost = "the program's own query of this kind ran";
      else if (!(name = s.names.take(targets_[i])))
        lost = "the driver has no more query objects";
      else {
        functions().begin(targets_[i], name);
        if (segment == TRIAL && take_error()) {
          why = "the driver refuses another query beside those that run";
          s.names.give(targets_[i], name);
          for (size_t k = 0; k < i; ++k)
            if (p.counts[k].name) functions().end(targets_[k]), s.names.give(targets_[k], p.counts[k].name);
          return false;
        }
      }
      p.counts.push_back({name, lost});
    }
    // The time begins last and ends first: it does not see what the others cost.
    if (!times_.empty()) {
      if (!s.why_no_time.empty())
        p.no_time = lasting(s.why_no_time);
      else if (s.stamps) {
        p.t0 = s.names.take(GL_TIMESTAMP);
        p.t1 = s.names.take(GL_TIMESTAMP);
        functions().stamp(p.t0, GL_TIMESTAMP);
      } else if (is_blocked(GL_TIME_ELAPSED)) {
        p.no_time = "the program's own time query ran";
      } else {
        p.t0 = s.names.take(GL_TIME_ELAPSED);
        functions().begin(GL_TIME_ELAPSED, p.t0);
      }
    }
    s.pending.push_back(std::move(p));
    return true;
  }

  void end() override {
    Pending& p = state().pending.back();
    if (p.t1)
      functions().stamp(p.t1, GL_TIMESTAMP);
    else if (p.t0)
      functions().end(GL_TIME_ELAPSED);
    for (size_t i = 0; i < targets_.size(); ++i)
      if (p.counts[i].name) functions().end(targets_[i]);
    p.ended = true;
  }

  bool uses(uint32_t target) const override {
    if (target == GL_TIME_ELAPSED && !times_.empty()) {
      auto it = states_.find(current_context());
      return it != states_.end() && !it->second.stamps;
    }
    for (uint32_t mine : targets_)
      if (mine == target || (is_occlusion(mine) && is_occlusion(target))) return true;
    return false;
  }
  void block(uint32_t target, bool blocked) override {
    auto& list = state().blocked;
    if (blocked)
      list.push_back(target);
    else
      std::erase(list, target);
  }

 private:
  void take_results(State& s, Sink& to, bool wait) override {
    if (s.has_disjoint && !times_.empty()) {
      int disjoint = 0;
      driver::glGetIntegerv(GL_GPU_DISJOINT_EXT, &disjoint);
      if (disjoint)
        for (auto& p : s.pending)
          if (p.t0) p.disjoint = true;
    }
    while (!s.pending.empty() && s.pending.front().ended) {
      Pending& p = s.pending.front();
      bool block = wait || s.names.full();  // between two segments: nothing that is measured waits
      if (!ready(p, block)) return;
      deliver(to, s, p);
      give_back(s, p);
      s.pending.pop_front();
    }
  }
  void release(State& s) override {
    if (!functions().remove) return;
    for (auto& p : s.pending) give_back(s, p);
    s.names.remove();
  }
  bool is_blocked(uint32_t target) {
    for (uint32_t b : state().blocked)
      if (b == target || (is_occlusion(b) && is_occlusion(target))) return true;
    return false;
  }
  void give_back(State& s, const Pending& p) {
    s.names.give(p.t1 ? GL_TIMESTAMP : GL_TIME_ELAPSED, p.t0);
    s.names.give(GL_TIMESTAMP, p.t1);
    for (size_t i = 0; i < p.counts.size(); ++i) s.names.give(targets_[i], p.counts[i].name);
  }
  // The last query comes last: where its result is there, so is the rest.
  bool ready(Pending& p, bool wait) {
    p.values.assign(targets_.size(), 0);
    if (p.t1 && !result(p.t1, wait, p.v1)) return false;
    if (p.t0 && !result(p.t0, wait, p.v0)) return false;
    for (size_t i = 0; i < targets_.size(); ++i)
      if (p.counts[i].name && !result(p.counts[i].name, wait, p.values[i])) return false;
    return true;
  }
  void deliver(Sink& to, State& s, Pending& p) {
    uint64_t most = s.mask >= 64 ? ~0ull : (1ull << s.mask) - 1;
    for (auto& e : times_) {
      if (p.no_time)
        to.lost(p.segment, e.metric, p.no_time);
      else if (p.disjoint)
        to.lost(p.segment, e.metric, "disjoint: the clock of the GPU was not steady");
      else if (e.target == GL_TIMESTAMP)
        to.value(p.segment, e.metric, static_cast<double>(p.v0));
      else if (!p.t1 && p.v0 == most)
        to.lost(p.segment, e.metric, "overflow");
      else
        to.value(p.segment, e.metric, static_cast<double>(p.t1 ? (p.v1 - p.v0) & most : p.v0));
    }
    for (auto& e : counts_) {
      size_t i = static_cast<size_t>(std::find(targets_.begin(), targets_.end(), e.target) - targets_.begin());
      bool wide = functions().get64 != nullptr;
      if (p.counts[i].lost)
        to.lost(p.segment, e.metric, p.counts[i].lost);
      else if (p.values[i] == (wide ? ~0ull : 0xFFFFFFFFull))
        to.lost(p.segment, e.metric, "overflow");
      else
        to.value(p.segment, e.metric, static_cast<double>(p.values[i]));
    }
  }

  struct Entry {
    int metric;
    uint32_t target;
  };
  std::vector<Entry> times_, counts_;
  std::vector<uint32_t> targets_;
  bool starts_ = false;
};

class Gl : public TableBackend<QUERIES> {
 public:
  Gl() : TableBackend("gl") {}
  std::string reason() override { return current_context() ? "" : "there is no context"; }
  std::string group_of(const std::string& spec) override {
    const QueryTarget* query = row_of(spec);
    return query ? query->group : "time";
  }

 private:
  std::string refusal(const QueryTarget& query) override {
    // Two time stamps tell the elapsed time as well.
    return query.target == GL_TIME_ELAPSED && no_query(GL_TIMESTAMP).empty() ? "" : no_query(query.target);
  }
  std::unique_ptr<Source> measuring(const std::vector<int>& numbers, const std::vector<const QueryTarget*>& queries,
                                    std::string&) override {
    return std::make_unique<GlSource>(numbers, queries);
  }
} g_gl;

}  // namespace
}  // namespace dt::play::metrics
