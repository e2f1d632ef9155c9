// The C ABI. Nothing throws out of here.
#include "../core/core.h"

#include "../edit/check.h"
#include "../edit/diff.h"
#include "../edit/redact.h"
#include "../edit/skeleton.h"
#include "../edit/text_changes.h"
#include "../edit/write.h"
#include "../export/export_c.h"
#include "../peers/export.h"
#include "../core/border.h"
#include "../core/tables.h"

#ifndef DRAWTAP_VERSION
#define DRAWTAP_VERSION "0"
#endif

struct dt_trace {
  std::shared_ptr<dt::Trace> trace;
};
struct dt_restored {
  dt::edit::Restored made;
};

namespace {

using dt::need;

thread_local std::string g_error;
thread_local std::string g_text;

template <class F> int guarded(F&& body) { return dt::at_border(g_error, body); }

// What dt_blob_free frees.
struct Owner {
  virtual ~Owner() = default;
};
struct BytesOwner : Owner {
  dt::Bytes first, second;
};
struct VectorOwner : Owner {
  std::vector<uint8_t> bytes;
};

class OneBatch : public dt::BatchSource {
 public:
  explicit OneBatch(dt::Batch batch) : batch_(std::move(batch)) {}
  bool next(dt::Batch& batch) override {
    if (done_ || !batch_.rows) return false;
    done_ = true;
    batch = std::move(batch_);
    return true;
  }

 private:
  dt::Batch batch_;
  bool done_ = false;
};

void hand_out(std::unique_ptr<BytesOwner> owner, const char** json, uint64_t* length, void** out) {
  *json = owner->first.data();
  *length = owner->first.size();
  *out = static_cast<Owner*>(owner.release());
}

struct StringOwner : Owner {
  std::string text;
};
void hand_out(std::string text, const char** at, uint64_t* length, void** out) {
  auto owner = std::make_unique<StringOwner>();
  owner->text = std::move(text);
  *at = owner->text.data();
  *length = owner->text.size();
  *out = static_cast<Owner*>(owner.release());
}

dt::Hash128 parse_hash(const std::string& text) {
  if (text.size() != 32 || text.find_first_not_of("0123456789abcdefABCDEF") != text.npos)
    throw dt::Error(DT_E_ARGUMENT, "not a content hash: " + text + " (expected 32 hex digits)");
  return {strtoull(text.substr(16).c_str(), nullptr, 16), strtoull(text.substr(0, 16).c_str(), nullptr, 16)};
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> found;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) found.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return found;
}

std::string_view view(const uint8_t* bytes, uint64_t length) { return {reinterpret_cast<const char*>(bytes), length}; }

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

int dt_calls_schema(dt_trace* trace, const char* function, const char** lines) {
  return guarded([&] {
    need(trace && lines, "trace");
    const dt::Function* f = nullptr;
    if (function && *function) {
      f = trace->trace->function_named(function);
      if (!f) throw dt::Error(DT_E_ARGUMENT, std::string("no function ") + function);
    }
    g_text.clear();
    for (auto& c : dt::calls_schema(f)) {
      g_text += c.name + "\t" + dt::duckdb_type(c.type) + "\t" + (c.shown ? "" : "more");
      if (!c.note.empty()) g_text += (c.shown ? "" : " ") + c.note;
      g_text += "\n";
    }
    *lines = g_text.c_str();
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
    auto table = dt::make_table(*trace->trace, name);
    dt::export_stream(std::move(table.columns), std::make_unique<OneBatch>(std::move(table.rows)), out);
  });
}

