#include "measuring.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "measures.h"
#include "metrics/look.h"
#include "gl_enums.h"

namespace dt::play {

namespace {

using CallKind = metrics::Session;
constexpr size_t MOST_WAITING = 1 << 22;

}  // namespace

Measuring::Measuring(Player& player, metrics::Session& session)
    : player_(player), session_(session), lists_(player, session) {
  session_.visit = [this](const void* wanted) {
    return player_.visit(static_cast<Context*>(const_cast<void*>(wanted)));
  };
  session_.query_name = [this](uint32_t recorded) { return player_.name(QUERY, recorded); };
  session_.keep_errors = [this] { player_.keep_errors(); };
  auto& functions = player_.trace.signatures.functions;
  kinds_.resize(functions.size());
  for (auto& f : functions) kinds_[static_cast<size_t>(f.index)] = metrics::Session::kind(f.name, f.flags);
  player_.observe(this);
}

Measuring::~Measuring() { player_.observe(nullptr); }

uint16_t Measuring::kind(const Coming& call) const { return kinds_[static_cast<size_t>(call.columns.function->index)]; }

// Calls from glBegin to glEnd wait for the end where somebody wants to draw them again first.
bool Measuring::keeps(const Coming& call, bool ends_frame) {
  if (ended_) return false;
  auto& waiting = waiting_[call.chunk->thread];
  const uint16_t what = kind(call);
  const bool begins =
      what & CallKind::BEGIN && session_.watches() & metrics::Source::WATCH_DRAWS && !lists_.compiling();
  if (!begins && waiting.empty()) return false;
  waiting.push_back({player_.chunk(), call.chunk, call.record, call.seq, std::move(player_.spans)});
  player_.spans.clear();
  // Calls that cannot stand there at all are at least played in their place.
  const bool over = what & CallKind::END || ends_frame || !call.columns.play || waiting.size() > MOST_WAITING;
  if (!over) return true;
  const auto calls = std::exchange(waiting, {});
  ended_ = &calls;
  for (auto& w : calls) {
    player_.seq = w.seq;
    player_.spans = w.spans;
    player_.execute(w.chunk, w.record);
  }
  ended_ = nullptr;
  return true;
}

void Measuring::before(const Coming& call) {
  const uint32_t row_number = call.chunk->ordinals[call.record];
  recorded_ = {call.columns.decoded, row_number};
  happening_ = {call.seq, kind(call), &Recorded::argument, &recorded_};
  piece_ = expands_ = runs_ = false;
  if (!session_.watches() && !session_.keeps_lists()) return session_.before(happening_);
  Watched watched(lists_, *call.columns.decoded, row_number, call.seq);
  const Row row{&call.columns, row_number, call.seq};
  happening_.seen = &watched;
  show(call, watched, row);
  session_.before(happening_);
  if (expands_) lists_.expand(watched);
  happening_.seen = nullptr, happening_.draw = nullptr;
}

void Measuring::show(const Coming& call, Watched& watched, const Row& row) {
  if (DT_UNLIKELY(lists_.compiling()) && !(happening_.kind & CallKind::LIST_END))
    piece_ = lists_.add(watched, {player_.chunk(), call.chunk, call.record, call.seq});
  if (happening_.kind & CallKind::LIST_BEGIN && player_.context && tls.context) {
    runs_ = session_.measures() && watched.number("mode") == GL_COMPILE_AND_EXECUTE;
    happening_.expanded = watched.expanded = runs_;
    lists_.begin(static_cast<uint32_t>(watched.number("list")), runs_);
  }
  if (!call.columns.play || !player_.context || g_known[call.known].flags & KNOWN_VG) return;
  if (!(happening_.kind & CallKind::BEGIN)) watched.plays(call.columns.play, row);
  if (happening_.kind & (CallKind::DRAW | CallKind::BEGIN)) show_draw(call, watched);
}

void Measuring::show_draw(const Coming& call, Watched& watched) {
  happening_.draw = &watched;
  if (happening_.kind & CallKind::BEGIN) {
    if (ended_)
      watched.draws(*ended_);
    else
      watched.refuse("it does not end");
    return;
  }
  const Function& function = *call.columns.function;
  if (!(function.flags & FLAG_LIST_CALL)) return;
  const bool one = function.name == "glCallList";
  const List* list = one ? lists_.find(static_cast<uint32_t>(watched.number("list"))) : nullptr;
  expands_ = session_.measures() && !lists_.compiling() && lists_.expands(watched);
  if (expands_)
    happening_.draw = nullptr, happening_.expanded = true;
  else if (list)
    watched.draws(*list);
  else
    watched.refuse(one ? "a display list draws it that was not seen to be made"
                       : "several display lists draw it, and one cannot be played call by call");
}

bool Measuring::plays(const Row& row) {
  if (!piece_ && !runs_ && !expands_) return false;
  if (piece_) lists_.open_piece();
  if (runs_)
    driver::glNewList(player_.name(LIST, Recorded::argument(&recorded_, "list")), GL_COMPILE);
  else if (!expands_)
    row.columns->play(player_, row);
  if (piece_) lists_.close_piece();
  return true;
}

void Measuring::linked(const Coming&) {
  if (DT_LIKELY(!(happening_.kind & CallKind::LINKS))) return;
  const uint32_t program = Recorded::argument(&recorded_, "program");
  session_.linked(player_.name(PROGRAM, program ? program : Recorded::argument(&recorded_, "programObj")));
}

namespace {

// The sum of a query's parts, as the program gets it: 32 bits hold no more than they can.
struct QuerySum {
  uint64_t value = 0;
  uint32_t narrow = 0;
  const void* data(bool wide) const { return wide ? static_cast<const void*>(&value) : &narrow; }
};

bool sum_of(metrics::Session& session, uint32_t query, uint32_t about, QuerySum& sum) {
  if ((about != GL_QUERY_RESULT && about != GL_QUERY_RESULT_NO_WAIT) || !session.counted(query, sum.value))
    return false;
  sum.narrow = static_cast<uint32_t>(std::min<uint64_t>(sum.value, UINT32_MAX));
  return true;
}

}  // namespace

// Where measuring took a query of the program's apart, the driver's answer is the answer of its first part.
void Measuring::asked(uint32_t query, uint32_t about, void* to, bool wide) {
  QuerySum sum;
  if (!sum_of(session_, query, about, sum)) return;
  int buffer = 0;
  if (tls.context && tls.context->api == 1 && tls.context->version >= 44)
    driver::glGetIntegerv(GL_QUERY_BUFFER_BINDING, &buffer);
  if (buffer)
    driver::glBufferSubData(GL_QUERY_BUFFER, reinterpret_cast<intptr_t>(to), wide ? 8 : 4, sum.data(wide));
  else if (to)
    memcpy(to, sum.data(wide), wide ? 8 : 4);
}

void Measuring::asked_into(uint32_t query, uint32_t about, uint32_t buffer, intptr_t place, bool wide) {
  QuerySum sum;
  if (sum_of(session_, query, about, sum)) driver::glNamedBufferSubData(buffer, place, wide ? 8 : 4, sum.data(wide));
}

void Measuring::after(const Coming& call) {
  session_.after(happening_);
  if (!(happening_.kind & CallKind::LIST_END) || !lists_.compiling()) return;
  Watched watched(lists_, *call.columns.decoded, call.chunk->ordinals[call.record], call.seq);
  list_made(*lists_.end(), watched);
}

// A display list is made that runs at once, too: its calls were only compiled so far.
void Measuring::list_made(const List& list, Watched& call) {
  if (!list.runs) return;
  if (!*list.cannot) return lists_.expand(list);
  call.name = "glCallList", call.expanded = true;
  call.refuse(list.cannot);
  session_.within(call, &call);
  driver::glCallList(player_.name(LIST, list.name));
}

namespace {

class Measured : public Measures {
 public:
  Measured(std::unique_ptr<metrics::Session> session, metrics::Look* look)
      : session_(std::move(session)), look_(look) {}
  std::unique_ptr<Observer> watch(Player& player) override {
    player.look = look_;
    return std::make_unique<Measuring>(player, *session_);
  }

