#include "thread_spans.h"

#include <deque>

#include "../common/json.h"

namespace dt::kernel {
namespace {

constexpr size_t k_span_batch_rows = 122880;  // as many as DuckDB puts together
constexpr uint64_t k_no_span = UINT64_MAX;
constexpr int64_t k_no_cpu = INT64_MIN;

enum SpanKind : uint32_t { span_running, span_preempted, span_blocked, span_waking };
const std::vector<std::string> k_span_kinds = {"running", "preempted", "blocked", "waking"};

struct ThreadSpan {
  int64_t begin = 0, end = 0, cpu = k_no_cpu;
  int32_t tid = 0, waker = 0;
  SpanKind kind = span_running;
  bool is_open = false, done = false, dropped = false;
};

// Spans in order of their begins, each given out when it and all before it have an end. A span that lasts longer than
// many others leaves the order.
class SpanQueue {
 public:
  explicit SpanQueue(size_t most_waiting) : most_waiting_(most_waiting) {}
  uint64_t push(const ThreadSpan& span) {
    waiting_.push_back(span);
    return first_ + waiting_.size() - 1;
  }
  ThreadSpan& at(uint64_t place) { return place < first_ ? long_.at(place) : waiting_[place - first_]; }
  void finish(uint64_t place, bool keep) {
    ThreadSpan& span = at(place);
    span.done = true;
    span.dropped = !keep;
    if (place >= first_) return;
    if (keep) unsorted.push_back(span);
    long_.erase(place);
  }
  // Moves to `ready` what is complete.
  void advance(std::vector<ThreadSpan>& ready) {
    while (!waiting_.empty()) {
      const ThreadSpan& span = waiting_.front();
      if (!span.done && waiting_.size() < most_waiting_) return;
      if (!span.done) {
        long_.emplace(first_, span);
      } else if (!span.dropped) {
        if (!together_.empty() && together_[0].begin != span.begin) flush(ready);
        together_.push_back(span);
      }
      waiting_.pop_front();
      ++first_;
    }
  }
  void flush(std::vector<ThreadSpan>& ready) {
    if (together_.size() > 1)
      std::stable_sort(together_.begin(), together_.end(), [](auto& a, auto& b) { return a.end < b.end; });
    ready.insert(ready.end(), together_.begin(), together_.end());
    together_.clear();
  }

  std::vector<ThreadSpan> unsorted;

 private:
  const size_t most_waiting_;
  std::deque<ThreadSpan> waiting_;
  std::vector<ThreadSpan> together_;  // with one begin
  std::unordered_map<uint64_t, ThreadSpan> long_;
  uint64_t first_ = 0;
};

// A thread is off its CPUs: preempted, or blocked and then woken.
struct Pause {
  uint64_t off = k_no_span, waking = k_no_span;
  int64_t begin = 0, end = 0, woken = k_first, cpu = k_no_cpu;
  int32_t tid = 0, waker = 0;
  bool runnable = false, is_open = false;
};
struct Turn {
  int32_t tid = 0;  // 0: nobody's
  int64_t begin = 0;
  uint64_t span = k_no_span;
  bool has_pause = false;
  Pause pause;  // that it ended: it counts when the turn has an end
};
struct CpuTurns {
  uint64_t switches = 0;
  int64_t first = 0, last = 0, longest = 0;  // times of switches, and the longest between two
  Turn turn;
};
// A turn that was there when the trace began, and the pause behind it. The end of the pass decides about both.
struct FirstTurn {
  int64_t cpu = k_no_cpu, end = 0;
  int32_t tid = 0;
  bool has_pause = false, ended = false;
  Pause pause;
};
struct ThreadState {
  int64_t latest = k_first;  // begin of its latest turn
  uint32_t open_turns = 0;   // that began then
  bool is_off = false;
  Pause pause;
  int64_t ended = k_first;  // when a turn on `ended_cpu` ended its pause
  int64_t ended_cpu = k_no_cpu;
  int64_t woken = k_first;
  int32_t waker = 0;
  std::vector<size_t> firsts;
  ThreadFacts::Name context, named;
  bool in_context = false, is_named = false;
  int64_t context_comm_t = k_first, named_comm_t = k_first;
};

struct Switch {
  int64_t t = 0, cpu = k_no_cpu;
  int32_t prev = 0, next = 0;
  bool prev_known = false, state_known = false, runnable = false, dead = false;
};

class ThreadPass : public BatchSource {
 public:
  ThreadPass(const ThreadsPlan& plan, ArrowArrayStream* switches, ArrowArrayStream* wakes,
             std::shared_ptr<ThreadFacts> facts)
      : plan_(plan), facts_(std::move(facts)), in_(switches), spans_(plan.most_waiting) {
    if (wakes) wakes_ = std::make_unique<TableReader>(wakes);
    static const char* const names[] = {"t",        "cpu",      "tid",        "pid",       "comm",
                                        "prev_tid", "next_tid", "prev_state", "prev_comm", "next_comm"};
    for (size_t i = 0; i < in_count; ++i) column_[i] = in_.need(names[i]);
    state_is_text_ = in_.kind(column_[in_state]) == 's';
    if (!wakes_) return;
    wake_column_[0] = wakes_->need("t");
    wake_column_[1] = wakes_->need("wakee");
    wake_column_[2] = wakes_->need("tid");
  }

