// Mapped memory: the program's stores are recorded before the device can see them, and what the device may have stored
// is kept apart. A replay that took the device's stores for the program's would show right pictures without drawing.
//
// A change is the program's for sure where nothing that was submitted can still run, or where nothing that the device
// may write to lies in that memory. Any other change is recorded as one that the device may have made.
#include "facts.h"
#include "losses.h"
#include "mapped.h"
#include "module_vk.h"

namespace dt {
namespace {

constexpr VkResult SUCCESS = 0;

uint64_t raw(const void* handle) { return (uint64_t)(uintptr_t)handle; }

struct Queue {
  uint64_t queue, device, submitted, done;  // numbers of submissions
};
constexpr unsigned QUEUES = 64;
Queue queues[QUEUES];
uint64_t submissions;
uint32_t busy;  // something may have run since the last look

Queue* queue_of(uint64_t handle) {
  for (Queue& each : queues) {
    uint64_t held = __atomic_load_n(&each.queue, __ATOMIC_ACQUIRE);
    if (!held && __atomic_compare_exchange_n(&each.queue, &held, handle, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      held = handle;
    if (held == handle) return &each;
  }
  return nullptr;
}

bool is_idle() {
  for (const Queue& each : queues) {
    if (!__atomic_load_n(&each.queue, __ATOMIC_ACQUIRE)) break;
    if (__atomic_load_n(&each.done, __ATOMIC_ACQUIRE) < __atomic_load_n(&each.submitted, __ATOMIC_ACQUIRE))
      return false;
  }
  return true;
}

void is_done(Queue* queue, uint64_t number) {
  uint64_t done = __atomic_load_n(&queue->done, __ATOMIC_RELAXED);
  while (done < number &&
         !__atomic_compare_exchange_n(&queue->done, &done, number, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {}
}

// A fence's submission: its number, and its queue's place above it.
void fence_done(VkFence fence) {
  const uint64_t of = known(raw(fence), FENCE);
  if (of) is_done(&queues[of >> 56], of << 8 >> 8);
}

// Something was submitted since the device could first write to that memory.
bool was_in_reach(uint64_t memory) {
  const uint64_t since = known(memory, WRITABLE);
  return since && __atomic_load_n(&submissions, __ATOMIC_ACQUIRE) >= since;
}

bool may_be_device(uint64_t memory) { return __atomic_load_n(&busy, __ATOMIC_ACQUIRE) && was_in_reach(memory); }

void look_around(Thread* t) {
  look_at_memory(t, may_be_device);
  __atomic_store_n(&busy, is_idle() ? 0u : 1u, __ATOMIC_RELEASE);
}

void submit(Thread* t, VkQueue handle, VkFence fence) {
  look_around(t);
  __atomic_store_n(&busy, 1u, __ATOMIC_RELEASE);
  Queue* queue = queue_of(raw(handle));
  const uint64_t number = __atomic_add_fetch(&submissions, 1, __ATOMIC_ACQ_REL);
  if (!queue) return;  // more queues than can be told apart: always busy
  __atomic_store_n(&queue->submitted, number, __ATOMIC_RELEASE);
  if (fence) learn(raw(fence), FENCE, (uint64_t)(queue - queues) << 56 | number);
}

void mapped(Thread* t, VkDeviceMemory memory, uint64_t offset, uint64_t size, void** at, VkResult result) {
  if (result != SUCCESS || !at || !*at) return;
  const uint64_t all = known(raw(memory), BYTES);
  if (size == ~0ull) size = all > offset ? all - offset : 0;
  // Nobody knows what memory holds that neither program nor device ever wrote to. A comparison would miss what the
  // program stores where the same bytes happen to lie, as zeros often do.
  const bool undefined = known(raw(memory), FRESH) && !was_in_reach(raw(memory));
  if (!offset && size >= all) learn(raw(memory), FRESH, 0);
  if (size)
    memory_mapped(t, raw(memory), offset, size, *at, undefined);
  else
    emit_loss(t, "map-lost", "memory that was allocated unseen is mapped: what is stored in it is not recorded");
}

void bound(uint64_t memory, bool writable) {
  if (writable && !known(memory, WRITABLE))
    learn(memory, WRITABLE, __atomic_load_n(&submissions, __ATOMIC_ACQUIRE) + 1);
}

bool is_written(VkBuffer buffer) {
  constexpr uint64_t TRANSFER_DST = 2, STORAGE_TEXEL = 8, STORAGE = 32, FEEDBACK = 0x1800, STRUCTURES = 1 << 20;
  const uint64_t usage = known(raw(buffer), USAGE);
  return !usage || usage & (TRANSFER_DST | STORAGE_TEXEL | STORAGE | FEEDBACK | STRUCTURES);
}

bool has_in_chain(const void* next, int32_t stype) {
  struct Head {
    int32_t stype;
    const Head* next;
  };
  unsigned n = 0;
  for (const Head* at = (const Head*)next; at && n < 512; at = at->next, n++)
    if (at->stype == stype) return true;
  return false;
}

}  // namespace

namespace hook {

void after_vkAllocateMemory(Thread* t, VkDevice, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks*,
                            VkDeviceMemory* made, VkResult result) {
  constexpr int32_t IMPORTS_POINTER = 1000178000;
  if (result != SUCCESS) return;
  learn(raw(*made), BYTES, info->allocationSize);
  learn(raw(*made), WRITABLE, 0);
  learn(raw(*made), FRESH, 1);
  if (has_in_chain(info->pNext, IMPORTS_POINTER))
    emit_loss(t, "vulkan-imported-memory",
              "the program's own memory became a device's: what it stores is not recorded");
}
void before_vkFreeMemory(Thread* t, VkDevice, VkDeviceMemory memory, const VkAllocationCallbacks*) {
  if (memory) memory_unmapped(t, raw(memory), may_be_device);
}
void after_vkMapMemory(Thread* t, VkDevice, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize size,
                       VkMemoryMapFlags, void** at, VkResult result) {
  mapped(t, memory, offset, size, at, result);
}
void after_vkMapMemory2(Thread* t, VkDevice, const VkMemoryMapInfo* info, void** at, VkResult result) {
  mapped(t, info->memory, info->offset, info->size, at, result);
}
void before_vkUnmapMemory(Thread* t, VkDevice, VkDeviceMemory memory) {
  memory_unmapped(t, raw(memory), may_be_device);
}
void before_vkUnmapMemory2(Thread* t, VkDevice, const VkMemoryUnmapInfo* info) {
  memory_unmapped(t, raw(info->memory), may_be_device);
}

void after_vkCreateBuffer(Thread*, VkDevice, const VkBufferCreateInfo* info, const VkAllocationCallbacks*,
                          VkBuffer* made, VkResult result) {
  constexpr int32_t MORE_USAGE = 1000470006;
  if (result == SUCCESS) learn(raw(*made), USAGE, has_in_chain(info->pNext, MORE_USAGE) ? 0 : info->usage);
}
void before_vkBindBufferMemory(Thread*, VkDevice, VkBuffer buffer, VkDeviceMemory memory, VkDeviceSize) {
  bound(raw(memory), is_written(buffer));
}
void before_vkBindBufferMemory2(Thread*, VkDevice, uint32_t count, const VkBindBufferMemoryInfo* infos) {
  for (uint32_t i = 0; i < count; i++) bound(raw(infos[i].memory), is_written(infos[i].buffer));
}
void before_vkBindImageMemory(Thread*, VkDevice, VkImage, VkDeviceMemory memory, VkDeviceSize) {
  bound(raw(memory), true);
}
void before_vkBindImageMemory2(Thread*, VkDevice, uint32_t count, const VkBindImageMemoryInfo* infos) {
  for (uint32_t i = 0; i < count; i++) bound(raw(infos[i].memory), true);
}

void after_vkGetDeviceQueue(Thread*, VkDevice device, uint32_t, uint32_t, VkQueue* queue) {
  if (Queue* of = *queue ? queue_of(raw(*queue)) : nullptr)
    __atomic_store_n(&of->device, raw(device), __ATOMIC_RELEASE);
}
void after_vkGetDeviceQueue2(Thread* t, VkDevice device, const VkDeviceQueueInfo2*, VkQueue* queue) {
  after_vkGetDeviceQueue(t, device, 0, 0, queue);
}
void before_vkQueueSubmit(Thread* t, VkQueue queue, uint32_t, const VkSubmitInfo*, VkFence fence) {
  submit(t, queue, fence);
}
void before_vkQueueSubmit2(Thread* t, VkQueue queue, uint32_t, const VkSubmitInfo2*, VkFence fence) {
  submit(t, queue, fence);
}
void before_vkQueueBindSparse(Thread* t, VkQueue queue, uint32_t, const VkBindSparseInfo*, VkFence fence) {
  submit(t, queue, fence);
}

void after_vkWaitForFences(Thread* t, VkDevice, uint32_t count, const VkFence* fences, VkBool32 all, uint64_t,
                           VkResult result) {
  if (result != SUCCESS) return;
  if (all || count == 1)
    for (uint32_t i = 0; i < count; i++) fence_done(fences[i]);
  look_around(t);
}
void after_vkGetFenceStatus(Thread* t, VkDevice, VkFence fence, VkResult result) {
  if (result != SUCCESS) return;
  fence_done(fence);
  look_around(t);
}
void after_vkWaitSemaphores(Thread* t, VkDevice, const VkSemaphoreWaitInfo*, uint64_t, VkResult result) {
  if (result == SUCCESS) look_around(t);
}
void after_vkQueueWaitIdle(Thread* t, VkQueue queue, VkResult result) {
  Queue* of = result == SUCCESS ? queue_of(raw(queue)) : nullptr;
  if (of) is_done(of, __atomic_load_n(&of->submitted, __ATOMIC_ACQUIRE));
  look_around(t);
}
void after_vkDeviceWaitIdle(Thread* t, VkDevice device, VkResult result) {
  for (Queue& each : queues)
    if (result == SUCCESS && __atomic_load_n(&each.device, __ATOMIC_ACQUIRE) == raw(device))
      is_done(&each, __atomic_load_n(&each.submitted, __ATOMIC_ACQUIRE));
  look_around(t);
}

}  // namespace hook
}  // namespace dt
