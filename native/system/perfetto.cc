// Perfetto's traces: the bundles of ftrace events in them, and what producers tell of GPUs (perfetto_gpu.h).
//
// The plan: classes (Trace::read_classes); events: count; each number in FtraceEvent, class, fields: count; each
// number, whether its integer is zigzag coded. Fields stand in the order of the class's. path
#include <zlib.h>

#include <deque>

#include "indexed.h"
#include "perfetto_gpu.h"
#include "proto.h"

namespace dt::kernel {
namespace {

constexpr uint64_t k_compact = uint64_t{1} << 63, k_gpu = uint64_t{1} << 62;
constexpr uint32_t k_generic = 327;

class Perfetto : public IndexedTrace {
 public:
  explicit Perfetto(Plan& plan) {
    read_classes(plan);
    for (size_t n = plan.count(); n; --n) {
      auto number = static_cast<uint32_t>(plan.below(1u << 29));
      Event e;
      e.cls = static_cast<uint32_t>(plan.below(classes.size()));
      size_t fields = plan.count();
      if (fields != classes[e.cls].fields.size()) throw Error(DT_E_ARGUMENT, "a number of the plan is out of range");
      for (size_t f = 0; f < fields; ++f) {
        auto field = static_cast<uint32_t>(plan.below(1u << 29));
        e.fields.push_back({field, plan.number() != 0});
      }
      events_[number] = std::move(e);
    }
    file_ = std::make_unique<File>(plan.text());
    switch_ = called("sched_switch");
    waking_ = called("sched_waking");
    total = file_->size();
    packets(file_->view(), 0);
    finish();
  }

  void emit_at(Output& out, const Place& place) override {
    if (place.cpu >= 0) out.base(base_cpu, place.cpu);
    if (place.at & k_compact) return emit_compact(out, place);
    if (place.at & k_gpu) return gpu_.emit(out, place.at & ~k_gpu, [this](int64_t pid) { return process(pid); });
    Proto outer(message_at(place.at));
    View body;
    bool generic = false;
    uint32_t number = number_of_[place.cls];
    while (outer.next()) {
      if (outer.field == 2) {
        thread(out, static_cast<int32_t>(outer.value));
      } else if (outer.wire == 2 && (outer.field == number || outer.field == k_generic)) {
        body = outer.bytes;
        generic = outer.field == k_generic;
      }
    }
    if (generic)
      emit_generic(out, place.cls, body);
    else
      emit_fields(out, place.cls, body);
  }

 private:
  struct Field {
    uint32_t number;
    bool zigzag;
  };
  struct Event {
    uint32_t cls = 0;
    std::vector<Field> fields;
  };
  struct Compact {
    View comm, prev_comm;
    int32_t tid = 0, prio = 0, prev_tid = -1, prev_prio = 0, target_cpu = 0;
    int64_t prev_state = 0;
    bool waking = false;
  };

  uint32_t called(const char* name) const {
    auto it = names().find(name);
    return it == names().end() ? UINT32_MAX : it->second[0];
  }

  // ---- reading ----------------------------------------------------------------------------------

  void packets(View data, int depth) {
    Proto trace(data);
    while (trace.next()) {
      if (trace.field == 1 && trace.wire == 2) packet(trace.bytes, depth);
      done = static_cast<uint64_t>(trace.start - reinterpret_cast<const uint8_t*>(data.data()));
    }
    if (trace.cut) note({"truncated", "packets", "the last packet is cut off"});
  }

  void packet(View data, int depth) {
    Proto p(data);
    GpuPacket about;
    View snapshot;
    while (p.next()) {
      if (p.wire == 0) about.number(p.field, p.value);
      if (p.wire != 2) continue;
      switch (p.field) {
        case 1: bundle(p.bytes); break;
        case 2: tree(p.bytes); break;
        case 6: snapshot = p.bytes; break;
        case 34: stats(p.bytes); break;
        case 50:
        case 133:
          if (depth < 2) compressed(p.bytes, p.field == 133, depth);
          break;
        default: about.part(p.field, p.bytes); break;
      }
    }
    if (p.cut) note({"corrupt", "packets", "a packet cannot be read to its end"});
    if (!snapshot.empty()) clocks(snapshot, about.sequence);
    gpu_.packet(about);
  }

