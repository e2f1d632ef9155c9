// GL_AMD_performance_monitor: counters in groups, each with a limit of counters that are active at once.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>

#include "driver_counters.h"
#include "gl_enums.h"

namespace dt::play::metrics {
namespace {

constexpr size_t MOST_MONITORS = 256;  // a context has at a time
constexpr uint32_t MOST_RESULT = 1 << 24;
constexpr uint64_t WAIT_NS = 1000000000ull;

bool has_monitors() {
  return driver::glGetPerfMonitorGroupsAMD && driver::glGetPerfMonitorCountersAMD &&
         driver::glGetPerfMonitorGroupStringAMD && driver::glGetPerfMonitorCounterStringAMD &&
         driver::glGetPerfMonitorCounterInfoAMD && driver::glGenPerfMonitorsAMD && driver::glDeletePerfMonitorsAMD &&
         driver::glSelectPerfMonitorCountersAMD && driver::glBeginPerfMonitorAMD && driver::glEndPerfMonitorAMD &&
         driver::glGetPerfMonitorCounterDataAMD;
}

// Names need not end with a zero, and drivers differ in whether the length counts it: what was zero before ends them.
std::string name_of(const std::function<void(int, int*, char*)>& ask) {
  char text[512] = {};
  int length = 0;
  ask(static_cast<int>(sizeof text) - 1, &length, text);
  return std::string(text, strnlen(text, sizeof text - 1));
}

struct MonitorCounter {
  std::string name;
  uint32_t type = 0;
  double most = 0;
};
struct Group {
  std::string name;
  int room = 0;
  std::map<uint32_t, MonitorCounter> counters;
};

// The driver's counters, as the current context names them. Asked once for the plan, where there may be ten thousand.
std::map<uint32_t, Group> monitor_groups() {
  std::map<uint32_t, Group> by_id;
  int count = 0;
  driver::glGetPerfMonitorGroupsAMD(&count, 0, nullptr);
  if (count <= 0 || count > 4096) return by_id;
  std::vector<uint32_t> groups(static_cast<size_t>(count));
  driver::glGetPerfMonitorGroupsAMD(&count, static_cast<int>(groups.size()), groups.data());
  for (uint32_t id : groups) {
    Group& g = by_id[id];
    g.name = name_of(
        [&](int room, int* length, char* text) { driver::glGetPerfMonitorGroupStringAMD(id, room, length, text); });
    int n = 0;
    driver::glGetPerfMonitorCountersAMD(id, &n, &g.room, 0, nullptr);
    if (n <= 0 || n > 1 << 20) continue;
    std::vector<uint32_t> counters(static_cast<size_t>(n));
    driver::glGetPerfMonitorCountersAMD(id, &n, &g.room, static_cast<int>(counters.size()), counters.data());
    for (uint32_t c : counters) {
      MonitorCounter& counter = g.counters[c];
      counter.name = name_of([&](int room, int* length, char* text) {
        driver::glGetPerfMonitorCounterStringAMD(id, c, room, length, text);
      });
      driver::glGetPerfMonitorCounterInfoAMD(id, c, GL_COUNTER_TYPE_AMD, &counter.type);
      uint64_t range[2] = {};  // two values of the counter's type
      driver::glGetPerfMonitorCounterInfoAMD(id, c, GL_COUNTER_RANGE_AMD, range);
      const void* second = reinterpret_cast<char*>(range) + 4;
      counter.most = counter.type == GL_UNSIGNED_INT         ? number_at<uint32_t>(second)
                     : counter.type == GL_UNSIGNED_INT64_AMD ? static_cast<double>(range[1])
                                                             : number_at<float>(second);
    }
  }
  drain_errors();
  return by_id;
}

const std::map<uint32_t, Group>& known_groups() { return once_a_context<monitor_groups>(); }

size_t counter_bytes(uint32_t type) { return type == GL_UNSIGNED_INT64_AMD ? 8 : 4; }

double decoded(const uint8_t* at, uint32_t type, size_t bytes) {
  if (type == GL_FLOAT || type == GL_PERCENTAGE_AMD) return number_at<float>(at);
  uint64_t v = 0;
  memcpy(&v, at, bytes);
  return static_cast<double>(v);
}

// Records of {group, counter, value}. The type of a value gives its length, but some drivers write 8 bytes for values
// that they call GL_UNSIGNED_INT. Some hand out every counter whatever was selected: values that fit are taken.
bool records(const std::vector<uint8_t>& data, const std::vector<ExtensionBackend::Place>& wanted,
             const std::map<uint32_t, Group>& groups, std::map<ExtensionBackend::Place, double>& out) {
  for (size_t fixed : {size_t{0}, size_t{8}, size_t{4}}) {
    out.clear();
    size_t at = 0;
    bool good = true;
    while (good && at < data.size()) {
      ExtensionBackend::Place place;
      if (data.size() - at < 8) good = false;
      if (!good) break;
      memcpy(&place.first, &data[at], 4);
      memcpy(&place.second, &data[at + 4], 4);
      auto g = groups.find(place.first);
      if (g == groups.end()) good = false;
      auto c = good ? g->second.counters.find(place.second) : std::map<uint32_t, MonitorCounter>::const_iterator{};
      if (good && c == g->second.counters.end()) good = false;
      if (!good) break;
      size_t bytes = fixed ? fixed : counter_bytes(c->second.type);
      if (data.size() - at - 8 < bytes || out.contains(place))
        good = false;
      else
        out[place] = decoded(&data[at + 8], c->second.type, bytes);
      at += 8 + bytes;
    }
    for (auto& place : wanted) good = good && out.contains(place);
    if (good) return true;
  }
  out.clear();
  return false;
}

struct AmdPending {
  uint64_t segment;
  uint32_t monitor;
  bool ended, fetched;
  const char* why;
  std::map<ExtensionBackend::Place, double> values, before;  // `before`: what nothing at all had
};
// By the specification counters start at 0 each time. Drivers have been seen whose counters just go on.
enum Anew : uint8_t { UNKNOWN, YES, NO };
struct AmdState {
  std::vector<uint32_t> free, made;
  std::deque<AmdPending> pending;
  bool tried = false, only_one = false, single_use = false;
  Anew starts_anew = UNKNOWN;
  std::string why;
  bool waits() const { return !pending.empty(); }
};

class AmdSource : public ContextSource<AmdState> {
  using State = AmdState;
  using Pending = AmdPending;