 private:
  std::unique_ptr<metrics::Session> session_;
  metrics::Look* look_;  // the session's; nullptr: nobody asks about pixels and vertices
};

}  // namespace

std::unique_ptr<Measures> measures(const Wanted& w, Options& o, std::string& why) {
  if (!w.list && w.plan.empty() && w.measure.empty()) {
    if (!o.look) return nullptr;
    auto look = metrics::make_look();
    auto* told = look.get();
    return std::make_unique<Measured>(std::make_unique<metrics::Session>(std::move(look)), told);
  }
  metrics::Request request;
  const std::string& file = w.plan.empty() ? w.measure : w.plan;
  if (!file.empty() && !request.read(file, why)) return nullptr;
  const auto mode = w.list ? metrics::LIST : w.plan.empty() ? metrics::MEASURE : metrics::PLAN;
  if (mode == metrics::MEASURE) o.loops = std::max<uint64_t>(o.loops, request.passes.size());
  auto session =
      std::make_unique<metrics::Session>(std::move(request), mode, w.measured, stdout, o.first_frame, o.end_frame);
  return std::make_unique<Measured>(std::move(session), nullptr);
}

void list_metrics_of(const void* context, const char* version, FILE* to) {
  metrics::set_current_context(context);
  metrics::list_backends(to, version);
  metrics::set_current_context(nullptr);
}

}  // namespace dt::play
