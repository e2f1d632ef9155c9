// Copies of command buffers that read one pixel, and perform draws once more under queries.
#include <algorithm>

#include "copier.h"

namespace dt::play::vk {

std::string Copier::want_pixel(size_t at, bool before, Taken taken) {
  for (const size_t end = before ? at : at + 1; walked_ < end; ++walked_) step(place_, walked_);
  Pause pause{at, place_.begin, place_.subpass, std::move(taken), true};
  pause.plain = pause.begin == OUTSIDE, pause.before = before, pause.pixel = true;
  if (!pause.plain) {
    if (const std::string why = whole_pass(pause, place_); !why.empty()) return why;
    bool loses = false;
    // An interrupted pass loses the attachments that the subpasses behind do not preserve.
    const std::vector<VkImageView> views =
        is_rendering(pause.begin) ? std::vector<VkImageView>() : views_of(pause.begin);
    for (uint32_t i = 0; i < views.size(); ++i) {
      auto view = s_.views_.find(views[i]);
      if (view == s_.views_.end() || is_kept(pause, i)) continue;
      std::erase_if(pause.taken.shots, [&](const Shot& shot) {
        const bool lost = shot.image == view->second.image;
        loses |= lost && shot.aspect == VK_IMAGE_ASPECT_COLOR_BIT;
        return lost;
      });
    }
    if (loses || pause.taken.shots.empty()) return "the render pass does not preserve it";
    if (!pauses_.empty() && pauses_.back().begin == pause.begin) pauses_.back().last = false;
  }
  pauses_.push_back(std::move(pause));
  return "";
}

void Copier::want_tests(size_t at, std::vector<VkPipeline> variants, std::vector<size_t> sets, size_t bound,
                        Tested tested) {
  tests_.push_back({at, bound, std::move(variants), std::move(sets), tested});
}

// All reads of the copy share a buffer, all its queries a pool.
void Copier::make_rooms() {
  uint64_t bytes = 0;
  for (auto& each : pauses_)
    if (each.pixel) {
      for (auto& shot : each.taken.shots) shot.at += bytes;
      for (auto& part : each.taken.stored) part.at += bytes;
      bytes += each.taken.bytes;
    }
  if (bytes) {
    const Room room = buffer_room(bytes);
    submission_.rooms.push_back(room);
    for (auto& each : pauses_)
      if (each.pixel) each.taken.room.buffer = room.buffer, each.taken.room.at = room.at;
  }
  uint32_t queries = 0;
  for (auto& each : tests_) {
    each.tested.first = queries;
    queries += static_cast<uint32_t>(each.variants.size()) + each.tested.around;
  }
  if (!queries) return;
  VkQueryPool pool = own_queries(VK_QUERY_TYPE_OCCLUSION, queries);
  DT_VK(device_, vkCmdResetQueryPool)(to_, pool, 0, queries);
  for (auto& each : tests_) {
    each.tested.pool = pool;
    submission_.tested.push_back(each.tested);
  }
}

void Copier::begin_query(const Tested& tested, uint32_t query) {
  const VkQueryControlFlags exactly = tested.around ? VkQueryControlFlags(VK_QUERY_CONTROL_PRECISE_BIT) : 0;
  DT_VK(device_, vkCmdBeginQuery)(to_, tested.pool, query, exactly);
}

// Dynamic state is given anew before each pipeline is bound: one that has it fixed leaves it undefined.
void Copier::test(const Tests& tests) {
  uint32_t query = tests.tested.first;
  auto give = [&] {
    for (size_t each : tests.sets) make(*stream_[each]);
  };
  for (VkPipeline variant : tests.variants) {
    give();
    DT_VK(device_, vkCmdBindPipeline)(to_, VK_PIPELINE_BIND_POINT_GRAPHICS, variant);
    begin_query(tests.tested, query);
    make(*stream_[tests.at]);
    DT_VK(device_, vkCmdEndQuery)(to_, tests.tested.pool, query++);
  }
  give();
  make(*stream_[tests.bound]);
}

}  // namespace dt::play::vk
