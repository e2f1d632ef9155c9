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

namespace {

// Calls `one` for the values of timelines in a submission: the semaphore, the value, and whether it is signalled.
template <class Batch, class F> void chained_values(const Batch& batch, F&& one) {
  for (auto* at = static_cast<const Chained*>(batch.pNext); at; at = at->next) {
    if (at->stype != VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO) continue;
    auto each = [&](auto* semaphores, uint32_t count, const uint64_t* values, uint32_t given, bool signals) {
      for (uint32_t k = 0; semaphores && values && k < count && k < given; ++k)
        one((uint64_t)semaphores[k], values[k], signals);
    };
    auto* of = reinterpret_cast<const VkTimelineSemaphoreSubmitInfo*>(at);
    each(batch.pWaitSemaphores, batch.waitSemaphoreCount, of->pWaitSemaphoreValues, of->waitSemaphoreValueCount, false);
    each(batch.pSignalSemaphores, batch.signalSemaphoreCount, of->pSignalSemaphoreValues, of->signalSemaphoreValueCount,
         true);
  }
}

template <class F> void timeline_values(const Call& c, F&& one) {
  for (uint64_t i = 0; i < c.arguments[1]; ++i) {
    if (c.number == number::vkQueueSubmit) {
      chained_values(c.at<VkSubmitInfo>(2)[i], one);
      continue;
    }
    if (c.number == number::vkQueueBindSparse) {
      chained_values(c.at<VkBindSparseInfo>(2)[i], one);
      continue;
    }
    const auto& batch = c.at<VkSubmitInfo2>(2)[i];
    for (uint32_t k = 0; batch.pWaitSemaphoreInfos && k < batch.waitSemaphoreInfoCount; ++k)
      one((uint64_t)batch.pWaitSemaphoreInfos[k].semaphore, batch.pWaitSemaphoreInfos[k].value, false);
    for (uint32_t k = 0; batch.pSignalSemaphoreInfos && k < batch.signalSemaphoreInfoCount; ++k)
      one((uint64_t)batch.pSignalSemaphoreInfos[k].semaphore, batch.pSignalSemaphoreInfos[k].value, true);
  }
}

}  // namespace

void Running::submit(const Call& c, uint64_t device) {
  Queue& queue = queues_[c.arguments[0]];
  queue.device = device;
  const Signal by{&queue, ++queue.submitted};
  if (c.arguments[3]) fences_[c.arguments[3]] = by;
  timeline_values(c, [&](uint64_t semaphore, uint64_t value, bool signals) {
    if (signals) {
      timelines_[semaphore][value] = by;
      gets(semaphore, value);
    } else if (auto it = values_.find(semaphore); it != values_.end() && value > it->second) {
      uint64_t& awaited = awaited_[{c.arguments[0], semaphore}];
      awaited = std::max(awaited, value);
    }
  });
}

void Running::gets(uint64_t semaphore, uint64_t value) {
  if (auto it = values_.find(semaphore); it != values_.end()) it->second = std::max(it->second, value);
}

bool Running::is_stuck(uint64_t queue) {
  std::erase_if(awaited_, [this](auto& each) {
    auto it = values_.find(each.first.second);
    return it == values_.end() || it->second >= each.second;
  });
  return std::any_of(awaited_.begin(), awaited_.end(),
                     [queue](auto& each) { return !queue || each.first.first == queue; });
}

void Running::made(uint64_t semaphore, const VkSemaphoreCreateInfo& info) {
  const VkSemaphoreTypeCreateInfo* timeline = nullptr;
  bool ours = true;
  for (auto* at = static_cast<const Chained*>(info.pNext); at; at = at->next) {
    if (at->stype == VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO)
      timeline = reinterpret_cast<const VkSemaphoreTypeCreateInfo*>(at);
    ours &= at->stype != VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO;
  }
  imported(semaphore);  // one that is gone may have had the handle
  timelines_.erase(semaphore);
  std::erase_if(awaited_, [semaphore](auto& each) { return each.first.second == semaphore; });
  if (!ours) return;
  if (timeline && timeline->semaphoreType == VK_SEMAPHORE_TYPE_TIMELINE)
    values_[semaphore] = timeline->initialValue;
  else
    signalled_[semaphore] = 0;
}

void Running::signal(uint64_t semaphore, uint64_t queue) {
  if (auto it = signalled_.find(semaphore); it != signalled_.end()) it->second = queue;
}

bool Running::wait(const VkSemaphore* semaphores, uint32_t count) {
  for (uint32_t i = 0; semaphores && i < count; ++i) {
    auto it = signalled_.find((uint64_t)semaphores[i]);
    if (it == signalled_.end()) continue;
    if (!it->second || is_stuck(it->second)) return false;
    it->second = 0;
  }
  return true;
}

bool Running::waits_end(const Call& c) {
  const uint64_t queue = c.arguments[0];
  auto each = [this, queue](const auto& batch) {
    if (!wait(batch.pWaitSemaphores, batch.waitSemaphoreCount)) return false;
    for (uint32_t k = 0; batch.pSignalSemaphores && k < batch.signalSemaphoreCount; ++k)
      signal((uint64_t)batch.pSignalSemaphores[k], queue);
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
      signal((uint64_t)batch.pSignalSemaphoreInfos[k].semaphore, queue);
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
