// Calls that name a buffer as something that the device writes to (reach.h).
#include "facts.h"
#include "module_vk.h"
#include "reach.h"

namespace dt {
namespace hook {

void target(VkBuffer buffer) {
  if (buffer) reach::is_target((uint64_t)(uintptr_t)buffer, next_submission());
}

void target(const VkBuffer* buffers, uint32_t count) {
  for (uint32_t i = 0; buffers && i < count; i++) target(buffers[i]);
}

void target(const VkWriteDescriptorSet* writes, uint32_t count) {
  constexpr VkDescriptorType STORAGE = 7, STORAGE_DYNAMIC = 9;
  for (uint32_t i = 0; writes && i < count; i++) {
    const VkWriteDescriptorSet& write = writes[i];
    if (write.descriptorType != STORAGE && write.descriptorType != STORAGE_DYNAMIC) continue;
    for (uint32_t k = 0; write.pBufferInfo && k < write.descriptorCount; k++) target(write.pBufferInfo[k].buffer);
  }
}

// Any submission may read the content of a set.
void target(VkDescriptorUpdateTemplate update, const void* data) {
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

void before_vkBeginCommandBuffer(Thread*, VkCommandBuffer commands, const VkCommandBufferBeginInfo* info) {
  constexpr VkFlags ONE_TIME = 1;
  reach::begins((uint64_t)(uintptr_t)commands, info && tree::is_readable(info, sizeof *info) && info->flags & ONE_TIME);
}

}  // namespace hook
}  // namespace dt
