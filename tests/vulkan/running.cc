// Which work of two queues ends, by the waits and signals of its submissions. Run by test_replay.py.
#include "running.h"

#include <cstdio>
#include <vector>

namespace {

using namespace dt::play::vk;

constexpr uint64_t DEVICE = 1, LEFT = 11, RIGHT = 12;
int g_wrong = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  printf("%s\n", what);
  ++g_wrong;
}

struct Semaphore {
  uint64_t handle, value;
  VkSemaphoreSubmitInfo info() const {
    VkSemaphoreSubmitInfo made{};
    made.semaphore = (VkSemaphore)handle;
    made.value = value;
    return made;
  }
};

// Returns whether the submission's waits for binary semaphores end.
bool submit(Running& running, uint64_t queue, std::vector<Semaphore> waits, std::vector<Semaphore> signals) {
  std::vector<VkSemaphoreSubmitInfo> before, after;
  for (auto& each : waits) before.push_back(each.info());
  for (auto& each : signals) after.push_back(each.info());
  VkSubmitInfo2 batch{};
  batch.waitSemaphoreInfoCount = static_cast<uint32_t>(before.size());
  batch.pWaitSemaphoreInfos = before.data();
  batch.signalSemaphoreInfoCount = static_cast<uint32_t>(after.size());
  batch.pSignalSemaphoreInfos = after.data();
  const Command command{};
  const dt::play::Columns columns{};
  Call c{command, number::vkQueueSubmit2, columns, 0};
  c.arguments[0] = queue;
  c.arguments[1] = 1;
  c.arguments[2] = reinterpret_cast<uint64_t>(&batch);
  if (!running.waits_end(c)) return false;
  running.submit(c, DEVICE);
  return true;
}

Running with_semaphores() {
  VkSemaphoreTypeCreateInfo type{};
  type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo timeline{}, binary{};
  timeline.pNext = &type;
  Running made;
  for (uint64_t semaphore : {1, 2}) made.made(semaphore, timeline);
  made.made(3, binary);
  return made;
}

}  // namespace

int main() {
  {
    Running r = with_semaphores();
    submit(r, LEFT, {{1, 1}}, {});
    expect(r.is_stuck(), "work waits for a value that nobody signals");
    submit(r, LEFT, {}, {{1, 1}});
    expect(r.is_stuck(), "the value is signalled behind its own wait, on one queue");
    r.gets(1, 1);
    expect(!r.is_stuck(), "the host signals the value");
  }
  {
    Running r = with_semaphores();
    submit(r, LEFT, {{1, 1}}, {{2, 1}});
    submit(r, RIGHT, {{2, 1}}, {{1, 1}});
    expect(r.is_stuck(), "each of two queues waits for the other");
    r.gets(2, 1);
    expect(!r.is_stuck(), "the host ends one wait, and so the other");
  }
  {
    Running r = with_semaphores();
    submit(r, LEFT, {{1, 2}}, {{2, 1}});
    submit(r, RIGHT, {}, {{1, 1}});
    expect(r.is_stuck(), "a value that is too small");
    submit(r, RIGHT, {}, {{1, 2}});
    expect(!r.is_stuck(), "another queue signals the value later");
  }
  {
    Running r = with_semaphores();
    submit(r, LEFT, {}, {{3, 0}});
    submit(r, LEFT, {{1, 1}}, {});
    expect(submit(r, RIGHT, {{3, 0}}, {}), "a binary semaphore that work before the held one signals");
    expect(!submit(r, RIGHT, {{3, 0}}, {}), "a binary semaphore without a second signal");
  }
  {
    Running r = with_semaphores();
    submit(r, LEFT, {{1, 1}}, {{3, 0}});
    expect(!submit(r, RIGHT, {{3, 0}}, {}), "a binary semaphore that held work signals");
  }
  {
    Running r = with_semaphores();
    submit(r, LEFT, {{1, 1}}, {});
    r.imported(1);
    expect(!r.is_stuck(), "others may signal a semaphore that is imported");
  }
  return g_wrong != 0;
}
