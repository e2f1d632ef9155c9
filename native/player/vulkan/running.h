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
};

}  // namespace dt::play::vk
