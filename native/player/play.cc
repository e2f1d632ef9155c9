#include "play.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "../core/text.h"
#include "attachments.h"
#include "front.h"
#include "line.h"
#include "observer.h"
#include "windows.h"

namespace dt::play {

extern Player* g_player;

// ---- what the tap noted -------------------------------------------------------------------------

// The recorder's words about its recording that decide how much of the picture can be right.
void Player::note(const FunctionColumns& c, uint32_t row) {
  const Field *code = c.function ? field_of(*c.function, "code") : nullptr,
              *text = c.function ? field_of(*c.function, "text") : nullptr;
  if (!code || !text || !code->has_data() || !text->has_data()) return;
  if (DT_DATA_KIND(c.descriptor(*code, row)) != DT_DATA_INLINE ||
      DT_DATA_KIND(c.descriptor(*text, row)) != DT_DATA_INLINE)
    return;
  const std::string_view word = c.payload(*code, row);
  if (word == "began-late")
    began_late = true, report("recording", seq, "", std::string(c.payload(*text, row)));
  else if (word == "not-taken")
    report("recording", seq, "", "not in the recording: " + std::string(c.payload(*text, row)));
  else if (word == "frame-dropped")
    report("recording", seq, "", "the draws of a frame were not recorded, since the recorder could not keep up");
}

void Player::native(const FunctionColumns& c, uint32_t row) {
  if (!c.function) return;
  const Field *handle = field_of(*c.function, "handle"), *kind = field_of(*c.function, "kind"),
              *text = field_of(*c.function, "text");
  if (!handle || !kind || !text || !kind->has_data() || !text->has_data()) return;
  std::string_view name = c.payload(*kind, row);
  if (DT_DATA_KIND(c.descriptor(*text, row)) != DT_DATA_INLINE) return;
  if (name == "frame") {
    if (options.verify) hash_frame(c.payload(*text, row));
  } else if (name == "surface" || name == "window") {
    windows_->size_noted(c.raw(*handle, row), parse_attributes(c.payload(*text, row)));
  } else if (name == "front") {
    const NativeFact about{"front", c.raw(*handle, row), seq, parse_attributes(c.payload(*text, row))};
    set_front({about.handle, about.number("x"), about.number("y"), about.number("width"), about.number("height")});
  }
}

// ---- frames -------------------------------------------------------------------------------------

void Player::frame_end(bool before) {
  bool wanted = frame_ >= options.first_frame && frame_ < options.end_frame;
  if (before) {
    if (wanted && options.snapshots && options.snapshot_at == Options::AT_FRAMES &&
        frame_ % options.snapshot_every == 0) {
      char number[32];
      snprintf(number, sizeof number, "%06llu", static_cast<unsigned long long>(frame_));
      if (observer_) observer_->pause();
      if (options.attachments != WANT_COLOR)
        snapshot(options.snapshot_prefix + number, seq);
      else
        save_frame(frame_, options.snapshot_prefix.empty()
                               ? ""
                               : options.snapshot_prefix + number + "." + options.snapshot_format);
      if (observer_) observer_->resume();
    }
    return;
  }
  ++frame_;
  if (DT_UNLIKELY(observer_ != nullptr)) observer_->frame_end(frame_, seq);
  ++frames;
  ++next_end_;
  end_seq_ = next_end_ < ends_.size() ? ends_[next_end_] : UINT64_MAX;
  if (DT_LIKELY(end_seq_ != UINT64_MAX)) windows_->frame_begins(seq, end_seq_);
  double now = now_seconds();
  if (frame_ == options.first_frame && !measured_from_) {
    measured_from_ = now;
    calls_at_start_ = calls;
  } else if (wanted && options.benchmark) {
    frame_times_.push_back(now);
  }
  if (status_ && now - last_progress_ > 0.25) {
    last_progress_ = now;
    JsonObject line;
    put_line(status_, line.put("kind", "progress").put("calls", seq).put("total", trace.calls).put("frames", frames));
    fflush(status_);
  }
}

// ---- running ------------------------------------------------------------------------------------

std::shared_ptr<Decoded> Player::chunk() const { return loops_done_ ? nullptr : feed_->shared(); }

void Player::tap_record(Decoded* chunk, uint32_t record, unsigned function) {
  const Columns& c = chunk->columns[chunk->order[record]];
  uint32_t row = chunk->ordinals[record];
  switch (function) {
    case DT_FN_MEMORY: return memory(*c.decoded, row);
    case DT_FN_MAP_WRITE: return map_write(*c.decoded, row);
    case DT_FN_NATIVE: return native(*c.decoded, row);
    case DT_FN_NOTE: return note(*c.decoded, row);
    default: return;
  }
}

void Player::play_alone(Decoded* chunk, uint32_t record, uint64_t number) {
  const uint32_t f = chunk->order[record];
  const uint64_t was = std::exchange(seq, number);
  scratch_used_ = 0;
  more_scratch_.clear();
  g_known[chunk->known[f]].play(*this, {&chunk->columns[f], chunk->ordinals[record], number});
  missing_memory = false;
  seq = was;
}

void Player::execute(Decoded* chunk, uint32_t record) {
  const uint32_t f = chunk->order[record];
  const Coming call{chunk, record, seq, chunk->columns[f], chunk->known[f]};
  if (DT_UNLIKELY(call.known == -1)) return tap_record(chunk, record, chunk->open->info.functions[f].id());
  const Function* function = call.columns.function;
  const bool ends = seq == end_seq_;
  if (DT_UNLIKELY(observer_ != nullptr) && function && context && observer_->keeps(call, ends)) return;
  const Heartbeat number = function ? function->id : 0xffff;
  __atomic_store_n(heartbeat_, (seq & 0xffffffffffff) | number << 48, __ATOMIC_RELAXED);
  scratch_used_ = 0;
  if (DT_UNLIKELY(!more_scratch_.empty())) more_scratch_.clear();
  const bool marked = call.known >= 0 && g_known[call.known].flags & KNOWN_FRAME_END;
  const bool shows = ends && (marked || (function && function->flags & FLAG_FRAME_END));
  if (DT_UNLIKELY(!function)) {
    ++skipped_functions_["function " + std::to_string(chunk->open->info.functions[f].id())];
  } else {
    if (shows) frame_end(true);
    if (DT_UNLIKELY(observer_ != nullptr)) observer_->before(call);
    play_call(call);
    if (DT_UNLIKELY(observer_ != nullptr)) observer_->after(call);
  }
  if (DT_UNLIKELY(!spans.empty())) spans.clear();
  ++calls;
  if (DT_UNLIKELY(ends)) {
    if (!shows) frame_end(true);
    frame_end(false);
  }
}

void Player::play_call(const Coming& call) {
  const auto function = static_cast<size_t>(call.columns.function->index);
  if (DT_LIKELY(call.columns.play != nullptr)) return play_command(call);
  if (auto handler = handlers_[function]) {
    (windows_.get()->*handler)({*call.columns.function, *call.columns.decoded, call.chunk->ordinals[call.record], seq});
  } else if (unplayable_[function]) {
    ++skipped;
    ++skipped_functions_[call.columns.function->name];
  }
}

void Player::play_command(const Coming& call) {
  const Known& known = g_known[call.known];
  const bool vg = known.flags & KNOWN_VG;
  if (DT_UNLIKELY(!context && !vg)) {
    ++skipped;
    ++skipped_functions_["calls without a context"];
    return;
  }
  const Row row{&call.columns, call.chunk->ordinals[call.record], seq};
  running = known.name;
  if (DT_LIKELY(!observer_) || !observer_->plays(row)) known.play(*this, row);
  missing_memory = false;
  if (options.snapshots && options.snapshot_at != Options::AT_FRAMES &&
      (options.snapshot_at == Options::AT_CALLS || known.flags & KNOWN_DRAW))
    snapshot_call();
  if ((options.verify || options.errors) && context && !vg) check_error(known.name);
  if (DT_UNLIKELY(observer_ != nullptr) && !vg) observer_->linked(call);
}
Player::Player(const Trace& t, const Options& o) : trace(t), options(o) {
  g_player = this;
  if (!options.status_path.empty()) {
    status_ = options.status_path == "-" ? stdout : fopen(options.status_path.c_str(), "a");
    if (!status_) throw Error(DT_E_IO, options.status_path + " cannot be written");
    setvbuf(status_, nullptr, _IOLBF, 0);
  }
  if (options.heartbeat) {
    void* page =
        mmap(nullptr, sizeof(Heartbeat), PROT_READ | PROT_WRITE, MAP_SHARED, static_cast<int>(options.heartbeat), 0);
    if (page == MAP_FAILED) throw Error(DT_E_IO, std::string("the heartbeat: ") + strerror(errno));
    heartbeat_ = static_cast<Heartbeat*>(page);
    *heartbeat_ = NO_BEAT;
  }
  mapping_ = map_functions(trace);
  windows_ = std::make_unique<Windows>(*this);
  for (auto& f : trace.signatures.functions) {
    bool known = true;
    const Mapping& m = mapping_[static_cast<size_t>(f.index)];
    bool generated = m.known >= 0 && g_known[m.known].play;
    handlers_.push_back(generated || m.known == -1 ? nullptr : windows_->handler(f, known));
    unplayable_.push_back(!known);
  }
  ends_ = trace.frames()->ends;
  if (!ends_.empty()) end_seq_ = ends_.front();
  if (options.verify) find_gaps();
  observe(nullptr);
  for (size_t i = 0; i < trace.threads.size(); ++i) threads_.push_back(std::make_unique<PlayerThread>());
}

void Player::observe(Observer* observer) {
  observer_ = observer;
  plain_call_ = !observer_ && !options.verify && !options.errors && !options.debug &&
                (!options.snapshots || options.snapshot_at == Options::AT_FRAMES);
}

bool Player::visit(Context* wanted) { return windows_->visit(wanted); }

Player::~Player() {
  if (status_ && status_ != stdout) fclose(status_);
  if (states_ && states_ != stdout) fclose(states_);
}

// Returns whether the next record is not to be played. Records that belong to a call are left out with it; the facts of
// windows, and the ends of frames, are known all the same.
bool Player::is_left_out() {
  if (!stored_rows_.empty() && next_chunk_->known[next_chunk_->order[next_record_]] == -1 &&
      next_chunk_->open->info.functions[next_chunk_->order[next_record_]].id() == DT_FN_MAP_WRITE) {
    const uint64_t row = stored_rows_[next_chunk_->open->index] + next_chunk_->ordinals[next_record_];
    const size_t at = (trace.calls + 7) / 8 + row / 8;
    return at >= options.keep.size() || !(options.keep[at] >> (row % 8) & 1);
  }
  if (seq / 8 < options.keep.size() && options.keep[seq / 8] >> (seq % 8) & 1) return false;
  uint16_t f = next_chunk_->order[next_record_];
  if (next_chunk_->known[f] == -1) return next_chunk_->open->info.functions[f].id() != DT_FN_NATIVE;
  if (seq == end_seq_) frame_end(false);
  return true;
}

// Fetches the next record into next_chunk_ and next_record_; false: it is over.
bool Player::advance() {
  while (advance_any())
    if (DT_LIKELY(options.keep.empty()) || !is_left_out()) return true;
  return false;
}

bool Player::advance_any() {
  if (DT_UNLIKELY(frame_ >= options.end_frame || seq > options.stop_call)) {
    if (loops_done_ + 1 >= options.loops || kept_.empty()) return false;
  } else if (DT_LIKELY(kept_at_ == 0 && loops_done_ == 0)) {
    if (DT_LIKELY(feed_->next(next_chunk_, next_record_, seq))) {
      if (DT_UNLIKELY(options.loops > 1) && frame_ >= options.first_frame)
        kept_.push_back({feed_->shared(), next_record_, seq});
      return seq <= options.stop_call;
    }
    if (loops_done_ + 1 >= options.loops || kept_.empty()) return false;
  }
  if (loops_done_ == 0 || kept_at_ >= kept_.size() || frame_ >= options.end_frame) {
    if (++loops_done_ >= options.loops) return false;
    if (observer_) observer_->restart();
    kept_at_ = 0;
    frame_ = options.first_frame;
    next_end_ = static_cast<size_t>(options.first_frame);
    end_seq_ = next_end_ < ends_.size() ? ends_[next_end_] : UINT64_MAX;
  }
  Item& item = kept_[kept_at_++];
  next_chunk_ = item.chunk.get();
  next_record_ = item.record;
  seq = item.seq;
  return true;
}

void Player::step_until(uint32_t self) {
  do {
    if (DT_UNLIKELY(options.as_recorded) && next_chunk_->known[next_chunk_->order[next_record_]] != -1) {
      uint64_t ticks = next_chunk_->open->entries()[next_record_];
      if (ticks) {
        int64_t at = trace.clock.ns(ticks);
        if (first_time_ns_ < 0) first_time_ns_ = at;
        double wait = static_cast<double>(at - first_time_ns_) * 1e-9 - (now_seconds() - started_);
        if (wait > 0.0005) std::this_thread::sleep_for(std::chrono::duration<double>(wait));
      }
    }
    const Columns& columns = next_chunk_->columns[next_chunk_->order[next_record_]];
    if (DT_LIKELY(columns.play != nullptr) && DT_LIKELY(seq != end_seq_) && DT_LIKELY(plain_call_) &&
        DT_LIKELY(context != nullptr)) {
      scratch_used_ = 0;
      Row row{&columns, next_chunk_->ordinals[next_record_], seq};
      columns.play(*this, row);
      ++calls;
      missing_memory = false;
      if (DT_UNLIKELY(!spans.empty())) spans.clear();
      if (DT_UNLIKELY(!more_scratch_.empty())) more_scratch_.clear();
    } else {
      execute(next_chunk_, next_record_);
    }
    if (DT_UNLIKELY(observer_ != nullptr) && observer_->satisfied()) {
      over_ = true;
      return;
    }
    // The whole of it once: nothing to watch for.
    if (DT_LIKELY(straight_) ? DT_UNLIKELY(!feed_->next(next_chunk_, next_record_, seq)) : DT_UNLIKELY(!advance())) {
      over_ = true;
      if (DT_UNLIKELY(pause_seq_ != UINT64_MAX || options.serve)) pause(true);
      return;
    }
    if (DT_UNLIKELY(seq > pause_seq_)) {
      pause(false);
      if (left_) {
        over_ = true;
        return;
      }
    }
  } while (DT_LIKELY(next_chunk_->thread == self));
}

void Player::baton_loop(uint32_t self) {
  std::unique_lock lock(baton_);
  for (;;) {
    handed_.wait(lock, [&] { return over_ || running_ == self; });
    if (over_) break;
    context = threads_[self]->context;
    if (observer_) observer_->enter(context);
    step_until(self);
    if (observer_) observer_->leave();
    if (!over_) {
      running_ = next_chunk_->thread;
      // A recorded thread gets one here when it first has something to play.
      if (running_ != 0 && !threads_[running_]->thread.joinable() && running_ != self)
        threads_[running_]->thread = std::thread([this, to = running_] { baton_loop(to); });
    }
    handed_.notify_all();
    if (over_) break;
  }
  // A context that is still current would be lost with its thread.
  if (tls.context && self != 0) eglReleaseThread();
}

namespace {

// Bytes that a call left out found in a mapping may be another one's: which of them stay has to be chosen.
void check_keep(const Trace& trace, const Options& options) {
  uint64_t rows = 0;
  for (auto& c : trace.calls_chunks)
    if (auto* f = c.find(DT_FN_MAP_WRITE | DT_RECORD_TAP)) rows += f->count;
  const uint64_t needed = (trace.calls + 7) / 8 + (rows + 7) / 8;
  if (options.keep.size() < needed)
    throw Error(DT_E_ARGUMENT, "--keep: " + options.keep_path + " has " + std::to_string(options.keep.size()) +
                                   " bytes of " + std::to_string(needed) + ": a bit for each of " +
                                   std::to_string(trace.calls) + " calls, then one for each of " +
                                   std::to_string(rows) + " stores through mappings");
}

}  // namespace

int Player::run() {
  if (trace.threads.empty()) {
    finish();
    return 0;
  }
  feed_ = std::make_unique<Feed>(trace, mapping_, options.preload ? 0 : options.window);
  if (!options.keep.empty()) {
    check_keep(trace, options);
    stored_rows_ = trace.tap_rows(DT_FN_MAP_WRITE);
  }
  straight_ =
      options.keep.empty() && options.loops == 1 && options.end_frame == UINT64_MAX && options.stop_call == UINT64_MAX;
  started_ = now_seconds();
  if (!options.first_frame) measured_from_ = started_;
  bool some = advance();
  if (options.serve)
    left_ = !serve(false);
  else if (!options.points.empty())
    pause_seq_ = options.points.front().seq;
  if (waits_) pause_seq_ = served_.seq;
  started_points_ = true;
  if (left_) some = false;
  if (some) {
    if (observer_) observer_->enter(nullptr);
    if (options.single_thread || trace.threads.size() == 1) {
      while (!over_) {
        uint32_t self = next_chunk_->thread;
        if (self != running_) {
          running_ = self;
          windows_->switch_to(*threads_[self]);
        }
        step_until(self);
      }
    } else {
      running_ = next_chunk_->thread;
      if (running_ != 0) threads_[running_]->thread = std::thread([this, to = running_] { baton_loop(to); });
      baton_loop(0);
      for (auto& t : threads_)
        if (t->thread.joinable()) t->thread.join();
      context = nullptr;
    }
  }
  if (options.image_at_call) save_frame(frame_, options.snapshot_prefix);
  if (observer_) observer_->finish(seq, !ends_.empty());
  if (context)
    if (driver::glFinish) driver::glFinish();
  ended_ = now_seconds();
  finish();
  return different ? 1 : 0;
}

void Player::finish() {
  ask_reset();
  for (auto& e : errors_)
    report(e.function.starts_with("vg") ? "vg-error" : "gl-error", e.call, e.function,
           std::string(error_name(e.error)) + "; the program did not ask for errors");
  for (auto& [name, count] : skipped_functions_) {
    Finding* finding = findings_.add("skipped", 0, name, "not played");
    if (finding && finding->function == name) finding->count = count;
  }
  findings_.add_losses(trace);
  if (!status_) return;
  findings_.write(status_);
  put_outcome(status_, {.calls = calls,
                        .frames = frames,
                        .measured_calls = calls - calls_at_start_,
                        .compared = compared,
                        .different = different,
                        .skipped = skipped,
                        .uncompared = uncompared,
                        .unseen = unseen,
                        .loops = loops_done_ + 1,
                        .started = started_,
                        .measured_from = measured_from_,
                        .ended = ended_,
                        .frame_times = frame_times_,
                        .engine = windows_ ? windows_->engine() : "",
                        .reset = reset_});
}

}  // namespace dt::play
