// What can be measured while a trace is played: back-ends offer metrics, sources measure some of them between two
// moments.
//
// Time is cut into segments wherever a range begins or ends, a context goes or comes, or the program's own query needs
// the driver's only place for one. A source measures segments; what a frame, a draw or a range had is put together from
// its segments, so that ranges may nest and overlap although drivers have one active query of a kind.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../../common/primitives.h"
#include "../../core/signature.h"
#include "../../mirror/gl_state.h"

namespace dt::play::metrics {

// How segments make up a range: added, averaged by their duration, the last or the first one's value.
enum class Fold : uint8_t { SUM, MEAN, RATIO, LAST, FIRST };  // RATIO: of two sums
enum At : unsigned { AT_FRAME = 1, AT_DRAW = 2, AT_CALL = 4, AT_RANGE = 8 };

// A metric that somebody wants; `spec` is what its back-end knows it by.
struct Wanted {
  std::string id, backend, spec;
  Fold fold = Fold::SUM;
  unsigned at = 0;
};

// A metric that a back-end has here.
struct Offer {
  std::string spec, group, name, type, unit, text;
  double most = 0;  // values beyond it have run over; 0: not known
};

class Sink {
 public:
  virtual ~Sink() = default;
  virtual void value(uint64_t segment, int metric, double value) = 0;
  // Of a metric that is averaged, where the source knows what over: `sum` of `weight` things.
  virtual void mean(uint64_t segment, int metric, double sum, double weight) = 0;
  virtual void lost(uint64_t segment, int metric, const char* why) = 0;  // `why` outlives the sink
};

// Segments that are none: whether it works at all is tried, and what measuring costs.
constexpr uint64_t TRIAL = 0, CALIBRATION = ~0ull;

class Draw;
// A call of the recording, as it comes to be played.
class Call {
 public:
  virtual ~Call() = default;
  uint64_t seq = 0;
  const char* name = "";
  uint64_t flags = 0;    // of the trace's function: FLAG_DRAW, FLAG_CLEAR, FLAG_DISPATCH ...
  bool in_list = false;  // it is compiled into a display list
  // it is played instead of a display list that it is part of; glNewList: that runs by itself later
  bool expanded = false;
  // A parameter as it was recorded, 0 where there is none of that name. Names of objects are the recording's.
  virtual uint64_t number(const char* parameter) const = 0;
  // The same as a number with a fraction, of a float or double parameter.
  virtual double real(const char* parameter) const = 0;
  // What an array held that the program handed over (indices in its memory, a matrix); empty where it is an offset into
  // a buffer, or not there. Good until the call is over.
  virtual std::span<const uint8_t> array(const char* parameter) const = 0;
  // The same call, to be given to the driver (once more) when it is over; nullptr: it cannot be, since it reads the
  // program's memory or is more than one call.
  virtual std::unique_ptr<Draw> kept() const { return nullptr; }
};

// Results of queries come to where they are asked for while this is there, and not to a buffer of the program's.
class ResultsHere {
 public:
  ResultsHere();
  ResultsHere(const ResultsHere&) = delete;
  ResultsHere& operator=(const ResultsHere&) = delete;
  ~ResultsHere();

 private:
  int buffer_ = 0;
};

// A part of what a query of the program's counts, in a query of its own. See own_queries.h.
class Piece {
 public:
  Piece(uint32_t its_name, uint32_t its_target) : name(its_name), target(its_target) {}
  Piece(const Piece&) = delete;
  Piece& operator=(const Piece&) = delete;
  virtual ~Piece() = default;
  virtual void settle() = 0;  // ends it where it still runs, so that its result can be asked for
  const uint32_t name, target;
  bool runs = false;
};

// A call that draws (also: clears, dispatches; see flags), and the means to do it once more.
class Draw : public Call {
 public:
  // Why perform() is not safe to be called; "": it is. A display list may be performed all the same where the state
  // that it may change is saved around it; what vertices leave behind (colours, normals, materials) perform() saves
  // itself.
  virtual const char* refusal() const { return ""; }
  // How many vertices are given between glBegin and glEnd or in a display list, and points, lines or triangles they
  // make up; -1: it is drawn by other means, or not known. number("mode") is that of the (first) glBegin.
  struct Given {
    int64_t vertices = -1, primitives = -1;
  };
  virtual Given given() const { return {}; }
  // Gives the driver exactly this call, or all from glBegin to glEnd, with whatever state is set then. False: the
  // player leaves the call out, nothing was drawn (and nothing will be). May be called any number of times.
  virtual bool perform() = 0;
  // A query of the program's counts the draw and stands still during around(); what is drawn later would be counted.
  bool in_query = false;
  // Where that counts samples: how many of the draw pass, of this draw alone.
  std::shared_ptr<Piece> samples;
};

// How many points, lines or triangles a mode of glBegin makes of n vertices (quads and polygons as triangles); -1:
// patches.
inline int64_t primitives_of(uint64_t mode, int64_t n) {
  const Primitives made = dt::primitives_of(mode, n > 0 ? static_cast<uint64_t>(n) : 0);
  return !made.known ? -1 : static_cast<int64_t>(made.triangles ? made.triangles : made.count);
}

// Measures metrics (by their numbers in the list of those wanted) from begin() to end(). Nothing waits there.
class Source {
 public:
  explicit Source(std::vector<int> numbers) : metrics(std::move(numbers)) {}
  virtual ~Source() = default;
  virtual bool per_context() const { return true; }
  // Those with a small number stop first and start last: they see least of what measuring itself costs.
  virtual int order() const { return 9; }
  // False: it cannot begin now, `why` says so.
  virtual bool begin(uint64_t segment, std::string& why) = 0;
  virtual void end() = 0;
  // Hands over the results that are there, oldest first; `wait`: all of the current context.
  virtual void collect(Sink& to, bool wait) = 0;
  virtual bool pending(const void* /*context*/) const { return false; }
  virtual void forget(const void* /*context*/) {}
  // The current context goes, another one may come; no segment runs. For what only one context can have at a time.
  virtual void leave() {}
  // WATCH_DRAWS. The program's own query of this target would count what around() does: it stands still meanwhile.
  virtual bool disturbs(uint32_t /*target*/) const { return false; }
  // The program's own query of this target begins or ends. True: a running segment has to end for it.
  virtual bool uses(uint32_t /*target*/) const { return false; }
  virtual void block(uint32_t /*target*/, bool /*blocked*/) {}

