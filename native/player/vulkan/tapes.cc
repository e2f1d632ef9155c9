#include "tapes.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "call_flags.h"

namespace dt::play::vk {
namespace {

constexpr VkQueryPipelineStatisticFlags COMPUTE = VK_QUERY_PIPELINE_STATISTIC_COMPUTE_SHADER_INVOCATIONS_BIT;

void stamp(Tape& tape, VkCommandBuffer commands, int& query) {
  query = tape.query(TIME);
  if (query == NO_QUERY) return;
  DT_VK(tape.pools.device, vkCmdWriteTimestamp)
  (commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, tape.pool(TIME, query), Tape::number(query));
}

const char* no_time(const Tape& tape) {
  if (tape.again) return "its secondary command buffer may run several times at once";
  if (!tape.pools.here.ticks(tape.family)) return "queues of its family write no time stamps";
  if (!tape.pools.here.can(tape.family, VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT))
    return "queues of its family cannot reset queries";
  return nullptr;
}

void begin_time(Tape& tape, VkCommandBuffer commands, Item& item) {
  item.why[TIME] = no_time(tape);
  if (!item.why[TIME]) stamp(tape, commands, item.query[TIME]);
}

void begin_query(Tape& tape, VkCommandBuffer commands, Item& item, QueryKind kind) {
  static const char* const OWN = "a query of the program's own of this kind runs: two do not at once";
  if (tape.again) return void(item.why[kind] = "its secondary command buffer may run several times at once");
  if (tape.active[kind] || tape.inherits[kind]) return void(item.why[kind] = OWN);
  if (tape.views) return void(item.why[kind] = "its render pass draws several views at once");
  if (kind == STATISTICS && !tape.pools.here.statistics)
    return void(item.why[kind] = "the device lacks pipelineStatisticsQuery");
  const int query = item.query[kind] = tape.query(kind);
  if (query == NO_QUERY) return void(item.why[kind] = "the driver makes no pool for these queries");
  const bool precise = kind == SAMPLES && tape.pools.here.precise;
  DT_VK(tape.pools.device, vkCmdBeginQuery)
  (commands, tape.pool(kind, query), Tape::number(query),
   precise ? static_cast<VkQueryControlFlags>(VK_QUERY_CONTROL_PRECISE_BIT) : 0u);
}

void begin_counters(Tape& tape, VkCommandBuffer commands, Item& item) {
  if (tape.secondary) return void(item.why[COUNTERS] = "secondary command buffers cannot count");
  if (!tape.pools.locked) return void(item.why[COUNTERS] = "the counters are another device's");
  if (tape.family != tape.pools.here.family)
    return void(item.why[COUNTERS] = "queues of its family have other counters");
  begin_query(tape, commands, item, COUNTERS);
}

void end_query(Tape& tape, VkCommandBuffer commands, const Item& item, QueryKind kind) {
  const int query = item.query[kind];
  if (query != NO_QUERY) DT_VK(tape.pools.device, vkCmdEndQuery)(commands, tape.pool(kind, query), Tape::number(query));
}

}  // namespace

// ---- pools --------------------------------------------------------------------------------------

QueryPools::~QueryPools() {
  for (auto* pool : all_) DT_VK(device, vkDestroyQueryPool)(device.device, pool, nullptr);
}

VkQueryPipelineStatisticFlags QueryPools::statistics(uint32_t family) const {
  VkQueryPipelineStatisticFlags can = 0;
  if (here.can(family, VK_QUEUE_GRAPHICS_BIT)) can |= ~COMPUTE;
  if (here.can(family, VK_QUEUE_COMPUTE_BIT)) can |= COMPUTE;
  return wishes_.statistics & can;
}

VkQueryPool QueryPools::take(QueryKind kind, uint32_t family) {
  auto& free = free_[{kind, family}];
  if (!free.empty()) {
    auto* pool = free.back();
    free.pop_back();
    return pool;
  }
  static constexpr VkQueryType TYPES[] = {VK_QUERY_TYPE_TIMESTAMP, VK_QUERY_TYPE_PIPELINE_STATISTICS,
                                          VK_QUERY_TYPE_OCCLUSION, VK_QUERY_TYPE_PERFORMANCE_QUERY_KHR};
  VkQueryPoolCreateInfo info{};
  info.queryType = TYPES[kind];
  info.queryCount = SIZE;
  if (kind == STATISTICS) info.pipelineStatistics = statistics(family);
  VkQueryPoolPerformanceCreateInfoKHR counted{};
  counted.queueFamilyIndex = family;
  counted.counterIndexCount = static_cast<uint32_t>(wishes_.counters.size());
  counted.pCounterIndices = wishes_.counters.data();
  if (kind == COUNTERS) info.pNext = &counted;
  VkQueryPool pool = nullptr;
  if (DT_VK(device, vkCreateQueryPool)(device.device, &info, nullptr, &pool) != VK_SUCCESS) return nullptr;
  all_.push_back(pool);
  return pool;
}

// ---- tapes --------------------------------------------------------------------------------------

Tape::~Tape() {
  for (int kind = 0; kind < QUERY_KINDS; ++kind)
    for (auto* each : own[kind]) pools.give_back(static_cast<QueryKind>(kind), family, each);
}

int Tape::query(QueryKind kind) {
  if (used[kind] == own[kind].size() * QueryPools::SIZE) {
    auto* fresh = pools.take(kind, family);
    if (!fresh) return NO_QUERY;
    own[kind].push_back(fresh);
  }
  return static_cast<int>(used[kind]++);
}

Results Tape::results(const Wishes& wishes) const {
  Results out;
  out.width[STATISTICS] = static_cast<size_t>(std::popcount(pools.statistics(family)));
  out.width[COUNTERS] = wishes.counters.size();
  auto get = DT_VK(pools.device, vkGetQueryPoolResults);
  for (int kind = 0; kind < QUERY_KINDS; ++kind) {
    const size_t width = out.width[kind], stride = width + (kind == COUNTERS ? 0 : 1);
    out.values[kind].resize(used[kind] * width);
    out.there[kind].resize(used[kind]);
    for (uint32_t first = 0; first < used[kind]; first += QueryPools::SIZE) {
      const uint32_t n = std::min(QueryPools::SIZE, used[kind] - first);
      std::vector<uint64_t> raw(n * stride);
      // Results of counters come without the word that says whether they are there.
      const VkQueryResultFlags flags =
          kind == COUNTERS ? 0 : VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT;
      const VkResult result = get(pools.device.device, own[kind][first / QueryPools::SIZE], 0, n, raw.size() * 8,
                                  raw.data(), stride * 8, flags);
      if (result < 0 || (kind == COUNTERS && result != VK_SUCCESS)) continue;
      for (uint32_t i = 0; i < n; ++i) {
        std::copy_n(&raw[i * stride], width, &out.values[kind][(first + i) * width]);
        out.there[kind][first + i] = kind == COUNTERS || raw[i * stride + width];
      }
    }
  }
  return out;
}

// ---- around commands ----------------------------------------------------------------------------

void begin_buffer(Tape& tape, VkCommandBuffer commands, const Wishes& wishes, uint64_t seq) {
  const bool counts = !wishes.counters.empty() && wishes.scope == VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_BUFFER_KHR;
  if (tape.secondary || (!wishes.buffer_times && !counts)) return;
  Item item;
  item.what = Item::BUFFER;
  item.seq = seq;
  if (counts) begin_counters(tape, commands, item);  // before all other commands
  if (wishes.buffer_times) begin_time(tape, commands, item);
  tape.items.push_back(item);
}

void end_buffer(Tape& tape, VkCommandBuffer commands, const Wishes&) {
  if (tape.items.empty() || tape.items[0].what != Item::BUFFER) return;
  Item& item = tape.items[0];
  if (item.query[TIME] != NO_QUERY) stamp(tape, commands, item.end);
  end_query(tape, commands, item, COUNTERS);
}

void begin_pass(Tape& tape, VkCommandBuffer commands, const Wishes& wishes, uint64_t seq) {
  tape.pass = ++tape.passes;
  const bool counts = !wishes.counters.empty() && wishes.scope == VK_PERFORMANCE_COUNTER_SCOPE_RENDER_PASS_KHR;
  if (!wishes.pass_rows && !counts) return;
  Item item;
  item.what = Item::PASS;
  item.seq = seq;
  item.at = tape.commands;
  item.pass = tape.pass;
  if (counts) begin_counters(tape, commands, item);
  if (wishes.pass_rows && wishes.times) begin_time(tape, commands, item);
  tape.open_pass = tape.items.size();
  tape.items.push_back(item);
}

void end_pass(Tape& tape, VkCommandBuffer commands, const Wishes&) {
  tape.pass = 0;
  tape.views = false;
  if (tape.open_pass >= tape.items.size()) return;
  Item& item = tape.items[tape.open_pass];
  if (item.query[TIME] != NO_QUERY) stamp(tape, commands, item.end);
  end_query(tape, commands, item, COUNTERS);
  tape.open_pass = SIZE_MAX;
}

void begin_item(Tape& tape, VkCommandBuffer commands, const Wishes& wishes, uint64_t seq, uint64_t flags) {
  ++tape.draws;
  if (!wishes.items()) return;
  Item item;
  item.graphics = flags & FLAG_DRAW;
  item.compute = flags & FLAG_DISPATCH;
  item.seq = seq;
  item.at = tape.commands;
  item.pass = tape.pass;
  // A clear makes no vertices and no fragments, whatever it is to the driver; a dispatch has no samples.
  const auto statistics = tape.pools.statistics(tape.family);
  if (item.graphics ? statistics & ~COMPUTE : item.compute && statistics & COMPUTE)
    begin_query(tape, commands, item, STATISTICS);
  if (item.graphics && wishes.samples) begin_query(tape, commands, item, SAMPLES);
  if (!wishes.counters.empty() && wishes.scope == VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_KHR)
    begin_counters(tape, commands, item);
  if (wishes.draw_rows && wishes.times) {
    item.why[TIME] = tape.views ? "its render pass draws several views at once" : nullptr;
    if (!item.why[TIME]) begin_time(tape, commands, item);
  }
  tape.open_item = tape.items.size();
  tape.items.push_back(item);
}

void end_item(Tape& tape, VkCommandBuffer commands) {
  if (tape.open_item >= tape.items.size()) return;
  Item& item = tape.items[tape.open_item];
  tape.open_item = SIZE_MAX;
  if (item.query[TIME] != NO_QUERY) stamp(tape, commands, item.end);
  for (QueryKind kind : {COUNTERS, SAMPLES, STATISTICS}) end_query(tape, commands, item, kind);
}

}  // namespace dt::play::vk
