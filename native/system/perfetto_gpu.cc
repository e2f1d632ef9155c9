// Numbers of fields are facts of Perfetto's protocol (protos/perfetto/trace/gpu, common/gpu_counter_descriptor).
#include "perfetto_gpu.h"

#include <bit>
#include <span>

namespace dt::kernel {
namespace {

constexpr size_t k_most_words = size_t{1} << 22;
constexpr size_t k_most_columns = 15;
constexpr uint64_t k_no_word = (uint64_t{1} << 56) - 1;

// The manner in which a column gets its value from a field. A text of a row is a word, or one that is looked up when
// the row is read: names may come after what they name.
enum Read : uint8_t {
  is_word,
  is_queue,
  is_stage,
  is_counter,
  is_unit,
  is_process,
  is_number,
  is_real_number,  // of an integer
  is_one_of,
  is_owner,  // the process of a context, and its name
  is_owner_name,
  is_function,  // what was interned by this number
  is_specification,
  is_pair,  // of several, as is a handle
  is_handle,
  is_time,  // of the event
  is_description
};
uint64_t later(Read what, uint64_t number) { return uint64_t{what} << 56 | (number & k_no_word); }

constexpr Type k_i32 = Type::i32, k_u32 = Type::u32, k_f64 = Type::f64, k_text = Type::text;

using WordList = std::span<const char* const>;
const char* one_of(WordList names, uint64_t number) { return number < names.size() ? names[number] : ""; }

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

uint64_t found(const std::unordered_map<uint64_t, uint64_t>& words, uint64_t iid) {
  auto it = words.find(iid);
  return it == words.end() ? k_no_word : it->second;
}

}  // namespace

// A field and the column that it goes to. Without a name: the column before, where the message lacks the fields above.
struct GpuSource {
  uint32_t field;
  const char* column;
  Type type = Type::u64;
  Read how = is_number;
  WordList words = {};
  bool is_zero = false;  // where the message leaves it out
};

namespace {

constexpr GpuSource k_stages[] = {{1, "event_id"},
                                  {11, "gpu_id", k_i32},
                                  {13, "queue_id"},
                                  {3, nullptr},
                                  {13, "queue", k_text, is_specification},
                                  {3, nullptr, k_text, is_queue},
                                  {17, "stage", k_text, is_word},  // a name of its own
                                  {14, nullptr, k_text, is_specification},
                                  {4, nullptr, k_text, is_stage},
                                  {2, "duration_ns"},
                                  {5, "context"},
                                  {5, "pid", k_i32, is_owner},
                                  {5, "process", k_text, is_owner_name},
                                  {10, "submission_id", k_u32},
                                  {8, "render_target"},
                                  {9, "render_pass"},
                                  {12, "command_buffer"},
                                  {16, "render_pass_instance"},
                                  {6, "extra", k_text, is_pair},
                                  {7, nullptr, k_text, is_description}};
constexpr GpuSource k_memory[] = {{1, "source", k_text, is_one_of, k_sources},
                                  {2, "operation", k_text, is_one_of, k_operations},
                                  {4, "pid", k_i32},
                                  {4, "process", k_text, is_process},
                                  {5, "address"},
                                  {6, "size"},
                                  {7, "caller", k_text, is_function},
                                  {8, "scope", k_text, is_one_of, k_scopes},
                                  {16, "device"},
                                  {17, "device_memory"},
                                  {18, "memory_type", k_u32},
                                  {19, "heap", k_u32},
                                  {20, "object"},
                                  {3, nullptr, Type::u64, is_time}};
constexpr GpuSource k_names[] = {
    {1, "pid", k_i32}, {2, "device"}, {3, "object_type", k_i32}, {4, "object"}, {5, "name", k_text, is_word}};
constexpr GpuSource k_submits[] = {{2, "pid", k_i32},
                                   {2, "process", k_text, is_process},
                                   {3, "tid", k_i32},
                                   {4, "queue"},
                                   {6, "submission_id", k_u32},
                                   {1, "duration_ns"},
                                   {5, "command_buffers", k_text, is_handle}};
constexpr GpuSource k_logs[] = {
    {1, "severity", k_text, is_one_of, k_severities}, {2, "tag", k_text, is_word}, {3, "message", k_text, is_word}};
// The same as the event of ftrace of that name, whose fields stand in this order.
constexpr GpuSource k_totals[] = {{1, "gpu_id", k_u32, is_number, {}, true},
                                  {2, "pid", k_u32, is_number, {}, true},
                                  {3, "size", Type::u64, is_number, {}, true}};
constexpr GpuSource k_counters[] = {
    {1, "gpu_id", k_i32, is_number, {}, true},  // the descriptor's, not the counter's
    {1, "counter_id", k_u32, is_number, {}, true}, {1, "name", k_text, is_counter, {}, true}, {3, "value", k_f64},
    {2, nullptr, k_f64, is_real_number},           {1, "unit", k_text, is_unit, {}, true}};

}  // namespace

struct PerfettoGpu::Event {
  uint32_t cls, present = 0;
  int64_t t;
  std::array<uint64_t, k_most_columns> values{};
  std::array<uint8_t, k_most_columns> from;  // by column that is present: its source
  std::string list;                          // the text of the column `list_column`
  size_t columns, list_column = 0;
  Event(const Shape& shape, int64_t at) : cls(shape.cls), t(at), columns(shape.columns) {}
  bool has(size_t column) const { return present >> column & 1; }
  void set(const Target& to, uint64_t value) {
    if (has(to.column) && from[to.column] < to.rank) return;
    values[to.column] = value;
    from[to.column] = to.rank;
    present |= 1u << to.column;
  }
};

const PerfettoGpu::Shape& PerfettoGpu::shape_of(const char* name, Sources sources) {
  auto [it, is_new] = shapes_.try_emplace(sources.data());
  Shape& shape = it->second;
  if (!is_new) return shape;
  std::vector<FieldInfo> all;
  for (auto& source : sources) {
    if (source.column) all.push_back({source.column, {source.type, Type::u64}});
    const Target target{&source, static_cast<uint8_t>(all.size() - 1), static_cast<uint8_t>(&source - sources.data())};
    shape.by_field[source.field].push_back(target);
    if (source.is_zero) shape.by_field[0].push_back(target);
  }
  shape.columns = all.size();
  shape.cls = add_(name, std::move(all));
  return shape;
}

PerfettoGpu::Event PerfettoGpu::read(const Shape& shape, int64_t t, View body, const Sequence& s) {
  Event e(shape, t);
  Proto f(body);
  do {
    if (f.field >= shape.by_field.size()) continue;
    for (auto& target : shape.by_field[f.field])
      target.source->how == is_number ? e.set(target, f.value) : take(e, target, f, s);  // numbers are most of them
  } while (f.next());
  cut_ += f.cut;
  if (!e.list.empty()) e.values[e.list_column] = word(e.list);
  return e;
}

void PerfettoGpu::take(Event& e, const Target& target, const Proto& f, const Sequence& s) {
  const GpuSource& source = *target.source;
  auto set = [&](uint64_t value) { e.set(target, value); };
  switch (source.how) {
    case is_real_number: return set(std::bit_cast<uint64_t>(static_cast<double>(static_cast<int64_t>(f.value))));
    case is_word: return set(word(f.bytes));
    case is_one_of: return set(word(one_of(source.words, f.value)));
    case is_function: return set(found(s.functions, f.value));
    case is_specification: return set(found(s.specifications, f.value));
    case is_owner:
    case is_owner_name: {
      auto it = s.processes.find(f.value);
      if (it == s.processes.end() || !it->second) return;
      return set(source.how == is_owner ? it->second : later(is_process, it->second));
    }
    case is_pair:
    case is_handle:
      if (source.how == is_pair) append(e.list, pair_of(f.bytes), ' ');
      if (source.how == is_handle)
        for (uint64_t handle : packed(f)) append(e.list, std::to_string(handle), ' ');
      e.list_column = target.column;
      return set(k_no_word);
    case is_time:
      if (f.value) e.t = static_cast<int64_t>(f.value);
      return;
    case is_description: return specifications(f.bytes);
    default: return set(later(source.how, f.value));
  }
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
  auto put = [&](const char* name, Sources sources) { add(p, read(shape_of(name, sources), p.t, p.body, s), s); };
  switch (p.kind) {
    case 52: counters(p, s); break;
    case 53: {
      // A packet that only describes queues and stages has no id.
      Event e = read(shape_of("gpu_render_stage", k_stages), p.t, p.body, s);
      if (e.has(0)) add(p, e, s);
      break;
    }
    case 62: put("vulkan_memory", k_memory); break;
    case 63: put("gpu_log", k_logs); break;
    case 65: vulkan(p, s); break;
    case 71: put("gpu_mem_total", k_totals); break;
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

void PerfettoGpu::counters(const GpuPacket& p, const Sequence& s) {
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
  const Shape& shape = shape_of("gpu_counter", k_counters);
  for (View one : counters) {
    Event e = read(shape, p.t, one, s);
    e.values[0] = gpu;
    if (e.has(3)) add(p, e, s);
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

void PerfettoGpu::vulkan(const GpuPacket& p, const Sequence& s) {
  Proto f(p.body);
  while (f.next()) {
    if (f.wire != 2) continue;
    if (f.field == 1) add(p, read(shape_of("vulkan_object_name", k_names), p.t, f.bytes, s), s);
    if (f.field == 2) add(p, read(shape_of("vulkan_queue_submit", k_submits), p.t, f.bytes, s), s);
  }
  cut_ += f.cut;
}

void PerfettoGpu::add(const GpuPacket& p, const Event& e, const Sequence& s) {
  uint64_t clock = p.clock ? p.clock : s.clock ? s.clock : k_boot;
  if (clock >= 64 && clock < 128) clock |= p.sequence << 32;
  rows_.push_back({e.t, clock, values_.size(), e.cls, e.present});
  values_.insert(values_.end(), e.values.begin(), e.values.begin() + static_cast<long>(e.columns));
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
  switch (static_cast<Read>(value >> 56)) {
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
    default: break;
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
      out.real(column, real_of(value, 8));
    } else {
      out.integer(column, value, info[f].type.type == k_i32);
    }
  }
}

}  // namespace dt::kernel
