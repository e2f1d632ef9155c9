/* Sixteen frames in a window, 8 columns of which are tiles of 8 x 8 pixels. What each tile shows comes from the past in
 * a way of its own:
 *
 *  0 an image that a copy wrote in frame 1
 *  1 an image that is made anew in frames 0, 4, 8 (its handle may come again), cleared there, and turned to its inverse
 *    by a copy in the next one
 *  2 a render pass that loads what is there and clears one more pixel in each frame: all frames count
 *  3 a buffer in memory that stays mapped: in each frame the program writes some of its bytes, and one again
 *  4 an image that a compute shader stores to in frame 3, with a set that was updated twice before, the second time by
 * a copy of another set 5 as 4 in frame 5, with a set that a template updated, from a pool that was reset before 6 what
 * a secondary command buffer of frame 2 copies, which each frame executes 7 a buffer that a command buffer fills, which
 * is recorded anew every third frame from a pool that is reset, and submitted in each, with a timeline semaphore
 * between
 *
 * With the argument "fresh" no frame needs all others: the pass of tile 2 clears all of it first, and the fill of tile
 * 7 is one of the whole buffer. */
#include "vk.h"
#include "check.h"
#include "compute_shader.h"
#include "device.h"

#include <dlfcn.h>
#include <string.h>

#define SIZE 8
#define TILES 8
#define IN_FLIGHT 2
#define FRAMES 16

static int fresh;
static VkSurfaceKHR surface;
static VkSwapchainKHR chain;
static VkImage shown[8];
static VkCommandPool pool, transient;
static const VkImageSubresourceRange ALL = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
static const VkImageSubresourceLayers LAYER = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
static const uint32_t ANY = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;

static struct Image tiles[TILES];

static void open_window(void) {
  void* x = dlopen("libX11.so.6", RTLD_NOW);
  if (!x) exit(77);
  void* (*open)(const char*) = dlsym(x, "XOpenDisplay");
  unsigned long (*root)(void*) = dlsym(x, "XDefaultRootWindow");
  unsigned long (*create)(void*, unsigned long, int, int, unsigned, unsigned, unsigned, unsigned long, unsigned long) =
      dlsym(x, "XCreateSimpleWindow");
  int (*map)(void*, unsigned long) = dlsym(x, "XMapWindow");
  int (*sync)(void*, int) = dlsym(x, "XSync");
  void* display = open(0);
  if (!display) exit(77);
  unsigned long window = create(display, root(display), 0, 0, SIZE * TILES, SIZE, 0, 0, 0);
  map(display, window);
  sync(display, 0);
  struct {
    uint32_t type;
    const void* next;
    uint32_t flags;
    void* display;
    unsigned long window;
  } info = {VK_STRUCTURE_TYPE_XLIB_SURFACE_CREATE_INFO_KHR, 0, 0, display, window};
  CHECK(vkCreateXlibSurfaceKHR(instance, (void*)&info, 0, &surface));
  VkBool32 can;
  CHECK(vkGetPhysicalDeviceSurfaceSupportKHR(physical, 0, surface, &can));
  VkSurfaceCapabilitiesKHR about;
  CHECK(vkGetPhysicalDeviceSurfaceCapabilitiesKHR(physical, surface, &about));
  VkSwapchainCreateInfoKHR of = {.sType = VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR,
                                 .surface = surface,
                                 .minImageCount = about.minImageCount,
                                 .imageFormat = VK_FORMAT_B8G8R8A8_UNORM,
                                 .imageExtent = {SIZE * TILES, SIZE},
                                 .imageArrayLayers = 1,
                                 .imageUsage = VK_IMAGE_USAGE_TRANSFER_DST_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT,
                                 .preTransform = about.currentTransform,
                                 .compositeAlpha = VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR,
                                 .presentMode = VK_PRESENT_MODE_FIFO_KHR};
  CHECK(vkCreateSwapchainKHR(device, &of, 0, &chain));
  uint32_t count = 8;
  CHECK(vkGetSwapchainImagesKHR(device, chain, &count, shown));
}

