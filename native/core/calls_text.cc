// Calls in the order of all threads: visited one by one, as text, as JSON.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>

#include "calls.h"
#include "structures.h"

namespace dt {

namespace {

using Visit = std::function<void(OpenChunk&, uint32_t, uint64_t)>;

// The calls [first, end) of a thread whose chunk is alone in its group.
void each_call_alone(const Trace& trace, const OrderGroup& group, const Selection& s, uint64_t first, uint64_t end,
                     const Visit& visit) {
  if (s.function && !trace.calls_chunks[group.chunks[0]].find(s.function->id)) return;
  try {
    OpenChunk open(trace, group.chunks[0]);
    open.order();
    for (uint64_t seq = first; seq < end; ++seq) visit(open, static_cast<uint32_t>(seq - group.base), seq);
  } catch (const Error& e) {
    say_damaged(trace, group.chunks[0], e);
  }
}

// The calls [first, end) of a group, in the order in which its threads made them.
void each_call_merged(const Trace& trace, const OrderGroup& group, uint64_t first, uint64_t end, Work& work,
                      const Visit& visit) {
  // Chunks are opened when their first call comes and closed after their last.
  struct Live {
    size_t n;
    std::unique_ptr<OpenChunk> open;
    uint32_t at;
  };
  std::vector<size_t> waiting;
  for (size_t n = 0; n < group.chunks.size(); ++n)
    if (!group.offsets[n].empty() && group.base + group.offsets[n].back() >= first) waiting.push_back(n);
  std::sort(waiting.begin(), waiting.end(),
            [&](size_t a, size_t b) { return group.offsets[a].front() < group.offsets[b].front(); });
  size_t next = 0;
  std::vector<Live> live;
  for (uint64_t seq = first; seq < end;) {
    for (; next < waiting.size() && group.base + group.offsets[waiting[next]].front() <= seq; ++next) {
      size_t n = waiting[next];
      auto& o = group.offsets[n];
      work.check();
      trace.done += o.size();
      auto at = static_cast<uint32_t>(std::lower_bound(o.begin(), o.end(), static_cast<uint32_t>(seq - group.base)) -
                                      o.begin());
      if (at == o.size()) continue;
      try {
        auto open = std::make_unique<OpenChunk>(trace, group.chunks[n]);
        open->order();
        live.push_back({n, std::move(open), at});
      } catch (const Error& e) {
        say_damaged(trace, group.chunks[n], e);
      }
    }
    uint64_t least = next < waiting.size() ? group.base + group.offsets[waiting[next]].front() : end;
    bool visited = false;
    for (size_t i = 0; i < live.size(); ++i) {
      auto& l = live[i];
      auto& o = group.offsets[l.n];
      uint64_t at = group.base + o[l.at];
      if (at == seq) {
        bool bad = false;
        try {
          while (l.at < o.size() && group.base + o[l.at] == seq && seq < end) {
            visit(*l.open, l.at, seq);
            ++l.at;
            ++seq;
            if (next < waiting.size() && group.base + group.offsets[waiting[next]].front() == seq) break;
          }
        } catch (const Error& e) {
          say_damaged(trace, group.chunks[l.n], e);
          bad = true;
          ++seq;
        }
        if (bad || l.at == o.size()) live.erase(live.begin() + static_cast<long>(i));
        visited = true;
        break;
      }
      if (at > seq) least = std::min(least, at);
    }
    if (!visited) seq = std::max(seq + 1, least);
  }
}

}  // namespace

void each_call(const Trace& trace, const Selection& s, const Visit& visit) {
  Work work(trace.generation);
  for (size_t g = 0; g < trace.groups.size(); ++g) {
    auto& group = trace.groups[g];
    uint64_t first = std::max(s.first_seq, group.base), end = std::min(s.end_seq, group.base + group.calls);
    if (first >= end) continue;
    if (group.chunks.size() > 1) {
      trace.merge(g);
      each_call_merged(trace, group, first, end, work, visit);
      continue;
    }
    // The asking side said how many there are.
    trace.done += end - first;
    work.check();
    each_call_alone(trace, group, s, first, end, visit);
  }
}

namespace {

// The text of one stretch of calls; `full` is called whenever `out` holds a good piece.
void print_calls(const Trace& trace, const Selection& s, uint32_t flags, Printer& printer, Bytes& out,
                 const std::function<void()>& full) {
  bool times = !(flags & 1);
  size_t hint = 0;
  each_call(trace, s, [&](OpenChunk& chunk, uint32_t call, uint64_t seq) {
    uint32_t r = chunk.record_of(call);
    if (s.function && chunk.info.functions[chunk.order()[r]].id() != s.function->id) return;
    if (!(flags & 16)) put_u64(out, seq), out.put(' ');
    if (times && (flags & 8)) {
      uint64_t t = chunk.entries()[r];
      t ? put_i64(out, trace.clock.ns(t, hint)) : out.put('-');
      out.put(' ');
    }
    if (flags & 2) {
      out.put('@');
      put_u64(out, chunk.info.thread);
      out.put(' ');
      put_u64(out, chunk.context(r));
      out.put(' ');
    }
    printer.call(out, chunk, r);
    if (chunk.durations()[r] == DT_IN_FLIGHT) {
      out.put("  [in flight]");
    } else if (times && (flags & 4)) {
      uint64_t ticks;
      if (chunk.duration(r, ticks)) {
        out.put("  [");
        put_duration(out, trace.clock.duration(ticks));
        out.put(']');
      }
    }
    out.put('\n');
    if (out.size() > (1u << 18)) full();
  });
}

void write_all(int fd, const Bytes& out) {
  size_t at = 0;
  while (at < out.size()) {
    ssize_t n = write(fd, out.data() + at, out.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw Error(DT_E_IO, std::string("writing text: ") + strerror(errno));
    at += static_cast<size_t>(n);
  }
}

// Stretches that can be printed apart: whole groups of chunks, since calls of a group interleave.
std::vector<Selection> stretches(const Trace& trace, const Selection& s) {
  constexpr uint64_t CALLS = 32768;
  std::vector<Selection> out;
  for (auto& group : trace.groups) {
    uint64_t first = std::max(s.first_seq, group.base), end = std::min(s.end_seq, group.base + group.calls);
    if (first >= end) continue;
    if (!out.empty() && out.back().end_seq == first && end - out.back().first_seq <= CALLS) {
      out.back().end_seq = end;
      continue;
    }
    out.push_back(s);
    out.back().first_seq = first, out.back().end_seq = end;
  }
  return out;
}

}  // namespace

void calls_text(const Trace& trace, const Selection& s, int fd, uint32_t flags) {
  auto parts = stretches(trace, s);
  size_t workers = std::min<size_t>({std::max(1u, std::thread::hardware_concurrency()), 8, parts.size()});
  bool whole = flags & 32;
  if (workers < 2) {
    Printer printer(trace, whole);
    Bytes out;
    auto flush = [&] { write_all(fd, out), out.clear(); };
    print_calls(trace, s, flags, printer, out, flush);
    flush();
    return;
  }
  // Printed in parallel, written in order. No more than a few stretches are held at once, whatever the reader's pace.
  const size_t ahead = workers * 2;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::unique_ptr<Bytes>> done(parts.size());
  size_t next = 0, written = 0;
  std::exception_ptr failed;
  auto print = [&] {
    Printer printer(trace, whole);
    for (;;) {
      size_t part;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return failed || next >= parts.size() || next < written + ahead; });
        if (failed || next >= parts.size()) return;
        part = next++;
      }
      auto text = std::make_unique<Bytes>();
      try {
        print_calls(trace, parts[part], flags, printer, *text, [] {});
      } catch (...) {
        std::lock_guard lock(mutex);
        if (!failed) failed = std::current_exception();
        changed.notify_all();
        return;
      }
      std::lock_guard lock(mutex);
      done[part] = std::move(text);
      changed.notify_all();
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < workers; ++i) threads.emplace_back(print);
  for (size_t part = 0; part < parts.size(); ++part) {
    std::unique_ptr<Bytes> text;
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return failed || done[part]; });
      if (!done[part]) break;
      text = std::move(done[part]);
    }
    std::exception_ptr broken;
    try {
      write_all(fd, *text);
    } catch (...) {
      broken = std::current_exception();
    }
    std::lock_guard lock(mutex);
    if (broken && !failed) failed = broken;
    written = part + 1;
    changed.notify_all();
    if (failed) break;
  }
  for (auto& thread : threads) thread.join();
  if (failed) std::rethrow_exception(failed);
}

