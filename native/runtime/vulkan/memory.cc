// Mapped memory: the program's stores are recorded before the device can see them, and what the device may have stored
// is kept apart. A replay that took the device's stores for the program's would show right pictures without drawing.
// Pages of the program that Vulkan imported are followed in the same way.
//
// A change is the program's for sure where nothing that was submitted can still run, or where nothing lies that the
// device may write to (reach.h). Any other change is recorded as one that the device may have made.
#include "facts.h"
#include "losses.h"
#include "mapped.h"
#include "module_vk.h"
#include "reach.h"
#include "tree.h"
#include <stdlib.h>

namespace dt {
namespace {
uint64_t submissions;
}
uint64_t next_submission() { return __atomic_load_n(&submissions, __ATOMIC_ACQUIRE) + 1; }

namespace {

constexpr VkResult SUCCESS = 0;

uint64_t raw(const void* handle) { return (uint64_t)(uintptr_t)handle; }

struct Queue {
  uint64_t queue, device, submitted, done;  // numbers of submissions
};
constexpr unsigned QUEUES = 64;
Queue queues[QUEUES];
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

// The submission after which a fence or a semaphore is signalled: its number, and its queue's place above it.
uint64_t place_of(const Queue* queue, uint64_t number) { return (uint64_t)(queue - queues) << 56 | number; }
void is_signalled(uint64_t of) {
  if (of) is_done(&queues[of >> 56], of << 8 >> 8);
}
void fence_done(VkFence fence) { is_signalled(known(raw(fence), FENCE)); }

// For a timeline semaphore the last value that a submission signals is known. It is learned first and asked last.
void will_signal(const Queue* queue, uint64_t number, VkSemaphore semaphore, uint64_t value) {
  learn(raw(semaphore), VALUE, value);
  learn(raw(semaphore), SIGNAL, place_of(queue, number));
}
void semaphore_has(VkSemaphore semaphore, uint64_t value) {
  const uint64_t of = known(raw(semaphore), SIGNAL);
  if (of && value >= known(raw(semaphore), VALUE)) is_signalled(of);
}

// The last submission of which it is sure that it and all before it are over.
uint64_t all_done() {
  uint64_t least = __atomic_load_n(&submissions, __ATOMIC_ACQUIRE);
  for (const Queue& each : queues) {
    if (!__atomic_load_n(&each.queue, __ATOMIC_ACQUIRE)) break;
    const uint64_t done = __atomic_load_n(&each.done, __ATOMIC_ACQUIRE);
    if (done < __atomic_load_n(&each.submitted, __ATOMIC_ACQUIRE) && done < least) least = done;
  }
  return least;
}

void store(Thread* t, bool device, uint64_t memory, uint64_t offset, const uint8_t* data, uint64_t bytes, bool still) {
  if (!bytes) return;
  // Other threads may be writing: what is hashed and what is stored must be the same bytes.
  uint8_t* copy = still ? nullptr : (uint8_t*)malloc(bytes);
  if (copy) memcpy(copy, data, bytes);
  emit_memory_write(t, device, memory, offset, copy ? copy : data, bytes);
  free(copy);
}

// 0: none did since the last look.
uint64_t last_that_ran() { return __atomic_load_n(&busy, __ATOMIC_ACQUIRE) ? next_submission() - 1 : 0; }

void stored(Thread* t, uint64_t memory, uint64_t offset, const uint8_t* data, uint64_t bytes, bool still) {
  const uint64_t last = last_that_ran();
  const bool unseen = !known(memory, BYTES);  // and so are what lies there
  const uint64_t end = offset + bytes;
  uint64_t begin = offset;  // of bytes of one kind that are not recorded yet
  reach::Who run = reach::PROGRAM;
  auto record = [&](uint64_t to) {
    if (run != reach::IMAGE) store(t, run == reach::EITHER, memory, begin, data + (begin - offset), to - begin, still);
    begin = to;
  };
  for (uint64_t at = offset; at < end;) {
    uint64_t until = end;
    const reach::Who now = !unseen ? reach::who(memory, at, end, last, &until) : last ? reach::EITHER : reach::PROGRAM;
    if (now != run) record(at), run = now;
    at = until;
  }
  record(end);
}

// The image that this thread destroys. The device's stores in it must not be taken for stores in a later resource
// there, so they are looked at now.
struct Ending {
  uint64_t memory, from, end;
};
__thread Ending ending __attribute__((tls_model("initial-exec")));

bool is_ignored(uint64_t memory, uint64_t from, uint64_t end, uint64_t* until) {
  if (ending.memory != memory && known(memory, BYTES))
    return reach::who(memory, from, end, last_that_ran(), until) == reach::IMAGE;
  *until = end;
  return false;
}
bool where_the_image_ends(uint64_t memory, uint64_t* from, uint64_t* end) {
  *from = ending.from, *end = ending.end;
  return memory == ending.memory;
}

// Stores where nothing lies can wait until something does: no submitted work reads them, unless somebody else has that
// memory, too.
bool where_something_lies(uint64_t memory, uint64_t* from, uint64_t* end) {
  return known(memory, BINDS_SEEN) != beginnings_of_recording() + 1 || reach::is_used(memory, from, end);
}
// Where nothing lies that the device writes to, no change can be its.
bool where_the_device_writes(uint64_t memory, uint64_t* from, uint64_t* end) {
  return !known(memory, BYTES) || reach::is_written(memory, last_that_ran(), from, end);
}

void look_around(Thread* t, Where at) {
  const uint64_t done = all_done();
  const bool idle = is_idle();
  look_at_memory(t, stored, at);
  reach::forget_until(done);
  __atomic_store_n(&busy, idle ? 0u : 1u, __ATOMIC_RELEASE);
}

// After a wait: later stores of the program differ from all changes until now.
void settled(Thread* t) {
  if (__atomic_load_n(&busy, __ATOMIC_ACQUIRE) && is_idle()) look_around(t, where_the_device_writes);
}

// Returns the submission's number, with its queue; nullptr: more queues than there are entries, always busy.
const Queue* submit(Thread* t, VkQueue handle, VkFence fence, uint64_t* number) {
  look_around(t, where_something_lies);
  __atomic_store_n(&busy, 1u, __ATOMIC_RELEASE);
  Queue* queue = queue_of(raw(handle));
  *number = __atomic_add_fetch(&submissions, 1, __ATOMIC_ACQ_REL);
  if (!queue) return nullptr;
  __atomic_store_n(&queue->submitted, *number, __ATOMIC_RELEASE);
  if (fence) learn(raw(fence), FENCE, place_of(queue, *number));
  return queue;
}

// Imported memory is followed from its allocation to its end, mapped or not.
bool is_imported(VkDeviceMemory memory) { return known(raw(memory), IMPORTED) == beginnings_of_recording() + 1; }

void mapped(Thread* t, VkDeviceMemory memory, uint64_t offset, uint64_t size, void** at, VkResult result) {
  if (result != SUCCESS || !at || !*at || is_imported(memory)) return;
  const uint64_t all = known(raw(memory), BYTES);
  if (size == ~0ull) size = all > offset ? all - offset : 0;
  // Nobody knows what memory holds that neither program nor device ever wrote to. A comparison would miss what the
  // program stores where the same bytes happen to lie, as zeros often do.
  const bool undefined = known(raw(memory), FRESH) && !reach::is_within(raw(memory), next_submission() - 1);
  if (!offset && size >= all) learn(raw(memory), FRESH, 0);
  if (size)
    memory_mapped(t, raw(memory), offset, size, *at, undefined ? Origin::UNDEFINED : Origin::KNOWN, is_ignored);
  else
    emit_loss(t, "map-lost", "memory that was allocated unseen is mapped: what is stored in it is not recorded");
}

struct Head {
  int32_t stype;
  const Head* next;
};
// Before a call of the driver nothing says that its arguments are good: the tap fails nowhere where a driver might not.
template <class T> bool has(const T* at, uint64_t count) { return count && tree::is_readable(at, count * sizeof *at); }
// Binds of several resources, each with parts of its own.
template <class T> bool are_readable(const T* binds, uint32_t count) {
  if (count && !has(binds, count)) return false;
  for (uint32_t i = 0; i < count; i++)
    if (binds[i].bindCount && !has(binds[i].pBinds, binds[i].bindCount)) return false;
  return true;
}

const void* in_chain(const void* next, int32_t stype) {
  unsigned n = 0;
  for (const Head* at = (const Head*)next; n < 512 && has(at, 1); at = at->next, n++)
    if (at->stype == stype) return at;
  return nullptr;
}

}  // namespace

namespace hook {

void after_vkAllocateMemory(Thread* t, VkDevice, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks*,
                            VkDeviceMemory* made, VkResult result) {
  constexpr int32_t IMPORTS_POINTER = 1000178000, IMPORTS_DESCRIPTOR = 1000074000, EXPORTS = 1000072002,
                    EXPORTS_NV = 1000056001;
  if (result != SUCCESS) return;
  learn(raw(*made), BYTES, info->allocationSize);
  learn(raw(*made), FRESH, 1);
  const bool exports = in_chain(info->pNext, EXPORTS) || in_chain(info->pNext, EXPORTS_NV);
  learn(raw(*made), BINDS_SEEN, exports ? 0 : beginnings_of_recording() + 1);
  const auto* own = (const VkImportMemoryHostPointerInfoEXT*)in_chain(info->pNext, IMPORTS_POINTER);
  const bool followed = own && has(own, 1) && tree::is_readable(own->pHostPointer, info->allocationSize);
  learn(raw(*made), IMPORTED, followed ? beginnings_of_recording() + 1 : 0);
  if (followed)
    memory_mapped(t, raw(*made), 0, info->allocationSize, own->pHostPointer, Origin::PROGRAMS, is_ignored);
  else if (own || in_chain(info->pNext, IMPORTS_DESCRIPTOR))
    emit_loss(t, "vulkan-imported-memory",
              "memory of another process or a device was imported: what is stored in it is not recorded");
}
void before_vkFreeMemory(Thread* t, VkDevice, VkDeviceMemory memory, const VkAllocationCallbacks*) {
  if (!memory) return;
  memory_unmapped(t, raw(memory), stored);
  reach::memory_gone(raw(memory));
}
void after_vkMapMemory(Thread* t, VkDevice, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize size,
                       VkMemoryMapFlags, void** at, VkResult result) {
  mapped(t, memory, offset, size, at, result);
}
void after_vkMapMemory2(Thread* t, VkDevice, const VkMemoryMapInfo* info, void** at, VkResult result) {
  mapped(t, info->memory, info->offset, info->size, at, result);
}
void before_vkUnmapMemory(Thread* t, VkDevice, VkDeviceMemory memory) {
  if (!is_imported(memory)) memory_unmapped(t, raw(memory), stored);
}
void before_vkUnmapMemory2(Thread* t, VkDevice device, const VkMemoryUnmapInfo* info) {
  before_vkUnmapMemory(t, device, info->memory);
}

void after_vkCreateBuffer(Thread*, VkDevice, const VkBufferCreateInfo* info, const VkAllocationCallbacks*,
                          VkBuffer* made, VkResult result) {
  constexpr int32_t MORE_USAGE = 1000470006;
  if (result != SUCCESS) return;
  reach::made(raw(*made), reach::BUFFER, info->size, in_chain(info->pNext, MORE_USAGE) ? 0 : info->usage);
}
void after_vkCreateImage(Thread*, VkDevice, const VkImageCreateInfo* info, const VkAllocationCallbacks*, VkImage* made,
                         VkResult result) {
  if (result == SUCCESS) reach::made(raw(*made), info->tiling ? reach::LINEAR_IMAGE : reach::OPAQUE_IMAGE, 0, 0);
}
void before_vkDestroyBuffer(Thread*, VkDevice, VkBuffer buffer, const VkAllocationCallbacks*) {
  reach::gone(raw(buffer), next_submission() - 1);
}
void before_vkDestroyImage(Thread* t, VkDevice, VkImage image, const VkAllocationCallbacks*) {
  if (reach::is_image(raw(image), &ending.memory, &ending.from, &ending.end))
    look_at_memory(t, stored, where_the_image_ends);
  ending.memory = 0;
  reach::gone(raw(image), next_submission() - 1);
}
void after_vkGetImageMemoryRequirements(Thread*, VkDevice, VkImage image, VkMemoryRequirements* needs) {
  reach::has_bytes(raw(image), needs->size);
}
void after_vkGetImageMemoryRequirements2(Thread*, VkDevice, const VkImageMemoryRequirementsInfo2* info,
                                         VkMemoryRequirements2* needs) {
  reach::has_bytes(raw(info->image), info->pNext ? 0 : needs->memoryRequirements.size);  // of a plane
}
void before_vkBindBufferMemory(Thread*, VkDevice, VkBuffer buffer, VkDeviceMemory memory, VkDeviceSize offset) {
  reach::bound(raw(buffer), raw(memory), offset, next_submission());
}
void before_vkBindBufferMemory2(Thread*, VkDevice, uint32_t count, const VkBindBufferMemoryInfo* infos) {
  for (uint32_t i = 0; i < count; i++)
    reach::bound(raw(infos[i].buffer), raw(infos[i].memory), infos[i].memoryOffset, next_submission());
}
void before_vkBindImageMemory(Thread*, VkDevice, VkImage image, VkDeviceMemory memory, VkDeviceSize offset) {
  reach::bound(raw(image), raw(memory), offset, next_submission());
}
void before_vkBindImageMemory2(Thread*, VkDevice, uint32_t count, const VkBindImageMemoryInfo* infos) {
  for (uint32_t i = 0; i < count; i++)
    reach::bound(raw(infos[i].image), raw(infos[i].memory), infos[i].memoryOffset, next_submission());
}

// The places of these resources are not followed.
template <typename Info> static void are_bound(const Info* infos, uint32_t count) {
  for (uint32_t i = 0; has(infos, count) && i < count; i++) learn(raw(infos[i].memory), BINDS_SEEN, 0);
}
void before_vkBindAccelerationStructureMemoryNV(Thread*, VkDevice, uint32_t count,
                                                const VkBindAccelerationStructureMemoryInfoNV* infos) {
  are_bound(infos, count);
}
void before_vkBindDataGraphPipelineSessionMemoryARM(Thread*, VkDevice, uint32_t count,
                                                    const VkBindDataGraphPipelineSessionMemoryInfoARM* infos) {
  are_bound(infos, count);
}
void before_vkBindTensorMemoryARM(Thread*, VkDevice, uint32_t count, const VkBindTensorMemoryInfoARM* infos) {
  are_bound(infos, count);
}
void before_vkBindVideoSessionMemoryKHR(Thread*, VkDevice, VkVideoSessionKHR, uint32_t count,
                                        const VkBindVideoSessionMemoryInfoKHR* infos) {
  are_bound(infos, count);
}

void after_vkGetDeviceQueue(Thread*, VkDevice device, uint32_t, uint32_t, VkQueue* queue) {
  if (Queue* of = *queue ? queue_of(raw(*queue)) : nullptr)
    __atomic_store_n(&of->device, raw(device), __ATOMIC_RELEASE);
}
void after_vkGetDeviceQueue2(Thread* t, VkDevice device, const VkDeviceQueueInfo2*, VkQueue* queue) {
  after_vkGetDeviceQueue(t, device, 0, 0, queue);
}
void before_vkQueueSubmit(Thread* t, VkQueue handle, uint32_t count, const VkSubmitInfo* infos, VkFence fence) {
  constexpr int32_t TIMELINE = 1000207003;
  uint64_t number;
  const Queue* queue = submit(t, handle, fence, &number);
  for (uint32_t i = 0; has(infos, count) && i < count; i++) {
    const VkSubmitInfo& each = infos[i];
    for (uint32_t k = 0; has(each.pCommandBuffers, each.commandBufferCount) && k < each.commandBufferCount; k++)
      reach::is_submitted(raw(each.pCommandBuffers[k]));
    if (!queue || !each.signalSemaphoreCount) continue;
    const auto* values = (const VkTimelineSemaphoreSubmitInfo*)in_chain(each.pNext, TIMELINE);
    if (!values || !has(values, 1) || !has(each.pSignalSemaphores, each.signalSemaphoreCount) ||
        !has(values->pSignalSemaphoreValues, values->signalSemaphoreValueCount))
      continue;
    for (uint32_t k = 0; k < each.signalSemaphoreCount && k < values->signalSemaphoreValueCount; k++)
      will_signal(queue, number, each.pSignalSemaphores[k], values->pSignalSemaphoreValues[k]);
  }
}
void before_vkQueueSubmit2(Thread* t, VkQueue handle, uint32_t count, const VkSubmitInfo2* infos, VkFence fence) {
  uint64_t number;
  const Queue* queue = submit(t, handle, fence, &number);
  for (uint32_t i = 0; has(infos, count) && i < count; i++) {
    const VkCommandBufferSubmitInfo* const buffers = infos[i].pCommandBufferInfos;
    for (uint32_t k = 0; has(buffers, infos[i].commandBufferInfoCount) && k < infos[i].commandBufferInfoCount; k++)
      reach::is_submitted(raw(buffers[k].commandBuffer));
    for (uint32_t k = 0; queue && has(infos[i].pSignalSemaphoreInfos, infos[i].signalSemaphoreInfoCount) &&
                         k < infos[i].signalSemaphoreInfoCount;
         k++) {
      const VkSemaphoreSubmitInfo& signal = infos[i].pSignalSemaphoreInfos[k];
      will_signal(queue, number, signal.semaphore, signal.value);
    }
  }
}
// A submission that failed may be made again.
void after_vkQueueSubmit(Thread*, VkQueue, uint32_t, const VkSubmitInfo*, VkFence, VkResult result) {
  if (result != SUCCESS) reach::all_are_named();
}
void after_vkQueueSubmit2(Thread*, VkQueue, uint32_t, const VkSubmitInfo2*, VkFence, VkResult result) {
  if (result != SUCCESS) reach::all_are_named();
}
void before_vkQueueBindSparse(Thread* t, VkQueue queue, uint32_t count, const VkBindSparseInfo* infos, VkFence fence) {
  uint64_t number;
  submit(t, queue, fence, &number);
  for (uint32_t i = 0; has(infos, count) && i < count; i++) {
    const VkBindSparseInfo& each = infos[i];
    if (!are_readable(each.pBufferBinds, each.bufferBindCount) ||
        !are_readable(each.pImageOpaqueBinds, each.imageOpaqueBindCount) ||
        !are_readable(each.pImageBinds, each.imageBindCount))
      continue;
    for (uint32_t k = 0; k < each.bufferBindCount; k++)
      for (uint32_t b = 0; b < each.pBufferBinds[k].bindCount; b++) {
        const VkSparseMemoryBind& part = each.pBufferBinds[k].pBinds[b];
        reach::bound_part(0, raw(part.memory), part.memoryOffset, part.size, number);
      }
    for (uint32_t k = 0; k < each.imageOpaqueBindCount; k++)
      for (uint32_t b = 0; b < each.pImageOpaqueBinds[k].bindCount; b++) {
        const VkSparseMemoryBind& part = each.pImageOpaqueBinds[k].pBinds[b];
        reach::bound_part(0, raw(part.memory), part.memoryOffset, part.size, number);
      }
    for (uint32_t k = 0; k < each.imageBindCount; k++)  // parts in blocks: how many bytes is not said here
      for (uint32_t b = 0; b < each.pImageBinds[k].bindCount; b++) {
        const VkSparseImageMemoryBind& part = each.pImageBinds[k].pBinds[b];
        reach::bound_part(0, raw(part.memory), part.memoryOffset, 0, number);
      }
  }
}

void after_vkWaitForFences(Thread* t, VkDevice, uint32_t count, const VkFence* fences, VkBool32 all, uint64_t,
                           VkResult result) {
  if (result != SUCCESS) return;
  if (all || count == 1)
    for (uint32_t i = 0; i < count; i++) fence_done(fences[i]);
  settled(t);
}
void after_vkGetFenceStatus(Thread* t, VkDevice, VkFence fence, VkResult result) {
  if (result != SUCCESS) return;
  fence_done(fence);
  settled(t);
}
void after_vkWaitSemaphores(Thread* t, VkDevice, const VkSemaphoreWaitInfo* info, uint64_t, VkResult result) {
  constexpr VkFlags ANY = 1;
  if (result != SUCCESS) return;
  if (!(info->flags & ANY) || info->semaphoreCount == 1)
    for (uint32_t i = 0; i < info->semaphoreCount; i++) semaphore_has(info->pSemaphores[i], info->pValues[i]);
  settled(t);
}
void after_vkGetSemaphoreCounterValue(Thread* t, VkDevice, VkSemaphore semaphore, uint64_t* value, VkResult result) {
  if (result != SUCCESS) return;
  semaphore_has(semaphore, *value);
  settled(t);
}
void after_vkQueueWaitIdle(Thread* t, VkQueue queue, VkResult result) {
  Queue* of = result == SUCCESS ? queue_of(raw(queue)) : nullptr;
  if (of) is_done(of, __atomic_load_n(&of->submitted, __ATOMIC_ACQUIRE));
  settled(t);
}
void after_vkDeviceWaitIdle(Thread* t, VkDevice device, VkResult result) {
  for (Queue& each : queues)
    if (result == SUCCESS && __atomic_load_n(&each.device, __ATOMIC_ACQUIRE) == raw(device))
      is_done(&each, __atomic_load_n(&each.submitted, __ATOMIC_ACQUIRE));
  settled(t);
}

}  // namespace hook
}  // namespace dt
