/* Large buffers in memory that stays mapped, of which command buffers read uniforms that are pushed with a template.
 * Each part has a memory and a buffer of its own:
 *   a  two rounds of a page each, pushed into command buffers that are submitted once; page PLACE is pushed never, and
 *      stored to each time, until a copy reads all of the buffer. A second buffer that nobody names is in its place
 *   b  one command buffer that is submitted again and again
 *   c  two command buffers, of which the one that was recorded last is submitted first
 *   d  a descriptor set that has the buffer, too
 *   e  the memory is unmapped */
#include "vk.h"
#include "check.h"
#include "device.h"

#include <stdint.h>
#include <string.h>

enum { BYTES = 1 << 20, PAGE = 4096, PAGES = 20, PLACE = 200 };

static VkDevice device;
static VkQueue queue;
static VkCommandPool pool;
static VkDescriptorSetLayout pushed, kept;
static VkPipelineLayout layout;
static VkDescriptorUpdateTemplate by;
static void (*push_with)(VkCommandBuffer, VkDescriptorUpdateTemplate, VkPipelineLayout, uint32_t, const void*);

static VkDescriptorSetLayout make_set_layout(VkFlags flags) {
  VkDescriptorSetLayoutBinding one = {0, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT};
  VkDescriptorSetLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                          .flags = flags,
                                          .bindingCount = 1,
                                          .pBindings = &one};
  VkDescriptorSetLayout made;
  CHECK(vkCreateDescriptorSetLayout(device, &info, 0, &made));
  return made;
}

static void start(void) {
  device = make_device_with(1, "VK_KHR_push_descriptor");
  vkGetDeviceQueue(device, 0, 0, &queue);
  push_with = (void*)vkGetDeviceProcAddr(device, "vkCmdPushDescriptorSetWithTemplateKHR");
  VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                  .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT};
  CHECK(vkCreateCommandPool(device, &info, 0, &pool));
  pushed = make_set_layout(VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR);
  kept = make_set_layout(0);
  VkPipelineLayoutCreateInfo shape = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1, .pSetLayouts = &pushed};
  CHECK(vkCreatePipelineLayout(device, &shape, 0, &layout));
  VkDescriptorUpdateTemplateEntry entry = {0, 0, 1, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 8, 0};
  VkDescriptorUpdateTemplateCreateInfo update = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO,
      .descriptorUpdateEntryCount = 1,
      .pDescriptorUpdateEntries = &entry,
      .templateType = VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_PUSH_DESCRIPTORS_KHR,
      .pipelineBindPoint = VK_PIPELINE_BIND_POINT_COMPUTE,
      .pipelineLayout = layout};
  CHECK(vkCreateDescriptorUpdateTemplate(device, &update, 0, &by));
}

static VkCommandBuffer make_commands(void) {
  VkCommandBufferAllocateInfo one = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool, .commandBufferCount = 1};
  VkCommandBuffer made;
  CHECK(vkAllocateCommandBuffers(device, &one, &made));
  return made;
}

static void begin(VkCommandBuffer commands, VkFlags flags) {
  VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, .flags = flags};
  CHECK(vkBeginCommandBuffer(commands, &info));
}
static void push(VkCommandBuffer commands, VkBuffer buffer, int page) {
  struct {
    uint64_t other;
    VkDescriptorBufferInfo info;
  } data = {0, {buffer, (uint64_t)page * PAGE, 256}};
  push_with(commands, by, layout, 0, &data);
}
static void submit(VkCommandBuffer commands) {
  VkSubmitInfo work = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
  CHECK(vkQueueSubmit(queue, 1, &work, 0));
  CHECK(vkQueueWaitIdle(queue));
}
static void push_and_submit(VkCommandBuffer commands, VkBuffer buffer, int page) {
  begin(commands, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
  push(commands, buffer, page);
  CHECK(vkEndCommandBuffer(commands));
  submit(commands);
}

static VkBuffer make_buffer(VkDeviceMemory memory) {
  VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                             .size = BYTES,
                             .usage = VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                      VK_BUFFER_USAGE_TRANSFER_DST_BIT};
  VkBuffer buffer;
  CHECK(vkCreateBuffer(device, &info, 0, &buffer));
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(device, buffer, &needs);
  CHECK(vkBindBufferMemory(device, buffer, memory, 0));
  return buffer;
}
static VkBuffer make_part(VkDeviceMemory* memory, unsigned char** at) {
  VkMemoryAllocateInfo room = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = BYTES};
  CHECK(vkAllocateMemory(device, &room, 0, memory));
  CHECK(vkMapMemory(device, *memory, 0, ~0ull, 0, (void**)at));
  return make_buffer(*memory);
}
static void store(unsigned char* at, int page, int value) { memset(at + page * PAGE + 32, value, 4); }

static void describe(VkBuffer buffer) {
  VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1};
  VkDescriptorPoolCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
  VkDescriptorPool sets;
  CHECK(vkCreateDescriptorPool(device, &info, 0, &sets));
  VkDescriptorSetAllocateInfo one = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                     .descriptorPool = sets,
                                     .descriptorSetCount = 1,
                                     .pSetLayouts = &kept};
  VkDescriptorSet set;
  CHECK(vkAllocateDescriptorSets(device, &one, &set));
  VkDescriptorBufferInfo all = {buffer, 0, 4096};
  VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                .dstSet = set,
                                .descriptorCount = 1,
                                .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
                                .pBufferInfo = &all};
  vkUpdateDescriptorSets(device, 1, &write, 0, 0);
}

int main(void) {
  start();
  VkCommandBuffer commands = make_commands(), other = make_commands();
  VkDeviceMemory memory;
  unsigned char* at;
  VkBuffer buffer = make_part(&memory, &at), target;
  make_buffer(memory);
  for (int i = 0; i < 2 * PAGES; i++) {
    store(at, i % PAGES, i + 1);
    store(at, PLACE, i + 1);
    push_and_submit(commands, buffer, i % PAGES);
  }
  VkDeviceMemory far;
  unsigned char* far_at;
  target = make_part(&far, &far_at);
  begin(commands, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
  VkBufferCopy all = {0, 0, BYTES};
  vkCmdCopyBuffer(commands, buffer, target, 1, &all);
  CHECK(vkEndCommandBuffer(commands));
  submit(commands);

  buffer = make_part(&memory, &at);
  begin(commands, 0);
  push(commands, buffer, 0);
  CHECK(vkEndCommandBuffer(commands));
  for (int i = 0; i < 4; i++) {
    store(at, 0, i + 1);
    submit(commands);
  }

  buffer = make_part(&memory, &at);
  begin(commands, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
  push(commands, buffer, 1);
  CHECK(vkEndCommandBuffer(commands));
  store(at, 1, 1);
  store(at, 3, 2);
  push_and_submit(other, buffer, 3);
  store(at, 1, 3);
  submit(commands);

  buffer = make_part(&memory, &at);
  store(at, 0, 1);
  push_and_submit(commands, buffer, 0);
  describe(buffer);
  store(at, PLACE, 2);
  push_and_submit(commands, buffer, 0);

  buffer = make_part(&memory, &at);
  store(at, 0, 1);
  push_and_submit(commands, buffer, 0);
  store(at, PLACE, 2);
  vkUnmapMemory(device, memory);
  return 0;
}