  bool next(Batch& batch) override {
    if (!started_) {
      started_ = true;
      read_switch();
      read_wake();
    }
    while (ready_.size() - given_ < k_span_batch_rows && !finished_) step();
    put(batch);
    return batch.rows > 0;
  }

 private:
  enum In { in_t, in_cpu, in_tid, in_pid, in_comm, in_prev, in_next, in_state, in_prev_comm, in_next_comm, in_count };

  // Whole number of any column; false where there is none.
  static bool number(const TableReader& in, int column, int64_t& value) {
    if (in.is_null(column)) return false;
    if (in.kind(column) != 's') {
      value = in.integer(column);
      return in.kind(column) != 'u' || value >= 0;
    }
    std::string text(in.text(column));
    char* end = nullptr;
    value = strtoll(text.c_str(), &end, 10);
    return end != text.c_str() && !*end;
  }
  static bool thread(const TableReader& in, int column, int32_t& tid) {
    int64_t value = 0;
    if (!number(in, column, value) || value < INT32_MIN || value > INT32_MAX) return false;
    tid = static_cast<int32_t>(value);
    return true;
  }

  void read_switch() {
    has_switch_ = in_.next();
    if (has_switch_) switch_t_ = in_.integer(column_[in_t]);
  }
  void read_wake() {
    has_wake_ = wakes_ && wakes_->next();
    if (has_wake_) wake_t_ = wakes_->integer(wake_column_[0]);
  }

  void step() {
    if (!has_switch_ && !has_wake_) return finish();
    const bool is_wake = has_wake_ && (!has_switch_ || wake_t_ < switch_t_);
    const int64_t t = is_wake ? wake_t_ : switch_t_;
    if (t < now_) {
      facts_->in_order = false;
      throw Error(DT_E_FORMAT, "events are not in order of time");
    }
    now_ = t;
    if (is_wake) {
      take_wake();
      read_wake();
    } else {
      take_switch();
      read_switch();
    }
    if (!(++steps_ & 0xff)) spans_.advance(ready_);
  }

  ThreadState& state_of(int32_t tid) {
    auto& recent = recent_[static_cast<uint32_t>(tid) % 256];
    if (!recent.second || recent.first != tid) recent = {tid, &threads_[tid]};
    return *recent.second;
  }

  // ---- names ----------------------------------------------------------------------------------------

  void name(ThreadFacts::Name& name, bool& is_there, int64_t& comm_t, int32_t tid, int comm) {
    if (!is_there) {
      is_there = true;
      name.tid = tid;
      name.t = switch_t_;
    }
    if (in_.is_null(comm)) return;
    if (name.has_comm && switch_t_ <= comm_t) return;
    comm_t = switch_t_;
    std::string_view text = in_.text(comm);
    if (!name.has_comm || name.comm != text) name.comm = text;
    name.has_comm = true;
  }
  void names(const Switch& s) {
    int32_t tid = 0;
    if (thread(in_, column_[in_tid], tid) && tid > 0) {
      ThreadState& state = state_of(tid);
      name(state.context, state.in_context, state.context_comm_t, tid, column_[in_comm]);
      state.context.t = switch_t_;
      if (!state.context.has_pid) state.context.has_pid = thread(in_, column_[in_pid], state.context.pid);
    }
    if (s.prev_known && s.prev > 0 && !in_.is_null(column_[in_prev_comm])) {
      ThreadState& state = state_of(s.prev);
      name(state.named, state.is_named, state.named_comm_t, s.prev, column_[in_prev_comm]);
      state.named.t = switch_t_;
    }
    if (s.next > 0 && !in_.is_null(column_[in_next_comm])) {
      ThreadState& state = state_of(s.next);
      name(state.named, state.is_named, state.named_comm_t, s.next, column_[in_next_comm]);
      state.named.t = switch_t_;
    }
  }

  // ---- switches and wakes ---------------------------------------------------------------------------