 public:
  AmdSource(const std::vector<int>& numbers, std::vector<ExtensionBackend::Place> places)
      : ContextSource(numbers), places_(std::move(places)) {}
  int order() const override { return 5; }

  bool begin(uint64_t segment, std::string& why) override {
    if (!has_extension("GL_AMD_performance_monitor") || !has_monitors())
      return why = "no GL_AMD_performance_monitor in this context", false;
    State& s = state();
    if (!s.why.empty()) return why = s.why, false;
    if (s.made.empty() && !s.tried && is_zink()) {
      s.single_use = true;
      s.starts_anew = YES;
    }
    uint32_t monitor = NONE;
    if (!s.free.empty()) {
      monitor = s.free.back();
      s.free.pop_back();
    } else {
      if (!s.only_one) driver::glGenPerfMonitorsAMD(1, &monitor);
      // Drivers have been seen to give out the same name again and again: it is the only one there is.
      if (s.only_one || std::find(s.made.begin(), s.made.end(), monitor) != s.made.end()) {
        s.only_one = true;
        if (s.pending.empty()) return why = "the driver makes no monitor", false;
        fetch(s, s.pending.back(), true);  // between two segments: nothing that is measured waits
        if (s.free.empty()) return why = "the driver's only monitor is not ready", false;
        monitor = s.free.back();
        s.free.pop_back();
      } else if (monitor == NONE) {
        return why = "the driver makes no monitor", false;
      } else {
        s.made.push_back(monitor);
        if (!select(s, monitor, why)) return false;
      }
    }
    if (!s.tried) {
      // Only a beginning shows whether they fit: once a context is enough to know.
      s.tried = true;
      driver::glBeginPerfMonitorAMD(monitor);
      if (uint32_t error = take_error()) {
        drain_errors();
        give_back(s, monitor);
        return why = s.why = "the driver does not count these at once: GL error " + hex(error), false;
      }
      driver::glEndPerfMonitorAMD(monitor);
      if (s.single_use) {
        give_back(s, monitor);
        driver::glGenPerfMonitorsAMD(1, &monitor);
        s.made.push_back(monitor);
        if (!select(s, monitor, why)) return false;
      }
      if (segment == TRIAL) {
        driver::glBeginPerfMonitorAMD(monitor);
        s.pending.push_back({segment, monitor, false, false, nullptr, {}, {}});
        return true;
      }
    }
    std::map<ExtensionBackend::Place, double> before;
    if (segment != TRIAL && s.starts_anew != YES && !empty(monitor, before)) before.clear();
    driver::glBeginPerfMonitorAMD(monitor);
    s.pending.push_back({segment, monitor, false, false, nullptr, {}, std::move(before)});
    return true;
  }

