/* A device with one queue. Include it behind vk.h and check.h. */
#pragma once

/* The first device, for Vulkan 1.`minor`, with an extension or without one. */
static VkDevice make_device_with(uint32_t minor, const char* extension) {
  VkApplicationInfo about = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = 1u << 22 | minor << 12};
  VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &about};
  VkInstance instance;
  CHECK(vkCreateInstance(&info, 0, &instance));
  uint32_t one = 1;
  VkPhysicalDevice physical;
  vkEnumeratePhysicalDevices(instance, &one, &physical);
  float priority = 1;
  VkDeviceQueueCreateInfo queue = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
  VkDeviceCreateInfo made = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue};
  made.enabledExtensionCount = extension != 0;
  made.ppEnabledExtensionNames = &extension;
  VkDevice device;
  CHECK(vkCreateDevice(physical, &made, 0, &device));
  return device;
}
static VkDevice make_device(uint32_t minor) { return make_device_with(minor, 0); }
