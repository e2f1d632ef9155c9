#include "stores.h"

#include <algorithm>

#include "chain.h"
#include "player.h"

namespace dt::play::vk {
namespace {

constexpr size_t MOST_RANGES = 64;

// Ranges that touch become one.
void join(std::vector<Range>& ranges) {
  std::sort(ranges.begin(), ranges.end());
  size_t n = 0;
  for (const Range& each : ranges)
    if (n && each.first <= ranges[n - 1].second)
      ranges[n - 1].second = std::max(ranges[n - 1].second, each.second);
    else
      ranges[n++] = each;
  ranges.resize(n);
}

}  // namespace

void Stores::bind(uint64_t resource, uint64_t memory, uint64_t offset, uint64_t bytes, bool image) {
  Resource& r = resources_[resource];
  r.memory = memory, r.offset = offset, r.bytes = bytes;
  if (image) r.stored = {{0, bytes}};
  in_memory_[memory].push_back(resource);
}

void Stores::forget(uint64_t resource) {
  auto it = resources_.find(resource);
  if (it == resources_.end()) return;
  std::erase(in_memory_[it->second.memory], resource);
  resources_.erase(it);
}

void Stores::forget_memory(uint64_t memory) { in_memory_.erase(memory); }

void Stores::store(uint64_t buffer, uint64_t offset, uint64_t bytes) {
  Resource& r = resources_[buffer];  // it may be bound later
  const uint64_t to = bytes > REST - offset ? REST : offset + bytes;
  for (const Range& each : r.stored)
    if (each.first <= offset && to <= each.second) return;
  r.stored.emplace_back(offset, to);
  join(r.stored);
  if (r.stored.size() > MOST_RANGES) r.stored = {{r.stored.front().first, r.stored.back().second}};
}

std::vector<Range> Stores::in(uint64_t memory, Range range) const {
  std::vector<Range> ranges;
  auto it = in_memory_.find(memory);
  if (it == in_memory_.end()) return ranges;
  for (uint64_t resource : it->second) {
    const Resource& r = resources_.at(resource);
    for (const Range& each : r.stored) {
      const uint64_t from = std::max(range.first, r.offset + std::min(each.first, r.bytes));
      const uint64_t to = std::min(range.second, r.offset + std::min(each.second, r.bytes));
      if (from < to) ranges.emplace_back(from, to);
    }
  }
  join(ranges);
  return ranges;
}

// ---- what calls say ---------------------------------------------------------------------------------------

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

// Whether the bytes of a new image have a meaning for the driver alone.
void Player::watch_image(Call& c) {
  const auto& info = *c.at<VkImageCreateInfo>(1);
  const auto* shared =
      chained<VkExternalMemoryImageCreateInfo>(info.pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO);
  constexpr uint32_t OTHERS = VK_IMAGE_CREATE_ALIAS_BIT | VK_IMAGE_CREATE_SPARSE_BINDING_BIT;
  if (info.tiling == VK_IMAGE_TILING_OPTIMAL && !(info.flags & OTHERS) && !(shared && shared->handleTypes))
    opaque_.insert(*c.at<uint64_t>(3));
}

void Player::bind_memory(Call& c) {
  if (!succeeded(c)) return;
  build(c);
  using namespace number;
  const bool image =
      c.number == vkBindImageMemory || c.number == vkBindImageMemory2 || c.number == vkBindImageMemory2KHR;
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

void Player::watch_view(Call& c) {
  stores_.view(*c.at<uint64_t>(3), reinterpret_cast<uint64_t>(c.at<VkBufferViewCreateInfo>(1)->buffer));
}

// Commands that store to a buffer which they name.
void Player::watch_transfer(Call& c) {
  using namespace number;
  auto copies = [&](auto buffer, const auto* regions, uint64_t count) {
    for (uint64_t i = 0; regions && i < count; ++i)
      stores_.store(reinterpret_cast<uint64_t>(buffer), regions[i].dstOffset, regions[i].size);
  };
  auto rest = [&](auto buffer, uint64_t offset) {
    stores_.store(reinterpret_cast<uint64_t>(buffer), offset, Stores::REST);
  };
  switch (c.number) {
    case vkCmdFillBuffer:
    case vkCmdUpdateBuffer: return stores_.store(c.arguments[1], c.arguments[2], c.arguments[3]);
    case vkCmdCopyBuffer: return copies(c.as<VkBuffer>(2), c.at<VkBufferCopy>(4), c.arguments[3]);
    case vkCmdCopyBuffer2:
    case vkCmdCopyBuffer2KHR: {
      const auto* info = c.at<VkCopyBufferInfo2>(1);
      return copies(info->dstBuffer, info->pRegions, info->regionCount);
    }
    case vkCmdCopyImageToBuffer:
      for (uint64_t i = 0; i < c.arguments[4]; ++i) rest(c.as<VkBuffer>(3), c.at<VkBufferImageCopy>(5)[i].bufferOffset);
      return;
    case vkCmdCopyImageToBuffer2:
    case vkCmdCopyImageToBuffer2KHR: {
      const auto* info = c.at<VkCopyImageToBufferInfo2>(1);
      for (uint32_t i = 0; i < info->regionCount; ++i) rest(info->dstBuffer, info->pRegions[i].bufferOffset);
      return;
    }
    case vkCmdCopyQueryPoolResults: return rest(c.as<VkBuffer>(4), c.arguments[5]);
    case vkCmdBindTransformFeedbackBuffersEXT:
      for (uint64_t i = 0; i < c.arguments[2]; ++i) rest(c.at<VkBuffer>(3)[i], c.at<uint64_t>(4)[i]);
      return;
    default:  // counters of transform feedback; other commands that store to a buffer
      for (int i = 1; i < c.command.params; ++i) {
        if (c.param(i).type != OF_Buffer) continue;
        if (c.param(i).way == HANDLE) rest(c.as<VkBuffer>(i), 0);
        for (uint64_t k = 0; c.param(i).way == HANDLES && c.arguments[i] && k < c.arguments[i - 1]; ++k)
          rest(c.at<VkBuffer>(i)[k], 0);
      }
  }
}

void Player::stored_by(VkDescriptorType type, const VkDescriptorBufferInfo* buffer, const VkBufferView* view) {
  if (view && type == VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER) stores_.store_view(reinterpret_cast<uint64_t>(*view));
  if (!buffer || !buffer->buffer) return;
  const auto of = reinterpret_cast<uint64_t>(buffer->buffer);
  if (type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER) stores_.store(of, buffer->offset, buffer->range);
  if (type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC) stores_.store(of, 0, Stores::REST);
}

void Player::watch_descriptors(Call& c) {
  const bool push = c.number != number::vkUpdateDescriptorSets;
  const auto* writes = c.at<VkWriteDescriptorSet>(push ? 5 : 2);
  const uint64_t count = c.arguments[push ? 4 : 1];
  for (uint64_t i = 0; writes && i < count; ++i)
    for (uint32_t k = 0; k < writes[i].descriptorCount; ++k) {
      const int64_t what = table::descriptor_content(writes[i].descriptorType);
      stored_by(writes[i].descriptorType, what == 2 && writes[i].pBufferInfo ? &writes[i].pBufferInfo[k] : nullptr,
                what == 3 && writes[i].pTexelBufferView ? &writes[i].pTexelBufferView[k] : nullptr);
    }
}

void Player::watch_stores() {
  watchers_.resize(number::COMMANDS);
  using namespace number;
  for (uint16_t of : {vkCmdFillBuffer, vkCmdUpdateBuffer, vkCmdCopyBuffer, vkCmdCopyBuffer2, vkCmdCopyBuffer2KHR,
                      vkCmdCopyImageToBuffer, vkCmdCopyImageToBuffer2, vkCmdCopyImageToBuffer2KHR,
                      vkCmdCopyQueryPoolResults, vkCmdBindTransformFeedbackBuffersEXT, vkCmdBeginTransformFeedbackEXT,
                      vkCmdEndTransformFeedbackEXT, vkCmdWriteBufferMarkerAMD, vkCmdWriteBufferMarker2AMD})
    watchers_[of] = &Player::watch_transfer;
  for (uint16_t of : {vkUpdateDescriptorSets, vkCmdPushDescriptorSet, vkCmdPushDescriptorSetKHR})
    watchers_[of] = &Player::watch_descriptors;
  for (uint16_t of : {vkQueueSubmit, vkQueueSubmit2, vkQueueSubmit2KHR, vkQueueBindSparse})
    watchers_[of] = &Player::watch_submit;
  watchers_[vkCreateBufferView] = &Player::watch_view;
  watchers_[vkCreateImage] = &Player::watch_image;
}

}  // namespace dt::play::vk
