#include "walk.h"

#include <algorithm>

namespace dt::play::vk {
namespace {

// Commands that give dynamic state of graphics.
bool gives_state(std::string_view name) {
  if (!name.starts_with("vkCmdSet")) return false;
  for (std::string_view other :
       {"Event", "Rendering", "Descriptor", "Device", "Performance", "Checkpoint", "RayTracing"})
    if (name.substr(8).starts_with(other)) return false;
  return true;
}

// True: two calls of a function give the same state.
bool same_state(const KeptCommand& a, const KeptCommand& b) {
  if (a.number != b.number) return false;
  const Command& c = *a.command;
  if (c.params <= 2 || PARAMS[c.first + 1].way != VALUE) return true;
  if (std::string_view(c.name).find("WithCount") != std::string_view::npos) return true;
  return a.arguments[1] == b.arguments[1] && (c.params <= 3 || a.arguments[2] == b.arguments[2]);
}

}  // namespace

Walk::Walk(const Submitted& of, Question& question)
    : s_(of.snapshots), device_(of.device), copier_(of.copier), stream_(of.stream), submit_(of.submit),
      question_(question) {
  image_ = s_.host_.image_of(question.image);
  if (const KeptImage* image = target()) deep_ = has_depth(image->format) || has_stencil(image->format);
}

void Walk::behind(size_t at) {
  if (question_.met) return;
  passed(at);
  const KeptCommand& command = *stream_[at];
  if (command.command->flags & FLAG_PASS_END) begin_ = NONE;
  if (is_last(command)) question_.met = true;
}

const KeptImage* Walk::target() const { return s_.image(image_); }

const KeptView* Walk::view(VkImageView of) const {
  auto it = s_.views_.find(of);
  return it == s_.views_.end() ? nullptr : &it->second;
}

bool Walk::is_target(VkImageView of) const {
  const KeptView* v = of ? view(of) : nullptr;
  return v && v->image == image_ && v->range.baseMipLevel == question_.level &&
         v->range.baseArrayLayer == question_.layer;
}

bool Walk::is_target(VkImage image, const VkImageSubresourceLayers& of) const {
  return image == image_ && of.mipLevel == question_.level &&
         (target()->type == VK_IMAGE_TYPE_3D ||
          (question_.layer >= of.baseArrayLayer && question_.layer - of.baseArrayLayer < of.layerCount));
}

// ---- render passes ----------------------------------------------------------------------------------------------

uint32_t Walk::color() const {
  if (begin_ == NONE || subpass_ >= pass_.subpasses.size()) return VK_ATTACHMENT_UNUSED;
  const auto& colors = pass_.subpasses[subpass_].colors;
  for (uint32_t i = 0; i < colors.size(); ++i)
    if (colors[i] < pass_.attachments.size() && is_target(pass_.attachments[colors[i]].view)) return i;
  return VK_ATTACHMENT_UNUSED;
}

bool Walk::draws_to_target() const {
  if (begin_ == NONE || subpass_ >= pass_.subpasses.size()) return false;
  if (color() != VK_ATTACHMENT_UNUSED) return true;
  const auto& of = pass_.subpasses[subpass_];
  for (uint32_t each : {of.depth, of.stencil})
    if (each < pass_.attachments.size() && is_target(pass_.attachments[each].view)) return true;
  return false;
}

void Walk::passed(size_t at) {
  const KeptCommand& command = *stream_[at];
  if (command.command->flags & FLAG_PASS_BEGIN) begin_ = at, subpass_ = 0;
  if (goes_on(command.number)) ++subpass_;
}

// ---- the state of the command buffer ------------------------------------------------------------------------------

void Walk::follow(size_t at) {
  const KeptCommand& command = *stream_[at];
  const std::string_view name = command.command->name;
  if (command.number == number::vkCmdBindPipeline) {
    if (command.arguments[1] == VK_PIPELINE_BIND_POINT_GRAPHICS) bound_ = at, shader_objects_ = false;
  } else if (name.starts_with("vkCmdBindPipelineShaderGroup") || name == "vkCmdBindShadersEXT") {
    shader_objects_ = true;
  } else if (gives_state(name)) {
    std::erase_if(sets_, [&](size_t each) { return same_state(*stream_[each], command); });
    sets_.push_back(at);
  } else if (!(command.command->flags & (FLAG_PASS_BEGIN | FLAG_PASS_END | FLAG_MARKER))) {
    follow_open(open_, name);
  }
}

const KeptCommand* Walk::last_set(uint16_t number) const {
  auto it = std::find_if(sets_.rbegin(), sets_.rend(), [&](size_t each) { return stream_[each]->number == number; });
  return it == sets_.rend() ? nullptr : stream_[*it];
}

const VkColorComponentFlags* Walk::dynamic_mask(uint32_t color) const {
  const KeptCommand* set = last_set(number::vkCmdSetColorWriteMaskEXT);
  const uint64_t first = set ? set->arguments[1] : 0;
  if (!set || color < first || color - first >= set->arguments[2]) return nullptr;
  return set->at<VkColorComponentFlags>(3) + (color - first);
}

// The box of the first viewport, and how many there are.
VkRect2D Walk::scissor(const KeptPipeline& kept, uint32_t& count) const {
  using namespace number;
  VkRect2D box{};
  const auto* view = kept.info->pViewportState;
  count = std::max(view ? std::max(view->scissorCount, view->viewportCount) : 1, 1u);
  if (view && view->scissorCount && view->pScissors) box = view->pScissors[0];
  if (kept.is_dynamic(VK_DYNAMIC_STATE_SCISSOR_WITH_COUNT) || kept.is_dynamic(VK_DYNAMIC_STATE_VIEWPORT_WITH_COUNT)) {
    const KeptCommand* boxes = last_set(vkCmdSetScissorWithCount);
    const KeptCommand* views = last_set(vkCmdSetViewportWithCount);
    if (views) count = static_cast<uint32_t>(views->arguments[1]);
    if (boxes && boxes->arguments[1]) box = *boxes->at<VkRect2D>(2);
    if (boxes && !views) count = static_cast<uint32_t>(boxes->arguments[1]);
  }
  if (kept.is_dynamic(VK_DYNAMIC_STATE_SCISSOR))
    for (size_t each : sets_)
      if (stream_[each]->number == vkCmdSetScissor && !stream_[each]->arguments[1] && stream_[each]->arguments[2])
        box = *stream_[each]->at<VkRect2D>(3);
  return box;
}

VkViewport Walk::viewport(const KeptPipeline& kept) const {
  using namespace number;
  const auto* state = kept.info->pViewportState;
  VkViewport seen{};
  if (state && state->viewportCount && state->pViewports) seen = state->pViewports[0];
  if (kept.is_dynamic(VK_DYNAMIC_STATE_VIEWPORT_WITH_COUNT)) {
    const KeptCommand* given = last_set(vkCmdSetViewportWithCount);
    if (given && given->arguments[1]) seen = *given->at<VkViewport>(2);
  }
  if (kept.is_dynamic(VK_DYNAMIC_STATE_VIEWPORT))
    for (size_t each : sets_)
      if (stream_[each]->number == vkCmdSetViewport && !stream_[each]->arguments[1] && stream_[each]->arguments[2])
        seen = *stream_[each]->at<VkViewport>(3);
  return seen;
}

// Why a draw may not be performed once more; empty: it may.
std::string Walk::untestable(const KeptPipeline*& kept) const {
  if (!open_.empty()) return open_.back() + " of the program runs: the draw is not performed once more";
  if (pass_.subpasses[subpass_].views) return "its render pass draws several views at once";
  if (shader_objects_) return "shader objects draw it";
  if (bound_ == NONE) return "no pipeline is bound in this command buffer";
  auto it = s_.pipelines_.find(reinterpret_cast<VkPipeline>(stream_[bound_]->arguments[2]));
  if (it == s_.pipelines_.end()) return "it is not known how its pipeline was made";
  kept = &it->second;
  return kept->refused() ? kept->refused() : "";
}

}  // namespace dt::play::vk
