// The queries for textures and other objects, and the ways to get their content out of a driver.
#pragma once
#include "../mirror/texture_targets.h"
#include "base.h"
#include "gl_enums.h"

namespace dt {
namespace hook {

// queries try names up to here, and as many behind the last that there is
inline constexpr uint32_t LEAST_SEARCHED = 1u << 16;
inline constexpr int32_t MOST_LEVELS = 17;
inline constexpr uint64_t MOST_BUFFER = 1ull << 32;

// Formats and types that OpenGL ES takes together with an internal format; desktop OpenGL takes any that are of one
// kind.
struct Transfer {
  uint16_t internal, format, type;
};
inline const Transfer TRANSFERS[] = {{GL_R8, GL_RED, GL_UNSIGNED_BYTE},
                                     {GL_R8_SNORM, GL_RED, GL_BYTE},
                                     {GL_R16F, GL_RED, GL_HALF_FLOAT},
                                     {GL_R32F, GL_RED, GL_FLOAT},
                                     {GL_R8UI, GL_RED_INTEGER, GL_UNSIGNED_BYTE},
                                     {GL_R8I, GL_RED_INTEGER, GL_BYTE},
                                     {GL_R16UI, GL_RED_INTEGER, GL_UNSIGNED_SHORT},
                                     {GL_R16I, GL_RED_INTEGER, GL_SHORT},
                                     {GL_R32UI, GL_RED_INTEGER, GL_UNSIGNED_INT},
                                     {GL_R32I, GL_RED_INTEGER, GL_INT},
                                     {GL_RG8, GL_RG, GL_UNSIGNED_BYTE},
                                     {GL_RG8_SNORM, GL_RG, GL_BYTE},
                                     {GL_RG16F, GL_RG, GL_HALF_FLOAT},
                                     {GL_RG32F, GL_RG, GL_FLOAT},
                                     {GL_RG8UI, GL_RG_INTEGER, GL_UNSIGNED_BYTE},
                                     {GL_RG8I, GL_RG_INTEGER, GL_BYTE},
                                     {GL_RG16UI, GL_RG_INTEGER, GL_UNSIGNED_SHORT},
                                     {GL_RG16I, GL_RG_INTEGER, GL_SHORT},
                                     {GL_RG32UI, GL_RG_INTEGER, GL_UNSIGNED_INT},
                                     {GL_RG32I, GL_RG_INTEGER, GL_INT},
                                     {GL_RGB8, GL_RGB, GL_UNSIGNED_BYTE},
                                     {GL_SRGB8, GL_RGB, GL_UNSIGNED_BYTE},
                                     {GL_RGB565, GL_RGB, GL_UNSIGNED_SHORT_5_6_5},
                                     {GL_RGB8_SNORM, GL_RGB, GL_BYTE},
                                     {GL_R11F_G11F_B10F, GL_RGB, GL_UNSIGNED_INT_10F_11F_11F_REV},
                                     {GL_RGB9_E5, GL_RGB, GL_UNSIGNED_INT_5_9_9_9_REV},
                                     {GL_RGB16F, GL_RGB, GL_HALF_FLOAT},
                                     {GL_RGB32F, GL_RGB, GL_FLOAT},
                                     {GL_RGB8UI, GL_RGB_INTEGER, GL_UNSIGNED_BYTE},
                                     {GL_RGB8I, GL_RGB_INTEGER, GL_BYTE},
                                     {GL_RGB16UI, GL_RGB_INTEGER, GL_UNSIGNED_SHORT},
                                     {GL_RGB16I, GL_RGB_INTEGER, GL_SHORT},
                                     {GL_RGB32UI, GL_RGB_INTEGER, GL_UNSIGNED_INT},
                                     {GL_RGB32I, GL_RGB_INTEGER, GL_INT},
                                     {GL_RGBA8, GL_RGBA, GL_UNSIGNED_BYTE},
                                     {GL_SRGB8_ALPHA8, GL_RGBA, GL_UNSIGNED_BYTE},
                                     {GL_RGBA8_SNORM, GL_RGBA, GL_BYTE},
                                     {GL_RGB5_A1, GL_RGBA, GL_UNSIGNED_SHORT_5_5_5_1},
                                     {GL_RGBA4, GL_RGBA, GL_UNSIGNED_SHORT_4_4_4_4},
                                     {GL_RGB10_A2, GL_RGBA, GL_UNSIGNED_INT_2_10_10_10_REV},
                                     {GL_RGBA16F, GL_RGBA, GL_HALF_FLOAT},
                                     {GL_RGBA32F, GL_RGBA, GL_FLOAT},
                                     {GL_RGBA8UI, GL_RGBA_INTEGER, GL_UNSIGNED_BYTE},
                                     {GL_RGBA8I, GL_RGBA_INTEGER, GL_BYTE},
                                     {GL_RGB10_A2UI, GL_RGBA_INTEGER, GL_UNSIGNED_INT_2_10_10_10_REV},
                                     {GL_RGBA16UI, GL_RGBA_INTEGER, GL_UNSIGNED_SHORT},
                                     {GL_RGBA16I, GL_RGBA_INTEGER, GL_SHORT},
                                     {GL_RGBA32UI, GL_RGBA_INTEGER, GL_UNSIGNED_INT},
                                     {GL_RGBA32I, GL_RGBA_INTEGER, GL_INT},
                                     {GL_DEPTH_COMPONENT16, GL_DEPTH_COMPONENT, GL_UNSIGNED_SHORT},
                                     {GL_DEPTH_COMPONENT24, GL_DEPTH_COMPONENT, GL_UNSIGNED_INT},
                                     {GL_DEPTH_COMPONENT32, GL_DEPTH_COMPONENT, GL_UNSIGNED_INT},
                                     {GL_DEPTH_COMPONENT32F, GL_DEPTH_COMPONENT, GL_FLOAT},
                                     {GL_DEPTH24_STENCIL8, GL_DEPTH_STENCIL, GL_UNSIGNED_INT_24_8},
                                     {GL_DEPTH32F_STENCIL8, GL_DEPTH_STENCIL, GL_FLOAT_32_UNSIGNED_INT_24_8_REV},
                                     {GL_STENCIL_INDEX8, GL_STENCIL_INDEX, GL_UNSIGNED_BYTE},
                                     {GL_BGRA8_EXT, GL_BGRA, GL_UNSIGNED_BYTE},
                                     {GL_ALPHA8, GL_ALPHA, GL_UNSIGNED_BYTE},
                                     {GL_LUMINANCE8, GL_LUMINANCE, GL_UNSIGNED_BYTE},
                                     {GL_LUMINANCE8_ALPHA8, GL_LUMINANCE_ALPHA, GL_UNSIGNED_BYTE},
                                     {GL_R16, GL_RED, GL_UNSIGNED_SHORT},
                                     {GL_RG16, GL_RG, GL_UNSIGNED_SHORT},
                                     {GL_RGB16, GL_RGB, GL_UNSIGNED_SHORT},
                                     {GL_RGBA16, GL_RGBA, GL_UNSIGNED_SHORT}};

struct Parameter {
  uint32_t name;
  char kind;        // 'i', 'f', or 'c' for a colour
  uint32_t gl, es;  // versions that have it; 0: never
  bool sampler;     // that samplers have as well
  const char* extension;
};
inline const Parameter PARAMETERS[] = {
    {GL_TEXTURE_MIN_FILTER, 'i', 10, 10, true, nullptr},
    {GL_TEXTURE_MAG_FILTER, 'i', 10, 10, true, nullptr},
    {GL_TEXTURE_WRAP_S, 'i', 10, 10, true, nullptr},
    {GL_TEXTURE_WRAP_T, 'i', 10, 10, true, nullptr},
    {GL_TEXTURE_WRAP_R, 'i', 12, 30, true, nullptr},
    {GL_TEXTURE_MIN_LOD, 'f', 12, 30, true, nullptr},
    {GL_TEXTURE_MAX_LOD, 'f', 12, 30, true, nullptr},
    {GL_TEXTURE_BASE_LEVEL, 'i', 12, 30, false, nullptr},
    {GL_TEXTURE_MAX_LEVEL, 'i', 12, 30, false, nullptr},
    {GL_TEXTURE_COMPARE_MODE, 'i', 14, 30, true, nullptr},
    {GL_TEXTURE_COMPARE_FUNC, 'i', 14, 30, true, nullptr},
    {GL_TEXTURE_LOD_BIAS, 'f', 14, 0, true, nullptr},
    {GL_TEXTURE_SWIZZLE_R, 'i', 33, 30, false, nullptr},
    {GL_TEXTURE_SWIZZLE_G, 'i', 33, 30, false, nullptr},
    {GL_TEXTURE_SWIZZLE_B, 'i', 33, 30, false, nullptr},
    {GL_TEXTURE_SWIZZLE_A, 'i', 33, 30, false, nullptr},
    {GL_TEXTURE_BORDER_COLOR, 'c', 10, 32, true, nullptr},
    {GL_DEPTH_STENCIL_TEXTURE_MODE, 'i', 43, 31, false, nullptr},
    {GL_TEXTURE_MAX_ANISOTROPY, 'f', 46, 0, true, "GL_EXT_texture_filter_anisotropic"},
    {GL_TEXTURE_SRGB_DECODE_EXT, 'i', 0, 0, true, "GL_EXT_texture_sRGB_decode"}};

inline const char* why_not(uint32_t why) {
  switch (why) {
    case DT_REFUSED_FORMAT: return "its format cannot be read back and written again bit by bit";
    case DT_REFUSED_SAMPLES: return "it has several samples a pixel";
    case DT_REFUSED_VERSION: return "this version of the API cannot read it back";
    case DT_REFUSED_SIZE: return "it is too large";
    case DT_REFUSED_TRANSFER: return "pixel transfer changes values";
    case DT_REFUSED_SHADER: return "the driver gives no context to read it in";
    case DT_REFUSED_CALL: return "only a frame's end of EGL is a place to read it";
    default: return "it cannot be read back";
  }
}

}  // namespace hook
}  // namespace dt