static struct Buffer buffer(uint32_t bytes) {
  return make_buffer(
      bytes, VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
}

static void begin(VkCommandBuffer commands) { begin_commands(commands, 0); }

/* Work of a command buffer that ends with it. */
static VkCommandBuffer begin_once(void) {
  VkCommandBuffer commands = make_commands(transient, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  begin(commands);
  return commands;
}

static void end_once(VkCommandBuffer commands) {
  CHECK(vkEndCommandBuffer(commands));
  submit_and_wait(commands);
  vkFreeCommandBuffers(device, transient, 1, &commands);
}

/* All work before it is done and seen. */
static void fence_off(VkCommandBuffer in) {
  VkMemoryBarrier all = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                         .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                         .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
  vkCmdPipelineBarrier(in, ANY, ANY, 0, 1, &all, 0, 0, 0, 0);
}

/* An image in the layout GENERAL. */
static struct Image image(void) {
  struct Image made = make_image(VK_FORMAT_R8G8B8A8_UNORM, SIZE,
                                 VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT |
                                     VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_STORAGE_BIT,
                                 VK_IMAGE_ASPECT_COLOR_BIT, 1);
  VkCommandBuffer commands = begin_once();
  turn(commands, made.image, VK_IMAGE_ASPECT_COLOR_BIT, 0, VK_IMAGE_LAYOUT_GENERAL);
  end_once(commands);
  return made;
}

static void drop(struct Image* of) {
  vkDestroyImageView(device, of->view, 0);
  vkDestroyImage(device, of->image, 0);
  vkFreeMemory(device, of->memory, 0);
}

static void upload(VkCommandBuffer in, VkBuffer from, VkImage to) {
  VkBufferImageCopy whole = {.imageSubresource = LAYER, .imageExtent = {SIZE, SIZE, 1}};
  fence_off(in);
  vkCmdCopyBufferToImage(in, from, to, VK_IMAGE_LAYOUT_GENERAL, 1, &whole);
  fence_off(in);
}

static void copy(VkCommandBuffer in, VkImage from, VkImage to, int x) {
  VkImageCopy whole = {
      .srcSubresource = LAYER, .dstSubresource = LAYER, .dstOffset = {x, 0, 0}, .extent = {SIZE, SIZE, 1}};
  vkCmdCopyImage(in, from, VK_IMAGE_LAYOUT_GENERAL, to, VK_IMAGE_LAYOUT_GENERAL, 1, &whole);
}

/* ---- tiles 0 and 1 ---- */
static void copied(void) {
  struct Buffer from = buffer(SIZE * SIZE * 4);
  for (int i = 0; i < SIZE * SIZE * 4; i++) from.at[i] = i * 7;
  vkUnmapMemory(device, from.memory);
  VkCommandBuffer commands = begin_once();
  upload(commands, from.buffer, tiles[0].image);
  end_once(commands);
  vkDestroyBuffer(device, from.buffer, 0);
  vkFreeMemory(device, from.memory, 0);
}

static void made_anew(int frame) {
  CHECK(vkDeviceWaitIdle(device));
  if (frame) drop(&tiles[1]);
  tiles[1] = image();
  VkCommandBuffer commands = begin_once();
  VkClearColorValue color = {.float32 = {frame / 16.0f, 1, 0, 1}};
  vkCmdClearColorImage(commands, tiles[1].image, VK_IMAGE_LAYOUT_GENERAL, &color, 1, &ALL);
  end_once(commands);
}

static void inverted(int frame) {
  struct Image other = image();
  VkCommandBuffer commands = begin_once();
  VkClearColorValue color = {.float32 = {1, 0, frame / 16.0f, 1}};
  vkCmdClearColorImage(commands, other.image, VK_IMAGE_LAYOUT_GENERAL, &color, 1, &ALL);
  fence_off(commands);
  VkImageCopy half = {.srcSubresource = LAYER, .dstSubresource = LAYER, .extent = {SIZE / 2, SIZE, 1}};
  vkCmdCopyImage(commands, other.image, VK_IMAGE_LAYOUT_GENERAL, tiles[1].image, VK_IMAGE_LAYOUT_GENERAL, 1, &half);
  end_once(commands);
  drop(&other);
}

/* ---- tile 2 ---- */
static VkRenderPass pass;
static VkFramebuffer framebuffer;

static void make_pass(void) {
  VkAttachmentDescription of = {.format = VK_FORMAT_R8G8B8A8_UNORM,
                                .samples = 1,
                                .loadOp = fresh ? VK_ATTACHMENT_LOAD_OP_CLEAR : VK_ATTACHMENT_LOAD_OP_LOAD,
                                .initialLayout = VK_IMAGE_LAYOUT_GENERAL,
                                .finalLayout = VK_IMAGE_LAYOUT_GENERAL};
  VkAttachmentReference to = {0, VK_IMAGE_LAYOUT_GENERAL};
  VkSubpassDescription part = {.colorAttachmentCount = 1, .pColorAttachments = &to};
  VkRenderPassCreateInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                 .attachmentCount = 1,
                                 .pAttachments = &of,
                                 .subpassCount = 1,
                                 .pSubpasses = &part};
  CHECK(vkCreateRenderPass(device, &info, 0, &pass));
  VkFramebufferCreateInfo with = {.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
                                  .renderPass = pass,
                                  .attachmentCount = 1,
                                  .pAttachments = &tiles[2].view,
                                  .width = SIZE,
                                  .height = SIZE,
                                  .layers = 1};
  CHECK(vkCreateFramebuffer(device, &with, 0, &framebuffer));
}

static void add_pixel(VkCommandBuffer in, int frame) {
  fence_off(in);
  VkClearValue none = {0};
  VkRenderPassBeginInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                .clearValueCount = 1,
                                .pClearValues = &none,
                                .renderPass = pass,
                                .framebuffer = framebuffer,
                                .renderArea = {{0, 0}, {SIZE, SIZE}}};
  vkCmdBeginRenderPass(in, &info, VK_SUBPASS_CONTENTS_INLINE);
  VkClearAttachment white = {VK_IMAGE_ASPECT_COLOR_BIT, 0, {.color = {.float32 = {1, 1, 1, 1}}}};
  VkClearRect pixel = {{{frame % SIZE, frame / SIZE}, {1, 1}}, 0, 1};
  vkCmdClearAttachments(in, 1, &white, 1, &pixel);
  vkCmdEndRenderPass(in);
}

