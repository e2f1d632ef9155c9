// Measuring while a trace is played: what the player tells it, and what it writes.
#pragma once
#include <cstdio>
#include <deque>
#include <map>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "own_queries.h"
#include "plan.h"
#include "source.h"

namespace dt::play::metrics {

enum Mode : uint8_t { MEASURE, PLAN, LIST };

class Session : Sink {
 public:
  Session(Request request, Mode mode, std::string output, FILE* status, uint64_t first_frame, uint64_t end_frame);
  // Shows `own` the events that it wants, of all frames; nothing is measured.
  explicit Session(std::unique_ptr<Source> own);
  ~Session() override;

  // The events, and the meaning of a function to a session, worked out once. The flags are the flags of the trace's
  // functions (FLAG_DRAW ...).
  enum Kind : uint16_t {
    DRAW = 1,
    BEGIN = 2,
    END = 4,
    QUERY_BEGIN = 8,
    QUERY_END = 16,
    LIST_BEGIN = 32,
    LIST_END = 64,
    LINKS = 128,
    CONDITION_BEGIN = 256,
    CONDITION_END = 512,
    PRIMITIVES = 1024  // draws them: no clear, no dispatch
  };
  static uint16_t kind(const std::string& name, uint64_t flags);
  struct Happening {
    uint64_t seq;
    uint16_t kind;
    uint32_t (*argument)(const void* call, const char* name);  // of the call, recorded
    const void* call;
    Call* seen = nullptr;   // the same for sources that watch
    Draw* draw = nullptr;   // where it draws
    bool expanded = false;  // see Call
  };
  void before(const Happening& call);
  void after(const Happening& call);
  // A call of a display list comes, which is played instead of the list; `draw`: the same where it draws.
  void within(Call& call, Draw* draw);
  // A program, by the driver's name, has been linked.
  void linked(uint32_t program);
  // A frame has ended with the call `seq`; `next` is the number of the one that begins.
  void frame_end(uint64_t next, uint64_t seq);
  // Something of the player's own comes that is not measured, and has gone.
  void pause();
  void resume();
  void leave();
  void enter(const void* context);
  // The context goes away; `visit` makes it current for a moment.
  void forget(const void* context, const std::function<bool(bool)>& visit);
  // The frames begin again: the next pass.
  void restart();
  // It is over after the call `seq`; `frames`: whether the trace says where frames end.
  void finish(uint64_t seq, bool frames);
  std::function<bool(const void*)> visit;  // makes a context current for a moment
  // Returns whether a pass of these wants to see draws: display lists are kept from the beginning, in every pass.
  bool keeps_lists() const { return mode_ == MEASURE && !finished_ && keeps_lists_; }
  // The events that the sources of this pass want: Source::Watch.
  unsigned watches() const { return mode_ == MEASURE && !finished_ ? watches_ : 0; }
  // Returns whether sources watch the coming events.
  bool measures() const { return watches() && in_frames(); }
  std::function<uint32_t(uint32_t)> query_name;  // the driver's of a query, by the recording's
  std::function<void()> keep_errors;             // takes the program's errors from the driver and hands them out later
  // The count of a query of the program's, by the driver's name, where the driver's answer would lack a part. False: it
  // does not.
  bool counted(uint32_t query, uint64_t& value) { return mode_ == MEASURE && own_.result(query, value); }
  bool only_asks() const { return mode_ == PLAN; }
  bool answered() const { return answered_; }

 private:
  struct Scope : Measured {
    size_t waits = 0;  // for results
    bool closed = false;
    std::vector<Sum> sums;
  };
  struct Segment {
    std::vector<Scope*> scopes;
    uint64_t t_start = 0, t_end = 0, draws = 0;
    size_t waits = 0;
    std::vector<size_t> lost;  // places of metrics that were lost before it ended
  };
  // Draws that the program makes only if a query of its own says so.
  struct Condition {
    uint32_t query = 0, mode = 0;
    std::optional<bool> draws;
  };
  struct Prepared {
    Pass pass;
    std::vector<std::unique_ptr<Source>> sources;  // those that stop first first
    std::vector<int> place;                        // of a metric among the pass's, -1
  };

  void value(uint64_t segment, int metric, double value) override;
  void mean(uint64_t segment, int metric, double sum, double weight) override;
  void lost(uint64_t segment, int metric, const char* why) override;
  void prepare();
  void played(uint64_t seq);
  void ask();
  void begin_pass();
  void end_pass();
  void stop();
  void start();
  Scope* open(At at, uint64_t number, uint64_t seq);
  void close(Scope* scope, uint64_t end_seq);
  void drop(Scope* scope);
  void settle(Scope* scope);
  std::map<uint64_t, Segment>::iterator segment_of(uint64_t number);
  void forget_segment(std::map<uint64_t, Segment>::iterator it);
  void arrived(uint64_t segment);
  void collect(bool wait);
  void collect_everywhere();
  void ranges(uint64_t seq);
  void show(Draw& draw);
  void drawn();
  void block(uint32_t target, bool blocked);
  void lose(Segment& segment, size_t place);
  void condition(const Happening& call);
  static bool disturbed(const Prepared& pass, uint32_t target);
  void query_begun(const Happening& call);
  static void conditional(const Condition* condition);
  static bool draws_anything(Condition& condition);
  void restore(const Call* next = nullptr);
  void calibrate(bool contexts);
  void gone(const void* context);
  bool in_frames() const { return frame_ >= first_frame_ && frame_ < end_frame_; }

  Request request_;
  Mode mode_;
  std::string output_;
  FILE* status_;
  std::unique_ptr<Rows> rows_;
  uint64_t first_frame_, end_frame_, frame_ = 0;
  OwnQueries own_;  // outlives the sources
  std::vector<Prepared> passes_;
  size_t pass_ = 0;
  std::vector<bool> began_;  // per source: whether it runs
  unsigned watches_ = 0;
  std::unordered_set<Scope*> scopes_;  // that are not written yet
  std::vector<Scope*> open_;
  Scope *frame_scope_ = nullptr, *draw_scope_ = nullptr, *call_scope_ = nullptr;
  std::map<uint64_t, Scope*> range_scopes_;
  std::vector<size_t> running_ranges_;
  size_t next_range_ = 0;
  uint64_t next_range_at_ = UINT64_MAX;
  std::map<uint64_t, Segment> segments_;
  std::map<uint64_t, Segment>::iterator sought_segment_ = segments_.end();  // see segment_of()
  uint64_t last_segment_ = 0;
  bool running_ = false, paused_ = false, away_ = true, in_begin_ = false, in_list_ = false, list_runs_ = false,
       answered_ = false;
  bool finished_ = false, keeps_lists_ = false,
       changed_ = false;                         // changed_: sources may have changed something for draws
  std::map<const void*, Condition> conditions_;  // by context
  std::map<const void*, bool> contexts_;         // seen, and still there
  std::vector<double> bias_;
  bool calibrated_ = false, calibrating_ = false;
  std::vector<std::vector<double>> samples_;
  // The cost of measuring.
  uint64_t cuts_ = 0, cost_ns_ = 0, stopped_at_ = 0, counted_calls_ = 0, calls_hash_ = 1469598103934665603ull;
  uint64_t pauses_ = 0, cut_ns_median_ = 0;
};

}  // namespace dt::play::metrics