  // What the source wants to be shown. Asked once a pass.
  enum Watch : unsigned { WATCH_DRAWS = 1, WATCH_CALLS = 2, WATCH_LINKS = 4, WATCH_PLAYED = 8 };
  virtual unsigned watches() const { return 0; }
  // WATCH_DRAWS. The draw is about to be played, and no segment runs: what happens in here is measured by nobody, and
  // may wait. What is learnt of the draw belongs to the segment that begins next (the next begin(), which always comes
  // where somebody measures the draw): keep it, hand it over with that segment. Whatever GL state is touched has to be
  // as it was on return, errors of the driver too (those of the program were taken before and are safe); call the
  // driver by the table (driver.h), so that the player's own idea of the state stays the program's. perform() happens
  // inside of what the program has going on: its queries that count (see disturbs()), its transform feedback, buffers
  // that its shaders write.
  virtual void around(Draw& /*draw*/) {}
  // WATCH_DRAWS. No further draw follows the last one that around() was shown: what that left changed for draws has to
  // be as it was. A segment may run. `next` is the call that comes, nullptr: any may. True: something is kept since
  // that call cannot notice; restore() comes again before the one behind it, unless it draws.
  virtual bool restore(const Call* /*next*/) { return false; }
  // The only source of its pass: none other measures the program's draws or wants to see them as they are.
  bool alone = false;
  // WATCH_CALLS. A call that is about to be played; it belongs to the segment that runs. The driver may not be called:
  // it may stand between glBegin and glEnd.
  virtual void see(const Call& /*call*/) {}
  // WATCH_PLAYED. The call was played; from glBegin on only glEnd is told. Rules are those of around().
  virtual void played(uint64_t /*seq*/) {}
  // WATCH_LINKS. A program of that name (the driver's) has been linked, its shaders are still attached: the moment to
  // make a twin of it. Told in every frame and pass, whichever is measured; no segment runs, rules are those of
  // around().
  virtual void linked(uint32_t /*program*/) {}
  // A frame that is measured has ended, with its last segment; no context need be current.
  virtual void frame(uint64_t /*number*/) {}
  const std::vector<int> metrics;
};

class Backend {
 public:
  explicit Backend(const char* n);
  virtual ~Backend() = default;
  const char* const name;
  virtual bool per_context() const { return true; }
  // Why there is nothing to be had in the current context or on this machine; "": there is.
  virtual std::string reason() = 0;
  virtual std::vector<Offer> offers() = 0;
  // Where a metric cannot be had although others of the back-end can: (name, reason).
  virtual std::vector<std::pair<std::string, std::string>> refusals() { return {}; }
  // Metrics of one group share counters: of `group_of` at most `room_of` at once; 0: not known.
  virtual std::string group_of(const std::string& spec) { return spec; }
  virtual size_t room_of(const std::string& /*group*/) { return 0; }
  // nullptr: `why` says why not. Works without a context.
  virtual std::unique_ptr<Source> source(const std::vector<Wanted>& all, const std::vector<int>& numbers,
                                         std::string& why) = 0;
};

const std::vector<Backend*>& backends();
Backend* backend(std::string_view name);
// Which context is current (its address means nothing else), nullptr: none.
const void* current_context();
void set_current_context(const void* context);
bool is_es();
uint64_t now_ns();
// Text that lives as long as the program.
const char* lasting(const std::string& text);
// Of the current context; asked of the driver once.
bool has_extension(const char* name);
// Where sources put pictures of frames; "": nobody wants them.
std::string& pictures_folder();
void drain_errors();
uint32_t take_error();

}  // namespace dt::play::metrics