  void compressed(View data, bool zstd, int depth) {
    std::string plain;
    const std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(), ZSTD_freeDStream);
    std::string why = zstd ? unpack_zstd(stream.get(), data, plain) : unpack_zlib(data, plain);
    if (!why.empty()) note({"corrupt", "packets", "compressed packets: " + why});
    plain_.push_back(std::move(plain));
    packets(plain_.back(), depth + 1);
  }

  static std::string unpack_zlib(View data, std::string& out) {
    z_stream z{};
    if (inflateInit(&z) != Z_OK) return "zlib fails";
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
    z.avail_in = static_cast<uInt>(data.size());
    int code = Z_OK;
    while (code == Z_OK && out.size() < MOST_UNPACKED) {
      size_t have = out.size();
      out.resize(have + 65536);
      z.next_out = reinterpret_cast<Bytef*>(out.data() + have);
      z.avail_out = 65536;
      code = inflate(&z, Z_NO_FLUSH);
      out.resize(have + 65536 - z.avail_out);
    }
    inflateEnd(&z);
    return code == Z_STREAM_END ? "" : "they are broken";
  }
  void tree(View data) {
    Proto p(data);
    while (p.next()) {
      if (p.wire != 2 || p.field > 2) continue;
      Proto entry(p.bytes);
      int64_t id = -1, process = -1;
      View name;
      while (entry.next()) {
        if (entry.field == 1 && !entry.wire) id = static_cast<int32_t>(entry.value);
        if (entry.field == 3 && !entry.wire && p.field == 2) process = static_cast<int32_t>(entry.value);
        if (entry.wire == 2 && entry.field == (p.field == 1 ? 3u : 2u) && name.empty()) name = entry.bytes;
      }
      if (id < 0) continue;
      auto& known = threads_[id];
      if (!name.empty() && known.first.empty())
        known.first = p.field == 1 ? name.substr(name.rfind('/') + 1).substr(0, 15) : name;
      known.second = p.field == 1 ? id : process;
    }
  }

  // Times of ftrace's events are CLOCK_BOOTTIME; snapshots say what CLOCK_MONOTONIC was.
  void clocks(View data, uint64_t sequence) {
    Proto p(data);
    int64_t boot = -1, mono = -1;
    std::vector<GpuClock> others;
    while (p.next()) {
      if (p.field != 1 || p.wire != 2) continue;
      Proto clock(p.bytes);
      GpuClock c;
      while (clock.next()) {
        if (clock.field == 1) c.id = clock.value;
        if (clock.field == 2) c.t = static_cast<int64_t>(clock.value);
        if (clock.field == 3) c.adds_up = clock.value != 0;
        if (clock.field == 4 && clock.value && clock.value <= 1000000000) c.unit_ns = static_cast<int64_t>(clock.value);
      }
      if (c.id == k_boot) boot = c.t;
      if (c.id == k_mono) mono = c.t;
      if (c.id != k_boot && c.id != k_mono) others.push_back(c);
    }
    for (auto& c : others) gpu_.clock(c, sequence, boot, mono);
    if (boot >= 0 && mono >= 0) snapshots_.push_back({boot, mono - boot});
  }

  void stats(View data) {
    Proto p(data);
    uint64_t phase = 0;
    std::map<uint64_t, uint64_t> lost;
    while (p.next()) {
      if (p.field == 1) phase = p.value;
      if (p.field != 2 || p.wire != 2) continue;
      Proto cpu(p.bytes);
      uint64_t number = 0, sum = 0;
      while (cpu.next()) {
        if (cpu.field == 1) number = cpu.value;
        if (cpu.field == 3 || cpu.field == 8) sum += cpu.value;
      }
      lost[number] = sum;
    }
    if (phase == 1) lost_before_ = lost;
    if (phase != 2) return;
    for (auto& [cpu, n] : lost) {
      uint64_t before = lost_before_.count(cpu) ? lost_before_[cpu] : 0;
      if (n > before)
        note({"lost", "CPU " + std::to_string(cpu), std::to_string(n - before) + " events were lost", n - before});
    }
  }

