#include "count_plan.h"

#include <algorithm>
#include <cmath>

namespace dt::play::vk {
namespace {

bool blends_floats(const Device& device) {
  Table instance;
  instance.instance = device.instance;
  VkFormatProperties properties{};
  DT_VK(instance, vkGetPhysicalDeviceFormatProperties)(device.physical, VK_FORMAT_R32_SFLOAT, &properties);
  return properties.optimalTilingFeatures & VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BLEND_BIT;
}

}  // namespace

CountPlan::CountPlan(const Submitted& submitted, Counts& counts) : Walk(submitted, counts), counts_(counts) {
  const KeptImage* of = target();
  if (!of) return;
  size_ = {std::max(of->extent.width >> counts.level, 1u), std::max(of->extent.height >> counts.level, 1u)};
  counts.size_ = size_;
}

// Why fragments of the draw are not counted; empty: they are.
std::string CountPlan::uncountable(const KeptPipeline*& kept) const {
  if (const std::string why = untestable(kept); !why.empty()) return why;
  if (target()->samples > 1) return "the target has several samples a pixel";
  const auto* many = kept->info->pMultisampleState;
  if (many && many->rasterizationSamples > 1 && !kept->is_dynamic(VK_DYNAMIC_STATE_RASTERIZATION_SAMPLES_EXT))
    return "its pipeline has several samples a pixel";
  if (pass_.rendering && stream_[begin_]->at<VkRenderingInfo>(1)->layerCount > 1)
    return "its render pass draws to several layers";
  for (auto& each : pass_.attachments) {
    const KeptView* v = is_target(each.view) && !pass_.rendering ? view(each.view) : nullptr;
    const KeptImage* of = v ? s_.image(v->image) : nullptr;
    if (!of) continue;
    const uint32_t rest = of->layers - std::min(of->layers, v->range.baseArrayLayer);
    if (std::min(v->range.layerCount, rest) > 1) return "the view that it draws to has several layers";
  }
  if (!blends_floats(device_)) return "the driver does not blend numbers of 32 bits, which count";
  return "";
}

// The boxes of the draw, which count from the lower left corner.
void CountPlan::measure(const KeptPipeline& kept) {
  uint32_t count = 0;
  const VkRect2D box = scissor(kept, count);
  VkViewport seen = viewport(kept);
  if (seen.height < 0) seen.y += seen.height, seen.height = -seen.height;
  auto put = [&](int* to, double x, double y, double width, double height) {
    const double values[4] = {x, size_.height - y - height, width, height};
    for (int i = 0; i < 4; ++i) to[i] = static_cast<int>(std::lround(std::clamp(values[i], -1e9, 1e9)));
  };
  put(counts_.viewport_, static_cast<double>(seen.x), static_cast<double>(seen.y), static_cast<double>(seen.width),
      static_cast<double>(seen.height));
  put(counts_.scissor_, box.offset.x, box.offset.y, box.extent.width, box.extent.height);
}

// The depth and stencil that the draw tests.
void CountPlan::add_deep() {
  deep_shots_ = {}, deep_format_ = VK_FORMAT_UNDEFINED;
  const auto& part = pass_.subpasses[subpass_];
  auto add = [&](uint32_t number, uint32_t aspect) {
    if (number >= pass_.attachments.size()) return;
    const KeptView* v = view(pass_.attachments[number].view);
    const KeptImage* of = v ? s_.image(v->image) : nullptr;
    if (!of || !(aspect == VK_IMAGE_ASPECT_DEPTH_BIT ? has_depth(of->format) : has_stencil(of->format))) return;
    Shot& shot = deep_shots_.shots.emplace_back();
    shot.image = v->image, shot.format = deep_format_ = of->format, shot.aspect = aspect, shot.samples = of->samples;
    shot.level = v->range.baseMipLevel, shot.layer = v->range.baseArrayLayer;
    shot.layout = pass_.attachments[number].layout;
    shot.width = std::max(of->extent.width >> shot.level, 1u);
    shot.height = std::max(of->extent.height >> shot.level, 1u);
  };
  add(part.depth, VK_IMAGE_ASPECT_DEPTH_BIT), add(part.stencil, VK_IMAGE_ASPECT_STENCIL_BIT);
}

// Adds a step that counts what passes all tests up to `last`; returns why there is none.
std::string CountPlan::step(const KeptPipeline& kept, metrics::PixelTest last, Copier::Counting& to, bool clears) {
  const bool deep = last >= metrics::STENCIL && deep_format_;
  if (kept.needs_fragment(last)) {
    if (kept.use.reads_target) return "the fragment shader reads the target";
    if (!kept.float_color)
      return "its fragment shader discards, and has no colour of floating-point numbers at location 0";
  }
  VariantWish wish;
  wish.last = last, wish.counts = true, wish.fragment = counts_.shader(device_);
  Copier::Counting::Step one;
  wish.pass = one.pass = counts_.pass(device_, deep ? deep_format_ : VkFormat(), clears);
  if (!wish.fragment || !wish.pass) return "the driver refuses a render pass that counts";
  one.variant = counts_.variant(device_, reinterpret_cast<VkPipeline>(stream_[bound_]->arguments[2]), kept, wish);
  if (!one.variant) return "the driver refuses a variant of its pipeline";
  to.bound = bound_, to.sets = sets_, to.size = size_;
  std::vector<VkImageView> views;
  if (clears || !sum_) {
    std::tie(image_of_step_, sum_view_) =
        copier_.own_image(VK_FORMAT_R32_SFLOAT, size_, VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT);
    if (!counts_.masks_) sum_ = image_of_step_;
  }
  views.push_back(sum_view_);
  if (deep) {
    const uint32_t usage = VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    const auto [image, of] = copier_.own_image(deep_format_, size_, usage);
    one.deep = image;
    views.push_back(of);
  }
  one.framebuffer = copier_.own_framebuffer(one.pass, views, size_);
  to.steps.push_back(one);
  return "";
}

Shot CountPlan::shot_of(VkImage image, Taken& taken) const {
  Shot shot;
  shot.image = image, shot.format = VK_FORMAT_R32_SFLOAT, shot.aspect = VK_IMAGE_ASPECT_COLOR_BIT, shot.samples = 1;
  shot.layout = VK_IMAGE_LAYOUT_GENERAL, shot.width = size_.width, shot.height = size_.height, shot.raw = true;
  shot.at = taken.bytes;
  taken.bytes += uint64_t{size_.width} * size_.height * 4;
  return shot;
}

std::string CountPlan::count_masks(size_t at, const KeptPipeline& kept) {
  const auto* raster = kept.info->pRasterizationState;
  if (raster && raster->rasterizerDiscardEnable && !kept.is_dynamic(VK_DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE))
    return "nothing is rasterised";
  add_deep();
  auto has = [&](uint32_t aspect) {
    return std::any_of(deep_shots_.shots.begin(), deep_shots_.shots.end(),
                       [&](const Shot& shot) { return shot.aspect == aspect; });
  };
  bool smaller = false;
  for (auto& shot : deep_shots_.shots) smaller |= shot.width < size_.width || shot.height < size_.height;
  Copier::Counting counting;
  counting.deep = deep_shots_;
  Taken taken;
  taken.event = 0;
  auto plane = [&](Counts::Plane which, bool own, Counts::Plane other, metrics::PixelTest last) {
    if (!own) return counts_.as_[which] = counts_.as_[other], counts_.why_[which] = counts_.why_[other], void();
    counts_.as_[which] = which;
    // The copy has a stencil then, and the draw none.
    if (last == metrics::DEPTH && kept.tests(metrics::STENCIL) && !has(VK_IMAGE_ASPECT_STENCIL_BIT) &&
        has_stencil(deep_format_))
      return counts_.why_[which] = "it tests a stencil that its render pass does not have", void();
    if (smaller && last >= metrics::STENCIL)
      return counts_.why_[which] = "its depth image is smaller than the target", void();
    if (!(counts_.why_[which] = step(kept, last, counting, true)).empty()) return;
    taken.shots.push_back(shot_of(image_of_step_, taken));
    counts_.order_.push_back(which);
  };
  plane(Counts::GENERATED, true, Counts::GENERATED, metrics::CULLING);
  plane(Counts::FACING_ANY, kept.tests(metrics::CULLING), Counts::GENERATED, metrics::COVERS);
  plane(Counts::KEPT, kept.needs_fragment(metrics::COVERAGE), Counts::GENERATED, metrics::COVERAGE);
  plane(Counts::STENCILLED, kept.tests(metrics::STENCIL) && has(VK_IMAGE_ASPECT_STENCIL_BIT), Counts::KEPT,
        metrics::STENCIL);
  plane(Counts::PASSED, kept.tests(metrics::DEPTH) && has(VK_IMAGE_ASPECT_DEPTH_BIT), Counts::STENCILLED,
        metrics::DEPTH);
  const std::string why = counting.steps.empty() ? "" : copier_.want_count(at, std::move(counting));
  if (!why.empty() || taken.shots.empty()) return why;
  copier_.read_behind_count(std::move(taken));
  any_ = true;
  return "";
}

std::string CountPlan::count_sum(size_t at, const KeptPipeline& kept) {
  Copier::Counting counting;
  const bool first = !sum_;
  std::string why = step(kept, metrics::CULLING, counting, first);
  if (why.empty()) why = copier_.want_count(at, std::move(counting));
  if (!why.empty() && first) sum_ = nullptr;  // nothing has cleared it
  any_ |= why.empty();
  return why;
}

void CountPlan::before(size_t at) {
  if (!image_ || counts_.met || !size_.width) return;
  follow(at);
  const KeptCommand& command = *stream_[at];
  if (command.command->flags & FLAG_PASS_BEGIN) pass_ = flat(at);
  if (!(command.command->flags & FLAG_DRAW) || !draws_to_target()) return;
  const bool last = is_last(command);
  if (counts_.masks_ && !last) return;
  counts_.found_ |= last;
  const KeptPipeline* kept = nullptr;
  std::string why = uncountable(kept);
  if (kept && last) measure(*kept);
  if (why.empty()) why = counts_.masks_ ? count_masks(at, *kept) : count_sum(at, *kept);
  ++counts_.draws_;
  if (why.empty()) return;
  ++counts_.unknown_, counts_.why_unknown_ = why;
  if (counts_.masks_) counts_.why_.fill(why), counts_.order_.clear();
}

void CountPlan::behind(size_t at) {
  if (image_) Walk::behind(at);
}

// All draws of the command buffer share an image: it is read once, behind the last of them.
void CountPlan::end() {
  if (!sum_) return;
  Taken taken;
  taken.event = 0;
  taken.shots.push_back(shot_of(sum_, taken));
  copier_.read_behind_count(std::move(taken));
}

}  // namespace dt::play::vk
