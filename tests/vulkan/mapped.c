/* A buffer that is stored to before each of many submits, and beside it in the same mapped memory an image that the
 * device clears. Then a buffer takes the image's place, and another lies where the program had stored before. A second
 * memory is a ring of pages, each stored to before two submits, all of them twice. At last the device fills the start
 * of a page, which the program had filled among others a while before.
 *
 * Prints how many pages were faulted in once that went on for a while, how many pages the image has, how many pages
 * were faulted in for the second round, and how many pages it has. */
#include "vk.h"
#include "check.h"
#include "device.h"

#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

enum {
  SUBMITS = 200,
  SETTLED = 50,
  SIDE = 128,
  PLACE = 1 << 20,
  LATE = 3 << 19,
  FILL = 1 << 18,
  BYTES = 2 << 20,
  RING = 40
};

static VkDeviceMemory memory, ring;

static void start(void) {
  start_with((struct Wanted){.minor = 1});
  VkMemoryAllocateInfo room = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = BYTES};
  CHECK(vkAllocateMemory(device, &room, 0, &memory));
  CHECK(vkAllocateMemory(device, &room, 0, &ring));
}

static VkBuffer bind_buffer(VkDeviceMemory* to, uint64_t at, uint64_t bytes) {
  return place_buffer(to, at, bytes, VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT);
}

static VkBuffer filled;

static void write_commands(VkCommandBuffer commands, VkImage image, int i) {
  begin_commands(commands, 0);
  if (image) {
    VkClearColorValue colour = {.float32 = {(float)(i + 1) / (SUBMITS + 1), 0.5f, 0.25f, 1}};
    VkImageSubresourceRange all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    vkCmdClearColorImage(commands, image, VK_IMAGE_LAYOUT_GENERAL, &colour, 1, &all);
  }
  if (filled) vkCmdFillBuffer(commands, filled, 0, 16, (uint32_t)i);
  CHECK(vkEndCommandBuffer(commands));
}

static void clear(VkCommandBuffer commands, VkImage image, int i) {
  write_commands(commands, image, i);
  submit_and_wait(commands);
}

static long faults(void) {
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  return use.ru_minflt;
}

int main(void) {
  start();
  VkCommandBuffer commands =
      make_commands(make_pool(VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT), VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  bind_buffer(&memory, 0, SIDE * SIDE * 4);
  VkImage image =
      place_image(&memory, PLACE, of_one_level(VK_FORMAT_R8G8B8A8_UNORM, SIDE, VK_IMAGE_USAGE_TRANSFER_DST_BIT, 1));
  unsigned char *at, *of_ring;
  CHECK(vkMapMemory(device, memory, 0, ~0ull, 0, (void**)&at));
  long before = 0;
  for (int i = 0; i < SUBMITS; i++) {
    if (i == SETTLED) before = faults();
    memset(at + 16, i + 1, 4);
    clear(commands, image, i);
  }
  printf("%ld %d ", faults() - before, SIDE * SIDE * 4 / 4096);
  vkDestroyImage(device, image, 0);
  bind_buffer(&memory, PLACE, SIDE * SIDE * 4);
  clear(commands, 0, 0);
  memset(at + PLACE + 8192 + 64, 0xee, 4); /* the image's third page, and no other */
  memset(at + LATE, 0xdd, 4);
  clear(commands, 0, 0);
  bind_buffer(&memory, LATE, 4096);
  clear(commands, 0, 0);
  bind_buffer(&ring, 0, RING * 4096);
  CHECK(vkMapMemory(device, ring, 0, ~0ull, 0, (void**)&of_ring));
  for (int i = 0; i < 2 * RING * 2; i++) {
    if (i == RING * 2) before = faults();
    memset(of_ring + i / 2 % RING * 4096 + 32, i + 1, 4);
    clear(commands, 0, 0);
  }
  printf("%ld %d\n", faults() - before, RING);
  VkBuffer again = filled = bind_buffer(&memory, FILL, 4096);
  write_commands(commands, 0, 0); /* never submitted */
  filled = 0;
  memset(at + FILL, 0xab, 16 * 4096);
  for (int i = 0; i < 20; i++) clear(commands, 0, 0);
  filled = again;
  clear(commands, 0, 0x22222222);
  memset(at + FILL + 32, 0xcd, 4);
  clear(commands, 0, 0x33333333);
  return 0;
}
