/* Timelines that are destroyed a while after a poll found the fence of their submission signalled. */
#include "vk.h"
#include "check.h"
#include "device.h"

#include <unistd.h>

int main(void) {
  start_with_timelines();
  VkFenceCreateInfo of_fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  const uint64_t values[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  VkTimelineSemaphoreSubmitInfo given = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                         .signalSemaphoreValueCount = 8,
                                         .pSignalSemaphoreValues = values};
  for (int i = 0; i < 100; i++) {
    VkSemaphore lines[8];
    for (int k = 0; k < 8; k++) lines[k] = make_timeline();
    VkFence fence;
    CHECK(vkCreateFence(device, &of_fence, 0, &fence));
    VkSubmitInfo work = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .pNext = &given, .signalSemaphoreCount = 8, .pSignalSemaphores = lines};
    CHECK(vkQueueSubmit(queue, 1, &work, fence));
    while (vkWaitForFences(device, 1, &fence, 1, 0) == VK_TIMEOUT) usleep(200);
    usleep(2000); /* a driver's threads are done with the timelines by then */
    for (int k = 0; k < 8; k++) vkDestroySemaphore(device, lines[k], 0);
    vkDestroyFence(device, fence, 0);
  }
  return 0;
}
