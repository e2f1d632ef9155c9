/* Four draws whose pictures are known, into an image of 8 x 8 pixels, submitted twice. Draw i covers the columns from i
 * on: colour (50 i, 255 - 50 i, 128, 255), depth i / 4, stencil one more than it was. All are cleared to 0 before. With
 * "pass" and "samples" the last two stand in a secondary command buffer, and in a render pass of their own. Prints the
 * lowest row of the image.
 *
 * Argument: "pass" a render pass; "rendering" dynamic rendering; "samples" four samples a pixel, resolved by the pass,
 * and all columns; "subpasses" where the last draw is in a second subpass, reads the first one's colour and writes its
 * inverse into another image, which is printed; "query" as "pass", with a query around the second draw; "dispatch" two
 * dispatches: the k-th stores i * k in word i of a buffer, behind 256 bytes, and (k, k, 0, 255) in an image, and there
 * is an image of linear tiling that the program alone stores to;
 * "integers" where the image has integers of 16 bits, and draw i comes behind a clear of its columns to (i, 300, 7, 9)
 * without writing a colour itself. */
#include "vk.h"
#include "check.h"
#include "compute_shader.h"
#include "draw_shaders.h"
#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* layout(input_attachment_index = 0, set = 0, binding = 0) uniform subpassInput i;
 * layout(location = 0) out vec4 o;
 * void main() { o = vec4(1.0) - subpassLoad(i); } */
/* clang-format off */
static const uint32_t INVERTS[] = {
    0x7230203, 0x10000, 0x8000b, 0x16, 0x0, 0x20011, 0x1, 0x20011, 0x28, 0x6000b, 0x1, 0x4c534c47,
    0x6474732e, 0x3035342e, 0x0, 0x3000e, 0x0, 0x1, 0x6000f, 0x4, 0x4, 0x6e69616d, 0x0, 0x9,
    0x30010, 0x4, 0x7, 0x40047, 0x9, 0x1e, 0x0, 0x40047, 0xe, 0x22, 0x0, 0x40047,
    0xe, 0x21, 0x0, 0x40047, 0xe, 0x2b, 0x0, 0x20013, 0x2, 0x30021, 0x3, 0x2,
    0x30016, 0x6, 0x20, 0x40017, 0x7, 0x6, 0x4, 0x40020, 0x8, 0x3, 0x7, 0x4003b,
    0x8, 0x9, 0x3, 0x4002b, 0x6, 0xa, 0x3f800000, 0x7002c, 0x7, 0xb, 0xa, 0xa,
    0xa, 0xa, 0x90019, 0xc, 0x6, 0x6, 0x0, 0x0, 0x0, 0x2, 0x0, 0x40020,
    0xd, 0x0, 0xc, 0x4003b, 0xd, 0xe, 0x0, 0x40015, 0x10, 0x20, 0x1, 0x4002b,
    0x10, 0x11, 0x0, 0x40017, 0x12, 0x10, 0x2, 0x5002c, 0x12, 0x13, 0x11, 0x11,
    0x50036, 0x2, 0x4, 0x0, 0x3, 0x200f8, 0x5, 0x4003d, 0xc, 0xf, 0xe, 0x50062,
    0x7, 0x14, 0xf, 0x13, 0x50083, 0x7, 0x15, 0xb, 0x14, 0x3003e, 0x9, 0x15,
    0x100fd, 0x10038,
};
/* clang-format on */
#define SIZE 8
#define DRAWS 4
#define COLOR (integers ? VK_FORMAT_R16G16B16A16_UINT : VK_FORMAT_B8G8R8A8_UNORM)
#define DEPTH VK_FORMAT_D32_SFLOAT_S8_UINT

static VkRenderPass pass;
static VkPipelineLayout layout;
static VkDescriptorSet set;
static VkPipeline pipelines[2];
static VkFramebuffer framebuffer;
static VkQueryPool queries;
static int rendering, samples, subpasses, query, integers;

static struct Image color, depth, resolved, inverse;

static struct Image image(VkFormat format, uint32_t usage, uint32_t aspects, uint32_t count) {
  return make_image(format, SIZE, usage, aspects, count);
}

