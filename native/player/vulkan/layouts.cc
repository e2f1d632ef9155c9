// The layouts that images are in, by the commands that were submitted.
#include <algorithm>

#include "chain.h"
#include "snapshots.h"

namespace dt::play::vk {
namespace {

uint32_t part(uint32_t first, uint32_t count, uint32_t all) {
  return first >= all ? 0 : std::min(count, all - first);  // VK_REMAINING_... is the largest number
}

}  // namespace

void Snapshots::turn(VkImage of, const VkImageSubresourceRange& range, VkImageLayout to) {
  auto it = images_.find(of);
  if (it == images_.end()) return;
  KeptImage& image = it->second;
  image.layouts.resize(size_t{image.levels} * image.layers, image.initial);
  const uint32_t layers =
      image.type == VK_IMAGE_TYPE_3D ? 1 : part(range.baseArrayLayer, range.layerCount, image.layers);
  const uint32_t first = image.type == VK_IMAGE_TYPE_3D ? 0 : range.baseArrayLayer;
  for (uint32_t level = 0; level < part(range.baseMipLevel, range.levelCount, image.levels); ++level)
    for (uint32_t layer = 0; layer < layers; ++layer)
      image.layouts[size_t{range.baseMipLevel + level} * image.layers + first + layer] = to;
}

VkImageLayout KeptImage::layout(uint32_t level, uint32_t layer) const {
  const size_t at = size_t{level} * layers + layer;
  return at < layouts.size() ? layouts[at] : initial;
}

std::vector<VkImageView> Snapshots::views_of(const KeptCommand& begin) const {
  const auto* info = begin.at<VkRenderPassBeginInfo>(1);
  if (auto* given = chained<VkRenderPassAttachmentBeginInfo>(info->pNext); given && given->attachmentCount)
    return {given->pAttachments, given->pAttachments + given->attachmentCount};
  auto it = framebuffers_.find(info->framebuffer);
  return it == framebuffers_.end() ? std::vector<VkImageView>() : it->second;
}

// A render pass leaves its attachments in their last layouts.
void Snapshots::follow_pass(const KeptCommand& begin) {
  auto pass = passes_.find(begin.at<VkRenderPassBeginInfo>(1)->renderPass);
  if (pass == passes_.end()) return;
  const std::vector<VkImageView> views = views_of(begin);
  auto& attachments = pass->second.flat.attachments;
  for (size_t i = 0; i < attachments.size() && i < views.size(); ++i)
    if (auto view = views_.find(views[i]); view != views_.end())
      turn(view->second.image, view->second.range, attachments[i].last);
}

void Snapshots::follow(const KeptCommand& command) {
  using namespace number;
  auto all = [&](const auto* barriers, uint64_t count) {
    for (uint64_t i = 0; barriers && i < count; ++i)
      turn(barriers[i].image, barriers[i].subresourceRange, barriers[i].newLayout);
  };
  auto dependency = [&](const VkDependencyInfo& info) { all(info.pImageMemoryBarriers, info.imageMemoryBarrierCount); };
  switch (command.number) {
    case vkCmdPipelineBarrier: return all(command.at<VkImageMemoryBarrier>(9), command.arguments[8]);
    case vkCmdWaitEvents: return all(command.at<VkImageMemoryBarrier>(10), command.arguments[9]);
    case vkCmdPipelineBarrier2: return dependency(*command.at<VkDependencyInfo>(1));
    case vkCmdWaitEvents2:
      for (uint64_t i = 0; i < command.arguments[1]; ++i) dependency(command.at<VkDependencyInfo>(3)[i]);
      return;
    case vkCmdBeginRenderPass:
    case vkCmdBeginRenderPass2: return follow_pass(command);
    default: return;
  }
}

}  // namespace dt::play::vk
