// Copies of command buffers that perform draws once more into images of our own, which count fragments by pixel.
#include <algorithm>

#include "copier.h"

namespace dt::play::vk {

// Returns whether an interrupted pass loses something that the subpass draws to.
bool Copier::loses(const Pause& pause) const {
  if (is_rendering(pause.begin)) return false;
  const FlatPass& pass = pass_of(pause.begin)->flat;
  if (pause.subpass >= pass.subpasses.size()) return true;
  std::vector<uint32_t> all = pass.subpasses[pause.subpass].colors;
  all.push_back(pass.subpasses[pause.subpass].depth);
  return std::any_of(all.begin(), all.end(),
                     [&](uint32_t each) { return each != VK_ATTACHMENT_UNUSED && pass.is_lost(pause.subpass, each); });
}

std::string Copier::want_count(size_t at, Counting counting) {
  for (; walked_ < at; ++walked_) step(place_, walked_);
  Pause pause{at, place_.begin, place_.subpass, {}, true};
  pause.before = pause.pixel = true;
  if (pause.begin == OUTSIDE) return "the render pass that it draws in does not begin in this command buffer";
  if (const std::string why = whole_pass(pause, place_); !why.empty()) return why;
  if (loses(pause)) return "the render pass does not preserve what it draws to";
  if (!pauses_.empty() && pauses_.back().begin == pause.begin) pauses_.back().last = false;
  pause.counting = std::make_shared<Counting>(std::move(counting));
  pauses_.push_back(std::move(pause));
  return "";
}

void Copier::read_behind_count(Taken taken) { pauses_.back().taken = std::move(taken); }

std::pair<VkImage, VkImageView> Copier::own_image(VkFormat format, VkExtent2D size, uint32_t usage) {
  Shot of;
  of.width = size.width, of.height = size.height;
  Room room = image_room(format, of, usage);
  room.views[0] = view_of(room.image, format, 0, 0);
  submission_.rooms.push_back(room);
  return {room.image, room.views[0]};
}

VkFramebuffer Copier::framebuffer(VkRenderPass pass, const std::vector<VkImageView>& views, VkExtent2D size) {
  VkFramebufferCreateInfo info{};
  info.renderPass = pass;
  info.attachmentCount = static_cast<uint32_t>(views.size()), info.pAttachments = views.data();
  info.width = size.width, info.height = size.height, info.layers = 1;
  return vk::make(device_, DT_VK(device_, vkCreateFramebuffer), info, "a framebuffer");
}

VkFramebuffer Copier::own_framebuffer(VkRenderPass pass, const std::vector<VkImageView>& views, VkExtent2D size) {
  Room room;
  room.framebuffer = framebuffer(pass, views, size);
  submission_.rooms.push_back(room);
  return room.framebuffer;
}

Room Copier::own_buffer(uint64_t bytes, uint32_t usage) {
  submission_.rooms.push_back(buffer_room(bytes, usage));
  return submission_.rooms.back();
}

VkQueryPool Copier::own_queries(VkQueryType type, uint32_t count) {
  VkQueryPoolCreateInfo info{};
  info.queryType = type, info.queryCount = count;
  return submission_.queries.emplace_back(vk::make(device_, DT_VK(device_, vkCreateQueryPool), info, "queries"));
}

// The draw, whose positions go into a buffer where the step has one.
void Copier::perform(const Counting::Step& step, const KeptCommand& draw) {
  if (!step.captured) return make(draw);
  DT_VK(device_, vkCmdBindTransformFeedbackBuffersEXT)(to_, 0, 1, &step.captured, &step.from, &step.bytes);
  DT_VK(device_, vkCmdBeginQuery)(to_, step.queries, step.query, 0);
  DT_VK(device_, vkCmdBeginTransformFeedbackEXT)(to_, 0, 0, nullptr, nullptr);
  make(draw);
  DT_VK(device_, vkCmdEndTransformFeedbackEXT)(to_, 0, 0, nullptr, nullptr);
  DT_VK(device_, vkCmdEndQuery)(to_, step.queries, step.query);
}

void Copier::count(const Pause& pause) {
  const Counting& of = *pause.counting;
  for (auto& step : of.steps) {
    barrier(nullptr, {}, 0, 0);
    if (step.deep) {
      turn(of.deep, false);
      const VkFormat format = of.deep.shots.front().format;
      barrier(step.deep, {aspects_of(format), 0, 1, 0, 1}, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
      for (auto& shot : of.deep.shots) {
        const VkImageCopy region{{shot.aspect, shot.level, shot.layer, 1},
                                 {},
                                 {shot.aspect, 0, 0, 1},
                                 {},
                                 {of.size.width, of.size.height, 1}};
        const VkImageLayout layout =
            shot.layout == VK_IMAGE_LAYOUT_GENERAL ? VK_IMAGE_LAYOUT_GENERAL : VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
        DT_VK(device_, vkCmdCopyImage)(to_, shot.image, layout, step.deep, VK_IMAGE_LAYOUT_GENERAL, 1, &region);
      }
      turn(of.deep, true);
      barrier(nullptr, {}, 0, 0);
    }
    if (step.queries) DT_VK(device_, vkCmdResetQueryPool)(to_, step.queries, step.query, 1);
    for (size_t each : of.sets) make(*stream_[each]);
    DT_VK(device_, vkCmdBindPipeline)(to_, VK_PIPELINE_BIND_POINT_GRAPHICS, step.variant);
    VkClearValue empty{};
    empty.color.float32[0] = 0x1p-126f;
    VkRenderPassBeginInfo begins{};
    begins.renderPass = step.pass, begins.framebuffer = step.framebuffer;
    begins.renderArea.extent = of.size;
    begins.clearValueCount = 1, begins.pClearValues = &empty;
    DT_VK(device_, vkCmdBeginRenderPass)(to_, &begins, VK_SUBPASS_CONTENTS_INLINE);
    perform(step, *stream_[pause.at]);
    DT_VK(device_, vkCmdEndRenderPass)(to_);
  }
}

// Gives the program its pipeline and its state again: a pipeline that has a state fixed leaves it undefined.
void Copier::give_back(const Counting& counting) {
  for (size_t each : counting.sets) make(*stream_[each]);
  make(*stream_[counting.bound]);
}

}  // namespace dt::play::vk
