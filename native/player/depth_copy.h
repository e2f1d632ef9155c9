// Depth and stencil where a driver of OpenGL ES does not let them be read: a shader copies them into colours.
#pragma once
#include <cstdint>
#include <vector>

namespace dt::play {

// The holder of the values: an attachment of the current context's framebuffer, or (name 0) its window.
struct DepthSource {
  bool texture = false;                     // else a renderbuffer
  uint32_t name = 0, face = 0, format = 0;  // format 0: not known
  int32_t level = 0, layer = 0, width = 0, height = 0;
};

// Depth: two bytes a pixel, most significant first, the whole range 0 to 65535; stencil: one. Rows from the bottom.
// Works in a context of its own that shares objects with the current one, on the same surfaces: nothing of the
// program's state changes. nullptr, or why not.
const char* copy_depth(const DepthSource& from, bool depth, std::vector<uint8_t>& values);

}  // namespace dt::play
