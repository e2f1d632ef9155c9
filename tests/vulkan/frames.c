/* Three frames without a window: `boundary` says so with its submits, `label` with labels of the queue, `wait` with
 * fences alone, of which it asks one in vain, `none` with nothing. */
#include "vk.h"
#include "check.h"
#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char** words) {
  const char* mode = count > 1 ? words[1] : "none";
  start_with((struct Wanted){.instance_extensions = {"VK_EXT_debug_utils"}});
  __typeof__(&vkQueueBeginDebugUtilsLabelEXT) begin =
      (void*)vkGetInstanceProcAddr(instance, "vkQueueBeginDebugUtilsLabelEXT");
  __typeof__(&vkQueueEndDebugUtilsLabelEXT) end =
      (void*)vkGetInstanceProcAddr(instance, "vkQueueEndDebugUtilsLabelEXT");
  VkFenceCreateInfo plain = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  VkFence fence, never;
  CHECK(vkCreateFence(device, &plain, 0, &fence));
  CHECK(vkCreateFence(device, &plain, 0, &never));
  const int labelled = !strcmp(mode, "label"), waits = strcmp(mode, "none");
  for (int frame = 0; frame < 3; frame++) {
    VkFrameBoundaryEXT boundary = {
        .sType = VK_STRUCTURE_TYPE_FRAME_BOUNDARY_EXT, .flags = VK_FRAME_BOUNDARY_FRAME_END_BIT_EXT, .frameID = frame};
    VkSubmitInfo work = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO};
    VkDebugUtilsLabelEXT label = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT, .pLabelName = "Frame"};
    if (labelled) begin(queue, &label);
    CHECK(vkQueueSubmit(queue, 1, &work, 0));
    if (waits && vkWaitForFences(device, 1, &never, 1, 0) != VK_TIMEOUT) return 1;
    if (!strcmp(mode, "boundary")) work.pNext = &boundary;
    CHECK(vkQueueSubmit(queue, 1, &work, waits ? fence : 0));
    if (waits) {
      CHECK(vkWaitForFences(device, 1, &fence, 1, ~0ull));
      CHECK(vkResetFences(device, 1, &fence));
    }
    if (labelled) end(queue);
  }
  return 0;
}
