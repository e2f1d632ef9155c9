#include "calls.h"

#include "content.h"
#include "structures.h"

#include <memory>
#include <mutex>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <ranges>
#include <set>
#include <thread>

namespace dt {
namespace {

constexpr uint32_t BATCH_ROWS = 64 * 1024;
constexpr size_t LIST_ELEMENTS = 1024;

// The part of a chunk that a column needs decoded.
struct Cursor {
  std::shared_ptr<OpenChunk> chunk;
  size_t function = 0;                             // of function tables
  const std::vector<uint32_t>* records = nullptr;  // row -> record; nullptr: row == record
  const FunctionColumns* columns = nullptr;        // of function tables
};

// Rows of one chunk, one after the other: in function tables numbers among the function's records, else numbers of
// calls.
struct Segment {
  size_t cursor = 0;
  uint32_t from = 0, to = 0;
};

struct Item {  // of work: rows that make one batch
  struct Part {
    size_t chunk;
    uint32_t from, to;
  };  // calls of a chunk
  std::vector<Part> parts;
  size_t group = SIZE_MAX;  // with it: the calls [from, to) of a merged group, as offsets from its base
  uint32_t from = 0, to = 0;
  uint64_t weight = 0;  // bytes of the file, for progress
};

std::vector<Item> plan(const Trace& trace, const Selection& s, uint32_t batch_rows) {
  std::vector<Item> items;
  Item item;
  uint64_t rows = 0;
  auto flush = [&] {
    if (!item.parts.empty()) items.push_back(std::move(item));
    item = {};
    rows = 0;
  };
  for (size_t g = 0; g < trace.groups.size(); ++g) {
    auto& group = trace.groups[g];
    uint64_t first = std::max(s.first_seq, group.base), end = std::min(s.end_seq, group.base + group.calls);
    if (first >= end) continue;
    uint64_t present = 0, bytes = 0;
    for (size_t c : group.chunks) {
      auto& chunk = trace.calls_chunks[c];
      bytes += trace.chunks[chunk.chunk].header.payload_bytes;
      auto* entry = s.function ? chunk.find(s.function->id) : nullptr;
      present += s.function ? (entry ? entry->count : 0) : chunk.meta.calls;
    }
    if (!present) continue;
    if (group.chunks.size() == 1) {
      for (uint64_t at = first; at < end;) {
        uint64_t to = end;
        if (!s.function && to - at > batch_rows - rows) to = at + (batch_rows - rows);
        item.parts.push_back(
            {group.chunks[0], static_cast<uint32_t>(at - group.base), static_cast<uint32_t>(to - group.base)});
        item.weight += bytes * (to - at) / std::max<uint64_t>(group.calls, 1);
        rows += s.function ? present : to - at;
        at = to;
        if (rows >= batch_rows || item.parts.size() >= 256) flush();
      }
      continue;
    }
    flush();
    uint64_t window = batch_rows;
    if (s.function)
      window = std::min<uint64_t>(group.calls, std::max<uint64_t>(batch_rows, batch_rows * group.calls / present));
    for (uint64_t at = first; at < end; at += window) {
      Item w;
      w.group = g;
      w.from = static_cast<uint32_t>(at - group.base);
      w.to = static_cast<uint32_t>(std::min(end, at + window) - group.base);
      w.weight = bytes * (w.to - w.from) / group.calls;
      items.push_back(std::move(w));
    }
  }
  flush();
  return items;
}

// Small map from enumerant to index in a batch's dictionary.
struct Words {
  std::shared_ptr<std::vector<std::string>> words = std::make_shared<std::vector<std::string>>();
  std::unordered_map<uint64_t, uint32_t> index;
  uint64_t last = 0;
  uint32_t last_index = UINT32_MAX;
};

class Builder {
 public:
  Builder(const Trace& trace, const std::vector<ColumnSpec>& specs, const Function* function)
      : trace_(trace), specs_(specs), function_(function), printer_(trace) {
    for (auto& s : specs)
      if (s.source == Source::frame) frames_ = trace.frames();
    names_ = std::make_shared<std::vector<std::string>>();
    apis_ = std::make_shared<std::vector<std::string>>();
    categories_ = std::make_shared<std::vector<std::string>>();
    auto index = [](std::vector<std::string>& list, const std::string& word) {
      for (size_t i = 0; i < list.size(); ++i)
        if (list[i] == word) return static_cast<uint32_t>(i);
      list.push_back(word);
      return static_cast<uint32_t>(list.size() - 1);
    };
    of_function_.assign(DT_FUNCTIONS, {UINT32_MAX, UINT32_MAX, UINT32_MAX});
    for (unsigned id = 0; id < DT_FN_FIRST_TAP; ++id) {
      auto* f = trace.signatures.by_id(id);
      if (!trace.calls_of(id) && !(function && f == function)) continue;
      names_->push_back(f ? f->name : "function" + std::to_string(id));
      of_function_[id] = {static_cast<uint32_t>(names_->size() - 1), index(*apis_, f ? f->api : "?"),
                          index(*categories_, f ? f->category : "?")};
    }
  }

