// What the tap knows of Vulkan's objects: the sizes that the rules of the overlay ask for.
//
// The generator calls before_NAME and after_NAME around the driver's function of that name, and unrecorded_NAME after
// it while nothing is recorded (an object may be made before recording begins).
#pragma once
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
void after_vkGetDeviceQueue(Thread* t, VkDevice device, uint32_t family, uint32_t index, VkQueue* queue);
void after_vkGetDeviceQueue2(Thread* t, VkDevice device, const VkDeviceQueueInfo2* info, VkQueue* queue);
void before_vkQueueSubmit(Thread* t, VkQueue queue, uint32_t count, const VkSubmitInfo* submits, VkFence fence);
void before_vkQueueSubmit2(Thread* t, VkQueue queue, uint32_t count, const VkSubmitInfo2* submits, VkFence fence);
void before_vkQueueBindSparse(Thread* t, VkQueue queue, uint32_t count, const VkBindSparseInfo* infos, VkFence fence);
void after_vkWaitForFences(Thread* t, VkDevice device, uint32_t count, const VkFence* fences, VkBool32 all,
                           uint64_t timeout, VkResult result);
void after_vkGetFenceStatus(Thread* t, VkDevice device, VkFence fence, VkResult result);
void after_vkWaitSemaphores(Thread* t, VkDevice device, const VkSemaphoreWaitInfo* info, uint64_t timeout,
                            VkResult result);
void after_vkQueueWaitIdle(Thread* t, VkQueue queue, VkResult result);
void after_vkDeviceWaitIdle(Thread* t, VkDevice device, VkResult result);

}  // namespace dt::hook
