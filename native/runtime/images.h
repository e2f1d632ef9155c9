// The ways to record images that a program hands over, or gets: their bytes, or an offset into a buffer that is bound.
#pragma once
#include "../mirror/sizes.h"
#include "tap.h"

namespace dt::size {

static inline Data prepare_image(Thread* t, const void* pixels, int64_t bytes) {
  if (bytes == IS_OFFSET) return Data{DT_DATA(DT_DATA_OFFSET, 0, 0), nullptr, {}};
  return prepare(t, pixels, bytes);
}
static inline Data prepare_image_out(const void* pixels, int64_t bytes) {
  if (bytes == IS_OFFSET) return Data{DT_DATA(DT_DATA_OFFSET, 0, 0), nullptr, {}};
  return prepare_out(pixels, bytes);
}

}  // namespace dt::size
