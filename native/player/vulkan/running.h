// The waits of a recording tell which submitted work may still have run at a place.
#pragma once
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "objects.h"

namespace dt::play::vk {

class Running {
 public:
  // Handles are anything that stays the same for an object. `c` is a submission with its arguments.
  void submit(const Call& c, uint64_t device);
  void done(const VkFence* fences, uint64_t count);
  void reached(uint64_t semaphore, uint64_t value);
  void idle(uint64_t queue, uint64_t device);  // queue 0: all of the device
  bool may_run() const;
  std::vector<uint64_t> queues_of(uint64_t device) const;  // that got work

  // Binary semaphores. A wait for one whose signal was not submitted before never ends.
  void made(uint64_t semaphore, const VkSemaphoreCreateInfo& info);
  void imported(uint64_t semaphore);                         // others may signal it
  void signal(uint64_t semaphore, uint64_t queue);           // by all work of that queue so far
  bool wait(const VkSemaphore* semaphores, uint32_t count);  // false: nobody signals one of them
  bool waits_end(const Call& c);                             // of a submission, whose signals count from now on

  // Timelines. Work may wait for a value that a later call signals: it and what its queue does after it are held.
  void gets(uint64_t semaphore, uint64_t value);
  bool is_stuck() const { return held_ > 0; }
  uint64_t last_signal(uint64_t semaphore) const;  // the greatest value that no wait was for; 0: none

 private:
  using Values = std::vector<std::pair<uint64_t, uint64_t>>;  // of timelines
  // Work that begins with waits and ends with signals.
  struct Batch {
    uint64_t number = 0;  // of the queue's batches
    Values waits, signals;
  };
  struct Queue {
    uint64_t device = 0, submitted = 0, done = 0;
    uint64_t batches = 0;
    std::deque<Batch> held;
  };
  struct Signal {
    Queue* queue = nullptr;
    uint64_t number = 0;  // of the queue's submissions
  };
  // The batch that signals a binary semaphore, and its queue. Queue 0: none.
  struct Source {
    uint64_t queue = 0, batch = 0;
  };
  bool are_reached(const Values& waits) const;
  void raise(const Values& signals);
  void go_on();
  std::unordered_map<uint64_t, Queue> queues_;
  std::unordered_map<uint64_t, Signal> fences_;
  std::unordered_map<uint64_t, std::map<uint64_t, Signal>> timelines_;  // by the value that a semaphore gets
  std::unordered_map<uint64_t, Source> signalled_;
  std::unordered_map<uint64_t, uint64_t> values_;  // of timelines: what they have when all is done that is not held
  uint64_t held_ = 0;                              // batches
};

}  // namespace dt::play::vk
