// Sizes that only the EGL driver knows; see spec/apis/egl.py.
#pragma once
#include "driver.h"

namespace dt::size {

// Planes of an image, at most 4. Asked after an export that succeeded: both leave EGL_SUCCESS behind.
inline int64_t egl_image_planes(int64_t display, int64_t image) {
  int planes = 0;
  if (!driver::eglExportDMABUFImageQueryMESA ||
      !driver::eglExportDMABUFImageQueryMESA((void*)(intptr_t)display, (void*)(intptr_t)image, nullptr, &planes,
                                             nullptr))
    return 0;
  return planes < 0 ? 0 : planes > 4 ? 4 : planes;
}

}  // namespace dt::size
