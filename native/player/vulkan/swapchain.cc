// Windows: surfaces that are none, and swapchains whose images are the player's own.
#include <algorithm>
#include <cstring>

#include "../../core/error.h"
#include "player.h"

namespace dt::play::vk {

void Player::create_surface(Call& c) {
  if (!succeeded(c)) return;
  argument(c, 0);
  const auto recorded = recorded_array<uint64_t>(c, c.command.params - 1);
  Table* owner = objects_.find(OF_Instance, c.recorded(0))->owner;
  if (!recorded.empty() && recorded[0]) objects_.add(OF_SurfaceKHR, recorded[0], {++fakes_, owner, 0});
}

void Player::forget_fake(Call& c) {
  Object object;
  if (c.recorded(1)) objects_.take(c.param(1).type, c.recorded(1), object);
}

void Player::create_swapchain(Call& c) {
  if (!succeeded(c)) return;
  build(c);
  auto made_one = std::make_unique<Swapchain>();
  made_one->device = static_cast<Device*>(c.table);
  made_one->info = *c.at<VkSwapchainCreateInfoKHR>(1);
  made_one->info.pNext = nullptr;
  made_one->info.pQueueFamilyIndices = nullptr;
  const auto recorded = recorded_array<uint64_t>(c, 3);
  if (recorded.empty()) fail(DT_E_FORMAT, "the handles that it made were not recorded");
  objects_.add(OF_SwapchainKHR, recorded[0], {reinterpret_cast<uint64_t>(made_one.get()), c.table, 0});
  swapchains_.push_back(std::move(made_one));
}

void Player::drop_images(Swapchain& chain) {
  Device& device = *chain.device;
  objects_.drop([&](unsigned kind, const Object& o) {
    return kind == OF_Image &&
           std::find(chain.images.begin(), chain.images.end(), (VkImage)o.now) != chain.images.end();
  });
  for (auto* image : chain.images) DT_VK(device, vkDestroyImage)(device.device, image, nullptr);
  for (auto* memory : chain.memory) DT_VK(device, vkFreeMemory)(device.device, memory, nullptr);
  chain.images.clear();
  chain.memory.clear();
}

void Player::destroy_swapchain(Call& c) {
  Object object;
  if (!c.recorded(1) || !objects_.take(OF_SwapchainKHR, c.recorded(1), object)) return;
  auto* chain = reinterpret_cast<Swapchain*>(object.now);
  wait_idle(*chain->device);
  drop_images(*chain);
  chain->device = nullptr;
  if (shown_ == chain) shown_ = nullptr;
}

void Player::make_images(Swapchain& chain, size_t count) {
  Device& device = *chain.device;
  while (chain.images.size() < count) {
    VkImageCreateInfo info{};
    if (chain.info.flags & VK_SWAPCHAIN_CREATE_MUTABLE_FORMAT_BIT_KHR) info.flags = VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT;
    info.imageType = VK_IMAGE_TYPE_2D;
    info.format = chain.info.imageFormat;
    info.extent = {chain.info.imageExtent.width, chain.info.imageExtent.height, 1};
    info.mipLevels = 1;
    info.arrayLayers = chain.info.imageArrayLayers;
    info.samples = VK_SAMPLE_COUNT_1_BIT;
    info.usage = chain.info.imageUsage | VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    VkImage image = nullptr;
    if (DT_VK(device, vkCreateImage)(device.device, &info, nullptr, &image) != VK_SUCCESS)
      fail(DT_E_ARGUMENT, "the images of a window cannot be made here");
    chain.images.push_back(image);
    VkMemoryRequirements needs{};
    DT_VK(device, vkGetImageMemoryRequirements)(device.device, image, &needs);
    VkDeviceMemory memory = allocate(device, needs, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, "for the images of a window");
    chain.memory.push_back(memory);
    DT_VK(device, vkBindImageMemory)(device.device, image, memory, 0);
    if (!snapshots_) continue;
    KeptImage about;
    about.format = info.format, about.extent = info.extent, about.type = info.imageType;
    about.layers = info.arrayLayers;
    snapshots_->add_image(image, about);
  }
}

void Player::swapchain_images(Call& c) {
  if (!succeeded(c)) return;
  const auto recorded = recorded_array<uint64_t>(c, 3);
  if (recorded.empty()) return;
  if (recorded.size() > 64) fail(DT_E_FORMAT, "a swapchain of more than 64 images");
  auto& chain = *reinterpret_cast<Swapchain*>(handle(OF_SwapchainKHR, c.recorded(1), false));
  make_images(chain, recorded.size());
  for (size_t i = 0; i < recorded.size(); ++i)
    if (!objects_.find(OF_Image, recorded[i]) || i >= chain.recorded.size() || chain.recorded[i] != recorded[i])
      objects_.add(OF_Image, recorded[i], {reinterpret_cast<uint64_t>(chain.images[i]), chain.device, 0});
  chain.recorded = recorded;
}

// An empty batch: waits for semaphores, then signals what others wait for.
void Player::hand_on(Device& device, VkQueue queue, uint32_t waits, const VkSemaphore* wait, VkSemaphore signal,
                     VkFence fence) {
  const std::vector<VkPipelineStageFlags> stages(waits, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
  VkSubmitInfo batch{};
  batch.waitSemaphoreCount = waits;
  batch.pWaitSemaphores = wait;
  batch.pWaitDstStageMask = stages.data();
  batch.signalSemaphoreCount = signal ? 1 : 0;
  batch.pSignalSemaphores = &signal;
  if (DT_VK(device, vkQueueSubmit)(queue, 1, &batch, fence) != VK_SUCCESS) fail(DT_E_ARGUMENT, "the device is lost");
}

void Player::acquired(Call& c, VkSemaphore semaphore, VkFence fence) {
  auto& device = static_cast<Device&>(*c.table);
  if (!device.queue) fail(DT_E_ARGUMENT, "a device that has protected queues alone cannot show images");
  work_.signal((uint64_t)semaphore, (uint64_t)device.queue);
  if (semaphore || fence) hand_on(device, device.queue, 0, nullptr, semaphore, fence);
}

void Player::acquire(Call& c) {
  if (c.result() != VK_SUCCESS && c.result() != VK_SUBOPTIMAL_KHR) return;
  build(c);
  acquired(c, c.as<VkSemaphore>(3), c.as<VkFence>(4));
}

void Player::acquire2(Call& c) {
  if (c.result() != VK_SUCCESS && c.result() != VK_SUBOPTIMAL_KHR) return;
  build(c);
  const auto* info = c.at<VkAcquireNextImageInfoKHR>(1);
  acquired(c, info->semaphore, info->fence);
}

void Player::present(Call& c) {
  if (!succeeded(c)) return;
  build(c);
  auto& device = static_cast<Device&>(*c.table);
  const auto* info = c.at<VkPresentInfoKHR>(1);
  const auto queue = c.as<VkQueue>(0);
  if (!work_.wait(info->pWaitSemaphores, info->waitSemaphoreCount)) never_signalled();
  hand_on(device, queue, info->waitSemaphoreCount, info->pWaitSemaphores, nullptr, nullptr);
  struct Chained {
    int32_t stype;
    const Chained* next;
  };
  for (auto* at = static_cast<const Chained*>(info->pNext); at; at = at->next) {
    if (at->stype != VK_STRUCTURE_TYPE_SWAPCHAIN_PRESENT_FENCE_INFO_KHR) continue;
    auto* fences = reinterpret_cast<const VkSwapchainPresentFenceInfoKHR*>(at);
    for (uint32_t i = 0; i < fences->swapchainCount; ++i)
      if (fences->pFences[i]) hand_on(device, queue, 0, nullptr, nullptr, fences->pFences[i]);
  }
  for (uint32_t i = 0; i < info->swapchainCount && info->pSwapchains && info->pImageIndices; ++i) {
    auto* chain = reinterpret_cast<Swapchain*>(info->pSwapchains[i]);
    if (!chain || info->pImageIndices[i] >= chain->images.size()) fail(DT_E_FORMAT, "an image is shown that is none");
    if (i) continue;  // the first window is the picture of the frame
    shown_ = chain;
    shown_index_ = info->pImageIndices[i];
    shown_on_ = queue;
    presented_ = true;
  }
}

// A buffer of the player's own that images are read into.
void Player::read_room(Device& device, uint64_t bytes) {
  if (!device.pool) {
    VkCommandPoolCreateInfo pool{};
    pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    pool.queueFamilyIndex = device.family;
    DT_VK(device, vkCreateCommandPool)(device.device, &pool, nullptr, &device.pool);
    VkCommandBufferAllocateInfo commands{};
    commands.commandPool = device.pool;
    commands.commandBufferCount = 1;
    DT_VK(device, vkAllocateCommandBuffers)(device.device, &commands, &device.commands);
  }
  if (device.room_bytes >= bytes) return;
  if (device.room) {
    DT_VK(device, vkFreeMemory)(device.device, device.room, nullptr);
    DT_VK(device, vkDestroyBuffer)(device.device, device.buffer, nullptr);
  }
  VkBufferCreateInfo info{};
  info.size = bytes;
  info.usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  DT_VK(device, vkCreateBuffer)(device.device, &info, nullptr, &device.buffer);
  VkMemoryRequirements needs{};
  DT_VK(device, vkGetBufferMemoryRequirements)(device.device, device.buffer, &needs);
  device.room = allocate(device, needs, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                         "to read an image into");
  DT_VK(device, vkBindBufferMemory)(device.device, device.buffer, device.room, 0);
  DT_VK(device, vkMapMemory)(device.device, device.room, 0, VK_WHOLE_SIZE, 0, &device.at);
  device.room_bytes = bytes;
}

// Writes the commands that copy a part of an image into the room, and leave its layout as it was.
void Player::copy_out(Device& device, VkImage image, VkImageLayout layout, const VkImageSubresourceRange& part,
                      const VkBufferImageCopy& region) {
  VkImageMemoryBarrier turn{};
  turn.srcAccessMask = turn.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
  turn.oldLayout = layout;
  turn.newLayout = layout;
  if (layout != VK_IMAGE_LAYOUT_GENERAL) turn.newLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
  turn.srcQueueFamilyIndex = turn.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  turn.image = image;
  turn.subresourceRange = part;
  auto barrier = [&] {
    DT_VK(device, vkCmdPipelineBarrier)
    (device.commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, nullptr, 0, nullptr,
     1, &turn);
  };
  barrier();
  DT_VK(device, vkCmdCopyImageToBuffer)(device.commands, image, turn.newLayout, device.buffer, 1, &region);
  std::swap(turn.oldLayout, turn.newLayout);
  barrier();
}

// Copies an image as it is shown into the room, and waits for that.
void Player::copy_image(Device& device, VkQueue queue, VkImage image, uint32_t width, uint32_t height) {
  VkCommandBufferBeginInfo begin{};
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  wait_idle(device, queue);
  DT_VK(device, vkBeginCommandBuffer)(device.commands, &begin);
  VkBufferImageCopy region{};
  region.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
  region.imageExtent = {width, height, 1};
  copy_out(device, image, VK_IMAGE_LAYOUT_PRESENT_SRC_KHR, {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}, region);
  DT_VK(device, vkEndCommandBuffer)(device.commands);
  VkSubmitInfo batch{};
  batch.commandBufferCount = 1;
  batch.pCommandBuffers = &device.commands;
  DT_VK(device, vkQueueSubmit)(queue, 1, &batch, nullptr);
  if (DT_VK(device, vkQueueWaitIdle)(queue) != VK_SUCCESS) fail(DT_E_ARGUMENT, "the device is lost");
}

// The picture that was shown last, in a format that the device converts.
bool Player::read_converted(Picture& picture) {
  Device& device = *shown_->device;
  Shot shot;
  shot.format = shown_->info.imageFormat;
  if (const char* why = unreadable(device, shot.format))
    return report("image", seq_, "", std::string(why) + " (" + std::to_string(shot.format) + ")"), false;
  shot.image = shown_->images[shown_index_];
  shot.layout = VK_IMAGE_LAYOUT_PRESENT_SRC_KHR;
  shot.aspect = VK_IMAGE_ASPECT_COLOR_BIT;
  shot.width = shown_->info.imageExtent.width, shot.height = shown_->info.imageExtent.height;
  Taken taken;
  taken.bytes = uint64_t{shot.width} * shot.height * texel_bytes(shot.format, shot.aspect);
  taken.shots = {shot};
  Snapshots::Host& host = *this;
  picture_ = &picture;
  Snapshots(host, 0, false, false).read(device, std::move(taken));
  picture_ = nullptr;
  return true;
}

// The picture that was shown last; false: nothing was, or in a format that no picture has.
bool Player::read_shown(Picture& picture) {
  if (!shown_) return report("image", seq_, "", "there is no image to read back here"), false;
  const VkFormat format = shown_->info.imageFormat;
  if (!reads_plainly(format)) return read_converted(picture);
  const bool blue = format == VK_FORMAT_B8G8R8A8_UNORM || format == VK_FORMAT_B8G8R8A8_SRGB;
  const uint32_t width = shown_->info.imageExtent.width, height = shown_->info.imageExtent.height;
  const size_t row = size_t{width} * 4;
  Device& device = *shown_->device;
  read_room(device, row * height);
  copy_image(device, shown_on_, shown_->images[shown_index_], width, height);
  picture.width = static_cast<int>(width);
  picture.height = static_cast<int>(height);
  picture.pixels.resize(row * height);
  for (uint32_t y = 0; y < height; ++y) {
    uint8_t* to = &picture.pixels[row * y];
    memcpy(to, static_cast<const uint8_t*>(device.at) + row * (height - 1 - y), row);
    for (size_t x = 0; blue && x < row; x += 4) std::swap(to[x], to[x + 2]);
  }
  return true;
}

}  // namespace dt::play::vk
