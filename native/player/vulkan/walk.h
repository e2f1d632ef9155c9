// The walk through the commands of one command buffer, for a question about an image that they draw to.
#pragma once
#include "copier.h"
#include "question.h"

namespace dt::play::vk {

class Walk : public Plan {
 protected:
  Walk(const Submitted& of, Question& question);
  void behind(size_t at) override;  // it follows passes, and says when the last command ran
  static constexpr size_t NONE = SIZE_MAX;
  FlatPass flat(size_t begin) const { return s_.flat(*stream_[begin]); }
  const KeptView* view(VkImageView of) const;
  const KeptImage* target() const;
  bool is_target(VkImageView of) const;
  bool is_target(VkImage image, const VkImageSubresourceLayers& of) const;
  uint32_t color() const;  // the target's place among the subpass's colours, or VK_ATTACHMENT_UNUSED
  bool draws_to_target() const;
  void follow(size_t at);                           // before a command: the state that it gives
  void passed(size_t at);                           // behind it: which subpass runs
  bool is_last(const KeptCommand& command) const {  // of what the question is about
    return command.seq == question_.draw && submit_ == question_.last;
  }
  // Why a draw may not be performed once more; empty: it may.
  std::string untestable(const KeptPipeline*& kept) const;
  // The box of the first scissor, and how many there are.
  VkRect2D scissor(const KeptPipeline& kept, uint32_t& count) const;
  VkViewport viewport(const KeptPipeline& kept) const;  // the first one
  const KeptCommand* last_set(uint16_t number) const;
  // The dynamic write mask of a colour; nullptr: it is not known.
  const VkColorComponentFlags* dynamic_mask(uint32_t color) const;

  Snapshots& s_;
  Device& device_;
  Copier& copier_;
  const Stream& stream_;
  const uint64_t submit_;
  VkImage image_ = nullptr;
  bool deep_ = false;  // the target is a depth image
  FlatPass pass_;
  size_t begin_ = NONE;  // of the pass that runs
  uint32_t subpass_ = 0;
  size_t bound_ = NONE;  // what binds the pipeline
  bool shader_objects_ = false;
  std::vector<size_t> sets_;       // what gives dynamic state, the last of each kind
  std::vector<std::string> open_;  // queries and the like that run

 private:
  Question& question_;
};

}  // namespace dt::play::vk
