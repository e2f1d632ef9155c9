// The tap as a layer of the Vulkan loader, for programs that drop LD_PRELOAD.
//
// The loader opens this library by a manifest and asks it for its two look-ups. Each answer there is the next layer's
// or the driver's function behind an entry of ours, like an answer of a preloaded tap to a program. Chains of the
// creations of instances and devices lead to the next one.
#include <string.h>

#include "module_vk.h"
#include "tap.h"

namespace dt {
int find_function(const char* name);

namespace {

using Function = void (*)();
using InstanceLookup = Function (*)(VkInstance instance, const char* name);
using DeviceLookup = Function (*)(VkDevice device, const char* name);
constexpr VkResult OK = 0, INITIALIZATION_FAILED = -3;

// The loader's entries in chains (vk_layer.h of its headers).
struct Link {
  Link* next;
  InstanceLookup instance;
  void* other;  // of a device: its look-up
};
struct LinkInfo {
  int32_t stype;
  const LinkInfo* next;
  int32_t function;  // 0: `link` is one
  Link* link;
};
constexpr int32_t OF_INSTANCE = 47, OF_DEVICE = 48;

// Takes this layer's link out of a chain.
Link* take_link(const void* chain, int32_t stype) {
  for (const LinkInfo* at = (const LinkInfo*)chain; at; at = at->next) {
    if (at->stype != stype || at->function != 0 || !at->link) continue;
    Link* own = at->link;
    const_cast<LinkInfo*>(at)->link = own->next;
    return own;
  }
  return nullptr;
}

// Handles of an instance, or of a device, begin with the same address: the loader's table for it. A table may come
// again for another one: the newest counts.
struct Next {
  void *table, *handle, *look_up;
};
constexpr unsigned MOST = 256;
Next g_next[MOST];

void* table_of(void* handle) { return *(void**)handle; }

const Next* next_of(void* handle) {
  for (const Next& each : g_next)
    if (__atomic_load_n(&each.table, __ATOMIC_ACQUIRE) == table_of(handle)) return &each;
  return nullptr;
}

void remember(void* handle, void* look_up) {
  void* const table = table_of(handle);
  for (Next& each : g_next) {
    void* held = __atomic_load_n(&each.table, __ATOMIC_ACQUIRE);
    if (held && held != table) continue;
    __atomic_store_n(&each.handle, handle, __ATOMIC_RELAXED);
    __atomic_store_n(&each.look_up, look_up, __ATOMIC_RELAXED);
    if (held || __atomic_compare_exchange_n(&each.table, &held, table, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      return;
  }
}

VkResult create_instance(const VkInstanceCreateInfo* info, const VkAllocationCallbacks* allocator, VkInstance* made) {
  const Link* own = take_link(info->pNext, OF_INSTANCE);
  using Create = VkResult (*)(const VkInstanceCreateInfo*, const VkAllocationCallbacks*, VkInstance*);
  const Create create = own ? (Create)own->instance(nullptr, "vkCreateInstance") : nullptr;
  if (!create) return INITIALIZATION_FAILED;
  const VkResult result = create(info, allocator, made);
  if (result == OK) remember(*made, (void*)own->instance);
  return result;
}

VkResult create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                       const VkAllocationCallbacks* allocator, VkDevice* made) {
  const Link* own = take_link(info->pNext, OF_DEVICE);
  const Next* of = next_of(physical);
  using Create = VkResult (*)(VkPhysicalDevice, const VkDeviceCreateInfo*, const VkAllocationCallbacks*, VkDevice*);
  const Create create = own ? (Create)own->instance(of ? (VkInstance)of->handle : nullptr, "vkCreateDevice") : nullptr;
  if (!create) return INITIALIZATION_FAILED;
  const VkResult result = create(physical, info, allocator, made);
  if (result == OK) remember(*made, own->other);
  return result;
}

Function entry(const char* name, Function real) {
  const int id = real ? find_function(name) : -1;
  return id < 0 ? real : (Function)entry_for_own((unsigned)id, (void*)real);
}

Function of_device(VkDevice device, const char* name) {
  if (!strcmp(name, "vkGetDeviceProcAddr")) return (Function)of_device;
  const Next* next = device ? next_of(device) : nullptr;
  return next ? entry(name, ((DeviceLookup)next->look_up)(device, name)) : nullptr;
}

Function of_instance(VkInstance instance, const char* name) {
  if (!strcmp(name, "vkGetInstanceProcAddr")) return (Function)of_instance;
  if (!strcmp(name, "vkGetDeviceProcAddr")) return (Function)of_device;
  if (!strcmp(name, "vkCreateInstance")) return entry(name, (Function)create_instance);
  if (!strcmp(name, "vkCreateDevice")) return entry(name, (Function)create_device);
  const Next* next = instance ? next_of(instance) : nullptr;
  return next ? entry(name, ((InstanceLookup)next->look_up)(instance, name)) : nullptr;
}

struct Negotiation {
  int32_t stype;
  void* next;
  uint32_t version;
  InstanceLookup instance;
  DeviceLookup device;
  void* physical_device;
};

}  // namespace
}  // namespace dt

DT_EXPORT int32_t vkNegotiateLoaderLayerInterfaceVersion(dt::Negotiation* with) {
  constexpr int32_t LAYER_INTERFACE = 1;
  constexpr uint32_t VERSION = 2;
  if (!with || with->stype != LAYER_INTERFACE || with->version < VERSION) return dt::INITIALIZATION_FAILED;
  with->version = VERSION;
  with->instance = dt::of_instance;
  with->device = dt::of_device;
  with->physical_device = nullptr;
  return dt::OK;
}
