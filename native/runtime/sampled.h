// Pictures that OpenGL ES hands over to nothing but shaders: depth and stencil.
//
// A shader writes their values as integers, in a context of its own that shares objects with the program's. Nothing of
// the program's state changes, and no error of its own is taken away.
#pragma once
#include "gl_state.h"
#include "gl_enums.h"

namespace dt {
namespace hook {

// The way to read pixels, and the part of them to hand over, so that every bit arrives.
struct Layout {
  uint32_t read_format, read_type;
  uint32_t read_components;                // four, but where one call hands over what another takes back
  uint32_t format, type;                   // as they are uploaded
  uint32_t components, read_width, width;  // bytes of one component; 0: all in one word
  bool swapped;                            // blue first
  uint32_t own_format;                     // internal format of a texture that holds them
};

inline size_t pixel_bytes(const Layout& l, bool reading) {
  return reading ? (l.read_width ? l.read_components * l.read_width : 4) : l.width ? l.components * l.width : 4;
}

struct Picture {
  uint8_t* pixels = nullptr;
  uint32_t width = 0, height = 0, depth = 0;
  Layout layout{};
  uint32_t bits = 0;  // what a blit of it is to copy: GL_COLOR_BUFFER_BIT ...
  size_t count() const { return (size_t)width * height * depth; }
  size_t bytes() const { return count() * pixel_bytes(layout, false); }
  Picture() = default;
  Picture(const Picture&) = delete;
  Picture& operator=(const Picture&) = delete;
  ~Picture();
  // Room for what is read; false: none, or more than is ever read.
  bool make_room();
};

// The way to read and write depth and stencil of these numbers of bits. `floats`: depth of floating point.
bool layout_of_depth(int32_t depth, int32_t stencil, bool floats, Layout* l);
// Returns whether `target` is a face of a cube map, and whether it has layers.
inline bool is_face(uint32_t target) {
  return target >= GL_TEXTURE_CUBE_MAP_POSITIVE_X && target <= GL_TEXTURE_CUBE_MAP_NEGATIVE_Z;
}
inline bool has_layers(uint32_t target) {
  return target == GL_TEXTURE_3D || target == GL_TEXTURE_2D_ARRAY || target == GL_TEXTURE_CUBE_MAP_ARRAY;
}

// Depth and stencil of a texture, a renderbuffer (attached as `point`) or the surface that is drawn to. 0, or why not:
// DT_REFUSED_*. The size is filled in by the caller; which of the two of a surface, too.
uint32_t read_depth_by_shader(const dt_target& w, uint32_t point, Picture* picture);

// The first level of a texture of luminance, alpha or both, of eight bits each. The size is filled in by the caller.
uint32_t read_bytes_by_shader(const dt_target& w, Picture* picture);

}  // namespace hook
}  // namespace dt
