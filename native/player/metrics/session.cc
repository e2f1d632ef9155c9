#include "session.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

#include "../../core/trace.h"
#include "gl_enums.h"

namespace dt::play::metrics {

namespace {

constexpr size_t COLLECT_AT = 256;  // segments that wait for results
constexpr int CALIBRATIONS = 12;

bool letters(const std::string& text, unsigned& out) {
  out = 0;
  for (char c : text) {
    if (c == 'f')
      out |= AT_FRAME;
    else if (c == 'd')
      out |= AT_DRAW;
    else if (c == 'c')
      out |= AT_CALL;
    else if (c == 'r')
      out |= AT_RANGE;
    else
      return false;
  }
  return out != 0;
}
std::string letters(unsigned at) {
  std::string text;
  if (at & AT_FRAME) text += 'f';
  if (at & AT_DRAW) text += 'd';
  if (at & AT_CALL) text += 'c';
  if (at & AT_RANGE) text += 'r';
  return text;
}

std::vector<std::string> words(const std::string& line) {
  std::vector<std::string> found;
  std::stringstream stream(line);
  for (std::string word; std::getline(stream, word, '\t');) found.push_back(word);
  return found;
}

double median(std::vector<double> v) {
  if (v.empty()) return 0;
  std::nth_element(v.begin(), v.begin() + static_cast<long>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

// Behind `to`, with as few digits as say the number exactly.
template <class Number> void put(std::string& to, Number v) {
  char text[40];
  to.append(text, std::to_chars(text, text + sizeof text, v).ptr);
}
void put_numeral(std::string& to, double v) {
  if (v == std::floor(v) && std::fabs(v) < 9e15)
    put(to, static_cast<int64_t>(v));
  else
    put(to, v);
}

struct Nowhere : Sink {
  void value(uint64_t, int, double) override {}
  void mean(uint64_t, int, double, double) override {}
  void lost(uint64_t, int, const char*) override {}
};

}  // namespace

bool Request::read(const std::string& path, std::string& why) {
  std::ifstream file(path);
  if (!file) return why = path + " cannot be read", false;
  unsigned line_number = 0;
  for (std::string line; std::getline(file, line);) {
    ++line_number;
    auto w = words(line);
    if (w.empty()) continue;
    bool good = false;
    try {
      if (w[0] == "metric" && w.size() == 6) {
        Wanted m{w[1], w[2], w[3], Fold::SUM, 0};
        good = letters(w[5], m.at) &&
               (w[4] == "sum" || w[4] == "mean" || w[4] == "ratio" || w[4] == "last" || w[4] == "first");
        m.fold = w[4] == "mean"    ? Fold::MEAN
                 : w[4] == "ratio" ? Fold::RATIO
                 : w[4] == "last"  ? Fold::LAST
                 : w[4] == "first" ? Fold::FIRST
                                   : Fold::SUM;
        metrics.push_back(std::move(m));
      } else if (w[0] == "pass" && w.size() >= 3) {
        Pass pass;
        good = letters(w[1], pass.at);
        for (size_t i = 2; i < w.size(); ++i) {
          pass.metrics.push_back(std::stoi(w[i]));
          good = good && pass.metrics.back() >= 0 && static_cast<size_t>(pass.metrics.back()) < metrics.size();
        }
        passes.push_back(std::move(pass));
      } else if (w[0] == "range" && w.size() == 4) {
        ranges.push_back({std::stoull(w[1]), std::stoull(w[2]), std::stoull(w[3])});
        good = ranges.back().begin < ranges.back().end;
      } else if (w[0] == "pictures" && w.size() == 2) {
        pictures_folder() = w[1];
        good = true;
      } else if (w[0] == "isolate" && w.size() == 2) {
        isolate = w[1] == "1";
        good = true;
      }
    } catch (const std::exception&) {
      good = false;
    }
    if (!good) return why = path + ": line " + std::to_string(line_number) + " makes no sense", false;
  }
  std::stable_sort(ranges.begin(), ranges.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
  return true;
}

uint16_t Session::kind(const std::string& name, uint32_t flags) {
  auto is = [&](const char* what) { return name.starts_with(what); };
  uint16_t k = flags & (FLAG_DRAW | FLAG_DISPATCH | FLAG_CLEAR) || is("glCallList") ? DRAW : 0;
  if (flags & FLAG_DRAW || is("glCallList") || name == "glBegin") k |= PRIMITIVES;
  if (name == "glBegin")
    k |= BEGIN;
  else if (name == "glEnd")
    k |= END;
  else if (is("glBeginQuery"))
    k |= QUERY_BEGIN;
  else if (is("glEndQuery"))
    k |= QUERY_END;
  else if (name == "glNewList")
    k |= LIST_BEGIN;
  else if (name == "glEndList")
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
  if (rows_) fclose(rows_);
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
  rows_ = fopen(path.c_str(), "w");
  if (!rows_) throw Error(DT_E_IO, path + " cannot be written");
  setvbuf(rows_, nullptr, _IOFBF, 1 << 18);
  fputs("per,number,seq,end_seq,t_start,t_end,segments,draws,note,lost", rows_);
  for (int m : passes_[pass_].pass.metrics) fprintf(rows_, ",m%d", m);
  fputc('\n', rows_);
  began_.assign(passes_[pass_].sources.size(), false);
  watches_ = 0;
  for (auto& source : passes_[pass_].sources) watches_ |= source->watches();
  cuts_ = cost_ns_ = written_ = counted_calls_ = pauses_ = 0;
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
  write(*s);
  scopes_.erase(s);
  delete s;
}

void Session::write(const Scope& s) {
  ++written_;
  std::string note;
  std::string& line = line_;
  auto& pass = passes_[pass_].pass;
  line = s.at == AT_FRAME ? "f" : s.at == AT_DRAW ? "d" : s.at == AT_CALL ? "c" : "r";
  for (uint64_t v : {s.number, s.seq, s.end_seq, s.t_start, s.t_end, static_cast<uint64_t>(s.segments), s.draws})
    line += ',', put(line, v);
  line += ",\"";
  const size_t note_at = line.size();
  line += "\",\"";
  // Of what is not known: of how many draws it is not, and the sum of the others.
  for (size_t i = 0; i < s.sums.size(); ++i) {
    const Sum& sum = s.sums[i];
    if (!sum.why) continue;
    const int metric = pass.metrics[i];
    put(line, metric), line += '=', put(line, sum.unknown), line += ':';
    if (request_.metrics[static_cast<size_t>(metric)].fold == Fold::SUM && sum.unknown < s.draws)
      put_numeral(line, sum.value);
    line += ';';
  }
  line += '"';
  for (size_t i = 0; i < s.sums.size(); ++i) {
    const Sum& sum = s.sums[i];
    auto m = static_cast<size_t>(pass.metrics[i]);
    Fold fold = request_.metrics[m].fold;
    line += ',';
    const char* why = sum.why;
    if (!why && !sum.parts && fold != Fold::SUM) why = "nothing was measured";
    if (!why)
      put_numeral(line,
                  (fold == Fold::MEAN || fold == Fold::RATIO) && sum.weight > 0 ? sum.value / sum.weight : sum.value);
    if (!why && !(fold == Fold::MEAN && sum.parts > 1)) continue;
    note += (note.empty() ? "" : ";") + std::to_string(m) + "=" +
            (why ? why : "mean of " + std::to_string(sum.parts) + " parts");
  }
  line += '\n';
  std::string quoted;
  for (char c : note) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  line.insert(note_at, quoted);
  fwrite(line.data(), 1, line.size(), rows_);
}

// Results come segment by segment.
std::map<uint64_t, Session::Segment>::iterator Session::segment_of(uint64_t number) {
  if (last_found_ == segments_.end() || last_found_->first != number) last_found_ = segments_.find(number);
  return last_found_;
}

void Session::forget_segment(std::map<uint64_t, Segment>::iterator it) {
  if (it == last_found_) last_found_ = segments_.end();
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
  for (Scope* s : it->second.scopes) {
    Sum& sum = s->sums[place];
    switch (fold) {
      case Fold::SUM: sum.value += v; break;
      case Fold::MEAN:
      case Fold::RATIO: sum.value += v * weight, sum.weight += weight; break;
      case Fold::LAST:
        if (number >= sum.segment) sum.value = v, sum.segment = number;
        break;
      case Fold::FIRST:
        if (!sum.parts || number < sum.segment) sum.value = v, sum.segment = number;
        break;
    }
    ++sum.parts;
  }
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

// ---- what happens -------------------------------------------------------------------------------

void Session::ranges(uint64_t seq) {
  auto& all = request_.ranges;
  for (auto it = range_scopes_.begin(); it != range_scopes_.end();) {
    auto& range = all[it->first];
    if (range.end <= seq) {
      close(it->second, range.end);
      it = range_scopes_.erase(it);
    } else {
      ++it;
    }
  }
  for (; next_range_ < all.size() && all[next_range_].begin <= seq; ++next_range_)
    if (all[next_range_].end > seq)
      range_scopes_[next_range_] = open(AT_RANGE, all[next_range_].number, all[next_range_].begin);
  next_range_at_ = next_range_ < all.size() ? all[next_range_].begin : UINT64_MAX;
  for (auto& [i, scope] : range_scopes_) next_range_at_ = std::min(next_range_at_, all[i].end);
}

// Shows a draw to the sources that want to see it; no segment runs. Of one that its condition leaves out there is
// nothing to see, and what is done about the others is under no condition: it would be left out of clears of ours too.
void Session::show(Draw& draw) {
  if (!current_context() || paused_ || away_) return;
  uint64_t began = now_ns();
  if (keep_errors) keep_errors();
  auto it = conditions_.find(current_context());
  Condition* condition = it == conditions_.end() ? nullptr : &it->second;
  if (condition && !draws_anything(*condition)) {
    restore();
  } else {
    if (condition) conditional(nullptr);
    draw.in_query = own_.suspend([&](uint32_t target) { return disturbed(passes_[pass_], target); });
    draw.samples = own_.samples();
    for (auto& source : passes_[pass_].sources)
      if (source->watches() & Source::WATCH_DRAWS) source->around(draw);
    changed_ = true;
    if (draw.in_query) own_.resume();
    draw.samples = nullptr;
    if (condition) conditional(condition);
  }
  cost_ns_ += now_ns() - began;
}

// The program's own query of that target begins or ends; it may run on into another pass.
void Session::block(uint32_t target, bool blocked) {
  if (!current_context()) return;
  for (auto& pass : passes_)
    for (auto& source : pass.sources)
      if (source->uses(target)) source->block(target, blocked);
}

bool Session::disturbed(const Prepared& pass, uint32_t target) {
  return std::any_of(pass.sources.begin(), pass.sources.end(),
                     [&](auto& source) { return source->watches() & Source::WATCH_DRAWS && source->disturbs(target); });
}

// A query of the program's has begun that what is done about draws may be counted in, now or in a later pass.
void Session::query_begun(const Happening& call) {
  const uint32_t target = call.argument(call.call, "target");
  if (current_context() && query_name &&
      std::any_of(passes_.begin(), passes_.end(), [&](auto& pass) { return disturbed(pass, target); }))
    own_.begun(target, call.argument(call.call, "index"), query_name(call.argument(call.call, "id")));
}

void Session::condition(const Happening& call) {
  if (!current_context() || in_list_) return;
  if (call.kind & CONDITION_END) {
    conditions_.erase(current_context());
  } else if (query_name) {
    const uint32_t query = query_name(call.argument(call.call, "id")), mode = call.argument(call.call, "mode"),
                   other = own_.stand_in(query);
    conditions_[current_context()] = {other, mode, {}};
    if (other == query) return;
    conditional(nullptr);
    conditional(&conditions_[current_context()]);
  }
}

// What follows is drawn under a condition, or (nullptr) no longer.
void Session::conditional(const Condition* condition) {
  if (condition)
    (is_es() ? driver::glBeginConditionalRenderNV : driver::glBeginConditionalRender)(condition->query,
                                                                                      condition->mode);
  else
    (is_es() ? driver::glEndConditionalRenderNV : driver::glEndConditionalRender)();
}

// Waits for the query, as most modes do; the others have the driver draw what it does not know yet, and it does know
// then.
bool Session::draws_anything(Condition& condition) {
  if (condition.draws) return *condition.draws;
  const ResultsHere here;
  uint32_t passed = 1;
  (is_es() && driver::glGetQueryObjectuivEXT ? driver::glGetQueryObjectuivEXT : driver::glGetQueryObjectuiv)(
      condition.query, GL_QUERY_RESULT, &passed);
  const bool inverted =
      condition.mode >= GL_QUERY_WAIT_INVERTED && condition.mode <= GL_QUERY_BY_REGION_NO_WAIT_INVERTED;
  if (take_error()) passed = !inverted;
  condition.draws = (passed != 0) != inverted;
  return *condition.draws;
}

void Session::restore(const Call* next) {
  changed_ = false;
  if (!current_context()) return;
  if (keep_errors) keep_errors();  // draws may be performed that were put off
  for (auto& source : passes_[pass_].sources)
    if (source->watches() & Source::WATCH_DRAWS) changed_ |= source->restore(next);
}

void Session::linked(uint32_t program) {
  if (mode_ != MEASURE || finished_ || !current_context()) return;
  bool ran = running_, ready = false;
  for (auto& pass : passes_)
    for (auto& source : pass.sources) {
      if (!(source->watches() & Source::WATCH_LINKS)) continue;
      if (!ready) {
        stop();
        if (keep_errors) keep_errors();
        ready = true;
      }
      source->linked(program);
    }
  if (ready && ran) start();
}

void Session::before(const Happening& call) {
  if (mode_ != MEASURE || finished_) return;
  if (changed_ && !(watches_ & Source::WATCH_DRAWS && call.draw && !in_list_ && !in_begin_))
    restore(in_frames() && !in_list_ && !in_begin_ ? call.seen : nullptr);
  if (frame_scope_ && frame_scope_->seq == UINT64_MAX) frame_scope_->seq = call.seq;
  if (call.kind & QUERY_END) own_.ending(call.argument(call.call, "target"), call.argument(call.call, "index"));
  if (!in_frames()) {
    // One that begins before the frames that are measured may run in them.
    if (call.kind & QUERY_BEGIN) block(call.argument(call.call, "target"), true);
    return;
  }
  auto see = [&] {
    if (DT_LIKELY(!(watches_ & Source::WATCH_CALLS)) || !call.seen) return;
    call.seen->in_list = in_list_;
    for (auto& source : passes_[pass_].sources)
      if (source->watches() & Source::WATCH_CALLS) source->see(*call.seen);
  };
  if (in_begin_) return see();
  ++counted_calls_;
  calls_hash_ = (calls_hash_ ^ call.seq) * 1099511628211ull;
  unsigned at = passes_[pass_].pass.at;
  bool draw = at & AT_DRAW && call.kind & (DRAW | BEGIN) && !in_list_, each = at & AT_CALL;
  bool list = call.kind & LIST_BEGIN, query = false;
  if (call.kind & QUERY_BEGIN) {
    uint32_t target = call.argument(call.call, "target");
    for (auto& s : passes_[pass_].sources) query |= s->uses(target);
    if (query) {
      stop();
      if (!disturbed(passes_[pass_], target)) ++pauses_;
    }
    block(target, true);
  }
  if (draw && request_.isolate) {
    stop();
    if (driver::glFinish && current_context()) driver::glFinish();
  }
  bool shown = watches_ & Source::WATCH_DRAWS && call.draw && !in_list_;
  if (draw || each || list || call.seq >= next_range_at_ || query || shown) {
    stop();
    if (call.seq >= next_range_at_) ranges(call.seq);
    if (draw) draw_scope_ = open(AT_DRAW, call.seq, call.seq);
    if (each) call_scope_ = open(AT_CALL, call.seq, call.seq);
    if (list) {
      in_list_ = true;
      list_runs_ = !call.expanded && call.argument(call.call, "mode") == GL_COMPILE_AND_EXECUTE;
    }
    if (shown) show(*call.draw);
    start();
  }
  if (call.kind & PRIMITIVES && !call.expanded && (!in_list_ || list_runs_)) drawn();
  see();
  if (call.kind & BEGIN) in_begin_ = true;
}

void Session::within(Call& call, Draw* draw) {
  if (mode_ != MEASURE || finished_ || !in_frames()) return;
  // What nobody measures would be counted with what comes next.
  const bool shown = draw && watches_ & Source::WATCH_DRAWS && !open_.empty();
  if (changed_ && !shown) restore(draw ? nullptr : &call);
  if (shown) {
    stop();
    show(*draw);
    start();
  }
  if (draw && (draw->flags & FLAG_DRAW || !strcmp(draw->name, "glBegin") || !strncmp(draw->name, "glCallList", 10)))
    drawn();
  for (auto& source : passes_[pass_].sources)
    if (source->watches() & Source::WATCH_CALLS) source->see(call);
}

void Session::played(uint64_t seq) {
  if (!current_context() || paused_ || away_ || in_list_) return;
  if (keep_errors) keep_errors();
  for (auto& source : passes_[pass_].sources)
    if (source->watches() & Source::WATCH_PLAYED) source->played(seq);
}

void Session::after(const Happening& call) {
  if (mode_ != MEASURE || finished_) return;
  if (call.kind & (CONDITION_BEGIN | CONDITION_END)) condition(call);
  if (call.kind & QUERY_BEGIN) query_begun(call);
  if (in_begin_ && !(call.kind & END)) return;
  in_begin_ = false;
  if (DT_UNLIKELY(watches_ & Source::WATCH_PLAYED)) played(call.seq);
  bool query = false, list = call.kind & LIST_END && in_list_;
  if (draw_scope_ && request_.isolate)
    if (driver::glFinish && current_context()) driver::glFinish();
  if (call.kind & QUERY_END) {
    uint32_t target = call.argument(call.call, "target");
    for (auto& s : passes_[pass_].sources) query |= s->uses(target);
    if (query) stop();
    block(target, false);
  }
  if (!draw_scope_ && !call_scope_ && !query && !list) return;
  stop();
  if (draw_scope_) {
    draw_scope_->number = draw_scope_->seq = call.seq;  // of glEnd, where it began with glBegin
    close(draw_scope_, call.seq + 1);
    draw_scope_ = nullptr;
  }
  if (call_scope_) {
    call_scope_->number = call_scope_->seq = call.seq;
    close(call_scope_, call.seq + 1);
    call_scope_ = nullptr;
  }
  if (list) in_list_ = list_runs_ = false;
  start();
}

void Session::frame_end(uint64_t next, uint64_t seq) {
  if (mode_ != MEASURE || finished_) {
    frame_ = next;
    return;
  }
  if (changed_) restore();
  stop();
  uint64_t began = now_ns();
  if (frame_scope_) close(frame_scope_, seq + 1);
  frame_scope_ = nullptr;
  if (in_frames())
    for (auto& source : passes_[pass_].sources) source->frame(frame_);
  frame_ = next;
  collect(false);
  if (!in_frames()) {
    for (auto& [i, scope] : range_scopes_) {
      if (request_.ranges[i].end <= seq + 1)
        close(scope, request_.ranges[i].end);
      else
        drop(scope);  // they go on where nobody looks
    }
    range_scopes_.clear();
  } else if (passes_[pass_].pass.at & AT_FRAME) {
    frame_scope_ = open(AT_FRAME, next, UINT64_MAX);
  }
  if (in_frames() && passes_[pass_].pass.at & AT_RANGE && seq + 1 >= next_range_at_) ranges(seq + 1);
  cost_ns_ += now_ns() - began;
  start();
}

void Session::pause() {
  if (mode_ != MEASURE) return;
  if (changed_) restore();
  stop();
  paused_ = true;
}
void Session::resume() {
  if (mode_ != MEASURE) return;
  paused_ = false;
  start();
}
void Session::leave() {
  if (mode_ == MEASURE && !finished_) {
    if (changed_) restore();
    stop();
    const void* context = current_context();
    bool last = context && !contexts_.contains(context);
    if (context)
      for (auto& source : passes_[pass_].sources) source->leave();
    if (context) collect(last);
    if (last) gone(context);
  }
  away_ = true;
  set_current_context(nullptr);
}
void Session::enter(const void* context) {
  away_ = false;
  set_current_context(context);
  bool fresh = context && contexts_.emplace(context, true).second;
  if (mode_ != MEASURE) {
    if (mode_ == LIST ? fresh : context && !answered_) ask();
    return;
  }
  if (finished_) return;
  if (context && !calibrated_ && !in_begin_) calibrate(true);
  start();
}

void Session::forget(const void* context, const std::function<bool(bool)>& visit) {
  if (mode_ != MEASURE) return;
  contexts_.erase(context);
  if (context == current_context()) return;  // it goes when it is left
  bool wait = false;
  for (auto& p : passes_)
    for (auto& s : p.sources) wait |= s->pending(context);
  if (wait && !finished_) {
    const void* back = current_context();
    stop();
    if (visit(true)) {
      set_current_context(context);
      collect(true);
    }
    visit(false);
    set_current_context(back);
    start();
  }
  gone(context);
}

void Session::gone(const void* context) {
  conditions_.erase(context);
  own_.forget(context);
  for (auto& p : passes_)
    for (auto& s : p.sources) s->forget(context);
}

void Session::end_pass() {
  for (auto& [i, scope] : range_scopes_) drop(scope);
  range_scopes_.clear();
  drop(frame_scope_);
  drop(draw_scope_);
  drop(call_scope_);
  frame_scope_ = draw_scope_ = call_scope_ = nullptr;
  // What never came is said.
  while (!segments_.empty()) {
    auto it = segments_.begin();
    std::vector<Scope*> scopes = it->second.scopes;
    const size_t waits = it->second.waits;
    const uint64_t draws = it->second.draws;
    forget_segment(it);
    for (Scope* s : scopes) {
      for (auto& sum : s->sums)
        if (!sum.why) sum.why = "no result came", sum.unknown += draws;
      s->waits -= waits;
      settle(s);
    }
  }
  fclose(rows_);
  rows_ = nullptr;
  if (!status_) return;
  fprintf(
      status_,
      "{\"kind\": \"pass\", \"pass\": %zu, \"rows\": %llu, \"cuts\": %llu, \"cost_ns\": %llu, \"cut_ns\": %llu, \"calls\": %llu, \"calls_hash\": \"%016llx\", \"paused\": %llu, \"bias\": {",
      pass_, static_cast<unsigned long long>(written_), static_cast<unsigned long long>(cuts_),
      static_cast<unsigned long long>(cost_ns_), static_cast<unsigned long long>(cut_ns_median_),
      static_cast<unsigned long long>(counted_calls_), static_cast<unsigned long long>(calls_hash_),
      static_cast<unsigned long long>(pauses_));
  bool first = true;
  for (int m : passes_[pass_].pass.metrics) {
    std::string bias;
    put_numeral(bias, bias_[static_cast<size_t>(m)]);
    fprintf(status_, "%s%s: %s", first ? "" : ", ", json_text(request_.metrics[static_cast<size_t>(m)].id).c_str(),
            bias.c_str());
    first = false;
  }
  fputs("}}\n", status_);
}

// Takes what contexts still have that are not current.
void Session::collect_everywhere() {
  collect(true);
  const void* back = current_context();
  bool went = false;
  for (auto& [context, there] : contexts_) {
    bool has = false;
    for (auto& s : passes_[pass_].sources) has |= s->pending(context);
    if (!has || !visit || !visit(context)) continue;
    went = true;
    set_current_context(context);
    collect(true);
  }
  if (went && back) visit(back);
  set_current_context(back);
}

void Session::restart() {
  if (mode_ != MEASURE || finished_) return;
  if (changed_) restore();
  stop();
  collect_everywhere();
  frame_ = first_frame_;
  end_pass();
  if (pass_ + 1 >= passes_.size()) {
    finished_ = true;
    return;
  }
  ++pass_;
  begin_pass();
  if (current_context()) calibrate(true);
  start();
}

void Session::finish(uint64_t seq, bool frames) {
  if (mode_ != MEASURE && !answered_) ask();
  if (mode_ != MEASURE || finished_) return;
  if (changed_) restore();
  stop();
  // Calls behind the last frame end are no frame; a trace without any is one.
  if (frame_scope_ && !frames) {
    close(frame_scope_, seq + 1);
    frame_scope_ = nullptr;
  }
  if (passes_[pass_].pass.at & AT_RANGE) ranges(seq + 1);
  collect_everywhere();
  end_pass();
  finished_ = true;
}

// ---- plans --------------------------------------------------------------------------------------

void Session::ask() {
  answered_ = true;
  if (mode_ == LIST) {
    const unsigned char* version = driver::glGetString ? driver::glGetString(GL_VERSION) : nullptr;
    list_backends(status_, version ? reinterpret_cast<const char*>(version) : "");
    return;
  }
  std::vector<Item> items;
  std::vector<std::pair<int, std::string>> refused;
  std::map<std::string, std::string> reasons;
  for (size_t i = 0; i < request_.metrics.size(); ++i) {
    auto& m = request_.metrics[i];
    Backend* b = backend(m.backend);
    if (b && !reasons.contains(m.backend))
      reasons[m.backend] = b->per_context() && !current_context() ? "the recording has no context" : b->reason();
    std::string why = b ? reasons[m.backend] : "no back-end is called " + m.backend;
    if (!why.empty()) {
      refused.emplace_back(static_cast<int>(i), why);
      continue;
    }
    std::string group = b->group_of(m.spec);
    // What cannot be added up over parts needs a pass of its own for each kind of range.
    for (unsigned bit = 1; bit <= AT_RANGE; bit <<= 1) {
      unsigned at = m.fold == Fold::MEAN ? m.at & bit : bit == 1 ? m.at : 0;
      if (at) items.push_back({static_cast<int>(i), at, m.backend, group, b->room_of(group)});
    }
  }
  uint64_t began = now_ns();
  if (current_context()) drain_errors();
  Plan made = plan(items, [&](const std::vector<int>& metrics, std::string& why) {
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
  refused.insert(refused.end(), made.refused.begin(), made.refused.end());
  if (!status_) return;
  fprintf(status_, "{\"kind\": \"plan\", \"questions\": %zu, \"ns\": %llu, \"passes\": [", made.questions,
          static_cast<unsigned long long>(now_ns() - began));
  for (size_t p = 0; p < made.passes.size(); ++p) {
    fprintf(status_, "%s{\"at\": \"%s\", \"metrics\": [", p ? ", " : "", letters(made.passes[p].at).c_str());
    for (size_t i = 0; i < made.passes[p].metrics.size(); ++i)
      fprintf(status_, "%s%d", i ? ", " : "", made.passes[p].metrics[i]);
    fputs("]}", status_);
  }
  fputs("], \"refused\": [", status_);
  for (size_t i = 0; i < refused.size(); ++i)
    fprintf(status_, "%s[%d, %s]", i ? ", " : "", refused[i].first, json_text(refused[i].second).c_str());
  fputs("]}\n", status_);
}

void list_backends(FILE* to, const char* context) {
  for (Backend* b : backends()) {
    std::string why = b->reason();
    fprintf(to, "{\"kind\": \"backend\", \"backend\": \"%s\", \"context\": %s, \"reason\": %s}\n", b->name,
            json_text(context).c_str(), json_text(why).c_str());
    if (!why.empty()) continue;
    for (auto& o : b->offers())
      fprintf(
          to,
          "{\"kind\": \"offer\", \"backend\": \"%s\", \"spec\": %s, \"group\": %s, \"name\": %s, \"type\": %s, \"unit\": %s, \"text\": %s, \"context\": %s}\n",
          b->name, json_text(o.spec).c_str(), json_text(o.group).c_str(), json_text(o.name).c_str(),
          json_text(o.type).c_str(), json_text(o.unit).c_str(), json_text(o.text).c_str(), json_text(context).c_str());
    for (auto& [spec, reason] : b->refusals())
      fprintf(to, "{\"kind\": \"refusal\", \"backend\": \"%s\", \"spec\": %s, \"reason\": %s, \"context\": %s}\n",
              b->name, json_text(spec).c_str(), json_text(reason).c_str(), json_text(context).c_str());
  }
}

}  // namespace dt::play::metrics
