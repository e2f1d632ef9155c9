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

uint32_t aspects_of(VkFormat format) {
  uint32_t aspects = 0;
  if (has_depth(format)) aspects |= VK_IMAGE_ASPECT_DEPTH_BIT;
  if (has_stencil(format)) aspects |= VK_IMAGE_ASPECT_STENCIL_BIT;
  return aspects ? aspects : static_cast<uint32_t>(VK_IMAGE_ASPECT_COLOR_BIT);
}

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
  if (aspect == VK_IMAGE_ASPECT_COLOR_BIT) {
    const Integers of = integers_of(format);
    return of.channels && of.bytes ? of.channels * of.bytes : 4;
  }
  return format == VK_FORMAT_D16_UNORM || format == VK_FORMAT_D16_UNORM_S8_UINT ? 2 : 4;
}

// Places in the lists of formats: their values are Vulkan's, which never change.
Integers integers_of(VkFormat f) {
  const auto kind = [&](VkFormat first, uint32_t kinds) { return (static_cast<uint32_t>(f) - first) % kinds; };
  const auto group = [&](VkFormat first, uint32_t kinds) { return (static_cast<uint32_t>(f) - first) / kinds; };
  auto integers = [](uint32_t channels, uint32_t bytes, bool negative, bool blue = false) {
    return Integers{channels, bytes, negative, blue};
  };
  if (f >= VK_FORMAT_R8_UNORM && f <= VK_FORMAT_A8B8G8R8_SRGB_PACK32) {
    static constexpr uint32_t CHANNELS[] = {1, 2, 3, 3, 4, 4, 4};  // R, RG, RGB, BGR, RGBA, BGRA, ABGR
    const uint32_t of = group(VK_FORMAT_R8_UNORM, 7), what = kind(VK_FORMAT_R8_UNORM, 7);
    return what == 4 || what == 5 ? integers(CHANNELS[of], 1, what == 5, of == 3 || of == 5) : Integers();
  }
  if (f >= VK_FORMAT_A2R10G10B10_UNORM_PACK32 && f <= VK_FORMAT_A2B10G10R10_SINT_PACK32) {
    const uint32_t what = kind(VK_FORMAT_A2R10G10B10_UNORM_PACK32, 6);
    return what >= 4 ? integers(4, 0, what == 5, f < VK_FORMAT_A2B10G10R10_UNORM_PACK32) : Integers();
  }
  if (f >= VK_FORMAT_R16_UNORM && f <= VK_FORMAT_R16G16B16A16_SFLOAT) {
    const uint32_t what = kind(VK_FORMAT_R16_UNORM, 7);
    return what == 4 || what == 5 ? integers(group(VK_FORMAT_R16_UNORM, 7) + 1, 2, what == 5) : Integers();
  }
  if (f >= VK_FORMAT_R32_UINT && f <= VK_FORMAT_R64G64B64A64_SFLOAT) {
    const uint32_t of = group(VK_FORMAT_R32_UINT, 3), what = kind(VK_FORMAT_R32_UINT, 3);
    return what < 2 ? integers(of % 4 + 1, of < 4 ? 4 : 8, what == 1) : Integers();
  }
  return {};
}

// An integer as a channel of a picture: what is beyond 0 to 255 is shown as the nearest of these.
static uint8_t shown(const uint8_t* from, uint32_t bytes, bool negative) {
  uint64_t value = 0;
  memcpy(&value, from, bytes);
  if (negative && value >> (bytes * 8 - 1)) return 0;
  return static_cast<uint8_t>(std::min<uint64_t>(value, 255));
}

static void put_integers(uint8_t* to, const uint8_t* from, const Integers& of) {
  to[0] = to[1] = to[2] = 0, to[3] = 255;
  if (of.bytes) {
    for (uint32_t i = 0; i < of.channels; ++i) to[i] = shown(from + size_t{i} * of.bytes, of.bytes, of.negative);
  } else {
    uint32_t word;
    memcpy(&word, from, 4);
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t bits = i < 3 ? 10 : 2, value = word >> (i * 10) & ((1u << bits) - 1);
      const bool below = of.negative && value >> (bits - 1);
      to[i] = below ? uint8_t{0} : static_cast<uint8_t>(std::min(value, 255u));
    }
  }
  if (of.blue_first) std::swap(to[0], to[2]);
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
  const Integers whole = color ? integers_of(shot.format) : Integers();
  for (uint32_t y = 0; y < shot.height; ++y) {
    const uint8_t* from =
        static_cast<const uint8_t*>(room) + shot.at + size_t{shot.height - 1 - y} * shot.width * texel;
    uint8_t* to = &out.pixels[size_t{y} * shot.width * bytes];
    for (size_t x = 0; whole.channels && x < shot.width; ++x) put_integers(to + x * 4, from + x * texel, whole);
    if (!depth && !whole.channels) memcpy(to, from, size_t{shot.width} * texel);
    for (size_t x = 0; depth && x < shot.width; ++x) put_depth(to + x * 2, from + x * texel, shot.format);
    for (size_t x = 0; blue_first(shot.format) && x < shot.width; ++x) std::swap(to[x * 4], to[x * 4 + 2]);
  }
  return out;
}

}  // namespace dt::play::vk
