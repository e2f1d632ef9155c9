// The content of descriptor sets, for pictures of stores by dispatches.
#include "snapshots.h"

namespace dt::play::vk {

// Elements behind the last one of a binding belong to the next binding.
void Snapshots::put(VkDescriptorSet of, uint32_t binding, uint32_t element, const Descriptor& what) {
  auto it = sets_.find(of);
  if (it == sets_.end() || !it->second.layout) return;
  KeptSet& set = it->second;
  for (auto at = set.layout->find(binding); at != set.layout->end(); ++at) {
    if (element < at->second.second) {
      set.content[{at->first, element}] = what;
      return;
    }
    element -= at->second.second;
  }
}

void Snapshots::keep_template(const Call& c) {
  auto entries = templates_.find(c.as<VkDescriptorUpdateTemplate>(2));
  if (entries == templates_.end()) return;
  for (auto& entry : entries->second)
    for (uint32_t i = 0; i < entry.descriptorCount; ++i) {
      const auto* at = c.at<const uint8_t>(3) + entry.offset + i * entry.stride;
      Descriptor what{entry.descriptorType, {}, {}};
      const int64_t content = table::descriptor_content(entry.descriptorType);
      if (entry.descriptorType == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK) break;
      if (content == 1) memcpy(&what.image, at, sizeof what.image);
      if (content == 2) memcpy(&what.buffer, at, sizeof what.buffer);
      put(c.as<VkDescriptorSet>(1), entry.dstBinding, entry.dstArrayElement + i, what);
    }
}

void Snapshots::keep_descriptors(const Call& c) {
  using namespace number;
  if (c.number == vkCreateDescriptorSetLayout) {
    const auto* info = c.at<VkDescriptorSetLayoutCreateInfo>(1);
    SetLayout made;
    for (uint32_t i = 0; i < info->bindingCount; ++i)
      made[info->pBindings[i].binding] = {info->pBindings[i].descriptorType, info->pBindings[i].descriptorCount};
    layouts_[*c.at<VkDescriptorSetLayout>(3)] = std::make_shared<const SetLayout>(std::move(made));
  } else if (c.number == vkAllocateDescriptorSets) {
    const auto* info = c.at<VkDescriptorSetAllocateInfo>(1);
    for (uint32_t i = 0; i < info->descriptorSetCount; ++i)
      sets_[c.at<VkDescriptorSet>(2)[i]] = {layouts_[info->pSetLayouts[i]], {}};
  } else if (c.number == vkCreateDescriptorUpdateTemplate) {
    const auto* info = c.at<VkDescriptorUpdateTemplateCreateInfo>(1);
    templates_[*c.at<VkDescriptorUpdateTemplate>(3)] = {
        info->pDescriptorUpdateEntries, info->pDescriptorUpdateEntries + info->descriptorUpdateEntryCount};
  } else if (c.number != vkUpdateDescriptorSets) {
    keep_template(c);
  } else {
    for (uint64_t i = 0; i < c.arguments[1]; ++i) {
      const auto& write = c.at<VkWriteDescriptorSet>(2)[i];
      const int64_t content = table::descriptor_content(write.descriptorType);
      if (write.descriptorType == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK) continue;
      for (uint32_t k = 0; k < write.descriptorCount; ++k) {
        Descriptor what{write.descriptorType, {}, {}};
        if (content == 1 && write.pImageInfo) what.image = write.pImageInfo[k];
        if (content == 2 && write.pBufferInfo) what.buffer = write.pBufferInfo[k];
        put(write.dstSet, write.dstBinding, write.dstArrayElement + k, what);
      }
    }
    for (uint64_t i = 0; i < c.arguments[3]; ++i) {
      const auto& copy = c.at<VkCopyDescriptorSet>(4)[i];
      for (uint32_t k = 0; k < copy.descriptorCount; ++k) {
        const auto& from = sets_[copy.srcSet].content;
        if (auto it = from.find({copy.srcBinding, copy.srcArrayElement + k}); it != from.end())
          put(copy.dstSet, copy.dstBinding, copy.dstArrayElement + k, Descriptor(it->second));
      }
    }
  }
}

}  // namespace dt::play::vk