/* ---- tiles 4 and 5 ---- */
static VkDescriptorSetLayout set_layout;
static VkPipelineLayout layout;
static VkPipeline shader;
static VkDescriptorPool sets;
static struct Buffer words;

static void make_shader(void) {
  VkDescriptorSetLayoutBinding bindings[] = {{0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT},
                                             {2, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 1, VK_SHADER_STAGE_COMPUTE_BIT}};
  VkDescriptorSetLayoutCreateInfo of = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 2, .pBindings = bindings};
  CHECK(vkCreateDescriptorSetLayout(device, &of, 0, &set_layout));
  VkPushConstantRange push = {VK_SHADER_STAGE_COMPUTE_BIT, 0, 4};
  VkPipelineLayoutCreateInfo with = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                     .setLayoutCount = 1,
                                     .pSetLayouts = &set_layout,
                                     .pushConstantRangeCount = 1,
                                     .pPushConstantRanges = &push};
  CHECK(vkCreatePipelineLayout(device, &with, 0, &layout));
  VkShaderModule module = make_module(COMPUTE, sizeof COMPUTE);
  VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                .module = module,
                                                .pName = "main"},
                                      .layout = layout};
  CHECK(vkCreateComputePipelines(device, 0, 1, &info, 0, &shader));
  vkDestroyShaderModule(device, module, 0);
  VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 4}, {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 4}};
  VkDescriptorPoolCreateInfo from = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 4, .poolSizeCount = 2, .pPoolSizes = sizes};
  CHECK(vkCreateDescriptorPool(device, &from, 0, &sets));
  words = buffer(256);
}

static VkDescriptorSet allocate_set(void) {
  VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                      .descriptorPool = sets,
                                      .descriptorSetCount = 1,
                                      .pSetLayouts = &set_layout};
  VkDescriptorSet made;
  CHECK(vkAllocateDescriptorSets(device, &info, &made));
  return made;
}

static void update(VkDescriptorSet set, VkImageView view) {
  VkDescriptorBufferInfo buffer = {words.buffer, 0, VK_WHOLE_SIZE};
  VkDescriptorImageInfo image = {0, view, VK_IMAGE_LAYOUT_GENERAL};
  VkWriteDescriptorSet writes[] = {{.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                    .dstSet = set,
                                    .descriptorCount = 1,
                                    .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                    .pBufferInfo = &buffer},
                                   {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                    .dstSet = set,
                                    .dstBinding = 2,
                                    .descriptorCount = 1,
                                    .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
                                    .pImageInfo = &image}};
  vkUpdateDescriptorSets(device, 2, writes, 0, 0);
}

