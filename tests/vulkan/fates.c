/* What may happen to a pixel: draws that write it, draws that each fail another test, clears, an upload and a copy, to
 * an image of 16 x 16 pixels. tests/vulkan/test_pixel_history.py has what each command does to the pixel (10, 12),
 * counted from the lower left corner. Prints the pixel.
 *
 * Argument: "pass" render passes and pipelines with all state; "rendering" dynamic rendering and dynamic state; "query"
 * as "pass", with a query around the draws; "many" as "pass", each draw of three instances; "indexed" as "pass", each
 * draw a strip of indices, which begins anew once, of two instances; "early" as "pass", the shader that discards tests
 * before. */
#include "vk.h"
#include "check.h"
#include "draw_shaders.h"
#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE 16
#define X 10
#define Y (SIZE - 1 - 12)
#define COLOR VK_FORMAT_R8G8B8A8_UNORM
#define DEPTH VK_FORMAT_D32_SFLOAT_S8_UINT
#define BOTH (VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT)

static VkRenderPass passes[2]; /* one that clears, one that loads */
static VkFramebuffer framebuffer;
static VkPipelineLayout layout;
static VkShaderModule vertex, plain, discards;
static VkQueryPool queries;
static VkBuffer shape;
static VkDescriptorSet set;
static int rendering, query, stores, many, indexed, early;

static struct Image color, depth, other;

static void make_passes(void) {
  const VkImageLayout drawn = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL;
  const VkImageLayout deep = VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL;
  VkAttachmentReference to = {0, drawn}, below = {1, deep};
  VkSubpassDescription part = {.colorAttachmentCount = 1, .pColorAttachments = &to, .pDepthStencilAttachment = &below};
  for (int loads = 0; loads < 2; loads++) {
    const VkAttachmentLoadOp load = loads ? VK_ATTACHMENT_LOAD_OP_LOAD : VK_ATTACHMENT_LOAD_OP_CLEAR;
    VkAttachmentDescription of[2] = {
        {.format = COLOR, .samples = 1, .loadOp = load, .initialLayout = loads ? drawn : 0, .finalLayout = drawn},
        {.format = DEPTH,
         .samples = 1,
         .loadOp = load,
         .stencilLoadOp = load,
         .initialLayout = loads ? deep : 0,
         .finalLayout = deep}};
    VkRenderPassCreateInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                   .attachmentCount = 2,
                                   .pAttachments = of,
                                   .subpassCount = 1,
                                   .pSubpasses = &part};
    CHECK(vkCreateRenderPass(device, &info, 0, &passes[loads]));
  }
  VkImageView views[] = {color.view, depth.view};
  VkFramebufferCreateInfo with = {.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
                                  .renderPass = passes[0],
                                  .attachmentCount = 2,
                                  .pAttachments = views,
                                  .width = SIZE,
                                  .height = SIZE,
                                  .layers = 1};
  CHECK(vkCreateFramebuffer(device, &with, 0, &framebuffer));
}

/* The shader that discards, with its execution mode EarlyFragmentTests behind the first one. */
static VkShaderModule early_module(void) {
  uint32_t words[sizeof DISCARDS / 4 + 3];
  size_t at = 5;
  while ((DISCARDS[at] & 0xffff) != 16) at += DISCARDS[at] >> 16;
  memcpy(words, DISCARDS, at * 4);
  memcpy(words + at, (uint32_t[]){3 << 16 | 16, DISCARDS[at + 1], 9}, 12);
  memcpy(words + at + 3, DISCARDS + at, sizeof DISCARDS - at * 4);
  return make_module(words, sizeof words);
}

/* A layout, with a set that has the buffer where shaders store. */
static void make_layout(VkBuffer to) {
  VkDescriptorSetLayoutBinding binding = {.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                          .descriptorCount = 1,
                                          .stageFlags = VK_SHADER_STAGE_FRAGMENT_BIT};
  VkDescriptorSetLayoutCreateInfo of = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 1, .pBindings = &binding};
  VkDescriptorSetLayout sets;
  CHECK(vkCreateDescriptorSetLayout(device, &of, 0, &sets));
  VkPushConstantRange push = {VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT, 0, 20};
  VkPipelineLayoutCreateInfo with = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                     .setLayoutCount = 1,
                                     .pSetLayouts = &sets,
                                     .pushConstantRangeCount = 1,
                                     .pPushConstantRanges = &push};
  CHECK(vkCreatePipelineLayout(device, &with, 0, &layout));
  set = make_set(sets, (VkDescriptorPoolSize[]){{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1}}, 1);
  VkDescriptorBufferInfo what = {to, 0, 64};
  VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                .dstSet = set,
                                .descriptorCount = 1,
                                .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                .pBufferInfo = &what};
  vkUpdateDescriptorSets(device, 1, &write, 0, 0);
}

