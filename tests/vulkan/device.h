/* The first device with one queue, its memory, images, buffers and commands. Include it behind vk.h and check.h. */
#pragma once
#include <stdint.h>
#include <stdlib.h>

static VkInstance instance;
static VkPhysicalDevice physical;
static VkDevice device;
static VkQueue queue;

/* What a program wants of its device, where that is not 0. */
struct Wanted {
  uint32_t minor;                     /* for Vulkan 1.`minor` */
  const char* instance_extensions[2]; /* extensions of the instance */
  const char* extension;              /* of the device */
  const void* newer;                  /* features, as a chain */
  const VkPhysicalDeviceFeatures* features;
  const char *program, *engine;
};

/* Makes the device. The program ends with 77, "cannot be tested here", where there is none. */
static void start_with(struct Wanted w) {
  VkApplicationInfo about = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                             .pApplicationName = w.program,
                             .pEngineName = w.engine,
                             .apiVersion = 1u << 22 | w.minor << 12};
  VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                               .pApplicationInfo = &about,
                               .enabledExtensionCount = !!w.instance_extensions[0] + !!w.instance_extensions[1],
                               .ppEnabledExtensionNames = w.instance_extensions};
  CHECK(vkCreateInstance(&info, 0, &instance));
  uint32_t one = 1;
  if (vkEnumeratePhysicalDevices(instance, &one, &physical) < 0 || !one) exit(77);
  float priority = 1;
  VkDeviceQueueCreateInfo family = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
  VkDeviceCreateInfo of = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                           .pNext = w.newer,
                           .queueCreateInfoCount = 1,
                           .pQueueCreateInfos = &family,
                           .enabledExtensionCount = w.extension != 0,
                           .ppEnabledExtensionNames = &w.extension,
                           .pEnabledFeatures = w.features};
  CHECK(vkCreateDevice(physical, &of, 0, &device));
  vkGetDeviceQueue(device, 0, 0, &queue);
}

/* Makes a device of Vulkan 1.2 with timelines. */
static void start_with_timelines(void) {
  VkPhysicalDeviceVulkan12Features features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                               .timelineSemaphore = 1};
  start_with((struct Wanted){.minor = 2, .newer = &features});
}

static VkSemaphore make_timeline(void) {
  VkSemaphoreTypeCreateInfo timeline = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                        .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &timeline};
  VkSemaphore made;
  CHECK(vkCreateSemaphore(device, &info, 0, &made));
  return made;
}

/* Memory of the first type. */
static VkDeviceMemory room(VkMemoryRequirements needs) {
  VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size};
  VkDeviceMemory memory;
  CHECK(vkAllocateMemory(device, &info, 0, &memory));
  return memory;
}

struct Image {
  VkImage image;
  VkImageView view; /* 0 where nothing looks at it through a view */
  VkDeviceMemory memory;
};

/* What makes an image of one level. */
static VkImageCreateInfo of_one_level(VkFormat format, uint32_t side, uint32_t usage, uint32_t samples) {
  return (VkImageCreateInfo){.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                             .imageType = VK_IMAGE_TYPE_2D,
                             .format = format,
                             .extent = {side, side, 1},
                             .mipLevels = 1,
                             .arrayLayers = 1,
                             .samples = samples,
                             .usage = usage};
}

/* An image behind `at` bytes of `memory`, which is made for it where it is 0. */
static VkImage place_image(VkDeviceMemory* memory, uint64_t at, VkImageCreateInfo info) {
  VkImage image;
  CHECK(vkCreateImage(device, &info, 0, &image));
  VkMemoryRequirements needs;
  vkGetImageMemoryRequirements(device, image, &needs);
  if (!*memory) *memory = room(needs);
  CHECK(vkBindImageMemory(device, image, *memory, at));
  return image;
}

/* An image of one level, with a view of these aspects if there are any; `samples` a pixel. */
static struct Image make_image(VkFormat format, uint32_t side, uint32_t usage, uint32_t aspects, uint32_t samples) {
  struct Image made = {0};
  made.image = place_image(&made.memory, 0, of_one_level(format, side, usage, samples));
  if (!aspects) return made;
  VkImageViewCreateInfo of = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                              .image = made.image,
                              .viewType = VK_IMAGE_VIEW_TYPE_2D,
                              .format = format,
                              .subresourceRange = {aspects, 0, 1, 0, 1}};
  CHECK(vkCreateImageView(device, &of, 0, &made.view));
  return made;
}

