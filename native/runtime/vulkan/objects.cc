// Facts about objects that later calls do not repeat, by handle.
#include <stdlib.h>

#include "facts.h"
#include "losses.h"
#include "module_vk.h"

namespace dt {
namespace {

// Open addressing, without a lock: a key stays where it is once it came, and so does the room of a handle that the
// driver uses again. A fact that finds no room is lost, which whoever asks for it reports.
struct Fact {
  uint64_t key, value;
};
constexpr size_t FACTS = 1u << 16, PROBES = 64;
Fact facts[FACTS];

// Handles of two types may be equal.
uint64_t key_of(uint64_t handle, About kind) { return (handle ^ kind << 60) * 0x9e3779b97f4a7c15ull | 1; }

}  // namespace

void learn(uint64_t handle, About about, uint64_t value) {
  const uint64_t key = key_of(handle, about);
  for (size_t i = 0; i < PROBES; i++) {
    Fact& fact = facts[((key >> 40) + i) % FACTS];
    uint64_t held = __atomic_load_n(&fact.key, __ATOMIC_RELAXED);
    if (!held && value) __atomic_compare_exchange_n(&fact.key, &held, key, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    if (held && held != key) continue;
    if (held || value) __atomic_store_n(&fact.value, value, __ATOMIC_RELEASE);
    return;
  }
}

uint64_t known(uint64_t handle, About about) {
  const uint64_t key = key_of(handle, about);
  for (size_t i = 0; i < PROBES; i++) {
    const Fact& fact = facts[((key >> 40) + i) % FACTS];
    const uint64_t held = __atomic_load_n(&fact.key, __ATOMIC_RELAXED);
    if (held == key) return __atomic_load_n(&fact.value, __ATOMIC_ACQUIRE);
    if (!held) return 0;
  }
  return 0;
}

namespace {

uint64_t bytes_of_descriptor(VkDescriptorType type) {
  switch (dt::table::descriptor_content(type)) {
    case 1: return sizeof(VkDescriptorImageInfo);
    case 2: return sizeof(VkDescriptorBufferInfo);
    default: return sizeof(VkBufferView);  // a view, or an acceleration structure
  }
}

// The pieces that an update reads: `count` of `bytes`, `stride` bytes apart. Programs make few templates: their memory
// is not given back.
struct Piece {
  uint64_t offset, stride, bytes, count;
  bool storage;  // of buffers that shaders write to
  bool uniform;
};
struct Template {
  uint64_t bytes, pieces;
  Piece piece[];
};

const Template* template_of(const VkDescriptorUpdateTemplateCreateInfo& info) {
  constexpr VkDescriptorType INLINE_BLOCK = 1000138000, UNIFORM = 6, STORAGE = 7, UNIFORM_DYNAMIC = 8,
                             STORAGE_DYNAMIC = 9;
  const uint32_t n = info.descriptorUpdateEntryCount;
  Template* made = (Template*)malloc(sizeof(Template) + n * sizeof(Piece));
  if (!made) return nullptr;
  made->bytes = 0;
  made->pieces = n;
  for (uint32_t i = 0; i < n; i++) {
    const VkDescriptorUpdateTemplateEntry& entry = info.pDescriptorUpdateEntries[i];
    made->piece[i] = entry.descriptorType == INLINE_BLOCK
                         ? Piece{entry.offset, 0, entry.descriptorCount, 1, false, false}
                         : Piece{entry.offset,
                                 entry.stride,
                                 bytes_of_descriptor(entry.descriptorType),
                                 entry.descriptorCount,
                                 entry.descriptorType == STORAGE || entry.descriptorType == STORAGE_DYNAMIC,
                                 entry.descriptorType == UNIFORM || entry.descriptorType == UNIFORM_DYNAMIC};
    made->bytes += made->piece[i].bytes * made->piece[i].count;
  }
  return made;
}

void copy_pieces(const void* pieces, const void* data, char* to) {
  const Template* of = (const Template*)pieces;
  for (uint64_t i = 0; i < of->pieces; i++) {
    const Piece& piece = of->piece[i];
    for (uint64_t k = 0; k < piece.count; k++, to += piece.bytes)
      tree::copy_words(to, (const char*)data + piece.offset + k * piece.stride, piece.bytes);
  }
}

int64_t lacks(const char* text) {
  emit_loss(&tls, "vulkan-size-unknown", text);
  return 0;
}

}  // namespace

namespace hook {

void unrecorded_vkAllocateCommandBuffers(Thread*, VkDevice, const VkCommandBufferAllocateInfo* info,
                                         VkCommandBuffer* made, VkResult result) {
  if (result != 0) return;
  const bool secondary = info->level != 0;
  for (uint32_t i = 0; i < info->commandBufferCount; i++) learn((uint64_t)(uintptr_t)made[i], SECONDARY, secondary);
}
void unrecorded_vkCreateDescriptorUpdateTemplate(Thread*, VkDevice, const VkDescriptorUpdateTemplateCreateInfo* info,
                                                 const VkAllocationCallbacks*, VkDescriptorUpdateTemplate* made,
                                                 VkResult result) {
  if (result == 0) learn((uint64_t)(uintptr_t)*made, PIECES, (uint64_t)(uintptr_t)template_of(*info));
}

}  // namespace hook

bool each_buffer(uint64_t update, const void* data, void* user,
                 void (*each)(void* user, const BufferPart& part, bool storage)) {
  const Template* of = (const Template*)known(update, PIECES);
  for (uint64_t i = 0; of && data && i < of->pieces; i++) {
    const Piece& piece = of->piece[i];
    for (uint64_t k = 0; (piece.storage || piece.uniform) && k < piece.count; k++) {
      BufferPart part;
      static_assert(sizeof part == sizeof(VkDescriptorBufferInfo));
      memcpy(&part, (const char*)data + piece.offset + k * piece.stride, sizeof part);
      if (part.buffer) each(user, part, piece.storage);
    }
  }
  return of;
}

tree::Gathered tree::gathered(uint64_t update) {
  const Template* of = (const Template*)known(update, PIECES);
  if (!of) lacks("an update with a descriptor template that was made unseen: its descriptors were not recorded");
  return Gathered{of ? of->bytes : 0, of, copy_pieces};
}

namespace size {

int64_t is_secondary(int64_t command_buffer) { return known((uint64_t)command_buffer, SECONDARY) != 0; }

// Properties of a device that the tap does not ask for, so as to call nothing that the program does not.
int64_t capture_bytes(int64_t) { return lacks("data for capture and replay, whose size is a device's: not recorded"); }
int64_t instrumentation_bytes(int64_t) { return lacks("values of shader instrumentation: not recorded"); }
int64_t host_copy_bytes(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t) {
  return lacks("texels that the program copies to or from an image by itself: not recorded");
}
int64_t tensor_bytes(int64_t) { return lacks("constants of a data graph: not recorded"); }

}  // namespace size
}  // namespace dt
