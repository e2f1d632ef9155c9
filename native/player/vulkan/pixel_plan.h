// The plan for a command buffer and one pixel: where the copy reads the pixel, and which draws it tests.
#pragma once
#include "history.h"
#include "walk.h"

namespace dt::play::vk {

class PixelPlan : public Walk {
 public:
  PixelPlan(const Submitted& of, History& history);
  void before(size_t at) override;
  void behind(size_t at) override;

 private:
  bool has_pixel(const VkRect2D& box) const;
  bool has_pixel(int32_t x, int32_t y, int32_t right, int32_t bottom) const;
  bool resolves_target() const;

  void begin_pass(size_t at);
  void clear_attachments(size_t at);
  void draw(size_t at);
  void test(size_t at, metrics::PixelEvent& event);
  const char* transfer(size_t at, bool& covers) const;  // its kind, where it writes the image
  template <class Region> bool writes(const Region* regions, uint64_t count, VkImage image) const;
  bool clears(const VkImageSubresourceRange* ranges, uint64_t count) const;
  std::string read(size_t at, bool before, size_t event);
  void add_shot(Taken& taken, VkImage image, uint32_t aspect, uint32_t level, uint32_t layer, VkImageLayout layout);
  void add_depth(Taken& taken, bool in_pass);

  History& history_;
  uint32_t x_ = 0, y_ = 0;
  VkImageView depth_view_ = nullptr, stencil_view_ = nullptr;  // beside the target
  size_t event_ = NONE;
  bool stale_ = true;
};

}  // namespace dt::play::vk