int dt_table_json(dt_trace* trace, const char* name, const char** json, uint64_t* length, void** owner) {
  return guarded([&] {
    need(trace && name && json && length && owner, "table name");
    auto bytes = std::make_unique<BytesOwner>();
    dt::table_json(dt::make_table(*trace->trace, name), bytes->first);
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

int dt_export_c(dt_trace* trace, const dt_selection* selection, const char* folder, const dt_export_c_options* options,
                const char** json, uint64_t* length, void** owner) {
  return guarded([&] {
    need(trace && folder && json && length && owner, "folder");
    dt::c::Options wanted;
    if (selection) wanted.first_frame = selection->first_frame, wanted.end_frame = selection->end_frame;
    if (options && options->calls_per_file) wanted.calls_per_file = options->calls_per_file;
    if (options && options->calls_per_function) wanted.calls_per_function = options->calls_per_function;
    auto bytes = std::make_unique<BytesOwner>();
    bytes->first.put(dt::c::export_source(*trace->trace, folder, wanted));
    hand_out(std::move(bytes), json, length, owner);
  });
}

int dt_write(const dt_write_source* sources, uint32_t count, const dt_write_options* options, const char* path,
             const char** json, uint64_t* length, void** owner) {
  return guarded([&] {
    need((sources || !count) && path && json && length && owner, "a source or the path");
    std::vector<dt::edit::Source> from;
    for (uint32_t i = 0; i < count; ++i) {
      auto& s = sources[i];
      need(s.trace, "a trace");
      dt::edit::Source source;
      source.trace = s.trace->trace.get();
      source.keep = s.keep;
      source.first_seq = s.first_seq;
      if (s.end_seq) source.end_seq = s.end_seq;
      source.keep_map_writes = s.keep_map_writes;
      source.keep_images = s.keep_images;
      source.changes.assign(s.changes, s.changes + (s.changes ? s.change_count : 0));
      from.push_back(std::move(source));
    }
    dt::edit::Options wanted;
    if (options) {
      wanted.by_time = options->order == DT_ORDER_TIME;
      wanted.forget = options->forget;
      if (options->level) wanted.level = options->level;
      if (options->annotation) wanted.annotation = options->annotation;
      if (options->signatures) wanted.signatures = options->signatures;
    }
    auto bytes = std::make_unique<BytesOwner>();
    bytes->first.put(dt::edit::write(std::move(from), wanted, path));
    hand_out(std::move(bytes), json, length, owner);
  });
}

int dt_export_apitrace(dt_trace* trace, const dt_export_range* ranges, uint32_t count, const char* path) {
  return guarded([&] {
    need(trace && path && (ranges || !count), "path");
    std::vector<dt::Selection> selections;
    for (uint32_t n = 0; n < count; n++) {
      dt_selection s{};
      if (ranges[n].frames)
        s.first_frame = ranges[n].first, s.end_frame = ranges[n].end;
      else
        s.first_seq = ranges[n].first, s.end_seq = ranges[n].end;
      selections.push_back(dt::resolve(*trace->trace, &s));
    }
    if (selections.empty()) selections.push_back(dt::resolve(*trace->trace, nullptr));
    dt::peers::export_apitrace(trace->trace, path, selections);
  });
}

int dt_check(dt_trace* trace, const uint8_t* keep, const char** json, uint64_t* length, void** owner) {
  return guarded([&] {
    need(trace && keep && json && length && owner, "a trace");
    auto bytes = std::make_unique<BytesOwner>();
    bytes->first.put(dt::edit::check(*trace->trace, keep));
    hand_out(std::move(bytes), json, length, owner);
  });
}

int dt_diff(dt_trace* a, dt_trace* b, uint64_t first_frame, uint64_t end_frame, uint64_t limit, uint32_t flags,
            const char** json, uint64_t* length, void** owner) {
  return guarded([&] {
    need(a && b && json && length && owner, "a trace");
    dt::edit::DiffOptions options;
    options.limit = limit;
    options.outputs = flags & 1;
    options.first_frame = first_frame;
    if (end_frame) options.end_frame = end_frame;
    auto bytes = std::make_unique<BytesOwner>();
    bytes->first.put(dt::edit::diff(*a->trace, *b->trace, options));
    hand_out(std::move(bytes), json, length, owner);
  });
}

int dt_text_changes(dt_trace* trace, uint64_t first_seq, uint64_t end_seq, const char* text, uint64_t text_bytes,
                    const char** json, uint64_t* length, void** owner) {
  return guarded([&] {
    need(trace && text && json && length && owner, "a text");
    auto bytes = std::make_unique<BytesOwner>();
    bytes->first.put(dt::edit::text_changes(*trace->trace, first_seq, end_seq, {text, text_bytes}));
    hand_out(std::move(bytes), json, length, owner);
  });
}

int dt_skeleton(dt_trace* trace, const char* path, const char** json, uint64_t* length, void** owner) {
  return guarded([&] {
    need(trace && path && json && length && owner, "the path");
    hand_out(dt::edit::write_skeleton(*trace->trace, path), json, length, owner);
  });
}

int dt_redact_origin(dt_trace* trace, const char** json, uint64_t* length, void** owner) {
  return guarded([&] {
    need(trace && json && length && owner, "the trace");
    const auto origin = dt::edit::origin_of(*trace->trace);
    std::string pids;
    for (uint32_t pid : origin.pids) pids += (pids.empty() ? "" : ", ") + std::to_string(pid);
    hand_out("{\"ticks\": " + std::to_string(origin.ticks) + ", \"ns\": " + std::to_string(origin.ns) +
                 ", \"pids\": [" + pids + "]}",
             json, length, owner);
  });
}

int dt_redact(dt_trace* trace, const char* path, uint64_t ticks, uint64_t ns, const char* before, const char* after) {
  return guarded([&] {
    need(trace && path && before && after, "the path");
    dt::edit::Origin origin = dt::edit::origin_of(*trace->trace);
    origin.ticks = ticks, origin.ns = ns;
    dt::edit::redact(*trace->trace, path, std::move(origin), lines(before), lines(after));
  });
}

int dt_pack(const uint8_t* raw, uint64_t bytes, int32_t level, const char** frame, uint64_t* length, void** owner) {
  return guarded([&] {
    need((raw || !bytes) && frame && length && owner, "the content");
    hand_out(dt::edit::pack(view(raw, bytes), level), frame, length, owner);
  });
}

int dt_unpack(const uint8_t* frame, uint64_t bytes, uint64_t expected, const char** raw, uint64_t* length,
              void** owner) {
  return guarded([&] {
    need((frame || !bytes) && raw && length && owner, "the frame");
    hand_out(dt::edit::unpack(view(frame, bytes), expected), raw, length, owner);
  });
}

int dt_restore_open(dt_trace* skeleton, const char* path, dt_restored** out) {
  return guarded([&] {
    need(skeleton && path && out, "the path");
    *out = nullptr;
    *out = new dt_restored{dt::edit::Restored(skeleton->trace, path)};
  });
}

int dt_restore_add(dt_restored* restored, const char* hash, const uint8_t* raw, uint64_t bytes, const uint8_t* frame,
                   uint64_t frame_bytes) {
  return guarded([&] {
    need(restored && hash && (raw || !bytes) && (frame || !frame_bytes), "the content");
    restored->made.add(parse_hash(hash), view(raw, bytes), view(frame, frame_bytes));
  });
}

int dt_restore_finish(dt_restored* restored, const char* annotation) {
  return guarded([&] {
    need(restored && annotation, "the annotation");
    restored->made.finish(annotation);
  });
}

void dt_restore_close(dt_restored* restored) { delete restored; }

void dt_cancel(dt_trace* trace) {
  if (trace) ++trace->trace->generation;
}

void dt_progress(dt_trace* trace, uint64_t* done, uint64_t* total) {
  if (done) *done = trace ? trace->trace->done.load() : 0;
  if (total) *total = trace ? trace->trace->total.load() : 0;
}

}  // extern "C"
