// The waits of a recording tell which submitted work may still have run at a place.
#pragma once
#include <map>
#include <unordered_map>

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

  // Binary semaphores. A wait for one whose signal was not submitted before never ends.
  void made(uint64_t semaphore, const VkSemaphoreCreateInfo& info);
  void imported(uint64_t semaphore) { signalled_.erase(semaphore), values_.erase(semaphore); }  // others may signal it
  void signal(uint64_t semaphore, uint64_t queue);                                              // by work of that queue
  bool wait(const VkSemaphore* semaphores, uint32_t count);  // false: nobody signals one of them
  bool waits_end(const Call& c);                             // of a submission, whose signals count from now on

  // Timelines. Work may wait for a value that a later call signals.
  void gets(uint64_t semaphore, uint64_t value);
  // Work of the queue, or of any (0), waits for a value that no call has signalled.
  bool is_stuck(uint64_t queue = 0);

 private:
  struct Queue {
    uint64_t device = 0, submitted = 0, done = 0;
  };
  struct Signal {
    Queue* queue = nullptr;
    uint64_t number = 0;  // of the queue's submissions
  };
  std::unordered_map<uint64_t, Queue> queues_;
  std::unordered_map<uint64_t, Signal> fences_;
  std::unordered_map<uint64_t, std::map<uint64_t, Signal>> timelines_;  // by the value that a semaphore gets
  std::unordered_map<uint64_t, uint64_t> signalled_;  // binary semaphores, and the queue that signals them; 0: none
  std::unordered_map<uint64_t, uint64_t> values_;     // timelines, and the greatest value that they have or will get
  // The greatest value that work of a queue waits for, by queue and timeline.
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> awaited_;
};

}  // namespace dt::play::vk
