// The channels of colours in the format in which an image keeps them.
#pragma once
#include <cstdint>

#include "vulkan_types.h"

namespace dt::play::vk {

// The meaning of a channel's bits, in the order of Vulkan's lists of formats.
enum Meaning : uint8_t { UNORM, SNORM, USCALED, SSCALED, UINT, SINT, SRGB, SFLOAT };
struct Channels {
  uint32_t count = 0, bytes = 0;  // of a channel; 0: `bits` has the widths, from the lowest bit on
  Meaning meaning = UNORM;
  bool blue_first = false;
  uint32_t whole = 0;  // bytes of the texel
  uint8_t bits[4] = {};
  int8_t places[4] = {};  // red is 0; where bits are packed
};

Channels channels_of(VkFormat format);  // without channels: such texels are not read
uint32_t color_bytes(VkFormat format);  // of a texel; 0: such texels are not read
uint32_t color_channels(VkFormat format);

}  // namespace dt::play::vk