  Switch decoded() const {
    Switch s;
    s.t = switch_t_;
    if (!number(in_, column_[in_cpu], s.cpu)) s.cpu = k_no_cpu;
    s.prev_known = thread(in_, column_[in_prev], s.prev);
    if (!thread(in_, column_[in_next], s.next)) s.next = 0;
    if (state_is_text_) {
      s.state_known = !in_.is_null(column_[in_state]);
      const std::string_view text = s.state_known ? in_.text(column_[in_state]) : std::string_view();
      const char first = text.empty() ? ' ' : text[0];
      // TASK_RUNNING is R, or R+ where the thread was preempted.
      s.runnable = first == 'R';
      s.dead = first == 'X' || first == 'Z' || first == 'x' || first == 'z';
      return s;
    }
    int64_t bits = 0;
    s.state_known = number(in_, column_[in_state], bits);
    // TASK_RUNNING is 0, and from Linux 4.14 on a preempted thread has the bit above those that are reported.
    s.runnable = s.state_known && (bits & 255) == 0;
    s.dead = s.state_known && (bits & 48) != 0;  // EXIT_DEAD 16, EXIT_ZOMBIE 32
    return s;
  }

  void take_switch() {
    const Switch s = decoded();
    ++facts_->switches;
    names(s);
    CpuTurns& cpu = cpus_[s.cpu];
    if (cpu.switches++) {
      cpu.longest = std::max(cpu.longest, s.t - cpu.last);
      if (cpu.turn.tid > 0) end_turn(cpu, s);
    } else {
      cpu.first = s.t;
      if (s.prev_known && s.prev > 0 && s.t > plan_.begin) first_turn(s);
    }
    cpu.last = s.t;
    if (s.next > 0) begin_turn(cpu, s);
  }

  // A thread has at most one pause at a time. It stands behind the turn that began last; where several began at one
  // time, behind the turn that ends last.
  void end_turn(CpuTurns& cpu, const Switch& s) {
    Turn turn = cpu.turn;
    cpu.turn = {};
    if (turn.has_pause) settle(turn.pause);
    const bool is_right = s.prev_known && s.prev == turn.tid;
    if (s.prev_known && !is_right) ++facts_->lost;
    spans_.at(turn.span).end = s.t;
    spans_.finish(turn.span, is_right);
    ThreadState& state = state_of(turn.tid);
    if (turn.begin != state.latest || --state.open_turns || !is_right || s.dead || !s.state_known) return;
    state.pause = paused(s, turn.tid);
    state.is_off = true;
    state.pause.off =
        spans_.push({.begin = s.t, .cpu = s.cpu, .tid = turn.tid, .kind = s.runnable ? span_preempted : span_blocked});
    if (state.woken == s.t) wake(state.pause, s.t, state.waker);
  }
  static Pause paused(const Switch& s, int32_t tid) {
    Pause pause;
    pause.begin = s.t;
    pause.cpu = s.cpu;
    pause.tid = tid;
    pause.runnable = s.runnable;
    return pause;
  }
  void first_turn(const Switch& s) {
    FirstTurn first;
    first.cpu = s.cpu;
    first.end = s.t;
    first.tid = s.prev;
    ThreadState& state = state_of(s.prev);
    first.has_pause = state.latest == k_first && !s.dead && s.state_known;
    first.pause = paused(s, s.prev);
    if (first.has_pause && state.woken == s.t) wake_first(first.pause, s.t, state.waker);
    state.firsts.push_back(firsts_.size());
    firsts_.push_back(first);
  }
  void begin_turn(CpuTurns& cpu, const Switch& s) {
    ThreadState& state = state_of(s.next);
    cpu.turn.tid = s.next;
    cpu.turn.begin = s.t;
    cpu.turn.span = spans_.push({.begin = s.t, .cpu = s.cpu, .tid = s.next});
    if (state.latest == s.t) {
      ++state.open_turns;
    } else {
      state.latest = s.t;
      state.open_turns = 1;
    }
    if (state.is_off) {
      state.is_off = false;
      state.pause.end = s.t;
      state.ended = s.t;
      state.ended_cpu = s.cpu;
      cpu.turn.has_pause = true;
      cpu.turn.pause = state.pause;
    }
    for (size_t at : state.firsts)
      if (!firsts_[at].ended) {
        firsts_[at].ended = true;
        firsts_[at].pause.end = s.t;
      }
  }

