// The player's own objects on a device, and work that it hands to queues.
#include "../../core/error.h"
#include "objects.h"

namespace dt::play::vk {

std::string refusal(VkResult result, const std::string& what) {
  switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY: return "there is no memory for " + what;
    case VK_ERROR_OUT_OF_DEVICE_MEMORY: return "the device has no memory for " + what;
    case VK_ERROR_DEVICE_LOST: return "the device is lost";
    default: return what + " is refused: the result is " + std::to_string(result);
  }
}

void expect(VkResult result, const std::string& what) {
  if (result != VK_SUCCESS) throw Error(DT_E_ARGUMENT, refusal(result, what));
}

VkFence make_fence(Device& device) {
  return make(device, DT_VK(device, vkCreateFence), VkFenceCreateInfo{}, "a fence");
}

VkCommandPool make_pool(Device& device, uint32_t family, VkCommandPoolCreateFlags flags) {
  VkCommandPoolCreateInfo info{};
  info.flags = flags, info.queueFamilyIndex = family;
  return make(device, DT_VK(device, vkCreateCommandPool), info, "a command pool");
}

VkCommandBuffer make_commands(Device& device, VkCommandPool pool) {
  VkCommandBufferAllocateInfo info{};
  info.commandPool = pool, info.commandBufferCount = 1;
  VkCommandBuffer made = nullptr;
  expect(DT_VK(device, vkAllocateCommandBuffers)(device.device, &info, &made), "a command buffer");
  return made;
}

void begin_once(Device& device, VkCommandBuffer commands) {
  VkCommandBufferBeginInfo info{};
  info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  expect(DT_VK(device, vkBeginCommandBuffer)(commands, &info), "commands");
}

void submit(Device& device, VkQueue queue, VkCommandBuffer commands, VkFence fence) {
  VkSubmitInfo batch{};
  batch.commandBufferCount = 1, batch.pCommandBuffers = &commands;
  expect(DT_VK(device, vkQueueSubmit)(queue, commands ? 1 : 0, &batch, fence), "a submission");
}

}  // namespace dt::play::vk
