// The meter's work with devices, command buffers and submissions.
#include <algorithm>
#include <bit>
#include <cstring>

#include "../../core/error.h"
#include "call_flags.h"
#include "chain.h"
#include "meter.h"

namespace dt::play::vk {
namespace {

bool several(uint32_t mask) { return std::popcount(mask) > 1; }

// Switches a feature on, wherever the program's are; `own` is for a program that names none.
void switch_on(VkDeviceCreateInfo& info, VkPhysicalDeviceFeatures& own, VkBool32 VkPhysicalDeviceFeatures::* feature) {
  auto* chain = chained<VkPhysicalDeviceFeatures2>(info.pNext);
  if (chain) {
    const_cast<VkPhysicalDeviceFeatures2*>(chain)->features.*feature = 1;
    return;
  }
  if (info.pEnabledFeatures != &own) {
    own = info.pEnabledFeatures ? *info.pEnabledFeatures : VkPhysicalDeviceFeatures{};
    info.pEnabledFeatures = &own;
  }
  own.*feature = 1;
}

void add_extension(std::vector<const char*>& extensions, const char* name) {
  for (auto* each : extensions)
    if (!strcmp(each, name)) return;
  extensions.push_back(name);
}

const char* why_not(const QueryUse& wish, const Item& item, const Results& results) {
  if (item.why[wish.kind]) return item.why[wish.kind];
  if (item.query[wish.kind] == NO_QUERY) return nullptr;
  const bool there =
      results.has(wish.kind, item.query[wish.kind]) && (wish.kind != TIME || results.has(TIME, item.end));
  return there ? nullptr : "the driver returned no result";
}

double number_of(uint64_t raw, VkPerformanceCounterStorageKHR storage) {
  union {
    uint64_t u64;
    int64_t i64;
    int32_t i32;
    uint32_t u32;
    float f32;
    double f64;
  } v{raw};
  switch (storage) {
    case VK_PERFORMANCE_COUNTER_STORAGE_INT32_KHR: return v.i32;
    case VK_PERFORMANCE_COUNTER_STORAGE_INT64_KHR: return static_cast<double>(v.i64);
    case VK_PERFORMANCE_COUNTER_STORAGE_UINT32_KHR: return v.u32;
    case VK_PERFORMANCE_COUNTER_STORAGE_FLOAT32_KHR: return v.f32;
    case VK_PERFORMANCE_COUNTER_STORAGE_FLOAT64_KHR: return v.f64;
    default: return static_cast<double>(v.u64);
  }
}

}  // namespace

// ---- devices ------------------------------------------------------------------------------------

void Meter::wish(const Abilities& here) {
  const metrics::Pass& pass = request_.passes[0];
  for (size_t i = 0; i < pass.metrics.size(); ++i) {
    auto& m = request_.metrics[static_cast<size_t>(pass.metrics[i])];
    if (!m.backend.starts_with("vk")) continue;
    QueryUse wish;
    if (!find_query_use(here, m.backend, m.spec, wish))
      throw Error(DT_E_ARGUMENT, m.id + " is not counted by this device");
    if (wish.kind == TIME) wishes_.times = true;
    if (wish.kind == SAMPLES) wishes_.samples = true;
    if (wish.kind == STATISTICS) wishes_.statistics |= 1u << wish.number;
    if (wish.kind == COUNTERS) {
      wishes_.scope = here.counters[wish.number].scope;
      wishes_.counters.push_back(wish.number);
    }
    wishes_.all.emplace_back(static_cast<int>(i), wish);
  }
  wishes_.draw_rows = at_ & metrics::AT_DRAW;
  wishes_.pass_rows = at_ & metrics::AT_PASS;
  wishes_.buffer_times = wishes_.times && at_ & (metrics::AT_FRAME | metrics::AT_CALL | metrics::AT_RANGE);
}

void Meter::device(Table& instance, VkPhysicalDevice physical, VkDeviceCreateInfo& info,
                   std::vector<const char*>& extensions) {
  const bool first = abilities_.empty();
  const Abilities& here = abilities_[physical] =
      abilities_of(instance, physical, info.pQueueCreateInfos[0].queueFamilyIndex);
  instance_ = &instance;
  if (mode_ != MEASURE) return;
  if (first) wish(here);
  if (wishes_.statistics && here.statistics)
    switch_on(info, features_, &VkPhysicalDeviceFeatures::pipelineStatisticsQuery);
  if ((wishes_.samples || wishes_.fragments) && here.precise)
    switch_on(info, features_, &VkPhysicalDeviceFeatures::occlusionQueryPrecise);
  if (here.calibrated) add_extension(extensions, "VK_EXT_calibrated_timestamps");
  if (wishes_.counters.empty() || here.counters.empty()) return;
  add_extension(extensions, "VK_KHR_performance_query");
  counting_ = {};
  if (auto* own = chained<VkPhysicalDevicePerformanceQueryFeaturesKHR>(info.pNext)) {
    const_cast<VkPhysicalDevicePerformanceQueryFeaturesKHR*>(own)->performanceCounterQueryPools = 1;
    return;
  }
  counting_.performanceCounterQueryPools = 1;
  counting_.pNext = const_cast<void*>(info.pNext);
  info.pNext = &counting_;
}

void Meter::made(Device& device) {
  if (mode_ != MEASURE) return answer();
  auto gauge = std::make_unique<Gauge>(device, abilities_[device.physical], wishes_);
  if (!wishes_.counters.empty() && !gauge->pools.here.counters.empty() && gauges_.empty()) {
    VkAcquireProfilingLockInfoKHR lock{};
    lock.timeout = longest_wait_ns();
    auto acquire = DT_VK(device, vkAcquireProfilingLockKHR);
    if (!acquire || acquire(device.device, &lock) != VK_SUCCESS)
      throw Error(DT_E_ARGUMENT, "the device's counters are in use elsewhere: its profiling lock cannot be had");
    gauge->pools.locked = true;
  }
  synchronise(*gauge);
  gauges_[&device] = std::move(gauge);
}

void Meter::gone(Device& device) {
  auto it = gauges_.find(&device);
  if (it == gauges_.end()) return;
  stop();
  Gauge& gauge = *it->second;
  collect(gauge, true);
  std::erase_if(tapes_, [&](auto& each) { return &each.second->pools == &gauge.pools; });
  for (auto* fence : gauge.free_fences) DT_VK(device, vkDestroyFence)(device.device, fence, nullptr);
  for (auto& [family, pool] : gauge.resetting) DT_VK(device, vkDestroyCommandPool)(device.device, pool, nullptr);
  if (gauge.pools.locked) DT_VK(device, vkReleaseProfilingLockKHR)(device.device);
  gauges_.erase(it);
  start();
}

// One moment in the device's time and in the processor's, where the device gives its time.
void Meter::synchronise(Gauge& gauge) {
  Device& device = gauge.pools.device;
  auto get = gauge.pools.here.calibrated ? DT_VK(device, vkGetCalibratedTimestampsEXT) : nullptr;
  if (!get) return;
  VkCalibratedTimestampInfoKHR infos[2] = {};
  infos[0].timeDomain = VK_TIME_DOMAIN_DEVICE_KHR;
  infos[1].timeDomain = VK_TIME_DOMAIN_CLOCK_MONOTONIC_KHR;
  uint64_t times[2] = {}, deviation = 0;
  if (get(device.device, 2, infos, times, &deviation) == VK_SUCCESS) gauge.ticks = times[0], gauge.clock = times[1];
}

// ---- command buffers ----------------------------------------------------------------------------

Tape* Meter::tape_of(uint64_t commands) {
  auto it = tapes_.find(commands);
  return it == tapes_.end() ? nullptr : it->second.get();
}

Meter::Gauge* Meter::gauge_of(const Table* device) {
  auto it = gauges_.find(device);
  return it == gauges_.end() ? nullptr : it->second.get();
}

void Meter::before(Call& c, uint64_t seq, uint64_t frame) {
  if (mode_ != MEASURE || finished_) return;
  seq_ = seq, frame_ = frame;
  const uint64_t flags = c.columns.function ? c.columns.function->flags : 0;
  const Role role = roles_[c.number];
  if (role != SUBMIT && role != END && !(flags & FLAG_RECORDS)) return;
  Gauge* gauge = gauge_of(c.table);
  if (!gauge) return;
  if (role == SUBMIT) {
    stop();
    if (fragments_) fragments_->enter(frame, in_frames(frame));
    submit(c, *gauge);
    start();
    return;
  }
  Tape* tape = tape_of(c.arguments[0]);
  if (!tape) return;
  const auto commands = c.as<VkCommandBuffer>(0);
  const bool draws = flags & (FLAG_DRAW | FLAG_DISPATCH | FLAG_CLEAR);
  if (!draws && role != END && role != PASS_BEGIN) return;
  stop();
  if (role == END) end_buffer(*tape, commands, wishes_);
  if (role == PASS_BEGIN) {
    begin_pass(*tape, commands, wishes_, seq);
    if (std::string_view(c.command.name).starts_with("vkCmdBeginRendering"))
      tape->views = several(c.at<VkRenderingInfo>(1)->viewMask);
    else
      tape->views = views_[(uint64_t)c.at<VkRenderPassBeginInfo>(1)->renderPass];
  }
  if (draws) begin_item(*tape, commands, wishes_, seq, flags);
  start();
}

void Meter::after(Call& c) {
  if (mode_ != MEASURE || finished_) return;
  const uint64_t flags = c.columns.function ? c.columns.function->flags : 0;
  switch (roles_[c.number]) {
    case MAKE_POOL: pool_families_[*c.at<uint64_t>(3)] = c.at<VkCommandPoolCreateInfo>(1)->queueFamilyIndex; return;
    case MAKE_BUFFERS: {
      const auto* info = c.at<VkCommandBufferAllocateInfo>(1);
      for (uint32_t i = 0; i < info->commandBufferCount; ++i) {
        const uint64_t commands = c.at<uint64_t>(2)[i];
        buffers_[commands] = {pool_families_[(uint64_t)info->commandPool],
                              info->level == VK_COMMAND_BUFFER_LEVEL_SECONDARY};
        tapes_.erase(commands);
      }
      return;
    }
    case MAKE_PASS: return watch_views(c);
    case BEGIN:
    case SUBMIT: {
      Gauge* gauge = gauge_of(c.table);
      if (!gauge) return;
      stop();
      roles_[c.number] == BEGIN ? begun(c, *gauge) : submitted(c, *gauge);
      return start();
    }
    default: break;
  }
  if (!(flags & FLAG_RECORDS)) return;
  if (Tape* tape = tape_of(c.arguments[0])) commanded(*tape, c, flags);
}

void Meter::watch_views(Call& c) {
  bool views = false;
  if (c.number == number::vkCreateRenderPass) {
    const auto* more = chained<VkRenderPassMultiviewCreateInfo>(c.at<VkRenderPassCreateInfo>(1)->pNext);
    for (uint32_t i = 0; more && i < more->subpassCount; ++i) views |= several(more->pViewMasks[i]);
  } else {
    const auto* info = c.at<VkRenderPassCreateInfo2>(1);
    for (uint32_t i = 0; i < info->subpassCount; ++i) views |= several(info->pSubpasses[i].viewMask);
  }
  views_[*c.at<uint64_t>(3)] = views;
}

void Meter::begun(Call& c, Gauge& gauge) {
  const auto& [family, secondary] = buffers_[c.arguments[0]];
  auto tape = std::make_shared<Tape>(gauge.pools, family);
  const auto* info = c.at<VkCommandBufferBeginInfo>(1);
  tape->secondary = secondary;
  tape->again = secondary && info->flags & VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
  if (const auto* from = secondary ? info->pInheritanceInfo : nullptr) {
    tape->inherits[SAMPLES] = from->occlusionQueryEnable;
    tape->inherits[STATISTICS] = from->pipelineStatistics;
    const auto* rendering = chained<VkCommandBufferInheritanceRenderingInfo>(from->pNext);
    tape->views = rendering ? several(rendering->viewMask) : from->renderPass && views_[(uint64_t)from->renderPass];
  }
  begin_buffer(*tape, c.as<VkCommandBuffer>(0), wishes_, seq_);
  tapes_[c.arguments[0]] = std::move(tape);
}

void Meter::commanded(Tape& tape, Call& c, uint64_t flags) {
  const auto commands = c.as<VkCommandBuffer>(0);
  const Role role = roles_[c.number];
  if (flags & (FLAG_DRAW | FLAG_DISPATCH | FLAG_CLEAR) || role == PASS_END) {
    stop();
    end_item(tape, commands);
    if (role == PASS_END) end_pass(tape, commands, wishes_);
    start();
  }
  if (role == QUERY_BEGIN || role == QUERY_END) {
    static constexpr std::pair<VkQueryType, QueryKind> KINDS_OF[] = {{VK_QUERY_TYPE_OCCLUSION, SAMPLES},
                                                                     {VK_QUERY_TYPE_PIPELINE_STATISTICS, STATISTICS},
                                                                     {VK_QUERY_TYPE_PERFORMANCE_QUERY_KHR, COUNTERS}};
    const VkQueryType type = query_types_[c.as<VkQueryPool>(1)];
    for (auto& [of, kind] : KINDS_OF)
      if (type == of) tape.active[kind] = role == QUERY_BEGIN;
  }
  ++tape.commands;
  if (role != EXECUTE) return;
  for (uint64_t i = 0; i < c.arguments[1]; ++i) {
    auto it = tapes_.find(c.at<uint64_t>(2)[i]);
    if (it == tapes_.end() || it->second.get() == &tape) continue;
    tape.inside.push_back({tape.commands, tape.passes, tape.pass, it->second});
    tape.commands += it->second->commands;
    tape.passes += it->second->passes;
  }
}

// ---- submissions --------------------------------------------------------------------------------

void Meter::run(Submission& to, const std::shared_ptr<Tape>& tape, uint64_t number, uint64_t passes, uint64_t pass) {
  if (tape->queries() && std::any_of(to.ran.begin(), to.ran.end(), [&](auto& each) { return each.tape == tape; }))
    throw Error(DT_E_ARGUMENT, "call " + std::to_string(seq_) +
                                   ": a command buffer runs twice in one submission, which cannot be measured");
  to.ran.push_back({tape, number, passes, pass});
  for (auto& each : tape->inside)
    run(to, each.tape, number + each.at, passes + each.passes, each.pass ? passes + each.pass : pass);
}

void Meter::submit(Call& c, Gauge& gauge) {
  ranges(seq_);
  Submission made;
  made.number = ++submissions_;
  made.seq = seq_;
  made.frame = frame_;
  made.t_start = metrics::now_ns();
  auto add = [&](VkCommandBuffer commands) {
    auto it = tapes_.find((uint64_t)commands);
    if (it == tapes_.end()) return;
    run(made, it->second, executed_, passes_, 0);
    executed_ += it->second->commands;
    passes_ += it->second->passes;
  };
  for (uint64_t i = 0; i < c.arguments[1]; ++i) {
    if (c.number == number::vkQueueSubmit) {
      const auto& batch = c.at<VkSubmitInfo>(2)[i];
      for (uint32_t k = 0; k < batch.commandBufferCount; ++k) add(batch.pCommandBuffers[k]);
    } else {
      const auto& batch = c.at<VkSubmitInfo2>(2)[i];
      for (uint32_t k = 0; k < batch.commandBufferInfoCount; ++k) add(batch.pCommandBufferInfos[k].commandBuffer);
    }
  }
  if (made.ran.empty()) return;
  for (auto& each : made.ran)  // whose queries serve again
    if (each.tape->pending && each.tape->queries()) collect(gauge, true, each.tape->pending);
  collect(gauge, false);
  made.family = made.ran[0].tape->family;
  for (auto& each : made.ran) each.tape->pending = made.number;
  for (auto& [number, range] : ranges_)
    if (!range.ended) made.ranges.push_back(number), ++range.waits;
  if (in_frames(frame_))
    if (auto frame = frames_.find(frame_); frame != frames_.end()) ++frame->second.waits;
  now_ = std::move(made);
  reset(gauge, c.as<VkQueue>(0));
}

// Resets the queries in a submission of its own. A command buffer of the program's may be recorded inside of a render
// pass from its beginning on, where a reset is not possible.
void Meter::reset(Gauge& gauge, VkQueue queue) {
  Device& device = gauge.pools.device;
  if (std::none_of(now_->ran.begin(), now_->ran.end(), [](const Ran& ran) { return ran.tape->queries(); })) return;
  auto& pool = gauge.resetting[now_->family];
  if (!pool) pool = make_pool(device, now_->family, VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT);
  auto& free = gauge.free_resets[now_->family];
  if (free.empty()) free.push_back(make_commands(device, pool));
  now_->reset = free.back();
  free.pop_back();
  begin_once(device, now_->reset);
  for (auto& ran : now_->ran)
    for (auto& own : ran.tape->own)
      for (auto* each : own) DT_VK(device, vkCmdResetQueryPool)(now_->reset, each, 0, QueryPools::SIZE);
  expect(DT_VK(device, vkEndCommandBuffer)(now_->reset), "commands that reset queries");
  vk::submit(device, queue, now_->reset, nullptr);
}

void Meter::submitted(Call& c, Gauge& gauge) {
  if (!now_) return;
  Device& device = gauge.pools.device;
  if (gauge.free_fences.empty()) gauge.free_fences.push_back(make_fence(device));
  now_->fence = gauge.free_fences.back();
  gauge.free_fences.pop_back();
  vk::submit(device, c.as<VkQueue>(0), nullptr, now_->fence);
  if (at_ & metrics::AT_CALL && in_frames(frame_) && !submits_.contains(now_->seq))
    submits_.emplace(now_->seq, scope(metrics::AT_CALL, now_->seq, now_->seq));
  gauge.pending.push_back(std::move(*now_));
  now_.reset();
}

// Takes the results of what is done; `wait`: of one submission, or of all.
void Meter::collect(Gauge& gauge, bool wait, uint64_t number) {
  Device& device = gauge.pools.device;
  for (auto it = gauge.pending.begin(); it != gauge.pending.end();) {
    const bool wanted = wait && (number == UINT64_MAX || it->number == number);
    const VkResult result = wanted ? DT_VK(device, vkWaitForFences)(device.device, 1, &it->fence, 1, longest_wait_ns())
                                   : DT_VK(device, vkGetFenceStatus)(device.device, it->fence);
    if (result == VK_TIMEOUT)
      throw Error(DT_E_ARGUMENT, "call " + std::to_string(it->seq) +
                                     ": its command buffers run several times at once, or end after the recording "
                                     "does: they cannot be measured");
    if (result == VK_NOT_READY) {
      ++it;
      continue;
    }
    expect(result, "a submission that is measured");
    Submission done = std::move(*it);
    it = gauge.pending.erase(it);
    take(gauge, done);
    DT_VK(device, vkResetFences)(device.device, 1, &done.fence);
    gauge.free_fences.push_back(done.fence);
    if (done.reset) gauge.free_resets[done.family].push_back(done.reset);
  }
}

// ---- results ------------------------------------------------------------------------------------

void Meter::take(Gauge& gauge, Submission& done) {
  for (auto& each : done.ran)
    if (each.tape->pending == done.number) each.tape->pending = 0;
  std::vector<Scope*> whole;
  if (auto frame = frames_.find(done.frame); frame != frames_.end() && frame->second.waits)
    whole.push_back(&frame->second), --frame->second.waits;
  for (uint64_t number : done.ranges) whole.push_back(&ranges_.at(number)), --ranges_.at(number).waits;
  const auto call = submits_.find(done.seq);
  if (call != submits_.end()) whole.push_back(&call->second);
  const bool answered = in_frames(done.frame);
  for (auto& each : done.ran)
    if (answered || !whole.empty()) take(gauge, done, each, whole);
  for (auto& [number, pass] : open_passes_)
    if (answered) put(pass, pass.end_seq);
  open_passes_.clear();
  if (call == submits_.end()) return;
  put(call->second, done.seq + 1);
  submits_.erase(call);
}

void Meter::take(Gauge& gauge, const Submission& done, const Ran& ran, const std::vector<Scope*>& whole) {
  const Tape& tape = *ran.tape;
  for (Scope* each : whole) each->draws += tape.draws;
  const bool rows = in_frames(done.frame);
  const Results results = tape.results(wishes_);
  for (auto& item : tape.items) {
    std::vector<Scope*> to = whole;
    const uint64_t number = ran.number + item.at;
    const uint64_t in = item.pass ? ran.passes + item.pass : item.what == Item::DRAW ? ran.pass : 0;
    std::optional<Scope> own;
    if (item.what == Item::DRAW && wishes_.draw_rows) own = scope(metrics::AT_DRAW, number, item.seq);
    if (item.what == Item::PASS && wishes_.pass_rows)
      open_passes_[in] = scope(metrics::AT_PASS, in, item.seq),
      open_passes_[in].frame = static_cast<int64_t>(done.frame);
    if (own) own->draws = 1, own->frame = static_cast<int64_t>(done.frame);
    if (auto pass = open_passes_.find(in); in && pass != open_passes_.end()) {
      to.push_back(&pass->second);
      if (item.what == Item::DRAW) ++pass->second.draws;
      pass->second.end_seq = item.seq + 1;
    }
    if (own) to.push_back(&*own);
    take(gauge, tape, item, results, to);
    if (fragments_ && item.what == Item::DRAW) count(done, item, to);
    Scope* timed = own ? &*own : item.what == Item::PASS && wishes_.pass_rows ? &open_passes_.at(in) : nullptr;
    if (timed) date(*timed, gauge, done, tape, item, results);
    if (own && rows) put(*own, item.seq + 1);
  }
}

// Adds the fragments of one execution of a draw; clears and dispatches have none.
void Meter::count(const Submission& done, const Item& item, const std::vector<Scope*>& scopes) {
  static const char* const OF_FRAMES = "overdraw is of a whole frame: --per frame";
  Fragments::Drawn drawn;
  std::fill(std::begin(drawn.through), std::end(drawn.through), 0);
  const bool draws = std::any_of(counted_.begin(), counted_.end(), [](auto& c) { return c.second < metrics::MEAN; });
  if (item.graphics && draws) drawn = fragments_->next(done.seq, item.seq);
  for (auto& [place, what] : counted_) {
    const char* why = nullptr;
    const double value = what < metrics::MEAN ? drawn.value(what, why) : 0;
    for (Scope* scope : scopes) {
      metrics::Sum& sum = scope->sums[place];
      if (what >= metrics::MEAN) {
        if (scope->at != metrics::AT_FRAME) sum.why = OF_FRAMES, sum.unknown = ALL;
      } else if (why) {
        sum.why = why, ++sum.unknown;
      } else {
        metrics::add(sum, metrics::Fold::SUM, value, 1, 0);
      }
    }
  }
}

void Meter::count(Scope& frame) {
  auto it = drawn_over_.find(frame.number);
  if (it == drawn_over_.end()) return;
  for (auto& [place, what] : counted_) {
    if (what < metrics::MEAN) continue;
    metrics::Sum& sum = frame.sums[place];
    metrics::add(sum, metrics::Fold::LAST, it->second.value(what), 1, 1);
    if (it->second.why) sum.why = it->second.why, sum.unknown = it->second.unknown;
  }
  drawn_over_.erase(it);
}

// When it ran: by its time stamps where the device's clock is known, else between its submission and its end.
void Meter::date(Scope& scope, const Gauge& gauge, const Submission& done, const Tape& tape, const Item& item,
                 const Results& results) {
  scope.t_start = done.t_start;
  scope.t_end = metrics::now_ns();
  if (!gauge.clock || !results.has(TIME, item.query[TIME]) || !results.has(TIME, item.end)) return;
  scope.t_start = static_cast<uint64_t>(clock_of(gauge, tape.family, results.of(TIME, item.query[TIME])));
  scope.t_end = static_cast<uint64_t>(clock_of(gauge, tape.family, results.of(TIME, item.end)));
}

// For a time stamp in ns: by CLOCK_MONOTONIC where the device gives both, else by the device's own clock.
double Meter::clock_of(const Gauge& gauge, uint32_t family, uint64_t ticks) {
  const Abilities& here = gauge.pools.here;
  const uint64_t mask = here.ticks(family);
  if (!gauge.clock) return static_cast<double>(ticks & mask) * here.period;
  const uint64_t later = (ticks - gauge.ticks) & mask, earlier = (gauge.ticks - ticks) & mask;
  const double away = later <= earlier ? static_cast<double>(later) : -static_cast<double>(earlier);
  return static_cast<double>(gauge.clock) + away * here.period;
}

double Meter::value_of(const Gauge& gauge, const Tape& tape, const Item& item, const Results& results,
                       const QueryUse& wish) const {
  const int query = item.query[wish.kind];
  if (query == NO_QUERY) return 0;  // a dispatch has no samples
  const Abilities& here = gauge.pools.here;
  const uint64_t first = results.of(wish.kind, query);
  switch (wish.what) {
    case QueryUse::ELAPSED:
      return static_cast<double>((results.of(TIME, item.end) - first) & here.ticks(tape.family)) * here.period;
    case QueryUse::START: return clock_of(gauge, tape.family, first);
    case QueryUse::PASSED: return static_cast<double>(first);
    case QueryUse::ANY: return first ? 1 : 0;
    case QueryUse::STATISTIC: {
      const auto counted = tape.pools.statistics(tape.family), bit = 1u << wish.number;
      if (!(counted & bit)) return 0;
      return static_cast<double>(
          results.of(STATISTICS, query, static_cast<size_t>(std::popcount(counted & (bit - 1)))));
    }
    case QueryUse::COUNTER: {
      const auto& all = wishes_.counters;
      const auto place = std::find(all.begin(), all.end(), wish.number) - all.begin();
      return number_of(results.of(COUNTERS, query, static_cast<size_t>(place)), here.counters[wish.number].storage);
    }
  }
  return 0;
}

// Returns whether a value of an item is part of a scope's value; `never`: why the scope has none at all.
bool Meter::belongs(const QueryUse& wish, const Item& item, metrics::At at, const char*& never) const {
  const bool whole = at != metrics::AT_DRAW && at != metrics::AT_PASS;
  if (wish.kind == TIME)
    return item.what == Item::BUFFER ? whole : at == (item.what == Item::PASS ? metrics::AT_PASS : metrics::AT_DRAW);
  if (wish.kind != COUNTERS || wishes_.scope == VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_KHR)
    return item.what == Item::DRAW;
  const bool passes = wishes_.scope == VK_PERFORMANCE_COUNTER_SCOPE_RENDER_PASS_KHR;
  if (!whole && (!passes || at == metrics::AT_DRAW))
    never = passes ? "it counts whole render passes" : "it counts whole command buffers";
  return !never && item.what == (passes ? Item::PASS : Item::BUFFER);
}

void Meter::take(const Gauge& gauge, const Tape& tape, const Item& item, const Results& results,
                 const std::vector<Scope*>& scopes) {
  for (auto& [place, wish] : wishes_.all) {
    const char* why = why_not(wish, item, results);
    const double value = why ? 0 : value_of(gauge, tape, item, results, wish);
    const auto fold =
        request_.metrics[static_cast<size_t>(request_.passes[0].metrics[static_cast<size_t>(place)])].fold;
    for (Scope* scope : scopes) {
      metrics::Sum& sum = scope->sums[static_cast<size_t>(place)];
      const char* never = nullptr;
      if (!belongs(wish, item, scope->at, never)) {
        if (never) sum.why = never, sum.unknown = ALL;
        continue;
      }
      if (why)
        sum.why = why, sum.unknown += item.what == Item::BUFFER ? tape.draws : 1;
      else if (wish.what == QueryUse::START || wish.kind != TIME || item.query[TIME] != NO_QUERY)
        metrics::add(sum, fold, value, 1, static_cast<uint64_t>(value));
    }
  }
}

}  // namespace dt::play::vk
