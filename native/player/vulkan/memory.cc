// Device memory, and what program and device stored in it.
#include <algorithm>
#include <cstring>

#include "../../core/error.h"
#include "chain.h"
#include "player.h"

namespace dt::play::vk {

uint32_t Player::memory_type(const Device& device, uint32_t bits, uint32_t wanted) const {
  for (const uint32_t flags : {wanted, uint32_t{0}})
    for (uint32_t i = 0; i < device.memory.memoryTypeCount; ++i)
      if (bits >> i & 1 && (device.memory.memoryTypes[i].propertyFlags & flags) == flags) return i;
  fail(DT_E_ARGUMENT, "the device has no memory of a fitting type");
}

void Player::allocate_memory(Call& c) {
  if (!succeeded(c)) return;
  build(c);
  auto& device = static_cast<Device&>(*c.table);
  auto* info = c.at<VkMemoryAllocateInfo>(1);
  if (info->memoryTypeIndex >= device.memory_types.size()) fail(DT_E_FORMAT, "there is no such type of memory");
  info->memoryTypeIndex = device.memory_types[info->memoryTypeIndex];
  enlarge(device, *info);
  invoke(c);
  made(c);
  const uint32_t type = info->memoryTypeIndex;
  memory_[*c.at<VkDeviceMemory>(3)] = {&device, info->allocationSize, type,
                                       device.memory.memoryTypes[type].propertyFlags, nullptr};
}

// Memory for one image or buffer alone is as large as this driver wants it.
void Player::enlarge(Device& device, VkMemoryAllocateInfo& info) {
  const auto* alone = chained<VkMemoryDedicatedAllocateInfo>(info.pNext);
  if (!alone || !(alone->image || alone->buffer)) return;
  VkMemoryRequirements needs{};
  if (alone->image)
    DT_VK(device, vkGetImageMemoryRequirements)(device.device, alone->image, &needs);
  else
    DT_VK(device, vkGetBufferMemoryRequirements)(device.device, alone->buffer, &needs);
  info.allocationSize = std::max(info.allocationSize, needs.size);
}

// Memory for an image that does not fit into what the recording has for it.
VkDeviceMemory Player::allocate(Device& device, const VkMemoryRequirements& needs, VkMemoryPropertyFlags properties,
                                const char* without) {
  VkMemoryAllocateInfo info{};
  info.allocationSize = needs.size;
  info.memoryTypeIndex = memory_type(device, needs.memoryTypeBits, properties);
  VkDeviceMemory memory = nullptr;
  if (DT_VK(device, vkAllocateMemory)(device.device, &info, nullptr, &memory) != VK_SUCCESS)
    fail(DT_E_ARGUMENT, std::string("there is no memory ") + without);
  return memory;
}

VkDeviceMemory Player::own_memory(Table& table, uint64_t image, const VkMemoryRequirements& needs) {
  return own_memory_[image] =
             allocate(static_cast<Device&>(table), needs, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, "for an image");
}

void Player::free_own_memory(Table& table, uint64_t image) {
  opaque_.erase(image);
  auto it = own_memory_.find(image);
  if (it == own_memory_.end()) return;
  DT_VK(table, vkFreeMemory)(table.device, it->second, nullptr);
  own_memory_.erase(it);
}

void Player::free_memory(Call& c) {
  if (!c.recorded(1)) return;
  const uint64_t now = handle(OF_DeviceMemory, c.recorded(1), false);
  stores_.forget_memory(now);
  memory_.erase(reinterpret_cast<VkDeviceMemory>(now));  // freeing ends a mapping
  destroy(c);
}

uint8_t* Player::mapped(Memory& memory, VkDeviceMemory of) {
  if (memory.at) return memory.at;
  void* at = nullptr;
  if (!(memory.properties & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) ||
      DT_VK(*memory.device, vkMapMemory)(memory.device->device, of, 0, VK_WHOLE_SIZE, 0, &at) != VK_SUCCESS)
    fail(DT_E_ARGUMENT, "memory that the program mapped cannot be mapped here");
  return memory.at = static_cast<uint8_t*>(at);
}

void Player::map_memory(Call& c) {
  if (!succeeded(c)) return;
  build(c);
  const auto of = c.number == number::vkMapMemory ? c.as<VkDeviceMemory>(1) : c.at<VkMemoryMapInfo>(1)->memory;
  auto it = memory_.find(of);
  if (it == memory_.end()) fail(DT_E_FORMAT, "memory is mapped that was not allocated");
  mapped(it->second, of);
}

void Player::flush_memory(Call& c) {
  build(c);
  const auto* ranges = c.at<VkMappedMemoryRange>(2);
  for (uint64_t i = 0; ranges && i < c.arguments[1]; ++i) {
    auto it = memory_.find(ranges[i].memory);
    if (it == memory_.end() || !it->second.at) return;
  }
  invoke(c);
}

// Bytes that the program stored in mapped memory.
void Player::take(Memory& memory, VkDeviceMemory of, uint64_t offset, std::string_view bytes) {
  memcpy(mapped(memory, of) + offset, bytes.data(), bytes.size());
  if (memory.properties & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT) return;
  VkMappedMemoryRange range{};
  range.memory = of;
  range.size = VK_WHOLE_SIZE;
  DT_VK(*memory.device, vkFlushMappedMemoryRanges)(memory.device->device, 1, &range);
}

// Bytes that the device stored. Where it may still have been at it, it may have got further or less far.
void Player::compare(Device& device, const uint8_t* now, uint64_t offset, std::string_view bytes) {
  wait_idle(device);
  const bool equal = !memcmp(now, bytes.data(), bytes.size());
  if (!equal && work_.may_run()) return void(++uncompared_);
  ++compared_;
  if (equal) return;
  ++different_;
  size_t first = 0, differ = 0;
  for (size_t i = bytes.size(); i-- > 0;)
    if (now[i] != static_cast<uint8_t>(bytes[i])) first = i, ++differ;
  report("read-back", seq_, "",
         std::to_string(differ) + " of " + std::to_string(bytes.size()) +
             " bytes of mapped memory differ, the first at " + std::to_string(offset + first));
}

// Bytes of mapped memory that changed. `device`: while submitted work may have run.
void Player::memory_write(const FunctionColumns& c, uint32_t row, bool device) {
  Stored write;
  if (!stored(c, row, write)) return;
  if (write.missing) {
    return report("recording", seq_, "", "bytes that the program stored in mapped memory are missing");
  }
  const auto now = reinterpret_cast<VkDeviceMemory>(handle(OF_DeviceMemory, write.memory, false));
  Memory& memory = memory_.at(now);
  if (write.offset > memory.bytes || write.bytes.size() > memory.bytes - write.offset)
    fail(DT_E_FORMAT, "bytes are stored behind the end of their memory");
  if (!device) return take(memory, now, write.offset, write.bytes);
  uint64_t at = write.offset;
  const uint64_t end = write.offset + write.bytes.size();
  auto part = [&](uint64_t from, uint64_t to) { return write.bytes.substr(from - write.offset, to - from); };
  for (auto& [from, to] : stores_.in(reinterpret_cast<uint64_t>(now), {write.offset, end})) {
    if (at < from) take(memory, now, at, part(at, from));
    if (options_.verify) compare(*memory.device, mapped(memory, now) + from, from, part(from, to));
    at = to;
  }
  if (at < end) take(memory, now, at, part(at, end));
}

}  // namespace dt::play::vk
