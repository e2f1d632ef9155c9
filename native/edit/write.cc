#include "write.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>
#include <unordered_map>

#include "../core/text.h"
#include "maker.h"
#include "splice.h"

namespace dt::edit {
namespace {

constexpr uint64_t NONE = UINT64_MAX;

bool bit(const uint8_t* bits, uint64_t i) { return bits[i >> 3] >> (i & 7) & 1; }

// What happens to one call.
struct Inserted {
  std::string function;
  std::vector<const dt_change*> changes;
};
struct Edit {
  uint64_t seq = 0;
  std::vector<const dt_change*> changes;
  std::vector<Inserted> before;
};

// A function of a source, and where its slots are in the new trace.
struct Translation {
  const Function* from = nullptr;
  const Function* to = nullptr;
  bool same = true;
  std::vector<int> w8, w4, payloads;  // per slot of `to`: the slot of `from`; -1: it has none
  std::vector<int> handles;           // w8 slots of `to` that name what a process made, beside GL's own names
};

// Names that mean something in one process only: contexts, surfaces, configurations, images, syncs, drawables. Names of
// GL objects belong to their context; displays are all the same one where they are played.
bool is_handle(const Function& function, const Field& field) {
  if (!field.wide || field.slot < 0 || field.has_data())
    return field.ctype == "XVisualInfo *" && field.wide && field.slot >= 0;
  if (function.id == DT_FN_NATIVE) return field.name == "handle";
  if (function.id == DT_FN_CONTEXT) return true;
  if (field.object_class == "drawable") return true;
  if (field.kind_name == "handle") {
    static const char* const without_class[] = {"GLeglImageOES", "GLXContext", "GLXFBConfigSGIX", "VGeglImageKHR"};
    return field.object_class.empty() ? std::any_of(std::begin(without_class), std::end(without_class),
                                                    [&](auto* t) { return field.ctype == t; })
                                      : field.object_class != "display" && field.object_class != "device";
  }
  return field.ctype == "EGLNativeWindowType";
}
std::vector<int> handle_slots(const Function& function) {
  std::vector<int> slots;
  auto add = [&](const Field& f) {
    if (is_handle(function, f)) slots.push_back(f.slot);
  };
  for (auto& p : function.params) add(p);
  if (function.result) add(*function.result);
  return slots;
}

// The calls of a source in their total order.
class Walker {
 public:
  // `whole`: arguments too.
  Walker(const Trace& trace, uint64_t first, uint64_t end, bool whole)
      : trace_(trace), whole_(whole), at_(first), end_(std::min(end, trace.calls)) {}
  size_t chunk = 0;
  uint32_t call = 0;
  uint64_t seq = 0;
  std::vector<std::string> problems;
  uint64_t lost = 0;

  bool next() {
    while (at_ < end_) {
      if (group_ == SIZE_MAX || at_ >= group_end_) enter();
      seq = at_++;
      auto& g = trace_.groups[group_];
      if (g.chunks.size() == 1) {
        chunk = g.chunks[0];
        call = static_cast<uint32_t>(seq - g.base);
      } else {
        uint64_t slot = order_[seq - g.base];
        if (slot == NONE) {
          ++lost;
          continue;
        }
        chunk = g.chunks[slot >> 32];
        call = static_cast<uint32_t>(slot);
      }
      if (!open(chunk)) {
        ++lost;
        continue;
      }
      return true;
    }
    return false;
  }
  OpenChunk* at(size_t index) { return open(index); }
  // Chunks whose calls have all been walked past may go.
  void forget(size_t index) { open_.erase(index); }

