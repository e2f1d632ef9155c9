// The submitted work that may still have run at a place of the recording.
#include "running.h"

#include <algorithm>

#include "chain.h"

namespace dt::play::vk {

bool Running::may_run() const {
  for (auto& [handle, queue] : queues_)
    if (queue.done < queue.submitted) return true;
  return false;
}

void Running::submit(const Call& c, uint64_t device) {
  Queue& queue = queues_[c.arguments[0]];
  queue.device = device;
  const Signal signal{&queue, ++queue.submitted};
  if (c.arguments[3]) fences_[c.arguments[3]] = signal;
  if (c.number != number::vkQueueSubmit && c.number != number::vkQueueBindSparse) {
    for (uint64_t i = 0; i < c.arguments[1]; ++i) {
      const auto& batch = c.at<VkSubmitInfo2>(2)[i];
      for (uint32_t k = 0; batch.pSignalSemaphoreInfos && k < batch.signalSemaphoreInfoCount; ++k)
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
      if (!batch.pSignalSemaphores || !values->pSignalSemaphoreValues) continue;
      for (uint32_t k = 0; k < batch.signalSemaphoreCount && k < values->signalSemaphoreValueCount; ++k)
        timelines_[(uint64_t)batch.pSignalSemaphores[k]][values->pSignalSemaphoreValues[k]] = signal;
    }
  }
}

void Running::made(uint64_t semaphore, const VkSemaphoreCreateInfo& info) {
  bool binary = true;
  for (auto* at = static_cast<const Chained*>(info.pNext); at; at = at->next) {
    if (at->stype == VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO)
      binary &= reinterpret_cast<const VkSemaphoreTypeCreateInfo*>(at)->semaphoreType == VK_SEMAPHORE_TYPE_BINARY;
    binary &= at->stype != VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO;  // others may signal it
  }
  signalled_.erase(semaphore);  // one that is gone may have had the handle
  if (binary) signalled_[semaphore] = false;
}

void Running::signal(uint64_t semaphore) {
  if (auto it = signalled_.find(semaphore); it != signalled_.end()) it->second = true;
}

bool Running::wait(const VkSemaphore* semaphores, uint32_t count) {
  for (uint32_t i = 0; semaphores && i < count; ++i) {
    auto it = signalled_.find((uint64_t)semaphores[i]);
    if (it == signalled_.end()) continue;
    if (!it->second) return false;
    it->second = false;
  }
  return true;
}

bool Running::waits_end(const Call& c) {
  auto each = [this](const auto& batch) {
    if (!wait(batch.pWaitSemaphores, batch.waitSemaphoreCount)) return false;
    for (uint32_t k = 0; batch.pSignalSemaphores && k < batch.signalSemaphoreCount; ++k)
      signal((uint64_t)batch.pSignalSemaphores[k]);
    return true;
  };
  for (uint64_t i = 0; i < c.arguments[1]; ++i) {
    if (c.number == number::vkQueueSubmit || c.number == number::vkQueueBindSparse) {
      const bool known =
          c.number == number::vkQueueSubmit ? each(c.at<VkSubmitInfo>(2)[i]) : each(c.at<VkBindSparseInfo>(2)[i]);
      if (!known) return false;
      continue;
    }
    const auto& batch = c.at<VkSubmitInfo2>(2)[i];
    for (uint32_t k = 0; batch.pWaitSemaphoreInfos && k < batch.waitSemaphoreInfoCount; ++k)
      if (!wait(&batch.pWaitSemaphoreInfos[k].semaphore, 1)) return false;
    for (uint32_t k = 0; batch.pSignalSemaphoreInfos && k < batch.signalSemaphoreInfoCount; ++k)
      signal((uint64_t)batch.pSignalSemaphoreInfos[k].semaphore);
  }
  return true;
}

void Running::done(const VkFence* fences, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i)
    if (auto it = fences_.find((uint64_t)fences[i]); it != fences_.end())
      it->second.queue->done = std::max(it->second.queue->done, it->second.number);
}

void Running::reached(uint64_t semaphore, uint64_t value) {
  auto it = timelines_.find(semaphore);
  if (it == timelines_.end()) return;
  const auto end = it->second.upper_bound(value);
  for (auto at = it->second.begin(); at != end; ++at)
    at->second.queue->done = std::max(at->second.queue->done, at->second.number);
  it->second.erase(it->second.begin(), end);
}

void Running::idle(uint64_t queue, uint64_t device) {
  for (auto& [handle, each] : queues_)
    if (queue ? handle == queue : each.device == device) each.done = each.submitted;
}

}  // namespace dt::play::vk
