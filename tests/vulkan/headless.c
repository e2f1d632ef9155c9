/* Draws nothing, and does what a recorder of Vulkan can trip over: pointers that do not count and lead nowhere, chains,
 * templates, secondary command buffers, two instances and devices, memory that stays mapped while the device writes to
 * it.
 *
 * With OPENED the functions are looked up, of the library DRIVER if the environment names one; without, the program is
 * linked to the loader. The start is not that of device.h, which looks no function up. */
#include "vk.h"
#include "check.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef OPENED
#define FN(name) static __typeof__(&name) p_##name
#define LOOK_UP(name) p_##name = (void*)p_vkGetInstanceProcAddr(instance, #name)
#define OF_DEVICE(name) p_##name = (void*)p_vkGetDeviceProcAddr(device, #name);
#define VK(name) p_##name
FN(vkGetInstanceProcAddr);
FN(vkGetDeviceProcAddr);
/* clang-format off */
#define EACH(DO) \
  DO(vkCreateBuffer) DO(vkGetBufferMemoryRequirements) DO(vkAllocateMemory) DO(vkBindBufferMemory) \
  DO(vkMapMemory) DO(vkCreateDescriptorSetLayout) DO(vkCreateDescriptorPool) \
  DO(vkAllocateDescriptorSets) DO(vkUpdateDescriptorSets) DO(vkCreateDescriptorUpdateTemplate) \
  DO(vkUpdateDescriptorSetWithTemplate) DO(vkCreateCommandPool) DO(vkAllocateCommandBuffers) \
  DO(vkBeginCommandBuffer) DO(vkEndCommandBuffer) DO(vkCmdFillBuffer) DO(vkCmdExecuteCommands) \
  DO(vkCmdCopyBuffer) DO(vkGetDeviceQueue) DO(vkQueueSubmit) DO(vkQueueWaitIdle) DO(vkDestroyDevice) \
  DO(vkUnmapMemory)
/* clang-format on */
#define DECLARE(name) FN(name);
EACH(DECLARE)
FN(vkCreateInstance);
FN(vkEnumeratePhysicalDevices);
FN(vkCreateDevice);
FN(vkDestroyInstance);
#else
#define VK(name) name
#endif

#define NOWHERE ((void*)0x1357)

struct Writes {
  char gap[4096];
  VkDescriptorBufferInfo buffer;
};

static VkInstance make_instance(const char* name) {
  VkApplicationInfo about = {
      .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .pApplicationName = name, .apiVersion = 1u << 22 | 2 << 12};
  VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &about};
  VkInstance instance = 0;
#ifdef OPENED
  const char* driver = getenv("DRIVER"); /* without the loader */
  if (!p_vkGetInstanceProcAddr)
    p_vkGetInstanceProcAddr = (void*)dlsym(dlopen(driver ? driver : "libvulkan.so.1", RTLD_NOW),
                                           driver ? "vk_icdGetInstanceProcAddr" : "vkGetInstanceProcAddr");
  LOOK_UP(vkCreateInstance);
#endif
  CHECK(VK(vkCreateInstance)(&info, 0, &instance));
#ifdef OPENED
  LOOK_UP(vkEnumeratePhysicalDevices);
  LOOK_UP(vkCreateDevice);
  LOOK_UP(vkGetDeviceProcAddr);
  LOOK_UP(vkDestroyInstance);
#endif
  return instance;
}

static VkDevice make_device(VkInstance instance) {
  uint32_t one = 1;
  VkPhysicalDevice physical;
  VkResult found = VK(vkEnumeratePhysicalDevices)(instance, &one, &physical);
  if (found != VK_SUCCESS && found != VK_INCOMPLETE) exit(77);
  float priority = 0.5f;
  VkDeviceQueueCreateInfo queue = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
  VkPhysicalDeviceVulkan12Features newer = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                            .hostQueryReset = 1};
  VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &newer};
  VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                             .pNext = &features,
                             .queueCreateInfoCount = 1,
                             .pQueueCreateInfos = &queue};
  VkDevice device;
  CHECK(VK(vkCreateDevice)(physical, &info, 0, &device));
#ifdef OPENED
  EACH(OF_DEVICE)
#endif
  return device;
}

static VkBuffer make_buffer(VkDevice device, VkDeviceMemory* memory) {
  VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                             .size = 65536,
                             .usage = 0x33,
                             .queueFamilyIndexCount = 7,
                             .pQueueFamilyIndices = NOWHERE}; /* exclusive: ignored */
  VkBuffer buffer;
  CHECK(VK(vkCreateBuffer)(device, &info, 0, &buffer));
  VkMemoryRequirements needs;
  VK(vkGetBufferMemoryRequirements)(device, buffer, &needs);
  VkMemoryAllocateInfo room = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size};
  CHECK(VK(vkAllocateMemory)(device, &room, 0, memory));
  CHECK(VK(vkBindBufferMemory)(device, buffer, *memory, 0));
  return buffer;
}

