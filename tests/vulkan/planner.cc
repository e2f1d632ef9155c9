// Streams of commands by chance for the plan of a pixel's history: passes, views and numbers of attachments that lie.
// Arrays are as long as their counts say, for relocation sees to that. Run by test_hostile.py under sanitizers.
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <random>

#include "../../native/core/error.h"
#include "copier.h"
#include "history.h"
#include "no_sizes.h"

namespace dt::play::vk {
namespace {

int32_t make_pipelines(VkDevice, VkPipelineCache, uint32_t, const VkGraphicsPipelineCreateInfo*, const void*,
                       VkPipeline* made) {
  *made = reinterpret_cast<VkPipeline>(1);
  return VK_SUCCESS;
}
void end_pipeline(VkDevice, VkPipeline, const void*) {}
// The plan is made by then: nothing is recorded.
int32_t refuse_pool(VkDevice, const VkCommandPoolCreateInfo*, const void*, VkCommandPool*) { return -1; }

}  // namespace

void* Table::get(uint16_t wanted) {
  switch (wanted) {
    case number::vkCreateGraphicsPipelines: return reinterpret_cast<void*>(make_pipelines);
    case number::vkDestroyPipeline: return reinterpret_cast<void*>(end_pipeline);
    case number::vkCreateCommandPool: return reinterpret_cast<void*>(refuse_pool);
    default: return nullptr;
  }
}

// Nobody asks for these: no content is held, and no submission is made.
void Copier::want_held(size_t, Taken) { abort(); }
void expect_signal(Device&, VkFence, const char*) { abort(); }

namespace {

using namespace number;

constexpr uint64_t SUBMISSION = 1'000'000;
constexpr uint32_t KINDS_OF_ONE = 4;  // objects of a kind, with none
constexpr size_t MOST_COMMANDS = 40;
const char* const NO_POOL = "there is no memory for a command pool";

struct Host final : Snapshots::Host {
  uint32_t memory_type_of(const Device&, uint32_t, uint32_t) const override { return 0; }
  bool wanted(const KeptCommand&, uint64_t, uint64_t) override { return false; }
  void hold(Taken&, const Device&) override {}
  void pictured(const Taken&, std::vector<AttachmentImage>&) override {}
  VkImage image_of(uint64_t recorded) const override { return reinterpret_cast<VkImage>(recorded); }
  uint64_t name_of(VkImage image) const override { return reinterpret_cast<uint64_t>(image); }
  void wait_idle(Device&, VkQueue) override {}
};

// A program by chance: its objects, one command buffer with another inside, and one submission.
class Program {
 public:
  explicit Program(uint32_t seed) : chance_(seed), snapshots_(host_, ~0u, false, true) {}
  // Returns how many events the plan has; `plans` counts submissions that would be copied.
  size_t run(uint64_t& plans);

