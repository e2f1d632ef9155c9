// Twins of the program's programs: the same shaders, linked so that positions are captured and nothing is drawn.
#pragma once
#include <cstdint>
#include <string>

#include "copied.h"

namespace dt::play::metrics::geometry {

// The outputs of a vertex beside its position, in the order in which they are captured.
enum Captured : uint8_t { CLIP_DISTANCE, CULL_DISTANCE, VIEWPORT_INDEX, CLIP_VERTEX, CAPTURED };
struct Twin {
  int sizes[CAPTURED] = {};   // how many numbers; 0: it has none
  bool named[CAPTURED] = {};  // its shaders name it
  uint64_t stride() const {   // numbers of a vertex
    uint64_t sum = 4;
    for (int size : sizes) sum += static_cast<uint64_t>(size);
    return sum;
  }
  uint64_t offset(Captured which) const {
    uint64_t sum = 4;
    for (int i = 0; i < which; ++i) sum += static_cast<uint64_t>(sizes[i]);
    return sum;
  }
  uint32_t program = 0;
  std::string why;            // there is none
  uint32_t stage_mode = ~0u;  // what a geometry or tessellation shader puts out, ~0: there is none
  CopiedUniforms uniforms;
};

// The twin of a program; `why` in it where there is none.
Twin make_twin(uint32_t original);
// For fixed-function vertices.
Twin make_fixed_twin();

}  // namespace dt::play::metrics::geometry