  void end() override {
    Pending& p = state().pending.back();
    driver::glEndPerfMonitorAMD(p.monitor);
    p.ended = true;
  }

 private:
  static constexpr uint32_t NONE = ~0u;
  void take_results(State& s, Sink& to, bool wait) override {
    while (!s.pending.empty() && s.pending.front().ended) {
      Pending& p = s.pending.front();
      if (!p.fetched && !fetch(s, p, wait || s.pending.size() >= MOST_MONITORS)) return;
      take(to, p);
      s.pending.pop_front();
    }
  }
  void release(State& s) override {
    if (has_monitors() && !s.made.empty() && !s.single_use)
      driver::glDeletePerfMonitorsAMD(static_cast<int>(s.made.size()), s.made.data());
  }
  static std::string hex(uint32_t v) {
    char text[16];
    snprintf(text, sizeof text, "0x%x", v);
    return text;
  }
  bool select(State& s, uint32_t monitor, std::string& why) {
    std::map<uint32_t, std::vector<uint32_t>> by_group;
    for (auto& [group, counter] : places_) by_group[group].push_back(counter);
    drain_errors();
    for (auto& [group, counters] : by_group)
      driver::glSelectPerfMonitorCountersAMD(monitor, 1, group, static_cast<int>(counters.size()), counters.data());
    uint32_t error = take_error();
    if (!error) return true;
    drain_errors();
    why = s.why = "the driver refuses to select these counters: GL error " + hex(error);
    return false;
  }
  bool read(uint32_t monitor, std::map<ExtensionBackend::Place, double>& values) {
    uint32_t size = 0;
    int written = 0;
    driver::glGetPerfMonitorCounterDataAMD(monitor, GL_PERFMON_RESULT_SIZE_AMD, sizeof size, &size, &written);
    if (!size || size > MOST_RESULT) return false;
    std::vector<uint8_t> data(size + 3u);
    written = 0;
    driver::glGetPerfMonitorCounterDataAMD(monitor, GL_PERFMON_RESULT_AMD, static_cast<int>(size),
                                           reinterpret_cast<uint32_t*>(data.data()), &written);
    if (written <= 0 || static_cast<uint32_t>(written) > size) written = 0;
    data.resize(static_cast<size_t>(written));
    return records(data, places_, known_groups(), values);
  }
  bool wait_for(uint32_t monitor) {
    uint32_t there = 0;
    driver::glGetPerfMonitorCounterDataAMD(monitor, GL_PERFMON_RESULT_AVAILABLE_AMD, sizeof there, &there, nullptr);
    if (!there) driver::glFinish();
    for (uint64_t until = now_ns() + WAIT_NS; !there && now_ns() < until; usleep(50))
      driver::glGetPerfMonitorCounterDataAMD(monitor, GL_PERFMON_RESULT_AVAILABLE_AMD, sizeof there, &there, nullptr);
    return there != 0;
  }
  // Measures nothing.
  bool empty(uint32_t monitor, std::map<ExtensionBackend::Place, double>& values) {
    driver::glBeginPerfMonitorAMD(monitor);
    driver::glEndPerfMonitorAMD(monitor);
    return wait_for(monitor) && read(monitor, values);
  }
  // The first time that something was counted: whether nothing has as much.
  void learn(State& s, const Pending& p) {
    auto tells = [&](const ExtensionBackend::Place& place) {
      uint32_t type = known_groups().at(place.first).counters.at(place.second).type;
      double v = p.values.at(place);
      return (type == GL_UNSIGNED_INT || type == GL_UNSIGNED_INT64_AMD) && v > 0 && v != 4294967295.0;
    };
    bool all = true;
    std::map<ExtensionBackend::Place, double> nothing;
    if (std::none_of(places_.begin(), places_.end(), tells) || !empty(p.monitor, nothing)) return;
    for (auto& place : places_)
      if (tells(place)) all &= nothing[place] >= p.values.at(place);
    s.starts_anew = all ? NO : YES;
  }
  // Takes a result from the driver and gives the monitor back; false: it is not there yet.
  bool fetch(State& s, Pending& p, bool insist) {
    if (p.fetched) return true;
    uint32_t there = 0;
    driver::glGetPerfMonitorCounterDataAMD(p.monitor, GL_PERFMON_RESULT_AVAILABLE_AMD, sizeof there, &there, nullptr);
    if (!there && !insist) return false;
    p.fetched = true;
    if (!there && s.why.empty()) there = wait_for(p.monitor) ? 1 : 0;  // what never comes is waited for once
    if (!there) {
      p.why = "the driver did not finish the counters in time";
      s.why = p.why;
      return true;  // what comes later would confuse: the monitor is not used again
    }
    if (!read(p.monitor, p.values))
      p.why = "the driver's result makes no sense";
    else if (s.starts_anew == UNKNOWN)
      learn(s, p);
    if (s.starts_anew == NO)
      for (auto& [place, before] : p.before)
        if (auto it = p.values.find(place); it != p.values.end() && it->second >= before) it->second -= before;
    give_back(s, p.monitor);
    return true;
  }
  // Mesa's zink (25.0 at least) loops forever or dies where a monitor begins a second time after anything was drawn. It
  // also does where a used monitor is deleted. There each part has a monitor of its own, which stays until its context
  // goes.
  static bool is_zink() {
    const unsigned char* renderer = driver::glGetString ? driver::glGetString(GL_RENDERER) : nullptr;
    return renderer && !strncmp(reinterpret_cast<const char*>(renderer), "zink", 4);
  }
  void give_back(State& s, uint32_t monitor) {
    if (!s.single_use) s.free.push_back(monitor);
  }
  void take(Sink& to, const Pending& p) {
    for (size_t i = 0; i < places_.size(); ++i) {
      if (p.why) {
        to.lost(p.segment, metrics[i], p.why);
        continue;
      }
      double v = p.values.at(places_[i]);
      const MonitorCounter& c = known_groups().at(places_[i].first).counters.at(places_[i].second);
      // The largest number of the type means that it ran over; so does one beyond what the driver says is possible.
      bool over =
          (c.type == GL_UNSIGNED_INT && v == 4294967295.0) || (c.most > 0 && v > c.most && c.type == GL_PERCENTAGE_AMD);
      if (over)
        to.lost(p.segment, metrics[i], "overflow");
      else
        to.value(p.segment, metrics[i], v);
    }
  }

