#include "write.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>
#include <unordered_map>

#include "../core/text.h"
#include "copy.h"
#include "maker.h"
#include "splice.h"

namespace dt::edit {
namespace {

// The order of all calls of all sources.
class Order {
 public:
  Order(std::vector<std::unique_ptr<Copy>>& copies, std::vector<Walker*> walkers, bool by_time)
      : copies_(copies), walkers_(std::move(walkers)), by_time_(by_time) {
    heads_.resize(walkers_.size());
    for (size_t i = 0; i < walkers_.size(); ++i)
      if (i == 0 || by_time_) fetch(i);
  }
  // The source whose call comes now; its walker stands there. SIZE_MAX: the end.
  size_t next() {
    if (current_ != SIZE_MAX) fetch(current_);
    current_ = SIZE_MAX;
    if (!by_time_) {
      while (join_ < heads_.size() && !heads_[join_].there) {
        ++join_;
        if (join_ < heads_.size()) fetch(join_);
      }
      return current_ = join_ < heads_.size() ? join_ : SIZE_MAX;
    }
    for (size_t i = 0; i < heads_.size(); ++i)
      if (heads_[i].there && (current_ == SIZE_MAX || heads_[i].time < heads_[current_].time)) current_ = i;
    return current_;
  }

 private:
  struct Head {
    bool there = false;
    uint64_t time = 0;
  };
  void fetch(size_t i) {
    heads_[i].there = walkers_[i]->next();
    if (!heads_[i].there || !by_time_) return;
    OpenChunk& chunk = *walkers_[i]->at(walkers_[i]->chunk);
    heads_[i].time = std::max(heads_[i].time, copies_[i]->entry_ns(chunk, chunk.record_of(walkers_[i]->call)));
  }
  std::vector<std::unique_ptr<Copy>>& copies_;
  std::vector<Walker*> walkers_;
  bool by_time_;
  std::vector<Head> heads_;
  size_t current_ = SIZE_MAX, join_ = 0;
};

// The calls to be written that need an exact number, since a reader would sort them otherwise by their times. In the
// order of writing.
std::vector<uint8_t> marks_needed(std::vector<std::unique_ptr<Copy>>& copies, bool by_time, bool all) {
  std::vector<std::unique_ptr<Walker>> own;
  std::vector<Walker*> walkers;
  for (auto& c : copies) own.push_back(c->walk(false)), walkers.push_back(own.back().get());
  Order order(copies, walkers, by_time);
  std::vector<uint8_t> marks;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> keys;
  const std::pair<uint32_t, uint32_t>* last = nullptr;
  uint64_t last_key = 0, last_mark = 0;
  std::pair<uint32_t, uint32_t> last_thread;
  for (size_t s; (s = order.next()) != SIZE_MAX;) {
    Copy& copy = *copies[s];
    Walker& w = *walkers[s];
    OpenChunk& chunk = *w.at(w.chunk);
    const Edit* edit = copy.edit(w.seq);
    size_t count = (edit ? edit->before.size() : 0) + copy.kept(w);
    if (count) {
      std::pair<uint32_t, uint32_t> thread{chunk.info.meta.pid, chunk.info.meta.thread + copy.thread_shift};
      uint64_t entry = copy.entry_ns(chunk, chunk.record_of(w.call));
      uint64_t& key = keys[thread];
      for (size_t i = 0; i < count; ++i) {
        marks.push_back(0);
        uint64_t natural = std::max(key, entry);
        bool in_place = !last || thread == last_thread ||
                        (!all && (natural > last_key || (natural == last_key && thread > last_thread)));
        if (!in_place) {
          if (!marks[marks.size() - 2]) {
            marks[marks.size() - 2] = 1;
            last_mark = std::max(last_key, last_mark + 1);
            keys[last_thread] = last_mark;
          }
          marks.back() = 1;
          natural = last_mark = std::max(natural, last_mark + 1);
        }
        key = last_key = natural;
        last_thread = thread;
        last = &last_thread;
      }
    }
    if (w.call + 1 == chunk.info.meta.calls) w.forget(w.chunk);
  }
  return marks;
}

std::string derived(const std::vector<const Trace*>& from, bool by_time) {
  JsonObject out;
  auto& sources = out.put("kind", "derived").put("order", by_time ? "time" : "join").writer().list("sources");
  for (const Trace* t : from) {
    std::string uuid;
    for (uint8_t byte : t->header().uuid) uuid += {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
    sources.object().put("path", t->path()).put("uuid", uuid).put("calls", t->calls);
    sources.put("problems", t->problems().size()).end();
  }
  sources.end();
  return out.str();
}

// The processes that the sources are of, and what keeps them apart in one trace.
class Processes {
 public:
  void add(Copy& copy) {
    const Trace& t = copy.trace();
    auto [it, is_new] = known_.try_emplace(origin_of(t));
    Process& process = it->second;
    if (is_new) process.context_shift = contexts_, process.number = known_.size();
    copy.context_shift = process.context_shift;
    contexts_ = std::max(contexts_, largest_context(t) + process.context_shift);
    // Two processes of one number: containers, or a number that came again.
    uint32_t highest = 0;
    bool taken = false;
    for (auto& chunk : t.calls_chunks) {
      auto known = pids_.find(chunk.meta.pid);
      if (known == pids_.end() || known->second.first == process.number) continue;
      taken = true, highest = std::max(highest, known->second.second);
    }
    if (is_new && taken) process.thread_shift = highest + 1;
    copy.thread_shift = process.thread_shift;
    for (auto& chunk : t.calls_chunks) {
      auto& [number, most] = pids_.try_emplace(chunk.meta.pid, process.number, 0u).first->second;
      most = std::max(most, chunk.meta.thread + process.thread_shift);
    }
    for (uint64_t handle : handles(t)) {
      auto [owner, first] = owners_.try_emplace(handle, process.number);
      if (first || owner->second == process.number || process.renamed.contains(handle)) continue;
      uint64_t name = handle | static_cast<uint64_t>(process.number - 1) << 48;
      while (!owners_.try_emplace(name, process.number).second) ++name;
      process.renamed.emplace(handle, name);
    }
    copy.renamed = &process.renamed;
  }
  uint64_t renamed() const {
    uint64_t count = 0;
    for (auto& [key, process] : known_) count += process.renamed.size();
    return count;
  }

 private:
  struct Process {
    size_t number = 0;
    uint32_t context_shift = 0, thread_shift = 0;
    std::unordered_map<uint64_t, uint64_t> renamed;
  };
  // Parts of one recording are of one process.
  static std::string origin_of(const Trace& t) {
    std::string key = run_of(t);
    if (!key.empty()) return key;
    for (auto& a : t.annotations)
      if (a.kind == "recording") key += a.json;
    if (!key.empty()) return key;
    for (auto& thread : t.threads) key += std::to_string(thread.pid) + " ";
    for (auto& a : t.annotations) {
      Json json;
      if (a.kind != "derived" || !JsonReader::read_object(a.json, json).empty()) continue;
      if (const auto& sources = json["sources"].items(); !sources.empty()) return key + sources[0]["uuid"].text();
    }
    for (uint8_t byte : t.header().uuid) key += "0123456789abcdef"[byte >> 4], key += "0123456789abcdef"[byte & 15];
    return key;
  }
  template <class Visit>
  static void each_column(const Trace& t, Visit visit) {  // (function, columns), of functions with handles
    for (size_t i = 0; i < t.calls_chunks.size(); ++i) {
      try {
        OpenChunk open(t, i);
        for (size_t n = 0; n < open.info.functions.size(); ++n) {
          const Function* f = t.signatures.by_id(open.info.functions[n].id());
          if (f && !handle_slots(*f).empty()) visit(*f, open.columns(n));
        }
      } catch (const Error& e) {  // said where its calls are read
        if (e.code != DT_E_FORMAT) throw;
      }
    }
  }
  static uint32_t largest_context(const Trace& t) {
    uint32_t most = 0;
    for (auto& chunk : t.calls_chunks) most = std::max(most, chunk.meta.context);
    each_column(t, [&](const Function& f, const FunctionColumns& c) {
      if (f.id != DT_FN_CONTEXT) return;
      for (auto& p : f.params)
        if (p.name == "context" || p.name == "id" || p.name == "share_group")
          for (uint32_t r = 0; r < c.count; ++r) most = std::max(most, static_cast<uint32_t>(c.raw(p, r)));
    });
    return most;
  }
  static std::set<uint64_t> handles(const Trace& t) {
    std::set<uint64_t> values;
    each_column(t, [&](const Function& f, const FunctionColumns& c) {
      const Field* kind = nullptr;
      if (f.id == DT_FN_NATIVE)
        for (auto& p : f.params)
          if (p.name == "kind" && p.has_data()) kind = &p;
      for (int slot : handle_slots(f))
        for (uint32_t r = 0; r < c.count; ++r)
          if (uint64_t v = c.w8[static_cast<size_t>(slot)][r]; v && !(kind && c.payload(*kind, r) == "display"))
            values.insert(v);
    });
    return values;
  }

  std::map<std::string, Process> known_;
  std::unordered_map<uint32_t, std::pair<size_t, uint32_t>> pids_;  // the process that has it first, its largest thread
  std::unordered_map<uint64_t, size_t> owners_;
  uint32_t contexts_ = 0;
};

// The origins of the sources, and the problems found when they were made.
struct Provenance {
  std::vector<const Trace*> from;
  std::vector<std::string> problems;
};

// The written calls and files, as JSON.
std::string written_json(Maker& maker, const std::vector<std::unique_ptr<Copy>>& copies, const Provenance& origin,
                         uint64_t number, const Processes& processes) {
  uint64_t kept = 0, changed = 0, inserted = 0, lost = 0;
  for (auto& c : copies) kept += c->kept_, changed += c->changed_, inserted += c->inserted_, lost += c->walker().lost;
  JsonObject out;
  out.put("calls", maker.calls()).put("kept", kept).put("changed", changed).put("inserted", inserted);
  out.put("blobs", maker.blobs()).put("bytes", maker.size()).put("lost", lost).put("marks", number);
  auto& problems = out.put("renamed", processes.renamed()).writer().list("problems");
  for (auto& p : origin.problems) problems.value(p);
  for (auto& c : copies)
    for (auto& p : c->walker().problems) problems.value(p);
  problems.end();
  return out.str();
}

// Joined traces follow on in time. Names that different processes share become different: contexts, threads, handles.
// Returns how many threads there are.
size_t place(std::vector<std::unique_ptr<Copy>>& copies, const Options& options, Processes& processes) {
  int64_t end = 0;
  std::set<std::pair<uint32_t, uint32_t>> threads;
  for (auto& c : copies) {
    const Trace& t = c->trace();
    uint64_t first = 0, last = 0;
    for (auto& chunk : t.calls_chunks) {
      if (chunk.meta.t_first && (!first || chunk.meta.t_first < first)) first = chunk.meta.t_first;
      last = std::max(last, chunk.meta.t_end);
    }
    if (copies.size() > 1 && !options.by_time && !options.parts && first) {
      if (end && t.clock.ns(first) <= end) c->shift = end + 1 - t.clock.ns(first);
      end = t.clock.ns(last) + c->shift;
    }
    if (copies.size() > 1 && !options.parts) processes.add(*c);
    for (auto& chunk : t.calls_chunks) threads.insert({chunk.meta.pid, chunk.meta.thread + c->thread_shift});
  }
  return threads.size();
}

std::string attempt(const std::vector<Source>& sources, const Provenance& origin, const Options& options,
                    const std::string& path, bool mark_all) {
  Maker maker(options.level, sources.empty() ? 0 : sources[0].trace->timing);
  std::vector<std::unique_ptr<Copy>> copies;
  for (size_t i = 0; i < sources.size(); ++i) copies.push_back(std::make_unique<Copy>(sources[i], maker));
  Signatures more;
  if (!options.signatures.empty()) more.parse(options.signatures), more.link();
  for (auto& c : copies) c->forget = options.forget;
  for (auto& c : copies) c->declare(options.signatures.empty() ? nullptr : &more);

  Processes processes;
  const size_t threads = place(copies, options, processes);

  std::vector<uint8_t> marks;
  if (threads > 1) marks = marks_needed(copies, options.by_time, mark_all);

  std::vector<std::string> annotations = options.before;
  for (auto& c : copies)
    for (auto& a : c->trace().annotations)
      if (!options.parts && a.kind != "end" && !a.json.empty() && a.json.front() == '{') annotations.push_back(a.json);
  if (!copies.empty() && !options.parts) annotations.push_back(derived(origin.from, options.by_time));
  if (!options.annotation.empty()) annotations.push_back(options.annotation);
  maker.create(path, annotations);

  std::vector<Walker*> walkers;
  for (auto& c : copies) walkers.push_back(&c->walker());
  Order order(copies, walkers, options.by_time);
  uint64_t number = 0, at = 0;
  std::vector<uint64_t> numbers;
  std::vector<Work> work;
  for (auto& c : copies) work.emplace_back(c->trace().generation);
  uint64_t step = 0;
  std::vector<uint8_t> finished(copies.size());
  size_t last = SIZE_MAX;
  auto finish = [&](size_t s) {
    if (s == SIZE_MAX || finished[s]) return;
    finished[s] = true;
    copies[s]->finish();
  };
  for (size_t s; (s = order.next()) != SIZE_MAX;) {
    if (!options.by_time && last != s) finish(last);
    last = s;
    Copy& copy = *copies[s];
    Walker& w = *walkers[s];
    if (!(++step & 0xfff)) work[s].check();
    const Edit* edit = copy.edit(w.seq);
    bool keep = copy.kept(w);
    size_t count = (edit ? edit->before.size() : 0) + keep;
    numbers.assign(marks.empty() ? 0 : count, 0);
    for (auto& n : numbers)
      if (marks[at++]) n = ++number;
    OpenChunk& chunk = *w.at(w.chunk);
    copy.note_last(copy.lane(chunk.info.thread, chunk), copy.entry_ns(chunk, chunk.record_of(w.call)));
    copy.put(edit, keep, numbers);
  }
  for (size_t s = 0; s < copies.size(); ++s) finish(s);

  std::string end_annotation;
  for (auto& c : copies)
    for (auto& a : c->trace().annotations)
      if (a.kind == "end" && !options.parts) end_annotation = a.json;
  std::vector<std::string> tail = options.after;
  if (!end_annotation.empty() && end_annotation.front() == '{') tail.push_back(end_annotation);
  maker.finish(tail);

  return written_json(maker, copies, origin, number, processes);
}

// Returns whether the calls of a trace of one source stand in the order of that source.
bool in_order(const std::string& path) {
  Trace trace(path);
  if (trace.threads.size() < 2) return true;
  Walker w(trace, 0, UINT64_MAX, false);
  uint64_t last = NO_ORIGIN;
  while (w.next()) {
    OpenChunk& chunk = *w.at(w.chunk);
    uint64_t origin = chunk.origin(w.call);
    if (origin != NO_ORIGIN) {
      if (last != NO_ORIGIN && origin <= last) return false;
      last = origin;
    }
    if (w.call + 1 == chunk.info.meta.calls) w.forget(w.chunk);
  }
  return true;
}

}  // namespace

std::string write(std::vector<Source> sources, const Options& options, const std::string& path) {
  Provenance origin;
  for (auto& s : sources) origin.from.push_back(s.trace);
  if (options.parts) {
    std::string json = attempt(sources, origin, options, path, false);
    return options.forget || in_order(path) ? json : attempt(sources, origin, options, path, true);
  }
  const Splices splices(sources, path);
  sources = splices.sources();
  origin.problems = splices.problems();
  std::string part = path + ".part";
  try {
    std::string json = attempt(sources, origin, options, part, false);
    // The numbers of an edited trace do not rise through a join, only through a cut.
    if (sources.size() == 1 && !options.forget && !in_order(part)) json = attempt(sources, origin, options, part, true);
    if (rename(part.c_str(), path.c_str())) throw Error(DT_E_IO, path + ": " + strerror(errno));
    return json;
  } catch (...) {
    unlink(part.c_str());
    throw;
  }
}

}  // namespace dt::edit
