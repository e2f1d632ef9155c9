// One texel of an image as numbers, in the format in which it is kept.
#pragma once
#include "../metrics/pixel_values.h"
#include "snapshots.h"

namespace dt::play::vk {

uint32_t color_bytes(VkFormat format);  // of a texel; 0: such texels are not read
// `shot` is of one texel, at `from`.
metrics::PixelValue read_texel(const Shot& shot, const uint8_t* from);

}  // namespace dt::play::vk
