/* Texels from staging buffers: a texture of which a part is stored and copied again, one of integers, one of blocks. */
#include "vk.h"
#include "check.h"
#include "device.h"

#include <stdint.h>
#include <string.h>

#define SIZE 64

static VkCommandBuffer commands;

/* Bytes that are not alike. */
static void fill(uint8_t* at, size_t bytes) {
  static uint32_t state = 12345;
  for (size_t i = 0; i < bytes; i++) state = state * 1664525 + 1013904223, at[i] = state >> 24;
}

static VkImage image(VkFormat format) {
  return make_image(format, SIZE, VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT, 0, 1).image;
}

static const VkBufferImageCopy WHOLE = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                        .imageExtent = {SIZE, SIZE, 1}};

/* Copies the texels to an image, and the image to `back`, and waits. */
static void upload(VkBuffer from, VkImage to, VkBuffer back) {
  begin_commands(commands, 0);
  turn(commands, to, VK_IMAGE_ASPECT_COLOR_BIT, 0, VK_IMAGE_LAYOUT_GENERAL);
  vkCmdCopyBufferToImage(commands, from, to, VK_IMAGE_LAYOUT_GENERAL, 1, &WHOLE);
  turn(commands, to, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_GENERAL);
  if (back) vkCmdCopyImageToBuffer(commands, to, VK_IMAGE_LAYOUT_GENERAL, back, 1, &WHOLE);
  CHECK(vkEndCommandBuffer(commands));
  submit_and_wait(commands);
}

int main(void) {
  start_with((struct Wanted){.minor = 1,
                             .instance_extensions = {"VK_EXT_debug_utils"},
                             .program = "HarbourStudio",
                             .engine = "HarbourEngine"});
  commands = make_commands(make_pool(VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT), VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  struct Buffer texels = make_buffer(SIZE * SIZE * 4, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
  struct Buffer back = make_buffer(SIZE * SIZE * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  VkImage colors = image(VK_FORMAT_R8G8B8A8_UNORM);
  VkDebugUtilsObjectNameInfoEXT name = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
                                        .objectType = VK_OBJECT_TYPE_IMAGE,
                                        .objectHandle = (uint64_t)colors,
                                        .pObjectName = "HarbourMap"};
  __typeof__(&vkSetDebugUtilsObjectNameEXT) call_it =
      (void*)vkGetInstanceProcAddr(instance, "vkSetDebugUtilsObjectNameEXT");
  call_it(device, &name);
  fill(texels.at, SIZE * SIZE * 4);
  upload(texels.buffer, colors, back.buffer);
  fill(texels.at + 8 * SIZE * 4, 8 * SIZE * 4);
  upload(texels.buffer, colors, back.buffer);

  struct Buffer numbers = make_buffer(SIZE * SIZE * 4, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
  fill(numbers.at, SIZE * SIZE * 4);
  upload(numbers.buffer, image(VK_FORMAT_R8G8B8A8_UINT), 0);

  struct Buffer blocks = make_buffer(SIZE * SIZE / 2, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
  fill(blocks.at, SIZE * SIZE / 2);
  upload(blocks.buffer, image(VK_FORMAT_BC1_RGB_UNORM_BLOCK), 0);
  return 0;
}