static void dispatch(VkDescriptorSet set, uint32_t k) {
  VkCommandBuffer commands = begin_once();
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, shader);
  vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, 0);
  vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &k);
  vkCmdDispatch(commands, 1, 1, 1);
  end_once(commands);
}

static VkDescriptorSet stores;

static void update_twice(void) {
  stores = allocate_set();
  VkDescriptorSet other = allocate_set();
  update(stores, tiles[0].view);
  update(other, tiles[4].view);
  VkCopyDescriptorSet of = {.sType = VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET,
                            .srcSet = other,
                            .srcBinding = 2,
                            .dstSet = stores,
                            .dstBinding = 2,
                            .descriptorCount = 1};
  vkUpdateDescriptorSets(device, 0, 0, 1, &of);
}

static void update_by_template(void) {
  CHECK(vkResetDescriptorPool(device, sets, 0));
  VkDescriptorSet set = allocate_set();
  struct {
    VkDescriptorBufferInfo buffer;
    VkDescriptorImageInfo image;
  } data = {{words.buffer, 0, VK_WHOLE_SIZE}, {0, tiles[5].view, VK_IMAGE_LAYOUT_GENERAL}};
  VkDescriptorUpdateTemplateEntry entries[] = {{0, 0, 1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 0, 0},
                                               {2, 0, 1, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, sizeof data.buffer, 0}};
  VkDescriptorUpdateTemplateCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO,
                                               .descriptorUpdateEntryCount = 2,
                                               .pDescriptorUpdateEntries = entries,
                                               .descriptorSetLayout = set_layout};
  VkDescriptorUpdateTemplate by;
  CHECK(vkCreateDescriptorUpdateTemplate(device, &info, 0, &by));
  vkUpdateDescriptorSetWithTemplate(device, set, by, &data);
  vkDestroyDescriptorUpdateTemplate(device, by, 0);
  dispatch(set, 130);
}

/* ---- tile 7 ---- */
static VkCommandPool reset_pool;
static VkCommandBuffer fills;
static VkSemaphore timeline;
static struct Buffer filled;

static void record_fill(int frame) {
  CHECK(vkDeviceWaitIdle(device));
  CHECK(vkResetCommandPool(device, reset_pool, 0));
  begin(fills);
  fence_off(fills);
  vkCmdFillBuffer(fills, filled.buffer, fresh ? 0 : frame * 4, fresh ? VK_WHOLE_SIZE : SIZE * 4,
                  0xff000000 | frame * 0x0f0f0f);
  CHECK(vkEndCommandBuffer(fills));
}

static void fill(uint64_t value) {
  VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                          .signalSemaphoreValueCount = 1,
                                          .pSignalSemaphoreValues = &value};
  VkSubmitInfo work = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                       .pNext = &values,
                       .commandBufferCount = 1,
                       .pCommandBuffers = &fills,
                       .signalSemaphoreCount = 1,
                       .pSignalSemaphores = &timeline};
  CHECK(vkQueueSubmit(queue, 1, &work, 0));
}

/* ---- frames ---- */
static VkCommandBuffer secondary, mains[IN_FLIGHT];
static VkFence fences[IN_FLIGHT];
static VkSemaphore acquired[IN_FLIGHT], drawn[IN_FLIGHT];
static struct Buffer mapped;

