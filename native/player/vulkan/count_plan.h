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

 protected:
  std::string uncountable(const KeptPipeline*& kept) const;
  // Adds the draw to the image that sums up, which is made where there is none; returns why it is not added.
  std::string count_sum(size_t at, const KeptPipeline& kept);
  Shot shot_of(VkImage image, Taken& taken) const;

  VkExtent2D size_{};
  VkImage sum_ = nullptr;
  VkImageView sum_view_ = nullptr;

 private:
  void measure(const KeptPipeline& kept);
  void add_deep();
  std::string count_masks(size_t at, const KeptPipeline& kept);
  std::string step(const KeptPipeline& kept, metrics::PixelTest last, Copier::Counting& to, bool clears);

  Counts& counts_;
  Taken deep_shots_;  // what the draw tests
  VkFormat deep_format_ = VK_FORMAT_UNDEFINED;
  VkImage image_of_step_ = nullptr;
};

}  // namespace dt::play::vk