static void describe(VkDevice device, VkBuffer buffer) {
  VkDescriptorSetLayoutBinding binding = {.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                          .descriptorCount = 1,
                                          .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
                                          .pImmutableSamplers = NOWHERE};
  VkDescriptorSetLayoutCreateInfo of = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 1, .pBindings = &binding};
  VkDescriptorSetLayout layout;
  CHECK(VK(vkCreateDescriptorSetLayout)(device, &of, 0, &layout));
  VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 4};
  VkDescriptorPoolCreateInfo pool_info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 4, .poolSizeCount = 1, .pPoolSizes = &size};
  VkDescriptorPool pool;
  CHECK(VK(vkCreateDescriptorPool)(device, &pool_info, 0, &pool));
  VkDescriptorSetAllocateInfo from = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                      .descriptorPool = pool,
                                      .descriptorSetCount = 1,
                                      .pSetLayouts = &layout};
  VkDescriptorSet set;
  CHECK(VK(vkAllocateDescriptorSets)(device, &from, &set));
  VkDescriptorBufferInfo what = {buffer, 16, 64};
  VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                .dstSet = set,
                                .descriptorCount = 1,
                                .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                .pImageInfo = NOWHERE,
                                .pBufferInfo = &what,
                                .pTexelBufferView = NOWHERE};
  VK(vkUpdateDescriptorSets)(device, 1, &write, 0, 0);
  VkDescriptorUpdateTemplateEntry entry = {
      .descriptorCount = 1, .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .offset = 4096, .stride = 24};
  VkDescriptorUpdateTemplateCreateInfo shape = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO,
                                                .descriptorUpdateEntryCount = 1,
                                                .pDescriptorUpdateEntries = &entry,
                                                .descriptorSetLayout = layout};
  VkDescriptorUpdateTemplate with;
  CHECK(VK(vkCreateDescriptorUpdateTemplate)(device, &shape, 0, &with));
  static struct Writes writes;
  writes.buffer = (VkDescriptorBufferInfo){buffer, 32, 128};
  VK(vkUpdateDescriptorSetWithTemplate)(device, set, with, &writes);
}

/* Fills `to`, partly in a secondary command buffer, and copies it to `back`. */
static void submit(VkDevice device, VkBuffer to, VkBuffer back, uint32_t value, int waits) {
  VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  VkCommandPool pool;
  CHECK(VK(vkCreateCommandPool)(device, &pool_info, 0, &pool));
  VkCommandBuffer first, second;
  VkCommandBufferAllocateInfo of = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool, .commandBufferCount = 1};
  CHECK(VK(vkAllocateCommandBuffers)(device, &of, &first));
  of.level = VK_COMMAND_BUFFER_LEVEL_SECONDARY;
  CHECK(VK(vkAllocateCommandBuffers)(device, &of, &second));
  VkCommandBufferInheritanceInfo inherited = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO,
                                              .pipelineStatistics = 0};
  VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                    .pInheritanceInfo = &inherited};
  CHECK(VK(vkBeginCommandBuffer)(second, &begin));
  VK(vkCmdFillBuffer)(second, to, 0, 65536, value);
  CHECK(VK(vkEndCommandBuffer)(second));
  begin.pInheritanceInfo = NOWHERE; /* primary: ignored */
  CHECK(VK(vkBeginCommandBuffer)(first, &begin));
  VK(vkCmdExecuteCommands)(first, 1, &second);
  VkBufferCopy whole = {0, 0, 65536};
  VK(vkCmdCopyBuffer)(first, to, back, 1, &whole);
  CHECK(VK(vkEndCommandBuffer)(first));
  VkQueue queue;
  VK(vkGetDeviceQueue)(device, 0, 0, &queue);
  VkSubmitInfo work = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &first};
  CHECK(VK(vkQueueSubmit)(queue, 1, &work, 0));
  if (waits) CHECK(VK(vkQueueWaitIdle)(queue));
}

static uint32_t run(const char* name, uint32_t value) {
  VkInstance instance = make_instance(name);
  VkDevice device = make_device(instance);
  VkDeviceMemory memory[3];
  VkBuffer buffer = make_buffer(device, &memory[0]), back = make_buffer(device, &memory[1]);
  uint32_t *written, *read;
  CHECK(VK(vkMapMemory)(device, memory[0], 0, ~0ull, 0, (void**)&written));
  CHECK(VK(vkMapMemory)(device, memory[1], 0, ~0ull, 0, (void**)&read));
  describe(device, buffer);
  memset(read, 0x11, 65536);
  for (volatile uint32_t* at = written; at < written + 1024; at++) *at = *at; /* what happens to lie there */
  submit(device, buffer, back, value, 1);
  uint32_t got = read[100];
  read[5] = 0x5050505; /* the program again, after the device */
  submit(device, back, buffer, value + 1, 0);
  uint32_t* uniform; /* of a buffer that the device could write to, and no call says so */
  make_buffer(device, &memory[2]);
  CHECK(VK(vkMapMemory)(device, memory[2], 0, ~0ull, 0, (void**)&uniform));
  submit(device, back, buffer, value + 1, 0);
  uniform[7] = 0x7070707; /* while the device may be at work */
  submit(device, back, buffer, value + 1, 1);
  return got + written[7];
}

int main(void) {
  printf("%x %x\n", run("first", 0x100), run("second", 0x2000));
  return 0;
}
