/* Two imports of the program's own pages, which share a page. Each is copied from to an image twice, with other bytes,
 * and from there back behind what was stored. The program maps one of them in between, which changes nothing. */
#define _GNU_SOURCE
#include "vk.h"
#include "check.h"
#include "device.h"

#include <stdlib.h>
#include <string.h>

enum { SIDE = 16, TEXELS = SIDE * SIDE * 4, PAGE = 4096, BACK = 2 * PAGE, BACK_OF_SECOND = 2048 };

static VkDeviceMemory import(uint8_t* at, uint64_t bytes) {
  VkImportMemoryHostPointerInfoEXT own = {.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
                                          .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
                                          .pHostPointer = at};
  VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &own, .allocationSize = bytes};
  VkDeviceMemory made;
  CHECK(vkAllocateMemory(device, &info, 0, &made));
  return made;
}

static void there_and_back(VkCommandBuffer commands, VkImage image, VkBuffer buffer, uint64_t back) {
  VkBufferImageCopy part = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1}, .imageExtent = {SIDE, SIDE, 1}};
  begin_commands(commands, 0);
  vkCmdCopyBufferToImage(commands, buffer, image, VK_IMAGE_LAYOUT_GENERAL, 1, &part);
  turn(commands, image, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_GENERAL);
  part.bufferOffset = back;
  vkCmdCopyImageToBuffer(commands, image, VK_IMAGE_LAYOUT_GENERAL, buffer, 1, &part);
  CHECK(vkEndCommandBuffer(commands));
  submit_and_wait(commands);
}

int main(void) {
  start_with((struct Wanted){.minor = 1, .extension = "VK_EXT_external_memory_host"});
  VkCommandBuffer commands =
      make_commands(make_pool(VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT), VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  uint8_t* const pages = aligned_alloc(PAGE, 4 * PAGE);
  memset(pages, 0x11, 4 * PAGE);
  VkDeviceMemory one = import(pages, 3 * PAGE), other = import(pages + 2 * PAGE, 2 * PAGE);
  const uint32_t both = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  VkBuffer of_one = place_buffer(&one, 0, 3 * PAGE, both), of_other = place_buffer(&other, 0, 2 * PAGE, both);
  const uint32_t copied = VK_IMAGE_USAGE_TRANSFER_DST_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
  VkImage image = make_image(VK_FORMAT_R8G8B8A8_UNORM, SIDE, copied, 0, 1).image;
  void* at;
  for (int i = 0; i < 2; i++) {
    memset(pages, 0x22 + i, TEXELS);
    there_and_back(commands, image, of_one, BACK);
    if (!i) {
      CHECK(vkMapMemory(device, one, 0, VK_WHOLE_SIZE, 0, &at));
      vkUnmapMemory(device, one);
    }
    there_and_back(commands, image, of_other, BACK_OF_SECOND);
  }
  vkDestroyBuffer(device, of_one, 0);
  vkDestroyBuffer(device, of_other, 0);
  vkFreeMemory(device, one, 0);
  vkFreeMemory(device, other, 0);
  return pages[BACK] == 0x23 && pages[BACK + BACK_OF_SECOND] == 0x23 ? 0 : 1;
}
