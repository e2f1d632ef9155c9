// Calls of Vulkan for which the C program does more than call: what the player does for them, with functions of play.c.
#include <algorithm>
#include <cstring>

#include "numbers.h"
#include "vulkan.h"

namespace dt::c {

void VulkanExporter::choose_handlers() {
  using E = VulkanExporter;
  handlers_ = vk::Handlers<E>::all();
  using namespace vk::number;
  const std::pair<uint16_t, Handler> special[] = {
      {vkCreateBuffer, &E::create_buffer},
      {vkGetBufferMemoryRequirements, &E::requirements},
      {vkGetBufferMemoryRequirements2, &E::requirements},
      {vkGetImageMemoryRequirements, &E::requirements},
      {vkGetImageMemoryRequirements2, &E::requirements},
      // memory is mapped where bytes are stored into it, and flushed there
      {vkMapMemory, &E::skip},
      {vkMapMemory2, &E::skip},
      {vkFlushMappedMemoryRanges, &E::skip},
      {vkQueueSubmit, &E::submit},
      {vkQueueSubmit2, &E::submit},
      {vkQueueBindSparse, &E::submit},
  };
  for (auto& [number, handler] : special) handlers_[number] = handler;
}

// ---- instances and devices ----------------------------------------------------------------------

// Windows are not shown, so the program leaves out the extensions of window systems.
void VulkanExporter::create_instance(Call& c) {
  if (!succeeded(c)) return;
  arguments(c);
  auto* info = c.at<VkInstanceCreateInfo>(0);
  if (!info) fail(DT_E_FORMAT, "its structures were not recorded");
  auto** names = const_cast<const char**>(info->ppEnabledExtensionNames);
  uint32_t kept = 0;
  for (uint32_t i = 0; names && i < info->enabledExtensionCount; ++i)
    if (const std::string_view name = names[i] ? names[i] : ""; !name.ends_with("_surface") || name == "VK_KHR_surface")
      names[kept++] = names[i];
  info->enabledExtensionCount = kept;
  if (names) memcpy(reinterpret_cast<char*>(names) - 8, &(const uint64_t&)uint64_t{kept}, 8);
  info->enabledLayerCount = 0;
  info->ppEnabledLayerNames = nullptr;
  print(c, "play_create_instance");
}

void VulkanExporter::physical(uint64_t instance, uint64_t recorded, size_t number) {
  if (!recorded || objects_.find(vk::OF_PhysicalDevice, recorded)) return;
  const uint64_t own = add(vk::OF_PhysicalDevice, recorded, instance);
  line(variable(own) + " = play_physical_device(" + variable(instance) + ", " + std::to_string(number) + ");");
}

void VulkanExporter::enumerate_devices(Call& c) {
  if (!succeeded(c)) return;
  argument(c, 0);
  size_t i = 0;
  for (uint64_t recorded : recorded_array<uint64_t>(c, 2)) physical(c.arguments[0], recorded, i++);
}

void VulkanExporter::enumerate_groups(Call& c) {
  if (!succeeded(c)) return;
  argument(c, 0);
  size_t i = 0;
  for (size_t k = 0; const auto* group = answer_of<VkPhysicalDeviceGroupProperties>(c, 2, k); ++k)
    for (uint32_t d = 0; d < group->physicalDeviceCount && d < 32; ++d)
      physical(c.arguments[0], reinterpret_cast<uint64_t>(group->physicalDevices[d]), i++);
}

void VulkanExporter::create_device(Call& c) {
  if (!succeeded(c)) return;
  arguments(c);
  auto* info = c.at<VkDeviceCreateInfo>(1);
  if (!info || !info->queueCreateInfoCount) fail(DT_E_FORMAT, "a device without queues");
  info->enabledLayerCount = 0;
  info->ppEnabledLayerNames = nullptr;
  const Recorded& then = recorded_[c.recorded(0)];
  std::string types;
  const uint32_t count = std::min(then.memory.memoryTypeCount, 32u);
  for (uint32_t i = 0; i < count; ++i)
    types += (i ? ", " : "") + std::to_string(then.memory.memoryTypes[i].propertyFlags);
  line(name(c, 0) + " = play_choose_device(" + name(c, 0) + ", " + values_.text(then.name.c_str()) + ", " +
       std::to_string(then.type) + ", " + std::to_string(count) + ", " +
       (count ? "(const uint32_t[]){" + types + "}" : "NULL") + ");");
  print(c, "play_create_device");
}

void VulkanExporter::destroy_device(Call& c) {
  if (c.recorded(0)) destroy_as(c, "play_destroy_device");
}

void VulkanExporter::get_queue(Call& c) {
  arguments(c);
  print(c, c.command.name);
}

void VulkanExporter::secondary_buffers(Call& c) {
  generic(c);
  if (succeeded(c)) note_levels(c);
}

void VulkanExporter::create_template(Call& c) {
  if (!succeeded(c)) return;
  arguments(c);
  TemplateParts parts = pack(*c.at<VkDescriptorUpdateTemplateCreateInfo>(1));
  print(c, c.command.name);
  templates_[*c.at<uint64_t>(3)] = std::move(parts);
}

// The content of a cache is a driver's own. The driver that draws compiles the pipelines.
void VulkanExporter::create_pipeline_cache(Call& c) {
  if (!succeeded(c)) return;
  arguments(c);
  c.at<VkPipelineCacheCreateInfo>(1)->initialDataSize = 0;
  c.at<VkPipelineCacheCreateInfo>(1)->pInitialData = nullptr;
  print(c, c.command.name);
}

// ---- memory -------------------------------------------------------------------------------------

void VulkanExporter::create_buffer(Call& c) {
  generic(c);
  if (succeeded(c)) sizes_[*c.at<uint64_t>(3)] = c.at<VkBufferCreateInfo>(1)->size;
}

// The sizes of images in memory say where the device may have stored.
void VulkanExporter::requirements(Call& c) {
  using namespace vk::number;
  const bool image = std::string_view(c.command.name).find("Image") != std::string_view::npos;
  if (c.number == vkGetImageMemoryRequirements || c.number == vkGetBufferMemoryRequirements) {
    argument(c, 1);
    if (const auto* of = answer_of<VkMemoryRequirements>(c, 2); of && image) sizes_[c.arguments[1]] = of->size;
    return;
  }
  arguments(c);
  if (const auto* of = answer_of<VkMemoryRequirements2>(c, 2); of && image)
    sizes_[reinterpret_cast<uint64_t>(c.at<VkImageMemoryRequirementsInfo2>(1)->image)] = of->memoryRequirements.size;
}

void VulkanExporter::allocate_memory(Call& c) {
  if (!succeeded(c)) return;
  arguments(c);
  print(c, "play_allocate_memory");
  sizes_[*c.at<uint64_t>(3)] = c.at<VkMemoryAllocateInfo>(1)->allocationSize;
}

void VulkanExporter::free_memory(Call& c) {
  if (!c.recorded(1)) return;
  stores_.forget_memory(handle(vk::OF_DeviceMemory, c.recorded(1), false));
  destroy_as(c, "play_free_memory");
}

void VulkanExporter::bind(const Call& c, uint64_t resource, uint64_t memory, uint64_t offset, bool image) {
  const uint64_t all = sizes_[memory], room = all - std::min(all, offset);
  auto known = sizes_.find(resource);
  stores_.bind(resource, memory, offset, known == sizes_.end() ? room : std::min(known->second, room), image);
  line(std::string(image ? "play_fits_image(" : "play_fits_buffer(") + variable(c.arguments[0]) + ", " +
       variable(resource) + ", " + variable(memory) + ", " + unsigned_text(offset) + ");");
}

void VulkanExporter::bind_memory(Call& c) {
  if (!succeeded(c)) return;
  arguments(c);
  using namespace vk::number;
  const bool image = c.number == vkBindImageMemory || c.number == vkBindImageMemory2;
  if (c.number == vkBindBufferMemory || c.number == vkBindImageMemory) {
    bind(c, c.arguments[1], c.arguments[2], c.arguments[3], image);
  } else {
    for (uint64_t i = 0; i < c.arguments[1]; ++i)
      if (image) {
        const auto& info = c.at<VkBindImageMemoryInfo>(2)[i];
        if (info.pNext) continue;  // planes and devices of a group have needs of their own
        bind(c, reinterpret_cast<uint64_t>(info.image), reinterpret_cast<uint64_t>(info.memory), info.memoryOffset,
             true);
      } else {
        const auto& info = c.at<VkBindBufferMemoryInfo>(2)[i];
        bind(c, reinterpret_cast<uint64_t>(info.buffer), reinterpret_cast<uint64_t>(info.memory), info.memoryOffset,
             false);
      }
  }
  print(c, c.command.name);
}

// ---- windows ------------------------------------------------------------------------------------

void VulkanExporter::create_surface(Call& c) {
  if (!succeeded(c)) return;
  const auto recorded = recorded_array<uint64_t>(c, c.command.params - 1);
  if (!recorded.empty() && recorded[0]) add(vk::OF_SurfaceKHR, recorded[0], 0);
}

void VulkanExporter::forget_surface(Call& c) {
  vk::Object object;
  if (c.recorded(1) && objects_.take(vk::OF_SurfaceKHR, c.recorded(1), object)) forget(object);
}

void VulkanExporter::create_swapchain(Call& c) {
  if (!succeeded(c)) return;
  arguments(c);
  auto* info = c.at<VkSwapchainCreateInfoKHR>(1);
  info->pNext = nullptr;
  info->surface = nullptr;
  info->oldSwapchain = nullptr;
  info->queueFamilyIndexCount = 0;
  info->pQueueFamilyIndices = nullptr;
  print(c, "play_create_swapchain");
}

void VulkanExporter::swapchain_images(Call& c) {
  if (!succeeded(c)) return;
  const auto recorded = recorded_array<uint64_t>(c, 3);
  if (recorded.size() > 64) fail(DT_E_FORMAT, "a swapchain of more than 64 images");
  argument(c, 1);
  auto& known = images_[c.arguments[1]];
  for (size_t i = 0; i < recorded.size(); ++i) {
    if (i < known.size() && known[i] == recorded[i]) continue;
    const uint64_t image = add(vk::OF_Image, recorded[i], 0);
    line(variable(image) + " = play_swapchain_image(" + name(c, 1) + ", " + std::to_string(i) + ");");
  }
  if (!recorded.empty()) known = recorded;
}

void VulkanExporter::destroy_swapchain(Call& c) {
  if (!c.recorded(1)) return;
  const uint64_t chain = handle(vk::OF_SwapchainKHR, c.recorded(1), false);
  destroy_as(c, "play_destroy_swapchain");
  for (uint64_t recorded : images_[chain])
    if (vk::Object object; objects_.take(vk::OF_Image, recorded, object)) forget(object);
  images_.erase(chain);
}

void VulkanExporter::acquire(Call& c) {
  if (c.result() != VK_SUCCESS && c.result() != VK_SUBOPTIMAL_KHR) return;
  arguments(c);
  line("play_acquire(" + name(c, 0) + ", " + name(c, 3) + ", " + name(c, 4) + ");");
}

void VulkanExporter::acquire2(Call& c) {
  if (c.result() != VK_SUCCESS && c.result() != VK_SUBOPTIMAL_KHR) return;
  arguments(c);
  const auto* info = c.at<VkAcquireNextImageInfoKHR>(1);
  line("play_acquire(" + name(c, 0) + ", " + variable(reinterpret_cast<uint64_t>(info->semaphore)) + ", " +
       variable(reinterpret_cast<uint64_t>(info->fence)) + ");");
}

void VulkanExporter::present(Call& c) {
  if (!succeeded(c)) return;
  arguments(c);
  const_cast<VkPresentInfoKHR*>(c.at<VkPresentInfoKHR>(1))->pResults = nullptr;
  print(c, "play_present");
}

// ---- waits: as they ended -----------------------------------------------------------------------

void VulkanExporter::wait_fences(Call& c) {
  if (c.result() != VK_SUCCESS) return;
  arguments(c);
  c.arguments[4] = vk::LONG_NS;
  print(c, c.command.name);
  if (c.arguments[3] || c.arguments[1] == 1) work_.done(c.at<VkFence>(2), c.arguments[1]);
}

void VulkanExporter::fence_status(Call& c) {
  if (c.result() != VK_SUCCESS) return;
  arguments(c);
  used_.insert("vkWaitForFences");
  line("VK(vkWaitForFences(" + name(c, 0) + ", 1, &" + name(c, 1) + ", VK_TRUE, " + unsigned_text(vk::LONG_NS) + "));");
  const auto fence = c.as<VkFence>(1);
  work_.done(&fence, 1);
}

void VulkanExporter::wait_semaphores(Call& c) {
  if (c.result() != VK_SUCCESS) return;
  arguments(c);
  c.arguments[2] = vk::LONG_NS;
  print(c, c.command.name);
  const auto* info = c.at<VkSemaphoreWaitInfo>(1);
  if (!info->pSemaphores || !info->pValues) return;
  if (!(info->flags & VK_SEMAPHORE_WAIT_ANY_BIT) || info->semaphoreCount == 1)
    for (uint32_t i = 0; i < info->semaphoreCount; ++i)
      work_.reached(reinterpret_cast<uint64_t>(info->pSemaphores[i]), info->pValues[i]);
}

std::string VulkanExporter::wait_text(const std::string& device, const std::string& semaphore, uint64_t value,
                                      uint64_t ns) {
  return "play_wait_value(" + device + ", " + semaphore + ", " + unsigned_text(value) + ", " + unsigned_text(ns) + ")";
}

void VulkanExporter::semaphore_value(Call& c) {
  if (c.result() != VK_SUCCESS) return;
  const auto values = recorded_array<uint64_t>(c, 2);
  arguments(c);
  if (values.empty()) return;
  line("VK(" + wait_text(name(c, 0), name(c, 1), values[0], vk::LONG_NS) + ");");
  work_.reached(c.arguments[1], values[0]);
}

void VulkanExporter::event_status(Call& c) {
  if (c.result() != VK_EVENT_SET) return;
  arguments(c);
  line("play_wait_event(" + name(c, 0) + ", " + name(c, 1) + ");");
}

void VulkanExporter::submit(Call& c) {
  generic(c);
  if (!succeeded(c)) return;
  const vk::Object* queue = objects_.find(vk::OF_Queue, c.recorded(0));
  work_.submit(c, queue ? queue->parent : 0);
}

void VulkanExporter::queue_idle(Call& c) {
  generic(c);
  if (!succeeded(c)) return;
  const bool device = c.number == vk::number::vkDeviceWaitIdle;
  work_.idle(device ? 0 : c.arguments[0], device ? c.arguments[0] : 0);
}

void VulkanExporter::create_query_pool(Call& c) {
  generic(c);
  if (succeeded(c)) query_types_[*c.at<uint64_t>(3)] = c.at<VkQueryPoolCreateInfo>(1)->queryType;
}

// Answers are compared where they can be equal.
void VulkanExporter::query_results(Call& c) {
  if (c.result() != VK_SUCCESS) return;
  arguments(c);
  const vk::Content then = content(c, 5);
  const VkQueryType type = query_types_[c.arguments[1]];
  if (!then || (type != VK_QUERY_TYPE_OCCLUSION && type != VK_QUERY_TYPE_PIPELINE_STATISTICS)) return;
  const auto bytes = std::min<uint64_t>(then.bytes, c.arguments[4]);
  line("CHECK_QUERIES(" + name(c, 0) + ", " + name(c, 1) + ", " + unsigned_text(c.arguments[2]) + ", " +
       unsigned_text(c.arguments[3]) + ", " + unsigned_text(c.arguments[6]) + ", " +
       unsigned_text(c.arguments[7] | VK_QUERY_RESULT_WAIT_BIT) + ", " +
       data_.add({reinterpret_cast<const char*>(then.data), bytes}, "answers to queries") + ", " +
       std::to_string(bytes) + ");");
}

}  // namespace dt::c