/* What a draw does, unless it is 0. */
struct Fate {
  float rgba[4], depth;
  VkRect2D box;  /* of the scissor, or all */
  VkRect2D seen; /* the viewport, or all */
  int culled, discards, masked, no_samples;
  VkCompareOp deep; /* the depth test, or less */
  int writes_no_depth;
  VkStencilOpState stencil; /* the test is on where the write mask is not 0 */
};

static VkPipeline pipeline(const struct Fate* f) {
  VkPipelineShaderStageCreateInfo stages[2] = {{.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                .stage = VK_SHADER_STAGE_VERTEX_BIT,
                                                .module = vertex,
                                                .pName = "main"},
                                               {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                .stage = VK_SHADER_STAGE_FRAGMENT_BIT,
                                                .module = f->discards ? discards : plain,
                                                .pName = "main"}};
  const VkVertexInputBindingDescription by[] = {{0, 8, VK_VERTEX_INPUT_RATE_VERTEX},
                                                {1, 4, VK_VERTEX_INPUT_RATE_INSTANCE}};
  const VkVertexInputAttributeDescription of[] = {{0, 0, VK_FORMAT_R32G32_SFLOAT, 0}, {1, 1, COLOR, 0}};
  VkPipelineVertexInputStateCreateInfo given = {.sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
                                                .vertexBindingDescriptionCount = indexed ? 2 : 0,
                                                .pVertexBindingDescriptions = by,
                                                .vertexAttributeDescriptionCount = indexed ? 2 : 0,
                                                .pVertexAttributeDescriptions = of};
  VkPipelineInputAssemblyStateCreateInfo shape = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
      .topology = indexed ? VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP : VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
      .primitiveRestartEnable = indexed};
  VkViewport seen = {f->seen.offset.x, f->seen.offset.y, f->seen.extent.width, f->seen.extent.height, 0, 1};
  VkPipelineViewportStateCreateInfo view = {.sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
                                            .viewportCount = 1,
                                            .pViewports = &seen,
                                            .scissorCount = rendering ? 0 : 1,
                                            .pScissors = &f->box};
  VkPipelineRasterizationStateCreateInfo raster = {.sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
                                                   .cullMode = f->culled ? VK_CULL_MODE_FRONT_AND_BACK : 0,
                                                   .lineWidth = 1};
  const VkSampleMask no_samples = 0;
  VkPipelineMultisampleStateCreateInfo many = {.sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
                                               .rasterizationSamples = 1,
                                               .pSampleMask = f->no_samples ? &no_samples : 0};
  VkPipelineDepthStencilStateCreateInfo tests = {.sType = VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO,
                                                 .depthTestEnable = 1,
                                                 .depthWriteEnable = !f->writes_no_depth,
                                                 .depthCompareOp = f->deep ? f->deep : VK_COMPARE_OP_LESS,
                                                 .stencilTestEnable = f->stencil.writeMask != 0,
                                                 .front = f->stencil,
                                                 .back = f->stencil};
  VkPipelineColorBlendAttachmentState all = {.colorWriteMask = f->masked ? 0 : 15};
  VkPipelineColorBlendStateCreateInfo blend = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO, .attachmentCount = 1, .pAttachments = &all};
  VkDynamicState changes[] = {VK_DYNAMIC_STATE_SCISSOR_WITH_COUNT, VK_DYNAMIC_STATE_CULL_MODE,
                              VK_DYNAMIC_STATE_DEPTH_TEST_ENABLE,  VK_DYNAMIC_STATE_DEPTH_WRITE_ENABLE,
                              VK_DYNAMIC_STATE_DEPTH_COMPARE_OP,   VK_DYNAMIC_STATE_STENCIL_TEST_ENABLE};
  VkPipelineDynamicStateCreateInfo dynamic = {.sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
                                              .dynamicStateCount = rendering ? 6 : 0,
                                              .pDynamicStates = changes};
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
                                       .pVertexInputState = &given,
                                       .pInputAssemblyState = &shape,
                                       .pViewportState = &view,
                                       .pRasterizationState = &raster,
                                       .pMultisampleState = &many,
                                       .pDepthStencilState = &tests,
                                       .pColorBlendState = &blend,
                                       .pDynamicState = &dynamic,
                                       .layout = layout,
                                       .renderPass = rendering ? 0 : passes[0]};
  VkPipeline made;
  CHECK(vkCreateGraphicsPipelines(device, 0, 1, &info, 0, &made));
  return made;
}

