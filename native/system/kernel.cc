#include "kernel.h"

#include <zlib.h>
#include <zstd.h>

#include "../common/utf8.h"

namespace dt::kernel {
namespace {

constexpr size_t k_batch_rows = 122880;  // as many as DuckDB puts together: it takes them over without cutting them
constexpr size_t k_kept_problems = 20;   // of one kind at one place; the rest is summed up

unsigned width_of(Type type) {
  switch (type) {
    case Type::boolean:
    case Type::u8:
    case Type::i8: return 8;
    case Type::u16:
    case Type::i16: return 16;
    case Type::u32:
    case Type::i32: return 32;
    default: return 64;
  }
}
bool is_integer(Type type) { return type == Type::boolean || (type >= Type::u8 && type <= Type::i64); }
bool is_signed(Type type) { return type == Type::i8 || type == Type::i16 || type == Type::i32 || type == Type::i64; }
bool is_real(Type type) { return type == Type::f32 || type == Type::f64; }

// The type that holds both: fields of one name differ between events, kernels and traces.
ColumnType both(ColumnType a, ColumnType b) {
  if (a.type == b.type && (a.type != Type::list || a.item == b.item)) return a;
  if (a.type == Type::list && b.type == Type::list)
    return {Type::list, is_integer(a.item) && is_integer(b.item) ? Type::i64 : Type::f64};
  if (a.type == Type::list || b.type == Type::list) return {Type::text, Type::u64};
  if (is_integer(a.type) && is_integer(b.type)) {
    bool sa = is_signed(a.type), sb = is_signed(b.type);
    unsigned wa = width_of(a.type), wb = width_of(b.type);
    if (sa == sb) return wa >= wb ? a : b;
    unsigned width = std::max(sa ? wa : wa * 2, sb ? wb : wb * 2);
    if (width <= 16) return {Type::i16, Type::u64};
    return {width <= 32 ? Type::i32 : Type::i64, Type::u64};
  }
  if ((is_integer(a.type) || is_real(a.type)) && (is_integer(b.type) || is_real(b.type))) return {Type::f64, Type::u64};
  return {Type::text, Type::u64};
}

class Merge : public BatchSource {
 public:
  Merge(std::shared_ptr<Trace> trace, std::unique_ptr<Output> output)
      : trace_(std::move(trace)), out_(std::move(output)), generation_(trace_->generation.load()) {}

  bool next(Batch& batch) override {
    if (!started_) start();
    out_->start(batch);
    size_t until_check = 4096;
    while (!heap_.empty() && batch.rows < static_cast<int64_t>(k_batch_rows)) {
      if (!--until_check) {
        if (trace_->generation.load(std::memory_order_relaxed) != generation_) throw Error(DT_E_CANCELLED, "cancelled");
        until_check = 4096;
      }
      Lane& lane = *heap_[0];
      out_->begin_row(lane.t, lane.cls);
      lane.emit(*out_);
      out_->end_row();
      if (!lane.next()) {
        heap_[0] = heap_.back();
        heap_.pop_back();
      }
      sift();
    }
    out_->finish();
    return batch.rows > 0;
  }

 private:
  void start() {
    started_ = true;
    lanes_ = trace_->lanes();
    for (auto& lane : lanes_) {
      lane->wanted = out_->wanted.data();
      lane->begin = out_->begin;
      lane->end = out_->end;
      if (lane->next()) heap_.push_back(lane.get());
    }
    // Equal times keep the order of the lanes at the start.
    std::stable_sort(heap_.begin(), heap_.end(), [](Lane* a, Lane* b) { return a->t < b->t; });
  }
  void sift() {
    size_t at = 0, n = heap_.size();
    for (;;) {
      size_t child = 2 * at + 1;
      if (child >= n) return;
      if (child + 1 < n && heap_[child + 1]->t < heap_[child]->t) ++child;
      if (heap_[at]->t <= heap_[child]->t) return;
      std::swap(heap_[at], heap_[child]);
      at = child;
    }
  }

