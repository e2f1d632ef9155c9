// Measures of a trace while it is played: back-ends offer metrics, and sources measure some of the metrics between two
// moments.
//
// Time is cut into segments wherever a range begins or ends, a context goes or comes, or the program's own query needs
// the driver's only place for one. A source measures segments; The value of a frame, a draw or a range is put together
// from its segments. So ranges may nest and overlap although drivers have one active query of a kind.
#pragma once
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plan.h"

namespace dt::play::metrics {

// The rule by which segments make up a range: added, averaged by their duration, the last or the first one's value.
enum class Fold : uint8_t { SUM, MEAN, RATIO, LAST, FIRST };  // RATIO: of two sums
// AT_PASS: render passes as they ran, of Vulkan.
enum At : unsigned { AT_FRAME = 1, AT_DRAW = 2, AT_CALL = 4, AT_RANGE = 8, AT_PASS = 16 };

// A metric that somebody wants; `spec` is what its back-end knows it by.
struct RequestedMetric {
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
  // For an averaged metric, where the source knows the weights: `sum` of `weight` things.
  virtual void mean(uint64_t segment, int metric, double sum, double weight) = 0;
  virtual void lost(uint64_t segment, int metric, const char* why) = 0;  // `why` outlives the sink
};

// Segments that are none: whether it works at all is tried, and what measuring costs.
constexpr uint64_t TRIAL = 0, CALIBRATION = ~0ull;

class Call;
class Draw;

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

  // The events that the source wants. Asked once a pass.
  enum Watch : unsigned { WATCH_DRAWS = 1, WATCH_CALLS = 2, WATCH_LINKS = 4, WATCH_PLAYED = 8 };
  virtual unsigned watches() const { return 0; }
  // WATCH_DRAWS. The draw is about to be played, and no segment runs: what happens in here is measured by nobody, and
  // may wait. Facts about the draw belong to the segment that begins next (the next begin(), which always comes where
  // somebody measures the draw). Keep them, hand them over with that segment. GL state has to be as it was on return,
  // errors of the driver too (the program's errors were taken before and are safe); call the driver by the table
  // (driver.h), so that the player's own idea of the state stays the program's. perform() happens inside of what the
  // program has going on: its queries that count (see disturbs()), its transform feedback, buffers that its shaders
  // write.
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
  // WATCH_PLAYED. The call was played; from glBegin on only glEnd comes. The rules of around() hold.
  virtual void played(uint64_t /*seq*/) {}
  // WATCH_LINKS. A program of that name (the driver's) has been linked, its shaders are still attached: the moment to
  // make a twin of it. Told in every frame and pass, whichever is measured; no segment runs, rules are those of
  // around().
  virtual void linked(uint32_t /*program*/) {}
  // A frame that is measured has ended, with its last segment; no context need be current.
  virtual void frame(uint64_t /*number*/) {}
  const std::vector<int> metrics;
};

// Figures of the machine or the process, which are read where segments begin and end, whatever context is current.
class ReadSource : public Source {
 public:
  using Source::Source;
  bool per_context() const override { return false; }
  bool begin(uint64_t segment, std::string& why) override {
    segment_ = segment;
    return start(segment, why);
  }
  void end() override { done_.push_back({segment_, stop()}); }
  void collect(Sink& to, bool wait) override;

 protected:
  struct Figure {
    double value = 0;
    const char* lost = nullptr;  // why there is none
  };
  virtual bool start(uint64_t segment, std::string& why) = 0;
  virtual std::vector<Figure> stop() = 0;  // one for each metric

 private:
  struct Done {
    uint64_t segment;
    std::vector<Figure> figures;
  };
  std::vector<Done> done_;
  uint64_t segment_ = 0;
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
  virtual std::unique_ptr<Source> source(const std::vector<RequestedMetric>& all, const std::vector<int>& numbers,
                                         std::string& why) = 0;
};

const std::vector<Backend*>& backends();
Backend* backend(std::string_view name);
uint64_t now_ns();
// Text that lives as long as the program.
const char* lasting(const std::string& text);
// Where sources put pictures of frames; "": nobody wants them.
std::string& pictures_folder();

// ---- orders and answers -------------------------------------------------------------------------------

// The measurement, as a file of JSON, an object.
//   metrics: [{id, backend, spec, fold: sum|mean|ratio|last|first, at: fdcrp}]   passes: [{at, metrics: [NUMBER]}]
//   ranges: [{begin, end}]   isolate: true|false   pictures: FOLDER
struct Request {
  std::vector<RequestedMetric> metrics;
  std::vector<Pass> passes;
  struct Range {
    uint64_t number, begin, end;
  };
  std::vector<Range> ranges;  // by their beginning
  bool isolate = false;       // finish before and after each draw: nothing of it is left for later
  bool read(const std::string& path, std::string& why);
};

// The sum over the parts of a frame, a draw ... of one metric.
struct Sum {
  double value = 0, weight = 0;
  uint64_t segment = 0;  // of the last or first part
  uint32_t parts = 0;
  uint64_t unknown = 0;  // draws of which it is not known
  const char* why = nullptr;
};
void add(Sum& sum, Fold fold, double value, double weight, uint64_t segment);

// One row of the answer.
struct Measured {
  At at = AT_FRAME;
  uint64_t number = 0, seq = 0, end_seq = 0, t_start = 0, t_end = 0, segments = 0;
  uint64_t draws = 0;  // that are in it; draws of a display list that is played call by call count each
  int64_t frame = -1;  // -1: the call tells it; for Vulkan's commands: the frame of the submit
};
class Rows {
 public:
  Rows(const std::string& path, const std::vector<RequestedMetric>& metrics, const Pass& pass, bool frames);
  ~Rows();
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
  // `sums` belong to the pass's metrics.
  void put(const Measured& row, const std::vector<Sum>& sums);
  uint64_t written = 0;

 private:
  FILE* file_;
  const std::vector<RequestedMetric>& metrics_;
  const Pass& pass_;
  const bool frames_;
  std::string line_;
};

// Behind `to`, with as few digits as say the number exactly.
void put_numeral(std::string& to, double v);
// Lists what can be had in the current context, one JSON object a line.
void list_backends(FILE* to, const char* context);
// The passes for the requested metrics; `reason`: why a back-end has nothing, "" where it has.
Plan plan_of(const Request& request, const std::function<std::string(Backend&)>& reason, const Fits& fits);
void put_plan(FILE* to, const Plan& plan, uint64_t ns);
// The cost of measuring in one pass. `calls_hash` tells whether passes made the same calls; `bias` by the request's
// metrics: what an empty part has.
struct Cost {
  uint64_t pass, rows, cuts, ns, cut_ns, calls, calls_hash, paused;
};
void put_pass(FILE* to, const Cost& cost, const Request& request, const Pass& pass, const std::vector<double>& bias);

}  // namespace dt::play::metrics