  // The last wake until the thread runs is the one that counts, one at the very time of its turn too.
  void take_wake() {
    int32_t wakee = 0, waker = 0;
    if (!thread(*wakes_, wake_column_[1], wakee)) return;
    if (!thread(*wakes_, wake_column_[2], waker)) waker = 0;
    ThreadState& state = state_of(wakee);
    state.woken = wake_t_;
    state.waker = waker;
    if (state.is_off) {
      wake(state.pause, wake_t_, waker);
    } else if (state.ended == wake_t_) {
      Turn& turn = cpus_[state.ended_cpu].turn;
      if (turn.tid == wakee && turn.has_pause && turn.pause.end == wake_t_) wake(turn.pause, wake_t_, waker);
    }
    for (size_t at : state.firsts)
      if (!firsts_[at].ended || firsts_[at].pause.end == wake_t_) wake_first(firsts_[at].pause, wake_t_, waker);
  }
  void wake(Pause& pause, int64_t t, int32_t waker) {
    if (pause.runnable) return;
    if (pause.waking != k_no_span) spans_.finish(pause.waking, false);
    wake_first(pause, t, waker);
    pause.waking = spans_.push({.begin = t, .cpu = pause.cpu, .tid = pause.tid, .kind = span_waking});
  }
  static void wake_first(Pause& pause, int64_t t, int32_t waker) {
    if (pause.runnable) return;
    pause.woken = t;
    pause.waker = waker;
  }

  // Gives the spans of a pause their ends.
  void settle(const Pause& pause) {
    const bool is_woken = pause.woken != k_first;
    ThreadSpan& off = spans_.at(pause.off);
    off.end = is_woken ? pause.woken : pause.end;
    off.is_open = pause.is_open;
    if (is_woken && pause.woken == pause.end) off.waker = pause.waker;
    spans_.finish(pause.off, off.end > pause.begin);
    if (pause.waking == k_no_span) return;
    ThreadSpan& waking = spans_.at(pause.waking);
    waking.end = pause.end;
    waking.is_open = pause.is_open;
    waking.waker = pause.waker;
    spans_.finish(pause.waking, pause.woken < pause.end);
  }
  void drop(const Pause& pause) {
    spans_.finish(pause.off, false);
    if (pause.waking != k_no_span) spans_.finish(pause.waking, false);
  }

  // ---- the end --------------------------------------------------------------------------------------

  void finish() {
    finished_ = facts_->is_whole = true;
    find_late();
    for (auto& [number, cpu] : cpus_) {
      if (cpu.turn.tid <= 0) continue;
      ++facts_->edges;
      ThreadSpan& span = spans_.at(cpu.turn.span);
      span.end = plan_.end;
      span.is_open = true;
      spans_.finish(cpu.turn.span, plan_.whole);
      if (cpu.turn.has_pause) plan_.whole ? settle(cpu.turn.pause) : drop(cpu.turn.pause);
    }
    for (auto& [tid, state] : threads_) {
      if (state.in_context) facts_->contexts.push_back(std::move(state.context));
      if (state.is_named) facts_->named.push_back(std::move(state.named));
      if (!state.is_off) continue;
      state.pause.end = plan_.end;
      state.pause.is_open = true;
      plan_.whole ? settle(state.pause) : drop(state.pause);
    }
    finish_firsts();
    spans_.advance(ready_);
    spans_.flush(ready_);
    sorted_ = ready_.size();
    ready_.insert(ready_.end(), spans_.unsorted.begin(), spans_.unsorted.end());
  }

  // A buffer that is written round and round keeps the last events of each CPU: busy ones begin later. A CPU is late
  // where it is silent at first for longer than ever after.
  void find_late() {
    const double share = static_cast<double>(plan_.end - plan_.begin) / 100;
    for (auto& [number, cpu] : cpus_) {
      const int64_t late = cpu.first - plan_.begin;
      if (cpu.switches >= 10 && late > cpu.longest && static_cast<double>(late) > share)
        facts_->late.emplace_back(number, late);
    }
    std::sort(facts_->late.begin(), facts_->late.end());
  }
  bool is_late(int64_t cpu) const {
    for (auto& [number, ns] : facts_->late)
      if (number == cpu) return true;
    return false;
  }
  void finish_firsts() {
    // A thread may seem to have had such turns on several CPUs: the last turn has the pause.
    std::unordered_map<int32_t, const FirstTurn*> last;
    for (auto& first : firsts_) {
      if (is_late(first.cpu)) continue;
      ++facts_->edges;
      auto& kept = last[first.tid];
      if (!kept || std::pair(kept->end, kept->cpu) < std::pair(first.end, first.cpu)) kept = &first;
      if (plan_.whole)
        spans_.unsorted.push_back(
            {.begin = plan_.begin, .end = first.end, .cpu = first.cpu, .tid = first.tid, .is_open = true});
    }
    if (!plan_.whole) return;
    for (auto& [tid, first] : last) {
      if (!first->has_pause) continue;
      Pause pause = first->pause;
      pause.is_open = !first->ended;
      if (!first->ended) pause.end = plan_.end;
      if (pause.end <= pause.begin) continue;
      pause.off = spans_.push(
          {.begin = pause.begin, .cpu = pause.cpu, .tid = tid, .kind = pause.runnable ? span_preempted : span_blocked});
      if (pause.woken != k_first)
        pause.waking = spans_.push({.begin = pause.woken, .cpu = pause.cpu, .tid = tid, .kind = span_waking});
      settle_unsorted(pause);
    }
  }
  void settle_unsorted(const Pause& pause) {
    settle(pause);
    for (uint64_t place : {pause.off, pause.waking}) {
      if (place == k_no_span) continue;
      ThreadSpan& span = spans_.at(place);
      if (!span.dropped) spans_.unsorted.push_back(span);
      span.dropped = true;
    }
  }

