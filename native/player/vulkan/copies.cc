// Copies of images into rooms that are read.
#include "../../core/error.h"
#include "copier.h"

namespace dt::play::vk {
namespace {

constexpr uint64_t MOST_COPIED = uint64_t{1} << 31;

bool is_srgb(VkFormat f) { return f == VK_FORMAT_R8_SRGB || f == VK_FORMAT_R8G8_SRGB || f == VK_FORMAT_R8G8B8_SRGB; }

constexpr uint32_t ANY = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;

}  // namespace

const char* unreadable(Device& device, VkFormat format) {
  if (reads_plainly(format) || integers_of(format).channels) return nullptr;
  Table instance;
  instance.instance = device.instance;
  VkFormatProperties properties{};
  DT_VK(instance, vkGetPhysicalDeviceFormatProperties)(device.physical, format, &properties);
  if (!(properties.optimalTilingFeatures & VK_FORMAT_FEATURE_BLIT_SRC_BIT))
    return "the device does not convert its format";
  return nullptr;
}

VkDeviceMemory Copier::memory_for(const VkMemoryRequirements& needs, uint32_t properties) {
  VkMemoryAllocateInfo info{};
  info.allocationSize = needs.size;
  info.memoryTypeIndex = s_.host_.memory_type_of(device_, needs.memoryTypeBits, properties);
  if (needs.size > MOST_COPIED) throw Error(DT_E_ARGUMENT, "there is no memory for pictures");
  return vk::make(device_, DT_VK(device_, vkAllocateMemory), info, "pictures");
}

Room Copier::buffer_room(uint64_t bytes, uint32_t usage) {
  Room room;
  VkBufferCreateInfo info{};
  info.size = bytes;
  info.usage = usage;
  room.buffer = vk::make(device_, DT_VK(device_, vkCreateBuffer), info, "pictures");
  VkMemoryRequirements needs{};
  DT_VK(device_, vkGetBufferMemoryRequirements)(device_.device, room.buffer, &needs);
  room.memory = memory_for(needs, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
  DT_VK(device_, vkBindBufferMemory)(device_.device, room.buffer, room.memory, 0);
  expect(DT_VK(device_, vkMapMemory)(device_.device, room.memory, 0, VK_WHOLE_SIZE, 0, &room.at),
         "the mapping of pictures");
  return room;
}

// An image of the shot's size with one sample. For copies it is in the general layout, and lives as the submission.
Room Copier::image_room(VkFormat format, const Shot& shot, uint32_t usage) {
  Room room;
  VkImageCreateInfo info{};
  info.imageType = VK_IMAGE_TYPE_2D;
  info.format = format;
  info.extent = {shot.width, shot.height, 1};
  info.mipLevels = info.arrayLayers = 1;
  info.samples = VK_SAMPLE_COUNT_1_BIT;
  info.usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | usage;
  room.image = vk::make(device_, DT_VK(device_, vkCreateImage), info, "an image for pictures");
  VkMemoryRequirements needs{};
  DT_VK(device_, vkGetImageMemoryRequirements)(device_.device, room.image, &needs);
  room.memory = memory_for(needs, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
  DT_VK(device_, vkBindImageMemory)(device_.device, room.image, room.memory, 0);
  if (usage != VK_IMAGE_USAGE_TRANSFER_DST_BIT) return room;
  barrier(room.image, {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
  submission_.rooms.push_back(room);
  return room;
}

// All before it is done, and visible to all behind it. Without an image: of memory alone.
void Copier::barrier(VkImage image, const VkImageSubresourceRange& range, VkImageLayout from, VkImageLayout to) {
  VkMemoryBarrier all{};
  all.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
  all.dstAccessMask = ANY | VK_ACCESS_HOST_READ_BIT;
  VkImageMemoryBarrier turned{};
  turned.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
  turned.dstAccessMask = ANY;
  turned.oldLayout = from;
  turned.newLayout = to;
  turned.srcQueueFamilyIndex = turned.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  turned.image = image;
  turned.subresourceRange = range;
  DT_VK(device_, vkCmdPipelineBarrier)
  (to_, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &all,
   0, nullptr, image ? 1 : 0, &turned);
}

// Puts the images into the layout that copies need, or back into the render pass's layout.
void Copier::turn(const Taken& taken, bool back) {
  for (size_t i = 0; i < taken.shots.size(); ++i) {
    const Shot& shot = taken.shots[i];
    uint32_t aspects = aspects_of(shot.format);
    bool done = shot.layout == VK_IMAGE_LAYOUT_GENERAL;
    for (size_t k = 0; k < taken.shots.size(); ++k) {
      const Shot& other = taken.shots[k];
      if (k == i || other.image != shot.image || other.level != shot.level || other.layer != shot.layer) continue;
      if (other.layout != shot.layout)
        aspects = shot.aspect;  // depth and stencil have layouts of their own
      else
        done |= k < i;
    }
    if (done) continue;
    const VkImageSubresourceRange range{aspects, shot.level, 1, shot.slice ? 0 : shot.layer, 1};
    const VkImageLayout here = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    barrier(shot.image, range, back ? here : shot.layout, back ? shot.layout : here);
  }
}

// Where samples are resolved: an image of the shot's size, for single pixels always the same one.
VkImage Copier::one_texel(const Shot& shot) {
  if (shot.width > 1 || shot.height > 1) return image_room(shot.format, shot, VK_IMAGE_USAGE_TRANSFER_DST_BIT).image;
  VkImage& image = texels_[shot.format];
  if (!image) image = image_room(shot.format, shot, VK_IMAGE_USAGE_TRANSFER_DST_BIT).image;
  return image;
}

void Copier::copy_shot(const Shot& shot, VkBuffer buffer) {
  const bool color = shot.aspect == VK_IMAGE_ASPECT_COLOR_BIT;
  const bool converts = color && !shot.raw && !reads_plainly(shot.format) && !integers_of(shot.format).channels;
  const VkExtent3D extent{shot.width, shot.height, shot.depth};
  const VkImageSubresourceLayers own{VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
  VkImage from = shot.image;
  VkImageLayout layout =
      shot.layout == VK_IMAGE_LAYOUT_GENERAL ? VK_IMAGE_LAYOUT_GENERAL : VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
  VkImageSubresourceLayers part{shot.aspect, shot.level, shot.slice ? 0 : shot.layer, 1};
  VkOffset3D offset{static_cast<int32_t>(shot.x), static_cast<int32_t>(shot.y),
                    shot.slice ? static_cast<int32_t>(shot.layer) : 0};
  auto goes_on_with = [&](VkImage image) {
    from = image, layout = VK_IMAGE_LAYOUT_GENERAL, part = own, offset = {};
    barrier(nullptr, {}, 0, 0);
  };
  if (shot.samples > 1 && !color) {
    goes_on_with(resolve_depth(shot, layout));
    part.aspectMask = shot.aspect;
  } else if (shot.samples > 1) {
    VkImage room = one_texel(shot);
    VkImageResolve region{part, offset, own, {}, extent};
    DT_VK(device_, vkCmdResolveImage)(to_, from, layout, room, VK_IMAGE_LAYOUT_GENERAL, 1, &region);
    goes_on_with(room);
  }
  if (converts) {
    const VkFormat plain = is_srgb(shot.format) ? VK_FORMAT_R8G8B8A8_SRGB : VK_FORMAT_R8G8B8A8_UNORM;
    const Room room = image_room(plain, shot, VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    const auto right = static_cast<int32_t>(shot.width), top = static_cast<int32_t>(shot.height);
    VkImageBlit region{part, {offset, {right, top, offset.z + 1}}, own, {{}, {right, top, 1}}};
    DT_VK(device_, vkCmdBlitImage)
    (to_, from, layout, room.image, VK_IMAGE_LAYOUT_GENERAL, 1, &region, VK_FILTER_NEAREST);
    goes_on_with(room.image);
  }
  VkBufferImageCopy region{shot.at, 0, 0, part, offset, extent};
  DT_VK(device_, vkCmdCopyImageToBuffer)(to_, from, layout, buffer, 1, &region);
}

void Copier::copy(Taken& taken) {
  if (!taken.bytes) return;
  if (!taken.room.buffer) taken.room = buffer_room(taken.bytes);
  barrier(nullptr, {}, 0, 0);
  turn(taken, false);
  for (auto& shot : taken.shots) copy_shot(shot, taken.room.buffer);
  for (auto& each : taken.stored) {
    const VkBufferCopy part{each.from, each.at, each.bytes};
    DT_VK(device_, vkCmdCopyBuffer)(to_, each.buffer, taken.room.buffer, 1, &part);
  }
  turn(taken, true);
  barrier(nullptr, {}, 0, 0);
}

}  // namespace dt::play::vk
