// Waits and questions: the recording says how they ended, and so they end here.
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "../../core/error.h"
#include "../play_clock.h"
#include "meter.h"
#include "player.h"

namespace dt::play::vk {

uint64_t longest_wait_ns() {
  static const uint64_t ns = [] {
    const char* given = getenv("DRAWTAP_LONGEST_WAIT");
    const unsigned long seconds = given ? strtoul(given, nullptr, 10) : 0;
    return seconds ? std::min<uint64_t>(seconds, UINT32_MAX) * 1'000'000'000 : LONG_NS;
  }();
  return ns;
}

static std::string has_not_ended(const std::string& what) {
  return what + " has not ended after " + std::to_string(longest_wait_ns() / 1'000'000'000) +
         " s (DRAWTAP_LONGEST_WAIT=600 waits ten minutes)";
}

void expect_signal(Device& device, VkFence fence, const char* what) {
  const VkResult result = DT_VK(device, vkWaitForFences)(device.device, 1, &fence, 1, longest_wait_ns());
  if (result == VK_TIMEOUT) throw Error(DT_E_ARGUMENT, has_not_ended(what));
  expect(result, what);
}

void Player::wait_fences(Call& c) {
  if (c.result() != VK_SUCCESS) return;
  build(c);
  c.arguments[4] = longest_wait_ns();
  if (invoke(c) == VK_TIMEOUT)
    fail(DT_E_ARGUMENT, "fences that were signalled in the recording are not signalled here");
  if (c.arguments[3] || c.arguments[1] == 1) work_.done(c.at<VkFence>(2), c.arguments[1]);
}

void Player::fence_status(Call& c) {
  if (c.result() != VK_SUCCESS) return;
  build(c);
  const auto fence = c.as<VkFence>(1);
  if (DT_VK(*c.table, vkWaitForFences)(c.as<VkDevice>(0), 1, &fence, 1, longest_wait_ns()) == VK_TIMEOUT)
    fail(DT_E_ARGUMENT, "a fence that was signalled in the recording is not signalled here");
  work_.done(&fence, 1);
}

void Player::wait_semaphores(Call& c) {
  if (c.result() != VK_SUCCESS) return;
  build(c);
  c.arguments[2] = longest_wait_ns();
  if (invoke(c) == VK_TIMEOUT)
    fail(DT_E_ARGUMENT, "semaphores that were signalled in the recording are not signalled here");
  const auto* info = c.at<VkSemaphoreWaitInfo>(1);
  if (!info->pSemaphores || !info->pValues) return;
  if (!(info->flags & VK_SEMAPHORE_WAIT_ANY_BIT) || info->semaphoreCount == 1)
    for (uint32_t i = 0; i < info->semaphoreCount; ++i) work_.reached((uint64_t)info->pSemaphores[i], info->pValues[i]);
}

// VK_ERROR_EXTENSION_NOT_PRESENT: the driver has no timelines.
static VkResult wait_value(Table& table, VkDevice device, VkSemaphore semaphore, uint64_t value, uint64_t most_ns) {
  auto wait = DT_VK(table, vkWaitSemaphores);
  if (!wait) return VK_ERROR_EXTENSION_NOT_PRESENT;
  VkSemaphoreWaitInfo info{};
  info.semaphoreCount = 1;
  info.pSemaphores = &semaphore;
  info.pValues = &value;
  return wait(device, &info, most_ns);
}

// A driver without timelines of the kernel's signals the fence of a submission first, and then the timelines. Mesa
// does, in a thread of its own. A program that polls destroys them later than a player that waits for the fence.
void Player::end_timeline(Table& table, VkDevice device, VkSemaphore semaphore) {
  const uint64_t value = work_.last_signal(reinterpret_cast<uint64_t>(semaphore));
  if (value) wait_value(table, device, semaphore, value, ENOUGH_NS);
}

void Player::semaphore_value(Call& c) {
  if (c.result() != VK_SUCCESS) return;
  const auto values = recorded_array<uint64_t>(c, 2);
  build(c);
  if (values.empty()) return;
  const VkResult result = wait_value(*c.table, c.as<VkDevice>(0), c.as<VkSemaphore>(1), values[0], longest_wait_ns());
  if (result == VK_ERROR_EXTENSION_NOT_PRESENT) fail(DT_E_ARGUMENT, "the driver here has no timeline semaphores");
  if (result == VK_TIMEOUT) fail(DT_E_ARGUMENT, "a semaphore does not get the value here that it had in the recording");
  work_.reached(c.arguments[1], values[0]);
}

void Player::event_status(Call& c) {
  if (c.result() != VK_EVENT_SET) return;
  build(c);
  const double until = now_seconds() + static_cast<double>(longest_wait_ns()) * 1e-9;
  while (DT_VK(*c.table, vkGetEventStatus)(c.as<VkDevice>(0), c.as<VkEvent>(1)) != VK_EVENT_SET) {
    if (now_seconds() > until) fail(DT_E_ARGUMENT, "an event that was set in the recording is not set here");
    sched_yield();
  }
}

void Player::watch_submit(Call& c) { work_.submit(c, reinterpret_cast<uint64_t>(c.table)); }

void Player::never_signalled() const {
  fail(DT_E_FORMAT, "it waits for a semaphore that no call before it signals: the recording lacks one");
}

// Says whether all submitted work ends in time. Work that waits for an event may wait for ever.
bool Player::work_ends(Device& device) {
  if (work_.is_stuck()) return false;
  if (!awaits_events_) return true;
  VkFence fence = make_fence(device);
  for (const uint64_t queue : work_.queues_of(reinterpret_cast<uint64_t>(static_cast<Table*>(&device)))) {
    if (DT_VK(device, vkQueueSubmit)((VkQueue)queue, 0, nullptr, fence) != VK_SUCCESS) break;
    if (DT_VK(device, vkWaitForFences)(device.device, 1, &fence, 1, longest_wait_ns()) == VK_TIMEOUT) return false;
    DT_VK(device, vkResetFences)(device.device, 1, &fence);
  }
  DT_VK(device, vkDestroyFence)(device.device, fence, nullptr);
  return true;
}

void Player::expect_end(Device& device) {
  if (work_.is_stuck())
    fail(DT_E_FORMAT, "submitted work waits for a timeline semaphore's value that no call before this one signals");
  if (!work_ends(device)) fail(DT_E_ARGUMENT, has_not_ended("submitted work that waits for an event"));
}

void Player::wait_idle(Device& device, VkQueue queue) {
  expect_end(device);
  const VkResult result =
      queue ? DT_VK(device, vkQueueWaitIdle)(queue) : DT_VK(device, vkDeviceWaitIdle)(device.device);
  if (result != VK_SUCCESS) fail(DT_E_ARGUMENT, refusal(result, "the end of submitted work"));
}

void Player::watch_events(Call&) { awaits_events_ = true; }

void Player::queue_idle(Call& c) {
  const Object* of = objects_.find(c.number == number::vkDeviceWaitIdle ? OF_Device : OF_Queue, c.recorded(0));
  if (of && succeeded(c)) expect_end(static_cast<Device&>(*of->owner));
  generic(c);
  if (!succeeded(c)) return;
  work_.idle(c.number == number::vkDeviceWaitIdle ? 0 : c.arguments[0], reinterpret_cast<uint64_t>(c.table));
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