  void build(const Item& item, Batch& batch) {
    cursors_.clear();
    std::vector<Segment> segments;
    if (item.group != SIZE_MAX)
      window(item, segments);
    else
      for (auto& part : item.parts) plain_part(part, segments);
    batch.rows = 0;
    for (auto& s : segments) batch.rows += s.to - s.from;
    batch.columns.clear();
    for (auto& spec : specs_) {
      batch.columns.emplace_back(spec.type);
      Column& column = batch.columns.back();
      words_ = {};
      for (auto& s : segments) fill(spec, column, cursors_[s.cursor], s);
      if (spec.type.type == Type::dictionary && !column.words) column.words = dictionary(spec);
    }
    cursors_.clear();
  }

 private:
  struct OfFunction {
    uint32_t name, api, category;
  };

  static void decode_all(OpenChunk& c) {
    c.durations();
    for (size_t f = 0; f < c.info.functions.size(); ++f)
      if (!c.info.functions[f].tap()) c.columns(f);
    c.ordinals();
  }
  // Decodes what the columns need of a chunk, but for the order of its records: true where that is needed, too.
  bool decode(OpenChunk& c) const {
    bool order = !c.plain();
    for (auto& s : specs_) {
      switch (s.source) {
        case Source::t_start: c.entries(); break;
        case Source::duration: c.durations(); break;
        case Source::t_end: c.entries(), c.durations(); break;
        case Source::context: c.context(0); break;
        case Source::name:
        case Source::fn:
        case Source::api:
        case Source::category: order = true; break;
        case Source::params:
        case Source::result:
        case Source::call:
        case Source::payload_bytes:
          order = true;
          if (!function_) decode_all(c);
          break;
        default: break;
      }
    }
    return order;
  }
  // Open a chunk and decode what the columns need, so that damage is found before any row is made.
  bool open(size_t chunk, Cursor& cursor) {
    try {
      cursor.chunk = std::make_shared<OpenChunk>(trace_, chunk);
      auto& c = *cursor.chunk;
      if (decode(c)) c.order();
      if (function_) {
        auto* entry = c.info.find(function_->id);
        if (!entry) return false;
        cursor.function = static_cast<size_t>(entry - c.info.functions.data());
        cursor.records = &c.records_of(cursor.function);
        for (auto& s : specs_) {
          const bool text = s.source == Source::params || s.source == Source::result || s.source == Source::call;
          if (s.field || text || s.source == Source::payload_bytes) cursor.columns = &c.columns(cursor.function);
          if (text) c.ordinals(), c.durations();
          if (s.field && s.field == function_->result.get()) c.durations();  // a call in flight has no result
        }
      } else if (!c.plain()) {
        cursor.records = &c.call_records();
      }
      if (function_ && !c.plain()) c.record_calls();
      return true;
    } catch (const Error& e) {
      say_damaged(trace_, chunk, e);
      return false;
    }
  }

