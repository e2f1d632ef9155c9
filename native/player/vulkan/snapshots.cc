#include "snapshots.h"

#include <algorithm>
#include <cstring>

#include "../../core/error.h"
#include "chain.h"
#include "copier.h"
#include "question.h"

namespace dt::play::vk {
namespace {

constexpr unsigned DEEPEST = 8;        // of command buffers in each other
constexpr size_t MOST_UNDER_WAY = 16;  // submissions whose pictures wait for the device
constexpr uint32_t TARGETS =
    VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT | VK_IMAGE_USAGE_STORAGE_BIT;

// The usage of images that are drawn or stored to, so that they can be read.
uint32_t readable(uint32_t usage, bool whole) {
  if (!whole && !(usage & TARGETS)) return usage;
  return (usage & ~static_cast<uint32_t>(VK_IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT)) | VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
}

bool is_command(const Call& c) { return c.command.flags & FLAG_RECORDS; }

}  // namespace

void unfold(const KeptBuffer& buffer, Stream& stream, unsigned depth) {
  for (auto& each : buffer.commands) {
    if (each.inside.empty())
      stream.push_back(&each);
    else if (depth < DEEPEST)
      for (auto& secondary : each.inside) unfold(*secondary, stream, depth + 1);
  }
}

// ---- what is kept ---------------------------------------------------------------------------------------------

void Snapshots::more_use(Call& c) {
  if (c.number == number::vkCreateImage) {
    auto* info = c.at<VkImageCreateInfo>(1);
    info->usage = readable(info->usage, whole_);
    return;
  }
  if (c.number == number::vkCreateBuffer) {
    auto* info = c.at<VkBufferCreateInfo>(1);
    if (whole_ || info->usage & VK_BUFFER_USAGE_STORAGE_BUFFER_BIT) info->usage |= VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    return;
  }
  const auto* infos = chained<VkFramebufferAttachmentsCreateInfo>(c.at<VkFramebufferCreateInfo>(1)->pNext);
  for (uint32_t i = 0; infos && i < infos->attachmentImageInfoCount; ++i) {
    auto& usage = const_cast<VkFramebufferAttachmentImageInfo&>(infos->pAttachmentImageInfos[i]).usage;
    usage = readable(usage, whole_);
  }
}

void Snapshots::prepare(Call& c, uint64_t seq) {
  switch (c.number) {
    case number::vkCreateImage:
    case number::vkCreateBuffer:
    case number::vkCreateFramebuffer: return more_use(c);
    case number::vkQueueSubmit:
    case number::vkQueueSubmit2: return submit(c, seq);
    default: return;
  }
}

void Snapshots::keep_command(Call& c, uint64_t seq, std::vector<std::unique_ptr<uint8_t[]>>& rooms) {
  auto& buffer = buffers_[c.as<VkCommandBuffer>(0)];
  if (!buffer) buffer = std::make_shared<KeptBuffer>();
  KeptCommand& kept = buffer->commands.emplace_back();
  kept.command = &c.command, kept.number = c.number, kept.seq = seq, kept.table = c.table;
  std::copy(std::begin(c.arguments), std::end(c.arguments), std::begin(kept.arguments));
  if (c.number == number::vkCmdExecuteCommands)
    for (uint64_t i = 0; i < c.arguments[1]; ++i)
      if (auto it = buffers_.find(c.at<VkCommandBuffer>(2)[i]); it != buffers_.end()) kept.inside.push_back(it->second);
  kept.rooms = std::move(rooms);
  rooms.clear();
}

void Snapshots::keep(Call& c, uint64_t seq, std::vector<std::unique_ptr<uint8_t[]>>& rooms) {
  using namespace number;
  switch (c.number) {
    case vkCreateImage: {
      const auto* info = c.at<VkImageCreateInfo>(1);
      images_[*c.at<VkImage>(3)] = {info->format,
                                    info->extent,
                                    info->imageType,
                                    info->samples,
                                    (info->usage & VK_IMAGE_USAGE_TRANSFER_SRC_BIT) != 0,
                                    info->tiling == VK_IMAGE_TILING_LINEAR,
                                    info->mipLevels,
                                    info->arrayLayers,
                                    info->initialLayout,
                                    {},
                                    (info->usage & VK_IMAGE_USAGE_STORAGE_BIT) != 0};
      return;
    }
    case vkCreateImageView: {
      const auto* info = c.at<VkImageViewCreateInfo>(1);
      views_[*c.at<VkImageView>(3)] = {info->image, info->format, info->subresourceRange};
      return;
    }
    case vkCreateFramebuffer: {
      const auto* info = c.at<VkFramebufferCreateInfo>(1);
      auto& views = framebuffers_[*c.at<VkFramebuffer>(3)];
      views.clear();
      if (!(info->flags & VK_FRAMEBUFFER_CREATE_IMAGELESS_BIT) && info->pAttachments)
        views.assign(info->pAttachments, info->pAttachments + info->attachmentCount);
      return;
    }
    case vkCreateRenderPass:
    case vkCreateRenderPass2: {
      KeptPass& pass = passes_[*c.at<VkRenderPass>(3)] = {};
      if (c.number == vkCreateRenderPass)
        pass.flat = flat_pass(*(pass.one = c.at<VkRenderPassCreateInfo>(1)));
      else
        pass.flat = flat_pass(*(pass.two = c.at<VkRenderPassCreateInfo2>(1)));
      pass.rooms = std::move(rooms);
      rooms.clear();
      return;
    }
    case vkTransitionImageLayout:
      for (uint64_t i = 0; i < c.arguments[1]; ++i) {
        const auto& turned = c.at<VkHostImageLayoutTransitionInfo>(2)[i];
        turn(turned.image, turned.subresourceRange, turned.newLayout);
      }
      return;
    case vkCreateBuffer: sizes_[*c.at<VkBuffer>(3)] = c.at<VkBufferCreateInfo>(1)->size; return;
    case vkCreateDescriptorSetLayout:
    case vkAllocateDescriptorSets:
    case vkUpdateDescriptorSets:
    case vkCreateDescriptorUpdateTemplate:
    case vkUpdateDescriptorSetWithTemplate: return keep_descriptors(c);
    case vkBeginCommandBuffer: buffers_[c.as<VkCommandBuffer>(0)] = std::make_shared<KeptBuffer>(); return;
    case vkCreateShaderModule:
    case vkCreateGraphicsPipelines: return keep_pipelines(c, rooms);
    case vkResetCommandBuffer: buffers_.erase(c.as<VkCommandBuffer>(0)); return;
    case vkQueueSubmit:
    case vkQueueSubmit2:
      if (!std::exchange(submitted_, false)) return;
      // A batch of its own says when all before it is done.
      return vk::submit(*under_way_.back().device, c.as<VkQueue>(0), nullptr, under_way_.back().fence);
    default:
      if (is_command(c)) keep_command(c, seq, rooms);
  }
}

bool Snapshots::forget(unsigned kind, uint64_t now, Table& table) {
  switch (kind) {
    case OF_PipelineLayout:
    case OF_DescriptorUpdateTemplate:  // commands that were recorded with it do not need it any more
      ended_.emplace_back(kind, now);
      return false;
    case OF_ShaderModule:  // pipelines are made of it later
      if (looks_) ended_.emplace_back(kind, now);
      return !looks_;
    case OF_Pipeline:
      if (question_) collect(), question_->forget(reinterpret_cast<VkPipeline>(now));
      pipelines_.erase(reinterpret_cast<VkPipeline>(now));
      return true;
    case OF_Buffer: sizes_.erase(reinterpret_cast<VkBuffer>(now)); return true;
    case OF_DescriptorSet: sets_.erase(reinterpret_cast<VkDescriptorSet>(now)); return true;
    case OF_Image: images_.erase(reinterpret_cast<VkImage>(now)); return true;
    case OF_ImageView: views_.erase(reinterpret_cast<VkImageView>(now)); return true;
    case OF_Framebuffer: framebuffers_.erase(reinterpret_cast<VkFramebuffer>(now)); return true;
    case OF_CommandBuffer: buffers_.erase(reinterpret_cast<VkCommandBuffer>(now)); return true;
    case OF_RenderPass:
      if (auto it = passes_.find(reinterpret_cast<VkRenderPass>(now)); it != passes_.end()) {
        collect();
        if (question_) question_->forget(reinterpret_cast<VkRenderPass>(now));
        for (auto* each : it->second.variants)
          if (each) DT_VK(table, vkDestroyRenderPass)(table.device, each, nullptr);
        passes_.erase(it);
      }
      return true;
    default: return true;
  }
}

// ---- render passes in parts -----------------------------------------------------------------------------------

namespace {

// Between the parts of a render pass all images are in the general layout.
template <class Attachment> void change(Attachment& a, Variant which) {
  if (which != FIRST) {
    a.loadOp = a.stencilLoadOp = VK_ATTACHMENT_LOAD_OP_LOAD;
    a.initialLayout = VK_IMAGE_LAYOUT_GENERAL;
  }
  if (which != LAST) {
    a.storeOp = a.stencilStoreOp = VK_ATTACHMENT_STORE_OP_STORE;
    a.finalLayout = VK_IMAGE_LAYOUT_GENERAL;
  }
}

struct StencilLayout {
  VkAttachmentDescriptionStencilLayout own;
  // The layouts of stencil, where they have a structure of their own. Other systems alone have others for this chain.
  void follow(VkAttachmentDescription2& a, Variant which) {
    const auto* given = chained<VkAttachmentDescriptionStencilLayout>(a.pNext);
    if (!given) return;
    own = *given;
    if (which != FIRST) own.stencilInitialLayout = VK_IMAGE_LAYOUT_GENERAL;
    if (which != LAST) own.stencilFinalLayout = VK_IMAGE_LAYOUT_GENERAL;
    a.pNext = &own;
  }
};

}  // namespace

VkRenderPass Snapshots::variant(Table& table, VkRenderPass of, Variant which) {
  KeptPass& pass = passes_.at(of);
  VkRenderPass& made = pass.variants[which];
  if (made) return made;
  VkResult result = VK_SUCCESS;
  if (pass.one) {
    std::vector<VkAttachmentDescription> attachments(pass.one->pAttachments,
                                                     pass.one->pAttachments + pass.one->attachmentCount);
    for (auto& each : attachments) change(each, which);
    VkRenderPassCreateInfo info = *pass.one;
    info.pAttachments = attachments.data();
    result = DT_VK(table, vkCreateRenderPass)(table.device, &info, nullptr, &made);
  } else {
    std::vector<VkAttachmentDescription2> attachments(pass.two->pAttachments,
                                                      pass.two->pAttachments + pass.two->attachmentCount);
    std::vector<StencilLayout> stencils(attachments.size());
    for (size_t i = 0; i < attachments.size(); ++i) {
      change(attachments[i], which);
      stencils[i].follow(attachments[i], which);
    }
    VkRenderPassCreateInfo2 info = *pass.two;
    info.pAttachments = attachments.data();
    result = DT_VK(table, vkCreateRenderPass2)(table.device, &info, nullptr, &made);
  }
  if (result != VK_SUCCESS) throw Error(DT_E_ARGUMENT, "a render pass cannot be made that goes on with another");
  return made;
}

// ---- submissions ----------------------------------------------------------------------------------------------

VkCommandBuffer Snapshots::copied(Submission& s, VkCommandBuffer of, VkQueue queue, uint64_t seq, uint32_t& place) {
  auto it = buffers_.find(of);
  if (it == buffers_.end()) return of;
  Stream stream;
  unfold(*it->second, stream);
  Copier copier(*this, s, stream);
  bool any = false;
  for (size_t i = 0; i < stream.size(); ++i) {
    const KeptCommand& command = *stream[i];
    const bool counts = command.command->flags & (FLAG_DRAW | FLAG_DISPATCH);
    follow(command);
    if (host_.wanted(command, seq, s.bytes)) {
      Taken taken;
      taken.call = command.seq, taken.submit = seq, taken.place = place;
      host_.hold(taken, *s.device);
      copier.want(i, std::move(taken));
      any = true;
    }
    place += counts;
  }
  if (!any) return of;
  VkCommandBuffer made = commands(s, queue);
  copier.record(made);
  return made;
}

// A copy that does more where something in it concerns the question.
VkCommandBuffer Snapshots::looked_at(Submission& s, VkCommandBuffer of, VkQueue queue, uint64_t seq) {
  auto it = buffers_.find(of);
  if (it == buffers_.end()) return of;
  Stream stream;
  unfold(*it->second, stream);
  Copier copier(*this, s, stream);
  const std::unique_ptr<Plan> plan = question_->plan({*this, *s.device, copier, stream, seq});
  for (size_t i = 0; i < stream.size(); ++i) {
    plan->before(i);
    follow(*stream[i]);
    plan->behind(i);
  }
  plan->end();
  if (!plan->any()) return of;
  VkCommandBuffer made = commands(s, queue);
  copier.record(made);
  return made;
}

VkCommandBuffer Snapshots::commands(Submission& s, VkQueue queue) {
  auto family = families_.find(queue);
  if (!s.pool) s.pool = make_pool(*s.device, family == families_.end() ? s.device->family : family->second);
  return make_commands(*s.device, s.pool);
}

void Snapshots::read(Device& device, Taken taken) {
  collect();
  host_.wait_idle(device, nullptr);
  Submission s;
  s.device = &device;
  VkCommandBuffer made = commands(s, device.queue);
  const Stream nothing;
  Copier(*this, s, nothing).read(made, std::move(taken));
  s.fence = make_fence(device);
  vk::submit(device, device.queue, made, s.fence);
  under_way_.push_back(std::move(s));
  collect();
}

void Snapshots::submit(Call& c, uint64_t seq) {
  if (under_way_.size() >= MOST_UNDER_WAY) collect();
  Submission s;
  s.device = static_cast<Device*>(c.table), s.seq = seq;
  const auto queue = c.as<VkQueue>(0);
  uint32_t place = 0;
  const bool looks = question_ && question_->wants(seq);
  auto replace = [&](VkCommandBuffer& of) {
    of = looks ? looked_at(s, of, queue, seq) : copied(s, of, queue, seq, place);
  };
  for (uint64_t i = 0; i < c.arguments[1]; ++i) {
    if (c.number == number::vkQueueSubmit) {
      const auto& batch = c.at<VkSubmitInfo>(2)[i];
      for (uint32_t k = 0; k < batch.commandBufferCount; ++k)
        replace(const_cast<VkCommandBuffer&>(batch.pCommandBuffers[k]));
    } else {
      const auto& batch = c.at<VkSubmitInfo2>(2)[i];
      for (uint32_t k = 0; k < batch.commandBufferInfoCount; ++k)
        replace(const_cast<VkCommandBuffer&>(batch.pCommandBufferInfos[k].commandBuffer));
    }
  }
  if (!s.pool) return;
  s.fence = make_fence(*s.device);
  under_way_.push_back(std::move(s));
  submitted_ = true;
}

void Snapshots::end(Table& device) {
  collect();
  if (question_) question_->forget();
  for (auto& [kind, object] : std::exchange(ended_, {})) {
    void* destroy = device.get(kind == OF_DescriptorUpdateTemplate ? number::vkDestroyDescriptorUpdateTemplate
                               : kind == OF_ShaderModule           ? number::vkDestroyShaderModule
                                                                   : number::vkDestroyPipelineLayout);
    reinterpret_cast<void (*)(VkDevice, uint64_t, const void*)>(destroy)(device.device, object, nullptr);
  }
}

void Snapshots::free_room(Device& device, Room& room) {
  if (room.framebuffer) DT_VK(device, vkDestroyFramebuffer)(device.device, room.framebuffer, nullptr);
  if (room.pass) DT_VK(device, vkDestroyRenderPass)(device.device, room.pass, nullptr);
  for (auto* view : room.views)
    if (view) DT_VK(device, vkDestroyImageView)(device.device, view, nullptr);
  if (room.buffer) DT_VK(device, vkDestroyBuffer)(device.device, room.buffer, nullptr);
  if (room.image) DT_VK(device, vkDestroyImage)(device.device, room.image, nullptr);
  if (room.memory) DT_VK(device, vkFreeMemory)(device.device, room.memory, nullptr);
}

void Snapshots::take(Submission& s) {
  Device& device = *s.device;
  expect_signal(device, s.fence, "a submission whose draws are pictured");
  for (auto& taken : s.taken) {
    std::vector<AttachmentImage> images;
    for (auto& shot : taken.shots)
      if (!shot.raw) images.push_back(read_shot(shot, taken.room.at));
    host_.pictured(taken, images);
    free_room(device, taken.room);
  }
  if (question_) question_->take(device, s.tested, s.reads);
  for (auto* each : s.queries) DT_VK(device, vkDestroyQueryPool)(device.device, each, nullptr);
  for (auto& room : s.rooms) free_room(device, room);
  DT_VK(device, vkDestroyFence)(device.device, s.fence, nullptr);
  DT_VK(device, vkDestroyCommandPool)(device.device, s.pool, nullptr);
}

void Snapshots::collect() {
  for (auto& s : std::exchange(under_way_, {})) take(s);
}

void Snapshots::collect(uint64_t submit) {
  const auto it = std::find_if(under_way_.begin(), under_way_.end(), [&](auto& s) { return s.seq == submit; });
  if (it == under_way_.end()) return;
  Submission s = std::move(*it);
  under_way_.erase(it);
  take(s);
}

}  // namespace dt::play::vk
