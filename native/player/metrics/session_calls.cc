// The work of a session of measuring at calls, frames and contexts.
#include "session.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

#include "../../core/trace.h"
#include "../line.h"
#include "gl_enums.h"

namespace dt::play::metrics {

// ---- what happens -------------------------------------------------------------------------------

void Session::ranges(uint64_t seq) {
  auto& all = request_.ranges;
  for (auto it = range_scopes_.begin(); it != range_scopes_.end();) {
    auto& range = all[it->first];
    if (range.end <= seq) {
      close(it->second, range.end);
      it = range_scopes_.erase(it);
    } else {
      ++it;
    }
  }
  for (; next_range_ < all.size() && all[next_range_].begin <= seq; ++next_range_)
    if (all[next_range_].end > seq)
      range_scopes_[next_range_] = open(AT_RANGE, all[next_range_].number, all[next_range_].begin);
  next_range_at_ = next_range_ < all.size() ? all[next_range_].begin : UINT64_MAX;
  for (auto& [i, scope] : range_scopes_) next_range_at_ = std::min(next_range_at_, all[i].end);
}

// Shows a draw to the sources that want to see it; no segment runs. A draw that its condition leaves out shows nothing,
// and work on the other draws is under no condition: a condition would leave out clears of ours too.
void Session::show(Draw& draw) {
  if (!current_context() || paused_ || away_) return;
  uint64_t began = now_ns();
  if (keep_errors) keep_errors();
  auto it = conditions_.find(current_context());
  Condition* condition = it == conditions_.end() ? nullptr : &it->second;
  if (condition && !draws_anything(*condition)) {
    restore();
  } else {
    if (condition) conditional(nullptr);
    draw.in_query = own_.suspend([&](uint32_t target) { return disturbed(passes_[pass_], target); });
    draw.samples = own_.samples();
    for (auto& source : passes_[pass_].sources)
      if (source->watches() & Source::WATCH_DRAWS) source->around(draw);
    changed_ = true;
    if (draw.in_query) own_.resume();
    draw.samples = nullptr;
    if (condition) conditional(condition);
  }
  cost_ns_ += now_ns() - began;
}

// The program's own query of that target begins or ends; it may run on into another pass.
void Session::block(uint32_t target, bool blocked) {
  if (!current_context()) return;
  for (auto& pass : passes_)
    for (auto& source : pass.sources)
      if (source->uses(target)) source->block(target, blocked);
}

bool Session::disturbed(const Prepared& pass, uint32_t target) {
  return std::any_of(pass.sources.begin(), pass.sources.end(),
                     [&](auto& source) { return source->watches() & Source::WATCH_DRAWS && source->disturbs(target); });
}

// A query of the program's has begun that what is done about draws may be counted in, now or in a later pass.
void Session::query_begun(const Happening& call) {
  const uint32_t target = call.argument(call.call, "target");
  if (current_context() && query_name &&
      std::any_of(passes_.begin(), passes_.end(), [&](auto& pass) { return disturbed(pass, target); }))
    own_.begun(target, call.argument(call.call, "index"), query_name(call.argument(call.call, "id")));
}

void Session::condition(const Happening& call) {
  if (!current_context() || in_list_) return;
  if (call.kind & CONDITION_END) {
    conditions_.erase(current_context());
  } else if (query_name) {
    const uint32_t query = query_name(call.argument(call.call, "id")), mode = call.argument(call.call, "mode"),
                   other = own_.stand_in(query);
    conditions_[current_context()] = {other, mode, {}};
    if (other == query) return;
    conditional(nullptr);
    conditional(&conditions_[current_context()]);
  }
}

// Later draws are under a condition, or (nullptr) no longer.
void Session::conditional(const Condition* condition) {
  if (condition)
    (is_es() ? driver::glBeginConditionalRenderNV : driver::glBeginConditionalRender)(condition->query,
                                                                                      condition->mode);
  else
    (is_es() ? driver::glEndConditionalRenderNV : driver::glEndConditionalRender)();
}

// Waits for the query, as most modes do; the others have the driver draw what it does not know yet, and it does know
// then.
bool Session::draws_anything(Condition& condition) {
  if (condition.draws) return *condition.draws;
  const ResultsHere here;
  uint32_t passed = 1;
  (is_es() && driver::glGetQueryObjectuivEXT ? driver::glGetQueryObjectuivEXT : driver::glGetQueryObjectuiv)(
      condition.query, GL_QUERY_RESULT, &passed);
  const bool inverted =
      condition.mode >= GL_QUERY_WAIT_INVERTED && condition.mode <= GL_QUERY_BY_REGION_NO_WAIT_INVERTED;
  if (take_error()) passed = !inverted;
  condition.draws = (passed != 0) != inverted;
  return *condition.draws;
}

void Session::restore(const Call* next) {
  changed_ = false;
  if (!current_context()) return;
  if (keep_errors) keep_errors();  // draws may be performed that were put off
  for (auto& source : passes_[pass_].sources)
    if (source->watches() & Source::WATCH_DRAWS) changed_ |= source->restore(next);
}

void Session::linked(uint32_t program) {
  if (mode_ != MEASURE || finished_ || !current_context()) return;
  bool ran = running_, ready = false;
  for (auto& pass : passes_)
    for (auto& source : pass.sources) {
      if (!(source->watches() & Source::WATCH_LINKS)) continue;
      if (!ready) {
        stop();
        if (keep_errors) keep_errors();
        ready = true;
      }
      source->linked(program);
    }
  if (ready && ran) start();
}

void Session::before(const Happening& call) {
  if (mode_ != MEASURE || finished_) return;
  if (changed_ && !(watches_ & Source::WATCH_DRAWS && call.draw && !in_list_ && !in_begin_))
    restore(in_frames() && !in_list_ && !in_begin_ ? call.seen : nullptr);
  if (frame_scope_ && frame_scope_->seq == UINT64_MAX) frame_scope_->seq = call.seq;
  if (call.kind & QUERY_END) own_.ending(call.argument(call.call, "target"), call.argument(call.call, "index"));
  if (!in_frames()) {
    // One that begins before the frames that are measured may run in them.
    if (call.kind & QUERY_BEGIN) block(call.argument(call.call, "target"), true);
    return;
  }
  auto see = [&] {
    if (DT_LIKELY(!(watches_ & Source::WATCH_CALLS)) || !call.seen) return;
    call.seen->in_list = in_list_;
    for (auto& source : passes_[pass_].sources)
      if (source->watches() & Source::WATCH_CALLS) source->see(*call.seen);
  };
  if (in_begin_) return see();
  ++counted_calls_;
  calls_hash_ = (calls_hash_ ^ call.seq) * 1099511628211ull;
  unsigned at = passes_[pass_].pass.at;
  bool draw = at & AT_DRAW && call.kind & (DRAW | BEGIN) && !in_list_, each = at & AT_CALL;
  bool list = call.kind & LIST_BEGIN, query = false;
  if (call.kind & QUERY_BEGIN) {
    uint32_t target = call.argument(call.call, "target");
    for (auto& s : passes_[pass_].sources) query |= s->uses(target);
    if (query) {
      stop();
      if (!disturbed(passes_[pass_], target)) ++pauses_;
    }
    block(target, true);
  }
  if (draw && request_.isolate) {
    stop();
    if (driver::glFinish && current_context()) driver::glFinish();
  }
  bool shown = watches_ & Source::WATCH_DRAWS && call.draw && !in_list_;
  if (draw || each || list || call.seq >= next_range_at_ || query || shown) {
    stop();
    if (call.seq >= next_range_at_) ranges(call.seq);
    if (draw) draw_scope_ = open(AT_DRAW, call.seq, call.seq);
    if (each) call_scope_ = open(AT_CALL, call.seq, call.seq);
    if (list) {
      in_list_ = true;
      list_runs_ = !call.expanded && call.argument(call.call, "mode") == GL_COMPILE_AND_EXECUTE;
    }
    if (shown) show(*call.draw);
    start();
  }
  if (call.kind & PRIMITIVES && !call.expanded && (!in_list_ || list_runs_)) drawn();
  see();
  if (call.kind & BEGIN) in_begin_ = true;
}

void Session::within(Call& call, Draw* draw) {
  if (mode_ != MEASURE || finished_ || !in_frames()) return;
  // Draws that nobody measures would be counted with the next ones.
  const bool shown = draw && watches_ & Source::WATCH_DRAWS && !open_.empty();
  if (changed_ && !shown) restore(draw ? nullptr : &call);
  if (shown) {
    stop();
    show(*draw);
    start();
  }
  if (draw && (draw->flags & (FLAG_DRAW | FLAG_VERTICES_BEGIN | FLAG_LIST_CALL))) drawn();
  for (auto& source : passes_[pass_].sources)
    if (source->watches() & Source::WATCH_CALLS) source->see(call);
}

void Session::played(uint64_t seq) {
  if (!current_context() || paused_ || away_ || in_list_) return;
  if (keep_errors) keep_errors();
  for (auto& source : passes_[pass_].sources)
    if (source->watches() & Source::WATCH_PLAYED) source->played(seq);
}

void Session::after(const Happening& call) {
  if (mode_ != MEASURE || finished_) return;
  if (call.kind & (CONDITION_BEGIN | CONDITION_END)) condition(call);
  if (call.kind & QUERY_BEGIN) query_begun(call);
  if (in_begin_ && !(call.kind & END)) return;
  in_begin_ = false;
  if (DT_UNLIKELY(watches_ & Source::WATCH_PLAYED)) played(call.seq);
  bool query = false, list = call.kind & LIST_END && in_list_;
  if (draw_scope_ && request_.isolate)
    if (driver::glFinish && current_context()) driver::glFinish();
  if (call.kind & QUERY_END) {
    uint32_t target = call.argument(call.call, "target");
    for (auto& s : passes_[pass_].sources) query |= s->uses(target);
    if (query) stop();
    block(target, false);
  }
  if (!draw_scope_ && !call_scope_ && !query && !list) return;
  stop();
  if (draw_scope_) {
    draw_scope_->number = draw_scope_->seq = call.seq;  // of glEnd, where it began with glBegin
    close(draw_scope_, call.seq + 1);
    draw_scope_ = nullptr;
  }
  if (call_scope_) {
    call_scope_->number = call_scope_->seq = call.seq;
    close(call_scope_, call.seq + 1);
    call_scope_ = nullptr;
  }
  if (list) in_list_ = list_runs_ = false;
  start();
}

void Session::frame_end(uint64_t next, uint64_t seq) {
  if (mode_ != MEASURE || finished_) {
    frame_ = next;
    return;
  }
  if (changed_) restore();
  stop();
  uint64_t began = now_ns();
  if (frame_scope_) close(frame_scope_, seq + 1);
  frame_scope_ = nullptr;
  if (in_frames())
    for (auto& source : passes_[pass_].sources) source->frame(frame_);
  frame_ = next;
  collect(false);
  if (!in_frames()) {
    for (auto& [i, scope] : range_scopes_) {
      if (request_.ranges[i].end <= seq + 1)
        close(scope, request_.ranges[i].end);
      else
        drop(scope);  // they go on where nobody looks
    }
    range_scopes_.clear();
  } else if (passes_[pass_].pass.at & AT_FRAME) {
    frame_scope_ = open(AT_FRAME, next, UINT64_MAX);
  }
  if (in_frames() && passes_[pass_].pass.at & AT_RANGE && seq + 1 >= next_range_at_) ranges(seq + 1);
  cost_ns_ += now_ns() - began;
  start();
}

void Session::pause() {
  if (mode_ != MEASURE) return;
  if (changed_) restore();
  stop();
  paused_ = true;
}
void Session::resume() {
  if (mode_ != MEASURE) return;
  paused_ = false;
  start();
}
void Session::leave() {
  if (mode_ == MEASURE && !finished_) {
    if (changed_) restore();
    stop();
    const void* context = current_context();
    bool last = context && !contexts_.contains(context);
    if (context)
      for (auto& source : passes_[pass_].sources) source->leave();
    if (context) collect(last);
    if (last) gone(context);
  }
  away_ = true;
  set_current_context(nullptr);
}
void Session::enter(const void* context) {
  away_ = false;
  set_current_context(context);
  bool fresh = context && contexts_.emplace(context, true).second;
  if (mode_ != MEASURE) {
    if (mode_ == LIST ? fresh : context && !answered_) ask();
    return;
  }
  if (finished_) return;
  if (context && !calibrated_ && !in_begin_) calibrate(true);
  start();
}

void Session::forget(const void* context, const std::function<bool(bool)>& visit) {
  if (mode_ != MEASURE) return;
  contexts_.erase(context);
  if (context == current_context()) return;  // it goes when it is left
  bool wait = false;
  for (auto& p : passes_)
    for (auto& s : p.sources) wait |= s->pending(context);
  if (wait && !finished_) {
    const void* back = current_context();
    stop();
    if (visit(true)) {
      set_current_context(context);
      collect(true);
    }
    visit(false);
    set_current_context(back);
    start();
  }
  gone(context);
}

void Session::gone(const void* context) {
  conditions_.erase(context);
  own_.forget(context);
  for (auto& p : passes_)
    for (auto& s : p.sources) s->forget(context);
}

void Session::end_pass() {
  for (auto& [i, scope] : range_scopes_) drop(scope);
  range_scopes_.clear();
  drop(frame_scope_);
  drop(draw_scope_);
  drop(call_scope_);
  frame_scope_ = draw_scope_ = call_scope_ = nullptr;
  // Values that never came are reported.
  while (!segments_.empty()) {
    auto it = segments_.begin();
    std::vector<Scope*> scopes = it->second.scopes;
    const size_t waits = it->second.waits;
    const uint64_t draws = it->second.draws;
    forget_segment(it);
    for (Scope* s : scopes) {
      for (auto& sum : s->sums)
        if (!sum.why) sum.why = "no result came", sum.unknown += draws;
      s->waits -= waits;
      settle(s);
    }
  }
  const uint64_t written = rows_->written;
  rows_ = nullptr;
  if (!status_) return;
  put_pass(status_, {pass_, written, cuts_, cost_ns_, cut_ns_median_, counted_calls_, calls_hash_, pauses_}, request_,
           passes_[pass_].pass, bias_);
}

// Takes what contexts still have that are not current.
void Session::collect_everywhere() {
  collect(true);
  const void* back = current_context();
  bool went = false;
  for (auto& [context, there] : contexts_) {
    bool has = false;
    for (auto& s : passes_[pass_].sources) has |= s->pending(context);
    if (!has || !visit || !visit(context)) continue;
    went = true;
    set_current_context(context);
    collect(true);
  }
  if (went && back) visit(back);
  set_current_context(back);
}

void Session::restart() {
  if (mode_ != MEASURE || finished_) return;
  if (changed_) restore();
  stop();
  collect_everywhere();
  frame_ = first_frame_;
  end_pass();
  if (pass_ + 1 >= passes_.size()) {
    finished_ = true;
    return;
  }
  ++pass_;
  begin_pass();
  if (current_context()) calibrate(true);
  start();
}

void Session::finish(uint64_t seq, bool frames) {
  if (mode_ != MEASURE && !answered_) ask();
  if (mode_ != MEASURE || finished_) return;
  if (changed_) restore();
  stop();
  // Calls behind the last frame end are no frame; a trace without any is one.
  if (frame_scope_ && !frames) {
    close(frame_scope_, seq + 1);
    frame_scope_ = nullptr;
  }
  if (passes_[pass_].pass.at & AT_RANGE) ranges(seq + 1);
  collect_everywhere();
  end_pass();
  finished_ = true;
}

}  // namespace dt::play::metrics