  // ---- rows -----------------------------------------------------------------------------------------

  void put(Batch& batch) {
    static const auto words = std::make_shared<const std::vector<std::string>>(k_span_kinds);
    batch.start(span_columns());
    auto& columns = batch.columns;
    columns[4].words = words;
    const size_t end = std::min(ready_.size(), given_ + k_span_batch_rows);
    batch.rows = static_cast<int64_t>(end - given_);
    for (size_t at = given_; at < end; ++at) {
      const ThreadSpan& span = ready_[at];
      columns[0].value(span.tid);
      span.cpu == k_no_cpu ? columns[1].null() : columns[1].value(static_cast<int32_t>(span.cpu));
      columns[2].value(span.begin);
      columns[3].value(span.end);
      columns[4].value(static_cast<uint32_t>(span.kind));
      columns[5].boolean(span.is_open);
      span.waker > 0 ? columns[6].value(span.waker) : columns[6].null();
      columns[7].boolean(!finished_ || at < sorted_);
    }
    given_ = end;
    if (finished_) return;
    ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(given_));
    given_ = 0;
  }

 public:
  static std::vector<NamedType> span_columns() {
    return {{"tid", Type::i32},         {"cpu", Type::i32},         {"begin_ns", Type::i64}, {"end_ns", Type::i64},
            {"kind", Type::dictionary}, {"is_open", Type::boolean}, {"waker", Type::i32},    {"sorted", Type::boolean}};
  }

 private:
  const ThreadsPlan plan_;
  std::shared_ptr<ThreadFacts> facts_;
  TableReader in_;
  std::unique_ptr<TableReader> wakes_;
  int column_[in_count] = {}, wake_column_[3] = {};
  bool state_is_text_ = false, started_ = false, finished_ = false, has_switch_ = false, has_wake_ = false;
  int64_t switch_t_ = 0, wake_t_ = 0, now_ = k_first;
  uint64_t steps_ = 0;
  std::unordered_map<int64_t, CpuTurns> cpus_;
  std::unordered_map<int32_t, ThreadState> threads_;
  std::pair<int32_t, ThreadState*> recent_[256] = {};
  std::vector<FirstTurn> firsts_;
  SpanQueue spans_;
  std::vector<ThreadSpan> ready_;
  size_t given_ = 0, sorted_ = 0;
};

void put_names(JsonWriter<std::string>& json, const char* what, const std::vector<ThreadFacts::Name>& names) {
  json.list(what);
  for (auto& name : names) {
    json.list().value(name.tid);
    name.has_pid ? json.value(name.pid) : json.value(nullptr);
    name.has_comm ? json.value(name.comm) : json.value(nullptr);
    json.value(name.t).end();
  }
  json.end();
}

}  // namespace

std::string ThreadFacts::json() const {
  std::string text;
  JsonWriter json(text);
  json.object()
      .put("switches", switches)
      .put("lost", lost)
      .put("edges", edges)
      .put("in_order", in_order)
      .put("is_whole", is_whole);
  json.list("late");
  for (auto& [cpu, ns] : late) json.list().value(cpu).value(ns).end();
  json.end();
  put_names(json, "contexts", contexts);
  put_names(json, "named", named);
  json.end();
  return text;
}

void export_thread_spans(const ThreadsPlan& plan, ArrowArrayStream* switches, ArrowArrayStream* wakes,
                         std::shared_ptr<ThreadFacts> facts, ArrowArrayStream* out) {
  auto pass = std::make_unique<ThreadPass>(plan, switches, wakes, std::move(facts));
  export_stream(ThreadPass::span_columns(), std::move(pass), out);
}

}  // namespace dt::kernel