 private:
  void enter() {
    group_ = trace_.group_of(at_);
    auto& g = trace_.groups[group_];
    group_end_ = g.base + g.calls;
    order_.clear();
    if (g.chunks.size() == 1) return;
    trace_.merge(group_);
    order_.assign(g.calls, NONE);
    for (size_t place = 0; place < g.offsets.size(); ++place)
      for (size_t i = 0; i < g.offsets[place].size(); ++i)
        order_[g.offsets[place][i]] = static_cast<uint64_t>(place) << 32 | i;
  }
  OpenChunk* open(size_t index) {
    auto it = open_.find(index);
    if (it != open_.end()) return it->second.get();
    std::unique_ptr<OpenChunk> opened;
    try {
      opened = std::make_unique<OpenChunk>(trace_, index);
      opened->order();
      opened->entries();
      if (whole_) {
        opened->durations();
        opened->ordinals();
        for (size_t f = 0; f < opened->info.functions.size(); ++f) opened->columns(f);
      }
    } catch (const Error& e) {
      if (e.code != DT_E_FORMAT) throw;
      problems.push_back(std::string("a calls chunk could not be read: ") + e.what());
      opened.reset();
    }
    return open_.emplace(index, std::move(opened)).first->second.get();
  }
  const Trace& trace_;
  const bool whole_;
  uint64_t at_, end_, group_end_ = 0;
  size_t group_ = SIZE_MAX;
  std::vector<uint64_t> order_;
  std::map<size_t, std::unique_ptr<OpenChunk>> open_;
};

// A record of the tap that waits for the next call of its thread that is kept.
struct Waiting {
  const Translation* of = nullptr;
  unsigned id = 0;
  Row row;
  std::deque<std::string> store;  // the payloads' bytes
  uint64_t entry = 0;
  bool with_next = false;  // it says something about the next call alone
  bool image = false;      // what the frame looked like that the next call ends
};

struct ThreadState {
  size_t lane = SIZE_MAX;
  std::vector<Waiting> waiting;
  size_t chunk_in_thread = 0;  // the next chunk whose records were not looked at
  uint32_t record = 0;
};

class Copy {
 public:
  Copy(Source source, Maker& maker) : source_(std::move(source)), trace_(*source_.trace), maker_(maker) {
    threads_.resize(trace_.threads.size());
    collect_edits();
    if (source_.keep_map_writes) map_rows_ = trace_.tap_rows(DT_FN_MAP_WRITE);
    walker_ = walk(true);
  }

  const Trace& trace() const { return trace_; }
  const Source& source() const { return source_; }
  std::unique_ptr<Walker> walk(bool whole) const {
    return std::make_unique<Walker>(trace_, source_.first_seq, source_.end_seq, whole);
  }
  bool kept(uint64_t seq) const { return !source_.keep || bit(source_.keep, seq); }
  // Whether a call of a thread, or what the tap said before it, is to be written.
  bool inside(const CallsChunk& chunk, uint64_t call) const {
    if (source_.spans.empty()) return true;
    auto it = source_.spans.find({chunk.meta.pid, chunk.meta.thread});
    return it != source_.spans.end() && chunk.meta.first_call + call >= it->second.first &&
           chunk.meta.first_call + call < it->second.second;
  }
  bool kept(const Walker& w) const { return kept(w.seq) && inside(trace_.calls_chunks[w.chunk], w.call); }
  const Edit* edit(uint64_t seq) const {
    auto it = std::lower_bound(edits_.begin(), edits_.end(), seq, [](const Edit& e, uint64_t s) { return e.seq < s; });
    return it != edits_.end() && it->seq == seq ? &*it : nullptr;
  }
  Walker& walker() { return *walker_; }

  // Functions that the new trace needs are made known before anything is written.
  void declare(const Signatures* more) {
    std::vector<const Function*> used;
    for (auto& f : trace_.signatures.functions)
      if (f.id >= DT_FN_FIRST_TAP || trace_.calls_of(f.id)) used.push_back(&f);
    maker_.add_signatures(trace_.signatures, used);
    std::vector<const Function*> extra;
    auto want = [&](const std::string& name) {
      if (maker_.function(name)) return;
      if (auto* f = trace_.signatures.by_name(name)) return maker_.add_signatures(trace_.signatures, {f});
      auto* f = more ? more->by_name(name) : nullptr;
      if (!f || f->id >= DT_FN_FIRST_TAP) throw Error(DT_E_ARGUMENT, "no function " + name + " is known");
      maker_.add_signatures(*more, {f});
    };
    for (auto& e : edits_) {
      for (auto& i : e.before) want(i.function);
      for (auto* c : e.changes)
        if (c->what == DT_CHANGE_FUNCTION) want(c->name);
    }
    translations_.resize(trace_.signatures.functions.size());
    for (auto* f : used) translate(*f);
  }

  // Entry in ns of the call the walker stands at.
  uint64_t entry_ns(OpenChunk& chunk, uint32_t record) { return ns(chunk.entries()[record]); }
  uint64_t ns(uint64_t ticks) {
    if (!ticks) return 0;
    int64_t t = trace_.clock.ns(ticks, hint_) + shift;
    return t > 0 ? static_cast<uint64_t>(t) : 1;
  }
  size_t lane(uint32_t thread, const OpenChunk& chunk) {
    auto& state = threads_[thread];
    if (state.lane == SIZE_MAX) {
      Maker::Thread t;
      t.pid = chunk.info.meta.pid, t.number = chunk.info.meta.thread + thread_shift, t.tid = chunk.info.meta.tid;
      memcpy(t.name, chunk.info.meta.thread_name, sizeof t.name);
      state.lane = maker_.lane(t);
    }
    return state.lane;
  }

