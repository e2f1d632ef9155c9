// The C ABI. Nothing throws out of here.
#include "system.h"

#include "../common/json.h"
#include "../core/border.h"
#include "export.h"
#include "kernel.h"
#include "lanes.h"
#include "span_order.h"
#include "thread_spans.h"

struct dt_kernel {
  std::shared_ptr<dt::kernel::Trace> trace;
};
struct dt_kernel_facts {
  std::shared_ptr<dt::kernel::ThreadFacts> facts;
};

namespace {

using dt::hand_out;
using dt::JsonWriter;
using dt::need;

thread_local std::string g_error;

template <class F> int guarded(F&& body) { return dt::at_border(g_error, body); }

JsonWriter<std::string>& put_time(JsonWriter<std::string>& json, const char* name, int64_t t) {
  return t == dt::kernel::k_first || t == dt::kernel::k_last ? json.put(name, nullptr) : json.put(name, t);
}

// Name and type of each column from `first` on.
void put_columns(JsonWriter<std::string>& json, const dt::kernel::Output& output, size_t first) {
  json.list();
  for (size_t i = first; i < output.schema.size(); ++i) {
    std::string_view name = output.schema[i].name;
    if (first && name.starts_with("event.")) name.remove_prefix(6);
    json.list().value(name).value(dt::duckdb_type(output.schema[i].type)).end();
  }
  json.end();
}

std::string describe(dt::kernel::Trace& trace, bool scan) {
  if (scan) trace.scan();
  std::string text;
  JsonWriter json(text);
  json.object().list("events");
  for (auto& [name, classes] : trace.names()) {
    uint64_t count = 0;
    for (auto cls : classes) count += scan ? trace.counts[cls] : 0;
    json.object().put("name", name).put("count", count).key("fields");
    // The columns of a question for all fields, without those that every event has.
    dt::kernel::Request request;
    request.all_fields = true;
    request.names = {name};
    put_columns(json, *dt::kernel::make_output(trace, request), 4);
    json.end();
  }
  json.end();
  const bool any = scan && trace.first <= trace.last;
  put_time(json, "begin", any ? trace.first : dt::kernel::k_first);
  put_time(json, "end", any ? trace.last : dt::kernel::k_first).end();
  return text;
}

std::unique_ptr<dt::kernel::Output> output_of(dt_kernel* trace, const uint8_t* request, uint64_t bytes) {
  dt::kernel::Plan plan(request, bytes);
  return dt::kernel::make_output(*trace->trace, dt::kernel::read_request(plan));
}

}  // namespace

