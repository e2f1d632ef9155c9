// The walk through a trace: every call in order, and what the machine makes of it.
#include "machine.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "../core/text.h"
#include "gl.h"
#include "natives.h"
#include "vg.h"
#include "gl_enums.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dt::state {

namespace {

const Field* field_named(const Function& f, const char* name) {
  for (auto& p : f.params)
    if (p.name == name) return &p;
  return nullptr;
}

}  // namespace

Machine::Machine(std::shared_ptr<const Trace> trace) : trace_(std::move(trace)) {
  texts_.emplace_back();
  text_numbers_[""] = 0;
  root_ = add(g_classes[class_root], nullptr, 0, 0);
  mapping_ = play::map_functions(*trace_);
  by_thread_.resize(trace_->threads.size());
  vg_by_thread_.resize(trace_->threads.size());
  vg_surface_by_thread_.resize(trace_->threads.size());
  errors_.resize(trace_->threads.size());
  for (size_t i = 0; i < trace_->threads.size() && i < MOST_INDEX; ++i)
    threads_.push_back(add(g_classes[class_thread], root_, c_root::threads, i));
  log_.clear();
}
Machine::~Machine() = default;

Node* Machine::surface(uint64_t handle, bool make_it) {
  if (!handle) return nullptr;
  Node* n = find(root_, c_root::surfaces, handle);
  if (!n && make_it) n = add(g_classes[class_surface], root_, c_root::surfaces, handle);
  return n;
}

void Machine::make_current(uint32_t thread, uint64_t handle, uint64_t draw, uint64_t read_surface, uint32_t id,
                           uint32_t group, uint32_t api) {
  if (thread >= by_thread_.size()) return;
  Node* creation = id ? find(root_, c_root::made_contexts, handle) : nullptr;
  if (creation) note(creation, f_creation::number, Num(id));
  if (api == 3) return vg_make_current(thread, handle, draw, id, group);  // OpenVG has a current context of its own
  Node* t = thread < threads_.size() ? threads_[thread] : nullptr;
  if (t) {
    log(t->location(f_thread::context), 4, Touch::write);
    Word words[] = {id, draw, read_surface, api};
    for (unsigned i = 0; i < 4; ++i) set_words(t, i, 0, &words[i]);
  }
  if (!id) {
    by_thread_[thread] = nullptr;
    return;
  }
  auto& c = contexts[id];
  if (!c) {
    auto& s = shares[group];
    if (!s) {
      s = std::make_unique<Share>();
      s->id = group;
      s->node = add(g_classes[class_share], root_, c_root::shares, group);
    }
    c = std::make_unique<Context>();
    c->id = id;
    c->share = s.get();
    c->api = api;
    c->handle = handle;
    context_by_handle[handle] = c.get();
    c->node = add(g_classes[class_context], root_, c_root::contexts, id);
    run::context_made(*this, *c, creation);
  }
  by_thread_[thread] = c.get();
  c->draw = surface(draw);
  c->read = surface(read_surface);
  if (Node* s = c->draw) read(s);
  run::context_current(*this, *c);
}

void Machine::vg_make_current(uint32_t thread, uint64_t handle, uint64_t draw, uint32_t id, uint32_t group) {
  if (Node* t = thread < threads_.size() ? threads_[thread] : nullptr) {
    set(t, f_thread::vg_context, Num(id));
    set(t, f_thread::vg_draw, Num(static_cast<int64_t>(draw)));
  }
  VgContext* c = nullptr;
  Node* to = nullptr;
  if (id) {
    vg_handles.insert(handle);
    c = &vg_contexts_[id];
    if (!c->node) {
      c->id = id;
      c->share = find(root_, c_root::vg_shares, group);
      if (!c->share) c->share = add(g_classes[class_vg_share], root_, c_root::vg_shares, group);
      c->node = add(g_classes[class_vg_context], root_, c_root::vg_contexts, id);
    }
    to = surface(draw);
    read(to);
    vg_share_by_handle[handle] = c->share;
  }
  vg_by_thread_[thread] = c;
  Node* before = std::exchange(vg_surface_by_thread_[thread], to);
  if (before && before != to) run::vg_surface_left(*this, before);
}

std::unordered_set<const Node*> Machine::vg_held() const {
  std::unordered_set<const Node*> held;
  // An object that another refers to is there itself: by its name, or because an object that is there refers to it.
  for (bool more = true; more;) {
    more = false;
    for (auto& [from, to] : vg_refers)
      if (to && (from.first->alive || held.count(from.first)) && held.insert(to).second) more = true;
  }
  return held;
}

