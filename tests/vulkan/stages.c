/* Draws through each stage that makes vertices, to an image of 16 x 16 pixels: a geometry shader, tessellation, numbers
 * in a buffer, and vertex input that a command gives. tests/vulkan/test_meshes.py has what comes out. */
#include "vk.h"
#include "check.h"
#include "device.h"
#include "stage_shaders.h"

#include <string.h>

#define SIZE 16
#define COLOR VK_FORMAT_R8G8B8A8_UNORM

static VkPipelineLayout layout;

struct Stages {
  int geometry, tessellation, dynamic;
};

static VkPipeline pipeline(struct Stages with) {
  const VkShaderStageFlagBits kinds[] = {
      VK_SHADER_STAGE_VERTEX_BIT, VK_SHADER_STAGE_FRAGMENT_BIT,
      with.geometry ? VK_SHADER_STAGE_GEOMETRY_BIT : VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT,
      VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT};
  VkShaderModule modules[] = {
      make_module(PLACES, sizeof PLACES), make_module(WHITE, sizeof WHITE),
      with.geometry ? make_module(QUADS_OF_POINTS, sizeof QUADS_OF_POINTS) : make_module(HALVES, sizeof HALVES),
      make_module(BETWEEN, sizeof BETWEEN)};
  VkPipelineShaderStageCreateInfo stages[4];
  for (int i = 0; i < 4; i++)
    stages[i] = (VkPipelineShaderStageCreateInfo){.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                  .stage = kinds[i],
                                                  .module = modules[i],
                                                  .pName = "main"};
  VkVertexInputBindingDescription binding = {.stride = 8};
  VkVertexInputAttributeDescription place = {.format = VK_FORMAT_R32G32_SFLOAT};
  VkPipelineVertexInputStateCreateInfo given = {.sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
                                                .vertexBindingDescriptionCount = 1,
                                                .pVertexBindingDescriptions = &binding,
                                                .vertexAttributeDescriptionCount = 1,
                                                .pVertexAttributeDescriptions = &place};
  VkPipelineInputAssemblyStateCreateInfo shape = {.sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
                                                  .topology = with.geometry ? VK_PRIMITIVE_TOPOLOGY_POINT_LIST
                                                              : with.tessellation
                                                                  ? VK_PRIMITIVE_TOPOLOGY_PATCH_LIST
                                                                  : VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST};
  VkPipelineTessellationStateCreateInfo patches = {.sType = VK_STRUCTURE_TYPE_PIPELINE_TESSELLATION_STATE_CREATE_INFO,
                                                   .patchControlPoints = 3};
  VkViewport seen = {0, 0, SIZE, SIZE, 0, 1};
  VkRect2D box = {{0, 0}, {SIZE, SIZE}};
  VkPipelineViewportStateCreateInfo view = {.sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
                                            .viewportCount = 1,
                                            .pViewports = &seen,
                                            .scissorCount = 1,
                                            .pScissors = &box};
  VkPipelineRasterizationStateCreateInfo raster = {.sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
                                                   .lineWidth = 1};
  VkPipelineMultisampleStateCreateInfo one = {.sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
                                              .rasterizationSamples = 1};
  VkPipelineColorBlendAttachmentState all = {.colorWriteMask = 15};
  VkPipelineColorBlendStateCreateInfo blend = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO, .attachmentCount = 1, .pAttachments = &all};
  VkDynamicState change = VK_DYNAMIC_STATE_VERTEX_INPUT_EXT;
  VkPipelineDynamicStateCreateInfo dynamic = {.sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
                                              .dynamicStateCount = with.dynamic,
                                              .pDynamicStates = &change};
  VkFormat format = COLOR;
  VkPipelineRenderingCreateInfo formats = {.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
                                           .colorAttachmentCount = 1,
                                           .pColorAttachmentFormats = &format};
  VkGraphicsPipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                       .pNext = &formats,
                                       .stageCount = 2 + with.geometry + 2 * with.tessellation,
                                       .pStages = stages,
                                       .pVertexInputState = with.dynamic ? 0 : &given,
                                       .pInputAssemblyState = &shape,
                                       .pTessellationState = &patches,
                                       .pViewportState = &view,
                                       .pRasterizationState = &raster,
                                       .pMultisampleState = &one,
                                       .pColorBlendState = &blend,
                                       .pDynamicState = &dynamic,
                                       .layout = layout};
  VkPipeline made;
  CHECK(vkCreateGraphicsPipelines(device, 0, 1, &info, 0, &made));
  return made;
}

