// The tap's facts about Vulkan's objects: the sizes that the rules of the overlay need.
//
// The generator calls before_NAME and after_NAME around the driver's function of that name, and unrecorded_NAME after
// it while nothing is recorded (an object may be made before recording begins).
#pragma once
#include "reach.h"
#include "tap.h"

namespace dt::hook {

void after_vkAllocateCommandBuffers(Thread* t, VkDevice device, const VkCommandBufferAllocateInfo* info,
                                    VkCommandBuffer* made, VkResult result);
void unrecorded_vkAllocateCommandBuffers(Thread* t, VkDevice device, const VkCommandBufferAllocateInfo* info,
                                         VkCommandBuffer* made, VkResult result);
void after_vkCreateDescriptorUpdateTemplate(Thread* t, VkDevice device,
                                            const VkDescriptorUpdateTemplateCreateInfo* info,
                                            const VkAllocationCallbacks* allocator, VkDescriptorUpdateTemplate* made,
                                            VkResult result);
void unrecorded_vkCreateDescriptorUpdateTemplate(Thread* t, VkDevice device,
                                                 const VkDescriptorUpdateTemplateCreateInfo* info,
                                                 const VkAllocationCallbacks* allocator,
                                                 VkDescriptorUpdateTemplate* made, VkResult result);

// memory.cc: what the program stores in mapped memory, and when the device may have stored there.
void after_vkAllocateMemory(Thread* t, VkDevice device, const VkMemoryAllocateInfo* info,
                            const VkAllocationCallbacks* allocator, VkDeviceMemory* made, VkResult result);
void before_vkFreeMemory(Thread* t, VkDevice device, VkDeviceMemory memory, const VkAllocationCallbacks* allocator);
void after_vkMapMemory(Thread* t, VkDevice device, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize size,
                       VkMemoryMapFlags flags, void** at, VkResult result);
void after_vkMapMemory2(Thread* t, VkDevice device, const VkMemoryMapInfo* info, void** at, VkResult result);
void before_vkUnmapMemory(Thread* t, VkDevice device, VkDeviceMemory memory);
void before_vkUnmapMemory2(Thread* t, VkDevice device, const VkMemoryUnmapInfo* info);
void after_vkCreateBuffer(Thread* t, VkDevice device, const VkBufferCreateInfo* info,
                          const VkAllocationCallbacks* allocator, VkBuffer* made, VkResult result);
void before_vkBindBufferMemory(Thread* t, VkDevice device, VkBuffer buffer, VkDeviceMemory memory, VkDeviceSize offset);
void before_vkBindBufferMemory2(Thread* t, VkDevice device, uint32_t count, const VkBindBufferMemoryInfo* infos);
void before_vkBindImageMemory(Thread* t, VkDevice device, VkImage image, VkDeviceMemory memory, VkDeviceSize offset);
void before_vkBindImageMemory2(Thread* t, VkDevice device, uint32_t count, const VkBindImageMemoryInfo* infos);
void before_vkBindAccelerationStructureMemoryNV(Thread* t, VkDevice, uint32_t count,
                                                const VkBindAccelerationStructureMemoryInfoNV* infos);
void before_vkBindDataGraphPipelineSessionMemoryARM(Thread* t, VkDevice, uint32_t count,
                                                    const VkBindDataGraphPipelineSessionMemoryInfoARM* infos);
void before_vkBindTensorMemoryARM(Thread* t, VkDevice, uint32_t count, const VkBindTensorMemoryInfoARM* infos);
void before_vkBindVideoSessionMemoryKHR(Thread* t, VkDevice, VkVideoSessionKHR, uint32_t count,
                                        const VkBindVideoSessionMemoryInfoKHR* infos);
void after_vkGetDeviceQueue(Thread* t, VkDevice device, uint32_t family, uint32_t index, VkQueue* queue);
void after_vkGetDeviceQueue2(Thread* t, VkDevice device, const VkDeviceQueueInfo2* info, VkQueue* queue);
void before_vkQueueSubmit(Thread* t, VkQueue queue, uint32_t count, const VkSubmitInfo* infos, VkFence fence);
void before_vkQueueSubmit2(Thread* t, VkQueue queue, uint32_t count, const VkSubmitInfo2* submits, VkFence fence);
void after_vkQueueSubmit(Thread* t, VkQueue queue, uint32_t count, const VkSubmitInfo* infos, VkFence fence,
                         VkResult result);
void after_vkQueueSubmit2(Thread* t, VkQueue queue, uint32_t count, const VkSubmitInfo2* infos, VkFence fence,
                          VkResult result);
void before_vkQueueBindSparse(Thread* t, VkQueue queue, uint32_t count, const VkBindSparseInfo* infos, VkFence fence);
void after_vkWaitForFences(Thread* t, VkDevice device, uint32_t count, const VkFence* fences, VkBool32 all,
                           uint64_t timeout, VkResult result);
void after_vkGetFenceStatus(Thread* t, VkDevice device, VkFence fence, VkResult result);
void after_vkWaitSemaphores(Thread* t, VkDevice device, const VkSemaphoreWaitInfo* info, uint64_t timeout,
                            VkResult result);
void after_vkQueueWaitIdle(Thread* t, VkQueue queue, VkResult result);
void after_vkDeviceWaitIdle(Thread* t, VkDevice device, VkResult result);

void after_vkCreateImage(Thread* t, VkDevice, const VkImageCreateInfo* info, const VkAllocationCallbacks*,
                         VkImage* made, VkResult result);
void before_vkDestroyBuffer(Thread* t, VkDevice, VkBuffer buffer, const VkAllocationCallbacks*);
void before_vkDestroyImage(Thread* t, VkDevice, VkImage image, const VkAllocationCallbacks*);
void after_vkGetImageMemoryRequirements(Thread* t, VkDevice, VkImage image, VkMemoryRequirements* needs);
void after_vkGetImageMemoryRequirements2(Thread* t, VkDevice, const VkImageMemoryRequirementsInfo2* info,
                                         VkMemoryRequirements2* needs);
void after_vkGetSemaphoreCounterValue(Thread* t, VkDevice, VkSemaphore semaphore, uint64_t* value, VkResult result);

// targets_vk.cc: what the device writes to, and what it reads of large buffers.
void before_vkBeginCommandBuffer(Thread* t, VkCommandBuffer commands, const VkCommandBufferBeginInfo* info);
void before_vkCmdCopyBuffer(Thread* t, VkCommandBuffer, VkBuffer, VkBuffer to, uint32_t, const VkBufferCopy*);
void before_vkCmdCopyBuffer2(Thread* t, VkCommandBuffer, const VkCopyBufferInfo2* info);
void before_vkCmdCopyImageToBuffer(Thread* t, VkCommandBuffer, VkImage, VkImageLayout, VkBuffer to, uint32_t,
                                   const VkBufferImageCopy*);
void before_vkCmdCopyImageToBuffer2(Thread* t, VkCommandBuffer, const VkCopyImageToBufferInfo2* info);
void before_vkCmdUpdateBuffer(Thread* t, VkCommandBuffer, VkBuffer to, VkDeviceSize, VkDeviceSize, const void*);
void before_vkCmdFillBuffer(Thread* t, VkCommandBuffer, VkBuffer to, VkDeviceSize, VkDeviceSize, uint32_t);
void before_vkCmdCopyQueryPoolResults(Thread* t, VkCommandBuffer, VkQueryPool, uint32_t, uint32_t, VkBuffer to,
                                      VkDeviceSize, VkDeviceSize, VkQueryResultFlags);
void before_vkCmdWriteBufferMarkerAMD(Thread* t, VkCommandBuffer, VkPipelineStageFlagBits, VkBuffer to, VkDeviceSize,
                                      uint32_t);
void before_vkCmdWriteBufferMarker2AMD(Thread* t, VkCommandBuffer, VkPipelineStageFlags2, VkBuffer to, VkDeviceSize,
                                       uint32_t);
void before_vkCmdBindTransformFeedbackBuffersEXT(Thread* t, VkCommandBuffer, uint32_t, uint32_t count,
                                                 const VkBuffer* buffers, const VkDeviceSize*, const VkDeviceSize*);
void before_vkCmdBeginTransformFeedbackEXT(Thread* t, VkCommandBuffer, uint32_t, uint32_t count,
                                           const VkBuffer* buffers, const VkDeviceSize*);
void before_vkCmdEndTransformFeedbackEXT(Thread* t, VkCommandBuffer, uint32_t, uint32_t count, const VkBuffer* buffers,
                                         const VkDeviceSize*);
void before_vkCreateBufferView(Thread* t, VkDevice, const VkBufferViewCreateInfo* info, const VkAllocationCallbacks*,
                               VkBufferView*);
void before_vkCreateAccelerationStructureKHR(Thread* t, VkDevice, const VkAccelerationStructureCreateInfoKHR* info,
                                             const VkAllocationCallbacks*, VkAccelerationStructureKHR*);
void before_vkGetBufferDeviceAddress(Thread* t, VkDevice, const VkBufferDeviceAddressInfo* info);
void before_vkUpdateDescriptorSets(Thread* t, VkDevice, uint32_t count, const VkWriteDescriptorSet* writes, uint32_t,
                                   const VkCopyDescriptorSet*);
void before_vkCmdPushDescriptorSet(Thread* t, VkCommandBuffer, VkPipelineBindPoint, VkPipelineLayout, uint32_t,
                                   uint32_t count, const VkWriteDescriptorSet* writes);
void before_vkCmdPushDescriptorSet2(Thread* t, VkCommandBuffer, const VkPushDescriptorSetInfo* info);
void before_vkUpdateDescriptorSetWithTemplate(Thread* t, VkDevice, VkDescriptorSet, VkDescriptorUpdateTemplate update,
                                              const void* data);
void before_vkCmdPushDescriptorSetWithTemplate(Thread* t, VkCommandBuffer, VkDescriptorUpdateTemplate update,
                                               VkPipelineLayout, uint32_t, const void* data);
void before_vkCmdPushDescriptorSetWithTemplate2(Thread* t, VkCommandBuffer,
                                                const VkPushDescriptorSetWithTemplateInfo* info);

}  // namespace dt::hook
