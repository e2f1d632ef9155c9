/* killed PROGRESS THREADS CALLS: threads call into command buffers of their own, and count in a file what returned.
 * When the first has made so many calls, the process is killed while the others go on. */
#include "vk.h"
#include "check.h"
#include "device.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static VkBuffer buffer;
static volatile uint64_t* returned;
static uint64_t calls;

static void start(void) {
  start_with((struct Wanted){0});
  VkBufferCreateInfo bytes = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = 4096, .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
  CHECK(vkCreateBuffer(device, &bytes, 0, &buffer));
}

static void* work(void* which) {
  const uint64_t thread = (uint64_t)which;
  VkCommandBuffer commands =
      make_commands(make_pool(VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT), VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  for (uint64_t i = 0;; i++) {
    if (i % 10000 == 0) begin_commands(commands, 0);
    VkBufferMemoryBarrier of = {.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
                                .srcQueueFamilyIndex = thread,
                                .dstQueueFamilyIndex = thread,
                                .buffer = buffer,
                                .offset = i,
                                .size = VK_WHOLE_SIZE};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, 0, 1, &of, 0,
                         0);
    returned[thread] = i + 1;
    if (!thread && i + 1 == calls) kill(getpid(), SIGKILL);
  }
}

int main(int count, char** words) {
  if (count != 4) return 2;
  int file = open(words[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || ftruncate(file, 4096)) return 1;
  returned = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (returned == MAP_FAILED) return 1;
  calls = strtoull(words[3], 0, 10);
  start();
  for (uint64_t thread = 1; thread < strtoull(words[2], 0, 10); thread++) {
    pthread_t made;
    pthread_create(&made, 0, work, (void*)thread);
  }
  work(0);
  return 1;
}
