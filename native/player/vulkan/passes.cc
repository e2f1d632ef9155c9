// Render passes, whichever commands make and begin them.
#include <algorithm>

#include "chain.h"
#include "snapshots.h"

namespace dt::play::vk {

bool begins_rendering(const KeptCommand& command) { return command.number == number::vkCmdBeginRendering; }

bool goes_on(uint16_t n) { return n == number::vkCmdNextSubpass || n == number::vkCmdNextSubpass2; }

// Queries and the like that a command begins, or ends.
void follow_open(std::vector<std::string>& open, std::string_view name) {
  if (name.starts_with("vkCmdBegin")) open.emplace_back(name.substr(10));
  if (name.starts_with("vkCmdEnd"))
    if (auto it = std::find(open.rbegin(), open.rend(), name.substr(8)); it != open.rend())
      open.erase(std::next(it).base());
}

bool FlatPass::is_lost(uint32_t subpass, uint32_t attachment) const {
  for (size_t i = size_t{subpass} + 1; i < subpasses.size(); ++i)
    if (!subpasses[i].uses.contains(attachment)) return true;
  return false;
}

template <class Info> FlatPass flat_pass(const Info& info) {
  FlatPass pass;
  for (uint32_t i = 0; i < info.attachmentCount; ++i)
    pass.attachments.push_back({nullptr, info.pAttachments[i].loadOp, info.pAttachments[i].stencilLoadOp,
                                VK_IMAGE_LAYOUT_GENERAL, info.pAttachments[i].finalLayout});
  for (uint32_t i = 0; i < info.subpassCount; ++i) {
    const auto& each = info.pSubpasses[i];
    FlatPass::Subpass& out = pass.subpasses.emplace_back();
    for (uint32_t k = 0; k < each.colorAttachmentCount; ++k) out.colors.push_back(each.pColorAttachments[k].attachment);
    if (each.pDepthStencilAttachment) out.depth = out.stencil = each.pDepthStencilAttachment->attachment;
    out.uses.insert(out.colors.begin(), out.colors.end());
    out.uses.insert(out.depth);
    for (uint32_t k = 0; k < each.inputAttachmentCount; ++k) out.uses.insert(each.pInputAttachments[k].attachment);
    for (uint32_t k = 0; k < each.preserveAttachmentCount; ++k) out.uses.insert(each.pPreserveAttachments[k]);
    for (uint32_t k = 0; each.pResolveAttachments && k < each.colorAttachmentCount; ++k)
      out.resolves.push_back(each.pResolveAttachments[k].attachment);
    if constexpr (requires { each.viewMask; }) {
      out.views = each.viewMask;
      const auto* deep = chained<VkSubpassDescriptionDepthStencilResolve>(each.pNext);
      if (deep && deep->pDepthStencilResolveAttachment)
        out.resolves.push_back(deep->pDepthStencilResolveAttachment->attachment);
    }
  }
  if constexpr (requires { info.pSubpasses[0].viewMask; }) return pass;
  const auto* several = chained<VkRenderPassMultiviewCreateInfo>(info.pNext);
  for (uint32_t i = 0; several && i < several->subpassCount && i < pass.subpasses.size(); ++i)
    pass.subpasses[i].views = several->pViewMasks[i];
  return pass;
}
template FlatPass flat_pass(const VkRenderPassCreateInfo& info);
template FlatPass flat_pass(const VkRenderPassCreateInfo2& info);

FlatPass Snapshots::flat(const KeptCommand& begin) const {
  FlatPass pass;
  if (!begins_rendering(begin)) {
    auto it = passes_.find(begin.at<VkRenderPassBeginInfo>(1)->renderPass);
    if (it != passes_.end()) pass = it->second.flat;
    pass.area = begin.at<VkRenderPassBeginInfo>(1)->renderArea;
    const std::vector<VkImageView> views = views_of(begin);
    for (size_t i = 0; i < std::min(views.size(), pass.attachments.size()); ++i) pass.attachments[i].view = views[i];
    for (auto& each : pass.subpasses)
      for (uint32_t number : each.resolves)
        if (number < pass.attachments.size()) pass.resolved.push_back(pass.attachments[number].view);
    return pass;
  }
  const auto& info = *begin.at<VkRenderingInfo>(1);
  pass.rendering = true, pass.area = info.renderArea;
  FlatPass::Subpass& out = pass.subpasses.emplace_back();
  out.views = info.viewMask;
  auto add = [&](const VkRenderingAttachmentInfo* a) {
    if (!a || !a->imageView) return static_cast<uint32_t>(VK_ATTACHMENT_UNUSED);
    if (a->resolveMode && a->resolveImageView) pass.resolved.push_back(a->resolveImageView);
    pass.attachments.push_back({a->imageView, a->loadOp, a->loadOp, a->imageLayout});
    return static_cast<uint32_t>(pass.attachments.size() - 1);
  };
  for (uint32_t i = 0; i < info.colorAttachmentCount; ++i) out.colors.push_back(add(&info.pColorAttachments[i]));
  out.depth = add(info.pDepthAttachment), out.stencil = add(info.pStencilAttachment);
  if (info.flags & VK_RENDERING_RESUMING_BIT)
    for (auto& each : pass.attachments) each.load = each.stencil_load = VK_ATTACHMENT_LOAD_OP_LOAD;
  return pass;
}

}  // namespace dt::play::vk
