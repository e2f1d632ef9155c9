// Array pointers, and what glInterleavedArrays sets: the table of the OpenGL 1.1 specification, section 2.8.
#pragma once
#include <cstddef>
#include <cstdint>

#include "gl_enums.h"

namespace dt::peers {

constexpr uint64_t LOWEST_ADDRESS = 65536;  // below are offsets into buffers

struct InterleavedArray {
  const char* name;  // of the function that sets this array alone
  bool sized;        // it has a parameter for the number of components
  uint32_t size, type, offset, stride;
};

// Calls `set` for each array of a format; `stride` 0: they stand close to each other.
template <class F> void interleaved_arrays(uint64_t format, uint64_t stride, F&& set) {
  struct Format {
    uint8_t texture, color, normal, vertex;       // components; 0: none
    bool bytes;                                   // the color is four bytes
    uint8_t at_color, at_normal, at_vertex, all;  // in floats
  };
  static constexpr Format formats[] = {
      {0, 0, 0, 2, false, 0, 0, 0, 2},  {0, 0, 0, 3, false, 0, 0, 0, 3},  {0, 4, 0, 2, true, 0, 0, 1, 3},
      {0, 4, 0, 3, true, 0, 0, 1, 4},   {0, 3, 0, 3, false, 0, 0, 3, 6},  {0, 0, 3, 3, false, 0, 0, 3, 6},
      {0, 4, 3, 3, false, 0, 4, 7, 10}, {2, 0, 0, 3, false, 0, 0, 2, 5},  {4, 0, 0, 4, false, 0, 0, 4, 8},
      {2, 4, 0, 3, true, 2, 0, 3, 6},   {2, 3, 0, 3, false, 2, 0, 5, 8},  {2, 0, 3, 3, false, 0, 2, 5, 8},
      {2, 4, 3, 3, false, 2, 6, 9, 12}, {4, 4, 3, 4, false, 4, 8, 11, 15}};
  if (format < GL_V2F || format - GL_V2F >= sizeof formats / sizeof *formats) return;
  const Format& f = formats[format - GL_V2F];
  const uint32_t step = stride ? static_cast<uint32_t>(stride) : f.all * 4u;
  if (f.texture) set(InterleavedArray{"glTexCoordPointer", true, f.texture, GL_FLOAT, 0, step});
  if (f.color)
    set(InterleavedArray{"glColorPointer", true, f.color, f.bytes ? GL_UNSIGNED_BYTE : GL_FLOAT, f.at_color * 4u,
                         step});
  if (f.normal) set(InterleavedArray{"glNormalPointer", false, f.normal, GL_FLOAT, f.at_normal * 4u, step});
  set(InterleavedArray{"glVertexPointer", true, f.vertex, GL_FLOAT, f.at_vertex * 4u, step});
}

}  // namespace dt::peers