static void make_images(void) {
  const uint32_t target = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT, read = VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
  const uint32_t count = samples ? 4 : 1;
  color = image(COLOR,
                samples     ? target | VK_IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT
                : subpasses ? target | VK_IMAGE_USAGE_INPUT_ATTACHMENT_BIT
                            : target | read,
                VK_IMAGE_ASPECT_COLOR_BIT, count);
  depth = image(DEPTH, VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT,
                VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT, count);
  if (samples) resolved = image(COLOR, target | read, VK_IMAGE_ASPECT_COLOR_BIT, 1);
  if (subpasses) inverse = image(COLOR, target | read, VK_IMAGE_ASPECT_COLOR_BIT, 1);
}

static void make_pass(void) {
  const VkImageLayout drawn = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL, read = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
  VkAttachmentDescription of[3] = {
      {.format = COLOR, .samples = samples ? 4 : 1, .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR, .finalLayout = read},
      {.format = DEPTH,
       .samples = samples ? 4 : 1,
       .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
       .storeOp = VK_ATTACHMENT_STORE_OP_DONT_CARE,
       .stencilLoadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
       .stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE,
       .finalLayout = VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL},
      {.format = COLOR, .samples = 1, .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR, .finalLayout = read}};
  if (samples || subpasses) of[0].storeOp = VK_ATTACHMENT_STORE_OP_DONT_CARE, of[0].finalLayout = drawn;
  VkAttachmentReference to = {0, drawn}, deep = {1, VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL};
  VkAttachmentReference third = {2, drawn}, input = {0, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL};
  VkSubpassDescription parts[2] = {
      {.colorAttachmentCount = 1,
       .pColorAttachments = &to,
       .pResolveAttachments = samples ? &third : 0,
       .pDepthStencilAttachment = &deep},
      {.colorAttachmentCount = 1, .pColorAttachments = &third, .inputAttachmentCount = 1, .pInputAttachments = &input}};
  VkSubpassDependency then = {.srcSubpass = 0,
                              .dstSubpass = 1,
                              .srcStageMask = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT,
                              .dstStageMask = VK_PIPELINE_STAGE_FRAGMENT_SHADER_BIT,
                              .srcAccessMask = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT,
                              .dstAccessMask = VK_ACCESS_INPUT_ATTACHMENT_READ_BIT,
                              .dependencyFlags = VK_DEPENDENCY_BY_REGION_BIT};
  VkRenderPassCreateInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                 .attachmentCount = samples || subpasses ? 3 : 2,
                                 .pAttachments = of,
                                 .subpassCount = 1 + subpasses,
                                 .pSubpasses = parts,
                                 .dependencyCount = subpasses,
                                 .pDependencies = &then};
  CHECK(vkCreateRenderPass(device, &info, 0, &pass));
  VkImageView views[] = {color.view, depth.view, samples ? resolved.view : inverse.view};
  VkFramebufferCreateInfo with = {.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
                                  .renderPass = pass,
                                  .attachmentCount = info.attachmentCount,
                                  .pAttachments = views,
                                  .width = SIZE,
                                  .height = SIZE,
                                  .layers = 1};
  CHECK(vkCreateFramebuffer(device, &with, 0, &framebuffer));
}

static void make_layout(void) {
  VkDescriptorSetLayoutBinding binding = {.descriptorType = VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT,
                                          .descriptorCount = 1,
                                          .stageFlags = VK_SHADER_STAGE_FRAGMENT_BIT};
  VkDescriptorSetLayoutCreateInfo of = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 1, .pBindings = &binding};
  VkDescriptorSetLayout sets;
  CHECK(vkCreateDescriptorSetLayout(device, &of, 0, &sets));
  VkPushConstantRange push = {VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT, 0, 20};
  VkPipelineLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                     .setLayoutCount = 1,
                                     .pSetLayouts = &sets,
                                     .pushConstantRangeCount = 1,
                                     .pPushConstantRanges = &push};
  CHECK(vkCreatePipelineLayout(device, &info, 0, &layout));
  if (!subpasses) return;
  set = make_set(sets, (VkDescriptorPoolSize[]){{VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT, 1}}, 1);
  VkDescriptorImageInfo what = {0, color.view, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL};
  VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                .dstSet = set,
                                .descriptorCount = 1,
                                .descriptorType = VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT,
                                .pImageInfo = &what};
  vkUpdateDescriptorSets(device, 1, &write, 0, 0);
}

