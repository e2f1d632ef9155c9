/* What the program that was recorded got from its machine: devices, memory that is mapped, windows. */
#define _POSIX_C_SOURCE 200809L
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "calls.h"

void play_load_functions(VkInstance instance);

uint64_t play_scratch[1 << 17];
unsigned play_compared, play_different;

enum { MOST_DEVICES = 16, MOST_IMAGES = 64 };
static const char* g_recorded_on = "another device";

static void fail(const char* what) {
  fprintf(stderr, "frame %d: %s\n", play_current, what);
  exit(1);
}

void play_failed(VkResult result, const char* file, int line) {
  fprintf(stderr, "%s:%d (frame %d): the result is %d\n", file, line, play_current, result);
  if (result == VK_ERROR_EXTENSION_NOT_PRESENT || result == VK_ERROR_FEATURE_NOT_PRESENT ||
      result == VK_ERROR_INCOMPATIBLE_DRIVER)
    fprintf(stderr, "The calls were recorded on %s, and need a device like it: same extensions, same features.\n",
            g_recorded_on);
  exit(1);
}

static void* room(size_t bytes) {
  void* at = calloc(1, bytes);
  if (!at) fail("there is no memory");
  return at;
}

/* ---- instances and devices ----------------------------------------------------------------------------------- */

typedef struct device {
  VkDevice device;
  VkPhysicalDeviceMemoryProperties memory;
  uint32_t types[32], type_count; /* by the recorded number */
  VkQueue queue;
  uint32_t family;
} device;
static device g_devices[MOST_DEVICES];
static VkInstance g_instance;
static uint32_t g_memory_types;
static uint32_t g_memory_flags[32];

VkResult play_create_instance(const VkInstanceCreateInfo* info, const VkAllocationCallbacks* allocator,
                              VkInstance* instance) {
  PFN_vkCreateInstance create = (PFN_vkCreateInstance)vkGetInstanceProcAddr(NULL, "vkCreateInstance");
  if (!create) fail("the loader of Vulkan has no vkCreateInstance");
  VkResult result = create(info, allocator, instance);
  if (result < 0) return result;
  g_instance = *instance;
  play_load_functions(*instance);
  return result;
}

VkPhysicalDevice play_physical_device(VkInstance instance, uint32_t number) {
  VkPhysicalDevice found[64];
  uint32_t count = 64;
  if (vkEnumeratePhysicalDevices(instance, &count, found) < 0 || !count) fail("there is no device for Vulkan here");
  return found[number < count ? number : count - 1];
}

VkPhysicalDevice play_choose_device(VkPhysicalDevice otherwise, const char* name, int type, uint32_t memory_types,
                                    const uint32_t* memory_flags) {
  VkPhysicalDevice found[64], best = otherwise;
  const char* wanted = getenv("PLAY_DEVICE");
  uint32_t count = 64;
  int most = -1;
  if (vkEnumeratePhysicalDevices(g_instance, &count, found) < 0) fail("the devices are not known");
  for (uint32_t i = 0; i < count; i++) {
    VkPhysicalDeviceProperties now;
    vkGetPhysicalDeviceProperties(found[i], &now);
    int fits = (wanted && strstr(now.deviceName, wanted) ? 8 : 0) + (strcmp(now.deviceName, name) ? 0 : 4) +
               ((int)now.deviceType == type ? 2 : 0) + (found[i] == otherwise);
    if (fits > most) most = fits, best = found[i];
  }
  if (wanted && *wanted && most < 8) fail("there is no device with the name that $PLAY_DEVICE has");
  if (*name) g_recorded_on = name;
  g_memory_types = memory_types;
  if (memory_types) memcpy(g_memory_flags, memory_flags, memory_types * sizeof *memory_flags);
  return best;
}

static uint32_t memory_type(const device* of, uint32_t bits, uint32_t wanted) {
  for (int pass = 0; pass < 2; pass++)
    for (uint32_t i = 0; i < of->memory.memoryTypeCount; i++)
      if (bits >> i & 1 && (pass || (of->memory.memoryTypes[i].propertyFlags & wanted) == wanted)) return i;
  fail("the device has no memory of a fitting type");
  return 0;
}

static device* device_of(VkDevice handle) {
  for (int i = 0; i < MOST_DEVICES; i++)
    if (g_devices[i].device == handle) return &g_devices[i];
  fail("a device is used that was not made");
  return NULL;
}

