#include "copier.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "../../core/error.h"
#include "../options.h"
#include "chain.h"

namespace dt::play::vk {
namespace {

constexpr uint32_t SUSPENDED = VK_RENDERING_SUSPENDING_BIT | VK_RENDERING_RESUMING_BIT;

}  // namespace

void Copier::step(Place& place, size_t at) const {
  const KeptCommand& command = *stream_[at];
  const std::string_view name = command.command->name;
  const uint64_t flags = command.command->flags;
  if (flags & FLAG_PASS_BEGIN) {
    place.begin = at, place.subpass = 0, place.open.clear();
  } else if (flags & FLAG_PASS_END) {
    place.begin = OUTSIDE, place.open.clear();
  } else if (command.number == number::vkCmdBindDescriptorSets) {
    bind(place, command);
  } else if (name.starts_with("vkCmdPushDescriptor") || name.starts_with("vkCmdBindDescriptor")) {
    place.unknown = true;
  } else if (goes_on(command.number)) {
    ++place.subpass;
  } else if (place.begin != OUTSIDE && !(flags & FLAG_MARKER)) {
    follow_open(place.open, name);
    if (name.starts_with("vkCmdSetRenderingAttachment") || name.starts_with("vkCmdSetRenderingInput"))
      place.open.emplace_back(name);
  }
}

const KeptPass* Copier::pass_of(size_t begin) const {
  auto it = s_.passes_.find(stream_[begin]->at<VkRenderPassBeginInfo>(1)->renderPass);
  return it == s_.passes_.end() ? nullptr : &it->second;
}

// ---- what is wanted -------------------------------------------------------------------------------------------

std::string Copier::obstacle(const Pause& pause, const KeptCommand& command, const Place& place) const {
  if (command.command->flags & FLAG_DISPATCH && place.begin == OUTSIDE)
    return place.unknown ? "the descriptors of the dispatch are pushed, or bound by structures: these are not followed"
                         : "";
  if (!(command.command->flags & FLAG_DRAW) && command.number != number::vkCmdClearAttachments)
    return std::string(command.command->name) + " draws nothing; snapshots are taken after draws";
  if (place.begin == OUTSIDE) return "the render pass that it draws in does not begin in this command buffer";
  return whole_pass(pause, place);
}

// Why a render pass cannot be interrupted.
std::string Copier::whole_pass(const Pause& pause, const Place& place) const {
  if (!place.open.empty()) return "the render pass cannot be interrupted: " + place.open.back() + " is not over";
  if (is_rendering(place.begin)) {
    if (stream_[place.begin]->at<VkRenderingInfo>(1)->flags & SUSPENDED)
      return "the render pass is one of several parts (suspended or resumed)";
    return "";
  }
  const KeptPass* pass = pass_of(place.begin);
  if (!pass) return "its render pass is not known";
  for (uint32_t i = 0; i < pass->flat.subpasses.size(); ++i)
    for (const uint32_t to : pass->flat.subpasses[i].resolves)
      if (i != pause.subpass && to != VK_ATTACHMENT_UNUSED)
        return "another subpass of its render pass resolves samples";
  return "";
}

void Copier::add_shot(Taken& taken, const std::string& name, uint32_t aspect, VkImageView of,
                      VkImageLayout layout) const {
  auto why = [&](const char* text) { taken.why.push_back((name.empty() ? "color" : name) + ": " + text); };
  auto view = s_.views_.find(of);
  if (view == s_.views_.end()) return why("its image view is not known");
  auto image = s_.images_.find(view->second.image);
  if (image == s_.images_.end()) return why("its image is not known");
  const KeptImage& i = image->second;
  if (aspect == VK_IMAGE_ASPECT_DEPTH_BIT && !has_depth(i.format)) return;
  if (aspect == VK_IMAGE_ASPECT_STENCIL_BIT && !has_stencil(i.format)) return;
  if (!i.readable) return why("the image cannot be read");
  if (i.samples > 1 && aspect != VK_IMAGE_ASPECT_COLOR_BIT && cannot_resolve()) return why(cannot_resolve());
  const char* no_color = aspect == VK_IMAGE_ASPECT_COLOR_BIT ? unreadable(device_, i.format) : nullptr;
  if (no_color) return why(no_color);
  const VkImageSubresourceRange& range = view->second.range;
  if (range.baseMipLevel >= i.levels) return why("its view is of a level that the image does not have");
  const uint32_t width = std::max(i.extent.width >> range.baseMipLevel, 1u);
  const uint32_t height = std::max(i.extent.height >> range.baseMipLevel, 1u);
  taken.shots.push_back({.name = name,
                         .image = view->second.image,
                         .format = i.format,
                         .layout = layout,
                         .aspect = aspect,
                         .samples = i.samples,
                         .level = range.baseMipLevel,
                         .layer = range.baseArrayLayer,
                         .width = width,
                         .height = height,
                         .slice = i.type == VK_IMAGE_TYPE_3D});
}

void Copier::shots_of_pass(Pause& pause) {
  const FlatPass pass = s_.flat(*stream_[pause.begin]);
  auto& why = pause.taken.why;
  if (pause.subpass >= pass.subpasses.size()) return why.emplace_back("its render pass has fewer subpasses"), void();
  auto add = [&](const std::string& name, uint32_t aspect, uint32_t number) {
    if (number == VK_ATTACHMENT_UNUSED) return;
    if (number >= pass.attachments.size() || !pass.attachments[number].view)
      why.push_back((name.empty() ? "color" : name) + ": the framebuffer does not have it");
    else if (pass.is_lost(pause.subpass, number))
      why.push_back((name.empty() ? "color" : name) + ": the render pass does not preserve it");
    else
      add_shot(pause.taken, name, aspect, pass.attachments[number].view, pass.attachments[number].layout);
  };
  const FlatPass::Subpass& part = pass.subpasses[pause.subpass];
  for (uint32_t i = 0; s_.attachments_ & WANT_COLOR && i < part.colors.size(); ++i)
    add(i ? "color" + std::to_string(i) : "", VK_IMAGE_ASPECT_COLOR_BIT, part.colors[i]);
  if (s_.attachments_ & WANT_DEPTH) add("depth", VK_IMAGE_ASPECT_DEPTH_BIT, part.depth);
  if (s_.attachments_ & WANT_STENCIL) add("stencil", VK_IMAGE_ASPECT_STENCIL_BIT, part.stencil);
}

void Copier::want(size_t at, Taken taken) {
  if (!taken.held.empty()) return want_held(at, std::move(taken));
  for (; walked_ < at; ++walked_) step(place_, walked_);
  Pause pause{at, place_.begin, place_.subpass, std::move(taken), true};
  const std::string why = obstacle(pause, *stream_[at], place_);
  if (!why.empty()) {
    pause.taken.why.push_back(why);
    pause.begin = OUTSIDE;
  } else {
    pause.plain = pause.begin == OUTSIDE;
    pause.plain ? shots_of_dispatch(pause) : shots_of_pass(pause);
    if (!pause.plain && s_.attachments_ & WANT_BUFFERS)
      pause.taken.why.emplace_back("the buffers of draws are not read yet");
    if (pause.taken.shots.empty() && pause.taken.stored.empty()) {
      if (pause.taken.why.empty())
        pause.taken.why.emplace_back(pause.plain
                                         ? "it stores to nothing of this kind; --attachments color,buffers has all"
                                         : "it draws to no image of this kind");
      pause.begin = OUTSIDE, pause.plain = false;
    } else if (!pauses_.empty() && pauses_.back().begin == pause.begin) {
      pauses_.back().last = false;
    }
  }
  for (auto& shot : pause.taken.shots) {
    shot.at = pause.taken.bytes;
    pause.taken.bytes += (uint64_t{shot.width} * shot.height * texel_bytes(shot.format, shot.aspect) + 15) / 16 * 16;
  }
  for (auto& each : pause.taken.stored) {
    each.at = pause.taken.bytes;
    pause.taken.bytes += (each.bytes + 15) / 16 * 16;
  }
  submission_.bytes += pause.taken.bytes;
  if (pause.begin == OUTSIDE && !pause.plain)
    submission_.taken.push_back(std::move(pause.taken));
  else
    pauses_.push_back(std::move(pause));
}

// ---- what is recorded -----------------------------------------------------------------------------------------

void Copier::make(const KeptCommand& command) {
  uint64_t arguments[MOST_PARAMS];
  std::copy(std::begin(command.arguments), std::end(command.arguments), arguments);
  arguments[0] = reinterpret_cast<uint64_t>(to_);
  // Secondary command buffers are unfolded.
  VkSubpassBeginInfo inside{};
  VkRenderingInfo rendering{};
  using namespace number;
  switch (command.number) {
    case vkCmdBeginRenderPass: arguments[2] = VK_SUBPASS_CONTENTS_INLINE; break;
    case vkCmdNextSubpass: arguments[1] = VK_SUBPASS_CONTENTS_INLINE; break;
    case vkCmdBeginRenderPass2:
    case vkCmdNextSubpass2: {
      uint64_t& info = arguments[goes_on(command.number) ? 1 : 2];
      inside = *reinterpret_cast<const VkSubpassBeginInfo*>(info);
      inside.contents = VK_SUBPASS_CONTENTS_INLINE;
      info = reinterpret_cast<uint64_t>(&inside);
      break;
    }
    case vkCmdBeginRendering:
      rendering = *command.at<VkRenderingInfo>(1);
      rendering.flags &= ~static_cast<uint32_t>(VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT);
      arguments[1] = reinterpret_cast<uint64_t>(&rendering);
      break;
    default: break;
  }
  void* function = device_.get(*command.command);
  if (!function) throw Error(DT_E_ARGUMENT, std::string("the driver here does not have ") + command.command->name);
  command.command->shape(function, arguments);
}

// Begins a part of a render pass.
void Copier::begin(size_t at, Variant which, bool whole) {
  const KeptCommand& command = *stream_[at];
  if (whole) return make(command);
  if (!is_rendering(at)) {
    VkRenderPassBeginInfo info = *command.at<VkRenderPassBeginInfo>(1);
    info.renderPass = s_.variant(device_, info.renderPass, which);
    return DT_VK(device_, vkCmdBeginRenderPass)(to_, &info, VK_SUBPASS_CONTENTS_INLINE);
  }
  VkRenderingInfo info = *command.at<VkRenderingInfo>(1);
  info.flags &= ~static_cast<uint32_t>(VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT);
  auto part = [&](VkRenderingAttachmentInfo a) {
    if (which != FIRST) a.loadOp = VK_ATTACHMENT_LOAD_OP_LOAD;
    if (which != LAST) a.storeOp = VK_ATTACHMENT_STORE_OP_STORE, a.resolveMode = VK_RESOLVE_MODE_NONE;
    return a;
  };
  std::vector<VkRenderingAttachmentInfo> colors;
  for (uint32_t i = 0; i < info.colorAttachmentCount; ++i) colors.push_back(part(info.pColorAttachments[i]));
  info.pColorAttachments = colors.data();
  VkRenderingAttachmentInfo depth{}, stencil{};
  if (info.pDepthAttachment) depth = part(*info.pDepthAttachment), info.pDepthAttachment = &depth;
  if (info.pStencilAttachment) stencil = part(*info.pStencilAttachment), info.pStencilAttachment = &stencil;
  DT_VK(device_, vkCmdBeginRendering)(to_, &info);
}

void Copier::pause(Pause& p) {
  const bool rendering = is_rendering(p.begin);
  if (rendering) {
    DT_VK(device_, vkCmdEndRendering)(to_);
  } else {
    const size_t count = pass_of(p.begin)->flat.subpasses.size();
    for (size_t i = p.subpass + 1; i < count; ++i) DT_VK(device_, vkCmdNextSubpass)(to_, VK_SUBPASS_CONTENTS_INLINE);
    DT_VK(device_, vkCmdEndRenderPass)(to_);
  }
  if (p.counting) count(p);
  copy(p.taken);
  begin(p.begin, p.last ? LAST : MIDDLE, false);
  for (uint32_t i = 0; i < p.subpass && !rendering; ++i)
    DT_VK(device_, vkCmdNextSubpass)(to_, VK_SUBPASS_CONTENTS_INLINE);
  if (p.counting) give_back(*p.counting);
}

void Copier::pause_at(size_t at, bool before) {
  for (; next_ < pauses_.size() && pauses_[next_].at == at && pauses_[next_].before == before; ++next_) {
    Pause& p = pauses_[next_];
    p.plain ? copy(p.taken) : pause(p);
    (p.pixel ? submission_.reads : submission_.taken).push_back(std::move(p.taken));
  }
}

void Copier::record(VkCommandBuffer to) {
  to_ = to;
  begin_once(device_, to_);
  make_rooms();
  size_t tests = 0;
  for (size_t i = 0; i < stream_.size(); ++i) {
    pause_at(i, true);
    const Tested* around = nullptr;
    for (; tests < tests_.size() && tests_[tests].at == i; ++tests) {
      test(tests_[tests]);
      if (tests_[tests].tested.around) around = &tests_[tests].tested;
    }
    const uint32_t last = around ? around->first + static_cast<uint32_t>(std::popcount(around->tests)) : 0;
    if (around) begin_query(*around, last);
    if (stream_[i]->command->flags & FLAG_PASS_BEGIN) {
      const bool whole = next_ >= pauses_.size() || pauses_[next_].begin != i;
      begin(i, FIRST, whole);
    } else {
      make(*stream_[i]);
    }
    if (around) DT_VK(device_, vkCmdEndQuery)(to_, around->pool, last);
    pause_at(i, false);
  }
  expect(DT_VK(device_, vkEndCommandBuffer)(to_), "a command buffer that is pictured");
}

}  // namespace dt::play::vk