extern "C" {

const char* dt_kernel_last_error(void) { return g_error.c_str(); }

int dt_kernel_open(const char* format, const uint8_t* plan, uint64_t length, dt_kernel** out) {
  return guarded([&] {
    need(format && plan && out, "plan");
    *out = nullptr;
    static const std::pair<const char*, dt::kernel::Opener> openers[] = {
        {"ctf", dt::kernel::open_ctf},   {"ring", dt::kernel::open_ring},         {"lines", dt::kernel::open_lines},
        {"perf", dt::kernel::open_perf}, {"perfetto", dt::kernel::open_perfetto},
    };
    for (auto& [name, opener] : openers)
      if (std::string_view(format) == name) {
        dt::kernel::Plan items(plan, length);
        *out = new dt_kernel{opener(items)};
        return;
      }
    throw dt::Error(DT_E_ARGUMENT, std::string("unknown format ") + format);
  });
}

void dt_kernel_close(dt_kernel* trace) { delete trace; }

int dt_kernel_describe(dt_kernel* trace, int scan, const char** json, uint64_t* length, void** owner) {
  return guarded([&] {
    need(trace && json && length && owner, "trace");
    hand_out(describe(*trace->trace, scan != 0), json, length, owner);
  });
}

int dt_kernel_problems(dt_kernel* trace, const char** json, uint64_t* length, void** owner) {
  return guarded([&] {
    need(trace && json && length && owner, "trace");
    std::string text;
    JsonWriter all(text);
    all.list();
    for (auto& p : trace->trace->problems()) {
      all.object().put("kind", p.kind).put("where", p.where).put("text", p.text).put("count", p.count);
      put_time(all, "begin", p.begin);
      put_time(all, "end", p.end).end();
    }
    all.end();
    hand_out(std::move(text), json, length, owner);
  });
}

int dt_kernel_columns(dt_kernel* trace, const uint8_t* request, uint64_t bytes, const char** json, uint64_t* length,
                      void** owner) {
  return guarded([&] {
    need(trace && request && json && length && owner, "request");
    std::string text;
    JsonWriter columns(text);
    put_columns(columns, *output_of(trace, request, bytes), 0);
    hand_out(std::move(text), json, length, owner);
  });
}

int dt_kernel_events(dt_kernel* trace, const uint8_t* request, uint64_t bytes, struct ArrowArrayStream* out) {
  return guarded([&] {
    need(trace && request && out, "request");
    dt::kernel::export_events(trace->trace, output_of(trace, request, bytes), out);
  });
}

int dt_kernel_write(const char* format, const uint8_t* plan, uint64_t length, struct ArrowArrayStream** tables,
                    uint64_t count, const char* path, uint64_t* bytes) {
  return guarded([&] {
    need(format && plan && tables && path && bytes, "plan");
    dt::kernel::Plan items(plan, length);
    std::vector<std::unique_ptr<dt::kernel::TableReader>> readers;
    for (uint64_t i = 0; i < count; ++i) readers.push_back(std::make_unique<dt::kernel::TableReader>(tables[i]));
    std::string_view name = format;
    if (name == "ctf" && count == 1) {
      *bytes = dt::kernel::write_ctf(items, *readers[0]);
    } else if ((name == "perfetto" || name == "chrome") && count == 3) {
      auto timeline = dt::kernel::read_timeline(items);
      auto write = name == "perfetto" ? dt::kernel::write_perfetto : dt::kernel::write_chrome;
      *bytes = write(timeline, *readers[0], *readers[1], *readers[2], path);
    } else {
      throw dt::Error(DT_E_ARGUMENT, std::string("unknown format ") + format);
    }
  });
}

int dt_kernel_decompress(int method, const uint8_t* data, uint64_t length, uint8_t* out, uint64_t room,
                         uint64_t* written) {
  return guarded([&] {
    need(data && out && written, "data");
    std::string why;
    *written = dt::kernel::decompress(method, data, length, out, room, &why);
    if (!why.empty()) throw dt::Error(DT_E_FORMAT, why);
  });
}

void dt_kernel_lanes(const int64_t* track, const int64_t* begin, const int64_t* end, uint64_t count, int32_t* lane) {
  guarded([&] { dt::kernel::assign_lanes(track, begin, end, count, lane); });
}

int dt_kernel_facts_new(dt_kernel_facts** out) {
  return guarded([&] {
    need(out, "facts");
    *out = new dt_kernel_facts{std::make_shared<dt::kernel::ThreadFacts>()};
  });
}

void dt_kernel_facts_close(dt_kernel_facts* facts) { delete facts; }

int dt_kernel_facts_text(dt_kernel_facts* facts, const char** json, uint64_t* length, void** owner) {
  return guarded([&] {
    need(facts && json && length && owner, "facts");
    hand_out(facts->facts->json(), json, length, owner);
  });
}

int dt_kernel_thread_spans(const uint8_t* plan, uint64_t length, struct ArrowArrayStream* switches,
                           struct ArrowArrayStream* wakes, dt_kernel_facts* facts, struct ArrowArrayStream* out) {
  return guarded([&] {
    need(plan && switches && facts && out, "plan");
    dt::kernel::Plan items(plan, length);
    dt::kernel::ThreadsPlan about;
    about.begin = items.number();
    about.end = items.number();
    about.whole = items.number() != 0;
    about.most_waiting = static_cast<size_t>(items.number());
    dt::kernel::export_thread_spans(about, switches, wakes, facts->facts, out);
  });
}

int dt_kernel_span_order(const uint8_t* plan, uint64_t length, struct ArrowArrayStream* threads,
                         struct ArrowArrayStream* requests, struct ArrowArrayStream* others,
                         struct ArrowArrayStream* owners, struct ArrowArrayStream* out) {
  return guarded([&] {
    need(plan && threads && requests && others && owners && out, "plan");
    dt::kernel::Plan items(plan, length);
    dt::kernel::SpanWords words;
    for (auto* texts : {&words.thread_kinds, &words.thread_names, &words.request_kinds, &words.request_tracks})
      for (size_t n = items.count(); n; --n) texts->push_back(items.text());
    dt::kernel::export_span_order(std::move(words), {threads, requests, others, owners}, out);
  });
}

int dt_kernel_lane_table(struct ArrowArrayStream* intervals, struct ArrowArrayStream* out) {
  return guarded([&] {
    need(intervals && out, "intervals");
    dt::kernel::export_lanes(intervals, out);
  });
}

struct ArrowArrayStream* dt_kernel_new_stream(void) { return dt::new_stream(); }
void dt_kernel_free_stream(struct ArrowArrayStream* stream) { dt::free_stream(stream); }
void dt_kernel_release_capsule(void* capsule) { dt::release_capsule(capsule); }

void dt_kernel_free(void* owner) { delete static_cast<std::string*>(owner); }

void dt_kernel_cancel(dt_kernel* trace) {
  if (trace) ++trace->trace->generation;
}

void dt_kernel_progress(dt_kernel* trace, uint64_t* done, uint64_t* total) {
  if (done) *done = trace ? trace->trace->done.load() : 0;
  if (total) *total = trace ? trace->trace->total.load() : 0;
}

}  // extern "C"
