#include "pixel_plan.h"

#include <algorithm>
#include <cstring>

#include "../metrics/measure.h"
#include "chain.h"
#include "texels.h"

namespace dt::play::vk {
namespace {

const char* const UNDEFINED = "its load operation leaves the content undefined";

}  // namespace

PixelPlan::PixelPlan(const Submitted& submitted, History& history) : Walk(submitted, history), history_(history) {
  const KeptImage* of = target();
  if (!of) {
    if (image_) history.set_why("it is not known how the image was made");
    image_ = nullptr;
    return;
  }
  const uint32_t width = std::max(of->extent.width >> history.level, 1u);
  const uint32_t height = std::max(of->extent.height >> history.level, 1u);
  x_ = static_cast<uint32_t>(history.x), y_ = height - 1 - static_cast<uint32_t>(history.y);
  if (x_ < width && y_ < height) return;
  history.set_why("the image has " + std::to_string(width) + " x " + std::to_string(height) + " pixels");
  image_ = nullptr;
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

bool PixelPlan::resolves_target() const {
  return std::any_of(pass_.resolved.begin(), pass_.resolved.end(), [&](auto* to) { return is_target(to); });
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
  if (!uses && !resolves_target()) return;
  stale_ = !read(at, true, Taken::NO_EVENT).empty();
  if (!uses || !has_pixel(pass_.area) || (loads && !undefined)) return;
  event_ = history_.add(loads ? "other" : "clear", stream_[at]->seq, submit_);
  auto& e = history_.events()[event_];
  if (loads)
    e.unknown = UNDEFINED;
  else
    e.tested = e.only_any = true, e.through[metrics::COVERS] = 1;
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

void PixelPlan::test(size_t at, metrics::PixelEvent& e) {
  const KeptPipeline* kept = nullptr;
  const std::string why = untestable(kept);
  if (kept) e.masked = deep_ ? nullptr : kept->masked(color(), dynamic_mask(color()));
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

// Regions of copies and resolves, of blits, and of uploads.
template <class Region> bool PixelPlan::writes(const Region* regions, uint64_t count, VkImage image) const {
  auto concerns = [&](const VkImageSubresourceLayers& of, const VkOffset3D& from, const VkOffset3D& to) {
    return is_target(image, of) && has_pixel(from.x, from.y, to.x, to.y);
  };
  auto behind = [](const VkOffset3D& at, const VkExtent3D& size) {
    // A recording may lie: the sum wraps as the device's would.
    auto sum = [](int32_t a, uint32_t b) { return static_cast<int32_t>(static_cast<uint32_t>(a) + b); };
    return VkOffset3D{sum(at.x, size.width), sum(at.y, size.height), 0};
  };
  return std::any_of(regions, regions + count, [&](const Region& r) {
    if constexpr (requires { r.dstOffsets; })
      return concerns(r.dstSubresource, r.dstOffsets[0], r.dstOffsets[1]);
    else if constexpr (requires { r.imageOffset; })
      return concerns(r.imageSubresource, r.imageOffset, behind(r.imageOffset, r.imageExtent));
    else
      return concerns(r.dstSubresource, r.dstOffset, behind(r.dstOffset, r.extent));
  });
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
  auto when = [&](const char* kind, bool has) { return covers = has, has ? kind : nullptr; };
  auto of = [&](const char* kind, const auto* info) {
    return when(kind, writes(info->pRegions, info->regionCount, info->dstImage));
  };
  switch (c.number) {
    case vkCmdClearColorImage:
    case vkCmdClearDepthStencilImage:
      return when("clear", image(1) == image_ && clears(c.at<VkImageSubresourceRange>(5), c.arguments[4]));
    case vkCmdCopyImage: return when("copy", writes(c.at<VkImageCopy>(6), c.arguments[5], image(3)));
    case vkCmdResolveImage: return when("copy", writes(c.at<VkImageResolve>(6), c.arguments[5], image(3)));
    case vkCmdBlitImage: return when("copy", writes(c.at<VkImageBlit>(6), c.arguments[5], image(3)));
    case vkCmdCopyBufferToImage: return when("upload", writes(c.at<VkBufferImageCopy>(5), c.arguments[4], image(2)));
    case vkCmdCopyImage2: return of("copy", c.at<VkCopyImageInfo2>(1));
    case vkCmdResolveImage2: return of("copy", c.at<VkResolveImageInfo2>(1));
    case vkCmdBlitImage2: return of("copy", c.at<VkBlitImageInfo2>(1));
    case vkCmdCopyBufferToImage2: return of("upload", c.at<VkCopyBufferToImageInfo2>(1));
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
  passed(at);
  if (command.command->flags & FLAG_PASS_END && begin_ != NONE) {
    begin_ = NONE;
    bool used = false;
    for (auto& each : pass_.attachments) used |= is_target(each.view);
    if (resolves_target() && has_pixel(pass_.area)) event_ = history_.add("copy", command.seq, submit_, true);
    if (event_ == NONE && stale_ && used) stale_ = !read(at, false, Taken::NO_EVENT).empty();
  }
  if (event_ != NONE) {
    const std::string why = read(at, false, event_);
    stale_ = !why.empty();
    auto& e = history_.events()[event_];
    if (stale_ && !e.unknown) e.unknown = metrics::lasting(why);
    if (stale_) e.tested = false;
  }
  if (is_last(command)) history_.met = true;
}

// ---- reads --------------------------------------------------------------------------------------------------------

void PixelPlan::add_shot(Taken& taken, VkImage image, uint32_t aspect, uint32_t level, uint32_t layer,
                         VkImageLayout layout) {
  const KeptImage* of = s_.image(image);
  const bool colors = aspect == VK_IMAGE_ASPECT_COLOR_BIT;
  if (!of || level >= of->levels) return;  // a view may lie
  if (layout == VK_IMAGE_LAYOUT_UNDEFINED || layout == VK_IMAGE_LAYOUT_PREINITIALIZED) return;
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
