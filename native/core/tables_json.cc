// A recording's facts about itself, and small tables, as JSON.
#include <algorithm>
#include <set>

#include "tables.h"

namespace dt {
namespace {

// Returns whether the recording was closed and no call that belongs into it is missing, as far as it was read by now.
bool is_complete(const Trace& trace) {
  static const std::set<std::string> losses = {"calls_lost",      "calls_unrecorded", "chunks_lost", "checksum",
                                               "invalid_records", "damaged",          "signatures",  "torn"};
  const auto all = trace.problems();
  return trace.has_footer() &&
         std::none_of(all.begin(), all.end(), [](const Problem& p) { return losses.count(p.kind) != 0; });
}

}  // namespace

std::string info_json(const Trace& trace) {
  auto frames = trace.frames();
  uint64_t first = 0, last = 0, content = 0, tap_records = 0;
  for (auto& c : trace.calls_chunks) {
    if (c.meta.t_first && (!first || c.meta.t_first < first)) first = c.meta.t_first;
    last = std::max({last, c.meta.t_last, c.meta.t_end});
    tap_records += c.meta.records - c.meta.calls;
    for (auto& f : c.functions)
      if (!f.tap() && __builtin_add_overflow(content, f.payload_bytes, &content)) content = UINT64_MAX;
  }
  std::map<std::string, uint64_t> apis;
  for (auto& f : trace.signatures.functions)
    if (uint64_t n = trace.calls_of(f.id)) apis[f.api] += n;
  char uuid[40];
  const uint8_t* u = trace.header().uuid;
  snprintf(uuid, sizeof uuid, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1], u[2],
           u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
  Bytes out;
  JsonWriter json(out);
  json.object().put("path", trace.path()).put("file_bytes", trace.file_bytes());
  json.put("format_version", trace.header().version).put("uuid", std::string_view(uuid));
  json.put("closed", trace.has_footer()).put("complete", is_complete(trace));
  json.put("calls", trace.calls).put("tap_records", tap_records).put("threads", trace.threads.size());
  json.put("frames", frames->ends.size());
  json.object("frame_end").put("rule", frames->rule).put("why", frames->why).end();
  json.object("apis");
  for (auto& [api, n] : apis) json.put(api, n);
  json.end();
  static const char* const timings[] = {"both", "entry", "none"};
  json.put("timing", timings[trace.timing < 3 ? trace.timing : 0]);
  if (first) {
    int64_t a = trace.clock.ns(first), b = trace.clock.ns(last), d;
    json.put("t_first", a).put("t_last", b).put("duration", __builtin_sub_overflow(b, a, &d) ? 0 : d);
  } else {
    json.put("t_first", nullptr).put("t_last", nullptr).put("duration", nullptr);
  }
  json.put("ns_per_tick", trace.clock.ns_per_tick()).put("payload_bytes", content);
  json.list("problems");
  for (auto& p : trace.problems()) {
    json.object().put("kind", p.kind).put("offset", p.offset).put("bytes", p.bytes);
    json.put("text", p.text).end();
  }
  json.end();
  // The recorder's notes about the recording, word for word.
  json.list("annotations");
  for (auto& a : trace.annotations) json.value(a.json);
  json.end().end();
  return std::string(out.view());
}

namespace {

void put_cell(JsonWriter<Bytes>& out, const Column& column, size_t i) {
  if (column.nulls && !(column.validity.data()[i >> 3] >> (i & 7) & 1)) return void(out.value(nullptr));
  auto get = [&](auto v) {
    memcpy(&v, column.data.data() + i * sizeof v, sizeof v);
    return v;
  };
  auto bytes = [&] {
    int64_t from, to;
    memcpy(&from, column.offsets.data() + i * 8, 8);
    memcpy(&to, column.offsets.data() + i * 8 + 8, 8);
    return std::string_view(column.data.data() + from, static_cast<size_t>(to - from));
  };
  switch (column.type.type) {
    case Type::boolean: out.value((column.data.data()[i >> 3] >> (i & 7) & 1) != 0); return;
    case Type::u16: out.value(get(uint16_t{})); return;
    case Type::u32: out.value(get(uint32_t{})); return;
    case Type::i64: out.value(get(int64_t{})); return;
    case Type::f64: out.value(get(double{})); return;
    case Type::text: out.value(bytes()); return;
    case Type::binary: {  // JSON has no bytes: hexadecimal digits
      std::string digits;
      for (unsigned char byte : bytes()) digits += {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
      out.value(digits);
      return;
    }
    case Type::list: {
      int32_t from, to;
      memcpy(&from, column.offsets.data() + i * 4, 4);
      memcpy(&to, column.offsets.data() + i * 4 + 4, 4);
      out.list();
      for (; from < to; ++from) put_cell(out, *column.child, static_cast<size_t>(from));
      return void(out.end());
    }
    default: out.value(get(uint64_t{}));
  }
}

}  // namespace

void table_json(const Table& table, Bytes& out) {
  JsonWriter json(out);
  json.list();
  for (int64_t row = 0; row < table.rows.rows; ++row) {
    json.object();
    for (size_t c = 0; c < table.columns.size(); ++c) {
      json.key(table.columns[c].name);
      put_cell(json, table.rows.columns[c], static_cast<size_t>(row));
    }
    json.end();
  }
  json.end();
}

}  // namespace dt
