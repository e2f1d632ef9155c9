// The content of an image's level or of a buffer after a call, as bytes in a file.
#include <algorithm>
#include <cstdio>

#include "player.h"

namespace dt::play::vk {
namespace {

constexpr uint64_t MOST_HELD = uint64_t{1} << 31;

}  // namespace

// What is asked for: {"class": "image" or "buffer", "name": its handle, "level", "aspect": of VkImageAspectFlagBits,
// "block": [width, height, bytes] of the format's blocks}.
std::string Player::parse_held(const Json& json) {
  HeldWish& w = request_.held = {};
  const std::string kind = json["class"].text();
  w.image = kind == "image";
  if (!w.image && kind != "buffer") return "there is no " + kind + " in Vulkan";
  const auto& block = json["block"].items();
  bool good = json["name"].read(w.name);
  if (w.image)
    good = good && json["level"].read(w.level) && json["aspect"].read(w.aspect) && block.size() == 3 &&
           block[0].read(w.block_width) && block[1].read(w.block_height) && block[2].read(w.block_bytes) &&
           w.block_width && w.block_height && w.block_bytes;
  return good ? "" : "the request is incomplete";
}

void Player::answer_held() {
  const HeldWish& w = request_.held;
  JsonObject line;
  line.put("kind", "object").put("path", request_.file);
  uint64_t bytes = 0;
  uint32_t size[3] = {};
  Device* device = nullptr;
  std::string why = request_.why;
  if (why.empty()) {
    Object* object = objects_.find(w.image ? OF_Image : OF_Buffer, w.name);
    device = object ? dynamic_cast<Device*>(object->owner) : nullptr;
    if (!device)
      why = std::string("there is no such ") + (w.image ? "image" : "buffer") + " then";
    else if (!device->queue)
      why = "the device has protected queues alone";
    else
      why = w.image ? read_level(*device, reinterpret_cast<VkImage>(object->now), bytes, size)
                    : read_buffer(*device, reinterpret_cast<VkBuffer>(object->now), bytes);
  }
  if (why.empty()) {
    FILE* to = fopen(request_.file.c_str(), "wb");
    bool good = to && fwrite(device->at, 1, bytes, to) == bytes;
    if (to && fclose(to)) good = false;
    if (!good) why = request_.file + " cannot be written";
  }
  line.put("why", why).put("bytes", bytes).put("width", size[0]).put("height", size[1]).put("depth", size[2]);
  put_line(status_, line);
}

// What `record` puts into the device's commands is done when it returns. Returns why not.
template <class F> std::string Player::copy_out(Device& device, uint64_t bytes, F&& record) {
  if (!bytes) return "nothing was stored in it";
  if (bytes > MOST_HELD) return "it is larger than 2 GiB";
  snapshots_->collect();
  read_room(device, bytes);
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  if (DT_VK(device, vkDeviceWaitIdle)(device.device) != VK_SUCCESS) fail(DT_E_ARGUMENT, "the device is lost");
  DT_VK(device, vkBeginCommandBuffer)(device.commands, &begin);
  record();
  DT_VK(device, vkEndCommandBuffer)(device.commands);
  VkSubmitInfo batch{};
  batch.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  batch.commandBufferCount = 1;
  batch.pCommandBuffers = &device.commands;
  if (DT_VK(device, vkQueueSubmit)(device.queue, 1, &batch, nullptr) != VK_SUCCESS ||
      DT_VK(device, vkQueueWaitIdle)(device.queue) != VK_SUCCESS)
    fail(DT_E_ARGUMENT, "the device is lost");
  return "";
}

std::string Player::read_buffer(Device& device, VkBuffer buffer, uint64_t& bytes) {
  bytes = snapshots_->bytes_of(buffer);
  return copy_out(device, bytes, [&] {
    const VkBufferCopy whole{0, 0, bytes};
    DT_VK(device, vkCmdCopyBuffer)(device.commands, buffer, device.buffer, 1, &whole);
  });
}

// Layers follow each other; rows have no gap.
std::string Player::read_level(Device& device, VkImage image, uint64_t& bytes, uint32_t (&size)[3]) {
  const HeldWish& w = request_.held;
  const KeptImage* of = snapshots_->image(image);
  if (!of) return "it is not known how the image was made";
  if (of->samples > 1) return "the image has several samples a pixel";
  if (!of->readable) return "the image cannot be read";
  if (w.level >= of->levels) return "the image has no such level";
  const bool solid = of->type == VK_IMAGE_TYPE_3D;
  const VkExtent3D extent{std::max(of->extent.width >> w.level, 1u), std::max(of->extent.height >> w.level, 1u),
                          solid ? std::max(of->extent.depth >> w.level, 1u) : 1};
  const uint32_t layers = solid ? 1 : of->layers;
  size[0] = extent.width, size[1] = extent.height, size[2] = solid ? extent.depth : layers;
  const uint64_t one = uint64_t{(extent.width + w.block_width - 1) / w.block_width} *
                       ((extent.height + w.block_height - 1) / w.block_height) * extent.depth * w.block_bytes;
  bytes = one * layers;
  bool any = false;
  for (uint32_t layer = 0; layer < layers; ++layer) {
    const VkImageLayout layout = of->layout(w.level, layer);
    if (layout == VK_IMAGE_LAYOUT_PREINITIALIZED) return "it holds what the program stored in its mapped memory";
    any |= layout != VK_IMAGE_LAYOUT_UNDEFINED;
  }
  if (!any) return "nothing was stored in it";
  const std::string why = copy_out(device, bytes, [&] {
    for (uint32_t layer = 0; layer < layers; ++layer) copy_level(device, image, *of, layer, extent, one * layer);
  });
  // Layers that nothing was stored in are zero, not what was in the room before.
  for (uint32_t layer = 0; why.empty() && layer < layers; ++layer)
    if (of->layout(w.level, layer) == VK_IMAGE_LAYOUT_UNDEFINED)
      memset(static_cast<uint8_t*>(device.at) + one * layer, 0, one);
  return why;
}

void Player::copy_level(Device& device, VkImage image, const KeptImage& of, uint32_t layer, VkExtent3D extent,
                        uint64_t at) {
  const HeldWish& w = request_.held;
  const VkImageLayout layout = of.layout(w.level, layer);
  if (layout == VK_IMAGE_LAYOUT_UNDEFINED) return;
  uint32_t both = 0;
  if (has_depth(of.format)) both |= VK_IMAGE_ASPECT_DEPTH_BIT;
  if (has_stencil(of.format)) both |= VK_IMAGE_ASPECT_STENCIL_BIT;
  VkBufferImageCopy region{};
  region.bufferOffset = at;
  region.imageSubresource = {w.aspect, w.level, layer, 1};
  region.imageExtent = extent;
  copy_out(device, image, layout, {both ? both : w.aspect, w.level, 1, layer, 1}, region);
}

}  // namespace dt::play::vk