/* A buffer behind `at` bytes of `memory`, which is made for it where it is 0. */
static VkBuffer place_buffer(VkDeviceMemory* memory, uint64_t at, uint64_t bytes, uint32_t usage) {
  VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = bytes, .usage = usage};
  VkBuffer buffer;
  CHECK(vkCreateBuffer(device, &info, 0, &buffer));
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(device, buffer, &needs);
  if (!*memory) *memory = room(needs);
  CHECK(vkBindBufferMemory(device, buffer, *memory, at));
  return buffer;
}

struct Buffer {
  VkBuffer buffer;
  VkDeviceMemory memory;
  uint8_t* at; /* its bytes, which stay mapped */
};

static struct Buffer make_buffer(uint64_t bytes, uint32_t usage) {
  struct Buffer made = {0};
  made.buffer = place_buffer(&made.memory, 0, bytes, usage);
  CHECK(vkMapMemory(device, made.memory, 0, VK_WHOLE_SIZE, 0, (void**)&made.at));
  return made;
}

static VkShaderModule make_module(const uint32_t* code, size_t bytes) {
  VkShaderModuleCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = bytes, .pCode = code};
  VkShaderModule made;
  CHECK(vkCreateShaderModule(device, &info, 0, &made));
  return made;
}

/* A set, from a pool of its own with room for `kinds` kinds of descriptors. */
static VkDescriptorSet make_set(VkDescriptorSetLayout of, const VkDescriptorPoolSize* sizes, uint32_t kinds) {
  VkDescriptorPoolCreateInfo from = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                     .maxSets = 1,
                                     .poolSizeCount = kinds,
                                     .pPoolSizes = sizes};
  VkDescriptorPool pool;
  CHECK(vkCreateDescriptorPool(device, &from, 0, &pool));
  VkDescriptorSetAllocateInfo one = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                     .descriptorPool = pool,
                                     .descriptorSetCount = 1,
                                     .pSetLayouts = &of};
  VkDescriptorSet made;
  CHECK(vkAllocateDescriptorSets(device, &one, &made));
  return made;
}

static VkCommandPool make_pool(VkFlags flags) {
  VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, .flags = flags};
  VkCommandPool made;
  CHECK(vkCreateCommandPool(device, &info, 0, &made));
  return made;
}

static VkCommandBuffer make_commands(VkCommandPool from, VkCommandBufferLevel level) {
  VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                      .commandPool = from,
                                      .level = level,
                                      .commandBufferCount = 1};
  VkCommandBuffer made;
  CHECK(vkAllocateCommandBuffers(device, &info, &made));
  return made;
}

static void begin_commands(VkCommandBuffer commands, VkFlags flags) {
  VkCommandBufferInheritanceInfo inherits = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
  VkCommandBufferBeginInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, .flags = flags, .pInheritanceInfo = &inherits};
  CHECK(vkBeginCommandBuffer(commands, &info));
}

static void submit(VkCommandBuffer commands) {
  VkSubmitInfo work = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
  CHECK(vkQueueSubmit(queue, 1, &work, 0));
}

static void submit_and_wait(VkCommandBuffer commands) {
  submit(commands);
  CHECK(vkQueueWaitIdle(queue));
}

/* Put one level into a layout; all work before it is done and seen. */
static void turn(VkCommandBuffer in, VkImage of, uint32_t aspects, VkImageLayout from, VkImageLayout to) {
  VkImageMemoryBarrier turned = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                 .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                 .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
                                 .oldLayout = from,
                                 .newLayout = to,
                                 .srcQueueFamilyIndex = ~0u,
                                 .dstQueueFamilyIndex = ~0u,
                                 .image = of,
                                 .subresourceRange = {aspects, 0, 1, 0, 1}};
  const uint32_t all = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  vkCmdPipelineBarrier(in, all, all, 0, 0, 0, 0, 0, 1, &turned);
}