static void bind(VkCommandBuffer to, struct Stages with) {
  vkCmdBindPipeline(to, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline(with));
}

int main(void) {
  VkPhysicalDeviceVertexInputDynamicStateFeaturesEXT given = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VERTEX_INPUT_DYNAMIC_STATE_FEATURES_EXT, .vertexInputDynamicState = 1};
  const VkPhysicalDeviceVulkan13Features newer = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES, .pNext = &given, .dynamicRendering = 1};
  const VkPhysicalDeviceFeatures features = {.geometryShader = 1, .tessellationShader = 1};
  start_with((struct Wanted){
      .minor = 3, .extension = "VK_EXT_vertex_input_dynamic_state", .newer = &newer, .features = &features});
  void (*set_input)(VkCommandBuffer, uint32_t, const VkVertexInputBindingDescription2EXT*, uint32_t,
                    const VkVertexInputAttributeDescription2EXT*) =
      (void*)vkGetDeviceProcAddr(device, "vkCmdSetVertexInputEXT");
  VkPipelineLayoutCreateInfo empty = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  CHECK(vkCreatePipelineLayout(device, &empty, 0, &layout));
  struct Image color =
      make_image(COLOR, SIZE, VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT, VK_IMAGE_ASPECT_COLOR_BIT, VK_SAMPLE_COUNT_1_BIT);
  struct Buffer shape = make_buffer(128, VK_BUFFER_USAGE_VERTEX_BUFFER_BIT | VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT);
  float places[16];
  for (int i = 0; i < 8; i++) places[2 * i] = i / 8.0f - 0.5f, places[2 * i + 1] = i & 1 ? 0.25f : -0.25f;
  memcpy(shape.at, places, sizeof places);
  memcpy(shape.at + 64, (uint32_t[]){3, 2, 2, 0}, 16);
  VkCommandBuffer to = make_commands(make_pool(0), VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  begin_commands(to, 0);
  turn(to, color.image, VK_IMAGE_ASPECT_COLOR_BIT, 0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
  VkRenderingAttachmentInfo drawn = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                     .imageView = color.view,
                                     .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                                     .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR};
  VkRenderingInfo parts = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                           .renderArea = {{0, 0}, {SIZE, SIZE}},
                           .layerCount = 1,
                           .colorAttachmentCount = 1,
                           .pColorAttachments = &drawn};
  vkCmdBeginRendering(to, &parts);
  const VkDeviceSize from = 0;
  vkCmdBindVertexBuffers(to, 0, 1, &shape.buffer, &from);
  bind(to, (struct Stages){.geometry = 1});
  vkCmdDraw(to, 2, 1, 0, 0);
  bind(to, (struct Stages){.tessellation = 1});
  vkCmdDraw(to, 3, 1, 0, 0);
  bind(to, (struct Stages){0});
  vkCmdDrawIndirect(to, shape.buffer, 64, 1, 16);
  bind(to, (struct Stages){.dynamic = 1});
  VkVertexInputBindingDescription2EXT binding = {
      .sType = VK_STRUCTURE_TYPE_VERTEX_INPUT_BINDING_DESCRIPTION_2_EXT, .stride = 16, .divisor = 1};
  VkVertexInputAttributeDescription2EXT place = {.sType = VK_STRUCTURE_TYPE_VERTEX_INPUT_ATTRIBUTE_DESCRIPTION_2_EXT,
                                                 .format = VK_FORMAT_R32G32_SFLOAT};
  set_input(to, 1, &binding, 1, &place);
  vkCmdDraw(to, 3, 1, 0, 0); /* every other vertex */
  vkCmdEndRendering(to);
  CHECK(vkEndCommandBuffer(to));
  submit_and_wait(to);
  return 0;
}