static VkPipeline pipeline(int subpass) {
  VkPipelineShaderStageCreateInfo stages[2] = {
      {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
       .stage = VK_SHADER_STAGE_VERTEX_BIT,
       .module = make_module(VERTEX, sizeof VERTEX),
       .pName = "main"},
      {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
       .stage = VK_SHADER_STAGE_FRAGMENT_BIT,
       .module = subpass ? make_module(INVERTS, sizeof INVERTS) : make_module(FRAGMENT, sizeof FRAGMENT),
       .pName = "main"}};
  VkPipelineVertexInputStateCreateInfo none = {.sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
  VkPipelineInputAssemblyStateCreateInfo shape = {.sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
                                                  .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST};
  VkViewport whole = {0, 0, SIZE, SIZE, 0, 1};
  VkPipelineViewportStateCreateInfo view = {.sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
                                            .viewportCount = 1,
                                            .pViewports = &whole,
                                            .scissorCount = 1};
  VkPipelineRasterizationStateCreateInfo raster = {.sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
                                                   .lineWidth = 1};
  VkPipelineMultisampleStateCreateInfo many = {.sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
                                               .rasterizationSamples = samples ? 4 : 1};
  VkStencilOpState more = {.passOp = VK_STENCIL_OP_INCREMENT_AND_CLAMP,
                           .compareOp = VK_COMPARE_OP_ALWAYS,
                           .compareMask = 255,
                           .writeMask = 255};
  VkPipelineDepthStencilStateCreateInfo tests = {.sType = VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO,
                                                 .depthTestEnable = 1,
                                                 .depthWriteEnable = 1,
                                                 .depthCompareOp = VK_COMPARE_OP_ALWAYS,
                                                 .stencilTestEnable = 1,
                                                 .front = more,
                                                 .back = more};
  VkPipelineColorBlendAttachmentState all = {.colorWriteMask = integers ? 0 : 15};
  VkPipelineColorBlendStateCreateInfo blend = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO, .attachmentCount = 1, .pAttachments = &all};
  VkDynamicState changes = VK_DYNAMIC_STATE_SCISSOR;
  VkPipelineDynamicStateCreateInfo dynamic = {.sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
                                              .dynamicStateCount = 1,
                                              .pDynamicStates = &changes};
  VkFormat format = COLOR;
  VkPipelineRenderingCreateInfo formats = {.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
                                           .colorAttachmentCount = 1,
                                           .pColorAttachmentFormats = &format,
                                           .depthAttachmentFormat = DEPTH,
                                           .stencilAttachmentFormat = DEPTH};
  VkGraphicsPipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                       .pNext = rendering ? &formats : 0,
                                       .stageCount = 2,
                                       .pStages = stages,
                                       .pVertexInputState = &none,
                                       .pInputAssemblyState = &shape,
                                       .pViewportState = &view,
                                       .pRasterizationState = &raster,
                                       .pMultisampleState = &many,
                                       .pDepthStencilState = &tests,
                                       .pColorBlendState = &blend,
                                       .pDynamicState = &dynamic,
                                       .layout = layout,
                                       .renderPass = rendering ? 0 : pass,
                                       .subpass = subpass};
  VkPipeline made;
  CHECK(vkCreateGraphicsPipelines(device, 0, 1, &info, 0, &made));
  return made;
}

static void draw(VkCommandBuffer to, int i) {
  float push[5] = {i * 50 / 255.0f, 1 - i * 50 / 255.0f, 128 / 255.0f, 1, i / 4.0f};
  VkRect2D part = {{samples ? 0 : i, 0}, {samples ? SIZE : SIZE - i, SIZE}};
  int last = subpasses && i == DRAWS - 1;
  vkCmdBindPipeline(to, VK_PIPELINE_BIND_POINT_GRAPHICS, pipelines[last]);
  if (last) vkCmdBindDescriptorSets(to, VK_PIPELINE_BIND_POINT_GRAPHICS, layout, 0, 1, &set, 0, 0);
  vkCmdSetScissor(to, 0, 1, &part);
  vkCmdPushConstants(to, layout, VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT, 0, sizeof push, push);
  VkClearAttachment cleared = {VK_IMAGE_ASPECT_COLOR_BIT, 0, {.color = {.uint32 = {i, 300, 7, 9}}}};
  VkClearRect columns = {part, 0, 1};
  if (integers) vkCmdClearAttachments(to, 1, &cleared, 1, &columns);
  if (query && i == 1) vkCmdBeginQuery(to, queries, 0, 0);
  vkCmdDraw(to, 3, 1, 0, 0);
  if (query && i == 1) vkCmdEndQuery(to, queries, 0);
}