  void bundle(View data) {
    int64_t cpu = -1;
    Proto first(data);
    bool lost = false;
    while (first.next()) {
      if (first.field == 1 && !first.wire) cpu = static_cast<int64_t>(first.value);
      if (first.field == 3 && first.value) lost = true;
      if (first.field == 5 && !first.wire) clock_ = first.value;
      if (first.field == 11 && first.wire == 2) describe(first.bytes);
    }
    if (cpu < 0 || cpu > 65535) cpu = 0;
    size_t lane = static_cast<size_t>(cpu);
    if (places.size() <= lane) places.resize(lane + 1);
    size_t before = places[lane].size();
    Proto p(data);
    while (p.next()) {
      if (p.wire != 2) continue;
      if (p.field == 2) event(p.bytes, p.start, static_cast<int32_t>(cpu));
      if (p.field == 4) compact(p.bytes, static_cast<int32_t>(cpu));
    }
    if (p.cut) note({"corrupt", "bundles", "a bundle cannot be read to its end"});
    if (lost) {
      int64_t t = places[lane].size() > before ? places[lane][before].t : k_first;
      note({"lost", "CPU " + std::to_string(cpu), "the kernel dropped an unknown number of events", 0, k_first, t});
    }
  }

  void event(View data, const uint8_t* start, int32_t cpu) {
    Proto p(data);
    int64_t t = -1;
    uint32_t number = 0;
    View body;
    while (p.next()) {
      if (p.field == 1) t = static_cast<int64_t>(p.value);
      if (p.field > 2 && p.wire == 2) {
        number = p.field;
        body = p.bytes;
      }
    }
    if (p.cut || t < 0 || !number) return note({"corrupt", "bundles", "an event cannot be read"});
    uint32_t cls;
    auto known = events_.find(number);
    if (number == k_generic) {
      cls = generic_class(body);
    } else if (known == events_.end()) {
      note({"unknown", "bundles", "events of the number " + std::to_string(number) + " are not described"});
      return;
    } else {
      cls = known->second.cls;
      if (number_of_.size() < classes.size()) number_of_.resize(classes.size(), k_generic);
      number_of_[cls] = number;
    }
    places[static_cast<size_t>(cpu)].push_back({t, reinterpret_cast<uint64_t>(start), cls, cpu});
  }

  // A description that travels with the trace: a DescriptorProto.
  void describe(View data) {
    Proto p(data);
    uint32_t number = 0;
    View descriptor;
    while (p.next()) {
      if (p.field == 1 && !p.wire) number = static_cast<uint32_t>(p.value);
      if (p.field == 2 && p.wire == 2) descriptor = p.bytes;
    }
    if (!number || events_.count(number) || classes.size() > 100000) return;
    Event e;
    std::vector<FieldInfo> fields;
    Proto d(descriptor);
    std::string name;
    while (d.next()) {
      if (d.field == 1 && d.wire == 2) name = valid_utf8(d.bytes);
      if (d.field != 2 || d.wire != 2) continue;
      Proto f(d.bytes);
      std::string field;
      uint64_t field_number = 0, type = 0;
      while (f.next()) {
        if (f.field == 1 && f.wire == 2) field = valid_utf8(f.bytes);
        if (f.field == 3 && !f.wire) field_number = f.value;
        if (f.field == 5 && !f.wire) type = f.value;
      }
      static const std::map<uint64_t, Type> types = {
          {1, Type::f64},  {2, Type::f32},     {3, Type::i64},  {4, Type::u64},  {5, Type::i32},  {8, Type::boolean},
          {9, Type::text}, {12, Type::binary}, {13, Type::u32}, {14, Type::i32}, {17, Type::i32}, {18, Type::i64}};
      auto known = types.find(type);
      if (known == types.end() || field.empty()) continue;
      fields.push_back({field, {known->second, Type::u64}});
      e.fields.push_back({static_cast<uint32_t>(field_number), type == 17 || type == 18});
    }
    if (name.empty()) return;
    e.cls = add_class(name);
    classes[e.cls].fields = std::move(fields);
    events_[number] = std::move(e);
  }

  // Events that name their fields themselves.
  uint32_t generic_class(View body) {
    Proto p(body);
    std::string name = "generic";
    std::vector<FieldInfo> fields;
    while (p.next()) {
      if (p.wire != 2) continue;
      if (p.field == 1) name = valid_utf8(p.bytes);
      if (p.field != 2) continue;
      Proto f(p.bytes);
      std::string field;
      Type type = Type::i64;
      while (f.next()) {
        if (f.field == 1 && f.wire == 2) field = valid_utf8(f.bytes);
        if (f.field == 3) type = Type::text;
        if (f.field == 5) type = Type::u64;
      }
      if (!field.empty()) fields.push_back({field, {type, Type::u64}});
    }
    auto it = generic_.find(name);
    if (it == generic_.end()) {
      if (generic_.size() > 100000) return generic_.begin()->second;
      it = generic_.emplace(name, add_class(name)).first;
    }
    auto& have = classes[it->second].fields;
    for (auto& field : fields) {
      bool known = false;
      for (auto& f : have) known |= f.name == field.name;
      if (!known && have.size() < 256) have.push_back(field);
    }
    return it->second;
  }

