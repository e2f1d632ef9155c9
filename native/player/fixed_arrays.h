// The vertex arrays of fixed function whose content is shown and measured: what to ask a driver for each.
#pragma once
#include <cstdint>

#include "gl_enums.h"

namespace dt::play {

struct FixedArray {
  const char* name;
  uint32_t array, size, type, stride, buffer, pointer;  // size 0: no driver tells it
  int32_t components;                                   // where no driver tells the size
};

inline constexpr FixedArray FIXED_ARRAYS[] = {
    {"position", GL_VERTEX_ARRAY, GL_VERTEX_ARRAY_SIZE, GL_VERTEX_ARRAY_TYPE, GL_VERTEX_ARRAY_STRIDE,
     GL_VERTEX_ARRAY_BUFFER_BINDING, GL_VERTEX_ARRAY_POINTER, 0},
    {"normal", GL_NORMAL_ARRAY, 0, GL_NORMAL_ARRAY_TYPE, GL_NORMAL_ARRAY_STRIDE, GL_NORMAL_ARRAY_BUFFER_BINDING,
     GL_NORMAL_ARRAY_POINTER, 3},
    {"color", GL_COLOR_ARRAY, GL_COLOR_ARRAY_SIZE, GL_COLOR_ARRAY_TYPE, GL_COLOR_ARRAY_STRIDE,
     GL_COLOR_ARRAY_BUFFER_BINDING, GL_COLOR_ARRAY_POINTER, 0},
    {"texcoord", GL_TEXTURE_COORD_ARRAY, GL_TEXTURE_COORD_ARRAY_SIZE, GL_TEXTURE_COORD_ARRAY_TYPE,
     GL_TEXTURE_COORD_ARRAY_STRIDE, GL_TEXTURE_COORD_ARRAY_BUFFER_BINDING, GL_TEXTURE_COORD_ARRAY_POINTER, 0},
};

}  // namespace dt::play
