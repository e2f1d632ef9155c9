#include "tables.h"

#include "content.h"
#include "markers.h"
#include "prints.h"
#include "rows.h"
#include "vulkan_tables.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <ranges>
#include <set>
#include <thread>

#include "../common/hash.h"

namespace dt {
namespace {

Table functions_table(const Trace& trace) {
  Rows<rows::Functions> t;
  for (auto& f : trace.signatures.functions)
    if (f.id < DT_FN_FIRST_TAP)
      t.add({.id = f.id,
             .api = f.api,
             .name = f.name,
             .category = f.category,
             .flags = f.flag_text,
             .calls = trace.calls_of(f.id),
             .provided_by = f.provided_by});
  return t.take();
}

Table params_table(const Trace& trace) {
  Rows<rows::Params> t;
  for (auto& f : trace.signatures.functions) {
    if (f.id >= DT_FN_FIRST_TAP) continue;
    auto add = [&](const Field& p, size_t position) {
      rows::Params row{.function = f.name,
                       .position = position,
                       .name = p.name,
                       .type = p.ctype,
                       .kind = p.kind_name,
                       .group = unless_empty(p.group_name),
                       .class_ = unless_empty(p.object_class)};
      if (p.has_data()) row.element = p.element_name, row.direction = p.out ? "out" : "in";
      t.add(row);
    };
    for (size_t i = 0; i < f.params.size(); ++i) add(f.params[i], i + 1);
    if (f.result) add(*f.result, 0);
  }
  return t.take();
}

Table enums_table(const Trace& trace) {
  Rows<rows::Enums> t;
  for (auto& g : trace.signatures.groups)
    for (auto& [name, value] : g.members) t.add({.group = g.name, .name = name, .value = value, .bitmask = g.bitmask});
  return t.take();
}

Table histogram_table(const Trace& trace) {
  struct Sum {
    uint64_t calls = 0, ticks = 0, max = 0, bytes = 0;
  };
  std::vector<Sum> sums(DT_FUNCTIONS);
  for (auto& c : trace.calls_chunks)
    for (auto& f : c.functions) {
      if (f.tap()) continue;
      auto& s = sums[f.id()];
      s.calls += f.count;
      if (__builtin_add_overflow(s.ticks, f.duration_sum, &s.ticks)) s.ticks = UINT64_MAX;
      s.max = std::max(s.max, f.duration_max);
      if (__builtin_add_overflow(s.bytes, f.payload_bytes, &s.bytes)) s.bytes = UINT64_MAX;
    }
  std::vector<unsigned> ids;
  for (unsigned id = 0; id < sums.size(); ++id)
    if (sums[id].calls) ids.push_back(id);
  std::stable_sort(ids.begin(), ids.end(), [&](unsigned a, unsigned b) { return sums[a].calls > sums[b].calls; });
  Rows<rows::Histogram> t;
  for (unsigned id : ids) {
    auto& sum = sums[id];
    auto* f = trace.signatures.by_id(id);
    const std::string name = f ? f->name : "function" + std::to_string(id);
    rows::Histogram row{
        .name = name,
        .api = f ? std::string_view(f->api) : "?",
        .category = f ? std::string_view(f->category) : "?",
        .calls = sum.calls,
        .share = static_cast<double>(sum.calls) / static_cast<double>(std::max<uint64_t>(trace.calls, 1)),
        .payload_bytes = sum.bytes};
    if (trace.timing == DT_TIMING_BOTH) {
      row.total_ns = trace.clock.duration(sum.ticks);
      row.mean_ns = static_cast<double>(row.total_ns.value) / static_cast<double>(sum.calls);
      row.max_ns = trace.clock.duration(sum.max);
    }
    t.add(row);
  }
  return t.take();
}

struct Frame {
  uint64_t draws = 0, uploads = 0;
  int64_t start = INT64_MAX, end = INT64_MIN;
  const Function* ended_by = nullptr;
};
using FrameParts = std::vector<std::pair<size_t, Frame>>;
// The deeds of a function on frames.
constexpr unsigned FRAME_DRAW = 1, FRAME_UPLOAD = 2, FRAME_TAP = 4;

std::vector<uint8_t> frame_kinds(const Trace& trace, const CallsChunk& info) {
  std::vector<uint8_t> kinds(info.functions.size());
  for (size_t f = 0; f < kinds.size(); ++f) {
    auto* function = trace.signatures.by_id(info.functions[f].id());
    uint64_t flags = function && !info.functions[f].tap() ? function->flags : 0;
    if (flags & FLAG_RECORDS) flags &= ~uint64_t{FLAG_DRAW};  // it draws when it is submitted
    // Memory of the program that calls read, and what it stored in mapped buffers, is handed over like any upload.
    bool memory = info.functions[f].tap() &&
                  (info.functions[f].id() == DT_FN_MEMORY || info.functions[f].id() == DT_FN_MAP_WRITE);
    kinds[f] = static_cast<uint8_t>((info.functions[f].tap() ? FRAME_TAP : 0) | (flags & FLAG_DRAW ? FRAME_DRAW : 0) |
                                    (flags & FLAG_UPLOAD || (memory && function) ? FRAME_UPLOAD : 0));
  }
  return kinds;
}

// The draws and uploads of records, and the function that ended a frame, of one chunk.
class FrameRecords {
 public:
  FrameRecords(OpenChunk& chunk, const std::vector<uint16_t>& enders)
      : chunk_(chunk), kinds_(frame_kinds(chunk.trace, chunk.info)) {
    for (size_t f = 0; f < kinds_.size(); ++f) {
      auto& entry = chunk.info.functions[f];
      if (!entry.count) continue;
      looks_ |= (kinds_[f] & (FRAME_DRAW | FRAME_UPLOAD)) != 0;
      uploads_ |= (kinds_[f] & FRAME_UPLOAD) != 0;
      if (std::find(enders.begin(), enders.end(), entry.function) != enders.end())
        ender_ = enders_++ ? nullptr : &entry;
    }
  }

