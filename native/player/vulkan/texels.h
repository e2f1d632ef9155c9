// One texel of an image as numbers, in the format in which it is kept.
#pragma once
#include "../metrics/pixel_values.h"
#include "channels.h"
#include "snapshots.h"

namespace dt::play::vk {

// The numbers of a texel, which has as many: those of integers that stand for 0 to 1 are between these.
void read_numbers(VkFormat format, const uint8_t* from, double* to);
// `shot` is of one texel, at `from`.
metrics::PixelValue read_texel(const Shot& shot, const uint8_t* from);

}  // namespace dt::play::vk
