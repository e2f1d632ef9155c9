// The plan for a command buffer and one pixel: where the copy reads the pixel, and which draws it tests.
#pragma once
#include "copier.h"
#include "history.h"

namespace dt::play::vk {

// A render pass, whichever commands begin it.
struct FlatPass {
  struct Attachment {
    VkImageView view = nullptr;
    VkAttachmentLoadOp load = VK_ATTACHMENT_LOAD_OP_LOAD, stencil_load = VK_ATTACHMENT_LOAD_OP_LOAD;
    VkImageLayout layout = VK_IMAGE_LAYOUT_GENERAL;  // while it runs
  };
  struct Subpass {
    std::vector<uint32_t> colors;  // numbers of attachments, or VK_ATTACHMENT_UNUSED
    uint32_t depth = VK_ATTACHMENT_UNUSED, stencil = VK_ATTACHMENT_UNUSED;
    std::vector<VkImageView> resolves;
    uint32_t views = 0;  // the mask of several views
  };
  std::vector<Attachment> attachments;
  std::vector<Subpass> subpasses;
  VkRect2D area{};
  bool rendering = false;
};

class PixelPlan {
 public:
  PixelPlan(Snapshots& snapshots, Device& device, History& history, Copier& copier, const Stream& stream,
            uint64_t submit);
  void before(size_t at);  // while layouts are those before the command
  void behind(size_t at);
  bool any() const { return any_; }

 private:
  static constexpr size_t NONE = SIZE_MAX;
  FlatPass flat(size_t begin) const;
  template <class Info> void add_pass(FlatPass& pass, const Info& info, const std::vector<VkImageView>& views) const;
  const KeptView* view(VkImageView of) const;
  const KeptImage* target() const;
  bool is_target(VkImageView of) const;
  bool is_target(VkImage image, const VkImageSubresourceLayers& of) const;
  uint32_t color() const;  // the target's place among the subpass's colours, or VK_ATTACHMENT_UNUSED
  bool draws_to_target() const;
  bool has_pixel(const VkRect2D& box) const;
  bool has_pixel(int32_t x, int32_t y, int32_t right, int32_t bottom) const;

  void follow(size_t at);
  void begin_pass(size_t at);
  void clear_attachments(size_t at);
  void draw(size_t at);
  void test(size_t at, metrics::PixelEvent& event);
  std::string untestable(const KeptPipeline*& kept) const;
  VkRect2D scissor(const KeptPipeline& kept, uint32_t& count) const;
  const KeptCommand* last_set(std::initializer_list<uint16_t> numbers) const;
  const VkColorComponentFlags* dynamic_mask() const;
  const char* transfer(size_t at, bool& covers) const;  // its kind, where it writes the image
  template <class Regions> bool copies(const Regions* regions, uint64_t count, VkImage image) const;
  template <class Regions> bool stretches(const Regions* regions, uint64_t count, VkImage image) const;
  template <class Regions> bool uploads(const Regions* regions, uint64_t count, VkImage image) const;
  bool clears(const VkImageSubresourceRange* ranges, uint64_t count) const;
  std::string read(size_t at, bool before, size_t event);
  void add_shot(Taken& taken, VkImage image, uint32_t aspect, uint32_t level, uint32_t layer, VkImageLayout layout);
  void add_depth(Taken& taken, bool in_pass);

  Snapshots& s_;
  Device& device_;
  History& history_;
  Copier& copier_;
  const Stream& stream_;
  const uint64_t submit_;
  VkImage image_ = nullptr;
  uint32_t x_ = 0, y_ = 0;
  bool deep_ = false;  // the target is a depth image
  FlatPass pass_;
  size_t begin_ = NONE;  // of the pass that runs
  uint32_t subpass_ = 0;
  VkImageView depth_view_ = nullptr, stencil_view_ = nullptr;  // beside the target
  size_t bound_ = NONE;                                        // what binds the pipeline
  bool shader_objects_ = false;
  std::vector<size_t> sets_;       // what gives dynamic state, the last of each kind
  std::vector<std::string> open_;  // queries and the like that run
  size_t event_ = NONE;
  bool stale_ = true, any_ = false;
};

}  // namespace dt::play::vk