  void compact(View data, int32_t cpu) {
    Proto p(data);
    std::vector<View> words;
    std::map<uint32_t, std::vector<uint64_t>> lists;
    while (p.next()) {
      if (p.field == 5 && p.wire == 2)
        words.push_back(p.bytes);
      else if (p.wire == 2 || p.wire == 0) {
        auto more = packed(p);
        auto& list = lists[p.field];
        list.insert(list.end(), more.begin(), more.end());
      }
    }
    auto word = [&](uint64_t index) { return index < words.size() ? words[index] : View(); };
    auto at = [&](uint32_t field, size_t i) { return i < lists[field].size() ? lists[field][i] : 0; };
    uint64_t t = 0;
    for (size_t i = 0; i < lists[1].size(); ++i) {
      t += lists[1][i];
      Compact c;
      c.prev_state = static_cast<int64_t>(at(2, i));
      c.tid = static_cast<int32_t>(at(3, i));
      c.prio = static_cast<int32_t>(at(4, i));
      c.comm = word(at(6, i));
      add_compact(c, static_cast<int64_t>(t), cpu, switch_);
    }
    t = 0;
    for (size_t i = 0; i < lists[7].size(); ++i) {
      t += lists[7][i];
      Compact c;
      c.waking = true;
      c.tid = static_cast<int32_t>(at(8, i));
      c.target_cpu = static_cast<int32_t>(at(9, i));
      c.prio = static_cast<int32_t>(at(10, i));
      c.comm = word(at(11, i));
      add_compact(c, static_cast<int64_t>(t), cpu, waking_);
    }
  }

  void add_compact(const Compact& c, int64_t t, int32_t cpu, uint32_t cls) {
    if (cls == UINT32_MAX) return;
    places[static_cast<size_t>(cpu)].push_back({t, k_compact | compact_.size(), cls, cpu});
    compact_.push_back(c);
  }

  void finish() {
    std::stable_sort(snapshots_.begin(), snapshots_.end());
    auto of_gpu = gpu_.finish(
        [this](int64_t boot) {
          return static_cast<int64_t>(static_cast<uint64_t>(boot) + static_cast<uint64_t>(offset(boot)));
        },
        k_gpu);
    for (auto& problem : gpu_.problems) note(problem);
    index_names();
    number_of_.resize(classes.size(), k_generic);
    for (auto& [number, e] : events_) number_of_[e.cls] = number;
    if (!clock_) {
      for (auto& list : places)
        for (auto& place : list) place.t += offset(place.t);
    }
    if (!of_gpu.empty()) places.push_back(std::move(of_gpu));
    sort_places();
    // Compact switches do not say who ran before: the one that came on last.
    for (auto& list : places) {
      const Compact* last = nullptr;
      for (auto& place : list) {
        if (!(place.at & k_compact)) continue;
        auto& c = compact_[place.at & ~k_compact];
        if (last) {
          c.prev_tid = last->tid;
          c.prev_comm = last->comm;
          c.prev_prio = last->prio;
        }
        if (!c.waking) {
          last = &c;
        }
      }
    }
    if (!clock_ && snapshots_.empty() && !places.empty())
      note({"unknown", "clock", "there is no snapshot of the clocks: times are CLOCK_BOOTTIME"});
  }

  int64_t offset(int64_t boot) const {
    if (snapshots_.empty()) return 0;
    auto after = std::upper_bound(snapshots_.begin(), snapshots_.end(), std::pair<int64_t, int64_t>{boot, INT64_MAX});
    return after == snapshots_.begin() ? after->second : std::prev(after)->second;
  }

  // ---- rows -------------------------------------------------------------------------------------

  static View message_at(uint64_t at) {
    // The message was read before: its tag and its length are whole.
    Proto field(View(reinterpret_cast<const char*>(at), 1u << 30));
    return field.next() ? field.bytes : View();
  }

  void thread(Output& out, int64_t tid) {
    if (tid < 0) return;
    out.base(base_tid, tid);
    if (!tid) return out.comm("swapper");
    auto it = threads_.find(tid);
    if (it == threads_.end()) return;
    if (it->second.second >= 0) out.base(base_pid, it->second.second);
    if (!it->second.first.empty()) out.comm(it->second.first);
  }