  // Write the call the walker stands at, with what waited for it.
  void put(const Edit* edit, bool keep, const std::vector<uint64_t>& marks) {
    OpenChunk& chunk = *walker_->at(walker_->chunk);
    auto& state = threads_[chunk.info.thread];
    uint32_t record = chunk.record_of(walker_->call);
    look_at_records(chunk, state, record);
    uint32_t f = chunk.order()[record];
    const FunctionColumns& columns = chunk.columns(f);
    uint64_t entry = entry_ns(chunk, record);
    size_t to = lane(chunk.info.thread, chunk), mark = 0;
    if (edit)
      for (auto& inserted : edit->before) {
        release(state, chunk, record, false);
        if (mark < marks.size() && marks[mark]) maker_.mark(to, marks[mark]);
        ++mark;
        put_inserted(inserted, to, entry);
        ++inserted_;
      }
    // Whoever left out what this image was drawn with says so: it would be held against a picture that nobody drew.
    if (source_.keep_images && !bit(source_.keep_images, walker_->seq))
      std::erase_if(state.waiting, [](auto& w) { return w.image; });
    if (keep && columns.function) {
      release(state, chunk, record, true);
      if (mark < marks.size() && marks[mark]) maker_.mark(to, marks[mark]);
      const Translation& t = translate(*columns.function);
      take(t, columns, chunk.ordinals()[record]);
      for (auto& payload : row_.payloads) need(payload);
      const Function* function = t.to;
      if (edit && !edit->changes.empty()) {
        store_.clear();
        function = apply(edit->changes, function, "call " + std::to_string(walker_->seq));
        ++changed_;
      }
      uint64_t long_ns = 0;
      uint32_t duration = duration_ns(chunk, record, long_ns);
      uint64_t origin = forget ? NO_ORIGIN : chunk.origin(walker_->call);
      if (origin == NO_ORIGIN && !forget) origin = walker_->seq + static_cast<uint64_t>(source_.origin_shift);
      maker_.add(to, *function, false, row_, entry, duration, long_ns, origin);
      ++kept_;
    } else if (keep) {
      ++walker_->lost;
      if (unexplained_++ == 0)
        walker_->problems.push_back("calls of functions that the trace does not explain were left out");
    } else {
      // What the tap said of this call alone goes with it.
      std::erase_if(state.waiting, [](auto& w) { return w.with_next; });
    }
    state.record = record + 1;
    if (walker_->call + 1 == chunk.info.meta.calls) {
      look_at_records(chunk, state, chunk.info.meta.records);
      advance(chunk.info.thread, chunk.info.in_thread + 1);
      walker_->forget(walker_->chunk);
    }
  }

  // After the last call: insertions at the end, and what the tap noted after its last call.
  void finish(const std::vector<uint64_t>& marks) {
    if (const Edit* edit = this->edit(trace_.calls)) {
      if (!maker_.calls()) throw Error(DT_E_ARGUMENT, "a call cannot be put into a trace without calls");
      size_t mark = 0;
      for (auto& inserted : edit->before) {
        if (mark < marks.size() && marks[mark]) maker_.mark(last_lane(), marks[mark]);
        ++mark;
        put_inserted(inserted, last_lane(), last_entry);
        ++inserted_;
      }
      if (!edit->changes.empty()) throw Error(DT_E_ARGUMENT, "no call " + std::to_string(trace_.calls));
    }
    for (auto& state : threads_) {
      std::erase_if(state.waiting, [](auto& w) { return w.with_next || w.id == DT_FN_MAP_WRITE; });
      if (state.lane != SIZE_MAX) emit(state);
    }
  }
  size_t last_lane() const { return last_lane_; }
  void note_last(size_t lane, uint64_t entry) { last_lane_ = lane, last_entry = entry; }

  bool forget = false;
  int64_t shift = 0;  // ns to add to all times
  uint32_t context_shift = 0, thread_shift = 0;
  const std::unordered_map<uint64_t, uint64_t>* renamed = nullptr;  // handles that another process has, too
  uint64_t last_entry = 0;
  uint64_t kept_ = 0, changed_ = 0, inserted_ = 0, unexplained_ = 0;