VkResult play_create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                            const VkAllocationCallbacks* allocator, VkDevice* handle) {
  VkResult result = vkCreateDevice(physical, info, allocator, handle);
  if (result < 0) return result;
  device* made = device_of(VK_NULL_HANDLE); /* a free place */
  memset(made, 0, sizeof *made);
  made->device = *handle;
  vkGetPhysicalDeviceMemoryProperties(physical, &made->memory);
  made->type_count = g_memory_types ? g_memory_types : made->memory.memoryTypeCount;
  for (uint32_t i = 0; i < made->type_count; i++) {
    int same = !g_memory_types ||
               (i < made->memory.memoryTypeCount && made->memory.memoryTypes[i].propertyFlags == g_memory_flags[i]);
    made->types[i] = same ? i : memory_type(made, ~0u, g_memory_flags[i]);
  }
  made->family = info->pQueueCreateInfos[0].queueFamilyIndex;
  if (!info->pQueueCreateInfos[0].flags) vkGetDeviceQueue(*handle, made->family, 0, &made->queue);
  return result;
}

/* ---- memory -------------------------------------------------------------------------------------------------- */

typedef struct memory {
  struct memory* next;
  VkDeviceMemory handle;
  device* of;
  VkDeviceSize bytes;
  uint32_t type;
  unsigned char* at; /* all of it, from the first time on that it is needed */
} memory;
enum { BUCKETS = 1024 };
static memory* g_memory[BUCKETS];

static memory** place_of(VkDeviceMemory handle) {
  uint64_t bits = 0;
  memcpy(&bits, &handle, sizeof handle);
  memory** place = &g_memory[(bits >> 4 ^ bits >> 14) % BUCKETS];
  while (*place && (*place)->handle != handle) place = &(*place)->next;
  return place;
}

VkResult play_allocate_memory(VkDevice handle, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks* allocator,
                              VkDeviceMemory* made) {
  device* of = device_of(handle);
  VkMemoryAllocateInfo own = *info;
  if (own.memoryTypeIndex >= of->type_count) fail("there is no such type of memory");
  own.memoryTypeIndex = of->types[own.memoryTypeIndex];
  /* Memory for one image or buffer alone is as large as this driver wants it. */
  for (const VkBaseInStructure* link = own.pNext; link; link = link->pNext) {
    const VkMemoryDedicatedAllocateInfo* alone = (const void*)link;
    VkMemoryRequirements needs = {0};
    if (link->sType != VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO) continue;
    if (alone->image) vkGetImageMemoryRequirements(handle, alone->image, &needs);
    if (alone->buffer) vkGetBufferMemoryRequirements(handle, alone->buffer, &needs);
    if (own.allocationSize < needs.size) own.allocationSize = needs.size;
  }
  VkResult result = vkAllocateMemory(handle, &own, allocator, made);
  if (result < 0) return result;
  memory* kept = room(sizeof *kept);
  kept->handle = *made, kept->of = of, kept->bytes = own.allocationSize, kept->type = own.memoryTypeIndex;
  *place_of(*made) = kept;
  return result;
}

void play_free_memory(VkDevice handle, VkDeviceMemory of, const VkAllocationCallbacks* allocator) {
  memory **place = place_of(of), *gone = *place;
  if (gone) *place = gone->next;
  free(gone);
  vkFreeMemory(handle, of, allocator);
}

static void fits(const char* what, VkMemoryRequirements needs, VkDeviceMemory handle, VkDeviceSize offset) {
  const memory* m = *place_of(handle);
  if (m && offset <= m->bytes && needs.size <= m->bytes - offset && offset % needs.alignment == 0 &&
      needs.memoryTypeBits >> m->type & 1)
    return;
  fprintf(stderr,
          "frame %d: %s needs more or other memory on this driver than on %s: the calls need a device like it\n",
          play_current, what, g_recorded_on);
  exit(1);
}

void play_fits_buffer(VkDevice handle, VkBuffer buffer, VkDeviceMemory of, VkDeviceSize offset) {
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(handle, buffer, &needs);
  fits("a buffer", needs, of, offset);
}

void play_fits_image(VkDevice handle, VkImage image, VkDeviceMemory of, VkDeviceSize offset) {
  VkMemoryRequirements needs;
  vkGetImageMemoryRequirements(handle, image, &needs);
  fits("an image", needs, of, offset);
}

