// The targets that textures are bound to, and the questions for what is bound there.
#pragma once
#include <cstdint>

#include "gl_enums.h"

namespace dt::gl {

struct TextureTarget {
  uint32_t target, binding;
  uint32_t gl, es;  // versions that have it; 0: none, an extension may
  const char* name;
};
// In the order in which a recording that begins late binds the textures of a unit.
inline const TextureTarget TEXTURE_TARGETS[] = {
    {GL_TEXTURE_2D, GL_TEXTURE_BINDING_2D, 11, 10, "GL_TEXTURE_2D"},
    {GL_TEXTURE_CUBE_MAP, GL_TEXTURE_BINDING_CUBE_MAP, 13, 20, "GL_TEXTURE_CUBE_MAP"},
    {GL_TEXTURE_3D, GL_TEXTURE_BINDING_3D, 12, 30, "GL_TEXTURE_3D"},
    {GL_TEXTURE_2D_ARRAY, GL_TEXTURE_BINDING_2D_ARRAY, 30, 30, "GL_TEXTURE_2D_ARRAY"},
    {GL_TEXTURE_1D, GL_TEXTURE_BINDING_1D, 11, 0, "GL_TEXTURE_1D"},
    {GL_TEXTURE_1D_ARRAY, GL_TEXTURE_BINDING_1D_ARRAY, 30, 0, "GL_TEXTURE_1D_ARRAY"},
    {GL_TEXTURE_RECTANGLE, GL_TEXTURE_BINDING_RECTANGLE, 31, 0, "GL_TEXTURE_RECTANGLE"},
    {GL_TEXTURE_BUFFER, GL_TEXTURE_BINDING_BUFFER, 31, 32, "GL_TEXTURE_BUFFER"},
    {GL_TEXTURE_CUBE_MAP_ARRAY, GL_TEXTURE_BINDING_CUBE_MAP_ARRAY, 40, 32, "GL_TEXTURE_CUBE_MAP_ARRAY"},
    {GL_TEXTURE_2D_MULTISAMPLE, GL_TEXTURE_BINDING_2D_MULTISAMPLE, 32, 31, "GL_TEXTURE_2D_MULTISAMPLE"},
    {GL_TEXTURE_2D_MULTISAMPLE_ARRAY, GL_TEXTURE_BINDING_2D_MULTISAMPLE_ARRAY, 32, 32,
     "GL_TEXTURE_2D_MULTISAMPLE_ARRAY"},
    {GL_TEXTURE_EXTERNAL_OES, GL_TEXTURE_BINDING_EXTERNAL_OES, 0, 0, "GL_TEXTURE_EXTERNAL_OES"}};

}  // namespace dt::gl