static void draw(VkCommandBuffer to, struct Fate f) {
  const VkRect2D all = {{0, 0}, {SIZE, SIZE}};
  if (!f.box.extent.width) f.box = all;
  if (!f.seen.extent.width) f.seen = all;
  float push[5] = {f.rgba[0], f.rgba[1], f.rgba[2], f.rgba[3], f.depth};
  vkCmdBindPipeline(to, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline(&f));
  if (rendering) {
    vkCmdSetScissorWithCount(to, 1, &f.box);
    vkCmdSetCullMode(to, f.culled ? VK_CULL_MODE_FRONT_AND_BACK : 0);
    vkCmdSetDepthTestEnable(to, 1);
    vkCmdSetDepthWriteEnable(to, !f.writes_no_depth);
    vkCmdSetDepthCompareOp(to, f.deep ? f.deep : VK_COMPARE_OP_LESS);
    vkCmdSetStencilTestEnable(to, f.stencil.writeMask != 0);
  }
  vkCmdBindDescriptorSets(to, VK_PIPELINE_BIND_POINT_GRAPHICS, layout, 0, 1, &set, 0, 0);
  vkCmdPushConstants(to, layout, VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT, 0, sizeof push, push);
  if (!indexed) return vkCmdDraw(to, 3, many ? 3 : 1, 0, 0);
  VkDeviceSize at[] = {8, 72};
  vkCmdBindVertexBuffers(to, 0, 2, (VkBuffer[]){shape, shape}, at);
  vkCmdBindIndexBuffer(to, shape, 96, VK_INDEX_TYPE_UINT16);
  vkCmdDrawIndexed(to, 8, 2, 1, 1, 1);
}

static void begin(VkCommandBuffer to, int loads) {
  VkClearValue clear[2] = {{.color = {.float32 = {0.2f, 0.4f, 0.6f, 1}}}, {.depthStencil = {1, 0}}};
  VkRect2D all = {{0, 0}, {SIZE, SIZE}};
  VkRenderPassBeginInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                .renderPass = passes[loads],
                                .framebuffer = framebuffer,
                                .renderArea = all,
                                .clearValueCount = 2,
                                .pClearValues = clear};
  if (!rendering) return vkCmdBeginRenderPass(to, &info, VK_SUBPASS_CONTENTS_INLINE);
  const VkAttachmentLoadOp load = loads ? VK_ATTACHMENT_LOAD_OP_LOAD : VK_ATTACHMENT_LOAD_OP_CLEAR;
  VkRenderingAttachmentInfo drawn = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                     .imageView = color.view,
                                     .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                                     .loadOp = load,
                                     .clearValue = clear[0]};
  VkRenderingAttachmentInfo deep = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                    .imageView = depth.view,
                                    .imageLayout = VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL,
                                    .loadOp = load,
                                    .clearValue = clear[1]};
  VkRenderingInfo parts = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                           .renderArea = all,
                           .layerCount = 1,
                           .colorAttachmentCount = 1,
                           .pColorAttachments = &drawn,
                           .pDepthAttachment = &deep,
                           .pStencilAttachment = &deep};
  vkCmdBeginRendering(to, &parts);
}

static void end(VkCommandBuffer to) { rendering ? vkCmdEndRendering(to) : vkCmdEndRenderPass(to); }

static void clear(VkCommandBuffer to, VkRect2D box) {
  VkClearAttachment what = {VK_IMAGE_ASPECT_COLOR_BIT, 0, {.color = {.float32 = {1, 1, 0, 1}}}};
  VkClearRect where = {box, 0, 1};
  vkCmdClearAttachments(to, 1, &what, 1, &where);
}

