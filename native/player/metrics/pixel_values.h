// The content of one pixel of the framebuffer that is drawn to, in its own format.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace dt::play::metrics {

struct PixelValue {
  std::string image;                // which image it is of: equal texts name the same one; "": there is none
  const char* kind = "";            // unorm8, float, int, uint, depth, stencil
  std::array<double, 4> numbers{};  // of unorm8 0 to 255, of depth 0 to 1
  int count = 0;                    // of those; 0: it could not be read
  const char* why = nullptr;
  bool same(const PixelValue& other) const { return count == other.count && numbers == other.numbers; }
};

struct PixelValues {
  std::vector<PixelValue> colors;  // by draw buffer
  PixelValue depth, stencil;
};

// For the current context. Nothing of the program's state changes.
PixelValues read_pixel(int x, int y);

}  // namespace dt::play::metrics
