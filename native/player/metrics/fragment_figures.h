// The figures of fragments, in OpenGL and in Vulkan, and the sums over the pixels of a frame's pictures.
#pragma once
#include <cstdint>

namespace dt::play::metrics {

// Figures of draws, then those of whole frames.
enum What : uint8_t {
  FETCHES,
  EARLIER_FETCHES,
  GENERATED,
  DISCARDED,
  PASSED,
  WRITTEN,
  SAMPLES_GENERATED,
  SAMPLES_DISCARDED,
  SAMPLES_PASSED,
  SAMPLES_WRITTEN,
  CULLED,
  FAILED_STENCIL,
  FAILED_DEPTH,
  MEAN,
  MOST,
  COVERED,
  ABOVE_1,
  ABOVE_2,
  ABOVE_4,
  ABOVE_8,
  NO_FIGURE
};

struct Overdraw {
  static constexpr uint32_t LIMITS[4] = {1, 2, 4, 8};
  uint64_t fragments = 0, covered = 0, most = 0, above[4] = {};
  const char* why = nullptr;
  double value(What what) const {
    const double pixels = covered ? static_cast<double>(covered) : 1;
    switch (what) {
      case MEAN: return static_cast<double>(fragments) / pixels;
      case MOST: return static_cast<double>(most);
      case COVERED: return static_cast<double>(covered);
      default: return 100 * static_cast<double>(above[what - ABOVE_1]) / pixels;
    }
  }
};

}  // namespace dt::play::metrics
