/* Work that waits for values of a timeline that the host signals: before the wait for the queue, and during it. */
#include "vk.h"
#include "check.h"
#include "device.h"

#include <pthread.h>
#include <unistd.h>

static VkSemaphore line;

static void give(uint64_t awaited, uint64_t next) {
  VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                          .waitSemaphoreValueCount = 1,
                                          .pWaitSemaphoreValues = &awaited,
                                          .signalSemaphoreValueCount = 1,
                                          .pSignalSemaphoreValues = &next};
  uint32_t stages = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  VkSubmitInfo work = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                       .pNext = &values,
                       .waitSemaphoreCount = 1,
                       .pWaitSemaphores = &line,
                       .pWaitDstStageMask = &stages,
                       .signalSemaphoreCount = 1,
                       .pSignalSemaphores = &line};
  CHECK(vkQueueSubmit(queue, 1, &work, 0));
}

static void reach(uint64_t value) {
  VkSemaphoreSignalInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = line, .value = value};
  CHECK(vkSignalSemaphore(device, &info));
}

static void* later(void* nothing) {
  usleep(20000); /* so that the other thread waits already; nothing fails where it does not */
  reach(3);
  return nothing;
}

int main(void) {
  start_with_timelines();
  line = make_timeline();
  give(1, 2);
  reach(1);
  CHECK(vkQueueWaitIdle(queue));
  give(3, 4);
  pthread_t other;
  pthread_create(&other, 0, later, 0);
  CHECK(vkQueueWaitIdle(queue));
  pthread_join(other, 0);
  vkDestroySemaphore(device, line, 0);
  vkDestroyDevice(device, 0);
  vkDestroyInstance(instance, 0);
  return 0;
}