  uint32_t record(const Cursor& c, uint32_t row) const { return c.records ? (*c.records)[row] : row; }
  uint32_t call(const Cursor& c, uint32_t row) const {
    if (!function_) return row;
    uint32_t r = (*c.records)[row];
    return c.chunk->plain() ? r : c.chunk->record_calls()[r];
  }
  // Rows of a function table that lie among the calls [from, to).
  std::pair<uint32_t, uint32_t> rows(const Cursor& c, uint32_t from, uint32_t to) const {
    if (!function_) return {from, to};
    const uint32_t size = static_cast<uint32_t>(c.records->size());
    auto bound = [&](uint32_t wanted) {
      return *std::ranges::partition_point(std::views::iota(0u, size),
                                           [&](uint32_t row) { return call(c, row) < wanted; });
    };
    return {bound(from), to >= c.chunk->info.meta.calls ? size : bound(to)};
  }

  void plain_part(const Item::Part& part, std::vector<Segment>& segments) {
    if (function_ && !trace_.calls_chunks[part.chunk].find(function_->id)) return;
    Cursor cursor;
    if (!open(part.chunk, cursor)) return;
    auto [from, to] = rows(cursor, part.from, part.to);
    if (from == to) return;
    cursors_.push_back(std::move(cursor));
    segments.push_back({cursors_.size() - 1, from, to});
  }

  void window(const Item& item, std::vector<Segment>& segments) {
    trace_.merge(item.group);
    auto& group = trace_.groups[item.group];
    struct Run {
      size_t cursor;
      uint32_t at, end;
    };
    std::vector<Run> runs;
    for (size_t n = 0; n < group.chunks.size(); ++n) {
      auto& o = group.offsets[n];
      if (o.empty() || o.front() >= item.to || o.back() < item.from) continue;
      if (function_ && !trace_.calls_chunks[group.chunks[n]].find(function_->id)) continue;
      auto from = static_cast<uint32_t>(std::lower_bound(o.begin(), o.end(), item.from) - o.begin());
      auto to = static_cast<uint32_t>(std::lower_bound(o.begin(), o.end(), item.to) - o.begin());
      Cursor cursor;
      if (from == to || !open(group.chunks[n], cursor)) continue;
      auto [first, end] = rows(cursor, from, to);
      if (first == end) continue;
      cursors_.push_back(std::move(cursor));
      runs.push_back({cursors_.size() - 1, first, end});
    }
    auto seq = [&](const Run& r) {
      return trace_.seq_of(cursors_[r.cursor].chunk->index, call(cursors_[r.cursor], r.at));
    };
    while (!runs.empty()) {
      size_t best = 0;
      uint64_t least = UINT64_MAX, second = UINT64_MAX;
      for (size_t i = 0; i < runs.size(); ++i) {
        uint64_t s = seq(runs[i]);
        if (s < least)
          second = least, least = s, best = i;
        else if (s < second)
          second = s;
      }
      Run& r = runs[best];
      uint32_t from = r.at;
      do ++r.at;
      while (r.at < r.end && seq(r) < second);
      segments.push_back({r.cursor, from, r.at});
      if (r.at == r.end) runs.erase(runs.begin() + static_cast<long>(best));
    }
  }

  std::shared_ptr<const std::vector<std::string>> dictionary(const ColumnSpec& spec) const {
    if (spec.source == Source::name) return names_;
    if (spec.source == Source::api) return apis_;
    if (spec.source == Source::category) return categories_;
    return words_.words;
  }