  std::vector<ExtensionBackend::Place> places_;
};

class Amd : public ExtensionBackend {
 public:
  Amd() : ExtensionBackend("amd", "GL_AMD_performance_monitor", "counters") {}
  std::vector<Offer> offers() override {
    std::vector<Offer> out;
    for (auto& [group, g] : known_groups())
      for (auto& [counter, c] : g.counters) {
        const char* type = c.type == GL_PERCENTAGE_AMD ? "percent" : c.type == GL_FLOAT ? "mean" : "counter";
        out.push_back(
            {spec_of(group, counter), g.name, c.name, type, c.type == GL_PERCENTAGE_AMD ? "percent" : "", "", c.most});
      }
    return out;
  }
  size_t room_of(const std::string& group) override {
    auto it = known_groups().find(static_cast<uint32_t>(strtoul(group.c_str(), nullptr, 10)));
    return it == known_groups().end() || it->second.room < 0 ? 0 : static_cast<size_t>(it->second.room);
  }

 protected:
  bool whole() override { return has_monitors(); }
  bool offers_any() override { return !known_groups().empty(); }
  std::unique_ptr<Source> counting(const std::vector<int>& numbers,
                                   std::vector<ExtensionBackend::Place> places) override {
    return std::make_unique<AmdSource>(numbers, std::move(places));
  }
} g_amd;

}  // namespace
}  // namespace dt::play::metrics
