/* Work that waits for an event, which the host sets while the queue is at it. */
#include "vk.h"
#include "check.h"
#include "device.h"

int main(void) {
  start_with((struct Wanted){.minor = 0});
  VkEventCreateInfo info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
  VkEvent event;
  CHECK(vkCreateEvent(device, &info, 0, &event));
  VkCommandPool pool = make_pool(0);
  VkCommandBuffer commands = make_commands(pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  begin_commands(commands, 0);
  vkCmdWaitEvents(commands, 1, &event, VK_PIPELINE_STAGE_HOST_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, 0, 0, 0, 0);
  CHECK(vkEndCommandBuffer(commands));
  submit(commands);
  CHECK(vkSetEvent(device, event));
  CHECK(vkQueueWaitIdle(queue));
  vkDestroyEvent(device, event, 0);
  vkDestroyCommandPool(device, pool, 0);
  vkDestroyDevice(device, 0);
  vkDestroyInstance(instance, 0);
  return 0;
}