  uint32_t word(const EnumGroup* group, uint64_t raw) {
    if (raw == words_.last && words_.last_index != UINT32_MAX) return words_.last_index;
    auto [it, fresh] = words_.index.try_emplace(raw, static_cast<uint32_t>(words_.words->size()));
    if (fresh) {
      Bytes text;
      put_enumerant(text, trace_.signatures, group, static_cast<int64_t>(raw));
      words_.words->emplace_back(text.view());
    }
    words_.last = raw;
    return words_.last_index = it->second;
  }

  void fill_seq(Column& column, const Cursor& cursor, const Segment& s) {
    OpenChunk& c = *cursor.chunk;
    const size_t n = s.to - s.from;
    auto* out = reinterpret_cast<uint64_t*>(column.data.extend(n * 8));
    auto& group = trace_.groups[c.info.group];
    if (group.chunks.size() == 1) {
      for (size_t k = 0; k < n; ++k) out[k] = group.base + call(cursor, s.from + static_cast<uint32_t>(k));
    } else {
      for (size_t k = 0; k < n; ++k) out[k] = trace_.seq_of(c.index, call(cursor, s.from + static_cast<uint32_t>(k)));
    }
    column.valid_many(n);
  }
  void fill_frame(Column& column, const Cursor& cursor, const Segment& s) {
    OpenChunk& c = *cursor.chunk;
    const size_t n = s.to - s.from;
    auto& ends = frames_->ends;
    auto* out = reinterpret_cast<uint32_t*>(column.data.extend(n * 4));
    uint64_t first = trace_.seq_of(c.index, call(cursor, s.from));
    auto at = std::lower_bound(ends.begin(), ends.end(), first);
    bool alone = trace_.groups[c.info.group].chunks.size() == 1;
    uint64_t base = trace_.groups[c.info.group].base;
    for (size_t k = 0; k < n; ++k) {
      uint32_t number = call(cursor, s.from + static_cast<uint32_t>(k));
      uint64_t seq = alone ? base + number : trace_.seq_of(c.index, number);
      while (at != ends.end() && *at < seq) ++at;
      out[k] = static_cast<uint32_t>(at - ends.begin());
    }
    column.valid_many(n);
  }
  void fill_origin(Column& column, const Cursor& cursor, const Segment& s) {
    OpenChunk& c = *cursor.chunk;
    const size_t n = s.to - s.from;
    for (size_t k = 0; k < n; ++k) {
      uint64_t origin = c.origin(call(cursor, s.from + static_cast<uint32_t>(k)));
      origin == NO_ORIGIN ? column.null() : column.value<uint64_t>(origin);
    }
  }
  // Name, api or category: a word of the function.
  void fill_word(Source source, Column& column, const Cursor& cursor, const Segment& s) {
    OpenChunk& c = *cursor.chunk;
    const size_t n = s.to - s.from;
    auto* out = reinterpret_cast<uint32_t*>(column.data.extend(n * 4));
    std::vector<uint32_t> of(c.info.functions.size());
    for (size_t f = 0; f < of.size(); ++f) {
      auto& w = of_function_[c.info.functions[f].id()];
      of[f] = source == Source::name ? w.name : source == Source::api ? w.api : w.category;
    }
    auto& order = c.order();
    for (size_t k = 0; k < n; ++k) out[k] = of[order[record(cursor, s.from + static_cast<uint32_t>(k))]];
    column.valid_many(n);
  }
  void fill_start(Column& column, const Cursor& cursor, const Segment& s) {
    OpenChunk& c = *cursor.chunk;
    const size_t n = s.to - s.from;
    auto& entries = c.entries();
    size_t hint = 0;
    if (!entries_timed(entries, cursor, s)) {
      for (uint32_t row = s.from; row < s.to; ++row) {
        uint64_t t = entries[record(cursor, row)];
        t ? column.value<int64_t>(trace_.clock.ns(t, hint)) : column.null();
      }
      return;
    }
    auto* out = reinterpret_cast<int64_t*>(column.data.extend(n * 8));
    for (size_t k = 0; k < n; ++k)
      out[k] = trace_.clock.ns(entries[record(cursor, s.from + static_cast<uint32_t>(k))], hint);
    column.valid_many(n);
  }
  void fill_duration(Column& column, const Cursor& cursor, const Segment& s) {
    OpenChunk& c = *cursor.chunk;
    const size_t n = s.to - s.from;
    auto& durations = c.durations();
    column.data.reserve(n * 8);
    for (uint32_t row = s.from; row < s.to; ++row) {
      uint32_t r = record(cursor, row);
      uint64_t ticks = durations[r];
      const bool timed = ticks < DT_NO_DURATION || c.duration(r, ticks);
      timed ? column.value<int64_t>(trace_.clock.duration(ticks)) : column.null();
    }
  }
  void fill_end(Column& column, const Cursor& cursor, const Segment& s) {
    OpenChunk& c = *cursor.chunk;
    size_t hint = 0;
    for (uint32_t row = s.from; row < s.to; ++row) {
      uint32_t r = record(cursor, row);
      uint64_t entry = c.entries()[r], ticks;
      int64_t end;
      if (entry && c.duration(r, ticks) &&
          !__builtin_add_overflow(trace_.clock.ns(entry, hint), trace_.clock.duration(ticks), &end))
        column.value<int64_t>(end);
      else
        column.null();
    }
  }
  // Columns made of the fields of a call.
  void fill_from_fields(Source source, Column& column, const Cursor& cursor, const Segment& s) {
    OpenChunk& c = *cursor.chunk;
    auto columns_of = [&](uint32_t row, uint32_t& i) -> const FunctionColumns& {
      if (cursor.columns) return i = row, *cursor.columns;
      uint32_t r = record(cursor, row);
      i = c.ordinals()[r];
      return c.columns(c.order()[r]);
    };
    switch (source) {
      case Source::params:
        for (uint32_t row = s.from; row < s.to; ++row) {
          uint32_t i;
          auto& f = columns_of(row, i);
          printer_.params_json(column.data, f, i);
          column.end_text();
        }
        break;
      case Source::result:
        for (uint32_t row = s.from; row < s.to; ++row) {
          uint32_t i;
          auto& f = columns_of(row, i);
          if (!f.function || !f.function->result || c.durations()[record(cursor, row)] == DT_IN_FLIGHT) {
            column.null();
            continue;
          }
          printer_.result(column.data, f, i);
          column.end_text();
        }
        break;
      case Source::call:
        for (uint32_t row = s.from; row < s.to; ++row) {
          printer_.call(column.data, c, record(cursor, row));
          column.end_text();
        }
        break;
      default:
        for (uint32_t row = s.from; row < s.to; ++row) {
          uint32_t i;
          auto& f = columns_of(row, i);
          column.value<uint64_t>(f.function ? content_bytes(f, i) : 0);
        }
        break;
    }
  }
  void fill(const ColumnSpec& spec, Column& column, const Cursor& cursor, const Segment& s) {
    OpenChunk& c = *cursor.chunk;
    const size_t n = s.to - s.from;
    switch (spec.source) {
      case Source::seq: fill_seq(column, cursor, s); break;
      case Source::frame: fill_frame(column, cursor, s); break;
      case Source::thread:
        for (size_t k = 0; k < n; ++k) column.value<uint16_t>(static_cast<uint16_t>(c.info.thread));
        break;
      case Source::origin: fill_origin(column, cursor, s); break;
      case Source::tid:
        for (size_t k = 0; k < n; ++k) column.value<uint32_t>(c.info.meta.tid);
        break;
      case Source::context:
        for (size_t k = 0; k < n; ++k)
          column.value<uint32_t>(c.context(record(cursor, s.from + static_cast<uint32_t>(k))));
        break;
      case Source::name:
      case Source::api:
      case Source::category: fill_word(spec.source, column, cursor, s); break;
      case Source::fn:
        for (uint32_t row = s.from; row < s.to; ++row)
          column.value<uint16_t>(static_cast<uint16_t>(c.info.functions[c.order()[record(cursor, row)]].id()));
        break;
      case Source::t_start: fill_start(column, cursor, s); break;
      case Source::duration: fill_duration(column, cursor, s); break;
      case Source::t_end: fill_end(column, cursor, s); break;
      case Source::params:
      case Source::result:
      case Source::call:
      case Source::payload_bytes: fill_from_fields(spec.source, column, cursor, s); break;
      default:
        if (spec.field)
          field(spec, column, cursor, s);
        else
          for (size_t k = 0; k < n; ++k) column.null();
    }
  }