#define BLUE .rgba = {0, 0, 1, 1}, .depth = 0.25f
#define RED .rgba = {1, 0, 0, 1}, .depth = 0.5f
static void fates(VkCommandBuffer to) {
  const VkRect2D corner = {{0, 0}, {4, 4}}, most = {{4, 0}, {12, 16}};
  begin(to, 0);
  draw(to, (struct Fate){RED});
  draw(to, (struct Fate){.rgba = {0, 0, 1, 1}, .depth = 0.75f});
  draw(to, (struct Fate){BLUE, .culled = 1});
  draw(to, (struct Fate){BLUE, .box = corner});
  draw(to, (struct Fate){BLUE, .seen = corner});
  clear(to, corner);
  draw(to, (struct Fate){.rgba = {0, 0, 1, 0}, .depth = 0.25f, .discards = 1});
  draw(to, (struct Fate){BLUE, .no_samples = 1});
  draw(to,
       (struct Fate){
           BLUE, .stencil = {.compareOp = VK_COMPARE_OP_EQUAL, .compareMask = 255, .writeMask = 255, .reference = 1}});
  draw(to, (struct Fate){BLUE, .masked = 1, .writes_no_depth = 1});
  if (query) vkCmdBeginQuery(to, queries, 0, 0);
  draw(to, (struct Fate){RED, .deep = VK_COMPARE_OP_LESS_OR_EQUAL});
  draw(to, (struct Fate){.rgba = {0, 1, 0, 1}, .depth = 0.375f, .discards = 1});
  if (query) vkCmdEndQuery(to, queries, 0);
  draw(to, (struct Fate){
               BLUE, .masked = 1, .writes_no_depth = 1,
               .stencil = {
                   .passOp = VK_STENCIL_OP_INCREMENT_AND_CLAMP, .compareOp = VK_COMPARE_OP_ALWAYS, .writeMask = 255}});
  draw(to, (struct Fate){BLUE, .stencil = {.failOp = VK_STENCIL_OP_INCREMENT_AND_CLAMP,
                                           .compareOp = VK_COMPARE_OP_NEVER,
                                           .writeMask = 255}});
  clear(to, most);
  end(to);
}