void calls_rows(const Trace& trace, const Selection& s, Bytes& out) {
  auto frames = trace.frames();
  size_t hint = 0;
  const bool with_text = s.columns == "text";
  Printer printer(trace);
  Bytes text;
  JsonWriter json(out);
  json.list();
  each_call(trace, s, [&](OpenChunk& chunk, uint32_t call, uint64_t seq) {
    uint32_t r = chunk.record_of(call);
    auto id = chunk.info.functions[chunk.order()[r]].id();
    if (s.function && id != s.function->id) return;
    uint64_t t = chunk.entries()[r], ticks;
    bool timed = chunk.duration(r, ticks);
    json.object().put("seq", seq);
    json.put("frame", std::lower_bound(frames->ends.begin(), frames->ends.end(), seq) - frames->ends.begin());
    json.put("thread", chunk.info.thread).put("tid", chunk.info.meta.tid).put("context", chunk.context(r));
    auto* f = trace.signatures.by_id(id);
    json.put("name", f ? f->name : "function" + std::to_string(id)).key("t_start");
    t ? json.value(trace.clock.ns(t, hint)) : json.value(nullptr);
    json.key("duration");
    timed ? json.value(trace.clock.duration(ticks)) : json.value(nullptr);
    if (with_text) {
      json.key("text");
      try {
        text.clear();
        printer.call(text, chunk, r);
        json.value(text.view());
      } catch (const Error& e) {
        if (e.code != DT_E_FORMAT) throw;
        json.value(nullptr);
      }
    }
    json.end();
  });
  json.end();
}

