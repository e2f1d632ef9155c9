// The content of command buffers, and its reads and stores.
#include <algorithm>

#include "vulkan_past.h"
#include "vulkan_state.h"

namespace dt::extract {
namespace {

using vulkan::Node;

bool begins_with(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](auto word) { return text.starts_with(word); });
}

bool is_fresh(const Node& attachment) {
  constexpr uint64_t CLEAR = 1, DONT_CARE = 2;
  return attachment.value("loadOp") == CLEAR || attachment.value("loadOp") == DONT_CARE;
}

}  // namespace

VulkanPast::Recording& VulkanPast::recording(Object& buffer) {
  auto& held = state<Buffer>(buffer).recording;
  if (!held) {
    held = std::shared_ptr<Recording>(new Recording, [this](Recording* gone) {
      executed_ -= gone->executed;
      delete gone;
    });
    held->node = new_node();
    edge(held->node, buffer.node);
  }
  return *held;
}

void VulkanPast::begins(VulkanCall& call) {
  Object* buffer = find(OF_COMMAND_BUFFER, call.value("commandBuffer"));
  if (!buffer) return always(call);
  state<Buffer>(*buffer).recording.reset();
  together(recording(*buffer).node, call.node());
}

// A recording that is kept was reset when it was recorded.
void VulkanPast::resets_buffer(VulkanCall& call) {
  Object* buffer = find(OF_COMMAND_BUFFER, call.value("commandBuffer"));
  if (!buffer) return;
  auto& held = state<Buffer>(*buffer).recording;
  if (held) edge(held->node, call.node());
  held.reset();
}

void VulkanPast::resets_buffers(VulkanCall& call) {
  Object* pool = find(OF_COMMAND_POOL, call.value("commandPool"));
  if (!pool) return;
  std::erase_if(pool->children, [](Object* child) { return !child->alive; });
  for (Object* buffer : pool->children) {
    if (buffer->kind != OF_COMMAND_BUFFER) continue;
    auto& held = state<Buffer>(*buffer).recording;
    if (held) edge(held->node, call.node());
    held.reset();
  }
}

void VulkanPast::access(Recording& into, Object* object, uint8_t flags) {
  if (!object) return;
  // The same use again says nothing new, unless something was overwritten in between.
  const bool overwrites = (flags & Access::writes_content && !(flags & Access::content)) ||
                          (flags & Access::writes_layout && !(flags & Access::layout));
  if (overwrites) {
    into.seen.clear();
  } else {
    const std::pair<Object*, uint8_t> use{object, flags};
    if (std::find(into.seen.begin(), into.seen.end(), use) != into.seen.end()) return;
    constexpr size_t MOST_SEEN = 64;
    if (into.seen.size() >= MOST_SEEN) into.seen.erase(into.seen.begin());
    into.seen.push_back(use);
  }
  into.accesses.push_back({object, flags});
}

void VulkanPast::command(VulkanCall& call) {
  Object* buffer = find(OF_COMMAND_BUFFER, call.value("commandBuffer"));
  if (!buffer) return always(call);
  Recording& into = recording(*buffer);
  together(into.node, call.node());
  std::string_view name = call.name();
  if (!name.starts_with("vkCmd")) return;
  name.remove_prefix(5);
  if (begins_with(name, {"BeginRenderPass"})) return begin_pass(call, into);
  if (begins_with(name, {"BeginRendering"})) return begin_rendering(call, into);
  if (begins_with(name, {"PipelineBarrier", "WaitEvents"})) return barriers(call, into);
  if (begins_with(name, {"ExecuteCommands"})) return execute(call, into);
  if (begins_with(name, {"PushDescriptorSet"})) return push(call, into);
  if (begins_with(name, {"ResetQueryPool"})) return resets_queries_here(call, into);
  if (begins_with(name,
                  {"BindVertexBuffers", "BindIndexBuffer", "Draw", "Dispatch", "BindPipeline", "BindDescriptorSets"}))
    return plain(call, into, Access::reads);
  plain(call, into, Access::changes);
}