  static bool entries_timed(const std::vector<uint64_t>& entries, const Cursor&, const Segment&) {
    // Only whole chunks are untimed in practice: look at both ends.
    return !entries.empty() && entries.front() && entries.back();
  }

  void field(const ColumnSpec& spec, Column& column, const Cursor& cursor, const Segment& s) {
    const Field& f = *spec.field;
    const FunctionColumns& c = *cursor.columns;
    size_t n = s.to - s.from;
    auto slot = static_cast<size_t>(std::max(f.slot, 0));
    bool result = spec.field == function_->result.get();
    auto unknown = [&](uint32_t i) {
      return result && cursor.chunk->durations()[(*cursor.records)[i]] == DT_IN_FLIGHT;
    };
    switch (spec.part) {
      case Part::value:
      case Part::number:
      case Part::pointer:
        if (result) {  // a call in flight has none yet
          for (uint32_t i = s.from; i < s.to; ++i) {
            unknown(i) ? column.null() : one_value(spec, column, f, c.raw(f, i));
          }
          return;
        }
        if (f.slot < 0 || spec.type.type == Type::dictionary || spec.type.type == Type::text ||
            spec.type.type == Type::boolean) {
          for (uint32_t i = s.from; i < s.to; ++i) one_value(spec, column, f, c.raw(f, i));
        } else if (f.wide) {
          column.values(c.w8[slot].data() + s.from, n, 8);
        } else if (spec.type.type == Type::i64) {
          for (uint32_t i = s.from; i < s.to; ++i) column.value<int64_t>(c.w4[slot][i]);
        } else {
          column.values(c.w4[slot].data() + s.from, n, 4);
        }
        return;
      case Part::bytes:
        for (uint32_t i = s.from; i < s.to; ++i) {
          uint64_t d = c.descriptor(f, i);
          const bool known = DT_DATA_KIND(d) == DT_DATA_INLINE || DT_DATA_KIND(d) == DT_DATA_BLOB;
          known ? column.value<uint64_t>(DT_DATA_LENGTH(d)) : column.null();
        }
        return;
      case Part::blob:
        for (uint32_t i = s.from; i < s.to; ++i) {
          const bool is_blob = DT_DATA_KIND(c.descriptor(f, i)) == DT_DATA_BLOB;
          is_blob ? column.text(hash_text(c.hash(f, i))) : column.null();
        }
        return;
      case Part::data:
      case Part::list:
        for (uint32_t i = s.from; i < s.to; ++i) content(spec, column, f, c, i);
        return;
      default: return;
    }
  }

