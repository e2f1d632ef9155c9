#include "measure.h"

#include <time.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "../../core/error.h"
#include "../line.h"

namespace dt::play::metrics {
namespace {

std::vector<Backend*>& list() {
  static std::vector<Backend*> made;
  return made;
}

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
    else if (c == 'p')
      out |= AT_PASS;
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
  if (at & AT_PASS) text += 'p';
  return text;
}

}  // namespace

void ReadSource::collect(Sink& to, bool) {
  for (auto& d : done_)
    for (size_t i = 0; i < metrics.size(); ++i) {
      const Figure& f = d.figures[i];
      if (f.lost)
        to.lost(d.segment, metrics[i], f.lost);
      else
        to.value(d.segment, metrics[i], f.value);
    }
  done_.clear();
}

Backend::Backend(const char* n) : name(n) { list().push_back(this); }
const std::vector<Backend*>& backends() { return list(); }
Backend* backend(std::string_view name) {
  for (Backend* b : list())
    if (name == b->name) return b;
  return nullptr;
}

uint64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000ull + static_cast<uint64_t>(t.tv_nsec);
}

std::string& pictures_folder() {
  static std::string folder;
  return folder;
}

const char* lasting(const std::string& text) {
  static std::set<std::string> kept;
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  return kept.insert(text).first->c_str();
}

namespace {

template <class Number> void put(std::string& to, Number v) {
  char text[40];
  to.append(text, std::to_chars(text, text + sizeof text, v).ptr);
}

}  // namespace

void put_numeral(std::string& to, double v) {
  if (v == std::floor(v) && std::fabs(v) < 9e15)
    put(to, static_cast<int64_t>(v));
  else
    put(to, v);
}

namespace {

bool read_metric(const Json& json, RequestedMetric& to) {
  static const std::pair<const char*, Fold> folds[] = {
      {"sum", Fold::SUM}, {"mean", Fold::MEAN}, {"ratio", Fold::RATIO}, {"last", Fold::LAST}, {"first", Fold::FIRST}};
  const std::string fold = json["fold"].text();
  const auto known = std::find_if(std::begin(folds), std::end(folds), [&](auto& f) { return fold == f.first; });
  if (known == std::end(folds)) return false;
  to = {json["id"].text(), json["backend"].text(), json["spec"].text(), known->second, 0};
  return letters(json["at"].text(), to.at);
}

bool read_pass(const Json& json, size_t metrics, Pass& to) {
  for (const Json& number : json["metrics"].items()) {
    if (!number.read(to.metrics.emplace_back())) return false;
    if (to.metrics.back() < 0 || static_cast<size_t>(to.metrics.back()) >= metrics) return false;
  }
  return letters(json["at"].text(), to.at) && !to.metrics.empty();
}

}  // namespace

