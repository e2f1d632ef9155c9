/* A stand-in for a driver with VK_KHR_performance_query: a layer that adds the extension to any driver. Its counters
 * count what a command buffer records between the beginning and the end of a query, so that their values are known.
 * Their names and descriptions say that they are a stand-in's. What the extension forbids ends the program.
 *
 * $STAND_IN_LACKS names a function for which the device has no memory, from the first command buffer on. Empty
 * submissions alone lack it. */
#include "vk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void* (*GetInstance)(VkInstance, const char*);
typedef void* (*GetDevice)(VkDevice, const char*);
struct Link {
  struct Link* next;
  GetInstance get_instance;
  void* second; /* of an instance: vkGetPhysicalDeviceProcAddr; of a device: vkGetDeviceProcAddr */
};
struct LayerInfo { /* VkLayerInstanceCreateInfo and VkLayerDeviceCreateInfo of the loader's interface */
  VkStructureType sType;
  const void* pNext;
  int function; /* 0: VK_LAYER_LINK_INFO */
  struct Link* link;
};
enum { INSTANCE = 47, DEVICE = 48, COUNTERS = 5, MOST = 64, QUERIES = 1024 };

static GetInstance next_instance;
static GetDevice next_device;
static VkInstance instance;
static int locked;

struct Pool {
  VkQueryPool pool;
  uint32_t count, indices[COUNTERS];
  uint64_t results[QUERIES][COUNTERS];
} pools[MOST];
/* What the command buffer that is recorded has: one at a time is enough. */
static VkCommandBuffer recorded;
static uint64_t commands, vertices, draws;
static int in_pass;
static struct {
  uint64_t vertices, draws;
} begun;

#define FN(name) static __typeof__(&name) p_##name
FN(vkEnumerateDeviceExtensionProperties);
FN(vkGetPhysicalDeviceFeatures2);
FN(vkCreateQueryPool);
FN(vkGetQueryPoolResults);
FN(vkCmdBeginQuery);
FN(vkCmdEndQuery);
FN(vkCmdDraw);
FN(vkBeginCommandBuffer);
FN(vkCmdBeginRenderPass);
FN(vkCmdEndRenderPass);
FN(vkCmdWriteTimestamp);
FN(vkCreateFence);
FN(vkCreateCommandPool);
FN(vkQueueSubmit);

static void require(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "stand-in: %s\n", what);
  exit(9);
}

static struct Pool* pool_of(VkQueryPool pool) {
  for (int i = 0; i < MOST; i++)
    if (pools[i].pool == pool && pool) return &pools[i];
  return 0;
}

static const struct {
  const char* name;
  VkPerformanceCounterUnitKHR unit;
  VkPerformanceCounterScopeKHR scope;
} KNOWN[COUNTERS] = {
    {"stand-in vertices", VK_PERFORMANCE_COUNTER_UNIT_GENERIC_KHR, VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_KHR},
    {"stand-in draws", VK_PERFORMANCE_COUNTER_UNIT_GENERIC_KHR, VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_KHR},
    {"stand-in draws of passes", VK_PERFORMANCE_COUNTER_UNIT_GENERIC_KHR, VK_PERFORMANCE_COUNTER_SCOPE_RENDER_PASS_KHR},
    {"stand-in share", VK_PERFORMANCE_COUNTER_UNIT_PERCENTAGE_KHR, VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_BUFFER_KHR},
    {"stand-in slow", VK_PERFORMANCE_COUNTER_UNIT_GENERIC_KHR, VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_KHR}};

static VkResult list_extensions(VkPhysicalDevice physical, const char* layer, uint32_t* n, VkExtensionProperties* out) {
  __typeof__(&vkEnumerateDeviceExtensionProperties) down = p_vkEnumerateDeviceExtensionProperties;
  uint32_t room = *n, have = 0;
  if (!out) {
    VkResult result = down(physical, layer, n, 0);
    ++*n;
    return result;
  }
  have = room - 1;
  VkResult result = down(physical, layer, &have, out);
  memset(&out[have], 0, sizeof *out);
  strcpy(out[have].extensionName, "VK_KHR_performance_query");
  *n = have + 1;
  return result;
}