  void one_value(const ColumnSpec& spec, Column& column, const Field& f, uint64_t raw) {
    switch (spec.type.type) {
      case Type::dictionary: column.value<uint32_t>(word(f.group, raw)); break;
      case Type::text: put_mask(column.data, f.group, raw), column.end_text(); break;
      case Type::boolean: column.boolean(raw != 0); break;
      case Type::u32:
      case Type::i32:
      case Type::f32: column.value<uint32_t>(static_cast<uint32_t>(raw)); break;
      default: column.value<uint64_t>(raw);
    }
  }

  void content(const ColumnSpec& spec, Column& column, const Field& f, const FunctionColumns& c, uint32_t i) {
    const size_t width = element_bytes(f.element);
    const bool wanted = spec.part == Part::data || !width || f.element == Element::chars;
    std::vector<uint8_t> keep;
    const auto content = content_of(trace_, c, f, i, keep, wanted ? 1ull << 30 : LIST_ELEMENTS * width);
    if (!content) return column.null();
    std::string_view bytes = *content;
    if (spec.type.type == Type::binary) return column.text(bytes);
    if (is_tree(f)) return fill_tree(column, trace_.signatures, f, bytes);
    if (spec.type.type == Type::text) {  // one string
      if (!bytes.empty() && bytes.back() == '\0') bytes.remove_suffix(1);
      put_utf8(column.data, bytes);
      return column.end_text();
    }
    if (f.element == Element::strings) {
      while (bytes.size() >= 4) {
        uint32_t length;
        memcpy(&length, bytes.data(), 4);
        bytes.remove_prefix(4);
        if (length > bytes.size()) break;
        put_utf8(column.child->data, bytes.substr(0, length));
        column.child->end_text();
        bytes.remove_prefix(length);
      }
      return column.end_list();
    }
    if (bytes.size() > LIST_ELEMENTS * width) return column.null();
    column.child->values(bytes.data(), bytes.size() / width, width);
    column.end_list();
  }