static memory* mapped(VkDeviceMemory handle) {
  memory* m = *place_of(handle);
  void* at = NULL;
  if (!m) fail("memory is used that was not allocated");
  if (m->at) return m;
  if (!(m->of->memory.memoryTypes[m->type].propertyFlags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) ||
      vkMapMemory(m->of->device, handle, 0, VK_WHOLE_SIZE, 0, &at) < 0)
    fail("memory that the program mapped cannot be mapped here");
  m->at = at;
  return m;
}

void play_write(VkDeviceMemory handle, VkDeviceSize offset, const void* bytes, size_t size) {
  memory* m = mapped(handle);
  memcpy(m->at + offset, bytes, size);
  if (m->of->memory.memoryTypes[m->type].propertyFlags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT) return;
  VkMappedMemoryRange range = {.sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE, .memory = handle, .size = VK_WHOLE_SIZE};
  vkFlushMappedMemoryRanges(m->of->device, 1, &range);
}

void play_check_memory(VkDeviceMemory handle, VkDeviceSize offset, const void* bytes, size_t size, int sure) {
  memory* m = mapped(handle);
  vkDeviceWaitIdle(m->of->device);
  int differs = memcmp(m->at + offset, bytes, size) != 0;
  if (differs && !sure) return;
  play_compared++;
  if (!differs) return;
  play_different++;
  fprintf(stderr, "frame %d: read-back %u (%zu bytes of mapped memory from %llu on) differs from the recording\n",
          play_current, play_compared, size, (unsigned long long)offset);
}

void play_check_queries(VkDevice handle, VkQueryPool pool, uint32_t first, uint32_t count, VkDeviceSize stride,
                        VkQueryResultFlags flags, const void* bytes, size_t size) {
  void* now = room(size + 1);
  play_compared++;
  if (vkGetQueryPoolResults(handle, pool, first, count, size, now, stride, flags) < 0 || memcmp(now, bytes, size)) {
    play_different++;
    fprintf(stderr, "frame %d: read-back %u (answers to queries) differs from the recording\n", play_current,
            play_compared);
  }
  free(now);
}

void play_wait_event(VkDevice handle, VkEvent event) {
  VkResult now = vkGetEventStatus(handle, event);
  while (now == VK_EVENT_RESET) {
    sched_yield();
    now = vkGetEventStatus(handle, event);
  }
  if (now < 0) fail("the device is lost");
}

VkResult play_wait_value(VkDevice handle, VkSemaphore semaphore, uint64_t value, uint64_t most_ns) {
  PFN_vkGetDeviceProcAddr get = (PFN_vkGetDeviceProcAddr)vkGetInstanceProcAddr(g_instance, "vkGetDeviceProcAddr");
  PFN_vkWaitSemaphores wait = (PFN_vkWaitSemaphores)get(handle, "vkWaitSemaphores");
  if (!wait) wait = (PFN_vkWaitSemaphores)get(handle, "vkWaitSemaphoresKHR");
  if (!wait) return VK_ERROR_EXTENSION_NOT_PRESENT;
  VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                              .semaphoreCount = 1,
                              .pSemaphores = &semaphore,
                              .pValues = &value};
  return wait(handle, &info, most_ns);
}

/* ---- windows ------------------------------------------------------------------------------------------------- */

typedef struct swapchain {
  device* of;
  VkSwapchainCreateInfoKHR info;
  VkImage images[MOST_IMAGES];
  VkDeviceMemory memory[MOST_IMAGES];
  uint32_t count;
} swapchain;
static swapchain* g_shown; /* presented last */
static uint32_t g_shown_index;
static VkQueue g_shown_on;

static swapchain* swapchain_of(VkSwapchainKHR handle) {
  swapchain* chain = NULL;
  memcpy(&chain, &handle, sizeof chain);
  return chain;
}

VkResult play_create_swapchain(VkDevice handle, const VkSwapchainCreateInfoKHR* info,
                               const VkAllocationCallbacks* allocator, VkSwapchainKHR* made) {
  swapchain* chain = room(sizeof *chain);
  (void)allocator;
  chain->of = device_of(handle);
  chain->info = *info;
  memcpy(made, &chain, sizeof chain);
  return VK_SUCCESS;
}

