// Objects of Vulkan that have rules of their own.
#pragma once
#include "../core/vulkan_call.h"

namespace dt::extract {

using vulkan::VulkanCall;

constexpr uint32_t NOBODY = UINT32_MAX;

// Objects that have rules of their own; other kinds get numbers behind these.
enum VulkanKind : uint32_t {
  OF_INSTANCE,
  OF_PHYSICAL_DEVICE,
  OF_DEVICE,
  OF_QUEUE,
  OF_COMMAND_BUFFER,
  OF_MEMORY,
  OF_BUFFER,
  OF_IMAGE,
  OF_IMAGE_VIEW,
  OF_BUFFER_VIEW,
  OF_FRAMEBUFFER,
  OF_RENDER_PASS,
  OF_SET,
  OF_SET_POOL,
  OF_SET_LAYOUT,
  OF_TEMPLATE,
  OF_FENCE,
  OF_SEMAPHORE,
  OF_EVENT,
  OF_QUERY_POOL,
  OF_SWAPCHAIN,
  OF_COMMAND_POOL,
  KNOWN_KINDS,
  MOST_KINDS = 64
};
extern const char* const VULKAN_KINDS[KNOWN_KINDS];

}  // namespace dt::extract
