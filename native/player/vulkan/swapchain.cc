// Windows: surfaces that are none, and swapchains whose images are the player's own.
#include <algorithm>

#include "../../core/error.h"
#include "chain.h"
#include "player.h"

namespace dt::play::vk {

void Player::create_surface(Call& c) {
  if (!succeeded(c)) return;
  argument(c, 0);
  const auto recorded = recorded_array<uint64_t>(c, c.command.params - 1);
  Table* owner = objects_.find(OF_Instance, c.recorded(0))->owner;
  if (!recorded.empty() && recorded[0]) objects_.add(OF_SurfaceKHR, recorded[0], {++fakes_, owner, 0});
}

void Player::forget_surface(Call& c) {
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
  const VkResult result = DT_VK(device, vkQueueSubmit)(queue, 1, &batch, fence);
  if (result != VK_SUCCESS) fail(DT_E_ARGUMENT, refusal(result, "a submission"));
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
  const auto* fences = chained<VkSwapchainPresentFenceInfoKHR>(info->pNext);
  for (uint32_t i = 0; fences && i < fences->swapchainCount; ++i)
    if (fences->pFences[i]) hand_on(device, queue, 0, nullptr, nullptr, fences->pFences[i]);
  for (uint32_t i = 0; i < info->swapchainCount && info->pSwapchains && info->pImageIndices; ++i) {
    auto* chain = reinterpret_cast<Swapchain*>(info->pSwapchains[i]);
    if (!chain || info->pImageIndices[i] >= chain->images.size()) fail(DT_E_FORMAT, "an image is shown that is none");
    if (i) continue;  // the first window is the picture of the frame
    shown_ = chain;
    shown_index_ = info->pImageIndices[i];
    presented_ = true;
  }
}

// The picture that was shown last; false: nothing was, or in a format that no picture has.
bool Player::read_shown(Picture& picture) {
  if (!shown_) return report("image", seq_, "", "there is no image to read back here"), false;
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

}  // namespace dt::play::vk
