// Lives of objects.
#include <algorithm>

#include "vulkan_past.h"
#include "vulkan_state.h"

namespace dt::extract {

const char* const VULKAN_KINDS[KNOWN_KINDS] = {
    "VkInstance",
    "VkPhysicalDevice",
    "VkDevice",
    "VkQueue",
    "VkCommandBuffer",
    "VkDeviceMemory",
    "VkBuffer",
    "VkImage",
    "VkImageView",
    "VkBufferView",
    "VkFramebuffer",
    "VkRenderPass",
    "VkDescriptorSet",
    "VkDescriptorPool",
    "VkDescriptorSetLayout",
    "VkDescriptorUpdateTemplate",
    "VkFence",
    "VkSemaphore",
    "VkEvent",
    "VkQueryPool",
    "VkSwapchainKHR",
    "VkCommandPool",
};

namespace {

using vulkan::Node;

constexpr uint64_t LOAD_CLEAR = 1, LOAD_DONT_CARE = 2, LOAD_NONE = 1000400000;
constexpr uint64_t ALL = UINT32_MAX;  // VK_REMAINING_*
constexpr size_t MOST_LIVES = 256;    // of one handle at a time: every call that names it needs all of them
constexpr uint64_t FORMAT_STENCIL = 127, FORMAT_BOTH_FIRST = 128, FORMAT_BOTH_LAST = 130;

bool loads_nothing(uint64_t load) { return load == LOAD_CLEAR || load == LOAD_DONT_CARE; }

// A handle that may be given out twice stays the object that it is.
bool is_shared(uint32_t kind) { return kind == OF_PHYSICAL_DEVICE || kind == OF_QUEUE; }

}  // namespace

uint32_t VulkanPast::kind_of(std::string_view name) {
  auto it = kinds_.find(name);
  if (it != kinds_.end()) return it->second;
  if (kinds_.size() >= MOST_KINDS) throw Error(DT_E_FORMAT, "the recording has too many kinds of objects");
  const auto kind = static_cast<uint32_t>(kinds_.size());
  return kinds_[std::string(name)] = kind;
}

VulkanPast::Object* VulkanPast::find(uint32_t kind, uint64_t handle) {
  auto it = live_[kind].find(handle);
  return it == live_[kind].end() || it->second.empty() ? nullptr : it->second.back();
}

// A call needs the objects that it names. Where two have one handle, it needs both: they end in order.
void VulkanPast::refer(VulkanCall& call) {
  call.each_handle([&](std::string_view kind, uint64_t handle, std::string_view) {
    auto& live = live_[kind_of(kind)];
    auto it = live.find(handle);
    if (it == live.end()) return;
    for (Object* object : it->second) edge(call.node(), object->node);
  });
}

void VulkanPast::makes(VulkanCall& call) {
  Object* parent = nullptr;
  for (auto& p : call.function().params)
    if (!p.has_data() && p.object_class.starts_with("Vk") && !p.object_class.ends_with("Cache"))
      if (Object* own = find(kind_of(p.object_class), call.value(p))) parent = own;
  const Node info = call.info();
  if (Object* own = find(OF_COMMAND_POOL, info.value("commandPool"))) parent = own;
  if (Object* own = find(OF_SET_POOL, info.value("descriptorPool"))) parent = own;
  for (auto& p : call.function().params) {
    if (!p.has_data() || !p.out || !p.object_class.starts_with("Vk")) continue;
    size_t number = 0;
    const uint32_t kind = kind_of(p.object_class);
    for (uint64_t handle : call.words(p.name)) {
      const size_t own = number++;
      if (!handle) continue;
      Object* known = find(kind, handle);
      const bool again =
          known && (is_shared(kind) || (parent && known->parent == parent && parent->kind == OF_SWAPCHAIN));
      if (again)
        together(call.node(), known->node);
      else
        describe(call, made(call, kind, handle, parent, own), own);
    }
  }
}

VulkanPast::Object& VulkanPast::made(VulkanCall& call, uint32_t kind, uint64_t handle, Object* parent, size_t number) {
  Object& object = objects_.emplace_back();
  object.kind = kind, object.handle = handle, object.parent = parent, object.node = new_node();
  together(object.node, call.node());
  if (parent) {
    edge(object.node, parent->node);
    parent->children.push_back(&object);
  }
  auto& live = live_[kind][handle];
  if (live.size() >= MOST_LIVES) whole_because_ = "one handle stands for too many objects";
  // These end with their pool at the latest, and then come again.
  if (!live.empty() && (kind == OF_SET || kind <= OF_COMMAND_BUFFER)) {
    for (Object* old : std::vector<Object*>(live)) end(*old, call.node());
  }
  live_[kind][handle].push_back(&object);
  if (parent && parent->kind == OF_SWAPCHAIN && kind == OF_IMAGE) {
    auto& chain = state<Chain>(*parent);
    if (chain.images.size() <= number) chain.images.resize(number + 1);
    chain.images[number] = &object;
  }
  return object;
}

void VulkanPast::describe(VulkanCall& call, Object& object, size_t number) {
  const Node info = call.info();
  switch (object.kind) {
    case OF_IMAGE: describe_image(object, info); break;
    case OF_BUFFER: {
      auto& r = state<Resource>(object);
      r.bytes = r.size = info.value("size");
      r.linear = r.shares = true;
      break;
    }
    case OF_QUERY_POOL: state<Resource>(object).queries = info.value("queryCount"); break;
    case OF_IMAGE_VIEW: describe_view(object, info); break;
    case OF_BUFFER_VIEW: state<View>(object).of = find(OF_BUFFER, info.value("buffer")); break;
    case OF_FRAMEBUFFER: {
      auto& f = state<Framebuffer>(object);
      f.layers = info.value("layers");
      for (uint64_t view : info.values("pAttachments")) f.views.push_back(find(OF_IMAGE_VIEW, view));
      break;
    }
    case OF_RENDER_PASS: describe_pass(object, info); break;
    case OF_SET_LAYOUT:
      for (auto& binding : info.each("pBindings"))
        state<SetLayout>(object).counts[static_cast<uint32_t>(binding.value("binding"))] =
            static_cast<uint32_t>(binding.value("descriptorCount"));
      break;
    case OF_SET: {
      const auto layouts = info.values("pSetLayouts");
      if (number < layouts.size())
        if (Object* layout = find(OF_SET_LAYOUT, layouts[number]))
          state<Set>(object).layout = &state<SetLayout>(*layout);
      break;
    }
    case OF_TEMPLATE: describe_template(object, info); break;
    case OF_SEMAPHORE: {
      const Node type = info.chained("VkSemaphoreTypeCreateInfo");
      state<Semaphore>(object).timeline = type.value("semaphoreType") == 1;
      state<Semaphore>(object).initial = type.value("initialValue");
      break;
    }
    case OF_SWAPCHAIN: describe_swapchain(object, info); break;
    default: break;
  }
}

void VulkanPast::describe_image(Object& object, const Node& info) {
  auto& r = state<Resource>(object);
  if (object.parent && object.parent->kind == OF_SWAPCHAIN) {
    const auto& chain = state<Chain>(*object.parent);
    r.width = chain.width, r.height = chain.height, r.layers = chain.layers;
    return;
  }
  constexpr uint64_t TILING_LINEAR = 1, FLAG_ALIAS = 0x400, FLAG_SPARSE = 7;
  const Node extent = info.in("extent");
  r.width = extent.value("width"), r.height = extent.value("height"), r.depth = extent.value("depth");
  r.levels = info.value("mipLevels"), r.layers = info.value("arrayLayers"), r.format = info.value("format");
  r.linear = info.value("tiling") == TILING_LINEAR;
  r.shares = r.linear || info.value("flags") & FLAG_ALIAS;
  if (info.value("flags") & FLAG_SPARSE) whole_because_ = "an image has memory that is bound piece by piece";
}

void VulkanPast::describe_view(Object& object, const Node& info) {
  auto& view = state<View>(object);
  view.of = find(OF_IMAGE, info.value("image"));
  if (!view.of) return;
  const auto& image = state<Resource>(*view.of);
  const Node part = info.in("subresourceRange");
  auto all = [&](const char* first, const char* count, uint64_t there) {
    const uint64_t n = part.value(count);
    return !part.value(first) && (n == ALL || n >= there);
  };
  view.whole = all("baseMipLevel", "levelCount", image.levels) && image.levels == 1 &&
               all("baseArrayLayer", "layerCount", image.layers) && image.depth == 1;
  const uint64_t aspects = part.value("aspectMask");
  constexpr uint64_t BOTH = 6, PLANES = 0x70;
  if (image.format >= FORMAT_BOTH_FIRST && image.format <= FORMAT_BOTH_LAST) view.whole &= (aspects & BOTH) == BOTH;
  if (aspects & PLANES) view.whole = false;
}

void VulkanPast::describe_pass(Object& object, const Node& info) {
  auto& pass = state<Pass>(object);
  // The formats with depth and stencil need both: a colour has a stencilLoadOp that means nothing.
  for (auto& one : info.each("pAttachments")) {
    Pass::Attachment a;
    const uint64_t format = one.value("format");
    const bool both = format >= FORMAT_BOTH_FIRST && format <= FORMAT_BOTH_LAST;
    const bool first = loads_nothing(one.value("loadOp")), second = loads_nothing(one.value("stencilLoadOp"));
    a.fresh = both ? first && second : format == FORMAT_STENCIL ? second : first;
    a.undefined = !one.value("initialLayout");
    a.stays = one.value("initialLayout") == one.value("finalLayout");
    if (one.chained("VkAttachmentDescriptionStencilLayout")) a.undefined = a.stays = false;
    pass.attachments.push_back(a);
  }
  auto used = [&](const Node& reference) {
    const uint64_t number = reference.value("attachment");
    if (reference && number < pass.attachments.size()) pass.attachments[number].used = true;
  };
  for (auto& subpass : info.each("pSubpasses")) {
    for (const char* list : {"pInputAttachments", "pColorAttachments", "pResolveAttachments"})
      for (auto& reference : subpass.each(list)) used(reference);
    used(subpass.in("pDepthStencilAttachment"));
    used(subpass.chained("VkSubpassDescriptionDepthStencilResolve").in("pDepthStencilResolveAttachment"));
  }
}

void VulkanPast::describe_template(Object& object, const Node& info) {
  for (auto& one : info.each("pDescriptorUpdateEntries"))
    state<Template>(object).entries.push_back(
        {static_cast<uint32_t>(one.value("dstBinding")), static_cast<uint32_t>(one.value("dstArrayElement")),
         static_cast<uint32_t>(one.value("descriptorCount")), static_cast<uint32_t>(one.value("descriptorType"))});
}

void VulkanPast::describe_swapchain(Object& object, const Node& info) {
  auto& chain = state<Chain>(object);
  const Node extent = info.in("imageExtent");
  chain.width = extent.value("width"), chain.height = extent.value("height");
  chain.layers = info.value("imageArrayLayers");
}

// The last parameter that names objects says which end; of several with one handle the oldest.
void VulkanPast::ends(VulkanCall& call) {
  const Field* last = nullptr;
  for (auto& p : call.function().params)
    if (p.object_class.starts_with("Vk")) last = &p;
  if (!last) return always(call);
  std::vector<uint64_t> handles = {last->has_data() ? 0 : call.value(*last)};
  if (last->has_data()) handles = call.words(last->name);
  const uint32_t kind = kind_of(last->object_class);
  for (uint64_t handle : handles) {
    auto it = live_[kind].find(handle);
    if (it != live_[kind].end() && !it->second.empty()) end(*it->second.front(), call.node());
  }
}

// An object that is kept ends where it ended.
void VulkanPast::end(Object& object, uint32_t call) {
  edge(object.node, call);
  edge(call, object.node);
  die(object);
}

void VulkanPast::die(Object& first) {
  std::vector<Object*> open = {&first};  // a recording that lies may have objects in each other without end
  while (!open.empty()) {
    Object& object = *open.back();
    open.pop_back();
    if (!object.alive) continue;
    object.alive = false;
    std::erase(live_[object.kind][object.handle], &object);
    open.insert(open.end(), object.children.begin(), object.children.end());
    object.children.clear();
    if (object.kind == OF_SET || object.kind == OF_COMMAND_BUFFER) object.state.reset();
    // Content that other resources in the same memory may see stays.
  }
}

void VulkanPast::resets_sets(VulkanCall& call) {
  Object* pool = find(OF_SET_POOL, call.value("descriptorPool"));
  if (!pool) return;
  const auto children = std::move(pool->children);
  pool->children.clear();
  for (Object* set : children)
    if (set->alive) edge(set->node, call.node()), die(*set);
}

// A call about objects is kept with them.
void VulkanPast::attaches(VulkanCall& call) {
  bool any = false;
  const bool address = call.name().find("BufferDeviceAddress") != std::string_view::npos;
  call.each_handle([&](std::string_view name, uint64_t handle, std::string_view) {
    const uint32_t kind = kind_of(name);
    if (kind <= OF_QUEUE) return;
    any = true;
    Object* object = find(kind, handle);
    if (!object) return;
    edge(object->node, call.node());
    if (address && kind == OF_BUFFER) addressed_.push_back(object);
  });
  if (!any) always(call);
}

void VulkanPast::asks_of_instance(VulkanCall& call) {
  bool any = false;
  call.each_handle([&](std::string_view name, uint64_t handle, std::string_view) {
    Object* object = find(kind_of(name), handle);
    if (!object) return;
    any = true;
    edge(object->node, call.node());
  });
  if (!any) always(call);
}

void VulkanPast::keeps_all(VulkanCall& call) {
  if (whole_because_.empty()) whole_because_ = std::string(call.name()) + " is not followed yet";
}

// A name has its object as a number.
void VulkanPast::names(VulkanCall& call) {
  const Node info = call.info();
  const uint64_t handle = info.has("objectHandle") ? info.value("objectHandle") : info.value("object");
  for (auto& live : live_)
    if (auto it = live.find(handle); it != live.end())
      for (Object* object : it->second) together(object->node, call.node());
}

void VulkanPast::requirements(VulkanCall& call) {
  const Node info = call.info();
  const bool image = call.name().find("Image") != std::string_view::npos;
  const uint64_t handle = info ? info.value(image ? "image" : "buffer") : call.value(image ? "image" : "buffer");
  Object* object = find(image ? OF_IMAGE : OF_BUFFER, handle);
  if (!object) return;
  edge(object->node, call.node());
  const Node said = call.tree("pMemoryRequirements");
  const Node size = said.has("size") ? said : said.in("memoryRequirements");
  if (size.value("size")) state<Resource>(*object).bytes = size.value("size");
}

void VulkanPast::binds(VulkanCall& call) {
  const bool image = call.name().find("Image") != std::string_view::npos;
  const char* name = image ? "image" : "buffer";
  const uint32_t kind = image ? OF_IMAGE : OF_BUFFER;
  if (call.param("memory"))
    return bind(find(kind, call.value(name)), find(OF_MEMORY, call.value("memory")), call.value("memoryOffset"),
                call.node());
  for (auto& one : call.infos())
    bind(find(kind, one.value(name)), find(OF_MEMORY, one.value("memory")), one.value("memoryOffset"), call.node());
}

void VulkanPast::bind(Object* object, Object* memory, uint64_t offset, uint32_t call) {
  if (!object) return;
  together(object->node, call);
  if (!memory) return;
  auto& r = state<Resource>(*object);
  r.memory = memory, r.offset = offset;
  auto& bound = state<Memory>(*memory).bound;
  // Those that are gone and held nothing are nobody's past.
  std::erase_if(bound, [&](Object* o) { return !o->alive && state<Resource>(*o).content == NOBODY; });
  for (Object* other : bound) {
    auto& o = state<Resource>(*other);
    const bool apart = (o.bytes != NO_SIZE && o.offset + o.bytes <= r.offset) ||
                       (r.bytes != NO_SIZE && r.offset + r.bytes <= o.offset);
    if (apart || !o.shares || !r.shares) continue;
    r.aliases.push_back(other);
    o.aliases.push_back(object);
  }
  bound.push_back(object);
}

// A mapping that ended has left nothing behind but its bytes.
void VulkanPast::maps(VulkanCall& call) {
  const Node info = call.info();
  Object* memory = find(OF_MEMORY, info ? info.value("memory") : call.value("memory"));
  if (!memory) return;
  state<Memory>(*memory).map = static_cast<uint32_t>(mapped_.size());
  mapped_.push_back({memory, call.node(), NOBODY});
}

void VulkanPast::unmaps(VulkanCall& call) {
  const Node info = call.info();
  Object* memory = find(OF_MEMORY, info ? info.value("memory") : call.value("memory"));
  if (!memory || state<Memory>(*memory).map == NOBODY) return;
  Span& span = mapped_[state<Memory>(*memory).map];
  span.end = call.node();
  together(span.begin, span.end);
  state<Memory>(*memory).map = NOBODY;
}

void VulkanPast::label_begins(VulkanCall& call) {
  labels_.push_back({find(OF_QUEUE, call.value("queue")), call.node(), NOBODY});
}

void VulkanPast::label_ends(VulkanCall& call) {
  const Object* queue = find(OF_QUEUE, call.value("queue"));
  for (size_t i = labels_.size(); i-- > 0;) {
    Span& span = labels_[i];
    if (span.of != queue || span.end != NOBODY) continue;
    span.end = call.node();
    return together(span.begin, span.end);
  }
}

}  // namespace dt::extract