  void count(uint32_t from, uint32_t to, Frame& frame) {
    if (!looks_ || from == to) return;
    auto& order = chunk_.order();
    for (uint32_t r = from; r < to; ++r) {
      unsigned kind = kinds_[order[r]];
      frame.draws += kind & FRAME_DRAW;
      if (uploads_ && kind & FRAME_UPLOAD)
        frame.uploads += content_bytes(chunk_.columns(order[r]), chunk_.ordinals()[r]);
    }
  }

  const Function* ended_by(uint32_t record) {
    auto& entry = ender_ ? *ender_ : chunk_.info.functions[chunk_.order()[record]];
    return chunk_.trace.signatures.by_id(entry.id());
  }

 private:
  OpenChunk& chunk_;
  std::vector<uint8_t> kinds_;
  bool looks_ = false, uploads_ = false;
  unsigned enders_ = 0;
  const CallsFunction* ender_ = nullptr;  // the only one of the functions that end frames
};

// The frames that a chunk has calls of, by number. Calls between the first and the last of a frame are looked at where
// functions of the chunk draw or upload.
FrameParts frames_of_chunk(const Trace& trace, const Trace::Frames& frames, size_t index) {
  auto& ends = frames.ends;
  auto& info = trace.calls_chunks[index];
  OpenChunk chunk(trace, index);
  auto& entries = chunk.entries();
  auto& group = trace.groups[info.group];
  const bool alone = group.chunks.size() == 1;
  if (!alone) trace.merge(info.group);
  FrameRecords records(chunk, frames.functions);
  auto seq_of = [&](uint32_t call) { return alone ? group.base + call : trace.seq_of(index, call); };
  auto position = ends.begin();
  FrameParts parts;
  size_t hint = 0;
  uint32_t counted = 0;  // records
  const uint32_t calls = info.meta.calls;
  for (uint32_t call = 0; call < calls;) {
    position = std::lower_bound(position, ends.end(), seq_of(call));
    uint32_t behind = calls;
    if (position != ends.end())
      behind = *std::ranges::partition_point(std::views::iota(call + 1, calls),
                                             [&](uint32_t later) { return seq_of(later) <= *position; });
    const uint32_t first = chunk.record_of(call), last = chunk.record_of(behind - 1);
    Frame& frame = parts.emplace_back(static_cast<size_t>(position - ends.begin()), Frame{}).second;
    if (entries[first]) frame.start = trace.clock.ns(entries[first], hint);
    if (entries[last]) {
      uint64_t ticks = 0;
      frame.end = trace.clock.ns(entries[last], hint);
      int64_t sum;
      if (chunk.duration(last, ticks) && !__builtin_add_overflow(frame.end, trace.clock.duration(ticks), &sum))
        frame.end = sum;
    }
    if (position != ends.end() && *position == seq_of(behind - 1)) frame.ended_by = records.ended_by(last);
    records.count(counted, last + 1, frame);  // content that the recorder wrote belongs to the next call
    counted = last + 1, call = behind;
  }
  if (!parts.empty()) records.count(counted, info.meta.records, parts.back().second);
  return parts;
}

Table frame_rows(const Trace& trace, const std::vector<uint64_t>& ends, const std::vector<Frame>& out) {
  Rows<rows::Frames> t;
  int64_t last_end = INT64_MIN;
  for (size_t n = 0; n < out.size(); ++n) {
    uint64_t first = n ? ends[n - 1] + 1 : 0, end = n < ends.size() ? ends[n] + 1 : trace.calls;
    auto& f = out[n];
    rows::Frames row{.frame = n,
                     .first_seq = first,
                     .end_seq = end,
                     .calls = end - first,
                     .draws = f.draws,
                     .upload_bytes = f.uploads};
    int64_t duration, interval;
    if (f.start != INT64_MAX && f.end != INT64_MIN && f.end >= f.start) {
      if (!__builtin_sub_overflow(f.end, f.start, &duration))
        row.t_start = f.start, row.t_end = f.end, row.duration = duration;
      if (last_end != INT64_MIN && !__builtin_sub_overflow(f.end, last_end, &interval)) row.interval = interval;
      last_end = f.end;
    }
    if (f.ended_by) row.end_function = f.ended_by->name;
    t.add(row);
  }
  return t.take();
}

// The moments between which frames lie, and what was drawn and uploaded in each.
Table frames_table(const Trace& trace) {
  auto frames = trace.frames();
  auto& ends = frames->ends;
  // Calls after the last frame end belong to no frame that anyone saw; without any end all calls are one.
  std::vector<Frame> out(ends.empty() ? trace.calls != 0 : ends.size());
  Work work(trace.generation);
  std::mutex mutex;
  each_calls_chunk(trace, work, [&](size_t index) {
    const FrameParts of_chunk = frames_of_chunk(trace, *frames, index);
    std::lock_guard lock(mutex);
    for (auto& [number, frame] : of_chunk) {
      if (number >= out.size()) continue;
      auto& o = out[number];
      o.draws += frame.draws, o.uploads += frame.uploads;
      o.start = std::min(o.start, frame.start), o.end = std::max(o.end, frame.end);
      if (frame.ended_by) o.ended_by = frame.ended_by;
    }
  });
  if (vulkan::Work::is_in(trace))
    for (auto& [number, draws] : vulkan::draws_by_frame(trace, ends))
      if (number < out.size()) out[number].draws += draws;
  return frame_rows(trace, ends, out);
}

Table content_table(const Trace& trace) {
  Table table{columns_of<rows::Content>(), {}};
  for (auto& column : table.columns) table.rows.columns.emplace_back(column.type);
  for (auto& frame : frame_content(trace)) {
    const auto number = static_cast<uint32_t>(table.rows.rows++);
    table.rows.columns[0].value(number);
    for (size_t count = 1; count < COUNTS; ++count) table.rows.columns[count].value(frame.counts[count]);
  }
  return table;
}

Table frame_prints_table(const Trace& trace) {
  Rows<rows::FramePrints> t;
  uint32_t number = 0;
  for (auto& frame : prints(trace).frames) t.add({.frame = number++, .calls = frame.calls, .print = frame.print});
  return t.take();
}

Table unreadable_table(const Trace& trace) {
  Rows<rows::Unreadable> t;
  for (auto& one : prints(trace).unreadable) {
    rows::Unreadable row{.seq = one.seq};
    if (one.function) row.function = one.function->name;
    if (one.param) row.param = one.param->name;
    t.add(row);
  }
  return t.take();
}

Table threads_table(const Trace& trace) {
  Rows<rows::Threads> t;
  for (size_t i = 0; i < trace.threads.size(); ++i) {
    auto& thread = trace.threads[i];
    rows::Threads row{.thread = i,
                      .pid = thread.pid,
                      .tid = thread.tid,
                      .name = thread.name,
                      .calls = thread.calls,
                      .chunks = thread.chunks.size()};
    uint64_t first = 0, last = 0;
    for (size_t c : thread.chunks) {
      auto& m = trace.calls_chunks[c].meta;
      if (!first) first = m.t_first;
      if (m.t_last) last = m.t_last;
    }
    if (first) row.t_first = trace.clock.ns(first), row.t_last = trace.clock.ns(last);
    t.add(row);
  }
  return t.take();
}

// The call that a record belongs to: the next call of its thread, which may stand in a later chunk.
uint64_t seq_of_record(const Trace& trace, size_t index, uint32_t call) {
  auto& info = trace.calls_chunks[index];
  if (call < info.meta.calls) return trace.seq_of(index, call);
  auto& own = trace.threads[info.thread].chunks;
  for (size_t n = info.in_thread + 1; n < own.size(); ++n)
    if (trace.calls_chunks[own[n]].meta.calls) return trace.seq_of(own[n], 0);
  return trace.calls;
}

}  // namespace

void each_tap_record(
    const Trace& trace, unsigned function,
    const std::function<void(OpenChunk&, const FunctionColumns&, uint32_t i, uint32_t record, uint64_t seq)>& visit) {
  Work work(trace.generation);
  unsigned wanted = function | DT_RECORD_TAP;
  for (size_t index = 0; index < trace.calls_chunks.size(); ++index) {
    auto& info = trace.calls_chunks[index];
    if (!info.has(wanted)) continue;
    work.check();
    try {
      OpenChunk chunk(trace, index);
      auto& order = chunk.order();
      auto& calls = chunk.record_calls();
      auto& ordinals = chunk.ordinals();
      for (uint32_t r = 0; r < order.size(); ++r) {
        if (info.functions[order[r]].function != wanted) continue;
        auto& columns = chunk.columns(order[r]);
        visit(chunk, columns, ordinals[r], r, seq_of_record(trace, index, calls[r]));
      }
    } catch (const Error& e) {
      say_damaged(trace, index, e);
    }
  }
}

namespace {

// The tables of the tap's own functions: seq, thread, t, and the parameters as the function's signature has them.
class TapRows {
 public:
  // The answer of a trace without any record of the function: the columns are the same, so that a question is no error.
  template <size_t N> explicit TapRows(const DeclaredColumn (&declared)[N], const Function* function) {
    for (size_t i = 0; i < (function ? RECORD : N); ++i) column(declared[i].name, declared[i].type.type);
    if (!function) return;
    for (auto& p : function->params) {
      if (!p.has_data()) {
        column(p.name, type_of(p));
      } else if (p.element == Element::chars) {
        column(p.name, Type::text);
      } else {
        if (p.slot >= 0) column(p.name, Type::u64);
        column(p.name + "_bytes", Type::u64);
        column(p.name + "_blob", Type::text);
        column(p.name + "_data", Type::binary);
      }
    }
  }
  void add(const Trace& trace, OpenChunk& chunk, const FunctionColumns& columns, uint32_t i, uint32_t record,
           uint64_t seq) {
    at_ = 0;
    next().value<uint64_t>(seq);
    next().value<uint16_t>(static_cast<uint16_t>(chunk.info.thread));
    uint64_t entry = chunk.entries()[record];
    Column& t = next();
    entry ? t.value<int64_t>(trace.clock.ns(entry)) : t.null();
    for (auto& p : columns.function->params) {
      if (!p.has_data())
        value(trace, p, columns.raw(p, i));
      else if (p.element == Element::chars)
        words(trace, columns, p, i);
      else
        content(columns, p, i);
    }
    ++table_.rows.rows;
  }
  Table take() { return std::move(table_); }