static void make_image(swapchain* chain) {
  VkDevice handle = chain->of->device;
  VkImageCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
      .flags = chain->info.flags & VK_SWAPCHAIN_CREATE_MUTABLE_FORMAT_BIT_KHR ? VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT : 0,
      .imageType = VK_IMAGE_TYPE_2D,
      .format = chain->info.imageFormat,
      .extent = {chain->info.imageExtent.width, chain->info.imageExtent.height, 1},
      .mipLevels = 1,
      .arrayLayers = chain->info.imageArrayLayers,
      .samples = VK_SAMPLE_COUNT_1_BIT,
      .usage = chain->info.imageUsage | VK_IMAGE_USAGE_TRANSFER_SRC_BIT};
  VkMemoryRequirements needs;
  VK(vkCreateImage(handle, &info, NULL, &chain->images[chain->count]));
  vkGetImageMemoryRequirements(handle, chain->images[chain->count], &needs);
  VkMemoryAllocateInfo space = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
      .allocationSize = needs.size,
      .memoryTypeIndex = memory_type(chain->of, needs.memoryTypeBits, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)};
  VK(vkAllocateMemory(handle, &space, NULL, &chain->memory[chain->count]));
  VK(vkBindImageMemory(handle, chain->images[chain->count], chain->memory[chain->count], 0));
  chain->count++;
}

VkImage play_swapchain_image(VkSwapchainKHR handle, uint32_t number) {
  swapchain* chain = swapchain_of(handle);
  if (number >= MOST_IMAGES) fail("a swapchain has too many images");
  while (chain->count <= number) make_image(chain);
  return chain->images[number];
}

void play_destroy_swapchain(VkDevice handle, VkSwapchainKHR which, const VkAllocationCallbacks* allocator) {
  swapchain* chain = swapchain_of(which);
  (void)allocator;
  vkDeviceWaitIdle(handle);
  for (uint32_t i = 0; i < chain->count; i++) {
    vkDestroyImage(handle, chain->images[i], NULL);
    vkFreeMemory(handle, chain->memory[i], NULL);
  }
  if (g_shown == chain) g_shown = NULL;
  free(chain);
}

/* An empty batch: waits for semaphores, then signals what others wait for. */
static void hand_on(VkQueue queue, uint32_t waits, const VkSemaphore* wait, VkSemaphore signal, VkFence fence) {
  VkPipelineStageFlags* stages = room((waits + 1) * sizeof *stages);
  for (uint32_t i = 0; i < waits; i++) stages[i] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  VkSubmitInfo batch = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                        .waitSemaphoreCount = waits,
                        .pWaitSemaphores = wait,
                        .pWaitDstStageMask = stages,
                        .signalSemaphoreCount = signal ? 1 : 0,
                        .pSignalSemaphores = &signal};
  VK(vkQueueSubmit(queue, 1, &batch, fence));
  free(stages);
}

void play_acquire(VkDevice handle, VkSemaphore semaphore, VkFence fence) {
  device* of = device_of(handle);
  if (!of->queue) fail("a device that has protected queues alone cannot show images");
  if (semaphore || fence) hand_on(of->queue, 0, NULL, semaphore, fence);
}

VkResult play_present(VkQueue queue, const VkPresentInfoKHR* info) {
  hand_on(queue, info->waitSemaphoreCount, info->pWaitSemaphores, VK_NULL_HANDLE, VK_NULL_HANDLE);
#ifdef VK_EXT_swapchain_maintenance1
  for (const VkBaseInStructure* link = info->pNext; link; link = link->pNext) {
    const VkSwapchainPresentFenceInfoEXT* fences = (const void*)link;
    for (uint32_t i = 0;
         link->sType == VK_STRUCTURE_TYPE_SWAPCHAIN_PRESENT_FENCE_INFO_EXT && i < fences->swapchainCount; i++)
      if (fences->pFences[i]) hand_on(queue, 0, NULL, VK_NULL_HANDLE, fences->pFences[i]);
  }
#endif
  if (!info->swapchainCount) return VK_SUCCESS;
  g_shown = swapchain_of(info->pSwapchains[0]); /* the first window is the picture of the frame */
  g_shown_index = info->pImageIndices[0];
  g_shown_on = queue;
  return VK_SUCCESS;
}

void play_destroy_device(VkDevice handle, const VkAllocationCallbacks* allocator) {
  device* gone = device_of(handle);
  vkDeviceWaitIdle(handle);
  if (g_shown && g_shown->of == gone) g_shown = NULL;
  for (int i = 0; i < BUCKETS; i++)
    for (memory** place = &g_memory[i]; *place;) {
      memory* m = *place;
      if (m->of != gone) {
        place = &m->next;
        continue;
      }
      *place = m->next;
      free(m);
    }
  vkDestroyDevice(handle, allocator);
  gone->device = VK_NULL_HANDLE;
}

