// Records a copy of a command buffer that lets images be read behind some of its commands.
#pragma once
#include "snapshots.h"

namespace dt::play::vk {

class Copier {
 public:
  Copier(Snapshots& s, Snapshots::Submission& submission, const Stream& stream)
      : s_(s), submission_(submission), device_(*submission.device), stream_(stream) {}
  // Plans a picture behind the command at this place of the stream; in ascending order. `why` of the result explains a
  // picture that is not possible.
  void want(size_t at, Taken taken);
  // Plans a read of a pixel before or behind the command, in ascending order; returns why it is not possible.
  std::string want_pixel(size_t at, bool before, Taken taken);
  // Plans queries of what variants of the pipeline let through, before the command. `sets`: what gives dynamic state;
  // `bound`: what binds the pipeline. `tested` has no queries yet.
  void want_tests(size_t at, std::vector<VkPipeline> variants, std::vector<size_t> sets, size_t bound, Tested tested);
  // Plans that a draw is performed once more before the command, outside of the render pass, into images of our own;
  // returns why it is not possible. Steps go one after the other.
  struct Counting {
    struct Step {
      VkPipeline variant = nullptr;
      VkRenderPass pass = nullptr;
      VkFramebuffer framebuffer = nullptr;
      VkImage deep = nullptr;       // gets the content of `deep` before
      VkBuffer captured = nullptr;  // gets what transform feedback captures, in this part
      uint64_t from = 0, bytes = 0;
      VkQueryPool queries = nullptr;
      uint32_t query = 0;
    };
    size_t bound = 0;          // what binds the pipeline
    std::vector<size_t> sets;  // what gives dynamic state
    std::vector<Step> steps;
    Taken deep;  // the depth and stencil that are drawn to
    VkExtent2D size{};
  };
  std::string want_count(size_t at, Counting counting);
  void read_behind_count(Taken taken);  // of the last planned one
  // An image of our own that is drawn to, and a view of it; both live as the submission.
  std::pair<VkImage, VkImageView> own_image(VkFormat format, VkExtent2D size, uint32_t usage);
  VkFramebuffer framebuffer(VkRenderPass pass, const std::vector<VkImageView>& views, VkExtent2D size);
  VkFramebuffer own_framebuffer(VkRenderPass pass, const std::vector<VkImageView>& views, VkExtent2D size);
  // A buffer and queries of our own, which live as the submission.
  Room own_buffer(uint64_t bytes, uint32_t usage);
  VkQueryPool own_queries(VkQueryType type, uint32_t count);
  void read(VkCommandBuffer to, Taken taken);  // now, outside of a copy
  void record(VkCommandBuffer to);

 private:
  static constexpr size_t OUTSIDE = SIZE_MAX;
  struct Pause {
    size_t at = 0, begin = OUTSIDE;  // the command, and the one that begins its render pass
    uint32_t subpass = 0;
    Taken taken;
    bool last = false;   // of its render pass
    bool plain = false;  // outside of render passes
    bool before = false, pixel = false;
    std::shared_ptr<const Counting> counting = nullptr;
  };
  struct Tests {
    size_t at = 0, bound = 0;
    std::vector<VkPipeline> variants;
    std::vector<size_t> sets;
    Tested tested;
  };
  // Where the walk through the commands is.
  struct Place {
    size_t begin = OUTSIDE;
    uint32_t subpass = 0;
    std::vector<std::string> open;  // what began in this render pass and goes on
    struct Bound {
      VkDescriptorSet set = nullptr;
      std::vector<uint32_t> offsets;  // of dynamic descriptors
    };
    std::map<uint32_t, Bound> bound;  // for dispatches
    bool unknown = false;             // descriptors are given in a way that is not followed
  };
  void step(Place& place, size_t at) const;
  void bind(Place& place, const KeptCommand& command) const;
  void shots_of_dispatch(Pause& pause) const;
  void shot_of(Taken& taken, const std::string& name, const Descriptor& what, uint32_t offset) const;
  std::string obstacle(const Pause& pause, const KeptCommand& command, const Place& place) const;
  std::string whole_pass(const Pause& pause, const Place& place) const;
  bool is_kept(const Pause& pause, uint32_t attachment) const {
    return !pass_of(pause.begin)->flat.is_lost(pause.subpass, attachment);
  }
  void want_held(size_t at, Taken taken);
  void plan(Taken& taken, const Pause* pause) const;
  std::string plan_level(Held& held, Taken& taken, const Pause* pause) const;
  std::string layout_in(const Pause& pause, const Held& held, uint32_t layer, VkImageLayout& layout) const;
  void shots_of_pass(Pause& pause);
  void add_shot(Taken& taken, const std::string& name, uint32_t aspect, VkImageView view, VkImageLayout layout) const;
  const KeptPass* pass_of(size_t begin) const;
  std::vector<VkImageView> views_of(size_t begin) const { return s_.views_of(*stream_[begin]); }

  void make(const KeptCommand& command);
  void begin(size_t at, Variant which, bool whole);
  void pause(Pause& pause);
  void count(const Pause& pause);
  void perform(const Counting::Step& step, const KeptCommand& draw);
  void give_back(const Counting& counting);
  bool loses(const Pause& pause) const;
  void pause_at(size_t at, bool before);
  void make_rooms();
  void test(const Tests& tests);
  void begin_query(const Tested& tested, uint32_t query);
  VkImage one_texel(const Shot& shot);
  void copy(Taken& taken);
  void copy_shot(const Shot& shot, VkBuffer buffer);
  void barrier(VkImage image, const VkImageSubresourceRange& range, VkImageLayout from, VkImageLayout to);
  void turn(const Taken& taken, bool back);
  Room image_room(VkFormat format, const Shot& shot, uint32_t usage);
  const char* cannot_resolve() const;
  VkRenderPass resolving_pass(const Shot& shot, VkImageLayout layout);
  VkImageView view_of(VkImage image, VkFormat format, uint32_t level, uint32_t layer);
  VkImage resolve_depth(const Shot& shot, VkImageLayout layout);
  Room buffer_room(uint64_t bytes, uint32_t usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  VkDeviceMemory memory_for(const VkMemoryRequirements& needs, uint32_t properties);
  bool is_rendering(size_t begin) const { return begins_rendering(*stream_[begin]); }

  Snapshots& s_;
  Snapshots::Submission& submission_;
  Device& device_;
  const Stream& stream_;
  VkCommandBuffer to_ = nullptr;
  Place place_;
  size_t walked_ = 0;
  std::vector<Pause> pauses_;
  size_t next_ = 0;  // of them
  std::vector<Tests> tests_;
  std::map<VkFormat, VkImage> texels_;  // where samples of one pixel are resolved
};

}  // namespace dt::play::vk