void Machine::note(Node* node, unsigned field, Num number) {
  size_t before = log_.size();
  set(node, field, number);
  log_.resize(before);
}
void Machine::note_text(Node* node, unsigned field, std::string_view text) {
  size_t before = log_.size();
  set_text(node, field, text);
  log_.resize(before);
}

// Returns whether the program learned, right after this call, that it had raised an error: then it did nothing else.
bool Machine::had_error(const play::Decoded& chunk, uint32_t record) const {
  if (errors_[thread_]) return false;
  for (uint32_t next = record + 1; next < chunk.records; ++next) {
    int known = chunk.known[chunk.order[next]];
    if (known == -1) continue;  // the tap's own
    if (known < 0 || !(g_commands[known].flags & CMD_GET_ERROR)) return false;
    auto& columns = chunk.columns[chunk.order[next]];
    return !columns.w4.empty() && columns.w4[0][chunk.ordinals[next]] != 0;
  }
  return false;
}

void Machine::run(const Listed& listed, unsigned depth) {
  const Command& command = g_commands[listed.known];
  if (!command.apply || depth > 64) return;
  event_.deeds |= command.flags & 63;
  if (context_->in_begin && !(command.flags & CMD_IN_BEGIN)) return;
  direct_unit = direct_texture = nullptr;
  command.apply(*this, Row{listed.columns, listed.row});
  if (listed.arrays) run::forget_current(*this, listed.arrays);
}

// The log from `first` on lists the places that a store through a mapping touched.
void Machine::tell_stored(const play::Decoded& chunk, uint32_t record, size_t first) {
  tell_sharers();
  if (map_rows_.empty()) map_rows_ = trace_->tap_rows(DT_FN_MAP_WRITE);
  StoreEvent event;
  event.row = map_rows_[chunk.open->index] + chunk.ordinals[record];
  event.seq = std::min(event_.seq, trace_->calls);
  event.thread = thread_;
  event.accesses = std::span(log_).subspan(first);
  visitor_->stored(event);
  log_.resize(first);
  told_ = first;
}

void Machine::tap_record(play::Decoded* chunk, uint32_t record, unsigned function) {
  const play::Columns& columns = chunk->columns[chunk->order[record]];
  const FunctionColumns& c = *columns.decoded;
  if (!c.function) return;
  uint32_t row = chunk->ordinals[record];
  auto value = [&](const char* name) {
    const Field* f = field_named(*c.function, name);
    return f ? c.raw(*f, row) : 0;
  };
  switch (function) {
    case DT_FN_CONTEXT:
      return make_current(chunk->thread, value("handle"), value("draw"), value("read"),
                          static_cast<uint32_t>(value("context")), static_cast<uint32_t>(value("share_group")),
                          static_cast<uint32_t>(value("api")));
    case DT_FN_MAP_WRITE: {
      if (!context_) return;
      const size_t first = log_.size();
      if (thread_ < threads_.size()) read(threads_[thread_], f_thread::context);
      read(context_->node);
      Node* n = object(c_share::buffers, value("buffer"));
      read(n, f_buffer::GL_BUFFER_MAPPED);
      auto offset = static_cast<int64_t>(value("offset"));
      if (const Field* f = field_named(*c.function, "data"); f && f->has_data()) {
        auto bytes = static_cast<int64_t>(DT_DATA_LENGTH(c.descriptor(*f, row)));
        touch_content(n, f_buffer::content, {{offset, 0, 0}, {offset + bytes, 1, 1}});
        uploaded(n, f_buffer::content, static_cast<uint64_t>(bytes), {});
      }
      tell_stored(*chunk, record, first);
      return;
    }
    case DT_FN_MEMORY: {
      if (const Field* f = field_named(*c.function, "address"); f && f->has_data())
        client_bytes_ += DT_DATA_LENGTH(c.descriptor(*f, row));
      return;
    }
    case DT_FN_NATIVE: {
      const Field *kind = field_named(*c.function, "kind"), *text = field_named(*c.function, "text");
      if (!kind || !text || !kind->has_data() || !text->has_data()) return;
      if (DT_DATA_KIND(c.descriptor(*kind, row)) != DT_DATA_INLINE ||
          DT_DATA_KIND(c.descriptor(*text, row)) != DT_DATA_INLINE)
        return;
      std::string_view name = c.payload(*kind, row);
      if (name == "config") {
        Node* n = find(root_, c_root::configs, value("handle"));
        if (!n) n = add(g_classes[class_config], root_, c_root::configs, value("handle"), true);
        for (auto& [key, number] : parse_attributes(c.payload(*text, row)))
          for (unsigned f = 0; f < n->cls->field_count; ++f)
            if (key == n->cls->fields[f].name)
              note(n, f, Num(static_cast<int64_t>(strtoll(number.c_str(), nullptr, 10))));
      }
      if (name == "front") front_told = thread_;
      if (name == "surface" || name == "window") {
        Attributes about = parse_attributes(c.payload(*text, row));
        if (Node* n = surface(value("handle"))) {
          // A drawable that GLX draws to without having made it: no call says what it is.
          if (name == "window") note_text(n, f_surface::kind, name);
          auto number = [&](const char* key) {
            return Num(static_cast<int64_t>(strtoll(about[key].c_str(), nullptr, 10)));
          };
          if (about.count("width")) set(n, f_surface::width, number("width"));
          if (about.count("height")) set(n, f_surface::height, number("height"));
          // The surface that a context draws to first gives its viewport a size.
          for (auto& [id, c] : contexts)
            if (c->draw == n && !c->started) run::context_current(*this, *c);
        }
      }
      return;
    }
    default: return;
  }
}