// Commands that name what they use. Copies name the resource that they read.
void VulkanPast::plain(VulkanCall& call, Recording& into, uint8_t flags) {
  const bool copies =
      begins_with(call.name(), {"vkCmdCopy", "vkCmdBlit", "vkCmdResolve", "vkCmdClear", "vkCmdFill", "vkCmdUpdate"});
  call.each_handle([&](std::string_view kind, uint64_t handle, std::string_view name) {
    const uint32_t of = kind_of(kind);
    uint8_t own = flags;
    if (copies) own = name.starts_with("src") || of == OF_QUERY_POOL ? Access::reads : Access::stores;
    Object* object = find(of, handle);
    if (copies && own == Access::stores && object && overwrites(call, *object))
      own = Access::layout | Access::writes_content;
    switch (of) {
      case OF_BUFFER:
      case OF_IMAGE:
      case OF_IMAGE_VIEW:
      case OF_BUFFER_VIEW:
      case OF_EVENT:
      case OF_QUERY_POOL:
      case OF_SET: access(into, object, own); break;
      default: break;
    }
  });
}

// Returns whether a command that copies or fills writes all of its target.
bool VulkanPast::overwrites(VulkanCall& call, const Object& object) const {
  std::string_view name = call.name();
  name.remove_prefix(5);
  if (!object.state || (object.kind != OF_BUFFER && object.kind != OF_IMAGE)) return false;
  const auto& r = static_cast<const Resource&>(*object.state);
  auto regions = call.trees("pRegions");
  if (regions.empty()) regions = call.info().each("pRegions");
  if (object.kind == OF_BUFFER) {
    if (!r.size || call.value("dstOffset")) return false;
    if (name == "FillBuffer") return call.value("size") >= r.size / 4 * 4 && !(r.size % 4);
    if (name == "UpdateBuffer") return call.value("dataSize") >= r.size;
    return begins_with(name, {"CopyBuffer"}) && std::any_of(regions.begin(), regions.end(), [&](const Node& one) {
             return one.has("dstOffset") && !one.value("dstOffset") && one.value("size") >= r.size;
           });
  }
  constexpr uint64_t FIRST_DEPTH = 124, LAST_STENCIL = 130, FIRST_PLANES = 1000156000, LAST_PLANES = 1000157000;
  const bool parts = (r.format >= FIRST_DEPTH && r.format <= LAST_STENCIL) ||
                     (r.format >= FIRST_PLANES && r.format < LAST_PLANES) || r.levels != 1;
  if (parts || !r.width) return false;
  const bool buffer = begins_with(name, {"CopyBufferToImage"});
  if (!buffer && !begins_with(name, {"CopyImage"})) return false;
  return std::any_of(regions.begin(), regions.end(), [&](const Node& one) {
    const Node offset = one.in(buffer ? "imageOffset" : "dstOffset");
    const Node extent = one.in(buffer ? "imageExtent" : "extent");
    const Node layer = one.in(buffer ? "imageSubresource" : "dstSubresource");
    return !offset.value("x") && !offset.value("y") && !offset.value("z") && extent.value("width") >= r.width &&
           extent.value("height") >= r.height && extent.value("depth") >= r.depth && !layer.value("baseArrayLayer") &&
           layer.value("layerCount") >= r.layers;
  });
}

void VulkanPast::resets_queries_here(VulkanCall& call, Recording& into) {
  Object* pool = find(OF_QUERY_POOL, call.value("queryPool"));
  if (!pool) return;
  const bool all = !call.value("firstQuery") && call.value("queryCount") >= state<Resource>(*pool).queries;
  access(into, pool, all ? Access::writes_content : Access::stores);
}

