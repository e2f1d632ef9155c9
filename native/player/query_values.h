// Values of state as text, and what uniforms are made of.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "../common/json.h"
#include "query.h"
#include "gl_enums.h"

namespace dt::play {

// The parts of a uniform's type: values, and whether they are float, int, unsigned, bool, double.
struct UniformType {
  int values;
  char of;
};
inline UniformType uniform_type(uint32_t t) {
  switch (t) {
    case GL_FLOAT: return {1, 'f'};
    case GL_FLOAT_VEC2: return {2, 'f'};
    case GL_FLOAT_VEC3: return {3, 'f'};
    case GL_FLOAT_VEC4: return {4, 'f'};
    case GL_INT: return {1, 'i'};
    case GL_INT_VEC2: return {2, 'i'};
    case GL_INT_VEC3: return {3, 'i'};
    case GL_INT_VEC4: return {4, 'i'};
    case GL_UNSIGNED_INT: return {1, 'u'};
    case GL_UNSIGNED_INT_VEC2: return {2, 'u'};
    case GL_UNSIGNED_INT_VEC3: return {3, 'u'};
    case GL_UNSIGNED_INT_VEC4: return {4, 'u'};
    case GL_BOOL: return {1, 'b'};
    case GL_BOOL_VEC2: return {2, 'b'};
    case GL_BOOL_VEC3: return {3, 'b'};
    case GL_BOOL_VEC4: return {4, 'b'};
    case GL_FLOAT_MAT2: return {4, 'f'};
    case GL_FLOAT_MAT3: return {9, 'f'};
    case GL_FLOAT_MAT4: return {16, 'f'};
    case GL_FLOAT_MAT2x3:
    case GL_FLOAT_MAT3x2: return {6, 'f'};
    case GL_FLOAT_MAT2x4:
    case GL_FLOAT_MAT4x2: return {8, 'f'};
    case GL_FLOAT_MAT3x4:
    case GL_FLOAT_MAT4x3: return {12, 'f'};
    case GL_DOUBLE: return {1, 'd'};
    case GL_DOUBLE_VEC2: return {2, 'd'};
    case GL_DOUBLE_VEC3: return {3, 'd'};
    case GL_DOUBLE_VEC4: return {4, 'd'};
    case GL_DOUBLE_MAT2: return {4, 'd'};
    case GL_DOUBLE_MAT3: return {9, 'd'};
    case GL_DOUBLE_MAT4: return {16, 'd'};
    case GL_DOUBLE_MAT2x3:
    case GL_DOUBLE_MAT3x2: return {6, 'd'};
    case GL_DOUBLE_MAT2x4:
    case GL_DOUBLE_MAT4x2: return {8, 'd'};
    case GL_DOUBLE_MAT3x4:
    case GL_DOUBLE_MAT4x3: return {12, 'd'};
    default: return {1, 'i'};  // samplers, images
  }
}

inline std::string enum_text(int table, uint32_t value) {
  auto name_in = [&](const EnumTable& t) -> const char* {
    auto* end = t.names + t.count;
    auto* at = std::lower_bound(t.names, end, value, [](const EnumName& n, uint32_t v) { return n.value < v; });
    return at != end && at->value == value ? at->name : nullptr;
  };
  const char* name = name_in(g_enum_tables[table]);
  if (name) return json_text(name);
  char text[16];
  snprintf(text, sizeof text, "0x%X", value);
  return json_text(text);
}

}  // namespace dt::play