static void features2(VkPhysicalDevice physical, VkPhysicalDeviceFeatures2* out) {
  p_vkGetPhysicalDeviceFeatures2(physical, out);
  for (VkPhysicalDevicePerformanceQueryFeaturesKHR* at = out->pNext; at; at = at->pNext)
    if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_FEATURES_KHR)
      at->performanceCounterQueryPools = 1;
}

static VkResult list_counters(VkPhysicalDevice physical, uint32_t family, uint32_t* n, VkPerformanceCounterKHR* out,
                              VkPerformanceCounterDescriptionKHR* words) {
  if (!out) return *n = COUNTERS, VK_SUCCESS;
  for (uint32_t i = 0; i < *n && i < COUNTERS; i++) {
    out[i].unit = KNOWN[i].unit;
    out[i].scope = KNOWN[i].scope;
    out[i].storage = VK_PERFORMANCE_COUNTER_STORAGE_UINT64_KHR;
    memset(out[i].uuid, 0x10 + i, sizeof out[i].uuid);
    strcpy(words[i].name, KNOWN[i].name);
    strcpy(words[i].category, "stand-in");
    strcpy(words[i].description, "a stand-in's count, of no hardware");
  }
  return VK_SUCCESS;
}

/* Two of its counters do not fit together; the last one does not even fit alone. */
static void passes_of(VkPhysicalDevice physical, const VkQueryPoolPerformanceCreateInfoKHR* info, uint32_t* passes) {
  *passes = info->counterIndexCount;
  for (uint32_t i = 0; i < info->counterIndexCount; i++)
    if (info->pCounterIndices[i] == COUNTERS - 1) *passes = 2;
}

static VkResult take_lock(VkDevice device, const VkAcquireProfilingLockInfoKHR* info) {
  require(info->sType == VK_STRUCTURE_TYPE_ACQUIRE_PROFILING_LOCK_INFO_KHR, "the lock's structure is another one");
  return locked = 1, VK_SUCCESS;
}
static void leave_lock(VkDevice device) { locked = 0; }

static VkResult make_pool(VkDevice device, const VkQueryPoolCreateInfo* info, const void* with, VkQueryPool* out) {
  VkQueryPoolCreateInfo plain = *info;
  const VkQueryPoolPerformanceCreateInfoKHR* counted = info->pNext;
  if (info->queryType != VK_QUERY_TYPE_PERFORMANCE_QUERY_KHR) return p_vkCreateQueryPool(device, info, with, out);
  require(counted->sType == VK_STRUCTURE_TYPE_QUERY_POOL_PERFORMANCE_CREATE_INFO_KHR, "a pool without counters");
  require(info->queryCount <= QUERIES, "more queries than this stand-in has");
  plain.pNext = 0;
  plain.queryType = VK_QUERY_TYPE_TIMESTAMP; /* so that the driver resets it */
  VkResult result = p_vkCreateQueryPool(device, &plain, with, out);
  struct Pool* pool = 0;
  for (int i = 0; i < MOST && !pool; i++)
    if (!pools[i].pool) pool = &pools[i];
  require(pool != 0, "more pools than this stand-in has");
  pool->pool = *out;
  pool->count = counted->counterIndexCount;
  memcpy(pool->indices, counted->pCounterIndices, pool->count * sizeof(uint32_t));
  return result;
}

static int lacks(const char* function) {
  const char* given = getenv("STAND_IN_LACKS");
  return recorded && given && !strcmp(given, function);
}
static VkResult make_fence(VkDevice device, const VkFenceCreateInfo* info, const void* with, VkFence* out) {
  if (lacks("vkCreateFence")) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  return p_vkCreateFence(device, info, with, out);
}
static VkResult make_commands(VkDevice device, const VkCommandPoolCreateInfo* info, const void* with,
                              VkCommandPool* out) {
  if (lacks("vkCreateCommandPool")) return VK_ERROR_OUT_OF_HOST_MEMORY;
  return p_vkCreateCommandPool(device, info, with, out);
}
static VkResult submit(VkQueue queue, uint32_t count, const VkSubmitInfo* infos, VkFence fence) {
  if (!count && lacks("vkQueueSubmit")) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  return p_vkQueueSubmit(queue, count, infos, fence);
}

