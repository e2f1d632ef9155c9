/* Texels from staging buffers: a texture of which a part is stored and copied again, one of integers, one of blocks. */
#include "vk.h"
#include "check.h"
#include "images.h"

#include <stdint.h>
#include <string.h>

#define SIZE 64

static VkDevice device;
static VkQueue queue;
static VkCommandBuffer commands;

struct Staging {
  VkBuffer buffer;
  uint8_t* at;
};

/* Bytes that are not alike. */
static void fill(uint8_t* at, size_t bytes) {
  static uint32_t state = 12345;
  for (size_t i = 0; i < bytes; i++) state = state * 1664525 + 1013904223, at[i] = state >> 24;
}

static struct Staging staging(size_t bytes, VkBufferUsageFlags usage) {
  struct Staging made;
  VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = bytes, .usage = usage};
  CHECK(vkCreateBuffer(device, &info, 0, &made.buffer));
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(device, made.buffer, &needs);
  VkDeviceMemory memory = room(device, needs);
  CHECK(vkBindBufferMemory(device, made.buffer, memory, 0));
  CHECK(vkMapMemory(device, memory, 0, bytes, 0, (void**)&made.at));
  return made;
}

static VkImage image(VkFormat format) {
  VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                            .imageType = VK_IMAGE_TYPE_2D,
                            .format = format,
                            .extent = {SIZE, SIZE, 1},
                            .mipLevels = 1,
                            .arrayLayers = 1,
                            .samples = 1,
                            .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT};
  VkImage made;
  CHECK(vkCreateImage(device, &info, 0, &made));
  VkMemoryRequirements needs;
  vkGetImageMemoryRequirements(device, made, &needs);
  CHECK(vkBindImageMemory(device, made, room(device, needs), 0));
  return made;
}

static const VkBufferImageCopy WHOLE = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                        .imageExtent = {SIZE, SIZE, 1}};

/* Copies the texels to an image, and the image to `back`, and waits. */
static void upload(VkBuffer from, VkImage to, VkBuffer back) {
  VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  CHECK(vkBeginCommandBuffer(commands, &info));
  turn(commands, to, VK_IMAGE_ASPECT_COLOR_BIT, 0, VK_IMAGE_LAYOUT_GENERAL);
  vkCmdCopyBufferToImage(commands, from, to, VK_IMAGE_LAYOUT_GENERAL, 1, &WHOLE);
  turn(commands, to, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_GENERAL);
  if (back) vkCmdCopyImageToBuffer(commands, to, VK_IMAGE_LAYOUT_GENERAL, back, 1, &WHOLE);
  CHECK(vkEndCommandBuffer(commands));
  VkSubmitInfo work = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
  CHECK(vkQueueSubmit(queue, 1, &work, 0));
  CHECK(vkQueueWaitIdle(queue));
}

int main(void) {
  const char* named = "VK_EXT_debug_utils";
  VkApplicationInfo about = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                             .pApplicationName = "HarbourStudio",
                             .pEngineName = "HarbourEngine",
                             .apiVersion = 1u << 22 | 1 << 12};
  VkInstanceCreateInfo of = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                             .pApplicationInfo = &about,
                             .enabledExtensionCount = 1,
                             .ppEnabledExtensionNames = &named};
  VkInstance instance;
  CHECK(vkCreateInstance(&of, 0, &instance));
  uint32_t one = 1;
  VkPhysicalDevice physical;
  vkEnumeratePhysicalDevices(instance, &one, &physical);
  float priority = 1;
  VkDeviceQueueCreateInfo first = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
  VkDeviceCreateInfo made = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &first};
  CHECK(vkCreateDevice(physical, &made, 0, &device));
  vkGetDeviceQueue(device, 0, 0, &queue);
  VkCommandPoolCreateInfo pool_of = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, .flags = 2};
  VkCommandPool pool;
  CHECK(vkCreateCommandPool(device, &pool_of, 0, &pool));
  VkCommandBufferAllocateInfo buffers = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool, .commandBufferCount = 1};
  CHECK(vkAllocateCommandBuffers(device, &buffers, &commands));

  struct Staging texels = staging(SIZE * SIZE * 4, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
  struct Staging back = staging(SIZE * SIZE * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  VkImage colors = image(VK_FORMAT_R8G8B8A8_UNORM);
  VkDebugUtilsObjectNameInfoEXT name = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
                                        .objectType = VK_OBJECT_TYPE_IMAGE,
                                        .objectHandle = (uint64_t)colors,
                                        .pObjectName = "HarbourMap"};
  __typeof__(&vkSetDebugUtilsObjectNameEXT) call_it =
      (void*)vkGetInstanceProcAddr(instance, "vkSetDebugUtilsObjectNameEXT");
  call_it(device, &name);
  fill(texels.at, SIZE * SIZE * 4);
  upload(texels.buffer, colors, back.buffer);
  fill(texels.at + 8 * SIZE * 4, 8 * SIZE * 4);
  upload(texels.buffer, colors, back.buffer);

  struct Staging numbers = staging(SIZE * SIZE * 4, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
  fill(numbers.at, SIZE * SIZE * 4);
  upload(numbers.buffer, image(VK_FORMAT_R8G8B8A8_UINT), 0);

  struct Staging blocks = staging(SIZE * SIZE / 2, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
  fill(blocks.at, SIZE * SIZE / 2);
  upload(blocks.buffer, image(VK_FORMAT_BC1_RGB_UNORM_BLOCK), 0);
  return 0;
}
