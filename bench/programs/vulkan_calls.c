/* Calls into a command buffer that is never submitted: what is around a call weighs, not the driver.
 *
 * vulkan_calls loops CALLS ROUNDS: prints a line for each loop, thread CPU time of a call, median and least of the
 * rounds.
 * vulkan_calls counted COUNTER: calls until it is killed; COUNTER holds, as a little-endian 64-bit number, how many
 * calls of vkCmdSetDepthBias were complete. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <vulkan/vulkan.h>

#define CHECK(call)                           \
  do {                                        \
    VkResult r_ = (call);                     \
    if (r_ < 0) {                             \
      fprintf(stderr, "%s: %d\n", #call, r_); \
      exit(1);                                \
    }                                         \
  } while (0)

static VkDevice device;
static VkCommandBuffer commands;
static VkPipelineLayout layout;
static VkDescriptorSet set;
static VkBuffer buffer;
static VkFence fence;

static void make_device(void) {
  VkApplicationInfo about = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
  VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &about};
  VkInstance instance;
  CHECK(vkCreateInstance(&info, NULL, &instance));
  uint32_t one = 1;
  VkPhysicalDevice physical;
  CHECK(vkEnumeratePhysicalDevices(instance, &one, &physical));
  float priority = 1;
  VkDeviceQueueCreateInfo queue = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
  VkDeviceCreateInfo of = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue};
  CHECK(vkCreateDevice(physical, &of, NULL, &device));
}

static void make_objects(void) {
  VkBufferCreateInfo bytes = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = 4096, .usage = 0xff};
  CHECK(vkCreateBuffer(device, &bytes, NULL, &buffer));
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(device, buffer, &needs);
  VkMemoryAllocateInfo room = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size};
  VkDeviceMemory memory;
  CHECK(vkAllocateMemory(device, &room, NULL, &memory));
  CHECK(vkBindBufferMemory(device, buffer, memory, 0));
  VkDescriptorSetLayoutBinding binding = {
      .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, .descriptorCount = 1, .stageFlags = VK_SHADER_STAGE_ALL};
  VkDescriptorSetLayoutCreateInfo shape = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 1, .pBindings = &binding};
  VkDescriptorSetLayout sets;
  CHECK(vkCreateDescriptorSetLayout(device, &shape, NULL, &sets));
  VkPushConstantRange range = {VK_SHADER_STAGE_ALL, 0, 64};
  VkPipelineLayoutCreateInfo pipeline = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                         .setLayoutCount = 1,
                                         .pSetLayouts = &sets,
                                         .pushConstantRangeCount = 1,
                                         .pPushConstantRanges = &range};
  CHECK(vkCreatePipelineLayout(device, &pipeline, NULL, &layout));
  VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1};
  VkDescriptorPoolCreateInfo pool = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
  VkDescriptorPool descriptors;
  CHECK(vkCreateDescriptorPool(device, &pool, NULL, &descriptors));
  VkDescriptorSetAllocateInfo from = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                      .descriptorPool = descriptors,
                                      .descriptorSetCount = 1,
                                      .pSetLayouts = &sets};
  CHECK(vkAllocateDescriptorSets(device, &from, &set));
  VkFenceCreateInfo signal = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  CHECK(vkCreateFence(device, &signal, NULL, &fence));
  VkCommandPoolCreateInfo commands_of = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                         .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT};
  VkCommandPool command_pool;
  CHECK(vkCreateCommandPool(device, &commands_of, NULL, &command_pool));
  VkCommandBufferAllocateInfo one = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = command_pool, .commandBufferCount = 1};
  CHECK(vkAllocateCommandBuffers(device, &one, &commands));
}

static void viewport(long i) {
  VkViewport area = {0, 0, (float)(i & 7) + 1, 64, 0, 1};
  vkCmdSetViewport(commands, 0, 1, &area);
}
static void constants(long i) {
  float values[16] = {(float)(i & 15)};
  vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_ALL, 0, sizeof values, values);
}
static void bind_sets(long i) {
  vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, layout, 0, 1, &set, 0, NULL);
}
static void vertex_buffers(long i) {
  VkDeviceSize offset = (i & 7) * 64;
  vkCmdBindVertexBuffers(commands, 0, 1, &buffer, &offset);
}
static void draw(long i) { vkCmdDraw(commands, 3, 1, (uint32_t)(i & 15), 0); }
static void update_sets(long i) {
  VkDescriptorBufferInfo what = {buffer, (i & 7) * 256, 256};
  VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                .dstSet = set,
                                .descriptorCount = 1,
                                .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
                                .pBufferInfo = &what};
  vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
}
static void barrier(long i) {
  VkBufferMemoryBarrier of = {.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
                              .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                              .dstAccessMask = VK_ACCESS_SHADER_READ_BIT,
                              .buffer = buffer,
                              .size = VK_WHOLE_SIZE};
  vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_ALL_GRAPHICS_BIT, 0, 0, NULL, 1, &of,
                       0, NULL);
}
static void fence_status(long i) { vkGetFenceStatus(device, fence); }
static void mix(long i) {
  switch (i % 5) {
    case 0: viewport(i); break;
    case 1: constants(i); break;
    case 2: bind_sets(i); break;
    case 3: vertex_buffers(i); break;
    default: draw(i); break;
  }
}

static const struct {
  const char* name;
  void (*call)(long i);
} LOOPS[] = {{"vkCmdSetViewport", viewport},
             {"vkCmdPushConstants", constants},
             {"vkCmdBindDescriptorSets", bind_sets},
             {"vkCmdBindVertexBuffers", vertex_buffers},
             {"vkCmdDraw", draw},
             {"vkUpdateDescriptorSets", update_sets},
             {"vkCmdPipelineBarrier", barrier},
             {"vkGetFenceStatus", fence_status},
             {"mix", mix}};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

static int by_size(const void* a, const void* b) { return (*(double*)a > *(double*)b) - (*(double*)a < *(double*)b); }

static void begin(void) {
  VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  CHECK(vkBeginCommandBuffer(commands, &info));
}

static double loop(unsigned which, long calls) {
  begin();
  const double from = now();
  for (long i = 0; i < calls; i++) LOOPS[which].call(i);
  const double ns = (now() - from) / calls;
  CHECK(vkEndCommandBuffer(commands));
  return ns;
}

static void loops(long calls, long rounds) {
  double* ns = malloc(rounds * sizeof *ns);
  /* All of them once for the caches, and for a recorder: the first loop would pay for its start. */
  for (unsigned l = 0; l < sizeof LOOPS / sizeof *LOOPS; l++) loop(l, calls);
  for (unsigned l = 0; l < sizeof LOOPS / sizeof *LOOPS; l++) {
    for (long r = 0; r < rounds; r++) ns[r] = loop(l, calls);
    qsort(ns, rounds, sizeof *ns, by_size);
    printf("%s %.2f ns/call median, %.2f least, %ld calls\n", LOOPS[l].name, ns[rounds / 2], ns[0],
           calls * (rounds + 1));
  }
}

static int counted(const char* path) {
  int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || ftruncate(file, 4096)) return 1;
  volatile uint64_t* completed = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (completed == MAP_FAILED) return 1;
  begin();
  for (uint64_t i = 0;; i++) {
    if (i % 100000 == 99999) begin(); /* what the driver keeps does not grow for ever */
    vkCmdSetDepthBias(commands, (float)i, 0, 0);
    *completed = i + 1;
  }
}

int main(int argc, char** argv) {
  if (argc < 3) return fprintf(stderr, "usage: vulkan_calls loops CALLS ROUNDS | counted COUNTER\n"), 2;
  make_device();
  make_objects();
  if (!strcmp(argv[1], "counted")) return counted(argv[2]);
  loops(atol(argv[2]), argc > 3 ? atol(argv[3]) : 5);
  return 0;
}