 private:
  static constexpr size_t RECORD = 3;  // seq, thread, t
  static Type type_of(const Field& p) {
    switch (p.kind) {
      case Kind::enumeration:
      case Kind::bitmask: return Type::text;
      case Kind::i32:
      case Kind::i64: return Type::i64;
      case Kind::f32:
      case Kind::f64: return Type::f64;
      default: return Type::u64;
    }
  }
  void column(std::string name, Type type) {
    for (auto& c : table_.columns)
      if (name == c.name) name += "_";
    table_.columns.push_back({std::move(name), {type, Type::u64}});
    table_.rows.columns.emplace_back(ColumnType{type, Type::u64});
  }
  Column& next() { return table_.rows.columns[at_++]; }

  void value(const Trace& trace, const Field& p, uint64_t raw) {
    Column& to = next();
    switch (type_of(p)) {
      case Type::text: return to.text(words_of(trace.signatures, p, raw));
      case Type::i64: return to.value<int64_t>(p.wide ? static_cast<int64_t>(raw) : static_cast<int32_t>(raw));
      case Type::f64: {
        const auto narrow = std::bit_cast<float>(static_cast<uint32_t>(raw));
        return to.value<double>(p.wide ? std::bit_cast<double>(raw) : narrow);
      }
      default: return to.value<uint64_t>(raw);
    }
  }

