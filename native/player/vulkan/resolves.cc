// Depth and stencil of several samples: a render pass of our own leaves the first sample of each pixel in an image that
// can be copied.
#include "copier.h"

namespace dt::play::vk {
namespace {

VkAttachmentDescription2 attachment(const Shot& shot, uint32_t samples, VkImageLayout before, VkImageLayout behind) {
  VkAttachmentDescription2 out{};
  out.format = shot.format;
  out.samples = samples;
  const bool kept = before != VK_IMAGE_LAYOUT_UNDEFINED;
  out.loadOp = out.stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE;
  if (kept) out.loadOp = out.stencilLoadOp = VK_ATTACHMENT_LOAD_OP_LOAD;
  out.storeOp = out.stencilStoreOp = VK_ATTACHMENT_STORE_OP_STORE;
  out.initialLayout = before, out.finalLayout = behind;
  return out;
}

}  // namespace

const char* Copier::cannot_resolve() const {
  if (device_.get(number::vkCreateRenderPass2)) return nullptr;
  return "the program's version of Vulkan resolves no depth or stencil";
}

VkRenderPass Copier::resolving_pass(const Shot& shot, VkImageLayout layout) {
  const VkAttachmentDescription2 attachments[2] = {
      attachment(shot, shot.samples, layout, layout),
      attachment(shot, VK_SAMPLE_COUNT_1_BIT, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL)};
  VkAttachmentReference2 references[2] = {};
  for (uint32_t i = 0; i < 2; ++i) {
    references[i].attachment = i;
    references[i].layout = VK_IMAGE_LAYOUT_GENERAL;
    references[i].aspectMask = shot.aspect;
  }
  VkSubpassDescriptionDepthStencilResolve resolve{};
  if (has_depth(shot.format)) resolve.depthResolveMode = VK_RESOLVE_MODE_SAMPLE_ZERO_BIT;
  if (has_stencil(shot.format)) resolve.stencilResolveMode = VK_RESOLVE_MODE_SAMPLE_ZERO_BIT;
  resolve.pDepthStencilResolveAttachment = &references[1];
  VkSubpassDescription2 subpass{};
  subpass.pNext = &resolve;
  subpass.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS;
  subpass.pDepthStencilAttachment = &references[0];
  VkRenderPassCreateInfo2 info{};
  info.attachmentCount = 2;
  info.pAttachments = attachments;
  info.subpassCount = 1;
  info.pSubpasses = &subpass;
  return vk::make(device_, DT_VK(device_, vkCreateRenderPass2), info, "a render pass that resolves depth");
}

VkImageView Copier::view_of(VkImage image, VkFormat format, uint32_t level, uint32_t layer) {
  VkImageViewCreateInfo info{};
  info.image = image;
  info.viewType = VK_IMAGE_VIEW_TYPE_2D;
  info.format = format;
  info.subresourceRange = {aspects_of(format), level, 1, layer, 1};
  return vk::make(device_, DT_VK(device_, vkCreateImageView), info, "a view of an image");
}

// Returns the image that has the first samples, in the general layout. `layout`: the one that the shot's image is in.
VkImage Copier::resolve_depth(const Shot& shot, VkImageLayout layout) {
  Room room = image_room(shot.format, shot, VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT);
  room.pass = resolving_pass(shot, layout);
  room.views[0] = view_of(shot.image, shot.format, shot.level, shot.layer);
  room.views[1] = view_of(room.image, shot.format, 0, 0);
  room.framebuffer = framebuffer(room.pass, {room.views[0], room.views[1]}, {shot.width, shot.height});
  submission_.rooms.push_back(room);
  VkRenderPassBeginInfo begins{};
  begins.renderPass = room.pass;
  begins.framebuffer = room.framebuffer;
  begins.renderArea.extent = {shot.width, shot.height};
  DT_VK(device_, vkCmdBeginRenderPass)(to_, &begins, VK_SUBPASS_CONTENTS_INLINE);
  DT_VK(device_, vkCmdEndRenderPass)(to_);
  return room.image;
}

}  // namespace dt::play::vk