/* Copies an image as it is shown into a buffer, and waits for that. */
static void copy_image(device* of, VkQueue queue, VkImage image, VkExtent2D size, unsigned char* to) {
  VkDevice handle = of->device;
  VkCommandPool pool;
  VkCommandBuffer commands;
  VkBuffer buffer;
  VkDeviceMemory space;
  VkMemoryRequirements needs;
  void* at;
  size_t bytes = (size_t)size.width * size.height * 4;
  VK(vkCreateCommandPool(
      handle,
      &(VkCommandPoolCreateInfo){.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, .queueFamilyIndex = of->family},
      NULL, &pool));
  VK(vkAllocateCommandBuffers(
      handle,
      &(VkCommandBufferAllocateInfo){
          .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool, .commandBufferCount = 1},
      &commands));
  VK(vkCreateBuffer(
      handle,
      &(VkBufferCreateInfo){
          .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = bytes, .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT},
      NULL, &buffer));
  vkGetBufferMemoryRequirements(handle, buffer, &needs);
  VK(vkAllocateMemory(handle,
                      &(VkMemoryAllocateInfo){.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                              .allocationSize = needs.size,
                                              .memoryTypeIndex = memory_type(of, needs.memoryTypeBits,
                                                                             VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                                                                 VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)},
                      NULL, &space));
  VK(vkBindBufferMemory(handle, buffer, space, 0));
  VK(vkMapMemory(handle, space, 0, VK_WHOLE_SIZE, 0, &at));
  VK(vkQueueWaitIdle(queue));
  VK(vkBeginCommandBuffer(commands, &(VkCommandBufferBeginInfo){.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO}));
  VkImageMemoryBarrier turn = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                               .srcAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
                               .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
                               .oldLayout = VK_IMAGE_LAYOUT_PRESENT_SRC_KHR,
                               .newLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                               .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                               .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                               .image = image,
                               .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
  vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0,
                       NULL, 1, &turn);
  VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                              .imageExtent = {size.width, size.height, 1}};
  vkCmdCopyImageToBuffer(commands, image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, buffer, 1, &region);
  turn.oldLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, turn.newLayout = VK_IMAGE_LAYOUT_PRESENT_SRC_KHR;
  vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0,
                       NULL, 1, &turn);
  VK(vkEndCommandBuffer(commands));
  VK(vkQueueSubmit(
      queue, 1,
      &(VkSubmitInfo){.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands},
      VK_NULL_HANDLE));
  VK(vkQueueWaitIdle(queue));
  memcpy(to, at, bytes);
  vkDestroyCommandPool(handle, pool, NULL);
  vkDestroyBuffer(handle, buffer, NULL);
  vkFreeMemory(handle, space, NULL);
}

unsigned char* play_shown(uint32_t* width, uint32_t* height) {
  static int told;
  if (!g_shown) return NULL;
  VkFormat format = g_shown->info.imageFormat;
  int blue_first = format == VK_FORMAT_B8G8R8A8_UNORM || format == VK_FORMAT_B8G8R8A8_SRGB;
  if (!blue_first && format != VK_FORMAT_R8G8B8A8_UNORM && format != VK_FORMAT_R8G8B8A8_SRGB &&
      format != VK_FORMAT_A8B8G8R8_UNORM_PACK32 && format != VK_FORMAT_A8B8G8R8_SRGB_PACK32) {
    if (!told++) fprintf(stderr, "windows have the format %d, which no picture is made of here\n", format);
    return NULL;
  }
  VkExtent2D size = g_shown->info.imageExtent;
  size_t row = (size_t)size.width * 4;
  unsigned char *pixels = room(row * size.height + 1), *kept = room(row + 1);
  copy_image(g_shown->of, g_shown_on, g_shown->images[g_shown_index], size, pixels);
  for (uint32_t y = 0; y < size.height / 2; y++) {
    unsigned char *a = pixels + y * row, *b = pixels + (size.height - 1 - y) * row;
    memcpy(kept, a, row), memcpy(a, b, row), memcpy(b, kept, row);
  }
  for (size_t i = 0; blue_first && i < row * size.height; i += 4) {
    unsigned char blue = pixels[i];
    pixels[i] = pixels[i + 2], pixels[i + 2] = blue;
  }
  free(kept);
  *width = size.width, *height = size.height;
  return pixels;
}
