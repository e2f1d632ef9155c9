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
  void imported(uint64_t semaphore) { signalled_.erase(semaphore); }  // others may signal it
  void signal(uint64_t semaphore);
  bool wait(const VkSemaphore* semaphores, uint32_t count);  // false: nobody signals one of them
  bool waits_end(const Call& c);                             // of a submission, whose signals count from now on

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
  std::unordered_map<uint64_t, bool> signalled_;  // binary semaphores, and whether a signal was submitted
};

}  // namespace dt::play::vk