static VkResult begin(VkCommandBuffer to, const VkCommandBufferBeginInfo* info) {
  recorded = to, commands = in_pass = 0;
  return p_vkBeginCommandBuffer(to, info);
}
static void begin_pass(VkCommandBuffer to, const VkRenderPassBeginInfo* info, VkSubpassContents contents) {
  commands++, in_pass = 1;
  p_vkCmdBeginRenderPass(to, info, contents);
}
static void end_pass(VkCommandBuffer to) {
  commands++, in_pass = 0;
  p_vkCmdEndRenderPass(to);
}
static void draw(VkCommandBuffer to, uint32_t count, uint32_t instances, uint32_t first, uint32_t base) {
  commands++, draws++, vertices += count * instances;
  p_vkCmdDraw(to, count, instances, first, base);
}

static void begin_query(VkCommandBuffer to, VkQueryPool pool, uint32_t query, VkQueryControlFlags flags) {
  struct Pool* own = pool_of(pool);
  if (!own) {
    commands++;
    p_vkCmdBeginQuery(to, pool, query, flags);
    return;
  }
  require(locked, "a query without the profiling lock");
  require(to == recorded, "a query in a command buffer that is not the one that is recorded");
  for (uint32_t i = 0; i < own->count; i++) {
    if (KNOWN[own->indices[i]].scope == VK_PERFORMANCE_COUNTER_SCOPE_RENDER_PASS_KHR)
      require(!in_pass, "a counter of render passes begins inside of one");
    if (KNOWN[own->indices[i]].scope == VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_BUFFER_KHR)
      require(!commands, "a counter of command buffers does not begin with its command buffer");
  }
  commands++;
  begun.vertices = vertices, begun.draws = draws;
}

static void end_query(VkCommandBuffer to, VkQueryPool pool, uint32_t query) {
  struct Pool* own = pool_of(pool);
  commands++;
  if (!own) {
    p_vkCmdEndQuery(to, pool, query);
    return;
  }
  const uint64_t counts[COUNTERS] = {vertices - begun.vertices, draws - begun.draws, draws - begun.draws, 50, 0};
  for (uint32_t i = 0; i < own->count; i++) own->results[query][i] = counts[own->indices[i]];
  p_vkCmdWriteTimestamp(to, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pool, query); /* it is there when this ran */
}

static VkResult results(VkDevice device, VkQueryPool pool, uint32_t first, uint32_t n, size_t bytes, void* out,
                        VkDeviceSize stride, VkQueryResultFlags flags) {
  struct Pool* own = pool_of(pool);
  if (!own) return p_vkGetQueryPoolResults(device, pool, first, n, bytes, out, stride, flags);
  require(!(flags & ~VK_QUERY_RESULT_WAIT_BIT), "flags that results of counters do not have");
  require(stride == own->count * 8 && bytes >= n * stride, "results of another size");
  uint64_t there[QUERIES];
  VkResult result = p_vkGetQueryPoolResults(device, pool, first, n, n * 8, there, 8, VK_QUERY_RESULT_64_BIT);
  if (result != VK_SUCCESS) return result;
  for (uint32_t i = 0; i < n; i++) memcpy((char*)out + i * stride, own->results[first + i], stride);
  return VK_SUCCESS;
}

static struct LayerInfo* link_of(const void* chain, int type) {
  struct LayerInfo* at = (struct LayerInfo*)chain;
  while (at && !(at->sType == type && !at->function)) at = (struct LayerInfo*)at->pNext;
  return at;
}

static VkResult make_instance(const VkInstanceCreateInfo* info, const void* with, VkInstance* out) {
  struct LayerInfo* chain = link_of(info->pNext, INSTANCE);
  next_instance = chain->link->get_instance;
  chain->link = chain->link->next;
  __typeof__(&vkCreateInstance) down = next_instance(0, "vkCreateInstance");
  VkResult result = down(info, with, out);
  instance = *out;
  p_vkEnumerateDeviceExtensionProperties = next_instance(instance, "vkEnumerateDeviceExtensionProperties");
  p_vkGetPhysicalDeviceFeatures2 = next_instance(instance, "vkGetPhysicalDeviceFeatures2");
  return result;
}