  const Trace& trace_;
  const std::vector<ColumnSpec>& specs_;
  const Function* function_;
  Printer printer_;
  std::shared_ptr<const Trace::Frames> frames_;
  std::shared_ptr<std::vector<std::string>> names_, apis_, categories_;
  std::vector<OfFunction> of_function_;
  std::deque<Cursor> cursors_;
  Words words_;
};

// Batches in order, made by several threads that run ahead by a bounded number of items.
class CallSource : public BatchSource {
 public:
  CallSource(std::shared_ptr<const Trace> trace, const Selection& s, std::vector<ColumnSpec> specs)
      : trace_(std::move(trace)), specs_(std::move(specs)), function_(s.function), work_(trace_->generation) {
    items_ = plan(*trace_, s, s.batch_rows ? s.batch_rows : BATCH_ROWS);
    unsigned machine = std::max(1u, std::thread::hardware_concurrency());
    threads_wanted_ = std::min<size_t>({s.threads ? s.threads : machine, 32, items_.size()});
    uint64_t total = 0;
    for (auto& item : items_) total += item.weight;
    trace_->done = 0;
    trace_->total = total;
  }
  ~CallSource() override {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    room_.notify_all();
    for (auto& t : threads_) t.join();
  }

  bool next(Batch& batch) override {
    for (;;) {
      work_.check();
      if (taken_ == items_.size()) return false;
      if (threads_wanted_ < 2) {
        if (!builder_) builder_ = std::make_unique<Builder>(*trace_, specs_, function_);
        builder_->build(items_[taken_], batch);
      } else {
        if (threads_.empty()) start();
        std::unique_lock lock(mutex_);
        ready_.wait(lock, [&] { return failed_ || ready_batches_.count(taken_); });
        if (failed_) std::rethrow_exception(failed_);
        auto it = ready_batches_.find(taken_);
        batch = std::move(it->second);
        ready_batches_.erase(it);
        lock.unlock();
      }
      trace_->done += items_[taken_].weight;
      {
        std::lock_guard lock(mutex_);
        ++taken_;
      }
      room_.notify_all();
      if (batch.rows) return true;
    }
  }

