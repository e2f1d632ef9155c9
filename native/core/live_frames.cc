// Frames of running programs, read out of the pages that they write: many a second, by the manager.
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "../common/live.h"
#include "core.h"

namespace {

int64_t now_in_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{1000000000} * t.tv_sec + t.tv_nsec;
}

// The program may write anything at any time: each value is taken once.
uint64_t taken(const std::atomic<uint64_t>& count, std::memory_order order) {
  return count.load(order) & DT_LIVE_MOST_FRAMES;
}

}  // namespace

extern "C" uint64_t dt_live_frames(const void* surface, dt_live_seen* seen, int64_t* rows, uint64_t room,
                                   int64_t now_ns, int64_t oldest_ns) {
  const auto& page = *static_cast<const dt_live_surface*>(surface);
  const uint64_t frames = taken(page.frames, std::memory_order_acquire);
  if (frames <= seen->frames) return 0;
  int64_t *shown = rows, *wait = rows + room, *swap = rows + 2 * room;
  seen->begin = static_cast<uint64_t>(std::lower_bound(shown + seen->begin, shown + seen->end, oldest_ns) - shown);
  const uint64_t first = std::max<uint64_t>(seen->frames, frames - std::min<uint64_t>(frames, DT_LIVE_RING));
  if (frames - first > room - seen->end) return frames - first;

  const uint64_t end = seen->end;
  for (uint64_t i = first; i < frames; i++) {
    dt_live_frame frame;
    std::memcpy(&frame, const_cast<const dt_live_frame*>(page.ring) + i % DT_LIVE_RING, sizeof frame);
    const uint64_t at = end + (i - first);
    shown[at] = static_cast<int64_t>(frame.shown_ns);
    wait[at] = frame.wait_ns;
    swap[at] = frame.swap_ns;
  }
  // Values that the program wrote while we read may be mixed: the place of frame `after` is being filled now.
  std::atomic_thread_fence(std::memory_order_acquire);
  const uint64_t after = taken(page.frames, std::memory_order_relaxed) + 1;
  const uint64_t whole = std::min(frames, std::max(first, after - std::min<uint64_t>(after, DT_LIVE_RING)));
  // Others were read since the look began: what was shown in between is no frame of the future.
  now_ns = std::max(now_ns, now_in_ns());
  int64_t last = end > seen->begin ? shown[end - 1] : 0;
  uint64_t to = end;
  for (uint64_t at = end + (whole - first), stop = end + (frames - first); at < stop; at++) {
    if (shown[at] <= oldest_ns || shown[at] > now_ns) continue;
    last = std::max(last, shown[at]);
    shown[to] = last;
    wait[to] = wait[at];
    swap[to++] = swap[at];
  }
  seen->lost += whole - seen->frames;
  seen->frames = frames;
  seen->end = to;
  return 0;
}