bool Request::read(const std::string& path, std::string& why) {
  std::ifstream file(path);
  if (!file) return why = path + " cannot be read", false;
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  Json json;
  why = JsonReader::read_object(text, json);
  if (!why.empty()) return why = path + " makes no sense: " + why, false;
  bool good = true;
  for (const Json& one : json["metrics"].items()) good &= read_metric(one, metrics.emplace_back());
  for (const Json& one : json["passes"].items()) good &= read_pass(one, metrics.size(), passes.emplace_back());
  for (const Json& one : json["ranges"].items()) {
    Range& range = ranges.emplace_back(Range{ranges.size(), 0, 0});
    good &= one["begin"].read(range.begin) && one["end"].read(range.end) && range.begin < range.end;
  }
  isolate = json["isolate"].truth();
  if (json["pictures"]) pictures_folder() = json["pictures"].text();
  if (!good) return why = path + ": a metric, a pass or a range makes no sense", false;
  std::stable_sort(ranges.begin(), ranges.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
  return true;
}

void add(Sum& sum, Fold fold, double value, double weight, uint64_t segment) {
  switch (fold) {
    case Fold::SUM: sum.value += value; break;
    case Fold::MEAN:
    case Fold::RATIO: sum.value += value * weight, sum.weight += weight; break;
    case Fold::LAST:
      if (segment >= sum.segment) sum.value = value, sum.segment = segment;
      break;
    case Fold::FIRST:
      if (!sum.parts || segment < sum.segment) sum.value = value, sum.segment = segment;
      break;
  }
  ++sum.parts;
}

Rows::Rows(const std::string& path, const std::vector<RequestedMetric>& metrics, const Pass& pass, bool frames)
    : file_(fopen(path.c_str(), "w")), metrics_(metrics), pass_(pass), frames_(frames) {
  if (!file_) throw Error(DT_E_IO, path + " cannot be written");
  setvbuf(file_, nullptr, _IOFBF, 1 << 18);
  fprintf(file_, "per,number,seq,end_seq,t_start,t_end,segments,draws,note,lost%s", frames_ ? ",frame" : "");
  for (int m : pass_.metrics) fprintf(file_, ",m%d", m);
  fputc('\n', file_);
}
Rows::~Rows() { fclose(file_); }

void Rows::put(const Measured& row, const std::vector<Sum>& sums) {
  ++written;
  std::string note;
  std::string& line = line_;
  line = letters(row.at);
  for (uint64_t v : {row.number, row.seq, row.end_seq, row.t_start, row.t_end, row.segments, row.draws})
    line += ',', dt::play::metrics::put(line, v);
  line += ",\"";
  const size_t note_at = line.size();
  line += "\",\"";
  // For an unknown value: the number of draws without it, and the sum of the others.
  for (size_t i = 0; i < sums.size(); ++i) {
    const Sum& sum = sums[i];
    if (!sum.why) continue;
    const int metric = pass_.metrics[i];
    dt::play::metrics::put(line, metric), line += '=', dt::play::metrics::put(line, sum.unknown), line += ':';
    if (metrics_[static_cast<size_t>(metric)].fold == Fold::SUM && sum.unknown < row.draws)
      put_numeral(line, sum.value);
    line += ';';
  }
  line += '"';
  if (frames_) line += row.frame < 0 ? "," : "," + std::to_string(row.frame);
  for (size_t i = 0; i < sums.size(); ++i) {
    const Sum& sum = sums[i];
    auto m = static_cast<size_t>(pass_.metrics[i]);
    Fold fold = metrics_[m].fold;
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
  fwrite(line.data(), 1, line.size(), file_);
}

void list_backends(FILE* to, const char* context) {
  for (Backend* b : backends()) {
    const std::string why = b->reason();
    auto begin = [&](JsonObject& line, const char* kind) -> JsonObject& {
      return line.put("kind", kind).put("backend", b->name).put("context", context);
    };
    JsonObject about;
    put_line(to, begin(about, "backend").put("reason", why));
    if (!why.empty()) continue;
    for (auto& o : b->offers()) {
      JsonObject line;
      begin(line, "offer").put("spec", o.spec).put("group", o.group).put("name", o.name).put("type", o.type);
      put_line(to, line.put("unit", o.unit).put("text", o.text));
    }
    for (auto& [spec, reason] : b->refusals()) {
      JsonObject line;
      put_line(to, begin(line, "refusal").put("spec", spec).put("reason", reason));
    }
  }
}

Plan plan_of(const Request& request, const std::function<std::string(Backend&)>& reason, const Fits& fits) {
  std::vector<Item> items;
  std::vector<std::pair<int, std::string>> refused;
  std::map<std::string, std::string> reasons;
  for (size_t i = 0; i < request.metrics.size(); ++i) {
    auto& m = request.metrics[i];
    Backend* b = backend(m.backend);
    if (b && !reasons.contains(m.backend)) reasons[m.backend] = reason(*b);
    std::string why = b ? reasons[m.backend] : "no back-end is called " + m.backend;
    if (!why.empty()) {
      refused.emplace_back(static_cast<int>(i), why);
      continue;
    }
    std::string group = b->group_of(m.spec);
    // A metric that cannot be added up over parts needs a pass of its own for each kind of range.
    for (unsigned bit = 1; bit <= AT_PASS; bit <<= 1) {
      unsigned at = m.fold == Fold::MEAN ? m.at & bit : bit == 1 ? m.at : 0;
      if (at) items.push_back({static_cast<int>(i), at, m.backend, group, b->room_of(group)});
    }
  }
  Plan made = plan(items, fits);
  made.refused.insert(made.refused.begin(), refused.begin(), refused.end());
  return made;
}

void put_plan(FILE* to, const Plan& plan, uint64_t ns) {
  JsonObject line;
  auto& out = line.put("kind", "plan").put("questions", plan.questions).put("ns", ns).writer();
  out.list("passes");
  for (auto& pass : plan.passes) out.object().put("at", letters(pass.at)).values("metrics", pass.metrics).end();
  out.end().list("refused");
  for (auto& [metric, reason] : plan.refused) out.list().value(metric).value(reason).end();
  out.end();
  put_line(to, line);
}

void put_pass(FILE* to, const Cost& cost, const Request& request, const Pass& pass, const std::vector<double>& bias) {
  char hash[20];
  snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(cost.calls_hash));
  JsonObject line;
  line.put("kind", "pass").put("pass", cost.pass).put("rows", cost.rows).put("cuts", cost.cuts);
  line.put("cost_ns", cost.ns).put("cut_ns", cost.cut_ns).put("calls", cost.calls).put("calls_hash", hash);
  auto& out = line.put("paused", cost.paused).writer().object("bias");
  for (int m : pass.metrics) out.put(request.metrics[static_cast<size_t>(m)].id, bias[static_cast<size_t>(m)]);
  out.end();
  put_line(to, line);
}

}  // namespace dt::play::metrics
