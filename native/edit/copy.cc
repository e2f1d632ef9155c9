#include "copy.h"

#include <algorithm>
#include <cstring>

namespace dt::edit {
namespace {

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

}  // namespace

std::vector<int> handle_slots(const Function& function) {
  std::vector<int> slots;
  auto add = [&](const Field& f) {
    if (is_handle(function, f)) slots.push_back(f.slot);
  };
  for (auto& p : function.params) add(p);
  if (function.result) add(*function.result);
  return slots;
}

bool Walker::next() {
  while (at_ < end_) {
    if (group_ == SIZE_MAX || at_ >= group_end_) enter();
    seq = at_++;
    auto& g = trace_.groups[group_];
    if (g.chunks.size() == 1) {
      chunk = g.chunks[0];
      call = static_cast<uint32_t>(seq - g.base);
    } else {
      uint64_t slot = order_[seq - g.base];
      if (slot == UNSET) {
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

void Walker::enter() {
  group_ = trace_.group_of(at_);
  auto& g = trace_.groups[group_];
  group_end_ = g.base + g.calls;
  order_.clear();
  if (g.chunks.size() == 1) return;
  trace_.merge(group_);
  order_.assign(g.calls, UNSET);
  for (size_t place = 0; place < g.offsets.size(); ++place)
    for (size_t i = 0; i < g.offsets[place].size(); ++i)
      order_[g.offsets[place][i]] = static_cast<uint64_t>(place) << 32 | i;
}

OpenChunk* Walker::open(size_t index) {
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

Copy::Copy(Source source, Maker& maker) : source_(std::move(source)), trace_(*source_.trace), maker_(maker) {
  threads_.resize(trace_.threads.size());
  collect_edits();
  for (auto [id, keep] : {std::pair{DT_FN_MAP_WRITE, source_.keep_map_writes},
                          {DT_FN_MEMORY_WRITE, source_.keep_memory_writes},
                          {DT_FN_DEVICE_WRITE, source_.keep_device_writes}})
    if (keep) chosen_rows_[id] = {keep, trace_.tap_rows(id)};
  walker_ = walk(true);
}

std::unique_ptr<Walker> Copy::walk(bool whole) const {
  return std::make_unique<Walker>(trace_, source_.first_seq, source_.end_seq, whole);
}

bool Copy::inside(const CallsChunk& chunk, uint64_t call) const {
  if (source_.spans.empty()) return true;
  auto it = source_.spans.find({chunk.meta.pid, chunk.meta.thread});
  return it != source_.spans.end() && chunk.meta.first_call + call >= it->second.first &&
         chunk.meta.first_call + call < it->second.second;
}

const Edit* Copy::edit(uint64_t seq) const {
  auto it = std::lower_bound(edits_.begin(), edits_.end(), seq, [](const Edit& e, uint64_t s) { return e.seq < s; });
  return it != edits_.end() && it->seq == seq ? &*it : nullptr;
}

void Copy::declare(const Signatures* more) {
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

uint64_t Copy::ns(uint64_t ticks) {
  if (!ticks) return 0;
  int64_t t = trace_.clock.ns(ticks, hint_) + shift;
  return t > 0 ? static_cast<uint64_t>(t) : 1;
}

size_t Copy::lane(uint32_t thread, const OpenChunk& chunk) {
  auto& state = threads_[thread];
  if (state.lane == SIZE_MAX) {
    Maker::Thread t;
    t.pid = chunk.info.meta.pid, t.number = chunk.info.meta.thread + thread_shift, t.tid = chunk.info.meta.tid;
    memcpy(t.name, chunk.info.meta.thread_name, sizeof t.name);
    state.lane = maker_.lane(t);
  }
  return state.lane;
}

void Copy::put(const Edit* edit, bool keep, const std::vector<uint64_t>& marks) {
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
    }
  // The caller names images whose draws are left out: a comparison would use a picture that nobody drew.
  if (source_.keep_images && !bit(source_.keep_images, walker_->seq))
    std::erase_if(state.waiting, [](auto& w) { return w.image; });
  if (keep && columns.function) {
    release(state, chunk, record, true);
    if (mark < marks.size() && marks[mark]) maker_.mark(to, marks[mark]);
    const Translation& t = translate(*columns.function);
    take(t, columns, chunk.ordinals()[record]);
    const Function* function = t.to;
    if (edit && !edit->changes.empty()) {
      store_.clear();
      function = apply(edit->changes, function, "call " + std::to_string(walker_->seq));
      ++changed_;
    }
    for (auto& payload : row_.payloads) need(payload);  // not what was replaced: nobody may find it there
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
    // The tap's notes about this call alone go with it.
    std::erase_if(state.waiting, [](auto& w) { return w.with_next; });
  }
  state.record = record + 1;
  if (walker_->call + 1 == chunk.info.meta.calls) {
    look_at_records(chunk, state, chunk.info.meta.records);
    advance(chunk.info.thread, chunk.info.in_thread + 1);
    walker_->forget(walker_->chunk);
  }
}

void Copy::finish() {
  if (const Edit* edit = this->edit(trace_.calls)) {
    if (!maker_.calls()) throw Error(DT_E_ARGUMENT, "a call cannot be put into a trace without calls");
    for (auto& inserted : edit->before) put_inserted(inserted, last_lane(), last_entry);
    if (!edit->changes.empty()) throw Error(DT_E_ARGUMENT, "no call " + std::to_string(trace_.calls));
  }
  for (auto& state : threads_) {
    std::erase_if(state.waiting, [](auto& w) { return w.with_next || w.id == DT_FN_MAP_WRITE; });
    if (state.lane != SIZE_MAX) emit(state);
  }
}

void Copy::collect_edits() {
  std::map<uint64_t, Edit> by_seq;
  std::map<uint32_t, std::pair<uint64_t, size_t>> inserted;  // number -> place
  uint32_t number = 0;
  for (auto& c : source_.changes) {
    if (c.what == DT_CHANGE_STORED) {
      collect_stored(c);
      continue;
    }
    if (c.seq > trace_.calls || (c.seq == trace_.calls && c.what != DT_CHANGE_INSERT && !c.inserted))
      throw Error(DT_E_ARGUMENT,
                  "no call " + std::to_string(c.seq) + ": the trace has " + std::to_string(trace_.calls));
    if (!c.name) throw Error(DT_E_ARGUMENT, "a change without a name");
    Edit& e = by_seq[c.seq];
    e.seq = c.seq;
    if (c.what == DT_CHANGE_INSERT) {
      e.before.push_back({c.name, {}});
      inserted[++number] = {c.seq, e.before.size() - 1};
    } else if (c.inserted) {
      auto it = inserted.find(c.inserted);
      if (it == inserted.end()) throw Error(DT_E_ARGUMENT, "a change to an inserted call that is not there");
      by_seq[it->second.first].before[it->second.second].changes.push_back(&c);
    } else {
      e.changes.push_back(&c);
    }
  }
  for (auto& [seq, e] : by_seq) edits_.push_back(std::move(e));
}

void Copy::collect_stored(const dt_change& change) {
  const std::string_view table = change.name ? change.name : "";
  const unsigned id = table == "memory_writes" ? DT_FN_MEMORY_WRITE : DT_FN_DEVICE_WRITE;
  if (id == DT_FN_DEVICE_WRITE && table != "device_writes")
    throw Error(DT_E_ARGUMENT, "no table of stored bytes is called " + std::string(table));
  uint64_t rows = 0;
  for (auto& chunk : trace_.calls_chunks)
    if (auto* records = chunk.find(id | DT_RECORD_TAP)) rows += records->count;
  if (change.seq >= rows)
    throw Error(DT_E_ARGUMENT, "no row " + std::to_string(change.seq) + " of " + std::string(table) + ": it has " +
                                   std::to_string(rows));
  stored_[id][change.seq] = &change;
  if (!stored_rows_.count(id)) stored_rows_[id] = trace_.tap_rows(id);
}

void Copy::change_stored(Waiting& record, uint64_t row) {
  auto& of = stored_[record.id];
  auto it = of.find(row);
  if (it == of.end()) return;
  const dt_change& change = *it->second;
  const std::string_view bytes(reinterpret_cast<const char*>(change.data), change.bytes);
  for (auto& p : record.row.payloads) {
    if (p.length != bytes.size())
      throw Error(DT_E_ARGUMENT, "row " + std::to_string(row) + " of " + change.name + " has " +
                                     std::to_string(p.length) + " bytes, not " + std::to_string(bytes.size()));
    if (bytes.size() <= INLINE_LIMIT) {
      p = {DT_DATA_INLINE, bytes.size(), bytes};
      continue;
    }
    const Hash128 hash = maker_.put_content(bytes);
    p = {DT_DATA_BLOB, bytes.size(), record.hash.assign(reinterpret_cast<const char*>(&hash), 16)};
  }
  ++changed_;
}

const Translation& Copy::translate(const Function& f) {
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

void Copy::take(const Translation& t, const FunctionColumns& c, uint32_t i) {
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

void Copy::need(const Payload& payload) {
  if (payload.kind != DT_DATA_BLOB || payload.bytes.size() != 16) return;
  Hash128 hash;
  memcpy(&hash, payload.bytes.data(), 16);
  maker_.need_blob(trace_, hash);
}

uint32_t Copy::duration_ns(OpenChunk& chunk, uint32_t record, uint64_t& long_ns) {
  uint32_t coded = chunk.durations()[record];
  uint64_t ticks;
  if (coded == DT_IN_FLIGHT || coded == DT_NO_DURATION) return coded;
  if (!chunk.duration(record, ticks)) return DT_NO_DURATION;  // a long one whose length was lost
  int64_t ns = trace_.clock.duration(ticks);
  if (ns < static_cast<int64_t>(DT_NO_DURATION)) return static_cast<uint32_t>(std::max<int64_t>(ns, 0));
  long_ns = static_cast<uint64_t>(ns);
  return DT_LONG_DURATION;
}

void Copy::look_at_records(OpenChunk& chunk, ThreadState& state, uint32_t end) {
  if (chunk.info.in_thread > state.chunk_in_thread) advance(chunk.info.thread, chunk.info.in_thread);
  if (chunk.info.in_thread != state.chunk_in_thread) return;
  if (!chunk.plain()) wait_all(chunk, state, end);
  state.record = end;
}

void Copy::wait_all(OpenChunk& chunk, ThreadState& state, uint32_t end) {
  auto& order = chunk.order();
  for (; state.record < end; ++state.record)
    if (chunk.info.functions[order[state.record]].tap())
      wait(chunk, state, state.record);
    else
      std::erase_if(state.waiting, [](auto& w) { return w.with_next; });  // of a call that is not walked to
}

void Copy::advance(uint32_t thread, size_t to) {
  auto& state = threads_[thread];
  auto& own = trace_.threads[thread].chunks;
  while (state.chunk_in_thread < to && state.chunk_in_thread < own.size()) {
    size_t index = own[state.chunk_in_thread];
    auto& info = trace_.calls_chunks[index];
    if (state.record < info.meta.records && info.meta.records > info.meta.calls)
      if (OpenChunk* chunk = walker_->at(index)) {
        wait_all(*chunk, state, info.meta.records);
        walker_->forget(index);
      }
    ++state.chunk_in_thread;
    state.record = 0;
  }
}

void Copy::wait(OpenChunk& chunk, ThreadState& state, uint32_t record) {
  if (!source_.spans.empty() && !inside(chunk.info, chunk.record_calls()[record])) return;
  uint32_t f = chunk.order()[record];
  unsigned id = chunk.info.functions[f].id();
  if (source_.sparse && (id == DT_FN_METRIC || id == DT_FN_MARK)) return;
  if (id == DT_FN_ORDER || id == DT_FN_LONG_DURATION || id == DT_FN_BLOB) return;  // made anew
  const FunctionColumns& c = chunk.columns(f);
  if (!c.function) return;
  uint32_t i = chunk.ordinals()[record];
  if (auto chosen = chosen_rows_.find(id); chosen != chosen_rows_.end())
    if (!bit(chosen->second.first, chosen->second.second[chunk.index] + i)) return;
  const Translation& t = translate(*c.function);
  Waiting w;
  w.of = &t;
  w.id = id;
  w.entry = ns(chunk.entries()[record]);
  w.with_next = id == DT_FN_MEMORY;
  const Function& to = *t.to;
  take(t, c, i);
  w.row = row_;
  if (auto rows = stored_rows_.find(id); rows != stored_rows_.end()) change_stored(w, rows->second[chunk.index] + i);
  // The writer takes blobs later, with the record.
  for (auto& p : w.row.payloads) p.bytes = w.store.emplace_back(p.bytes);
  if (id == DT_FN_NATIVE) {
    for (auto& p : to.params)
      if (p.name == "kind" && p.has_data()) {
        const std::string_view kind = w.row.payload(p).bytes;
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
        if ((p.name == "context" || p.name == "id" || p.name == "share_group") && p.slot >= 0 && !p.wide)
          if (uint64_t v = w.row.get(p)) w.row.set(p, v + context_shift);
  }
  state.waiting.push_back(std::move(w));
}

void Copy::release(ThreadState& state, OpenChunk& chunk, uint32_t record, bool with_call) {
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

void Copy::emit(ThreadState& state) {
  for (auto& w : state.waiting) {
    for (size_t i = 0; i < w.row.payloads.size(); ++i) w.row.payloads[i].bytes = w.store[i], need(w.row.payloads[i]);
    maker_.add(state.lane, *w.of->to, true, w.row, w.entry, DT_NO_DURATION, 0, NO_ORIGIN);
    if (w.id == DT_FN_CONTEXT)
      for (auto& p : w.of->to->params)
        if ((p.name == "context" || p.name == "id") && p.slot >= 0 && !p.wide)
          maker_.note_context(state.lane, static_cast<uint32_t>(w.row.get(p)));
  }
  state.waiting.clear();
}

void Copy::put_inserted(const Inserted& inserted, size_t lane, uint64_t entry) {
  const Function* f = maker_.function(inserted.function);
  row_.clear(*f);
  store_.clear();
  ++inserted_;
  f = apply(inserted.changes, f, "the inserted " + f->name);
  maker_.add(lane, *f, false, row_, entry, DT_NO_DURATION, 0, NO_ORIGIN);
}

const Function* Copy::apply(const std::vector<const dt_change*>& changes, const Function* f, const std::string& where) {
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
      if (field->slot >= 0) row_.set(*field, value);
    };
    switch (c->what) {
      case DT_CHANGE_VALUE:
        if (field->has_data())
          row_.payload(*field) = {c->value ? unsigned{DT_DATA_OFFSET} : unsigned{DT_DATA_NONE}, 0, {}};
        if (field->slot < 0 && field->has_data())
          throw Error(DT_E_ARGUMENT, where + ": " + field->name + " of " + f->name + " is an array: give it content");
        set(c->value);
        break;
      case DT_CHANGE_NULL:
      case DT_CHANGE_CONTENT:
      case DT_CHANGE_BLOB: {
        if (!field->has_data())
          throw Error(DT_E_ARGUMENT, where + ": " + field->name + " of " + f->name + " is no array");
        Payload& p = row_.payload(*field);
        if (c->what == DT_CHANGE_NULL) {
          p = {};
          set(0);
          break;
        }
        if (field->slot >= 0 && !row_.get(*field)) row_.set(*field, 16);  // any address: replay does not follow it
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

const Function* Copy::become(const Function* from, const Function* to) {
  Row row;
  row.clear(*to);
  for (auto& p : to->params)
    for (auto& q : from->params) {
      if (p.name != q.name) continue;
      if (p.slot >= 0 && q.slot >= 0) row.set(p, row_.get(q));
      if (p.has_data() && q.has_data()) row.payload(p) = row_.payload(q);
    }
  row_ = std::move(row);
  return to;
}

}  // namespace dt::edit
