// The stores of a dispatch: storage buffers and images of the descriptor sets that are bound for it.
#include <algorithm>

#include "../options.h"
#include "copier.h"

namespace dt::play::vk {
namespace {

bool is_dynamic(VkDescriptorType type) {
  return type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC || type == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC;
}

}  // namespace

void Copier::bind(Place& place, const KeptCommand& command) const {
  if (command.arguments[1] != VK_PIPELINE_BIND_POINT_COMPUTE) return;
  const auto* offsets = command.at<uint32_t>(7);
  const auto* const end = offsets ? offsets + command.arguments[6] : nullptr;
  for (uint64_t i = 0; i < command.arguments[4]; ++i) {
    Place::Bound& bound = place.bound[static_cast<uint32_t>(command.arguments[3] + i)] = {};
    bound.set = command.at<VkDescriptorSet>(5)[i];
    auto it = s_.sets_.find(bound.set);
    if (it == s_.sets_.end() || !it->second.layout) continue;
    for (auto& [binding, of] : *it->second.layout)
      for (uint32_t k = 0; is_dynamic(of.first) && k < of.second && offsets != end; ++k)
        bound.offsets.push_back(*offsets++);
  }
}

void Copier::shot_of(Taken& taken, const std::string& name, const Descriptor& what, uint32_t offset) const {
  if (what.type == VK_DESCRIPTOR_TYPE_STORAGE_IMAGE) {
    if (s_.attachments_ & WANT_COLOR && what.image.imageView)
      add_shot(taken, name, VK_IMAGE_ASPECT_COLOR_BIT, what.image.imageView, what.image.imageLayout);
    return;
  }
  if (what.type == VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER && s_.attachments_ & WANT_BUFFERS)
    taken.why.push_back(name + ": texel buffers are not read yet");
  const bool buffer =
      what.type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER || what.type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
  if (!buffer || !(s_.attachments_ & WANT_BUFFERS) || !what.buffer.buffer) return;
  auto size = s_.sizes_.find(what.buffer.buffer);
  const uint64_t from = what.buffer.offset + offset;
  if (size == s_.sizes_.end() || from >= size->second)
    return taken.why.push_back(name + ": its buffer is not known"), void();
  taken.stored.push_back({name, what.buffer.buffer, from, std::min(what.buffer.range, size->second - from), 0});
}

void Copier::shots_of_dispatch(Pause& pause) const {
  for (auto& [number, bound] : place_.bound) {
    auto it = s_.sets_.find(bound.set);
    if (it == s_.sets_.end() || !it->second.layout) {
      pause.taken.why.push_back("descriptor set " + std::to_string(number) + " is not known");
      continue;
    }
    size_t dynamic = 0;
    for (auto& [binding, of] : *it->second.layout)
      for (uint32_t k = 0; k < of.second; ++k) {
        const bool moves = is_dynamic(of.first) && dynamic < bound.offsets.size();
        const uint32_t offset = moves ? bound.offsets[dynamic++] : 0;
        auto what = it->second.content.find({binding, k});
        if (what == it->second.content.end()) continue;
        std::string name = "storage" + std::to_string(number) + "." + std::to_string(binding);
        if (of.second > 1) name += "." + std::to_string(k);
        shot_of(pause.taken, name, what->second, offset);
      }
  }
}

}  // namespace dt::play::vk
