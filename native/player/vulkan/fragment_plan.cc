#include "fragment_plan.h"

#include <algorithm>

#include "../metrics/measure.h"

namespace dt::play::vk {

// Why a draw is not repeated; empty: it is.
std::string FragmentPlan::obstacle(const KeptPipeline*& kept) const {
  if (&device_ != fragments_.device_) return "a second device draws it: fragments are counted on one device";
  if (begin_ == NONE || subpass_ >= pass_.subpasses.size())
    return "the render pass that it draws in does not begin in this command buffer";
  return untestable(kept);
}

// ---- the draw ---------------------------------------------------------------------------------------------------

bool FragmentPlan::has_samples(const KeptPipeline& kept) const {
  const auto* many = kept.info->pMultisampleState;
  if (kept.is_dynamic(VK_DYNAMIC_STATE_RASTERIZATION_SAMPLES_EXT)) {
    const KeptCommand* set = last_set(number::vkCmdSetRasterizationSamplesEXT);
    return set && set->arguments[1] > VK_SAMPLE_COUNT_1_BIT;
  }
  return many && many->rasterizationSamples > VK_SAMPLE_COUNT_1_BIT;
}

// True: a colour of the subpass lets something through.
bool FragmentPlan::writes_color(const KeptPipeline& kept) const {
  const auto& colors = pass_.subpasses[subpass_].colors;
  const KeptCommand* enables = kept.is_dynamic(VK_DYNAMIC_STATE_COLOR_WRITE_ENABLE_EXT)
                                   ? last_set(number::vkCmdSetColorWriteEnableEXT)
                                   : nullptr;
  for (uint32_t i = 0; i < colors.size(); ++i) {
    if (colors[i] >= pass_.attachments.size() || !pass_.attachments[colors[i]].view) continue;
    if (enables && i < enables->arguments[1] && !enables->at<VkBool32>(2)[i]) continue;
    if (!kept.masked(i, dynamic_mask(i))) return true;
  }
  return false;
}

// True: fragments of the draw may fail by what others of it stored.
bool FragmentPlan::sees_own_stencil(const KeptPipeline& kept) const {
  const auto* deep = kept.info->pDepthStencilState;
  if (!kept.tests(metrics::STENCIL)) return false;
  auto sees = [](uint64_t compare, std::initializer_list<uint64_t> ops) {
    if (compare == VK_COMPARE_OP_ALWAYS || compare == VK_COMPARE_OP_NEVER) return false;
    return std::any_of(ops.begin(), ops.end(), [](uint64_t op) { return op != VK_STENCIL_OP_KEEP; });
  };
  if (kept.is_dynamic(VK_DYNAMIC_STATE_STENCIL_OP)) {
    return std::any_of(sets_.begin(), sets_.end(), [&](size_t each) {
      const KeptCommand& c = *stream_[each];
      return c.number == number::vkCmdSetStencilOp &&
             sees(c.arguments[5], {c.arguments[2], c.arguments[3], c.arguments[4]});
    });
  }
  if (!deep) return false;
  const bool masks = kept.is_dynamic(VK_DYNAMIC_STATE_STENCIL_WRITE_MASK);
  for (const VkStencilOpState& face : {deep->front, deep->back})
    if ((masks || face.writeMask) && sees(static_cast<uint64_t>(face.compareOp),
                                          {static_cast<uint64_t>(face.failOp), static_cast<uint64_t>(face.passOp),
                                           static_cast<uint64_t>(face.depthFailOp)}))
      return true;
  return false;
}

// The pipelines that count in front of the draw; returns why there are none.
std::string FragmentPlan::variants(const KeptPipeline& kept, Tested& tested, std::vector<VkPipeline>& to) {
  VariantWish wish;
  wish.everywhere = true;
  wish.colors = static_cast<uint32_t>(pass_.subpasses[subpass_].colors.size());
  if (!pass_.rendering) wish.pass = stream_[begin_]->at<VkRenderPassBeginInfo>(1)->renderPass;
  wish.subpass = subpass_;
  auto* of = reinterpret_cast<VkPipeline>(stream_[bound_]->arguments[2]);
  const std::pair<metrics::PixelTest, bool> tests[] = {
      {metrics::COVERS, kept.tests(metrics::CULLING)},
      {metrics::CULLING, true},
      {metrics::COVERAGE, kept.tests(metrics::DISCARD) || kept.tests(metrics::COVERAGE)},
      {metrics::STENCIL, kept.tests(metrics::STENCIL)}};
  for (auto& [test, made] : tests) {
    if (!made) continue;
    wish.last = test;
    to.push_back(fragments_.variant(device_, of, kept, wish));
    tested.tests |= 1u << test;
    if (!to.back()) return "the driver refuses a variant of its pipeline";
  }
  return "";
}

void FragmentPlan::query(size_t at, const KeptPipeline* kept, const std::string& why) {
  Tested tested;
  tested.event = fragments_.add(submit_, stream_[at]->seq), tested.around = true;
  Fragments::Drawn& d = fragments_.drawn_[tested.event];
  if (!why.empty()) return d.why = metrics::lasting(why), void();
  d.many = has_samples(*kept), d.writes = writes_color(*kept);
  d.early = kept->use.early && (kept->tests(metrics::DISCARD) || kept->tests(metrics::COVERAGE));
  d.own_stencil = sees_own_stencil(*kept);
  std::vector<VkPipeline> made;
  if (const std::string no = variants(*kept, tested, made); !no.empty()) return d.why = metrics::lasting(no), void();
  copier_.want_tests(at, std::move(made), sets_, bound_, tested);
  any_ = true;
}

// ---- the picture ------------------------------------------------------------------------------------------------

// Turns to the image that the draw draws to: its first colour, else its depth. Returns why there is none.
std::string FragmentPlan::aim() {
  const auto& part = pass_.subpasses[subpass_];
  std::vector<uint32_t> order = part.colors;
  order.insert(order.end(), {part.depth, part.stencil});
  for (uint32_t number : order) {
    const KeptView* v = number < pass_.attachments.size() ? view(pass_.attachments[number].view) : nullptr;
    const KeptImage* of = v ? s_.image(v->image) : nullptr;
    if (!of) continue;
    image_ = v->image, fragments_.level = v->range.baseMipLevel, fragments_.layer = v->range.baseArrayLayer;
    size_ = {std::max(of->extent.width >> fragments_.level, 1u), std::max(of->extent.height >> fragments_.level, 1u)};
    auto [it, fresh] = sums_.try_emplace({image_, fragments_.level, fragments_.layer});
    now_ = &it->second;
    if (fresh) now_->target = {s_.host_.name_of(image_), fragments_.level, fragments_.layer, size_};
    sum_ = now_->image, sum_view_ = now_->view;
    return "";
  }
  return "it draws to no image that is known";
}

void FragmentPlan::add(size_t at, const KeptPipeline* kept, std::string why) {
  Fragments::Frame& frame = fragments_.frames_[fragments_.frame_];
  ++frame.draws;
  if (why.empty()) why = aim();
  if (why.empty()) why = uncountable(kept);
  if (why.empty()) {
    why = count_sum(at, *kept);
    now_->image = sum_, now_->view = sum_view_;
  }
  if (!why.empty()) ++frame.unknown, frame.why = metrics::lasting(why);
}

// ---- the walk ---------------------------------------------------------------------------------------------------

void FragmentPlan::before(size_t at) {
  follow(at);
  const KeptCommand& command = *stream_[at];
  if (command.command->flags & FLAG_PASS_BEGIN) pass_ = flat(at);
  if (!(command.command->flags & FLAG_DRAW)) return;
  const KeptPipeline* kept = nullptr;
  const std::string why = obstacle(kept);
  if (fragments_.draws_) query(at, kept, why);
  if (fragments_.pictures_) add(at, kept, why);
}

void FragmentPlan::behind(size_t at) {
  passed(at);
  if (stream_[at]->command->flags & FLAG_PASS_END) begin_ = NONE;
}

// Each image is read once, behind the last draw that is counted.
void FragmentPlan::end() {
  Taken taken;
  std::vector<Fragments::Target> targets;
  for (auto& [key, sum] : sums_) {
    if (!sum.image) continue;
    size_ = sum.target.size;
    taken.shots.push_back(shot_of(sum.image, taken));
    targets.push_back(sum.target);
  }
  if (targets.empty()) return;
  taken.event = fragments_.events_++;
  fragments_.reads_[taken.event] = {fragments_.frame_, std::move(targets)};
  copier_.read_behind_count(std::move(taken));
}

}  // namespace dt::play::vk