 private:
  void collect_edits() {
    std::map<uint64_t, Edit> found;
    std::map<uint32_t, std::pair<uint64_t, size_t>> inserted;  // number -> place
    uint32_t number = 0;
    for (auto& c : source_.changes) {
      if (c.seq > trace_.calls || (c.seq == trace_.calls && c.what != DT_CHANGE_INSERT && !c.inserted))
        throw Error(DT_E_ARGUMENT,
                    "no call " + std::to_string(c.seq) + ": the trace has " + std::to_string(trace_.calls));
      if (!c.name) throw Error(DT_E_ARGUMENT, "a change without a name");
      Edit& e = found[c.seq];
      e.seq = c.seq;
      if (c.what == DT_CHANGE_INSERT) {
        e.before.push_back({c.name, {}});
        inserted[++number] = {c.seq, e.before.size() - 1};
      } else if (c.inserted) {
        auto it = inserted.find(c.inserted);
        if (it == inserted.end()) throw Error(DT_E_ARGUMENT, "a change to an inserted call that is not there");
        found[it->second.first].before[it->second.second].changes.push_back(&c);
      } else {
        e.changes.push_back(&c);
      }
    }
    for (auto& [seq, e] : found) edits_.push_back(std::move(e));
  }

  const Translation& translate(const Function& f) {
    auto& slot = translations_[static_cast<size_t>(f.index)];
    if (slot) return *slot;
    slot = std::make_unique<Translation>();
    Translation& t = *slot;
    t.from = &f;
    t.to = maker_.function(f.name);
    if (!t.to) throw Error(DT_E_FORMAT, "function " + f.name + " is not in the new trace");
    auto lines = [](const std::string& text) { return text.substr(text.find('\t', 2)); };
    t.handles = handle_slots(*t.to);
    t.same = t.to->w8 == f.w8 && t.to->w4 == f.w4 && lines(t.to->text) == lines(f.text);
    if (t.same) return t;
    t.w8.assign(t.to->w8, -1), t.w4.assign(t.to->w4, -1), t.payloads.assign(t.to->descriptors.size(), -1);
    auto match = [&](const Field& to, const Field& from) {
      if (to.slot >= 0 && from.slot >= 0 && to.wide == from.wide)
        (to.wide ? t.w8 : t.w4)[static_cast<size_t>(to.slot)] = from.slot;
      if (to.has_data() && from.has_data()) {
        t.w8[static_cast<size_t>(to.data_slot)] = from.data_slot;
        t.payloads[static_cast<size_t>(to.payload)] = from.payload;
      }
    };
    for (auto& to : t.to->params)
      for (auto& from : f.params)
        if (to.name == from.name) match(to, from);
    if (t.to->result && f.result) match(*t.to->result, *f.result);
    return t;
  }

  // A record's arguments in the slots of the new trace: into row_.
  void take(const Translation& t, const FunctionColumns& c, uint32_t i) {
    const Function& to = *t.to;
    row_.w8.resize(to.w8), row_.w4.resize(to.w4), row_.payloads.resize(to.descriptors.size());
    for (size_t s = 0; s < to.w8; ++s) {
      int from = t.same ? static_cast<int>(s) : t.w8[s];
      row_.w8[s] = from < 0 ? 0 : c.w8[static_cast<size_t>(from)][i];
    }
    if (renamed)
      for (int s : t.handles)
        if (auto it = renamed->find(row_.w8[static_cast<size_t>(s)]); it != renamed->end())
          row_.w8[static_cast<size_t>(s)] = it->second;
    for (size_t s = 0; s < to.w4; ++s) {
      int from = t.same ? static_cast<int>(s) : t.w4[s];
      row_.w4[s] = from < 0 ? 0 : c.w4[static_cast<size_t>(from)][i];
    }
    for (size_t p = 0; p < row_.payloads.size(); ++p) {
      row_.payloads[p] = {};
      int from = t.same ? static_cast<int>(p) : t.payloads[p];
      if (from < 0) continue;
      auto& starts = c.payloads[static_cast<size_t>(from)];
      uint64_t descriptor = row_.w8[static_cast<size_t>(to.descriptors[p])];
      row_.payloads[p] = {DT_DATA_KIND(descriptor),
                          DT_DATA_LENGTH(descriptor),
                          {reinterpret_cast<const char*>(c.payload_base) + starts[i], starts[i + 1] - starts[i]}};
    }
  }
  void need(const Payload& payload) {
    if (payload.kind != DT_DATA_BLOB || payload.bytes.size() != 16) return;
    Hash128 hash;
    memcpy(&hash, payload.bytes.data(), 16);
    maker_.need_blob(trace_, hash);
  }

