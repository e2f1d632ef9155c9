// Numbers of fields are facts of Perfetto's protocol (protos/perfetto/trace/gpu, common/gpu_counter_descriptor).
#include "perfetto_gpu.h"

namespace dt::kernel {
namespace {

constexpr size_t k_most_words = size_t{1} << 22;
constexpr uint64_t k_no_word = (uint64_t{1} << 56) - 1;

// A text of a row is a word, or one that is looked up when the row is read: names may come after what they name.
enum Lookup : uint64_t { is_word, is_queue, is_stage, is_counter, is_unit, is_process };
uint64_t later(Lookup what, uint64_t number) { return uint64_t{what} << 56 | (number & k_no_word); }

constexpr Type k_i32 = Type::i32, k_u32 = Type::u32, k_u64 = Type::u64, k_f64 = Type::f64, k_text = Type::text;

template <size_t N> const char* one_of(const char* const (&names)[N], uint64_t number) {
  return number < N ? names[number] : "";
}

constexpr const char* k_units[] = {"",          "bit",        "kilobit",     "megabit",     "gigabit",    "terabit",
                                   "petabit",   "byte",       "kilobyte",    "megabyte",    "gigabyte",   "terabyte",
                                   "petabyte",  "hertz",      "kilohertz",   "megahertz",   "gigahertz",  "terahertz",
                                   "petahertz", "nanosecond", "microsecond", "millisecond", "second",     "minute",
                                   "hour",      "vertex",     "pixel",       "triangle",    "milliwatt",  "watt",
                                   "kilowatt",  "joule",      "volt",        "ampere",      "celsius",    "fahrenheit",
                                   "kelvin",    "percent",    "primitive",   "fragment",    "instruction"};
constexpr const char* k_sources[] = {"", "driver", "device", "device memory", "buffer", "image"};
constexpr const char* k_operations[] = {"", "create", "destroy", "bind", "destroy bound", "annotations"};
constexpr const char* k_scopes[] = {"", "command", "object", "cache", "device", "instance"};
constexpr const char* k_severities[] = {"verbose", "debug", "info", "warning", "error"};

void append(std::string& list, std::string_view part, char between) {
  if (!list.empty()) list += between;
  list += part;
}

// A name and a value, as `name=value`.
std::string pair_of(View data) {
  Proto p(data);
  std::string said;
  while (p.next())
    if (p.wire == 2 && p.field <= 2) append(said, p.bytes, '=');
  return said;
}

}  // namespace

struct PerfettoGpu::Event {
  uint32_t cls, present = 0;
  std::vector<uint64_t> values;
  Event(uint32_t c, size_t n) : cls(c), values(n) {}
  void set(size_t field, uint64_t value) {
    values[field] = value;
    present |= 1u << field;
  }
};

uint32_t PerfettoGpu::class_of(const char* name, std::initializer_list<std::pair<const char*, Type>> fields) {
  auto it = class_of_.find(name);
  if (it != class_of_.end()) return it->second;
  std::vector<FieldInfo> all;
  for (auto& [field, type] : fields) all.push_back({field, {type, Type::u64}});
  return class_of_.emplace(name, add_(name, std::move(all))).first->second;
}

uint64_t PerfettoGpu::word(View text) {
  if (text.empty()) return k_no_word;
  auto it = word_of_.find(std::string(text));
  if (it != word_of_.end()) return it->second;
  if (words_.size() >= k_most_words) return k_no_word;
  words_.push_back(valid_utf8(text));
  word_of_.emplace(text, words_.size() - 1);
  return words_.size() - 1;
}

void PerfettoGpu::packet(const GpuPacket& p) {
  if (!p.kind && p.interned.empty() && p.defaults.empty() && !p.cleared) return;
  auto& s = sequences_[p.sequence];
  if (p.cleared) s = {};
  Proto defaults(p.defaults);
  while (defaults.next())
    if (defaults.field == 58 && !defaults.wire) s.clock = defaults.value;
  intern(s, p.interned);
  switch (p.kind) {
    case 52: counters(p); break;
    case 53: stage(p, s); break;
    case 62: memory(p, s); break;
    case 63: log(p); break;
    case 65: vulkan(p); break;
    case 71: total(p); break;
    default: break;
  }
}

void PerfettoGpu::intern(Sequence& s, View data) {
  Proto p(data);
  while (p.next()) {
    if (p.wire != 2 || (p.field != 5 && p.field != 23 && p.field != 24)) continue;
    Proto entry(p.bytes);
    uint64_t iid = 0, number = 0;
    View text;
    while (entry.next()) {
      if (entry.field == 1) iid = entry.value;
      if (entry.field == 2 && entry.wire == 2) text = entry.bytes;
      if (entry.field == 2 && !entry.wire) number = entry.value;
    }
    if (p.field == 5) s.functions[iid] = word(text);
    if (p.field == 23) s.processes[iid] = number;
    if (p.field == 24) s.specifications[iid] = word(text);
  }
}

struct StageColumns {
  enum Of {
    event_id,
    gpu_id,
    queue_id,
    queue,
    stage,
    duration,
    context,
    pid,
    process,
    submission,
    target,
    pass,
    buffer,
    instance,
    extra,
    count
  };
};

void PerfettoGpu::stage(const GpuPacket& p, const Sequence& s) {
  using enum StageColumns::Of;
  Event e(class_of("gpu_render_stage", {{"event_id", k_u64},
                                        {"gpu_id", k_i32},
                                        {"queue_id", k_u64},
                                        {"queue", k_text},
                                        {"stage", k_text},
                                        {"duration_ns", k_u64},
                                        {"context", k_u64},
                                        {"pid", k_i32},
                                        {"process", k_text},
                                        {"submission_id", k_u32},
                                        {"render_target", k_u64},
                                        {"render_pass", k_u64},
                                        {"command_buffer", k_u64},
                                        {"render_pass_instance", k_u64},
                                        {"extra", k_text}}),
          count);
  Proto f(p.body);
  auto named = [&](uint64_t iid) {
    auto it = s.specifications.find(iid);
    return it == s.specifications.end() ? k_no_word : it->second;
  };
  std::string more;
  uint64_t owner = 0;
  bool interned_queue = false, interned_stage = false;
  while (f.next()) {
    switch (f.field) {
      case 1: e.set(event_id, f.value); break;
      case 2: e.set(duration, f.value); break;
      case 3:
        if (interned_queue) break;
        e.set(queue_id, f.value);
        e.set(queue, later(is_queue, f.value));
        break;
      case 4:
        if (!interned_stage) e.set(stage, later(is_stage, f.value));
        break;
      case 5: {
        e.set(context, f.value);
        auto it = s.processes.find(f.value);
        if (it != s.processes.end()) owner = it->second;
        break;
      }
      case 6: append(more, pair_of(f.bytes), ' '); break;
      case 7: specifications(f.bytes); break;
      case 8: e.set(target, f.value); break;
      case 9: e.set(pass, f.value); break;
      case 10: e.set(submission, f.value); break;
      case 11: e.set(gpu_id, f.value); break;
      case 12: e.set(buffer, f.value); break;
      case 13:
        interned_queue = true;
        e.set(queue_id, f.value);
        e.set(queue, named(f.value));
        break;
      case 14:
        interned_stage = true;
        e.set(stage, named(f.value));
        break;
      case 16: e.set(instance, f.value); break;
      case 17:
        interned_stage = true;  // a name of its own stands before the stage's name
        e.set(stage, word(f.bytes));
        break;
      default: break;
    }
  }
  cut_ += f.cut;
  if (owner) e.set(pid, owner), e.set(process, later(is_process, owner));
  if (!more.empty()) e.set(extra, word(more));
  // A packet that only describes queues and stages has no id.
  if (e.present & 1u << event_id) add(p, p.t, e);
}

void PerfettoGpu::specifications(View data) {
  if (!queues_.empty() || !stages_.empty()) return;
  Proto p(data);
  while (p.next()) {
    if (p.wire != 2 || (p.field != 2 && p.field != 3)) continue;
    Proto d(p.bytes);
    View name;
    while (d.next())
      if (d.field == 1 && d.wire == 2) name = d.bytes;
    (p.field == 2 ? queues_ : stages_).push_back(word(name));
  }
}

void PerfettoGpu::counters(const GpuPacket& p) {
  enum { gpu_id, counter_id, name, value, unit, count };
  std::vector<View> counters;
  uint64_t gpu = 0;
  bool interned = false;
  Proto f(p.body);
  while (f.next()) {
    if (f.field == 1 && f.wire == 2) describe(f.bytes);
    if (f.field == 2 && f.wire == 2) counters.push_back(f.bytes);
    if (f.field == 3) gpu = f.value;
    if (f.field == 4) interned = true;
  }
  cut_ += f.cut;
  if (interned) {
    of_descriptor_ += counters.size();
    return;
  }
  if (counters.empty()) return;
  uint32_t cls = class_of(
      "gpu_counter", {{"gpu_id", k_i32}, {"counter_id", k_u32}, {"name", k_text}, {"value", k_f64}, {"unit", k_text}});
  for (View one : counters) {
    Event e(cls, count);
    Proto c(one);
    uint64_t id = 0;
    while (c.next()) {
      if (c.field == 1) id = c.value;
      if (c.field == 2 || c.field == 3) {
        double number = static_cast<double>(static_cast<int64_t>(c.value));
        uint64_t bits = c.value;
        if (c.field == 2) memcpy(&bits, &number, 8);
        e.set(value, bits);
      }
    }
    if (!(e.present & 1u << value)) continue;
    e.set(gpu_id, gpu);
    e.set(counter_id, id);
    e.set(name, later(is_counter, id));
    e.set(unit, later(is_unit, id));
    add(p, p.t, e);
  }
}

void PerfettoGpu::describe(View data) {
  Proto p(data);
  while (p.next()) {
    if (p.field != 1 || p.wire != 2) continue;
    Proto spec(p.bytes);
    uint64_t id = 0;
    View name;
    std::string over, under;
    while (spec.next()) {
      if (spec.field == 1) id = spec.value;
      if (spec.field == 2 && spec.wire == 2) name = spec.bytes;
      if (spec.field == 7 || spec.field == 8)
        for (uint64_t unit : packed(spec))
          if (*one_of(k_units, unit)) append(spec.field == 7 ? over : under, one_of(k_units, unit), '*');
    }
    std::string unit = over.empty() && !under.empty() ? "1" : over;
    if (!under.empty()) unit += "/" + under;
    specs_.try_emplace(id, Spec{word(name), word(unit)});
  }
}

void PerfettoGpu::memory(const GpuPacket& p, const Sequence& s) {
  enum { source, operation, pid, process, address, size, caller, scope, device, allocation, type, heap, object, count };
  Event e(class_of("vulkan_memory", {{"source", k_text},
                                     {"operation", k_text},
                                     {"pid", k_i32},
                                     {"process", k_text},
                                     {"address", k_u64},
                                     {"size", k_u64},
                                     {"caller", k_text},
                                     {"scope", k_text},
                                     {"device", k_u64},
                                     {"device_memory", k_u64},
                                     {"memory_type", k_u32},
                                     {"heap", k_u32},
                                     {"object", k_u64}}),
          count);
  int64_t t = p.t;
  Proto f(p.body);
  while (f.next()) {
    switch (f.field) {
      case 1: e.set(source, word(one_of(k_sources, f.value))); break;
      case 2: e.set(operation, word(one_of(k_operations, f.value))); break;
      case 3:
        if (f.value) t = static_cast<int64_t>(f.value);
        break;
      case 4:
        e.set(pid, f.value);
        e.set(process, later(is_process, f.value));
        break;
      case 5: e.set(address, f.value); break;
      case 6: e.set(size, f.value); break;
      case 7: {
        auto it = s.functions.find(f.value);
        if (it != s.functions.end()) e.set(caller, it->second);
        break;
      }
      case 8: e.set(scope, word(one_of(k_scopes, f.value))); break;
      case 16: e.set(device, f.value); break;
      case 17: e.set(allocation, f.value); break;
      case 18: e.set(type, f.value); break;
      case 19: e.set(heap, f.value); break;
      case 20: e.set(object, f.value); break;
      default: break;
    }
  }
  cut_ += f.cut;
  add(p, t, e);
}

void PerfettoGpu::vulkan(const GpuPacket& p) {
  Proto outer(p.body);
  while (outer.next()) {
    if (outer.wire != 2 || outer.field > 2) continue;
    Proto f(outer.bytes);
    if (outer.field == 1) {
      Event e(
          class_of("vulkan_object_name",
                   {{"pid", k_i32}, {"device", k_u64}, {"object_type", k_i32}, {"object", k_u64}, {"name", k_text}}),
          5);
      while (f.next())
        if (f.field >= 1 && f.field <= 5) e.set(f.field - 1, f.field == 5 ? word(f.bytes) : f.value);
      add(p, p.t, e);
      continue;
    }
    enum { pid, process, thread, queue, submission, duration, buffers, count };
    Event e(class_of("vulkan_queue_submit", {{"pid", k_i32},
                                             {"process", k_text},
                                             {"tid", k_i32},
                                             {"queue", k_u64},
                                             {"submission_id", k_u32},
                                             {"duration_ns", k_u64},
                                             {"command_buffers", k_text}}),
            count);
    std::string handles;
    while (f.next()) {
      switch (f.field) {
        case 1: e.set(duration, f.value); break;
        case 2:
          e.set(pid, f.value);
          e.set(process, later(is_process, f.value));
          break;
        case 3: e.set(thread, f.value); break;
        case 4: e.set(queue, f.value); break;
        case 5:
          for (uint64_t handle : packed(f)) append(handles, std::to_string(handle), ' ');
          break;
        case 6: e.set(submission, f.value); break;
        default: break;
      }
    }
    if (!handles.empty()) e.set(buffers, word(handles));
    add(p, p.t, e);
  }
  cut_ += outer.cut;
}

void PerfettoGpu::log(const GpuPacket& p) {
  Event e(class_of("gpu_log", {{"severity", k_text}, {"tag", k_text}, {"message", k_text}}), 3);
  Proto f(p.body);
  while (f.next())
    if (f.field >= 1 && f.field <= 3)
      e.set(f.field - 1, word(f.field == 1 ? View(one_of(k_severities, f.value)) : f.bytes));
  add(p, p.t, e);
}

// The same as the event of ftrace of that name, whose fields stand in this order.
void PerfettoGpu::total(const GpuPacket& p) {
  Event e(class_of("gpu_mem_total", {{"gpu_id", k_u32}, {"pid", k_u32}, {"size", k_u64}}), 3);
  for (size_t field = 0; field < 3; ++field) e.set(field, 0);  // what is zero may be left out
  Proto f(p.body);
  while (f.next())
    if (f.field >= 1 && f.field <= 3) e.set(f.field - 1, f.value);
  add(p, p.t, e);
}

void PerfettoGpu::add(const GpuPacket& p, int64_t t, const Event& e) {
  auto& s = sequences_[p.sequence];
  uint64_t clock = p.clock ? p.clock : s.clock ? s.clock : k_boot;
  if (clock >= 64 && clock < 128) clock |= p.sequence << 32;
  rows_.push_back({t, clock, values_.size(), e.cls, e.present});
  values_.insert(values_.end(), e.values.begin(), e.values.end());
}

// ---- times --------------------------------------------------------------------------------------

void PerfettoGpu::clock(const GpuClock& c, uint64_t sequence, int64_t boot, int64_t mono) {
  if (c.adds_up || (boot < 0 && mono < 0)) return;
  // Numbers from 64 to 127 belong to a sequence of packets.
  uint64_t id = c.id >= 64 && c.id < 128 ? c.id | sequence << 32 : c.id;
  points_[id].push_back({c.t, mono >= 0 ? mono : boot, c.unit_ns, mono >= 0});
}

bool PerfettoGpu::to_common(const Row& row, const std::function<int64_t(int64_t)>& to_mono, int64_t* t) const {
  if (row.t < 0) return false;
  if (row.clock == k_mono || row.clock == k_boot) {
    *t = row.clock == k_mono ? row.t : to_mono(row.t);
    return true;
  }
  auto it = points_.find(row.clock);
  if (it == points_.end()) return false;
  auto& list = it->second;
  auto after = std::upper_bound(list.begin(), list.end(), Point{row.t, 0, 1, true});
  const Point& point = after == list.begin() ? *after : *std::prev(after);
  int64_t since, at;
  if (__builtin_sub_overflow(row.t, point.t, &since) || __builtin_mul_overflow(since, point.unit_ns, &since) ||
      __builtin_add_overflow(point.common, since, &at))
    return false;
  *t = point.is_mono ? at : to_mono(at);
  return true;
}

std::vector<Place> PerfettoGpu::finish(const std::function<int64_t(int64_t)>& to_mono, uint64_t mark) {
  for (auto& [id, list] : points_) std::stable_sort(list.begin(), list.end());
  std::vector<Place> places;
  places.reserve(rows_.size());
  for (size_t i = 0; i < rows_.size(); ++i) {
    int64_t t;
    if (to_common(rows_[i], to_mono, &t))
      places.push_back({t, mark | i, rows_[i].cls, -1});
    else
      ++untimed_;
  }
  if (cut_)
    problems.push_back(
        {"corrupt", "packets", std::to_string(cut_) + " packets of a GPU cannot be read to their end", cut_});
  if (untimed_)
    problems.push_back({"unread", "packets",
                        std::to_string(untimed_) + " events of a GPU have no time, or one of a clock that no snapshot "
                                                   "of the trace ties to the others",
                        untimed_});
  if (of_descriptor_)
    problems.push_back({"unread", "packets",
                        std::to_string(of_descriptor_) + " values of GPU counters whose descriptor is interned are not "
                                                         "read",
                        of_descriptor_});
  return places;
}

// ---- rows ---------------------------------------------------------------------------------------

View PerfettoGpu::text_of(uint64_t value, const std::function<View(int64_t)>& process, std::string* made) const {
  uint64_t number = value & k_no_word, index = k_no_word;
  switch (static_cast<Lookup>(value >> 56)) {
    case is_word: index = number; break;
    case is_queue: index = number < queues_.size() ? queues_[number] : k_no_word; break;
    case is_stage: index = number < stages_.size() ? stages_[number] : k_no_word; break;
    case is_counter:
    case is_unit: {
      auto it = specs_.find(number);
      if (it != specs_.end()) index = value >> 56 == is_unit ? it->second.unit : it->second.name;
      if (index == k_no_word && value >> 56 == is_counter) return *made = "counter " + std::to_string(number);
      break;
    }
    case is_process: return process(static_cast<int32_t>(number));
  }
  return index < words_.size() ? View(words_[index]) : View();
}

void PerfettoGpu::emit(Output& out, uint64_t row, const std::function<View(int64_t)>& process) const {
  const Row& r = rows_[row];
  auto& info = classes_[r.cls].fields;
  std::string made;
  for (size_t f = 0; f < info.size(); ++f) {
    int column = out.target(f);
    if (column < 0 || !(r.present >> f & 1)) continue;
    uint64_t value = values_[r.start + f];
    if (info[f].type.type == k_text) {
      if (View text = text_of(value, process, &made); !text.empty()) out.text(column, text);
    } else if (info[f].type.type == k_f64) {
      double number;
      memcpy(&number, &value, 8);
      out.real(column, number);
    } else {
      out.integer(column, value, info[f].type.type == k_i32);
    }
  }
}

}  // namespace dt::kernel
