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
  start_with((struct Wanted){.minor = 1, .extension = "VK_KHR_push_descriptor"});
  push_with = (void*)vkGetDeviceProcAddr(device, "vkCmdPushDescriptorSetWithTemplateKHR");
  pool = make_pool(VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT);
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

static void push(VkCommandBuffer commands, VkBuffer buffer, int page) {
  struct {
    uint64_t other;
    VkDescriptorBufferInfo info;
  } data = {0, {buffer, (uint64_t)page * PAGE, 256}};
  push_with(commands, by, layout, 0, &data);
}
static void push_and_submit(VkCommandBuffer commands, VkBuffer buffer, int page) {
  begin_commands(commands, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
  push(commands, buffer, page);
  CHECK(vkEndCommandBuffer(commands));
  submit_and_wait(commands);
}

static VkBuffer bind_buffer(VkDeviceMemory memory) {
  return place_buffer(
      &memory, 0, BYTES,
      VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT);
}
static VkBuffer make_part(VkDeviceMemory* memory, unsigned char** at) {
  VkMemoryAllocateInfo room = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = BYTES};
  CHECK(vkAllocateMemory(device, &room, 0, memory));
  CHECK(vkMapMemory(device, *memory, 0, ~0ull, 0, (void**)at));
  return bind_buffer(*memory);
}
static void store(unsigned char* at, int page, int value) { memset(at + page * PAGE + 32, value, 4); }

static void describe(VkBuffer buffer) {
  VkDescriptorSet set = make_set(kept, (VkDescriptorPoolSize[]){{VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1}}, 1);
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
  VkCommandBuffer commands = make_commands(pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  VkCommandBuffer other = make_commands(pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  VkDeviceMemory memory;
  unsigned char* at;
  VkBuffer buffer = make_part(&memory, &at), target;
  bind_buffer(memory);
  for (int i = 0; i < 2 * PAGES; i++) {
    store(at, i % PAGES, i + 1);
    store(at, PLACE, i + 1);
    push_and_submit(commands, buffer, i % PAGES);
  }
  VkDeviceMemory far;
  unsigned char* far_at;
  target = make_part(&far, &far_at);
  begin_commands(commands, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
  VkBufferCopy all = {0, 0, BYTES};
  vkCmdCopyBuffer(commands, buffer, target, 1, &all);
  CHECK(vkEndCommandBuffer(commands));
  submit_and_wait(commands);

  buffer = make_part(&memory, &at);
  begin_commands(commands, 0);
  push(commands, buffer, 0);
  CHECK(vkEndCommandBuffer(commands));
  for (int i = 0; i < 4; i++) {
    store(at, 0, i + 1);
    submit_and_wait(commands);
  }

  buffer = make_part(&memory, &at);
  begin_commands(commands, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
  push(commands, buffer, 1);
  CHECK(vkEndCommandBuffer(commands));
  store(at, 1, 1);
  store(at, 3, 2);
  push_and_submit(other, buffer, 3);
  store(at, 1, 3);
  submit_and_wait(commands);

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
