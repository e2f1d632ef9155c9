// Sizes that the toy API keeps as state; see spec/apis/toy.py.
#pragma once
#include "driver.h"

namespace dt::size {

// Components of a point: asks the library. A bad handle gives 0, and the error that the call itself would give.
inline int64_t toy_stride(int64_t handle) {
  if (!driver::toyGet) return 0;
  int32_t stride = 0;
  constexpr unsigned TOY_STRIDE_NAME = 0x101;
  driver::toyGet((void*)(intptr_t)handle, TOY_STRIDE_NAME, 1, &stride);
  return stride;
}

}  // namespace dt::size
