// The calls for which the player and the writer of C source do more than call, by the names of their functions.
#pragma once
#include <string_view>
#include <utility>
#include <vector>

#include "objects.h"

namespace dt::play::vk {

template <class Of> struct Handlers {
  using Handler = void (Of::*)(Call&);
  static std::vector<Handler> all() {
    std::vector<Handler> by_number(number::COMMANDS);
    for (uint16_t i = 0; i < number::COMMANDS; ++i) {
      const std::string_view name = COMMANDS[i].name;
      if (COMMANDS[i].flags & FLAG_DELETE && !COMMANDS[i].skipped) by_number[i] = &Of::destroy;
      if (name.starts_with("vkCreate") && name.find("Surface") != name.npos) by_number[i] = &Of::create_surface;
    }
    using namespace number;
    const std::pair<uint16_t, Handler> special[] = {
        {vkCreateInstance, &Of::create_instance},
        {vkEnumeratePhysicalDevices, &Of::enumerate_devices},
        {vkEnumeratePhysicalDeviceGroups, &Of::enumerate_groups},
        {vkGetPhysicalDeviceProperties, &Of::properties},
        {vkGetPhysicalDeviceProperties2, &Of::properties},
        {vkGetPhysicalDeviceMemoryProperties, &Of::memory_properties},
        {vkGetPhysicalDeviceMemoryProperties2, &Of::memory_properties},
        {vkCreateDevice, &Of::create_device},
        {vkDestroyDevice, &Of::destroy_device},
        {vkGetDeviceQueue, &Of::get_queue},
        {vkGetDeviceQueue2, &Of::get_queue},
        {vkAllocateCommandBuffers, &Of::secondary_buffers},
        {vkFreeCommandBuffers, &Of::free_objects},
        {vkFreeDescriptorSets, &Of::free_objects},
        {vkResetDescriptorPool, &Of::reset_pool},
        {vkCreateDescriptorUpdateTemplate, &Of::create_template},
        {vkCreatePipelineCache, &Of::create_pipeline_cache},
        {vkAllocateMemory, &Of::allocate_memory},
        {vkFreeMemory, &Of::free_memory},
        {vkBindBufferMemory, &Of::bind_memory},
        {vkBindBufferMemory2, &Of::bind_memory},
        {vkBindImageMemory, &Of::bind_memory},
        {vkBindImageMemory2, &Of::bind_memory},
        {vkUnmapMemory, &Of::skip},
        {vkUnmapMemory2, &Of::skip},
        {vkDestroySurfaceKHR, &Of::forget_surface},
        {vkCreateSwapchainKHR, &Of::create_swapchain},
        {vkDestroySwapchainKHR, &Of::destroy_swapchain},
        {vkGetSwapchainImagesKHR, &Of::swapchain_images},
        {vkAcquireNextImageKHR, &Of::acquire},
        {vkAcquireNextImage2KHR, &Of::acquire2},
        {vkQueuePresentKHR, &Of::present},
        {vkReleaseSwapchainImagesKHR, &Of::skip},
        {vkWaitForFences, &Of::wait_fences},
        {vkGetFenceStatus, &Of::fence_status},
        {vkWaitSemaphores, &Of::wait_semaphores},
        {vkGetSemaphoreCounterValue, &Of::semaphore_value},
        {vkGetEventStatus, &Of::event_status},
        {vkQueueWaitIdle, &Of::queue_idle},
        {vkDeviceWaitIdle, &Of::queue_idle},
        {vkCreateQueryPool, &Of::create_query_pool},
        {vkGetQueryPoolResults, &Of::query_results},
    };
    for (auto& [of, handler] : special) by_number[of] = handler;
    return by_number;
  }
};

}  // namespace dt::play::vk