static void setup(void) {
  pool = make_pool(VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT);
  transient = make_pool(VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT);
  reset_pool = make_pool(0);
  for (int i = 0; i < TILES; i++)
    if (i != 1) tiles[i] = image();
  make_pass();
  make_shader();
  mapped = buffer(SIZE * SIZE * 4);
  filled = buffer(SIZE * SIZE * 4);
  fills = make_commands(reset_pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  VkFenceCreateInfo done = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, .flags = VK_FENCE_CREATE_SIGNALED_BIT};
  VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                    .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  VkSemaphoreCreateInfo plain = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
  for (int i = 0; i < IN_FLIGHT; i++) {
    mains[i] = make_commands(pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    CHECK(vkCreateFence(device, &done, 0, &fences[i]));
    CHECK(vkCreateSemaphore(device, &plain, 0, &acquired[i]));
    CHECK(vkCreateSemaphore(device, &plain, 0, &drawn[i]));
  }
  plain.pNext = &type;
  CHECK(vkCreateSemaphore(device, &plain, 0, &timeline));
  VkClearColorValue blue = {.float32 = {0, 0, 1, 1}};
  VkCommandBuffer commands = begin_once();
  for (int i = 0; i < TILES; i++)
    if (i != 1) vkCmdClearColorImage(commands, tiles[i].image, VK_IMAGE_LAYOUT_GENERAL, &blue, 1, &ALL);
  end_once(commands);
}

static void happen(int frame) {
  if (frame == 1) copied();
  if (frame % 4 == 0 && frame < 12) made_anew(frame);
  if (frame % 4 == 1 && frame < 12) inverted(frame);
  if (frame == 2) {
    secondary = make_commands(pool, VK_COMMAND_BUFFER_LEVEL_SECONDARY);
    begin(secondary);
    copy(secondary, tiles[0].image, tiles[6].image, 0);
    CHECK(vkEndCommandBuffer(secondary));
    update_twice();
  }
  if (frame == 3) dispatch(stores, 70);
  if (frame == 5) update_by_template();
  if (frame % 3 == 0) record_fill(frame);
}

static void record(VkCommandBuffer to, VkImage target, int frame) {
  begin(to);
  turn(to, target, VK_IMAGE_ASPECT_COLOR_BIT, 0, VK_IMAGE_LAYOUT_GENERAL);
  add_pixel(to, frame);
  upload(to, mapped.buffer, tiles[3].image);
  if (secondary) vkCmdExecuteCommands(to, 1, &secondary);
  upload(to, filled.buffer, tiles[7].image);
  for (int i = 0; i < TILES; i++) copy(to, tiles[i].image, target, i * SIZE);
  turn(to, target, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_PRESENT_SRC_KHR);
  CHECK(vkEndCommandBuffer(to));
}

static void show(int frame) {
  const int i = frame % IN_FLIGHT;
  CHECK(vkWaitForFences(device, 1, &fences[i], 1, ~0ull));
  CHECK(vkResetFences(device, 1, &fences[i]));
  happen(frame);
  uint32_t index;
  CHECK(vkAcquireNextImageKHR(device, chain, ~0ull, acquired[i], 0, &index));
  CHECK(vkQueueWaitIdle(queue));
  mapped.at[frame * 5] = mapped.at[frame * 5 + 3] = 255 - frame;
  mapped.at[255] = frame * 16;
  fill(frame + 1);
  record(mains[i], shown[index], frame);
  uint64_t values[] = {0, frame + 1}, none = 0;
  VkSemaphore waits[] = {acquired[i], timeline};
  uint32_t stages[] = {ANY, ANY};
  VkTimelineSemaphoreSubmitInfo of = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                      .waitSemaphoreValueCount = 2,
                                      .pWaitSemaphoreValues = values,
                                      .signalSemaphoreValueCount = 1,
                                      .pSignalSemaphoreValues = &none};
  VkSubmitInfo work = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                       .pNext = &of,
                       .waitSemaphoreCount = 2,
                       .pWaitSemaphores = waits,
                       .pWaitDstStageMask = stages,
                       .commandBufferCount = 1,
                       .pCommandBuffers = &mains[i],
                       .signalSemaphoreCount = 1,
                       .pSignalSemaphores = &drawn[i]};
  CHECK(vkQueueSubmit(queue, 1, &work, fences[i]));
  VkPresentInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
                           .waitSemaphoreCount = 1,
                           .pWaitSemaphores = &drawn[i],
                           .swapchainCount = 1,
                           .pSwapchains = &chain,
                           .pImageIndices = &index};
  CHECK(vkQueuePresentKHR(queue, &info));
}

int main(int count, char** arguments) {
  fresh = count > 1 && !strcmp(arguments[1], "fresh");
  const VkPhysicalDeviceVulkan12Features newer = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                                  .timelineSemaphore = 1};
  start_with((struct Wanted){.minor = 3,
                             .instance_extensions = {"VK_KHR_surface", "VK_KHR_xlib_surface"},
                             .extension = "VK_KHR_swapchain",
                             .newer = &newer});
  open_window();
  setup();
  for (int frame = 0; frame < FRAMES; frame++) show(frame);
  CHECK(vkDeviceWaitIdle(device));
  return 0;
}