bool VulkanPast::covers(const Object* view, const Node& area, uint64_t layers) const {
  if (!view || !view->state) return false;
  const auto& v = static_cast<const View&>(*view->state);
  if (!v.whole || !v.of || !v.of->state) return false;
  const auto& image = static_cast<const Resource&>(*v.of->state);
  const Node offset = area.in("offset"), extent = area.in("extent");
  auto number = [](uint64_t value) { return static_cast<int32_t>(value); };
  return number(offset.value("x")) <= 0 && number(offset.value("y")) <= 0 &&
         static_cast<int64_t>(number(offset.value("x"))) + static_cast<int64_t>(extent.value("width")) >=
             static_cast<int64_t>(image.width) &&
         static_cast<int64_t>(number(offset.value("y"))) + static_cast<int64_t>(extent.value("height")) >=
             static_cast<int64_t>(image.height) &&
         layers >= image.layers;
}

void VulkanPast::begin_pass(VulkanCall& call, Recording& into) {
  const Node begin = call.tree("pRenderPassBegin");
  Object* pass = find(OF_RENDER_PASS, begin.value("renderPass"));
  Object* target = find(OF_FRAMEBUFFER, begin.value("framebuffer"));
  if (!pass || !target) return;
  auto views = state<Framebuffer>(*target).views;
  if (const Node named = begin.chained("VkRenderPassAttachmentBeginInfo")) {
    views.clear();
    for (uint64_t view : named.values("pAttachments")) views.push_back(find(OF_IMAGE_VIEW, view));
  }
  const auto& attachments = state<Pass>(*pass).attachments;
  for (size_t i = 0; i < views.size(); ++i) {
    if (!views[i] || !views[i]->alive) continue;
    uint8_t flags = Access::changes;
    const bool whole = covers(views[i], begin.in("renderArea"), state<Framebuffer>(*target).layers);
    if (i < attachments.size() && attachments[i].used && attachments[i].stays)
      flags = static_cast<uint8_t>(flags & ~Access::writes_layout);
    if (i < attachments.size() && attachments[i].used && whole) {
      if (attachments[i].undefined) flags = static_cast<uint8_t>(flags & ~Access::layout);
      if (attachments[i].fresh) flags = static_cast<uint8_t>(flags & ~Access::content);
    }
    access(into, views[i], flags);
  }
}

void VulkanPast::begin_rendering(VulkanCall& call, Recording& into) {
  constexpr uint64_t PARTS = 6;  // VK_RENDERING_SUSPENDING_BIT, VK_RENDERING_RESUMING_BIT
  const Node begin = call.info();
  const bool parts = begin.value("flags") & PARTS;
  auto use = [&](const Node& attachment, bool fresh) {
    Object* view = find(OF_IMAGE_VIEW, attachment.value("imageView"));
    uint8_t flags = Access::stores;
    if (fresh && !parts && covers(view, begin.in("renderArea"), begin.value("layerCount")))
      flags = static_cast<uint8_t>(flags & ~Access::content);
    access(into, view, flags);
    access(into, find(OF_IMAGE_VIEW, attachment.value("resolveImageView")), Access::stores);
  };
  for (auto& color : begin.each("pColorAttachments")) use(color, is_fresh(color));
  const Node depth = begin.in("pDepthAttachment"), stencil = begin.in("pStencilAttachment");
  Object* view = find(OF_IMAGE_VIEW, depth.value("imageView"));
  if (!view) view = find(OF_IMAGE_VIEW, stencil.value("imageView"));
  constexpr uint64_t BOTH_FIRST = 128, BOTH_LAST = 130;
  const Object* image = view ? state<View>(*view).of : nullptr;
  const uint64_t format = image && image->state ? static_cast<const Resource&>(*image->state).format : 0;
  const bool both = format >= BOTH_FIRST && format <= BOTH_LAST;
  const bool same = depth.value("imageView") && depth.value("imageView") == stencil.value("imageView");
  const bool fresh = both ? same && is_fresh(depth) && is_fresh(stencil) : true;
  if (depth.value("imageView")) use(depth, fresh && is_fresh(depth));
  if (stencil.value("imageView")) use(stencil, fresh && is_fresh(stencil));
  for (const char* type :
       {"VkRenderingFragmentDensityMapAttachmentInfoEXT", "VkRenderingFragmentShadingRateAttachmentInfoKHR"})
    access(into, find(OF_IMAGE_VIEW, begin.chained(type).value("imageView")), Access::reads);
}

