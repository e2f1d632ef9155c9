#include "session.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>

#include "../../core/trace.h"
#include "../line.h"
#include "gl_enums.h"

namespace dt::play::metrics {

namespace {

constexpr size_t COLLECT_AT = 256;  // segments that wait for results
constexpr int CALIBRATIONS = 12;

double median(std::vector<double> v) {
  if (v.empty()) return 0;
  std::nth_element(v.begin(), v.begin() + static_cast<long>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

struct Nowhere : Sink {
  void value(uint64_t, int, double) override {}
  void mean(uint64_t, int, double, double) override {}
  void lost(uint64_t, int, const char*) override {}
};

}  // namespace

uint16_t Session::kind(const std::string& name, uint64_t flags) {
  auto is = [&](const char* what) { return name.starts_with(what); };
  uint16_t k = flags & (FLAG_DRAW | FLAG_DISPATCH | FLAG_CLEAR | FLAG_LIST_CALL) ? DRAW : 0;
  if (flags & (FLAG_DRAW | FLAG_LIST_CALL | FLAG_VERTICES_BEGIN)) k |= PRIMITIVES;
  if (flags & FLAG_VERTICES_BEGIN)
    k |= BEGIN;
  else if (flags & FLAG_VERTICES_END)
    k |= END;
  else if (is("glBeginQuery"))
    k |= QUERY_BEGIN;
  else if (is("glEndQuery"))
    k |= QUERY_END;
  else if (flags & FLAG_LIST_BEGIN)
    k |= LIST_BEGIN;
  else if (flags & FLAG_LIST_END)
    k |= LIST_END;
  else if (is("glLinkProgram"))
    k |= LINKS;
  else if (is("glBeginConditionalRender"))
    k |= CONDITION_BEGIN;
  else if (is("glEndConditionalRender"))
    k |= CONDITION_END;
  return k;
}

Session::Session(Request request, Mode mode, std::string output, FILE* status, uint64_t first_frame, uint64_t end_frame)
    : request_(std::move(request)), mode_(mode), output_(std::move(output)), status_(status), first_frame_(first_frame),
      end_frame_(end_frame) {
  bias_.assign(request_.metrics.size(), 0);
  if (mode_ == MEASURE) prepare();
}

Session::Session(std::unique_ptr<Source> own)
    : mode_(MEASURE), output_("/dev/null"), status_(nullptr), first_frame_(0), end_frame_(UINT64_MAX) {
  Prepared p;
  p.pass.at = AT_FRAME;
  own->alone = true;
  keeps_lists_ = (own->watches() & Source::WATCH_DRAWS) != 0;
  p.sources.push_back(std::move(own));
  passes_.push_back(std::move(p));
  begin_pass();
}

Session::~Session() {
  for (Scope* s : scopes_) delete s;
}

// Sources of all passes are made before anything is played: perf's counters follow threads that begin later.
void Session::prepare() {
  for (auto& pass : request_.passes) {
    Prepared p;
    p.pass = pass;
    p.place.assign(request_.metrics.size(), -1);
    for (size_t i = 0; i < pass.metrics.size(); ++i)
      p.place[static_cast<size_t>(pass.metrics[i])] = static_cast<int>(i);
    std::map<std::string, std::vector<int>> by;
    for (int m : pass.metrics) by[request_.metrics[static_cast<size_t>(m)].backend].push_back(m);
    for (auto& [name, numbers] : by) {
      Backend* b = backend(name);
      if (!b) throw Error(DT_E_ARGUMENT, "no back-end is called " + name);
      std::string why;
      auto source = b->source(request_.metrics, numbers, why);
      if (!source) throw Error(DT_E_ARGUMENT, name + ": " + why);
      p.sources.push_back(std::move(source));
    }
    std::stable_sort(p.sources.begin(), p.sources.end(), [](auto& a, auto& b) { return a->order() < b->order(); });
    for (auto& s : p.sources) {
      s->alone = p.sources.size() == 1;
      keeps_lists_ |= (s->watches() & Source::WATCH_DRAWS) != 0;
    }
    passes_.push_back(std::move(p));
  }
  if (passes_.empty()) throw Error(DT_E_ARGUMENT, "no pass is named");
  begin_pass();
}

void Session::begin_pass() {
  std::string path = output_ + (passes_.size() > 1 ? "." + std::to_string(pass_) : "");
  rows_ = std::make_unique<Rows>(path, request_.metrics, passes_[pass_].pass, false);
  began_.assign(passes_[pass_].sources.size(), false);
  watches_ = 0;
  for (auto& source : passes_[pass_].sources) watches_ |= source->watches();
  cuts_ = cost_ns_ = counted_calls_ = pauses_ = 0;
  calls_hash_ = 1469598103934665603ull;
  calibrated_ = false;
  if (in_frames() && passes_[pass_].pass.at & AT_FRAME) frame_scope_ = open(AT_FRAME, frame_, frame_ ? UINT64_MAX : 0);
  next_range_ = 0;
  next_range_at_ =
      passes_[pass_].pass.at & AT_RANGE && !request_.ranges.empty() ? request_.ranges.front().begin : UINT64_MAX;
}

// ---- ranges -------------------------------------------------------------------------------------

Session::Scope* Session::open(At at, uint64_t number, uint64_t seq) {
  auto* s = new Scope;
  s->at = at;
  s->number = number;
  s->seq = seq;
  s->sums.resize(passes_[pass_].pass.metrics.size());
  scopes_.insert(s);
  open_.push_back(s);
  return s;
}
void Session::close(Scope* s, uint64_t end_seq) {
  s->end_seq = end_seq;
  s->t_end = stopped_at_;
  if (!s->t_start) s->t_start = stopped_at_;
  s->closed = true;
  open_.erase(std::find(open_.begin(), open_.end(), s));
  settle(s);
}
void Session::drop(Scope* s) {
  if (!s) return;
  open_.erase(std::find(open_.begin(), open_.end(), s));
  for (auto& [number, segment] : segments_) std::erase(segment.scopes, s);
  scopes_.erase(s);
  delete s;
}
void Session::settle(Scope* s) {
  if (!s->closed || s->waits) return;
  rows_->put(*s, s->sums);
  scopes_.erase(s);
  delete s;
}

// Results come segment by segment.
std::map<uint64_t, Session::Segment>::iterator Session::segment_of(uint64_t number) {
  if (sought_segment_ == segments_.end() || sought_segment_->first != number) sought_segment_ = segments_.find(number);
  return sought_segment_;
}

void Session::forget_segment(std::map<uint64_t, Segment>::iterator it) {
  if (it == sought_segment_) sought_segment_ = segments_.end();
  segments_.erase(it);
}

void Session::value(uint64_t number, int metric, double v) {
  if (calibrating_) {
    samples_[static_cast<size_t>(metric)].push_back(v);
    return;
  }
  auto it = segment_of(number);
  if (it == segments_.end()) return;
  Fold fold = request_.metrics[static_cast<size_t>(metric)].fold;
  if (fold == Fold::SUM && v > 0) v = std::max(0.0, v - bias_[static_cast<size_t>(metric)]);
  auto place = static_cast<size_t>(passes_[pass_].place[static_cast<size_t>(metric)]);
  double weight = static_cast<double>(it->second.t_end - it->second.t_start);
  for (Scope* s : it->second.scopes) add(s->sums[place], fold, v, weight, number);
  arrived(number);
}
void Session::mean(uint64_t number, int metric, double total, double weight) {
  if (calibrating_) return;
  auto it = segment_of(number);
  if (it == segments_.end()) return;
  auto place = static_cast<size_t>(passes_[pass_].place[static_cast<size_t>(metric)]);
  for (Scope* s : it->second.scopes) {
    Sum& sum = s->sums[place];
    sum.value += total, sum.weight += weight;
    if (weight > 0) sum.parts = 1;
  }
  arrived(number);
}
void Session::lost(uint64_t number, int metric, const char* why) {
  if (calibrating_) return;
  auto it = segment_of(number);
  if (it == segments_.end()) return;
  auto place = static_cast<size_t>(passes_[pass_].place[static_cast<size_t>(metric)]);
  for (Scope* s : it->second.scopes) {
    const char*& said = s->sums[place].why;
    if (!said)
      said = why;
    else if (!strstr(said, why))
      said = lasting(std::string(said) + " | " + why);
  }
  if (running_ && number == last_segment_)
    it->second.lost.push_back(place);
  else
    lose(it->second, place);
  arrived(number);
}
// A metric is not known of the draws of a segment, which has ended.
void Session::lose(Segment& segment, size_t place) {
  for (Scope* s : segment.scopes) s->sums[place].unknown += segment.draws;
}
// A draw is about to be played, in the segment that runs.
void Session::drawn() {
  for (Scope* s : open_) ++s->draws;
  if (!running_) return;
  if (auto it = segment_of(last_segment_); it != segments_.end()) ++it->second.draws;
}
void Session::arrived(uint64_t number) {
  auto it = segment_of(number);
  Segment& segment = it->second;
  for (Scope* s : segment.scopes) --s->waits;
  if (--segment.waits) return;  // and so none of them is settled
  std::vector<Scope*> scopes = std::move(segment.scopes);
  forget_segment(it);
  for (Scope* s : scopes) settle(s);
}

// ---- segments -----------------------------------------------------------------------------------

void Session::stop() {
  uint64_t now = now_ns();
  stopped_at_ = now;
  if (!running_) return;
  running_ = false;
  auto& sources = passes_[pass_].sources;
  for (size_t i = 0; i < sources.size(); ++i)
    if (began_[i]) sources[i]->end();
  auto it = segments_.find(last_segment_);
  it->second.t_end = now;
  for (size_t place : it->second.lost) lose(it->second, place);
  if (!it->second.waits) forget_segment(it);
  if (segments_.size() > COLLECT_AT) collect(false);
  cost_ns_ += now_ns() - now;
}

void Session::start() {
  if (running_ || paused_ || away_ || open_.empty() || finished_) return;
  uint64_t now = now_ns();
  auto& sources = passes_[pass_].sources;
  uint64_t number = ++last_segment_;
  Segment& segment = segments_[number];
  segment.scopes = open_;
  ++cuts_;
  bool context = current_context() != nullptr, blocked = in_begin_ || in_list_;
  size_t waits = 0;
  std::vector<std::pair<int, const char*>> failed;
  for (size_t i = sources.size(); i-- > 0;) {
    Source& s = *sources[i];
    began_[i] = false;
    if (s.per_context() && (!context || blocked)) {
      // Without a context nothing is drawn, and a list that is only compiled draws nothing either.
      if (context && (in_begin_ || list_runs_))
        for (int m : s.metrics) failed.emplace_back(m, "a display list is compiled and executed");
      continue;
    }
    std::string why;
    if (s.begin(number, why)) {
      began_[i] = true;
      waits += s.metrics.size();
    } else {
      const char* said = lasting(why);
      for (int m : s.metrics) failed.emplace_back(m, said);
    }
  }
  running_ = true;
  segment.waits = waits + failed.size();
  for (Scope* s : open_) {
    ++s->segments;
    s->waits += segment.waits;
  }
  for (auto& [metric, why] : failed) {
    ++segment.waits;  // so that it stays while it runs
    for (Scope* s : open_) ++s->waits;
    lost(number, metric, why);
    --segment.waits;
    for (Scope* s : open_) --s->waits;
  }
  uint64_t end = now_ns();
  cost_ns_ += end - now;
  segment.t_start = end;
  for (Scope* s : open_)
    if (!s->t_start) s->t_start = end;
}

void Session::collect(bool wait) {
  for (auto& source : passes_[pass_].sources)
    if (!source->per_context() || current_context()) source->collect(*this, wait);
}

// Empty segments, one after the other: what they measure is the cost of measuring.
void Session::calibrate(bool contexts) {
  collect(true);  // what was measured before is no part of it
  calibrating_ = true;
  samples_.assign(request_.metrics.size(), {});
  std::vector<double> costs;
  auto& sources = passes_[pass_].sources;
  for (int round = 0; round < CALIBRATIONS; ++round) {
    std::vector<bool> began(sources.size());
    uint64_t t0 = now_ns();
    std::string why;
    for (size_t i = sources.size(); i-- > 0;)
      if (contexts || !sources[i]->per_context()) began[i] = sources[i]->begin(CALIBRATION, why);
    uint64_t t1 = now_ns();
    for (size_t i = 0; i < sources.size(); ++i)
      if (began[i]) sources[i]->end();
    uint64_t t2 = now_ns();
    if (!round)
      samples_.assign(request_.metrics.size(), {});  // the first one makes what the others use again
    else
      costs.push_back(static_cast<double>(t2 - t0));
    (void)t1;
    collect(true);
    if (!round) samples_.assign(request_.metrics.size(), {});
  }
  for (size_t m = 0; m < samples_.size(); ++m)
    bias_[m] = request_.metrics[m].fold == Fold::SUM && !samples_[m].empty()
                   ? *std::min_element(samples_[m].begin(), samples_[m].end())
                   : 0;
  cut_ns_median_ = static_cast<uint64_t>(median(costs));
  calibrating_ = false;
  calibrated_ = true;
}

// ---- plans --------------------------------------------------------------------------------------

void Session::ask() {
  answered_ = true;
  if (mode_ == LIST) {
    const unsigned char* version = driver::glGetString ? driver::glGetString(GL_VERSION) : nullptr;
    list_backends(status_, version ? reinterpret_cast<const char*>(version) : "");
    return;
  }
  auto reason = [](Backend& b) {
    return b.per_context() && !current_context() ? "the recording has no context" : b.reason();
  };
  uint64_t began = now_ns();
  if (current_context()) drain_errors();
  Plan made = plan_of(request_, reason, [&](const std::vector<int>& metrics, std::string& why) {
    std::map<std::string, std::vector<int>> by;
    for (int m : metrics) by[request_.metrics[static_cast<size_t>(m)].backend].push_back(m);
    std::vector<std::unique_ptr<Source>> sources;
    for (auto& [name, numbers] : by) {
      auto source = backend(name)->source(request_.metrics, numbers, why);
      if (!source) return false;
      sources.push_back(std::move(source));
    }
    size_t begun = 0;
    while (begun < sources.size() && sources[begun]->begin(TRIAL, why)) ++begun;
    for (size_t i = begun; i-- > 0;) sources[i]->end();
    bool fits = begun == sources.size();
    for (auto& s : sources) s->forget(current_context());
    if (current_context()) drain_errors();
    return fits;
  });
  if (status_) put_plan(status_, made, now_ns() - began);
}

}  // namespace dt::play::metrics