static VkResult make_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* info, const void* with,
                            VkDevice* out) {
  struct LayerInfo* chain = link_of(info->pNext, DEVICE);
  GetInstance get = chain->link->get_instance;
  next_device = chain->link->second;
  chain->link = chain->link->next;
  VkDeviceCreateInfo less = *info;
  const char* names[256];
  less.ppEnabledExtensionNames = names;
  less.enabledExtensionCount = 0;
  int asked = 0;
  for (uint32_t i = 0; i < info->enabledExtensionCount; i++)
    if (strcmp(info->ppEnabledExtensionNames[i], "VK_KHR_performance_query"))
      names[less.enabledExtensionCount++] = info->ppEnabledExtensionNames[i];
    else
      asked = 1;
  for (VkBaseOutStructure* at = (void*)&less; at; at = at->pNext) { /* which the driver does not know */
    VkPhysicalDevicePerformanceQueryFeaturesKHR* feature = (void*)at->pNext;
    if (!feature || feature->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_FEATURES_KHR) continue;
    require(asked && feature->performanceCounterQueryPools, "the feature without the extension");
    at->pNext = feature->pNext;
  }
  __typeof__(&vkCreateDevice) down = get(instance, "vkCreateDevice");
  VkResult result = down(physical, &less, with, out);
  if (result) return result;
#define LOOK_UP(name) p_##name = next_device(*out, #name)
  LOOK_UP(vkCreateQueryPool);
  LOOK_UP(vkGetQueryPoolResults);
  LOOK_UP(vkCmdBeginQuery);
  LOOK_UP(vkCmdEndQuery);
  LOOK_UP(vkCmdDraw);
  LOOK_UP(vkBeginCommandBuffer);
  LOOK_UP(vkCmdBeginRenderPass);
  LOOK_UP(vkCmdEndRenderPass);
  LOOK_UP(vkCmdWriteTimestamp);
  LOOK_UP(vkCreateFence);
  LOOK_UP(vkCreateCommandPool);
  LOOK_UP(vkQueueSubmit);
  return result;
}

void* vkGetDeviceProcAddr(VkDevice device, const char* name);
void* vkGetInstanceProcAddr(VkInstance of, const char* name);

static const struct {
  const char* name;
  void* function;
} OURS[] = {{"vkGetInstanceProcAddr", vkGetInstanceProcAddr},
            {"vkCreateInstance", make_instance},
            {"vkCreateDevice", make_device},
            {"vkEnumerateDeviceExtensionProperties", list_extensions},
            {"vkGetPhysicalDeviceFeatures2", features2},
            {"vkEnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR", list_counters},
            {"vkGetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR", passes_of},
            {"vkGetDeviceProcAddr", vkGetDeviceProcAddr},
            {"vkAcquireProfilingLockKHR", take_lock},
            {"vkReleaseProfilingLockKHR", leave_lock},
            {"vkCreateQueryPool", make_pool},
            {"vkGetQueryPoolResults", results},
            {"vkCmdBeginQuery", begin_query},
            {"vkCmdEndQuery", end_query},
            {"vkCmdDraw", draw},
            {"vkBeginCommandBuffer", begin},
            {"vkCmdBeginRenderPass", begin_pass},
            {"vkCmdEndRenderPass", end_pass},
            {"vkCreateFence", make_fence},
            {"vkCreateCommandPool", make_commands},
            {"vkQueueSubmit", submit}};

static void* ours(const char* name) {
  for (unsigned i = 0; i < sizeof OURS / sizeof *OURS; i++)
    if (!strcmp(OURS[i].name, name)) return OURS[i].function;
  return 0;
}
void* vkGetDeviceProcAddr(VkDevice device, const char* name) {
  void* own = ours(name);
  return own ? own : next_device(device, name);
}
void* vkGetInstanceProcAddr(VkInstance of, const char* name) {
  void* own = ours(name);
  return own ? own : next_instance ? next_instance(of, name) : 0;
}
