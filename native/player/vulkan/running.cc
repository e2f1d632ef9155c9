// The submitted work that may still have run at a place of the recording.
#include "running.h"

#include <algorithm>
#include <utility>

#include "chain.h"

namespace dt::play::vk {

bool Running::may_run() const {
  for (auto& [handle, queue] : queues_)
    if (queue.done < queue.submitted) return true;
  return false;
}

std::vector<uint64_t> Running::queues_of(uint64_t device) const {
  std::vector<uint64_t> found;
  for (auto& [handle, queue] : queues_)
    if (queue.device == device && queue.submitted) found.push_back(handle);
  return found;
}

namespace {

// Calls `one(batch, semaphore, value, signals)` for the waits of each batch, then for its signals.
template <class Batch, class F> void chained_values(const Batch& batch, uint64_t i, F&& one) {
  const VkTimelineSemaphoreSubmitInfo none{}, *given = chained<VkTimelineSemaphoreSubmitInfo>(batch.pNext);
  const auto* values = given ? given : &none;
  auto each = [&](auto* semaphores, uint32_t count, const uint64_t* of, uint32_t given, bool signals) {
    for (uint32_t k = 0; semaphores && k < count; ++k)
      one(i, (uint64_t)semaphores[k], of && k < given ? of[k] : 0, signals);
  };
  each(batch.pWaitSemaphores, batch.waitSemaphoreCount, values->pWaitSemaphoreValues, values->waitSemaphoreValueCount,
       false);
  each(batch.pSignalSemaphores, batch.signalSemaphoreCount, values->pSignalSemaphoreValues,
       values->signalSemaphoreValueCount, true);
}

template <class F> void each_semaphore(const Call& c, F&& one) {
  for (uint64_t i = 0; i < c.arguments[1]; ++i) {
    if (c.number == number::vkQueueSubmit) {
      chained_values(c.at<VkSubmitInfo>(2)[i], i, one);
      continue;
    }
    if (c.number == number::vkQueueBindSparse) {
      chained_values(c.at<VkBindSparseInfo>(2)[i], i, one);
      continue;
    }
    const auto& batch = c.at<VkSubmitInfo2>(2)[i];
    auto each = [&](const VkSemaphoreSubmitInfo* infos, uint32_t count, bool signals) {
      for (uint32_t k = 0; infos && k < count; ++k) one(i, (uint64_t)infos[k].semaphore, infos[k].value, signals);
    };
    each(batch.pWaitSemaphoreInfos, batch.waitSemaphoreInfoCount, false);
    each(batch.pSignalSemaphoreInfos, batch.signalSemaphoreInfoCount, true);
  }
}

}  // namespace

void Running::submit(const Call& c, uint64_t device) {
  Queue& queue = queues_[c.arguments[0]];
  queue.device = device;
  const Signal by{&queue, ++queue.submitted};
  if (c.arguments[3]) fences_[c.arguments[3]] = by;
  std::vector<Batch> batches(c.arguments[1]);
  each_semaphore(c, [&](uint64_t i, uint64_t semaphore, uint64_t value, bool signals) {
    if (signals && value) timelines_[semaphore][value] = by;
    if (values_.contains(semaphore)) (signals ? batches[i].signals : batches[i].waits).emplace_back(semaphore, value);
  });
  for (Batch& batch : batches) {
    batch.number = ++queue.batches;
    if (queue.held.empty() && are_reached(batch.waits))
      raise(batch.signals);
    else
      queue.held.push_back(std::move(batch)), ++held_;
  }
  go_on();
}

bool Running::are_reached(const Values& waits) const {
  return std::all_of(waits.begin(), waits.end(), [this](auto& wait) {
    auto it = values_.find(wait.first);
    return it == values_.end() || it->second >= wait.second;
  });
}

void Running::raise(const Values& signals) {
  for (auto& [semaphore, value] : signals)
    if (auto it = values_.find(semaphore); it != values_.end()) it->second = std::max(it->second, value);
}

// Work that a value lets go on may signal other values.
void Running::go_on() {
  for (bool more = held_ > 0; more;) {
    more = false;
    for (auto& [handle, queue] : queues_) {
      for (; !queue.held.empty() && are_reached(queue.held.front().waits); queue.held.pop_front(), --held_) {
        raise(queue.held.front().signals);
        more = true;
      }
    }
  }
}

void Running::gets(uint64_t semaphore, uint64_t value) {
  raise({{semaphore, value}});
  go_on();
}

void Running::imported(uint64_t semaphore) {
  signalled_.erase(semaphore);
  values_.erase(semaphore);
  go_on();
}

void Running::made(uint64_t semaphore, const VkSemaphoreCreateInfo& info) {
  const auto* timeline = chained<VkSemaphoreTypeCreateInfo>(info.pNext);
  imported(semaphore);  // one that is gone may have had the handle
  timelines_.erase(semaphore);
  if (chained<VkExportSemaphoreCreateInfo>(info.pNext)) return;
  if (timeline && timeline->semaphoreType == VK_SEMAPHORE_TYPE_TIMELINE)
    values_[semaphore] = timeline->initialValue;
  else
    signalled_[semaphore] = {};
}

void Running::signal(uint64_t semaphore, uint64_t queue) {
  if (auto it = signalled_.find(semaphore); it != signalled_.end()) it->second = {queue, queues_[queue].batches};
}

bool Running::wait(const VkSemaphore* semaphores, uint32_t count) {
  for (uint32_t i = 0; semaphores && i < count; ++i) {
    auto it = signalled_.find((uint64_t)semaphores[i]);
    if (it == signalled_.end()) continue;
    const Source by = std::exchange(it->second, {});
    if (!by.queue) return false;
    const auto& held = queues_[by.queue].held;
    if (!held.empty() && held.front().number <= by.batch) return false;
  }
  return true;
}

bool Running::waits_end(const Call& c) {
  const uint64_t queue = c.arguments[0], before = queues_[queue].batches;
  bool end = true;
  each_semaphore(c, [&](uint64_t i, uint64_t semaphore, uint64_t, bool signals) {
    const auto handle = (VkSemaphore)semaphore;
    if (!signals) end = wait(&handle, 1) && end;
    auto it = signals ? signalled_.find(semaphore) : signalled_.end();
    if (it != signalled_.end()) it->second = {queue, before + i + 1};
  });
  return end;
}

void Running::done(const VkFence* fences, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i)
    if (auto it = fences_.find((uint64_t)fences[i]); it != fences_.end())
      it->second.queue->done = std::max(it->second.queue->done, it->second.number);
}

void Running::reached(uint64_t semaphore, uint64_t value) {
  gets(semaphore, value);
  auto it = timelines_.find(semaphore);
  if (it == timelines_.end()) return;
  const auto end = it->second.upper_bound(value);
  for (auto at = it->second.begin(); at != end; ++at)
    at->second.queue->done = std::max(at->second.queue->done, at->second.number);
  it->second.erase(it->second.begin(), end);
}

uint64_t Running::last_signal(uint64_t semaphore) const {
  auto it = timelines_.find(semaphore);
  return it == timelines_.end() || it->second.empty() ? 0 : it->second.rbegin()->first;
}

void Running::idle(uint64_t queue, uint64_t device) {
  for (auto& [handle, each] : queues_)
    if (queue ? handle == queue : each.device == device) each.done = each.submitted;
}

}  // namespace dt::play::vk