  uint32_t duration_ns(OpenChunk& chunk, uint32_t record, uint64_t& long_ns) {
    uint32_t coded = chunk.durations()[record];
    uint64_t ticks;
    if (coded == DT_IN_FLIGHT || coded == DT_NO_DURATION) return coded;
    if (!chunk.duration(record, ticks)) return DT_NO_DURATION;  // a long one whose length was lost
    int64_t ns = trace_.clock.duration(ticks);
    if (ns < static_cast<int64_t>(DT_NO_DURATION)) return static_cast<uint32_t>(std::max<int64_t>(ns, 0));
    long_ns = static_cast<uint64_t>(ns);
    return DT_LONG_DURATION;
  }

  // Take the tap's records up to `end` of a chunk into the thread's queue.
  void look_at_records(OpenChunk& chunk, ThreadState& state, uint32_t end) {
    if (chunk.info.in_thread > state.chunk_in_thread) advance(chunk.info.thread, chunk.info.in_thread);
    if (chunk.info.in_thread != state.chunk_in_thread) return;
    if (!chunk.plain()) {
      auto& order = chunk.order();
      for (; state.record < end; ++state.record) {
        if (chunk.info.functions[order[state.record]].tap())
          wait(chunk, state, state.record);
        else
          std::erase_if(state.waiting, [](auto& w) { return w.with_next; });  // of a call that is not walked to
      }
    }
    state.record = end;
  }
  // The records of a thread's chunks before number `to` that were not looked at: chunks without calls, or with none
  // that was walked to.
  void advance(uint32_t thread, size_t to) {
    auto& state = threads_[thread];
    auto& own = trace_.threads[thread].chunks;
    while (state.chunk_in_thread < to && state.chunk_in_thread < own.size()) {
      size_t index = own[state.chunk_in_thread];
      auto& info = trace_.calls_chunks[index];
      if (state.record < info.meta.records && info.meta.records > info.meta.calls) {
        if (OpenChunk* chunk = walker_->at(index)) {
          auto& order = chunk->order();
          for (; state.record < info.meta.records; ++state.record) {
            if (info.functions[order[state.record]].tap())
              wait(*chunk, state, state.record);
            else
              std::erase_if(state.waiting, [](auto& w) { return w.with_next; });
          }
          walker_->forget(index);
        }
      }
      ++state.chunk_in_thread;
      state.record = 0;
    }
  }