void Machine::vg_apply(const Command& command, const play::Decoded& chunk, const play::Columns& columns,
                       uint32_t record) {
  if (command.flags & CMD_GET_ERROR) {
    if (!columns.w4.empty() && columns.w4[0][chunk.ordinals[record]]) errors_[thread_] = 0;
    event_.deeds |= DEED_QUERY;
    return;
  }
  if (!vg_) {
    event_.applied = false;
    return;
  }
  event_.context = vg_->id;
  if (thread_ < threads_.size()) {
    read(threads_[thread_], f_thread::vg_context);
    read(threads_[thread_], f_thread::vg_draw);
  }
  read(vg_->node);
  if (had_error(chunk, record)) {
    event_.applied = false;
    return;
  }
  if (command.apply)
    command.apply(*this, Row{&columns, chunk.ordinals[record]});
  else if (command.flags & (CMD_DRAW | CMD_CLEAR))
    run::vg_draw_unknown(*this);
}

void Machine::apply(play::Decoded* chunk, uint32_t record) {
  uint32_t f = chunk->order[record];
  int known = chunk->known[f];
  const play::Columns& columns = chunk->columns[f];
  event_.function = columns.function;
  if (known < 0) {
    if (columns.function && columns.function->api != "gl")
      natives_call(*this, *columns.function, 0, *columns.decoded, chunk->ordinals[record]);
    return;
  }
  const Command& command = g_commands[known];
  uint32_t flags = command.flags;
  static_assert(+CMD_DRAW == +DEED_DRAW && +CMD_CLEAR == +DEED_CLEAR && +CMD_DISPATCH == +DEED_DISPATCH &&
                +CMD_UPLOAD == +DEED_UPLOAD && +CMD_READBACK == +DEED_READBACK && +CMD_COPY == +DEED_COPY);
  event_.deeds |= flags & 63;
  if (flags & CMD_QUERY) event_.deeds |= DEED_QUERY;
  if (flags & CMD_VG) {
    return vg_apply(command, *chunk, columns, record);
  }
  if (!(flags & CMD_GL)) {
    natives_call(*this, *columns.function, flags, *columns.decoded, chunk->ordinals[record]);
    if (flags & CMD_SHOWS) event_.deeds |= DEED_SHOWS;
    return;
  }
  if (flags & CMD_GET_ERROR) {
    if (!columns.w4.empty() && columns.w4[0][chunk->ordinals[record]]) errors_[thread_] = 0;
    event_.deeds |= DEED_QUERY;
    return;
  }
  if (!context_) {
    event_.applied = false;
    return;
  }
  if (thread_ < threads_.size()) read(threads_[thread_], f_thread::context);
  read(context_->node);
  if (!(flags & CMD_MANY) && had_error(*chunk, record)) {
    event_.applied = false;
    return;
  }
  if (context_->list && !(flags & CMD_NOT_LISTED)) {
    if (command.apply) {
      if (context_->compiling && context_->compiling->calls.size() < 1u << 24)
        context_->compiling->calls.push_back({feed_->shared(), &columns, chunk->ordinals[record],
                                              static_cast<uint32_t>(known),
                                              flags & CMD_ARRAYS ? run::arrays_on(*this) : 0});
      run::listed(*this);
    }
    if (context_->list_mode == GL_COMPILE) {
      event_.deeds = DEED_COMPILED;
      return;
    }
  }
  if (context_->in_begin && !(flags & CMD_IN_BEGIN) && !(flags & CMD_QUERY)) {
    event_.applied = false;  // GL_INVALID_OPERATION
    return;
  }
  direct_unit = direct_texture = nullptr;
  if (command.apply)
    command.apply(*this, Row{&columns, chunk->ordinals[record]});
  else if (flags & (CMD_DRAW | CMD_CLEAR))
    run::draw_unknown(*this);
  if (context_->list && flags & CMD_ARRAYS) run::forget_current(*this, run::arrays_on(*this));
  if (context_->in_begin && !(flags & CMD_QUERY)) event_.deeds &= ~static_cast<uint32_t>(DEED_DRAW);
}

