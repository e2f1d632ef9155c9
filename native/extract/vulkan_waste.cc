// The calls that nothing shown and no answer to the program needs.
#include "vulkan_past.h"
#include "vulkan_repeats.h"
#include "vulkan_state.h"

namespace dt::extract {

// Calls that show something, and questions about what work left behind: the program read their answers.
void VulkanPast::answers(const VulkanCall& call, Does does) {
  presents_ |= does == &VulkanPast::presents;
  if (does == &VulkanPast::presents || does == &VulkanPast::asks_queries || does == &VulkanPast::asks_event)
    answers_.push_back(call.node());
}

VulkanPast::Role VulkanPast::role_of(VulkanCall& call, Does does) const {
  const Function& f = call.function();
  if (call.failed()) return Role::stays;
  if (f.flags & (FLAG_RECORDS | FLAG_COMMANDS_BEGIN | FLAG_COMMANDS_END | FLAG_SUBMITS))
    return call.name().starts_with("vkCmdCopyBuffer") || call.name().starts_with("vkCmdUpdateBuffer") ? Role::uploads
                                                                                                      : Role::works;
  for (Does waits :
       {&VulkanPast::waits_fences, &VulkanPast::asks_fence, &VulkanPast::waits_semaphores, &VulkanPast::asks_counter})
    if (does == waits) return Role::waits;
  if (does == &VulkanPast::updates || does == &VulkanPast::updates_by_template) return Role::updates;
  if (does == &VulkanPast::makes)
    for (auto& p : f.params)
      if (p.has_data() && p.out)
        for (std::string_view kind :
             {"VkPhysicalDevice", "VkQueue", "VkDebugUtilsMessengerEXT", "VkDebugReportCallbackEXT"})
          if (p.object_class == kind) return Role::always;  // the program learns something
  return Role::stays;
}

// Returns whether an edge of a call leads to a node that is not kept: to an object, or (`calls`) to a call as well.
bool VulkanPast::lacks(uint32_t call, const std::vector<bool>& seen, bool calls) const {
  for (size_t e = starts_[call]; e < starts_[call + 1]; ++e)
    if (const uint32_t to = edges_[e].second; !seen[to] && (calls || to >= trace_.calls)) return true;
  return false;
}

VulkanPast::Kept VulkanPast::shown(const uint64_t* ends, size_t count, uint8_t* kinds) {
  if (!whole_because_.empty()) return everything();
  std::vector<uint32_t> roots = others_;
  roots.insert(roots.end(), answers_.begin(), answers_.end());
  for (size_t i = 0; i < count; ++i)
    if (ends[i] < end_) roots.push_back(static_cast<uint32_t>(ends[i]));
  for (uint64_t seq = 0; !presents_ && seq < end_; ++seq)  // nothing is shown: the results of all work may count
    if (submits_[seq]) roots.push_back(static_cast<uint32_t>(seq));
  for (auto& span : labels_) roots.push_back(span.begin);
  for (auto& row : rows_) {
    if (!row.device || !row.memory) continue;
    roots.push_back(row.memory->node);
    for (auto& [resource, by] : row.stored) roots.push_back(resource->node), roots.push_back(by);
  }
  std::vector<bool> seen;
  const Kept kept = close(std::move(roots), end_, &seen);
  for (uint32_t seq = 0; seq < end_; ++seq) {
    if (seen[seq] || roles_[seq] == Role::always || kinds[seq] == SAME_VALUE) continue;
    switch (roles_[seq]) {
      case Role::works: kinds[seq] = UNSEEN_DRAW; break;
      case Role::uploads: kinds[seq] = UNUSED_UPLOAD; break;
      case Role::waits:
        if (lacks(seq, seen, true)) kinds[seq] = UNSEEN_DRAW;
        break;
      case Role::updates: kinds[seq] = lacks(seq, seen, false) ? UNUSED_OBJECT : UNREAD_STATE; break;
      default:
        if (lacks(seq, seen, false)) kinds[seq] = UNUSED_OBJECT;
    }
  }
  // Stored bytes stand before a call of their thread: another thread's work must not come between.
  if (trace_.threads.size() > 1)
    for (auto& row : rows_)
      if (row.before < end_ && seen[row.before]) kinds[row.before] = 0;
  return kept;
}

}  // namespace dt::extract
