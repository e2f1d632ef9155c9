#include "pixel_plan.h"

#include <algorithm>
#include <cstring>

#include "../metrics/measure.h"
#include "chain.h"
#include "texels.h"

namespace dt::play::vk {
namespace {

const char* const UNDEFINED = "its load operation leaves the content undefined";

bool begins_rendering(const KeptCommand& command) {
  return command.number == number::vkCmdBeginRendering || command.number == number::vkCmdBeginRenderingKHR;
}

bool goes_on(uint16_t n) {
  return n == number::vkCmdNextSubpass || n == number::vkCmdNextSubpass2 || n == number::vkCmdNextSubpass2KHR;
}

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

PixelPlan::PixelPlan(Snapshots& snapshots, Device& device, History& history, Copier& copier, const Stream& stream,
                     uint64_t submit)
    : s_(snapshots), device_(device), history_(history), copier_(copier), stream_(stream), submit_(submit) {
  image_ = s_.host_.image_of(history.image);
  const KeptImage* of = target();
  if (!of) return;
  deep_ = has_depth(of->format) || has_stencil(of->format);
  const uint32_t width = std::max(of->extent.width >> history.level, 1u);
  const uint32_t height = std::max(of->extent.height >> history.level, 1u);
  x_ = static_cast<uint32_t>(history.x), y_ = height - 1 - static_cast<uint32_t>(history.y);
  if (x_ < width && y_ < height) return;
  history.set_why("the image has " + std::to_string(width) + " x " + std::to_string(height) + " pixels");
  image_ = nullptr;
}

const KeptImage* PixelPlan::target() const { return s_.image(image_); }

const KeptView* PixelPlan::view(VkImageView of) const {
  auto it = s_.views_.find(of);
  return it == s_.views_.end() ? nullptr : &it->second;
}

bool PixelPlan::is_target(VkImageView of) const {
  const KeptView* v = of ? view(of) : nullptr;
  return v && v->image == image_ && v->range.baseMipLevel == history_.level &&
         v->range.baseArrayLayer == history_.layer;
}

bool PixelPlan::is_target(VkImage image, const VkImageSubresourceLayers& of) const {
  return image == image_ && of.mipLevel == history_.level &&
         (target()->type == VK_IMAGE_TYPE_3D ||
          (history_.layer >= of.baseArrayLayer && history_.layer - of.baseArrayLayer < of.layerCount));
}

bool PixelPlan::has_pixel(int32_t x, int32_t y, int32_t right, int32_t bottom) const {
  const auto at = static_cast<int32_t>(x_), down = static_cast<int32_t>(y_);
  return at >= std::min(x, right) && at < std::max(x, right) && down >= std::min(y, bottom) &&
         down < std::max(y, bottom);
}

bool PixelPlan::has_pixel(const VkRect2D& box) const {
  const int64_t x = x_, y = y_;
  return x >= box.offset.x && y >= box.offset.y && x < int64_t{box.offset.x} + box.extent.width &&
         y < int64_t{box.offset.y} + box.extent.height;
}

// ---- render passes ----------------------------------------------------------------------------------------------

template <class Info>
void PixelPlan::add_pass(FlatPass& pass, const Info& info, const std::vector<VkImageView>& views) const {
  for (uint32_t i = 0; i < info.attachmentCount; ++i)
    pass.attachments.push_back({i < views.size() ? views[i] : nullptr, info.pAttachments[i].loadOp,
                                info.pAttachments[i].stencilLoadOp, VK_IMAGE_LAYOUT_GENERAL});
  auto view_of = [&](uint32_t i) { return i < views.size() ? views[i] : nullptr; };
  for (uint32_t i = 0; i < info.subpassCount; ++i) {
    const auto& each = info.pSubpasses[i];
    FlatPass::Subpass& out = pass.subpasses.emplace_back();
    for (uint32_t k = 0; k < each.colorAttachmentCount; ++k) out.colors.push_back(each.pColorAttachments[k].attachment);
    if (each.pDepthStencilAttachment) out.depth = out.stencil = each.pDepthStencilAttachment->attachment;
    for (uint32_t k = 0; each.pResolveAttachments && k < each.colorAttachmentCount; ++k)
      out.resolves.push_back(view_of(each.pResolveAttachments[k].attachment));
    if constexpr (requires { each.viewMask; }) {
      out.views = each.viewMask;
      const auto* deep = chained<VkSubpassDescriptionDepthStencilResolve>(
          each.pNext, VK_STRUCTURE_TYPE_SUBPASS_DESCRIPTION_DEPTH_STENCIL_RESOLVE);
      if (deep && deep->pDepthStencilResolveAttachment)
        out.resolves.push_back(view_of(deep->pDepthStencilResolveAttachment->attachment));
    }
  }
  if constexpr (requires { info.pSubpasses[0].viewMask; }) return;
  const auto* several =
      chained<VkRenderPassMultiviewCreateInfo>(info.pNext, VK_STRUCTURE_TYPE_RENDER_PASS_MULTIVIEW_CREATE_INFO);
  for (uint32_t i = 0; several && i < several->subpassCount && i < pass.subpasses.size(); ++i)
    pass.subpasses[i].views = several->pViewMasks[i];
}

FlatPass PixelPlan::flat(size_t begin) const {
  FlatPass pass;
  const KeptCommand& command = *stream_[begin];
  if (!begins_rendering(command)) {
    pass.area = command.at<VkRenderPassBeginInfo>(1)->renderArea;
    auto it = s_.passes_.find(command.at<VkRenderPassBeginInfo>(1)->renderPass);
    if (it == s_.passes_.end()) return pass;
    const std::vector<VkImageView> views = s_.views_of(command);
    it->second.one ? add_pass(pass, *it->second.one, views) : add_pass(pass, *it->second.two, views);
    return pass;
  }
  const auto& info = *command.at<VkRenderingInfo>(1);
  pass.rendering = true, pass.area = info.renderArea;
  FlatPass::Subpass& out = pass.subpasses.emplace_back();
  out.views = info.viewMask;
  auto add = [&](const VkRenderingAttachmentInfo* a) {
    if (!a || !a->imageView) return static_cast<uint32_t>(VK_ATTACHMENT_UNUSED);
    if (a->resolveMode && a->resolveImageView) out.resolves.push_back(a->resolveImageView);
    pass.attachments.push_back({a->imageView, a->loadOp, a->loadOp, a->imageLayout});
    return static_cast<uint32_t>(pass.attachments.size() - 1);
  };
  for (uint32_t i = 0; i < info.colorAttachmentCount; ++i) out.colors.push_back(add(&info.pColorAttachments[i]));
  out.depth = add(info.pDepthAttachment), out.stencil = add(info.pStencilAttachment);
  if (info.flags & VK_RENDERING_RESUMING_BIT)
    for (auto& each : pass.attachments) each.load = each.stencil_load = VK_ATTACHMENT_LOAD_OP_LOAD;
  return pass;
}

uint32_t PixelPlan::color() const {
  if (begin_ == NONE || subpass_ >= pass_.subpasses.size()) return VK_ATTACHMENT_UNUSED;
  const auto& colors = pass_.subpasses[subpass_].colors;
  for (uint32_t i = 0; i < colors.size(); ++i)
    if (colors[i] < pass_.attachments.size() && is_target(pass_.attachments[colors[i]].view)) return i;
  return VK_ATTACHMENT_UNUSED;
}

bool PixelPlan::draws_to_target() const {
  if (begin_ == NONE || subpass_ >= pass_.subpasses.size()) return false;
  if (color() != VK_ATTACHMENT_UNUSED) return true;
  const auto& of = pass_.subpasses[subpass_];
  for (uint32_t each : {of.depth, of.stencil})
    if (each < pass_.attachments.size() && is_target(pass_.attachments[each].view)) return true;
  return false;
}

void PixelPlan::begin_pass(size_t at) {
  pass_ = flat(at), subpass_ = 0;
  begin_ = at;  // the questions below are about its subpasses
  bool loads = true, undefined = false, uses = false;
  depth_view_ = stencil_view_ = nullptr;
  auto look = [&](uint32_t i, bool own, bool stencil) {
    if (i >= pass_.attachments.size()) return;
    const VkAttachmentLoadOp load = stencil ? pass_.attachments[i].stencil_load : pass_.attachments[i].load;
    loads &= load != VK_ATTACHMENT_LOAD_OP_CLEAR;
    undefined |= own && load == VK_ATTACHMENT_LOAD_OP_DONT_CARE;
  };
  for (; subpass_ < pass_.subpasses.size(); ++subpass_) {
    if (!draws_to_target()) continue;
    const auto& of = pass_.subpasses[subpass_];
    uses = true;
    if (const uint32_t c = color(); c != VK_ATTACHMENT_UNUSED) look(of.colors[c], true, false);
    if (of.depth < pass_.attachments.size()) depth_view_ = pass_.attachments[of.depth].view;
    if (of.stencil < pass_.attachments.size()) stencil_view_ = pass_.attachments[of.stencil].view;
    const KeptView* deep = depth_view_ ? view(depth_view_) : stencil_view_ ? view(stencil_view_) : nullptr;
    if (deep && has_depth(deep->format)) look(of.depth, deep_, false);
    if (deep && has_stencil(deep->format)) look(of.stencil, deep_, true);
    break;
  }
  subpass_ = 0;
  begin_ = NONE;
  bool resolves = false;
  for (auto& each : pass_.subpasses)
    for (auto* to : each.resolves) resolves |= is_target(to);
  if (!uses && !resolves) return;
  stale_ = !read(at, true, Taken::NO_EVENT).empty();
  if (!uses || !has_pixel(pass_.area) || (loads && !undefined)) return;
  event_ = history_.add(loads ? "other" : "clear", stream_[at]->seq, submit_);
  auto& e = history_.events()[event_];
  if (loads)
    e.unknown = UNDEFINED;
  else
    e.tested = e.only_any = true, e.through[metrics::COVERS] = 1;
}

// ---- the state of the command buffer ------------------------------------------------------------------------------

void PixelPlan::follow(size_t at) {
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
    if (name.starts_with("vkCmdBegin")) open_.emplace_back(name.substr(10));
    if (name.starts_with("vkCmdEnd"))
      if (auto it = std::find(open_.rbegin(), open_.rend(), name.substr(8)); it != open_.rend())
        open_.erase(std::next(it).base());
  }
}

const KeptCommand* PixelPlan::last_set(std::initializer_list<uint16_t> numbers) const {
  for (auto it = sets_.rbegin(); it != sets_.rend(); ++it)
    if (std::find(numbers.begin(), numbers.end(), stream_[*it]->number) != numbers.end()) return stream_[*it];
  return nullptr;
}

// The box of the first viewport, and how many there are.
VkRect2D PixelPlan::scissor(const KeptPipeline& kept, uint32_t& count) const {
  using namespace number;
  VkRect2D box{};
  const auto* view = kept.info->pViewportState;
  count = std::max(view ? std::max(view->scissorCount, view->viewportCount) : 1, 1u);
  if (view && view->scissorCount && view->pScissors) box = view->pScissors[0];
  if (kept.is_dynamic(VK_DYNAMIC_STATE_SCISSOR_WITH_COUNT) || kept.is_dynamic(VK_DYNAMIC_STATE_VIEWPORT_WITH_COUNT)) {
    const KeptCommand* boxes = last_set({vkCmdSetScissorWithCount, vkCmdSetScissorWithCountEXT});
    const KeptCommand* views = last_set({vkCmdSetViewportWithCount, vkCmdSetViewportWithCountEXT});
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

const VkColorComponentFlags* PixelPlan::dynamic_mask() const {
  const KeptCommand* set = last_set({number::vkCmdSetColorWriteMaskEXT});
  const uint64_t first = set ? set->arguments[1] : 0;
  if (!set || color() < first || color() - first >= set->arguments[2]) return nullptr;
  return set->at<VkColorComponentFlags>(3) + (color() - first);
}

// ---- commands that write the image ------------------------------------------------------------------------------

void PixelPlan::clear_attachments(size_t at) {
  const KeptCommand& command = *stream_[at];
  bool concerns = false, covers = false;
  for (uint64_t i = 0; i < command.arguments[1]; ++i) {
    const auto& each = command.at<VkClearAttachment>(2)[i];
    const bool colors = each.aspectMask & VK_IMAGE_ASPECT_COLOR_BIT;
    concerns |= colors ? each.colorAttachment == color() : depth_view_ || stencil_view_;
  }
  for (uint64_t i = 0; i < command.arguments[3]; ++i) covers |= has_pixel(command.at<VkClearRect>(4)[i].rect);
  if (!concerns || !covers || !has_pixel(pass_.area)) return;
  event_ = history_.add("clear", command.seq, submit_);
  auto& e = history_.events()[event_];
  e.tested = e.only_any = true, e.through[metrics::COVERS] = 1;
}

void PixelPlan::draw(size_t at) {
  if (stale_) stale_ = !read(at, true, Taken::NO_EVENT).empty();
  event_ = history_.add("draw", stream_[at]->seq, submit_);
  test(at, history_.events()[event_]);
}

// Why a draw may not be performed once more; empty: it may.
std::string PixelPlan::untestable(const KeptPipeline*& kept) const {
  if (!open_.empty()) return open_.back() + " of the program runs: the draw is not performed once more";
  if (pass_.subpasses[subpass_].views) return "its render pass draws several views at once";
  if (shader_objects_) return "shader objects draw it";
  if (bound_ == NONE) return "no pipeline is bound in this command buffer";
  auto it = s_.pipelines_.find(reinterpret_cast<VkPipeline>(stream_[bound_]->arguments[2]));
  if (it == s_.pipelines_.end()) return "it is not known how its pipeline was made";
  kept = &it->second;
  return kept->refused() ? kept->refused() : "";
}

void PixelPlan::test(size_t at, metrics::PixelEvent& e) {
  const KeptPipeline* kept = nullptr;
  const std::string why = untestable(kept);
  if (kept) e.masked = deep_ ? nullptr : kept->masked(color(), dynamic_mask());
  if (!why.empty()) return e.unknown = metrics::lasting(why), void();
  VariantWish wish;
  const VkRect2D box = scissor(*kept, wish.scissors);
  wish.scissor = {{static_cast<int32_t>(x_), static_cast<int32_t>(y_)}, {1, 1}};
  wish.colors = static_cast<uint32_t>(pass_.subpasses[subpass_].colors.size());
  if (!pass_.rendering) wish.pass = stream_[begin_]->at<VkRenderPassBeginInfo>(1)->renderPass;
  wish.subpass = subpass_;
  Tested tested;
  tested.event = event_, tested.outside = !has_pixel(box);
  std::vector<VkPipeline> variants;
  for (uint8_t t = 0; t < metrics::PIXEL_TESTS; ++t) {
    wish.last = static_cast<metrics::PixelTest>(t);
    if (!kept->tests(wish.last)) continue;
    auto* of = reinterpret_cast<VkPipeline>(stream_[bound_]->arguments[2]);
    variants.push_back(history_.variant(device_, of, *kept, wish));
    tested.tests |= 1u << t;
    if (!variants.back()) return e.unknown = "the driver refuses a variant of its pipeline", void();
  }
  copier_.want_tests(at, std::move(variants), sets_, bound_, tested);
  any_ = true;
}

template <class Regions> bool PixelPlan::copies(const Regions* regions, uint64_t count, VkImage image) const {
  for (uint64_t i = 0; i < count; ++i) {
    const auto& r = regions[i];
    if (is_target(image, r.dstSubresource) &&
        has_pixel(r.dstOffset.x, r.dstOffset.y, r.dstOffset.x + static_cast<int32_t>(r.extent.width),
                  r.dstOffset.y + static_cast<int32_t>(r.extent.height)))
      return true;
  }
  return false;
}

template <class Regions> bool PixelPlan::stretches(const Regions* regions, uint64_t count, VkImage image) const {
  for (uint64_t i = 0; i < count; ++i) {
    const auto& [from, to] = regions[i].dstOffsets;
    if (is_target(image, regions[i].dstSubresource) && has_pixel(from.x, from.y, to.x, to.y)) return true;
  }
  return false;
}

template <class Regions> bool PixelPlan::uploads(const Regions* regions, uint64_t count, VkImage image) const {
  for (uint64_t i = 0; i < count; ++i) {
    const auto& r = regions[i];
    if (is_target(image, r.imageSubresource) &&
        has_pixel(r.imageOffset.x, r.imageOffset.y, r.imageOffset.x + static_cast<int32_t>(r.imageExtent.width),
                  r.imageOffset.y + static_cast<int32_t>(r.imageExtent.height)))
      return true;
  }
  return false;
}

bool PixelPlan::clears(const VkImageSubresourceRange* ranges, uint64_t count) const {
  return std::any_of(ranges, ranges + count, [&](const VkImageSubresourceRange& r) {
    return history_.level >= r.baseMipLevel && history_.level - r.baseMipLevel < r.levelCount &&
           history_.layer >= r.baseArrayLayer && history_.layer - r.baseArrayLayer < r.layerCount;
  });
}

const char* PixelPlan::transfer(size_t at, bool& covers) const {
  using namespace number;
  const KeptCommand& c = *stream_[at];
  auto image = [&](int i) { return reinterpret_cast<VkImage>(c.arguments[i]); };
  auto found = [&](const char* kind, bool has) { return covers = has, has ? kind : nullptr; };
  auto of = [&](const char* kind, const auto* info, auto&& look) {
    return found(kind, look(info->pRegions, info->regionCount, info->dstImage));
  };
  switch (c.number) {
    case vkCmdClearColorImage:
    case vkCmdClearDepthStencilImage:
      return found("clear", image(1) == image_ && clears(c.at<VkImageSubresourceRange>(5), c.arguments[4]));
    case vkCmdCopyImage: return found("copy", copies(c.at<VkImageCopy>(6), c.arguments[5], image(3)));
    case vkCmdResolveImage: return found("copy", copies(c.at<VkImageResolve>(6), c.arguments[5], image(3)));
    case vkCmdBlitImage: return found("copy", stretches(c.at<VkImageBlit>(6), c.arguments[5], image(3)));
    case vkCmdCopyBufferToImage: return found("upload", uploads(c.at<VkBufferImageCopy>(5), c.arguments[4], image(2)));
    case vkCmdCopyImage2:
    case vkCmdCopyImage2KHR:
      return of("copy", c.at<VkCopyImageInfo2>(1), [&](auto* r, auto n, VkImage to) { return copies(r, n, to); });
    case vkCmdResolveImage2:
    case vkCmdResolveImage2KHR:
      return of("copy", c.at<VkResolveImageInfo2>(1), [&](auto* r, auto n, VkImage to) { return copies(r, n, to); });
    case vkCmdBlitImage2:
    case vkCmdBlitImage2KHR:
      return of("copy", c.at<VkBlitImageInfo2>(1), [&](auto* r, auto n, VkImage to) { return stretches(r, n, to); });
    case vkCmdCopyBufferToImage2:
    case vkCmdCopyBufferToImage2KHR:
      return of("upload", c.at<VkCopyBufferToImageInfo2>(1),
                [&](auto* r, auto n, VkImage to) { return uploads(r, n, to); });
    default: return c.command->flags & FLAG_DISPATCH && target()->stored ? "other" : nullptr;
  }
}

// ---- the walk -----------------------------------------------------------------------------------------------------

void PixelPlan::before(size_t at) {
  event_ = NONE;
  if (!image_ || history_.met) return;
  follow(at);
  const KeptCommand& command = *stream_[at];
  if (command.command->flags & FLAG_PASS_BEGIN) return begin_pass(at);
  if (begin_ != NONE) {
    if (!draws_to_target()) return;
    if (command.number == number::vkCmdClearAttachments) return clear_attachments(at);
    if (command.command->flags & FLAG_DRAW) draw(at);
    return;
  }
  bool covers = false;
  const char* kind = transfer(at, covers);
  if (!kind) return;
  if (stale_) stale_ = !read(at, true, Taken::NO_EVENT).empty();
  event_ = history_.add(kind, command.seq, submit_, !covers);
  auto& e = history_.events()[event_];
  e.tested = e.only_any = true, e.through[metrics::COVERS] = covers;
}

void PixelPlan::behind(size_t at) {
  if (!image_ || history_.met) return;
  const KeptCommand& command = *stream_[at];
  if (command.command->flags & FLAG_PASS_BEGIN) begin_ = at, subpass_ = 0;
  if (goes_on(command.number)) ++subpass_;
  if (command.command->flags & FLAG_PASS_END && begin_ != NONE) {
    begin_ = NONE;
    bool resolves = false, used = false;
    for (auto& each : pass_.subpasses)
      for (auto* to : each.resolves) resolves |= is_target(to);
    for (auto& each : pass_.attachments) used |= is_target(each.view);
    if (resolves && has_pixel(pass_.area)) event_ = history_.add("copy", command.seq, submit_, true);
    if (event_ == NONE && stale_ && used) stale_ = !read(at, false, Taken::NO_EVENT).empty();
  }
  if (event_ != NONE) {
    const std::string why = read(at, false, event_);
    stale_ = !why.empty();
    auto& e = history_.events()[event_];
    if (stale_ && !e.unknown) e.unknown = metrics::lasting(why);
    if (stale_) e.tested = false;
  }
  if (command.seq == history_.draw && submit_ == history_.last) history_.met = true;
}

// ---- reads --------------------------------------------------------------------------------------------------------

void PixelPlan::add_shot(Taken& taken, VkImage image, uint32_t aspect, uint32_t level, uint32_t layer,
                         VkImageLayout layout) {
  const KeptImage* of = s_.image(image);
  const bool colors = aspect == VK_IMAGE_ASPECT_COLOR_BIT;
  if (!of || layout == VK_IMAGE_LAYOUT_UNDEFINED || layout == VK_IMAGE_LAYOUT_PREINITIALIZED) return;
  if (!of->readable || (of->samples > 1 && !colors) || (colors && !color_bytes(of->format))) return;
  if (x_ >= std::max(of->extent.width >> level, 1u) || y_ >= std::max(of->extent.height >> level, 1u)) return;
  Shot shot;
  shot.image = image, shot.format = of->format, shot.aspect = aspect, shot.samples = of->samples;
  shot.level = level, shot.layer = layer, shot.layout = layout, shot.slice = of->type == VK_IMAGE_TYPE_3D;
  shot.width = shot.height = 1, shot.x = x_, shot.y = y_, shot.raw = true;
  shot.at = taken.bytes;
  taken.bytes += 16;
  taken.shots.push_back(shot);
}

void PixelPlan::add_depth(Taken& taken, bool in_pass) {
  const auto add = [&](VkImageView of, uint32_t aspect) {
    const KeptView* v = of ? view(of) : nullptr;
    if (!v || !(aspect == VK_IMAGE_ASPECT_DEPTH_BIT ? has_depth(v->format) : has_stencil(v->format))) return;
    const KeptImage* image = s_.image(v->image);
    if (!image) return;
    VkImageLayout layout = image->layout(v->range.baseMipLevel, v->range.baseArrayLayer);
    for (auto& each : pass_.attachments)
      if (in_pass && each.view == of) layout = each.layout;
    add_shot(taken, v->image, aspect, v->range.baseMipLevel, v->range.baseArrayLayer, layout);
  };
  add(depth_view_, VK_IMAGE_ASPECT_DEPTH_BIT);
  add(stencil_view_, VK_IMAGE_ASPECT_STENCIL_BIT);
}

// Plans a read of the pixel; returns why there is none.
std::string PixelPlan::read(size_t at, bool before, size_t event) {
  Taken taken;
  taken.call = stream_[at]->seq, taken.submit = submit_;
  taken.event = event, taken.events = history_.events().size();
  const KeptImage* of = target();
  const bool in_pass = begin_ != NONE;
  VkImageLayout layout = of->layout(history_.level, history_.layer);
  for (auto& each : pass_.attachments)
    if (in_pass && is_target(each.view)) layout = each.layout;
  if (!deep_ && of->samples > 1 && of->type == VK_IMAGE_TYPE_3D) return "it has several samples a pixel";
  if (!deep_) add_shot(taken, image_, VK_IMAGE_ASPECT_COLOR_BIT, history_.level, history_.layer, layout);
  if (!deep_ && taken.shots.empty())
    return color_bytes(of->format) ? "nothing was stored in the image" : "the format of the image is not read";
  if (deep_ && !in_pass && !depth_view_ && !stencil_view_) {
    if (has_depth(of->format))
      add_shot(taken, image_, VK_IMAGE_ASPECT_DEPTH_BIT, history_.level, history_.layer, layout);
    if (has_stencil(of->format))
      add_shot(taken, image_, VK_IMAGE_ASPECT_STENCIL_BIT, history_.level, history_.layer, layout);
  }
  add_depth(taken, in_pass);
  if (taken.shots.empty())
    return of->samples > 1 ? "it has several samples a pixel" : "nothing was stored in the image";
  const std::string why = copier_.want_pixel(at, before, std::move(taken));
  any_ |= why.empty();
  return why;
}

}  // namespace dt::play::vk