static void begin_rendering(VkCommandBuffer to) {
  const uint32_t both = VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT;
  turn(to, color.image, VK_IMAGE_ASPECT_COLOR_BIT, 0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
  turn(to, depth.image, both, 0, VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL);
  VkRenderingAttachmentInfo drawn = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                     .imageView = color.view,
                                     .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                                     .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR};
  VkRenderingAttachmentInfo deep = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                    .imageView = depth.view,
                                    .imageLayout = VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL,
                                    .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                    .storeOp = VK_ATTACHMENT_STORE_OP_DONT_CARE};
  VkRenderingInfo info = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                          .renderArea = {{0, 0}, {SIZE, SIZE}},
                          .layerCount = 1,
                          .colorAttachmentCount = 1,
                          .pColorAttachments = &drawn,
                          .pDepthAttachment = &deep,
                          .pStencilAttachment = &deep};
  vkCmdBeginRendering(to, &info);
}

static void record(VkCommandBuffer to, VkCommandBuffer second, VkBuffer back) {
  VkCommandBufferInheritanceInfo inherited = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO, .renderPass = pass, .framebuffer = framebuffer};
  VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                    .flags = VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT,
                                    .pInheritanceInfo = &inherited};
  const int unfolded = rendering || subpasses || query || integers;
  if (!unfolded) {
    CHECK(vkBeginCommandBuffer(second, &begin));
    for (int i = 2; i < DRAWS; i++) draw(second, i);
    CHECK(vkEndCommandBuffer(second));
  }
  begin.flags = 0;
  CHECK(vkBeginCommandBuffer(to, &begin));
  if (query) vkCmdResetQueryPool(to, queries, 0, 1);
  VkClearValue clear[3] = {0};
  VkRenderPassBeginInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                .renderPass = pass,
                                .framebuffer = framebuffer,
                                .renderArea = {{0, 0}, {SIZE, SIZE}},
                                .clearValueCount = 3,
                                .pClearValues = clear};
  if (rendering)
    begin_rendering(to);
  else
    vkCmdBeginRenderPass(to, &info, VK_SUBPASS_CONTENTS_INLINE);
  for (int i = 0; i < (unfolded ? DRAWS : 2); i++) {
    if (subpasses && i == DRAWS - 1) vkCmdNextSubpass(to, VK_SUBPASS_CONTENTS_INLINE);
    draw(to, i);
  }
  if (rendering) {
    vkCmdEndRendering(to);
    turn(to, color.image, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
         VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
  } else {
    vkCmdEndRenderPass(to);
  }
  if (!unfolded) { /* another one, which clears again */
    vkCmdBeginRenderPass(to, &info, VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS);
    vkCmdExecuteCommands(to, 1, &second);
    vkCmdEndRenderPass(to);
  }
  VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1}, .imageExtent = {SIZE, SIZE, 1}};
  vkCmdCopyImageToBuffer(to,
                         samples     ? resolved.image
                         : subpasses ? inverse.image
                                     : color.image,
                         VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, back, 1, &region);
  CHECK(vkEndCommandBuffer(to));
}

/* An image of linear tiling that the program stores texels in, (x, y, 7, 255), and no command uses. */
static void make_linear(void) {
  VkImageCreateInfo info = of_one_level(VK_FORMAT_R8G8B8A8_UNORM, SIZE, VK_IMAGE_USAGE_SAMPLED_BIT, 1);
  info.tiling = VK_IMAGE_TILING_LINEAR;
  info.initialLayout = VK_IMAGE_LAYOUT_PREINITIALIZED;
  VkDeviceMemory memory = 0;
  VkImage made = place_image(&memory, 0, info);
  VkImageSubresource whole = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0};
  VkSubresourceLayout layout;
  vkGetImageSubresourceLayout(device, made, &whole, &layout);
  uint8_t* texels;
  CHECK(vkMapMemory(device, memory, 0, ~0ull, 0, (void**)&texels));
  for (int y = 0; y < SIZE; y++)
    for (int x = 0; x < SIZE; x++)
      memcpy(texels + layout.offset + y * layout.rowPitch + x * 4, (uint8_t[]){x, y, 7, 255}, 4);
}