  void wait(OpenChunk& chunk, ThreadState& state, uint32_t record) {
    if (!source_.spans.empty() && !inside(chunk.info, chunk.record_calls()[record])) return;
    uint32_t f = chunk.order()[record];
    unsigned id = chunk.info.functions[f].id();
    if (source_.sparse && (id == DT_FN_METRIC || id == DT_FN_MARK)) return;
    if (id == DT_FN_ORDER || id == DT_FN_LONG_DURATION || id == DT_FN_BLOB) return;  // made anew
    const FunctionColumns& c = chunk.columns(f);
    if (!c.function) return;
    uint32_t i = chunk.ordinals()[record];
    if (id == DT_FN_MAP_WRITE && source_.keep_map_writes && !bit(source_.keep_map_writes, map_rows_[chunk.index] + i))
      return;
    const Translation& t = translate(*c.function);
    Waiting w;
    w.of = &t;
    w.id = id;
    w.entry = ns(chunk.entries()[record]);
    w.with_next = id == DT_FN_MEMORY;
    const Function& to = *t.to;
    take(t, c, i);
    w.row = row_;
    // Blobs are asked for when the record is written.
    for (auto& p : w.row.payloads) p.bytes = w.store.emplace_back(p.bytes);
    if (id == DT_FN_NATIVE) {
      for (auto& p : to.params)
        if (p.name == "kind" && p.has_data()) {
          const std::string_view kind = w.row.payloads[static_cast<size_t>(p.payload)].bytes;
          w.with_next = (w.image = kind.substr(0, 5) == "frame") || kind == "front";
        }
    }
    if (source_.sparse && !w.with_next && (id == DT_FN_NATIVE || id == DT_FN_NOTE || id == DT_FN_LIBRARY)) {
      std::string said = std::to_string(id);
      for (size_t s = 0; s < w.row.w8.size(); ++s)
        if (std::find(to.descriptors.begin(), to.descriptors.end(), static_cast<int>(s)) == to.descriptors.end())
          said += " " + std::to_string(w.row.w8[s]);
      for (auto& p : w.row.payloads) said.append(" ").append(p.bytes);
      if (!said_.insert(std::move(said)).second) return;
    }
    if (id == DT_FN_CONTEXT) {
      // Only the last one before a call counts.
      std::erase_if(state.waiting, [](auto& other) { return other.id == DT_FN_CONTEXT; });
      if (context_shift)
        for (auto& p : to.params)
          if ((p.name == "context" || p.name == "id" || p.name == "share_group") && p.slot >= 0 && !p.wide) {
            auto& v = w.row.w4[static_cast<size_t>(p.slot)];
            if (v) v += context_shift;
          }
    }
    state.waiting.push_back(std::move(w));
  }
  // Everything that waited goes before the call that is written now.
  void release(ThreadState& state, OpenChunk& chunk, uint32_t record, bool with_call) {
    std::vector<Waiting> later;
    if (!with_call)
      for (auto& w : state.waiting)
        if (w.with_next) later.push_back(std::move(w));
    if (!with_call) std::erase_if(state.waiting, [](auto& w) { return w.with_next; });
    uint32_t context = chunk.context(record);
    if (context) context += context_shift;
    bool said = std::any_of(state.waiting.begin(), state.waiting.end(), [](auto& w) { return w.id == DT_FN_CONTEXT; });
    if (!said) maker_.set_context(state.lane, context);
    emit(state);
    maker_.set_context(state.lane, context);
    for (auto& w : later) {
      state.waiting.push_back(std::move(w));
      size_t i = 0;
      for (auto& p : state.waiting.back().row.payloads) p.bytes = state.waiting.back().store[i++];
    }
  }
  void emit(ThreadState& state) {
    for (auto& w : state.waiting) {
      for (size_t i = 0; i < w.row.payloads.size(); ++i) w.row.payloads[i].bytes = w.store[i], need(w.row.payloads[i]);
      maker_.add(state.lane, *w.of->to, true, w.row, w.entry, DT_NO_DURATION, 0, NO_ORIGIN);
      if (w.id == DT_FN_CONTEXT)
        for (auto& p : w.of->to->params)
          if ((p.name == "context" || p.name == "id") && p.slot >= 0 && !p.wide)
            maker_.note_context(state.lane, w.row.w4[static_cast<size_t>(p.slot)]);
    }
    state.waiting.clear();
  }

  void put_inserted(const Inserted& inserted, size_t lane, uint64_t entry) {
    const Function* f = maker_.function(inserted.function);
    row_.w8.assign(f->w8, 0), row_.w4.assign(f->w4, 0), row_.payloads.assign(f->descriptors.size(), {});
    store_.clear();
    f = apply(inserted.changes, f, "the inserted " + f->name);
    maker_.add(lane, *f, false, row_, entry, DT_NO_DURATION, 0, NO_ORIGIN);
  }

