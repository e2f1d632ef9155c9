// Texels of Vulkan's formats as pixels of pictures.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "snapshots.h"

namespace dt::play::vk {
namespace {

bool blue_first(VkFormat format) { return format == VK_FORMAT_B8G8R8A8_UNORM || format == VK_FORMAT_B8G8R8A8_SRGB; }

}  // namespace

bool has_depth(VkFormat format) {
  return format >= VK_FORMAT_D16_UNORM && format <= VK_FORMAT_D32_SFLOAT_S8_UINT && format != VK_FORMAT_S8_UINT;
}

bool has_stencil(VkFormat format) { return format >= VK_FORMAT_S8_UINT && format <= VK_FORMAT_D32_SFLOAT_S8_UINT; }

bool reads_plainly(VkFormat format) {
  switch (format) {
    case VK_FORMAT_R8G8B8A8_UNORM:
    case VK_FORMAT_R8G8B8A8_SRGB:
    case VK_FORMAT_A8B8G8R8_UNORM_PACK32:
    case VK_FORMAT_A8B8G8R8_SRGB_PACK32: return true;
    default: return blue_first(format);
  }
}

uint32_t texel_bytes(VkFormat format, uint32_t aspect) {
  if (aspect == VK_IMAGE_ASPECT_STENCIL_BIT) return 1;
  if (aspect == VK_IMAGE_ASPECT_COLOR_BIT) return 4;
  return format == VK_FORMAT_D16_UNORM || format == VK_FORMAT_D16_UNORM_S8_UINT ? 2 : 4;
}

// Depth as 0 to 65535, most significant byte first.
static void put_depth(uint8_t* to, const uint8_t* from, VkFormat format) {
  uint32_t value = 0;
  double depth = 0;
  memcpy(&value, from, texel_bytes(format, VK_IMAGE_ASPECT_DEPTH_BIT));
  if (format == VK_FORMAT_D32_SFLOAT || format == VK_FORMAT_D32_SFLOAT_S8_UINT) {
    float real;
    memcpy(&real, from, 4);
    depth = std::isnan(real) ? 0 : std::clamp(static_cast<double>(real), 0.0, 1.0);
  } else if (format == VK_FORMAT_D16_UNORM || format == VK_FORMAT_D16_UNORM_S8_UINT) {
    depth = value / 65535.0;
  } else {
    depth = (value & 0xffffff) / 16777215.0;
  }
  const auto whole = static_cast<uint32_t>(std::lround(depth * 65535));
  to[0] = static_cast<uint8_t>(whole >> 8), to[1] = static_cast<uint8_t>(whole);
}

AttachmentImage read_shot(const Shot& shot, const void* room) {
  const bool depth = shot.aspect == VK_IMAGE_ASPECT_DEPTH_BIT, color = shot.aspect == VK_IMAGE_ASPECT_COLOR_BIT;
  AttachmentImage out{shot.name,
                      static_cast<int>(shot.width),
                      static_cast<int>(shot.height),
                      color   ? 4
                      : depth ? 2
                              : 1,
                      {}};
  const size_t texel = texel_bytes(shot.format, shot.aspect), bytes = static_cast<size_t>(out.bytes);
  out.pixels.resize(size_t{shot.width} * shot.height * bytes);
  for (uint32_t y = 0; y < shot.height; ++y) {
    const uint8_t* from =
        static_cast<const uint8_t*>(room) + shot.at + size_t{shot.height - 1 - y} * shot.width * texel;
    uint8_t* to = &out.pixels[size_t{y} * shot.width * bytes];
    if (!depth) memcpy(to, from, size_t{shot.width} * texel);
    for (size_t x = 0; depth && x < shot.width; ++x) put_depth(to + x * 2, from + x * texel, shot.format);
    for (size_t x = 0; blue_first(shot.format) && x < shot.width; ++x) std::swap(to[x * 4], to[x * 4 + 2]);
  }
  return out;
}

}  // namespace dt::play::vk