  // A text, without the zero at its end.
  void words(const Trace& trace, const FunctionColumns& c, const Field& p, uint32_t i) {
    std::vector<uint8_t> keep;
    auto s = content_of(trace, c, p, i, keep, 1u << 20);
    if (!s) return next().null();
    if (!s->empty() && s->back() == '\0') s->remove_suffix(1);
    next().text(*s);
  }

  // Address, size, hash and bytes.
  void content(const FunctionColumns& c, const Field& p, uint32_t i) {
    const uint64_t d = c.descriptor(p, i);
    const bool is_inline = DT_DATA_KIND(d) == DT_DATA_INLINE, is_blob = DT_DATA_KIND(d) == DT_DATA_BLOB;
    if (p.slot >= 0) next().value<uint64_t>(c.raw(p, i));
    Column &bytes = next(), &blob = next(), &data = next();
    is_inline || is_blob ? bytes.value<uint64_t>(DT_DATA_LENGTH(d)) : bytes.null();
    is_blob ? blob.text(hash_text(c.hash(p, i))) : blob.null();
    is_inline ? data.text(c.payload(p, i)) : data.null();
  }

  Table table_;
  size_t at_ = 0;
};

template <class Row> Table tap_table(const Trace& trace, unsigned function) {
  auto* f = trace.signatures.by_id(function);
  TapRows t(Row::COLUMNS, f);
  if (f)
    each_tap_record(trace, function,
                    [&](OpenChunk& chunk, const FunctionColumns& c, uint32_t i, uint32_t record, uint64_t seq) {
                      t.add(trace, chunk, c, i, record, seq);
                    });
  return t.take();
}

// Beside what `drawtap profile` measured, `metrics` has these records, which have fewer columns.
struct MetricRecord {
  static constexpr DeclaredColumn COLUMNS[] = {rows::Metrics::COLUMNS[0], rows::Metrics::COLUMNS[1],
                                               rows::Metrics::COLUMNS[2], rows::Metrics::COLUMNS[3],
                                               rows::Metrics::COLUMNS[4]};
};

Table contexts_table(const Trace& trace) {
  struct Context {
    uint64_t share = 0, api = 0, handle = 0, seq = UINT64_MAX;
    uint32_t thread = 0, switches = 0;
    bool described = false;
  };
  std::map<uint64_t, Context> contexts;
  for (auto& c : trace.calls_chunks)
    if (c.meta.context && c.meta.calls) {
      auto& context = contexts[c.meta.context];
      uint64_t seq = trace.seq_of(static_cast<size_t>(&c - trace.calls_chunks.data()), 0);
      if (seq < context.seq) context.seq = seq, context.thread = c.thread;
    }
  auto* f = trace.signatures.by_id(DT_FN_CONTEXT);
  auto at = [&](std::string_view part) -> const Field* {
    if (!f) return nullptr;
    for (auto& p : f->params)
      if (p.name == part) return &p;
    return nullptr;
  };
  const Field *id = at("context"), *share = at("share_group"), *api = at("api"), *handle = at("handle");
  if (!id) id = at("id");
  auto take = [&](OpenChunk& chunk, const FunctionColumns& c, uint32_t i, uint32_t, uint64_t seq) {
    uint64_t number = c.raw(*id, i);
    if (!number) return;
    auto& context = contexts[number];
    ++context.switches;
    if (seq < context.seq) context.seq = seq, context.thread = chunk.info.thread;
    if (context.described) return;
    context.described = true;
    if (share) context.share = c.raw(*share, i);
    if (api) context.api = c.raw(*api, i);
    if (handle) context.handle = c.raw(*handle, i);
  };
  if (id) each_tap_record(trace, DT_FN_CONTEXT, take);
  Rows<rows::Contexts> t;
  static const char* const apis[] = {"unknown", "gl", "gles", "vg"};
  for (auto& [number, c] : contexts) {
    rows::Contexts row{.context = number, .first_seq = c.seq, .first_thread = c.thread, .made_current = c.switches};
    if (c.described) row.share_group = c.share, row.api = apis[c.api < 4 ? c.api : 0], row.handle = c.handle;
    t.add(row);
  }
  return t.take();
}

Table blobs_table(const Trace& trace) {
  Rows<rows::Blobs> t;
  for (auto& [hash, parts] : trace.blobs()) {
    uint64_t stored = 0;
    for (auto& p : parts) stored += p.entry.stored_bytes;
    t.add({.hash = hash_text(hash), .bytes = parts[0].entry.total, .stored_bytes = stored, .parts = parts.size()});
  }
  return t.take();
}

Table markers_table(const Trace& trace) {
  static const char* const kinds[] = {"group", "label", "insert"};
  Rows<rows::Markers> t;
  for (auto& m : markers(trace))
    t.add({.seq = m.seq,
           .end_seq = m.end,
           .kind = kinds[static_cast<size_t>(m.kind)],
           .text = m.text,
           .depth = m.depth,
           .thread = m.thread,
           .function = m.function->name});
  return t.take();
}

// The problems that reading has met until now.
Table met_problems_table(const Trace& trace) {
  Rows<rows::Problems> t;
  for (auto& p : trace.problems()) t.add({.kind = p.kind, .offset = p.offset, .bytes = p.bytes, .text = p.text});
  return t.take();
}

// All there are: every chunk's bytes are compared with their checksum.
Table problems_table(const Trace& trace) {
  const Work work(trace.generation);
  each_calls_chunk(trace, work, [&](size_t index) { OpenChunk(trace, index); });
  for (auto& chunk : trace.chunks) {
    work.check();
    auto* payload = trace.at(chunk.offset) + sizeof(dt_chunk_header);
    if (chunk.header.type == DT_TYPE_BLOBS && hash64(payload, chunk.header.payload_bytes) != chunk.header.payload_hash)
      trace.problem("damaged", chunk.offset, chunk.header.payload_bytes,
                    "a chunk of contents is damaged: the checksum does not fit");
  }
  return met_problems_table(trace);
}

Table annotations_table(const Trace& trace) {
  Rows<rows::Annotations> t;
  for (auto& a : trace.annotations) t.add({.offset = a.offset, .kind = a.kind, .json = a.json});
  return t.take();
}

Table chunks_table(const Trace& trace) {
  static const char* const types[] = {"?", "signatures", "calls", "blobs", "annotation", "footer"};
  Rows<rows::Chunks> t;
  std::map<size_t, const CallsChunk*> calls;
  for (auto& c : trace.calls_chunks) calls[c.chunk] = &c;
  for (size_t i = 0; i < trace.chunks.size(); ++i) {
    auto& chunk = trace.chunks[i];
    rows::Chunks row{.offset = chunk.offset,
                     .type = types[chunk.header.type < 6 ? chunk.header.type : 0],
                     .bytes = chunk.header.payload_bytes + sizeof(dt_chunk_header)};
    auto it = calls.find(i);
    if (it != calls.end()) {
      auto& m = it->second->meta;
      row.thread = it->second->thread, row.serial = m.serial, row.first_call = m.first_call;
      row.records = m.records, row.calls = m.calls;
      if (m.t_first) row.t_first = trace.clock.ns(m.t_first), row.t_last = trace.clock.ns(m.t_last);
      row.interleaves = trace.groups[it->second->group].chunks.size() > 1;
    }
    t.add(row);
  }
  return t.take();
}

template <class Row, unsigned function>
constexpr KnownTable recorded_by_tap = {columns_of<Row>, [](const Trace& of) { return tap_table<Row>(of, function); }};

}  // namespace

const KnownTable& known_table(const std::string& name) {
  static const std::map<std::string_view, KnownTable> tables = {
      {"functions", {columns_of<rows::Functions>, functions_table}},
      {"params", {columns_of<rows::Params>, params_table}},
      {"enums", {columns_of<rows::Enums>, enums_table}},
      {"frames", {columns_of<rows::Frames>, frames_table}},
      {"threads", {columns_of<rows::Threads>, threads_table}},
      {"contexts", {columns_of<rows::Contexts>, contexts_table}},
      {"blobs", {columns_of<rows::Blobs>, blobs_table}},
      {"markers", {columns_of<rows::Markers>, markers_table}},
      {"memory", recorded_by_tap<rows::Memory, DT_FN_MEMORY>},
      {"map_writes", recorded_by_tap<rows::MapWrites, DT_FN_MAP_WRITE>},
      {"memory_writes", recorded_by_tap<rows::MemoryWrites, DT_FN_MEMORY_WRITE>},
      {"device_writes", recorded_by_tap<rows::DeviceWrites, DT_FN_DEVICE_WRITE>},
      {"objects", {columns_of<rows::Objects>, vulkan::objects_table}},
      {"submits", {columns_of<rows::Submits>, vulkan::submits_table}},
      {"executed", {columns_of<rows::Executed>, vulkan::executed_table}},
      {"allocations", {columns_of<rows::Allocations>, vulkan::allocations_table}},
      {"barriers", {columns_of<rows::Barriers>, vulkan::barriers_table}},
      {"pipelines", {columns_of<rows::Pipelines>, vulkan::pipelines_table}},
      {"shaders", {columns_of<rows::Shaders>, vulkan::shaders_table}},
      {"structures", {columns_of<rows::Structures>, vulkan::structures_table}},
      {"chains", {columns_of<rows::Chains>, vulkan::chains_table}},
      {"natives", recorded_by_tap<rows::Natives, DT_FN_NATIVE>},
      {"notes", recorded_by_tap<rows::Notes, DT_FN_NOTE>},
      {"libraries", recorded_by_tap<rows::Libraries, DT_FN_LIBRARY>},
      {"metrics", recorded_by_tap<MetricRecord, DT_FN_METRIC>},
      {"marks", recorded_by_tap<rows::Marks, DT_FN_MARK>},
      {"problems", {columns_of<rows::Problems>, problems_table}},
      {"met_problems", {columns_of<rows::Problems>, met_problems_table}},
      {"annotations", {columns_of<rows::Annotations>, annotations_table}},
      {"chunks", {columns_of<rows::Chunks>, chunks_table}},
      {"histogram", {columns_of<rows::Histogram>, histogram_table}},
      {"content", {columns_of<rows::Content>, content_table}},
      {"frame_prints", {columns_of<rows::FramePrints>, frame_prints_table}},
      {"unreadable", {columns_of<rows::Unreadable>, unreadable_table}}};
  if (auto it = tables.find(name); it != tables.end()) return it->second;
  throw Error(DT_E_ARGUMENT, "no table " + name);
}

}  // namespace dt