 private:
  uint32_t pick(uint32_t below) { return static_cast<uint32_t>(chance_() % below); }
  // A small number, or one that is much too large.
  uint32_t number(uint32_t below) {
    static constexpr uint32_t LARGE[] = {0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
    return pick(20) ? pick(below) : LARGE[pick(4)];
  }
  template <class T> T handle() { return reinterpret_cast<T>(uint64_t{pick(12) ? 1 + pick(KINDS_OF_ONE - 1) : 0}); }
  template <class T> T* room(size_t count) {  // exactly as large
    rooms_.push_back(std::make_unique<uint8_t[]>(count * sizeof(T)));
    return reinterpret_cast<T*>(rooms_.back().get());
  }
  template <class T> T* put(const T& one) { return &(*room<T>(1) = one); }
  template <class T, class F> T* list(uint32_t count, F&& make) {
    T* all = room<T>(count);
    for (uint32_t i = 0; i < count; ++i) all[i] = make();
    return all;
  }
  template <class T> uint64_t word(T of) {
    if constexpr (std::is_null_pointer_v<T>)
      return 0;
    else if constexpr (std::is_pointer_v<T>)
      return reinterpret_cast<uint64_t>(of);
    else
      return static_cast<uint64_t>(of);
  }
  template <class... T> Call call(uint16_t of, T... arguments) {
    Call c{vk::COMMANDS[of], of, columns_, 0, &device_, {word(arguments)...}};
    return c;
  }
  template <class... T> void keep(uint16_t of, T... arguments) {
    Call c = call(of, arguments...);
    std::vector<std::unique_ptr<uint8_t[]>> rooms;
    snapshots_.keep(c, ++seq_, rooms);
  }
  template <class T> T* made(uint32_t handle) { return put(reinterpret_cast<T>(uint64_t{handle})); }

  VkRect2D rect() {
    return {{static_cast<int32_t>(number(64)), static_cast<int32_t>(number(64))}, {number(64), number(64)}};
  }
  VkFormat format() {
    static constexpr VkFormat ALL[] = {VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_D16_UNORM, VK_FORMAT_D32_SFLOAT_S8_UINT,
                                       VK_FORMAT_S8_UINT};
    return pick(10) ? ALL[pick(8) < 5 ? 0 : pick(4)] : static_cast<VkFormat>(pick(200));
  }
  template <class Pass, class Attachment, class Subpass, class Reference> Pass* pass();
  void image(uint32_t handle);
  void pipeline(uint32_t handle);
  void objects();
  void command(VkCommandBuffer to);
  void region(VkCommandBuffer to);
  void rendering(VkCommandBuffer to);
  void state(VkCommandBuffer to);

  std::mt19937 chance_;
  Host host_;
  Columns columns_;
  Device device_;
  std::vector<std::unique_ptr<uint8_t[]>> rooms_;
  Snapshots snapshots_;
  uint64_t seq_ = 0;
};

// ---- objects ----------------------------------------------------------------------------------------------------

void Program::image(uint32_t handle) {
  VkImageCreateInfo info{};
  info.format = format(), info.extent = {1 + pick(64), 1 + pick(64), 1};
  info.imageType = static_cast<VkImageType>(pick(8) ? 1 : pick(3));
  info.samples = pick(4) ? 1 : 4, info.mipLevels = 1 + pick(3), info.arrayLayers = 1 + pick(3);
  if (pick(8)) info.usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
  if (!pick(4)) info.usage |= VK_IMAGE_USAGE_STORAGE_BIT;
  info.initialLayout = static_cast<VkImageLayout>(pick(4) ? 1 : 0);
  keep(vkCreateImage, nullptr, &info, nullptr, made<VkImage>(handle));
  VkImageViewCreateInfo view{};
  view.image = pick(6) ? reinterpret_cast<VkImage>(uint64_t{handle}) : this->handle<VkImage>();
  view.format = pick(6) ? info.format : format();
  view.subresourceRange = {1, pick(6) ? 0 : number(3), number(3), pick(6) ? 0 : number(3), number(3)};
  keep(vkCreateImageView, nullptr, &view, nullptr, made<VkImageView>(handle));
}

template <class Pass, class Attachment, class Subpass, class Reference> Pass* Program::pass() {
  Pass info{};
  info.attachmentCount = pick(5);
  info.pAttachments = list<Attachment>(info.attachmentCount, [&] {
    Attachment a{};
    a.loadOp = static_cast<VkAttachmentLoadOp>(pick(3)), a.stencilLoadOp = static_cast<VkAttachmentLoadOp>(pick(3));
    a.finalLayout = static_cast<VkImageLayout>(pick(3));
    return a;
  });
  auto reference = [&] {
    Reference r{};
    r.attachment = number(5);
    return r;
  };
  info.subpassCount = pick(8) ? 1 + pick(3) : 0;
  info.pSubpasses = list<Subpass>(info.subpassCount, [&] {
    Subpass s{};
    s.colorAttachmentCount = pick(4);
    s.pColorAttachments = list<Reference>(s.colorAttachmentCount, reference);
    if (!pick(4)) s.pResolveAttachments = list<Reference>(s.colorAttachmentCount, reference);
    if (pick(2)) s.pDepthStencilAttachment = put(reference());
    s.preserveAttachmentCount = pick(3);
    s.pPreserveAttachments = list<uint32_t>(s.preserveAttachmentCount, [&] { return number(5); });
    if constexpr (requires { s.viewMask; }) s.viewMask = pick(8) ? 0 : number(4);
    return s;
  });
  return put(info);
}

void Program::pipeline(uint32_t handle) {
  VkGraphicsPipelineCreateInfo info{};
  VkPipelineViewportStateCreateInfo view{};
  view.viewportCount = number(4), view.scissorCount = number(4);  // without elements where they are dynamic
  if (view.scissorCount < 4) view.pScissors = list<VkRect2D>(view.scissorCount, [&] { return rect(); });
  VkPipelineColorBlendStateCreateInfo blend{};
  blend.attachmentCount = number(4);
  if (blend.attachmentCount < 4) blend.pAttachments = room<VkPipelineColorBlendAttachmentState>(blend.attachmentCount);
  VkPipelineDepthStencilStateCreateInfo deep{};
  deep.depthTestEnable = pick(2), deep.depthWriteEnable = pick(2), deep.stencilTestEnable = pick(2);
  VkPipelineDynamicStateCreateInfo dynamic{};
  static constexpr VkDynamicState STATES[] = {VK_DYNAMIC_STATE_SCISSOR, VK_DYNAMIC_STATE_SCISSOR_WITH_COUNT,
                                              VK_DYNAMIC_STATE_VIEWPORT_WITH_COUNT, VK_DYNAMIC_STATE_CULL_MODE,
                                              VK_DYNAMIC_STATE_COLOR_WRITE_MASK_EXT};
  dynamic.dynamicStateCount = pick(4);
  dynamic.pDynamicStates = list<VkDynamicState>(dynamic.dynamicStateCount, [&] { return STATES[pick(5)]; });
  if (pick(6)) info.pViewportState = put(view);
  if (pick(3)) info.pColorBlendState = put(blend);
  if (pick(3)) info.pDepthStencilState = put(deep);
  if (pick(3)) info.pDynamicState = put(dynamic);
  info.renderPass = this->handle<VkRenderPass>();
  keep(vkCreateGraphicsPipelines, nullptr, nullptr, 1, put(info), nullptr, made<VkPipeline>(handle));
}

void Program::objects() {
  for (uint32_t i = 1; i < KINDS_OF_ONE; ++i) {
    if (pick(20)) image(i);
    if (pick(2))
      keep(vkCreateRenderPass, nullptr,
           pass<VkRenderPassCreateInfo, VkAttachmentDescription, VkSubpassDescription, VkAttachmentReference>(),
           nullptr, made<VkRenderPass>(i));
    else
      keep(vkCreateRenderPass2, nullptr,
           pass<VkRenderPassCreateInfo2, VkAttachmentDescription2, VkSubpassDescription2, VkAttachmentReference2>(),
           nullptr, made<VkRenderPass>(i));
    VkFramebufferCreateInfo frame{};
    frame.attachmentCount = pick(5);
    frame.pAttachments = list<VkImageView>(frame.attachmentCount, [&] { return handle<VkImageView>(); });
    keep(vkCreateFramebuffer, nullptr, &frame, nullptr, made<VkFramebuffer>(i));
    if (pick(8)) pipeline(i);
  }
}

// ---- commands ---------------------------------------------------------------------------------------------------

void Program::rendering(VkCommandBuffer to) {
  auto attachment = [&] {
    VkRenderingAttachmentInfo a{};
    a.imageView = handle<VkImageView>(), a.imageLayout = static_cast<VkImageLayout>(pick(3));
    a.loadOp = static_cast<VkAttachmentLoadOp>(pick(3));
    if (!pick(4)) a.resolveMode = 1, a.resolveImageView = handle<VkImageView>();
    return a;
  };
  VkRenderingInfo info{};
  info.flags = pick(6) ? 0 : pick(8), info.renderArea = rect(), info.viewMask = pick(8) ? 0 : 3;
  info.colorAttachmentCount = pick(4);
  info.pColorAttachments = list<VkRenderingAttachmentInfo>(info.colorAttachmentCount, attachment);
  if (pick(2)) info.pDepthAttachment = put(attachment());
  if (pick(2)) info.pStencilAttachment = put(attachment());
  keep(vkCmdBeginRendering, to, put(info));
}

void Program::region(VkCommandBuffer to) {
  auto layers = [&] {
    return VkImageSubresourceLayers{1, pick(4) ? 0 : number(3), pick(4) ? 0 : number(3), number(3)};
  };
  auto place = [&] { return VkOffset3D{static_cast<int32_t>(number(64)), static_cast<int32_t>(number(64)), 0}; };
  auto size = [&] { return VkExtent3D{number(64), number(64), number(2)}; };
  const uint32_t count = pick(4);
  switch (pick(6)) {
    case 0: {
      VkCopyImageInfo2 info{};
      info.dstImage = handle<VkImage>(), info.regionCount = count;
      info.pRegions = list<VkImageCopy2>(count, [&] {
        VkImageCopy2 r{};
        r.dstSubresource = layers(), r.dstOffset = place(), r.extent = size();
        return r;
      });
      return keep(vkCmdCopyImage2, to, put(info));
    }
    case 1:
      return keep(vkCmdCopyImage, to, handle<VkImage>(), 0, handle<VkImage>(), 0, count,
                  list<VkImageCopy>(count, [&] { return VkImageCopy{layers(), place(), layers(), place(), size()}; }));
    case 2:
      return keep(vkCmdBlitImage, to, handle<VkImage>(), 0, handle<VkImage>(), 0, count,
                  list<VkImageBlit>(
                      count, [&] { return VkImageBlit{layers(), {place(), place()}, layers(), {place(), place()}}; }),
                  0);
    case 3:
      return keep(vkCmdCopyBufferToImage, to, 0, handle<VkImage>(), 0, count, list<VkBufferImageCopy>(count, [&] {
                    return VkBufferImageCopy{0, 0, 0, layers(), place(), size()};
                  }));
    case 4:
      return keep(vkCmdClearColorImage, to, handle<VkImage>(), 0, room<VkClearColorValue>(1), count,
                  list<VkImageSubresourceRange>(
                      count, [&] { return VkImageSubresourceRange{1, number(3), number(3), number(3), number(3)}; }));
    default: {
      auto barrier = [&] {
        VkImageMemoryBarrier b{};
        b.image = handle<VkImage>(), b.newLayout = static_cast<VkImageLayout>(pick(3));
        b.subresourceRange = {1, number(3), number(3), number(3), number(3)};
        return b;
      };
      keep(vkCmdPipelineBarrier, to, 0, 0, 0, 0, nullptr, 0, nullptr, count,
           list<VkImageMemoryBarrier>(count, barrier));
    }
  }
}

void Program::state(VkCommandBuffer to) {
  const uint32_t count = pick(4);
  switch (pick(5)) {
    case 0: return keep(vkCmdSetScissor, to, number(3), count, list<VkRect2D>(count, [&] { return rect(); }));
    case 1: return keep(vkCmdSetScissorWithCount, to, count, list<VkRect2D>(count, [&] { return rect(); }));
    case 2: return keep(vkCmdSetViewportWithCount, to, count, room<VkViewport>(count));
    case 3: return keep(vkCmdSetColorWriteMaskEXT, to, number(3), count, room<VkColorComponentFlags>(count));
    default: return keep(vkCmdSetCullMode, to, pick(4));
  }
}

void Program::command(VkCommandBuffer to) {
  switch (pick(16)) {
    case 0:
    case 1: {
      VkRenderPassBeginInfo info{};
      info.renderPass = handle<VkRenderPass>(), info.framebuffer = handle<VkFramebuffer>(), info.renderArea = rect();
      return keep(vkCmdBeginRenderPass, to, put(info), 0);
    }
    case 2: return rendering(to);
    case 3: return keep(pick(2) ? vkCmdEndRenderPass : vkCmdEndRendering, to);
    case 4: return keep(vkCmdNextSubpass, to, 0);
    case 5:
    case 6: return keep(vkCmdBindPipeline, to, pick(8) ? 0 : 1, handle<VkPipeline>());
    case 7: return state(to);
    case 8:
    case 9: return region(to);
    case 10: {
      const uint32_t count = pick(3), boxes = pick(3);
      auto clear = [&] {
        VkClearAttachment a{};
        a.aspectMask = 1 + pick(7), a.colorAttachment = number(4);
        return a;
      };
      auto box = [&] { return VkClearRect{rect(), number(2), number(2)}; };
      return keep(vkCmdClearAttachments, to, count, list<VkClearAttachment>(count, clear), boxes,
                  list<VkClearRect>(boxes, box));
    }
    case 11: return keep(pick(4) ? vkCmdDispatch : vkCmdEndQuery, to, 1, 1, 1);
    case 12: return keep(pick(8) ? vkCmdDraw : vkCmdBeginQuery, to, 3, 1, 0, 0);
    default: return keep(vkCmdDraw, to, 3, 1, 0, 0);
  }
}

size_t Program::run(uint64_t& plans) {
  objects();
  auto* const inner = reinterpret_cast<VkCommandBuffer>(uint64_t{1});
  auto* const outer = reinterpret_cast<VkCommandBuffer>(uint64_t{2});
  for (auto* to : {inner, outer}) {
    keep(vkBeginCommandBuffer, to, nullptr);
    for (size_t n = pick(MOST_COMMANDS); n; --n)
      to == outer && !pick(12) ? keep(vkCmdExecuteCommands, to, 1, put(inner)) : command(to);
  }
  History history;
  history.first = history.last = SUBMISSION, history.draw = pick(4) ? seq_ : pick(static_cast<uint32_t>(seq_) + 1);
  history.image = 1 + pick(KINDS_OF_ONE - 1), history.level = pick(10) ? 0 : pick(32),
  history.layer = pick(10) ? 0 : number(4);
  history.x = static_cast<int>(pick(20) ? pick(32) : 0x7fffffff), history.y = static_cast<int>(pick(32));
  snapshots_.look(&history);
  VkSubmitInfo batch{};
  batch.commandBufferCount = 1, batch.pCommandBuffers = put(outer);
  Call submit = call(vkQueueSubmit, nullptr, 1, &batch, nullptr);
  try {
    snapshots_.prepare(submit, SUBMISSION);
  } catch (const Error& error) {
    if (std::string_view(error.what()).find(NO_POOL) == std::string_view::npos) throw;
    ++plans;
  }
  static_cast<Question&>(history).forget();
  return history.events().size();
}

}  // namespace
}  // namespace dt::play::vk

int main(int, char** argv) {
  uint64_t plans = 0, events = 0;
  for (uint32_t seed = 0, count = static_cast<uint32_t>(atoi(argv[1])); seed < count; ++seed) {
    events += dt::play::vk::Program(seed).run(plans);
  }
  printf("%llu %llu\n", static_cast<unsigned long long>(plans), static_cast<unsigned long long>(events));
  return 0;
}