void Machine::walk(Visitor& visitor) {
  visitor_ = &visitor;
  feed_ = std::make_unique<play::Feed>(*trace_, mapping_, 8);
  auto frames = trace_->frames();
  size_t frame = 0;
  for (Node* n : blocks_) visitor.created(*n);
  play::Decoded* chunk = nullptr;
  uint32_t record = 0;
  // per thread: up to which record of its chunk the tap's were taken in
  std::vector<uint32_t> ahead(by_thread_.size());
  uint64_t seq = 0, started = trace_->generation.load(), done = 0;
  while (feed_->next(chunk, record, seq)) {
    event_.seq = seq;
    thread_ = chunk->thread;
    if (thread_ >= by_thread_.size()) continue;
    context_ = by_thread_[thread_];
    vg_ = vg_by_thread_[thread_];
    if (record == 0) ahead[thread_] = 0;
    if (chunk->known[chunk->order[record]] == -1) {
      if (record < ahead[thread_]) continue;
      tap_record(chunk, record, chunk->open->info.functions[chunk->order[record]].id());
      continue;
    }
    if (!context_ && chunk->columns[chunk->order[record]].function &&
        chunk->columns[chunk->order[record]].function->api == "gl") {
      if (uint32_t id = chunk->open->context(record)) {
        make_current(thread_, 0, 0, 0, id, contexts.count(id) ? contexts[id]->share->id : id, 0);
        context_ = by_thread_[thread_];
      }
    }
    event_.frame = frame;
    event_.thread = thread_;
    event_.context = context_ ? context_->id : 0;
    event_.deeds = 0;
    event_.applied = true;
    draw_ = Draw{};
    draw_.client_bytes = client_bytes_;
    client_bytes_ = 0;
    list_calls = 0;
    apply(chunk, record);
    if (front_is_told()) front_told = UINT32_MAX;
    if (event_.function && event_.function->flags & FLAG_MAKE_CURRENT) {
      // A note of the tap right after it belongs to it, unless it is about the call behind.
      uint32_t& next = ahead[thread_];
      for (next = record + 1; next < chunk->records && chunk->known[chunk->order[next]] == -1; ++next) {
        const unsigned id = chunk->open->info.functions[chunk->order[next]].id();
        if (id == DT_FN_MAP_WRITE || id == DT_FN_MEMORY) break;
        tap_record(chunk, next, id);
      }
    }
    if (frame < frames->ends.size() && seq == frames->ends[frame]) {
      event_.deeds |= DEED_FRAME_END;
      ++frame;
    }
    if (!event_.applied) log_.clear(), sections_.clear(), told_ = 0;
    tell_sharers();
    shared_now_.clear();
    if (!vg_shared.empty()) note_vg_writes();
    event_.first = log_.data();
    event_.count = static_cast<uint32_t>(log_.size());
    event_.sections = sections_;
    if (event_.applied && event_.deeds & (DEED_DRAW | DEED_CLEAR | DEED_DISPATCH)) visitor.draw(event_, draw_);
    visitor.call(event_);
    log_.clear();
    sections_.clear();
    told_ = 0;
    if (!visitor.wanted()) break;
    if ((++done & 0xfff) == 0 && trace_->generation.load(std::memory_order_relaxed) != started)
      throw Error(DT_E_CANCELLED, "cancelled");
  }
  for (auto& p : feed_->problems()) problems.push_back(p);
  feed_.reset();
  visitor_ = nullptr;
}

}  // namespace dt::state