  // Change row_; returns the function that it now is of.
  const Function* apply(const std::vector<const dt_change*>& changes, const Function* f, const std::string& where) {
    for (auto* c : changes) {
      if (c->what == DT_CHANGE_FUNCTION) {
        f = become(f, maker_.function(c->name));
        continue;
      }
      const Field* field = nullptr;
      for (auto& p : f->params)
        if (p.name == c->name) field = &p;
      if (!field && f->result && !strcmp(c->name, "result")) field = f->result.get();
      if (!field) {
        std::string names;
        for (auto& p : f->params) names += (names.empty() ? "" : ", ") + p.name;
        throw Error(DT_E_ARGUMENT, where + ": " + f->name + " has no parameter " + c->name +
                                       (names.empty() ? "" : " (it has " + names + ")"));
      }
      auto set = [&](uint64_t value) {
        if (field->slot < 0) return;
        if (field->wide)
          row_.w8[static_cast<size_t>(field->slot)] = value;
        else
          row_.w4[static_cast<size_t>(field->slot)] = static_cast<uint32_t>(value);
      };
      auto pointer = [&] {
        return field->slot < 0 ? 1
               : field->wide   ? row_.w8[static_cast<size_t>(field->slot)]
                               : row_.w4[static_cast<size_t>(field->slot)];
      };
      switch (c->what) {
        case DT_CHANGE_VALUE:
          if (field->has_data())
            row_.payloads[static_cast<size_t>(field->payload)] = {
                c->value ? unsigned{DT_DATA_OFFSET} : unsigned{DT_DATA_NONE}, 0, {}};
          if (field->slot < 0 && field->has_data())
            throw Error(DT_E_ARGUMENT, where + ": " + field->name + " of " + f->name + " is an array: give it content");
          set(c->value);
          break;
        case DT_CHANGE_NULL:
        case DT_CHANGE_CONTENT:
        case DT_CHANGE_BLOB: {
          if (!field->has_data())
            throw Error(DT_E_ARGUMENT, where + ": " + field->name + " of " + f->name + " is no array");
          Payload& p = row_.payloads[static_cast<size_t>(field->payload)];
          if (c->what == DT_CHANGE_NULL) {
            p = {};
            set(0);
            break;
          }
          if (!pointer()) set(16);  // any address: replay does not follow it
          std::string_view bytes(reinterpret_cast<const char*>(c->data), c->bytes);
          if (c->what == DT_CHANGE_BLOB) {
            Hash128 hash;
            std::string text(bytes);
            if (text.size() != 32 || text.find_first_not_of("0123456789abcdefABCDEF") != text.npos)
              throw Error(DT_E_ARGUMENT, where + ": not a content hash: " + text);
            hash.high = strtoull(text.substr(0, 16).c_str(), nullptr, 16);
            hash.low = strtoull(text.substr(16).c_str(), nullptr, 16);
            auto it = trace_.blobs().find(hash);
            if (it == trace_.blobs().end())
              throw Error(DT_E_ARGUMENT, where + ": no content with hash " + text + " in this trace");
            store_.emplace_back(reinterpret_cast<const char*>(&hash), 16);
            p = {DT_DATA_BLOB, it->second[0].entry.total, store_.back()};
            need(p);
          } else if (bytes.size() > INLINE_LIMIT) {
            Hash128 hash = maker_.put_content(bytes);
            store_.emplace_back(reinterpret_cast<const char*>(&hash), 16);
            p = {DT_DATA_BLOB, bytes.size(), store_.back()};
          } else {
            p = {DT_DATA_INLINE, bytes.size(), bytes};
          }
          break;
        }
        default: throw Error(DT_E_ARGUMENT, "an unknown kind of change");
      }
    }
    return f;
  }
  // Parameters of the same name go over.
  const Function* become(const Function* from, const Function* to) {
    Row row;
    row.w8.assign(to->w8, 0), row.w4.assign(to->w4, 0), row.payloads.assign(to->descriptors.size(), {});
    for (auto& p : to->params)
      for (auto& q : from->params) {
        if (p.name != q.name) continue;
        if (p.slot >= 0 && q.slot >= 0) {
          uint64_t v = q.wide ? row_.w8[static_cast<size_t>(q.slot)] : row_.w4[static_cast<size_t>(q.slot)];
          if (p.wide)
            row.w8[static_cast<size_t>(p.slot)] = v;
          else
            row.w4[static_cast<size_t>(p.slot)] = static_cast<uint32_t>(v);
        }
        if (p.has_data() && q.has_data())
          row.payloads[static_cast<size_t>(p.payload)] = row_.payloads[static_cast<size_t>(q.payload)];
      }
    row_ = std::move(row);
    return to;
  }

  static constexpr size_t INLINE_LIMIT = 1024;
  Source source_;
  const Trace& trace_;
  Maker& maker_;
  size_t hint_ = 0, last_lane_ = 0;
  std::vector<Edit> edits_;
  std::vector<std::unique_ptr<Translation>> translations_;
  std::vector<ThreadState> threads_;
  std::vector<uint64_t> map_rows_;
  std::set<std::string> said_;
  std::unique_ptr<Walker> walker_;
  Row row_;
  std::deque<std::string> store_;
};

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

// Which of the calls to be written need an exact number: where a reader would sort them otherwise by their times. In
// the order of writing.
std::vector<uint8_t> marks_needed(std::vector<std::unique_ptr<Copy>>& copies, bool by_time, bool all) {
  std::vector<std::unique_ptr<Walker>> own;
  std::vector<Walker*> walkers;
  for (auto& c : copies) own.push_back(c->walk(false)), walkers.push_back(own.back().get());
  Order order(copies, walkers, by_time);
  std::vector<uint8_t> marks;
  struct Key {
    uint64_t key = 0;
  };
  std::map<std::pair<uint32_t, uint32_t>, Key> keys;
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
      Key& k = keys[thread];
      for (size_t i = 0; i < count; ++i) {
        marks.push_back(0);
        uint64_t natural = std::max(k.key, entry);
        bool in_place = !last || thread == last_thread ||
                        (!all && (natural > last_key || (natural == last_key && thread > last_thread)));
        if (!in_place) {
          if (!marks[marks.size() - 2]) {
            marks[marks.size() - 2] = 1;
            last_mark = std::max(last_key, last_mark + 1);
            keys[last_thread].key = last_mark;
          }
          marks.back() = 1;
          natural = last_mark = std::max(natural, last_mark + 1);
        }
        k.key = last_key = natural;
        last_thread = thread;
        last = &last_thread;
      }
    }
    if (w.call + 1 == chunk.info.meta.calls) w.forget(w.chunk);
  }
  return marks;
}