static void transfers(VkCommandBuffer to, VkBuffer texels) {
  turn(to, color.image, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL, VK_IMAGE_LAYOUT_GENERAL);
  turn(to, other.image, VK_IMAGE_ASPECT_COLOR_BIT, 0, VK_IMAGE_LAYOUT_GENERAL);
  VkImageSubresourceLayers part = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
  VkBufferImageCopy texel = {.imageSubresource = part, .imageOffset = {X, Y, 0}, .imageExtent = {1, 1, 1}};
  vkCmdCopyBufferToImage(to, texels, color.image, VK_IMAGE_LAYOUT_GENERAL, 1, &texel);
  texel.imageOffset.x = 0;
  vkCmdCopyBufferToImage(to, texels, color.image, VK_IMAGE_LAYOUT_GENERAL, 1, &texel);
  VkClearColorValue white = {.float32 = {1, 1, 1, 1}};
  VkImageSubresourceRange whole = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
  vkCmdClearColorImage(to, other.image, VK_IMAGE_LAYOUT_GENERAL, &white, 1, &whole);
  turn(to, other.image, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_GENERAL);
  VkImageBlit region = {part, {{0, 0, 0}, {SIZE, SIZE, 1}}, part, {{SIZE, SIZE, 0}, {8, 0, 1}}};
  vkCmdBlitImage(to, other.image, VK_IMAGE_LAYOUT_GENERAL, color.image, VK_IMAGE_LAYOUT_GENERAL, 1, &region, 0);
  turn(to, color.image, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
}

/* The last draw is submitted by itself. */
static void record(VkCommandBuffer to, VkCommandBuffer last, VkBuffer texels, VkBuffer back) {
  begin_commands(to, 0);
  if (query) vkCmdResetQueryPool(to, queries, 0, 1);
  if (rendering) {
    turn(to, color.image, VK_IMAGE_ASPECT_COLOR_BIT, 0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    turn(to, depth.image, BOTH, 0, VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL);
  }
  fates(to);
  transfers(to, texels);
  CHECK(vkEndCommandBuffer(to));
  to = last;
  begin_commands(to, 0);
  begin(to, 1);
  draw(to, (struct Fate){.rgba = {0, 1, 0, 1}, .depth = 0.125f});
  end(to);
  turn(to, color.image, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
       VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
  VkBufferImageCopy texel = {
      .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1}, .imageOffset = {X, Y, 0}, .imageExtent = {1, 1, 1}};
  vkCmdCopyImageToBuffer(to, color.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, back, 1, &texel);
  CHECK(vkEndCommandBuffer(to));
}

static struct Buffer buffer(void) {
  return make_buffer(128, VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                              VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_VERTEX_BUFFER_BIT |
                              VK_BUFFER_USAGE_INDEX_BUFFER_BIT);
}

/* Vertex i at (i / 8 - 0.5, 0.5 or -0.25), instance i moved up by i - 1; strips of vertices 1 to 4 and 5 to 7. */
static void make_shape(void) {
  const struct Buffer made = buffer();
  uint8_t* to = made.at;
  shape = made.buffer;
  float places[16];
  for (int i = 0; i < 8; i++) places[2 * i] = i / 8.0f - 0.5f, places[2 * i + 1] = i & 1 ? 0.5f : -0.25f;
  memcpy(to + 8, places, sizeof places);
  memcpy(to + 72, (uint8_t[]){9, 9, 9, 9, 0, 0, 51, 255, 0, 255, 102, 255}, 12);
  memcpy(to + 96, (uint16_t[]){7, 0, 1, 2, 3, 0xffff, 4, 5, 6}, 18);
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "pass";
  rendering = !strcmp(mode, "rendering"), query = !strcmp(mode, "query");
  stores = !strcmp(mode, "stores"), many = !strcmp(mode, "many"), indexed = !strcmp(mode, "indexed");
  early = !strcmp(mode, "early");
  const VkPhysicalDeviceVulkan13Features newer = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
                                                  .dynamicRendering = 1};
  const VkPhysicalDeviceFeatures features = {.fragmentStoresAndAtomics = 1};
  start_with((struct Wanted){.minor = 3, .newer = rendering ? &newer : 0, .features = stores ? &features : 0});
  const uint32_t target = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT, copied = VK_IMAGE_USAGE_TRANSFER_DST_BIT;
  color = make_image(COLOR, SIZE, target | copied | VK_IMAGE_USAGE_TRANSFER_SRC_BIT, VK_IMAGE_ASPECT_COLOR_BIT, 1);
  depth = make_image(DEPTH, SIZE, VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT, BOTH, 1);
  other = make_image(COLOR, SIZE, target | copied | VK_IMAGE_USAGE_TRANSFER_SRC_BIT, VK_IMAGE_ASPECT_COLOR_BIT, 1);
  if (!rendering) make_passes();
  if (indexed) make_shape();
  vertex = indexed ? make_module(PLACED, sizeof PLACED) : make_module(VERTEX, sizeof VERTEX);
  plain = stores ? make_module(STORES, sizeof STORES) : make_module(FRAGMENT, sizeof FRAGMENT);
  discards = early ? early_module() : make_module(DISCARDS, sizeof DISCARDS);
  VkQueryPoolCreateInfo asks = {
      .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_OCCLUSION, .queryCount = 1};
  CHECK(vkCreateQueryPool(device, &asks, 0, &queries));
  const struct Buffer texels = buffer(), back = buffer();
  make_layout(buffer().buffer);
  memcpy(texels.at, (uint8_t[]){1, 2, 3, 4}, 4);
  VkCommandPool pool = make_pool(0);
  VkCommandBuffer most = make_commands(pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  VkCommandBuffer last = make_commands(pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  record(most, last, texels.buffer, back.buffer);
  vkDestroyShaderModule(device, vertex, 0); /* pipelines that are there do not need them */
  vkDestroyShaderModule(device, plain, 0);
  vkDestroyShaderModule(device, discards, 0);
  submit(most);
  submit_and_wait(last);
  printf("%d %d %d %d\n", back.at[0], back.at[1], back.at[2], back.at[3]);
  return 0;
}