namespace {

// One argument or result as JSON; array content goes to `data`.
void put_argument(const Trace& trace, const FunctionColumns& columns, const Field& f, uint32_t i,
                  JsonWriter<Bytes>& json, Bytes& data) {
  uint64_t raw = columns.raw(f, i);
  json.object().put("name", f.name).put("kind", f.kind_name).key("value");
  if (f.kind == Kind::f32 || f.kind == Kind::f64)  // exactly, as bits: JSON has no NaN
    json.value(raw).put("bits", f.wide ? 64 : 32);
  else
    json.value(integer_value(f, raw));
  if (f.kind == Kind::enumeration || f.kind == Kind::bitmask) json.put("text", words_of(trace.signatures, f, raw));
  if (f.has_data()) {
    uint64_t d = columns.descriptor(f, i);
    unsigned kind = DT_DATA_KIND(d);
    static const char* const kinds[] = {"none", "inline", "blob", "offset", "pending", "unknown", "fault", "?"};
    json.put("data", kinds[kind]).put("element", f.element_name);
    if (kind == DT_DATA_INLINE) {
      auto bytes = columns.payload(f, i);
      json.put("at", data.size()).put("bytes", bytes.size());
      data.put(bytes);
      while (data.size() % 8) data.put('\0');
    } else if (kind == DT_DATA_BLOB) {
      json.put("blob", hash_text(columns.hash(f, i))).put("bytes", DT_DATA_LENGTH(d));
    }
    if (is_tree(f) && (kind == DT_DATA_INLINE || kind == DT_DATA_BLOB))
      json.key("tree").by([&](Bytes& out) { Printer(trace).value_json(out, columns, f, i); });
  }
  json.end();
}

}  // namespace

void one_call(const Trace& trace, uint64_t seq, Bytes& out, Bytes& data) {
  size_t index;
  uint32_t call;
  if (!trace.locate(seq, index, call))
    throw Error(DT_E_ARGUMENT, "no call " + std::to_string(seq) + ": the trace has " + std::to_string(trace.calls));
  OpenChunk chunk(trace, index);
  uint32_t r = chunk.record_of(call);
  auto& columns = chunk.columns(chunk.order()[r]);
  uint32_t i = chunk.ordinals()[r];
  JsonWriter json(out);
  json.object().put("seq", seq).list("args");
  if (columns.function)
    for (auto& param : columns.function->params) put_argument(trace, columns, param, i, json, data);
  json.end().key("result");
  if (columns.function && columns.function->result && chunk.durations()[r] != DT_IN_FLIGHT)
    put_argument(trace, columns, *columns.function->result, i, json, data);
  else
    json.value(nullptr);
  Bytes text;
  Printer(trace).call(text, chunk, r);
  json.put("text", text.view()).end();
}

}  // namespace dt
