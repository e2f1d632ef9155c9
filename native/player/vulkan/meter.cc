#include "meter.h"

#include <algorithm>
#include <cstring>

#include "../../core/error.h"
#include "../line.h"

namespace dt::play::vk {
namespace {

constexpr int CALIBRATIONS = 12;
const char* const OF_CALLS = "the processor's cost is a call's, which records once and may run often: --per call";

double median(std::vector<double> v) {
  if (v.empty()) return 0;
  std::nth_element(v.begin(), v.begin() + static_cast<long>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

}  // namespace

Meter::Meter(metrics::Request request, Mode mode, std::string output, FILE* status, uint64_t first_frame,
             uint64_t end_frame)
    : request_(std::move(request)), mode_(mode), output_(std::move(output)), status_(status), first_frame_(first_frame),
      end_frame_(end_frame) {
  for (uint16_t i = 0; i < number::COMMANDS; ++i) {
    static constexpr std::pair<uint64_t, Role> BY_FLAG[] = {{FLAG_COMMANDS_BEGIN, BEGIN},
                                                            {FLAG_COMMANDS_END, END},
                                                            {FLAG_PASS_BEGIN, PASS_BEGIN},
                                                            {FLAG_PASS_END, PASS_END},
                                                            {FLAG_COMMANDS_CALL, EXECUTE}};
    for (auto& [flag, role] : BY_FLAG)
      if (COMMANDS[i].flags & flag) roles_[i] = role;
  }
  using namespace number;
  static constexpr std::pair<uint16_t, Role> BY_NUMBER[] = {
      {vkQueueSubmit, SUBMIT},          {vkQueueSubmit2, SUBMIT},
      {vkCmdBeginQuery, QUERY_BEGIN},   {vkCmdBeginQueryIndexedEXT, QUERY_BEGIN},
      {vkCmdEndQuery, QUERY_END},       {vkCmdEndQueryIndexedEXT, QUERY_END},
      {vkCreateCommandPool, MAKE_POOL}, {vkAllocateCommandBuffers, MAKE_BUFFERS},
      {vkCreateRenderPass, MAKE_PASS},  {vkCreateRenderPass2, MAKE_PASS}};
  for (auto& [number, role] : BY_NUMBER) roles_[number] = role;
  if (mode_ == MEASURE) prepare();
}

Meter::~Meter() { answer_by(nullptr); }

// The sources of the processor's metrics are there from the beginning; what devices count waits for a device.
void Meter::prepare() {
  if (request_.passes.size() != 1) throw Error(DT_E_ARGUMENT, "recordings of Vulkan are measured one pass a replay");
  const metrics::Pass& pass = request_.passes[0];
  at_ = pass.at;
  bias_.assign(request_.metrics.size(), 0);
  place_.assign(request_.metrics.size(), -1);
  std::map<std::string, std::vector<int>> by;
  for (size_t i = 0; i < pass.metrics.size(); ++i) {
    const auto m = static_cast<size_t>(pass.metrics[i]);
    place_[m] = static_cast<int>(i);
    if (request_.metrics[m].backend.starts_with("vk")) continue;
    if (request_.metrics[m].backend == "fragments") {
      counted_.emplace_back(i, Fragments::find(request_.metrics[m].spec));
      if (counted_.back().second == metrics::NO_FIGURE)
        throw Error(DT_E_ARGUMENT, request_.metrics[m].id + " is not counted of Vulkan");
      continue;
    }
    cpu_.emplace_back(i, pass.metrics[i]);
    by[request_.metrics[m].backend].push_back(pass.metrics[i]);
  }
  for (auto& [name, numbers] : by) {
    std::string why = "no back-end is called " + name;
    auto* backend = metrics::backend(name);
    auto source = backend ? backend->source(request_.metrics, numbers, why) : nullptr;
    if (!source) throw Error(DT_E_ARGUMENT, why);
    sources_.push_back(std::move(source));
  }
  if (!counted_.empty()) {
    auto any = [&](bool of_frames) {
      return std::any_of(counted_.begin(), counted_.end(),
                         [&](auto& each) { return (each.second >= metrics::MEAN) == of_frames; });
    };
    fragments_ = std::make_unique<Fragments>(any(false), any(true));
    wishes_.fragments = true;
  }
  std::stable_sort(sources_.begin(), sources_.end(), [](auto& a, auto& b) { return a->order() < b->order(); });
  rows_ = std::make_unique<metrics::Rows>(output_, request_.metrics, pass, true);
  if (first_frame_ == 0) frames_.emplace(0, scope(metrics::AT_FRAME, 0, 0));
  calibrate();
  ranges(0);
  start();
}

// ---- the processor's side -----------------------------------------------------------------------

// The value of an empty part is taken from each part.
void Meter::calibrate() {
  calibrating_ = true;
  samples_.assign(request_.metrics.size(), {});
  std::vector<double> cuts;
  for (int i = 0; i < CALIBRATIONS && !sources_.empty(); ++i) {
    start();
    stop();
    cuts.push_back(static_cast<double>(metrics::now_ns() - stopped_at_));
  }
  for (auto& [place, metric] : cpu_) {
    const auto m = static_cast<size_t>(metric);
    if (request_.metrics[m].fold == metrics::Fold::SUM) bias_[m] = median(samples_[m]);
  }
  calibrating_ = false;
  cut_ns_ = static_cast<uint64_t>(median(cuts));
  cuts_ = cost_ns_ = 0;
  stopped_at_ = 0;
}

void Meter::start() {
  if (running_) return;
  std::string why;
  for (size_t i = sources_.size(); i-- > 0;)
    if (!sources_[i]->begin(metrics::CALIBRATION, why)) throw Error(DT_E_ARGUMENT, why);
  running_ = true;
  if (stopped_at_) cost_ns_ += metrics::now_ns() - stopped_at_;
}

void Meter::stop() {
  if (!running_) return;
  const uint64_t before = metrics::now_ns();
  for (auto& source : sources_) source->end();
  running_ = false;
  stopped_at_ = before;
  ++cuts_;
  for (auto& source : sources_) source->collect(*this, true);
}

// Everything that the processor's time belongs to now.
template <class F> void Meter::each_open(F&& add) {
  if (!in_frames(frame_)) return;
  if (auto frame = frames_.find(frame_); frame != frames_.end()) add(frame->second);
  for (auto& [number, range] : ranges_)
    if (!range.ended) add(range);
  if (call_) add(*call_);
}

void Meter::value(uint64_t, int metric, double value) {
  const auto m = static_cast<size_t>(metric);
  if (calibrating_) return samples_[m].push_back(value);
  const metrics::Fold fold = request_.metrics[m].fold;
  if (fold == metrics::Fold::SUM && value > 0) value = std::max(0.0, value - bias_[m]);
  each_open([&](Scope& s) { add(s.sums[static_cast<size_t>(place_[m])], fold, value, 1, cuts_); });
}
void Meter::mean(uint64_t, int metric, double sum, double weight) {
  if (!calibrating_)
    each_open([&](Scope& s) {
      auto& to = s.sums[static_cast<size_t>(place_[static_cast<size_t>(metric)])];
      to.value += sum, to.weight += weight;
      if (weight > 0) to.parts = 1;
    });
}
void Meter::lost(uint64_t, int metric, const char* why) {
  if (!calibrating_)
    each_open([&](Scope& s) { s.sums[static_cast<size_t>(place_[static_cast<size_t>(metric)])].why = why; });
}

// ---- frames, ranges, calls ----------------------------------------------------------------------

Meter::Scope Meter::scope(metrics::At at, uint64_t number, uint64_t seq) const {
  Scope made;
  made.at = at;
  made.number = number;
  made.seq = seq;
  made.t_start = metrics::now_ns();
  made.sums.resize(request_.passes[0].metrics.size());
  // Draws and passes run when they run, not when they are recorded.
  if (at == metrics::AT_DRAW || at == metrics::AT_PASS)
    for (auto& [place, metric] : cpu_) made.sums[place].why = OF_CALLS, made.sums[place].unknown = ALL;
  return made;
}

void Meter::put(Scope& scope, uint64_t end_seq) {
  scope.end_seq = end_seq;
  if (scope.at == metrics::AT_FRAME) count(scope);
  if (!scope.t_end) scope.t_end = metrics::now_ns();
  for (auto& sum : scope.sums)
    if (sum.unknown == ALL) sum.unknown = scope.draws;
  rows_->put(scope, scope.sums);
}

void Meter::ranges(uint64_t seq) {
  if (!(at_ & metrics::AT_RANGE)) return;
  for (auto& [number, range] : ranges_)
    if (!range.ended && range.end_seq <= seq) range.ended = true, range.t_end = metrics::now_ns();
  for (auto& all = request_.ranges; next_range_ < all.size() && all[next_range_].begin <= seq; ++next_range_) {
    Scope made = scope(metrics::AT_RANGE, all[next_range_].number, all[next_range_].begin);
    made.end_seq = all[next_range_].end;
    ranges_.emplace(next_range_, std::move(made));
  }
}

void Meter::enter(uint64_t seq) {
  if (mode_ != MEASURE || finished_) return;
  seq_ = seq;
  ++calls_;
  calls_hash_ = (calls_hash_ ^ seq) * 1099511628211ull;
  const bool cuts = next_range_ < request_.ranges.size() || !ranges_.empty();
  if (!(at_ & metrics::AT_CALL) && !cuts) return;
  stop();
  ranges(seq);
  if (at_ & metrics::AT_CALL && in_frames(frame_)) call_ = scope(metrics::AT_CALL, seq, seq);
  start();
}

void Meter::leave() {
  if (!call_) return;
  stop();
  call_->t_end = metrics::now_ns();
  if (now_)
    submits_.emplace(call_->seq, std::move(*call_));  // what it submits is not done yet
  else
    put(*call_, call_->seq + 1);
  call_.reset();
  start();
}

void Meter::frame_end(uint64_t next, uint64_t seq) {
  if (mode_ != MEASURE) return;
  stop();
  for (auto& [device, gauge] : gauges_) {
    synchronise(*gauge);
    collect(*gauge, false);
  }
  if (auto it = frames_.find(frame_); it != frames_.end()) {
    it->second.ended = true;
    it->second.end_seq = seq + 1;
    it->second.t_end = metrics::now_ns();
  }
  if (fragments_) drawn_over_[frame_] = fragments_->over(frame_);
  frame_ = next;
  if (in_frames(next)) frames_.emplace(next, scope(metrics::AT_FRAME, next, seq + 1));
  for (auto it = frames_.begin(); it != frames_.end();) {
    Scope& each = it->second;
    if (!each.ended || each.waits) {
      ++it;
      continue;
    }
    if (at_ & metrics::AT_FRAME) put(each, each.end_seq);
    it = frames_.erase(it);
  }
  start();
}

void Meter::finish(uint64_t seq, bool frames) {
  if (mode_ != MEASURE && !answered_) answer();
  if (mode_ != MEASURE || finished_) return;
  stop();
  finished_ = true;
  for (auto& [device, gauge] : gauges_) collect(*gauge, true);
  if (fragments_) drawn_over_[frame_] = fragments_->over(frame_);
  for (auto& [number, s] : frames_) {
    // Calls behind the last frame's end are no frame; a recording without any is one.
    if (!s.ended && frames) continue;
    if (at_ & metrics::AT_FRAME) put(s, s.ended ? s.end_seq : seq + 1);
  }
  for (auto& [number, s] : submits_) put(s, s.seq + 1);
  for (auto& [number, s] : ranges_) put(s, s.end_seq);
  const uint64_t written = rows_->written;
  rows_ = nullptr;
  put_pass(status_, {0, written, cuts_, cost_ns_, cut_ns_, calls_, calls_hash_, 0}, request_, request_.passes[0],
           bias_);
}

// ---- what can be measured -----------------------------------------------------------------------

void Meter::answer() {
  answered_ = true;
  const Abilities* here = abilities_.empty() ? nullptr : &abilities_.begin()->second;
  auto* physical = abilities_.empty() ? nullptr : abilities_.begin()->first;
  answer_by(here);
  if (mode_ == LIST) return metrics::list_backends(status_, here ? here->device.c_str() : "");
  const uint64_t began = metrics::now_ns();
  const auto fits = [&](const std::vector<int>& numbers, std::string& why) {
    std::vector<uint32_t> counters;
    std::map<std::string, std::vector<int>> others;
    const auto fragments = static_cast<size_t>(std::count_if(numbers.begin(), numbers.end(), [&](int n) {
      return request_.metrics[static_cast<size_t>(n)].backend == "fragments";
    }));
    // Copies of command buffers have no queries of ours, and processors would measure the copying.
    if (fragments && fragments < numbers.size()) return why = "fragments are counted in a replay of their own", false;
    for (int n : numbers) {
      auto& m = request_.metrics[static_cast<size_t>(n)];
      QueryUse wish;
      if (m.backend == "fragments") continue;
      if (!m.backend.starts_with("vk"))
        others[m.backend].push_back(n);
      else if (!here || !find_query_use(*here, m.backend, m.spec, wish))
        return why = "there is no " + m.spec, false;
      else if (wish.what == QueryUse::COUNTER)
        counters.push_back(wish.number);
    }
    for (auto& [name, own] : others) {
      auto source = metrics::backend(name)->source(request_.metrics, own, why);
      if (!source || !source->begin(metrics::TRIAL, why)) return false;
      source->end();
    }
    for (uint32_t each : counters)
      if (here->counters[each].scope != here->counters[counters[0]].scope)
        return why = "it counts for other parts of command buffers", false;
    return counters.empty() || fits_one_pass(*instance_, physical, here->family, counters, why);
  };
  put_plan(status_, plan_of(request_, [](metrics::Backend& b) { return b.reason(); }, fits), metrics::now_ns() - began);
}

}  // namespace dt::play::vk