  std::shared_ptr<Trace> trace_;
  std::unique_ptr<Output> out_;
  uint64_t generation_;
  bool started_ = false;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<Lane*> heap_;
};

}  // namespace

// ---- output -------------------------------------------------------------------------------------

void Output::start(Batch& batch) {
  batch.start(schema);
  batch_ = &batch;
}

void Output::finish() {
  std::shared_ptr<const std::vector<std::string>> words;
  for (size_t i = 0; i < schema.size(); ++i) {
    if (schema[i].type.type != Type::dictionary) continue;
    if (!words) words = std::make_shared<const std::vector<std::string>>(words_);
    batch_->columns[i].words = words;
  }
}

uint32_t Output::intern(std::string_view word) {
  uint64_t h = word.size() * 0x9E3779B97F4A7C15u;
  uint64_t part = 0;
  memcpy(&part, word.data(), std::min<size_t>(8, word.size()));
  h = (h ^ part) * 0x9E3779B97F4A7C15u;
  if (word.size() > 8) {
    part = 0;
    memcpy(&part, word.data() + 8, std::min<size_t>(8, word.size() - 8));
    h = (h ^ (h >> 29) ^ part) * 0x9E3779B97F4A7C15u;
  }
  auto& slot = recent_[h >> 56];
  if (slot.used && words_[slot.word] == word) return slot.word;
  std::string key(word);
  auto [it, is_new] = word_of_.try_emplace(key, static_cast<uint32_t>(words_.size()));
  if (is_new) {
    std::string valid = valid_utf8(word);
    // The recent slot compares with what is kept: only words that were valid come back through it.
    words_.push_back(std::move(valid));
  }
  slot = {it->second, true};
  return it->second;
}

void Output::one_integer(int at, uint64_t bits, bool is_signed) {
  Column* column = open(at);
  if (!column) return;
  switch (column->type.type) {
    case Type::boolean: column->boolean(bits != 0); break;
    case Type::u8:
    case Type::i8: column->value(static_cast<uint8_t>(bits)); break;
    case Type::u16:
    case Type::i16: column->value(static_cast<uint16_t>(bits)); break;
    case Type::u32:
    case Type::i32: column->value(static_cast<uint32_t>(bits)); break;
    case Type::u64:
    case Type::i64: column->value(bits); break;
    case Type::f32:
      column->value(is_signed ? static_cast<float>(static_cast<int64_t>(bits)) : static_cast<float>(bits));
      break;
    case Type::f64:
      column->value(is_signed ? static_cast<double>(static_cast<int64_t>(bits)) : static_cast<double>(bits));
      break;
    case Type::text:
    case Type::dictionary:
      one_text(at, is_signed ? std::to_string(static_cast<int64_t>(bits)) : std::to_string(bits));
      break;
    default: column->null();
  }
}

void Output::real(int at, double value) {
  for (; at >= 0; at = next(at)) {
    Column* column = open(at);
    if (!column) continue;
    switch (column->type.type) {
      case Type::f32: column->value(static_cast<float>(value)); break;
      case Type::f64: column->value(value); break;
      case Type::text: column->text(std::to_string(value)); break;
      default: column->null();
    }
  }
}

void Output::one_text(int at, std::string_view value) {
  Column* column = open(at);
  if (!column) return;
  if (column->type.type == Type::dictionary) return column->value(intern(value));
  column->type.type == Type::text ? column->text(value) : column->null();
}

void Output::binary(int at, std::string_view value) {
  for (; at >= 0; at = next(at)) {
    Column* column = open(at);
    if (!column) continue;
    column->type.type == Type::binary ? column->text(value) : column->null();
  }
}

void Output::list(int at, const uint8_t* from, size_t count, size_t width, bool is_signed, bool swapped) {
  for (; at >= 0; at = next(at)) {
    Column* column = open(at);
    if (!column) continue;
    if (column->type.type != Type::list || column->child->length + static_cast<int64_t>(count) > INT32_MAX) {
      column->null();
      continue;
    }
    for (size_t i = 0; i < count; ++i) {
      uint64_t v = load_bytes(from + i * width, width, swapped);
      if (is_signed) v = extend_sign(v, static_cast<unsigned>(width * 8));
      switch (column->child->type.type) {
        case Type::u8:
        case Type::i8: column->child->value(static_cast<uint8_t>(v)); break;
        case Type::u16:
        case Type::i16: column->child->value(static_cast<uint16_t>(v)); break;
        case Type::u32:
        case Type::i32: column->child->value(static_cast<uint32_t>(v)); break;
        case Type::f64: column->child->value(static_cast<double>(static_cast<int64_t>(v))); break;
        default: column->child->value(v);
      }
    }
    column->end_list();
  }
}

std::string valid_utf8(std::string_view s) {
  std::string out;
  out.reserve(s.size());
  each_valid_utf8(s, [&](std::string_view piece) { out += piece; });
  return out;
}

ColumnType type_of(int64_t code) {
  if (code >= 32 && code < 32 + static_cast<int64_t>(Type::text)) return {Type::list, static_cast<Type>(code - 32)};
  if (code < 0 || code > static_cast<int64_t>(Type::binary)) throw Error(DT_E_ARGUMENT, "unknown type in the plan");
  return {static_cast<Type>(code), Type::u64};
}

size_t decompress(int method, const uint8_t* data, size_t length, uint8_t* out, size_t room, std::string* why) {
  if (method == 1) {
    size_t got = ZSTD_decompress(out, room, data, length);
    if (!ZSTD_isError(got)) return got;
    *why = ZSTD_getErrorName(got);
    return 0;
  }
  if (method == 2) {
    uLongf got = room;
    int code = uncompress(out, &got, data, length);
    if (code == Z_OK) return got;
    *why = zError(code);
    return 0;
  }
  *why = "unknown compression";
  return 0;
}

// ---- trace --------------------------------------------------------------------------------------

// Number of classes; for each its name, the fields of tid, pid, comm and cpu (or -1), number of fields, name and type
// each.
void Trace::read_classes(Plan& plan) {
  size_t n = plan.count();
  for (size_t i = 0; i < n; ++i) {
    EventClass c;
    c.name = valid_utf8(plan.text());
    int64_t base[] = {plan.number(), plan.number(), plan.number(), plan.number()};
    size_t fields = plan.count();
    for (size_t f = 0; f < fields; ++f) {
      std::string name = valid_utf8(plan.text());
      c.fields.push_back({std::move(name), type_of(plan.number())});
    }
    static const Base order[] = {base_tid, base_pid, base_comm, base_cpu};
    for (size_t k = 0; k < 4; ++k) {
      if (base[k] < -1 || base[k] >= static_cast<int64_t>(fields))
        throw Error(DT_E_ARGUMENT, "a number of the plan is out of range");
      c.base[order[k]] = static_cast<int>(base[k]);
    }
    classes.push_back(std::move(c));
  }
  index_names();
}

void Trace::index_names() {
  names_.clear();
  for (size_t i = 0; i < classes.size(); ++i) names_[classes[i].name].push_back(static_cast<uint32_t>(i));
  counts.resize(classes.size());
}

uint32_t Trace::add_class(std::string name) {
  classes.emplace_back();
  classes.back().name = std::move(name);
  return static_cast<uint32_t>(classes.size() - 1);
}

void Trace::note(Problem problem) {
  std::lock_guard lock(noted_mutex_);
  auto& noted = noted_[{problem.kind, problem.where}];
  // Every pass over the trace meets the same problems.
  for (auto& p : noted.kept)
    if (p.text == problem.text && p.begin == problem.begin && p.end == problem.end) return;
  if (noted.kept.size() < k_kept_problems) return noted.kept.push_back(std::move(problem));
  if (scanned_) return;
  ++noted.more;
  noted.rest.count += problem.count;
  if (noted.more == 1) noted.rest.begin = problem.begin;
  noted.rest.end = problem.end;
}

std::vector<Problem> Trace::problems() {
  scan();
  std::lock_guard lock(noted_mutex_);
  std::vector<Problem> all;
  for (auto& [key, noted] : noted_) {
    all.insert(all.end(), noted.kept.begin(), noted.kept.end());
    if (!noted.more) continue;
    Problem rest = noted.rest;
    rest.kind = key.first;
    rest.where = key.second;
    rest.text = "and " + std::to_string(noted.more) + " times more";
    all.push_back(std::move(rest));
  }
  return all;
}

void Trace::scan() {
  std::lock_guard lock(scan_mutex_);
  if (scanned_) return;
  {
    // Notes of an unfinished pass come again.
    std::lock_guard noted(noted_mutex_);
    for (auto& [key, noted] : noted_) noted.more = 0, noted.rest = {};
  }
  uint64_t began = generation.load();
  std::vector<uint64_t> by_class(classes.size());
  int64_t low = k_last, high = k_first;
  uint64_t backwards = 0, checks = 0;
  int64_t back_at = k_first;
  for (auto& lane : lanes()) {
    int64_t before = k_first;
    while (lane->next()) {
      ++by_class[lane->cls];
      if (lane->t < before) {
        if (!backwards++) back_at = lane->t;
      } else {
        before = lane->t;
      }
      low = std::min(low, lane->t);
      high = std::max(high, lane->t);
      if (!(++checks & 0xfff) && generation.load(std::memory_order_relaxed) != began)
        throw Error(DT_E_CANCELLED, "cancelled");
    }
  }
  if (backwards)
    note({"order", "events", std::to_string(backwards) + " events are older than one before them in the same stream",
          backwards, back_at, k_last});
  counts = std::move(by_class);
  first = low;
  last = high;
  scanned_ = true;
}

// ---- request ------------------------------------------------------------------------------------

Request read_request(Plan& plan) {
  Request r;
  r.all_names = plan.number() != 0;
  for (size_t n = plan.count(); n; --n) r.names.push_back(plan.text());
  r.all_fields = plan.number() != 0;
  for (size_t n = plan.count(); n; --n) {
    Request::Column wish;
    wish.column = plan.text();
    for (size_t k = plan.count(); k; --k) wish.sources.push_back(plan.text());
    r.columns.push_back(std::move(wish));
  }
  r.begin = plan.number();
  r.end = plan.number();
  return r;
}

namespace {

const std::pair<const char*, Base> k_bases[] = {
    {"cpu", base_cpu}, {"tid", base_tid}, {"pid", base_pid}, {"comm", base_comm}};

const Base* base_called(const std::string& name) {
  for (auto& [word, base] : k_bases)
    if (name == word) return &base;
  return nullptr;
}

std::vector<Request::Column> all_columns(const Trace& trace, const std::vector<uint32_t>& chosen) {
  std::vector<Request::Column> wishes = {{"cpu", {"cpu"}}, {"tid", {"tid"}}, {"comm", {"comm"}}};
  std::map<std::string, bool> seen;
  for (auto cls : chosen)
    for (auto& field : trace.classes[cls].fields)
      if (!field.name.empty() && !seen[field.name]) {
        seen[field.name] = true;
        bool taken = base_called(field.name) || field.name == "t" || field.name == "event";
        std::string name = taken ? "event." + field.name : field.name;
        wishes.push_back({name, {name}});
      }
  return wishes;
}

// The classes of events that a request is about.
std::vector<uint32_t> chosen_classes(Trace& trace, const Request& request, Output& out) {
  std::vector<uint32_t> chosen;
  if (request.all_names) {
    // A trace describes thousands of events; the fields of those that do not occur are of no use.
    if (request.all_fields) trace.scan();
    for (uint32_t i = 0; i < trace.classes.size(); ++i)
      if (!request.all_fields || trace.counts[i]) chosen.push_back(i);
  } else {
    for (auto& name : request.names) {
      auto it = trace.names().find(name);
      if (it == trace.names().end()) continue;
      for (auto cls : it->second)
        if (!out.wanted[cls]) {
          chosen.push_back(cls);
          out.wanted[cls] = 1;
        }
    }
  }
  return chosen;
}

// Where the class has what a wish asks for, nullptr: nowhere. `type` becomes its type.
int* slot_of(const Request::Column& wish, const EventClass& c, Output::Class& plan, ColumnType& type) {
  int* slot = nullptr;
  for (auto& source : wish.sources) {
    const Base* base = base_called(source);
    if (base) {
      if (*base == base_comm) type = {Type::dictionary, Type::u64};
      slot = c.base[*base] >= 0 ? &plan.target[static_cast<size_t>(c.base[*base])] : &plan.base[*base];
      break;
    }
    std::string_view name = source;
    if (name.starts_with("event.")) name.remove_prefix(6);
    for (size_t f = 0; f < c.fields.size(); ++f)
      if (!c.fields[f].name.empty() && (c.fields[f].name == name || c.fields[f].name == source)) {
        slot = &plan.target[f];
        type = c.fields[f].type;
        break;
      }
    if (slot) break;
  }
  return slot;
}

}  // namespace

std::unique_ptr<Output> make_output(Trace& trace, const Request& request) {
  auto out = std::make_unique<Output>();
  out->wanted.resize(trace.classes.size());
  const std::vector<uint32_t> chosen = chosen_classes(trace, request, *out);
  for (auto cls : chosen) out->wanted[cls] = 1;
  out->begin = request.begin;
  out->end = request.end;
  out->schema.push_back({"t", {Type::i64, Type::u64}});
  if (request.all_names || request.names.size() != 1) {
    out->event = 1;
    out->schema.push_back({"event", {Type::dictionary, Type::u64}});
  }
  auto wishes = request.all_fields ? all_columns(trace, chosen) : request.columns;
  out->classes.resize(trace.classes.size());
  size_t columns = out->schema.size() + wishes.size();
  for (auto cls : chosen) {
    out->classes[cls].target.assign(trace.classes[cls].fields.size(), -1);
    out->classes[cls].next.assign(columns, -1);
  }
  for (auto& wish : wishes) {
    if (wish.column == "t") continue;  // it is there
    int column = static_cast<int>(out->schema.size());
    if (wish.column == "event") {
      if (out->event < 0) {
        out->event = column;
        out->schema.push_back({"event", {Type::dictionary, Type::u64}});
      }
      continue;
    }
    for (auto& have : out->schema)
      if (have.name == wish.column) throw Error(DT_E_ARGUMENT, "two columns are called " + wish.column);
    bool typed = false;
    ColumnType type{Type::i64, Type::u64};
    auto hold = [&](ColumnType t) {
      type = typed ? both(type, t) : t;
      typed = true;
    };
    for (auto cls : chosen) {
      auto& plan = out->classes[cls];
      ColumnType column_type{Type::i32, Type::u64};
      int* slot = slot_of(wish, trace.classes[cls], plan, column_type);
      if (!slot) continue;
      hold(column_type);
      plan.next[static_cast<size_t>(column)] = *slot;
      *slot = column;
    }
    out->schema.push_back({wish.column, type});
  }
  out->word_of_class.resize(trace.classes.size());
  out->name_words(trace.classes);
  trace.prepare(*out);
  return out;
}

void Output::name_words(const std::vector<EventClass>& all) {
  for (size_t i = 0; i < all.size(); ++i)
    if (wanted[i]) word_of_class[i] = intern(all[i].name);
}

void export_events(std::shared_ptr<Trace> trace, std::unique_ptr<Output> output, ArrowArrayStream* out) {
  auto schema = output->schema;
  export_stream(std::move(schema), std::make_unique<Merge>(std::move(trace), std::move(output)), out);
}

}  // namespace dt::kernel
