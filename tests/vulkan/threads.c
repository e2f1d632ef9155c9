/* Three threads record command buffers at the same time, from pools of their own, in two rounds: each fills its part of
 * one buffer. The first thread submits all of them, waits, and reads what the device stored. */
#include "vk.h"
#include "check.h"
#include "device.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#define THREADS 3
#define PART 64

static VkBuffer buffer;
static VkCommandPool pools[THREADS];
static VkCommandBuffer commands[THREADS];
static pthread_barrier_t begun, ended;

static void fill(uint64_t n, uint32_t round) {
  begin_commands(commands[n], 0);
  for (uint32_t i = 0; i < PART / 4; i++)
    vkCmdFillBuffer(commands[n], buffer, n * PART + i * 4, 4, (uint32_t)(n + 1) << 16 | round << 8 | i);
  CHECK(vkEndCommandBuffer(commands[n]));
}

static void* work(void* which) {
  const uint64_t n = (uint64_t)which;
  pools[n] = make_pool(VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT);
  commands[n] = make_commands(pools[n], VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  for (uint32_t round = 0; round < 2; round++) {
    pthread_barrier_wait(&begun);
    fill(n, round);
    pthread_barrier_wait(&ended);
  }
  return 0;
}

int main(void) {
  start_with((struct Wanted){0});
  VkDeviceMemory memory = 0;
  buffer = place_buffer(&memory, 0, THREADS * PART, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  uint32_t* at;
  CHECK(vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, (void**)&at));
  pthread_barrier_init(&begun, 0, THREADS + 1), pthread_barrier_init(&ended, 0, THREADS + 1);
  pthread_t made[THREADS];
  for (uint64_t n = 0; n < THREADS; n++) pthread_create(&made[n], 0, work, (void*)n);
  for (uint32_t round = 0; round < 2; round++) {
    pthread_barrier_wait(&begun);
    pthread_barrier_wait(&ended);
    VkSubmitInfo all = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = THREADS, .pCommandBuffers = commands};
    CHECK(vkQueueSubmit(queue, 1, &all, 0));
    CHECK(vkQueueWaitIdle(queue));
    for (uint32_t n = 0; n < THREADS; n++) printf("%x ", at[n * PART / 4 + 1]);
  }
  printf("\n");
  for (uint64_t n = 0; n < THREADS; n++) pthread_join(made[n], 0);
  return 0;
}
