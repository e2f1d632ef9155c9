// The parts of a type of uniform, by its enumerant.
#pragma once
#include "gl_enums.h"
#include <stdint.h>

namespace dt {

struct UniformType {
  char of;                // f float, i integer, u unsigned, b boolean, d double; 0: a sampler, an image, or not known
  uint8_t rows, columns;  // columns: of a matrix, else 0
  int values() const { return columns ? rows * columns : rows; }
};

inline UniformType uniform_type(uint32_t type) {
  // Vectors of two to four follow each other, and so do matrices: square ones, and the others by columns, then rows.
  constexpr struct {
    uint32_t one, vectors;
    char of;
  } VECTORS[] = {{GL_FLOAT, GL_FLOAT_VEC2, 'f'},
                 {GL_INT, GL_INT_VEC2, 'i'},
                 {GL_UNSIGNED_INT, GL_UNSIGNED_INT_VEC2, 'u'},
                 {GL_BOOL, GL_BOOL_VEC2, 'b'},
                 {GL_DOUBLE, GL_DOUBLE_VEC2, 'd'}};
  constexpr struct {
    uint32_t square, others;
    char of;
  } MATRICES[] = {{GL_FLOAT_MAT2, GL_FLOAT_MAT2x3, 'f'}, {GL_DOUBLE_MAT2, GL_DOUBLE_MAT2x3, 'd'}};
  constexpr uint8_t ROWS[] = {3, 4, 2, 4, 2, 3};  // of the others
  for (const auto& v : VECTORS) {
    if (type == v.one) return {v.of, 1, 0};
    if (type - v.vectors < 3) return {v.of, (uint8_t)(type - v.vectors + 2), 0};
  }
  for (const auto& m : MATRICES) {
    const uint8_t square = (uint8_t)(type - m.square + 2);
    if (type - m.square < 3) return {m.of, square, square};
    if (type - m.others < 6) return {m.of, ROWS[type - m.others], (uint8_t)((type - m.others) / 2 + 2)};
  }
  return {0, 1, 0};
}

}  // namespace dt
