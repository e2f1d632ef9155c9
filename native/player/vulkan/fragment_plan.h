// The plan for a command buffer all draws of which are counted.
#pragma once
#include "count_plan.h"
#include "fragments.h"

namespace dt::play::vk {

class FragmentPlan : public CountPlan {
 public:
  FragmentPlan(const Submitted& of, Fragments& fragments) : CountPlan(of, fragments), fragments_(fragments) {}
  void before(size_t at) override;
  void behind(size_t at) override;
  void end() override;

 private:
  struct Sum {
    Fragments::Target target;
    VkImage image = nullptr;
    VkImageView view = nullptr;
  };
  std::string obstacle(const KeptPipeline*& kept) const;
  void query(size_t at, const KeptPipeline* kept, const std::string& why);
  std::string variants(const KeptPipeline& kept, Tested& tested, std::vector<VkPipeline>& to);
  void add(size_t at, const KeptPipeline* kept, std::string why);
  std::string aim();
  bool has_samples(const KeptPipeline& kept) const;
  bool writes_color(const KeptPipeline& kept) const;
  bool sees_own_stencil(const KeptPipeline& kept) const;

  Fragments& fragments_;
  std::map<std::tuple<VkImage, uint32_t, uint32_t>, Sum> sums_;
  Sum* now_ = nullptr;
};

}  // namespace dt::play::vk
