// Contents of descriptor sets: the last write of each descriptor.
#include "vulkan_past.h"
#include "vulkan_state.h"

namespace dt::extract {
namespace {

using vulkan::Node;

enum Type : uint32_t {
  SAMPLER,
  COMBINED,
  SAMPLED_IMAGE,
  STORAGE_IMAGE,
  UNIFORM_TEXELS,
  STORAGE_TEXELS,
  UNIFORM_BUFFER,
  STORAGE_BUFFER,
  UNIFORM_BUFFER_DYNAMIC,
  STORAGE_BUFFER_DYNAMIC,
  INPUT_ATTACHMENT,
  INLINE_BLOCK = 1000138000
};

bool is_image(uint32_t type) { return type <= STORAGE_IMAGE || type == INPUT_ATTACHMENT; }
bool is_texels(uint32_t type) { return type == UNIFORM_TEXELS || type == STORAGE_TEXELS; }
bool is_buffer(uint32_t type) { return type >= UNIFORM_BUFFER && type <= STORAGE_BUFFER_DYNAMIC; }

}  // namespace

uint8_t VulkanPast::access_of(uint32_t type) {
  const bool stores =
      type == STORAGE_IMAGE || type == STORAGE_TEXELS || type == STORAGE_BUFFER || type == STORAGE_BUFFER_DYNAMIC;
  return stores ? Access::stores : Access::reads;
}

VulkanPast::Object* VulkanPast::described_object(uint32_t type, uint64_t handle) {
  if (type == SAMPLER) return nullptr;
  return find(is_image(type) ? OF_IMAGE_VIEW : is_texels(type) ? OF_BUFFER_VIEW : OF_BUFFER, handle);
}

std::vector<VulkanPast::Described> VulkanPast::described(const Node& write) {
  std::vector<Described> out;
  const auto type = static_cast<uint32_t>(write.value("descriptorType"));
  if (is_image(type))
    for (auto& one : write.each("pImageInfo")) out.push_back({described_object(type, one.value("imageView")), type});
  if (is_buffer(type))
    for (auto& one : write.each("pBufferInfo")) out.push_back({described_object(type, one.value("buffer")), type});
  if (is_texels(type))
    for (uint64_t view : write.values("pTexelBufferView")) out.push_back({described_object(type, view), type});
  return out;
}

// The data of an update with a template: its descriptors one after the other (docs/format.md). Without their handles in
// the arguments the call still needs the objects.
std::vector<VulkanPast::Described> VulkanPast::described(VulkanCall& call, const Template& by, std::string_view data) {
  std::vector<Described> out;
  size_t at = 0;
  auto need = [&](Object* object) {
    if (object) edge(call.node(), object->node);
    return object;
  };
  for (auto& entry : by.entries) {
    if (entry.type == INLINE_BLOCK) {
      at += entry.count;
      out.emplace_back();
      continue;
    }
    const size_t width = is_image(entry.type) || is_buffer(entry.type) ? 24 : 8;
    for (uint32_t i = 0; i < entry.count && at + width <= data.size(); ++i, at += width) {
      uint64_t handles[2] = {};
      memcpy(handles, data.data() + at, is_image(entry.type) ? 16 : 8);
      if (is_image(entry.type)) need(find(kind_of("VkSampler"), handles[0]));
      out.push_back({need(described_object(entry.type, handles[is_image(entry.type)])), entry.type});
    }
  }
  return out;
}

// `what`: from this descriptor on; what a binding has no room for goes to those behind it.
void VulkanPast::put_in(Set& set, uint32_t binding, uint32_t element, std::vector<Described>&& what, uint32_t call) {
  set.node = NOBODY;
  if (!set.layout) return void(set.always.push_back(call));
  auto place = set.layout->counts.find(binding);
  for (auto& one : what) {
    while (place != set.layout->counts.end() && element >= place->second) element -= place->second, ++place;
    if (place == set.layout->counts.end()) return void(set.always.push_back(call));
    auto& entry = set.entries[{place->first, element++}];
    entry.what = {one};
    entry.by = call;
  }
}

void VulkanPast::write_set(uint32_t call, Object& of, const Node& write) {
  Set& set = state<Set>(of);
  const auto binding = static_cast<uint32_t>(write.value("dstBinding"));
  const auto element = static_cast<uint32_t>(write.value("dstArrayElement"));
  auto what = described(write);
  if (what.empty()) {  // some bytes of a block, or what nothing is known of
    set.node = NOBODY;
    set.always.push_back(call);
    return;
  }
  put_in(set, binding, element, std::move(what), call);
}

void VulkanPast::copy_set(uint32_t call, const Node& copy) {
  Object *from = find(OF_SET, copy.value("srcSet")), *to = find(OF_SET, copy.value("dstSet"));
  if (!from || !to) return;
  edge(call, state<Set>(*from).whole(*this));
  Set& source = state<Set>(*from);
  std::vector<Described> what;
  auto at = source.entries.lower_bound(
      {static_cast<uint32_t>(copy.value("srcBinding")), static_cast<uint32_t>(copy.value("srcArrayElement"))});
  const uint64_t count = copy.value("descriptorCount");
  // With gaps in the source nobody knows which descriptors are meant: then all of it counts, for good.
  Set& target = state<Set>(*to);
  uint32_t element = static_cast<uint32_t>(copy.value("srcArrayElement"));
  const auto binding = static_cast<uint32_t>(copy.value("srcBinding"));
  bool whole = true;
  for (uint64_t i = 0; i < count && whole; ++i, ++at, ++element) {
    whole = at != source.entries.end() && at->first == std::pair(binding, element) && at->second.what.size() == 1;
    if (whole) what.push_back(at->second.what[0]);
  }
  if (whole)
    return put_in(target, static_cast<uint32_t>(copy.value("dstBinding")),
                  static_cast<uint32_t>(copy.value("dstArrayElement")), std::move(what), call);
  target.node = NOBODY;
  target.always.push_back(call);
  // Each resource once: sets may be copied to each other again and again, or to themselves.
  std::map<std::pair<Object*, uint8_t>, uint32_t> types;
  for (auto& [place, entry] : source.entries)
    for (auto& one : entry.what)
      if (one.object) types.emplace(std::pair(one.object, access_of(one.type)), one.type);
  // Under a binding that no layout has: nothing ever replaces it.
  auto& all = target.entries[{UINT32_MAX, static_cast<uint32_t>(target.always.size())}];
  all.by = call;
  all.what.clear();
  for (auto& [use, type] : types) all.what.push_back({use.first, type});
}

void VulkanPast::updates(VulkanCall& call) {
  for (auto& write : call.trees("pDescriptorWrites"))
    if (Object* set = find(OF_SET, write.value("dstSet"))) write_set(call.node(), *set, write);
  for (auto& copy : call.trees("pDescriptorCopies")) copy_set(call.node(), copy);
}

void VulkanPast::updates_by_template(VulkanCall& call) {
  Object* set = find(OF_SET, call.value("descriptorSet"));
  Object* by = find(OF_TEMPLATE, call.value("descriptorUpdateTemplate"));
  const Field* data = call.param("pData");
  if (!set) return;
  if (!by || !data) {
    state<Set>(*set).node = NOBODY;
    return void(state<Set>(*set).always.push_back(call.node()));
  }
  const auto& entries = state<Template>(*by).entries;
  auto all = described(call, state<Template>(*by), call.content(*data));
  size_t at = 0;
  for (auto& entry : entries) {
    if (entry.type == INLINE_BLOCK) {
      ++at;
      state<Set>(*set).node = NOBODY;
      state<Set>(*set).always.push_back(call.node());
      continue;
    }
    const size_t end = std::min(all.size(), at + entry.count);
    put_in(state<Set>(*set), entry.binding, entry.element,
           {all.begin() + static_cast<long>(std::min(at, end)), all.begin() + static_cast<long>(end)}, call.node());
    at = end;
  }
}

// Work that runs with a set reads, or stores to, all that is in it.
void VulkanPast::use_set(uint32_t call, Object& of) {
  Set& set = state<Set>(of);
  edge(call, set.whole(*this));
  for (auto& [place, entry] : set.entries)
    for (auto& one : entry.what)
      if (one.object) apply(call, *one.object, access_of(one.type));
}

}  // namespace dt::extract
