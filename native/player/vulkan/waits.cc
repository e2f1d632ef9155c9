// Waits and questions: the recording says how they ended, and so they end here.
#include <sched.h>

#include <algorithm>
#include <cstring>

#include "../../core/error.h"
#include "../play_clock.h"
#include "meter.h"
#include "player.h"

namespace dt::play::vk {
namespace {}  // namespace

void Player::wait_fences(Call& c) {
  if (c.result() != VK_SUCCESS) return;
  build(c);
  c.arguments[4] = LONG_NS;
  if (invoke(c) == VK_TIMEOUT)
    fail(DT_E_ARGUMENT, "fences that were signalled in the recording are not signalled here");
  if (c.arguments[3] || c.arguments[1] == 1) done(c.at<VkFence>(2), c.arguments[1]);
}

void Player::fence_status(Call& c) {
  if (c.result() != VK_SUCCESS) return;
  build(c);
  const auto fence = c.as<VkFence>(1);
  if (DT_VK(*c.table, vkWaitForFences)(c.as<VkDevice>(0), 1, &fence, 1, LONG_NS) == VK_TIMEOUT)
    fail(DT_E_ARGUMENT, "a fence that was signalled in the recording is not signalled here");
  done(&fence, 1);
}

void Player::wait_semaphores(Call& c) {
  if (c.result() != VK_SUCCESS) return;
  build(c);
  c.arguments[2] = LONG_NS;
  if (invoke(c) == VK_TIMEOUT)
    fail(DT_E_ARGUMENT, "semaphores that were signalled in the recording are not signalled here");
  const auto* info = c.at<VkSemaphoreWaitInfo>(1);
  if (!(info->flags & VK_SEMAPHORE_WAIT_ANY_BIT) || info->semaphoreCount == 1)
    for (uint32_t i = 0; i < info->semaphoreCount; ++i) reached((uint64_t)info->pSemaphores[i], info->pValues[i]);
}

void Player::semaphore_value(Call& c) {
  if (c.result() != VK_SUCCESS) return;
  const auto values = recorded_array<uint64_t>(c, 2);
  build(c);
  if (values.empty()) return;
  const auto semaphore = c.as<VkSemaphore>(1);
  VkSemaphoreWaitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
  info.semaphoreCount = 1;
  info.pSemaphores = &semaphore;
  info.pValues = values.data();
  auto wait = DT_VK(*c.table, vkWaitSemaphores);
  if (!wait) wait = DT_VK(*c.table, vkWaitSemaphoresKHR);
  if (!wait) fail(DT_E_ARGUMENT, "the driver here has no timeline semaphores");
  if (wait(c.as<VkDevice>(0), &info, LONG_NS) == VK_TIMEOUT)
    fail(DT_E_ARGUMENT, "a semaphore does not get the value here that it had in the recording");
  reached(c.arguments[1], values[0]);
}

void Player::event_status(Call& c) {
  if (c.result() != VK_EVENT_SET) return;
  build(c);
  const double until = now_seconds() + LONG_NS * 1e-9;
  while (DT_VK(*c.table, vkGetEventStatus)(c.as<VkDevice>(0), c.as<VkEvent>(1)) != VK_EVENT_SET) {
    if (now_seconds() > until) fail(DT_E_ARGUMENT, "an event that was set in the recording is not set here");
    sched_yield();
  }
}

// ---- what may still have run, in the recording --------------------------------------------------

bool Player::may_run() const {
  for (auto& [handle, queue] : queues_)
    if (queue.done < queue.submitted) return true;
  return false;
}

void Player::watch_submit(Call& c) {
  Queue& queue = queues_[c.arguments[0]];
  queue.device = c.table;
  const Signal signal{&queue, ++queue.submitted};
  if (c.arguments[3]) fences_[c.arguments[3]] = signal;
  struct Chained {
    int32_t stype;
    const Chained* next;
  };
  if (c.number != number::vkQueueSubmit && c.number != number::vkQueueBindSparse) {
    for (uint64_t i = 0; i < c.arguments[1]; ++i) {
      const auto& batch = c.at<VkSubmitInfo2>(2)[i];
      for (uint32_t k = 0; k < batch.signalSemaphoreInfoCount; ++k)
        timelines_[(uint64_t)batch.pSignalSemaphoreInfos[k].semaphore][batch.pSignalSemaphoreInfos[k].value] = signal;
    }
    return;
  }
  if (c.number != number::vkQueueSubmit) return;
  for (uint64_t i = 0; i < c.arguments[1]; ++i) {
    const auto& batch = c.at<VkSubmitInfo>(2)[i];
    for (auto* at = static_cast<const Chained*>(batch.pNext); at; at = at->next) {
      if (at->stype != VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO) continue;
      auto* values = reinterpret_cast<const VkTimelineSemaphoreSubmitInfo*>(at);
      for (uint32_t k = 0; k < batch.signalSemaphoreCount && k < values->signalSemaphoreValueCount; ++k)
        timelines_[(uint64_t)batch.pSignalSemaphores[k]][values->pSignalSemaphoreValues[k]] = signal;
    }
  }
}

void Player::done(const VkFence* fences, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i)
    if (auto it = fences_.find((uint64_t)fences[i]); it != fences_.end())
      it->second.queue->done = std::max(it->second.queue->done, it->second.number);
}

void Player::reached(uint64_t semaphore, uint64_t value) {
  auto it = timelines_.find(semaphore);
  if (it == timelines_.end()) return;
  const auto end = it->second.upper_bound(value);
  for (auto at = it->second.begin(); at != end; ++at)
    at->second.queue->done = std::max(at->second.queue->done, at->second.number);
  it->second.erase(it->second.begin(), end);
}

void Player::queue_idle(Call& c) {
  generic(c);
  if (!succeeded(c)) return;
  for (auto& [handle, queue] : queues_)
    if (c.number == number::vkDeviceWaitIdle ? queue.device == c.table : handle == c.arguments[0])
      queue.done = queue.submitted;
}

void Player::create_query_pool(Call& c) {
  generic(c);
  if (!succeeded(c)) return;
  query_types_[*c.at<uint64_t>(3)] = c.at<VkQueryPoolCreateInfo>(1)->queryType;
  if (meter_) meter_->query_pool(*c.at<VkQueryPool>(3), c.at<VkQueryPoolCreateInfo>(1)->queryType);
}

// Answers are compared where they can be equal.
void Player::query_results(Call& c) {
  if (c.result() != VK_SUCCESS || !options_.verify) return;
  build(c);
  const Content then = content(c, 5);
  const VkQueryType type = query_types_[c.arguments[1]];
  if (!then || (type != VK_QUERY_TYPE_OCCLUSION && type != VK_QUERY_TYPE_PIPELINE_STATISTICS)) {
    ++uncompared_;
    return;
  }
  c.arguments[7] |= VK_QUERY_RESULT_WAIT_BIT;
  invoke(c);
  ++compared_;
  const auto bytes = std::min<uint64_t>(then.bytes, c.arguments[4]);
  if (!memcmp(then.data, c.at<void>(5), bytes)) return;
  ++different_;
  report("read-back", seq_, c.command.name, "the answers to queries differ");
}

}  // namespace dt::play::vk
