// Events of Perfetto's producers about GPUs: render stages, counters, logs, and memory, submissions, names of Vulkan.
#pragma once
#include <array>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernel.h"
#include "proto.h"

namespace dt::kernel {

constexpr uint64_t k_mono = 3, k_boot = 6;  // numbers of clocks

// The fields of a TracePacket that matter here.
struct GpuPacket {
  int64_t t = -1;
  uint64_t clock = 0, sequence = 0;  // 0: not said
  bool cleared = false;              // what was interned before is forgotten
  uint32_t kind = 0;                 // the field of the body
  View body, interned, defaults;

  void number(uint32_t field, uint64_t value) {
    if (field == 8) t = static_cast<int64_t>(value);
    if (field == 10) sequence = value;
    if (field == 58) clock = value;
    if ((field == 13 && value & 1) || (field == 41 && value)) cleared = true;
  }
  void part(uint32_t field, View bytes) {
    if (field == 12) interned = bytes;
    if (field == 59) defaults = bytes;
    if (field == 52 || field == 53 || field == 62 || field == 63 || field == 65 || field == 71) {
      kind = field;
      body = bytes;
    }
  }
};

// A clock in a snapshot. `adds_up`: each of its times is the difference to the time before.
struct GpuClock {
  uint64_t id = 0;
  int64_t t = 0, unit_ns = 1;
  bool adds_up = false;
};

struct GpuSource;  // of a column: a field of a message

class PerfettoGpu {
 public:
  using AddClass = std::function<uint32_t(const char* name, std::vector<FieldInfo> fields)>;
  PerfettoGpu(AddClass add, const std::vector<EventClass>& classes) : add_(std::move(add)), classes_(classes) {}

  void packet(const GpuPacket& p);
  // `boot`, `mono`: what the common clocks were at that moment, -1 where the snapshot does not tell.
  void clock(const GpuClock& c, uint64_t sequence, int64_t boot, int64_t mono);
  // Turns the times of all events to CLOCK_MONOTONIC and returns where they stand; `mark` is set in `at`.
  std::vector<Place> finish(const std::function<int64_t(int64_t boot)>& to_mono, uint64_t mark);
  void emit(Output& out, uint64_t row, const std::function<View(int64_t pid)>& process) const;

  std::vector<Problem> problems;

 private:
  using Sources = std::span<const GpuSource>;
  struct Event;  // an event that is being put together
  struct Target {
    const GpuSource* source;
    uint8_t column, rank;
  };
  struct Shape {
    uint32_t cls = 0;
    size_t columns = 0;
    std::array<std::vector<Target>, 24> by_field;  // 0: those that are zero where the message leaves them out
  };
  struct Row {
    int64_t t;
    uint64_t clock, start;
    uint32_t cls, present;  // bits, by field
  };
  struct Point {
    int64_t t, common, unit_ns;
    bool is_mono;
    bool operator<(const Point& other) const { return t < other.t; }
  };
  struct Spec {
    uint64_t name, unit;
  };
  struct Sequence {
    uint64_t clock = 0;
    std::unordered_map<uint64_t, uint64_t> specifications, functions, processes;  // by iid: texts, texts, pids
  };

  void intern(Sequence& s, View data);
  void specifications(View data);
  void counters(const GpuPacket& p, const Sequence& s);
  void describe(View data);
  void vulkan(const GpuPacket& p, const Sequence& s);
  Event read(const Shape& shape, int64_t t, View body, const Sequence& s);
  void take(Event& e, const Target& target, const Proto& f, const Sequence& s);
  void add(const GpuPacket& p, const Event& e, const Sequence& s);
  const Shape& shape_of(const char* name, Sources sources);
  uint64_t word(View text);
  View text_of(uint64_t value, const std::function<View(int64_t)>& process, std::string* made) const;
  bool to_common(const Row& row, const std::function<int64_t(int64_t)>& to_mono, int64_t* t) const;

  AddClass add_;
  const std::vector<EventClass>& classes_;
  std::unordered_map<const GpuSource*, Shape> shapes_;
  std::unordered_map<uint64_t, Sequence> sequences_;
  std::map<uint64_t, std::vector<Point>> points_;  // by clock
  std::vector<Row> rows_;
  std::vector<uint64_t> values_;
  std::vector<std::string> words_;
  std::unordered_map<std::string, uint64_t> word_of_;
  std::vector<uint64_t> queues_, stages_;     // of the older specifications: texts, by number
  std::unordered_map<uint64_t, Spec> specs_;  // of counters
  uint64_t cut_ = 0, untimed_ = 0, of_descriptor_ = 0;
};

}  // namespace dt::kernel