// A transition from an undefined layout leaves nothing of what was there.
void VulkanPast::barriers(VulkanCall& call, Recording& into) {
  auto turn = [&](const Node& barrier) {
    Object* image = find(OF_IMAGE, barrier.value("image"));
    if (!image) return;
    const auto& r = state<Resource>(*image);
    const Node part = barrier.in("subresourceRange");
    constexpr uint64_t ALL = UINT32_MAX, BOTH = 6;
    auto all = [&](const char* first, const char* count, uint64_t there) {
      return !part.value(first) && (part.value(count) == ALL || part.value(count) >= there);
    };
    const bool both = r.format >= 128 && r.format <= 130;
    const bool whole = all("baseMipLevel", "levelCount", r.levels) && all("baseArrayLayer", "layerCount", r.layers) &&
                       (!both || (part.value("aspectMask") & BOTH) == BOTH) && !(part.value("aspectMask") & 0x70);
    const bool undefined = !barrier.value("oldLayout") && barrier.value("newLayout");
    const uint8_t fresh = Access::writes_content | Access::writes_layout;
    const bool stays = barrier.value("oldLayout") == barrier.value("newLayout");
    const uint8_t turned = stays ? Access::stores : Access::changes;
    access(into, image, undefined && whole ? fresh : turned);
  };
  for (auto& barrier : call.trees("pImageMemoryBarriers")) turn(barrier);
  for (auto& info : call.infos())
    for (auto& barrier : info.each("pImageMemoryBarriers")) turn(barrier);
  call.each_handle([&](std::string_view kind, uint64_t handle, std::string_view) {
    if (kind == VULKAN_KINDS[OF_EVENT]) access(into, find(OF_EVENT, handle), Access::reads);
  });
}

void VulkanPast::execute(VulkanCall& call, Recording& into) {
  for (uint64_t handle : call.words("pCommandBuffers")) {
    Object* buffer = find(OF_COMMAND_BUFFER, handle);
    if (!buffer || &recording(*buffer) == &into) continue;
    const Recording& inside = recording(*buffer);
    edge(into.node, inside.node);
    into.seen.clear();
    into.accesses.insert(into.accesses.end(), inside.accesses.begin(), inside.accesses.end());
    // Each may execute another twice: what they do could double with every call.
    executed_ += inside.accesses.size(), into.executed += inside.accesses.size();
    if (executed_ > MOST_EXECUTED) whole_because_ = "secondary command buffers do too much to be followed";
    if (!whole_because_.empty()) return;
  }
}

void VulkanPast::push(VulkanCall& call, Recording& into) {
  if (Object* by = find(OF_TEMPLATE, call.value("descriptorUpdateTemplate"))) {
    const Field* data = call.param("pData");
    if (!data) return;
    for (auto& one : described(call, state<Template>(*by), call.content(*data)))
      access(into, one.object, access_of(one.type));
    return;
  }
  auto writes = call.trees("pDescriptorWrites");
  if (writes.empty()) writes = call.info().each("pDescriptorWrites");
  for (auto& write : writes)
    for (auto& one : described(write)) access(into, one.object, access_of(one.type));
}

// Work does to a resource what an access says.
void VulkanPast::apply(uint32_t call, Object& object, uint8_t flags) {
  if (!object.alive) return;
  if (object.kind == OF_SET) return use_set(call, object);
  if (object.kind == OF_IMAGE_VIEW || object.kind == OF_BUFFER_VIEW) {
    if (Object* of = state<View>(object).of) apply(call, *of, flags);
    return;
  }
  auto& r = state<Resource>(object);
  if (flags & Access::content) {
    edge(call, r.content);
    for (Object* other : r.aliases) edge(call, state<Resource>(*other).content);
  }
  if (flags & Access::layout) edge(call, r.layout);
  if (flags & Access::writes_content) r.content = call;
  if (flags & Access::writes_layout) r.layout = call;
}

}  // namespace dt::extract