/* The buffer is bound with an offset of its own, the image given with a template. */
static void record_dispatches(VkCommandBuffer to, VkBuffer buffer) {
  make_linear();
  struct Image stored = image(VK_FORMAT_R8G8B8A8_UNORM, VK_IMAGE_USAGE_STORAGE_BIT, VK_IMAGE_ASPECT_COLOR_BIT, 1);
  VkDescriptorSetLayoutBinding bindings[2] = {{.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC,
                                               .descriptorCount = 1,
                                               .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT},
                                              {.binding = 2,
                                               .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
                                               .descriptorCount = 1,
                                               .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT}};
  VkDescriptorSetLayoutCreateInfo of = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 2, .pBindings = bindings};
  VkDescriptorSetLayout sets;
  CHECK(vkCreateDescriptorSetLayout(device, &of, 0, &sets));
  VkPushConstantRange push = {VK_SHADER_STAGE_COMPUTE_BIT, 0, 4};
  VkPipelineLayoutCreateInfo with = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                     .setLayoutCount = 1,
                                     .pSetLayouts = &sets,
                                     .pushConstantRangeCount = 1,
                                     .pPushConstantRanges = &push};
  CHECK(vkCreatePipelineLayout(device, &with, 0, &layout));
  VkDescriptorPoolSize sizes[2] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC, 1},
                                   {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 1}};
  set = make_set(sets, sizes, 2);
  VkDescriptorBufferInfo words = {buffer, 0, 32};
  VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                .dstSet = set,
                                .descriptorCount = 1,
                                .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC,
                                .pBufferInfo = &words};
  vkUpdateDescriptorSets(device, 1, &write, 0, 0);
  VkDescriptorUpdateTemplateEntry entry = {
      .dstBinding = 2, .descriptorCount = 1, .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, .offset = 8};
  VkDescriptorUpdateTemplateCreateInfo shape = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO,
                                                .descriptorUpdateEntryCount = 1,
                                                .pDescriptorUpdateEntries = &entry,
                                                .descriptorSetLayout = sets};
  VkDescriptorUpdateTemplate update;
  CHECK(vkCreateDescriptorUpdateTemplate(device, &shape, 0, &update));
  struct {
    uint64_t gap;
    VkDescriptorImageInfo image;
  } what = {0, {0, stored.view, VK_IMAGE_LAYOUT_GENERAL}};
  vkUpdateDescriptorSetWithTemplate(device, set, update, &what);
  VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                .module = make_module(COMPUTE, sizeof COMPUTE),
                                                .pName = "main"},
                                      .layout = layout};
  CHECK(vkCreateComputePipelines(device, 0, 1, &info, 0, pipelines));
  begin_commands(to, 0);
  turn(to, stored.image, VK_IMAGE_ASPECT_COLOR_BIT, 0, VK_IMAGE_LAYOUT_GENERAL);
  vkCmdBindPipeline(to, VK_PIPELINE_BIND_POINT_COMPUTE, pipelines[0]);
  uint32_t behind = 256;
  vkCmdBindDescriptorSets(to, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 1, &behind);
  for (uint32_t k = 1; k < 3; k++) {
    vkCmdPushConstants(to, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &k);
    vkCmdDispatch(to, 1, 1, 1);
    turn(to, stored.image, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_GENERAL);
  }
  CHECK(vkEndCommandBuffer(to));
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "pass";
  rendering = !strcmp(mode, "rendering"), samples = !strcmp(mode, "samples");
  subpasses = !strcmp(mode, "subpasses"), query = !strcmp(mode, "query");
  integers = !strcmp(mode, "integers");
  const VkPhysicalDeviceVulkan13Features newer = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
                                                  .dynamicRendering = 1};
  start_with((struct Wanted){.minor = 3, .newer = rendering ? &newer : 0});
  make_images();
  if (!rendering) make_pass();
  const int dispatch = !strcmp(mode, "dispatch");
  if (!dispatch) make_layout();
  for (int i = 0; i <= subpasses && !dispatch; i++) pipelines[i] = pipeline(i);
  VkQueryPoolCreateInfo asks = {
      .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_OCCLUSION, .queryCount = 1};
  CHECK(vkCreateQueryPool(device, &asks, 0, &queries));
  struct Buffer back = make_buffer(512, VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
  VkCommandPool pool = make_pool(0);
  VkCommandBuffer first = make_commands(pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  VkCommandBuffer second = make_commands(pool, VK_COMMAND_BUFFER_LEVEL_SECONDARY);
  if (dispatch)
    record_dispatches(first, back.buffer);
  else
    record(first, second, back.buffer);
  vkDestroyPipelineLayout(device, layout, 0); /* what is recorded does not need it */
  for (int i = 0; i < 2; i++) submit_and_wait(first);
  const uint32_t* pixels = (const uint32_t*)back.at;
  for (int i = 0; i < SIZE; i++) printf("%08x%s", pixels[i], i < SIZE - 1 ? " " : "\n");
  return 0;
}
