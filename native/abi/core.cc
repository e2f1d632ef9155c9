// The C ABI: reading. Nothing throws out of here.
#include "../core/vulkan_tables.h"
#include "border.h"

#ifndef DRAWTAP_VERSION
#define DRAWTAP_VERSION "0"
#endif

using namespace dt::abi;
using dt::need;

namespace {

thread_local std::string g_text;

// Rows are made for the first read: a reader that opens a stream for its columns alone pays for no more.
class TableRows : public dt::BatchSource {
 public:
  TableRows(std::shared_ptr<const dt::Trace> trace, const dt::KnownTable& table)
      : trace_(std::move(trace)), table_(table) {}
  bool next(dt::Batch& batch) override {
    if (done_) return false;
    done_ = true;
    batch = table_.make(*trace_).rows;
    return batch.rows != 0;
  }

 private:
  std::shared_ptr<const dt::Trace> trace_;
  const dt::KnownTable& table_;
  bool done_ = false;
};

}  // namespace

extern "C" {

const char* dt_last_error(void) { return g_error.c_str(); }
const char* dt_core_version(void) { return DRAWTAP_VERSION; }

int dt_open(const char* path, dt_trace** out) {
  return guarded([&] {
    need(path && out, "path");
    *out = nullptr;
    auto trace = std::make_shared<dt::Trace>(path);
    *out = new dt_trace{std::move(trace)};
  });
}

void dt_close(dt_trace* trace) { delete trace; }

int dt_info(dt_trace* trace, const char** json) {
  return guarded([&] {
    need(trace && json, "trace");
    g_text = dt::info_json(*trace->trace);
    *json = g_text.c_str();
  });
}

int dt_count(dt_trace* trace, uint64_t* calls) {
  return guarded([&] {
    need(trace && calls, "trace");
    *calls = trace->trace->calls;
  });
}

// The file may lack a function that `dt_know` brought: it ends no frame.
static void check_frame_end(const dt::Trace& trace, const std::string& rule) {
  for (size_t from = 0, to; rule != "auto" && from <= rule.size(); from = to + 1) {
    to = std::min(rule.find(',', from), rule.size());
    const std::string name = rule.substr(from, to - from);
    if (!trace.function_named(name))
      throw dt::Error(DT_E_ARGUMENT,
                      "no function " + name + ": --frame-end takes function names separated by commas, or auto");
  }
}

int dt_set_frame_end(dt_trace* trace, const char* rule) {
  return guarded([&] {
    need(trace && rule, "rule");
    check_frame_end(*trace->trace, rule);
    trace->trace->set_frame_end(rule);
  });
}

int dt_know(dt_trace* trace, const char* text, uint64_t bytes) {
  return guarded([&] {
    need(trace && (text || !bytes), "signature text");
    if (const size_t lines = trace->trace->know({text, bytes}))
      throw dt::Error(DT_E_FORMAT, std::to_string(lines) + " lines of the signature text make no sense");
  });
}

int dt_calls_schema(dt_trace* trace, const char* function, const char** json) {
  return guarded([&] {
    need(trace && json, "trace");
    const dt::Function* f = nullptr;
    if (function && *function) {
      f = trace->trace->function_named(function);
      if (!f) throw dt::Error(DT_E_ARGUMENT, std::string("no function ") + function);
    }
    g_text.clear();
    dt::JsonWriter out(g_text);
    out.list();
    for (auto& c : dt::calls_schema(*trace->trace, f)) {
      out.object().put("name", c.name).put("type", dt::duckdb_type(c.type)).put("shown", c.shown);
      if (!c.twin.empty()) out.put("twin", c.twin);
      if (!c.group.empty()) out.put("group", c.group);
      out.end();
    }
    out.end();
    *json = g_text.c_str();
  });
}

int dt_calls(dt_trace* trace, const dt_selection* selection, struct ArrowArrayStream* out) {
  return guarded([&] {
    need(trace && out, "trace");
    dt::calls_stream(trace->trace, dt::resolve(*trace->trace, selection), out);
  });
}

int dt_table(dt_trace* trace, const char* name, struct ArrowArrayStream* out) {
  return guarded([&] {
    need(trace && name && out, "table name");
    auto& table = dt::known_table(name);
    dt::export_stream(table.columns(), std::make_unique<TableRows>(trace->trace, table), out);
  });
}

int dt_structures(dt_trace* trace, const char* type, uint64_t first_seq, uint64_t end_seq, ArrowArrayStream* out) {
  return guarded([&] {
    need(trace && type && out, "type");
    dt::vulkan::structure_stream(trace->trace, type, first_seq, end_seq ? end_seq : UINT64_MAX, out);
  });
}

int dt_table_json(dt_trace* trace, const char* name, const char** json, uint64_t* length, void** owner) {
  return guarded([&] {
    need(trace && name && json && length && owner, "table name");
    auto bytes = std::make_unique<BytesOwner>();
    dt::table_json(dt::known_table(name).make(*trace->trace), bytes->first);
    hand_out(std::move(bytes), json, length, owner);
  });
}

int dt_rows_json(dt_trace* trace, const dt_selection* selection, const char** json, uint64_t* length, void** owner) {
  return guarded([&] {
    need(trace && json && length && owner, "trace");
    auto bytes = std::make_unique<BytesOwner>();
    dt::calls_rows(*trace->trace, dt::resolve(*trace->trace, selection), bytes->first);
    hand_out(std::move(bytes), json, length, owner);
  });
}

int dt_call(dt_trace* trace, uint64_t seq, const char** json, uint64_t* length, const uint8_t** data,
            uint64_t* data_length, void** owner) {
  return guarded([&] {
    need(trace && json && length && data && data_length && owner, "trace");
    auto bytes = std::make_unique<BytesOwner>();
    dt::one_call(*trace->trace, seq, bytes->first, bytes->second);
    *data = reinterpret_cast<const uint8_t*>(bytes->second.data());
    *data_length = bytes->second.size();
    hand_out(std::move(bytes), json, length, owner);
  });
}

struct ArrowArrayStream* dt_new_stream(void) { return dt::new_stream(); }
void dt_free_stream(struct ArrowArrayStream* stream) { dt::free_stream(stream); }
void dt_release_capsule(void* capsule) { dt::release_capsule(capsule); }

int dt_blob(dt_trace* trace, const char* hash, const uint8_t** bytes, uint64_t* length, void** owner) {
  return guarded([&] {
    need(trace && hash && bytes && length && owner, "hash");
    auto kept = std::make_unique<VectorOwner>();
    kept->bytes = trace->trace->blob(parse_hash(hash));
    *bytes = kept->bytes.data();
    *length = kept->bytes.size();
    *owner = static_cast<Owner*>(kept.release());
  });
}

void dt_blob_free(void* owner) { delete static_cast<Owner*>(owner); }

int dt_text(dt_trace* trace, const dt_selection* selection, int fd, uint32_t flags) {
  return guarded([&] {
    need(trace, "trace");
    dt::calls_text(*trace->trace, dt::resolve(*trace->trace, selection), fd, flags);
  });
}

void dt_cancel(dt_trace* trace) {
  if (trace) ++trace->trace->generation;
}

void dt_progress(dt_trace* trace, uint64_t* done, uint64_t* total) {
  if (done) *done = trace ? trace->trace->done.load() : 0;
  if (total) *total = trace ? trace->trace->total.load() : 0;
}

}  // extern "C"
