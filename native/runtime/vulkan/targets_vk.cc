// Calls that name a buffer as something that the device writes to (reach.h).
#include "facts.h"
#include "module_vk.h"
#include "reach.h"

namespace dt {
namespace {

void target(VkBuffer buffer) {
  if (buffer) reach::is_target((uint64_t)(uintptr_t)buffer, next_submission());
}

void targets(uint32_t count, const VkWriteDescriptorSet* writes) {
  constexpr VkDescriptorType STORAGE = 7, STORAGE_DYNAMIC = 9;
  for (uint32_t i = 0; writes && i < count; i++) {
    const VkWriteDescriptorSet& write = writes[i];
    if (write.descriptorType != STORAGE && write.descriptorType != STORAGE_DYNAMIC) continue;
    for (uint32_t k = 0; write.pBufferInfo && k < write.descriptorCount; k++) target(write.pBufferInfo[k].buffer);
  }
}

// Any submission may read the content of a set.
void targets(VkDescriptorUpdateTemplate update, const void* data) {
  const auto each = [](void*, const BufferPart& part, bool storage) {
    if (storage) reach::is_target(part.buffer, next_submission());
    reach::are_named(&part.buffer, 1);
  };
  if (!each_buffer((uint64_t)(uintptr_t)update, data, nullptr, each)) reach::all_are_named();
}
// The commands recorded there read the data pushed into a command buffer.
void pushed(VkCommandBuffer commands, VkDescriptorUpdateTemplate update, const void* data) {
  const auto each = [](void* to, const BufferPart& part, bool storage) {
    if (storage) {
      reach::is_target(part.buffer, next_submission());
      reach::are_named(&part.buffer, 1);
    } else {
      reach::is_read((uint64_t)(uintptr_t)to, part.buffer, part.offset, part.bytes);
    }
  };
  if (!each_buffer((uint64_t)(uintptr_t)update, data, commands, each)) reach::all_are_named();
}

}  // namespace

namespace hook {

void before_vkBeginCommandBuffer(Thread*, VkCommandBuffer commands, const VkCommandBufferBeginInfo* info) {
  constexpr VkFlags ONE_TIME = 1;
  reach::begins((uint64_t)(uintptr_t)commands, info && tree::is_readable(info, sizeof *info) && info->flags & ONE_TIME);
}

void before_vkCmdCopyBuffer(Thread*, VkCommandBuffer, VkBuffer, VkBuffer to, uint32_t, const VkBufferCopy*) {
  target(to);
}
void before_vkCmdCopyBuffer2(Thread*, VkCommandBuffer, const VkCopyBufferInfo2* info) { target(info->dstBuffer); }
void before_vkCmdCopyImageToBuffer(Thread*, VkCommandBuffer, VkImage, VkImageLayout, VkBuffer to, uint32_t,
                                   const VkBufferImageCopy*) {
  target(to);
}
void before_vkCmdCopyImageToBuffer2(Thread*, VkCommandBuffer, const VkCopyImageToBufferInfo2* info) {
  target(info->dstBuffer);
}
void before_vkCmdUpdateBuffer(Thread*, VkCommandBuffer, VkBuffer to, VkDeviceSize, VkDeviceSize, const void*) {
  target(to);
}
void before_vkCmdFillBuffer(Thread*, VkCommandBuffer, VkBuffer to, VkDeviceSize, VkDeviceSize, uint32_t) { target(to); }
void before_vkCmdCopyQueryPoolResults(Thread*, VkCommandBuffer, VkQueryPool, uint32_t, uint32_t, VkBuffer to,
                                      VkDeviceSize, VkDeviceSize, VkQueryResultFlags) {
  target(to);
}
void before_vkCmdWriteBufferMarkerAMD(Thread*, VkCommandBuffer, VkPipelineStageFlagBits, VkBuffer to, VkDeviceSize,
                                      uint32_t) {
  target(to);
}
void before_vkCmdWriteBufferMarker2AMD(Thread*, VkCommandBuffer, VkPipelineStageFlags2, VkBuffer to, VkDeviceSize,
                                       uint32_t) {
  target(to);
}
void before_vkCmdBindTransformFeedbackBuffersEXT(Thread*, VkCommandBuffer, uint32_t, uint32_t count,
                                                 const VkBuffer* buffers, const VkDeviceSize*, const VkDeviceSize*) {
  for (uint32_t i = 0; i < count; i++) target(buffers[i]);
}
void before_vkCmdBeginTransformFeedbackEXT(Thread*, VkCommandBuffer, uint32_t, uint32_t count, const VkBuffer* buffers,
                                           const VkDeviceSize*) {
  for (uint32_t i = 0; buffers && i < count; i++) target(buffers[i]);
}
void before_vkCmdEndTransformFeedbackEXT(Thread*, VkCommandBuffer, uint32_t, uint32_t count, const VkBuffer* buffers,
                                         const VkDeviceSize*) {
  for (uint32_t i = 0; buffers && i < count; i++) target(buffers[i]);
}
void before_vkCreateBufferView(Thread*, VkDevice, const VkBufferViewCreateInfo* info, const VkAllocationCallbacks*,
                               VkBufferView*) {
  target(info->buffer);
}
void before_vkCreateAccelerationStructureKHR(Thread*, VkDevice, const VkAccelerationStructureCreateInfoKHR* info,
                                             const VkAllocationCallbacks*, VkAccelerationStructureKHR*) {
  target(info->buffer);
}
void before_vkGetBufferDeviceAddress(Thread*, VkDevice, const VkBufferDeviceAddressInfo* info) { target(info->buffer); }

void before_vkUpdateDescriptorSets(Thread*, VkDevice, uint32_t count, const VkWriteDescriptorSet* writes, uint32_t,
                                   const VkCopyDescriptorSet*) {
  targets(count, writes);
}
void before_vkCmdPushDescriptorSet(Thread*, VkCommandBuffer, VkPipelineBindPoint, VkPipelineLayout, uint32_t,
                                   uint32_t count, const VkWriteDescriptorSet* writes) {
  targets(count, writes);
}
void before_vkCmdPushDescriptorSet2(Thread*, VkCommandBuffer, const VkPushDescriptorSetInfo* info) {
  targets(info->descriptorWriteCount, info->pDescriptorWrites);
}
void before_vkUpdateDescriptorSetWithTemplate(Thread*, VkDevice, VkDescriptorSet, VkDescriptorUpdateTemplate update,
                                              const void* data) {
  targets(update, data);
}
void before_vkCmdPushDescriptorSetWithTemplate(Thread*, VkCommandBuffer commands, VkDescriptorUpdateTemplate update,
                                               VkPipelineLayout, uint32_t, const void* data) {
  pushed(commands, update, data);
}
void before_vkCmdPushDescriptorSetWithTemplate2(Thread*, VkCommandBuffer commands,
                                                const VkPushDescriptorSetWithTemplateInfo* info) {
  pushed(commands, info->descriptorUpdateTemplate, info->pData);
}

}  // namespace hook
}  // namespace dt
