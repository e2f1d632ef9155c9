// The vertex arrays of fixed function: what to ask a driver for each.
#pragma once
#include <stdint.h>

#include "gl_enums.h"

namespace dt {

struct FixedArray {
  const char *shown, *function;  // shown: its name where content is shown and measured, null: it is not
  uint32_t array, size, type, stride, buffer, pointer;  // 0: no driver tells it
  int32_t components;                                   // where no driver tells the size
  uint32_t gl, es;                                      // the version that has it first, 0: none
};

inline constexpr FixedArray FIXED_ARRAYS[] = {
    {"position", "glVertexPointer", GL_VERTEX_ARRAY, GL_VERTEX_ARRAY_SIZE, GL_VERTEX_ARRAY_TYPE, GL_VERTEX_ARRAY_STRIDE,
     GL_VERTEX_ARRAY_BUFFER_BINDING, GL_VERTEX_ARRAY_POINTER, 0, 11, 10},
    {"normal", "glNormalPointer", GL_NORMAL_ARRAY, 0, GL_NORMAL_ARRAY_TYPE, GL_NORMAL_ARRAY_STRIDE,
     GL_NORMAL_ARRAY_BUFFER_BINDING, GL_NORMAL_ARRAY_POINTER, 3, 11, 10},
    {"color", "glColorPointer", GL_COLOR_ARRAY, GL_COLOR_ARRAY_SIZE, GL_COLOR_ARRAY_TYPE, GL_COLOR_ARRAY_STRIDE,
     GL_COLOR_ARRAY_BUFFER_BINDING, GL_COLOR_ARRAY_POINTER, 0, 11, 10},
    {nullptr, "glIndexPointer", GL_INDEX_ARRAY, 0, GL_INDEX_ARRAY_TYPE, GL_INDEX_ARRAY_STRIDE,
     GL_INDEX_ARRAY_BUFFER_BINDING, GL_INDEX_ARRAY_POINTER, 1, 11, 0},
    {nullptr, "glEdgeFlagPointer", GL_EDGE_FLAG_ARRAY, 0, 0, GL_EDGE_FLAG_ARRAY_STRIDE,
     GL_EDGE_FLAG_ARRAY_BUFFER_BINDING, GL_EDGE_FLAG_ARRAY_POINTER, 1, 11, 0},
    {nullptr, "glFogCoordPointer", GL_FOG_COORD_ARRAY, 0, GL_FOG_COORD_ARRAY_TYPE, GL_FOG_COORD_ARRAY_STRIDE,
     GL_FOG_COORD_ARRAY_BUFFER_BINDING, GL_FOG_COORD_ARRAY_POINTER, 1, 14, 0},
    {nullptr, "glSecondaryColorPointer", GL_SECONDARY_COLOR_ARRAY, GL_SECONDARY_COLOR_ARRAY_SIZE,
     GL_SECONDARY_COLOR_ARRAY_TYPE, GL_SECONDARY_COLOR_ARRAY_STRIDE, GL_SECONDARY_COLOR_ARRAY_BUFFER_BINDING,
     GL_SECONDARY_COLOR_ARRAY_POINTER, 0, 14, 0},
    {"texcoord", "glTexCoordPointer", GL_TEXTURE_COORD_ARRAY, GL_TEXTURE_COORD_ARRAY_SIZE, GL_TEXTURE_COORD_ARRAY_TYPE,
     GL_TEXTURE_COORD_ARRAY_STRIDE, GL_TEXTURE_COORD_ARRAY_BUFFER_BINDING, GL_TEXTURE_COORD_ARRAY_POINTER, 0, 11, 10},
};

}  // namespace dt
