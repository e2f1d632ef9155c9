// Measures a recording of Vulkan while it is played: queries in command buffers, whose results come after their
// submission, and the processor's side of the player. Questions and answers are common to all players (measure.h).
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "../metrics/measure.h"
#include "counters.h"
#include "fragments.h"
#include "tapes.h"

namespace dt::play::vk {

class Meter : metrics::Sink {
 public:
  enum Mode : uint8_t { MEASURE, PLAN, LIST };
  Meter(metrics::Request request, Mode mode, std::string output, FILE* status, uint64_t first_frame,
        uint64_t end_frame);
  ~Meter() override;

  // A device is about to be made, from structures that may be changed; `extensions` are those that it gets. It was.
  void device(Table& instance, VkPhysicalDevice physical, VkDeviceCreateInfo& info,
              std::vector<const char*>& extensions);
  void made(Device& device);
  void gone(Device& device);
  // A call with its arguments is about to be made; it was.
  void before(Call& c, uint64_t seq, uint64_t frame);
  void after(Call& c);
  // The driver's function is about to run; it returned.
  void enter(uint64_t seq);
  void leave();
  void query_pool(VkQueryPool pool, VkQueryType type) { query_types_[pool] = type; }
  void frame_end(uint64_t next, uint64_t seq);
  void finish(uint64_t seq, bool frames);
  bool answered() const { return answered_; }         // nothing more is to be played
  Question* fragments() { return fragments_.get(); }  // what counts fragments in copies of command buffers; nullptr

 private:
  static constexpr uint64_t ALL = ~0ull;  // draws of a scope that has no value by its kind
  struct Scope : metrics::Measured {
    std::vector<metrics::Sum> sums;
    uint64_t waits = 0;  // for submissions
    bool ended = false;
  };
  struct Ran {
    std::shared_ptr<Tape> tape;
    uint64_t number, passes, pass;  // what ran before it, and the render pass that it runs in
  };
  struct Submission {
    uint64_t number = 0, seq = 0, frame = 0, t_start = 0;
    VkFence fence = nullptr;
    VkCommandBuffer reset = nullptr;
    uint32_t family = 0;
    std::vector<Ran> ran;
    std::vector<uint64_t> ranges;  // that it belongs to
  };
  struct Gauge {  // of a device
    QueryPools pools;
    std::map<uint32_t, VkCommandPool> resetting;
    std::map<uint32_t, std::vector<VkCommandBuffer>> free_resets;
    std::vector<VkFence> free_fences;
    std::deque<Submission> pending;
    uint64_t ticks = 0, clock = 0;  // one moment in both times
    Gauge(Device& device, const Abilities& here, const Wishes& wishes) : pools(device, here, wishes) {}
  };
  enum Role : uint8_t {
    OTHER,
    BEGIN,
    END,
    SUBMIT,
    PASS_BEGIN,
    PASS_END,
    EXECUTE,
    QUERY_BEGIN,
    QUERY_END,
    MAKE_POOL,
    MAKE_BUFFERS,
    MAKE_PASS
  };

  // ---- what is measured (meter.cc)
  void value(uint64_t segment, int metric, double value) override;
  void mean(uint64_t segment, int metric, double sum, double weight) override;
  void lost(uint64_t segment, int metric, const char* why) override;
  void prepare();
  void answer();
  void start();
  void stop();
  void calibrate();
  template <class F> void each_open(F&& add);
  Scope scope(metrics::At at, uint64_t number, uint64_t seq) const;
  void put(Scope& scope, uint64_t end_seq);
  void ranges(uint64_t seq);
  bool in_frames(uint64_t frame) const { return frame >= first_frame_ && frame < end_frame_; }

  // ---- command buffers and submissions (submissions.cc)
  void wish(const Abilities& here);
  Tape* tape_of(uint64_t commands);
  Gauge* gauge_of(const Table* device);
  void begun(Call& c, Gauge& gauge);
  void commanded(Tape& tape, Call& c, uint64_t flags);
  void watch_views(Call& c);
  void submit(Call& c, Gauge& gauge);
  void submitted(Call& c, Gauge& gauge);
  void run(Submission& to, const std::shared_ptr<Tape>& tape, uint64_t number, uint64_t passes, uint64_t pass);
  void reset(Gauge& gauge, VkQueue queue);
  void collect(Gauge& gauge, bool wait, uint64_t number = UINT64_MAX);
  void take(Gauge& gauge, Submission& done);
  void take(Gauge& gauge, const Submission& done, const Ran& ran, const std::vector<Scope*>& whole);
  void take(const Gauge& gauge, const Tape& tape, const Item& item, const Results& results,
            const std::vector<Scope*>& scopes);
  static void date(Scope& scope, const Gauge& gauge, const Submission& done, const Tape& tape, const Item& item,
                   const Results& results);
  static double clock_of(const Gauge& gauge, uint32_t family, uint64_t ticks);
  double value_of(const Gauge& gauge, const Tape& tape, const Item& item, const Results& results,
                  const QueryUse& wish) const;
  void count(const Submission& done, const Item& item, const std::vector<Scope*>& scopes);
  void count(Scope& frame);
  bool belongs(const QueryUse& wish, const Item& item, metrics::At at, const char*& never) const;
  static void synchronise(Gauge& gauge);

  metrics::Request request_;
  const Mode mode_;
  const std::string output_;
  FILE* const status_;
  const uint64_t first_frame_, end_frame_;
  Role roles_[number::COMMANDS] = {};
  Wishes wishes_;
  std::vector<std::pair<size_t, int>> cpu_;                  // places and numbers of metrics that the processor has
  std::vector<int> place_;                                   // of a metric among the pass's, -1
  std::vector<std::pair<size_t, Fragments::What>> counted_;  // places of metrics of fragments
  std::unique_ptr<Fragments> fragments_;
  std::map<uint64_t, Fragments::Overdraw> drawn_over_;  // of frames that ended
  unsigned at_ = 0;
  std::vector<std::unique_ptr<metrics::Source>> sources_;
  std::unique_ptr<metrics::Rows> rows_;
  bool answered_ = false, finished_ = false, running_ = false, calibrating_ = false;
  std::vector<double> bias_;
  std::vector<std::vector<double>> samples_;
  uint64_t stopped_at_ = 0, cuts_ = 0, cost_ns_ = 0, cut_ns_ = 0, calls_ = 0, calls_hash_ = 1469598103934665603ull;

  std::map<uint64_t, Scope> frames_, submits_, ranges_, open_passes_;
  std::optional<Scope> call_;
  size_t next_range_ = 0;
  uint64_t frame_ = 0, seq_ = 0, executed_ = 0, passes_ = 0, submissions_ = 0;
  std::unordered_map<const Table*, std::unique_ptr<Gauge>> gauges_;
  std::unordered_map<uint64_t, std::shared_ptr<Tape>> tapes_;  // by command buffer
  std::unordered_map<uint64_t, uint32_t> pool_families_;
  std::unordered_map<uint64_t, std::pair<uint32_t, bool>> buffers_;  // family, whether it is a secondary one
  std::unordered_map<uint64_t, bool> views_;                         // render passes of several views
  std::unordered_map<VkQueryPool, VkQueryType> query_types_;
  std::map<VkPhysicalDevice, Abilities> abilities_;
  Table* instance_ = nullptr;
  VkPhysicalDeviceFeatures features_{};  // of a device that is about to be made
  VkPhysicalDevicePerformanceQueryFeaturesKHR counting_{};
  std::optional<Submission> now_;
};

}  // namespace dt::play::vk
