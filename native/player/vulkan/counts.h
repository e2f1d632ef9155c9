// Fragments by pixel: of one draw, what each test leaves; or of all draws of a frame to an image.
//
// Copies of command buffers perform a draw once more before it runs. Variants of its pipeline draw to an image of our
// own, where each fragment multiplies its pixel by a constant. The logarithm is the count.
#pragma once
#include <array>
#include <map>
#include <string>
#include <vector>

#include "question.h"

namespace dt::play::vk {

class Counts : public Question {
 public:
  enum Plane : uint8_t { FACING_ANY, GENERATED, KEPT, STENCILLED, PASSED, PLANES };
  explicit Counts(bool masks) : masks_(masks) {}
  std::unique_ptr<Plan> plan(const Submitted& of) override;
  void take(Device& device, const std::vector<Tested>& tested, const std::vector<Taken>& reads) override;
  void write(FILE* to) const override;

 protected:
  friend class CountPlan;
  // Adds what an image of ours counts, the lowest row first; returns why a pixel lacks something.
  static std::string add_counts(const Taken& read, const Shot& shot, std::vector<uint32_t>& to);

 private:
  // A render pass with the image that counts, and depth (VK_FORMAT_UNDEFINED: none); nullptr: the driver refuses it.
  VkRenderPass pass(Device& device, VkFormat deep, bool clears);
  VkShaderModule shader(Device& device);  // it writes 1
  void write_masks(FILE* to) const;
  void write_sum(FILE* to) const;

  const bool masks_;
  VkExtent2D size_{};
  bool found_ = false;                                // the draw
  std::array<std::vector<uint32_t>, PLANES> counts_;  // the lowest row first; of all draws GENERATED alone
  std::array<std::string, PLANES> why_;
  std::array<Plane, PLANES> as_{};  // where a plane's counts are
  std::vector<Plane> order_;        // of what is read
  int viewport_[4] = {}, scissor_[4] = {};
  uint64_t draws_ = 0, unknown_ = 0;
  std::string why_unknown_;  // of the last one
  std::map<std::pair<VkFormat, bool>, VkRenderPass> passes_;
  VkShaderModule shader_ = nullptr;
};

}  // namespace dt::play::vk
