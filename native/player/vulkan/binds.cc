// Places of resources in memory, and who notes where the device stores.
#include "../../core/error.h"
#include "chain.h"
#include "player.h"

namespace dt::play::vk {

// A resource gets its place in memory: the recorded one, where that is good here as well.
//
// An image that does not fit there gets memory of its own, if its bytes mean nothing to others. By Vulkan's rules on
// aliasing, no buffer, no other image and no pointer of the program has defined contents where such an image is.
void Player::bind(Table& table, uint64_t resource, VkDeviceMemory& of, uint64_t& offset, bool image) {
  auto memory = memory_.find(of);
  if (memory == memory_.end()) fail(DT_E_FORMAT, "its memory was not allocated");
  VkMemoryRequirements needs{};
  if (image)
    DT_VK(table, vkGetImageMemoryRequirements)(table.device, reinterpret_cast<VkImage>(resource), &needs);
  else
    DT_VK(table, vkGetBufferMemoryRequirements)(table.device, reinterpret_cast<VkBuffer>(resource), &needs);
  const Memory& m = memory->second;
  if (offset <= m.bytes && needs.size <= m.bytes - offset && offset % needs.alignment == 0 &&
      needs.memoryTypeBits >> m.type & 1)
    return stores_.bind(resource, reinterpret_cast<uint64_t>(of), offset, needs.size, image);
  if (!opaque_.contains(resource))
    fail(DT_E_ARGUMENT,
         std::string(image ? "an image" : "a buffer") +
             " needs more or other memory on this driver than on the recording's: that cannot be played yet");
  of = own_memory(table, resource, needs), offset = 0;
}

// Notes new images whose bytes have a meaning for the driver alone.
void Player::watch_image(Call& c) {
  watch_format(c);
  const auto& info = *c.at<VkImageCreateInfo>(1);
  const auto* shared = chained<VkExternalMemoryImageCreateInfo>(info.pNext);
  constexpr uint32_t OTHERS = VK_IMAGE_CREATE_ALIAS_BIT | VK_IMAGE_CREATE_SPARSE_BINDING_BIT;
  if (info.tiling == VK_IMAGE_TILING_OPTIMAL && !(info.flags & OTHERS) && !(shared && shared->handleTypes))
    opaque_.insert(*c.at<uint64_t>(3));
}

void Player::bind_memory(Call& c) {
  if (!succeeded(c)) return;
  build(c);
  using namespace number;
  const bool image = c.number == vkBindImageMemory || c.number == vkBindImageMemory2;
  if (c.number == vkBindBufferMemory || c.number == vkBindImageMemory) {
    auto of = c.as<VkDeviceMemory>(2);
    bind(*c.table, c.arguments[1], of, c.arguments[3], image);
    c.arguments[2] = reinterpret_cast<uint64_t>(of);
  } else if (image) {
    for (uint64_t i = 0; i < c.arguments[1]; ++i) {
      auto& info = c.at<VkBindImageMemoryInfo>(2)[i];
      if (info.pNext) continue;  // planes and devices of a group have needs of their own
      bind(*c.table, reinterpret_cast<uint64_t>(info.image), info.memory, info.memoryOffset, true);
    }
  } else {
    for (uint64_t i = 0; i < c.arguments[1]; ++i) {
      auto& info = c.at<VkBindBufferMemoryInfo>(2)[i];
      bind(*c.table, reinterpret_cast<uint64_t>(info.buffer), info.memory, info.memoryOffset, false);
    }
  }
  invoke(c);
}

void Player::watch_stores() {
  watchers_.resize(number::COMMANDS);
  using namespace number;
  for (uint16_t of = 0; of < number::COMMANDS; ++of) watchers_[of] = watcher_of(of);
  for (uint16_t of : {vkQueueSubmit, vkQueueSubmit2, vkQueueBindSparse}) watchers_[of] = &Player::watch_submit;
  watchers_[vkCmdWaitEvents] = watchers_[vkCmdWaitEvents2] = &Player::watch_events;
  watchers_[vkCreateImage] = &Player::watch_image;
}

}  // namespace dt::play::vk