 private:
  void start() {
    for (size_t i = 0; i < threads_wanted_; ++i) threads_.emplace_back([this] { run(); });
  }
  void run() {
    try {
      Builder builder(*trace_, specs_, function_);
      for (;;) {
        size_t mine;
        {
          std::unique_lock lock(mutex_);
          room_.wait(lock, [&] {
            return stop_ || failed_ || given_ == items_.size() || given_ < taken_ + threads_wanted_ * 2 + 1;
          });
          if (stop_ || failed_ || given_ == items_.size()) return;
          mine = given_++;
        }
        work_.check();
        Batch batch;
        builder.build(items_[mine], batch);
        {
          std::lock_guard lock(mutex_);
          ready_batches_.emplace(mine, std::move(batch));
        }
        ready_.notify_all();
      }
    } catch (...) {
      std::lock_guard lock(mutex_);
      if (!failed_) failed_ = std::current_exception();
      ready_.notify_all();
      room_.notify_all();
    }
  }

  std::shared_ptr<const Trace> trace_;
  std::vector<ColumnSpec> specs_;
  const Function* function_;
  Work work_;
  std::vector<Item> items_;
  size_t threads_wanted_ = 1, taken_ = 0, given_ = 0;
  bool stop_ = false;
  std::exception_ptr failed_;
  std::unique_ptr<Builder> builder_;
  std::mutex mutex_;
  std::condition_variable ready_, room_;
  std::map<size_t, Batch> ready_batches_;
  std::vector<std::thread> threads_;
};

}  // namespace

Selection resolve(const Trace& trace, const dt_selection* selection) {
  Selection s;
  if (!selection) return s;
  if (selection->function && *selection->function) {
    s.function = trace.function_named(selection->function);
    if (!s.function) throw Error(DT_E_ARGUMENT, std::string("no function ") + selection->function);
  }
  if (selection->columns) s.columns = selection->columns, s.default_columns = false;
  s.first_seq = selection->first_seq;
  if (selection->end_seq) s.end_seq = selection->end_seq;
  if (selection->first_frame || selection->end_frame) {
    auto frames = trace.frames();
    auto& ends = frames->ends;
    uint64_t f = selection->first_frame;
    if (f > ends.size())
      s.end_seq = s.first_seq;
    else if (f)
      s.first_seq = std::max(s.first_seq, ends[f - 1] + 1);
    if (selection->end_frame && selection->end_frame <= ends.size())
      s.end_seq = std::min(s.end_seq, ends[selection->end_frame - 1] + 1);
  }
  s.end_seq = std::min(s.end_seq, trace.calls);
  // Its number may be another function's in this trace.
  if (s.function && s.function != trace.signatures.by_name(s.function->name)) s.end_seq = s.first_seq = 0;
  s.threads = selection->threads;
  s.batch_rows = std::min<uint32_t>(selection->batch_rows, 1u << 24);
  return s;
}

void calls_stream(std::shared_ptr<const Trace> trace, const Selection& s, ArrowArrayStream* out) {
  auto all = calls_schema(*trace, s.function);
  std::vector<ColumnSpec> specs;
  if (s.default_columns) {
    for (auto& c : all)
      if (c.shown) specs.push_back(c);
  } else {
    size_t from = 0;
    while (from <= s.columns.size() && !s.columns.empty()) {
      size_t to = std::min(s.columns.find(',', from), s.columns.size());
      std::string name = s.columns.substr(from, to - from);
      auto it = std::find_if(all.begin(), all.end(), [&](auto& c) { return c.name == name; });
      if (it == all.end())
        it = std::find_if(all.begin(), all.end(), [&](auto& c) { return !strcasecmp(c.name.c_str(), name.c_str()); });
      if (it == all.end()) throw Error(DT_E_ARGUMENT, "no column " + name);
      specs.push_back(*it);
      from = to + 1;
    }
    if (specs.empty()) specs.push_back(all[0]);  // a count needs rows, not columns
  }
  std::vector<NamedType> types;
  for (auto& c : specs) types.push_back({c.name, c.type});
  auto source = std::make_unique<CallSource>(trace, s, std::move(specs));
  export_stream(std::move(types), std::move(source), out);
}

}  // namespace dt