std::string derived(const std::vector<const Trace*>& from, bool by_time) {
  Bytes out;
  out.put("{\"kind\": \"derived\", \"order\": \"");
  out.put(by_time ? "time" : "join");
  out.put("\", \"sources\": [");
  bool comma = false;
  for (const Trace* t : from) {
    if (comma) out.put(", ");
    comma = true;
    out.put("{\"path\": ");
    put_json(out, t->path());
    out.put(", \"uuid\": \"");
    for (uint8_t byte : t->header().uuid)
      out.put("0123456789abcdef"[byte >> 4]), out.put("0123456789abcdef"[byte & 15]);
    out.put("\", \"calls\": ");
    put_u64(out, t->calls);
    out.put(", \"problems\": ");
    put_u64(out, t->problems().size());
    out.put('}');
  }
  out.put("]}");
  return std::string(out.view());
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
      auto found = pids_.find(chunk.meta.pid);
      if (found == pids_.end() || found->second.first == process.number) continue;
      taken = true, highest = std::max(highest, found->second.second);
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
    for (auto& a : t.annotations)
      if (a.kind == "derived") return key + json_string(a.json, "uuid");
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
    std::set<uint64_t> found;
    each_column(t, [&](const Function& f, const FunctionColumns& c) {
      const Field* kind = nullptr;
      if (f.id == DT_FN_NATIVE)
        for (auto& p : f.params)
          if (p.name == "kind" && p.has_data()) kind = &p;
      for (int slot : handle_slots(f))
        for (uint32_t r = 0; r < c.count; ++r)
          if (uint64_t v = c.w8[static_cast<size_t>(slot)][r]; v && !(kind && c.payload(*kind, r) == "display"))
            found.insert(v);
    });
    return found;
  }

  std::map<std::string, Process> known_;
  std::unordered_map<uint32_t, std::pair<size_t, uint32_t>> pids_;  // the process that has it first, its largest thread
  std::unordered_map<uint64_t, size_t> owners_;
  uint32_t contexts_ = 0;
};

// What the sources were made of, and what was found wrong when they were.
struct Origin {
  std::vector<const Trace*> from;
  std::vector<std::string> problems;
};

// What was written, as JSON.
std::string written_json(Maker& maker, const std::vector<std::unique_ptr<Copy>>& copies, const Origin& origin,
                         uint64_t number, const Processes& processes) {
  Bytes out;
  uint64_t kept = 0, changed = 0, inserted = 0, lost = 0;
  for (auto& c : copies) kept += c->kept_, changed += c->changed_, inserted += c->inserted_, lost += c->walker().lost;
  auto field = [&](const char* name, uint64_t v) {
    out.put(name);
    put_u64(out, v);
  };
  field("{\"calls\": ", maker.calls());
  field(", \"kept\": ", kept);
  field(", \"changed\": ", changed);
  field(", \"inserted\": ", inserted);
  field(", \"blobs\": ", maker.blobs());
  field(", \"bytes\": ", maker.size());
  field(", \"lost\": ", lost);
  field(", \"marks\": ", number);
  field(", \"renamed\": ", processes.renamed());
  out.put(", \"problems\": [");
  bool comma = false;
  auto say = [&](const std::string& problem) {
    if (comma) out.put(", ");
    comma = true;
    put_json(out, problem);
  };
  for (auto& p : origin.problems) say(p);
  for (auto& c : copies)
    for (auto& p : c->walker().problems) say(p);
  out.put("]}");
  return std::string(out.view());
}

// Joined traces follow on in time. What different processes called alike becomes different: contexts, threads,
// handles. Returns how many threads there are.
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

std::string attempt(const std::vector<Source>& sources, const Origin& origin, const Options& options,
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
    copies[s]->finish({});
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

// Whether the calls of a trace of one source stand in the order of that source.
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
  Origin origin;
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