  View process(int64_t pid) const {
    auto it = threads_.find(pid);
    return it == threads_.end() ? View() : View(it->second.first);
  }

  static void put(Output& out, int column, Type type, const Proto& p, bool zigzag) {
    if (p.wire == 2) {
      if (type == Type::binary)
        out.binary(column, p.bytes);
      else if (type == Type::text)
        out.text(column, p.bytes);
      return;
    }
    if (type == Type::f64 || type == Type::f32) return out.real(column, real_of(p.value, p.wire == 1 ? 8 : 4));
    uint64_t v = zigzag ? (p.value >> 1) ^ (0 - (p.value & 1)) : p.value;
    out.integer(column, v, type == Type::i32 || type == Type::i64);
  }

  void emit_fields(Output& out, uint32_t cls, View body) {
    auto it = events_.find(number_of_[cls]);
    if (it == events_.end()) return;
    auto& fields = it->second.fields;
    auto& info = classes[cls].fields;
    // A message may leave out zeros.
    std::vector<bool> seen(fields.size());
    Proto p(body);
    while (p.next())
      for (size_t f = 0; f < fields.size(); ++f)
        if (fields[f].number == p.field) {
          seen[f] = true;
          if (int c = out.target(f); c >= 0) put(out, c, info[f].type.type, p, fields[f].zigzag);
          break;
        }
  }

  void emit_generic(Output& out, uint32_t cls, View body) {
    auto& info = classes[cls].fields;
    Proto p(body);
    while (p.next()) {
      if (p.field != 2 || p.wire != 2) continue;
      Proto f(p.bytes);
      View name;
      Proto value(View{});
      bool have = false;
      while (f.next()) {
        if (f.field == 1) name = f.bytes;
        if (f.field >= 3) value = f, have = true;
      }
      for (size_t k = 0; have && k < info.size(); ++k)
        if (info[k].name == name)
          if (int c = out.target(k); c >= 0) put(out, c, info[k].type.type, value, false);
    }
  }

  void emit_compact(Output& out, const Place& place) {
    auto& c = compact_[place.at & ~k_compact];
    auto& info = classes[place.cls].fields;
    if (c.prev_tid >= 0) thread(out, c.prev_tid);
    if (!c.prev_comm.empty() && c.prev_tid > 0) out.comm(c.prev_comm);
    for (size_t f = 0; f < info.size(); ++f) {
      int column = out.target(f);
      if (column < 0) continue;
      const std::string& n = info[f].name;
      auto number = [&](int64_t v) { out.integer(column, static_cast<uint64_t>(v), true); };
      if (n == "next_pid" || n == "pid")
        number(c.tid);
      else if (n == "next_prio" || n == "prio")
        number(c.prio);
      else if (n == "next_comm" || n == "comm")
        out.text(column, c.comm);
      else if (n == "prev_state")
        number(c.prev_state);
      else if (n == "target_cpu")
        number(c.target_cpu);
      else if (n == "success")
        number(1);
      else if (c.prev_tid < 0)
        continue;
      else if (n == "prev_pid")
        number(c.prev_tid);
      else if (n == "prev_prio")
        number(c.prev_prio);
      else if (n == "prev_comm")
        out.text(column, c.prev_comm);
    }
  }

  std::unique_ptr<File> file_;
  std::deque<std::string> plain_;
  PerfettoGpu gpu_{[this](const char* name, std::vector<FieldInfo> fields) {
                     if (uint32_t known = called(name); known != UINT32_MAX) return known;
                     uint32_t cls = add_class(name);
                     classes[cls].fields = std::move(fields);
                     return cls;
                   },
                   classes};
  std::unordered_map<uint32_t, Event> events_;
  std::vector<uint32_t> number_of_;  // by class
  std::map<std::string, uint32_t> generic_;
  std::vector<Compact> compact_;
  std::unordered_map<int64_t, std::pair<std::string, int64_t>> threads_;
  std::vector<std::pair<int64_t, int64_t>> snapshots_;  // CLOCK_BOOTTIME, what to add
  std::map<uint64_t, uint64_t> lost_before_;
  uint64_t clock_ = 0;
  uint32_t switch_ = UINT32_MAX, waking_ = UINT32_MAX;
};

}  // namespace

std::shared_ptr<Trace> open_perfetto(Plan& plan) { return std::make_shared<Perfetto>(plan); }

}  // namespace dt::kernel
