// Waits of one thread that last until another one has done something: they count when they ended, not when they began.
#pragma once
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "../../state/feed.h"
#include "commands.h"

namespace dt::play::vk {

class LateWaits {
 public:
  explicit LateWaits(bool several_threads) : several_(several_threads) {}
  bool empty() const { return late_.empty(); }

  // True: the record is such a wait, and it is kept until `play`.
  bool keep(const Feed& feed, Decoded* chunk, uint32_t record, uint64_t seq) {
    const int known = chunk->known[chunk->order[record]];
    if (!several_ || known < 0 || !(COMMANDS[known].flags & FLAG_BLOCKS)) return false;
    uint64_t ticks = 0;
    const uint64_t entry = chunk->open->entries()[record];
    if (!entry || !chunk->open->duration(record, ticks)) return false;
    late_.push_back({feed.shared(), record, seq, entry + ticks});
    return true;
  }

  // Plays the waits that ended before something else began, or that their thread's next record follows.
  template <class F> void play(uint64_t before, uint32_t thread, uint64_t& seq, F&& one) {
    while (!late_.empty()) {
      auto due = std::min_element(late_.begin(), late_.end(), [](auto& a, auto& b) { return a.until < b.until; });
      const bool own = std::any_of(late_.begin(), late_.end(), [&](auto& l) { return l.chunk->thread == thread; });
      if (due->until > before && !own) return;
      const Late now = *due;
      late_.erase(due);
      const uint64_t own_seq = std::exchange(seq, now.seq);
      one(now.chunk.get(), now.record);
      seq = own_seq;
    }
  }

 private:
  struct Late {
    std::shared_ptr<Decoded> chunk;
    uint32_t record;
    uint64_t seq, until;  // ticks
  };
  const bool several_;
  std::vector<Late> late_;
};

}  // namespace dt::play::vk
