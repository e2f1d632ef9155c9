// The plan for a command buffer whose draws are counted: which of them, and in how many steps.
#pragma once
#include "counts.h"
#include "walk.h"

namespace dt::play::vk {

class CountPlan : public Walk {
 public:
  CountPlan(const Submitted& of, Counts& counts);
  void before(size_t at) override;
  void behind(size_t at) override;
  void end() override;

 private:
  std::string uncountable(const KeptPipeline*& kept) const;
  void measure(const KeptPipeline& kept);
  void add_deep();
  std::string count_masks(size_t at, const KeptPipeline& kept);
  std::string count_sum(size_t at, const KeptPipeline& kept);
  std::string step(const KeptPipeline& kept, metrics::PixelTest last, Copier::Counting& to, bool clears);
  Shot shot_of(VkImage image, Taken& taken) const;

  Counts& counts_;
  VkExtent2D size_{};
  Taken deep_shots_;  // what the draw tests
  VkFormat deep_format_ = VK_FORMAT_UNDEFINED;
  VkImage sum_ = nullptr, image_of_step_ = nullptr;
  VkImageView sum_view_ = nullptr;
};

}  // namespace dt::play::vk
