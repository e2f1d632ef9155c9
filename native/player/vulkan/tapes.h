// Queries of ours in the program's command buffers: what was put where, and the results of a submission.
//
// A tape is what one vkBeginCommandBuffer began. The pools of its queries are reset before each submission and read
// after it. A command buffer that is submitted again waits for that: one set of queries serves all its submissions.
#pragma once
#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "counters.h"

namespace dt::play::vk {

constexpr int NO_QUERY = -1;

// Something that is measured in a command buffer.
struct Item {
  enum What : uint8_t { DRAW, PASS, BUFFER } what = DRAW;
  bool graphics = false;  // it draws: no clear, no dispatch
  bool compute = false;
  uint64_t seq = 0;   // the call that recorded it
  uint64_t at = 0;    // commands that run before it in its tape, secondary ones included
  uint64_t pass = 0;  // of the tape's render passes, from 1; 0: none that began in it
  int query[QUERY_KINDS] = {NO_QUERY, NO_QUERY, NO_QUERY, NO_QUERY};
  int end = NO_QUERY;                 // the second time stamp
  const char* why[QUERY_KINDS] = {};  // why there is no value
};

// The counts to make in command buffers.
struct Wishes {
  std::vector<std::pair<int, QueryUse>> all;  // by place among the metrics of the pass
  bool times = false, buffer_times = false;
  bool draw_rows = false, pass_rows = false;  // draws and passes are answered one by one
  VkQueryPipelineStatisticFlags statistics = 0;
  bool samples = false;
  bool fragments = false;  // copies of the command buffers count them
  std::vector<uint32_t> counters;
  VkPerformanceCounterScopeKHR scope = 0;  // of the counters
  bool items() const { return draw_rows || statistics || samples || fragments || !counters.empty(); }
};

struct Tape;

// A device's pools for queries. Those of a tape that is gone serve another one.
class QueryPools {
 public:
  static constexpr uint32_t SIZE = 128;
  QueryPools(Device& device, const Abilities& here, const Wishes& wishes)
      : device(device), here(here), wishes_(wishes) {}
  ~QueryPools();
  VkQueryPool take(QueryKind kind, uint32_t family);  // nullptr: the driver makes none
  void give_back(QueryKind kind, uint32_t family, VkQueryPool pool) { free_[{kind, family}].push_back(pool); }
  // The statistics that command buffers of a family can count.
  VkQueryPipelineStatisticFlags statistics(uint32_t family) const;
  Device& device;
  const Abilities here;
  bool locked = false;  // counters may be used

 private:
  const Wishes& wishes_;
  std::map<std::pair<QueryKind, uint32_t>, std::vector<VkQueryPool>> free_;
  std::vector<VkQueryPool> all_;
};

// Results of a tape's queries; values of one query stand one behind the other.
struct Results {
  std::vector<uint64_t> values[QUERY_KINDS];
  std::vector<bool> there[QUERY_KINDS];
  size_t width[QUERY_KINDS] = {1, 1, 1, 1};
  bool has(QueryKind kind, int query) const {
    return query >= 0 && static_cast<size_t>(query) < there[kind].size() && there[kind][static_cast<size_t>(query)];
  }
  uint64_t of(QueryKind kind, int query, size_t number = 0) const {
    return values[kind][static_cast<size_t>(query) * width[kind] + number];
  }
};

struct Tape {
  Tape(QueryPools& of, uint32_t its_family) : pools(of), family(its_family) {}
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;
  int query(QueryKind kind);  // a new one; NO_QUERY: there is no pool for it
  VkQueryPool pool(QueryKind kind, int query) const { return own[kind][static_cast<size_t>(query) / QueryPools::SIZE]; }
  static uint32_t number(int query) { return static_cast<uint32_t>(query) % QueryPools::SIZE; }
  Results results(const Wishes& wishes) const;
  bool queries() const {
    return std::any_of(std::begin(used), std::end(used), [](uint32_t n) { return n > 0; });
  }

  QueryPools& pools;
  const uint32_t family;
  bool secondary = false, again = false;  // again: it may run several times at once, so that it gets no query
  bool inherits[QUERY_KINDS] = {};        // a query of the program's may run in the one that executes it
  bool active[QUERY_KINDS] = {};          // a query of the program's runs now
  bool views = false;                     // in a render pass of several views
  uint64_t commands = 0, passes = 0, pass = 0, draws = 0;
  std::vector<Item> items;
  struct Inside {
    uint64_t at, passes, pass;
    std::shared_ptr<Tape> tape;
  };
  std::vector<Inside> inside;
  size_t open_pass = SIZE_MAX, open_item = SIZE_MAX;
  std::vector<VkQueryPool> own[QUERY_KINDS];
  uint32_t used[QUERY_KINDS] = {};
  uint64_t pending = 0;  // number of the submission whose results it holds; 0: none
};

// Puts queries around commands. `commands` is the command buffer here.
void begin_buffer(Tape& tape, VkCommandBuffer commands, const Wishes& wishes, uint64_t seq);
void end_buffer(Tape& tape, VkCommandBuffer commands, const Wishes& wishes);
void begin_pass(Tape& tape, VkCommandBuffer commands, const Wishes& wishes, uint64_t seq);
void end_pass(Tape& tape, VkCommandBuffer commands, const Wishes& wishes);
void begin_item(Tape& tape, VkCommandBuffer commands, const Wishes& wishes, uint64_t seq, uint64_t flags);
void end_item(Tape& tape, VkCommandBuffer commands);

}  // namespace dt::play::vk
