/* Three frames without a window: `boundary` says so with its submits, `label` with labels of the queue, `wait` with
 * fences alone, `none` with nothing. */
#include "vk.h"
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static VkDevice make_device(VkInstance* instance) {
  const char* labels = "VK_EXT_debug_utils";
  VkInstanceCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .enabledExtensionCount = 1, .ppEnabledExtensionNames = &labels};
  CHECK(vkCreateInstance(&info, 0, instance));
  uint32_t one = 1;
  VkPhysicalDevice physical;
  VkResult found = vkEnumeratePhysicalDevices(*instance, &one, &physical);
  if (found != VK_SUCCESS && found != VK_INCOMPLETE) exit(77);
  float priority = 1;
  VkDeviceQueueCreateInfo queue = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
  VkDeviceCreateInfo of = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue};
  VkDevice device;
  CHECK(vkCreateDevice(physical, &of, 0, &device));
  return device;
}

int main(int count, char** words) {
  const char* mode = count > 1 ? words[1] : "none";
  VkInstance instance;
  VkDevice device = make_device(&instance);
  VkQueue queue;
  vkGetDeviceQueue(device, 0, 0, &queue);
  __typeof__(&vkQueueBeginDebugUtilsLabelEXT) begin =
      (void*)vkGetInstanceProcAddr(instance, "vkQueueBeginDebugUtilsLabelEXT");
  __typeof__(&vkQueueEndDebugUtilsLabelEXT) end =
      (void*)vkGetInstanceProcAddr(instance, "vkQueueEndDebugUtilsLabelEXT");
  VkFenceCreateInfo plain = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  VkFence fence;
  CHECK(vkCreateFence(device, &plain, 0, &fence));
  const int labelled = !strcmp(mode, "label"), waits = strcmp(mode, "none");
  for (int frame = 0; frame < 3; frame++) {
    VkFrameBoundaryEXT boundary = {
        .sType = VK_STRUCTURE_TYPE_FRAME_BOUNDARY_EXT, .flags = VK_FRAME_BOUNDARY_FRAME_END_BIT_EXT, .frameID = frame};
    VkSubmitInfo work = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO};
    VkDebugUtilsLabelEXT label = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT, .pLabelName = "Frame"};
    if (labelled) begin(queue, &label);
    CHECK(vkQueueSubmit(queue, 1, &work, 0));
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
