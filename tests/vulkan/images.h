/* Memory and layouts of images. Include it behind vk.h and check.h. */
#pragma once

/* Memory of the first type. */
static VkDeviceMemory room(VkDevice of, VkMemoryRequirements needs) {
  VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size};
  VkDeviceMemory memory;
  CHECK(vkAllocateMemory(of, &info, 0, &memory));
  return memory;
}

/* Put one level into a layout; all work before it is done and seen. */
static void turn(VkCommandBuffer in, VkImage of, uint32_t aspects, VkImageLayout from, VkImageLayout to) {
  VkImageMemoryBarrier turned = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                 .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                 .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
                                 .oldLayout = from,
                                 .newLayout = to,
                                 .srcQueueFamilyIndex = ~0u,
                                 .dstQueueFamilyIndex = ~0u,
                                 .image = of,
                                 .subresourceRange = {aspects, 0, 1, 0, 1}};
  const uint32_t all = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  vkCmdPipelineBarrier(in, all, all, 0, 0, 0, 0, 0, 1, &turned);
}
