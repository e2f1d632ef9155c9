// Texels that OpenGL hands over to shaders alone: single samples of a pixel, and in ES what compressed blocks stand
// for.
#pragma once
#include <cstdint>
#include <vector>

namespace dt::play {

struct TexelSource {
  enum Kind : uint8_t { FLOATS, INTEGERS, NATURALS };  // what shaders get: also of normalized values
  uint32_t name = 0, target = 0;                       // target: 2D, 2D_ARRAY, CUBE_MAP_ARRAY or 2D_MULTISAMPLE(_ARRAY)
  int32_t level = 0, layer = 0, sample = 0, width = 0, height = 0;
  Kind kind = FLOATS;
  bool srgb = false;
};

// Four values of 32 bits a texel (floats, or integers), rows from t = 0 on, without swizzle and without decoding of
// sRGB. Works in a context beside the current one; `es`: that one is of OpenGL ES. nullptr, or why not.
const char* copy_texels(const TexelSource& from, bool es, std::vector<uint8_t>& values);

}  // namespace dt::play
